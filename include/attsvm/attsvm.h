/*
 * attsvm: max-margin token selection in attention.
 *
 * The only installed header.  Conventions, once for all of it:
 *
 *   - A call returns a status (did it work?); what it found is an outcome in an info struct.
 *   - `err` may be NULL; otherwise it is filled when the status is not ATTSVM_OK.
 *   - Settings, info structs and array views are open; objects that own memory are opaque and
 *     have a `_free`, for which NULL is fine.
 *   - Matrices are row-major.  Reals are double, counts int64_t.  Stored tokens keep the type
 *     that they have in the file.
 *   - A pointer may be NULL only where that is said (err, settings, observers, `_free`).  Calls
 * that return a status then return ATTSVM_E_ARG; others must get what they ask for.
 *   - The library never prints, exits, or reads the environment.
 */
#ifndef ATTSVM_H
#define ATTSVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ATTSVM_API __attribute__((visibility("default")))
#else
#define ATTSVM_API
#endif

#define ATTSVM_VERSION_MAJOR 0
#define ATTSVM_VERSION_MINOR 1
#define ATTSVM_VERSION_PATCH 0

/* "0.1.0", of the library that is linked. */
ATTSVM_API const char *attsvm_version(void);

/* ---------------------------------------------------------------------- errors */

typedef enum attsvm_status {
    ATTSVM_OK = 0,
    ATTSVM_E_ARG = -1,     /* an argument or a setting is out of its range        */
    ATTSVM_E_OPEN = -2,    /* a file is not there or may not be opened            */
    ATTSVM_E_FORMAT = -3,  /* a file is not what its name or header promises      */
    ATTSVM_E_DATA = -4,    /* arrays were read, but they are not a valid data set */
    ATTSVM_E_MEMORY = -5,  /* memory could not be had                             */
    ATTSVM_E_DISK = -6,    /* reading or writing failed: disk full, device error  */
    ATTSVM_E_NUMERIC = -7, /* arithmetic failed: overflow, or no convergence      */
    ATTSVM_E_STOPPED = -8  /* its observer or time limit ended a call that has nothing to show */
} attsvm_status;

/* "bad argument", "no memory", ...; NULL for a number that is not a status. */
ATTSVM_API const char *attsvm_status_name(attsvm_status status);

typedef struct attsvm_error {
    attsvm_status status;
    char message[508];
} attsvm_error;

/*
 * Told by a long call how far it is: `done` of `total` (0: not known).  False stops the call.
 */
typedef bool attsvm_observer(void *context, int64_t done, int64_t total);

/* ---------------------------------------------------------------------- arrays */

typedef enum attsvm_dtype {
    ATTSVM_F16 = 1,
    ATTSVM_F32,
    ATTSVM_F64,
    ATTSVM_BOOL,
    ATTSVM_I8,
    ATTSVM_I16,
    ATTSVM_I32,
    ATTSVM_I64,
    ATTSVM_U8,
    ATTSVM_U16,
    ATTSVM_U32,
    ATTSVM_U64
} attsvm_dtype;

enum { ATTSVM_MAX_DIMS = 8 };

/*
 * A borrowed view of a dense row-major array in the machine's byte order.  `data` need not be
 * aligned: arrays mapped from files start at any byte.
 */
typedef struct attsvm_array {
    const void *data;
    int64_t shape[ATTSVM_MAX_DIMS];
    int32_t ndim;
    attsvm_dtype dtype;
} attsvm_array;

ATTSVM_API const char *attsvm_dtype_name(attsvm_dtype dtype); /* "float32"; NULL if unknown */
ATTSVM_API size_t attsvm_dtype_size(attsvm_dtype dtype); /* bytes of an element, 0 if unknown */

/* Number of elements (1 for ndim = 0), or -1 where a dimension is negative or it overflows. */
ATTSVM_API int64_t attsvm_array_count(const attsvm_array *array);

/* The shape as text, "(3,7,2)". */
ATTSVM_API void attsvm_array_shape_text(const attsvm_array *array, char *out, size_t size);

/* Element `index` in row-major order as a double (integers beyond 2^53 are rounded). */
ATTSVM_API double attsvm_array_get(const attsvm_array *array, int64_t index);

/* -------------------------------------------------------------------- settings */

/*
 * Settings are plain data.  `attsvm_..._settings_init` fills in the defaults; the functions that
 * take a settings struct check its ranges and accept NULL for "all defaults".
 *
 * Beside every settings struct stands a table of its fields, the only source of defaults, ranges,
 * flags, help and documents.  With it settings can be listed, read and set by name:
 *
 *     attsvm_svm_settings s;
 *     attsvm_settings_init(&attsvm_svm_table, &s);
 *     attsvm_settings_set(&attsvm_svm_table, &s, "norm", "lq:3", &err);
 */
typedef enum attsvm_setting_kind {
    ATTSVM_SETTING_INT,    /* int64_t                                              */
    ATTSVM_SETTING_DOUBLE, /* double                                               */
    ATTSVM_SETTING_BOOL,   /* bool                                                 */
    ATTSVM_SETTING_CHOICE, /* int32_t; `choices` names the values from `lowest` on */
    ATTSVM_SETTING_TEXT,   /* const char *, borrowed; `text` is the default        */
} attsvm_setting_kind;

/* One field of a settings struct. */
typedef struct attsvm_setting {
    const char *name;
    size_t offset, size; /* in the struct */
    attsvm_setting_kind kind;
    double lowest, highest, standard; /* range, default */
    const char *meaning;
    const char *const *choices; /* NULL-terminated, ATTSVM_SETTING_CHOICE only */
    const char *text;           /* default of ATTSVM_SETTING_TEXT              */
} attsvm_setting;

typedef struct attsvm_settings_table {
    const char *name; /* "svm" */
    const attsvm_setting *fields;
    size_t count;
    size_t size; /* of the struct */
    /* Where a field takes more than its kind, like "lq:3"; NULL: nowhere. */
    attsvm_status (*set)(const attsvm_setting *field, void *settings, const char *value,
                         attsvm_error *err);
} attsvm_settings_table;

ATTSVM_API extern const attsvm_settings_table attsvm_read_table, attsvm_generate_table,
    attsvm_svm_table, attsvm_check_table, attsvm_train_table, attsvm_enumerate_table,
    attsvm_joint_table, attsvm_path_table, attsvm_fit_table, attsvm_predict_table, attsvm_cv_table,
    attsvm_samples_table, attsvm_patches_table;

/* All tables, for those who look one up by name: number k, or NULL beyond the last. */
ATTSVM_API const attsvm_settings_table *attsvm_settings_list(int64_t k);

ATTSVM_API void attsvm_settings_init(const attsvm_settings_table *table, void *settings);
ATTSVM_API attsvm_status attsvm_settings_check(const attsvm_settings_table *table,
                                               const void *settings, attsvm_error *err);
/* The field of that name, or NULL; `-` and `_` are the same. */
ATTSVM_API const attsvm_setting *attsvm_settings_find(const attsvm_settings_table *table,
                                                      const char *name);
/* Reads `value`, the text that the flag takes, into the field and checks its range.  Texts are
   borrowed. */
ATTSVM_API attsvm_status attsvm_settings_set(const attsvm_settings_table *table, void *settings,
                                             const char *name, const char *value,
                                             attsvm_error *err);
/* The field's value (settings NULL: its default) as text; "" where there is no such field. */
ATTSVM_API void attsvm_settings_get(const attsvm_settings_table *table, const void *settings,
                                    const char *name, char *out, size_t size);
/* "1..4096", "gauss|sphere|...": what the field may be. */
ATTSVM_API void attsvm_setting_range(const attsvm_setting *setting, char *out, size_t size);

typedef struct attsvm_read_settings {
    int64_t threads;       /* for checking values; 0: all cores                            */
    int64_t inflate_limit; /* most bytes that one compressed array may unpack to           */
    int64_t memory;        /* bytes of mapped tokens that may stay in memory; 0: half of it */
    bool verify;           /* also check the stored checksums of memory-mapped arrays      */
    bool empty;            /* sequences may have no tokens; only classifiers take such data */
    char padding[6];
    void *comm; /* ranks that share the sequences, in a build with MPI; NULL: one process */
    int64_t reserved[8];
} attsvm_read_settings;

ATTSVM_API void attsvm_read_settings_init(attsvm_read_settings *settings);

typedef enum attsvm_generate_kind {
    ATTSVM_GAUSS,      /* independent Gaussian tokens                                      */
    ATTSVM_SPHERE,     /* Gaussian tokens scaled to norm 1                                 */
    ATTSVM_PLANTED_P,  /* the best token along a random p is pushed `push` further         */
    ATTSVM_PLANTED_W,  /* the same along W z_i                                             */
    ATTSVM_CLUSTERS,   /* tokens around few centres                                        */
    ATTSVM_VOCABULARY, /* table + index: Gaussian words on the sphere, Zipf frequencies    */
    ATTSVM_ONEHOT,     /* table + index: words are unit vectors                            */
    ATTSVM_TIED,       /* small integer coordinates, repeated tokens: ties and rank loss   */
    ATTSVM_NTP,        /* table + index with labels: contexts of next-token prediction     */
    /* bags that only a model obeying the multiple-instance assumption predicts (theory 8) */
    ATTSVM_MIL_SINGLE,   /* one concept                                                    */
    ATTSVM_MIL_MULTI,    /* two concepts that must meet                                    */
    ATTSVM_MIL_FREQUENCY /* two concepts; in the test one of them comes often              */
} attsvm_generate_kind;

typedef struct attsvm_generate_settings {
    int64_t n;          /* sequences                                                       */
    int64_t T;          /* tokens of the longest sequence                                  */
    int64_t T_min;      /* tokens of the shortest; 0: all have T                           */
    int64_t d;          /* dimension                                                       */
    int64_t queries;    /* queries z a sequence; 0: none                                   */
    int64_t vocabulary; /* words of a vocabulary, clusters of `clusters`; 0: chosen by size */
    int64_t seed;       /* another seed, another data set                                  */
    int64_t threads;    /* at work; 0: all cores; the values do not depend on it           */
    double push;        /* planted kinds: how far the best token is pushed                 */
    double noise;       /* clusters: typical distance from the centre                      */
    double spread;      /* token norms are multiplied by 10^u, u uniform in +-spread       */
    double time_limit;  /* seconds, after which it fails with ATTSVM_E_STOPPED; 0: none    */
    int32_t kind;       /* attsvm_generate_kind                                            */
    int32_t dtype;      /* attsvm_dtype of the tokens: float16, float32, float64           */
    int32_t split;      /* attsvm_split of the mil kinds                                   */
    bool optimal;       /* planted kinds: the planted token also has the best score        */
    char padding[3];
    int64_t reserved[8];
} attsvm_generate_settings;

typedef enum attsvm_split { ATTSVM_TRAIN_SPLIT, ATTSVM_TEST_SPLIT } attsvm_split;

ATTSVM_API void attsvm_generate_settings_init(attsvm_generate_settings *settings);

/* -------------------------------------------------------------------- archives */

/*
 * A set of named arrays read from `.npz`, `.npy`, a directory of `.npy`, `.safetensors`, `.csv` or
 * `.tsv` (told by content, then by name).  Large arrays that are stored as such in the file are
 * memory-mapped; the rest is copied.  Arrays of what are not real numbers (text, Python objects,
 * ...) are left out, unless a data set has arrays of their name: that is an error.
 */
typedef struct attsvm_archive attsvm_archive;

ATTSVM_API attsvm_status attsvm_archive_open(attsvm_archive **out, const char *path,
                                             const attsvm_read_settings *settings,
                                             attsvm_error *err);
ATTSVM_API void attsvm_archive_free(attsvm_archive *archive);

ATTSVM_API int64_t attsvm_archive_count(const attsvm_archive *archive);
ATTSVM_API const char *attsvm_archive_name(const attsvm_archive *archive, int64_t index);
ATTSVM_API const attsvm_array *attsvm_archive_array(const attsvm_archive *archive, int64_t index);
ATTSVM_API bool attsvm_archive_is_mapped(const attsvm_archive *archive, int64_t index);
/* The array of that name, or NULL. */
ATTSVM_API const attsvm_array *attsvm_archive_find(const attsvm_archive *archive, const char *name);

/* Name of the k-th array that was left out because attsvm has no type for it; NULL beyond them. */
ATTSVM_API const char *attsvm_archive_skipped(const attsvm_archive *archive, int64_t k);

/* Named arrays to write; the arrays are borrowed. */
typedef struct attsvm_named_array {
    const char *name;
    attsvm_array array;
} attsvm_named_array;

