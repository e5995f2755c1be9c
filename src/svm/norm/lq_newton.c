/*
 * l_q norm: Newton on the rows that are equal at the optimum.
 *
 * A relative gap g determines theta only to about g^(1/q) for q > 2 (g^(1/2) for q < 2), so that
 * rows that are tight at the optimum may appear at 1e-5 above b.  With T the active rows, theta in
 * units of its largest entry and f(x) = x |x|^(q-2), the equations of the optimum are
 *
 *   S = sum_T lambda A = f(theta),   <A_r, theta> = b_r (r in T),
 *
 * and with E = d theta / d S, D = 1/E, e = theta(S) - theta, one step is
 *
 *   [ A_o E_o A_o'   A_J ] [ dlambda  ]   [ b - A theta - A_o e_o ]
 *   [ A_J'          -D_J ] [ dtheta_J ] = [ f(theta_J) - S_J      ]
 *
 *   dtheta_o = e_o + E_o A_o'dlambda
 *
 * J are the entries near 0 where E is large (q > 2: D vanishes there); the others, o, are
 * eliminated.  Rows of T may be dependent, so the system is solved by SVD.
 */
#include "svm/norm/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEWTON_STEPS = 150, NEWTON_REPAIRS = 20, NEWTON_MOST = 400 }; /* unknowns */
static const double NEWTON_CUT = 1e-14;  /* singular value over the largest taken for zero       */
static const double NEWTON_DONE = 1e-13; /* step over the largest entry of theta at which it ends */
static const double NEWTON_FLAT = 1e3;   /* E over its least entry of the entries in J           */
static const double NEWTON_MET = 1e-12;  /* over |A| |theta|: a row outside T is not violated    */
static const double NEWTON_WORSE = 1e-12; /* a gap small enough to accept the point               */
static const double NEWTON_LOOSE = 1e-6;  /* part of theta in an undetermined direction           */
static const double CLEARLY_TIGHT = 1e-8; /* excess over b of a row that is certainly tight       */

typedef struct newton {
    const svm_small *part;
    double q, scale; /* scale: unit of theta                         */
    bool loose;      /* the equations do not determine an entry of J */
    int64_t rows, size, flat, tight, order;
    int64_t *T, *J;            /* active rows; entries near 0               */
    uint8_t *in, *near;        /* (rows) in T; (size) in J                   */
    double *b;                 /* (rows) in the unit of theta                */
    double *theta, *S, *E, *e; /* (size)                                     */
    double *lambda, *margin;   /* (rows)                                     */
    double *y;                 /* (rows) scratch                             */
    double *M, *left, *right;  /* (order^2)                                  */
    double *values, *rhs, *x;  /* (order)                                    */
    double *A;                 /* (size) one row as a matrix                 */
    double *touched;           /* (size) sum of squares of the rows of T     */
    double *balance;           /* (size) scale of the entries of J           */
    double *sums;              /* 2 terms x p                                */
} newton;

/* Memory to evaluate a point. */
static void layout(newton *s, arena *a)
{
    size_t m = (size_t)s->rows, N = (size_t)s->size;
    s->theta = take(a, N);
    s->S = take(a, N);
    s->b = take(a, m);
    s->lambda = take(a, m);
    s->margin = take(a, m);
    s->sums = take(a, 2 * (size_t)(s->part->terms * s->part->p));
}

/* Memory for steps. */
static void layout_steps(newton *s, arena *a)
{
    size_t m = (size_t)s->rows, N = (size_t)s->size;
    size_t most = m + N < NEWTON_MOST ? m + N : NEWTON_MOST;
    double **by_entry[] = { &s->E, &s->e, &s->A, &s->touched, &s->balance };
    for (size_t k = 0; k < sizeof by_entry / sizeof *by_entry; k++)
        *by_entry[k] = take(a, N);
    double **squares[] = { &s->M, &s->left, &s->right };
    for (size_t k = 0; k < sizeof squares / sizeof *squares; k++)
        *squares[k] = take(a, most * most);
    s->y = take(a, m);
    s->values = take(a, 2 * most);
    s->rhs = take(a, most);
    s->x = take(a, most);
    s->T = take_int64(a, m);
    s->J = take_int64(a, N);
    s->in = base_take(a, m, 1);
    s->near = base_take(a, N, 1);
}

