/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * libcuzk: Groth16 proofs over BLS12-381 for Filecoin.
 *
 * CONVENTIONS
 *
 * Values. Every scalar and coordinate is in Montgomery form, limbs of 64 bits,
 * least significant first, fully reduced: the memory layout of blst, blstrs and
 * gnark-crypto. Points are affine; the point at infinity is all zero bytes.
 * Pointers to them need an alignment of 8 bytes and no more.
 *
 * Memory. The library reads inputs where the caller keeps them and writes only
 * through pointers named `out`. Nothing it returns has to be freed with free().
 * Handles are opaque numbers; 0 is never a valid one, and a handle that was
 * released is refused with CUZK_ERR_HANDLE instead of crashing.
 *
 * Threads. Every function may be called from any thread, and from any number of
 * threads at once. Functions that may block say so. The library works on threads
 * of its own, and needs two descriptors for itself: every function with a status
 * may return CUZK_ERR_HOST_MEMORY if these cannot be had.
 *
 * Errors. Functions return a status; CUZK_OK is 0. After any other status,
 * cuzk_last_error() gives a sentence for the calling thread: what, where,
 * expected, got. Output is untouched unless the function says otherwise.
 *
 * Growth. Structs that begin with `struct_size` must have it set to sizeof the
 * struct. New fields are appended; a library newer than its caller takes the
 * missing ones as zero. One larger than the library knows is accepted only if
 * the bytes it does not know are zero, so clear a struct that the library fills
 * in. Sizes are multiples of 8, at most 4096.
 *
 * Settings. docs/settings.md lists the environment variables. They are read at
 * the first call that needs the list of devices: one that opens parameters or
 * proves, that is about devices, workers or metrics, or cuzk_timeline_start. A
 * setenv() before that call counts. With a value that is not allowed, that call
 * and every later one of these fail with CUZK_ERR_VALUE; with CUZK_BACKEND=cuda
 * and no GPU, with CUZK_ERR_NO_DEVICE. Their own lists leave these two out.
 *
 * The library cannot be unloaded (dlclose does nothing) and does not work in a
 * child made by fork() or clone() without exec(): see docs/embedding.md.
 */
#ifndef CUZK_H
#define CUZK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- versions --- */

/* ABI of this header: major * 1000 + minor. The major number is the soname's. */
#define CUZK_ABI_VERSION 1000u

/* ABI of the library that is loaded. Usable if the major number is the header's
 * and the minor number at least the header's. Never fails. */
uint32_t cuzk_abi_version(void);

/* Version and what was built in, for people: "libcuzk 0.1.0 (cpu, cuda)".
 * Static text, never NULL. */
const char *cuzk_version(void);

/* --------------------------------------------------------------- status --- */

/* Grouped by who can do something about it; a value is never reused. */
typedef int32_t cuzk_status;

#define CUZK_OK 0

/* 1xx: an argument of this call */
#define CUZK_ERR_NULL 101         /* a pointer that must not be NULL is */
#define CUZK_ERR_ALIGNMENT 102    /* a pointer is not aligned to 8 bytes */
#define CUZK_ERR_HANDLE 103       /* not a handle, of another kind, or released */
#define CUZK_ERR_STRUCT_SIZE 104  /* struct_size too small, or unknown fields not zero */
#define CUZK_ERR_SIZE 105         /* a count is out of range or does not fit the others */
#define CUZK_ERR_DENSITY 106      /* a density's length or popcount is wrong */
#define CUZK_ERR_SRS_MISMATCH 107 /* the parameters are those of another circuit shape */
#define CUZK_ERR_SCALAR 108       /* a scalar is not below the modulus */
#define CUZK_ERR_POINT 109        /* a point is not on the curve or not in the subgroup */
#define CUZK_ERR_VALUE 110        /* an option, flag or other value is out of range */
#define CUZK_ERR_PROOF 111        /* cuzk_verify: the proof does not verify */
#define CUZK_ERR_UNSATISFIED 112  /* the self-check failed: the assignment does not satisfy the circuit */

