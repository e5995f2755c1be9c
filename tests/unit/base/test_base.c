#include "unit.h"

#include "base/base.h"
#include "data/data.h"
#include "experiments/experiments.h"
#include "svm/svm.h"
#include "theory/theory.h"
#include "train/train.h"

/* ---------------------------------------------------------------------- errors */

static void message_keeps_status_and_context(void **state)
{
    (void)state;
    attsvm_error err;
    assert_int_equal(base_fail(&err, ATTSVM_E_DATA, "X[%d] is bad", 3), ATTSVM_E_DATA);
    assert_int_equal(base_fail_in(&err, ATTSVM_E_DATA, "f.npz"), ATTSVM_E_DATA);
    assert_string_equal(err.message, "f.npz: X[3] is bad");
    assert_int_equal(base_fail(NULL, ATTSVM_E_ARG, "nobody listens"), ATTSVM_E_ARG);
    assert_int_equal(base_fail_in(NULL, ATTSVM_E_ARG, "nobody listens"), ATTSVM_E_ARG);
}

static void long_messages_are_cut_not_overrun(void **state)
{
    (void)state;
    attsvm_error err;
    char text[2000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    base_fail(&err, ATTSVM_E_ARG, "%s", text);
    base_fail_in(&err, ATTSVM_E_ARG, text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

/* ---------------------------------------------------------------------- memory */

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    size_t bytes;
    int64_t count;
    assert_false(base_multiply(SIZE_MAX / 2, 3, &bytes));
    assert_true(base_multiply(SIZE_MAX, 0, &bytes));
    assert_false(base_add(SIZE_MAX, 1, &bytes));
    assert_false(base_shape_count((int64_t[]){ INT64_MAX, 2 }, 2, &count));
    assert_false(base_shape_count((int64_t[]){ INT64_MAX, 2, 0 }, 3, &count));
    assert_false(base_shape_count((int64_t[]){ 3, -1 }, 2, &count));
    assert_true(base_shape_count((int64_t[]){ 3, 0, 7 }, 3, &count));
    assert_int_equal(count, 0);
    assert_true(base_shape_count(NULL, 0, &count));
    assert_int_equal(count, 1);
}

/* Elements 1000..1003 of an array whose other elements are not allocated. */
static void part_of_an_array(void **state)
{
    (void)state;
    double memory[4] = { 1, 2, 3, 4 };
    double *x = base_from(memory, 1000, sizeof *memory);
    assert_true(x[1000] == 1 && x[1003] == 4);
    assert_ptr_equal(base_from(x, -1000, sizeof *x), memory);
    assert_null(base_from(NULL, 1000, sizeof *x));
}

/* The published values of FNV-1a; a number goes on where another ended. */
static void digests(void **state)
{
    (void)state;
    assert_true(base_digest(BASE_DIGEST, "", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(base_digest(BASE_DIGEST, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(base_digest(BASE_DIGEST, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    assert_true(base_digest(base_digest(BASE_DIGEST, "foo", 3), "bar", 3) ==
                UINT64_C(0x85944171f73967e8));
}

static void arena_measures_then_hands_out(void **state)
{
    (void)state;
    arena a = { 0 };
    attsvm_error err;
    double *x = NULL;
    int64_t *k = NULL;
    for (int pass = 0; pass < 2; pass++) {
        x = take(&a, 3);
        k = take_int64(&a, 5);
        if (pass == 0) {
            assert_null(x);
            assert_ok(base_arena_allocate(&a, "test", &err), err);
        }
    }
    assert_int_equal((uintptr_t)x % 64, 0);
    assert_int_equal((char *)k - (char *)x, 64);
    assert_true(x[2] == 0 && k[4] == 0);
    free(a.base);

    arena large = { 0 }; /* its large pieces begin at a page */
    for (int pass = 0; pass < 2; pass++) {
        take(&large, 3);
        x = take(&large, 1 << 18);
        k = take_int64(&large, 2);
        if (pass == 0)
            assert_ok(base_arena_allocate(&large, "test", &err), err);
    }
    assert_int_equal((uintptr_t)x % 4096, 0);
    assert_ptr_equal(k, x + (1 << 18));
    assert_true(x[0] == 0 && k[1] == 0);
    free(large.base);

    arena huge = { 0 };
    base_take(&huge, SIZE_MAX / 4, 8);
    assert_fails(base_arena_allocate(&huge, "workspace", &err), err, ATTSVM_E_MEMORY, "workspace");
    void *memory;
    assert_fails(base_allocate(&memory, SIZE_MAX / 4, 8, "table", &err), err, ATTSVM_E_MEMORY,
                 "table");
    assert_null(memory);
}

/* -------------------------------------------------------------------- settings */

/* Every byte of a settings struct belongs to a field of its table, or to its end. */
#define REST(type, first) (sizeof(type) - offsetof(type, first))
static void every_field_has_a_default(void **state)
{
    (void)state;
    const struct {
        const settings_table *table;
        size_t reserved; /* bytes at the end, for growth */
    } all[] = {
        { &attsvm_read_table, REST(attsvm_read_settings, padding) }, /* and comm */
        { &attsvm_generate_table, REST(attsvm_generate_settings, padding) },
        { &attsvm_svm_table, REST(attsvm_svm_settings, padding) },
        { &attsvm_check_table, REST(attsvm_check_settings, padding) },
        { &attsvm_train_table, REST(attsvm_train_settings, padding) },
        { &attsvm_enumerate_table, REST(attsvm_enumerate_settings, reserved) },
        { &attsvm_joint_table, REST(attsvm_joint_settings, reserved) },
        { &experiments_table, sizeof((experiments_settings *)0)->reserved },
        { &attsvm_path_table, REST(attsvm_path_settings, padding) },
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const settings_table *table = all[k].table;
        unsigned char covered[512] = { 0 };
        assert_true(table->size <= sizeof covered);
        for (size_t f = 0; f < table->count; f++)
            for (size_t b = 0; b < table->fields[f].size; b++)
                covered[table->fields[f].offset + b]++;
        for (size_t b = 0; b < table->size - all[k].reserved; b++)
            if (covered[b] != 1)
                fail_msg("%s: byte %zu is in %d fields", table->name, b, covered[b]);

        void *settings = malloc(table->size);
        memset(settings, 0xA5, table->size); /* the sentinel */
        attsvm_settings_init(table, settings);
        attsvm_error err;
        assert_ok(attsvm_settings_check(table, settings, &err), err);
        for (size_t f = 0; f < table->count; f++) {
            char now[128], standard[128];
            base_settings_print(&table->fields[f], settings, now, sizeof now);
            base_settings_print(&table->fields[f], NULL, standard, sizeof standard);
            assert_string_equal(now, standard);
            assert_true(strlen(table->fields[f].meaning) > 0);
        }
        free(settings);
    }
}

typedef struct sample {
    int64_t count;
    double rate;
    const char *name;
    int32_t colour;
    bool loud;
} sample;

static const char *const colours[] = { "red", "dark-green", NULL };
#define SETTINGS sample
static const field sample_fields[] = {
    { F(count), FIELD_INT, 1, 100, 7, "how many", NULL, NULL },
    { F(rate), FIELD_DOUBLE, 0, INFINITY, 0.5, "how fast", NULL, NULL },
    { F(name), FIELD_TEXT, 0, 0, 0, "what", NULL, "none" },
    { F(colour), FIELD_CHOICE, 3, 4, 4, "which", colours, NULL },
    { F(loud), FIELD_BOOL, 0, 1, 1, "whether", NULL, NULL },
};
#undef SETTINGS
static const settings_table sample_table = { "sample", sample_fields, 5, sizeof(sample), NULL };

static void settings_parse_and_refuse(void **state)
{
    (void)state;
    sample s;
    attsvm_error err;
    attsvm_settings_init(&sample_table, &s);
    assert_true(s.count == 7 && s.rate == 0.5 && s.colour == 4 && s.loud);
    assert_string_equal(s.name, "none");

    const field *count = attsvm_settings_find(&sample_table, "count");
    assert_ok(base_settings_set(count, &s, "1e2", &err), err);
    assert_int_equal(s.count, 100);
    static const char *const bad[] = { "",    "x",     "101", "0",  "1.5",
                                       "nan", "1e400", " 3",  "3x", "99999999999999999999" };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(base_settings_set(count, &s, bad[k], &err), ATTSVM_E_ARG);
        assert_non_null(strstr(err.message, "count"));
        assert_int_equal(s.count, 100);
    }
    assert_fails(base_settings_set(count, &s, "101", &err), err, ATTSVM_E_ARG, "1..100");

    char text[32];
    base_settings_print(&(field){ .kind = FIELD_INT, .size = sizeof(int64_t) },
                        &(int64_t){ 6666666666666667 }, text, sizeof text);
    assert_string_equal(text, "6666666666666667");

    const field *rate = attsvm_settings_find(&sample_table, "rate");
    assert_ok(base_settings_set(rate, &s, "1e300", &err), err);
    assert_fails(base_settings_set(rate, &s, "nan", &err), err, ATTSVM_E_ARG, "0 or more");
    assert_fails(base_settings_set(rate, &s, "-1", &err), err, ATTSVM_E_ARG, "rate = -1");

    const field *colour = attsvm_settings_find(&sample_table, "colour");
    assert_ok(base_settings_set(colour, &s, "red", &err), err);
    assert_int_equal(s.colour, 3);
    assert_ok(base_settings_set(colour, &s, "dark_green", &err), err);
    assert_int_equal(s.colour, 4);
    assert_fails(base_settings_set(colour, &s, "blue", &err), err, ATTSVM_E_ARG, "red|dark-green");

    const field *loud = attsvm_settings_find(&sample_table, "loud");
    assert_ok(base_settings_set(loud, &s, "no", &err), err);
    assert_false(s.loud);
    assert_fails(base_settings_set(loud, &s, "perhaps", &err), err, ATTSVM_E_ARG, "loud");

    s.count = 0;
    assert_fails(attsvm_settings_check(&sample_table, &s, &err), err, ATTSVM_E_ARG, "count = 0");
    assert_null(attsvm_settings_find(&sample_table, "absent"));
}

/* -------------------------------------------------------------- random numbers */

/* The known answers that come with the Random123 library, kat_vectors, philox4x32 10. */
static void philox_gives_its_published_vectors(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint32_t out[4];
        base_philox(known[k].counter, known[k].key, out);
        assert_memory_equal(out, known[k].out, sizeof out);
    }
}

static void streams_do_not_depend_on_the_past(void **state)
{
    (void)state;
    base_random a = base_random_stream(5, 9), b = base_random_stream(5, 9);
    uint64_t drawn[10];
    for (int k = 0; k < 10; k++)
        drawn[k] = base_random_bits(&a);
    for (int k = 9; k >= 0; k--) {
        b.next = (uint64_t)k;
        assert_true(base_random_bits(&b) == drawn[k]);
    }
    base_random other = base_random_stream(5, 10);
    assert_true(base_random_bits(&other) != drawn[0]);
}

/* These numbers must never change, on any platform: data sets are named by their seed. */
static void stream_is_frozen(void **state)
{
    (void)state;
    base_random r = base_random_stream(1, 2);
    double u = base_random_uniform(&r), g = base_random_gauss(&r);
    int64_t order[5];
    base_random_permutation(&r, order, 5);
    char text[128];
    snprintf(text, sizeof text, "%a %a %d%d%d%d%d", u, g, (int)order[0], (int)order[1],
             (int)order[2], (int)order[3], (int)order[4]);
    assert_string_equal(text, "0x1.19db8ba7ce681p-1 -0x1.c27b05a2b94cbp+0 34012");
}

static void moments_are_those_of_the_laws(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    base_random r = base_random_stream(42, 0);
    double sum = 0, square = 0, fourth = 0, uniform = 0;
    for (int k = 0; k < COUNT; k++) {
        double g = base_random_gauss(&r), u = base_random_uniform(&r);
        assert_true(u > 0 && u < 1);
        sum += g;
        square += g * g;
        fourth += g * g * g * g;
        uniform += u;
    }
    assert_true(fabs(sum / COUNT) < 0.01);            /* deviation 0.0022 */
    assert_true(fabs(square / COUNT - 1) < 0.015);    /* 0.0032           */
    assert_true(fabs(fourth / COUNT - 3) < 0.1);      /* 0.022            */
    assert_true(fabs(uniform / COUNT - 0.5) < 0.003); /* 0.00065          */
}

/* Phi(quantile(u)) = u through the C library's erfc, in both branches and both tails. */
static void quantile_inverts_the_normal_law(void **state)
{
    (void)state;
    for (int k = -400; k <= 400; k++) {
        double x = k / 50.0, u = 0.5 * erfc(-x * M_SQRT1_2);
        if (u <= 0 || u >= 1)
            continue;
        /* u near 1 carries few digits of x: du = phi(x) dx */
        double slack = 0x1p-52 * u / (exp(-x * x / 2) / sqrt(2 * M_PI));
        assert_true(fabs(base_gauss_quantile(u) - x) <= 4e-15 * (1 + fabs(x)) + slack);
    }
    assert_true(base_gauss_quantile(0.5) == 0);
    assert_true(base_gauss_quantile(0x1p-53) < -8.2);
}

/* A batch of numbers equals the numbers drawn one by one. */
static void filling_is_drawing(void **state)
{
    (void)state;
    for (int start = 0; start < 4; start++)
        for (int count = 0; count < 400; count += 1 + count / 9) {
            base_random a = base_random_stream(8, (uint64_t)count), b;
            double x[400], y[400];
            a.next = (uint64_t)start;
            b = a;
            base_random_gauss_fill(&a, x, count);
            for (int k = 0; k < count; k++)
                y[k] = base_random_gauss(&b);
            assert_memory_equal(x, y, (size_t)count * sizeof *x);
            assert_true(a.next == b.next);
        }
}

static void sphere_and_permutation(void **state)
{
    (void)state;
    base_random r = base_random_stream(7, 7);
    double x[11], square = 0;
    base_random_sphere(&r, x, 11);
    for (int j = 0; j < 11; j++)
        square += x[j] * x[j];
    assert_true(fabs(square - 1) < 1e-15);
    base_random_sphere(&r, x, 1);
    assert_true(fabs(x[0]) == 1);

    enum { SIZE = 1000 };
    int64_t order[SIZE];
    bool seen[SIZE] = { false };
    base_random_permutation(&r, order, SIZE);
    for (int k = 0; k < SIZE; k++) {
        assert_true(order[k] >= 0 && order[k] < SIZE && !seen[order[k]]);
        seen[order[k]] = true;
    }
    int counts[3] = { 0 };
    for (int k = 0; k < 30000; k++)
        counts[base_random_below(&r, 3)]++;
    for (int k = 0; k < 3; k++)
        assert_true(abs(counts[k] - 10000) < 400); /* deviation 82 */
}

/* -------------------------------------------------------------------- parallel */

typedef struct sum_job {
    const double *x;
    int64_t items, blocks;
    double *partial;
} sum_job;

static void sum_block(void *context, int64_t block, int worker)
{
    (void)worker;
    sum_job *job = context;
    int64_t lo, hi;
    base_block(job->items, job->blocks, block, &lo, &hi);
    for (int64_t i = lo; i < hi; i++)
        job->partial[block] += job->x[i];
}

static void sums_are_the_same_bytes_for_any_threads(void **state)
{
    (void)state;
    enum { ITEMS = 10007 };
    double *x = malloc(ITEMS * sizeof *x), first = 0;
    base_random r = base_random_stream(3, 3);
    base_random_gauss_fill(&r, x, ITEMS);
    for (int threads = 1; threads <= 5; threads++) {
        double partial[64] = { 0 }, sum = 0;
        sum_job job = { x, ITEMS, base_blocks(ITEMS, 100), partial };
        base_parallel(threads, job.blocks, sum_block, &job);
        base_reduce(&sum, partial, job.blocks, 1);
        if (threads == 1)
            first = sum;
        assert_memory_equal(&sum, &first, sizeof sum);
    }
    free(x);
}

static void blocks_cover_every_item_once(void **state)
{
    (void)state;
    for (int64_t items = 0; items < 200; items += 13)
        for (int64_t blocks = 1; blocks < 70; blocks++) {
            int64_t next = 0, lo, hi;
            for (int64_t b = 0; b < blocks; b++) {
                base_block(items, blocks, b, &lo, &hi);
                assert_int_equal(lo, next);
                assert_true(hi >= lo && hi - lo <= items / blocks + 1);
                next = hi;
            }
            assert_int_equal(next, items);
        }
    assert_int_equal(base_blocks(0, 10), 1);
    assert_int_equal(base_blocks(1000000, 10), 64);
    assert_true(base_threads(3) == 3 && base_threads(0) == base_cores());
}

/* --------------------------------------------------------------- double-double */

static void double_double_keeps_what_double_loses(void **state)
{
    (void)state;
    dd s = base_dd_sum(1, 0x1p-80);
    assert_true(s.hi == 1 && s.lo == 0x1p-80);
    dd p = base_dd_product(1 + 0x1p-40, 1 - 0x1p-40); /* 1 - 2^-80 */
    assert_true(p.hi == 1 && p.lo == -0x1p-80);
    double x[] = { 1e16, 1, -1e16, 3e-9 }, y[] = { 1, 1, 1, 1 };
    assert_true(base_dd_value(base_dd_dot(x, y, 4)) == 1 + 3e-9);
}

/* Against the 64 bits of long double where it has them; and by undoing each operation. */
static void double_double_operations_undo_each_other(void **state)
{
    (void)state;
    base_random r = base_random_stream(11, 0);
    for (int k = 0; k < 1000; k++) {
        double a = base_random_gauss(&r), b = base_random_gauss(&r);
        dd x = base_dd_sum(a, 1e-18 * b), y = base_dd_sum(b, 1e-18 * a);
        long double xl = (long double)x.hi + x.lo, yl = (long double)y.hi + y.lo;
        dd got[] = { base_dd_add(x, y), base_dd_sub(x, y), base_dd_mul(x, y), base_dd_div(x, y) };
        long double expected[] = { xl + yl, xl - yl, xl * yl, xl / yl };
        for (int j = 0; j < 4; j++) {
            long double value = (long double)got[j].hi + got[j].lo;
            assert_true(fabsl(value - expected[j]) <= 1e-18L * (fabsl(expected[j]) + fabsl(xl)));
        }
        dd square = base_dd_mul(x, x), root = base_dd_sqrt(square);
        dd rest = base_dd_sub(base_dd_mul(root, root), square);
        assert_true(fabs(rest.hi) <= 1e-30 * square.hi);
        dd back = base_dd_sub(base_dd_mul(base_dd_div(x, y), y), x);
        assert_true(fabs(back.hi) <= 1e-30 * fabs(x.hi));
    }
    assert_int_equal(base_dd_compare(base_dd_sum(1, 1e-20), base_dd(1)), 1);
    assert_int_equal(base_dd_compare(base_dd(1), base_dd_sum(1, 1e-20)), -1);
    assert_int_equal(base_dd_compare(base_dd(2), base_dd(2)), 0);
}

static void clock_never_runs_backwards(void **state)
{
    (void)state;
    double before = base_seconds();
    for (int k = 0; k < 1000; k++) {
        double now = base_seconds();
        assert_true(now >= before);
        before = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_keeps_status_and_context),
        cmocka_unit_test(long_messages_are_cut_not_overrun),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(part_of_an_array),
        cmocka_unit_test(digests),
        cmocka_unit_test(arena_measures_then_hands_out),
        cmocka_unit_test(every_field_has_a_default),
        cmocka_unit_test(settings_parse_and_refuse),
        cmocka_unit_test(philox_gives_its_published_vectors),
        cmocka_unit_test(streams_do_not_depend_on_the_past),
        cmocka_unit_test(stream_is_frozen),
        cmocka_unit_test(moments_are_those_of_the_laws),
        cmocka_unit_test(quantile_inverts_the_normal_law),
        cmocka_unit_test(filling_is_drawing),
        cmocka_unit_test(sphere_and_permutation),
        cmocka_unit_test(sums_are_the_same_bytes_for_any_threads),
        cmocka_unit_test(blocks_cover_every_item_once),
        cmocka_unit_test(double_double_keeps_what_double_loses),
        cmocka_unit_test(double_double_operations_undo_each_other),
        cmocka_unit_test(clock_never_runs_backwards),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
