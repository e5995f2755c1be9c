/* Cross-validation: every bag is predicted by a model that has not seen its fold. */
#include "learn/learn.h"

#include <stdlib.h>
#include <string.h>

struct attsvm_cv {
    attsvm_cv_info info;
    attsvm_named_array arrays[12];
    int64_t count;
    int64_t *fold, *label, *key, *pool; /* (R,n), ..., pool (R,F) */
    double *score, *ridge, *accuracy, *auc, *log_loss, *hits;
    void *memory;
};

typedef struct validation {
    attsvm_cv *cv;
    const attsvm_data *data;
    const attsvm_targets *targets;
    const attsvm_fit_settings *settings;
    bool keys; /* find the token of largest contribution */
    dist_stop *stop;
    int64_t done; /* folds */
    int64_t *evaluations, *iterations;
    attsvm_status *status;
    attsvm_error *error;
} validation;

/* ------------------------------------------------------------------------------ a fold */

/* Bags of one repetition inside or outside a fold. */
typedef struct part {
    attsvm_data *data;
    int64_t *indices, *label, count;
    double *weight;
    attsvm_targets targets;
} part;

static attsvm_status part_open(part *p, const validation *v, int64_t r, int64_t fold, bool inside,
                               attsvm_error *err)
{
    const int64_t n = v->data->n;
    const attsvm_targets *y = v->targets;
    *p = (part){ 0 };
    TRY(base_allocate(&p->indices, 3 * (size_t)n, sizeof *p->indices, "fold", err));
    p->label = p->indices + n;
    p->weight = (double *)(p->label + n);
    for (int64_t i = 0; i < n; i++) {
        if ((v->cv->fold[r * n + i] == fold) != inside)
            continue;
        p->indices[p->count] = i;
        p->label[p->count] = y->label[i];
        p->weight[p->count++] = y->sample_weight ? y->sample_weight[i] : 1;
    }
    if (p->count == 0)
        return fail(err, ATTSVM_E_DATA, "fold %" PRId64 " of repetition %" PRId64 " has %s", fold,
                    r, inside ? "no bags" : "all bags");
    p->targets = (attsvm_targets){ .label = p->label,
                                   .classes = y->classes,
                                   .sample_weight = p->weight,
                                   .class_weight = y->class_weight };
    return attsvm_data_subset(&p->data, v->data, p->indices, p->count, err);
}

static void part_close(part *p)
{
    attsvm_data_free(p->data);
    free(p->indices);
}

static bool go_on(void *context, int64_t done, int64_t total)
{
    (void)done;
    (void)total;
    return dist_stop_why(context) == DIST_GO_ON;
}

static void keep(const validation *v, int64_t task, const part *own, const attsvm_prediction *found,
                 const attsvm_classifier_info *info)
{
    attsvm_cv *cv = v->cv;
    const int64_t n = cv->info.n, r = task / cv->info.folds, K = info->outputs;
    const double *score = attsvm_prediction_find(found, "score")->data;
    const int64_t *label = attsvm_prediction_find(found, "label")->data;
    const attsvm_array *key = attsvm_prediction_find(found, "key");
    for (int64_t k = 0; k < own->count; k++) {
        const int64_t at = r * n + own->indices[k];
        cv->label[at] = label[k];
        cv->key[at] = key ? ((const int64_t *)key->data)[k] : -1;
        memcpy(cv->score + at * K, score + k * K, (size_t)K * sizeof *score);
    }
    cv->pool[task] = info->pool;
    cv->ridge[task] = info->ridge;
    v->evaluations[task] = info->evaluations;
    v->iterations[task] = info->iterations;
}

