// Warp functions over warp_exchange. Source of the meanings: CUDA C++ Programming Guide, "Warp Vote", "Warp Match",
// "Warp Reduce" and "Warp Shuffle Functions".
#pragma once

namespace cudasim {

template <typename T> inline T lane_value(const unsigned char (*values)[16], uint32_t lane) {
    T v;
    __builtin_memcpy(&v, values[lane], sizeof(T));
    return v;
}

// shuffle returns the value of lane `source`. A lane outside mask has published nothing: reported, as the card's value
// would be undefined.
template <typename T> inline T shuffle(uint32_t mask, T value, uint32_t source) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16, "a shuffle moves at most 16 bytes");
    auto values = warp_exchange(mask, &value, sizeof(T));
    if (!(mask >> source & 1))
        bad_lane("shuffle reads a lane outside its mask", mask);
    return lane_value<T>(values, source);
}

template <typename T, typename F> inline T warp_reduce(uint32_t mask, T value, F op) {
    auto values = warp_exchange(mask, &value, sizeof(T));
    bool first = true;
    T sum = value;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1))
            continue;
        T v = lane_value<T>(values, lane);
        sum = first ? v : op(sum, v);
        first = false;
    }
    return sum;
}

} // namespace cudasim

inline unsigned __activemask() { return ::cudasim::live_lanes(); }

template <typename T> inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32) {
    uint32_t self = ::cudasim::lane_index();
    return ::cudasim::shuffle(mask, v, (self & ~uint32_t(width - 1)) | (uint32_t(lane) & uint32_t(width - 1)));
}

template <typename T> inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
    uint32_t self = ::cudasim::lane_index(), in_segment = self & uint32_t(width - 1);
    return ::cudasim::shuffle(mask, v, in_segment >= delta ? self - delta : self);
}

template <typename T> inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
    uint32_t self = ::cudasim::lane_index(), in_segment = self & uint32_t(width - 1);
    return ::cudasim::shuffle(mask, v, in_segment + delta < uint32_t(width) ? self + delta : self);
}

template <typename T> inline T __shfl_xor_sync(unsigned mask, T v, int lane_mask, int width = 32) {
    uint32_t self = ::cudasim::lane_index(), source = self ^ uint32_t(lane_mask);
    uint32_t segment_end = (self & ~uint32_t(width - 1)) + uint32_t(width);
    return ::cudasim::shuffle(mask, v, source < segment_end ? source : self);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    uint32_t bit = predicate != 0;
    auto values = ::cudasim::warp_exchange(mask, &bit, sizeof bit);
    uint32_t ballot = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        if (mask >> lane & 1)
            ballot |= ::cudasim::lane_value<uint32_t>(values, lane) << lane;
    return ballot;
}

inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

template <typename T> inline unsigned __match_any_sync(unsigned mask, T v) {
    auto values = ::cudasim::warp_exchange(mask, &v, sizeof v);
    uint32_t equal = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        if ((mask >> lane & 1) && ::cudasim::lane_value<T>(values, lane) == v)
            equal |= 1u << lane;
    return equal;
}

template <typename T> inline T __reduce_add_sync(unsigned mask, T v) {
    return ::cudasim::warp_reduce(mask, v, [](T a, T b) { return T(a + b); });
}
template <typename T> inline T __reduce_min_sync(unsigned mask, T v) {
    return ::cudasim::warp_reduce(mask, v, [](T a, T b) { return a < b ? a : b; });
}
template <typename T> inline T __reduce_max_sync(unsigned mask, T v) {
    return ::cudasim::warp_reduce(mask, v, [](T a, T b) { return a < b ? b : a; });
}
template <typename T> inline T __reduce_or_sync(unsigned mask, T v) {
    return ::cudasim::warp_reduce(mask, v, [](T a, T b) { return T(a | b); });
}
template <typename T> inline T __reduce_and_sync(unsigned mask, T v) {
    return ::cudasim::warp_reduce(mask, v, [](T a, T b) { return T(a & b); });
}
template <typename T> inline T __reduce_xor_sync(unsigned mask, T v) {
    return ::cudasim::warp_reduce(mask, v, [](T a, T b) { return T(a ^ b); });
}
