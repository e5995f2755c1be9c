#include "generated.h"
#include "unit.h"

#include "data/data.h"

/* A named view of a C array. */
#define VIEW(label, values, type, ...)                                                             \
    {                                                                                              \
        label,                                                                                     \
        {                                                                                          \
            values, { __VA_ARGS__ }, sizeof((int64_t[]){ __VA_ARGS__ }) / 8, type                  \
        }                                                                                          \
    }
#define COUNT(arrays) ((int64_t)(sizeof(arrays) / sizeof *(arrays)))

/* Two sequences of three tokens in the plane. */
static double tokens_equal[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
static int8_t labels[2] = { 1, -1 };

static void equal_lengths(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data;
    attsvm_named_array arrays[] = { VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2),
                                    VIEW("Y", labels, ATTSVM_I8, 2),
                                    VIEW("other", labels, ATTSVM_I8, 2) };
    assert_ok(attsvm_data_create(&data, arrays, COUNT(arrays), NULL, &err), err);
    attsvm_data_info info = attsvm_data_describe(data);
    assert_true(info.n == 2 && info.d == 2 && info.tokens == 6 && info.T_min == 3 &&
                info.T_max == 3 && info.storage == ATTSVM_EQUAL && info.dtype == ATTSVM_F64);
    assert_true(info.positive == 1 && info.negative == 1 && info.queries == 0);
    double x[2];
    attsvm_data_token(data, 1, 2, x);
    assert_true(x[0] == 11 && x[1] == 12);
    assert_true(attsvm_data_label(data, 0) == 1 && attsvm_data_label(data, 1) == -1);
    assert_non_null(attsvm_data_array(data, "X"));
    assert_null(attsvm_data_array(data, "other"));
    la_rows rows = data_sequence(data, 1);
    assert_ptr_equal(rows.base, tokens_equal + 6); /* a view, not a copy */
    attsvm_data_free(data);
    attsvm_data_free(NULL);
}

