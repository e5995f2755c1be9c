/*
 * The label margin of intermediate p and the search for a small nu (theory 6.8, Assumption B):
 *
 *   nu(p) = (Gamma - Gamma(p)) / max_i (1 - s_i,alpha),  Gamma(p) the v-SVM margin of X_i' s_i.
 */
#include "theory/joint/joint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* If 1 - s is smaller than this, numerator and denominator are rounding errors. */
static const double least_miss = 1e-6;

static const double norms[] = { 1, 3, 10, 30 };
enum { NORMS = sizeof norms / sizeof *norms };

/* Pooled token of sequence i into x (d); returns 1 - s_alpha.  a: (T). */
static double pool(const assumption_b *b, const double *u, int64_t i, double *a, double *x)
{
    la_rows tokens = data_sequence(b->data, i);
    double others = 0;
    la_rows_dot(&tokens, u, a);
    la_softmax(a, tokens.count);
    for (int64_t t = 0; t < tokens.count; t++)
        if (t != b->alpha[i] && !data_same_key(b->data, NULL, i, b->alpha[i], t))
            others += a[t];
    memset(x, 0, (size_t)tokens.d * sizeof *x);
    la_rows_sum(&tokens, a, x);
    return others;
}

/* The margin of the v-SVM over points x (n,d); 0 if they cannot be separated. */
static attsvm_status points_margin(const attsvm_data *data, const double *x, const int64_t *zero,
                                   double *margin, attsvm_error *err)
{
    attsvm_named_array arrays[] = {
        { "X", { x, { data->n, 1, data->d }, 3, ATTSVM_F64 } },
        { "Y", { data->Y, { data->n }, 1, ATTSVM_I8 } },
    };
    attsvm_read_settings reading;
    attsvm_svm_settings settings;
    attsvm_data *points;
    attsvm_solution *solution = NULL;
    attsvm_read_settings_init(&reading);
    attsvm_svm_settings_init(&settings);
    reading.threads = settings.threads = 1;
    settings.problem = ATTSVM_PROBLEM_V;
    settings.norm = ATTSVM_NORM_L2;
    TRY(attsvm_data_create(&points, arrays, 2, &reading, err));
    attsvm_status status =
        theory_solve(points, &(attsvm_selection){ .alpha = zero, .terms = data->n }, &settings,
                     NULL, &solution, err);
    if (status == ATTSVM_OK) {
        attsvm_svm_info info = attsvm_solution_describe(solution);
        *margin = info.outcome == ATTSVM_OPTIMAL ? info.margin : 0;
    }
    attsvm_solution_free(solution);
    attsvm_data_free(points);
    return status;
}

/*
 * Gamma(p) is the distance of 0 from the hull of the points Y_i x_i, so the length of any point of
 * the hull bounds it from above.  Steps towards the point that is farthest behind (Gilbert) shorten
 * it; true as soon as it is at most `limit`.  scratch: (d).
 */
static bool margin_is_below(const attsvm_data *data, const double *x, double limit, double *scratch)
{
    const int64_t n = data->n, d = data->d;
    enum { STEPS = 300 };
    if (!(limit > 0))
        return false;
    memset(scratch, 0, (size_t)d * sizeof *scratch);
    for (int64_t i = 0; i < n; i++)
        la_axpy(data->Y[i] / (double)n, x + i * d, scratch, d);
    for (int step = 0; step < STEPS; step++) {
        int64_t behind = 0;
        double least = INFINITY, square = la_dot(scratch, scratch, d);
        if (square <= limit * limit)
            return true;
        for (int64_t i = 0; i < n; i++) {
            double product = data->Y[i] * la_dot(scratch, x + i * d, d);
            if (product < least) {
                least = product;
                behind = i;
            }
        }
        const double *y = x + behind * d;
        double between = square - 2 * least + la_dot(y, y, d);
        if (!(square > least) || least >= limit * sqrt(square)) /* the margin is above the limit */
            return false;
        double t = fmin(1, (square - least) / between);
        for (int64_t j = 0; j < d; j++)
            scratch[j] += t * (data->Y[behind] * y[j] - scratch[j]);
    }
    return false;
}

