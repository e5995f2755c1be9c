/*
 * Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", 2011).  Number k of a stream is half of block k/2 under key = seed
 * and counter = (k/2, stream).  Only IEEE +, -, *, / and sqrt are used (this folder is compiled
 * without contraction), so the stream is the same on every platform; for this reason the Gaussian
 * inverts its distribution function with our own logarithm instead of that of the C library.
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

void base_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    const uint64_t multiplier0 = 0xD2511F53u, multiplier1 = 0xCD9E8D57u;
    const uint32_t weyl0 = 0x9E3779B9u, weyl1 = 0xBB67AE85u;
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = multiplier0 * c0, b = multiplier1 * c2;
        uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ k0, n2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c0 = n0;
        c1 = (uint32_t)b;
        c2 = n2;
        c3 = (uint32_t)a;
        k0 += weyl0;
        k1 += weyl1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

base_random base_random_stream(uint64_t seed, uint64_t stream)
{
    return (base_random){ seed, stream, 0 };
}

uint64_t base_random_bits(base_random *r)
{
    uint64_t block = r->next / 2;
    uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)r->stream,
                            (uint32_t)(r->stream >> 32) };
    uint32_t key[2] = { (uint32_t)r->seed, (uint32_t)(r->seed >> 32) }, word[4];
    base_philox(counter, key, word);
    int half = (int)(r->next++ % 2) * 2;
    return word[half] | (uint64_t)word[half + 1] << 32;
}

/* The midpoint of one of 2^52 equal cells: never 0 or 1. */
static inline double uniform_of(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

double base_random_uniform(base_random *r)
{
    return uniform_of(base_random_bits(r));
}

int64_t base_random_below(base_random *r, int64_t bound)
{
    uint64_t range = (uint64_t)bound, threshold = (0 - range) % range, bits;
    do
        bits = base_random_bits(r);
    while (bits < threshold); /* the accepted numbers are a multiple of `range` */
    return (int64_t)(bits % range);
}

/*
 * Natural logarithm of a positive normal number to about 1 ulp: x = m 2^e with m in
 * (sqrt(1/2), sqrt(2)], log m = 2 atanh(s), s = (m-1)/(m+1), |s| < 0.1716; the series to s^21.
 */
static double natural_log(double x)
{
    const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52) - 1022;
    bits = (bits & 0x000fffffffffffffu) | 0x3fe0000000000000u; /* m in [1/2, 1) */
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    double s = (m - 1) / (m + 1), q = s * s, series = 0;
    for (int k = 21; k >= 3; k -= 2)
        series = series * q + 1.0 / k;
    return e * ln2_high + (2 * s + (2 * s * q * series + e * ln2_low));
}

static inline double ratio(const double *numerator, const double *denominator, double r)
{
    double p = numerator[7], q = denominator[7];
    for (int k = 6; k >= 0; k--) {
        p = p * r + numerator[k];
        q = q * r + denominator[k];
    }
    return p / q;
}

/*
 * Wichura, algorithm AS 241 (PPND16), 1988: relative accuracy about 1e-16.  For |q| <= CENTRAL,
 * which covers 85 % of the numbers, it is q times a ratio of polynomials in q^2.
 */
static const double CENTRAL = 0.425;

static inline double central_quantile(double q)
{
    static const double a[8] = { 3.3871328727963666080e0,  1.3314166789178437745e+2,
                                 1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                 3.3430575583588128105e+4, 2.5090809287301226727e+3 };
    static const double b[8] = { 1.0,
                                 4.2313330701600911252e+1,
                                 6.8718700749205790830e+2,
                                 5.3941960214247511077e+3,
                                 2.1213794301586595867e+4,
                                 3.9307895800092710610e+4,
                                 2.8729085735721942674e+4,
                                 5.2264952788528545610e+3 };
    return q * ratio(a, b, 0.180625 - q * q);
}

