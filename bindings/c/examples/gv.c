/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The header: twelve 64-bit words, little endian as in memory. */
enum {
    MAGIC,
    VERSION,
    FLAGS, /* bit 0: the proof is filled in */
    ROWS,
    INPUTS,
    AUX,
    A_AUX_BITS,
    A_AUX_ONES,
    B_INPUTS_BITS,
    B_INPUTS_ONES,
    B_AUX_BITS,
    B_AUX_ONES,
    HEADER_WORDS
};

/* Every count is below this, so that sums of sizes do not overflow. */
#define MAX_COUNT (UINT64_C(1) << 32)

static int read_file(const char *path, void **memory, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        return -1;
    }
    long end = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    void *buffer = end > 0 ? malloc((size_t)end) : NULL;
    int ok = buffer != NULL && fseek(f, 0, SEEK_SET) == 0 && fread(buffer, 1, (size_t)end, f) == (size_t)end;
    fclose(f);
    if (!ok) {
        fprintf(stderr, "%s: cannot be read, or empty\n", path);
        free(buffer);
        return -1;
    }
    *memory = buffer;
    *size = (size_t)end;
    return 0;
}

/* Takes count elements of element_size bytes off the front of *at. */
static const void *take(const uint8_t **at, uint64_t count, size_t element_size) {
    const void *start = *at;
    *at += count * element_size;
    return start;
}

static uint64_t words_of(uint64_t bits) {
    return (bits + 63) / 64;
}

static cuzk_density density(const uint8_t **at, uint64_t bits, uint64_t ones) {
    cuzk_density d;
    d.words = take(at, words_of(bits), sizeof(uint64_t));
    d.bit_len = bits;
    d.popcount = ones;
    return d;
}

int gv_read(const char *path, gv_case *out) {
    size_t size;
    memset(out, 0, sizeof *out);
    if (read_file(path, &out->memory, &size) != 0)
        return -1;

    uint64_t h[HEADER_WORDS] = {0};
    uint64_t scalars = 0, words = 0, expected = 0;
    int valid = size >= sizeof h;
    if (valid) {
        memcpy(h, out->memory, sizeof h);
        valid = memcmp(&h[MAGIC], "CUZKGV01", 8) == 0 && h[VERSION] == 1;
        for (int i = ROWS; i < HEADER_WORDS; i++)
            valid = valid && h[i] < MAX_COUNT;
    }
    if (valid) {
        scalars = 3 * h[ROWS] + h[INPUTS] + h[AUX] + 2; /* a, b, c, inputs, aux, r, s */
        words = words_of(h[A_AUX_BITS]) + words_of(h[B_INPUTS_BITS]) + words_of(h[B_AUX_BITS]);
        expected = sizeof h + scalars * sizeof(cuzk_fr) + words * 8 + CUZK_PROOF_BYTES;
        valid = size == expected;
    }
    if (!valid) {
        fprintf(stderr, "%s: not a .gv file of version 1 (%zu bytes)\n", path, size);
        gv_free(out);
        return -1;
    }

    const uint8_t *at = (const uint8_t *)out->memory + sizeof h;
    cuzk_assignment *a = &out->assignment;
    a->struct_size = sizeof *a;
    a->num_rows = h[ROWS];
    a->num_inputs = h[INPUTS];
    a->num_aux = h[AUX];
    a->a = take(&at, h[ROWS], sizeof(cuzk_fr));
    a->b = take(&at, h[ROWS], sizeof(cuzk_fr));
    a->c = take(&at, h[ROWS], sizeof(cuzk_fr));
    a->inputs = take(&at, h[INPUTS], sizeof(cuzk_fr));
    a->aux = take(&at, h[AUX], sizeof(cuzk_fr));
    a->a_aux = density(&at, h[A_AUX_BITS], h[A_AUX_ONES]);
    a->b_inputs = density(&at, h[B_INPUTS_BITS], h[B_INPUTS_ONES]);
    a->b_aux = density(&at, h[B_AUX_BITS], h[B_AUX_ONES]);
    memcpy(&out->r, take(&at, 1, sizeof(cuzk_fr)), sizeof(cuzk_fr));
    memcpy(&out->s, take(&at, 1, sizeof(cuzk_fr)), sizeof(cuzk_fr));
    memcpy(out->proof, at, CUZK_PROOF_BYTES);
    out->has_proof = (h[FLAGS] & 1) != 0;
    return 0;
}

void gv_free(gv_case *gv) {
    free(gv->memory);
    memset(gv, 0, sizeof *gv);
}
