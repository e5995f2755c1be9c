/*
 * The finite part of next-token prediction, and the decomposition of a trained W into it and the
 * graph SVM.
 *
 * Contexts are restricted to the tokens of the label's component.  Their loss depends on W only
 * through (e_a - e_b)' W e_k with a and b in one component of the graph of k, so its gradient lies
 * in the cyclic subspace, and descent from 0 stays there: no basis is needed.  A minimum exists
 * because in a strongly connected component every word is preferred to some other and some other to
 * it.
 */
#include "theory/graph/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "optimise/optimise.h"

static const double converged = 1e-10, wanted = 1e-13; /* norm of the gradient */
enum { MOST_STEPS = 20000 };

/* A data set of the restricted contexts that still have several words. */
typedef struct cut {
    int64_t n, tokens;
    int64_t *offsets;
    int32_t *token, *label;
    double *Z; /* (n,d) last tokens, which the restriction may remove */
    void *memory;
    attsvm_data *data;
} cut;

/* Whether the restricted context has another word than its label. */
static bool is_undecided(const attsvm_graph *g, int64_t i)
{
    for (int64_t t = data_first(g->data, i); t < data_first(g->data, i + 1); t++)
        if (g->sets[t] && g->data->index[t] != g->next[i])
            return true;
    return false;
}

static void layout(cut *c, arena *a, int64_t d)
{
    c->offsets = take_int64(a, (size_t)c->n + 1);
    c->token = base_take(a, (size_t)c->tokens, sizeof *c->token);
    c->label = base_take(a, (size_t)c->n, sizeof *c->label);
    c->Z = take(a, (size_t)c->n * (size_t)d);
}

static void fill(cut *c, const attsvm_graph *g)
{
    const attsvm_data *data = g->data;
    int64_t at = 0, token = 0;
    for (int64_t i = 0; i < data->n; i++) {
        if (!is_undecided(g, i))
            continue;
        for (int64_t t = data_first(data, i); t < data_first(data, i + 1); t++)
            if (g->sets[t])
                c->token[token++] = data->index[t];
        c->label[at] = g->next[i];
        attsvm_data_token(data, i, data_length(data, i) - 1, c->Z + at * data->d);
        c->offsets[++at] = token;
    }
}

static attsvm_status cut_create(cut *c, const attsvm_graph *g, attsvm_error *err)
{
    const attsvm_data *data = g->data;
    arena a = { 0 };
    *c = (cut){ .n = 0 };
    for (int64_t i = 0; i < data->n; i++) {
        if (!is_undecided(g, i))
            continue;
        c->n++;
        for (int64_t t = data_first(data, i); t < data_first(data, i + 1); t++)
            c->tokens += g->sets[t];
    }
    if (c->n == 0)
        return ATTSVM_OK;
    layout(c, &a, data->d);
    TRY(base_arena_allocate(&a, "contexts", err));
    c->memory = a.base;
    layout(c, &a, data->d);
    fill(c, g);
    attsvm_named_array arrays[] = {
        { "E", *attsvm_data_array(data, "E") },
        { "tokens", { .data = c->token, .shape = { c->tokens }, .ndim = 1, .dtype = ATTSVM_I32 } },
        { "offsets",
          { .data = c->offsets, .shape = { c->n + 1 }, .ndim = 1, .dtype = ATTSVM_I64 } },
        { "labels", { .data = c->label, .shape = { c->n }, .ndim = 1, .dtype = ATTSVM_I32 } },
        { "Z", { .data = c->Z, .shape = { c->n, data->d }, .ndim = 2, .dtype = ATTSVM_F64 } },
    };
    return attsvm_data_create(&c->data, arrays, 5, NULL, err);
}

static void cut_free(cut *c)
{
    attsvm_data_free(c->data);
    free(c->memory);
}

static double loss_and_gradient(void *context, const double *x, double *out)
{
    model *m = context;
    model_gradient g = { .x = out };
    model_value value;
    model_evaluate(m, x, NULL, 0, &g, &value);
    double scale = g.log[0] == -INFINITY ? 0 : base_exp(g.log[0]);
    for (int64_t j = 0; j < m->size; j++)
        out[j] *= scale;
    return value.loss;
}

/* Context of L-BFGS: the model and the stop. */
typedef struct fitting {
    model *m;
    dist_watch watch; /* counts evaluations */
    dist_stop stop;
} fitting;

static double fit_evaluate(void *context, const double *W, double *out)
{
    fitting *f = context;
    f->watch.done++;
    return loss_and_gradient(f->m, W, out);
}

static bool fit_stop(void *context)
{
    fitting *f = context;
    return dist_stop_poll(&f->stop, (double)(f->m->data->tokens * f->m->d));
}

