/*
 * base: used by every folder.  Errors, memory, settings tables, random numbers, parallel loops,
 * double-double arithmetic, clock.
 */
#ifndef ATTSVM_BASE_H
#define ATTSVM_BASE_H

#include "attsvm/attsvm.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---------------------------------------------------------------------- errors */

#if defined(__GNUC__)
#define BASE_PRINTF(string, first) __attribute__((format(printf, string, first)))
#else
#define BASE_PRINTF(string, first)
#endif

/* Fills *err (may be NULL) and returns `status`.  A message names the thing, its value and the
   limit. */
attsvm_status base_fail(attsvm_error *err, attsvm_status status, const char *format, ...)
    BASE_PRINTF(3, 4);
#ifndef BASE_LONG_NAMES /* for programs with another `fail`, such as cmocka's */
/* The status is repeated so that compilers see that a failed call does not return ATTSVM_OK. */
#define fail(err, status, ...) (base_fail(err, status, __VA_ARGS__), (status))
#endif

/* Puts "context: " before the message of a failed call, and returns its status. */
attsvm_status base_fail_in(attsvm_error *err, attsvm_status status, const char *context);

/* For public functions: fails if a pointer that the header does not call optional is NULL. */
#define NEED(pointer)                                                                              \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return fail(err, ATTSVM_E_ARG, "%s is NULL", #pointer);                                \
    } while (0)

/* The first line of a function that creates an object: whatever fails after it, *out is NULL. */
#define NEED_OUT(out)                                                                              \
    do {                                                                                           \
        NEED(out);                                                                                 \
        *(out) = NULL;                                                                             \
    } while (0)

/* Fails if an entry of the caller's array x (count) is infinite or NaN. */
attsvm_status base_check_finite(const double *x, int64_t count, const char *name,
                                attsvm_error *err);

#define TRY(call)                                                                                  \
    do {                                                                                           \
        attsvm_status try_ = (call);                                                               \
        if (try_ != ATTSVM_OK)                                                                     \
            return try_;                                                                           \
    } while (0)

/* ATTSVM_E_STOPPED after attsvm_interrupt: for calls without a partial result. */
attsvm_status base_interrupted(attsvm_error *err);

/* ------------------------------------------------------------------------ text */

/* The path, or the end of a long one, so that the rest of a message fits. */
const char *base_path_tail(const char *path);
enum { BASE_NAME_SIZE = 80 }; /* room for a name in a message */
/* Copies a name from outside, made printable and cut to BASE_NAME_SIZE; returns `out`. */
const char *base_printable(const char *name, char out[BASE_NAME_SIZE]);
/* Prints text from outside; all such text is printed here.  Control characters are escaped as
   \\x1b; with `json` as \\u001b, and line ends stay. */
void base_print_text(FILE *out, const char *text, bool json);
/* "s", and "" for one: the ending of a noun after its number. */
const char *base_plural(int64_t count);
/* Bytes of the UTF-8 character at `text`; 0 if it is invalid or NUL. */
size_t base_utf8_length(const unsigned char *text, size_t size);
bool base_is_utf8(const char *text);
/* ---------------------------------------------------------------------- memory */

/* *out = a * b (or a + b); false on overflow. */
bool base_multiply(size_t a, size_t b, size_t *out);
bool base_add(size_t a, size_t b, size_t *out);

/* Product of a shape in elements; false when a dimension is negative or int64_t overflows. */
bool base_shape_count(const int64_t *shape, int ndim, int64_t *out);

/*
 * One memory block per object, laid out by one function that runs twice: with base == NULL it
 * measures, then it assigns pointers.  Every piece starts at a multiple of 64 bytes.
 *
 *     arena a = { 0 };
 *     layout(ws, &a, ...);
 *     TRY(base_arena_allocate(&a, "SVM workspace", err));
 *     layout(ws, &a, ...);          the owner keeps a.base and frees it with free()
 */
typedef struct arena {
    char *base;
    size_t used;
    bool overflow;
} arena;

void *base_take(arena *a, size_t count, size_t size);
#define take(a, count)       ((double *)base_take(a, count, sizeof(double)))
#define take_int64(a, count) ((int64_t *)base_take(a, count, sizeof(int64_t)))

