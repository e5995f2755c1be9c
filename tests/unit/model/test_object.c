/* The model as an object: values and gradients at given parameters, and mistakes of callers. */
#include "generated.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static attsvm_train_settings settings_of(int32_t model)
{
    attsvm_train_settings s;
    attsvm_train_settings_init(&s);
    s.model = model;
    s.threads = 1;
    return s;
}

static attsvm_model *object(const attsvm_data *data, const attsvm_train_settings *s)
{
    attsvm_error err;
    attsvm_model *m;
    assert_ok(attsvm_model_create(&m, data, s, NULL, NULL, &err), err);
    return m;
}

/* Central differences of the loss, array by array. */
static void gradient_is_the_slope(void **state)
{
    (void)state;
    static const int32_t kinds[] = { ATTSVM_MODEL_P,  ATTSVM_MODEL_W,   ATTSVM_MODEL_KQ,
                                     ATTSVM_MODEL_VP, ATTSVM_MODEL_VPW, ATTSVM_MODEL_VKQ };
    attsvm_data *data = generated(ATTSVM_GAUSS, 5, 4, 3, .queries = 1, .seed = 2);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        attsvm_train_settings s = settings_of(kinds[k]);
        attsvm_model *m = object(data, &s);
        attsvm_model_info info = attsvm_model_describe(m);
        attsvm_error err;
        double theta[32], gradient[32];
        attsvm_evaluation at, up, down;
        assert_true(info.size <= 32 && info.n == 5 && info.cells == 20);
        for (int64_t j = 0; j < info.size; j++)
            theta[j] = cos((double)(3 * j + 1));
        assert_ok(attsvm_model_evaluate(m, theta, &at, gradient, &err), err);
        double square = 0; /* of the attention parameters: K and Q themselves, not K Q' */
        for (int64_t b = 0; b < info.parameters; b++) {
            attsvm_parameter p = attsvm_model_parameter(m, b);
            assert_int_equal(p.count, p.rows * p.columns);
            for (int64_t j = p.offset; j < p.offset + p.count; j++) {
                const double h = 1e-5, was = theta[j];
                theta[j] = was + h;
                assert_ok(attsvm_model_evaluate(m, theta, &up, NULL, &err), err);
                theta[j] = was - h;
                assert_ok(attsvm_model_evaluate(m, theta, &down, NULL, &err), err);
                theta[j] = was;
                double slope = (up.loss - down.loss) / (2 * h);
                assert_true(fabs(slope - exp(at.log_scale[b]) * gradient[j]) < 1e-8);
                square += p.name[0] == 'v' ? 0 : slope * slope;
            }
        }
        assert_true(isnan(up.grad_log_scale));
        assert_true(fabs(exp(at.grad_log_scale) - sqrt(square)) < 1e-7);
        assert_null(attsvm_model_parameter(m, info.parameters).name);
        attsvm_model_free(m);
    }
    attsvm_data_free(data);
}

