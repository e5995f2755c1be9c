/* Classifiers: gradients of every pool and loss, fits, predictions and explanations. */
#include "unit.h"

#include "learn/learn.h"
#include "learn_long.h"

#include <unistd.h>

enum { N = 6, D = 5 };

/* Bags of 1 to 5 tokens; float32 or as words of a table, labels of `classes` classes. */
typedef struct made {
    attsvm_data *data;
    float X[64 * D];
    double wide[64 * D]; /* the same values */
    int32_t tokens[64];
    int64_t offsets[N + 1], label[N];
    double weight[N];
    int32_t vocabulary;
} made;

typedef enum storage { RAGGED, WORDS, ONE_HOT } storage;

static void make(made *m, storage how, int64_t classes)
{
    base_random r = base_random_stream(3, 0);
    attsvm_error err;
    int64_t total = 0;
    m->offsets[0] = 0;
    for (int64_t i = 0; i < N; i++) {
        total += 1 + i % 5;
        m->offsets[i + 1] = total;
        m->label[i] = i % classes;
        m->weight[i] = (double)(1 + i) / (N * (N + 1) / 2.0);
    }
    const int64_t rows = how == RAGGED ? total : D;
    m->vocabulary = D;
    for (int64_t k = 0; k < rows * D; k++)
        m->X[k] = how == ONE_HOT ? (float)(k % D == k / D) : (float)(2 + 3 * base_random_gauss(&r));
    for (int64_t t = 0; t < total; t++)
        m->tokens[t] = how == RAGGED ? (int32_t)t : (int32_t)base_random_below(&r, D);
    for (int64_t t = 0; t < total; t++)
        for (int64_t j = 0; j < D; j++)
            m->wide[t * D + j] = (double)m->X[m->tokens[t] * D + j];
    const attsvm_named_array arrays[] = {
        { "offsets", { .data = m->offsets, .shape = { N + 1 }, .ndim = 1, .dtype = ATTSVM_I64 } },
        how == RAGGED ? (attsvm_named_array){ "X",
                                              { .data = m->X,
                                                .shape = { total, D },
                                                .ndim = 2,
                                                .dtype = ATTSVM_F32 } }
                      : (attsvm_named_array){ "tokens",
                                              { .data = m->tokens,
                                                .shape = { total },
                                                .ndim = 1,
                                                .dtype = ATTSVM_I32 } },
        how == ONE_HOT
            ? (attsvm_named_array){ "vocabulary", { .data = &m->vocabulary, .dtype = ATTSVM_I32 } }
            : (attsvm_named_array){ "E",
                                    { .data = m->X,
                                      .shape = { D, D },
                                      .ndim = 2,
                                      .dtype = ATTSVM_F32 } },
    };
    assert_ok(attsvm_data_create(&m->data, arrays, how == RAGGED ? 2 : 3, NULL, &err), err);
}

/* The objective in extended precision, from the tokens and the formulas of theory 8 alone. */
static long double objective(const made *m, const learn_features *f, const learn_shape *s,
                             const long double *theta, double lambda)
{
    const long_model model = { s->pool, D, s->heads, s->classes };
    long double sum = 0;
    for (int64_t i = 0; i < N; i++) {
        long double phi[8 * D], score[8];
        const int64_t T = m->offsets[i + 1] - m->offsets[i];
        for (int64_t t = 0; t < T; t++)
            for (int64_t j = 0; j < D; j++)
                phi[t * D + j] =
                    ((long double)m->wide[(m->offsets[i] + t) * D + j] - f->mu[j]) * f->scale[j];
        long_scores(&model, theta, phi, T, score);
        sum += m->weight[i] * long_loss(&model, score, m->label[i]);
    }
    return sum + long_ridge(&model, theta, lambda);
}