attsvm_status attsvm_graph_finite(const attsvm_graph *graph, double *W,
                                  attsvm_graph_finite_info *info, attsvm_observer *observer,
                                  void *context, attsvm_error *err)
{
    NEED(graph);
    NEED(W);
    NEED(info);
    const int64_t size = graph->data->d * graph->data->d;
    model *m = NULL;
    cut c;
    *info = (attsvm_graph_finite_info){ .converged = true };
    memset(W, 0, (size_t)size * sizeof *W);
    attsvm_status status = cut_create(&c, graph, err);
    if (status != ATTSVM_OK || c.n == 0)
        goto done;
    model_options options = { .kind = ATTSVM_MODEL_W,
                              .loss = "ntp",
                              .head = ATTSVM_HEAD_LINEAR,
                              .query = ATTSVM_QUERY_GIVEN };
    status = model_create(&m, c.data, &options, err);
    if (status != ATTSVM_OK)
        goto done;
    fitting fit = { .m = m, .watch = { .observer = observer, .context = context } };
    dist_stop_watch(&fit.stop, NULL, 0, &fit.watch);
    const optimise_function f = {
        .size = size, .evaluate = fit_evaluate, .stop = fit_stop, .context = &fit
    };
    const optimise_lbfgs_settings settings = {
        .tol = wanted, .iterations = MOST_STEPS, .history = OPTIMISE_MOST_HISTORY, .convex = true
    };
    optimise_lbfgs_info found;
    status = optimise_lbfgs(&f, &settings, W, &found, err);
    if (status == ATTSVM_OK && found.outcome == OPTIMISE_STOPPED)
        status = base_interrupted(err);
    if (status != ATTSVM_OK)
        goto done;
    info->gradient = found.gradient;
    info->iterations = found.iterations;
    info->norm = la_norm(W, graph->data->d * graph->data->d);
    info->loss = found.value * (double)c.n / (double)graph->data->n;
    info->converged = info->gradient <= converged;
done:
    model_free(m);
    cut_free(&c);
    return status;
}

/* ------------------------------------------------------------------ trained matrices */

/* softmax (tokens) of W over the tokens of the sets only. */
static attsvm_status softmax_inside(const attsvm_graph *g, const double *W, double *softmax,
                                    attsvm_error *err)
{
    const attsvm_data *data = g->data;
    const int64_t d = data->d;
    double *z;
    TRY(base_allocate(&z, 2 * (size_t)d, sizeof *z, "query", err));
    for (int64_t i = 0; i < data->n; i++) {
        la_rows rows = data_sequence(data, i);
        double *a = softmax + data_first(data, i);
        const uint8_t *set = g->sets + data_first(data, i);
        la_row(&rows, rows.count - 1, z);
        la_gemv(false, d, d, 1, W, d, z, 0, z + d);
        la_rows_dot(&rows, z + d, a);
        for (int64_t t = 0; t < rows.count; t++)
            a[t] = set[t] ? a[t] : -INFINITY;
        la_softmax(a, rows.count);
    }
    free(z);
    return ATTSVM_OK;
}

/*
 * Projection on the cyclic subspace: the matrix of least norm with the logit differences of W
 * inside the sets, which is the solution of the finite problem.
 */
static attsvm_status project(const attsvm_graph *g, const double *W, double *out, attsvm_error *err)
{
    attsvm_svm_settings settings;
    attsvm_solution *solution = NULL;
    double *softmax;
    attsvm_svm_settings_init(&settings);
    settings.problem = ATTSVM_PROBLEM_FINITE;
    settings.query = ATTSVM_QUERY_LAST;
    TRY(base_allocate(&softmax, (size_t)g->data->tokens, sizeof *softmax, "softmax", err));
    attsvm_selection selection = { .sets = g->sets, .softmax = softmax, .cells = g->data->tokens };
    attsvm_status status = softmax_inside(g, W, softmax, err);
    if (status == ATTSVM_OK)
        status = theory_solve(g->data, &selection, &settings, NULL, &solution, err);
    if (status == ATTSVM_OK) {
        attsvm_claim claim = attsvm_solution_claim(solution);
        memcpy(out, claim.theta, (size_t)claim.theta_count * sizeof *out);
    }
    attsvm_solution_free(solution);
    free(softmax);
    return status;
}

attsvm_status attsvm_graph_compare(const attsvm_graph *graph, const double *W, const double *finite,
                                   const double *direction, attsvm_graph_match *out,
                                   attsvm_error *err)
{
    NEED(graph);
    NEED(W);
    NEED(finite);
    NEED(direction);
    NEED(out);
    const int64_t size = graph->data->d * graph->data->d;
    TRY(base_check_finite(W, size, "W", err));
    TRY(base_check_finite(finite, size, "finite", err));
    TRY(base_check_finite(direction, size, "direction", err));
    double *inside, *rest, square = la_dot(direction, direction, size);
    bool cyclic = attsvm_graph_describe(graph).cyclic > 0;
    TRY(base_allocate(&inside, 2 * (size_t)size, sizeof *inside, "matrices", err));
    rest = inside + size;
    attsvm_status status = cyclic ? project(graph, W, inside, err) : ATTSVM_OK;
    if (status == ATTSVM_OK) {
        double error = 0;
        for (int64_t j = 0; j < size; j++) {
            rest[j] = W[j] - inside[j];
            error = base_hypot(error, inside[j] - finite[j]);
        }
        out->finite_error = cyclic ? error / la_norm(finite, size) : NAN;
        out->correlation = attsvm_correlation(rest, direction, size);
        out->R = square > 0 ? la_dot(rest, direction, size) / square : NAN;
        for (int64_t j = 0; j < size; j++)
            rest[j] = finite[j] + (square > 0 ? out->R * direction[j] : 0);
        out->together = attsvm_correlation(W, rest, size);
    }
    free(inside);
    return status;
}
