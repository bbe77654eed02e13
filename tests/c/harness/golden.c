/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every golden case is byte for byte bellperson's proof: alone, and several
 * witnesses in one call. */
#include "harness.h"

typedef struct golden_case {
    const char *params;
    const char *witnesses[3];
} golden_case;

static const golden_case large = {"sha512", {"sha512", "sha512.1"}};

/* The smallest first. */
static const golden_case cases[] = {
    {"one", {"one"}}, {"oneinp", {"oneinp"}}, {"two", {"two", "two.1", "two.2"}},     {"zero", {"zero"}},
    {"rs0", {"rs0"}}, {"pow2", {"pow2"}},     {"mimc", {"mimc", "mimc.1", "mimc.2"}}, {"dup", {"dup"}},
};

static void alone(cuzk_srs srs, const gv_case *gv, const char *name) {
    cuzk_proof proof;
    EXPECT(name, cuzk_prove_partition(srs, &gv->assignment, &gv->r, &gv->s, NULL, &proof), CUZK_OK, "");
    if (!is_golden(gv, &proof))
        FAIL("%s: not bellperson's proof", name);
    OK(cuzk_verify(srs, gv->assignment.inputs, gv->assignment.num_inputs, &proof));
}

/* Six partitions of one circuit in one call, in an order that repeats. */
static void batch(cuzk_srs srs, const gv_case *gv, int witnesses, const char *name) {
    enum { COUNT = 6 };
    cuzk_assignment assignments[COUNT];
    cuzk_fr r[COUNT], s[COUNT];
    cuzk_proof *proofs = fresh(COUNT * sizeof *proofs);
    for (int i = 0; i < COUNT; i++) {
        const gv_case *from = &gv[i * 2 % witnesses];
        assignments[i] = from->assignment;
        r[i] = from->r;
        s[i] = from->s;
    }
    cuzk_job job;
    OK(cuzk_job_start(srs, assignments, COUNT, r, s, NULL, &job));
    /* The arrays may go; what their elements point to is still needed. */
    poison(assignments, sizeof assignments);
    poison(r, sizeof r);
    poison(s, sizeof s);
    OK(cuzk_job_wait(job, CUZK_WAIT_FOREVER, proofs));
    for (int i = 0; i < COUNT; i++) {
        if (!is_golden(&gv[i * 2 % witnesses], &proofs[i]))
            FAIL("%s: partition %d is not bellperson's proof", name, i);
    }
    OK(cuzk_job_release(job));
    free(proofs);
}

static void prove_cases(const golden_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *path = path_of(golden_dir, cases[i].params, ".params");
        cuzk_srs srs;
        OK(cuzk_srs_open(path, NULL, &srs));
        free(path);
        gv_case gv[3];
        int witnesses = 0;
        for (; witnesses < 3 && cases[i].witnesses[witnesses] != NULL; witnesses++) {
            path = path_of(golden_dir, cases[i].witnesses[witnesses], ".gv");
            if (gv_read(path, &gv[witnesses]) != 0)
                exit(2);
            alone(srs, &gv[witnesses], cases[i].witnesses[witnesses]);
            free(path);
        }
        batch(srs, gv, witnesses, cases[i].params);
        while (witnesses > 0)
            gv_free(&gv[--witnesses]);
        OK(cuzk_srs_release(srs));
    }
}

void suite_golden(void) {
    prove_cases(cases, sizeof cases / sizeof cases[0]);
}

/* For the simulator, which is slow: domains up to 32. */
void suite_golden_small(void) {
    prove_cases(cases, 3);
}

void suite_golden_large(void) {
    prove_cases(&large, 1);
}
