// Inverses modulo M without branches on the data, by division steps.
// Source: Bernstein, Yang, "Fast constant-time gcd computation and modular
// inversion", TCHES 2019(3), with the starting delta of 1/2 (Wuille, 2021), for
// which (45907 bits + 26313) / 19929 steps are enough: 878 and 588.
//
// A step maps (delta, f, g), f odd, to
//   (1 - delta, g, (g - f) / 2)        if delta > 0 and g is odd,
//   (1 + delta, f, (g + (g mod 2) f) / 2)  otherwise,
// and ends with g = 0 and f = 1 or -1. STEPS of them depend on as many low bits
// only: they are done on one word, and leave a matrix that is then applied to
// f and g, and modulo M to d and e, with x d = f and x e = g up to a constant
// factor. All four are in two's complement.
#pragma once

#include "field/carry.cuh"

namespace cuzk {

constexpr u32 STEPS = 30; // entries of the matrix are at most 2^30 in magnitude

// theta is delta - 1/2. (f, g) 2^STEPS = the new ones = (u f + v g, q f + r g).
struct StepMatrix {
    int u, v, q, r;

    CUZK_FN StepMatrix(int &theta, u32 f, u32 g) {
        u32 u0 = 1, v0 = 0, q0 = 0, r0 = 1;
        CUZK_UNROLL_10
        for (u32 i = 0; i < STEPS; i++) {
            u32 odd = 0u - (g & 1);
            u32 swap = theta >= 0 ? odd : 0;
            theta = (int)((u32)theta ^ swap) + 1; // -theta = ~theta + 1
            // (f, g) to (g, -f), or not; then g + f if g was odd.
            exchange(f, g, swap);
            exchange(u0, q0, swap);
            exchange(v0, r0, swap);
            g = (g + (f & odd)) >> 1;
            q0 += u0 & odd;
            r0 += v0 & odd;
            u0 <<= 1;
            v0 <<= 1;
        }
        u = (int)u0, v = (int)v0, q = (int)q0, r = (int)r0;
    }

  private:
    CUZK_FN static void exchange(u32 &x, u32 &y, u32 swap) {
        u32 old = x;
        x = swap ? y : x;
        y = swap ? 0u - old : y;
    }
};

// r = (a u + b v) / 2^STEPS, which is an integer.
template <int N> CUZK_FN void step_integers(u32 *r, const u32 *a, int u, const u32 *b, int v) {
    u32 t[N + 1];
    combine<N>(t, a, (u32)u, b, (u32)v);
    CUZK_UNROLL
    for (int i = 0; i < N; i++)
        r[i] = t[i] >> STEPS | t[i + 1] << (32 - STEPS);
}

// r = (a u + b v) / 2^32 mod M, between -M and M, as a and b are: the two
// parts of the sum are at most M / 4 and M / 2 in magnitude.
template <class M> CUZK_FN void step_residues(u32 *r, const u32 *a, int u, const u32 *b, int v) {
    u32 t[M::N + 1];
    combine<M::N>(t, a, (u32)u, b, (u32)v);
    reduce_word<M>(r, t);
}

// r = x^-1 2^(64 N) mod M, the inverse in Montgomery form; 0 for 0.
template <class M> CUZK_FN void invert_mont(u32 *r, const u32 *x) {
    constexpr int N = M::N;
    u32 f[N], g[N], d[N], e[N];
    CUZK_UNROLL
    for (int i = 0; i < N; i++) {
        f[i] = M::mod(i);
        g[i] = x[i];
        d[i] = 0;
        e[i] = M::inversion_start(i);
    }
    int theta = 0;
    CUZK_NO_UNROLL
    for (int round = 0; round < M::INVERSION_ROUNDS; round++) {
        StepMatrix t(theta, f[0], g[0]);
        u32 next[N];
        step_integers<N>(next, f, t.u, g, t.v);
        step_integers<N>(g, f, t.q, g, t.r);
        CUZK_UNROLL
        for (int i = 0; i < N; i++)
            f[i] = next[i];
        step_residues<M>(next, d, t.u, e, t.v);
        step_residues<M>(e, d, t.q, e, t.r);
        CUZK_UNROLL
        for (int i = 0; i < N; i++)
            d[i] = next[i];
    }
    // x d = f, which is 1 or -1, and d is between -M and M.
    u32 zero[N], flip = 0u - (f[N - 1] >> 31);
    u32 below = 0u - (d[N - 1] >> 31), carry = 0;
    CUZK_UNROLL
    for (int i = 0; i < N; i++) {
        u64 sum = (u64)d[i] + (M::mod(i) & below) + carry;
        r[i] = (u32)sum;
        carry = (u32)(sum >> 32);
        zero[i] = 0;
    }
    if (flip)
        sub_mod<M>(r, zero, r);
}

} // namespace cuzk