/* The gradient against differences of the objective in extended precision. */
static void compare(storage how, int32_t pool, int64_t heads, int64_t classes, double size)
{
    static made m;
    attsvm_error err;
    learn_features f;
    learn_work *work;
    learn_problem problem;
    double theta[256], other[256], g[256], other_g[256], alone_g[256];
    long double wide[256] = { 0 };
    make(&m, how, classes);
    assert_ok(learn_features_create(&f, m.data, NULL, ATTSVM_SCALE_STANDARD, 1, &err), err);
    const learn_shape s = learn_shape_of(pool, D, heads, classes);
    assert_true(s.size <= 256);
    learn_start(&s, 1, 0, theta);
    for (int64_t j = 0; j < s.size; j++)
        theta[j] *= j < s.columns * D ? size / (j < s.prompts * D || s.betas >= 0 ? 0.3 : 0.01) : 1;
    learn_start(&s, 1, 1, other);
    learn_problem_init(&problem, m.data, &f, &s, m.label, m.weight);
    assert_int_equal(problem.by_row, how != RAGGED);
    assert_ok(learn_work_create(&work, &problem, 2, 2, &err), err);
    learn_point points[] = { { .theta = other, .gradient = other_g, .lambda = 0.1 },
                             { .theta = theta, .gradient = g } };
    learn_point alone = { .theta = theta, .gradient = alone_g };
    learn_evaluate(work, points, 2);
    learn_evaluate(work, &alone, 1); /* a member gets the same bytes alone and among others */
    const double value = points[1].value;
    assert_memory_equal(&alone.value, &value, sizeof value);
    assert_memory_equal(alone_g, g, (size_t)s.size * sizeof *g);
    for (int64_t j = 0; j < s.size; j++)
        wide[j] = theta[j];
    const long double exact = objective(&m, &f, &s, wide, 0);
    assert_double_equal(value, (double)exact, 1e-13 * (1 + fabs((double)exact)));
    double largest = 0;
    for (int64_t j = 0; j < s.size; j++)
        largest = fmax(largest, fabs(g[j]));
    for (int64_t j = 0; j < s.size; j++) {
        const long double h = 1e-6L * (1 + fabsl(wide[j])), at = wide[j];
        wide[j] = at + h;
        const long double up = objective(&m, &f, &s, wide, 0);
        wide[j] = at - h;
        const long double down = objective(&m, &f, &s, wide, 0);
        wide[j] = at;
        assert_double_equal(g[j], (double)((up - down) / (2 * h)), 2e-9 * (largest + 1e-3));
    }
    learn_work_free(work);
    learn_features_free(&f);
    attsvm_data_free(m.data);
}

static void every_gradient_agrees_with_differences(void **state)
{
    (void)state;
    for (int how = RAGGED; how <= ONE_HOT; how++)
        for (int64_t classes = 2; classes <= 3; classes++) {
            compare((storage)how, ATTSVM_POOL_PROMPT, 1, classes, 1);
            compare((storage)how, ATTSVM_POOL_PROMPT, 3, classes, 1);
            compare((storage)how, ATTSVM_POOL_SCORE, 1, classes, 1);
            compare((storage)how, ATTSVM_POOL_MEAN, 1, classes, 1);
            if (classes == 2)
                compare((storage)how, ATTSVM_POOL_WITNESS, 1, classes, 1);
        }
}

/*
 * Softmax values that round to 1: the gradient of one bag in p keeps its direction.  Values as in
 * theory 2.1: logits 60, -20, -70, scores 1, -.3, .4; the plain form loses the part of the top.
 */
static void slopes_at_saturation_keep_their_direction(void **state)
{
    (void)state;
    const learn_shape s = learn_shape_of(ATTSVM_POOL_PROMPT, 2, 1, 2);
    double value[6] = { 60, 1, -20, -0.3, -70, 0.4 }, attention[3], top, f, r = 1;
    double tail = 0, tail_gradient = 0;
    learn_bag bag = { 3, 1, value, attention, &top, &f, &tail };
    learn_pool_forward(&s, &bag);
    assert_true(attention[0] == 1);
    learn_pool_backward(&s, &bag, &r, &tail_gradient);
    const long double s1 = expl(-80), s2 = expl(-130), Z = 1 + s1 + s2;
    const long double mean = (1 - 0.3L * s1 + 0.4L * s2) / Z;
    assert_double_equal(value[2] / (double)(s1 / Z * (-0.3L - mean)), 1, 1e-14);
    assert_double_equal(value[4] / (double)(s2 / Z * (0.4L - mean)), 1, 1e-14);
    assert_double_equal(value[0] / (double)(-(s1 * (-0.3L - mean) + s2 * (0.4L - mean)) / Z), 1,
                        1e-14);
    assert_true(tail_gradient == 1);
}

