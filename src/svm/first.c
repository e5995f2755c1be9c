/* Which rows get into the set: at the start, from a previous solution, and after a pass. */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Problems with at most this many rows are gathered whole. */
enum { SMALL_ROWS = 320 };

/* Length of the first guess: so short that every row is violated, and the worst are worst by angle.
 */
static const double SHORT = 1e-6;

/* Adds one row unless it is there, merged, empty, or impossible (then *conflict). */
static attsvm_status add_row(svm_run *run, const svm_term *term, int64_t t, bool *conflict,
                             attsvm_error *err)
{
    svm_row_kind kind = svm_rows_resolve(run->rows, term, t, run->set.scratch);
    bool slack = run->set.soft > 0 && svm_rows_kind(run->rows, term, t) == SVM_AT_LEAST;
    *conflict = kind == SVM_IMPOSSIBLE && !slack;
    if (kind == SVM_NO_ROW || kind == SVM_EMPTY || *conflict ||
        svm_set_find(&run->set, term->term, t) >= 0)
        return ATTSVM_OK;
    return svm_set_add(&run->set, term, t, NULL, err);
}

/* All rows, or all equalities. */
static attsvm_status add_all(svm_run *run, bool equalities, attsvm_error *err)
{
    for (int64_t g = 0; g < run->rows->terms.count; g++) {
        svm_term term = svm_rows_term(run->rows, g);
        for (int64_t t = 0; t < term.visible; t++) {
            svm_row_kind kind = svm_rows_kind(run->rows, &term, t);
            bool conflict = false;
            if (kind == SVM_EQUAL || (!equalities && kind == SVM_AT_LEAST))
                TRY(add_row(run, &term, t, &conflict, err));
            if (conflict) {
                run->pass.conflict_term = g;
                run->pass.conflict_token = t;
                return ATTSVM_OK;
            }
        }
    }
    return ATTSVM_OK;
}

