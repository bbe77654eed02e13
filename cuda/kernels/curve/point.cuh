// Points of y^2 = x^3 + b over F (Fp for G1, Fp2 for G2): affine, and XYZZ
// coordinates (X, Y, ZZ, ZZZ) with x = X / ZZ, y = Y / ZZZ, ZZ^3 = ZZZ^2.
// The groups' curves have odd order, so y is never 0 and no finite point is
// its own negative. Every sum is right for every pair of operands.
#pragma once

#include "common/platform.cuh"

namespace cuzk {

// Infinity is (0, 0), which is not on the curve.
template <class F> struct alignas(16) Affine {
    F x, y;

    CUZK_FN static Affine infinity() { return {F::zero(), F::zero()}; }
    CUZK_FN bool is_infinity() const { return x.is_zero() && y.is_zero(); }
    CUZK_FN Affine operator-() const { return {x, -y}; }
};

// Infinity has ZZ = 0.
template <class F> struct alignas(16) XYZZ {
    F x, y, zz, zzz;

    CUZK_FN static XYZZ infinity() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }
    CUZK_FN bool is_infinity() const { return zz.is_zero(); }
    CUZK_FN static XYZZ from(const Affine<F> &p) {
        if (p.is_infinity())
            return infinity();
        return {p.x, p.y, F::one(), F::one()};
    }

    // 2 P for affine P other than infinity: 4M + 3S.
    // Source: EFD, short Weierstrass, XYZZ, mdbl-2008-s-1, a = 0.
    CUZK_FN static XYZZ doubled(const Affine<F> &p) {
        F u = p.y.doubled(), v = u.squared(), w = u * v;
        F s = p.x * v, m = p.x.squared();
        m = m.doubled() + m;
        F x3 = m.squared() - s.doubled();
        F y3 = F::difference_of_products(m, s - x3, w, p.y);
        return {x3, y3, v, w};
    }

    // 2 P: 6M + 3S. Infinity gives infinity, since its ZZ is 0.
    // Source: EFD, short Weierstrass, XYZZ, dbl-2008-s-1, a = 0.
    CUZK_FN XYZZ doubled() const {
        F u = y.doubled(), v = u.squared(), w = u * v;
        F s = x * v, m = x.squared();
        m = m.doubled() + m;
        F x3 = m.squared() - s.doubled();
        F y3 = F::difference_of_products(m, s - x3, w, y);
        return {x3, y3, v * zz, w * zzz};
    }

    // this + Q for affine Q: 8M + 2S.
    // Source: EFD, short Weierstrass, XYZZ, madd-2008-s.
    CUZK_FN void add(const Affine<F> &q) {
        if (q.is_infinity())
            return;
        if (is_infinity()) {
            *this = from(q);
            return;
        }
        F p = q.x * zz - x, r = q.y * zzz - y;
        if (p.is_zero()) { // the same x: Q or -Q
            *this = r.is_zero() ? doubled(q) : infinity();
            return;
        }
        finish(p, r, x, y);
    }

    // this + Q: 12M + 2S.
    // Source: EFD, short Weierstrass, XYZZ, add-2008-s.
    CUZK_FN void add(const XYZZ &q) {
        if (q.is_infinity())
            return;
        if (is_infinity()) {
            *this = q;
            return;
        }
        F u1 = x * q.zz, s1 = y * q.zzz;
        F p = q.x * zz - u1, r = q.y * zzz - s1;
        if (p.is_zero()) {
            *this = r.is_zero() ? doubled() : infinity();
            return;
        }
        zz = zz * q.zz;
        zzz = zzz * q.zzz;
        finish(p, r, u1, s1);
    }

    // k P by double and add, from the top bit down.
    CUZK_FN XYZZ times(u32 k) const {
        XYZZ r = infinity();
        CUZK_NO_UNROLL
        for (u32 bit = 0x80000000u; bit != 0; bit >>= 1) {
            if (bit <= k)
                r = r.doubled();
            if (k & bit)
                r.add(*this);
        }
        return r;
    }

  private:
    // The common end of both sums: u and s are the first operand's x and y over the
    // common denominator, which zz and zzz hold.
    CUZK_FN void finish(const F &p, const F &r, const F &u, const F &s) {
        F pp = p.squared(), ppp = p * pp, q = u * pp;
        F x3 = r.squared() - ppp - q.doubled();
        y = F::difference_of_products(r, q - x3, s, ppp);
        x = x3;
        zz = zz * pp;
        zzz = zzz * ppp;
    }
};

} // namespace cuzk
