/* Exact arithmetic on dyadic numbers, and elimination over the integers. */
#include "check/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------ numbers */

void check_exact_open(check_exact *a)
{
    mpz_init(a->m);
    a->e = 0;
}

void check_exact_close(check_exact *a)
{
    mpz_clear(a->m);
}

void check_exact_set(check_exact *a, double x)
{
    int e;
    mpz_set_d(a->m, ldexp(frexp(x, &e), 53));
    a->e = e - 53;
    if (mpz_sgn(a->m) == 0) {
        a->e = 0;
        return;
    }
    mp_bitcnt_t zeros = mpz_scan1(a->m, 0);
    mpz_tdiv_q_2exp(a->m, a->m, zeros);
    a->e += (int64_t)zeros;
}

void check_exact_copy(check_exact *a, const check_exact *b)
{
    mpz_set(a->m, b->m);
    a->e = b->e;
}

/* a += sign b */
static void accumulate(check_exact *a, const check_exact *b, int sign)
{
    if (mpz_sgn(b->m) == 0)
        return;
    if (mpz_sgn(a->m) == 0)
        a->e = b->e;
    if (a->e > b->e) {
        mpz_mul_2exp(a->m, a->m, (mp_bitcnt_t)(a->e - b->e));
        a->e = b->e;
    }
    if (a->e == b->e) {
        (sign > 0 ? mpz_add : mpz_sub)(a->m, a->m, b->m);
        return;
    }
    mpz_t shifted;
    mpz_init(shifted);
    mpz_mul_2exp(shifted, b->m, (mp_bitcnt_t)(b->e - a->e));
    (sign > 0 ? mpz_add : mpz_sub)(a->m, a->m, shifted);
    mpz_clear(shifted);
}

void check_exact_add(check_exact *a, const check_exact *b)
{
    accumulate(a, b, 1);
}

void check_exact_subtract(check_exact *a, const check_exact *b)
{
    accumulate(a, b, -1);
}

void check_exact_multiply(check_exact *a, const check_exact *b)
{
    mpz_mul(a->m, a->m, b->m);
    a->e += b->e;
}

void check_exact_add_product(check_exact *a, const check_exact *b, const check_exact *c)
{
    if (mpz_sgn(b->m) == 0 || mpz_sgn(c->m) == 0)
        return;
    check_exact product;
    check_exact_open(&product);
    mpz_mul(product.m, b->m, c->m);
    product.e = b->e + c->e;
    accumulate(a, &product, 1);
    check_exact_close(&product);
}

int check_exact_sign(const check_exact *a)
{
    return mpz_sgn(a->m);
}

int check_exact_compare(const check_exact *a, const check_exact *b)
{
    check_exact difference;
    check_exact_open(&difference);
    check_exact_copy(&difference, a);
    check_exact_subtract(&difference, b);
    int sign = check_exact_sign(&difference);
    check_exact_close(&difference);
    return sign;
}

dd check_exact_value(const check_exact *a, bool *in_range)
{
    *in_range = true;
    if (mpz_sgn(a->m) == 0)
        return base_dd(0);
    int64_t top = (int64_t)mpz_sizeinbase(a->m, 2) + a->e; /* 2^(top-1) <= |a| < 2^top */
    *in_range = top > -900 && top < 1020;
    if (!*in_range)
        return base_dd(top > 0 ? copysign(INFINITY, mpz_sgn(a->m)) : 0);
    long shift;
    double hi = mpz_get_d_2exp(&shift, a->m);
    mpz_t whole, rest;
    mpz_init(whole);
    mpz_init(rest);
    mpz_set_d(whole, ldexp(hi, 53));
    if (shift >= 53)
        mpz_mul_2exp(whole, whole, (mp_bitcnt_t)(shift - 53));
    else
        mpz_tdiv_q_2exp(whole, whole, (mp_bitcnt_t)(53 - shift)); /* an integer below 2^53 */
    mpz_sub(rest, a->m, whole);
    long low_shift = 0;
    double low = mpz_sgn(rest) ? mpz_get_d_2exp(&low_shift, rest) : 0;
    mpz_clear(whole);
    mpz_clear(rest);
    /* both towards zero, so the sum needs no renormalisation but for a carry */
    return base_dd_sum(ldexp(hi, (int)(shift + a->e)), ldexp(low, (int)(low_shift + a->e)));
}

