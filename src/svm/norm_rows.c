/* Working sets of the other norms, in coordinates of the spans of their rows. */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SPAN_PIVOT = 1e-14; /* of the pivoted QR: what is smaller spans nothing   */
static const double SAME_ROW = 1e-11;   /* squared distance to the span of other equalities   */

/* --------------------------------------------------------------------- coordinates */

static void layout(svm_norm_run *run, arena *a, int64_t terms, bool reduce)
{
    size_t m = (size_t)run->count, t = (size_t)terms, d = (size_t)run->rows->d;
    size_t q = run->rows->matrix ? d : 1;
    run->part.u = take(a, m * d);
    run->part.v = take(a, t * q);
    run->part.b = take(a, m);
    run->part.term = take_int64(a, m);
    run->part.equal = base_take(a, m, 1);
    run->at = take_int64(a, m);
    run->left = reduce ? take(a, d * d) : NULL;
    run->right = reduce ? take(a, d * d) : NULL;
}

/* Rows of A in coordinates of an orthonormal basis of their span, where that is smaller. */
static attsvm_status shorten(int64_t rows, int64_t d, double *A, double **basis, int64_t *length,
                             attsvm_error *err)
{
    double *copy;
    size_t bytes = (size_t)(rows * d) * sizeof *copy;
    *length = d;
    TRY(base_allocate(&copy, (size_t)(rows * d), sizeof *copy, "span of rows", err));
    memcpy(copy, A, bytes);
    int64_t rank;
    attsvm_status status = la_row_space(rows, d, copy, d, SPAN_PIVOT, *basis, &rank, err);
    if (status == ATTSVM_OK && rank < d) {
        memcpy(copy, A, bytes);
        la_gemm(false, true, rows, rank, d, 1, copy, d, *basis, d, 0, A, rank);
        *length = rank;
    } else {
        *basis = NULL;
    }
    free(copy);
    return status;
}

/*
 * Marks equalities that others imply, by a pivoted Cholesky factor of their Gram matrix at unit
 * diagonal: the cores want independent ones, and the Frobenius solver has shown them consistent.
 */
static attsvm_status mark_dependent(svm_norm_run *run, attsvm_error *err)
{
    svm_small *part = &run->part;
    int64_t p = part->p, q = part->q, equals = 0, rank;
    for (int64_t r = 0; r < part->rows; r++)
        equals += part->equal[r];
    if (equals == 0)
        return ATTSVM_OK;
    double *G;
    int64_t *row, *order;
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        G = take(&a, (size_t)equals * (size_t)equals);
        row = take_int64(&a, (size_t)equals);
        order = take_int64(&a, (size_t)equals);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "equalities", err));
    }
    for (int64_t r = 0, e = 0; r < part->rows; r++)
        if (part->equal[r])
            row[e++] = r;
    for (int64_t i = 0; i < equals; i++)
        for (int64_t j = 0; j <= i; j++)
            G[i * equals + j] =
                la_dot(part->u + row[i] * p, part->u + row[j] * p, p) *
                la_dot(part->v + part->term[row[i]] * q, part->v + part->term[row[j]] * q, q);
    for (int64_t i = equals - 1; i >= 0; i--)
        for (int64_t j = 0; j <= i; j++) { /* a row of a zero query depends on nothing at all */
            double length = sqrt(G[i * equals + i]) * sqrt(G[j * equals + j]);
            G[i * equals + j] = length > 0 ? G[i * equals + j] / length : 0;
        }
    attsvm_status status = la_cholesky_pivoted(equals, G, equals, SAME_ROW, order, &rank, err);
    for (int64_t e = rank; e < equals && status == ATTSVM_OK; e++)
        run->list[run->at[row[order[e]]]].dependent = true;
    free(a.base);
    return status;
}

/* Takes the marked equalities out of the part. */
static void drop_dependent(svm_norm_run *run)
{
    svm_small *part = &run->part;
    int64_t kept = 0, p = part->p;
    for (int64_t r = 0; r < part->rows; r++) {
        if (run->list[run->at[r]].dependent)
            continue;
        memmove(part->u + kept * p, part->u + r * p, (size_t)p * sizeof *part->u);
        part->b[kept] = part->b[r];
        part->term[kept] = part->term[r];
        part->equal[kept] = part->equal[r];
        run->at[kept++] = run->at[r];
    }
    part->rows = kept;
}

