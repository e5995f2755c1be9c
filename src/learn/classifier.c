/* The classifier object: fit and access. */
#include "learn/learn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------------- the object */

attsvm_status learn_classifier_create(attsvm_classifier **out, const learn_shape *shape,
                                      learn_features *features, int64_t members, attsvm_error *err)
{
    *out = NULL;
    attsvm_classifier *c;
    TRY(base_allocate(&c, 1, sizeof *c, "classifier", err));
    c->shape = *shape;
    c->members = members;
    attsvm_status status =
        base_allocate(&c->theta, (size_t)(members * shape->size), sizeof *c->theta, "model", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&c->class_name, (size_t)shape->classes, sizeof *c->class_name,
                               "names of classes", err);
    if (status != ATTSVM_OK) {
        attsvm_classifier_free(c);
        return status;
    }
    c->features = *features;
    *features = (learn_features){ 0 };
    c->info = (attsvm_classifier_info){ .d = shape->d,
                                        .classes = shape->classes,
                                        .outputs = shape->outputs,
                                        .heads = shape->heads,
                                        .starts = members,
                                        .pool = shape->pool,
                                        .scale = c->features.plain ? ATTSVM_SCALE_NONE
                                                                   : ATTSVM_SCALE_STANDARD,
                                        .validation = { NAN, NAN } };
    *out = c;
    return ATTSVM_OK;
}

void attsvm_classifier_free(attsvm_classifier *classifier)
{
    if (!classifier)
        return;
    for (int64_t k = 0; classifier->class_name && k < classifier->shape.classes; k++)
        free(classifier->class_name[k]);
    for (int64_t k = 0; classifier->word && k < classifier->info.words; k++)
        free(classifier->word[k]);
    free(classifier->class_name);
    free(classifier->word);
    free(classifier->table);
    free(classifier->p);
    free(classifier->theta);
    learn_features_free(&classifier->features);
    free(classifier);
}

static void show(attsvm_classifier *c, const char *name, const double *data, int32_t ndim,
                 const int64_t *shape)
{
    attsvm_array array = { .data = data, .ndim = ndim, .dtype = ATTSVM_F64 };
    for (int32_t k = 0; k < ndim; k++)
        array.shape[k] = shape[k];
    c->arrays[c->count++] = (attsvm_named_array){ name, array };
}

attsvm_status learn_classifier_show(attsvm_classifier *c, attsvm_error *err)
{
    const learn_shape *s = &c->shape;
    const int64_t d = s->d, K = s->outputs, M = c->members, H = s->heads;
    const int64_t prompts = s->prompts * d, heads = H * K * d;
    TRY(base_allocate(&c->p, (size_t)(M * (prompts + heads + 2 * K)), sizeof *c->p, "model", err));
    c->v = c->p + M * prompts;
    c->beta = c->v + M * heads;
    c->b = c->beta + M * K;
    for (int64_t m = 0; m < M; m++) {
        const double *theta = c->theta + m * s->size;
        memcpy(c->p + m * prompts, theta, (size_t)prompts * sizeof *theta);
        memcpy(c->v + m * heads, theta + prompts, (size_t)heads * sizeof *theta);
        memcpy(c->b + m * K, theta + s->biases, (size_t)K * sizeof *theta);
        for (int64_t k = 0; k < K; k++)
            c->beta[m * K + k] = s->betas >= 0 ? base_exp(theta[s->betas + k]) : NAN;
    }
    if (prompts > 0)
        show(c, "p", c->p, 3, (int64_t[]){ M, H, d });
    show(c, "v", c->v, 4, (int64_t[]){ M, H, K, d });
    if (s->betas >= 0)
        show(c, "beta", c->beta, 2, (int64_t[]){ M, K });
    show(c, "b", c->b, 2, (int64_t[]){ M, K });
    show(c, "mu", c->features.mu, 1, &d);
    show(c, "sigma", c->features.sigma, 1, &d);
    return ATTSVM_OK;
}

attsvm_classifier_info attsvm_classifier_describe(const attsvm_classifier *classifier)
{
    if (!classifier)
        return (attsvm_classifier_info){ 0 };
    return classifier->info;
}

const attsvm_array *attsvm_classifier_find(const attsvm_classifier *classifier, const char *name)
{
    if (!classifier || !name)
        return NULL;
    for (int64_t k = 0; k < classifier->count; k++)
        if (strcmp(classifier->arrays[k].name, name) == 0)
            return &classifier->arrays[k].array;
    return NULL;
}

const char *attsvm_classifier_class(const attsvm_classifier *classifier, int64_t k)
{
    if (!classifier)
        return NULL;
    return k >= 0 && k < classifier->shape.classes ? classifier->class_name[k] : NULL;
}

