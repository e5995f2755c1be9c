/* The numbers of a trace, recomputed from its arrays; start values, also from results and
   disturbed; runs that leave the range of doubles. */
#include "unit_train.h"

#include <math.h>
#include <string.h>

enum { N = 6, T = 5, D = 6, RANK = 3 };

static attsvm_train *run_of(const attsvm_data *data, const char *kind, int64_t rank)
{
    attsvm_train_settings settings;
    attsvm_train *t;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    assert_ok(attsvm_settings_set(&attsvm_train_table, &settings, "model", kind, &err), err);
    settings.init = "gauss:0.5";
    settings.record = "20";
    settings.iters = 90;
    settings.rank = rank;
    assert_ok(attsvm_train_create(&t, data, &settings, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(t, NULL, NULL, &err), err);
    return t;
}

static double value_of(const attsvm_train *t, const char *name, int64_t k)
{
    const attsvm_array *array = attsvm_train_find(t, name);
    assert_non_null(array);
    return attsvm_array_get(array, k);
}

/* W of record k: trace_W, or trace_K times trace_Q'. */
static void matrix_at(const attsvm_train *t, int64_t k, int64_t rank, double *W)
{
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j < D; j++) {
            W[i * D + j] = rank > 0 ? 0 : value_of(t, "trace_W", (k * D + i) * D + j);
            for (int64_t r = 0; r < rank; r++)
                W[i * D + j] += value_of(t, "trace_K", (k * D + i) * rank + r) *
                                value_of(t, "trace_Q", (k * D + j) * rank + r);
        }
}

/* Singular values are the roots of the eigenvalues of W W'. */
static void check_matrix(const attsvm_train *t, int64_t k, int64_t rank)
{
    double W[D * D], A[D * D], w[40 * D], sum = 0, entropy = 0;
    assert_true(la_eigenvalues_room(D) <= 40 * D);
    matrix_at(t, k, rank, W);
    la_gemm(false, true, D, D, D, 1, W, D, W, D, 0, A, D);
    assert_int_equal(la_eigenvalues_in(D, A, D, NULL, 0, w), 0);
    for (int j = 0; j < D; j++)
        sum += w[j] = sqrt(fmax(w[j], 0));
    for (int j = 0; j < D; j++)
        entropy -= w[j] > 0 ? w[j] / sum * log(w[j] / sum) : 0;
    assert_true(fabs(value_of(t, "trace_nuclear", k) / sum - 1) < 1e-6);
    assert_true(fabs(value_of(t, "trace_rank", k) / exp(entropy) - 1) < 1e-6);
    if (rank > 0)
        assert_true(value_of(t, "trace_rank", k) <= (double)rank + 1e-9);
}

static void check_attention(const attsvm_train *t, int64_t k)
{
    double least = INFINITY, sum = 0;
    for (int64_t i = 0; i < N; i++) {
        double share = value_of(t, "trace_softmax", k * N + i);
        least = fmin(least, share);
        sum += share;
    }
    assert_true(value_of(t, "trace_softmax_min", k) == least);
    assert_true(fabs(value_of(t, "trace_softmax_mean", k) - sum / N) < 1e-14);
    double tokens = value_of(t, "trace_effective_tokens", k); /* mean of exp: above exp of mean */
    assert_true(tokens >= exp(value_of(t, "trace_entropy", k)) - 1e-12 && tokens <= T + 1e-12);
    assert_true(value_of(t, "trace_margin", k) >= 0);
}

static void numbers_of_records(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        int64_t rank;
    } models[] = { { "p", 0 },  { "vp", 0 },    { "vpW", 0 },   { "W", 0 },
                   { "vW", 0 }, { "KQ", RANK }, { "vKQ", RANK } };
    attsvm_data *data = generated(ATTSVM_SPHERE, N, T, D, .queries = 1, .seed = 21);
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        attsvm_train *t = run_of(data, models[m].kind, models[m].rank);
        attsvm_train_info info = attsvm_train_describe(t);
        bool matrix = strpbrk(models[m].kind, "WK") != NULL;
        int64_t records = attsvm_train_find(t, "trace_iter")->shape[0];
        assert_int_equal(records, 6); /* 0, 20, ..., 80, and 90 */
        for (int64_t k = 0; k < records; k++) {
            check_attention(t, k);
            if (matrix)
                check_matrix(t, k, models[m].rank);
        }
        assert_true((attsvm_train_find(t, "trace_nuclear") != NULL) == matrix);
        assert_true((attsvm_train_find(t, "trace_rank") != NULL) == matrix);
        if (matrix)
            assert_true(info.nuclear == value_of(t, "trace_nuclear", records - 1) &&
                        info.effective_rank == value_of(t, "trace_rank", records - 1));
        attsvm_train_free(t);
    }
    attsvm_data_free(data);
}

