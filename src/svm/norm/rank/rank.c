/*
 * Rank limit, W = L R with R (rho x q): a local solver, in the Frobenius and the nuclear norm.
 *
 * The convex solution gives the lower bound.  If its rank is within the limit, it is the solution;
 * otherwise a sequence of least-norm problems starts from its truncation:
 *
 *   Frobenius   min |W'|_F over the tangent space {P M + L R} of the matrices of rank rho at
 *               W = P S R, <A_r, W'> >= b_r
 *   nuclear     min (|K|^2 + |Q|^2)/2, which is |K Q'|_* for balanced factors, with the rows
 *               linearised at K = P S^1/2, Q' = S^1/2 R
 *
 * W is stationary if its tangent problem has no better solution than W itself, and the rows that
 * are active there are tight at W: with long rows the gain is small long before that.  The merit of
 * a step is |W| / smallest margin, which does not depend on the scale; a truncated SVD restores
 * rank rho.
 */
#include "svm/norm/rank/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_STEPS = 1000, RANK_STARTS = 6, RANK_HALVINGS = 30, RANK_POLISH = 30 };
static const double STATIONARY = 1e-13; /* relative gain of the tangent problem at the end    */
static const double TIGHT = 0.5e-7;     /* of its active rows at W itself                     */
static const double APART = 1e-5;       /* of |a|: from other active rows; else undecided     */
static const double NOTICED = 1e-8;     /* of |x|: what the multiplier of an active row adds  */
static const double SHAKE = 0.3;        /* size of the random part of later starts            */

typedef struct limited {
    const svm_small *part;
    bool nuclear;
    int64_t rho, n;           /* n = min(p, q)                                               */
    svm_small tangent;        /* rows of the tangent problem, as vectors (p rho + rho q)     */
    double *W, *trial, *best; /* p x q                                                       */
    double *U, *Vt, *sigma, *copy, *left, *right; /* factors: p x rho, rho x q                */
    double *x, *start, *margin, *sums;
    dense_qp least;
    void *memory;
} limited;

static void layout(limited *s, arena *a)
{
    const svm_small *part = s->part;
    size_t m = (size_t)part->rows, p = (size_t)part->p, q = (size_t)part->q;
    size_t rho = (size_t)s->rho, n = (size_t)s->n, size = rho * (p + q);
    s->tangent.u = take(a, m * size);
    s->tangent.v = take(a, 1);
    s->tangent.b = take(a, m);
    s->tangent.term = take_int64(a, m);
    s->tangent.equal = base_take(a, m, 1);
    double **matrices[] = { &s->W, &s->trial, &s->best, &s->copy };
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++)
        *matrices[k] = take(a, p * q);
    s->U = take(a, p * n);
    s->Vt = take(a, n * q);
    s->sigma = take(a, n);
    s->left = take(a, p * rho);
    s->right = take(a, rho * q);
    s->x = take(a, size);
    s->start = take(a, size);
    s->margin = take(a, m);
    s->sums = take(a, (size_t)part->terms * p);
    dense_qp_layout(&s->least, a, part->rows, (int64_t)size);
}

/* |W| over the smallest margin; INFINITY if a margin is not positive. */
static attsvm_status measure(limited *s, const double *W, double *out, attsvm_error *err)
{
    const svm_small *part = s->part;
    double least = INFINITY, norm = 0;
    svm_small_apply(part, W, part->q, s->margin, s->sums);
    for (int64_t r = 0; r < part->rows; r++)
        least = fmin(least, s->margin[r] / part->b[r]);
    memcpy(s->copy, W, (size_t)(part->p * part->q) * sizeof *W);
    TRY(la_svd(part->p, part->q, s->copy, part->q, s->sigma, s->U, s->n, s->Vt, part->q, err));
    for (int64_t k = 0; k < s->n; k++)
        norm = s->nuclear ? norm + s->sigma[k] : base_hypot(norm, s->sigma[k]);
    *out = least > 0 ? norm / least : INFINITY;
    return ATTSVM_OK;
}

/* W <- its best approximation of rank rho, scaled to smallest margin 1 if that is positive. */
static attsvm_status truncate_rank(limited *s, double *W, attsvm_error *err)
{
    int64_t p = s->part->p, q = s->part->q;
    memcpy(s->copy, W, (size_t)(p * q) * sizeof *W);
    TRY(la_svd(p, q, s->copy, q, s->sigma, s->U, s->n, s->Vt, q, err));
    memset(W, 0, (size_t)(p * q) * sizeof *W);
    for (int64_t k = 0; k < s->rho; k++)
        for (int64_t i = 0; i < p; i++)
            la_axpy(s->sigma[k] * s->U[i * s->n + k], s->Vt + k * q, W + i * q, q);
    double least = INFINITY;
    svm_small_apply(s->part, W, q, s->margin, s->sums);
    for (int64_t r = 0; r < s->part->rows; r++)
        least = fmin(least, s->margin[r] / s->part->b[r]);
    for (int64_t k = 0; k < p * q && least > 0; k++)
        W[k] /= least;
    return ATTSVM_OK;
}

