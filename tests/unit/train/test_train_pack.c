/* Runs in the lanes of vectors: the same result beside any other runs, and as single runs. */
#include "train/train.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 4096 };

/* A random data set with a ReLU head; `plain` units see only the first coordinate. */
typedef struct sample {
    double X[MOST], Z[256], Y[16], v[64], V[1024];
    attsvm_data *data;
} sample;

static sample *make(uint64_t seed, int64_t n, int64_t T, int64_t d, int64_t h, bool plain)
{
    sample *s = calloc(1, sizeof *s);
    assert_non_null(s);
    base_random r = base_random_stream(seed, 0);
    for (int64_t k = 0; k < n * T; k++)
        base_random_sphere(&r, s->X + k * d, d);
    for (int64_t i = 0; i < n; i++) {
        base_random_sphere(&r, s->Z + i * d, d);
        s->Y[i] = base_random_uniform(&r) < 0.5 ? -1 : 1;
    }
    int64_t units = h > 0 ? h : d;
    for (int64_t j = 0; j < units; j++)
        s->v[j] = h > 0 ? 1 : base_random_gauss(&r);
    for (int64_t k = 0; k < h * d; k++)
        s->V[k] = plain && k % d > 0 ? 0 : base_random_gauss(&r);
    for (int64_t k = 0; plain && k < n * T; k++) /* two tokens of each sequence have equal scores */
        s->X[k * d] = k % T < 2 ? 0.5 : s->X[k * d];
    attsvm_named_array arrays[] = { { "X", { s->X, { n, T, d }, 3, ATTSVM_F64 } },
                                    { "Z", { s->Z, { n, d }, 2, ATTSVM_F64 } },
                                    { "Y", { s->Y, { n }, 1, ATTSVM_F64 } },
                                    { "v", { s->v, { units }, 1, ATTSVM_F64 } },
                                    { "V", { s->V, { h, d }, 2, ATTSVM_F64 } } };
    assert_int_equal(attsvm_data_create(&s->data, arrays, h > 0 ? 5 : 4, NULL, NULL), ATTSVM_OK);
    return s;
}

static attsvm_train *run_of(const sample *s, bool relu, int64_t seed, int64_t iters)
{
    attsvm_train_settings settings;
    attsvm_train *run;
    attsvm_train_settings_init(&settings);
    settings.model = ATTSVM_MODEL_W;
    settings.head = relu ? ATTSVM_HEAD_RELU : ATTSVM_HEAD_LINEAR;
    settings.eps = relu ? "2.2e-16" : "";
    settings.init = "uniform:0.3";
    settings.seed = seed;
    settings.iters = iters;
    settings.threads = 1;
    assert_int_equal(attsvm_train_create(&run, s->data, &settings, NULL, NULL, NULL), ATTSVM_OK);
    return run;
}

static void free_sample(sample *s)
{
    attsvm_data_free(s->data);
    free(s);
}

enum { RUNS = 11 };

/* Batches of all runs, in reverse order, of one run, and the ordinary way. */
static void compare(bool relu, int64_t n, int64_t T, int64_t d, bool plain)
{
    const int64_t iters = 1530; /* the direction is compared at 1400 and 1500 */
    sample *s[RUNS];
    attsvm_train *runs[RUNS], *turned[RUNS];
    for (int k = 0; k < RUNS; k++) {
        s[k] = make((uint64_t)k, n, T, d, relu ? d : 0, plain);
        runs[k] = run_of(s[k], relu, k, iters);
        turned[RUNS - 1 - k] = run_of(s[k], relu, k, iters);
        assert_true(train_batch_fits(runs[k], runs[0]));
    }
    assert_int_equal(attsvm_train_run_batch(runs, RUNS, 2, NULL, NULL, NULL), ATTSVM_OK);
    assert_int_equal(attsvm_train_run_batch(turned, RUNS - 1, 1, NULL, NULL, NULL), ATTSVM_OK);
    assert_int_equal(attsvm_train_run_batch(turned + RUNS - 1, 1, 1, NULL, NULL, NULL), ATTSVM_OK);
    for (int k = 0; k < RUNS; k++) {
        attsvm_train *other = turned[RUNS - 1 - k], *plain_run = run_of(s[k], relu, k, iters);
        assert_int_equal(attsvm_train_run(plain_run, NULL, NULL, NULL), ATTSVM_OK);
        size_t bytes = (size_t)(d * d) * sizeof(double);
        assert_memory_equal(runs[k]->theta, other->theta, bytes);
        assert_memory_equal(runs[k]->softmax, other->softmax, (size_t)(n * T) * sizeof(double));
        attsvm_train_info a = attsvm_train_describe(runs[k]);
        attsvm_train_info b = attsvm_train_describe(plain_run);
        assert_int_equal(a.iters, iters);
        assert_int_equal(a.outcome, b.outcome);
        assert_true(fabs(a.norm - b.norm) <= 1e-11 * b.norm);
        if (a.grad_log_scale != b.grad_log_scale) /* -INFINITY if every unit is inactive */
            assert_true(fabs(a.grad_log_scale - b.grad_log_scale) <= 1e-9 * fabs(b.norm));
        assert_true(fabs(a.direction_change - b.direction_change) <= 1e-9);
        for (int64_t j = 0; j < d * d; j++)
            assert_true(fabs(runs[k]->theta[j] - plain_run->theta[j]) <= 1e-11 * b.norm);
        attsvm_train_free(plain_run);
    }
    for (int k = 0; k < RUNS; k++) {
        attsvm_train_free(runs[k]);
        attsvm_train_free(turned[k]);
        free_sample(s[k]);
    }
}

static void packs_of_linear_heads(void **state)
{
    (void)state;
    compare(false, 6, 8, 10, false);
    compare(false, 1, 2, 3, false);
    compare(false, 5, 3, 6, false);
}

static void packs_of_relu_heads(void **state)
{
    (void)state;
    compare(true, 3, 4, 4, false);
    compare(true, 3, 4, 10, false);
}

/* Some tokens share a score, some do not: left to the ordinary way, which keeps second orders. */
static void equal_scores_leave_the_pack(void **state)
{
    (void)state;
    compare(true, 3, 4, 5, true);
}

/* Runs with different work do not share a vector. */
static void only_like_with_like(void **state)
{
    (void)state;
    sample *s = make(1, 3, 4, 5, 5, false);
    attsvm_train *a = run_of(s, true, 0, 10), *b = run_of(s, true, 0, 11);
    attsvm_train *c = run_of(s, false, 0, 10);
    assert_true(train_batch_fits(a, a));
    assert_false(train_batch_fits(a, b));
    assert_false(train_batch_fits(a, c));
    attsvm_train_free(a);
    attsvm_train_free(b);
    attsvm_train_free(c);
    free_sample(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_of_linear_heads),
        cmocka_unit_test(packs_of_relu_heads),
        cmocka_unit_test(equal_scores_leave_the_pack),
        cmocka_unit_test(only_like_with_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
