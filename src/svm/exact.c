/*
 * Proofs of infeasibility in rational numbers (theory 4.1): the multipliers of rows that cancel
 * exactly.  An active set ends with one row that depends on others; with its multiplier fixed,
 * those of the others solve a regular system over as many entries of theta.  The system is solved
 * over the integers (Bareiss 1968), and the sum is then verified in every entry.
 */
#include "svm/svm.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the elimination; beyond them it would take seconds. */
enum { MOST_ROWS = 160, MOST_NUMBERS = 2000000 };

typedef struct proof {
    svm_run *run;
    int64_t rows, size;    /* rows of the proof; entries of theta         */
    int64_t *slot, *pivot; /* rows: slots, the fixed one last; columns     */
    mpq_t *A;              /* rows x size                                 */
    double *near;          /* the same, rounded: scratch                   */
    mpz_t *M, *y;          /* (rows-1)^2, rows-1                          */
    mpz_t det;
} proof;

static mpz_t *integers(int64_t count)
{
    mpz_t *a = malloc((size_t)(count + 1) * sizeof *a);
    for (int64_t k = 0; a && k < count; k++)
        mpz_init(a[k]);
    return a;
}

static void free_integers(mpz_t *a, int64_t count)
{
    for (int64_t k = 0; a && k < count; k++)
        mpz_clear(a[k]);
    free(a);
}

/* out = x_base - x_t in coordinate j (of v: Y x_base), exactly. */
static void difference(const svm_run *run, const svm_term *at, const double *base, const double *x,
                       int64_t j, mpq_t out, mpq_t spare)
{
    mpq_set_d(out, base[j]);
    if (run->rows->problem == ATTSVM_PROBLEM_V) {
        if (data_terms_label(&run->rows->terms, at->i, 0) < 0)
            mpq_neg(out, out);
        return;
    }
    mpq_set_d(spare, x[j]);
    mpq_sub(out, out, spare);
}

/* Row k of A from the data: W delta, delta, or delta z'. */
static void read_row(proof *s, int64_t k, double *scratch)
{
    const svm_rows *rows = s->run->rows;
    int64_t d = rows->d, slot = s->slot[k];
    svm_term at = svm_rows_term(rows, s->run->set.term[slot]);
    double *base = scratch, *x = scratch + d, *z = scratch + 2 * d;
    mpq_t delta, factor, *A = s->A + k * s->size;
    mpq_init(delta);
    mpq_init(factor);
    attsvm_data_token(rows->data, at.i, at.base, base);
    attsvm_data_token(rows->data, at.i, s->run->set.token[slot], x);
    if (rows->matrix)
        svm_rows_query(rows, &at, z);
    for (int64_t j = 0; j < d; j++) {
        difference(s->run, &at, base, x, j, delta, factor);
        for (int64_t l = 0; l < d && rows->matrix; l++) {
            mpq_set_d(factor, z[l]);
            mpq_mul(A[j * d + l], delta, factor);
        }
        if (!rows->matrix && !rows->keymap)
            mpq_set(A[j], delta);
        for (int64_t i = 0; i < d && rows->keymap; i++) {
            mpq_set_d(factor, rows->keymap[i * d + j]);
            mpq_mul(factor, factor, delta);
            mpq_add(A[i], A[i], factor);
        }
    }
    mpq_clear(delta);
    mpq_clear(factor);
}

/* Columns in which all rows but the last are independent, by elimination in double. */
static bool choose_columns(proof *s)
{
    int64_t n = s->rows - 1, N = s->size;
    for (int64_t k = 0; k < n; k++) {
        double *row = s->near + k * N, largest = 0;
        for (int64_t j = 0; j < N; j++)
            row[j] = mpq_get_d(s->A[k * N + j]);
        double size = la_norm(row, N);
        for (int64_t i = 0; i < k; i++) {
            const double *other = s->near + i * N;
            la_axpy(-row[s->pivot[i]] / other[s->pivot[i]], other, row, N);
        }
        s->pivot[k] = -1;
        for (int64_t j = 0; j < N; j++)
            if (fabs(row[j]) > largest) {
                largest = fabs(row[j]);
                s->pivot[k] = j;
            }
        if (!(largest > 0) || !(largest >= 1e-300 * size))
            return false;
    }
    return true;
}

