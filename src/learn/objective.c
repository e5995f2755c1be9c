/*
 * The objective of members and its gradient (theory 8),
 *
 *   sum_i w_i loss(f(X_i), y_i) + lambda sum |v|^2 + lambda sum |p|^2
 *
 * One pass over the tokens for all members: values of several bags in all columns, pools, slopes,
 * sums.  If words repeat, columns are computed once for each stored row and slopes are summed by
 * row first: an evaluation then reads each stored row twice, for texts of any length.
 */
#include "data/reader.h"
#include "learn/learn.h"

#include <stdlib.h>
#include <string.h>

static const double beta_ridge = 1e-4; /* of (log beta)^2 */

enum { RUN = 256 }; /* tokens that are processed together, in whole bags */

struct learn_work {
    const learn_problem *problem;
    int threads;
    int64_t most, members, columns; /* maximum and current number; columns of all members */
    int64_t room, rows;             /* maximum tokens of a run; stored rows   */
    bool slopes;                /* compute the gradient                                           */
    const double **theta;       /* (members)                                                    */
    double *direction, *offset; /* (columns x d), (columns)                                     */
    double *tail;               /* (tails x members)                                            */
    double *by_row;             /* (rows x columns) values                                      */
    double *partial;            /* (blocks x width) sums of a block                             */
    double *total;   /* (width) of all blocks                                              */
    double *row_sum; /* (blocks x columns x d)                                       */
    double *value, *attention; /* (threads x ...) of a run, of a bag                           */
    double *top, *f, *r;       /* (threads x ...) of a bag                                     */
    void *memory;
};

void learn_problem_init(learn_problem *problem, const attsvm_data *data,
                        const learn_features *features, const learn_shape *shape,
                        const int64_t *label, const double *weight)
{
    enum {
        GRAIN = 1 << 16,
        MOST_BY_ROW = 8
    }; /* multiplications per block; maximum blocks by row */
    *problem = (learn_problem){
        .data = data, .features = features, .shape = *shape, .label = label, .weight = weight
    };
    problem->by_row = data->storage == ATTSVM_STORAGE_ONE_HOT ||
                      (data->vocabulary > 0 && data->rows <= data->tokens);
    const int64_t cost = problem->by_row ? 64 : data->d * shape->columns;
    problem->blocks = base_blocks(data->tokens * cost, GRAIN);
    if (problem->by_row && problem->blocks > MOST_BY_ROW)
        problem->blocks = MOST_BY_ROW;
    if (problem->blocks > data->n)
        problem->blocks = data->n;
}

/* Sums of a block: slopes of the columns (by row, or by feature), their sums over tokens, tail,
   loss. */
typedef struct sums {
    double *slope, *all, *tail, *loss;
} sums;

static int64_t column_width(const learn_work *w)
{
    return w->problem->by_row ? w->rows : w->problem->shape.d;
}

static int64_t width_of(const learn_work *w, int64_t members)
{
    const learn_shape *s = &w->problem->shape;
    return members * (s->columns * (column_width(w) + 1) + learn_pool_tails(s) + 1);
}

static sums sums_at(const learn_work *w, double *at)
{
    double *all = at + w->columns * column_width(w), *tail = all + w->columns;
    return (sums){ at, all, tail, tail + learn_pool_tails(&w->problem->shape) * w->members };
}

