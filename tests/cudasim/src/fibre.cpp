#include "fibre.h"

#include <sys/mman.h>

// The switch saves what the platform's calling convention makes the callee keep, and nothing else: a switch
// is a function call to the compiler. Sources: System V AMD64 ABI section 3.2.1; AAPCS64 section 6.1.
#if defined(__x86_64__)
asm(R"(
    .text
    .globl cudasim_switch
    .hidden cudasim_switch
    .type cudasim_switch, @function
cudasim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cudasim_switch, .-cudasim_switch
)");
constexpr int return_word = 6;  // after the six saved registers
constexpr int frame_words = 10; // so that the stack is 16 n + 8 at entry(), as after a call
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl cudasim_switch
    .hidden cudasim_switch
    .type cudasim_switch, %function
cudasim_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size cudasim_switch, .-cudasim_switch
)");
constexpr int return_word = 11; // x30
constexpr int frame_words = 22; // so that the stack stays a multiple of 16
#else
#error "cudasim switches fibres on x86-64 and AArch64 only"
#endif

namespace cudasim {

bool open_stacks() {
    void *want = reinterpret_cast<void *>(stacks_base);
    return mmap(want, stacks_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == want;
}

void prepare(Fibre &fibre, uint64_t index, void (*entry)()) {
    fibre.stack = reinterpret_cast<unsigned char *>(stacks_base + index * stack_bytes);
    auto top = reinterpret_cast<uint64_t *>(fibre.stack + stack_bytes);
    uint64_t *frame = top - frame_words;
    for (int i = 0; i < frame_words; i++)
        frame[i] = 0;
    frame[return_word] = reinterpret_cast<uint64_t>(entry);
    fibre.stack_pointer = frame;
}

} // namespace cudasim