/*
 * The tangent problem at W: x = (left, right) with
 *
 *   Frobenius   <A, P right + left R> = <right, P'u v'> + <left, (I - PP')u (R v)'>   >= b
 *   nuclear     <left, u (Q'v)'> + <right, (K'u) v'>                                 >= b + <A, W>
 */
static attsvm_status tangent_rows(limited *s, attsvm_error *err)
{
    const svm_small *part = s->part;
    int64_t p = part->p, q = part->q, rho = s->rho, size = rho * (p + q);
    memcpy(s->copy, s->W, (size_t)(p * q) * sizeof *s->W);
    TRY(la_svd(p, q, s->copy, q, s->sigma, s->U, s->n, s->Vt, q, err));
    for (int64_t k = 0; k < rho; k++) {
        double half = s->nuclear ? sqrt(s->sigma[k]) : 1;
        for (int64_t i = 0; i < p; i++)
            s->left[i * rho + k] = half * s->U[i * s->n + k];
        for (int64_t j = 0; j < q; j++)
            s->right[k * q + j] = half * s->Vt[k * q + j];
    }
    svm_small_apply(part, s->W, q, s->margin, s->sums);
    s->tangent = (svm_small){ .rows = part->rows,
                              .terms = 1,
                              .p = size,
                              .q = 1,
                              .u = s->tangent.u,
                              .v = s->tangent.v,
                              .b = s->tangent.b,
                              .term = s->tangent.term,
                              .equal = s->tangent.equal,
                              .stop = part->stop,
                              .most = part->most,
                              .spent = part->spent };
    s->tangent.v[0] = 1;
    for (int64_t r = 0; r < part->rows; r++) {
        const double *u = part->u + r * p, *v = part->v + part->term[r] * q;
        double *row_left = s->tangent.u + r * size, *row_right = row_left + p * rho;
        for (int64_t k = 0; k < rho; k++) {
            double pu = 0, rv = la_dot(s->right + k * q, v, q);
            for (int64_t i = 0; i < p; i++)
                pu += s->left[i * rho + k] * u[i];
            for (int64_t j = 0; j < q; j++)
                row_right[k * q + j] = pu * v[j];
            for (int64_t i = 0; i < p; i++)
                row_left[i * rho + k] = u[i] * rv;
        }
        if (!s->nuclear) /* off the left space: (I - PP') u */
            for (int64_t k = 0; k < rho; k++)
                for (int64_t l = 0; l < rho; l++) {
                    double along = 0;
                    for (int64_t i = 0; i < p; i++)
                        along += s->left[i * rho + l] * row_left[i * rho + k];
                    for (int64_t i = 0; i < p; i++)
                        row_left[i * rho + k] -= along * s->left[i * rho + l];
                }
        s->tangent.b[r] = part->b[r] + (s->nuclear ? s->margin[r] : 0);
    }
    /* the start is W itself */
    memset(s->start, 0, (size_t)size * sizeof *s->start);
    for (int64_t k = 0; k < rho; k++)
        for (int64_t j = 0; j < q; j++)
            s->start[p * rho + k * q + j] =
                s->nuclear ? s->right[k * q + j] : s->sigma[k] * s->Vt[k * q + j];
    if (s->nuclear)
        memcpy(s->start, s->left, (size_t)(p * rho) * sizeof *s->left);
    return ATTSVM_OK;
}

/* trial = W + step (W' - W) for Frobenius, the product of the moved factors for nuclear. */
static void move(limited *s, double step)
{
    int64_t p = s->part->p, q = s->part->q, rho = s->rho, size = rho * (p + q);
    const double *left = s->x, *right = s->x + p * rho;
    if (s->nuclear) {
        for (int64_t k = 0; k < size; k++)
            s->x[k] = s->start[k] + step * (s->x[k] - s->start[k]);
        la_gemm(false, false, p, q, rho, 1, left, rho, right, q, 0, s->trial, q);
        for (int64_t k = 0; k < size; k++)
            s->x[k] = s->start[k] + (s->x[k] - s->start[k]) / step;
        return;
    }
    memcpy(s->trial, s->W, (size_t)(p * q) * sizeof *s->W);
    la_gemm(false, false, p, q, rho, step, s->left, rho, right, q, 1 - step, s->trial, q);
    la_gemm(false, false, p, q, rho, step, left, rho, s->right, q, 1, s->trial, q);
}

