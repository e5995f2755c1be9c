/* joint: training head and prompt together (theory 6.8). */
#ifndef ATTSVM_THEORY_JOINT_H
#define ATTSVM_THEORY_JOINT_H

#include "theory/theory.h"

/* Points of the search for a small nu. */
typedef struct assumption_b {
    const attsvm_data *data;
    const int64_t *alpha; /* (n)                             */
    double margin;        /* Gamma                           */
    int threads;
    dist_stop *stop;
    dist_watch *watch; /* counts points */
} assumption_b;

/*
 * Gamma(p) of the pooled tokens X' softmax(X u) and m = max_i (1 - s_i,alpha), with copies of alpha
 * counted as alpha; u (d) is p, or W'p if keys are W x.
 */
attsvm_status assumption_b_margin(const assumption_b *b, const double *u, double *margin,
                                  double *miss, attsvm_error *err);
/* The smallest nu over iterates (count, d), random directions and descent; u_best (d). */
attsvm_status assumption_b_search(const assumption_b *b, const attsvm_joint_settings *settings,
                                  const double *iterates, int64_t count, double *nu,
                                  double *nu_norm, int64_t *tried, attsvm_error *err);

#endif
