// The CUDA C++ built-ins for kernels compiled by g++ and run by cudasim. Included by cuda/kernels/common/platform.cuh
// where nvcc is not the compiler; CONTRACT.md says what a kernel may rely on.
//
// Memory accesses need no wrapper: the build instruments every load and store of a kernel (instrument.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cudasim/vector.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#ifndef __restrict__
#define __restrict__ __restrict
#endif

#define CUDASIM_HIDDEN __attribute__((visibility("hidden")))
// The instrumentation does not see inside these; they call check_access themselves.
#define CUDASIM_UNCHECKED __attribute__((no_sanitize("kernel-address"), noinline))

namespace cudasim {

// Where a CUZK_SHARED array lies in the current block's shared memory; valid while `block` is the running block's number.
struct SharedSite {
    uint64_t block;
    void *memory;
};

// Access kinds of check_access.
enum class Access : uint32_t { read = 1, write = 2, atomic = 3 };

CUDASIM_HIDDEN void *shared_static(SharedSite *site, size_t bytes, size_t align);
CUDASIM_HIDDEN void *shared_dynamic(size_t align);
CUDASIM_HIDDEN void check_access(const void *p, size_t bytes, Access kind);
CUDASIM_HIDDEN void *checked_memcpy(void *to, const void *from, size_t bytes);
CUDASIM_HIDDEN void *checked_memset(void *to, int value, size_t bytes);

CUDASIM_HIDDEN void block_barrier();
// block_reduce returns the number of threads of the block for which predicate holds.
CUDASIM_HIDDEN uint32_t block_count(bool predicate);
CUDASIM_HIDDEN void warp_barrier(uint32_t mask);
// warp_exchange publishes 16 bytes of this lane, waits for the lanes of mask, and returns the 32 lanes' values
// (those outside mask are unspecified). The result is valid until this lane's next warp function.
CUDASIM_HIDDEN const unsigned char (*warp_exchange(uint32_t mask, const void *value, size_t bytes))[16];
CUDASIM_HIDDEN uint32_t lane_index();
CUDASIM_HIDDEN uint32_t live_lanes();
CUDASIM_HIDDEN void bad_lane(const char *what, uint32_t mask);

using Invoke = void (*)(void **params);
CUDASIM_HIDDEN void register_kernel(const char *name, Invoke invoke, const size_t *sizes, const size_t *aligns, size_t count,
                                    uint32_t max_threads);

template <typename F> struct Entry;
template <typename... A> struct Entry<void (*)(A...)> {
    template <void (*kernel)(A...), size_t... I> static void call(void **params, std::index_sequence<I...>) {
        (void)params;
        kernel(*static_cast<std::remove_cv_t<A> *>(params[I])...);
    }
    template <void (*kernel)(A...)> static void invoke(void **params) {
        call<kernel>(params, std::index_sequence_for<A...>{});
    }
    template <void (*kernel)(A...)> static bool add(const char *name, uint32_t max_threads = 1024) {
        static_assert((std::is_trivially_copyable_v<A> && ...), "kernel parameters are copied as bytes");
        static const size_t sizes[] = {sizeof(A)..., 0};
        static const size_t aligns[] = {alignof(A)..., 0};
        register_kernel(name, &invoke<kernel>, sizes, aligns, sizeof...(A), max_threads);
        return true;
    }
};

} // namespace cudasim

#define CUDASIM_PASTE_(a, b) a##b
#define CUDASIM_PASTE(a, b) CUDASIM_PASTE_(a, b)
#define CUDASIM_STRING_(...) #__VA_ARGS__
#define CUDASIM_STRING(...) CUDASIM_STRING_(__VA_ARGS__)
#define CUDASIM_REGISTER_1(name)                                                                                       \
    static const bool CUDASIM_PASTE(cudasim_registered_, name) =                                                       \
        ::cudasim::Entry<decltype(&name)>::template add<&name>(CUDASIM_STRING(name));
#define CUDASIM_REGISTER_2(name, threads)                                                                              \
    static const bool CUDASIM_PASTE(cudasim_registered_, name) =                                                       \
        ::cudasim::Entry<decltype(&name)>::template add<&name>(CUDASIM_STRING(name), threads);
#define CUDASIM_PICK(a, b, chosen, ...) chosen
#define CUZK_KERNEL(...) CUDASIM_PICK(__VA_ARGS__, CUDASIM_REGISTER_2, CUDASIM_REGISTER_1, )(__VA_ARGS__)

#define CUZK_SHARED(T, name, n)                                                                                        \
    static ::cudasim::SharedSite cudasim_site_##name;                                                                  \
    T(&name)[n] = *reinterpret_cast<T(*)[n]>(::cudasim::shared_static(&cudasim_site_##name, sizeof(T) * (n), alignof(T)))
#define CUZK_SHARED_DYNAMIC(T, name) T *name = reinterpret_cast<T *>(::cudasim::shared_dynamic(alignof(T)))

// ---- geometry: set by the executor whenever it resumes a thread ----

extern CUDASIM_HIDDEN uint3 threadIdx;
extern CUDASIM_HIDDEN uint3 blockIdx;
extern CUDASIM_HIDDEN dim3 blockDim;
extern CUDASIM_HIDDEN dim3 gridDim;
constexpr int warpSize = 32;

// ---- barriers ----

inline void __syncthreads() { ::cudasim::block_barrier(); }
inline int __syncthreads_count(int p) { return int(::cudasim::block_count(p != 0)); }
inline int __syncthreads_or(int p) { return ::cudasim::block_count(p != 0) != 0; }
inline int __syncthreads_and(int p) { return ::cudasim::block_count(p == 0) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { ::cudasim::warp_barrier(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

#include "cudasim/warp.h"
#include "cudasim/atomics.h"
#include "cudasim/bits.h"

// ---- loads and stores with cache hints: plain ones here ----

template <typename T> inline T __ldg(const T *p) { return *p; }
template <typename T> inline T __ldcg(const T *p) { return *p; }
template <typename T> inline T __ldcs(const T *p) { return *p; }
template <typename T> inline T __ldca(const T *p) { return *p; }
template <typename T> inline T __ldcv(const T *p) { return *p; }
template <typename T> inline void __stcg(T *p, T v) { *p = v; }
template <typename T> inline void __stcs(T *p, T v) { *p = v; }
template <typename T> inline void __stwb(T *p, T v) { *p = v; }
template <typename T> inline void __stwt(T *p, T v) { *p = v; }

// An expanded memcpy escapes the instrumentation, so kernel code gets the checked one.
#define memcpy(to, from, bytes) ::cudasim::checked_memcpy(to, from, bytes)
#define memset(to, value, bytes) ::cudasim::checked_memset(to, value, bytes)
