// Inverses modulo M without branches on the data, by division steps.
// Source: Bernstein, Yang, "Fast constant-time gcd computation and modular
// inversion", TCHES 2019(3), with the starting delta of 1/2 (Wuille, 2021), for
// which (45907 bits + 26313) / 19929 steps are enough: 878 and 588.
//
// A step maps (delta, f, g), f odd, to
//   (1 - delta, g, (g - f) / 2)        if delta > 0 and g is odd,
//   (1 + delta, f, (g + (g mod 2) f) / 2)  otherwise,
// and ends with g = 0 and f = 1 or -1. STEPS steps depend on the STEPS low bits of
// f and g alone: they are done on one word, and leave a matrix that is then applied
// to f and g, and modulo M to d and e, where x d = f and x e = g but for the radix.
// Numbers are in limbs of STEPS bits, so that dividing by 2^STEPS drops a limb,
// and sums of two products fit 64 bits with their signs.
#pragma once

#include "field/carry.cuh"

namespace cuzk {

constexpr u32 STEPS = 30;
constexpr u32 STEP_MASK = (1u << STEPS) - 1;

// The new (f, g) are (u f + v g, q f + r g) / 2^STEPS; |u| + |v| and |q| + |r| are at
// most 2^STEPS. theta is delta - 1/2.
struct StepMatrix {
    int u, v, q, r;

    CUZK_FN StepMatrix(int &theta, u32 f, u32 g) {
        u32 u0 = 1, v0 = 0, q0 = 0, r0 = 1;
        CUZK_UNROLL_10
        for (u32 i = 0; i < STEPS; i++) {
            u32 odd = 0u - (g & 1);
            u32 swap = theta >= 0 ? odd : 0;
            theta = (int)((u32)theta ^ swap) + 1; // -theta = ~theta + 1
            // (f, g) to (g, -f), or not; then g + f if g was odd.
            exchange(f, g, swap);
            exchange(u0, q0, swap);
            exchange(v0, r0, swap);
            g = (g + (f & odd)) >> 1;
            q0 += u0 & odd;
            r0 += v0 & odd;
            u0 <<= 1;
            v0 <<= 1;
        }
        u = (int)u0, v = (int)v0, q = (int)q0, r = (int)r0;
    }

