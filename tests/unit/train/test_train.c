/*
 * train: the step rules, growth and geometry (theory, section 6), stopping, mini-batches,
 * checkpoints, batches of runs.
 */
#include "unit_train.h"

static const double *values(const attsvm_train *t, const char *name)
{
    const attsvm_array *array = attsvm_train_find(t, name);
    assert_non_null(array);
    return array->data;
}

/* n=6, T=8, d=40, step 0.1: the norm grows by the step to the end, far beyond what a double holds.
 */
static void two_hundred_thousand_steps(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 6, 8, 40, .seed = 1);
    attsvm_train *t = run(
        data, (setting[]){
                  { "model", "p" }, { "iters", "200000" }, { "record", "20000" }, { NULL, NULL } });
    attsvm_train_info info = attsvm_train_describe(t);
    const double *norm = values(t, "trace_norm"), *scale = values(t, "trace_grad_log_scale");
    print_message("norm %.1f, gradient exp(%.1f), excess exp(%.1f)\n", info.norm,
                  info.grad_log_scale, info.log_excess);
    assert_true(info.norm > 19900 && info.norm <= 20000);
    assert_true(info.grad_log_scale < -2000 && isfinite(info.grad_log_scale));
    assert_true(isfinite(info.log_excess) && info.log_excess < -2000);
    for (int k = 1; k <= 10; k++) {
        assert_true(norm[k] > norm[k - 1] + 1900); /* no stall: 20000 steps of 0.1 */
        assert_true(scale[k] < scale[k - 1]);
    }
    attsvm_train_free(t);
    attsvm_data_free(data);
}

/* Theory 6.4: attention sparsifies; NGD grows linearly in steps, GD logarithmically. */
static void theory_6_4_growth_of_the_norm(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 4, 5, 20, .seed = 2);
    attsvm_train *ngd =
        run(data, (setting[]){ { "iters", "4000" }, { "record", "1000" }, { NULL, NULL } });
    attsvm_train *gd = run(data, (setting[]){ { "step", "gd" },
                                              { "lr", "5" },
                                              { "iters", "100000" },
                                              { "record", "10" },
                                              { NULL, NULL } });
    const double *fast = values(ngd, "trace_norm"), *slow = values(gd, "trace_norm");
    for (int k = 2; k <= 4; k++)
        assert_true(fabs((fast[k] - fast[k - 1]) / 100 - 1) < 0.02);
    /* the same gain for every factor of ten */
    double first = slow[1000] - slow[100], second = slow[10000] - slow[1000];
    print_message("gd: |p| gains %.3f from 1e3 to 1e4 steps, %.3f from 1e4 to 1e5\n", first,
                  second);
    assert_true(fabs(second / first - 1) < 0.15);
    attsvm_train_info info = attsvm_train_describe(ngd);
    assert_true(info.softmax_min > 1 - 1e-12 && info.entropy < 1e-9);
    attsvm_train_free(gd);
    attsvm_train_free(ngd);
    attsvm_data_free(data);
}

