/* enumerate: every locally optimal selection, complete or by a search (theory 5). */
#ifndef ATTSVM_THEORY_ENUMERATE_H
#define ATTSVM_THEORY_ENUMERATE_H

#include "theory/theory.h"

/* Complete or partial selections: alpha (count, width). */
typedef struct enumerate_list {
    int32_t *alpha;
    int64_t count, width;
} enumerate_list;

/* The result for one of them. */
typedef struct enumerate_judged {
    attsvm_outcome outcome;
    bool local, global;
    double norm, advantage;
} enumerate_judged;

struct attsvm_enumeration {
    const attsvm_scores *scores;
    attsvm_svm_settings svm;
    attsvm_enumerate_settings settings;
    attsvm_enumeration_info info;
    int64_t *alpha;           /* (count, terms)                   */
    enumerate_judged *judged; /* (count)                          */
    int64_t capacity;
    dist_watch watch; /* counts SVMs that were solved */
    dist_stop stop;
};

/* Solves the SVM of every member, of complete ones with `scores`, in the order of the list.  After
   a stop the outcome of some is ATTSVM_NOT_RUN. */
attsvm_status enumerate_judge(attsvm_enumeration *e, const enumerate_list *list,
                              const attsvm_scores *scores, const attsvm_data *data,
                              const attsvm_svm_settings *svm, enumerate_judged *out,
                              attsvm_error *err);
/* All selections without an infeasible partial selection; *fits: max_selections was enough. */
attsvm_status enumerate_grow(attsvm_enumeration *e, enumerate_list *whole, bool *fits,
                             attsvm_error *err);

/* Index of the selection in the list, or -1; copies of a token are equivalent. */
int64_t enumerate_find(const attsvm_enumeration *enumeration, const int64_t *alpha);

#endif
