/*
 * The working set: rows stored as vectors.  A rank-one row is stored as delta (d) and the number of
 * its query, so that no row takes d x d.
 */
#include "svm/set/set.h"
#include "svm/rows/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------ memory */

static void layout_rows(svm_set *set, arena *a, size_t rows)
{
    size_t d = (size_t)set->d;
    set->hi = take(a, rows * d);
    set->lo = take(a, rows * d);
    set->sigma = take(a, rows);
    set->square = take(a, rows);
    set->length = take(a, rows);
    set->b = take(a, rows);
    set->upper = take(a, rows);
    set->lambda = take(a, rows);
    set->lambda_lo = take(a, rows);
    set->margin = take(a, rows);
    set->term = take_int64(a, rows);
    set->token = base_take(a, rows, sizeof *set->token);
    set->query = base_take(a, rows, sizeof *set->query);
    set->place = base_take(a, rows, sizeof *set->place);
    set->equality = base_take(a, rows, sizeof *set->equality);
    set->implied = base_take(a, rows, sizeof *set->implied);
    set->no_low = base_take(a, rows, sizeof *set->no_low);
}

static void layout_queries(svm_set *set, arena *a, size_t queries)
{
    size_t d = (size_t)set->d;
    set->z = take(a, queries * d);
    set->u = take(a, queries * d);
    set->u_lo = take(a, queries * d);
    set->along = take(a, queries);
    set->z_norm = take(a, queries);
    set->used = base_take(a, queries, 1);
}

static void copy_row(svm_set *to, int64_t t, const svm_set *from, int64_t f)
{
    size_t bytes = (size_t)from->d * sizeof(double);
    memcpy(to->hi + t * to->d, from->hi + f * to->d, bytes);
    if (!from->no_low[f])
        memcpy(to->lo + t * to->d, from->lo + f * to->d, bytes);
    to->sigma[t] = from->sigma[f];
    to->square[t] = from->square[f];
    to->length[t] = from->length[f];
    to->b[t] = from->b[f];
    to->upper[t] = from->upper[f];
    to->lambda[t] = from->lambda[f];
    to->lambda_lo[t] = from->lambda_lo[f];
    to->margin[t] = from->margin[f];
    to->term[t] = from->term[f];
    to->token[t] = from->token[f];
    to->query[t] = from->query[f];
    to->place[t] = from->place[f];
    to->equality[t] = from->equality[f];
    to->implied[t] = from->implied[f];
    to->no_low[t] = from->no_low[f];
}

static attsvm_status grow_rows(svm_set *set, int64_t capacity, attsvm_error *err)
{
    svm_set old = *set;
    arena a = { 0 };
    layout_rows(set, &a, (size_t)capacity);
    attsvm_status status = base_arena_reserve(&a, "rows of the working set", err);
    if (status != ATTSVM_OK) {
        *set = old;
        return status;
    }
    set->row_memory = a.base;
    layout_rows(set, &a, (size_t)capacity);
    for (int64_t s = 0; s < set->count; s++)
        copy_row(set, s, &old, s);
    free(old.row_memory);
    set->capacity = capacity;
    return ATTSVM_OK;
}

static attsvm_status grow_queries(svm_set *set, int64_t capacity, attsvm_error *err)
{
    svm_set old = *set;
    arena a = { 0 };
    layout_queries(set, &a, (size_t)capacity);
    attsvm_status status = base_arena_reserve(&a, "queries of the working set", err);
    if (status != ATTSVM_OK) {
        *set = old;
        return status;
    }
    set->query_memory = a.base;
    layout_queries(set, &a, (size_t)capacity);
    if (set->queries > 0) {
        memcpy(set->z, old.z, (size_t)(set->queries * set->d) * sizeof *set->z);
        memcpy(set->z_norm, old.z_norm, (size_t)set->queries * sizeof *set->z_norm);
    }
    free(old.query_memory);
    set->query_capacity = capacity;
    return ATTSVM_OK;
}

