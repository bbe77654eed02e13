// Kernels that only cudasim's own tests launch: threads that meet on global memory.
#include "common/platform.cuh"

using namespace cuzk;

struct race_args {
    u32 *p; // one word for each thread of the grid
    u32 how, pad;
};

enum {
    WRITE_OWN,
    WRITE_SAME,
    READ_NEIGHBOUR,
    READ_AFTER_BARRIER,
    READ_OTHER_BLOCK,
    READ_AFTER_EXCHANGE,
    COUNT,
    COUNT_AND_READ
};

// Threads write their own word and then, depending on `how`, meet another thread's.
CUZK_KERNEL(selftest_race, race_args, 64, 1) {
    u64 self = global_thread(), n = global_threads();
    if (a.how == COUNT || a.how == COUNT_AND_READ) {
        global_atomic_add(a.p, 0, 1);
        if (a.how == COUNT_AND_READ && self == n / 2)
            global_store(a.p, n - 1, global_load(a.p, 0));
        return;
    }
    global_store(a.p, a.how == WRITE_SAME ? 0 : self, (u32)self);
    u64 other = (u64)block_x() * block_threads() + (thread_x() ^ 1);
    if (a.how == READ_AFTER_BARRIER)
        block_barrier();
    if (a.how == READ_AFTER_EXCHANGE)
        warp_shuffle(0, 0);
    u32 seen = 0;
    if (a.how == READ_NEIGHBOUR || a.how == READ_AFTER_BARRIER || a.how == READ_AFTER_EXCHANGE)
        seen = global_load(a.p, other);
    if (a.how == READ_OTHER_BLOCK)
        seen = global_load(a.p, (self + block_threads()) % n);
    if (seen == 0xffffffffu)
        global_store(a.p, self, 0u);
}
