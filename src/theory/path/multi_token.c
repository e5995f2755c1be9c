/*
 * The path of a nonlinear head against the multi-token SVM (theory 6.9).
 *
 * Where attention keeps the sets O, L depends on two parts of W that hardly know of each other.  S
 * is the span of the rows (x_beta - x_t) z', t in O: logits inside the sets see only W's part in S,
 * and that part has a finite optimum.  The other tokens add
 *
 *   eps = (1/n) sum_i |l'_i| sum_{t not in O} s_t (cbar_i - c_it),   c_t = Y grad h(u)' x_t,
 *
 * which falls like exp(-R margin) and soon is below the rounding of L.  So, once eps is small, the
 * finite part is optimised in S with all other tokens out of sight, and the rest of W on the sphere
 * orthogonal to S by log eps, a log-sum-exp.
 */
#include "theory/path/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Attention outside the sets from which on the two parts are taken one by one; relative errors of
   the split are of this size. */
static const double split_below = 1e-6;

typedef struct split {
    attsvm_path *path;
    uint8_t *sets;   /* (cells)                                                    */
    double *weight;  /* (cells) of a token outside: |l'| s_beta (cbar - c_t), or 0 */
    double *log;     /* (cells) exponents at the last evaluation                   */
    double *softmax; /* (cells)                                                    */
    int64_t *base;   /* (terms) beta                                               */
    double *basis;   /* (rank,size) of S                                           */
    double *finite;  /* (size) part of W in S                                      */
    double *W, *G;   /* (size)                                                     */
    double *z, *u, *x, *slope, *head;
    int64_t cells, rank;
    void *memory;
} split;

static void layout(split *s, arena *a, int64_t rows)
{
    const model *m = s->path->m;
    size_t size = (size_t)m->size, d = (size_t)m->d, cells = (size_t)s->cells;
    s->sets = base_take(a, cells, 1);
    s->weight = take(a, cells);
    s->log = take(a, cells);
    s->softmax = take(a, cells);
    s->base = take_int64(a, (size_t)m->terms);
    s->basis = take(a, (size_t)(rows > 0 ? rows : 1) * size);
    s->finite = take(a, size);
    s->W = take(a, size);
    s->G = take(a, size);
    s->z = take(a, d);
    s->u = take(a, d);
    s->x = take(a, d);
    s->slope = take(a, d);
    s->head = take(a, 2 * d + (size_t)m->head.size);
}

/* Calls visit for every term, with its first cell. */
typedef void visit(split *s, int64_t i, int64_t q, int64_t term, int64_t cell, void *context);

static void each_term(split *s, visit *f, void *context)
{
    const model *m = s->path->m;
    int64_t cell = 0, term = 0;
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, term++) {
            f(s, i, q, term, cell, context);
            cell += data_length(m->data, i);
        }
}

/* ------------------------------------------------------------------------ the space S */

typedef struct gathered {
    double *rows; /* (count,size) */
    int64_t count;
} gathered;

static void gather(split *s, int64_t i, int64_t q, int64_t term, int64_t cell, void *context)
{
    const model *m = s->path->m;
    const int64_t d = m->d;
    gathered *g = context;
    data_terms_query(&m->query, i, q, s->z);
    int64_t beta = 0;
    while (!s->sets[cell + beta])
        beta++;
    s->base[term] = beta;
    attsvm_data_token(m->data, i, beta, s->u);
    for (int64_t t = beta + 1; t < data_terms_visible(&m->query, i, q); t++) {
        if (!s->sets[cell + t])
            continue;
        double *row = g->rows + g->count++ * m->size;
        attsvm_data_token(m->data, i, t, s->x);
        for (int64_t a = 0; a < d; a++)
            for (int64_t b = 0; b < d; b++)
                row[a * d + b] = (s->u[a] - s->x[a]) * s->z[b];
    }
}

