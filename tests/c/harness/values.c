/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Versions, names, proofs as bytes, random scalars, devices, workers. */
#include "harness.h"

#include <pthread.h>

void suite_versions(void) {
    CHECK(cuzk_abi_version() / 1000 == CUZK_ABI_VERSION / 1000);
    CHECK(cuzk_abi_version() >= CUZK_ABI_VERSION);
    CHECK(strncmp(cuzk_version(), "libcuzk ", 8) == 0);
    CHECK(strstr(cuzk_version(), "cpu") != NULL);
    CHECK(cuzk_version() == cuzk_version());
    CHECK(strcmp(cuzk_status_name(CUZK_OK), "CUZK_OK") == 0);
    CHECK(strcmp(cuzk_status_name(-1), "CUZK_ERR_UNKNOWN") == 0);
    CHECK(strcmp(cuzk_last_error(), "") == 0);

    EXPECT("an error leaves its text", cuzk_srs_retain(0), CUZK_ERR_HANDLE, "cuzk_srs_retain");
    const char *text = cuzk_last_error();
    OK(cuzk_srs_release(0));
    CHECK(cuzk_last_error() == text && strstr(text, "cuzk_srs_retain") != NULL);
}

static void device_list(void) {
    uint32_t count = 0;
    OK(cuzk_device_count(&count));
    CHECK(count >= 1);
    EXPECT("count into NULL", cuzk_device_count(NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("count misaligned", cuzk_device_count(SHIFTED(&count, 1)), CUZK_ERR_ALIGNMENT, "out is");

    int gpus = 0;
    for (uint32_t i = 0; i < count; i++) {
        cuzk_device_info info = {.struct_size = sizeof info};
        OK(cuzk_device_get_info(i, &info));
        bool cpu = strcmp(info.backend, "cpu") == 0;
        CHECK(cpu == (i == count - 1));
        CHECK(info.struct_size == sizeof info && info.name[0] != '\0' && info.memory_bytes > 0);
        if (!cpu && info.unusable[0] == '\0')
            gpus++;
    }
    CHECK((gpus == 0) == (cuzk_gpu_reason()[0] != '\0'));
    CHECK(cuzk_gpu_reason() == cuzk_gpu_reason());

    cuzk_device_info info = {.struct_size = sizeof info};
    EXPECT("index past the end", cuzk_device_get_info(count, &info), CUZK_ERR_VALUE, "index is");
    EXPECT("largest index", cuzk_device_get_info(UINT32_MAX, &info), CUZK_ERR_VALUE, "index is");
    EXPECT("info into NULL", cuzk_device_get_info(0, NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("info misaligned", cuzk_device_get_info(0, SHIFTED(&info, 4)), CUZK_ERR_ALIGNMENT, "out is");
    info.struct_size = 0;
    EXPECT("no struct_size", cuzk_device_get_info(0, &info), CUZK_ERR_STRUCT_SIZE, "struct_size is 0");
    info.struct_size = sizeof info - 8;
    EXPECT("older than the first", cuzk_device_get_info(0, &info), CUZK_ERR_STRUCT_SIZE, "expected at least");
}

static void workers(void) {
    OK(cuzk_set_workers(0));
    OK(cuzk_set_workers(1));
    OK(cuzk_set_workers(64));
    OK(cuzk_set_workers(0));
    EXPECT("65 workers", cuzk_set_workers(65), CUZK_ERR_VALUE, "workers is 65");
    EXPECT("most workers", cuzk_set_workers(UINT32_MAX), CUZK_ERR_VALUE, "workers is");
}

static void proof_bytes(void) {
    golden g;
    golden_open("two", "two", &g);
    cuzk_proof proof;
    uint8_t bytes[CUZK_PROOF_BYTES];
    OK(cuzk_proof_deserialize(g.gv.proof, &proof));
    OK(cuzk_proof_serialize(&proof, bytes));
    CHECK(memcmp(bytes, g.gv.proof, sizeof bytes) == 0);

    /* Bytes need no alignment; exactly 192 of them are read and written. */
    uint8_t *odd = fresh(CUZK_PROOF_BYTES + 1);
    memcpy(odd + 1, g.gv.proof, CUZK_PROOF_BYTES);
    OK(cuzk_proof_deserialize(odd + 1, &proof));
    OK(cuzk_proof_serialize(&proof, odd + 1));
    free(odd);

    EXPECT("serialize NULL", cuzk_proof_serialize(NULL, bytes), CUZK_ERR_NULL, "proof is NULL");
    EXPECT("serialize into NULL", cuzk_proof_serialize(&proof, NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("serialize misaligned", cuzk_proof_serialize(SHIFTED(&proof, 4), bytes), CUZK_ERR_ALIGNMENT,
           "proof is");
    EXPECT("deserialize NULL", cuzk_proof_deserialize(NULL, &proof), CUZK_ERR_NULL, "bytes is NULL");
    EXPECT("deserialize into NULL", cuzk_proof_deserialize(bytes, NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("deserialize misaligned", cuzk_proof_deserialize(bytes, SHIFTED(&proof, 2)), CUZK_ERR_ALIGNMENT,
           "out is");

    cuzk_proof bad = proof;
    memset(&bad.b.y.c1, 0xff, sizeof bad.b.y.c1);
    poison(bytes, sizeof bytes);
    EXPECT("not reduced", cuzk_proof_serialize(&bad, bytes), CUZK_ERR_SCALAR, "proof.b.y.c1");
    EXPECT("verify not reduced", cuzk_verify(g.srs, g.gv.assignment.inputs, g.gv.assignment.num_inputs, &bad),
           CUZK_ERR_SCALAR, "proof.b.y.c1");
    CHECK(is_poison(bytes, sizeof bytes));

    /* Each of the three points damaged in turn, and each kind of bad flag. */
    static const struct {
        size_t at;
        uint8_t mask;
        const char *what;
    } flips[] = {{0, 0x80, "A uncompressed"},   {0, 0x40, "A infinity with coordinates"},
                 {0, 0x1f, "A x too large"},    {47, 1, "A off the curve or outside the subgroup"},
                 {95, 1, "B damaged"},          {143, 2, "B damaged"},
                 {144, 0x80, "C uncompressed"}, {191, 1, "C damaged"}};
    poison(&bad, sizeof bad);
    for (size_t i = 0; i < sizeof flips / sizeof flips[0]; i++) {
        memcpy(bytes, g.gv.proof, sizeof bytes);
        bytes[flips[i].at] ^= flips[i].mask;
        EXPECT(flips[i].what, cuzk_proof_deserialize(bytes, &bad), CUZK_ERR_POINT, "");
    }
    memset(bytes, 0, sizeof bytes);
    bytes[0] = bytes[48] = bytes[144] = 0xc0;
    EXPECT("all infinity", cuzk_proof_deserialize(bytes, &bad), CUZK_ERR_POINT, "");
    CHECK(is_poison(&bad, sizeof bad));
    golden_close(&g);
}

static void verify(void) {
    golden g;
    golden_open("two", "two", &g);
    const cuzk_fr *inputs = g.gv.assignment.inputs;
    size_t n = g.gv.assignment.num_inputs;
    cuzk_proof proof;
    OK(cuzk_proof_deserialize(g.gv.proof, &proof));
    OK(cuzk_verify(g.srs, inputs, n, &proof));

    EXPECT("no parameters", cuzk_verify(0, inputs, n, &proof), CUZK_ERR_HANDLE, "got 0");
    EXPECT("no inputs", cuzk_verify(g.srs, NULL, n, &proof), CUZK_ERR_NULL, "inputs is NULL");
    EXPECT("no proof", cuzk_verify(g.srs, inputs, n, NULL), CUZK_ERR_NULL, "proof is NULL");
    EXPECT("inputs misaligned", cuzk_verify(g.srs, SHIFTED(inputs, 4), n, &proof), CUZK_ERR_ALIGNMENT,
           "inputs is");
    EXPECT("proof misaligned", cuzk_verify(g.srs, inputs, n, SHIFTED(&proof, 1)), CUZK_ERR_ALIGNMENT,
           "proof is");
    EXPECT("one input less", cuzk_verify(g.srs, inputs, n - 1, &proof), CUZK_ERR_SIZE, "num_inputs is");
    EXPECT("one input more", cuzk_verify(g.srs, inputs, n + 1, &proof), CUZK_ERR_SIZE, "num_inputs is");
    EXPECT("no input", cuzk_verify(g.srs, NULL, 0, &proof), CUZK_ERR_SIZE, "num_inputs is 0");
    EXPECT("endless inputs", cuzk_verify(g.srs, inputs, SIZE_MAX, &proof), CUZK_ERR_SIZE, "num_inputs is");

    cuzk_fr *changed = copy_of(inputs, n * sizeof *inputs);
    changed[n - 1] = changed[0];
    EXPECT("another input", cuzk_verify(g.srs, changed, n, &proof), CUZK_ERR_PROOF, "verify");
    memset(&changed[1], 0xff, sizeof changed[1]);
    EXPECT("input not reduced", cuzk_verify(g.srs, changed, n, &proof), CUZK_ERR_SCALAR, "inputs[1]");
    free(changed);

    cuzk_proof bad = proof;
    bad.a = proof.c;
    EXPECT("another point", cuzk_verify(g.srs, inputs, n, &bad), CUZK_ERR_PROOF, "verify");
    bad = proof;
    bad.c.y.limb[0] ^= 1;
    EXPECT("off the curve", cuzk_verify(g.srs, inputs, n, &bad), CUZK_ERR_POINT, "C");
    /* Infinity is a point like any other: the equation decides. */
    bad = proof;
    memset(&bad.c, 0, sizeof bad.c);
    EXPECT("C at infinity", cuzk_verify(g.srs, inputs, n, &bad), CUZK_ERR_PROOF, "verify");
    memset(&bad, 0, sizeof bad);
    EXPECT("all infinity", cuzk_verify(g.srs, inputs, n, &bad), CUZK_ERR_PROOF, "verify");
    golden_close(&g);
}

static void *error_of_thread(void *unused) {
    (void)unused;
    CHECK(strcmp(cuzk_last_error(), "") == 0);
    EXPECT("in the other thread", cuzk_job_cancel(0), CUZK_ERR_HANDLE, "cuzk_job_cancel");
    return NULL;
}

void suite_values(void) {
    cuzk_fr x = {{0}}, y = {{0}};
    OK(cuzk_random_scalar(&x));
    OK(cuzk_random_scalar(&y));
    CHECK(memcmp(&x, &y, sizeof x) != 0);
    CHECK(x.limb[3] < UINT64_C(0x73eda753299d7d49) && y.limb[3] < UINT64_C(0x73eda753299d7d49));
    EXPECT("random into NULL", cuzk_random_scalar(NULL), CUZK_ERR_NULL, "out is NULL");
    EXPECT("random misaligned", cuzk_random_scalar(SHIFTED(&x, 4)), CUZK_ERR_ALIGNMENT, "4 bytes past");

    device_list();
    workers();
    proof_bytes();
    verify();

    /* The text belongs to the thread. */
    EXPECT("in this thread", cuzk_set_workers(99), CUZK_ERR_VALUE, "99");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, error_of_thread, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK(strstr(cuzk_last_error(), "99") != NULL);
}