static void ragged_lengths_and_mapped_labels(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data;
    float X[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    int32_t offsets[4] = { 0, 1, 3, 4 };
    double y[3] = { 0, 1, 1 };
    attsvm_named_array arrays[] = { VIEW("X", X, ATTSVM_F32, 4, 2),
                                    VIEW("offsets", offsets, ATTSVM_I32, 4),
                                    VIEW("y", y, ATTSVM_F64, 3) };
    assert_ok(attsvm_data_create(&data, arrays, COUNT(arrays), NULL, &err), err);
    attsvm_data_info info = attsvm_data_describe(data);
    assert_true(info.n == 3 && info.T_min == 1 && info.T_max == 2 && info.dtype == ATTSVM_F32);
    assert_int_equal(attsvm_data_length(data, 1), 2);
    assert_int_equal(attsvm_data_label(data, 0), -1);
    double x[2];
    attsvm_data_token(data, 1, 1, x);
    assert_true(x[0] == 5 && x[1] == 6);
    int64_t first[4];
    data_blocks(data, 3, first);
    assert_true(first[0] == 0 && first[3] == 3 && first[1] <= first[2]);
    attsvm_data_free(data);
}

#define REFUSED(text, ...)                                                                         \
    do {                                                                                           \
        attsvm_error err_;                                                                         \
        attsvm_data *data_ = (attsvm_data *)1;                                                     \
        attsvm_named_array arrays_[] = { __VA_ARGS__ };                                            \
        assert_fails(attsvm_data_create(&data_, arrays_, COUNT(arrays_), NULL, &err_), err_,       \
                     ATTSVM_E_DATA, text);                                                         \
        assert_null(data_);                                                                        \
    } while (0)

/* Sequences of X given by lengths or by the bag of each row. */
static void lengths_and_bags_stand_for_offsets(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data;
    float X[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    int32_t lengths[3] = { 1, 2, 1 };
    int64_t bags[4] = { 7, -3, -3, 5 };
    const attsvm_named_array how[] = { VIEW("lengths", lengths, ATTSVM_I32, 3),
                                       VIEW("bags", bags, ATTSVM_I64, 4) };
    for (int k = 0; k < 2; k++) {
        attsvm_named_array arrays[] = { VIEW("X", X, ATTSVM_F32, 4, 2), how[k] };
        assert_ok(attsvm_data_create(&data, arrays, COUNT(arrays), NULL, &err), err);
        assert_int_equal(attsvm_data_describe(data).n, 3);
        assert_int_equal(attsvm_data_length(data, 1), 2);
        double x[2];
        attsvm_data_token(data, 2, 0, x);
        assert_true(x[0] == 7 && x[1] == 8);
        attsvm_data_free(data);
    }
    int64_t mixed[4] = { 1, 2, 1, 2 }, short_of[2] = { 1, 2 }, none[2] = { 0, 4 };
    REFUSED("bag 1 appears again", VIEW("X", X, ATTSVM_F32, 4, 2),
            VIEW("bags", mixed, ATTSVM_I64, 4));
    REFUSED("lengths add up to 3, but X has 4 rows", VIEW("X", X, ATTSVM_F32, 4, 2),
            VIEW("lengths", short_of, ATTSVM_I64, 2));
    REFUSED("lengths[0] = 0 is not in 1..4", VIEW("X", X, ATTSVM_F32, 4, 2),
            VIEW("lengths", none, ATTSVM_I64, 2));
    REFUSED("bags has shape (3,)", VIEW("X", X, ATTSVM_F32, 4, 2),
            VIEW("bags", mixed, ATTSVM_I64, 3));
    REFUSED("lengths and bags are both present", VIEW("X", X, ATTSVM_F32, 4, 2),
            VIEW("lengths", lengths, ATTSVM_I32, 3), VIEW("bags", bags, ATTSVM_I64, 4));
    REFUSED("did you mean X for x?", VIEW("x", X, ATTSVM_F32, 1, 4, 2));
}

static void table_and_index(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data;
    uint16_t E[6] = { 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600 }; /* 1 2; 3 4; 5 6 */
    uint8_t tokens[5] = { 2, 0, 0, 1, 2 };
    int64_t offsets[3] = { 0, 2, 5 };
    attsvm_named_array arrays[] = { VIEW("E", E, ATTSVM_F16, 3, 2),
                                    VIEW("tokens", tokens, ATTSVM_U8, 5),
                                    VIEW("offsets", offsets, ATTSVM_I64, 3) };
    assert_ok(attsvm_data_create(&data, arrays, COUNT(arrays), NULL, &err), err);
    attsvm_data_info info = attsvm_data_describe(data);
    assert_true(info.vocabulary == 3 && info.storage == ATTSVM_TABLE && info.tokens == 5);
    double x[2];
    attsvm_data_token(data, 1, 2, x);
    assert_true(x[0] == 5 && x[1] == 6);
    attsvm_data_token(data, 0, 1, x);
    assert_true(x[0] == 1 && x[1] == 2);
    assert_int_equal(attsvm_data_label(data, 0), 0);
    attsvm_data_free(data);
}

static void integer_tokens_are_widened_exactly(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data;
    uint8_t pixels[4] = { 0, 255, 7, 9 };
    int32_t wide[4] = { -2147483647, 3, 1 << 30, 5 };
    attsvm_named_array arrays[] = { VIEW("X", pixels, ATTSVM_U8, 1, 2, 2),
                                    VIEW("Z", wide, ATTSVM_I32, 1, 2, 2) };
    assert_ok(attsvm_data_create(&data, arrays, COUNT(arrays), NULL, &err), err);
    assert_int_equal(attsvm_data_describe(data).dtype, ATTSVM_F32);
    assert_int_equal(attsvm_data_describe(data).queries, 2);
    assert_true(attsvm_array_get(attsvm_data_array(data, "Z"), 0) == -2147483647.0);
    double x[2];
    attsvm_data_token(data, 0, 0, x);
    assert_true(x[1] == 255);
    attsvm_data_free(data);
}

/* Arrays in files may begin at any byte. */
static void unaligned_tokens(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data;
    char bytes[sizeof tokens_equal + 1];
    memcpy(bytes + 1, tokens_equal, sizeof tokens_equal);
    attsvm_named_array arrays[] = { VIEW("X", bytes + 1, ATTSVM_F64, 2, 3, 2) };
    assert_ok(attsvm_data_create(&data, arrays, COUNT(arrays), NULL, &err), err);
    double x[2];
    attsvm_data_token(data, 1, 0, x);
    assert_true(x[0] == 7 && x[1] == 8);
    attsvm_data_free(data);
}

/* ------------------------------------------------------------------------ refusals */

static void wrong_shapes(void **state)
{
    (void)state;
    double *x = tokens_equal;
    int64_t o[3] = { 0, 2, 6 };
    int32_t word[2] = { 0, 1 };
    REFUSED("no tokens: expected X (n,T,d)", VIEW("Y", labels, ATTSVM_I8, 2));
    REFUSED("X and E are both present", VIEW("X", x, ATTSVM_F64, 2, 3, 2),
            VIEW("E", x, ATTSVM_F64, 6, 2));
    REFUSED("X has shape (12,)", VIEW("X", x, ATTSVM_F64, 12));
    REFUSED("offsets (n+1)", VIEW("X", x, ATTSVM_F64, 6, 2));
    REFUSED("offsets must not be given", VIEW("X", x, ATTSVM_F64, 2, 3, 2),
            VIEW("offsets", o, ATTSVM_I64, 3));
    REFUSED("at least one sequence", VIEW("X", x, ATTSVM_F64, 0, 3, 2));
    REFUSED("at least one sequence", VIEW("X", x, ATTSVM_F64, 2, 3, 0));
    REFUSED("tokens (N) must index it", VIEW("E", x, ATTSVM_F64, 6, 2));
    REFUSED("tokens has shape (1,2)", VIEW("E", x, ATTSVM_F64, 6, 2),
            VIEW("tokens", word, ATTSVM_I32, 1, 2));
    REFUSED("Z has shape (3,2)", VIEW("X", x, ATTSVM_F64, 2, 3, 2), VIEW("Z", x, ATTSVM_F64, 3, 2));
    REFUSED("Y has shape (1,)", VIEW("X", x, ATTSVM_F64, 2, 3, 2), VIEW("Y", labels, ATTSVM_I8, 1));
    REFUSED("Y and y", VIEW("X", x, ATTSVM_F64, 2, 3, 2), VIEW("Y", labels, ATTSVM_I8, 2),
            VIEW("y", labels, ATTSVM_I8, 2));
    REFUSED("X is given twice", VIEW("X", x, ATTSVM_F64, 2, 3, 2),
            VIEW("X", x, ATTSVM_F64, 2, 3, 2));
    REFUSED("O has shape (5,)", VIEW("X", x, ATTSVM_F64, 2, 3, 2), VIEW("O", x, ATTSVM_F64, 5));
}

static void wrong_offsets(void **state)
{
    (void)state;
    double *x = tokens_equal;
    static const struct {
        int64_t offsets[4];
        const char *message;
    } bad[] = {
        { { 1, 2, 3, 6 }, "offsets[0] = 1 is not 0" },
        { { 0, 4, 3, 6 }, "offsets[2] = 3 is below offsets[1] = 4" },
        { { 0, 3, 3, 6 }, "sequence 1 has no token" },
        { { 0, 2, 3, 7 }, "offsets[3] = 7 is beyond the 6 rows of X" },
        { { 0, 2, 3, 5 }, "offsets[3] = 5, the last, is not the number of rows of X, 6" },
        { { 0, INT64_MAX, 3, 5 }, "offsets[1]" },
        { { 0, -5, 3, 6 }, "offsets[1] = -5 is below" },
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        REFUSED(bad[k].message, VIEW("X", x, ATTSVM_F64, 6, 2),
                VIEW("offsets", bad[k].offsets, ATTSVM_I64, 4));
    double real[2] = { 0, 6 };
    REFUSED("offsets is float64; expected integers", VIEW("X", x, ATTSVM_F64, 6, 2),
            VIEW("offsets", real, ATTSVM_F64, 2));
    uint64_t huge[2] = { 0, UINT64_MAX };
    REFUSED("offsets[1] = 18446744073709551615 is too large", VIEW("X", x, ATTSVM_F64, 6, 2),
            VIEW("offsets", huge, ATTSVM_U64, 2));
}

static void wrong_values(void **state)
{
    (void)state;
    double x[12];
    memcpy(x, tokens_equal, sizeof x);
    x[9] = NAN;
    REFUSED("X[1,1,1] is NaN; tokens must be finite", VIEW("X", x, ATTSVM_F64, 2, 3, 2));
    x[3] = -INFINITY; /* the first bad value is named */
    REFUSED("X[0,1,1] is -infinity", VIEW("X", x, ATTSVM_F64, 2, 3, 2));
    REFUSED("Z[1,1] is -infinity; queries", VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2),
            VIEW("Z", x, ATTSVM_F64, 2, 2));
    int32_t words[3] = { 0, 1, 6 };
    int64_t offsets[2] = { 0, 3 };
    REFUSED("tokens[2] = 6 is not in 0..5", VIEW("E", tokens_equal, ATTSVM_F64, 6, 2),
            VIEW("tokens", words, ATTSVM_I32, 3), VIEW("offsets", offsets, ATTSVM_I64, 2));
    words[1] = -1;
    REFUSED("tokens[1] = -1 is not in", VIEW("E", tokens_equal, ATTSVM_F64, 6, 2),
            VIEW("tokens", words, ATTSVM_I32, 3), VIEW("offsets", offsets, ATTSVM_I64, 2));
    double y[2] = { 1, 2 };
    REFUSED("Y[1] = 2 is not a label", VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2),
            VIEW("Y", y, ATTSVM_F64, 2));
    int8_t mixed[2] = { 0, -1 };
    REFUSED("not both", VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2),
            VIEW("Y", mixed, ATTSVM_I8, 2));
    int64_t ids[2] = { 2, 3 };
    REFUSED("ids[1] = 3 is not in 0..2, the tokens of sequence 1",
            VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2), VIEW("ids", ids, ATTSVM_I64, 2));
    uint8_t sets[6] = { 1, 0, 0, 0, 0, 0 };
    REFUSED("O selects no token of sequence 1", VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2),
            VIEW("O", sets, ATTSVM_U8, 2, 3));
    sets[4] = 3;
    REFUSED("O[1,1] = 3 is neither 0 nor 1", VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2),
            VIEW("O", sets, ATTSVM_U8, 2, 3));
    sets[4] = 1;
    REFUSED("O has shape (3,2); expected one entry for each of the 6 tokens",
            VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2), VIEW("O", sets, ATTSVM_U8, 3, 2));
    REFUSED("Y has shape (1,2); expected one entry", VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2),
            VIEW("Y", y, ATTSVM_F64, 1, 2));
    /* as many queries as tokens, in sequences of one and of three tokens */
    int64_t ragged[3] = { 0, 1, 4 }, per_query[4] = { 0, 2, 2, 0 };
    REFUSED("ids[1] = 2 is not in 0..0, the tokens of sequence 0",
            VIEW("X", tokens_equal, ATTSVM_F64, 4, 2), VIEW("offsets", ragged, ATTSVM_I64, 3),
            VIEW("Z", tokens_equal, ATTSVM_F64, 2, 2, 2), VIEW("ids", per_query, ATTSVM_I64, 2, 2));
}

