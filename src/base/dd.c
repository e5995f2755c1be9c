/*
 * Double-double arithmetic (Dekker 1971; Hida, Li, Bailey 2001): about 32 digits from pairs of
 * doubles.  Needs IEEE double evaluation without contraction, which the build enables.
 */
#include "base/base.h"

#include <math.h>

dd base_dd_div(dd a, dd b)
{
    double q1 = a.hi / b.hi;
    dd r = base_dd_sub(a, base_dd_mul(b, base_dd(q1)));
    double q2 = r.hi / b.hi;
    r = base_dd_sub(r, base_dd_mul(b, base_dd(q2)));
    double q3 = r.hi / b.hi;
    return base_dd_add(base_dd_quick_sum(q1, q2), base_dd(q3));
}

dd base_dd_sqrt(dd a)
{
    if (a.hi <= 0)
        return base_dd(0);
    /* one Newton step from the double root doubles its digits */
    double root = sqrt(a.hi);
    dd rest = base_dd_sub(a, base_dd_product(root, root));
    return base_dd_quick_sum(root, rest.hi / (2 * root));
}

int base_dd_compare(dd a, dd b)
{
    if (a.hi != b.hi)
        return a.hi < b.hi ? -1 : 1;
    return a.lo < b.lo ? -1 : a.lo > b.lo;
}

dd base_dd_dot(const double *x, const double *y, int64_t count)
{
    dd s = base_dd(0);
    for (int64_t i = 0; i < count; i++)
        s = base_dd_add(s, base_dd_product(x[i], y[i]));
    return s;
}
