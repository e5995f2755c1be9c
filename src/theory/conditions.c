/* Which conditions of the theorems the data meet (theory 4.2 and 6). */
#include "theory/theory.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void look_at_scores(attsvm_conditions *out, const attsvm_scores *scores)
{
    double ties = 0, unequal = 0, tokens = 0, choices = 0;
    for (int64_t g = scores->term_lo; g < scores->term_hi; g++) {
        attsvm_term term = attsvm_scores_term(scores, g);
        ties += term.tied != 0;
        unequal += term.worst != term.best && term.worst != term.next;
        choices += term.worst != term.best;
        tokens = fmax(tokens, (double)term.tokens);
    }
    double largest[] = { ties, unequal, tokens };
    dist_max(scores->comm, largest, 3);
    dist_sum(scores->comm, &choices, 1);
    out->unique_optimal = largest[0] == 0;
    out->equal_scores = largest[1] == 0;
    out->tokens = (int64_t)largest[2];
    out->choices = (int64_t)choices;
}

/* The first term of each rank, and their number: (ranks+1), which the caller frees. */
static attsvm_status rank_terms(const attsvm_scores *scores, int64_t **out, attsvm_error *err)
{
    dist_comm *comm = scores->comm;
    const int ranks = dist_size(comm);
    double *first;
    TRY(base_allocate(&first, (size_t)ranks, sizeof *first, "shares", err));
    first[dist_rank(comm)] = (double)scores->term_lo;
    dist_sum(comm, first, ranks);
    attsvm_status status = base_allocate(out, (size_t)ranks + 1, sizeof **out, "shares", err);
    for (int rank = 0; rank < ranks && status == ATTSVM_OK; rank++)
        (*out)[rank] = (int64_t)first[rank];
    if (status == ATTSVM_OK)
        (*out)[ranks] = scores->terms.count;
    free(first);
    return status;
}

/* A 128-bit hash of a query: n different ones collide with probability n^2 / 2^128. */
typedef struct mark {
    uint64_t a, b;
    int64_t rivals; /* of a term with this query: visible tokens minus one */
} mark;

static mark mark_of(const double *z, int64_t d, int64_t rivals)
{
    mark m = { 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, rivals };
    for (int64_t j = 0; j < d; j++) {
        double entry = z[j] + 0.0; /* -0 counts as 0 */
        uint64_t bits;
        memcpy(&bits, &entry, sizeof bits);
        m.a = (m.a ^ bits) * 0xbf58476d1ce4e5b9u;
        m.a ^= m.a >> 31;
        m.b = (m.b + bits) * 0x94d049bb133111ebu;
        m.b ^= m.b >> 29;
    }
    return m;
}

static int by_mark(const void *x, const void *y)
{
    return memcmp(x, y, offsetof(mark, rivals));
}

/* Counts distinct queries, by their bits, and finds the largest number of rivals for one query.
   A query of 0 leaves its rivals level, whatever d is. */
static attsvm_status count_queries(attsvm_conditions *out, const attsvm_scores *scores,
                                   const int64_t *first, attsvm_error *err)
{
    const int64_t d = scores->data->d, terms = scores->terms.count;
    mark *all;
    double *z;
    TRY(base_allocate(&z, (size_t)d, sizeof *z, "query", err));
    attsvm_status status = base_allocate(&all, (size_t)terms, sizeof *all, "queries", err);
    for (int64_t g = scores->term_lo; g < scores->term_hi && status == ATTSVM_OK; g++) {
        int64_t i, q;
        data_terms_find(&scores->terms, g, &i, &q);
        data_terms_query(&scores->terms, i, q, z);
        all[g] = mark_of(z, d, data_terms_visible(&scores->terms, i, q) - 1);
    }
    memset(z, 0, (size_t)d * sizeof *z);
    const mark zero = mark_of(z, d, 0);
    free(z);
    if (status != ATTSVM_OK)
        return status;
    dist_gather(scores->comm, all, sizeof *all, first);
    qsort(all, (size_t)terms, sizeof *all, by_mark);
    out->queries = 0;
    out->wide = true;
    for (int64_t g = 0, sum = 0; g < terms; g++) {
        bool next = g == 0 || by_mark(all + g, all + g - 1) != 0;
        out->queries += next;
        sum = (next ? 0 : sum) + all[g].rivals;
        out->rivals = sum > out->rivals ? sum : out->rivals;
        out->wide = out->wide && (sum == 0 || by_mark(all + g, &zero) != 0);
    }
    out->wide = out->wide && d >= out->queries && d >= out->rivals;
    free(all);
    return ATTSVM_OK;
}

