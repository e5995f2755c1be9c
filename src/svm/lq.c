/*
 * l_q norm, 1 < q < infinity, of the entries: a primal-dual interior point method.
 *
 *   min sum_j phi(theta_j)   s.t.  A theta - w = b,  w >= 0  (w = 0 for equalities)
 *   phi(x) = ((x^2 + eps^2)^(q/2) - eps^q) / q
 *
 * has, at eps = 0, the minimiser of |theta|_q, and A'lambda = |theta|^(q-1) sign(theta).  Newton on
 * |x|^q itself fails at entries that end at 0: the second derivative is 0 there for q > 2 and
 * infinite for q < 2.  With eps > 0 it is between eps^(q-2) and (q-1)|x|^(q-2), and eps shrinks
 * with the barrier until it changes the norm by less than rounding does.  With D = phi'' and
 *
 *   rd = A'lambda - phi',   rp = b - A theta + w
 *   (A D^-1 A' + diag(w/lambda)) dlambda = rp - A D^-1 rd + (sigma mu - dw dlambda)/lambda - w
 *   dtheta = D^-1 (rd + A'dlambda)
 *
 * The result is scaled and certified by the caller, from theta and lambda alone.
 */
#include "svm/svm.h"

#include "la/la.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LQ_STEPS = 200, LQ_IDLE = 12 };
static const double LQ_BACK = 0.99;  /* of the step to the boundary            */
static const double LQ_EPS = 1e-14;  /* relative change of the norm by eps     */
static const double LQ_SHRINK = 0.2; /* of eps after a full step               */

typedef struct lq_state {
    const svm_part *part;
    int64_t rows, size; /* size = p q */
    double q, eps, eps_end, mu;
    double *A, *scaled, *H;                       /* rows x size twice, rows x rows */
    double *b, *theta, *lambda, *w, *rp, *rd, *D; /* problem scaled to max |theta| = 1 */
    double *dtheta, *dlambda, *dw, *dlambda_a, *dw_a, *rhs, *S, *trial;
    double *best_theta, *best_lambda;
    double best;
    void *memory;
} lq_state;

static void layout(lq_state *s, arena *a)
{
    size_t m = (size_t)s->rows, N = (size_t)s->size;
    s->A = take(a, m * N);
    s->scaled = take(a, m * N);
    s->H = take(a, m * m);
    double **by_row[] = { &s->b,  &s->lambda, &s->w,         &s->rp,   &s->dlambda,
                          &s->dw, &s->rhs,    &s->dlambda_a, &s->dw_a, &s->best_lambda };
    for (size_t k = 0; k < sizeof by_row / sizeof *by_row; k++)
        *by_row[k] = take(a, m);
    double **by_entry[] = {
        &s->theta, &s->rd, &s->D, &s->dtheta, &s->S, &s->trial, &s->best_theta
    };
    for (size_t k = 0; k < sizeof by_entry / sizeof *by_entry; k++)
        *by_entry[k] = take(a, N);
}

/* phi' and phi''; the larger of x and eps is factored out against overflow. */
static double slope(double x, double eps, double q)
{
    return x * pow(x * x + eps * eps, 0.5 * q - 1);
}

static double curvature(double x, double eps, double q)
{
    double square = x * x + eps * eps;
    return pow(square, 0.5 * q - 1) * (eps * eps + (q - 1) * x * x) / square;
}

double svm_norm_q(const double *x, int64_t count, double q)
{
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(x[i]));
    if (largest == 0)
        return 0;
    for (int64_t i = 0; i < count; i++)
        sum += pow(fabs(x[i]) / largest, q);
    return largest * pow(sum, 1 / q);
}

/* rd, rp, mu at the current point; returns a size of the residuals. */
static double residuals(lq_state *s)
{
    double size = 0, pairs = 0;
    la_gemv(true, s->rows, s->size, 1, s->A, s->size, s->lambda, 0, s->S);
    for (int64_t j = 0; j < s->size; j++) {
        s->rd[j] = s->S[j] - slope(s->theta[j], s->eps, s->q);
        size = fmax(size, fabs(s->rd[j]));
    }
    la_gemv(false, s->rows, s->size, 1, s->A, s->size, s->theta, 0, s->rp);
    s->mu = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        s->rp[r] = s->b[r] - s->rp[r] + s->w[r];
        size = fmax(size, fabs(s->rp[r]));
        if (!s->part->equal[r]) {
            s->mu += s->w[r] * s->lambda[r];
            pairs++;
        }
    }
    s->mu = pairs > 0 ? s->mu / pairs : 0;
    return size;
}

