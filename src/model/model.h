/*
 * model: one attention layer (theory 2).  Softmax, losses, heads, value and gradient, with full
 * relative accuracy at any saturation of attention.
 *
 *   logits  a = X W' p  or  X W z,   s = softmax(a),  u = X' s,  f = h(u),  L = mean l(Y f)
 *
 * A *term* is one summand of the mean: a sequence with one of its queries.
 */
#ifndef ATTSVM_MODEL_H
#define ATTSVM_MODEL_H

#include "data/reader.h"

/* An invalid result of the caller's loss or head: NaN, or a slope of the wrong sign. */
typedef struct model_fault {
    int32_t found;           /* 0: none; atomic, set by the first fault                         */
    bool head;               /* of the head; otherwise of the loss                              */
    double at, value, slope; /* loss: u, l(u), l'(u); head: |u|, h(u), an entry of its gradient */
} model_fault;
/* Records the first fault. */
void model_fault_note(model_fault *fault, model_fault found);

/* A number value * exp(log), beyond the range of doubles. */
typedef struct model_scaled {
    double value, log;
} model_scaled;

model_scaled model_scaled_of(double value);
model_scaled model_scaled_add(model_scaled a, model_scaled b);
double model_scaled_value(model_scaled a);
/* Natural logarithm of |a|, -INFINITY for 0. */
double model_scaled_log(model_scaled a);

/* ---------------------------------------------------------------------- losses */

/*
 * A strictly decreasing loss l.  `context` is the caller's with a callback, else NULL.
 *   slope     |l'(u)|, exact at any u
 *   change    l(u + delta) - l(u) without cancellation
 *   magnitude l(u) where l > 0 falls to 0; NULL for losses without that limit
 *   takes_log next-token prediction: the score of a token is 1 if it is the label, else 0; there is
 * no head, and u is given as its logarithm (u itself underflows); slope and change are still those
 * in u
 */
typedef struct model_loss {
    const char *flag;
    double (*value)(const struct model_loss *loss, double u);
    model_scaled (*slope)(const struct model_loss *loss, double u);
    double (*change)(const struct model_loss *loss, double u, double delta);
    /* slope of count values at once; NULL: one by one */
    void (*slopes)(const double *u, double *value, double *log, int64_t count);
    model_scaled (*magnitude)(const struct model_loss *loss, double u);
    bool takes_log;
    attsvm_loss_callback user; /* the caller's function    */
    struct model_fault *fault; /* receives invalid results */
} model_loss;

attsvm_status model_loss_find(const char *flag, const model_loss **out, attsvm_error *err);
/* Wraps the caller's function. */
model_loss model_loss_user(attsvm_loss_callback callback);
/* l(u + delta) - l(u) with relative accuracy; for a tiny delta from the slope. */
model_scaled model_loss_change(const model_loss *loss, double u, model_scaled delta);
/* |l'| at u (count), as value and log; log = -INFINITY where a slope of the caller underflows to 0.
 */
void model_loss_slopes(const model_loss *loss, const double *u, double *value, double *log,
                       int64_t count);

/* ----------------------------------------------------------------------- heads */

typedef struct model_head model_head;

/*
 * A prediction head f = h(u); h itself is model_head_value.  scratch (2 d) is for the head.
 *   slope        gradient of h at u into slope (d)
 *   change       (h(x + exp(log) delta) - h(x)) exp(-log), delta (d) of moderate size; NULL for a
 *                linear head, as slope_near
 *   slope_near   h and its gradient at u = x + exp(log) delta, where exp(log) may be far below the
 *                rounding of x: the gradient is slope + exp(log) slope_change
 *   gradient_v   df/dv at u into out (size), for models that train v; NULL if v is fixed
 */
typedef struct model_head_kind {
    const char *flag;
    int32_t kind; /* attsvm_head; 0: a function of the caller */
    bool linear;  /* c_t = Y v'x_t does not depend on u       */
    void (*slope)(const model_head *head, const double *v, const double *u, double *slope);
    double (*change)(const model_head *head, const double *v, const double *x, const double *delta,
                     double log, double *scratch);
    double (*slope_near)(const model_head *head, const double *v, const double *x,
                         const double *delta, double log, double *slope, double *slope_change,
                         double *scratch);
    void (*gradient_v)(const model_head *head, const double *u, double *out);
} model_head_kind;

