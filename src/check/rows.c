/*
 * The rows of a problem, rebuilt from the data (theory 4): for each term (a sequence with one of
 * its queries) the selected token, the rivals, their right-hand sides, and which tokens are copies
 * of the selected one.
 */
#include "check/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool check_reject(attsvm_report *report, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(report->reason, sizeof report->reason, format, list);
    va_end(list);
    report->valid = false;
    return false;
}

/* ------------------------------------------------------------------------ opening */

static attsvm_status check_settings(const attsvm_svm_settings *s, attsvm_error *err)
{
    if (s->problem < ATTSVM_PROBLEM_P || s->problem > ATTSVM_PROBLEM_FINITE)
        return fail(err, ATTSVM_E_ARG, "problem = %d is not in 1..6", s->problem);
    if (s->norm < ATTSVM_NORM_L2 || s->norm > ATTSVM_NORM_LINF)
        return fail(err, ATTSVM_E_ARG, "norm = %d is not in 1..7", s->norm);
    if (s->query < ATTSVM_QUERY_GIVEN || s->query > ATTSVM_QUERY_LAST)
        return fail(err, ATTSVM_E_ARG, "query = %d is not in 1..5", s->query);
    if (s->duplicates < ATTSVM_DUPLICATES_MERGE || s->duplicates > ATTSVM_DUPLICATES_STRICT)
        return fail(err, ATTSVM_E_ARG, "duplicates = %d is not in 1..2", s->duplicates);
    if (s->head < ATTSVM_HEAD_LINEAR || s->head > ATTSVM_HEAD_CONCAVE)
        return fail(err, ATTSVM_E_ARG, "head = %d is not in 1..3", s->head);
    if (s->norm == ATTSVM_NORM_LQ && !(s->q > 1 && isfinite(s->q)))
        return fail(err, ATTSVM_E_ARG, "q = %g is not above 1 and finite", s->q);
    if (!(s->soft >= 0 && isfinite(s->soft)))
        return fail(err, ATTSVM_E_ARG, "soft = %g is not 0 or more", s->soft);
    if (s->rank < 0 || s->threads < 0)
        return fail(err, ATTSVM_E_ARG, "rank = %" PRId64 " or threads = %" PRId64 " is below 0",
                    s->rank, s->threads);
    bool euclidean = s->norm == ATTSVM_NORM_L2 || s->norm == ATTSVM_NORM_FRO;
    if (s->soft > 0 && !euclidean)
        return fail(err, ATTSVM_E_ARG, "soft = %g: soft margins are for l2 and fro", s->soft);
    if (s->rank > 0 && (s->problem != ATTSVM_PROBLEM_W || s->soft > 0 ||
                        (!euclidean && s->norm != ATTSVM_NORM_NUC)))
        return fail(err, ATTSVM_E_ARG,
                    "rank = %" PRId64 ": a rank limit is for problem W, hard, in fro or nuc",
                    s->rank);
    if (s->head == ATTSVM_HEAD_CONCAVE && !isfinite(s->kappa))
        return fail(err, ATTSVM_E_ARG, "kappa = %g is not finite", s->kappa);
    return ATTSVM_OK;
}

static attsvm_status open_queries(check_problem *p, attsvm_error *err)
{
    const attsvm_svm_settings *s = &p->claim->settings;
    const attsvm_data *data = p->data;
    p->queries = 1;
    if (!p->matrix)
        return ATTSVM_OK;
    if (s->query == ATTSVM_QUERY_ALL || s->query == ATTSVM_QUERY_CAUSAL) {
        p->queries = 0;
        p->causal = s->query == ATTSVM_QUERY_CAUSAL;
        return ATTSVM_OK;
    }
    if (s->query == ATTSVM_QUERY_LAST)
        return ATTSVM_OK;
    const attsvm_array *Z = attsvm_data_array(data, "Z");
    if (s->query == ATTSVM_QUERY_GIVEN && Z) {
        p->queries = data->queries;
        p->Z = (la_rows){ Z->data, NULL, data->n * data->queries, data->d, Z->dtype };
        return ATTSVM_OK;
    }
    for (int64_t i = 0; i < data->n; i++)
        if (s->query_token < 0 || s->query_token >= data_length(data, i))
            return fail(err, ATTSVM_E_ARG,
                        "query token %" PRId64 " is not in 0..%" PRId64
                        ", the tokens of sequence %" PRId64,
                        s->query_token, data_length(data, i) - 1, i);
    return ATTSVM_OK;
}

