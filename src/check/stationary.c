/*
 * First-order conditions at a point of rank rho (theory 4.1).  With theta = U S V' and T the
 * tangent space of the matrices of that rank,
 *
 *   P_T(g) = sum lambda_r P_T(A_r),  lambda >= 0 on tight rows,
 *
 * g = theta/|theta|_F (Frobenius) or U V' (nuclear).  In coordinates X -> (U'X, (I - UU')X V) the
 * inner product of T is the usual one, and a row delta z' becomes ((U'delta) z', delta' (V'z)').
 * The multipliers are found here, by non-negative least squares (Lawson, Hanson 1974).
 */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct tangent {
    const check_problem *p;
    int64_t d, rho, size, rows; /* size = 2 rho d                               */
    double *sigma, *U, *V;      /* d, d x d by columns                          */
    double *g;                  /* size                                         */
    double *A;                  /* rows x size                                  */
    double *lambda, *trial, *w; /* rows                                         */
    double *left;               /* size: g - sum lambda A                       */
    double *M, *r;              /* rows x rows, rows: normal equations          */
    int64_t *index;             /* rows that are free to be positive            */
    uint8_t *passive;
    double *base, *x;
    check_single one;
    dd *theta;
} tangent;

static void layout(tangent *s, arena *a)
{
    size_t d = (size_t)s->d, size = (size_t)s->size, rows = (size_t)s->rows;
    s->sigma = take(a, d);
    s->U = take(a, d * d);
    s->V = take(a, d * d);
    s->g = take(a, size);
    s->A = take(a, rows * size);
    s->lambda = take(a, rows);
    s->trial = take(a, rows);
    s->w = take(a, rows);
    s->left = take(a, size);
    s->M = take(a, rows * rows);
    s->r = take(a, rows);
    s->index = take_int64(a, rows);
    s->passive = base_take(a, rows, 1);
    s->base = take(a, d);
    s->x = take(a, d);
    s->one = (check_single){ .z = take(a, d), .delta = base_take(a, d, sizeof(dd)) };
    s->theta = base_take(a, d * d, sizeof(dd));
}

static double dot(const double *x, const double *y, int64_t count)
{
    double sum = 0;
    for (int64_t j = 0; j < count; j++)
        sum += x[j] * y[j];
    return sum;
}

/* Coordinates of delta z' in T, of length 1, into out (size). */
static void tangent_row(const tangent *s, double *delta, const double *z, double *out)
{
    int64_t d = s->d;
    double *N = out + s->rho * d;
    for (int64_t k = 0; k < s->rho; k++) {
        double along = dot(s->U + k * d, delta, d);
        for (int64_t j = 0; j < d; j++)
            out[k * d + j] = along * z[j];
    }
    for (int64_t k = 0; k < s->rho; k++) {
        double along = dot(s->U + k * d, delta, d);
        for (int64_t i = 0; i < d; i++)
            delta[i] -= along * s->U[k * d + i];
    }
    for (int64_t k = 0; k < s->rho; k++) {
        double along = dot(s->V + k * d, z, d);
        for (int64_t i = 0; i < d; i++)
            N[k * d + i] = along * delta[i];
    }
    double length = sqrt(dot(out, out, s->size));
    for (int64_t k = 0; k < s->size && length > 0; k++)
        out[k] /= length;
}

/* g in T, of length 1: U'W or V'. */
static void tangent_gradient(tangent *s, bool nuclear)
{
    for (int64_t k = 0; k < s->rho; k++)
        for (int64_t j = 0; j < s->d; j++)
            s->g[k * s->d + j] = (nuclear ? 1 : s->sigma[k] / s->sigma[0]) * s->V[k * s->d + j];
    double length = sqrt(dot(s->g, s->g, s->size));
    for (int64_t k = 0; k < s->size; k++)
        s->g[k] /= length;
}

/* left = g - sum lambda A; returns its length. */
static double look(tangent *s, const double *lambda)
{
    memcpy(s->left, s->g, (size_t)s->size * sizeof *s->left);
    for (int64_t k = 0; k < s->rows; k++)
        for (int64_t j = 0; j < s->size && lambda[k] != 0; j++)
            s->left[j] -= lambda[k] * s->A[k * s->size + j];
    return sqrt(dot(s->left, s->left, s->size));
}

/* M = Cholesky factor of the products of the passive rows; false where they are dependent, or the
   check was stopped. */
static bool factor(tangent *s, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const double *a = s->A + s->index[i] * s->size;
        if (check_stops(s->p, (double)(i + 1) * (double)(s->size + i)))
            return false;
        for (int64_t k = 0; k <= i; k++) {
            double sum = dot(a, s->A + s->index[k] * s->size, s->size);
            sum -= dot(s->M + i * count, s->M + k * count, k);
            if (k == i && !(sum > 1e-13))
                return false;
            s->M[i * count + k] = k == i ? sqrt(sum) : sum / s->M[k * count + k];
        }
    }
    return true;
}

