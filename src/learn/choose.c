/*
 * Chooses pool and ridge by stratified validation on the training data (theory 8): the combination
 * with the smallest error + (1 - AUC), for more than two classes error + log-loss; ties go to the
 * larger ridge and to the pool prompt.
 */
#include "learn/learn.h"

#include <stdlib.h>

enum { FOLDS = 5, MOST_RIDGES = 4, MOST_POOLS = 2 };
static const double all_ridges[MOST_RIDGES] = { 1e-2, 1e-3, 1e-4, 1e-5 }; /* ties: the first */

typedef struct validation {
    const learn_training *t;
    const learn_run *run;
    int32_t pool[MOST_POOLS];
    double ridge[MOST_RIDGES];
    int64_t pools, ridges, folds;
    int64_t *fold;
    double *score; /* (ridges x pools x n x outputs) */
    int64_t outputs;
    int64_t *evaluations; /* (folds x pools) */
    attsvm_status *status;
    attsvm_error *error;
} validation;

/* The bags of the training data that are (or are not) in a fold, with labels and weights. */
typedef struct part {
    learn_training t;
    attsvm_data *data;
    int64_t *indices, *label;
    double *sample;
} part;

static attsvm_status part_open(part *p, const validation *v, int64_t fold, bool inside,
                               attsvm_error *err)
{
    const learn_training *t = v->t;
    int64_t count = 0;
    *p = (part){ 0 };
    TRY(base_allocate(&p->indices, 3 * (size_t)t->n, sizeof *p->indices, "fold", err));
    p->label = p->indices + t->n;
    p->sample = (double *)(p->label + t->n);
    for (int64_t i = 0; i < t->n; i++)
        if ((v->fold[i] == fold) == inside) {
            p->indices[count] = i;
            p->label[count] = t->label[i];
            p->sample[count++] = t->sample[i];
        }
    TRY(attsvm_data_subset(&p->data, t->data, p->indices, count, err));
    p->t = (learn_training){ p->data, count, t->classes, p->label, p->sample, t->class_given };
    return ATTSVM_OK;
}

static void part_close(part *p)
{
    attsvm_data_free(p->data);
    free(p->indices);
}

/* Scores of the bags of a fold, for one pool and all ridges. */
static void keep(validation *v, int64_t pool, const part *own, const double *score)
{
    const int64_t n = v->t->n, K = v->outputs;
    for (int64_t r = 0; r < v->ridges; r++)
        for (int64_t k = 0; k < own->t.n; k++)
            for (int64_t o = 0; o < K; o++)
                v->score[((r * v->pools + pool) * n + own->indices[k]) * K + o] =
                    score[(r * own->t.n + k) * K + o];
}

/* Fits a pool with all ridges without one fold, and scores the fold. */
static attsvm_status fit_and_score(validation *v, int64_t task, const part *rest, const part *own,
                                   const learn_features *features, attsvm_error *err)
{
    const int64_t pool = task % v->pools;
    const attsvm_fit_settings *s = v->run->settings;
    const learn_shape shape = learn_shape_of(v->pool[pool], v->t->data->d, s->heads, v->t->classes);
    const int64_t members = learn_members(&shape, s->starts), size = members * shape.size;
    const int64_t scores = own->t.n * shape.outputs;
    learn_fitted fitted[MOST_RIDGES];
    double *theta;
    TRY(base_allocate(&theta, (size_t)(v->ridges * (size + scores)), sizeof *theta, "model", err));
    double *score = theta + v->ridges * size;
    attsvm_status status = learn_fit_members(&rest->t, features, &shape, v->ridge, v->ridges,
                                             v->run, theta, fitted, err);
    for (int64_t r = 0; r < v->ridges && status == ATTSVM_OK; r++) {
        v->evaluations[task] += fitted[r].evaluations;
        status = learn_scores(own->data, features, &shape, theta + r * size, members,
                              v->run->threads, score + r * scores, err);
    }
    if (status == ATTSVM_OK)
        keep(v, pool, own, score);
    free(theta);
    return status;
}

static attsvm_status validate(validation *v, int64_t task, attsvm_error *err)
{
    const int64_t fold = task / v->pools;
    part rest = { 0 }, own = { 0 };
    learn_features features = { 0 };
    attsvm_status status = part_open(&rest, v, fold, false, err);
    if (status == ATTSVM_OK)
        status = part_open(&own, v, fold, true, err);
    if (status == ATTSVM_OK)
        status = learn_features_create(&features, rest.data, rest.sample, v->run->settings->scale,
                                       v->run->threads, err);
    if (status == ATTSVM_OK)
        status = fit_and_score(v, task, &rest, &own, &features, err);
    learn_features_free(&features);
    part_close(&own);
    part_close(&rest);
    return status;
}

