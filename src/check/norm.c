/*
 * Norms of double-double matrices, from above: the exact norm is at most value + error.  The
 * entries are first divided by a power of two, so that no square overflows or vanishes.
 *
 * l2, l1 and linf cost a few double-double roundings per entry.  l_q uses powers in double, whose
 * relative error (at most 2^-50) is far below the gaps of such problems.
 */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>

attsvm_norm check_dual_norm(attsvm_norm norm, double q, double *dual_q)
{
    *dual_q = q / (q - 1);
    switch (norm) {
    case ATTSVM_NORM_NUC: return ATTSVM_NORM_SPECTRAL;
    case ATTSVM_NORM_SPECTRAL: return ATTSVM_NORM_NUC;
    case ATTSVM_NORM_L1: return ATTSVM_NORM_LINF;
    case ATTSVM_NORM_LINF: return ATTSVM_NORM_L1;
    case ATTSVM_NORM_LQ:
    case ATTSVM_NORM_L2:
    case ATTSVM_NORM_FRO: break;
    }
    return norm;
}

/* Exponent k of the largest entry, 2^k <= |entry| < 2^(k+1).  False where an entry is not finite.
   A zero matrix has k = 0 and *zero. */
static bool exponent_of(const dd *A, int64_t count, int *k, bool *zero)
{
    double largest = 0;
    for (int64_t j = 0; j < count; j++) {
        double size = fabs(A[j].hi);
        if (!(size <= 0x1.fffffffffffffp+1023) || isnan(A[j].lo))
            return false;
        largest = size > largest ? size : largest;
    }
    *zero = largest == 0;
    *k = *zero ? 0 : ilogb(largest);
    return true;
}

static dd scaled(dd a, int k)
{
    return (dd){ ldexp(a.hi, k), ldexp(a.lo, k) };
}

static dd sum_of_squares(const dd *A, int64_t count, int k)
{
    check_sum sum = { 0, 0 };
    if (k > -256 && k < 256) { /* squares are safe as they are */
        for (int64_t j = 0; j < count; j++)
            check_sum_add(&sum, A[j], A[j]);
        return scaled(check_sum_value(sum), -2 * k);
    }
    for (int64_t j = 0; j < count; j++) {
        dd a = scaled(A[j], -k);
        check_sum_add(&sum, a, a);
    }
    return check_sum_value(sum);
}

static dd absolute(dd a)
{
    return a.hi < 0 ? (dd){ -a.hi, -a.lo } : a;
}

static dd sum_of_sizes(const dd *A, int64_t count, int k)
{
    dd sum = base_dd(0);
    for (int64_t j = 0; j < count; j++)
        sum = base_dd_add(sum, absolute(scaled(A[j], -k)));
    return sum;
}

static dd largest_size(const dd *A, int64_t count, int k)
{
    dd largest = base_dd(0);
    for (int64_t j = 0; j < count; j++) {
        dd size = absolute(A[j]);
        if (base_dd_compare(size, largest) > 0)
            largest = size;
    }
    return scaled(largest, -k);
}

static dd sum_of_powers(const dd *A, int64_t count, int k, double q)
{
    dd sum = base_dd(0);
    for (int64_t j = 0; j < count; j++)
        sum = base_dd_add(sum, base_dd(base_pow(ldexp(fabs(A[j].hi), -k), q)));
    return sum;
}

/* In units of 2^k; a matrix norm only of vectors. */
static dd size_in_units(attsvm_norm norm, double q, const dd *A, int64_t count, int k)
{
    switch (norm) {
    case ATTSVM_NORM_L1: return sum_of_sizes(A, count, k);
    case ATTSVM_NORM_LINF: return largest_size(A, count, k);
    case ATTSVM_NORM_LQ:
        return base_dd(base_pow(base_dd_value(sum_of_powers(A, count, k, q)), 1 / q));
    case ATTSVM_NORM_NUC:
    case ATTSVM_NORM_SPECTRAL:
    case ATTSVM_NORM_L2:
    case ATTSVM_NORM_FRO: return base_dd_sqrt(sum_of_squares(A, count, k));
    }
    return base_dd(INFINITY);
}

attsvm_status check_size_of(check_size *out, attsvm_norm norm, double q, const dd *A, int64_t rows,
                            int64_t columns, const check_problem *problem, attsvm_error *err)
{
    int64_t count = rows * columns;
    int k;
    bool zero;
    *out = (check_size){ base_dd(INFINITY), 0 };
    if (!exponent_of(A, count, &k, &zero))
        return ATTSVM_OK;
    *out = (check_size){ base_dd(0), 0 };
    if (zero)
        return ATTSVM_OK;
    const bool singular = norm == ATTSVM_NORM_NUC || norm == ATTSVM_NORM_SPECTRAL;
    if (singular && rows > 1 && columns > 1)
        return check_singular(out, norm == ATTSVM_NORM_NUC, A, rows, columns, problem, err);
    const dd size = size_in_units(norm, q, A, count, k);
    double relative = check_sum_error(count);
    if (norm == ATTSVM_NORM_LQ)
        /* pow, its argument and q (a rounded quotient for a dual norm) are each wrong by some
           units; a change of q by a relative u changes the norm by at most u log(count) */
        relative += 0x1p-50 * (2 + base_log((double)count));
    out->error = ldexp(relative * size.hi, k);
    out->value = scaled(size, k);
    return ATTSVM_OK;
}