/* score and witness at beta = e^5: slopes of gamma and of log beta against extended precision. */
static void beta_at_saturation(void **state)
{
    (void)state;
    for (int32_t pool = ATTSVM_POOL_SCORE; pool <= ATTSVM_POOL_WITNESS; pool++) {
        const learn_shape s = learn_shape_of(pool, 2, 1, 2);
        const double gamma[3] = { 0.5, 0.2, -0.7 }, tail[2] = { base_exp(5), 0.1 };
        double value[3], attention[3], top, f, r = 1, slope[2] = { 0, 0 };
        memcpy(value, gamma, sizeof value);
        learn_bag bag = { 3, 1, value, attention, &top, &f, tail };
        learn_pool_forward(&s, &bag);
        learn_pool_backward(&s, &bag, &r, slope);
        const long_model model = { pool, 1, 1, 2 };
        for (int j = 0; j < 4; j++) { /* theta = (v = 1, log beta, b), phi = gamma */
            const long double h = 1e-7L;
            long double up, down, theta[3] = { 1, 5, 0.1L }, phi[3];
            for (int t = 0; t < 3; t++)
                phi[t] = gamma[t];
            long double *moved = j < 3 ? &phi[j] : &theta[1], at = *moved;
            *moved = at + h;
            long_scores(&model, theta, phi, 3, &up);
            *moved = at - h;
            long_scores(&model, theta, phi, 3, &down);
            const double exact = (double)((up - down) / (2 * h));
            assert_double_equal(j < 3 ? value[j] : slope[0], exact, 1e-10);
        }
    }
}

/* ------------------------------------------------------------------------------- fits */

/* Bags of two numbers; positive ones hold a token whose first number is 3. */
enum { BAGS = 40, LENGTH = 4 };

typedef struct planted {
    double X[BAGS * LENGTH * 2];
    int64_t label[BAGS];
    attsvm_data *data;
} planted;

static void plant(planted *p)
{
    base_random r = base_random_stream(7, 0);
    attsvm_error err;
    for (int64_t k = 0; k < BAGS * LENGTH * 2; k++)
        p->X[k] = base_random_gauss(&r);
    for (int64_t i = 0; i < BAGS; i++) {
        p->label[i] = i % 2;
        p->X[(i * LENGTH + i % LENGTH) * 2] = i % 2 == 1 ? 6 : 0;
    }
    const attsvm_named_array X = {
        "X", { .data = p->X, .shape = { BAGS, LENGTH, 2 }, .ndim = 3, .dtype = ATTSVM_F64 }
    };
    assert_ok(attsvm_data_create(&p->data, &X, 1, NULL, &err), err);
}

static attsvm_classifier *fit(const planted *p, const char *pool, int64_t threads,
                              const double *weight)
{
    attsvm_error err;
    attsvm_classifier *c;
    attsvm_fit_settings s;
    attsvm_fit_settings_init(&s);
    s.threads = threads;
    assert_ok(attsvm_settings_set(&attsvm_fit_table, &s, "pool", pool, &err), err);
    const attsvm_targets y = { .label = p->label, .classes = 2, .sample_weight = weight };
    assert_ok(attsvm_classifier_fit(&c, p->data, &y, &s, NULL, NULL, &err), err);
    return c;
}

static void contributions_and_bias_are_the_score(void **state)
{
    (void)state;
    static const char *const pools[] = { "prompt", "score", "witness", "mean" };
    planted p;
    plant(&p);
    for (int k = 0; k < 4; k++) {
        attsvm_error err;
        attsvm_prediction *found;
        attsvm_classifier *c = fit(&p, pools[k], 1, NULL);
        assert_ok(attsvm_classifier_predict(&found, c, p.data, NULL, &err), err);
        const double *score = attsvm_prediction_find(found, "score")->data;
        const double *contribution = attsvm_prediction_find(found, "contribution")->data;
        const int64_t *label = attsvm_prediction_find(found, "label")->data;
        const attsvm_array *b = attsvm_classifier_find(c, "b");
        double bias = 0;
        for (int64_t m = 0; m < attsvm_array_count(b); m++)
            bias += attsvm_array_get(b, m) / (double)attsvm_array_count(b);
        for (int64_t i = 0; i < BAGS; i++) {
            double sum = 0;
            for (int64_t t = 0; t < LENGTH; t++)
                sum += contribution[i * LENGTH + t];
            assert_double_equal(bias + (label[i] == 1 ? sum : -sum), score[i], 1e-10);
        }
        attsvm_prediction_free(found);
        attsvm_classifier_free(c);
    }
    attsvm_data_free(p.data);
}

