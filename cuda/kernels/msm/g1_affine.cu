// Bucket sums of G1 by affine additions. Three blocks of 128 threads on an SM, as
// in g1_accumulate.cu. Products are not inlined: with them the passes and the
// inversion would be more code than the instruction caches hold (on an H200,
// 318 ms instead of 277 for 805 M additions).
#include "msm/affine.cuh"

namespace cuzk {

CUZK_KERNEL(cuzk_msm_g1_affine, AccumulateAffineArgs<G1>, 128, 3) {
    accumulate_affine<G1>(a);
}

} // namespace cuzk
