/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Metrics and the timeline, and what the environment sets. */
#include "harness.h"

static void metrics_fit(void) {
    size_t needed = 0;
    OK(cuzk_metrics(NULL, 0, &needed));
    CHECK(needed > 1);

    /* The counters may have grown by a digit since. */
    size_t size = needed + 1024, exact = 0;
    char *text = fresh(size);
    OK(cuzk_metrics(text, size, &exact));
    CHECK(exact <= size && strlen(text) == exact - 1);
    CHECK(strncmp(text, "# HELP cuzk_", 12) == 0 && text[exact - 2] == '\n');
    CHECK(strstr(text, "\ncuzk_partitions_total{device=\"cpu0\"") != NULL);
    CHECK(strstr(text, "outcome=\"done\"} 1\n") != NULL);
    CHECK(strstr(text, "\ncuzk_stage_seconds_count{") != NULL);

    char *unaligned = (char *)fresh(size + 1) + 1;
    OK(cuzk_metrics(unaligned, size, &exact));
    free(unaligned - 1);

    poison(text, size);
    needed = 0;
    EXPECT("one byte", cuzk_metrics(text, 1, &needed), CUZK_ERR_SIZE, "size is 1, the metrics take ");
    CHECK(is_poison(text, size) && needed > 1);
    EXPECT("no buffer", cuzk_metrics(NULL, 16, &needed), CUZK_ERR_NULL, "out is NULL, and size is 16");
    EXPECT("no needed", cuzk_metrics(text, size, NULL), CUZK_ERR_NULL, "needed");
    EXPECT("misaligned needed", cuzk_metrics(text, size, SHIFTED(&needed, 4)), CUZK_ERR_ALIGNMENT, "needed");
    free(text);
}

static void timeline_is_written(const golden *g) {
    char *path = path_of(scratch_dir, "timeline", ".json");
    char *missing = path_of(scratch_dir, "missing/timeline", ".json");
    EXPECT("nothing to stop", cuzk_timeline_stop(), CUZK_ERR_VALUE, "no recording is running");
    EXPECT("no path", cuzk_timeline_start(NULL), CUZK_ERR_NULL, "path is NULL");
    EXPECT("no folder", cuzk_timeline_start(missing), CUZK_ERR_FILE_IO, "no such file");
    OK(cuzk_timeline_start(path));
    EXPECT("two at a time", cuzk_timeline_start(path), CUZK_ERR_VALUE, "is running already");
    cuzk_proof proof;
    OK(cuzk_prove_partition(g->srs, &g->gv.assignment, &g->gv.r, &g->gv.s, NULL, &proof));
    OK(cuzk_timeline_stop());

    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    if (file != NULL) {
        char text[16384];
        size_t length = fread(text, 1, sizeof text - 1, file);
        text[length] = '\0';
        fclose(file);
        CHECK(text[0] == '[' && strcmp(text + length - 2, "]\n") == 0);
        CHECK(strstr(text, "\"name\":\"self-check\"") != NULL);
    }
    free(path);
    free(missing);
}

void suite_observe(void) {
    golden g;
    golden_open("two", "two", &g);
    cuzk_proof proof;
    OK(cuzk_prove_partition(g.srs, &g.gv.assignment, &g.gv.r, &g.gv.s, NULL, &proof));
    metrics_fit();
    timeline_is_written(&g);
    golden_close(&g);
}

/* EXPECTED_ERROR is what every call that needs a device says in the
 * environment that the test made; without it they succeed. */
void suite_environment(void) {
    const char *expected = getenv("EXPECTED_ERROR");
    cuzk_status status = expected != NULL ? CUZK_ERR_VALUE : CUZK_OK;
    const char *text = expected != NULL ? expected : "";
    uint32_t count = 0;
    size_t needed = 0;
    for (int i = 0; i < 2; i++) {
        EXPECT("count", cuzk_device_count(&count), status, text);
        EXPECT("workers", cuzk_set_workers(1), status, text);
        EXPECT("metrics", cuzk_metrics(NULL, 0, &needed), status, text);
    }
    if (expected != NULL)
        CHECK(strstr(cuzk_gpu_reason(), expected) != NULL);
    if (getenv("CUZK_BACKEND") != NULL)
        CHECK(expected != NULL || count == 1);
    /* What needs no device is not affected. */
    cuzk_fr r;
    OK(cuzk_random_scalar(&r));
}
