/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How calls enter the library: on its own threads, with integers for pointers. */
#include "harness.h"

#include <signal.h>

/* Go gives a thread that enters it a stack for its signal handlers, and takes it
 * back when the thread ends. The sanitizers do so only if they are asked. */
static bool has_entered_go(void) {
    stack_t stack;
    return sigaltstack(NULL, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0;
}

static void expect_outside(const char *what) {
    if (has_entered_go())
        FAIL("%s: the calling thread has entered Go", what);
    else
        CHECK(true);
}

#define OUTSIDE(call)                                                                                        \
    do {                                                                                                     \
        (void)(call);                                                                                        \
        expect_outside(#call);                                                                               \
    } while (0)

static void ignore_message(int32_t level, const char *message, void *user) {
    (void)level;
    (void)message;
    (void)user;
}

static void calls_without_a_set(void) {
    cuzk_fr scalar;
    uint32_t count;
    size_t needed;
    void *memory = NULL;
    cuzk_device_info info = {.struct_size = sizeof info};
    char *path = path_of(scratch_dir, "timeline", ".json");
    OUTSIDE(cuzk_abi_version());
    OUTSIDE(cuzk_version());
    OUTSIDE(cuzk_status_name(CUZK_OK));
    OUTSIDE(cuzk_last_error());
    OUTSIDE(cuzk_gpu_reason());
    OUTSIDE(cuzk_random_scalar(&scalar));
    OUTSIDE(cuzk_device_count(&count));
    OUTSIDE(cuzk_device_get_info(0, &info));
    OUTSIDE(cuzk_set_workers(0));
    OUTSIDE(cuzk_host_alloc(4096, &memory));
    OUTSIDE(cuzk_host_free(memory));
    OUTSIDE(cuzk_set_log(ignore_message, NULL, CUZK_LOG_DEBUG));
    OUTSIDE(cuzk_set_log(NULL, NULL, CUZK_LOG_DEBUG));
    OUTSIDE(cuzk_metrics(NULL, 0, &needed));
    OUTSIDE(cuzk_timeline_start(path));
    OUTSIDE(cuzk_timeline_stop());
    free(path);
}

static void calls_with_a_set(void) {
    golden g;
    golden_open("two", "two", &g);
    const cuzk_assignment *a = &g.gv.assignment;
    cuzk_srs_info info = {.struct_size = sizeof info};
    cuzk_proof proof;
    cuzk_job job = 0;
    uint8_t bytes[CUZK_PROOF_BYTES];
    OUTSIDE(cuzk_srs_retain(g.srs));
    OUTSIDE(cuzk_srs_release(g.srs));
    OUTSIDE(cuzk_srs_get_info(g.srs, &info));
    OUTSIDE(cuzk_prove_partition(g.srs, a, &g.gv.r, &g.gv.s, NULL, &proof));
    OUTSIDE(cuzk_verify(g.srs, a->inputs, a->num_inputs, &proof));
    OUTSIDE(cuzk_proof_serialize(&proof, bytes));
    OUTSIDE(cuzk_proof_deserialize(bytes, &proof));
    OUTSIDE(cuzk_job_start(g.srs, a, 1, &g.gv.r, &g.gv.s, NULL, &job));
    OUTSIDE(cuzk_job_wait_rows(job, CUZK_WAIT_FOREVER));
    OUTSIDE(cuzk_job_wait(job, CUZK_WAIT_FOREVER, NULL));
    OUTSIDE(cuzk_job_cancel(job));
    OUTSIDE(cuzk_job_release(job));
    golden_close(&g);
    expect_outside("cuzk_srs_open");
}

static void supraseal_calls(void) {
    gv_case gv;
    char *witness = path_of(golden_dir, "two", ".gv"), *params = path_of(golden_dir, "two", ".params");
    CHECK(gv_read(witness, &gv) == 0);
    supraseal_assignment a = supraseal_of(&gv);
    supraseal_srs set, clone;
    cuzk_proof proof;
    void *mutex, *pending = NULL;
    OUTSIDE(create_SRS(&set, params, true));
    OUTSIDE(clone = clone_SRS(&set));
    OUTSIDE(mutex = create_gpu_mutex());
    OUTSIDE(generate_groth16_proofs_c(&a, 1, &gv.r, &gv.s, &proof, &set));
    OUTSIDE(cuzk_generate_groth16_proofs_c8(&a, 1, &gv.r, &gv.s, &proof, &set, mutex, CUZK_DEVICE_ANY));
    OUTSIDE(generate_groth16_proofs_start_c(&a, 1, &gv.r, &gv.s, &set, mutex, CUZK_DEVICE_ANY, &pending));
    OUTSIDE(finalize_groth16_proof_c(pending, &proof));
    OUTSIDE(generate_groth16_proofs_start_c(&a, 1, &gv.r, &gv.s, &set, mutex, CUZK_DEVICE_ANY, &pending));
    OUTSIDE(destroy_pending_proof(pending));
    OUTSIDE(destroy_gpu_mutex(mutex));
    OUTSIDE(evict_SRS(&set));
    OUTSIDE(drop_SRS(&clone));
    OUTSIDE(drop_SRS(&set));
    gv_free(&gv);
    free(witness);
    free(params);
}

/* No call enters Go on the thread that makes it: a thread that enters Go and then
 * ends can stop the process (docs/embedding.md). */
void suite_entry_threads(void) {
    expect_outside("a thread without calls");
    calls_without_a_set();
    calls_with_a_set();
    supraseal_calls();
}

/* ----------------------------------------------------------------- integers --- */

/* Integers that no allocation has as its address: what Rust has for empty arrays,
 * and what a host may pass as user. */
static const uintptr_t integers[] = {8, 16, 64, 4095, 4096, 0xc000000001, UINTPTR_MAX};
enum { INTEGERS = sizeof integers / sizeof integers[0], INTEGER_ROUNDS = 400 };

/* Every argument that may be such an integer is one. Calls that are refused have
 * looked at their arguments first. */
static void integers_once(const golden *g, uintptr_t integer) {
    const void *nowhere = (const void *)integer;
    size_t needed;
    cuzk_proof proof;
    cuzk_job job;
    OK(cuzk_set_log(ignore_message, (void *)integer, CUZK_LOG_DEBUG));
    OK(cuzk_metrics((char *)integer, 0, &needed));
    cuzk_assignment a = g->gv.assignment;
    a.c = nowhere;
    OK(cuzk_prove_partition(g->srs, &a, &g->gv.r, &g->gv.s, NULL, &proof));
    CHECK(is_golden(&g->gv, &proof));
    OK(cuzk_job_start(g->srs, nowhere, 0, nowhere, nowhere, NULL, &job));
    OK(cuzk_job_wait(job, CUZK_WAIT_FOREVER, NULL));
    OK(cuzk_job_release(job));
    a.aux = nowhere, a.num_aux = 0;
    a.a_aux = a.b_aux = a.b_inputs = (cuzk_density){nowhere, 0, 0};
    EXPECT("no aux", cuzk_prove_partition(g->srs, &a, &g->gv.r, &g->gv.s, NULL, &proof), CUZK_ERR_DENSITY,
           "");
    supraseal_assignment old = supraseal_of(&g->gv);
    old.aux_assignment_data = nowhere, old.aux_assignment_size = 0;
    old.a_aux_density = old.b_aux_density = old.b_inp_density = nowhere;
    old.a_aux_bit_len = old.b_aux_bit_len = old.b_inp_bit_len = 0;
    old.a_aux_popcount = old.b_aux_popcount = old.b_inp_popcount = 0;
    supraseal_error e =
        generate_groth16_proofs_c(&old, 1, &g->gv.r, &g->gv.s, &proof, &(supraseal_srs){NULL});
    CHECK(e.code == CUZK_ERR_HANDLE);
    free(e.message);
    destroy_pending_proof((void *)integer);
    destroy_gpu_mutex((void *)integer);
}

/* Run with GOGC=1, so that the collector looks at the stacks all the time. */
void suite_integers(void) {
    golden g;
    golden_open("oneinp", "oneinp", &g);
    for (int i = 0; i < INTEGER_ROUNDS; i++)
        integers_once(&g, integers[i % INTEGERS]);
    OK(cuzk_set_log(NULL, NULL, 0));
    golden_close(&g);
}
