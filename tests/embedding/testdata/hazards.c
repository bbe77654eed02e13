/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a host process may do around the library, one hazard a run:
 *
 *     hazards NAME LIBRARY PARAMS CASE.gv
 *
 * The library is loaded at run time, late. Ends with 0 if all went well.
 */
#define _GNU_SOURCE /* pthread_setattr_default_np, RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gv.h"
#include "supraseal_c2.h"

extern char **environ;

static const char *library_path, *params_path, *gv_path;
static void *library;
static gv_case gv;

static struct {
    __typeof__(&cuzk_last_error) last_error;
    __typeof__(&cuzk_srs_open) open;
    __typeof__(&cuzk_srs_release) release;
    __typeof__(&cuzk_prove_partition) prove;
    __typeof__(&cuzk_proof_serialize) serialize;
    __typeof__(&cuzk_job_start) start;
    __typeof__(&cuzk_job_wait) wait;
    __typeof__(&cuzk_job_release) release_job;
    __typeof__(&create_SRS) create;
} api;

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

static void must(cuzk_status status) {
    if (status == CUZK_OK)
        return;
    fprintf(stderr, "status %d: %s\n", status, api.last_error());
    _exit(1);
}

static void load(void) {
    library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(1);
    }
    *(void **)&api.last_error = dlsym(library, "cuzk_last_error");
    *(void **)&api.open = dlsym(library, "cuzk_srs_open");
    *(void **)&api.release = dlsym(library, "cuzk_srs_release");
    *(void **)&api.prove = dlsym(library, "cuzk_prove_partition");
    *(void **)&api.serialize = dlsym(library, "cuzk_proof_serialize");
    *(void **)&api.start = dlsym(library, "cuzk_job_start");
    *(void **)&api.wait = dlsym(library, "cuzk_job_wait");
    *(void **)&api.release_job = dlsym(library, "cuzk_job_release");
    *(void **)&api.create = dlsym(library, "create_SRS");
    REQUIRE(api.last_error && api.open && api.release && api.prove && api.serialize && api.start &&
            api.wait && api.release_job && api.create);
}

static void prove_once(void) {
    cuzk_srs srs;
    cuzk_proof proof;
    uint8_t bytes[CUZK_PROOF_BYTES];
    must(api.open(params_path, NULL, &srs));
    must(api.prove(srs, &gv.assignment, &gv.r, &gv.s, NULL, &proof));
    must(api.serialize(&proof, bytes));
    REQUIRE(memcmp(bytes, gv.proof, sizeof bytes) == 0);
    must(api.release(srs));
}

enum {
    MANY = 60,
    TRIES = 100, /* to have a job that has not ended when it is looked at */
};

/* A job that runs for a while, over memory that stays. On a busy machine it may
 * have ended before this thread goes on: then another is started. */
static cuzk_job start_long_job(void) {
    static cuzk_assignment assignments[MANY];
    static cuzk_fr r[MANY], s[MANY];
    for (int i = 0; i < MANY; i++) {
        assignments[i] = gv.assignment;
        r[i] = gv.r;
        s[i] = gv.s;
    }
    cuzk_srs srs;
    cuzk_job job;
    must(api.open(params_path, NULL, &srs));
    cuzk_status status = CUZK_OK;
    for (int i = 0; status == CUZK_OK && i < TRIES; i++) {
        must(api.start(srs, assignments, MANY, r, s, NULL, &job));
        status = api.wait(job, 0, NULL);
    }
    REQUIRE(status == CUZK_ERR_TIMEOUT);
    return job;
}

/* -------------------------------------------------------------- descriptors --- */

/* Takes all descriptors up to the one that it returns: the system's limit is on
 * their numbers, so a gap would be one left. */
static int fill_descriptors(void) {
    enum { ABOVE_ALL = 100 };
    int top;
    do
        REQUIRE((top = dup(0)) >= 0);
    while (top < ABOVE_ALL);
    return top;
}

