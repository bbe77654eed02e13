// What tests call beside the driver's functions, and the report.
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec.h"
#include "world.h"

namespace cudasim {

std::string where(uint64_t address) {
    auto offset = [&](uint64_t base) { return (unsigned long long)(address - base); };
    if (!in_space(address))
        return "host memory that is not pinned";
    auto allocation = world.allocations.upper_bound(address);
    if (allocation != world.allocations.begin()) {
        --allocation;
        uint64_t bytes = allocation->second.bytes;
        if (address - allocation->first < bytes + granule_bytes)
            return text("byte %llu of an allocation of %llu on device %d", offset(allocation->first),
                        (unsigned long long)bytes, allocation->second.context->device);
    }
    auto mapping = world.mappings.upper_bound(address);
    if (mapping != world.mappings.begin()) {
        --mapping;
        if (address - mapping->first < mapping->second.bytes)
            return text("byte %llu of a mapping of %llu on device %d", offset(mapping->first),
                        (unsigned long long)mapping->second.bytes,
                        world.physical.at(mapping->second.physical).device);
    }
    return "nothing is there";
}

namespace {

std::string quoted(const std::string &s) {
    std::string out = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\')
            out += '\\';
        if ((unsigned char)c < 0x20)
            out += text("\\u%04x", c);
        else
            out += c;
    }
    return out + "\"";
}

unsigned long long number(uint64_t v) {
    return v;
}

template <typename L, typename F> std::string list(const L &items, F item) {
    std::string out;
    for (const auto &i : items)
        out += (out.empty() ? "" : ",") + item(i);
    return out;
}

std::string live() {
    return text(
        "{\"contexts\":%zu,\"streams\":%zu,\"events\":%zu,\"modules\":%zu,\"allocations\":%zu,\"pinned\":%zu,"
        "\"physical\":%zu,\"mappings\":%zu,\"reservations\":%zu}",
        world.contexts.size(), world.stream_handles.size(), world.events.size(), world.modules.size(),
        world.allocations.size(), world.pinned.size(), world.physical.size(), world.mappings.size(),
        world.reservations.size());
}

std::string report_text() {
    uint64_t outstanding = 0;
    for (auto &[handle, c] : world.contexts)
        outstanding += c->outstanding;
    std::string out = "{\"violations\":[";
    out += list(world.violations, [](const Violation &v) {
        return "{\"kind\":" + quoted(kind_name(v.kind)) + ",\"message\":" + quoted(v.message) + "}";
    });
    out += "],\"calls\":{" +
           list(world.calls, [](auto &c) { return quoted(c.first) + text(":%llu", number(c.second)); });
    out += "},\"device_wide\":[" + list(world.device_wide, [](const DeviceWide &d) {
               return "{\"call\":" + quoted(d.call) + text(",\"outstanding\":%llu}", number(d.outstanding));
           });
    out += "],\"devices\":[" + list(world.devices, [](const Device &d) {
               return text("{\"used\":%llu,\"peak\":%llu,\"neighbour\":%llu,\"implicit\":%llu}",
                           number(d.used), number(d.peak), number(d.neighbour), number(d.implicit));
           });
    out += "],\"trace\":[" + list(world.trace, [](const Traced &t) {
               return "{\"name\":" + quoted(order[t.operation].name) +
                      text(",\"stream\":%u,\"device\":%d,\"code\":%d,\"enqueued_ns\":%llu,\"start_ns\":%llu,"
                           "\"end_ns\":%llu}",
                           t.stream, t.device, t.code, number(t.enqueued_ns), number(t.start_ns),
                           number(t.end_ns));
           });
    out += "],\"kernels\":[" + list(all_kernels(), [](const cuzk_sim_kernel *k) {
               return "{\"name\":" + quoted(k->name) +
                      text(",\"args_bytes\":%zu,\"max_threads\":%u}", k->args_bytes, k->max_threads);
           });
    out += "],\"struck\":[" + list(world.struck, [](const std::string &name) { return quoted(name); });
    out += text("],\"call_total\":%llu,\"unrecorded_waits\":%llu,\"undeclared_launches\":%llu,"
                "\"max_outstanding\":%llu,\"outstanding\":%llu,\"failed_releases\":%llu,\"now_ns\":%llu,",
                number(world.call_total), number(world.unrecorded_waits), number(world.undeclared_launches),
                number(world.max_outstanding), number(outstanding), number(world.failed_releases),
                number(world.now_ns));
    return out + "\"live\":" + live() + "}";
}

} // namespace

} // namespace cudasim

using namespace cudasim;

#define CONTROL extern "C" __attribute__((visibility("default")))

// cudasim_reset clears everything: contexts, memory, faults, settings, counts. Only cuInit stays done.
CONTROL void cudasim_reset(void) {
    std::unique_lock<std::mutex> lock(world.mutex);
    reset();
}

// cudasim_configure changes settings and adds faults, one a line (config.h). The number of devices and their
// memory change only while there is no context. It returns 0, or copies what is wrong to `wrong` and
// returns 1.
CONTROL int cudasim_configure(const char *lines, char *wrong, uint64_t wrong_bytes) {
    std::unique_lock<std::mutex> lock(world.mutex);
    std::string message = apply(world.config, world.faults, lines);
    if (message.empty() && (world.config.devices > 32 ||
                            (world.config.devices != world.devices.size() && !world.contexts.empty())))
        message = "devices: at most 32, and not while there are contexts";
    if (!message.empty()) {
        std::strncpy(wrong, message.c_str(), size_t(wrong_bytes) - 1);
        wrong[wrong_bytes - 1] = 0;
        return 1;
    }
    if (world.config.devices != world.devices.size())
        world.devices.assign(world.config.devices, Device{});
    find_visible();
    world.random = world.config.seed * 2 + 1;
    return 0;
}

// cudasim_report writes the report as JSON and returns its length; call again with more room if that is
// larger.
CONTROL uint64_t cudasim_report(char *buffer, uint64_t bytes) {
    std::unique_lock<std::mutex> lock(world.mutex);
    std::string report = report_text();
    if (bytes > 0)
        std::memcpy(buffer, report.data(), std::min<uint64_t>(bytes, report.size()));
    return report.size();
}

// cudasim_run runs up to n outstanding operations and returns how many ran.
CONTROL uint64_t cudasim_run(uint64_t n) {
    std::unique_lock<std::mutex> lock(world.mutex);
    uint64_t ran = 0;
    while (ran < n && run_one())
        ran++;
    return ran;
}

// cudasim_forbid_thread makes any driver call of this thread from now on a violation.
CONTROL void cudasim_forbid_thread(void) {
    std::unique_lock<std::mutex> lock(world.mutex);
    world.forbidden_threads.insert(int(syscall(SYS_gettid)));
}

// cudasim_unhang ends what a fault made never end.
CONTROL void cudasim_unhang(void) {
    std::unique_lock<std::mutex> lock(world.mutex);
    unhang();
}

// cudasim_seize gives device memory to a neighbour, or takes it back where bytes is negative.
CONTROL void cudasim_seize(int device, int64_t bytes) {
    std::unique_lock<std::mutex> lock(world.mutex);
    world.devices.at(size_t(device)).neighbour += uint64_t(bytes);
}
