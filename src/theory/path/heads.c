/*
 * Starts of a joint path at heads of large margin. At a large radius the best minimum belongs to
 * the selection whose v-SVM has the largest margin. From random heads we alternate: select the
 * tokens that the head classifies best, then solve the v-SVM of these tokens. No step lowers the
 * margin, so the search ends at a selection that is best for its own head. The v-SVM is soft, so a
 * selection that no head separates needs no proof of infeasibility and is dropped.
 */
#include "theory/path/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 8, MOST_TURNS = 20 }; /* random heads for each of --starts; iterations of each */

typedef struct heads {
    attsvm_path *path;
    attsvm_svm_settings svm;
    int64_t *alpha, *next; /* (n) */
    double *v, *x;         /* (d) */
    int64_t *kept;         /* (PATH_HEADS,n), best first */
    double margin[PATH_HEADS];
    void *memory;
} heads;

/* The tokens with the largest Y v'x. */
static void select_best(const heads *h, const double *v, int64_t *alpha)
{
    const attsvm_data *data = h->path->data;
    for (int64_t i = 0; i < data->n; i++) {
        double best = -INFINITY;
        for (int64_t t = 0; t < data_length(data, i); t++) {
            double score = theory_head_margin(data, i, t, v, h->x);
            if (score > best) {
                best = score;
                alpha[i] = t;
            }
        }
    }
}

/* Keeps the selection if it is new and among the best. */
static void keep(heads *h, double margin)
{
    const int64_t n = h->path->data->n;
    const size_t bytes = (size_t)n * sizeof *h->alpha;
    for (int k = 0; k < h->path->heads; k++)
        if (memcmp(h->kept + k * n, h->alpha, bytes) == 0)
            return;
    int at = h->path->heads;
    while (at > 0 && margin > h->margin[at - 1])
        at--;
    if (at == PATH_HEADS)
        return;
    for (int k = PATH_HEADS - 1; k > at; k--) {
        memcpy(h->kept + k * n, h->kept + (k - 1) * n, bytes);
        h->margin[k] = h->margin[k - 1];
    }
    memcpy(h->kept + at * n, h->alpha, bytes);
    h->margin[at] = margin;
    h->path->heads += h->path->heads < PATH_HEADS;
}

/* Improves v until its selection is best for the v-SVM of its own tokens. */
static attsvm_status improve(heads *h, attsvm_error *err)
{
    const attsvm_data *data = h->path->data;
    const size_t bytes = (size_t)data->n * sizeof *h->alpha;
    double margin = 0;
    select_best(h, h->v, h->alpha);
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        attsvm_solution *solution;
        attsvm_selection selection = { .alpha = h->alpha, .terms = data->n };
        TRY(theory_solve(data, &selection, &h->svm, &h->path->stop, &solution, err));
        const bool solved = solution->info.outcome == ATTSVM_OPTIMAL;
        if (solved)
            memcpy(h->v, solution->claim.theta, (size_t)data->d * sizeof *h->v);
        attsvm_solution_free(solution);
        if (!solved)
            return ATTSVM_OK;
        select_best(h, h->v, h->next);
        double least = INFINITY, norm = la_norm(h->v, data->d);
        for (int64_t i = 0; i < data->n; i++)
            least = fmin(least, theory_head_margin(data, i, h->alpha[i], h->v, h->x) / norm);
        if (!(least > margin) || memcmp(h->alpha, h->next, bytes) == 0) {
            margin = fmax(margin, least);
            break;
        }
        margin = least;
        memcpy(h->alpha, h->next, bytes);
    }
    if (margin > 0)
        keep(h, margin);
    return ATTSVM_OK;
}

/* The SVM directions of the kept selections as starts. */
static attsvm_status make_starts(heads *h, attsvm_error *err)
{
    attsvm_path *path = h->path;
    const int64_t n = path->data->n;
    int made = 0;
    for (int k = 0; k < path->heads; k++) {
        memcpy(path->alpha, h->kept + k * n, (size_t)n * sizeof *path->alpha);
        TRY(path_find_targets(path, err));
        double *theta = path->head_start + made * path->m->size;
        made += path_towards(path, true, theta) || path_towards(path, false, theta);
    }
    path->heads = made;
    return ATTSVM_OK;
}

attsvm_status path_find_heads(attsvm_path *path, attsvm_error *err)
{
    const attsvm_data *data = path->data;
    const double size = path->objective.token_size;
    heads h = { .path = path };
    arena a = { 0 };
    if (!(size > 0 && isfinite(size)))
        return ATTSVM_OK;
    for (int pass = 0; pass < 2; pass++) {
        h.alpha = take_int64(&a, (size_t)data->n);
        h.next = take_int64(&a, (size_t)data->n);
        h.kept = take_int64(&a, (size_t)data->n * PATH_HEADS);
        h.v = take(&a, (size_t)data->d);
        h.x = take(&a, (size_t)data->d);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "heads", err));
    }
    h.memory = a.base;
    attsvm_svm_settings_init(&h.svm);
    h.svm.problem = ATTSVM_PROBLEM_V;
    h.svm.norm = ATTSVM_NORM_L2;
    h.svm.soft = fmin(1e6 / (size * size), 1e300); /* above it, rows are too short anyway */
    h.svm.threads = path->settings.threads;
    attsvm_status status = ATTSVM_OK;
    for (int64_t k = 0; k < TRIALS * path->settings.starts && status == ATTSVM_OK; k++) {
        base_random r =
            base_random_stream((uint64_t)path->settings.seed, (uint64_t)1 << 61 | (uint64_t)k);
        if (dist_stop_now(&path->stop))
            break;
        base_random_sphere(&r, h.v, data->d);
        status = improve(&h, err);
    }
    if (status == ATTSVM_OK)
        status = make_starts(&h, err);
    free(h.memory);
    return status;
}
