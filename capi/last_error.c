/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Error texts, which live where a C caller's thread ends: in thread-local
 * storage. */
#include "last_error.h"
#include "internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Longer texts are cut off. */
#define LAST_ERROR_MAX 65536

/* Allocated at a thread's first error, so that threads without one, and the
 * thread-local storage of programs, pay nothing. */
static _Thread_local struct cuzkc_text last_error;

_Thread_local struct cuzkc_text *cuzkc_entry_error;

static pthread_key_t last_error_key;
static pthread_once_t last_error_once = PTHREAD_ONCE_INIT;
static int last_error_has_key;

/* At the end of a thread. Destructors of the host may call the library after
 * this one, so it leaves the thread as one without an error; a new error sets
 * the key again, and this runs again. */
static void free_last_error(void *bytes) {
    free(bytes);
    last_error = (struct cuzkc_text){0};
}

static void make_last_error_key(void) {
    last_error_has_key = pthread_key_create(&last_error_key, free_last_error) == 0;
}

/* Makes room for size bytes; 0 if there is no memory. */
static int grow(struct cuzkc_text *text, size_t size) {
    if (size <= text->capacity)
        return 1;
    size_t rounded = size < 1024 ? 1024 : size;
    char *grown = realloc(text->bytes, rounded);
    if (grown == NULL)
        return 0;
    text->bytes = grown;
    text->capacity = rounded;
    return 1;
}

/* Has last_error freed when the thread ends. An entry thread never ends. */
static void free_at_end(void) {
    pthread_once(&last_error_once, make_last_error_key);
    if (last_error_has_key)
        pthread_setspecific(last_error_key, last_error.bytes);
}

void cuzkc_set_last_error(const char *bytes, size_t length) {
    struct cuzkc_text *text = cuzkc_entry_error != NULL ? cuzkc_entry_error : &last_error;
    if (length >= LAST_ERROR_MAX)
        length = LAST_ERROR_MAX - 1;
    if (!grow(text, length + 1)) {
        if (text->capacity == 0)
            return; /* the status still tells */
        if (length >= text->capacity)
            length = text->capacity - 1;
    }
    if (text == &last_error)
        free_at_end();
    memcpy(text->bytes, bytes, length);
    text->bytes[length] = '\0';
    text->length = length;
}

const char *cuzk_last_error(void) {
    return last_error.bytes != NULL ? last_error.bytes : "";
}
