// Bucket sums of an MSM over one group, from pairs sorted by msm/sort.cu.
//
// The sorted pairs are cut into runs of equal length, one for each thread,
// whatever the buckets are: a bucket that has every pair takes no longer than
// others. A bucket belongs to the run in which it starts, and that run stores
// its part in buckets. A run that begins inside a bucket stores its part of that
// one in heads[run]. merge adds the heads to their buckets, again by runs of
// equal length with heads of their own, until one run is left.
//
// An MSM in tiles goes on from the bucket sums of the tiles before: the run in
// which a bucket starts begins with the sum that is stored there. A bucket
// without a pair in this tile is left alone, so all buckets are set to infinity
// before the first tile.
#pragma once

#include "curve/groups.cuh"
#include "msm/search.cuh"

namespace cuzk {

template <class G> struct AccumulateArgs {
    const Affine<typename G::F> *points;
    const u32 *sorted;            // bit 31: subtract
    const u32 *offsets;           // offsets[buckets_n + 1] into sorted
    XYZZ<typename G::F> *buckets; // empty buckets are not written
    XYZZ<typename G::F> *heads;   // heads[runs]
    u32 *head_buckets;            // head_buckets[runs], NONE where there is no head
    u32 buckets_n, run, runs;
    u32 tiled; // 1: buckets hold the sums of the tiles before
};

// The bucket of pair e, where e is the first pair behind those of bucket b.
CUZK_FN u32 bucket_after(const u32 *offsets, u32 b, u32 n, u32 e) {
    b++;
    if (constant_load(offsets, b + 1) > e)
        return b;
    return bucket_of(offsets, b, n, e); // past empty buckets
}

// Stores the run's part of bucket b: as its head if b starts in an earlier run.
template <class G>
CUZK_FN void store_bucket(const AccumulateArgs<G> &a, u64 run, u32 b, u32 head,
                          const XYZZ<typename G::F> &sum) {
    if (b == head)
        global_store(a.heads, run, sum);
    else
        global_store(a.buckets, b, sum);
}

// The sum with which the run in which bucket b starts begins.
template <class G> CUZK_FN XYZZ<typename G::F> begin_bucket(const AccumulateArgs<G> &a, u32 b) {
    return a.tiled ? global_load(a.buckets, b) : XYZZ<typename G::F>::infinity();
}

template <class G> CUZK_FN void accumulate(const AccumulateArgs<G> &a) {
    typedef typename G::F F;
    u64 t = global_thread();
    if (t >= a.runs)
        return;
    u32 total = constant_load(a.offsets, a.buckets_n);
    u64 first = t * a.run;
    u32 head = NONE;
    if (first < total) {
        u32 e = (u32)first, end = total - e < a.run ? total : e + a.run;
        u32 b = bucket_of(a.offsets, 0, a.buckets_n, e);
        u32 next = constant_load(a.offsets, b + 1);
        if (constant_load(a.offsets, b) < e)
            head = b;
        // The lanes of a warp meet again after each change of bucket, so that
        // all of them add at the same time.
        XYZZ<F> sum = b == head ? XYZZ<F>::infinity() : begin_bucket(a, b);
        CUZK_NO_UNROLL
        for (; e < end; e++) {
            if (e == next) {
                store_bucket(a, t, b, head, sum);
                b = bucket_after(a.offsets, b, a.buckets_n, e);
                sum = begin_bucket(a, b);
                next = constant_load(a.offsets, b + 1);
            }
            u32 entry = constant_load(a.sorted, e);
            Affine<F> p = constant_load(a.points, entry & 0x7fffffffu);
            if (entry >> 31)
                p = -p;
            sum.add(p);
        }
        store_bucket(a, t, b, head, sum);
    }
    global_store(a.head_buckets, t, head);
}

template <class G> struct MergeArgs {
    XYZZ<typename G::F> *in; // in[n]
    u32 *in_buckets;         // in_buckets[n], NONE where there is no head
    XYZZ<typename G::F> *buckets;
    XYZZ<typename G::F> *out; // out[ceil(n / run)]
    u32 *out_buckets;
    u32 n, run;
};

// Adds up run t of the heads. Loads are not constant_load, since merge_levels
// reads what other threads of the block have written.
template <class G> CUZK_FN void merge_run(const MergeArgs<G> &a, u64 t) {
    typedef typename G::F F;
    u64 first = t * a.run;
    u64 end = first + a.run < a.n ? first + a.run : a.n;
    // The sum of a bucket that the run before has heads of goes to out; the others
    // are added to their buckets. So one run at the most adds to a bucket.
    u32 continued = first > 0 ? global_load(a.in_buckets, first - 1) : NONE;
    u32 out = NONE;
    u64 i = first;
    while (i < end) {
        u32 b = global_load(a.in_buckets, i);
        if (b == NONE) {
            i++;
            continue;
        }
        bool pass_on = i == first && b == continued;
        XYZZ<F> sum = pass_on ? XYZZ<F>::infinity() : global_load(a.buckets, b);
        for (; i < end && global_load(a.in_buckets, i) == b; i++)
            sum.add(global_load(a.in, i));
        if (pass_on) {
            out = b;
            global_store(a.out, t, sum);
        } else {
            global_store(a.buckets, b, sum);
        }
    }
    global_store(a.out_buckets, t, out);
}

template <class G> CUZK_FN void merge(const MergeArgs<G> &a) {
    u64 t = global_thread();
    if (t * a.run < a.n)
        merge_run<G>(a, t);
}

// Does all levels that are left, in one block: in and out change places after each.
template <class G> CUZK_FN void merge_levels(MergeArgs<G> a) {
    CUZK_NO_UNROLL
    while (a.n > 1) {
        u32 runs = (a.n + a.run - 1) / a.run;
        CUZK_NO_UNROLL
        for (u32 t = thread_x(); t < runs; t += block_threads())
            merge_run<G>(a, t);
        block_barrier();
        XYZZ<typename G::F> *in = a.in;
        u32 *in_buckets = a.in_buckets;
        a.in = a.out;
        a.in_buckets = a.out_buckets;
        a.out = in;
        a.out_buckets = in_buckets;
        a.n = runs;
    }
}

// out[t] = sum over the buckets i of run t of (i + 1) bucket_i, where i counts
// from 0 in each window: the sum of the running sums from the top, plus the run's
// first index times its plain sum.
template <class G> struct ReduceArgs {
    const XYZZ<typename G::F> *buckets;
    const u32 *offsets;       // tells which buckets are empty; null: those hold infinity
    XYZZ<typename G::F> *out; // out[windows * per_window / run]
    u32 per_window, run, windows;
    u32 pad;
};

template <class G> CUZK_FN void reduce(const ReduceArgs<G> &a) {
    typedef typename G::F F;
    u64 t = global_thread(), first = t * a.run;
    if (first >= (u64)a.windows * a.per_window)
        return;
    XYZZ<F> sum = XYZZ<F>::infinity(), weighted = XYZZ<F>::infinity();
    // Without offsets every bucket counts as one of one pair.
    u32 above = a.offsets ? constant_load(a.offsets, first + a.run) : a.run;
    CUZK_NO_UNROLL
    for (u32 i = a.run; i-- > 0;) {
        u32 begin = a.offsets ? constant_load(a.offsets, first + i) : i;
        if (begin != above)
            sum.add(constant_load(a.buckets, first + i));
        above = begin;
        weighted.add(sum);
    }
    weighted.add(sum.times((u32)(first % a.per_window)));
    global_store(a.out, t, weighted);
}

// out[y * grid_x + x] = sum of in[y * per + i] over the i of block x: with
// grid_x = 1, one point for each of grid_y runs of `per` points.
template <class G> struct SumArgs {
    const XYZZ<typename G::F> *in;
    XYZZ<typename G::F> *out;
    u32 per;
    u32 pad;
};

// Adds up one point of each thread; thread 0 returns the sum. The number of
// threads is a power of two; `half` is shared memory for half as many points.
template <class F> CUZK_FN XYZZ<F> block_sum(XYZZ<F> mine, XYZZ<F> *half) {
    CUZK_NO_UNROLL
    for (u32 width = block_threads() / 2; width > 0; width /= 2) {
        if (thread_x() >= width && thread_x() < 2 * width)
            half[thread_x() - width] = mine;
        block_barrier();
        if (thread_x() < width)
            mine.add(half[thread_x()]);
        block_barrier();
    }
    return mine;
}

template <class G> CUZK_FN void sum_points(const SumArgs<G> &a, XYZZ<typename G::F> *half) {
    typedef typename G::F F;
    XYZZ<F> sum = XYZZ<F>::infinity();
    CUZK_NO_UNROLL
    for (u64 i = global_thread(); i < a.per; i += global_threads())
        sum.add(constant_load(a.in, (u64)block_y() * a.per + i));
    sum = block_sum(sum, half);
    if (thread_x() == 0)
        global_store(a.out, (u64)block_y() * grid_x() + block_x(), sum);
}

} // namespace cuzk