/* 2xx: the parameter file */
#define CUZK_ERR_FILE_IO 201        /* open, read or write failed; the message has the system's reason */
#define CUZK_ERR_FILE_TRUNCATED 202 /* shorter than its own counts say */
#define CUZK_ERR_FILE_COUNTS 203    /* counts that do not fit each other */
#define CUZK_ERR_FILE_ENCODING 204  /* a coordinate not below the modulus, or wrong flag bits */
#define CUZK_ERR_FILE_POINT 205     /* a point off the curve or outside the subgroup */
#define CUZK_ERR_FILE_INFINITY 206  /* infinity where it may not be */
#define CUZK_ERR_FILE_CHANGED 207   /* changed while it was read */

/* 3xx: device and driver */
#define CUZK_ERR_NO_DEVICE 301   /* the device asked for is not there or cannot be used */
#define CUZK_ERR_DEVICE 302      /* a driver call failed; the message names it */
#define CUZK_ERR_DEVICE_LOST 303 /* it was lost under the job; the message says what to start again */

/* 4xx: capacity */
#define CUZK_ERR_DEVICE_MEMORY 401 /* a partition needs more memory than the device's budget */
#define CUZK_ERR_HOST_MEMORY 402   /* host memory, a thread or a descriptor could not be had */

/* 5xx: the job's own course */
#define CUZK_ERR_CANCELLED 501 /* cancelled by cuzk_job_cancel */
#define CUZK_ERR_TIMEOUT 502   /* cuzk_job_wait: not finished yet; the job goes on */
#define CUZK_ERR_CLOSED 503    /* shutting down, or a child without exec() */

/* 9xx: a bug of the library; please report it with the message */
#define CUZK_ERR_INTERNAL 901

/* Name of a status, e.g. "CUZK_ERR_NULL"; "CUZK_ERR_UNKNOWN" for a value that
 * is none. Static text, never NULL. */
const char *cuzk_status_name(cuzk_status status);

/* Text for the last call on this thread that did not return CUZK_OK, without
 * trailing newline; "" if there was none. Valid until the next failing call on
 * the same thread. Never NULL. */
const char *cuzk_last_error(void);

/* --------------------------------------------------------------- values --- */

typedef struct cuzk_fr {
    uint64_t limb[4];
} cuzk_fr;

typedef struct cuzk_fp {
    uint64_t limb[6];
} cuzk_fp;

typedef struct cuzk_g1 {
    cuzk_fp x, y;
} cuzk_g1;

typedef struct cuzk_fp2 {
    cuzk_fp c0, c1;
} cuzk_fp2;

typedef struct cuzk_g2 {
    cuzk_fp2 x, y;
} cuzk_g2;

/* 384 bytes; bellperson's groth16::Proof<Bls12>. */
typedef struct cuzk_proof {
    cuzk_g1 a;
    cuzk_g2 b;
    cuzk_g1 c;
} cuzk_proof;

/* Size of a proof in its serialised form: A, B, C compressed, zcash encoding. */
#define CUZK_PROOF_BYTES 192

/* out receives CUZK_PROOF_BYTES bytes. The points are not checked.
 * Errors: NULL, ALIGNMENT, SCALAR (a coordinate is not reduced). */
cuzk_status cuzk_proof_serialize(const cuzk_proof *proof, uint8_t *out);

/* Reads CUZK_PROOF_BYTES bytes; every point must be on the curve, in the
 * subgroup and, as bellperson demands, not at infinity.
 * Errors: NULL, ALIGNMENT, POINT. */
cuzk_status cuzk_proof_deserialize(const uint8_t *bytes, cuzk_proof *out);

/* A uniform scalar from the system's random source, for r and s.
 * Errors: NULL, ALIGNMENT. */
cuzk_status cuzk_random_scalar(cuzk_fr *out);

/* ----------------------------------------------------------- parameters --- */

/* A parameter set (SRS): the file that bellperson's Parameters::write makes. */
typedef uint64_t cuzk_srs;

/* Check that every point is in the prime-order subgroup: much slower than the
 * on-curve check, which is always made. */
#define CUZK_SRS_CHECK_SUBGROUP 1u

typedef struct cuzk_srs_options {
    size_t struct_size;
    uint32_t flags; /* CUZK_SRS_* */
    uint32_t reserved;
} cuzk_srs_options;

/* Opens a parameter file, reads and checks it. Blocks while the points are read
 * (at the disk's rate). The file may be deleted as soon as this returns. A file
 * that is open already is shared. options may be NULL.
 * *out holds one reference; give it back with cuzk_srs_release.
 * Errors: NULL, STRUCT_SIZE, VALUE, ALIGNMENT, 2xx, DEVICE_MEMORY, HOST_MEMORY,
 * DEVICE. */