/*
 * Key map and, if it may give different tokens the same key, the head: only then do scores decide
 * whether two tokens are copies.
 */
static attsvm_status open_maps(check_problem *p, attsvm_error *err)
{
    const attsvm_svm_settings *s = &p->claim->settings;
    const attsvm_data *data = p->data;
    if (s->problem != ATTSVM_PROBLEM_P && s->problem != ATTSVM_PROBLEM_JOINT)
        return ATTSVM_OK;
    if (!attsvm_data_array(data, "W"))
        return ATTSVM_OK;
    TRY(data_doubles(data, "W", (int64_t[]){ data->d, data->d }, 2, &p->key_map, err));
    /* a joint problem trains its head, so only equal tokens are copies */
    if (s->problem == ATTSVM_PROBLEM_JOINT || !data_head_exists(data, s->head))
        return ATTSVM_OK;
    p->has_head = true;
    return data_head_create(&p->head, data, s->head, s->kappa, err);
}

static bool open_alpha(const check_problem *p, attsvm_report *report)
{
    const int64_t *alpha = p->claim->selection.alpha;
    if (!alpha)
        return check_reject(report, "the claim has no selection (ids)");
    int64_t terms = 0;
    for (int64_t i = 0; i < p->data->n; i++)
        terms += check_queries(p, i);
    if (p->claim->selection.terms != terms)
        return check_reject(report, "ids has %" PRId64 " entries; the problem has %" PRId64,
                            p->claim->selection.terms, terms);
    for (int64_t i = 0, term = 0; i < p->data->n; i++)
        for (int64_t m = 0, count = check_queries(p, i); m < count; m++, term++) {
            int64_t visible = p->causal ? m + 1 : data_length(p->data, i);
            if (alpha[term] < 0 || alpha[term] >= visible)
                return check_reject(report,
                                    "ids[%" PRId64 "] = %" PRId64 " is not in 0..%" PRId64
                                    ", the tokens that sequence %" PRId64 " shows",
                                    term, alpha[term], visible - 1, i);
        }
    return true;
}

/* Entries of O and s: for each sequence and each of its queries one row of T_i. */
static attsvm_status locate_sets(check_problem *p, attsvm_error *err)
{
    int64_t at = 0;
    TRY(base_allocate(&p->row, (size_t)p->data->n, sizeof *p->row, "sets", err));
    for (int64_t i = 0; i < p->data->n; i++) {
        int64_t T = data_length(p->data, i), queries = check_queries(p, i);
        p->row[i] = at;
        if (T > (INT64_MAX / 16 - at) / queries)
            return fail(err, ATTSVM_E_MEMORY, "sequence %" PRId64 " has too many queries", i);
        at += T * queries;
    }
    return ATTSVM_OK;
}

/* The row of a term: O and s from here. */
static int64_t set_of(const check_problem *p, const check_term *term)
{
    return p->row[term->sequence] + term->query * data_length(p->data, term->sequence);
}

static bool open_set(const check_problem *p, const check_term *term, attsvm_report *report)
{
    const uint8_t *O = p->claim->selection.sets;
    const double *s = p->claim->selection.softmax;
    bool finite = p->claim->settings.problem == ATTSVM_PROBLEM_FINITE;
    int64_t first = set_of(p, term);
    for (int64_t k = first; k < first + term->visible; k++) {
        if (O[k] > 1)
            return check_reject(report, "O[%" PRId64 "] = %d is neither 0 nor 1", k, O[k]);
        if (O[k] && finite && !(s[k] > 0))
            return check_reject(
                report, "s[%" PRId64 "] = %g is not positive, but its token is in O", k, s[k]);
    }
    if (term->base >= 0)
        return true;
    return p->queries == 1
               ? check_reject(report, "O selects no token of sequence %" PRId64, term->sequence)
               : check_reject(report,
                              "O selects no token of sequence %" PRId64 " that query %" PRId64
                              " sees",
                              term->sequence, term->query);
}

