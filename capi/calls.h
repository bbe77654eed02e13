/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What crosses from C to Go: the arguments of each call, and twins of those
 * structs of the headers that hold pointers. A pointer of the host is an integer
 * here, and in Go until it is read: Go's collector looks at every value of a
 * pointer type, and ends the process at one that no allocation can have, such as
 * the 8 that Rust gives for an empty array.
 */
#ifndef CUZK_CAPI_CALLS_H
#define CUZK_CAPI_CALLS_H

#include "cuzk.h"

/* An address in the host's memory, of whatever value the host gave. */
typedef uintptr_t cuzkc_address;

/* ----------------------------------- twins; exports.c compares the layouts --- */

struct cuzkc_density {
    cuzkc_address words;
    size_t bit_len, popcount;
};

struct cuzkc_assignment {
    size_t struct_size;
    cuzkc_address a, b, c;
    size_t num_rows;
    cuzkc_address inputs;
    size_t num_inputs;
    cuzkc_address aux;
    size_t num_aux;
    struct cuzkc_density a_aux, b_inputs, b_aux;
};

struct cuzkc_supraseal_assignment {
    struct cuzkc_density a_aux, b_inputs, b_aux;
    cuzkc_address a, b, c;
    size_t num_rows;
    cuzkc_address inputs;
    size_t num_inputs;
    cuzkc_address aux;
    size_t num_aux;
};

/* --------------------------------------------------------------- arguments --- */

/* cuzk_srs_retain, cuzk_srs_release, cuzk_job_cancel, cuzk_job_release, and the
 * supraseal calls with a handle alone. */
struct cuzkc_handle_args {
    uint64_t handle;
};

/* Calls whose one argument is where the result goes. */
struct cuzkc_out_args {
    cuzkc_address out;
};

struct cuzkc_proof_serialize_args {
    cuzkc_address proof, out;
};

struct cuzkc_proof_deserialize_args {
    cuzkc_address bytes, out;
};

struct cuzkc_srs_open_args {
    cuzkc_address path, options, out;
};

struct cuzkc_srs_get_info_args {
    cuzk_srs srs;
    cuzkc_address out;
};

/* cuzk_prove_partition, whose count is 1, and cuzk_job_start. */
struct cuzkc_prove_args {
    cuzk_srs srs;
    cuzkc_address assignments;
    size_t count;
    cuzkc_address r, s, options, out;
};

struct cuzkc_job_wait_args {
    cuzk_job job;
    uint64_t timeout_ms;
    cuzkc_address out;
};

struct cuzkc_verify_args {
    cuzk_srs srs;
    cuzkc_address inputs;
    size_t num_inputs;
    cuzkc_address proof;
};

struct cuzkc_device_get_info_args {
    uint32_t index;
    cuzkc_address out;
};

struct cuzkc_set_workers_args {
    uint32_t workers;
};

struct cuzkc_host_alloc_args {
    size_t size;
    cuzkc_address out;
};

struct cuzkc_host_free_args {
    cuzkc_address memory;
};

struct cuzkc_set_log_args {
    cuzkc_address fn, user;
    int32_t max_level;
};

struct cuzkc_metrics_args {
    cuzkc_address out;
    size_t size;
    cuzkc_address needed;
};

struct cuzkc_timeline_start_args {
    cuzkc_address path;
};

/* handle_out is where Go stores the new handle, ret is the host's place for it. */
struct cuzkc_supraseal_open_args {
    cuzkc_address path;
    int cache;
    cuzkc_address ret, handle_out;
};

struct cuzkc_supraseal_clone_args {
    uint64_t handle;
    cuzkc_address handle_out;
};

/* generate_groth16_proofs_c, its form with a device, and the one that starts.
 * out is the host's place for the proofs or for the pending proof. */
struct cuzkc_supraseal_prove_args {
    cuzkc_address provers;
    size_t count;
    cuzkc_address r, s, srs;
    int32_t device;
    cuzkc_address out, handle_out;
};

struct cuzkc_supraseal_finalize_args {
    uint64_t handle;
    cuzkc_address proofs;
};

#endif
