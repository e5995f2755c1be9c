/*
 * The two parts of attention that keeps the sets O under a nonlinear head (theory 6.9).
 *
 * L depends on two nearly independent parts of W.  S is the span of the rows (x_beta - x_t) z', t
 * in O: logits inside the sets depend only on the part of W in S, which has a finite optimum.  The
 * other tokens add
 *
 *   eps = (1/n) sum_i |l'_i| sum_{t not in O} s_t (cbar_i - c_it),   c_t = Y grad h(u)' x_t,
 *
 * which decreases like exp(-R margin) and is soon below the rounding of L.  Therefore, once eps is
 * small, the finite part is optimised in S without the other tokens, and the rest of W minimises
 * log eps, a log-sum-exp: on the sphere orthogonal to S for W and p (rows k_beta - k_t), and for W
 * = K Q' on the sphere |K|^2 + |Q|^2 = 2 R with multipliers that fix the part in S.
 */
#include "theory/path/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------ memory */

static void layout(split *s, arena *a)
{
    const model *m = s->m;
    const size_t size = (size_t)m->map_size, d = (size_t)m->d, cells = (size_t)s->cells;
    s->sets = base_take(a, cells, 1);
    s->weight = take(a, cells);
    s->log = take(a, cells);
    s->softmax = take(a, cells);
    s->base = take_int64(a, (size_t)m->terms);
    s->basis = take(a, (cells + 1) * size);
    s->multiplier = take(a, cells + 1);
    s->residual = take(a, cells + 1);
    s->finite = take(a, size);
    s->W = take(a, size);
    s->G = take(a, size);
    s->z = take(a, d);
    s->u = take(a, d);
    s->x = take(a, d);
    s->slope = take(a, d);
    s->head = take(a, 2 * d + (size_t)m->head.size);
}

attsvm_status split_create(split *s, attsvm_path *path, attsvm_error *err)
{
    const attsvm_path_settings *settings = &path->settings;
    *s = (split){ .path = path, .m = path->m };
    if (path->m->factored) {
        model_options options = { .kind = ATTSVM_MODEL_W,
                                  .loss = settings->loss,
                                  .head = settings->head,
                                  .kappa = settings->kappa,
                                  .query = settings->query,
                                  .query_token = settings->query_token,
                                  .threads = settings->threads };
        TRY(model_create(&s->m, path->data, &options, err));
    }
    TRY(data_terms_cells(&s->m->query, NULL, &s->cells, err));
    arena a = { 0 };
    layout(s, &a);
    TRY(base_arena_allocate(&a, "kept tokens", err));
    s->memory = a.base;
    layout(s, &a);
    return ATTSVM_OK;
}

void split_free(split *s)
{
    if (s->m != s->path->m)
        model_free(s->m);
    free(s->memory);
}

/* Calls visit for every term, with its first cell. */
typedef void visit(split *s, int64_t i, int64_t q, int64_t term, int64_t cell, void *context);

static void each_term(split *s, visit *f, void *context)
{
    const model *m = s->m;
    int64_t cell = 0, term = 0;
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, term++) {
            f(s, i, q, term, cell, context);
            cell += data_length(m->data, i);
        }
}

/* out += row z', or out += row if the map is a prompt. */
static void add_row(const split *s, const double *row, double *out)
{
    const int64_t d = s->m->d;
    if (s->m->prompt)
        la_axpy(1, row, out, d);
    for (int64_t a = 0; a < d && !s->m->prompt; a++)
        la_axpy(row[a], s->z, out + a * d, d);
}

static void read_query(split *s, int64_t i, int64_t q)
{
    if (!s->m->prompt)
        data_terms_query(&s->m->query, i, q, s->z);
}

/* ------------------------------------------------------------------------ the space S */

typedef struct gathered {
    double *rows; /* (count,size) */
    int64_t count;
} gathered;

static void gather(split *s, int64_t i, int64_t q, int64_t term, int64_t cell, void *context)
{
    const model *m = s->m;
    const la_rows keys = model_keys(m, i);
    gathered *g = context;
    read_query(s, i, q);
    int64_t beta = 0;
    while (!s->sets[cell + beta])
        beta++;
    s->base[term] = beta;
    for (int64_t t = beta + 1; t < data_terms_visible(&m->query, i, q); t++) {
        if (!s->sets[cell + t])
            continue;
        double *row = g->rows + g->count++ * m->map_size;
        la_row(&keys, beta, s->u);
        la_row(&keys, t, s->x);
        la_axpy(-1, s->x, s->u, m->d);
        memset(row, 0, (size_t)m->map_size * sizeof *row);
        add_row(s, s->u, row);
    }
}

