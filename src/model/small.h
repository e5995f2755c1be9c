/*
 * Short sequences, one term per lane of a vector: the gradient of one model (small.c), or of
 * several models of equal shape, one model per lane (small_batch.c).
 */
#ifndef ATTSVM_MODEL_SMALL_H
#define ATTSVM_MODEL_SMALL_H

#include "model/model.h"

/* Writable views of the tables that la_small only reads. */
typedef struct model_small_tables {
    double *X, *Zt, *Z, *P, *v, *Y;
} model_small_tables;

/* Work space of a thread. */
typedef struct model_small_work {
    la_small l;                   /* its work space, and its tables unless all are stored */
    model_small_tables own;       /* these tables                                         */
    double *slope, *log, *factor; /* (l.count): |l'| as value and log; factor of a term      */
    double *gradient;             /* (map_size) of a single chunk                            */
} model_small_work;

/* The short sequences of a model, one term per lane, in chunks that do not cross blocks. */
typedef struct model_small {
    la_small *chunk; /* stored tables, with the first thread's work space; NULL: none       */
    int64_t *first;  /* (blocks of this rank + 1) chunks of a block; with stored tables     */
    model_small_work *work; /* (threads)                                                      */
    void *memory;
} model_small;

/*
 * Sets m->small if it applies: sequences of equal length, short or few, without duplicates, and a
 * fixed head, ReLU or linear without equal scores.
 */
attsvm_status model_small_create(model *m, attsvm_error *err);
void model_small_free(model_small *small); /* NULL is fine */
/* The gradient in W or W'p over the terms of block b of this rank, in units of exp(the result). */
double model_small_sum(const model *m, int64_t b, int worker, double *gradient);
/*
 * The same for a model of one block, into m->attention_gradient and m->gradient_log; false if equal
 * scores leave the work to weights.c.
 */
bool model_small_gradient(model *m);

/* Models W of equal shape, one per lane, for a step of many small runs. */
typedef struct model_small_batch {
    const model *first; /* any of them: its loss and its number of terms are those of all */
    int64_t count;      /* models                                                         */
    la_small l;
    double *theta;    /* d x d x LA_LANES                                       */
    double *gradient; /* d x d x LA_LANES, in units of exp(log)                   */
    double *log;      /* LA_LANES; -INFINITY: no gradient                       */
    double *rate;     /* LA_LANES, for the caller                               */
    double *slope, *slope_log, *factor;
} model_small_batch;

/* Whether the two can share a batch; (a, a): whether a can be in one. */
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
/* Whether model k ever had equal scores, so that its gradients are invalid. */
bool model_small_batch_needs_general(const model_small_batch *p, int64_t k);

/* The shape of `terms` terms in lanes; its tables and work space; copies term lo + k to lane first
 * + k step. */
la_small model_small_shape(const model *m, int64_t terms);
void model_small_layout(la_small *l, model_small_tables *own, arena *a);
void model_small_layout_work(la_small *l, arena *a);
void model_small_fill(const model *m, const la_small *l, const model_small_tables *own, int64_t lo,
                      int64_t hi, int64_t first, int64_t step);

#endif
