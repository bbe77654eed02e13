// Number theoretic transforms over Fr, in place, unscaled.
//
//   dif: X_f = sum_i x_i w^(i f), natural order in, bit-reversed order out; with
//        `coset`, X_f is then multiplied by g^f.
//   dit: the same sum, bit-reversed order in, natural order out; with `coset`,
//        x_i is first multiplied by g^i.
// w = g^2 has order m = 2^k (`inverse`: g^-1 and w^-1). One launch does up to 9
// of the k stages: with B = 2^(k - done) and D = B / 2^stages, it transforms the
// 2^stages elements j + t D of each B consecutive ones, t = 0, 1, ..., for each
// j < D, and multiplies frequency f by w_B^(j f) (dif: after; dit: before), where
// w_B has order B. For the coset the factor is w_B^((j + 1/2) f): the halves of
// all launches and rounds make up g^f. Here j is called a column and t a row.
// Source: Cooley, Tukey, Math. Comp. 19, 1965; Bailey, "FFTs in External or
// Hierarchical Memory", J. Supercomputing 4, 1990 (the split into passes).
//
// Data map: a block of 128 threads takes a batch of 1024 elements, 2^stages rows
// of 1024 >> stages neighbouring columns, eight in the registers of each thread.
// A round transforms 3 bits of t in registers. Between rounds threads exchange
// elements through shared memory (37 KiB, padded so that strides of 8 and 64
// elements meet no bank conflict). Bound by 32-bit multiply-adds.
#define CUZK_INLINE_PRODUCTS
#include "ntt/dft.cuh"
#include "ntt/twiddles.cuh"

namespace cuzk {

constexpr u32 NTT_THREADS = 128, LOG_BATCH = 10, BATCH = 1 << LOG_BATCH;
constexpr u32 NTT_BLOCKS = 4;             // an SM
constexpr u32 LOG_STAGES = 9;             // of a launch at most
constexpr u32 LOG_LOCAL = LOG_STAGES + 1; // order of the local root, for halves

struct NttArgs {
    Eighths eighths; // of w_8, or with `inverse` of w_8^-1
    Fr *data;        // data[1 << roots.log_size]
    const Fr *local; // local[2^LOG_LOCAL]: powers of the root of order 2^LOG_LOCAL
    Twiddles roots;
    u32 done, stages;
    u32 inverse, coset; // 0 or 1
};

// Shared memory holds the two quads of an element apart.
constexpr u32 PADDED = BATCH + BATCH / 8 + BATCH / 64;
CUZK_FN u32 padded(u32 i) {
    return i + (i >> 3) + (i >> 6);
}

CUZK_FN void exchange_put(Quad *shared, u32 place, const Fr &x) {
    CUZK_UNROLL
    for (int h = 0; h < 2; h++) {
        Quad v;
        CUZK_UNROLL
        for (int k = 0; k < 4; k++)
            v.word[k] = x.limb[4 * h + k];
        shared[h * PADDED + place] = v;
    }
}

CUZK_FN Fr exchange_get(const Quad *shared, u32 place) {
    Fr x;
    CUZK_UNROLL
    for (int h = 0; h < 2; h++) {
        Quad v = shared[h * PADDED + place];
        CUZK_UNROLL
        for (int k = 0; k < 4; k++)
            x.limb[4 * h + k] = v.word[k];
    }
    return x;
}

// Where the batch's elements lie. The index inside a batch is (row, column), or
// (column, row) when D = 1, so that neighbouring threads touch neighbouring
// elements of global memory. A batch lies in B consecutive elements, unless D = 1.
struct Batch {
    u32 stages, log_stride, row_at, size;
    u32 first;  // the place of the batch's element 0
    u32 offset; // the j of its first column

