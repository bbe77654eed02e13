/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The symbols of cuzk.h. They are defined here rather than exported from Go so
 * that the compiler holds them against the header, const and all, and so that
 * Go is entered on threads that never end (entry.c).
 */
#include "cuzk.h"
#include "internal.h"
#include "_cgo_export.h"

#include <pthread.h>

#if UINTPTR_MAX != UINT64_MAX
#error "libcuzk needs 64-bit pointers"
#endif

/* The twins of calls.h. */
#define SAME(type, member, twin, twin_member)                                                                \
    _Static_assert(offsetof(type, member) == offsetof(struct twin, twin_member) &&                           \
                       sizeof(((type *)0)->member) == sizeof(((struct twin *)0)->twin_member),               \
                   #twin "." #twin_member)
#define SAME_SIZE(type, twin) _Static_assert(sizeof(type) == sizeof(struct twin), #twin)
SAME_SIZE(cuzk_density, cuzkc_density);
SAME(cuzk_density, words, cuzkc_density, words);
SAME(cuzk_density, bit_len, cuzkc_density, bit_len);
SAME(cuzk_density, popcount, cuzkc_density, popcount);
SAME_SIZE(cuzk_assignment, cuzkc_assignment);
SAME(cuzk_assignment, struct_size, cuzkc_assignment, struct_size);
SAME(cuzk_assignment, a, cuzkc_assignment, a);
SAME(cuzk_assignment, b, cuzkc_assignment, b);
SAME(cuzk_assignment, c, cuzkc_assignment, c);
SAME(cuzk_assignment, num_rows, cuzkc_assignment, num_rows);
SAME(cuzk_assignment, inputs, cuzkc_assignment, inputs);
SAME(cuzk_assignment, num_inputs, cuzkc_assignment, num_inputs);
SAME(cuzk_assignment, aux, cuzkc_assignment, aux);
SAME(cuzk_assignment, num_aux, cuzkc_assignment, num_aux);
SAME(cuzk_assignment, a_aux, cuzkc_assignment, a_aux);
SAME(cuzk_assignment, b_inputs, cuzkc_assignment, b_inputs);
SAME(cuzk_assignment, b_aux, cuzkc_assignment, b_aux);

/* ---------------------------------------------------- versions and names --- */

uint32_t cuzk_abi_version(void) {
    return CUZK_ABI_VERSION;
}

const char *cuzk_status_name(cuzk_status status) {
    switch (status) {
#define NAME(s)                                                                                              \
    case s:                                                                                                  \
        return #s
        NAME(CUZK_OK);
        NAME(CUZK_ERR_NULL);
        NAME(CUZK_ERR_ALIGNMENT);
        NAME(CUZK_ERR_HANDLE);
        NAME(CUZK_ERR_STRUCT_SIZE);
        NAME(CUZK_ERR_SIZE);
        NAME(CUZK_ERR_DENSITY);
        NAME(CUZK_ERR_SRS_MISMATCH);
        NAME(CUZK_ERR_SCALAR);
        NAME(CUZK_ERR_POINT);
        NAME(CUZK_ERR_VALUE);
        NAME(CUZK_ERR_PROOF);
        NAME(CUZK_ERR_UNSATISFIED);
        NAME(CUZK_ERR_FILE_IO);
        NAME(CUZK_ERR_FILE_TRUNCATED);
        NAME(CUZK_ERR_FILE_COUNTS);
        NAME(CUZK_ERR_FILE_ENCODING);
        NAME(CUZK_ERR_FILE_POINT);
        NAME(CUZK_ERR_FILE_INFINITY);
        NAME(CUZK_ERR_FILE_CHANGED);
        NAME(CUZK_ERR_NO_DEVICE);
        NAME(CUZK_ERR_DEVICE);
        NAME(CUZK_ERR_DEVICE_LOST);
        NAME(CUZK_ERR_DEVICE_MEMORY);
        NAME(CUZK_ERR_HOST_MEMORY);
        NAME(CUZK_ERR_CANCELLED);
        NAME(CUZK_ERR_TIMEOUT);
        NAME(CUZK_ERR_CLOSED);
        NAME(CUZK_ERR_INTERNAL);
#undef NAME
    }
    return "CUZK_ERR_UNKNOWN";
}

/* Texts that Go makes once and that stay for the life of the process. */
struct kept_text {
    pthread_mutex_t lock;
    const char *text; /* guarded by lock; NULL until it could be made */
};

static const char *text_of(const char *name, cuzkc_go_function *function, struct kept_text *kept) {
    if (cuzkc_is_child()) /* lock may be held for ever there */
        return kept->text != NULL ? kept->text : "";
    pthread_mutex_lock(&kept->lock);
    if (kept->text == NULL) {
        const struct cuzkc_out_args args = {ADDRESS(&kept->text)};
        cuzkc_enter(name, function, &args);
    }
    const char *text = kept->text;
    pthread_mutex_unlock(&kept->lock);
    return text != NULL ? text : "";
}

const char *cuzk_version(void) {
    static struct kept_text version = {PTHREAD_MUTEX_INITIALIZER, NULL};
    return text_of(__func__, cuzkgoVersion, &version);
}

const char *cuzk_gpu_reason(void) {
    static struct kept_text reason = {PTHREAD_MUTEX_INITIALIZER, NULL};
    return text_of(__func__, cuzkgoGPUReason, &reason);
}

/* ------------------------------------------------------------- the calls --- */

cuzk_status cuzk_proof_serialize(const cuzk_proof *proof, uint8_t *out) {
    return ENTER(cuzkgoProofSerialize, cuzkc_proof_serialize_args, .proof = ADDRESS(proof),
                 .out = ADDRESS(out));
}

cuzk_status cuzk_proof_deserialize(const uint8_t *bytes, cuzk_proof *out) {
    return ENTER(cuzkgoProofDeserialize, cuzkc_proof_deserialize_args, .bytes = ADDRESS(bytes),
                 .out = ADDRESS(out));
}

cuzk_status cuzk_random_scalar(cuzk_fr *out) {
    return ENTER(cuzkgoRandomScalar, cuzkc_out_args, .out = ADDRESS(out));
}

cuzk_status cuzk_srs_open(const char *path, const cuzk_srs_options *options, cuzk_srs *out) {
    return ENTER(cuzkgoSRSOpen, cuzkc_srs_open_args, .path = ADDRESS(path), .options = ADDRESS(options),
                 .out = ADDRESS(out));
}

cuzk_status cuzk_srs_retain(cuzk_srs srs) {
    return ENTER(cuzkgoSRSRetain, cuzkc_handle_args, .handle = srs);
}

cuzk_status cuzk_srs_release(cuzk_srs srs) {
    return ENTER(cuzkgoSRSRelease, cuzkc_handle_args, .handle = srs);
}

cuzk_status cuzk_srs_get_info(cuzk_srs srs, cuzk_srs_info *out) {
    return ENTER(cuzkgoSRSGetInfo, cuzkc_srs_get_info_args, .srs = srs, .out = ADDRESS(out));
}

cuzk_status cuzk_prove_partition(cuzk_srs srs, const cuzk_assignment *assignment, const cuzk_fr *r,
                                 const cuzk_fr *s, const cuzk_prove_options *options, cuzk_proof *out) {
    return ENTER(cuzkgoProvePartition, cuzkc_prove_args, .srs = srs, .assignments = ADDRESS(assignment),
                 .count = 1, .r = ADDRESS(r), .s = ADDRESS(s), .options = ADDRESS(options),
                 .out = ADDRESS(out));
}

cuzk_status cuzk_job_start(cuzk_srs srs, const cuzk_assignment *assignments, size_t count, const cuzk_fr *r,
                           const cuzk_fr *s, const cuzk_prove_options *options, cuzk_job *out) {
    return ENTER(cuzkgoJobStart, cuzkc_prove_args, .srs = srs, .assignments = ADDRESS(assignments),
                 .count = count, .r = ADDRESS(r), .s = ADDRESS(s), .options = ADDRESS(options),
                 .out = ADDRESS(out));
}

cuzk_status cuzk_job_wait(cuzk_job job, uint64_t timeout_ms, cuzk_proof *out) {
    return ENTER(cuzkgoJobWait, cuzkc_job_wait_args, .job = job, .timeout_ms = timeout_ms,
                 .out = ADDRESS(out));
}

cuzk_status cuzk_job_wait_rows(cuzk_job job, uint64_t timeout_ms) {
    return ENTER(cuzkgoJobWaitRows, cuzkc_job_wait_args, .job = job, .timeout_ms = timeout_ms);
}

cuzk_status cuzk_job_cancel(cuzk_job job) {
    return ENTER(cuzkgoJobCancel, cuzkc_handle_args, .handle = job);
}

cuzk_status cuzk_job_release(cuzk_job job) {
    return ENTER(cuzkgoJobRelease, cuzkc_handle_args, .handle = job);
}

cuzk_status cuzk_verify(cuzk_srs srs, const cuzk_fr *inputs, size_t num_inputs, const cuzk_proof *proof) {
    return ENTER(cuzkgoVerify, cuzkc_verify_args, .srs = srs, .inputs = ADDRESS(inputs),
                 .num_inputs = num_inputs, .proof = ADDRESS(proof));
}

cuzk_status cuzk_device_count(uint32_t *out) {
    return ENTER(cuzkgoDeviceCount, cuzkc_out_args, .out = ADDRESS(out));
}

cuzk_status cuzk_device_get_info(uint32_t index, cuzk_device_info *out) {
    return ENTER(cuzkgoDeviceGetInfo, cuzkc_device_get_info_args, .index = index, .out = ADDRESS(out));
}

cuzk_status cuzk_set_workers(uint32_t workers) {
    return ENTER(cuzkgoSetWorkers, cuzkc_set_workers_args, .workers = workers);
}

cuzk_status cuzk_host_alloc(size_t size, void **out) {
    return ENTER(cuzkgoHostAlloc, cuzkc_host_alloc_args, .size = size, .out = ADDRESS(out));
}

cuzk_status cuzk_host_free(void *memory) {
    return ENTER(cuzkgoHostFree, cuzkc_host_free_args, .memory = ADDRESS(memory));
}

cuzk_status cuzk_set_log(cuzk_log_fn fn, void *user, int32_t max_level) {
    return ENTER(cuzkgoSetLog, cuzkc_set_log_args, .fn = ADDRESS(fn), .user = ADDRESS(user),
                 .max_level = max_level);
}

void cuzkc_log(cuzkc_address fn, int32_t level, const char *message, cuzkc_address user) {
    ((cuzk_log_fn)fn)(level, message, (void *)user);
}

cuzk_status cuzk_metrics(char *out, size_t size, size_t *needed) {
    return ENTER(cuzkgoMetrics, cuzkc_metrics_args, .out = ADDRESS(out), .size = size,
                 .needed = ADDRESS(needed));
}

cuzk_status cuzk_timeline_start(const char *path) {
    return ENTER(cuzkgoTimelineStart, cuzkc_timeline_start_args, .path = ADDRESS(path));
}

cuzk_status cuzk_timeline_stop(void) {
    return cuzkc_enter(__func__, cuzkgoTimelineStop, NULL);
}

static int timeline_to_stop, log_to_flush;

void cuzkc_stop_timeline_at_exit(void) {
    __atomic_store_n(&timeline_to_stop, 1, __ATOMIC_RELAXED);
}

void cuzkc_flush_log_at_exit(void) {
    __atomic_store_n(&log_to_flush, 1, __ATOMIC_RELAXED);
}

/* The library's threads still run when a process ends by exit() or by returning
 * from main. One that ends otherwise leaves a file without its last spans, and
 * the last lines of the log. */
__attribute__((destructor)) static void complete_output(void) {
    if (cuzkc_is_child())
        return;
    if (__atomic_load_n(&timeline_to_stop, __ATOMIC_RELAXED))
        cuzk_timeline_stop();
    if (__atomic_load_n(&log_to_flush, __ATOMIC_RELAXED))
        cuzkc_enter(__func__, cuzkgoFlushLog, NULL);
}