static attsvm_status add_warm(svm_run *run, const attsvm_claim *warm, attsvm_error *err)
{
    const data_terms *terms = &run->rows->terms;
    for (int64_t k = 0; k < warm->active_count; k++) {
        attsvm_row row = warm->active[k];
        bool conflict;
        if (row.sequence < 0 || row.sequence >= run->rows->data->n || row.query < 0 ||
            row.query >= data_terms_queries(terms, row.sequence))
            continue;
        svm_term term = svm_rows_term(run->rows, data_terms_first(terms, row.sequence) + row.query);
        if (row.token >= 0 && row.token < term.visible)
            TRY(add_row(run, &term, row.token, &conflict, err));
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
    const svm_run *run;
    int64_t blocks;
    double *sums;   /* (blocks,size) of A      */
    double *tokens; /* (blocks) that were read */
} guess_job;

static void guess_block(void *context, int64_t b, int worker)
{
    const guess_job *job = context;
    const svm_find *find = &job->run->find;
    const svm_rows *rows = find->rows;
    double *scratch = find->scratch + worker * find->scratch_each;
    int64_t lo, hi;
    base_block(find->hi - find->lo, job->blocks, b, &lo, &hi);
    lo += find->lo;
    svm_skip walk = { find, &job->run->pass_settings };
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
 * positive margin already and those that do not are worth having.  A matrix is summed in one block,
 * as there is no room for many of them.
 */
static attsvm_status guess(svm_run *run, double *theta, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    int64_t d = rows->d, blocks = rows->matrix ? 1 : run->find.blocks;
    guess_job job = { .run = run, .blocks = blocks };
    double tokens = 0;
    TRY(base_allocate(&job.tokens, (size_t)(rows->matrix ? 1 : blocks * (d + 1)),
                      sizeof *job.tokens, "first guess", err));
    job.sums = rows->matrix ? theta : job.tokens + blocks;
    memset(theta, 0, (size_t)rows->size * sizeof *theta);
    svm_skip_walk(&run->find, &run->pass_settings, blocks, guess_block, &job);
    if (!rows->matrix)
        base_reduce(theta, job.sums, blocks, d);
    base_reduce(&tokens, job.tokens, blocks, 1);
    if (rows->data->comm) {
        dist_sum(rows->data->comm, theta, rows->size);
        dist_sum(rows->data->comm, &tokens, 1);
    }
    run->passes += tokens / (double)rows->data->tokens;
    if (rows->keymap) {
        memcpy(job.sums, theta, (size_t)d * sizeof *theta);
        la_gemv(false, d, d, 1, rows->keymap, d, job.sums, 0, theta);
    }
    free(job.tokens);
    return ATTSVM_OK;
}

bool svm_seed_is_small(const svm_rows *rows)
{
    return svm_rows_count(rows) <= SMALL_ROWS;
}

attsvm_status svm_seed(svm_run *run, const attsvm_claim *warm, bool *whole, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    *whole = svm_seed_is_small(rows);
    run->pass.conflict_term = -1;
    if (*whole)
        return add_all(run, false, err);
    if (!rows->b_is_zero && !rows->data->comm && l2_soft_applies(&run->set, svm_rows_count(rows))) {
        *whole = true;
        TRY(add_all(run, false, err));
        return l2_soft_start(&run->engine, err);
    }
    if (rows->sets)
        TRY(add_all(run, true, err));
    if (run->pass.conflict_term >= 0)
        return ATTSVM_OK;
    if (warm && warm->active_count > 0)
        return add_warm(run, warm, err);
    if (rows->problem == ATTSVM_PROBLEM_FINITE)
        return ATTSVM_OK;
    double *theta = run->engine.step;
    TRY(guess(run, theta, err));
    double size = la_norm(theta, rows->size);
    if (size == 0)
        theta[0] = size = 1;
    for (int64_t k = 0; k < rows->size; k++)
        theta[k] *= SHORT / size;
    svm_pass_settings settings = run->pass_settings;
    settings.exact = false;
    settings.soft = run->set.soft > 0 ? &run->set : NULL;
    run->pass = svm_find_pass(&run->find, theta, run->engine.theta_lo, &settings);
    run->passes += run->pass.visited;
    run->interrupted |= run->pass.interrupted;
    if (run->pass.conflict_term >= 0)
        return ATTSVM_OK;
    int64_t added, forced;
    int64_t most = svm_most_rows(rows), some = rows->matrix ? most : 2 * rows->d + 64;
    return svm_set_add_worst(run, some < most ? some : most, &added, &forced, err);
}

/* ------------------------------------------------------------- after a pass */

int64_t svm_most_rows(const svm_rows *rows)
{
    /* some times d, but no more than 8 MB of rows beside a theta of d x d */
    int64_t d = rows->d, wanted = rows->matrix ? 4096 : 3 * d + 64, fits = d / 2 + (1 << 19) / d;
    return wanted < fits ? wanted : fits;
}

/* Asks for the tokens of the next candidates at once, from k on, where they come from a disk. */
static void ask_ahead(const svm_run *run, int64_t k, int64_t count)
{
    enum { AT_ONCE = 64 };
    if (!run->rows->data->streams || k % AT_ONCE != 0)
        return;
    for (int64_t end = k + AT_ONCE; k < count && k < end; k++) {
        svm_term term = svm_rows_term(run->rows, run->candidates[k].term);
        data_reader_token_ahead(run->rows->data, term.i, term.base);
        data_reader_token_ahead(run->rows->data, term.i, run->candidates[k].token);
    }
}

/* The first `count` candidates join the set, as far as they are not there. */
static attsvm_status add_candidates(svm_run *run, int64_t count, int64_t *added, int64_t *forced,
                                    attsvm_error *err)
{
    for (int64_t k = 0; k < count; k++) {
        ask_ahead(run, k, count);
        svm_term term = svm_rows_term(run->rows, run->candidates[k].term);
        int64_t t = run->candidates[k].token, slot = svm_set_find(&run->set, term.term, t);
        if (slot < 0) {
            TRY(svm_set_add(&run->set, &term, t, NULL, err));
            data_reader_release_around(run->rows->data, term.i);
            ++*added;
        } else if (*forced < 0) {
            *forced = slot;
            run->forced_slack = run->candidates[k].slack;
        }
    }
    return ATTSVM_OK;
}

attsvm_status svm_set_add_worst(svm_run *run, int64_t most, int64_t *added, int64_t *forced,
                                attsvm_error *err)
{
    const svm_find *find = &run->find;
    int64_t count = 0;
    *added = 0;
    *forced = -1;
    if (!run->candidates)
        TRY(base_allocate(&run->candidates, (size_t)(find->hi - find->lo) + 1,
                          sizeof *run->candidates, "candidates", err));
    for (int64_t g = find->lo; g < find->hi; g++)
        if (find->path_at_read[g] == find->path_length && find->slack[g] < 0)
            run->candidates[count++] = (svm_candidate){ find->slack[g], g, find->worst[g], 0 };
    svm_candidates_sort(run->candidates, count, most);
    count = count < most ? count : most;
    if (run->rows->data->comm) {
        TRY(svm_candidates_share(run->rows->data->comm, &run->candidates, &count, count, err));
        svm_candidates_sort(run->candidates, count, most);
        count = count < most ? count : most;
    }
    TRY(svm_set_reserve(&run->set, count, err));
    data_reader_order(run->rows->data, DATA_BY_ROWS);
    attsvm_status status = add_candidates(run, count, added, forced, err);
    data_reader_order(run->rows->data, DATA_IN_ORDER);
    if (run->rows->data->comm) { /* what was exchanged is no room for the next list */
        free(run->candidates);
        run->candidates = NULL;
    }
    return status;
}
