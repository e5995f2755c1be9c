/*
 * Working sets of the other norms: which rows join.  One pass over the tokens, in blocks; each
 * worker keeps the first rows that it finds, so that memory does not grow with the data, and the
 * first of all of them are the same however many workers there are.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TERMS_BETWEEN = 64,  /* polls within a pass            */
    BLOCK_WORK = 1 << 16 /* values of a block of sequences */
};

/* Equalities, all of which are wanted, have slack -INFINITY. */
typedef struct findings {
    svm_candidate *rows;
    int64_t count, capacity;
    int64_t equals;     /* of them                                           */
    svm_candidate last; /* what comes after it is not among the first `most` */
    bool full;
    double tokens;   /* that were read */
    double *scratch; /* 4 d + T_max */
    attsvm_status status;
    attsvm_error err;
} findings;

typedef struct scan_job {
    svm_norm_run *run;
    const double *theta;
    double limit;
    int64_t most, first, end, blocks; /* terms first to end - 1 */
    double *u;                        /* (d) of the vector problems */
    findings *found;                  /* (threads) */
    bool stopped;                     /* atomic */
} scan_job;

static int by_row(const void *a, const void *b)
{
    const svm_gathered *x = a, *y = b;
    if (x->term != y->term)
        return x->term < y->term ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* The first `most` of those that are no equalities stay. */
static void drop_others(findings *f, int64_t most)
{
    const int64_t keep = f->equals + most;
    svm_candidates_select(f->rows, f->count, keep);
    f->last = f->rows[0];
    for (int64_t k = 1; k < keep; k++)
        if (svm_candidates_before(&f->last, &f->rows[k]))
            f->last = f->rows[k];
    f->count = keep;
    f->full = true;
}

static attsvm_status note(findings *f, int64_t most, svm_candidate row, attsvm_error *err)
{
    if (f->full && svm_candidates_before(&f->last, &row))
        return ATTSVM_OK;
    if (f->count - f->equals == 2 * most)
        drop_others(f, most);
    if (f->count == f->capacity) {
        int64_t capacity = 2 * f->capacity + 256;
        svm_candidate *bigger;
        TRY(base_allocate(&bigger, (size_t)capacity, sizeof *bigger, "violated rows", err));
        if (f->count > 0)
            memcpy(bigger, f->rows, (size_t)f->count * sizeof *bigger);
        free(f->rows);
        f->rows = bigger;
        f->capacity = capacity;
    }
    f->equals += row.slack == -INFINITY;
    f->rows[f->count++] = row;
    return ATTSVM_OK;
}

static bool is_gathered(const svm_norm_run *run, int64_t term, int64_t token)
{
    svm_gathered key = { .term = term, .token = (int32_t)token };
    return run->count > 0 &&
           bsearch(&key, run->list, (size_t)run->count, sizeof key, by_row) != NULL;
}

/* Notes the rows of one term that are not gathered, and all equalities that are not; y: logits. */
static attsvm_status scan_term(const scan_job *job, const svm_term *term, int64_t first,
                               int64_t count, const double *y, findings *f, attsvm_error *err)
{
    const svm_rows *rows = job->run->rows;
    bool vector = rows->problem == ATTSVM_PROBLEM_V;
    for (int64_t k = 0; k < count; k++) {
        const int64_t t = first + k;
        svm_row_kind kind = svm_rows_kind(rows, term, t);
        if (kind != SVM_AT_LEAST && kind != SVM_EQUAL)
            continue;
        double margin =
            vector ? data_terms_label(&rows->terms, term->i, 0) * y[k] : y[term->base] - y[k];
        double b = svm_rows_rhs(rows, term, t), slack = kind == SVM_EQUAL ? -INFINITY : margin - b;
        /* a row with b = 0 has no scale that would make a small violation harmless */
        if (!(slack < (b == 0 ? fmax(job->limit, 0) : job->limit)) ||
            is_gathered(job->run, term->term, t))
            continue;
        kind = svm_rows_resolve(rows, term, t, f->scratch + 2 * rows->d);
        if (kind == SVM_AT_LEAST || kind == SVM_EQUAL)
            TRY(note(f, job->most, (svm_candidate){ slack, term->term, (int32_t)t, 0 }, err));
    }
    return ATTSVM_OK;
}

/* Ranks have terms of their own, and are asked after a pass. */
static bool is_stopped(scan_job *job, int64_t g, int worker)
{
    if (!job->run->rows->data->comm && worker == 0 && g % TERMS_BETWEEN == 0 &&
        svm_norm_poll(job->run))
        __atomic_store_n(&job->stopped, true, __ATOMIC_RELAXED);
    return __atomic_load_n(&job->stopped, __ATOMIC_RELAXED);
}

static void scan_block(void *context, int64_t b, int worker)
{
    scan_job *job = context;
    const svm_rows *rows = job->run->rows;
    findings *f = &job->found[worker];
    double *u = rows->matrix ? f->scratch : job->u, *z = f->scratch + rows->d, *y = z + 3 * rows->d;
    int64_t g, end;
    base_block(job->end - job->first, job->blocks, b, &g, &end);
    g += job->first;
    end += job->first;
    data_reader reader = data_reader_terms(&rows->terms, g, end);
    while (f->status == ATTSVM_OK && data_reader_each(&reader, &g) && !is_stopped(job, g, worker)) {
        svm_term term = svm_rows_term(rows, g);
        int64_t first;
        la_rows tokens = svm_rows_tokens(rows, &term, &first);
        if (rows->matrix)
            svm_rows_direction(rows, &term, job->theta, z, u);
        la_rows_dot(&tokens, u, y);
        f->status = scan_term(job, &term, first, tokens.count, y, f, &f->err);
        f->tokens += (double)tokens.count;
    }
}

/* What the workers found, as one list. */
static attsvm_status join(findings *found, int threads, svm_candidate **list, int64_t *count,
                          int64_t *equals, attsvm_error *err)
{
    *count = *equals = 0;
    for (int k = 0; k < threads; k++) {
        *count += found[k].count;
        *equals += found[k].equals;
    }
    TRY(base_allocate(list, (size_t)*count + 1, sizeof **list, "violated rows", err));
    svm_candidate *at = *list;
    for (int k = 0; k < threads; k++) {
        if (found[k].count > 0)
            memcpy(at, found[k].rows, (size_t)found[k].count * sizeof *at);
        at += found[k].count;
    }
    return ATTSVM_OK;
}

static attsvm_status scan(scan_job *job, int threads, svm_candidate **list, int64_t *count,
                          int64_t *equals, attsvm_error *err)
{
    svm_norm_run *run = job->run;
    const svm_rows *rows = run->rows;
    const size_t each = (size_t)(4 * rows->d + rows->data->T_max), d = (size_t)rows->d;
    const int64_t terms = job->end - job->first;
    svm_term none = { 0 };
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        job->found = base_take(&a, (size_t)threads, sizeof *job->found);
        job->u = take(&a, d);
        for (int k = 0; k < threads; k++) {
            double *scratch = take(&a, each);
            if (pass == 1)
                job->found[k].scratch = scratch;
        }
        if (pass == 0)
            TRY(base_arena_allocate(&a, "logits", err));
    }
    if (!rows->matrix)
        svm_rows_direction(rows, &none, job->theta, NULL, job->u);
    const double start = base_seconds();
    if (terms > 0)
        base_parallel(threads, job->blocks, scan_block, job);
    run->pass_seconds += base_seconds() - start;
    attsvm_status status = ATTSVM_OK;
    double tokens = 0;
    for (int k = 0; k < threads; k++) {
        tokens += job->found[k].tokens;
        if (status == ATTSVM_OK && job->found[k].status != ATTSVM_OK) {
            status = job->found[k].status;
            if (err)
                *err = job->found[k].err;
        }
    }
    dist_sum(rows->data->comm, &tokens, 1);
    run->passes += tokens / (double)rows->data->tokens;
    if (status == ATTSVM_OK)
        status = join(job->found, threads, list, count, equals, err);
    for (int k = 0; k < threads; k++)
        free(job->found[k].rows);
    free(a.base);
    return status;
}

