// Initialisation, devices, contexts, error texts.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>

#include "entry.h"
#include "exec.h"
#include "fibre.h"

using namespace cudasim;

namespace {

struct ErrorText {
    int code;
    const char *name, *text;
};

// Source: cuda.h of CUDA 13.0; the texts are our own.
const ErrorText errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "not initialised"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no device"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "no such device"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "invalid kernel image"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid context"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping failed"},
    {206, "CUDA_ERROR_UNMAP_FAILED", "unmapping failed"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image for this device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable memory error"},
    {300, "CUDA_ERROR_INVALID_SOURCE", "invalid kernel source"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "operating system call failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "no such symbol"},
    {600, "CUDA_ERROR_NOT_READY", "not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "illegal memory access"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources asked for a launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "launch timed out"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "a device-side assertion failed"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "host memory is registered already"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "host memory is not registered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "launch failed"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "not permitted"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not ready"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver and its kernel module do not match"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText *find_error(int code) {
    for (const ErrorText &e : errors)
        if (e.code == code)
            return &e;
    return nullptr;
}

// Errors that "leave the process in an inconsistent state", so that it "must be terminated and relaunched".
// Source: cuda.h of CUDA 13.0. On an H200 with driver 580 cuCtxCreate was seen to answer 700 once a context
// had been broken by that, and destroyed.
const int lasting[] = {226, 700, 702, 714, 715, 716, 717, 718, 719, 721};

// lasting_code is the error of a context of the device, which may be destroyed by now, that no other one is
// made after; ok: none.
int lasting_code(int device) {
    if (world.config.recovers)
        return ok;
    auto of = [&](const Context &context) {
        bool lasts = std::find(std::begin(lasting), std::end(lasting), context.sticky) != std::end(lasting);
        return context.device == device && lasts ? context.sticky : int(ok);
    };
    for (auto &context : world.destroyed)
        if (int code = of(*context); code != ok)
            return code;
    for (auto &[handle, context] : world.contexts)
        if (int code = of(*context); code != ok)
            return code;
    return ok;
}

bool valid_device(int device) {
    return device >= 0 && uint64_t(device) < world.devices.size();
}

void uuid_of(unsigned char *uuid, int device) {
    std::memcpy(uuid, "cudasim device \0", 16);
    uuid[15] = (unsigned char)device;
}

// device_named is the device of one entry of CUDA_VISIBLE_DEVICES: an index, or GPU- with the hexadecimal
// begin of a UUID; -1: none.
int device_named(const std::string &entry) {
    for (size_t device = 0; device < world.devices.size(); device++) {
        if (entry == std::to_string(device))
            return int(device);
        unsigned char uuid[16];
        uuid_of(uuid, int(device));
        std::string name = "GPU-";
        for (unsigned char byte : uuid)
            name += text("%02x", byte);
        if (entry.size() > 4 && name.compare(0, entry.size(), entry) == 0)
            return int(device);
    }
    return -1;
}

} // namespace

// Source: CUDA programming guide, CUDA_VISIBLE_DEVICES: the first entry that names no device ends the list.
void cudasim::find_visible() {
    world.visible.clear();
    const char *names = std::getenv("CUDA_VISIBLE_DEVICES");
    if (names == nullptr) {
        for (size_t device = 0; device < world.devices.size(); device++)
            world.visible.push_back(int(device));
        return;
    }
    std::istringstream list(names);
    for (std::string entry; std::getline(list, entry, ',');) {
        int device = device_named(entry);
        if (device < 0)
            return;
        world.visible.push_back(device);
    }
}

DRIVER cuInit(unsigned flags) {
    ENTER(Needs::nothing);
    if (flags != 0)
        return invalid_value;
    if (!world.space_open && !(open_space() && open_stacks() && open_shared()))
        return call.wrong(Kind::limit, 304, "the simulator's address ranges are taken in this process");
    world.space_open = true;
    if (!world.initialised && world.devices.empty())
        world.devices.assign(world.config.devices, Device{});
    find_visible();
    world.initialised = true;
    return world.visible.empty() ? int(no_device) : int(ok);
}

DRIVER cuDriverGetVersion(int *version) {
    ENTER(Needs::nothing);
    *version = int(world.config.driver_version);
    return ok;
}

DRIVER cuGetErrorName(int code, const char **name) {
    const ErrorText *e = find_error(code);
    *name = e ? e->name : nullptr;
    return e ? ok : invalid_value;
}

DRIVER cuGetErrorString(int code, const char **string) {
    const ErrorText *e = find_error(code);
    *string = e ? e->text : nullptr;
    return e ? ok : invalid_value;
}

DRIVER cuDeviceGetCount(int *count) {
    ENTER(Needs::init);
    *count = int(world.visible.size());
    return ok;
}

DRIVER cuDeviceGet(int *device, int ordinal) {
    ENTER(Needs::init);
    if (ordinal < 0 || size_t(ordinal) >= world.visible.size())
        return invalid_device;
    *device = world.visible[size_t(ordinal)];
    return ok;
}

DRIVER cuDeviceGetName(char *name, int length, int device) {
    ENTER_ON(Needs::init, device);
    if (!valid_device(device) || length < 1)
        return invalid_device;
    std::string full = text("cudasim device %d", device);
    std::strncpy(name, full.c_str(), size_t(length) - 1);
    name[length - 1] = 0;
    return ok;
}

DRIVER cuDeviceTotalMem_v2(uint64_t *bytes, int device) {
    ENTER_ON(Needs::init, device);
    if (!valid_device(device))
        return invalid_device;
    *bytes = world.config.vram_bytes;
    return ok;
}

DRIVER cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    ENTER_ON(Needs::init, device);
    if (!valid_device(device))
        return invalid_device;
    uuid_of(uuid, device);
    return ok;
}

DRIVER cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER_ON(Needs::init, device);
    if (!valid_device(device))
        return invalid_device;
    // Source: CUdevice_attribute in cuda.h of CUDA 13.0; the values are those of a small GPU.
    switch (attribute) {
    case 1: // threads a block
        *value = 1024;
        return ok;
    case 8: // shared bytes a block
        *value = int(shared_bytes);
        return ok;
    case 10: // warp size
        *value = 32;
        return ok;
    case 13: // clock, kHz
        *value = 1000000;
        return ok;
    case 16:
        *value = multiprocessors;
        return ok;
    case 20: // compute mode: default
        *value = 0;
        return ok;
    case 38: // L2, bytes
        *value = 4 << 20;
        return ok;
    case 39: // resident threads a multiprocessor
        *value = multiprocessor_threads;
        return ok;
    case 40: // copy engines
        *value = 2;
        return ok;
    case 75:
        *value = int(world.config.compute / 10);
        return ok;
    case 76:
        *value = int(world.config.compute % 10);
        return ok;
    case 81: // shared bytes a multiprocessor
        *value = 100 << 10;
        return ok;
    case 97: // shared bytes a block, with permission
        *value = int(shared_bytes);
        return ok;
    case 102: // virtual memory management
        *value = 1;
        return ok;
    }
    return call.wrong(Kind::limit, invalid_value, text("attribute %d is not simulated", attribute));
}

DRIVER cuCtxCreate_v2(uint64_t *out, unsigned flags, int device) {
    (void)flags;
    ENTER_ON(Needs::init, device);
    if (out == nullptr || !valid_device(device))
        return out == nullptr ? invalid_value : invalid_device;
    if (int code = lasting_code(device); code != ok)
        return code;
    if (!take_vram(device, world.config.context_bytes))
        return out_of_memory;
    auto context = std::make_unique<Context>();
    context->handle = new_handle(Handle::context);
    context->device = device;
    *out = current_context = context->handle;
    world.contexts[context->handle] = std::move(context);
    return ok;
}

DRIVER cuCtxSetCurrent(uint64_t handle) {
    ENTER(Needs::init);
    if (handle != 0 && !world.contexts.count(handle))
        return call.wrong(Kind::handle, invalid_context, "the handle names no context that exists");
    current_context = handle;
    return ok;
}

DRIVER cuCtxSynchronize(void) {
    ENTER(Needs::context);
    run_all(call, call.context);
    return call.context->sticky;
}

static void report_left(const Call &call, const Context *context) {
    if (context->sticky != 0 || world.failed_releases > 0)
        return;
    uint64_t allocations = 0, pinned = 0;
    for (auto &[base, a] : world.allocations)
        allocations += a.context == context;
    for (auto &[base, p] : world.pinned)
        pinned += p.context == context;
    if (allocations + pinned > 0)
        call.wrong(Kind::release, ok,
                   text("%llu device allocations and %llu pinned buffers of the context were never freed",
                        (unsigned long long)allocations, (unsigned long long)pinned));
}

template <typename M> static void erase_of(M &objects, const Context *context) {
    for (auto it = objects.begin(); it != objects.end();)
        it = it->second.context == context ? objects.erase(it) : std::next(it);
}

DRIVER cuCtxDestroy_v2(uint64_t handle) {
    ENTER_RELEASE(Needs::init);
    auto found = world.contexts.find(handle);
    if (found == world.contexts.end())
        return call.wrong(Kind::handle, invalid_context, "the handle names no context that exists");
    Context *context = found->second.get();
    if (int code = dead_code(context->device); code != ok) {
        world.failed_releases++;
        return code;
    }
    run_all(call, context);
    report_left(call, context);
    for (auto it = world.stream_handles.begin(); it != world.stream_handles.end();)
        it = it->second->context == context ? world.stream_handles.erase(it) : std::next(it);
    std::vector<std::unique_ptr<Stream>> others;
    for (auto &s : world.streams)
        if (s->context != context)
            others.push_back(std::move(s));
    world.streams = std::move(others);
    erase_of(world.events, context);
    erase_of(world.modules, context);
    for (auto &[handle, function] : world.functions)
        if (function.context == context)
            unload_code(function);
    erase_of(world.functions, context);
    release_context_memory(context);
    give_vram(context->device, world.config.context_bytes + context->local_taken);
    world.destroyed.push_back(std::move(found->second));
    world.contexts.erase(found);
    if (current_context == handle)
        current_context = 0;
    return ok;
}
