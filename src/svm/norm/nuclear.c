/*
 * Nuclear norm over stored rows: a primal-dual interior point method, until Newton on the rank-r
 * system (nuclear_newton.c) takes over, usually after five or six steps.
 *
 *   primal   min tr X       <B_r, X> - w_r = b_r,  X >= 0, w >= 0      B_r = [0 A_r; A_r' 0]
 *   dual     max b'lambda   Z = I - sum_r lambda_r B_r >= 0, lambda >= 0
 *
 * W = 2 X_12, and tr X = |W|_* at the optimum; Z >= 0 says |sum lambda A|_2 <= 1.  Equalities have
 * w_r = 0 and free lambda_r.  Z is computed from lambda, so the dual is feasible throughout and
 * b'lambda is a lower bound at every step.
 *
 * HKM direction (Helmberg, Rendl, Vanderbei, Wolkowicz 1996; Kojima, Shindoh, Hara 1997; Monteiro
 * 1997) with Mehrotra's corrector: X Z = sigma mu I and w lambda = sigma mu linearised give
 *
 *   (H + diag(w/lambda)) dlambda = b - sigma mu <B, Z^-1> + sigma mu / lambda + corrector
 *   H_rs = tr(B_r X B_s Z^-1)
 */
#include "svm/norm/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUCLEAR_STEPS = 60 };
static const double CONTINUED = 1e-12;   /* gap at which Newton alone has solved a round      */
static const double NEWTON_FROM = 5e-3;  /* relative gap at which Newton is first tried       */
static const double NEWTON_AGAIN = 0.03; /* factor of the gap before it is tried again        */
static const double NEWTON_GOAL = 5e-13; /* certified gap that ends the solve                 */
static const double NEWTON_SHARE = 0.1;  /* of the gap of a point of Newton that is better     */
static const double NUCLEAR_END = 1e-13; /* gap below which interior point steps gain nothing */
static const double STEP_BACK = 0.97;    /* of the step to the boundary                       */
static const double START_PUSH = 1.1;    /* scale of the feasible point that starts           */
static const double START_INSIDE = 0.1;  /* least eigenvalue of X over the mean of sigma      */
static const double START_DUAL = 0.8;    /* |sum lambda A|_2 at the start                     */

typedef struct interior {
    const svm_small *part;
    int64_t order;                       /* p + q */
    double *lambda, *w;                  /* rows: multipliers; slacks <A,W> - b, 0 for equalities */
    double *X, *Z;                       /* order^2 */
    double mu, primal, dual, infeasible; /* tr X, b'lambda, largest |rp| / max(1,|b|) */
    /* work */
    double *Zinv, *dX, *dZ, *dXa, *dZa, *L, *T1, *T2, *eig;
    double *H, *rhs, *dlambda, *dw, *dlambda_a, *dw_a, *rp, *rows1, *sums;
    interior_schur schur;
    void *memory;
} interior;

static void layout(interior *s, arena *a)
{
    size_t m = (size_t)s->part->rows, N = (size_t)s->order, square = N * N;
    double **matrices[] = { &s->X,   &s->Z,   &s->Zinv, &s->dX, &s->dZ,
                            &s->dXa, &s->dZa, &s->L,    &s->T1, &s->T2 };
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++)
        *matrices[k] = take(a, square);
    double **vectors[] = { &s->lambda,    &s->w,    &s->rhs, &s->dlambda, &s->dw,
                           &s->dlambda_a, &s->dw_a, &s->rp,  &s->rows1 };
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
        *vectors[k] = take(a, m);
    s->eig = take(a, (size_t)la_eigenvalues_room(s->order));
    s->H = take(a, m * m);
    s->sums = take(a, (size_t)s->part->terms * N);
    interior_schur_layout(&s->schur, a, s->part->rows, s->part->terms, s->part->p, s->part->q);
}

static attsvm_status create(interior *s, const svm_small *part, attsvm_error *err)
{
    *s = (interior){ .part = part, .order = part->p + part->q };
    arena a = { 0 };
    layout(s, &a);
    TRY(base_arena_allocate(&a, "interior point workspace", err));
    s->memory = a.base;
    layout(s, &a);
    return ATTSVM_OK;
}

static void destroy(interior *s)
{
    free(s->memory);
    s->memory = NULL;
}

/* Off-diagonal blocks of M (order^2) from -S: M = diag I - [0 S; S' 0]. */
static void dual_matrix(const interior *s, const double *lambda, double diagonal, double *M)
{
    svm_small_sum(s->part, lambda, s->T1, s->sums);
    interior_lift(s->part->p, s->part->q, diagonal, -1, s->T1, M);
}

