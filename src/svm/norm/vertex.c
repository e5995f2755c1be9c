/*
 * A vertex of a linear program in double-double.
 *
 * Clp works in double: on badly scaled rows its basis is right, and the values of the basis are
 * not.  With B the tight rows of the basic columns, x and the prices y solve
 *
 *   B x = b - (columns at a bound),   B'y = cost
 *
 * and B is square.  Elimination in double-double solves both, to about 30 digits less the digits
 * of the condition of B.
 */
#include "svm/norm/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300 }; /* maximum number of rows of B: more take seconds */
enum { CLP_BASIC = 1, CLP_UPPER = 2, CLP_MASK = 7 }; /* Clp's codes of a status */

typedef struct vertex {
    const svm_columns *of;
    const svm_set *set;
    int64_t order;           /* of B                                    */
    int64_t *rows, *columns; /* of B                                    */
    dd *B, *M, *x, *y;
} vertex;

static bool is_basic(unsigned char status)
{
    return (status & CLP_MASK) == CLP_BASIC;
}

static bool in_basis(const svm_columns *of, int64_t k)
{
    return (k == of->total || of->in[k]) && is_basic(of->column_status[k]);
}

/* Entry of sigma A_r in column k of the program; k = total is the column of m. */
static dd entry(const vertex *s, int64_t r, int64_t k)
{
    const svm_columns *of = s->of;
    const svm_small *part = of->part;
    const double sigma = of->sigma[r];
    if (k == of->total)
        return base_dd_div(base_dd(-sigma * part->b[r]), base_dd(of->unit));
    const int64_t e = k % of->size, i = e / part->q, slot = part->slot[r];
    double scale = sigma / s->set->sigma[slot]; /* powers of two */
    if (k >= of->size)
        scale = -scale;
    dd u = { scale * s->set->hi[slot * s->set->d + i], scale * svm_set_low(s->set, slot)[i] };
    return base_dd_mul(u, base_dd(part->v[part->term[r] * part->q + e % part->q]));
}

/* Solves M x = b in place, M (n x n), by elimination with row exchanges; false if M is singular. */
static bool eliminate(int64_t n, dd *M, dd *x)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t at = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(M[i * n + k].hi) > fabs(M[at * n + k].hi))
                at = i;
        if (!(fabs(M[at * n + k].hi) > 0))
            return false;
        for (int64_t j = k; j < n && at != k; j++) {
            dd spare = M[k * n + j];
            M[k * n + j] = M[at * n + j];
            M[at * n + j] = spare;
        }
        dd spare = x[k];
        x[k] = x[at];
        x[at] = spare;
        for (int64_t i = k + 1; i < n; i++) {
            if (M[i * n + k].hi == 0)
                continue;
            dd factor = base_dd_div(M[i * n + k], M[k * n + k]);
            for (int64_t j = k + 1; j < n; j++)
                M[i * n + j] = base_dd_sub(M[i * n + j], base_dd_mul(factor, M[k * n + j]));
            x[i] = base_dd_sub(x[i], base_dd_mul(factor, x[k]));
        }
    }
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t j = k + 1; j < n; j++)
            x[k] = base_dd_sub(x[k], base_dd_mul(M[k * n + j], x[j]));
        x[k] = base_dd_div(x[k], M[k * n + k]);
        if (!isfinite(x[k].hi))
            return false;
    }
    return true;
}

/* Right-hand side of tight row r; for linf, 0 less the columns at a bound. */
static dd right_side(const vertex *s, int64_t r)
{
    const svm_columns *of = s->of;
    if (of->l1)
        return base_dd_div(base_dd(of->sigma[r] * of->part->b[r]), base_dd(of->unit));
    dd sum = base_dd(0);
    for (int64_t k = 0; k < of->size; k++)
        if (!in_basis(of, k))
            sum = base_dd_sub(sum, base_dd_mul(base_dd(of->y[k]), entry(s, r, k)));
    return sum;
}