attsvm_status svm_set_create(svm_set *set, const svm_rows *rows, double soft, int64_t capacity,
                             attsvm_error *err)
{
    *set = (svm_set){ .rows = rows,
                      .matrix = rows->matrix,
                      .has_sets = rows->sets != NULL,
                      .threads = 1,
                      .d = rows->d,
                      .size = rows->size,
                      .soft = soft };
    TRY(base_allocate(&set->scratch, (size_t)(4 * rows->d), sizeof(double), "row", err));
    set->zeros = set->scratch + 3 * rows->d;
    TRY(base_allocate(&set->theta, 2 * (size_t)rows->size, sizeof(double), "theta", err));
    set->theta_lo = set->theta + rows->size;
    TRY(grow_rows(set, capacity, err));
    if (rows->matrix)
        TRY(grow_queries(set, capacity < 16 ? capacity : 16, err));
    return ATTSVM_OK;
}

void svm_set_free(svm_set *set)
{
    void *pieces[] = { set->row_memory,       set->query_memory, set->slot_of.entries,
                       set->query_of.entries, set->scratch,      set->theta };
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++)
        free(pieces[k]);
}

/* -------------------------------------------------------------------- membership */

/* Open addressing; at most half of the entries are taken. */
typedef struct svm_index_entry {
    int64_t term;
    int32_t token, number; /* the number + 1; 0: free */
} svm_index_entry;

static svm_index_entry *entry_of(const svm_index *index, int64_t term, int64_t token)
{
    uint64_t h = (uint64_t)term * 0x9e3779b97f4a7c15u ^ (uint64_t)token * 0xc2b2ae3d27d4eb4fu;
    for (uint64_t k = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 16;; k++) {
        svm_index_entry *entry = &index->entries[k & (uint64_t)(index->size - 1)];
        if (entry->number == 0 || (entry->term == term && entry->token == token))
            return entry;
    }
}

/* -1: not there. */
static int64_t look_up(const svm_index *index, int64_t term, int64_t token)
{
    return index->size > 0 ? entry_of(index, term, token)->number - 1 : -1;
}

static void enter(svm_index *index, int64_t term, int64_t token, int64_t number)
{
    *entry_of(index, term, token) =
        (svm_index_entry){ term, (int32_t)token, (int32_t)(number + 1) };
}

/* Makes room for `count` entries in total. */
static attsvm_status reserve_index(svm_index *index, int64_t count, attsvm_error *err)
{
    svm_index bigger = { .size = 64 };
    while (bigger.size < 2 * count)
        bigger.size *= 2;
    if (index->size >= bigger.size)
        return ATTSVM_OK;
    TRY(base_allocate(&bigger.entries, (size_t)bigger.size, sizeof *bigger.entries, "row table",
                      err));
    for (int64_t k = 0; k < index->size; k++) {
        svm_index_entry old = index->entries[k];
        if (old.number > 0)
            enter(&bigger, old.term, old.token, old.number - 1);
    }
    free(index->entries);
    *index = bigger;
    return ATTSVM_OK;
}

int64_t svm_set_slot(const svm_set *set, int64_t term, int64_t token)
{
    return look_up(&set->slot_of, term, token);
}

static attsvm_status make_room(svm_set *set, attsvm_error *err)
{
    if (set->count == INT32_MAX)
        return fail(err, ATTSVM_E_MEMORY, "more than %d rows at once", INT32_MAX);
    if (set->count == set->capacity)
        TRY(grow_rows(set, set->capacity + set->capacity / 2, err));
    return reserve_index(&set->slot_of, set->capacity, err);
}

attsvm_status svm_set_reserve(svm_set *set, int64_t more, attsvm_error *err)
{
    int64_t need = set->count + more;
    if (need <= set->capacity)
        return ATTSVM_OK;
    TRY(grow_rows(set, need + need / 8, err));
    return reserve_index(&set->slot_of, set->capacity, err);
}

