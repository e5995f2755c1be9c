/*
 * Elementary functions with the same bits on every processor.
 *
 * The C library chooses its exp, log and pow by the processor (with and without fused operations),
 * and their last bits differ.  These use only additions, multiplications, divisions and square
 * roots, each rounded separately, so that equal arguments give equal bits everywhere.  All are
 * within 1 ulp (tests/unit/base/test_math.c).
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x without its low 27 bits: the product of two such numbers is exact. */
static double high_part(double x)
{
    return of_bits(bits_of(x) >> 27 << 27);
}

/* x^2 exactly, as a sum of two doubles. */
static dd square_of(double x)
{
    double high = high_part(x);
    return (dd){ high * high, (x - high) * (x + high) };
}

/* ------------------------------------------------------------------------- exp */

typedef double doubles;
typedef uint64_t long_words;
#define INLINE     static inline
#define DOUBLES_OF of_bits
#define WORDS_OF   bits_of
#include "base/exp.h"

/* x = n ln 2 + r + c, n integer, |r| <= ln(2)/2, c the rounding error of r. */
typedef struct reduced {
    double n, r, c, shifted;
} reduced;

static reduced exp_reduce(double x)
{
    double shifted = x * exp_per_ln2 + exp_shift, n = shifted - exp_shift;
    double s = x - n * exp_ln2_high, r = s - n * exp_ln2_low;
    return (reduced){ n, r, (s - r) - n * exp_ln2_low, shifted };
}

static double clamped(double x)
{
    return x < exp_lowest ? exp_lowest : x > exp_highest ? exp_highest : x;
}

/* exp(x + low), low far below x: exp(r + c + low) = exp(r) (1 + c + low). */
static double exp_sum(double x, double low)
{
    reduced a = exp_reduce(clamped(x));
    double r2 = a.r * a.r, power = 1.0 + a.r + r2 * exp_q(a.r, r2);
    return exp_of_parts(a.shifted, a.r, a.c + low * power);
}

double base_exp(double x)
{
    return exp_in_range(clamped(x));
}

/* (exp(r) - 1 - r - r^2/2) / r^3: minimax, with relative accuracy near 0. */
static double expm1_q(double r, double r2)
{
    double r4 = r2 * r2;
    double q12 = 0x1.555555555555dp-3 + r * 0x1.555555555556fp-5;
    double q34 = 0x1.111111110e30fp-7 + r * 0x1.6c16c16c07df0p-10;
    double q56 = 0x1.a01a01b7032eap-13 + r * 0x1.a01a01fcbbba1p-16;
    double q78 = 0x1.71dde78ee7abbp-19 + r * 0x1.27e40b8cebb92p-22;
    double q90 = 0x1.af7a71d8393c9p-26 + r * 0x1.20d1ccfc0e018p-29;
    return q12 + r2 * q34 + r4 * (q56 + r2 * q78 + r4 * q90);
}

double base_expm1(double x)
{
    if (x == 0 || !(x < 40))
        return x == 0 ? x : base_exp(x) - 1;
    if (x < -40)
        return -1;
    reduced a = exp_reduce(x);
    double r2 = a.r * a.r, cubic = a.r * r2 * expm1_q(a.r, r2);
    if (a.n == 0)
        return a.r + (0.5 * r2 + cubic);
    double power = of_bits((uint64_t)((int64_t)a.n + 1023) << 52);
    dd square = square_of(a.r), less = base_dd_sum(power, -1); /* 2^n (1 + r + r^2/2 + ...) - 1 */
    dd s = base_dd_sum(less.hi, power * a.r), t = base_dd_sum(s.hi, 0.5 * power * square.hi);
    double low = cubic + (0.5 * square.lo + a.c);
    return t.hi + (less.lo + s.lo + t.lo + power * low);
}

/* ------------------------------------------------------------------------- log */

/*
 * A table for z in [0.6875, 1.375), 64 intervals: c, near 1/z and a multiple of 1/256, and -log c =
 * high + low, high a multiple of 2^-42.  Near z = 1 they are 1 and 0, so that log z is accurate in
 * relative terms there.
 */
