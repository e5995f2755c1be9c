/*
 * data: token sequences and borrowed views of them, validation, random data sets.
 */
#ifndef ATTSVM_DATA_H
#define ATTSVM_DATA_H

#include "dist/dist.h"
#include "la/la.h"

/* Arrays of a data set that are known by name; the rest of a file is ignored. */
extern const char *const data_known_arrays[]; /* NULL-terminated */
bool data_is_known(const char *name);

struct attsvm_data {
    int64_t n, d, tokens, T_min, T_max;
    int64_t vocabulary; /* rows of E, 0 unless a table                            */
    int64_t queries;    /* M of Z, 0 without Z                                    */
    int64_t labels;     /* entries of Y: 0, n, or n*M (sum of T_i: one per token) */
    int64_t positive;
    attsvm_storage storage;
    attsvm_dtype dtype;         /* of the tokens: F16, F32 or F64                         */
    const void *X;              /* tokens (tokens x d), or the table E (vocabulary x d)   */
    const int32_t *index;       /* row of E for each token, NULL unless a table           */
    const int64_t *offsets;     /* n+1; NULL when all have T_max tokens                   */
    const int8_t *Y;            /* -1, +1; NULL without labels                            */
    attsvm_named_array *arrays; /* the known arrays as given                            */
    int64_t count;
    dist_comm *comm; /* ranks that share the sequences; NULL: this process alone       */
    int64_t *share;  /* (ranks+1) first sequence of each rank, with comm               */
    bool streams;    /* tokens are mapped and larger than the memory allowed           */
    int64_t allowed; /* bytes of tokens that may stay in memory, where they stream     */
    void *memory;    /* what this object owns: one block                       */
    void *owner;     /* released last, by `release`: the file behind the arrays */
    void (*release)(void *owner);
};

/* ----------------------------------------------------------------------- arrays */

bool data_is_float(attsvm_dtype dtype);
/* Element `index` of an array of whole numbers, whatever its dtype; an error names it. */
attsvm_status data_integer(const attsvm_array *array, const char *name, int64_t index, int64_t *out,
                           attsvm_error *err);

/*
 * Checks of single arrays, used by data_create.  Messages name array, index and expectation.
 */
attsvm_status data_check_finite(const attsvm_array *array, const char *name, const char *role,
                                int threads, attsvm_error *err);
/* The tokens of this rank's sequences. */
attsvm_status data_check_own_tokens(const attsvm_data *data, const attsvm_array *X, int threads,
                                    attsvm_error *err);
attsvm_status data_check_offsets(const attsvm_array *offsets, int64_t rows, const char *of,
                                 int64_t *out, attsvm_error *err);
attsvm_status data_check_tokens(const attsvm_array *tokens, int64_t vocabulary, int32_t *out,
                                attsvm_error *err);
attsvm_status data_check_labels(const attsvm_array *labels, const char *name, int8_t *out,
                                int64_t *positive, attsvm_error *err);
attsvm_status data_check_selection(const attsvm_data *data, const attsvm_array *ids,
                                   attsvm_error *err);
attsvm_status data_check_sets(const attsvm_data *data, const attsvm_array *sets, attsvm_error *err);

/* ------------------------------------------------------------------------- views */

/* First token of sequence i in the order of the whole set. */
static inline int64_t data_first(const attsvm_data *data, int64_t i)
{
    return data->offsets ? data->offsets[i] : i * data->T_max;
}

static inline int64_t data_length(const attsvm_data *data, int64_t i)
{
    return data_first(data, i + 1) - data_first(data, i);
}

/* Bytes of a token. */
static inline int64_t data_row_bytes(const attsvm_data *data)
{
    return data->d * (int64_t)attsvm_dtype_size(data->dtype);
}

/* X_i as rows. */
la_rows data_sequence(const attsvm_data *data, int64_t i);

/*
 * Sequences cut into `blocks` runs of about equally many tokens, by the data alone.  first
 * (blocks+1) gets the first sequence of each run.
 */
void data_blocks(const attsvm_data *data, int64_t blocks, int64_t *first);
/* The first sequence of run b alone; n for b = blocks. */
int64_t data_block_first(const attsvm_data *data, int64_t blocks, int64_t b);

/* The named array as a new double array of `count` values in *out (caller frees); an error that
   names array, shape and expectation where it is missing, of another shape or not finite. */
attsvm_status data_doubles(const attsvm_data *data, const char *name, const int64_t *shape,
                           int ndim, double **out, attsvm_error *err);

/*
 * As attsvm_data_create; on success the data set also owns `owner`.  With `comm` (NULL: alone) all
 * ranks call it, each reads the tokens of its share, and all succeed or fail together.  `mapped`:
 * tokens lie in a mapped file, so their pages may be given back.
 */
