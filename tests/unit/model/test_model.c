/*
 * model: every gradient against central differences, cases by hand, fast paths against evaluation
 * term by term, threads.
 */
#include "generated.h"
#include "model/small.h"
#include "unit_model.h"

static void compare_with_differences(model *m, double *theta)
{
    static double x[MOST_SIZE];
    model_gradient g = { .x = x };
    const double h = 1e-5;
    double error = 0, size = 0;
    model_evaluate(m, theta, NULL, 0, &g, NULL);
    for (int b = 0; b < m->parameters; b++)
        for (int64_t k = 0; k < m->parameter[b].count; k++) {
            int64_t j = m->parameter[b].offset + k;
            model_value above, below;
            double kept = theta[j];
            theta[j] = kept + h;
            model_evaluate(m, theta, NULL, 0, NULL, &above);
            theta[j] = kept - h;
            model_evaluate(m, theta, NULL, 0, NULL, &below);
            theta[j] = kept;
            double found = g.log[b] == -INFINITY ? 0 : x[j] * exp(g.log[b]);
            double wanted = (above.loss - below.loss) / (2 * h);
            error += (found - wanted) * (found - wanted);
            size += wanted * wanted;
        }
    if (!(sqrt(error) <= 1e-8 * (sqrt(size) + 1)))
        fail_msg("model %d, head %s, loss %s, query %d: differences off by %.3g of %.3g",
                 (int)m->kind, m->head.kind->flag, m->loss.flag, (int)m->query.mode, sqrt(error),
                 sqrt(size));
}

static void check_differences(model *m, uint64_t seed)
{
    double theta[MOST_SIZE];
    point(m, seed, 1.5, theta);
    compare_with_differences(m, theta);
}

static void gradients_match_central_differences(void **state)
{
    (void)state;
    visit_all(0, check_differences);
    visit_all(RAGGED, check_differences);
    visit_all(QUERIES, check_differences);
    visit_all(COPIES, check_differences);
}

/* The case of theory 2.1: the textbook form is 45 degrees off. */
static void textbook_case(void **state)
{
    (void)state;
    double X[] = { 1, 0, 1, 0, 1, -.3, -1, .5, .4 }, v[] = { 0, 0, 1 }, x[3];
    double W[] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 }, theta[] = { 60, -20, 0 };
    int64_t Y[] = { 1 };
    sample s = { .count = 0 };
    put(&s, "X", X, ATTSVM_F64, 3, 1, 3, 3);
    put(&s, "W", W, ATTSVM_F64, 2, 3, 3, 0);
    put(&s, "v", v, ATTSVM_F64, 1, 3, 0, 0);
    put(&s, "Y", Y, ATTSVM_I64, 1, 1, 0, 0);
    assert_int_equal(attsvm_data_create(&s.data, s.arrays, s.count, NULL, NULL), ATTSVM_OK);
    model *m = new_model(&s, ATTSVM_MODEL_P, "linear", "linear", "", 0);
    model_gradient g = { .x = x };
    model_evaluate(m, theta, NULL, 0, &g, NULL);
    double size = 1.3 * exp(-80);
    assert_true(fabs(-x[0] * exp(g.log[0]) / size - 1) < 1e-13);
    assert_true(fabs(x[1] * exp(g.log[0]) / size - 1) < 1e-13);
    assert_true(x[2] == 0);
    model_free(m);
    attsvm_data_free(s.data);
}

