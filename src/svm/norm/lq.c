/*
 * l_q norm, 1 < q < infinity, of the entries: a primal-dual interior point method.
 *
 *   min sum_j |theta_j|^q / q   s.t.  A theta - w = b,  w >= 0  (w = 0 for equalities)
 *
 * has the minimiser of |theta|_q, where S = A'lambda and theta determine each other entry by entry.
 * With f_q(x) = x (x^2 + eps^2)^(q/2-1), eps small, either may be linearised:
 *
 *   by S:      theta = f_q'(S),  E = f'_q'(S)              smooth without eps for q <= 2
 *   by theta:  S = f_q(theta),   E = 1/f'_q(theta)        smooth enough for q > 2
 *
 * (prime on q: the dual exponent; on f: its derivative), and eps shrinks with the barrier until it
 * changes the norm by less than rounding.  The smooth form is tried first, the other if it stalls.
 * With d = theta(S) - theta or d = E (S - S(theta)), rp = b - A theta + w,
 *
 *   (A E A' + diag(w/lambda)) dlambda = rp - A d + (sigma mu - dw dlambda)/lambda - w
 *   dtheta = d + E A'dlambda
 *
 * For q far from 2 the problem is solved in stages of q.  The caller scales and certifies the
 * result from theta and lambda alone.
 */
#include "svm/norm/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LQ_STEPS = 200, LQ_IDLE = 12 };
static const double LQ_STAGE = 2.5;        /* of q - 1 from one stage to the next                */
static const double LQ_STAGE_TOL = 1e-3;   /* gap at which a stage ends                          */
static const double LQ_INSIDE = 0.3;       /* slack at the start, over the largest b             */
static const double LQ_EPS_MOST = 2e-3;    /* in units of the largest entry                      */
static const double LQ_SMALL = 1e-3;       /* initial eps if there is none                       */
static const double LQ_LEAST = 1e-12;      /* of E, over its largest entry                       */
static const double LQ_NEARLY_MET = 1e-10; /* residual of an equality that is repaired later     */
static const double LQ_ENOUGH = 1e-10;     /* gap that needs no second attempt                   */
static const double LQ_BEHIND = 1e-3;      /* smallest mu over the residual, in a second attempt */
static const double LQ_SHORT = 0.2;        /* after a shorter step, only centre                  */
static const double LQ_BACK = 0.99;        /* of the step to the boundary                        */
static const double LQ_EPS = 1e-15;        /* relative change of the norm by eps                 */
static const double LQ_SHRINK = 0.2;       /* of eps after a full step                           */

typedef struct lq_state {
    const svm_small *part;
    int64_t rows, size; /* size = p q                                      */
    bool by_S;          /* which form is linearised                        */
    bool short_step;    /* the last step was short and not a centring step */
    double q, eps, eps_end, mu, scale;
    double behind;                               /* lower bound of mu over the residual */
    double *scaled, *H;                          /* vectors: rows x size; rows x rows   */
    double *weighted, *mix;                      /* matrices: p x q, terms x p          */
    double *sums;                                /* terms x p                           */
    double *b, *theta, *lambda, *w, *rp, *d, *E; /* problem scaled to max |theta| = 1 */
    double *dtheta, *dlambda, *dw, *dlambda_a, *dw_a, *rhs, *S, *trial;
    double *best_theta, *best_lambda;
    double best;
    void *memory;
} lq_state;

static void layout(lq_state *s, arena *a)
{
    size_t m = (size_t)s->rows, N = (size_t)s->size;
    const svm_small *part = s->part;
    size_t terms = (size_t)part->terms, p = (size_t)part->p;
    s->scaled = take(a, part->q == 1 ? m * N : 0);
    s->weighted = take(a, N);
    s->mix = take(a, terms * p);
    s->sums = take(a, terms * p);
    s->H = take(a, m * m);
    double **by_row[] = { &s->b,  &s->lambda, &s->w,         &s->rp,   &s->dlambda,
                          &s->dw, &s->rhs,    &s->dlambda_a, &s->dw_a, &s->best_lambda };
    for (size_t k = 0; k < sizeof by_row / sizeof *by_row; k++)
        *by_row[k] = take(a, m);
    double **by_entry[] = { &s->theta, &s->d, &s->E, &s->dtheta, &s->S, &s->trial, &s->best_theta };
    for (size_t k = 0; k < sizeof by_entry / sizeof *by_entry; k++)
        *by_entry[k] = take(a, N);
}

