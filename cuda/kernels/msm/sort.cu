// Counting sort of (bucket, point) pairs: histogram, scan, scatter. A pair
// exists for each scalar and window with a nonzero digit d; its bucket is
// (window - first_window) 2^(c-1) + |d| - 1 and its value is the point's
// position with the digit's sign in bit 31. The order within a bucket is
// arbitrary.
//
// Data map: one thread a scalar, for all windows of the group, in both passes,
// so that the digits need no memory. 256 threads a block; no shared memory
// except in the scan. Atomics of lanes that agree with lane 0 are joined,
// which keeps equal scalars from queueing on one address.
#include "msm/digits.cuh"

namespace cuzk {

struct SortArgs {
    const Fr *scalars;      // scalars[n], Montgomery
    const u32 *positions;   // positions[n] of the points, NONE to leave one out; or null: i
    u32 *counts;            // counts[windows << (c - 1)]: histogram adds, scatter uses as cursors
    u32 *sorted;            // scatter writes
    u32 k[DIGIT_LIMBS];     // digits.cuh
    u32 n, c, first_window, windows;
    u32 pad;
};

// Adds one to counts[key] for every lane whose key is not NONE and returns the
// value before. All lanes of the warp call.
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
    u64 i = global_thread();
    bool have = i < a.n;
    u32 position = have ? (a.positions ? constant_load(a.positions, i) : (u32)i) : NONE;
    have = position != NONE;
    Digits digits(have ? constant_load(a.scalars, i) : Fr::zero(), a.k);
    u32 half = 1u << (a.c - 1);
    CUZK_NO_UNROLL
    for (u32 w = 0; w < a.first_window + a.windows; w++) {
        int d = digits.next(a.c);
        if (w < a.first_window)
            continue;
        u32 magnitude = d < 0 ? (u32)-d : (u32)d;
        u32 key = have && d != 0 ? (w - a.first_window) * half + magnitude - 1 : NONE;
        u32 at = count_up(a.counts, key);
        if (SCATTER && key != NONE)
            global_store(a.sorted, at, position | (d < 0 ? 0x80000000u : 0));
    }
}

CUZK_KERNEL(cuzk_msm_histogram, SortArgs, 256, 2) { sort_pass<false>(a); }
CUZK_KERNEL(cuzk_msm_scatter, SortArgs, 256, 2) { sort_pass<true>(a); }

// words[i] = value. One thread a word.
struct FillArgs {
    u32 *words;
    u32 n, value;
};

CUZK_KERNEL(cuzk_fill, FillArgs, 256, 2) {
    u64 i = global_thread();
    if (i < a.n)
        global_store(a.words, i, a.value);
}

// out[i] = in[0] + ... + in[i-1] for i <= n, in three launches: sums of tiles
// of SCAN_TILE, one block's scan of those, and the tiles again. The last also
// puts out[i] into in[i], where scatter counts up.
constexpr u32 SCAN_THREADS = 256, SCAN_EACH = 8, SCAN_TILE = SCAN_THREADS * SCAN_EACH;

struct ScanArgs {
    u32 *in;   // in[n]
    u32 *sums; // sums[ceil(n / SCAN_TILE)]
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
    u32 tiles = (a.n + SCAN_TILE - 1) / SCAN_TILE, before = 0;
    for (u32 first = 0; first < tiles; first += block_threads()) {
        u32 i = first + thread_x(), total;
        u32 v = i < tiles ? global_load(a.sums, i) : 0;
        u32 sum = block_exclusive_sum(v, scratch, total);
        if (i < tiles)
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

} // namespace cuzk