static attsvm_status run_fold(validation *v, int64_t task, attsvm_error *err)
{
    const int64_t folds = v->cv->info.folds;
    part rest = { 0 }, own = { 0 };
    attsvm_classifier *model = NULL;
    attsvm_prediction *found = NULL;
    attsvm_predict_settings how;
    attsvm_predict_settings_init(&how);
    how.explain = v->keys;
    how.threads = v->settings->threads;
    attsvm_status status = part_open(&rest, v, task / folds, task % folds, false, err);
    if (status == ATTSVM_OK)
        status = part_open(&own, v, task / folds, task % folds, true, err);
    if (status == ATTSVM_OK)
        status = attsvm_classifier_fit(&model, rest.data, &rest.targets, v->settings, go_on,
                                       v->stop, err);
    if (status == ATTSVM_E_DATA && rest.data && own.data) {
        char where[80];
        snprintf(where, sizeof where, "without fold %" PRId64 " of repetition %" PRId64,
                 task % folds, task / folds);
        base_fail_in(err, status, where);
    }
    if (status == ATTSVM_OK)
        status = attsvm_classifier_predict(&found, model, own.data, &how, err);
    if (status == ATTSVM_OK) {
        const attsvm_classifier_info info = attsvm_classifier_describe(model);
        keep(v, task, &own, found, &info);
    }
    attsvm_prediction_free(found);
    attsvm_classifier_free(model);
    part_close(&own);
    part_close(&rest);
    return status;
}

static void run_task(void *context, int64_t task, int worker)
{
    validation *v = context;
    if (dist_stop_inside(v->stop, worker))
        return;
    v->status[task] = run_fold(v, task, &v->error[task]);
    __atomic_add_fetch(&v->done, 1, __ATOMIC_RELAXED);
}

/* ---------------------------------------------------------------------------- the whole */

static void layout(attsvm_cv *cv, arena *a)
{
    const size_t R = (size_t)cv->info.repeats, n = (size_t)cv->info.n, F = (size_t)cv->info.folds;
    const size_t K = cv->info.classes == 2 ? 1 : (size_t)cv->info.classes;
    cv->fold = take_int64(a, R * n);
    cv->label = take_int64(a, R * n);
    cv->key = take_int64(a, R * n);
    cv->score = take(a, R * n * K);
    cv->pool = take_int64(a, R * F);
    cv->ridge = take(a, R * F);
    cv->accuracy = take(a, R);
    cv->auc = take(a, R);
    cv->log_loss = take(a, R);
    cv->hits = take(a, R);
}

static void show(attsvm_cv *cv, const char *name, const void *data, attsvm_dtype dtype,
                 int64_t columns, int64_t more)
{
    cv->arrays[cv->count++] = (attsvm_named_array){ name,
                                                    { .data = data,
                                                      .shape = { cv->info.repeats, columns, more },
                                                      .ndim = more > 0      ? 3
                                                              : columns > 0 ? 2
                                                                            : 1,
                                                      .dtype = dtype } };
}

static void show_all(attsvm_cv *cv, bool keys)
{
    const int64_t n = cv->info.n, F = cv->info.folds, C = cv->info.classes;
    show(cv, "fold", cv->fold, ATTSVM_I64, n, 0);
    show(cv, "label", cv->label, ATTSVM_I64, n, 0);
    show(cv, "score", cv->score, ATTSVM_F64, n, C == 2 ? 0 : C);
    show(cv, "pool", cv->pool, ATTSVM_I64, F, 0);
    show(cv, "ridge", cv->ridge, ATTSVM_F64, F, 0);
    show(cv, "accuracy", cv->accuracy, ATTSVM_F64, 0, 0);
    show(cv, "auc", cv->auc, ATTSVM_F64, 0, 0);
    show(cv, "log_loss", cv->log_loss, ATTSVM_F64, 0, 0);
    if (!keys)
        return;
    show(cv, "key", cv->key, ATTSVM_I64, n, 0);
    show(cv, "hits", cv->hits, ATTSVM_F64, 0, 0);
}

static attsvm_status fill_folds(attsvm_cv *cv, const int64_t *fold, const attsvm_targets *y,
                                int64_t seed, attsvm_error *err)
{
    const int64_t n = cv->info.n;
    for (int64_t r = 0; !fold && r < cv->info.repeats; r++)
        TRY(attsvm_cv_folds(y->label, n, y->classes, cv->info.folds, seed + r, cv->fold + r * n,
                            err));
    if (fold)
        memcpy(cv->fold, fold, (size_t)(cv->info.repeats * n) * sizeof *fold);
    return ATTSVM_OK;
}

