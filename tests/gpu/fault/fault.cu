// A kernel that breaks its context on demand, for tests on a card. It is no part
// of the library: tests/gpu/build.sh compiles it, a test loads it.
#include <cassert>
#include <cstdint>

// As faultArguments in tests/gpu/fault_test.go.
struct Arguments {
    uint64_t memory; // 16 bytes of the context's
    uint32_t kind;
    uint32_t unused;
};

extern "C" __global__ void cuzk_fault(Arguments arguments) {
    volatile uint64_t *place = reinterpret_cast<volatile uint64_t *>(arguments.memory);
    switch (arguments.kind) {
    case 0: // an address behind which there is nothing
        *reinterpret_cast<volatile uint64_t *>(uint64_t(1) << 46) = 1;
        break;
    case 1: // 8 bytes at an address that is no multiple of 8
        *reinterpret_cast<volatile uint64_t *>(arguments.memory + 4) = 1;
        break;
    case 2:
        assert(*place == 1); // it is 0
        break;
    default:
        __trap();
    }
}
