/*
 * Spectral norm over stored rows: a primal-dual interior point method on
 *
 *   min t   Z = [t I, W; W', t I] >= 0,  w = A W - b >= 0,  A_e W = e          (y = (t, W))
 *   max b'lambda + e'mu   X >= 0,  tr X = 1,  2 X_12 + sum lambda A + sum mu A = 0
 *
 * the last saying that |sum lambda A|_* <= 1.  Z and w are computed from y, so the primal is
 * feasible throughout.  HKM direction with Mehrotra's corrector, as for the nuclear norm, but the
 * unknown is y: with K_WW = (tr(B_ij X B_kl Z^-1)) + A' diag(lambda/w) A, B_ij = [0 e_i e_j'; . 0],
 *
 *   [ tr(Z^-1 X)  2 sym(Z^-1 X)_12' ] [ dt ]   [ sigma mu tr Z^-1 - tr E - 1                ]
 *   [     .             K_WW        ] [ dW ] = [ 2 (sigma mu Z^-1 - E)_12 + A'(sigma mu - c)/w ]
 *
 * of order p q + 1.  Steps stay on the equalities: with P the projector onto the null space of A_e,
 * and Q'Q = I - P, the matrix is P K P + kappa Q'Q.  Multipliers mu are fitted to the last equation
 * of the dual when a bound is computed.
 */
#include "svm/norm/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPECTRAL_STEPS = 150, SPECTRAL_IDLE = 8, SPECTRAL_REFINE = 4 };
static const double SPECTRAL_BACK = 0.75;   /* of the step to the boundary                 */
static const double SPECTRAL_PUSH = 1.1;    /* scale of the point that starts              */
static const double SPECTRAL_ABOVE = 1.3;   /* t over the norm of W at the start           */
static const double SPECTRAL_LEAST = 1e-4;  /* slack at the start, scaled rows             */
static const double SPECTRAL_INSIDE = 0.05; /* ... and at most this share of the largest b */
static const double SPECTRAL_CLOSE = 1e-8;  /* mu below which idle steps count             */

typedef struct spectral {
    const svm_small *part;
    svm_small unit;   /* rows e_i e_j', one for each entry of W            */
    svm_small scaled; /* right-hand sides of the scaled problem            */
    double scale;     /* |W0|_2: the unit of W                             */
    int64_t p, q, N, rows, size;
    double t, mu, best;
    double *A;              /* rows x size: A_r / |A_r| as a vector */
    double *W, *w, *lambda; /* size; rows; rows (multipliers of equalities too)   */
    double *X, *Z, *Zinv, *dX, *dZ, *dXa, *dZa, *Lx, *Lz, *T1, *T2, *eig; /* N x N      */
    double *K;                  /* (size+1)^2                                         */
    double *Q, *QK, *gram, *nu; /* equals x (size+1) twice; equals^2; equals          */
    double *dy, *dw, *dlambda, *dw_a, *dlambda_a, *S, *weighted, *ones;
    double *diagonal, *rhs, *rest, *fix; /* K's diagonal; right sides, residuals */
    double *best_W, *best_lambda;
    uint8_t *active; /* (rows) rows of the Newton steps */
    interior_schur schur;
    void *memory;
} spectral;

