/* Mean and deviation of every feature over the training tokens (theory 8). */
#include "data/reader.h"
#include "learn/learn.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Sums over the tokens, in blocks that depend on the data alone. */
typedef struct sums {
    const attsvm_data *data;
    const double *weight; /* (n) or NULL                                           */
    const double *mu;     /* (d) second pass: squares of x - mu; NULL: first pass   */
    int64_t blocks;
    double *total;            /* (blocks x d)                                     */
    double *lowest, *highest; /* (blocks x d) first pass                           */
    double *row;              /* (blocks x d) a token                              */
    double *mass;             /* (blocks) weight of all tokens                     */
    double *by_row; /* (rows) weight of each stored row, if words repeat; NULL: not used */
} sums;

/* Adds row t with weight w to the sums of a block. */
static void add_row(const sums *s, int64_t block, const la_rows *rows, int64_t t, double w)
{
    const int64_t d = s->data->d, at = block * d;
    double *total = s->total + at, *x = s->row + at, *low = s->lowest + at, *high = s->highest + at;
    la_row(rows, t, x);
    s->mass[block] += w;
    if (s->mu) {
        for (int64_t j = 0; j < d; j++)
            total[j] += w * ((x[j] - s->mu[j]) * (x[j] - s->mu[j]));
        return;
    }
    for (int64_t j = 0; j < d; j++) {
        total[j] += w * x[j];
        low[j] = x[j] < low[j] ? x[j] : low[j];
        high[j] = x[j] > high[j] ? x[j] : high[j];
    }
}

static void sum_block(void *context, int64_t block, int worker)
{
    (void)worker;
    const sums *s = context;
    const attsvm_data *data = s->data;
    int64_t lo, hi;
    if (s->by_row) {
        const la_rows table = { data->X, NULL, data->rows, data->d, data->dtype };
        base_block(data->rows, s->blocks, block, &lo, &hi);
        for (int64_t r = lo; r < hi; r++)
            if (s->by_row[r] > 0)
                add_row(s, block, &table, r, s->by_row[r]);
        return;
    }
    data_reader reader = data_reader_open(data, data_block_first(data, s->blocks, block),
                                          data_block_first(data, s->blocks, block + 1));
    for (int64_t i; data_reader_each(&reader, &i);) {
        const la_rows rows = data_sequence(data, i);
        for (int64_t t = 0; t < rows.count; t++)
            add_row(s, block, &rows, t, s->weight ? s->weight[i] : 1);
    }
}

/* The weight of each stored row: the sum over its tokens. */
static void weigh_rows(const sums *s)
{
    for (int64_t i = 0; i < s->data->n; i++) {
        const la_rows rows = data_sequence(s->data, i);
        for (int64_t t = 0; t < rows.count; t++)
            s->by_row[rows.index[t]] += s->weight ? s->weight[i] : 1;
    }
}

static void measure(sums *s, int threads, double *out)
{
    const int64_t d = s->data->d;
    memset(s->total, 0, (size_t)(s->blocks * d) * sizeof *s->total);
    memset(s->mass, 0, (size_t)s->blocks * sizeof *s->mass);
    for (int64_t k = 0; !s->mu && k < s->blocks * d; k++) {
        s->lowest[k] = INFINITY;
        s->highest[k] = -INFINITY;
    }
    base_parallel(threads, s->blocks, sum_block, s);
    memset(out, 0, (size_t)d * sizeof *out);
    base_reduce(out, s->total, s->blocks, d);
    double mass = 0;
    for (int64_t b = 0; b < s->blocks; b++)
        mass += s->mass[b];
    for (int64_t j = 0; j < d; j++)
        out[j] /= mass;
}

/* A constant feature has exactly its value as mu, and sigma 1.  Where the variance of another one
   underflows, sigma becomes 0. */
static void settle_constants(const sums *s, double *mu, double *sigma)
{
    const int64_t d = s->data->d;
    for (int64_t j = 0; j < d; j++) {
        double lowest = INFINITY, highest = -INFINITY;
        for (int64_t b = 0; b < s->blocks; b++) {
            lowest = fmin(lowest, s->lowest[b * d + j]);
            highest = fmax(highest, s->highest[b * d + j]);
        }
        sigma[j] = sigma[j] < DBL_MIN ? 0 : sqrt(sigma[j]);
        if (lowest == highest) {
            mu[j] = lowest;
            sigma[j] = 1;
        }
    }
}

static attsvm_status allocate(learn_features *f, int64_t d, attsvm_error *err)
{
    *f = (learn_features){ .d = d };
    TRY(base_allocate(&f->mu, 3 * (size_t)d, sizeof *f->mu, "features", err));
    f->sigma = f->mu + d;
    f->scale = f->sigma + d;
    return ATTSVM_OK;
}

static void finish(learn_features *f)
{
    const double root = sqrt((double)f->d);
    for (int64_t j = 0; j < f->d; j++)
        f->scale[j] = f->plain ? 1 : 1 / (f->sigma[j] * root);
}

static void layout(sums *s, arena *a)
{
    const size_t size = (size_t)(s->blocks * s->data->d);
    s->total = take(a, size);
    s->lowest = take(a, size);
    s->highest = take(a, size);
    s->row = take(a, size);
    s->mass = take(a, (size_t)s->blocks);
    if (s->data->vocabulary > 0 && s->data->rows <= s->data->tokens)
        s->by_row = take(a, (size_t)s->data->rows);
}

attsvm_status learn_features_create(learn_features *out, const attsvm_data *data,
                                    const double *weight, int32_t scale, int threads,
                                    attsvm_error *err)
{
    TRY(allocate(out, data->d, err));
    out->plain = scale == ATTSVM_SCALE_NONE || data->storage == ATTSVM_STORAGE_ONE_HOT;
    for (int64_t j = 0; j < data->d; j++)
        out->sigma[j] = 1;
    if (!out->plain) {
        sums s = { .data = data, .weight = weight, .blocks = base_blocks(data->tokens, 4096) };
        arena a = { 0 };
        layout(&s, &a);
        attsvm_status status = base_arena_allocate(&a, "mean and deviation", err);
        if (status != ATTSVM_OK) {
            learn_features_free(out);
            return status;
        }
        layout(&s, &a);
        if (s.by_row)
            weigh_rows(&s);
        measure(&s, threads, out->mu);
        s.mu = out->mu;
        measure(&s, threads, out->sigma);
        settle_constants(&s, out->mu, out->sigma);
        free(a.base);
    }
    for (int64_t j = 0; j < data->d; j++)
        if (!isfinite(out->mu[j]) || !isfinite(out->sigma[j]) || out->sigma[j] == 0) {
            const bool small = out->sigma[j] == 0;
            learn_features_free(out);
            return fail(err, ATTSVM_E_DATA,
                        "feature %" PRId64 " is too %s: its mean or variance leaves the range of "
                        "doubles; %s it by a constant",
                        j, small ? "small" : "large", small ? "multiply" : "divide");
        }
    finish(out);
    return ATTSVM_OK;
}

attsvm_status learn_features_restore(learn_features *out, int64_t d, const double *mu,
                                     const double *sigma, bool plain, attsvm_error *err)
{
    TRY(allocate(out, d, err));
    out->plain = plain;
    memcpy(out->mu, mu, (size_t)d * sizeof *mu);
    memcpy(out->sigma, sigma, (size_t)d * sizeof *sigma);
    finish(out);
    return ATTSVM_OK;
}

void learn_features_free(learn_features *features)
{
    free(features->mu);
    *features = (learn_features){ 0 };
}