/*
 * Writes the arrays to `path` in the format that its ending names (.npz, .npy for one array,
 * .safetensors, .csv, .tsv).  The file appears whole or not at all.  Same arrays, same bytes.
 */
ATTSVM_API attsvm_status attsvm_archive_write(const char *path, const attsvm_named_array *arrays,
                                              int64_t count, attsvm_error *err);

/*
 * Whether `path` can be written now, before long work for it: its folder exists and lets us, it is
 * no folder or device itself, and its ending names a format that holds the content.
 */
typedef enum attsvm_file_content {
    ATTSVM_FILE_TEXT = 1, /* any ending                               */
    ATTSVM_FILE_DATA,     /* .npz .npy .safetensors .csv .tsv         */
    ATTSVM_FILE_RESULT    /* arrays of any name: .npz or .safetensors */
} attsvm_file_content;
ATTSVM_API attsvm_status attsvm_file_check(const char *path, attsvm_file_content content,
                                           attsvm_error *err);

/* Writes `size` bytes as a file that appears whole or not at all. */
ATTSVM_API attsvm_status attsvm_file_write(const char *path, const void *bytes, size_t size,
                                           attsvm_error *err);

/* ------------------------------------------------------------------------ data */

/* Token sequences X_i (T_i x d) with labels, queries and whatever else the file has. */
typedef struct attsvm_data attsvm_data;

typedef enum attsvm_storage {
    ATTSVM_EQUAL = 1,      /* X (n,T,d)                         */
    ATTSVM_RAGGED,         /* X (N,d), offsets (n+1)            */
    ATTSVM_TABLE,          /* E (V,d), tokens (N), offsets (n+1) */
    ATTSVM_STORAGE_ONE_HOT /* vocabulary, tokens (N), offsets (n+1): unit vectors, d = vocabulary */
} attsvm_storage;

typedef struct attsvm_data_info {
    int64_t n;            /* sequences                                       */
    int64_t d;            /* dimension                                       */
    int64_t tokens;       /* sum of T_i                                      */
    int64_t T_min, T_max; /* shortest and longest sequence                   */
    int64_t vocabulary;   /* words: rows of E, or d of one-hot words; else 0 */
    int64_t queries;      /* given queries a sequence (Z); 0: none           */
    int64_t positive;     /* labels +1                                       */
    int64_t negative;     /* labels -1; both 0 where there are no labels     */
    attsvm_dtype dtype;   /* of the tokens                                   */
    attsvm_storage storage;
    int64_t reserved[8];
} attsvm_data_info;

/*
 * A data set over arrays that the caller keeps: names as in the file format (X, or E and tokens;
 * offsets, Y or y, Z, v, V, W, p, ids, O, s, labels, init_...); unknown names are ignored.  All
 * values are checked.  The arrays are borrowed and must outlive the data set.  On failure *out is
 * NULL.
 */
ATTSVM_API attsvm_status attsvm_data_create(attsvm_data **out, const attsvm_named_array *arrays,
                                            int64_t count, const attsvm_read_settings *settings,
                                            attsvm_error *err);

/*
 * The sequences indices[0..count) of a data set, in that order; one may be named twice.  Tokens are
 * borrowed from `data`, which must outlive the subset; labels, queries and selections are copied.
 * Every call takes a subset where it takes a data set; only the array X is not shown by
 * attsvm_data_array.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_data_subset(attsvm_data **out, const attsvm_data *data,
                                            const int64_t *indices, int64_t count,
                                            attsvm_error *err);

/*
 * The same data set with another head v (count; copied): that of a trained model, for example.
 * `data` must outlive it.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_data_with_head(attsvm_data **out, const attsvm_data *data,
                                               const double *v, int64_t count, attsvm_error *err);

/* Sixteen digits that tell data sets apart, whatever files or types they are stored in. */
enum { ATTSVM_FINGERPRINT = 17 };
ATTSVM_API void attsvm_data_fingerprint(const attsvm_data *data, char out[ATTSVM_FINGERPRINT]);

/* Reads and checks a data set from any file that attsvm_archive_open reads. */
ATTSVM_API attsvm_status attsvm_data_read(attsvm_data **out, const char *path,
                                          const attsvm_read_settings *settings, attsvm_error *err);

ATTSVM_API void attsvm_data_free(attsvm_data *data);

ATTSVM_API attsvm_data_info attsvm_data_describe(const attsvm_data *data);

/* Length of sequence i. */
ATTSVM_API int64_t attsvm_data_length(const attsvm_data *data, int64_t i);

/* Number of tokens before sequence i, 0 <= i <= n: where its entries begin in arrays by token. */
ATTSVM_API int64_t attsvm_data_offset(const attsvm_data *data, int64_t i);

/* Token t of sequence i, widened to double, into x (d). */
ATTSVM_API void attsvm_data_token(const attsvm_data *data, int64_t i, int64_t t, double *x);

/* Label of sequence i, -1 or +1; 0 where the data set has none. */
ATTSVM_API int attsvm_data_label(const attsvm_data *data, int64_t i);

/* A named array as it was given, or NULL. */
ATTSVM_API const attsvm_array *attsvm_data_array(const attsvm_data *data, const char *name);

/* A random data set in memory; the same settings give the same values on every platform. */
ATTSVM_API attsvm_status attsvm_data_generate(attsvm_data **out,
                                              const attsvm_generate_settings *settings,
                                              attsvm_error *err);

/*
 * The same data set straight into a file, whatever its size, in little memory.  Every element is a
 * function of the settings, so arrays are made piece by piece as they are written.
 */
typedef struct attsvm_generator attsvm_generator;

typedef struct attsvm_generator_info {
    attsvm_generate_settings settings; /* in force: "chosen by size" has become a number */
    int64_t tokens;                    /* sum of T_i                                     */
    int64_t count;
    const attsvm_named_array *arrays; /* (count) in the order of the file, `data` NULL; borrowed */
    int64_t reserved[4];
} attsvm_generator_info;

ATTSVM_API attsvm_status attsvm_generator_create(attsvm_generator **out,
                                                 const attsvm_generate_settings *settings,
                                                 attsvm_error *err);
ATTSVM_API void attsvm_generator_free(attsvm_generator *generator);
ATTSVM_API attsvm_generator_info attsvm_generator_describe(const attsvm_generator *generator);

/*
 * Writes the file; `observer` counts the bytes of arrays that have been made, and where it stops
 * the call no file is left and ATTSVM_E_STOPPED returned.  `deflate` compresses the arrays of an
 * .npz.  A table (.csv, .tsv) has room for X, offsets and Y alone: attsvm_format_holds says whether
 * an array goes into the file of that name. `observer` may be NULL.
 */
ATTSVM_API attsvm_status attsvm_generator_write(attsvm_generator *generator, const char *path,
                                                bool deflate, attsvm_observer *observer,
                                                void *context, attsvm_error *err);
ATTSVM_API bool attsvm_format_holds(const char *path, const char *name);

/* ------------------------------------------------------------------------- svm */

/*
 * Max-margin problems (theory, section 4)
 *
 *   minimise |theta|   subject to   <A_r, theta> >= b_r,   <A_r, theta> = e_r
 *
 * with one row r for each sequence, query and rival token.
 */
typedef enum attsvm_problem_kind {
    ATTSVM_PROBLEM_P = 1,  /* theta = p (d):   (k_alpha - k_t)' p >= 1                          */
    ATTSVM_PROBLEM_V,      /* theta = v (d):   Y x_alpha' v >= 1                                */
    ATTSVM_PROBLEM_JOINT,  /* theta = p (d):   as P, 0 on the right where the v-SVM is not tight */
    ATTSVM_PROBLEM_W,      /* theta = W (d,d): (x_alpha - x_t)' W z >= 1                        */
    ATTSVM_PROBLEM_MULTI,  /* theta = W (d,d): sets O; = 0 inside, >= 1 outside                 */
    ATTSVM_PROBLEM_FINITE, /* theta = W (d,d): (x_beta - x_t)' W z = log(s_beta/s_t) inside O    */
} attsvm_problem_kind;

typedef enum attsvm_norm {
    ATTSVM_NORM_L2 = 1, /* of p and v; for W the same as ATTSVM_NORM_FRO and the other way round */
    ATTSVM_NORM_FRO,
    ATTSVM_NORM_NUC,
    ATTSVM_NORM_SPECTRAL,
    ATTSVM_NORM_LQ, /* of the entries, 1 < q < infinity */
    ATTSVM_NORM_L1,
    ATTSVM_NORM_LINF,
} attsvm_norm;

/* What was found.  An infeasible problem is a successful call. */
typedef enum attsvm_outcome {
    ATTSVM_NOT_RUN = 0,
    ATTSVM_OPTIMAL,    /* theta and multipliers whose gap is at most tol                      */
    ATTSVM_INFEASIBLE, /* multipliers that prove it                                              */
    ATTSVM_STALLED,    /* neither: stopped by a limit or by the observer; holds the best so far  */
    ATTSVM_STATIONARY, /* with a rank limit: no proof of optimality exists                       */
} attsvm_outcome;

/* "optimal", "infeasible", ...; NULL for a number that is not an outcome. */
ATTSVM_API const char *attsvm_outcome_name(attsvm_outcome outcome);

typedef enum attsvm_query {
    ATTSVM_QUERY_GIVEN = 1, /* Z of the data set; without Z as ATTSVM_QUERY_TOKEN       */
    ATTSVM_QUERY_TOKEN,     /* token `query_token` of the sequence itself               */
    ATTSVM_QUERY_ALL,       /* every token is a query                                   */
    ATTSVM_QUERY_CAUSAL,    /* every token is a query and sees itself and those before  */
    ATTSVM_QUERY_LAST,      /* the last token of the sequence                           */
} attsvm_query;

typedef enum attsvm_duplicates {
    ATTSVM_DUPLICATES_MERGE = 1, /* copies of the selected token (same key and score) have no row */
    ATTSVM_DUPLICATES_STRICT,    /* they have one, which nothing satisfies                        */
} attsvm_duplicates;

typedef enum attsvm_head {
    ATTSVM_HEAD_LINEAR = 1, /* v'u                         */
    ATTSVM_HEAD_RELU,       /* v' relu(V u)                */
    ATTSVM_HEAD_CONCAVE,    /* v'u - kappa |u|^2           */
} attsvm_head;

typedef struct attsvm_svm_settings {
    double q;            /* exponent of ATTSVM_NORM_LQ                                          */
    double kappa;        /* of ATTSVM_HEAD_CONCAVE                                              */
    double soft;         /* C of the soft margin; 0: hard margin                                */
    double threshold;    /* softmax above it puts a token into a set taken from a trained model */
    double tol;          /* relative gap; 0: 1e-12 for l2 and fro, else 1e-9                    */
    double time_limit;   /* seconds of wall clock; 0: none                                      */
    int64_t query_token; /* of ATTSVM_QUERY_TOKEN                                               */
    int64_t rank;        /* most rank of W; 0: any                                              */
    int64_t max_iter;    /* most iterations: changes of the active set, or steps of the norm    */
    int64_t threads;     /* 0: all cores                                                        */
    int64_t seed;        /* of the sample that the solver starts from                           */
    int32_t problem;     /* attsvm_problem_kind                                                 */
    int32_t norm;        /* attsvm_norm                                                         */
    int32_t query;       /* attsvm_query                                                        */
    int32_t duplicates;  /* attsvm_duplicates                                                   */
    int32_t head;        /* attsvm_head                                                         */
    int32_t padding;
    int64_t reserved[8];
} attsvm_svm_settings;

ATTSVM_API void attsvm_svm_settings_init(attsvm_svm_settings *settings);

/*
 * Selections have one entry per term: a term is a sequence with one of its queries, in the order
 * of sequences, then queries.  P, V and JOINT have one term a sequence.
 */
ATTSVM_API attsvm_status attsvm_svm_terms(const attsvm_data *data,
                                          const attsvm_svm_settings *settings, int64_t *terms,
                                          attsvm_error *err);

/*
 * Sets and softmax values have one entry per cell: term after term, one cell for each token of the
 * term's sequence.  With one query a sequence the cells are the tokens.
 */
ATTSVM_API attsvm_status attsvm_svm_cells(const attsvm_data *data,
                                          const attsvm_svm_settings *settings, int64_t *cells,
                                          attsvm_error *err);

/*
 * What is selected; the arrays are borrowed.  `alpha` (terms) for P, V, JOINT, W; `sets` (cells,
 * 0 or 1) for MULTI and FINITE, `softmax` (cells) for FINITE, positive on the sets.  Every term
 * needs a member that its query sees; entries of tokens that it does not see are ignored.
 */
