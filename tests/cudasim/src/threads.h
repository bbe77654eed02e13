// State of the running block that barriers, exchanges and shared memory use.
#pragma once

#include <cstdint>

namespace cudasim {

constexpr uint32_t max_block_threads = 1024;
constexpr uint32_t max_warps = max_block_threads / 32;

struct Threads {
    uint64_t block = 0;   // number of the running block over all launches
    uint32_t phase = 0;   // counts barriers over all blocks
    uint32_t current = 0; // the running thread's index in its block
    uint16_t exchanges[max_warps] = {}; // warp exchanges so far, by warp
};
extern Threads threads;

} // namespace cudasim
