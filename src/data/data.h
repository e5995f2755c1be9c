/*
 * data: token sequences and borrowed views of them, validation, heads, shares of ranks.  reader.h
 * iterates over tokens, terms.h has sequences with their queries, generate random data sets.
 */
#ifndef ATTSVM_DATA_H
#define ATTSVM_DATA_H

#include "dist/dist.h"
#include "la/la.h"

/* Arrays of a data set that are known by name; the rest of a file is ignored. */
extern const char *const data_known_arrays[]; /* NULL-terminated */
bool data_is_known(const char *name);
/* Lists of names, for people: bytes with a newline after each. */
bool data_is_text(const char *name);

struct attsvm_data {
    int64_t n, d, tokens, T_min, T_max;
    int64_t vocabulary; /* rows of E, or d of one-hot words; else 0                          */
    int64_t rows;       /* of X below: vocabulary or tokens; for a subset those of the whole */
    int64_t queries;    /* M of Z, 0 without Z                                               */
    int64_t labels;     /* entries of Y: 0, n, or n*M (sum of T_i: one per token)            */
    int64_t positive;
    attsvm_storage storage;
    attsvm_dtype dtype; /* of the tokens: F16, F32 or F64                         */
    const void *X; /* tokens (tokens x d), or the table E (vocabulary x d); NULL: unit vectors */
    const int32_t *index;       /* row of X for each token; NULL: tokens are contiguous */
    const int64_t *offsets;     /* n+1; NULL when all have T_max tokens                 */
    const int8_t *Y;            /* -1, +1; NULL without labels                          */
    attsvm_named_array *arrays; /* the known arrays as given                            */
    int64_t count;
    dist_comm *comm; /* ranks that share the sequences; NULL: this process alone              */
    int64_t *share;  /* (ranks+1) first sequence of each rank, with comm                      */
    bool streams;    /* tokens are mapped and larger than the allowed memory                  */
    const attsvm_data *headless; /* the data set that this one is with another head, or NULL */
    const char *file; /* its name without folders, "" for arrays in memory; freed with `owner` */
    void *memory;     /* the block that this object owns                                       */
    void *owner;      /* released last, by `release`: the file behind the arrays               */
    void (*release)(void *owner);
};

/* ----------------------------------------------------------------------- arrays */

bool data_is_float(attsvm_dtype dtype);
/*
 * Checks the caller's arrays: names, dtypes, dimensions and shapes are possible, and no data is
 * NULL.  Messages name the argument, `list`, and the index.
 */
attsvm_status data_check_arrays(const attsvm_named_array *arrays, int64_t count, const char *list,
                                attsvm_error *err);
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
/* Number of sequences, and their offsets (n+1), from offsets, lengths or bags.  `empty`: sequences
   may have no tokens. */
attsvm_status data_count_sequences(const attsvm_data *data, int64_t rows, const char *of,
                                   int64_t *n, attsvm_error *err);
attsvm_status data_fill_offsets(const attsvm_data *data, const char *of, bool empty, int64_t *out,
                                attsvm_error *err);
attsvm_status data_check_offsets(const attsvm_array *offsets, int64_t rows, const char *of,
                                 bool empty, int64_t *out, attsvm_error *err);
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
 * Divides the sequences into `blocks` runs with about equally many tokens, depending on the data
 * alone.  first (blocks+1) receives the first sequence of each run.
 */
void data_blocks(const attsvm_data *data, int64_t blocks, int64_t *first);
/* The first sequence of run b alone; n for b = blocks. */
int64_t data_block_first(const attsvm_data *data, int64_t blocks, int64_t b);

/*
 * The first n sequences of a data set, with or without its key map W.  Everything is borrowed;
 * nothing needs to be freed.  With several ranks n must be the number of all sequences.
 */
enum { DATA_MOST_ARRAYS = 25 }; /* known names */
typedef struct data_view {
    attsvm_data data;
    attsvm_named_array arrays[DATA_MOST_ARRAYS];
} data_view;
void data_view_open(data_view *view, const attsvm_data *data, int64_t n, bool key_map);

/* Copies the tokens of a subset of vectors into memory, so that later reads need no file. */
attsvm_status data_subset_load(attsvm_data *part, attsvm_error *err);

/* The named array as a new double array of `count` values in *out (caller frees).  An error names
   array, shape and expectation if it is missing, of another shape or not finite. */
attsvm_status data_doubles(const attsvm_data *data, const char *name, const int64_t *shape,
                           int ndim, double **out, attsvm_error *err);

/*
 * As attsvm_data_create; on success the data set also owns `owner`.  With `comm` (NULL: alone) all
 * ranks call it, each reads the tokens of its share, and all succeed or fail together.  `mapped`:
 * tokens are in a mapped file, so their pages may be released.
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

/* ------------------------------------------------------------------------ ranks */

/* Shares the sequences over the ranks of comm (NULL: alone), by tokens. */
attsvm_status data_share(attsvm_data *data, dist_comm *comm, attsvm_error *err);
/*
 * All ranks solve the same small problems and must get the same bits: fails on all of them if their
 * vector kernels or their files differ.
 */
attsvm_status data_check_ranks(const attsvm_data *data, dist_comm *comm, attsvm_error *err);
/* The sequences lo..hi-1 of this rank; all of them without MPI. */
void data_own(const attsvm_data *data, int64_t *lo, int64_t *hi);

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
/* h(x), and with another v in place of its own; equal tokens give equal bits. */
double data_head_value(const data_head *head, const double *x);
double data_head_with(const data_head *head, const double *v, const double *x);

/*
 * Whether tokens a and t of sequence i have the same key: W (x_a - x_t) = 0 exactly (in
 * double-double), x_a = x_t where W (d,d) is NULL.
 */
bool data_same_key(const attsvm_data *data, const double *W, int64_t i, int64_t a, int64_t t);

/* -------------------------------------------------------------------- settings */

/* Names of the attsvm_query and attsvm_head numbers, NULL-terminated, for tables. */
extern const char *const data_query_names[], *const data_head_names[];

/* The short forms that every table takes: query "2" and head "concave:0.5". */
attsvm_status data_settings_set(const settings_table *table, const field *f, void *settings,
                                const char *value, attsvm_error *err);
/* Sets field `name` to the part of `value` before the colon, and field `number` to the rest. */
attsvm_status data_settings_pair(const settings_table *table, void *settings, const char *name,
                                 const char *number, const char *value, attsvm_error *err);

#endif