/* Equation k: sum_i lambda_i A_i = -lambda_last A_last in column pivot[k], times a power of two. */
static void fill_system(proof *s, const mpq_t fixed)
{
    int64_t n = s->rows - 1;
    mpq_t value;
    mpz_t scale;
    mpq_init(value);
    mpz_init(scale);
    for (int64_t k = 0; k < n; k++) {
        const int64_t column = s->pivot[k];
        mpq_mul(value, s->A[n * s->size + column], fixed);
        mpq_neg(value, value);
        mpz_set(scale, mpq_denref(value));
        for (int64_t i = 0; i < n; i++)
            mpz_lcm(scale, scale, mpq_denref(s->A[i * s->size + column]));
        for (int64_t i = 0; i < n; i++) {
            mpz_divexact(s->M[k * n + i], scale, mpq_denref(s->A[i * s->size + column]));
            mpz_mul(s->M[k * n + i], s->M[k * n + i], mpq_numref(s->A[i * s->size + column]));
        }
        mpz_divexact(s->y[k], scale, mpq_denref(value));
        mpz_mul(s->y[k], s->y[k], mpq_numref(value));
    }
    mpq_clear(value);
    mpz_clear(scale);
}

/* a = (a pivot - left above) / previous */
static void reduce(mpz_t a, const mpz_t pivot, const mpz_t left, const mpz_t above,
                   const mpz_t previous, mpz_t spare)
{
    mpz_mul(a, a, pivot);
    mpz_mul(spare, left, above);
    mpz_sub(a, a, spare);
    mpz_divexact(a, a, previous);
}

/* y <- det M^-1 y; false if M is singular. */
static bool solve(proof *s)
{
    int64_t n = s->rows - 1;
    bool regular = true;
    mpz_t previous, spare, left;
    mpz_init_set_ui(previous, 1);
    mpz_init(spare);
    mpz_init(left);
    for (int64_t k = 0; k < n && regular; k++) {
        int64_t at = k;
        while (at < n && mpz_sgn(s->M[at * n + k]) == 0)
            at++;
        regular = at < n;
        for (int64_t j = 0; j < n && regular; j++)
            mpz_swap(s->M[at * n + j], s->M[k * n + j]);
        if (regular)
            mpz_swap(s->y[at], s->y[k]);
        for (int64_t i = 0; i < n && regular; i++) {
            if (i == k)
                continue;
            mpz_set(left, s->M[i * n + k]);
            if (i < k)
                reduce(s->M[i * n + i], s->M[k * n + k], left, s->M[k * n + i], previous, spare);
            for (int64_t j = k + 1; j < n; j++)
                reduce(s->M[i * n + j], s->M[k * n + k], left, s->M[k * n + j], previous, spare);
            reduce(s->y[i], s->M[k * n + k], left, s->y[k], previous, spare);
            mpz_set_ui(s->M[i * n + k], 0);
        }
        if (regular)
            mpz_set(previous, s->M[k * n + k]);
    }
    mpz_set(s->det, previous);
    mpz_clear(previous);
    mpz_clear(spare);
    mpz_clear(left);
    return regular;
}

/* lambda (rows) from y / det and the fixed one; verifies signs, and the sum in every entry. */
static bool verify(const proof *s, mpq_t *lambda)
{
    const svm_set *set = &s->run->set;
    bool good = true;
    mpq_t sum, product;
    mpq_init(sum);
    mpq_init(product);
    for (int64_t k = 0; k < s->rows - 1; k++) {
        mpz_set(mpq_numref(lambda[k]), s->y[k]);
        mpz_set(mpq_denref(lambda[k]), s->det);
        mpq_canonicalize(lambda[k]);
        good = good && (set->equality[s->slot[k]] || mpq_sgn(lambda[k]) >= 0);
    }
    for (int64_t j = 0; j < s->size && good; j++) {
        mpq_set_ui(sum, 0, 1);
        for (int64_t k = 0; k < s->rows; k++) {
            mpq_mul(product, lambda[k], s->A[k * s->size + j]);
            mpq_add(sum, sum, product);
        }
        good = mpq_sgn(sum) == 0;
    }
    mpq_clear(sum);
    mpq_clear(product);
    return good;
}

