/*
 * The joint path (theory 6.8): v in a ball of radius r, p in one of radius R.
 *
 * The blocks take turns.  With p fixed, L is convex in v.  With v fixed it is the p-path's
 * problem for the head v, on the scale log(L - L*(v)), which tells directions of p apart long after
 * L itself cannot.  Every turn lowers L; the turns end when neither block moves.
 */
#include "theory/path/path.h"

#include <math.h>
#include <string.h>

enum { MOST_TURNS = 200 };

static const double settled = 1e-11; /* distance of unit vectors between two turns */

/* |x/|x| - y/|y||, or |x - y| where one is 0. */
static double moved(const double *x, const double *y, int64_t count)
{
    double a = la_norm(x, count), b = la_norm(y, count), sum = 0;
    a = a > 0 && b > 0 ? a : 1;
    b = a > 0 && b > 0 ? b : 1;
    for (int64_t j = 0; j < count; j++)
        sum += (x[j] / a - y[j] / b) * (x[j] / a - y[j] / b);
    return sqrt(sum);
}

double path_solve_joint(attsvm_path *path, double radius, double radius_v, double *theta,
                        bool *inside)
{
    path_objective *o = &path->objective;
    const model_parameter *p = &path->m->parameter[0], *v = &path->m->parameter[1];
    double *before = path->spare + path->m->size, value = NAN;
    bool inside_v;
    *inside = false;
    memcpy(o->theta, theta, (size_t)path->m->size * sizeof *theta);
    double norm = la_norm(theta + p->offset, p->count);
    for (int64_t j = 0; j < p->count; j++)
        o->theta[p->offset + j] = theta[p->offset + j] *= radius / norm;
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        memcpy(before, theta, (size_t)path->m->size * sizeof *theta);
        o->kind = PATH_LOG_LOSS;
        o->first = v->offset;
        o->count = v->count;
        inside_v = false;
        value = path_solve_ball(path, radius_v, theta + v->offset, &inside_v).value;
        memcpy(o->theta + v->offset, theta + v->offset, (size_t)v->count * sizeof *theta);
        path_objective_set_head(o, theta + v->offset, true);
        o->kind = PATH_LOG_EXCESS;
        o->first = p->offset;
        o->count = p->count;
        path_solve_ball(path, radius, theta + p->offset, inside);
        memcpy(o->theta + p->offset, theta + p->offset, (size_t)p->count * sizeof *theta);
        if (moved(theta + p->offset, before + p->offset, p->count) <= settled &&
            moved(theta + v->offset, before + v->offset, v->count) <= settled)
            break;
    }
    return value;
}
