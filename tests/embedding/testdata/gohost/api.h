/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The calls the host makes, linked in or looked up in a library at run time. */
#ifndef API_H
#define API_H

#include "cuzk.h"
#include "gv.h"

typedef struct work {
    const char *params;
    gv_case gv;
} work;

/* path: the shared library to load; not used in a static build. 0, or -1 after
 * a message on stderr. */
int api_load(const char *path);

/* Opens, proves, verifies, compares with the expected proof, releases.
 * Returns 0, or -1 after a message on stderr. */
int api_round(const work *w);

const char *api_version(void);

#endif
