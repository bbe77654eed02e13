// MSM kernels of G1 other than the accumulation. msm/bucket.cuh says what they
// compute. Two XYZZ points are live at a time, 96 registers; two blocks of 128
// threads on an SM leave a thread the 255 that there are at the most. merge_levels
// is one block. Not tuned: together they take a small part of a sum.
#include "msm/bucket.cuh"

namespace cuzk {

constexpr u32 SUM_THREADS = 128;

CUZK_KERNEL(cuzk_msm_g1_merge, MergeArgs<G1>, 128, 2) {
    merge<G1>(a);
}
CUZK_KERNEL(cuzk_msm_g1_merge_levels, MergeArgs<G1>, 128, 1) {
    merge_levels<G1>(a);
}
CUZK_KERNEL(cuzk_msm_g1_reduce, ReduceArgs<G1>, 128, 2) {
    reduce<G1>(a);
}
CUZK_KERNEL(cuzk_msm_g1_sum, SumArgs<G1>, SUM_THREADS, 2) {
    CUZK_SHARED(XYZZ<Fp>, half, SUM_THREADS / 2);
    sum_points<G1>(a, half);
}

} // namespace cuzk
