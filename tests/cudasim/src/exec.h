// Runs kernels: the registry, and the threads of a block as fibres.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" {
struct cuzk_sim_position {
    uint32_t thread_x, block_threads, block_x, block_y, grid_x, grid_y;
};
struct cuzk_sim_kernel {
    const char *name;
    void (*run)(const void *arguments);
    size_t args_bytes;
    uint32_t max_threads;
};
}

namespace cudasim {

const cuzk_sim_kernel *find_kernel(const std::string &name);
std::vector<const cuzk_sim_kernel *> all_kernels();

struct Launch {
    const cuzk_sim_kernel *kernel = nullptr;
    uint32_t grid_x = 1, grid_y = 1, threads = 1;
    uint64_t seed = 0;               // 0: threads and blocks in order
    std::vector<uint64_t> arguments; // bytes of the argument struct, 8-byte aligned
};

// run_launch runs all blocks; the operation is in `running`. It returns the CUresult.
int run_launch(const Launch &launch);

// Shared memory of one block. Static shared memory of a kernel is at most this. Source: CUDA C++ Programming
// Guide, "Technical Specifications per Compute Capability".
constexpr uint64_t shared_bytes = 48 << 10;
constexpr uint64_t shared_base = 0x531000000000;
// Room for red zones between the arrays.
constexpr uint64_t shared_span = 2 * shared_bytes;

bool open_shared();
// shared_access checks one access to the block's shared memory.
void shared_access(uint64_t address, size_t bytes, uint32_t mode);
// fail_launch gives the running launch up; it does not return when called from a kernel's thread.
void fail_launch(int code);
// position_text names the running thread, for messages.
std::string position_text();

} // namespace cudasim
