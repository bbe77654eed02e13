// Copies and fills, all asynchronous.
#include <cstring>

#include "entry.h"

using namespace cudasim;

namespace {

constexpr uint64_t hash_start = 0xcbf29ce484222325, hash_prime = 0x100000001b3; // FNV-1a, over words

uint64_t hash_of(const void *p, uint64_t bytes) {
    uint64_t h = hash_start;
    auto at = static_cast<const unsigned char *>(p);
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        std::memcpy(&word, at, 8);
        h = (h ^ word) * hash_prime;
    }
    for (; bytes > 0; bytes--, at++)
        h = (h ^ *at) * hash_prime;
    return h;
}

uint64_t copy_cost(uint64_t bytes) {
    return bytes * world.config.copy_ns_per_mib >> 20;
}

// submit enqueues a copy or fill of known ranges for the job that the thread has announced.
int submit(const Call &call, uint64_t stream, Operation op, std::string name) {
    Note note = take_note();
    Stream *s = call.stream(stream);
    if (s == nullptr)
        return invalid_handle;
    op.fresh = world.ledger.use(note.owner, op.ranges, name);
    return enqueue(call, s, std::move(op), std::move(name));
}

Operation transfer(const char *run_name, Engine engine, uint64_t bytes) {
    Operation op;
    op.run_name = run_name;
    op.engine = engine;
    op.cost_ns = copy_cost(bytes);
    return op;
}

unsigned long long number(uint64_t v) {
    return v;
}

int unpinned(const Call &call, const void *p, uint64_t bytes) {
    if (world.config.pageable || is_pinned(call.context, reinterpret_cast<uint64_t>(p), bytes))
        return ok;
    return call.wrong(Kind::contents_unpinned, ok,
                      text("%llu bytes of host memory at %p are not pinned", number(bytes), p));
}

} // namespace

DRIVER cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, uint64_t bytes, uint64_t stream) {
    ENTER(Needs::context);
    if (from == nullptr && bytes > 0)
        return call.wrong(Kind::limit, invalid_value, "copy from null");
    unpinned(call, from, bytes);
    Operation op = transfer("run.copy", engine_upload, bytes);
    op.ranges = {{to, bytes, mode_write, 0}};
    std::string name = text("upload of %llu bytes to %#llx", number(bytes), number(to));
    if (is_pinned(call.context, reinterpret_cast<uint64_t>(from), bytes)) {
        op.host_base = reinterpret_cast<uint64_t>(from);
        op.host_bytes = bytes;
        // Another copy may fill the buffer before this one runs; only the host's own changes are mistakes.
        std::string other;
        bool filled =
            outstanding_uses_host(op.host_base, bytes, &other) && other.compare(0, 8, "download") == 0;
        uint64_t before = hash_of(from, bytes);
        op.effect = [=] {
            if (!filled && hash_of(from, bytes) != before)
                report_in_kernel(Kind::host_changed,
                                 "the pinned memory it reads has changed since it was enqueued");
            int code = check_range(to, bytes, mode_write);
            if (code == ok)
                std::memcpy(reinterpret_cast<void *>(to), from, bytes);
            return code;
        };
    } else {
        // The driver takes pageable memory's contents before it returns.
        auto first = static_cast<const unsigned char *>(from);
        auto taken = std::make_shared<std::vector<unsigned char>>(first, first + bytes);
        op.effect = [=] {
            int code = check_range(to, bytes, mode_write);
            if (code == ok)
                std::memcpy(reinterpret_cast<void *>(to), taken->data(), bytes);
            return code;
        };
    }
    return submit(call, stream, std::move(op), name);
}

DRIVER cuMemcpyDtoHAsync_v2(void *to, uint64_t from, uint64_t bytes, uint64_t stream) {
    ENTER(Needs::context);
    if (to == nullptr && bytes > 0)
        return call.wrong(Kind::limit, invalid_value, "copy to null");
    bool pinned =
        unpinned(call, to, bytes) == ok && is_pinned(call.context, reinterpret_cast<uint64_t>(to), bytes);
    Operation op = transfer("run.copy", engine_download, bytes);
    op.ranges = {{from, bytes, mode_read, 0}};
    op.host_base = pinned ? reinterpret_cast<uint64_t>(to) : 0;
    op.host_bytes = pinned ? bytes : 0;
    op.effect = [=] {
        int code = check_range(from, bytes, mode_read);
        if (code == ok)
            std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
        return code;
    };
    int code = submit(call, stream, std::move(op),
                      text("download of %llu bytes from %#llx", number(bytes), number(from)));
    if (code != ok || pinned)
        return code;
    Stream *s = call.stream(stream); // into pageable memory the driver waits
    run_until_done(call, s->last);
    observe(s->last);
    return call.context->sticky;
}

DRIVER cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream) {
    ENTER(Needs::context);
    Operation op = transfer("run.copy", engine_compute, bytes);
    op.ranges = {{to, bytes, mode_write, 0}, {from, bytes, mode_read, 0}};
    op.effect = [=] {
        int code = check_range(from, bytes, mode_read);
        if (code == ok)
            code = check_range(to, bytes, mode_write);
        if (code == ok)
            std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
        return code;
    };
    return submit(call, stream, std::move(op),
                  text("copy of %llu bytes from %#llx to %#llx", number(bytes), number(from), number(to)));
}

DRIVER cuMemsetD8Async(uint64_t to, unsigned char value, uint64_t n, uint64_t stream) {
    ENTER(Needs::context);
    Operation op = transfer("run.fill", engine_compute, n);
    op.ranges = {{to, n, mode_write, 0}};
    op.effect = [=] {
        int code = check_range(to, n, mode_write);
        if (code == ok)
            std::memset(reinterpret_cast<void *>(to), value, n);
        return code;
    };
    return submit(call, stream, std::move(op), text("fill of %llu bytes at %#llx", number(n), number(to)));
}

DRIVER cuMemsetD32Async(uint64_t to, unsigned value, uint64_t n, uint64_t stream) {
    ENTER(Needs::context);
    if (to % 4 != 0)
        return call.wrong(Kind::limit, invalid_value, "address is not a multiple of 4");
    Operation op = transfer("run.fill", engine_compute, 4 * n);
    op.ranges = {{to, 4 * n, mode_write, 0}};
    op.effect = [=] {
        int code = check_range(to, 4 * n, mode_write);
        if (code == ok)
            std::fill_n(reinterpret_cast<unsigned *>(to), n, value);
        return code;
    };
    return submit(call, stream, std::move(op), text("fill of %llu words at %#llx", number(n), number(to)));
}