static attsvm_status find_span(split *s, int64_t rows, attsvm_error *err)
{
    const int64_t size = s->path->m->size;
    gathered g = { 0 };
    TRY(base_allocate(&g.rows, (size_t)((rows > 0 ? rows : 1) * size), sizeof(double), "kept rows",
                      err));
    each_term(s, gather, &g);
    attsvm_status status = ATTSVM_OK;
    if (g.count > 0)
        status = la_row_space(g.count, size, g.rows, size, 1e-12, s->basis, &s->rank, err);
    free(g.rows);
    return status;
}

/* -------------------------------------------------------------------- the finite part */

/* L at W + sum_k c_k basis_k, W far out along the SVM direction: a function of c (rank). */
static double evaluate_finite(void *context, const double *c, double *gradient)
{
    split *s = context;
    model *m = s->path->m;
    model_gradient whole = { .x = s->G };
    model_value value;
    double *W = s->finite;
    memcpy(W, s->W, (size_t)m->size * sizeof *W);
    for (int64_t k = 0; k < s->rank; k++)
        la_axpy(c[k], s->basis + k * m->size, W, m->size);
    model_evaluate(m, W, NULL, 0, &whole, &value);
    double unit = whole.log[0] == -INFINITY ? 0 : base_exp(whole.log[0]);
    for (int64_t k = 0; k < s->rank; k++)
        gradient[k] = unit * la_dot(s->basis + k * m->size, s->G, m->size);
    return value.loss;
}

/* Starts from W's own part in S; `direction` puts all tokens outside the sets out of sight. */
static void find_finite(split *s, const double *start, const double *direction)
{
    const int64_t size = s->path->m->size;
    const double out_of_sight = 200; /* margin at which exp is far below rounding */
    double *c = s->path->spare, *work = s->path->work;
    optimise_function f = { .size = s->rank,
                            .evaluate = evaluate_finite,
                            .context = s,
                            .reach = 1 / s->path->objective.key_spread };
    optimise_surface plane = { 0 };
    optimise_end end;
    for (int64_t j = 0; j < size; j++)
        s->W[j] = out_of_sight * direction[j];
    for (int64_t k = 0; k < s->rank; k++)
        c[k] = la_dot(s->basis + k * size, start, size);
    if (s->rank > 0) {
        optimise_trust_region(&f, &plane, c, work, &end);
        s->path->info.solves++;
        s->path->info.evaluations += end.evaluations;
    }
    memset(s->finite, 0, (size_t)size * sizeof *s->finite);
    for (int64_t k = 0; k < s->rank; k++)
        la_axpy(c[k], s->basis + k * size, s->finite, size);
}

/* ---------------------------------------------------------------- the part that grows */

/* Weights of the tokens outside, from attention that is on the sets alone; counts those of weight
   0, which a flat head (ReLU units that are off) does not feel. */
static void weigh(split *s, int64_t i, int64_t q, int64_t term, int64_t cell, void *context)
{
    const model *m = s->path->m;
    const int64_t d = m->d, visible = data_terms_visible(&m->query, i, q);
    const double Y = data_terms_label(&m->query, i, q), *softmax = s->softmax + cell;
    int64_t *zero_weight = context;
    memset(s->u, 0, (size_t)d * sizeof *s->u);
    for (int64_t t = 0; t < visible; t++) {
        attsvm_data_token(m->data, i, t, s->x);
        if (s->sets[cell + t])
            la_axpy(softmax[t], s->x, s->u, d);
    }
    double output = Y * model_head_value(&m->head, m->v, s->u, s->head);
    m->head.kind->slope(&m->head, m->v, s->u, s->slope);
    double rate = model_scaled_value(m->loss.slope(&m->loss, output));
    double mean = Y * la_dot(s->slope, s->u, d);
    for (int64_t t = 0; t < visible; t++) {
        attsvm_data_token(m->data, i, t, s->x);
        double c = Y * la_dot(s->slope, s->x, d);
        s->weight[cell + t] = s->sets[cell + t] ? 0 : rate * softmax[s->base[term]] * (mean - c);
        *zero_weight += !s->sets[cell + t] && s->weight[cell + t] == 0;
    }
}

