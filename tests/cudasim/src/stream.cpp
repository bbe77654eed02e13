// Streams: operations are enqueued, and run later, one at a time, in any order that streams and events allow.
// Nothing runs until somebody waits or asks, so a missing wait shows as early as it can.
#include <algorithm>

#include "entry.h"
#include "world.h"

namespace cudasim {

Clock after(uint32_t operation) {
    const OperationInfo &info = order[operation];
    Clock clock = info.before;
    if (clock.size() <= info.stream)
        clock.resize(info.stream + 1);
    clock[info.stream] = info.position;
    return clock;
}

static void block_if_full(const Call &call) {
    if (call.context->outstanding < world.config.outstanding)
        return;
    if (!call.context->was_full)
        report(Kind::outstanding, text("%s blocks: %llu operations are outstanding", call.name.c_str(),
                                       (unsigned long long)call.context->outstanding));
    call.context->was_full = true;
    while (call.context->outstanding >= world.config.outstanding && run_one())
        ;
}

int enqueue(const Call &call, Stream *stream, Operation operation, std::string name) {
    block_if_full(call);
    operation.context = call.context;
    operation.enqueued_ns = world.now_ns;
    OperationInfo info;
    info.stream = stream->number;
    info.position = ++stream->position;
    join(stream->clock, world.host);
    for (uint32_t other : operation.after)
        join(stream->clock, after(other));
    info.before = stream->clock;
    if (operation.effect)
        stream->work = name;
    info.name = std::move(name);
    operation.id = order.add(std::move(info));
    stream->clock = after(operation.id);
    stream->last = operation.id;
    stream->queue.push_back(std::move(operation));
    call.context->outstanding++;
    world.max_outstanding = std::max(world.max_outstanding, call.context->outstanding);
    return ok;
}

static bool runnable(const Stream &s) {
    if (s.queue.empty() || s.hung)
        return false;
    for (uint32_t other : s.queue.front().after)
        if (!order[other].done)
            return false;
    return true;
}

// strike_operation lets faults strike an operation that is about to run; -1: it never ends.
constexpr int never = -1;
static int strike_operation(const Operation &op) {
    if (op.context->sticky != 0)
        return op.context->sticky; // a broken context runs nothing more
    if (!op.effect || op.run_name == nullptr)
        return ok;
    Struck struck;
    int code = strike(op.run_name, op.context, op.context->device, &struck);
    return struck.hangs ? never : code;
}

static int carry_out(Operation &op) {
    if (!op.effect)
        return ok;
    for (auto &f : op.fresh) {
        if (f->cleared)
            continue;
        f->cleared = true;
        if (reachable(f->base, f->bytes, ~0u))
            mark_written(f->base, f->bytes, false);
    }
    running = Running{};
    running.operation = op.id;
    running.device_mask = 1u << op.context->device;
    running.declared = op.declared ? &op.ranges : nullptr;
    running.races = world.config.races != 0;
    running.pinned = &world.pinned_ranges;
    running.context = op.context->handle;
    int code = op.effect();
    running = Running{};
    return code;
}

static void finish(Stream &stream, Operation &op, int code) {
    Device &device = world.devices[size_t(op.context->device)];
    uint64_t start =
        std::max({stream.free_at, op.enqueued_ns, op.engine == engine_none ? 0 : device.free_at[op.engine]});
    for (uint32_t other : op.after)
        if (auto found = world.ended_ns.find(other); found != world.ended_ns.end())
            start = std::max(start, found->second);
    uint64_t end = start + op.cost_ns;
    stream.free_at = end;
    if (op.engine != engine_none)
        device.free_at[op.engine] = end;
    world.ended_ns[op.id] = end;
    if (world.config.trace)
        world.trace.push_back({op.id, stream.number, op.context->device, code, op.enqueued_ns, start, end});
    if (code != ok)
        op.context->sticky = code;
    op.context->outstanding--;
    order[op.id].done = true;
}

bool run_one() {
    std::vector<Stream *> choice;
    for (auto &s : world.streams)
        if (runnable(*s))
            choice.push_back(s.get());
    if (choice.empty())
        return false;
    Stream *stream = choice[world.config.seed == 0 ? 0 : random_below(choice.size())];
    int code = strike_operation(stream->queue.front());
    if (code == never) {
        stream->hung = stream->context->hung = true;
        return true;
    }
    Operation op = std::move(stream->queue.front());
    stream->queue.pop_front();
    finish(*stream, op, code != ok ? code : carry_out(op));
    if (stream->handle == 0 && stream->queue.empty())
        world.streams.erase(std::find_if(world.streams.begin(), world.streams.end(),
                                         [&](auto &s) { return s.get() == stream; }));
    return true;
}

void run_until_done(const Call &call, uint32_t operation) {
    while (operation != 0 && !order[operation].done)
        if (!run_one()) {
            if (!call.context->hung)
                return;
            wait_unhung(call, call.context);
        }
}

void observe(uint32_t operation) {
    if (operation == 0)
        return;
    join(world.host, after(operation));
    world.now_ns = std::max(world.now_ns, world.ended_ns[operation]);
}

void run_all(const Call &call, Context *context) {
    world.device_wide.push_back({call.name, context->outstanding});
    while (context->outstanding > 0)
        if (!run_one()) {
            if (!context->hung)
                break;
            wait_unhung(call, context);
        }
    for (auto &s : world.streams)
        if (s->context == context)
            observe(s->last);
}

template <typename F> static bool any_outstanding(F matches, std::string *name) {
    for (auto &s : world.streams)
        for (const Operation &op : s->queue)
            if (matches(op)) {
                *name = order[op.id].name;
                return true;
            }
    return false;
}

bool outstanding_touches(uint64_t base, uint64_t bytes, std::string *name) {
    return any_outstanding(
        [&](const Operation &op) {
            for (const Range &r : op.ranges)
                if (r.base < base + bytes && base < r.base + r.bytes)
                    return true;
            return false;
        },
        name);
}

// Copies name the host memory they use, kernels have it among their declared ranges.
bool outstanding_uses_host(uint64_t base, uint64_t bytes, std::string *name) {
    return any_outstanding(
               [&](const Operation &op) {
                   return op.host_base < base + bytes && base < op.host_base + op.host_bytes;
               },
               name) ||
           outstanding_touches(base, bytes, name);
}

} // namespace cudasim

