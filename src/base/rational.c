/*
 * M x = r over the rational numbers, by p-adic lifting (Dixon 1982).
 *
 * With C = M^-1 modulo a prime p, the digits of x = x_0 + x_1 p + x_2 p^2 + ... follow one by one:
 *
 *   x_i = C r_i mod p,   r_{i+1} = (r_i - M x_i)/p
 *
 * Cramer's rule and Hadamard's inequality bound numerators and denominators, which tells how many
 * digits fix them; Euclid's algorithm finds them.  Elimination over the integers works with numbers
 * as long as the determinant throughout, and takes a minute where this takes a fraction of a
 * second.
 */
#include "base/rational.h"

#include <math.h>
#include <stdlib.h>

static const uint64_t PRIME = 0x1fffffffffffffff; /* 2^61 - 1 */
enum { DIGIT = 61 };
static const double MOST_WORK = 3e9; /* limit of bit operations / 64; a few seconds */

mpz_t *base_rational_integers(int64_t count, attsvm_error *err)
{
    mpz_t *a;
    if (base_allocate(&a, (size_t)count + 1, sizeof *a, "integers", err) != ATTSVM_OK)
        return NULL;
    for (int64_t k = 0; k < count; k++)
        mpz_init(a[k]);
    return a;
}

void base_rational_free(mpz_t *a, int64_t count)
{
    for (int64_t k = 0; a && k < count; k++)
        mpz_clear(a[k]);
    free(a);
}

attsvm_status base_rational_probe(double numbers, double bits, const char *what, attsvm_error *err)
{
    const double header = 64; /* overhead of a number and its block */
    char *memory;
    double bytes = numbers * (header + bits / 4); /* GMP grows numbers by copying them */
    if (!(bytes < 0x1p62))
        return fail(err, ATTSVM_E_MEMORY, "%s: too many exact numbers", what);
    TRY(base_allocate(&memory, (size_t)bytes + 1, 1, what, err));
    free(memory);
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------ modulo p */

static uint64_t reduce(unsigned __int128 a)
{
    uint64_t sum =
        (uint64_t)(a & PRIME) + (uint64_t)(a >> DIGIT & PRIME) + (uint64_t)(a >> (2 * DIGIT));
    sum = (sum & PRIME) + (sum >> DIGIT);
    return sum >= PRIME ? sum - PRIME : sum;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return reduce((unsigned __int128)a * b);
}

static uint64_t inverse(uint64_t a) /* a^(p-2) */
{
    uint64_t power = 1;
    for (uint64_t e = PRIME - 2; e > 0; e >>= 1, a = times(a, a))
        if (e & 1)
            power = times(power, a);
    return power;
}

static bool stops(const base_ask *ask, double work)
{
    return ask && ask->stop(ask->context, work);
}

/* Reduces C (n x 2n) from [M, I] to [I, M^-1]; false if M is singular modulo p. */
static bool invert(uint64_t *C, int64_t n, const base_ask *ask)
{
    int64_t width = 2 * n;
    for (int64_t k = 0; k < n; k++) {
        int64_t at = k;
        while (at < n && C[at * width + k] == 0)
            at++;
        if (at == n || stops(ask, (double)(n * width)))
            return false;
        for (int64_t j = 0; j < width && at != k; j++) {
            uint64_t spare = C[k * width + j];
            C[k * width + j] = C[at * width + j];
            C[at * width + j] = spare;
        }
        uint64_t factor = inverse(C[k * width + k]);
        for (int64_t j = k; j < width; j++)
            C[k * width + j] = times(C[k * width + j], factor);
        for (int64_t i = 0; i < n; i++) {
            uint64_t left = i == k ? 0 : PRIME - C[i * width + k];
            if (left == 0 || left == PRIME)
                continue;
            for (int64_t j = k; j < width; j++)
                C[i * width + j] =
                    reduce((unsigned __int128)left * C[k * width + j] + C[i * width + j]);
        }
    }
    return true;
}

/* x = m 2^e, and 2^61 is 1. */
static uint64_t residue(double x)
{
    int e;
    double m = ldexp(frexp(fabs(x), &e), 53);
    e = ((e - 53) % DIGIT + DIGIT) % DIGIT;
    uint64_t value = reduce((unsigned __int128)(uint64_t)m << e);
    return x < 0 && value > 0 ? PRIME - value : value;
}

uint64_t base_rational_dot(const uint64_t *u, const double *x, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum = reduce((unsigned __int128)u[j] * residue(x[j]) + sum);
    return sum;
}

uint64_t base_rational_times(uint64_t a, uint64_t b)
{
    return times(a, b);
}

int64_t base_rational_rank(uint64_t *M, int64_t rows, int64_t columns)
{
    int64_t rank = 0;
    for (int64_t j = 0; j < columns && rank < rows; j++) {
        int64_t at = rank;
        while (at < rows && M[at * columns + j] == 0)
            at++;
        if (at == rows)
            continue;
        uint64_t *row = M + rank * columns;
        for (int64_t k = j; k < columns && at != rank; k++) {
            uint64_t spare = row[k];
            row[k] = M[at * columns + k];
            M[at * columns + k] = spare;
        }
        uint64_t factor = PRIME - inverse(row[j]);
        for (int64_t i = rank + 1; i < rows; i++) {
            uint64_t left = times(M[i * columns + j], factor);
            for (int64_t k = j; k < columns && left != 0; k++)
                M[i * columns + k] = reduce((unsigned __int128)left * row[k] + M[i * columns + k]);
        }
        rank++;
    }
    return rank;
}

/* ------------------------------------------------------------------------- lifting */

typedef struct lifting {
    const mpz_t *M;
    int64_t n;
    uint64_t *C, *residue, *digit; /* n x 2n, n, n                                */
    mpz_t *r, *X;                  /* (n) remaining right-hand side; x modulo power */
    mpz_t power, spare;
    double bits_top, bits_bottom; /* bounds on numerators and denominators */
    double longest;               /* bits of an entry of M                        */
    const base_ask *ask;
    bool stopped;
} lifting;

/* After `count` products of numbers of x and y words. */
static bool stops_after(lifting *s, int64_t count, size_t x, size_t y)
{
    double work = (double)count * ((double)x + 1) * ((double)y + 1);
    s->stopped = s->stopped || stops(s->ask, work);
    return s->stopped;
}

static double length(const mpz_t a)
{
    return mpz_sgn(a) == 0 ? 0 : (double)mpz_sizeinbase(a, 2);
}

/* Hadamard's bounds in bits, for M and for M with the right-hand side. */
static void bound(lifting *s, const mpz_t *r, int64_t sides)
{
    s->bits_top = s->bits_bottom = 2;
    s->longest = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double row = 0, side = 0;
        for (int64_t j = 0; j < s->n; j++)
            row = fmax(row, length(s->M[i * s->n + j]));
        for (int64_t j = 0; j < sides; j++)
            side = fmax(side, length(r[i * sides + j]));
        s->longest = fmax(s->longest, row);
        s->bits_bottom += row + 0.5 * (ilogb((double)s->n) + 1);
        s->bits_top += fmax(row, side) + 0.5 * (ilogb((double)s->n + 1) + 1);
    }
}

