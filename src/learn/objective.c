/*
 * The objective of a member and its gradient (theory 8),
 *
 *   sum_i w_i loss(f(X_i), y_i) + lambda sum |v|^2 + lambda sum |p|^2
 *
 * One pass over the tokens: values of a bag in all columns, pool, slopes, sums.  If words repeat,
 * columns are computed once for each stored row and slopes are summed by row first: an evaluation
 * then reads each stored row twice, for texts of any length.
 */
#include "data/reader.h"
#include "learn/learn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const double beta_ridge = 1e-4; /* of (log beta)^2 */

struct learn_work {
    const learn_problem *problem;
    int threads;
    int64_t T_max, rows;        /* rows: stored rows, if values are stored by row */
    const double *tail;         /* of theta                                       */
    bool slopes;                /* compute the gradient                           */
    double *direction, *offset; /* (columns x d), (columns)                       */
    double *by_row;             /* (columns x rows) values                        */
    double *partial;            /* (blocks x width) sums of a block               */
    double *value, *attention;  /* (threads x ...) of a bag                       */
    double *f;                  /* (threads x 2 outputs)                          */
    double *total;              /* (width)                                        */
    double *row_sum;            /* (blocks x columns x d)                         */
    void *memory;
};

void learn_problem_init(learn_problem *problem, const attsvm_data *data,
                        const learn_features *features, const learn_shape *shape,
                        const int64_t *label, const double *weight, double lambda)
{
    enum {
        GRAIN = 1 << 16,
        MOST_BY_ROW = 8
    }; /* multiplications per block; maximum blocks by row */
    *problem = (learn_problem){ .data = data,
                                .features = features,
                                .shape = *shape,
                                .label = label,
                                .weight = weight,
                                .lambda = lambda };
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
static int64_t column_width(const learn_work *w)
{
    return w->problem->by_row ? w->rows : w->problem->shape.d;
}

static int64_t block_width(const learn_work *w)
{
    const learn_shape *s = &w->problem->shape;
    return s->columns * column_width(w) + s->columns + 2 * s->outputs + 1;
}

static void layout(learn_work *w, arena *a)
{
    const learn_problem *p = w->problem;
    const learn_shape *s = &p->shape;
    const size_t columns = (size_t)s->columns, d = (size_t)s->d, T = (size_t)w->T_max;
    const size_t threads = (size_t)w->threads, blocks = (size_t)p->blocks;
    w->direction = take(a, columns * d);
    w->offset = take(a, columns);
    w->by_row = take(a, p->by_row ? columns * (size_t)w->rows : 0);
    w->partial = take(a, blocks * (size_t)block_width(w));
    w->total = take(a, (size_t)block_width(w));
    w->value = take(a, threads * columns * T);
    w->attention = take(a, threads * (size_t)learn_pool_attentions(s) * T);
    w->f = take(a, threads * 2 * (size_t)s->outputs);
    w->row_sum = take(a, p->by_row && p->data->X ? blocks * columns * d : 0);
}

attsvm_status learn_work_create(learn_work **out, const learn_problem *problem, int threads,
                                attsvm_error *err)
{
    *out = NULL;
    learn_work *w;
    arena a = { 0 };
    TRY(base_allocate(&w, 1, sizeof *w, "evaluation", err));
    w->problem = problem;
    w->threads = threads;
    w->T_max = problem->data->T_max > 0 ? problem->data->T_max : 1;
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

void learn_directions(const learn_shape *shape, const learn_features *features, const double *theta,
                      double *direction, double *offset)
{
    const int64_t d = shape->d;
    for (int64_t c = 0; c < shape->columns; c++) {
        const double *q = theta + c * d;
        double *to = direction + c * d;
        for (int64_t j = 0; j < d; j++)
            to[j] = features->scale[j] * q[j];
        offset[c] = features->plain ? 0 : -la_dot(features->mu, to, d);
    }
}

void learn_values(const learn_shape *shape, const la_rows *rows, const double *direction,
                  const double *offset, learn_bag *bag)
{
    bag->T = rows->count;
    for (int64_t c = 0; c < shape->columns; c++) {
        double *value = bag->value + c * bag->stride;
        la_rows_dot(rows, direction + c * shape->d, value);
        for (int64_t t = 0; t < rows->count; t++)
            value[t] += offset[c];
    }
}

/* ------------------------------------------------------------------------ by row */

/* Values of all stored rows, cut into blocks. */
static void values_of_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    learn_work *w = context;
    const learn_problem *p = w->problem;
    int64_t lo, hi;
    base_block(w->rows, p->blocks, block, &lo, &hi);
    const size_t first = (size_t)(lo * data_row_bytes(p->data));
    const la_rows rows = { (const char *)p->data->X + first, NULL, hi - lo, p->shape.d,
                           p->data->dtype };
    for (int64_t c = 0; c < p->shape.columns; c++) {
        double *value = w->by_row + c * w->rows + lo;
        la_rows_dot(&rows, w->direction + c * p->shape.d, value);
        for (int64_t r = 0; r < hi - lo; r++)
            value[r] += w->offset[c];
    }
}

/* Slopes by row into slopes by feature. */
static void sums_of_rows(void *context, int64_t block, int worker)
{
    (void)worker;
    learn_work *w = context;
    const learn_problem *p = w->problem;
    const int64_t d = p->shape.d;
    int64_t lo, hi;
    base_block(w->rows, p->blocks, block, &lo, &hi);
    const size_t first = (size_t)(lo * data_row_bytes(p->data));
    const la_rows rows = { (const char *)p->data->X + first, NULL, hi - lo, d, p->data->dtype };
    double *sum = w->row_sum + block * p->shape.columns * d;
    memset(sum, 0, (size_t)(p->shape.columns * d) * sizeof *sum);
    for (int64_t c = 0; c < p->shape.columns; c++)
        la_rows_sum(&rows, w->total + c * w->rows + lo, sum + c * d);
}

/* -------------------------------------------------------------------------- bags */

static void read_bag(const learn_work *w, const la_rows *rows, learn_bag *bag)
{
    const learn_problem *p = w->problem;
    if (!p->by_row) {
        learn_values(&p->shape, rows, w->direction, w->offset, bag);
        return;
    }
    bag->T = rows->count;
    for (int64_t c = 0; c < p->shape.columns; c++) {
        const double *from = w->by_row + c * w->rows;
        double *value = bag->value + c * bag->stride;
        for (int64_t t = 0; t < rows->count; t++)
            value[t] = from[rows->index[t]];
    }
}

/* Slopes of the bag's values into the sums of its block. */
static void add_bag(const learn_work *w, const la_rows *rows, const learn_bag *bag, double *sum)
{
    const learn_shape *s = &w->problem->shape;
    const int64_t width = column_width(w);
    for (int64_t c = 0; c < s->columns; c++) {
        const double *slope = bag->value + c * bag->stride;
        double *to = sum + c * width, all = 0;
        if (w->problem->by_row)
            for (int64_t t = 0; t < bag->T; t++)
                to[rows->index[t]] += slope[t];
        else
            la_rows_sum(rows, slope, to);
        for (int64_t t = 0; t < bag->T; t++)
            all += slope[t];
        /* slopes of a prompt cancel within a bag */
        sum[s->columns * width + c] += c < s->prompts ? 0 : all;
    }
}

static void sum_bags(void *context, int64_t block, int worker)
{
    learn_work *w = context;
    const learn_problem *p = w->problem;
    const learn_shape *s = &p->shape;
    const int64_t width = block_width(w), tail_at = s->columns * (column_width(w) + 1);
    double *sum = w->partial + block * width;
    double *f = w->f + worker * 2 * s->outputs, *r = f + s->outputs;
    double *attention = w->attention + worker * learn_pool_attentions(s) * w->T_max;
    learn_bag bag = { .stride = w->T_max, .value = w->value + worker * s->columns * w->T_max };
    memset(sum, 0, (size_t)width * sizeof *sum);
    data_reader reader = data_reader_open(p->data, data_block_first(p->data, p->blocks, block),
                                          data_block_first(p->data, p->blocks, block + 1));
    for (int64_t i; data_reader_each(&reader, &i);) {
        const la_rows rows = data_sequence(p->data, i);
        read_bag(w, &rows, &bag);
        learn_pool_forward(s, w->tail, &bag, attention, f);
        sum[width - 1] += p->weight[i] * learn_loss(s, f, p->label[i], r);
        if (!w->slopes)
            continue;
        for (int64_t k = 0; k < s->outputs; k++)
            r[k] *= p->weight[i];
        learn_pool_backward(s, w->tail, &bag, attention, f, r, sum + tail_at);
        add_bag(w, &rows, &bag, sum);
    }
}

/* ---------------------------------------------------------------------- gradient */

/* d/dq_j = scale_j (sum_t w_t x_tj - mu_j sum_t w_t), from the sums of all blocks. */
static void collect(learn_work *w, double *gradient)
{
    const learn_problem *p = w->problem;
    const learn_shape *s = &p->shape;
    const int64_t d = s->d;
    const double *sums = w->total, *all = w->total + s->columns * column_width(w);
    if (w->row_sum && p->by_row && p->data->X) {
        base_parallel(w->threads, p->blocks, sums_of_rows, w);
        for (int64_t b = 1; b < p->blocks; b++)
            la_axpy(1, w->row_sum + b * s->columns * d, w->row_sum, s->columns * d);
        sums = w->row_sum;
    }
    for (int64_t c = 0; c < s->columns; c++)
        for (int64_t j = 0; j < d; j++)
            gradient[c * d + j] =
                p->features->scale[j] * (sums[c * d + j] - p->features->mu[j] * all[c]);
    memcpy(gradient + s->columns * d, all + s->columns,
           (size_t)(s->size - s->columns * d) * sizeof *gradient);
}

/* The ridge of everything but b; returns its value. */
static double add_ridge(const learn_problem *p, const double *theta, double *gradient)
{
    const learn_shape *s = &p->shape;
    const int64_t directions = s->columns * s->d;
    double value = p->lambda * la_dot(theta, theta, directions);
    if (gradient)
        la_axpy(2 * p->lambda, theta, gradient, directions);
    for (int64_t k = 0; s->betas >= 0 && k < s->outputs; k++) {
        const double log_beta = theta[s->betas + k];
        value += beta_ridge * log_beta * log_beta;
        if (gradient)
            gradient[s->betas + k] += 2 * beta_ridge * log_beta;
    }
    return value;
}

double learn_evaluate(learn_work *work, const double *theta, double *gradient)
{
    const learn_problem *p = work->problem;
    const int64_t width = block_width(work);
    work->slopes = gradient != NULL;
    work->tail = theta + p->shape.columns * p->shape.d;
    learn_directions(&p->shape, p->features, theta, work->direction, work->offset);
    if (p->by_row && p->data->X)
        base_parallel(work->threads, p->blocks, values_of_rows, work);
    else if (p->by_row)
        memcpy(work->by_row, work->direction,
               (size_t)(p->shape.columns * work->rows) * sizeof *work->by_row);
    base_parallel(work->threads, p->blocks, sum_bags, work);
    memset(work->total, 0, (size_t)width * sizeof *work->total);
    base_reduce(work->total, work->partial, p->blocks, width);
    if (gradient)
        collect(work, gradient);
    return work->total[width - 1] + add_ridge(p, theta, gradient);
}
