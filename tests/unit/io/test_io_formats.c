/* safetensors, CSV, TSV, directories, and which files can be opened. */
#include "files.h"

/* ------------------------------------------------------------------ safetensors */

static size_t make_safetensors(unsigned char *out, const char *header, const void *data,
                               size_t size)
{
    size_t length = strlen(header);
    for (int k = 0; k < 8; k++)
        out[k] = (unsigned char)(length >> (8 * k));
    memcpy(out + 8, header, length + 1);
    memcpy(out + 8 + length, data, size);
    return 8 + length + size;
}

static void safetensors_are_read(void **state)
{
    (void)state;
    unsigned char bytes[600];
    uint16_t data[6] = { 0x3f80, 0xc049, 1, 2, 0x3c00, 0x0001 };
    size_t size = make_safetensors(
        bytes,
        "{\"__metadata__\": {\"made\": \"by hand\"}, \"late\": {\"dtype\": \"F16\", \"shape\": "
        "[2], "
        "\"data_offsets\": [8, 12]}, \"b\": {\"dtype\": \"BF16\", \"shape\": [1, 2], "
        "\"data_offsets\": [0, 4]}, \"i\": {\"dtype\": \"I32\", \"shape\": [], "
        "\"data_offsets\": [4, 8]}, \"none\": {\"dtype\": \"U8\", \"shape\": [0, 3], "
        "\"data_offsets\": [12, 12]}}   ",
        data, sizeof data);
    attsvm_archive *archive;
    attsvm_error err = { 0 };
    assert_ok(read_bytes_as("any name", bytes, size, &archive, &err), err);
    assert_int_equal(attsvm_archive_count(archive), 4);
    assert_string_equal(attsvm_archive_name(archive, 0), "late");
    const attsvm_array *b = attsvm_archive_find(archive, "b");
    assert_int_equal(b->dtype, ATTSVM_F32);
    assert_true(attsvm_array_get(b, 0) == 1 && attsvm_array_get(b, 1) == -3.140625);
    assert_true(attsvm_array_get(attsvm_archive_find(archive, "i"), 0) == 131073);
    assert_true(attsvm_array_get(attsvm_archive_find(archive, "late"), 0) == 1);
    attsvm_archive_free(archive);
}

#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"a\": {\"dtype\": \"" dtype "\", \"shape\": " shape ", \"data_offsets\": " offsets "}}"
#define TWO(first, second)                                                                         \
    "{\"a\": {\"dtype\": \"U8\", \"shape\": [4], \"data_offsets\": " first                         \
    "}, \"b\": {\"dtype\": \"U8\", \"shape\": [4], \"data_offsets\": " second "}}"

static void bad_safetensors_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header, *message;
    } cases[] = {
        { ENTRY("F64", "[2]", "[0, 8]"), "a: it has 8 bytes, which is not shape (2,)" },
        { ENTRY("F64", "[1]", "[0, 9]"), "not within 0..8" },
        { ENTRY("F64", "[1]", "[8, 0]"), "not within" },
        { ENTRY("F64", "[1]", "[-8, 0]"), "not within" },
        { ENTRY("F32", "[1]", "[0, 4]"), "the tensors have 4 bytes, but 8 follow" },
        { ENTRY("F32", "[1]", "[4, 8]"), "begins at byte 4" },
        { ENTRY("F64", "[-1]", "[0, 8]"), "shape[0]" },
        { ENTRY("F64", "[1.0]", "[0, 8]"), "shape[0]" },
        { ENTRY("F64", "{}", "[0, 8]"), "shape is not a list" },
        { ENTRY("F64", "[1,1,1,1,1,1,1,1,1]", "[0, 8]"), "at most 8" },
        { ENTRY("F64", "[4294967296, 4294967296]", "[0, 8]"), "which is not shape" },
        { ENTRY("F64", "[2305843009213693952]", "[0, 0]"), "which is not shape" },
        { ENTRY("F64", "[1]", "[0, 8, 8]"), "two integers" },
        { ENTRY("F64", "[1]", "[0, \"8\"]"), "two integers" },
        { ENTRY("F64", "[1]", "0"), "two integers" },
        { TWO("[0, 4]", "[2, 6]"), "begins at byte 2" },
        { TWO("[0, 4]", "[0, 4]"), "begins at byte 0, but the one before it ends at 4" },
        { "{\"a\": {\"dtype\": \"F64\", \"shape\": [1]}}", "dtype, shape and data_offsets" },
        { "{\"a\": 3}", "dtype, shape and data_offsets" },
        { "{\"\": {\"dtype\": \"F64\", \"shape\": [1], \"data_offsets\": [0, 8]}}",
          "without a name" },
        { "{\"__metadata__\": 3}", "__metadata__ is not an object" },
        { "{\"__metadata__\": {\"a\": 3}}", "not a text" },
        { "{}", "the tensors have 0 bytes" },
        { "{\"a\": 1, \"a\": 1}", "duplicate" },
        { "{", "JSON, line 1" },
        { "[1]", "does not begin with {" },
        { "", "does not begin with {" },
    };
    unsigned char bytes[600];
    double value = 1;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t size = make_safetensors(bytes, cases[k].header, &value, sizeof value);
        refused("a.safetensors", bytes, size, cases[k].message);
    }
    refused("a.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "limit");
    refused("a.safetensors", "\x03\0\0\0\0\0\0\0{}", 10, "has 3 bytes, the file 10");
    refused("a.safetensors", "\x03\0\0", 3, "fewer");
}