    CUZK_FN Batch(const NttArgs &a) {
        stages = a.stages;
        log_stride = a.roots.log_size - a.done - stages;
        size = 1u << a.roots.log_size;
        u32 log_columns = LOG_BATCH - stages, column = block_x() << log_columns;
        row_at = last() ? 0 : log_columns;
        offset = column & ((1u << log_stride) - 1);
        first = (column >> log_stride << (log_stride + stages)) + offset;
    }
    // D = 1: the last launch of dif, the first of dit.
    CUZK_FN bool last() const { return log_stride == 0; }
    CUZK_FN u32 row(u32 i) const { return (i >> row_at) & ((1u << stages) - 1); }
    CUZK_FN u32 column(u32 i) const { return i & ((1u << row_at) - 1); } // unless D = 1
    // The place of element i, less `first`. For i and j without a common bit,
    // place(i + j) = place(i) + place(j).
    CUZK_FN u32 place(u32 i) const { return last() ? i : row(i) << log_stride | column(i); }
    // A domain smaller than a batch does not fill it.
    CUZK_FN bool exists(u32 place) const { return first + place < size; }
};

// A thread's eight elements in a round over `bits` bits of the row, the lowest
// of which is bit `low`: 8 >> bits groups of 1 << bits elements. Their batch
// indices are base + step(k), which have no bit in common; step(k) is the same
// for all threads.
struct Round {
    u32 low, bits, at; // at: the place of bit `low` in a batch index

    CUZK_FN u32 spread(u32 unit) const { return unit >> at << (at + bits) | (unit & ((1u << at) - 1)); }
    CUZK_FN u32 base() const { return spread(thread_x()); }
    CUZK_FN u32 step(u32 k) const {
        return spread(NTT_THREADS * (k >> bits)) | (k & ((1u << bits) - 1)) << at;
    }
};

// The factors of a round's elements. Between two rounds of a launch an element is
// multiplied by w_n^((j + 1/2 for the coset) f), where n = 2^(low + bits), f is its
// frequency in the round and j the row bits below the round's. Between launches it
// is multiplied by w_B^((j + 1/2 for the coset) f), where f is its frequency in the
// launch and j its column.
struct Factors {
    bool between_launches, twofold; // twofold: a product of two powers
    u32 f_at, f_bits;               // where in a batch index f's bits are
    u32 j_at, j_mask, j_first;      // where those of j are, and what is added
    u32 half, shift;                // half: 1 for the coset
    const Fr *table;
    u32 mask, split, spread; // of exponents: see Twiddles

