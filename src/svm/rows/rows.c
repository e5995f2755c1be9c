/*
 * Constraint rows from the data: which exist, their right-hand sides, single rows, and the
 * direction u whose logits X_i u give all margins of a term in one pass.
 */
#include "svm/rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool svm_rows_need_matrix(const attsvm_svm_settings *settings)
{
    return settings->problem == ATTSVM_PROBLEM_W || settings->problem == ATTSVM_PROBLEM_MULTI ||
           settings->problem == ATTSVM_PROBLEM_FINITE;
}

attsvm_status svm_rows_terms(data_terms *out, const attsvm_data *data,
                             const attsvm_svm_settings *settings, attsvm_error *err)
{
    TRY(attsvm_settings_check(&attsvm_svm_table, settings, err));
    return data_terms_create(out, data, svm_rows_need_matrix(settings) ? settings->query : 0,
                             settings->query_token, err);
}

/* ---------------------------------------------------------------------- creating */

static attsvm_status copy_alpha(svm_rows *rows, const attsvm_selection *selection,
                                attsvm_error *err)
{
    const int64_t *alpha = selection->alpha;
    if (!alpha)
        return fail(err, ATTSVM_E_ARG, "the problem needs a selection alpha");
    if (selection->terms != rows->terms.count)
        return fail(err, ATTSVM_E_ARG,
                    "the selection has %" PRId64 " entr%s alpha; the problem has %" PRId64
                    " term%s",
                    selection->terms, selection->terms == 1 ? "y" : "ies", rows->terms.count,
                    base_plural(rows->terms.count));
    for (int64_t g = 0; g < rows->terms.count; g++) {
        int64_t i = g, q = 0;
        if (rows->terms.count != rows->data->n)
            data_terms_find(&rows->terms, g, &i, &q);
        int64_t visible = data_terms_visible(&rows->terms, i, q);
        if (alpha[g] < 0 || alpha[g] >= visible)
            return fail(err, ATTSVM_E_ARG, "alpha[%" PRId64 "] = %" PRId64 " is not in 0..%" PRId64,
                        g, alpha[g], visible - 1);
        rows->base[g] = alpha[g];
    }
    return ATTSVM_OK;
}

/* The set of one term: finds its base token and checks all entries that the query sees. */
static attsvm_status check_set(svm_rows *rows, int64_t term, int64_t i, int64_t q, bool finite,
                               attsvm_error *err)
{
    int64_t first = rows->cell[i] + q * data_length(rows->data, i);
    int64_t visible = data_terms_visible(&rows->terms, i, q);
    rows->base[term] = -1;
    for (int64_t t = 0, k = first; t < visible; t++, k++) {
        if (rows->sets[k] > 1)
            return fail(err, ATTSVM_E_ARG, "O[%" PRId64 "] = %d is neither 0 nor 1", k,
                        rows->sets[k]);
        if (rows->sets[k] && rows->base[term] < 0)
            rows->base[term] = t;
        if (rows->sets[k] && finite && !(rows->softmax[k] > 0 && isfinite(rows->softmax[k])))
            return fail(err, ATTSVM_E_ARG,
                        "s[%" PRId64 "] = %g; softmax must be positive where O is 1", k,
                        rows->softmax[k]);
    }
    if (rows->base[term] >= 0)
        return ATTSVM_OK;
    if (rows->terms.count == rows->data->n)
        return fail(err, ATTSVM_E_ARG, "O selects no token of sequence %" PRId64, i);
    return fail(err, ATTSVM_E_ARG,
                "O selects no token of sequence %" PRId64 " that query %" PRId64 " sees", i, q);
}