static void layout(learn_work *w, arena *a)
{
    const learn_problem *p = w->problem;
    const learn_shape *s = &p->shape;
    const size_t M = (size_t)w->most, columns = (size_t)s->columns * M, d = (size_t)s->d;
    const size_t threads = (size_t)w->threads, blocks = (size_t)p->blocks;
    const size_t width = (size_t)width_of(w, w->most), room = (size_t)w->room;
    const size_t T = p->data->T_max > 0 ? (size_t)p->data->T_max : 1;
    const size_t attentions = (size_t)learn_pool_attentions(s) * M, K = (size_t)s->outputs;
    w->theta = base_take(a, M, sizeof *w->theta);
    w->direction = take(a, columns * d);
    w->offset = take(a, columns);
    w->tail = take(a, (size_t)learn_pool_tails(s) * M);
    w->by_row = take(a, p->by_row ? columns * (size_t)w->rows : 0);
    w->partial = take(a, blocks * width);
    w->total = take(a, width);
    w->row_sum = take(a, p->by_row && p->data->X ? blocks * columns * d : 0);
    w->value = take(a, threads * columns * room);
    w->attention = take(a, threads * attentions * T);
    w->top = take(a, threads * attentions);
    w->f = take(a, threads * K * M);
    w->r = take(a, threads * K * M);
}

attsvm_status learn_work_create(learn_work **out, const learn_problem *problem, int64_t members,
                                int threads, attsvm_error *err)
{
    *out = NULL;
    learn_work *w;
    arena a = { 0 };
    TRY(base_allocate(&w, 1, sizeof *w, "evaluation", err));
    w->problem = problem;
    w->threads = threads < problem->blocks ? threads : (int)problem->blocks;
    w->most = members;
    w->room = problem->data->T_max > RUN ? problem->data->T_max : RUN;
    w->rows = problem->data->rows;
    layout(w, &a);
    attsvm_status status = base_arena_allocate(&a, "evaluation", err);
    if (status != ATTSVM_OK) {
        free(w);
        return status;
    }
    w->memory = a.base;
    layout(w, &a);
    *out = w;
    return ATTSVM_OK;
}

void learn_work_free(learn_work *work)
{
    if (!work)
        return;
    free(work->memory);
    free(work);
}

void learn_directions(const learn_shape *shape, const learn_features *features,
                      const double *const *theta, int64_t members, double *direction,
                      double *offset)
{
    const int64_t d = shape->d;
    for (int64_t c = 0; c < shape->columns; c++)
        for (int64_t m = 0; m < members; m++) {
            const double *q = theta[m] + c * d;
            double *to = direction + (c * members + m) * d;
            for (int64_t j = 0; j < d; j++)
                to[j] = features->scale[j] * q[j];
            offset[c * members + m] = features->plain ? 0 : -la_dot(features->mu, to, d);
        }
}

void learn_values(const la_rows *rows, const double *direction, const double *offset, int64_t count,
                  double *value)
{
    for (int64_t t = 0; !rows->base && t < rows->count; t++)
        for (int64_t c = 0; c < count; c++)
            value[t * count + c] = direction[c * rows->d + (rows->index ? rows->index[t] : t)];
    if (rows->base)
        la_active()->rows_dots(rows, direction, count, value);
    for (int64_t t = 0; t < rows->count; t++)
        for (int64_t c = 0; c < count; c++)
            value[t * count + c] += offset[c];
}

/* ------------------------------------------------------------------------ by row */

/* A block of the stored rows; *lo is its first row. */
static la_rows stored_rows(const learn_work *w, int64_t block, int64_t *lo)
{
    const attsvm_data *data = w->problem->data;
    int64_t hi;
    base_block(w->rows, w->problem->blocks, block, lo, &hi);
    const char *first = data->X ? (const char *)data->X + *lo * data_row_bytes(data) : NULL;
    return (la_rows){ first, NULL, hi - *lo, data->d, data->dtype };
}

/* Values of all stored rows, cut into blocks. */
static void values_of_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    learn_work *w = context;
    int64_t lo;
    const la_rows rows = stored_rows(w, block, &lo);
    double *value = w->by_row + lo * w->columns;
    if (rows.base) {
        learn_values(&rows, w->direction, w->offset, w->columns, value);
        return;
    }
    for (int64_t r = 0; r < rows.count; r++)
        for (int64_t c = 0; c < w->columns; c++)
            value[r * w->columns + c] = w->direction[c * rows.d + lo + r];
}

