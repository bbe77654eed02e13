/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Returns 0, or the error number of what kept text from being written. */
static int write_all(const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, text, length);
        if (written >= 0) {
            text += written;
            length -= (size_t)written;
            continue;
        }
        struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
        if (errno == EAGAIN)
            poll(&room, 1, -1);
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

/* Without a reader the system sends the writing thread SIGPIPE, whatever the
 * process thinks of it: the signal is blocked, and taken if it came. */
void cuzkc_write_stderr(const char *text, size_t length) {
    sigset_t broken_pipe, pending, before;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    if (write_all(text, length) == EPIPE && !sigismember(&pending, SIGPIPE)) {
        const struct timespec now = {0, 0};
        sigtimedwait(&broken_pipe, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
