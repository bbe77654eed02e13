/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Short-lived threads that call the library and end at once, a few at a time:
 *
 *     short_threads THREADS SECONDS PARAMS CASE.gv
 *
 * Each makes cheap calls, or starts a job of many partitions and releases it. A
 * thread that never calls watches. Prints what was done and the longest time in
 * which nothing was; the exit code is 1 if that was more than STOP_SECONDS.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cuzk.h"
#include "gv.h"

enum { MAX_THREADS = 64, PARTITIONS = 48, STOP_SECONDS = 3, CALLS = 20000 };

static gv_case circuit;
static cuzk_srs set;
static int width;
static atomic_long ended;

static void must(cuzk_status status) {
    if (status != CUZK_OK) {
        fprintf(stderr, "%s\n", cuzk_last_error());
        _exit(2);
    }
}

static void start_and_release(void) {
    cuzk_assignment assignments[PARTITIONS];
    cuzk_fr r[PARTITIONS], s[PARTITIONS];
    for (int i = 0; i < PARTITIONS; i++)
        assignments[i] = circuit.assignment, r[i] = circuit.r, s[i] = circuit.s;
    cuzk_job job;
    must(cuzk_job_start(set, assignments, PARTITIONS, r, s, NULL, &job));
    must(cuzk_job_release(job));
}

static void *call_and_end(void *index) {
    if ((intptr_t)index % 4 == 0) {
        start_and_release();
    } else {
        cuzk_fr scalar;
        size_t needed;
        must(cuzk_random_scalar(&scalar));
        must(cuzk_metrics(NULL, 0, &needed));
    }
    ended++;
    return NULL;
}

static void *start_threads(void *unused) {
    for (;;) {
        pthread_t threads[MAX_THREADS];
        for (int i = 0; i < width; i++)
            pthread_create(&threads[i], NULL, call_and_end, (void *)(intptr_t)i);
        for (int i = 0; i < width; i++)
            pthread_join(threads[i], NULL);
    }
    return unused;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The mean time of a call that does next to nothing. */
static double microseconds(void) {
    uint32_t count;
    double begin = now();
    for (int i = 0; i < CALLS; i++)
        must(cuzk_device_count(&count));
    return (now() - begin) / CALLS * 1e6;
}

static double longest_stop(int seconds) {
    double begin = now(), since = begin, longest = 0;
    for (long last = -1; now() - begin < seconds; usleep(5000)) {
        if (ended != last) {
            last = ended;
            since = now();
        }
        if (now() - since > longest)
            longest = now() - since;
    }
    return longest;
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    width = atoi(argv[1]) < MAX_THREADS ? atoi(argv[1]) : MAX_THREADS;
    if (gv_read(argv[4], &circuit) != 0)
        return 2;
    must(cuzk_srs_open(argv[3], NULL, &set));
    double each = microseconds();
    pthread_t starter;
    pthread_create(&starter, NULL, start_threads, NULL);
    double longest = longest_stop(atoi(argv[2]));
    printf("%ld threads, longest stop %.2f s, %.1f us a call\n", (long)ended, longest, each);
    fflush(stdout);
    _exit(longest > STOP_SECONDS);
}
