// Device memory with cuMemAlloc, pinned host memory.
#include <cstring>
#include <sys/mman.h>

#include "entry.h"

using namespace cudasim;

namespace {

constexpr uint64_t page_bytes = 4096;

uint64_t granules_of(uint64_t bytes) {
    return (bytes + granule_bytes - 1) / granule_bytes * granule_bytes;
}

// taken_by is what an allocation takes of the device: small ones share a granule with others.
uint64_t taken_by(uint64_t bytes) {
    constexpr uint64_t small = 1 << 20, unit = 512;
    return bytes < small ? (bytes + unit - 1) / unit * unit : granules_of(bytes);
}

void release_allocation(uint64_t base, const Allocation &a) {
    unmap_physical(base, granules_of(a.bytes));
    return_addresses(base);
    world.ledger.release(base, granules_of(a.bytes));
    give_vram(a.context->device, taken_by(a.bytes));
}

void release_pinned(uint64_t base, const Pinned &p) {
    if (!p.registered)
        munmap(reinterpret_cast<void *>(base), p.bytes);
}

} // namespace

namespace cudasim {

void release_context_memory(Context *context) {
    for (auto it = world.allocations.begin(); it != world.allocations.end();) {
        if (it->second.context != context) {
            ++it;
            continue;
        }
        release_allocation(it->first, it->second);
        it = world.allocations.erase(it);
    }
    for (auto it = world.pinned.begin(); it != world.pinned.end();) {
        if (it->second.context != context) {
            ++it;
            continue;
        }
        release_pinned(it->first, it->second);
        it = world.pinned.erase(it);
    }
    refresh_pinned();
}

} // namespace cudasim

DRIVER cuMemGetInfo_v2(uint64_t *free, uint64_t *total) {
    ENTER(Needs::context);
    const Device &d = world.devices[size_t(call.context->device)];
    *total = world.config.vram_bytes;
    *free = d.used + d.neighbour > *total ? 0 : *total - d.used - d.neighbour;
    return ok;
}

DRIVER cuMemAlloc_v2(uint64_t *out, uint64_t bytes) {
    ENTER(Needs::context);
    if (out == nullptr || bytes == 0)
        return call.wrong(Kind::limit, invalid_value, "nothing is asked for");
    if (bytes > space_bytes || !take_vram(call.context->device, taken_by(bytes)))
        return out_of_memory;
    uint64_t base = take_addresses(bytes, 0);
    if (base == 0) {
        give_vram(call.context->device, taken_by(bytes));
        return out_of_memory;
    }
    map_physical(base, granules_of(bytes), 0, nullptr);
    allow(base, bytes, 1u << call.context->device);
    world.allocations[base] = {call.context, bytes};
    *out = base;
    return ok;
}

DRIVER cuMemFree_v2(uint64_t base) {
    ENTER_RELEASE(Needs::context);
    if (base == 0)
        return ok;
    auto found = world.allocations.find(base);
    if (found == world.allocations.end())
        return call.wrong(Kind::release, invalid_value,
                          text("%#llx is no allocation", (unsigned long long)base));
    if (found->second.context != call.context)
        return call.wrong(Kind::release, invalid_value, "the allocation belongs to another context");
    run_all(call, call.context);
    release_allocation(base, found->second);
    world.allocations.erase(found);
    return call.context->sticky;
}

// With unified addressing, which every device here has, allocations of the driver are for all contexts and
// for kernels whatever the flags say. Source: CUDA Driver API, "Unified Addressing".
DRIVER cuMemHostAlloc(void **out, uint64_t bytes, unsigned flags) {
    (void)flags;
    ENTER(Needs::context);
    if (out == nullptr || bytes == 0)
        return call.wrong(Kind::limit, invalid_value, "nothing is asked for");
    uint64_t length = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    void *p = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return out_of_memory;
    world.pinned[reinterpret_cast<uint64_t>(p)] = {call.context, length, false, true, true};
    refresh_pinned();
    *out = p;
    return ok;
}

DRIVER cuMemFreeHost(void *p) {
    ENTER_RELEASE(Needs::context);
    auto found = world.pinned.find(reinterpret_cast<uint64_t>(p));
    if (found == world.pinned.end() || found->second.registered)
        return call.wrong(Kind::release, invalid_value, text("%p is no pinned allocation", p));
    run_all(call, call.context);
    release_pinned(found->first, found->second);
    world.pinned.erase(found);
    refresh_pinned();
    return call.context->sticky;
}

DRIVER cuMemHostRegister_v2(void *p, uint64_t bytes, unsigned flags) {
    ENTER(Needs::context);
    constexpr unsigned portable = 1, device_map = 2;
    auto base = reinterpret_cast<uint64_t>(p);
    if (base == 0 || bytes == 0)
        return call.wrong(Kind::limit, invalid_value, "nothing is asked for");
    if ((flags & ~(portable | device_map)) != 0)
        return call.wrong(Kind::limit, invalid_value, text("flags %u are not simulated", flags));
    if (base % page_bytes != 0)
        return call.wrong(Kind::limit, invalid_value, text("%p does not begin at a page", p));
    for (const PinnedRange &other : world.pinned_ranges)
        if (other.base < base + bytes && base < other.base + other.bytes)
            return host_memory_already_registered;
    world.pinned[base] = {call.context, bytes, true, (flags & portable) != 0, (flags & device_map) != 0};
    refresh_pinned();
    return ok;
}

DRIVER cuMemHostUnregister(void *p) {
    ENTER_RELEASE(Needs::context);
    auto found = world.pinned.find(reinterpret_cast<uint64_t>(p));
    if (found == world.pinned.end() || !found->second.registered)
        return call.wrong(Kind::release, host_memory_not_registered, text("%p is not registered", p));
    std::string name;
    if (outstanding_uses_host(found->first, found->second.bytes, &name))
        call.wrong(Kind::busy, ok, "\"" + name + "\" uses the memory and has not run");
    world.pinned.erase(found);
    refresh_pinned();
    return ok;
}

DRIVER cuMemHostGetDevicePointer_v2(uint64_t *out, void *p, unsigned flags) {
    ENTER(Needs::context);
    if (out == nullptr || flags != 0)
        return call.wrong(Kind::limit, invalid_value, text("flags %u", flags));
    auto address = reinterpret_cast<uint64_t>(p);
    for (const PinnedRange &r : world.pinned_ranges) {
        if (address < r.base || address >= r.base + r.bytes)
            continue;
        if (!r.mapped || (!r.portable && r.context != call.context->handle))
            return call.wrong(Kind::contents_unpinned, invalid_value,
                              text("%p is pinned, but not for kernels of this context", p));
        *out = address;
        return ok;
    }
    return call.wrong(Kind::contents_unpinned, invalid_value, text("%p is not pinned", p));
}
