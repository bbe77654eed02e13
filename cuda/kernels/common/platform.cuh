// The one header through which kernels touch the machine. A kernel source
// compiles twice: by nvcc for the GPU, and by g++ for tests/cudasim, which
// runs each thread of a block as a fibre. Nothing outside this header uses a
// CUDA keyword, built-in variable or intrinsic.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#if defined(__CUDACC__)
#define CUZK_ON_DEVICE 1
#include "device.cuh"
#else
#define CUZK_ON_DEVICE 0
#include "host.cuh"
#endif

namespace cuzk {

constexpr u32 WARP = 32;

// Marks "no index" in u32 index arrays; no array is that long.
constexpr u32 NONE = 0xffffffffu;

// The number of this thread in the x dimension of the grid, and how many there are.
CUZK_FN u64 global_thread() {
    return (u64)block_x() * block_threads() + thread_x();
}
CUZK_FN u64 global_threads() {
    return (u64)grid_x() * block_threads();
}

CUZK_FN u32 lane() {
    return thread_x() % WARP;
}

// Reverses the low `bits` bits of i; bits may be 0.
CUZK_FN u32 bit_reverse(u32 i, u32 bits) {
    return bits == 0 ? 0 : reverse32(i) >> (32 - bits);
}

// 16 bytes of an element of any type, which device memory moves at once.
struct alignas(16) [[gnu::may_alias]] Quad {
    u32 word[4];
};

// Returns p[index[lane()]] to each lane below `count`, and T() to the others; all 32
// lanes call. Neighbouring lanes load neighbouring quads, so that memory behind a
// bus sees few large reads instead of one of 16 bytes for each lane and quad. index
// and staging[32] are shared memory.
template <class T> CUZK_FN T warp_gather(const T *p, const u32 *index, u32 count, T *staging) {
    constexpr u32 EACH = sizeof(T) / sizeof(Quad);
    const Quad *from = reinterpret_cast<const Quad *>(p);
    Quad *to = reinterpret_cast<Quad *>(staging);
    CUZK_UNROLL
    for (u32 k = 0; k < EACH; k++) {
        u32 q = k * WARP + lane();
        if (q < count * EACH)
            to[q] = constant_load(from, (u64)index[q / EACH] * EACH + q % EACH);
    }
    warp_barrier();
    T mine = T();
    if (lane() < count)
        mine = staging[lane()];
    warp_barrier(); // before the next use of staging
    return mine;
}

// The sum over the lanes up to and including this one; all 32 lanes call.
CUZK_FN u32 warp_inclusive_sum(u32 v) {
    for (u32 d = 1; d < WARP; d *= 2) {
        u32 below = warp_shuffle(v, lane() >= d ? lane() - d : lane());
        if (lane() >= d)
            v += below;
    }
    return v;
}

// The exclusive prefix sum over a block of a multiple of 32 threads, at most 1024.
// `scratch` is 33 words of shared memory; `total` gets the sum. All threads call.
// Ends with a barrier, so that scratch may be used again.
CUZK_FN u32 block_exclusive_sum(u32 v, u32 *scratch, u32 &total) {
    u32 inclusive = warp_inclusive_sum(v);
    u32 warp = thread_x() / WARP, warps = block_threads() / WARP;
    if (lane() == WARP - 1)
        scratch[warp] = inclusive;
    block_barrier();
    if (warp == 0) {
        u32 mine = lane() < warps ? scratch[lane()] : 0;
        u32 sums = warp_inclusive_sum(mine);
        scratch[lane()] = sums - mine;
        if (lane() == WARP - 1)
            scratch[WARP] = sums;
    }
    block_barrier();
    u32 before = scratch[warp] + inclusive - v;
    total = scratch[WARP];
    block_barrier();
    return before;
}

} // namespace cuzk
