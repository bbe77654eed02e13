/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every field of cuzk_assignment: null, misaligned, out of range, wrong. */
#include "harness.h"

#include <stddef.h>

#define FIELD(member) #member, offsetof(cuzk_assignment, member)

static golden g;

static cuzk_status prove(const cuzk_assignment *a) {
    cuzk_proof proof;
    poison(&proof, sizeof proof);
    cuzk_status status = cuzk_prove_partition(g.srs, a, &g.gv.r, &g.gv.s, NULL, &proof);
    if (status != CUZK_OK) {
        CHECK(is_poison(&proof, sizeof proof));
    } else {
        CHECK(is_golden(&g.gv, &proof));
    }
    return status;
}

static void pointers(void) {
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {{FIELD(a)},          {FIELD(b)},           {FIELD(inputs)},
                  {FIELD(aux)},        {FIELD(a_aux.words)}, {FIELD(b_inputs.words)},
                  {FIELD(b_aux.words)}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        cuzk_assignment a = g.gv.assignment;
        uintptr_t *field = (uintptr_t *)SHIFTED(&a, fields[i].offset);
        uintptr_t good = *field;
        *field = 0;
        EXPECT(fields[i].name, prove(&a), CUZK_ERR_NULL, fields[i].name);
        for (int shift = 1; shift < 8; shift++) {
            *field = good + shift;
            EXPECT(fields[i].name, prove(&a), CUZK_ERR_ALIGNMENT, fields[i].name);
        }
        /* The last address: aligned, but the array passes the end. */
        *field = UINTPTR_MAX - 7;
        EXPECT(fields[i].name, prove(&a), CUZK_ERR_SIZE, fields[i].name);
    }
}

/* The circuit: 20 rows (domain 32), 4 inputs, 26 aux, a_aux 11, b_inputs 2,
 * b_aux 10. */
