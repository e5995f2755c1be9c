/*
 * Compares the path of a nonlinear head with the multi-token SVM of the kept tokens (theory 6.9,
 * 10.3): Frobenius for W, nuclear for K Q', l2 for p.
 *
 * The prompt p is W with one query of length 1 for all: the SVM of the sets is solved for W on the
 * keys with z = e_1, whose solution is p e_1'.
 */
#include "theory/path/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The two parts are computed separately when attention outside the sets is below this; the relative
   errors of the split are of this size. */
static const double split_below = 1e-6;

/* ------------------------------------------------------------- the matrix of a point */

/* The data, and a (d,d) matrix for each point. */
typedef struct comparison {
    attsvm_path *path;
    attsvm_svm_settings svm;
    const attsvm_data *data; /* of the path, or the keys with their one query */
    attsvm_data *keys;       /* the latter, if the model is p                 */
    double *matrix, *target; /* (d,d)                                         */
    uint8_t *sets;           /* (cells)                                       */
    attsvm_multi_token last;
    void *memory;
} comparison;

/* Keys (tokens,d) and one query e_1 for each sequence, as a data set of W. */
static attsvm_status make_keys(comparison *c, attsvm_error *err)
{
    const model *m = c->path->m;
    const int64_t n = m->n, d = m->d, tokens = m->data->tokens;
    double *X, *Z;
    int64_t *offsets;
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        X = take(&a, (size_t)(tokens * d));
        Z = take(&a, (size_t)(n * d));
        offsets = take_int64(&a, (size_t)n + 1);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "keys", err));
    }
    c->memory = a.base;
    memset(Z, 0, (size_t)(n * d) * sizeof *Z);
    for (int64_t i = 0; i < n; i++) {
        const la_rows keys = model_keys(m, i);
        offsets[i] = data_first(m->data, i);
        offsets[i + 1] = offsets[i] + keys.count;
        Z[i * d] = 1;
        for (int64_t t = 0; t < keys.count; t++)
            la_row(&keys, t, X + (offsets[i] + t) * d);
    }
    const attsvm_named_array arrays[] = {
        { "X", { .data = X, .shape = { tokens, d }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "Z", { .data = Z, .shape = { n, d }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "offsets", { .data = offsets, .shape = { n + 1 }, .ndim = 1, .dtype = ATTSVM_I64 } },
    };
    TRY(attsvm_data_create(&c->keys, arrays, 3, NULL, err));
    c->data = c->keys;
    return ATTSVM_OK;
}

/* The matrix of point k: W, K Q', p e_1'. */
static const double *matrix_of(comparison *c, int64_t k)
{
    const attsvm_path *path = c->path;
    const model *m = path->m;
    const double *theta = path->theta + k * m->size;
    if (m->factored)
        return path->matrix + k * m->map_size;
    for (int64_t j = 0; j < m->d && m->prompt; j++)
        c->matrix[j * m->d] = theta[j];
    return m->prompt ? c->matrix : theta;
}

/* Correlation with the SVM of the last sets, predictivity of every point. */
static attsvm_status compare(comparison *c, attsvm_error *err)
{
    attsvm_path *path = c->path;
    const model *m = path->m;
    for (int64_t k = 0; k < path->points; k++) {
        TRY(attsvm_multi_token_compare(&c->last, c->data, matrix_of(c, k), &c->svm, NULL, c->target,
                                       c->sets, err));
        path->predictivity[k] = 1 - c->last.correlation;
    }
    for (int64_t k = 0; k < path->points; k++)
        path->correlation[k] = attsvm_correlation(matrix_of(c, k), c->target, m->d * m->d);
    for (int64_t j = 0; j < m->map_size; j++)
        path->target.theta[j] = c->target[m->prompt ? j * m->d : j];
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------- the points */

/* Whether theta keeps the sets of the split, with little attention elsewhere. */
static bool keeps_the_sets(split *s, const double *theta)
{
    const model *m = s->path->m;
    const double threshold = s->path->settings.threshold;
    model_softmax(s->path->m, theta, s->softmax);
    for (int64_t i = 0, cell = 0; i < m->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++) {
            const double *attention = s->softmax + cell;
            int64_t visible = data_terms_visible(&m->query, i, q), top = 0;
            for (int64_t t = 0; t < visible; t++)
                top = attention[t] > attention[top] ? t : top;
            for (int64_t t = 0; t < visible; t++) {
                bool keep = t == top || attention[t] > threshold;
                if (keep != (s->sets[cell + t] != 0) || (!keep && attention[t] > split_below))
                    return false;
            }
            cell += data_length(m->data, i);
        }
    return true;
}

static void replace_point(attsvm_path *path, int64_t k, const double *theta)
{
    model *m = path->m;
    const model_value *value = &path->objective.value;
    double norm = la_norm(theta, m->size);
    memcpy(path->theta + k * m->size, theta, (size_t)m->size * sizeof *theta);
    memcpy(path->selected + k * m->terms, m->selected, (size_t)m->terms * sizeof(int64_t));
    if (m->factored)
        memcpy(path->matrix + k * m->map_size, model_matrix(m, theta),
               (size_t)m->map_size * sizeof *theta);
    path->loss[k] = value->loss;
    path->radius[k] = m->factored ? norm * norm / 2 : norm;
    path->within[k] =
        false; /* eps decreases outwards without end, even where L is constant in rounding */
    path->attention[k] = value->attention_min;
    path->margin[k] = value->gap;
}

/* Splits the points that keep the sets of the last one, with little attention elsewhere. */
static attsvm_status refine(split *s, const attsvm_multi_token *last, attsvm_error *err)
{
    attsvm_path *path = s->path;
    model *m = path->m;
    const double *direction = path->target.theta;
    const int64_t end = path->points - 1;
    double *theta;
    TRY(split_find_span(s, last->kept, err));
    TRY(base_allocate(&theta, (size_t)m->size, sizeof *theta, "a point", err));
    split_find_finite(s,
                      m->factored ? path->matrix + end * m->map_size : path->theta + end * m->size,
                      direction, &path->info.zero_weight_tokens);
    for (int64_t k = 0; k <= end; k++) {
        if (!keeps_the_sets(s, path->theta + k * m->size) ||
            !split_find_growing(s, path->point[k], direction, theta))
            continue;
        path_objective_look(&path->objective, theta);
        if (path->objective.value.loss <= path->loss[k] + 1e-9 * fabs(path->loss[k]))
            replace_point(path, k, theta);
    }
    free(theta);
    return ATTSVM_OK;
}

/* Counts terms whose pooled token puts a ReLU unit at 0: a kink of L, where a smooth search stops.
 */
static int64_t count_kinks(split *s, const double *theta)
{
    const double at_zero = 1e-6; /* of |V_h| |u| */
    const model *m = s->path->m;
    const data_head *head = &m->head.data;
    int64_t kinks = 0;
    model_softmax(s->path->m, theta, s->softmax);
    for (int64_t i = 0, cell = 0; i < m->n && head->V; i++)
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++) {
            memset(s->u, 0, (size_t)m->d * sizeof *s->u);
            for (int64_t t = 0; t < data_terms_visible(&m->query, i, q); t++) {
                attsvm_data_token(m->data, i, t, s->x);
                la_axpy(s->softmax[cell + t], s->x, s->u, m->d);
            }
            bool kink = false;
            for (int64_t h = 0; h < head->width; h++) {
                const double *V = head->V + h * m->d;
                kink |=
                    fabs(la_dot(V, s->u, m->d)) <= at_zero * la_norm(V, m->d) * la_norm(s->u, m->d);
            }
            kinks += kink;
            cell += data_length(m->data, i);
        }
    return kinks;
}

/* Compares, splits the points that keep the last sets, and compares again. */
static attsvm_status follow_sets(comparison *c, split *s, attsvm_error *err)
{
    attsvm_path *path = c->path;
    TRY(split_create(s, path, err));
    c->sets = s->sets;
    TRY(compare(c, err));
    if (path->points > 0)
        path->info.kinks = count_kinks(s, path->theta + (path->points - 1) * path->m->size);
    if (c->last.svm != ATTSVM_OPTIMAL || !(la_norm(path->target.theta, path->m->map_size) > 0))
        return ATTSVM_OK;
    TRY(refine(s, &c->last, err));
    return compare(c, err);
}

attsvm_status path_compare_multi_token(attsvm_path *path, attsvm_error *err)
{
    const model *m = path->m;
    attsvm_path_info *info = &path->info;
    comparison c = { .path = path, .data = path->data };
    split s = { .path = path, .m = path->m };
    attsvm_svm_settings_init(&c.svm);
    c.svm.threads = path->settings.threads;
    c.svm.threshold = path->settings.threshold;
    c.svm.norm = m->factored ? ATTSVM_NORM_NUC : ATTSVM_NORM_FRO;
    c.svm.query = path->settings.query;
    c.svm.query_token = path->settings.query_token;
    TRY(base_allocate(&path->target.theta, (size_t)m->map_size, sizeof(double), "SVM direction",
                      err));
    TRY(base_allocate(&c.matrix, 2 * (size_t)(m->d * m->d), sizeof(double), "matrices", err));
    c.target = c.matrix + m->d * m->d;
    memset(c.matrix, 0, 2 * (size_t)(m->d * m->d) * sizeof *c.matrix);
    attsvm_status status = m->prompt ? make_keys(&c, err) : ATTSVM_OK;
    if (status == ATTSVM_OK)
        status = follow_sets(&c, &s, err);
    split_free(&s);
    attsvm_data_free(c.keys);
    free(c.memory);
    free(c.matrix);
    info->svm = path->target.outcome = c.last.svm;
    info->svm_norm = path->target.norm = c.last.svm_norm;
    info->kept = c.last.kept;
    info->correlation = path->points > 0 ? path->correlation[path->points - 1] : NAN;
    return status;
}
