/*
 * Conjugate gradients for many active rows: the dual of the set,
 *
 *   min f(l) = 1/2 |sum l A|^2 - b'l,   l >= 0,
 *
 * without its Gram matrix.  One product G x is the sum of the rows and the margins of that sum,
 * O(queries d^2 + rows d).  Free multipliers move by conjugate gradients; a step that reaches a
 * bound ends there, and a projected-gradient step follows; multipliers at zero are released when
 * their part of the gradient dominates (Dostal 1997, proportioning).  The same iteration on the
 * final active set, with residuals in double-double, gives the last digits.  No array has size
 * active x active.  Equalities, soft margins and sets without convergence are left to the
 * active-set method.
 */
#include "svm/norm/l2/l2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PRODUCTS = 3000, LEAST_ROWS = 5000, REFINEMENTS = 8, POWER_STEPS = 12 };

/* Residuals relative to |b| at which the iteration, and its refinement, end. */
static const double SETTLED = 1e-11, REFINED = 1e-16;

typedef struct work {
    l2_active_set *e;
    svm_set *set;
    int64_t count, products;
    int32_t *all; /* 0..count-1 */
    double *l, *g, *p, *Gp, *r;
} work;

bool l2_cg_applies(const l2_active_set *e)
{
    const svm_set *set = e->set;
    if (e->extended || e->cg_active < 0 || set->soft > 0 || !set->matrix || set->has_sets ||
        set->count < LEAST_ROWS || set->size < LEAST_ROWS)
        return false;
    return true;
}

/* out = G x, through theta = sum x A in e->step. */
static void product(work *w, const double *x, double *out)
{
    svm_set_combine(w->set, w->all, x, w->count, w->e->step);
    svm_set_margins(w->set, w->e->step);
    memcpy(out, w->set->margin, (size_t)w->count * sizeof *out);
    w->products++;
}

/* A safe step length: 1 over the largest eigenvalue of G, estimated by power iteration. */
static double safe_step(work *w)
{
    double size = 1;
    for (int64_t k = 0; k < w->count; k++) /* entries without any symmetry of the rows */
        w->p[k] = 1 + 0.618033988749895 * (double)(k % 13) / 13;
    for (int round = 0; round < POWER_STEPS; round++) {
        size = la_norm(w->p, w->count);
        for (int64_t k = 0; k < w->count; k++)
            w->p[k] /= size;
        product(w, w->p, w->Gp);
        memcpy(w->p, w->Gp, (size_t)w->count * sizeof *w->p);
    }
    return 1 / (1.1 * la_norm(w->p, w->count));
}

/* r: the gradient of free multipliers, and its positive pull at zero; *free2, *bound2: squares. */
static void split(work *w, double *free2, double *bound2)
{
    *free2 = *bound2 = 0;
    for (int64_t k = 0; k < w->count; k++) {
        w->r[k] = w->l[k] > 0 || w->g[k] < 0 ? w->g[k] : 0;
        *(w->l[k] > 0 ? free2 : bound2) += w->r[k] * w->r[k];
    }
}

static void restart_direction(work *w)
{
    for (int64_t k = 0; k < w->count; k++)
        w->p[k] = w->l[k] > 0 ? w->g[k] : 0;
}

/* l - t p, at most to the nearest bound; true: a bound was reached. */
static bool step_free(work *w, double step)
{
    product(w, w->p, w->Gp);
    double curve = la_dot(w->p, w->Gp, w->count), t = la_dot(w->g, w->p, w->count) / curve;
    double most = INFINITY;
    for (int64_t k = 0; k < w->count; k++)
        if (w->p[k] > 0 && w->l[k] > 0)
            most = fmin(most, w->l[k] / w->p[k]);
    if (t <= most) {
        la_axpy(-t, w->p, w->l, w->count);
        la_axpy(-t, w->Gp, w->g, w->count);
        /* next direction, conjugate to this one */
        double along = 0;
        for (int64_t k = 0; k < w->count; k++)
            along += w->l[k] > 0 ? w->g[k] * w->Gp[k] : 0;
        for (int64_t k = 0; k < w->count; k++)
            w->p[k] = w->l[k] > 0 ? w->g[k] - along / curve * w->p[k] : 0;
        return false;
    }
    la_axpy(-most, w->p, w->l, w->count);
    la_axpy(-most, w->Gp, w->g, w->count);
    for (int64_t k = 0; k < w->count; k++)
        if (w->l[k] > 0 || w->p[k] > 0)
            w->l[k] = fmax(w->l[k] - step * w->g[k], 0);
    return true;
}

static void new_gradient(work *w)
{
    product(w, w->l, w->g);
    for (int64_t k = 0; k < w->count; k++)
        w->g[k] -= w->set->b[k];
    restart_direction(w);
}

static bool is_spent(const work *w)
{
    return w->e->phase->iterations + w->products >= w->e->phase->max_iterations;
}