typedef struct attsvm_selection {
    const int64_t *alpha;
    const uint8_t *sets;
    const double *softmax;
    int64_t terms; /* entries of alpha            */
    int64_t cells; /* entries of sets and softmax */
} attsvm_selection;

/*
 * opt: the token with the best score Y h(x) of each term, the lowest index on ties, into alpha
 * (terms).  *ties (may be NULL) counts the terms in which a tie decided.
 */
ATTSVM_API attsvm_status attsvm_select_optimal(const attsvm_data *data,
                                               const attsvm_svm_settings *settings, int64_t *alpha,
                                               int64_t *ties, attsvm_error *err);

/* Name of a row: its sequence, query (0 where there is one) and rival token (of V: the selected).
 */
typedef struct attsvm_row {
    int64_t sequence, query, token;
} attsvm_row;

/* Proofs of infeasibility (theory 4.1). */
typedef enum attsvm_proof {
    ATTSVM_PROOF_NONE = 0,
    ATTSVM_PROOF_EXACT,  /* the rows contradict each other: no theta satisfies them            */
    ATTSVM_PROOF_BEYOND, /* every theta that satisfies them has a norm of at least 1e18 m,
                            m the longest length that a single row asks for                   */
} attsvm_proof;

/* "none", "exact", "beyond"; NULL for other numbers. */
ATTSVM_API const char *attsvm_proof_name(attsvm_proof proof);

/*
 * A solution with its proof: all that a checker needs besides the data.  Arrays are borrowed.
 *
 * theta, lambda and mu may carry low parts: each value is the sum of its parts, and the first part
 * is that sum rounded to double.  A low part is NULL (all zeros) or as long as its first part.
 *
 * `lambda` and `mu` are in norm form (theory 4.1): at the optimum the dual norm of
 * sum lambda A + sum mu A is 1; for an infeasible problem b'lambda + e'mu = 1 and theta is NaN.
 * With soft > 0 they are the multipliers of 1/2 |theta|^2 + C sum xi, 0 <= lambda <= C.
 */
typedef struct attsvm_claim {
    attsvm_svm_settings settings; /* problem, norm, query, duplicates, head, soft, rank, tol */
    attsvm_selection selection;
    attsvm_outcome outcome;
    int64_t theta_count; /* d, or d*d for W          */
    const double *theta, *theta_lo, *theta_lo2;
    int64_t active_count; /* rows with lambda > 0     */
    const attsvm_row *active;
    const double *lambda, *lambda_lo;
    int64_t equal_count; /* equality rows, with mu   */
    const attsvm_row *equal;
    const double *mu, *mu_lo;
    const struct attsvm_claim *head; /* of JOINT: the v-SVM, whose tight rows decide b */
    int64_t reserved[8];
} attsvm_claim;

/* What a sceptic asks for.  A number that was not computed is NAN (counts: -1). */
typedef struct attsvm_svm_info {
    attsvm_outcome outcome;
    bool conflict;  /* infeasible because of one pair: `pair` has the same key as alpha  */
    bool unique;    /* the norm is strictly convex: no other theta is as short              */
    bool undecided; /* l_q: the gap leaves open which rows are tight                       */
    attsvm_row pair;
    int64_t pair_selected; /* alpha of that pair                                             */
    double norm;           /* |theta|                                                        */
    double margin;         /* 1/|theta|                                                      */
    double dual;           /* lower bound of |theta| (soft: of the objective)                */
    double gap;            /* (|theta| - dual)/|theta| (soft: of the objectives)             */
    double violation;      /* largest violation of any row, exact evaluation; soft: largest xi */
    double objective;      /* |theta|, or 1/2 |theta|^2 + C sum xi                           */
    double residual;       /* infeasible: eps of theory 4.1                                  */
    double bound;          /* infeasible: no solution is shorter than this (B of theory 4.1);
                              +infinity where the proof is exact                             */
    attsvm_proof proof;    /* infeasible: which proof                                        */
    int64_t tight, active, merged, rank;
    int64_t rounds;      /* of constraint generation                                          */
    int64_t iterations;  /* changes of the active set                                         */
    double passes;       /* reads of the tokens, in units of the whole data set               */
    double seconds;      /* of the solve, certificate included                                */
    double pass_seconds; /* of them, in those reads                                           */
    int64_t reserved[8];
} attsvm_svm_info;

/* State of a running solve. */
typedef struct attsvm_svm_progress {
    int64_t rounds, iterations, active;
    double passes, seconds;
    double dual; /* lower bound of |theta| so far                */
    double gap;  /* of the best feasible point so far; NAN: none */
    int64_t reserved[4];
} attsvm_svm_progress;

/* Called after every round; false stops the solve, which then returns its best so far. */
typedef bool attsvm_svm_observer(void *context, const attsvm_svm_progress *progress);

typedef struct attsvm_problem attsvm_problem;
typedef struct attsvm_solution attsvm_solution;

/*
 * The rows of one problem.  `data` is borrowed and must outlive the problem; the selection is
 * copied.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_problem_create(attsvm_problem **out, const attsvm_data *data,
                                               const attsvm_selection *selection,
                                               const attsvm_svm_settings *settings,
                                               attsvm_error *err);
ATTSVM_API void attsvm_problem_free(attsvm_problem *problem);

/*
 * Solves to the proof.  `warm` (may be NULL) is a claim about a similar problem: its active rows
 * are tried first.  `observer` may be NULL.  The solution owns all that it shows and outlives the
 * problem.  The problem is only read: several threads may solve it at once.
 */
ATTSVM_API attsvm_status attsvm_problem_solve(const attsvm_problem *problem,
                                              const attsvm_claim *warm,
                                              attsvm_svm_observer *observer, void *context,
                                              attsvm_solution **out, attsvm_error *err);

/*
 * Solves `count` problems over `threads` threads (0: all cores), each on one thread.  out (count)
 * gets the solutions; where one fails all are freed and the first failure is reported.  `observer`
 * (may be NULL) counts problems; where it stops the batch, ATTSVM_E_STOPPED.
 */
ATTSVM_API attsvm_status attsvm_problem_solve_batch(attsvm_problem *const *problems, int64_t count,
                                                    int64_t threads, attsvm_observer *observer,
                                                    void *context, attsvm_solution **out,
                                                    attsvm_error *err);

/* Fills info.rank, the singular values of W above 1e-6 of the largest; other problems have none. */
ATTSVM_API attsvm_status attsvm_solution_rank(attsvm_solution *solution, attsvm_error *err);

ATTSVM_API attsvm_svm_info attsvm_solution_describe(const attsvm_solution *solution);
/* Borrows from the solution. */
ATTSVM_API attsvm_claim attsvm_solution_claim(const attsvm_solution *solution);
ATTSVM_API void attsvm_solution_free(attsvm_solution *solution);

/* ----------------------------------------------------------------------- check */

/* Tolerances are the checker's own: the one that a claim was solved to does not count. */
typedef struct attsvm_check_settings {
    double tol;        /* relative gap; 0: 1e-12 for l2 and fro, else 1e-9            */
    double time_limit; /* seconds, after which it fails with ATTSVM_E_STOPPED; 0: none */
    int64_t threads;   /* 0: all cores                                                */
    bool exact;        /* once more in rational numbers: l2, fro, l1, linf, any infeasibility */
    char padding[7];
    int64_t reserved[8];
} attsvm_check_settings;

ATTSVM_API void attsvm_check_settings_init(attsvm_check_settings *settings);

/*
 * What a check of a claim found, recomputed from the data and the claim alone.  Bounds are proved:
 * they are rounded against the claim.
 */
typedef struct attsvm_report {
    bool valid;             /* what the claim says is proved                        */
    bool consistent;        /* stalled: its lower bound is one                   */
    attsvm_outcome outcome; /* of the claim                                         */
    double norm;            /* |theta|                                              */
    double dual;            /* D of theory 4.1: no solution is shorter              */
    double gap;             /* (P - D)/P, P the norm of a point near theta that satisfies every row
                               exactly; soft: of the objectives                     */
    double needed;          /* the smallest tolerance that would do; NAN: none      */
    attsvm_proof proof;     /* of an infeasible claim                               */
    double bound;           /* of an infeasible claim: no solution is shorter; +infinity: exact */
    bool exact;             /* proved in rational numbers as well                   */
    double dual_norm;       /* of sum lambda A + sum mu A (infeasible: for b'lambda + e'mu = 1) */
    double min_margin;      /* smallest <A_r, theta> over rows with b = 1                */
    double violation;       /* largest violation of any row                              */
    int64_t tight, active, merged;
    char reason[256]; /* why it is not valid; otherwise what was proved             */
    int64_t reserved[8];
} attsvm_report;

/*
 * A claim that is wrong is a successful call: report->valid says so.  settings NULL: defaults.
 * Where `observer` (may be NULL; its total is 0) stops it, ATTSVM_E_STOPPED.
 */
ATTSVM_API attsvm_status attsvm_check(attsvm_report *report, const attsvm_data *data,
                                      const attsvm_claim *claim,
                                      const attsvm_check_settings *settings,
                                      attsvm_observer *observer, void *context, attsvm_error *err);

/* ------------------------------------------------------------- models, settings */

/* One attention layer (theory, section 2); the names with V train the head as well. */
typedef enum attsvm_model_kind {
    ATTSVM_MODEL_P = 1, /* logits X W'p, W fixed, p trained          */
    ATTSVM_MODEL_PW,    /* logits X W'p, p fixed, W (d,d) trained    */
    ATTSVM_MODEL_W,     /* logits X W z, W (d,d) trained             */
    ATTSVM_MODEL_KQ,    /* logits X K Q'z, K and Q (d,rank) trained  */
    ATTSVM_MODEL_VP,
    ATTSVM_MODEL_VPW, /* v, p and W trained */
    ATTSVM_MODEL_VW,
    ATTSVM_MODEL_VKQ,
} attsvm_model_kind;

/* A loss l(u), strictly decreasing: returns l(u) and puts l'(u) into *slope. */
typedef struct attsvm_loss_callback {
    double (*value)(void *context, double u, double *slope);
    void *context;
} attsvm_loss_callback;

/* A head h(u), u (d): returns h(u) and puts its gradient into gradient (d). */
typedef struct attsvm_head_callback {
    double (*value)(void *context, const double *u, int64_t d, double *gradient);
    void *context;
} attsvm_head_callback;

/* Returns the size of step 0, 1, 2, ...: finite and not negative. */
typedef struct attsvm_schedule_callback {
    double (*value)(void *context, int64_t step);
    void *context;
} attsvm_schedule_callback;

/*
 * How gradients are computed: exactly (theory 2.1), or as textbooks write them, in a type that they
 * are rounded to at every operation; parameters are then stored in that type, too.
 */
typedef enum attsvm_arithmetic {
    ATTSVM_ARITHMETIC_EXACT = 1,
    ATTSVM_ARITHMETIC_FLOAT64,
    ATTSVM_ARITHMETIC_FLOAT32
} attsvm_arithmetic;

/*
 * What to train and how.  Texts are borrowed and are what the flags take: step "ngd", "nmd:3";
 * loss "logistic"; init "auto", "zero", "uniform:0.3", "gauss:1", "file", or the name of a result;
 * record "100", "log" (empty: nothing); eps "1e-9" or "1e-19,1e-9" (attention, head); lstar a
 * number.
 */
typedef struct attsvm_train_settings {
    const char *step, *loss, *init, *record, *eps, *lstar;
    const char *checkpoint; /* file of the running state; empty: none                      */
    double lr;              /* step size                                                   */
    double decay;           /* step t has the size lr/(t+1)^decay                          */
    double disturb;         /* relative disturbance of the start values; 0: none           */
    double ridge;           /* adds ridge |theta|^2 of the attention parameters            */
    double max_step;        /* polyak: longest step                                        */
    double stop_direction;  /* stop once theta/|theta| moves less in 100 steps; 0: never   */
    double stop_norm;       /* stop once |theta| is larger; 0: never                       */
    double time_limit;      /* stop after so many seconds; 0: never                        */
    int64_t iters;          /* steps                                                       */
    int64_t rank;           /* columns of K and Q; 0: d                                    */
    int64_t batch;          /* sequences a step; 0: all                                    */
    int64_t every;          /* steps between two checkpoints                               */
    int64_t seed;           /* of start values and mini-batches                            */
    int64_t disturb_seed;   /* of `disturb`                                                */
    int64_t threads;        /* 0: all cores                                                */
    int64_t observe;        /* steps between two calls of the observer; 0: by the clock    */
    double kappa;           /* of ATTSVM_HEAD_CONCAVE                                      */
    int64_t query_token;    /* of ATTSVM_QUERY_TOKEN                                       */
    int32_t query;          /* attsvm_query; with loss "ntp" GIVEN without Z is LAST       */
    int32_t head;           /* attsvm_head                                                 */
    int32_t model;          /* attsvm_model_kind                                           */
    int32_t arithmetic;     /* attsvm_arithmetic of the gradient                           */
    bool resume;            /* go on from `checkpoint` where it exists                     */
    char padding[7];
    int64_t reserved[8];
} attsvm_train_settings;