/* Theory 6.5: GD on W with fixed p is GD on the vector W'p with step lr |p|^2. */
static void theory_6_5_matrix_and_prompt_descend_alike(void **state)
{
    (void)state;
    enum { N = 5, T = 6, D = 4 };
    double X[N * T * D], v[D], p[D], square = 0;
    int64_t Y[N];
    base_random r = base_random_stream(17, 0);
    base_random_gauss_fill(&r, X, N * T * D);
    base_random_gauss_fill(&r, v, D);
    base_random_gauss_fill(&r, p, D);
    for (int i = 0; i < N; i++)
        Y[i] = i % 2 ? 1 : -1;
    for (int j = 0; j < D; j++)
        square += p[j] * p[j];
    problem both = { .count = 0 };
    add(&both, "X", (attsvm_array){ X, { N, T, D }, 3, ATTSVM_F64 });
    add(&both, "Y", (attsvm_array){ Y, { N }, 1, ATTSVM_I64 });
    add(&both, "v", (attsvm_array){ v, { D }, 1, ATTSVM_F64 });
    add(&both, "p", (attsvm_array){ p, { D }, 1, ATTSVM_F64 });
    make(&both);
    attsvm_train *matrix = run(both.data, (setting[]){ { "model", "pW" },
                                                       { "step", "gd" },
                                                       { "lr", "0.3" },
                                                       { "iters", "500" },
                                                       { "record", "1" },
                                                       { NULL, NULL } });
    attsvm_train *vector = run(both.data, (setting[]){ { "model", "p" },
                                                       { "step", "gd" },
                                                       { "lr", text(0.3 * square) },
                                                       { "iters", "500" },
                                                       { "record", "1" },
                                                       { NULL, NULL } });
    const double *W = values(matrix, "trace_W"), *q = values(vector, "trace_p");
    for (int k = 0; k <= 500; k++) {
        double error = 0, norm = 0;
        for (int j = 0; j < D; j++) {
            double product = 0; /* (W'p)_j */
            for (int i = 0; i < D; i++)
                product += W[(k * D + i) * D + j] * p[i];
            error += pow(product - q[k * D + j], 2);
            norm += pow(q[k * D + j], 2);
        }
        assert_true(sqrt(error) <= 1e-12 * (sqrt(norm) + 1e-3));
    }
    attsvm_train_free(vector);
    attsvm_train_free(matrix);
    attsvm_data_free(both.data);
}

static double cosine(const double *x, const double *y, int64_t count)
{
    return la_dot(x, y, count) / (la_norm(x, count) * la_norm(y, count));
}

/* Theory 6.11: the loss shapes the early path, not the limit. */
static void theory_6_11_losses_share_their_limit(void **state)
{
    (void)state;
    static const char *const losses[] = { "logistic", "exp", "linear" };
    attsvm_data *data = generated(ATTSVM_SPHERE, 3, 4, 12, .seed = 8);
    attsvm_train *runs[3];
    for (int l = 0; l < 3; l++)
        runs[l] = run(data, (setting[]){ { "loss", losses[l] },
                                         { "iters", "20000" },
                                         { "record", "10" },
                                         { NULL, NULL } });
    for (int l = 1; l < 3; l++) {
        const double *a = values(runs[0], "trace_p"), *b = values(runs[l], "trace_p");
        double early = cosine(a + 12, b + 12, 12),
               late = cosine(values(runs[0], "p"), values(runs[l], "p"), 12);
        print_message("%s: 1 - cosine to logistic %.2g after 10 steps, %.2g after 20000\n",
                      losses[l], 1 - early, 1 - late);
        assert_true(1 - late < 1e-5);
        assert_true(1 - late < 0.1 * (1 - early));
        assert_memory_equal(values(runs[0], "ids"), values(runs[l], "ids"), 3 * sizeof(int64_t));
    }
    for (int l = 0; l < 3; l++)
        attsvm_train_free(runs[l]);
    attsvm_data_free(data);
}

/* -------------------------------------------------------------------- step rules */

/* Step t has the size lr/(t+1)^decay. */
static void steps_decay(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 4, 3, 5, .seed = 8);
    attsvm_train *t = run(data, (setting[]){ { "step", "ngd" },
                                             { "lr", "0.5" },
                                             { "decay", "0.5" },
                                             { "iters", "6" },
                                             { "record", "1" },
                                             { NULL, NULL } });
    const attsvm_array *p = attsvm_train_find(t, "trace_p");
    for (int64_t k = 1; k <= 6; k++) {
        double square = 0;
        for (int64_t j = 0; j < 5; j++) {
            double moved = attsvm_array_get(p, k * 5 + j) - attsvm_array_get(p, (k - 1) * 5 + j);
            square += moved * moved;
        }
        assert_double_equal(sqrt(square), 0.5 / sqrt((double)k), 1e-14);
    }
    attsvm_train_free(t);
    attsvm_data_free(data);
}

/* 1/2, 1/4, 1/8, ...; NaN from step *context on. */
static double halves(void *context, int64_t step)
{
    return step < *(const int64_t *)context ? ldexp(1, -1 - (int)step) : (double)NAN;
}

