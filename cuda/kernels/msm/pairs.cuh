// The pairs of an MSM: one for each scalar and window with a nonzero digit d. The
// bucket is (window - first_window) 2^(c-1) + |d| - 1, the
// value is the point's position, with the digit's sign in bit 31.
#pragma once

#include "msm/digits.cuh"

namespace cuzk {

struct SortArgs {
    const Fr *scalars; // scalars[n], Montgomery
    // positions[n]: where the points are, NONE to leave one out; null: point i is at i.
    const u32 *positions;
    u32 *counts;        // counts[windows << (c - 1)]: histogram adds to them; cursors for scatter
    u32 *sorted;        // the values, by bucket: written by scatter
    u32 k[DIGIT_LIMBS]; // digits.cuh
    u32 n, c, first_window, windows;
    u32 pad;
};

// The pairs of scalar i, one window after the other. Every lane steps through
// all windows; the bucket is NONE in a window without a pair.
struct Pairs {
    Digits digits;
    u32 position, c, window, first, end;
    u32 bucket, value;

    CUZK_FN Pairs(const SortArgs &a, u64 i) : digits(scalar(a, i), a.k) {
        position = i >= a.n ? NONE : a.positions ? constant_load(a.positions, i) : (u32)i;
        c = a.c;
        window = 0;
        first = a.first_window;
        end = a.first_window + a.windows;
        for (; window < first; window++)
            digits.next(c);
    }

    CUZK_FN bool next() {
        if (window == end)
            return false;
        int d = digits.next(c);
        u32 magnitude = d < 0 ? (u32)-d : (u32)d;
        bucket = position == NONE || d == 0 ? NONE : ((window - first) << (c - 1)) + magnitude - 1;
        value = position | (d < 0 ? 0x80000000u : 0);
        window++;
        return true;
    }

  private:
    CUZK_FN static Fr scalar(const SortArgs &a, u64 i) {
        return i < a.n ? constant_load(a.scalars, i) : Fr::zero();
    }
};

} // namespace cuzk
