// State of the running block that barriers, exchanges and shared memory use.
#pragma once

#include <cstdint>

namespace cudasim {

// Touch says who touched a word last, and when. A phase is the time between two barriers of a block; phases
// are numbered over all blocks and launches, so that old touches need no clearing. Within a warp, exchanges
// separate too.
struct Touch {
    uint32_t phase = 0;
    uint16_t thread = 0, exchange = 0;
};
constexpr uint16_t several = 0x7fff;    // as thread: more than one
constexpr uint16_t atomic_bit = 0x8000; // with thread: by an atomic function

constexpr uint32_t max_block_threads = 1024;
constexpr uint32_t max_warps = max_block_threads / 32;

struct Threads {
    uint64_t block = 0;                         // number of the running block over all launches
    uint32_t phase = 0;                         // of the running block now
    uint32_t block_phase = 0, launch_phase = 0; // the first of the running block, of the running launch
    uint32_t current = 0;                       // the running thread's index in its block
    uint16_t exchanges[max_warps] = {};         // warp exchanges so far, by warp
};
extern Threads threads;

inline Touch touch_now(bool atomic) {
    return {threads.phase, uint16_t(threads.current | (atomic ? atomic_bit : 0)),
            threads.exchanges[threads.current / 32]};
}

// separated says whether something orders the earlier touch before the running thread's access: another
// launch (streams are ordered elsewhere), a barrier, an exchange, or the thread itself. Nothing orders two
// blocks of a launch.
inline bool separated(const Touch &t) {
    if (t.phase < threads.block_phase)
        return t.phase < threads.launch_phase;
    uint32_t thread = t.thread & uint16_t(~atomic_bit);
    if (t.phase != threads.phase || thread == threads.current)
        return true;
    return thread != several && thread / 32 == threads.current / 32 &&
           t.exchange != threads.exchanges[threads.current / 32];
}

// WordTouches is what a race check keeps of a word.
struct WordTouches {
    Touch write, read;
};

// conflicts says whether an access races with an earlier one, and notes it. 0: no; 1: with a write; 2: with a
// read.
inline int conflicts(WordTouches &w, bool write, bool atomic) {
    int found = 0;
    if (!separated(w.write) && !(atomic && (w.write.thread & atomic_bit)))
        found = 1;
    else if (write && !separated(w.read))
        found = 2;
    if (write)
        w.write = touch_now(atomic);
    else if (separated(w.read))
        w.read = touch_now(false);
    else if ((w.read.thread & ~atomic_bit) != threads.current || w.read.phase != threads.phase)
        w.read.thread =
            several; // its phase stays: a reader of an earlier block conflicts with all that follow
    return found;
}

} // namespace cudasim