ATTSVM_API void attsvm_train_settings_init(attsvm_train_settings *settings);

/* ----------------------------------------------------------------------- model */

/*
 * A model at parameters that the caller gives: loss, exact gradient (theory 2.1), logits, softmax.
 * Of the settings model, loss, head, query, rank and threads count.  `loss` and `head` may be NULL;
 * otherwise they replace those that the settings name.  `data` is borrowed.  One thread at a time
 * may use a model.
 *
 * Parameters are one vector theta (size) with the trained arrays one after another: p, W, K, Q, v,
 * as attsvm_model_parameter lists them.
 */
typedef struct attsvm_model attsvm_model;

enum { ATTSVM_MAX_PARAMETERS = 4 };

ATTSVM_API attsvm_status attsvm_model_create(attsvm_model **out, const attsvm_data *data,
                                             const attsvm_train_settings *settings,
                                             const attsvm_loss_callback *loss,
                                             const attsvm_head_callback *head, attsvm_error *err);
ATTSVM_API void attsvm_model_free(attsvm_model *model);

typedef struct attsvm_model_info {
    int32_t model;      /* attsvm_model_kind                                      */
    int32_t parameters; /* trained arrays                                         */
    int64_t n, d, rank; /* sequences, dimension, columns of K and Q               */
    int64_t terms;      /* loss terms: sequences times queries                    */
    int64_t cells;      /* entries of logits and softmax: tokens of all terms     */
    int64_t size;       /* entries of theta                                       */
    int64_t map_size;   /* entries of attsvm_model_map: d, or d*d                 */
    int64_t reserved[8];
} attsvm_model_info;
ATTSVM_API attsvm_model_info attsvm_model_describe(const attsvm_model *model);

/* Trained array k, 0 <= k < parameters; its name is NULL beyond them. */
typedef struct attsvm_parameter {
    const char *name;
    int64_t rows, columns; /* columns: 1 of p and v */
    int64_t offset, count; /* in theta              */
} attsvm_parameter;
ATTSVM_API attsvm_parameter attsvm_model_parameter(const attsvm_model *model, int64_t k);

/* A number that was not computed is NAN. */
typedef struct attsvm_evaluation {
    double loss;             /* L                                                              */
    double loss_limit;       /* L*(alpha) of the tokens selected now                           */
    double loss_excess;      /* L - L*(alpha), without cancellation; NAN: several tokens stay  */
    double log_excess;       /* its natural logarithm, where the excess is positive            */
    double norm;             /* |p|, |W|_F, |KQ'|_F; |W'p| where both are trained              */
    double grad_log_scale;   /* ln |grad| of the attention parameters (K, Q: of W = KQ')       */
    double softmax_min;      /* attention of the selected token, smallest over terms           */
    double softmax_mean;     /* and mean                                                       */
    double entropy;          /* of attention, mean                                             */
    double effective_tokens; /* exp(entropy), mean                                             */
    double accuracy;         /* share of terms with Y f > 0                                    */
    double margin;           /* smallest logit distance of the selected token to another       */
    double log_scale[ATTSVM_MAX_PARAMETERS]; /* of the gradient in each trained array           */
    int64_t reserved[8];
} attsvm_evaluation;

/*
 * At theta (size).  gradient (size, may be NULL): that in trained array k is
 * exp(log_scale[k]) gradient[offset..]; where it is exactly zero log_scale is -INFINITY.
 */
ATTSVM_API attsvm_status attsvm_model_evaluate(attsvm_model *model, const double *theta,
                                               attsvm_evaluation *out, double *gradient,
                                               attsvm_error *err);
/* Softmax and logits (cells): term after term, a row for each; hidden tokens have 0, -INFINITY. */
ATTSVM_API attsvm_status attsvm_model_softmax(attsvm_model *model, const double *theta,
                                              double *softmax, attsvm_error *err);
ATTSVM_API attsvm_status attsvm_model_logits(attsvm_model *model, const double *theta,
                                             double *logits, attsvm_error *err);
/* The token of most attention of each term into alpha (terms), copies of a token together. */
ATTSVM_API attsvm_status attsvm_model_select(attsvm_model *model, const double *theta,
                                             int64_t *alpha, attsvm_error *err);
/*
 * What the logits are made with, and what SVM solutions are compared with: p, or W'p where W is
 * trained with a prompt (d); W, or K Q' (d,d).  Into map (map_size).
 */
ATTSVM_API attsvm_status attsvm_model_map(attsvm_model *model, const double *theta, double *map,
                                          attsvm_error *err);

/* Parameters against an SVM solution.  A number that was not computed is NAN. */
typedef struct attsvm_comparison {
    double correlation; /* <theta, theta_svm> / (|theta| |theta_svm|), Frobenius        */
    double angle;       /* between them, degrees                                        */
    double norm;        /* |theta| in the norm of the solution                          */
    double margin;      /* smallest <A, theta> over rows with b = 1; problems P, JOINT, W */
    double efficiency;  /* margin / norm * |theta_svm|, 1 at the optimum; likewise       */
    int64_t reserved[4];
} attsvm_comparison;

/* `theta` (count: d, or d*d) is what attsvm_model_map gives, or any vector of that size. */
ATTSVM_API attsvm_status attsvm_solution_compare(attsvm_comparison *out,
                                                 const attsvm_solution *solution,
                                                 const attsvm_data *data, const double *theta,
                                                 int64_t count, attsvm_error *err);

/* -------------------------------------------------------------------- training */

typedef enum attsvm_train_outcome {
    ATTSVM_TRAIN_NOT_RUN = 0,
    ATTSVM_TRAIN_DONE,      /* all steps                       */
    ATTSVM_TRAIN_DIRECTION, /* the direction settled           */
    ATTSVM_TRAIN_NORM,      /* the norm was reached            */
    ATTSVM_TRAIN_TIME,      /* the time was over               */
    ATTSVM_TRAIN_OBSERVER,  /* the observer said so            */
} attsvm_train_outcome;

/* "done", "direction", ...; NULL for a number that is not an outcome. */
ATTSVM_API const char *attsvm_train_outcome_name(attsvm_train_outcome outcome);

/* State of a run, at its end or on the way.  A number that was not computed is NAN. */
typedef struct attsvm_train_info {
    attsvm_train_outcome outcome;
    int32_t padding;
    int64_t iters;           /* steps done                                                     */
    int64_t terms;           /* loss terms: sequences times queries                            */
    double seconds;          /* wall clock of the loop, earlier parts of a resumed run included */
    double loss;             /* L                                                              */
    double loss_limit;       /* L*(alpha) of the tokens selected now                           */
    double loss_excess;      /* L - L*(alpha), without cancellation; NAN: several tokens stay  */
    double log_excess;       /* its natural logarithm, where the excess is positive            */
    double norm;             /* |p|, |W|_F, |KQ'|_F; |W'p| where both are trained              */
    double grad_log_scale;   /* ln |grad| of the attention parameters (K, Q: of W = KQ')       */
    double softmax_min;      /* attention of the selected token, smallest over terms           */
    double softmax_mean;     /* and mean                                                       */
    double entropy;          /* of attention, mean                                             */
    double effective_tokens; /* exp(entropy), mean                                             */
    double accuracy;         /* share of terms with Y f > 0                                    */
    double margin;           /* smallest logit distance of the selected token to another       */
    double nuclear;          /* nuclear norm of W (models with a matrix), at records, the end  */
    double effective_rank;   /* exp of the entropy of its singular values                      */
    double direction_change; /* of theta/|theta| over the last 100 steps                       */
    double textbook_angle;   /* degrees between the textbook's gradient and the exact one      */
    double wrong_norm;       /* `norm` where that first was more than 1; NAN: nowhere          */
    int64_t wrong_step;      /* and the step; -1: none                                         */
    int64_t reserved[8];
} attsvm_train_info;

typedef struct attsvm_train attsvm_train;

/*
 * Called now and then (settings.observe) with the state; false ends the run, which may be
 * continued.  Of `train` it may call attsvm_train_parameters and attsvm_train_model.
 */
typedef bool attsvm_train_observer(void *context, const attsvm_train *train,
                                   const attsvm_train_info *info);

/*
 * A run: the data set is borrowed, all else is copied.  `loss` and `head` may be NULL; otherwise
 * they replace those that the settings name.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_train_create(attsvm_train **out, const attsvm_data *data,
                                             const attsvm_train_settings *settings,
                                             const attsvm_loss_callback *loss,
                                             const attsvm_head_callback *head, attsvm_error *err);
ATTSVM_API void attsvm_train_free(attsvm_train *train);

/*
 * Start values from memory, before the run, instead of those that settings.init names: `arrays`
 * (count) are named as the trained ones are (p, W, K, Q, v); those not named stay as they are.
 */
ATTSVM_API attsvm_status attsvm_train_start(attsvm_train *train, const attsvm_named_array *arrays,
                                            int64_t count, attsvm_error *err);

/*
 * Step sizes from the caller, before the run, instead of lr and decay.  A run with checkpoints is
 * refused: the file would not know the step sizes.
 */
ATTSVM_API attsvm_status attsvm_train_schedule(attsvm_train *train,
                                               const attsvm_schedule_callback *schedule,
                                               attsvm_error *err);

/* Runs to the end.  `observer` may be NULL. */
ATTSVM_API attsvm_status attsvm_train_run(attsvm_train *train, attsvm_train_observer *observer,
                                          void *context, attsvm_error *err);
/*
 * A run that is over, or was stopped, goes on until it has done `iters` steps in all (0: those of
 * its settings); the result has the same bytes as that of one run of so many steps.  The time limit
 * counts from here, and a limit of direction or norm that holds already ends it at once.
 */
ATTSVM_API attsvm_status attsvm_train_continue(attsvm_train *train, int64_t iters,
                                               attsvm_train_observer *observer, void *context,
                                               attsvm_error *err);
ATTSVM_API attsvm_train_info attsvm_train_describe(const attsvm_train *train);

/*
 * Results: number k has a name and an array, borrowed from the run: the trained p, W, K, Q, v;
 * ids, softmax; and with `record`, one entry a record, trace_iter, trace_p (W, K, Q, v), trace_ids
 * and trace_softmax (the selected tokens and their attention), and of attsvm_train_info trace_loss,
 * trace_excess, trace_log_excess, trace_norm, trace_grad_log_scale, trace_softmax_min,
 * trace_softmax_mean, trace_entropy, trace_effective_tokens, trace_accuracy, trace_margin; of
 * models with a matrix trace_nuclear and trace_rank (its effective rank).
 */
ATTSVM_API int64_t attsvm_train_count(const attsvm_train *train);
ATTSVM_API const attsvm_named_array *attsvm_train_array(const attsvm_train *train, int64_t k);
/* The result of that name, or NULL. */
ATTSVM_API const attsvm_array *attsvm_train_find(const attsvm_train *train, const char *name);

/* The model that is trained: its sizes and its list of trained arrays.  Borrowed. */
ATTSVM_API const attsvm_model *attsvm_train_model(const attsvm_train *train);
/* Its parameters now, theta (*count) as attsvm_model_parameter lists it.  Borrowed. */
ATTSVM_API const double *attsvm_train_parameters(const attsvm_train *train, int64_t *count);

/*
 * What the logits are made with, and what SVM solutions are compared with: p, or W'p where W is
 * trained with a prompt (d); W, or K Q' (d,d).  Borrowed until the run is continued or freed.
 */
ATTSVM_API const double *attsvm_train_theta(const attsvm_train *train, int64_t *count);

/*
 * Runs `count` runs over `threads` threads (0: all cores), each on one thread; the results do not
 * depend on the number of threads or on the other runs.  Small runs of one shape are done side by
 * side in vector registers; beside attsvm_train_run they may differ by rounding.  Reports the first
 * failure in the order of runs.  `observer` (may be NULL) counts runs; where it stops the batch the
 * runs that are not over end as by an observer of their own, and those that did not begin stay as
 * they are.
 */
ATTSVM_API attsvm_status attsvm_train_run_batch(attsvm_train *const *runs, int64_t count,
                                                int64_t threads, attsvm_observer *observer,
                                                void *context, attsvm_error *err);

/* ---------------------------------------------------------------------- theory */