static void layout(spectral *s, arena *a)
{
    size_t m = (size_t)s->rows, size = (size_t)s->size, N = (size_t)s->N, p = (size_t)s->p;
    size_t q = (size_t)s->q, equals = (size_t)s->part->equals;
    s->A = take(a, m * size);
    s->weighted = take(a, m * size);
    double **squares[] = { &s->X,   &s->Z,  &s->Zinv, &s->dX, &s->dZ, &s->dXa,
                           &s->dZa, &s->Lx, &s->Lz,   &s->T1, &s->T2 };
    for (size_t k = 0; k < sizeof squares / sizeof *squares; k++)
        *squares[k] = take(a, N * N);
    double **by_row[] = { &s->w,    &s->lambda,    &s->dw,          &s->dlambda,
                          &s->dw_a, &s->dlambda_a, &s->best_lambda, &s->ones };
    for (size_t k = 0; k < sizeof by_row / sizeof *by_row; k++)
        *by_row[k] = take(a, m);
    s->W = take(a, size);
    s->best_W = take(a, size);
    s->S = take(a, size);
    s->dy = take(a, size + 1);
    s->diagonal = take(a, size + 1);
    s->rhs = take(a, size + 1);
    s->rest = take(a, size + 1);
    s->fix = take(a, size + 1);
    s->eig = take(a, (size_t)la_eigenvalues_room(s->N));
    s->K = take(a, (size + 1) * (size + 1));
    s->Q = take(a, equals * (size + 1));
    s->QK = take(a, equals * (size + 1));
    s->gram = take(a, equals * equals);
    s->nu = take(a, equals);
    s->active = base_take(a, m, 1);
    s->scaled.b = take(a, m);
    s->unit.u = take(a, size * p);
    s->unit.v = take(a, q * q);
    s->unit.b = take(a, 1);
    s->unit.term = take_int64(a, size);
    interior_schur_layout(&s->schur, a, s->size, s->q, s->p, s->q);
}

static double complementarity(const spectral *s)
{
    double sum = la_dot(s->X, s->Z, s->N * s->N);
    for (int64_t r = 0; r < s->rows; r++)
        if (!s->part->equal[r])
            sum += s->w[r] * s->lambda[r];
    return sum / (double)(s->N + s->rows - s->part->equals);
}

/* Unit rows are sorted by j: entry (i, j) of W is row j p + i of the unit part. */
static void prepare_units(spectral *s)
{
    int64_t p = s->p, q = s->q;
    double *u = s->unit.u, *v = s->unit.v, *b = s->unit.b;
    int64_t *term = s->unit.term;
    s->unit = (svm_small){
        .rows = s->size, .terms = q, .p = p, .q = q, .u = u, .v = v, .b = b, .term = term
    };
    for (int64_t j = 0; j < q; j++) {
        v[j * q + j] = 1;
        for (int64_t i = 0; i < p; i++) {
            u[(j * p + i) * p + i] = 1;
            term[j * p + i] = j;
        }
    }
}

/* Rows of norm 1 and W in units of |W0|_2; largest singular value by eigenvalues of [0 W; W' 0]. */
static void scale_problem(spectral *s, const double *W0)
{
    const svm_small *part = s->part;
    interior_lift(s->p, s->q, 0, 1, W0, s->T1);
    bool found = la_eigenvalues_in(s->N, s->T1, s->N, NULL, s->N, s->eig) == 0;
    s->scale = found && s->eig[s->N - 1] > 0 ? s->eig[s->N - 1] : 1;
    s->scaled =
        (svm_small){ .rows = s->rows, .b = s->scaled.b, .length = s->ones, .equal = part->equal };
    for (int64_t r = 0; r < s->rows; r++) {
        svm_small_unit_row(part, r, s->A + r * s->size);
        s->scaled.b[r] = part->b[r] / part->length[r] / s->scale;
        s->ones[r] = 1;
    }
}

/* Q: orthonormal rows (t last, W in the order of the unit rows), and the factor of A_e A_e'. */
static bool prepare_equalities(spectral *s)
{
    int64_t size = s->size, order = size + 1, p = s->p, q = s->q, equals = s->part->equals;
    for (int64_t e = 0; e < equals; e++) {
        const double *A = s->A + s->part->equality[e] * size;
        for (int64_t i = 0; i < p; i++)
            for (int64_t j = 0; j < q; j++)
                s->Q[e * order + j * p + i] = A[i * q + j];
    }
    la_syrk(false, equals, order, 1, s->Q, order, 0, s->gram, equals);
    if (equals > 0 && !interior_cholesky_shifted(equals, s->gram, s->nu))
        return false;
    interior_orthonormal(equals, order, s->Q);
    return true;
}

