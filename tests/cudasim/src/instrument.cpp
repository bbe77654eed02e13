// The functions that compiler instrumentation of the kernels calls: -fsanitize=thread calls one before each
// load and store that other threads could see, and -fsanitize=alignment,bounds,shift-exponent where the
// language leaves the behaviour undefined. The compiler's own runtime libraries are not linked; these stand
// in their place. (AddressSanitizer calls back too, but leaves out the store of a load and store to one
// address.) Source of the names and arguments: GCC, gcc/sanitizer.def, gcc/tsan.cc and gcc/ubsan.cc.
#include <cstddef>
#include <cstdint>

#include "check.h"
#include "exec.h"
#include "fibre.h"
#include "violation.h"

using namespace cudasim;

namespace {

// raw is an access that kernel code makes by itself, as against one announced by cuzk_sim_access.
inline void raw(uint64_t address, size_t bytes, uint32_t mode) {
    if (address - running.stack < stack_bytes || !running.kernel)
        return;
    if (running.atomic_left > 0 && address == running.atomic_at) {
        running.atomic_left--;
        return;
    }
    access(address, bytes, mode);
}

struct SourceLocation {
    const char *file;
    uint32_t line, column;
};

void undefined(const SourceLocation *at, const char *what) {
    if (running.kernel)
        report_in_kernel(Kind::undefined, text("%s at %s:%u", what, at->file, at->line));
}

} // namespace

extern "C" {

#define CUDASIM_ACCESS(n)                                                                                    \
    void __tsan_read##n(uint64_t address) {                                                                  \
        raw(address, n, mode_read);                                                                          \
    }                                                                                                        \
    void __tsan_write##n(uint64_t address) {                                                                 \
        raw(address, n, mode_write);                                                                         \
    }
CUDASIM_ACCESS(1)
CUDASIM_ACCESS(2)
CUDASIM_ACCESS(4)
CUDASIM_ACCESS(8)
CUDASIM_ACCESS(16)
#undef CUDASIM_ACCESS
void __tsan_read_range(uint64_t address, size_t bytes) {
    raw(address, bytes, mode_read);
}
void __tsan_write_range(uint64_t address, size_t bytes) {
    raw(address, bytes, mode_write);
}
void __tsan_init(void) {}

// Each handler's first argument starts with the source location.
void __ubsan_handle_type_mismatch_v1(const SourceLocation *at, uint64_t) {
    undefined(at, "misaligned or null access");
}
void __ubsan_handle_out_of_bounds(const SourceLocation *at, uint64_t) {
    undefined(at, "array index out of bounds");
}
void __ubsan_handle_shift_out_of_bounds(const SourceLocation *at, uint64_t, uint64_t) {
    undefined(at, "shift by the width of the type or more");
}

void cuzk_sim_access(const void *p, size_t bytes, int mode) {
    auto address = reinterpret_cast<uint64_t>(p);
    running.atomic_left = 0;
    if (mode == 2) {
        raw(address, bytes, mode_atomic);
        running.atomic_at = address;
        running.atomic_left = 2; // the load and the store
    } else {
        raw(address, bytes, mode == 0 ? mode_read : mode_write);
    }
}
}