static attsvm_status copy_sets(svm_rows *rows, const attsvm_selection *selection, attsvm_error *err)
{
    const attsvm_data *data = rows->data;
    bool finite = rows->problem == ATTSVM_PROBLEM_FINITE;
    if (!selection->sets || (finite && !selection->softmax))
        return fail(err, ATTSVM_E_ARG, "the problem needs sets O%s",
                    finite ? " and softmax values s" : "");
    TRY(base_allocate(&rows->cell, (size_t)data->n, sizeof *rows->cell, "sets", err));
    TRY(data_terms_cells(&rows->terms, rows->cell, &rows->cells, err));
    size_t cells = (size_t)rows->cells;
    if (selection->cells != rows->cells)
        return fail(err, ATTSVM_E_ARG,
                    "the selection has %" PRId64 " entries of sets; the problem has %" PRId64
                    " cells",
                    selection->cells, rows->cells);
    TRY(base_allocate(&rows->sets, cells, 1, "sets", err));
    memcpy(rows->sets, selection->sets, cells);
    if (finite) {
        TRY(base_allocate(&rows->softmax, cells, sizeof(double), "softmax", err));
        memcpy(rows->softmax, selection->softmax, cells * sizeof(double));
    }
    for (int64_t i = 0, term = 0; i < data->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&rows->terms, i); q++)
            TRY(check_set(rows, term++, i, q, finite, err));
    return ATTSVM_OK;
}

/* A row of the v-SVM is a sequence, so it needs one label per sequence. */
static attsvm_status need_labels(const svm_rows *rows, attsvm_error *err)
{
    const attsvm_data *data = rows->data;
    if (!data->Y)
        return fail(err, ATTSVM_E_DATA, "the v-SVM needs labels Y, and the data set has none");
    if (data->labels == data->n)
        return ATTSVM_OK;
    return fail(err, ATTSVM_E_DATA,
                "Y has %" PRId64 " label%s for %" PRId64
                " sequence%s; the v-SVM needs one label for each sequence",
                data->labels, base_plural(data->labels), data->n, base_plural(data->n));
}

attsvm_status svm_rows_create(svm_rows *rows, const attsvm_data *data,
                              const attsvm_selection *selection,
                              const attsvm_svm_settings *settings, attsvm_error *err)
{
    *rows = (svm_rows){ .data = data, .problem = settings->problem, .d = data->d };
    bool prompt =
        settings->problem == ATTSVM_PROBLEM_P || settings->problem == ATTSVM_PROBLEM_JOINT;
    TRY(svm_rows_terms(&rows->terms, data, settings, err));
    rows->matrix = rows->terms.mode != 0;
    rows->strict = settings->duplicates == ATTSVM_DUPLICATES_STRICT;
    rows->size = rows->matrix ? data->d * data->d : data->d;
    if (rows->matrix && data->d > INT32_MAX)
        return fail(err, ATTSVM_E_ARG, "d = %" PRId64 " is too large for a matrix W", data->d);
    TRY(base_allocate(&rows->base, (size_t)rows->terms.count, sizeof *rows->base, "selection",
                      err));
    if (settings->problem == ATTSVM_PROBLEM_V)
        TRY(need_labels(rows, err));
    if (prompt && attsvm_data_array(data, "W"))
        TRY(data_doubles(data, "W", (int64_t[]){ data->d, data->d }, 2, &rows->keymap, err));
    /* the head of a joint problem is trained, so only equal tokens have equal scores */
    if (settings->problem == ATTSVM_PROBLEM_P && rows->keymap &&
        data_head_exists(data, settings->head)) {
        TRY(data_head_create(&rows->head, data, settings->head, settings->kappa, err));
        rows->merge_needs_score = true;
    }
    if (settings->problem == ATTSVM_PROBLEM_MULTI || settings->problem == ATTSVM_PROBLEM_FINITE)
        return copy_sets(rows, selection, err);
    return copy_alpha(rows, selection, err);
}

void svm_rows_free(svm_rows *rows)
{
    free(rows->keymap);
    free(rows->base);
    free(rows->b_is_zero);
    free(rows->sets);
    free(rows->softmax);
    free(rows->cell);
    data_head_free(&rows->head);
}

/* ------------------------------------------------------------------ single rows */

svm_term svm_rows_term(const svm_rows *rows, int64_t term)
{
    svm_term out = { .term = term, .i = term, .base = rows->base[term] };
    if (rows->terms.count != rows->data->n)
        data_terms_find(&rows->terms, term, &out.i, &out.q);
    out.visible = data_terms_visible(&rows->terms, out.i, out.q);
    out.b_is_zero = rows->b_is_zero && rows->b_is_zero[term];
    if (rows->sets)
        out.cell = rows->cell[out.i] + out.q * data_length(rows->data, out.i);
    return out;
}