static attsvm_status prepare(spectral *s, const double *W0, attsvm_error *err)
{
    const svm_small *part = s->part;
    arena a = { 0 };
    layout(s, &a);
    TRY(base_arena_allocate(&a, "spectral norm workspace", err));
    s->memory = a.base;
    layout(s, &a);
    prepare_units(s);
    scale_problem(s, W0);
    if (!prepare_equalities(s))
        return fail(err, ATTSVM_E_NUMERIC, "spectral norm: the equalities depend on each other");
    /* inside: W pushed out where scaling keeps the equalities, t above its norm, X = I/N, and
       w lambda = t/N, the product of X and Z */
    bool homogeneous = true;
    double largest = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        homogeneous = homogeneous && !(part->equal[r] && part->b[r] != 0);
        largest = fmax(largest, s->scaled.b[r]);
    }
    double least = fmin(SPECTRAL_LEAST, largest > 0 ? SPECTRAL_INSIDE * largest : INFINITY);
    for (int64_t k = 0; k < s->size; k++)
        s->W[k] = (homogeneous ? SPECTRAL_PUSH : 1) * W0[k] / s->scale;
    s->t = SPECTRAL_ABOVE * SPECTRAL_PUSH;
    interior_lift(s->p, s->q, s->t, 1, s->W, s->Z);
    la_gemv(false, s->rows, s->size, 1, s->A, s->size, s->W, 0, s->w);
    for (int64_t i = 0; i < s->N; i++)
        s->X[i * s->N + i] = 1 / (double)s->N;
    for (int64_t r = 0; r < s->rows; r++) {
        s->w[r] = part->equal[r] ? 0 : fmax(s->w[r] - s->scaled.b[r], least);
        s->lambda[r] = part->equal[r] ? 0 : s->t / (double)s->N / s->w[r];
    }
    s->mu = complementarity(s);
    s->best = INFINITY;
    return ATTSVM_OK;
}

/* Cholesky factor of Z in Lz.  If rounding leaves t too small, t is increased. */
static bool factor_lift(spectral *s)
{
    int64_t N = s->N;
    for (double raise = 1e-16; raise < 1e-6; raise *= 4) {
        memcpy(s->Lz, s->Z, (size_t)(N * N) * sizeof *s->Lz);
        if (la_cholesky(N, s->Lz, N) == 0)
            return true;
        s->t *= 1 + raise;
        interior_lift(s->p, s->q, s->t, 1, s->W, s->Z);
    }
    return false;
}

/* K factored: order size + 1, t last, W in the order of the unit rows (column by column). */
static bool factor(spectral *s)
{
    int64_t N = s->N, size = s->size, order = size + 1, p = s->p, q = s->q;
    size_t bytes = (size_t)(N * N) * sizeof(double);
    memcpy(s->Lx, s->X, bytes);
    if (la_cholesky(N, s->Lx, N) != 0 || !factor_lift(s))
        return false;
    memcpy(s->Zinv, s->Lz, bytes);
    if (la_cholesky_invert(N, s->Zinv, N) != 0)
        return false;
    interior_schur_form(&s->schur, &s->unit, s->X, s->Zinv, s->K, order);
    int64_t used = 0;
    for (int64_t r = 0; r < s->rows; r++)
        if (!s->part->equal[r]) {
            double weight = sqrt(s->lambda[r] / s->w[r]);
            for (int64_t i = 0; i < p; i++)
                for (int64_t j = 0; j < q; j++)
                    s->weighted[used * size + j * p + i] = weight * s->A[r * size + i * q + j];
            used++;
        }
    la_syrk(true, size, used, 1, s->weighted, size, 1, s->K, order);
    la_gemm(false, false, N, N, N, 1, s->Zinv, N, s->X, N, 0, s->T1, N);
    interior_symmetrise(N, s->T1);
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < q; j++)
            s->K[size * order + j * p + i] = 2 * s->T1[i * N + p + j];
    s->K[size * order + size] = interior_trace(N, s->T1);
    interior_project_matrix(order, s->K, s->part->equals, s->Q, s->QK, s->nu);
    return interior_cholesky_shifted(order, s->K, s->diagonal);
}

