// Bucket sums of G1 by affine additions. Products are calls: inlined, the passes
// and the inversion are more code than the instruction caches hold (measured on
// an H200: 318 ms instead of 277 for 805 M additions).
#include "msm/affine.cuh"

namespace cuzk {

CUZK_KERNEL(cuzk_msm_g1_affine, AffineArgs<G1>, 128, 3) {
    accumulate_affine<G1>(a);
}

} // namespace cuzk