static const struct {
    double c, high, low;
} log_table[64] = {
    /* clang-format off */
    { 0x1.72p+0, -0x1.792a55fdd4p-2, -0x1.e89f057691feap-44 },
    { 0x1.6ep+0, -0x1.6e08eaa2bap-2, -0x1.e38c139318d71p-46 },
    { 0x1.6ap+0, -0x1.62c82f2b9cp-2, -0x1.e54bdbd7c8a98p-44 },
    { 0x1.66p+0, -0x1.5767717456p-2, 0x1.64ead9524d7cap-44 },
    { 0x1.62p+0, -0x1.4be5f95778p-2, 0x1.d7c92cd9ad824p-44 },
    { 0x1.5ep+0, -0x1.404308686ap-2, -0x1.f8ef43049f7d3p-44 },
    { 0x1.5bp+0, -0x1.3772662bfep-2, 0x1.e9436ac53b023p-44 },
    { 0x1.57p+0, -0x1.2b9303ab8ap-2, 0x1.6db12d6bfb0a5p-45 },
    { 0x1.54p+0, -0x1.22941fbcf8p-2, 0x1.a6976f5eb0963p-44 },
    { 0x1.5p+0, -0x1.1675cababap-2, -0x1.8380e731f55c4p-44 },
    { 0x1.4dp+0, -0x1.0d46b579abp-2, -0x1.d2c81f640e1e6p-44 },
    { 0x1.49p+0, -0x1.00e6c45ad5p-2, -0x1.cc68d52e01203p-50 },
    { 0x1.46p+0, -0x1.ef0adcbdc6p-3, 0x1.b26b79c86af24p-45 },
    { 0x1.43p+0, -0x1.dc1bca0abep-3, -0x1.8fac1a628ccc6p-44 },
    { 0x1.4p+0, -0x1.c8ff7c79aap-3, 0x1.7794f689f8434p-45 },
    { 0x1.3dp+0, -0x1.b5b519e8fcp-3, 0x1.4b722ec011f31p-44 },
    { 0x1.3ap+0, -0x1.a23bc1fe2cp-3, 0x1.539cd91dc9f0bp-44 },
    { 0x1.37p+0, -0x1.8e928de886p-3, -0x1.a8154b13d72d5p-44 },
    { 0x1.34p+0, -0x1.7ab890210ep-3, 0x1.bdb9072534a58p-45 },
    { 0x1.31p+0, -0x1.66acd4272ap-3, -0x1.aa1bdbfc6c785p-44 },
    { 0x1.2ep+0, -0x1.526e5e3a1cp-3, 0x1.790ba37fc5238p-44 },
    { 0x1.2bp+0, -0x1.3dfc2b0eccp-3, -0x1.8a72a62b8c13fp-45 },
    { 0x1.29p+0, -0x1.303d718e48p-3, 0x1.680b5ce3ecb05p-50 },
    { 0x1.26p+0, -0x1.1b72ad52f6p-3, -0x1.e80a41811a396p-45 },
    { 0x1.23p+0, -0x1.0671512ca6p-3, 0x1.a47579cdc0a3dp-45 },
    { 0x1.21p+0, -0x1.f0a30c0118p-4, 0x1.d599e83368e91p-44 },
    { 0x1.1ep+0, -0x1.c5e548f5bcp-4, -0x1.d0c57585fbe06p-46 },
    { 0x1.1cp+0, -0x1.a926d3a4acp-4, -0x1.563650bd22a9cp-44 },
    { 0x1.19p+0, -0x1.7da766d7bp-4, -0x1.2cc844480c89bp-44 },
    { 0x1.17p+0, -0x1.60658a9374p-4, -0x1.0c3b1dee9c4f8p-44 },
    { 0x1.15p+0, -0x1.42edcbea64p-4, -0x1.bc0eeea7c9acdp-46 },
    { 0x1.12p+0, -0x1.16536eea38p-4, 0x1.47c5e768fa309p-46 },
    { 0x1.1p+0, -0x1.f0a30c0118p-5, 0x1.d599e83368e91p-45 },
    { 0x1.0ep+0, -0x1.b42dd71198p-5, 0x1.c827ae5d6704cp-46 },
    { 0x1.0bp+0, -0x1.58a5bafc9p-5, 0x1.b2b739570ad39p-45 },
    { 0x1.09p+0, -0x1.1b0d98924p-5, 0x1.3401e9ae889bbp-44 },
    { 0x1.07p+0, -0x1.b9fc027bp-6, 0x1.b9a010ae6922ap-44 },
    { 0x1.05p+0, -0x1.3cea44347p-6, 0x1.6a2c432d6a40bp-44 },
    { 0x1.03p+0, -0x1.7dc475f82p-7, 0x1.eb1245b5da1f5p-44 },
    { 1, 0, 0 },
    { 1, 0, 0 },
    { 0x1.f4p-1, 0x1.8492528c9p-6, -0x1.aa0ba325a0c34p-45 },
    { 0x1.ecp-1, 0x1.466aed42ep-5, -0x1.c167375bdfd28p-45 },
    { 0x1.e6p-1, 0x1.aaef2d0fbp-5, 0x1.0fc1a353bb42ep-45 },
    { 0x1.dep-1, 0x1.1973bd1464p-4, 0x1.566d154f930b3p-44 },
    { 0x1.d8p-1, 0x1.4d3115d208p-4, -0x1.53a2582f4e1efp-48 },
    { 0x1.dp-1, 0x1.9335e5d594p-4, 0x1.3115c3abd47dap-45 },
    { 0x1.cap-1, 0x1.c885801bc4p-4, 0x1.646d1c65aacd3p-45 },
    { 0x1.c4p-1, 0x1.fe89139dbcp-4, 0x1.56594d82f7a82p-44 },
    { 0x1.bep-1, 0x1.1aa2b7e24p-3, -0x1.1ac38dde3b366p-44 },
    { 0x1.b8p-1, 0x1.365fcb015ap-3, -0x1.fd3a0afb9691bp-44 },
    { 0x1.b2p-1, 0x1.527e5e4a1cp-3, -0x1.4e60b8d4b411dp-44 },
    { 0x1.acp-1, 0x1.6f0128b756p-3, 0x1.577390d31ef0fp-44 },
    { 0x1.a6p-1, 0x1.8beafeb39p-3, -0x1.73d54aae92cd1p-47 },
    { 0x1.a2p-1, 0x1.9f6c40708ap-3, -0x1.337d94bcd3f43p-44 },
    { 0x1.9cp-1, 0x1.bd087383bep-3, -0x1.d4bc4595412b6p-45 },
    { 0x1.98p-1, 0x1.d1037f2656p-3, -0x1.84a7e75b6f6e4p-47 },
    { 0x1.92p-1, 0x1.ef5ade4ddp-3, -0x1.a211565bb8e11p-51 },
    { 0x1.8ep-1, 0x1.01eae5626cp-2, 0x1.a43dcfade85aep-44 },
    { 0x1.88p-1, 0x1.1178e8227ep-2, 0x1.1ef78ce2d07f2p-44 },
    { 0x1.84p-1, 0x1.1bf99635a7p-2, -0x1.1ac89575c2125p-44 },
    { 0x1.8p-1, 0x1.269621134ep-2, -0x1.1b61f10522625p-44 },
    { 0x1.7ap-1, 0x1.36b6776be1p-2, 0x1.16ecdb0f177c8p-46 },
    { 0x1.76p-1, 0x1.419b423d5fp-2, -0x1.ce379226de3ecp-44 },
    /* clang-format on */
};