/* The planted token decides; `flips` agrees with a prediction without it. */
static void the_planted_token_decides(void **state)
{
    (void)state;
    attsvm_error err;
    planted p;
    plant(&p);
    attsvm_prediction *found, *again;
    attsvm_classifier *c = fit(&p, "score", 1, NULL);
    assert_true(attsvm_classifier_describe(c).accuracy == 1);
    assert_ok(attsvm_classifier_predict(&found, c, p.data, NULL, &err), err);
    const int64_t *decider = attsvm_prediction_find(found, "decider")->data;
    const int64_t *label = attsvm_prediction_find(found, "label")->data;
    const uint8_t *flips = attsvm_prediction_find(found, "flips")->data;
    int64_t flipped = 0;
    for (int64_t i = 0; i < BAGS; i++) {
        double rest[(LENGTH - 1) * 2];
        int64_t count = 0;
        for (int64_t t = 0; t < LENGTH; t++)
            if (t != decider[i]) {
                memcpy(rest + 2 * count, p.X + (i * LENGTH + t) * 2, 2 * sizeof *rest);
                count++;
            }
        const attsvm_named_array X = {
            "X", { .data = rest, .shape = { 1, LENGTH - 1, 2 }, .ndim = 3, .dtype = ATTSVM_F64 }
        };
        attsvm_data *one;
        assert_ok(attsvm_data_create(&one, &X, 1, NULL, &err), err);
        assert_ok(attsvm_classifier_predict(&again, c, one, NULL, &err), err);
        const int64_t *now = attsvm_prediction_find(again, "label")->data;
        assert_int_equal(flips[i], now[0] != label[i]);
        flipped += flips[i];
        if (label[i] == 1)
            assert_int_equal(decider[i], i % LENGTH);
        attsvm_prediction_free(again);
        attsvm_data_free(one);
    }
    assert_true(flipped >= BAGS / 2); /* every positive bag is positive because of its token */
    attsvm_prediction_free(found);
    attsvm_classifier_free(c);
    attsvm_data_free(p.data);
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    planted p;
    plant(&p);
    attsvm_classifier *one = fit(&p, "auto", 1, NULL), *three = fit(&p, "auto", 3, NULL);
    assert_int_equal(one->shape.size, three->shape.size);
    assert_memory_equal(one->theta, three->theta,
                        (size_t)(one->members * one->shape.size) * sizeof *one->theta);
    attsvm_classifier_free(one);
    attsvm_classifier_free(three);
    attsvm_data_free(p.data);
}

/* A bag of weight 0 has no influence. */
static void bags_of_weight_zero_do_not_count(void **state)
{
    (void)state;
    attsvm_error err;
    planted p;
    plant(&p);
    double weight[BAGS];
    int64_t indices[BAGS], label[BAGS], count = 0;
    for (int64_t i = 0; i < BAGS; i++) {
        weight[i] = i % 5 == 0 ? 0 : 1;
        if (weight[i] > 0) {
            label[count] = p.label[i];
            indices[count++] = i;
        }
    }
    planted rest = p;
    memcpy(rest.label, label, sizeof label);
    assert_ok(attsvm_data_subset(&rest.data, p.data, indices, count, &err), err);
    attsvm_classifier *a = fit(&p, "auto", 1, weight), *b = fit(&rest, "auto", 1, NULL);
    assert_memory_equal(a->theta, b->theta,
                        (size_t)(a->members * a->shape.size) * sizeof *a->theta);
    attsvm_classifier_free(a);
    attsvm_classifier_free(b);
    attsvm_data_free(rest.data);
    attsvm_data_free(p.data);
}

