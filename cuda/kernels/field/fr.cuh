// Fr, the scalar field of BLS12-381: integers modulo r, 255 bits.
#pragma once

#include "field/field.cuh"

namespace cuzk {

struct FrConstants {
    static constexpr int N = 8;
    static constexpr int SPARE = 2;
    static constexpr int INVERSION_ROUNDS = 20;
    static constexpr u32 INV32 = 0xffffffffu;
    static constexpr u64 INV64 = 0xfffffffeffffffffull;
    CUZK_CONSTEXPR static u32 mod(int i) {
        constexpr u32 c[N] = {0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402,
                              0x09a1d805, 0x3339d808, 0x299d7d48, 0x73eda753};
        return c[i];
    }
    CUZK_CONSTEXPR static u32 one(int i) {
        constexpr u32 c[N] = {0xfffffffe, 0x00000001, 0x00034802, 0x5884b7fa,
                              0xecbc4ff5, 0x998c4fef, 0xacc5056f, 0x1824b159};
        return c[i];
    }
    CUZK_CONSTEXPR static u32 radix2(int i) {
        constexpr u32 c[N] = {0xf3f29c6d, 0xc999e990, 0x87925c23, 0x2b6cedcb,
                              0x7254398f, 0x05d31496, 0x9f59ff11, 0x0748d9d9};
        return c[i];
    }
};

typedef Field<FrConstants> Fr;

} // namespace cuzk
