/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Entry threads: the threads on which calls of the host enter Go. They are the
 * library's, there are as many as calls were ever under way at once, and none
 * ends before the process.
 *
 * Why not the host's threads: a thread that has called Go and then ends can stop
 * the whole process. Go 1.26 and 1.27 free such a thread's place in the scheduler
 * while it ends (dropm), and stopping the world for the collector misses that
 * place if it looks at the same moment (setBlockOnExitSyscall): the world then
 * stays half stopped until the runtime looks again, up to a minute later.
 * docs/embedding.md has the program that shows it, and the versions of Go.
 */
#include "internal.h"
#include "last_error.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------- children --- */

/* Comparing process numbers also tells children of clone() and _Fork(), which
 * run no handlers of pthread_atfork. */
static pid_t loaded_in;

__attribute__((constructor)) static void note_process(void) {
    loaded_in = getpid();
}

int cuzkc_is_child(void) {
    return getpid() != loaded_in;
}

/* -------------------------------------------------------- entry threads --- */

struct entry {
    struct entry *next; /* of the idle ones; guarded by idle_lock */
    sem_t called, answered;

    /* Belong to the caller until it posts called, then to the entry thread until
     * that posts answered. */
    cuzkc_go_function *function;
    uintptr_t arguments;
    cuzk_status status;
    struct cuzkc_text error; /* length 0: the call has left none */
};

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *idle; /* the one that was used last comes first */

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

static void *serve(void *argument) {
    struct entry *self = argument;
    cuzkc_entry_error = &self->error;
    for (;;) {
        wait_for(&self->called);
        self->status = self->function(self->arguments);
        sem_post(&self->answered);
    }
    return NULL;
}

/* The signals that an entry thread lets through: those of its own faults, and
 * SIGURG, with which the Go runtime interrupts itself. All others are for the
 * host's threads. */
static void entry_signals(sigset_t *blocked) {
    static const int open[] = {SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigfillset(blocked);
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        sigdelset(blocked, open[i]);
}

/* Starts a thread of e, which nobody joins: it never ends. Returns 0 or an error
 * number. */
static int start_thread(struct entry *e) {
    pthread_t thread;
    sigset_t blocked, before;
    entry_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failed = pthread_create(&thread, NULL, serve, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

/* A new entry, NULL with errno if there is no memory or no thread for it. */
static struct entry *make_entry(void) {
    struct entry *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    sem_init(&e->called, 0, 0);
    sem_init(&e->answered, 0, 0);
    int failed = start_thread(e);
    if (failed != 0) {
        free(e);
        errno = failed;
        return NULL;
    }
    return e;
}

static struct entry *take_idle(void) {
    pthread_mutex_lock(&idle_lock);
    struct entry *e = idle;
    if (e != NULL)
        idle = e->next;
    pthread_mutex_unlock(&idle_lock);
    return e;
}

static void put_idle(struct entry *e) {
    pthread_mutex_lock(&idle_lock);
    e->next = idle;
    idle = e;
    pthread_mutex_unlock(&idle_lock);
}

/* How long a call waits for a thread, in ms, when none can be made: a call that
 * gives something back has no other way to do it. */
#define MAX_THREAD_WAIT_MS 2000

/* An idle entry or a new one, NULL with errno if none can be had. */
static struct entry *acquire_entry(void) {
    const struct timespec millisecond = {.tv_nsec = 1000000};
    for (int waited = 0;; waited++) {
        struct entry *e = take_idle();
        if (e == NULL)
            e = make_entry();
        if (e != NULL || waited == MAX_THREAD_WAIT_MS)
            return e;
        nanosleep(&millisecond, NULL);
    }
}

/* --------------------------------------------------------------- the way in --- */

static void refuse(const char *name, const char *why) {
    char text[256];
    int length = snprintf(text, sizeof text, "%s: %s", name, why);
    cuzkc_set_last_error(text, (size_t)length);
}

static cuzk_status enter_with(struct entry *e, cuzkc_go_function *function, const void *arguments) {
    e->function = function;
    e->arguments = (uintptr_t)arguments;
    e->error.length = 0;
    sem_post(&e->called);
    wait_for(&e->answered);
    if (e->error.length > 0)
        cuzkc_set_last_error(e->error.bytes, e->error.length);
    return e->status;
}

cuzk_status cuzkc_enter(const char *name, cuzkc_go_function *function, const void *arguments) {
    if (cuzkc_is_child()) {
        refuse(name, "this process is a child made by fork(); libcuzk works in it only after exec()");
        return CUZK_ERR_CLOSED;
    }
    /* The arguments lie on this thread's stack until the call is answered. */
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    cuzk_status status = CUZK_ERR_HOST_MEMORY;
    struct entry *e = acquire_entry();
    if (e == NULL) {
        char why[128];
        snprintf(why, sizeof why, "no thread could be made for the call: %s", strerror(errno));
        refuse(name, why);
    } else {
        status = enter_with(e, function, arguments);
        put_idle(e);
    }
    pthread_setcancelstate(cancel, NULL);
    return status;
}