using namespace cudasim;

static bool query_done(uint32_t operation) {
    if (operation == 0 || order[operation].done) {
        observe(operation);
        return true;
    }
    for (uint64_t i = 0; i < world.config.poll_operations && run_one(); i++)
        ;
    return false;
}

DRIVER cuStreamCreate(uint64_t *out, unsigned flags) {
    ENTER(Needs::context);
    if (out == nullptr || flags > 1)
        return call.wrong(Kind::limit, invalid_value, text("flags %u", flags));
    auto s = std::make_unique<Stream>();
    s->handle = new_handle(Handle::stream);
    s->context = call.context;
    s->number = world.next_stream_number++;
    join(s->clock, world.host);
    world.stream_handles[s->handle] = s.get();
    *out = s->handle;
    world.streams.push_back(std::move(s));
    return ok;
}

DRIVER cuStreamDestroy_v2(uint64_t handle) {
    ENTER(Needs::context);
    Stream *s = call.stream(handle);
    if (s == nullptr)
        return invalid_handle;
    world.stream_handles.erase(handle);
    s->handle = 0; // what is enqueued still runs
    if (s->queue.empty())
        world.streams.erase(
            std::find_if(world.streams.begin(), world.streams.end(), [&](auto &o) { return o.get() == s; }));
    return ok;
}

DRIVER cuStreamQuery(uint64_t handle) {
    ENTER(Needs::context);
    Stream *s = call.stream(handle);
    if (s == nullptr)
        return invalid_handle;
    if (!query_done(s->last))
        return call.context->sticky != 0 ? call.context->sticky : int(not_ready);
    return ok;
}

DRIVER cuStreamSynchronize(uint64_t handle) {
    ENTER(Needs::context);
    Stream *s = call.stream(handle);
    if (s == nullptr)
        return invalid_handle;
    uint32_t last = s->last;
    run_until_done(call, last);
    observe(last);
    return call.context->sticky;
}

DRIVER cuStreamWaitEvent(uint64_t handle, uint64_t event, unsigned flags) {
    ENTER(Needs::context);
    Stream *s = call.stream(handle);
    auto found = world.events.find(event); // of any context: streams may wait across devices
    if (s == nullptr || flags != 0)
        return s == nullptr ? invalid_handle : invalid_value;
    if (found == world.events.end())
        return call.event(event), int(invalid_handle);
    if (found->second.operation == 0) {
        world.unrecorded_waits++;
        return ok;
    }
    Operation op;
    op.after = {found->second.operation};
    return enqueue(call, s, std::move(op), "wait for " + order[found->second.operation].name);
}

DRIVER cuEventCreate(uint64_t *out, unsigned flags) {
    ENTER(Needs::context);
    constexpr unsigned blocking_sync = 1, disable_timing = 2;
    if (out == nullptr || (flags & ~(blocking_sync | disable_timing)) != 0)
        return call.wrong(Kind::limit, invalid_value, text("flags %u", flags));
    Event e;
    e.context = call.context;
    e.timing = !(flags & disable_timing);
    *out = new_handle(Handle::event);
    world.events[*out] = e;
    return ok;
}

DRIVER cuEventDestroy_v2(uint64_t handle) {
    ENTER(Needs::context);
    if (call.event(handle) == nullptr)
        return invalid_handle;
    world.events.erase(handle);
    return ok;
}

DRIVER cuEventRecord(uint64_t handle, uint64_t stream) {
    ENTER(Needs::context);
    Event *e = call.event(handle);
    Stream *s = call.stream(stream);
    if (e == nullptr || s == nullptr)
        return invalid_handle;
    enqueue(call, s, Operation{}, "event after " + s->work);
    e->operation = s->last;
    return ok;
}

DRIVER cuEventQuery(uint64_t handle) {
    ENTER(Needs::context);
    Event *e = call.event(handle);
    if (e == nullptr)
        return invalid_handle;
    if (!query_done(e->operation))
        return call.context->sticky != 0 ? call.context->sticky : int(not_ready);
    return ok;
}

DRIVER cuEventSynchronize(uint64_t handle) {
    ENTER(Needs::context);
    Event *e = call.event(handle);
    if (e == nullptr)
        return invalid_handle;
    uint32_t operation = e->operation;
    run_until_done(call, operation);
    observe(operation);
    return call.context->sticky;
}

DRIVER cuEventElapsedTime(float *ms, uint64_t start, uint64_t end) {
    ENTER(Needs::context);
    Event *a = call.event(start), *b = call.event(end);
    if (a == nullptr || b == nullptr)
        return invalid_handle;
    if (ms == nullptr || !a->timing || !b->timing || a->operation == 0 || b->operation == 0)
        return invalid_handle;
    if (!order[a->operation].done || !order[b->operation].done)
        return not_ready;
    *ms = float(double(world.ended_ns[b->operation]) - double(world.ended_ns[a->operation])) / 1e6f;
    return ok;
}
