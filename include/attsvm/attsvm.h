/*
 * attsvm: max-margin token selection in attention.
 *
 * The only installed header.  Conventions that hold throughout:
 *
 *   - A call returns a status (did it work?).  What it found is an outcome in an info struct.
 *   - Matrices are row-major and contiguous.  Reals are double, counts int64_t.  Stored tokens
 *     keep the type that they have in the file.
 *   - Objects that own memory are opaque and have a `_free`.  Settings, info structs and array
 *     views are open.
 *   - NULL is fine for `err`, `settings`, observers and their context, for what a `_free` takes,
 *     and where a declaration says so.  Anywhere else, and for an index or a count that is out of
 *     range, calls that return a status return ATTSVM_E_ARG; the others return NULL, 0, NAN or a
 *     struct of zeros.  A pointer that is not NULL must lead to what its type and its lengths
 *     promise.
 *   - A call that fails sets every pointer to an object that it creates (`attsvm_... **`) to NULL;
 *     its other output may hold anything.  The message names the argument, the entry and the limit.
 *   - Open structs grow without breaking programs that were compiled before: a new field takes its
 *     place from `reserved`, so that no size and no offset ever changes, and 0 there means what
 *     the library did before.  Fill settings with their `_init`, other structs with { 0 }.
 *     Structs without `reserved` never change.
 *   - Observers run on the thread that made the call.  Losses and heads of the caller may run on
 *     several threads at once, unless `threads` is 1.  They may call anything but what changes or
 *     frees the objects of that call; a NaN ends it with ATTSVM_E_ARG.
 *   - Several threads may use an object at once if it is `const` in all these calls.  After fork a
 *     child may use all objects of the parent, except those that a call in another thread was
 *     changing: that call never ends in the child.
 *   - The library never prints, exits, or reads the environment.
 *   - "0: ..." in a comment explains the value 0; "theory 4.1" is a section of docs/theory.md.
 *
 * Each section has an example.  Together they are one program, in the order of the header, which
 * the tests compile and run: `data` has 8 sequences of 4 tokens in 5 dimensions, and `must` ends
 * the program with err.message where a status is not ATTSVM_OK.
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

/* Version of the linked library, "0.1.0". */
ATTSVM_API const char *attsvm_version(void);

/* ---------------------------------------------------------------------- errors */

/*
 * Example: an error says what is wrong.
 *
 *     attsvm_data *none;
 *     attsvm_error err;
 *     assert(attsvm_data_read(&none, "missing.npz", NULL, &err) == ATTSVM_E_OPEN && !none);
 *     assert(strstr(err.message, "missing.npz") && attsvm_status_name(err.status));
 */

typedef enum attsvm_status {
    ATTSVM_OK = 0,
    ATTSVM_E_ARG = -1,     /* an argument or a setting is out of range              */
    ATTSVM_E_OPEN = -2,    /* a file does not exist or cannot be opened             */
    ATTSVM_E_FORMAT = -3,  /* a file does not match its name or header              */
    ATTSVM_E_DATA = -4,    /* the arrays do not form a valid data set               */
    ATTSVM_E_MEMORY = -5,  /* out of memory                                         */
    ATTSVM_E_DISK = -6,    /* reading or writing failed: disk full, device error    */
    ATTSVM_E_NUMERIC = -7, /* arithmetic failed: overflow, or no convergence        */
    ATTSVM_E_STOPPED = -8  /* stopped by the observer or time limit, with no result */
} attsvm_status;

/* "bad argument", "no memory", ...; NULL for a number that is not a status. */
ATTSVM_API const char *attsvm_status_name(attsvm_status status);

typedef struct attsvm_error {
    attsvm_status status;
    char message[508];
} attsvm_error;

/*
 * Progress of a long call:  `done` of `total` (0: unknown).  Return false to stop the call.
 */
typedef bool attsvm_observer(void *context, int64_t done, int64_t total);

/* ---------------------------------------------------------------------- arrays */

/*
 * Example: six numbers as an array of three rows.
 *
 *     const double X[] = { 1, 2, 3, 4, 5, 6 };
 *     const attsvm_array array = { X, { 3, 2 }, 2, ATTSVM_F64 };
 *     char shape[32];
 *     attsvm_array_shape_text(&array, shape, sizeof shape);
 *     assert(strcmp(shape, "(3,2)") == 0 && attsvm_array_get(&array, 3) == 4);
 */

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
ATTSVM_API size_t attsvm_dtype_size(attsvm_dtype dtype);      /* bytes per element; 0 if unknown */

/* Number of elements (1 for ndim = 0), or -1 if a dimension is negative or the count overflows. */
ATTSVM_API int64_t attsvm_array_count(const attsvm_array *array);

/* The shape as text, "(3,7,2)". */
ATTSVM_API void attsvm_array_shape_text(const attsvm_array *array, char *out, size_t size);

/* Element `index` in row-major order as a double (integers beyond 2^53 are rounded). */
ATTSVM_API double attsvm_array_get(const attsvm_array *array, int64_t index);

/* -------------------------------------------------------------------- settings */

/*
 * Example: a setting by its name.
 *
 *     attsvm_svm_settings by_name;
 *     attsvm_settings_init(&attsvm_svm_table, &by_name);
 *     must(attsvm_settings_set(&attsvm_svm_table, &by_name, "norm", "lq:3", &err));
 *     assert(by_name.norm == ATTSVM_NORM_LQ && by_name.q == 3);
 */

/*
 * Settings are plain data.  `attsvm_..._settings_init` fills in the defaults; functions that take a
 * settings struct check its ranges and accept NULL for "all defaults".  A text that is NULL stands
 * for its default.
 *
 * Each settings struct has a table of its fields: the single source of defaults, ranges, flags,
 * help and documentation.  It lets a program list, read and set settings by name.
 */
typedef enum attsvm_setting_kind {
    ATTSVM_SETTING_INT,    /* int64_t                                                   */
    ATTSVM_SETTING_DOUBLE, /* double                                                    */
    ATTSVM_SETTING_BOOL,   /* bool                                                      */
    ATTSVM_SETTING_CHOICE, /* int32_t; `choices` names the values, starting at `lowest` */
    ATTSVM_SETTING_TEXT,   /* const char *, borrowed; `text` is the default             */
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
    /* Parses fields with a syntax of their own, such as "lq:3"; NULL: there are none. */
    attsvm_status (*set)(const attsvm_setting *field, void *settings, const char *value,
                         attsvm_error *err);
} attsvm_settings_table;

ATTSVM_API extern const attsvm_settings_table attsvm_read_table, attsvm_generate_table,
    attsvm_svm_table, attsvm_check_table, attsvm_train_table, attsvm_enumerate_table,
    attsvm_joint_table, attsvm_path_table, attsvm_fit_table, attsvm_predict_table, attsvm_cv_table,
    attsvm_samples_table, attsvm_patches_table;

/* Table k of all tables, or NULL beyond the last; a program can search them by name. */
ATTSVM_API const attsvm_settings_table *attsvm_settings_list(int64_t k);

ATTSVM_API void attsvm_settings_init(const attsvm_settings_table *table, void *settings);
ATTSVM_API attsvm_status attsvm_settings_check(const attsvm_settings_table *table,
                                               const void *settings, attsvm_error *err);
/* The field of that name, or NULL; `-` and `_` are equivalent. */
ATTSVM_API const attsvm_setting *attsvm_settings_find(const attsvm_settings_table *table,
                                                      const char *name);
/* Parses `value`, written as for the flag, into the field and checks its range.  Texts are
   borrowed; a step rule or loss must be known, and the call that uses the settings checks the other
   texts. */
ATTSVM_API attsvm_status attsvm_settings_set(const attsvm_settings_table *table, void *settings,
                                             const char *name, const char *value,
                                             attsvm_error *err);
/* The field's value (settings NULL: its default) as text; "" if there is no such field. */
ATTSVM_API void attsvm_settings_get(const attsvm_settings_table *table, const void *settings,
                                    const char *name, char *out, size_t size);
/* The allowed values: "1..4096", "gauss|sphere|...". */
ATTSVM_API void attsvm_setting_range(const attsvm_setting *setting, char *out, size_t size);

typedef struct attsvm_read_settings {
    int64_t threads;       /* used to check values; 0: all cores                            */
    int64_t inflate_limit; /* largest size of a compressed array after decompression, bytes */
    int64_t memory;        /* bytes of mapped tokens held in memory; 0: half of RAM         */
    bool verify;           /* also verify the stored checksums of memory-mapped arrays      */
    bool empty;            /* allow sequences without tokens (classifiers only)             */
    char padding[6];
    void *comm; /* ranks that share the sequences, in a build with MPI; NULL: one process */
    int64_t reserved[8];
} attsvm_read_settings;

ATTSVM_API void attsvm_read_settings_init(attsvm_read_settings *settings);

typedef enum attsvm_generate_kind {
    ATTSVM_GAUSS,      /* independent Gaussian tokens                                    */
    ATTSVM_SPHERE,     /* Gaussian tokens scaled to norm 1                               */
    ATTSVM_PLANTED_P,  /* the best token along a random p is moved `push` further        */
    ATTSVM_PLANTED_W,  /* the same along W z_i                                           */
    ATTSVM_CLUSTERS,   /* tokens around a few centres                                    */
    ATTSVM_VOCABULARY, /* table + index: Gaussian words on the sphere, Zipf frequencies  */
    ATTSVM_ONEHOT,     /* table + index: words are unit vectors                          */
    ATTSVM_TIED,       /* small integer coordinates, repeated tokens: ties and rank loss */
    ATTSVM_NTP,        /* table + index with labels: contexts of next-token prediction   */
    /* bags that only a model under the multiple-instance assumption predicts (theory 8) */
    ATTSVM_MIL_SINGLE,   /* one concept                                     */
    ATTSVM_MIL_MULTI,    /* two concepts; a positive bag has both           */
    ATTSVM_MIL_FREQUENCY /* two concepts; one is frequent in the test split */
} attsvm_generate_kind;

typedef struct attsvm_generate_settings {
    int64_t n;          /* sequences                                                    */
    int64_t T;          /* tokens of the longest sequence                               */
    int64_t T_min;      /* tokens of the shortest; 0: all have T                        */
    int64_t d;          /* dimension                                                    */
    int64_t queries;    /* queries z per sequence; 0: none                              */
    int64_t vocabulary; /* words, or centres for `clusters`; 0: by size                 */
    int64_t seed;       /* each seed gives another data set                             */
    int64_t threads;    /* 0: all cores; the values do not depend on it                 */
    double push;        /* planted kinds: how far the best token is moved               */
    double noise;       /* clusters: typical distance from the centre                   */
    double spread;      /* token norms are multiplied by 10^u, u uniform in +-spread    */
    double time_limit;  /* seconds, after which it fails with ATTSVM_E_STOPPED; 0: none */
    int32_t kind;       /* attsvm_generate_kind                                         */
    int32_t dtype;      /* attsvm_dtype of the tokens: float16, float32, float64        */
    int32_t split;      /* attsvm_split, mil kinds                                      */
    bool optimal;       /* planted kinds: the planted token also has the best score     */
    char padding[3];
    int64_t reserved[8];
} attsvm_generate_settings;

typedef enum attsvm_split { ATTSVM_TRAIN_SPLIT, ATTSVM_TEST_SPLIT } attsvm_split;

ATTSVM_API void attsvm_generate_settings_init(attsvm_generate_settings *settings);

/* -------------------------------------------------------------------- archives */

/*
 * Example: an array to a file and back.
 *
 *     const attsvm_named_array named = { "X", array };
 *     attsvm_archive *archive;
 *     must(attsvm_archive_write("x.npz", &named, 1, &err));
 *     must(attsvm_archive_open(&archive, "x.npz", NULL, &err));
 *     assert(attsvm_array_get(attsvm_archive_find(archive, "X"), 5) == 6);
 */

/*
 * Named arrays read from `.npz`, `.npy`, a directory of `.npy`, `.safetensors`, `.csv` or `.tsv`
 * (recognised by content, then by name).  Large uncompressed arrays are memory-mapped; the others
 * are copied.  Arrays that do not hold real numbers (text, Python objects, ...) are skipped; one
 * with a name that attsvm reserves for a data set is an error.
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

/* Name of the k-th array skipped because attsvm has no type for it; NULL beyond the last. */
ATTSVM_API const char *attsvm_archive_skipped(const attsvm_archive *archive, int64_t k);

/* Named arrays to write; the arrays are borrowed. */
typedef struct attsvm_named_array {
    const char *name;
    attsvm_array array;
} attsvm_named_array;

