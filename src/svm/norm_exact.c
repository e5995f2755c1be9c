/*
 * Rows of a working set in exact evaluation: do they hold, and theta moved onto those in play.
 *
 * The cores work in double, in coordinates that are rounded too, so that <A, theta> is wrong by
 * some units of 2^-53 |A| |theta|.  Near infeasibility, where |theta| is large, scaling theta by
 * its least margin would turn that into the gap.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SETTLE_TIMES = 2 };
static const double EQUALITY = 1e-12;      /* of |e| + |A| |theta|: an equality holds        */
static const double ZERO_ROW = 1e-13;      /* of |A| |theta|: a row with b = 0 holds         */
static const double SETTLE_NEAR = 0x1p-47; /* of |A| |theta|: a row that misses b by rounding */
static const double MEND_NEAR = 1e-9;      /* ... or by what a core leaves                   */
static const double SETTLE_FROM = 1e-14;   /* rounding of a row, |A| |theta| 2^-53, that matters */
static const double ROOM_FROM = 1e-11;     /* ... that scaling had better not pay for        */
static const double SETTLE_PIVOT = 1e-13;  /* relative pivot below which rows are dependent  */

/* One row: A = delta z' or delta, and its value at theta. */
typedef struct row_work {
    double *delta, *lo, *z, *u, *u_lo; /* d each */
    double *memory;
} row_work;

static attsvm_status row_create(row_work *w, int64_t d, attsvm_error *err)
{
    TRY(base_allocate(&w->memory, (size_t)(7 * d), sizeof *w->memory, "row", err));
    w->delta = w->memory;
    w->lo = w->delta + d; /* svm_rows_delta uses what follows it: lo, then 2d of scratch */
    w->z = w->delta + 4 * d;
    w->u = w->delta + 5 * d;
    w->u_lo = w->delta + 6 * d;
    return ATTSVM_OK;
}

static void row_load(row_work *w, const svm_rows *rows, const svm_gathered *g)
{
    svm_term term = svm_rows_term(rows, g->term);
    svm_rows_delta(rows, &term, g->token, w->delta, w->lo, w->lo + rows->d);
    memset(w->z, 0, (size_t)rows->d * sizeof *w->z);
    w->z[0] = 1; /* a vector's row is delta times 1 */
    if (rows->matrix)
        svm_rows_query(rows, &term, w->z);
}

/* <A, theta> of the loaded row, exact but for the last rounding. */
static double row_value(row_work *w, const svm_rows *rows, const double *theta)
{
    int64_t d = rows->d;
    for (int64_t i = 0; i < d; i++) {
        dd u = rows->matrix ? base_dd_dot(theta + i * d, w->z, d) : base_dd(theta[i]);
        w->u[i] = u.hi;
        w->u_lo[i] = u.lo;
    }
    dd sum = la_exact_active()->dot(w->delta, w->u, w->u_lo, d);
    return base_dd_value(base_dd_add(sum, base_dd(la_dot(w->lo, w->u, d))));
}

attsvm_status svm_norm_rows_hold(const svm_norm_run *run, const double *theta, double norm,
                                 double *violation, bool *hold, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    row_work w;
    *violation = 0;
    *hold = true;
    TRY(row_create(&w, rows->d, err));
    for (int64_t k = 0; k < run->count; k++) {
        const svm_gathered *g = &run->list[k];
        if (!g->equal && g->b != 0)
            continue;
        row_load(&w, rows, g);
        double value = row_value(&w, rows, theta);
        double size = norm * svm_norm_of_row(&run->problem->settings, w.delta,
                                             rows->matrix ? w.z : NULL, rows->d);
        double off = g->equal ? fabs(value - g->b) : fmax(0, -value);
        double limit = g->equal ? EQUALITY * (fabs(g->b) + size) : ZERO_ROW * size;
        *violation = fmax(*violation, off);
        *hold = *hold && off <= limit;
    }
    free(w.memory);
    return ATTSVM_OK;
}

/* ----------------------------------------------------------------- onto the rows in play */

typedef struct settling {
    int64_t count, d;
    int64_t *order;    /* pivots                                         */
    double *delta, *z; /* count x d: the rows in play, of length 1       */
    double *length;    /* count: what they were divided by               */
    double *rest;      /* count: b - <A, theta>                          */
    double *G, *x;     /* count^2, count                                 */
    const svm_gathered **g;
} settling;

static attsvm_status gram(settling *s, int64_t *rank, attsvm_error *err)
{
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t j = 0; j <= i; j++)
            s->G[i * s->count + j] = la_dot(s->delta + i * s->d, s->delta + j * s->d, s->d) *
                                     la_dot(s->z + i * s->d, s->z + j * s->d, s->d);
    return la_cholesky_pivoted(s->count, s->G, s->count, SETTLE_PIVOT, s->order, rank, err);
}

