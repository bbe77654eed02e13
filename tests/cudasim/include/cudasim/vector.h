// CUDA's vector types, with CUDA's alignment.
#pragma once

#include <cstdint>

struct uint3 {
    uint32_t x, y, z;
};

struct dim3 {
    uint32_t x, y, z;
    constexpr dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
};

struct alignas(8) uint2 {
    uint32_t x, y;
};

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};

struct alignas(8) int2 {
    int32_t x, y;
};

struct alignas(16) int4 {
    int32_t x, y, z, w;
};

struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};

inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
inline uint3 make_uint3(uint32_t x, uint32_t y, uint32_t z) { return {x, y, z}; }
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
inline int2 make_int2(int32_t x, int32_t y) { return {x, y}; }
inline int4 make_int4(int32_t x, int32_t y, int32_t z, int32_t w) { return {x, y, z, w}; }
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
