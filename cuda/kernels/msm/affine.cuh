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
// element k of the lanes of a warp lies together. The sums of the first level are
// nodes there, a part's one after the other; a sum of two nodes takes the first
// one's place, so on level l a part's nodes are 2^(l-1) places apart.
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

// Nodes of a run at most: parts of three pairs have two. A part of one has none.
CUZK_FN u32 most_nodes(u32 run) {
    return run - run / 3;
}

// One addition of a level: inputs `first` and, on the first level, the one after
// it, which are pairs of the run; on the others that many places on. The sum goes
// to the node `place`. A special one is not of two finite points with different x.
struct Step {
    static constexpr u32 PLACE = 1 << 15, SPECIAL = 1u << 31;
    u32 word;

    CUZK_FN static Step of(u32 first, u32 place) { return {first + place * PLACE}; }
    CUZK_FN u32 first() const { return word % PLACE; }
    CUZK_FN u32 place() const { return (word & ~SPECIAL) / PLACE; }
    CUZK_FN bool special() const { return word & SPECIAL; }
};

// Where a step's inputs are: words of the sorted list on the first level, places
// of nodes on the others.
struct Inputs {
    u32 first, second;
};

// The tree over one run. Loads are issued a step before their use, and those
// that say where to load from a step before that.
template <class G> class AffineRun {
    typedef typename G::F F;

    const AccumulateArgs<G> &a;
    u64 run;
    u32 first, end; // pairs
    u32 first_bucket;
    Column<F> prefixes; // prefixes[run / 2]: products of the level's denominators
    Column<F> xs, ys;   // xs[most_nodes], ys[most_nodes]: the nodes
    u32 *steps;         // steps[run / 2], a word of each lane together
    u32 level;

    // The walk over the parts: the next part's first pair, and of this one the
    // bucket, its end, the pairs, the first node, and the additions not yet taken.
    u32 pair, bucket, bucket_end, pairs, node, left;

  public:
    u32 head;

    // Quads of memory a thread.
    CUZK_FN static u64 quads(u32 run) {
        return Column<F>::quads(run / 2) + 2 * Column<F>::quads(most_nodes(run)) + (run / 2 + 3) / 4;
    }

    CUZK_FN AffineRun(const AffineArgs<G> &args, u64 run_, u32 total) : a(args.to), run(run_), head(NONE) {
        first = (u32)(run * a.run);
        end = total - first < a.run ? total : first + a.run;
        first_bucket = bucket_of(a.offsets, 0, a.buckets_n, first);
        if (constant_load(a.offsets, first_bucket) < first)
            head = first_bucket;
        Quad *warp = args.columns + global_thread() / WARP * quads(a.run) * WARP;
        u32 nodes = most_nodes(a.run);
        prefixes = Column<F>(warp, 0);
        u64 before = Column<F>::quads(a.run / 2);
        xs = Column<F>(warp, before);
        before += Column<F>::quads(nodes);
        ys = Column<F>(warp, before);
        before += Column<F>::quads(nodes);
        steps = reinterpret_cast<u32 *>(warp + before * WARP) + lane();
    }

    CUZK_FN void sum() {
        u32 additions = 1;
        CUZK_NO_UNROLL
        for (level = 0; additions > 0; level++) {
            F product = F::one();
            additions = forward(product);
            if (additions > 0)
                backward(F::inverse(product), additions);
        }
        store_sums();
    }

  private:
    CUZK_FN u32 sorted(u32 i) const { return constant_load(a.sorted, first + i); }
    CUZK_FN Inputs inputs(Step step) const {
        if (level == 0)
            return {sorted(step.first()), sorted(step.first() + 1)};
        return {step.first(), step.first() + (1u << (level - 1))};
    }
    CUZK_FN Affine<F> load_point(u32 entry) const {
        Affine<F> p = constant_load(a.points, entry & 0x7fffffffu);
        return entry >> 31 ? -p : p;
    }
    CUZK_FN Affine<F> load(u32 from) const {
        if (level > 0)
            return {xs.load(from), ys.load(from)};
        return load_point(from);
    }
    CUZK_FN F load_x(u32 from) const {
        if (level > 0)
            return xs.load(from);
        return constant_load(reinterpret_cast<const F *>(a.points), 2 * (u64)(from & 0x7fffffffu));
    }
    CUZK_FN void store(u32 place, const Affine<F> &p) const {
        xs.store(place, p.x);
        ys.store(place, p.y);
    }

    CUZK_FN void start_walk() {
        pair = first;
        pairs = node = left = 0;
        bucket = first_bucket - 1;
        bucket_end = constant_load(a.offsets, first_bucket + 1);
    }
    // Nodes of this part after the first level.
    CUZK_FN u32 nodes() const { return pairs < 2 ? 0 : (pairs + 1) / 2; }

    // Goes to the next part of the run: a bucket's pairs, at least 1.
    CUZK_FN bool next_part() {
        if (pair == end)
            return false;
        node += nodes();
        bucket++;
        u32 part_end = bucket_end;
        if (part_end <= pair) { // an empty bucket
            bucket = bucket_of(a.offsets, bucket, a.buckets_n, pair);
            part_end = constant_load(a.offsets, bucket + 1);
        }
        bucket_end = constant_load(a.offsets, bucket + 2 < a.buckets_n ? bucket + 2 : a.buckets_n);
        pairs = (part_end < end ? part_end : end) - pair;
        pair += pairs;
        return true;
    }

    // The next addition of the level, a part's last first. On the first level a
    // pair without another becomes a node on the way.
    CUZK_FN bool next(Step &step) {
        CUZK_NO_UNROLL
        while (left == 0) {
            if (!next_part())
                return false;
            if (level > 0) {
                left = pairs < 2 ? 0 : (((nodes() - 1) >> (level - 1)) + 1) / 2;
                continue;
            }
            left = pairs / 2;
            if (left > 0 && pairs % 2 != 0)
                store(node + left, load_point(sorted(pair - 1 - first)));
        }
        left--;
        step = level == 0 ? Step::of(pair - pairs - first + 2 * left, node + left)
                          : Step::of(node + (left << level), node + (left << level));
        return true;
    }

    // What is inverted for p + q: 1 if that or an operand is infinity.
    CUZK_FN static F denominator(const Affine<F> &p, const Affine<F> &q) {
        if (p.is_infinity() || q.is_infinity())
            return F::one();
        if (!(p.x == q.x))
            return q.x - p.x;
        return p.y == q.y ? p.y.doubled() : F::one();
    }

    // Fills steps and prefixes, and multiplies the denominators. Returns how many
    // there are.
    CUZK_FN u32 forward(F &product) {
        u32 additions = 0;
        Step now = {0}, soon = {0}, later = {0};
        Inputs from = {0, 0}; // of soon
        F x = F::zero(), other = F::zero();
        start_walk();
        bool more = next(now), then = false;
        if (more) {
            from = inputs(now);
            x = load_x(from.first);
            other = load_x(from.second);
            then = next(soon);
            if (then)
                from = inputs(soon);
        }
        CUZK_NO_UNROLL
        while (more) {
            F x_now = x, other_now = other;
            bool last = true;
            if (then) {
                x = load_x(from.first);
                other = load_x(from.second);
                last = !next(later);
                if (!last)
                    from = inputs(later);
            }
            F d = F::loose_difference(other_now, x_now);
            // Infinity has x = 0, and so may have others.
            if (x_now == other_now || x_now.is_zero() || other_now.is_zero()) {
                Inputs again = inputs(now);
                d = denominator(load(again.first), load(again.second));
                now.word |= Step::SPECIAL;
            }
            prefixes.store(additions, product);
            global_store(steps, (u64)additions * WARP, now.word);
            additions++;
            product = product * d;
            more = then;
            then = !last;
            now = soon;
            soon = later;
        }
        return additions;
    }

    CUZK_FN Step load_step(u32 k) const { return {global_load(steps, (u64)k * WARP)}; }

    CUZK_FN void backward(F inverse, u32 additions) {
        Step step = load_step(additions - 1), before = step;
        if (additions > 1)
            before = load_step(additions - 2);
        Inputs from = inputs(step);
        CUZK_NO_UNROLL
        for (u32 k = additions; k-- > 0;) {
            Affine<F> p = load(from.first), q = load(from.second);
            F prefix = prefixes.load(k);
            from = inputs(before);
            F d = step.special() ? denominator(p, q) : F::loose_difference(q.x, p.x);
            F mine = inverse * prefix;
            inverse = inverse * d;
            p = step.special() ? special_sum(p, q, mine) : sum(p, q, mine * F::loose_difference(q.y, p.y));
            store(step.place(), p);
            step = before;
            if (k > 1)
                before = load_step(k - 2);
        }
    }

    CUZK_FN void store_sums() {
        start_walk();
        CUZK_NO_UNROLL
        while (next_part()) {
            Affine<F> p =
                pairs < 2 ? load_point(sorted(pair - 1 - first)) : Affine<F>{xs.load(node), ys.load(node)};
            store_bucket(a, run, bucket, head, XYZZ<F>::from(p));
        }
    }

    // p + q on the line with this slope.
    CUZK_FN static Affine<F> sum(const Affine<F> &p, const Affine<F> &q, const F &slope) {
        F x = slope.squared() - p.x - q.x;
        return {x, slope * F::loose_difference(p.x, x) - p.y};
    }

    // p + q from the inverse of their denominator. A call, since it is rare.
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