/* Allocates what was measured, zeroed, and rewinds; ATTSVM_E_MEMORY names `what` and the bytes. */
attsvm_status base_arena_allocate(arena *a, const char *what, attsvm_error *err);
/* The same without zeroing: pages that are never touched cost nothing. */
attsvm_status base_arena_reserve(arena *a, const char *what, attsvm_error *err);

/*
 * Returns a pointer p such that element `first` of p is at `memory`: a rank that holds part of an
 * array can index it by the numbers of the whole.  NULL stays NULL; -first inverts the call.
 */
void *base_from(void *memory, int64_t first, size_t size);

/* Uninitialised memory aligned for reading tokens; the caller frees it with free(). */
attsvm_status base_reserve(void *out_pointer, size_t bytes, const char *what, attsvm_error *err);

/* calloc with an overflow check and a message. */
attsvm_status base_allocate(void *out_pointer, size_t count, size_t size, const char *what,
                            attsvm_error *err);

/*
 * Asks the system for huge pages: with small ones a training step takes 20 to 65 % longer.
 */
void base_in_huge_pages(void *memory, size_t bytes);

/* FNV-1a hash of some bytes, continuing a given hash. */
#define BASE_DIGEST UINT64_C(14695981039346656037) /* of the empty string */
uint64_t base_digest(uint64_t number, const void *bytes, size_t size);

/* -------------------------------------------------------------------- settings */

/* Tables are written with these short names; the types are public (attsvm.h, settings). */
typedef attsvm_setting field;
typedef attsvm_settings_table settings_table;
#define FIELD_INT    ATTSVM_SETTING_INT
#define FIELD_DOUBLE ATTSVM_SETTING_DOUBLE
#define FIELD_BOOL   ATTSVM_SETTING_BOOL
#define FIELD_CHOICE ATTSVM_SETTING_CHOICE
#define FIELD_TEXT   ATTSVM_SETTING_TEXT

/* In a table: `#define SETTINGS attsvm_svm_settings`, then { F(tol), FIELD_DOUBLE, ... }. */
#define F(member) #member, offsetof(SETTINGS, member), sizeof(((SETTINGS *)0)->member)

/* Parses `value` into the field and checks its range. */
attsvm_status base_settings_set(const field *f, void *settings, const char *value,
                                attsvm_error *err);
/* Copies all texts of the settings into one block, which the caller frees, and makes the settings
   point there; NULL becomes the default. */
attsvm_status base_settings_own_texts(const settings_table *table, void *settings, char **block,
                                      attsvm_error *err);
/* The field's value (or, with settings == NULL, its default) as text. */
void base_settings_print(const field *f, const void *settings, char *out, size_t size);
/* -------------------------------------------------------------- random numbers */

/*
 * Counter-based random numbers: the k-th number of a stream depends on (seed, stream, k) alone, not
 * on earlier draws or on the machine.  Philox4x32-10 of Salmon, Moraes, Dror, Shaw (2011).
 */
typedef struct base_random {
    uint64_t seed;   /* key                                 */
    uint64_t stream; /* for example the index of a sequence */
    uint64_t next;   /* index of the next number            */
} base_random;

/* One block: counter (4 words), key (2 words), out (4 words). */
void base_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

base_random base_random_stream(uint64_t seed, uint64_t stream);
uint64_t base_random_bits(base_random *r);
double base_random_uniform(base_random *r);               /* in (0,1), never 0 or 1    */
int64_t base_random_below(base_random *r, int64_t bound); /* in 0..bound-1, unbiased   */
double base_random_gauss(base_random *r);                 /* by inversion, one number  */
void base_random_gauss_fill(base_random *r, double *x, int64_t count);
void base_random_sphere(base_random *r, double *x, int64_t d); /* norm 1      */
void base_random_permutation(base_random *r, int64_t *order, int64_t count);

/* Inverse of the standard normal distribution function, 0 < u < 1; IEEE operations only. */
double base_gauss_quantile(double u);

/* --------------------------------------------------------- parallel, reproducible */

/* Cores that this process may use. */
int base_cores(void);
/* A `threads` setting (0: all cores) as a number of threads, at most 4096. */
int base_threads(int64_t setting);
/* For calls whose threads are an argument: 0..4096. */
attsvm_status base_check_threads(int64_t threads, attsvm_error *err);

