/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The supraseal symbols: proofs, parameter handles, the cache, pending proofs. */
#include "harness.h"

#include <stddef.h>
#include <unistd.h>

/* An error must have the status and the text; its message is freed with free,
 * which the sanitizer checks. */
static void expect_error(const char *what, supraseal_error e, cuzk_status want, const char *text) {
    if (e.code != want) {
        FAIL("%s: expected %s, got %s (%s)", what, cuzk_status_name(want), cuzk_status_name(e.code),
             e.message ? e.message : "no message");
    }
    if (want == CUZK_OK) {
        CHECK(e.message == NULL);
    } else if (e.message == NULL || strstr(e.message, text) == NULL) {
        FAIL("%s: message \"%s\" does not contain \"%s\"", what, e.message ? e.message : "(none)", text);
    }
    EXPECT(what, e.code, e.code, e.message ? e.message : "");
    free(e.message);
}
#define SUPRA_OK(call) expect_error(#call, call, CUZK_OK, "")

enum { COUNT = 7 };

typedef struct batch {
    supraseal_srs srs;
    gv_case gv[3];
    supraseal_assignment provers[COUNT];
    cuzk_fr r[COUNT], s[COUNT];
    cuzk_proof *proofs; /* as malloc gives them: not initialised */
} batch;

static void batch_open(batch *b) {
    static const char *const names[] = {"mimc", "mimc.1", "mimc.2"};
    char *path = path_of(golden_dir, "mimc", ".params");
    SUPRA_OK(create_SRS(&b->srs, path, false));
    CHECK(b->srs.ptr != NULL);
    free(path);
    for (int i = 0; i < 3; i++) {
        path = path_of(golden_dir, names[i], ".gv");
        if (gv_read(path, &b->gv[i]) != 0)
            exit(2);
        free(path);
    }
    for (int i = 0; i < COUNT; i++) {
        b->provers[i] = supraseal_of(&b->gv[i % 3]);
        b->r[i] = b->gv[i % 3].r;
        b->s[i] = b->gv[i % 3].s;
    }
    b->proofs = fresh(COUNT * sizeof *b->proofs);
}

static void batch_close(batch *b) {
    drop_SRS(&b->srs);
    for (int i = 0; i < 3; i++)
        gv_free(&b->gv[i]);
    free(b->proofs);
}

static void check_proofs(batch *b, int count) {
    for (int i = 0; i < count; i++) {
        if (!is_golden(&b->gv[i % 3], &b->proofs[i]))
            FAIL("circuit %d is not bellperson's proof", i);
    }
    poison(b->proofs, COUNT * sizeof *b->proofs);
}

static void golden_cases(void) {
    static const char *const names[] = {"one", "oneinp", "two", "zero", "rs0", "pow2", "mimc", "dup"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *params = path_of(golden_dir, names[i], ".params");
        char *path = path_of(golden_dir, names[i], ".gv");
        gv_case gv;
        if (gv_read(path, &gv) != 0)
            exit(2);
        supraseal_srs srs;
        poison(&srs, sizeof srs); /* overwritten, not dropped */
        SUPRA_OK(create_SRS(&srs, params, false));
        supraseal_assignment a = supraseal_of(&gv);
        a.c = NULL;
        cuzk_proof *proof = fresh(sizeof *proof);
        SUPRA_OK(generate_groth16_proofs_c(&a, 1, &gv.r, &gv.s, proof, &srs));
        if (!is_golden(&gv, proof))
            FAIL("%s is not bellperson's proof", names[i]);
        drop_SRS(&srs);
        free(proof);
        free(params);
        free(path);
        gv_free(&gv);
    }
}

