// The carry chains of the GPU, written with the instructions of field/ptx.cuh.
// Included by field/carry.cuh on the GPU, and by field/testdata on the host
// with an emulation of them; so this file includes nothing.

// r = r - M if r >= M else r.
template <class M> CUZK_FN void reduce_once(u32 *r) {
    u32 t[M::N];
    t[0] = ptx::sub_cc(r[0], M::mod(0));
    CUZK_UNROLL
    for (int i = 1; i < M::N; i++)
        t[i] = ptx::subc_cc(r[i], M::mod(i));
    u32 borrow = ptx::subc(0, 0);
    CUZK_UNROLL
    for (int i = 0; i < M::N; i++)
        r[i] = borrow ? r[i] : t[i];
}

// r = a + b mod M. 2M fits the limbs for both fields.
template <class M> CUZK_FN void add_mod(u32 *r, const u32 *a, const u32 *b) {
    r[0] = ptx::add_cc(a[0], b[0]);
    CUZK_UNROLL
    for (int i = 1; i < M::N - 1; i++)
        r[i] = ptx::addc_cc(a[i], b[i]);
    r[M::N - 1] = ptx::addc(a[M::N - 1], b[M::N - 1]);
    reduce_once<M>(r);
}

// r = a - b mod M.
template <class M> CUZK_FN void sub_mod(u32 *r, const u32 *a, const u32 *b) {
    r[0] = ptx::sub_cc(a[0], b[0]);
    CUZK_UNROLL
    for (int i = 1; i < M::N; i++)
        r[i] = ptx::subc_cc(a[i], b[i]);
    u32 mask = ptx::subc(0, 0);
    r[0] = ptx::add_cc(r[0], M::mod(0) & mask);
    CUZK_UNROLL
    for (int i = 1; i < M::N - 1; i++)
        r[i] = ptx::addc_cc(r[i], M::mod(i) & mask);
    r[M::N - 1] = ptx::addc(r[M::N - 1], M::mod(M::N - 1) & mask);
}

// r = a + b and r = M + a - b, below 2M, not reduced.
template <class M> CUZK_FN void add_loose(u32 *r, const u32 *a, const u32 *b) {
    r[0] = ptx::add_cc(a[0], b[0]);
    CUZK_UNROLL
    for (int i = 1; i < M::N - 1; i++)
        r[i] = ptx::addc_cc(a[i], b[i]);
    r[M::N - 1] = ptx::addc(a[M::N - 1], b[M::N - 1]);
}

template <class M> CUZK_FN void sub_loose(u32 *r, const u32 *a, const u32 *b) {
    u32 mod[M::N];
    CUZK_UNROLL
    for (int i = 0; i < M::N; i++)
        mod[i] = M::mod(i);
    add_loose<M>(r, mod, a);
    r[0] = ptx::sub_cc(r[0], b[0]);
    CUZK_UNROLL
    for (int i = 1; i < M::N - 1; i++)
        r[i] = ptx::subc_cc(r[i], b[i]);
    r[M::N - 1] = ptx::subc(r[M::N - 1], b[M::N - 1]);
}

// acc[j], acc[j+1] += lo, hi of x[j] * y for j = 2, 4, ..., and CC: the rest of
// a carry chain. The carry out is left in CC.
template <int N> CUZK_FN void mad_rest(u32 *acc, const u32 *x, u32 y) {
    CUZK_UNROLL
    for (int j = 2; j < N; j += 2) {
        acc[j] = ptx::madc_lo_cc(x[j], y, acc[j]);
        acc[j + 1] = ptx::madc_hi_cc(x[j], y, acc[j + 1]);
    }
}

// The whole chain, j = 0, 2, ....
template <int N> CUZK_FN void mad_chain(u32 *acc, const u32 *x, u32 y) {
    acc[0] = ptx::mad_lo_cc(x[0], y, acc[0]);
    acc[1] = ptx::madc_hi_cc(x[0], y, acc[1]);
    mad_rest<N>(acc, x, y);
}

// Montgomery products keep a running sum T = even + 2^32 odd, each of N limbs:
// products with even limbs go into one accumulator and those with odd limbs
// into the other, so that each is one chain of 64-bit multiply-adds. A step is
// T = (T + rows + m M) / 2^32, where a row is a factor times one limb and m
// makes the sum divisible. The division is a swap of roles: the next step has
// even' = odd and odd' = even / 2^64, with even[1] still to be added to even'.
// Source: Koc, Acar, Kaliski, "Analyzing and Comparing Montgomery
// Multiplication Algorithms", IEEE Micro 16(3), 1996 (operand scanning,
// interleaved).

// The first row of the first step.
template <int N> CUZK_FN void row_first(u32 *even, u32 *odd, const u32 *a, u32 b) {
    CUZK_UNROLL
    for (int j = 0; j < N; j += 2) {
        even[j] = a[j] * b;
        even[j + 1] = __umulhi(a[j], b);
        odd[j] = a[j + 1] * b;
        odd[j + 1] = __umulhi(a[j + 1], b);
    }
}