static bool open_sets(check_problem *p, attsvm_report *report)
{
    bool finite = p->claim->settings.problem == ATTSVM_PROBLEM_FINITE;
    if (!p->claim->selection.sets)
        return check_reject(report, "the claim has no sets (O)");
    if (finite && !p->claim->selection.softmax)
        return check_reject(report, "the claim has no softmax (s), which the problem needs");
    int64_t cells = 0;
    for (int64_t i = 0; i < p->data->n; i++)
        cells += check_queries(p, i) * data_length(p->data, i);
    if (p->claim->selection.cells != cells)
        return check_reject(report, "O has %" PRId64 " entries; the problem has %" PRId64,
                            p->claim->selection.cells, cells);
    for (int64_t k = 0; k < cells && p->claim->selection.softmax; k++)
        if (!isfinite(p->claim->selection.softmax[k]))
            return check_reject(report, "s[%" PRId64 "] is not a finite number", k);
    for (int64_t i = 0; i < p->data->n; i++)
        for (int64_t m = 0, count = check_queries(p, i); m < count; m++) {
            check_term term = check_term_of(p, i, m);
            if (!open_set(p, &term, report))
                return false;
        }
    return true;
}

bool check_problem_open(check_problem *p, const attsvm_data *data, const attsvm_claim *claim,
                        attsvm_report *report, attsvm_status *status, attsvm_error *err)
{
    const attsvm_svm_settings *s = &claim->settings;
    *p = (check_problem){ .data = data, .claim = claim, .d = data->d };
    *status = check_settings(s, err);
    if (*status != ATTSVM_OK)
        return false;
    p->threads = base_threads(s->threads);
    p->sets = s->problem == ATTSVM_PROBLEM_MULTI || s->problem == ATTSVM_PROBLEM_FINITE;
    p->matrix = p->sets || s->problem == ATTSVM_PROBLEM_W;
    if (s->problem == ATTSVM_PROBLEM_V && data->labels != data->n)
        *status = fail(err, ATTSVM_E_DATA,
                       "the v-SVM needs one label Y for each of the %" PRId64
                       " sequences; there are %" PRId64,
                       data->n, data->labels);
    if (*status == ATTSVM_OK)
        *status = open_queries(p, err);
    if (*status == ATTSVM_OK)
        *status = open_maps(p, err);
    if (*status == ATTSVM_OK && p->sets)
        *status = locate_sets(p, err);
    if (*status != ATTSVM_OK)
        return false;
    return p->sets ? open_sets(p, report) : open_alpha(p, report);
}

void check_problem_close(check_problem *p)
{
    free(p->key_map);
    free(p->row);
    data_head_free(&p->head);
}

/* -------------------------------------------------------------------------- terms */

int64_t check_queries(const check_problem *p, int64_t i)
{
    return p->queries ? p->queries : data_length(p->data, i);
}

check_term check_term_of(const check_problem *p, int64_t i, int64_t m)
{
    check_term term = { i, m, -1, data_length(p->data, i), data_sequence(p->data, i) };
    if (p->causal)
        term.visible = m + 1;
    if (!p->sets) {
        term.base =
            p->claim->selection.alpha[p->queries ? i * p->queries + m : data_first(p->data, i) + m];
        return term;
    }
    /* beta: the lowest member of its set that the query sees */
    const uint8_t *O = p->claim->selection.sets + set_of(p, &term);
    for (int64_t t = 0; t < term.visible && term.base < 0; t++)
        if (O[t])
            term.base = t;
    return term;
}

void check_query(const check_problem *p, const check_term *term, double *z)
{
    if (p->Z.count > 0)
        check_token(&p->Z, term->sequence * p->queries + term->query, z);
    else if (p->claim->settings.query == ATTSVM_QUERY_LAST)
        check_token(&term->tokens, term->tokens.count - 1, z);
    else
        check_token(&term->tokens, p->queries ? p->claim->settings.query_token : term->query, z);
}

