/* The dual active set in double precision: fast, and checked afterwards. */
#include "svm/svm.h"

#include <math.h>
#include <string.h>

typedef double num;
#define MAKE(hi, lo) ((hi) + (lo))
#define NUM(a)       (a)
#define VALUE(a)     (a)
#define LOW(a)       (0 * (a))
#define ADD(a, b)    ((a) + (b))
#define SUB(a, b)    ((a) - (b))
#define MUL(a, b)    ((a) * (b))
#define DIV(a, b)    ((a) / (b))
#define ROOT(a)      sqrt(a)
#define RUN          svm_engine_run_double
#define SCOPE
#define EQUALITIES svm_engine_equalities_double
#define ENTER      svm_engine_enter_double
#define LEAVE      svm_engine_leave_double

/*
 * A pivot is the difference of numbers of size |A|^2, so its error is some units of 2^-53, and more
 * where the rows of S are nearly dependent themselves.
 */
static const double DEPENDENT = 1e-15, DOUBTFUL = 1e-10, VIOLATED = 1e-13, MET = 1e-12,
                    NEGLIGIBLE = 1e-13, ROUNDING = 1e-15;

enum { FEW = 32 }; /* rows for which the call of a kernel is what costs */

static void forward(svm_engine *e, const num *g, num *y)
{
    const num *L = e->L;
    memcpy(y, g, (size_t)e->count * sizeof *y);
    if (e->count > 96) {
        la_trsv(false, e->count, L, e->capacity, y);
        return;
    }
    if (e->count <= FEW) { /* by columns, whose steps do not wait for each other */
        for (int64_t j = 0; j < e->count; j++) {
            y[j] /= L[j * e->capacity + j];
            for (int64_t i = j + 1; i < e->count; i++)
                y[i] -= L[i * e->capacity + j] * y[j];
        }
        return;
    }
    for (int64_t i = 0; i < e->count; i++) {
        const num *row = L + i * e->capacity;
        y[i] = (y[i] - la_dot(row, y, i)) / row[i];
    }
}

static void backward(svm_engine *e, const num *y, num *r)
{
    const num *L = e->L;
    memcpy(r, y, (size_t)e->count * sizeof *r);
    if (e->count > 96) {
        la_trsv(true, e->count, L, e->capacity, r);
        return;
    }
    for (int64_t i = e->count - 1; i >= 0; i--) {
        const num *row = L + i * e->capacity;
        r[i] /= row[i];
        if (i <= FEW)
            for (int64_t j = 0; j < i; j++)
                r[j] -= r[i] * row[j];
        else
            la_axpy(-r[i], row, r, i);
    }
}

static void gram_row(svm_engine *e, int64_t p, num *g)
{
    svm_pool_gram(e->pool, p, e->active, e->count, g);
}

static num diagonal(svm_engine *e, int64_t p)
{
    return e->pool->square[p];
}

static double theta_norm(svm_engine *e)
{
    return sqrt(la_dot(e->theta, e->theta, e->pool->size));
}

static double price(svm_engine *e)
{
    svm_pool *pool = e->pool;
    double norm = svm_engine_margins(e);
    for (int64_t s = 0; s < pool->count; s++)
        e->residual[s] = pool->b[s] - pool->margin[s];
    return norm;
}

/* theta += t (A_p - sum r_j A_j) */
static void advance(svm_engine *e, int64_t p, const num *r, num t)
{
    if (e->lazy)
        return;
    e->active[e->count] = (int32_t)p;
    for (int64_t j = 0; j < e->count; j++)
        e->coef[j] = -t * r[j];
    e->coef[e->count] = t;
    svm_pool_combine(e->pool, e->active, e->coef, e->count + 1, e->step);
    la_axpy(1, e->step, e->theta, e->pool->size);
}

/* Errors are left to refinement, or to the extended engine. */
static num correct(svm_engine *e, int64_t p, num *y, num *r, num pivot)
{
    (void)e;
    (void)p;
    (void)y;
    (void)r;
    return pivot;
}

#include "svm/engine.inc"

double svm_engine_margins(svm_engine *e)
{
    if (e->lazy)
        return svm_pool_margins_gram(e->pool);
    svm_pool_margins(e->pool, e->theta);
    return theta_norm(e);
}

/* Solves G x = residual over S. */
void svm_engine_solve_double(svm_engine *e, const double *rhs, double *x)
{
    forward(e, rhs, e->y);
    backward(e, e->y, x);
}

/* Row p joins S, unless its pivot is below `clear` relative to |A|^2. */
void svm_engine_append_double(svm_engine *e, int64_t p, double clear)
{
    double *g = e->g, *y = e->y, pivot = e->pool->square[p];
    gram_row(e, p, g);
    forward(e, g, y);
    for (int64_t j = 0; j < e->count; j++)
        pivot -= y[j] * y[j];
    if (pivot > clear * e->pool->square[p] && e->count < e->pool->size)
        append(e, p, y, pivot);
}
