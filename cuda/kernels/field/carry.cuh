// Multi-limb arithmetic on u32 limbs, least significant first: sums and
// differences modulo M, Montgomery products, squares and sums of products. On
// the GPU carry chains in PTX; on the host 64-bit limbs. The two give the same
// bits, since results are fully reduced.
#pragma once

#include "common/platform.cuh"
#if CUZK_ON_DEVICE
#include "field/ptx.cuh"
#endif

namespace cuzk {

#if CUZK_ON_DEVICE
#include "field/chains.cuh"
#else
#include "field/portable.cuh"
#endif

} // namespace cuzk