static void mean_and_deviation(const double *x, int64_t count, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < count; k++)
        sum += x[k];
    *mean = sum / (double)count;
    for (int64_t k = 0; k < count; k++)
        squares += (x[k] - *mean) * (x[k] - *mean);
    *deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : NAN;
}

static attsvm_status measure(validation *v, const attsvm_array *inst, int64_t which,
                             attsvm_error *err)
{
    attsvm_cv *cv = v->cv;
    const int64_t n = cv->info.n, C = cv->info.classes, R = cv->info.repeats;
    attsvm_measures *mean = &cv->info.mean, *deviation = &cv->info.deviation;
    for (int64_t r = 0; r < R; r++) {
        attsvm_measures m;
        TRY(attsvm_measure(&m, cv->score + r * n * (C == 2 ? 1 : C), v->targets->label, n, C, NULL,
                           err));
        cv->accuracy[r] = m.accuracy;
        cv->auc[r] = m.auc;
        cv->log_loss[r] = m.log_loss;
        cv->hits[r] =
            inst ? attsvm_measure_hits(v->data, v->targets->label, C, cv->key + r * n, inst, which)
                 : NAN;
        mean->n = deviation->n = m.n;
    }
    mean_and_deviation(cv->accuracy, R, &mean->accuracy, &deviation->accuracy);
    mean_and_deviation(cv->auc, R, &mean->auc, &deviation->auc);
    mean_and_deviation(cv->log_loss, R, &mean->log_loss, &deviation->log_loss);
    mean_and_deviation(cv->hits, R, &mean->hits, &deviation->hits);
    for (int64_t k = 0; k < R * cv->info.folds; k++) {
        cv->info.evaluations += v->evaluations[k];
        cv->info.iterations += v->iterations[k];
    }
    return ATTSVM_OK;
}

typedef struct progress {
    validation *v;
    attsvm_observer *observer;
    void *context;
} progress;

static bool tell(void *context)
{
    const progress *p = context;
    return p->observer(p->context, __atomic_load_n(&p->v->done, __ATOMIC_RELAXED),
                       p->v->cv->info.folds * p->v->cv->info.repeats);
}

static attsvm_status run(validation *v, progress *p, attsvm_error *err)
{
    const int64_t tasks = v->cv->info.folds * v->cv->info.repeats;
    dist_stop stop;
    dist_stop_open(&stop, NULL, v->settings->time_limit, p->observer ? tell : NULL, p);
    v->stop = &stop;
    base_parallel(base_threads(v->settings->threads), tasks, run_task, v);
    v->stop = NULL;
    if (dist_stop_why(&stop) != DIST_GO_ON)
        return fail(err, ATTSVM_E_STOPPED, "stopped by %s after %" PRId64 " of %" PRId64 " fold%s",
                    dist_stop_why(&stop) == DIST_STOP_TIME ? "its time limit" : "its observer",
                    v->done, tasks, base_plural(tasks));
    for (int64_t k = 0; k < tasks; k++)
        if (v->status[k] != ATTSVM_OK) {
            if (err)
                *err = v->error[k];
            return v->status[k];
        }
    return ATTSVM_OK;
}

static void layout_tasks(validation *v, arena *a)
{
    const size_t tasks = (size_t)(v->cv->info.folds * v->cv->info.repeats);
    v->evaluations = take_int64(a, tasks);
    v->iterations = take_int64(a, tasks);
    v->status = base_take(a, tasks, sizeof *v->status);
    v->error = base_take(a, tasks, sizeof *v->error);
}

