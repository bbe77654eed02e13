// All state behind the cu* functions. One mutex guards everything; an operation's effect runs under it too,
// so that a run is a sequence that a seed repeats.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "config.h"
#include "ledger.h"
#include "order.h"
#include "space.h"
#include "violation.h"

struct cuzk_sim_kernel; // exec.h

namespace cudasim {

// CUresult values that the simulator gives by itself. Source: cuda.h of CUDA 13.0.
enum Code : int {
    ok = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    no_device = 100,
    invalid_device = 101,
    invalid_image = 200,
    invalid_context = 201,
    invalid_handle = 400,
    not_found = 500,
    not_ready = 600,
    launch_out_of_resources = 701,
    context_is_destroyed = 709,
    host_memory_already_registered = 712,
    host_memory_not_registered = 713,
};

// Handles name their kind, so that one of the wrong kind is found out, and are never given twice.
enum class Handle : uint64_t { context = 1, stream, event, module, function, physical };
constexpr uint64_t handle_mark = 0x5c00000000000000;
uint64_t new_handle(Handle kind);
const char *handle_name(uint64_t handle);

enum Engine { engine_none, engine_compute, engine_upload, engine_download, engine_count };

struct Device {
    uint64_t used = 0, peak = 0, neighbour = 0;
    uint64_t implicit = 0;               // taken at launches, for code and local memory
    uint64_t free_at[engine_count] = {}; // on the virtual clock, ns
    int dead = 0;                        // CUresult of every call about the device; 0: it lives
};

// What a context has local memory for from the start, in what it takes itself: the default of
// CU_LIMIT_STACK_SIZE.
constexpr uint64_t context_local_bytes = 1024;

struct Context {
    uint64_t handle = 0;
    int device = 0;
    int sticky = 0;                             // CUresult that every call gives from now on
    uint64_t local_bytes = context_local_bytes; // of a thread: what there is memory for
    uint64_t local_taken = 0;                   // device memory for more than the first of them
    uint64_t outstanding = 0;                   // operations enqueued and not run
    bool was_full = false;                      // a launch has had to wait: reported once
    bool hung = false;                          // an operation never ends, nor does what waits for all
};

struct Stream;

struct Operation {
    uint32_t id = 0;
    Context *context = nullptr;
    Engine engine = engine_none;
    uint64_t cost_ns = 0, enqueued_ns = 0;
    const char *run_name = nullptr;         // for faults: run.kernel, ...; null for events
    std::vector<uint32_t> after;            // operations of other streams
    std::function<int()> effect;            // CUresult; empty: none
    std::vector<Range> ranges;              // device memory it is known to touch
    bool declared = false;                  // ranges are all it may touch
    uint64_t host_base = 0, host_bytes = 0; // pinned memory of a copy
    std::vector<std::shared_ptr<Fresh>> fresh;
};

struct Stream {
    uint64_t handle = 0; // 0 once destroyed
    Context *context = nullptr;
    uint32_t number = 0, position = 0;
    Clock clock; // what is known to have run when everything enqueued has
    std::deque<Operation> queue;
    uint64_t free_at = 0;
    uint32_t last = 0;            // operation enqueued last
    std::string work = "nothing"; // name of the last one that was no event or wait
    bool hung = false;            // its first operation never ends
};

struct Event {
    Context *context = nullptr;
    bool timing = false;
    uint32_t operation = 0; // that recorded it last; 0: never
};

struct Module {
    Context *context = nullptr;
    std::map<std::string, uint64_t> functions;
};

struct Function {
    Context *context = nullptr;
    const cuzk_sim_kernel *kernel = nullptr;
    bool loaded = false; // its code is on the device
};

struct PhysicalMemory {
    int device = 0;
    Physical memory;
    uint32_t mappings = 0;
    bool released = false;
};

struct Mapping {
    uint64_t bytes, physical;
};

struct Allocation {
    Context *context;
    uint64_t bytes;
};

struct Pinned {
    Context *context;
    uint64_t bytes;
    bool registered; // by cuMemHostRegister; else it is ours
    bool portable, mapped;
};

struct Traced {
    uint32_t operation, stream;
    int device, code;
    uint64_t enqueued_ns, start_ns, end_ns;
};

struct DeviceWide {
    std::string call;
    uint64_t outstanding;
};

struct Violation {
    Kind kind;
    std::string message;
};

struct World {
    std::mutex mutex;
    std::condition_variable unhung; // of whoever waits for an operation that never ends
    bool initialised = false, space_open = false;
    Config config;
    std::vector<Fault> faults;
    std::vector<Device> devices;
    std::vector<int> visible; // devices by ordinal, after CUDA_VISIBLE_DEVICES
    std::map<uint64_t, std::unique_ptr<Context>> contexts;
    std::vector<std::unique_ptr<Context>> destroyed; // operations and events may still name them
    std::map<uint64_t, Stream *> stream_handles;
    std::vector<std::unique_ptr<Stream>>
        streams; // in the order they were made; destroyed ones until they are empty
    std::map<uint64_t, Event> events;
    std::map<uint64_t, Module> modules;
    std::map<uint64_t, Function> functions;
    std::map<uint64_t, PhysicalMemory> physical;
    std::map<uint64_t, Mapping> mappings;       // by address
    std::map<uint64_t, uint64_t> reservations;  // address -> bytes
    std::map<uint64_t, Allocation> allocations; // by address
    std::map<uint64_t, Pinned> pinned;          // by address
    std::vector<PinnedRange> pinned_ranges;     // the same, for the checks
    Ledger ledger;
    std::set<int> forbidden_threads;
    uint64_t next_handle = 1, random = 1, now_ns = 0;
    uint32_t next_stream_number = 0;
    Clock host; // what the host has seen to have run

