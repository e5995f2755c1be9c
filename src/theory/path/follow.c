/*
 * Follows a path: parses settings, allocates, computes one point after another, collects results.
 */
#include "theory/path/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------- creation */

/* Refuses settings that exclude each other. */
static attsvm_status check(const attsvm_path *path, attsvm_error *err)
{
    const attsvm_path_settings *s = &path->settings;
    if (s->model == ATTSVM_MODEL_PW)
        return fail(err, ATTSVM_E_ARG, "model = pW has the path of p; use p, W, KQ or vp");
    if (path->joint && path->by_ridge)
        return fail(err, ATTSVM_E_ARG, "ridge_path = %s: the joint path of v and p is by radii",
                    s->ridge_path);
    if (s->cone > 0 && (path->joint || s->model == ATTSVM_MODEL_KQ || path->by_ridge))
        return fail(err, ATTSVM_E_ARG, "cone = %g: local paths are for p and W, by radii", s->cone);
    if (s->head_radius > 0 && !path->joint)
        return fail(err, ATTSVM_E_ARG, "head_radius = %g: only the model vp has v in a ball",
                    s->head_radius);
    return ATTSVM_OK;
}

/* Checks that need the model. */
static attsvm_status check_head(const attsvm_path *path, const int64_t *alpha, attsvm_error *err)
{
    const attsvm_path_settings *s = &path->settings;
    const char *head = data_head_names[s->head - ATTSVM_HEAD_LINEAR];
    if (path->linear)
        return ATTSVM_OK;
    if (path->joint || s->cone > 0 || path->by_ridge)
        return fail(
            err, ATTSVM_E_ARG,
            "head = %s: with a nonlinear head a path needs model p, W or KQ, radii, and no cone",
            head);
    if (alpha)
        return fail(err, ATTSVM_E_ARG,
                    "head = %s: attention determines the sets of tokens to compare with; leave the "
                    "selection out",
                    head);
    return ATTSVM_OK;
}

static void layout(attsvm_path *path, arena *a)
{
    const model *m = path->m;
    const size_t size = (size_t)m->size, points = (size_t)path->points, terms = (size_t)m->terms;
    const size_t room = (size_t)(m->size > m->map_size ? m->size : m->map_size);
    double **const columns[] = {
        &path->radius,
        &path->radius_v,
        &path->correlation,
        &path->correlation_v,
        &path->loss,
        &path->loss_excess,
        &path->log_excess,
        &path->efficiency,
        &path->attention,
        &path->margin,
        &path->predictivity,
        &path->correlation_relaxed,
        &path->correlation_unrelaxed,
    };
    path->alpha = take_int64(a, terms);
    path->candidate = take(a, (size_t)path->capacity * size);
    path->value = take(a, (size_t)path->capacity);
    path->excess = take(a, (size_t)path->capacity);
    path->inside = base_take(a, (size_t)path->capacity, sizeof *path->inside);
    path->head_start = take(a, path->joint ? PATH_HEADS * size : 0);
    path->work = take(a, OPTIMISE_TRUST_REGION_VECTORS * room);
    path->spare = take(a, 4 * room);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        *columns[k] = take(a, points);
    path->theta = take(a, points * size);
    path->matrix = take(a, m->factored ? points * (size_t)m->map_size : 0);
    path->within = base_take(a, points, 1);
    path->selected = take_int64(a, points * terms);
}

