// Multi-limb arithmetic on u32 limbs, least significant first: sums and
// differences modulo M, Montgomery products, squares and sums of products. The GPU
// runs carry chains in PTX, the host uses 64-bit limbs. Both give the same bits,
// since results are fully reduced.
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
