// Single PTX instructions with carry, for field/carry.cuh.
#pragma once

#include "common/platform.cuh"

namespace cuzk {

// One PTX instruction each. CC is the carry flag: an instruction whose name
// ends in _cc sets it, one that begins with addc, subc or madc reads it. They
// are volatile, so their order is kept.
namespace ptx {
CUZK_FN u32 add_cc(u32 a, u32 b) {
    u32 r;
    asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 addc_cc(u32 a, u32 b) {
    u32 r;
    asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 addc(u32 a, u32 b) {
    u32 r;
    asm volatile("addc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 sub_cc(u32 a, u32 b) {
    u32 r;
    asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 subc_cc(u32 a, u32 b) {
    u32 r;
    asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 subc(u32 a, u32 b) {
    u32 r;
    asm volatile("subc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
CUZK_FN u32 mad_lo_cc(u32 a, u32 b, u32 c) {
    u32 r;
    asm volatile("mad.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
CUZK_FN u32 madc_lo_cc(u32 a, u32 b, u32 c) {
    u32 r;
    asm volatile("madc.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
CUZK_FN u32 madc_hi_cc(u32 a, u32 b, u32 c) {
    u32 r;
    asm volatile("madc.hi.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
CUZK_FN u32 madc_hi(u32 a, u32 b, u32 c) {
    u32 r;
    asm volatile("madc.hi.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}

// -x, written so that ptxas does not see a negation: with one as a factor, it
// splits 64-bit multiply-adds into halves of 32 bits (ptxas 13.0, sm_90; a
// product in Fr takes a third longer).
CUZK_FN u32 negated(u32 x) {
    u32 r;
    asm volatile("not.b32 %0, %1;" : "=r"(r) : "r"(x));
    asm volatile("add.u32 %0, %0, 1;" : "+r"(r));
    return r;
}
} // namespace ptx

} // namespace cuzk