static void a_saved_model_predicts_the_same_bytes(void **state)
{
    (void)state;
    attsvm_error err;
    planted p;
    plant(&p);
    char path[] = "/tmp/attsvm_learn_XXXXXX.npz";
    const int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    static const char *const names[] = { "no", "yes" };
    attsvm_classifier *c = fit(&p, "score", 1, NULL), *again;
    attsvm_prediction *a, *b;
    assert_ok(attsvm_classifier_name_classes(c, names, &err), err);
    assert_ok(attsvm_classifier_save(c, path, "{}", &err), err);
    assert_ok(attsvm_classifier_load(&again, path, &err), err);
    assert_string_equal(attsvm_classifier_class(again, 1), "yes");
    assert_null(attsvm_classifier_class(again, 2));
    assert_ok(attsvm_classifier_predict(&a, c, p.data, NULL, &err), err);
    assert_ok(attsvm_classifier_predict(&b, again, p.data, NULL, &err), err);
    assert_memory_equal(attsvm_prediction_find(a, "score")->data,
                        attsvm_prediction_find(b, "score")->data, BAGS * sizeof(double));
    unlink(path);
    attsvm_prediction_free(a);
    attsvm_prediction_free(b);
    attsvm_classifier_free(c);
    attsvm_classifier_free(again);
    attsvm_data_free(p.data);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_classifier *c;
    attsvm_prediction *found;
    planted p;
    plant(&p);
    attsvm_fit_settings s;
    attsvm_fit_settings_init(&s);
    int64_t label[BAGS];
    memcpy(label, p.label, sizeof label);
    label[3] = 2;
    attsvm_targets y = { .label = label, .classes = 2 };
    assert_fails(attsvm_classifier_fit(&c, p.data, &y, &s, NULL, NULL, &err), err, ATTSVM_E_DATA,
                 "label[3] = 2");
    assert_null(c);
    y = (attsvm_targets){ .label = p.label, .classes = 3 };
    assert_fails(attsvm_classifier_fit(&c, p.data, &y, &s, NULL, NULL, &err), err, ATTSVM_E_DATA,
                 "class number 2 (from 0) has no bag");
    s.pool = ATTSVM_POOL_WITNESS;
    assert_fails(attsvm_classifier_fit(&c, p.data, &y, &s, NULL, NULL, &err), err, ATTSVM_E_ARG,
                 "witness has two classes");
    c = fit(&p, "mean", 1, NULL);
    made other;
    make(&other, RAGGED, 2);
    assert_fails(attsvm_classifier_predict(&found, c, other.data, NULL, &err), err, ATTSVM_E_DATA,
                 "5 features; the model was fitted to 2");
    attsvm_data_free(other.data);
    attsvm_classifier_free(c);
    int64_t alone;
    assert_fails(attsvm_cv_folds(p.label, 1, 2, 2, 0, &alone, &err), err, ATTSVM_E_ARG,
                 "at least two bags");
    const int64_t bad[] = { -1, BAGS, INT64_MAX };
    for (int k = 0; k < 3; k++) {
        attsvm_cv *cv = NULL;
        attsvm_cv_settings once;
        attsvm_cv_settings_init(&once);
        once.repeats = 1;
        int64_t fold[BAGS] = { 0, 1, bad[k] };
        y = (attsvm_targets){ .label = p.label, .classes = 2 };
        assert_fails(attsvm_cv_run(&cv, p.data, &y, NULL, &once, fold, NULL, 0, NULL, NULL, &err),
                     err, ATTSVM_E_ARG, "fold[2] = ");
        assert_null(cv);
    }
    attsvm_data_free(p.data);
}

static void measures_of_a_handful(void **state)
{
    (void)state;
    /* scores in order: - + - + +; five pairs of six are in the right order */
    const double score[] = { -2, -1, -0.5, 1, 3 };
    const int64_t label[] = { 0, 1, 0, 1, 1 };
    int64_t confusion[4];
    attsvm_measures m;
    attsvm_error err;
    assert_ok(attsvm_measure(&m, score, label, 5, 2, confusion, &err), err);
    assert_double_equal(m.auc, 5.0 / 6, 1e-15);
    assert_double_equal(m.accuracy, 0.8, 1e-15);
    assert_int_equal(confusion[0], 2);
    assert_int_equal(confusion[2], 1);
    assert_int_equal(confusion[3], 2);
    double loss =
        log1p(exp(-2)) + log1p(exp(1)) + log1p(exp(-0.5)) + log1p(exp(-1)) + log1p(exp(-3));
    assert_double_equal(m.log_loss, loss / 5, 1e-14);
    const double tied[] = { 1, 1 };
    const int64_t both[] = { 0, 1 };
    assert_ok(attsvm_measure(&m, tied, both, 2, 2, NULL, &err), err);
    assert_double_equal(m.auc, 0.5, 0);
}

static void folds_are_stratified(void **state)
{
    (void)state;
    attsvm_error err;
    int64_t label[50], fold[50], count[5][2] = { { 0 } };
    for (int64_t i = 0; i < 50; i++)
        label[i] = i < 20;
    assert_ok(attsvm_cv_folds(label, 50, 2, 5, 1, fold, &err), err);
    for (int64_t i = 0; i < 50; i++)
        count[fold[i]][label[i]]++;
    for (int k = 0; k < 5; k++) {
        assert_int_equal(count[k][0], 6);
        assert_int_equal(count[k][1], 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_agrees_with_differences),
        cmocka_unit_test(slopes_at_saturation_keep_their_direction),
        cmocka_unit_test(beta_at_saturation),
        cmocka_unit_test(contributions_and_bias_are_the_score),
        cmocka_unit_test(the_planted_token_decides),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(bags_of_weight_zero_do_not_count),
        cmocka_unit_test(a_saved_model_predicts_the_same_bytes),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(measures_of_a_handful),
        cmocka_unit_test(folds_are_stratified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