/* A token that occurs twice wins over a single one that alone has more attention. */
static void copies_are_counted_together(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 1, 0, 1 }, v[] = { 1, -1 }, theta[] = { 0.5, 0.1 };
    int64_t Y[] = { 1 };
    sample s = { .count = 0 };
    put(&s, "X", X, ATTSVM_F64, 3, 1, 3, 2);
    put(&s, "v", v, ATTSVM_F64, 1, 2, 0, 0);
    put(&s, "Y", Y, ATTSVM_I64, 1, 1, 0, 0);
    assert_int_equal(attsvm_data_create(&s.data, s.arrays, s.count, NULL, NULL), ATTSVM_OK);
    model *m = new_model(&s, ATTSVM_MODEL_P, "logistic", "linear", "", 0);
    model_value value;
    model_evaluate(m, theta, NULL, 0, NULL, &value);
    double a = exp(0.5), b = exp(0.1);
    assert_int_equal(m->selected[0], 1);
    assert_true(fabs(m->attention[0] - 2 * b / (a + 2 * b)) < 1e-15);
    model_free(m);
    attsvm_data_free(s.data);
}

static double user_head(void *context, const double *u, int64_t d, double *gradient)
{
    const double *v = context;
    double value = 0;
    for (int64_t j = 0; j < d; j++) {
        value += v[j] * sin(u[j]);
        gradient[j] = v[j] * cos(u[j]);
    }
    return value;
}

static double user_loss(void *context, double u, double *slope)
{
    (void)context;
    *slope = -exp(-2 * u);
    return exp(-2 * u) / 2;
}

static void callbacks_replace_loss_and_head(void **state)
{
    (void)state;
    sample *s = malloc(sizeof *s);
    make(s, 5, 4, 6, 5, 0);
    attsvm_head_callback head = { user_head, s->v };
    attsvm_loss_callback loss = { user_loss, NULL };
    model_options options = model_flags(ATTSVM_MODEL_W, "", "linear", "", 0);
    options.user_loss = &loss;
    options.user_head = &head;
    model *m;
    double theta[MOST_SIZE];
    assert_int_equal(model_create(&m, s->data, &options, NULL), ATTSVM_OK);
    point(m, 2, 2, theta);
    compare_with_differences(m, theta);
    model_free(m);
    attsvm_data_free(s->data);
    free(s);
}

/* A term whose slope underflows to 0 adds nothing, and its exponent does not hide the others. */
static void slopes_of_callers_may_underflow(void **state)
{
    (void)state;
    double X[] = { 0, 1000, 0, 1001, -1, 0, 0, 0 }, v[] = { 1, 1 }, theta[] = { 800, 0, 1, 1 };
    int64_t Y[] = { 1, 1 };
    sample s = { .count = 0 };
    put(&s, "X", X, ATTSVM_F64, 3, 2, 2, 2);
    put(&s, "v", v, ATTSVM_F64, 1, 2, 0, 0);
    put(&s, "Y", Y, ATTSVM_I64, 1, 2, 0, 0);
    assert_int_equal(attsvm_data_create(&s.data, s.arrays, s.count, NULL, NULL), ATTSVM_OK);
    attsvm_loss_callback loss = { user_loss, NULL };
    for (int k = 0; k < 3; k++) {
        double x[4];
        model_gradient g = { .x = x };
        model_options options =
            model_flags(k < 2 ? ATTSVM_MODEL_P : ATTSVM_MODEL_VP, "", "linear", "", 0);
        options.user_loss = &loss;
        model *m;
        assert_int_equal(model_create(&m, s.data, &options, NULL), ATTSVM_OK);
        assert_true((m->small != NULL) == (k < 2));
        model_small *small = m->small;
        m->small = k == 0 ? small : NULL;
        model_evaluate(m, theta, NULL, 0, &g, NULL);
        m->small = small;
        for (int b = 0; b < m->parameters; b++)
            assert_true(fabs(log(fabs(x[2 * b])) + g.log[b] + 800 + log(2)) < 1e-12);
        model_free(m);
    }
    attsvm_data_free(s.data);
}

