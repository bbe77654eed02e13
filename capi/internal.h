/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the Go files of this folder call in exports.c. Nothing here leaves the
 * library.
 */
#ifndef CUZK_CAPI_INTERNAL_H
#define CUZK_CAPI_INTERNAL_H

#include "cuzk.h"

/* Copies length bytes of text, which need no NUL, to the calling thread's
 * buffer for cuzk_last_error; what does not fit is cut off. */
void cuzkc_set_last_error(const char *text, size_t length);

/* Whether this process is a child made by fork() that has not called exec():
 * the threads of the Go runtime are not in it, and a call would hang. Leaves the
 * text for cuzk_last_error if so. */
int cuzkc_forked(const char *function);

/* Has the timeline completed when the process ends. */
void cuzkc_stop_timeline_at_exit(void);

/* Calls a log callback: Go cannot call a C function pointer itself. */
void cuzkc_log(cuzk_log_fn fn, int32_t level, const char *message, void *user);

#endif
