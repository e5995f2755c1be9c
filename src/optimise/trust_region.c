/*
 * A local minimum of a smooth function F on a sphere, on a plane, or on a sphere in a plane.
 *
 * Trust-region Newton steps; conjugate gradients solve the linear systems (Steihaug 1983).  With y
 * the part of x on the sphere and P the projection on its tangent space, the Hessian along the
 * sphere is
 *
 *   H s = P F''(x) s - (<F'(x), y> / |y|^2) s .
 *
 * F is the logarithm of a sum of exponentials with exponents of size |x|: its curvature is large,
 * |x|^2, along the few directions that move active rows against each other and of size |x| in all
 * others, so that conjugate gradients converge in about as many steps as there are active rows,
 * while first-order methods converge slowly.  F'' s is a difference quotient of gradients, whose
 * relative accuracy does not depend on the size of F.
 */
#include "optimise/optimise.h"

#include <math.h>
#include <string.h>

#include "la/la.h"

enum { MOST_STEPS = 300, MOST_INNER = 400 };

static const double slope_tol = 1e-11;      /* relative; below it rounding dominates           */
static const double difference_step = 1e-6; /* of the reach                                    */
static const double rounding = 1e-15;       /* of F, relative to |F| and to the size of logits */

/* One of the vectors of which x consists. */
typedef struct part {
    int64_t first, count;
    double radius, limit;
    double curvature; /* -<F', y> / |y|^2: contribution of the sphere to the Hessian */
} part;

typedef struct search {
    const optimise_function *f;
    const optimise_surface *surface;
    part part[2];
    int parts;
    double *y, *g, *tangent;        /* at x: point on the sphere, F', P F'   */
    double *trial, *trial_g;        /* x + s, and F' there                   */
    double *s, *r, *along, *curved; /* conjugate gradients                   */
    double *spare;
    int64_t evaluations;
    bool stopped;
} search;

/* F and its gradient at x; after a stop NAN, and g is unchanged. */
static double evaluate(search *c, const double *x, double *g)
{
    const optimise_function *f = c->f;
    c->stopped = c->stopped || attsvm_interrupted() || (f->stop && f->stop(f->context));
    if (c->stopped)
        return NAN;
    c->evaluations++;
    return f->evaluate(f->context, x, g);
}

/* s without its part along the basis. */
static void flatten(const search *c, double *s)
{
    const int64_t size = c->f->size;
    for (int64_t k = 0; k < c->surface->count; k++) {
        const double *b = c->surface->basis + k * size;
        la_axpy(-la_dot(b, s, size), b, s, size);
    }
}

/* P s at y. */
static void project(const search *c, const double *y, double *s)
{
    flatten(c, s);
    for (const part *b = c->part; b < c->part + c->parts; b++)
        if (b->radius > 0)
            la_axpy(-la_dot(y + b->first, s + b->first, b->count) / (b->radius * b->radius),
                    y + b->first, s + b->first, b->count);
}

/* Projects x onto the surface and computes its y. */
static void settle(const search *c, double *x, double *y)
{
    const int64_t size = c->f->size;
    const double *offset = c->surface->offset;
    memcpy(y, x, (size_t)size * sizeof *y);
    if (offset)
        la_axpy(-1, offset, y, size);
    flatten(c, y);
    for (const part *b = c->part; b < c->part + c->parts; b++) {
        double norm = la_norm(y + b->first, b->count);
        double factor = b->radius > 0 && norm > 0 ? b->radius / norm : 1;
        for (int64_t j = b->first; j < b->first + b->count; j++) {
            y[j] *= factor;
            x[j] = (offset ? offset[j] : 0) + y[j];
        }
    }
}

/* F' along the surface at y, and the curvature that the spheres add; returns |P F'|. */
static double take_tangent(search *c, const double *y, const double *g, double *tangent)
{
    const int64_t size = c->f->size;
    memcpy(tangent, g, (size_t)size * sizeof *tangent);
    project(c, y, tangent);
    for (part *b = c->part; b < c->part + c->parts; b++) {
        double inwards = la_dot(g + b->first, y + b->first, b->count);
        b->curvature = b->radius > 0 ? -inwards / (b->radius * b->radius) : 0;
    }
    return la_norm(tangent, size);
}

/* curved = H along. */
static void apply_hessian(search *c, const double *x)
{
    const int64_t size = c->f->size;
    double step = difference_step * c->f->reach / la_norm(c->along, size);
    for (int64_t j = 0; j < size; j++)
        c->trial[j] = x[j] + step * c->along[j];
    evaluate(c, c->trial, c->trial_g);
    for (int64_t j = 0; j < size; j++)
        c->curved[j] = (c->trial_g[j] - c->g[j]) / step;
    project(c, c->y, c->curved);
    for (const part *b = c->part; b < c->part + c->parts; b++)
        la_axpy(b->curvature, c->along + b->first, c->curved + b->first, b->count);
}

/* Length of `along` at which s + length * along leaves the ball of radius `bound`. */
static double to_boundary(const search *c, double bound)
{
    const int64_t size = c->f->size;
    double a = la_dot(c->along, c->along, size), b = la_dot(c->s, c->along, size);
    double rest = bound * bound - la_dot(c->s, c->s, size);
    rest = rest > 0 ? rest : 0;
    double root = sqrt(b * b + a * rest);
    return b > 0 ? rest / (b + root) : (root - b) / a;
}

/* s: approximate minimiser of the quadratic model within `bound`; returns the predicted decrease.
 */
