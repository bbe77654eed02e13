/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Proves one circuit and writes the proof, 192 bytes, to a file.
 *
 *     prove CIRCUIT.params CASE.gv OUT.proof
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuzk.h"
#include "gv.h"

/* Every function returns a status; cuzk_last_error() says what was wrong. */
static void check(cuzk_status status) {
    if (status == CUZK_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuzk_status_name(status), cuzk_last_error());
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s CIRCUIT.params CASE.gv OUT.proof\n", argv[0]);
        return 2;
    }

    /* The parameter file is read and checked once; a program keeps it open. */
    cuzk_srs srs;
    check(cuzk_srs_open(argv[1], NULL, &srs));

    gv_case gv;
    if (gv_read(argv[2], &gv) != 0)
        return 1;

    /* r and s blind the proof: fresh random scalars for every proof. */
    cuzk_fr r, s;
    check(cuzk_random_scalar(&r));
    check(cuzk_random_scalar(&s));

    /* The proof was verified before this returns. */
    cuzk_proof proof;
    check(cuzk_prove_partition(srs, &gv.assignment, &r, &s, NULL, &proof));

    uint8_t bytes[CUZK_PROOF_BYTES];
    check(cuzk_proof_serialize(&proof, bytes));

    FILE *f = fopen(argv[3], "wb");
    if (f == NULL || fwrite(bytes, 1, sizeof bytes, f) != sizeof bytes || fclose(f) != 0) {
        perror(argv[3]);
        return 1;
    }
    printf("proved %zu rows, wrote %zu bytes to %s\n", gv.assignment.num_rows, sizeof bytes, argv[3]);

    gv_free(&gv);
    check(cuzk_srs_release(srs));
    return 0;
}