/* The first of several bad values is named, for any number of threads and any block boundaries. */
static void first_offender_for_any_threads(void **state)
{
    (void)state;
    enum { ROWS = 70000, WIDTH = 8 };
    float *X = calloc((size_t)ROWS * WIDTH, sizeof *X);
    X[500001] = NAN;
    X[500002] = INFINITY;
    X[300003] = INFINITY;
    int64_t offsets[2] = { 0, ROWS };
    attsvm_named_array arrays[] = { VIEW("X", X, ATTSVM_F32, ROWS, WIDTH),
                                    VIEW("offsets", offsets, ATTSVM_I64, 2) };
    for (int64_t threads = 1; threads <= 4; threads++) {
        attsvm_read_settings settings;
        attsvm_read_settings_init(&settings);
        settings.threads = threads;
        attsvm_error err;
        attsvm_data *data;
        assert_fails(attsvm_data_create(&data, arrays, COUNT(arrays), &settings, &err), err,
                     ATTSVM_E_DATA, "X[37500,3] is +infinity");
    }
    free(X);
}

static void named_doubles(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data;
    float v[2] = { 0.5f, 2 };
    attsvm_named_array arrays[] = { VIEW("X", tokens_equal, ATTSVM_F64, 2, 3, 2),
                                    VIEW("v", v, ATTSVM_F32, 2) };
    assert_ok(attsvm_data_create(&data, arrays, COUNT(arrays), NULL, &err), err);
    double *got;
    assert_ok(data_doubles(data, "v", (int64_t[]){ 2 }, 1, &got, &err), err);
    assert_true(got[0] == 0.5 && got[1] == 2);
    free(got);
    assert_fails(data_doubles(data, "v", (int64_t[]){ 3 }, 1, &got, &err), err, ATTSVM_E_DATA,
                 "v has shape (2,); expected (3,)");
    assert_fails(data_doubles(data, "W", (int64_t[]){ 2, 2 }, 2, &got, &err), err, ATTSVM_E_DATA,
                 "Missing array W (2,2)");
    v[1] = NAN;
    assert_fails(data_doubles(data, "v", (int64_t[]){ 2 }, 1, &got, &err), err, ATTSVM_E_DATA,
                 "v[1] is NaN");
    attsvm_data_free(data);
}