static void leave_descriptors(int top, rlim_t count) {
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = (rlim_t)top + 1 + count;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* A status that a call may have where descriptors are short. */
static int allowed(cuzk_status status) {
    return status == CUZK_OK || status == CUZK_ERR_FILE_IO || status == CUZK_ERR_HOST_MEMORY;
}

static void *function_of(const char *name) {
    void *function = dlsym(library, name);
    REQUIRE(function != NULL);
    return function;
}

/* Every kind of call, with a set that is open or, if srs is 0, is to be opened. */
static void every_call(cuzk_srs srs) {
    __typeof__(&cuzk_version) version = (__typeof__(&cuzk_version))function_of("cuzk_version");
    __typeof__(&cuzk_device_count) devices = (__typeof__(&cuzk_device_count))function_of("cuzk_device_count");
    __typeof__(&cuzk_metrics) metrics = (__typeof__(&cuzk_metrics))function_of("cuzk_metrics");
    __typeof__(&cuzk_timeline_start) record =
        (__typeof__(&cuzk_timeline_start))function_of("cuzk_timeline_start");
    __typeof__(&cuzk_random_scalar) scalar =
        (__typeof__(&cuzk_random_scalar))function_of("cuzk_random_scalar");
    uint32_t number;
    size_t needed;
    cuzk_fr r;
    cuzk_status status = srs != 0 ? CUZK_OK : api.open(params_path, NULL, &srs);
    REQUIRE(allowed(status));
    REQUIRE(version() != NULL);
    REQUIRE(allowed(devices(&number)));
    REQUIRE(allowed(metrics(NULL, 0, &needed)));
    if (status == CUZK_OK) {
        cuzk_proof proof;
        must(api.prove(srs, &gv.assignment, &gv.r, &gv.s, NULL, &proof));
        must(api.release(srs));
    }
    REQUIRE(allowed(scalar(&r)));
    REQUIRE(allowed(record("/tmp/cuzk-hazard-%p.json")));
    struct timespec while_timers_run = {.tv_nsec = 20000000};
    nanosleep(&while_timers_run, NULL);
    char path[64];
    snprintf(path, sizeof path, "/tmp/cuzk-hazard-%d.json", (int)getpid());
    unlink(path);
}

enum {
    MAX_LEFT = 8,  /* loading and a proof need fewer */
    EACH_COUNT = 2 /* what the runtime takes while it starts, on a thread of its own, varies */
};

/* When the descriptors become few. */
enum moment { BEFORE_LOADING, BEFORE_THE_FIRST_CALL, BEFORE_THE_SECOND_CALL };

static void with_descriptors(rlim_t count, enum moment moment) {
    cuzk_srs srs = 0;
    int top = fill_descriptors();
    if (moment == BEFORE_LOADING)
        leave_descriptors(top, count);
    load();
    if (moment == BEFORE_THE_SECOND_CALL)
        must(api.open(params_path, NULL, &srs));
    if (moment != BEFORE_LOADING)
        leave_descriptors(top, count);
    every_call(srs);
}

/* Few descriptors are left when the library is loaded, which takes one itself,
 * when it is first called, and later. */
static void few_descriptors(void) {
    for (int moment = BEFORE_LOADING; moment <= BEFORE_THE_SECOND_CALL; moment++) {
        for (int i = 0; i <= MAX_LEFT * EACH_COUNT; i++) {
            rlim_t count = (rlim_t)(i / EACH_COUNT + (moment == BEFORE_LOADING));
            pid_t child = fork();
            if (child == 0) {
                with_descriptors(count, moment);
                _exit(0);
            }
            int status = 0;
            REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                continue;
            fprintf(stderr, "moment %d, %d descriptors left: status %#x\n", moment, (int)count, status);
            _exit(1);
        }
    }
}

/* A host that closes whatever it did not open itself, as daemon() programs do,
 * before it calls the library. */
static void closes_descriptors_first(void) {
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    load();
    prove_once();
}

/* ------------------------------------------------------------------- stderr --- */

/* Logs a lot to a pipe that holds one page. Returns the pipe's reading end. */
static int log_to_pipe(void) {
    int ends[2];
    REQUIRE(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
    REQUIRE(setenv("CUZK_LOG", "trace", 1) == 0);
    load();
    REQUIRE(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO && close(ends[1]) == 0);
    return ends[0];
}

enum { LINES = 200 }; /* a proof logs one or more, of some 200 bytes */

/* Whoever read stderr has gone, and SIGPIPE would end the process, or is ignored,
 * as in Rust and Python. */
static void log_without_reader(void) {
    int reader = log_to_pipe();
    close(reader);
    for (int ignored = 0; ignored < 2; ignored++) {
        signal(SIGPIPE, ignored ? SIG_IGN : SIG_DFL);
        for (int i = 0; i < LINES / 10; i++)
            prove_once();
    }
    exit(0);
}

/* Whoever reads stderr has stopped, for calls and for the end of the process. */
static void log_stalled_reader(void) {
    log_to_pipe();
    for (int i = 0; i < LINES; i++)
        prove_once();
    exit(0);
}

/* ------------------------------------------------------------------ loading --- */

static atomic_int stop;

static void *busy(void *unused) {
    (void)unused;
    while (!atomic_load(&stop))
        free(malloc(4096));
    return NULL;
}

/* Loaded after threads were started, closed again, used after that. */
static void dlopen_late(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, busy, NULL) == 0);
    load();
    prove_once();
    REQUIRE(dlclose(library) == 0);
    prove_once();
    void *again = dlopen(library_path, RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(again == library);
    prove_once();
    atomic_store(&stop, 1);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void *load_and_prove(void *unused) {
    (void)unused;
    load();
    prove_once();
    return NULL;
}

/* Loaded by a thread that ends. */
static void dlopen_in_thread(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, load_and_prove, NULL) == 0);
    pthread_join(thread, NULL);
    prove_once();
}