/* Exponents log|weight| - (a_beta - a_t) of the tokens outside; the largest into *context. */
static void exponents(split *s, int64_t i, int64_t q, int64_t term, int64_t cell, void *context)
{
    const model *m = s->path->m;
    double *largest = context, *log_of = s->log + cell;
    la_rows rows = data_sequence(m->data, i);
    rows.count = data_terms_visible(&m->query, i, q);
    data_terms_query(&m->query, i, q, s->z);
    la_gemv(false, m->d, m->d, 1, s->W, m->d, s->z, 0, s->u);
    la_rows_dot(&rows, s->u, log_of);
    double base = log_of[s->base[term]];
    for (int64_t t = 0; t < rows.count; t++) {
        double w = s->weight[cell + t];
        log_of[t] = w == 0 ? -INFINITY : base_log(fabs(w)) + log_of[t] - base;
        *largest = fmax(*largest, log_of[t]);
    }
}

typedef struct summing {
    double largest, sum;
} summing;

/* Adds the term's share of sum w exp(.) and of its gradient, in units of exp(largest). */
static void add_up(split *s, int64_t i, int64_t q, int64_t term, int64_t cell, void *context)
{
    const model *m = s->path->m;
    const int64_t d = m->d, visible = data_terms_visible(&m->query, i, q);
    summing *c = context;
    double total = 0;
    memset(s->u, 0, (size_t)d * sizeof *s->u);
    for (int64_t t = 0; t < visible; t++) {
        double w = s->weight[cell + t];
        double share = w == 0 ? 0 : copysign(base_exp(s->log[cell + t] - c->largest), w);
        if (share == 0)
            continue;
        attsvm_data_token(m->data, i, t, s->x);
        la_axpy(share, s->x, s->u, d);
        total += share;
    }
    attsvm_data_token(m->data, i, s->base[term], s->x);
    la_axpy(-total, s->x, s->u, d);
    data_terms_query(&m->query, i, q, s->z);
    for (int64_t a = 0; a < d; a++)
        la_axpy(s->u[a], s->z, s->G + a * d, d);
    c->sum += total;
}

/* log eps as a function of W, the weights fixed. */
static double evaluate_growing(void *context, const double *W, double *gradient)
{
    split *s = context;
    const int64_t size = s->path->m->size;
    summing c = { -INFINITY, 0 };
    memcpy(s->W, W, (size_t)size * sizeof *W);
    memset(s->G, 0, (size_t)size * sizeof *s->G);
    each_term(s, exponents, &c.largest);
    if (c.largest != -INFINITY)
        each_term(s, add_up, &c);
    memset(gradient, 0, (size_t)size * sizeof *gradient);
    if (!(c.sum > 0))
        return -INFINITY; /* some token outside would be better inside */
    la_axpy(1 / c.sum, s->G, gradient, size);
    return c.largest + base_log(c.sum);
}

/* The point of radius R, from the SVM direction on, into W; false where it is not one. */
static bool find_growing(split *s, double R, const double *direction, double *W)
{
    const int64_t size = s->path->m->size;
    double finite = la_norm(s->finite, size), rest = R * R - finite * finite;
    optimise_function f = { .size = size,
                            .evaluate = evaluate_growing,
                            .context = s,
                            .reach = 1 / s->path->objective.key_spread };
    optimise_surface sphere = { s->finite, s->basis, s->rank, rest > 0 ? sqrt(rest) : 0, 0 };
    optimise_end end;
    if (!(rest > 0))
        return false;
    for (int64_t j = 0; j < size; j++)
        W[j] = s->finite[j] + direction[j] / la_norm(direction, size);
    optimise_trust_region(&f, &sphere, W, s->path->work, &end);
    s->path->info.solves++;
    s->path->info.evaluations += end.evaluations;
    return isfinite(end.value);
}

/* ------------------------------------------------------------------------- the points */