/*
 * What attention selects (theory, section 5).
 *
 * Scores gamma_t = Y h(x_t) of every token of every term, h the head of the data set as
 * `settings` names it; the terms are those of settings->problem.  `data` is borrowed.
 */
typedef struct attsvm_scores attsvm_scores;

ATTSVM_API attsvm_status attsvm_scores_create(attsvm_scores **out, const attsvm_data *data,
                                              const attsvm_svm_settings *settings,
                                              attsvm_error *err);
ATTSVM_API void attsvm_scores_free(attsvm_scores *scores);

typedef struct attsvm_term {
    int64_t sequence, query; /* query: 0 where there is one                                     */
    int64_t tokens;          /* that the query sees                                             */
    int64_t optimal;         /* the best score, lowest index on ties                            */
    int64_t tied;            /* other tokens with that score, copies of `optimal` not counted   */
    double best;             /* its score                                                       */
    double next;             /* the best score below it; -INFINITY: there is none               */
    double worst;
    int64_t reserved[4];
} attsvm_term;

ATTSVM_API int64_t attsvm_scores_terms(const attsvm_scores *scores);
ATTSVM_API attsvm_term attsvm_scores_term(const attsvm_scores *scores, int64_t term);
ATTSVM_API double attsvm_scores_gamma(const attsvm_scores *scores, int64_t term, int64_t token);

/* A support token: a rival at the margin of a solution (a tight row, theory 4). */
typedef struct attsvm_support {
    attsvm_row row;   /* its sequence, query and token                            */
    int64_t term;     /* of the row                                               */
    int64_t selected; /* the selected token of that term                          */
    double margin;    /* <A, theta> - b                                           */
    double lambda;    /* multiplier in norm form; 0: tight but not active         */
    double advantage; /* gamma of the selected token minus gamma of this one      */
} attsvm_support;

/*
 * Optimality of the selection of a solved problem.  Local is strict: every support token has a
 * lower score than the selected one.  Global: the selected token is the optimal one, or a copy.
 */
typedef struct attsvm_optimality {
    bool local, global;
    bool unique; /* the norm has one minimiser, so that support does not depend on it     */
    bool tie;    /* an equality of scores decided: see the next two                       */
    int32_t padding;
    int64_t tied_optimal; /* terms with another token as good as the optimal one               */
    int64_t tied_support; /* support tokens with the score of the selected one                 */
    int64_t support;      /* support tokens                                                    */
    int64_t against;      /* of them, with a score that is not lower                           */
    int64_t missed;       /* terms whose selected token is not the optimal one                 */
    double advantage;     /* smallest over the support tokens; INFINITY: there is none          */
    int64_t reserved[8];
} attsvm_optimality;

/*
 * `solution` is of problem P, JOINT or W on the data and terms of `scores`.  support (capacity)
 * gets the first of the support tokens and may be NULL; info.tight of the solution is enough.  An
 * infeasible problem has neither support nor a locally optimal selection.  Soft margins and rank
 * limits are refused: they have a solution also where nothing separates the selection.
 */
ATTSVM_API attsvm_status attsvm_optimality_compute(attsvm_optimality *out,
                                                   const attsvm_scores *scores,
                                                   const attsvm_solution *solution,
                                                   attsvm_support *support, int64_t capacity,
                                                   attsvm_error *err);

typedef struct attsvm_enumerate_settings {
    int64_t max_selections; /* partial selections a round; above it a search replaces the list */
    int64_t descent_runs;   /* runs of descent that the search starts from                     */
    int64_t steps;          /* of each of these runs                                           */
    int64_t seed;           /* of their start values                                           */
    int64_t threads;        /* 0: all cores; the result does not depend on it                  */
    double time_limit;      /* seconds, after which the list is what was found; 0: none        */
    int64_t reserved[8];
} attsvm_enumerate_settings;

ATTSVM_API void attsvm_enumerate_settings_init(attsvm_enumerate_settings *settings);

/*
 * Every locally optimal selection, in lexicographic order; of copies of a token only the first is
 * named.  `scores` and `svm` (problem P or W) are of the same terms, and `scores` is borrowed.
 *
 * Selections grow sequence by sequence, and a beginning that nothing separates is not continued:
 * where this ends within `max_selections` a round the list is exhaustive.  Otherwise it is what a
 * search finds: the optimal tokens, the ends of descent from random starts, and again and again all
 * selections that differ from one found in one token.  `observer` (may be NULL) counts selections
 * whose SVM was solved, of a total that is not known; where it or the time limit stops the call the
 * list is what was found, and not exhaustive.
 */
typedef struct attsvm_enumeration attsvm_enumeration;

ATTSVM_API attsvm_status attsvm_enumerate(attsvm_enumeration **out, const attsvm_scores *scores,
                                          const attsvm_svm_settings *svm,
                                          const attsvm_enumerate_settings *settings,
                                          attsvm_observer *observer, void *context,
                                          attsvm_error *err);
ATTSVM_API void attsvm_enumeration_free(attsvm_enumeration *enumeration);

typedef struct attsvm_enumeration_info {
    int64_t count;   /* locally optimal selections found                                    */
    int64_t terms;   /* entries of each                                                     */
    int64_t judged;  /* whole selections whose SVM was solved                               */
    int64_t pruned;  /* beginnings that nothing separates                                   */
    int64_t stalled; /* selections whose SVM ended without a proof; more than 0: not exhaustive */
    double product;  /* of the numbers of tokens: all selections                            */
    bool exhaustive; /* the list is complete                                                 */
    bool searched;   /* there were more than max_selections: the list is what a search found */
    bool stopped;    /* by the observer or the time limit                                    */
    char padding[5];
    int64_t reserved[8];
} attsvm_enumeration_info;

/* A locally optimal selection; alpha (terms) is borrowed.  Those of all selections follow each
   other in memory. */
typedef struct attsvm_local_optimum {
    const int64_t *alpha;
    double norm, margin; /* of its SVM                                     */
    double advantage;    /* smallest over its support tokens               */
    bool global;
    char padding[7];
    int64_t reserved[4];
} attsvm_local_optimum;

ATTSVM_API attsvm_enumeration_info
attsvm_enumeration_describe(const attsvm_enumeration *enumeration);
ATTSVM_API attsvm_local_optimum attsvm_enumeration_get(const attsvm_enumeration *enumeration,
                                                       int64_t k);

/*
 * The SVM that training leads to (theory 3): problem, norm, q, query and head into `out`, the rest
 * its defaults.  *claimed (may be NULL) is false for step rules about which there is no claim; the
 * norm is then l2, fro, or nuc of K Q'.
 */
ATTSVM_API attsvm_status attsvm_train_limit(const attsvm_train_settings *train,
                                            attsvm_svm_settings *out, bool *claimed,
                                            attsvm_error *err);

/* Which conditions of the theorems the data meet (theory 4.2 and 6). */
typedef struct attsvm_conditions {
    bool equal_scores;   /* in every term all tokens but the optimal ones share one score       */
    bool unique_optimal; /* in no term two tokens, not copies, share the best score             */
    bool wide;           /* W: d >= max(queries, rivals), which separates every selection of
                            tokens in general position; p: the key differences are linearly
                            independent, which separates every selection                        */
    bool feasible;       /* something separates the optimal tokens: outcome is ATTSVM_OPTIMAL   */
    bool all_support;    /* every rival is tight there (theory 10.1): at every point the loss falls
                            along the SVM direction                                             */
    attsvm_outcome outcome; /* of the SVM of the optimal tokens                              */
    int64_t choices; /* terms whose tokens differ in score: without one attention changes nothing */
    int64_t queries; /* different ones; 1 for the prompt problems                           */
    int64_t rivals;  /* W: most tokens, less one a term, over the terms that share a query  */
    int64_t tokens;  /* of the longest sequence                                             */
    int64_t rows;    /* of the SVM of the optimal tokens: their rivals in all terms         */
    int64_t support; /* of them tight; -1: it is not optimal                                */
    double norm;     /* of the SVM of the optimal tokens, NAN where it is not optimal       */
    int64_t reserved[8];
} attsvm_conditions;

/*
 * Of a run that is over: its terms, its head as trained, the norm that it leads to.  Where
 * `observer` (may be NULL; its total is 0) stops it, ATTSVM_E_STOPPED.
 */
ATTSVM_API attsvm_status attsvm_conditions_compute(attsvm_conditions *out, const attsvm_train *run,
                                                   attsvm_observer *observer, void *context,
                                                   attsvm_error *err);

/*
 * The landscape at random points (theory 6.13, 10.1): directions uniform on the sphere, norms
 * log-uniform in 1e-2..1e3.
 */
typedef struct attsvm_landscape {
    int64_t samples;
    int64_t negative;   /* of them with <grad L, theta_svm> < 0                              */
    double share;       /* negative / samples; NAN where there is no SVM solution            */
    double largest;     /* cosine of grad L and theta_svm over the samples                   */
    attsvm_outcome svm; /* of the SVM of the optimal tokens                                  */
    int32_t padding;
    int64_t reserved[4];
} attsvm_landscape;

/* Models p and W with a fixed linear head, one process. */
ATTSVM_API attsvm_status attsvm_landscape_compute(attsvm_landscape *out, const attsvm_train *run,
                                                  int64_t samples, int64_t seed, attsvm_error *err);

/*
 * Words that exact descent never separates (theory 6.3): tokens are unit vectors, and two words
 * occur equally often in every sequence, start alike, count alike for the head, and are no query
 * and no label.  Their logits stay equal for ever; where one of them is selected, rounding chose
 * it. A sufficient test: other symmetries exist.  `run` has just been created.
 */
typedef struct attsvm_exchangeable {
    bool onehot; /* all tokens are unit vectors; false also where nothing was looked for: the rule
                    `coordinate` breaks ties by index, and a resumed run has a state of its own */
    char padding[7];
    int64_t groups; /* of exchangeable words                             */
    int64_t words;  /* in these groups, at least two in each             */
    int64_t reserved[8];
} attsvm_exchangeable;

ATTSVM_API attsvm_status attsvm_exchangeable_compute(attsvm_exchangeable *out,
                                                     const attsvm_train *run, attsvm_error *err);

/*
 * Joint training of head and prompt (models vp and vpW; theory 6.8).  Gamma is the margin of the
 * v-SVM of the selected tokens, Gamma(p) that of the tokens as p pools them, and
 *
 *   nu(p) = (Gamma - Gamma(p)) / max_i (1 - s_i,alpha).
 *
 * Assumption B asks for nu(p) >= nu > 0 at every p; the search tries to refute it.
 */
typedef struct attsvm_joint_settings {
    int64_t samples;   /* random directions, each at the norms 1, 3, 10 and 30            */
    int64_t descent;   /* steps of local descent from the smallest nu found               */
    int64_t seed;      /* of both                                                         */
    int64_t threads;   /* 0: all cores; the result does not depend on it                  */
    double time_limit; /* seconds, after which it fails with ATTSVM_E_STOPPED; 0: none  */
    int64_t reserved[8];
} attsvm_joint_settings;

ATTSVM_API void attsvm_joint_settings_init(attsvm_joint_settings *settings);

typedef struct attsvm_joint {
    attsvm_outcome outcome; /* of the v-SVM; the rest is NAN where it is not optimal         */
    bool all_tight;         /* every sequence is: what Assumption B is about                 */
    char padding[3];
    int64_t tight;              /* sequences at the margin of the v-SVM                          */
    int64_t tried;              /* points p of the search                                        */
    double margin;              /* Gamma                                                         */
    double label_margin;        /* Gamma(p) at the end of the run; 0: labels are not separated   */
    double nu;                  /* smallest found                                                */
    double nu_norm;             /* |p| there                                                     */
    double relaxed, unrelaxed;  /* norms of the joint problem and of problem P                   */
    double correlation_v;       /* of the trained head to the v-SVM                              */
    double correlation_relaxed; /* of the trained theta to each                                  */
    double correlation_unrelaxed;
    double ratio;        /* |v| / |theta| at the end                                      */
    double ratio_needed; /* the least ratio for which a path leads to the relaxed one     */
    int64_t reserved[8];
} attsvm_joint;

/*
 * `run` is over and its model is vp or vpW with a linear head.  With a record its iterates are
 * searched too.  `solution` (may be NULL) gets the joint problem's, whose claim.head is the v-SVM;
 * NULL where the v-SVM has none.  `observer` (may be NULL) counts points p of the search; where it
 * stops the call, ATTSVM_E_STOPPED.
 */
ATTSVM_API attsvm_status attsvm_joint_compute(attsvm_joint *out, const attsvm_train *run,
                                              const attsvm_joint_settings *settings,
                                              attsvm_observer *observer, void *context,
                                              attsvm_solution **solution, attsvm_error *err);