static double power(double x, double exponent)
{
    return copysign(svm_norm_power(fabs(x), exponent), x);
}

/* E, e and J at the point. */
static void linearise(newton *s)
{
    double q = s->q, dual = q / (q - 1), least = INFINITY;
    s->flat = 0;
    for (int64_t j = 0; j < s->size; j++) {
        double x = s->theta[j], S = s->S[j];
        if (q < 2) {
            s->E[j] = (dual - 1) * svm_norm_power(fabs(S), dual - 2);
            s->e[j] = power(S, dual - 1) - x;
        } else {
            s->E[j] = 1 / ((q - 1) * svm_norm_power(fabs(x), q - 2));
            s->e[j] = s->E[j] * (S - power(x, q - 1));
        }
        least = fmin(least, s->E[j]);
    }
    for (int64_t j = 0; j < s->size; j++) {
        bool near = q > 2 && !(s->E[j] <= NEWTON_FLAT * least);
        if (near && s->touched[j] == 0) /* by no row of T: S = 0 = theta */
            s->e[j] = s->E[j] = s->theta[j] = 0;
        s->near[j] = near && s->touched[j] > 0;
        if (s->near[j])
            s->J[s->flat++] = j;
    }
}

/* The system at the point; rows of T have length 1 in it. */
static void form(newton *s)
{
    const svm_small *part = s->part;
    int64_t t = s->tight, n = s->order;
    memset(s->M, 0, (size_t)(n * n) * sizeof *s->M);
    for (int64_t j = 0; j < s->flat; j++) { /* so that the largest entry of column J is about 1 */
        double D = (s->q - 1) * svm_norm_power(fabs(s->theta[s->J[j]]), s->q - 2);
        s->balance[j] = 1 / fmax(sqrt(s->touched[s->J[j]]), sqrt(D));
        s->M[(t + j) * n + t + j] = -D * s->balance[j] * s->balance[j];
        s->rhs[t + j] = (power(s->theta[s->J[j]], s->q - 1) - s->S[s->J[j]]) * s->balance[j];
    }
    for (int64_t k = 0; k < t; k++) {
        const double *A = s->A;
        svm_small_unit_row(part, s->T[k], s->A);
        s->rhs[k] = (s->b[s->T[k]] - s->margin[s->T[k]]) / s->part->length[s->T[k]];
        for (int64_t j = 0; j < s->flat; j++)
            s->M[k * n + t + j] = s->M[(t + j) * n + k] = A[s->J[j]] * s->balance[j];
        for (int64_t j = 0; j < s->size; j++) {
            s->rhs[k] -= s->near[j] ? 0 : A[j] * s->e[j];
            s->A[j] *= s->near[j] ? 0 : s->E[j];
        }
        svm_small_apply(part, s->A, part->q, s->y, s->sums); /* <A_l, E A_k> */
        for (int64_t l = 0; l < t; l++)
            s->M[k * n + l] = s->y[s->T[l]] / s->part->length[s->T[l]];
    }
}

/* x, the shortest solution of M x = rhs; `loose` if that leaves theta undetermined. */
static attsvm_status solve(newton *s, attsvm_error *err)
{
    int64_t n = s->order;
    TRY(la_svd(n, n, s->M, n, s->values, s->left, n, s->right, n, err));
    la_gemv(true, n, n, 1, s->left, n, s->rhs, 0, s->values + n);
    memset(s->x, 0, (size_t)n * sizeof *s->x);
    s->loose = false;
    for (int64_t k = 0; k < n; k++) {
        if (s->values[k] > NEWTON_CUT * s->values[0])
            la_axpy(s->values[n + k] / s->values[k], s->right + k * n, s->x, n);
        else if (la_norm(s->right + k * n + s->tight, s->flat) > NEWTON_LOOSE)
            s->loose = true;
    }
    return ATTSVM_OK;
}

/* S of the multipliers, margins of theta. */
static void evaluate(newton *s)
{
    svm_small_sum(s->part, s->lambda, s->S, s->sums);
    svm_small_apply_exact(s->part, s->theta, s->margin, s->sums);
}

