/* npy and npz: files written by numpy are read, everything else is refused. */
#include "files.h"

#include <zip.h>

/* ------------------------------------------------------------------------- npy */

/* An npy file of version 1, 2 or 3 with that dictionary; returns its size. */
static size_t make_npy(unsigned char *out, int version, const char *dictionary, const void *data,
                       size_t size)
{
    size_t start = version == 1 ? 10 : 12, text = strlen(dictionary);
    size_t length = (start + text + 1 + 63) / 64 * 64 - start;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    for (size_t k = 8; k < start; k++)
        out[k] = (unsigned char)(length >> (8 * (k - 8)));
    memset(out + start, ' ', length);
    memcpy(out + start, dictionary, text);
    out[start + length - 1] = '\n';
    memcpy(out + start + length, data, size);
    return start + length + size;
}

static attsvm_archive *read_npy(const void *bytes, size_t size)
{
    attsvm_archive *archive;
    attsvm_error err = { 0 };
    assert_ok(read_bytes_as("a.npy", bytes, size, &archive, &err), err);
    assert_int_equal(attsvm_archive_count(archive), 1);
    assert_string_equal(attsvm_archive_name(archive, 0), "X");
    return archive;
}

static void all_versions_and_spellings_are_read(void **state)
{
    (void)state;
    static const char *const dictionaries[] = {
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'shape': (2, 3), 'descr': '<i4', 'fortran_order': False}",
        "{\"descr\": \"<i4\",\"fortran_order\":False,\"shape\":(2,3,)}",
        "  { 'descr' : '<i4' , 'fortran_order' : False , 'shape' : ( 2 , 3 ) , }",
    };
    unsigned char bytes[512];
    int32_t values[6] = { 1, -2, 3, 4, 5, 600000 };
    attsvm_array expected = array_2d(ATTSVM_I32, values, 2, 3);
    for (int version = 1; version <= 3; version++) {
        for (size_t k = 0; k < sizeof dictionaries / sizeof *dictionaries; k++) {
            size_t size = make_npy(bytes, version, dictionaries[k], values, sizeof values);
            attsvm_archive *archive = read_npy(bytes, size);
            assert_true(same_array(attsvm_archive_array(archive, 0), &expected));
            assert_false(attsvm_archive_is_mapped(archive, 0));
            attsvm_archive_free(archive);
        }
    }
}

static void both_orders_are_brought_to_ours(void **state)
{
    (void)state;
    unsigned char bytes[4096];
    uint16_t stored[2 * 3 * 4], expected[2 * 3 * 4];
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 4; k++) {
                uint16_t value = (uint16_t)(100 * i + 10 * j + k + 0x1200);
                expected[(i * 3 + j) * 4 + k] = value;
                /* column-major and big-endian */
                stored[i + 2 * (j + 3 * k)] = (uint16_t)(value << 8 | value >> 8);
            }
        }
    }
    size_t size =
        make_npy(bytes, 1, "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3, 4), }", stored,
                 sizeof stored);
    attsvm_archive *archive = read_npy(bytes, size);
    attsvm_array array = { .data = expected, .shape = { 2, 3, 4 }, .ndim = 3, .dtype = ATTSVM_U16 };
    assert_true(same_array(attsvm_archive_array(archive, 0), &array));
    attsvm_archive_free(archive);
}

