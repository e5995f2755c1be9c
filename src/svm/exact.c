/*
 * Proofs of infeasibility in rational numbers (theory 4.1): the multipliers of rows that cancel
 * exactly.  An active set ends with one row that depends on others; with its multiplier fixed,
 * those of the others solve a regular system over as many entries of theta.  The system is solved
 * exactly, and the sum is then verified in every entry.
 */
#include "base/rational.h"
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the elimination; beyond them it would take seconds. */
enum { MOST_ROWS = 160, MOST_NUMBERS = 2000000 };
enum { EXACT = 200 }; /* multiplications in double that take as long as one of exact numbers */

typedef struct proof {
    svm_run *run;
    int64_t rows, size;    /* rows of the proof; entries of theta         */
    int64_t *slot, *pivot; /* rows: slots, the fixed one last; columns     */
    mpq_t *A;              /* rows x size                                 */
    double *near;          /* the same, rounded: scratch                   */
    mpz_t *M, *right;      /* (rows-1)^2, rows-1                          */
    mpz_t *line, *y;       /* rows: scratch; numerators of the multipliers */
    mpz_t det;             /* their denominator, above 0                  */
} proof;

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

static bool stops(void *run, double work)
{
    return svm_stop_proof(run, work);
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
        if (stops(s->run, (double)((k + EXACT) * N)))
            return false;
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

/* out (rows) = column j of A times a power of two that makes integers of it. */
static void integers_of(const proof *s, int64_t j, mpz_t *out)
{
    mpz_t scale;
    mpz_init_set_ui(scale, 1);
    for (int64_t k = 0; k < s->rows; k++)
        mpz_lcm(scale, scale, mpq_denref(s->A[k * s->size + j]));
    for (int64_t k = 0; k < s->rows; k++) {
        mpz_divexact(out[k], scale, mpq_denref(s->A[k * s->size + j]));
        mpz_mul(out[k], out[k], mpq_numref(s->A[k * s->size + j]));
    }
    mpz_clear(scale);
}

/*
 * Equation k: sum_i lambda_i A_i = -lambda_last A_last in column pivot[k], lambda = y / det, with
 * lambda_last = 1 or, where `negative` (an equality), -1.
 */
static attsvm_status solve(proof *s, bool negative, bool *solved, attsvm_error *err)
{
    int64_t n = s->rows - 1;
    for (int64_t k = 0; k < n; k++) {
        integers_of(s, s->pivot[k], s->line);
        for (int64_t i = 0; i < n; i++)
            mpz_set(s->M[k * n + i], s->line[i]);
        if (negative)
            mpz_set(s->right[k], s->line[n]);
        else
            mpz_neg(s->right[k], s->line[n]);
    }
    base_ask ask = { stops, s->run };
    TRY(base_rational_solve(s->M, s->right, n, 1, s->y, s->det, &ask, solved, err));
    mpz_set(s->y[n], s->det);
    if (negative)
        mpz_neg(s->y[n], s->y[n]);
    return ATTSVM_OK;
}

/* Signs, and sum_k y_k A_k = 0 in every entry. */
static bool verify(const proof *s)
{
    const svm_set *set = &s->run->set;
    bool good = true;
    mpz_t sum;
    mpz_init(sum);
    for (int64_t k = 0; k < s->rows; k++)
        good = good && (set->equality[s->slot[k]] || mpz_sgn(s->y[k]) >= 0);
    for (int64_t j = 0; j < s->size && good; j++) {
        integers_of(s, j, s->line);
        mpz_set_ui(sum, 0);
        for (int64_t k = 0; k < s->rows; k++)
            mpz_addmul(sum, s->y[k], s->line[k]);
        good = mpz_sgn(sum) == 0 &&
               !stops(s->run, (double)s->rows * (EXACT + 4 * (double)mpz_size(s->det)));
    }
    mpz_clear(sum);
    return good;
}

/* y / det as a double and a low part. */
static void split(const mpz_t y, const mpz_t det, double *hi, double *lo)
{
    mpq_t x, rest;
    mpq_init(x);
    mpq_init(rest);
    mpz_set(mpq_numref(x), y);
    mpz_set(mpq_denref(x), det);
    mpq_canonicalize(x);
    *hi = mpq_get_d(x);
    mpq_set_d(rest, *hi);
    mpq_sub(rest, x, rest);
    dd sum = base_dd_sum(*hi, mpq_get_d(rest));
    *hi = sum.hi;
    *lo = sum.lo;
    mpq_clear(x);
    mpq_clear(rest);
}

/* Solves and verifies; writes the multipliers to coef and low, in units of the set. */
static attsvm_status eliminate(proof *s, double *coef, double *low, double *scratch, bool *exact,
                               attsvm_error *err)
{
    const svm_set *set = &s->run->set;
    for (int64_t k = 0; k < s->rows; k++) {
        if (stops(s->run, EXACT * (double)s->size))
            return ATTSVM_OK;
        read_row(s, k, scratch);
    }
    if (!choose_columns(s))
        return ATTSVM_OK;
    TRY(solve(s, coef[s->slot[s->rows - 1]] < 0, exact, err));
    *exact = *exact && verify(s);
    for (int64_t k = 0; k < s->rows && *exact; k++) {
        int64_t slot = s->slot[k];
        split(s->y[k], s->det, &coef[slot], &low[slot]);
        coef[slot] /= set->sigma[slot]; /* a power of two */
        low[slot] /= set->sigma[slot];
    }
    return ATTSVM_OK;
}

/* The rows of the proof, the one with the largest multiplier and a right-hand side last. */
static void choose_rows(proof *s, const double *coef)
{
    const svm_set *set = &s->run->set;
    int64_t last = -1, count = 0;
    for (int64_t k = 0; k < set->count; k++)
        if (coef[k] != 0 && set->b[k] != 0 &&
            (last < 0 || fabs(coef[k]) * set->length[k] > fabs(coef[last]) * set->length[last]))
            last = k;
    for (int64_t k = 0; k < set->count; k++)
        if (coef[k] != 0 && k != last)
            s->slot[count++] = k;
    s->slot[count] = last;
}

attsvm_status svm_exact_contradiction(svm_run *run, double *coef, double *low, bool *exact,
                                      attsvm_error *err)
{
    const svm_set *set = &run->set;
    const double bits = 256; /* of an entry: products of two differences of doubles */
    proof s = { .run = run, .size = set->size };
    bool valued = false;
    *exact = false;
    for (int64_t k = 0; k < set->count; k++) {
        s.rows += coef[k] != 0;
        valued = valued || (coef[k] != 0 && set->b[k] != 0);
    }
    if (!valued || s.rows > MOST_ROWS || s.rows > MOST_NUMBERS / s.size)
        return ATTSVM_OK;
    double *scratch;
    int64_t rows = s.rows, entries = rows * s.size;
    TRY(base_rational_probe((double)(2 * entries + rows * rows), bits, "exact proof", err));
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        s.slot = take_int64(&a, (size_t)rows);
        s.pivot = take_int64(&a, (size_t)rows);
        s.near = take(&a, (size_t)entries);
        scratch = take(&a, 3 * (size_t)run->rows->d);
        s.A = base_take(&a, (size_t)entries, sizeof *s.A);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "exact proof", err));
    }
    for (int64_t k = 0; k < entries; k++)
        mpq_init(s.A[k]);
    choose_rows(&s, coef);
    attsvm_status status = ATTSVM_E_MEMORY;
    mpz_init(s.det);
    s.M = base_rational_integers(rows * (rows + 3), err);
    if (s.M) {
        s.right = s.M + rows * rows;
        s.line = s.right + rows;
        s.y = s.line + rows;
        status = eliminate(&s, coef, low, scratch, exact, err);
    }
    mpz_clear(s.det);
    base_rational_free(s.M, rows * (rows + 3));
    for (int64_t k = 0; k < entries; k++)
        mpq_clear(s.A[k]);
    free(a.base);
    return status;
}
