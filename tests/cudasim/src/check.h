// Checks of single memory accesses, of kernels and of copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "order.h"
#include "space.h"
#include "threads.h"

namespace cudasim {

enum Mode : uint32_t { mode_read = 1, mode_write = 2, mode_both = 3, mode_atomic = 7 };

// Range is what a launch declares; the layout is that of cudasim_range in CONTRACT.md.
struct Range {
    uint64_t base, bytes;
    uint32_t mode, reserved;
};

// PinnedRange is pinned host memory, and whose kernels may access it.
struct PinnedRange {
    uint64_t base, bytes;
    uint64_t context; // that pinned it
    bool portable;    // other contexts may use it as well
    bool mapped;      // kernels may access it; else only copies do
};

// Running describes the operation whose effect is being carried out.
struct Running {
    bool kernel = false; // accesses come from kernel code
    uint32_t operation = 0;
    uint32_t device_mask = 0;
    bool races = false;                           // check races between threads on global memory
    const std::vector<Range> *declared = nullptr; // null: nothing was declared
    const std::vector<PinnedRange> *pinned = nullptr;
    uint64_t context = 0;     // handle
    uint64_t stack = 0;       // of the running thread
    uint64_t atomic_at = 0;   // the address whose atomic access was announced,
    uint32_t atomic_left = 0; // and how many plain accesses of it belong to that
    int code = 0;             // CUresult that ends the launch
    uint32_t reported = 0;    // bits of kinds already reported for this operation
};
extern Running running;
extern Order order;

// access_slow checks what the inline part below could not settle.
void access_slow(uint64_t address, size_t bytes, uint32_t mode);
void touch_slow(uint64_t address, uint32_t mode, Cell *cell);

void race_found(uint64_t address, int found);

// check_races looks for races between the threads of the running launch on global memory.
inline void check_races(uint64_t address, size_t bytes, uint32_t mode) {
    auto words = reinterpret_cast<WordTouches *>(touches_base);
    uint64_t first = (address - space_base) / 4, last = (address + bytes - 1 - space_base) / 4;
    for (uint64_t i = first; i <= last; i++)
        if (int found = conflicts(words[i], mode & mode_write, mode == mode_atomic); found != 0)
            race_found(space_base + 4 * i, found);
}

// touch records an access of the running operation and checks its order.
inline void touch(uint64_t address, size_t bytes, uint32_t mode) {
    Cell *cell = cell_of(address), *last = cell_of(address + bytes - 1);
    for (; cell <= last; cell++) {
        bool own = cell->writer == running.operation;
        if (mode & mode_write ? own && cell->readers == 0 : own || cell->readers == running.operation)
            continue;
        touch_slow(address, mode, cell);
    }
}

inline bool declared_covers(uint64_t address, size_t bytes, uint32_t mode) {
    for (const Range &r : *running.declared)
        if (address - r.base < r.bytes && address + bytes - r.base <= r.bytes &&
            (r.mode & mode & mode_both) == (mode & mode_both))
            return true;
    return false;
}

// access checks one access of kernel code. bytes is at most 256.
inline void access(uint64_t address, size_t bytes, uint32_t mode) {
    uint64_t offset = address - space_base;
    if (offset >= space_bytes || bytes > 16) {
        access_slow(address, bytes, mode);
        return;
    }
    const Granule &g = granules[offset / granule_bytes];
    uint32_t within = uint32_t(offset % granule_bytes);
    if (!(g.devices & running.device_mask) || within < g.lo || within + bytes > g.hi) {
        access_slow(address, bytes, mode);
        return;
    }
    // bytes <= 16 and a bit offset <= 7: 23 bits, one 32-bit word at the byte of the first bit.
    uint32_t word, mask = ((1u << bytes) - 1) << (address & 7);
    __builtin_memcpy(&word, written_of(address), 4);
    if ((mode & mode_read) && (word & mask) != mask) {
        access_slow(address, bytes, mode);
        return;
    }
    if (running.declared && !declared_covers(address, bytes, mode)) {
        access_slow(address, bytes, mode);
        return;
    }
    if ((mode & mode_write) && (word & mask) != mask) {
        word |= mask;
        __builtin_memcpy(written_of(address), &word, 4);
    }
    touch(address, bytes, mode);
    if (running.races)
        check_races(address, bytes, mode);
}

// check_range is the check of a copy or fill: all of a range at once. It returns the CUresult.
int check_range(uint64_t base, uint64_t bytes, uint32_t mode);

// where describes an address for messages.
std::string where(uint64_t address);

} // namespace cudasim