/*
 * Writes the arrays to `path` in the format of its ending (.npz, .npy for one array, .safetensors,
 * .csv, .tsv).  The file is replaced atomically.  The same arrays give the same bytes.
 */
ATTSVM_API attsvm_status attsvm_archive_write(const char *path, const attsvm_named_array *arrays,
                                              int64_t count, attsvm_error *err);

/*
 * Checks, before a long computation, that `path` can be written: its folder exists and is writable,
 * it is a regular file or new, and its ending names a format that can hold the content.
 */
typedef enum attsvm_file_content {
    ATTSVM_FILE_TEXT = 1, /* any ending                               */
    ATTSVM_FILE_DATA,     /* .npz .npy .safetensors .csv .tsv         */
    ATTSVM_FILE_RESULT    /* arrays of any name: .npz or .safetensors */
} attsvm_file_content;
ATTSVM_API attsvm_status attsvm_file_check(const char *path, attsvm_file_content content,
                                           attsvm_error *err);

/* Writes `size` bytes; the file is replaced atomically. */
ATTSVM_API attsvm_status attsvm_file_write(const char *path, const void *bytes, size_t size,
                                           attsvm_error *err);

/* ------------------------------------------------------------------------ data */

/*
 * Example: one sequence of three tokens in the plane, borrowed from memory.
 *
 *     const attsvm_named_array one = { "X", { X, { 1, 3, 2 }, 3, ATTSVM_F64 } };
 *     attsvm_data *small;
 *     must(attsvm_data_create(&small, &one, 1, NULL, &err));
 *     assert(attsvm_data_describe(small).d == 2 && attsvm_data_length(small, 0) == 3);
 */

/* Token sequences X_i (T_i x d) with labels, queries and the other arrays of the file. */
typedef struct attsvm_data attsvm_data;

typedef enum attsvm_storage {
    ATTSVM_EQUAL = 1,      /* X (n,T,d)                         */
    ATTSVM_RAGGED,         /* X (N,d), offsets (n+1)            */
    ATTSVM_TABLE,          /* E (V,d), tokens (N), offsets (n+1) */
    ATTSVM_STORAGE_ONE_HOT /* vocabulary, tokens (N), offsets (n+1): unit vectors, d = vocabulary */
} attsvm_storage;

typedef struct attsvm_data_info {
    int64_t n;            /* sequences                                        */
    int64_t d;            /* dimension                                        */
    int64_t tokens;       /* sum of T_i                                       */
    int64_t T_min, T_max; /* shortest and longest sequence                    */
    int64_t vocabulary;   /* words: rows of E, or d for one-hot words; else 0 */
    int64_t queries;      /* queries per sequence (Z); 0: none                */
    int64_t positive;     /* labels +1                                        */
    int64_t negative;     /* labels -1; both 0 without labels                 */
    attsvm_dtype dtype;   /* of the tokens                                    */
    attsvm_storage storage;
    int64_t reserved[8];
} attsvm_data_info;

/*
 * A data set over the caller's arrays, named as in the file format (X, or E and tokens; offsets, Y
 * or y, Z, v, V, W, p, ids, O, s, labels, init_...); unknown names are ignored.  All values are
 * checked: ATTSVM_E_ARG for an array that is malformed, ATTSVM_E_DATA for arrays that do not form a
 * data set.  The arrays are borrowed and must outlive the data set.
 */
ATTSVM_API attsvm_status attsvm_data_create(attsvm_data **out, const attsvm_named_array *arrays,
                                            int64_t count, const attsvm_read_settings *settings,
                                            attsvm_error *err);

/*
 * The sequences indices[0..count) of a data set, in that order; repetitions are allowed.  Tokens
 * are borrowed from `data`, which must outlive the subset; labels, queries and selections are
 * copied.  A subset can be used like any data set, except that attsvm_data_array does not return X.
 */
ATTSVM_API attsvm_status attsvm_data_subset(attsvm_data **out, const attsvm_data *data,
                                            const int64_t *indices, int64_t count,
                                            attsvm_error *err);

/*
 * The same data set with another head v (count: d, or the rows of V; finite; copied), for example
 * that of a trained model.  `data` must outlive it.
 */
ATTSVM_API attsvm_status attsvm_data_with_head(attsvm_data **out, const attsvm_data *data,
                                               const double *v, int64_t count, attsvm_error *err);

/* A hash of the values, 16 hexadecimal digits; it does not depend on the file format or type. */
enum { ATTSVM_FINGERPRINT = 17 };
ATTSVM_API void attsvm_data_fingerprint(const attsvm_data *data, char out[ATTSVM_FINGERPRINT]);

/* Reads and checks a data set from any file that attsvm_archive_open reads. */
ATTSVM_API attsvm_status attsvm_data_read(attsvm_data **out, const char *path,
                                          const attsvm_read_settings *settings, attsvm_error *err);

ATTSVM_API void attsvm_data_free(attsvm_data *data);

ATTSVM_API attsvm_data_info attsvm_data_describe(const attsvm_data *data);

/* Length of sequence i. */
ATTSVM_API int64_t attsvm_data_length(const attsvm_data *data, int64_t i);

/* Index of the first token of sequence i, 0 <= i <= n, in arrays with one entry per token. */
ATTSVM_API int64_t attsvm_data_offset(const attsvm_data *data, int64_t i);

/* Token t of sequence i, widened to double, into x (d). */
ATTSVM_API void attsvm_data_token(const attsvm_data *data, int64_t i, int64_t t, double *x);

/* Label of sequence i, -1 or +1; 0 if the data set has none. */
ATTSVM_API int attsvm_data_label(const attsvm_data *data, int64_t i);

/* The array of that name as it was given, or NULL. */
ATTSVM_API const attsvm_array *attsvm_data_array(const attsvm_data *data, const char *name);

/* A random data set in memory; the same settings give the same values on every platform. */
ATTSVM_API attsvm_status attsvm_data_generate(attsvm_data **out,
                                              const attsvm_generate_settings *settings,
                                              attsvm_error *err);

/*
 * Writes the same data set directly to a file, also one larger than memory.  Every element is a
 * function of the settings, so arrays are generated in chunks while they are written.
 */
typedef struct attsvm_generator attsvm_generator;

