#include "world.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exec.h"
#include "fibre.h"

namespace cudasim {

World world;
thread_local uint64_t current_context;

uint64_t new_handle(Handle kind) {
    return handle_mark | uint64_t(kind) << 48 | world.next_handle++;
}

const char *handle_name(uint64_t handle) {
    static const char *const names[] = {"context", "stream",   "event",
                                        "module",  "function", "physical memory"};
    uint64_t kind = handle >> 48 & 0xff;
    if ((handle & 0xff00000000000000) != handle_mark || kind < 1 || kind > 6)
        return "no handle at all";
    return names[kind - 1];
}

uint64_t random_below(uint64_t n) {
    // Source: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled",
    // xorshift64*.
    uint64_t &x = world.random;
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    return (x * 0x2545f4914f6cdd1d >> 11) % n;
}

const char *kind_name(Kind kind) {
    static const char *const names[] = {"bounds",       "unwritten",   "undeclared", "order",     "handed-on",
                                        "race",         "shared-race", "barrier",    "undefined", "limit",
                                        "outstanding",  "context",     "handle",     "release",   "busy",
                                        "host-changed", "unpinned"};
    static_assert(sizeof names / sizeof *names == size_t(Kind::kind_count), "each kind has a name");
    return names[size_t(kind)];
}

void report(Kind kind, const std::string &message) {
    constexpr size_t max_kept = 1000; // a broken run repeats itself
    if (world.violations.size() < max_kept)
        world.violations.push_back({kind, message});
}

void report_in_kernel(Kind kind, const std::string &message) {
    uint32_t bit = 1u << uint32_t(kind);
    if (running.reported & bit)
        return;
    running.reported |= bit;
    std::string place = "\"" + order[running.operation].name + "\"";
    if (running.kernel)
        place += ", " + position_text();
    report(kind, place + ": " + message);
}

bool take_vram(int device, uint64_t bytes) {
    Device &d = world.devices[size_t(device)];
    if (bytes > world.config.vram_bytes || d.used + d.neighbour > world.config.vram_bytes - bytes)
        return false;
    d.used += bytes;
    d.peak = std::max(d.peak, d.used);
    return true;
}

void give_vram(int device, uint64_t bytes) {
    world.devices[size_t(device)].used -= bytes;
}

void refresh_pinned() {
    world.pinned_ranges.clear();
    for (auto &[base, p] : world.pinned)
        world.pinned_ranges.push_back({base, p.bytes, p.context->handle, p.portable, p.mapped});
}

bool is_pinned(const Context *context, uint64_t base, uint64_t bytes) {
    for (const PinnedRange &p : world.pinned_ranges)
        if (base >= p.base && base + bytes <= p.base + p.bytes)
            return p.portable || p.context == context->handle;
    return false;
}

void reset() {
    for (auto &[base, m] : world.mappings)
        unmap_physical(base, m.bytes);
    for (auto &[handle, p] : world.physical)
        destroy_physical(p.memory);
    for (auto &[base, bytes] : world.reservations)
        return_addresses(base);
    for (auto &[handle, context] : world.contexts)
        release_context_memory(context.get());
    world.contexts.clear();
    world.destroyed.clear();
    world.stream_handles.clear();
    world.streams.clear();
    world.events.clear();
    world.modules.clear();
    world.functions.clear();
    world.physical.clear();
    world.mappings.clear();
    world.reservations.clear();
    world.ledger.clear();
    world.forbidden_threads.clear();
    world.config = Config{};
    world.faults.clear();
    world.devices.assign(world.config.devices, Device{});
    world.random = 1;
    world.now_ns = 0;
    world.next_stream_number = 0;
    world.host.clear();
    world.calls.clear();
    world.call_total = world.unrecorded_waits = world.undeclared_launches = world.max_outstanding = 0;
    world.struck.clear();
    world.failed_releases = 0;
    world.device_wide.clear();
    world.violations.clear();
    world.trace.clear();
    world.ended_ns.clear();
    order.clear();
}

int strike(const std::string &name, Context *context, int device, Struck *struck) {
    for (Fault &f : world.faults) {
        if (f.call != name && !(f.call == "*" && name.compare(0, 2, "cu") == 0))
            continue;
        if (f.on >= 0 && f.on != device)
            continue;
        f.seen++;
        if (!(f.nth == 0 || f.seen == f.nth || (f.from && f.seen > f.nth)))
            continue;
        constexpr size_t max_kept = 1000;
        if (world.struck.size() < max_kept)
            world.struck.push_back(name);
        struck->sleep_us += f.sleep_us;
        struck->hangs |= f.hangs;
        if (f.dies && f.device < world.devices.size())
            world.devices[f.device].dead = f.code;
        if (f.seize_bytes != 0 && f.device < world.devices.size())
            world.devices[f.device].neighbour += uint64_t(f.seize_bytes);
        if (f.sticky && context != nullptr)
            context->sticky = f.code;
        if (f.code != 0)
            return f.code;
    }
    return 0;
}

static void pause(uint64_t us) {
    timespec t{time_t(us / 1000000), long(us % 1000000 * 1000)};
    nanosleep(&t, nullptr);
}

static std::string without_version(const char *function) {
    std::string name = function;
    size_t length = name.size();
    return length > 3 && name.compare(length - 3, 2, "_v") == 0 ? name.substr(0, length - 3) : name;
}

// virtual_memory_code is what calls about virtual memory, which need no context, say beside a broken one.
static int virtual_memory_code(const Context *current) {
    if (world.config.broken_virtual == 1)
        return current != nullptr ? current->sticky : 0;
    if (world.config.broken_virtual == 2)
        for (auto &[handle, context] : world.contexts)
            if (context->sticky != 0)
                return context->sticky;
    return 0;
}

void wait_unhung(const Call &call, const Context *context) {
    world.unhung.wait(call.lock, [&] { return !context->hung; });
}

void unhang() {
    for (auto &s : world.streams)
        s->hung = false;
    for (auto &[handle, context] : world.contexts)
        context->hung = false;
    world.unhung.notify_all();
}

int dead_code(int device) {
    return device >= 0 && size_t(device) < world.devices.size() ? world.devices[size_t(device)].dead : 0;
}

Call::Call(const char *function, Needs needs, int device)
    : name(without_version(function)), lock(world.mutex) {
    world.calls[name]++;
    world.call_total++;
    world.now_ns += world.config.call_ns;
    if (world.forbidden_threads.count(int(syscall(SYS_gettid))))
        report(Kind::context, name + " on a caller's thread");
    auto found = world.contexts.find(current_context);
    context = found == world.contexts.end() ? nullptr : found->second.get();
    if (device < 0 && context != nullptr)
        device = context->device;
    Struck struck;
    code = strike(name, context, device, &struck);
    if (code == 0)
        code = dead_code(device);
    injected = code != 0;
    if (struck.sleep_us > 0) {
        lock.unlock();
        pause(struck.sleep_us);
        lock.lock();
        found = world.contexts.find(current_context); // it may have gone meanwhile
        context = found == world.contexts.end() ? nullptr : found->second.get();
    }
    if (code != 0 || needs == Needs::nothing)
        return;
    if (!world.initialised) {
        code = not_initialized;
        return;
    }
    if (needs == Needs::virtual_memory)
        code = virtual_memory_code(context);
    if (needs != Needs::context)
        return;
    if (current_context == 0)
        code = wrong(Kind::context, invalid_context, "no context is current on this thread");
    else if (context == nullptr)
        code = wrong(Kind::context, context_is_destroyed, "the thread's context has been destroyed");
    else
        code = context->sticky;
}

int Call::wrong(Kind kind, int result, const std::string &message) const {
    report(kind, name + ": " + message);
    return result;
}

static std::string wrong_handle(const char *want, uint64_t handle) {
    return text("handle %#llx is no %s that exists (it names: %s)", (unsigned long long)handle, want,
                handle_name(handle));
}

Stream *Call::stream(uint64_t handle) const {
    if (handle == 0) {
        wrong(Kind::handle, invalid_handle, "the default stream is never used");
        return nullptr;
    }
    auto found = world.stream_handles.find(handle);
    if (found == world.stream_handles.end()) {
        wrong(Kind::handle, invalid_handle, wrong_handle("stream", handle));
        return nullptr;
    }
    if (found->second->context != context) {
        wrong(Kind::handle, invalid_handle, "the stream belongs to another context");
        return nullptr;
    }
    return found->second;
}

Event *Call::event(uint64_t handle) const {
    auto found = world.events.find(handle);
    if (found == world.events.end()) {
        wrong(Kind::handle, invalid_handle, wrong_handle("event", handle));
        return nullptr;
    }
    if (found->second.context != context) {
        wrong(Kind::handle, invalid_handle, "the event belongs to another context");
        return nullptr;
    }
    return &found->second;
}

} // namespace cudasim