static bool solve(vertex *s)
{
    const svm_columns *of = s->of;
    int64_t n = s->order;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            s->B[i * n + j] = entry(s, s->rows[i], s->columns[j]);
        s->x[i] = right_side(s, s->rows[i]);
        s->y[i] = base_dd(of->l1 ? 1 : s->columns[i] == of->total ? -1 : 0);
    }
    memcpy(s->M, s->B, (size_t)(n * n) * sizeof *s->M);
    if (!eliminate(n, s->M, s->x))
        return false;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            s->M[i * n + j] = s->B[j * n + i];
    return eliminate(n, s->M, s->y);
}

/* W + W_lo = unit x, or unit y/m; lambda + lambda_lo from the prices. */
static bool take_values(const vertex *s, double *W, double *W_lo, double *lambda, double *lambda_lo)
{
    const svm_columns *of = s->of;
    dd unit = base_dd(of->unit);
    for (int64_t i = 0; i < s->order; i++)
        if (s->columns[i] == of->total)
            unit = base_dd_div(unit, s->x[i]);
    if (!(unit.hi > 0) || !isfinite(unit.hi))
        return false;
    for (int64_t k = 0; k < of->size; k++) {
        dd value = base_dd_mul(unit, base_dd(of->l1 ? 0 : of->y[k]));
        W[k] = value.hi;
        W_lo[k] = value.lo;
    }
    for (int64_t i = 0; i < s->order; i++) {
        int64_t k = s->columns[i], e = k % of->size;
        if (k == of->total)
            continue;
        dd value = base_dd_mul(unit, s->x[i]);
        value = k < of->size ? value : (dd){ -value.hi, -value.lo };
        value = of->l1 ? base_dd_add(value, (dd){ W[e], W_lo[e] }) : value;
        W[e] = value.hi;
        W_lo[e] = value.lo;
    }
    memset(lambda, 0, (size_t)of->part->rows * sizeof *lambda);
    memset(lambda_lo, 0, (size_t)of->part->rows * sizeof *lambda_lo);
    for (int64_t i = 0; i < s->order; i++) {
        lambda[s->rows[i]] = of->sigma[s->rows[i]] * s->y[i].hi;
        lambda_lo[s->rows[i]] = of->sigma[s->rows[i]] * s->y[i].lo;
    }
    return true;
}

attsvm_status svm_vertex_solve(svm_columns *of, const svm_set *set, double *W, double *lambda,
                               attsvm_error *err)
{
    const svm_small *part = of->part;
    vertex s = { .of = of, .set = set };
    int64_t rows = 0, columns = 0;
    for (int64_t r = 0; r < part->rows; r++)
        rows += !is_basic(of->row_status[r]);
    for (int64_t k = 0; k < of->total + !of->l1; k++)
        columns += in_basis(of, k);
    if (rows != columns || rows == 0 || rows > MOST)
        return ATTSVM_OK;
    for (int64_t k = 0; k < of->size && !of->l1; k++) /* position of y among the others */
        if (of->in[k])
            of->y[k] = (of->column_status[k] & CLP_MASK) == CLP_UPPER ? 1 : -1;
    s.order = rows;
    arena a = { 0 };
    size_t n = (size_t)rows;
    for (int pass = 0; pass < 2; pass++) {
        s.rows = take_int64(&a, n);
        s.columns = take_int64(&a, n);
        s.x = base_take(&a, n, sizeof *s.x);
        s.y = base_take(&a, n, sizeof *s.y);
        s.B = base_take(&a, n * n, sizeof *s.B);
        s.M = base_take(&a, n * n, sizeof *s.M);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "basis", err));
    }
    for (int64_t r = 0, at = 0; r < part->rows; r++)
        if (!is_basic(of->row_status[r]))
            s.rows[at++] = r;
    for (int64_t k = 0, at = 0; k < of->total + !of->l1; k++)
        if (in_basis(of, k))
            s.columns[at++] = k;
    *part->refined = solve(&s) && take_values(&s, W, part->W_lo, lambda, part->lambda_lo);
    free(a.base);
    return ATTSVM_OK;
}