/* Splits x into its nearest double and a low part. */
static void split(const mpq_t x, double *hi, double *lo)
{
    mpq_t rest;
    mpq_init(rest);
    *hi = mpq_get_d(x);
    mpq_set_d(rest, *hi);
    mpq_sub(rest, x, rest);
    dd sum = base_dd_sum(*hi, mpq_get_d(rest));
    *hi = sum.hi;
    *lo = sum.lo;
    mpq_clear(rest);
}

/* Eliminates and verifies; writes the multipliers to coef and low, in units of the set. */
static bool eliminate(proof *s, double *coef, double *low, double *scratch)
{
    const svm_set *set = &s->run->set;
    mpq_t *lambda = malloc((size_t)s->rows * sizeof *lambda);
    for (int64_t k = 0; k < s->rows; k++)
        mpq_init(lambda[k]);
    for (int64_t k = 0; k < s->rows; k++)
        read_row(s, k, scratch);
    mpq_set_d(lambda[s->rows - 1], coef[s->slot[s->rows - 1]] * set->sigma[s->slot[s->rows - 1]]);
    bool good = choose_columns(s);
    if (good) {
        fill_system(s, lambda[s->rows - 1]);
        good = solve(s) && verify(s, lambda);
    }
    for (int64_t k = 0; k < s->rows && good; k++) {
        int64_t slot = s->slot[k];
        split(lambda[k], &coef[slot], &low[slot]);
        coef[slot] /= set->sigma[slot]; /* a power of two */
        low[slot] /= set->sigma[slot];
    }
    for (int64_t k = 0; k < s->rows; k++)
        mpq_clear(lambda[k]);
    free(lambda);
    return good;
}

attsvm_status svm_exact_contradiction(svm_run *run, double *coef, double *low, bool *exact,
                                      attsvm_error *err)
{
    const svm_set *set = &run->set;
    proof s = { .run = run, .size = set->size };
    int64_t last = -1;
    *exact = false;
    for (int64_t k = 0; k < set->count; k++) {
        if (coef[k] == 0)
            continue;
        s.rows++;
        /* fix the multiplier of a row with nonzero value, the largest one */
        if (set->b[k] != 0 &&
            (last < 0 || fabs(coef[k]) * set->length[k] > fabs(coef[last]) * set->length[last]))
            last = k;
    }
    if (last < 0 || s.rows > MOST_ROWS || s.rows > MOST_NUMBERS / s.size)
        return ATTSVM_OK;
    double *scratch;
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        s.slot = take_int64(&a, (size_t)s.rows);
        s.pivot = take_int64(&a, (size_t)s.rows);
        s.near = take(&a, (size_t)(s.rows * s.size));
        scratch = take(&a, 3 * (size_t)run->rows->d);
        s.A = base_take(&a, (size_t)(s.rows * s.size), sizeof *s.A);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "exact proof", err));
    }
    for (int64_t k = 0; k < s.rows * s.size; k++)
        mpq_init(s.A[k]);
    int64_t count = 0;
    for (int64_t k = 0; k < set->count; k++)
        if (coef[k] != 0 && k != last)
            s.slot[count++] = k;
    s.slot[count] = last;
    s.M = integers(count * count);
    s.y = integers(count);
    mpz_init(s.det);
    *exact = eliminate(&s, coef, low, scratch);
    mpz_clear(s.det);
    free_integers(s.M, count * count);
    free_integers(s.y, count);
    for (int64_t k = 0; k < s.rows * s.size; k++)
        mpq_clear(s.A[k]);
    free(a.base);
    return ATTSVM_OK;
}