/* rest -= K x; K is above the diagonal of its factor. */
static void take_residual(spectral *s, const double *x)
{
    int64_t order = s->size + 1;
    for (int64_t i = 0; i < order; i++) {
        const double *row = s->K + i * order + i + 1;
        s->rest[i] -= s->diagonal[i] * x[i] + la_dot(row, x + i + 1, order - i - 1);
        la_axpy(-x[i], row, s->rest + i + 1, order - i - 1);
    }
}

/* dy from the right side in it, with refinement: K is ill-conditioned near the end. */
static void solve_refined(spectral *s)
{
    int64_t order = s->size + 1;
    size_t bytes = (size_t)order * sizeof(double);
    interior_project_vector(order, s->dy, s->part->equals, s->Q);
    memcpy(s->rhs, s->dy, bytes);
    la_cholesky_solve(order, s->K, order, s->dy);
    double last = INFINITY;
    for (int round = 0; round <= SPECTRAL_REFINE; round++) {
        memcpy(s->rest, s->rhs, bytes);
        take_residual(s, s->dy);
        double size = la_norm(s->rest, order);
        if (!(size < last)) { /* the correction made it worse: the factor is inaccurate */
            la_axpy(-1, s->fix, s->dy, order);
            break;
        }
        if (round == SPECTRAL_REFINE)
            break;
        last = size;
        la_cholesky_solve(order, s->K, order, s->rest);
        memcpy(s->fix, s->rest, bytes);
        la_axpy(1, s->fix, s->dy, order);
    }
    interior_project_vector(order, s->dy, s->part->equals, s->Q);
}

/* Solves for one direction, as for the nuclear norm; returns dt, and leaves dW in s->S. */
static double direction(spectral *s, double target, bool corrector, double *dX, double *dZ,
                        double *dw, double *dlambda)
{
    int64_t N = s->N, size = s->size, p = s->p, q = s->q;
    const svm_small *part = s->part;
    double *base = s->T2; /* target Z^-1 - E */
    interior_target(N, target, s->Zinv, corrector ? s->dZa : NULL, s->dXa, s->T1, base);
    interior_corner(p, q, base, s->S);
    for (int64_t r = 0; r < s->rows; r++) {
        double second = corrector ? s->dw_a[r] * s->dlambda_a[r] : 0;
        dlambda[r] = part->equal[r] ? 0 : (target - second) / s->w[r];
    }
    la_gemv(true, s->rows, size, 1, s->A, size, dlambda, 1, s->S);
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < q; j++)
            s->dy[j * p + i] = s->S[i * q + j];
    s->dy[size] = interior_trace(N, base) - 1;
    solve_refined(s);
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < q; j++)
            s->S[i * q + j] = s->dy[j * p + i];
    double dt = s->dy[size];
    interior_lift(s->p, s->q, dt, 1, s->S, dZ);
    la_gemv(false, s->rows, size, 1, s->A, size, s->S, 0, dw);
    for (int64_t r = 0; r < s->rows; r++)
        dlambda[r] =
            part->equal[r] ? 0 : dlambda[r] - s->lambda[r] - s->lambda[r] / s->w[r] * dw[r];
    interior_direction(N, base, s->Zinv, dZ, s->X, s->T1, dX);
    return dt;
}