static double slope(double x, double eps, double q)
{
    return x == 0 ? 0 : x * svm_norm_power(x * x + eps * eps, 0.5 * q - 1);
}

/* Slope and curvature; both are 0 at x = 0 without eps, which is 0 only for exponents above 2. */
static void smooth(double x, double eps, double q, double *slope, double *curvature)
{
    const double square = x * x + eps * eps;
    const double factor = square == 0 ? 0 : svm_norm_power(square, 0.5 * q - 1);
    *slope = factor * x;
    *curvature = factor == 0 ? 0 : factor * (eps * eps + (q - 1) * x * x) / square;
}

/* E and d at the current point. */
static void linearise(lq_state *s)
{
    double dual = s->q / (s->q - 1), largest = 0;
    for (int64_t j = 0; j < s->size; j++) {
        double S = s->S[j], x = s->theta[j];
        if (s->by_S) {
            smooth(S, s->eps, dual, &s->d[j], &s->E[j]);
            s->d[j] -= x;
        } else {
            smooth(x, s->eps, s->q, &s->d[j], &s->E[j]);
            s->d[j] = (S - s->d[j]) / s->E[j];
            s->E[j] = 1 / s->E[j];
        }
        largest = fmax(largest, s->E[j]);
    }
    /* a positive minimum, so that equalities have a pivot where S vanishes */
    for (int64_t j = 0; j < s->size; j++)
        s->E[j] = fmax(s->E[j], LQ_LEAST * largest);
}

/* S, rp, mu at the current point; returns a size of the residuals. */
static double residuals(lq_state *s)
{
    double size = 0, pairs = 0;
    svm_small_sum(s->part, s->lambda, s->S, s->sums);
    for (int64_t j = 0; j < s->size; j++) {
        double S = s->S[j], x = s->theta[j];
        double off = s->by_S ? slope(S, s->eps, s->q / (s->q - 1)) - x : S - slope(x, s->eps, s->q);
        size = fmax(size, fabs(off));
    }
    svm_small_apply(s->part, s->theta, s->part->q, s->rp, s->sums);
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
    bool broken = false; /* a row that scaling cannot repair does not hold */
    for (int64_t r = 0; r < s->rows; r++)
        scale = fmax(scale, fabs(s->b[r]));
    for (int64_t r = 0; r < s->rows; r++) {
        double value = s->b[r] - s->rp[r] + s->w[r];
        dual += s->b[r] * s->lambda[r];
        if (s->part->equal[r])
            broken = broken || fabs(value - s->b[r]) > LQ_NEARLY_MET * scale;
        else if (s->b[r] > 0)
            margin = fmin(margin, value / s->b[r]);
        else if (value < s->b[r] - 1e-13)
            broken = true;
    }
    if (!(margin > 0) || broken)
        return INFINITY;
    double primal = svm_norm_of_entries(s->theta, s->size, s->q);
    if (isfinite(margin))
        primal /= fmin(margin, 1);
    double ball = svm_norm_of_entries(s->S, s->size, s->q / (s->q - 1));
    double gap = ball > 0 ? (primal - dual / ball) / primal : INFINITY;
    if (gap < s->best) {
        s->best = gap;
        memcpy(s->best_theta, s->theta, (size_t)s->size * sizeof *s->theta);
        memcpy(s->best_lambda, s->lambda, (size_t)s->rows * sizeof *s->lambda);
    }
    return gap;
}

/*
 * H = A E A' (lower), of matrices: for rows u_r v_a' and u_s v_b'
 *
 *   H_rs = sum_i u_ri u_si D_i,   D_i = sum_j E_ij v_aj v_bj,
 *
 * where D belongs to the pair of terms: O(terms^2 p q + rows^2 p) instead of O(rows^2 p q).
 */
