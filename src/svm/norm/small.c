/*
 * The working set as a small dense problem, in coordinates of the spans of its rows; sums and
 * products over its rank-one rows.
 */
#include "svm/norm/norm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------- from the working set */

static const double SPAN_PIVOT = 1e-14; /* of the pivoted QR: smaller pivots count as 0     */
static const double SAME_ROW = 1e-11;   /* squared distance to the span of other equalities */
static const double NEARLY_MET = 1e-10; /* residual of an equality that is repaired later   */

/* A row of the set and its slot. */
typedef struct named {
    int64_t term, slot;
    int32_t token;
} named;

static int by_row(const void *a, const void *b)
{
    const named *x = a, *y = b;
    if (x->term != y->term)
        return x->term < y->term ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static void layout(svm_small *part, arena *a, bool reduce, named **order)
{
    size_t m = (size_t)part->rows, t = (size_t)part->terms, d = (size_t)part->d;
    part->u = take(a, m * d);
    part->v = take(a, t * (part->matrix ? d : 1));
    part->b = take(a, m);
    part->length = take(a, m);
    part->term = take_int64(a, m);
    part->slot = take_int64(a, m);
    part->equality = take_int64(a, m);
    part->equal = base_take(a, m, 1);
    part->left = reduce ? take(a, d * d) : NULL;
    part->right = reduce ? take(a, d * d) : NULL;
    *order = base_take(a, m, sizeof **order);
}

/* Rows of A in coordinates of an orthonormal basis of their span, if that is smaller. */
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

static void list_equalities(svm_small *part)
{
    part->equals = 0;
    for (int64_t r = 0; r < part->rows; r++)
        if (part->equal[r])
            part->equality[part->equals++] = r;
}

void svm_small_equality_gram(const svm_small *part, double *G)
{
    int64_t p = part->p, q = part->q;
    for (int64_t i = 0; i < part->equals; i++) {
        int64_t r = part->equality[i];
        const double *u = part->u + r * p, *v = part->v + part->term[r] * q;
        for (int64_t j = 0; j <= i; j++) {
            int64_t s = part->equality[j];
            G[i * part->equals + j] =
                la_dot(u, part->u + s * p, p) * la_dot(v, part->v + part->term[s] * q, q);
        }
    }
}

/*
 * Marks equalities that others imply, by a pivoted Cholesky factor of their Gram matrix at unit
 * diagonal: the cores need independent ones, and the first phase has shown that they are
 * consistent.
 */
static attsvm_status mark_implied(const svm_small *part, svm_set *set, attsvm_error *err)
{
    int64_t equals = part->equals, rank;
    for (int64_t r = 0; r < part->rows; r++)
        set->implied[part->slot[r]] = 0;
    if (equals == 0)
        return ATTSVM_OK;
    double *G;
    int64_t *order;
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        G = take(&a, (size_t)equals * (size_t)equals);
        order = take_int64(&a, (size_t)equals);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "equalities", err));
    }
    svm_small_equality_gram(part, G);
    for (int64_t i = equals - 1; i >= 0; i--)
        for (int64_t j = 0; j <= i; j++) { /* the row of a zero query is zero */
            double length = sqrt(G[i * equals + i]) * sqrt(G[j * equals + j]);
            G[i * equals + j] = length > 0 ? G[i * equals + j] / length : 0;
        }
    attsvm_status status = la_cholesky_pivoted(equals, G, equals, SAME_ROW, order, &rank, err);
    for (int64_t e = rank; e < equals && status == ATTSVM_OK; e++)
        set->implied[part->slot[part->equality[order[e]]]] = 1;
    free(a.base);
    return status;
}

static void drop_implied(svm_small *part, const svm_set *set)
{
    int64_t kept = 0, p = part->p;
    for (int64_t r = 0; r < part->rows; r++) {
        if (set->implied[part->slot[r]])
            continue;
        memmove(part->u + kept * p, part->u + r * p, (size_t)p * sizeof *part->u);
        part->b[kept] = part->b[r];
        part->term[kept] = part->term[r];
        part->equal[kept] = part->equal[r];
        part->slot[kept++] = part->slot[r];
    }
    part->rows = kept;
    list_equalities(part);
}