static void batches(batch *b) {
    SUPRA_OK(generate_groth16_proofs_c(b->provers, COUNT, b->r, b->s, b->proofs, &b->srs));
    check_proofs(b, COUNT);
    SUPRA_OK(cuzk_generate_groth16_proofs_c8(b->provers, COUNT, b->r, b->s, b->proofs, &b->srs, NULL, -1));
    check_proofs(b, COUNT);
    void *mutex = create_gpu_mutex();
    CHECK(mutex != NULL && mutex != create_gpu_mutex());
    SUPRA_OK(cuzk_generate_groth16_proofs_c8(b->provers, COUNT, b->r, b->s, b->proofs, &b->srs, mutex, 0));
    check_proofs(b, COUNT);
    destroy_gpu_mutex(mutex);
    destroy_gpu_mutex(mutex);
    destroy_gpu_mutex(NULL);
    SUPRA_OK(generate_groth16_proofs_c(NULL, 0, NULL, NULL, NULL, NULL));
    SUPRA_OK(generate_groth16_proofs_c(b->provers, 0, b->r, b->s, b->proofs, &b->srs));
    CHECK(is_poison(b->proofs, COUNT * sizeof *b->proofs));

    /* Everything at an address that is a multiple of 8 and no more; bits past
     * the densities' ends set. */
    gv_case *gv = &b->gv[0];
    uint8_t *memory = fresh(gv->assignment.num_aux * 32 + 8 * 512);
    uint64_t *at = (uint64_t *)memory;
    if ((uintptr_t)at % 16 == 0)
        at++;
    supraseal_assignment a = supraseal_of(gv);
    size_t words = (a.a_aux_bit_len + 63) / 64;
    uint64_t *density = memcpy(at, a.a_aux_density, words * 8);
    density[words - 1] |= ~UINT64_C(0) << a.a_aux_bit_len % 64;
    a.a_aux_density = density;
    at += (words + 1) / 2 * 2;
    a.aux_assignment_data = memcpy(at, a.aux_assignment_data, a.aux_assignment_size * 32);
    SUPRA_OK(generate_groth16_proofs_c(&a, 1, &gv->r, &gv->s, b->proofs, &b->srs));
    check_proofs(b, 1);
    free(memory);
}

/* A handle is 8 bytes that may be copied. Each clone has a handle of its own. */
static void parameter_handles(batch *b) {
    supraseal_srs copy = b->srs, clone = clone_SRS(&copy);
    CHECK(clone.ptr != NULL);
    drop_SRS(&copy);
    drop_SRS(&b->srs); /* the same handle again */
    drop_SRS(&copy);
    expect_error("dropped", generate_groth16_proofs_c(b->provers, 1, b->r, b->s, b->proofs, &copy),
                 CUZK_ERR_HANDLE, "released");
    SUPRA_OK(generate_groth16_proofs_c(b->provers, 1, b->r, b->s, b->proofs, &clone));
    check_proofs(b, 1);
    CHECK(clone_SRS(&copy).ptr == NULL);
    evict_SRS(&copy);
    b->srs = clone_SRS(&clone);
    drop_SRS(&clone);
    SUPRA_OK(generate_groth16_proofs_c(b->provers, 1, b->r, b->s, b->proofs, &b->srs));
    check_proofs(b, 1);
}

static char *copy_file(const char *name, int index) {
    char suffix[32];
    snprintf(suffix, sizeof suffix, ".%d.params", index);
    char *from = path_of(golden_dir, name, ".params"), *to = path_of(scratch_dir, name, suffix);
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    if (in == NULL || out == NULL)
        exit(2);
    for (int c; (c = fgetc(in)) != EOF;)
        fputc(c, out);
    fclose(in);
    fclose(out);
    free(from);
    return to;
}

/* The upper bits of the register that holds a bool may have any value. */
typedef supraseal_error (*create_with_register)(supraseal_srs *, const char *, uint64_t);

static bool opens(const char *path, uint64_t cache_register) {
    union {
        supraseal_error (*plain)(supraseal_srs *, const char *, bool);
        create_with_register raw;
    } create = {create_SRS};
    supraseal_srs srs = {(void *)8};
    supraseal_error e = create.raw(&srs, path, cache_register);
    free(e.message);
    CHECK((e.code == CUZK_OK) == (srs.ptr != NULL));
    drop_SRS(&srs);
    return e.code == CUZK_OK;
}

static void cache(void) {
    const uint64_t garbage = UINT64_C(0xdeadbeefcafe0000);
    char *path[5];
    for (int i = 0; i < 5; i++)
        path[i] = copy_file("two", i);

    /* Not cached: gone with the file. */
    CHECK(opens(path[0], garbage));
    char *moved = path_of(scratch_dir, "moved", ".params");
    CHECK(rename(path[0], moved) == 0);
    CHECK(!opens(path[0], garbage));
    CHECK(!opens(path[0], garbage | 1));
    CHECK(rename(moved, path[0]) == 0);

    /* Cached: four paths stay, the least recently used goes with the fifth. */
    for (int i = 0; i < 4; i++)
        CHECK(opens(path[i], garbage | 1));
    CHECK(opens(path[0], 1)); /* now the second is the oldest */
    CHECK(opens(path[4], 1));
    for (int i = 0; i < 5; i++)
        unlink(path[i]);
    for (int i = 0; i < 5; i++)
        CHECK(opens(path[i], 1) == (i != 1));
    CHECK(!opens(path[0], garbage));

    supraseal_srs srs = {NULL};
    SUPRA_OK(create_SRS(&srs, path[4], true));
    evict_SRS(&srs);
    CHECK(!opens(path[4], 1));
    CHECK(opens(path[3], 1));
    evict_SRS(&srs); /* not there any more */
    supraseal_srs clone = clone_SRS(&srs);
    CHECK(clone.ptr != NULL);
    drop_SRS(&clone);
    drop_SRS(&srs);
    for (int i = 0; i < 5; i++)
        free(path[i]);
    free(moved);
}

