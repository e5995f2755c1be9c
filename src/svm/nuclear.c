/*
 * Nuclear norm over gathered rows: interior point steps until Newton on the rank-r system takes
 * over, usually after five or six.
 */
#include "svm/svm.h"

#include "la/la.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUCLEAR_STEPS = 60 };
static const double POLISH_FROM = 5e-3;  /* relative gap at which Newton is first tried   */
static const double POLISH_AGAIN = 0.03; /* fall of the gap before it is tried again      */
static const double POLISH_GOAL = 1e-13; /* certified gap that ends the solve             */
static const double NUCLEAR_END = 1e-13; /* gap at which interior point steps mean nothing */

/* The relative gap that the interior point itself proves, and W = 2 X_12 into W. */
static double prove_interior(const svm_nuclear *s, const double *norms, double *W)
{
    const svm_part *part = s->part;
    int64_t p = part->p, q = part->q;
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < q; j++)
            W[i * q + j] = 2 * s->X[i * s->order + p + j];
    svm_part_apply(part, W, q, s->rows1, s->sums);
    double scale = svm_part_scale(part, s->rows1, norms, s->primal);
    return scale > 0 ? (scale * s->primal - s->dual) / (scale * s->primal) : INFINITY;
}

static void keep(svm_nuclear_point *point, const svm_nuclear *s, const double *W, double gap)
{
    if (!(gap < point->gap))
        return;
    point->gap = gap;
    point->polished = false;
    memcpy(point->W, W, (size_t)(s->part->p * s->part->q) * sizeof *W);
    memcpy(point->lambda, s->lambda, (size_t)s->part->rows * sizeof(double));
}

attsvm_status svm_nuclear_core(const svm_part *part, const double *W0, svm_nuclear_point *point,
                               int64_t *iterations, attsvm_error *err)
{
    svm_nuclear s = { 0 };
    double *W = NULL, *norms = NULL, try_at = POLISH_FROM;
    point->gap = INFINITY;
    point->polished = false;
    attsvm_status status = svm_nuclear_create(&s, part, err);
    if (status == ATTSVM_OK)
        status = base_allocate(&W, (size_t)(part->p * part->q), sizeof *W, "W", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&norms, (size_t)part->rows, sizeof *norms, "row norms", err);
    if (status != ATTSVM_OK)
        goto done;
    for (int64_t r = 0; r < part->rows; r++)
        norms[r] = la_norm(part->u + r * part->p, part->p) *
                   la_norm(part->v + part->term[r] * part->q, part->q);
    status = svm_nuclear_start(&s, W0, err);
    bool going = true;
    while (status == ATTSVM_OK && going && s.iterations < NUCLEAR_STEPS) {
        going = svm_nuclear_step(&s);
        double gap = prove_interior(&s, norms, W);
        keep(point, &s, W, gap);
        double relative = fabs(s.primal - s.dual) / s.primal;
        if (relative < try_at || !going) {
            try_at = relative * POLISH_AGAIN;
            status = svm_nuclear_polish(part, s.lambda, s.w, W, s.primal, point, err);
        }
        going = going && point->gap > POLISH_GOAL && relative > NUCLEAR_END;
    }
    *iterations += s.iterations;
done:
    free(norms);
    free(W);
    svm_nuclear_free(&s);
    return status;
}
