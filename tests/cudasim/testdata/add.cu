// Kernels that only cudasim's own tests launch: each does right, or wrong in one way that a test expects to see.
#include "common/platform.cuh"

using namespace cuzk;

struct add_args {
    u32 *sum;
    const u32 *a, *b;
    u32 n, pad;
};

// sum[i] = a[i] + b[i]
CUZK_KERNEL(selftest_add, add_args, 256, 1) {
    u64 i = global_thread();
    if (i < a.n)
        global_store(a.sum, i, global_load(a.a, i) + global_load(a.b, i));
}
