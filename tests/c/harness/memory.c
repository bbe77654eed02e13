/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Host memory from the library. */
#include "harness.h"

static void is_page_aligned_zero_and_writable(void) {
    static const size_t sizes[] = {1, 4096, 100003, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *memory = NULL;
        OK(cuzk_host_alloc(sizes[i], &memory));
        CHECK(memory != NULL && (uintptr_t)memory % 4096 == 0);
        if (memory == NULL)
            continue;
        uint8_t *bytes = memory, any = 0;
        for (size_t k = 0; k < sizes[i]; k++)
            any |= bytes[k];
        CHECK(any == 0);
        poison(memory, sizes[i]);
        CHECK(is_poison(memory, sizes[i]));
        OK(cuzk_host_free(memory));
    }
}

static void is_refused(void) {
    void *memory = &memory;
    EXPECT("no out", cuzk_host_alloc(16, NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("misaligned out", cuzk_host_alloc(16, SHIFTED(&memory, 4)), CUZK_ERR_ALIGNMENT, "out is ");
    EXPECT("nothing", cuzk_host_alloc(0, &memory), CUZK_ERR_SIZE, "size is 0 bytes");
    EXPECT("past all addresses", cuzk_host_alloc(SIZE_MAX, &memory), CUZK_ERR_SIZE, "expected 1 to ");
    EXPECT("too much", cuzk_host_alloc((size_t)1 << 60, &memory), CUZK_ERR_HOST_MEMORY,
           "1152921504606846976 bytes");
    CHECK(memory == &memory);
}

static void is_freed_once(void) {
    void *memory = NULL;
    OK(cuzk_host_free(NULL));
    EXPECT("not the library's", cuzk_host_free(&memory), CUZK_ERR_VALUE, "no host memory begins at ");
    OK(cuzk_host_alloc(8192, &memory));
    /* Go's runtime takes small numbers in a pointer for a fault of its own. */
    for (uintptr_t number = 1; number < 4096; number <<= 1)
        EXPECT("a small number", cuzk_host_free((void *)number), CUZK_ERR_VALUE, "no host memory begins at ");
    EXPECT("a large number", cuzk_host_free((void *)UINTPTR_MAX), CUZK_ERR_VALUE,
           "no host memory begins at ");
    EXPECT("its middle", cuzk_host_free(SHIFTED(memory, 8)), CUZK_ERR_VALUE, "no host memory begins at ");
    OK(cuzk_host_free(memory));
    EXPECT("a second time", cuzk_host_free(memory), CUZK_ERR_VALUE, "was freed before");
}

/* Rows in memory of the library. */
static void holds_rows(void) {
    golden g;
    golden_open("two", "two", &g);
    cuzk_assignment assignment = g.gv.assignment;
    size_t bytes = assignment.num_rows * sizeof(cuzk_fr);
    void *rows = NULL;
    OK(cuzk_host_alloc(2 * bytes, &rows));
    if (rows != NULL) {
        cuzk_fr *a = rows, *b = a + assignment.num_rows;
        memcpy(a, assignment.a, bytes);
        memcpy(b, assignment.b, bytes);
        assignment.a = a;
        assignment.b = b;
        cuzk_proof proof;
        OK(cuzk_prove_partition(g.srs, &assignment, &g.gv.r, &g.gv.s, NULL, &proof));
        CHECK(is_golden(&g.gv, &proof));
        OK(cuzk_host_free(rows));
    }
    golden_close(&g);
}

void suite_memory(void) {
    void *memory = NULL;
    EXPECT("before any was given", cuzk_host_free(&memory), CUZK_ERR_VALUE, "cuzk_host_alloc has given none");
    is_refused();
    is_page_aligned_zero_and_writable();
    is_freed_once();
    holds_rows();
}