/* log(a/b) to a few units in the last place, also if a and b are nearly equal. */
static double log_ratio(double a, double b)
{
    double ratio = a / b;
    return ratio > 0.5 && ratio < 2 ? base_log1p((a - b) / b) : base_log(a) - base_log(b);
}

check_kind check_row(const check_problem *p, const check_term *term, int64_t t, double *right)
{
    int32_t problem = p->claim->settings.problem;
    *right = 1;
    if (term->base < 0 || t >= term->visible)
        return CHECK_NO_ROW;
    if (problem == ATTSVM_PROBLEM_V)
        return t == term->base ? CHECK_ABOVE : CHECK_NO_ROW;
    if (t == term->base)
        return CHECK_NO_ROW;
    if (problem == ATTSVM_PROBLEM_JOINT)
        *right = p->tight[term->sequence];
    if (!p->sets)
        return CHECK_ABOVE;
    int64_t first = set_of(p, term);
    const attsvm_selection *selection = &p->claim->selection;
    bool member = selection->sets[first + t];
    if (problem == ATTSVM_PROBLEM_MULTI) {
        *right = !member;
        return member ? CHECK_EQUAL : CHECK_ABOVE;
    }
    if (!member)
        return CHECK_NO_ROW;
    *right = log_ratio(selection->softmax[first + term->base], selection->softmax[first + t]);
    return CHECK_EQUAL;
}

/* ------------------------------------------------------------------------- copies */

/* A token outside the set that equals a member of it. */
static bool copies_member(const check_problem *p, const check_term *term, const double *x,
                          double *other)
{
    const uint8_t *O = p->claim->selection.sets + set_of(p, term);
    for (int64_t o = term->base + 1; o < term->visible; o++) {
        if (!O[o])
            continue;
        check_token(&term->tokens, o, other);
        if (check_same_key(NULL, other, x, p->d))
            return true;
    }
    return false;
}

bool check_is_copy(const check_problem *p, const check_term *term, int64_t t, const double *base,
                   const double *x, double *scratch)
{
    const attsvm_svm_settings *s = &p->claim->settings;
    (void)t;
    if (s->duplicates == ATTSVM_DUPLICATES_STRICT || s->problem == ATTSVM_PROBLEM_V)
        return false;
    if (check_same_key(NULL, base, x, p->d))
        return true;
    if (p->sets)
        return copies_member(p, term, x, scratch);
    /* different tokens with the same key: copies if their scores agree, too */
    return p->key_map && p->has_head && check_same_key(p->key_map, base, x, p->d) &&
           check_same_score(&p->head, base, x);
}

/* -------------------------------------------------------------------- one row at a time */

void check_row_name(const check_problem *p, attsvm_row row, char *out, size_t size)
{
    if (p->queries == 1)
        snprintf(out, size, "(sequence %" PRId64 ", token %" PRId64 ")", row.sequence, row.token);
    else
        snprintf(out, size, "(sequence %" PRId64 ", query %" PRId64 ", token %" PRId64 ")",
                 row.sequence, row.query, row.token);
}

void check_difference(const check_problem *p, const check_term *term, const double *base,
                      const double *x, dd *delta)
{
    if (p->claim->settings.problem == ATTSVM_PROBLEM_V) {
        double Y = attsvm_data_label(p->data, term->sequence);
        for (int64_t j = 0; j < p->d; j++)
            delta[j] = base_dd(Y * base[j]);
        return;
    }
    for (int64_t j = 0; j < p->d; j++)
        delta[j] = base_dd_sum(base[j], -x[j]);
}

void check_read_row(const check_problem *p, attsvm_row row, double *base, double *x,
                    check_single *out)
{
    check_term term = check_term_of(p, row.sequence, row.query);
    check_token(&term.tokens, term.base, base);
    check_token(&term.tokens, row.token, x);
    if (p->matrix)
        check_query(p, &term, out->z);
    out->row = row;
    out->equal = check_row(p, &term, row.token, &out->right) == CHECK_EQUAL;
    check_difference(p, &term, base, x, out->delta);
}
