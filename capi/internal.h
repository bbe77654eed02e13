/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the C and the Go files of this folder call of each other. Nothing here
 * leaves the library.
 */
#ifndef CUZK_CAPI_INTERNAL_H
#define CUZK_CAPI_INTERNAL_H

#include "calls.h"

/* A function of the Go files. arguments is the address of its struct of calls.h,
 * 0 if it has none. */
typedef cuzk_status cuzkc_go_function(uintptr_t arguments);

/* Runs function on an entry thread (entry.c) and returns its status when it has
 * returned. The error text it leaves becomes that of the calling thread. name is
 * the exported function's, for the messages. In a child made by fork() without
 * exec() it returns CUZK_ERR_CLOSED; CUZK_ERR_HOST_MEMORY if no thread can be
 * had. */
cuzk_status cuzkc_enter(const char *name, cuzkc_go_function *function, const void *arguments);

/* cuzkc_enter with the members of struct type. */
#define ENTER(function, type, ...) cuzkc_enter(__func__, function, &(const struct type){__VA_ARGS__})

#define ADDRESS(pointer) ((cuzkc_address)(pointer))

/* Copies length bytes of text, which need no NUL, to the buffer for
 * cuzk_last_error; what does not fit is cut off. On an entry thread the buffer
 * is that of the call which it serves. */
void cuzkc_set_last_error(const char *text, size_t length);

/* Whether this process is a child of the one that loaded the library, made by
 * fork(), clone() or the like, and has not called exec(): the threads of the Go
 * runtime are not in it, and a call would hang. */
int cuzkc_is_child(void);

/* Has the timeline completed when the process ends. */
void cuzkc_stop_timeline_at_exit(void);

/* Has lines that are on their way to stderr written before the process ends. */
void cuzkc_flush_log_at_exit(void);

/* Writes to stderr, however long its reader takes. Without a reader the text is
 * lost, and nothing else happens. */
void cuzkc_write_stderr(const char *text, size_t length);

/* Calls a log callback: Go cannot call a C function pointer itself. */
void cuzkc_log(cuzkc_address fn, int32_t level, const char *message, cuzkc_address user);

#endif