/* The caller's step sizes are used, also in a batch, and checked. */
static void a_schedule_sets_the_steps(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 4, 3, 5, .seed = 8);
    attsvm_train_settings s;
    attsvm_train *t;
    attsvm_error err;
    int64_t until = 6;
    attsvm_schedule_callback schedule = { halves, &until };
    attsvm_train_settings_init(&s);
    s.iters = 6;
    assert_int_equal(attsvm_train_create(&t, data, &s, NULL, NULL, &err), ATTSVM_OK);
    assert_int_equal(attsvm_train_schedule(t, NULL, &err), ATTSVM_E_ARG);
    assert_int_equal(attsvm_train_schedule(t, &schedule, &err), ATTSVM_OK);
    assert_int_equal(attsvm_train_run_batch(&t, 1, 1, NULL, NULL, &err), ATTSVM_OK);
    assert_true(attsvm_train_describe(t).norm <= 1);
    assert_int_equal(attsvm_train_schedule(t, &schedule, &err), ATTSVM_E_ARG);
    until = 7;
    assert_int_equal(attsvm_train_continue(t, 8, NULL, NULL, &err), ATTSVM_E_ARG);
    assert_non_null(strstr(err.message, "step 7"));
    attsvm_train_free(t);
    s.checkpoint = "state.npz";
    assert_int_equal(attsvm_train_create(&t, data, &s, NULL, NULL, &err), ATTSVM_OK);
    assert_int_equal(attsvm_train_schedule(t, &schedule, &err), ATTSVM_E_ARG);
    attsvm_train_free(t);
    attsvm_data_free(data);
}

/*
 * Every rule on every model: finite, and with a lower loss than at the start (Polyak's step claims
 * that for a fixed head only).
 */
static void every_rule_descends(void **state)
{
    (void)state;
    static const char *const rules[] = { "gd",       "ngd",    "polyak",     "md:3",
                                         "nmd:1.75", "sign",   "coordinate", "spectral",
                                         "momentum", "adam",   "rescale:2",  "signum",
                                         "muon",     "nuclear" };
    static const char *const models[] = { "p", "W", "KQ", "vp", "vpW", "vW", "vKQ" };
    attsvm_data *data = generated(ATTSVM_SPHERE, 6, 5, 6, .queries = 1, .seed = 21);
    for (int k = 0; k < 14; k++)
        for (int m = 0; m < 7; m++) {
            attsvm_train *t = run(data, (setting[]){ { "model", models[m] },
                                                     { "step", rules[k] },
                                                     { "lr", "0.05" },
                                                     { "init", "gauss:0.3" },
                                                     { "iters", "300" },
                                                     { "record", "log" },
                                                     { NULL, NULL } });
            const attsvm_array *loss = attsvm_train_find(t, "trace_loss");
            double first = attsvm_array_get(loss, 0);
            double last = attsvm_array_get(loss, loss->shape[0] - 1);
            bool claims = strcmp(rules[k], "polyak") != 0 || models[m][0] != 'v';
            if (!(claims ? last < first : isfinite(last)))
                fail_msg("model %s, step %s: loss %g to %g", models[m], rules[k], first, last);
            assert_int_equal(
                attsvm_array_get(attsvm_train_find(t, "trace_iter"), loss->shape[0] - 1), 300);
            attsvm_train_free(t);
        }
    attsvm_data_free(data);
}

/* ---------------------------------------------------------- stopping, state, batches */