static void safetensors_come_back(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    attsvm_archive *archive;
    uint8_t bytes[3] = { 1, 2, 3 };
    double *doubles = calloc(200000, sizeof *doubles);
    doubles[199999] = 0.5;
    attsvm_named_array arrays[] = { { "bytes \"\xc3\xa9\"", array_1d(ATTSVM_U8, bytes, 3) },
                                    { "doubles", array_2d(ATTSVM_F64, doubles, 1000, 200) } };
    assert_ok(attsvm_archive_write(files_path(f, "a.safetensors"), arrays, 2, &err), err);
    assert_ok(attsvm_archive_open(&archive, f->path, NULL, &err), err);
    assert_int_equal(attsvm_archive_count(archive), 2);
    for (int k = 0; k < 2; k++) {
        assert_string_equal(attsvm_archive_name(archive, k), arrays[k].name);
        assert_true(same_array(attsvm_archive_array(archive, k), &arrays[k].array));
    }
    assert_true(attsvm_archive_is_mapped(archive, 1));
    assert_int_equal((uintptr_t)attsvm_archive_array(archive, 1)->data % 8, 0);
    attsvm_archive_free(archive);
    arrays[0].name = "__metadata__";
    assert_fails(attsvm_archive_write(files_path(f, "b.safetensors"), arrays, 2, &err), err,
                 ATTSVM_E_ARG, "__metadata__");
    assert_int_equal(files_count(f), 1);
    free(doubles);
}

/* ------------------------------------------------------------------ CSV and TSV */

static attsvm_archive *read_table(const char *name, const char *text)
{
    attsvm_archive *archive;
    attsvm_error err = { 0 };
    assert_ok(read_bytes_as(name, text, strlen(text), &archive, &err), err);
    return archive;
}

static void tables_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *bags;
    } cases[] = {
        { "a.csv", "one,1,0.5,2\none,1,-3e2,4\n\"t\"\"w,o\",-1,5,6\n", "one\nt\"w,o\n" },
        { "a.csv", "0,1,0.5,2\n0,1,-3e2,4\n1,-1,5,6\n", NULL },
        { "a.csv", "bag;label;x;y\none;1;0.5;2\none;1;-3e2;4\ntwo;-1;5;6", "one\ntwo\n" },
        { "a.csv", ",bag,label,x,y\n0,one,1,0.5,2\n1,one,1,-3e2,4\n2,two,-1,5,6", "one\ntwo\n" },
        { "a.csv", "bag,label,x,y\none,1,0.5,2\none,1,-3e2,4\ntwo,-1,5,6", "one\ntwo\n" },
        { "a.csv", "bag,label,0,1\r\none,1,0.5,2\r\n\"one\",1,-300, 4 \r\n\r\ntwo,-1,5,6\r\n\r\n",
          "one\ntwo\n" },
        { "a.csv", "\xef\xbb\xbf\"multi\nline\",+1,.5,2\n\"multi\nline\",1,-300.,4\ntwo,-1.0,5,6\n",
          "multi line\ntwo\n" },
        { "a.tsv", "one, really\t1\t0.5\t2\none, really\t1\t-300\t4\n\t-1\t5\t6\n",
          "one, really\n\n" },
    };
    double X[6] = { 0.5, 2, -300, 4, 5, 6 };
    int64_t offsets[3] = { 0, 2, 3 };
    int8_t Y[2] = { 1, -1 };
    attsvm_array expected[] = { array_2d(ATTSVM_F64, X, 3, 2), array_1d(ATTSVM_I64, offsets, 3),
                                array_1d(ATTSVM_I8, Y, 2) };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_archive *archive = read_table(cases[k].name, cases[k].text);
        const attsvm_array *bags = attsvm_archive_find(archive, "bag_names");
        assert_int_equal(attsvm_archive_count(archive), cases[k].bags ? 4 : 3);
        if (cases[k].bags) {
            assert_int_equal(attsvm_array_count(bags), strlen(cases[k].bags));
            assert_memory_equal(bags->data, cases[k].bags, strlen(cases[k].bags));
        }
        assert_true(same_array(attsvm_archive_find(archive, "X"), &expected[0]));
        assert_true(same_array(attsvm_archive_find(archive, "offsets"), &expected[1]));
        assert_true(same_array(attsvm_archive_find(archive, "Y"), &expected[2]));
        attsvm_archive_free(archive);
    }
}