/* From slopes by row to slopes by feature. */
static void sums_of_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    learn_work *w = context;
    int64_t lo;
    const la_rows rows = stored_rows(w, block, &lo);
    double *sum = w->row_sum + block * w->columns * rows.d;
    memset(sum, 0, (size_t)(w->columns * rows.d) * sizeof *sum);
    la_active()->rows_sums(&rows, w->total + lo * w->columns, w->columns, sum);
}

/* -------------------------------------------------------------------------- bags */

/* The tokens of sequences lo..hi-1. */
static la_rows rows_of_run(const attsvm_data *data, int64_t lo, int64_t hi)
{
    la_rows rows = data_sequence(data, lo);
    rows.count = data_first(data, hi) - data_first(data, lo);
    return rows;
}

static void read_run(const learn_work *w, const la_rows *rows, double *value)
{
    const int64_t C = w->columns;
    if (!w->problem->by_row) {
        learn_values(rows, w->direction, w->offset, C, value);
        return;
    }
    for (int64_t t = 0; t < rows->count; t++)
        memcpy(value + t * C, w->by_row + rows->index[t] * C, (size_t)C * sizeof *value);
}

/* Adds the slopes of a run to the sums of its block. */
static void add_run(const learn_work *w, const la_rows *rows, const double *slope, const sums *to)
{
    const int64_t C = w->columns, prompts = w->problem->shape.prompts * w->members;
    if (w->problem->by_row)
        for (int64_t t = 0; t < rows->count; t++)
            for (int64_t c = 0; c < C; c++)
                to->slope[rows->index[t] * C + c] += slope[t * C + c];
    else
        la_active()->rows_sums(rows, slope, C, to->slope);
    for (int64_t t = 0; t < rows->count; t++) /* slopes of a prompt cancel within a bag */
        for (int64_t c = prompts; c < C; c++)
            to->all[c] += slope[t * C + c];
}

static void sum_run(learn_work *w, int64_t lo, int64_t hi, int worker, const sums *to)
{
    const learn_problem *p = w->problem;
    const learn_shape *s = &p->shape;
    const int64_t M = w->members, C = w->columns, attentions = learn_pool_attentions(s) * w->most;
    const int64_t T = p->data->T_max > 0 ? p->data->T_max : 1;
    const la_rows rows = rows_of_run(p->data, lo, hi);
    double *value = w->value + worker * s->columns * w->most * w->room;
    double *r = w->r + worker * s->outputs * w->most;
    learn_bag bag = { .members = M,
                      .value = value,
                      .attention = w->attention + worker * attentions * T,
                      .top = w->top + worker * attentions,
                      .f = w->f + worker * s->outputs * w->most,
                      .tail = w->tail };
    read_run(w, &rows, value);
    for (int64_t i = lo; i < hi; i++) {
        bag.T = data_length(p->data, i);
        learn_pool_forward(s, &bag);
        learn_loss(s, M, bag.f, p->label[i], p->weight[i], r, to->loss);
        if (w->slopes)
            learn_pool_backward(s, &bag, r, to->tail);
        bag.value += bag.T * C;
    }
    if (w->slopes)
        add_run(w, &rows, value, to);
}

/* The end of the run of bags that begins at lo and has at most `room` tokens. */
static int64_t end_of_run(const learn_work *w, int64_t lo, int64_t end)
{
    const attsvm_data *data = w->problem->data;
    int64_t hi = lo + 1;
    while (hi < end && data_first(data, hi + 1) - data_first(data, lo) <= w->room)
        hi++;
    return hi;
}

