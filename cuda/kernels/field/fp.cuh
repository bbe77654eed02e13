// Fp, the base field of BLS12-381: integers modulo p, 381 bits; and
// Fp2 = Fp[i] / (i^2 + 1).
#pragma once

#include "field/field.cuh"

namespace cuzk {

struct FpConstants {
    static constexpr int N = 12;
    static constexpr int SPARE = 9;
    static constexpr int INVERSION_ROUNDS = 30;
    static constexpr u32 INV32 = 0xfffcfffdu;
    static constexpr u64 INV64 = 0x89f3fffcfffcfffdull;
    CUZK_CONSTEXPR static u32 mod(int i) {
        constexpr u32 c[N] = {0xffffaaab, 0xb9feffff, 0xb153ffff, 0x1eabfffe, 0xf6b0f624, 0x6730d2a0,
                              0xf38512bf, 0x64774b84, 0x434bacd7, 0x4b1ba7b6, 0x397fe69a, 0x1a0111ea};
        return c[i];
    }
    CUZK_CONSTEXPR static u32 one(int i) {
        constexpr u32 c[N] = {0x0002fffd, 0x76090000, 0xc40c0002, 0xebf4000b, 0x53c758ba, 0x5f489857,
                              0x70525745, 0x77ce5853, 0xa256ec6d, 0x5c071a97, 0xfa80e493, 0x15f65ec3};
        return c[i];
    }
    CUZK_CONSTEXPR static u32 radix2(int i) {
        constexpr u32 c[N] = {0x1c341746, 0xf4df1f34, 0x09d104f1, 0x0a76e6a6, 0x4c95b6d5, 0x8de5476c,
                              0x939d83c0, 0x67eb88a9, 0xb519952d, 0x9a793e85, 0x92cae3aa, 0x11988fe5};
        return c[i];
    }
};

typedef Field<FpConstants> Fp;

struct alignas(16) Fp2 {
    Fp c0, c1; // c0 + c1 i

    CUZK_FN static Fp2 zero() { return {Fp::zero(), Fp::zero()}; }
    CUZK_FN static Fp2 one() { return {Fp::one(), Fp::zero()}; }
    CUZK_FN bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
    CUZK_FN bool is_reduced() const { return c0.is_reduced() && c1.is_reduced(); }
    CUZK_FN bool operator==(const Fp2 &b) const { return c0 == b.c0 && c1 == b.c1; }
    CUZK_FN Fp2 operator+(const Fp2 &b) const { return {c0 + b.c0, c1 + b.c1}; }
    CUZK_FN Fp2 operator-(const Fp2 &b) const { return {c0 - b.c0, c1 - b.c1}; }
    CUZK_FN Fp2 operator-() const { return {-c0, -c1}; }
    CUZK_FN Fp2 doubled() const { return {c0.doubled(), c1.doubled()}; }

    // Four products with two reductions: as many multiply-adds as Karatsuba's
    // three products, and fewer additions.
    CUZK_FN Fp2 operator*(const Fp2 &b) const {
        return {Fp::difference_of_products(c0, b.c0, c1, b.c1), Fp::sum_of_products(c0, b.c1, c1, b.c0)};
    }
    // (c0 + c1)(c0 - c1) + 2 c0 c1 i: two products.
    CUZK_FN Fp2 squared() const { return {(c0 + c1) * (c0 - c1), (c0 * c1).doubled()}; }
    CUZK_FN static Fp2 difference_of_products(const Fp2 &a, const Fp2 &b, const Fp2 &c, const Fp2 &d) {
        return a * b - c * d;
    }

    CUZK_FN Fp2 to_montgomery() const { return {c0.to_montgomery(), c1.to_montgomery()}; }

    // (c0 - c1 i) / (c0^2 + c1^2); 0 for 0.
    CUZK_FN static Fp2 inverse(const Fp2 &x) {
        Fp n = Fp::inverse(x.c0.squared() + x.c1.squared());
        return {x.c0 * n, -(x.c1 * n)};
    }
};

} // namespace cuzk
