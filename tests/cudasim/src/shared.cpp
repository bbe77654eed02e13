// Shared memory of the running block, with its own checks: bounds, bytes never written, and races between threads that
// no barrier separates.
#include <cstring>
#include <map>
#include <sys/mman.h>

#include "check.h"
#include "exec.h"
#include "threads.h"
#include "violation.h"

namespace cudasim {

namespace {

// Who touched four bytes of shared memory last. A phase is the time between two barriers of the block; phases are
// numbered over all blocks, so cells need no clearing. Within a warp, exchanges separate too: `exchange` counts them.
struct Touch {
    uint32_t phase = 0;
    uint16_t thread = 0, exchange = 0;
};
constexpr uint16_t several = 0xffff; // as thread: more than one thread of the phase

struct SharedCell {
    Touch write, read;
    uint64_t block = 0; // the cell's contents were written in this block if equal to its number
    uint8_t written = 0, atomic = 0;
};

struct Array {
    uint64_t base, bytes;
};

SharedCell cells[shared_span / 4];
std::map<const void *, Array> arrays; // of the running block, by declaration
uint64_t arrays_block = 0, used = 0;

constexpr uint64_t red_zone = 64;

bool in_array(uint64_t address, size_t bytes) {
    for (auto &[key, a] : arrays)
        if (address >= a.base && address + bytes <= a.base + a.bytes)
            return true;
    return false;
}

// separated says whether the earlier touch is ordered before the running thread's access.
bool separated(const Touch &t) {
    if (t.phase != threads.phase || t.thread == threads.current)
        return true;
    if (t.thread == several)
        return false;
    return t.thread / 32 == threads.current / 32 && t.exchange != threads.exchanges[threads.current / 32];
}

void check_race(SharedCell &c, uint64_t address, uint32_t mode) {
    bool atomic = mode == mode_atomic;
    if (!separated(c.write) && !(atomic && c.atomic))
        report_in_kernel(Kind::shared_race, text("two threads touch shared memory at byte %llu with no barrier between, one "
                                                 "of them writes",
                                                 (unsigned long long)(address - shared_base)));
    if ((mode & mode_write) && !separated(c.read) && !(atomic && c.atomic))
        report_in_kernel(Kind::shared_race, text("a thread writes shared memory at byte %llu that another reads with no barrier "
                                                 "between",
                                                 (unsigned long long)(address - shared_base)));
    Touch now{threads.phase, uint16_t(threads.current), threads.exchanges[threads.current / 32]};
    if (mode & mode_write) {
        c.write = now;
        c.atomic = atomic;
    }
    if (mode == mode_read)
        c.read = c.read.phase == now.phase && c.read.thread != now.thread && !separated(c.read) ? Touch{now.phase, several, 0} : now;
}

} // namespace

bool open_shared() {
    void *want = reinterpret_cast<void *>(shared_base);
    return mmap(want, shared_span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == want;
}

void shared_access(uint64_t address, size_t bytes, uint32_t mode) {
    if (!in_array(address, bytes)) {
        report_in_kernel(Kind::bounds, text("access of %zu bytes outside the block's shared arrays, at byte %llu", bytes,
                                            (unsigned long long)(address - shared_base)));
        fail_launch(700);
    }
    for (uint64_t a = address; a < address + bytes; a++) {
        SharedCell &c = cells[(a - shared_base) / 4];
        uint8_t bit = uint8_t(1u << (a & 3));
        if (c.block != threads.block)
            c.written = 0, c.block = threads.block;
        if ((mode & mode_read) && !(c.written & bit))
            report_in_kernel(Kind::unwritten, text("read of shared memory never written in this block, at byte %llu",
                                                   (unsigned long long)(a - shared_base)));
        if (mode & mode_write)
            c.written |= bit;
        if (a == address || (a & 3) == 0)
            check_race(c, a, mode);
    }
}

} // namespace cudasim

extern "C" void *cuzk_sim_shared(const void *key, size_t bytes) {
    using namespace cudasim;
    if (arrays_block != threads.block) {
        arrays.clear();
        arrays_block = threads.block;
        used = 0;
    }
    auto found = arrays.find(key);
    if (found != arrays.end())
        return reinterpret_cast<void *>(found->second.base);
    uint64_t total = bytes;
    for (auto &[other, a] : arrays)
        total += a.bytes;
    uint64_t at = shared_base + used;
    used += (bytes + red_zone + 15) / 16 * 16;
    if (total > shared_bytes || used > shared_span) {
        report_in_kernel(Kind::limit, text("%llu bytes of static shared memory, a block has %llu", (unsigned long long)total,
                                           (unsigned long long)shared_bytes));
        fail_launch(1);
    }
    arrays[key] = Array{at, bytes};
    std::memset(reinterpret_cast<void *>(at), 0xcd, bytes); // what a card leaves there is not zero either
    return reinterpret_cast<void *>(at);
}
