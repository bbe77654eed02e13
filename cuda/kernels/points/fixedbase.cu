// out[i] = [s_i] B for one base B, affine: for makers of parameter sets.
//
// Windows have 8 bits: table[w][d - 1] = [d 2^(8 w)] B for w < 32, 0 < d < 256,
// so a multiple takes at most 32 mixed additions. The sums are left in XYZZ, and a
// second kernel makes them affine with one inversion for many points
// (Montgomery's trick).
//
// Two blocks of 128 threads on an SM leave a thread the 255 registers that there
// are at the most: in G1 multiples take 168 and conversion 128, in G2 255 and 248,
// where the multiples spill 104 bytes (nvcc -Xptxas -v, sm_90). Not tuned: proofs
// do not run these kernels.
#include "curve/groups.cuh"
#include "field/fr.cuh"

namespace cuzk {

constexpr u32 FIXED_ENTRIES = 255;

template <class G> struct FixedBaseArgs {
    const Affine<typename G::F> *table; // table[32 * FIXED_ENTRIES]
    const Fr *scalars;                  // scalars[n], Montgomery
    XYZZ<typename G::F> *out;           // out[n]
    u32 n;
    u32 pad;
};

// One thread for each scalar.
template <class G> CUZK_FN void fixed_base(const FixedBaseArgs<G> &a) {
    typedef typename G::F F;
    u64 i = global_thread();
    if (i >= a.n)
        return;
    Fr s = constant_load(a.scalars, i).from_montgomery();
    XYZZ<F> sum = XYZZ<F>::infinity();
    CUZK_NO_UNROLL
    for (u32 w = 0; w < 4 * FrConstants::N; w++) {
        u32 digit = s.limb[0] & 0xff;
        CUZK_UNROLL
        for (int k = 0; k + 1 < FrConstants::N; k++)
            s.limb[k] = s.limb[k] >> 8 | s.limb[k + 1] << 24;
        s.limb[FrConstants::N - 1] >>= 8;
        if (digit != 0)
            sum.add(constant_load(a.table, w * FIXED_ENTRIES + digit - 1));
    }
    global_store(a.out, i, sum);
}

CUZK_KERNEL(cuzk_fixed_g1_multiply, FixedBaseArgs<G1>, 128, 2) {
    fixed_base<G1>(a);
}
CUZK_KERNEL(cuzk_fixed_g2_multiply, FixedBaseArgs<G2>, 128, 2) {
    fixed_base<G2>(a);
}

template <class G> struct ToAffineArgs {
    const XYZZ<typename G::F> *in; // in[n]
    Affine<typename G::F> *out;    // out[n]
    typename G::F *products;       // products[n]: scratch
    u32 n;
    u32 pad;
};

// Thread t of T converts points t, t + T, t + 2 T, .... The product of their ZZZ is
// inverted once; on the way back each inverse is split off it.
// 1 / ZZ = (ZZ / ZZZ)^2.
template <class G> CUZK_FN void to_affine(const ToAffineArgs<G> &a) {
    typedef typename G::F F;
    u64 first = global_thread(), step = global_threads();
    if (first >= a.n)
        return;
    F product = F::one();
    u64 i = first;
    CUZK_NO_UNROLL
    for (; i < a.n; i += step) {
        global_store(a.products, i, product);
        XYZZ<F> p = constant_load(a.in, i);
        if (!p.is_infinity())
            product = product * p.zzz;
    }
    F inverse = F::inverse(product);
    CUZK_NO_UNROLL
    while (i > first) {
        i -= step;
        XYZZ<F> p = constant_load(a.in, i);
        Affine<F> r = Affine<F>::infinity();
        if (!p.is_infinity()) {
            F own = inverse * global_load(a.products, i), z = p.zz * own;
            inverse = inverse * p.zzz;
            r = {p.x * z.squared(), p.y * own};
        }
        global_store(a.out, i, r);
    }
}

CUZK_KERNEL(cuzk_points_g1_affine, ToAffineArgs<G1>, 128, 2) {
    to_affine<G1>(a);
}
CUZK_KERNEL(cuzk_points_g2_affine, ToAffineArgs<G2>, 128, 2) {
    to_affine<G2>(a);
}

} // namespace cuzk
