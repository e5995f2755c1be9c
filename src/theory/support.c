/*
 * Margins of a theta, support tokens of a solution, and what they say about the selection (theory,
 * section 5).
 */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>

/* ----------------------------------------------------------------------- margins */

/* Scratch for the rows of one term. */
typedef struct margins {
    const svm_rows *rows;
    const double *theta;
    double *zero;           /* (size) the low part of theta           */
    double *z, *u, *u_lo;   /* (d) query; direction of the logits     */
    double *a, *square;     /* (T) logits, |x|^2                      */
    double *hi, *lo, *more; /* (d), (d), (2d): one row                */
    double doubt;           /* how wrong a margin in double may be    */
    void *memory;
} margins;

static void layout(margins *m, arena *a)
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

static attsvm_status margins_create(margins *m, const svm_rows *rows, const double *theta,
                                    attsvm_error *err)
{
    arena a = { 0 };
    *m = (margins){ .rows = rows, .theta = theta };
    layout(m, &a);
    TRY(base_arena_allocate(&a, "margins", err));
    m->memory = a.base;
    layout(m, &a);
    return ATTSVM_OK;
}

/* Logits of a term, X_i u. */
static void visit(margins *m, const svm_term *term)
{
    const double rounding = 1e-14; /* relative to |x| |u|, with room for long sums */
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

/* <A, theta> of one row in double-double. */
static double exact_margin(margins *m, const svm_term *term, int64_t t)
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

attsvm_status theory_margins(const svm_rows *rows, const double *theta, double *least,
                             double *least_zero, attsvm_error *err)
{
    margins m;
    int64_t lo, hi;
    *least = *least_zero = INFINITY;
    data_own(rows->data, &lo, &hi);
    data_reader reader = data_reader_terms(&rows->terms, data_terms_first(&rows->terms, lo),
                                           data_terms_first(&rows->terms, hi));
    TRY(margins_create(&m, rows, theta, err));
    for (int64_t g; data_reader_each(&reader, &g);) {
        svm_term term = svm_rows_term(rows, g);
        visit(&m, &term);
        double *to = term.slack ? least_zero : least;
        for (int64_t t = 0; t < term.visible; t++) {
            double margin = m.a[term.base] - m.a[t];
            if (margin < *to && svm_rows_resolve(rows, &term, t, m.more) != SVM_NO_ROW)
                *to = margin;
        }
    }
    free(m.memory);
    double largest[] = { -*least, -*least_zero };
    dist_max(rows->data->comm, largest, 2);
    *least = -largest[0];
    *least_zero = -largest[1];
    return ATTSVM_OK;
}

/* The directions as unit vectors are compared, so that no product of norms over- or underflows. */
double attsvm_correlation(const double *a, const double *b, int64_t count)
{
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

/* ----------------------------------------------------------------------- support */

/* A multiplier by the number of its term. */
typedef struct multiplier {
    int64_t term, token;
    double lambda;
} multiplier;

static int by_row(const void *a, const void *b)
{
    const multiplier *x = a, *y = b;
    if (x->term != y->term)
        return x->term < y->term ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static attsvm_status sort_multipliers(const attsvm_claim *claim, const data_terms *terms,
                                      multiplier **out, attsvm_error *err)
{
    TRY(base_allocate(out, (size_t)claim->active_count + 1, sizeof **out, "multipliers", err));
    for (int64_t k = 0; k < claim->active_count; k++) {
        attsvm_row row = claim->active[k];
        (*out)[k] = (multiplier){ data_terms_first(terms, row.sequence) + row.query, row.token,
                                  claim->lambda[k] };
    }
    qsort(*out, (size_t)claim->active_count, sizeof **out, by_row);
    return ATTSVM_OK;
}

/* b = 0 in the terms whose v-SVM row is not tight. */
static attsvm_status set_slack(svm_rows *rows, const attsvm_claim *head, attsvm_error *err)
{
    double *x;
    TRY(base_allocate(&rows->slack, (size_t)rows->data->n, 1, "right-hand sides", err));
    TRY(base_allocate(&x, (size_t)rows->d, sizeof *x, "token", err));
    int64_t lo, hi;
    data_own(rows->data, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        attsvm_data_token(rows->data, i, rows->base[i], x);
        double margin =
            attsvm_data_label(rows->data, i) * base_dd_value(base_dd_dot(x, head->theta, rows->d));
        rows->slack[i] = margin > 1 + THEORY_TIGHT;
    }
    free(x);
    dist_gather(rows->data->comm, rows->slack, 1, rows->data->share);
    return ATTSVM_OK;
}

attsvm_status theory_rows_of(svm_rows *rows, const attsvm_data *data, const attsvm_claim *claim,
                             attsvm_error *err)
{
    attsvm_status status = svm_rows_create(rows, data, &claim->selection, &claim->settings, err);
    if (status == ATTSVM_OK && claim->head && claim->head->outcome == ATTSVM_OPTIMAL)
        status = set_slack(rows, claim->head, err);
    if (status != ATTSVM_OK)
        svm_rows_free(rows);
    return status;
}

/* The selected tokens against the optimal ones. */
static void compare_optimal(attsvm_optimality *out, const attsvm_scores *scores,
                            const int64_t *alpha)
{
    for (int64_t g = scores->term_lo; g < scores->term_hi; g++) {
        attsvm_term term = attsvm_scores_term(scores, g);
        out->tied_optimal += term.tied > 0;
        bool same = alpha[g] == term.optimal ||
                    theory_is_copy(scores, term.sequence, term.optimal, alpha[g]);
        out->missed += !same;
    }
    double sums[] = { (double)out->tied_optimal, (double)out->missed };
    dist_sum(scores->comm, sums, 2);
    out->tied_optimal = (int64_t)sums[0];
    out->missed = (int64_t)sums[1];
    out->global = out->missed == 0;
}

typedef struct collector {
    attsvm_optimality *out;
    attsvm_support *support;
    int64_t capacity;
    const multiplier *sorted;
    int64_t sorted_count;
} collector;

static void add_support(collector *c, attsvm_support s)
{
    multiplier key = { s.term, s.row.token, 0 };
    const multiplier *found = bsearch(&key, c->sorted, (size_t)c->sorted_count, sizeof key, by_row);
    attsvm_optimality *out = c->out;
    s.lambda = found ? found->lambda : 0;
    out->tied_support += s.advantage == 0;
    out->against += !(s.advantage > 0);
    out->advantage = fmin(out->advantage, s.advantage);
    if (c->support && out->support < c->capacity)
        c->support[out->support] = s;
    out->support++;
}

/* The findings of all ranks. */
static void add_ranks(attsvm_optimality *out, dist_comm *comm)
{
    double sums[] = { (double)out->support, (double)out->tied_support, (double)out->against };
    double largest = -out->advantage;
    dist_sum(comm, sums, 3);
    dist_max(comm, &largest, 1);
    out->support = (int64_t)sums[0];
    out->tied_support = (int64_t)sums[1];
    out->against = (int64_t)sums[2];
    out->advantage = -largest;
}

/* Tight rows: <A, theta> <= b + 1e-7 max(1, |b|), in double-double where it is near. */
static attsvm_status collect(collector *c, const attsvm_scores *scores, const svm_rows *rows,
                             const double *theta, attsvm_error *err)
{
    margins m;
    data_reader reader = data_reader_terms(&rows->terms, scores->term_lo, scores->term_hi);
    TRY(margins_create(&m, rows, theta, err));
    for (int64_t g; data_reader_each(&reader, &g);) {
        svm_term term = svm_rows_term(rows, g);
        double b = term.slack ? 0 : 1;
        double own = attsvm_scores_gamma(scores, g, term.base);
        visit(&m, &term);
        for (int64_t t = 0; t < term.visible; t++) {
            double over = m.a[term.base] - m.a[t] - b;
            if (over > THEORY_TIGHT + m.doubt ||
                svm_rows_resolve(rows, &term, t, m.more) != SVM_AT_LEAST)
                continue;
            over = exact_margin(&m, &term, t) - b;
            if (over <= THEORY_TIGHT)
                add_support(c, (attsvm_support){ { term.i, term.q, t },
                                                 g,
                                                 term.base,
                                                 over,
                                                 0,
                                                 own - attsvm_scores_gamma(scores, g, t) });
        }
    }
    free(m.memory);
    add_ranks(c->out, scores->comm);
    return ATTSVM_OK;
}

/* A soft margin has a solution, and a rank limit a stationary point, where nothing separates. */
attsvm_status theory_check_hard(const attsvm_svm_settings *svm, attsvm_error *err)
{
    if (svm->soft > 0)
        return fail(err, ATTSVM_E_ARG,
                    "soft = %g: optimality of tokens is about hard margins; leave it out",
                    svm->soft);
    if (svm->rank > 0)
        return fail(err, ATTSVM_E_ARG,
                    "rank = %" PRId64 ": optimality of tokens is about problems without a rank "
                    "limit; leave it out",
                    svm->rank);
    return ATTSVM_OK;
}

/* Strictly convex balls have one nearest point; the others may have a face of them. */
static bool is_unique(const attsvm_svm_settings *settings)
{
    return settings->norm == ATTSVM_NORM_L2 || settings->norm == ATTSVM_NORM_FRO ||
           settings->norm == ATTSVM_NORM_LQ;
}

attsvm_status attsvm_optimality_of(attsvm_optimality *out, const attsvm_scores *scores,
                                   const attsvm_solution *solution, attsvm_support *support,
                                   int64_t capacity, attsvm_error *err)
{
    const attsvm_claim *claim = &solution->claim;
    int32_t problem = claim->settings.problem;
    svm_rows rows = { 0 };
    multiplier *sorted = NULL;
    *out = (attsvm_optimality){ .unique = is_unique(&claim->settings), .advantage = INFINITY };
    if (problem != ATTSVM_PROBLEM_P && problem != ATTSVM_PROBLEM_JOINT &&
        problem != ATTSVM_PROBLEM_W)
        return fail(err, ATTSVM_E_ARG, "optimality is of the problems p, joint and W");
    TRY(theory_check_hard(&claim->settings, err));
    TRY(theory_rows_of(&rows, scores->data, claim, err));
    attsvm_status status = ATTSVM_OK;
    if (rows.terms.count != scores->terms.count)
        status =
            fail(err, ATTSVM_E_ARG, "the scores have %" PRId64 " terms and the solution %" PRId64,
                 scores->terms.count, rows.terms.count);
    if (status == ATTSVM_OK)
        compare_optimal(out, scores, rows.base);
    bool found = claim->outcome == ATTSVM_OPTIMAL || claim->outcome == ATTSVM_STALLED ||
                 claim->outcome == ATTSVM_STATIONARY;
    if (status == ATTSVM_OK && found)
        status = sort_multipliers(claim, &rows.terms, &sorted, err);
    if (status == ATTSVM_OK && found) {
        collector c = { out, support, capacity, sorted, claim->active_count };
        status = collect(&c, scores, &rows, claim->theta, err);
        out->local = out->against == 0;
    }
    out->tie = out->tied_support > 0 || out->tied_optimal > 0;
    free(sorted);
    svm_rows_free(&rows);
    return status;
}
