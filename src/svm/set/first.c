/* The first rows of the set: all, those of a previous solution, or some from a sample. */
#include "svm/set/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Problems with at most this many rows are stored completely. */
enum { SMALL_ROWS = 320 };

/* Length of the first guess: so short that every row is violated, and angles decide the worst. */
static const double SHORT = 1e-6;

/* Adds one row unless it is present, merged, empty, or impossible (then *conflict). */
static attsvm_status add_row(svm_set *set, const svm_term *term, int64_t t, bool *conflict,
                             attsvm_error *err)
{
    svm_row_kind kind = svm_rows_resolve(set->rows, term, t, set->scratch);
    bool soft = set->soft > 0 && svm_rows_kind(set->rows, term, t) == SVM_AT_LEAST;
    *conflict = kind == SVM_IMPOSSIBLE && !soft;
    if (kind == SVM_NO_ROW || kind == SVM_EMPTY || *conflict ||
        svm_set_slot(set, term->term, t) >= 0)
        return ATTSVM_OK;
    return svm_set_add(set, term, t, err);
}

/* All rows, or all equalities. */
static attsvm_status add_all(svm_set *set, bool equalities, svm_pass *pass, attsvm_error *err)
{
    const svm_rows *rows = set->rows;
    for (int64_t g = 0; g < rows->terms.count; g++) {
        svm_term term = svm_rows_term(rows, g);
        for (int64_t t = 0; t < term.visible; t++) {
            svm_row_kind kind = svm_rows_kind(rows, &term, t);
            bool conflict = false;
            if (kind == SVM_EQUAL || (!equalities && kind == SVM_AT_LEAST))
                TRY(add_row(set, &term, t, &conflict, err));
            if (conflict) {
                pass->conflict_term = g;
                pass->conflict_token = t;
                return ATTSVM_OK;
            }
        }
    }
    return ATTSVM_OK;
}

static attsvm_status add_warm(svm_set *set, const attsvm_claim *warm, attsvm_error *err)
{
    const svm_rows *rows = set->rows;
    const data_terms *terms = &rows->terms;
    for (int64_t k = 0; k < warm->active_count; k++) {
        attsvm_row row = warm->active[k];
        bool conflict;
        if (row.sequence < 0 || row.sequence >= rows->data->n || row.query < 0 ||
            row.query >= data_terms_queries(terms, row.sequence))
            continue;
        svm_term term = svm_rows_term(rows, data_terms_first(terms, row.sequence) + row.query);
        if (row.token >= 0 && row.token < term.visible)
            TRY(add_row(set, &term, row.token, &conflict, err));
    }
    return ATTSVM_OK;
}

/* Adds the mean of A over the rows of one term; scratch (8d + T).  Returns the tokens it read. */
static int64_t guess_term(const svm_rows *rows, const svm_term *term, double *scratch,
                          double *theta)
{
    int64_t d = rows->d, first;
    double *sum = scratch, *z = sum + d, *weight = scratch + 8 * d;
    la_rows tokens = svm_rows_tokens(rows, term, &first);
    bool vector = rows->problem == ATTSVM_PROBLEM_V;
    for (int64_t k = 0; k < tokens.count; k++)
        weight[k] = vector ? 0 : -1 / (double)tokens.count;
    weight[term->base - first] += vector ? data_terms_label(&rows->terms, term->i, 0) : 1;
    memset(sum, 0, (size_t)d * sizeof *sum);
    la_rows_sum(&tokens, weight, sum);
    if (rows->matrix) {
        svm_rows_query(rows, term, z);
        for (int64_t j = 0; j < d; j++)
            la_axpy(sum[j], z, theta + j * d, d);
    } else {
        la_axpy(1, sum, theta, d);
    }
    return tokens.count;
}

typedef struct guess_job {
    const svm_first *first;
    int64_t blocks;
    double *sums;   /* (blocks,size) of A      */
    double *tokens; /* (blocks) that were read */
} guess_job;

