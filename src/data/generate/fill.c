/* Pieces of the arrays of a random data set, and the whole of it in memory. */
#include "data/generate/generate.h"

#include <stdlib.h>
#include <string.h>

/* Values per parallel block: about 50 microseconds of work. */
enum { GRAIN = 2048 };

/* Sequence and place of token r, counted through all sequences. */
static void find_token(const attsvm_generator *g, int64_t r, int64_t *i, int64_t *t)
{
    if (!g->offsets) {
        *i = r / g->settings.T;
        *t = r % g->settings.T;
        return;
    }
    int64_t lo = 0, hi = g->settings.n - 1;
    while (lo < hi) {
        int64_t middle = (lo + hi + 1) / 2;
        if (g->offsets[middle] <= r)
            lo = middle;
        else
            hi = middle - 1;
    }
    *i = lo;
    *t = r - g->offsets[lo];
}

/* Row r of X, E or Z, into scratch[0..d). */
typedef void row_maker(const attsvm_generator *g, int64_t r, double *scratch);

static void make_token(const attsvm_generator *g, int64_t r, double *scratch)
{
    int64_t i, t;
    find_token(g, r, &i, &t);
    data_generate_token(g, i, t, scratch);
    if (g->plants && g->plants[i].alpha == t)
        data_plant_move(g, i, scratch);
}

static void make_word(const attsvm_generator *g, int64_t r, double *scratch)
{
    data_generate_word(g, r, scratch);
}

static void make_query(const attsvm_generator *g, int64_t r, double *scratch)
{
    data_generate_query(g, r / g->settings.queries, r % g->settings.queries, scratch);
}

/* One call of data_generate_fill for an array of vectors. */
typedef struct piece {
    attsvm_generator *g;
    row_maker *make;
    int64_t first, count; /* elements wanted                            */
    char *buffer;         /* where element `first` goes                 */
    int64_t blocks;
    int64_t overflow; /* lowest element that the dtype cannot hold; atomic */
} piece;

