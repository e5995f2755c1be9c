/*
 * Public calls with arguments that do not fit: a status with a message, never a crash.  The table
 * of all functions is made from the header (tests/install/arguments.py); here are the messages.
 */
#include "generated.h"
#include "unit.h"

#include "attsvm/attsvm.h"

#include <math.h>
#include <string.h>

static attsvm_error err;

#define REFUSED(call, text) assert_fails(call, err, ATTSVM_E_ARG, text)

enum { N = 6, T = 4, D = 5 };

typedef struct world {
    attsvm_data *data, *other;
    attsvm_train *run, *fresh;
    attsvm_solution *solution;
    attsvm_verdict verdict;
} world;

static attsvm_train *created(const attsvm_data *data, const char *step,
                             const attsvm_loss_callback *loss)
{
    attsvm_train_settings settings;
    attsvm_train *run;
    attsvm_train_settings_init(&settings);
    settings.iters = 50;
    settings.step = step;
    settings.record = "1";
    settings.threads = 1;
    assert_ok(attsvm_train_create(&run, data, &settings, loss, NULL, &err), err);
    return run;
}

static int set_up(void **state)
{
    static world w;
    w.data = generated(ATTSVM_PLANTED_P, N, T, D, .seed = 3);
    w.other = generated(ATTSVM_PLANTED_P, N + 1, T, D + 1, .seed = 4);
    w.run = created(w.data, "ngd", NULL);
    w.fresh = created(w.data, "ngd", NULL);
    assert_ok(attsvm_train_run(w.run, NULL, NULL, &err), err);
    assert_ok(attsvm_verdict_compute(&w.verdict, w.run, NULL, NULL, NULL, &w.solution, &err), err);
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    world *w = *state;
    attsvm_solution_free(w->solution);
    attsvm_train_free(w->run);
    attsvm_train_free(w->fresh);
    attsvm_data_free(w->data);
    attsvm_data_free(w->other);
    return 0;
}

static void lists_name_the_entry_that_is_wrong(void **state)
{
    const world *w = *state;
    double x[D] = { 0 };
    attsvm_data *data;
    attsvm_samples *samples;
    attsvm_solution *solutions[2] = { w->solution, w->solution };
    attsvm_problem *const problems[2] = { NULL, NULL };
    attsvm_train *const runs[] = { w->fresh, NULL }, *const twice[] = { w->fresh, w->fresh };
    attsvm_named_array arrays[2] = { { "p", { x, { D }, 1, ATTSVM_F64 } } };
    REFUSED(attsvm_train_run_batch(runs, 2, 1, NULL, NULL, &err), "runs[1] is NULL");
    REFUSED(attsvm_train_run_batch(twice, 2, 1, NULL, NULL, &err), "the same run twice");
    REFUSED(attsvm_train_run_batch(runs, 1, -4, NULL, NULL, &err),
            "threads = -4 is not in 0..4096");
    REFUSED(attsvm_problem_solve_batch(problems, 2, 1, NULL, NULL, solutions, &err),
            "problems[0] is NULL");
    assert_true(!solutions[0] && !solutions[1]);
    REFUSED(attsvm_data_create(&data, arrays, 2, NULL, &err), "arrays[1].name is NULL");
    REFUSED(
        attsvm_samples_texts(&samples, (const char *[]){ "good", NULL }, NULL, 2, NULL, NULL, &err),
        "text[1] is NULL");
    arrays[0].array.ndim = 9;
    REFUSED(attsvm_train_start(w->fresh, arrays, 1, &err),
            "arrays[0] (p): ndim = 9 is not in 0..8");
    arrays[0].array.ndim = 1;
    arrays[0].array.dtype = (attsvm_dtype)77;
    REFUSED(attsvm_train_start(w->fresh, arrays, 1, &err), "arrays[0] (p): dtype = 77");
    arrays[0].array.dtype = ATTSVM_F64;
    arrays[0].array.shape[0] = -1;
    REFUSED(attsvm_data_create(&data, arrays, 1, NULL, &err),
            "arrays[0] (p): the shape is negative");
    arrays[0].array.shape[0] = D;
    arrays[0].array.data = NULL;
    REFUSED(attsvm_train_start(w->fresh, arrays, 1, &err), "arrays[0] (p): data is NULL");
    REFUSED(attsvm_train_save(w->run, "bad.npz", arrays, 1, &err), "more[0] (p): data is NULL");
}

