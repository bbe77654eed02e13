// Counting sort of one tile in shared memory, by a key of at most 11 bits.
//
// Lanes that scatter to bins in global memory write a sector of 32 bytes each
// for 4 or 8 bytes of data. Sorted by bin first, a tile's entries of one bin
// lie together, and neighbouring lanes write neighbouring addresses. Source:
// D. Merrill, A. Grimshaw, "High Performance and Scalable Radix Sorting",
// Parallel Processing Letters 21, 2011; A. Adinets, D. Merrill, "Onesweep",
// arXiv:2206.01784, 2022. Where a tile's part of a bin lies in global memory
// is taken from a cursor of the bin here, as order within a bin is free.
#pragma once

#include "common/platform.cuh"

namespace cuzk {

// A tile's values are 32 KiB of shared memory, its bins up to 8. The other
// constants are such that the blocks of an SM, which wait at barriers at
// different times, have 1024 threads of up to 64 registers.
constexpr u32 TILE_THREADS = 512, TILE_EACH = 16, TILE = TILE_THREADS * TILE_EACH;
constexpr u32 TILE_BLOCKS = 2;
constexpr u32 TILE_WORDS = TILE / WARP;

// Shared memory of a tile. The bins that are not empty are numbered in order.
struct TileMemory {
    u32 *values;  // TILE
    u32 *bins;    // BINS + WARP: keys and counts; then starts and numbers; then by number what `place` adds
    u32 *heads;   // TILE_WORDS: bit j is set where a bin starts at the j-th entry
    u32 *covers;  // TILE_WORDS: the number of the bin that has entry WARP i
    u32 *scratch; // WARP + 1

    // The number of the bin that has entry j, where j % WARP is the lane.
    CUZK_FN u32 number_of(u32 j) const {
        u32 heads_after = heads[j / WARP] & ((2u << lane()) - 2); // those of entries j / WARP WARP + 1 to j
        return covers[j / WARP] + popcount32(heads_after);
    }

