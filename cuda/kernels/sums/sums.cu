// What the sums over the witness need besides the additions: ranks in a density
// bitmap, and positions of the dense values. A kernel here takes at most 27
// registers (nvcc -Xptxas -v, sm_90), so that its launch bound costs nothing; 256
// threads were not tuned.
#include "field/fr.cuh"
#include "sums/ones.cuh"

namespace cuzk {

// counts[t] = density bits among variables [RANK_RUN t, RANK_RUN (t + 1)),
// one thread for each count; a scan of counts gives the ranks.
struct DensityArgs {
    const u32 *density; // bitmap[ceil(n / 32)], bits past n ignored
    u32 *counts;        // counts[ceil(n / RANK_RUN)]
    u32 n;
    u32 pad;
};

CUZK_KERNEL(cuzk_density_count, DensityArgs, 256, 2) {
    u64 first = global_thread() * RANK_RUN;
    if (first >= a.n)
        return;
    u32 count = 0;
    for (u32 w = 0; w < RANK_RUN / 32 && first + 32 * w < a.n; w++)
        count += popcount32(constant_load(a.density, first / 32 + w) & bits_below(a.n, first + 32 * w));
    global_store(a.counts, global_thread(), count);
}

// The rank of variable v, or NONE if it is not in the bitmap.
CUZK_FN u32 rank_of(const u32 *density, const u32 *ranks, u32 v) {
    u32 word = v / 32, bit = v % 32;
    u32 own = constant_load(density, word);
    if (!(own >> bit & 1))
        return NONE;
    u32 rank = constant_load(ranks, v / RANK_RUN) + popcount32(own & ((1u << bit) - 1));
    for (u32 w = v / RANK_RUN * (RANK_RUN / 32); w < word; w++)
        rank += popcount32(constant_load(density, w));
    return rank;
}

// positions[j] is where the point of entry j of the dense list lies in a section.
// Entry j < inputs is input j, the others are the aux variables aux[j - inputs].
// One thread for each entry.
enum InputMode { INPUTS_NONE = 0, INPUTS_ALL = 1, INPUTS_DENSITY = 2 };

struct PositionsArgs {
    const u32 *aux;           // aux[n - inputs]
    const u32 *input_density; // mode INPUTS_DENSITY: bitmap[ceil(inputs / 32)]
    const u32 *input_ranks;
    const u32 *density; // of aux; null: every aux variable has a point
    const u32 *ranks;
    u32 *positions; // positions[n]; NONE where there is no point
    u32 n, inputs, mode;
    u32 base; // where the points of aux variables begin
};

CUZK_KERNEL(cuzk_dense_positions, PositionsArgs, 256, 2) {
    u64 j = global_thread();
    if (j >= a.n)
        return;
    u32 position;
    if (j < a.inputs) {
        position = a.mode == INPUTS_ALL       ? (u32)j
                   : a.mode == INPUTS_DENSITY ? rank_of(a.input_density, a.input_ranks, (u32)j)
                                              : NONE;
    } else {
        u32 v = constant_load(a.aux, j - a.inputs);
        u32 rank = a.density ? rank_of(a.density, a.ranks, v) : v;
        position = rank == NONE ? NONE : a.base + rank;
    }
    global_store(a.positions, j, position);
}

} // namespace cuzk
