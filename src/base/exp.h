/*
 * exp in double, at most 1 ulp, without branches: the operations that base_exp (math.c, one double)
 * and the kernels (la/kernels, vectors of them) share, so that both give the same bits.  A file
 * that includes this one defines the types `doubles` and `long_words` (as many 64-bit words),
 * INLINE, and DOUBLES_OF and WORDS_OF, which reinterpret the bits.
 *
 *   x = n ln 2 + r + c,  n integer, |r| <= ln(2)/2, c what rounding r lost
 *   exp(r + c) = 1 + r + (r^2 q(r) + c),  q of degree 9, minimax (1.1e-17)
 *   exp(x) = exp(r + c) 2^n
 *
 * n ln 2 has two parts; n times the high part is exact.  1 + r is represented as the sum h + l, so
 * that only the last rounding matters.  (c (1 + r) would be exact; c r is below 2^-55.)
 *
 * 2^n is applied as two factors of about half the exponent: the first product is exact, the second
 * rounds correctly to a subnormal or to infinity.  Adding `shift` rounds to an integer and leaves n
 * plus twice the exponent bias in the low bits; one half of it and the remainder, shifted to the
 * exponent field, are the two factors.
 */
#ifndef ATTSVM_BASE_EXP_H
#define ATTSVM_BASE_EXP_H

static const double exp_per_ln2 = 0x1.71547652b82fep+0;
static const double exp_ln2_high = 0x1.62e42fefa38p-1; /* 42 bits: n has 11 */
static const double exp_ln2_low = 0x1.ef35793c7673p-45;
static const double exp_shift = 0x1.8p52 + 2 * 1023;
/* Outside this range the result is 0 or infinity: the caller clamps arguments. */
static const double exp_lowest = -746, exp_highest = 710;

INLINE doubles exp_q(doubles r, doubles r2)
{
    doubles r4 = r2 * r2;
    doubles q01 = 0x1.000000000000ap-1 + r * 0x1.55555555554fap-3;
    doubles q23 = 0x1.555555555088cp-5 + r * 0x1.1111111127b9cp-7;
    doubles q45 = 0x1.6c16c1842674dp-10 + r * 0x1.a01a012a69a3fp-13;
    doubles q67 = 0x1.a0199a16cb835p-16 + r * 0x1.71df253a3fd1ep-19;
    doubles q89 = 0x1.28ad68b8868dfp-22 + r * 0x1.ad7f7af9f265ap-26;
    doubles q03 = q01 + r2 * q23, q47 = q45 + r2 * q67;
    return q03 + r4 * (q47 + r4 * q89);
}

/* 2^n exp(r + c), shifted = n + exp_shift. */
INLINE doubles exp_of_parts(doubles shifted, doubles r, doubles c)
{
    doubles r2 = r * r, q = exp_q(r, r2);
    doubles h = 1.0 + r, l = (1.0 - h) + r;
    doubles y = h + (l + (r2 * q + c));
    long_words both = WORDS_OF(shifted), first = both >> 1, second = both - first;
    return y * DOUBLES_OF(first << 52) * DOUBLES_OF(second << 52);
}

/* exp(x), exp_lowest <= x <= exp_highest or NaN. */
INLINE doubles exp_in_range(doubles x)
{
    doubles shifted = x * exp_per_ln2 + exp_shift;
    doubles n = shifted - exp_shift;
    doubles s = x - n * exp_ln2_high;
    doubles r = s - n * exp_ln2_low;
    return exp_of_parts(shifted, r, (s - r) - n * exp_ln2_low);
}

#endif
