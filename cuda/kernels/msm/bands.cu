// Sort of many pairs (msm/pairs.cuh) by bucket, in two steps: into bands of
// 2^low buckets each, and then into buckets. Both steps take batches of equal
// size, whatever the data, and sort each in shared memory (msm/batch.cuh). Places
// are then taken for all entries that a batch has of one bin: global atomics are
// few, and entries of one bin are written together.
//
// With P = (windows << (c - 1)) >> low bands, the launches are: band count, scan
// of P, band scatter, bucket count, scan, bucket scatter. The band count also
// leaves the digits for the band scatter, in the memory of the sorted values,
// which the last launch overwrites.
//
// Blocks that run together scatter neighbouring batches, so a sector of 32 bytes
// is completed by several blocks and should stay in the L2 until then. On an H200
// (132 multiprocessors, 264 blocks) that is 17 MB of entries in the first
// scatter; in the second, at 2^26 pairs per window, 33 bands with 9 MB of sorted
// values.
#include "msm/pairs.cuh"
#include "msm/batch.cuh"

namespace cuzk {

// A block counts for all bands at the same time: 48 KiB of counters.
constexpr u32 MAX_BANDS = 12288;
// Bands of a window.
constexpr u32 MAX_WINDOW_BANDS = 1024;
// Buckets into which a batch is sorted at a time: those of at least one band.
constexpr u32 MAX_LOW = 11, MAX_BUCKETS = 1 << MAX_LOW;

// Blocks of an SM that count: several, since they wait at barriers at different
// times. Three have 144 KiB of counters.
constexpr u32 COUNT_THREADS = 512, COUNT_BLOCKS = 3;

// A pair between the two steps: its bucket in the upper half, its value in the lower.
typedef u64 Entry;

struct BandArgs {
    SortArgs sort;  // counts: counts[P], which count adds to; cursors for scatter. sorted: the digits
    Entry *entries; // by band: written by scatter
    u32 bands, low;
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

// What scatter must know of a pair whose scalar and window it knows: the bucket
// within the window, and the sign.
CUZK_FN u32 digit_of(const Pairs &pairs, u32 c) {
    return pairs.bucket == NONE ? NONE : (pairs.bucket & ((1u << (c - 1)) - 1)) | (pairs.value & SIGN);
}

// One thread takes a scalar, for all windows. digits[window][scalar] goes to sorted.
CUZK_KERNEL(cuzk_band_count, BandArgs, COUNT_THREADS, COUNT_BLOCKS) {
    CUZK_SHARED(u32, counters, MAX_BANDS);
    clear_shared(counters, a.bands);
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
    add_counts(a.sort.counts, 0, counters, a.bands);
}

// Position and sign of a pair, given its number in the batch that begins at `begin`.
CUZK_FN u32 value_of(const BandArgs &a, u32 begin, u32 number, u32 sign) {
    u32 i = begin + number;
    return (a.sort.positions ? constant_load(a.sort.positions, i) : i) | sign;
}

// A block takes one batch of one window. In shared memory a value has the sign in
// bit 31, below it the pair's number in the batch, and lowest the low bits of its
// bucket.
CUZK_KERNEL(cuzk_band_scatter, BandArgs, SORT_THREADS, SORT_BLOCKS) {
    CUZK_SHARED(u32, values, SORT_BATCH);
    CUZK_SHARED(u32, bins, MAX_WINDOW_BANDS + WARP);
    CUZK_SHARED(u32, bands, MAX_WINDOW_BANDS);
    CUZK_SHARED(u32, firsts, SORT_WORDS);
    CUZK_SHARED(u32, covers, SORT_WORDS);
    CUZK_SHARED(u32, scratch, WARP + 1);
    SortMemory t = {values, bins, firsts, covers, scratch};
    static_assert((u64)SORT_BATCH << MAX_LOW <= SIGN, "number and low bits have 31 bits");
    const u32 begin = block_x() * SORT_BATCH, n = a.sort.n - begin, low = (1u << a.low) - 1;
    const u64 digits = (u64)block_y() * a.sort.n + begin;
    const u32 window = block_y() << (a.sort.c - 1); // its first bucket
    u32 key[SORT_EACH], value[SORT_EACH];
    CUZK_UNROLL
    for (u32 k = 0; k < SORT_EACH; k++) {
        u32 i = k * SORT_THREADS + thread_x();
        u32 digit = i < n ? constant_load(a.sort.sorted, digits + i) : NONE;
        key[k] = digit == NONE ? no_key<MAX_WINDOW_BANDS>() : (digit & ~SIGN) >> a.low;
        value[k] = i << a.low | (digit & (low | SIGN));
    }
    u64 first = window >> a.low;
    u32 total = sort_batch<MAX_WINDOW_BANDS>(t, a.sort.counts, first, key, value, bands);
    for (u32 j = thread_x(); j < total; j += SORT_THREADS) {
        u32 v = t.values[j], number = t.number_of(j);
        u32 bucket = window + (bands[number] << a.low) + (v & low);
        u32 pair = value_of(a, begin, (v & ~SIGN) >> a.low, v & SIGN);
        global_store(a.entries, t.place(j, number), (u64)bucket << 32 | pair);
    }
}

struct EntriesArgs {
    const Entry *entries;
    const u32 *starts; // starts[bands + 1] of bands in entries
    u32 *counts;       // counts[bands << low]: count adds to them; cursors for scatter
    u32 *sorted;       // written by scatter
    u32 bands, low;
};

// Entries [begin, end): batch block_x() of `size` entries.
struct EntryBatch {
    u32 begin, end;