    CUZK_FN Factors(const NttArgs &a, const Batch &batch, const Round &round, bool outside) {
        between_launches = outside && !batch.last();
        twofold = between_launches && a.roots.split > a.done;
        f_at = between_launches ? batch.row_at : round.at;
        f_bits = between_launches ? a.stages : round.bits;
        j_at = between_launches ? 0 : batch.row_at;
        j_mask = (1u << (between_launches ? batch.row_at : round.low)) - 1;
        j_first = between_launches ? batch.offset : 0;
        half = between_launches || batch.last() ? a.coset : 0;
        shift = between_launches ? a.done : LOG_STAGES - round.low - round.bits;
        table = between_launches ? a.roots.high : a.local;
        mask = between_launches ? batch.size - 1 : (1u << LOG_LOCAL) - 1;
        split = between_launches ? a.roots.split : 0;
        spread = between_launches ? a.roots.spread : 0;
    }
    CUZK_FN u32 exponent(u32 i, bool inverse) const {
        u32 f = bit_reverse(i >> f_at & ((1u << f_bits) - 1), f_bits), j = j_first + (i >> j_at & j_mask);
        u32 e = (2 * j + half) * f << shift;
        return inverse ? 0 - e : e;
    }
    CUZK_FN Fr fetch(u32 e) const { return constant_load(table, (e & mask) >> split << spread); }
};

CUZK_FN void multiply(Fr (&x)[8], const NttArgs &a, const Batch &batch, const Round &round, bool outside) {
    if (outside && batch.last() && !a.coset) {
        CUZK_UNROLL
        for (u32 k = 0; k < 8; k++)
            x[k] = x[k].reduced();
        return;
    }
    Factors by(a, batch, round, outside);
    u32 base = round.base(), e = by.exponent(base, a.inverse);
    Fr t = by.fetch(e);
    CUZK_UNROLL
    for (u32 k = 0; k < 8; k++) {
        u32 now = e;
        Fr power = t;
        if (k < 7) { // loaded before the product, which hides the latency
            e = by.exponent(base | round.step(k + 1), a.inverse);
            t = by.fetch(e);
        }
        if (by.between_launches) {
            if (by.twofold)
                power = constant_load(a.roots.low, now & ((1u << by.split) - 1)) * power;
            power = with_sign(power, now & batch.size);
        } else if (k == 0) { // a power of 0
            x[0] = x[0].reduced();
            continue;
        }
        x[k] = power * x[k];
    }
}

CUZK_FN void load(Fr (&x)[8], const NttArgs &a, const Batch &batch, const Round &round) {
    u32 base = batch.place(round.base());
    CUZK_UNROLL
    for (u32 k = 0; k < 8; k++) {
        u32 place = base + batch.place(round.step(k));
        if (batch.exists(place))
            x[k] = global_load(a.data, batch.first + place);
        else
            x[k] = Fr::zero();
    }
}

CUZK_FN void store(const Fr (&x)[8], const NttArgs &a, const Batch &batch, const Round &round) {
    u32 base = batch.place(round.base());
    CUZK_UNROLL
    for (u32 k = 0; k < 8; k++) {
        u32 place = base + batch.place(round.step(k));
        if (batch.exists(place))
            global_store(a.data, batch.first + place, x[k]);
    }
}

CUZK_FN void exchange_in(Fr (&x)[8], const Quad *shared, const Round &round) {
    u32 base = padded(round.base());
    CUZK_UNROLL
    for (u32 k = 0; k < 8; k++)
        x[k] = exchange_get(shared, base + padded(round.step(k)));
}

CUZK_FN void exchange_out(const Fr (&x)[8], Quad *shared, const Round &round) {
    u32 base = padded(round.base());
    CUZK_UNROLL
    for (u32 k = 0; k < 8; k++)
        exchange_put(shared, base + padded(round.step(k)), x[k]);
}

CUZK_KERNEL(cuzk_ntt_dif, NttArgs, NTT_THREADS, NTT_BLOCKS) {
    CUZK_SHARED(Quad, shared, 2 * PADDED);
    Batch batch(a);
    Fr x[8];
    u32 left = a.stages;
    Round round = {0, 0, 0};
    CUZK_NO_UNROLL
    for (bool first = true; left > 0; first = false) {
        round.bits = left < 3 ? left : 3;
        left -= round.bits;
        round.low = left;
        round.at = batch.row_at + left;
        if (first) {
            load(x, a, batch, round);
        } else {
            block_barrier();
            exchange_in(x, shared, round);
        }
        dft_dif(x, round.bits, a.eighths);
        multiply(x, a, batch, round, left == 0);
        if (left == 0)
            break;
        if (!first)
            block_barrier(); // all threads have read the round before
        exchange_out(x, shared, round);
    }
    store(x, a, batch, round);
}

CUZK_KERNEL(cuzk_ntt_dit, NttArgs, NTT_THREADS, NTT_BLOCKS) {
    CUZK_SHARED(Quad, shared, 2 * PADDED);
    Batch batch(a);
    Fr x[8];
    u32 low = 0;
    Round round = {0, 0, 0};
    CUZK_NO_UNROLL
    for (bool first = true; low < a.stages; first = false) {
        round.bits = a.stages - low < 3 ? a.stages - low : 3;
        round.low = low;
        round.at = batch.row_at + low;
        low += round.bits;
        if (first) {
            load(x, a, batch, round);
        } else {
            block_barrier();
            exchange_in(x, shared, round);
        }
        multiply(x, a, batch, round, first);
        dft_dit(x, round.bits, a.eighths);
        if (low == a.stages)
            break;
        if (!first)
            block_barrier();
        exchange_out(x, shared, round);
    }
    CUZK_UNROLL
    for (u32 k = 0; k < 8; k++)
        x[k] = x[k].reduced();
    store(x, a, batch, round);
}

} // namespace cuzk