const char *attsvm_classifier_word(const attsvm_classifier *classifier, int64_t k)
{
    if (!classifier)
        return NULL;
    return classifier->word && k >= 0 && k < classifier->info.words ? classifier->word[k] : NULL;
}

attsvm_status attsvm_classifier_name_classes(attsvm_classifier *classifier,
                                             const char *const *names, attsvm_error *err)
{
    NEED(classifier);
    for (int64_t k = 0; names && k < classifier->shape.classes; k++)
        if (!names[k])
            return fail(err, ATTSVM_E_ARG, "names[%" PRId64 "] is NULL", k);
    for (int64_t k = 0; k < classifier->shape.classes; k++) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, k);
        char *copy = strdup(names ? names[k] : number);
        if (!copy)
            return fail(err, ATTSVM_E_MEMORY, "no memory for the names of classes");
        free(classifier->class_name[k]);
        classifier->class_name[k] = copy;
    }
    return ATTSVM_OK;
}

attsvm_status learn_classifier_check(const attsvm_classifier *classifier, const attsvm_data *data,
                                     attsvm_error *err)
{
    if (data->d != classifier->shape.d)
        return fail(err, ATTSVM_E_DATA,
                    "tokens have %" PRId64 " feature%s; the model was fitted to %" PRId64, data->d,
                    base_plural(data->d), classifier->shape.d);
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------ training data */

/* The training data without bags of weight 0 and without empty bags. */
typedef struct kept {
    learn_training t;
    attsvm_data *data; /* NULL: all bags are used */
    int64_t *indices, *label;
    double *sample;
} kept;

static attsvm_status check_targets(const attsvm_data *data, const attsvm_targets *y,
                                   const attsvm_fit_settings *s, attsvm_error *err)
{
    if (!y || !y->label)
        return fail(err, ATTSVM_E_ARG, "label is NULL: a fit needs the class of every bag");
    if (y->classes < 2)
        return fail(err, ATTSVM_E_DATA, "%" PRId64 " class%s; a classifier needs at least two",
                    y->classes, y->classes == 1 ? "" : "es");
    if (s->pool == ATTSVM_POOL_WITNESS && y->classes > 2)
        return fail(err, ATTSVM_E_ARG, "the pool witness has two classes; the data have %" PRId64,
                    y->classes);
    if (data->comm)
        return fail(err, ATTSVM_E_ARG, "a classifier is fitted in one process");
    if (s->ridge < 0 && s->ridge != ATTSVM_RIDGE_AUTO)
        return fail(err, ATTSVM_E_ARG, "ridge = %g is negative", s->ridge);
    for (int64_t i = 0; i < data->n; i++) {
        if (y->label[i] < 0 || y->label[i] >= y->classes)
            return fail(err, ATTSVM_E_DATA,
                        "label[%" PRId64 "] = %" PRId64 " is not in 0..%" PRId64, i, y->label[i],
                        y->classes - 1);
        const double w = y->sample_weight ? y->sample_weight[i] : 1;
        if (!(w >= 0) || !isfinite(w))
            return fail(err, ATTSVM_E_DATA,
                        "sample_weight[%" PRId64 "] = %g; weights are finite and not negative", i,
                        w);
    }
    for (int64_t c = 0; y->class_weight && c < y->classes; c++)
        if (!(y->class_weight[c] >= 0) || !isfinite(y->class_weight[c]))
            return fail(err, ATTSVM_E_DATA,
                        "class_weight[%" PRId64 "] = %g; weights are finite and not negative", c,
                        y->class_weight[c]);
    return ATTSVM_OK;
}

static void kept_close(kept *k)
{
    attsvm_data_free(k->data);
    free(k->indices);
}

static attsvm_status kept_open(kept *k, const attsvm_data *data, const attsvm_targets *y,
                               attsvm_error *err)
{
    const size_t n = (size_t)data->n;
    int64_t count = 0;
    *k = (kept){ 0 };
    TRY(base_allocate(&k->indices, 3 * n, sizeof *k->indices, "training data", err));
    k->label = k->indices + n;
    k->sample = (double *)(k->label + n);
    for (int64_t i = 0; i < data->n; i++) {
        const double w = y->sample_weight ? y->sample_weight[i] : 1;
        if (w == 0 || data_length(data, i) == 0)
            continue;
        k->indices[count] = i;
        k->label[count] = y->label[i];
        k->sample[count++] = w;
    }
    k->t = (learn_training){ data, count, y->classes, k->label, k->sample, y->class_weight };
    for (int64_t c = 0; c < y->classes; c++) {
        double mass = 0;
        for (int64_t i = 0; i < count; i++)
            mass += k->label[i] == c ? k->sample[i] : 0;
        if (!(mass > 0))
            return fail(err, ATTSVM_E_DATA,
                        "class number %" PRId64 " (from 0) has no bag of positive weight", c);
    }
    if (count == data->n)
        return ATTSVM_OK;
    TRY(attsvm_data_subset(&k->data, data, k->indices, count, err));
    k->t.data = k->data;
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------------ the fit */

typedef struct progress {
    attsvm_observer *observer;
    void *context;
    int64_t done, total;
} progress;

static bool tell(void *context)
{
    const progress *p = context;
    const int64_t done = __atomic_load_n(&p->done, __ATOMIC_RELAXED);
    return p->observer(p->context, done < p->total ? done : p->total, p->total);
}

/* Number of minimisations of a fit. */
static int64_t work_of(const attsvm_fit_settings *s)
{
    const int64_t pools = s->pool == ATTSVM_POOL_AUTO ? 2 : 1;
    const int64_t ridges = s->ridge == ATTSVM_RIDGE_AUTO ? 4 : 1;
    return s->starts * (1 + (pools * ridges > 1 ? 5 * pools * ridges : 0));
}

static attsvm_status accuracy_of(attsvm_classifier *c, const learn_training *t, int threads,
                                 attsvm_error *err)
{
    double *score;
    attsvm_measures m;
    TRY(base_allocate(&score, (size_t)(t->n * c->shape.outputs), sizeof *score, "scores", err));
    attsvm_status status =
        learn_scores(t->data, &c->features, &c->shape, c->theta, c->members, threads, score, err);
    if (status == ATTSVM_OK)
        status = attsvm_measure(&m, score, t->label, t->n, t->classes, NULL, err);
    if (status == ATTSVM_OK)
        c->info.accuracy = m.accuracy;
    free(score);
    return status;
}

static attsvm_status fit(attsvm_classifier **out, const learn_training *t, const learn_run *run,
                         attsvm_error *err)
{
    const attsvm_fit_settings *s = run->settings;
    learn_choice choice;
    learn_features features;
    learn_fitted fitted;
    TRY(learn_choose(t, run, &choice, err));
    const learn_shape shape = learn_shape_of(choice.pool, t->data->d, s->heads, t->classes);
    TRY(learn_features_create(&features, t->data, t->sample, s->scale, run->threads, err));
    attsvm_status status =
        learn_classifier_create(out, &shape, &features, learn_members(&shape, s->starts), err);
    if (status == ATTSVM_OK)
        status = learn_fit_members(t, &(*out)->features, &shape, &choice.lambda, 1, run,
                                   (*out)->theta, &fitted, err);
    learn_features_free(&features);
    if (status != ATTSVM_OK)
        return status;
    attsvm_classifier_info *info = &(*out)->info;
    info->ridge = choice.lambda;
    info->validation[0] = choice.value[0];
    info->validation[1] = choice.value[1];
    info->loss = fitted.loss;
    info->gradient = fitted.gradient;
    info->iterations = fitted.iterations;
    info->evaluations = fitted.evaluations + choice.evaluations;
    info->converged = fitted.converged;
    TRY(accuracy_of(*out, t, run->threads, err));
    return learn_classifier_show(*out, err);
}

attsvm_status attsvm_classifier_fit(attsvm_classifier **out, const attsvm_data *data,
                                    const attsvm_targets *targets,
                                    const attsvm_fit_settings *settings, attsvm_observer *observer,
                                    void *context, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    attsvm_fit_settings standard;
    attsvm_fit_settings_init(&standard);
    if (!settings)
        settings = &standard;
    TRY(attsvm_settings_check(&attsvm_fit_table, settings, err));
    TRY(check_targets(data, targets, settings, err));
    const double start = base_seconds();
    progress p = { observer, context, 0, work_of(settings) };
    dist_stop stop;
    dist_stop_open(&stop, NULL, settings->time_limit, observer ? tell : NULL, &p);
    learn_run run = { settings, base_threads(settings->threads), &stop, &p.done };
    kept k;
    attsvm_status status = kept_open(&k, data, targets, err);
    if (status == ATTSVM_OK)
        status = fit(out, &k.t, &run, err);
    kept_close(&k);
    if (status == ATTSVM_OK)
        status = attsvm_classifier_name_classes(*out, NULL, err);
    if (status != ATTSVM_OK) {
        attsvm_classifier_free(*out);
        *out = NULL;
        return status;
    }
    (*out)->info.seconds = base_seconds() - start;
    return ATTSVM_OK;
}