    CUZK_FN EntryBatch(const EntriesArgs &a, u32 size) {
        u32 total = constant_load(a.starts, a.bands);
        u64 first = (u64)block_x() * size;
        begin = first < total ? (u32)first : total;
        end = total - begin < size ? total : begin + size;
    }
};

// The first bucket of the band of entry i. One pass over a batch handles the
// entries, from i on, that fall into the MAX_BUCKETS buckets starting at this one.
CUZK_FN u32 first_bucket(const EntriesArgs &a, u32 i) {
    return (u32)(constant_load(a.entries, i) >> 32) >> a.low << a.low;
}

constexpr u32 COUNT_BATCH = 64 * COUNT_THREADS;

// Loads of a thread that are under way at the same time: with one at a time it
// would wait for memory.
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
    EntryBatch batch(a, COUNT_BATCH);
    while (batch.begin < batch.end) {
        u32 bucket = first_bucket(a, batch.begin), after = (bucket + MAX_BUCKETS) >> a.low;
        u32 end = constant_load(a.starts, after < a.bands ? after : a.bands);
        end = end < batch.end ? end : batch.end;
        clear_shared(counters, MAX_BUCKETS);
        count_buckets(a, batch.begin, end, bucket, counters);
        add_counts(a.counts, bucket, counters, MAX_BUCKETS);
        block_barrier();
        batch.begin = end;
    }
}

CUZK_KERNEL(cuzk_entries_scatter, EntriesArgs, SORT_THREADS, SORT_BLOCKS) {
    CUZK_SHARED(u32, values, SORT_BATCH);
    CUZK_SHARED(u32, bins, MAX_BUCKETS + WARP);
    CUZK_SHARED(u32, firsts, SORT_WORDS);
    CUZK_SHARED(u32, covers, SORT_WORDS);
    CUZK_SHARED(u32, scratch, WARP + 1);
    SortMemory t = {values, bins, firsts, covers, scratch};
    EntryBatch batch(a, SORT_BATCH);
    while (batch.begin < batch.end) {
        u32 bucket = first_bucket(a, batch.begin);
        u32 key[SORT_EACH], value[SORT_EACH];
        CUZK_UNROLL
        for (u32 k = 0; k < SORT_EACH; k++) {
            u32 i = batch.begin + k * SORT_THREADS + thread_x();
            Entry e = i < batch.end ? constant_load(a.entries, i) : ~(Entry)0;
            key[k] = (u32)(e >> 32) - bucket;
            key[k] = key[k] < MAX_BUCKETS ? key[k] : no_key<MAX_BUCKETS>();
            value[k] = (u32)e;
        }
        u32 total = sort_batch<MAX_BUCKETS>(t, a.counts, bucket, key, value, nullptr);
        for (u32 j = thread_x(); j < total; j += SORT_THREADS)
            global_store(a.sorted, t.place(j, t.number_of(j)), t.values[j]);
        block_barrier();
        batch.begin += total;
    }
}

} // namespace cuzk
