/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Started jobs: wait, poll, cancel, release, failures. */
#include "harness.h"

#include <unistd.h>

enum {
    MANY = 40,
    TRIES = 100, /* to look at a job before it ends */
};

typedef struct started {
    golden g;
    cuzk_assignment assignments[MANY];
    cuzk_fr r[MANY], s[MANY];
    cuzk_proof proofs[MANY];
    cuzk_job job;
} started;

/* A job of many partitions, so that it is still running when looked at. */
static void start(started *j, int count) {
    for (int i = 0; i < count; i++) {
        j->assignments[i] = j->g.gv.assignment;
        j->r[i] = j->g.gv.r;
        j->s[i] = j->g.gv.s;
    }
    poison(j->proofs, sizeof j->proofs);
    OK(cuzk_job_start(j->g.srs, j->assignments, count, j->r, j->s, NULL, &j->job));
}

/* The call must find the job running. If it has ended, as it may on a busy
 * machine, the function around this returns false. */
#define RUNNING(call, text)                                                                                  \
    do {                                                                                                     \
        cuzk_status status = call;                                                                           \
        if (status == CUZK_OK)                                                                               \
            return false;                                                                                    \
        EXPECT(#call, status, CUZK_ERR_TIMEOUT, text);                                                       \
    } while (0)

static bool polled_while_it_runs(started *j) {
    RUNNING(cuzk_job_wait(j->job, 0, j->proofs), "not finished after 0 ms");
    RUNNING(cuzk_job_wait(j->job, 1, j->proofs), "1 ms");
    RUNNING(cuzk_job_wait_rows(j->job, 0), "not finished");
    CHECK(is_poison(j->proofs, sizeof j->proofs));
    return true;
}

static bool cancelled_while_it_runs(started *j) {
    OK(cuzk_job_cancel(j->job));
    OK(cuzk_job_cancel(j->job));
    cuzk_status status = cuzk_job_wait(j->job, CUZK_WAIT_FOREVER, j->proofs);
    if (status == CUZK_OK)
        return false;
    EXPECT("cancelled", status, CUZK_ERR_CANCELLED, "cancelled");
    CHECK(is_poison(j->proofs, sizeof j->proofs));
    return true;
}

/* Starts a job and looks at it, again and again until one still runs then. */
static void start_and_look(started *j, bool (*look)(started *)) {
    start(j, MANY);
    for (int i = 1; !look(j); i++) {
        if (i == TRIES) {
            FAIL("%d jobs ended before they were looked at", TRIES);
            return;
        }
        OK(cuzk_job_release(j->job));
        start(j, MANY);
    }
}

static void polling(started *j) {
    start_and_look(j, polled_while_it_runs);
    EXPECT("out misaligned", cuzk_job_wait(j->job, 0, SHIFTED(j->proofs, 4)), CUZK_ERR_ALIGNMENT, "out is");
    OK(cuzk_job_wait_rows(j->job, CUZK_WAIT_FOREVER));
    OK(cuzk_job_wait(j->job, CUZK_WAIT_FOREVER - 1, j->proofs));
    for (int i = 0; i < MANY; i++)
        CHECK(is_golden(&j->g.gv, &j->proofs[i]));

    /* Done: every wait gives the same again, without waiting. */
    cuzk_proof again[MANY];
    OK(cuzk_job_wait(j->job, 0, again));
    CHECK(memcmp(again, j->proofs, sizeof again) == 0);
    OK(cuzk_job_wait(j->job, 0, NULL));
    OK(cuzk_job_wait_rows(j->job, 0));
    OK(cuzk_job_cancel(j->job));
    OK(cuzk_job_wait(j->job, 0, NULL));
    OK(cuzk_job_release(j->job));
}

static void cancelling(started *j) {
    start_and_look(j, cancelled_while_it_runs);
    EXPECT("still cancelled", cuzk_job_wait(j->job, 0, j->proofs), CUZK_ERR_CANCELLED, "cancelled");
    CHECK(is_poison(j->proofs, sizeof j->proofs));
    OK(cuzk_job_wait_rows(j->job, 0));
    OK(cuzk_job_release(j->job));

    /* Released while it runs: afterwards the memory may go. */
    start(j, MANY);
    OK(cuzk_job_release(j->job));
    start(j, MANY);
    usleep(2000);
    OK(cuzk_job_release(j->job));
}

static void failing(started *j) {
    /* The second of three is unsatisfied: the job fails and says which. */
    cuzk_fr *rows = copy_of(j->g.gv.assignment.a, j->g.gv.assignment.num_rows * sizeof *rows);
    OK(cuzk_random_scalar(&rows[0]));
    for (int i = 0; i < 3; i++) {
        j->assignments[i] = j->g.gv.assignment;
        j->r[i] = j->g.gv.r;
        j->s[i] = j->g.gv.s;
    }
    j->assignments[1].a = rows;
    poison(j->proofs, sizeof j->proofs);
    OK(cuzk_job_start(j->g.srs, j->assignments, 3, j->r, j->s, NULL, &j->job));
    EXPECT("unsatisfied", cuzk_job_wait(j->job, CUZK_WAIT_FOREVER, j->proofs), CUZK_ERR_UNSATISFIED,
           "partition 1");
    CHECK(is_poison(j->proofs, sizeof j->proofs));
    OK(cuzk_job_release(j->job));

    /* Without the self-check the wrong proof is returned, and is wrong. */
    cuzk_prove_options unchecked = {sizeof unchecked, CUZK_PROVE_NO_SELF_CHECK, 0, CUZK_DEVICE_ANY, 0};
    OK(cuzk_prove_partition(j->g.srs, &j->assignments[1], &j->r[1], &j->s[1], &unchecked, j->proofs));
    EXPECT("the wrong proof",
           cuzk_verify(j->g.srs, j->g.gv.assignment.inputs, j->g.gv.assignment.num_inputs, j->proofs),
           CUZK_ERR_PROOF, "verify");
    free(rows);

    /* A failure does not disturb the next job. */
    OK(cuzk_prove_partition(j->g.srs, &j->assignments[0], &j->r[0], &j->s[0], NULL, j->proofs));
    CHECK(is_golden(&j->g.gv, j->proofs));
}

static void empty(started *j) {
    cuzk_job job;
    OK(cuzk_job_start(j->g.srs, NULL, 0, NULL, NULL, NULL, &job));
    OK(cuzk_job_wait_rows(job, 0));
    OK(cuzk_job_wait(job, 0, NULL));
    OK(cuzk_job_release(job));
}

/* Several threads wait for one job while another releases it. */
static void wait_for(void *arg, int index) {
    started *j = arg;
    cuzk_proof *proofs = fresh(MANY * sizeof *proofs);
    if (index == 0) {
        OK(cuzk_job_wait_rows(j->job, CUZK_WAIT_FOREVER));
    } else {
        OK(cuzk_job_wait(j->job, CUZK_WAIT_FOREVER, proofs));
        CHECK(is_golden(&j->g.gv, &proofs[MANY - 1]));
    }
    free(proofs);
}

static void race_release(void *arg, int index) {
    started *j = arg;
    if (index == 0) {
        usleep(1000);
        cuzk_job_release(j->job);
        return;
    }
    cuzk_status status = cuzk_job_wait(j->job, CUZK_WAIT_FOREVER, NULL);
    CHECK(status == CUZK_OK || status == CUZK_ERR_CANCELLED || status == CUZK_ERR_HANDLE);
}

void suite_jobs(void) {
    started *j = fresh(sizeof *j);
    golden_open("mimc", "mimc", &j->g);
    polling(j);
    cancelling(j);
    failing(j);
    empty(j);
    start(j, MANY);
    run_threads(6, wait_for, j);
    OK(cuzk_job_release(j->job));
    start(j, MANY);
    run_threads(6, race_release, j);

    /* Workers change while jobs run. */
    start(j, MANY);
    for (uint32_t n = 0; n < 8; n++)
        OK(cuzk_set_workers(n % 4));
    OK(cuzk_job_wait(j->job, CUZK_WAIT_FOREVER, j->proofs));
    CHECK(is_golden(&j->g.gv, &j->proofs[MANY - 1]));
    OK(cuzk_job_release(j->job));
    OK(cuzk_set_workers(0));
    golden_close(&j->g);
    free(j);
}
