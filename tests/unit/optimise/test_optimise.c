/* L-BFGS and the trust region on functions whose minima are known. */
#include "unit.h"

#include "la/la.h"
#include "optimise/optimise.h"

typedef struct counter {
    int64_t evaluations, allowed; /* limit; 0 = none */
} counter;

static bool is_used_up(void *context)
{
    const counter *c = context;
    return c->allowed > 0 && c->evaluations >= c->allowed;
}

/* sum 100 (x_{j+1} - x_j^2)^2 + (1 - x_j)^2 (Rosenbrock): not convex, minimum 0 at (1,...,1) */
enum { SIZE = 10 };

static double rosenbrock(void *context, const double *x, double *g)
{
    double value = 0;
    ((counter *)context)->evaluations++;
    memset(g, 0, SIZE * sizeof *g);
    for (int j = 0; j + 1 < SIZE; j++) {
        double a = x[j + 1] - x[j] * x[j], b = 1 - x[j];
        value += 100 * a * a + b * b;
        g[j] += -400 * a * x[j] - 2 * b;
        g[j + 1] += 200 * a;
    }
    return value;
}

static optimise_lbfgs_info run(const optimise_function *f, optimise_lbfgs_settings settings,
                               double *x)
{
    attsvm_error err;
    optimise_lbfgs_info info;
    assert_ok(optimise_lbfgs(f, &settings, x, &info, &err), err);
    return info;
}

static void lbfgs_finds_the_end_of_a_curved_valley(void **state)
{
    (void)state;
    counter c = { 0 };
    const optimise_function f = { .size = SIZE, .evaluate = rosenbrock, .context = &c };
    double x[SIZE] = { -1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1 };
    optimise_lbfgs_info info =
        run(&f, (optimise_lbfgs_settings){ .tol = 1e-9, .iterations = 500 }, x);
    assert_int_equal(info.outcome, OPTIMISE_CONVERGED);
    assert_true(info.gradient <= 1e-9 && info.gradient_start > 100);
    assert_int_equal(info.evaluations, c.evaluations);
    assert_true(info.evaluations < 200);
    for (int j = 0; j < SIZE; j++)
        assert_double_equal(x[j], 1, 1e-8);
}

static void tolerance_is_relative_to_the_start(void **state)
{
    (void)state;
    counter c = { 0 };
    const optimise_function f = { .size = SIZE, .evaluate = rosenbrock, .context = &c };
    double x[SIZE] = { 0 };
    optimise_lbfgs_info info =
        run(&f, (optimise_lbfgs_settings){ .relative = 1e-3, .iterations = 500 }, x);
    assert_int_equal(info.outcome, OPTIMISE_CONVERGED);
    assert_true(info.gradient <= 1e-3 * info.gradient_start);
    assert_true(info.gradient > 1e-9 * info.gradient_start); /* no more iterations than allowed */
}

static void lbfgs_keeps_to_its_limits(void **state)
{
    (void)state;
    counter c = { 0 };
    optimise_function f = { .size = SIZE, .evaluate = rosenbrock, .context = &c };
    double x[SIZE] = { 0 }, y[SIZE] = { 0 };
    optimise_lbfgs_info info =
        run(&f, (optimise_lbfgs_settings){ .tol = 1e-9, .iterations = 7 }, x);
    assert_int_equal(info.outcome, OPTIMISE_LIMIT);
    assert_int_equal(info.iterations, 7);
    assert_double_equal(info.value, rosenbrock(&c, x, y), 0);
    c = (counter){ .allowed = 5 };
    f.stop = is_used_up;
    memset(y, 0, sizeof y);
    info = run(&f, (optimise_lbfgs_settings){ .tol = 1e-9, .iterations = 500 }, y);
    assert_int_equal(info.outcome, OPTIMISE_STOPPED);
    assert_int_equal(c.evaluations, 5);
    assert_true(info.value < SIZE - 1); /* F(0) = 9: the steps before the stop are kept */
}

/* log sum exp(a_j x_j) + exp(-a_j x_j): convex, minimum at 0 */
static double log_sum(void *context, const double *x, double *g)
{
    double sum = 0;
    ((counter *)context)->evaluations++;
    for (int j = 0; j < SIZE; j++) {
        double a = 1 + j;
        g[j] = a * (base_exp(a * x[j]) - base_exp(-a * x[j]));
        sum += base_exp(a * x[j]) + base_exp(-a * x[j]);
    }
    for (int j = 0; j < SIZE; j++)
        g[j] /= sum;
    return base_log(sum);
}

static void slopes_see_below_the_rounding_of_values(void **state)
{
    (void)state;
    for (int convex = 0; convex < 2; convex++) {
        counter c = { 0 };
        const optimise_function f = { .size = SIZE, .evaluate = log_sum, .context = &c };
        double x[SIZE];
        for (int j = 0; j < SIZE; j++)
            x[j] = 0.3 - 0.07 * j;
        optimise_lbfgs_info info = run(
            &f, (optimise_lbfgs_settings){ .tol = 1e-13, .iterations = 500, .convex = convex }, x);
        assert_int_equal(info.outcome, OPTIMISE_CONVERGED);
        for (int j = 0; j < SIZE; j++)
            assert_double_equal(x[j], 0, 1e-12);
    }
}

