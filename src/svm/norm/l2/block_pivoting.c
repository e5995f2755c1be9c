/*
 * Block pivoting: many rows enter and leave at a time.  To an active set S with multipliers G^-1 b
 * >= 0 (dual value 1/2 b'l) the most violated rows V are added, G over S and V is factored by
 * blocks, and rows with negative multipliers leave until there are none.  The result is again such
 * a set; it is accepted if its dual value is larger, otherwise V is halved.  Block pivoting may
 * fail to finish; the active-set method then finishes, and always terminates.
 */
#include "svm/norm/l2/l2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROUNDS = 60,
    MOST_DROPS = 60,
    FEW = 2,
    SMALL = 64,
    PART = 1024,     /* rows factored at a time; between them a solve can stop */
    PIECE = 128,     /* rows or columns of a product that one thread computes  */
    SHARED = 1 << 24 /* multiplications above which threads share the products */
};

/* Whether the solve must end; nobody needs L any more then. */
static bool is_over(const l2_active_set *e)
{
    return dist_stop_why(e->phase->stop) != DIST_GO_ON;
}

/* The same inside a block of base_parallel, where one worker asks. */
static bool ends_inside(const l2_active_set *e, int worker)
{
    return dist_stop_inside(e->phase->stop, worker);
}

typedef struct block {
    double *deltas, *queries; /* gathered rows of S, then of V */
    double *B, *B2, *C, *C2;  /* k x m (or m x k), m x m       */
} block;

static void layout(const l2_active_set *e, arena *a, size_t k, size_t m, block *b)
{
    size_t d = (size_t)e->set->d;
    b->B = take(a, k * m);
    b->C = take(a, m * m);
    b->deltas = take(a, (k + m) * d);
    if (!e->set->matrix)
        return; /* vectors have no queries */
    b->queries = take(a, (k + m) * d);
    b->B2 = take(a, k * m);
    b->C2 = take(a, m * m);
}

/* Scratch for k rows in S and m to come. */
static attsvm_status reserve(l2_active_set *e, int64_t k, int64_t m, block *b, attsvm_error *err)
{
    arena a = { 0 };
    layout(e, &a, (size_t)k, (size_t)m, b);
    if (a.used > e->work_size) {
        size_t size = a.used;
        free(e->work);
        e->work = NULL;
        e->work_size = 0;
        TRY(base_arena_reserve(&a, "block of rows", err));
        e->work = a.base;
        e->work_size = size;
    }
    a = (arena){ .base = e->work };
    layout(e, &a, (size_t)k, (size_t)m, b);
    return ATTSVM_OK;
}

static void gather(const svm_set *set, const int32_t *slots, int64_t count, double *deltas,
                   double *queries)
{
    size_t bytes = (size_t)set->d * sizeof(double);
    for (int64_t k = 0; k < count; k++) {
        memcpy(deltas + k * set->d, set->hi + slots[k] * set->d, bytes);
        if (set->matrix)
            memcpy(queries + k * set->d, set->z + set->query[slots[k]] * set->d, bytes);
    }
}

/* Hadamard products of Gram matrices: out = (D E') o (Z Y'), D and Z m x d, E and Y k x d; rows of
   out and of `other`, its scratch, are `stride` apart. */
static void gram_block(const svm_set *set, const double *D, const double *Z, int64_t m,
                       const double *E, const double *Y, int64_t k, double *out, double *other,
                       int64_t stride)
{
    int64_t d = set->d;
    la_gemm(false, true, m, k, d, 1, D, d, E, d, 0, out, stride);
    if (!set->matrix)
        return;
    la_gemm(false, true, m, k, d, 1, Z, d, Y, d, 0, other, stride);
    for (int64_t r = 0; r < m; r++)
        for (int64_t j = 0; j < k; j++)
            out[r * stride + j] *= other[r * stride + j];
}

/* New rows of L for the m rows of V, in pieces that do not depend on the number of threads. */
typedef struct factoring {
    const l2_active_set *e;
    const block *b;
    int64_t k, m;
} factoring;

static int64_t pieces(int64_t count)
{
    return (count + PIECE - 1) / PIECE;
}

static int64_t piece_end(int64_t lo, int64_t count)
{
    return lo + PIECE < count ? lo + PIECE : count;
}

/* Rows of C, the Gram matrix of V (its lower half), then of B, that of S against V. */
static void gram_piece(void *context, int64_t piece, int worker)
{
    const factoring *f = context;
    const block *b = f->b;
    const svm_set *set = f->e->set;
    const int64_t k = f->k, m = f->m, d = set->d;
    const bool matrix = set->matrix, cross = piece >= pieces(m);
    const int64_t lo = (cross ? piece - pieces(m) : piece) * PIECE,
                  hi = piece_end(lo, cross ? k : m);
    const int64_t at = lo * m, first = cross ? lo : k + lo;
    if (ends_inside(f->e, worker))
        return;
    gram_block(set, b->deltas + first * d, matrix ? b->queries + first * d : NULL, hi - lo,
               b->deltas + k * d, matrix ? b->queries + k * d : NULL, cross ? m : hi,
               (cross ? b->B : b->C) + at, matrix ? (cross ? b->B2 : b->C2) + at : NULL, m);
}

