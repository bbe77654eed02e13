/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Handles: released, of another kind, never given out. */
#include "harness.h"

static void every_call(const char *what, uint64_t h, const golden *g) {
    const gv_case *gv = &g->gv;
    cuzk_proof proof;
    cuzk_job job;
    cuzk_srs_info info = {.struct_size = sizeof info};
    OK(cuzk_proof_deserialize(gv->proof, &proof));
    EXPECT(what, cuzk_srs_retain(h), CUZK_ERR_HANDLE, "handle");
    EXPECT(what, cuzk_srs_get_info(h, &info), CUZK_ERR_HANDLE, "handle");
    EXPECT(what, cuzk_verify(h, gv->assignment.inputs, gv->assignment.num_inputs, &proof), CUZK_ERR_HANDLE,
           "handle");
    EXPECT(what, cuzk_prove_partition(h, &gv->assignment, &gv->r, &gv->s, NULL, &proof), CUZK_ERR_HANDLE,
           "handle");
    EXPECT(what, cuzk_job_start(h, &gv->assignment, 1, &gv->r, &gv->s, NULL, &job), CUZK_ERR_HANDLE,
           "handle");
    if (h != 0)
        EXPECT(what, cuzk_srs_release(h), CUZK_ERR_HANDLE, "handle");
}

static void every_job_call(const char *what, uint64_t h) {
    EXPECT(what, cuzk_job_wait(h, 0, NULL), CUZK_ERR_HANDLE, "handle");
    EXPECT(what, cuzk_job_wait_rows(h, 0), CUZK_ERR_HANDLE, "handle");
    EXPECT(what, cuzk_job_cancel(h), CUZK_ERR_HANDLE, "handle");
    if (h != 0)
        EXPECT(what, cuzk_job_release(h), CUZK_ERR_HANDLE, "handle");
}

void suite_handles(void) {
    golden g;
    golden_open("two", "two", &g);

    /* Each retain adds one reference. */
    cuzk_srs srs = g.srs;
    OK(cuzk_srs_retain(srs));
    OK(cuzk_srs_release(srs));
    cuzk_srs_info info = {.struct_size = sizeof info};
    OK(cuzk_srs_get_info(srs, &info));

    /* Opened twice: handles of their own. */
    char *path = path_of(golden_dir, "two", ".params");
    cuzk_srs second;
    OK(cuzk_srs_open(path, NULL, &second));
    CHECK(second != srs);
    OK(cuzk_srs_release(second));
    every_call("released", second, &g);
    cuzk_srs third;
    OK(cuzk_srs_open(path, NULL, &third));
    CHECK(third != second);
    every_call("released, its slot in use again", second, &g);
    OK(cuzk_srs_release(third));
    free(path);

    cuzk_job job;
    OK(cuzk_job_start(srs, &g.gv.assignment, 1, &g.gv.r, &g.gv.s, NULL, &job));
    every_call("a job where a set is expected", job, &g);
    every_job_call("a set where a job is expected", srs);
    OK(cuzk_job_wait(job, CUZK_WAIT_FOREVER, NULL));
    OK(cuzk_job_release(job));
    every_job_call("a released job", job);

    static const uint64_t garbage[] = {0,
                                       1,
                                       42,
                                       UINT64_MAX,
                                       UINT64_C(0x1000000000000fff),
                                       UINT64_C(0x1fffffffffffffff),
                                       UINT64_C(0x2000000000000fff),
                                       UINT64_C(0x2fffffffffffffff),
                                       UINT64_C(0xf000000000000000)};
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        char what[64];
        snprintf(what, sizeof what, "garbage %#llx", (unsigned long long)garbage[i]);
        every_call(what, garbage[i], &g);
        every_job_call(what, garbage[i]);
    }
    OK(cuzk_srs_release(0));
    OK(cuzk_job_release(0));

    /* A job keeps its set. */
    OK(cuzk_job_start(srs, &g.gv.assignment, 1, &g.gv.r, &g.gv.s, NULL, &job));
    golden_close(&(golden){.srs = srs});
    cuzk_proof proof;
    OK(cuzk_job_wait(job, CUZK_WAIT_FOREVER, &proof));
    CHECK(is_golden(&g.gv, &proof));
    OK(cuzk_job_release(job));
    every_call("the set after its last release", srs, &g);
    gv_free(&g.gv);
}