/* -x - log(2 - x) on x < 2, not a number beyond; minimum at 1 */
static double barrier(void *context, const double *x, double *g)
{
    ((counter *)context)->evaluations++;
    g[0] = -1 + 1 / (2 - x[0]);
    return x[0] < 2 ? -x[0] - base_log(2 - x[0]) : NAN;
}

static void lbfgs_stays_where_the_function_is_finite(void **state)
{
    (void)state;
    counter c = { 0 };
    const optimise_function f = { .size = 1, .evaluate = barrier, .context = &c };
    double x = -40;
    optimise_lbfgs_info info =
        run(&f, (optimise_lbfgs_settings){ .tol = 1e-10, .iterations = 200 }, &x);
    assert_int_equal(info.outcome, OPTIMISE_CONVERGED);
    assert_double_equal(x, 1, 1e-9);
    x = 3;
    info = run(&f, (optimise_lbfgs_settings){ .tol = 1e-10, .iterations = 200 }, &x);
    assert_int_not_equal(info.outcome, OPTIMISE_CONVERGED);
}

/* x'Ax / 2 with A = diag(1..SIZE): on the unit sphere the minimum is 1/2 at +-e_1 */
static double quadratic(void *context, const double *x, double *g)
{
    double value = 0;
    ((counter *)context)->evaluations++;
    for (int j = 0; j < SIZE; j++) {
        g[j] = (1 + j) * x[j];
        value += 0.5 * g[j] * x[j];
    }
    return value;
}

static void trust_region_on_spheres_and_planes(void **state)
{
    (void)state;
    counter c = { 0 };
    optimise_function f = { .size = SIZE, .evaluate = quadratic, .context = &c, .reach = 1 };
    double x[SIZE], work[OPTIMISE_TRUST_REGION_VECTORS * SIZE], first[SIZE] = { 1 };
    optimise_end end;
    for (int j = 0; j < SIZE; j++)
        x[j] = 1 + j;
    optimise_trust_region(&f, &(optimise_surface){ .radius = 1 }, x, work, &end);
    assert_double_equal(end.value, 0.5, 1e-14);
    assert_double_equal(fabs(x[0]), 1, 1e-14);
    assert_true(end.pull < 0 && !end.stopped); /* F falls inwards */
    assert_int_equal(end.evaluations, c.evaluations);
    for (int j = 0; j < SIZE; j++)
        x[j] = 1 + j;
    optimise_surface across = { .basis = first, .count = 1, .radius = 2 };
    optimise_trust_region(&f, &across, x, work, &end); /* orthogonal to e_1: A's second value */
    assert_double_equal(end.value, 4, 1e-13);
    assert_double_equal(x[0], 0, 1e-14);
    c = (counter){ .allowed = 4 };
    f.stop = is_used_up;
    for (int j = 0; j < SIZE; j++)
        x[j] = 1 + j;
    optimise_trust_region(&f, &(optimise_surface){ .radius = 1 }, x, work, &end);
    assert_true(end.stopped);
    assert_int_equal(c.evaluations, 4);
    assert_double_equal(la_norm(x, SIZE), 1, 1e-14);
}

/* Two vectors, the first SPLIT entries and the rest, each on a sphere or with a limit of its own:
   the minima of the quadratic are 1/2 at e_1 and (1 + SPLIT)/2 times 4 at 2 e_(SPLIT + 1). */
static void trust_region_on_two_spheres(void **state)
{
    (void)state;
    enum { SPLIT = 2 };
    counter c = { 0 };
    optimise_function f = { .size = SIZE, .evaluate = quadratic, .context = &c, .reach = 1 };
    double x[SIZE], work[OPTIMISE_TRUST_REGION_VECTORS * SIZE];
    optimise_end end;
    for (int j = 0; j < SIZE; j++)
        x[j] = 1 + j;
    optimise_surface both = { .radius = 1, .split = SPLIT, .second_radius = 2 };
    optimise_trust_region(&f, &both, x, work, &end);
    assert_double_equal(fabs(x[0]), 1, 1e-12);
    assert_double_equal(fabs(x[SPLIT]), 2, 1e-12);
    assert_double_equal(end.value, 0.5 + 2 * (1 + SPLIT), 1e-12);
    assert_true(end.pull < 0 && end.second_pull < 0);
    both = (optimise_surface){ .radius = 1, .split = SPLIT, .second_limit = 100 };
    optimise_trust_region(&f, &both, x, work, &end); /* the second is free, and goes to 0 */
    assert_double_equal(la_norm(x + SPLIT, SIZE - SPLIT), 0, 1e-9);
    assert_double_equal(end.value, 0.5, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lbfgs_finds_the_end_of_a_curved_valley),
        cmocka_unit_test(tolerance_is_relative_to_the_start),
        cmocka_unit_test(lbfgs_keeps_to_its_limits),
        cmocka_unit_test(slopes_see_below_the_rounding_of_values),
        cmocka_unit_test(lbfgs_stays_where_the_function_is_finite),
        cmocka_unit_test(trust_region_on_spheres_and_planes),
        cmocka_unit_test(trust_region_on_two_spheres),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
