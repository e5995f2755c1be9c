/*
 * The shortest vector over dense rows,
 *
 *   min |x|^2 / 2   s.t.   a_r'x >= b_r,
 *
 * by the dual active set method of Goldfarb and Idnani (1983), for more rows than entries of x: a
 * step costs O(rows size), and a few steps find contradicting rows.
 *
 * The active rows are A_S = L Q, L lower and Q of orthonormal rows.  They hold with equality at x =
 * Q'c, L c = b_S, which is A_S'lambda with L'lambda = c; all lambda are at least 0.  The row p that
 * is violated most enters along z = (I - Q'Q) a_p, while lambda changes by -r, L'r = Q a_p, until
 * it is satisfied or a multiplier vanishes, whose row leaves.
 */
#include "svm/norm/rank/rank.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_POLL = 16, /* steps between two checks whether to stop */
    LEAST_TURNS = 100
}; /* steps per entry of x after which rounding is assumed to cause cycling */
static const double LEAST_MET = 1e-12; /* violation that counts as none, over |b| + |a| |x|   */
static const double LEAST_NEW = 1e-10; /* |z| / |a| of a row that is independent of the others */

void dense_qp_layout(dense_qp *s, arena *a, int64_t rows, int64_t size)
{
    size_t m = (size_t)rows, N = (size_t)size, most = m < N ? m : N;
    s->size = size;
    s->most = (int64_t)most;
    s->Q = take(a, most * N);
    s->L = take(a, most * most);
    s->lambda = take(a, most + 1);
    s->w = take(a, most);
    s->r = take(a, most);
    s->z = take(a, N);
    s->margin = take(a, m);
    s->norm = take(a, m);
    s->active = take_int64(a, most);
    s->held = base_take(a, m, 1);
}

/* w = Q a_p and z = a_p - Q'w, orthogonalised twice; returns |z|. */
static double split(dense_qp *s, const double *row)
{
    memcpy(s->z, row, (size_t)s->size * sizeof *s->z);
    memset(s->w, 0, (size_t)s->count * sizeof *s->w);
    for (int turn = 0; turn < 2; turn++)
        for (int64_t k = 0; k < s->count; k++) {
            double along = la_dot(s->Q + k * s->size, s->z, s->size);
            s->w[k] += along;
            la_axpy(-along, s->Q + k * s->size, s->z, s->size);
        }
    return la_norm(s->z, s->size);
}

/* Row p joins S with the w and z of `split`. */
static void join(dense_qp *s, int64_t p, double length)
{
    int64_t k = s->count++;
    memcpy(s->L + k * s->most, s->w, (size_t)k * sizeof *s->w);
    s->L[k * s->most + k] = length;
    for (int64_t j = 0; j < s->size; j++)
        s->Q[k * s->size + j] = s->z[j] / length;
    s->active[k] = p;
    s->held[p] = 1;
}

/* The k-th row leaves S: rotations bring L without its row back to a triangle. */
static void leave(dense_qp *s, int64_t k)
{
    int64_t N = s->size, ld = s->most, count = --s->count;
    s->held[s->active[k]] = 0;
    for (int64_t i = k; i < count; i++) {
        s->active[i] = s->active[i + 1];
        s->lambda[i] = s->lambda[i + 1];
        memcpy(s->L + i * ld, s->L + (i + 1) * ld, (size_t)(i + 2) * sizeof *s->L);
    }
    for (int64_t j = k; j < count; j++) {
        double a = s->L[j * ld + j], b = s->L[j * ld + j + 1], size = base_hypot(a, b);
        double c = size > 0 ? a / size : 1, t = size > 0 ? b / size : 0;
        for (int64_t i = j; i < count; i++) {
            double *l = s->L + i * ld + j, left = l[0];
            l[0] = c * left + t * l[1];
            l[1] = c * l[1] - t * left;
        }
        double *x = s->Q + j * N, *y = x + N;
        for (int64_t i = 0; i < N; i++) {
            double first = x[i];
            x[i] = c * first + t * y[i];
            y[i] = c * y[i] - t * first;
        }
    }
}

