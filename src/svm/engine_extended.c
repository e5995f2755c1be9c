/* The dual active set in double-double: for problems whose answer hangs on the last digits. */
#include "svm/svm.h"

#include <math.h>
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
#define RUN        svm_engine_run_extended
#define SCOPE      static
#define EQUALITIES enter_equalities
#define ENTER      enter
#define LEAVE      leave

/*
 * Rows of doubles that are rounded at 2^-53 cannot be told apart from dependent ones when the
 * distance to their span is of that order; 1e-27 is the square of 3e-14, and a
 * proof of infeasibility may leave 1e-12.
 */
static const double DEPENDENT = 1e-27, DOUBTFUL = 0, VIOLATED = 1e-17, MET = 1e-13,
                    NEGLIGIBLE = 1e-25, ROUNDING = 1e-30;

static void forward(svm_engine *e, const num *g, num *y)
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

static void backward(svm_engine *e, const num *y, num *r)
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

static void gram_row(svm_engine *e, int64_t p, num *g)
{
    for (int64_t j = 0; j < e->count; j++)
        g[j] = svm_pool_gram_exact(e->pool, p, e->active[j]);
}

static num diagonal(svm_engine *e, int64_t p)
{
    return svm_pool_gram_exact(e->pool, p, p);
}

static double theta_norm(svm_engine *e)
{
    return sqrt(la_dot(e->theta, e->theta, e->pool->size));
}

static double price(svm_engine *e)
{
    svm_pool_residual_exact(e->pool, NULL, e->pool->count, e->theta, e->theta_lo, e->residual);
    return theta_norm(e);
}

/* theta += t (A_p - sum r_j A_j) */
static void advance(svm_engine *e, int64_t p, const num *r, num t)
{
    e->active[e->count] = (int32_t)p;
    for (int64_t j = 0; j <= e->count; j++) {
        num c = j < e->count ? SUB(NUM(0), MUL(t, r[j])) : t;
        e->coef[j] = c.hi;
        e->coef_lo[j] = c.lo;
    }
    svm_pool_combine_exact(e->pool, e->active, e->coef, e->coef_lo, e->count + 1, e->theta,
                           e->theta_lo);
}

/* e->step -= sum of c_j A_j over S. */
static void subtract_rows(svm_engine *e, const num *c)
{
    for (int64_t j = 0; j < e->count; j++) {
        e->coef[j] = -c[j].hi;
        e->coef_lo[j] = -c[j].lo;
    }
    svm_pool_combine_exact(e->pool, e->active, e->coef, e->coef_lo, e->count, e->step, e->step_lo);
}

/*
 * The Gram matrix squares the condition of the rows: where they are nearly parallel to a part in
 * 1e12, as with token norms spread over 1e+-6, even double-double is not enough.  So the vector
 * w = A_p - sum r_j A_j is formed, y and r are corrected by what is left of w in the span of S, and
 * the pivot is |w|^2 (Bjoerck's corrected seminormal equations).
 */
static num correct(svm_engine *e, int64_t p, num *y, num *r, num pivot)
{
    svm_pool *pool = e->pool;
    num *change = e->rotation, *change_r = change + e->capacity;
    int32_t slot = (int32_t)p;
    double one = 1;
    if (e->count == 0)
        return pivot;
    memset(e->step, 0, (size_t)pool->size * sizeof(double));
    memset(e->step_lo, 0, (size_t)pool->size * sizeof(double));
    svm_pool_combine_exact(pool, &slot, &one, NULL, 1, e->step, e->step_lo);
    subtract_rows(e, r);
    svm_pool_margins_exact(pool, e->active, e->count, e->step, e->step_lo, e->combination);
    for (int64_t j = 0; j < e->count; j++)
        change_r[j] = NUM(e->combination[j]);
    forward(e, change_r, change);
    backward(e, change, change_r);
    for (int64_t j = 0; j < e->count; j++) {
        y[j] = ADD(y[j], change[j]);
        r[j] = ADD(r[j], change_r[j]);
    }
    subtract_rows(e, change_r);
    dd square = la_exact_active()->dot(e->step, e->step, e->step_lo, pool->size);
    return ADD(square, NUM(la_dot(e->step, e->step_lo, pool->size)));
}

#include "svm/engine.inc"