static void scalars_and_empty_arrays_are_arrays(void **state)
{
    (void)state;
    unsigned char bytes[512];
    double pi = 3.14159;
    size_t size =
        make_npy(bytes, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", &pi, 8);
    attsvm_archive *archive = read_npy(bytes, size);
    assert_int_equal(attsvm_archive_array(archive, 0)->ndim, 0);
    assert_true(attsvm_array_get(attsvm_archive_array(archive, 0), 0) == pi);
    attsvm_archive_free(archive);
    size =
        make_npy(bytes, 1, "{'descr': '|b1', 'fortran_order': True, 'shape': (3, 0, 5), }", &pi, 0);
    archive = read_npy(bytes, size);
    assert_int_equal(attsvm_array_count(attsvm_archive_array(archive, 0)), 0);
    assert_int_equal(attsvm_archive_array(archive, 0)->dtype, ATTSVM_BOOL);
    attsvm_archive_free(archive);
}

static void bad_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary, *message;
    } cases[] = {
        { "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "Python objects" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "complex" },
        { "{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }", "'<f16' is not one of" },
        { "{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }", "text" },
        { "{'descr': '|V8', 'fortran_order': False, 'shape': (1,), }", "records" },
        { "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,), }", "dates" },
        { "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", "structured" },
        { "{'descr': '=f8', 'fortran_order': False, 'shape': (1,), }", "begin with" },
        { "{'descr': '|f8', 'fortran_order': False, 'shape': (1,), }", "byte order" },
        { "{'descr': 'f8', 'fortran_order': False, 'shape': (1,), }", "begin with" },
        { "{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }", "not one of" },
        { "{'descr': '<f88', 'fortran_order': False, 'shape': (1,), }", "not one of" },
        { "{'descr': '<i16', 'fortran_order': False, 'shape': (1,), }", "not one of" },
        { "{'descr': '', 'fortran_order': False, 'shape': (1,), }", "begin with" },
        { "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,), }", "neither True nor False" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (01,), }", "leading zero" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "negative" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1), }", "tuple" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': 1, }", "tuple" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (,), }", "tuple" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1 1), }", "comma" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1L,), }", "comma" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1.0,), }", "comma" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,), }", "2^63" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
          "too large" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }",
          "too large" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
          "more than 8" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", "which makes" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }", "which makes" },
        { "{'descr': '<f8', 'fortran_order': False, }", "no 'shape'" },
        { "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "twice" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", "unknown key 'x'" },
        { "{'descr': '<f8' 'fortran_order': False, 'shape': (1,), }", "dictionary" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } x", "newline" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n", "newline" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), ", "dictionary" },
        { "[1]", "not a dictionary" },
        { "", "not a dictionary" },
        { "{'de\\x73cr': '<f8', 'fortran_order': False, 'shape': (1,), }", "dictionary" },
    };
    unsigned char bytes[512];
    double value = 1;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t size = make_npy(bytes, 1, cases[k].dictionary, &value, sizeof value);
        refused("a.npy", bytes, size, cases[k].message);
    }
}

static void cut_and_lengthened_files_are_refused(void **state)
{
    (void)state;
    unsigned char bytes[512];
    double values[3] = { 1, 2, 3 };
    size_t size = make_npy(bytes, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
                           values, sizeof values);
    for (size_t cut = 0; cut < size; cut++)
        refused("a.npy", bytes, cut, "");
    refused("a.npy", bytes, size - 1,
            "it has 151 bytes, but its header says shape (3,) of float64, "
            "which makes 152");
    refused("a.npy", bytes, size + 1, "it has 153 bytes");
    refused("a.npy", bytes, 0, "empty");
    bytes[6] = 4;
    refused("a.npy", bytes, size, "version 4.0");
    bytes[6] = 2;
    bytes[10] = bytes[11] = 0xff;
    refused("a.npy", bytes, size, "longer than");
}

/* ------------------------------------------------------------------------- npz */

static const float small_values[6] = { 1, 2, 3, 4, 5, 6 };

/* Writes arrays X (2,3) float32, k () int64, e (0,4) float16 and a large `big`. */
static void write_example(const char *path, bool deflate, const double *big, int64_t count)
{
    static const int64_t k = -5;
    attsvm_error err = { 0 };
    io_source sources[] = {
        { .name = "X", .array = array_2d(ATTSVM_F32, small_values, 2, 3) },
        { .name = "k", .array = { .data = &k, .dtype = ATTSVM_I64 } },
        { .name = "e", .array = array_2d(ATTSVM_F16, NULL, 0, 4) },
        { .name = "big", .array = array_1d(ATTSVM_F64, big, count) },
    };
    assert_ok(io_write(path, sources, 4, &(io_write_options){ deflate }, &err), err);
}

static void archives_come_back(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    attsvm_read_settings settings;
    attsvm_read_settings_init(&settings);
    settings.verify = true;
    int64_t count = 200000;
    double *big = malloc((size_t)count * sizeof *big);
    for (int64_t k = 0; k < count; k++)
        big[k] = (double)(k % 1000);
    for (int deflate = 0; deflate < 2; deflate++) {
        attsvm_archive *archive;
        write_example(files_path(f, "a.npz"), deflate, big, count);
        assert_ok(attsvm_archive_open(&archive, files_path(f, "a.npz"), &settings, &err), err);
        assert_int_equal(attsvm_archive_count(archive), 4);
        attsvm_array expected = array_2d(ATTSVM_F32, small_values, 2, 3);
        assert_string_equal(attsvm_archive_name(archive, 0), "X");
        assert_true(same_array(attsvm_archive_array(archive, 0), &expected));
        assert_true(attsvm_array_get(attsvm_archive_find(archive, "k"), 0) == -5);
        expected = array_1d(ATTSVM_F64, big, count);
        assert_true(same_array(attsvm_archive_find(archive, "big"), &expected));
        assert_int_equal(attsvm_archive_is_mapped(archive, 3), !deflate);
        if (!deflate)
            assert_int_equal((uintptr_t)attsvm_archive_array(archive, 3)->data % 4096, 0);
        assert_null(attsvm_archive_find(archive, "none"));
        assert_null(attsvm_archive_find(archive, NULL));
        assert_null(attsvm_archive_name(archive, 4));
        assert_null(attsvm_archive_array(archive, -1));
        assert_false(attsvm_archive_is_mapped(archive, 9));
        attsvm_archive_free(archive);
    }
    free(big);
}

