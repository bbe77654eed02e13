/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Verifies a proof that prove.c wrote, for the public inputs of a case.
 *
 *     verify CIRCUIT.params CASE.gv PROOF
 *
 * Ends with 0 if the proof verifies and with 1 if it does not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuzk.h"
#include "gv.h"

static void check(cuzk_status status) {
    if (status == CUZK_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuzk_status_name(status), cuzk_last_error());
    exit(2);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s CIRCUIT.params CASE.gv PROOF\n", argv[0]);
        return 2;
    }

    uint8_t bytes[CUZK_PROOF_BYTES];
    FILE *f = fopen(argv[3], "rb");
    if (f == NULL || fread(bytes, 1, sizeof bytes, f) != sizeof bytes) {
        fprintf(stderr, "%s: cannot be read, or shorter than %zu bytes\n", argv[3], sizeof bytes);
        return 2;
    }
    fclose(f);

    gv_case gv;
    if (gv_read(argv[2], &gv) != 0)
        return 2;

    /* The verifying key is part of the parameter file. */
    cuzk_srs srs;
    check(cuzk_srs_open(argv[1], NULL, &srs));

    /* Bytes that are no points are one kind of bad proof, a failing equation
     * the other. */
    cuzk_proof proof;
    cuzk_status status = cuzk_proof_deserialize(bytes, &proof);
    if (status == CUZK_OK)
        status = cuzk_verify(srs, gv.assignment.inputs, gv.assignment.num_inputs, &proof);
    if (status == CUZK_OK) {
        printf("the proof verifies\n");
    } else if (status == CUZK_ERR_PROOF || status == CUZK_ERR_POINT) {
        printf("the proof does NOT verify: %s\n", cuzk_last_error());
    } else {
        check(status); /* a mistake of ours */
    }

    gv_free(&gv);
    check(cuzk_srs_release(srs));
    return status == CUZK_OK ? 0 : 1;
}
