/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The log callback. */
#include "harness.h"

#include <stdatomic.h>

typedef struct seen {
    atomic_int calls, inside, overlaps, worst;
} seen;

static void count(int32_t level, const char *message, void *user) {
    seen *s = user;
    if (atomic_fetch_add(&s->inside, 1) != 0)
        atomic_fetch_add(&s->overlaps, 1);
    atomic_fetch_add(&s->calls, 1);
    if (level > atomic_load(&s->worst))
        atomic_store(&s->worst, level);
    CHECK(level >= CUZK_LOG_ERROR && level <= CUZK_LOG_DEBUG);
    CHECK(message[0] != '\0' && strchr(message, '\n') == NULL);
    atomic_fetch_sub(&s->inside, 1);
}

static void prove_some(const golden *g) {
    cuzk_proof proof;
    for (int i = 0; i < 3; i++)
        OK(cuzk_prove_partition(g->srs, &g->gv.assignment, &g->gv.r, &g->gv.s, NULL, &proof));
}

static seen switched; /* by the callback that is set and taken away while others prove */

static void prove_and_switch(void *arg, int index) {
    golden *g = arg;
    if (index == 0) {
        for (int i = 0; i < 200; i++)
            OK(cuzk_set_log(i % 3 == 0 ? NULL : count, &switched, CUZK_LOG_DEBUG));
        return;
    }
    prove_some(g);
}

void suite_log(void) {
    golden g;
    golden_open("two", "two", &g);
    EXPECT("level 0", cuzk_set_log(count, NULL, 0), CUZK_ERR_VALUE, "max_level is 0");
    EXPECT("level 5", cuzk_set_log(count, NULL, 5), CUZK_ERR_VALUE, "max_level is 5");
    OK(cuzk_set_log(NULL, NULL, 0));

    seen s = {0};
    OK(cuzk_set_log(count, &s, CUZK_LOG_DEBUG));
    prove_some(&g);
    OK(cuzk_set_log(NULL, NULL, 0)); /* returns when the callback has had all messages */
    int before = atomic_load(&s.calls);
    CHECK(before > 0);
    prove_some(&g);
    CHECK(atomic_load(&s.calls) == before);

    seen quiet = {0};
    OK(cuzk_set_log(count, &quiet, CUZK_LOG_ERROR));
    prove_some(&g);
    OK(cuzk_set_log(NULL, NULL, 0));
    CHECK(atomic_load(&quiet.calls) == 0);

    run_threads(5, prove_and_switch, &g);
    OK(cuzk_set_log(NULL, NULL, 0));
    CHECK(atomic_load(&s.overlaps) == 0 && atomic_load(&switched.overlaps) == 0);
    golden_close(&g);
}