static void files_hold_what_belongs_together(void **state)
{
    const world *w = *state;
    const double x = 1;
    attsvm_named_array more[9];
    char names[9][16];
    for (int k = 0; k < 9; k++) {
        snprintf(names[k], sizeof names[k], "own%d", k);
        more[k] = (attsvm_named_array){ names[k], { &x, { 1 }, 1, ATTSVM_F64 } };
    }
    REFUSED(attsvm_train_save(w->run, NULL, NULL, 0, &err), "path is NULL");
    REFUSED(attsvm_train_save(w->fresh, "bad.npz", NULL, 0, &err), "not been trained");
    REFUSED(attsvm_solution_save(w->solution, w->other, "bad.npz", NULL, 0, &err),
            "another data set: theta has 5 entries and the selection 6, expected 6 and 7");
    REFUSED(attsvm_verdict_save(&w->verdict, w->fresh, w->solution, "bad.npz", NULL, 0, &err),
            "not been trained");
    REFUSED(attsvm_verdict_save(&w->verdict, w->run, w->solution, "bad.npz", more, 9, &err),
            "count = 9 more arrays is not in 0..8");
    assert_ok(
        attsvm_verdict_save(&w->verdict, w->run, w->solution, "bad_arguments.npz", more, 8, &err),
        err);
    attsvm_verdict read;
    assert_ok(attsvm_verdict_load(&read, "bad_arguments.npz", &err), err);
    assert_int_equal(read.svm.norm, w->verdict.svm.norm);
    remove("bad_arguments.npz");
    attsvm_verdict wrong = w->verdict;
    wrong.kind = (attsvm_verdict_kind)77;
    REFUSED(attsvm_verdict_save(&wrong, w->run, w->solution, "bad.npz", NULL, 0, &err),
            "kind = 77");
}

static void numbers_out_of_range(void **state)
{
    const world *w = *state;
    double v[D + 1] = { 1, 2, INFINITY }, score[2] = { NAN, 1 };
    const int64_t label[2] = { 0, 7 };
    int64_t fold[2];
    attsvm_data *with;
    attsvm_landscape landscape;
    attsvm_exchangeable words;
    attsvm_optimality optimality;
    attsvm_comparison comparison;
    attsvm_support support;
    attsvm_scores *scores;
    attsvm_measures measures;
    REFUSED(attsvm_data_with_head(&with, w->data, v, D + 1, &err),
            "count = 6 entries of v; expected 5");
    REFUSED(attsvm_data_with_head(&with, w->data, v, D, &err), "v[2] is inf");
    REFUSED(attsvm_solution_compare(&comparison, w->solution, w->data, v, D, &err),
            "theta[2] is inf");
    REFUSED(attsvm_landscape_compute(&landscape, w->run, 0, 1, &err), "samples = 0");
    REFUSED(attsvm_exchangeable_compute(&words, w->run, &err), "already started");
    assert_ok(attsvm_scores_create(&scores, w->data, &w->verdict.svm, &err), err);
    REFUSED(attsvm_optimality_compute(&optimality, scores, w->solution, &support, -1, &err),
            "capacity = -1");
    attsvm_scores_free(scores);
    REFUSED(attsvm_measure(&measures, score, label, 2, 2, NULL, &err),
            "label[1] = 7 is not in -1..1");
    REFUSED(attsvm_measure(&measures, score, label, 1, 2, NULL, &err), "score[0] is NaN");
    REFUSED(attsvm_cv_folds(label, 2, 2, 2, 1, fold, &err), "label[1] = 7 is not in 0..1");
}

