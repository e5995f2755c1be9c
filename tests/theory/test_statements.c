/*
 * Statements of theory, section 6, each a test named after it, with fixed seeds.  Elsewhere: 4, 5
 * and 11 in tests/unit/train/test_train.c (theory_6_4_growth_of_the_norm,
 * theory_6_5_matrix_and_prompt_descend_alike, theory_6_11_losses_share_their_limit).
 */
#include "generated.h"

#include "theory/theory.h"

enum { MOST = 4096 };

/* The same arrays and a start value W (d,d). */
static attsvm_data *with_start(const attsvm_data *data, const double *W)
{
    attsvm_named_array arrays[16];
    attsvm_data *out;
    attsvm_error err;
    for (int64_t k = 0; k < data->count; k++)
        arrays[k] = data->arrays[k];
    arrays[data->count] =
        (attsvm_named_array){ "init_W", { W, { data->d, data->d }, 2, ATTSVM_F64 } };
    assert_ok(attsvm_data_create(&out, arrays, data->count + 1, NULL, &err), err);
    return out;
}

/* Random tokens and queries; the last coordinate is the score: 1 for token 0, .5 for the others. */
typedef struct equal {
    double X[MOST], Z[MOST], Y[16], v[64], W[MOST];
    attsvm_data *data;
} equal;

static void make_equal(equal *e, int64_t n, int64_t T, int64_t d, uint64_t seed, bool prompt)
{
    base_random r = base_random_stream(seed, 0);
    attsvm_error err;
    base_random_gauss_fill(&r, e->X, n * T * d);
    base_random_gauss_fill(&r, e->Z, n * d);
    for (int64_t k = 0; k < n * T; k++)
        e->X[k * d + d - 1] = k % T == 0 ? 1 : .5;
    for (int64_t j = 0; j < d; j++)
        e->v[j] = j == d - 1;
    for (int64_t k = 0; k < d * d; k++)
        e->W[k] = k / d == k % d && k / d < d - 1;
    for (int64_t i = 0; i < n; i++)
        e->Y[i] = 1;
    attsvm_named_array arrays[] = {
        { "X", { e->X, { n, T, d }, 3, ATTSVM_F64 } },
        { "Y", { e->Y, { n }, 1, ATTSVM_F64 } },
        { "v", { e->v, { d }, 1, ATTSVM_F64 } },
        { prompt ? "W" : "Z", { prompt ? e->W : e->Z, { prompt ? d : n, d }, 2, ATTSVM_F64 } },
    };
    assert_ok(attsvm_data_create(&e->data, arrays, 4, NULL, &err), err);
}

typedef struct options {
    attsvm_model_kind model;
    const char *step, *init;
    double lr;
    int64_t iters, seed;
} options;

static attsvm_train *create(const attsvm_data *data, options o)
{
    attsvm_train_settings settings;
    attsvm_train *run;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.model = (int32_t)o.model;
    settings.step = o.step ? o.step : "ngd";
    settings.init = o.init;
    settings.lr = o.lr > 0 ? o.lr : 0.1;
    settings.iters = o.iters;
    settings.seed = o.seed;
    settings.threads = 1;
    assert_ok(attsvm_train_create(&run, data, &settings, NULL, NULL, &err), err);
    return run;
}

static attsvm_verdict judge(attsvm_train *run, const attsvm_svm_settings *svm)
{
    attsvm_verdict v;
    attsvm_error err;
    if (attsvm_train_describe(run).outcome == ATTSVM_TRAIN_NOT_RUN)
        assert_ok(attsvm_train_run_batch(&run, 1, 1, NULL, NULL, &err), err);
    assert_ok(attsvm_verdict_compute(&v, run, svm, NULL, NULL, NULL, &err), err);
    return v;
}

/* One sequence: from any start.  Several: from 0 with these data; the next tests show others. */
static void theory_6_1_equal_scores_lead_to_the_optimum(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 20; k++) {
        equal e;
        attsvm_conditions c;
        attsvm_error err;
        int64_t n = k % 2 ? 3 : 1;
        const char *init = n == 1 ? "gauss:0.5" : "zero";
        make_equal(&e, n, 4, 11, 100 + k, true);
        attsvm_train *run =
            create(e.data, (options){ ATTSVM_MODEL_P, "ngd", init, 0.1, 5000, (int64_t)k });
        attsvm_verdict v = judge(run, NULL);
        assert_ok(attsvm_conditions_compute(&c, run, NULL, NULL, &err), err);
        assert_true(c.equal_scores && c.unique_optimal && c.feasible && c.wide);
        assert_int_equal(v.kind, ATTSVM_VERDICT_GLOBAL);
        assert_true(v.correlation > 0.999);
        attsvm_train_free(run);
        run = create(e.data, (options){ ATTSVM_MODEL_P, "gd", init, 1, 30000, (int64_t)k });
        v = judge(run, NULL);
        assert_true(v.optimality.global && v.correlation > 0.7);
        attsvm_train_free(run);
        attsvm_data_free(e.data);
    }
}