/* Gamma(p), or NAN where it is so small that nu is above its limit. */
static attsvm_status margin_at(const assumption_b *b, const double *u, double nu_limit,
                               double *margin, double *miss, attsvm_error *err)
{
    const attsvm_data *data = b->data;
    const int64_t n = data->n, d = data->d;
    double *x;
    int64_t *zero;
    TRY(base_allocate(&x, (size_t)(n * d + data->T_max + d), sizeof *x, "pooled tokens", err));
    attsvm_status status = base_allocate(&zero, (size_t)n, sizeof *zero, "selection", err);
    *miss = 0;
    for (int64_t i = 0; i < n && status == ATTSVM_OK; i++)
        *miss = fmax(*miss, pool(b, u, i, x + n * d, x + i * d));
    if (status == ATTSVM_OK) {
        double limit = (b->margin - nu_limit * *miss) * (1 - 1e-12);
        *margin = NAN;
        if (!margin_is_below(data, x, limit, x + n * d + data->T_max))
            status = points_margin(data, x, zero, margin, err);
        free(zero);
    }
    free(x);
    return status;
}

attsvm_status assumption_b_margin(const assumption_b *b, const double *u, double *margin,
                                  double *miss, attsvm_error *err)
{
    return margin_at(b, u, INFINITY, margin, miss, err);
}

/* ------------------------------------------------------------------------ search */

/* nu(p); INFINITY where it is above its limit, and where rounding would decide. */
static attsvm_status nu_of(const assumption_b *b, const double *u, double nu_limit, double *nu,
                           attsvm_error *err)
{
    double margin, miss;
    TRY(margin_at(b, u, nu_limit, &margin, &miss, err));
    *nu = miss > least_miss && !isnan(margin) ? (b->margin - margin) / miss : INFINITY;
    return ATTSVM_OK;
}

typedef struct points {
    const assumption_b *b;
    const double *iterates;
    int64_t count, blocks, all;
    int64_t lo, hi; /* points of this rank */
    uint64_t seed;
    double limit; /* of a first point: higher values need not be known */
    double *nu;   /* (all) */
    attsvm_error *errors;
} points;

/* Point k: an iterate, or direction k/4 at norm k%4. */
static void point_at(const points *p, int64_t k, double *u)
{
    int64_t d = p->b->data->d;
    if (k < p->count) {
        memcpy(u, p->iterates + k * d, (size_t)d * sizeof *u);
        return;
    }
    base_random r = base_random_stream(p->seed, (uint64_t)((k - p->count) / NORMS));
    base_random_sphere(&r, u, d);
    for (int64_t j = 0; j < d; j++)
        u[j] *= norms[(k - p->count) % NORMS];
}

static void try_block(void *context, int64_t block, int worker)
{
    const points *p = context;
    attsvm_error *err = &p->errors[block];
    int64_t lo, hi;
    double *u;
    base_block(p->hi - p->lo, p->blocks, block, &lo, &hi);
    if (base_allocate(&u, (size_t)p->b->data->d, sizeof *u, "point", err) != ATTSVM_OK)
        return;
    for (int64_t k = p->lo + lo; k < p->lo + hi && err->status == ATTSVM_OK; k++) {
        if (dist_stop_inside(p->b->stop, worker))
            break;
        point_at(p, k, u);
        nu_of(p->b, u, p->limit, &p->nu[k], err);
        __atomic_fetch_add(&p->b->watch->done, 1, __ATOMIC_RELAXED);
    }
    free(u);
}

