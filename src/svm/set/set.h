/*
 * set: the working set, the few rows that are stored, and sums over them.  A norm uses these stored
 * rows, never the data set.
 */
#ifndef ATTSVM_SVM_SET_H
#define ATTSVM_SVM_SET_H

#include "la/la.h"

#include <attsvm/attsvm.h>

struct svm_rows;
struct svm_term;

enum { SVM_AT_ZERO = -1, SVM_AT_UPPER = -2, SVM_REDUNDANT = -3 };

/* A hash table from (term, token) to a number. */
typedef struct svm_index {
    struct svm_index_entry *entries;
    int64_t size; /* a power of two */
} svm_index;

/*
 * Rows, stored as sigma A, sigma a power of two that brings |sigma A| into [1/2, 1]:
 * multipliers here are lambda / sigma.  Multipliers and theta are double-double.
 */
typedef struct svm_set {
    const struct svm_rows *rows;
    bool matrix;   /* rows are delta z' */
    bool has_sets; /* there may be equalities */
    bool whole;    /* all rows of the problem are here */
    int threads;   /* for products of many rows */
    double soft;   /* C; 0: hard */
    int64_t d, size;

    /* rows, by slot */
    int64_t count, capacity;
    int64_t changes; /* rows added and removed so far: whether the set has changed since */
    int64_t *term;
    int32_t *token;
    double *hi, *lo; /* sigma delta, (capacity,d); see svm_set_low */
    uint8_t *no_low; /* lo is 0, and was not written */
    double *sigma;
    double *square; /* |sigma A|^2 */
    double *length; /* |sigma A| */
    double *b;      /* sigma b */
    double *upper;  /* largest multiplier: C / sigma, infinite if hard */
    uint8_t *equality;
    uint8_t *implied;  /* 1: an equality that others imply */
    int32_t *query;    /* number of its query */
    svm_index slot_of; /* by term and token */

    /* the result of the last solve */
    double *theta, *theta_lo; /* (size) */
    double *lambda, *lambda_lo;
    int32_t *place; /* position in the active set of l2, or SVM_AT_... */

    /* queries, by number */
    int64_t queries, query_capacity;
    double *z;          /* (query_capacity,d) */
    double *z_norm;     /* |z| */
    svm_index query_of; /* by term, with token -1 */

    /* scratch */
    double *margin;   /* by slot: sigma <A, theta> */
    double *u, *u_lo; /* (query_capacity,d) */
    double *along;    /* (query_capacity): z_p' z */
    uint8_t *used;    /* (query_capacity) */
    double *scratch;  /* (3d) */
    double *zeros;    /* (d): not scratch, the low part of rows without one */

    void *row_memory, *query_memory;
} svm_set;

/* Row s is set->hi + s d and this. */
static inline const double *svm_set_low(const svm_set *set, int64_t s)
{
    return set->no_low[s] ? set->zeros : set->lo + s * set->d;
}

attsvm_status svm_set_create(svm_set *set, const struct svm_rows *rows, double soft,
                             int64_t capacity, attsvm_error *err);
void svm_set_free(svm_set *set);
/* The slot of a row; -1: it is not in the set. */
int64_t svm_set_slot(const svm_set *set, int64_t term, int64_t token);
/* Reserves room for `more` rows. */
attsvm_status svm_set_reserve(svm_set *set, int64_t more, attsvm_error *err);
/* Adds a row (svm_rows_resolve) that is not in the set. */
attsvm_status svm_set_add(svm_set *set, const struct svm_term *term, int64_t token,
                          attsvm_error *err);
/* Removes inactive rows with <A, theta> - b above most_slack, according to set->margin.  Slots of
   the others move up. */
void svm_set_shrink(svm_set *set, double most_slack);
/* out (size) = sum of coef[k] sigma A over the slots. */
void svm_set_combine(svm_set *set, const int32_t *slots, const double *coef, int64_t count,
                     double *out);
/* Adds the same sum in double-double. */
void svm_set_combine_exact(svm_set *set, const int32_t *slots, const double *coef,
                           const double *coef_lo, int64_t count, double *hi, double *lo);
/* margin[slot] = sigma <A, theta> for all rows of the set. */
void svm_set_margins(svm_set *set, const double *theta);
/* residual (count) = b - sigma <A, theta>, in double-double rounded to double; slots NULL: all. */
void svm_set_residual_exact(svm_set *set, const int32_t *slots, int64_t count, const double *hi,
                            const double *lo, double *residual);
void svm_set_margins_exact(svm_set *set, const int32_t *slots, int64_t count, const double *hi,
                           const double *lo, double *margins);
/* out[k] = <sigma A_p, sigma A_k> */
void svm_set_gram(svm_set *set, int64_t p, const int32_t *slots, int64_t count, double *out);
dd svm_set_gram_exact(const svm_set *set, int64_t p, int64_t r);

#endif
