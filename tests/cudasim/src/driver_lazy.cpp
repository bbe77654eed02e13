// What a driver takes of a device by itself: code of kernels, and local memory. It does so at the first
// launch that needs it, or when a call asks for it beforehand.
#include "entry.h"
#include "exec.h"

using namespace cudasim;

namespace {

// One kernel's code: 3.3 MB for 50 kernels on sm_90.
constexpr uint64_t code_bytes = 64 << 10;

// Bytes of a thread that are not in registers. Source: nvcc 13.0, -Xptxas -v, sm_90; all others have none.
const std::map<std::string, uint64_t> local_table = {
    {"cuzk_fixed_g2_multiply", 136},   {"cuzk_msm_g1_reduce", 192},
    {"cuzk_msm_g2_accumulate", 144},   {"cuzk_msm_g2_merge", 464},
    {"cuzk_msm_g2_merge_levels", 448}, {"cuzk_msm_g2_reduce", 1432},
    {"cuzk_msm_g2_sum", 472},          {"cuzk_probe_g1", 288},
    {"cuzk_probe_g2", 1368},           {"cuzk_sums_g1_ones", 16},
    {"cuzk_sums_g2_ones", 224},
};

constexpr int stack_size = 0; // CU_LIMIT_STACK_SIZE

} // namespace

namespace cudasim {

uint64_t local_bytes_of(const cuzk_sim_kernel *kernel) {
    auto found = local_table.find(kernel->name);
    return found == local_table.end() ? 0 : found->second;
}

// All threads that can be resident have local memory, whatever is launched, and what there is stays. Source:
// CUDA Driver API, CU_CTX_LMEM_RESIZE_TO_MAX.
bool reserve_local(Context *context, uint64_t bytes_per_thread) {
    if (bytes_per_thread <= context->local_bytes)
        return true;
    uint64_t more = (bytes_per_thread - context_local_bytes) * multiprocessors * multiprocessor_threads;
    more = (more + granule_bytes - 1) / granule_bytes * granule_bytes - context->local_taken;
    if (!take_vram(context->device, more))
        return false;
    context->local_taken += more;
    context->local_bytes = bytes_per_thread;
    return true;
}

bool load_code(Function &function) {
    if (!function.loaded && !take_vram(function.context->device, code_bytes))
        return false;
    function.loaded = true;
    return true;
}

void unload_code(const Function &function) {
    if (function.loaded)
        give_vram(function.context->device, code_bytes);
}

} // namespace cudasim

DRIVER cuCtxSetLimit(int limit, uint64_t value) {
    ENTER(Needs::context);
    if (limit != stack_size)
        return call.wrong(Kind::limit, invalid_value, text("limit %d is not simulated", limit));
    // The call waits for all work of the context. Source: CUDA Driver API, cuCtxSetLimit.
    if (call.context->outstanding > 0)
        run_all(call, call.context);
    return reserve_local(call.context, value) ? ok : out_of_memory;
}

DRIVER cuCtxGetLimit(uint64_t *value, int limit) {
    ENTER(Needs::context);
    if (limit != stack_size)
        return call.wrong(Kind::limit, invalid_value, text("limit %d is not simulated", limit));
    *value = call.context->local_bytes;
    return ok;
}
