// Powers of the primitive 2m-th root of unity g, m = 2^k, in two levels:
// g^e = low[e mod 2^split] * high[e >> split] for e < 2m. Both tables are 32
// bytes * sqrt(2m) or so, and stay in the L2.
#pragma once

#include "field/fr.cuh"

namespace cuzk {

struct Twiddles {
    const Fr *low;  // low[2^split]
    const Fr *high; // high[2^(k + 1 - split)]
    u32 split;
    u32 pad;

    CUZK_FN Fr power(u32 e) const {
        Fr l = constant_load(low, e & ((1u << split) - 1));
        u32 top = e >> split;
        return top == 0 ? l : l * constant_load(high, top);
    }
};

} // namespace cuzk