    // For the report.
    std::map<std::string, uint64_t> calls;
    uint64_t call_total = 0, unrecorded_waits = 0, undeclared_launches = 0, max_outstanding = 0;
    std::vector<std::string> struck; // what faults struck, in order
    uint64_t failed_releases =
        0; // releases that a fault made fail: what is left then is not the caller's leak
    std::vector<DeviceWide> device_wide;
    std::vector<Violation> violations;
    std::vector<Traced> trace;
    std::map<uint32_t, uint64_t> ended_ns; // virtual time of event records
};
extern World world;

// reset clears everything but that cuInit was called.
void reset();

// Call is one entry into the driver: it takes the lock, counts, lets faults strike, and checks the thread.
enum class Needs { nothing, init, virtual_memory, context };
class Call {
  public:
    Call(const char *function, Needs needs, int device = -1);
    int code = 0;          // not 0: return it at once
    bool injected = false; // code comes from a fault
    Context *context = nullptr;
    std::string name; // without the version, as people write it: cuMemAlloc

    // wrong reports a misuse and returns the code.
    int wrong(Kind kind, int result, const std::string &message) const;
    // The objects that handles name, of the current context; null after reporting.
    Stream *stream(uint64_t handle) const;
    Event *event(uint64_t handle) const;

    mutable std::unique_lock<std::mutex> lock;
};

extern thread_local uint64_t current_context;

// What a fault does beside giving a code.
struct Struck {
    uint64_t sleep_us = 0;
    bool hangs = false;
};
// strike lets faults strike `name`, a call about a device (-1: about none); it returns the code to give, 0
// for none.
int strike(const std::string &name, Context *context, int device, Struck *struck);

// find_visible lists the devices that CUDA_VISIBLE_DEVICES leaves, all if it is not set.
void find_visible();
// wait_unhung returns when the context has no operation that never ends, as long as that takes.
void wait_unhung(const Call &call, const Context *context);
void unhang();             // what never ends, ends
int dead_code(int device); // what a dead device answers; 0: it lives, or is none

// Streams.
int enqueue(const Call &call, Stream *stream, Operation operation, std::string name);
bool run_one(); // false when nothing is outstanding
void run_until_done(const Call &call, uint32_t operation);
void run_all(const Call &call, Context *context); // what the call waits for device-wide, recorded
void observe(uint32_t operation);                 // the host has seen it complete
Clock after(uint32_t operation);
bool outstanding_touches(uint64_t base, uint64_t bytes, std::string *name);
bool outstanding_uses_host(uint64_t base, uint64_t bytes, std::string *name);

// Code and local memory, which a driver takes when it has to. False: there is no room.
constexpr int multiprocessors = 4, multiprocessor_threads = 2048;
bool reserve_local(Context *context, uint64_t bytes_per_thread);
bool load_code(Function &function);
void unload_code(const Function &function);
uint64_t local_bytes_of(const cuzk_sim_kernel *kernel);

// Memory.
bool take_vram(int device, uint64_t bytes);
void give_vram(int device, uint64_t bytes);
bool is_pinned(const Context *context, uint64_t base, uint64_t bytes); // for this context
void refresh_pinned();
void release_context_memory(Context *context);

uint64_t random_below(uint64_t n);

} // namespace cudasim
