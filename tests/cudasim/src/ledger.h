// What the engine tells through cudasim_note: which job holds which device memory, and what the next launch
// touches.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check.h"

namespace cudasim {

// Fresh is what one claim got. Its bytes count as never written from when the job's first operation on them
// runs.
struct Fresh {
    uint64_t base, bytes;
    bool cleared = false;
};

// Claim is a job's hold on a range, or what is left of it after parts went their own way.
struct Claim {
    uint64_t base, bytes, owner;
    bool handed_on = false;
    std::shared_ptr<Fresh> fresh;
};

class Ledger {
  public:
    void claim(uint64_t owner, const Range &range);
    void hand_on(uint64_t owner, const Range &range);
    // use checks an operation's ranges and returns what was claimed of them.
    std::vector<std::shared_ptr<Fresh>> use(uint64_t owner, const std::vector<Range> &ranges,
                                            const std::string &name) const;
    void release(uint64_t base, uint64_t bytes);
    void clear() { claims.clear(); }

  private:
    // Not overlapping, by address. A range handed on stays until it is claimed again.
    std::map<uint64_t, std::shared_ptr<Claim>> claims;
    std::vector<std::shared_ptr<Claim>> overlapping(uint64_t base, uint64_t bytes) const;
    void cut(uint64_t base, uint64_t bytes);
};

// Note is what the running thread has announced for its next operation.
struct Note {
    bool set = false;
    uint64_t owner = 0;
    std::vector<Range> ranges;
};
// take_note takes the announcement: the next call finds none.
Note take_note();

} // namespace cudasim