/*
 * What theta aims at beyond b: rounding theta to doubles moves the row by up to 2^-53 |A| |theta|.
 * Where that is much, theta is moved off the row instead of being scaled: rows of tokens that are
 * 1e18 times longer than others cost a factor of hundreds then, and 1e-16 here.
 */
static double room(const svm_gathered *g, double size, const double *delta, const double *z,
                   int64_t d)
{
    double rounding = 0x1p-52 * size * la_norm(delta, d) * la_norm(z, d);
    return g->equal || g->b == 0 || rounding < ROOM_FROM ? 0 : 2 * rounding;
}

/* theta += sum x A with G x = b + room - <A, theta> on the independent rows. */
static void correct(settling *s, const svm_rows *rows, int64_t rank, row_work *w, double *theta)
{
    int64_t d = s->d;
    double size = la_norm(theta, rows->size);
    for (int64_t i = 0; i < rank; i++) {
        const svm_gathered *g = s->g[s->order[i]];
        row_load(w, rows, g);
        s->x[i] = (g->b + room(g, size, w->delta, w->z, d) - row_value(w, rows, theta)) /
                  s->length[s->order[i]];
    }
    la_trsv(false, rank, s->G, s->count, s->x);
    la_trsv(true, rank, s->G, s->count, s->x);
    /* the sum of small corrections first, so that theta is rounded once */
    double *sum = s->rest;
    memset(sum, 0, (size_t)rows->size * sizeof *sum);
    for (int64_t i = 0; i < rank; i++) {
        const double *delta = s->delta + s->order[i] * d, *z = s->z + s->order[i] * d;
        if (!rows->matrix)
            la_axpy(s->x[i], delta, sum, d);
        for (int64_t k = 0; k < d && rows->matrix; k++)
            la_axpy(s->x[i] * delta[k], z, sum + k * d, d);
    }
    la_axpy(1, sum, theta, rows->size);
}

/* The rows with a multiplier that theta meets up to `within`, and those with b = 0 if `zero`. */
static void choose(settling *s, const svm_norm_run *run, row_work *w, const double *theta,
                   double within, bool zero)
{
    int64_t d = s->d;
    double size = la_norm(theta, run->rows->size);
    s->count = 0;
    for (int64_t k = 0; k < run->count; k++) {
        const svm_gathered *g = &run->list[k];
        if (g->dependent || (!g->equal && g->lambda <= 0 && !(zero && g->b == 0)))
            continue;
        row_load(w, run->rows, g);
        double length = la_norm(w->delta, d) * la_norm(w->z, d);
        bool far = fabs(row_value(w, run->rows, theta) - g->b) > within * size * length;
        if (length == 0 || (!g->equal && far))
            continue;
        s->length[s->count] = length;
        for (int64_t j = 0; j < d; j++)
            s->delta[s->count * d + j] = w->delta[j] / length;
        memcpy(s->z + s->count * d, w->z, (size_t)d * sizeof *w->z);
        s->g[s->count++] = g;
    }
}

static void layout(settling *s, arena *a, int64_t most, int64_t size)
{
    size_t m = (size_t)most, d = (size_t)s->d;
    s->delta = take(a, m * d);
    s->z = take(a, m * d);
    s->length = take(a, m);
    s->G = take(a, m * m);
    s->x = take(a, m);
    s->rest = take(a, (size_t)size);
    s->order = take_int64(a, m);
    s->g = base_take(a, m, sizeof *s->g);
}

attsvm_status svm_project_onto_active_rows(svm_norm_run *run, bool mend, double *theta,
                                           attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    settling s = { .d = rows->d };
    int64_t most = 0, rank;
    double largest = 0;
    row_work w;
    TRY(row_create(&w, rows->d, err));
    for (int64_t k = 0; k < run->count; k++)
        if (run->list[k].equal || run->list[k].lambda > 0 || (mend && run->list[k].b == 0)) {
            row_load(&w, rows, &run->list[k]);
            largest = fmax(largest, la_norm(w.delta, rows->d) * la_norm(w.z, rows->d));
            most++;
        }
    attsvm_status status = ATTSVM_OK;
    arena a = { 0 };
    if (!mend && 0x1p-53 * largest * la_norm(theta, rows->size) < SETTLE_FROM)
        goto done;
    layout(&s, &a, most, rows->size);
    status = base_arena_allocate(&a, "rows in play", err);
    if (status != ATTSVM_OK)
        goto done;
    layout(&s, &a, most, rows->size);
    choose(&s, run, &w, theta, mend ? MEND_NEAR : SETTLE_NEAR, mend);
    status = gram(&s, &rank, err);
    for (int k = 0; k < SETTLE_TIMES && status == ATTSVM_OK; k++)
        correct(&s, rows, rank, &w, theta);
done:
    free(a.base);
    free(w.memory);
    return status;
}
