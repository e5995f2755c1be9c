/*
 * Predictions, and the tokens that decide them (theory 8).  A bag is read once: predictions without
 * some tokens are computed from the stored values of its tokens in all members.
 */
#include "learn/explain.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------ memory */

struct attsvm_prediction {
    attsvm_prediction_info info;
    attsvm_named_array arrays[12];
    int64_t count;
    learn_told told;
    void *memory;
};

typedef struct predicting {
    const attsvm_classifier *c;
    const attsvm_data *data;
    const attsvm_predict_settings *settings;
    int64_t blocks;
    const double **theta;
    double *direction, *offset, *tail; /* of all members */
    learn_view *view;                  /* (threads) */
    learn_told *told;
    learn_tally *tally; /* (blocks) */
} predicting;

static void layout_result(learn_told *told, arena *a, const attsvm_classifier *c,
                          const attsvm_data *data, bool explain)
{
    const size_t n = (size_t)data->n, N = (size_t)data->tokens, C = (size_t)c->shape.classes;
    told->label = take_int64(a, n);
    told->score = take(a, n * (size_t)c->shape.outputs);
    told->probability = take(a, n * C);
    if (!explain)
        return;
    told->decider = take_int64(a, n);
    told->runner_up = take_int64(a, n);
    told->key = take_int64(a, n);
    told->flips = base_take(a, n, 1);
    told->agreement = take(a, n);
    told->attention = take(a, N);
    told->contribution = take(a, N);
    told->instance_score = take(a, N);
}

static void show(attsvm_prediction *p, const char *name, const void *data, attsvm_dtype dtype,
                 int64_t rows, int64_t columns)
{
    p->arrays[p->count++] = (attsvm_named_array){
        name,
        { .data = data, .shape = { rows, columns }, .ndim = columns > 0 ? 2 : 1, .dtype = dtype }
    };
}

static void show_all(attsvm_prediction *p, const attsvm_classifier *c, const attsvm_data *data)
{
    const learn_told *t = &p->told;
    const int64_t n = data->n, N = data->tokens, K = c->shape.outputs;
    show(p, "label", t->label, ATTSVM_I64, n, 0);
    show(p, "score", t->score, ATTSVM_F64, n, K == 1 ? 0 : K);
    show(p, "probability", t->probability, ATTSVM_F64, n, c->shape.classes);
    if (!t->decider)
        return;
    show(p, "decider", t->decider, ATTSVM_I64, n, 0);
    show(p, "runner_up", t->runner_up, ATTSVM_I64, n, 0);
    show(p, "key", t->key, ATTSVM_I64, n, 0);
    show(p, "flips", t->flips, ATTSVM_BOOL, n, 0);
    show(p, "agreement", t->agreement, ATTSVM_F64, n, 0);
    show(p, "attention", t->attention, ATTSVM_F64, N, 0);
    show(p, "contribution", t->contribution, ATTSVM_F64, N, 0);
    show(p, "instance_score", t->instance_score, ATTSVM_F64, N, 0);
}

/* --------------------------------------------------------------------------- the loop */

static void predict_block(void *context, int64_t block, int worker)
{
    const predicting *g = context;
    const learn_shape *s = &g->c->shape;
    learn_view *view = &g->view[worker];
    const int64_t hi = data_block_first(g->data, g->blocks, block + 1);
    for (int64_t i = data_block_first(g->data, g->blocks, block); i < hi; i++) {
        const la_rows rows = data_sequence(g->data, i);
        learn_values(&rows, g->direction, g->offset, s->columns * g->c->members, view->bag.value);
        learn_view_score(view, rows.count);
        memcpy(g->told->score + i * s->outputs, view->f, (size_t)s->outputs * sizeof *view->f);
        learn_probabilities(s, view->f, g->told->probability + i * s->classes);
        g->told->label[i] = learn_predicted(s, view->f);
        g->tally[block].empty += rows.count == 0;
        if (g->settings->explain)
            learn_explain(view, &rows, i, data_first(g->data, i), g->told, &g->tally[block]);
        if (g->settings->faithful)
            learn_faithful(view, g->settings->seed, i, &g->tally[block]);
    }
}