/* One step; *moved: its size over the largest entry of theta, or INFINITY if there is none. */
static attsvm_status step_once(newton *s, double *moved, attsvm_error *err)
{
    double largest = 0;
    *moved = INFINITY;
    evaluate(s);
    linearise(s);
    s->order = s->tight + s->flat;
    if (s->order > NEWTON_MOST || s->order == 0)
        return ATTSVM_OK;
    form(s);
    if (la_active()->first_nonfinite(ATTSVM_F64, s->M, s->order * s->order) >= 0)
        return ATTSVM_OK;
    TRY(solve(s, err));
    memset(s->y, 0, (size_t)s->rows * sizeof *s->y);
    for (int64_t k = 0; k < s->tight; k++) {
        s->y[s->T[k]] = s->x[k] / s->part->length[s->T[k]];
        s->lambda[s->T[k]] += s->y[s->T[k]];
    }
    svm_small_sum(s->part, s->y, s->S, s->sums); /* A'dlambda */
    for (int64_t j = 0; j < s->size; j++)
        s->e[j] += s->E[j] * s->S[j];
    for (int64_t j = 0; j < s->flat; j++)
        s->e[s->J[j]] = s->x[s->tight + j] * s->balance[j];
    *moved = 0;
    for (int64_t j = 0; j < s->size; j++) {
        s->theta[j] += s->e[j];
        *moved = fmax(*moved, fabs(s->e[j]));
        largest = fmax(largest, fabs(s->theta[j]));
    }
    *moved = isfinite(largest) && largest > 0 ? *moved / largest : INFINITY;
    return ATTSVM_OK;
}

/* T: rows whose multiplier is the larger of the pair (lambda, excess), each in its own unit. */
static void choose_rows(newton *s)
{
    double most_lambda = 0, most_excess = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        most_lambda = fmax(most_lambda, s->lambda[r] * s->part->length[r]);
        most_excess = fmax(most_excess, (s->margin[r] - s->b[r]) / s->part->length[r]);
    }
    for (int64_t r = 0; r < s->rows; r++) {
        double excess = (s->margin[r] - s->b[r]) / s->part->length[r];
        s->in[r] = s->part->equal[r] ||
                   s->lambda[r] * s->part->length[r] * most_excess > excess * most_lambda;
    }
}

static void list_rows(newton *s)
{
    s->tight = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        s->lambda[r] = s->in[r] ? s->lambda[r] : 0;
        if (s->in[r])
            s->T[s->tight++] = r;
    }
    memset(s->touched, 0, (size_t)s->size * sizeof *s->touched);
    for (int64_t k = 0; k < s->tight; k++) {
        svm_small_unit_row(s->part, s->T[k], s->A);
        for (int64_t j = 0; j < s->size; j++)
            s->touched[j] += s->A[j] * s->A[j];
    }
}

/* Rows with a negative multiplier leave T, rows that theta violates join; false: neither. */
static bool repair(newton *s)
{
    double norm = la_norm(s->theta, s->size);
    bool changed = false;
    for (int64_t r = 0; r < s->rows; r++) {
        bool lacks = s->margin[r] < s->b[r] - NEWTON_MET * s->part->length[r] * norm;
        bool leaves = s->in[r] && !s->part->equal[r] && s->lambda[r] < 0;
        if (leaves || (!s->in[r] && lacks)) {
            s->in[r] = !s->in[r];
            changed = true;
        }
    }
    return changed;
}

/* Newton steps until they are negligible; *converged: they are, and the point is optimal. */
static attsvm_status iterate(newton *s, bool *converged, attsvm_error *err)
{
    *converged = false;
    for (int64_t repairs = 0; repairs < NEWTON_REPAIRS && !svm_small_stopped(s->part); repairs++) {
        double moved = INFINITY, least = INFINITY;
        int64_t idle = 0;
        list_rows(s);
        for (int64_t k = 0; k < NEWTON_STEPS && moved > NEWTON_DONE && idle < 10; k++) {
            TRY(step_once(s, &moved, err));
            if (!isfinite(moved))
                return ATTSVM_OK;
            idle = moved < least ? 0 : idle + 1;
            least = fmin(least, moved);
        }
        evaluate(s);
        if (!repair(s)) {
            *converged = least <= 100 * NEWTON_DONE && !s->loose;
            return ATTSVM_OK;
        }
    }
    return ATTSVM_OK;
}