    // Where the j-th entry, of the bin with that number, goes.
    CUZK_FN u32 place(u32 j, u32 number) const { return bins[number] + j; }
};

// Bin number `number` has `count` > 0 entries from `start` on.
CUZK_FN void mark_bin(const TileMemory &t, u32 number, u32 start, u32 count) {
    shared_atomic_add(t.heads, start / WARP, 1u << start % WARP);
    CUZK_NO_UNROLL
    for (u32 i = (start + WARP - 1) / WARP; i * WARP < start + count; i++)
        t.covers[i] = number;
}

// Words of two halves: a key above a count or a rank; the number of a bin above
// its start.
constexpr u32 HIGH = 1 << 16;
CUZK_FN u32 high_half(u32 word) {
    return word / HIGH;
}
CUZK_FN u32 low_half(u32 word) {
    return word % HIGH;
}
static_assert(TILE < HIGH, "counts, ranks and starts have 16 bits");

// The key for no entry: a bin that is counted and then left out. There is one
// for each lane, as all would queue for a single one.
template <u32 BINS> CUZK_FN u32 no_key() {
    return BINS + lane();
}

// What a bin adds to the number and start of the bins after it.
CUZK_FN u32 number_and_count(u32 word) {
    u32 count = low_half(word);
    return count != 0 ? HIGH + count : 0;
}

// Turns counts into starts and numbers. Returns how many entries there are.
template <u32 BINS> CUZK_FN u32 number_bins(const TileMemory &t) {
    constexpr u32 EACH = BINS / TILE_THREADS;
    u32 *mine = t.bins + thread_x() * EACH;
    u32 sum = 0, total;
    CUZK_UNROLL
    for (u32 k = 0; k < EACH; k++)
        sum += number_and_count(mine[k]);
    u32 at = block_exclusive_sum(sum, t.scratch, total);
    // One after the other, for few registers: those of sort_tile's caller are in use.
    CUZK_NO_UNROLL
    for (u32 k = 0; k < EACH; k++) {
        u32 step = number_and_count(mine[k]);
        mine[k] = at;
        if (step != 0)
            mark_bin(t, high_half(at), low_half(at), low_half(step));
        at += step;
    }
    if (thread_x() < WARP)
        t.bins[BINS + thread_x()] = TILE; // no place
    return low_half(total);
}

template <u32 BINS> CUZK_FN void clear_tile(const TileMemory &t) {
    static_assert(TILE_WORDS <= TILE_THREADS && WARP <= TILE_THREADS, "a word a thread");
    CUZK_UNROLL
    for (u32 k = 0; k < BINS / TILE_THREADS; k++) {
        u32 b = k * TILE_THREADS + thread_x();
        t.bins[b] = b * HIGH;
    }
    if (thread_x() < WARP)
        t.bins[BINS + thread_x()] = (BINS + thread_x()) * HIGH;
    if (thread_x() < TILE_WORDS)
        t.heads[thread_x()] = 0;
    block_barrier();
}

// Counts the entries by key. What the atomic returns is the key again, and the
// entry's rank among those of that key: one register for both.
CUZK_FN void rank_keys(const TileMemory &t, u32 *key) {
    CUZK_UNROLL
    for (u32 k = 0; k < TILE_EACH; k++)
        key[k] = shared_atomic_add(t.bins, key[k], 1);
}

// Puts the values where the starts of the bins and the ranks say. All starts
// are read before the first value is written: the compiler cannot know that
// those are different places.
CUZK_FN void place_values(const TileMemory &t, u32 *key, const u32 *value) {
    CUZK_UNROLL
    for (u32 k = 0; k < TILE_EACH; k++)
        key[k] = low_half(t.bins[high_half(key[k])]) + low_half(key[k]);
    CUZK_UNROLL
    for (u32 k = 0; k < TILE_EACH; k++)
        if (key[k] < TILE)
            t.values[key[k]] = value[k];
}

// Sorts the block's entries: TILE_EACH a thread, key[k] below BINS, or
// no_key<BINS>() for no entry. Returns how many there are. The j-th of them is
// then t.values[j], of the bin t.number_of(j), and goes to t.place(j, number):
// cursors[first + key] moves on by the count of each key. Keys by number are
// stored to keys, unless that is null. key is used up. All TILE_THREADS threads
// call, and come to a barrier before the next call.
template <u32 BINS>
CUZK_FN u32 sort_tile(const TileMemory &t, u32 *cursors, u64 first, u32 *key, const u32 *value, u32 *keys) {
    static_assert(BINS % TILE_THREADS == 0 && BINS + WARP <= HIGH, "bins are shared out evenly");
    constexpr u32 BINS_EACH = BINS / TILE_THREADS;
    clear_tile<BINS>(t);
    rank_keys(t, key);
    block_barrier();
    u32 place[BINS_EACH], start[BINS_EACH];
    CUZK_UNROLL
    for (u32 k = 0; k < BINS_EACH; k++) {
        u32 b = k * TILE_THREADS + thread_x(), count = low_half(t.bins[b]);
        place[k] = count != 0 ? global_atomic_add(cursors, first + b, count) : NONE;
    }
    u32 total = number_bins<BINS>(t); // with barriers before it writes
    block_barrier();
    place_values(t, key, value);
    CUZK_UNROLL
    for (u32 k = 0; k < BINS_EACH; k++)
        start[k] = t.bins[k * TILE_THREADS + thread_x()];
    block_barrier();
    CUZK_UNROLL
    for (u32 k = 0; k < BINS_EACH; k++) {
        if (place[k] == NONE)
            continue;
        u32 number = high_half(start[k]);
        t.bins[number] = place[k] - low_half(start[k]);
        if (keys)
            keys[number] = k * TILE_THREADS + thread_x();
    }
    block_barrier();
    return total;
}

} // namespace cuzk
