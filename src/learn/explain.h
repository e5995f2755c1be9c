/* Which tokens decide a prediction; private to learn. */
#ifndef ATTSVM_LEARN_EXPLAIN_H
#define ATTSVM_LEARN_EXPLAIN_H

#include "learn/learn.h"

/* One bag in all members of a model. */
typedef struct learn_view {
    const attsvm_classifier *c;
    learn_bag bag;   /* all of its tokens, in all members                                  */
    learn_bag part;  /* some of them                                                       */
    double *f;       /* (outputs) the mean over members                                    */
    double *changed; /* (outputs) the mean without some tokens                            */
    double *key;     /* (T) how much each token speaks for a class                        */
    double *sum;     /* (T) the same over copies, at the first of them                    */
    double *odds;    /* (classes) probabilities                                           */
    int64_t *copy;   /* (T) the first token with the same values                          */
    uint64_t *digest;
    int64_t *order;
    bool *keep;
} learn_view;

void learn_view_layout(learn_view *view, arena *a, const attsvm_classifier *c, int64_t T_max,
                       const double *tail);
/* f of T tokens whose values are filled in. */
void learn_view_score(learn_view *view, int64_t T);

/* Explanation of every bag. */
typedef struct learn_told {
    int64_t *label, *decider, *runner_up, *key;
    uint8_t *flips;
    double *score, *probability, *agreement, *attention, *contribution, *instance_score;
} learn_told;

enum { LEARN_FALLS = 12 };
typedef struct learn_tally {
    int64_t empty;
    int64_t negative, turned; /* bags predicted negative; of these, positive without one token */
    int64_t faithful;         /* bags in the sums below                                        */
    /* decreases of probability: without the top 1, 3, T/10 tokens; with only these; both for a
       random order */
    double fall[LEARN_FALLS];
} learn_tally;

/* Bag i, whose tokens begin at `first`. */
void learn_explain(learn_view *view, const la_rows *rows, int64_t i, int64_t first,
                   learn_told *told, learn_tally *tally);
void learn_faithful(learn_view *view, int64_t seed, int64_t i, learn_tally *tally);

#endif
