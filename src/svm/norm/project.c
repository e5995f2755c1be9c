/*
 * Moves theta onto the active rows, with exact evaluation.
 *
 * The cores work in double and in rounded coordinates, so that <A, theta> has an error of some
 * units of 2^-53 |A| |theta|.  Near infeasibility, where |theta| is large, scaling theta by its
 * smallest margin would turn this error into the gap.
 */
#include "svm/norm/norm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 2 };
static const double NEAR = 0x1p-47;     /* of |A| |theta|: a row that misses b by rounding only */
static const double MEND_NEAR = 1e-9;   /* ... or by the residual of a core                     */
static const double MOVE_FROM = 1e-14;  /* rounding of a row, |A| |theta| 2^-53, that matters   */
static const double ROOM_FROM = 1e-11;  /* ... that scaling should not absorb                   */
static const double SAME_PIVOT = 1e-13; /* relative pivot below which rows are dependent        */

typedef struct projection {
    svm_set *set;
    int64_t count;
    int32_t *slots;   /* of the active rows                   */
    int64_t *order;   /* pivots                                */
    double *margin;   /* count: sigma <A, theta>               */
    double *rest, *x; /* count                                 */
    double *G;        /* count x count, of rows of length 1    */
    double *sum;      /* (size)                                */
} projection;

static void layout(projection *p, arena *a, size_t rows)
{
    p->slots = base_take(a, rows, sizeof *p->slots);
    p->order = take_int64(a, rows);
    p->margin = take(a, rows);
    p->rest = take(a, rows);
    p->x = take(a, rows);
    p->G = take(a, rows * rows);
    p->sum = take(a, (size_t)p->set->size);
}

static bool counts_as_active(const svm_set *set, int64_t s, bool zero)
{
    return set->equality[s] || set->lambda[s] > 0 || (zero && set->b[s] == 0);
}

/* Margins of the active rows. */
static void evaluate(projection *p)
{
    const svm_set *set = p->set;
    svm_set_margins_exact(p->set, p->slots, p->count, set->theta, set->theta_lo, p->margin);
}

/* The rows with a multiplier that theta satisfies up to `within`, and those with b = 0 if `zero`.
 */
static void choose(projection *p, double within, bool zero)
{
    const svm_set *set = p->set;
    double size = la_norm(set->theta, set->size);
    int64_t kept = 0;
    p->count = 0;
    for (int64_t s = 0; s < set->count; s++)
        if (counts_as_active(set, s, zero) && !set->implied[s] && set->length[s] > 0)
            p->slots[p->count++] = (int32_t)s;
    evaluate(p);
    for (int64_t k = 0; k < p->count; k++) {
        int32_t s = p->slots[k];
        bool far = fabs(p->margin[k] - set->b[s]) > within * size * set->length[s];
        if (set->equality[s] || !far)
            p->slots[kept++] = s;
    }
    p->count = kept;
}

static attsvm_status factor(projection *p, int64_t *rank, attsvm_error *err)
{
    const svm_set *set = p->set;
    int64_t d = set->d;
    for (int64_t i = 0; i < p->count; i++) {
        int32_t r = p->slots[i];
        for (int64_t j = 0; j <= i; j++) {
            int32_t s = p->slots[j];
            double along = la_dot(set->hi + r * d, set->hi + s * d, d);
            if (set->matrix)
                along *= la_dot(set->z + set->query[r] * d, set->z + set->query[s] * d, d);
            p->G[i * p->count + j] = along / set->length[r] / set->length[s];
        }
    }
    return la_cholesky_pivoted(p->count, p->G, p->count, SAME_PIVOT, p->order, rank, err);
}

/*
 * The allowance beyond b, times sigma: rounding theta to double changes the row by up to 2^-53 |A|
 * |theta|.  If that is large, theta is moved off the row instead of being scaled: for tokens 1e18
 * times longer than others scaling would cost a factor of hundreds, moving costs 1e-16.
 */
static double room(const svm_set *set, int64_t s, double size)
{
    double rounding = 0x1p-52 * size * set->length[s];
    bool small = rounding / set->sigma[s] < ROOM_FROM;
    return set->equality[s] || set->b[s] == 0 || small ? 0 : 2 * rounding;
}

/* theta += sum x A with G x = b + room - <A, theta> on the independent rows. */
static void correct(projection *p, int64_t rank)
{
    svm_set *set = p->set;
    double size = la_norm(set->theta, set->size);
    evaluate(p);
    for (int64_t i = 0; i < rank; i++) {
        int64_t k = p->order[i];
        int32_t s = p->slots[k];
        p->x[i] = (set->b[s] + room(set, s, size) - p->margin[k]) / set->length[s];
    }
    la_cholesky_solve(rank, p->G, p->count, p->x);
    memset(p->rest, 0, (size_t)p->count * sizeof *p->rest);
    for (int64_t i = 0; i < rank; i++)
        p->rest[p->order[i]] = p->x[i] / set->length[p->slots[p->order[i]]];
    /* sum small corrections first, so that theta is rounded once */
    svm_set_combine(set, p->slots, p->rest, p->count, p->sum);
    la_axpy(1, p->sum, set->theta, set->size);
}

attsvm_status svm_norm_project_onto_active_rows(svm_set *set, bool mend, attsvm_error *err)
{
    projection p = { .set = set };
    int64_t most = 0, rank;
    double largest = 0;
    for (int64_t s = 0; s < set->count; s++)
        if (counts_as_active(set, s, mend)) {
            largest = fmax(largest, set->length[s] / set->sigma[s]);
            most++;
        }
    if (most == 0 || (!mend && 0x1p-53 * largest * la_norm(set->theta, set->size) < MOVE_FROM))
        return ATTSVM_OK;
    arena a = { 0 };
    layout(&p, &a, (size_t)most);
    TRY(base_arena_allocate(&a, "active rows", err));
    layout(&p, &a, (size_t)most);
    choose(&p, mend ? MEND_NEAR : NEAR, mend);
    attsvm_status status = p.count > 0 ? factor(&p, &rank, err) : ATTSVM_OK;
    for (int k = 0; p.count > 0 && k < TIMES && status == ATTSVM_OK; k++)
        correct(&p, rank);
    free(a.base);
    return status;
}