cuzk_status cuzk_srs_open(const char *path, const cuzk_srs_options *options, cuzk_srs *out);

/* Adds a reference to the same handle. Errors: HANDLE. */
cuzk_status cuzk_srs_retain(cuzk_srs srs);

/* Gives a reference back. Jobs that were started keep the set until they end.
 * 0 is accepted and does nothing. Errors: HANDLE. */
cuzk_status cuzk_srs_release(cuzk_srs srs);

typedef struct cuzk_srs_info {
    size_t struct_size;   /* in */
    uint64_t domain_size; /* m: rows may be m/2 + 1 to m */
    uint64_t num_inputs;  /* with the leading one */
    uint64_t num_aux;
    uint64_t num_a; /* points for the a query: num_inputs + popcount(a_aux) */
    uint64_t num_b; /* points for the b query: popcounts of b_inputs and b_aux */
    uint64_t file_bytes;
    uint64_t point_bytes; /* of all points, in host or in device memory */
} cuzk_srs_info;

/* Set out->struct_size first. Errors: HANDLE, NULL, ALIGNMENT, STRUCT_SIZE. */
cuzk_status cuzk_srs_get_info(cuzk_srs srs, cuzk_srs_info *out);

/* -------------------------------------------------------------- proving --- */

/* Bit i of the map is bit i % 64 of words[i / 64]. Bits at and past bit_len are
 * ignored. words may be NULL if bit_len is 0. */
typedef struct cuzk_density {
    const uint64_t *words;
    size_t bit_len;
    size_t popcount; /* set bits below bit_len; checked */
} cuzk_density;

/* One partition: what bellperson's ProvingAssignment holds after synthesis,
 * with the extra row per input appended. */
typedef struct cuzk_assignment {
    size_t struct_size;
    const cuzk_fr *a;      /* [num_rows] */
    const cuzk_fr *b;      /* [num_rows] */
    const cuzk_fr *c;      /* never read, may be NULL: a*b = c in a satisfied circuit */
    size_t num_rows;       /* with the rows of the inputs; 1 to 2^28 */
    const cuzk_fr *inputs; /* [num_inputs]; inputs[0] is one */
    size_t num_inputs;
    const cuzk_fr *aux; /* [num_aux]; may be NULL if num_aux is 0 */
    size_t num_aux;
    cuzk_density a_aux;    /* bit_len = num_aux */
    cuzk_density b_inputs; /* bit_len = num_inputs */
    cuzk_density b_aux;    /* bit_len = num_aux */
} cuzk_assignment;

/* Priorities. Within one, jobs go in order of arrival; a job that has waited long
 * gets a higher one. */
#define CUZK_PRIORITY_DEFAULT 0 /* = NORMAL */
#define CUZK_PRIORITY_LOW 1
#define CUZK_PRIORITY_NORMAL 2
#define CUZK_PRIORITY_HIGH 3     /* WindowPoSt */
#define CUZK_PRIORITY_CRITICAL 4 /* WinningPoSt */

/* Return proofs without verifying them first. The self-check costs 2 to 3 ms. */
#define CUZK_PROVE_NO_SELF_CHECK 1u

/* cuzk_prove_options.device: any device. */
#define CUZK_DEVICE_ANY (-1)

typedef struct cuzk_prove_options {
    size_t struct_size;
    uint32_t flags;    /* CUZK_PROVE_* */
    int32_t priority;  /* CUZK_PRIORITY_* */
    int32_t device;    /* index in the device list, or CUZK_DEVICE_ANY */
    uint32_t reserved; /* 0 */
} cuzk_prove_options;

/* Proves one partition. Blocks until it is done. *r and *s must be uniform for
 * zero knowledge (cuzk_random_scalar); the proof is a function of the arguments
 * and bit-equal to bellperson's. options may be NULL.
 * Errors: NULL, ALIGNMENT, STRUCT_SIZE, HANDLE, SIZE, DENSITY, SRS_MISMATCH,
 * SCALAR, VALUE, UNSATISFIED, 2xx (also FILE_POINT, for a point of the parameters
 * outside the subgroup), 3xx, 4xx, CLOSED. *out is written only on CUZK_OK. */
