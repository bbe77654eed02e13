#include "ledger.h"

#include "world.h"

namespace cudasim {

namespace {

thread_local Note announced;

std::string range_text(uint64_t base, uint64_t bytes) {
    return text("%llu bytes at %#llx", (unsigned long long)bytes, (unsigned long long)base);
}

bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
}

} // namespace

std::vector<std::shared_ptr<Claim>> Ledger::overlapping(uint64_t base, uint64_t bytes) const {
    std::vector<std::shared_ptr<Claim>> found;
    auto it = claims.upper_bound(base);
    if (it != claims.begin())
        --it;
    for (; it != claims.end() && it->first < base + bytes; ++it)
        if (overlap(it->second->base, it->second->bytes, base, bytes))
            found.push_back(it->second);
    return found;
}

// cut removes a range, keeping what lies beside it.
void Ledger::cut(uint64_t base, uint64_t bytes) {
    for (auto &c : overlapping(base, bytes)) {
        claims.erase(c->base);
        auto keep = [&](uint64_t from, uint64_t to) {
            if (from >= to)
                return;
            auto part = std::make_shared<Claim>(*c);
            part->base = from;
            part->bytes = to - from;
            claims[from] = part;
        };
        keep(c->base, base);
        keep(base + bytes, c->base + c->bytes);
    }
}

// claim ends whatever claims the bytes were under: a job that is cancelled between two turns hands on without
// a word. If it goes on using them, use finds it.
void Ledger::claim(uint64_t owner, const Range &range) {
    cut(range.base, range.bytes);
    claims[range.base] = std::make_shared<Claim>(Claim{
        range.base, range.bytes, owner, false, std::make_shared<Fresh>(Fresh{range.base, range.bytes})});
}

void Ledger::hand_on(uint64_t owner, const Range &range) {
    uint64_t covered = 0;
    for (auto &c : overlapping(range.base, range.bytes)) {
        if (c->owner != owner || c->handed_on)
            report(Kind::handed_on,
                   text("job %llu hands on %s, which %s job %llu", (unsigned long long)owner,
                        range_text(c->base, c->bytes).c_str(),
                        c->handed_on ? "was handed on by" : "belongs to", (unsigned long long)c->owner));
        uint64_t from = std::max(c->base, range.base),
                 to = std::min(c->base + c->bytes, range.base + range.bytes);
        covered += to - from;
    }
    if (covered != range.bytes)
        report(Kind::handed_on,
               text("job %llu hands on %s, of which it holds %llu bytes", (unsigned long long)owner,
                    range_text(range.base, range.bytes).c_str(), (unsigned long long)covered));
    cut(range.base, range.bytes);
    claims[range.base] = std::make_shared<Claim>(Claim{range.base, range.bytes, owner, true, nullptr});
}

std::vector<std::shared_ptr<Fresh>> Ledger::use(uint64_t owner, const std::vector<Range> &ranges,
                                                const std::string &name) const {
    std::vector<std::shared_ptr<Fresh>> used;
    for (const Range &r : ranges) {
        for (auto &c : overlapping(r.base, r.bytes)) {
            if (c->handed_on)
                report(Kind::handed_on,
                       text("\"%s\" of job %llu uses %s after job %llu handed them on", name.c_str(),
                            (unsigned long long)owner, range_text(c->base, c->bytes).c_str(),
                            (unsigned long long)c->owner));
            else if (c->owner != owner && c->owner != 0) // what the device holds is for every job
                report(Kind::handed_on, text("\"%s\" of job %llu uses %s, which job %llu holds", name.c_str(),
                                             (unsigned long long)owner, range_text(c->base, c->bytes).c_str(),
                                             (unsigned long long)c->owner));
            else
                used.push_back(c->fresh);
        }
    }
    return used;
}

void Ledger::release(uint64_t base, uint64_t bytes) {
    cut(base, bytes);
}

Note take_note() {
    Note note = std::move(announced);
    announced = Note{};
    return note;
}

} // namespace cudasim

using namespace cudasim;

// Source of the kinds: CONTRACT.md.
extern "C" __attribute__((visibility("default"))) void cudasim_note(uint32_t kind, uint64_t owner,
                                                                    const Range *ranges, uint64_t count) {
    std::unique_lock<std::mutex> lock(world.mutex);
    switch (kind) {
    case 1:
    case 4:
        announced.set = true;
        announced.owner = owner;
        announced.ranges.assign(ranges, ranges + count);
        return;
    case 2:
        for (uint64_t i = 0; i < count; i++)
            world.ledger.claim(owner, ranges[i]);
        return;
    case 3:
        for (uint64_t i = 0; i < count; i++)
            world.ledger.hand_on(owner, ranges[i]);
        return;
    case 5:
        for (uint64_t i = 0; i < count; i++) {
            std::string name;
            if (outstanding_uses_host(ranges[i].base, ranges[i].bytes, &name))
                report(Kind::host_changed,
                       text("the host uses %s before \"%s\" has run",
                            range_text(ranges[i].base, ranges[i].bytes).c_str(), name.c_str()));
        }
        return;
    default:
        report(Kind::limit, text("note of unknown kind %u", kind));
    }
}