/* What a trained model is, in this order. */
typedef enum attsvm_verdict_kind {
    ATTSVM_VERDICT_NONE = 0,
    ATTSVM_VERDICT_UNSATURATED, /* some selected token has less than 1 - 1e-3 of the attention  */
    ATTSVM_VERDICT_INFEASIBLE,  /* nothing separates the selected tokens: ties of logits        */
    ATTSVM_VERDICT_GLOBAL,      /* the optimal tokens                                           */
    ATTSVM_VERDICT_LOCAL,       /* locally optimal tokens                                       */
    ATTSVM_VERDICT_NOT_LOCAL,   /* a support token has a score that is not lower                */
} attsvm_verdict_kind;

/* "unsaturated", "global", "not_local", ...; NULL for a number that is not a verdict. */
ATTSVM_API const char *attsvm_verdict_name(attsvm_verdict_kind kind);

/* A number that was not computed is NAN. */
typedef struct attsvm_verdict {
    attsvm_verdict_kind kind;
    attsvm_outcome outcome;  /* of the SVM of the selected tokens                        */
    attsvm_svm_settings svm; /* that was solved                                          */
    bool claimed;            /* theory predicts this norm for the step rule              */
    char padding[7];
    attsvm_optimality optimality; /* of the selected tokens, by the scores of the trained head */
    int64_t terms;
    double attention;   /* of the selected token, smallest over terms               */
    double norm;        /* |theta| in the norm of the SVM                           */
    double correlation; /* <theta, theta_svm> / (|theta| |theta_svm|), Frobenius    */
    double angle;       /* between them, degrees                                    */
    double efficiency;  /* smallest margin of theta / |theta| * |theta_svm|         */
    double margin, gap; /* of the SVM                                               */
    int64_t undecided;  /* terms whose selected token has less than 1 - 1e-3 of the attention */
    int64_t unpulled;   /* of these, terms whose loss slope is below 2^-53 of the largest one:
                           their gradient no longer counts, and more steps do not decide them */
    int64_t reserved[8];
} attsvm_verdict;

/* Correlation <a,b>/(|a||b|) of two vectors, or of matrices as such; NAN where one of them is 0. */
ATTSVM_API double attsvm_correlation(const double *a, const double *b, int64_t count);

/*
 * The verdict on a run that is over.  `svm` chooses another SVM than the predicted one (its
 * problem, query and head must fit the model) and may be NULL.  *solution (may be NULL) is the SVM
 * solution, the caller's to free.  For pW and vpW theta is W'p, and the SVM is that of the tokens
 * themselves, whatever key map the data set has.  Where `observer` (may be NULL; its total is 0)
 * stops the solve, the verdict rests on its best so far, and outcome says so.
 */
ATTSVM_API attsvm_status attsvm_verdict_compute(attsvm_verdict *out, const attsvm_train *run,
                                                const attsvm_svm_settings *svm,
                                                attsvm_observer *observer, void *context,
                                                attsvm_solution **solution, attsvm_error *err);

/* -------------------------------------------------------------- several tokens */

/*
 * A trained W whose attention keeps several tokens, as under a nonlinear head (theory 6.9), against
 * W_fin + R W_svm.  A number that was not computed is NAN.
 */
typedef struct attsvm_multi_token {
    attsvm_outcome svm, finite; /* of the problems MULTI and FINITE of the kept sets             */
    attsvm_outcome single;      /* of the problem W of the tokens of most attention              */
    int32_t padding;
    int64_t kept;              /* tokens in the sets, over all terms                             */
    int64_t several;           /* terms that keep more than one                                  */
    double least_kept;         /* smallest attention of a kept token                             */
    double most_masked;        /* largest attention of another                                   */
    double R;                  /* least squares of W - W_fin along W_svm                         */
    double correlation;        /* of W with W_fin + R W_svm; predictivity is 1 minus it          */
    double correlation_svm;    /* with W_svm alone                                               */
    double correlation_single; /* with the one-token SVM                                         */
    double svm_norm;           /* of W_svm, in its own norm                                      */
    int64_t reserved[8];
} attsvm_multi_token;

/*
 * W is (d,d).  Of `settings` (may be NULL) the query, the threshold above which attention keeps a
 * token, the norm of W_svm (W_fin is the least in the Frobenius norm) and the tolerances count.
 * W_fin, W_svm (d,d) and sets (cells) may be NULL.  May be called from several threads at once;
 * settings->threads = 1 is then the best choice.
 */
ATTSVM_API attsvm_status attsvm_multi_token_compare(attsvm_multi_token *out,
                                                    const attsvm_data *data, const double *W,
                                                    const attsvm_svm_settings *settings,
                                                    double *W_fin, double *W_svm, uint8_t *sets,
                                                    attsvm_error *err);

/* ----------------------------------------------------------------------- paths */

/*
 * Regularisation paths (theory 6.7 to 6.9): the parameters of least loss in growing balls,
 *
 *   p_R = argmin L over |p| <= R;  |W|_F <= R;  |K|^2 + |Q|^2 <= 2 R;  |p| <= R and |v| <= r,
 *
 * or of least loss plus a vanishing ridge.  Texts are borrowed and are what the flags take: radii
 * and ridge_path "FIRST:LAST:COUNT", log-spaced; loss as in training.
 */
typedef struct attsvm_path_settings {
    const char *radii;      /* R                                                            */
    const char *ridge_path; /* instead of radii: rho of L + rho |theta|^2; empty: none      */
    const char *loss;
    double ratio;        /* model vp: r = ratio R                                            */
    double head_radius;  /* model vp: r is this at every R; 0: by the ratio                  */
    double cone;         /* local path: cos(angle to the SVM direction) >= 1 - cone; 0: none */
    double threshold;    /* nonlinear heads: attention above it keeps a token                */
    int64_t starts;      /* random directions that the search starts from                    */
    int64_t rank;        /* columns of K and Q; 0: d                                         */
    int64_t seed;        /* of the random directions                                         */
    int64_t threads;     /* 0: all cores                                                     */
    double time_limit;   /* seconds, after which the path ends at its last point; 0: none    */
    double kappa;        /* of ATTSVM_HEAD_CONCAVE                                           */
    int64_t query_token; /* of ATTSVM_QUERY_TOKEN                                           */
    int32_t query;       /* attsvm_query                                                     */
    int32_t head;        /* attsvm_head                                                      */
    int32_t model;       /* ATTSVM_MODEL_P, W, KQ or VP                                      */
    int32_t padding;
    int64_t reserved[8];
} attsvm_path_settings;

ATTSVM_API void attsvm_path_settings_init(attsvm_path_settings *settings);

/* Where the joint path of v and p leads (theory 6.8). */
typedef enum attsvm_joint_case {
    ATTSVM_JOINT_NONE = 0,  /* another model, or no SVM to compare with                        */
    ATTSVM_JOINT_RELAXED,   /* r grows fast enough: p to the joint problem                     */
    ATTSVM_JOINT_UNRELAXED, /* r is bounded: p to the p problem                                */
    ATTSVM_JOINT_ALL_TIGHT, /* all sequences are tight in the v-SVM: both problems are the same */
    ATTSVM_JOINT_BETWEEN,   /* r grows too slowly for the one, too fast for the other          */
} attsvm_joint_case;

/* "relaxed", "between", ...; NULL for a number that is not a case. */
ATTSVM_API const char *attsvm_joint_case_name(attsvm_joint_case which);

/* A number that was not computed is NAN (counts: -1). */
typedef struct attsvm_path_info {
    int64_t points, terms;
    attsvm_outcome svm; /* of the problem that `correlation` compares with             */
    attsvm_joint_case joint;
    double svm_norm, svm_gap;
    double least_ratio;         /* joint: from this ratio on the relaxed problem is the limit  */
    double correlation;         /* at the last point; of the others see the array              */
    int64_t solves;             /* local minimisations                                         */
    int64_t evaluations;        /* of loss and gradient                                        */
    int64_t kept;               /* tokens that keep attention at the last point, over all terms */
    int64_t zero_weight_tokens; /* nonlinear heads: tokens whose attention has zero gradient   */
    int64_t kinks;              /* ReLU head: terms whose pooled token has a unit at 0         */
    double seconds;
    int64_t reserved[8];
} attsvm_path_info;

typedef struct attsvm_path attsvm_path;

/*
 * Follows a path.  The alpha of `selection` (copied; NULL: the best scores, for vp the tokens that
 * the path itself ends on) are the tokens of the SVM to compare with, and the centre of a cone.
 * `observer` (may be NULL) counts points; false ends the path at the last one.  On failure *out is
 * NULL.
 */
ATTSVM_API attsvm_status attsvm_path_follow(attsvm_path **out, const attsvm_data *data,
                                            const attsvm_path_settings *settings,
                                            const attsvm_selection *selection,
                                            attsvm_observer *observer, void *context,
                                            attsvm_error *err);
ATTSVM_API void attsvm_path_free(attsvm_path *path);
ATTSVM_API attsvm_path_info attsvm_path_describe(const attsvm_path *path);

/*
 * Results, borrowed from the path, one entry a point: radius, correlation, loss, loss_excess,
 * log_excess, efficiency, attention, margin, inside, selected (points,terms), theta, and by model K
 * and Q, or v, radius_v, correlation_v, correlation_relaxed, correlation_unrelaxed; svm, the
 * direction compared with; ridge; with a nonlinear head predictivity.
 */
ATTSVM_API int64_t attsvm_path_count(const attsvm_path *path);
ATTSVM_API const attsvm_named_array *attsvm_path_array(const attsvm_path *path, int64_t k);
/* The result of that name, or NULL. */
ATTSVM_API const attsvm_array *attsvm_path_find(const attsvm_path *path, const char *name);

/* ------------------------------------------------------- next-token prediction */

/*
 * Contexts with labels (E, tokens, offsets, labels), the query being the last token.  For each last
 * token a graph over words with an edge from the label to every other word of the context (theory
 * 6.14).  Between strongly connected components attention decides, inside them it stays divided.
 */
typedef struct attsvm_graph attsvm_graph;

/* `data` is borrowed and must outlive the graph. */
ATTSVM_API attsvm_status attsvm_graph_create(attsvm_graph **out, const attsvm_data *data,
                                             attsvm_error *err);
ATTSVM_API void attsvm_graph_free(attsvm_graph *graph);

typedef struct attsvm_graph_info {
    int64_t lasts;      /* last tokens, each with its graph         */
    int64_t words;      /* nodes of all graphs                      */
    int64_t edges;      /* different edges of all graphs            */
    int64_t components; /* strongly connected components            */
    int64_t cyclic;     /* those of more than one word              */
    int64_t reserved[4];
} attsvm_graph_info;
ATTSVM_API attsvm_graph_info attsvm_graph_describe(const attsvm_graph *graph);

typedef struct attsvm_graph_edge {
    int64_t from, to; /* places in `word` of the part              */
    int64_t count;    /* contexts that have it                     */
} attsvm_graph_edge;

/* The graph of one last token; arrays are borrowed from the graph. */
typedef struct attsvm_graph_part {
    int64_t last;             /* row of E                                                     */
    int64_t words;            /* nodes                                                        */
    const int32_t *word;      /* (words) rows of E, increasing                                */
    const int32_t *component; /* (words) number of its component: edges lead from lower to higher
                                 numbers, or stay inside                                      */
    int64_t components;
    int64_t edges;
    const attsvm_graph_edge *edge;
    int64_t reserved[4];
} attsvm_graph_part;
ATTSVM_API attsvm_graph_part attsvm_graph_part_of(const attsvm_graph *graph, int64_t k);

/*
 * Sets (tokens) for ATTSVM_PROBLEM_MULTI with ATTSVM_QUERY_LAST, which is then the graph SVM: the
 * tokens of the label's component.  Borrowed from the graph.
 */
ATTSVM_API const uint8_t *attsvm_graph_sets(const attsvm_graph *graph);

/*
 * The finite part into W (d,d): of the matrices spanned by (e_a - e_b) e_k', a and b in one
 * component of the graph of k, the one with the least loss over contexts cut down to the label's
 * component.  `observer` (may be NULL) counts evaluations; where it stops the call W is the best so
 * far, and info.converged is false.
 */
typedef struct attsvm_graph_finite_info {
    double norm;        /* |W|_F                                          */
    double loss;        /* least loss, which is that of the whole problem */
    double gradient;    /* its norm at the end                            */
    int64_t iterations; /* of L-BFGS                                      */
    bool converged;     /* gradient at most 1e-10                         */
    char padding[7];
    int64_t reserved[8];
} attsvm_graph_finite_info;
ATTSVM_API attsvm_status attsvm_graph_finite(const attsvm_graph *graph, double *W,
                                             attsvm_graph_finite_info *info,
                                             attsvm_observer *observer, void *context,
                                             attsvm_error *err);

