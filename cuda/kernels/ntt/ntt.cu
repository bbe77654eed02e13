// Number theoretic transforms over Fr, in place, unscaled.
//
//   dif: X_f = sum_i x_i w^(i f), natural order in, bit-reversed order out.
//   dit: the same sum, bit-reversed order in, natural order out; with `coset`,
//        x_i is first multiplied by g^i.
// w = g^2 has order m = 2^k (`inverse`: w^-1). One launch does up to 9 of the k
// stages: with B = 2^(k - done) and D = B / 2^stages, it transforms the 2^stages
// elements j + t D of each block of B, t = 0, 1, ..., for each j < D (a column),
// and multiplies frequency f by w_B^(j f) (dif: after; dit: before), w_B of
// order B.
// Source: Cooley, Tukey, Math. Comp. 19, 1965; Bailey, "FFTs in External or
// Hierarchical Memory", J. Supercomputing 4, 1990 (the split into passes).
//
// Data map: a block of 128 threads holds 1024 elements, 2^stages rows of
// 1024 >> stages neighbouring columns, eight in the registers of each thread;
// a round transforms 3 bits of t in registers, and rounds exchange through
// shared memory (37 KiB, padded so that strides of 8 and 64 elements meet no
// bank conflict). Bound by 32-bit multiply-adds.
#define CUZK_INLINE_PRODUCTS
#include "ntt/twiddles.cuh"

namespace cuzk {

constexpr u32 NTT_THREADS = 128, LOG_TILE = 10, TILE = 1 << LOG_TILE;
constexpr u32 LOG_LOCAL = 9; // stages of a launch at most; order of the local root

struct NttArgs {
    Fr *data;        // data[1 << log_size]
    const Fr *local; // local[2^LOG_LOCAL]: powers of the root of order 2^LOG_LOCAL
    Twiddles roots;
    u32 log_size, done, stages;
    u32 inverse; // 0 or 1
    u32 coset;   // 0 or 1; dit's first launch only (where D = 1)
    u32 pad;
};

// Shared memory holds the two 16-byte halves of an element apart.
struct alignas(16) Half {
    u32 word[4];
};
constexpr u32 PADDED = TILE + TILE / 8 + TILE / 64;
CUZK_FN u32 padded(u32 i) {
    return i + (i >> 3) + (i >> 6);
}

CUZK_FN void exchange_put(Half *shared, u32 i, const Fr &x) {
    CUZK_UNROLL
    for (int h = 0; h < 2; h++) {
        Half v;
        CUZK_UNROLL
        for (int k = 0; k < 4; k++)
            v.word[k] = x.limb[4 * h + k];
        shared[h * PADDED + padded(i)] = v;
    }
}

CUZK_FN Fr exchange_get(const Half *shared, u32 i) {
    Fr x;
    CUZK_UNROLL
    for (int h = 0; h < 2; h++) {
        Half v = shared[h * PADDED + padded(i)];
        CUZK_UNROLL
        for (int k = 0; k < 4; k++)
            x.limb[4 * h + k] = v.word[k];
    }
    return x;
}

// Where the tile's elements lie. The index inside a tile is (row, column), or
// (column, row) when D = 1, so that neighbouring threads touch neighbouring
// elements of global memory.
struct Tile {
    u32 stages, log_columns, log_stride, row_at, column_at;
    u64 first_column, columns;

    CUZK_FN Tile(const NttArgs &a) {
        stages = a.stages;
        log_columns = LOG_TILE - a.stages;
        log_stride = a.log_size - a.done - a.stages;
        row_at = log_stride == 0 ? 0 : log_columns;
        column_at = log_stride == 0 ? stages : 0;
        first_column = (u64)block_x() << log_columns;
        columns = (u64)1 << (a.log_size - a.stages);
    }
    CUZK_FN u32 row(u32 i) const { return (i >> row_at) & ((1u << stages) - 1); }
    CUZK_FN u64 column(u32 i) const { return first_column + ((i >> column_at) & ((1u << log_columns) - 1)); }
    CUZK_FN u32 offset(u32 i) const { return (u32)(column(i) & (((u64)1 << log_stride) - 1)); }
    CUZK_FN u64 address(u32 i) const {
        u64 c = column(i), block = c >> log_stride;
        return (block << (log_stride + stages)) + ((u64)row(i) << log_stride) + offset(i);
    }
    CUZK_FN bool exists(u32 i) const { return column(i) < columns; }
};

// A thread's eight elements in a round over `bits` bits of the row, the lowest
// of which is bit `low`: 8 >> bits groups of 1 << bits elements.
struct Round {
    u32 low, bits, at; // at: the place of bit `low` in a tile index

