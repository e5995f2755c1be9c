/*
 * sample: the start of a solve, in three files.  sample.c: the samples of a large problem, which
 * are searched for violated rows before all terms are read; first.c: the first rows of the set;
 * candidates.c: lists of rows that may join.
 */
#ifndef ATTSVM_SVM_SAMPLE_H
#define ATTSVM_SVM_SAMPLE_H

#include "svm/set/find.h"

/*
 * Large problems start with a sample of 2 % of the terms.  When no sampled row is violated, the
 * sample is quadrupled, and only its new terms are read; after all terms were read once, the tenth
 * closest to its margin comes first.  True: the problem is large enough for that.
 */
bool svm_sample_start(svm_pass_settings *settings, const svm_rows *rows);
/* Whether a pass reads all terms that it cannot skip. */
bool svm_sample_is_whole(const svm_pass_settings *settings);
/* From now on, passes read all terms. */
void svm_sample_all(svm_pass_settings *settings);
/* From now on, passes read terms close to their margin: about a tenth. */
void svm_sample_near(svm_pass_settings *settings, const svm_find *find);
void svm_sample_grow(svm_pass_settings *settings, const svm_find *find);
/* After a pass that found nothing; the sample is not whole. */
void svm_sample_widen(svm_pass_settings *settings, const svm_find *find);

/*
 * The first rows: all of a small problem, or if `all` is set; otherwise those of a previous
 * solution, or some from the sample, found at a guess of theta (theta, zero: size; zero is 0).  If
 * one of them cannot be satisfied, pass->conflict_term names it.
 */
typedef struct svm_first {
    svm_find *find;
    const svm_pass_settings *settings;
    const attsvm_claim *warm; /* or NULL */
    bool all;
    double *theta;
    const double *zero;
} svm_first;
attsvm_status svm_first_rows(const svm_first *first, svm_set *set, svm_pass *pass,
                             attsvm_error *err);
/* Whether all rows of the problem are stored at the start. */
bool svm_first_is_small(const svm_rows *rows);
/* Maximum number of rows that join at a time. */
int64_t svm_first_most(const svm_rows *rows);

/* The order of candidates: by slack, then by row. */
bool svm_candidates_before(const svm_candidate *a, const svm_candidate *b);
/* Brings the `most` first of `count` to the front, in order. */
void svm_candidates_sort(svm_candidate *c, int64_t count, int64_t most);

/* The first `most` of the rows that one worker adds. */
typedef struct svm_candidates {
    svm_candidate *rows;
    int64_t count, capacity;
    svm_candidate last; /* rows after it are not among the first `most` */
    bool full;
    attsvm_status status; /* of a failed allocation */
    attsvm_error err;
} svm_candidates;
void svm_candidates_note(svm_candidates *list, int64_t most, svm_candidate row);
/* The first `most` rows of all lists and ranks, in order, as one list; the lists are emptied. */
attsvm_status svm_candidates_join(svm_candidates *lists, int count, int64_t most, dist_comm *comm,
                                  svm_candidate **out, int64_t *out_count, attsvm_error *err);

#endif
