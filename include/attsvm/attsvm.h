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
    ATTSVM_E_ARG = -1,    /* an argument or a setting is out of its range        */
    ATTSVM_E_OPEN = -2,   /* a file is not there or may not be opened            */
    ATTSVM_E_FORMAT = -3, /* a file is not what its name or header promises      */
    ATTSVM_E_DATA = -4,   /* arrays were read, but they are not a valid data set */
    ATTSVM_E_MEMORY = -5, /* memory could not be had                             */
    ATTSVM_E_DISK = -6    /* reading or writing failed: disk full, device error  */
} attsvm_status;

typedef struct attsvm_error {
    attsvm_status status;
    char message[508];
} attsvm_error;

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

/* Element `index` in row-major order as a double (integers beyond 2^53 are rounded). */
ATTSVM_API double attsvm_array_get(const attsvm_array *array, int64_t index);

/* -------------------------------------------------------------------- settings */

/*
 * Settings are plain data.  `attsvm_..._settings_init` fills in the defaults; the functions that
 * take a settings struct check its ranges and accept NULL for "all defaults".
 */

typedef struct attsvm_read_settings {
    int64_t threads;       /* for checking values; 0: all cores                            */
    int64_t inflate_limit; /* most bytes that one compressed array may unpack to           */
    bool verify;           /* also check the stored checksums of memory-mapped arrays      */
    char reserved[7];
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
    ATTSVM_TIED        /* small integer coordinates, repeated tokens: ties and rank loss   */
} attsvm_generate_kind;

typedef struct attsvm_generate_settings {
    int64_t n;          /* sequences                                                       */
    int64_t T;          /* tokens of the longest sequence                                  */
    int64_t T_min;      /* tokens of the shortest; 0: all have T                           */
    int64_t d;          /* dimension                                                       */
    int64_t queries;    /* queries z a sequence; 0: none                                   */
    int64_t vocabulary; /* words of a vocabulary, clusters of `clusters`; 0: chosen by size */
    int64_t seed;
    double push;   /* planted kinds: how far the best token is pushed                 */
    double noise;  /* clusters: deviation around the centre                           */
    double spread; /* token norms are multiplied by 10^u, u uniform in +-spread       */
    int32_t kind;  /* attsvm_generate_kind                                            */
    int32_t dtype; /* attsvm_dtype of the tokens: float16, float32, float64           */
    bool optimal;  /* planted kinds: the planted token also has the best score        */
    char reserved[7];
} attsvm_generate_settings;

ATTSVM_API void attsvm_generate_settings_init(attsvm_generate_settings *settings);

/* -------------------------------------------------------------------- archives */

/*
 * A set of named arrays read from `.npz`, `.npy`, a directory of `.npy`, `.safetensors`, `.csv` or
 * `.tsv` (told by content, then by name).  Large arrays that are stored as such in the file are
 * memory-mapped; the rest is copied.
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

/* ------------------------------------------------------------------------ data */

/* Token sequences X_i (T_i x d) with labels, queries and whatever else the file has. */
typedef struct attsvm_data attsvm_data;

typedef enum attsvm_storage {
    ATTSVM_EQUAL = 1, /* X (n,T,d)                         */
    ATTSVM_RAGGED,    /* X (N,d), offsets (n+1)            */
    ATTSVM_TABLE      /* E (V,d), tokens (N), offsets (n+1) */
} attsvm_storage;

typedef struct attsvm_data_info {
    int64_t n;            /* sequences                                       */
    int64_t d;            /* dimension                                       */
    int64_t tokens;       /* sum of T_i                                      */
    int64_t T_min, T_max; /* shortest and longest sequence                   */
    int64_t vocabulary;   /* rows of E, 0 unless ATTSVM_TABLE                */
    int64_t queries;      /* given queries a sequence (Z); 0: none           */
    int64_t positive;     /* labels +1                                       */
    int64_t negative;     /* labels -1; both 0 where there are no labels     */
    attsvm_dtype dtype;   /* of the tokens                                   */
    attsvm_storage storage;
} attsvm_data_info;

/*
 * A data set over arrays that the caller keeps: names as in the file format (X, or E and tokens;
 * offsets, Y or y, Z, v, V, W, p, ids, O, s, init_...); unknown names are ignored.  All values
 * are checked.  The arrays are borrowed and must outlive the data set.  On failure *out is NULL.
 */
ATTSVM_API attsvm_status attsvm_data_create(attsvm_data **out, const attsvm_named_array *arrays,
                                            int64_t count, const attsvm_read_settings *settings,
                                            attsvm_error *err);

/* Reads and checks a data set from any file that attsvm_archive_open reads. */
ATTSVM_API attsvm_status attsvm_data_read(attsvm_data **out, const char *path,
                                          const attsvm_read_settings *settings, attsvm_error *err);

ATTSVM_API void attsvm_data_free(attsvm_data *data);

ATTSVM_API attsvm_data_info attsvm_data_describe(const attsvm_data *data);

/* Length of sequence i. */
ATTSVM_API int64_t attsvm_data_length(const attsvm_data *data, int64_t i);

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

/* The same data set straight into a file, whatever its size, in little memory. */
ATTSVM_API attsvm_status attsvm_data_generate_file(const char *path,
                                                   const attsvm_generate_settings *settings,
                                                   attsvm_error *err);

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
