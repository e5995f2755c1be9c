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
 * x = y / denominator solves M x = r: M (n x n), r and y (n x sides), denominator > 0. The solution
 * is checked by substitution. *solved is false if M is singular or the work exceeds the limit.
 */
attsvm_status base_rational_solve(const mpz_t *M, const mpz_t *r, int64_t n, int64_t sides,
                                  mpz_t *y, mpz_t denominator, bool *solved, attsvm_error *err);

#endif
