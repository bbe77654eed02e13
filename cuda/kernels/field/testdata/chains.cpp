// Runs field/chains.cuh, which is for the GPU, on the host, and compares it
// with field/portable.cuh. The carry flag is emulated; sums that must not
// overflow are checked.
#include "field/fp.cuh"
#include "field/fr.cuh"

#include <stdio.h>
#include <stdlib.h>

// The simulator's functions; no kernel runs here.
extern "C" {
void cuzk_sim_register(const cuzk_sim_kernel *) {}
const cuzk_sim_position *cuzk_sim_self(void) {
    abort();
}
void cuzk_sim_barrier(void) {
    abort();
}
u32 cuzk_sim_shuffle(u32, u32) {
    abort();
}
u32 cuzk_sim_ballot(int) {
    abort();
}
void *cuzk_sim_shared(const void *, size_t) {
    abort();
}
void cuzk_sim_access(const void *, size_t, int) {
    abort();
}
}

namespace cuzk {
namespace emulated {

static u32 carry;
static long overflows;

static u32 __umulhi(u32 a, u32 b) {
    return (u32)((u64)a * b >> 32);
}

namespace ptx {
static u32 put(u64 sum) {
    carry = (u32)(sum >> 32) & 1;
    return (u32)sum;
}
static u32 put_last(u64 sum) {
    overflows += sum >> 32 != 0;
    return (u32)sum;
}
static u32 add_cc(u32 a, u32 b) {
    return put((u64)a + b);
}
static u32 addc_cc(u32 a, u32 b) {
    return put((u64)a + b + carry);
}
static u32 addc(u32 a, u32 b) {
    return put_last((u64)a + b + carry);
}
static u32 sub_cc(u32 a, u32 b) {
    return put((u64)a - b);
}
static u32 subc_cc(u32 a, u32 b) {
    return put((u64)a - b - carry);
}
static u32 subc(u32 a, u32 b) {
    return a - b - carry;
}
static u32 mad_lo_cc(u32 a, u32 b, u32 c) {
    return put((u64)(u32)(a * b) + c);
}
static u32 madc_lo_cc(u32 a, u32 b, u32 c) {
    return put((u64)(u32)(a * b) + c + carry);
}
static u32 madc_hi_cc(u32 a, u32 b, u32 c) {
    return put((u64)__umulhi(a, b) + c + carry);
}
static u32 madc_hi(u32 a, u32 b, u32 c) {
    return put_last((u64)__umulhi(a, b) + c + carry);
}
static u32 negated(u32 x) {
    return 0 - x;
}
} // namespace ptx

#include "field/chains.cuh"

} // namespace emulated

static u64 state = 1;
static u32 random32() { // Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (mix)
    u64 z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (u32)(z ^ z >> 31);
}

// Edge values (0, 1, 2, M - 1, M - 2, limbs of all ones or zeros) and others.
template <class M> Field<M> element() {
    Field<M> x = Field<M>::zero();
    u32 kind = random32() % 5;
    if (kind == 0) {
        x.limb[0] = random32() % 3;
        return x;
    }
    if (kind == 1) {
        Field<M> small = Field<M>::zero();
        small.limb[0] = 1 + random32() % 2;
        return x - small;
    }
    for (int i = 0; i < M::N; i++)
        x.limb[i] = kind == 2 ? 0 - (random32() & 1) : random32();
    x.limb[M::N - 1] %= M::mod(M::N - 1);
    return x;
}

template <class M> long wrong(const Field<M> &want, const Field<M> &got) {
    return want == got ? 0 : 1;
}

// Any number of N limbs, up to all ones.
template <class M> Field<M> loose() {
    Field<M> x;
    u32 kind = random32() % 3;
    for (int i = 0; i < M::N; i++)
        x.limb[i] = kind == 0 ? 0xffffffffu : kind == 1 ? 0 - (random32() & 1) : random32();
    return x;
}

// Loose sums and differences against reduced ones, and products with a loose
// second factor x = x0 + x1 against a x0 + a x1, where x0 < M is x with its
// highest limb cleared.
template <class M> long wrong_loose(const Field<M> &a, const Field<M> &b) {
    Field<M> r, x = loose<M>(), x0 = x, x1 = Field<M>::zero();
    emulated::add_loose<M>(r.limb, a.limb, b.limb);
    long n = wrong(Field<M>::loose_sum(a, b), r) + wrong(a + b, r.reduced());
    emulated::sub_loose<M>(r.limb, a.limb, b.limb);
    n += wrong(Field<M>::loose_difference(a, b), r) + wrong(a - b, r.reduced());
    emulated::mul_mont<M>(r.limb, a.limb, r.limb);
    n += wrong(a * (a - b), r);

    x0.limb[M::N - 1] = 0;
    x1.limb[0] = x.limb[M::N - 1]; // times 2^(32 (N - 1))
    for (int i = 0; i < 32 * (M::N - 1); i++)
        x1 = x1.doubled();
    emulated::mul_mont<M>(r.limb, a.limb, x.limb);
    return n + wrong(a * x, r) + wrong(a * x0 + a * x1, r);
}

template <class M> long failures() {
    long n = 0;
    for (int i = 0; i < 100000; i++) {
        Field<M> a = element<M>(), b = element<M>(), c = element<M>(), d = element<M>(), r;
        emulated::add_mod<M>(r.limb, a.limb, b.limb);
        n += wrong(a + b, r);
        emulated::mul_mont<M>(r.limb, a.limb, b.limb);
        n += wrong(a * b, r);
        emulated::square_mont<M>(r.limb, a.limb);
        n += wrong(a * a, r);
        if constexpr (M::SPARE >= 3) {
            const u32 *const x[2] = {a.limb, c.limb}, *const y[2] = {b.limb, d.limb};
            emulated::mul_mont_sum<M, 2>(r.limb, x, y);
            n += wrong(a * b + c * d, r);
        }
        n += wrong_loose(a, b);
        n += emulated::overflows;
        n += a.is_zero() ? 0 : wrong(a * Field<M>::inverse(a), Field<M>::one());
        emulated::sub_mod<M>(r.limb, a.limb, b.limb);
        n += wrong(a - b, r);
        emulated::overflows = 0; // adding M back overflows on purpose
    }
    return n;
}

} // namespace cuzk

int main() {
    long fr = cuzk::failures<cuzk::FrConstants>(), fp = cuzk::failures<cuzk::FpConstants>();
    printf("wrong results: Fr %ld, Fp %ld\n", fr, fp);
    return fr + fp != 0;
}
