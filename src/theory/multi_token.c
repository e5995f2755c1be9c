/*
 * Nonlinear heads (theory 6.9): attention may keep several tokens of a sequence, and a trained W is
 * compared with
 *
 *   W ~ W_fin + R W_svm,
 *
 * where W_svm solves the multi-token SVM of the kept sets O (margin 1 to all other tokens, equal
 * logits within a set) and W_fin is the W of least norm that gives the kept tokens their attention.
 * W_fin is in the span of the rows inside the sets and W_svm is orthogonal to it, so that R, by
 * least squares, is <W, W_svm> / |W_svm|^2.
 */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 256 }; /* sequences per parallel block */

/* Statistics of the sets of some sequences; none depends on the order. */
typedef struct tally {
    int64_t kept, several;
    double least_kept, most_masked;
} tally;

typedef struct work {
    const attsvm_data *data;
    const double *W;
    attsvm_svm_settings svm;
    data_terms terms;
    int64_t cells, lo, hi, blocks; /* sequences lo..hi-1 are those of this rank */
    int threads, ranks;
    int64_t *first;                      /* (n) first cell of each sequence              */
    int64_t *share;                      /* (ranks+1) first cell or term of each rank    */
    tally *tallies;                      /* (blocks)                                     */
    double *softmax;                     /* (cells)                                      */
    uint8_t *sets;                       /* (cells)                                      */
    int64_t *alpha;                      /* (terms) most attention, lowest index on ties */
    double *z, *u;                       /* (threads,d)                                  */
    double *finite, *direction, *single; /* (d,d); NaN without a solution                */
    void *memory;
} work;

static void layout(work *w, arena *a)
{
    size_t d = (size_t)w->data->d, cells = (size_t)w->cells;
    w->first = take_int64(a, (size_t)w->data->n);
    w->share = take_int64(a, (size_t)w->ranks + 1);
    w->tallies = base_take(a, (size_t)w->blocks, sizeof *w->tallies);
    w->softmax = take(a, cells);
    w->sets = base_take(a, cells, 1);
    w->alpha = take_int64(a, (size_t)w->terms.count);
    w->z = take(a, (size_t)w->threads * d);
    w->u = take(a, (size_t)w->threads * d);
    w->finite = take(a, d * d);
    w->direction = take(a, d * d);
    w->single = take(a, d * d);
}

/* Softmax of one term; tokens that it does not see have 0. */
static void attend(const work *w, int64_t i, int64_t q, int worker, double *s)
{
    const int64_t d = w->data->d;
    double *z = w->z + worker * d, *u = w->u + worker * d;
    la_rows rows = data_sequence(w->data, i);
    data_terms_query(&w->terms, i, q, z);
    la_gemv(false, d, d, 1, w->W, d, z, 0, u);
    rows.count = data_terms_visible(&w->terms, i, q);
    la_rows_dot(&rows, u, s);
    la_softmax(s, rows.count);
}

/* The set of one term by threshold; the token of most attention is always kept. */
static void take_set(const work *w, int64_t i, int64_t q, int worker, tally *sum)
{
    const int64_t visible = data_terms_visible(&w->terms, i, q);
    const int64_t cell = w->first[i] + q * data_length(w->data, i);
    double *s = w->softmax + cell;
    int64_t top = 0, kept = 0;
    attend(w, i, q, worker, s);
    for (int64_t t = 0; t < visible; t++)
        top = s[t] > s[top] ? t : top;
    w->alpha[data_terms_first(&w->terms, i) + q] = top;
    for (int64_t t = 0; t < visible; t++) {
        bool keep = t == top || s[t] > w->svm.threshold;
        w->sets[cell + t] = keep;
        kept += keep;
        if (keep)
            sum->least_kept = fmin(sum->least_kept, s[t]);
        else
            sum->most_masked = fmax(sum->most_masked, s[t]);
    }
    sum->kept += kept;
    sum->several += kept > 1;
}

static void take_block(void *context, int64_t block, int worker)
{
    const work *w = context;
    tally *sum = &w->tallies[block];
    int64_t lo, hi;
    base_block(w->hi - w->lo, w->blocks, block, &lo, &hi);
    *sum = (tally){ .least_kept = 1 };
    data_reader reader = data_reader_open(w->data, w->lo + lo, w->lo + hi);
    for (int64_t i; data_reader_each(&reader, &i);)
        for (int64_t q = 0; q < data_terms_queries(&w->terms, i); q++)
            take_set(w, i, q, worker, sum);
}

/* Distributes the sets of each rank's sequences to all ranks. */
static void gather_sets(work *w, attsvm_multi_token *out)
{
    dist_comm *comm = w->data->comm;
    double sums[2] = { (double)out->kept, (double)out->several };
    double largest[2] = { -out->least_kept, out->most_masked };
    dist_sum(comm, sums, 2);
    dist_max(comm, largest, 2);
    out->kept = (int64_t)sums[0];
    out->several = (int64_t)sums[1];
    out->least_kept = -largest[0];
    out->most_masked = largest[1];
    for (int r = 0; r <= w->ranks; r++)
        w->share[r] = data_terms_first(&w->terms, w->data->share[r]);
    dist_gather(comm, w->alpha, sizeof *w->alpha, w->share);
    for (int r = 0; r <= w->ranks; r++)
        w->share[r] = w->data->share[r] < w->data->n ? w->first[w->data->share[r]] : w->cells;
    dist_gather(comm, w->sets, sizeof *w->sets, w->share);
    dist_gather(comm, w->softmax, sizeof *w->softmax, w->share);
}