/*
 * With several sequences not from every start.  Keys and scores:
 *
 *   sequence 0   (1,0) of score 1, (0,0) of .5     margin of the best token   p_1
 *   sequence 1   (-2,1) of score 1, (0,0) of .5                               p_2 - 2 p_1
 *
 * p = (1,3) separates the best tokens.  At p = (x,y) with x > y sequence 0 pulls along (1,0) with
 * weight about e^-x, sequence 1 along (-2,1) with e^-(2x-y): dy/dx is of order e^-(x-y), and its
 * integral from (5,0) on is finite.  So y stays near 0, x grows without bound, and sequence 1 keeps
 * its wrong token, in the flow and for any step.  The selection is locally optimal (theory 5): the
 * best token of sequence 1 is no support token.
 */
static void theory_6_1_does_not_hold_from_every_start(void **state)
{
    (void)state;
    static const double X[12] = { 1, 0, 1, 0, 0, .5, -2, 1, 1, 0, 0, .5 }, Y[2] = { 1, 1 };
    static const double v[3] = { 0, 0, 1 }, W[9] = { 1, 0, 0, 0, 1 }, far[3] = { 5 };
    static const struct {
        const char *step, *init;
        double lr;
        bool global;
    } runs[] = { { "ngd", "file", 0.1, false }, { "ngd", "file", 0.001, false },
                 { "gd", "file", 1, false },    { "gd", "file", 0.01, false },
                 { "ngd", "zero", 0.1, true },  { "gd", "zero", 1, true } };
    attsvm_named_array arrays[] = {
        { "X", { X, { 2, 2, 3 }, 3, ATTSVM_F64 } },  { "Y", { Y, { 2 }, 1, ATTSVM_F64 } },
        { "v", { v, { 3 }, 1, ATTSVM_F64 } },        { "W", { W, { 3, 3 }, 2, ATTSVM_F64 } },
        { "init_p", { far, { 3 }, 1, ATTSVM_F64 } },
    };
    attsvm_data *data;
    attsvm_error err;
    assert_ok(attsvm_data_create(&data, arrays, 5, NULL, &err), err);
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        attsvm_conditions c;
        attsvm_train *run = create(
            data, (options){ ATTSVM_MODEL_P, runs[k].step, runs[k].init, runs[k].lr, 20000, 0 });
        attsvm_verdict verdict = judge(run, NULL);
        assert_ok(attsvm_conditions_compute(&c, run, NULL, NULL, &err), err);
        assert_true(c.equal_scores && c.unique_optimal && c.feasible);
        assert_int_equal(run->m->selected[0], 0);
        assert_int_equal(run->m->selected[1], !runs[k].global);
        assert_true(verdict.optimality.local);
        if (!runs[k].global)
            assert_true(fabs(run->theta[1]) < 0.02 && run->theta[0] > 5);
        attsvm_train_free(run);
    }
    attsvm_data_free(data);
}

/*
 * Nor from 0.  Keys and scores:
 *
 *   sequence 0   (1,0) of score 1, (0,0) of 0         margin of the best token   p_1
 *   sequence 1   (-3.6,1.744) of score .1, (0,0) of 0                            1.744 p_2 - 3.6
 * p_1
 *
 * At 0 sequence 0 pulls ten times as hard, and p_1 grows; then sequence 1 has the wrong token, a
 * locally optimal selection.
 */