/* Computes one more digit of x. */
static void lift(lifting *s)
{
    int64_t n = s->n;
    for (int64_t i = 0; i < n; i++)
        s->residue[i] = mpz_fdiv_ui(s->r[i], PRIME);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t *row = s->C + i * 2 * n + n;
        uint64_t sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum = reduce((unsigned __int128)row[j] * s->residue[j] + sum);
        s->digit[i] = sum;
        mpz_addmul_ui(s->X[i], s->power, sum);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            mpz_submul_ui(s->r[i], s->M[i * n + j], s->digit[j]);
        mpz_divexact_ui(s->r[i], s->r[i], PRIME);
    }
    mpz_mul_ui(s->power, s->power, PRIME);
}

/* Finds top / bottom = a modulo power with a top of at most `bits` bits: Euclid's algorithm,
   stopped there. */
static void reconstruct(lifting *s, const mpz_t a, double bits, mpz_t top, mpz_t bottom)
{
    mpz_t other, other_bottom;
    mpz_init_set(other, s->power);
    mpz_init(other_bottom);
    mpz_set(top, a);
    mpz_set_ui(bottom, 1);
    while (length(top) > bits && !stops_after(s, 4, mpz_size(other), 1)) {
        mpz_tdiv_qr(s->spare, other, other, top);
        mpz_submul(other_bottom, s->spare, bottom);
        mpz_swap(other, top);
        mpz_swap(other_bottom, bottom);
    }
    if (mpz_sgn(bottom) < 0) {
        mpz_neg(top, top);
        mpz_neg(bottom, bottom);
    }
    mpz_clear(other);
    mpz_clear(other_bottom);
}

/* Whether M y = denominator r. */
static bool solves(lifting *s, const mpz_t *r, int64_t stride, const mpz_t *y,
                   const mpz_t denominator)
{
    bool good = mpz_sgn(denominator) > 0;
    for (int64_t i = 0; i < s->n && good; i++) {
        mpz_mul(s->spare, denominator, r[i * stride]);
        for (int64_t j = 0; j < s->n; j++)
            mpz_submul(s->spare, s->M[i * s->n + j], y[j * stride]);
        good = mpz_sgn(s->spare) == 0 &&
               !stops_after(s, s->n, mpz_size(denominator), (size_t)(s->longest / 64));
    }
    return good;
}

