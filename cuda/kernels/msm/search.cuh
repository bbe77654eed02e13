// Which bucket a sorted pair belongs to.
#pragma once

#include "common/platform.cuh"

namespace cuzk {

// The largest b in [low, n) with offsets[b] <= e, for offsets[low] <= e.
CUZK_FN u32 bucket_of(const u32 *offsets, u32 low, u32 n, u32 e) {
    u32 high = n;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (constant_load(offsets, middle) <= e)
            low = middle;
        else
            high = middle;
    }
    return low;
}

} // namespace cuzk
