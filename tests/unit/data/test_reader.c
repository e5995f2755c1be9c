/* Walks over tokens chunk by chunk, from memory and from a file, and views of data sets. */
#include "generated.h"

#include "data/reader.h"

#include <unistd.h>

typedef struct seen {
    int64_t calls;
    int64_t every; /* needs one of so many items */
} seen;

static int64_t some(const void *context, int64_t item)
{
    seen *s = (seen *)context;
    s->calls++;
    return item % s->every != 0 ? DATA_NOTHING : item % 2 ? DATA_ALL : 0;
}

/* Chunks follow each other without gap from lo to end, and each is one sequence or small. */
static void walk(data_reader reader)
{
    const int64_t lo = reader.lo, end = reader.end;
    int64_t next = lo, chunks = 0, item;
    data_reader again = reader;
    while (data_reader_next(&reader)) {
        assert_int_equal(reader.lo, next);
        assert_true(reader.hi > reader.lo && reader.hi <= end);
        next = reader.hi;
        chunks++;
    }
    assert_int_equal(next, end > lo ? end : lo);
    assert_false(data_reader_next(&reader));
    next = lo;
    while (data_reader_each(&again, &item))
        assert_int_equal(item, next++);
    assert_int_equal(next, end > lo ? end : lo);
    assert_true(chunks <= end - lo);
}

static void every_item_has_its_turn_once(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data = generated(ATTSVM_GAUSS, 700, 40, 100, .T_min = 3, .queries = 2, .seed = 3);
    data_terms terms;
    const int32_t modes[] = { 0, ATTSVM_QUERY_GIVEN, ATTSVM_QUERY_ALL };
    for (int64_t lo = 0; lo < data->n; lo += 133)
        walk(data_reader_open(data, lo, data->n));
    walk(data_reader_open(data, 5, 5));
    for (int k = 0; k < 3; k++) {
        assert_ok(data_terms_create(&terms, data, modes[k], 0, &err), err);
        walk(data_reader_terms(&terms, 0, terms.count));
        walk(data_reader_terms(&terms, 7, terms.count - 11));
    }
    attsvm_data_free(data);
}

/* A file of more than one chunk gives the same tokens, whatever subset is needed and in any
   order. */
static void tokens_from_a_file_are_those_in_memory(void **state)
{
    (void)state;
    char file[64];
    attsvm_error err;
    snprintf(file, sizeof file, "/tmp/attsvm-reader-%d.npz", (int)getpid());
    attsvm_data *data = generated(ATTSVM_GAUSS, 9000, 20, 100, .T_min = 7, .seed = 8), *mapped;
    assert_ok(attsvm_archive_write(file, data->arrays, data->count, &err), err);
    attsvm_read_settings settings;
    attsvm_read_settings_init(&settings);
    settings.memory = 1 << 20;
    assert_ok(attsvm_data_read(&mapped, file, &settings, &err), err);
    assert_true(mapped->streams);
    for (int64_t every = 1; every <= 1000; every *= 10) {
        seen s = { .every = every };
        data_reader reader = data_reader_open(mapped, 0, mapped->n);
        int64_t chunks = 0;
        reader.needs = every > 1 ? some : NULL;
        reader.context = &s;
        data_reader_order(mapped, every > 1 ? DATA_IN_RUNS : DATA_IN_ORDER);
        while (data_reader_next(&reader)) {
            chunks++;
            for (int64_t i = reader.lo; i < reader.hi; i += every) {
                la_rows a = data_sequence(data, i), b = data_sequence(mapped, i);
                assert_memory_equal(a.base, b.base, (size_t)(a.count * data_row_bytes(data)));
            }
        }
        assert_true(chunks >= 4 && s.calls >= (every > 1 ? mapped->n : 0));
    }
    data_reader_order(mapped, DATA_BY_ROWS);
    const int64_t list[] = { 3, 4, 5, 100, 8999 };
    data_reader_ahead(mapped, list, 5);
    for (int k = 0; k < 5; k++) {
        data_reader_token_ahead(mapped, list[k], 1);
        la_rows a = data_sequence(data, list[k]), b = data_sequence(mapped, list[k]);
        assert_memory_equal(a.base, b.base, (size_t)(a.count * data_row_bytes(data)));
        data_reader_release_around(mapped, list[k]);
    }
    data_reader_release(mapped, 0, mapped->n);
    attsvm_data_free(mapped);
    attsvm_data_free(data);
    unlink(file);
}

static void a_view_has_the_first_sequences(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_PLANTED_W, 30, 6, 5, .T_min = 2, .queries = 2, .seed = 4);
    data_view view;
    data_view_open(&view, data, 7, true);
    attsvm_data_info info = attsvm_data_describe(&view.data);
    assert_true(info.n == 7 && info.tokens == data_first(data, 7) && info.queries == 2);
    assert_int_equal(info.positive + info.negative, view.data.labels);
    assert_int_equal(view.data.count, data->count);
    for (int64_t i = 0; i < 7; i++) {
        la_rows a = data_sequence(data, i), b = data_sequence(&view.data, i);
        assert_true(a.base == b.base && a.count == b.count);
    }
    attsvm_data_free(data);
}

static void a_view_without_key_map_has_all_else(void **state)
{
    (void)state;
    const double X[] = { 1, 2, 3, 4 }, W[] = { 1, 0, 0, 1 }, v[] = { 1, 1 };
    const attsvm_named_array arrays[] = {
        { "X", { .data = X, .shape = { 1, 2, 2 }, .ndim = 3, .dtype = ATTSVM_F64 } },
        { "W", { .data = W, .shape = { 2, 2 }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "v", { .data = v, .shape = { 2 }, .ndim = 1, .dtype = ATTSVM_F64 } },
    };
    attsvm_data *data;
    attsvm_error err;
    data_view view;
    assert_ok(attsvm_data_create(&data, arrays, 3, NULL, &err), err);
    data_view_open(&view, data, data->n, false);
    assert_null(attsvm_data_array(&view.data, "W"));
    assert_non_null(attsvm_data_array(&view.data, "v"));
    assert_non_null(attsvm_data_array(data, "W"));
    attsvm_data_free(data);
    int64_t known = 0;
    while (data_known_arrays[known])
        known++;
    assert_true(known <= DATA_MOST_ARRAYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_has_its_turn_once),
        cmocka_unit_test(tokens_from_a_file_are_those_in_memory),
        cmocka_unit_test(a_view_has_the_first_sequences),
        cmocka_unit_test(a_view_without_key_map_has_all_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
