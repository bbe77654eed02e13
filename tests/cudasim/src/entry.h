// How a driver function begins.
#pragma once

#include "world.h"

#define DRIVER extern "C" __attribute__((visibility("default"))) int

// ENTER takes the lock and returns at once where a fault, the thread or the context forbids the call.
#define ENTER(needs)                                                                                         \
    ::cudasim::Call call(__func__, needs);                                                                   \
    if (call.code != 0)                                                                                      \
    return call.code

// ENTER_ON is ENTER for a call about a device.
#define ENTER_ON(needs, device)                                                                              \
    ::cudasim::Call call(__func__, needs, device);                                                           \
    if (call.code != 0)                                                                                      \
    return call.code

// ENTER_RELEASE is for calls that give something back: when a fault makes one fail, what it leaves is not a
// leak.
#define ENTER_RELEASE(needs)                                                                                 \
    ::cudasim::Call call(__func__, needs);                                                                   \
    if (call.code != 0) {                                                                                    \
        ::cudasim::world.failed_releases += call.injected;                                                   \
        return call.code;                                                                                    \
    }                                                                                                        \
    (void)0
