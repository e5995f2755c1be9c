/*
 * Memory runs out: the first, second, third ... allocation of reading or writing a file fails,
 * until none does.  Every time the call says ATTSVM_E_MEMORY, leaks nothing (the address sanitizer
 * counts) and leaves no file.  The linker puts the functions below in front of the C library's;
 * libzip and jansson keep the real ones.
 */
#include "files.h"

#include <errno.h>

static int64_t left = -1; /* allocations until one fails; -1 = none fails */
static bool failed;
static bool stays; /* after the first failure all allocations fail */

static bool refuse(void)
{
    bool now = left == 0 || (failed && stays);
    if (left >= 0)
        left--;
    failed |= now;
    errno = now ? ENOMEM : errno;
    return now;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

void *__wrap_malloc(size_t size)
{
    return refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return refuse() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return refuse() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return refuse() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return refuse() ? NULL : __real_strndup(text, size);
}

static double X[6] = { 1, 2, 3, 4, 5, 6 };
static int64_t offsets[3] = { 0, 1, 3 }, Y[2] = { 1, -1 };

static void write_all(files *f, const char *name, bool deflate)
{
    static const io_source sources[] = {
        { .name = "X", .array = { X, { 3, 2 }, 2, ATTSVM_F64 } },
        { .name = "offsets", .array = { offsets, { 3 }, 1, ATTSVM_I64 } },
        { .name = "Y", .array = { Y, { 2 }, 1, ATTSVM_I64 } },
    };
    int64_t count = strstr(name, ".npy") ? 1 : 3;
    const char *path = files_path(f, name);
    for (int64_t k = 0;; k++) {
        attsvm_error err = { 0 };
        left = k;
        failed = false;
        attsvm_status status = io_write(path, sources, count, &(io_write_options){ deflate }, &err);
        left = -1;
        bool lacked = failed;
        failed = false;
        if (!lacked) {
            assert_ok(status, err);
            print_message("%s: %" PRId64 " allocations to write\n", name, k);
            return;
        }
        assert_int_equal(status, ATTSVM_E_MEMORY);
        assert_true(err.message[0] != '\0');
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

static void read_all(files *f, const char *name)
{
    const char *path = files_path(f, name);
    for (int64_t k = 0;; k++) {
        attsvm_error err = { 0 };
        attsvm_data *data;
        left = k;
        failed = false;
        attsvm_status status = attsvm_data_read(&data, path, NULL, &err);
        left = -1;
        bool lacked = failed;
        failed = false;
        attsvm_data_free(data);
        if (!lacked) {
            assert_ok(status, err);
            print_message("%s: %" PRId64 " allocations to read\n", name, k);
            return;
        }
        assert_int_equal(status, ATTSVM_E_MEMORY);
        assert_null(data);
    }
}

static void try_all(files *f, bool all_after)
{
    stays = all_after;
    static const char *const names[] = { "a.npz", "b.npz", "a.safetensors", "a.csv" };
    for (int k = 0; k < 4; k++) {
        write_all(f, names[k], k == 1);
        read_all(f, names[k]);
    }
    mkdir(files_path(f, "dir"), 0700);
    write_all(f, "dir/X.npy", false);
    assert_int_equal(files_count(f), 5);
    stays = false;
}

static void every_allocation_may_fail(void **state)
{
    try_all(*state, false);
}

static void every_allocation_from_some_on_may_fail(void **state)
{
    try_all(*state, true);
}

static void json_may_run_out_of_memory(void **state)
{
    files *f = *state;
    const char *path = files_path(f, "a.json");
    for (int64_t k = 0;; k++) {
        attsvm_error err = { 0 };
        left = k;
        failed = false;
        io_json *json = io_json_object();
        io_json_set(json, "text", io_json_text("word"));
        io_json_set(json, "x", io_json_number(0.5));
        attsvm_status status = io_json_write(json, path, &err);
        left = -1;
        bool lacked = failed;
        failed = false;
        io_json_free(json);
        if (!lacked) {
            assert_ok(status, err);
            return;
        }
        assert_int_equal(status, ATTSVM_E_MEMORY);
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, files_open, files_close),
        cmocka_unit_test_setup_teardown(every_allocation_from_some_on_may_fail, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(json_may_run_out_of_memory, files_open, files_close),
    };
    return cmocka_run_group_tests_name("io memory", tests, NULL, NULL);
}
