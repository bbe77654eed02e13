// Powers of the primitive 2m-th root of unity g, m = 2^k, in two tables: for
// e < m, g^e = low[e mod 2^split] * high[(e >> split) 2^spread]; and
// g^(e + m) = -g^e. All domains share `high`, the first half of the powers of the
// root of order 2^(LOG_HIGH + 1): 8 MiB, which stay in the L2. So split is
// k - LOG_HIGH where that is positive, and spread LOG_HIGH - k.
#pragma once

#include "field/fr.cuh"

namespace cuzk {

constexpr u32 LOG_HIGH = 18;

struct Twiddles {
    const Fr *low;  // low[2^split]
    const Fr *high; // high[2^LOG_HIGH]
    u32 log_size;   // k
    u32 split, spread;
    u32 pad;
};

// x or -x, for an x that is not 0.
CUZK_FN Fr with_sign(const Fr &x, bool negative) {
    Fr minus = Fr::loose_difference(Fr::zero(), x), r;
    CUZK_UNROLL
    for (int i = 0; i < FrConstants::N; i++)
        r.limb[i] = negative ? minus.limb[i] : x.limb[i];
    return r;
}

} // namespace cuzk