static void early_stops(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 4, 5, 20, .seed = 3);
    attsvm_train *t =
        run(data, (setting[]){ { "iters", "100000" }, { "stop_norm", "50" }, { NULL, NULL } });
    attsvm_train_info info = attsvm_train_describe(t);
    assert_int_equal(info.outcome, ATTSVM_TRAIN_NORM);
    assert_true(info.norm > 50 && info.norm <= 50.1);
    attsvm_train_free(t);
    t = run(data, (setting[]){ { "iters", "1000000" },
                               { "stop_direction", "1e-3" },
                               { "record", "log" },
                               { NULL, NULL } });
    info = attsvm_train_describe(t);
    assert_int_equal(info.outcome, ATTSVM_TRAIN_DIRECTION);
    assert_true(info.direction_change < 1e-3 && info.iters % 100 == 0 && info.iters < 1000000);
    const attsvm_array *iter = attsvm_train_find(t, "trace_iter");
    assert_int_equal(attsvm_array_get(iter, iter->shape[0] - 1), info.iters);
    attsvm_train_free(t);
    t = run(data,
            (setting[]){ { "iters", "1000000000" }, { "time_limit", "0.05" }, { NULL, NULL } });
    assert_int_equal(attsvm_train_describe(t).outcome, ATTSVM_TRAIN_TIME);
    attsvm_train_free(t);
    attsvm_data_free(data);
}

static bool stop_at_70(void *context, const attsvm_train *train, const attsvm_train_info *info)
{
    (void)train;
    ++*(int *)context;
    return info->iters < 70;
}

static void observer_can_stop(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 4, 5, 20, .seed = 3);
    attsvm_train_settings settings;
    attsvm_train *t;
    attsvm_error err;
    int calls = 0;
    attsvm_train_settings_init(&settings);
    settings.observe = 10;
    settings.record = "7";
    assert_ok(attsvm_train_create(&t, data, &settings, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(t, stop_at_70, &calls, &err), err);
    assert_int_equal(calls, 8); /* 0, 10, ..., 70 */
    assert_int_equal(attsvm_train_describe(t).outcome, ATTSVM_TRAIN_OBSERVER);
    assert_int_equal(attsvm_train_describe(t).iters, 70);
    assert_int_equal(attsvm_train_find(t, "trace_iter")->shape[0], 11);
    assert_fails(attsvm_train_run(t, NULL, NULL, &err), err, ATTSVM_E_ARG, "finished");
    attsvm_train_free(t);
    attsvm_data_free(data);
}

/* A run in two parts, joined by a checkpoint, ends with the same bytes as one run. */
static void resumed_runs_are_identical(void **state)
{
    (void)state;
    static const char *const rules[] = { "ngd",      "adam",   "nmd:3", "rescale:2",
                                         "momentum", "signum", "muon" };
    char file[64];
    snprintf(file, sizeof file, "/tmp/attsvm-test-%d.npz", (int)getpid());
    attsvm_data *data = generated(ATTSVM_SPHERE, 6, 5, 6, .queries = 1, .seed = 21);
    for (int k = 0; k < 7; k++) {
        const char *batch = k % 2 ? "4" : "0";
        setting common[] = { { "model", "vKQ" },    { "step", rules[k] }, { "batch", batch },
                             { "init", "gauss:1" }, { "record", "30" },   { "iters", "700" },
                             { NULL, NULL },        { NULL, NULL },       { NULL, NULL },
                             { NULL, NULL } };
        attsvm_train *whole = run(data, common);
        common[5].value = "333";
        common[6] = (setting){ "checkpoint", file };
        common[7] = (setting){ "every", "50" };
        attsvm_train_free(run(data, common));
        common[5].value = "700";
        common[8] = (setting){ "resume", "yes" };
        attsvm_train *second = run(data, common);
        assert_int_equal(attsvm_train_count(whole), attsvm_train_count(second));
        for (int64_t a = 0; a < attsvm_train_count(whole); a++) {
            const attsvm_array *x = &attsvm_train_array(whole, a)->array;
            const attsvm_array *y = &attsvm_train_array(second, a)->array;
            assert_int_equal(attsvm_array_count(x), attsvm_array_count(y));
            assert_memory_equal(x->data, y->data,
                                (size_t)attsvm_array_count(x) * attsvm_dtype_size(x->dtype));
        }
        attsvm_train_free(second);
        attsvm_train_free(whole);
    }
    /* another run does not resume from it */
    attsvm_train_settings settings;
    attsvm_train *t;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.checkpoint = file;
    settings.resume = true;
    assert_ok(attsvm_train_create(&t, data, &settings, NULL, NULL, &err), err);
    assert_fails(attsvm_train_run(t, NULL, NULL, &err), err, ATTSVM_E_ARG, "another run");
    attsvm_train_free(t);
    unlink(file);
    attsvm_data_free(data);
}