/*
 * Calls body(context, block, worker) for every block in 0..blocks-1, on at most `threads` threads;
 * fewer if the work is small or other programs use the cores.  `worker` < threads selects scratch
 * space.  The result of a block must not depend on the worker or on other blocks.
 */
typedef void base_block_body(void *context, int64_t block, int worker);
void base_parallel(int threads, int64_t blocks, base_block_body *body, void *context);

/*
 * One such loop, shared between base_parallel, which chooses the number of threads, and the helper
 * threads of this process (threads.c).
 */
typedef struct base_job {
    base_block_body *body;
    void *context;
    int64_t next, blocks; /* blocks next..blocks-1 are left                          */
    int threads;          /* maximum, including the caller                           */
    bool measured;        /* measure the processor time of all threads ...           */
    double seconds;       /* ... and add it here                                     */
    int workers;          /* threads that have joined; the rest belongs to threads.c */
    unsigned finished;    /* of these, without the caller                            */
    struct base_job *other;
} base_job;
void base_job_run(base_job *job);
/* Whether this thread is inside such a loop: nested loops run on one thread. */
bool base_inside_block(void);

/*
 * Items lo..hi-1 of block `block` when `items` items are divided into `blocks` blocks.  The
 * division depends on these two numbers alone, so sums over blocks, added in the order of blocks,
 * give the same bytes for any number of threads.
 */
void base_block(int64_t items, int64_t blocks, int64_t block, int64_t *lo, int64_t *hi);

/* Number of blocks for `items` items of at least `grain` each: at most 64, at least 1. */
int64_t base_blocks(int64_t items, int64_t grain);

/* x[0..size) += every row of partial (blocks x size), in the order of blocks. */
void base_reduce(double *x, const double *partial, int64_t blocks, int64_t size);

/* --------------------------------------------------------------- double-double */

/* An unevaluated sum hi + lo, |lo| <= ulp(hi)/2: about 106 bits. */
typedef struct dd {
    double hi, lo;
} dd;

static inline dd base_dd(double a)
{
    return (dd){ a, 0 };
}

static inline dd base_dd_quick_sum(double a, double b) /* a + b, exact if |a| >= |b| */
{
    double s = a + b;
    return (dd){ s, b - (s - a) };
}

static inline dd base_dd_sum(double a, double b) /* a + b, exact */
{
    double s = a + b, t = s - a;
    return (dd){ s, (a - (s - t)) + (b - t) };
}

static inline dd base_dd_product(double a, double b) /* a * b, exact */
{
    double p = a * b;
    return (dd){ p, fma(a, b, -p) };
}

static inline dd base_dd_add(dd a, dd b)
{
    dd s = base_dd_sum(a.hi, b.hi), t = base_dd_sum(a.lo, b.lo);
    s = base_dd_quick_sum(s.hi, s.lo + t.hi);
    return base_dd_quick_sum(s.hi, s.lo + t.lo);
}

static inline dd base_dd_sub(dd a, dd b)
{
    return base_dd_add(a, (dd){ -b.hi, -b.lo });
}

static inline dd base_dd_mul(dd a, dd b)
{
    dd p = base_dd_product(a.hi, b.hi);
    return base_dd_quick_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline double base_dd_value(dd a)
{
    return a.hi + a.lo;
}

dd base_dd_div(dd a, dd b);
dd base_dd_sqrt(dd a); /* a >= 0 */
int base_dd_compare(dd a, dd b);
/* Dot product of doubles in double-double. */
dd base_dd_dot(const double *x, const double *y, int64_t count);

/* -------------------------------------------------------- elementary functions */

/*
 * Unlike those of the C library, these give the same bits on every processor; errors are at most 1
 * ulp.  sqrt, fabs, floor and ldexp are exact and come from the C library.
 */
double base_exp(double x);
double base_expm1(double x);
double base_log(double x);
double base_log1p(double x);
double base_log10(double x);
double base_pow(double x, double y); /* x >= 0; NaN for x < 0 */
double base_hypot(double x, double y);
double base_atan_ratio(double y, double x); /* atan(y/x), x and y >= 0; at most 2 ulp */

/* ----------------------------------------------------------------------- clock */

/* Seconds of a monotonic clock. */
double base_seconds(void);

#endif
