// The bucket sums of msm/bucket.cuh by additions of affine points, 6 products
// each where a mixed XYZZ addition takes 10, whose inversions are shared: each
// thread reduces its run of sorted pairs as a tree. On a level the neighbours
// of every bucket's part are added, and a part of one point goes to its bucket.
// The denominators of a level are inverted together, by a forward pass over
// prefix products, one inversion, and a backward pass.
// Source: Montgomery's trick, in "Speeding the Pollard and Elliptic Curve
// Methods of Factorization", Math. Comp. 48, 1987.
//
// A thread keeps what it needs between the passes in a column of device memory.
// Element k of a warp's 32 columns lies together. The nodes of a level end at
// the column's end: output k of m is written to place end - m + k, from the last
// to the first. An output never overwrites an input that is still to be read,
// since it takes at least one input.
//
// Each warp takes 32 runs at a time until none is left. So the grid need not be
// larger than what the device holds at a time, and columns are few.
#pragma once

#include "msm/bucket.cuh"

namespace cuzk {

template <class G> struct AccumulateAffineArgs {
    AccumulateArgs<G> to;
    Quad *columns; // column_quads<G>(run) quads for each thread of the grid
    u32 *next;     // how often 32 runs have been taken; 0 at launch
};

// One lane's elements, in quads: quad q of the 32 lanes lies together.
template <class T> class Column {
    static constexpr u32 QUADS = sizeof(T) / sizeof(Quad);
    Quad *at;

  public:
    CUZK_FN static u64 quads(u32 length) { return (u64)length * QUADS; }
    CUZK_FN Column() : at(0) {}
    // The lane's part of a warp's memory, behind `before` quads of each lane.
    CUZK_FN Column(Quad *warp, u64 before) : at(warp + before * WARP + lane()) {}

    CUZK_FN T load(u32 k) const {
        T v;
        Quad *to = reinterpret_cast<Quad *>(&v);
        CUZK_UNROLL
        for (u32 q = 0; q < QUADS; q++)
            to[q] = global_load(at, ((u64)k * QUADS + q) * WARP);
        return v;
    }
    CUZK_FN void store(u32 k, const T &v) const {
        const Quad *from = reinterpret_cast<const Quad *>(&v);
        CUZK_UNROLL
        for (u32 q = 0; q < QUADS; q++)
            global_store(at, ((u64)k * QUADS + q) * WARP, from[q]);
    }
};

// The largest number of nodes of a level: parts of three pairs leave two.
CUZK_FN u32 max_nodes(u32 run) {
    return run - run / 3;
}

// How a level makes an output: of inputs i and i + 1, or of i alone. A sum is
// special unless both points are finite and differ in x.
struct Step {
    static constexpr u32 ALONE = 0x80000000u, SPECIAL = 0x40000000u;
    u32 word;