/* Points that keep the same sets as the last, with little attention elsewhere, are taken apart. */
static attsvm_status refine(split *s, const attsvm_svm_settings *svm,
                            const attsvm_multi_token *last, attsvm_error *err)
{
    attsvm_path *path = s->path;
    model *m = path->m;
    const double *direction = path->target.theta;
    uint8_t *sets;
    double *W;
    TRY(find_span(s, last->kept, err));
    TRY(base_allocate(&W, (size_t)m->size, sizeof *W, "a point", err));
    attsvm_status status = base_allocate(&sets, (size_t)s->cells, 1, "sets", err);
    find_finite(s, path->theta + (path->points - 1) * m->size, direction);
    memcpy(W, s->finite, (size_t)m->size * sizeof *W);
    la_axpy(1, s->W, W, m->size);
    model_softmax(m, W, s->softmax);
    path->info.zero_weight_tokens = 0;
    each_term(s, weigh, &path->info.zero_weight_tokens);
    for (int64_t k = 0; k < path->points && status == ATTSVM_OK; k++) {
        attsvm_multi_token kept;
        double *point = path->theta + k * m->size;
        status = attsvm_multi_token_compare(&kept, path->data, point, svm, NULL, NULL, sets, err);
        if (status != ATTSVM_OK || memcmp(sets, s->sets, (size_t)s->cells) != 0 ||
            kept.most_masked > split_below || !find_growing(s, path->point[k], direction, W))
            continue;
        path_objective_look(&path->objective, W);
        if (path->objective.value.loss > path->loss[k] + 1e-9 * fabs(path->loss[k]))
            continue;
        memcpy(point, W, (size_t)m->size * sizeof *W);
        path->loss[k] = path->objective.value.loss;
        memcpy(path->selected + k * m->terms, m->selected, (size_t)m->terms * sizeof(int64_t));
        path->radius[k] = la_norm(W, m->size);
        path->within[k] = false; /* outwards eps falls for ever, whatever L can show */
        path->attention[k] = path->objective.value.attention_min;
        path->margin[k] = path->objective.value.gap;
    }
    free(sets);
    free(W);
    return status;
}

/* Correlation with the SVM of the last sets, predictivity of every point. */
static attsvm_status compare(attsvm_path *path, const attsvm_svm_settings *svm,
                             attsvm_multi_token *last, uint8_t *sets, attsvm_error *err)
{
    const model *m = path->m;
    for (int64_t k = 0; k < path->points; k++) {
        TRY(attsvm_multi_token_compare(last, path->data, path->theta + k * m->size, svm, NULL,
                                       path->target.theta, sets, err));
        path->predictivity[k] = 1 - last->correlation;
    }
    for (int64_t k = 0; k < path->points; k++)
        path->correlation[k] =
            attsvm_correlation(path->theta + k * m->size, path->target.theta, m->size);
    return ATTSVM_OK;
}

attsvm_status path_compare_multi_token(attsvm_path *path, attsvm_error *err)
{
    const model *m = path->m;
    attsvm_path_info *info = &path->info;
    attsvm_svm_settings svm;
    attsvm_multi_token last = { 0 };
    split s = { .path = path };
    attsvm_svm_settings_init(&svm);
    svm.threads = path->settings.threads;
    svm.threshold = path->settings.threshold;
    if (*path->settings.query)
        TRY(attsvm_svm_settings_set(&svm, "query", path->settings.query, err));
    TRY(base_allocate(&path->target.theta, (size_t)m->size, sizeof(double), "SVM direction", err));
    TRY(data_terms_cells(&m->query, NULL, &s.cells, err));
    arena a = { 0 };
    layout(&s, &a, s.cells);
    TRY(base_arena_allocate(&a, "kept tokens", err));
    s.memory = a.base;
    layout(&s, &a, s.cells);
    attsvm_status status = compare(path, &svm, &last, s.sets, err);
    if (status == ATTSVM_OK && last.svm == ATTSVM_OPTIMAL &&
        la_norm(path->target.theta, m->size) > 0)
        status = refine(&s, &svm, &last, err);
    if (status == ATTSVM_OK)
        status = compare(path, &svm, &last, s.sets, err);
    free(s.memory);
    info->svm = path->target.outcome = last.svm;
    info->svm_norm = path->target.norm = la_norm(path->target.theta, m->size);
    info->kept = last.kept;
    info->correlation = path->points > 0 ? path->correlation[path->points - 1] : NAN;
    return status;
}
