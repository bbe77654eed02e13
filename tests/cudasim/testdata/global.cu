// Kernels that only cudasim's own tests launch: global memory. Some are wrong in one way that a test expects
// to see.
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

struct poke_args {
    u32 *p, *result;
    u64 index;
    u32 write, raw;
};

// One thread reads or writes p[index], through the accessors or by itself.
CUZK_KERNEL(selftest_poke, poke_args, 32, 1) {
    if (thread_x() != 0)
        return;
    if (a.write && a.raw)
        a.p[a.index] = 7;
    else if (a.write)
        global_store(a.p, a.index, 7u);
    else if (a.raw)
        global_store(a.result, 0, a.p[a.index]);
    else
        global_store(a.result, 0, global_load(a.p, a.index));
}

struct order_args {
    u32 *next, *seen;
};

// seen[i] is how many threads of the grid came before thread i.
CUZK_KERNEL(selftest_order, order_args, 64, 1) {
    global_store(a.seen, global_thread(), global_atomic_add(a.next, 0, 1));
}

struct undefined_args {
    u32 *p;
    u32 which, amount;
};

// Each case is undefined behaviour: 0 a misaligned access, 1 an index past a local array, 2 a shift by 32.
CUZK_KERNEL(selftest_undefined, undefined_args, 32, 1) {
    if (thread_x() != 0)
        return;
    u32 local[4] = {1, 2, 3, 4};
    u32 v = 0;
    if (a.which == 0)
        v = *reinterpret_cast<u32 *>(reinterpret_cast<u8 *>(a.p) + a.amount);
    else if (a.which == 1)
        v = local[a.amount];
    else
        v = 1u << a.amount;
    global_store(a.p, 0, v);
}

struct deep_args {
    u32 *p;
    u32 steps, pad;
};

// A large local array, used on all of its length: what a thread keeps on its stack is its own.
CUZK_KERNEL(selftest_deep, deep_args, 256, 1) {
    u32 local[2048];
    for (u32 i = 0; i < 2048; i++)
        local[i] = i + thread_x();
    block_barrier();
    u32 sum = 0;
    for (u32 i = 0; i < a.steps; i++)
        sum += local[i * 997 % 2048];
    global_store(a.p, thread_x(), sum);
}
