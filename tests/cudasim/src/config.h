// Settings and faults, from lines of text that a test gives to cudasim_configure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudasim {

struct Config {
    uint64_t devices = 1;
    uint64_t vram_bytes = uint64_t(16) << 30; // of each device
    uint64_t context_bytes = 522 << 20;       // taken by a context; 0.51 GiB measured on an H200, driver 580
    uint64_t seed = 1;                        // of every choice; 0: streams, blocks and threads in order
    uint64_t outstanding = 512;               // operations a context may have enqueued and not run
    uint64_t poll_operations = 1;             // operations that run when a query finds its work unfinished
    uint64_t pageable = 0; // 1: asynchronous copies of memory that is not pinned are allowed
    uint64_t declared = 0; // 1: every launch must declare its ranges
    uint64_t driver_version = 13000;
    uint64_t compute = 90; // compute capability times 10
    uint64_t races = 1;    // 0: no look-out for races between threads on global memory
    uint64_t trace = 0;    // 1: keep the timeline
    // What virtual memory calls say beside a broken context. 0: nothing. 1: its error where it is current. 2:
    // its error everywhere, until it is destroyed.
    uint64_t broken_virtual = 0;
    // 1: a device whose context was broken takes another one, whatever the error. 0: only after those errors
    // of which the driver does not say that the process has to be started anew.
    uint64_t recovers = 0;
    // The virtual clock, in nanoseconds.
    uint64_t call_ns = 1700;          // a cheap driver call; measured through purego, as is the launch
    uint64_t launch_ns = 5000;        // a kernel's least time
    uint64_t thread_ns = 1;           // of each thread of a launch
    uint64_t copy_ns_per_mib = 19000; // 55 GB/s
};

// Fault makes calls fail, wait, or find less memory. `call` is a driver function, "*" for any, or run.kernel,
// run.copy, run.fill for the moment an operation runs.
struct Fault {
    std::string call;
    uint64_t nth = 1;        // the n-th matching call from now on; 0: every one
    bool from = false;       // also every later one
    int code = 0;            // CUresult to return instead of doing anything; 0: the call goes on
    bool sticky = false;     // the context answers with code from then on
    uint64_t sleep_us = 0;   // real time
    int64_t seize_bytes = 0; // a neighbour takes (or, negative, gives back) device memory
    uint64_t device = 0;     // of seize and dies
    int64_t on = -1;         // only calls about this device, or on a context of it; -1: all calls
    bool dies = false;       // from then on the device answers code to every call about it
    bool hangs = false;      // at run.*: the operation never ends
    uint64_t seen = 0;
};

// apply changes the settings; empty on success, else what is wrong.
std::string apply(Config &config, std::vector<Fault> &faults, const std::string &lines);

} // namespace cudasim