/* Batches of small problems give the same as evaluation term by term. */
static void small_matches_terms(void **state)
{
    (void)state;
    static const attsvm_model_kind kinds[] = { ATTSVM_MODEL_P, ATTSVM_MODEL_PW, ATTSVM_MODEL_W,
                                               ATTSVM_MODEL_KQ };
    static const char *const losses[] = { "logistic", "exp", "linear" };
    static const double radius[] = { 0.5, 20, 2000, 1e5 };
    for (int64_t n = 1; n <= 6; n += 5)
        for (int64_t T = 2; T <= 9; T += 7)
            for (int64_t d = 2; d <= 7; d++)
                for (int k = 0; k < 8; k++) {
                    double theta[MOST_SIZE], x[2][MOST_SIZE];
                    sample *s = malloc(sizeof *s);
                    make(s, (uint64_t)(n * 100 + T * 10 + d), n, T, d, 0);
                    const char *head = k < 4 ? "linear" : "relu";
                    model *m = new_model(s, kinds[k % 4], losses[k % 3], head, "", 0);
                    for (int r = 0; r < 4; r++) {
                        model_gradient g[2] = { { .x = x[0] }, { .x = x[1] } };
                        point(m, 5, radius[r], theta);
                        model_small *small = m->small;
                        assert_non_null(small);
                        model_evaluate(m, theta, NULL, 0, &g[0], NULL);
                        m->small = NULL;
                        model_evaluate(m, theta, NULL, 0, &g[1], NULL);
                        m->small = small;
                        if (g[1].log[0] == -INFINITY) { /* every unit of the head is inactive */
                            assert_true(k >= 4 && g[0].log[0] == -INFINITY);
                            continue;
                        }
                        double error = 0, size = 0;
                        for (int64_t j = 0; j < m->size; j++) {
                            double scaled = x[0][j] * exp(g[0].log[0] - g[1].log[0]);
                            error += pow(scaled - x[1][j], 2);
                            size += pow(x[1][j], 2);
                        }
                        assert_true(size > 0 && sqrt(error / size) < 1e-13 * (1 + radius[r]));
                    }
                    model_free(m);
                    attsvm_data_free(s->data);
                    free(s);
                }
}

/* The same for data of several blocks and chunks; same bytes for any number of threads. */
static void check_many_blocks(attsvm_data *data, bool stored)
{
    enum { SIZE = 5 * 5 };
    static const attsvm_model_kind kinds[] = { ATTSVM_MODEL_P, ATTSVM_MODEL_W };
    for (int k = 0; k < 4; k += stored ? 1 : 3) {
        double theta[SIZE], x[3][SIZE], error = 0, size = 0;
        int64_t count = 0;
        model_gradient g[3] = { { .x = x[0] }, { .x = x[1] }, { .x = x[2] } };
        model_options options = model_flags(kinds[k % 2], "logistic", "linear", "", 0);
        for (int run = 0; run < 3; run++) {
            model *m;
            options.threads = run == 0 ? 1 : 3;
            assert_int_equal(model_create(&m, data, &options, NULL), ATTSVM_OK);
            model_small *small = m->small;
            assert_non_null(small);
            assert_true(m->blocks > 1 && (small->chunk != NULL) == stored);
            m->small = run < 2 ? small : NULL;
            point(m, 5, k < 2 ? 2 : 3000, theta);
            model_evaluate(m, theta, NULL, 0, &g[run], NULL);
            m->small = small;
            count = m->size;
            model_free(m);
        }
        assert_memory_equal(x[0], x[1], (size_t)count * sizeof(double));
        assert_true(g[0].log[0] == g[1].log[0]);
        for (int64_t j = 0; j < count; j++) {
            error += pow(x[0][j] * exp(g[0].log[0] - g[2].log[0]) - x[2][j], 2);
            size += pow(x[2][j], 2);
        }
        assert_true(size > 0 && sqrt(error / size) < 1e-12);
    }
    attsvm_data_free(data);
}

