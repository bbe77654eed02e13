/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reads a .gv file: one synthesised circuit with its r and s and, usually, the
 * proof that they give. The examples take their circuits from such files; a
 * real program gets the same arrays from its synthesis.
 */
#ifndef GV_H
#define GV_H

#include "cuzk.h"

typedef struct gv_case {
    cuzk_assignment assignment; /* points into memory */
    cuzk_fr r, s;
    uint8_t proof[CUZK_PROOF_BYTES]; /* the expected proof, serialised */
    int has_proof;
    void *memory;
} gv_case;

/* Returns 0, or -1 after a message on stderr. Close with gv_free. */
int gv_read(const char *path, gv_case *out);
void gv_free(gv_case *gv);

#endif
