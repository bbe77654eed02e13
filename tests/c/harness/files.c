/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Each kind of damaged parameter file has its status and message. */
#include "harness.h"

#include <sys/stat.h>
#include <unistd.h>

/* The layout of a parameter file: six points of the verifying key, then six
 * sections, each a big-endian count of 32 bits and its points. */
enum { IC, H, L, A, B_G1, B_G2, SECTIONS };
enum { ALPHA_G1 = 0, BETA_G1 = 96, BETA_G2 = 192, DELTA_G1 = 576, DELTA_G2 = 672, VK_BYTES = 864 };

static const char *const names[SECTIONS] = {"ic", "h", "l", "a", "b_g1", "b_g2"};

typedef struct file {
    uint8_t *bytes;
    size_t size;
    size_t count_at[SECTIONS]; /* offset of the count; the points follow it */
    uint32_t count[SECTIONS];
} file;

static size_t point_bytes(int section) {
    return section == B_G2 ? 192 : 96;
}

static uint32_t big_endian(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void set_count(file *f, int section, uint32_t count) {
    for (int i = 0; i < 4; i++)
        f->bytes[f->count_at[section] + i] = (uint8_t)(count >> (24 - 8 * i));
}

static file load(const char *name) {
    file f;
    char *path = path_of(golden_dir, name, ".params");
    FILE *in = fopen(path, "rb");
    if (in == NULL || fseek(in, 0, SEEK_END) != 0)
        exit(2);
    f.size = (size_t)ftell(in);
    f.bytes = fresh(f.size);
    rewind(in);
    if (fread(f.bytes, 1, f.size, in) != f.size)
        exit(2);
    fclose(in);
    free(path);
    size_t at = VK_BYTES;
    for (int i = 0; i < SECTIONS; i++) {
        f.count_at[i] = at;
        f.count[i] = big_endian(f.bytes + at);
        at += 4 + point_bytes(i) * f.count[i];
    }
    CHECK(at == f.size);
    return f;
}

static file duplicate(const file *f) {
    file d = *f;
    d.bytes = copy_of(f->bytes, f->size);
    return d;
}

static cuzk_status open_bytes(const uint8_t *bytes, size_t size, uint32_t flags) {
    char *path = path_of(scratch_dir, "damaged", ".params");
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(bytes, 1, size, out) != size || fclose(out) != 0) {
        perror(path);
        exit(2);
    }
    cuzk_srs_options options = {sizeof options, flags, 0};
    cuzk_srs srs;
    poison(&srs, sizeof srs);
    cuzk_status status = cuzk_srs_open(path, &options, &srs);
    if (status == CUZK_OK) {
        cuzk_srs_release(srs);
    } else {
        CHECK(is_poison(&srs, sizeof srs));
        CHECK(strstr(cuzk_last_error(), path) != NULL);
    }
    /* Unlinked, so that every file is a new one. */
    unlink(path);
    free(path);
    return status;
}

static void truncated(const file *f) {
    EXPECT("empty file", open_bytes(f->bytes, 0, 0), CUZK_ERR_FILE_TRUNCATED, "");
    EXPECT("one byte", open_bytes(f->bytes, 1, 0), CUZK_ERR_FILE_TRUNCATED, "");
    EXPECT("inside the verifying key", open_bytes(f->bytes, VK_BYTES - 1, 0), CUZK_ERR_FILE_TRUNCATED, "");
    for (int i = 0; i < SECTIONS; i++) {
        EXPECT(names[i], open_bytes(f->bytes, f->count_at[i], 0), CUZK_ERR_FILE_TRUNCATED, names[i]);
        EXPECT(names[i], open_bytes(f->bytes, f->count_at[i] + 3, 0), CUZK_ERR_FILE_TRUNCATED, names[i]);
        EXPECT(names[i], open_bytes(f->bytes, f->count_at[i] + 4, 0), CUZK_ERR_FILE_TRUNCATED, names[i]);
        size_t end = f->count_at[i] + 4 + point_bytes(i) * f->count[i];
        EXPECT(names[i], open_bytes(f->bytes, end - 1, 0), CUZK_ERR_FILE_TRUNCATED, names[i]);
        EXPECT(names[i], open_bytes(f->bytes, end - point_bytes(i), 0), CUZK_ERR_FILE_TRUNCATED, names[i]);
    }
    uint8_t *longer = fresh(f->size + 1);
    memcpy(longer, f->bytes, f->size);
    longer[f->size] = 0;
    EXPECT("a byte too many", open_bytes(longer, f->size + 1, 0), CUZK_ERR_FILE_COUNTS, "");
    free(longer);
}

