// The sum of the points whose variable is one. One bitmap says which variables are
// one, another, the density, which have a point: that of variable i is point
// base + (number of density bits below i).
#pragma once

#include "msm/bucket.cuh"

namespace cuzk {

// Variables of which one thread counts the density bits: 32 words of the bitmap.
constexpr u32 RANK_RUN = 1024;

constexpr u32 ONES_THREADS = 128, ONES_BATCH = 32 * ONES_THREADS;

template <class G> struct OnesArgs {
    const Affine<typename G::F> *points;
    const u32 *ones;          // bitmap[ceil(n / 32)], bits past n clear
    const u32 *density;       // bitmap[ceil(n / 32)], bits past n ignored; null: every variable
    const u32 *ranks;         // ranks[i]: density bits below variable RANK_RUN i; null with density
    XYZZ<typename G::F> *out; // out[grid_x]: one sum for each block
    u32 n, base;
    u32 on_host; // 1: points lie in host memory
    u32 pad;
};

CUZK_FN u32 bits_below(u32 n, u64 first) {
    return n >= first + 32 ? 0xffffffffu : n <= first ? 0 : (1u << (n - (u32)first)) - 1;
}

// Each thread takes a word of the bitmaps, and writes the positions of its ones to
// shared memory; then all threads add up equal shares of those points.
template <class G>
CUZK_FN void sum_ones(const OnesArgs<G> &a, u32 *positions, XYZZ<typename G::F> *half, u32 *scratch) {
    typedef typename G::F F;
    XYZZ<F> sum = XYZZ<F>::infinity();
    u32 batches = (u32)(((u64)a.n + ONES_BATCH - 1) / ONES_BATCH);
    CUZK_NO_UNROLL
    for (u32 batch = block_x(); batch < batches; batch += grid_x()) {
        u64 first = (u64)batch * ONES_BATCH + 32 * thread_x();
        u32 exist = bits_below(a.n, first);
        u32 density = a.density && exist ? constant_load(a.density, first / 32) & exist : exist;
        u32 ones = exist ? constant_load(a.ones, first / 32) & density : 0;
        u32 rank_before, at, total, count;
        rank_before = block_exclusive_sum(popcount32(density), scratch, total);
        at = block_exclusive_sum(popcount32(ones), scratch, count);
        u32 batch_rank =
            a.density ? constant_load(a.ranks, (u64)batch * (ONES_BATCH / RANK_RUN)) : batch * ONES_BATCH;
        u32 rank = a.base + batch_rank + rank_before;
        while (ones) {
            u32 bit = lowest_bit(ones);
            ones &= ones - 1;
            positions[at++] = rank + popcount32(density & ((1u << bit) - 1));
        }
        block_barrier();
        // A warp loads its points together. `half`, which is free until the end, has
        // room for an affine point of each thread.
        u32 mine = thread_x() - lane();
        Affine<F> *staging = reinterpret_cast<Affine<F> *>(half) + mine;
        CUZK_NO_UNROLL
        for (u32 i = mine; i < count; i += block_threads()) {
            u32 points = count - i < WARP ? count - i : WARP;
            Affine<F> p = Affine<F>::infinity();
            if (a.on_host)
                p = warp_gather(a.points, positions + i, points, staging);
            else if (lane() < points)
                p = constant_load(a.points, positions[i + lane()]);
            sum.add(p);
        }
        // The next batch's positions are written behind the barriers of its two
        // exclusive sums anyway; with this one that need not be known.
        block_barrier();
    }
    sum = block_sum(sum, half);
    if (thread_x() == 0)
        global_store(a.out, block_x(), sum);
}

} // namespace cuzk
