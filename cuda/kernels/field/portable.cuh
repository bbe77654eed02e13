// Multi-limb arithmetic with 64-bit limbs, for the host. Included by
// field/carry.cuh only.

typedef unsigned __int128 u128;

template <class M> inline void get64(u64 *x, const u32 *a) {
    memcpy(x, a, 4 * M::N);
}
template <class M> inline void put64(u32 *r, const u64 *x) {
    memcpy(r, x, 4 * M::N);
}
template <class M> constexpr u64 mod64(int i) {
    return (u64)M::mod(2 * i) | (u64)M::mod(2 * i + 1) << 32;
}

template <class M> inline void reduce_once64(u64 *x) {
    constexpr int N = M::N / 2;
    u64 t[N];
    u128 borrow = 0;
    for (int i = 0; i < N; i++) {
        u128 d = (u128)x[i] - mod64<M>(i) - (u64)borrow;
        t[i] = (u64)d;
        borrow = d >> 64 & 1;
    }
    if (!borrow)
        memcpy(x, t, sizeof(t));
}

template <class M> inline void reduce_once(u32 *r) {
    u64 x[M::N / 2];
    get64<M>(x, r);
    reduce_once64<M>(x);
    put64<M>(r, x);
}

template <class M> inline void add_mod(u32 *r, const u32 *a, const u32 *b) {
    constexpr int N = M::N / 2;
    u64 x[N], y[N];
    get64<M>(x, a);
    get64<M>(y, b);
    u128 carry = 0;
    for (int i = 0; i < N; i++) {
        carry += (u128)x[i] + y[i];
        x[i] = (u64)carry;
        carry >>= 64;
    }
    reduce_once64<M>(x);
    put64<M>(r, x);
}

template <class M> inline void sub_mod(u32 *r, const u32 *a, const u32 *b) {
    constexpr int N = M::N / 2;
    u64 x[N], y[N];
    get64<M>(x, a);
    get64<M>(y, b);
    u64 borrow = 0;
    for (int i = 0; i < N; i++) {
        u128 d = (u128)x[i] - y[i] - borrow;
        x[i] = (u64)d;
        borrow = (u64)(d >> 64) & 1;
    }
    u64 mask = 0 - borrow;
    u128 carry = 0;
    for (int i = 0; i < N; i++) {
        carry += (u128)x[i] + (mod64<M>(i) & mask);
        x[i] = (u64)carry;
        carry >>= 64;
    }
    put64<M>(r, x);
}

template <class M> inline void add_loose(u32 *r, const u32 *a, const u32 *b) {
    u64 carry = 0;
    for (int i = 0; i < M::N; i++) {
        carry += (u64)a[i] + b[i];
        r[i] = (u32)carry;
        carry >>= 32;
    }
}

template <class M> inline void sub_loose(u32 *r, const u32 *a, const u32 *b) {
    int64_t carry = 0;
    for (int i = 0; i < M::N; i++) {
        carry += (int64_t)M::mod(i) + a[i] - b[i];
        r[i] = (u32)carry;
        carry >>= 32;
    }
}

// Source: as for the GPU version; here with 64-bit limbs. The top bit of M is
// clear, so the running sum fits N limbs (the carries of both chains add up
// without overflow).
template <class M> inline void mul_mont(u32 *r, const u32 *a, const u32 *b) {
    constexpr int N = M::N / 2;
    u64 x[N], y[N], t[N] = {};
    get64<M>(x, a);
    get64<M>(y, b);
    for (int i = 0; i < N; i++) {
        u128 c = (u128)x[0] * y[i] + t[0];
        u64 m = (u64)c * M::INV64;
        u128 d = (u128)m * mod64<M>(0) + (u64)c;
        for (int j = 1; j < N; j++) {
            c = (u128)x[j] * y[i] + t[j] + (u64)(c >> 64);
            d = (u128)m * mod64<M>(j) + (u64)c + (u64)(d >> 64);
            t[j - 1] = (u64)d;
        }
        t[N - 1] = (u64)(c >> 64) + (u64)(d >> 64);
    }
    reduce_once64<M>(t);
    put64<M>(r, t);
}

template <class M> inline void square_mont(u32 *r, const u32 *a) {
    mul_mont<M>(r, a, a);
}

// A reduced sum is the same however it is computed.
template <class M, int K>
inline void mul_mont_sum(u32 *r, const u32 *const (&a)[K], const u32 *const (&b)[K]) {
    u32 sum[M::N] = {}, term[M::N];
    for (int k = 0; k < K; k++) {
        mul_mont<M>(term, a[k], b[k]);
        add_mod<M>(sum, sum, term);
    }
    memcpy(r, sum, sizeof(sum));
}
