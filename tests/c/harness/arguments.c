/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every argument but the assignment: handles, options, outputs, blinding. */
#include "harness.h"

static cuzk_status prove(const golden *g, const cuzk_prove_options *options, cuzk_proof *out) {
    return cuzk_prove_partition(g->srs, &g->gv.assignment, &g->gv.r, &g->gv.s, options, out);
}

static void prove_options(const golden *g) {
    static const struct {
        const char *what;
        cuzk_prove_options options;
        cuzk_status want;
        const char *text;
    } cases[] = {
        {"no struct_size", {0, 0, 0, -1, 0}, CUZK_ERR_STRUCT_SIZE, "options.struct_size is 0"},
        {"older than the first", {16, 0, 0, -1, 0}, CUZK_ERR_STRUCT_SIZE, "options.struct_size is 16"},
        {"odd size", {25, 0, 0, -1, 0}, CUZK_ERR_STRUCT_SIZE, "options.struct_size is 25"},
        {"size is garbage", {SIZE_MAX, 0, 0, -1, 0}, CUZK_ERR_STRUCT_SIZE, "options.struct_size"},
        {"unknown flag", {24, 2, 0, -1, 0}, CUZK_ERR_VALUE, "options.flags has unknown bits 0x2"},
        {"every flag", {24, UINT32_MAX, 0, -1, 0}, CUZK_ERR_VALUE, "options.flags"},
        {"priority below", {24, 0, -1, -1, 0}, CUZK_ERR_VALUE, "options.priority is -1"},
        {"priority above", {24, 0, 5, -1, 0}, CUZK_ERR_VALUE, "options.priority is 5"},
        {"device below", {24, 0, 0, -2, 0}, CUZK_ERR_VALUE, "options.device is -2"},
        {"device above", {24, 0, 0, 1000, 0}, CUZK_ERR_NO_DEVICE, "1000"},
        {"reserved", {24, 0, 0, -1, 1}, CUZK_ERR_VALUE, "options.reserved is 1"},
    };
    cuzk_proof proof;
    poison(&proof, sizeof proof);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        EXPECT(cases[i].what, prove(g, &cases[i].options, &proof), cases[i].want, cases[i].text);
    cuzk_prove_options any = {.struct_size = sizeof any, .device = CUZK_DEVICE_ANY};
    EXPECT("options misaligned", prove(g, SHIFTED(&any, 4), &proof), CUZK_ERR_ALIGNMENT, "options is");
    CHECK(is_poison(&proof, sizeof proof));

    uint32_t devices;
    OK(cuzk_device_count(&devices));
    for (int32_t priority = CUZK_PRIORITY_DEFAULT; priority <= CUZK_PRIORITY_CRITICAL; priority++) {
        /* The CPU by its index, which is there on every machine. */
        cuzk_prove_options options = {sizeof options, CUZK_PROVE_NO_SELF_CHECK, priority,
                                      (int32_t)devices - 1, 0};
        OK(prove(g, &options, &proof));
        CHECK(is_golden(&g->gv, &proof));
    }

    /* A later version's struct: accepted while what it added is zero. */
    struct {
        cuzk_prove_options known;
        uint64_t later;
    } newer = {{sizeof newer, 0, 0, CUZK_DEVICE_ANY, 0}, 0};
    OK(prove(g, &newer.known, &proof));
    newer.later = UINT64_C(1) << 63;
    EXPECT("a field this version does not know", prove(g, &newer.known, &proof), CUZK_ERR_STRUCT_SIZE,
           "byte 31");
}