static void guess_block(void *context, int64_t b, int worker)
{
    const guess_job *job = context;
    const svm_find *find = job->first->find;
    const svm_rows *rows = find->rows;
    double *scratch = find->scratch + worker * find->scratch_each;
    int64_t lo, hi;
    base_block(find->hi - find->lo, job->blocks, b, &lo, &hi);
    lo += find->lo;
    svm_skip walk = { find, job->first->settings };
    data_reader reader = svm_skip_reader(&walk, lo, hi + find->lo);
    for (int64_t g; data_reader_each(&reader, &g);) {
        if (!svm_skip_needs_read(find, walk.settings, g))
            continue;
        svm_term term = svm_rows_term(rows, g);
        job->tokens[b] += (double)guess_term(rows, &term, scratch, job->sums + b * rows->size);
    }
}

/*
 * A first guess of theta from the sample: the sum of A over its rows, so that most rows have a
 * positive margin and the others are useful first rows.  A matrix is summed in one block to save
 * memory.
 */
static attsvm_status guess(const svm_first *first, attsvm_error *err)
{
    svm_find *find = first->find;
    const svm_rows *rows = find->rows;
    int64_t d = rows->d, blocks = rows->matrix ? 1 : find->blocks;
    guess_job job = { .first = first, .blocks = blocks };
    double tokens = 0, *theta = first->theta;
    TRY(base_allocate(&job.tokens, (size_t)(rows->matrix ? 1 : blocks * (d + 1)),
                      sizeof *job.tokens, "first guess", err));
    job.sums = rows->matrix ? theta : job.tokens + blocks;
    memset(theta, 0, (size_t)rows->size * sizeof *theta);
    svm_skip_walk(find, first->settings, blocks, guess_block, &job);
    if (!rows->matrix)
        base_reduce(theta, job.sums, blocks, d);
    base_reduce(&tokens, job.tokens, blocks, 1);
    if (rows->data->comm) {
        dist_sum(rows->data->comm, theta, rows->size);
        dist_sum(rows->data->comm, &tokens, 1);
    }
    find->passes += tokens / (double)rows->data->tokens;
    if (rows->keymap) {
        memcpy(job.sums, theta, (size_t)d * sizeof *theta);
        la_gemv(false, d, d, 1, rows->keymap, d, job.sums, 0, theta);
    }
    free(job.tokens);
    return ATTSVM_OK;
}

/* The rows that a short theta along the guess violates most. */
static attsvm_status add_guessed(const svm_first *first, svm_set *set, svm_pass *pass,
                                 attsvm_error *err)
{
    const svm_rows *rows = set->rows;
    double *theta = first->theta;
    TRY(guess(first, err));
    double size = la_norm(theta, rows->size);
    if (size == 0)
        theta[0] = size = 1;
    for (int64_t k = 0; k < rows->size; k++)
        theta[k] *= SHORT / size;
    int64_t most = svm_first_most(rows), some = rows->matrix ? most : 2 * rows->d + 64;
    int64_t added;
    svm_pass_settings settings = *first->settings;
    settings.exact = false;
    settings.soft = set->soft > 0 ? set : NULL;
    settings.most = some < most ? some : most;
    TRY(svm_find_pass(first->find, theta, first->zero, &settings, pass, err));
    if (pass->conflict_term >= 0)
        return ATTSVM_OK;
    return svm_find_add(first->find, set, &added, err);
}

bool svm_first_is_small(const svm_rows *rows)
{
    return svm_rows_count(rows) <= SMALL_ROWS;
}

int64_t svm_first_most(const svm_rows *rows)
{
    /* a few times d, but at most 8 MB of rows in addition to a theta of d x d */
    int64_t d = rows->d, wanted = rows->matrix ? 4096 : 3 * d + 64, fits = d / 2 + (1 << 19) / d;
    return wanted < fits ? wanted : fits;
}

attsvm_status svm_first_rows(const svm_first *first, svm_set *set, svm_pass *pass,
                             attsvm_error *err)
{
    const svm_rows *rows = set->rows;
    *pass = (svm_pass){ .conflict_term = -1, .conflict_token = -1 };
    set->whole = first->all || svm_first_is_small(rows);
    if (set->whole)
        return add_all(set, false, pass, err);
    if (rows->sets)
        TRY(add_all(set, true, pass, err));
    if (pass->conflict_term >= 0)
        return ATTSVM_OK;
    if (first->warm && first->warm->active_count > 0)
        return add_warm(set, first->warm, err);
    if (rows->problem == ATTSVM_PROBLEM_FINITE)
        return ATTSVM_OK;
    return add_guessed(first, set, pass, err);
}