/* A batch of runs over 1, 2 and 3 threads: the same bytes. */
static void batches_of_runs(void **state)
{
    (void)state;
    enum { RUNS = 20 };
    attsvm_data *data[RUNS];
    double first[RUNS][100];
    attsvm_error err;
    for (int k = 0; k < RUNS; k++)
        data[k] = generated(ATTSVM_SPHERE, 6, 8, 10, .queries = 1, .seed = k);
    for (int threads = 1; threads <= 3; threads++) {
        attsvm_train *runs[RUNS];
        attsvm_train_settings settings;
        attsvm_train_settings_init(&settings);
        settings.model = ATTSVM_MODEL_W;
        settings.init = "uniform:0.316";
        settings.iters = 500;
        for (int k = 0; k < RUNS; k++) {
            settings.seed = k;
            assert_ok(attsvm_train_create(&runs[k], data[k], &settings, NULL, NULL, &err), err);
        }
        assert_ok(attsvm_train_run_batch(runs, RUNS, threads, NULL, NULL, &err), err);
        for (int k = 0; k < RUNS; k++) {
            if (threads == 1)
                memcpy(first[k], values(runs[k], "W"), sizeof first[k]);
            assert_memory_equal(first[k], values(runs[k], "W"), sizeof first[k]);
            attsvm_train_free(runs[k]);
        }
    }
    for (int k = 0; k < RUNS; k++)
        attsvm_data_free(data[k]);
}

static void bad_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *says;
    } cases[] = {
        { "head", "relu", "V" },
        { "eps", "1e-9,", "E,E_V" },
        { "record", "0", "record" },
        { "record", "often", "often" },
        { "init", "uniform:x", "uniform:" },
        { "init", "file", "init_p" },
        { "query", "1", "prompt" },
        { "rank", "3", "rank" },
        { "batch", "100", "100" },
        { "lstar", "0.1", "lstar" },
        { "resume", "yes", "checkpoint" },
    };
    attsvm_data *data = generated(ATTSVM_SPHERE, 6, 5, 6, .queries = 1, .seed = 21);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_train_settings settings;
        attsvm_train *t;
        attsvm_error err;
        attsvm_train_settings_init(&settings);
        assert_ok(attsvm_settings_set(&attsvm_train_table, &settings, cases[k].name, cases[k].value,
                                      &err),
                  err);
        attsvm_status status = attsvm_train_create(&t, data, &settings, NULL, NULL, &err);
        if (status == ATTSVM_OK || !strstr(err.message, cases[k].says))
            fail_msg("%s = %s: status %d, %s", cases[k].name, cases[k].value, (int)status,
                     status ? err.message : "");
        assert_null(t);
    }
    attsvm_train_settings settings;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    assert_fails(attsvm_settings_set(&attsvm_train_table, &settings, "step", "newton", &err), err,
                 ATTSVM_E_ARG, "step = newton");
    assert_fails(attsvm_settings_set(&attsvm_train_table, &settings, "loss", "hinge", &err), err,
                 ATTSVM_E_ARG, "loss = hinge");
    assert_string_equal(settings.step, "ngd");
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_decay),
        cmocka_unit_test(a_schedule_sets_the_steps),
        cmocka_unit_test(every_rule_descends),
        cmocka_unit_test(theory_6_4_growth_of_the_norm),
        cmocka_unit_test(theory_6_5_matrix_and_prompt_descend_alike),
        cmocka_unit_test(theory_6_11_losses_share_their_limit),
        cmocka_unit_test(two_hundred_thousand_steps),
        cmocka_unit_test(early_stops),
        cmocka_unit_test(observer_can_stop),
        cmocka_unit_test(resumed_runs_are_identical),
        cmocka_unit_test(batches_of_runs),
        cmocka_unit_test(bad_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