attsvm_status split_find_span(split *s, int64_t rows, attsvm_error *err)
{
    const int64_t size = s->m->map_size;
    gathered g = { 0 };
    TRY(base_allocate(&g.rows, (size_t)((rows > 0 ? rows : 1) * size), sizeof(double), "kept rows",
                      err));
    each_term(s, gather, &g);
    s->rank = 0;
    attsvm_status status = ATTSVM_OK;
    if (g.count > 0)
        status = la_row_space(g.count, size, g.rows, size, 1e-12, s->basis, &s->rank, err);
    free(g.rows);
    return status;
}

/* -------------------------------------------------------------------- the finite part */

/* L at W + sum_k c_k basis_k as a function of c (rank), W far along the SVM direction. */
static double evaluate_finite(void *context, const double *c, double *gradient)
{
    split *s = context;
    model *m = s->m;
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

/* Starts at the part of W in S; `direction` makes attention outside the sets negligible. */
static void minimise_finite(split *s, const double *start, const double *direction)
{
    const int64_t size = s->m->map_size;
    const double out_of_sight = 200; /* margin at which exp is far below rounding */
    double *c = s->path->spare;
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
        optimise_trust_region(&f, &plane, c, s->path->work, &end);
        s->path->info.solves++;
        s->path->info.evaluations += end.evaluations;
    }
    memset(s->finite, 0, (size_t)size * sizeof *s->finite);
    for (int64_t k = 0; k < s->rank; k++)
        la_axpy(c[k], s->basis + k * size, s->finite, size);
}

/* ---------------------------------------------------------------- the part that grows */

/* Weights of the tokens outside, for attention on the sets alone; counts those of weight 0, on
   whose attention the loss does not depend (inactive ReLU units). */