/* The relative gap that theta and lambda prove after scaling. */
static double gap_of(newton *s)
{
    double margin = INFINITY, value = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        value += s->b[r] * s->lambda[r];
        if (!s->part->equal[r] && s->b[r] > 0)
            margin = fmin(margin, s->margin[r] / s->b[r]);
    }
    double primal = svm_norm_of_entries(s->theta, s->size, s->q) / fmin(margin, 1);
    double ball = svm_norm_of_entries(s->S, s->size, s->q / (s->q - 1));
    return margin > 0 && ball > 0 ? (primal - value / ball) / primal : INFINITY;
}

/*
 * Whether a row that does not look tight may be tight at the optimum.  By Clarkson's inequality for
 * q >= 2, |theta - optimum|_q <= 2 |theta| (q g)^(1/q); for q < 2 by 2-uniform convexity |theta -
 * optimum|_q <= |theta| (8 g / (q - 1))^(1/2).
 */
static bool is_doubtful(const newton *s, double gap)
{
    double g = fmax(gap, 0x1p-52), norm = svm_norm_of_entries(s->theta, s->size, s->q);
    double off = s->q > 2 ? 2 * base_pow(s->q * g, 1 / s->q) : sqrt(8 * g / (s->q - 1));
    double spread = base_pow((double)s->size, fabs(1 / s->q - 0.5)); /* |A|_q' <= spread |A|_2 */
    for (int64_t r = 0; r < s->rows; r++) {
        double excess = s->margin[r] - s->b[r], unit = fmax(1, s->scale * s->b[r]) / s->scale;
        if (!s->part->equal[r] && excess > CLEARLY_TIGHT * unit &&
            excess <= off * norm * spread * s->part->length[r])
            return true;
    }
    return false;
}

static void open_point(newton *s, const double *theta, const double *lambda)
{
    const svm_small *part = s->part;
    double largest = 0;
    for (int64_t j = 0; j < s->size; j++)
        largest = fmax(largest, fabs(theta[j]));
    s->scale = largest > 0 ? largest : 1;
    for (int64_t j = 0; j < s->size; j++)
        s->theta[j] = theta[j] / s->scale;
    /* S = f(theta) at the optimum, where |lambda A|_q' = 1 is the unit of the caller */
    double unit = base_pow(svm_norm_of_entries(s->theta, s->size, s->q), s->q - 1);
    for (int64_t r = 0; r < s->rows; r++) {
        s->b[r] = part->b[r] / s->scale;
        s->lambda[r] = unit * lambda[r];
    }
    svm_small_sum(part, s->lambda, s->S, s->sums);
    svm_small_apply(part, s->theta, part->q, s->margin, s->sums);
}

/* Newton's method from a point that leaves tight rows in doubt; *better: it found one that does
 * not. */
static attsvm_status improve(newton *s, double before, bool *better, attsvm_error *err)
{
    arena a = { 0 };
    bool converged = false;
    *better = false;
    for (int pass = 0; pass < 2; pass++) {
        layout_steps(s, &a);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "Newton's method for l_q", err));
    }
    evaluate(s);
    choose_rows(s);
    attsvm_status status = iterate(s, &converged, err);
    if (status == ATTSVM_OK && converged)
        *better = gap_of(s) <= fmax(before, NEWTON_WORSE);
    free(a.base);
    return status;
}

attsvm_status svm_lq_newton(const svm_small *part, double q, double *theta, double *lambda,
                            bool *decided, attsvm_error *err)
{
    newton s = { .part = part, .q = q, .rows = part->rows, .size = part->p * part->q };
    arena a = { 0 };
    bool better = false;
    for (int pass = 0; pass < 2; pass++) {
        layout(&s, &a);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "tight rows in l_q", err));
    }
    open_point(&s, theta, lambda);
    double gap = gap_of(&s);
    attsvm_status status = ATTSVM_OK;
    *decided = !is_doubtful(&s, gap);
    if (!*decided)
        status = improve(&s, gap, &better, err);
    if (better) {
        double ball = svm_norm_of_entries(s.S, s.size, q / (q - 1));
        for (int64_t j = 0; j < s.size; j++)
            theta[j] = s.scale * s.theta[j];
        for (int64_t r = 0; r < s.rows; r++)
            lambda[r] = s.lambda[r] / ball;
        *decided = true;
    }
    free(a.base);
    return status;
}