/* A run started from the result of another begins where that ended, also in one dimension. */
static void results_are_start_values(void **state)
{
    (void)state;
    static const char *const models[] = { "p", "W", "KQ", "vp", "vpW", "vW", "vKQ" };
    char file[64];
    snprintf(file, sizeof file, "/tmp/attsvm-start-%d.npz", (int)getpid());
    for (int64_t d = 1; d <= 3; d += 2) {
        attsvm_data *data = generated(ATTSVM_GAUSS, 4, 3, d, .queries = 1, .seed = 0);
        attsvm_error err;
        for (int k = 0; k < 7; k++) {
            attsvm_train *first = run(data, (setting[]){ { "model", models[k] },
                                                         { "init", "gauss:1" },
                                                         { "iters", "3" },
                                                         { NULL, NULL } });
            assert_ok(attsvm_archive_write(file, attsvm_train_array(first, 0),
                                           attsvm_train_count(first), &err),
                      err);
            attsvm_train *second = run(data, (setting[]){ { "model", models[k] },
                                                          { "init", file },
                                                          { "iters", "0" },
                                                          { NULL, NULL } });
            assert_int_equal(first->m->size, second->m->size);
            assert_memory_equal(first->theta, second->theta,
                                (size_t)first->m->size * sizeof(double));
            attsvm_train_free(second);
            attsvm_train_free(first);
        }
        attsvm_data_free(data);
    }
    unlink(file);
}

/* Normalised steps have the length lr, however small the tokens are and however large lr is. */
static void small_tokens_move_as_far(void **state)
{
    (void)state;
    static const char *const rules[] = { "ngd", "polyak", "nmd:2", "nmd:3", "rescale" };
    static const struct {
        double size, lr;
    } cases[] = { { 1e-100, 1e150 }, { 1e-155, 0.5 }, { 1e-100, 1e-3 }, { 1, 1e299 } };
    const double Y[] = { 1, 1 }, v[] = { 1, 0 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
            const double s = cases[c].size, X[] = { s, 0, 0, 0, s, 0, 0, 0 };
            problem p = { .count = 0 };
            add(&p, "X", (attsvm_array){ X, { 2, 2, 2 }, 3, ATTSVM_F64 });
            add(&p, "Y", (attsvm_array){ Y, { 2 }, 1, ATTSVM_F64 });
            add(&p, "v", (attsvm_array){ v, { 2 }, 1, ATTSVM_F64 });
            make(&p);
            attsvm_train *t = run(p.data, (setting[]){ { "step", rules[k] },
                                                       { "lr", text(cases[c].lr) },
                                                       { "max_step", text(cases[c].lr) },
                                                       { "iters", "1" },
                                                       { NULL, NULL } });
            double moved = k == 3 ? t->theta[0] * t->theta[0] : t->theta[0]; /* u of nmd:3 */
            if (k == 1) /* (L - L*)/|grad| is beyond lr, or about 2 ln 2/size */
                assert_true(moved > 0 && moved <= cases[c].lr);
            else
                assert_double_equal(moved / cases[c].lr, 1, 1e-10);
            attsvm_train_free(t);
            attsvm_data_free(p.data);
        }
}