/* y and denominator from x modulo power. */
static void read_off(lifting *s, mpz_t *y, int64_t stride, mpz_t denominator)
{
    double share = s->bits_top / (s->bits_top + s->bits_bottom);
    double bits = floor((length(s->power) - 3) * share);
    mpz_t value, bottom, half;
    mpz_init(value);
    mpz_init(bottom);
    mpz_init(half);
    mpz_fdiv_q_2exp(half, s->power, 1);
    mpz_set_ui(denominator, 1);
    for (int64_t j = 0; j < s->n && !s->stopped; j++) {
        mpz_mul(value, s->X[j], denominator);
        mpz_fdiv_r(value, value, s->power);
        if (mpz_cmp(value, half) > 0) /* the residue of smallest absolute value */
            mpz_sub(value, value, s->power);
        if (length(value) <= bits) {
            mpz_set(y[j * stride], value);
            stops_after(s, 1, mpz_size(s->power), mpz_size(denominator));
            continue;
        }
        reconstruct(s, value, bits, y[j * stride], bottom);
        mpz_mul(denominator, denominator, bottom);
        for (int64_t k = 0; k < j; k++) {
            if (stops_after(s, 1, mpz_size(y[k * stride]), mpz_size(bottom)))
                break;
            mpz_mul(y[k * stride], y[k * stride], bottom);
        }
    }
    mpz_clear(value);
    mpz_clear(bottom);
    mpz_clear(half);
}

/* Solves for one right-hand side. Tries after 8, 16, 32, ... digits, since the bounds are often
   far too large. */
static bool solve_side(lifting *s, const mpz_t *r, int64_t stride, mpz_t *y, mpz_t denominator)
{
    const int64_t most = (int64_t)((s->bits_top + s->bits_bottom + 4) / DIGIT) + 2;
    mpz_set_ui(s->power, 1);
    for (int64_t i = 0; i < s->n; i++) {
        mpz_set(s->r[i], r[i * stride]);
        mpz_set_ui(s->X[i], 0);
    }
    for (int64_t digits = 1, next = 8; digits <= most; digits++) {
        lift(s);
        if (stops_after(s, s->n, (size_t)s->n, (size_t)(s->longest / 64 + 2)) ||
            stops_after(s, s->n, mpz_size(s->power), 0))
            return false;
        if (digits != next && digits != most)
            continue;
        next *= 2;
        read_off(s, y, stride, denominator);
        if (solves(s, r, stride, y, denominator))
            return true;
    }
    return false;
}

/* Solves for all right-hand sides and brings them to one denominator. */
static bool solve_sides(lifting *s, const mpz_t *r, int64_t sides, mpz_t *y, mpz_t denominator)
{
    bool good = true;
    mpz_t own, factor;
    mpz_init(own);
    mpz_init(factor);
    mpz_set_ui(denominator, 1);
    for (int64_t side = 0; side < sides && good; side++) {
        good = solve_side(s, r + side, sides, y + side, own);
        if (!good)
            break;
        mpz_lcm(factor, denominator, own);
        mpz_divexact(own, factor, own);
        mpz_divexact(denominator, factor, denominator);
        for (int64_t k = 0; k < s->n * sides; k++)
            if (k % sides <= side && !stops_after(s, 1, mpz_size(y[k]), mpz_size(factor)))
                mpz_mul(y[k], y[k], k % sides == side ? own : denominator);
        mpz_set(denominator, factor);
    }
    mpz_clear(own);
    mpz_clear(factor);
    return good && !s->stopped;
}

attsvm_status base_rational_solve(const mpz_t *M, const mpz_t *r, int64_t n, int64_t sides,
                                  mpz_t *y, mpz_t denominator, const base_ask *ask, bool *solved,
                                  attsvm_error *err)
{
    lifting s = { .M = M, .n = n, .ask = ask };
    *solved = false;
    bound(&s, r, sides);
    double digits = (s.bits_top + s.bits_bottom) / DIGIT, words = s.longest / 64 + 2;
    if (!(((double)n * words + digits) * (double)n * digits * (double)sides <= MOST_WORK))
        return ATTSVM_OK;
    TRY(base_rational_probe((double)(n * (sides + 4)), 2 * DIGIT * digits, "exact solution", err));
    TRY(base_allocate(&s.C, (size_t)(2 * n * n + 2 * n), sizeof *s.C, "exact solution", err));
    s.residue = s.C + 2 * n * n;
    s.digit = s.residue + n;
    s.r = base_rational_integers(n, err);
    s.X = s.r ? base_rational_integers(n, err) : NULL;
    if (s.X) {
        mpz_init(s.power);
        mpz_init(s.spare);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++)
                s.C[i * 2 * n + j] = mpz_fdiv_ui(M[i * n + j], PRIME);
            s.C[i * 2 * n + n + i] = 1;
        }
        *solved = invert(s.C, n, ask) && solve_sides(&s, r, sides, y, denominator);
        mpz_clear(s.power);
        mpz_clear(s.spare);
    }
    attsvm_status status = s.X ? ATTSVM_OK : ATTSVM_E_MEMORY;
    base_rational_free(s.r, n);
    base_rational_free(s.X, n);
    free(s.C);
    return status;
}
