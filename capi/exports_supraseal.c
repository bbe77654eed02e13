/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The symbols of supraseal_c2.h, for the same reasons as in exports.c. */
#include "supraseal_c2.h"
#include "internal.h"
#include "_cgo_export.h"

#include <stdatomic.h>
#include <string.h>

/* The twin of calls.h, which has one struct for the three members of a density. */
#define SAME(member, twin_member)                                                                            \
    _Static_assert(offsetof(supraseal_assignment, member) ==                                                 \
                           offsetof(struct cuzkc_supraseal_assignment, twin_member) &&                       \
                       sizeof(((supraseal_assignment *)0)->member) ==                                        \
                           sizeof(((struct cuzkc_supraseal_assignment *)0)->twin_member),                    \
                   #twin_member)
_Static_assert(sizeof(supraseal_assignment) == sizeof(struct cuzkc_supraseal_assignment), "size");
SAME(a_aux_density, a_aux.words);
SAME(a_aux_bit_len, a_aux.bit_len);
SAME(a_aux_popcount, a_aux.popcount);
SAME(b_inp_density, b_inputs.words);
SAME(b_inp_bit_len, b_inputs.bit_len);
SAME(b_inp_popcount, b_inputs.popcount);
SAME(b_aux_density, b_aux.words);
SAME(b_aux_bit_len, b_aux.bit_len);
SAME(b_aux_popcount, b_aux.popcount);
SAME(a, a);
SAME(b, b);
SAME(c, c);
SAME(abc_size, num_rows);
SAME(inp_assignment_data, inputs);
SAME(inp_assignment_size, num_inputs);
SAME(aux_assignment_data, aux);
SAME(aux_assignment_size, num_aux);

static supraseal_error answer(cuzk_status status) {
    supraseal_error e = {status, NULL};
    if (status != CUZK_OK)
        e.message = strdup(cuzk_last_error());
    return e;
}

/* Handles are numbers inside of pointers. */
static uint64_t number(const void *handle) {
    return (uint64_t)(uintptr_t)handle;
}
static void *token(uint64_t handle) {
    return (void *)(uintptr_t)handle;
}

/* ref may be misaligned. */
static uint64_t handle_of(const supraseal_srs *ref) {
    uint64_t handle;
    memcpy(&handle, ref, sizeof handle);
    return handle;
}

supraseal_error create_SRS(supraseal_srs *ret, const char *srs_path, bool cache) {
    uint64_t handle = 0;
    cuzk_status status = ENTER(cuzkgoSuprasealOpen, cuzkc_supraseal_open_args, .path = ADDRESS(srs_path),
                               .cache = cache, .ret = ADDRESS(ret), .handle_out = ADDRESS(&handle));
    if (ret != NULL)
        memcpy(ret, &handle, sizeof handle); /* ret may be misaligned */
    return answer(status);
}

void evict_SRS(const supraseal_srs *ref) {
    if (ref != NULL)
        ENTER(cuzkgoSuprasealEvict, cuzkc_handle_args, .handle = handle_of(ref));
}

void drop_SRS(supraseal_srs *ref) {
    if (ref != NULL)
        ENTER(cuzkgoSuprasealDrop, cuzkc_handle_args, .handle = handle_of(ref));
}

supraseal_srs clone_SRS(const supraseal_srs *ref) {
    uint64_t clone = 0;
    if (ref != NULL)
        ENTER(cuzkgoSuprasealClone, cuzkc_supraseal_clone_args, .handle = handle_of(ref),
              .handle_out = ADDRESS(&clone));
    return (supraseal_srs){token(clone)};
}

supraseal_error generate_groth16_proofs_c(const supraseal_assignment *provers, size_t num_circuits,
                                          const cuzk_fr *r_s, const cuzk_fr *s_s, cuzk_proof *proofs,
                                          const supraseal_srs *srs) {
    return answer(ENTER(cuzkgoSuprasealProve, cuzkc_supraseal_prove_args, .provers = ADDRESS(provers),
                        .count = num_circuits, .r = ADDRESS(r_s), .s = ADDRESS(s_s), .srs = ADDRESS(srs),
                        .device = CUZK_DEVICE_ANY, .out = ADDRESS(proofs)));
}

supraseal_error cuzk_generate_groth16_proofs_c8(const supraseal_assignment *provers, size_t num_circuits,
                                                const cuzk_fr *r_s, const cuzk_fr *s_s, cuzk_proof *proofs,
                                                const supraseal_srs *srs, void *gpu_mtx, int32_t gpu_index) {
    (void)gpu_mtx;
    return answer(ENTER(cuzkgoSuprasealProve, cuzkc_supraseal_prove_args, .provers = ADDRESS(provers),
                        .count = num_circuits, .r = ADDRESS(r_s), .s = ADDRESS(s_s), .srs = ADDRESS(srs),
                        .device = gpu_index, .out = ADDRESS(proofs)));
}

supraseal_error generate_groth16_proofs_start_c(const supraseal_assignment *provers, size_t num_circuits,
                                                const cuzk_fr *r_s, const cuzk_fr *s_s,
                                                const supraseal_srs *srs, void *gpu_mtx, int32_t gpu_index,
                                                void **pending_out) {
    (void)gpu_mtx;
    uint64_t handle = 0;
    cuzk_status status =
        ENTER(cuzkgoSuprasealStart, cuzkc_supraseal_prove_args, .provers = ADDRESS(provers),
              .count = num_circuits, .r = ADDRESS(r_s), .s = ADDRESS(s_s), .srs = ADDRESS(srs),
              .device = gpu_index, .out = ADDRESS(pending_out), .handle_out = ADDRESS(&handle));
    if (pending_out != NULL)
        memcpy(pending_out, &handle, sizeof handle); /* may be misaligned */
    return answer(status);
}

supraseal_error finalize_groth16_proof_c(void *handle, cuzk_proof *proofs) {
    return answer(ENTER(cuzkgoSuprasealFinalize, cuzkc_supraseal_finalize_args, .handle = number(handle),
                        .proofs = ADDRESS(proofs)));
}

void destroy_pending_proof(void *handle) {
    if (handle != NULL)
        ENTER(cuzkgoSuprasealDestroy, cuzkc_handle_args, .handle = number(handle));
}

void *create_gpu_mutex(void) {
    static _Atomic uint64_t last;
    return token(atomic_fetch_add(&last, 1) + 1);
}

void destroy_gpu_mutex(void *mtx) {
    (void)mtx;
}