static void bad_tables_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "a,1,2\nb,1,3\na,1,4\n", "line 3: bag 'a' appears again after other bags; sort" },
        { "a,1,2\na,0,3\n", "line 2: bag 'a' has label 0, but 1 in line 1" },
        { "a,1,2\nb,1,3,4\n", "line 2 has 4 columns, the lines before it 3" },
        { "a,1,2\nb,1\n", "line 2 has 2 columns" },
        { "a,1,\n", "line 1, column 3: the field is empty" },
        { "a,1,2\nb,1,nan\n", "line 2, column 3: 'nan' is not a finite number" },
        { "a,1,2\nb,1,1e999\n", "line 2, column 3: '1e999'" },
        { "a,1,2\nb,1,0x1p3\n", "'0x1p3'" },
        { "a,2,3\n", "line 1: label 2" },
        { "a,x,3\n", "line 1, column 2: 'x'" },
        { "a,0.5,3\n", "label 0.5" },
        { "a,NaN,-inf\nb,1,2\n", "line 1, column 2: 'NaN'" },
        { "a,1\n", "line 1 has 2 columns; expected bag, label" },
        { "bag,label,x\n", "titles but no rows" },
        { "bag,x,label\na,1,2\n", "column 3 has the title of a label" },
        { "\n\n", "there is no row" },
        { "\"a,1,2\n", "line 1: a quoted field does not end" },
        { "\"a\"b,1,2\n", "line 1: text follows" },
        { "a\"b,1,2\n", "line 1: a stray quote" },
        { "a,1,2\rb,1,3\n", "carriage return" },
        { "\"x\ny\",1,2\nb,1,z\n", "line 3, column 3" },
        { "a,1,2\n\n\n\nb,1,\x1b[31m\n", "line 5, column 3: '\\x1b[31m'" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        refused("a.csv", cases[k].text, strlen(cases[k].text), cases[k].message);
    refused("a.csv", "a\0b,1,2\n", 8, "zero byte");
    refused("a.csv", "\"a\0b\",1,2\n", 10, "zero byte");
}

/* Element types that attsvm lacks: an error in an array of a data set, ignored elsewhere. */
static void foreign_tensors_are_left_out(void **state)
{
    (void)state;
    static const char header[] =
        "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[0,2]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}";
    unsigned char bytes[8 + sizeof header + 2] = { sizeof header - 1 };
    memcpy(bytes + 8, header, sizeof header - 1);
    attsvm_archive *archive;
    attsvm_error err = { 0 };
    assert_ok(read_bytes_as("a.safetensors", bytes, sizeof bytes, &archive, &err), err);
    assert_int_equal(attsvm_archive_count(archive), 1);
    assert_string_equal(attsvm_archive_name(archive, 0), "b");
    assert_int_equal(archive->foreign_count, 1);
    assert_string_equal(archive->foreign[0], "a");
    attsvm_archive_free(archive);
    bytes[8 + 2] = 'X';
    refused("a.safetensors", bytes, sizeof bytes, "X: its dtype 'F8_E4M3' is not one of");
}

