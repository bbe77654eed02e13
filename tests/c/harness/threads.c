/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sixteen threads open, prove and drop at once, through both headers. */
#include "harness.h"

enum { THREADS = 16, ROUNDS = 4 };

static const struct {
    const char *params, *witness;
} work[] = {{"two", "two.1"},     {"mimc", "mimc.2"}, {"one", "one"}, {"pow2", "pow2"},
            {"oneinp", "oneinp"}, {"zero", "zero"},   {"rs0", "rs0"}};
enum { WORK = sizeof work / sizeof work[0] };

static void open_prove_drop(void *unused, int index) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        int k = (index + round) % WORK;
        golden g;
        golden_open(work[k].params, work[k].witness, &g);
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
            FAIL("thread %d: %s is not bellperson's proof", index, work[k].witness);
        gv_free(&g.gv);
    }
}

void suite_threads(void) {
    run_threads(THREADS, open_prove_drop, NULL);
}

static void supraseal_ok(supraseal_error e) {
    EXPECT("supraseal", e.code, CUZK_OK, "");
    CHECK(e.message == NULL);
    free(e.message);
}

static void supraseal_open_prove_drop(void *unused, int index) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        int k = (index + round) % WORK;
        char *params = path_of(golden_dir, work[k].params, ".params");
        char *path = path_of(golden_dir, work[k].witness, ".gv");
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
            FAIL("thread %d: %s is not bellperson's proof", index, work[k].witness);
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
    run_threads(THREADS, supraseal_open_prove_drop, NULL);
}
