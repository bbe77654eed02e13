// Atomic functions. The threads of a launch take turns on one host thread and never lose control between two
// instructions, so plain read-modify-write is atomic.
#pragma once

namespace cudasim {

template <typename T, typename F> CUDASIM_UNCHECKED T modify(T *p, F next) {
    static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "atomics work on 32 and 64 bit integers");
    check_access(p, sizeof(T), Access::atomic);
    T old = *p;
    *p = next(old);
    return old;
}

template <typename T> using Same = typename std::common_type<T>::type; // keeps literals from taking part in deduction

} // namespace cudasim

#define CUDASIM_ATOMIC(name, expression)                                                                               \
    template <typename T> inline T name(T *p, ::cudasim::Same<T> v) {                                                  \
        return ::cudasim::modify(p, [v](T old) -> T { return expression; });                                           \
    }                                                                                                                  \
    template <typename T> inline T name##_block(T *p, ::cudasim::Same<T> v) { return name(p, v); }

CUDASIM_ATOMIC(atomicAdd, T(old + v))
CUDASIM_ATOMIC(atomicSub, T(old - v))
CUDASIM_ATOMIC(atomicMin, (v < old ? v : old))
CUDASIM_ATOMIC(atomicMax, (old < v ? v : old))
CUDASIM_ATOMIC(atomicAnd, T(old &v))
CUDASIM_ATOMIC(atomicOr, T(old | v))
CUDASIM_ATOMIC(atomicXor, T(old ^ v))
CUDASIM_ATOMIC(atomicExch, v)
CUDASIM_ATOMIC(atomicInc, (old >= v ? T(0) : T(old + 1)))
CUDASIM_ATOMIC(atomicDec, (old == 0 || old > v ? v : T(old - 1)))
#undef CUDASIM_ATOMIC

template <typename T> inline T atomicCAS(T *p, ::cudasim::Same<T> expected, ::cudasim::Same<T> v) {
    return ::cudasim::modify(p, [expected, v](T old) -> T { return old == expected ? v : old; });
}