/* All sets; each rank reads its own sequences. */
static void take_sets(work *w, attsvm_multi_token *out)
{
    base_parallel(w->threads, w->blocks, take_block, w);
    for (int64_t b = 0; b < w->blocks; b++) {
        const tally *sum = &w->tallies[b];
        out->kept += sum->kept;
        out->several += sum->several;
        out->least_kept = fmin(out->least_kept, sum->least_kept);
        out->most_masked = fmax(out->most_masked, sum->most_masked);
    }
    if (w->data->comm)
        gather_sets(w, out);
}

/* W_fin has the least Frobenius norm for any norm of W_svm, so it lies in the span of the rows
   inside the sets. */
static attsvm_status solve(const work *w, attsvm_problem_kind kind, double *theta,
                           attsvm_outcome *outcome, double *norm, attsvm_error *err)
{
    attsvm_svm_settings s = w->svm;
    attsvm_selection sets = { .sets = w->sets, .softmax = w->softmax, .cells = w->cells };
    attsvm_selection single = { .alpha = w->alpha, .terms = w->terms.count };
    attsvm_solution *solution;
    s.problem = (int32_t)kind;
    if (kind == ATTSVM_PROBLEM_FINITE)
        s.norm = ATTSVM_NORM_FRO;
    TRY(theory_solve(w->data, kind == ATTSVM_PROBLEM_W ? &single : &sets, &s, NULL, &solution,
                     err));
    attsvm_claim claim = attsvm_solution_claim(solution);
    *outcome = claim.outcome;
    if (norm)
        *norm = attsvm_solution_describe(solution).norm;
    for (int64_t j = 0; j < claim.theta_count; j++)
        theta[j] = claim.outcome == ATTSVM_OPTIMAL ? claim.theta[j] : NAN;
    attsvm_solution_free(solution);
    return ATTSVM_OK;
}

/* Correlations of W; NaN if an SVM has no solution. */
static void compare(const work *w, attsvm_multi_token *out)
{
    const int64_t size = w->data->d * w->data->d;
    double square = la_dot(w->direction, w->direction, size);
    out->correlation_svm = attsvm_correlation(w->W, w->direction, size);
    out->correlation_single = attsvm_correlation(w->W, w->single, size);
    /* without rows outside the sets W_svm = 0, and R is undefined */
    out->R = square == 0 ? 0 : la_dot(w->W, w->direction, size) / square;
    double *sum = w->single;
    for (int64_t j = 0; j < size; j++)
        sum[j] = w->finite[j] + out->R * w->direction[j];
    out->correlation = attsvm_correlation(w->W, sum, size);
}

static attsvm_status allocate(work *w, attsvm_error *err)
{
    TRY(data_terms_create(&w->terms, w->data, w->svm.query, w->svm.query_token, err));
    TRY(data_terms_cells(&w->terms, NULL, &w->cells, err));
    data_own(w->data, &w->lo, &w->hi);
    w->blocks = base_blocks(w->hi - w->lo, GRAIN);
    w->threads = base_threads(w->svm.threads);
    w->threads = w->threads > w->blocks ? (int)w->blocks : w->threads;
    w->ranks = dist_size(w->data->comm);
    arena a = { 0 };
    layout(w, &a);
    TRY(base_arena_allocate(&a, "kept tokens", err));
    w->memory = a.base;
    layout(w, &a);
    return data_terms_cells(&w->terms, w->first, &w->cells, err);
}

static attsvm_status analyse(work *w, attsvm_multi_token *out, attsvm_error *err)
{
    attsvm_status status = allocate(w, err);
    TRY(dist_agree(w->data->comm, status, err));
    take_sets(w, out);
    TRY(solve(w, ATTSVM_PROBLEM_MULTI, w->direction, &out->svm, &out->svm_norm, err));
    TRY(solve(w, ATTSVM_PROBLEM_FINITE, w->finite, &out->finite, NULL, err));
    TRY(solve(w, ATTSVM_PROBLEM_W, w->single, &out->single, NULL, err));
    compare(w, out);
    return ATTSVM_OK;
}

attsvm_status attsvm_multi_token_compare(attsvm_multi_token *out, const attsvm_data *data,
                                         const double *W, const attsvm_svm_settings *settings,
                                         double *W_fin, double *W_svm, uint8_t *sets,
                                         attsvm_error *err)
{
    NEED(out);
    NEED(data);
    NEED(W);
    work w = { .data = data, .W = W };
    *out = (attsvm_multi_token){ .least_kept = 1,
                                 .R = NAN,
                                 .correlation = NAN,
                                 .correlation_svm = NAN,
                                 .correlation_single = NAN,
                                 .svm_norm = NAN };
    attsvm_svm_settings_init(&w.svm);
    if (settings)
        w.svm = *settings;
    const size_t bytes = (size_t)(data->d * data->d) * sizeof(double);
    for (int64_t j = 0; j < data->d * data->d; j++)
        if (!isfinite(W[j]))
            return fail(err, ATTSVM_E_ARG, "W[%" PRId64 ",%" PRId64 "] is not finite", j / data->d,
                        j % data->d);
    attsvm_status status = analyse(&w, out, err);
    if (status == ATTSVM_OK && W_fin)
        memcpy(W_fin, w.finite, bytes);
    if (status == ATTSVM_OK && W_svm)
        memcpy(W_svm, w.direction, bytes);
    if (status == ATTSVM_OK && sets)
        memcpy(sets, w.sets, (size_t)w.cells);
    free(w.memory);
    return status;
}
