/*
 * Exact numbers: m 2^e with an integer m of any length (GMP).  Every double is one, and so are sums
 * and products of them; quotients are avoided by keeping numerator and denominator apart.
 */
#ifndef ATTSVM_CHECK_EXACT_H
#define ATTSVM_CHECK_EXACT_H

#include "base/rational.h"
#include "dist/stop.h"

typedef struct check_exact {
    mpz_t m;
    int64_t e;
} check_exact;

void check_exact_open(check_exact *a); /* 0 */
void check_exact_close(check_exact *a);
void check_exact_set(check_exact *a, double x); /* x finite */
void check_exact_copy(check_exact *a, const check_exact *b);
void check_exact_add(check_exact *a, const check_exact *b);      /* a += b   */
void check_exact_subtract(check_exact *a, const check_exact *b); /* a -= b   */
void check_exact_multiply(check_exact *a, const check_exact *b); /* a *= b   */
void check_exact_add_product(check_exact *a, const check_exact *b, const check_exact *c);
void check_exact_square(check_exact *a); /* a *= a   */
/* The norm of x (count) in l1 or linf, or the square of that in l2. */
void check_exact_norm(attsvm_norm norm, const check_exact *x, int64_t count, check_exact *out);
int check_exact_sign(const check_exact *a);
int check_exact_compare(const check_exact *a, const check_exact *b);
/* The nearest two doubles towards zero: |a - value| <= 2^-104 |value|, 0 only for 0; infinite or 0
   (with *in_range false) beyond the range of doubles. */
dd check_exact_value(const check_exact *a, bool *in_range);
/* a / b as a double that is at least as large; a >= 0, b > 0. */
double check_exact_ratio_up(const check_exact *a, const check_exact *b);

/* `count` numbers, all 0; NULL if there is no memory, and *status says so.  Nothing is done where
 *status is an error already. */
check_exact *check_exact_array(size_t count, attsvm_status *status, attsvm_error *err);
void check_exact_array_free(check_exact *a, size_t count);

/*
 * Rows and columns of a submatrix of full rank of A (rows x columns, by value modulo a prime): the
 * rank found is at most the true one, and equals it but for rare primes.  Rows come in the order
 * given.  `chosen` (rows) gets 1 for the rows of the submatrix, `pivot` (rows) their columns. After
 * a stop the rank is 0.
 */
int64_t check_exact_independent(const check_exact *A, int64_t rows, int64_t columns,
                                uint8_t *chosen, int64_t *pivot, dist_stop *stop,
                                attsvm_status *status, attsvm_error *err);

#endif
