// Sort of many pairs (msm/pairs.cuh) by bucket, in two steps that count in
// shared memory: into partitions of 2^low buckets each, and then, within a
// partition, into buckets. Both work on tiles of equal size whatever the data,
// and take places for a whole tile and bin at a time, so global atomics are few
// and writes of a bin lie together.
//
// With P = (windows << (c - 1)) >> low partitions, the launches are: partition
// count, scan of P, partition scatter, bucket count, scan, bucket scatter.
#include "msm/pairs.cuh"
#include "msm/search.cuh"

namespace cuzk {

// A block counts for all partitions at once: 48 KiB.
constexpr u32 MAX_PARTITIONS = 12288;
// Buckets of a partition: 8 KiB of counters.
constexpr u32 MAX_LOW = 11;

constexpr u32 PARTITION_THREADS = 1024;

// Windows that scatter works on at a time: every bin it writes to has a sector
// of 32 bytes open in the L2, and those of all blocks must fit there (measured
// on an H200: 6 windows at a time take twice as long).
constexpr u32 SCATTER_WINDOWS = 2;

// A pair on its way: the low bits of its bucket above its value.
typedef u64 Entry;

struct PartitionArgs {
    SortArgs sort;  // counts: counts[P], added to, or cursors; sorted: not used
    Entry *entries; // by partition: scatter writes
    u32 partitions, low;
    u32 tile; // scalars a block takes at a time
    u32 pad;
};

CUZK_FN void clear_shared(u32 *counters, u32 n) {
    for (u32 i = thread_x(); i < n; i += block_threads())
        counters[i] = 0;
    block_barrier();
}

CUZK_FN void count_partitions(const PartitionArgs &a, u32 *counters, u64 begin, u64 end) {
    for (u64 i = begin + thread_x(); i < end; i += block_threads()) {
        Pairs pairs(a.sort, i);
        CUZK_NO_UNROLL
        while (pairs.next())
            if (pairs.bucket != NONE)
                shared_atomic_add(counters, pairs.bucket >> a.low, 1);
    }
    block_barrier();
}

CUZK_KERNEL(cuzk_partition_count, PartitionArgs, PARTITION_THREADS, 1) {
    CUZK_SHARED(u32, counters, MAX_PARTITIONS);
    clear_shared(counters, a.partitions);
    u64 step = (u64)grid_x() * a.tile, n = a.sort.n;
    for (u64 begin = (u64)block_x() * a.tile; begin < n; begin += step)
        count_partitions(a, counters, begin, begin + a.tile < n ? begin + a.tile : n);
    for (u32 p = thread_x(); p < a.partitions; p += block_threads())
        if (counters[p] != 0)
            global_atomic_add(a.sort.counts, p, counters[p]);
}

// One tile a block.
CUZK_KERNEL(cuzk_partition_scatter, PartitionArgs, PARTITION_THREADS, 1) {
    CUZK_SHARED(u32, counters, MAX_PARTITIONS);
    u64 begin = (u64)block_x() * a.tile, n = a.sort.n;
    u64 end = begin + a.tile < n ? begin + a.tile : n;
    clear_shared(counters, a.partitions);
    count_partitions(a, counters, begin, end);
    for (u32 p = thread_x(); p < a.partitions; p += block_threads())
        if (counters[p] != 0)
            counters[p] = global_atomic_add(a.sort.counts, p, counters[p]);
    block_barrier();
    for (u32 w = 0; w < a.sort.windows; w += SCATTER_WINDOWS) {
        for (u64 i = begin + thread_x(); i < end; i += block_threads()) {
            Pairs pairs(a.sort, i);
            pairs.restrict_to(w, SCATTER_WINDOWS);
            CUZK_NO_UNROLL
            while (pairs.next()) {
                if (pairs.bucket == NONE)
                    continue;
                Entry e = (u64)(pairs.bucket & ((1u << a.low) - 1)) << 32 | pairs.value;
                global_store(a.entries, shared_atomic_add(counters, pairs.bucket >> a.low, 1), e);
            }
        }
        block_barrier();
    }
}

// Entries a block takes; a tile may span partitions, which it does in turn.
constexpr u32 ENTRY_THREADS = 1024, ENTRY_TILE = 32 * ENTRY_THREADS;

struct EntriesArgs {
    const Entry *entries;
    const u32 *starts; // starts[partitions + 1] of partitions in entries
    u32 *counts;       // counts[partitions << low]: added to, or cursors
    u32 *sorted;       // scatter writes
    u32 partitions, low;
};

template <bool SCATTER> CUZK_FN void entries_pass(const EntriesArgs &a, u32 *counters) {
    u32 total = constant_load(a.starts, a.partitions);
    u64 first = (u64)block_x() * ENTRY_TILE;
    if (first >= total)
        return;
    u32 begin = (u32)first, tile_end = total - begin < ENTRY_TILE ? total : begin + ENTRY_TILE;
    u32 partition = 0;
    while (begin < tile_end) {
        partition = bucket_of(a.starts, partition, a.partitions, begin);
        u32 end = constant_load(a.starts, partition + 1);
        end = end < tile_end ? end : tile_end;
        u64 bucket = (u64)partition << a.low;
        clear_shared(counters, 1u << a.low);
        for (u32 i = begin + thread_x(); i < end; i += block_threads())
            shared_atomic_add(counters, (u32)(constant_load(a.entries, i) >> 32), 1);
        block_barrier();
        for (u32 b = thread_x(); b < 1u << a.low; b += block_threads())
            if (counters[b] != 0)
                counters[b] = global_atomic_add(a.counts, bucket + b, counters[b]);
        block_barrier();
        for (u32 i = begin + thread_x(); SCATTER && i < end; i += block_threads()) {
            Entry e = constant_load(a.entries, i);
            global_store(a.sorted, shared_atomic_add(counters, (u32)(e >> 32), 1), (u32)e);
        }
        if (SCATTER)
            block_barrier();
        begin = end;
    }
}

CUZK_KERNEL(cuzk_entries_count, EntriesArgs, ENTRY_THREADS, 1) {
    CUZK_SHARED(u32, counters, 1 << MAX_LOW);
    entries_pass<false>(a, counters);
}

CUZK_KERNEL(cuzk_entries_scatter, EntriesArgs, ENTRY_THREADS, 1) {
    CUZK_SHARED(u32, counters, 1 << MAX_LOW);
    entries_pass<true>(a, counters);
}

} // namespace cuzk