static void gram_of_matrices(lq_state *s)
{
    const svm_small *part = s->part;
    int64_t rows = s->rows, p = part->p, q = part->q, a = -1;
    double *t = s->trial;
    for (int64_t r = 0; r < rows; r++) {
        if (part->term[r] != a) { /* mix (terms up to a, p): D of all pairs with a */
            a = part->term[r];
            for (int64_t i = 0; i < p; i++)
                for (int64_t j = 0; j < q; j++)
                    s->weighted[i * q + j] = s->E[i * q + j] * part->v[a * q + j];
            la_gemm(false, true, a + 1, p, q, 1, part->v, q, s->weighted, q, 0, s->mix, p);
        }
        const double *u = part->u + r * p;
        for (int64_t k = 0; k <= r;) {
            int64_t b = part->term[k];
            for (int64_t i = 0; i < p; i++)
                t[i] = u[i] * s->mix[b * p + i];
            for (; k <= r && part->term[k] == b; k++)
                s->H[r * rows + k] = la_dot(t, part->u + k * p, p);
        }
    }
}

/* The same of vectors, v = 1. */
static void gram_of_vectors(lq_state *s)
{
    int64_t rows = s->rows, N = s->size;
    for (int64_t j = 0; j < N; j++)
        s->trial[j] = sqrt(s->E[j]);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < N; j++)
            s->scaled[r * N + j] =
                s->part->u[r * N + j] * s->part->v[s->part->term[r]] * s->trial[j];
    la_syrk(false, rows, N, 1, s->scaled, N, 0, s->H, rows);
}

/* H = A E A' + diag(w/lambda), factored. */
static bool factor(lq_state *s)
{
    int64_t rows = s->rows;
    linearise(s);
    if (s->part->q == 1)
        gram_of_vectors(s);
    else
        gram_of_matrices(s);
    for (int64_t r = 0; r < rows; r++)
        if (!s->part->equal[r])
            s->H[r * rows + r] += s->w[r] / s->lambda[r];
    return interior_cholesky_shifted(rows, s->H, s->rhs);
}

static void direction(lq_state *s, double target, bool corrector, double *dlambda, double *dw)
{
    int64_t rows = s->rows, N = s->size;
    svm_small_apply(s->part, s->d, s->part->q, s->rhs, s->sums);
    for (int64_t r = 0; r < rows; r++) {
        double second = corrector ? s->dw_a[r] * s->dlambda_a[r] : 0;
        dlambda[r] = s->rp[r] - s->rhs[r];
        if (!s->part->equal[r])
            dlambda[r] += (target - second) / s->lambda[r] - s->w[r];
    }
    la_cholesky_solve(rows, s->H, rows, dlambda);
    svm_small_sum(s->part, dlambda, s->dtheta, s->sums);
    for (int64_t j = 0; j < N; j++)
        s->dtheta[j] = s->d[j] + s->E[j] * s->dtheta[j];
    svm_small_apply(s->part, s->dtheta, s->part->q, dw, s->sums);
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

/* One predictor-corrector step; returns the step length, or 0 if there is none. */
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
    double target = fmax(sigma * mu, fmin(mu, s->behind * residual));
    /* after a short step the pairs are uneven: centre first */
    direction(s, s->short_step ? mu : target, !s->short_step, s->dlambda, s->dw);
    step = LQ_BACK * boundary(s, s->dw, s->dlambda);
    if (pairs == 0)
        step = 1;
    double length = step;
    s->short_step = !s->short_step && step < LQ_SHORT;
    move(s, length);
    /* theta depends on S nonlinearly: halve while the residual grows */
    for (int64_t tries = 0; tries < 30; tries++) {
        double now = residuals(s);
        if (now <= residual * (1 - 0.01 * length) + 10 * mu || now <= 1e-13)
            break;
        move(s, -0.5 * length);
        length *= 0.5;
    }
    return length;
}

