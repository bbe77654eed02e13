/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a host does itself: it ends threads, and changes its environment. The
 * suites need a process that has not called the library before. */
#include "harness.h"

#include <pthread.h>

/* A destructor of the host that makes a failing call, twice. */
static void fail_at_the_end(void *what) {
    EXPECT(what, cuzk_srs_retain(12345), CUZK_ERR_HANDLE, "cuzk_srs_retain");
    CHECK(strstr(cuzk_last_error(), "cuzk_srs_retain") != NULL);
    EXPECT(what, cuzk_job_cancel(0), CUZK_ERR_HANDLE, "cuzk_job_cancel");
    CHECK(strstr(cuzk_last_error(), "cuzk_job_cancel") != NULL);
}

static pthread_key_t before, after; /* the library's own key */

static void *fail_and_end(void *calls) {
    if (calls != NULL)
        EXPECT("in the thread", cuzk_srs_release(999), CUZK_ERR_HANDLE, "cuzk_srs_release");
    CHECK(pthread_setspecific(before, "a destructor before the library's") == 0);
    CHECK(pthread_setspecific(after, "a destructor after the library's") == 0);
    return NULL;
}

/* glibc calls the destructors of a thread in the order in which the keys were
 * made. The library makes its own at the first error of the process. */
void suite_thread_end(void) {
    CHECK(pthread_key_create(&before, fail_at_the_end) == 0);
    EXPECT("first error", cuzk_srs_release(7), CUZK_ERR_HANDLE, "cuzk_srs_release");
    CHECK(pthread_key_create(&after, fail_at_the_end) == 0);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, fail_and_end, i % 2 == 0 ? "" : NULL) == 0);
        pthread_join(thread, NULL);
    }
}

/* main sets variables, and unsets them again, before the first call. */
void suite_setenv(void) {
    CHECK(setenv("CUZK_WORKERS", "65", 1) == 0);
    CHECK(setenv("CUZK_BACKEND", "rocm", 1) == 0 && unsetenv("CUZK_BACKEND") == 0);
    CHECK(unsetenv("CUZK_LOG") == 0);
    CHECK(cuzk_version()[0] != '\0'); /* needs no device, so fixes nothing */
    CHECK(setenv("CUZK_WORKERS", "66", 1) == 0);
    uint32_t count = 0;
    EXPECT("count", cuzk_device_count(&count), CUZK_ERR_VALUE,
           "count: invalid environment variable: CUZK_WORKERS is \"66\"");
    CHECK(strstr(cuzk_last_error(), "CUZK_BACKEND") == NULL);
    CHECK(strstr(cuzk_last_error(), "CUZK_LOG") == NULL);
    /* Read once. */
    CHECK(unsetenv("CUZK_WORKERS") == 0);
    EXPECT("again", cuzk_device_count(&count), CUZK_ERR_VALUE, "CUZK_WORKERS");
    cuzk_device_info info = {.struct_size = sizeof info};
    EXPECT("info", cuzk_device_get_info(0, &info), CUZK_ERR_VALUE, "CUZK_WORKERS");
    cuzk_srs srs;
    EXPECT("open", cuzk_srs_open("nowhere", NULL, &srs), CUZK_ERR_VALUE, "CUZK_WORKERS");
}

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;

static void log_under_lock(int32_t level, const char *message, void *thread) {
    (void)level;
    (void)message;
    pthread_mutex_lock(&host_lock);
    CHECK(!pthread_equal(pthread_self(), *(pthread_t *)thread));
    pthread_mutex_unlock(&host_lock);
}

/* The host holds a lock, which its callback takes, while it calls the library. */
void suite_log_lock(void) {
    pthread_t self = pthread_self();
    OK(cuzk_set_log(log_under_lock, &self, CUZK_LOG_DEBUG));
    pthread_mutex_lock(&host_lock);
    uint32_t count = 0;
    OK(cuzk_device_count(&count)); /* makes the engine, which logs */
    golden g;
    golden_open("two", "two", &g);
    cuzk_proof proof;
    OK(cuzk_prove_partition(g.srs, &g.gv.assignment, &g.gv.r, &g.gv.s, NULL, &proof));
    OK(cuzk_set_workers(2));
    golden_close(&g);
    pthread_mutex_unlock(&host_lock);
    OK(cuzk_set_log(NULL, NULL, 0));
}
