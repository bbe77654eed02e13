// The sum of the points whose variable is one. Variables come as a bitmap of
// those that are one; a density bitmap says which variables have a point, and
// the point of variable i is base + (number of density bits below i).
#pragma once

#include "msm/bucket.cuh"

namespace cuzk {

// Variables a prefix count covers: 32 words of the bitmap.
constexpr u32 RANK_TILE = 1024;

constexpr u32 ONES_THREADS = 128, ONES_TILE = 32 * ONES_THREADS;

template <class G> struct OnesArgs {
    const Affine<typename G::F> *points;
    const u32 *ones;          // bitmap[ceil(n / 32)], bits past n clear
    const u32 *density;       // bitmap[ceil(n / 32)], bits past n ignored; null: every variable
    const u32 *ranks;         // ranks[i]: density bits below variable RANK_TILE i; null with density
    XYZZ<typename G::F> *out; // out[grid_x]: one sum a block
    u32 n, base;
    u32 on_host; // 1: points lie in host memory
    u32 pad;
};

CUZK_FN u32 bits_below(u32 n, u64 first) {
    return n >= first + 32 ? 0xffffffffu : n <= first ? 0 : (1u << (n - (u32)first)) - 1;
}

// One thread a bitmap word: positions of the ones go to a list in shared
// memory, which all threads then add up in equal shares.
template <class G>
CUZK_FN void sum_ones(const OnesArgs<G> &a, u32 *list, XYZZ<typename G::F> *half, u32 *scratch) {
    typedef typename G::F F;
    XYZZ<F> sum = XYZZ<F>::infinity();
    u32 tiles = (u32)(((u64)a.n + ONES_TILE - 1) / ONES_TILE);
    CUZK_NO_UNROLL
    for (u32 tile = block_x(); tile < tiles; tile += grid_x()) {
        u64 first = (u64)tile * ONES_TILE + 32 * thread_x();
        u32 exist = bits_below(a.n, first);
        u32 density = a.density && exist ? constant_load(a.density, first / 32) & exist : exist;
        u32 ones = exist ? constant_load(a.ones, first / 32) & density : 0;
        u32 rank_before, at, total, count;
        rank_before = block_exclusive_sum(popcount32(density), scratch, total);
        at = block_exclusive_sum(popcount32(ones), scratch, count);
        u32 tile_rank =
            a.density ? constant_load(a.ranks, (u64)tile * (ONES_TILE / RANK_TILE)) : tile * ONES_TILE;
        u32 rank = a.base + tile_rank + rank_before;
        while (ones) {
            u32 bit = lowest_bit(ones);
            ones &= ones - 1;
            list[at++] = rank + popcount32(density & ((1u << bit) - 1));
        }
        block_barrier();
        // A warp at a time; half is free until the end, and as large as a
        // point a thread.
        u32 mine = thread_x() - lane();
        Affine<F> *staging = reinterpret_cast<Affine<F> *>(half) + mine;
        CUZK_NO_UNROLL
        for (u32 i = mine; i < count; i += block_threads()) {
            u32 points = count - i < WARP ? count - i : WARP;
            Affine<F> p = Affine<F>::infinity();
            if (a.on_host)
                p = warp_gather(a.points, list + i, points, staging);
            else if (lane() < points)
                p = constant_load(a.points, list[i + lane()]);
            sum.add(p);
        }
        // The next tile's list is written behind the barriers of its two sums
        // already; this one keeps that from hanging on how they are made.
        block_barrier();
    }
    sum = block_sum(sum, half);
    if (thread_x() == 0)
        global_store(a.out, block_x(), sum);
}

} // namespace cuzk