struct model_head {
    const model_head_kind *kind;
    int64_t d, size; /* size: entries of v */
    data_head data;  /* its arrays         */
    attsvm_head_callback user;
    model_fault *fault;
};

/* Of an attsvm_head. */
const model_head_kind *model_head_find(int32_t kind);
/* Wraps the caller's function. */
model_head model_head_user(attsvm_head_callback callback);
/* h(u); scratch (d). */
double model_head_value(const model_head *head, const double *v, const double *u, double *scratch);

/* --------------------------------------------------------------------- weights */

/*
 * The part of one term's gradient that does not depend on the loss (theory 2.1).  With top the
 * selected token, m_t = a_top - a_t and e_t = c_t - c_top,
 *
 *   s_t (c_t - cbar) = exp(-M)/Z w_t      for tokens whose key differs from top's,
 *   w_top = - sum of the others,  so  sum_t s_t (c_t - cbar) k_t = exp(-M)/Z sum_t w_t k_t.
 */
typedef struct model_weights {
    double M;    /* largest exponent, factored out; INFINITY: all weights are zero        */
    double Z;    /* sum_t exp(-m_t)                                                        */
    double pull; /* cbar - c_top = exp(-I) pull                                            */
    double I;    /* smallest m_t among tokens of another score                             */
} model_weights;

/*
 * The selected token: largest attention, summed over copies of a token (theory 4.3), lowest index
 * on ties.  same (T, may be NULL): lowest index of a token with the same key and score.
 */
int64_t model_select(int64_t T, const double *a, const int32_t *same, double *scratch);

/*
 * w (T) from m and e.  small (T, may be NULL): replaces e = 0 by exp(-level) small. same_key (T,
 * may be NULL): lowest index of a token with the same key.  scratch: 2 T.  w may not overlap the
 * inputs.
 */
model_weights model_weights_compute(int64_t T, int64_t top, const double *m, const double *e,
                                    const double *small, double level, const int32_t *same_key,
                                    double *w, double *scratch);

/* ----------------------------------------------------------------------- model */

/* A trained array, at `offset` of the parameter vector. */
typedef struct model_parameter {
    const char *name; /* "p", "W", "K", "Q", "v" */
    int64_t rows, cols, offset, count;
    bool head; /* the array is v */
} model_parameter;

enum { MODEL_MOST_PARAMETERS = 3 };

typedef struct model_options {
    attsvm_model_kind kind;
    const char *loss;    /* its flag                                        */
    int32_t head;        /* attsvm_head                                     */
    double kappa;        /* of ATTSVM_HEAD_CONCAVE                          */
    int32_t query;       /* attsvm_query; ntp: GIVEN without Z is LAST      */
    int64_t query_token; /* of ATTSVM_QUERY_TOKEN                           */
    int64_t rank;        /* columns of K and Q; 0: d                        */
    int64_t threads;
    const attsvm_loss_callback *user_loss; /* NULL, or instead of `loss` and `head` */
    const attsvm_head_callback *user_head;
} model_options;

/* Scratch space of one thread. */
typedef struct model_worker {
    double *Z, *B, *U;             /* chunk x d: queries, logit directions, weighted tokens  */
    double *rate;                  /* chunk: |l'|/(Z terms) of each term                      */
    double *exponent;              /* chunk: its log-scale                                    */
    double *a, *m, *e, *w, *score; /* T: logits, distances, score differences, weights        */
    double *scratch;               /* 2 T                                                     */
    double *small;                 /* T: score differences below the rounding of e            */
    double *u, *slope, *delta, *x; /* d: pooled token, gradient of the head                   */
    double *slope_change;          /* d: how that gradient changes                            */
    double *head;                  /* scratch of the head                                     */
    const void *ahead;             /* the keys of the next sequence; NULL: none, or scattered */
} model_worker;

/* Sums over terms other than the gradient; only doubles, because ranks exchange the bytes. */
typedef struct model_sums {
    double terms, loss, limit, best, attention, entropy, effective, accuracy;
    double attention_min, gap;  /* smallest                                        */
    double beyond;              /* the first term whose gap is NaN; INFINITY: none */
    model_scaled excess, small; /* small: L itself, for losses that tend to 0      */
} model_sums;
#define MODEL_NO_SUMS                                                                              \
    ((model_sums){ .attention_min = INFINITY, .gap = INFINITY, .beyond = INFINITY })