typedef struct attsvm_generator_info {
    attsvm_generate_settings settings; /* as used: "by size" is resolved to a number */
    int64_t tokens;                    /* sum of T_i                                 */
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
 * Writes the file.  `observer` (may be NULL) counts bytes generated; if it stops the call, no file
 * is left and ATTSVM_E_STOPPED is returned.  `deflate` compresses the arrays of an .npz.  A table
 * (.csv, .tsv) holds only X, offsets and Y: attsvm_format_holds says whether the format of `path`
 * can hold the array `name`.
 */
ATTSVM_API attsvm_status attsvm_generator_write(attsvm_generator *generator, const char *path,
                                                bool deflate, attsvm_observer *observer,
                                                void *context, attsvm_error *err);
ATTSVM_API bool attsvm_format_holds(const char *path, const char *name);

/* ------------------------------------------------------------------------- svm */

/*
 * Example: the shortest p that prefers the best token of every sequence by a margin of 1.
 *
 *     int64_t alpha[8];
 *     const attsvm_selection best = { .alpha = alpha, .terms = 8 };
 *     attsvm_svm_settings svm;
 *     attsvm_problem *problem;
 *     attsvm_solution *solution;
 *     attsvm_svm_settings_init(&svm);
 *     svm.problem = ATTSVM_PROBLEM_P;
 *     must(attsvm_select_optimal(data, &svm, alpha, NULL, &err));
 *     must(attsvm_problem_create(&problem, data, &best, &svm, &err));
 *     must(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err));
 *     assert(attsvm_solution_describe(solution).outcome == ATTSVM_OPTIMAL);
 */

/*
 * Max-margin problems (theory 4)
 *
 *   minimise |theta|   subject to   <A_r, theta> >= b_r,   <A_r, theta> = e_r
 *
 * with one row r for each sequence, query and rival token.
 */
typedef enum attsvm_problem_kind {
    ATTSVM_PROBLEM_P = 1,  /* theta = p (d):   (k_alpha - k_t)' p >= 1                        */
    ATTSVM_PROBLEM_V,      /* theta = v (d):   Y x_alpha' v >= 1                              */
    ATTSVM_PROBLEM_JOINT,  /* theta = p (d): as P, but >= 0 where the v-SVM is not tight      */
    ATTSVM_PROBLEM_W,      /* theta = W (d,d): (x_alpha - x_t)' W z >= 1                      */
    ATTSVM_PROBLEM_MULTI,  /* theta = W (d,d): sets O; = 0 inside, >= 1 outside               */
    ATTSVM_PROBLEM_FINITE, /* theta = W (d,d): (x_beta - x_t)' W z = log(s_beta/s_t) inside O */
} attsvm_problem_kind;

typedef enum attsvm_norm {
    ATTSVM_NORM_L2 = 1, /* for p and v; for W it means ATTSVM_NORM_FRO, and vice versa */
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
    ATTSVM_OPTIMAL,    /* theta and multipliers with a gap of at most tol                    */
    ATTSVM_INFEASIBLE, /* multipliers that prove infeasibility                               */
    ATTSVM_STALLED,    /* no proof: tolerance not reached, or stopped; holds the best so far */
    ATTSVM_STATIONARY, /* rank limit: first-order conditions hold; optimality has no proof   */
} attsvm_outcome;

/* "optimal", "infeasible", ...; NULL for a number that is not an outcome. */
ATTSVM_API const char *attsvm_outcome_name(attsvm_outcome outcome);

typedef enum attsvm_query {
    ATTSVM_QUERY_GIVEN = 1, /* Z of the data set; without Z like ATTSVM_QUERY_TOKEN      */
    ATTSVM_QUERY_TOKEN,     /* token `query_token` of the sequence itself                */
    ATTSVM_QUERY_ALL,       /* every token is a query                                    */
    ATTSVM_QUERY_CAUSAL,    /* every token is a query and sees itself and earlier tokens */
    ATTSVM_QUERY_LAST,      /* the last token of the sequence                            */
} attsvm_query;

typedef enum attsvm_duplicates {
    ATTSVM_DUPLICATES_MERGE = 1, /* copies of the selected token (same key and score) have no row */
    ATTSVM_DUPLICATES_STRICT,    /* they have one, so the problem is infeasible                   */
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
    double threshold;    /* a trained model keeps tokens whose softmax is above it              */
    double tol;          /* relative gap; 0: 1e-12 for l2 and fro, else 1e-9                    */
    double time_limit;   /* seconds of wall clock; 0: none                                      */
    int64_t query_token; /* of ATTSVM_QUERY_TOKEN                                               */
    int64_t rank;        /* maximum rank of W; 0: no limit                                      */
    int64_t max_iter;    /* maximum of active-set changes, or of steps of another norm's solver */
    int64_t threads;     /* 0: all cores                                                        */
    int64_t seed;        /* of the sample of terms that the solver starts with                  */
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
 * Selections have one entry per term: a term is a sequence with one of its queries, ordered by
 * sequence, then query.  P, V and JOINT have one term per sequence.
 */
ATTSVM_API attsvm_status attsvm_svm_terms(const attsvm_data *data,
                                          const attsvm_svm_settings *settings, int64_t *terms,
                                          attsvm_error *err);

/*
 * Sets and softmax values have one entry per cell: one cell for each term and token of its
 * sequence, ordered by term.  With one query per sequence the cells are the tokens.
 */
ATTSVM_API attsvm_status attsvm_svm_cells(const attsvm_data *data,
                                          const attsvm_svm_settings *settings, int64_t *cells,
                                          attsvm_error *err);

/*
 * The selected tokens; the arrays are borrowed.  P, V, JOINT and W use `alpha` (terms); MULTI and
 * FINITE use `sets` (cells, 0 or 1); FINITE also uses `softmax` (cells), positive on the sets.
 * Every term needs a selected token that its query sees; entries of unseen tokens are ignored.
 */
typedef struct attsvm_selection {
    const int64_t *alpha;
    const uint8_t *sets;
    const double *softmax;
    int64_t terms; /* entries of alpha            */
    int64_t cells; /* entries of sets and softmax */
    int64_t reserved[4];
} attsvm_selection;

/*
 * Writes the token with the best score Y h(x) of each term, the lowest index on ties, to alpha
 * (terms).  *ties (may be NULL) counts the terms with such a tie.
 */
ATTSVM_API attsvm_status attsvm_select_optimal(const attsvm_data *data,
                                               const attsvm_svm_settings *settings, int64_t *alpha,
                                               int64_t *ties, attsvm_error *err);

/* Identifies a row: its sequence, query (0 if there is one) and rival token (V: selected token). */
typedef struct attsvm_row {
    int64_t sequence, query, token;
} attsvm_row;

/* Proofs of infeasibility (theory 4.1). */
typedef enum attsvm_proof {
    ATTSVM_PROOF_NONE = 0,
    ATTSVM_PROOF_EXACT,  /* the rows contradict each other: no theta satisfies all */
    ATTSVM_PROOF_BEYOND, /* every theta that satisfies them has a norm of at least 1e18 m,
                            m the longest length that a single row asks for                   */
} attsvm_proof;

/* "none", "exact", "beyond"; NULL for other numbers. */
ATTSVM_API const char *attsvm_proof_name(attsvm_proof proof);

/*
 * A solution with its proof: everything that a checker needs in addition to the data.  Arrays are
 * borrowed.
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
    const struct attsvm_claim *head; /* JOINT: the v-SVM, whose tight rows decide b */
    int64_t reserved[8];
} attsvm_claim;

/* Result of a solve.  A number that was not computed is NAN (counts: -1). */
typedef struct attsvm_svm_info {
    attsvm_outcome outcome;
    bool conflict;  /* infeasible because of one row:  `pair` has the key of the selected token */
    bool unique;    /* the norm is strictly convex, so the minimiser is unique                  */
    bool undecided; /* l_q: the gap is too large to decide which rows are tight                 */
    attsvm_row pair;
    int64_t pair_selected; /* selected token of that row                                       */
    double norm;           /* |theta|                                                          */
    double margin;         /* 1/|theta|                                                        */
    double dual;           /* lower bound of |theta| (soft: of the objective)                  */
    double gap;            /* (|theta| - dual)/|theta| (soft: of the objectives)               */
    double violation;      /* largest violation of any row, exact evaluation; soft: largest xi */
    double objective;      /* |theta|, or 1/2 |theta|^2 + C sum xi                             */
    double residual;       /* infeasible: eps of theory 4.1                                    */
    double bound;          /* infeasible: no solution has a smaller norm (B of theory 4.1);
                              +infinity if the proof is exact */
    attsvm_proof proof;    /* infeasible: which proof                                        */
    int64_t tight, active, merged, rank;
    int64_t rounds;      /* of constraint generation                            */
    int64_t iterations;  /* changes of the active set                           */
    double passes;       /* reads of the tokens, in units of the whole data set */
    double seconds;      /* of the solve, certificate included                  */
    double pass_seconds; /* of these, spent reading                             */
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

/* Called after every round.  Return false to stop the solve, which then returns its best so far. */
typedef bool attsvm_svm_observer(void *context, const attsvm_svm_progress *progress);

typedef struct attsvm_problem attsvm_problem;
typedef struct attsvm_solution attsvm_solution;

/*
 * The rows of one problem.  `data` is borrowed and must outlive the problem; the selection is
 * copied.
 */
ATTSVM_API attsvm_status attsvm_problem_create(attsvm_problem **out, const attsvm_data *data,
                                               const attsvm_selection *selection,
                                               const attsvm_svm_settings *settings,
                                               attsvm_error *err);
ATTSVM_API void attsvm_problem_free(attsvm_problem *problem);

/*
 * Solves the problem and proves the answer.  `warm` (may be NULL) is a claim about a similar
 * problem; the solver starts from its active rows.  `observer` may be NULL.  The solution owns its
 * arrays and may outlive the problem.  The problem is not changed: several threads may solve it at
 * once.
 */
ATTSVM_API attsvm_status attsvm_problem_solve(const attsvm_problem *problem,
                                              const attsvm_claim *warm,
                                              attsvm_svm_observer *observer, void *context,
                                              attsvm_solution **out, attsvm_error *err);

/*
 * Solves `count` problems with `threads` threads (0: all cores), each on one thread, into out
 * (count).  If one fails, all solutions are freed and the first failure is reported.  `observer`
 * (may be NULL) counts problems; if it stops the batch, the call returns ATTSVM_E_STOPPED.
 */
ATTSVM_API attsvm_status attsvm_problem_solve_batch(attsvm_problem *const *problems, int64_t count,
                                                    int64_t threads, attsvm_observer *observer,
                                                    void *context, attsvm_solution **out,
                                                    attsvm_error *err);

/* Fills info.rank: the number of singular values of W above 1e-6 of the largest. */
ATTSVM_API attsvm_status attsvm_solution_rank(attsvm_solution *solution, attsvm_error *err);

ATTSVM_API attsvm_svm_info attsvm_solution_describe(const attsvm_solution *solution);
/* Borrows from the solution. */
ATTSVM_API attsvm_claim attsvm_solution_claim(const attsvm_solution *solution);
ATTSVM_API void attsvm_solution_free(attsvm_solution *solution);

/* ----------------------------------------------------------------------- check */

/*
 * Example: the proof of that solution.
 *
 *     const attsvm_claim claim = attsvm_solution_claim(solution);
 *     attsvm_report report;
 *     must(attsvm_check(&report, data, &claim, NULL, NULL, NULL, &err));
 *     assert(report.valid && report.gap <= 1e-12);
 */

/* The check uses these tolerances, not those with which the claim was solved. */
typedef struct attsvm_check_settings {
    double tol;        /* relative gap; 0: 1e-12 for l2 and fro, else 1e-9                 */
    double time_limit; /* seconds, after which it fails with ATTSVM_E_STOPPED; 0: none     */
    int64_t threads;   /* 0: all cores                                                     */
    bool exact;        /* repeat in rational numbers: l2, fro, l1, linf, any infeasibility */
    char padding[7];
    int64_t reserved[8];
} attsvm_check_settings;

ATTSVM_API void attsvm_check_settings_init(attsvm_check_settings *settings);

/*
 * The result of a check, recomputed from the data and the claim alone.  Bounds are rigorous: every
 * rounding is directed against the claim.
 */
typedef struct attsvm_report {
    bool valid;             /* the claim is proved                     */
    bool consistent;        /* stalled: its lower bound is proved      */
    attsvm_outcome outcome; /* of the claim                            */
    double norm;            /* |theta|                                 */
    double dual;            /* D of theory 4.1: no solution is shorter */
    double gap;             /* (P - D)/P, P the norm of a point near theta that satisfies every row
                               exactly; soft: of the objectives                     */
    double needed;          /* smallest tolerance that would accept it; NAN: none               */
    attsvm_proof proof;     /* of an infeasible claim                                           */
    double bound;           /* of an infeasible claim: no solution is shorter; +infinity: exact */
    bool exact;             /* proved in rational numbers as well                               */
    double dual_norm;       /* of sum lambda A + sum mu A (infeasible: for b'lambda + e'mu = 1) */
    double min_margin;      /* smallest <A_r, theta> over rows with b = 1                       */
    double violation;       /* largest violation of any row                                     */
    int64_t tight, active, merged;
    char reason[256]; /* why the claim is not valid, or what was proved */
    int64_t reserved[8];
} attsvm_report;

/*
 * A wrong claim is a successful call with report->valid false.  If `observer` (may be NULL; its
 * total is 0) stops the check, the call returns ATTSVM_E_STOPPED.
 */
ATTSVM_API attsvm_status attsvm_check(attsvm_report *report, const attsvm_data *data,
                                      const attsvm_claim *claim,
                                      const attsvm_check_settings *settings,
                                      attsvm_observer *observer, void *context, attsvm_error *err);

/* ------------------------------------------------------------- models, settings */

/*
 * Example: 500 steps of normalised descent on a prompt, recorded at log-spaced steps.
 *
 *     attsvm_train_settings how;
 *     attsvm_train_settings_init(&how);
 *     how.model = ATTSVM_MODEL_P;
 *     how.iters = 500;
 *     how.record = "log";
 */

/* One attention layer (theory 2).  Models whose name begins with V also train the head v. */
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

/*
 * A loss l(u): returns l(u) and puts l'(u) into *slope.  It must decrease: a loss that rises, has
 * slope 0 everywhere, is NaN, or is infinite for |u| <= 2.5 is refused.  The theory is about losses
 * that decrease strictly.
 */
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
 * Arithmetic of the gradient: the accurate form of theory 2.1, or the textbook formula with every
 * operation rounded to the given type, in which the parameters are then stored, too.
 */
typedef enum attsvm_arithmetic {
    ATTSVM_ARITHMETIC_EXACT = 1,
    ATTSVM_ARITHMETIC_FLOAT64,
    ATTSVM_ARITHMETIC_FLOAT32
} attsvm_arithmetic;

/*
 * What to train and how.  Texts are borrowed and written as for the flags: step "ngd", "nmd:3";
 * loss "logistic"; init "auto", "zero", "uniform:0.3", "gauss:1", "file", or the name of a result;
 * record "100", "log" (empty: nothing); eps "1e-9" or "1e-19,1e-9" (attention, head); lstar a
 * number.
 */
typedef struct attsvm_train_settings {
    const char *step, *loss, *init, *record, *eps, *lstar;
    const char *checkpoint; /* file for the state of the run; empty: none                */
    double lr;              /* step size                                                 */
    double decay;           /* step t has the size lr/(t+1)^decay                        */
    double disturb;         /* relative random change of the start values; 0: none       */
    double ridge;           /* adds ridge |theta|^2, theta the attention parameters      */
    double max_step;        /* polyak: longest step                                      */
    double stop_direction;  /* stop when theta/|theta| moves less in 100 steps; 0: never */
    double stop_norm;       /* stop when |theta| is larger; 0: never                     */
    double time_limit;      /* seconds; 0: no limit                                      */
    int64_t iters;          /* steps                                                     */
    int64_t rank;           /* columns of K and Q, at most d; 0: d                       */
    int64_t batch;          /* sequences per step; 0: all                                */
    int64_t every;          /* steps between two checkpoints                             */
    int64_t seed;           /* of start values and mini-batches                          */
    int64_t disturb_seed;   /* of `disturb`                                              */
    int64_t threads;        /* 0: all cores                                              */
    int64_t observe;        /* steps between two calls of the observer; 0: by the clock  */
    double kappa;           /* of ATTSVM_HEAD_CONCAVE                                    */
    int64_t query_token;    /* of ATTSVM_QUERY_TOKEN                                     */
    int32_t query;          /* attsvm_query; with loss "ntp" GIVEN without Z is LAST     */
    int32_t head;           /* attsvm_head                                               */
    int32_t model;          /* attsvm_model_kind                                         */
    int32_t arithmetic;     /* attsvm_arithmetic of the gradient                         */
    bool resume;            /* continue from `checkpoint` if it exists                   */
    char padding[7];
    int64_t reserved[8];
} attsvm_train_settings;

ATTSVM_API void attsvm_train_settings_init(attsvm_train_settings *settings);

/* ----------------------------------------------------------------------- model */

/*
 * Example: loss and gradient at p = 0, where all tokens have the same attention.
 *
 *     attsvm_model *model;
 *     attsvm_evaluation at;
 *     double p[5] = { 0 }, gradient[5];
 *     must(attsvm_model_create(&model, data, &how, NULL, NULL, &err));
 *     must(attsvm_model_evaluate(model, p, &at, gradient, &err));
 *     assert(at.loss > 0 && isfinite(at.log_scale[0]) && fabs(at.softmax_min - 0.25) < 1e-15);
 */

/*
 * A model evaluated at the caller's parameters: loss, gradient (theory 2.1), logits, softmax.  It
 * uses the settings model, loss, head, query, rank and threads.  `loss` and `head` may be NULL;
 * otherwise they replace those of the settings.  `data` is borrowed.  Only one thread at a time may
 * use a model.
 *
 * The vector theta (size) holds the trained arrays one after another: p, W, K, Q, v, as
 * attsvm_model_parameter lists them.
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

/* Trained array k, 0 <= k < parameters; the name is NULL beyond the last. */
typedef struct attsvm_parameter {
    const char *name;
    int64_t rows, columns; /* columns: 1 for p and v */
    int64_t offset, count; /* in theta               */
    int64_t reserved[4];
} attsvm_parameter;
ATTSVM_API attsvm_parameter attsvm_model_parameter(const attsvm_model *model, int64_t k);

/* A number that was not computed is NAN. */
typedef struct attsvm_evaluation {
    double loss;             /* L */
    double loss_limit;       /* L*(alpha) of the selected tokens */
    double loss_excess;      /* L - L*(alpha), without cancellation; NAN: several tokens stay  */
    double log_excess;       /* its natural logarithm, if the excess is positive               */
    double norm;             /* |p|, |W|_F, |KQ'|_F; |W'p| if both are trained                 */
    double grad_log_scale;   /* ln |grad| of the attention parameters, without a ridge         */
    double softmax_min;      /* attention of the selected token, smallest over terms           */
    double softmax_mean;     /* its mean                                                       */
    double entropy;          /* of attention, mean                                             */
    double effective_tokens; /* exp(entropy), mean                                             */
    double accuracy;         /* share of terms with Y f > 0                                    */
    double margin;           /* smallest logit distance of the selected token to another       */
    double log_scale[ATTSVM_MAX_PARAMETERS]; /* of the gradient in each trained array           */
    int64_t reserved[8];
} attsvm_evaluation;

/*
 * Evaluates the model at theta (size).  The gradient with respect to trained array k is
 * exp(log_scale[k]) gradient[offset..]; log_scale is -INFINITY if it is exactly zero.  `gradient`
 * (size) may be NULL.
 */
ATTSVM_API attsvm_status attsvm_model_evaluate(attsvm_model *model, const double *theta,
                                               attsvm_evaluation *out, double *gradient,
                                               attsvm_error *err);
/* Softmax and logits (cells), ordered by term; tokens that a query does not see have softmax 0 and
   logit -INFINITY. */
ATTSVM_API attsvm_status attsvm_model_softmax(attsvm_model *model, const double *theta,
                                              double *softmax, attsvm_error *err);
ATTSVM_API attsvm_status attsvm_model_logits(attsvm_model *model, const double *theta,
                                             double *logits, attsvm_error *err);
/* The most attended token of each term into alpha (terms); copies of a token count together. */
ATTSVM_API attsvm_status attsvm_model_select(attsvm_model *model, const double *theta,
                                             int64_t *alpha, attsvm_error *err);
/*
 * The linear map behind the logits, which is what SVM solutions are compared with: p, or W'p for
 * models that train W with a prompt (d); W, or K Q' (d,d).  Into map (map_size).
 */
ATTSVM_API attsvm_status attsvm_model_map(attsvm_model *model, const double *theta, double *map,
                                          attsvm_error *err);

/* Parameters against an SVM solution.  A number that was not computed is NAN. */
typedef struct attsvm_comparison {
    double correlation; /* <theta, theta_svm> / (|theta| |theta_svm|), Frobenius           */
    double angle;       /* between them, degrees                                           */
    double norm;        /* |theta| in the norm of the solution                             */
    double margin;      /* smallest <A, theta> over rows with b = 1; P, JOINT, W only      */
    double efficiency;  /* margin / norm * |theta_svm|, 1 at the optimum; P, JOINT, W only */
    int64_t reserved[4];
} attsvm_comparison;

/* `theta` (count: d or d*d) is the result of attsvm_model_map, or any vector of that size. */
ATTSVM_API attsvm_status attsvm_solution_compare(attsvm_comparison *out,
                                                 const attsvm_solution *solution,
                                                 const attsvm_data *data, const double *theta,
                                                 int64_t count, attsvm_error *err);

/* -------------------------------------------------------------------- training */

/*
 * Example: 500 steps, and 1500 more.
 *
 *     attsvm_train *run;
 *     must(attsvm_train_create(&run, data, &how, NULL, NULL, &err));
 *     must(attsvm_train_run(run, NULL, NULL, &err));
 *     must(attsvm_train_continue(run, 2000, NULL, NULL, &err));
 *     assert(attsvm_train_describe(run).iters == 2000 && attsvm_train_find(run, "p"));
 */

typedef enum attsvm_train_outcome {
    ATTSVM_TRAIN_NOT_RUN = 0,
    ATTSVM_TRAIN_DONE,      /* all steps done          */
    ATTSVM_TRAIN_DIRECTION, /* stop_direction reached  */
    ATTSVM_TRAIN_NORM,      /* stop_norm reached       */
    ATTSVM_TRAIN_TIME,      /* time_limit reached      */
    ATTSVM_TRAIN_OBSERVER,  /* stopped by the observer */
} attsvm_train_outcome;

/* "done", "direction", ...; NULL for a number that is not an outcome. */
ATTSVM_API const char *attsvm_train_outcome_name(attsvm_train_outcome outcome);

/* State of a run, finished or not.  A number that was not computed is NAN. */
typedef struct attsvm_train_info {
    attsvm_train_outcome outcome;
    int32_t padding;
    int64_t iters;           /* steps done                                                        */
    int64_t terms;           /* loss terms: sequences times queries                               */
    double seconds;          /* wall clock of the loop, including earlier parts of a resumed run  */
    double loss;             /* L                                                                 */
    double loss_limit;       /* L*(alpha) of the selected tokens                                  */
    double loss_excess;      /* L - L*(alpha), without cancellation; NAN: several tokens stay     */
    double log_excess;       /* its natural logarithm, if the excess is positive                  */
    double norm;             /* |p|, |W|_F, |KQ'|_F; |W'p| if both are trained                    */
    double grad_log_scale;   /* ln |grad| of the attention parameters, without a ridge            */
    double softmax_min;      /* attention of the selected token, smallest over terms              */
    double softmax_mean;     /* its mean                                                          */
    double entropy;          /* of attention, mean                                                */
    double effective_tokens; /* exp(entropy), mean                                                */
    double accuracy;         /* share of terms with Y f > 0                                       */
    double margin;           /* smallest logit distance of the selected token to another          */
    double nuclear;        /* nuclear norm of W (models with a matrix), at records and at the end */
    double effective_rank; /* exp of the entropy of its singular values                         */
    double direction_change; /* of theta/|theta| over the last 100 steps                          */
    double textbook_angle;   /* degrees between the textbook gradient and the exact one           */
    double wrong_norm;       /* `norm` at which that angle first exceeded 1; NAN: never           */
    int64_t wrong_step;      /* and the step; -1: never                                           */
    int64_t reserved[8];
} attsvm_train_info;

typedef struct attsvm_train attsvm_train;

/*
 * Called at intervals (settings.observe) with the state of the run.  Return false to stop the run;
 * it can be continued later.  The observer may call attsvm_train_parameters and attsvm_train_model
 * on `train`.
 */
typedef bool attsvm_train_observer(void *context, const attsvm_train *train,
                                   const attsvm_train_info *info);

/*
 * Prepares a run.  The data set is borrowed, everything else is copied.  `loss` and `head` may be
 * NULL; otherwise they replace those of the settings.
 */
ATTSVM_API attsvm_status attsvm_train_create(attsvm_train **out, const attsvm_data *data,
                                             const attsvm_train_settings *settings,
                                             const attsvm_loss_callback *loss,
                                             const attsvm_head_callback *head, attsvm_error *err);
ATTSVM_API void attsvm_train_free(attsvm_train *train);

/*
 * Sets start values from memory, before the run, in place of settings.init.  `arrays` (count) have
 * the names of the trained arrays (p, W, K, Q, v); arrays that are not given keep their start
 * values.
 */
ATTSVM_API attsvm_status attsvm_train_start(attsvm_train *train, const attsvm_named_array *arrays,
                                            int64_t count, attsvm_error *err);

/*
 * Sets a step-size function, before the run, in place of lr and decay.  Runs with checkpoints are
 * refused, because the checkpoint cannot store the function.
 */
ATTSVM_API attsvm_status attsvm_train_schedule(attsvm_train *train,
                                               const attsvm_schedule_callback *schedule,
                                               attsvm_error *err);

/* Runs to the end.  `observer` may be NULL.  After a failure the run has the values of the step
   that failed; the same call continues it from there. */
ATTSVM_API attsvm_status attsvm_train_run(attsvm_train *train, attsvm_train_observer *observer,
                                          void *context, attsvm_error *err);
/*
 * Continues a finished or stopped run until it has done `iters` steps in total (0: settings.iters);
 * the result has the same bytes as that of a single run of this length.  The time limit starts
 * anew; a limit on direction or norm that is already reached ends the run at once.
 */
ATTSVM_API attsvm_status attsvm_train_continue(attsvm_train *train, int64_t iters,
                                               attsvm_train_observer *observer, void *context,
                                               attsvm_error *err);
ATTSVM_API attsvm_train_info attsvm_train_describe(const attsvm_train *train);

/*
 * Results of a run, borrowed from it, as named arrays: the trained p, W, K, Q, v; ids, softmax;
 * with `record`, one entry per record, trace_iter, trace_p (W, K, Q, v), trace_ids and
 * trace_softmax (the selected tokens and their attention), and from attsvm_train_info trace_loss,
 * trace_excess, trace_log_excess, trace_norm, trace_grad_log_scale, trace_softmax_min,
 * trace_softmax_mean, trace_entropy, trace_effective_tokens, trace_accuracy, trace_margin; models
 * with a matrix add trace_nuclear and trace_rank (its effective rank), and attsvm_train_compare
 * adds trace_correlation, trace_angle and trace_efficiency.
 */
ATTSVM_API int64_t attsvm_train_count(const attsvm_train *train);
ATTSVM_API const attsvm_named_array *attsvm_train_array(const attsvm_train *train, int64_t k);
/* The result of that name, or NULL. */
ATTSVM_API const attsvm_array *attsvm_train_find(const attsvm_train *train, const char *name);

/* The model in training: its sizes and its list of trained arrays.  Borrowed. */
ATTSVM_API const attsvm_model *attsvm_train_model(const attsvm_train *train);
/* Its current parameters theta (*count), as attsvm_model_parameter lists them.  Borrowed. */
ATTSVM_API const double *attsvm_train_parameters(const attsvm_train *train, int64_t *count);

/*
 * The linear map behind the logits, as attsvm_model_map computes it.  Borrowed until the run is
 * continued or freed.
 */
ATTSVM_API const double *attsvm_train_theta(const attsvm_train *train, int64_t *count);

/*
 * Performs `count` different runs with `threads` threads (0: all cores), each on one thread.  The
 * results do not depend on the number of threads or on the other runs.  Small runs of equal shape
 * share vector registers, so they may differ from attsvm_train_run by rounding.  Reports the first
 * failure in the order of runs.  `observer` (may be NULL) counts runs; if it stops the batch,
 * unfinished runs end as if stopped by their own observer, and runs that have not started are
 * unchanged.
 */
ATTSVM_API attsvm_status attsvm_train_run_batch(attsvm_train *const *runs, int64_t count,
                                                int64_t threads, attsvm_observer *observer,
                                                void *context, attsvm_error *err);

/* ---------------------------------------------------------------------- theory */

/*
 * Example: what the run selects, and how close its direction is to the max-margin one.
 *
 *     attsvm_verdict verdict;
 *     attsvm_solution *limit;
 *     must(attsvm_verdict_compute(&verdict, run, NULL, NULL, NULL, &limit, &err));
 *     must(attsvm_train_compare(run, limit, &err));
 *     assert(verdict.kind == ATTSVM_VERDICT_GLOBAL && verdict.correlation > 0.9);
 */

/*
 * What attention selects (theory 5).
 *
 * Scores gamma_t = Y h(x_t) of every token of every term, where settings->head chooses h and
 * settings->problem the terms.  `data` is borrowed.
 */
typedef struct attsvm_scores attsvm_scores;

ATTSVM_API attsvm_status attsvm_scores_create(attsvm_scores **out, const attsvm_data *data,
                                              const attsvm_svm_settings *settings,
                                              attsvm_error *err);
ATTSVM_API void attsvm_scores_free(attsvm_scores *scores);

typedef struct attsvm_term {
    int64_t sequence, query; /* query: 0 if there is only one                             */
    int64_t tokens;          /* number of tokens that the query sees                      */
    int64_t optimal;         /* token with the best score, lowest index on ties           */
    int64_t tied;            /* other tokens with that score, without copies of `optimal` */
    double best;             /* its score                                                 */
    double next;             /* the next lower score; -INFINITY: there is none            */
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
    int64_t reserved[4];
} attsvm_support;

/*
 * Optimality of the selection of a solved problem.  Local: every support token has a strictly lower
 * score than the selected one.  Global: every selected token is the optimal one or a copy of it.
 */
typedef struct attsvm_optimality {
    bool local, global;
    bool unique; /* the minimiser is unique, so the support tokens are well defined */
    bool tie;    /* a tie of scores decided: see the next two                       */
    int32_t padding;
    int64_t tied_optimal; /* terms in which another token has the optimal score        */
    int64_t tied_support; /* support tokens with the score of the selected one         */
    int64_t support;      /* support tokens                                            */
    int64_t against;      /* of these, with a score that is not lower                  */
    int64_t missed;       /* terms whose selected token is not the optimal one         */
    double advantage;     /* smallest over the support tokens; INFINITY: there is none */
    int64_t reserved[8];
} attsvm_optimality;

/*
 * `solution` solves problem P, JOINT or W on the data and terms of `scores`.  `support` (capacity;
 * may be NULL, then capacity is ignored) receives the first support tokens; a capacity of
 * info.tight of the solution holds all.  An infeasible problem has neither support tokens nor a
 * locally optimal selection.  Soft margins and rank limits are refused: they have solutions even if
 * no theta separates the selection.
 */
ATTSVM_API attsvm_status attsvm_optimality_compute(attsvm_optimality *out,
                                                   const attsvm_scores *scores,
                                                   const attsvm_solution *solution,
                                                   attsvm_support *support, int64_t capacity,
                                                   attsvm_error *err);

typedef struct attsvm_enumerate_settings {
    int64_t max_selections; /* maximum of partial selections per round; above it a search runs */
    int64_t descent_runs;   /* descent runs whose ends the search starts from                  */
    int64_t steps;          /* of each of these runs                                           */
    int64_t seed;           /* of their start values                                           */
    int64_t threads;        /* 0: all cores; the result does not depend on it                  */
    double time_limit;      /* seconds, after which the list so far is returned; 0: none       */
    int64_t reserved[8];
} attsvm_enumerate_settings;

ATTSVM_API void attsvm_enumerate_settings_init(attsvm_enumerate_settings *settings);

/*
 * Lists the locally optimal selections in lexicographic order; a token stands for its copies.
 * `scores` (borrowed) and `svm` (problem P or W) have the same terms.
 *
 * Partial selections grow one sequence at a time; an infeasible one is pruned.  If no round needs
 * more than `max_selections` of them, the list is exhaustive.  Otherwise a search starts from the
 * optimal tokens and from the ends of descent runs, and repeatedly tries all selections that differ
 * from a known one in one token.  `observer` (may be NULL; its total is 0) counts solved SVMs; if
 * it or the time limit stops the call, the list holds what was found and is not exhaustive.
 */
typedef struct attsvm_enumeration attsvm_enumeration;

ATTSVM_API attsvm_status attsvm_enumerate(attsvm_enumeration **out, const attsvm_scores *scores,
                                          const attsvm_svm_settings *svm,
                                          const attsvm_enumerate_settings *settings,
                                          attsvm_observer *observer, void *context,
                                          attsvm_error *err);
ATTSVM_API void attsvm_enumeration_free(attsvm_enumeration *enumeration);

typedef struct attsvm_enumeration_info {
    int64_t count;   /* locally optimal selections found                                 */
    int64_t terms;   /* entries of each                                                  */
    int64_t judged;  /* complete selections whose SVM was solved                         */
    int64_t pruned;  /* infeasible partial selections                                    */
    int64_t stalled; /* selections whose SVM stalled; if any, the list is not exhaustive */
    double product;  /* of the numbers of tokens: the number of all selections           */
    bool exhaustive; /* the list is complete                                             */
    bool searched;   /* max_selections was exceeded: the list comes from a search        */
    bool stopped;    /* by the observer or the time limit                                */
    char padding[5];
    int64_t reserved[8];
} attsvm_enumeration_info;

/* A locally optimal selection; alpha (terms) is borrowed.  The alphas of all selections are
   contiguous. */
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
 * The SVM that training converges to (theory 3): sets problem, norm, q, query and head of `out`,
 * and the other settings to their defaults.  *claimed (may be NULL) is false for step rules without
 * a theorem or conjecture, where the norm is l2, fro, or nuc for K Q', and for settings that end at
 * a finite point: lr = 0, decay > 1, a ridge, lstar, max_step = 0 of polyak, textbook arithmetic.
 */
ATTSVM_API attsvm_status attsvm_train_limit(const attsvm_train_settings *train,
                                            attsvm_svm_settings *out, bool *claimed,
                                            attsvm_error *err);

/* Which conditions of the theorems the data meet (theory 4.2 and 6). */
typedef struct attsvm_conditions {
    bool equal_scores;      /* in every term all non-optimal tokens have the same score */
    bool unique_optimal;    /* no term has two optimal tokens that are not copies       */
    bool wide;              /* W: d >= max(queries, rivals), and no query is 0: every selection of
                               tokens in general position is feasible; p: the key differences are
                               linearly independent: every selection is feasible */
    bool feasible;          /* the SVM of the optimal tokens has a solution */
    bool all_support;       /* every rival is tight in it (theory 10.1): at every point the loss
                               decreases along the SVM direction */
    attsvm_outcome outcome; /* of the SVM of the optimal tokens                              */
    int64_t choices; /* terms whose tokens differ in score; if 0, attention does not matter */
    int64_t queries; /* distinct queries; 1 for the prompt problems                         */
    int64_t rivals;  /* W: largest number of rivals over the terms that share a query       */
    int64_t tokens;  /* of the longest sequence                                             */
    int64_t rows;    /* of the SVM of the optimal tokens: all rivals                        */
    int64_t support; /* tight rows; -1: not solved to optimality                            */
    double norm;     /* |theta| of that SVM; NAN: not solved to optimality                  */
    int64_t reserved[8];
} attsvm_conditions;

/*
 * Uses the terms and the head of the run, which must be finished if it trains the head, and the
 * norm of attsvm_train_limit.  If `observer` (may be NULL; its total is 0) stops the call, it
 * returns ATTSVM_E_STOPPED.
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
    int64_t negative;   /* samples with <grad L, theta_svm> < 0                    */
    double share;       /* negative / samples; NAN without an SVM solution         */
    double largest;     /* largest cosine of grad L and theta_svm over the samples */
    attsvm_outcome svm; /* of the SVM of the optimal tokens                        */
    int32_t padding;
    int64_t reserved[4];
} attsvm_landscape;

/* Models p and W with a fixed linear head, one process; the run need not have started.  At least
   one sample. */
ATTSVM_API attsvm_status attsvm_landscape_compute(attsvm_landscape *out, const attsvm_train *run,
                                                  int64_t samples, int64_t seed, attsvm_error *err);

/*
 * Words that exact descent never separates (theory 6.3): tokens are unit vectors, and the words
 * occur equally often in every sequence, have equal start values and equal head weights, and are
 * neither query nor label.  Their logits stay equal; if training selects one of them, rounding
 * decided.  The test is sufficient, not necessary: other symmetries exist.  `run` must not
 * have started.
 */
typedef struct attsvm_exchangeable {
    bool onehot; /* all tokens are unit vectors; false also if the test does not apply: the rule
                    `coordinate` breaks ties by index, and a resumed run starts from its state */
    char padding[7];
    int64_t groups; /* of exchangeable words               */
    int64_t words;  /* in all groups, at least two in each */
    int64_t reserved[8];
} attsvm_exchangeable;

ATTSVM_API attsvm_status attsvm_exchangeable_compute(attsvm_exchangeable *out,
                                                     const attsvm_train *run, attsvm_error *err);

/*
 * Joint training of head and prompt (models vp and vpW; theory 6.8).  Gamma is the margin of the
 * v-SVM of the selected tokens, Gamma(p) that of the tokens pooled with p, and
 *
 *   nu(p) = (Gamma - Gamma(p)) / max_i (1 - s_i,alpha).
 *
 * Assumption B requires nu(p) >= nu > 0 for all p; the search tries to refute it.
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
    attsvm_outcome outcome; /* of the v-SVM; unless optimal, the rest is NAN     */
    bool all_tight;         /* every sequence is tight, as Assumption B requires */
    char padding[3];
    int64_t tight;             /* sequences at the margin of the v-SVM                           */
    int64_t tried;             /* points p that the search evaluated                             */
    double margin;             /* Gamma                                                          */
    double label_margin;       /* Gamma(p) at the end of the run; 0: the labels are not separated */
    double nu;                 /* smallest found                                                 */
    double nu_norm;            /* |p| there                                                      */
    double relaxed, unrelaxed; /* norms of the joint problem and of problem P                    */
    double correlation_v;      /* of the trained head to the v-SVM                               */
    double correlation_relaxed; /* of the trained theta to the two solutions                      */
    double correlation_unrelaxed;
    double ratio;        /* |v| / |theta| at the end                                     */
    double ratio_needed; /* smallest ratio for which a path converges to the relaxed one */
    int64_t reserved[8];
} attsvm_joint;