static void prove_pointers(const golden *g) {
    const cuzk_assignment *a = &g->gv.assignment;
    const cuzk_fr *r = &g->gv.r, *s = &g->gv.s;
    cuzk_proof proof;
    poison(&proof, sizeof proof);
    EXPECT("no set", cuzk_prove_partition(0, a, r, s, NULL, &proof), CUZK_ERR_HANDLE, "got 0");
    EXPECT("no assignment", cuzk_prove_partition(g->srs, NULL, r, s, NULL, &proof), CUZK_ERR_NULL,
           "assignment is NULL");
    EXPECT("no r", cuzk_prove_partition(g->srs, a, NULL, s, NULL, &proof), CUZK_ERR_NULL, "r is NULL");
    EXPECT("no s", cuzk_prove_partition(g->srs, a, r, NULL, NULL, &proof), CUZK_ERR_NULL, "s is NULL");
    EXPECT("no out", cuzk_prove_partition(g->srs, a, r, s, NULL, NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("assignment misaligned", cuzk_prove_partition(g->srs, SHIFTED(a, 1), r, s, NULL, &proof),
           CUZK_ERR_ALIGNMENT, "assignment is");
    EXPECT("r misaligned", cuzk_prove_partition(g->srs, a, SHIFTED(r, 4), s, NULL, &proof),
           CUZK_ERR_ALIGNMENT, "r is");
    EXPECT("s misaligned", cuzk_prove_partition(g->srs, a, r, SHIFTED(s, 7), NULL, &proof),
           CUZK_ERR_ALIGNMENT, "s is");
    EXPECT("out misaligned", cuzk_prove_partition(g->srs, a, r, s, NULL, SHIFTED(&proof, 4)),
           CUZK_ERR_ALIGNMENT, "out is");

    cuzk_fr large;
    memset(&large, 0xff, sizeof large);
    EXPECT("r not reduced", cuzk_prove_partition(g->srs, a, &large, s, NULL, &proof), CUZK_ERR_SCALAR, "r");
    EXPECT("s not reduced", cuzk_prove_partition(g->srs, a, r, &large, NULL, &proof), CUZK_ERR_SCALAR, "s");
    /* The modulus itself is the first value that is refused. */
    cuzk_fr modulus = {{UINT64_C(0xffffffff00000001), UINT64_C(0x53bda402fffe5bfe),
                        UINT64_C(0x3339d80809a1d805), UINT64_C(0x73eda753299d7d48)}};
    EXPECT("r is the modulus", cuzk_prove_partition(g->srs, a, &modulus, s, NULL, &proof), CUZK_ERR_SCALAR,
           "r");
    CHECK(is_poison(&proof, sizeof proof));
    modulus.limb[0]--;
    OK(cuzk_prove_partition(g->srs, a, &modulus, s, NULL, &proof));
}

static void start_arguments(const golden *g) {
    cuzk_assignment list[3] = {g->gv.assignment, g->gv.assignment, g->gv.assignment};
    cuzk_fr r[3] = {g->gv.r, g->gv.r, g->gv.r}, s[3] = {g->gv.s, g->gv.s, g->gv.s};
    cuzk_job job;
    poison(&job, sizeof job);
    EXPECT("no out", cuzk_job_start(g->srs, list, 3, r, s, NULL, NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("out misaligned", cuzk_job_start(g->srs, list, 3, r, s, NULL, SHIFTED(&job, 1)),
           CUZK_ERR_ALIGNMENT, "out is");
    EXPECT("no set", cuzk_job_start(0, list, 3, r, s, NULL, &job), CUZK_ERR_HANDLE, "got 0");
    EXPECT("no assignments", cuzk_job_start(g->srs, NULL, 3, r, s, NULL, &job), CUZK_ERR_NULL,
           "assignments[0] is NULL");
    EXPECT("no r", cuzk_job_start(g->srs, list, 3, NULL, s, NULL, &job), CUZK_ERR_NULL, "r is NULL");
    EXPECT("no s", cuzk_job_start(g->srs, list, 3, r, NULL, NULL, &job), CUZK_ERR_NULL, "s is NULL");
    EXPECT("no set, no partitions", cuzk_job_start(0, NULL, 0, NULL, NULL, NULL, &job), CUZK_ERR_HANDLE,
           "got 0");
    EXPECT("endless count", cuzk_job_start(g->srs, list, SIZE_MAX, r, s, NULL, &job), CUZK_ERR_SIZE,
           "count is");
    EXPECT("one too many", cuzk_job_start(g->srs, list, 4097, r, s, NULL, &job), CUZK_ERR_SIZE,
           "count is 4097, expected at most 4096");

    list[2].a = NULL;
    EXPECT("the third has no a", cuzk_job_start(g->srs, list, 3, r, s, NULL, &job), CUZK_ERR_NULL,
           "assignments[2].a is NULL");
    list[2].a = list[0].a;
    list[1].b_aux.popcount++;
    EXPECT("the second's popcount", cuzk_job_start(g->srs, list, 3, r, s, NULL, &job), CUZK_ERR_DENSITY,
           "partition 1");
    list[1] = list[0];
    list[1].struct_size += 8;
    EXPECT("sizes differ", cuzk_job_start(g->srs, list, 3, r, s, NULL, &job), CUZK_ERR_STRUCT_SIZE,
           "assignments[1]");
    list[1] = list[0];
    memset(&s[1], 0xff, sizeof s[1]);
    EXPECT("the second's s", cuzk_job_start(g->srs, list, 3, r, s, NULL, &job), CUZK_ERR_SCALAR,
           "partition 1");
    CHECK(is_poison(&job, sizeof job));

    /* Elements of a later version are spaced by their own size. */
    struct {
        cuzk_assignment known;
        uint64_t later[2];
    } newer[2];
    memset(newer, 0, sizeof newer);
    newer[0].known = newer[1].known = g->gv.assignment;
    newer[0].known.struct_size = newer[1].known.struct_size = sizeof newer[0];
    cuzk_proof proofs[2];
    s[1] = s[0];
    OK(cuzk_job_start(g->srs, &newer[0].known, 2, r, s, NULL, &job));
    OK(cuzk_job_wait(job, CUZK_WAIT_FOREVER, proofs));
    CHECK(is_golden(&g->gv, &proofs[0]) && is_golden(&g->gv, &proofs[1]));
    OK(cuzk_job_release(job));
}

static void open_arguments(void) {
    char *path = path_of(golden_dir, "two", ".params");
    cuzk_srs srs;
    poison(&srs, sizeof srs);
    EXPECT("no path", cuzk_srs_open(NULL, NULL, &srs), CUZK_ERR_NULL, "path is NULL");
    EXPECT("no out", cuzk_srs_open(path, NULL, NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("out misaligned", cuzk_srs_open(path, NULL, SHIFTED(&srs, 2)), CUZK_ERR_ALIGNMENT, "out is");
    cuzk_srs_options options = {0, 0, 0};
    EXPECT("no struct_size", cuzk_srs_open(path, &options, &srs), CUZK_ERR_STRUCT_SIZE,
           "options.struct_size is 0");
    options.struct_size = sizeof options;
    EXPECT("options misaligned", cuzk_srs_open(path, SHIFTED(&options, 4), &srs), CUZK_ERR_ALIGNMENT,
           "options is");
    options.flags = 6;
    EXPECT("unknown flags", cuzk_srs_open(path, &options, &srs), CUZK_ERR_VALUE,
           "options.flags has unknown bits 0x6");
    options.flags = 0;
    options.reserved = 1;
    EXPECT("reserved", cuzk_srs_open(path, &options, &srs), CUZK_ERR_VALUE, "options.reserved is 1");
    CHECK(is_poison(&srs, sizeof srs));
    options.reserved = 0;
    options.flags = CUZK_SRS_CHECK_SUBGROUP;
    OK(cuzk_srs_open(path, &options, &srs));
    OK(cuzk_srs_release(srs));
    free(path);
}

static void info_arguments(const golden *g) {
    cuzk_srs_info info = {.struct_size = sizeof info};
    OK(cuzk_srs_get_info(g->srs, &info));
    const cuzk_assignment *a = &g->gv.assignment;
    CHECK(info.struct_size == sizeof info && info.domain_size == 32);
    CHECK(info.num_inputs == a->num_inputs && info.num_aux == a->num_aux);
    CHECK(info.num_a == a->num_inputs + a->a_aux.popcount);
    CHECK(info.num_b == a->b_inputs.popcount + a->b_aux.popcount);
    CHECK(info.file_bytes == 11640 && info.point_bytes > 0);
    EXPECT("info into NULL", cuzk_srs_get_info(g->srs, NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("info misaligned", cuzk_srs_get_info(g->srs, SHIFTED(&info, 4)), CUZK_ERR_ALIGNMENT, "out is");
    EXPECT("info of nothing", cuzk_srs_get_info(0, &info), CUZK_ERR_HANDLE, "got 0");
    info.struct_size = 8;
    EXPECT("info too small", cuzk_srs_get_info(g->srs, &info), CUZK_ERR_STRUCT_SIZE, "out.struct_size is 8");
}

void suite_arguments(void) {
    golden g;
    golden_open("two", "two", &g);
    prove_pointers(&g);
    prove_options(&g);
    start_arguments(&g);
    open_arguments();
    info_arguments(&g);
    golden_close(&g);
}