/* Sums over one block of sequences, in units of exp(log). */
typedef struct model_partial {
    double *attention, *v;
    double attention_log, v_log;
    model_sums sums;
} model_partial;

typedef struct attsvm_model model;

struct attsvm_model {
    const attsvm_data *data;
    dist_comm *comm; /* ranks that share the blocks; NULL also if each computes a small set alone */
    attsvm_model_kind kind;
    bool trains_p, trains_W, factored, trains_v;
    bool prompt;      /* the query is p, shared by all */
    data_terms query; /* sequences with their queries  */
    int64_t n, d, rank, terms;
    model_loss loss;
    model_head head;
    model_parameter parameter[MODEL_MOST_PARAMETERS];
    int parameters;  /* trained arrays                                          */
    int64_t size;    /* of the parameter vector                                 */
    const double *p; /* fixed prompt of pW                                      */
    const double *v; /* fixed head                                              */
    la_rows keys;    /* all keys k = W x as rows (count: tokens or table)       */
    /*
     * A rank has only the tokens, sequences and terms of its blocks; these arrays are indexed by
     * the numbers of the whole (base_from).
     */
    double *scores;          /* h(x_t), fixed linear head (ntp: 1 or 0); else NULL      */
    int32_t *duplicate_of;   /* per token: lowest index with the same key and score     */
    int32_t *same_key_as;    /* per token: lowest index with the same key               */
    uint8_t *has_duplicates; /* per sequence: some token has one; NULL: none has        */
    /* Filled by an evaluation with values, one entry per term. */
    int64_t *selected;  /* index of the selected token; see model_gather_selected  */
    double *attention;  /* of the selected token and its copies                    */
    double *entropy;    /* of the softmax                                          */
    double *output;     /* Y f; log f where the loss is takes_log                      */
    double *gap;        /* smallest a_top - a_t over tokens with another key; NaN: some a_top - a_t
                           exceeds the range of doubles */
    double *loss_limit; /* l(Y h(x_top))                                           */
    double *loss_best;  /* l(best score), fixed linear head; else NaN              */
    model_scaled *loss_excess; /* l(Y f) - loss_limit                              */
    /* Work space. */
    int threads;
    int64_t blocks, chunk;      /* blocks of sequences, terms per chunk             */
    int64_t map_size;           /* doubles of the logit map: d x d or d             */
    int64_t block_lo, block_hi; /* blocks of this rank                              */
    int64_t own_lo, own_hi;     /* their sequences                                  */
    int64_t token_lo, token_hi; /* their tokens                                     */
    int64_t term_lo, term_hi;   /* their terms                                      */
    int64_t *rank_term;         /* (ranks+1) first term of each rank, with ranks    */
    int64_t *rank_number;       /* (ranks+1) 0, 1, ..., to gather one item per rank */
    model_sums *rank_sums;      /* (ranks)                                          */
    int64_t *rank_cell;         /* (ranks+1) first entry of its softmax             */
    int64_t *block_first;       /* blocks + 1                                       */
    model_worker *worker;
    int64_t slots, node;  /* blocks computed concurrently; first block of the current node */
    model_partial *slot;  /* (slots) their sums                                            */
    model_partial *level; /* one for each level of the tree above them                     */
    model_partial *total; /* of the last pass, over the blocks of this rank                */
    double *map_memory;
    const double *logit_map;    /* W of the logits X W z (KQ: K Q'), or W'p of the prompt models */
    double *attention_gradient; /* d x d or d                                                    */
    double gradient_log;        /* its exponent, after the last gradient                         */
    struct model_small *small;  /* short sequences, one term per lane; NULL: term by term        */
    model_fault fault;          /* of the caller's loss or head */
    void *memory, *keys_memory, *fixed[2];
};

attsvm_status model_create(model **out, const attsvm_data *data, const model_options *options,
                           attsvm_error *err);
void model_free(model *m);

/* Keys of sequence i, in the layout of the tokens. */
la_rows model_keys(const model *m, int64_t i);

/*
 * For this rank's sequences: same_key_as (tokens), the lowest index in the sequence with an equal
 * key; has_duplicates (n); *any, whether some sequence has duplicates; and scores x'v if allocated.
 */
attsvm_status model_read_tokens(model *m, bool *any, attsvm_error *err);
/* Splits classes of equal keys by score (scores NULL: by equal tokens); scratch 2 d. */
void model_split_by_score(const attsvm_data *data, int64_t lo, int64_t hi, const int32_t *same_key,
                          const double *scores, double *scratch, int32_t *same);