/* Tables of more than 16 MB are made chunk by chunk, from any type. */
static void short_sequences_of_many_blocks(void **state)
{
    (void)state;
    check_many_blocks(generated(ATTSVM_SPHERE, 15013, 4, 5, .queries = 1, .seed = 7), true);
    check_many_blocks(generated(ATTSVM_SPHERE, 105013, 4, 5, .queries = 1, .seed = 7), false);
    check_many_blocks(
        generated(ATTSVM_SPHERE, 105013, 4, 5, .queries = 3, .seed = 8, .dtype = ATTSVM_F32),
        false);
    check_many_blocks(
        generated(ATTSVM_SPHERE, 105013, 4, 5, .queries = 1, .seed = 9, .dtype = ATTSVM_F16),
        false);
}

/* The kernel's gradients equal those of the general weights, which are used when values are
   requested. */
static void check_quick_terms(const sample *s, attsvm_model_kind kind)
{
    static const double radius[] = { 0.5, 20, 2000, 1e5 };
    static double theta[2 * 33 * 33], x[2][2 * 33 * 33];
    model *m = new_model(s, kind, "logistic", "linear", "", 0);
    assert_null(m->small);
    for (int r = 0; r < 4; r++) { /* some queries are zero: their terms add nothing */
        model_gradient g[2] = { { .x = x[0] }, { .x = x[1] } };
        model_value value;
        double error = 0, size = 0;
        point(m, 5, radius[r], theta);
        model_evaluate(m, theta, NULL, 0, &g[0], NULL);
        model_evaluate(m, theta, NULL, 0, &g[1], &value);
        for (int64_t j = 0; j < m->size; j++) {
            error += pow(x[0][j] * exp(g[0].log[0] - g[1].log[0]) - x[1][j], 2);
            size += pow(x[1][j], 2);
        }
        assert_true(size > 0 && sqrt(error / size) < 1e-12 * (1 + radius[r]));
    }
    model_free(m);
}

static void quick_terms_match_general_terms(void **state)
{
    (void)state;
    static const int32_t kinds[] = { ATTSVM_GAUSS, ATTSVM_TIED };
    static const int32_t dtypes[] = { ATTSVM_F64, ATTSVM_F32, ATTSVM_F16 };
    for (int kind = 0; kind < 2; kind++)
        for (int type = 0; type < 3; type++)
            for (int64_t d = 8; d <= 33; d += d < 18 ? 10 : 15) {
                attsvm_generate_settings settings;
                attsvm_generate_settings_init(&settings);
                settings.kind = kinds[kind];
                settings.n = 900;
                settings.T = 19;
                settings.T_min = 1;
                settings.d = d;
                settings.queries = 1;
                settings.dtype = dtypes[type];
                sample s = { .count = 0 };
                assert_int_equal(attsvm_data_generate(&s.data, &settings, NULL), ATTSVM_OK);
                check_quick_terms(&s, ATTSVM_MODEL_P);
                check_quick_terms(&s, ATTSVM_MODEL_W);
                check_quick_terms(&s, ATTSVM_MODEL_KQ);
                attsvm_data_free(s.data);
                settings.n = 30; /* longer than a page */
                settings.T = 13000 / d;
                assert_int_equal(attsvm_data_generate(&s.data, &settings, NULL), ATTSVM_OK);
                check_quick_terms(&s, ATTSVM_MODEL_P);
                attsvm_data_free(s.data);
            }
}