/* How many of the list join: all equalities, `most` others; they are brought to the front. */
static attsvm_status choose(svm_norm_run *run, svm_candidate **list, int64_t count, int64_t equals,
                            int64_t most, int64_t *added, attsvm_error *err)
{
    dist_comm *comm = run->rows->data->comm;
    *added = count < equals + most ? count : equals + most;
    svm_candidates_sort(*list, count, *added);
    if (!comm)
        return ATTSVM_OK;
    TRY(svm_candidates_share(comm, list, &count, *added, err));
    equals = 0;
    for (int64_t k = 0; k < count; k++)
        equals += (*list)[k].slack == -INFINITY;
    *added = count < equals + most ? count : equals + most;
    svm_candidates_sort(*list, count, *added);
    return ATTSVM_OK;
}

/* The first `added` of the list join the working set. */
static attsvm_status gather(svm_norm_run *run, const svm_candidate *list, int64_t added,
                            attsvm_error *err)
{
    svm_gathered *bigger;
    TRY(base_allocate(&bigger, (size_t)(run->count + added), sizeof *bigger, "rows", err));
    if (run->count > 0)
        memcpy(bigger, run->list, (size_t)run->count * sizeof *bigger);
    for (int64_t k = 0; k < added; k++) {
        svm_term term = svm_rows_term(run->rows, list[k].term);
        bigger[run->count + k] = (svm_gathered){
            .term = list[k].term,
            .token = list[k].token,
            .equal = svm_rows_kind(run->rows, &term, list[k].token) == SVM_EQUAL,
            .b = svm_rows_rhs(run->rows, &term, list[k].token),
        };
    }
    free(run->list);
    run->list = bigger;
    run->count += added;
    qsort(run->list, (size_t)run->count, sizeof *run->list, by_row);
    return ATTSVM_OK;
}

attsvm_status svm_norm_collect(svm_norm_run *run, const double *theta, double limit, int64_t most,
                               int64_t *added, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    scan_job job = { .run = run, .theta = theta, .limit = limit, .most = most };
    const int threads = base_threads(run->problem->settings.threads);
    svm_candidate *list = NULL;
    int64_t lo, hi, count = 0, equals = 0;
    data_own(rows->data, &lo, &hi);
    job.first = data_terms_first(&rows->terms, lo);
    job.end = data_terms_first(&rows->terms, hi);
    job.blocks = base_blocks(job.end - job.first,
                             1 + BLOCK_WORK / (rows->d * (1 + rows->data->tokens / rows->data->n)));
    *added = 0;
    attsvm_status status = scan(&job, threads, &list, &count, &equals, err);
    if (status == ATTSVM_OK)
        status = choose(run, &list, count, equals, most, added, err);
    if (status == ATTSVM_OK && *added > 0)
        status = gather(run, list, *added, err);
    free(list);
    return status;
}