/* Columns of L^-1 B, which are rows of L. */
static void solve_piece(void *context, int64_t piece, int worker)
{
    const factoring *f = context;
    const int64_t k = f->k, m = f->m, cap = f->e->capacity;
    const int64_t lo = piece * PIECE, hi = piece_end(lo, m);
    double *L = f->e->L, *B = f->b->B;
    if (ends_inside(f->e, worker))
        return;
    la_trsm(false, k, hi - lo, L, cap, B + lo, m);
    for (int64_t v = lo; v < hi; v++)
        for (int64_t j = 0; j < k; j++)
            L[(k + v) * cap + j] = B[j * m + v];
}

/* Rows of C - B'B. */
static void rest_piece(void *context, int64_t piece, int worker)
{
    const factoring *f = context;
    const int64_t k = f->k, m = f->m, lo = piece * PIECE, hi = piece_end(lo, m);
    const double *B = f->b->B;
    double *C = f->b->C + lo * m;
    if (ends_inside(f->e, worker))
        return;
    if (lo > 0)
        la_gemm(true, false, hi - lo, lo, k, -1, B + lo, m, B, m, 1, C, m);
    la_syrk(true, hi - lo, k, -1, B + lo, m, 1, C + lo, m);
}

/*
 * New rows of L for V: Y (m x k) with Y L' = Gram of V against S, into L, and C (m x m), the Schur
 * complement of the Gram of V.
 */
static void factor_block(l2_active_set *e, const block *b, int64_t m)
{
    svm_set *set = e->set;
    int64_t k = e->count, cap = e->capacity, d = set->d;
    double *L = e->L;
    factoring f = { e, b, k, m };
    int threads = (double)m * (double)(k + m) * (double)d < SHARED ? 1 : set->threads;
    if (k <= SMALL) {
        base_parallel(threads, pieces(m), gram_piece, &f);
        gram_block(set, b->deltas + k * d, b->queries ? b->queries + k * d : NULL, m, b->deltas,
                   b->queries, k, b->B, b->B2, k);
        for (int64_t v = 0; v < m; v++)
            la_trsv(false, k, L, cap, b->B + v * k);
        la_syrk(false, m, k, -1, b->B, k, 1, b->C, m);
        for (int64_t v = 0; v < m; v++)
            memcpy(L + (k + v) * cap, b->B + v * k, (size_t)k * sizeof *L);
    } else {
        base_parallel(threads, pieces(m) + pieces(k), gram_piece, &f);
        base_parallel(threads, pieces(m), solve_piece, &f);
        base_parallel(threads, pieces(m), rest_piece, &f);
    }
}

/* Factors C in place; false if a pivot is too small. */
static bool finish_factor(l2_active_set *e, const block *b, const int32_t *slots, int64_t m)
{
    bool clear = la_cholesky(m, b->C, m) == 0;
    for (int64_t v = 0; v < m && clear; v++)
        clear = b->C[v * m + v] * b->C[v * m + v] > L2_CLEAR * e->set->square[slots[v]];
    return clear;
}

/* One by one, omitting rows that depend on S. */
static void append_singly(l2_active_set *e, const int32_t *slots, int64_t count)
{
    for (int64_t k = 0; k < count && e->count < e->capacity && !l2_stopped(e); k++)
        l2_append(e, slots[k]);
}

/* Adds rows to S, except those that nearly depend on it. */
static attsvm_status append_part(l2_active_set *e, const int32_t *slots, int64_t m,
                                 attsvm_error *err)
{
    svm_set *set = e->set;
    int64_t k = e->count, cap = e->capacity;
    double *L = e->L;
    block b = { 0 };
    TRY(reserve(e, k, m, &b, err));
    gather(set, e->active, k, b.deltas, b.queries);
    gather(set, slots, m, b.deltas + k * set->d, b.queries ? b.queries + k * set->d : NULL);
    factor_block(e, &b, m);
    if (is_over(e))
        return ATTSVM_OK;
    if (!finish_factor(e, &b, slots, m)) {
        append_singly(e, slots, m);
        return ATTSVM_OK;
    }
    for (int64_t v = 0; v < m; v++) {
        memcpy(L + (k + v) * cap + k, b.C + v * m, (size_t)(v + 1) * sizeof *L);
        e->active[k + v] = slots[v];
    }
    e->count = k + m;
    return ATTSVM_OK;
}

