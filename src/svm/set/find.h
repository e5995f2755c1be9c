/*
 * find: one pass over the data finds the rows that theta violates; terms whose rows cannot have
 * become violated or tight since the last read are skipped.
 */
#ifndef ATTSVM_SVM_FIND_H
#define ATTSVM_SVM_FIND_H

#include "dist/stop.h"
#include "svm/rows/rows.h"
#include "svm/set/set.h"

#define SVM_NEAR 1e-6 /* a row this close to its b, or below it, is never skipped */

/* What one pass over the data found. */
typedef struct svm_pass {
    double min_margin;      /* smallest <A, theta> over rows with b = 1 (infinite: none)     */
    double min_zero_margin; /* smallest <A, theta> over rows with b = 0                      */
    double zero_distance;   /* smallest <A, theta> / |A| of those near it, outside the set   */
    double scale;           /* theta times this, rounded, satisfies all near rows with b = 1 */
    double largest;         /* largest |A| among rows near their b                           */
    double slacks;          /* sum of max(0, b - <A, theta>), of a soft problem              */
    int64_t violated;       /* terms with a violated row                                     */
    int64_t tight, merged;
    int64_t violated_zero_rows; /* rows with b = 0 that do not hold                          */
    double noise;               /* largest rounding error of <A, theta>, if not exact */
    bool interrupted;           /* the pass was stopped early                         */
    int64_t conflict_term, conflict_token; /* A = 0 and b = 1; -1: none                      */
} svm_pass;

/* A row that may join the working set, ordered by slack. */
typedef struct svm_candidate {
    double slack; /* <A, theta> - b */
    int64_t term;
    int32_t token, padding; /* ranks send whole candidates: no byte is undefined */
} svm_candidate;

/*
 * Terms between passes.  A term is skipped while m - bound |theta - theta_read| > 0 proves that
 * none of its rows can be violated or tight, m its smallest <A, theta> - b when it was last read.
 */
typedef struct svm_find {
    const svm_rows *rows;
    int threads;
    int64_t blocks;
    int64_t lo, hi;       /* terms of this rank; the arrays below hold only those */
    double *slack;        /* smallest <A, theta> - b when last read               */
    double *path_at_read; /* length of theta's path at that time; negative: never */
    double *bound;        /* |A| <= bound for all rows of the term                */
    double path_length;   /* length of theta's path so far                        */
    double likely_rate;   /* 1 / sqrt(size)                                       */
    double *previous;     /* theta of the last pass                               */
    int64_t merged;       /* counted when a term is first read                    */
    double *scratch;      /* (threads, ...)                                       */
    int64_t scratch_each;
    struct svm_block *results;    /* (blocks)                                     */
    struct svm_candidates *lists; /* (threads) rows that the workers found         */
    svm_candidate *found;         /* the rows of the last pass, the worst first    */
    int64_t found_count;
    dist_stop *stop;        /* asked during a pass; may be NULL */
    double passes, seconds; /* so far                           */
    void *memory;
} svm_find;

attsvm_status svm_find_create(svm_find *find, const svm_rows *rows, int threads, attsvm_error *err);
void svm_find_free(svm_find *find);

typedef struct svm_pass_settings {
    uint64_t seed, share; /* terms whose hash is at most `share` are read; UINT64_MAX: all */
    int run_bits;         /* 2^run_bits consecutive terms have the same hash               */
    bool exact;           /* evaluate rows near their b in double-double                   */
    bool read_everything; /* do not skip                                                   */
    bool unread_only;     /* only terms that were never read                               */
    double slack_below;   /* only terms whose slack may be at most this; infinite: all     */
    double tolerance;     /* a row is violated when <A, theta> < b - tolerance - floor     */
    double floor;         /* ... floor |A| |theta|; of a row with b = 0: zero_floor alone  */
    double zero_floor;
    const svm_set *soft; /* of a soft problem: rows at their bound may be violated       */
    int64_t most;        /* maximum number of rows; `found` has the worst                */
    bool every_row;      /* all rows of a term that are not in `set`; else its worst one */
    double join_below;   /* rows with a smaller <A, theta> - b join; 0: violated rows    */
    const svm_set *set;
} svm_pass_settings;

/* Reads the terms that may be violated at theta = hi + lo. */
attsvm_status svm_find_pass(svm_find *find, const double *hi, const double *lo,
                            const svm_pass_settings *settings, svm_pass *pass, attsvm_error *err);
/* Adds the found rows to the set; *added: those that it did not have. */
attsvm_status svm_find_add(const svm_find *find, svm_set *set, int64_t *added, attsvm_error *err);

/* Whether a pass reads the term. */
bool svm_skip_needs_read(const svm_find *find, const svm_pass_settings *settings, int64_t term);
/* Blocks that are read concurrently on the threads of `find`; the reader's context is `walk`. */
typedef struct svm_skip {
    const svm_find *find;
    const svm_pass_settings *settings;
} svm_skip;
data_reader svm_skip_reader(const svm_skip *walk, int64_t lo, int64_t end);
void svm_skip_walk(svm_find *find, const svm_pass_settings *settings, int64_t blocks,
                   base_block_body *body, void *context);
/* The `share`-quantile of the estimated slacks of the terms read so far. */
double svm_skip_quantile(const svm_find *find, double share);

#endif
