/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Part of this program, so that it is built with it. */
#include "gv.c"

static struct {
    __typeof__(&cuzk_version) version;
    __typeof__(&cuzk_last_error) last_error;
    __typeof__(&cuzk_srs_open) open;
    __typeof__(&cuzk_srs_release) release;
    __typeof__(&cuzk_prove_partition) prove;
    __typeof__(&cuzk_proof_serialize) serialize;
    __typeof__(&cuzk_verify) verify;
} api;

#ifdef HOST_STATIC
int api_load(const char *path) {
    (void)path;
    api.version = cuzk_version;
    api.last_error = cuzk_last_error;
    api.open = cuzk_srs_open;
    api.release = cuzk_srs_release;
    api.prove = cuzk_prove_partition;
    api.serialize = cuzk_proof_serialize;
    api.verify = cuzk_verify;
    return 0;
}
#else
int api_load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    int missing = 0;
#define LOOK_UP(member, name) missing |= (*(void **)&api.member = dlsym(library, name)) == NULL
    LOOK_UP(version, "cuzk_version");
    LOOK_UP(last_error, "cuzk_last_error");
    LOOK_UP(open, "cuzk_srs_open");
    LOOK_UP(release, "cuzk_srs_release");
    LOOK_UP(prove, "cuzk_prove_partition");
    LOOK_UP(serialize, "cuzk_proof_serialize");
    LOOK_UP(verify, "cuzk_verify");
#undef LOOK_UP
    if (missing)
        fprintf(stderr, "%s: a symbol is missing\n", path);
    return missing ? -1 : 0;
}
#endif

const char *api_version(void) {
    return api.version();
}

static int check(const char *what, cuzk_status status) {
    if (status == CUZK_OK)
        return 0;
    fprintf(stderr, "%s: status %d: %s\n", what, status, api.last_error());
    return -1;
}

int api_round(const work *w) {
    cuzk_srs srs;
    cuzk_proof proof;
    uint8_t bytes[CUZK_PROOF_BYTES];
    if (check("open", api.open(w->params, NULL, &srs)) != 0)
        return -1;
    int failed = check("prove", api.prove(srs, &w->gv.assignment, &w->gv.r, &w->gv.s, NULL, &proof));
    if (!failed)
        failed =
            check("verify", api.verify(srs, w->gv.assignment.inputs, w->gv.assignment.num_inputs, &proof));
    if (!failed)
        failed = check("serialize", api.serialize(&proof, bytes));
    if (!failed && memcmp(bytes, w->gv.proof, sizeof bytes) != 0) {
        fprintf(stderr, "the proof is not the expected one\n");
        failed = -1;
    }
    return check("release", api.release(srs)) != 0 ? -1 : failed;
}