static bool step_once(spectral *s, attsvm_status *status, attsvm_error *err)
{
    int64_t N = s->N, square = N * N;
    if (!factor(s))
        return false;
    direction(s, 0, false, s->dXa, s->dZa, s->dw_a, s->dlambda_a);
    double ay = fmin(interior_cone_step(N, s->Lz, s->dZa, s->T1, s->eig),
                     interior_ray_step(s->part, s->w, s->dw_a));
    double ax = fmin(interior_cone_step(N, s->Lx, s->dXa, s->T1, s->eig),
                     interior_ray_step(s->part, s->lambda, s->dlambda_a));
    double sum = 0;
    for (int64_t k = 0; k < square; k++)
        sum += (s->X[k] + ax * s->dXa[k]) * (s->Z[k] + ay * s->dZa[k]);
    for (int64_t r = 0; r < s->rows; r++)
        if (!s->part->equal[r])
            sum += (s->w[r] + ay * s->dw_a[r]) * (s->lambda[r] + ax * s->dlambda_a[r]);
    double ratio = fmax(sum, 0) / (double)(N + s->rows - s->part->equals) / s->mu;
    double sigma = fmin(1, fmax(ratio * ratio * ratio, 1e-6));
    double dt = direction(s, sigma * s->mu, true, s->dX, s->dZ, s->dw, s->dlambda);
    ay = SPECTRAL_BACK * fmin(interior_cone_step(N, s->Lz, s->dZ, s->T1, s->eig),
                              interior_ray_step(s->part, s->w, s->dw));
    ax = SPECTRAL_BACK * fmin(interior_cone_step(N, s->Lx, s->dX, s->T1, s->eig),
                              interior_ray_step(s->part, s->lambda, s->dlambda));
    s->t += ay * dt;
    la_axpy(ay, s->S, s->W, s->size); /* dW */
    *status = svm_small_meet_equalities(s->part, s->scale, s->W, err);
    interior_lift(s->p, s->q, s->t, 1, s->W, s->Z);
    la_gemv(false, s->rows, s->size, 1, s->A, s->size, s->W, 0, s->dw_a);
    for (int64_t r = 0; r < s->rows; r++)
        if (!s->part->equal[r])
            s->w[r] = fmax(s->dw_a[r] - s->scaled.b[r], s->w[r] * (1 - SPECTRAL_BACK));
    la_axpy(ax, s->dX, s->X, square);
    la_axpy(ax, s->dlambda, s->lambda, s->rows);
    s->mu = complementarity(s);
    return ax > 1e-8 || ay > 1e-8;
}

/* Multipliers of the equalities: A_e A_e' mu = A_e (-2 X_12 - sum_I lambda A). */
static void fit_equalities(spectral *s)
{
    const int64_t size = s->size, equals = s->part->equals, *equality = s->part->equality;
    if (equals == 0)
        return;
    for (int64_t e = 0; e < equals; e++)
        s->lambda[equality[e]] = 0;
    interior_corner(s->p, s->q, s->X, s->S);
    la_gemv(true, s->rows, size, -1, s->A, size, s->lambda, -1, s->S);
    for (int64_t e = 0; e < equals; e++)
        s->nu[e] = la_dot(s->A + equality[e] * size, s->S, size);
    la_cholesky_solve(equals, s->gram, equals, s->nu);
    for (int64_t e = 0; e < equals; e++)
        s->lambda[equality[e]] = s->nu[e];
}

/* The relative gap that W and lambda prove after scaling; keeps the best. */
static attsvm_status certify(spectral *s, double *gap, attsvm_error *err)
{
    int64_t p = s->p, q = s->q, n = p < q ? p : q;
    double *U = s->T1, *Vt = s->T2, *sigma = s->eig, primal, dual = 0, ball = 0;
    *gap = INFINITY;
    la_gemv(true, s->rows, s->size, 1, s->A, s->size, s->lambda, 0, s->S);
    TRY(la_svd(p, q, s->S, q, sigma, U, n, Vt, q, err));
    for (int64_t k = 0; k < n; k++)
        ball += sigma[k];
    memcpy(s->S, s->W, (size_t)s->size * sizeof *s->S);
    TRY(la_svd(p, q, s->S, q, sigma, U, n, Vt, q, err));
    primal = sigma[0];
    la_gemv(false, s->rows, s->size, 1, s->A, s->size, s->W, 0, s->dw);
    double scale = svm_small_scale(&s->scaled, s->dw, primal);
    for (int64_t r = 0; r < s->rows; r++)
        dual += s->scaled.b[r] * s->lambda[r];
    if (scale > 0 && ball > 0)
        *gap = (scale * primal - dual / ball) / (scale * primal);
    if (*gap < s->best) {
        s->best = *gap;
        for (int64_t k = 0; k < s->size; k++)
            s->best_W[k] = s->W[k] * s->scale;
        for (int64_t r = 0; r < s->rows; r++)
            s->best_lambda[r] = s->lambda[r] / ball / s->part->length[r];
    }
    return ATTSVM_OK;
}

