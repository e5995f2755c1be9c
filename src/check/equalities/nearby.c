/*
 * Many equalities: how far from theta is a point that satisfies them exactly, without an inverse?
 *
 * E has the rows at lengths between 1 and 4, G is E E' rounded.  If the Cholesky factorisation of
 * G - s I runs to its end in double, E E' has no eigenvalue below s less a bound of all roundings
 * (Rump 2006).  With lambda > 0 such a bound of the eigenvalues, r = e - E theta and any M, some
 * theta' with E theta' = e has
 *
 *   |theta' - theta| <= |M| + |r - E M| / sqrt(lambda)
 *
 * for theta + M misses e by r - E M.  M = E'y, with y from the same factor, is as good as exact;
 * how it was rounded does not matter.
 */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOUR = 4,   /* rows of the factor computed together */
    TILE = 512, /* columns of them that stay in cache   */
    MOST_STEPS = 20
};
static const double UNIT = 0x1p-53;

typedef struct nearby {
    int64_t n, d, size;
    double *a, *z; /* n x d: rows are a z', or a where z is NULL        */
    double *r;     /* n: right-hand sides, the largest near 1           */
    double *U;     /* n x n: G, then U with U'U = G - s I               */
    double *M;     /* size                                              */
    double *rest;  /* n: r - E M                                        */
    double *u;     /* d: M z                                            */
    dist_stop *stop;
    void *memory;
} nearby;

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += x[j] * y[j];
    return sum;
}

/* Scales x by a power of two to a length in [1, 2), nearly; returns its exponent. */
static int normalise(double *x, int64_t n)
{
    double largest = 0;
    for (int64_t j = 0; j < n; j++)
        largest = check_max(largest, fabs(x[j]));
    if (!(largest > 0))
        return 0;
    int first = -ilogb(largest);
    for (int64_t j = 0; j < n; j++)
        x[j] = ldexp(x[j], first);
    int second = -ilogb(sqrt(dot(x, x, n)));
    for (int64_t j = 0; j < n; j++)
        x[j] = ldexp(x[j], second);
    return first + second;
}

static attsvm_status open_nearby(nearby *s, const check_equalities *rows, attsvm_error *err)
{
    int64_t n = rows->count, d = rows->d;
    size_t each = (size_t)(n * d);
    arena a = { 0 };
    *s = (nearby){ .n = n, .d = d, .size = rows->z ? d * d : d, .stop = rows->stop };
    for (int pass = 0; pass < 2; pass++) {
        s->a = take(&a, each);
        s->z = rows->z ? take(&a, each) : NULL;
        s->r = take(&a, (size_t)n);
        s->rest = take(&a, (size_t)n);
        s->u = take(&a, (size_t)d);
        s->M = take(&a, (size_t)s->size);
        s->U = take(&a, (size_t)(n * n));
        if (pass == 0)
            TRY(base_arena_allocate(&a, "equalities", err));
    }
    s->memory = a.base;
    return ATTSVM_OK;
}

/* The rows at their lengths, and r; returns the exponent of the factor that r was scaled by. */
static int read_rows(nearby *s, const check_equalities *rows)
{
    double largest = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double *a = s->a + i * s->d;
        for (int64_t j = 0; j < s->d; j++)
            a[j] = rows->delta[i * s->d + j].hi;
        int power = normalise(a, s->d);
        if (s->z) {
            memcpy(s->z + i * s->d, rows->z + i * s->d, (size_t)s->d * sizeof(double));
            power += normalise(s->z + i * s->d, s->d);
        }
        s->r[i] = ldexp(rows->r[i], power - ilogb(rows->scale[i]));
        largest = check_max(largest, fabs(s->r[i]));
    }
    int power = largest > 0 ? -ilogb(largest) : 0;
    for (int64_t i = 0; i < s->n; i++)
        s->r[i] = ldexp(s->r[i], power);
    return power;
}

/* The upper half of G; returns its trace, INFINITY after a stop. */
static double gram(nearby *s)
{
    int64_t n = s->n, d = s->d;
    double trace = 0;
    for (int64_t i = 0; i < n; i++) {
        if (dist_stop_poll(s->stop, 2.0 * (double)((n - i) * d)))
            return INFINITY;
        for (int64_t k = i; k < n; k++) {
            double product = dot(s->a + i * d, s->a + k * d, d);
            s->U[i * n + k] = s->z ? product * dot(s->z + i * d, s->z + k * d, d) : product;
        }
        trace += s->U[i * n + i];
    }
    return trace;
}