/* A trained W (d,d) against finite + R direction.  A number that does not apply is NAN. */
typedef struct attsvm_graph_match {
    double finite_error; /* |projection of W on the cyclic subspace - finite| / |finite|    */
    double correlation;  /* of the rest of W with the direction                              */
    double together;     /* of W with finite + R direction                                   */
    double R;            /* along the direction                                              */
    int64_t reserved[4];
} attsvm_graph_match;
ATTSVM_API attsvm_status attsvm_graph_compare(const attsvm_graph *graph, const double *W,
                                              const double *finite, const double *direction,
                                              attsvm_graph_match *out, attsvm_error *err);

/* ----------------------------------------------------------------- classifiers */

/*
 * One attention layer with a bias that learns from labelled bags and predicts others (theory,
 * section 8).  With phi(x) = (x - mu) / (sigma sqrt(d)) the scores of a bag are
 *
 *   prompt   f_c = sum_h sum_t softmax_t(phi_t' p_h) phi_t' v_hc + b_c
 *   score    f_c = sum_t softmax_t(beta_c phi_t' v_c) phi_t' v_c + b_c
 *   witness  f   = (1/beta) log sum_t exp(beta phi_t' v) + b       two classes
 *   mean     f_c = mean_t phi_t' v_c + b_c
 *
 * Two classes have one score, positive for the second class.  A model is an ensemble: its score is
 * the average over `starts` minimisations from different random values.
 */
typedef enum attsvm_pool {
    ATTSVM_POOL_AUTO = 1, /* prompt or score, by validation inside the training data */
    ATTSVM_POOL_PROMPT,
    ATTSVM_POOL_SCORE,
    ATTSVM_POOL_WITNESS,
    ATTSVM_POOL_MEAN,
} attsvm_pool;

typedef enum attsvm_scale {
    ATTSVM_SCALE_STANDARD = 1, /* mu, sigma of the training tokens          */
    ATTSVM_SCALE_NONE,         /* phi(x) = x; always so for one-hot words   */
} attsvm_scale;

typedef enum attsvm_weighting {
    ATTSVM_WEIGHTS_BALANCED = 1, /* every class has the same total weight   */
    ATTSVM_WEIGHTS_EQUAL,        /* every bag has the same weight           */
} attsvm_weighting;

#define ATTSVM_RIDGE_AUTO (-1.0) /* by validation inside the training data */

typedef struct attsvm_fit_settings {
    double ridge;       /* lambda of lambda |v|^2 + lambda |p|^2; ATTSVM_RIDGE_AUTO          */
    double time_limit;  /* seconds, after which it fails with ATTSVM_E_STOPPED; 0: none      */
    int64_t heads;      /* H prompts; pool prompt only                                       */
    int64_t starts;     /* members of the ensemble                                           */
    int64_t iterations; /* of L-BFGS, at most, for each member                               */
    int64_t batch;      /* token values (tokens x d) above which a member first descends on
                           mini-batches                                                      */
    int64_t seed;
    int64_t threads; /* 0: all cores; same results for any                                   */
    int32_t pool;    /* attsvm_pool                                                          */
    int32_t scale;   /* attsvm_scale                                                         */
    int32_t weights; /* attsvm_weighting                                                     */
    int32_t padding;
    int64_t reserved[8];
} attsvm_fit_settings;

ATTSVM_API void attsvm_fit_settings_init(attsvm_fit_settings *settings);

/* What each bag of a data set is; arrays are borrowed. */
typedef struct attsvm_targets {
    const int64_t *label;        /* (n) class number, 0..classes-1                           */
    int64_t classes;             /* at least 2; each must have a bag of positive weight      */
    const double *sample_weight; /* (n) or NULL.  Bags of weight 0 are removed before all else */
    const double *class_weight;  /* (classes) factors in place of settings.weights, or NULL  */
} attsvm_targets;

typedef struct attsvm_classifier attsvm_classifier;

/*
 * Learns a classifier.  `data` and `targets` are borrowed until the call returns; labels of the
 * data set itself do not count.  `observer` (may be NULL) counts minimisations; where it stops the
 * call, ATTSVM_E_STOPPED.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_classifier_fit(attsvm_classifier **out, const attsvm_data *data,
                                               const attsvm_targets *targets,
                                               const attsvm_fit_settings *settings,
                                               attsvm_observer *observer, void *context,
                                               attsvm_error *err);
ATTSVM_API void attsvm_classifier_free(attsvm_classifier *classifier);

typedef struct attsvm_classifier_info {
    int64_t d, classes, outputs; /* outputs: scores of a bag, 1 for two classes              */
    int64_t heads, starts;
    int64_t words;        /* of the vocabulary; 0: not a model of text                     */
    int64_t embedded;     /* columns of the word vectors, 0: one-hot words or no text      */
    double ridge;         /* lambda, chosen or given                                       */
    double loss;          /* of the training data, ridge included, mean of the members     */
    double gradient;      /* largest norm of a gradient at the end                         */
    double accuracy;      /* of the ensemble on the training data                          */
    int64_t iterations;   /* of all members                                                */
    int64_t evaluations;  /* likewise, validation included                                 */
    int64_t converged;    /* members whose gradient is small enough                        */
    double validation[2]; /* auto: error + 1 - AUC of prompt and score at the chosen ridge */
    double seconds;
    int32_t pool;  /* attsvm_pool, chosen or given                                           */
    int32_t scale; /* attsvm_scale                                                           */
} attsvm_classifier_info;
ATTSVM_API attsvm_classifier_info attsvm_classifier_describe(const attsvm_classifier *classifier);

/* Arrays of the model, borrowed: p (starts,heads,d), v (starts,heads,outputs,d), beta
   (starts,outputs), b (starts,outputs), mu (d), sigma (d); NULL where it has none of that name. */
ATTSVM_API const attsvm_array *attsvm_classifier_find(const attsvm_classifier *classifier,
                                                      const char *name);

/* Names of the classes, "0", "1", ... unless named; NULL beyond them.  The names are copied. */
ATTSVM_API const char *attsvm_classifier_class(const attsvm_classifier *classifier, int64_t k);
ATTSVM_API attsvm_status attsvm_classifier_name_classes(attsvm_classifier *classifier,
                                                        const char *const *names,
                                                        attsvm_error *err);
/* Word k of the vocabulary; NULL beyond it. */
ATTSVM_API const char *attsvm_classifier_word(const attsvm_classifier *classifier, int64_t k);

/* The link to the theory: the prompt of the first member on the training selection. */
typedef struct attsvm_classifier_attention {
    attsvm_outcome outcome; /* of the p-SVM that selects the most attended tokens; NOT_RUN for the
                               pool mean, several heads or outputs, and beyond 2e7 values    */
    int32_t reserved;
    double margin;      /* of the SVM                                                        */
    double efficiency;  /* (smallest margin of p / |p|) / margin                             */
    double correlation; /* of p with the SVM solution                                        */
} attsvm_classifier_attention;
ATTSVM_API attsvm_status attsvm_classifier_attend(const attsvm_classifier *classifier,
                                                  const attsvm_data *data,
                                                  attsvm_classifier_attention *out,
                                                  attsvm_error *err);

/* ----------------------------------------------------------------- predictions */

typedef struct attsvm_predict_settings {
    int64_t threads; /* 0: all cores                                                         */
    int64_t seed;    /* of the random order that faithfulness is compared with               */
    bool explain;    /* decider, runner_up, flips, agreement, contribution, ...              */
    bool faithful;   /* comprehensiveness and sufficiency                                    */
    char padding[6];
    int64_t reserved[8];
} attsvm_predict_settings;
ATTSVM_API void attsvm_predict_settings_init(attsvm_predict_settings *settings);

/*
 * Scores of a data set, which needs no labels.  Arrays: label (n), score (n) or (n,C), probability
 * (n,C); with `explain` decider, runner_up (n; -1: none), flips (n), agreement (n), key (n: the
 * token of largest contribution to the last class), attention (N), contribution (N, to the
 * predicted class), instance_score (N).
 */
typedef struct attsvm_prediction attsvm_prediction;

typedef struct attsvm_prediction_info {
    int64_t n, classes;
    int64_t empty;  /* bags without tokens: their score is the bias                          */
    double absence; /* share of bags predicted negative that turn positive when one token is
                       removed; NAN without `explain` and for more than two classes          */
    /* `faithful`: mean fall of the probability of the predicted class when the 1, 3 and
       ceil(T/10) top tokens are removed, or alone are kept; and the same in a random order */
    double comprehensiveness[3], sufficiency[3];
    double random_comprehensiveness[3], random_sufficiency[3];
} attsvm_prediction_info;

ATTSVM_API attsvm_status attsvm_classifier_predict(attsvm_prediction **out,
                                                   const attsvm_classifier *classifier,
                                                   const attsvm_data *data,
                                                   const attsvm_predict_settings *settings,
                                                   attsvm_error *err);
ATTSVM_API void attsvm_prediction_free(attsvm_prediction *prediction);
ATTSVM_API attsvm_prediction_info attsvm_prediction_describe(const attsvm_prediction *prediction);
ATTSVM_API int64_t attsvm_prediction_count(const attsvm_prediction *prediction);
ATTSVM_API const attsvm_named_array *attsvm_prediction_array(const attsvm_prediction *prediction,
                                                             int64_t k);
ATTSVM_API const attsvm_array *attsvm_prediction_find(const attsvm_prediction *prediction,
                                                      const char *name);

/* How good predictions are; a number that does not apply is NAN. */
typedef struct attsvm_measures {
    int64_t n;       /* bags with a label that the model knows                             */
    double accuracy; /* share of right labels                                              */
    double auc;      /* two classes: area under the ROC curve; else the mean of one against
                        the rest                                                           */
    double log_loss; /* mean of -log probability of the true class                         */
    double hits;     /* of attsvm_measure_hits                                             */
} attsvm_measures;
/* score (n) or (n,C), label (n; -1: unknown, left out); confusion (C,C: true, predicted) or NULL */
ATTSVM_API attsvm_status attsvm_measure(attsvm_measures *out, const double *score,
                                        const int64_t *label, int64_t n, int64_t classes,
                                        int64_t *confusion, attsvm_error *err);
/*
 * Share of bags of the last class that hold a token of instance label `which`, whose `key` (n) is
 * such a token; NAN where there is no such bag.  inst has one entry a token.
 */
ATTSVM_API double attsvm_measure_hits(const attsvm_data *data, const int64_t *label,
                                      int64_t classes, const int64_t *key, const attsvm_array *inst,
                                      int64_t which);

/* ------------------------------------------------------------ cross-validation */

typedef struct attsvm_cv_settings {
    int64_t folds;   /* stratified, shuffled by the seed of the fit                          */
    int64_t repeats; /* with other folds                                                     */
    int64_t reserved[8];
} attsvm_cv_settings;
ATTSVM_API void attsvm_cv_settings_init(attsvm_cv_settings *settings);

typedef struct attsvm_cv attsvm_cv;

typedef struct attsvm_cv_info {
    int64_t n, classes, folds, repeats;
    attsvm_measures mean;      /* over repetitions; each is measured over all its bags        */
    attsvm_measures deviation; /* between repetitions; NAN for one                           */
    int64_t evaluations, iterations;
    double seconds;
} attsvm_cv_info;

/*
 * Cross-validates.  `fold` (repeats,n), numbers from 0 on, gives the folds; NULL: stratified ones.
 * `inst` (tokens, NULL: none) and `which` are for hits.  `observer` (may be NULL) counts folds;
 * where it stops the call, ATTSVM_E_STOPPED.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_cv_run(attsvm_cv **out, const attsvm_data *data,
                                       const attsvm_targets *targets,
                                       const attsvm_fit_settings *fit,
                                       const attsvm_cv_settings *settings, const int64_t *fold,
                                       const attsvm_array *inst, int64_t which,
                                       attsvm_observer *observer, void *context, attsvm_error *err);
ATTSVM_API void attsvm_cv_free(attsvm_cv *cv);
ATTSVM_API attsvm_cv_info attsvm_cv_describe(const attsvm_cv *cv);
/* Borrowed: fold (R,n), label, key (R,n), score (R,n) or (R,n,C), pool (R,F) and ridge (R,F) that
   were chosen, accuracy, auc, log_loss, hits (R).  NULL where there is none of that name. */
ATTSVM_API int64_t attsvm_cv_count(const attsvm_cv *cv);
ATTSVM_API const attsvm_named_array *attsvm_cv_array(const attsvm_cv *cv, int64_t k);
ATTSVM_API const attsvm_array *attsvm_cv_find(const attsvm_cv *cv, const char *name);