static bool in_set(const svm_rows *rows, const svm_term *term, int64_t t)
{
    return rows->sets && rows->sets[term->cell + t];
}

svm_row_kind svm_rows_kind(const svm_rows *rows, const svm_term *term, int64_t t)
{
    if (rows->problem == ATTSVM_PROBLEM_V)
        return t == term->base ? SVM_AT_LEAST : SVM_NO_ROW;
    if (t == term->base)
        return SVM_NO_ROW;
    if (in_set(rows, term, t))
        return SVM_EQUAL;
    return rows->problem == ATTSVM_PROBLEM_FINITE ? SVM_NO_ROW : SVM_AT_LEAST;
}

/* Token t is a copy of token a: the same key, and the same score or (without scores) token. */
static bool is_copy(const svm_rows *rows, const svm_term *term, int64_t a, int64_t t, double *x)
{
    if (rows->merge_needs_score) {
        attsvm_data_token(rows->data, term->i, a, x);
        attsvm_data_token(rows->data, term->i, t, x + rows->d);
        return data_head_value(&rows->head, x) == data_head_value(&rows->head, x + rows->d);
    }
    return !rows->keymap || data_same_key(rows->data, NULL, term->i, a, t);
}

/* Whether the query of the term is 0, and with it every row. */
static bool has_zero_query(const svm_rows *rows, const svm_term *term, double *z)
{
    svm_rows_query(rows, term, z);
    for (int64_t k = 0; k < rows->d; k++)
        if (z[k] != 0)
            return false;
    return true;
}

svm_row_kind svm_rows_resolve(const svm_rows *rows, const svm_term *term, int64_t t,
                              double *scratch)
{
    svm_row_kind kind = svm_rows_kind(rows, term, t);
    if (kind == SVM_NO_ROW || rows->problem == ATTSVM_PROBLEM_V)
        return kind;
    bool same = data_same_key(rows->data, rows->keymap, term->i, term->base, t);
    if (kind == SVM_EQUAL) { /* 0 = e */
        bool target = svm_rows_rhs(rows, term, t) != 0;
        if (same)
            return target ? SVM_IMPOSSIBLE : SVM_NO_ROW;
        return target && has_zero_query(rows, term, scratch) ? SVM_IMPOSSIBLE : kind;
    }
    if (same) {
        bool merged = !rows->strict && is_copy(rows, term, term->base, t, scratch);
        return merged ? SVM_NO_ROW : term->b_is_zero ? SVM_EMPTY : SVM_IMPOSSIBLE;
    }
    if (rows->sets && !rows->strict)
        for (int64_t a = term->base + 1; a < term->visible; a++)
            if (in_set(rows, term, a) && data_same_key(rows->data, NULL, term->i, a, t))
                return SVM_NO_ROW;
    return kind;
}

/* log(a/b), accurate also if a and b are nearly equal. */
static double log_ratio(double a, double b)
{
    double ratio = a / b;
    return ratio > 0.5 && ratio < 2 ? base_log1p((a - b) / b) : base_log(a) - base_log(b);
}

double svm_rows_rhs(const svm_rows *rows, const svm_term *term, int64_t t)
{
    if (svm_rows_kind(rows, term, t) == SVM_EQUAL) {
        if (rows->problem != ATTSVM_PROBLEM_FINITE)
            return 0;
        return log_ratio(rows->softmax[term->cell + term->base], rows->softmax[term->cell + t]);
    }
    return term->b_is_zero ? 0 : 1;
}

/* out = W delta in double-double. */
static void apply_keymap(const svm_rows *rows, const double *hi, const double *lo, double *out_hi,
                         double *out_lo)
{
    const la_exact *exact = la_exact_active();
    for (int64_t k = 0; k < rows->d; k++) {
        dd key = exact->dot(rows->keymap + k * rows->d, hi, lo, rows->d);
        out_hi[k] = key.hi;
        out_lo[k] = key.lo;
    }
}