attsvm_status svm_norm_gather(svm_norm_run *run, bool reduce, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    int64_t d = rows->d, terms = 0;
    for (int64_t k = 0; k < run->count; k++)
        terms += k == 0 || run->list[k].term != run->list[k - 1].term;
    if (!rows->matrix)
        terms = 1;
    reduce = reduce && rows->matrix;
    free(run->part_memory);
    run->part_memory = NULL;
    arena a = { 0 };
    layout(run, &a, terms, reduce);
    TRY(base_arena_allocate(&a, "working set", err));
    run->part_memory = a.base;
    layout(run, &a, terms, reduce);
    svm_small *part = &run->part;
    part->rows = run->count;
    part->poll = svm_norm_poll;
    part->poll_context = run;
    part->most = run->problem->settings.max_iter;
    part->spent = &run->stopped;
    part->terms = terms;
    part->p = d;
    part->q = rows->matrix ? d : 1;
    double *lo;
    TRY(base_allocate(&lo, (size_t)(3 * d), sizeof *lo, "row", err));
    if (!rows->matrix)
        part->v[0] = 1;
    int64_t at = -1;
    data_reader_order(rows->data, DATA_BY_ROWS);
    for (int64_t k = 0; k < run->count; k++) {
        const svm_gathered *g = &run->list[k];
        svm_term term = svm_rows_term(rows, g->term);
        if (rows->matrix && (k == 0 || g->term != g[-1].term))
            svm_rows_query(rows, &term, part->v + ++at * d);
        svm_rows_delta(rows, &term, g->token, part->u + k * d, lo, lo + d);
        part->term[k] = rows->matrix ? at : 0;
        part->b[k] = g->b;
        part->equal[k] = g->equal;
        run->at[k] = k;
        run->list[k].dependent = false;
        data_reader_release_around(rows->data, term.i);
    }
    data_reader_order(rows->data, DATA_IN_ORDER);
    free(lo);
    TRY(mark_dependent(run, err));
    drop_dependent(run);
    if (reduce) {
        TRY(shorten(part->rows, d, part->u, &run->left, &part->p, err));
        TRY(shorten(terms, d, part->v, &run->right, &part->q, err));
    }
    return ATTSVM_OK;
}

/* W = L theta R', with L, R the bases (or the identity). */
void svm_norm_project(const svm_norm_run *run, const double *theta, double *W)
{
    int64_t d = run->rows->d, p = run->part.p, q = run->part.q;
    int64_t columns = run->rows->matrix ? d : 1;
    if (!run->left && !run->right) {
        memcpy(W, theta, (size_t)(p * q) * sizeof *W);
        return;
    }
    double *half = W + p * q; /* the caller gives room for p q + p d */
    if (run->left)
        la_gemm(false, false, p, columns, d, 1, run->left, d, theta, columns, 0, half, columns);
    else
        memcpy(half, theta, (size_t)(d * columns) * sizeof *half);
    if (run->right)
        la_gemm(false, true, p, q, columns, 1, half, columns, run->right, columns, 0, W, q);
    else
        memcpy(W, half, (size_t)(p * q) * sizeof *W);
}

/* theta = L' W R. */
void svm_norm_expand(const svm_norm_run *run, const double *W, double *theta, double *scratch)
{
    int64_t d = run->rows->d, p = run->part.p, q = run->part.q;
    int64_t columns = run->rows->matrix ? d : 1;
    const double *half = W; /* p x columns */
    if (run->right) {
        la_gemm(false, false, p, columns, q, 1, W, q, run->right, columns, 0, scratch, columns);
        half = scratch;
    }
    if (run->left)
        la_gemm(true, false, d, columns, p, 1, run->left, d, half, columns, 0, theta, columns);
    else
        memcpy(theta, half, (size_t)(d * columns) * sizeof *theta);
}