double base_gauss_quantile(double u)
{
    static const double c[8] = { 1.42343711074968357734e0,  4.63033784615654529590e0,
                                 5.76949722146069140550e0,  3.64784832476320460504e0,
                                 1.27045825245236838258e0,  2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4 };
    static const double d[8] = { 1.0,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9 };
    static const double e[8] = { 6.65790464350110377720e0,  5.46378491116411436990e0,
                                 1.78482653991729133580e0,  2.96560571828504891230e-1,
                                 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7 };
    static const double f[8] = { 1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15 };
    double q = u - 0.5;
    if (fabs(q) <= CENTRAL)
        return central_quantile(q);
    double r = sqrt(-natural_log(q < 0 ? u : 1 - u));
    double x = r <= 5 ? ratio(c, d, r - 1.6) : ratio(e, f, r - 5);
    return q < 0 ? -x : x;
}

double base_random_gauss(base_random *r)
{
    return base_gauss_quantile(base_random_uniform(r));
}

enum { BATCH = 64 }; /* blocks of two numbers */

/* Blocks first..first+BATCH-1 of a stream; the loop order lets the compiler vectorise. */
static void philox_batch(const base_random *r, uint64_t first, uint64_t bits[2 * BATCH])
{
    const uint64_t multiplier0 = 0xD2511F53u, multiplier1 = 0xCD9E8D57u;
    uint32_t c0[BATCH], c1[BATCH], c2[BATCH], c3[BATCH];
    uint32_t k0 = (uint32_t)r->seed, k1 = (uint32_t)(r->seed >> 32);
    for (int b = 0; b < BATCH; b++) {
        c0[b] = (uint32_t)(first + (uint64_t)b);
        c1[b] = (uint32_t)((first + (uint64_t)b) >> 32);
        c2[b] = (uint32_t)r->stream;
        c3[b] = (uint32_t)(r->stream >> 32);
    }
    for (int round = 0; round < 10; round++) {
        for (int b = 0; b < BATCH; b++) {
            uint64_t x = multiplier0 * c0[b], y = multiplier1 * c2[b];
            c0[b] = (uint32_t)(y >> 32) ^ c1[b] ^ k0;
            c2[b] = (uint32_t)(x >> 32) ^ c3[b] ^ k1;
            c1[b] = (uint32_t)y;
            c3[b] = (uint32_t)x;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int b = 0; b < BATCH; b++) {
        bits[2 * b] = c0[b] | (uint64_t)c1[b] << 32;
        bits[2 * b + 1] = c2[b] | (uint64_t)c3[b] << 32;
    }
}

/* The same bits as repeated base_random_gauss: the centre of the distribution for a whole batch
   without branches, then the tails one by one. */
void base_random_gauss_fill(base_random *r, double *x, int64_t count)
{
    for (; count > 0 && (r->next % 2 != 0 || count < BATCH); count--)
        *x++ = base_random_gauss(r);
    while (count > 0) {
        uint64_t bits[2 * BATCH];
        double u[2 * BATCH];
        int here = count < 2 * BATCH ? (int)count : 2 * BATCH;
        philox_batch(r, r->next / 2, bits);
        for (int k = 0; k < 2 * BATCH; k++)
            u[k] = uniform_of(bits[k]);
        for (int k = 0; k < here; k++)
            x[k] = central_quantile(u[k] - 0.5);
        for (int k = 0; k < here; k++)
            if (fabs(u[k] - 0.5) > CENTRAL)
                x[k] = base_gauss_quantile(u[k]);
        r->next += (uint64_t)here;
        x += here;
        count -= here;
    }
}

void base_random_sphere(base_random *r, double *x, int64_t d)
{
    double square = 0;
    base_random_gauss_fill(r, x, d); /* never all zero: the quantile of (k + 1/2) 2^-52 is not 0 */
    for (int64_t j = 0; j < d; j++)
        square += x[j] * x[j];
    double norm = sqrt(square);
    for (int64_t j = 0; j < d; j++)
        x[j] /= norm;
}

void base_random_permutation(base_random *r, int64_t *order, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        order[i] = i;
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = base_random_below(r, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}