double check_vector_norm(attsvm_norm norm, double q, const double *x, int64_t count)
{
    double largest = 0, sum = 0;
    for (int64_t j = 0; j < count; j++)
        largest = fabs(x[j]) > largest ? fabs(x[j]) : largest;
    if (largest == 0 || norm == ATTSVM_NORM_LINF)
        return largest;
    int k = ilogb(largest);
    if (norm == ATTSVM_NORM_L1 || norm == ATTSVM_NORM_LQ) {
        double power = norm == ATTSVM_NORM_L1 ? 1 : q;
        for (int64_t j = 0; j < count; j++)
            sum += base_pow(ldexp(fabs(x[j]), -k), power);
        return ldexp(base_pow(sum, 1 / power), k);
    }
    double scale = k > -256 && k < 256 ? 1 : ldexp(1, -k);
    for (int64_t j = 0; j < count; j++)
        sum += x[j] * scale * (x[j] * scale);
    return sqrt(sum) / scale;
}

/* ---------------------------------------------------------------- singular values */

/*
 * Nuclear and spectral norms from above.  One-sided Jacobi rotations in double give a V whose
 * columns nearly diagonalise A'A; the bounds do not rely on its accuracy.  With B = A V, in
 * double-double, and eta = |V'V - I|, so that |V^-1| <= 1/sqrt(1 - eta):
 *
 *   |A|_nuclear  <= |B|_nuclear |V^-1|  <= (sum_j |b_j|) / sqrt(1 - eta)
 *   |A|_spectral <= |B|_spectral |V^-1| <= sqrt(max_i sum_j |b_i'b_j|) / sqrt(1 - eta)
 *
 * for any V.  A good V makes both bounds sharp to about 1e-15.
 */

enum { MOST_SWEEPS = 40 };

/* All matrices are stored by columns: column j of `a` (rows x columns) is at a + j * rows. */
typedef struct singular {
    const dd *A;           /* rows x columns, row-major, or its transpose    */
    int64_t rows, columns; /* of the matrix worked on, rows >= columns       */
    bool transposed;
    int exponent; /* entries are divided by 2^exponent              */
    double *a;    /* A V in double                                   */
    double *V;    /* columns x columns                               */
    dd *B;        /* A V in double-double                            */
    const check_problem *problem;
    double *row_B, *row_V; /* sum_j |b_i'b_j|, sum_j |(V'V - I)_ij|  */
} singular;

static dd entry(const singular *s, int64_t i, int64_t j)
{
    dd a = s->transposed ? s->A[j * s->rows + i] : s->A[i * s->columns + j];
    return (dd){ ldexp(a.hi, -s->exponent), ldexp(a.lo, -s->exponent) };
}

static double dot(const double *x, const double *y, int64_t count)
{
    double sum = 0;
    for (int64_t j = 0; j < count; j++)
        sum += x[j] * y[j];
    return sum;
}

static void rotate(double *x, double *y, int64_t count, double c, double s)
{
    for (int64_t j = 0; j < count; j++) {
        double u = x[j];
        x[j] = c * u - s * y[j];
        y[j] = s * u + c * y[j];
    }
}

/* One sweep over all pairs of columns; returns the number of rotations, 0 after a stop. */
static int64_t sweep(singular *s)
{
    int64_t rotations = 0;
    for (int64_t i = 0; i < s->columns; i++) {
        if (check_stops(s->problem, 8.0 * (double)(s->rows * (s->columns - i))))
            return 0;
        for (int64_t j = i + 1; j < s->columns; j++) {
            double *x = s->a + i * s->rows, *y = s->a + j * s->rows;
            double xx = dot(x, x, s->rows), yy = dot(y, y, s->rows), xy = dot(x, y, s->rows);
            if (!(fabs(xy) > 0x1p-52 * sqrt(xx * yy)))
                continue;
            double zeta = (yy - xx) / (2 * xy);
            double t = copysign(1 / (fabs(zeta) + sqrt(1 + zeta * zeta)), zeta);
            double c = 1 / sqrt(1 + t * t);
            rotate(x, y, s->rows, c, c * t);
            rotate(s->V + i * s->columns, s->V + j * s->columns, s->columns, c, c * t);
            rotations++;
        }
    }
    return rotations;
}

static void product_column(void *context, int64_t j, int worker)
{
    singular *s = context;
    if (dist_stop_inside(s->problem->stop, worker))
        return;
    for (int64_t i = 0; i < s->rows; i++) {
        dd sum = base_dd(0);
        for (int64_t k = 0; k < s->columns; k++)
            sum = base_dd_add(sum, base_dd_mul(entry(s, i, k), base_dd(s->V[j * s->columns + k])));
        s->B[j * s->rows + i] = sum;
    }
}

