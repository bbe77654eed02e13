// The arithmetic that the library's kernels inline, one operation of each kind on
// element i of two vectors. For tests, so neither fast nor tuned: 128 threads
// need no more registers than there are.
#include "curve/groups.cuh"
#include "field/fr.cuh"

namespace cuzk {

constexpr u32 FIELD_RESULTS = 8, POINT_RESULTS = 5;

template <class F> struct ProbeFieldArgs {
    const F *x, *y; // x[n], y[n]
    F *out; // out[FIELD_RESULTS n]: x + y, x - y, x y, x^2, -x, 2 x, 1/x, x from Montgomery form and back
    u32 n;
    u32 pad;
};

template <class F> CUZK_FN void probe_field(const ProbeFieldArgs<F> &a) {
    u64 i = global_thread();
    if (i >= a.n)
        return;
    F x = constant_load(a.x, i), y = constant_load(a.y, i);
    global_store(a.out, FIELD_RESULTS * i, x + y);
    global_store(a.out, FIELD_RESULTS * i + 1, x - y);
    global_store(a.out, FIELD_RESULTS * i + 2, x * y);
    global_store(a.out, FIELD_RESULTS * i + 3, x.squared());
    global_store(a.out, FIELD_RESULTS * i + 4, -x);
    global_store(a.out, FIELD_RESULTS * i + 5, x.doubled());
    global_store(a.out, FIELD_RESULTS * i + 6, F::inverse(x));
    global_store(a.out, FIELD_RESULTS * i + 7, x.to_montgomery());
}

CUZK_KERNEL(cuzk_probe_fr, ProbeFieldArgs<Fr>, 128, 1) {
    probe_field<Fr>(a);
}
CUZK_KERNEL(cuzk_probe_fp, ProbeFieldArgs<Fp>, 128, 1) {
    probe_field<Fp>(a);
}
CUZK_KERNEL(cuzk_probe_fp2, ProbeFieldArgs<Fp2>, 128, 1) {
    probe_field<Fp2>(a);
}

template <class G> struct ProbePointArgs {
    const Affine<typename G::F> *p, *q; // p[n], q[n]
    XYZZ<typename G::F> *out;           // out[POINT_RESULTS n], below
    u32 n;
    u32 pad;
};

// out: P + Q mixed; 2 P; (2 P) + (2 Q), both with ZZ != 1; (2 P) + Q mixed;
// 1000003 P.
template <class G> CUZK_FN void probe_points(const ProbePointArgs<G> &a) {
    typedef XYZZ<typename G::F> Point;
    u64 i = global_thread();
    if (i >= a.n)
        return;
    Affine<typename G::F> p = constant_load(a.p, i), q = constant_load(a.q, i);
    Point sum = Point::from(p), twice = Point::from(p).doubled(), full = twice, mixed = twice;
    sum.add(q);
    full.add(Point::from(q).doubled());
    mixed.add(q);
    global_store(a.out, POINT_RESULTS * i, sum);
    global_store(a.out, POINT_RESULTS * i + 1, twice);
    global_store(a.out, POINT_RESULTS * i + 2, full);
    global_store(a.out, POINT_RESULTS * i + 3, mixed);
    global_store(a.out, POINT_RESULTS * i + 4, Point::from(p).times(1000003));
}

CUZK_KERNEL(cuzk_probe_g1, ProbePointArgs<G1>, 128, 1) {
    probe_points<G1>(a);
}
CUZK_KERNEL(cuzk_probe_g2, ProbePointArgs<G2>, 128, 1) {
    probe_points<G2>(a);
}

} // namespace cuzk