/* Newton steps at every rank that the singular values of W suggest, while the gap decreases. */
static attsvm_status refine(spectral *s, attsvm_error *err)
{
    int64_t n = s->p < s->q ? s->p : s->q, last = 0;
    double *lambda = s->dlambda, *W = s->fix, *sigma = s->dy;
    memcpy(lambda, s->lambda, (size_t)s->rows * sizeof *lambda);
    memcpy(W, s->W, (size_t)s->size * sizeof *W);
    memcpy(s->S, s->W, (size_t)s->size * sizeof *s->S);
    TRY(la_svd(s->p, s->q, s->S, s->q, sigma, s->T1, n, s->T2, s->q, err));
    for (int64_t r = 0; r < s->rows; r++)
        s->active[r] = s->part->equal[r] || s->lambda[r] > s->w[r];
    for (double apart = 1e-8; apart < 0.1 && !svm_small_stopped(s->part); apart *= 10) {
        int64_t rank = 0;
        while (rank < n && sigma[rank] > (1 - apart) * sigma[0])
            rank++;
        if (rank == last)
            continue;
        last = rank;
        memcpy(s->lambda, lambda, (size_t)s->rows * sizeof *lambda);
        memcpy(s->W, W, (size_t)s->size * sizeof *W);
        double gap = INFINITY, before;
        do {
            before = gap;
            TRY(svm_spectral_newton(s->part, s->A, s->scaled.b, s->active, rank, s->W, s->lambda,
                                    err));
            TRY(svm_small_meet_equalities(s->part, s->scale, s->W, err));
            TRY(certify(s, &gap, err));
        } while (gap > 0 && gap < 0.5 * before && !svm_small_stopped(s->part));
    }
    return ATTSVM_OK;
}

/* Solves from a feasible W0, to relative gap phase->goal or as far as rounding allows. */
static attsvm_status core(svm_phase *phase, const svm_small *part, const double *W0, double *W,
                          double *lambda, attsvm_error *err)
{
    spectral s = { .part = part,
                   .p = part->p,
                   .q = part->q,
                   .N = part->p + part->q,
                   .rows = part->rows,
                   .size = part->p * part->q };
    attsvm_status status = prepare(&s, W0, err);
    int64_t k = 0, idle = 0;
    for (bool going = status == ATTSVM_OK; going && svm_small_step(part, &phase->iterations); k++) {
        double before = s.best, now;
        going = step_once(&s, &status, err);
        fit_equalities(&s);
        if (status == ATTSVM_OK)
            status = certify(&s, &now, err);
        idle = s.best < 0.7 * before || s.mu > SPECTRAL_CLOSE ? 0 : idle + 1;
        going = going && status == ATTSVM_OK && s.best > phase->goal && idle < SPECTRAL_IDLE &&
                k + 1 < SPECTRAL_STEPS && !svm_small_stopped(part);
    }
    if (status == ATTSVM_OK && s.best > phase->goal)
        status = refine(&s, err);
    if (status == ATTSVM_OK && isfinite(s.best)) {
        memcpy(W, s.best_W, (size_t)s.size * sizeof *W);
        memcpy(lambda, s.best_lambda, (size_t)s.rows * sizeof *lambda);
    }
    free(s.memory);
    return status;
}

/* ------------------------------------------------------------------------ the norm */

static attsvm_status size(double q, bool dual, const double *x, int64_t rows, int64_t columns,
                          double *out, attsvm_error *err)
{
    (void)q;
    return svm_norm_singular(dual, x, rows, columns, out, err);
}

const svm_norm svm_norm_spectral = { .singular = true,
                                     .negligible = 1e-11,
                                     .tol = 1e-9,
                                     .size = size,
                                     .row_size = svm_norm_euclidean_row,
                                     .solve = svm_small_solve,
                                     .core = core };
