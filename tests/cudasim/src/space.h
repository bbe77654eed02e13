// The simulated devices' memory: one range of addresses of this process, shared by all devices as with
// unified addressing, so that kernels use plain pointers. Beside it lie what the checks need: for each 2 MiB
// granule who may access which part, for each byte whether it was ever written, for each word which
// operations touched it last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cudasim {

// Chosen away from the Go heap, from the race detector's shadow (0x2000... to 0x4000...) and from where Linux
// places programs and libraries.
constexpr uint64_t space_base = 0x500000000000;
constexpr uint64_t space_bytes = uint64_t(1) << 40;
constexpr uint64_t written_base = 0x510000000000; // one bit for each byte
constexpr uint64_t cells_base = 0x480000000000;   // one Cell for each cell_bytes
constexpr uint64_t touches_base = 0x4a0000000000; // one WordTouches (threads.h) for each 4 bytes
constexpr uint64_t granule_bytes = 2 << 20;
constexpr uint64_t granule_count = space_bytes / granule_bytes;
constexpr uint64_t cell_bytes = 4; // the smallest thing that two streams write side by side

// Granule says what of one granule is accessible: bytes lo to hi, by the devices in the mask.
struct Granule {
    uint32_t lo, hi;
    uint32_t devices;
};

// Cell names the last operations on a word: writer is an operation, readers a set of operations (order.h). 0
// is none.
struct Cell {
    uint32_t writer, readers;
};

extern Granule *granules;

inline bool in_space(uint64_t address) {
    return address - space_base < space_bytes;
}
inline Granule &granule_of(uint64_t address) {
    return granules[(address - space_base) / granule_bytes];
}
inline uint8_t *written_of(uint64_t address) {
    return reinterpret_cast<uint8_t *>(written_base + (address - space_base) / 8);
}
inline Cell *cell_of(uint64_t address) {
    return reinterpret_cast<Cell *>(cells_base) + (address - space_base) / cell_bytes;
}

// open_space maps all of it, untouched; false if the addresses are taken.
bool open_space();

// take_addresses returns a free range of whole granules with a guard granule behind it, 0 if there is none.
uint64_t take_addresses(uint64_t bytes, uint64_t align);
void return_addresses(uint64_t base);

// Physical memory: bytes and whether they were written, which follow it from mapping to mapping.
struct Physical {
    int data = -1, written = -1; // files in memory
    uint64_t bytes = 0;
};
bool create_physical(Physical &p, uint64_t bytes);
void destroy_physical(Physical &p);

// map_physical puts p behind an address, not yet accessible; null p maps fresh private memory instead.
void map_physical(uint64_t base, uint64_t bytes, uint64_t offset, const Physical *p);
void unmap_physical(uint64_t base, uint64_t bytes);

// allow gives devices access to bytes from base on; the last granule is accessible only as far as bytes
// reach.
void allow(uint64_t base, uint64_t bytes, uint32_t devices);

void mark_written(uint64_t base, uint64_t bytes, bool written);
// first_unwritten returns the first byte never written, or base + bytes.
uint64_t first_unwritten(uint64_t base, uint64_t bytes);
// reachable says whether all bytes are accessible by one of the devices.
bool reachable(uint64_t base, uint64_t bytes, uint32_t devices);

} // namespace cudasim