static void counts(void) {
    static const struct {
        const char *name;
        size_t offset;
        size_t value;
        cuzk_status want;
        const char *text;
    } cases[] = {
        {FIELD(struct_size), 0, CUZK_ERR_STRUCT_SIZE, "assignment.struct_size is 0"},
        {FIELD(struct_size), sizeof(cuzk_assignment) - 8, CUZK_ERR_STRUCT_SIZE, "expected at least 144"},
        {FIELD(struct_size), sizeof(cuzk_assignment) + 1, CUZK_ERR_STRUCT_SIZE, "struct_size is 145"},
        {FIELD(struct_size), SIZE_MAX, CUZK_ERR_STRUCT_SIZE, "struct_size"},
        {FIELD(num_rows), 0, CUZK_ERR_SIZE, "no rows"},
        {FIELD(num_rows), 3, CUZK_ERR_SIZE, "fewer rows than inputs"},
        {FIELD(num_rows), 16, CUZK_ERR_SRS_MISMATCH, "16 rows"},
        {FIELD(num_rows), 33, CUZK_ERR_SRS_MISMATCH, "33 rows"},
        {FIELD(num_rows), (1 << 28) + 1, CUZK_ERR_SIZE, "assignment.num_rows is 268435457"},
        {FIELD(num_rows), SIZE_MAX, CUZK_ERR_SIZE, "assignment.num_rows"},
        {FIELD(num_rows), SIZE_MAX / 32 + 2, CUZK_ERR_SIZE, "assignment.num_rows"},
        {FIELD(num_inputs), 0, CUZK_ERR_SIZE, "no inputs"},
        {FIELD(num_inputs), 3, CUZK_ERR_DENSITY, "b_inputs"},
        {FIELD(num_inputs), 5, CUZK_ERR_DENSITY, "b_inputs"},
        {FIELD(num_inputs), SIZE_MAX, CUZK_ERR_SIZE, "assignment.num_inputs"},
        {FIELD(num_aux), 0, CUZK_ERR_DENSITY, "a_aux"},
        {FIELD(num_aux), 25, CUZK_ERR_DENSITY, "a_aux"},
        {FIELD(num_aux), SIZE_MAX, CUZK_ERR_SIZE, "assignment.num_aux"},
        {FIELD(a_aux.bit_len), 0, CUZK_ERR_DENSITY, "a_aux"},
        {FIELD(a_aux.bit_len), 25, CUZK_ERR_DENSITY, "a_aux"},
        {FIELD(a_aux.bit_len), 27, CUZK_ERR_DENSITY, "a_aux"},
        {FIELD(a_aux.bit_len), SIZE_MAX, CUZK_ERR_SIZE, "a_aux.bit_len"},
        {FIELD(a_aux.popcount), 10, CUZK_ERR_DENSITY, "a_aux"},
        {FIELD(a_aux.popcount), 12, CUZK_ERR_DENSITY, "a_aux"},
        {FIELD(a_aux.popcount), SIZE_MAX, CUZK_ERR_DENSITY, "a_aux.popcount"},
        {FIELD(b_inputs.bit_len), 3, CUZK_ERR_DENSITY, "b_inputs"},
        {FIELD(b_inputs.bit_len), SIZE_MAX, CUZK_ERR_SIZE, "b_inputs.bit_len"},
        {FIELD(b_inputs.popcount), 1, CUZK_ERR_DENSITY, "b_inputs"},
        {FIELD(b_inputs.popcount), 5, CUZK_ERR_DENSITY, "b_inputs.popcount"},
        {FIELD(b_aux.bit_len), 27, CUZK_ERR_DENSITY, "b_aux"},
        {FIELD(b_aux.bit_len), SIZE_MAX, CUZK_ERR_SIZE, "b_aux.bit_len"},
        {FIELD(b_aux.popcount), 9, CUZK_ERR_DENSITY, "b_aux"},
        {FIELD(b_aux.popcount), SIZE_MAX - 1, CUZK_ERR_DENSITY, "b_aux.popcount"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cuzk_assignment a = g.gv.assignment;
        *(size_t *)SHIFTED(&a, cases[i].offset) = cases[i].value;
        EXPECT(cases[i].name, prove(&a), cases[i].want, cases[i].text);
    }
}

static void shapes(void) {
    /* Consistent in itself, but another circuit. */
    cuzk_assignment a = g.gv.assignment;
    uint64_t *words = copy_of(a.a_aux.words, sizeof *words);
    for (int bit = 0; bit < 26; bit++) {
        if (words[0] >> bit & 1)
            continue;
        words[0] |= UINT64_C(1) << bit;
        break;
    }
    a.a_aux.words = words;
    a.a_aux.popcount++;
    EXPECT("one variable more in a", prove(&a), CUZK_ERR_SRS_MISMATCH, "variables in a");
    free(words);

    a = g.gv.assignment;
    a.num_aux--;
    a.a_aux.bit_len--;
    a.b_aux.bit_len--;
    a.a_aux.popcount -= a.a_aux.words[0] >> 25 & 1;
    a.b_aux.popcount -= a.b_aux.words[0] >> 25 & 1;
    EXPECT("one aux variable less", prove(&a), CUZK_ERR_SRS_MISMATCH, "aux");

    golden other;
    golden_open("mimc", "mimc", &other);
    cuzk_proof proof;
    EXPECT("another circuit's parameters",
           cuzk_prove_partition(other.srs, &g.gv.assignment, &g.gv.r, &g.gv.s, NULL, &proof),
           CUZK_ERR_SRS_MISMATCH, "");
    golden_close(&other);
}

/* Replaces one scalar of one vector. */
static void with_scalar(const char *what, size_t offset, size_t count, size_t index, const cuzk_fr *value,
                        cuzk_status want, const char *text) {
    cuzk_assignment a = g.gv.assignment;
    const cuzk_fr **field = (const cuzk_fr **)SHIFTED(&a, offset);
    cuzk_fr *copy = copy_of(*field, count * sizeof *copy);
    copy[index] = *value;
    *field = copy;
    EXPECT(what, prove(&a), want, text);
    free(copy);
}

static void scalars(void) {
    const cuzk_assignment *a = &g.gv.assignment;
    cuzk_fr large, other;
    memset(&large, 0xff, sizeof large);
    OK(cuzk_random_scalar(&other));
    const struct {
        const char *name;
        size_t offset;
        size_t count;
    } vectors[] = {{FIELD(a), a->num_rows},
                   {FIELD(b), a->num_rows},
                   {FIELD(inputs), a->num_inputs},
                   {FIELD(aux), a->num_aux}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        size_t last = vectors[i].count - 1;
        with_scalar(vectors[i].name, vectors[i].offset, vectors[i].count, 0, &large, CUZK_ERR_SCALAR,
                    vectors[i].name);
        with_scalar(vectors[i].name, vectors[i].offset, vectors[i].count, last, &large, CUZK_ERR_SCALAR,
                    vectors[i].name);
    }
    with_scalar("a row of a changed", offsetof(cuzk_assignment, a), a->num_rows, 0, &other,
                CUZK_ERR_UNSATISFIED, "satisf");
    with_scalar("a row of b changed", offsetof(cuzk_assignment, b), a->num_rows, 0, &other,
                CUZK_ERR_UNSATISFIED, "satisf");
    with_scalar("an input changed", offsetof(cuzk_assignment, inputs), a->num_inputs, 1, &other,
                CUZK_ERR_UNSATISFIED, "satisf");
    with_scalar("an aux value changed", offsetof(cuzk_assignment, aux), a->num_aux, 3, &other,
                CUZK_ERR_UNSATISFIED, "satisf");
}

static void what_is_not_read(void) {
    cuzk_assignment a = g.gv.assignment;
    a.c = NULL;
    OK(prove(&a));
    a.c = (const cuzk_fr *)1;
    OK(prove(&a));

    /* Bits past the end of each density. */
    uint64_t *aaux = copy_of(a.a_aux.words, 8), *binp = copy_of(a.b_inputs.words, 8),
             *baux = copy_of(a.b_aux.words, 8);
    *aaux |= ~UINT64_C(0) << 26;
    *binp |= ~UINT64_C(0) << 4;
    *baux |= ~UINT64_C(0) << 26;
    a.a_aux.words = aaux;
    a.b_inputs.words = binp;
    a.b_aux.words = baux;
    OK(prove(&a));
    free(aaux);
    free(binp);
    free(baux);

    /* Addresses that are a multiple of 8 and of nothing more. */
    a = g.gv.assignment;
    uint8_t *memory = fresh(a.num_rows * 32 + 64);
    uintptr_t at = ((uintptr_t)memory + 63) / 64 * 64 + 8;
    memcpy((void *)at, a.a, a.num_rows * 32);
    a.a = (const cuzk_fr *)at;
    OK(prove(&a));
    free(memory);
}

/* A circuit without aux values: empty sections, densities of length 0. */
static void without_aux(void) {
    golden one;
    golden_open("oneinp", "oneinp", &one);
    cuzk_assignment a = one.gv.assignment;
    CHECK(a.num_aux == 0);
    a.aux = NULL;
    a.a_aux.words = a.b_aux.words = NULL;
    cuzk_proof proof;
    OK(cuzk_prove_partition(one.srs, &a, &one.gv.r, &one.gv.s, NULL, &proof));
    CHECK(is_golden(&one.gv, &proof));
    golden_close(&one);
}

void suite_assignment(void) {
    golden_open("two", "two", &g);
    OK(prove(&g.gv.assignment));
    pointers();
    counts();
    shapes();
    scalars();
    what_is_not_read();
    without_aux();
    golden_close(&g);
}
