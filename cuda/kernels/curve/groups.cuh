// G1: y^2 = x^3 + 4 over Fp. G2: y^2 = x^3 + 4 (1 + i) over Fp2.
#pragma once

#include "curve/point.cuh"
#include "field/fp.cuh"

namespace cuzk {

struct G1 {
    typedef Fp F;
    CUZK_FN static F b() {
        F one = F::one(), two = one.doubled();
        return two.doubled();
    }
};

struct G2 {
    typedef Fp2 F;
    CUZK_FN static F b() { return {G1::b(), G1::b()}; }
};

} // namespace cuzk
