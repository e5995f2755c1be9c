/*
 * The pool: rows gathered from the data, few enough to be stored as vectors, and the sums over
 * them that the engine needs.  A rank-one row is kept as delta (d) and the number of its query, so
 * that nothing here is of size d x d per row.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------ memory */

static attsvm_status grow(void *pointer, size_t old, size_t new, size_t size, attsvm_error *err)
{
    void **at = pointer;
    void *bigger;
    TRY(base_allocate(&bigger, new, size, "rows of the working set", err));
    if (old > 0)
        memcpy(bigger, *at, old * size);
    free(*at);
    *at = bigger;
    return ATTSVM_OK;
}

static attsvm_status grow_rows(svm_pool *pool, int64_t capacity, attsvm_error *err)
{
    size_t old = (size_t)pool->count, new = (size_t)capacity, d = (size_t)pool->d;
    TRY(grow(&pool->term, old, new, sizeof *pool->term, err));
    TRY(grow(&pool->token, old, new, sizeof *pool->token, err));
    TRY(grow(&pool->hi, old * d, new *d, sizeof *pool->hi, err));
    TRY(grow(&pool->lo, old * d, new *d, sizeof *pool->lo, err));
    TRY(grow(&pool->sigma, old, new, sizeof *pool->sigma, err));
    TRY(grow(&pool->square, old, new, sizeof *pool->square, err));
    TRY(grow(&pool->b, old, new, sizeof *pool->b, err));
    TRY(grow(&pool->upper, old, new, sizeof *pool->upper, err));
    TRY(grow(&pool->equality, old, new, sizeof *pool->equality, err));
    TRY(grow(&pool->query, old, new, sizeof *pool->query, err));
    TRY(grow(&pool->place, old, new, sizeof *pool->place, err));
    TRY(grow(&pool->lambda, old, new, sizeof *pool->lambda, err));
    TRY(grow(&pool->lambda_lo, old, new, sizeof *pool->lambda_lo, err));
    TRY(grow(&pool->margin, old, new, sizeof *pool->margin, err));
    pool->capacity = capacity;
    return ATTSVM_OK;
}

static attsvm_status grow_queries(svm_pool *pool, int64_t capacity, attsvm_error *err)
{
    size_t old = (size_t)pool->queries, new = (size_t)capacity, d = (size_t)pool->d;
    TRY(grow(&pool->query_term, old, new, sizeof *pool->query_term, err));
    TRY(grow(&pool->z, old * d, new *d, sizeof *pool->z, err));
    TRY(grow(&pool->u, 0, new *d, sizeof *pool->u, err));
    TRY(grow(&pool->u_lo, 0, new *d, sizeof *pool->u_lo, err));
    TRY(grow(&pool->along, 0, new, sizeof *pool->along, err));
    TRY(grow(&pool->used, 0, new, sizeof *pool->used, err));
    pool->query_capacity = capacity;
    return ATTSVM_OK;
}

attsvm_status svm_pool_create(svm_pool *pool, const svm_rows *rows, double soft, int64_t capacity,
                              attsvm_error *err)
{
    *pool = (svm_pool){ .rows = rows, .d = rows->d, .size = rows->size, .soft = soft };
    TRY(base_allocate(&pool->scratch, (size_t)(2 * rows->d), sizeof(double), "row", err));
    TRY(grow_rows(pool, capacity, err));
    if (rows->matrix)
        TRY(grow_queries(pool, capacity < 16 ? capacity : 16, err));
    return ATTSVM_OK;
}

void svm_pool_free(svm_pool *pool)
{
    void *owned[] = { pool->term,      pool->token,       pool->hi,         pool->lo,
                      pool->sigma,     pool->square,      pool->b,          pool->upper,
                      pool->equality,  pool->query,       pool->place,      pool->lambda,
                      pool->lambda_lo, pool->margin,      pool->query_term, pool->z,
                      pool->u,         pool->u_lo,        pool->along,      pool->used,
                      pool->table,     pool->query_table, pool->scratch };
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
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

static attsvm_status make_room(svm_pool *pool, attsvm_error *err)
{
    if (pool->count == INT32_MAX)
        return fail(err, ATTSVM_E_MEMORY, "more than %d rows at once", INT32_MAX);
    if (pool->count == pool->capacity)
        TRY(grow_rows(pool, 2 * pool->capacity, err));
    if (pool->table_size < 2 * pool->capacity) {
        int64_t size = 64;
        while (size < 2 * pool->capacity)
            size *= 2;
        free(pool->table);
        pool->table = NULL;
        TRY(base_allocate(&pool->table, (size_t)size, sizeof *pool->table, "row table", err));
        pool->table_size = size;
        rehash(pool);
    }
    return ATTSVM_OK;
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
        free(pool->query_table);
        pool->query_table = NULL;
        TRY(base_allocate(&pool->query_table, (size_t)size, sizeof(int32_t), "query table", err));
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
    svm_rows_query(pool->rows, term, pool->z + pool->queries * pool->d);
    *out = (int32_t)pool->queries++;
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------ adding */

attsvm_status svm_pool_add(svm_pool *pool, const svm_term *term, int64_t token, int64_t *slot,
                           attsvm_error *err)
{
    TRY(make_room(pool, err));
    int64_t s = pool->count, d = pool->d;
    double *hi = pool->hi + s * d, *lo = pool->lo + s * d;
    svm_rows_delta(pool->rows, term, token, hi, lo, pool->scratch);
    double norm = la_norm(hi, d);
    if (pool->rows->matrix) {
        TRY(find_query(pool, term, &pool->query[s], err));
        norm *= la_norm(pool->z + pool->query[s] * d, d);
    }
    int exponent = 0;
    if (norm > 0 && isfinite(norm))
        frexp(norm, &exponent);
    exponent = exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent;
    double sigma = ldexp(1, -exponent), b = svm_rows_rhs(pool->rows, term, token);
    for (int64_t j = 0; j < d; j++) {
        hi[j] *= sigma;
        lo[j] *= sigma;
    }
    norm *= sigma;
    pool->term[s] = term->term;
    pool->token[s] = (int32_t)token;
    pool->sigma[s] = sigma;
    pool->square[s] = norm * norm;
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

static void move_row(svm_pool *pool, int64_t from, int64_t to)
{
    size_t bytes = (size_t)pool->d * sizeof(double);
    if (from == to)
        return;
    memcpy(pool->hi + to * pool->d, pool->hi + from * pool->d, bytes);
    memcpy(pool->lo + to * pool->d, pool->lo + from * pool->d, bytes);
    pool->term[to] = pool->term[from];
    pool->token[to] = pool->token[from];
    pool->sigma[to] = pool->sigma[from];
    pool->square[to] = pool->square[from];
    pool->b[to] = pool->b[from];
    pool->upper[to] = pool->upper[from];
    pool->equality[to] = pool->equality[from];
    pool->query[to] = pool->query[from];
    pool->place[to] = pool->place[from];
    pool->lambda[to] = pool->lambda[from];
    pool->lambda_lo[to] = pool->lambda_lo[from];
    pool->margin[to] = pool->margin[from];
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
        move_row(pool, s, kept);
        moved[s] = (int32_t)kept++;
    }
    pool->count = kept;
    rehash(pool);
}
