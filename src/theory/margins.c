/* Margins of a theta: the rows of a claim, their smallest <A, theta>, angles. */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>

static void layout(theory_margins *m, arena *a)
{
    size_t d = (size_t)m->rows->d, T = (size_t)m->rows->data->T_max;
    m->zero = take(a, (size_t)m->rows->size);
    m->z = take(a, d);
    m->u = take(a, d);
    m->u_lo = take(a, d);
    m->a = take(a, T);
    m->square = take(a, T);
    m->hi = take(a, d);
    m->lo = take(a, d);
    m->more = take(a, 2 * d);
}

attsvm_status theory_margins_create(theory_margins *m, const svm_rows *rows, const double *theta,
                                    attsvm_error *err)
{
    arena a = { 0 };
    *m = (theory_margins){ .rows = rows, .theta = theta };
    layout(m, &a);
    TRY(base_arena_allocate(&a, "margins", err));
    m->memory = a.base;
    layout(m, &a);
    return ATTSVM_OK;
}

void theory_margins_visit(theory_margins *m, const svm_term *term)
{
    const double rounding = 1e-14; /* relative to |x| |u|, generous enough for long sums */
    la_rows tokens = data_sequence(m->rows->data, term->i);
    tokens.count = term->visible;
    svm_rows_direction(m->rows, term, m->theta, m->z, m->u);
    la_rows_dot(&tokens, m->u, m->a);
    la_active()->rows_square(&tokens, m->square);
    double largest = 0;
    for (int64_t t = 0; t < term->visible; t++)
        largest = fmax(largest, m->square[t]);
    m->doubt = rounding * sqrt((double)m->rows->d * largest) * la_norm(m->u, m->rows->d);
}

double theory_margins_exact(theory_margins *m, const svm_term *term, int64_t t)
{
    const svm_rows *rows = m->rows;
    svm_rows_delta(rows, term, t, m->hi, m->lo, m->more);
    const double *theta_hi = m->theta, *theta_lo = m->zero;
    dd sum = base_dd(0);
    if (rows->matrix) {
        svm_rows_direction_exact(rows, term, m->theta, m->zero, m->z, m->u, m->u_lo);
        theta_hi = m->u;
        theta_lo = m->u_lo;
    }
    for (int64_t j = 0; j < rows->d; j++)
        sum = base_dd_add(
            sum, base_dd_mul((dd){ m->hi[j], m->lo[j] }, (dd){ theta_hi[j], theta_lo[j] }));
    return base_dd_value(sum);
}

attsvm_status theory_margins_min(const svm_rows *rows, const double *theta, double *min_margin,
                                 double *min_zero_margin, attsvm_error *err)
{
    theory_margins m;
    int64_t lo, hi;
    *min_margin = *min_zero_margin = INFINITY;
    data_own(rows->data, &lo, &hi);
    data_reader reader = data_reader_terms(&rows->terms, data_terms_first(&rows->terms, lo),
                                           data_terms_first(&rows->terms, hi));
    TRY(theory_margins_create(&m, rows, theta, err));
    for (int64_t g; data_reader_each(&reader, &g);) {
        svm_term term = svm_rows_term(rows, g);
        theory_margins_visit(&m, &term);
        double *to = term.b_is_zero ? min_zero_margin : min_margin;
        for (int64_t t = 0; t < term.visible; t++) {
            double margin = m.a[term.base] - m.a[t];
            if (margin < *to && svm_rows_resolve(rows, &term, t, m.more) != SVM_NO_ROW)
                *to = margin;
        }
    }
    free(m.memory);
    double largest[] = { -*min_margin, -*min_zero_margin };
    dist_max(rows->data->comm, largest, 2);
    *min_margin = -largest[0];
    *min_zero_margin = -largest[1];
    return ATTSVM_OK;
}

/* Compares unit vectors, so that no product of norms over- or underflows. */
double attsvm_correlation(const double *a, const double *b, int64_t count)
{
    if (!a || !b)
        return NAN;
    double norm_a = la_norm(a, count), norm_b = la_norm(b, count), sum = 0;
    if (!(norm_a > 0) || !(norm_b > 0))
        return NAN;
    for (int64_t j = 0; j < count; j++)
        sum += a[j] / norm_a * (b[j] / norm_b);
    return fmax(-1, fmin(sum, 1));
}

/* 2 atan(|a - b| / |a + b|) for unit vectors (Kahan): accurate at every angle. */
double theory_angle(const double *a, const double *b, int64_t count)
{
    const double degrees = 180 / 3.14159265358979323846;
    double norm_a = la_norm(a, count), norm_b = la_norm(b, count), minus = 0, plus = 0;
    if (!(norm_a > 0) || !(norm_b > 0))
        return NAN;
    for (int64_t j = 0; j < count; j++) {
        double x = a[j] / norm_a, y = b[j] / norm_b;
        minus += (x - y) * (x - y);
        plus += (x + y) * (x + y);
    }
    return 2 * base_atan_ratio(sqrt(minus), sqrt(plus)) * degrees;
}

/* ------------------------------------------------------------- rows of a claim */

double theory_head_margin(const attsvm_data *data, int64_t i, int64_t token, const double *v,
                          double *x)
{
    attsvm_data_token(data, i, token, x);
    return attsvm_data_label(data, i) * base_dd_value(base_dd_dot(x, v, data->d));
}

attsvm_status theory_relaxed_ratio(const attsvm_data *data, const attsvm_selection *selection,
                                   const double *v, double relaxed, int64_t *tight, double *ratio,
                                   attsvm_error *err)
{
    int64_t lo, hi;
    double norm = la_norm(v, data->d), least = INFINITY, count = 0, *x;
    TRY(base_allocate(&x, (size_t)data->d, sizeof *x, "token", err));
    data_own(data, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        double margin = theory_head_margin(data, i, selection->alpha[i], v, x);
        if (margin <= 1 + THEORY_TIGHT)
            count++;
        else
            least = fmin(least, (margin - 1) / norm);
    }
    free(x);
    least = -least;
    dist_sum(data->comm, &count, 1);
    dist_max(data->comm, &least, 1);
    least = -least;
    *tight = (int64_t)count;
    *ratio = isfinite(least) ? 1 / (least * relaxed) : 0;
    return ATTSVM_OK;
}

/* b = 0 in the terms whose v-SVM row is not tight. */
static attsvm_status set_right_hand_sides(svm_rows *rows, const attsvm_claim *head,
                                          attsvm_error *err)
{
    double *x;
    TRY(base_allocate(&rows->b_is_zero, (size_t)rows->data->n, 1, "right-hand sides", err));
    TRY(base_allocate(&x, (size_t)rows->d, sizeof *x, "token", err));
    int64_t lo, hi;
    data_own(rows->data, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        double margin = theory_head_margin(rows->data, i, rows->base[i], head->theta, x);
        rows->b_is_zero[i] = margin > 1 + THEORY_TIGHT;
    }
    free(x);
    dist_gather(rows->data->comm, rows->b_is_zero, 1, rows->data->share);
    return ATTSVM_OK;
}

attsvm_status theory_rows_of(svm_rows *rows, const attsvm_data *data, const attsvm_claim *claim,
                             attsvm_error *err)
{
    attsvm_status status = svm_rows_create(rows, data, &claim->selection, &claim->settings, err);
    if (status == ATTSVM_OK && claim->head && claim->head->outcome == ATTSVM_OPTIMAL)
        status = set_right_hand_sides(rows, claim->head, err);
    if (status != ATTSVM_OK)
        svm_rows_free(rows);
    return status;
}