  private:
    CUZK_FN static void exchange(u32 &x, u32 &y, u32 swap) {
        u32 old = x;
        x = swap ? y : x;
        y = swap ? 0u - old : y;
    }
};

template <class M> class Inversion {
    static constexpr int N = M::N, LIMBS = (32 * N + STEPS - 1) / STEPS;

    // The highest limb has the sign, the others are not negative.
    int f[LIMBS], g[LIMBS], d[LIMBS], e[LIMBS];

    CUZK_FN static u32 modulus(int i) { return i < N ? M::mod(i) : 0; }
    CUZK_FN static u32 radix2(int i) { return i < N ? M::radix2(i) : 0; }
    // Limb i of the number whose 32-bit words are low and high at bit STEPS i.
    CUZK_FN static int limb(u32 low, u32 high, int i) {
        u32 shift = STEPS * i % 32;
        return (int)((low >> shift | (shift > 0 ? high << (32 - shift) : 0)) & STEP_MASK);
    }
    CUZK_FN static int word(int i) { return STEPS * i / 32; }
    CUZK_FN static int modulus_limb(int i) { return limb(modulus(word(i)), modulus(word(i) + 1), i); }

    // x and y become (u x + v y) / 2^STEPS and (q x + r y) / 2^STEPS, integers.
    CUZK_FN static void apply(const StepMatrix &t, int *x, int *y) {
        int64_t a = (int64_t)t.u * x[0] + (int64_t)t.v * y[0];
        int64_t b = (int64_t)t.q * x[0] + (int64_t)t.r * y[0];
        CUZK_UNROLL
        for (int i = 1; i < LIMBS; i++) {
            a = (a >> STEPS) + (int64_t)t.u * x[i] + (int64_t)t.v * y[i];
            b = (b >> STEPS) + (int64_t)t.q * x[i] + (int64_t)t.r * y[i];
            x[i - 1] = (int)((u32)a & STEP_MASK);
            y[i - 1] = (int)((u32)b & STEP_MASK);
        }
        x[LIMBS - 1] = (int)(a >> STEPS);
        y[LIMBS - 1] = (int)(b >> STEPS);
    }

    // The same modulo M, for x and y between -2M and M; the results are too. M is
    // added to what is negative, which leaves a sum of at most 2^STEPS M in
    // magnitude. Then less than 2^STEPS M is subtracted to make it divisible.
    CUZK_FN static void apply_modulo(const StepMatrix &t, int *x, int *y) {
        int below_x = x[LIMBS - 1] >> 31, below_y = y[LIMBS - 1] >> 31;
        int64_t a = (int64_t)t.u * x[0] + (int64_t)t.v * y[0];
        int64_t b = (int64_t)t.q * x[0] + (int64_t)t.r * y[0];
        int m = multiple((t.u & below_x) + (t.v & below_y), a),
            n = multiple((t.q & below_x) + (t.r & below_y), b);
        a += (int64_t)m * modulus_limb(0);
        b += (int64_t)n * modulus_limb(0);
        CUZK_UNROLL
        for (int i = 1; i < LIMBS; i++) {
            a = (a >> STEPS) + (int64_t)t.u * x[i] + (int64_t)t.v * y[i] + (int64_t)m * modulus_limb(i);
            b = (b >> STEPS) + (int64_t)t.q * x[i] + (int64_t)t.r * y[i] + (int64_t)n * modulus_limb(i);
            x[i - 1] = (int)((u32)a & STEP_MASK);
            y[i - 1] = (int)((u32)b & STEP_MASK);
        }
        x[LIMBS - 1] = (int)(a >> STEPS);
        y[LIMBS - 1] = (int)(b >> STEPS);
    }
    // The largest number up to m that, times M, ends like -low in STEPS bits.
    CUZK_FN static int multiple(int m, int64_t low) {
        return m - (int)(((u32)m - M::INV32 * (u32)low) & STEP_MASK);
    }

    // d = sign d + M where `add` has all bits set, else sign d.
    CUZK_FN void adjust(int sign, int add) {
        int carry = 0;
        CUZK_UNROLL
        for (int i = 0; i < LIMBS; i++) {
            carry += sign * d[i] + (modulus_limb(i) & add);
            d[i] = i + 1 < LIMBS ? (int)((u32)carry & STEP_MASK) : carry;
            carry >>= STEPS;
        }
    }

  public:
    // r = x^-1 2^(64 N) mod M, the inverse in Montgomery form; 0 for 0.
    CUZK_FN static void invert(u32 *r, const u32 *x) {
        Inversion s;
        CUZK_UNROLL
        for (int i = 0; i < LIMBS; i++) {
            int w = word(i);
            s.f[i] = modulus_limb(i);
            s.g[i] = limb(x[w], w + 1 < N ? x[w + 1] : 0, i);
            s.d[i] = 0;
            s.e[i] = limb(radix2(w), radix2(w + 1), i);
        }
        int theta = 0;
        CUZK_NO_UNROLL
        for (int round = 0; round < M::INVERSION_ROUNDS; round++) {
            StepMatrix t(theta, (u32)s.f[0], (u32)s.g[0]);
            apply(t, s.f, s.g);
            apply_modulo(t, s.d, s.e);
        }
        // x d = f, which is 1 or -1.
        s.adjust(1, s.d[LIMBS - 1] >> 31);
        s.adjust(s.f[LIMBS - 1] >> 31 | 1, 0);
        s.adjust(1, s.d[LIMBS - 1] >> 31);
        CUZK_UNROLL
        for (int w = 0; w < N; w++) {
            // The limb in which bit 32 w lies, and the one after it: the shift is at
            // most 2 (N - 1), so that both have 32 bits.
            int i = 32 * w / STEPS;
            u32 shift = 32 * w % STEPS;
            static_assert(2 * (N - 1) <= 2 * STEPS - 32, "two limbs a word");
            u32 v = (u32)s.d[i] >> shift;
            if (i + 1 < LIMBS)
                v |= (u32)s.d[i + 1] << (STEPS - shift);
            r[w] = v;
        }
    }
};

} // namespace cuzk