/*
 * `run` must be finished, with model vp or vpW and a linear head.  The search includes the recorded
 * iterates.  *solution (may be NULL) is the solution of the joint problem, whose claim.head is the
 * v-SVM; NULL if the v-SVM has no solution.  `observer` (may be NULL) counts points p of the
 * search; if it stops the call, the call returns ATTSVM_E_STOPPED.
 */
ATTSVM_API attsvm_status attsvm_joint_compute(attsvm_joint *out, const attsvm_train *run,
                                              const attsvm_joint_settings *settings,
                                              attsvm_observer *observer, void *context,
                                              attsvm_solution **solution, attsvm_error *err);

/* Verdict on a trained model: the first that applies. */
typedef enum attsvm_verdict_kind {
    ATTSVM_VERDICT_NONE = 0,
    ATTSVM_VERDICT_UNSATURATED, /* some selected token has less than 1 - 1e-3 of the attention */
    ATTSVM_VERDICT_INFEASIBLE,  /* no theta separates the selected tokens                      */
    ATTSVM_VERDICT_GLOBAL,      /* every selected token is optimal                             */
    ATTSVM_VERDICT_LOCAL,       /* the selection is locally optimal                            */
    ATTSVM_VERDICT_NOT_LOCAL,   /* a support token has a score that is not lower               */
} attsvm_verdict_kind;