static attsvm_status prepare(lq_state *s, attsvm_error *err)
{
    arena a = { 0 };
    layout(s, &a);
    TRY(base_arena_allocate(&a, "l_q workspace", err));
    s->memory = a.base;
    layout(s, &a);
    return ATTSVM_OK;
}

/* Multipliers of the equalities, by least squares, to bring S towards S(theta). */
static void fit_equalities(lq_state *s)
{
    const svm_small *part = s->part;
    int64_t N = s->size, equals = part->equals;
    svm_small_sum(s->part, s->lambda, s->S, s->sums);
    for (int64_t j = 0; j < N; j++)
        s->S[j] = slope(s->theta[j], fmax(s->eps, LQ_SMALL), s->q) - s->S[j];
    svm_small_apply(part, s->S, part->q, s->dlambda, s->sums);
    svm_small_equality_gram(part, s->H);
    for (int64_t e = 0; e < equals; e++)
        s->rhs[e] = s->dlambda[part->equality[e]];
    if (equals == 0 || !interior_cholesky_shifted(equals, s->H, s->dw))
        return;
    la_cholesky_solve(equals, s->H, equals, s->rhs);
    for (int64_t e = 0; e < equals; e++)
        s->lambda[part->equality[e]] = s->rhs[e];
}

/*
 * Starts from theta0 in units of its largest entry: slacks moved inside, multipliers with equal
 * products, scaled to fit theta.
 */
static void start(lq_state *s, double q, bool by_S, const double *theta0)
{
    const svm_small *part = s->part;
    double largest = 0, push = 0, sum = 0, goal = 0;
    s->q = q;
    for (int64_t j = 0; j < s->size; j++)
        largest = fmax(largest, fabs(theta0[j]));
    s->scale = largest > 0 ? largest : 1;
    for (int64_t r = 0; r < s->rows; r++) {
        s->b[r] = part->b[r] / s->scale;
        push = fmax(push, s->b[r]);
    }
    for (int64_t j = 0; j < s->size; j++)
        s->theta[j] = theta0[j] / s->scale;
    bool smooth = by_S && q <= 2;
    double power = by_S ? q / (q - 1) : q;
    s->by_S = by_S;
    s->short_step = false;
    s->eps = smooth ? 0 : 0.1;
    s->eps_end = smooth ? 0 : fmin(LQ_EPS_MOST, base_pow(LQ_EPS / (double)s->size, 1 / power));
    s->best = INFINITY;
    svm_small_apply(s->part, s->theta, s->part->q, s->w, s->sums);
    for (int64_t r = 0; r < s->rows; r++) {
        s->w[r] = part->equal[r] ? 0 : fmax(s->w[r] - s->b[r], 0) + LQ_INSIDE * push;
        s->lambda[r] = part->equal[r] || push == 0 ? 0 : push / s->w[r];
    }
    svm_small_sum(s->part, s->lambda, s->S, s->sums);
    for (int64_t j = 0; j < s->size; j++) {
        double g = slope(s->theta[j], fmax(s->eps, LQ_SMALL), q);
        sum += s->S[j] * s->S[j];
        goal += g * g;
    }
    for (int64_t r = 0; r < s->rows && sum > 0 && goal > 0; r++)
        s->lambda[r] *= sqrt(goal / sum);
    fit_equalities(s);
}

/* Steps until the gap is tol; theta (size) gets the best point, or the last. */
static void run_stage(lq_state *s, double tol, double *theta, int64_t *iterations)
{
    int64_t idle = 0;
    double residual = residuals(s), mark = INFINITY; /* the gap at the last halving */
    for (int64_t k = 0; k < LQ_STEPS && idle < LQ_IDLE && !svm_small_stopped(s->part) &&
                        svm_small_step(s->part, iterations);
         k++) {
        double step = step_once(s, residual);
        (void)residuals(s);
        double gap = certify(s);
        if (gap <= tol || step <= 0)
            break;
        bool halved = gap < 0.5 * mark;
        mark = halved ? gap : mark;
        idle = isfinite(mark) && s->eps <= s->eps_end && !halved ? idle + 1 : 0;
        if (step > 0.3)
            s->eps = fmax(s->eps_end, s->eps * fmax(LQ_SHRINK, 1 - step));
        residual = residuals(s);
    }
    for (int64_t j = 0; j < s->size; j++)
        theta[j] = s->scale * (isfinite(s->best) ? s->best_theta[j] : s->theta[j]);
}