/* Random local search: the step shrinks after a failure and grows after a success. */
static attsvm_status descend(const assumption_b *b, const attsvm_joint_settings *settings,
                             double *u, double *nu, attsvm_error *err)
{
    int64_t d = b->data->d;
    base_random r = base_random_stream((uint64_t)settings->seed, (uint64_t)1 << 62);
    double *try, step = 0.3 * fmax(la_norm(u, d), 1);
    TRY(base_allocate(&try, (size_t)d, sizeof *try, "point", err));
    attsvm_status status = ATTSVM_OK;
    for (int64_t k = 0; k < settings->descent && status == ATTSVM_OK; k++) {
        if (dist_stop_poll(b->stop, (double)(b->data->tokens * d)))
            break;
        b->watch->done++;
        double now = INFINITY;
        base_random_sphere(&r, try, d);
        for (int64_t j = 0; j < d; j++)
            try[j] = u[j] + step * try[j];
        status = nu_of(b, try, *nu, &now, err);
        bool better = now < *nu;
        step *= better ? 1.5 : 0.9;
        if (better) {
            *nu = now;
            memcpy(u, try, (size_t)d * sizeof *u);
        }
    }
    free(try);
    return status;
}

/* Ranks share the points; each point needs all sequences. */
static attsvm_status try_all(points *p, attsvm_error *err)
{
    dist_comm *comm = p->b->data->comm;
    const int ranks = dist_size(comm), rank = dist_rank(comm);
    int64_t *first, end;
    TRY(base_allocate(&first, (size_t)ranks + 1, sizeof *first, "shares", err));
    for (int r = 0; r < ranks; r++)
        base_block(p->all, ranks, r, &first[r], &end);
    first[ranks] = p->all;
    p->lo = first[rank];
    p->hi = first[rank + 1];
    p->blocks = base_blocks(p->hi - p->lo, 1);
    attsvm_status status =
        base_allocate(&p->errors, (size_t)p->blocks, sizeof *p->errors, "search", err);
    if (status == ATTSVM_OK)
        base_parallel(p->b->threads, p->blocks, try_block, p);
    for (int64_t b = 0; b < p->blocks && status == ATTSVM_OK; b++) {
        status = p->errors[b].status;
        if (status != ATTSVM_OK && err)
            *err = p->errors[b];
    }
    status = dist_agree(comm, status, err);
    dist_gather(comm, p->nu, sizeof *p->nu, first);
    free(p->errors);
    free(first);
    return status;
}

attsvm_status assumption_b_search(const assumption_b *b, const attsvm_joint_settings *settings,
                                  const double *iterates, int64_t count, double *nu,
                                  double *nu_norm, int64_t *tried, attsvm_error *err)
{
    points p = { .b = b,
                 .iterates = iterates,
                 .count = count,
                 .all = count + settings->samples * NORMS,
                 .seed = (uint64_t)settings->seed,
                 .limit = INFINITY };
    double *u;
    int64_t d = b->data->d, best = -1;
    *nu = *nu_norm = NAN;
    *tried = p.all;
    if (p.all == 0)
        return ATTSVM_OK;
    b->watch->total = p.all + settings->descent;
    TRY(base_allocate(&u, (size_t)(d + p.all), sizeof *u, "search", err));
    p.nu = u + d;
    attsvm_status status = ATTSVM_OK;
    for (int64_t k = count > 0 ? count - 1 : 0;
         k < p.all && isinf(p.limit) && status == ATTSVM_OK && !dist_stop_now(b->stop); k++) {
        point_at(&p, k, u);
        status = nu_of(b, u, INFINITY, &p.limit, err);
    }
    if (status == ATTSVM_OK)
        status = try_all(&p, err);
    for (int64_t k = 0; k < p.all && status == ATTSVM_OK; k++)
        if (p.nu[k] < (best < 0 ? INFINITY : p.nu[best]))
            best = k;
    if (status == ATTSVM_OK && best >= 0) {
        point_at(&p, best, u);
        *nu = p.nu[best];
        status = descend(b, settings, u, nu, err);
        *tried += settings->descent;
        *nu_norm = la_norm(u, d);
    }
    free(u);
    return status;
}