/* The rows in order; sigma is a power of two, so nothing is rounded. */
static void copy_rows(svm_small *part, const svm_set *set, const named *order)
{
    int64_t d = part->d, at = -1;
    if (!part->matrix)
        part->v[0] = 1;
    for (int64_t k = 0; k < part->rows; k++) {
        int64_t s = order[k].slot;
        if (part->matrix && (k == 0 || order[k].term != order[k - 1].term))
            memcpy(part->v + ++at * d, set->z + set->query[s] * d, (size_t)d * sizeof *part->v);
        for (int64_t j = 0; j < d; j++)
            part->u[k * d + j] = set->hi[s * d + j] / set->sigma[s];
        part->term[k] = part->matrix ? at : 0;
        part->b[k] = set->b[s] / set->sigma[s];
        part->equal[k] = set->equality[s];
        part->slot[k] = s;
    }
}

attsvm_status svm_small_create(svm_small *part, svm_set *set, bool reduce, attsvm_error *err)
{
    int64_t d = set->d;
    named *order;
    arena a = { 0 };
    reduce = reduce && set->matrix;
    *part = (svm_small){ .rows = set->count,
                         .terms = set->matrix ? set->queries : 1,
                         .p = d,
                         .q = set->matrix ? d : 1,
                         .d = d,
                         .matrix = set->matrix };
    layout(part, &a, reduce, &order);
    TRY(base_arena_allocate(&a, "small problem", err));
    part->memory = a.base;
    layout(part, &a, reduce, &order);
    for (int64_t s = 0; s < set->count; s++)
        order[s] = (named){ set->term[s], s, set->token[s] };
    qsort(order, (size_t)set->count, sizeof *order, by_row);
    if (set->matrix) { /* the set may still hold queries of dropped rows */
        part->terms = 0;
        for (int64_t k = 0; k < part->rows; k++)
            part->terms += k == 0 || order[k].term != order[k - 1].term;
    }
    copy_rows(part, set, order);
    list_equalities(part);
    TRY(mark_implied(part, set, err));
    drop_implied(part, set);
    if (reduce) {
        TRY(shorten(part->rows, d, part->u, &part->left, &part->p, err));
        TRY(shorten(part->terms, d, part->v, &part->right, &part->q, err));
    }
    for (int64_t r = 0; r < part->rows; r++)
        part->length[r] = la_norm(part->u + r * part->p, part->p) *
                          la_norm(part->v + part->term[r] * part->q, part->q);
    return ATTSVM_OK;
}

void svm_small_unit_row(const svm_small *part, int64_t r, double *A)
{
    const double *u = part->u + r * part->p, *v = part->v + part->term[r] * part->q;
    for (int64_t i = 0; i < part->p; i++)
        for (int64_t j = 0; j < part->q; j++)
            A[i * part->q + j] = u[i] * v[j] / part->length[r];
}

void svm_small_free(svm_small *part)
{
    free(part->memory);
}

/* W = L theta R', with L, R the bases (or the identity). */
void svm_small_project(const svm_small *part, const double *theta, double *W)
{
    int64_t d = part->d, p = part->p, q = part->q, columns = part->matrix ? d : 1;
    if (!part->left && !part->right) {
        memcpy(W, theta, (size_t)(p * q) * sizeof *W);
        return;
    }
    double *half = W + p * q;
    if (part->left)
        la_gemm(false, false, p, columns, d, 1, part->left, d, theta, columns, 0, half, columns);
    else
        memcpy(half, theta, (size_t)(d * columns) * sizeof *half);
    if (part->right)
        la_gemm(false, true, p, q, columns, 1, half, columns, part->right, columns, 0, W, q);
    else
        memcpy(W, half, (size_t)(p * q) * sizeof *W);
}

