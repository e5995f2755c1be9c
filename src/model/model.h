/*
 * model: one attention layer (theory, section 2).  Softmax, losses, heads, value and gradient,
 * exact in relative terms however far attention saturates.
 *
 *   logits  a = X W' p  or  X W z,   s = softmax(a),  u = X' s,  f = h(u),  L = mean l(Y f)
 *
 * A *term* is one summand of the mean: a sequence with one of its queries.
 */
#ifndef ATTSVM_MODEL_H
#define ATTSVM_MODEL_H

#include "data/reader.h"

/* A number value * exp(log): what stays exact where a double underflows. */
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
 *   of_log    the loss of next-token prediction: the score of a token is 1 where it is the label
 * and 0 elsewhere, there is no head, and u comes as its logarithm (u itself underflows); slope and
 * change are still those in u
 */
typedef struct model_loss {
    const char *flag, *help;
    double (*value)(const struct model_loss *loss, double u);
    model_scaled (*slope)(const struct model_loss *loss, double u);
    double (*change)(const struct model_loss *loss, double u, double delta);
    /* slope of count values at once; NULL: one by one */
    void (*slopes)(const double *u, double *value, double *log, int64_t count);
    model_scaled (*magnitude)(const struct model_loss *loss, double u);
    bool of_log;
    attsvm_loss_callback callback;
} model_loss;

extern const model_loss model_loss_logistic, model_loss_exp, model_loss_linear, model_loss_ntp;
/* Wraps the caller's function. */
model_loss model_loss_user(attsvm_loss_callback callback);
/* The table, NULL-terminated. */
extern const model_loss *const model_losses[];
attsvm_status model_loss_find(const char *flag, const model_loss **out, attsvm_error *err);

/* ----------------------------------------------------------------------- heads */

typedef struct model_head model_head;

/*
 * A prediction head f = h(u).
 *   gradient  of h at u into slope (d); returns h(u).  scratch (size) is for the head.
 *   change    (h(x + exp(log) delta) - h(x)) exp(-log), delta (d) of moderate size
 *   near      the same at u = x + exp(log) delta, where exp(log) may be far below the rounding of
 * x: the gradient is slope + exp(log) turn by_v      df/dv at u into out (size), for models that
 * train v; NULL where v is fixed
 */
typedef struct model_head_kind {
    const char *flag, *help;
    bool linear; /* c_t = Y v'x_t does not depend on u */
    double (*gradient)(const model_head *head, const double *v, const double *u, double *slope,
                       double *scratch);
    double (*change)(const model_head *head, const double *v, const double *x, const double *delta,
                     double log, double *scratch);
    double (*near)(const model_head *head, const double *v, const double *x, const double *delta,
                   double log, double *slope, double *turn, double *scratch);
    void (*by_v)(const model_head *head, const double *u, double *out);
    double lowest, highest; /* range of the parameter after the colon; lowest > highest: none */
} model_head_kind;

struct model_head {
    const model_head_kind *kind;
    int64_t d, size; /* size: entries of v                          */
    double kappa;    /* concave: h = v'u - kappa |u|^2              */
    const double *V; /* relu: first layer (size x d)                */
    attsvm_head_callback callback;
};

extern const model_head_kind model_head_linear, model_head_relu, model_head_concave,
    model_head_user;
extern const model_head_kind *const model_heads[]; /* NULL-terminated, without the callback */
/* "concave:0.5" into kind and parameter. */
attsvm_status model_head_find(const char *text, const model_head_kind **kind, double *parameter,
                              attsvm_error *err);

/* --------------------------------------------------------------------- softmax */

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
 * The selected token: largest attention, copies of a token counted together (theory 4.3), lowest
 * index on ties.  same (T, may be NULL): lowest index of a token with the same key and score.
 */
int64_t model_select(int64_t T, const double *a, const int32_t *same, double *scratch);

/*
 * w (T) from m and e.  small (T, may be NULL): where e is 0, it is exp(-level) small instead.
 * same_key (T, may be NULL): lowest index of a token with the same key.  scratch: 2 T.  w may not
 * overlap the inputs.
 */
model_weights model_weigh(int64_t T, int64_t top, const double *m, const double *e,
                          const double *small, double level, const int32_t *same_key, double *w,
                          double *scratch);

/* ----------------------------------------------------------------------- model */

/* A trained array, at `offset` of the parameter vector. */
typedef struct model_block {
    const char *name; /* "p", "W", "K", "Q", "v" */
    int64_t rows, cols, offset, count;
    bool head; /* the block is v */
} model_block;

enum { MODEL_MOST_BLOCKS = 3 };

typedef struct model_options {
    attsvm_model kind;
    const char *loss, *head, *query; /* flags; query "" or NULL: Z, else token 0 (ntp: last) */
    int64_t rank;                    /* columns of K and Q; 0: d                  */
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
    double *turn;                  /* d: how that gradient changes                            */
    double *head;                  /* scratch of the head                                     */
    const void *ahead;             /* the keys of the next sequence; NULL: none, or scattered */
} model_worker;