    CUZK_FN u32 input() const { return word & ~(ALONE | SPECIAL); }
    CUZK_FN bool alone() const { return word & ALONE; }
    CUZK_FN bool special() const { return word & SPECIAL; }
};

// Where a step's inputs are: words of the sorted pairs on the first level, places
// of nodes on the others.
struct Inputs {
    u32 first, second;
};

// The tree over one run. The forward pass loads points one step before it uses
// them, and their places two steps before. The backward pass loads places one
// step before, and points when it uses them.
template <class G> class AffineRun {
    typedef typename G::F F;

    const AccumulateArgs<G> &a;
    u64 run;
    u32 first, end; // pairs
    u32 first_bucket;
    Column<F> prefixes; // prefixes[run / 2]: products of the level's denominators
    Column<F> xs, ys;   // xs[max_nodes], ys[max_nodes]: the nodes
    u32 *steps;         // steps[max_nodes]: word k of the 32 lanes lies together
    u32 level, nodes_at, nodes_end;

    // The walk over a level's inputs.
    u32 pair, bucket, bucket_end, input, left;

  public:
    u32 head;

    // The size of a column, in quads.
    CUZK_FN static u64 quads(u32 run) {
        return Column<F>::quads(run / 2) + 2 * Column<F>::quads(max_nodes(run)) + (max_nodes(run) + 3) / 4;
    }

    CUZK_FN AffineRun(const AccumulateAffineArgs<G> &args, u64 run_, u32 total)
        : a(args.to), run(run_), head(NONE) {
        first = (u32)(run * a.run);
        end = total - first < a.run ? total : first + a.run;
        first_bucket = bucket_of(a.offsets, 0, a.buckets_n, first);
        if (constant_load(a.offsets, first_bucket) < first)
            head = first_bucket;
        nodes_end = max_nodes(a.run);
        Quad *warp = args.columns + global_thread() / WARP * quads(a.run) * WARP;
        prefixes = Column<F>(warp, 0);
        u64 before = Column<F>::quads(a.run / 2);
        xs = Column<F>(warp, before);
        before += Column<F>::quads(nodes_end);
        ys = Column<F>(warp, before);
        before += Column<F>::quads(nodes_end);
        steps = reinterpret_cast<u32 *>(warp + before * WARP) + lane();
    }

    CUZK_FN void sum() {
        u32 outputs = 1;
        nodes_at = nodes_end;
        CUZK_NO_UNROLL
        for (level = 0; outputs > 0; level++) {
            u32 added = 0;
            F product = F::one();
            outputs = forward(product, added);
            if (outputs > 0)
                backward(F::inverse(product), outputs, added);
            nodes_at = nodes_end - outputs;
        }
    }

  private:
    CUZK_FN u32 source(u32 i) const { return level > 0 ? nodes_at + i : constant_load(a.sorted, first + i); }
    CUZK_FN Inputs inputs(Step step) const {
        u32 i = step.input();
        return {source(i), step.alone() ? 0 : source(i + 1)};
    }
    CUZK_FN Affine<F> load(u32 from) const {
        if (level > 0)
            return {xs.load(from), ys.load(from)};
        Affine<F> p = constant_load(a.points, from & 0x7fffffffu);
        return from >> 31 ? -p : p;
    }
    CUZK_FN F load_x(u32 from) const {
        if (level > 0)
            return xs.load(from);
        return constant_load(reinterpret_cast<const F *>(a.points), 2 * (u64)(from & 0x7fffffffu));
    }

    CUZK_FN void start_walk() {
        pair = first;
        input = left = 0;
        bucket = first_bucket - 1;
        bucket_end = constant_load(a.offsets, first_bucket + 1);
    }

    // Goes on to the next bucket of the run; returns its pairs in the run, at least 1.
    CUZK_FN u32 next_part() {
        bucket++;
        u32 part_end = bucket_end;
        if (part_end <= pair) { // an empty bucket
            bucket = bucket_of(a.offsets, bucket, a.buckets_n, pair);
            part_end = constant_load(a.offsets, bucket + 1);
        }
        bucket_end = constant_load(a.offsets, bucket + 2 < a.buckets_n ? bucket + 2 : a.buckets_n);
        u32 pairs = (part_end < end ? part_end : end) - pair;
        pair += pairs;
        return pairs;
    }

    // The next output of the level. A part of one point is stored on the way, and is
    // not on the levels above.
    CUZK_FN bool next(Step &step) {
        CUZK_NO_UNROLL
        while (left == 0) {
            if (pair == end)
                return false;
            u32 pairs = next_part();
            if (level > 0 && pairs <= 1u << (level - 1))
                continue;
            left = ((pairs - 1) >> level) + 1;
            if (left == 1) {
                store_bucket(a, run, bucket, head, XYZZ<F>::from(load(source(input))));
                input++;
                left = 0;
            }
        }
        u32 taken = left == 1 ? 1 : 2;
        step.word = input | (taken == 1 ? Step::ALONE : 0);
        input += taken;
        left -= taken;
        return true;
    }

    // The denominator of p + q; 1 if the sum or an operand is infinity.
    CUZK_FN static F denominator(const Affine<F> &p, const Affine<F> &q) {
        if (p.is_infinity() || q.is_infinity())
            return F::one();
        if (!(p.x == q.x))
            return q.x - p.x;
        return p.y == q.y ? p.y.doubled() : F::one();
    }

    // Fills steps and prefixes, and multiplies the denominators. Returns the
    // number of outputs; `added` gets how many of them are sums.
    CUZK_FN u32 forward(F &product, u32 &added) {
        u32 outputs = 0;
        Step now = {0}, soon = {0}, later = {0};
        Inputs from = {0, 0}; // of soon
        F x = F::zero(), other = F::zero();
        start_walk();
        bool more = next(now), then = false;
        if (more) {
            load_xs(now, inputs(now), x, other);
            then = next(soon);
            if (then)
                from = inputs(soon);
        }
        CUZK_NO_UNROLL
        while (more) {
            F x_now = x, other_now = other;
            bool last = true;
            if (then) {
                load_xs(soon, from, x, other);
                last = !next(later);
                if (!last)
                    from = inputs(later);
            }
            if (!now.alone()) {
                F d = F::loose_difference(other_now, x_now);
                // Infinity has x = 0, and finite points may have it too.
                if (x_now == other_now || x_now.is_zero() || other_now.is_zero()) {
                    Inputs again = inputs(now);
                    d = denominator(load(again.first), load(again.second));
                    now.word |= Step::SPECIAL;
                }
                prefixes.store(added++, product);
                product = product * d;
            }
            global_store(steps, (u64)outputs * WARP, now.word);
            outputs++;
            more = then;
            then = !last;
            now = soon;
            soon = later;
        }
        return outputs;
    }
    CUZK_FN void load_xs(Step step, Inputs from, F &x, F &other) const {
        if (step.alone())
            return;
        x = load_x(from.first);
        other = load_x(from.second);
    }

    CUZK_FN Step load_step(u32 k) const { return {global_load(steps, (u64)k * WARP)}; }

    CUZK_FN void backward(F inverse, u32 outputs, u32 added) {
        Step step = load_step(outputs - 1), before = step;
        if (outputs > 1)
            before = load_step(outputs - 2);
        Inputs from = inputs(step);
        CUZK_NO_UNROLL
        for (u32 k = outputs; k-- > 0;) {
            Affine<F> p = load(from.first);
            if (step.alone()) {
                from = inputs(before);
            } else {
                Affine<F> q = load(from.second);
                F prefix = prefixes.load(--added);
                from = inputs(before);
                F d = step.special() ? denominator(p, q) : F::loose_difference(q.x, p.x);
                F mine = inverse * prefix;
                inverse = inverse * d;
                p = step.special() ? special_sum(p, q, mine)
                                   : sum(p, q, mine * F::loose_difference(q.y, p.y));
            }
            xs.store(nodes_end - outputs + k, p.x);
            ys.store(nodes_end - outputs + k, p.y);
            step = before;
            if (k > 1)
                before = load_step(k - 2);
        }
    }

    // p + q on the line with this slope.
    CUZK_FN static Affine<F> sum(const Affine<F> &p, const Affine<F> &q, const F &slope) {
        F x = slope.squared() - p.x - q.x;
        return {x, slope * F::loose_difference(p.x, x) - p.y};
    }

    // p + q from the inverse of their denominator. Not inlined, since it is rare.
    CUZK_CALL static Affine<F> special_sum(Affine<F> p, Affine<F> q, F inverse) {
        if (p.is_infinity())
            return q;
        if (q.is_infinity())
            return p;
        if (!(p.x == q.x))
            return sum(p, q, inverse * (q.y - p.y));
        if (!(p.y == q.y))
            return Affine<F>::infinity();
        F xx = p.x.squared();
        return sum(p, q, inverse * (xx.doubled() + xx));
    }
};

template <class G> CUZK_FN void accumulate_affine(const AccumulateAffineArgs<G> &a) {
    u32 total = constant_load(a.to.offsets, a.to.buckets_n);
    u32 takes = (a.to.runs + WARP - 1) / WARP;
    CUZK_NO_UNROLL
    for (;;) {
        u32 take = 0;
        if (lane() == 0)
            take = global_atomic_add(a.next, 0, 1);
        take = warp_shuffle(take, 0);
        if (take >= takes)
            return;
        u64 t = (u64)take * WARP + lane();
        if (t < a.to.runs) {
            u32 head = NONE;
            if (t * a.to.run < total) {
                AffineRun<G> run(a, t, total);
                run.sum();
                head = run.head;
            }
            global_store(a.to.head_buckets, t, head);
        }
    }
}

} // namespace cuzk