static void *prove_in_thread(void *unused) {
    (void)unused;
    prove_once();
    return NULL;
}

/* Threads with little stack, and many short-lived ones. */
static void small_stacks(void) {
    load();
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    REQUIRE(pthread_attr_setstacksize(&attr, 64 * 1024) == 0);
    for (int round = 0; round < 5; round++) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++)
            REQUIRE(pthread_create(&threads[i], &attr, prove_in_thread, NULL) == 0);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
    }
}

static void *wait_for_job(void *job) {
    cuzk_status status = api.wait(*(cuzk_job *)job, CUZK_WAIT_FOREVER, NULL);
    return (void *)(intptr_t)status;
}

/* A thread that is cancelled while its call is under way leaves it when the call
 * has returned, and the calls of others go on. */
static void cancelled_threads(void) {
    load();
    for (int i = 0; i < 5; i++) {
        cuzk_job job = start_long_job();
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, wait_for_job, &job) == 0);
        usleep(1000);
        REQUIRE(pthread_cancel(thread) == 0);
        void *result;
        REQUIRE(pthread_join(thread, &result) == 0);
        REQUIRE(result == PTHREAD_CANCELED || result == (void *)CUZK_OK);
        must(api.wait(job, 0, NULL)); /* it had to end before the thread did */
        must(api.release_job(job));
    }
    prove_once();
}

/* Whether pthread_create fails for this thread: this program's comes before that
 * of the C library. */
static _Thread_local int no_threads;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
    static __typeof__(&pthread_create) real;
    if (no_threads)
        return EAGAIN;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attr, start, arg);
}

/* A call for which no thread can be made is refused and changes nothing; one
 * that finds an idle thread needs none. */
static void no_thread(void) {
    load();
    cuzk_srs srs = 0;
    no_threads = 1;
    REQUIRE(api.open(params_path, NULL, &srs) == CUZK_ERR_HOST_MEMORY);
    REQUIRE(strstr(api.last_error(), "cuzk_srs_open: no thread") != NULL && srs == 0);
    no_threads = 0;
    prove_once();
    no_threads = 1;
    prove_once();
}

/* -------------------------------------------------------------------- memory --- */