static void sum_bags(void *context, int64_t block, int worker)
{
    learn_work *w = context;
    const learn_problem *p = w->problem;
    const int64_t width = width_of(w, w->members);
    const sums to = sums_at(w, w->partial + block * width);
    memset(to.slope, 0, (size_t)width * sizeof *to.slope);
    data_reader reader = data_reader_open(p->data, data_block_first(p->data, p->blocks, block),
                                          data_block_first(p->data, p->blocks, block + 1));
    while (data_reader_next(&reader))
        for (int64_t lo = reader.lo, hi; lo < reader.hi; lo = hi) {
            hi = end_of_run(w, lo, reader.hi);
            sum_run(w, lo, hi, worker, &to);
        }
}

/* ---------------------------------------------------------------------- gradient */

/* Slopes by feature, (columns x d), from the sums of all blocks. */
static const double *slopes_by_feature(learn_work *w)
{
    const learn_problem *p = w->problem;
    const int64_t d = p->shape.d, C = w->columns;
    if (!p->by_row)
        return w->total;
    if (!p->data->X) { /* one-hot: from rows of words to columns */
        for (int64_t c = 0; c < C; c++)
            for (int64_t j = 0; j < d; j++)
                w->direction[c * d + j] = w->total[j * C + c];
        return w->direction;
    }
    base_parallel(w->threads, p->blocks, sums_of_rows, w);
    for (int64_t b = 1; b < p->blocks; b++)
        la_axpy(1, w->row_sum + b * C * d, w->row_sum, C * d);
    return w->row_sum;
}

/* d/dq_j = scale_j (sum_t w_t x_tj - mu_j sum_t w_t) */
static void collect(learn_work *w, learn_point *points)
{
    const learn_features *f = w->problem->features;
    const learn_shape *s = &w->problem->shape;
    const int64_t d = s->d, M = w->members;
    const sums of = sums_at(w, w->total);
    const double *slope = slopes_by_feature(w);
    for (int64_t c = 0; c < s->columns; c++)
        for (int64_t m = 0; m < M; m++) {
            const double *from = slope + (c * M + m) * d, all = of.all[c * M + m];
            double *to = points[m].gradient + c * d;
            for (int64_t j = 0; j < d; j++)
                to[j] = f->scale[j] * (from[j] - f->mu[j] * all);
        }
    for (int64_t k = 0; k < learn_pool_tails(s); k++)
        for (int64_t m = 0; m < M; m++)
            points[m].gradient[s->columns * d + k] = of.tail[k * M + m];
}

/* The ridge of everything but b. */
static void add_ridge(const learn_shape *s, learn_point *point)
{
    const int64_t directions = s->columns * s->d;
    point->value += point->lambda * la_dot(point->theta, point->theta, directions);
    if (point->gradient)
        la_axpy(2 * point->lambda, point->theta, point->gradient, directions);
    for (int64_t k = 0; s->betas >= 0 && k < s->outputs; k++) {
        const double log_beta = point->theta[s->betas + k];
        point->value += beta_ridge * log_beta * log_beta;
        if (point->gradient)
            point->gradient[s->betas + k] += 2 * beta_ridge * log_beta;
    }
}

void learn_evaluate(learn_work *w, learn_point *points, int64_t count)
{
    const learn_problem *p = w->problem;
    w->members = count;
    w->columns = p->shape.columns * count;
    w->slopes = points[0].gradient != NULL;
    for (int64_t m = 0; m < count; m++)
        w->theta[m] = points[m].theta;
    learn_directions(&p->shape, p->features, w->theta, count, w->direction, w->offset);
    learn_pool_tail(&p->shape, w->theta, count, w->tail);
    if (p->by_row)
        base_parallel(w->threads, p->blocks, values_of_rows, w);
    base_parallel(w->threads, p->blocks, sum_bags, w);
    const int64_t width = width_of(w, count);
    memset(w->total, 0, (size_t)width * sizeof *w->total);
    base_reduce(w->total, w->partial, p->blocks, width);
    const sums of = sums_at(w, w->total);
    if (w->slopes)
        collect(w, points);
    for (int64_t m = 0; m < count; m++) {
        points[m].value = of.loss[m];
        add_ridge(&p->shape, &points[m]);
    }
}