/* A run that leaves the range of doubles says so, whatever is trained, and keeps no checkpoint. */
static void divergence_is_told(void **state)
{
    (void)state;
    static const char *const models[] = { "vp", "vW" };
    static const char checkpoint[] = "test_train_divergence.npz";
    attsvm_data *data = generated(ATTSVM_PLANTED_P, 6, 5, 4, .seed = 0);
    attsvm_error err;
    for (int k = 0; k < 2; k++) {
        const setting list[] = { { "model", models[k] }, { "loss", "exp" },
                                 { "step", "gd" },       { "lr", "1e3" },
                                 { "init", "gauss:3" },  { "checkpoint", checkpoint },
                                 { "iters", "1000" },    { NULL, NULL } };
        attsvm_train_settings settings;
        attsvm_train *t;
        attsvm_train_settings_init(&settings);
        for (const setting *s = list; s->name; s++)
            assert_ok(attsvm_settings_set(&attsvm_train_table, &settings, s->name, s->value, &err),
                      err);
        assert_ok(attsvm_train_create(&t, data, &settings, NULL, NULL, &err), err);
        assert_int_equal(attsvm_train_run(t, NULL, NULL, &err), ATTSVM_E_NUMERIC);
        assert_non_null(strstr(err.message, "range of doubles"));
        assert_non_null(strstr(err.message, "lr = 1000 or fewer steps, or scale the tokens"));
        assert_int_equal(access(checkpoint, F_OK), -1);
        attsvm_train_free(t);
    }
    attsvm_data_free(data);
}

/* Status and message of three steps on two sequences of tokens of that size, the head of another.
 */
static attsvm_status run_large(double size, double head, const char *kind, const char *init,
                               attsvm_error *err)
{
    double X[] = { 1, 0, 0, 1, 0.5, 0.5, 2, 1, 0, -1, 1, 0.25 }, v[] = { head, 0.5 * head };
    const double Y[] = { 1, -1 };
    for (size_t k = 0; k < sizeof X / sizeof *X; k++)
        X[k] *= size;
    problem p = { .count = 0 };
    add(&p, "X", (attsvm_array){ X, { 2, 3, 2 }, 3, ATTSVM_F64 });
    add(&p, "Y", (attsvm_array){ Y, { 2 }, 1, ATTSVM_F64 });
    add(&p, "v", (attsvm_array){ v, { 2 }, 1, ATTSVM_F64 });
    make(&p);
    attsvm_train_settings settings;
    attsvm_train *t;
    attsvm_train_settings_init(&settings);
    assert_ok(attsvm_settings_set(&attsvm_train_table, &settings, "model", kind, err), *err);
    settings.init = init;
    settings.iters = 3;
    assert_ok(attsvm_train_create(&t, p.data, &settings, NULL, NULL, err), *err);
    attsvm_status status = attsvm_train_run(t, NULL, NULL, err);
    attsvm_train_free(t);
    attsvm_data_free(p.data);
    return status;
}

/* Finite tokens whose logits or gradients overflow are reported at once. */
static void products_beyond_doubles_are_told(void **state)
{
    (void)state;
    static const struct {
        double size, head;
        const char *kind, *init, *says;
    } cases[] = {
        { 1e200, 1e-200, "p", "gauss:1e200", "after 0 steps the logits of sequence 0 (query 0)" },
        { 1e200, 1e-200, "W", "gauss:1e-80", "after 0 steps the logits of sequence 0 (query 0)" },
        { 1e200, 1e-200, "KQ", "auto", "after 0 steps the logits of sequence 0 (query 0)" },
        { 1e200, 1e-200, "vp", "gauss:1e200", "after 0 steps entry 0 of the gradient of v" },
        { 1e200, 1, "p", "zero", "after 0 steps entry 0 of the gradient of p" },
        { 1e200, 1, "vp", "zero", "after 0 steps entry 0 of the gradient of p" },
        { 1e150, 1, "p", "zero", NULL },        /* the gradient is 1e300      */
        { 1e200, 1e-200, "p", "zero", NULL },   /* the logits are             */
        { 1, 1, "p", "gauss:1e300", NULL },     /* these too                  */
        { 1e200, 0, "p", "gauss:1e100", NULL }, /* no gradient: equal scores */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_error err = { .message = "" };
        attsvm_status status =
            run_large(cases[k].size, cases[k].head, cases[k].kind, cases[k].init, &err);
        assert_int_equal(status, cases[k].says ? ATTSVM_E_NUMERIC : ATTSVM_OK);
        if (cases[k].says)
            assert_non_null(strstr(err.message, cases[k].says));
    }
}

/* theta at the start, before any step. */
static attsvm_train *start_of(const attsvm_data *data, const char *kind, const char *init,
                              const char *size, const char *seed)
{
    return run(data, (setting[]){ { "model", kind },
                                  { "init", init },
                                  { "disturb", size },
                                  { "disturb_seed", seed },
                                  { "iters", "0" },
                                  { NULL, NULL } });
}

