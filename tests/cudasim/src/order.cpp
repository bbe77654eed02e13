#include "order.h"

#include <algorithm>

namespace cudasim {

constexpr uint32_t set_mark = 0x80000000u;

void join(Clock &to, const Clock &from) {
    if (to.size() < from.size())
        to.resize(from.size());
    for (size_t i = 0; i < from.size(); i++)
        to[i] = std::max(to[i], from[i]);
}

uint32_t Order::add(OperationInfo info) {
    operations.push_back(std::move(info));
    return count();
}

uint32_t Order::with(uint32_t set, uint32_t operation) {
    if (set == 0)
        return operation;
    if (set == last_set && operation == last_operation)
        return last_result;
    std::vector<uint32_t> members = set & set_mark ? sets[set & ~set_mark] : std::vector<uint32_t>{set};
    // A reader ordered before the new one needs no place of its own: whoever comes after the new one comes
    // after it.
    members.erase(
        std::remove_if(members.begin(), members.end(), [&](uint32_t m) { return ordered(m, operation); }),
        members.end());
    members.push_back(operation);
    uint32_t result = operation;
    if (members.size() > 1) {
        sets.push_back(std::move(members));
        result = uint32_t(sets.size() - 1) | set_mark;
    }
    last_set = set, last_operation = operation, last_result = result;
    return result;
}

uint32_t Order::unordered(uint32_t set, uint32_t then) const {
    if (set == 0)
        return 0;
    if (!(set & set_mark))
        return ordered(set, then) ? 0 : set;
    for (uint32_t m : sets[set & ~set_mark])
        if (!ordered(m, then))
            return m;
    return 0;
}

void Order::clear() {
    operations.assign(1, OperationInfo{});
    sets.clear();
    last_set = last_operation = last_result = 0;
}

} // namespace cudasim
