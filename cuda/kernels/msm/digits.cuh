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

struct Digits {
    u32 limb[DIGIT_LIMBS];

    // s in Montgomery form; k is the constant K.
    CUZK_FN Digits(const Fr &s, const u32 *k) {
        Fr plain = s.from_montgomery();
        u64 carry = 0;
        CUZK_UNROLL
        for (int i = 0; i < DIGIT_LIMBS; i++) {
            carry += (u64)(i < FrConstants::N ? plain.limb[i] : 0) + k[i];
            limb[i] = (u32)carry;
            carry >>= 32;
        }
    }

    // The lowest window's digit, and then a shift down by one window.
    CUZK_FN int next(u32 c) {
        int digit = (int)(limb[0] & ((1u << c) - 1)) - (int)(1u << (c - 1));
        CUZK_UNROLL
        for (int i = 0; i + 1 < DIGIT_LIMBS; i++) // two words a shift: the GPU has one instruction for it
            limb[i] = (u32)(((u64)limb[i + 1] << 32 | limb[i]) >> c);
        limb[DIGIT_LIMBS - 1] >>= c;
        return digit;
    }
};

} // namespace cuzk