/* x (1 + 1e-6 u), 1e-6 u where x = 0, the same for the same seed; but v = 0 stays: the gradient of
   p is zero there, and a normalised step would make a full step of the noise. */
static void disturbed_starts_are_near(void **state)
{
    (void)state;
    static const struct {
        const char *model, *init;
    } cases[] = { { "p", "zero" },       { "W", "gauss:1" },  { "KQ", "gauss:1" },
                  { "vp", "zero" },      { "vpW", "zero" },   { "vpW", "gauss:1" },
                  { "vW", "uniform:1" }, { "vKQ", "gauss:1" } };
    problem p = { .count = 0 };
    double X[4 * 3 * 5];
    const double Y[4] = { 1, -1, 1, -1 };
    for (int k = 0; k < 4 * 3 * 5; k++)
        X[k] = sin(1 + k * k);
    add(&p, "X", (attsvm_array){ X, { 4, 3, 5 }, 3, ATTSVM_F64 });
    add(&p, "Y", (attsvm_array){ Y, { 4 }, 1, ATTSVM_F64 });
    add(&p, "v", (attsvm_array){ X, { 5 }, 1, ATTSVM_F64 });
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *kind = cases[k].model, *init = cases[k].init;
        p.count = kind[0] == 'v' ? 2 : 3;
        make(&p);
        attsvm_train *plain = start_of(p.data, kind, init, "0", "7");
        attsvm_train *first = start_of(p.data, kind, init, "1e-6", "7");
        attsvm_train *again = start_of(p.data, kind, init, "1e-6", "7");
        attsvm_train *other = start_of(p.data, kind, init, "1e-6", "8");
        const int64_t size = plain->m->size;
        assert_memory_equal(first->theta, again->theta, (size_t)size * sizeof(double));
        for (int b = 0; b < plain->m->parameters; b++) {
            const model_parameter *block = &plain->m->parameter[b];
            const bool stays = strcmp(init, "zero") == 0 && (block->head || strlen(kind) == 3);
            for (int64_t j = block->offset; j < block->offset + block->count; j++) {
                double x = plain->theta[j], y = first->theta[j], scale = x == 0 ? 1 : fabs(x);
                assert_true(fabs(y - x) <= 1e-6 * scale);
                assert_true((y == x) == stays && (y == other->theta[j]) == stays);
            }
        }
        attsvm_train_free(plain);
        attsvm_train_free(first);
        attsvm_train_free(again);
        attsvm_train_free(other);
        attsvm_data_free(p.data);
    }
}

/* Runs in a batch start where single runs do. */
static void runs_side_by_side_are_disturbed_alike(void **state)
{
    (void)state;
    enum { RUNS = 9 };
    attsvm_data *data = generated(ATTSVM_SPHERE, 4, 3, 5, .queries = 1, .seed = 3);
    attsvm_train *alone = run(data, (setting[]){ { "model", "W" },
                                                 { "init", "gauss:1" },
                                                 { "disturb", "0.01" },
                                                 { "iters", "20" },
                                                 { NULL, NULL } });
    attsvm_train *runs[RUNS];
    attsvm_train_settings settings;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.model = ATTSVM_MODEL_W;
    settings.init = "gauss:1";
    settings.disturb = 0.01;
    settings.iters = 20;
    for (int k = 0; k < RUNS; k++)
        assert_ok(attsvm_train_create(&runs[k], data, &settings, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run_batch(runs, RUNS, 1, NULL, NULL, &err), err);
    for (int k = 0; k < RUNS; k++) {
        for (int64_t j = 0; j < alone->m->size; j++)
            assert_double_equal(runs[k]->theta[j], alone->theta[j], 1e-12);
        attsvm_train_free(runs[k]);
    }
    attsvm_train_free(alone);
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_of_records),
                                        cmocka_unit_test(disturbed_starts_are_near),
                                        cmocka_unit_test(runs_side_by_side_are_disturbed_alike),
                                        cmocka_unit_test(results_are_start_values),
                                        cmocka_unit_test(small_tokens_move_as_far),
                                        cmocka_unit_test(divergence_is_told),
                                        cmocka_unit_test(products_beyond_doubles_are_told) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