/* x - y in double-double; arrays do not overlap. */
static void subtract(const double *restrict x, const double *restrict y, int64_t d,
                     double *restrict hi, double *restrict lo)
{
    for (int64_t j = 0; j < d; j++) {
        dd delta = base_dd_sum(x[j], -y[j]);
        hi[j] = delta.hi;
        lo[j] = delta.lo;
    }
}

void svm_rows_delta(const svm_rows *rows, const svm_term *term, int64_t t, double *hi, double *lo,
                    double *scratch)
{
    int64_t d = rows->d;
    double *x = scratch, *y = scratch + d;
    la_rows tokens = data_sequence(rows->data, term->i);
    la_row(&tokens, term->base, x);
    if (rows->problem == ATTSVM_PROBLEM_V) {
        int label = data_terms_label(&rows->terms, term->i, 0);
        for (int64_t j = 0; j < d; j++) {
            hi[j] = label * x[j];
            lo[j] = 0;
        }
        return;
    }
    la_row(&tokens, t, y);
    if (!rows->keymap) {
        subtract(x, y, d, hi, lo);
        return;
    }
    for (int64_t j = 0; j < d; j++) {
        dd delta = base_dd_sum(x[j], -y[j]);
        x[j] = delta.hi;
        y[j] = delta.lo;
    }
    apply_keymap(rows, x, y, hi, lo);
}

void svm_rows_query(const svm_rows *rows, const svm_term *term, double *z)
{
    data_terms_query(&rows->terms, term->i, term->q, z);
}

void svm_rows_direction(const svm_rows *rows, const svm_term *term, const double *theta, double *z,
                        double *u)
{
    int64_t d = rows->d;
    if (rows->matrix) {
        svm_rows_query(rows, term, z);
        la_gemv(false, d, d, 1, theta, d, z, 0, u);
    } else if (rows->keymap) {
        la_gemv(true, d, d, 1, rows->keymap, d, theta, 0, u);
    } else {
        memcpy(u, theta, (size_t)d * sizeof *u);
    }
}

void svm_rows_direction_exact(const svm_rows *rows, const svm_term *term, const double *hi,
                              const double *lo, double *z, double *u_hi, double *u_lo)
{
    int64_t d = rows->d;
    const la_exact *exact = la_exact_active();
    if (rows->matrix) {
        svm_rows_query(rows, term, z);
        for (int64_t j = 0; j < d; j++) {
            dd u = exact->dot(z, hi + j * d, lo + j * d, d);
            u_hi[j] = u.hi;
            u_lo[j] = u.lo;
        }
    } else if (rows->keymap) {
        memset(u_hi, 0, (size_t)d * sizeof *u_hi);
        memset(u_lo, 0, (size_t)d * sizeof *u_lo);
        for (int64_t k = 0; k < d; k++)
            exact->axpy((dd){ hi[k], lo[k] }, rows->keymap + k * d, u_hi, u_lo, d);
    } else {
        memcpy(u_hi, hi, (size_t)d * sizeof *u_hi);
        memcpy(u_lo, lo, (size_t)d * sizeof *u_lo);
    }
}

la_rows svm_rows_tokens(const svm_rows *rows, const svm_term *term, int64_t *first)
{
    la_rows tokens = data_sequence(rows->data, term->i);
    *first = 0;
    tokens.count = term->visible;
    if (rows->problem != ATTSVM_PROBLEM_V)
        return tokens;
    *first = term->base;
    tokens.count = 1;
    if (tokens.index)
        tokens.index += term->base;
    else
        tokens.base = (const char *)tokens.base + (size_t)(term->base * data_row_bytes(rows->data));
    return tokens;
}

int64_t svm_rows_count(const svm_rows *rows)
{
    int64_t count = 0;
    for (int64_t g = 0; g < rows->terms.count; g++) {
        svm_term term = svm_rows_term(rows, g);
        if (rows->problem == ATTSVM_PROBLEM_V)
            count++;
        else if (!rows->sets)
            count += term.visible - 1;
        else
            for (int64_t t = 0; t < term.visible; t++)
                count += svm_rows_kind(rows, &term, t) != SVM_NO_ROW;
    }
    return count;
}