/* theta = L' W R. */
void svm_small_expand(const svm_small *part, const double *W, double *theta, double *scratch)
{
    int64_t d = part->d, p = part->p, q = part->q, columns = part->matrix ? d : 1;
    const double *half = W; /* p x columns */
    if (part->right) {
        la_gemm(false, false, p, columns, q, 1, W, q, part->right, columns, 0, scratch, columns);
        half = scratch;
    }
    if (part->left)
        la_gemm(true, false, d, columns, p, 1, part->left, d, half, columns, 0, theta, columns);
    else
        memcpy(theta, half, (size_t)(d * columns) * sizeof *theta);
}

/* ------------------------------------------------------------------------ sums and products */

bool svm_small_step(const svm_small *part, int64_t *iterations)
{
    *part->spent = *part->spent || *iterations >= part->most;
    if (!*part->spent)
        ++*iterations;
    return !*part->spent;
}

bool svm_small_stopped(const svm_small *part)
{
    const double look = 1e5; /* work per step, enough to read the clock each time */
    return *part->spent || dist_stop_poll(part->stop, look);
}

void svm_small_sum(const svm_small *part, const double *lambda, double *S, double *scratch)
{
    int64_t p = part->p, q = part->q;
    memset(scratch, 0, (size_t)(part->terms * p) * sizeof *scratch);
    for (int64_t r = 0; r < part->rows; r++)
        la_axpy(lambda[r], part->u + r * p, scratch + part->term[r] * p, p);
    la_gemm(true, false, p, q, part->terms, 1, scratch, p, part->v, q, 0, S, q);
}

void svm_small_sum_exact(const svm_small *part, const double *lambda, double *S, double *scratch)
{
    const la_exact *exact = la_exact_active();
    int64_t p = part->p, q = part->q, terms = part->terms;
    double *hi = scratch, *lo = hi + terms * p, *S_lo = lo + terms * p;
    memset(scratch, 0, (size_t)(2 * terms * p + p * q) * sizeof *scratch);
    memset(S, 0, (size_t)(p * q) * sizeof *S);
    for (int64_t r = 0; r < part->rows; r++)
        if (lambda[r] != 0)
            exact->axpy(base_dd(lambda[r]), part->u + r * p, hi + part->term[r] * p,
                        lo + part->term[r] * p, p);
    for (int64_t t = 0; t < terms; t++)
        for (int64_t i = 0; i < p; i++)
            exact->axpy((dd){ hi[t * p + i], lo[t * p + i] }, part->v + t * q, S + i * q,
                        S_lo + i * q, q);
}

void svm_small_apply_exact(const svm_small *part, const double *G, double *y, double *scratch)
{
    const la_exact *exact = la_exact_active();
    int64_t p = part->p, q = part->q, terms = part->terms;
    double *hi = scratch, *lo = hi + terms * p;
    for (int64_t t = 0; t < terms; t++)
        for (int64_t i = 0; i < p; i++) {
            dd along = base_dd_dot(part->v + t * q, G + i * q, q);
            hi[t * p + i] = along.hi;
            lo[t * p + i] = along.lo;
        }
    for (int64_t r = 0; r < part->rows; r++)
        y[r] = base_dd_value(
            exact->dot(part->u + r * p, hi + part->term[r] * p, lo + part->term[r] * p, p));
}

double svm_small_missed(const svm_small *part, const double *lambda, const double *margin,
                        double scale)
{
    double sum = 0;
    for (int64_t e = 0; e < part->equals; e++) {
        int64_t r = part->equality[e];
        sum += fabs(scale * margin[r] - part->b[r]) * (fabs(lambda[r]) + 1 / part->length[r]);
    }
    return sum;
}

