// Virtual memory calls. They need no context and wait for nothing: unmapping memory that something enqueued
// still uses is the caller's mistake, and is reported.
#include "entry.h"

using namespace cudasim;

namespace {

// The parts of CUmemAllocationProp and CUmemAccessDesc that are looked at. Source: cuda.h of CUDA 13.0.
struct Properties {
    int32_t type, handle_types, location_type, device;
};
struct AccessDescription {
    int32_t location_type, device, flags;
};
constexpr int32_t pinned_type = 1, device_location = 1, read_write = 3;

bool whole(uint64_t v) {
    return v % granule_bytes == 0;
}

bool valid(const Properties *p) {
    return p != nullptr && p->type == pinned_type && p->location_type == device_location && p->device >= 0 &&
           uint64_t(p->device) < world.devices.size();
}

void release_if_unused(uint64_t handle, PhysicalMemory &p) {
    if (!p.released || p.mappings > 0)
        return;
    give_vram(p.device, p.memory.bytes);
    destroy_physical(p.memory);
    world.physical.erase(handle);
}

// mappings_in counts the mappings that lie in the range, or returns -1 if one reaches over its ends or there
// is a hole.
int mappings_in(uint64_t base, uint64_t bytes, bool holes_allowed) {
    int count = 0;
    uint64_t at = base;
    for (auto &[start, m] : world.mappings) {
        if (start + m.bytes <= base || start >= base + bytes)
            continue;
        if (start < base || start + m.bytes > base + bytes || (!holes_allowed && start != at))
            return -1;
        at = start + m.bytes;
        count++;
    }
    return !holes_allowed && at != base + bytes ? -1 : count;
}

std::string range_text(uint64_t base, uint64_t bytes) {
    return text("%llu bytes at %#llx", (unsigned long long)bytes, (unsigned long long)base);
}

} // namespace

DRIVER cuMemGetAllocationGranularity(uint64_t *out, const Properties *properties, unsigned option) {
    ENTER(Needs::virtual_memory);
    if (out == nullptr || option > 1 || !valid(properties))
        return invalid_value;
    *out = granule_bytes;
    return ok;
}

DRIVER cuMemAddressReserve(uint64_t *out, uint64_t bytes, uint64_t align, uint64_t hint, uint64_t flags) {
    (void)hint;
    ENTER(Needs::virtual_memory);
    if (out == nullptr || bytes == 0 || !whole(bytes) || flags != 0 || (align & (align - 1)) != 0)
        return call.wrong(
            Kind::limit, invalid_value,
            text("%llu bytes, alignment %llu", (unsigned long long)bytes, (unsigned long long)align));
    uint64_t base = take_addresses(bytes, align);
    if (base == 0)
        return out_of_memory;
    world.reservations[base] = bytes;
    *out = base;
    return ok;
}

DRIVER cuMemAddressFree(uint64_t base, uint64_t bytes) {
    ENTER_RELEASE(Needs::virtual_memory);
    auto found = world.reservations.find(base);
    if (found == world.reservations.end() || found->second != bytes)
        return call.wrong(Kind::release, invalid_value, range_text(base, bytes) + " are no reservation");
    if (mappings_in(base, bytes, true) != 0)
        return call.wrong(Kind::release, invalid_value, range_text(base, bytes) + " still have mappings");
    return_addresses(base);
    world.reservations.erase(found);
    return ok;
}

DRIVER cuMemCreate(uint64_t *out, uint64_t bytes, const Properties *properties, uint64_t flags) {
    ENTER(Needs::virtual_memory);
    if (out == nullptr || bytes == 0 || !whole(bytes) || flags != 0 || !valid(properties))
        return call.wrong(Kind::limit, invalid_value, text("%llu bytes", (unsigned long long)bytes));
    if (!take_vram(properties->device, bytes))
        return out_of_memory;
    PhysicalMemory p;
    p.device = properties->device;
    if (!create_physical(p.memory, bytes)) {
        give_vram(properties->device, bytes);
        return call.wrong(Kind::limit, out_of_memory, "the simulating machine gives no more memory or files");
    }
    *out = new_handle(Handle::physical);
    world.physical[*out] = p;
    return ok;
}

DRIVER cuMemRelease(uint64_t handle) {
    ENTER_RELEASE(Needs::virtual_memory);
    auto found = world.physical.find(handle);
    if (found == world.physical.end() || found->second.released)
        return call.wrong(
            Kind::release, invalid_value,
            text("handle %#llx is no physical memory, or was released", (unsigned long long)handle));
    found->second.released = true;
    release_if_unused(handle, found->second);
    return ok;
}

DRIVER cuMemMap(uint64_t base, uint64_t bytes, uint64_t offset, uint64_t handle, uint64_t flags) {
    ENTER(Needs::virtual_memory);
    auto found = world.physical.find(handle);
    if (found == world.physical.end() || found->second.released)
        return call.wrong(Kind::handle, invalid_value, "the handle names no physical memory that exists");
    auto reserved = world.reservations.upper_bound(base);
    if (reserved == world.reservations.begin())
        return call.wrong(Kind::limit, invalid_value, range_text(base, bytes) + " are not reserved");
    --reserved;
    // The offset must be 0. Source: CUDA driver API, cuMemMap.
    if (bytes == 0 || !whole(base) || !whole(bytes) || offset != 0 || flags != 0 ||
        bytes > found->second.memory.bytes || base + bytes > reserved->first + reserved->second)
        return call.wrong(Kind::limit, invalid_value,
                          range_text(base, bytes) + ": not whole granules of one reservation");
    if (mappings_in(base, bytes, true) != 0)
        return call.wrong(Kind::limit, invalid_value, range_text(base, bytes) + " are mapped already");
    map_physical(base, bytes, offset, &found->second.memory);
    world.mappings[base] = {bytes, handle};
    found->second.mappings++;
    return ok;
}

DRIVER cuMemSetAccess(uint64_t base, uint64_t bytes, const AccessDescription *access, uint64_t count) {
    ENTER(Needs::virtual_memory);
    if (mappings_in(base, bytes, false) < 1)
        return call.wrong(Kind::limit, invalid_value, range_text(base, bytes) + " are not whole mappings");
    uint32_t devices = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (access[i].location_type != device_location || access[i].flags != read_write ||
            access[i].device < 0 || uint64_t(access[i].device) >= world.devices.size())
            return call.wrong(Kind::limit, invalid_value, "access other than read and write by a device");
        devices |= 1u << access[i].device;
    }
    allow(base, bytes, devices);
    return ok;
}

DRIVER cuMemUnmap(uint64_t base, uint64_t bytes) {
    ENTER_RELEASE(Needs::virtual_memory);
    if (mappings_in(base, bytes, false) < 1)
        return call.wrong(Kind::release, invalid_value, range_text(base, bytes) + " are not whole mappings");
    std::string name;
    if (outstanding_touches(base, bytes, &name))
        call.wrong(Kind::busy, ok, "\"" + name + "\" uses " + range_text(base, bytes) + " and has not run");
    for (auto it = world.mappings.lower_bound(base);
         it != world.mappings.end() && it->first < base + bytes;) {
        unmap_physical(it->first, it->second.bytes);
        uint64_t handle = it->second.physical;
        PhysicalMemory &p = world.physical.at(handle);
        p.mappings--;
        release_if_unused(handle, p);
        it = world.mappings.erase(it);
    }
    world.ledger.release(base, bytes);
    return ok;
}
