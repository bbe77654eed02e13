// What the simulator found wrong. A test with a violation fails, whatever else it shows.
#pragma once

#include <string>

#include "text.h"

namespace cudasim {

enum class Kind {
    bounds,       // access outside live memory
    unwritten,    // read of bytes never written
    undeclared,   // access outside the launch's declared ranges
    order,        // two operations on the same bytes, one of them writing, with no order between them
    handed_on,    // use of memory after it was handed on, or that nobody claimed
    race,         // global memory touched by two threads of a launch, one writing, with nothing to order them
    shared_race,  // shared memory touched by two threads with no barrier between
    barrier,      // a barrier or exchange that not all threads reach
    undefined,    // undefined behaviour of the language in a kernel
    limit,        // more threads, shared memory or arguments than the device has
    outstanding,  // a launch that would block
    context,      // a call on a thread without the right context
    handle,       // a handle of the wrong kind, stale, or of another context
    release,      // freed twice, never, or in the wrong order
    busy,         // memory taken away from an operation that has not run
    host_changed, // pinned memory changed between the enqueueing of a copy and its run
    contents_unpinned, // asynchronous copy of memory that is not pinned, or the address of such for kernels
    kind_count,
};

const char *kind_name(Kind kind);

void report(Kind kind, const std::string &message);

// report_in_kernel adds the operation, the block and the thread; each kind is reported once an operation.
void report_in_kernel(Kind kind, const std::string &message);

} // namespace cudasim
