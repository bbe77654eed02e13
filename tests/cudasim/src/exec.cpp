#include "exec.h"

#include <cstring>
#include <map>
#include <numeric>

#include "check.h"
#include "fibre.h"
#include "threads.h"
#include "violation.h"

namespace cudasim {

Threads threads;

namespace {

std::map<std::string, const cuzk_sim_kernel *> &registry() {
    static std::map<std::string, const cuzk_sim_kernel *> kernels; // filled by constructors of other files
    return kernels;
}

// Permutation visits 0 to n-1 in an order given by a seed: i -> (step i + start) mod n with step coprime to
// n.
struct Permutation {
    uint64_t n = 1, step = 1, start = 0;
    Permutation(uint64_t n, uint64_t seed) : n(n) {
        if (seed == 0 || n == 1)
            return;
        start = seed % n;
        step = seed / n % n | 1;
        while (std::gcd(step, n) != 1)
            step++;
    }
    uint64_t operator[](uint64_t i) const { return uint64_t((unsigned __int128)step * i % n + start) % n; }
};

uint64_t
mix(uint64_t v) { // Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", section 4
    v += 0x9e3779b97f4a7c15;
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9;
    v = (v ^ v >> 27) * 0x94d049bb133111eb;
    return v ^ v >> 31;
}

struct Warp {
    uint32_t arrived = 0;   // lanes waiting in the current exchange
    uint32_t number = 0;    // of the current exchange
    uint32_t values[2][32]; // of this exchange and the last: a lane may still read the last one's
};

const Launch *launch;
const Permutation *thread_order;
cuzk_sim_position position;
alignas(16) unsigned char argument_bytes[4096];
Fibre fibres[max_block_threads];
bool prepared[max_block_threads];
uint32_t idle[max_block_threads], idle_count; // fibres without a thread
uint32_t fibre_of[max_block_threads];         // by thread
uint32_t ready[max_block_threads], ready_count;
uint32_t waiting[max_block_threads], waiting_count; // at the block's barrier
uint32_t started, ended, current_fibre;
Warp warps[max_warps];
void *scheduler;

void suspend() {
    cudasim_switch(&fibres[current_fibre].stack_pointer, scheduler);
}

void make_ready(uint32_t thread) {
    ready[ready_count++] = thread;
}

void enter_thread(uint32_t thread) {
    threads.current = thread;
    position.thread_x = thread;
}

// release_barrier lets all waiting threads go on if none is missing; `arriving` more have come that do not
// wait.
void release_barrier(uint32_t arriving) {
    if (waiting_count + arriving == 0 || waiting_count + arriving != launch->threads - ended)
        return;
    threads.phase++;
    bool backwards = launch->seed != 0 && (mix(launch->seed + threads.phase) & 1);
    for (uint32_t i = 0; i < waiting_count; i++)
        make_ready(waiting[backwards ? i : waiting_count - 1 - i]);
    waiting_count = 0;
}

// Each fibre runs whole threads one after the other; a thread that waits keeps its fibre, and another fibre
// goes on with the threads not yet started. A kernel without barriers needs one fibre and no switches.
void fibre_main() {
    for (;;) {
        while (started < launch->threads) {
            uint32_t thread = uint32_t((*thread_order)[started++]);
            fibre_of[thread] = current_fibre;
            enter_thread(thread);
            launch->kernel->run(argument_bytes);
            ended++;
            release_barrier(0);
        }
        idle[idle_count++] = current_fibre;
        suspend();
    }
}

void resume(uint32_t fibre) {
    current_fibre = fibre;
    if (!prepared[fibre]) {
        prepare(fibres[fibre], fibre, fibre_main);
        prepared[fibre] = true;
    }
    running.stack = reinterpret_cast<uint64_t>(fibres[fibre].stack);
    cudasim_switch(&scheduler, fibres[fibre].stack_pointer);
}

void drop_fibres() {
    std::memset(prepared, 0, sizeof prepared);
    idle_count = 0;
    for (uint32_t i = max_block_threads; i-- > 0;)
        idle[idle_count++] = i;
}

void report_stuck() {
    uint32_t exchanging = 0;
    for (const Warp &w : warps)
        exchanging += uint32_t(__builtin_popcount(w.arrived));
    report_in_kernel(Kind::barrier,
                     text("of %u threads %u wait at a barrier and %u in a warp exchange, %u have returned: "
                          "none can go on",
                          launch->threads, waiting_count, exchanging, ended));
    running.code = 719;
}

void run_block() {
    threads.block++;
    threads.block_phase = ++threads.phase;
    started = ended = ready_count = waiting_count = 0;
    for (Warp &w : warps)
        w.arrived = 0;
    while (running.code == 0 && ended < launch->threads) {
        if (ready_count > 0) {
            uint32_t thread = ready[--ready_count];
            enter_thread(thread);
            resume(fibre_of[thread]);
        } else if (started < launch->threads) {
            resume(idle[--idle_count]);
        } else {
            report_stuck();
        }
    }
    if (running.code != 0)
        drop_fibres(); // their stacks are given up where they stand
}

// exchange publishes v, waits for the warp's 32 lanes, and returns their values.
const uint32_t *exchange(uint32_t v) {
    uint32_t thread = threads.current;
    Warp &w = warps[thread / 32];
    uint32_t number = w.number;
    w.values[number & 1][thread % 32] = v;
    w.arrived |= 1u << (thread % 32);
    if (w.arrived == 0xffffffffu) {
        w.arrived = 0;
        w.number++;
        threads.exchanges[thread / 32]++;
        for (uint32_t lane = 0; lane < 32; lane++)
            if (lane != thread % 32)
                make_ready(thread / 32 * 32 + lane);
    } else {
        suspend();
    }
    return w.values[number & 1];
}

} // namespace

const cuzk_sim_kernel *find_kernel(const std::string &name) {
    auto found = registry().find(name);
    return found == registry().end() ? nullptr : found->second;
}

std::vector<const cuzk_sim_kernel *> all_kernels() {
    std::vector<const cuzk_sim_kernel *> kernels;
    for (auto &[name, kernel] : registry())
        kernels.push_back(kernel);
    return kernels;
}

void fail_launch(int code) {
    running.code = code;
    if (running.kernel)
        suspend();
}

std::string position_text() {
    return text("block (%u, %u) thread %u", position.block_x, position.block_y, threads.current);
}

int run_launch(const Launch &l) {
    launch = &l;
    Permutation by_thread(l.threads, mix(l.seed) * (l.seed != 0));
    Permutation by_block(uint64_t(l.grid_x) * l.grid_y, mix(l.seed + 1) * (l.seed != 0));
    thread_order = &by_thread;
    std::memcpy(argument_bytes, l.arguments.data(), l.kernel->args_bytes);
    position.block_threads = l.threads;
    position.grid_x = l.grid_x;
    position.grid_y = l.grid_y;
    if (idle_count == 0)
        drop_fibres();
    running.kernel = true;
    threads.launch_phase = threads.phase + 1;
    for (uint64_t i = 0; i < by_block.n && running.code == 0; i++) {
        uint64_t block = by_block[i];
        position.block_x = uint32_t(block % l.grid_x);
        position.block_y = uint32_t(block / l.grid_x);
        run_block();
    }
    running.kernel = false;
    return running.code;
}

} // namespace cudasim

using namespace cudasim;

extern "C" {

void cuzk_sim_register(const cuzk_sim_kernel *kernel) {
    registry()[kernel->name] = kernel;
}

const cuzk_sim_position *cuzk_sim_self(void) {
    return &position;
}

void cuzk_sim_barrier(void) {
    if (waiting_count + 1 == launch->threads - ended) { // the last to come goes on at once
        release_barrier(1);
        return;
    }
    waiting[waiting_count++] = threads.current;
    suspend();
}

uint32_t cuzk_sim_shuffle(uint32_t v, uint32_t from_lane) {
    return exchange(v)[from_lane % 32];
}

uint32_t cuzk_sim_ballot(int predicate) {
    const uint32_t *values = exchange(predicate != 0);
    uint32_t ballot = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        ballot |= values[lane] << lane;
    return ballot;
}
}
