/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The C symbols of supraseal-c2, served by libcuzk, for the Rust crates that
 * link them. New code should use cuzk.h.
 *
 * Values, memory and threads are as in cuzk.h, but for what follows here.
 *
 * Errors come back by value. code is 0, or a CUZK_ERR_* of cuzk.h; message is
 * NULL, or memory that the caller frees with free().
 *
 * A supraseal_srs or a pending proof holds a number, not an address, and may be
 * copied by value. A call with one that was dropped, is null or was never given
 * out returns an error; a call that returns none does nothing. It never crashes.
 *
 * Two families have a function of the name generate_groth16_proofs_c: it takes
 * six arguments in the crates.io versions 0.1.0 to 0.1.2, and eight in Curio's
 * fork. Here that name is the one with six; cuzk_generate_groth16_proofs_c8 is the
 * one with eight.
 */
#ifndef CUZK_SUPRASEAL_C2_H
#define CUZK_SUPRASEAL_C2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RustError: 16 bytes, returned by value. */
typedef struct supraseal_error {
    int32_t code;
    char *message;
} supraseal_error;

/* SRS: 8 bytes. */
typedef struct supraseal_srs {
    void *ptr;
} supraseal_srs;

/* Assignment<Scalar>: 17 words, 136 bytes. Bits of a density at and past its
 * bit_len are ignored. c is never read and may be NULL. Circuits of one call
 * may have different densities; each uses its own. */
typedef struct supraseal_assignment {
    const uint64_t *a_aux_density; /* bit_len = aux_assignment_size */
    size_t a_aux_bit_len;
    size_t a_aux_popcount;
    const uint64_t *b_inp_density; /* bit_len = inp_assignment_size */
    size_t b_inp_bit_len;
    size_t b_inp_popcount;
    const uint64_t *b_aux_density; /* bit_len = aux_assignment_size */
    size_t b_aux_bit_len;
    size_t b_aux_popcount;
    const cuzk_fr *a; /* [abc_size] */
    const cuzk_fr *b;
    const cuzk_fr *c;
    size_t abc_size;
    const cuzk_fr *inp_assignment_data;
    size_t inp_assignment_size;
    const cuzk_fr *aux_assignment_data;
    size_t aux_assignment_size;
} supraseal_assignment;

/* ------------------------------------------------- parameters, both families --- */

/* Opens a parameter file into *ret, whose former value is overwritten, not
 * dropped. Blocks until the points are read and checked. cache keeps the set
 * open for later calls with cache and the same path; of more than four sets the
 * least recently used is released. On an error *ret is null, if ret is not. */
supraseal_error create_SRS(supraseal_srs *ret, const char *srs_path, bool cache);

/* Takes the path of *ref out of the cache. Does nothing for a null or dropped
 * handle. */
void evict_SRS(const supraseal_srs *ref);

/* Releases the handle. Does nothing for a null handle or one that was dropped
 * already. *ref is not written. */
void drop_SRS(supraseal_srs *ref);

/* A handle of its own for the same set; null for a null or dropped one. */
supraseal_srs clone_SRS(const supraseal_srs *ref);

/* ----------------------------------------------------------- crates.io 0.1.x --- */

/* Proves num_circuits circuits, 0 allowed. Blocks. proofs may be uninitialised;
 * it is written on success only. Every proof was verified. */
supraseal_error generate_groth16_proofs_c(const supraseal_assignment *provers, size_t num_circuits,
                                          const cuzk_fr *r_s, const cuzk_fr *s_s, cuzk_proof *proofs,
                                          const supraseal_srs *srs);

/* ---------------------------------------------------------------- Curio's fork --- */

/* The form with eight arguments. gpu_mtx is ignored: the scheduler lets
 * partitions share a device. gpu_index is an index in the device list of cuzk.h, in which GPUs
 * come first, or -1 for any. */
supraseal_error cuzk_generate_groth16_proofs_c8(const supraseal_assignment *provers, size_t num_circuits,
                                                const cuzk_fr *r_s, const cuzk_fr *s_s, cuzk_proof *proofs,
                                                const supraseal_srs *srs, void *gpu_mtx, int32_t gpu_index);

/* Starts the proofs and returns when no a or b is read any more; a, b and c may
 * then be freed. Densities, inputs and aux stay in use until
 * finalize_groth16_proof_c or destroy_pending_proof returns; the set may be
 * dropped. On an error *pending_out is NULL. */
supraseal_error generate_groth16_proofs_start_c(const supraseal_assignment *provers, size_t num_circuits,
                                                const cuzk_fr *r_s, const cuzk_fr *s_s,
                                                const supraseal_srs *srs, void *gpu_mtx, int32_t gpu_index,
                                                void **pending_out);

/* Waits for the proofs and stores as many as were started. Ends the handle,
 * whatever the outcome. */
supraseal_error finalize_groth16_proof_c(void *handle, cuzk_proof *proofs);

/* Cancels the proofs, waits until nothing is read any more, and ends the handle.
 * Does nothing for a null handle or one that has ended. */
void destroy_pending_proof(void *handle);

/* A token, never NULL, that names no lock; see gpu_mtx above. */
void *create_gpu_mutex(void);

/* Does nothing. */
void destroy_gpu_mutex(void *mtx);

#ifdef __cplusplus
}
#endif

#endif /* CUZK_SUPRASEAL_C2_H */
