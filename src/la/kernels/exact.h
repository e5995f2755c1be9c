/*
 * Sums of products as if in twice the precision: (s, c) holds the rounded sum s and the sum c of
 * all rounding errors (Ogita, Rump, Oishi 2005, "Dot2").  The result has an error of about u^2
 * times the sum of absolute values, u = 2^-53.
 */

/* s + e = a + b */
#define TWO_SUM(type, s, e, a, b)                                                                  \
    type s = (a) + (b);                                                                            \
    type s##_part = s - (a);                                                                       \
    type e = ((a) - (s - s##_part)) + ((b)-s##_part)

/* Rounding error of the product p = a b: fma(a, b, -p), with or without the instruction. */
INLINE double product_error(double a, double b, double p)
{
    return fma(a, b, -p);
}

INLINE doubles fused_errors(doubles a, doubles b, doubles p)
{
    doubles e = { 0 };
    for (int k = 0; k < LANES; k++)
        e[k] = product_error(a[k], b[k], p[k]);
    return e;
}

#if defined(__FMA__) || defined(__FP_FAST_FMA)
INLINE doubles product_errors(doubles a, doubles b, doubles p)
{
    return fused_errors(a, b, p);
}
#else
/* Whether every |x| is 0 or between 2^-400 and 2^400. */
INLINE bool moderate(doubles x)
{
    const doubles size = most(x, -x);
    const longs fine = (size == 0.0) | ((size > 0x1p-400) & (size < 0x1p400));
    bool all_fine = true;
    for (int k = 0; k < LANES; k++)
        all_fine &= fine[k] != 0;
    return all_fine;
}

/*
 * Dekker's product: halves of 26 bits multiply exactly, and the sum of the remainders is exact.  If
 * a part might overflow or underflow, use the fma of the C library, which may be slow.
 */
INLINE doubles product_errors(doubles a, doubles b, doubles p)
{
    if (!moderate(a) || !moderate(b))
        return fused_errors(a, b, p);
    doubles ta = 134217729.0 * a, tb = 134217729.0 * b;
    doubles ah = ta - (ta - a), bh = tb - (tb - b), al = a - ah, bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}
#endif

/* sum_j x_j (hi_j + lo_j) */
static dd exact_dot(const double *x, const double *hi, const double *lo, int64_t count)
{
    eight s = eight_of(0), c = s;
    int64_t j = 0;
    for (; j + LA_LANES <= count; j += LA_LANES)
        for (int part = 0; part < PARTS; part++) {
            const int64_t at = j + part * LANES;
            const doubles a = load(x + at), b = load(hi + at), p = a * b;
            TWO_SUM(doubles, t, e, s.part[part], p);
            c.part[part] += e + (product_errors(a, b, p) + a * load(lo + at));
            s.part[part] = t;
        }
    double sum = 0, errors = 0;
    for (int k = 0; k < LA_LANES; k++) {
        TWO_SUM(double, t, e, sum, s.part[k / LANES][k % LANES]);
        errors += e + c.part[k / LANES][k % LANES];
        sum = t;
    }
    for (; j < count; j++) {
        double p = x[j] * hi[j];
        TWO_SUM(double, t, e, sum, p);
        errors += e + (product_error(x[j], hi[j], p) + x[j] * lo[j]);
        sum = t;
    }
    double value = sum + errors;
    return (dd){ value, errors - (value - sum) };
}

/* (hi_j + lo_j) += (a.hi + a.lo) x_j */
static void exact_axpy(dd a, const double *x, double *hi, double *lo, int64_t count)
{
    const doubles ah = all(a.hi), al = all(a.lo);
    int64_t j = 0;
    for (; j + LANES <= count; j += LANES) {
        doubles b = load(x + j), p = ah * b;
        doubles old = load(hi + j);
        TWO_SUM(doubles, t, e, old, p);
        doubles c = load(lo + j) + (e + (product_errors(ah, b, p) + al * b));
        doubles value = t + c;
        store(hi + j, value);
        store(lo + j, c - (value - t));
    }
    for (; j < count; j++) {
        double p = a.hi * x[j];
        TWO_SUM(double, t, e, hi[j], p);
        double c = lo[j] + (e + (product_error(a.hi, x[j], p) + a.lo * x[j]));
        hi[j] = t + c;
        lo[j] = c - (hi[j] - t);
    }
}
