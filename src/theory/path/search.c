/*
 * Searches for the global minimum at one point of a path.  L is not convex, so this is a search
 * without proof.  It finds local minima from
 *
 *   - `starts` random points, half of them on the sphere and half inside;
 *   - the direction of steepest descent at 0, along which the path leaves 0;
 *   - the distinct local minima of the previous point, best first;
 *   - the SVM direction of the tokens of the limit;
 *   - for joint paths the SVM directions of two selections whose head has a large margin.
 *
 * For a linear head the limit R -> infinity is the SVM direction of the optimal tokens, so the last
 * start ensures that the path finds its limit; at finite radii it is as good as the search.
 */
#include "theory/path/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double same_direction = 1e-8; /* 1 - cosine of minima that count as one */

/* --------------------------------------------------------------------------- starts */

static double *next_candidate(attsvm_path *path)
{
    path->inside[path->count] = false;
    return path->candidate + path->count++ * path->m->size;
}

/* A random direction; `inside`: with a random length between logits of size 1 and the radius. */
static void add_random(attsvm_path *path, double radius, bool inside)
{
    const model *m = path->m;
    double *theta = next_candidate(path);
    base_random r = base_random_stream((uint64_t)path->settings.seed, path->drawn++);
    for (int b = 0; b < m->parameters; b++)
        base_random_sphere(&r, theta + m->parameter[b].offset, m->parameter[b].count);
    double first = fmin(1 / path->objective.key_spread, radius);
    if (!inside || m->factored || path->by_ridge || !(first > 0))
        return;
    double length = first * base_pow(radius / first, base_random_uniform(&r));
    for (int64_t j = 0; j < m->map_size; j++)
        theta[j] *= length;
    path->inside[path->count - 1] = true;
}

/* Steepest descent at 0; for K Q' the direction of W. The joint path has gradient 0 there. */
static attsvm_status add_descent(attsvm_path *path, attsvm_error *err)
{
    model *m = path->m;
    model_gradient gradient = { .x = path->spare };
    double *theta = path->spare + m->size;
    if (path->joint)
        return ATTSVM_OK;
    memset(theta, 0, (size_t)m->size * sizeof *theta);
    model_evaluate(m, theta, NULL, 0, &gradient, NULL);
    if (m->gradient_log == -INFINITY || !(la_norm(m->attention_gradient, m->map_size) > 0))
        return ATTSVM_OK;
    double *out = next_candidate(path);
    if (m->factored) {
        double *W;
        TRY(base_allocate(&W, (size_t)m->map_size, sizeof *W, "a direction", err));
        for (int64_t j = 0; j < m->map_size; j++)
            W[j] = -m->attention_gradient[j];
        attsvm_status status = path_factor(path, W, out, err);
        free(W);
        return status;
    }
    /* starts near 0, so that it finds minima inside the ball */
    double norm = la_norm(gradient.x, m->size);
    for (int64_t j = 0; j < m->size; j++)
        out[j] = -gradient.x[j] / (norm * path->objective.key_spread);
    path->inside[path->count - 1] = true;
    return ATTSVM_OK;
}

static void add_svm(attsvm_path *path, bool relaxed)
{
    if (path->targeted && !path_towards(path, relaxed, next_candidate(path)))
        path->count--;
}

static void add_heads(attsvm_path *path)
{
    for (int h = 0; h < path->heads; h++)
        memcpy(next_candidate(path), path->head_start + h * path->m->size,
               (size_t)path->m->size * sizeof(double));
}

attsvm_status path_add_starts(attsvm_path *path, int64_t k, int64_t *known, attsvm_error *err)
{
    const int64_t starts = path->settings.starts;
    *known = 0;
    if (path->settings.cone > 0) { /* the previous minimum and the axis */
        path->count = path->count > 1 ? 1 : path->count;
        add_svm(path, false);
        return ATTSVM_OK;
    }
    path->count = path->count < starts ? path->count : starts;
    *known = path->count;
    for (int64_t c = 0; c < path->count && path->linear && !path->by_ridge; c++)
        path->inside[c] = true; /* so that the loss does not increase with the radius */
    add_svm(path, false);
    if (path->joint)
        add_svm(path, true);
    add_heads(path);
    if (k == 0)
        TRY(add_descent(path, err));
    for (int64_t s = 0; s < starts; s++)
        add_random(path, path->point[k], s % 2 == 1 && path->linear);
    return ATTSVM_OK;
}