/* Softmax and logits agree with each other, the selection and the run. */
static void attention_and_training(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data = generated(ATTSVM_GAUSS, 8, 5, 12, .T_min = 3, .seed = 4);
    attsvm_train_settings s = settings_of(ATTSVM_MODEL_W);
    s.query = ATTSVM_QUERY_CAUSAL;
    s.iters = 50;
    attsvm_train *run;
    assert_ok(attsvm_train_create(&run, data, &s, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(run, NULL, NULL, &err), err);
    attsvm_train_info end = attsvm_train_describe(run);
    const double *W = attsvm_train_find(run, "W")->data;
    const int64_t *ids = attsvm_train_find(run, "ids")->data;
    const double *softmax = attsvm_train_find(run, "softmax")->data;
    attsvm_model *m = object(data, &s);
    attsvm_model_info info = attsvm_model_describe(m);
    attsvm_evaluation at;
    double gradient[144], map[144];
    int64_t *alpha = calloc((size_t)info.terms, sizeof *alpha);
    double *a = calloc((size_t)info.cells, sizeof *a), *p = calloc((size_t)info.cells, sizeof *p);
    assert_ok(attsvm_model_evaluate(m, W, &at, gradient, &err), err);
    assert_true(at.loss == end.loss && at.loss_excess == end.loss_excess && at.norm == end.norm);
    assert_true(at.grad_log_scale == end.grad_log_scale && at.margin == end.margin);
    assert_ok(attsvm_model_select(m, W, alpha, &err), err);
    assert_memory_equal(alpha, ids, (size_t)info.terms * sizeof *ids);
    assert_ok(attsvm_model_softmax(m, W, p, &err), err);
    assert_memory_equal(p, softmax, (size_t)info.cells * sizeof *p);
    assert_ok(attsvm_model_logits(m, W, a, &err), err);
    double hidden = 0;
    for (int64_t c = 0; c < info.cells; c++)
        hidden += p[c] == 0 && a[c] == -INFINITY;
    assert_true(hidden > 0 && !isinf(a[0]));
    assert_ok(attsvm_model_map(m, W, map, &err), err);
    assert_memory_equal(map, W, sizeof map);
    free(alpha);
    free(a);
    free(p);
    attsvm_model_free(m);
    attsvm_train_free(run);
    attsvm_data_free(data);
}

/* Where softmax entries round to 1, the gradient still has the right direction (theory 2.1). */
static void direction_at_saturation(void **state)
{
    (void)state;
    static double X[] = { 1, 0, 0, 1, -1, .5 }, Y[] = { 1 };
    static double scores[] = { 1, -.3, .4 };
    attsvm_error err;
    attsvm_data *data;
    /* scores of the example of theory 2.1 by the head v = e_3 of three coordinates */
    double X3[9];
    for (int t = 0; t < 3; t++) {
        X3[3 * t] = X[2 * t];
        X3[3 * t + 1] = X[2 * t + 1];
        X3[3 * t + 2] = scores[t];
    }
    double v3[] = { 0, 0, 1 };
    attsvm_named_array arrays[] = { { "X", { X3, { 1, 3, 3 }, 3, ATTSVM_F64 } },
                                    { "v", { v3, { 3 }, 1, ATTSVM_F64 } },
                                    { "Y", { Y, { 1 }, 1, ATTSVM_F64 } } };
    assert_ok(attsvm_data_create(&data, arrays, 3, NULL, &err), err);
    attsvm_train_settings s = settings_of(ATTSVM_MODEL_P);
    s.loss = "linear";
    attsvm_model *m = object(data, &s);
    double p[] = { 60, -20, 0 }, g[3];
    attsvm_evaluation at;
    assert_ok(attsvm_model_evaluate(m, p, &at, g, &err), err);
    double scale = exp(at.log_scale[0]);
    /* margin 80: exp(-80) 1.3 (1, -1) to the leading order */
    assert_true(fabs(-scale * g[0] / 2.35e-35 - 1) < 1e-2);
    assert_true(fabs(-scale * g[1] / -2.35e-35 - 1) < 1e-2);
    attsvm_model_free(m);
    attsvm_data_free(data);
}

/* Comparing a run with the solution of its own selection agrees with its verdict. */
static void comparison_is_the_verdict(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data = generated(ATTSVM_PLANTED_P, 8, 5, 12, .seed = 4);
    attsvm_train_settings s = settings_of(ATTSVM_MODEL_P);
    attsvm_train *run;
    attsvm_verdict verdict;
    attsvm_solution *solution;
    attsvm_comparison c;
    assert_ok(attsvm_train_create(&run, data, &s, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(run, NULL, NULL, &err), err);
    assert_ok(attsvm_verdict_compute(&verdict, run, NULL, NULL, NULL, &solution, &err), err);
    int64_t count;
    const double *theta = attsvm_train_theta(run, &count);
    assert_ok(attsvm_solution_compare(&c, solution, data, theta, count, &err), err);
    assert_true(c.correlation == verdict.correlation && c.efficiency == verdict.efficiency);
    assert_true(c.angle == verdict.angle && c.norm == verdict.norm && c.margin > 0);
    attsvm_claim claim = attsvm_solution_claim(solution);
    assert_ok(attsvm_solution_compare(&c, solution, data, claim.theta, count, &err), err);
    assert_true(fabs(c.correlation - 1) < 1e-14 && fabs(c.efficiency - 1) < 1e-9);
    assert_true(fabs(c.margin - 1) < 1e-9 && c.angle < 1e-6);
    assert_int_equal(attsvm_solution_compare(&c, solution, data, theta, 3, &err), ATTSVM_E_ARG);
    attsvm_solution_free(solution);
    attsvm_train_free(run);
    attsvm_data_free(data);
}

/* ------------------------------------------------------------- callers' functions */

static double nan_from(void *context, double u, double *slope)
{
    *slope = -exp(-u);
    return u > *(double *)context ? NAN : exp(-u);
}

static double rises(void *context, double u, double *slope)
{
    (void)context;
    *slope = 2 * u;
    return u * u;
}

static double falls_but_says_it_rises(void *context, double u, double *slope)
{
    (void)context;
    *slope = 1;
    return -u;
}

static double nan_head(void *context, const double *u, int64_t d, double *gradient)
{
    (void)context;
    for (int64_t j = 0; j < d; j++)
        gradient[j] = 1;
    return u[0] > -1e300 ? NAN : 0;
}

static void faults_of_callers(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data = generated(ATTSVM_GAUSS, 5, 4, 3, .seed = 2);
    attsvm_train_settings s = settings_of(ATTSVM_MODEL_P);
    attsvm_model *m;
    attsvm_evaluation at;
    double from = 3, theta[3] = { 0 }, big[3] = { 1e3, 0, 0 };
    attsvm_loss_callback loss = { nan_from, &from };
    assert_int_equal(attsvm_model_create(&m, data, &s, &loss, NULL, &err), ATTSVM_E_ARG);
    assert_non_null(strstr(err.message, "your loss returned NaN at u = 5"));
    loss.value = rises;
    assert_int_equal(attsvm_model_create(&m, data, &s, &loss, NULL, &err), ATTSVM_E_ARG);
    assert_non_null(strstr(err.message, "your loss rises from"));
    loss.value = falls_but_says_it_rises;
    assert_int_equal(attsvm_model_create(&m, data, &s, &loss, NULL, &err), ATTSVM_E_ARG);
    loss.value = NULL;
    assert_int_equal(attsvm_model_create(&m, data, &s, &loss, NULL, &err), ATTSVM_E_ARG);
    assert_non_null(strstr(err.message, "NULL"));
    /* found only during the call */
    from = 40;
    loss.value = nan_from;
    assert_ok(attsvm_model_create(&m, data, &s, &loss, NULL, &err), err);
    from = -1e300;
    assert_int_equal(attsvm_model_evaluate(m, theta, &at, NULL, &err), ATTSVM_E_ARG);
    assert_non_null(strstr(err.message, "your loss returned NaN at u = "));
    from = 1e300;
    assert_ok(attsvm_model_evaluate(m, theta, &at, NULL, &err), err); /* the next call succeeds */
    big[1] = NAN;
    assert_int_equal(attsvm_model_evaluate(m, big, &at, NULL, &err), ATTSVM_E_ARG);
    attsvm_model_free(m);
    attsvm_head_callback head = { nan_head, NULL };
    attsvm_train *run;
    assert_ok(attsvm_train_create(&run, data, &s, NULL, &head, &err), err);
    assert_int_equal(attsvm_train_run(run, NULL, NULL, &err), ATTSVM_E_ARG);
    assert_non_null(strstr(err.message, "your head returned NaN (value)"));
    attsvm_train_free(run);
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_the_slope),   cmocka_unit_test(attention_and_training),
        cmocka_unit_test(direction_at_saturation), cmocka_unit_test(comparison_is_the_verdict),
        cmocka_unit_test(faults_of_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