static const uint64_t log_offset = 0x3fe6000000000000; /* bits of 0.6875 */

/* (log(1 + r) - r + r^2/2) / r^3, |r| <= 2^-6. */
static double log_p(double r)
{
    double r2 = r * r, r4 = r2 * r2;
    double p01 = 1.0 / 3 - r * 0.25, p23 = 0.2 - r * (1.0 / 6), p45 = 1.0 / 7 - r * 0.125;
    double p67 = 1.0 / 9 - r * 0.1, p89 = 1.0 / 11 - r * (1.0 / 12);
    return p01 + r2 * p23 + r4 * (p45 + r2 * p67 + r4 * p89);
}

/*
 * log(x + e) to about 2^-66 relative; x > 0 and normal, e at most an ulp of x.
 *
 *   x = 2^k z,  r = (z + e 2^-k) c - 1,  log = k ln 2 - log c + r - r^2/2 + r^3 p(r)
 *
 * c has 9 bits and z is split, so that both products are exact; so is k exp_ln2_high + high.
 */
static dd log_sum(double x, double e)
{
    uint64_t bits = bits_of(x), above = bits - log_offset;
    int64_t k = (int64_t)above >> 52;
    uint64_t z_bits = bits - ((uint64_t)k << 52);
    size_t i = (size_t)(above >> 46) % 64;
    double c = log_table[i].c, z = of_bits(z_bits), z_high = of_bits(z_bits >> 21 << 21);
    dd r = base_dd_sum(z_high * c - 1, (z - z_high) * c);
    r = base_dd_sum(r.hi, r.lo + (e == 0 ? 0 : ldexp(e, (int)-k) * c));
    dd square = square_of(r.hi);
    dd a = base_dd_sum((double)k * exp_ln2_high + log_table[i].high, r.hi);
    dd b = base_dd_sum(a.hi, -0.5 * square.hi);
    double low = (double)k * exp_ln2_low + log_table[i].low;
    low += r.hi * (r.hi * r.hi) * log_p(r.hi);
    low += (a.lo + b.lo) + (r.lo * (1 - r.hi) - 0.5 * square.lo);
    return base_dd_sum(b.hi, low);
}