    CUZK_FN u32 index(u32 k) const {
        u32 unit = thread_x() + NTT_THREADS * (k >> bits), member = k & ((1u << bits) - 1);
        return (unit >> at) << (at + bits) | member << at | (unit & ((1u << at) - 1));
    }
    // The exponent of the local root that frequency k's element is multiplied
    // by: its frequency times the row bits below the round's.
    CUZK_FN u32 twist(u32 k, u32 row) const {
        u32 frequency = bit_reverse(k & ((1u << bits) - 1), bits);
        return frequency * (row & ((1u << low) - 1)) << (LOG_LOCAL - low - bits);
    }
};

CUZK_FN Fr local_root(const NttArgs &a, u32 e) {
    constexpr u32 ORDER = 1 << LOG_LOCAL;
    return constant_load(a.local, (a.inverse ? ORDER - e : e) & (ORDER - 1));
}

// w_B^(offset frequency), or for the coset g^i.
CUZK_FN u32 pass_exponent(const NttArgs &a, const Tile &tile, u32 i) {
    u32 order = 2u << a.log_size;
    u32 frequency = bit_reverse(tile.row(i), a.stages);
    u32 e = (tile.offset(i) * frequency) << (a.done + 1);
    return a.inverse ? (order - e) & (order - 1) : e;
}

// (x + y, x - y); the twiddle is applied after it (dif) or before (dit).
CUZK_FN void butterfly(Fr &x, Fr &y) {
    Fr sum = x + y;
    y = x - y;
    x = sum;
}

CUZK_KERNEL(cuzk_ntt_dif, NttArgs, NTT_THREADS, 3) {
    CUZK_SHARED(Half, shared, 2 * PADDED);
    Tile tile(a);
    Fr x[8];
    u32 left = a.stages;
    Round round = {0, 0, 0};
    CUZK_NO_UNROLL
    for (bool first = true; left > 0; first = false) {
        round.bits = left < 3 ? left : 3;
        left -= round.bits;
        round.low = left;
        round.at = tile.row_at + left;
        if (!first)
            block_barrier();
        CUZK_UNROLL
        for (u32 k = 0; k < 8; k++) {
            u32 i = round.index(k);
            if (!first)
                x[k] = exchange_get(shared, i);
            else
                x[k] = tile.exists(i) ? global_load(a.data, tile.address(i)) : Fr::zero();
        }
        if (round.bits == 3) {
            CUZK_UNROLL
            for (u32 k = 0; k < 4; k++) {
                butterfly(x[k], x[k + 4]);
                if (k > 0)
                    x[k + 4] = x[k + 4] * local_root(a, k << (LOG_LOCAL - 3));
            }
        }
        if (round.bits >= 2) {
            Fr quarter = local_root(a, 1u << (LOG_LOCAL - 2));
            CUZK_UNROLL
            for (u32 k = 0; k < 8; k += 4) {
                butterfly(x[k], x[k + 2]);
                butterfly(x[k + 1], x[k + 3]);
                x[k + 3] = x[k + 3] * quarter;
            }
        }
        CUZK_UNROLL
        for (u32 k = 0; k < 8; k += 2)
            butterfly(x[k], x[k + 1]);
        if (left == 0)
            break;
        if (!first)
            block_barrier(); // all have read the round before
        CUZK_UNROLL
        for (u32 k = 0; k < 8; k++) {
            u32 i = round.index(k), e = round.twist(k, tile.row(i));
            if (k > 0)
                x[k] = x[k] * local_root(a, e);
            exchange_put(shared, i, x[k]);
        }
    }
    CUZK_UNROLL
    for (u32 k = 0; k < 8; k++) {
        u32 i = round.index(k);
        if (!tile.exists(i))
            continue;
        if (tile.log_stride > 0)
            x[k] = x[k] * a.roots.power(pass_exponent(a, tile, i));
        global_store(a.data, tile.address(i), x[k]);
    }
}

CUZK_KERNEL(cuzk_ntt_dit, NttArgs, NTT_THREADS, 4) {
    CUZK_SHARED(Half, shared, 2 * PADDED);
    Tile tile(a);
    Fr x[8];
    u32 low = 0;
    Round round = {0, 0, 0};
    CUZK_NO_UNROLL
    for (bool first = true; low < a.stages; first = false) {
        round.bits = a.stages - low < 3 ? a.stages - low : 3;
        round.low = low;
        round.at = tile.row_at + low;
        low += round.bits;
        if (!first)
            block_barrier();
        CUZK_UNROLL
        for (u32 k = 0; k < 8; k++) {
            u32 i = round.index(k);
            if (!first) {
                x[k] = exchange_get(shared, i);
                if (k > 0)
                    x[k] = x[k] * local_root(a, round.twist(k, tile.row(i)));
            } else if (!tile.exists(i)) {
                x[k] = Fr::zero();
            } else {
                x[k] = global_load(a.data, tile.address(i));
                if (tile.log_stride > 0)
                    x[k] = x[k] * a.roots.power(pass_exponent(a, tile, i));
                else if (a.coset)
                    x[k] = x[k] * a.roots.power(bit_reverse((u32)tile.address(i), a.log_size));
            }
        }
        CUZK_UNROLL
        for (u32 k = 0; k < 8; k += 2)
            butterfly(x[k], x[k + 1]);
        if (round.bits >= 2) {
            Fr quarter = local_root(a, 1u << (LOG_LOCAL - 2));
            CUZK_UNROLL
            for (u32 k = 0; k < 8; k += 4) {
                x[k + 3] = x[k + 3] * quarter;
                butterfly(x[k], x[k + 2]);
                butterfly(x[k + 1], x[k + 3]);
            }
        }
        if (round.bits == 3) {
            CUZK_UNROLL
            for (u32 k = 0; k < 4; k++) {
                if (k > 0)
                    x[k + 4] = x[k + 4] * local_root(a, k << (LOG_LOCAL - 3));
                butterfly(x[k], x[k + 4]);
            }
        }
        if (low == a.stages)
            break;
        if (!first)
            block_barrier();
        CUZK_UNROLL
        for (u32 k = 0; k < 8; k++)
            exchange_put(shared, round.index(k), x[k]);
    }
    CUZK_UNROLL
    for (u32 k = 0; k < 8; k++) {
        u32 i = round.index(k);
        if (tile.exists(i))
            global_store(a.data, tile.address(i), x[k]);
    }
}

} // namespace cuzk
