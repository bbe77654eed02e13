// Cooperative threads on stacks of their own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudasim {

struct Fibre {
    void *stack_pointer = nullptr;
    unsigned char *stack = nullptr;
};

// All fibre stacks lie in one range, so that a check can tell a thread's locals from other memory.
constexpr uint64_t stack_bytes = 256 << 10;
constexpr uint64_t max_fibres = 1024;
constexpr uint64_t stacks_base = 0x530000000000;
constexpr uint64_t stacks_bytes = stack_bytes * max_fibres;

bool open_stacks();

// prepare makes the next switch_to(fibre) call entry(); entry must never return.
void prepare(Fibre &fibre, uint64_t index, void (*entry)());

} // namespace cudasim

// Saves the caller's registers on its stack, stores its stack pointer to *from, and goes on where `to` was
// saved.
extern "C" void cudasim_switch(void **from, void *to) __attribute__((visibility("hidden")));