/* The same for any number of rows; fewer enter if the solve stops. */
static attsvm_status append(l2_active_set *e, const int32_t *slots, int64_t m, attsvm_error *err)
{
    if (e->count + m > e->capacity || e->count + m > e->set->size) {
        append_singly(e, slots, m);
        return ATTSVM_OK;
    }
    for (int64_t lo = 0; lo < m && !l2_stopped(e); lo += PART)
        TRY(append_part(e, slots + lo, lo + PART < m ? PART : m - lo, err));
    return ATTSVM_OK;
}

/* Violated rows to add: the worst of each query, or the worst of all; returns their number. */
static int64_t choose(l2_active_set *e, int32_t *entering, int32_t *best, int64_t most)
{
    svm_set *set = e->set;
    bool matrix = set->matrix;
    double norm = l2_margins(e);
    int64_t count = 0;
    if (matrix)
        for (int64_t q = 0; q < set->queries; q++)
            best[q] = -1;
    for (int64_t s = 0; s < set->count; s++) {
        double miss = set->b[s] - set->margin[s];
        if (!(miss > 0) || set->place[s] != SVM_AT_ZERO || set->equality[s])
            continue;
        double size = set->length[s];
        if (miss <= 1e-10 * (fabs(set->b[s]) + size * norm))
            continue;
        e->residual[s] = miss / size;
        if (!matrix)
            entering[count++] = (int32_t)s;
        else if (best[set->query[s]] < 0 || e->residual[s] > e->residual[best[set->query[s]]])
            best[set->query[s]] = (int32_t)s;
    }
    if (matrix)
        for (int64_t q = 0; q < set->queries; q++)
            if (best[q] >= 0)
                entering[count++] = best[q];
    /* select the `most` worst: cheap compared with the work that follows */
    for (int64_t k = 0; k < count && k < most && count > most; k++) {
        int64_t worst = k;
        for (int64_t j = k + 1; j < count; j++)
            if (e->residual[entering[j]] > e->residual[entering[worst]])
                worst = j;
        int32_t swap = entering[k];
        entering[k] = entering[worst];
        entering[worst] = swap;
    }
    return count < most ? count : most;
}

static void set_places(l2_active_set *e)
{
    svm_set *set = e->set;
    for (int64_t s = 0; s < set->count; s++)
        if (set->place[s] >= 0)
            set->place[s] = SVM_AT_ZERO;
    for (int64_t k = 0; k < e->count; k++)
        set->place[e->active[k]] = (int32_t)k;
}

/*
 * How many of the rows at these positions (ascending) to rotate out of L one by one, at about 4 (k
 * - position)^2 operations each; the others leave together, by refactoring everything after the
 * first of them, which is more work but uses matrix products.
 */
static int64_t rotations_first(const l2_active_set *e, const int32_t *negative, int64_t count)
{
    static const double rotation = 4e-9, product = 1e-10; /* approximate seconds per operation */
    double k = (double)e->count, d = (double)e->set->d, spent = 0, least = INFINITY;
    int64_t few = 0;
    for (int64_t j = 0; j <= count; j++) {
        double at = j < count ? (double)negative[j] : k;
        double again = product * ((k * k * k - at * at * at) / 3 + 2 * (k - at) * k * d);
        if (spent + again < least) {
            least = spent + again;
            few = j;
        }
        spent += rotation * (k - at) * (k - at);
    }
    return few;
}

typedef struct ranked {
    double x;
    int32_t slot;
} ranked;

static int by_multiplier(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x ? -1 : 1) : p->slot - q->slot;
}

/*
 * Removes the rows at the given positions from S.  The refactored rows are ordered by their
 * multipliers, so that the next rows to leave are likely to be late ones.
 */
static attsvm_status drop_rows(l2_active_set *e, const double *x, const int32_t *negative,
                               int64_t count, attsvm_error *err)
{
    int64_t few = rotations_first(e, negative, count), kept = 0;
    int64_t first = few < count ? negative[few] : e->count, end = e->count;
    ranked *rest;
    TRY(base_allocate(&rest, 2 * (size_t)(end - first) + 1, sizeof *rest, "rows", err));
    for (int64_t k = first, j = few; k < end; k++) {
        if (j < count && negative[j] == k)
            j++;
        else
            rest[kept++] = (ranked){ x[k], e->active[k] };
    }
    qsort(rest, (size_t)kept, sizeof *rest, by_multiplier);
    int32_t *slots = (int32_t *)(void *)(rest + kept);
    for (int64_t k = 0; k < kept; k++)
        slots[k] = rest[k].slot;
    e->count = first;
    for (int64_t j = few - 1; j >= 0 && !l2_stopped(e); j--) {
        /* keep its multiplier: this step may still be undone */
        int64_t s = e->active[negative[j]];
        double lambda = e->set->lambda[s], low = e->set->lambda_lo[s];
        l2_leave(e, negative[j]);
        e->set->lambda[s] = lambda;
        e->set->lambda_lo[s] = low;
    }
    attsvm_status status = append(e, slots, kept, err);
    free(rest);
    return status;
}

