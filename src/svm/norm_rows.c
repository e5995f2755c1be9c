/* Working sets of the other norms: which rows are gathered, and in which coordinates. */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SPAN_PIVOT = 1e-14; /* of the pivoted QR: what is smaller spans nothing   */
static const double SAME_ROW = 1e-11;   /* squared distance to the span of other equalities   */

enum { TERMS_BETWEEN = 64 }; /* polls within a pass */

/* ------------------------------------------------------------------------ scanning */

typedef struct found {
    double excess; /* <A, theta> - b */
    int64_t term;
    int32_t token;
} found;

typedef struct findings {
    found *rows;
    int64_t count, capacity;
} findings;

static int by_excess(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->excess != y->excess)
        return x->excess < y->excess ? -1 : 1;
    if (x->term != y->term)
        return x->term < y->term ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static int by_row(const void *a, const void *b)
{
    const svm_gathered *x = a, *y = b;
    if (x->term != y->term)
        return x->term < y->term ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static attsvm_status note(findings *f, found row, attsvm_error *err)
{
    if (f->count == f->capacity) {
        int64_t capacity = 2 * f->capacity + 256;
        found *bigger;
        TRY(base_allocate(&bigger, (size_t)capacity, sizeof *bigger, "violated rows", err));
        if (f->count > 0)
            memcpy(bigger, f->rows, (size_t)f->count * sizeof *bigger);
        free(f->rows);
        f->rows = bigger;
        f->capacity = capacity;
    }
    f->rows[f->count++] = row;
    return ATTSVM_OK;
}

static bool is_gathered(const svm_norm_run *run, int64_t term, int64_t token)
{
    svm_gathered key = { .term = term, .token = (int32_t)token };
    return run->count > 0 &&
           bsearch(&key, run->list, (size_t)run->count, sizeof key, by_row) != NULL;
}

/* Notes the rows of one term that are not gathered, and all equalities that are not. */
static attsvm_status scan_term(const svm_norm_run *run, const svm_term *term, const double *y,
                               double limit, findings *f, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    bool vector = rows->problem == ATTSVM_PROBLEM_V;
    int64_t first = vector ? term->base : 0, end = vector ? term->base + 1 : term->visible;
    for (int64_t t = first; t < end; t++) {
        svm_row_kind kind = svm_rows_kind(rows, term, t);
        if (kind != SVM_AT_LEAST && kind != SVM_EQUAL)
            continue;
        double margin =
            vector ? data_terms_label(&rows->terms, term->i, 0) * y[t] : y[term->base] - y[t];
        double b = svm_rows_rhs(rows, term, t), excess = kind == SVM_EQUAL ? -INFINITY : margin - b;
        /* a row with b = 0 has no scale that would make a small violation harmless */
        if (!(excess < (b == 0 ? fmax(limit, 0) : limit)) || is_gathered(run, term->term, t))
            continue;
        kind = svm_rows_resolve(rows, term, t);
        if (kind == SVM_AT_LEAST || kind == SVM_EQUAL)
            TRY(note(f, (found){ excess, term->term, (int32_t)t }, err));
    }
    return ATTSVM_OK;
}

static attsvm_status scan(svm_norm_run *run, const double *theta, double limit, findings *f,
                          attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    double *scratch;
    TRY(base_allocate(&scratch, (size_t)(2 * rows->d + rows->data->T_max), sizeof *scratch,
                      "logits", err));
    double *u = scratch, *z = scratch + rows->d, *y = scratch + 2 * rows->d;
    attsvm_status status = ATTSVM_OK;
    svm_term none = { 0 };
    int64_t lo, hi;
    if (!rows->matrix)
        svm_rows_direction(rows, &none, theta, NULL, u);
    data_own(rows->data, &lo, &hi);
    const int64_t first = data_terms_first(&rows->terms, lo);
    int64_t passed = lo, end = data_terms_first(&rows->terms, hi), g = first;
    for (; g < end && status == ATTSVM_OK; g++) {
        /* ranks have terms of their own, and are asked after a pass */
        if (!rows->data->comm && g % TERMS_BETWEEN == 0 && svm_norm_poll(run))
            break;
        svm_term term = svm_rows_term(rows, g);
        data_passed(rows->data, term.i, &passed);
        la_rows tokens = data_sequence(rows->data, term.i);
        tokens.count = term.visible;
        if (rows->matrix)
            svm_rows_direction(rows, &term, theta, z, u);
        la_rows_dot(&tokens, u, y);
        status = scan_term(run, &term, y, limit, f, err);
    }
    run->passes += g < end ? (double)(g - first) / (double)(end - first) : 1;
    free(scratch);
    return status;
}

/* The `keep` first findings of every rank, on all of them. */
static attsvm_status exchange(dist_comm *comm, findings *f, int64_t keep, attsvm_error *err)
{
    int ranks = dist_size(comm), rank = dist_rank(comm);
    found *all = NULL;
    double *shares;
    TRY(base_allocate(&shares, 2 * (size_t)ranks + 1, sizeof *shares, "violated rows", err));
    int64_t *first = (int64_t *)(void *)(shares + ranks);
    shares[rank] = (double)keep;
    dist_sum(comm, shares, ranks);
    for (int r = 0; r < ranks; r++)
        first[r + 1] = first[r] + (int64_t)shares[r];
    attsvm_status status =
        base_allocate(&all, (size_t)first[ranks], sizeof *all, "violated rows", err);
    if (status == ATTSVM_OK) {
        if (keep > 0)
            memcpy(all + first[rank], f->rows, (size_t)keep * sizeof *all);
        dist_gather(comm, all, sizeof *all, first);
        free(f->rows);
        *f = (findings){ all, first[ranks], first[ranks] };
    }
    free(shares);
    return status;
}

/* Findings in order, those of all ranks; returns how many join: all equalities, `most` others. */
static attsvm_status choose(svm_norm_run *run, findings *f, int64_t most, int64_t *added,
                            attsvm_error *err)
{
    dist_comm *comm = run->rows->data->comm;
    for (int again = 0;; again++) {
        int64_t equals = 0;
        if (f->count > 0)
            qsort(f->rows, (size_t)f->count, sizeof *f->rows, by_excess);
        while (equals < f->count && f->rows[equals].excess == -INFINITY)
            equals++;
        *added = f->count < equals + most ? f->count : equals + most;
        if (!comm || again)
            return ATTSVM_OK;
        TRY(exchange(comm, f, *added, err));
    }
}

attsvm_status svm_norm_collect(svm_norm_run *run, const double *theta, double limit, int64_t most,
                               int64_t *added, attsvm_error *err)
{
    findings f = { 0 };
    attsvm_status status = scan(run, theta, limit, &f, err);
    *added = 0;
    if (status == ATTSVM_OK)
        status = choose(run, &f, most, added, err);
    if (status == ATTSVM_OK && f.count > 0) {
        svm_gathered *bigger;
        status = base_allocate(&bigger, (size_t)(run->count + *added), sizeof *bigger, "rows", err);
        if (status == ATTSVM_OK) {
            if (run->count > 0)
                memcpy(bigger, run->list, (size_t)run->count * sizeof *bigger);
            for (int64_t k = 0; k < *added; k++) {
                svm_term term = svm_rows_term(run->rows, f.rows[k].term);
                bigger[run->count + k] = (svm_gathered){
                    .term = f.rows[k].term,
                    .token = f.rows[k].token,
                    .equal = svm_rows_kind(run->rows, &term, f.rows[k].token) == SVM_EQUAL,
                    .b = svm_rows_rhs(run->rows, &term, f.rows[k].token),
                };
            }
            free(run->list);
            run->list = bigger;
            run->count += *added;
            qsort(run->list, (size_t)run->count, sizeof *run->list, by_row);
        }
    }
    free(f.rows);
    return status;
}

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
    svm_part *part = &run->part;
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
        for (int64_t j = 0; j <= i; j++)
            G[i * equals + j] /= sqrt(G[i * equals + i]) * sqrt(G[j * equals + j]);
    attsvm_status status = la_cholesky_pivoted(equals, G, equals, SAME_ROW, order, &rank, err);
    for (int64_t e = rank; e < equals && status == ATTSVM_OK; e++)
        run->list[run->at[row[order[e]]]].dependent = true;
    free(a.base);
    return status;
}

/* Takes the marked equalities out of the part. */
static void drop_dependent(svm_norm_run *run)
{
    svm_part *part = &run->part;
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
    svm_part *part = &run->part;
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
    data_set_order(rows->data, DATA_BY_ROWS);
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
        data_give_back_around(rows->data, term.i);
    }
    data_set_order(rows->data, DATA_IN_ORDER);
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