/* y_r = <B_r, G> = 2 u_r' G_12 v_r for symmetric G. */
static void products(const interior *s, const double *G, double *y)
{
    svm_small_apply(s->part, G + s->part->p, s->order, y, s->sums);
    for (int64_t r = 0; r < s->part->rows; r++)
        y[r] *= 2;
}

/* tr X Z + w'lambda over the number of complementary pairs. */
static double complementarity(const interior *s)
{
    double sum = la_dot(s->X, s->Z, s->order * s->order);
    for (int64_t r = 0; r < s->part->rows; r++)
        if (!s->part->equal[r])
            sum += s->w[r] * s->lambda[r];
    return sum / (double)(s->order + s->part->rows - s->part->equals);
}

static void measure(interior *s)
{
    const svm_small *part = s->part;
    s->dual = s->infeasible = 0;
    s->primal = interior_trace(s->order, s->X);
    products(s, s->X, s->rp);
    for (int64_t r = 0; r < part->rows; r++) {
        s->rp[r] = part->b[r] - s->rp[r] + s->w[r];
        s->infeasible = fmax(s->infeasible, fabs(s->rp[r]) / fmax(1, fabs(part->b[r])));
        s->dual += part->b[r] * s->lambda[r];
    }
    s->mu = complementarity(s);
}

/*
 * Start from a feasible W: with W = P diag(sigma) Q' and a push to the inside,
 *
 *   X = 1/2 [P diag(sigma) P' + xi I, W; W', Q diag(sigma) Q' + xi I] * push,   w = <B,X> - b > 0,
 *
 * and lambda = c/w, with c such that |sum lambda A|_2 = START_DUAL.
 */
static attsvm_status start(interior *s, const double *W, attsvm_error *err)
{
    const svm_small *part = s->part;
    int64_t N = s->order, p = part->p, q = part->q, r = p < q ? p : q;
    double *U = s->dX, *Vt = s->dZ, *sigma = s->eig, *X = s->X;
    memcpy(s->T1, W, (size_t)(p * q) * sizeof *W);
    TRY(la_svd(p, q, s->T1, q, sigma, U, r, Vt, q, err));
    double sum = 0;
    for (int64_t k = 0; k < r; k++)
        sum += sigma[k];
    double xi = START_INSIDE * sum / (double)r;
    memset(X, 0, (size_t)(N * N) * sizeof *X);
    for (int64_t k = 0; k < r; k++) {
        double half = 0.5 * START_PUSH * sigma[k];
        for (int64_t i = 0; i < p; i++)
            la_axpy(half * U[i * r + k], Vt + k * q, X + i * N + p, q);
        for (int64_t i = 0; i < p; i++)
            for (int64_t j = 0; j < p; j++)
                X[i * N + j] += half * U[i * r + k] * U[j * r + k];
        for (int64_t i = 0; i < q; i++)
            la_axpy(half * Vt[k * q + i], Vt + k * q, X + (p + i) * N + p, q);
    }
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < q; j++)
            X[(p + j) * N + i] = X[i * N + p + j];
    for (int64_t i = 0; i < N; i++)
        X[i * N + i] += xi;
    products(s, X, s->w);
    for (int64_t k = 0; k < part->rows; k++) {
        s->w[k] = part->equal[k] ? 0 : fmax(s->w[k] - part->b[k], 0.5 * (START_PUSH - 1));
        s->lambda[k] = part->equal[k] ? 0 : 1 / s->w[k];
    }
    dual_matrix(s, s->lambda, 0, s->Z);
    memcpy(s->T2, s->Z, (size_t)(N * N) * sizeof *s->Z);
    if (la_eigenvalues_in(N, s->T2, N, NULL, N, s->eig) != 0)
        return fail(err, ATTSVM_E_NUMERIC,
                    "nuclear norm: the eigenvalues of the first dual matrix do not converge");
    double largest = fmax(s->eig[N - 1], -s->eig[0]);
    for (int64_t k = 0; k < part->rows; k++)
        s->lambda[k] *= largest > 0 ? START_DUAL / largest : 1;
    dual_matrix(s, s->lambda, 1, s->Z);
    measure(s);
    return ATTSVM_OK;
}

/*
 * Solves for one direction.  `target` is sigma mu; with `corrector` the second-order terms of the
 * predictor (dXa, dZa, dlambda_a, dw_a) are subtracted.
 */
