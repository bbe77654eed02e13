/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The symbols of cuzk.h. They are defined here rather than exported from Go so
 * that the compiler holds them against the header, const and all, and so that
 * error texts live where a C caller's thread ends: in thread-local storage.
 */
#include "cuzk.h"
#include "internal.h"
#include "_cgo_export.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if UINTPTR_MAX != UINT64_MAX
#error "libcuzk needs 64-bit pointers"
#endif

/* ------------------------------------------------------------ last error --- */

/* Longer texts are cut off. */
#define LAST_ERROR_MAX 65536

/* Allocated at a thread's first error, so that threads without one, and the
 * thread-local storage of programs, pay nothing. */
static _Thread_local char *last_error;
static _Thread_local size_t last_error_size;

static pthread_key_t last_error_key;
static pthread_once_t last_error_once = PTHREAD_ONCE_INIT;
static int last_error_has_key;

/* At the end of a thread. Destructors of the host may call the library after
 * this one, so it leaves the thread as one without an error; a new error sets
 * the key again, and this runs again. */
static void free_last_error(void *text) {
    free(text);
    last_error = NULL;
    last_error_size = 0;
}

static void make_last_error_key(void) {
    last_error_has_key = pthread_key_create(&last_error_key, free_last_error) == 0;
}

/* Makes room for size bytes; 0 if there is no memory. */
static int grow_last_error(size_t size) {
    if (size <= last_error_size)
        return 1;
    size_t rounded = size < 1024 ? 1024 : size;
    char *grown = realloc(last_error, rounded);
    if (grown == NULL)
        return 0;
    last_error = grown;
    last_error_size = rounded;
    pthread_once(&last_error_once, make_last_error_key);
    if (last_error_has_key)
        pthread_setspecific(last_error_key, last_error);
    return 1;
}

void cuzkc_set_last_error(const char *text, size_t length) {
    if (length >= LAST_ERROR_MAX)
        length = LAST_ERROR_MAX - 1;
    if (!grow_last_error(length + 1)) {
        if (last_error_size == 0)
            return; /* the status still tells */
        if (length >= last_error_size)
            length = last_error_size - 1;
    }
    memcpy(last_error, text, length);
    last_error[length] = '\0';
}

const char *cuzk_last_error(void) {
    return last_error != NULL ? last_error : "";
}

/* ------------------------------------------------------------------ fork --- */

static int forked; /* set in a child before it runs on */

static void note_fork(void) {
    forked = 1;
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, note_fork);
}

int cuzkc_forked(const char *function) {
    char text[160];
    if (!forked)
        return 0;
    int length = snprintf(text, sizeof text,
                          "%s: this process is a child made by fork(); libcuzk works in it only after exec()",
                          function);
    cuzkc_set_last_error(text, (size_t)length);
    return 1;
}

/* First in every function that calls into Go. */
#define NOT_FORKED()                                                                                         \
    if (cuzkc_forked(__func__))                                                                              \
    return CUZK_ERR_CLOSED

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
static const char *version_text = "";
static const char *gpu_reason_text = "";
static pthread_once_t version_once = PTHREAD_ONCE_INIT;
static pthread_once_t gpu_reason_once = PTHREAD_ONCE_INIT;

static void make_version(void) {
    const char *text = cuzkgoVersion();
    if (text != NULL)
        version_text = text;
}

static void make_gpu_reason(void) {
    const char *text = cuzkgoGPUReason();
    if (text != NULL)
        gpu_reason_text = text;
}

const char *cuzk_version(void) {
    if (!forked)
        pthread_once(&version_once, make_version);
    return version_text;
}

const char *cuzk_gpu_reason(void) {
    if (!forked)
        pthread_once(&gpu_reason_once, make_gpu_reason);
    return gpu_reason_text;
}

/* ------------------------------------------------------------- the calls --- */

/* cgo's prototypes have no const; the Go side writes through no pointer that
 * is const here. */
#define MUTABLE(type, pointer) ((type *)(pointer))

cuzk_status cuzk_proof_serialize(const cuzk_proof *proof, uint8_t *out) {
    NOT_FORKED();
    return cuzkgoProofSerialize(MUTABLE(cuzk_proof, proof), out);
}

cuzk_status cuzk_proof_deserialize(const uint8_t *bytes, cuzk_proof *out) {
    NOT_FORKED();
    return cuzkgoProofDeserialize(MUTABLE(uint8_t, bytes), out);
}

cuzk_status cuzk_random_scalar(cuzk_fr *out) {
    NOT_FORKED();
    return cuzkgoRandomScalar(out);
}

cuzk_status cuzk_srs_open(const char *path, const cuzk_srs_options *options, cuzk_srs *out) {
    NOT_FORKED();
    return cuzkgoSRSOpen(MUTABLE(char, path), MUTABLE(cuzk_srs_options, options), out);
}