/* Whether the multiplier of active row k adds much to the solution of the tangent problem. */
static bool is_noticed(const limited *s, int64_t k)
{
    double size = la_norm(s->x, s->rho * (s->part->p + s->part->q));
    return s->least.lambda[k] * s->least.norm[s->least.active[k]] > NOTICED * size;
}

/*
 * Solves the tangent problem at W: *gain is by how much its solution x is shorter, relative;
 * *settled: W is stationary.  False if the core was stopped, or the rows contradict each other.
 */
static attsvm_status look(limited *s, int64_t *iterations, bool *solved, double *gain,
                          bool *settled, attsvm_error *err)
{
    const svm_small *part = s->part;
    int64_t size = s->rho * (part->p + part->q);
    *settled = *solved = false;
    if (dist_stop_poll(part->stop, 2.0 * (double)(part->rows * s->rho) * (double)size))
        return ATTSVM_OK;
    TRY(tangent_rows(s, err));
    *solved = dense_qp_solve(&s->least, &s->tangent, s->x, iterations);
    if (!*solved)
        return ATTSVM_OK;
    double before = la_norm(s->start, size), after = la_norm(s->x, size), moved = 0;
    for (int64_t k = 0; k < size; k++) /* at most the gain, unless rounding violates rows */
        moved += (s->x[k] - s->start[k]) * (s->x[k] - s->start[k]);
    /* half the squared length is |W|_* for the nuclear factors, |W|_F^2 / 2 otherwise */
    *gain = (before * before - after * after) / (before * before);
    *settled = fmax(*gain, moved / (before * before)) <= STATIONARY;
    for (int64_t k = 0; k < s->least.count && *settled; k++) {
        int64_t r = s->least.active[k];
        bool noticed = is_noticed(s, k);
        bool apart = s->least.L[k * (s->least.most + 1)] > APART * s->least.norm[r];
        *settled = !noticed || (apart && s->margin[r] <= s->part->b[r] * (1 + TIGHT));
    }
    return ATTSVM_OK;
}

/* trial = the best step towards the solution of the tangent problem; *now: its merit. */
static attsvm_status search_line(limited *s, double value, double gain, double *now,
                                 attsvm_error *err)
{
    double step = 1;
    for (int64_t h = 0; h < RANK_HALVINGS; h++, step *= 0.5) {
        move(s, step);
        TRY(truncate_rank(s, s->trial, err));
        TRY(measure(s, s->trial, now, err));
        if (*now < value * (1 - 1e-6 * step * fmin(gain, 1)) || !isfinite(value))
            break;
        if (gain <= STATIONARY) /* merits no longer differ: full steps make the rows tight */
            break;
    }
    return ATTSVM_OK;
}

/* Descends from W; *value: |W| / smallest margin at the end, *stationary: whether it is stationary.
 */
static attsvm_status descend(limited *s, double *value, bool *stationary, int64_t *iterations,
                             attsvm_error *err)
{
    int64_t polished = 0;
    *stationary = false;
    s->least.count = 0;
    TRY(truncate_rank(s, s->W, err));
    TRY(measure(s, s->W, value, err));
    for (int64_t k = 0; k < RANK_STEPS && polished < RANK_POLISH; k++) {
        bool solved, settled;
        double gain, now = INFINITY;
        TRY(look(s, iterations, &solved, &gain, &settled, err));
        *stationary = solved && settled && isfinite(*value);
        if (!solved || *stationary)
            return ATTSVM_OK;
        TRY(search_line(s, *value, gain, &now, err));
        polished += gain <= STATIONARY;
        double most = gain <= STATIONARY ? *value * (1 + 1e-9) : *value;
        if (isfinite(*value) && !(now < most))
            return ATTSVM_OK; /* no step helps although the tangent problem predicts a gain */
        memcpy(s->W, s->trial, (size_t)(s->part->p * s->part->q) * sizeof *s->W);
        *value = now;
    }
    return ATTSVM_OK;
}

/*
 * Starts from a point of rank rho that was stationary over fewer rows, if that succeeds; otherwise
 * the best of several starts: the truncated convex solution, then the same with noise.
 */
static attsvm_status search(limited *s, const double *W0, const double *from, uint64_t seed,
                            bool *stationary, int64_t *iterations, attsvm_error *err)
{
    int64_t count = s->part->p * s->part->q;
    double best = INFINITY, size = la_norm(W0, count) / sqrt((double)count);
    *stationary = false;
    for (int64_t k = from ? -1 : 0; k < RANK_STARTS && !svm_small_stopped(s->part); k++) {
        base_random r = base_random_stream(seed, (uint64_t)k);
        double value;
        bool here;
        for (int64_t j = 0; j < count; j++)
            s->W[j] = k < 0    ? from[j]
                      : k == 0 ? W0[j]
                               : W0[j] + SHAKE * size * base_random_gauss(&r);
        TRY(descend(s, &value, &here, iterations, err));
        if (value < best * (1 - STATIONARY) || (here && !*stationary && isfinite(value))) {
            best = value;
            *stationary = here;
            memcpy(s->best, s->W, (size_t)count * sizeof *s->W);
        }
        if (k < 0 && here)
            return ATTSVM_OK;
    }
    return ATTSVM_OK;
}