static attsvm_status build(attsvm_path *path, const attsvm_selection *selection, attsvm_error *err)
{
    const int64_t *alpha = selection ? selection->alpha : NULL;
    const attsvm_path_settings *s = &path->settings;
    model_options options = { .kind = (attsvm_model_kind)s->model,
                              .loss = s->loss,
                              .head = s->head,
                              .kappa = s->kappa,
                              .query = s->query,
                              .query_token = s->query_token,
                              .rank = s->rank,
                              .threads = s->threads };
    path->by_ridge = *s->ridge_path;
    path->joint = s->model == ATTSVM_MODEL_VP;
    TRY(check(path, err));
    TRY(model_create(&path->m, path->data, &options, err));
    path->linear = path->m->head.kind->linear;
    TRY(check_head(path, alpha, err));
    TRY(path_objective_create(&path->objective, path->m, err));
    if (path->by_ridge)
        TRY(path_read_points("ridge_path", s->ridge_path, &path->point, &path->points, err));
    else
        TRY(path_read_points("radii", s->radii, &path->point, &path->points, err));
    path->capacity = (path->linear ? 2 : 3) * s->starts + 4;
    arena a = { 0 };
    layout(path, &a);
    TRY(base_arena_allocate(&a, "path", err));
    path->memory = a.base;
    layout(path, &a);
    path->given = alpha != NULL;
    if (selection && (!alpha || selection->terms != path->m->terms))
        return fail(err, ATTSVM_E_ARG,
                    "the selection has %" PRId64 " entries alpha; the path has %" PRId64 " terms",
                    alpha ? selection->terms : 0, path->m->terms);
    path->objective.stop = &path->stop;
    if (path->joint)
        TRY(path_find_heads(path, err));
    path->targeted = false; /* those are not the targets */
    if (!alpha && !path->joint && path->linear)
        alpha = path->objective.alpha;
    if (!alpha)
        return ATTSVM_OK;
    memcpy(path->alpha, alpha, (size_t)path->m->terms * sizeof *alpha);
    TRY(path_find_targets(path, err));
    if (s->cone > 0 && !path->target.theta)
        return fail(err, ATTSVM_E_DATA,
                    "no direction separates the selected tokens, so a cone has no axis");
    if (s->cone > 0)
        memcpy(path->objective.alpha, alpha, (size_t)path->m->terms * sizeof *alpha);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- results */

/* Records the best candidate of point k. */
static void record(attsvm_path *path, int64_t k)
{
    model *m = path->m;
    path_objective *o = &path->objective;
    const double *theta = path->candidate;
    if (path->joint) /* L* of this head, not of the last candidate */
        path_objective_set_head(o, theta + m->parameter[1].offset);
    path_objective_look(o, theta);
    memcpy(path->theta + k * m->size, theta, (size_t)m->size * sizeof *theta);
    memcpy(path->selected + k * m->terms, m->selected, (size_t)m->terms * sizeof *m->selected);
    double norm = la_norm(theta, path->joint ? m->d : m->size);
    path->radius[k] = m->factored ? norm * norm / 2 : norm;
    path->radius_v[k] =
        path->joint ? la_norm(theta + m->parameter[1].offset, m->parameter[1].count) : NAN;
    path->loss[k] = o->value.loss;
    model_scaled above = path->linear ? o->above : o->value.excess;
    path->loss_excess[k] = model_scaled_value(above);
    path->log_excess[k] = above.value > 0 ? model_scaled_log(above) : NAN;
    path->attention[k] = o->value.attention_min;
    path->margin[k] = o->value.gap;
    path->within[k] = path->by_ridge || path->inside[0];
    path->efficiency[k] = path->predictivity[k] = NAN;
    if (m->factored)
        memcpy(path->matrix + k * m->map_size, model_matrix(m, theta),
               (size_t)m->map_size * sizeof *theta);
}

static void add_array(attsvm_path *path, const char *name, const void *values, attsvm_dtype dtype,
                      int ndim, int64_t a, int64_t b, int64_t c)
{
    attsvm_array array = { .data = values, .shape = { a, b, c }, .ndim = ndim, .dtype = dtype };
    path->arrays[path->arrays_count++] = (attsvm_named_array){ name, array };
}

static void add_column(attsvm_path *path, const char *name, const double *values)
{
    add_array(path, name, values, ATTSVM_F64, 1, path->points, 0, 0);
}

/* Separates K and Q, which theta has one after the other at every point. */
static void add_factors(attsvm_path *path)
{
    const model *m = path->m;
    add_array(path, "theta", path->matrix, ATTSVM_F64, 3, path->points, m->d, m->d);
    add_array(path, "KQ", path->theta, ATTSVM_F64, 4, path->points, 2, m->d);
    path->arrays[path->arrays_count - 1].array.shape[3] = m->rank;
}

/* Separates p and v likewise: reorders the points into the block of all p, then of all v. */
static attsvm_status add_blocks(attsvm_path *path, attsvm_error *err)
{
    const model *m = path->m;
    const int64_t d = m->parameter[0].count, h = m->parameter[1].count, points = path->points;
    double *copy;
    TRY(base_allocate(&copy, (size_t)(points * m->size), sizeof *copy, "path", err));
    for (int64_t k = 0; k < points; k++) {
        memcpy(copy + k * d, path->theta + k * m->size, (size_t)d * sizeof *copy);
        memcpy(copy + points * d + k * h, path->theta + k * m->size + d, (size_t)h * sizeof *copy);
    }
    memcpy(path->theta, copy, (size_t)(points * m->size) * sizeof *copy);
    free(copy);
    add_array(path, "theta", path->theta, ATTSVM_F64, 2, points, d, 0);
    add_array(path, "v", path->theta + points * d, ATTSVM_F64, 2, points, h, 0);
    return ATTSVM_OK;
}

static attsvm_status add_arrays(attsvm_path *path, attsvm_error *err)
{
    const model *m = path->m;
    const int64_t points = path->points, d = m->d;
    add_column(path, "radius", path->radius);
    add_column(path, "correlation", path->correlation);
    add_column(path, "loss_excess", path->loss_excess);
    add_array(path, "selected", path->selected, ATTSVM_I64, 2, points, m->terms, 0);
    add_column(path, "log_excess", path->log_excess);
    add_column(path, "loss", path->loss);
    add_column(path, "efficiency", path->efficiency);
    add_column(path, "attention", path->attention);
    add_column(path, "margin", path->margin);
    add_array(path, "inside", path->within, ATTSVM_BOOL, 1, points, 0, 0);
    if (path->by_ridge)
        add_column(path, "ridge", path->point);
    if (!path->linear)
        add_column(path, "predictivity", path->predictivity);
    if (path->target.theta)
        add_array(path, "svm", path->target.theta, ATTSVM_F64, m->prompt ? 1 : 2, d, d, 0);
    if (path->joint) {
        add_column(path, "radius_v", path->radius_v);
        add_column(path, "correlation_v", path->correlation_v);
        add_column(path, "correlation_relaxed", path->correlation_relaxed);
        add_column(path, "correlation_unrelaxed", path->correlation_unrelaxed);
        if (path->relaxed.theta)
            add_array(path, "svm_relaxed", path->relaxed.theta, ATTSVM_F64, 1, d, 0, 0);
        if (path->head.theta)
            add_array(path, "svm_v", path->head.theta, ATTSVM_F64, 1, d, 0, 0);
        return add_blocks(path, err);
    }
    if (m->factored)
        add_factors(path);
    else
        add_array(path, "theta", path->theta, ATTSVM_F64, m->prompt ? 2 : 3, points, d, d);
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------ following */

/* The joint path is compared with the SVMs of its own tokens, solved again when these change. */
static attsvm_status follow_selection(attsvm_path *path, int64_t k, attsvm_error *err)
{
    const size_t bytes = (size_t)path->m->terms * sizeof *path->alpha;
    const int64_t *selected = path->selected + k * path->m->terms;
    if (path->given || !path->joint)
        return ATTSVM_OK;
    if (path->targeted && memcmp(path->alpha, selected, bytes) == 0)
        return ATTSVM_OK;
    memcpy(path->alpha, selected, bytes);
    return path_find_targets(path, err);
}

/*
 * Nonlinear heads are minimised on the scale of L, which is flat if attention has saturated on the
 * wrong tokens: the minima are followed through radii that grow in small steps, new starts
 * beginning at a small radius.  These find the minima that grow out of the small balls, and only
 * those: others start at the point itself.
 */
static void approach(attsvm_path *path, int64_t k, int64_t known)
{
    const double step = 1.8, small = 4 / path->objective.key_spread;
    for (double radius = small; radius < path->point[k]; radius *= step)
        path_solve_some(path, known, radius);
    if (k > 0)
        for (double radius = path->point[k - 1]; radius < path->point[k]; radius *= step)
            path_solve(path, radius);
}

/* A ball contains all smaller ones: keep the previous point if nothing better was found. */
static void keep_the_point_before(attsvm_path *path, int64_t k)
{
    if (path->linear || k == 0 || path->value[0] <= path->loss[k - 1])
        return;
    memcpy(path->candidate, path->theta + (k - 1) * path->m->size,
           (size_t)path->m->size * sizeof(double));
    path->value[0] = path->loss[k - 1];
    path->inside[0] = true;
}

/* After a stop the path ends at the last complete point. */
static attsvm_status follow(attsvm_path *path, attsvm_error *err)
{
    double start = base_seconds();
    path->watch.total = path->points;
    for (int64_t k = 0; k < path->points; k++) {
        int64_t known;
        TRY(path_add_starts(path, k, &known, err));
        if (!path->linear) {
            approach(path, k, known);
            path_add_direct_starts(path, k);
        }
        path_solve(path, path->point[k]);
        if (dist_stop_why(&path->stop) != DIST_GO_ON) {
            path->points = k;
            break;
        }
        keep_the_point_before(path, k);
        record(path, k);
        TRY(follow_selection(path, k, err));
        path->watch.done++;
        if (dist_stop_now(&path->stop))
            path->points = k + 1;
    }
    if (path->points == 0)
        return dist_stop_status(&path->stop, err);
    if (path->linear)
        TRY(path_compare(path, err));
    else if (!attsvm_interrupted())
        TRY(path_compare_multi_token(path, err));
    else
        for (int64_t k = 0; k < path->points; k++)
            path->correlation[k] = NAN; /* the sets to compare with were not found */
    path->info.points = path->points;
    path->info.terms = path->m->terms;
    path->info.seconds = base_seconds() - start;
    return add_arrays(path, err);
}

attsvm_status attsvm_path_follow(attsvm_path **out, const attsvm_data *data,
                                 const attsvm_path_settings *settings,
                                 const attsvm_selection *selection, attsvm_observer *observer,
                                 void *context, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    attsvm_path_settings standard;
    attsvm_path_settings_init(&standard);
    if (!settings)
        settings = &standard;
    TRY(attsvm_settings_check(&attsvm_path_table, settings, err));
    attsvm_path *path;
    TRY(base_allocate(&path, 1, sizeof *path, "path", err));
    path->data = data;
    path->settings = *settings;
    path->watch = (dist_watch){ .observer = observer, .context = context };
    dist_stop_watch(&path->stop, NULL, settings->time_limit, &path->watch);
    path->info = (attsvm_path_info){
        .svm_norm = NAN, .svm_gap = NAN, .least_ratio = NAN, .correlation = NAN, .kept = -1
    };
    attsvm_status status =
        base_settings_own_texts(&attsvm_path_table, &path->settings, &path->texts, err);
    if (status == ATTSVM_OK)
        status = build(path, selection, err);
    if (status == ATTSVM_OK)
        status = follow(path, err);
    if (status != ATTSVM_OK) {
        attsvm_path_free(path);
        return status;
    }
    *out = path;
    return ATTSVM_OK;
}

void attsvm_path_free(attsvm_path *path)
{
    if (!path)
        return;
    attsvm_archive_free(path->archive);
    free(path->target.theta);
    free(path->relaxed.theta);
    free(path->head.theta);
    free(path->memory);
    free(path->point);
    path_objective_free(&path->objective);
    model_free(path->m);
    free(path->texts);
    free(path);
}

attsvm_path_info attsvm_path_describe(const attsvm_path *path)
{
    if (!path)
        return (attsvm_path_info){ 0 };
    return path->info;
}

int64_t attsvm_path_count(const attsvm_path *path)
{
    if (!path)
        return 0;
    return path->arrays_count;
}

const attsvm_named_array *attsvm_path_array(const attsvm_path *path, int64_t k)
{
    return path && k >= 0 && k < path->arrays_count ? &path->arrays[k] : NULL;
}

const attsvm_array *attsvm_path_find(const attsvm_path *path, const char *name)
{
    if (!path || !name)
        return NULL;
    for (int64_t k = 0; k < path->arrays_count; k++)
        if (strcmp(path->arrays[k].name, name) == 0)
            return &path->arrays[k].array;
    return NULL;
}