/* A wrong count shifts everything behind it. The file is refused; the status
 * depends on where its sections then end. */
static void counts(const file *f) {
    for (int i = 0; i < SECTIONS; i++) {
        uint32_t right = f->count[i];
        const uint32_t wrong[] = {right - 1, right + 1, right - 2, right * 2, 0, UINT32_C(0x80000000),
                                  UINT32_MAX};
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            file d = duplicate(f);
            set_count(&d, i, wrong[k]);
            cuzk_status status = open_bytes(d.bytes, d.size, 0);
            CHECK(status > 200 && status < 300 && cuzk_last_error()[0] != '\0');
            free(d.bytes);
        }
    }
    /* Sections that are whole, but do not fit each other: h loses points, and
     * b_g2 its last. */
    file d = duplicate(f);
    size_t drop = 96, end = d.count_at[H] + 4 + 96 * d.count[H];
    memmove(d.bytes + end - drop, d.bytes + end, d.size - end);
    set_count(&d, H, d.count[H] - 1);
    EXPECT("h is no domain less one", open_bytes(d.bytes, d.size - drop, 0), CUZK_ERR_FILE_COUNTS, "h");
    free(d.bytes);
    d = duplicate(f);
    set_count(&d, B_G2, d.count[B_G2] - 1);
    EXPECT("b_g1 and b_g2 differ", open_bytes(d.bytes, d.size - 192, 0), CUZK_ERR_FILE_COUNTS, "b_g2");
    free(d.bytes);
}

static void put_point(file *f, size_t at, size_t size, uint8_t first, uint8_t last) {
    memset(f->bytes + at, 0, size);
    f->bytes[at] = first;
    f->bytes[at + size - 1] = last;
}

static void points(const file *f) {
    for (int i = 0; i < SECTIONS; i++) {
        size_t size = point_bytes(i);
        /* The first and the last point: whatever splits the section, both are
         * at an edge of it. */
        for (int last = 0; last < 2; last++) {
            size_t at = f->count_at[i] + 4 + (last ? size * (f->count[i] - 1) : 0);
            file d = duplicate(f);
            d.bytes[at] |= 0x80;
            EXPECT(names[i], open_bytes(d.bytes, d.size, 0), CUZK_ERR_FILE_ENCODING, names[i]);
            memcpy(d.bytes, f->bytes, f->size);
            d.bytes[at] |= 0x20;
            EXPECT(names[i], open_bytes(d.bytes, d.size, 0), CUZK_ERR_FILE_ENCODING, names[i]);
            memcpy(d.bytes, f->bytes, f->size);
            d.bytes[at] |= 0x1f; /* x above the modulus */
            d.bytes[at + 1] = 0xff;
            EXPECT(names[i], open_bytes(d.bytes, d.size, 0), CUZK_ERR_FILE_ENCODING, names[i]);
            memcpy(d.bytes, f->bytes, f->size);
            d.bytes[at + size - 1] ^= 1; /* the lowest bit of y */
            EXPECT(names[i], open_bytes(d.bytes, d.size, 0), CUZK_ERR_FILE_POINT, names[i]);
            put_point(&d, at, size, 0x40, 0);
            EXPECT(names[i], open_bytes(d.bytes, d.size, 0), CUZK_ERR_FILE_INFINITY, names[i]);
            put_point(&d, at, size, 0x40, 1);
            EXPECT(names[i], open_bytes(d.bytes, d.size, 0), CUZK_ERR_FILE_ENCODING, names[i]);
            free(d.bytes);
        }
    }
}

/* A point of y^2 = x^3 + 4 with x = 4. Like nearly every point of the curve it
 * is not in the subgroup. */
static const uint8_t outside_y[48] = {0x0a, 0x98, 0x9b, 0xad, 0xd4, 0x0d, 0x62, 0x12, 0xb3, 0x3c, 0xff, 0xc3,
                                      0xf3, 0x76, 0x3e, 0x9b, 0xc7, 0x60, 0xf9, 0x88, 0xc9, 0x92, 0x6b, 0x26,
                                      0xda, 0x9d, 0xd8, 0x5e, 0x92, 0x84, 0x83, 0x44, 0x63, 0x46, 0xb8, 0xed,
                                      0x00, 0xe1, 0xde, 0x5d, 0x5e, 0xa9, 0x3e, 0x35, 0x4a, 0xbe, 0x70, 0x6c};

static void put_outside(file *f, size_t at) {
    memset(f->bytes + at, 0, 48);
    f->bytes[at + 47] = 4;
    memcpy(f->bytes + at + 48, outside_y, 48);
}