/* All stages in one form; returns the gap. */
static double run_stages(lq_state *s, double q, bool by_S, const double *theta0, double tol,
                         double *theta, int64_t *iterations)
{
    memcpy(theta, theta0, (size_t)s->size * sizeof *theta);
    double stage = 2;
    do { /* q - 1 by factors of LQ_STAGE */
        double next = 1 + (stage - 1) * (q > 2 ? LQ_STAGE : 1 / LQ_STAGE);
        stage = (q > 2) == (next < q) ? next : q;
        start(s, stage, by_S, theta);
        run_stage(s, stage == q ? tol : LQ_STAGE_TOL, theta, iterations);
    } while (stage != q && !svm_small_stopped(s->part));
    return s->best;
}

attsvm_status svm_lq_core(const svm_small *part, double q, const double *theta0, double tol,
                          double *theta, double *lambda, int64_t *iterations, attsvm_error *err)
{
    lq_state s = { .part = part, .rows = part->rows, .size = part->p * part->q };
    double *other = NULL;
    attsvm_status status = prepare(&s, err);
    if (status == ATTSVM_OK)
        status = base_allocate(&other, (size_t)(s.size + s.rows), sizeof *other, "theta", err);
    if (status != ATTSVM_OK)
        goto done;
    /* The smooth form; then with pairs that shrink no faster than the residuals; then the other
       form. */
    double gap = INFINITY;
    for (int try = 0; try < 3 && !(gap <= LQ_ENOUGH) && !svm_small_stopped(part); try++) {
        s.behind = try == 1 ? LQ_BEHIND : 0;
        double now = run_stages(&s, q, (q <= 2) == (try < 2), theta0, tol, other, iterations);
        if (try > 0 && !(now < gap))
            continue;
        gap = now;
        memcpy(theta, other, (size_t)s.size * sizeof *theta);
        memcpy(lambda, isfinite(gap) ? s.best_lambda : s.lambda, (size_t)s.rows * sizeof *lambda);
    }
    /* lambda so that |A'lambda|_q' = 1 */
    svm_small_sum(part, lambda, s.S, s.sums);
    double ball = svm_norm_of_entries(s.S, s.size, q / (q - 1));
    for (int64_t r = 0; r < s.rows && ball > 0; r++)
        lambda[r] /= ball;
done:
    free(other);
    free(s.memory);
    return status;
}

/* ------------------------------------------------------------------------ the norm */

static attsvm_status size(double q, bool dual, const double *x, int64_t rows, int64_t columns,
                          double *out, attsvm_error *err)
{
    (void)err;
    *out = svm_norm_of_entries(x, rows * columns, dual ? q / (q - 1) : q);
    return ATTSVM_OK;
}

static double row_size(double q, const double *delta, const double *z, int64_t d)
{
    q = q / (q - 1);
    return svm_norm_of_entries(delta, d, q) * (z ? svm_norm_of_entries(z, d, q) : 1);
}

static attsvm_status core(svm_phase *phase, const svm_small *part, const double *W0, double *W,
                          double *lambda, attsvm_error *err)
{
    bool decided;
    TRY(svm_lq_core(part, phase->q, W0, phase->goal, W, lambda, &phase->iterations, err));
    TRY(svm_lq_newton(part, phase->q, W, lambda, &decided, err));
    phase->undecided = !decided;
    return ATTSVM_OK;
}

const svm_norm svm_norm_lq = { .unique = true,
                               .negligible = 1e-11,
                               .tol = 1e-9,
                               .size = size,
                               .row_size = row_size,
                               .solve = svm_small_solve,
                               .core = core };