static void run_task(void *context, int64_t task, int worker)
{
    validation *v = context;
    (void)worker;
    v->status[task] = validate(v, task, &v->error[task]);
}

static attsvm_status value_of(const validation *v, int64_t which, double *value, attsvm_error *err)
{
    attsvm_measures m;
    TRY(attsvm_measure(&m, v->score + which * v->t->n * v->outputs, v->t->label, v->t->n,
                       v->t->classes, NULL, err));
    *value = 1 - m.accuracy + (v->t->classes == 2 ? 1 - m.auc : m.log_loss);
    return ATTSVM_OK;
}

/* The best of the validated combinations; ties go to the larger ridge, then to prompt. */
static attsvm_status settle(const validation *v, learn_choice *out, attsvm_error *err)
{
    double value[MOST_RIDGES * MOST_POOLS] = { 0 };
    int64_t best = 0;
    for (int64_t k = 0; k < v->ridges * v->pools; k++) {
        TRY(value_of(v, k, &value[k], err));
        if (value[k] < value[best])
            best = k;
    }
    out->pool = v->pool[best % v->pools];
    out->lambda = v->ridge[best / v->pools];
    for (int64_t pool = 0; pool < v->pools; pool++)
        if (v->pool[pool] == ATTSVM_POOL_PROMPT || v->pool[pool] == ATTSVM_POOL_SCORE)
            out->value[v->pool[pool] == ATTSVM_POOL_SCORE] =
                value[best / v->pools * v->pools + pool];
    for (int64_t task = 0; task < v->folds * v->pools; task++)
        out->evaluations += v->evaluations[task];
    return ATTSVM_OK;
}

static void layout(validation *v, arena *a)
{
    const size_t tasks = (size_t)(v->pools * v->folds), n = (size_t)v->t->n;
    v->fold = take_int64(a, n);
    v->score = take(a, (size_t)(v->ridges * v->pools) * n * (size_t)v->outputs);
    v->evaluations = take_int64(a, tasks);
    v->status = base_take(a, tasks, sizeof *v->status);
    v->error = base_take(a, tasks, sizeof *v->error);
}

static attsvm_status run_validation(validation *v, learn_choice *out, attsvm_error *err)
{
    const int64_t tasks = v->pools * v->folds;
    TRY(attsvm_cv_folds(v->t->label, v->t->n, v->t->classes, v->folds, v->run->settings->seed,
                        v->fold, err));
    base_parallel(v->run->threads, tasks, run_task, v);
    for (int64_t k = 0; k < tasks; k++)
        if (v->status[k] != ATTSVM_OK) {
            if (err)
                *err = v->error[k];
            return v->status[k];
        }
    return settle(v, out, err);
}

/* Bags of the smallest class. */
static int64_t smallest_class(const learn_training *t)
{
    int64_t least = t->n;
    for (int64_t c = 0; c < t->classes; c++) {
        int64_t count = 0;
        for (int64_t i = 0; i < t->n; i++)
            count += t->label[i] == c;
        least = count < least ? count : least;
    }
    return least;
}

attsvm_status learn_choose(const learn_training *t, const learn_run *run, learn_choice *out,
                           attsvm_error *err)
{
    const attsvm_fit_settings *s = run->settings;
    const bool any_pool = s->pool == ATTSVM_POOL_AUTO, any_ridge = s->ridge == ATTSVM_RIDGE_AUTO;
    const int32_t first = any_pool ? ATTSVM_POOL_PROMPT : s->pool;
    const int32_t last = any_pool ? ATTSVM_POOL_SCORE : s->pool;
    const int64_t least = smallest_class(t);
    validation v = { .t = t, .run = run, .folds = least < FOLDS ? least : FOLDS };
    v.outputs = t->classes == 2 ? 1 : t->classes;
    *out = (learn_choice){ first, any_ridge ? 1e-4 : s->ridge, { NAN, NAN }, 0 };
    for (int32_t pool = first; pool <= last; pool++)
        v.pool[v.pools++] = pool;
    for (int k = 0; k < (any_ridge ? MOST_RIDGES : 1); k++)
        v.ridge[v.ridges++] = any_ridge ? all_ridges[k] : s->ridge;
    /* a class with one bag cannot be validated: use the defaults */
    if (v.pools * v.ridges == 1 || v.folds < 2)
        return ATTSVM_OK;
    arena a = { 0 };
    layout(&v, &a);
    TRY(base_arena_allocate(&a, "validation", err));
    layout(&v, &a);
    attsvm_status status = run_validation(&v, out, err);
    free(a.base);
    return status;
}