/* The SVM of the optimal tokens. */
static attsvm_status solve_optimal(attsvm_conditions *out, const attsvm_scores *scores,
                                   const int64_t *first, const attsvm_svm_settings *settings,
                                   dist_stop *stop, attsvm_error *err)
{
    attsvm_solution *solution = NULL;
    int64_t *opt;
    TRY(base_allocate(&opt, (size_t)scores->terms.count, sizeof *opt, "optimal tokens", err));
    for (int64_t g = scores->term_lo; g < scores->term_hi; g++)
        opt[g] = attsvm_scores_term(scores, g).optimal;
    dist_gather(scores->comm, opt, sizeof *opt, first);
    const attsvm_selection selection = { .alpha = opt, .terms = scores->terms.count };
    attsvm_status status = theory_solve(scores->data, &selection, settings, stop, &solution, err);
    free(opt);
    if (status != ATTSVM_OK)
        return status;
    attsvm_svm_info info = attsvm_solution_describe(solution);
    out->outcome = info.outcome;
    out->feasible = info.outcome == ATTSVM_OPTIMAL;
    out->norm = out->feasible ? info.norm : NAN;
    out->support = out->feasible ? info.tight : -1;
    for (int64_t g = 0; g < scores->terms.count; g++) {
        int64_t i, q;
        data_terms_find(&scores->terms, g, &i, &q);
        out->rows += data_terms_visible(&scores->terms, i, q) - 1;
    }
    out->rows -= info.merged > 0 ? info.merged : 0;
    out->all_support = out->feasible && out->rows > 0 && info.tight == out->rows;
    attsvm_solution_free(solution);
    return ATTSVM_OK;
}

/* Whether all differences k_i0 - k_it, (T_i - 1) of each sequence, are linearly independent. */
static attsvm_status independent(const attsvm_scores *scores, bool *out, attsvm_error *err)
{
    const attsvm_data *data = scores->data;
    const int64_t d = data->d, count = data->tokens - data->n;
    double *rows;
    *out = count <= d;
    if (!*out || count == 0)
        return ATTSVM_OK;
    TRY(base_allocate(&rows, 2 * (size_t)count + 3, (size_t)d * sizeof *rows, "keys", err));
    double *Q = rows + count * d, *first = Q + count * d, *other = first + d;
    double *delta = other + d, *at = rows;
    for (int64_t i = 0; i < data->n; i++) {
        la_rows tokens = data_sequence(data, i);
        la_row(&tokens, 0, first);
        for (int64_t t = 1; t < tokens.count; t++, at += d) {
            la_row(&tokens, t, other);
            for (int64_t j = 0; j < d; j++)
                delta[j] = first[j] - other[j];
            if (scores->keymap)
                la_gemv(false, d, d, 1, scores->keymap, d, delta, 0, at);
            else
                memcpy(at, delta, (size_t)d * sizeof *at);
        }
    }
    int64_t rank;
    attsvm_status status = la_row_space(count, d, rows, d, 1e-12, Q, &rank, err);
    *out = status == ATTSVM_OK && rank == count;
    free(rows);
    return status;
}

/* `scores` and `svm` (problem P, JOINT or W) are of the same terms. */
static attsvm_status compute(attsvm_conditions *out, const attsvm_scores *scores,
                             const attsvm_svm_settings *svm, dist_stop *stop, attsvm_error *err)
{
    attsvm_svm_settings settings = *svm;
    int64_t *first;
    *out = (attsvm_conditions){ .queries = 1, .norm = NAN };
    TRY(rank_terms(scores, &first, err));
    look_at_scores(out, scores);
    attsvm_status status;
    if (scores->terms.mode != 0) {
        status = count_queries(out, scores, first, err);
    } else {
        status = independent(scores, &out->wide, err);
        settings.problem = ATTSVM_PROBLEM_P;
    }
    if (status == ATTSVM_OK)
        status = solve_optimal(out, scores, first, &settings, stop, err);
    free(first);
    return status;
}

attsvm_status attsvm_conditions_compute(attsvm_conditions *out, const attsvm_train *run,
                                        attsvm_observer *observer, void *context, attsvm_error *err)
{
    NEED(out);
    NEED(run);
    if (run->m->trains_v && run->info.outcome == ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "the head of this run has not been trained yet");
    dist_watch watch = { .observer = observer, .context = context };
    dist_stop stop;
    const model *m = run->m;
    attsvm_svm_settings svm;
    attsvm_scores *scores;
    data_view view;
    TRY(attsvm_train_limit(&run->settings, &svm, NULL, err));
    TRY(theory_scores_of_model(&scores, run, err));
    if (m->prompt && m->trains_W) { /* training replaces the key map of the data set */
        data_view_open(&view, m->data, m->data->n, false);
        scores->data = &view.data;
    }
    dist_stop_watch(&stop, m->data->comm, 0, &watch);
    attsvm_status status = compute(out, scores, &svm, &stop, err);
    if (status == ATTSVM_OK)
        status = dist_stop_status(&stop, err);
    attsvm_scores_free(scores);
    return status;
}