/* x and lambda of S, from its factors. */
static void place(dense_qp *s, const double *b, double *x)
{
    memset(x, 0, (size_t)s->size * sizeof *x);
    if (s->count == 0)
        return;
    for (int64_t k = 0; k < s->count; k++)
        s->lambda[k] = b[s->active[k]];
    la_trsv(false, s->count, s->L, s->most, s->lambda);
    la_gemv(true, s->count, s->size, 1, s->Q, s->size, s->lambda, 0, x);
    la_trsv(true, s->count, s->L, s->most, s->lambda);
}

/* Starts with the active rows of the last problem, without those with negative multipliers. */
static void begin(dense_qp *s, const svm_small *part, double *x)
{
    int64_t before = s->count;
    s->count = 0;
    memset(s->held, 0, (size_t)part->rows);
    for (int64_t r = 0; r < part->rows; r++)
        s->norm[r] = la_norm(part->u + r * s->size, s->size);
    for (int64_t k = 0; k < before; k++) {
        int64_t p = s->active[k]; /* the list is compacted in place */
        double length = split(s, part->u + p * s->size);
        if (length > LEAST_NEW * s->norm[p])
            join(s, p, length);
    }
    for (;;) {
        int64_t least = 0;
        place(s, part->b, x);
        for (int64_t k = 1; k < s->count; k++)
            least = s->lambda[k] < s->lambda[least] ? k : least;
        if (s->count == 0 || s->lambda[least] >= 0)
            return;
        leave(s, least);
    }
}

/* The row outside S that is violated most, in units of its length; -1: none is. */
static int64_t worst(dense_qp *s, const svm_small *part, const double *x)
{
    double size = la_norm(x, s->size), most = 0;
    int64_t at = -1;
    la_gemv(false, part->rows, s->size, 1, part->u, s->size, x, 0, s->margin);
    for (int64_t r = 0; r < part->rows; r++) {
        double short_of = part->b[r] - s->margin[r];
        if (s->held[r] || short_of <= LEAST_MET * (fabs(part->b[r]) + s->norm[r] * size))
            continue;
        if (at < 0 || short_of > most * s->norm[r]) {
            most = short_of / s->norm[r];
            at = r;
        }
    }
    return at;
}

/* Row p enters S; false if it contradicts the rows of S. */
static bool enter(dense_qp *s, const svm_small *part, int64_t p, double *x)
{
    const double *row = part->u + p * s->size;
    for (;;) {
        double length = split(s, row), step = INFINITY;
        bool independent = length > LEAST_NEW * s->norm[p] && s->count < s->most;
        int64_t out = -1;
        memcpy(s->r, s->w, (size_t)s->count * sizeof *s->r);
        if (s->count > 0)
            la_trsv(true, s->count, s->L, s->most, s->r);
        for (int64_t k = 0; k < s->count; k++)
            if (s->r[k] > 0 && s->lambda[k] < step * s->r[k]) {
                step = s->lambda[k] / s->r[k];
                out = k;
            }
        double full = (part->b[p] - la_dot(row, x, s->size)) / (length * length);
        if (independent && !(step < full)) {
            join(s, p, length);
            return true;
        }
        if (out < 0)
            return false;
        step = fmax(step, 0);
        la_axpy(-step, s->r, s->lambda, s->count);
        if (independent)
            la_axpy(step, s->z, x, s->size);
        leave(s, out);
    }
}

bool dense_qp_solve(dense_qp *s, const svm_small *part, double *x, int64_t *iterations)
{
    begin(s, part, x);
    for (int64_t k = 0; k < LEAST_TURNS * s->most; k++) {
        int64_t p = worst(s, part, x);
        if (p < 0)
            return true;
        if ((k % LEAST_POLL == 0 && svm_small_stopped(part)) || !svm_small_step(part, iterations) ||
            !enter(s, part, p, x))
            return false;
        place(s, part->b, x);
    }
    return false;
}