/* Relative gap that the point proves after scaling, and the best point so far. */
static double certify(lq_state *s)
{
    double margin = INFINITY, scale = 0, dual = 0;
    bool fixed = false;
    for (int64_t r = 0; r < s->rows; r++) {
        double value = s->b[r] - s->rp[r] + s->w[r], size = fmax(1e-300, fabs(s->b[r]));
        dual += s->b[r] * s->lambda[r];
        scale = fmax(scale, size);
        if (s->part->equal[r])
            fixed = fixed || fabs(value - s->b[r]) > 1e-13 * scale;
        else if (s->b[r] > 0)
            margin = fmin(margin, value / s->b[r]);
        else if (value < s->b[r] - 1e-13)
            fixed = true;
    }
    if (!(margin > 0) || fixed)
        return INFINITY;
    double primal = svm_norm_q(s->theta, s->size, s->q);
    if (isfinite(margin))
        primal /= fmin(margin, 1);
    double ball = svm_norm_q(s->S, s->size, s->q / (s->q - 1));
    double gap = ball > 0 ? (primal - dual / ball) / primal : INFINITY;
    if (gap < s->best) {
        s->best = gap;
        memcpy(s->best_theta, s->theta, (size_t)s->size * sizeof *s->theta);
        memcpy(s->best_lambda, s->lambda, (size_t)s->rows * sizeof *s->lambda);
    }
    return gap;
}

/* H = A D^-1 A' + diag(w/lambda), factored. */
static bool factor(lq_state *s)
{
    int64_t rows = s->rows, N = s->size;
    for (int64_t j = 0; j < N; j++) {
        s->D[j] = curvature(s->theta[j], s->eps, s->q);
        s->trial[j] = 1 / sqrt(s->D[j]);
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < N; j++)
            s->scaled[r * N + j] = s->A[r * N + j] * s->trial[j];
    la_syrk(false, rows, N, 1, s->scaled, N, 0, s->H, rows);
    for (int64_t r = 0; r < rows; r++)
        if (!s->part->equal[r])
            s->H[r * rows + r] += s->w[r] / s->lambda[r];
    return svm_cholesky_shifted(rows, s->H, s->rhs);
}

static void direction(lq_state *s, double target, bool corrector, double *dlambda, double *dw)
{
    int64_t rows = s->rows, N = s->size;
    for (int64_t j = 0; j < N; j++)
        s->trial[j] = s->rd[j] / s->D[j];
    la_gemv(false, rows, N, -1, s->A, N, s->trial, 0, s->rhs);
    for (int64_t r = 0; r < rows; r++) {
        double second = corrector ? s->dw_a[r] * s->dlambda_a[r] : 0;
        dlambda[r] = s->rhs[r] + s->rp[r];
        if (!s->part->equal[r])
            dlambda[r] += (target - second) / s->lambda[r] - s->w[r];
    }
    la_trsv(false, rows, s->H, rows, dlambda);
    la_trsv(true, rows, s->H, rows, dlambda);
    la_gemv(true, rows, N, 1, s->A, N, dlambda, 0, s->dtheta);
    for (int64_t j = 0; j < N; j++)
        s->dtheta[j] = (s->rd[j] + s->dtheta[j]) / s->D[j];
    la_gemv(false, rows, N, 1, s->A, N, s->dtheta, 0, dw);
    for (int64_t r = 0; r < rows; r++)
        dw[r] = s->part->equal[r] ? 0 : dw[r] - s->rp[r];
}

static double boundary(const lq_state *s, const double *dw, const double *dlambda)
{
    double step = 1;
    for (int64_t r = 0; r < s->rows; r++) {
        if (s->part->equal[r])
            continue;
        if (dw[r] < 0)
            step = fmin(step, -s->w[r] / dw[r]);
        if (dlambda[r] < 0)
            step = fmin(step, -s->lambda[r] / dlambda[r]);
    }
    return step;
}

static void move(lq_state *s, double step)
{
    la_axpy(step, s->dtheta, s->theta, s->size);
    la_axpy(step, s->dlambda, s->lambda, s->rows);
    la_axpy(step, s->dw, s->w, s->rows);
}

/* One predictor-corrector step; the step length, or 0 when there is none. */
static double step_once(lq_state *s, double residual)
{
    if (!factor(s))
        return 0;
    direction(s, 0, false, s->dlambda_a, s->dw_a);
    double step = boundary(s, s->dw_a, s->dlambda_a), sum = 0, pairs = 0;
    for (int64_t r = 0; r < s->rows; r++)
        if (!s->part->equal[r]) {
            sum += (s->w[r] + step * s->dw_a[r]) * (s->lambda[r] + step * s->dlambda_a[r]);
            pairs++;
        }
    double ratio = pairs > 0 && s->mu > 0 ? sum / pairs / s->mu : 0;
    double sigma = fmin(1, ratio * ratio * ratio), mu = s->mu;
    direction(s, sigma * mu, true, s->dlambda, s->dw);
    step = LQ_BACK * boundary(s, s->dw, s->dlambda);
    if (pairs == 0)
        step = 1;
    double length = step;
    move(s, length);
    /* the equation A'lambda = phi' is not linear: halve while it gets worse */
    for (int64_t tries = 0; tries < 30; tries++) {
        double now = residuals(s);
        if (now <= residual * (1 - 0.01 * length) + 10 * mu || now <= 1e-13)
            break;
        move(s, -0.5 * length);
        length *= 0.5;
    }
    return length;
}

