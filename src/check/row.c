/*
 * A single row (theory 4): its entries and its value at theta in exact numbers, and bounds of its
 * norms.
 */
#include "check/check.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------- entries, exactly */

static void set_sum(check_exact *out, double hi, double lo, check_exact *spare)
{
    check_exact_set(out, hi);
    check_exact_set(spare, lo);
    check_exact_add(out, spare);
}

/* Entry j of W delta, or of delta. */
static void exact_key(const check_problem *p, const dd *delta, int64_t j, check_exact *key)
{
    check_exact a, b;
    check_exact_open(&a);
    check_exact_open(&b);
    if (!p->key_map)
        set_sum(key, delta[j].hi, delta[j].lo, &a);
    else
        check_exact_set(key, 0);
    for (int64_t k = 0; k < p->d && p->key_map; k++) {
        check_exact_set(&b, p->key_map[j * p->d + k]);
        check_exact_set(&a, delta[k].hi);
        check_exact_add_product(key, &a, &b);
        check_exact_set(&a, delta[k].lo);
        check_exact_add_product(key, &a, &b);
    }
    check_exact_close(&a);
    check_exact_close(&b);
}

void check_row_entries(const check_problem *p, const dd *delta, const double *z, check_exact *out)
{
    for (int64_t j = 0; j < p->d && !p->matrix; j++)
        exact_key(p, delta, j, &out[j]);
    check_exact a, b;
    check_exact_open(&a);
    check_exact_open(&b);
    for (int64_t j = 0; j < p->d && p->matrix; j++) {
        set_sum(&a, delta[j].hi, delta[j].lo, &b);
        for (int64_t k = 0; k < p->d; k++) {
            check_exact_set(&out[j * p->d + k], z[k]);
            check_exact_multiply(&out[j * p->d + k], &a);
        }
    }
    check_exact_close(&a);
    check_exact_close(&b);
}

/* theta[k] with its low parts. */
static void exact_theta(const check_problem *p, int64_t k, check_exact *out, check_exact *spare)
{
    const attsvm_claim *claim = p->claim;
    set_sum(out, claim->theta[k], claim->theta_lo ? claim->theta_lo[k] : 0, spare);
    if (claim->theta_lo2) {
        check_exact_set(spare, claim->theta_lo2[k]);
        check_exact_add(out, spare);
    }
}

void check_row_value(const check_problem *p, const dd *delta, const double *z, check_exact *out)
{
    int64_t d = p->d;
    check_exact a, b, h, key;
    check_exact_open(&key);
    check_exact_open(&a);
    check_exact_open(&b);
    check_exact_open(&h);
    check_exact_set(out, 0);
    for (int64_t j = 0; j < d; j++) {
        exact_key(p, delta, j, &key);
        if (check_exact_sign(&key) == 0)
            continue;
        check_exact_set(&h, 0);
        for (int64_t k = 0; k < d && p->matrix; k++) {
            exact_theta(p, j * d + k, &a, &b);
            check_exact_set(&b, z[k]);
            check_exact_add_product(&h, &a, &b);
        }
        if (!p->matrix)
            exact_theta(p, j, &h, &b);
        check_exact_add_product(out, &key, &h);
    }
    check_exact_close(&a);
    check_exact_close(&b);
    check_exact_close(&h);
    check_exact_close(&key);
}

/* ------------------------------------------------------------------------------ sizes */

static bool is_zero(const dd *delta, int64_t d)
{
    for (int64_t j = 0; j < d; j++)
        if (delta[j].hi != 0)
            return false;
    return true;
}

/*
 * W delta in double into key; false if its rounding error may exceed a millionth of it.
 */
static bool mapped(const check_problem *p, const dd *delta, double *key, double *sizes)
{
    double largest = 0, error = 0;
    for (int64_t j = 0; j < p->d; j++) {
        check_sum sum = { 0, 0 };
        sizes[j] = 0;
        for (int64_t k = 0; k < p->d; k++) {
            check_sum_add(&sum, base_dd(p->key_map[j * p->d + k]), delta[k]);
            sizes[j] += fabs(p->key_map[j * p->d + k] * delta[k].hi);
        }
        key[j] = base_dd_value(check_sum_value(sum));
        largest = check_max(largest, fabs(key[j]));
        error += sizes[j] * check_sum_error(p->d) + CHECK_SMALL;
    }
    return error <= 1e-12 * largest && largest < CHECK_LARGE;
}

/* The same exactly, then rounded; false: out of range.  *zero: all entries are 0. */
static bool mapped_exactly(const check_problem *p, const dd *delta, double *key, bool *zero)
{
    bool good = true;
    check_exact exact;
    check_exact_open(&exact);
    *zero = true;
    for (int64_t j = 0; j < p->d; j++) {
        bool in_range;
        exact_key(p, delta, j, &exact);
        key[j] = check_exact_value(&exact, &in_range).hi;
        good = good && in_range;
        *zero = *zero && check_exact_sign(&exact) == 0;
    }
    check_exact_close(&exact);
    return good;
}

/* |x|, divided by a power of two that is added to *power, so that no square leaves the range. */
static double scaled_norm(attsvm_norm norm, double q, double *x, int64_t d, int *power)
{
    double largest = 0;
    int own = 0;
    for (int64_t j = 0; j < d; j++)
        largest = check_max(largest, fabs(x[j]));
    if (!(largest > 0) || !isfinite(largest))
        return largest;
    frexp(largest, &own);
    *power += own;
    for (int64_t j = 0; j < d; j++)
        x[j] = ldexp(x[j], -own);
    return check_vector_norm(norm, q, x, d);
}

/*
 * A row is W delta for vectors (W the key map), delta z' for matrices.  The entrywise norms of a
 * rank-one matrix are products of vector norms, and so are its Frobenius, spectral and nuclear
 * norms, which all equal |delta|_2 |z|_2.
 */
check_range check_row_size(const check_problem *p, attsvm_norm norm, double q, const dd *delta,
                           const double *z, double *scratch)
{
    bool zero = is_zero(delta, p->d), good = true;
    for (int64_t j = 0; j < p->d && !p->key_map; j++)
        scratch[j] = delta[j].hi;
    if (!zero && p->key_map && !mapped(p, delta, scratch, scratch + p->d))
        good = mapped_exactly(p, delta, scratch, &zero);
    int power = 0;
    double size = zero ? 0 : scaled_norm(norm, q, scratch, p->d, &power);
    if (p->matrix) {
        memcpy(scratch, z, (size_t)p->d * sizeof *z);
        size *= scaled_norm(norm, q, scratch, p->d, &power);
    }
    if (size == 0)
        return (check_range){ 0, 0 };
    size = ldexp(size, power);
    if (good && size > 0x1p-900 && size < 0x1p900)
        return (check_range){ size * (1 - 1e-10), size * (1 + 1e-10) };
    return (check_range){ 0, INFINITY };
}
