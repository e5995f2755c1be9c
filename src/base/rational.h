/* rational: linear systems of integers, solved exactly (GMP). */
#ifndef ATTSVM_BASE_RATIONAL_H
#define ATTSVM_BASE_RATIONAL_H

#include "base/base.h"

#include <gmp.h>

/* `count` zeros; free with base_rational_free.  NULL on failure. */
mpz_t *base_rational_integers(int64_t count, attsvm_error *err);
void base_rational_free(mpz_t *a, int64_t count);

/*
 * GMP ends the process when memory runs out. Fails before that can happen: allocates and frees
 * `numbers` numbers of `bits` bits.
 */
attsvm_status base_rational_probe(double numbers, double bits, const char *what, attsvm_error *err);

/*
 * Modulo the prime 2^61 - 1, in which a double is exact.  The sum of u_j x_j, u (n) residues; the
 * product; the rank of M (rows x columns, overwritten), which is at most that over the rational
 * numbers, and less only by bad luck.
 */
uint64_t base_rational_dot(const uint64_t *u, const double *x, int64_t n);
uint64_t base_rational_times(uint64_t a, uint64_t b);
int64_t base_rational_rank(uint64_t *M, int64_t rows, int64_t columns);

/* Asked in long loops, after about `work` products of words; true: give up. */
typedef struct base_ask {
    bool (*stop)(void *context, double work);
    void *context;
} base_ask;

/*
 * x = y / denominator solves M x = r: M (n x n), r and y (n x sides), denominator > 0. The solution
 * is checked by substitution. *solved is false if M is singular, the work exceeds the limit, or
 * `ask` (may be NULL) gave up.
 */
attsvm_status base_rational_solve(const mpz_t *M, const mpz_t *r, int64_t n, int64_t sides,
                                  mpz_t *y, mpz_t denominator, const base_ask *ask, bool *solved,
                                  attsvm_error *err);

#endif