static attsvm_status prepare(lq_state *s, const double *theta0, double *scale, attsvm_error *err)
{
    const svm_part *part = s->part;
    arena a = { 0 };
    layout(s, &a);
    TRY(base_arena_allocate(&a, "l_q workspace", err));
    s->memory = a.base;
    layout(s, &a);
    double largest = 0, push = 0;
    for (int64_t j = 0; j < s->size; j++)
        largest = fmax(largest, fabs(theta0[j]));
    *scale = largest > 0 ? largest : 1;
    for (int64_t r = 0; r < s->rows; r++) {
        const double *u = part->u + r * part->p, *v = part->v + part->term[r] * part->q;
        for (int64_t i = 0; i < part->p; i++)
            for (int64_t j = 0; j < part->q; j++)
                s->A[(r * part->p + i) * part->q + j] = u[i] * v[j];
        s->b[r] = part->b[r] / *scale;
        push = fmax(push, s->b[r]);
    }
    for (int64_t j = 0; j < s->size; j++)
        s->theta[j] = theta0[j] / *scale;
    s->eps = 0.1;
    s->eps_end = pow(LQ_EPS, 1 / fmin(s->q, 2)) / (double)s->size;
    s->best = INFINITY;
    /* slacks of theta0 moved inside, multipliers of equal products, of the size of phi' */
    la_gemv(false, s->rows, s->size, 1, s->A, s->size, s->theta, 0, s->w);
    for (int64_t r = 0; r < s->rows; r++) {
        s->w[r] = part->equal[r] ? 0 : fmax(s->w[r] - s->b[r], 0) + 0.3 * push;
        s->lambda[r] = part->equal[r] || push == 0 ? 0 : push / s->w[r];
    }
    la_gemv(true, s->rows, s->size, 1, s->A, s->size, s->lambda, 0, s->S);
    double sum = 0, goal = 0;
    for (int64_t j = 0; j < s->size; j++) {
        double g = slope(s->theta[j], s->eps, s->q);
        sum += s->S[j] * s->S[j];
        goal += g * g;
    }
    double factor_lambda = sum > 0 && goal > 0 ? sqrt(goal / sum) : 1;
    for (int64_t r = 0; r < s->rows; r++)
        s->lambda[r] *= factor_lambda;
    return ATTSVM_OK;
}

attsvm_status svm_lq_core(const svm_part *part, double q, const double *theta0, double tol,
                          double *theta, double *lambda, int64_t *iterations, attsvm_error *err)
{
    lq_state s = { .part = part, .rows = part->rows, .size = part->p * part->q, .q = q };
    double scale;
    TRY(prepare(&s, theta0, &scale, err));
    int64_t k = 0, idle = 0;
    double residual = residuals(&s);
    for (; k < LQ_STEPS && idle < LQ_IDLE; k++) {
        double step = step_once(&s, residual);
        residual = residuals(&s);
        double before = s.best, gap = certify(&s);
        if (gap <= tol || step <= 0)
            break;
        idle = isfinite(before) && s.eps <= s.eps_end && !(gap < 0.5 * before) ? idle + 1 : 0;
        if (step > 0.3)
            s.eps = fmax(s.eps_end, s.eps * fmax(LQ_SHRINK, 1 - step));
        residual = residuals(&s);
    }
    /* theta in the units of the data; lambda so that |A'lambda|_q' = 1 */
    const double *best = isfinite(s.best) ? s.best_theta : s.theta;
    memcpy(lambda, isfinite(s.best) ? s.best_lambda : s.lambda, (size_t)s.rows * sizeof *lambda);
    for (int64_t j = 0; j < s.size; j++)
        theta[j] = scale * best[j];
    la_gemv(true, s.rows, s.size, 1, s.A, s.size, lambda, 0, s.S);
    double ball = svm_norm_q(s.S, s.size, q / (q - 1));
    for (int64_t r = 0; r < s.rows && ball > 0; r++)
        lambda[r] /= ball;
    *iterations += k;
    free(s.memory);
    return ATTSVM_OK;
}