cuzk_status cuzk_prove_partition(cuzk_srs srs, const cuzk_assignment *assignment, const cuzk_fr *r,
                                 const cuzk_fr *s, const cuzk_prove_options *options, cuzk_proof *out);

/* A started call: one or more partitions of one parameter set. */
typedef uint64_t cuzk_job;

/* Starts count partitions, of any sizes that fit the parameters; r and s are
 * arrays of count elements. The elements of assignments have the same
 * struct_size, which is also their distance in memory. The arrays assignments, r
 * and s, options and the handle srs may go when this returns. What the
 * assignments point to stays in use until cuzk_job_wait returns the job's outcome
 * (CUZK_OK, or an error that is neither TIMEOUT nor one of its arguments:
 * ALIGNMENT, HANDLE), or until cuzk_job_release returns CUZK_OK; a and b stay in
 * use only until cuzk_job_wait_rows returns CUZK_OK. count is 0 to 4096.
 * Does not block. Argument errors of any partition are returned here, with its
 * index in the message, and nothing is started.
 * Errors: as cuzk_prove_partition, but for what is found while proving. */
cuzk_status cuzk_job_start(cuzk_srs srs, const cuzk_assignment *assignments, size_t count, const cuzk_fr *r,
                           const cuzk_fr *s, const cuzk_prove_options *options, cuzk_job *out);

#define CUZK_WAIT_FOREVER UINT64_MAX

/* Waits until every partition is done or the job failed. On CUZK_OK out holds
 * count proofs (out may be NULL if they are not wanted). May be called again,
 * and by several threads: all get the same answer.
 * Errors: at once, without waiting, ALIGNMENT (of out) and HANDLE; TIMEOUT if it
 * is not done yet; anything else is the job's outcome: CANCELLED, or what
 * cuzk_prove_partition may return while it proves. One failing partition fails
 * the job; the message has its index. */
cuzk_status cuzk_job_wait(cuzk_job job, uint64_t timeout_ms, cuzk_proof *out);

/* Waits until no a or b of the job is read any more, which is also so once the
 * job has ended, whatever its outcome. If the device is lost after this has
 * returned CUZK_OK, the library cannot retry the job, which fails with
 * DEVICE_LOST.
 * Errors: HANDLE, TIMEOUT. */
cuzk_status cuzk_job_wait_rows(cuzk_job job, uint64_t timeout_ms);

/* Asks the job to stop; cuzk_job_wait then returns CANCELLED, unless the job was
 * done already. Does not block; memory is in use until cuzk_job_wait returns.
 * Errors: HANDLE. */
cuzk_status cuzk_job_cancel(cuzk_job job);

/* Frees the job's handle; cancels the job first if it still runs, and blocks
 * until it no longer reads the caller's memory. 0 is accepted and does nothing.
 * Errors: HANDLE. */
cuzk_status cuzk_job_release(cuzk_job job);

/* -------------------------------------------------------------- verifying --- */

/* Verifies a proof with the parameter set's verifying key. inputs includes the
 * leading one. Points must be on the curve and in the subgroup; one at infinity
 * is allowed, as by bellperson's verifier, and the equation decides.
 * Errors: HANDLE, NULL, ALIGNMENT, SIZE, SCALAR, POINT, PROOF. */
cuzk_status cuzk_verify(cuzk_srs srs, const cuzk_fr *inputs, size_t num_inputs, const cuzk_proof *proof);

/* ---------------------------------------------------------------- devices --- */

typedef struct cuzk_device_info {
    size_t struct_size;    /* in */
    char backend[16];      /* "cpu" or "cuda" */
    char name[128];        /* as the vendor calls it */
    char detail[256];      /* driver, compute capability, instruction sets */
    char unusable[256];    /* why it is not used; "" if it is */
    uint64_t memory_bytes; /* its own memory; the machine's for the CPU */
    uint32_t workers;      /* running now; 0 if not used so far */
    uint32_t reserved;
} cuzk_device_info;

/* Number of devices, usable or not; at least 1. The CPU is last, unless the
 * environment variable CUZK_BACKEND leaves it out.
 * Errors: NULL, ALIGNMENT, VALUE, NO_DEVICE. */
cuzk_status cuzk_device_count(uint32_t *out);

