/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The symbols of supraseal_c2.h, for the same reasons as in exports.c. */
#include "supraseal_c2.h"
#include "internal.h"
#include "_cgo_export.h"

#include <stdatomic.h>
#include <string.h>

#define MUTABLE(type, pointer) ((type *)(pointer))

static supraseal_error answer(cuzk_status status) {
    supraseal_error e = {status, NULL};
    if (status != CUZK_OK)
        e.message = strdup(cuzk_last_error());
    return e;
}

/* First in every function that calls into Go and returns an error. */
#define NOT_FORKED()                                                                                         \
    if (cuzkc_forked(__func__))                                                                              \
    return answer(CUZK_ERR_CLOSED)

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
    cuzk_status status = CUZK_ERR_CLOSED;
    if (!cuzkc_forked(__func__))
        status = cuzkgoSuprasealOpen(MUTABLE(char, srs_path), cache ? 1 : 0, ret, &handle);
    if (ret != NULL)
        memcpy(ret, &handle, sizeof handle); /* ret may be misaligned */
    return answer(status);
}

void evict_SRS(const supraseal_srs *ref) {
    if (ref != NULL && !cuzkc_forked(__func__))
        cuzkgoSuprasealEvict(handle_of(ref));
}

void drop_SRS(supraseal_srs *ref) {
    if (ref != NULL && !cuzkc_forked(__func__))
        cuzkgoSuprasealDrop(handle_of(ref));
}

supraseal_srs clone_SRS(const supraseal_srs *ref) {
    supraseal_srs clone = {NULL};
    if (ref != NULL && !cuzkc_forked(__func__))
        clone.ptr = token(cuzkgoSuprasealClone(handle_of(ref)));
    return clone;
}

supraseal_error generate_groth16_proofs_c(const supraseal_assignment *provers, size_t num_circuits,
                                          const cuzk_fr *r_s, const cuzk_fr *s_s, cuzk_proof *proofs,
                                          const supraseal_srs *srs) {
    NOT_FORKED();
    return answer(cuzkgoSuprasealProve(MUTABLE(supraseal_assignment, provers), num_circuits,
                                       MUTABLE(cuzk_fr, r_s), MUTABLE(cuzk_fr, s_s), proofs,
                                       MUTABLE(supraseal_srs, srs), CUZK_DEVICE_ANY));
}

supraseal_error cuzk_generate_groth16_proofs_c8(const supraseal_assignment *provers, size_t num_circuits,
                                                const cuzk_fr *r_s, const cuzk_fr *s_s, cuzk_proof *proofs,
                                                const supraseal_srs *srs, void *gpu_mtx, int32_t gpu_index) {
    NOT_FORKED();
    (void)gpu_mtx;
    return answer(cuzkgoSuprasealProve(MUTABLE(supraseal_assignment, provers), num_circuits,
                                       MUTABLE(cuzk_fr, r_s), MUTABLE(cuzk_fr, s_s), proofs,
                                       MUTABLE(supraseal_srs, srs), gpu_index));
}

supraseal_error generate_groth16_proofs_start_c(const supraseal_assignment *provers, size_t num_circuits,
                                                const cuzk_fr *r_s, const cuzk_fr *s_s,
                                                const supraseal_srs *srs, void *gpu_mtx, int32_t gpu_index,
                                                void **pending_out) {
    (void)gpu_mtx;
    uint64_t handle = 0;
    cuzk_status status = CUZK_ERR_CLOSED;
    if (!cuzkc_forked(__func__))
        status = cuzkgoSuprasealStart(MUTABLE(supraseal_assignment, provers), num_circuits,
                                      MUTABLE(cuzk_fr, r_s), MUTABLE(cuzk_fr, s_s),
                                      MUTABLE(supraseal_srs, srs), gpu_index, pending_out, &handle);
    if (pending_out != NULL)
        memcpy(pending_out, &handle, sizeof handle); /* may be misaligned */
    return answer(status);
}

supraseal_error finalize_groth16_proof_c(void *handle, cuzk_proof *proofs) {
    NOT_FORKED();
    return answer(cuzkgoSuprasealFinalize(number(handle), proofs));
}

void destroy_pending_proof(void *handle) {
    if (handle != NULL && !cuzkc_forked(__func__))
        cuzkgoSuprasealDestroy(number(handle));
}

void *create_gpu_mutex(void) {
    static _Atomic uint64_t last;
    return token(atomic_fetch_add(&last, 1) + 1);
}

void destroy_gpu_mutex(void *mtx) {
    (void)mtx;
}