/* log of 0, negative numbers, infinity and NaN. */
static double log_special(double x)
{
    return x == 0 ? -INFINITY : x < 0 ? NAN : x;
}

static const double least_normal = 0x1p-1022, two54 = 0x1p54;

/* log x as a double-double, 0 < x < infinity. */
static dd log_of(double x)
{
    if (x >= least_normal)
        return log_sum(x, 0);
    dd a = log_sum(x * two54, 0), b = base_dd_sum(a.hi, -54 * exp_ln2_high);
    return base_dd_sum(b.hi, b.lo + (a.lo - 54 * exp_ln2_low));
}

double base_log(double x)
{
    return x > 0 && x < INFINITY ? log_of(x).hi : log_special(x);
}

double base_log1p(double x)
{
    if (!(x > -1 && x < INFINITY) || x == 0)
        return x == 0 ? x : log_special(1 + x);
    dd sum = base_dd_sum(1, x);
    return fabs(x) < 0x1p-54 ? x : log_sum(sum.hi, sum.lo).hi;
}

double base_log10(double x)
{
    const dd per_ln10 = { 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57 };
    return x > 0 && x < INFINITY ? base_dd_mul(log_of(x), per_ln10).hi : log_special(x);
}

double base_pow(double x, double y)
{
    if (y == 0 || x == 1)
        return 1;
    if (isnan(x) || isnan(y) || x < 0)
        return NAN;
    if (x == 0 || x == INFINITY)
        return (x == 0) == (y > 0) ? 0 : INFINITY;
    dd a = log_of(x);
    if (!(fabs(y * a.hi) < 800)) /* beyond the range of doubles on either side */
        return (y > 0) == (a.hi > 0) ? INFINITY : 0;
    double y_high = high_part(y), a_high = high_part(a.hi);
    double low = (y - y_high) * a.hi + y_high * (a.hi - a_high) + y * a.lo;
    dd p = base_dd_sum(y_high * a_high, low);
    return exp_sum(p.hi, p.lo);
}

/* ---------------------------------------------------------------------- others */

double base_hypot(double x, double y)
{
    double a = fmax(fabs(x), fabs(y)), b = fmin(fabs(x), fabs(y));
    if (isinf(x) || isinf(y))
        return INFINITY;
    if (isnan(x) || isnan(y) || b == 0)
        return isnan(x) || isnan(y) ? NAN : a;
    double scale = a > 0x1p500 ? 0x1p-600 : a < 0x1p-400 ? 0x1p600 : 1;
    dd square = square_of(a * scale);
    b *= scale;
    return sqrt(square.hi + (square.lo + b * b)) / scale;
}

/* atan t for 0 <= t <= 1: atan c + atan((t - c)/(1 + t c)), c the nearest multiple of 1/8. */
static double atan_unit(double t)
{
    static const double atan_c[9] = {
        0,
        0x1.fd5ba9aac2f6ep-4,
        0x1.f5b75f92c80ddp-3,
        0x1.6f61941e4def1p-2,
        0x1.dac670561bb4fp-2,
        0x1.1e00babdefeb4p-1,
        0x1.4978fa3269ee1p-1,
        0x1.700a7c5784634p-1,
        0x1.921fb54442d18p-1,
    };
    int k = (int)(8 * t + 0.5);
    double c = k / 8.0, u = (t - c) / (1 + t * c), s = u * u;
    double tail = 1.0 / 3 - s * (0.2 - s * (1.0 / 7 - s * (1.0 / 9 - s * (1.0 / 11 - s / 13))));
    return atan_c[k] + (u - u * s * tail);
}

double base_atan_ratio(double y, double x)
{
    const double half_pi = 0x1.921fb54442d18p+0;
    if (x == 0 && y == 0)
        return 0;
    return y <= x ? atan_unit(y / x) : half_pi - atan_unit(x / y);
}
