// Counting sort of one batch in shared memory, by a key of at most 11 bits.
//
// A bin is what has one key: a band or a bucket. Lanes that scatter to bins in
// global memory write a sector of 32 bytes each for 4 or 8 bytes of data. Once a
// batch is sorted by bin, its entries of one bin lie together, and neighbouring
// lanes write neighbouring addresses. Source:
// D. Merrill, A. Grimshaw, "High Performance and Scalable Radix Sorting",
// Parallel Processing Letters 21, 2011; A. Adinets, D. Merrill, "Onesweep",
// arXiv:2206.01784, 2022. Here a batch takes the places of its part of a bin from a
// cursor of the bin, as order within a bin is free.
#pragma once

#include "common/platform.cuh"

namespace cuzk {

// A batch's values take 32 KiB of shared memory, its bins up to 8. An SM holds two
// blocks, which wait at barriers at different times: 1024 threads of up to 64
// registers. docs/performance.md has no figures of other sizes.
constexpr u32 SORT_THREADS = 512, SORT_EACH = 16, SORT_BATCH = SORT_THREADS * SORT_EACH;
constexpr u32 SORT_BLOCKS = 2;
constexpr u32 SORT_WORDS = SORT_BATCH / WARP;

// A batch's shared memory. The bins that are not empty are numbered in order.
struct SortMemory {
    u32 *values;  // SORT_BATCH
    u32 *bins;    // BINS + WARP: keys and counts; then starts and numbers; then by number what `place` adds
    u32 *firsts;  // SORT_WORDS: bit j is set where a bin starts at the j-th entry
    u32 *covers;  // SORT_WORDS: the number of the bin that has entry WARP i
    u32 *scratch; // WARP + 1

    // The number of the bin that has entry j, where j % WARP is the lane.
    CUZK_FN u32 number_of(u32 j) const {
        u32 firsts_after = firsts[j / WARP] & ((2u << lane()) - 2); // those of entries j / WARP WARP + 1 to j
        return covers[j / WARP] + popcount32(firsts_after);
    }

