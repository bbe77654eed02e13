/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Proves several partitions of one circuit with one started call, and does
 * something else meanwhile.
 *
 *     start_wait CIRCUIT.params CASE.gv...
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuzk.h"
#include "gv.h"

static void check(cuzk_status status) {
    if (status == CUZK_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuzk_status_name(status), cuzk_last_error());
    exit(1);
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL) {
        perror("calloc");
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s CIRCUIT.params CASE.gv...\n", argv[0]);
        return 2;
    }
    size_t count = (size_t)argc - 2;
    gv_case *gv = allocate(count, sizeof *gv);
    cuzk_assignment *assignments = allocate(count, sizeof *assignments);
    cuzk_fr *r = allocate(count, sizeof *r);
    cuzk_fr *s = allocate(count, sizeof *s);
    cuzk_proof *proofs = allocate(count, sizeof *proofs);

    for (size_t i = 0; i < count; i++) {
        if (gv_read(argv[2 + i], &gv[i]) != 0)
            return 1;
        assignments[i] = gv[i].assignment;
        check(cuzk_random_scalar(&r[i]));
        check(cuzk_random_scalar(&s[i]));
    }

    cuzk_srs srs;
    check(cuzk_srs_open(argv[1], NULL, &srs));

    cuzk_prove_options options = {
        .struct_size = sizeof options,
        .priority = CUZK_PRIORITY_HIGH,
        .device = CUZK_DEVICE_ANY,
    };
    cuzk_job job;
    check(cuzk_job_start(srs, assignments, count, r, s, &options, &job));

    /* The job keeps the parameters open; the assignments stay ours and must
     * not change until the job has ended. */
    check(cuzk_srs_release(srs));

    /* The next synthesis may overwrite rows a and b before the proofs are done. */
    check(cuzk_job_wait_rows(job, CUZK_WAIT_FOREVER));
    printf("rows read\n");

    cuzk_status status;
    while ((status = cuzk_job_wait(job, 50, proofs)) == CUZK_ERR_TIMEOUT)
        printf("still proving\n");
    check(status);
    printf("%zu proofs done\n", count);
    check(cuzk_job_release(job));

    for (size_t i = 0; i < count; i++)
        gv_free(&gv[i]);
    free(gv);
    free(assignments);
    free(r);
    free(s);
    free(proofs);
    return 0;
}