static void tables_come_back_exactly(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    enum { N = 500, D = 7, BAGS = 41 };
    static double X[N * D];
    int64_t offsets[BAGS + 1];
    int8_t Y[BAGS];
    base_random r = base_random_stream(3, 0);
    for (int k = 0; k < N * D; k++)
        X[k] = base_random_gauss(&r) * pow(10, 20 * base_random_uniform(&r) - 10);
    X[5] = 5e-324;
    X[6] = -0.0;
    X[7] = 1.7976931348623157e308;
    for (int i = 0; i < BAGS; i++) {
        offsets[i] = 12 * i;
        Y[i] = i % 3 ? 1 : -1;
    }
    offsets[BAGS] = N;
    attsvm_named_array arrays[] = { { "X", array_2d(ATTSVM_F64, X, N, D) },
                                    { "Y", array_1d(ATTSVM_I8, Y, BAGS) },
                                    { "offsets", array_1d(ATTSVM_I64, offsets, BAGS + 1) } };
    static const char *const names[] = { "a.csv", "a.tsv" };
    for (int k = 0; k < 2; k++) {
        attsvm_archive *archive;
        assert_ok(attsvm_archive_write(files_path(f, names[k]), arrays, 3, &err), err);
        assert_ok(attsvm_archive_open(&archive, f->path, NULL, &err), err);
        for (int m = 0; m < 3; m++)
            assert_true(same_array(attsvm_archive_find(archive, arrays[m].name), &arrays[m].array));
        attsvm_archive_free(archive);
    }
    /* (n,T,d) becomes rows */
    attsvm_archive *archive;
    attsvm_array equal = { .data = X, .shape = { 10, 50, D }, .ndim = 3, .dtype = ATTSVM_F64 };
    arrays[0].array = equal;
    arrays[1].array = array_1d(ATTSVM_I8, Y, 10);
    assert_ok(attsvm_archive_write(files_path(f, "b.csv"), arrays, 2, &err), err);
    assert_ok(attsvm_archive_open(&archive, f->path, NULL, &err), err);
    assert_memory_equal(attsvm_archive_find(archive, "X")->data, X, sizeof X);
    assert_true(attsvm_array_get(attsvm_archive_find(archive, "offsets"), 3) == 150);
    attsvm_archive_free(archive);
}

static void what_is_no_table_is_not_written_as_one(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    double X[4] = { 1, 2, 3, 4 };
    int64_t offsets[3] = { 0, 1, 2 }, Y[2] = { 1, -1 };
    attsvm_named_array whole[] = { { "X", array_2d(ATTSVM_F64, X, 2, 2) },
                                   { "Y", array_1d(ATTSVM_I64, Y, 2) },
                                   { "offsets", array_1d(ATTSVM_I64, offsets, 3) },
                                   { "v", array_1d(ATTSVM_F64, X, 2) } };
    const char *path = files_path(f, "a.csv");
    assert_fails(attsvm_archive_write(path, whole, 4, &err), err, ATTSVM_E_ARG, "not 'v'");
    assert_fails(attsvm_archive_write(path, whole, 1, &err), err, ATTSVM_E_ARG, "needs labels Y");
    assert_fails(attsvm_archive_write(path, whole + 1, 2, &err), err, ATTSVM_E_ARG, "needs tokens");
    assert_fails(attsvm_archive_write(path, whole, 2, &err), err, ATTSVM_E_ARG, "offsets (n+1)");
    X[3] = NAN;
    assert_fails(attsvm_archive_write(path, whole, 3, &err), err, ATTSVM_E_ARG, "X, element 3");
    X[3] = 4;
    Y[1] = 7;
    assert_fails(attsvm_archive_write(path, whole, 3, &err), err, ATTSVM_E_ARG, "Y[1] = 7");
    Y[1] = ((int64_t)1 << 53) + 2;
    assert_fails(attsvm_archive_write(path, whole, 3, &err), err, ATTSVM_E_ARG, "up to 2^53");
    Y[1] = -1;
    offsets[1] = 0;
    assert_fails(attsvm_archive_write(path, whole, 3, &err), err, ATTSVM_E_ARG, "offsets[1] = 0");
    offsets[1] = 2;
    assert_fails(attsvm_archive_write(path, whole, 3, &err), err, ATTSVM_E_ARG, "offsets[2] = 2");
    whole[1].array.shape[0] = 1;
    assert_fails(attsvm_archive_write(path, whole, 3, &err), err, ATTSVM_E_ARG, "1 label for 2");
    assert_int_equal(files_count(f), 0);
}