static void subgroup(const file *f) {
    file d = duplicate(f);
    put_outside(&d, d.count_at[H] + 4);
    OK(open_bytes(d.bytes, d.size, 0));
    EXPECT("h outside the subgroup", open_bytes(d.bytes, d.size, CUZK_SRS_CHECK_SUBGROUP),
           CUZK_ERR_FILE_POINT, "h");
    memcpy(d.bytes, f->bytes, f->size);
    put_outside(&d, ALPHA_G1);
    EXPECT("alpha outside the subgroup", open_bytes(d.bytes, d.size, 0), CUZK_ERR_FILE_POINT, "alpha");
    free(d.bytes);
}

static void verifying_key(const file *f) {
    static const struct {
        const char *name;
        size_t at, size;
    } keys[] = {{"alpha_g1", ALPHA_G1, 96}, {"beta_g1", BETA_G1, 96},   {"beta_g2", BETA_G2, 192},
                {"gamma_g2", 384, 192},     {"delta_g1", DELTA_G1, 96}, {"delta_g2", DELTA_G2, 192}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        file d = duplicate(f);
        d.bytes[keys[i].at + keys[i].size - 1] ^= 1;
        EXPECT(keys[i].name, open_bytes(d.bytes, d.size, 0), CUZK_ERR_FILE_POINT, keys[i].name);
        put_point(&d, keys[i].at, keys[i].size, 0x40, 0);
        EXPECT(keys[i].name, open_bytes(d.bytes, d.size, 0), CUZK_ERR_FILE_INFINITY, keys[i].name);
        free(d.bytes);
    }
}

static void no_file(void) {
    cuzk_srs srs;
    char *missing = path_of(scratch_dir, "missing", ".params");
    EXPECT("missing file", cuzk_srs_open(missing, NULL, &srs), CUZK_ERR_FILE_IO, "no such file");
    free(missing);
    EXPECT("empty path", cuzk_srs_open("", NULL, &srs), CUZK_ERR_FILE_IO, "");
    EXPECT("a folder", cuzk_srs_open(scratch_dir, NULL, &srs), CUZK_ERR_FILE_IO, "");
    EXPECT("a device", cuzk_srs_open("/dev/null", NULL, &srs), CUZK_ERR_FILE_IO, "");

    char *fifo = path_of(scratch_dir, "fifo", ".params");
    CHECK(mkfifo(fifo, 0600) == 0);
    EXPECT("a pipe, which must not block", cuzk_srs_open(fifo, NULL, &srs), CUZK_ERR_FILE_IO, "");
    unlink(fifo);
    free(fifo);

    /* A name of 300 bytes is refused by the system, one that is not UTF-8 is
     * just a name. */
    char *endless = fresh(8192);
    memset(endless, 'x', 8191);
    endless[8191] = '\0';
    EXPECT("a name too long", cuzk_srs_open(endless, NULL, &srs), CUZK_ERR_FILE_IO, "too long");
    free(endless);
    EXPECT("a name that is not UTF-8", cuzk_srs_open("\xff\xfe", NULL, &srs), CUZK_ERR_FILE_IO,
           "no such file");
}

/* The file may go as soon as it is open, and another may take its name. */
static void deleted(const file *f) {
    char *path = path_of(scratch_dir, "deleted", ".params");
    FILE *out = fopen(path, "wb");
    CHECK(out != NULL && fwrite(f->bytes, 1, f->size, out) == f->size && fclose(out) == 0);
    cuzk_srs srs;
    OK(cuzk_srs_open(path, NULL, &srs));
    CHECK(unlink(path) == 0);
    char *gv_path = path_of(golden_dir, "two", ".gv");
    gv_case gv;
    CHECK(gv_read(gv_path, &gv) == 0);
    cuzk_proof proof;
    OK(cuzk_prove_partition(srs, &gv.assignment, &gv.r, &gv.s, NULL, &proof));
    CHECK(is_golden(&gv, &proof));
    OK(cuzk_srs_release(srs));
    gv_free(&gv);
    free(gv_path);
    free(path);
}

void suite_files(void) {
    file two = load("two");
    file mimc = load("mimc");
    OK(open_bytes(two.bytes, two.size, CUZK_SRS_CHECK_SUBGROUP));
    truncated(&two);
    truncated(&mimc);
    counts(&two);
    points(&two);
    points(&mimc);
    subgroup(&two);
    verifying_key(&two);
    no_file();
    deleted(&two);
    free(two.bytes);
    free(mimc.bytes);
}