    // Where the j-th entry, of the bin with that number, goes.
    CUZK_FN u32 place(u32 j, u32 number) const { return bins[number] + j; }
};

// Bin number `number` has `count` > 0 entries from `start` on.
CUZK_FN void mark_bin(const SortMemory &t, u32 number, u32 start, u32 count) {
    shared_atomic_add(t.firsts, start / WARP, 1u << start % WARP);
    CUZK_NO_UNROLL
    for (u32 i = (start + WARP - 1) / WARP; i * WARP < start + count; i++)
        t.covers[i] = number;
}

// Words of two halves: a key in the upper and a count or a rank in the lower one,
// or the number of a bin in the upper and its start in the lower one.
constexpr u32 HIGH = 1 << 16;
CUZK_FN u32 high_half(u32 word) {
    return word / HIGH;
}
CUZK_FN u32 low_half(u32 word) {
    return word % HIGH;
}
static_assert(SORT_BATCH < HIGH, "counts, ranks and starts have 16 bits");

// The key of a missing entry: a bin that is counted and then left out. Each lane
// has one of its own, as all would queue for a single one.
template <u32 BINS> CUZK_FN u32 no_key() {
    return BINS + lane();
}

// What a bin adds to the numbers and starts of the bins after it.
CUZK_FN u32 number_and_count(u32 word) {
    u32 count = low_half(word);
    return count != 0 ? HIGH + count : 0;
}

// Turns counts into starts and numbers. Returns the number of entries.
template <u32 BINS> CUZK_FN u32 number_bins(const SortMemory &t) {
    constexpr u32 EACH = BINS / SORT_THREADS;
    u32 *mine = t.bins + thread_x() * EACH;
    u32 sum = 0, total;
    CUZK_UNROLL
    for (u32 k = 0; k < EACH; k++)
        sum += number_and_count(mine[k]);
    u32 at = block_exclusive_sum(sum, t.scratch, total);
    // Not unrolled, to save registers: those of sort_batch's caller are in use.
    CUZK_NO_UNROLL
    for (u32 k = 0; k < EACH; k++) {
        u32 step = number_and_count(mine[k]);
        mine[k] = at;
        if (step != 0)
            mark_bin(t, high_half(at), low_half(at), low_half(step));
        at += step;
    }
    if (thread_x() < WARP)
        t.bins[BINS + thread_x()] = SORT_BATCH; // no place
    return low_half(total);
}

template <u32 BINS> CUZK_FN void clear_batch(const SortMemory &t) {
    static_assert(SORT_WORDS <= SORT_THREADS && WARP <= SORT_THREADS, "a word a thread");
    CUZK_UNROLL
    for (u32 k = 0; k < BINS / SORT_THREADS; k++) {
        u32 b = k * SORT_THREADS + thread_x();
        t.bins[b] = b * HIGH;
    }
    if (thread_x() < WARP)
        t.bins[BINS + thread_x()] = (BINS + thread_x()) * HIGH;
    if (thread_x() < SORT_WORDS)
        t.firsts[thread_x()] = 0;
    block_barrier();
}

// Counts the entries by key. The atomic returns the key again and the entry's rank
// among those of that key, so that one register holds both.
CUZK_FN void rank_keys(const SortMemory &t, u32 *key) {
    CUZK_UNROLL
    for (u32 k = 0; k < SORT_EACH; k++)
        key[k] = shared_atomic_add(t.bins, key[k], 1);
}

// Puts each value at its bin's start plus its rank. All starts are read before the
// first value is written: the compiler cannot know that those are different places.
CUZK_FN void place_values(const SortMemory &t, u32 *key, const u32 *value) {
    CUZK_UNROLL
    for (u32 k = 0; k < SORT_EACH; k++)
        key[k] = low_half(t.bins[high_half(key[k])]) + low_half(key[k]);
    CUZK_UNROLL
    for (u32 k = 0; k < SORT_EACH; k++)
        if (key[k] < SORT_BATCH)
            t.values[key[k]] = value[k];
}

// Sorts the block's entries, SORT_EACH of each thread; key[k] is below BINS, or
// no_key<BINS>() for a missing entry. Returns the number of entries. The j-th is
// then t.values[j]; its bin is t.number_of(j) and its place t.place(j, number).
// cursors[first + key] moves on by the count of each key. The keys are stored to
// keys by their bin's number, unless keys is null. key is overwritten. All
// SORT_THREADS threads call, and come to a barrier before the next call.
template <u32 BINS>
CUZK_FN u32 sort_batch(const SortMemory &t, u32 *cursors, u64 first, u32 *key, const u32 *value, u32 *keys) {
    static_assert(BINS % SORT_THREADS == 0 && BINS + WARP <= HIGH, "bins are shared out evenly");
    constexpr u32 BINS_EACH = BINS / SORT_THREADS;
    clear_batch<BINS>(t);
    rank_keys(t, key);
    block_barrier();
    u32 place[BINS_EACH], start[BINS_EACH];
    CUZK_UNROLL
    for (u32 k = 0; k < BINS_EACH; k++) {
        u32 b = k * SORT_THREADS + thread_x(), count = low_half(t.bins[b]);
        place[k] = count != 0 ? global_atomic_add(cursors, first + b, count) : NONE;
    }
    u32 total = number_bins<BINS>(t); // with barriers before it writes
    block_barrier();
    place_values(t, key, value);
    CUZK_UNROLL
    for (u32 k = 0; k < BINS_EACH; k++)
        start[k] = t.bins[k * SORT_THREADS + thread_x()];
    block_barrier();
    CUZK_UNROLL
    for (u32 k = 0; k < BINS_EACH; k++) {
        if (place[k] == NONE)
            continue;
        u32 number = high_half(start[k]);
        t.bins[number] = place[k] - low_half(start[k]);
        if (keys)
            keys[number] = k * SORT_THREADS + thread_x();
    }
    block_barrier();
    return total;
}

} // namespace cuzk