typedef struct data_source {
    dist_comm *comm;
    void *owner;
    void (*release)(void *owner);
    bool mapped;
} data_source;
attsvm_status data_create(attsvm_data **out, const attsvm_named_array *arrays, int64_t count,
                          const attsvm_read_settings *settings, const data_source *source,
                          attsvm_error *err);

/* ------------------------------------------------------------- ranks and memory */

/* Shares the sequences over the ranks of comm (NULL: alone), by tokens. */
attsvm_status data_share(attsvm_data *data, dist_comm *comm, attsvm_error *err);
/*
 * Ranks solve the same small problems side by side, and must come to the same bits: an error where
 * their vector kernels differ, or the files that they read, on all of them.
 */
attsvm_status data_check_ranks(const attsvm_data *data, dist_comm *comm, attsvm_error *err);
/* The sequences lo..hi-1 of this rank; all of them where there is one. */
void data_own(const attsvm_data *data, int64_t *lo, int64_t *hi);

/* Half of the memory that the machine, or the control group of the process, has. */
int64_t data_memory_limit(void);
/* Decides whether tokens stream; memory: bytes that may stay resident, 0: data_memory_limit(). */
void data_set_memory(attsvm_data *data, bool mapped, int64_t memory);
/*
 * A walk over sequences lo..hi-1 in stretches, cut by the data alone:
 *
 *     for (int64_t s = lo, end; s < hi; s = end) {
 *         end = data_stretch(data, s, hi);
 *         ... sequences s..end-1 ...
 *         data_give_back(data, s, end);
 *     }
 *
 * What goes in order is read ahead by the system; data_ahead asks for tokens that will be read
 * soon, and few of those around them.  All do nothing unless the data set streams.
 */
int64_t data_stretch(const attsvm_data *data, int64_t lo, int64_t hi);
/*
 * The same for a loop that only goes on: at sequence i, gives back from *first on as soon as that
 * is a stretch, and moves *first.
 */
void data_passed(const attsvm_data *data, int64_t i, int64_t *first);
void data_ahead(const attsvm_data *data, int64_t lo, int64_t hi);
/* The same for single sequences in ascending order; of many, for a stretch of tokens. */
void data_ahead_some(const attsvm_data *data, const int64_t *sequences, int64_t count);
/* The same for token t of sequence i. */
void data_row_ahead(const attsvm_data *data, int64_t i, int64_t t);
/* How tokens are read from now on: from first to last, as is taken for granted at first; in long
   runs with gaps between them; one here and one there. */
typedef enum data_order { DATA_IN_ORDER, DATA_IN_RUNS, DATA_BY_ROWS } data_order;
void data_set_order(const attsvm_data *data, data_order order);
void data_give_back(const attsvm_data *data, int64_t lo, int64_t hi);
/* The same where one sequence was read among others that were not: what came with it, too. */
void data_give_back_around(const attsvm_data *data, int64_t i);

/* ------------------------------------------------------------------------- terms */

/*
 * A term is a sequence with one of its queries: what has one softmax, and one selected token.
 * Terms follow the order of sequences, then of queries.
 */
typedef struct data_terms {
    const attsvm_data *data;
    int32_t mode;          /* attsvm_query after looking for Z; 0: no queries (p and v problems) */
    int64_t token;         /* of ATTSVM_QUERY_TOKEN                                              */
    int64_t count;         /* of all terms                                                       */
    const attsvm_array *Z; /* of ATTSVM_QUERY_GIVEN                                           */
} data_terms;

/* mode 0, or an attsvm_query; errors name the sequence that has no such token. */
attsvm_status data_terms_create(data_terms *out, const attsvm_data *data, int32_t mode,
                                int64_t token, attsvm_error *err);
/* Number of sequence i's first term; of its queries; of the tokens that query q sees. */
int64_t data_terms_first(const data_terms *terms, int64_t i);
int64_t data_terms_queries(const data_terms *terms, int64_t i);
int64_t data_terms_visible(const data_terms *terms, int64_t i, int64_t q);
/*
 * Cells: one for each term and each token of its sequence (seen or not), term after term: what sets
 * and softmax values come in.  first (n, may be NULL) gets the first cell of each sequence.
 */
attsvm_status data_terms_cells(const data_terms *terms, int64_t *first, int64_t *cells,
                               attsvm_error *err);
/* Sequence and query of a term. */
void data_terms_find(const data_terms *terms, int64_t term, int64_t *i, int64_t *q);
/* z of query q of sequence i, widened, into z (d). */
void data_terms_query(const data_terms *terms, int64_t i, int64_t q, double *z);
/* Label of the term, -1 or +1; 0 where the data set has none (or not one for every term). */
int data_terms_label(const data_terms *terms, int64_t i, int64_t q);

