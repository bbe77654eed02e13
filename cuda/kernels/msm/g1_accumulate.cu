// The two hot loops of G1, mixed additions of gathered points, with products
// inlined. 128 registers a thread leave four blocks of 128 threads on an SM;
// the loop is bound by 32-bit multiply-adds (about 10 products of 288 an
// addition).
#define CUZK_INLINE_PRODUCTS
#include "msm/bucket.cuh"
#include "sums/ones.cuh"

namespace cuzk {

CUZK_KERNEL(cuzk_msm_g1_accumulate, AccumulateArgs<G1>, 128, 4) { accumulate<G1>(a); }
CUZK_KERNEL(cuzk_sums_g1_ones, OnesArgs<G1>, ONES_THREADS, 4) {
    CUZK_SHARED(u32, list, ONES_TILE);
    CUZK_SHARED(XYZZ<Fp>, half, ONES_THREADS / 2);
    CUZK_SHARED(u32, scratch, WARP + 1);
    sum_ones<G1>(a, list, half, scratch);
}

} // namespace cuzk