void svm_small_apply(const svm_small *part, const double *G, int64_t ldg, double *y,
                     double *scratch)
{
    int64_t p = part->p, q = part->q;
    la_gemm(false, true, part->terms, p, q, 1, part->v, q, G, ldg, 0, scratch, p);
    for (int64_t r = 0; r < part->rows; r++)
        y[r] = la_dot(part->u + r * p, scratch + part->term[r] * p, p);
}

double svm_small_scale(const svm_small *part, const double *margin, double size)
{
    double least = INFINITY;
    bool fixed = false;
    for (int64_t r = 0; r < part->rows; r++) {
        double b = part->b[r], limit = part->length[r] * size;
        if (part->equal[r]) {
            if (fabs(margin[r] - b) > NEARLY_MET * (fabs(b) + limit))
                return 0;
            fixed = fixed || b != 0;
        } else if (b > 0) {
            least = fmin(least, margin[r] / b);
        } else if (margin[r] < b - 0.5e-13 * limit) {
            return 0;
        }
    }
    if (!(least > 0) || (fixed && least < 1 - 1e-12))
        return 0;
    return fixed || isinf(least) ? 1 : 1 / least;
}

attsvm_status svm_small_meet_equalities(const svm_small *part, double unit, double *W,
                                        attsvm_error *err)
{
    int64_t equals = part->equals, p = part->p, q = part->q;
    if (equals == 0)
        return ATTSVM_OK;
    arena a = { 0 };
    double *G, *c, *y, *scratch;
    for (int pass = 0; pass < 2; pass++) {
        G = take(&a, (size_t)equals * (size_t)equals);
        c = take(&a, (size_t)equals);
        y = take(&a, (size_t)part->rows);
        scratch = take(&a, (size_t)(part->terms * p));
        if (pass == 0)
            TRY(base_arena_allocate(&a, "equalities", err));
    }
    svm_small_apply(part, W, q, y, scratch);
    svm_small_equality_gram(part, G);
    for (int64_t e = 0; e < equals; e++)
        c[e] = part->b[part->equality[e]] / unit - y[part->equality[e]];
    if (la_cholesky(equals, G, equals) == 0) {
        la_cholesky_solve(equals, G, equals, c);
        for (int64_t e = 0; e < equals; e++) {
            int64_t r = part->equality[e];
            for (int64_t k = 0; k < p; k++)
                la_axpy(c[e] * part->u[r * p + k], part->v + part->term[r] * q, W + k * q, q);
        }
    }
    free(a.base);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- solving the set */

typedef struct solving {
    double *W0, *W, *W_lo, *lambda, *lambda_lo, *margin, *scratch, *sums;
    void *memory;
    bool spent; /* the maximum number of iterations is reached */
} solving;

static attsvm_status make_room(solving *s, const svm_small *part, attsvm_error *err)
{
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        s->W0 = take(&a, (size_t)(part->p * part->q + part->p * part->d));
        s->W = take(&a, (size_t)(part->p * part->q));
        s->W_lo = take(&a, (size_t)(part->p * part->q));
        s->lambda = take(&a, (size_t)part->rows);
        s->lambda_lo = take(&a, (size_t)part->rows);
        s->margin = take(&a, (size_t)part->rows);
        s->scratch = take(&a, (size_t)(part->p * part->d));
        s->sums = take(&a, (size_t)(part->terms * part->p));
        if (pass == 0)
            TRY(base_arena_allocate(&a, "small problem", err));
    }
    s->memory = a.base;
    return ATTSVM_OK;
}

/* Scales W to smallest margin 1 over the part, if possible. */
static void scale(const svm_small *part, solving *s)
{
    bool fixed = false;
    double least = INFINITY;
    svm_small_apply(part, s->W, part->q, s->margin, s->sums);
    for (int64_t r = 0; r < part->rows; r++) {
        fixed = fixed || (part->equal[r] && part->b[r] != 0);
        if (!part->equal[r] && part->b[r] > 0)
            least = fmin(least, s->margin[r] / part->b[r]);
    }
    for (int64_t k = 0; k < part->p * part->q && !fixed && least > 0 && isfinite(least); k++)
        s->W[k] /= least;
}