/*
 * trial = least squares over the passive rows; false where they are dependent.  The products of
 * nearly parallel rows leave few digits: the solution is refined.
 */
static bool least_squares(tangent *s, int64_t count)
{
    enum { REFINEMENTS = 3 };
    if (!factor(s, count))
        return false;
    memset(s->trial, 0, (size_t)s->rows * sizeof *s->trial);
    for (int step = 0; step < REFINEMENTS; step++) {
        look(s, s->trial);
        for (int64_t i = 0; i < count; i++) {
            double along = dot(s->A + s->index[i] * s->size, s->left, s->size);
            s->r[i] = (along - dot(s->M + i * count, s->r, i)) / s->M[i * count + i];
        }
        for (int64_t i = count - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < count; k++)
                s->r[i] -= s->M[k * count + i] * s->r[k];
            s->r[i] /= s->M[i * count + i];
            s->trial[s->index[i]] += s->r[i];
        }
    }
    return true;
}

static int64_t list_passive(tangent *s)
{
    int64_t count = 0;
    for (int64_t k = 0; k < s->rows; k++)
        if (s->passive[k])
            s->index[count++] = k;
    return count;
}

/* Moves lambda towards the trial until a multiplier reaches 0; true: all the way. */
static bool move(tangent *s)
{
    double step = 1;
    for (int64_t k = 0; k < s->rows; k++)
        if (s->passive[k] && s->trial[k] <= 0)
            step = fmin(step, s->lambda[k] / (s->lambda[k] - s->trial[k]));
    for (int64_t k = 0; k < s->rows; k++) {
        s->lambda[k] += step * (s->trial[k] - s->lambda[k]);
        if (step < 1 && s->passive[k] && s->lambda[k] <= 1e-15) {
            s->passive[k] = 0;
            s->lambda[k] = 0;
        }
    }
    return step == 1;
}

/* |g - sum lambda A| at its smallest over lambda >= 0. */
static double smallest_residual(tangent *s)
{
    for (int64_t round = 0; round < 3 * s->rows + 3; round++) {
        look(s, s->lambda);
        int64_t best = -1;
        double largest = 1e-12;
        for (int64_t k = 0; k < s->rows; k++) {
            double gain = s->passive[k] ? 0 : dot(s->A + k * s->size, s->left, s->size);
            if (gain > largest) {
                largest = gain;
                best = k;
            }
        }
        if (best < 0)
            break;
        s->passive[best] = 1;
        for (bool done = false; !done;) {
            int64_t count = list_passive(s);
            if (count == 0 || !least_squares(s, count)) { /* the row depends on others */
                s->passive[best] = 0;
                return look(s, s->lambda);
            }
            done = move(s);
        }
    }
    return look(s, s->lambda);
}

attsvm_status check_first_order(const check_problem *p, const check_list *close, double *residual,
                                double *beyond, attsvm_error *err)
{
    const attsvm_svm_settings *settings = &p->claim->settings;
    bool nuclear = settings->norm == ATTSVM_NORM_NUC;
    int64_t d = p->d, rho = settings->rank < d ? settings->rank : d;
    tangent s = { .p = p, .d = d, .rho = rho, .size = 2 * rho * d, .rows = close->count };
    arena a = { 0 };
    *residual = INFINITY;
    layout(&s, &a);
    TRY(base_arena_allocate(&a, "first-order conditions", err));
    layout(&s, &a);
    for (int64_t k = 0; k < d * d; k++)
        s.theta[k] = (dd){ p->claim->theta[k], p->claim->theta_lo ? p->claim->theta_lo[k] : 0 };
    attsvm_status status = check_singular_vectors(p, s.theta, d, s.sigma, s.U, s.V, err);
    /* singular values in double are known to some 1e-15 of the largest */
    *beyond = rho < d ? s.sigma[rho] / s.sigma[0] + (double)d * 0x1p-50 : 0;
    if (status == ATTSVM_OK &&
        (nuclear || settings->norm == ATTSVM_NORM_FRO || settings->norm == ATTSVM_NORM_L2)) {
        for (int64_t k = 0; k < s.rows; k++) {
            check_read_row(p, close->rows[k], s.base, s.x, &s.one);
            for (int64_t j = 0; j < d; j++)
                s.x[j] = s.one.delta[j].hi;
            tangent_row(&s, s.x, s.one.z, s.A + k * s.size);
        }
        tangent_gradient(&s, nuclear);
        *residual = smallest_residual(&s);
    }
    free(a.base);
    return status;
}