/* The number of the term's query among those of the set, which it joins if it is new. */
static attsvm_status find_query(svm_set *set, const svm_term *term, int32_t *out, attsvm_error *err)
{
    int64_t q = look_up(&set->query_of, term->term, -1);
    if (q < 0) {
        q = set->queries;
        if (q == set->query_capacity)
            TRY(grow_queries(set, 2 * set->query_capacity, err));
        TRY(reserve_index(&set->query_of, q + 1, err));
        enter(&set->query_of, term->term, -1, q);
        svm_rows_query(set->rows, term, set->z + q * set->d);
        set->z_norm[q] = la_norm(set->z + q * set->d, set->d);
        set->queries++;
    }
    *out = (int32_t)q;
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------ adding */

/* Checks the length of a nonzero row delta z' (or delta, z = 1): products of longer or shorter ones
   would over- or underflow. */
static attsvm_status check_length(const svm_term *term, int64_t token, double delta, double z,
                                  attsvm_error *err)
{
    const double longest = 1e140, length = delta * z;
    char times[64] = "";
    if (delta == 0 || z == 0 || (length >= 1 / longest && length <= longest))
        return ATTSVM_OK;
    if (z != 1)
        snprintf(times, sizeof times, " times %.3g of its query", z);
    return fail(err, ATTSVM_E_DATA,
                "sequence %" PRId64 ": the row of token %" PRId64
                " has length %.3g%s, and rows must be from 1e-140 to 1e140 long: scale the tokens",
                term->i, token, delta, times);
}

attsvm_status svm_set_add(svm_set *set, const svm_term *term, int64_t token, attsvm_error *err)
{
    TRY(make_room(set, err));
    int64_t s = set->count, d = set->d;
    double *hi = set->hi + s * d, *lo = set->scratch + 2 * d;
    svm_rows_delta(set->rows, term, token, hi, lo, set->scratch);
    double norm = la_norm(hi, d), z_norm = 1;
    if (set->matrix) {
        TRY(find_query(set, term, &set->query[s], err));
        z_norm = set->z_norm[set->query[s]];
    }
    TRY(check_length(term, token, norm, z_norm, err));
    norm *= z_norm;
    int exponent = 0;
    if (norm > 0)
        frexp(norm, &exponent);
    double sigma = ldexp(1, -exponent), b = svm_rows_rhs(set->rows, term, token);
    set->no_low[s] = 1;
    for (int64_t j = 0; j < d; j++) {
        hi[j] *= sigma;
        lo[j] *= sigma;
        set->no_low[s] &= lo[j] == 0;
    }
    if (!set->no_low[s])
        memcpy(set->lo + s * d, lo, (size_t)d * sizeof *lo);
    norm *= sigma;
    set->term[s] = term->term;
    set->token[s] = (int32_t)token;
    set->sigma[s] = sigma;
    set->square[s] = norm * norm;
    set->length[s] = norm;
    set->b[s] = sigma * b;
    set->equality[s] = svm_rows_kind(set->rows, term, token) == SVM_EQUAL;
    set->upper[s] = set->soft > 0 && !set->equality[s] ? set->soft / sigma : INFINITY;
    set->implied[s] = 0;
    set->place[s] = SVM_AT_ZERO;
    set->lambda[s] = set->lambda_lo[s] = set->margin[s] = 0;
    if (norm == 0 &&
        isfinite(set->upper[s])) { /* zero row of a soft problem: its multiplier is C */
        set->place[s] = SVM_AT_UPPER;
        set->lambda[s] = set->upper[s];
    }
    set->count++;
    set->changes++;
    enter(&set->slot_of, term->term, token, s);
    return ATTSVM_OK;
}

void svm_set_shrink(svm_set *set, double most_slack)
{
    int64_t kept = 0;
    for (int64_t s = 0; s < set->count; s++) {
        bool idle = set->place[s] == SVM_AT_ZERO && set->lambda[s] == 0 && !set->equality[s];
        double slack = (set->margin[s] - set->b[s]) / set->sigma[s];
        if (idle && slack > most_slack)
            continue;
        if (s != kept)
            copy_row(set, kept, set, s);
        kept++;
    }
    set->changes += set->count - kept;
    set->whole = set->whole && kept == set->count;
    set->count = kept;
    memset(set->slot_of.entries, 0, (size_t)set->slot_of.size * sizeof *set->slot_of.entries);
    for (int64_t s = 0; s < kept; s++)
        enter(&set->slot_of, set->term[s], set->token[s], s);
}