void path_add_direct_starts(attsvm_path *path, int64_t k)
{
    for (int64_t s = 0; s < (path->settings.starts + 1) / 2; s++)
        add_random(path, path->point[k], s % 2 == 1);
}

/* -------------------------------------------------------------------- local minima */

optimise_end path_minimise(attsvm_path *path, const optimise_function *f,
                           const optimise_surface *surface, double *x)
{
    optimise_end end;
    optimise_trust_region(f, surface, x, path->work, &end);
    path->info.solves++;
    path->info.evaluations += end.evaluations;
    return end;
}

/*
 * A local minimum in the ball, from x, by alternating searches on the sphere and without it: if the
 * loss increases outwards at a minimum on the sphere, unconstrained steps lead inwards; if these
 * leave the ball, the search continues on the sphere.  Every alternation must lower the loss, also
 * below that of a start inside.
 */
optimise_end path_solve_ball(attsvm_path *path, double radius, double *x, bool *inside)
{
    enum { MOST_TURNS = 8 };
    optimise_function f = path_objective_function(&path->objective, radius);
    optimise_surface sphere = { .radius = radius }, plane = { .limit = radius };
    optimise_end best = { .value = NAN };
    const size_t bytes = (size_t)f.size * sizeof *x;
    double *y = path->spare, norm = la_norm(x, f.size);
    bool freely = *inside = *inside && norm <= radius;
    memcpy(y, x, bytes);
    if (freely) { /* start at the sphere if that is lower: unconstrained steps are slow far outside
                   */
        best.value = f.evaluate(f.context, x, path->work);
        for (int64_t j = 0; j < f.size && norm > 0; j++)
            y[j] *= radius / norm;
        freely = !(f.evaluate(f.context, y, path->work) < best.value);
        if (freely)
            memcpy(y, x, bytes);
    }
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        optimise_end end = path_minimise(path, &f, freely ? &plane : &sphere, y);
        if (!freely || la_norm(y, f.size) <= radius) {
            if (!(end.value < best.value || isnan(best.value)))
                break;
            memcpy(x, y, bytes);
            best = end;
            *inside = freely;
            if (freely || !(end.pull < 0))
                break;
        }
        freely = !freely;
    }
    return best;
}

/* L + rho |theta|^2, from theta, scaled to the minimum along the SVM direction. */
static optimise_end solve_ridge(attsvm_path *path, double ridge, double *x)
{
    path_objective *o = &path->objective;
    const int64_t size = path->m->size;
    double norm = la_norm(x, size), best = INFINITY, scale = 1;
    double *y = path->spare, *g = y + size;
    optimise_surface plane = { 0 };
    o->ridge = ridge;
    optimise_function f = path_objective_function(o, norm);
    /* the best of a few lengths along the ray, including the current one */
    for (int k = -1; k < 40; k++) {
        double factor = k < 0 ? 1 : base_pow(2, 0.5 * k - 7) / norm;
        for (int64_t j = 0; j < size; j++)
            y[j] = factor * x[j];
        double value = f.evaluate(f.context, y, g);
        if (value < best) {
            best = value;
            scale = factor;
        }
    }
    for (int64_t j = 0; j < size; j++)
        x[j] *= scale;
    f = path_objective_function(o, scale * norm);
    optimise_end end = path_minimise(path, &f, &plane, x);
    o->ridge = 0;
    return end;
}

/*
 * The minimum over the part of the sphere where the cosine to the axis is at least c = 1 - cone.
 * If the minimum on the sphere is outside, the minimum on the boundary, a sphere of radius R sqrt(1
 * - c^2) around R c times the axis.  log(L - L*) is undefined below the loss of alpha: there the
 * search continues with the optimal tokens.
 */
