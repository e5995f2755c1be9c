/*
 * The pool: rows gathered from the data, few enough to be stored as vectors, and the sums over
 * them that the engine needs.  A rank-one row is kept as delta (d) and the number of its query, so
 * that nothing here is of size d x d per row.
 */
#include "svm/svm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------ memory */

static void layout_rows(svm_pool *pool, arena *a, size_t rows)
{
    size_t d = (size_t)pool->d;
    pool->hi = take(a, rows * d);
    pool->lo = take(a, rows * d);
    pool->sigma = take(a, rows);
    pool->square = take(a, rows);
    pool->length = take(a, rows);
    pool->b = take(a, rows);
    pool->upper = take(a, rows);
    pool->lambda = take(a, rows);
    pool->lambda_lo = take(a, rows);
    pool->margin = take(a, rows);
    pool->term = take_int64(a, rows);
    pool->token = base_take(a, rows, sizeof *pool->token);
    pool->query = base_take(a, rows, sizeof *pool->query);
    pool->place = base_take(a, rows, sizeof *pool->place);
    pool->equality = base_take(a, rows, sizeof *pool->equality);
    pool->exact = base_take(a, rows, sizeof *pool->exact);
}

static void layout_queries(svm_pool *pool, arena *a, size_t queries)
{
    size_t d = (size_t)pool->d;
    pool->z = take(a, queries * d);
    pool->u = take(a, queries * d);
    pool->u_lo = take(a, queries * d);
    pool->along = take(a, queries);
    pool->z_norm = take(a, queries);
    pool->query_term = take_int64(a, queries);
    pool->used = base_take(a, queries, 1);
}

static void copy_row(svm_pool *to, int64_t t, const svm_pool *from, int64_t f)
{
    size_t bytes = (size_t)from->d * sizeof(double);
    memcpy(to->hi + t * to->d, from->hi + f * to->d, bytes);
    if (!from->exact[f])
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
    to->exact[t] = from->exact[f];
}

static attsvm_status grow_rows(svm_pool *pool, int64_t capacity, attsvm_error *err)
{
    svm_pool old = *pool;
    arena a = { 0 };
    layout_rows(pool, &a, (size_t)capacity);
    attsvm_status status = svm_space_arena(pool->space, &a, "rows of the working set", err);
    if (status != ATTSVM_OK) {
        *pool = old;
        return status;
    }
    pool->row_memory = a.base;
    layout_rows(pool, &a, (size_t)capacity);
    for (int64_t s = 0; s < pool->count; s++)
        copy_row(pool, s, &old, s);
    svm_space_release(pool->space, old.row_memory);
    pool->capacity = capacity;
    return ATTSVM_OK;
}

static attsvm_status grow_queries(svm_pool *pool, int64_t capacity, attsvm_error *err)
{
    svm_pool old = *pool;
    arena a = { 0 };
    layout_queries(pool, &a, (size_t)capacity);
    attsvm_status status = svm_space_arena(pool->space, &a, "queries of the working set", err);
    if (status != ATTSVM_OK) {
        *pool = old;
        return status;
    }
    pool->query_memory = a.base;
    layout_queries(pool, &a, (size_t)capacity);
    if (pool->queries > 0) {
        memcpy(pool->z, old.z, (size_t)(pool->queries * pool->d) * sizeof *pool->z);
        memcpy(pool->z_norm, old.z_norm, (size_t)pool->queries * sizeof *pool->z_norm);
        memcpy(pool->query_term, old.query_term, (size_t)pool->queries * sizeof *pool->query_term);
    }
    svm_space_release(pool->space, old.query_memory);
    pool->query_capacity = capacity;
    return ATTSVM_OK;
}

attsvm_status svm_pool_create(svm_pool *pool, const svm_rows *rows, svm_space *space, double soft,
                              int64_t capacity, attsvm_error *err)
{
    *pool = (svm_pool){
        .rows = rows, .space = space, .threads = 1, .d = rows->d, .size = rows->size, .soft = soft
    };
    TRY(svm_space_allocate(space, &pool->scratch, (size_t)(4 * rows->d), sizeof(double), "row",
                           err));
    pool->zeros = pool->scratch + 3 * rows->d;
    TRY(grow_rows(pool, capacity, err));
    if (rows->matrix)
        TRY(grow_queries(pool, capacity < 16 ? capacity : 16, err));
    return ATTSVM_OK;
}