/* Leaves the process room for so many bytes of new mappings. */
static void limit_address_space(rlim_t room) {
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages;
    REQUIRE(f != NULL && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = room == RLIM_INFINITY ? limit.rlim_max : pages * (rlim_t)sysconf(_SC_PAGESIZE) + room;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* A job for whose buffers there is no address space fails, and the next one
 * does not. With few threads and small stacks, so that there is room for those
 * that the runtime may start meanwhile: without, it ends the process. */
static void no_memory(void) {
    pthread_attr_t small;
    REQUIRE(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 128 * 1024) == 0);
    REQUIRE(pthread_setattr_default_np(&small) == 0);
    REQUIRE(setenv("GOMAXPROCS", "2", 1) == 0 && setenv("CUZK_BACKEND", "cpu", 1) == 0);
    load();
    for (int i = 0; i < 3; i++)
        prove_once();
    cuzk_srs srs;
    cuzk_proof proof;
    must(api.open(params_path, NULL, &srs));
    limit_address_space(1024 * 1024);
    cuzk_status status = api.prove(srs, &gv.assignment, &gv.r, &gv.s, NULL, &proof);
    limit_address_space(RLIM_INFINITY);
    REQUIRE(status == CUZK_ERR_HOST_MEMORY);
    REQUIRE(strstr(api.last_error(), "not enough host memory") != NULL);
    must(api.prove(srs, &gv.assignment, &gv.r, &gv.s, NULL, &proof));
    must(api.release(srs));
}

/* -------------------------------------------------------------------- ending --- */

static void exit_with_job(void) {
    load();
    start_long_job();
    exit(0);
}

static void *exit_from_thread(void *unused) {
    (void)unused;
    start_long_job();
    exit(0);
}

static void exit_in_thread_with_job(void) {
    load();
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, exit_from_thread, NULL) == 0);
    for (;;)
        prove_once();
}

static void at_exit(void) {
    prove_once();
}

/* The library still works in a handler of atexit. */
static void prove_at_exit(void) {
    REQUIRE(atexit(at_exit) == 0);
    load();
    prove_once();
}

/* ----------------------------------------------------------------- processes --- */

static void wait_for(pid_t child) {
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Children by fork and exec, posix_spawn and system, while a job runs; the
 * child uses the library itself. */
static void fork_exec(void) {
    load();
    start_long_job();
    char *const child[] = {"/proc/self/exe",    "dlopen_late",   (char *)library_path,
                           (char *)params_path, (char *)gv_path, NULL};
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            execv(child[0], child);
            _exit(3);
        }
        REQUIRE(pid > 0);
        wait_for(pid);
        REQUIRE(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ) == 0);
        wait_for(pid);
        REQUIRE(system("true") == 0);
    }
    prove_once();
}

/* A child that does not call the library may run on without exec. */
static void fork_only(void) {
    load();
    prove_once();
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            char *text = malloc(1000);
            snprintf(text, 1000, "child %d", i);
            free(text);
            _exit(0);
        }
        wait_for(pid);
    }
    prove_once();
}

/* The system call itself, so that no handler of pthread_atfork runs. */
static pid_t clone_process(void) {
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* A child that does call it is told so, with and without a job in the parent. */
static void child_then_call(pid_t (*make_child)(void)) {
    load();
    for (int i = 0; i < 2; i++) {
        pid_t pid = make_child();
        if (pid == 0) {
            cuzk_srs srs;
            REQUIRE(api.open(params_path, NULL, &srs) == CUZK_ERR_CLOSED);
            REQUIRE(strstr(api.last_error(), "fork()") != NULL);
            supraseal_srs old;
            supraseal_error e = api.create(&old, params_path, 0);
            REQUIRE(e.code == CUZK_ERR_CLOSED && strstr(e.message, "fork()") != NULL && old.ptr == NULL);
            free(e.message);
            _exit(0);
        }
        wait_for(pid);
        if (i == 0)
            start_long_job();
    }
    prove_once();
}

static void fork_then_call(void) {
    child_then_call(fork);
}

static void clone_then_call(void) {
    child_then_call(clone_process);
}

/* ------------------------------------------------------------------- signals --- */

static sigjmp_buf after_fault;
static atomic_int faults, ticks;

static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
    atomic_fetch_add(&faults, 1);
    siglongjmp(after_fault, 1);
}

static void on_tick(int signal) {
    (void)signal;
    atomic_fetch_add(&ticks, 1);
}

