// Transforms of 2, 4 or 8 elements in the registers of a thread.
//
// With w of order 8 and I = w^2, the products by w and w^3 of the odd half,
//   w u + w^3 v  and  I (w u - w^3 v) = w^3 u + w v,
// are S (u + v) +- D (u - v) with S = (w + w^3) / 2 and D = (w - w^3) / 2: two
// products instead of three, so four for 8 elements.
// Source: Winograd, "On Computing the Discrete Fourier Transform", Math. Comp.
// 32, 1978.
#pragma once

#include "field/fr.cuh"

namespace cuzk {

struct Eighths {
    Fr quarter, sum, difference; // I, S, D
};

// (x + y, x - y).
CUZK_FN void butterfly(Fr &x, Fr &y) {
    Fr sum = x + y;
    y = x - y;
    x = sum;
}

// The same, not reduced: both results, or only y, which is multiplied next.
CUZK_FN void loose_butterfly(Fr &x, Fr &y) {
    Fr sum = Fr::loose_sum(x, y);
    y = Fr::loose_difference(x, y);
    x = sum;
}
CUZK_FN void half_loose_butterfly(Fr &x, Fr &y) {
    Fr sum = x + y;
    y = Fr::loose_difference(x, y);
    x = sum;
}

// (S (u + v) + D (u - v), S (u + v) - D (u - v)).
CUZK_FN void odd_pair(Fr &u, Fr &v, const Eighths &w) {
    loose_butterfly(u, v);
    u = w.sum * u;
    v = w.difference * v;
    butterfly(u, v);
}

// 8 >> bits transforms, each of 1 << bits neighbouring elements, from natural to
// bit-reversed order. The results are below 2r, not reduced.
CUZK_FN void dft_dif(Fr (&x)[8], u32 bits, const Eighths &w) {
    if (bits == 3) {
        butterfly(x[0], x[4]);
        butterfly(x[1], x[5]);
        half_loose_butterfly(x[2], x[6]);
        butterfly(x[3], x[7]);
    }
    if (bits >= 2) {
        butterfly(x[0], x[2]);
        half_loose_butterfly(x[1], x[3]);
        x[3] = w.quarter * x[3];
    }
    if (bits == 3) {
        x[6] = w.quarter * x[6];
        butterfly(x[4], x[6]);
        odd_pair(x[5], x[7], w);
    } else if (bits == 2) {
        butterfly(x[4], x[6]);
        half_loose_butterfly(x[5], x[7]);
        x[7] = w.quarter * x[7];
    }
    CUZK_UNROLL
    for (u32 k = 0; k < 8; k += 2)
        loose_butterfly(x[k], x[k + 1]);
}

// The same from bit-reversed to natural order.
CUZK_FN void dft_dit(Fr (&x)[8], u32 bits, const Eighths &w) {
    butterfly(x[0], x[1]);
    half_loose_butterfly(x[2], x[3]);
    butterfly(x[4], x[5]);
    butterfly(x[6], x[7]);
    if (bits >= 2) {
        x[3] = w.quarter * x[3];
        butterfly(x[0], x[2]);
        butterfly(x[1], x[3]);
    }
    if (bits == 3) {
        half_loose_butterfly(x[4], x[6]);
        x[6] = w.quarter * x[6];
        odd_pair(x[5], x[7], w);
        CUZK_UNROLL
        for (u32 k = 0; k < 4; k++)
            loose_butterfly(x[k], x[k + 4]);
    } else if (bits == 2) {
        x[7] = w.quarter * x[7];
        butterfly(x[4], x[6]);
        butterfly(x[5], x[7]);
    }
}

} // namespace cuzk