// odd = odd / 2^64 + (the odd limbs of x) * y + CC, where CC is the carry of
// even[0] + odd[1].
template <int N> CUZK_FN void shift_chain(u32 *odd, const u32 *x, u32 y) {
    CUZK_UNROLL
    for (int j = 0; j < N - 2; j += 2) {
        odd[j] = ptx::madc_lo_cc(x[j + 1], y, odd[j + 2]);
        odd[j + 1] = ptx::madc_hi_cc(x[j + 1], y, odd[j + 3]);
    }
    odd[N - 2] = ptx::madc_lo_cc(x[N - 1], y, 0);
    odd[N - 1] = ptx::madc_hi(x[N - 1], y, 0);
}

// even += (the even limbs of x) * y, and the carry out to odd.
template <int N> CUZK_FN void even_chain(u32 *even, u32 *odd, const u32 *x, u32 y) {
    mad_chain<N>(even, x, y);
    odd[N - 1] = ptx::addc(odd[N - 1], 0);
}

// The first row of a later step, which also does the shift.
template <int N> CUZK_FN void row_shift(u32 *even, u32 *odd, const u32 *a, u32 b) {
    even[0] = ptx::add_cc(even[0], odd[1]);
    shift_chain<N>(odd, a, b);
    even_chain<N>(even, odd, a, b);
}

// Another row. The odd chain has no carry out: T < 2^(32 N + 32).
template <int N> CUZK_FN void row_add(u32 *even, u32 *odd, const u32 *a, u32 b) {
    mad_chain<N>(odd, a + 1, b);
    even_chain<N>(even, odd, a, b);
}

// The m that makes the sum divisible.
template <class M> CUZK_FN u32 quotient_digit(u32 low) {
    if constexpr (M::INV32 == 0xffffffffu)
        return ptx::negated(low);
    else
        return low * M::INV32;
}

template <class M> CUZK_FN void row_reduce(u32 *even, u32 *odd, const u32 *mod) {
    constexpr int N = M::N;
    u32 m = quotient_digit<M>(even[0]);
    if constexpr (M::mod(0) == 1 && M::mod(1) == 0xffffffffu) {
        // Fr: -m = even[0] here, and m (2^32 - 1) = 2^32 m - m, so the two
        // lowest limbs of m M take no multiplication.
        u32 low = ptx::sub_cc(0, m), high = ptx::subc(m, 0);
        odd[0] = ptx::add_cc(odd[0], low);
        odd[1] = ptx::addc_cc(odd[1], high);
        mad_rest<N>(odd, mod + 1, m);
        even[0] = ptx::add_cc(even[0], m);
        even[1] = ptx::addc_cc(even[1], 0);
        mad_rest<N>(even, mod, m);
        odd[N - 1] = ptx::addc(odd[N - 1], 0);
    } else {
        row_add<N>(even, odd, mod, m);
    }
}

// A step with no other row than m M.
template <class M> CUZK_FN void reduce_shift(u32 *even, u32 *odd, const u32 *mod) {
    even[0] = ptx::add_cc(even[0], odd[1]);
    u32 m = quotient_digit<M>(even[0]); // leaves CC alone
    shift_chain<M::N>(odd, mod, m);
    even_chain<M::N>(even, odd, mod, m);
}

template <class M> CUZK_FN void load_modulus(u32 *mod) {
    CUZK_UNROLL
    for (int i = 0; i < M::N; i++)
        mod[i] = M::mod(i);
}

// r = even + odd / 2^32: the end, after a last step with swapped roles.
template <int N> CUZK_FN void join(u32 *r, const u32 *even, const u32 *odd) {
    r[0] = ptx::add_cc(even[0], odd[1]);
    CUZK_UNROLL
    for (int i = 1; i < N - 1; i++)
        r[i] = ptx::addc_cc(even[i], odd[i + 1]);
    r[N - 1] = ptx::addc(even[N - 1], 0);
}

// r = (a_0 b_0 + ... + a_(K-1) b_(K-1)) / 2^(32 N) mod M with one reduction,
// for factors up to M. T stays below (K + 1) M, which must fit 32 N bits.
template <class M, int K>
CUZK_FN void mul_mont_sum(u32 *r, const u32 *const (&a)[K], const u32 *const (&b)[K]) {
    constexpr int N = M::N;
    u32 even[N], odd[N], mod[N];
    load_modulus<M>(mod);
    CUZK_UNROLL
    for (int i = 0; i < N; i += 2) {
        if (i == 0)
            row_first<N>(even, odd, a[0], b[0][0]);
        else
            row_shift<N>(even, odd, a[0], b[0][i]);
        CUZK_UNROLL
        for (int k = 1; k < K; k++)
            row_add<N>(even, odd, a[k], b[k][i]);
        row_reduce<M>(even, odd, mod);
        row_shift<N>(odd, even, a[0], b[0][i + 1]);
        CUZK_UNROLL
        for (int k = 1; k < K; k++)
            row_add<N>(odd, even, a[k], b[k][i + 1]);
        row_reduce<M>(odd, even, mod);
    }
    join<N>(r, even, odd);
    CUZK_UNROLL
    for (int k = 0; k < K; k++)
        reduce_once<M>(r);
}