/* "unsaturated", "global", "not_local", ...; NULL for a number that is not a verdict. */
ATTSVM_API const char *attsvm_verdict_name(attsvm_verdict_kind kind);

/* A number that was not computed is NAN. */
typedef struct attsvm_verdict {
    attsvm_verdict_kind kind;
    attsvm_outcome outcome;  /* of the SVM of the selected tokens                        */
    attsvm_svm_settings svm; /* that was solved                                          */
    bool claimed;            /* theory predicts this norm for the step rule and settings */
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
    int64_t unpulled;   /* of these, terms whose loss slope is below 2^-53 of the largest: their
                           gradient is lost in rounding, and more steps do not decide them */
    int64_t reserved[8];
} attsvm_verdict;

/*
 * Compares the records of a finished run with `solution`, for example that of its verdict, and adds
 * trace_correlation, trace_angle (degrees) and trace_efficiency to the arrays of the run.  With
 * NULL the call solves the SVM of attsvm_train_limit for the tokens selected at the end.  The
 * values are NAN if that problem is infeasible; continuing the run removes the arrays.  Without
 * records the call does nothing.
 */
ATTSVM_API attsvm_status attsvm_train_compare(attsvm_train *run, const attsvm_solution *solution,
                                              attsvm_error *err);

/* Correlation <a,b>/(|a||b|) of two arrays (count entries); NAN if one of them is 0. */
ATTSVM_API double attsvm_correlation(const double *a, const double *b, int64_t count);

/*
 * The verdict on a finished run.  `svm` (may be NULL) replaces the predicted SVM; its problem,
 * query and head must fit the model.  *solution (may be NULL) is the SVM solution, which the caller
 * frees.  For pW and vpW theta is W'p, and the SVM uses the tokens themselves instead of the keys
 * of the data set.  If `observer` (may be NULL; its total is 0) stops the solve, the verdict uses
 * the best theta so far, and `outcome` says so.
 */
ATTSVM_API attsvm_status attsvm_verdict_compute(attsvm_verdict *out, const attsvm_train *run,
                                                const attsvm_svm_settings *svm,
                                                attsvm_observer *observer, void *context,
                                                attsvm_solution **solution, attsvm_error *err);

/* -------------------------------------------------------------- several tokens */

/*
 * Example: W = 0 keeps all 32 tokens.
 *
 *     attsvm_multi_token several;
 *     double W[25] = { 0 };
 *     must(attsvm_multi_token_compare(&several, data, W, NULL, NULL, NULL, NULL, &err));
 *     assert(several.kept == 32 && several.several == 8);
 */

/*
 * Compares a trained W whose attention keeps several tokens, as with a nonlinear head (theory 6.9),
 * with W_fin + R W_svm.  A number that was not computed is NAN.
 */
