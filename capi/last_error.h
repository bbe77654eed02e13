/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The buffers of cuzk_last_error: one for each thread of the host that had an
 * error, and one for each entry thread. */
#ifndef CUZK_CAPI_LAST_ERROR_H
#define CUZK_CAPI_LAST_ERROR_H

#include <stddef.h>

struct cuzkc_text {
    char *bytes; /* NULL: none */
    size_t capacity;
    size_t length;
};

/* The buffer of the entry thread that runs this, NULL on another thread. */
extern _Thread_local struct cuzkc_text *cuzkc_entry_error;

#endif
