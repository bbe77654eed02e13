// Sort of many pairs (msm/pairs.cuh) by bucket, in two steps: into partitions
// of 2^low buckets each, and then into buckets. Both take tiles of equal size,
// whatever the data, sort each in shared memory (msm/tile.cuh), and take
// places for a whole tile and bin at a time, so global atomics are few and
// writes of a bin lie together.
//
// With P = (windows << (c - 1)) >> low partitions, the launches are: partition
// count, scan of P, partition scatter, bucket count, scan, bucket scatter. The
// first also leaves the digits for the second, where the sorted values go at
// the end.
//
// Blocks of a scatter work on neighbouring tiles at a time, and a sector that
// one of them fills in part must wait in the L2 for the others. The 264 that run
// at a time on 132 multiprocessors write 17 MB of entries, or, at 2^26 pairs a
// window, to 33 partitions with 9 MB of sorted values.
#include "msm/pairs.cuh"
#include "msm/tile.cuh"

namespace cuzk {

// A block counts for all partitions at once: 48 KiB.
constexpr u32 MAX_PARTITIONS = 12288;
// Partitions of a window.
constexpr u32 MAX_WINDOW_PARTITIONS = 1024;
// Buckets that are sorted at a time: at least one partition.
constexpr u32 MAX_LOW = 11, MAX_BUCKETS = 1 << MAX_LOW;

// Blocks that count, too, are several an SM, for the same reason as those that
// sort: 3 have 144 KiB of counters.
constexpr u32 COUNT_THREADS = 512, COUNT_BLOCKS = 3;

// A pair on its way: its bucket above its value.
typedef u64 Entry;

struct PartitionArgs {
    SortArgs sort;  // counts: counts[P], added to, or cursors; sorted: the digits
    Entry *entries; // by partition: scatter writes
    u32 partitions, low;
};

CUZK_FN void clear_shared(u32 *words, u32 n) {
    for (u32 i = thread_x(); i < n; i += block_threads())
        words[i] = 0;
    block_barrier();
}

CUZK_FN void add_counts(u32 *counts, u64 first, const u32 *counters, u32 n) {
    for (u32 i = thread_x(); i < n; i += block_threads())
        if (counters[i] != 0)
            global_atomic_add(counts, first + i, counters[i]);
}

constexpr u32 SIGN = 0x80000000u;

// What scatter needs of a pair beside its scalar and window: the bucket within
// the window, and the sign.
CUZK_FN u32 digit_of(const Pairs &pairs, u32 c) {
    return pairs.bucket == NONE ? NONE : (pairs.bucket & ((1u << (c - 1)) - 1)) | (pairs.value & SIGN);
}

// One thread a scalar, for all windows. digits[window][scalar] goes to sorted.
CUZK_KERNEL(cuzk_partition_count, PartitionArgs, COUNT_THREADS, COUNT_BLOCKS) {
    CUZK_SHARED(u32, counters, MAX_PARTITIONS);
    clear_shared(counters, a.partitions);
    u64 n = a.sort.n;
    for (u64 i = global_thread(); i < n; i += global_threads()) {
        Pairs pairs(a.sort, i);
        CUZK_NO_UNROLL
        for (u64 at = i; pairs.next(); at += n) {
            global_store(a.sort.sorted, at, digit_of(pairs, a.sort.c));
            if (pairs.bucket != NONE)
                shared_atomic_add(counters, pairs.bucket >> a.low, 1);
        }
    }
    block_barrier();
    add_counts(a.sort.counts, 0, counters, a.partitions);
}

// Position and sign of a pair of the tile from `begin` on.
CUZK_FN u32 value_of(const PartitionArgs &a, u32 begin, u32 number, u32 sign) {
    u32 i = begin + number;
    return (a.sort.positions ? constant_load(a.sort.positions, i) : i) | sign;
}

// One tile of one window a block. In shared memory a value is the pair's number
// in the tile above the low bits of its bucket, and the sign in bit 31.
CUZK_KERNEL(cuzk_partition_scatter, PartitionArgs, TILE_THREADS, TILE_BLOCKS) {
    CUZK_SHARED(u32, values, TILE);
    CUZK_SHARED(u32, bins, MAX_WINDOW_PARTITIONS + WARP);
    CUZK_SHARED(u32, partitions, MAX_WINDOW_PARTITIONS);
    CUZK_SHARED(u32, heads, TILE_WORDS);
    CUZK_SHARED(u32, covers, TILE_WORDS);
    CUZK_SHARED(u32, scratch, WARP + 1);
    TileMemory t = {values, bins, heads, covers, scratch};
    static_assert((u64)TILE << MAX_LOW <= SIGN, "number and low bits have 31 bits");
    const u32 begin = block_x() * TILE, n = a.sort.n - begin, low = (1u << a.low) - 1;
    const u64 digits = (u64)block_y() * a.sort.n + begin;
    const u32 window = block_y() << (a.sort.c - 1); // its first bucket
    u32 key[TILE_EACH], value[TILE_EACH];
    CUZK_UNROLL
    for (u32 k = 0; k < TILE_EACH; k++) {
        u32 i = k * TILE_THREADS + thread_x();
        u32 digit = i < n ? constant_load(a.sort.sorted, digits + i) : NONE;
        key[k] = digit == NONE ? no_key<MAX_WINDOW_PARTITIONS>() : (digit & ~SIGN) >> a.low;
        value[k] = i << a.low | (digit & (low | SIGN));
    }
    u64 first = window >> a.low;
    u32 total = sort_tile<MAX_WINDOW_PARTITIONS>(t, a.sort.counts, first, key, value, partitions);
    for (u32 j = thread_x(); j < total; j += TILE_THREADS) {
        u32 v = t.values[j], number = t.number_of(j);
        u32 bucket = window + (partitions[number] << a.low) + (v & low);
        u32 pair = value_of(a, begin, (v & ~SIGN) >> a.low, v & SIGN);
        global_store(a.entries, t.place(j, number), (u64)bucket << 32 | pair);
    }
}

struct EntriesArgs {
    const Entry *entries;
    const u32 *starts; // starts[partitions + 1] of partitions in entries
    u32 *counts;       // counts[partitions << low]: added to, or cursors
    u32 *sorted;       // scatter writes
    u32 partitions, low;
};

// Entries [begin, end): tile block_x() of `size`.
struct EntryTile {
    u32 begin, end;