/* Whether the best point is stationary after theta is rounded, too. */
static attsvm_status confirm(limited *s, double *theta, double *W, bool *stationary,
                             int64_t *iterations, attsvm_error *err)
{
    bool solved;
    double gain;
    svm_small_expand(s->part, s->best, theta, W);
    svm_small_project(s->part, theta, W);
    memcpy(s->W, W, (size_t)(s->part->p * s->part->q) * sizeof *W);
    TRY(truncate_rank(s, s->W, err));
    return look(s, iterations, &solved, &gain, stationary, err);
}

/* Lists the rows that must be tight at the final theta. */
static attsvm_status list_tight(const limited *s, svm_phase *phase, attsvm_error *err)
{
    size_t most = (size_t)s->least.count;
    free(phase->tight);
    phase->tight = NULL;
    phase->tight_count = 0;
    TRY(base_allocate(&phase->tight, most + 1, sizeof *phase->tight, "tight rows", err));
    for (int64_t k = 0; k < s->least.count; k++)
        if (is_noticed(s, k))
            phase->tight[phase->tight_count++] = (int32_t)s->part->slot[s->least.active[k]];
    return ATTSVM_OK;
}

/*
 * A local minimum over the part from W0, the convex solution, or from one over fewer rows.  If no
 * start led to positive margins there is none; adding rows cannot create one.
 */
static attsvm_status solve(svm_phase *phase, const svm_small *part, bool nuclear, const double *W0,
                           double *W, attsvm_error *err)
{
    limited s = { .part = part, .nuclear = nuclear, .n = part->p < part->q ? part->p : part->q };
    size_t size = (size_t)(part->p * part->q);
    double *from = NULL, *theta = NULL;
    s.rho = phase->rank < s.n ? phase->rank : s.n;
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        layout(&s, &a);
        from = take(&a, size + (size_t)(part->p * part->d));
        theta = take(&a, (size_t)phase->set->size);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "rank limit", err));
    }
    svm_small_project(part, phase->set->theta, from);
    attsvm_status status = search(&s, W0, phase->solved ? from : NULL, phase->seed,
                                  &phase->stationary, &phase->iterations, err);
    memcpy(W, s.best, size * sizeof *W); /* 0: none */
    if (status == ATTSVM_OK && phase->stationary)
        status = confirm(&s, theta, from, &phase->stationary, &phase->iterations, err);
    if (status == ATTSVM_OK && phase->stationary)
        status = list_tight(&s, phase, err);
    *part->spent = *part->spent || !(la_norm(W, (int64_t)size) > 0);
    free(a.base);
    return status;
}

/* ------------------------------------------------------------------- the norms, so limited */

static attsvm_status core_fro(svm_phase *phase, const svm_small *part, const double *W0, double *W,
                              double *lambda, attsvm_error *err)
{
    (void)lambda;
    return solve(phase, part, false, W0, W, err);
}

static attsvm_status core_nuclear(svm_phase *phase, const svm_small *part, const double *W0,
                                  double *W, double *lambda, attsvm_error *err)
{
    (void)lambda;
    return solve(phase, part, true, W0, W, err);
}

/* The rank of the convex solution may be within the limit; the checker cuts at twice that. */
static attsvm_status is_solved(const svm_phase *phase, bool *solved, attsvm_error *err)
{
    int64_t rank;
    TRY(svm_norm_rank(phase->start, phase->set->d, 0.5e-12, &rank, err));
    *solved = rank <= phase->rank;
    return ATTSVM_OK;
}

static attsvm_status nuclear_size(double q, bool dual, const double *x, int64_t rows,
                                  int64_t columns, double *out, attsvm_error *err)
{
    return svm_norm_nuclear.size(q, dual, x, rows, columns, out, err);
}

const svm_norm svm_norm_fro_limited = { .singular = true,
                                        .local = true,
                                        .tol = 1e-12,
                                        .size = svm_norm_euclidean,
                                        .size_exact = svm_norm_euclidean_exact,
                                        .row_size = svm_norm_euclidean_row,
                                        .is_solved = is_solved,
                                        .solve = svm_small_solve,
                                        .core = core_fro };
const svm_norm svm_norm_nuclear_limited = { .singular = true,
                                            .local = true,
                                            .tol = 1e-9,
                                            .size = nuclear_size,
                                            .row_size = svm_norm_euclidean_row,
                                            .is_solved = is_solved,
                                            .solve = svm_small_solve,
                                            .core = core_nuclear };