void svm_pool_free(svm_pool *pool)
{
    void *pieces[] = { pool->row_memory,  pool->query_memory, pool->table,
                       pool->query_table, pool->scratch,      pool->gram };
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++)
        svm_space_release(pool->space, pieces[k]);
}

/* -------------------------------------------------------------------- membership */

/* Open addressing; keys are (term, token), or (term, -1) for queries; values slot + 1. */
static uint64_t hash(int64_t term, int64_t token)
{
    uint64_t h = (uint64_t)term * 0x9e3779b97f4a7c15u ^ (uint64_t)token * 0xc2b2ae3d27d4eb4fu;
    return (h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 16;
}

int64_t svm_pool_find(const svm_pool *pool, int64_t term, int64_t token)
{
    if (pool->table_size == 0)
        return -1;
    for (uint64_t k = hash(term, token);; k++) {
        int64_t slot = pool->table[k & (uint64_t)(pool->table_size - 1)] - 1;
        if (slot < 0 || (pool->term[slot] == term && pool->token[slot] == token))
            return slot;
    }
}

static void remember(svm_pool *pool, int64_t slot)
{
    uint64_t k = hash(pool->term[slot], pool->token[slot]);
    while (pool->table[k & (uint64_t)(pool->table_size - 1)] != 0)
        k++;
    pool->table[k & (uint64_t)(pool->table_size - 1)] = slot + 1;
}

static void rehash(svm_pool *pool)
{
    memset(pool->table, 0, (size_t)pool->table_size * sizeof *pool->table);
    for (int64_t slot = 0; slot < pool->count; slot++)
        remember(pool, slot);
}

static attsvm_status make_table(svm_pool *pool, attsvm_error *err)
{
    int64_t size = 64;
    while (size < 2 * pool->capacity)
        size *= 2;
    if (pool->table_size >= size)
        return ATTSVM_OK;
    svm_space_release(pool->space, pool->table);
    pool->table = NULL;
    TRY(svm_space_allocate(pool->space, &pool->table, (size_t)size, sizeof *pool->table,
                           "row table", err));
    pool->table_size = size;
    rehash(pool);
    return ATTSVM_OK;
}

static attsvm_status make_room(svm_pool *pool, attsvm_error *err)
{
    if (pool->count == INT32_MAX)
        return fail(err, ATTSVM_E_MEMORY, "more than %d rows at once", INT32_MAX);
    if (pool->count == pool->capacity)
        TRY(grow_rows(pool, pool->capacity + pool->capacity / 2, err));
    return make_table(pool, err);
}

attsvm_status svm_pool_reserve(svm_pool *pool, int64_t more, attsvm_error *err)
{
    int64_t need = pool->count + more;
    if (need <= pool->capacity)
        return ATTSVM_OK;
    TRY(grow_rows(pool, need + need / 8, err));
    return make_table(pool, err);
}

/* Number of the term's query among those of the pool; terms come mostly in order. */
static attsvm_status find_query(svm_pool *pool, const svm_term *term, int32_t *out,
                                attsvm_error *err)
{
    /* a query belongs to one term: sorted insertion would move rows, so look through a hash of
       the rows instead: any row of the same term knows it */
    if (pool->queries > 0 && pool->query_term[pool->queries - 1] == term->term) {
        *out = (int32_t)(pool->queries - 1);
        return ATTSVM_OK;
    }
    if (pool->query_table_size < 2 * (pool->queries + 1)) {
        int64_t size = pool->query_table_size ? 2 * pool->query_table_size : 64;
        svm_space_release(pool->space, pool->query_table);
        pool->query_table = NULL;
        TRY(svm_space_allocate(pool->space, &pool->query_table, (size_t)size, sizeof(int32_t),
                               "query table", err));
        pool->query_table_size = size;
        for (int64_t q = 0; q < pool->queries; q++) {
            uint64_t k = hash(pool->query_term[q], -1);
            while (pool->query_table[k & (uint64_t)(size - 1)] != 0)
                k++;
            pool->query_table[k & (uint64_t)(size - 1)] = (int32_t)(q + 1);
        }
    }
    uint64_t mask = (uint64_t)(pool->query_table_size - 1), k = hash(term->term, -1);
    for (; pool->query_table[k & mask] != 0; k++) {
        int32_t q = pool->query_table[k & mask] - 1;
        if (pool->query_term[q] == term->term) {
            *out = q;
            return ATTSVM_OK;
        }
    }
    if (pool->queries == pool->query_capacity)
        TRY(grow_queries(pool, 2 * pool->query_capacity, err));
    pool->query_table[k & mask] = (int32_t)(pool->queries + 1);
    pool->query_term[pool->queries] = term->term;
    double *z = pool->z + pool->queries * pool->d;
    svm_rows_query(pool->rows, term, z);
    pool->z_norm[pool->queries] = la_norm(z, pool->d);
    *out = (int32_t)pool->queries++;
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------ adding */

/* Of a row delta z' (or delta, z = 1) that is not zero: products of longer and shorter ones leave
   the range of doubles. */
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

attsvm_status svm_pool_add(svm_pool *pool, const svm_term *term, int64_t token, int64_t *slot,
                           attsvm_error *err)
{
    TRY(make_room(pool, err));
    int64_t s = pool->count, d = pool->d;
    double *hi = pool->hi + s * d, *lo = pool->scratch + 2 * d;
    svm_rows_delta(pool->rows, term, token, hi, lo, pool->scratch);
    double norm = la_norm(hi, d), z_norm = 1;
    if (pool->rows->matrix) {
        TRY(find_query(pool, term, &pool->query[s], err));
        z_norm = pool->z_norm[pool->query[s]];
    }
    TRY(check_length(term, token, norm, z_norm, err));
    norm *= z_norm;
    int exponent = 0;
    if (norm > 0)
        frexp(norm, &exponent);
    double sigma = ldexp(1, -exponent), b = svm_rows_rhs(pool->rows, term, token);
    pool->exact[s] = 1;
    for (int64_t j = 0; j < d; j++) {
        hi[j] *= sigma;
        lo[j] *= sigma;
        pool->exact[s] &= lo[j] == 0;
    }
    if (!pool->exact[s])
        memcpy(pool->lo + s * d, lo, (size_t)d * sizeof *lo);
    norm *= sigma;
    pool->term[s] = term->term;
    pool->token[s] = (int32_t)token;
    pool->sigma[s] = sigma;
    pool->square[s] = norm * norm;
    pool->length[s] = norm;
    pool->b[s] = sigma * b;
    pool->equality[s] = svm_rows_kind(pool->rows, term, token) == SVM_EQUAL;
    pool->upper[s] = pool->soft > 0 && !pool->equality[s] ? pool->soft / sigma : INFINITY;
    pool->place[s] = SVM_AT_ZERO;
    pool->lambda[s] = pool->lambda_lo[s] = pool->margin[s] = 0;
    if (norm == 0 && isfinite(pool->upper[s])) { /* 0 >= b with slack: it pays in full */
        pool->place[s] = SVM_AT_UPPER;
        pool->lambda[s] = pool->upper[s];
    }
    pool->count++;
    remember(pool, s);
    if (slot)
        *slot = s;
    return ATTSVM_OK;
}

void svm_pool_shrink(svm_pool *pool, double most_margin, int32_t *moved)
{
    int64_t kept = 0;
    for (int64_t s = 0; s < pool->count; s++) {
        bool idle = pool->place[s] == SVM_AT_ZERO && !pool->equality[s];
        double slack = (pool->margin[s] - pool->b[s]) / pool->sigma[s];
        moved[s] = -1;
        if (idle && slack > most_margin)
            continue;
        if (s != kept)
            copy_row(pool, kept, pool, s);
        moved[s] = (int32_t)kept++;
    }
    pool->count = kept;
    pool->gram_count = 0;
    rehash(pool);
}