static void weigh(split *s, int64_t i, int64_t q, int64_t term, int64_t cell, void *context)
{
    const model *m = s->m;
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
    const model *m = s->m;
    double *largest = context, *log_of = s->log + cell;
    la_rows rows = model_keys(m, i);
    rows.count = data_terms_visible(&m->query, i, q);
    read_query(s, i, q);
    if (!m->prompt)
        la_gemv(false, m->d, m->d, 1, s->W, m->d, s->z, 0, s->u);
    la_rows_dot(&rows, m->prompt ? s->W : s->u, log_of);
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

/* Adds the term's part of sum w exp(.) and of its gradient, in units of exp(largest). */
static void add_up(split *s, int64_t i, int64_t q, int64_t term, int64_t cell, void *context)
{
    const model *m = s->m;
    const int64_t d = m->d, visible = data_terms_visible(&m->query, i, q);
    const la_rows keys = model_keys(m, i);
    summing *c = context;
    double total = 0;
    memset(s->u, 0, (size_t)d * sizeof *s->u);
    for (int64_t t = 0; t < visible; t++) {
        double w = s->weight[cell + t];
        double share = w == 0 ? 0 : copysign(base_exp(s->log[cell + t] - c->largest), w);
        if (share == 0)
            continue;
        la_row(&keys, t, s->x);
        la_axpy(share, s->x, s->u, d);
        total += share;
    }
    la_row(&keys, s->base[term], s->x);
    la_axpy(-total, s->x, s->u, d);
    read_query(s, i, q);
    add_row(s, s->u, s->G);
    c->sum += total;
}

/* log eps as a function of W, with fixed weights. */
static double evaluate_growing(void *context, const double *W, double *gradient)
{
    split *s = context;
    const int64_t size = s->m->map_size;
    summing c = { -INFINITY, 0 };
    memcpy(s->W, W, (size_t)size * sizeof *W);
    memset(s->G, 0, (size_t)size * sizeof *s->G);
    each_term(s, exponents, &c.largest);
    if (c.largest != -INFINITY)
        each_term(s, add_up, &c);
    memset(gradient, 0, (size_t)size * sizeof *gradient);
    if (!(c.sum > 0))
        return -INFINITY; /* moving some token into its set would lower the loss */
    la_axpy(1 / c.sum, s->G, gradient, size);
    return c.largest + base_log(c.sum);
}

void split_find_finite(split *s, const double *start, const double *direction, int64_t *zero_weight)
{
    const int64_t size = s->m->map_size;
    minimise_finite(s, start, direction);
    double *W = s->path->spare; /* unused by now */
    memcpy(W, s->finite, (size_t)size * sizeof *W);
    la_axpy(1, s->W, W, size);
    model_softmax(s->m, W, s->softmax);
    *zero_weight = 0;
    each_term(s, weigh, zero_weight);
}

static optimise_end minimise(split *s, const optimise_function *f, const optimise_surface *surface,
                             double *x)
{
    optimise_end end;
    optimise_trust_region(f, surface, x, s->path->work, &end);
    s->path->info.solves++;
    s->path->info.evaluations += end.evaluations;
    return end;
}

/* W = finite + y with y orthogonal to S, |W| = R. */
static bool grow_map(split *s, double R, const double *direction, double *W)
{
    const int64_t size = s->m->map_size;
    double finite = la_norm(s->finite, size), rest = R * R - finite * finite;
    optimise_function f = { .size = size,
                            .evaluate = evaluate_growing,
                            .context = s,
                            .reach = 1 / s->path->objective.key_spread };
    optimise_surface sphere = { .offset = s->finite,
                                .basis = s->basis,
                                .count = s->rank,
                                .radius = rest > 0 ? sqrt(rest) : 0 };
    if (!(rest > 0))
        return false;
    for (int64_t j = 0; j < size; j++)
        W[j] = s->finite[j] + direction[j] / la_norm(direction, size);
    return isfinite(minimise(s, &f, &sphere, W).value);
}

/* ------------------------------------------------------------------ the same for K Q' */

/*
 * With r = P_S(W) - finite in coordinates of S, y multipliers:  log eps(W) + y'r + penalty/2 |r|^2,
 * W = K Q', as a function of K and Q.
 */
static double evaluate_factors(void *context, const double *theta, double *gradient)
{
    split *s = context;
    model *m = s->path->m;
    const int64_t size = m->map_size;
    double *slope = m->attention_gradient;
    model_gradient whole = { .x = gradient };
    double value = evaluate_growing(s, model_matrix(m, theta), slope);
    for (int64_t k = 0; k < s->rank; k++) {
        const double *row = s->basis + k * size;
        double r = s->residual[k] = la_dot(row, s->W, size) - la_dot(row, s->finite, size);
        value += s->multiplier[k] * r + s->penalty / 2 * r * r;
        la_axpy(s->multiplier[k] + s->penalty * r, row, slope, size);
    }
    m->gradient_log = 0;
    model_chain_rule(m, theta, &whole);
    return value;
}

static bool is_stopped(void *context)
{
    const split *s = context;
    const model *m = s->path->m;
    return dist_stop_poll(&s->path->stop, (double)(m->data->tokens * m->d));
}

/* Multipliers have the size of the gradient of log eps: an average of rows. */
static bool grow_factors(split *s, double R, const double *direction, double *theta)
{
    enum { MOST_ROUNDS = 60 };
    const double held = 1e-9; /* |P_S(W) - finite|, logits */
    model *m = s->path->m;
    optimise_function f = path_objective_function(&s->path->objective, sqrt(2 * R));
    optimise_surface sphere = { .radius = sqrt(2 * R) };
    f.evaluate = evaluate_factors;
    f.stop = is_stopped;
    f.context = s;
    double *W = s->path->spare, before = INFINITY, now = INFINITY,
           scale = la_norm(direction, m->map_size);
    for (int64_t j = 0; j < m->map_size; j++)
        W[j] = s->finite[j] / R + direction[j] / scale;
    if (path_factor(s->path, W, theta, NULL) != ATTSVM_OK)
        return false;
    memset(s->multiplier, 0, (size_t)s->rank * sizeof *s->multiplier);
    s->penalty = 1;
    for (int round = 0; round < MOST_ROUNDS && now > held; round++) {
        if (!isfinite(minimise(s, &f, &sphere, theta).value))
            return false;
        evaluate_factors(s, theta, s->path->spare);
        now = s->rank > 0 ? la_norm(s->residual, s->rank) : 0;
        la_axpy(s->penalty, s->residual, s->multiplier, s->rank);
        s->penalty *= now > before / 4 ? 4 : 1;
        before = now;
    }
    return true;
}

bool split_find_growing(split *s, double R, const double *direction, double *theta)
{
    return s->path->m->factored ? grow_factors(s, R, direction, theta)
                                : grow_map(s, R, direction, theta);
}
