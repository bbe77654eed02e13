// Multi-limb arithmetic on u32 limbs, least significant first: sums and
// differences modulo M, and the Montgomery product. On the GPU carry chains in
// PTX; on the host 64-bit limbs. The two give the same bits.
#pragma once

#include "common/platform.cuh"

namespace cuzk {

#if CUZK_ON_DEVICE

// One PTX instruction each. CC is the carry flag: an instruction whose name
// ends in _cc sets it, one that begins with addc, subc or madc reads it. They
// are volatile, so their order is kept.
namespace ptx {
CUZK_FN u32 add_cc(u32 a, u32 b) {
    u32 r;
    asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 addc_cc(u32 a, u32 b) {
    u32 r;
    asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 addc(u32 a, u32 b) {
    u32 r;
    asm volatile("addc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 sub_cc(u32 a, u32 b) {
    u32 r;
    asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 subc_cc(u32 a, u32 b) {
    u32 r;
    asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 subc(u32 a, u32 b) {
    u32 r;
    asm volatile("subc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 mad_lo_cc(u32 a, u32 b, u32 c) {
    u32 r;
    asm volatile("mad.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
CUZK_FN u32 madc_lo_cc(u32 a, u32 b, u32 c) {
    u32 r;
    asm volatile("madc.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
CUZK_FN u32 madc_hi_cc(u32 a, u32 b, u32 c) {
    u32 r;
    asm volatile("madc.hi.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
CUZK_FN u32 madc_hi(u32 a, u32 b, u32 c) {
    u32 r;
    asm volatile("madc.hi.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
} // namespace ptx

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


// acc[j], acc[j+1] += lo, hi of x[j] * y for j = 0, 2, ..., one carry chain.
// The carry out is left in CC.
template <int N> CUZK_FN void mad_chain(u32 *acc, const u32 *x, u32 y) {
    acc[0] = ptx::mad_lo_cc(x[0], y, acc[0]);
    acc[1] = ptx::madc_hi_cc(x[0], y, acc[1]);
    CUZK_UNROLL
    for (int j = 2; j < N; j += 2) {
        acc[j] = ptx::madc_lo_cc(x[j], y, acc[j]);
        acc[j + 1] = ptx::madc_hi_cc(x[j], y, acc[j + 1]);
    }
}

// One step of mul_mont: T = (T + a * b + m * M) / 2^32 where the sum T is
// even + 2^32 * odd. On return the roles are swapped: T = odd + even / 2^32,
// even[0] being 0.
template <class M, bool FIRST>
CUZK_FN void mont_step(u32 *even, u32 *odd, const u32 *a, u32 b, const u32 *mod) {
    constexpr int N = M::N;
    if (FIRST) {
        CUZK_UNROLL
        for (int j = 0; j < N; j += 2) {
            even[j] = a[j] * b;
            even[j + 1] = __umulhi(a[j], b);
            odd[j] = a[j + 1] * b;
            odd[j + 1] = __umulhi(a[j + 1], b);
        }
    } else {
        // Here odd is the even chain of the step before: shift it down by two
        // limbs while multiplying, and give its limb 1 to the new even[0].
        even[0] = ptx::add_cc(even[0], odd[1]);
        CUZK_UNROLL
        for (int j = 0; j < N - 2; j += 2) {
            odd[j] = ptx::madc_lo_cc(a[j + 1], b, odd[j + 2]);
            odd[j + 1] = ptx::madc_hi_cc(a[j + 1], b, odd[j + 3]);
        }
        odd[N - 2] = ptx::madc_lo_cc(a[N - 1], b, 0);
        odd[N - 1] = ptx::madc_hi(a[N - 1], b, 0);
        mad_chain<N>(even, a, b);
        odd[N - 1] = ptx::addc(odd[N - 1], 0);
    }
    u32 m = even[0] * M::INV32;
    mad_chain<N>(odd, mod + 1, m); // no carry out: T < 2^(32 N + 32)
    mad_chain<N>(even, mod, m);
    odd[N - 1] = ptx::addc(odd[N - 1], 0);
}

// r = a * b / 2^(32 N) mod M, for a, b < M. M < 2^(32 N - 1).
// Source: Koc, Acar, Kaliski, "Analyzing and Comparing Montgomery
// Multiplication Algorithms", IEEE Micro 16(3), 1996 (operand scanning,
// interleaved). The products with even and with odd limbs go into separate
// accumulators, so that each is one chain of 64-bit multiply-adds.
template <class M> CUZK_FN void mul_mont(u32 *r, const u32 *a, const u32 *b) {
    constexpr int N = M::N;
    u32 even[N], odd[N], mod[N];
    CUZK_UNROLL
    for (int i = 0; i < N; i++)
        mod[i] = M::mod(i);
    mont_step<M, true>(even, odd, a, b[0], mod);
    mont_step<M, false>(odd, even, a, b[1], mod);
    CUZK_UNROLL
    for (int i = 2; i < N; i += 2) {
        mont_step<M, false>(even, odd, a, b[i], mod);
        mont_step<M, false>(odd, even, a, b[i + 1], mod);
    }
    r[0] = ptx::add_cc(even[0], odd[1]);
    CUZK_UNROLL
    for (int i = 1; i < N - 1; i++)
        r[i] = ptx::addc_cc(even[i], odd[i + 1]);
    r[N - 1] = ptx::addc(even[N - 1], 0);
    reduce_once<M>(r);
}

#else // host

typedef unsigned __int128 u128;

template <class M> inline void get64(u64 *x, const u32 *a) { memcpy(x, a, 4 * M::N); }
template <class M> inline void put64(u32 *r, const u64 *x) { memcpy(r, x, 4 * M::N); }
template <class M> constexpr u64 mod64(int i) { return (u64)M::mod(2 * i) | (u64)M::mod(2 * i + 1) << 32; }

template <class M> inline void reduce_once64(u64 *x) {
    constexpr int N = M::N / 2;
    u64 t[N];
    u128 borrow = 0;
    for (int i = 0; i < N; i++) {
        u128 d = (u128)x[i] - mod64<M>(i) - (u64)borrow;
        t[i] = (u64)d;
        borrow = d >> 64 & 1;
    }
    if (!borrow)
        memcpy(x, t, sizeof(t));
}

template <class M> inline void reduce_once(u32 *r) {
    u64 x[M::N / 2];
    get64<M>(x, r);
    reduce_once64<M>(x);
    put64<M>(r, x);
}

template <class M> inline void add_mod(u32 *r, const u32 *a, const u32 *b) {
    constexpr int N = M::N / 2;
    u64 x[N], y[N];
    get64<M>(x, a);
    get64<M>(y, b);
    u128 carry = 0;
    for (int i = 0; i < N; i++) {
        carry += (u128)x[i] + y[i];
        x[i] = (u64)carry;
        carry >>= 64;
    }
    reduce_once64<M>(x);
    put64<M>(r, x);
}

template <class M> inline void sub_mod(u32 *r, const u32 *a, const u32 *b) {
    constexpr int N = M::N / 2;
    u64 x[N], y[N];
    get64<M>(x, a);
    get64<M>(y, b);
    u64 borrow = 0;
    for (int i = 0; i < N; i++) {
        u128 d = (u128)x[i] - y[i] - borrow;
        x[i] = (u64)d;
        borrow = (u64)(d >> 64) & 1;
    }
    u64 mask = 0 - borrow;
    u128 carry = 0;
    for (int i = 0; i < N; i++) {
        carry += (u128)x[i] + (mod64<M>(i) & mask);
        x[i] = (u64)carry;
        carry >>= 64;
    }
    put64<M>(r, x);
}

// Source: as for the GPU version; here with 64-bit limbs. The top bit of M is
// clear, so the running sum fits N limbs (the carries of both chains add up
// without overflow).
template <class M> inline void mul_mont(u32 *r, const u32 *a, const u32 *b) {
    constexpr int N = M::N / 2;
    u64 x[N], y[N], t[N] = {};
    get64<M>(x, a);
    get64<M>(y, b);
    for (int i = 0; i < N; i++) {
        u128 c = (u128)x[0] * y[i] + t[0];
        u64 m = (u64)c * M::INV64;
        u128 d = (u128)m * mod64<M>(0) + (u64)c;
        for (int j = 1; j < N; j++) {
            c = (u128)x[j] * y[i] + t[j] + (u64)(c >> 64);
            d = (u128)m * mod64<M>(j) + (u64)c + (u64)(d >> 64);
            t[j - 1] = (u64)d;
        }
        t[N - 1] = (u64)(c >> 64) + (u64)(d >> 64);
    }
    reduce_once64<M>(t);
    put64<M>(r, t);
}

#endif

} // namespace cuzk
