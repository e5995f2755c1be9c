/*
 * The joint path (theory 6.8): v in a ball of radius r, p in one of radius R.
 *
 * Block minimisation.  With p fixed, L is convex in v.  With v fixed it is the problem of the
 * p-path for the head v, on the scale log(L - L*(v)), which distinguishes directions of p when L
 * itself no longer can.  In between both blocks move together.  Every step lowers L; it ends when
 * neither block moves.
 */
#include "theory/path/path.h"

#include <math.h>
#include <string.h>

static const double settled = 1e-11; /* relative change between two rounds */

/* |x - y| / |y| */
static double moved(const double *x, const double *y, int64_t count)
{
    double sum = 0, norm = la_norm(y, count);
    for (int64_t j = 0; j < count; j++)
        sum += (x[j] - y[j]) * (x[j] - y[j]);
    return norm > 0 ? sqrt(sum) / norm : INFINITY;
}

/*
 * The best v for the p in theta.  L is convex in v, and at a large radius nearly a maximum of
 * linear functions, so the minimum is followed through growing balls.
 */
static double solve_head(attsvm_path *path, double radius, double *theta)
{
    const double step = 4;
    path_objective *o = &path->objective;
    const model_parameter *v = &path->m->parameter[1];
    double *x = theta + v->offset, value = NAN, norm = la_norm(x, v->count);
    o->kind = PATH_LOG_LOSS;
    o->first = v->offset;
    o->count = v->count;
    bool inside = norm < radius;
    for (int64_t j = 0; j < v->count && !inside; j++)
        x[j] *= radius / norm;
    double first = fmin(radius, fmax(norm, 4 / o->token_size));
    for (double ball = first;; ball = fmin(radius, step * ball)) {
        value = path_solve_ball(path, ball, x, &inside).value;
        if (!(ball < radius))
            break;
        inside = true;
    }
    memcpy(o->theta + v->offset, x, (size_t)v->count * sizeof *x);
    path_objective_set_head(o, x);
    return value;
}

/*
 * p and v together, from theta: Newton steps on both spheres, without the sphere of a vector whose
 * minimum is inside.  Alternating blocks would need hundreds of rounds, because L has a narrow
 * valley in (p, v).
 */
static void solve_both(attsvm_path *path, double radius, double radius_v, double *theta,
                       bool *inside)
{
    enum { MOST_CHANGES = 8 };
    path_objective *o = &path->objective;
    const model_parameter *p = &path->m->parameter[0], *v = &path->m->parameter[1];
    double *x = path->spare, scale = o->token_size / o->key_spread;
    bool free_p = *inside, free_v = la_norm(theta + v->offset, v->count) < radius_v;
    if (!(scale > 0 && isfinite(scale)))
        return;
    o->kind = PATH_LOG_LOSS;
    o->first = 0;
    o->count = path->m->size;
    o->head_scale = scale;
    memcpy(x, theta, (size_t)o->count * sizeof *x);
    for (int64_t j = 0; j < v->count; j++)
        x[v->offset + j] *= scale;
    const double outer = scale * radius_v;
    optimise_function f = path_objective_function(o, radius);
    double best = f.evaluate(o, x, path->work);
    for (int change = 0; change < MOST_CHANGES; change++) {
        optimise_surface surface = { .radius = free_p ? 0 : radius,
                                     .limit = free_p ? radius : 0,
                                     .split = v->offset,
                                     .second_radius = free_v ? 0 : outer,
                                     .second_limit = free_v ? outer : 0 };
        optimise_end end = path_minimise(path, &f, &surface, x);
        bool out_p = free_p && la_norm(x + p->offset, p->count) > radius;
        bool out_v = free_v && la_norm(x + v->offset, v->count) > outer;
        bool in_p = !free_p && end.pull < 0, in_v = !free_v && end.second_pull < 0;
        if (!out_p && !out_v) {
            if (!(end.value < best))
                break;
            best = end.value;
            *inside = free_p;
            memcpy(theta, x, (size_t)o->count * sizeof *x);
            for (int64_t j = 0; j < v->count; j++)
                theta[v->offset + j] /= scale;
            if (!in_p && !in_v)
                break;
        }
        free_p = (free_p && !out_p) || in_p;
        free_v = (free_v && !out_v) || in_v;
    }
    o->head_scale = 0;
    memcpy(o->theta, theta, (size_t)o->count * sizeof *x);
}

double path_solve_joint(attsvm_path *path, double radius, double radius_v, double *theta,
                        bool *inside)
{
    path_objective *o = &path->objective;
    const model_parameter *p = &path->m->parameter[0], *v = &path->m->parameter[1];
    double *before = path->spare + path->m->size;
    double norm = la_norm(theta + p->offset, p->count);
    for (int64_t j = 0; j < p->count && !*inside; j++)
        theta[p->offset + j] *= radius / norm;
    memcpy(o->theta, theta, (size_t)path->m->size * sizeof *theta);
    for (int turn = 0; turn < path->turns && !dist_stop_now(&path->stop); turn++) {
        memcpy(before, theta, (size_t)path->m->size * sizeof *theta);
        solve_head(path, radius_v, theta);
        o->kind = PATH_LOG_EXCESS;
        o->first = p->offset;
        o->count = p->count;
        path_solve_ball(path, radius, theta + p->offset, inside);
        memcpy(o->theta + p->offset, theta + p->offset, (size_t)p->count * sizeof *theta);
        if (moved(theta + p->offset, before + p->offset, p->count) <= settled &&
            moved(theta + v->offset, before + v->offset, v->count) <= settled)
            break;
        solve_both(path, radius, radius_v, theta, inside);
    }
    path_objective_set_head(o, theta + v->offset);
    path_objective_look(o, theta);
    return path->m->loss.magnitude ? model_scaled_log(o->value.over_best) : o->value.loss;
}