typedef struct attsvm_multi_token {
    attsvm_outcome svm, finite; /* of the problems MULTI and FINITE of the kept sets */
    attsvm_outcome single;      /* of problem W for the most attended tokens         */
    int32_t padding;
    int64_t kept;       /* tokens in the sets, over all terms                              */
    int64_t several;    /* terms that keep more than one                                   */
    double least_kept;  /* smallest attention of a kept token                              */
    double most_masked; /* largest attention of any other token                            */
    double R;           /* least squares of W - W_fin along W_svm                          */
    double correlation; /* of W with W_fin + R W_svm; 1 - correlation is the paper's predictivity */
    double correlation_svm;    /* with W_svm alone                                                */
    double correlation_single; /* with the one-token SVM                                          */
    double svm_norm;           /* of W_svm, in its own norm                                       */
    int64_t reserved[8];
} attsvm_multi_token;

/*
 * W is (d,d).  `settings` (may be NULL) gives the query, the threshold above which attention keeps
 * a token, the norm of W_svm (W_fin has the smallest Frobenius norm) and the tolerances.  W_fin,
 * W_svm (d,d) and sets (cells) may be NULL.  Several threads may call it at once; use
 * settings->threads = 1 then.
 */
ATTSVM_API attsvm_status attsvm_multi_token_compare(attsvm_multi_token *out,
                                                    const attsvm_data *data, const double *W,
                                                    const attsvm_svm_settings *settings,
                                                    double *W_fin, double *W_svm, uint8_t *sets,
                                                    attsvm_error *err);

/* ----------------------------------------------------------------------- paths */

/*
 * Example: the p of least loss in five balls.
 *
 *     attsvm_path_settings radii;
 *     attsvm_path *path;
 *     attsvm_path_settings_init(&radii);
 *     radii.radii = "1:100:5";
 *     must(attsvm_path_follow(&path, data, &radii, NULL, NULL, NULL, &err));
 *     assert(attsvm_path_describe(path).points == 5);
 *     assert(attsvm_path_describe(path).correlation > 0.9);
 */

/*
 * Regularisation paths (theory 6.7 to 6.9): the minimisers of the loss in growing balls,
 *
 *   p_R = argmin L over |p| <= R;  |W|_F <= R;  |K|^2 + |Q|^2 <= 2 R;  |p| <= R and |v| <= r,
 *
 * or of the loss plus a vanishing ridge.  Texts are borrowed and written as for the flags: radii
 * and ridge_path "FIRST:LAST:COUNT", log-spaced; loss as in training.
 */
typedef struct attsvm_path_settings {
    const char *radii;      /* R                                                            */
    const char *ridge_path; /* instead of radii: rho of L + rho |theta|^2; empty: none      */
    const char *loss;
    double ratio;        /* model vp: r = ratio R                                            */
    double head_radius;  /* model vp: r for every R; 0: use the ratio                        */
    double cone;         /* local path: cos(angle to the SVM direction) >= 1 - cone; 0: none */
    double threshold;    /* nonlinear heads: attention above it keeps a token                */
    int64_t starts;      /* random directions in which the search starts                     */
    int64_t rank;        /* columns of K and Q, at most d; 0: d                              */
    int64_t seed;        /* of the random directions                                         */
    int64_t threads;     /* 0: all cores                                                     */
    double time_limit;   /* seconds, after which the path ends at its last point; 0: none    */
    double kappa;        /* of ATTSVM_HEAD_CONCAVE                                           */
    int64_t query_token; /* of ATTSVM_QUERY_TOKEN                                            */
    int32_t query;       /* attsvm_query                                                     */
    int32_t head;        /* attsvm_head                                                      */
    int32_t model;       /* ATTSVM_MODEL_P, W, KQ or VP                                      */
    int32_t padding;
    int64_t reserved[8];
} attsvm_path_settings;

ATTSVM_API void attsvm_path_settings_init(attsvm_path_settings *settings);

/* What the joint path of v and p converges to (theory 6.8). */
typedef enum attsvm_joint_case {
    ATTSVM_JOINT_NONE = 0,  /* another model, or no SVM to compare with                 */
    ATTSVM_JOINT_RELAXED,   /* r grows fast enough: p tends to the joint problem        */
    ATTSVM_JOINT_UNRELAXED, /* r is bounded: p tends to problem P                       */
    ATTSVM_JOINT_ALL_TIGHT, /* all sequences are tight in the v-SVM: the problems agree */
    ATTSVM_JOINT_BETWEEN,   /* r grows too slowly for JOINT and too fast for P          */
} attsvm_joint_case;

/* "relaxed", "between", ...; NULL for a number that is not a case. */
ATTSVM_API const char *attsvm_joint_case_name(attsvm_joint_case which);

/* A number that was not computed is NAN (counts: -1). */
typedef struct attsvm_path_info {
    int64_t points, terms;
    attsvm_outcome svm; /* of the problem that `correlation` compares with             */
    attsvm_joint_case joint;
    double svm_norm, svm_gap;
    double least_ratio;         /* joint: smallest ratio with the relaxed problem as limit    */
    double correlation;         /* at the last point; the array has all                       */
    int64_t solves;             /* local minimisations                                        */
    int64_t evaluations;        /* of loss and gradient                                       */
    int64_t kept;               /* tokens with attention at the last point, over all terms    */
    int64_t zero_weight_tokens; /* nonlinear heads: tokens whose attention has zero gradient  */
    int64_t kinks;              /* ReLU head: terms whose pooled token has a unit at its kink */
    double seconds;
    int64_t reserved[8];
} attsvm_path_info;

typedef struct attsvm_path attsvm_path;

/*
 * Follows a path.  `selection` (copied) gives the tokens of the SVM to compare with, whose
 * direction is also the axis of the cone; NULL: the optimal tokens, and for vp those that the path
 * ends on.  `observer` (may be NULL) counts points; if it returns false, the path ends at the last
 * one.
 */
ATTSVM_API attsvm_status attsvm_path_follow(attsvm_path **out, const attsvm_data *data,
                                            const attsvm_path_settings *settings,
                                            const attsvm_selection *selection,
                                            attsvm_observer *observer, void *context,
                                            attsvm_error *err);
ATTSVM_API void attsvm_path_free(attsvm_path *path);
ATTSVM_API attsvm_path_info attsvm_path_describe(const attsvm_path *path);

/*
 * Results, borrowed from the path, one entry per point: radius, correlation, loss, loss_excess,
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
 * Example: the graphs of random contexts.
 *
 *     attsvm_generate_settings contexts;
 *     attsvm_data *words;
 *     attsvm_graph *graph;
 *     attsvm_generate_settings_init(&contexts);
 *     contexts.kind = ATTSVM_NTP;
 *     must(attsvm_data_generate(&words, &contexts, &err));
 *     must(attsvm_graph_create(&graph, words, &err));
 *     assert(attsvm_graph_describe(graph).components >= attsvm_graph_describe(graph).lasts);
 */

/*
 * Contexts with labels (E, tokens, offsets, labels); the query is the last token.  Each last token
 * has a graph over words, with an edge from the label to every other word of the context (theory
 * 6.14).  Attention selects between strongly connected components and stays spread within them.
 */
typedef struct attsvm_graph attsvm_graph;

/* `data` is borrowed and must outlive the graph. */
ATTSVM_API attsvm_status attsvm_graph_create(attsvm_graph **out, const attsvm_data *data,
                                             attsvm_error *err);
ATTSVM_API void attsvm_graph_free(attsvm_graph *graph);

typedef struct attsvm_graph_info {
    int64_t lasts;      /* distinct last tokens: number of graphs */
    int64_t words;      /* nodes of all graphs                    */
    int64_t edges;      /* distinct edges of all graphs           */
    int64_t components; /* strongly connected components          */
    int64_t cyclic;     /* components with more than one word     */
    int64_t reserved[4];
} attsvm_graph_info;
ATTSVM_API attsvm_graph_info attsvm_graph_describe(const attsvm_graph *graph);

typedef struct attsvm_graph_edge {
    int64_t from, to; /* indices into `word` of the part */
    int64_t count;    /* contexts with this edge         */
} attsvm_graph_edge;

/* The graph of one last token; arrays are borrowed from the graph. */
typedef struct attsvm_graph_part {
    int64_t last;             /* row of E                                                     */
    int64_t words;            /* nodes                                                        */
    const int32_t *word;      /* (words) rows of E, increasing                                */
    const int32_t *component; /* (words) its component, in topological order: edges lead to a higher
                                 number or stay inside */
    int64_t components;
    int64_t edges;
    const attsvm_graph_edge *edge;
    int64_t reserved[4];
} attsvm_graph_part;
/* Part k, 0 <= k < lasts; its `last` is -1 beyond them. */
ATTSVM_API attsvm_graph_part attsvm_graph_part_of(const attsvm_graph *graph, int64_t k);

/*
 * Sets (tokens) that make ATTSVM_PROBLEM_MULTI with ATTSVM_QUERY_LAST the graph SVM: the tokens of
 * the label's component.  Borrowed from the graph.
 */
ATTSVM_API const uint8_t *attsvm_graph_sets(const attsvm_graph *graph);

/*
 * Writes the finite part to W (d,d): among matrices spanned by (e_a - e_b) e_k', where a and b are
 * in one component of the graph of k, the minimiser of the loss over contexts restricted to the
 * label's component.  `observer` (may be NULL) counts evaluations; if it stops the call, W is the
 * best so far and info.converged is false.
 */
typedef struct attsvm_graph_finite_info {
    double norm;        /* |W|_F                                               */
    double loss;        /* minimum, which is also the infimum of the full loss */
    double gradient;    /* norm of the gradient at W                           */
    int64_t iterations; /* of L-BFGS                                           */
    bool converged;     /* gradient at most 1e-10                              */
    char padding[7];
    int64_t reserved[8];
} attsvm_graph_finite_info;
ATTSVM_API attsvm_status attsvm_graph_finite(const attsvm_graph *graph, double *W,
                                             attsvm_graph_finite_info *info,
                                             attsvm_observer *observer, void *context,
                                             attsvm_error *err);

/* Compares a trained W (d,d) with finite + R direction.  A number that does not apply is NAN. */
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
 * Example: a classifier of two kinds of bags.
 *
 *     const int64_t label[] = { 0, 1, 0, 1, 0, 1, 0, 1 };
 *     const attsvm_targets targets = { .label = label, .classes = 2 };
 *     attsvm_classifier *classifier;
 *     must(attsvm_classifier_fit(&classifier, data, &targets, NULL, NULL, NULL, &err));
 *     must(attsvm_classifier_name_classes(classifier, (const char *[]){ "even", "odd" }, &err));
 *     assert(attsvm_classifier_find(classifier, "v")->shape[3] == 5);
 */

/*
 * One attention layer with a bias, fitted to labelled bags (theory 8).  With phi(x) = (x - mu) /
 * (sigma sqrt(d)) the scores of a bag are
 *
 *   prompt   f_c = sum_h sum_t softmax_t(phi_t' p_h) phi_t' v_hc + b_c
 *   score    f_c = sum_t softmax_t(beta_c phi_t' v_c) phi_t' v_c + b_c
 *   witness  f   = (1/beta) log sum_t exp(beta phi_t' v) + b       two classes
 *   mean     f_c = mean_t phi_t' v_c + b_c
 *
 * Two classes have one score, positive for the second class.  A model is an ensemble: its score is
 * the average over `starts` minimisations from different random start values.
 */
typedef enum attsvm_pool {
    ATTSVM_POOL_AUTO = 1, /* prompt or score, chosen by validation on the training data */
    ATTSVM_POOL_PROMPT,
    ATTSVM_POOL_SCORE,
    ATTSVM_POOL_WITNESS,
    ATTSVM_POOL_MEAN,
} attsvm_pool;

typedef enum attsvm_scale {
    ATTSVM_SCALE_STANDARD = 1, /* mu and sigma from the training tokens     */
    ATTSVM_SCALE_NONE,         /* phi(x) = x; always used for one-hot words */
} attsvm_scale;

typedef enum attsvm_weighting {
    ATTSVM_WEIGHTS_BALANCED = 1, /* every class has the same total weight   */
    ATTSVM_WEIGHTS_EQUAL,        /* every bag has the same weight           */
} attsvm_weighting;

#define ATTSVM_RIDGE_AUTO (-1.0) /* chosen by validation on the training data */

typedef struct attsvm_fit_settings {
    double ridge;       /* lambda of lambda |v|^2 + lambda |p|^2; ATTSVM_RIDGE_AUTO     */
    double time_limit;  /* seconds, after which it fails with ATTSVM_E_STOPPED; 0: none */
    int64_t heads;      /* H prompts; pool prompt only                                  */
    int64_t starts;     /* members of the ensemble                                      */
    int64_t iterations; /* maximum of L-BFGS iterations per member                      */
    int64_t batch;      /* token values (tokens x d) above which a member starts with
                           mini-batches */
    int64_t seed;
    int64_t threads; /* 0: all cores; same results for any                                   */
    int32_t pool;    /* attsvm_pool                                                          */
    int32_t scale;   /* attsvm_scale                                                         */
    int32_t weights; /* attsvm_weighting                                                     */
    int32_t padding;
    int64_t reserved[8];
} attsvm_fit_settings;

