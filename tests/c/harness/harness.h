/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The C harness drives every function of the library as a C caller would,
 * built with AddressSanitizer and UndefinedBehaviorSanitizer. A suite is a
 * function; harness_test.go runs each in a process of its own.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuzk.h"
#include "gv.h"
#include "supraseal_c2.h"

extern const char *golden_dir;  /* small cases */
extern const char *scratch_dir; /* empty, for files a suite makes */

/* Suites. */
void suite_arguments(void);
void suite_assignment(void);
void suite_entry_threads(void);
void suite_environment(void);
void suite_files(void);
void suite_golden(void);
void suite_golden_large(void);
void suite_golden_small(void);
void suite_handles(void);
void suite_integers(void);
void suite_jobs(void);
void suite_log(void);
void suite_log_lock(void);
void suite_memory(void);
void suite_observe(void);
void suite_setenv(void);
void suite_supraseal(void);
void suite_supraseal_refusals(void);
void suite_supraseal_threads(void);
void suite_supraseal_threads_large(void);
void suite_thread_end(void);
void suite_threads(void);
void suite_threads_large(void);
void suite_values(void);
void suite_versions(void);

/* A failure is printed with its place; the process goes on and ends with 1. */
void fail_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define FAIL(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            FAIL("%s", #condition);                                                                          \
    } while (0)

/* The status must be want and the message must contain text. what says which
 * case it is. */
void expect_at(const char *file, int line, const char *what, cuzk_status got, cuzk_status want,
               const char *text);
#define EXPECT(what, call, want, text) expect_at(__FILE__, __LINE__, what, call, want, text)
#define OK(call) expect_at(__FILE__, __LINE__, #call, call, CUZK_OK, "")

/* Memory of its own, so that the sanitizer sees every byte past its end. Ends
 * the process when there is none. */
void *fresh(size_t bytes);
void *copy_of(const void *bytes, size_t size);

/* Misaligned by offset bytes: a copy of the first bytes at p, or p itself
 * moved where only the address matters. */
#define SHIFTED(p, offset) ((void *)((uintptr_t)(p) + (offset)))

/* A golden case: its open parameters and one witness, or ending the process. */
typedef struct golden {
    cuzk_srs srs;
    gv_case gv;
} golden;

char *path_of(const char *dir, const char *name, const char *suffix); /* free it */
void golden_open(const char *params, const char *witness, golden *out);
void golden_close(golden *g);
bool is_golden(const gv_case *gv, const cuzk_proof *proof);

/* Bytes that a refused call must leave alone. */
void poison(void *memory, size_t bytes);
bool is_poison(const void *memory, size_t bytes);

/* Runs count threads of body(arg, index) and waits for them. */
void run_threads(int count, void (*body)(void *arg, int index), void *arg);

/* The same circuit for the supraseal symbols. */
supraseal_assignment supraseal_of(const gv_case *gv);

#endif
