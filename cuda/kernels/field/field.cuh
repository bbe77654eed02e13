// A prime field in Montgomery form, fully reduced where nothing else is said.
#pragma once

#include "field/inverse.cuh"

// A source file that defines CUZK_INLINE_PRODUCTS before its first include gets
// field products inlined. Otherwise a product is a call, which keeps code within
// the instruction caches and compile time short.
#ifdef CUZK_INLINE_PRODUCTS
#define CUZK_PRODUCT CUZK_FN
#else
#define CUZK_PRODUCT CUZK_CALL
#endif

namespace cuzk {

// M: constants of the field. N u32 limbs; mod(i), one(i) = 2^(32 N) mod M and
// radix2(i) = 2^(64 N) mod M limb by limb; SPARE M < 2^(32 N); INV32, INV64 = -1/M mod 2^32, 2^64;
// INVERSION_ROUNDS of 30 steps invert.
template <class M> struct alignas(16) Field {
    u32 limb[M::N];

    CUZK_FN static Field zero() {
        Field r;
        CUZK_UNROLL
        for (int i = 0; i < M::N; i++)
            r.limb[i] = 0;
        return r;
    }
    CUZK_FN static Field one() {
        Field r;
        CUZK_UNROLL
        for (int i = 0; i < M::N; i++)
            r.limb[i] = M::one(i);
        return r;
    }

    CUZK_FN bool is_zero() const {
        u32 any = 0;
        CUZK_UNROLL
        for (int i = 0; i < M::N; i++)
            any |= limb[i];
        return any == 0;
    }
    CUZK_FN bool operator==(const Field &b) const {
        u32 any = 0;
        CUZK_UNROLL
        for (int i = 0; i < M::N; i++)
            any |= limb[i] ^ b.limb[i];
        return any == 0;
    }

    // Whether the limbs are below the modulus; false only for outside data.
    CUZK_FN bool is_reduced() const {
        for (int i = M::N - 1; i > 0; i--)
            if (limb[i] != M::mod(i))
                return limb[i] < M::mod(i);
        return limb[0] < M::mod(0);
    }

    CUZK_FN Field operator+(const Field &b) const {
        Field r;
        add_mod<M>(r.limb, limb, b.limb);
        return r;
    }
    CUZK_FN Field operator-(const Field &b) const {
        Field r;
        sub_mod<M>(r.limb, limb, b.limb);
        return r;
    }
    CUZK_FN Field operator-() const { return zero() - *this; }
    CUZK_FN Field doubled() const { return *this + *this; }
    CUZK_FN Field operator*(const Field &b) const { return product(*this, b); }
    CUZK_FN Field squared() const { return square(*this); }

    // Loose numbers are below 2^(32 N), not reduced. A product takes one as its
    // second factor, so that a sum or difference that is only multiplied needs
    // no reduction of its own: these are a + b and M + a - b, below 2M.
    CUZK_FN static Field loose_sum(const Field &a, const Field &b) {
        Field r;
        add_loose<M>(r.limb, a.limb, b.limb);
        return r;
    }
    CUZK_FN static Field loose_difference(const Field &a, const Field &b) {
        Field r;
        sub_loose<M>(r.limb, a.limb, b.limb);
        return r;
    }
    // The number itself, where it is below 2M.
    CUZK_FN Field reduced() const {
        Field r = *this;
        reduce_once<M>(r.limb);
        return r;
    }

    // a b + c d and a b - c d, with one reduction.
    CUZK_FN static Field sum_of_products(const Field &a, const Field &b, const Field &c, const Field &d) {
        return product_sum(a, b, c, d);
    }
    CUZK_FN static Field difference_of_products(const Field &a, const Field &b, const Field &c,
                                                const Field &d) {
        return product_sum(a, b, -c, d);
    }

    // x * 2^(32 N) and x / 2^(32 N): into Montgomery form and out of it.
    CUZK_FN Field to_montgomery() const {
        Field f;
        CUZK_UNROLL
        for (int i = 0; i < M::N; i++)
            f.limb[i] = M::radix2(i);
        return *this * f;
    }
    CUZK_FN Field from_montgomery() const {
        Field f = zero();
        f.limb[0] = 1;
        return *this * f;
    }

    // 1/x; 0 for 0.
    CUZK_CALL static Field inverse(Field x) {
        Field r;
        Inversion<M>::invert(r.limb, x.limb);
        return r;
    }

  private:
    CUZK_PRODUCT static Field product(Field a, Field b) {
        Field r;
        mul_mont<M>(r.limb, a.limb, b.limb);
        return r;
    }
    CUZK_PRODUCT static Field square(Field a) {
        Field r;
        square_mont<M>(r.limb, a.limb);
        return r;
    }
    CUZK_PRODUCT static Field product_sum(Field a, Field b, Field c, Field d) {
        static_assert(M::SPARE >= 3, "3 M must fit the limbs");
        Field r;
        const u32 *const x[2] = {a.limb, c.limb}, *const y[2] = {b.limb, d.limb};
        mul_mont_sum<M, 2>(r.limb, x, y);
        return r;
    }
};

} // namespace cuzk
