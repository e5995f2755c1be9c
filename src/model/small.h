/* Tiny problems, one a lane; several runs at once.  Used by evaluate.c and by batches of runs. */
#ifndef ATTSVM_MODEL_SMALL_H
#define ATTSVM_MODEL_SMALL_H

#include "model/model.h"

/*
 * Small problems: equal lengths, a fixed head that is linear without equal scores, or ReLU.  Sets
 * m->small where this applies.
 */
attsvm_status model_small_create(model *m, attsvm_error *err);
/*
 * The gradient in W or W'p over all terms into m->attention_gradient, its exponent into
 * m->gradient_log; false where equal scores leave the work to weights.c.
 */
bool model_small_gradient(model *m);

/* Models W of one shape side by side, each in a lane: all that many small runs need in a step. */
typedef struct model_small_batch {
    const model *first;
    int64_t count; /* models                                                 */
    la_small l;
    double *theta;    /* d x d x LA_LANES                                       */
    double *gradient; /* d x d x LA_LANES, in units of exp(log)                   */
    double *log;      /* LA_LANES; -INFINITY: no gradient                       */
    double *rate;     /* LA_LANES, for the caller                               */
    double *slope, *slope_log, *factor;
} model_small_batch;

/* Whether the two may share a batch; a model that fits itself may be in one. */
bool model_small_batch_fits(const model *a, const model *b);
/* count: 1..LA_LANES models that fit each other. */
attsvm_status model_small_batch_create(model_small_batch **out, model *const *models, int64_t count,
                                       attsvm_error *err);
void model_small_batch_free(model_small_batch *p);
/* Parameters of model k into theta (d x d), and from it. */
void model_small_batch_get(const model_small_batch *p, int64_t k, double *theta);
void model_small_batch_set(const model_small_batch *p, int64_t k, const double *theta);
/* Gradients at p->theta into gradient and log; their squared norms into l.square. */
void model_small_batch_gradient(model_small_batch *p);
/* Whether model k ever came to equal scores, so that its gradients are not to be used. */
bool model_small_batch_needs_general(const model_small_batch *p, int64_t k);

/* The tables of la_small that are written here and only read there. */
typedef struct model_small_tables {
    double *X, *Zt, *Z, *P, *v, *Y;
} model_small_tables;

/* The shape of a model's terms side by side; its memory; its term k into lane first + k step. */
la_small model_small_shape(const model *m);
void model_small_layout(la_small *l, model_small_tables *own, arena *a);
void model_small_fill(const model *m, const la_small *l, const model_small_tables *own,
                      int64_t first, int64_t step);

#endif