static void gram_row(void *context, int64_t i, int worker)
{
    singular *s = context;
    if (dist_stop_inside(s->problem->stop, worker))
        return;
    s->row_B[i] = s->row_V[i] = 0;
    for (int64_t j = 0; j < s->columns; j++) {
        dd b = base_dd(0);
        for (int64_t k = 0; k < s->rows; k++)
            b = base_dd_add(b, base_dd_mul(s->B[i * s->rows + k], s->B[j * s->rows + k]));
        s->row_B[i] += fabs(base_dd_value(b));
        dd v = base_dd_dot(s->V + i * s->columns, s->V + j * s->columns, s->columns);
        s->row_V[i] += fabs(base_dd_value(base_dd_sub(v, base_dd(i == j))));
    }
}

static void layout(singular *s, arena *a)
{
    size_t rows = (size_t)s->rows, columns = (size_t)s->columns;
    s->a = take(a, rows * columns);
    s->V = take(a, columns * columns);
    s->B = base_take(a, rows * columns, sizeof(dd));
    s->row_B = take(a, columns);
    s->row_V = take(a, columns);
}

static void start(singular *s)
{
    double largest = 0;
    for (int64_t k = 0; k < s->rows * s->columns; k++)
        largest = fabs(s->A[k].hi) > largest ? fabs(s->A[k].hi) : largest;
    s->exponent = ilogb(largest);
    for (int64_t j = 0; j < s->columns; j++) {
        for (int64_t i = 0; i < s->rows; i++)
            s->a[j * s->rows + i] = entry(s, i, j).hi;
        s->V[j * s->columns + j] = 1;
    }
}

/* The bounds above, from row sums of the two Gram matrices. */
static check_size bound(const singular *s, bool nuclear)
{
    double eta = 0, top = 0;
    dd sum = base_dd(0);
    for (int64_t j = 0; j < s->columns; j++) {
        dd square = base_dd(0);
        for (int64_t k = 0; k < s->rows; k++)
            square = base_dd_add(square, base_dd_mul(s->B[j * s->rows + k], s->B[j * s->rows + k]));
        sum = base_dd_add(sum, base_dd_sqrt(square));
        eta = check_max(eta, s->row_V[j]);
        top = check_max(top, s->row_B[j]);
    }
    if (!(eta < 0.5))
        return (check_size){ base_dd(INFINITY), 0 };
    double value = nuclear ? base_dd_value(sum) : sqrt(top);
    double count = (double)(s->rows + s->columns);
    /* 1/sqrt(1-eta) <= 1 + eta below 1/2; row sums were added up in double */
    double error = value * (eta + (count + 8) * CHECK_UNIT);
    return (check_size){ base_dd(ldexp(value, s->exponent)), ldexp(error, s->exponent) };
}

/* Jacobi rotations until the columns of A V are orthogonal; the caller frees `memory`. */
static attsvm_status decompose(singular *s, const check_problem *problem, const dd *A, int64_t rows,
                               int64_t columns, arena *memory, attsvm_error *err)
{
    *s = (singular){ .problem = problem, .A = A, .rows = rows, .columns = columns };
    if (columns > rows) {
        s->rows = columns;
        s->columns = rows;
        s->transposed = true;
    }
    layout(s, memory);
    TRY(base_arena_allocate(memory, "singular values", err));
    layout(s, memory);
    start(s);
    for (int round = 0; round < MOST_SWEEPS && sweep(s) > 0; round++)
        ;
    return ATTSVM_OK;
}

attsvm_status check_singular(check_size *out, bool nuclear, const dd *A, int64_t rows,
                             int64_t columns, const check_problem *problem, attsvm_error *err)
{
    singular s;
    arena memory = { 0 };
    TRY(decompose(&s, problem, A, rows, columns, &memory, err));
    base_parallel(problem->threads, s.columns, product_column, &s);
    base_parallel(problem->threads, s.columns, gram_row, &s);
    *out = check_stops(problem, 0) ? (check_size){ base_dd(INFINITY), 0 } : bound(&s, nuclear);
    free(memory.base);
    return ATTSVM_OK;
}

attsvm_status check_singular_vectors(const check_problem *problem, const dd *A, int64_t d,
                                     double *sigma, double *U, double *V, attsvm_error *err)
{
    singular s;
    arena memory = { 0 };
    TRY(decompose(&s, problem, A, d, d, &memory, err));
    for (int64_t k = 0; k < d; k++) { /* the largest of what is left */
        int64_t at = 0;
        double largest = -1;
        for (int64_t j = 0; j < d; j++) {
            double size = s.row_V[j] < 0 ? -1 : sqrt(dot(s.a + j * d, s.a + j * d, d));
            if (size > largest) {
                largest = size;
                at = j;
            }
        }
        s.row_V[at] = -1;
        sigma[k] = ldexp(largest, s.exponent);
        for (int64_t i = 0; i < d; i++) {
            U[k * d + i] = largest > 0 ? s.a[at * d + i] / largest : 0;
            V[k * d + i] = s.V[at * d + i];
        }
    }
    free(memory.base);
    return ATTSVM_OK;
}