/* Gradient: array b is x[parameter[b].offset..] times exp(log[b]); all zero: log = -INFINITY. */
typedef struct model_gradient {
    double *x; /* size */
    double log[MODEL_MOST_PARAMETERS];
} model_gradient;

/* ln |grad| of the attention parameters at the last gradient, theta as there. */
double model_gradient_log(const model *m, const double *theta);

/* Sums over terms. */
typedef struct model_value {
    double loss;            /* L                                                    */
    double limit;           /* L*(alpha) of the selected tokens                     */
    model_scaled excess;    /* L - L*(alpha); NaN if several tokens keep attention  */
    model_scaled over_best; /* L - (1/n) sum l(best score), fixed linear head; or L */
    double attention_min, attention_mean, entropy, effective_tokens, accuracy, gap;
    int64_t beyond; /* a term whose logits differ by more than the range of doubles; -1: none */
} model_value;

/*
 * Evaluates at theta (size) over sequences[0..count), in increasing order (NULL: all).  `gradient`
 * and `value` may be NULL; with `value` the arrays of terms above are filled.
 */
void model_evaluate(model *m, const double *theta, const int64_t *sequences, int64_t count,
                    model_gradient *gradient, model_value *value);

/* ------------------------------------------------------- between the files of model */

/* One pass over the sequences. */
typedef struct model_pass {
    model *m;
    const int64_t *sequences; /* increasing; NULL: all */
    int64_t count;
    double terms;    /* of all sequences of the pass */
    const double *v; /* head                          */
    bool gradient, value;
    bool small; /* by m->small */
} model_pass;

/*
 * One term: logits along b (d), then the weights of X' g into k->w, with rate and exponent such
 * that the term's part of the gradient is -rate exp(exponent) sum_t w_t k_t.  The part of a trained
 * head is added to part->v.
 */
void model_term(const model_pass *c, model_worker *k, model_partial *part, int64_t i, int64_t query,
                const double *b, double *rate, double *exponent);
bool model_is_zero(const double *x, int64_t d);

/* Rescales sum (count) for a summand of exponent `log`; model_sum_weight returns its factor. */
void model_sum_rescale(double *sum, int64_t count, double *sum_log, double log);
double model_sum_weight(double *sum, int64_t count, double *sum_log, double log);
/* Adds the terms of sequence i, as evaluated, to `sums`. */
void model_add_sums(const model *m, int64_t i, model_sums *sums);
/* Adds block sums b to a. */
void model_partial_add(const model *m, model_partial *a, const model_partial *b);
/* The value, from m->total of all ranks. */
model_value model_collect_value(model *m);
/* Levels of the tree of blocks above subtrees of at most `slots`. */
int model_tree_levels(int64_t blocks, int64_t slots);

/* m->logit_map from theta; gradients of the trained arrays from m->attention_gradient. */
void model_set_logit_map(model *m, const double *theta);
void model_chain_rule(model *m, const double *theta, model_gradient *gradient);

/* Reports an invalid result of the caller's loss or head. */
attsvm_status model_check_user(const model *m, attsvm_error *err);
/* On creation: checks at some points from -30 to 30 that l is finite and decreasing. */
attsvm_status model_loss_probe(const model_loss *loss, attsvm_error *err);

/* With ranks: `selected` of all terms, on every rank. */
void model_gather_selected(model *m);

/*
 * Softmax of every term of this rank, rows of length T_i one after another (unseen tokens 0), into
 * softmax: the entries from rank_cell on.
 */
void model_softmax(model *m, const double *theta, double *softmax);
/* The same for logits, -INFINITY for unseen tokens. */
void model_logits(model *m, const double *theta, double *logits);
/* Index of the first entry of sequence i in it; for i = n the number of entries. */
int64_t model_softmax_first(const model *m, int64_t i);

/* |p|, |W|_F, |KQ'|_F; |W'p| if both are trained. */
double model_norm(model *m, const double *theta);
/* The logit map (map_size): W of X W z, q = W'p of X q; p if keys are W x. */
const double *model_logit_map(model *m, const double *theta);
/* Whether W, or K and Q, are trained. */
bool model_has_matrix(const model *m);
/* The matrix of the logits: W or K Q'; NULL if none.  Valid until the next call with this model. */
const double *model_matrix(model *m, const double *theta);

#endif