    CUZK_FN EntryTile(const EntriesArgs &a, u32 size) {
        u32 total = constant_load(a.starts, a.partitions);
        u64 first = (u64)block_x() * size;
        begin = first < total ? (u32)first : total;
        end = total - begin < size ? total : begin + size;
    }
};

// The first bucket of the partition that entry i belongs to. From a tile's
// entry i on, those of the MAX_BUCKETS buckets after it are done at a time.
CUZK_FN u32 first_bucket(const EntriesArgs &a, u32 i) {
    return (u32)(constant_load(a.entries, i) >> 32) >> a.low << a.low;
}

constexpr u32 COUNT_TILE = 64 * COUNT_THREADS;

// Loads of a thread that are under way at a time: one would wait for memory.
constexpr u32 COUNT_EACH = 8;

CUZK_FN void count_buckets(const EntriesArgs &a, u32 begin, u32 end, u32 first, u32 *counters) {
    for (; begin < end; begin += COUNT_EACH * COUNT_THREADS) {
        u32 bucket[COUNT_EACH];
        CUZK_UNROLL
        for (u32 k = 0; k < COUNT_EACH; k++) {
            u32 i = begin + k * COUNT_THREADS + thread_x();
            bucket[k] = i < end ? (u32)(constant_load(a.entries, i) >> 32) : NONE;
        }
        CUZK_UNROLL
        for (u32 k = 0; k < COUNT_EACH; k++)
            if (bucket[k] != NONE)
                shared_atomic_add(counters, bucket[k] - first, 1);
    }
    block_barrier();
}

CUZK_KERNEL(cuzk_entries_count, EntriesArgs, COUNT_THREADS, COUNT_BLOCKS) {
    CUZK_SHARED(u32, counters, MAX_BUCKETS);
    EntryTile tile(a, COUNT_TILE);
    while (tile.begin < tile.end) {
        u32 bucket = first_bucket(a, tile.begin), after = (bucket + MAX_BUCKETS) >> a.low;
        u32 end = constant_load(a.starts, after < a.partitions ? after : a.partitions);
        end = end < tile.end ? end : tile.end;
        clear_shared(counters, MAX_BUCKETS);
        count_buckets(a, tile.begin, end, bucket, counters);
        add_counts(a.counts, bucket, counters, MAX_BUCKETS);
        block_barrier();
        tile.begin = end;
    }
}

CUZK_KERNEL(cuzk_entries_scatter, EntriesArgs, TILE_THREADS, TILE_BLOCKS) {
    CUZK_SHARED(u32, values, TILE);
    CUZK_SHARED(u32, bins, MAX_BUCKETS + WARP);
    CUZK_SHARED(u32, heads, TILE_WORDS);
    CUZK_SHARED(u32, covers, TILE_WORDS);
    CUZK_SHARED(u32, scratch, WARP + 1);
    TileMemory t = {values, bins, heads, covers, scratch};
    EntryTile tile(a, TILE);
    while (tile.begin < tile.end) {
        u32 bucket = first_bucket(a, tile.begin);
        u32 key[TILE_EACH], value[TILE_EACH];
        CUZK_UNROLL
        for (u32 k = 0; k < TILE_EACH; k++) {
            u32 i = tile.begin + k * TILE_THREADS + thread_x();
            Entry e = i < tile.end ? constant_load(a.entries, i) : ~(Entry)0;
            key[k] = (u32)(e >> 32) - bucket;
            key[k] = key[k] < MAX_BUCKETS ? key[k] : no_key<MAX_BUCKETS>();
            value[k] = (u32)e;
        }
        u32 total = sort_tile<MAX_BUCKETS>(t, a.counts, bucket, key, value, nullptr);
        for (u32 j = thread_x(); j < total; j += TILE_THREADS)
            global_store(a.sorted, t.place(j, t.number_of(j)), t.values[j]);
        block_barrier();
        tile.begin += total;
    }
}

} // namespace cuzk
