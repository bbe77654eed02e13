/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sixteen threads open, prove and drop at once, through both headers. */
#include "harness.h"

enum { THREADS = 16 };

typedef struct work {
    const char *params, *witness;
} work;

/* What the threads do: each goes through rounds items, from one of its own on. */
typedef struct plan {
    const work *items;
    int count, rounds;
} plan;

static const work small_items[] = {{"two", "two.1"},     {"mimc", "mimc.2"}, {"one", "one"}, {"pow2", "pow2"},
                                   {"oneinp", "oneinp"}, {"zero", "zero"},   {"rs0", "rs0"}, {"dup", "dup"}};
static const work large_items[] = {{"sha512", "sha512"}, {"sha512", "sha512.1"}};
static plan small_plan = {small_items, sizeof small_items / sizeof small_items[0], 4};
static plan large_plan = {large_items, sizeof large_items / sizeof large_items[0], 1};

static void open_prove_drop(void *arg, int index) {
    const plan *p = arg;
    for (int round = 0; round < p->rounds; round++) {
        const work *w = &p->items[(index + round) % p->count];
        golden g;
        golden_open(w->params, w->witness, &g);
        cuzk_proof proof;
        if ((index + round) % 2 == 0) {
            OK(cuzk_prove_partition(g.srs, &g.gv.assignment, &g.gv.r, &g.gv.s, NULL, &proof));
            OK(cuzk_srs_release(g.srs));
        } else {
            cuzk_job job;
            OK(cuzk_job_start(g.srs, &g.gv.assignment, 1, &g.gv.r, &g.gv.s, NULL, &job));
            OK(cuzk_srs_release(g.srs));
            OK(cuzk_job_wait(job, CUZK_WAIT_FOREVER, &proof));
            OK(cuzk_job_release(job));
        }
        if (!is_golden(&g.gv, &proof))
            FAIL("thread %d: %s is not bellperson's proof", index, w->witness);
        gv_free(&g.gv);
    }
}

void suite_threads(void) {
    run_threads(THREADS, open_prove_drop, &small_plan);
}

void suite_threads_large(void) {
    run_threads(THREADS, open_prove_drop, &large_plan);
}

static void supraseal_ok(supraseal_error e) {
    EXPECT("supraseal", e.code, CUZK_OK, "");
    CHECK(e.message == NULL);
    free(e.message);
}

static void supraseal_open_prove_drop(void *arg, int index) {
    const plan *p = arg;
    for (int round = 0; round < p->rounds; round++) {
        const work *w = &p->items[(index + round) % p->count];
        char *params = path_of(golden_dir, w->params, ".params");
        char *path = path_of(golden_dir, w->witness, ".gv");
        gv_case gv;
        if (gv_read(path, &gv) != 0)
            exit(2);
        supraseal_srs srs = {NULL};
        supraseal_ok(create_SRS(&srs, params, index % 2 == 0));
        supraseal_srs clone = clone_SRS(&srs);
        CHECK(clone.ptr != NULL);
        drop_SRS(&srs);
        supraseal_assignment a = supraseal_of(&gv);
        cuzk_proof *proof = fresh(sizeof *proof);
        supraseal_ok(generate_groth16_proofs_c(&a, 1, &gv.r, &gv.s, proof, &clone));
        if (!is_golden(&gv, proof))
            FAIL("thread %d: %s is not bellperson's proof", index, w->witness);
        if (round % 2 == 1)
            evict_SRS(&clone);
        drop_SRS(&clone);
        free(proof);
        free(params);
        free(path);
        gv_free(&gv);
    }
}

void suite_supraseal_threads(void) {
    run_threads(THREADS, supraseal_open_prove_drop, &small_plan);
}

void suite_supraseal_threads_large(void) {
    run_threads(THREADS, supraseal_open_prove_drop, &large_plan);
}
