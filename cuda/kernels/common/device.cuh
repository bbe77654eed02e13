// platform.cuh on the GPU. Included by it only.
#pragma once

#define CUZK_FN __device__ __forceinline__
#define CUZK_CALL __device__ __noinline__
#define CUZK_CONSTEXPR __host__ __device__ constexpr
#define CUZK_UNROLL _Pragma("unroll")
#define CUZK_UNROLL_10 _Pragma("unroll 10")
#define CUZK_NO_UNROLL _Pragma("unroll 1")

// CUZK_KERNEL(name, argument struct, threads of a block, blocks of an SM) { body }
// The body sees its arguments as `a`.
#define CUZK_KERNEL(name, args, threads, blocks)                                                             \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const args a)

// `count` elements of shared memory, 16-byte aligned, at function scope.
#define CUZK_SHARED(type, name, count)                                                                       \
    __shared__ alignas(16) unsigned char name##_bytes[sizeof(type) * (count)];                               \
    type *const name = reinterpret_cast<type *>(name##_bytes)

namespace cuzk {

CUZK_FN u32 thread_x() {
    return threadIdx.x;
}
CUZK_FN u32 block_threads() {
    return blockDim.x;
}
CUZK_FN u32 block_x() {
    return blockIdx.x;
}
CUZK_FN u32 block_y() {
    return blockIdx.y;
}
CUZK_FN u32 grid_x() {
    return gridDim.x;
}

CUZK_FN void block_barrier() {
    __syncthreads();
}

// All 32 lanes of the warp call these together.
CUZK_FN u32 warp_shuffle(u32 v, u32 from_lane) {
    return __shfl_sync(0xffffffffu, v, from_lane);
}
CUZK_FN u32 warp_ballot(bool p) {
    return __ballot_sync(0xffffffffu, p);
}

// Orders what the warp's lanes do with shared memory; all 32 call.
CUZK_FN void warp_barrier() {
    __syncwarp();
}

CUZK_FN u32 popcount32(u32 v) {
    return __popc(v);
}
CUZK_FN u32 reverse32(u32 v) {
    return __brev(v);
}
CUZK_FN u32 swap_bytes32(u32 v) {
    return __byte_perm(v, 0, 0x0123);
}
// The index of the lowest set bit; v is not 0.
CUZK_FN u32 lowest_bit(u32 v) {
    return __ffs(v) - 1;
}

// Global memory. Elements whose size is a multiple of 16 bytes are aligned to
// 16 and move in 16-byte accesses.
template <class T> CUZK_FN T global_load(const T *p, u64 i) {
    if constexpr (sizeof(T) % 16 == 0) {
        T v;
        const uint4 *from = reinterpret_cast<const uint4 *>(p + i);
        uint4 *to = reinterpret_cast<uint4 *>(&v);
#pragma unroll
        for (int k = 0; k < (int)(sizeof(T) / 16); k++)
            to[k] = from[k];
        return v;
    } else {
        return p[i];
    }
}

// As global_load, for data that no thread of the same launch writes.
template <class T> CUZK_FN T constant_load(const T *p, u64 i) {
    if constexpr (sizeof(T) % 16 == 0) {
        T v;
        const uint4 *from = reinterpret_cast<const uint4 *>(p + i);
        uint4 *to = reinterpret_cast<uint4 *>(&v);
#pragma unroll
        for (int k = 0; k < (int)(sizeof(T) / 16); k++)
            to[k] = __ldg(from + k);
        return v;
    } else {
        return __ldg(p + i);
    }
}

template <class T> CUZK_FN void global_store(T *p, u64 i, const T &v) {
    if constexpr (sizeof(T) % 16 == 0) {
        uint4 *to = reinterpret_cast<uint4 *>(p + i);
        const uint4 *from = reinterpret_cast<const uint4 *>(&v);
#pragma unroll
        for (int k = 0; k < (int)(sizeof(T) / 16); k++)
            to[k] = from[k];
    } else {
        p[i] = v;
    }
}

// Atomics return the value before the operation.
CUZK_FN u32 global_atomic_add(u32 *p, u64 i, u32 v) {
    return atomicAdd(p + i, v);
}
CUZK_FN u32 global_atomic_min(u32 *p, u64 i, u32 v) {
    return atomicMin(p + i, v);
}
CUZK_FN u32 global_atomic_or(u32 *p, u64 i, u32 v) {
    return atomicOr(p + i, v);
}
CUZK_FN u32 shared_atomic_add(u32 *p, u32 i, u32 v) {
    return atomicAdd(p + i, v);
}

} // namespace cuzk
