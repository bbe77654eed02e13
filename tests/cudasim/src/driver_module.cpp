// Modules, functions, launches.
#include <cstring>

#include "entry.h"
#include "exec.h"

using namespace cudasim;

namespace {

// What a loadable image starts with: a fat binary or its wrapper, an ELF file, PTX text, or the tests' own
// marker. Source of the first two: observed in nvcc's output.
bool loadable(const char *image) {
    static const char *const starts[] = {"\x50\xed\x55\xba",
                                         "\xb1\x43\x62\x46",
                                         "\x7f"
                                         "ELF",
                                         "//",
                                         ".version",
                                         "CUDASIM"};
    for (const char *start : starts)
        if (std::strncmp(image, start, std::strlen(start)) == 0)
            return true;
    return false;
}

Function *function_of(const Call &call, uint64_t handle) {
    auto found = world.functions.find(handle);
    if (found != world.functions.end() && found->second.context == call.context)
        return &found->second;
    call.wrong(Kind::handle, invalid_handle,
               text("handle %#llx is no function of this context (it names: %s)", (unsigned long long)handle,
                    handle_name(handle)));
    return nullptr;
}

void close_function(uint64_t handle) {
    auto found = world.functions.find(handle);
    if (found == world.functions.end())
        return;
    unload_code(found->second);
    world.functions.erase(found);
}

// Largest grid. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr uint32_t max_blocks_x = 0x7fffffff, max_blocks_y = 65535;

} // namespace

DRIVER cuModuleLoadData(uint64_t *out, const void *image) {
    ENTER(Needs::context);
    if (out == nullptr || image == nullptr)
        return invalid_value;
    if (!loadable(static_cast<const char *>(image)))
        return invalid_image;
    *out = new_handle(Handle::module);
    world.modules[*out].context = call.context;
    return ok;
}

DRIVER cuModuleUnload(uint64_t handle) {
    ENTER_RELEASE(Needs::context);
    auto found = world.modules.find(handle);
    if (found == world.modules.end() || found->second.context != call.context)
        return call.wrong(Kind::handle, invalid_handle,
                          text("handle %#llx is no module of this context (it names: %s)",
                               (unsigned long long)handle, handle_name(handle)));
    for (auto &[name, function] : found->second.functions)
        close_function(function);
    world.modules.erase(found);
    return ok;
}

DRIVER cuModuleGetFunction(uint64_t *out, uint64_t handle, const char *name) {
    ENTER(Needs::context);
    auto found = world.modules.find(handle);
    if (found == world.modules.end() || found->second.context != call.context)
        return call.wrong(Kind::handle, invalid_handle, "the handle names no module of this context");
    auto *kernel = find_kernel(name);
    if (kernel == nullptr)
        return not_found;
    uint64_t &function = found->second.functions[name];
    if (function == 0) {
        function = new_handle(Handle::function);
        world.functions[function] = {call.context, kernel, false};
    }
    *out = function;
    return ok;
}

DRIVER cuFuncLoad(uint64_t handle) {
    ENTER(Needs::context);
    Function *f = function_of(call, handle);
    if (f == nullptr)
        return invalid_handle;
    return load_code(*f) ? ok : out_of_memory;
}

DRIVER cuFuncGetAttribute(int *value, int attribute, uint64_t handle) {
    ENTER(Needs::context);
    Function *f = function_of(call, handle);
    if (f == nullptr)
        return invalid_handle;
    if (!load_code(*f))
        return out_of_memory;
    // Source: CUfunction_attribute in cuda.h of CUDA 13.0. What a compiler decides is not known here.
    switch (attribute) {
    case 0: // threads a block
        *value = int(f->kernel->max_threads);
        return ok;
    case 3: // local bytes
        *value = int(local_bytes_of(f->kernel));
        return ok;
    case 1: // static shared bytes
    case 8: // dynamic shared bytes allowed
        *value = 0;
        return ok;
    case 4: // registers
        *value = 64;
        return ok;
    }
    return call.wrong(Kind::limit, invalid_value, text("attribute %d is not simulated", attribute));
}

DRIVER cuFuncSetAttribute(uint64_t handle, int attribute, int value) {
    ENTER(Needs::context);
    if (function_of(call, handle) == nullptr)
        return invalid_handle;
    constexpr int dynamic_shared = 8;
    if (attribute != dynamic_shared || value < 0)
        return invalid_value;
    return call.wrong(Kind::limit, invalid_value,
                      "dynamic shared memory is not simulated: kernels use CUZK_SHARED");
}

// Dim-like arguments one by one, as the driver has them.
DRIVER cuLaunchKernel(uint64_t handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared, uint64_t stream, void **parameters,
                      void **extra) {
    ENTER(Needs::context);
    Note note = take_note();
    Function *f = function_of(call, handle);
    Stream *s = call.stream(stream);
    if (f == nullptr || s == nullptr)
        return invalid_handle;
    const cuzk_sim_kernel *kernel = f->kernel;
    std::string shape = text("%s, grid %u x %u x %u, block %u x %u x %u, %u shared bytes", kernel->name,
                             grid_x, grid_y, grid_z, block_x, block_y, block_z, shared);
    if (grid_x == 0 || grid_y == 0 || grid_z != 1 || block_x == 0 || block_y != 1 || block_z != 1 ||
        grid_x > max_blocks_x || grid_y > max_blocks_y || block_x > kernel->max_threads || shared != 0)
        return call.wrong(Kind::limit, invalid_value,
                          shape + text(": the kernel takes at most %u threads in x", kernel->max_threads));
    if (parameters == nullptr || parameters[0] == nullptr || extra != nullptr)
        return call.wrong(Kind::limit, invalid_value,
                          shape + ": arguments are one struct, given by kernelParams");
    Device &device = world.devices[size_t(call.context->device)];
    uint64_t before = device.used;
    bool room = load_code(*f) && reserve_local(call.context, local_bytes_of(kernel));
    device.implicit += device.used - before;
    if (!room)
        return out_of_memory;
    Launch launch;
    launch.kernel = kernel;
    launch.grid_x = grid_x;
    launch.grid_y = grid_y;
    launch.threads = block_x;
    launch.seed = world.config.seed == 0 ? 0 : 1 + random_below(~uint64_t(0) >> 12);
    launch.arguments.resize((kernel->args_bytes + 7) / 8);
    std::memcpy(launch.arguments.data(), parameters[0], kernel->args_bytes);
    Operation op;
    op.run_name = "run.kernel";
    op.engine = engine_compute;
    op.cost_ns = world.config.launch_ns + world.config.thread_ns * grid_x * grid_y * block_x;
    op.ranges = note.ranges;
    op.declared = !note.ranges.empty();
    op.fresh = world.ledger.use(note.owner, note.ranges, kernel->name);
    op.effect = [launch] { return run_launch(launch); };
    if (!op.declared) {
        world.undeclared_launches++;
        if (world.config.declared)
            call.wrong(Kind::undeclared, ok, shape + ": the launch declares no ranges");
    }
    return enqueue(call, s, std::move(op), kernel->name);
}