static void theory_6_1_does_not_hold_from_zero(void **state)
{
    (void)state;
    static const double X[12] = { 1, 0, 1, 0, 0, 0, -3.6, 1.744, .1, 0, 0, 0 }, Y[2] = { 1, 1 };
    static const double v[3] = { 0, 0, 1 }, W[9] = { 1, 0, 0, 0, 1 };
    static const struct {
        const char *step;
        double lr;
    } runs[] = { { "ngd", 0.1 }, { "ngd", 0.001 }, { "gd", 1 }, { "gd", 0.01 } };
    attsvm_named_array arrays[] = {
        { "X", { X, { 2, 2, 3 }, 3, ATTSVM_F64 } },
        { "Y", { Y, { 2 }, 1, ATTSVM_F64 } },
        { "v", { v, { 3 }, 1, ATTSVM_F64 } },
        { "W", { W, { 3, 3 }, 2, ATTSVM_F64 } },
    };
    attsvm_data *data;
    attsvm_error err;
    assert_ok(attsvm_data_create(&data, arrays, 4, NULL, &err), err);
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        attsvm_conditions c;
        attsvm_train *run =
            create(data, (options){ ATTSVM_MODEL_P, runs[k].step, "zero", runs[k].lr, 100000, 0 });
        attsvm_verdict verdict = judge(run, NULL);
        assert_ok(attsvm_conditions_compute(&c, run, NULL, NULL, &err), err);
        assert_true(c.equal_scores && c.unique_optimal && c.feasible);
        assert_int_equal(run->m->selected[0], 0);
        assert_int_equal(run->m->selected[1], 1);
        assert_true(verdict.optimality.local && !verdict.optimality.global);
        attsvm_train_free(run);
    }
    attsvm_data_free(data);
}

/* Starts near 300 theta/|theta| of a selection, where its optimality is clear; counts the ends. */
typedef struct tally {
    int64_t local, stayed, bad, left;
    double correlation;
} tally;

static void start_at(const attsvm_data *data, const int64_t *alpha, tally *sum)
{
    attsvm_svm_settings svm;
    attsvm_scores *scores;
    attsvm_solution *solution;
    attsvm_optimality found;
    attsvm_error err;
    double W[MOST];
    const int64_t size = data->d * data->d;
    attsvm_svm_settings_init(&svm);
    svm.threads = 1;
    assert_ok(attsvm_scores_create(&scores, data, &svm, &err), err);
    assert_ok(theory_solve(data, &(attsvm_selection){ .alpha = alpha, .terms = data->n }, &svm,
                           NULL, &solution, &err),
              err);
    assert_ok(attsvm_optimality_compute(&found, scores, solution, NULL, 0, &err), err);
    attsvm_svm_info info = attsvm_solution_describe(solution);
    attsvm_claim claim = attsvm_solution_claim(solution);
    bool clear = found.local ? found.advantage > 0.02 : found.advantage < -0.1;
    if (info.outcome == ATTSVM_OPTIMAL && info.margin > 0.1 && clear) {
        base_random r = base_random_stream(7, (uint64_t)alpha[0]);
        base_random_sphere(&r, W, size);
        for (int64_t k = 0; k < size; k++)
            W[k] = 300 / info.norm * claim.theta[k] + 0.05 * W[k];
        attsvm_data *started = with_start(data, W);
        attsvm_train *run =
            create(started, (options){ ATTSVM_MODEL_W, "ngd", "file", 0.1, 4000, 0 });
        attsvm_verdict v = judge(run, NULL);
        bool same = memcmp(run->m->selected, alpha, (size_t)data->n * sizeof *alpha) == 0;
        sum->local += found.local;
        sum->stayed += found.local && same && v.correlation > 0.99;
        sum->bad += !found.local;
        sum->left += !found.local && !same;
        attsvm_train_free(run);
        attsvm_data_free(started);
    }
    attsvm_solution_free(solution);
    attsvm_scores_free(scores);
}

static tally start_everywhere(void)
{
    tally sum = { 0 };
    for (int64_t seed = 0; seed < 8; seed++) {
        attsvm_data *data = generated(ATTSVM_SPHERE, 3, 4, 6, .queries = 1, .seed = 40 + seed);
        for (int64_t k = 0; k < 64; k++)
            start_at(data, (int64_t[]){ k / 16, k / 4 % 4, k % 4 }, &sum);
        attsvm_data_free(data);
    }
    return sum;
}

static void theory_6_2_and_6_3_descent_stays_at_locally_optimal_directions_only(void **state)
{
    (void)state;
    tally sum = start_everywhere();
    print_message("%d of %d locally optimal directions kept, %d of %d others left\n",
                  (int)sum.stayed, (int)sum.local, (int)sum.left, (int)sum.bad);
    assert_true(sum.local >= 8 && sum.bad >= 50);
    assert_int_equal(sum.stayed, sum.local);
    assert_true(sum.left >= sum.bad * 95 / 100);
}

