/*
 * Damaged files.  Every bit of small archives is flipped, one at a time: the reader refuses the
 * file or gives exactly the arrays of the whole one.  Of a large archive, whose array is used in
 * place, that holds for everything but the elements; those are covered by `verify`.
 *
 * With arguments, it is the bits of these files that are flipped; in one that begins with a
 * mapped array, those around its elements.
 */
#include "files.h"

typedef struct tally {
    int64_t refused, harmless;
} tally;

/* Flips every `step`-th bit of bytes first..last-1; fails if other arrays result. */
static tally flip_bits(const char *name, unsigned char *bytes, size_t size, size_t first,
                       size_t last, size_t step)
{
    tally t = { 0, 0 };
    attsvm_archive *whole, *damaged;
    attsvm_error err = { 0 };
    unsigned char *copy = malloc(size); /* `whole` may point into `bytes` */
    memcpy(copy, bytes, size);
    assert_ok(read_bytes_as(name, copy, size, &whole, &err), err);
    for (size_t bit = 8 * first; bit < 8 * last; bit += step) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        attsvm_status status = read_bytes_as(name, bytes, size, &damaged, &err);
        if (status == ATTSVM_OK) {
            if (!same_archive(whole, damaged))
                fail_msg("%s: bit %zu of byte %zu changes the arrays unseen", name, bit % 8,
                         bit / 8);
            t.harmless++;
        } else {
            assert_true(status == ATTSVM_E_FORMAT);
            t.refused++;
        }
        attsvm_archive_free(damaged);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    attsvm_archive_free(whole);
    free(copy);
    return t;
}

static unsigned char *make_file(files *f, const char *name, bool deflate, const void *data,
                                int64_t rows, size_t *size)
{
    static const int64_t offsets[4] = { 0, 1, 2, 5 };
    attsvm_error err = { 0 };
    io_source sources[] = {
        { .name = "X", .array = array_2d(ATTSVM_F32, data, rows, 2) },
        { .name = "offsets", .array = array_1d(ATTSVM_I64, offsets, 4) },
        { .name = "empty", .array = array_1d(ATTSVM_U8, NULL, 0) },
    };
    assert_ok(io_write(files_path(f, name), sources, 3, &(io_write_options){ deflate }, &err), err);
    return files_get(f->path, size);
}

static void flip_small(files *f, const char *name, bool deflate)
{
    float values[10];
    size_t size;
    for (int k = 0; k < 10; k++)
        values[k] = (float)k / 3;
    unsigned char *bytes = make_file(f, name, deflate, values, 5, &size);
    tally t = flip_bits(name, bytes, size, 0, size, 1);
    print_message("%s, %s: %zu bytes, %" PRId64 " flips refused, %" PRId64 " harmless\n", name,
                  deflate ? "deflated" : "stored", size, t.refused, t.harmless);
    /* truncated or with trailing bytes, it is refused */
    for (size_t cut = 0; cut < size; cut++)
        refused(name, bytes, cut, "");
    unsigned char *longer = malloc(size + 7);
    memcpy(longer, bytes, size);
    memset(longer + size, 0, 7);
    refused(name, longer, size + 7, "");
    free(longer);
    free(bytes);
}

static void every_flip_in_a_stored_archive_is_seen(void **state)
{
    flip_small(*state, "a.npz", false);
}

static void every_flip_in_a_deflated_archive_is_seen(void **state)
{
    flip_small(*state, "a.npz", true);
}

/* Position of the first occurrence of bytes at or after `from`. */
static size_t find(const unsigned char *bytes, size_t size, size_t from, const char *what)
{
    size_t length = strlen(what);
    while (from + length <= size && memcmp(bytes + from, what, length) != 0)
        from++;
    assert_true(from + length <= size);
    return from;
}

/* Flips everything except the elements of the first array (`elements` bytes). */
static tally flip_around(const char *name, unsigned char *bytes, size_t size, size_t elements)
{
    size_t start = find(bytes, size, find(bytes, size, 0, "}"), "\n") + 1;
    size_t step = (size_t)long_or_short(1, 7); /* bits of all places in a byte */
    tally front = flip_bits(name, bytes, size, 0, start, step);
    tally back = flip_bits(name, bytes, size, start + elements, size, step);
    return (tally){ front.refused + back.refused, front.harmless + back.harmless };
}

static void every_flip_around_a_mapped_array_is_seen(void **state)
{
    files *f = *state;
    int64_t rows = 140000;
    float *values = malloc((size_t)rows * 2 * sizeof *values);
    size_t size;
    for (int64_t k = 0; k < 2 * rows; k++)
        values[k] = (float)(k % 251);
    unsigned char *bytes = make_file(f, "a.npz", false, values, rows, &size);
    tally t = flip_around("a.npz", bytes, size, (size_t)rows * 8);
    print_message("mapped: %zu bytes around the elements, %" PRId64 " flips refused, %" PRId64
                  " harmless\n",
                  size - (size_t)rows * 8, t.refused, t.harmless);
    free(bytes);
    free(values);
}