static void direction(interior *s, double target, bool corrector, double *dX, double *dZ,
                      double *dlambda, double *dw)
{
    const svm_small *part = s->part;
    int64_t N = s->order, rows = part->rows;
    double *base = s->T2; /* target Z^-1 - E */
    interior_target(N, target, s->Zinv, corrector ? s->dZa : NULL, s->dXa, s->T1, base);
    products(s, base, s->rhs);
    for (int64_t r = 0; r < rows; r++) {
        dlambda[r] = part->b[r] - s->rhs[r];
        if (!part->equal[r])
            dlambda[r] += (target - (corrector ? s->dw_a[r] * s->dlambda_a[r] : 0)) / s->lambda[r];
    }
    la_cholesky_solve(rows, s->H, rows, dlambda);
    dual_matrix(s, dlambda, 0, dZ);
    interior_direction(N, base, s->Zinv, dZ, s->X, s->T1, dX);
    products(s, dX, dw);
    for (int64_t r = 0; r < rows; r++)
        dw[r] = part->equal[r] ? 0 : dw[r] - s->rp[r];
}

/* Z^-1, and the Cholesky factor of the Schur matrix in H. */
static bool factor(interior *s)
{
    const svm_small *part = s->part;
    int64_t N = s->order, rows = part->rows;
    memcpy(s->Zinv, s->Z, (size_t)(N * N) * sizeof *s->Z);
    if (la_cholesky(N, s->Zinv, N) != 0 || la_cholesky_invert(N, s->Zinv, N) != 0)
        return false;
    interior_schur_form(&s->schur, part, s->X, s->Zinv, s->H, rows);
    for (int64_t r = 0; r < rows; r++)
        if (!part->equal[r])
            s->H[r * rows + r] += s->w[r] / s->lambda[r];
    return interior_cholesky_shifted(rows, s->H, s->rhs);
}

static bool step_once(interior *s)
{
    const svm_small *part = s->part;
    int64_t N = s->order, rows = part->rows, square = N * N;
    if (!factor(s))
        return false;
    direction(s, 0, false, s->dXa, s->dZa, s->dlambda_a, s->dw_a);
    /* factors of X and Z for the step lengths; dX is free until the corrector */
    double *Lz = s->L, *Lx = s->dX;
    memcpy(Lz, s->Z, (size_t)square * sizeof *Lz);
    memcpy(Lx, s->X, (size_t)square * sizeof *Lx);
    if (la_cholesky(N, Lx, N) != 0 || la_cholesky(N, Lz, N) != 0)
        return false;
    double ap = fmin(interior_cone_step(N, Lx, s->dXa, s->T1, s->eig),
                     interior_ray_step(part, s->w, s->dw_a));
    double ad = fmin(interior_cone_step(N, Lz, s->dZa, s->T1, s->eig),
                     interior_ray_step(part, s->lambda, s->dlambda_a));
    double sum = 0;
    for (int64_t i = 0; i < square; i++)
        sum += (s->X[i] + ap * s->dXa[i]) * (s->Z[i] + ad * s->dZa[i]);
    for (int64_t r = 0; r < rows; r++)
        if (!part->equal[r])
            sum += (s->w[r] + ap * s->dw_a[r]) * (s->lambda[r] + ad * s->dlambda_a[r]);
    double mu_a = sum / (double)(N + rows - part->equals), ratio = fmax(mu_a, 0) / s->mu;
    double sigma = fmin(1, fmax(ratio * ratio * ratio, 1e-6));

    direction(s, sigma * s->mu, true, s->dX, s->dZ, s->dlambda, s->dw);
    memcpy(s->T2, s->X, (size_t)square * sizeof *s->X);
    if (la_cholesky(N, s->T2, N) != 0)
        return false;
    ap = STEP_BACK * fmin(interior_cone_step(N, s->T2, s->dX, s->T1, s->eig),
                          interior_ray_step(part, s->w, s->dw));
    ad = STEP_BACK * fmin(interior_cone_step(N, Lz, s->dZ, s->T1, s->eig),
                          interior_ray_step(part, s->lambda, s->dlambda));
    la_axpy(ap, s->dX, s->X, square);
    la_axpy(ad, s->dZ, s->Z, square);
    la_axpy(ap, s->dw, s->w, rows);
    la_axpy(ad, s->dlambda, s->lambda, rows);
    measure(s);
    return ap > 1e-8 || ad > 1e-8;
}

/* The relative gap that the interior point itself proves, and W = 2 X_12 into W. */
static double prove_interior(const interior *s, double *W)
{
    const svm_small *part = s->part;
    interior_corner(part->p, part->q, s->X, W);
    svm_small_apply(part, W, part->q, s->rows1, s->sums);
    double scale = svm_small_scale(part, s->rows1, s->primal);
    double dual = s->dual - svm_small_missed(part, s->lambda, s->rows1, scale);
    return scale > 0 ? (scale * s->primal - dual) / (scale * s->primal) : INFINITY;
}