static void pending(batch *b) {
    void *handle = NULL;
    SUPRA_OK(generate_groth16_proofs_start_c(b->provers, COUNT, b->r, b->s, &b->srs, NULL, -1, &handle));
    CHECK(handle != NULL);
    SUPRA_OK(finalize_groth16_proof_c(handle, b->proofs));
    check_proofs(b, COUNT);
    expect_error("used up", finalize_groth16_proof_c(handle, b->proofs), CUZK_ERR_HANDLE, "released");
    destroy_pending_proof(handle);

    /* a and b may change once start has returned; the set may go. */
    supraseal_assignment mine[COUNT];
    cuzk_fr *rows[COUNT][2];
    for (int i = 0; i < COUNT; i++) {
        mine[i] = b->provers[i];
        size_t bytes = mine[i].abc_size * sizeof(cuzk_fr);
        mine[i].a = rows[i][0] = copy_of(mine[i].a, bytes);
        mine[i].b = rows[i][1] = copy_of(mine[i].b, bytes);
    }
    supraseal_srs clone = clone_SRS(&b->srs);
    SUPRA_OK(generate_groth16_proofs_start_c(mine, COUNT, b->r, b->s, &clone, NULL, -1, &handle));
    for (int i = 0; i < COUNT; i++) {
        memset(rows[i][0], 0xff, mine[i].abc_size * sizeof(cuzk_fr));
        free(rows[i][0]);
        free(rows[i][1]);
    }
    drop_SRS(&clone);
    SUPRA_OK(finalize_groth16_proof_c(handle, b->proofs));
    check_proofs(b, COUNT);

    /* Destroyed before the end: returns when nothing is read any more. */
    SUPRA_OK(generate_groth16_proofs_start_c(b->provers, COUNT, b->r, b->s, &b->srs, NULL, -1, &handle));
    destroy_pending_proof(handle);
    destroy_pending_proof(handle);
    destroy_pending_proof(NULL);
    destroy_pending_proof((void *)8);

    /* No circuits. */
    SUPRA_OK(generate_groth16_proofs_start_c(NULL, 0, NULL, NULL, &b->srs, NULL, -1, &handle));
    CHECK(handle != NULL);
    SUPRA_OK(finalize_groth16_proof_c(handle, NULL));

    /* No room for the proofs: an error, and the handle ends. */
    SUPRA_OK(generate_groth16_proofs_start_c(b->provers, 2, b->r, b->s, &b->srs, NULL, -1, &handle));
    expect_error("no proofs", finalize_groth16_proof_c(handle, NULL), CUZK_ERR_NULL, "proofs is NULL");
    expect_error("used up", finalize_groth16_proof_c(handle, b->proofs), CUZK_ERR_HANDLE, "released");

    /* A failure, wherever it is found, leaves no handle behind. */
    supraseal_assignment wrong[2] = {b->provers[0], b->provers[1]};
    cuzk_fr *aux = copy_of(wrong[1].aux_assignment_data, wrong[1].aux_assignment_size * sizeof *aux);
    OK(cuzk_random_scalar(&aux[5]));
    wrong[1].aux_assignment_data = aux;
    handle = (void *)8;
    supraseal_error e = generate_groth16_proofs_start_c(wrong, 2, b->r, b->s, &b->srs, NULL, -1, &handle);
    if (e.code == CUZK_OK)
        e = finalize_groth16_proof_c(handle, b->proofs);
    expect_error("unsatisfied", e, CUZK_ERR_UNSATISFIED, "partition 1");
    free(aux);
    CHECK(is_poison(b->proofs, COUNT * sizeof *b->proofs));
}