static void note_overflow(piece *p, int64_t element)
{
    int64_t known = __atomic_load_n(&p->overflow, __ATOMIC_RELAXED);
    while (element < known && !__atomic_compare_exchange_n(&p->overflow, &known, element, false,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

static void fill_row(piece *p, int64_t r, double *scratch)
{
    int64_t d = p->g->settings.d, end = p->first + p->count;
    attsvm_dtype dtype = (attsvm_dtype)p->g->settings.dtype;
    int64_t size = (int64_t)attsvm_dtype_size(dtype);
    int64_t lo = r * d > p->first ? r * d : p->first, hi = (r + 1) * d < end ? (r + 1) * d : end;
    p->make(p->g, r, scratch);
    for (int64_t e = lo; e < hi; e++)
        if (!data_generate_narrow(dtype, scratch[e - r * d], p->buffer + (e - p->first) * size))
            note_overflow(p, e);
}

static void fill_block(void *context, int64_t block, int worker)
{
    piece *p = context;
    attsvm_generator *g = p->g;
    int64_t d = g->settings.d, lo, hi;
    int64_t first_row = p->first / d, rows = (p->first + p->count - 1) / d - first_row + 1;
    base_block(rows, p->blocks, block, &lo, &hi);
    for (int64_t r = lo; r < hi && !dist_stop_inside(&g->stop, worker); r++)
        fill_row(p, first_row + r, g->scratch + worker * g->scratch_size);
}

static attsvm_status fill_vectors(attsvm_generator *g, row_maker *make, int64_t first,
                                  int64_t count, void *buffer, attsvm_error *err)
{
    int64_t d = g->settings.d;
    piece p = {
        g, make, first, count, buffer, base_blocks(count, d > GRAIN ? d : GRAIN), INT64_MAX
    };
    base_parallel(base_threads(g->settings.threads), p.blocks, fill_block, &p);
    TRY(data_generate_stopped(g, err));
    if (p.overflow == INT64_MAX)
        return ATTSVM_OK;
    return fail(err, ATTSVM_E_ARG, "value %" PRId64 " is beyond %s; lower push, noise or spread",
                p.overflow, attsvm_dtype_name((attsvm_dtype)g->settings.dtype));
}

static void fill_index(const attsvm_generator *g, int64_t first, int64_t count, char *buffer)
{
    int64_t i, t;
    find_token(g, first, &i, &t);
    for (int64_t k = 0; k < count; k++, t++) {
        while (first + k >= g->offsets[i + 1]) {
            i++;
            t = 0;
        }
        int32_t word = (int32_t)data_generate_index(g, i, t);
        memcpy(buffer + (size_t)k * sizeof word, &word, sizeof word);
    }
}

static void fill_labels(const attsvm_generator *g, int64_t first, int64_t count, char *buffer)
{
    for (int64_t k = 0; k < count; k++)
        buffer[k] = (char)data_generate_label(g, first + k);
}

static void fill_next(const attsvm_generator *g, int64_t first, int64_t count, char *buffer)
{
    for (int64_t k = 0; k < count; k++) {
        int32_t word = (int32_t)data_generate_next(g, first + k);
        memcpy(buffer + (size_t)k * sizeof word, &word, sizeof word);
    }
}

/* With several queries, the one planted token of a sequence is selected by each. */
static void fill_selection(const attsvm_generator *g, int64_t first, int64_t count, char *buffer)
{
    int64_t queries = g->settings.queries > 1 ? g->settings.queries : 1;
    for (int64_t k = 0; k < count; k++)
        memcpy(buffer + (size_t)k * sizeof(int64_t), &g->plants[(first + k) / queries].alpha,
               sizeof(int64_t));
}

attsvm_status data_generate_fill(attsvm_generator *g, int64_t k, int64_t first, int64_t count,
                                 void *buffer, attsvm_error *err)
{
    const char *name = g->arrays[k].name;
    if (count == 0)
        return ATTSVM_OK;
    dist_stop_poll(&g->stop, (double)count);
    TRY(data_generate_stopped(g, err));
    if (strcmp(name, "X") == 0)
        return fill_vectors(g, make_token, first, count, buffer, err);
    if (strcmp(name, "E") == 0)
        return fill_vectors(g, make_word, first, count, buffer, err);
    if (strcmp(name, "Z") == 0)
        return fill_vectors(g, make_query, first, count, buffer, err);
    if (strcmp(name, "tokens") == 0)
        fill_index(g, first, count, buffer);
    else if (strcmp(name, "Y") == 0)
        fill_labels(g, first, count, buffer);
    else if (strcmp(name, "labels") == 0)
        fill_next(g, first, count, buffer);
    else if (strcmp(name, "ids") == 0)
        fill_selection(g, first, count, buffer);
    else if (strcmp(name, "offsets") == 0)
        memcpy(buffer, g->offsets + first, (size_t)count * sizeof *g->offsets);
    else
        memcpy(buffer, (strcmp(name, "v") == 0 ? g->v : g->direction) + first,
               (size_t)count * sizeof(double));
    return ATTSVM_OK;
}

/* ---------------------------------------------------------------------- in memory */

static void *piece_of(arena *a, const attsvm_array *array)
{
    return base_take(a, (size_t)attsvm_array_count(array), attsvm_dtype_size(array->dtype));
}

/* Allocates one block for all arrays and fills them; `arrays` (g->count) gets the views. */
static attsvm_status fill_all(attsvm_generator *g, attsvm_named_array *arrays, void **memory,
                              attsvm_error *err)
{
    arena a = { 0 };
    for (int64_t k = 0; k < g->count; k++)
        piece_of(&a, &g->arrays[k].array);
    TRY(base_arena_reserve(&a, "random data set", err));
    *memory = a.base;
    for (int64_t k = 0; k < g->count; k++) {
        void *values = piece_of(&a, &g->arrays[k].array);
        arrays[k] = g->arrays[k];
        arrays[k].array.data = values;
        int64_t count = attsvm_array_count(&arrays[k].array);
        attsvm_status status = data_generate_fill(g, k, 0, count, values, err);
        if (status != ATTSVM_OK)
            return base_fail_in(err, status, arrays[k].name);
    }
    return ATTSVM_OK;
}

attsvm_status attsvm_data_generate(attsvm_data **out, const attsvm_generate_settings *settings,
                                   attsvm_error *err)
{
    NEED_OUT(out);
    attsvm_generator *g;
    attsvm_named_array arrays[sizeof g->arrays / sizeof *g->arrays];
    void *memory = NULL;
    TRY(attsvm_generator_create(&g, settings, err));
    attsvm_read_settings reading;
    attsvm_read_settings_init(&reading);
    reading.threads = g->settings.threads;
    attsvm_status status = fill_all(g, arrays, &memory, err);
    if (status == ATTSVM_OK)
        status = data_create(out, arrays, g->count, &reading,
                             &(data_source){ .owner = memory, .release = free }, err);
    if (status != ATTSVM_OK)
        free(memory);
    attsvm_generator_free(g);
    return status;
}