/* Iterates until the gradient is negligible compared with b; false: no convergence. */
static bool descend(work *w)
{
    double step = safe_step(w), size = la_norm(w->set->b, w->count), free2, bound2;
    new_gradient(w);
    while (w->products < MOST_PRODUCTS) {
        if (l2_stopped(w->e))
            return false;
        split(w, &free2, &bound2);
        if (sqrt(free2 + bound2) <= SETTLED * size)
            return true;
        if (is_spent(w))
            return false;
        if (bound2 > free2) {
            for (int64_t k = 0; k < w->count; k++)
                if (w->l[k] == 0 && w->g[k] < 0)
                    w->l[k] = -step * w->g[k];
            new_gradient(w);
        } else if (step_free(w, step)) {
            new_gradient(w);
        }
    }
    return false;
}

/* Solves G x = rhs over the rows with l > 0, to about ten digits. */
static void solve_face(work *w, const double *rhs, double *x)
{
    double *residual = w->g, rr = 0, first;
    for (int64_t k = 0; k < w->count; k++) {
        x[k] = 0;
        residual[k] = w->p[k] = w->l[k] > 0 ? rhs[k] : 0;
        rr += residual[k] * residual[k];
    }
    first = rr;
    for (int round = 0; round < 400 && rr > 1e-22 * first; round++) {
        product(w, w->p, w->Gp);
        double t = rr / la_dot(w->p, w->Gp, w->count), next = 0;
        for (int64_t k = 0; k < w->count; k++) {
            if (!(w->l[k] > 0))
                continue;
            x[k] += t * w->p[k];
            residual[k] -= t * w->Gp[k];
            next += residual[k] * residual[k];
        }
        for (int64_t k = 0; k < w->count; k++)
            w->p[k] = w->l[k] > 0 ? residual[k] + next / rr * w->p[k] : 0;
        rr = next;
    }
}

static void theta_of(work *w)
{
    svm_set *set = w->set;
    size_t bytes = (size_t)set->size * sizeof(double);
    memset(set->theta, 0, bytes);
    memset(set->theta_lo, 0, bytes);
    svm_set_combine_exact(set, w->all, set->lambda, set->lambda_lo, w->count, set->theta,
                          set->theta_lo);
}

/* Multipliers of the active rows to double-double; false if one is not positive. */
static bool refine(work *w)
{
    svm_set *set = w->set;
    double size = la_norm(set->b, w->count), last = INFINITY;
    double *residual = set->margin, *rhs = w->r, *x = w->e->residual;
    for (int round = 0; round < REFINEMENTS; round++) {
        theta_of(w);
        svm_set_residual_exact(set, NULL, w->count, set->theta, set->theta_lo, residual);
        double sum = 0;
        for (int64_t k = 0; k < w->count; k++) {
            rhs[k] = w->l[k] > 0 ? residual[k] : 0;
            sum += rhs[k] * rhs[k];
        }
        if (sqrt(sum) <= REFINED * size)
            break;
        if (!(sqrt(sum) < last / 4))
            return false;
        last = sqrt(sum);
        solve_face(w, rhs, x);
        for (int64_t k = 0; k < w->count; k++) {
            dd value = base_dd_add((dd){ set->lambda[k], set->lambda_lo[k] }, base_dd(x[k]));
            set->lambda[k] = value.hi;
            set->lambda_lo[k] = value.lo;
        }
    }
    for (int64_t k = 0; k < w->count; k++)
        if (w->l[k] > 0 && !(set->lambda[k] > 0))
            return false;
    return true;
}

static void publish(work *w)
{
    svm_set *set = w->set;
    w->e->cg_active = 0;
    for (int64_t k = 0; k < w->count; k++) {
        set->lambda[k] = w->l[k];
        set->lambda_lo[k] = 0;
        set->place[k] = w->l[k] > 0 ? 0 : SVM_AT_ZERO;
        w->e->cg_active += w->l[k] > 0;
    }
}

attsvm_status l2_cg_solve(l2_active_set *e, bool exact, bool *solved, attsvm_error *err)
{
    svm_set *set = e->set;
    work w = { .e = e, .set = set, .count = set->count };
    size_t n = (size_t)set->count;
    double *memory;
    *solved = false;
    TRY(base_allocate(&memory, 6 * n, sizeof *memory, "conjugate gradients", err));
    w.l = memory;
    w.g = w.l + n;
    w.p = w.g + n;
    w.Gp = w.p + n;
    w.r = w.Gp + n;
    w.all = (int32_t *)(void *)(w.r + n);
    for (int64_t k = 0; k < w.count; k++) {
        w.all[k] = (int32_t)k;
        w.l[k] = fmax(set->lambda[k], 0);
    }
    *solved = descend(&w);
    if (*solved) {
        publish(&w);
        *solved = !exact || refine(&w);
        if (!exact)
            theta_of(&w);
        svm_set_margins(set, set->theta);
    }
    e->phase->iterations += w.products;
    free(memory);
    return ATTSVM_OK;
}