/* -------------------------------------------------------------- next-token prediction */

/*
 * The label of every sequence, a row of E that its context holds, from `labels` (n) into *out (n,
 * caller frees).  An error names what is missing, out of range or not in its context.
 */
attsvm_status data_next_words(const attsvm_data *data, int32_t **out, attsvm_error *err);

/* ------------------------------------------------------------------------- heads */

/* h(u): v'u, v' relu(V u), v'u - kappa |u|^2. */
typedef struct data_head {
    int32_t kind; /* attsvm_head                 */
    double kappa;
    int64_t d, width; /* width: rows of V, 0 without */
    double *v;        /* (d), or (width) for ReLU    */
    double *V;        /* (width,d)                   */
} data_head;

/* Whether the data set has the arrays of such a head. */
bool data_head_exists(const attsvm_data *data, int32_t kind);
attsvm_status data_head_create(data_head *out, const attsvm_data *data, int32_t kind, double kappa,
                               attsvm_error *err);
void data_head_free(data_head *head);
/* h(x); equal tokens give equal bits. */
double data_head_value(const data_head *head, const double *x);

/*
 * opt: token with the best score Y h(x) of each term, lowest index on ties, into alpha.  *ties (may
 * be NULL) counts the terms in which a tie decided.
 */
attsvm_status data_select_optimal(const data_terms *terms, const data_head *head, int64_t *alpha,
                                  int64_t *ties, attsvm_error *err);

/*
 * Whether tokens a and t of sequence i have the same key: W (x_a - x_t) = 0 exactly (in
 * double-double), x_a = x_t where W (d,d) is NULL.
 */
bool data_same_key(const attsvm_data *data, const double *W, int64_t i, int64_t a, int64_t t);

/* -------------------------------------------------------------- random data sets */

/*
 * Elements first..first+count-1 of array k, row-major in its dtype, into `buffer`; works on the
 * threads of the settings.  One call at a time for each generator.  Messages do not name the array.
 */
attsvm_status data_generate_fill(attsvm_generator *generator, int64_t k, int64_t first,
                                 int64_t count, void *buffer, attsvm_error *err);

/* What the files generate*.c share. */

typedef struct data_plant {
    int64_t alpha; /* the planted token                   */
    double push;   /* how far it is moved along h_i        */
    double score;  /* how far it is moved along Y_i v      */
} data_plant;

struct attsvm_generator {
    attsvm_generate_settings settings;
    int64_t tokens;
    attsvm_named_array arrays[8];
    int64_t count;
    double *v;          /* d                                          */
    int64_t *offsets;   /* n+1; NULL when all have T tokens           */
    double *zipf;       /* vocabulary: running sums of 1, 1/2, 1/3 .. */
    double *direction;  /* p* (d) or W* (d x d); NULL unless planted  */
    data_plant *plants; /* n; NULL unless planted                     */
    double *scratch;    /* threads x scratch_size                     */
    int64_t scratch_size;
    void *memory;
};

bool data_generate_is_table(const attsvm_generator *g);
bool data_generate_is_planted(const attsvm_generator *g);

/* One random thing each; vectors (d) come as they are stored, that is, rounded to the dtype. */
int64_t data_generate_length(const attsvm_generator *g, int64_t i);
int data_generate_label(const attsvm_generator *g, int64_t i);
int64_t data_generate_index(const attsvm_generator *g, int64_t i, int64_t t);
int64_t data_generate_next(const attsvm_generator *g, int64_t i); /* label of kind ntp */
void data_generate_word(const attsvm_generator *g, int64_t word, double *x);
void data_generate_query(const attsvm_generator *g, int64_t i, int64_t m, double *z);
void data_generate_token(const attsvm_generator *g, int64_t i, int64_t t,
                         double *x); /* unplanted */
void data_generate_head(const attsvm_generator *g, double *v);
void data_generate_gauss(const attsvm_generator *g, int64_t row, double *x); /* for p*, W* */

/* x (d) as it comes back from the dtype. */
void data_generate_round(const attsvm_generator *g, double *x);
/* x into `out` as `dtype`, rounded to nearest even; false where it overflows. */
bool data_narrow(attsvm_dtype dtype, double x, void *out);

/* Doubles of scratch for a worker, the token in front; p* or W*, and where tokens are planted;
   the planted token of sequence i, unmoved in scratch[0..d), put where it belongs. */
int64_t data_plant_scratch(const attsvm_generator *g);
attsvm_status data_plant_create(attsvm_generator *g, attsvm_error *err);
void data_plant_move(const attsvm_generator *g, int64_t i, double *scratch);

#endif
