/* The dual active set in double-double, for ill-conditioned problems. */
#include "svm/norm/l2/l2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef dd num;
#define MAKE(a, b) ((dd){ (a), (b) })
#define NUM(a)     base_dd(a)
#define VALUE(a)   ((a).hi)
#define LOW(a)     ((a).lo)
#define ADD(a, b)  base_dd_add(a, b)
#define SUB(a, b)  base_dd_sub(a, b)
#define MUL(a, b)  base_dd_mul(a, b)
#define DIV(a, b)  base_dd_div(a, b)
#define ROOT(a)    base_dd_sqrt(a)
#define RUN        l2_run_extended
#define SCOPE      static
#define EQUALITIES enter_equalities
#define LEAVE      leave

/*
 * Rows rounded at 2^-53 cannot be distinguished from dependent ones if their distance to the span
 * is of that order; 1e-27 is the square of 3e-14, and a proof of infeasibility tolerates 1e-12.
 */
static const double DEPENDENT = 1e-27, DOUBTFUL = 0, VIOLATED = 1e-26, MET = 1e-13,
                    NEGLIGIBLE = 1e-25, ROUNDING = 1e-30;

static void forward(l2_active_set *e, const num *g, num *y)
{
    const num *L = e->L;
    for (int64_t i = 0; i < e->count; i++) {
        const num *row = L + i * e->capacity;
        num sum = g[i];
        for (int64_t j = 0; j < i; j++)
            sum = SUB(sum, MUL(row[j], y[j]));
        y[i] = DIV(sum, row[i]);
    }
}

static void backward(l2_active_set *e, const num *y, num *r)
{
    const num *L = e->L;
    memcpy(r, y, (size_t)e->count * sizeof *r);
    for (int64_t i = e->count - 1; i >= 0; i--) {
        const num *row = L + i * e->capacity;
        r[i] = DIV(r[i], row[i]);
        for (int64_t j = 0; j < i; j++)
            r[j] = SUB(r[j], MUL(r[i], row[j]));
    }
}

static void gram_row(l2_active_set *e, int64_t p, num *g)
{
    for (int64_t j = 0; j < e->count; j++)
        g[j] = svm_set_gram_exact(e->set, p, e->active[j]);
}

static num diagonal(l2_active_set *e, int64_t p)
{
    return svm_set_gram_exact(e->set, p, p);
}

static double theta_norm(l2_active_set *e)
{
    return sqrt(la_dot(e->set->theta, e->set->theta, e->set->size));
}

static double price(l2_active_set *e)
{
    svm_set_residual_exact(e->set, NULL, e->set->count, e->set->theta, e->set->theta_lo,
                           e->residual);
    return theta_norm(e);
}

/* theta += t (A_p - sum r_j A_j) */
static void advance(l2_active_set *e, int64_t p, const num *r, num t)
{
    e->active[e->count] = (int32_t)p;
    for (int64_t j = 0; j <= e->count; j++) {
        num c = j < e->count ? SUB(NUM(0), MUL(t, r[j])) : t;
        e->coef[j] = c.hi;
        e->coef_lo[j] = c.lo;
    }
    svm_set_combine_exact(e->set, e->active, e->coef, e->coef_lo, e->count + 1, e->set->theta,
                          e->set->theta_lo);
}

/* e->step -= sum of c_j A_j over S. */
static void subtract_rows(l2_active_set *e, const num *c)
{
    for (int64_t j = 0; j < e->count; j++) {
        e->coef[j] = -c[j].hi;
        e->coef_lo[j] = -c[j].lo;
    }
    svm_set_combine_exact(e->set, e->active, e->coef, e->coef_lo, e->count, e->step, e->step_lo);
}

/*
 * The Gram matrix squares the condition number of the rows: if they are parallel up to 1e-12, as
 * with token norms spread over 1e+-6, even double-double is not enough.  Therefore w = A_p - sum
 * r_j A_j is formed, y and r are corrected by the part of w in the span of S, and the pivot is
 * |w|^2 (Bjoerck's corrected seminormal equations).
 */