static void same_arrays_make_the_same_bytes(void **state)
{
    files *f = *state;
    double big[3] = { 1, 2, 3 };
    size_t size[2];
    unsigned char *bytes[2];
    static const char *const zones[2] = { "UTC", "Asia/Kathmandu" };
    for (int deflate = 0; deflate < 2; deflate++) {
        for (int k = 0; k < 2; k++) {
            setenv("TZ", zones[k], 1);
            tzset();
            write_example(files_path(f, k ? "a.npz" : "b.npz"), deflate, big, 3);
            bytes[k] = files_get(f->path, &size[k]);
        }
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(bytes[0], bytes[1], size[0]);
        free(bytes[0]);
        free(bytes[1]);
    }
    unsetenv("TZ");
    tzset();
}

static attsvm_status count_up(void *context, int64_t first, int64_t count, void *buffer,
                              attsvm_error *err)
{
    const int64_t *stop = context;
    for (int64_t k = 0; k < count; k++) {
        if (first + k == *stop)
            return base_fail(err, ATTSVM_E_MEMORY, "the source ran dry");
        double value = (double)(first + k);
        memcpy((char *)buffer + 8 * k, &value, 8);
    }
    return ATTSVM_OK;
}

static void arrays_can_be_produced_while_writing(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    int64_t stop = -1;
    static const char *const names[] = { "a.npz", "a.npy", "a.safetensors" };
    io_source source = { "X", array_1d(ATTSVM_F64, NULL, 500000), count_up, &stop };
    for (int k = 0; k < 3; k++) {
        attsvm_archive *archive;
        stop = -1;
        assert_ok(io_write(files_path(f, names[k]), &source, 1, NULL, &err), err);
        assert_ok(attsvm_archive_open(&archive, f->path, NULL, &err), err);
        const attsvm_array *X = attsvm_archive_find(archive, "X");
        assert_int_equal(attsvm_array_count(X), 500000);
        assert_true(attsvm_archive_is_mapped(archive, 0));
        for (int64_t i = 0; i < 500000; i++)
            assert_true(attsvm_array_get(X, i) == (double)i);
        attsvm_archive_free(archive);
        assert_int_equal(unlink(f->path), 0);
        stop = 300000; /* a source that fails half way leaves no file */
        assert_fails(io_write(files_path(f, names[k]), &source, 1, NULL, &err), err,
                     ATTSVM_E_MEMORY, "the source ran dry");
        assert_non_null(strstr(err.message, names[k]));
        assert_int_equal(files_count(f), 0);
    }
}