/* What is added up over terms, beside the gradient: doubles alone: ranks exchange their bytes. */
typedef struct model_sums {
    double terms, loss, limit, best, attention, entropy, effective, accuracy;
    double attention_min, gap;  /* smallest */
    double beyond;              /* the first term of gap NaN; INFINITY: none */
    model_scaled excess, small; /* small: L itself, where the loss falls to 0 */
} model_sums;
#define MODEL_NO_SUMS                                                                              \
    ((model_sums){ .attention_min = INFINITY, .gap = INFINITY, .beyond = INFINITY })

/* Sums over one block of sequences, in units of exp(log). */
typedef struct model_partial {
    double *attention, *v;
    double attention_log, v_log;
    model_sums sums;
} model_partial;

typedef struct model {
    const attsvm_data *data;
    dist_comm *comm; /* ranks that share the blocks; NULL also where each does all of a small set */
    attsvm_model kind;
    bool trains_p, trains_W, factored, trains_v;
    bool prompt;      /* the query is p, shared by all */
    data_terms query; /* sequences with their queries  */
    int64_t n, d, rank, terms;
    model_loss loss;
    model_head head;
    model_block block[MODEL_MOST_BLOCKS];
    int blocks;      /* trained arrays                                          */
    int64_t size;    /* of the parameter vector                                 */
    const double *p; /* fixed prompt of pW                                      */
    const double *v; /* fixed head                                              */
    la_rows keys;    /* all keys k = W x as rows (count: tokens or table)       */
    /*
     * Of tokens, sequences and terms a rank has those of its blocks; only these entries exist, with
     * the numbers that they have in the whole (base_from).
     */
    double *scores;    /* h(x_t), fixed linear head (ntp: 1 or 0); else NULL      */
    int32_t *same;     /* per token: lowest index with the same key and score     */
    int32_t *same_key; /* per token: lowest index with the same key               */
    uint8_t *repeats;  /* per sequence: some token has a copy; NULL: none has     */
    /* Filled where values are asked for, one entry a term. */
    int64_t *selected;         /* index of the selected token; see model_gather_selected  */
    double *attention;         /* of the selected token and its copies                    */
    double *entropy;           /* of the softmax                                          */
    double *output;            /* Y f; log f where the loss is of_log                      */
    double *gap;               /* smallest a_top - a_t over tokens of another key; NaN: some
                                  a_top - a_t is beyond the range of doubles               */
    double *loss_limit;        /* l(Y h(x_top))                                           */
    double *loss_best;         /* l(best score), fixed linear head; else NaN              */
    model_scaled *loss_excess; /* l(Y f) - loss_limit                              */
    /* Work space. */
    int threads;
    int64_t parts, chunk, part_size; /* blocks of sequences, terms a chunk, doubles a part */
    int64_t part_lo, part_hi;        /* blocks of this rank                                */
    int64_t own_lo, own_hi;          /* their sequences                                    */
    int64_t token_lo, token_hi;      /* their tokens                                       */
    int64_t term_lo, term_hi;        /* their terms                                        */
    int64_t *rank_term;              /* (ranks+1) first term of each rank, with ranks      */
    int64_t *rank_number;            /* (ranks+1) 0, 1, ..., for one thing of each rank    */
    model_sums *rank_sums;           /* (ranks)                                            */
    int64_t *rank_token;             /* (ranks+1) first entry of its softmax               */
    int64_t *part_first;             /* parts + 1                                          */
    model_worker *worker;
    int64_t slots, node;  /* blocks computed side by side, the first of them now            */
    model_partial *slot;  /* (slots) their sums                                              */
    model_partial *kept;  /* one for each level of the tree above them                      */
    model_partial *total; /* of the last pass, over the blocks of this rank                  */
    double *map_memory;
    const double *logit_map;    /* W of the logits X W z (KQ: K Q'), or W'p of the prompt models */
    double *attention_gradient; /* d x d or d */
    double gradient_log;        /* its exponent, after the last gradient         */
    la_lanes *lanes;            /* small problems side by side; NULL: term by term */
    double *lane_slope, *lane_log, *lane_factor;
    void *memory, *keys_memory, *lanes_memory, *fixed[4];
} model;

attsvm_status model_create(model **out, const attsvm_data *data, const model_options *options,
                           attsvm_error *err);
void model_free(model *m);

/* Rows of sequence i among `keys`, which are laid out as the tokens of `data` are. */
la_rows model_rows_of(const attsvm_data *data, const la_rows *keys, int64_t i);

/*
 * Of the model's own sequences, same_key (tokens): lowest index in the sequence with an equal key;
 * repeats (n): whether the sequence has such; *any: whether some sequence has.  Scores x'v, where
 * there is room for them.
 */
attsvm_status model_read_tokens(model *m, bool *any, attsvm_error *err);
/* same (tokens): among equal keys, those of equal score (scores NULL: equal tokens); scratch 2 d.
 */
void model_split_by_score(const attsvm_data *data, int64_t lo, int64_t hi, const int32_t *same_key,
                          const double *scores, double *scratch, int32_t *same);