void suite_supraseal(void) {
    batch *b = fresh(sizeof *b);
    golden_cases();
    batch_open(b);
    poison(b->proofs, COUNT * sizeof *b->proofs);
    batches(b);
    parameter_handles(b);
    cache();
    pending(b);
    batch_close(b);
    free(b);
}

/* ---------------------------------------------------------------- refusals --- */

static supraseal_error prove_one(batch *b, const supraseal_assignment *a) {
    return generate_groth16_proofs_c(a, 1, b->r, b->s, b->proofs, &b->srs);
}

static void fields(batch *b) {
#define FIELD(member) #member, offsetof(supraseal_assignment, member)
    static const struct {
        const char *name;
        size_t offset;
        bool pointer;
        size_t value;
        cuzk_status want;
    } cases[] = {
        {FIELD(a), true, 0, CUZK_ERR_NULL},
        {FIELD(b), true, 0, CUZK_ERR_NULL},
        {FIELD(inp_assignment_data), true, 0, CUZK_ERR_NULL},
        {FIELD(aux_assignment_data), true, 0, CUZK_ERR_NULL},
        {FIELD(a_aux_density), true, 0, CUZK_ERR_NULL},
        {FIELD(b_inp_density), true, 0, CUZK_ERR_NULL},
        {FIELD(b_aux_density), true, 0, CUZK_ERR_NULL},
        {FIELD(abc_size), false, SIZE_MAX, CUZK_ERR_SIZE},
        {FIELD(inp_assignment_size), false, SIZE_MAX, CUZK_ERR_SIZE},
        {FIELD(aux_assignment_size), false, SIZE_MAX, CUZK_ERR_SIZE},
        {FIELD(a_aux_bit_len), false, SIZE_MAX, CUZK_ERR_SIZE},
        {FIELD(b_inp_bit_len), false, SIZE_MAX, CUZK_ERR_SIZE},
        {FIELD(b_aux_bit_len), false, SIZE_MAX, CUZK_ERR_SIZE},
        {FIELD(a_aux_popcount), false, SIZE_MAX, CUZK_ERR_DENSITY},
        {FIELD(b_inp_popcount), false, SIZE_MAX, CUZK_ERR_DENSITY},
        {FIELD(b_aux_popcount), false, SIZE_MAX, CUZK_ERR_DENSITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        supraseal_assignment a = b->provers[0];
        uintptr_t *field = (uintptr_t *)SHIFTED(&a, cases[i].offset);
        uintptr_t good = *field;
        *field = cases[i].value;
        expect_error(cases[i].name, prove_one(b, &a), cases[i].want, cases[i].name);
        if (!cases[i].pointer)
            continue;
        *field = good + 4;
        expect_error(cases[i].name, prove_one(b, &a), CUZK_ERR_ALIGNMENT, cases[i].name);
    }
    supraseal_assignment two[2] = {b->provers[0], b->provers[1]};
    two[1].a_aux_popcount--;
    expect_error("the second", generate_groth16_proofs_c(two, 2, b->r, b->s, b->proofs, &b->srs),
                 CUZK_ERR_DENSITY, "partition 1");
    two[1] = two[0];
    two[1].abc_size = 0;
    expect_error("no rows", generate_groth16_proofs_c(two, 2, b->r, b->s, b->proofs, &b->srs), CUZK_ERR_SIZE,
                 "partition 1");
#undef FIELD
}

static void arguments(batch *b) {
    const supraseal_assignment *p = b->provers;
    cuzk_proof *out = b->proofs;
    expect_error("provers", generate_groth16_proofs_c(NULL, 1, b->r, b->s, out, &b->srs), CUZK_ERR_NULL,
                 "provers is NULL");
    expect_error("r_s", generate_groth16_proofs_c(p, 1, NULL, b->s, out, &b->srs), CUZK_ERR_NULL,
                 "r_s is NULL");
    expect_error("s_s", generate_groth16_proofs_c(p, 1, b->r, NULL, out, &b->srs), CUZK_ERR_NULL,
                 "s_s is NULL");
    expect_error("proofs", generate_groth16_proofs_c(p, 1, b->r, b->s, NULL, &b->srs), CUZK_ERR_NULL,
                 "proofs is NULL");
    expect_error("srs", generate_groth16_proofs_c(p, 1, b->r, b->s, out, NULL), CUZK_ERR_NULL, "srs is NULL");
    expect_error("provers", generate_groth16_proofs_c(SHIFTED(p, 4), 1, b->r, b->s, out, &b->srs),
                 CUZK_ERR_ALIGNMENT, "provers is");
    expect_error("r_s", generate_groth16_proofs_c(p, 1, SHIFTED(b->r, 4), b->s, out, &b->srs),
                 CUZK_ERR_ALIGNMENT, "r_s is");
    expect_error("s_s", generate_groth16_proofs_c(p, 1, b->r, SHIFTED(b->s, 4), out, &b->srs),
                 CUZK_ERR_ALIGNMENT, "s_s is");
    expect_error("proofs", generate_groth16_proofs_c(p, 1, b->r, b->s, SHIFTED(out, 4), &b->srs),
                 CUZK_ERR_ALIGNMENT, "proofs is");
    expect_error("srs", generate_groth16_proofs_c(p, 1, b->r, b->s, out, SHIFTED(&b->srs, 4)),
                 CUZK_ERR_ALIGNMENT, "srs is");
    expect_error("count", generate_groth16_proofs_c(p, SIZE_MAX, b->r, b->s, out, &b->srs), CUZK_ERR_SIZE,
                 "proofs");
    expect_error("gpu_index", cuzk_generate_groth16_proofs_c8(p, 1, b->r, b->s, out, &b->srs, NULL, -2),
                 CUZK_ERR_VALUE, "gpu_index is -2");
    expect_error("gpu_index", cuzk_generate_groth16_proofs_c8(p, 1, b->r, b->s, out, &b->srs, NULL, 99),
                 CUZK_ERR_NO_DEVICE, "99");

    static const uint64_t garbage[] = {
        0, 1, 4096, UINT64_MAX, UINT64_C(0x3000000000000fff), UINT64_C(0x1000000000000000)};
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        supraseal_srs bad = {(void *)(uintptr_t)garbage[i]};
        expect_error("garbage set", generate_groth16_proofs_c(p, 1, b->r, b->s, out, &bad), CUZK_ERR_HANDLE,
                     "handle");
        CHECK(clone_SRS(&bad).ptr == NULL);
        evict_SRS(&bad);
        drop_SRS(&bad);
        expect_error("garbage pending", finalize_groth16_proof_c(bad.ptr, out), CUZK_ERR_HANDLE, "handle");
        destroy_pending_proof(bad.ptr);
    }
    evict_SRS(NULL);
    drop_SRS(NULL);
    CHECK(clone_SRS(NULL).ptr == NULL);

    void *handle = (void *)8;
    expect_error("start without srs",
                 generate_groth16_proofs_start_c(p, 1, b->r, b->s, NULL, NULL, -1, &handle), CUZK_ERR_NULL,
                 "srs is NULL");
    CHECK(handle == NULL);
    expect_error("start without provers",
                 generate_groth16_proofs_start_c(NULL, 1, b->r, b->s, &b->srs, NULL, -1, &handle),
                 CUZK_ERR_NULL, "provers is NULL");
    expect_error("start into NULL",
                 generate_groth16_proofs_start_c(p, 1, b->r, b->s, &b->srs, NULL, -1, NULL), CUZK_ERR_NULL,
                 "pending_out is NULL");
}

static void opening(void) {
    supraseal_srs srs = {(void *)8};
    char *missing = path_of(scratch_dir, "missing", ".params");
    expect_error("missing file", create_SRS(&srs, missing, false), CUZK_ERR_FILE_IO, "missing.params");
    CHECK(srs.ptr == NULL);
    expect_error("missing file, cached", create_SRS(&srs, missing, true), CUZK_ERR_FILE_IO, "missing.params");
    expect_error("no path", create_SRS(&srs, NULL, false), CUZK_ERR_NULL, "srs_path is NULL");
    expect_error("no ret", create_SRS(NULL, missing, false), CUZK_ERR_NULL, "ret is NULL");
    supraseal_srs pair[2];
    expect_error("ret misaligned", create_SRS(SHIFTED(pair, 4), missing, false), CUZK_ERR_ALIGNMENT,
                 "ret is");
    free(missing);
}

void suite_supraseal_refusals(void) {
    batch *b = fresh(sizeof *b);
    batch_open(b);
    poison(b->proofs, COUNT * sizeof *b->proofs);
    fields(b);
    arguments(b);
    opening();
    CHECK(is_poison(b->proofs, COUNT * sizeof *b->proofs));
    batch_close(b);
    free(b);
}
