/* The dual active set in double precision: fast, verified afterwards. */
#include "svm/norm/l2/l2.h"

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
#define RUN          l2_run_double
#define SCOPE
#define EQUALITIES l2_enter_equalities
#define LEAVE      l2_leave

/*
 * A pivot is a difference of numbers of size |A|^2, so its error is some units of 2^-53, and more
 * if the rows of S are nearly dependent.
 */
static const double DEPENDENT = 1e-15, DOUBTFUL = 1e-10, VIOLATED = 1e-13, MET = 1e-12,
                    NEGLIGIBLE = 1e-13, ROUNDING = 1e-15;

enum { FEW = 32 }; /* rows for which the call of a kernel dominates the cost */

static void forward(l2_active_set *e, const num *g, num *y)
{
    const num *L = e->L;
    memcpy(y, g, (size_t)e->count * sizeof *y);
    if (e->count > 96) {
        la_trsv(false, e->count, L, e->capacity, y);
        return;
    }
    if (e->count <= FEW) { /* by columns, whose operations are independent */
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

static void backward(l2_active_set *e, const num *y, num *r)
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

static void gram_row(l2_active_set *e, int64_t p, num *g)
{
    svm_set_gram(e->set, p, e->active, e->count, g);
}

static num diagonal(l2_active_set *e, int64_t p)
{
    return e->set->square[p];
}

static double theta_norm(l2_active_set *e)
{
    return sqrt(la_dot(e->set->theta, e->set->theta, e->set->size));
}

static double price(l2_active_set *e)
{
    svm_set *set = e->set;
    double norm = l2_margins(e);
    for (int64_t s = 0; s < set->count; s++)
        e->residual[s] = set->b[s] - set->margin[s];
    return norm;
}

/* theta += t (A_p - sum r_j A_j) */
static void advance(l2_active_set *e, int64_t p, const num *r, num t)
{
    e->active[e->count] = (int32_t)p;
    for (int64_t j = 0; j < e->count; j++)
        e->coef[j] = -t * r[j];
    e->coef[e->count] = t;
    svm_set_combine(e->set, e->active, e->coef, e->count + 1, e->step);
    la_axpy(1, e->step, e->set->theta, e->set->size);
}

/* No correction: refinement or the double-double method handles errors. */
static num correct(l2_active_set *e, int64_t p, num *y, num *r, num pivot)
{
    (void)e;
    (void)p;
    (void)y;
    (void)r;
    return pivot;
}

#include "svm/norm/l2/active_set.inc"

double l2_margins(l2_active_set *e)
{
    svm_set_margins(e->set, e->set->theta);
    return theta_norm(e);
}

/* Solves G x = residual over S. */
void l2_solve_factored(l2_active_set *e, const double *rhs, double *x)
{
    forward(e, rhs, e->y);
    backward(e, e->y, x);
}

void l2_append(l2_active_set *e, int64_t p)
{
    double *g = e->g, *y = e->y, pivot = e->set->square[p];
    gram_row(e, p, g);
    forward(e, g, y);
    for (int64_t j = 0; j < e->count; j++)
        pivot -= y[j] * y[j];
    if (pivot > L2_CLEAR * e->set->square[p] && e->count < e->set->size)
        append(e, p, y, pivot);
}
