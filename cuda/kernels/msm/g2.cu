// MSM kernels of G2. msm/bucket.cuh says what they compute. One XYZZ point is
// 96 registers, so blocks are small and products are calls.
#include "msm/bucket.cuh"
#include "sums/ones.cuh"

namespace cuzk {

constexpr u32 SUM_THREADS = 64;

CUZK_KERNEL(cuzk_msm_g2_accumulate, AccumulateArgs<G2>, 128, 2) {
    accumulate<G2>(a);
}
CUZK_KERNEL(cuzk_msm_g2_merge, MergeArgs<G2>, 128, 2) {
    merge<G2>(a);
}
CUZK_KERNEL(cuzk_msm_g2_merge_levels, MergeArgs<G2>, 128, 1) {
    merge_levels<G2>(a);
}
CUZK_KERNEL(cuzk_msm_g2_reduce, ReduceArgs<G2>, 128, 2) {
    reduce<G2>(a);
}
CUZK_KERNEL(cuzk_msm_g2_sum, SumArgs<G2>, SUM_THREADS, 2) {
    CUZK_SHARED(XYZZ<Fp2>, half, SUM_THREADS / 2);
    sum_points<G2>(a, half);
}
CUZK_KERNEL(cuzk_sums_g2_ones, OnesArgs<G2>, ONES_THREADS, 2) {
    CUZK_SHARED(u32, list, ONES_TILE);
    CUZK_SHARED(XYZZ<Fp2>, half, ONES_THREADS / 2);
    CUZK_SHARED(u32, scratch, WARP + 1);
    sum_ones<G2>(a, list, half, scratch);
}

} // namespace cuzk