/* ---------------------------------------------------------- paths and directories */

static void what_cannot_be_opened_is_named(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    attsvm_archive *archive;
    assert_fails(attsvm_archive_open(&archive, "/no/such.npz", NULL, &err), err, ATTSVM_E_OPEN,
                 "/no/such.npz: cannot open the file: No such file");
    assert_null(archive);
    assert_fails(attsvm_archive_open(&archive, "", NULL, &err), err, ATTSVM_E_ARG, "empty");
    assert_fails(attsvm_archive_open(&archive, NULL, NULL, &err), err, ATTSVM_E_ARG, "empty");
    assert_fails(attsvm_archive_open(&archive, "/dev/zero", NULL, &err), err, ATTSVM_E_OPEN,
                 "not a regular file");
    assert_int_equal(mkfifo(files_path(f, "pipe.npz"), 0600), 0);
    assert_fails(attsvm_archive_open(&archive, f->path, NULL, &err), err, ATTSVM_E_OPEN,
                 "not a regular file");
    files_put(f, "empty.npz", "", 0);
    assert_fails(attsvm_archive_open(&archive, f->path, NULL, &err), err, ATTSVM_E_FORMAT,
                 "empty.npz: the file is empty");
    files_put(f, "odd.txt", "hello", 5);
    assert_fails(attsvm_archive_open(&archive, f->path, NULL, &err), err, ATTSVM_E_FORMAT,
                 "neither the content nor the name");
    char longer[2000]; /* a long path is shown by its end, and the reason in full */
    memset(longer, 'd', sizeof longer);
    memcpy(longer + sizeof longer - 7, "/a.npz", 7);
    assert_fails(attsvm_archive_open(&archive, longer, NULL, &err), err, ATTSVM_E_OPEN,
                 "d/a.npz: cannot open the file: File name too long");
    assert_int_equal(attsvm_archive_count(NULL), 0);
    attsvm_archive_free(NULL);
}

static void a_directory_of_npy_is_an_archive(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    attsvm_archive *archive;
    double *values = calloc(200000, sizeof *values);
    attsvm_named_array array = { "ignored", array_1d(ATTSVM_F64, values, 3) };
    assert_fails(attsvm_archive_open(&archive, f->directory, NULL, &err), err, ATTSVM_E_FORMAT,
                 "no .npy file");
    assert_ok(attsvm_archive_write(files_path(f, "b.npy"), &array, 1, &err), err);
    array.array.shape[0] = 200000;
    assert_ok(attsvm_archive_write(files_path(f, "a.npy"), &array, 1, &err), err);
    files_put(f, "note.txt", "not an array", 12);
    assert_ok(attsvm_archive_open(&archive, f->directory, NULL, &err), err);
    assert_int_equal(attsvm_archive_count(archive), 2);
    assert_string_equal(attsvm_archive_name(archive, 0), "a");
    assert_string_equal(attsvm_archive_name(archive, 1), "b");
    assert_true(attsvm_archive_is_mapped(archive, 0));
    assert_false(attsvm_archive_is_mapped(archive, 1));
    assert_int_equal(attsvm_array_count(attsvm_archive_find(archive, "b")), 3);
    attsvm_archive_free(archive);
    files_put(f, "c.npy", "broken", 6);
    assert_fails(attsvm_archive_open(&archive, f->directory, NULL, &err), err, ATTSVM_E_FORMAT,
                 "c.npy: it has 6 bytes");
    files_put(f, "c.npy", "", 0);
    assert_fails(attsvm_archive_open(&archive, f->directory, NULL, &err), err, ATTSVM_E_FORMAT,
                 "c.npy: the file is empty");
    assert_int_equal(unlink(files_path(f, "c.npy")), 0);
    assert_int_equal(mkdir(files_path(f, "c.npy"), 0700), 0);
    assert_fails(attsvm_archive_open(&archive, f->directory, NULL, &err), err, ATTSVM_E_OPEN,
                 "c.npy: it is a directory");
    free(values);
}