// r = a b / 2^(32 N) mod M for a < M and any b: T stays below a + M in the
// steps, and ends below 2M.
template <class M> CUZK_FN void mul_mont(u32 *r, const u32 *a, const u32 *b) {
    const u32 *const as[1] = {a}, *const bs[1] = {b};
    mul_mont_sum<M, 1>(r, as, bs);
}

// t[0..2N) = a^2. Each product of two different limbs is taken once: those at
// even and at odd positions go into separate accumulators, as above. Row i adds
// a[i] a[j] at position i + j for j > i; its highest place is still clear, but
// for the carry that the row before left there.
template <int N> CUZK_FN void square_wide(u32 *t, const u32 *a) {
    u32 acc[2][2 * N + 2]; // by parity of the position
    CUZK_UNROLL
    for (int i = 0; i < 2 * N + 2; i++)
        acc[0][i] = acc[1][i] = 0;
    CUZK_UNROLL
    for (int i = 0; i + 1 < N; i++) {
        CUZK_UNROLL
        for (int first = i + 1; first <= i + 2 && first < N; first++) {
            u32 *to = acc[(i + first) % 2];
            int j = first;
            to[i + j] = ptx::mad_lo_cc(a[i], a[j], to[i + j]);
            to[i + j + 1] = ptx::madc_hi_cc(a[i], a[j], to[i + j + 1]);
            CUZK_UNROLL
            for (j += 2; j < N; j += 2) {
                to[i + j] = ptx::madc_lo_cc(a[i], a[j], to[i + j]);
                to[i + j + 1] = ptx::madc_hi_cc(a[i], a[j], to[i + j + 1]);
            }
            to[i + j] = ptx::addc(to[i + j], 0);
        }
    }
    // t = 2 (even + odd), and the squares.
    t[0] = 0;
    t[1] = acc[1][1];
    t[2] = ptx::add_cc(acc[0][2], acc[1][2]);
    CUZK_UNROLL
    for (int i = 3; i < 2 * N - 1; i++)
        t[i] = ptx::addc_cc(acc[0][i], acc[1][i]);
    t[2 * N - 1] = ptx::addc(acc[0][2 * N - 1], acc[1][2 * N - 1]);
    t[1] = ptx::add_cc(t[1], t[1]);
    CUZK_UNROLL
    for (int i = 2; i < 2 * N - 1; i++)
        t[i] = ptx::addc_cc(t[i], t[i]);
    t[2 * N - 1] = ptx::addc(t[2 * N - 1], t[2 * N - 1]);
    t[0] = ptx::mad_lo_cc(a[0], a[0], t[0]);
    t[1] = ptx::madc_hi_cc(a[0], a[0], t[1]);
    CUZK_UNROLL
    for (int i = 1; i < N; i++) {
        t[2 * i] = ptx::madc_lo_cc(a[i], a[i], t[2 * i]);
        t[2 * i + 1] = ptx::madc_hi_cc(a[i], a[i], t[2 * i + 1]);
    }
}

// r = a^2 / 2^(32 N) mod M: the square, N steps of the reduction on its lower
// half, which leave at most M, and its upper half, which is below M.
template <class M> CUZK_FN void square_mont(u32 *r, const u32 *a) {
    constexpr int N = M::N;
    u32 even[2 * N], odd[N], mod[N];
    load_modulus<M>(mod);
    square_wide<N>(even, a);
    const u32 *high = even + N; // not touched by the steps
    CUZK_UNROLL
    for (int i = 0; i < N; i += 2) {
        if (i == 0) {
            u32 m = quotient_digit<M>(even[0]);
            CUZK_UNROLL
            for (int j = 0; j < N; j += 2) {
                odd[j] = mod[j + 1] * m;
                odd[j + 1] = __umulhi(mod[j + 1], m);
            }
            even_chain<N>(even, odd, mod, m);
        } else {
            reduce_shift<M>(even, odd, mod);
        }
        reduce_shift<M>(odd, even, mod);
    }
    join<N>(r, even, odd);
    r[0] = ptx::add_cc(r[0], high[0]);
    CUZK_UNROLL
    for (int i = 1; i < N - 1; i++)
        r[i] = ptx::addc_cc(r[i], high[i]);
    r[N - 1] = ptx::addc(r[N - 1], high[N - 1]);
    reduce_once<M>(r);
}
