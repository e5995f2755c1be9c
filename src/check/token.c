/*
 * Tokens in the checker: widened, compared and scored by separate code, so that it also detects
 * faults of the kernels.
 */
#include "check/check.h"

#include <string.h>

/* IEEE half precision: sign, 5 bits of exponent, 10 of fraction. */
static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

void check_token(const la_rows *rows, int64_t t, double *x)
{
    int64_t at_row = rows->index ? rows->index[t] : t, first = at_row * rows->d;
    if (!rows->base) { /* one-hot words: unit vectors */
        memset(x, 0, (size_t)rows->d * sizeof *x);
        x[at_row] = 1;
        return;
    }
    const char *at = (const char *)rows->base + (size_t)first * attsvm_dtype_size(rows->dtype);
    if (rows->dtype == ATTSVM_F64) {
        memcpy(x, at, (size_t)rows->d * sizeof *x);
        return;
    }
    for (int64_t j = 0; j < rows->d; j++) {
        if (rows->dtype == ATTSVM_F32) {
            float value;
            memcpy(&value, at + (size_t)j * sizeof value, sizeof value);
            x[j] = value;
        } else {
            uint16_t bits;
            memcpy(&bits, at + (size_t)j * sizeof bits, sizeof bits);
            x[j] = half(bits);
        }
    }
}

bool check_same_key(const double *W, const double *x, const double *y, int64_t d)
{
    if (!W) {
        for (int64_t j = 0; j < d; j++)
            if (x[j] != y[j])
                return false;
        return true;
    }
    bool same = true;
    check_exact sum, a, b;
    check_exact_open(&sum);
    check_exact_open(&a);
    check_exact_open(&b);
    for (int64_t i = 0; i < d && same; i++) {
        check_exact_set(&sum, 0);
        for (int64_t j = 0; j < d; j++) {
            dd difference = base_dd_sum(x[j], -y[j]);
            if (difference.hi == 0)
                continue;
            check_exact_set(&a, W[i * d + j]);
            check_exact_set(&b, difference.hi);
            check_exact_add_product(&sum, &a, &b);
            check_exact_set(&b, difference.lo);
            check_exact_add_product(&sum, &a, &b);
        }
        same = check_exact_sign(&sum) == 0;
    }
    check_exact_close(&sum);
    check_exact_close(&a);
    check_exact_close(&b);
    return same;
}

/* sum += sign x'y */
static void add_dot(check_exact *sum, const double *x, const double *y, int64_t d, int sign)
{
    check_exact a, b;
    check_exact_open(&a);
    check_exact_open(&b);
    for (int64_t j = 0; j < d; j++) {
        check_exact_set(&a, sign * x[j]);
        check_exact_set(&b, y[j]);
        check_exact_add_product(sum, &a, &b);
    }
    check_exact_close(&a);
    check_exact_close(&b);
}

/* sum += sign h(x) */
static void add_score(check_exact *sum, const data_head *head, const double *x, int sign)
{
    check_exact part, factor;
    check_exact_open(&part);
    check_exact_open(&factor);
    for (int64_t k = 0; k < head->width && head->kind == ATTSVM_HEAD_RELU; k++) {
        check_exact_set(&part, 0);
        add_dot(&part, head->V + k * head->d, x, head->d, 1);
        check_exact_set(&factor, sign * head->v[k]);
        if (check_exact_sign(&part) > 0)
            check_exact_add_product(sum, &part, &factor);
    }
    if (head->kind != ATTSVM_HEAD_RELU)
        add_dot(sum, head->v, x, head->d, sign);
    if (head->kind == ATTSVM_HEAD_CONCAVE) {
        check_exact_set(&part, 0);
        add_dot(&part, x, x, head->d, 1);
        check_exact_set(&factor, -sign * head->kappa);
        check_exact_add_product(sum, &part, &factor);
    }
    check_exact_close(&part);
    check_exact_close(&factor);
}

bool check_same_score(const data_head *head, const double *x, const double *y)
{
    check_exact sum;
    check_exact_open(&sum);
    add_score(&sum, head, x, 1);
    add_score(&sum, head, y, -1);
    bool same = check_exact_sign(&sum) == 0;
    check_exact_close(&sum);
    return same;
}