/* Stores theta and multipliers in the set, without the tiny multipliers of interior points. */
static void store(svm_phase *phase, const svm_small *part, solving *s)
{
    svm_set *set = phase->set;
    double largest = 0, *size = s->margin; /* |lambda A|: lengths of rows may differ by 1e18 */
    for (int64_t r = 0; r < part->rows; r++) {
        size[r] = fabs(s->lambda[r]) * part->length[r];
        largest = fmax(largest, size[r]);
    }
    svm_small_expand(part, s->W, set->theta, s->scratch);
    memset(set->theta_lo, 0, (size_t)set->size * sizeof *set->theta_lo);
    if (phase->refined) /* its coordinates are those of theta */
        memcpy(set->theta_lo, s->W_lo, (size_t)set->size * sizeof *set->theta_lo);
    if (phase->norm->local || !(largest > 0))
        return; /* the bound comes from the previous phase */
    memset(set->lambda, 0, (size_t)set->count * sizeof *set->lambda);
    memset(set->lambda_lo, 0, (size_t)set->count * sizeof *set->lambda_lo);
    phase->active = 0;
    for (int64_t r = 0; r < part->rows; r++)
        if (part->equal[r] || phase->refined || size[r] > phase->norm->negligible * largest) {
            set->lambda[part->slot[r]] = s->lambda[r] / set->sigma[part->slot[r]];
            set->lambda_lo[part->slot[r]] = s->lambda_lo[r] / set->sigma[part->slot[r]];
            phase->active++;
        }
}

/* If a core is stopped after the first round, the previous round's result is better. */
static attsvm_status run_core(svm_phase *phase, svm_small *part, solving *s, svm_end *end,
                              attsvm_error *err)
{
    s->spent = phase->iterations >= phase->max_iterations;
    part->stop = phase->stop;
    part->most = phase->max_iterations;
    part->spent = &s->spent;
    part->W_lo = s->W_lo;
    part->lambda_lo = s->lambda_lo;
    part->refined = &phase->refined;
    phase->refined = false;
    svm_small_project(part, phase->start, s->W0);
    memcpy(s->W, s->W0, (size_t)(part->p * part->q) * sizeof *s->W);
    bool early = svm_small_stopped(part);
    if (!early)
        TRY(phase->norm->core(phase, part, s->W0, s->W, s->lambda, err));
    *end = s->spent ? SVM_LIMIT : dist_stop_why(phase->stop) != DIST_GO_ON ? SVM_STOP : SVM_SOLVED;
    if (early || (*end != SVM_SOLVED && phase->round > 0))
        return ATTSVM_OK;
    if (!phase->refined) {
        TRY(svm_small_meet_equalities(part, 1, s->W, err));
        scale(part, s);
    }
    store(phase, part, s);
    return ATTSVM_OK;
}

attsvm_status svm_small_solve(svm_phase *phase, svm_end *end, attsvm_error *err)
{
    svm_set *set = phase->set;
    bool finer = phase->extended && phase->norm->low_parts && !phase->refined;
    *end = SVM_SOLVED;
    if (!phase->solved || phase->solved_at != set->changes || finer) {
        svm_small part;
        solving s = { 0 };
        attsvm_status status = svm_small_create(&part, set, phase->norm->singular, err);
        if (status == ATTSVM_OK)
            status = make_room(&s, &part, err);
        if (status == ATTSVM_OK)
            status = run_core(phase, &part, &s, end, err);
        free(s.memory);
        svm_small_free(&part);
        TRY(status);
        phase->solved = *end == SVM_SOLVED && phase->precision != SVM_ROUGH;
        phase->solved_at = set->changes;
    }
    if (phase->precision != SVM_EXACT || phase->norm->local || *end != SVM_SOLVED || phase->refined)
        return ATTSVM_OK;
    return svm_norm_project_onto_active_rows(set, phase->extended || phase->norm->rows_off, err);
}