ATTSVM_API void attsvm_fit_settings_init(attsvm_fit_settings *settings);

/* The class and weight of each bag; arrays are borrowed. */
typedef struct attsvm_targets {
    const int64_t *label;        /* (n) class number, 0..classes-1                          */
    int64_t classes;             /* at least 2; each must have a bag of positive weight     */
    const double *sample_weight; /* (n) or NULL. Bags of weight 0 are removed first         */
    const double *class_weight;  /* (classes) factors in place of settings.weights, or NULL */
    int64_t reserved[4];
} attsvm_targets;

typedef struct attsvm_classifier attsvm_classifier;

/*
 * Fits a classifier.  `data` and `targets` are borrowed until the call returns; the labels of the
 * data set itself are ignored.  `observer` (may be NULL) counts minimisations; if it stops the
 * call, the call returns ATTSVM_E_STOPPED.
 */
ATTSVM_API attsvm_status attsvm_classifier_fit(attsvm_classifier **out, const attsvm_data *data,
                                               const attsvm_targets *targets,
                                               const attsvm_fit_settings *settings,
                                               attsvm_observer *observer, void *context,
                                               attsvm_error *err);
ATTSVM_API void attsvm_classifier_free(attsvm_classifier *classifier);

typedef struct attsvm_classifier_info {
    int64_t d, classes, outputs; /* outputs: scores per bag, 1 for two classes */
    int64_t heads, starts;
    int64_t words;        /* of the vocabulary; 0: not a model of text                     */
    int64_t embedded;     /* columns of the word vectors; 0: one-hot words or no text      */
    double ridge;         /* lambda, chosen or given                                       */
    double loss;          /* of the training data, ridge included, mean of the members     */
    double gradient;      /* largest final gradient norm of a member                       */
    double accuracy;      /* of the ensemble on the training data                          */
    int64_t iterations;   /* of all members                                                */
    int64_t evaluations;  /* of all members, including validation                          */
    int64_t converged;    /* members that converged                                        */
    double validation[2]; /* auto: error + 1 - AUC of prompt and score at the chosen ridge */
    double seconds;
    int32_t pool;  /* attsvm_pool, chosen or given                                           */
    int32_t scale; /* attsvm_scale                                                           */
    int64_t reserved[8];
} attsvm_classifier_info;
ATTSVM_API attsvm_classifier_info attsvm_classifier_describe(const attsvm_classifier *classifier);

/* Arrays of the model, borrowed: p (starts,heads,d), v (starts,heads,outputs,d), beta
   (starts,outputs), b (starts,outputs), mu (d), sigma (d); NULL if it has none of that name. */
ATTSVM_API const attsvm_array *attsvm_classifier_find(const attsvm_classifier *classifier,
                                                      const char *name);

/* Name of class k ("0", "1", ... unless set); NULL beyond the last.  Names are copied; NULL for
   `names` restores the numbers. */
ATTSVM_API const char *attsvm_classifier_class(const attsvm_classifier *classifier, int64_t k);
ATTSVM_API attsvm_status attsvm_classifier_name_classes(attsvm_classifier *classifier,
                                                        const char *const *names,
                                                        attsvm_error *err);
/* Word k of the vocabulary; NULL beyond the last. */
ATTSVM_API const char *attsvm_classifier_word(const attsvm_classifier *classifier, int64_t k);

/* Compares the prompt of the first member with the p-SVM of its most attended tokens.  A number
   that was not computed is NAN. */
typedef struct attsvm_classifier_attention {
    attsvm_outcome outcome; /* of that p-SVM; NOT_RUN for the pool mean, several heads or outputs,
                               or more than 2e7 token values */
    int32_t padding;
    double margin;      /* of the SVM                                                        */
    double efficiency;  /* (smallest margin of p / |p|) / margin                             */
    double correlation; /* of p with the SVM solution                                        */
    int64_t reserved[4];
} attsvm_classifier_attention;
ATTSVM_API attsvm_status attsvm_classifier_attend(const attsvm_classifier *classifier,
                                                  const attsvm_data *data,
                                                  attsvm_classifier_attention *out,
                                                  attsvm_error *err);

/*
 * The data set as the first member of a classifier sees it, so that training can start from there:
 * scaled tokens, labels, the head as v and init_v, the prompt (beta v for the pools score and
 * witness) as init_p; there is no bias.  The classifier has two classes, one head and a prompt.
 */
ATTSVM_API attsvm_status attsvm_classifier_tokens(attsvm_data **out,
                                                  const attsvm_classifier *classifier,
                                                  const attsvm_data *data, attsvm_error *err);

/* ----------------------------------------------------------------- predictions */

/*
 * Example: its labels for the same bags.
 *
 *     attsvm_prediction *prediction;
 *     must(attsvm_classifier_predict(&prediction, classifier, data, NULL, &err));
 *     assert(attsvm_array_count(attsvm_prediction_find(prediction, "label")) == 8);
 *     assert(strcmp(attsvm_classifier_class(classifier, 1), "odd") == 0);
 */

typedef struct attsvm_predict_settings {
    int64_t threads; /* 0: all cores                                                 */
    int64_t seed;    /* of the random token order used as the baseline of `faithful` */
    bool explain;    /* decider, runner_up, flips, agreement, contribution, ...      */
    bool faithful;   /* comprehensiveness and sufficiency                            */
    char padding[6];
    int64_t reserved[8];
} attsvm_predict_settings;
ATTSVM_API void attsvm_predict_settings_init(attsvm_predict_settings *settings);

/*
 * Predictions for a data set, which needs no labels.  Arrays: label (n), score (n) or (n,C),
 * probability (n,C); with `explain` decider, runner_up (n; -1: none), flips (n), agreement (n), key
 * (n: the token with the largest contribution to the last class), attention (N), contribution (N,
 * to the predicted class), instance_score (N).
 */
typedef struct attsvm_prediction attsvm_prediction;

typedef struct attsvm_prediction_info {
    int64_t n, classes;
    int64_t empty;  /* bags without tokens: their score is the bias                          */
    double absence; /* share of bags predicted negative that become positive when one token
                       is removed; NAN without `explain` and for more than two classes */
    /* `faithful`: mean decrease of the predicted class's probability when the top 1, 3 and
       ceil(T/10) tokens are removed, or when only they are left; the same for a random order */
    double comprehensiveness[3], sufficiency[3];
    double random_comprehensiveness[3], random_sufficiency[3];
    int64_t reserved[8];
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

/* Quality of predictions.  A number that does not apply is NAN. */
typedef struct attsvm_measures {
    int64_t n;       /* bags with a label that the model knows */
    double accuracy; /* share of correct labels                */
    double auc;      /* area under the ROC curve; for more than two classes the mean of
                        one against the rest */
    double log_loss; /* mean of -log probability of the true class */
    double hits;     /* see attsvm_measure_hits                    */
    int64_t reserved[4];
} attsvm_measures;
/* score (n) or (n,C) without NaN; label (n; -1: unknown, left out); confusion (C,C: true,
   predicted) or NULL. */
ATTSVM_API attsvm_status attsvm_measure(attsvm_measures *out, const double *score,
                                        const int64_t *label, int64_t n, int64_t classes,
                                        int64_t *confusion, attsvm_error *err);
/*
 * Among bags of the last class with at least one token of instance label `which`: the share whose
 * `key` (n) is such a token; NAN if there is no such bag.  `inst` has one entry per token.
 */
ATTSVM_API double attsvm_measure_hits(const attsvm_data *data, const int64_t *label,
                                      int64_t classes, const int64_t *key, const attsvm_array *inst,
                                      int64_t which);

/* ------------------------------------------------------------ cross-validation */

/*
 * Example: two folds, one repetition.
 *
 *     attsvm_cv_settings once;
 *     attsvm_cv *cv;
 *     int64_t fold[8];
 *     attsvm_cv_settings_init(&once);
 *     once.folds = 2;
 *     once.repeats = 1;
 *     must(attsvm_cv_folds(label, 8, 2, once.folds, 7, fold, &err));
 *     must(attsvm_cv_run(&cv, data, &targets, NULL, &once, fold, NULL, 0, NULL, NULL, &err));
 *     assert(attsvm_cv_describe(cv).mean.n == 8);
 */

typedef struct attsvm_cv_settings {
    int64_t folds;   /* stratified, shuffled by the seed of the fit */
    int64_t repeats; /* repetitions, each with new folds            */
    int64_t reserved[8];
} attsvm_cv_settings;
ATTSVM_API void attsvm_cv_settings_init(attsvm_cv_settings *settings);

typedef struct attsvm_cv attsvm_cv;

typedef struct attsvm_cv_info {
    int64_t n, classes, folds, repeats;
    attsvm_measures mean;      /* over repetitions, each measured over all bags */
    attsvm_measures deviation; /* between repetitions; NAN if there is one      */
    int64_t evaluations, iterations;
    double seconds;
    int64_t reserved[8];
} attsvm_cv_info;

/*
 * Cross-validates.  `fold` (repeats,n) holds fold numbers starting at 0; NULL: stratified folds.
 * `inst` (tokens; may be NULL) and `which` are used for hits.  `observer` (may be NULL) counts
 * folds; if it stops the call, the call returns ATTSVM_E_STOPPED.
 */
ATTSVM_API attsvm_status attsvm_cv_run(attsvm_cv **out, const attsvm_data *data,
                                       const attsvm_targets *targets,
                                       const attsvm_fit_settings *fit,
                                       const attsvm_cv_settings *settings, const int64_t *fold,
                                       const attsvm_array *inst, int64_t which,
                                       attsvm_observer *observer, void *context, attsvm_error *err);
ATTSVM_API void attsvm_cv_free(attsvm_cv *cv);
ATTSVM_API attsvm_cv_info attsvm_cv_describe(const attsvm_cv *cv);
/* Borrowed: fold (R,n), label, key (R,n), score (R,n) or (R,n,C), the chosen pool (R,F) and
   ridge (R,F), accuracy, auc, log_loss, hits (R).  NULL if there is none of that name. */
ATTSVM_API int64_t attsvm_cv_count(const attsvm_cv *cv);
ATTSVM_API const attsvm_named_array *attsvm_cv_array(const attsvm_cv *cv, int64_t k);
ATTSVM_API const attsvm_array *attsvm_cv_find(const attsvm_cv *cv, const char *name);

/*
 * Compares two models on the same folds: mean difference of accuracy (first minus second) and its
 * standard error over bags, each bag's difference averaged over repetitions.  `first` and `second`
 * (R,n) are predicted labels, `label` (n) the true ones.
 */
typedef struct attsvm_paired {
    double difference, standard_error;
    int64_t reserved[4];
} attsvm_paired;
ATTSVM_API attsvm_paired attsvm_cv_compare(const int64_t *first, const int64_t *second,
                                           const int64_t *label, int64_t repeats, int64_t n);

/* Stratified folds into fold (n): the bags of each class, shuffled, go to the folds in turn.
   `label` (n) is 0..classes-1. */
ATTSVM_API attsvm_status attsvm_cv_folds(const int64_t *label, int64_t n, int64_t classes,
                                         int64_t folds, int64_t seed, int64_t *fold,
                                         attsvm_error *err);

/* ------------------------------------------------- labelled bags, texts, images */

/*
 * Example: two texts as bags of words, and a classifier that knows these words.
 *
 *     const char *const texts[] = { "good film", "bad film" }, *const kinds[] = { "yes", "no" };
 *     attsvm_samples *samples;
 *     must(attsvm_samples_texts(&samples, texts, kinds, 2, NULL, NULL, &err));
 *     assert(attsvm_samples_describe(samples).words == 3);
 *     const attsvm_targets said = { .label = attsvm_samples_label(samples), .classes = 2 };
 *     attsvm_classifier *reader;
 *     must(attsvm_classifier_fit(&reader, attsvm_samples_data(samples), &said, NULL, NULL, NULL,
 *                                &err));
 *     must(attsvm_classifier_adopt(reader, samples, &err));
 *     assert(strcmp(attsvm_samples_class(samples, 0), attsvm_classifier_class(reader, 0)) == 0);
 *     assert(strcmp(attsvm_samples_word(samples, 0, 0), "good") == 0);
 *     assert(attsvm_classifier_word(reader, 2) && !attsvm_classifier_word(reader, 3));
 */

/*
 * Input of a classifier, read from a file: bags or texts.  Bags come from any file that
 * attsvm_archive_open reads; labels y or Y are any integers, and the optional arrays fold (n) or
 * (R,n) and inst (N) are read, too.  Texts are UTF-8 lines `label<TAB>text`, or CSV with columns
 * label and text; a file to predict needs no labels.  Words are lower-cased runs of letters and
 * digits with inner apostrophes and hyphens; every other printable character is a separate word.
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
    int64_t classes;    /* classes in the file; with a model, its classes            */
    int64_t repeats;    /* rows of fold; 0: none                                     */
    int64_t words;      /* of the vocabulary; 0: bags                                */
    int64_t embedded;   /* columns of the word vectors; 0: one-hot or bags           */
    int64_t dropped;    /* tokens whose word is not in the vocabulary                */
    int64_t empty;      /* texts without any word of the vocabulary                  */
    int64_t unlabelled; /* samples without a label, or with one unknown to the model */
    int64_t reserved[8];
} attsvm_samples_info;

