// Points between the parameter file's encoding and Montgomery affine.
//
// The file has big-endian canonical coordinates, 48 bytes each, at 4-byte
// alignment; G1 is x y, G2 is x.c1 x.c0 y.c1 y.c0. The top three bits of the
// first byte are flags: 0x80 compressed, 0x40 infinity, 0x20 sign.
// Source: zcash, "BLS12-381 serialization", uncompressed form.
//
// Two blocks of 128 threads on an SM leave a thread the 255 registers that there
// are at the most: decoding takes 94 in G1 and 176 in G2, encoding 70 and 94 (nvcc
// -Xptxas -v, sm_90). Not tuned: points are decoded behind their copies.
#include "curve/groups.cuh"

namespace cuzk {

constexpr u32 COORDINATE_WORDS = FpConstants::N;

// What is wrong with a point; 0 is no fault.
enum PointFault {
    POINT_FLAGS = 1,         // compressed, or a sign flag, or infinity with other bits set
    POINT_NOT_CANONICAL = 2, // a coordinate is not below p
    POINT_NOT_ON_CURVE = 3,
};

template <class G> struct DecodeArgs {
    const u32 *file;               // file[n * words of a point]
    Affine<typename G::F> *points; // place(first + i) is written for i < n + fill
    u32 *status;                   // [0] first index of a bad point, [1] of an infinity; lowered
    u32 *faults;                   // faults[k - 1] += points with PointFault k
    u32 n, first;
    u32 fill;     // so many places behind the n points become infinity
    u32 log_size; // place(i) = i with its log_size low bits reversed; 0: place(i) = i
};

// Reads a coordinate's 12 words, most significant first. `mask` is applied to the
// most significant one.
CUZK_FN Fp read_coordinate(const u32 *file, u64 word, u32 mask) {
    Fp r;
    CUZK_UNROLL
    for (u32 k = 0; k < COORDINATE_WORDS; k++)
        r.limb[COORDINATE_WORDS - 1 - k] = swap_bytes32(constant_load(file, word + k));
    r.limb[COORDINATE_WORDS - 1] &= mask;
    return r;
}

template <class F> struct Coordinates;
template <> struct Coordinates<Fp> {
    static constexpr u32 WORDS = COORDINATE_WORDS;
    CUZK_FN static Fp read(const u32 *file, u64 word, u32 mask) { return read_coordinate(file, word, mask); }
    CUZK_FN static void write(u32 *file, u64 word, const Fp &x) {
        Fp plain = x.from_montgomery();
        CUZK_UNROLL
        for (u32 k = 0; k < COORDINATE_WORDS; k++)
            global_store(file, word + k, swap_bytes32(plain.limb[COORDINATE_WORDS - 1 - k]));
    }
};
template <> struct Coordinates<Fp2> {
    static constexpr u32 WORDS = 2 * COORDINATE_WORDS;
    CUZK_FN static Fp2 read(const u32 *file, u64 word, u32 mask) {
        Fp c1 = read_coordinate(file, word, mask);
        return {read_coordinate(file, word + COORDINATE_WORDS, 0xffffffffu), c1};
    }
    CUZK_FN static void write(u32 *file, u64 word, const Fp2 &x) {
        Coordinates<Fp>::write(file, word, x.c1);
        Coordinates<Fp>::write(file, word + COORDINATE_WORDS, x.c0);
    }
};

template <class G> CUZK_FN u32 decode_point(const u32 *file, u64 word, Affine<typename G::F> &out) {
    typedef typename G::F F;
    constexpr u32 WORDS = Coordinates<F>::WORDS;
    u32 flags = swap_bytes32(constant_load(file, word)) >> 29;
    F x = Coordinates<F>::read(file, word, 0x1fffffffu);
    F y = Coordinates<F>::read(file, word + WORDS, 0xffffffffu);
    out = Affine<F>::infinity();
    if (flags == 2) // infinity
        return x.is_zero() && y.is_zero() ? 0 : POINT_FLAGS;
    if (flags != 0)
        return POINT_FLAGS;
    if (!x.is_reduced() || !y.is_reduced())
        return POINT_NOT_CANONICAL;
    x = x.to_montgomery();
    y = y.to_montgomery();
    if (!(y.squared() == x.squared() * x + G::b()))
        return POINT_NOT_ON_CURVE;
    out = {x, y};
    return 0;
}

// One thread for each point. A bad point is stored as infinity.
template <class G> CUZK_FN void decode(const DecodeArgs<G> &a) {
    typedef typename G::F F;
    u64 i = global_thread();
    if (i >= (u64)a.n + a.fill)
        return;
    Affine<F> p = Affine<F>::infinity();
    u32 index = a.first + (u32)i;
    if (i < a.n) {
        u32 fault = decode_point<G>(a.file, i * 2 * Coordinates<F>::WORDS, p);
        if (fault) {
            global_atomic_min(a.status, 0, index);
            global_atomic_add(a.faults, fault - 1, 1);
        } else if (p.is_infinity()) {
            global_atomic_min(a.status, 1, index);
        }
    }
    global_store(a.points, a.log_size ? bit_reverse(index, a.log_size) : index, p);
}

CUZK_KERNEL(cuzk_points_g1_decode, DecodeArgs<G1>, 128, 2) {
    decode<G1>(a);
}
CUZK_KERNEL(cuzk_points_g2_decode, DecodeArgs<G2>, 128, 2) {
    decode<G2>(a);
}

// The reverse: file[i] = encoding of points[i]. One thread for each point.
template <class G> struct EncodeArgs {
    const Affine<typename G::F> *points;
    u32 *file;
    u32 n;
    u32 pad;
};

template <class G> CUZK_FN void encode(const EncodeArgs<G> &a) {
    typedef typename G::F F;
    constexpr u32 WORDS = Coordinates<F>::WORDS;
    u64 i = global_thread();
    if (i >= a.n)
        return;
    Affine<F> p = constant_load(a.points, i);
    Coordinates<F>::write(a.file, i * 2 * WORDS, p.x);
    Coordinates<F>::write(a.file, i * 2 * WORDS + WORDS, p.y);
    if (p.is_infinity())
        global_store(a.file, i * 2 * WORDS, swap_bytes32(0x40000000u));
}

CUZK_KERNEL(cuzk_points_g1_encode, EncodeArgs<G1>, 128, 2) {
    encode<G1>(a);
}
CUZK_KERNEL(cuzk_points_g2_encode, EncodeArgs<G2>, 128, 2) {
    encode<G2>(a);
}

// out[i] = points[positions[i]], infinity where the position is NONE. One thread
// for each quad, so that neighbouring threads read neighbouring quads: points may
// lie in host memory, and the bus wants large reads. Threads wait for the bus, so
// an SM holds eight blocks, which leave a thread 64 registers; it takes 18.
struct GatherArgs {
    const Quad *points;   // each point is `quads` quads
    const u32 *positions; // positions[n]
    Quad *out;            // out[n * quads], not in points
    u32 n, quads;
};

CUZK_KERNEL(cuzk_points_gather, GatherArgs, 128, 8) {
    u64 t = global_thread(), i = t / a.quads;
    if (i >= a.n)
        return;
    u32 position = constant_load(a.positions, i);
    Quad q = {{0, 0, 0, 0}};
    if (position != NONE)
        q = constant_load(a.points, (u64)position * a.quads + t % a.quads);
    global_store(a.out, t, q);
}

} // namespace cuzk