static void keep(svm_nuclear_point *point, const interior *s, const double *W, double gap)
{
    if (!(gap < (point->by_newton ? NEWTON_SHARE : 1) * point->gap))
        return;
    point->gap = gap;
    point->by_newton = false;
    memcpy(point->W, W, (size_t)(s->part->p * s->part->q) * sizeof *W);
    memcpy(point->lambda, s->lambda, (size_t)s->part->rows * sizeof(double));
}

/* min |W|_* over the part from a feasible W0 (p x q), to relative gap `enough` or the best. */
static attsvm_status interior_point(const svm_small *part, const double *W0, double enough,
                                    svm_nuclear_point *point, int64_t *iterations,
                                    attsvm_error *err)
{
    interior s = { 0 };
    double *W = NULL, try_at = NEWTON_FROM;
    point->gap = INFINITY;
    point->by_newton = false;
    attsvm_status status = create(&s, part, err);
    if (status == ATTSVM_OK)
        status = base_allocate(&W, (size_t)(part->p * part->q), sizeof *W, "W", err);
    if (status == ATTSVM_OK)
        status = start(&s, W0, err);
    bool going = true;
    for (int step = 0;
         status == ATTSVM_OK && going && step < NUCLEAR_STEPS && svm_small_step(part, iterations);
         step++) {
        going = step_once(&s);
        double gap = prove_interior(&s, W);
        keep(point, &s, W, gap);
        double relative = fabs(s.primal - s.dual) / s.primal;
        if (((relative < try_at && relative > enough) || !going) && !svm_small_stopped(part)) {
            try_at = relative * NEWTON_AGAIN;
            status = svm_nuclear_newton(part, s.lambda, s.w, W, s.primal, point, err);
        }
        going = going && point->gap > fmax(NEWTON_GOAL, enough) && relative > NUCLEAR_END &&
                !svm_small_stopped(part);
    }
    free(W);
    destroy(&s);
    return status;
}

/* ------------------------------------------------------------------------ the norm */

static attsvm_status size(double q, bool dual, const double *x, int64_t rows, int64_t columns,
                          double *out, attsvm_error *err)
{
    (void)q;
    return svm_norm_singular(!dual, x, rows, columns, out, err);
}

/*
 * After the first round: Newton from the solution of the smaller working set, whose violated rows
 * have joined with lambda = 0 and w < 0.  Most rounds end here.
 */
static attsvm_status go_on(svm_phase *phase, const svm_small *part, svm_nuclear_point *point,
                           bool *done, attsvm_error *err)
{
    const svm_set *set = phase->set;
    arena a = { 0 };
    double *W, *lambda, *w, *sums, primal = 0;
    for (int pass = 0; pass < 2; pass++) {
        W = take(&a, (size_t)(part->p * part->q + part->p * part->d));
        lambda = take(&a, (size_t)part->rows);
        w = take(&a, (size_t)part->rows);
        sums = take(&a, (size_t)(part->terms * part->p));
        if (pass == 0)
            TRY(base_arena_allocate(&a, "small problem", err));
    }
    svm_small_project(part, set->theta, W);
    svm_small_apply(part, W, part->q, w, sums);
    for (int64_t r = 0; r < part->rows; r++) {
        lambda[r] = set->lambda[part->slot[r]] * set->sigma[part->slot[r]];
        primal += part->b[r] * lambda[r]; /* primal and dual were equal at the last optimum */
        w[r] = part->equal[r] ? 0 : w[r] - part->b[r];
    }
    point->gap = INFINITY;
    attsvm_status status = svm_nuclear_newton(part, lambda, w, W, primal, point, err);
    *done = status == ATTSVM_OK && point->gap <= CONTINUED;
    phase->iterations += *done;
    free(a.base);
    return status;
}

static attsvm_status core(svm_phase *phase, const svm_small *part, const double *W0, double *W,
                          double *lambda, attsvm_error *err)
{
    const double rough = 2e-3; /* gap of a round that only searches for rows */
    svm_nuclear_point point = { .W = W, .lambda = lambda };
    bool done = false;
    if (phase->solved)
        TRY(go_on(phase, part, &point, &done, err));
    if (done)
        return ATTSVM_OK;
    return interior_point(part, W0, phase->precision == SVM_ROUGH ? rough : 0, &point,
                          &phase->iterations, err);
}

const svm_norm svm_norm_nuclear = { .singular = true,
                                    .rough = true,
                                    .negligible = 1e-14,
                                    .tol = 1e-9,
                                    .limited = &svm_norm_nuclear_limited,
                                    .size = size,
                                    .row_size = svm_norm_euclidean_row,
                                    .solve = svm_small_solve,
                                    .core = core };