static num correct(l2_active_set *e, int64_t p, num *y, num *r, num pivot)
{
    svm_set *set = e->set;
    num *change = e->rotation, *change_r = change + e->capacity;
    int32_t slot = (int32_t)p;
    double one = 1;
    if (e->count == 0)
        return pivot;
    memset(e->step, 0, (size_t)set->size * sizeof(double));
    memset(e->step_lo, 0, (size_t)set->size * sizeof(double));
    svm_set_combine_exact(set, &slot, &one, NULL, 1, e->step, e->step_lo);
    subtract_rows(e, r);
    svm_set_margins_exact(set, e->active, e->count, e->step, e->step_lo, e->combination);
    for (int64_t j = 0; j < e->count; j++)
        change_r[j] = NUM(e->combination[j]);
    forward(e, change_r, change);
    backward(e, change, change_r);
    for (int64_t j = 0; j < e->count; j++) {
        y[j] = ADD(y[j], change[j]);
        r[j] = ADD(r[j], change_r[j]);
    }
    subtract_rows(e, change_r);
    dd square = la_exact_active()->dot(e->step, e->step, e->step_lo, set->size);
    return ADD(square, NUM(la_dot(e->step, e->step_lo, set->size)));
}

#include "svm/norm/l2/active_set.inc"

/*
 * Among dependent equalities, those that enter determine the size of the multipliers: the next one
 * is always the farthest from the span of the previous ones, relative to its length (pivoted
 * Cholesky).  Rows of tokens whose norms differ by 1e12 may be parallel up to 1e-12, and the
 * multipliers of two such rows cancel.
 */
static void pivot_equalities(const svm_set *set, int32_t *slots, int64_t count, int64_t steps,
                             num *rest, num *Y)
{
    for (int64_t k = 0; k < count; k++)
        rest[k] = svm_set_gram_exact(set, slots[k], slots[k]);
    for (int64_t i = 0; i < steps; i++) {
        int64_t best = i;
        for (int64_t k = i + 1; k < count; k++)
            if (rest[k].hi * set->square[slots[best]] > rest[best].hi * set->square[slots[k]])
                best = k;
        if (!(rest[best].hi > DEPENDENT * set->square[slots[best]]))
            return;
        int32_t slot = slots[best];
        num root = base_dd_sqrt(rest[best]);
        slots[best] = slots[i];
        slots[i] = slot;
        rest[best] = rest[i];
        for (int64_t j = 0; j < i; j++) { /* swap the columns of the two */
            num swap = Y[j * count + best];
            Y[j * count + best] = Y[j * count + i];
            Y[j * count + i] = swap;
        }
        for (int64_t k = i + 1; k < count; k++) {
            num y = svm_set_gram_exact(set, slot, slots[k]);
            for (int64_t j = 0; j < i; j++)
                y = SUB(y, MUL(Y[j * count + i], Y[j * count + k]));
            y = DIV(y, root);
            Y[i * count + k] = y;
            rest[k] = SUB(rest[k], MUL(y, y));
        }
    }
}

attsvm_status l2_order_equalities(l2_active_set *e, attsvm_error *err)
{
    enum { MOST = 1 << 20 }; /* entries of Y; above this, no pivoting */
    const svm_set *set = e->set;
    int64_t count = 0;
    for (int64_t s = 0; s < set->count; s++)
        count += set->equality[s];
    int64_t steps = count < set->size ? count : set->size;
    if (count < 2 || steps > MOST / count)
        return ATTSVM_OK;
    free(e->order);
    e->order = NULL;
    TRY(base_allocate(&e->order, (size_t)count, sizeof *e->order, "equalities", err));
    e->ordered = 0;
    for (int64_t s = 0; s < set->count; s++)
        if (set->equality[s])
            e->order[e->ordered++] = (int32_t)s;
    num *memory;
    TRY(base_allocate(&memory, (size_t)(count * (steps + 1)), sizeof *memory, "equalities", err));
    pivot_equalities(set, e->order, count, steps, memory, memory + count);
    free(memory);
    return ATTSVM_OK;
}

void l2_solve_extended(l2_active_set *e, const double *rhs, double *x)
{
    num *g = e->g, *y = e->y, *r = e->r;
    for (int64_t k = 0; k < e->count; k++)
        g[k] = NUM(rhs[k]);
    forward(e, g, y);
    backward(e, y, r);
    for (int64_t k = 0; k < e->count; k++)
        x[k] = VALUE(r[k]);
}
