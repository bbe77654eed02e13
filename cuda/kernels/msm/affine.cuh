// The bucket sums of msm/bucket.cuh by additions of affine points, 6 products
// each where a mixed XYZZ addition takes 10, whose inversions are shared: each
// thread reduces its run of sorted pairs as a tree. On a level the neighbours
// of every bucket's part are added, and a part of one point goes to its bucket.
// The denominators of a level are inverted together, by a forward pass over
// prefix products, one inversion, and a backward pass.
// Source: Montgomery's trick, in "Speeding the Pollard and Elliptic Curve
// Methods of Factorization", Math. Comp. 48, 1987.
//
// What a thread keeps between the passes lies in a column of device memory:
// element k of the lanes of a warp lies together. The nodes of a level end at
// the column's end: output k of m is written to place end - m + k, from the last
// to the first, which never is before the first input not yet read, since every
// output takes at least one input.
//
// Blocks take groups of 32 runs, a warp at a time, until none is left: a grid
// larger than what the card holds does not begin late, and columns are few.
#pragma once

#include "msm/bucket.cuh"

namespace cuzk {

template <class G> struct AffineArgs {
    AccumulateArgs<G> to;
    Quad *columns; // column_quads<G>(run) quads for each thread of the grid
    u32 *next;     // the next group of runs; 0 at launch
};

// Elements of 16-byte quads, one lane's of the 32 that lie together.
template <class T> class Column {
    static constexpr u32 QUADS = sizeof(T) / sizeof(Quad);
    Quad *at;

  public:
    CUZK_FN static u64 quads(u32 length) { return (u64)length * QUADS; }
    CUZK_FN Column() : at(0) {}
    // The lane's part of a warp's memory, in which `before` quads a lane come
    // before this column.
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

// Nodes of a level at most: parts of three pairs leave two.
CUZK_FN u32 most_nodes(u32 run) {
    return run - run / 3;
}

// How the inputs of a level become its outputs: inputs i and i + 1 are added, or
// i alone is passed on.
struct Step {
    static constexpr u32 ALONE = 0x80000000u;
    u32 word;

    CUZK_FN u32 input() const { return word & ~ALONE; }
    CUZK_FN bool alone() const { return word & ALONE; }
};

// The tree over one run. F is the coordinates' field.
template <class G> class AffineRun {
    typedef typename G::F F;

    const AccumulateArgs<G> &a;
    u64 run;
    u32 first, end; // pairs
    u32 first_bucket;
    Column<F> prefixes; // prefixes[run / 2]: of the level's denominators
    Column<F> xs, ys;   // xs[most_nodes], ys[most_nodes]: the nodes
    u32 *steps;         // steps[most_nodes], a word of each lane together
    u32 level, inputs_at, nodes_end;

    // The walk over a level's inputs.
    u32 pair, bucket, input, left;

  public:
    u32 head;

    // Quads of memory a thread.
    CUZK_FN static u64 quads(u32 run) {
        return Column<F>::quads(run / 2) + 2 * Column<F>::quads(most_nodes(run)) + (most_nodes(run) + 3) / 4;
    }

    CUZK_FN AffineRun(const AffineArgs<G> &args, u64 run_, u32 total) : a(args.to), run(run_), head(NONE) {
        first = (u32)(run * a.run);
        end = total - first < a.run ? total : first + a.run;
        first_bucket = bucket_of(a.offsets, 0, a.buckets_n, first);
        if (constant_load(a.offsets, first_bucket) < first)
            head = first_bucket;
        nodes_end = most_nodes(a.run);
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
        inputs_at = 0; // of the first level: the sorted pairs
        for (level = 0; outputs > 0; level++) {
            u32 added = 0;
            F product = F::one();
            outputs = forward(product, added);
            if (outputs > 0)
                backward(F::inverse(product), outputs, added);
            inputs_at = nodes_end - outputs;
        }
    }

  private:
    // Points of the part of `pairs` pairs on this level, at least 1.
    CUZK_FN u32 points(u32 pairs) const { return ((pairs - 1) >> level) + 1; }

    CUZK_FN Affine<F> load(u32 i) const {
        if (level > 0)
            return {xs.load(inputs_at + i), ys.load(inputs_at + i)};
        u32 entry = constant_load(a.sorted, first + i);
        Affine<F> p = constant_load(a.points, entry & 0x7fffffffu);
        return entry >> 31 ? -p : p;
    }
    CUZK_FN F load_x(u32 i) const {
        if (level > 0)
            return xs.load(inputs_at + i);
        u64 point = constant_load(a.sorted, first + i) & 0x7fffffffu;
        return constant_load(reinterpret_cast<const F *>(a.points), 2 * point);
    }

    // The next output of the level. Parts of one point are stored on the way,
    // and gone on the levels above.
    CUZK_FN bool next(Step &step) {
        CUZK_NO_UNROLL
        while (left == 0) {
            if (pair == end)
                return false;
            bucket = pair == first ? first_bucket : bucket_after(a.offsets, bucket, a.buckets_n, pair);
            u32 part_end = constant_load(a.offsets, bucket + 1);
            u32 pairs = (part_end < end ? part_end : end) - pair;
            pair += pairs;
            if (level > 0 && pairs <= 1u << (level - 1))
                continue;
            left = points(pairs);
            if (left == 1) {
                store_bucket(a, run, bucket, head, XYZZ<F>::from(load(input)));
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

    // What is to be inverted for the sum of inputs i and i + 1, where x and
    // other are their x: 1 if an operand or the sum is infinity.
    CUZK_FN F denominator(u32 i, const F &x, const F &other) const {
        F d = other - x;
        if (!d.is_zero() && !x.is_zero() && !other.is_zero())
            return d;
        Affine<F> p = load(i), q = load(i + 1);
        return denominator(p, q);
    }
    CUZK_FN static F denominator(const Affine<F> &p, const Affine<F> &q) {
        if (p.is_infinity() || q.is_infinity())
            return F::one();
        F d = q.x - p.x;
        if (!d.is_zero())
            return d;
        return p.y == q.y ? p.y.doubled() : F::one();
    }

    // Fills steps and prefixes, and multiplies the denominators. Returns the
    // number of outputs, and of those that are additions.
    CUZK_FN u32 forward(F &product, u32 &added) {
        pair = first;
        input = left = 0;
        u32 outputs = 0;
        Step step;
        F x, other; // of the step, loaded before the product of the one before
        bool more = next(step);
        if (more)
            load_xs(step, x, other);
        CUZK_NO_UNROLL
        while (more) {
            global_store(steps, (u64)outputs * WARP, step.word);
            outputs++;
            bool alone = step.alone();
            F d = product;
            if (!alone)
                d = denominator(step.input(), x, other);
            more = next(step);
            if (more)
                load_xs(step, x, other);
            if (!alone) {
                prefixes.store(added++, product);
                product = product * d;
            }
        }
        return outputs;
    }
    CUZK_FN void load_xs(Step step, F &x, F &other) const {
        if (step.alone())
            return;
        x = load_x(step.input());
        other = load_x(step.input() + 1);
    }

    CUZK_FN void backward(F inverse, u32 outputs, u32 added) {
        CUZK_NO_UNROLL
        for (u32 k = outputs; k-- > 0;) {
            Step step = {global_load(steps, (u64)k * WARP)};
            Affine<F> p = load(step.input());
            if (!step.alone()) {
                Affine<F> q = load(step.input() + 1);
                F d = denominator(p, q);
                F mine = inverse * prefixes.load(--added);
                inverse = inverse * d;
                p = sum(p, q, mine);
            }
            xs.store(nodes_end - outputs + k, p.x);
            ys.store(nodes_end - outputs + k, p.y);
        }
    }

    // p + q, from the inverse of their denominator.
    CUZK_FN static Affine<F> sum(const Affine<F> &p, const Affine<F> &q, const F &inverse) {
        F numerator = q.y - p.y;
        if (p.is_infinity())
            return q;
        if (q.is_infinity())
            return p;
        if (p.x == q.x) {
            if (!(p.y == q.y))
                return Affine<F>::infinity();
            F xx = p.x.squared();
            numerator = xx.doubled() + xx;
        }
        F slope = numerator * inverse;
        F x = slope.squared() - p.x - q.x;
        return {x, slope * (p.x - x) - p.y};
    }
};

template <class G> CUZK_FN void accumulate_affine(const AffineArgs<G> &a) {
    u32 total = constant_load(a.to.offsets, a.to.buckets_n);
    u32 groups = (a.to.runs + WARP - 1) / WARP;
    CUZK_NO_UNROLL
    for (;;) {
        u32 group = 0;
        if (lane() == 0)
            group = global_atomic_add(a.next, 0, 1);
        group = warp_shuffle(group, 0);
        if (group >= groups)
            return;
        u64 t = (u64)group * WARP + lane();
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