/* Set out->struct_size first. Errors: NULL, ALIGNMENT, STRUCT_SIZE, VALUE. */
cuzk_status cuzk_device_get_info(uint32_t index, cuzk_device_info *out);

/* Why there is no GPU among the devices, for people; "" if there is one. Static
 * text, never NULL. */
const char *cuzk_gpu_reason(void);

/* Sets the number of workers of each device: how many partitions it carries at
 * the same time. 0 is the default (3 on a GPU; 1 on the CPU, where one partition
 * uses all cores), 64 the most. May be called at any time, also while jobs run:
 * more workers start at once, fewer first finish their partitions.
 * Errors: VALUE. */
cuzk_status cuzk_set_workers(uint32_t workers);

/* ------------------------------------------------------------ host memory --- */

/* Host memory for a caller's own buffers: size bytes at *out, at a page boundary
 * and zero. It is pinned, i.e. locked in place, for every CUDA context of the process
 * if a GPU is used and its driver agrees, and ordinary memory otherwise; opens
 * the first usable GPU if none is open. The memory and its contents stay whatever
 * becomes of the GPU. It is unpinned when an idle GPU is closed
 * (CUZK_CONTEXT_IDLE) or a GPU is lost, and pinned again when the GPU is opened
 * anew: before it unpins, the library waits for its own copies, but not for those
 * that the caller makes through CUDA (docs/embedding.md).
 * Proving takes memory of any kind: pinned memory is never swapped out, and makes
 * no proof faster by itself. Blocks while memory is pinned, which touches all of
 * it: about 0.4 s per GiB.
 * Errors: NULL, ALIGNMENT (of out), SIZE (0, or more than there are addresses),
 * HOST_MEMORY, VALUE, NO_DEVICE. */
cuzk_status cuzk_host_alloc(size_t size, void **out);

/* Frees what cuzk_host_alloc gave; nothing may use it any more. NULL is accepted
 * and does nothing. While it is allocated the library alone registers it with a
 * driver. Errors: VALUE (not from cuzk_host_alloc, or freed before). */
cuzk_status cuzk_host_free(void *memory);

/* -------------------------------------------------------------------- log --- */

#define CUZK_LOG_ERROR 1
#define CUZK_LOG_WARN 2
#define CUZK_LOG_INFO 3
#define CUZK_LOG_DEBUG 4

/* message is one line, NUL-terminated, valid during the call. The callback runs
 * on threads of the library, never the caller's, one call at a time and in order.
 * Only cuzk_set_log waits for it. It must not call the library. At most 4096
 * messages wait for it: more are dropped, and it is told how many. */
typedef void (*cuzk_log_fn)(int32_t level, const char *message, void *user);

/* Sends messages up to max_level to fn; fn = NULL turns the log off. Blocks until
 * the former callback has got what was logged before, and is not called any more.
 * Messages that still wait when the process ends are lost. The library writes
 * nothing to stdout, and to stderr only if the environment variable CUZK_LOG says
 * so.
 * Errors: VALUE. */
cuzk_status cuzk_set_log(cuzk_log_fn fn, void *user, int32_t max_level);

/* -------------------------------------------------------------- observing --- */

/* Writes metrics in Prometheus' text format, NUL-terminated, to out[size].
 * *needed is the number of bytes they take, with the NUL; it is set also when
 * size is too small, which is SIZE. With size 0, and out NULL, only *needed is
 * set. docs/observing.md lists the metrics.
 * Errors: NULL, ALIGNMENT, SIZE, VALUE. */
cuzk_status cuzk_metrics(char *out, size_t size, size_t *needed);

/* Starts a recording: a file that Chrome and Perfetto show, of what the library
 * does at what time, until cuzk_timeline_stop or the end of the process. "%p" in
 * the path stands for the number of the process. A symbolic link there, and
 * whatever is no regular file, is refused. There is one recording at a time in a
 * process; the environment variable CUZK_TIMELINE starts one at the first call.
 * Errors: NULL, VALUE (one is running), FILE_IO, HOST_MEMORY. */
cuzk_status cuzk_timeline_start(const char *path);

/* Stops the recording and completes its file. Errors: VALUE (none is running),
 * FILE_IO. */
cuzk_status cuzk_timeline_stop(void);

#ifdef __cplusplus
}
#endif

#endif /* CUZK_H */
