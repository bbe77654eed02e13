/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Shows what the library does: proves a circuit that bellperson made, compares
 * the proof with bellperson's, verifies it, and verifies it once more with one
 * bit changed.
 *
 *     demo CIRCUIT.params CASE.gv
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuzk.h"
#include "gv.h"

static void check(cuzk_status status) {
    if (status == CUZK_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuzk_status_name(status), cuzk_last_error());
    exit(1);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void show_devices(void) {
    uint32_t count;
    check(cuzk_device_count(&count));
    for (uint32_t i = 0; i < count; i++) {
        cuzk_device_info info = {.struct_size = sizeof info};
        check(cuzk_device_get_info(i, &info));
        printf("device %u   %s, %s, %.1f GiB%s%s\n", i, info.backend, info.name,
               (double)info.memory_bytes / (1 << 30), info.unusable[0] ? ", not used: " : "", info.unusable);
    }
    if (cuzk_gpu_reason()[0] != '\0')
        printf("no GPU     %s\n", cuzk_gpu_reason());
}

static void show_parameters(cuzk_srs srs, const char *path, double ms) {
    cuzk_srs_info info = {.struct_size = sizeof info};
    check(cuzk_srs_get_info(srs, &info));
    printf("opened     %s: %.1f MB, domain 2^%d, %llu inputs, %llu aux variables; %.1f ms\n", path,
           (double)info.file_bytes / 1e6, __builtin_ctzll(info.domain_size),
           (unsigned long long)info.num_inputs, (unsigned long long)info.num_aux, ms);
}

static void show_bytes(const uint8_t *bytes) {
    for (int i = 0; i < CUZK_PROOF_BYTES; i++)
        printf("%s%02x", i % 48 == 0 ? "\n           " : "", bytes[i]);
    printf("\n");
}

/* A proof with one bit changed must fail, as bytes and as points. */
static void show_failure(cuzk_srs srs, const gv_case *gv, const cuzk_proof *proof) {
    cuzk_proof changed = *proof;
    changed.a.x.limb[0] ^= 1;
    cuzk_status status = cuzk_verify(srs, gv->assignment.inputs, gv->assignment.num_inputs, &changed);
    if (status == CUZK_OK) {
        fprintf(stderr, "a proof with a changed bit verified\n");
        exit(1);
    }
    printf("one bit changed: refused with %s\n           %s\n", cuzk_status_name(status), cuzk_last_error());

    /* Another valid point in the place of A: only the equation can tell. */
    changed = *proof;
    changed.a = proof->c;
    status = cuzk_verify(srs, gv->assignment.inputs, gv->assignment.num_inputs, &changed);
    if (status != CUZK_ERR_PROOF) {
        fprintf(stderr, "expected CUZK_ERR_PROOF, got %s\n", cuzk_status_name(status));
        exit(1);
    }
    printf("A replaced by C: refused with %s\n           %s\n", cuzk_status_name(status), cuzk_last_error());
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s CIRCUIT.params CASE.gv\n", argv[0]);
        return 2;
    }
    printf("library    %s\n", cuzk_version());
    show_devices();

    gv_case gv;
    if (gv_read(argv[2], &gv) != 0)
        return 1;

    double start = now_ms();
    cuzk_srs srs;
    check(cuzk_srs_open(argv[1], NULL, &srs));
    show_parameters(srs, argv[1], now_ms() - start);

    /* The case's own r and s, so that the proof can be compared; a real caller
     * takes cuzk_random_scalar. */
    cuzk_proof proof;
    start = now_ms();
    check(cuzk_prove_partition(srs, &gv.assignment, &gv.r, &gv.s, NULL, &proof));
    double first = now_ms() - start;
    start = now_ms();
    check(cuzk_prove_partition(srs, &gv.assignment, &gv.r, &gv.s, NULL, &proof));
    printf("proved     %s: %zu rows; %.1f ms, once more %.1f ms\n", argv[2], gv.assignment.num_rows, first,
           now_ms() - start);

    uint8_t bytes[CUZK_PROOF_BYTES];
    check(cuzk_proof_serialize(&proof, bytes));
    printf("proof      A, B, C, compressed:");
    show_bytes(bytes);

    int equal = gv.has_proof && memcmp(bytes, gv.proof, sizeof bytes) == 0;
    if (gv.has_proof)
        printf("compared   %s\n", equal ? "byte for byte bellperson's proof" : "NOT bellperson's proof");

    start = now_ms();
    check(cuzk_verify(srs, gv.assignment.inputs, gv.assignment.num_inputs, &proof));
    printf("verified   %.1f ms\n", now_ms() - start);
    show_failure(srs, &gv, &proof);

    int failed = gv.has_proof && !equal;
    gv_free(&gv);
    check(cuzk_srs_release(srs));
    return failed;
}