/*
 * Two models on the same folds: mean difference of accuracy (first minus second) and its standard
 * error over bags, each bag's difference averaged over repetitions.  label (R,n) predicted.
 */
typedef struct attsvm_paired {
    double difference, standard_error;
} attsvm_paired;
ATTSVM_API attsvm_paired attsvm_cv_compare(const int64_t *first, const int64_t *second,
                                           const int64_t *label, int64_t repeats, int64_t n);

/* Stratified folds into fold (n): bags of each class in random order, dealt out in turn. */
ATTSVM_API attsvm_status attsvm_cv_folds(const int64_t *label, int64_t n, int64_t classes,
                                         int64_t folds, int64_t seed, int64_t *fold,
                                         attsvm_error *err);

/* ------------------------------------------------- labelled bags, texts, images */

/*
 * What a classifier is fitted to or applied to, read from a file: bags (any file that
 * attsvm_archive_open reads; labels y or Y are any integers; fold (n) or (R,n) and inst (N) are
 * kept), or texts.  A text file has lines `label<TAB>text`, or is CSV with columns label and text
 * (a file to predict needs no labels), UTF-8.  Words are lower-cased runs of letters and digits
 * with inner apostrophes and hyphens; every other printable character is a word of its own.
 */
typedef struct attsvm_samples attsvm_samples;

typedef struct attsvm_samples_settings {
    const char *embeddings; /* word vectors: GloVe text, or .npz with E and words; empty: one-hot */
    int64_t threads;
    int64_t memory; /* as in attsvm_read_settings                                            */
    bool text;      /* read as text, whatever the name of the file                           */
    char padding[7];
    int64_t reserved[8];
} attsvm_samples_settings;
ATTSVM_API void attsvm_samples_settings_init(attsvm_samples_settings *settings);

typedef struct attsvm_samples_info {
    int64_t n;
    int64_t classes;    /* names of labels in the file; with a model those of the model        */
    int64_t repeats;    /* rows of fold; 0: none                                               */
    int64_t words;      /* of the vocabulary; 0: bags                                          */
    int64_t embedded;   /* columns of the word vectors; 0: one-hot or bags                     */
    int64_t dropped;    /* tokens whose word is not in the vocabulary                          */
    int64_t empty;      /* texts that have no word of the vocabulary                           */
    int64_t unlabelled; /* samples without a label, or with one that the model does not have  */
} attsvm_samples_info;

/*
 * With a model (NULL: none) its vocabulary and its classes count: words that it has not seen are
 * dropped.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_samples_read(attsvm_samples **out, const char *path,
                                             const attsvm_samples_settings *settings,
                                             const attsvm_classifier *model, attsvm_error *err);
/* Texts in memory; label (n) may be NULL. */
ATTSVM_API attsvm_status attsvm_samples_texts(attsvm_samples **out, const char *const *text,
                                              const char *const *label, int64_t n,
                                              const attsvm_samples_settings *settings,
                                              const attsvm_classifier *model, attsvm_error *err);
ATTSVM_API void attsvm_samples_free(attsvm_samples *samples);
ATTSVM_API attsvm_samples_info attsvm_samples_describe(const attsvm_samples *samples);
/* Borrowed from the samples: data, class number of each sample (n; -1: none; NULL: no labels at
   all), folds (repeats,n), any other array of the file. */
ATTSVM_API const attsvm_data *attsvm_samples_data(const attsvm_samples *samples);
ATTSVM_API const int64_t *attsvm_samples_label(const attsvm_samples *samples);
ATTSVM_API const int64_t *attsvm_samples_fold(const attsvm_samples *samples);
ATTSVM_API const attsvm_array *attsvm_samples_array(const attsvm_samples *samples,
                                                    const char *name);
/* Name of class k; token t of sample i as a word (NULL: bags); NULL beyond them. */
ATTSVM_API const char *attsvm_samples_class(const attsvm_samples *samples, int64_t k);
ATTSVM_API const char *attsvm_samples_word(const attsvm_samples *samples, int64_t i, int64_t t);

/* Class names, vocabulary and word vectors of the samples that a classifier was fitted to, so that
   it can read texts by itself. */
ATTSVM_API attsvm_status attsvm_classifier_adopt(attsvm_classifier *classifier,
                                                 const attsvm_samples *samples, attsvm_error *err);

/*
 * Images (n,h,w), or (n,h*w) for squares, cut into tokens: windows of size x size pixels, row by
 * row, with their place (top, left, from -1 to 1) as two more features where asked for.
 */
typedef struct attsvm_patches_settings {
    const char *images, *labels; /* names of the arrays                                      */
    int64_t size, stride;
    bool positions;
    char padding[7];
    int64_t reserved[8];
} attsvm_patches_settings;
ATTSVM_API void attsvm_patches_settings_init(attsvm_patches_settings *settings);

typedef struct attsvm_patches_info {
    int64_t n, height, width, rows, columns, d; /* rows x columns windows an image           */
} attsvm_patches_info;
/* Reads `from` and writes X, y, fold (where there is one) and patches (size, stride, rows,
   columns, height, width) to `to`. */
ATTSVM_API attsvm_status attsvm_patches_cut(const char *from, const char *to,
                                            const attsvm_patches_settings *settings,
                                            attsvm_patches_info *info, attsvm_error *err);

/* ------------------------------------------------------------- results on disk */

/*
 * Results are archives, by preference `.npz`; docs/format.md lists their arrays.  A loaded result
 * needs the data set that it was computed from.
 */

/*
 * The tokens that `source` names: "opt", the best scores; "ids" or "sets", arrays of the data set;
 * otherwise a result file, whose ids or softmax are taken.  NULL or "": "sets" for MULTI and
 * FINITE, else "opt".  A fault of the data set is ATTSVM_E_DATA, one of the result file
 * ATTSVM_E_FORMAT.  `data` is borrowed until the call returns.  On failure *out is NULL.
 */
typedef struct attsvm_chosen attsvm_chosen;

typedef struct attsvm_chosen_info {
    attsvm_selection selection; /* for attsvm_problem_create; borrowed from the object */
    const char *source;         /* "opt", "ids", "sets" or the file; likewise          */
    int64_t ties;               /* opt: terms in which a tie of scores decided         */
    int64_t reserved[4];
} attsvm_chosen_info;

ATTSVM_API attsvm_status attsvm_chosen_create(attsvm_chosen **out, const attsvm_data *data,
                                              const attsvm_svm_settings *settings,
                                              const char *source, attsvm_error *err);
ATTSVM_API attsvm_chosen_info attsvm_chosen_describe(const attsvm_chosen *chosen);
ATTSVM_API void attsvm_chosen_free(attsvm_chosen *chosen);

/*
 * How a result was made: every file that the calls below save says so, in its array `settings`
 * (JSON).  *out is NULL where the file does not say.
 */
typedef struct attsvm_origin attsvm_origin;

typedef struct attsvm_origin_info {
    const char *verb;                   /* "train", "svm", "verify", "tokens", "path"           */
    const char *version;                /* of the library                                        */
    const char *file;                   /* of the data, without folders; "": arrays in memory    */
    const char *fingerprint;            /* of the data                                           */
    const attsvm_train_settings *train; /* NULL: nothing was trained                             */
    const attsvm_svm_settings *svm;     /* NULL: no problem was solved                           */
    const attsvm_path_settings *path;   /* NULL: no path was followed                            */
    const double *v;                    /* (v_count) the trained head; NULL: it was not trained  */
    int64_t v_count;
    int64_t reserved[4];
} attsvm_origin_info;

ATTSVM_API attsvm_status attsvm_origin_read(attsvm_origin **out, const char *path,
                                            attsvm_error *err);
ATTSVM_API void attsvm_origin_free(attsvm_origin *origin);
/* Borrows from the origin. */
ATTSVM_API attsvm_origin_info attsvm_origin_describe(const attsvm_origin *origin);
/* The problem, query and head that the result is about; the other settings stay as they are. */
ATTSVM_API attsvm_status attsvm_origin_svm(const attsvm_origin *origin,
                                           attsvm_svm_settings *settings, attsvm_error *err);
/*
 * ATTSVM_E_ARG, naming both sides, where the result is of another data set, or of a model that
 * `svm` (may be NULL) is not a problem of.
 */
ATTSVM_API attsvm_status attsvm_origin_check(const attsvm_origin *origin, const attsvm_data *data,
                                             const attsvm_svm_settings *svm, attsvm_error *err);

/* Writes a solution with all that a check needs, and up to 8 `more` arrays (count). */
ATTSVM_API attsvm_status attsvm_solution_save(const attsvm_solution *solution,
                                              const attsvm_data *data, const char *path,
                                              const attsvm_named_array *more, int64_t count,
                                              attsvm_error *err);
/*
 * Reads a solution, also that of a verdict.  Its info has the claimed outcome and nothing else:
 * attsvm_check says what the claim is worth.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_solution_load(attsvm_solution **out, const attsvm_data *data,
                                              const char *path, attsvm_error *err);

/*
 * Writes the arrays of a run that is over, and `more` (count) after them.  With several ranks all
 * call it, and rank 0 says where (path NULL: nowhere).
 */
ATTSVM_API attsvm_status attsvm_train_save(const attsvm_train *train, const char *path,
                                           const attsvm_named_array *more, int64_t count,
                                           attsvm_error *err);
/*
 * Reads a run that is over: its settings, parameters and trace; what attsvm_train_describe tells is
 * computed again, but for seconds, which are 0.  `loss` and `head` are the functions that it was
 * made with.  It goes on (attsvm_train_continue) where its step rule has no state, otherwise
 * settings.checkpoint keeps what is needed.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_train_load(attsvm_train **out, const attsvm_data *data,
                                           const char *path, const attsvm_loss_callback *loss,
                                           const attsvm_head_callback *head, attsvm_error *err);

/*
 * Writes a verdict with its run and its solution, so that one file has what was trained, what was
 * found, and what attsvm_check proves; and up to 8 `more` arrays (count).
 */
ATTSVM_API attsvm_status attsvm_verdict_save(const attsvm_verdict *verdict, const attsvm_train *run,
                                             const attsvm_solution *solution, const char *path,
                                             const attsvm_named_array *more, int64_t count,
                                             attsvm_error *err);
/* The run and the solution are read by attsvm_train_load and attsvm_solution_load. */
ATTSVM_API attsvm_status attsvm_verdict_load(attsvm_verdict *out, const char *path,
                                             attsvm_error *err);

/* A loaded enumeration does not need its scores. */
ATTSVM_API attsvm_status attsvm_enumeration_save(const attsvm_enumeration *enumeration,
                                                 const char *path, const attsvm_named_array *more,
                                                 int64_t count, attsvm_error *err);
ATTSVM_API attsvm_status attsvm_enumeration_load(attsvm_enumeration **out, const char *path,
                                                 attsvm_error *err);

ATTSVM_API attsvm_status attsvm_path_save(const attsvm_path *path, const char *file,
                                          attsvm_error *err);
ATTSVM_API attsvm_status attsvm_path_load(attsvm_path **out, const char *file, attsvm_error *err);

/* Writes a classifier with its class names and vocabulary; `settings` (JSON text, NULL: none) says
   how it was made.  A loaded one predicts the same bytes.  On failure *out is NULL. */
ATTSVM_API attsvm_status attsvm_classifier_save(const attsvm_classifier *classifier,
                                                const char *path, const char *settings,
                                                attsvm_error *err);
ATTSVM_API attsvm_status attsvm_classifier_load(attsvm_classifier **out, const char *path,
                                                attsvm_error *err);

/* ---------------------------------------------------------------- interrupting */

/*
 * Asks every long call of this process, on whatever thread, to end soon; safe in a signal handler.
 * A call that has something to show returns it, as if its observer had returned false: a run that
 * can be saved, the best solution so far, the points of a path, the selections that were found.
 * Others return ATTSVM_E_STOPPED.  It holds until it is called with false.
 *
 *     static void on_ctrl_c(int number) { attsvm_interrupt(true); }
 */
ATTSVM_API void attsvm_interrupt(bool interrupt);
ATTSVM_API bool attsvm_interrupted(void);

/* --------------------------------------------------------------------- machine */

/*
 * The vector kernels in use ("baseline", "avx2", "avx512"): the widest that the processor has,
 * chosen when the library is loaded.  Select another set before any other call; ATTSVM_E_ARG
 * where the processor or the build does not have it.
 */
ATTSVM_API const char *attsvm_kernels(void);
ATTSVM_API attsvm_status attsvm_kernels_select(const char *name, attsvm_error *err);

#ifdef __cplusplus
}
#endif

#endif