/* A query z = 0 always has equal logits; the other term keeps its gradient beside it. */
static void zero_queries_add_nothing(void **state)
{
    (void)state;
    const double X[] = { 1, 0, 0, 1, 2, 1, 1, -1 }, Z[] = { 1, 0, 0, 0 }, v[] = { 1, 0.5 };
    const int8_t Y[] = { 1, 1 };
    attsvm_named_array arrays[] = {
        { "X", { .data = X, .shape = { 2, 2, 2 }, .ndim = 3, .dtype = ATTSVM_F64 } },
        { "Z", { .data = Z, .shape = { 2, 2 }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "v", { .data = v, .shape = { 2 }, .ndim = 1, .dtype = ATTSVM_F64 } },
        { "Y", { .data = Y, .shape = { 2 }, .ndim = 1, .dtype = ATTSVM_I8 } },
    };
    attsvm_data *data;
    assert_int_equal(attsvm_data_create(&data, arrays, 4, NULL, NULL), ATTSVM_OK);
    model_options options = model_flags(ATTSVM_MODEL_W, "logistic", "linear", "", 0);
    model *m;
    double W[] = { 5000, 0, 0, 0 }, x[4];
    model_gradient g = { .x = x };
    assert_int_equal(model_create(&m, data, &options, NULL), ATTSVM_OK);
    model_evaluate(m, W, NULL, 0, &g, NULL);
    /* of the first term alone: a = (5000, 0), so the gradient is along (x_1 - x_0) z', e^-5000 */
    assert_true(x[0] < 0 && x[2] == -x[0] && x[1] == 0 && x[3] == 0);
    assert_true(fabs(g.log[0] + log(-x[0]) + 5000) < 5);
    model_free(m);
    attsvm_data_free(data);
}

/* The last slots serve as what is kept on the levels above the others. */
static void assert_fewer_slots(model *m, int64_t slots, const double *theta,
                               const model_gradient *expected)
{
    double x[600];
    model_gradient g = { .x = x };
    model_value before, after;
    model_evaluate(m, theta, NULL, 0, NULL, &before);
    assert_true(model_tree_levels(m->blocks, slots) + slots <= m->slots);
    m->slots = slots;
    m->level = m->slot + slots;
    model_evaluate(m, theta, NULL, 0, &g, NULL);
    model_evaluate(m, theta, NULL, 0, NULL, &after);
    assert_memory_equal(x, expected->x, (size_t)m->size * sizeof *x);
    assert_memory_equal(g.log, expected->log, (size_t)m->parameters * sizeof *g.log);
    assert_memory_equal(&before, &after, sizeof before);
}

/* Same bytes for any number of threads, and mini-batches that add up to the whole. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_GAUSS, 5000, 20, 16, .T_min = 5, .queries = 1);
    static const attsvm_model_kind kinds[] = { ATTSVM_MODEL_P, ATTSVM_MODEL_W, ATTSVM_MODEL_VKQ };
    for (int k = 0; k < 3; k++) {
        double x[3][600], theta[600];
        model_gradient g[3];
        for (int threads = 1; threads <= 3; threads++) {
            model_options options = model_flags(kinds[k], "logistic", "linear", "", 0);
            options.threads = threads;
            model *m;
            assert_int_equal(model_create(&m, data, &options, NULL), ATTSVM_OK);
            assert_true(m->blocks > 3);
            point(m, 4, 20, theta);
            g[threads - 1].x = x[threads - 1];
            model_evaluate(m, theta, NULL, 0, &g[threads - 1], NULL);
            assert_memory_equal(x[0], x[threads - 1], (size_t)m->size * sizeof(double));
            assert_memory_equal(g[0].log, g[threads - 1].log,
                                (size_t)m->parameters * sizeof(double));
            if (threads > 1) /* fewer sums at a time: the summation tree is the same */
                assert_fewer_slots(m, threads - 1, theta, &g[threads - 1]);
            model_free(m);
        }
    }
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(textbook_case),
        cmocka_unit_test(gradients_match_central_differences),
        cmocka_unit_test(copies_are_counted_together),
        cmocka_unit_test(callbacks_replace_loss_and_head),
        cmocka_unit_test(slopes_of_callers_may_underflow),
        cmocka_unit_test(small_matches_terms),
        cmocka_unit_test(short_sequences_of_many_blocks),
        cmocka_unit_test(quick_terms_match_general_terms),
        cmocka_unit_test(zero_queries_add_nothing),
        cmocka_unit_test(threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