static void verify_sees_flips_in_mapped_elements(void **state)
{
    files *f = *state;
    int64_t rows = 140000;
    float *values = calloc((size_t)rows * 2, sizeof *values);
    size_t size;
    attsvm_error err = { 0 };
    attsvm_archive *archive;
    attsvm_read_settings settings;
    attsvm_read_settings_init(&settings);
    unsigned char *bytes = make_file(f, "a.npz", false, values, rows, &size);
    for (int k = 0; k < 20; k++) {
        size_t at = 4096 + (size_t)k * 55001; /* they begin at a page */
        bytes[at] ^= (unsigned char)(1 << k % 8);
        files_put(f, "a.npz", bytes, size);
        bytes[at] ^= (unsigned char)(1 << k % 8);
        settings.verify = false;
        assert_ok(attsvm_archive_open(&archive, f->path, &settings, &err), err);
        assert_true(attsvm_archive_is_mapped(archive, 0));
        attsvm_archive_free(archive);
        settings.verify = true;
        assert_fails(attsvm_archive_open(&archive, f->path, &settings, &err), err, ATTSVM_E_FORMAT,
                     "X: it is damaged: CRC error");
    }
    free(bytes);
    free(values);
}

/* numpy reads the second of two archives in a row, libzip the first. */
static void two_archives_in_a_row_are_refused(void **state)
{
    files *f = *state;
    const float values[10] = { 0 };
    size_t size;
    unsigned char *bytes = make_file(f, "a.npz", false, values, 5, &size);
    unsigned char *twice = malloc(2 * size);
    memcpy(twice, bytes, size);
    memcpy(twice + size, bytes, size);
    refused("a.npz", twice, 2 * size, "its directory is not at its end");
    /* the second archive as a comment of the first */
    twice[size - 2] = (unsigned char)size;
    twice[size - 1] = (unsigned char)(size >> 8);
    refused("a.npz", twice, 2 * size, "its directory is not at its end");
    free(twice);
    free(bytes);
}

/* Formats without checksums: flips may change elements but never crash the reader. */
static void flips_elsewhere_do_no_harm(void **state)
{
    files *f = *state;
    float values[10] = { 0 };
    size_t size;
    static const char *const names[] = { "a.safetensors", "a.npy", "a.csv" };
    for (int k = 0; k < 3; k++) {
        unsigned char *bytes;
        if (k == 0) {
            bytes = make_file(f, names[k], false, values, 5, &size);
        } else {
            attsvm_error err = { 0 };
            static const int8_t Y[1] = { 1 };
            attsvm_named_array arrays[] = { { "X", array_2d(ATTSVM_F32, values, 1, 10) },
                                            { "Y", array_1d(ATTSVM_I8, Y, 1) } };
            if (k == 2) {
                arrays[0].array.ndim = 3;
                arrays[0].array.shape[1] = 5;
                arrays[0].array.shape[2] = 2;
            }
            assert_ok(attsvm_archive_write(files_path(f, names[k]), arrays, k, &err), err);
            bytes = files_get(f->path, &size);
        }
        for (size_t bit = 0; bit < 8 * size; bit++) {
            attsvm_archive *archive;
            attsvm_error err = { 0 };
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            attsvm_status status = read_bytes_as(names[k], bytes, size, &archive, &err);
            assert_true(status == ATTSVM_OK || (status == ATTSVM_E_FORMAT && err.message[0]));
            attsvm_archive_free(archive);
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        free(bytes);
    }
}

static int flip_files(int count, char **paths)
{
    for (int k = 0; k < count; k++) {
        size_t size;
        attsvm_error err = { 0 };
        attsvm_archive *archive;
        assert_ok(attsvm_archive_open(&archive, paths[k], NULL, &err), err);
        bool mapped = attsvm_archive_is_mapped(archive, 0);
        size_t elements = array_bytes(attsvm_archive_array(archive, 0));
        attsvm_archive_free(archive);
        unsigned char *bytes = files_get(paths[k], &size);
        tally t = mapped ? flip_around(paths[k], bytes, size, elements)
                         : flip_bits(paths[k], bytes, size, 0, size, 1);
        printf("%s: %" PRId64 " flips refused, %" PRId64 " harmless\n", paths[k], t.refused,
               t.harmless);
        free(bytes);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return flip_files(argc - 1, argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_flip_in_a_stored_archive_is_seen, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(every_flip_in_a_deflated_archive_is_seen, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(every_flip_around_a_mapped_array_is_seen, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(verify_sees_flips_in_mapped_elements, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(two_archives_in_a_row_are_refused, files_open, files_close),
        cmocka_unit_test_setup_teardown(flips_elsewhere_do_no_harm, files_open, files_close),
    };
    return cmocka_run_group_tests_name("io damage", tests, NULL, NULL);
}
