/*
 * find: one pass over the data tells which rows theta violates; terms that cannot have become
 * violated or tight since they were last read are skipped.
 */
#ifndef ATTSVM_SVM_FIND_H
#define ATTSVM_SVM_FIND_H

#include "dist/stop.h"
#include "svm/rows/rows.h"
#include "svm/set/set.h"

#define SVM_NEAR 1e-6 /* a row that is so near to its b, or below it, is never skipped */

/* What one pass over the data found. */
typedef struct svm_pass {
    double visited;         /* share of the tokens that was read                            */
    double min_margin;      /* smallest <A, theta> over rows with b = 1 (infinite: none)     */
    double min_zero_margin; /* smallest <A, theta> over rows with b = 0                      */
    double scale;           /* theta times this, rounded, meets all rows with b = 1 that are near */
    double largest;         /* largest |A| among rows near their b                           */
    double slacks;          /* sum of max(0, b - <A, theta>), of a soft problem              */
    int64_t violated;       /* terms with a violated row                                     */
    int64_t tight, merged;
    int64_t violated_zero_rows; /* rows with b = 0 that do not hold                          */
    double noise;     /* largest error that rounding makes in <A, theta>, where not exact     */
    bool interrupted; /* it was stopped before its end                                       */
    int64_t conflict_term, conflict_token; /* A = 0 and b = 1; -1: none                      */
} svm_pass;

/* A row that may join the working set; the first are those of the smallest slack. */
typedef struct svm_candidate {
    double slack; /* <A, theta> - b */
    int64_t term;
    int32_t token, reserved;
} svm_candidate;

/*
 * Terms between passes.  A term is skipped while m - bound |theta - theta_read| > 0 proves that
 * none of its rows can be violated or tight, m its smallest <A, theta> - b when it was last read.
 */
typedef struct svm_find {
    const svm_rows *rows;
    int threads;
    int64_t terms, blocks;
    int64_t lo, hi;       /* terms of this rank; the arrays below hold those alone */
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
    dist_stop *stop;        /* asked while a pass reads; NULL: it reads to its end */
    double passes, seconds; /* so far                                             */
    void *memory;
} svm_find;

attsvm_status svm_find_create(svm_find *find, const svm_rows *rows, int threads, attsvm_error *err);
void svm_find_free(svm_find *find);

typedef struct svm_pass_settings {
    uint64_t seed, share; /* terms whose hash is at most `share` are read; UINT64_MAX: all */
    int run_bits;         /* 2^run_bits terms side by side have the same hash              */
    bool exact;           /* evaluate rows near their b in double-double                   */
    bool read_everything; /* do not skip                                                   */
    bool unread_only;     /* only terms that were never read                               */
    double slack_below;   /* only terms whose slack may be at most this; infinite: all     */
    double tolerance;     /* a row is violated when <A, theta> < b - tolerance - floor     */
    double floor;         /* ... floor |A| |theta|; of a row with b = 0: zero_floor alone  */
    double zero_floor;
    const svm_set *soft; /* of a soft problem: rows at their bound may be violated         */
    int64_t most;        /* rows that are wanted, of which `found` keeps the worst         */
    bool every_row;      /* all rows of a term that `set` lacks; else its worst one        */
    double join_below;   /* they are wanted where <A, theta> - b is below; 0: violated     */
    const svm_set *set;
} svm_pass_settings;

/* Reads the terms that may be violated at theta = hi + lo. */
attsvm_status svm_find_pass(svm_find *find, const double *hi, const double *lo,
                            const svm_pass_settings *settings, svm_pass *pass, attsvm_error *err);
/* The found rows join the set; *forced: the first that it had already, or -1, and its slack. */
attsvm_status svm_find_add(const svm_find *find, svm_set *set, int64_t *added, int64_t *forced,
                           double *forced_slack, attsvm_error *err);

/* Whether a pass reads the term. */
bool svm_skip_needs_read(const svm_find *find, const svm_pass_settings *settings, int64_t term);
/* Blocks that walk side by side, on the threads of `find`; the context of the reader is `walk`. */
typedef struct svm_skip {
    const svm_find *find;
    const svm_pass_settings *settings;
} svm_skip;
data_reader svm_skip_reader(const svm_skip *walk, int64_t lo, int64_t end);
void svm_skip_walk(svm_find *find, const svm_pass_settings *settings, int64_t blocks,
                   base_block_body *body, void *context);
/* The `share`-quantile of what the slacks of the terms that were read may have become since. */
double svm_skip_quantile(const svm_find *find, double share);

#endif
