// platform.cuh compiled by g++ for tests/cudasim, which defines the cuzk_sim_*
// functions. Included by platform.cuh only. README.md states the contract.
#pragma once

#include <string.h>

#define CUZK_FN inline
#define CUZK_CALL inline
#define CUZK_CONSTEXPR constexpr
#define CUZK_UNROLL
#define CUZK_UNROLL_10
#define CUZK_NO_UNROLL

extern "C" {

// Where the running fibre is. Blocks are one-dimensional, grids have x and y.
struct cuzk_sim_position {
    u32 thread_x, block_threads, block_x, block_y, grid_x, grid_y;
};

// One kernel of the registry, filled in by CUZK_KERNEL before main.
struct cuzk_sim_kernel {
    const char *name;
    void (*run)(const void *args); // one thread; args is the argument struct
    size_t args_bytes;
    u32 max_threads; // the launch bound
};

enum cuzk_sim_mode { CUZK_SIM_READ = 0, CUZK_SIM_WRITE = 1, CUZK_SIM_ATOMIC = 2 };

void cuzk_sim_register(const struct cuzk_sim_kernel *kernel);
const struct cuzk_sim_position *cuzk_sim_self(void);

// Waits for all threads of the block that have not returned.
void cuzk_sim_barrier(void);
// Exchange among the 32 lanes of a warp; all 32 call.
u32 cuzk_sim_shuffle(u32 v, u32 from_lane);
u32 cuzk_sim_ballot(int predicate);
// The block's shared memory for one declaration, the same for all its threads,
// 16-byte aligned. `key` is unique to the declaration.
void *cuzk_sim_shared(const void *key, size_t bytes);
// Called before every access to global memory.
void cuzk_sim_access(const void *address, size_t bytes, int mode);
}

#define CUZK_KERNEL(name, args, threads, blocks)                                                             \
    static void name##_body(const args &a);                                                                  \
    extern "C" void name(const void *a) {                                                                    \
        name##_body(*static_cast<const args *>(a));                                                          \
    }                                                                                                        \
    static const cuzk_sim_kernel name##_entry = {#name, name, sizeof(args), threads};                        \
    __attribute__((constructor)) static void name##_register() {                                             \
        cuzk_sim_register(&name##_entry);                                                                    \
    }                                                                                                        \
    static void name##_body(const args &a)

#define CUZK_SHARED(type, name, count)                                                                       \
    static char name##_key;                                                                                  \
    type *const name = static_cast<type *>(cuzk_sim_shared(&name##_key, sizeof(type) * (count)))

namespace cuzk {

inline u32 thread_x() {
    return cuzk_sim_self()->thread_x;
}
inline u32 block_threads() {
    return cuzk_sim_self()->block_threads;
}
inline u32 block_x() {
    return cuzk_sim_self()->block_x;
}
inline u32 block_y() {
    return cuzk_sim_self()->block_y;
}
inline u32 grid_x() {
    return cuzk_sim_self()->grid_x;
}

inline void block_barrier() {
    cuzk_sim_barrier();
}
inline u32 warp_shuffle(u32 v, u32 from_lane) {
    return cuzk_sim_shuffle(v, from_lane);
}
inline u32 warp_ballot(bool p) {
    return cuzk_sim_ballot(p);
}

// An exchange separates the accesses of a warp's lanes.
inline void warp_barrier() {
    cuzk_sim_ballot(1);
}

inline u32 popcount32(u32 v) {
    return (u32)__builtin_popcount(v);
}
inline u32 swap_bytes32(u32 v) {
    return __builtin_bswap32(v);
}
inline u32 lowest_bit(u32 v) {
    return (u32)__builtin_ctz(v);
}
inline u32 reverse32(u32 v) {
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}

template <class T> inline T global_load(const T *p, u64 i) {
    cuzk_sim_access(p + i, sizeof(T), CUZK_SIM_READ);
    return p[i];
}
template <class T> inline T constant_load(const T *p, u64 i) {
    return global_load(p, i);
}
template <class T> inline void global_store(T *p, u64 i, const T &v) {
    cuzk_sim_access(p + i, sizeof(T), CUZK_SIM_WRITE);
    p[i] = v;
}

// Fibres switch only at barriers and warp exchanges, so these are atomic.
inline u32 global_atomic_add(u32 *p, u64 i, u32 v) {
    cuzk_sim_access(p + i, sizeof(u32), CUZK_SIM_ATOMIC);
    u32 old = p[i];
    p[i] = old + v;
    return old;
}
inline u32 global_atomic_min(u32 *p, u64 i, u32 v) {
    cuzk_sim_access(p + i, sizeof(u32), CUZK_SIM_ATOMIC);
    u32 old = p[i];
    p[i] = v < old ? v : old;
    return old;
}
inline u32 global_atomic_or(u32 *p, u64 i, u32 v) {
    cuzk_sim_access(p + i, sizeof(u32), CUZK_SIM_ATOMIC);
    u32 old = p[i];
    p[i] = old | v;
    return old;
}
inline u32 shared_atomic_add(u32 *p, u32 i, u32 v) {
    cuzk_sim_access(p + i, sizeof(u32), CUZK_SIM_ATOMIC);
    u32 old = p[i];
    p[i] = old + v;
    return old;
}

} // namespace cuzk