static double newton_step(search *c, const double *x, double bound, double slope)
{
    const int64_t size = c->f->size;
    const size_t bytes = (size_t)size * sizeof(double);
    double square = slope * slope, tol = fmin(0.1, sqrt(slope * c->f->reach)) * slope;
    memset(c->s, 0, bytes);
    memcpy(c->r, c->tangent, bytes);
    for (int64_t j = 0; j < size; j++)
        c->along[j] = -c->r[j];
    for (int64_t k = 0; k < MOST_INNER && k < 2 * size + 2; k++) {
        apply_hessian(c, x);
        if (c->stopped)
            return 0;
        double bend = la_dot(c->along, c->curved, size), most = to_boundary(c, bound);
        double length = bend > 0 ? square / bend : INFINITY;
        bool leaves = !(length < most);
        length = leaves ? most : length;
        la_axpy(length, c->along, c->s, size);
        la_axpy(length, c->curved, c->r, size);
        double next = la_dot(c->r, c->r, size);
        if (leaves || sqrt(next) <= tol)
            break;
        for (int64_t j = 0; j < size; j++)
            c->along[j] = -c->r[j] + next / square * c->along[j];
        project(c, c->y, c->along);
        square = next;
    }
    project(c, c->y, c->s);
    /* the residual is r = P F' + H s, so that s'Hs = s'(r - P F') */
    return -0.5 * (la_dot(c->s, c->tangent, size) + la_dot(c->s, c->r, size));
}

static void lay_out(search *c, double *work)
{
    const optimise_surface *s = c->surface;
    const int64_t size = c->f->size, split = s->split > 0 ? s->split : size;
    c->part[0] = (part){ .count = split, .radius = s->radius, .limit = s->limit };
    c->part[1] = (part){
        .first = split, .count = size - split, .radius = s->second_radius, .limit = s->second_limit
    };
    c->parts = s->split > 0 ? 2 : 1;
    double **const all[] = { &c->y, &c->g, &c->tangent, &c->trial,  &c->trial_g,
                             &c->s, &c->r, &c->along,   &c->curved, &c->spare };
    for (int k = 0; k < OPTIMISE_TRUST_REGION_VECTORS; k++)
        *all[k] = work + k * c->f->size;
}

/* |F'|, given its length `slope` along the surface. */
static double whole_slope(const search *c, double slope)
{
    return base_hypot(base_hypot(slope, c->part[0].curvature * c->part[0].radius),
                      c->part[1].curvature * c->part[1].radius);
}

/* Whether a vector without a sphere exceeds its limit. */
static bool is_beyond(const search *c, const double *x)
{
    for (const part *b = c->part; b < c->part + c->parts; b++)
        if (b->limit > 0 && la_norm(x + b->first, b->count) > b->limit)
            return true;
    return false;
}

void optimise_trust_region(const optimise_function *f, const optimise_surface *surface, double *x,
                           double *work, optimise_end *end)
{
    search c = { .f = f, .surface = surface };
    const int64_t size = f->size;
    const size_t bytes = (size_t)size * sizeof(double);
    double bound = 2 * f->reach, most = INFINITY;
    lay_out(&c, work);
    if (surface->radius > 0 && (c.parts == 1 || surface->second_radius > 0))
        most = fmax(surface->radius, surface->second_radius);
    settle(&c, x, c.y);
    double value = evaluate(&c, x, c.g), slope = take_tangent(&c, c.y, c.g, c.tangent);
    for (end->steps = 0; end->steps < MOST_STEPS; end->steps++) {
        if (!isfinite(value) || slope <= slope_tol * whole_slope(&c, slope) ||
            slope * f->reach <= 1e-300)
            break;
        bound = fmin(bound, most);
        double fall = newton_step(&c, x, bound, slope), length = la_norm(c.s, size);
        for (int64_t j = 0; j < size; j++)
            c.trial[j] = x[j] + c.s[j];
        settle(&c, c.trial, c.spare);
        double next = evaluate(&c, c.trial, c.trial_g);
        if (c.stopped)
            break;
        const part before[2] = { c.part[0], c.part[1] };
        double next_slope = take_tangent(&c, c.spare, c.trial_g, c.r);
        double noise = rounding * (fabs(value) + la_norm(x, size) / f->reach);
        /* when rounding hides changes of F, compare gradients */
        bool blind = fall < 10 * noise;
        bool better = blind ? next_slope < 0.5 * slope : value - next > 0.05 * fall;
        if (!better && blind) {
            memcpy(c.part, before, sizeof before);
            break;
        }
        if (!blind && !(value - next > 0.25 * fall))
            bound = 0.25 * length;
        else if (length > 0.8 * bound)
            bound *= 3;
        if (!better) {
            memcpy(c.part, before, sizeof before);
            if (bound < 1e-14 * (la_norm(x, size) + f->reach))
                break;
            continue;
        }
        memcpy(x, c.trial, bytes);
        memcpy(c.y, c.spare, bytes);
        memcpy(c.g, c.trial_g, bytes);
        memcpy(c.tangent, c.r, bytes);
        value = next;
        slope = next_slope;
        if (is_beyond(&c, x))
            break;
    }
    double pull = c.part[0].curvature * c.part[0].radius;
    *end = (optimise_end){ .value = value,
                           .slope = surface->radius > 0 ? slope / base_hypot(slope, pull)
                                                        : slope * f->reach,
                           .pull = pull,
                           .second_pull = c.part[1].curvature * c.part[1].radius,
                           .steps = end->steps,
                           .evaluations = c.evaluations,
                           .stopped = c.stopped };
}