static void theory_6_6_parametrisation_decides_the_norm(void **state)
{
    (void)state;
    double mean[2][2] = { { 0 } };
    enum { RUNS = 12 };
    for (int64_t k = 0; k < RUNS; k++) {
        attsvm_data *data = generated(ATTSVM_SPHERE, 6, 8, 10, .queries = 1, .seed = 500 + k);
        for (int factored = 0; factored < 2; factored++) {
            attsvm_train *run =
                create(data, (options){ factored ? ATTSVM_MODEL_KQ : ATTSVM_MODEL_W, "ngd",
                                        "uniform:0.316", factored ? 0.02 : 0.1, 4000, k });
            for (int nuclear = 0; nuclear < 2; nuclear++) {
                attsvm_svm_settings svm;
                attsvm_svm_settings_init(&svm);
                svm.norm = nuclear ? ATTSVM_NORM_NUC : ATTSVM_NORM_FRO;
                mean[factored][nuclear] += judge(run, &svm).correlation / RUNS;
            }
            attsvm_train_free(run);
        }
        attsvm_data_free(data);
    }
    print_message("W: fro %.4f nuc %.4f; KQ: fro %.4f nuc %.4f\n", mean[0][0], mean[0][1],
                  mean[1][0], mean[1][1]);
    assert_true(mean[0][0] > 0.99 && mean[0][0] > mean[0][1] + 0.05);
    assert_true(mean[1][1] > 0.95 && mean[1][1] > mean[1][0] + 0.05);
}

/* mm-joint-tight: v-SVM (0,1)... all three sequences are at its margin, and nu stays above 0. */
static void theory_6_8_assumption_b_on_the_tight_example(void **state)
{
    (void)state;
    static const double X[12] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, .5, 1 }, Y[3] = { 1, -1, 1 };
    static const double p[2] = { 0, -1 }, v[2] = { -1, 0 };
    attsvm_named_array arrays[] = {
        { "X", { X, { 3, 2, 2 }, 3, ATTSVM_F64 } },
        { "Y", { Y, { 3 }, 1, ATTSVM_F64 } },
        { "init_p", { p, { 2 }, 1, ATTSVM_F64 } },
        { "init_v", { v, { 2 }, 1, ATTSVM_F64 } },
    };
    attsvm_data *data;
    attsvm_joint joint;
    attsvm_error err;
    assert_ok(attsvm_data_create(&data, arrays, 4, NULL, &err), err);
    attsvm_train *run = create(data, (options){ ATTSVM_MODEL_VP, "ngd", "file", 0.1, 1000, 0 });
    assert_int_equal(judge(run, NULL).kind, ATTSVM_VERDICT_GLOBAL);
    assert_ok(attsvm_joint_compute(&joint, run, NULL, NULL, NULL, NULL, &err), err);
    assert_true(joint.all_tight);
    assert_int_equal(joint.tight, 3);
    assert_double_equal(joint.margin, 1, 1e-12);
    assert_double_equal(joint.nu, 0.5, 0.01);
    assert_true(joint.correlation_v > 0.9999 && joint.correlation_relaxed > 0.9999);
    attsvm_train_free(run);
    attsvm_data_free(data);
}

static void count_kinds(int64_t d, int64_t count, int64_t *local, int64_t *global,
                        double *correlation)
{
    *local = *global = 0;
    *correlation = 0;
    for (int64_t k = 0; k < count; k++) {
        char init[32];
        snprintf(init, sizeof init, "uniform:%.6f", 1 / sqrt((double)d));
        attsvm_data *data = generated(ATTSVM_SPHERE, 6, 8, d, .queries = 1, .seed = 9000 + k);
        attsvm_train *run = create(data, (options){ ATTSVM_MODEL_W, "ngd", init, 0.1, 2000, k });
        attsvm_verdict v = judge(run, NULL);
        *global += v.kind == ATTSVM_VERDICT_GLOBAL;
        *local += v.kind == ATTSVM_VERDICT_GLOBAL || v.kind == ATTSVM_VERDICT_LOCAL;
        *correlation += v.correlation / (double)count;
        attsvm_train_free(run);
        attsvm_data_free(data);
    }
}

static void theory_6_10_the_global_share_rises_with_d(void **state)
{
    (void)state;
    int64_t local[3], global[3];
    double correlation[3];
    static const int64_t d[] = { 4, 10, 30 };
    int64_t runs = long_or_short(100, 20);
    for (int k = 0; k < 3; k++) {
        count_kinds(d[k], runs, &local[k], &global[k], &correlation[k]);
        print_message("d = %d: %d locally optimal, %d global of %d, correlation %.4f\n", (int)d[k],
                      (int)local[k], (int)global[k], (int)runs, correlation[k]);
    }
    assert_true(global[0] < global[1] && global[1] < global[2]);
    assert_true(100 * local[1] >= 95 * runs);
    assert_true(100 * global[1] >= 55 * runs && 100 * global[1] <= 85 * runs);
    assert_true(correlation[1] > 0.995);
}

