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

// SharedCell is four bytes of shared memory.
struct SharedCell {
    WordTouches touches;
    uint64_t block = 0; // whose contents `written` tells of
    uint8_t written = 0; // a bit for each byte
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

void check_race(SharedCell &c, uint64_t address, uint32_t mode) {
    static const char *const what[] = {"", "touches shared memory that another writes", "writes shared memory that another reads"};
    if (int found = conflicts(c.touches, mode & mode_write, mode == mode_atomic); found != 0)
        report_in_kernel(Kind::shared_race, text("the thread %s, at byte %llu, with no barrier between", what[found],
                                                 (unsigned long long)(address - shared_base)));
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
        if (c.block != threads.block) // another block's shared memory lay here
            c = SharedCell{WordTouches{}, threads.block, 0};
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