cuzk_status cuzk_srs_retain(cuzk_srs srs) {
    NOT_FORKED();
    return cuzkgoSRSRetain(srs);
}

cuzk_status cuzk_srs_release(cuzk_srs srs) {
    NOT_FORKED();
    return cuzkgoSRSRelease(srs);
}

cuzk_status cuzk_srs_get_info(cuzk_srs srs, cuzk_srs_info *out) {
    NOT_FORKED();
    return cuzkgoSRSGetInfo(srs, out);
}

cuzk_status cuzk_prove_partition(cuzk_srs srs, const cuzk_assignment *assignment, const cuzk_fr *r,
                                 const cuzk_fr *s, const cuzk_prove_options *options, cuzk_proof *out) {
    NOT_FORKED();
    return cuzkgoProvePartition(srs, MUTABLE(cuzk_assignment, assignment), MUTABLE(cuzk_fr, r),
                                MUTABLE(cuzk_fr, s), MUTABLE(cuzk_prove_options, options), out);
}

cuzk_status cuzk_job_start(cuzk_srs srs, const cuzk_assignment *assignments, size_t count, const cuzk_fr *r,
                           const cuzk_fr *s, const cuzk_prove_options *options, cuzk_job *out) {
    NOT_FORKED();
    return cuzkgoJobStart(srs, MUTABLE(cuzk_assignment, assignments), count, MUTABLE(cuzk_fr, r),
                          MUTABLE(cuzk_fr, s), MUTABLE(cuzk_prove_options, options), out);
}

cuzk_status cuzk_job_wait(cuzk_job job, uint64_t timeout_ms, cuzk_proof *out) {
    NOT_FORKED();
    return cuzkgoJobWait(job, timeout_ms, out);
}

cuzk_status cuzk_job_wait_rows(cuzk_job job, uint64_t timeout_ms) {
    NOT_FORKED();
    return cuzkgoJobWaitRows(job, timeout_ms);
}

cuzk_status cuzk_job_cancel(cuzk_job job) {
    NOT_FORKED();
    return cuzkgoJobCancel(job);
}

cuzk_status cuzk_job_release(cuzk_job job) {
    NOT_FORKED();
    return cuzkgoJobRelease(job);
}

cuzk_status cuzk_verify(cuzk_srs srs, const cuzk_fr *inputs, size_t num_inputs, const cuzk_proof *proof) {
    NOT_FORKED();
    return cuzkgoVerify(srs, MUTABLE(cuzk_fr, inputs), num_inputs, MUTABLE(cuzk_proof, proof));
}

cuzk_status cuzk_device_count(uint32_t *out) {
    NOT_FORKED();
    return cuzkgoDeviceCount(out);
}

cuzk_status cuzk_device_get_info(uint32_t index, cuzk_device_info *out) {
    NOT_FORKED();
    return cuzkgoDeviceGetInfo(index, out);
}

cuzk_status cuzk_set_workers(uint32_t workers) {
    NOT_FORKED();
    return cuzkgoSetWorkers(workers);
}

cuzk_status cuzk_host_alloc(size_t size, void **out) {
    NOT_FORKED();
    return cuzkgoHostAlloc(size, out);
}

cuzk_status cuzk_host_free(void *memory) {
    NOT_FORKED();
    return cuzkgoHostFree((uintptr_t)memory);
}

cuzk_status cuzk_set_log(cuzk_log_fn fn, void *user, int32_t max_level) {
    NOT_FORKED();
    return cuzkgoSetLog(fn, user, max_level);
}

void cuzkc_log(cuzk_log_fn fn, int32_t level, const char *message, void *user) {
    fn(level, message, user);
}

cuzk_status cuzk_metrics(char *out, size_t size, size_t *needed) {
    NOT_FORKED();
    return cuzkgoMetrics(out, size, needed);
}

cuzk_status cuzk_timeline_start(const char *path) {
    NOT_FORKED();
    return cuzkgoTimelineStart(MUTABLE(char, path));
}

cuzk_status cuzk_timeline_stop(void) {
    NOT_FORKED();
    return cuzkgoTimelineStop();
}

static int timeline_to_stop;

void cuzkc_stop_timeline_at_exit(void) {
    __atomic_store_n(&timeline_to_stop, 1, __ATOMIC_RELAXED);
}

/* Go's threads still run when a process ends by exit() or by returning from
 * main. One that ends otherwise leaves a file without its last spans. */
__attribute__((destructor)) static void stop_timeline(void) {
    if (!forked && __atomic_load_n(&timeline_to_stop, __ATOMIC_RELAXED))
        cuzkgoTimelineStop();
}
