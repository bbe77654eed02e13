// Bucket sums of G1 by affine additions, with products inlined.
#define CUZK_INLINE_PRODUCTS
#include "msm/affine.cuh"

namespace cuzk {

CUZK_KERNEL(cuzk_msm_g1_affine, AffineArgs<G1>, 128, 3) {
    accumulate_affine<G1>(a);
}

} // namespace cuzk
