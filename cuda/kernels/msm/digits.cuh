// Signed windows of a scalar, each found without the ones below it.
//
// With W windows of c bits, c W >= 256, and K = sum over w of 2^(c w + c - 1),
// s + K has windows v_w, and d_w = v_w - 2^(c-1) in [-2^(c-1), 2^(c-1) - 1] are
// signed digits of s: s = sum d_w 2^(c w). As s < 2^255, s + K < 2^(c W): the
// top window does not overflow. A zero scalar has only zero digits.
#pragma once

#include "field/fr.cuh"

namespace cuzk {

constexpr int DIGIT_LIMBS = 9; // c <= 32 - 1 and c W < 256 + c <= 287 bits

// s / 2^256 mod r, for s in Montgomery form: adding a multiple of r makes one word
// of s after the other zero (P. L. Montgomery, "Modular multiplication
// without trial division", Mathematics of Computation 44, 1985). As s < r, the
// result (s + m r) / 2^256 with m < 2^256 is below r. A product by 1 would take
// twice as many multiplications.
CUZK_FN void plain_scalar(u32 *t, const Fr &s) {
    constexpr int N = FrConstants::N;
    CUZK_UNROLL
    for (int i = 0; i < N; i++)
        t[i] = s.limb[i];
    CUZK_UNROLL
    for (int i = 0; i < N; i++) {
        u32 m = t[0] * FrConstants::INV32;
        u64 sum = (u64)m * FrConstants::mod(0) + t[0]; // its low word is zero
        CUZK_UNROLL
        for (int j = 1; j < N; j++) {
            sum = (sum >> 32) + (u64)m * FrConstants::mod(j) + t[j];
            t[j - 1] = (u32)sum;
        }
        t[N - 1] = (u32)(sum >> 32);
    }
}

struct Digits {
    u32 limb[DIGIT_LIMBS];

    // s in Montgomery form; k is the constant K.
    CUZK_FN Digits(const Fr &s, const u32 *k) {
        u32 plain[FrConstants::N];
        plain_scalar(plain, s);
        u64 carry = 0;
        CUZK_UNROLL
        for (int i = 0; i < DIGIT_LIMBS; i++) {
            carry += (u64)(i < FrConstants::N ? plain[i] : 0) + k[i];
            limb[i] = (u32)carry;
            carry >>= 32;
        }
    }

    // Returns the lowest window's digit, and shifts down by one window.
    CUZK_FN int next(u32 c) {
        int digit = (int)(limb[0] & ((1u << c) - 1)) - (int)(1u << (c - 1));
        CUZK_UNROLL
        for (int i = 0; i + 1 < DIGIT_LIMBS; i++) // the GPU shifts two words by one instruction
            limb[i] = (u32)(((u64)limb[i + 1] << 32 | limb[i]) >> c);
        limb[DIGIT_LIMBS - 1] >>= c;
        return digit;
    }
};

} // namespace cuzk
