// Counting sort of the pairs of an MSM (msm/pairs.cuh) by bucket: histogram,
// scan, scatter. The order within a bucket is arbitrary. Few scalars are sorted
// this way, many by msm/bands.cu.
//
// Data map: one thread takes a scalar, for all windows of the batch, in both
// passes, so that the digits need no memory. Shared memory is used by the scan
// alone. The atomics of all lanes whose key is lane 0's are one, which keeps
// equal scalars from queueing on one address.
//
// A kernel here needs at most 40 registers (nvcc -Xptxas -v, sm_90), so that its
// launch bound costs nothing: 256 threads are as good as any other number, and
// one block of 1024 scans alone. Not tuned: for few scalars the sort is a small
// part of a sum.
#include "msm/pairs.cuh"

namespace cuzk {

// Adds one to counts[key] for every lane whose key is not NONE, and returns the
// value before. All 32 lanes call.
CUZK_FN u32 count_up(u32 *counts, u32 key) {
    u32 leader_key = warp_shuffle(key, 0);
    u32 agree = warp_ballot(key == leader_key);
    u32 base = 0;
    if (lane() == 0 && key != NONE)
        base = global_atomic_add(counts, key, popcount32(agree));
    base = warp_shuffle(base, 0);
    if (key == leader_key)
        return base + popcount32(agree & ((1u << lane()) - 1));
    return key == NONE ? 0 : global_atomic_add(counts, key, 1);
}

template <bool SCATTER> CUZK_FN void sort_pass(const SortArgs &a) {
    Pairs pairs(a, global_thread());
    CUZK_NO_UNROLL
    while (pairs.next()) {
        u32 at = count_up(a.counts, pairs.bucket);
        if (SCATTER && pairs.bucket != NONE)
            global_store(a.sorted, at, pairs.value);
    }
}

CUZK_KERNEL(cuzk_msm_histogram, SortArgs, 256, 2) {
    sort_pass<false>(a);
}
CUZK_KERNEL(cuzk_msm_scatter, SortArgs, 256, 2) {
    sort_pass<true>(a);
}

// words[i] = value. One thread for each word.
struct FillArgs {
    u32 *words;
    u32 n, value;
};

CUZK_KERNEL(cuzk_fill, FillArgs, 256, 2) {
    u64 i = global_thread();
    if (i < a.n)
        global_store(a.words, i, a.value);
}

// out[i] = in[0] + ... + in[i-1] for i <= n, in three launches: the sum of each
// batch, one block's scan of those sums, and the batches again. The last launch
// also puts out[i] into in[i], where scatter counts up.
constexpr u32 SCAN_THREADS = 256, SCAN_EACH = 8, SCAN_BATCH = SCAN_THREADS * SCAN_EACH;

struct ScanArgs {
    u32 *in;   // in[n]
    u32 *sums; // sums[ceil(n / SCAN_BATCH)]
    u32 *out;  // out[n + 1]
    u32 n;
    u32 pad;
};

CUZK_FN u32 load_each(const ScanArgs &a, u64 first, u32 *v) {
    u32 sum = 0;
    CUZK_UNROLL
    for (u32 k = 0; k < SCAN_EACH; k++) {
        v[k] = first + k < a.n ? global_load(a.in, first + k) : 0;
        sum += v[k];
    }
    return sum;
}

CUZK_KERNEL(cuzk_scan_sums, ScanArgs, SCAN_THREADS, 2) {
    CUZK_SHARED(u32, scratch, WARP + 1);
    u32 v[SCAN_EACH], total;
    u32 sum = load_each(a, global_thread() * SCAN_EACH, v);
    block_exclusive_sum(sum, scratch, total);
    if (thread_x() == 0)
        global_store(a.sums, block_x(), total);
}

CUZK_KERNEL(cuzk_scan_top, ScanArgs, 1024, 1) {
    CUZK_SHARED(u32, scratch, WARP + 1);
    u32 batches = (a.n + SCAN_BATCH - 1) / SCAN_BATCH, before = 0;
    for (u32 first = 0; first < batches; first += block_threads()) {
        u32 i = first + thread_x(), total;
        u32 v = i < batches ? global_load(a.sums, i) : 0;
        u32 sum = block_exclusive_sum(v, scratch, total);
        if (i < batches)
            global_store(a.sums, i, before + sum);
        before += total;
    }
    if (thread_x() == 0)
        global_store(a.out, a.n, before);
}

CUZK_KERNEL(cuzk_scan_apply, ScanArgs, SCAN_THREADS, 2) {
    CUZK_SHARED(u32, scratch, WARP + 1);
    u32 v[SCAN_EACH], total;
    u64 first = global_thread() * SCAN_EACH;
    u32 sum = load_each(a, first, v);
    u32 before = global_load(a.sums, block_x()) + block_exclusive_sum(sum, scratch, total);
    CUZK_UNROLL
    for (u32 k = 0; k < SCAN_EACH; k++) {
        if (first + k < a.n) {
            global_store(a.out, first + k, before);
            global_store(a.in, first + k, before);
        }
        before += v[k];
    }
}

// The same scan for few elements, in one launch of one block.
CUZK_KERNEL(cuzk_scan_block, ScanArgs, 1024, 1) {
    CUZK_SHARED(u32, scratch, WARP + 1);
    u32 before = 0;
    for (u32 first = 0; first < a.n; first += block_threads()) {
        u32 i = first + thread_x(), total;
        u32 v = i < a.n ? global_load(a.in, i) : 0;
        u32 sum = before + block_exclusive_sum(v, scratch, total);
        if (i < a.n) {
            global_store(a.out, i, sum);
            global_store(a.in, i, sum);
        }
        before += total;
    }
    if (thread_x() == 0)
        global_store(a.out, a.n, before);
}

} // namespace cuzk
