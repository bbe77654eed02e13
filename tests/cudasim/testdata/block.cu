// Kernels that only cudasim's own tests launch: shared memory, barriers, warp exchange, and what can go wrong
// with them.
#include "common/platform.cuh"

using namespace cuzk;

struct reverse_args {
    u32 *p;
    u32 fault, pad;
};

enum { NO_FAULT, NO_BARRIER, HALF_AT_BARRIER, OUTSIDE, UNWRITTEN };

// Reverses the 64 elements of each block through shared memory.
CUZK_KERNEL(selftest_reverse, reverse_args, 64, 1) {
    CUZK_SHARED(u32, mirror, 64);
    u64 i = global_thread();
    u32 t = thread_x();
    if (a.fault == NO_BARRIER) { // keeps the bytes from being unwritten as well
        mirror[t] = 0;
        block_barrier();
    }
    if (a.fault == OUTSIDE && t == 5)
        mirror[64 + a.pad] = 1;
    if (a.fault != UNWRITTEN || t != 9)
        mirror[t] = global_load(a.p, i);
    if (a.fault == HALF_AT_BARRIER && t % 2 == 0)
        warp_shuffle(0, 0);
    else if (a.fault != NO_BARRIER)
        block_barrier();
    global_store(a.p, i, mirror[63 - t]);
}

struct scan_args {
    u32 *p, *totals;
    u32 lanes, pad;
};

// The exclusive prefix sums of each block of 256; totals[block] is the sum.
CUZK_KERNEL(selftest_scan, scan_args, 256, 1) {
    CUZK_SHARED(u32, scratch, 33);
    u64 i = global_thread();
    u32 total;
    u32 before = block_exclusive_sum(global_load(a.p, i), scratch, total);
    global_store(a.p, i, before);
    if (thread_x() == 0)
        global_store(a.totals, block_x(), total);
}

struct vote_args {
    u32 *ballots;
    u32 leave, pad;
};

// Lane i votes for i % 3 == 0; with `leave`, lane 7 has returned before, which is not allowed.
CUZK_KERNEL(selftest_vote, vote_args, 256, 1) {
    if (a.leave && lane() == 7)
        return;
    u32 votes = warp_ballot(lane() % 3 == 0);
    if (lane() == 0)
        global_store(a.ballots, thread_x() / WARP, votes);
}

struct histogram_args {
    const u32 *p;
    u32 *counts;
    u32 n, atomic;
};

// counts[v] = how many of p are v, for v below 16; without `atomic`, threads overwrite each other's counts.
CUZK_KERNEL(selftest_histogram, histogram_args, 128, 1) {
    CUZK_SHARED(u32, counts, 16);
    if (thread_x() < 16)
        counts[thread_x()] = 0;
    block_barrier();
    u64 i = global_thread();
    if (i < a.n) {
        u32 v = global_load(a.p, i);
        if (a.atomic)
            shared_atomic_add(counts, v, 1);
        else
            counts[v]++;
    }
    block_barrier();
    if (thread_x() < 16)
        global_atomic_add(a.counts, thread_x(), counts[thread_x()]);
}

struct leave_args {
    u32 *p;
};

// Half of the threads return before the barrier: allowed, the others do not wait for them.
CUZK_KERNEL(selftest_leave, leave_args, 64, 1) {
    if (thread_x() >= 32)
        return;
    block_barrier();
    global_store(a.p, thread_x(), thread_x());
}