/* Ranges of sequences hold about the same number of tokens, whatever the lengths. */
static void blocks_are_cut_by_tokens(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data;
    enum { N = 101 };
    int64_t offsets[N + 1] = { 0 }, first[8];
    for (int i = 0; i < N; i++)
        offsets[i + 1] = offsets[i] + (i == 50 ? 1000 : 1 + i % 7);
    double *X = calloc((size_t)offsets[N], sizeof *X);
    attsvm_named_array arrays[] = { VIEW("X", X, ATTSVM_F64, offsets[N], 1),
                                    VIEW("offsets", offsets, ATTSVM_I64, N + 1) };
    assert_ok(attsvm_data_create(&data, arrays, COUNT(arrays), NULL, &err), err);
    data_blocks(data, 7, first);
    assert_true(first[0] == 0 && first[7] == N);
    for (int b = 0; b < 7; b++) {
        assert_true(first[b] <= first[b + 1]);
        int64_t held = offsets[first[b + 1]] - offsets[first[b]];
        assert_true(held <= offsets[N] / 7 + 1000);
    }
    attsvm_data_free(data);
    free(X);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_lengths),
        cmocka_unit_test(ragged_lengths_and_mapped_labels),
        cmocka_unit_test(lengths_and_bags_stand_for_offsets),
        cmocka_unit_test(table_and_index),
        cmocka_unit_test(integer_tokens_are_widened_exactly),
        cmocka_unit_test(unaligned_tokens),
        cmocka_unit_test(wrong_shapes),
        cmocka_unit_test(wrong_offsets),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(first_offender_for_any_threads),
        cmocka_unit_test(named_doubles),
        cmocka_unit_test(blocks_are_cut_by_tokens),
    };
    return cmocka_run_group_tests_name("data", tests, NULL, NULL);
}