/* Rows first to end - 1 of U, columns from `first` on, less their products with the rows above. */
static void subtract_above(double *U, int64_t n, int64_t first, int64_t end)
{
    for (int64_t lo = first; lo < n; lo += TILE) {
        int64_t hi = lo + TILE < n ? lo + TILE : n;
        for (int64_t k = 0; k < first; k++) {
            const double *above = U + k * n;
            if (end - first == FOUR) {
                double f0 = above[first], f1 = above[first + 1], f2 = above[first + 2],
                       f3 = above[first + 3];
                double *r0 = U + first * n, *r1 = r0 + n, *r2 = r1 + n, *r3 = r2 + n;
                for (int64_t j = lo; j < hi; j++) {
                    r0[j] -= f0 * above[j];
                    r1[j] -= f1 * above[j];
                    r2[j] -= f2 * above[j];
                    r3[j] -= f3 * above[j];
                }
                continue;
            }
            for (int64_t i = first; i < end; i++)
                for (int64_t j = lo; j < hi; j++)
                    U[i * n + j] -= above[i] * above[j];
        }
    }
}

/* Cholesky factor of the upper half, in place; false where a pivot is not positive, or stopped. */
static bool factor(double *U, int64_t n, dist_stop *stop)
{
    for (int64_t first = 0; first < n; first += FOUR) {
        int64_t end = first + FOUR < n ? first + FOUR : n;
        if (dist_stop_poll(stop, (double)((end - first) * (n - first)) * (double)(first + FOUR)))
            return false;
        subtract_above(U, n, first, end);
        for (int64_t i = first; i < end; i++) {
            double *row = U + i * n;
            for (int64_t k = first; k < i; k++)
                for (int64_t j = i; j < n; j++)
                    row[j] -= U[k * n + i] * U[k * n + j];
            if (!(row[i] > 0))
                return false;
            double root = sqrt(row[i]);
            row[i] = root;
            for (int64_t j = i + 1; j < n; j++)
                row[j] /= root;
        }
    }
    return true;
}

/*
 * A lower bound of the eigenvalues of E E' by the factor of G - s I; 0: none was found.  An entry
 * of G has an error of at most 16 (2 d + 4) units of rounding, and 64 for rows rounded to double;
 * the factor one of 2 (n + 8) times the trace at most.
 */
static double eigenvalue(nearby *s)
{
    double n = (double)s->n, d = (double)s->d, trace = gram(s);
    double lost = UNIT * (32 * n * (d + 16) + 2 * (n + 8) * trace + 32) * (1 + 1e-9);
    for (int64_t i = 0; i < s->n; i++)
        s->U[i * s->n + i] -= 2 * lost;
    return trace < INFINITY && factor(s->U, s->n, s->stop) ? lost : 0;
}

/* y <- (U'U)^-1 y */
static void solve(const double *U, int64_t n, double *y)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] /= U[i * n + i];
        for (int64_t j = i + 1; j < n; j++)
            y[j] -= y[i] * U[i * n + j];
    }
    for (int64_t i = n - 1; i >= 0; i--)
        y[i] = (y[i] - dot(U + i * n + i + 1, y + i + 1, n - i - 1)) / U[i * n + i];
}

/* M += E'y */
static void move(nearby *s, const double *y)
{
    int64_t d = s->d;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < d; j++) {
            double along = y[i] * s->a[i * d + j];
            if (!s->z)
                s->M[j] += along;
            for (int64_t k = 0; k < d && s->z; k++)
                s->M[j * d + k] += along * s->z[i * d + k];
        }
}

/*
 * rest <- r - E M in double; returns a bound of its exact length.  A product has an error of at
 * most 4 (2 d + 16) units of |M|, rounded rows included, and r one of 2 units.
 */
static double look(nearby *s, double size)
{
    int64_t d = s->d;
    double square = 0;
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t j = 0; j < d; j++)
            s->u[j] = s->z ? dot(s->M + j * d, s->z + i * d, d) : s->M[j];
        s->rest[i] = s->r[i] - dot(s->a + i * d, s->u, d);
        double most = fabs(s->rest[i]) * (1 + 2 * UNIT) +
                      UNIT * (4 * (2 * (double)d + 16) * size + 2 * fabs(s->r[i]));
        square += most * most;
    }
    return sqrt(square) * (1 + 1e-9);
}

/* The bound above, the best of a few refinements. */
static double nearest(nearby *s, double lambda)
{
    double best = INFINITY, before = INFINITY;
    const double work = (double)s->n * (double)(s->n + 2 * s->size);
    for (int step = 0; step < MOST_STEPS && !dist_stop_poll(s->stop, work); step++) {
        double size = sqrt(dot(s->M, s->M, s->size)) * (1 + 2 * UNIT * (double)(s->size + 8));
        double left = look(s, size), bound = size + left / sqrt(lambda);
        best = bound < best ? bound : best;
        if (!(left < before / 2))
            break;
        before = left;
        solve(s->U, s->n, s->rest);
        move(s, s->rest);
    }
    return best * (1 + 1e-9);
}

bool check_nearby(const check_equalities *rows, double *delta, attsvm_status *status,
                  attsvm_error *err)
{
    nearby s;
    *status = open_nearby(&s, rows, err);
    if (*status != ATTSVM_OK)
        return false;
    int power = read_rows(&s, rows);
    double lambda = eigenvalue(&s);
    if (lambda > 0)
        *delta = ldexp(nearest(&s, lambda), -power) + CHECK_SMALL;
    free(s.memory);
    return lambda > 0 && *delta < INFINITY;
}