double check_exact_ratio_up(const check_exact *a, const check_exact *b)
{
    if (mpz_sgn(a->m) <= 0)
        return 0;
    /* 64 bits of the quotient */
    int64_t shift = 64 + (int64_t)mpz_sizeinbase(b->m, 2) - (int64_t)mpz_sizeinbase(a->m, 2);
    mpz_t quotient, scaled;
    mpz_init(quotient);
    mpz_init_set(scaled, a->m);
    if (shift > 0)
        mpz_mul_2exp(scaled, scaled, (mp_bitcnt_t)shift);
    else
        mpz_tdiv_q_2exp(scaled, scaled, (mp_bitcnt_t)-shift);
    mpz_tdiv_q(quotient, scaled, b->m);
    long exponent;
    double value = mpz_get_d_2exp(&exponent, quotient);
    mpz_clear(quotient);
    mpz_clear(scaled);
    int64_t place = exponent + a->e - b->e - shift;
    if (place > 1020)
        return INFINITY;
    if (place < -1020)
        return 0x1p-1019;
    /* truncation cost less than two units of 2^-52 */
    return ldexp(value * (1 + 0x1p-51), (int)place);
}

check_exact *check_exact_array(size_t count, attsvm_status *status, attsvm_error *err)
{
    const double bits = 256; /* a double has 53, a sum of products of several some hundred */
    check_exact *a = NULL;
    if (*status == ATTSVM_OK)
        *status = base_rational_probe((double)count, bits, "exact numbers", err);
    if (*status == ATTSVM_OK)
        *status = base_allocate(&a, count + 1, sizeof *a, "exact numbers", err);
    for (size_t k = 0; a && k < count; k++)
        check_exact_open(&a[k]);
    return a;
}

void check_exact_array_free(check_exact *a, size_t count)
{
    for (size_t k = 0; a && k < count; k++)
        check_exact_close(&a[k]);
    free(a);
}

void check_exact_norm(attsvm_norm norm, const check_exact *x, int64_t count, check_exact *out)
{
    check_exact size;
    check_exact_open(&size);
    check_exact_set(out, 0);
    for (int64_t k = 0; k < count; k++) {
        check_exact_copy(&size, &x[k]);
        mpz_abs(size.m, size.m);
        if (norm == ATTSVM_NORM_L1)
            check_exact_add(out, &size);
        else if (norm != ATTSVM_NORM_LINF)
            check_exact_add_product(out, &size, &size);
        else if (check_exact_compare(&size, out) > 0)
            check_exact_copy(out, &size);
    }
    check_exact_close(&size);
}

void check_exact_square(check_exact *a)
{
    check_exact_multiply(a, a);
}

/* ------------------------------------------------------------------ independent rows */

/* 2^61 - 1 */
#define PRIME ((UINT64_C(1) << 61) - 1)

static uint64_t multiply_mod(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);
    return sum >= PRIME ? sum - PRIME : sum;
}

static uint64_t power_mod(uint64_t a, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, a = multiply_mod(a, a))
        if (exponent & 1)
            result = multiply_mod(result, a);
    return result;
}

/* m 2^e modulo the prime, in which 2^61 = 1. */
static uint64_t value_mod(const check_exact *a)
{
    uint64_t m = mpz_fdiv_ui(a->m, PRIME);
    int64_t e = a->e % 61;
    return multiply_mod(m, UINT64_C(1) << (e < 0 ? e + 61 : e));
}

int64_t check_exact_independent(const check_exact *A, int64_t rows, int64_t columns,
                                uint8_t *chosen, int64_t *pivot, dist_stop *stop,
                                attsvm_status *status, attsvm_error *err)
{
    uint64_t *M;
    int64_t *lead, rank = 0; /* lead: rows that were chosen, in order */
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        M = base_take(&a, (size_t)rows * (size_t)columns, sizeof *M);
        lead = take_int64(&a, (size_t)rows);
        if (pass == 0) {
            *status = base_arena_allocate(&a, "elimination", err);
            if (*status != ATTSVM_OK)
                return 0;
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        uint64_t *row = M + i * columns;
        chosen[i] = 0;
        if (dist_stop_poll(stop, (double)columns * (double)(4 * rank + 20))) {
            memset(chosen, 0, (size_t)rows);
            rank = 0;
            break;
        }
        for (int64_t j = 0; j < columns; j++)
            row[j] = value_mod(&A[i * columns + j]);
        for (int64_t k = 0; k < rank; k++) {
            const uint64_t *other = M + lead[k] * columns;
            uint64_t factor = row[pivot[lead[k]]];
            if (factor == 0)
                continue;
            for (int64_t j = 0; j < columns; j++) {
                uint64_t taken = multiply_mod(factor, other[j]);
                row[j] = row[j] >= taken ? row[j] - taken : row[j] + PRIME - taken;
            }
        }
        int64_t at = 0;
        while (at < columns && row[at] == 0)
            at++;
        if (at == columns)
            continue;
        uint64_t inverse = power_mod(row[at], PRIME - 2);
        for (int64_t j = 0; j < columns; j++)
            row[j] = multiply_mod(row[j], inverse);
        chosen[i] = 1;
        pivot[i] = at;
        lead[rank++] = i;
    }
    free(a.base);
    return rank;
}