static attsvm_status validate(validation *v, const int64_t *fold, progress *p,
                              const attsvm_array *inst, int64_t which, attsvm_error *err)
{
    attsvm_cv *cv = v->cv;
    arena a = { 0 }, own = { 0 };
    layout(cv, &a);
    TRY(base_arena_allocate(&a, "cross-validation", err));
    cv->memory = a.base;
    layout(cv, &a);
    TRY(fill_folds(cv, fold, v->targets, v->settings->seed, err));
    layout_tasks(v, &own);
    TRY(base_arena_allocate(&own, "cross-validation", err));
    layout_tasks(v, &own);
    attsvm_status status = run(v, p, err);
    if (status == ATTSVM_OK)
        status = measure(v, inst, which, err);
    free(own.base);
    return status;
}

attsvm_status attsvm_cv_run(attsvm_cv **out, const attsvm_data *data, const attsvm_targets *targets,
                            const attsvm_fit_settings *fit, const attsvm_cv_settings *settings,
                            const int64_t *fold, const attsvm_array *inst, int64_t which,
                            attsvm_observer *observer, void *context, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    NEED(targets);
    attsvm_fit_settings standard_fit;
    attsvm_cv_settings standard;
    attsvm_fit_settings_init(&standard_fit);
    attsvm_cv_settings_init(&standard);
    fit = fit ? fit : &standard_fit;
    settings = settings ? settings : &standard;
    TRY(attsvm_settings_check(&attsvm_fit_table, fit, err));
    TRY(attsvm_settings_check(&attsvm_cv_table, settings, err));
    if (inst && attsvm_array_count(inst) != data->tokens)
        return fail(err, ATTSVM_E_DATA, "inst has %" PRId64 " entr%s for %" PRId64 " token%s",
                    attsvm_array_count(inst), attsvm_array_count(inst) == 1 ? "y" : "ies",
                    data->tokens, base_plural(data->tokens));
    for (int64_t k = 0; fold && k < settings->repeats * data->n; k++)
        if (fold[k] < 0 || fold[k] >= data->n)
            return fail(err, ATTSVM_E_ARG, "fold[%" PRId64 "] = %" PRId64 " is not in 0..%" PRId64,
                        k, fold[k], data->n - 1);
    attsvm_cv *cv;
    TRY(base_allocate(&cv, 1, sizeof *cv, "cross-validation", err));
    const double start = base_seconds();
    cv->info = (attsvm_cv_info){ .n = data->n,
                                 .classes = targets->classes,
                                 .folds = settings->folds,
                                 .repeats = settings->repeats };
    for (int64_t k = 0; fold && k < settings->repeats * data->n; k++)
        if (k == 0 || fold[k] >= cv->info.folds)
            cv->info.folds = fold[k] + 1;
    validation v = {
        .cv = cv, .data = data, .targets = targets, .settings = fit, .keys = inst != NULL
    };
    progress p = { &v, observer, context };
    attsvm_status status = validate(&v, fold, &p, inst, which, err);
    if (status != ATTSVM_OK) {
        attsvm_cv_free(cv);
        return status;
    }
    show_all(cv, v.keys);
    cv->info.seconds = base_seconds() - start;
    *out = cv;
    return ATTSVM_OK;
}

void attsvm_cv_free(attsvm_cv *cv)
{
    if (!cv)
        return;
    free(cv->memory);
    free(cv);
}

attsvm_cv_info attsvm_cv_describe(const attsvm_cv *cv)
{
    if (!cv)
        return (attsvm_cv_info){ 0 };
    return cv->info;
}

int64_t attsvm_cv_count(const attsvm_cv *cv)
{
    if (!cv)
        return 0;
    return cv->count;
}

const attsvm_named_array *attsvm_cv_array(const attsvm_cv *cv, int64_t k)
{
    if (!cv)
        return NULL;
    return k >= 0 && k < cv->count ? &cv->arrays[k] : NULL;
}

const attsvm_array *attsvm_cv_find(const attsvm_cv *cv, const char *name)
{
    if (!cv || !name)
        return NULL;
    for (int64_t k = 0; k < cv->count; k++)
        if (strcmp(cv->arrays[k].name, name) == 0)
            return &cv->arrays[k].array;
    return NULL;
}