/* A zip file made by libzip alone, of two members (the second may be left out). */
static unsigned char *make_zip(files *f, const char *name, const void *bytes, size_t size,
                               const char *second, int method, size_t *zip_size)
{
    zip_t *zip = zip_open(files_path(f, "made.npz"), ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    zip_int64_t k =
        zip_file_add(zip, name, zip_source_buffer(zip, bytes, size, 0), ZIP_FL_ENC_UTF_8);
    assert_true(k >= 0);
    zip_set_file_compression(zip, (zip_uint64_t)k, method, 0);
    if (method == -2) {
        zip_set_file_compression(zip, (zip_uint64_t)k, ZIP_CM_STORE, 0);
        zip_file_set_encryption(zip, (zip_uint64_t)k, ZIP_EM_AES_128, "secret");
    }
    if (second)
        zip_file_add(zip, second, zip_source_buffer(zip, bytes, size, 0), ZIP_FL_ENC_UTF_8);
    assert_int_equal(zip_close(zip), 0);
    return files_get(files_path(f, "made.npz"), zip_size);
}

static void odd_zip_files_are_refused(void **state)
{
    files *f = *state;
    unsigned char npy[512];
    double value = 1;
    size_t size,
        npy_size = make_npy(npy, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
                            &value, sizeof value);
    static const struct {
        const char *first, *second;
        int method;
        size_t cut;
        const char *message;
    } cases[] = {
        { "a.npy", NULL, ZIP_CM_BZIP2, 0, "a: it is packed by zip method 12" },
        { "a.npy", NULL, -2, 0, "a: it is encrypted" },
        { ".npy", NULL, ZIP_CM_STORE, 0, "without a name" },
        { "a\n.npy", NULL, ZIP_CM_STORE, 1, "a\\x0a: it has 135 bytes" },
        { "a.npy", NULL, ZIP_CM_DEFLATE, 8, "a: it has 128 bytes" },
        { "a.npy", NULL, ZIP_CM_DEFLATE, 100, "its npy header alone has" },
        { "a.npy", NULL, ZIP_CM_STORE, 130, "a: it has 6 bytes, fewer than" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        unsigned char *zip = make_zip(f, cases[k].first, npy, npy_size - cases[k].cut,
                                      cases[k].second, cases[k].method, &size);
        refused("a.npz", zip, size, cases[k].message);
        free(zip);
    }
    /* two names that become one: libzip itself would not write the same name twice */
    unsigned char *zip = make_zip(f, "a.npy", npy, npy_size, "b.npy", ZIP_CM_STORE, &size);
    for (size_t k = 0; k + 5 <= size; k++)
        if (memcmp(zip + k, "b.npy", 5) == 0)
            zip[k] = 'a';
    refused("a.npz", zip, size, "two of its members have the same name");
    free(zip);
    refused("a.npz", "PK\3\4 and no more", 16, "zip");
    refused("a.npz", "not a zip at all", 16, "zip");
    /* other members are not arrays and are allowed */
    attsvm_archive *archive;
    attsvm_error err = { 0 };
    zip = make_zip(f, "readme.txt", npy, npy_size, "b.npy", ZIP_CM_DEFLATE, &size);
    assert_ok(read_bytes_as("a.npz", zip, size, &archive, &err), err);
    assert_int_equal(attsvm_archive_count(archive), 1);
    attsvm_archive_free(archive);
    free(zip);
}

static void put_le(unsigned char *at, uint64_t value, int bytes)
{
    for (int k = 0; k < bytes; k++)
        at[k] = (unsigned char)(value >> (8 * k));
}

/* Local header and directory give the same wrong size of a deflated member. */
static void zip_bombs_are_refused_before_memory_is_taken(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    attsvm_archive *archive;
    attsvm_read_settings settings;
    size_t size;
    double *zeros = calloc(1000000, sizeof *zeros);
    attsvm_named_array array = { "X", array_1d(ATTSVM_F64, zeros, 1000000) };
    io_source source = { .name = "X", .array = array.array };
    assert_ok(io_write(files_path(f, "a.npz"), &source, 1, &(io_write_options){ true }, &err), err);
    attsvm_read_settings_init(&settings);
    settings.inflate_limit = 8000127;
    assert_fails(attsvm_archive_open(&archive, f->path, &settings, &err), err, ATTSVM_E_FORMAT,
                 "X: it unpacks to 8000128 bytes, more than inflate_limit = 8000127");
    settings.inflate_limit = 8000128;
    assert_ok(attsvm_archive_open(&archive, f->path, &settings, &err), err);
    attsvm_archive_free(archive);
    settings.inflate_limit = 0;
    assert_fails(attsvm_archive_open(&archive, f->path, &settings, &err), err, ATTSVM_E_ARG,
                 "inflate_limit");
    unsigned char *bytes = files_get(f->path, &size);
    size_t directory = size - 4;
    while (memcmp(bytes + --directory, "PK\1\2", 4) != 0)
        ;
    put_le(bytes + 22, 100000000, 4);
    put_le(bytes + directory + 24, 100000000, 4);
    refused("a.npz", bytes, size, "cannot unpack to the promised 100000000");
    put_le(bytes + 22, 7000000, 4);
    put_le(bytes + directory + 24, 7000000, 4);
    refused("a.npz", bytes, size, "X: it has 7000000 bytes, but its header says");
    free(bytes);
    free(zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_versions_and_spellings_are_read),
        cmocka_unit_test(both_orders_are_brought_to_ours),
        cmocka_unit_test(scalars_and_empty_arrays_are_arrays),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(cut_and_lengthened_files_are_refused),
        cmocka_unit_test_setup_teardown(archives_come_back, files_open, files_close),
        cmocka_unit_test_setup_teardown(same_arrays_make_the_same_bytes, files_open, files_close),
        cmocka_unit_test_setup_teardown(arrays_can_be_produced_while_writing, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(odd_zip_files_are_refused, files_open, files_close),
        cmocka_unit_test_setup_teardown(zip_bombs_are_refused_before_memory_is_taken, files_open,
                                        files_close),
    };
    return cmocka_run_group_tests_name("io npy npz", tests, NULL, NULL);
}
