// MSM kernels of G2. msm/bucket.cuh says what they compute. One XYZZ point takes 96
// registers: two blocks of 128 threads on an SM leave a thread the 255 that there
// are at the most, and what is live beside two points spills. The sum of points
// has blocks of 64 threads, half as many as in G1, whose points are half as large.
// Products are not inlined, as in g1_accumulate.cu. The geometry was not tuned.
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
    CUZK_SHARED(u32, positions, ONES_BATCH);
    CUZK_SHARED(XYZZ<Fp2>, half, ONES_THREADS / 2);
    CUZK_SHARED(u32, scratch, WARP + 1);
    sum_ones<G2>(a, positions, half, scratch);
}

} // namespace cuzk
