#include "check.h"

#include "exec.h"
#include "fibre.h"
#include "violation.h"

extern "C" {
// The first and last bytes of this library, from the linker: its constants, and the runtime's own variables.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace cudasim {

Running running;
Order order;

namespace {

constexpr int illegal_address = 700; // CUDA_ERROR_ILLEGAL_ADDRESS

unsigned long long hex(uint64_t v) {
    return v;
}

const char *verb(uint32_t mode) {
    return mode == mode_read ? "read" : mode == mode_write ? "write" : "atomic access";
}

void illegal(uint64_t address, size_t bytes, uint32_t mode) {
    report_in_kernel(Kind::bounds, text("%s of %zu bytes at %#llx: %s", verb(mode), bytes, hex(address),
                                        where(address).c_str()));
    fail_launch(illegal_address);
}

bool pinned_covers(uint64_t address, size_t bytes) {
    for (const PinnedRange &p : *running.pinned)
        if (address >= p.base && address + bytes <= p.base + p.bytes)
            return p.mapped && (p.portable || p.context == running.context);
    return false;
}

// host_access is an access of a kernel to memory that is not the devices'.
void host_access(uint64_t address, size_t bytes, uint32_t mode) {
    if (!pinned_covers(address, bytes)) {
        illegal(address, bytes, mode);
        return;
    }
    if (running.declared && !declared_covers(address, bytes, mode))
        report_in_kernel(Kind::undeclared,
                         text("%s of %zu bytes of host memory at %#llx, which the launch does not declare",
                              verb(mode), bytes, hex(address)));
}

bool own_data(uint64_t address, size_t bytes) {
    auto begin = reinterpret_cast<uint64_t>(__ehdr_start), end = reinterpret_cast<uint64_t>(_end);
    return address >= begin && address + bytes <= end;
}

void unordered(uint64_t address, uint32_t other, const char *what) {
    report_in_kernel(Kind::order, text("%s at %#llx (%s): not ordered after \"%s\"", what, hex(address),
                                       where(address).c_str(), order[other].name.c_str()));
}

void space_access(uint64_t address, size_t bytes, uint32_t mode) {
    if (!reachable(address, bytes, running.device_mask)) {
        illegal(address, bytes, mode);
        return;
    }
    if (running.declared && !declared_covers(address, bytes, mode))
        report_in_kernel(Kind::undeclared,
                         text("%s of %zu bytes at %#llx (%s), which the launch does not declare", verb(mode),
                              bytes, hex(address), where(address).c_str()));
    if (mode & mode_read) {
        uint64_t hole = first_unwritten(address, bytes);
        if (hole != address + bytes)
            report_in_kernel(Kind::unwritten, text("read at %#llx (%s): the byte was never written",
                                                   hex(hole), where(hole).c_str()));
    }
    if (mode & mode_write)
        mark_written(address, bytes, true);
    touch(address, bytes, mode);
    if (running.races)
        check_races(address, bytes, mode);
}

} // namespace

void race_found(uint64_t address, int found) {
    report_in_kernel(Kind::race, text("the thread %s at %#llx (%s), with nothing to order them",
                                      found == 1 ? "touches memory that another of the launch writes"
                                                 : "writes memory that another of the launch reads",
                                      hex(address), where(address).c_str()));
}

void access_slow(uint64_t address, size_t bytes, uint32_t mode) {
    if (in_space(address))
        space_access(address, bytes, mode);
    else if (address >= shared_base && address < shared_base + shared_span)
        shared_access(address, bytes, mode);
    else if (!own_data(address, bytes))
        host_access(address, bytes, mode);
}

void touch_slow(uint64_t address, uint32_t mode, Cell *cell) {
    uint32_t self = running.operation;
    if (cell->writer != 0 && !order.ordered(cell->writer, self))
        unordered(address, cell->writer,
                  mode & mode_write ? "write of bytes that another operation writes"
                                    : "read of bytes that another operation writes");
    if (!(mode & mode_write)) {
        cell->readers = order.with(cell->readers, self);
        return;
    }
    if (uint32_t reader = order.unordered(cell->readers, self); reader != 0)
        unordered(address, reader, "write of bytes that another operation reads");
    cell->writer = self;
    cell->readers = 0;
}

int check_range(uint64_t base, uint64_t bytes, uint32_t mode) {
    if (bytes == 0)
        return 0;
    if (!reachable(base, bytes, running.device_mask)) {
        report_in_kernel(Kind::bounds, text("%s of %llu bytes at %#llx: %s", verb(mode), hex(bytes),
                                            hex(base), where(base).c_str()));
        return illegal_address;
    }
    if (mode == mode_read) {
        uint64_t hole = first_unwritten(base, bytes);
        if (hole != base + bytes)
            report_in_kernel(Kind::unwritten, text("copy from %#llx (%s): the byte was never written",
                                                   hex(hole), where(hole).c_str()));
    } else {
        mark_written(base, bytes, true);
    }
    touch(base, bytes, mode);
    return 0;
}

} // namespace cudasim
