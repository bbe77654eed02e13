// Vectors over Fr: powers, and the elementwise steps of the quotient.
//
// Launch bounds leave a thread 128 registers (256 threads) or 255 (128 threads) of
// the 68 that the powers take, and 30 to 52 that the others take (nvcc -Xptxas -v,
// sm_90): they cost nothing. Not tuned.
#define CUZK_INLINE_PRODUCTS
#include "field/fr.cuh"

namespace cuzk {

CUZK_FN Fr power(Fr base, u64 exponent) {
    Fr r = Fr::one();
    CUZK_NO_UNROLL
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            r = r * base;
        base = base.squared();
    }
    return r;
}

// out[i] = scale * base^(first + i step). A thread makes POWERS_EACH consecutive
// elements: one power, and then products.
constexpr u32 POWERS_EACH = 8;

struct PowersArgs {
    Fr base, scale;
    Fr *out;
    u64 first, step;
    u32 n;
    u32 pad;
};

CUZK_KERNEL(cuzk_fr_powers, PowersArgs, 128, 2) {
    u64 i = global_thread() * POWERS_EACH;
    if (i >= a.n)
        return;
    Fr v = power(a.base, a.first + i * a.step) * a.scale, by = power(a.base, a.step);
    for (u32 k = 0; k < POWERS_EACH && i + k < a.n; k++) {
        global_store(a.out, i + k, v);
        v = v * by;
    }
}

// c = a b on every row; rows from n to m are set to 0 in all three. bad gets the
// first row in which a or b is not below r. One thread for each row.
struct RowsArgs {
    Fr *a, *b; // a[m], b[m]: the first n are read
    Fr *c;     // c[m]
    u32 *bad;
    u32 n, m;
};

CUZK_KERNEL(cuzk_quotient_rows, RowsArgs, 256, 2) {
    u64 i = global_thread();
    if (i >= a.m)
        return;
    if (i >= a.n) {
        global_store(a.a, i, Fr::zero());
        global_store(a.b, i, Fr::zero());
        global_store(a.c, i, Fr::zero());
        return;
    }
    Fr x = global_load(a.a, i), y = global_load(a.b, i);
    if (!x.is_reduced() || !y.is_reduced())
        global_atomic_min(a.bad, 0, (u32)i);
    global_store(a.c, i, x * y);
}

// a = a b. One thread for each element.
struct ProductArgs {
    Fr *a; // in place
    const Fr *b;
    u32 n;
    u32 pad;
};

CUZK_KERNEL(cuzk_fr_product, ProductArgs, 256, 2) {
    u64 i = global_thread();
    if (i < a.n)
        global_store(a.a, i, global_load(a.a, i) * constant_load(a.b, i));
}

// The quotient's coefficients from the unscaled transforms c' = m INTT(c) and
// p' = m INTT_coset(p), both bit-reversed: h_i = c_scale c'_i - p_scale p'_i, in
// place of p'. One thread for each element.
struct CombineArgs {
    Fr c_scale, p_scale;
    Fr *p;       // p[n], in place
    const Fr *c; // c[n]
    u32 n;
    u32 pad[3];
};

CUZK_KERNEL(cuzk_quotient_combine, CombineArgs, 256, 2) {
    u64 i = global_thread();
    if (i < a.n)
        global_store(a.p, i, a.c_scale * constant_load(a.c, i) - a.p_scale * global_load(a.p, i));
}

// Element i of v[1 << log_size] goes to the place whose index is i with its bits
// reversed. An index is log_side bits of a row, the middle, and log_side bits of a
// column. A block holds two squares, whose middles are each other's reversal, and
// writes each to the other's place with row and column reversed. Up to 16 elements
// of a row (512 bytes) lie together in memory. One thread for each element of a
// square; four blocks of an SM have 1024 threads and 68 KiB of squares.
constexpr u32 MAX_SIDE = 16;

struct ReverseArgs {
    Fr *v;
    u32 log_size, log_side; // log_side = min(4, log_size / 2)
};

CUZK_KERNEL(cuzk_fr_reverse, ReverseArgs, MAX_SIDE *MAX_SIDE, 4) {
    constexpr u32 PITCH = MAX_SIDE + 1; // of a row, against bank conflicts
    CUZK_SHARED(Fr, squares, 2 * MAX_SIDE * PITCH);
    u32 side = a.log_side, middle_bits = a.log_size - 2 * side;
    u32 middle = block_x(), mirrored = bit_reverse(middle, middle_bits);
    if (middle > mirrored) // that block does both
        return;
    u32 row = thread_x() >> side, column = thread_x() & ((1u << side) - 1);
    bool inside = row >> side == 0;
    u32 outer = row << (a.log_size - side) | column;
    u64 here = outer | middle << side, there = outer | mirrored << side;
    Fr *mine = squares, *other = squares + MAX_SIDE * PITCH;
    if (inside) {
        mine[row * PITCH + column] = global_load(a.v, here);
        other[row * PITCH + column] = global_load(a.v, there);
    }
    block_barrier();
    if (inside) {
        u32 from = bit_reverse(column, side) * PITCH + bit_reverse(row, side);
        global_store(a.v, there, mine[from]);
        global_store(a.v, here, other[from]);
    }
}

} // namespace cuzk
