// What is ordered before what, by vector clocks. Each stream counts its operations; an operation's clock
// holds, for each stream, up to which operation everything is known to have run before it starts. Order comes
// only from the same stream, from event waits, and from the host having seen an event or stream complete
// before it enqueued.
//
// Source: Mattern, "Virtual Time and Global States of Distributed Systems" (1989); reader sets as in Flanagan
// and Freund, "FastTrack" (PLDI 2009).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudasim {

using Clock = std::vector<uint32_t>; // by stream number; missing entries are 0

void join(Clock &to, const Clock &from);

// OperationInfo stays after an operation has run, for as long as memory may name it.
struct OperationInfo {
    uint32_t stream = 0;   // number of the stream
    uint32_t position = 0; // in the stream, from 1
    Clock before;          // what has run when it starts
    std::string name;      // for messages
    bool done = false;
};

class Order {
  public:
    // add gives a new operation its number, from 1.
    uint32_t add(OperationInfo info);
    OperationInfo &operator[](uint32_t operation) { return operations[operation]; }
    const OperationInfo &operator[](uint32_t operation) const { return operations[operation]; }
    uint32_t count() const { return uint32_t(operations.size() - 1); }

    // ordered says whether everything of `first` is known to have run when `then` starts.
    bool ordered(uint32_t first, uint32_t then) const {
        const OperationInfo &f = operations[first], &t = operations[then];
        return f.stream == t.stream || (f.stream < t.before.size() && t.before[f.stream] >= f.position);
    }

    // Sets of operations: a set of one is the operation's number, larger sets have the top bit set.
    uint32_t with(uint32_t set, uint32_t operation);
    // unordered returns a member of set not ordered before `then`, or 0.
    uint32_t unordered(uint32_t set, uint32_t then) const;

    void clear();

  private:
    std::vector<OperationInfo> operations{1};
    std::vector<std::vector<uint32_t>> sets;
    uint32_t last_set = 0, last_operation = 0, last_result = 0; // of with
};

} // namespace cudasim