static void logits_beyond_the_range_of_doubles(void **state)
{
    const world *w = *state;
    double theta[D], cells[N * T];
    int64_t alpha[N];
    attsvm_model *model;
    for (int k = 0; k < D; k++)
        theta[k] = k % 2 ? -1.7e308 : 1.7e308;
    assert_ok(attsvm_model_create(&model, w->data, NULL, NULL, NULL, &err), err);
    assert_fails(attsvm_model_softmax(model, theta, cells, &err), err, ATTSVM_E_NUMERIC,
                 "the logits");
    assert_fails(attsvm_model_logits(model, theta, cells, &err), err, ATTSVM_E_NUMERIC,
                 "the logits");
    assert_fails(attsvm_model_select(model, theta, alpha, &err), err, ATTSVM_E_NUMERIC,
                 "the logits");
    attsvm_model_free(model);
}

/* ------------------------------------------------------------------- losses of the caller */

static double constant(void *context, double u, double *slope)
{
    (void)context;
    (void)u;
    *slope = 0;
    return 1;
}

static double infinite(void *context, double u, double *slope)
{
    (void)context;
    (void)u;
    *slope = -1;
    return INFINITY;
}

/* exp(-u), but NaN in the call that makes *left zero. */
static double breaks(void *context, double u, double *slope)
{
    int *left = context;
    const double value = --*left == 0 ? NAN : exp(-u);
    *slope = -value;
    return value;
}

static void a_loss_decreases_somewhere(void **state)
{
    const world *w = *state;
    attsvm_model *model;
    REFUSED(attsvm_model_create(&model, w->data, NULL, &(attsvm_loss_callback){ constant, NULL },
                                NULL, &err),
            "slope 0 at every u");
    REFUSED(attsvm_model_create(&model, w->data, NULL, &(attsvm_loss_callback){ infinite, NULL },
                                NULL, &err),
            "your loss returned inf with slope -1 at u = -2.5");
}

static void a_run_that_failed_goes_on(void **state)
{
    const world *w = *state;
    static const char *const rules[] = { "ngd", "momentum", "adam" };
    for (int k = 0; k < 3; k++) {
        int never = 0, left = 0;
        int64_t count, same;
        attsvm_train *whole = created(w->data, rules[k], &(attsvm_loss_callback){ breaks, &never });
        attsvm_train *broken = created(w->data, rules[k], &(attsvm_loss_callback){ breaks, &left });
        assert_ok(attsvm_train_run(whole, NULL, NULL, &err), err);
        left = 200;
        assert_fails(attsvm_train_run(broken, NULL, NULL, &err), err, ATTSVM_E_ARG,
                     "your loss returned NaN");
        const int64_t done = attsvm_train_describe(broken).iters;
        assert_true(done > 0 && done < 50);
        REFUSED(attsvm_train_continue(broken, 60, NULL, NULL, &err), "has failed");
        assert_ok(attsvm_train_run(broken, NULL, NULL, &err), err);
        const double *a = attsvm_train_parameters(whole, &count);
        const double *b = attsvm_train_parameters(broken, &same);
        assert_int_equal(count, same);
        assert_memory_equal(a, b, (size_t)count * sizeof *a);
        assert_int_equal(attsvm_train_find(broken, "trace_iter")->shape[0], 51);
        attsvm_train_free(whole);
        attsvm_train_free(broken);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lists_name_the_entry_that_is_wrong),
                                        cmocka_unit_test(files_hold_what_belongs_together),
                                        cmocka_unit_test(numbers_out_of_range),
                                        cmocka_unit_test(logits_beyond_the_range_of_doubles),
                                        cmocka_unit_test(a_loss_decreases_somewhere),
                                        cmocka_unit_test(a_run_that_failed_goes_on) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