static void fault(void) {
    int before = atomic_load(&faults);
    if (sigsetjmp(after_fault, 1) == 0) {
        *(volatile int *)(uintptr_t)16 = 1;
        REQUIRE(!"a write to address 16 went through");
    }
    REQUIRE(atomic_load(&faults) == before + 1);
}

static void handle(int signal, void (*action)(int, siginfo_t *, void *)) {
    struct sigaction sa = {.sa_sigaction = action, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&sa.sa_mask);
    REQUIRE(sigaction(signal, &sa, NULL) == 0);
}

/* The host's own handler for faults, set before the library is loaded, gets
 * the faults of the host's code. */
static void own_handler_before(void) {
    handle(SIGSEGV, on_fault);
    load();
    fault();
    prove_once();
    fault();
    prove_once();
}

/* Set afterwards it replaces the library's. */
static void own_handler_after(void) {
    load();
    prove_once();
    handle(SIGSEGV, on_fault);
    fault();
    prove_once();
    fault();
}

/* Timers that interrupt every thread all the time. */
static void timer(void) {
    struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&sa.sa_mask);
    REQUIRE(sigaction(SIGALRM, &sa, NULL) == 0 && sigaction(SIGPROF, &sa, NULL) == 0);
    load();
    struct itimerval every_ms = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
    REQUIRE(setitimer(ITIMER_REAL, &every_ms, NULL) == 0 && setitimer(ITIMER_PROF, &every_ms, NULL) == 0);
    for (int i = 0; i < 30; i++)
        prove_once();
    REQUIRE(setitimer(ITIMER_REAL, &none, NULL) == 0 && setitimer(ITIMER_PROF, &none, NULL) == 0);
    REQUIRE(atomic_load(&ticks) > 10);
}

/* Every signal blocked in the calling thread. */
static void blocked_signals(void) {
    load();
    sigset_t all, before, after;
    sigfillset(&all);
    REQUIRE(pthread_sigmask(SIG_BLOCK, &all, &before) == 0);
    for (int i = 0; i < 5; i++)
        prove_once();
    REQUIRE(pthread_sigmask(SIG_SETMASK, &before, &after) == 0);
    REQUIRE(sigismember(&after, SIGALRM) == 1 && sigismember(&after, SIGUSR1) == 1);
}

static const struct {
    const char *name;
    void (*run)(void);
} hazards[] = {
    {"few_descriptors", few_descriptors},
    {"closes_descriptors_first", closes_descriptors_first},
    {"log_without_reader", log_without_reader},
    {"log_stalled_reader", log_stalled_reader},
    {"dlopen_late", dlopen_late},
    {"dlopen_in_thread", dlopen_in_thread},
    {"small_stacks", small_stacks},
    {"cancelled_threads", cancelled_threads},
    {"no_thread", no_thread},
    {"no_memory", no_memory},
    {"exit_with_job", exit_with_job},
    {"exit_in_thread_with_job", exit_in_thread_with_job},
    {"prove_at_exit", prove_at_exit},
    {"fork_exec", fork_exec},
    {"fork_only", fork_only},
    {"fork_then_call", fork_then_call},
    {"clone_then_call", clone_then_call},
    {"own_handler_before", own_handler_before},
    {"own_handler_after", own_handler_after},
    {"timer", timer},
    {"blocked_signals", blocked_signals},
};
enum { HAZARDS = sizeof hazards / sizeof hazards[0] };

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (int i = 0; i < HAZARDS; i++)
            printf("%s\n", hazards[i].name);
        return 0;
    }
    if (argc != 5) {
        fprintf(stderr, "usage: %s list | NAME LIBRARY PARAMS CASE.gv\n", argv[0]);
        return 2;
    }
    library_path = argv[2];
    params_path = argv[3];
    gv_path = argv[4];
    if (gv_read(gv_path, &gv) != 0)
        return 2;
    for (int i = 0; i < HAZARDS; i++) {
        if (strcmp(argv[1], hazards[i].name) == 0) {
            hazards[i].run();
            return 0;
        }
    }
    fprintf(stderr, "no hazard %s\n", argv[1]);
    return 2;
}