static optimise_end solve_cone(attsvm_path *path, double radius, double *x, bool *inside)
{
    path_objective *o = &path->objective;
    const int64_t size = path->m->size;
    double c = 1 - path->settings.cone, *axis = path->spare + size, *centre = axis + size;
    optimise_end end = { 0 };
    bool below = false;
    path_towards(path, false, axis);
    for (int64_t j = 0; j < size; j++)
        centre[j] = radius * c * axis[j];
    for (int attempt = 0; attempt < 2; attempt++) {
        end = path_solve_ball(path, radius, x, inside);
        if (la_dot(x, axis, size) < c * la_norm(x, size)) {
            optimise_function f = path_objective_function(o, radius);
            optimise_surface edge = {
                .offset = centre, .basis = axis, .count = 1, .radius = radius * sqrt(1 - c * c)
            };
            end = path_minimise(path, &f, &edge, x);
            *inside = false;
        }
        if (end.value != -INFINITY || below)
            break;
        below = true;
        path_objective_set_head(o, path->m->v);
    }
    memcpy(o->alpha, path->alpha, (size_t)path->m->terms * sizeof *o->alpha);
    end.value = below ? -INFINITY : end.value; /* lower than all candidates above L* */
    return end;
}

static double solve_one(attsvm_path *path, double point, double *theta, bool *inside)
{
    const attsvm_path_settings *s = &path->settings;
    if (path->joint)
        return path_solve_joint(path, point, s->head_radius > 0 ? s->head_radius : s->ratio * point,
                                theta, inside);
    if (path->by_ridge)
        return solve_ridge(path, point, theta).value;
    double radius = path->m->factored ? sqrt(2 * point) : point;
    if (s->cone > 0)
        return solve_cone(path, radius, theta, inside).value;
    return path_solve_ball(path, radius, theta, inside).value;
}

/* ------------------------------------------------------------------------- the best */

static void swap(attsvm_path *path, int64_t a, int64_t b)
{
    const int64_t size = path->m->size;
    if (a == b)
        return;
    double *x = path->candidate + a * size, *y = path->candidate + b * size, value = path->value[a];
    bool inside = path->inside[a];
    for (int64_t j = 0; j < size; j++) {
        double kept = x[j];
        x[j] = y[j];
        y[j] = kept;
    }
    path->value[a] = path->value[b];
    path->value[b] = value;
    double excess = path->excess[a];
    path->excess[a] = path->excess[b];
    path->excess[b] = excess;
    path->inside[a] = path->inside[b];
    path->inside[b] = inside;
}

/* Whether candidate a is one of the first `count`. */
static bool is_known(const attsvm_path *path, int64_t a, int64_t count)
{
    const int64_t size = path->m->size;
    for (int64_t b = 0; b < count; b++)
        if (attsvm_correlation(path->candidate + a * size, path->candidate + b * size, size) >
            1 - same_direction)
            return true;
    return false;
}

/* If L does not distinguish candidates of a joint path, L - L* does. */
static bool is_better(const attsvm_path *path, int64_t a, int64_t b)
{
    const double tie = 1e-13, *value = path->value;
    if (isnan(value[a]) || isnan(value[b]))
        return !isnan(value[a]);
    if (path->joint && fabs(value[a] - value[b]) <= tie * fmax(1, fabs(value[b])))
        return path->excess[a] < path->excess[b];
    return value[a] < value[b];
}

void path_solve_some(attsvm_path *path, int64_t first, double point)
{
    for (int64_t a = first; a < path->count && !dist_stop_now(&path->stop); a++) {
        path->value[a] =
            solve_one(path, point, path->candidate + a * path->m->size, &path->inside[a]);
        path->excess[a] = path->joint ? model_scaled_log(path->objective.above) : path->value[a];
    }
}

/* Best first, each minimum once. */
static void sort_minima(attsvm_path *path)
{
    int64_t kept = 0;
    for (int64_t a = 0; a < path->count; a++) {
        int64_t best = a;
        for (int64_t b = a + 1; b < path->count; b++)
            best = is_better(path, b, best) ? b : best;
        swap(path, a, best);
        if (!is_known(path, a, kept))
            swap(path, kept++, a);
    }
    path->count = kept;
}

/* Joint paths: all candidates roughly, then the best two to full accuracy. */
void path_solve(attsvm_path *path, double point)
{
    enum { ROUGH_TURNS = 3, MOST_TURNS = 30, POLISHED = 2 };
    path->turns = ROUGH_TURNS;
    path_solve_some(path, 0, point);
    sort_minima(path);
    if (!path->joint)
        return;
    path->turns = MOST_TURNS;
    int64_t count = path->count;
    path->count = count < POLISHED ? count : POLISHED;
    path_solve_some(path, 0, point);
    path->count = count;
    sort_minima(path);
}