/* Gradient: block b is gradient[block.offset..] times exp(log[b]); all zero: log = -INFINITY. */
typedef struct model_gradient {
    double *x; /* size */
    double log[MODEL_MOST_BLOCKS];
} model_gradient;

/* ln |grad| of the attention parameters (for K,Q: of W = KQ') at the last gradient; p as there. */
double model_gradient_log(const model *m, const double *theta);

/* Sums over terms. */
typedef struct model_value {
    double loss;            /* L                                                     */
    double limit;           /* L*(alpha), of the tokens selected now                 */
    model_scaled excess;    /* L - L*(alpha); NaN where several tokens stay          */
    model_scaled over_best; /* L - (1/n) sum l(best score), fixed linear head; or L  */
    double attention_min, attention_mean, entropy, effective_tokens, accuracy, gap;
    int64_t beyond; /* a term whose logits differ by more than a double holds; -1: none */
} model_value;

/*
 * Evaluates at theta (size) over sequences[0..count), in increasing order (NULL: all).  `gradient`
 * and `value` may be NULL; with `value` the arrays of terms above are filled.
 */
void model_evaluate(model *m, const double *theta, const int64_t *sequences, int64_t count,
                    model_gradient *gradient, model_value *value);

/* The part of it that reads the tokens: sums over terms into m->total, and the arrays of terms. */
void model_sum_terms(model *m, const double *theta, const int64_t *sequences, int64_t count,
                     bool gradient, bool value);

/*
 * Small problems: equal lengths, a fixed head that is linear without equal scores, or ReLU.  Sets
 * m->lanes where this applies.
 */
attsvm_status model_lanes_create(model *m, attsvm_error *err);
/*
 * The gradient in W or W'p over all terms into m->attention_gradient, its exponent into
 * m->gradient_log; false where equal scores leave the work to softmax.c.
 */
bool model_lanes_gradient(model *m);

/* Models W of one shape side by side, each in a lane: all that many small runs need in a step. */
typedef struct model_pack {
    const model *first;
    int64_t count; /* models                                                 */
    la_lanes l;
    double *theta;    /* d x d x LA_LANES                                       */
    double *gradient; /* d x d x LA_LANES, in units of exp(log)                   */
    double *log;      /* LA_LANES; -INFINITY: no gradient                       */
    double *rate;     /* LA_LANES, for the caller                               */
    double *slope, *slope_log, *factor;
} model_pack;

/* Whether the two may share a pack; a model that fits itself may be in one. */
bool model_pack_fits(const model *a, const model *b);
/* count: 1..LA_LANES models that fit each other. */
attsvm_status model_pack_create(model_pack **out, model *const *models, int64_t count,
                                attsvm_error *err);
void model_pack_free(model_pack *p);
/* Parameters of model k into theta (d x d), and from it. */
void model_pack_get(const model_pack *p, int64_t k, double *theta);
void model_pack_set(const model_pack *p, int64_t k, const double *theta);
/* Gradients at p->theta into gradient and log; their squared norms into l.square. */
void model_pack_gradient(model_pack *p);
/* Whether model k ever came to equal scores, so that its gradients are not to be used. */
bool model_pack_was_odd(const model_pack *p, int64_t k);

/* Makes room for a summand of exponent `log` in sum (count); model_join returns its factor. */
void model_make_room(double *sum, int64_t count, double *sum_log, double log);
double model_join(double *sum, int64_t count, double *sum_log, double log);
/* |l'| at u (count), as value and log. */
void model_slopes(const model *m, const double *u, double *value, double *log, int64_t count);

/* m->total from the blocks of this rank; `body` makes the sum of block m->node + b in slot b. */
void model_sum_blocks(model *m, base_block_body *body, void *context);
/* Levels of the tree of so many blocks above parts of at most `slots`. */
int model_tree_levels(int64_t blocks, int64_t slots);

model_sums model_sums_add(const model_sums *a, const model_sums *b);
/* The sums over the terms of sequence i into `sums`; the value from those of all blocks and ranks.
 */
void model_add_sums(const model *m, int64_t i, model_sums *sums);
model_value model_collect_value(model *m);

/* With ranks: `selected` of all terms, on every rank. */
void model_gather_selected(model *m);

/*
 * Softmax of every term of this rank, rows of length T_i one after another (hidden tokens 0), into
 * softmax (rank_token; all of them where there is one rank).
 */
void model_softmax(model *m, const double *theta, double *softmax);
/* Where sequence i begins in it; of i = n, how many entries there are. */
int64_t model_softmax_first(const model *m, int64_t i);

/* |p|, |W|_F, |KQ'|_F; |W'p| where both are trained. */
double model_norm(model *m, const double *theta);
/* What the logits see (part_size): W of X W z, q = W'p of X q; p where keys are W x. */
const double *model_logit_map(model *m, const double *theta);
/* Whether W, or K and Q, are trained. */
bool model_has_matrix(const model *m);
/* W of the logits: W, K Q'; NULL where there is none.  Valid until the next call with this model.
 */
const double *model_matrix(model *m, const double *theta);

#endif
