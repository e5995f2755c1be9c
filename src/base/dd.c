/*
 * Double-double arithmetic (Dekker 1971; Hida, Li, Bailey 2001): about 32 digits from pairs of
 * doubles.  Needs IEEE double evaluation without contraction, which the build asks for.
 */
#include "base/base.h"

#include <math.h>

static dd quick_sum(double a, double b) /* |a| >= |b| */
{
    double s = a + b;
    return (dd){ s, b - (s - a) };
}

dd base_dd(double a)
{
    return (dd){ a, 0 };
}

dd base_dd_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (dd){ s, (a - (s - t)) + (b - t) };
}

dd base_dd_product(double a, double b)
{
    double p = a * b;
    return (dd){ p, fma(a, b, -p) };
}

dd base_dd_add(dd a, dd b)
{
    dd s = base_dd_sum(a.hi, b.hi), t = base_dd_sum(a.lo, b.lo);
    s = quick_sum(s.hi, s.lo + t.hi);
    return quick_sum(s.hi, s.lo + t.lo);
}

dd base_dd_sub(dd a, dd b)
{
    return base_dd_add(a, (dd){ -b.hi, -b.lo });
}

dd base_dd_mul(dd a, dd b)
{
    dd p = base_dd_product(a.hi, b.hi);
    return quick_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

dd base_dd_div(dd a, dd b)
{
    double q1 = a.hi / b.hi;
    dd r = base_dd_sub(a, base_dd_mul(b, base_dd(q1)));
    double q2 = r.hi / b.hi;
    r = base_dd_sub(r, base_dd_mul(b, base_dd(q2)));
    double q3 = r.hi / b.hi;
    return base_dd_add(quick_sum(q1, q2), base_dd(q3));
}

dd base_dd_sqrt(dd a)
{
    if (a.hi <= 0)
        return base_dd(0);
    /* one Newton step from the double root doubles its digits */
    double root = sqrt(a.hi);
    dd rest = base_dd_sub(a, base_dd_product(root, root));
    return quick_sum(root, rest.hi / (2 * root));
}

int base_dd_compare(dd a, dd b)
{
    if (a.hi != b.hi)
        return a.hi < b.hi ? -1 : 1;
    return a.lo < b.lo ? -1 : a.lo > b.lo;
}

double base_dd_value(dd a)
{
    return a.hi + a.lo;
}

dd base_dd_total(const double *x, int64_t count)
{
    dd s = base_dd(0);
    for (int64_t i = 0; i < count; i++)
        s = base_dd_add(s, base_dd(x[i]));
    return s;
}

dd base_dd_dot(const double *x, const double *y, int64_t count)
{
    dd s = base_dd(0);
    for (int64_t i = 0; i < count; i++)
        s = base_dd_add(s, base_dd_product(x[i], y[i]));
    return s;
}
