// Shared memory of the running block, with its own checks: bounds, bytes never written, and races between
// threads that no barrier separates.
#include <cstring>
#include <sys/mman.h>
#include <vector>

#include "check.h"
#include "exec.h"
#include "threads.h"
#include "violation.h"

namespace cudasim {

namespace {

// SharedCell is four bytes of shared memory.
struct SharedCell {
    WordTouches touches;
    uint64_t block = 0;  // whose contents `written` tells of
    uint8_t written = 0; // a bit for each byte
};

struct Array {
    const void *key; // of the declaration
    uint64_t base, bytes;
};

SharedCell cells[shared_span / 4];
std::vector<Array> arrays; // of the running block; few
uint64_t arrays_block = 0, used = 0;

constexpr uint64_t red_zone = 64;

bool in_array(uint64_t address, size_t bytes) {
    if (arrays_block != threads.block)
        return false;
    for (const Array &a : arrays)
        if (address - a.base < a.bytes && address + bytes <= a.base + a.bytes)
            return true;
    return false;
}

void check_race(SharedCell &c, uint64_t address, uint32_t mode) {
    static const char *const what[] = {"", "touches shared memory that another writes",
                                       "writes shared memory that another reads"};
    if (int found = conflicts(c.touches, mode & mode_write, mode == mode_atomic); found != 0)
        report_in_kernel(Kind::shared_race, text("the thread %s, at byte %llu, with no barrier between",
                                                 what[found], (unsigned long long)(address - shared_base)));
}

} // namespace

bool open_shared() {
    void *want = reinterpret_cast<void *>(shared_base);
    return mmap(want, shared_span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                -1, 0) == want;
}

void shared_access(uint64_t address, size_t bytes, uint32_t mode) {
    if (!in_array(address, bytes)) {
        report_in_kernel(Kind::bounds,
                         text("access of %zu bytes outside the block's shared arrays, at byte %llu", bytes,
                              (unsigned long long)(address - shared_base)));
        fail_launch(700);
    }
    uint64_t end = address + bytes;
    for (uint64_t word = address & ~uint64_t(3); word < end; word += 4) {
        SharedCell &c = cells[(word - shared_base) / 4];
        if (c.block != threads.block) // another block's shared memory lay here
            c = SharedCell{WordTouches{}, threads.block, 0};
        uint32_t first = word < address ? uint32_t(address - word) : 0,
                 past = end - word < 4 ? uint32_t(end - word) : 4;
        uint8_t mask = uint8_t((1u << past) - (1u << first)); // the bytes of the word that are touched
        if ((mode & mode_read) && (c.written & mask) != mask)
            report_in_kernel(Kind::unwritten,
                             text("read of shared memory never written in this block, at byte %llu",
                                  (unsigned long long)(word + first - shared_base)));
        if (mode & mode_write)
            c.written |= mask;
        check_race(c, word + first, mode);
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
    uint64_t total = bytes;
    for (const Array &a : arrays) {
        if (a.key == key)
            return reinterpret_cast<void *>(a.base);
        total += a.bytes;
    }
    uint64_t at = shared_base + used;
    used += (bytes + red_zone + 15) / 16 * 16;
    if (total > shared_bytes || used > shared_span) {
        report_in_kernel(Kind::limit, text("%llu bytes of static shared memory, a block has %llu",
                                           (unsigned long long)total, (unsigned long long)shared_bytes));
        fail_launch(1);
    }
    arrays.push_back({key, at, bytes});
    std::memset(reinterpret_cast<void *>(at), 0xcd, bytes); // what a device leaves there is not zero either
    return reinterpret_cast<void *>(at);
}