static void theory_6_12_mirror_descent_is_nearest_to_its_own_norm(void **state)
{
    (void)state;
    static const double q[3] = { 1.75, 2, 3 };
    static const char *const steps[3] = { "nmd:1.75", "nmd:2", "nmd:3" };
    double mean[3][3] = { { 0 } };
    enum { RUNS = 8 };
    for (int64_t k = 0; k < RUNS; k++) {
        attsvm_data *data = generated(ATTSVM_SPHERE, 6, 8, 10, .queries = 1, .seed = 700 + k);
        for (int s = 0; s < 3; s++) {
            attsvm_train *run = create(
                data, (options){ ATTSVM_MODEL_W, steps[s], "zero", 0.1, s == 2 ? 60000 : 6000, 0 });
            for (int t = 0; t < 3; t++) {
                attsvm_svm_settings svm;
                attsvm_svm_settings_init(&svm);
                svm.norm = ATTSVM_NORM_LQ;
                svm.q = q[t];
                mean[s][t] += judge(run, &svm).correlation / RUNS;
            }
            attsvm_train_free(run);
        }
        attsvm_data_free(data);
    }
    for (int s = 0; s < 3; s++) {
        print_message("%s: %.4f %.4f %.4f\n", steps[s], mean[s][0], mean[s][1], mean[s][2]);
        for (int t = 0; t < 3; t++)
            assert_true(t == s || mean[s][s] > mean[s][t]);
    }
}

static void theory_6_12_normalised_and_polyak_steps_beat_gd(void **state)
{
    (void)state;
    static const char *const steps[3] = { "gd", "ngd", "polyak" };
    for (uint64_t k = 0; k < 5; k++) {
        equal e;
        double correlation[3];
        make_equal(&e, 3, 4, 11, 900 + k, true);
        for (int s = 0; s < 3; s++) {
            attsvm_train *run =
                create(e.data, (options){ ATTSVM_MODEL_P, steps[s], "zero", 0.1, 2000, 0 });
            correlation[s] = judge(run, NULL).correlation;
            attsvm_train_free(run);
        }
        assert_true(correlation[1] > correlation[0] && correlation[2] > correlation[0]);
        attsvm_data_free(e.data);
    }
}

/* <grad L(W), W_svm> < 0 at random W: 10^4 of norms 1e-2 .. 1e3. */
static void theory_6_13_the_landscape_is_benign(void **state)
{
    (void)state;
    equal e;
    attsvm_svm_settings svm;
    attsvm_solution *solution;
    attsvm_error err;
    double W[MOST], g[MOST];
    const int64_t d = 6, size = d * d, alpha[4] = { 0 };
    make_equal(&e, 4, 5, d, 11, false);
    attsvm_svm_settings_init(&svm);
    assert_ok(theory_solve(e.data, &(attsvm_selection){ .alpha = alpha, .terms = e.data->n }, &svm,
                           NULL, &solution, &err),
              err);
    assert_int_equal(attsvm_solution_describe(solution).outcome, ATTSVM_OPTIMAL);
    attsvm_claim claim = attsvm_solution_claim(solution);
    attsvm_train *run = create(e.data, (options){ ATTSVM_MODEL_W, "ngd", "zero", 0.1, 0, 0 });
    for (uint64_t k = 0; k < 10000; k++) {
        base_random r = base_random_stream(13, k);
        double norm = pow(10, -2 + 5 * base_random_uniform(&r));
        base_random_sphere(&r, W, size);
        for (int64_t j = 0; j < size; j++)
            W[j] *= norm;
        model_gradient gradient = { .x = g };
        model_evaluate(run->m, W, NULL, 0, &gradient, NULL);
        assert_true(isfinite(gradient.log[0]));
        assert_true(la_dot(g, claim.theta, size) < 0);
    }
    attsvm_train_free(run);
    attsvm_solution_free(solution);
    attsvm_data_free(e.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory_6_1_equal_scores_lead_to_the_optimum),
        cmocka_unit_test(theory_6_1_does_not_hold_from_every_start),
        cmocka_unit_test(theory_6_1_does_not_hold_from_zero),
        cmocka_unit_test(theory_6_2_and_6_3_descent_stays_at_locally_optimal_directions_only),
        cmocka_unit_test(theory_6_6_parametrisation_decides_the_norm),
        cmocka_unit_test(theory_6_8_assumption_b_on_the_tight_example),
        cmocka_unit_test(theory_6_10_the_global_share_rises_with_d),
        cmocka_unit_test(theory_6_12_mirror_descent_is_nearest_to_its_own_norm),
        cmocka_unit_test(theory_6_12_normalised_and_polyak_steps_beat_gd),
        cmocka_unit_test(theory_6_13_the_landscape_is_benign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