static void sum_up(attsvm_prediction *p, const learn_tally *tally, int64_t blocks,
                   const attsvm_predict_settings *settings, const learn_shape *shape)
{
    learn_tally all = { 0 };
    for (int64_t b = 0; b < blocks; b++) {
        all.empty += tally[b].empty;
        all.negative += tally[b].negative;
        all.turned += tally[b].turned;
        all.faithful += tally[b].faithful;
        for (int k = 0; k < LEARN_FALLS; k++)
            all.fall[k] += tally[b].fall[k];
    }
    p->info.empty = all.empty;
    p->info.absence = settings->explain && shape->classes == 2 && all.negative > 0
                          ? (double)all.turned / (double)all.negative
                          : NAN;
    for (int k = 0; k < 3; k++) {
        const double n = settings->faithful && all.faithful > 0 ? (double)all.faithful : NAN;
        p->info.comprehensiveness[k] = all.fall[k] / n;
        p->info.sufficiency[k] = all.fall[3 + k] / n;
        p->info.random_comprehensiveness[k] = all.fall[6 + k] / n;
        p->info.random_sufficiency[k] = all.fall[9 + k] / n;
    }
}

static void layout_work(predicting *g, arena *a, int threads)
{
    const learn_shape *s = &g->c->shape;
    const size_t columns = (size_t)(g->c->members * s->columns);
    g->theta = base_take(a, (size_t)g->c->members, sizeof *g->theta);
    g->direction = take(a, columns * (size_t)s->d);
    g->offset = take(a, columns);
    g->tail = take(a, (size_t)(learn_pool_tails(s) * g->c->members));
    g->tally = base_take(a, (size_t)g->blocks, sizeof *g->tally);
    g->view = base_take(a, (size_t)threads, sizeof *g->view);
    for (int k = 0; k < threads; k++) {
        learn_view own = { 0 };
        learn_view_layout(&own, a, g->c, g->data->T_max, g->tail);
        if (a->base)
            g->view[k] = own;
    }
}

static attsvm_status predict(attsvm_prediction *p, predicting *g, int threads, attsvm_error *err)
{
    const attsvm_classifier *c = g->c;
    arena a = { 0 }, work = { 0 };
    layout_result(&p->told, &a, c, g->data, g->settings->explain);
    TRY(base_arena_allocate(&a, "predictions", err));
    p->memory = a.base;
    layout_result(&p->told, &a, c, g->data, g->settings->explain);
    layout_work(g, &work, threads);
    TRY(base_arena_allocate(&work, "predictions", err));
    layout_work(g, &work, threads);
    for (int64_t m = 0; m < c->members; m++)
        g->theta[m] = c->theta + m * c->shape.size;
    learn_directions(&c->shape, &c->features, g->theta, c->members, g->direction, g->offset);
    learn_pool_tail(&c->shape, g->theta, c->members, g->tail);
    base_parallel(threads, g->blocks, predict_block, g);
    sum_up(p, g->tally, g->blocks, g->settings, &c->shape);
    free(work.base);
    show_all(p, c, g->data);
    return ATTSVM_OK;
}

attsvm_status attsvm_classifier_predict(attsvm_prediction **out,
                                        const attsvm_classifier *classifier,
                                        const attsvm_data *data,
                                        const attsvm_predict_settings *settings, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(classifier);
    NEED(data);
    attsvm_predict_settings standard;
    attsvm_predict_settings_init(&standard);
    if (!settings)
        settings = &standard;
    TRY(attsvm_settings_check(&attsvm_predict_table, settings, err));
    TRY(learn_classifier_check(classifier, data, err));
    attsvm_prediction *p;
    TRY(base_allocate(&p, 1, sizeof *p, "predictions", err));
    p->info.n = data->n;
    p->info.classes = classifier->shape.classes;
    predicting g = { .c = classifier,
                     .data = data,
                     .settings = settings,
                     .blocks = base_blocks(data->tokens * data->d, 1 << 15),
                     .told = &p->told };
    attsvm_status status = predict(p, &g, base_threads(settings->threads), err);
    if (status != ATTSVM_OK) {
        attsvm_prediction_free(p);
        return status;
    }
    *out = p;
    return ATTSVM_OK;
}

void attsvm_prediction_free(attsvm_prediction *prediction)
{
    if (!prediction)
        return;
    free(prediction->memory);
    free(prediction);
}

attsvm_prediction_info attsvm_prediction_describe(const attsvm_prediction *prediction)
{
    if (!prediction)
        return (attsvm_prediction_info){ 0 };
    return prediction->info;
}

int64_t attsvm_prediction_count(const attsvm_prediction *prediction)
{
    if (!prediction)
        return 0;
    return prediction->count;
}

const attsvm_named_array *attsvm_prediction_array(const attsvm_prediction *prediction, int64_t k)
{
    if (!prediction)
        return NULL;
    return k >= 0 && k < prediction->count ? &prediction->arrays[k] : NULL;
}

const attsvm_array *attsvm_prediction_find(const attsvm_prediction *prediction, const char *name)
{
    if (!prediction || !name)
        return NULL;
    for (int64_t k = 0; k < prediction->count; k++)
        if (strcmp(prediction->arrays[k].name, name) == 0)
            return &prediction->arrays[k].array;
    return NULL;
}