/* Multipliers of S; rows with negative ones leave until there are none.  Value b'l, or -1. */
static attsvm_status settle(l2_active_set *e, double *x, int32_t *negative, double *value,
                            attsvm_error *err)
{
    svm_set *set = e->set;
    *value = -1;
    for (int round = 0; round < MOST_DROPS && !l2_stopped(e); round++) {
        int64_t count = 0;
        for (int64_t k = 0; k < e->count; k++)
            e->coef[k] = set->b[e->active[k]];
        l2_solve_factored(e, e->coef, x);
        for (int64_t k = 0; k < e->count; k++)
            if (!set->equality[e->active[k]] && !(x[k] > 0))
                negative[count++] = (int32_t)k;
        if (count == 0) {
            *value = 0;
            for (int64_t k = 0; k < e->count; k++)
                *value += x[k] * set->b[e->active[k]];
            return ATTSVM_OK;
        }
        TRY(drop_rows(e, x, negative, count, err));
    }
    return ATTSVM_OK;
}

static void keep(l2_active_set *e, const double *x)
{
    svm_set *set = e->set;
    for (int64_t s = 0; s < set->count; s++)
        if (set->place[s] != SVM_AT_UPPER)
            set->lambda[s] = set->lambda_lo[s] = 0;
    for (int64_t k = 0; k < e->count; k++)
        set->lambda[e->active[k]] = x[k];
    set_places(e);
    svm_set_combine(set, e->active, x, e->count, set->theta);
    memset(set->theta_lo, 0, (size_t)set->size * sizeof(double));
}

/* S as it was; without its factor if the solve is over. */
static attsvm_status go_back(l2_active_set *e, const int32_t *old, int64_t count, attsvm_error *err)
{
    int64_t same = 0;
    while (same < count && same < e->count && e->active[same] == old[same])
        same++;
    e->count = same;
    TRY(append(e, old + same, count - same, err));
    if (is_over(e)) {
        memcpy(e->active, old, (size_t)count * sizeof *old);
        e->count = count;
    }
    set_places(e);
    return ATTSVM_OK;
}

static attsvm_status pivot(l2_active_set *e, double *x, int32_t *old, int32_t *entering,
                           int32_t *best, attsvm_error *err)
{
    svm_set *set = e->set;
    double value = 0, next;
    int64_t most = set->count;
    for (int64_t k = 0; k < e->count; k++)
        value += set->lambda[e->active[k]] * set->b[e->active[k]];
    for (int round = 0; round < MOST_ROUNDS && !l2_stopped(e); round++) {
        int64_t before = e->count, room = set->size - before;
        int64_t limit = set->matrix ? most : (room / 2 + 1 < most ? room / 2 + 1 : most);
        if (limit > e->phase->max_iterations - e->phase->iterations)
            limit = e->phase->max_iterations - e->phase->iterations;
        int64_t count = choose(e, entering, best, limit);
        if (count < FEW)
            return ATTSVM_OK;
        memcpy(old, e->active, (size_t)before * sizeof *old);
        TRY(append(e, entering, count, err));
        e->phase->iterations += e->count - before;
        TRY(settle(e, x, entering, &next, err));
        if (next > value * (1 + 1e-13)) {
            value = next;
            keep(e, x);
            continue;
        }
        most = count / 2;
        TRY(go_back(e, old, before, err));
        if (e->count != before) { /* only rounding can cause this: restart the active-set method */
            keep(e, x);
            return l2_restart(e, err);
        }
        if (most < FEW)
            return ATTSVM_OK;
    }
    return ATTSVM_OK;
}

attsvm_status l2_block_pivoting(l2_active_set *e, attsvm_error *err)
{
    svm_set *set = e->set;
    int64_t rows = set->count + 1, queries = set->queries + 1;
    char *memory;
    double *x;
    if (e->extended || set->soft > 0 || set->count < 2 * FEW)
        return ATTSVM_OK;
    TRY(base_allocate(&memory, (size_t)rows * 2 + (size_t)(rows + queries), sizeof(double),
                      "block of rows", err));
    x = (double *)(void *)memory;
    int32_t *old = (int32_t *)(void *)(x + rows), *entering = old + rows;
    int32_t *best = (int32_t *)(void *)(x + 2 * rows);
    attsvm_status status = pivot(e, x, old, entering, best, err);
    free(memory);
    return status;
}