/*
 * With a model (may be NULL) its vocabulary and classes are used: unknown words are dropped.
 */
ATTSVM_API attsvm_status attsvm_samples_read(attsvm_samples **out, const char *path,
                                             const attsvm_samples_settings *settings,
                                             const attsvm_classifier *model, attsvm_error *err);
/* The bytes of a file of texts, in memory. */
ATTSVM_API attsvm_status attsvm_samples_parse(attsvm_samples **out, const char *bytes, size_t size,
                                              const attsvm_samples_settings *settings,
                                              const attsvm_classifier *model, attsvm_error *err);
/* Texts in memory.  `label` (n) may be NULL, and so may its entries: a text without a label. */
ATTSVM_API attsvm_status attsvm_samples_texts(attsvm_samples **out, const char *const *text,
                                              const char *const *label, int64_t n,
                                              const attsvm_samples_settings *settings,
                                              const attsvm_classifier *model, attsvm_error *err);
ATTSVM_API void attsvm_samples_free(attsvm_samples *samples);
ATTSVM_API attsvm_samples_info attsvm_samples_describe(const attsvm_samples *samples);
/* Borrowed from the samples: data, class number of each sample (n; -1: none; NULL: no labels in the
   file), folds (repeats,n), any other array of the file. */
ATTSVM_API const attsvm_data *attsvm_samples_data(const attsvm_samples *samples);
ATTSVM_API const int64_t *attsvm_samples_label(const attsvm_samples *samples);
ATTSVM_API const int64_t *attsvm_samples_fold(const attsvm_samples *samples);
ATTSVM_API const attsvm_array *attsvm_samples_array(const attsvm_samples *samples,
                                                    const char *name);
/* Name of class k; token t of sample i as a word (NULL: bags).  NULL beyond the last. */
ATTSVM_API const char *attsvm_samples_class(const attsvm_samples *samples, int64_t k);
ATTSVM_API const char *attsvm_samples_word(const attsvm_samples *samples, int64_t i, int64_t t);

/* Copies class names, vocabulary and word vectors into the classifier that was fitted to these
   samples, so that it can read texts. */
ATTSVM_API attsvm_status attsvm_classifier_adopt(attsvm_classifier *classifier,
                                                 const attsvm_samples *samples, attsvm_error *err);

/*
 * Cuts images (n,h,w), or square images (n,h*w), into tokens: windows of size x size pixels, row by
 * row; `positions` adds the place of the window (top, left, from -1 to 1) as two features.
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
    int64_t n, height, width, rows, columns, d; /* rows x columns windows per image */
    int64_t reserved[8];
} attsvm_patches_info;
/* Reads `from` and writes X, y, fold (if present) and patches (size, stride, rows, columns, height,
   width) to `to`. */
ATTSVM_API attsvm_status attsvm_patches_cut(const char *from, const char *to,
                                            const attsvm_patches_settings *settings,
                                            attsvm_patches_info *info, attsvm_error *err);

/* ------------------------------------------------------------- results on disk */

/*
 * Example: a run with its verdict to a file and back.
 *
 *     attsvm_train *again;
 *     attsvm_verdict read;
 *     must(attsvm_verdict_save(&verdict, run, limit, "verdict.npz", NULL, 0, &err));
 *     must(attsvm_verdict_load(&read, "verdict.npz", &err));
 *     must(attsvm_train_load(&again, data, "verdict.npz", NULL, NULL, &err));
 *     assert(read.correlation == verdict.correlation);
 *     assert(attsvm_train_describe(again).loss == attsvm_train_describe(run).loss);
 */

/*
 * Results are archives, preferably `.npz`; docs/format.md lists their arrays.  A loaded result
 * needs the data set from which it was computed.  Files do not record threads and time limits, so
 * that they have the same bytes with any number of threads; loaded settings have the defaults.
 */

/*
 * The selection named by `source`: "opt", the optimal tokens; "ids" or "sets", arrays of the data
 * set; otherwise a result file with ids or softmax.  NULL or "" means "sets" for MULTI and FINITE,
 * else "opt".  A fault in the data set gives ATTSVM_E_DATA, one in the result file ATTSVM_E_FORMAT.
 * `data` is borrowed until the call returns.
 */
typedef struct attsvm_chosen attsvm_chosen;

typedef struct attsvm_chosen_info {
    attsvm_selection selection; /* for attsvm_problem_create; borrowed from the object */
    const char *source;         /* "opt", "ids", "sets" or the file; borrowed          */
    int64_t ties;               /* opt: terms with a tie of the best score             */
    int64_t reserved[4];
} attsvm_chosen_info;

ATTSVM_API attsvm_status attsvm_chosen_create(attsvm_chosen **out, const attsvm_data *data,
                                              const attsvm_svm_settings *settings,
                                              const char *source, attsvm_error *err);
ATTSVM_API attsvm_chosen_info attsvm_chosen_describe(const attsvm_chosen *chosen);
ATTSVM_API void attsvm_chosen_free(attsvm_chosen *chosen);

/*
 * How a result was made: every file saved by the calls below records it in its array `settings`
 * (JSON).  *out is NULL if the file has no such array.
 */
typedef struct attsvm_origin attsvm_origin;

typedef struct attsvm_origin_info {
    const char *verb;                   /* "train", "svm", "verify", "tokens", "path"         */
    const char *version;                /* of the library                                     */
    const char *file;                   /* data file without its folder; "": arrays in memory */
    const char *fingerprint;            /* of the data                                        */
    const attsvm_train_settings *train; /* NULL: nothing was trained                          */
    const attsvm_svm_settings *svm;     /* NULL: no problem was solved                        */
    const attsvm_path_settings *path;   /* NULL: no path was followed                         */
    const double *v;                    /* (v_count) the trained head; NULL: not trained      */
    int64_t v_count;
    int64_t reserved[4];
} attsvm_origin_info;

ATTSVM_API attsvm_status attsvm_origin_read(attsvm_origin **out, const char *path,
                                            attsvm_error *err);
ATTSVM_API void attsvm_origin_free(attsvm_origin *origin);
/* Borrows from the origin. */
ATTSVM_API attsvm_origin_info attsvm_origin_describe(const attsvm_origin *origin);
/* Sets problem, query and head to those of the result; leaves the other settings unchanged. */
ATTSVM_API attsvm_status attsvm_origin_svm(const attsvm_origin *origin,
                                           attsvm_svm_settings *settings, attsvm_error *err);
/*
 * Returns ATTSVM_E_ARG, with a message that names both, if the result belongs to another data set
 * or to a model that does not fit the problem of `svm` (may be NULL).
 */
ATTSVM_API attsvm_status attsvm_origin_check(const attsvm_origin *origin, const attsvm_data *data,
                                             const attsvm_svm_settings *svm, attsvm_error *err);

/* Writes a solution with everything that a check needs, and up to 8 `more` arrays (count). */
ATTSVM_API attsvm_status attsvm_solution_save(const attsvm_solution *solution,
                                              const attsvm_data *data, const char *path,
                                              const attsvm_named_array *more, int64_t count,
                                              attsvm_error *err);
/*
 * Reads a solution, also from the file of a verdict.  Its info holds only the claimed outcome; use
 * attsvm_check to verify the claim.
 */
ATTSVM_API attsvm_status attsvm_solution_load(attsvm_solution **out, const attsvm_data *data,
                                              const char *path, attsvm_error *err);

/* Writes the arrays of a finished run, followed by `more` (count).  With MPI all ranks call it, and
   rank 0 writes. */
ATTSVM_API attsvm_status attsvm_train_save(const attsvm_train *train, const char *path,
                                           const attsvm_named_array *more, int64_t count,
                                           attsvm_error *err);
/*
 * Reads a finished run: its settings, parameters and trace.  The values of attsvm_train_describe
 * are recomputed, except seconds, which are 0.  `loss` and `head` are the functions of the original
 * run.  The run can be continued (attsvm_train_continue) if its step rule has no state; for other
 * rules use settings.checkpoint.
 */
ATTSVM_API attsvm_status attsvm_train_load(attsvm_train **out, const attsvm_data *data,
                                           const char *path, const attsvm_loss_callback *loss,
                                           const attsvm_head_callback *head, attsvm_error *err);

/*
 * Writes a verdict with its run and its solution into one file, whose claim attsvm_check can
 * verify, and up to 8 `more` arrays (count).
 */
ATTSVM_API attsvm_status attsvm_verdict_save(const attsvm_verdict *verdict, const attsvm_train *run,
                                             const attsvm_solution *solution, const char *path,
                                             const attsvm_named_array *more, int64_t count,
                                             attsvm_error *err);
/* attsvm_train_load and attsvm_solution_load read the run and the solution of the same file. */
ATTSVM_API attsvm_status attsvm_verdict_load(attsvm_verdict *out, const char *path,
                                             attsvm_error *err);

/* `more` as for a solution.  A loaded enumeration does not need its scores, and is not saved again.
 */
ATTSVM_API attsvm_status attsvm_enumeration_save(const attsvm_enumeration *enumeration,
                                                 const char *path, const attsvm_named_array *more,
                                                 int64_t count, attsvm_error *err);
ATTSVM_API attsvm_status attsvm_enumeration_load(attsvm_enumeration **out, const char *path,
                                                 attsvm_error *err);

ATTSVM_API attsvm_status attsvm_path_save(const attsvm_path *path, const char *file,
                                          attsvm_error *err);
ATTSVM_API attsvm_status attsvm_path_load(attsvm_path **out, const char *file, attsvm_error *err);

/* Writes a classifier with its class names and vocabulary; `settings` (JSON text, may be NULL)
   records how it was made.  A loaded classifier predicts the same bytes.
 */
ATTSVM_API attsvm_status attsvm_classifier_save(const attsvm_classifier *classifier,
                                                const char *path, const char *settings,
                                                attsvm_error *err);
ATTSVM_API attsvm_status attsvm_classifier_load(attsvm_classifier **out, const char *path,
                                                attsvm_error *err);

/* ---------------------------------------------------------------- interrupting */

/*
 * Example: as from a signal handler or another thread.
 *
 *     attsvm_interrupt(true);
 *     assert(attsvm_interrupted());
 *     must(attsvm_train_continue(again, 3000, NULL, NULL, &err));
 *     attsvm_interrupt(false);
 *     assert(attsvm_train_describe(again).outcome == ATTSVM_TRAIN_OBSERVER);
 */

/*
 * Asks every long call of this process, on any thread, to end soon; safe in a signal handler.  Each
 * call ends as if its observer had returned false: it returns what it has (a run that can be saved,
 * the best solution so far, the points of a path, the selections found), or ATTSVM_E_STOPPED.  The
 * request holds until the function is called with false.
 */
ATTSVM_API void attsvm_interrupt(bool interrupt);
ATTSVM_API bool attsvm_interrupted(void);

/* --------------------------------------------------------------------- machine */

/*
 * Example: the kernels in use.
 *
 *     assert(strcmp(attsvm_kernels(), "baseline") == 0 || strstr(attsvm_kernels(), "avx"));
 */

/*
 * The vector kernels in use ("baseline", "avx2", "avx512"); by default the widest that the
 * processor has.  Select another set before any other call; ATTSVM_E_ARG if the processor or the
 * build does not have it.
 */
ATTSVM_API const char *attsvm_kernels(void);
ATTSVM_API attsvm_status attsvm_kernels_select(const char *name, attsvm_error *err);

#ifdef __cplusplus
}
#endif

#endif
