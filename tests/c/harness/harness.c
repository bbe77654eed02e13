/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "harness.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

const char *golden_dir;
const char *scratch_dir;

static atomic_int failures;
static atomic_int checks;

static const struct {
    const char *name;
    void (*run)(void);
    bool large; /* needs the large golden case: not in the list */
} suites[] = {
    {"versions", suite_versions, false},
    {"values", suite_values, false},
    {"handles", suite_handles, false},
    {"arguments", suite_arguments, false},
    {"assignment", suite_assignment, false},
    {"entry_threads", suite_entry_threads, false},
    {"integers", suite_integers, false},
    {"files", suite_files, false},
    {"golden", suite_golden, false},
    {"golden_small", suite_golden_small, false},
    {"jobs", suite_jobs, false},
    {"log", suite_log, false},
    {"memory", suite_memory, false},
    {"observe", suite_observe, false},
    {"environment", suite_environment, false},
    {"log_lock", suite_log_lock, false},
    {"setenv", suite_setenv, false},
    {"thread_end", suite_thread_end, false},
    {"threads", suite_threads, false},
    {"supraseal", suite_supraseal, false},
    {"supraseal_refusals", suite_supraseal_refusals, false},
    {"supraseal_threads", suite_supraseal_threads, false},
    {"golden_large", suite_golden_large, true},
    {"threads_large", suite_threads_large, true},
    {"supraseal_threads_large", suite_supraseal_threads_large, true},
};
enum { SUITES = sizeof suites / sizeof suites[0] };

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (int i = 0; i < SUITES; i++) {
            if (!suites[i].large)
                printf("%s\n", suites[i].name);
        }
        return 0;
    }
    if (argc != 4) {
        fprintf(stderr, "usage: %s list | SUITE GOLDEN_DIR SCRATCH_DIR\n", argv[0]);
        return 2;
    }
    golden_dir = argv[2];
    scratch_dir = argv[3];
    for (int i = 0; i < SUITES; i++) {
        if (strcmp(argv[1], suites[i].name) != 0)
            continue;
        suites[i].run();
        printf("%s: %d checks, %d failures\n", argv[1], atomic_load(&checks), atomic_load(&failures));
        return atomic_load(&failures) != 0 || atomic_load(&checks) == 0;
    }
    fprintf(stderr, "no suite %s\n", argv[1]);
    return 2;
}

void fail_at(const char *file, int line, const char *format, ...) {
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    atomic_fetch_add(&failures, 1);
}

void expect_at(const char *file, int line, const char *what, cuzk_status got, cuzk_status want,
               const char *text) {
    atomic_fetch_add(&checks, 1);
    const char *message = got == CUZK_OK ? "" : cuzk_last_error();
    if (got != want) {
        fail_at(file, line, "%s: expected %s, got %s (%s)", what, cuzk_status_name(want),
                cuzk_status_name(got), message);
    } else if (want != CUZK_OK && (message[0] == '\0' || strstr(message, text) == NULL)) {
        fail_at(file, line, "%s: message \"%s\" does not contain \"%s\"", what, message, text);
    } else if (strlen(message) > 0 && message[strlen(message) - 1] == '\n') {
        fail_at(file, line, "%s: message ends with a newline", what);
    }
}

void *fresh(size_t bytes) {
    void *p = malloc(bytes);
    if (p == NULL) {
        perror("malloc");
        exit(2);
    }
    return p;
}

void *copy_of(const void *bytes, size_t size) {
    void *p = fresh(size);
    memcpy(p, bytes, size);
    return p;
}

char *path_of(const char *dir, const char *name, const char *suffix) {
    size_t size = strlen(dir) + strlen(name) + strlen(suffix) + 2;
    char *path = fresh(size);
    snprintf(path, size, "%s/%s%s", dir, name, suffix);
    return path;
}

void golden_open(const char *params, const char *witness, golden *out) {
    char *params_path = path_of(golden_dir, params, ".params");
    char *gv_path = path_of(golden_dir, witness, ".gv");
    OK(cuzk_srs_open(params_path, NULL, &out->srs));
    if (gv_read(gv_path, &out->gv) != 0)
        exit(2);
    free(params_path);
    free(gv_path);
}

void golden_close(golden *g) {
    OK(cuzk_srs_release(g->srs));
    gv_free(&g->gv);
}

bool is_golden(const gv_case *gv, const cuzk_proof *proof) {
    uint8_t bytes[CUZK_PROOF_BYTES];
    OK(cuzk_proof_serialize(proof, bytes));
    return gv->has_proof && memcmp(bytes, gv->proof, sizeof bytes) == 0;
}

void poison(void *memory, size_t bytes) {
    memset(memory, 0xa5, bytes);
}

bool is_poison(const void *memory, size_t bytes) {
    const uint8_t *p = memory;
    for (size_t i = 0; i < bytes; i++) {
        if (p[i] != 0xa5)
            return false;
    }
    return true;
}

struct thread_start {
    void (*body)(void *, int);
    void *arg;
    int index;
};

static void *thread_main(void *p) {
    struct thread_start *start = p;
    start->body(start->arg, start->index);
    return NULL;
}

void run_threads(int count, void (*body)(void *arg, int index), void *arg) {
    pthread_t *threads = fresh(count * sizeof *threads);
    struct thread_start *starts = fresh(count * sizeof *starts);
    for (int i = 0; i < count; i++) {
        starts[i] = (struct thread_start){body, arg, i};
        if (pthread_create(&threads[i], NULL, thread_main, &starts[i]) != 0) {
            perror("pthread_create");
            exit(2);
        }
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    free(starts);
}

supraseal_assignment supraseal_of(const gv_case *gv) {
    const cuzk_assignment *a = &gv->assignment;
    return (supraseal_assignment){
        .a_aux_density = a->a_aux.words,
        .a_aux_bit_len = a->a_aux.bit_len,
        .a_aux_popcount = a->a_aux.popcount,
        .b_inp_density = a->b_inputs.words,
        .b_inp_bit_len = a->b_inputs.bit_len,
        .b_inp_popcount = a->b_inputs.popcount,
        .b_aux_density = a->b_aux.words,
        .b_aux_bit_len = a->b_aux.bit_len,
        .b_aux_popcount = a->b_aux.popcount,
        .a = a->a,
        .b = a->b,
        .c = a->c,
        .abc_size = a->num_rows,
        .inp_assignment_data = a->inputs,
        .inp_assignment_size = a->num_inputs,
        .aux_assignment_data = a->aux,
        .aux_assignment_size = a->num_aux,
    };
}
