// The two hot loops of G1, mixed additions of gathered points. Three blocks of
// 128 threads on an SM leave a thread 168 registers. The loop is bound by 32-bit
// multiply-adds, about 2,700 wide ones for each addition. Products are not
// inlined: they would be more code than the instruction caches hold (on an H200,
// 7.0 ms instead of 6.4 for the 17 M additions of 2^20 scalars, and 888 ms
// instead of 751 for 2^27 scalars in tiles).
#include "msm/bucket.cuh"
#include "sums/ones.cuh"

namespace cuzk {

CUZK_KERNEL(cuzk_msm_g1_accumulate, AccumulateArgs<G1>, 128, 3) {
    accumulate<G1>(a);
}
CUZK_KERNEL(cuzk_sums_g1_ones, OnesArgs<G1>, ONES_THREADS, 3) {
    CUZK_SHARED(u32, positions, ONES_BATCH);
    CUZK_SHARED(XYZZ<Fp>, half, ONES_THREADS / 2);
    CUZK_SHARED(u32, scratch, WARP + 1);
    sum_ones<G1>(a, positions, half, scratch);
}

} // namespace cuzk