static void bad_arrays_are_not_written(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    double x[2] = { 1, 2 };
    attsvm_named_array good = { "X", array_1d(ATTSVM_F64, x, 2) };
    attsvm_named_array two[2] = { good, good };
    const char *path = files_path(f, "a.npz");
    assert_fails(attsvm_archive_write(path, two, 2, &err), err, ATTSVM_E_ARG, "the name 'X'");
    assert_fails(attsvm_archive_write(path, two, 0, &err), err, ATTSVM_E_ARG, "no array to write");
    two[0].name = "";
    assert_fails(attsvm_archive_write(path, two, 1, &err), err, ATTSVM_E_ARG, "no name");
    two[0].name = "\xff";
    assert_fails(attsvm_archive_write(path, two, 1, &err), err, ATTSVM_E_ARG, "UTF-8");
    two[0] = good;
    two[0].array.dtype = (attsvm_dtype)99;
    assert_fails(attsvm_archive_write(path, two, 1, &err), err, ATTSVM_E_ARG,
                 "arrays[0] (X): dtype = 99");
    two[0] = good;
    two[0].array.ndim = 9;
    assert_fails(attsvm_archive_write(path, two, 1, &err), err, ATTSVM_E_ARG,
                 "arrays[0] (X): ndim = 9 is not in 0..8");
    two[0] = good;
    two[0].array.shape[0] = -2;
    assert_fails(attsvm_archive_write(path, two, 1, &err), err, ATTSVM_E_ARG, "negative");
    two[0] = good;
    two[0].array.data = NULL;
    assert_fails(attsvm_archive_write(path, two, 1, &err), err, ATTSVM_E_ARG,
                 "arrays[0] (X): data is NULL");
    assert_fails(attsvm_archive_write(files_path(f, "a.txt"), &good, 1, &err), err, ATTSVM_E_ARG,
                 "a.txt: the name ends in none of");
    two[0] = good;
    two[1].name = "Y";
    assert_fails(attsvm_archive_write(files_path(f, "a.npy"), two, 2, &err), err, ATTSVM_E_ARG,
                 "holds one array, not 2");
    assert_int_equal(files_count(f), 0);
}

static void a_data_set_names_its_file_in_errors(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    attsvm_data *data;
    double X[4] = { 1, 2, 3, NAN };
    attsvm_array equal = { .data = X, .shape = { 1, 2, 2 }, .ndim = 3, .dtype = ATTSVM_F64 };
    attsvm_named_array array = { "X", equal };
    assert_ok(attsvm_archive_write(files_path(f, "a.npz"), &array, 1, &err), err);
    assert_fails(attsvm_data_read(&data, f->path, NULL, &err), err, ATTSVM_E_DATA, "a.npz: X[");
    assert_null(data);
    X[3] = 4;
    assert_ok(attsvm_archive_write(files_path(f, "a.npz"), &array, 1, &err), err);
    assert_ok(attsvm_data_read(&data, f->path, NULL, &err), err);
    double x[2];
    attsvm_data_token(data, 0, 1, x);
    assert_true(x[0] == 3 && x[1] == 4);
    attsvm_data_free(data);
    attsvm_generate_settings settings;
    attsvm_generate_settings_init(&settings);
    attsvm_generator *generator;
    assert_ok(attsvm_generator_create(&generator, &settings, &err), err);
    assert_ok(attsvm_generator_write(generator, files_path(f, "g.npz"), false, NULL, NULL, &err),
              err);
    attsvm_generator_free(generator);
    assert_ok(attsvm_data_read(&data, f->path, NULL, &err), err);
    assert_int_equal(attsvm_data_describe(data).n, settings.n);
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safetensors_are_read),
        cmocka_unit_test(bad_safetensors_are_refused),
        cmocka_unit_test_setup_teardown(safetensors_come_back, files_open, files_close),
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(foreign_tensors_are_left_out),
        cmocka_unit_test_setup_teardown(tables_come_back_exactly, files_open, files_close),
        cmocka_unit_test_setup_teardown(what_is_no_table_is_not_written_as_one, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(what_cannot_be_opened_is_named, files_open, files_close),
        cmocka_unit_test_setup_teardown(a_directory_of_npy_is_an_archive, files_open, files_close),
        cmocka_unit_test_setup_teardown(bad_arrays_are_not_written, files_open, files_close),
        cmocka_unit_test_setup_teardown(a_data_set_names_its_file_in_errors, files_open,
                                        files_close),
    };
    return cmocka_run_group_tests_name("io formats", tests, NULL, NULL);
}
