/* Which conditions of the theorems the data meet (theory, sections 4.2 and 6). */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

attsvm_status theory_solve(const attsvm_data *data, const int64_t *alpha,
                           const attsvm_svm_settings *settings, attsvm_solution **out,
                           attsvm_error *err)
{
    attsvm_problem *problem;
    attsvm_selection selection = { .alpha = alpha };
    TRY(attsvm_problem_create(&problem, data, &selection, settings, err));
    attsvm_status status = attsvm_problem_solve(problem, NULL, NULL, NULL, out, err);
    attsvm_problem_free(problem);
    return status;
}

static void look_at_scores(attsvm_conditions *out, const attsvm_scores *scores)
{
    out->equal_scores = out->unique_optimal = true;
    for (int64_t g = 0; g < scores->terms.count; g++) {
        attsvm_term term = attsvm_scores_term(scores, g);
        out->unique_optimal &= term.tied == 0;
        out->equal_scores &= term.worst == term.best || term.worst == term.next;
        out->tokens = term.tokens > out->tokens ? term.tokens : out->tokens;
    }
}

static int by_bytes(const void *a, const void *b, void *size)
{
    return memcmp(a, b, *(size_t *)size);
}

/* Different queries, by their bits (-0 counts as 0). */
static attsvm_status count_queries(const attsvm_scores *scores, int64_t *count, attsvm_error *err)
{
    const int64_t d = scores->data->d, terms = scores->terms.count;
    size_t bytes = (size_t)d * sizeof(double);
    double *all;
    TRY(base_allocate(&all, (size_t)(terms * d), sizeof *all, "queries", err));
    for (int64_t g = 0; g < terms; g++) {
        attsvm_term term = attsvm_scores_term(scores, g);
        data_terms_query(&scores->terms, term.sequence, term.query, all + g * d);
        for (int64_t j = 0; j < d; j++)
            all[g * d + j] += 0.0;
    }
    qsort_r(all, (size_t)terms, bytes, by_bytes, &bytes);
    *count = 1;
    for (int64_t g = 1; g < terms; g++)
        *count += memcmp(all + g * d, all + (g - 1) * d, bytes) != 0;
    free(all);
    return ATTSVM_OK;
}

/* Whether the sum of (T_i - 1) differences k_i0 - k_it is linearly independent. */
static attsvm_status independent(const attsvm_scores *scores, bool *out, attsvm_error *err)
{
    const attsvm_data *data = scores->data;
    const int64_t d = data->d, count = data->tokens - data->n;
    double *rows;
    *out = count <= d;
    if (!*out || count == 0)
        return ATTSVM_OK;
    TRY(base_allocate(&rows, (size_t)(2 * count * d + 3 * d), sizeof *rows, "keys", err));
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

attsvm_status attsvm_conditions_of(attsvm_conditions *out, const attsvm_scores *scores,
                                   const attsvm_svm_settings *svm, attsvm_error *err)
{
    attsvm_solution *solution = NULL;
    attsvm_svm_settings settings = *svm;
    int64_t terms = scores->terms.count, *opt;
    *out = (attsvm_conditions){ .queries = 1, .norm = NAN };
    look_at_scores(out, scores);
    if (scores->terms.mode != 0) {
        TRY(count_queries(scores, &out->queries, err));
        int64_t rivals = out->tokens - 1;
        out->wide = scores->data->d >= (rivals > out->queries ? rivals : out->queries);
    } else {
        TRY(independent(scores, &out->wide, err));
        settings.problem = ATTSVM_PROBLEM_P;
    }
    TRY(base_allocate(&opt, (size_t)terms, sizeof *opt, "optimal tokens", err));
    for (int64_t g = 0; g < terms; g++)
        opt[g] = attsvm_scores_term(scores, g).optimal;
    attsvm_status status = theory_solve(scores->data, opt, &settings, &solution, err);
    free(opt);
    if (status != ATTSVM_OK)
        return status;
    attsvm_svm_info info = attsvm_solution_info(solution);
    out->feasible = info.outcome == ATTSVM_OPTIMAL;
    out->norm = out->feasible ? info.norm : NAN;
    attsvm_solution_free(solution);
    return ATTSVM_OK;
}

attsvm_status attsvm_conditions_of_run(attsvm_conditions *out, const attsvm_train *run,
                                       attsvm_error *err)
{
    const model *m = run->m;
    attsvm_svm_settings svm;
    attsvm_scores *scores;
    theory_bare bare = { 0 };
    TRY(attsvm_train_predict(&run->settings, &svm, NULL, err));
    TRY(theory_scores_of_model(&scores, run, err));
    attsvm_status status = ATTSVM_OK;
    if (m->prompt && m->trains_W && attsvm_data_array(m->data, "W")) {
        status = theory_bare_create(&bare, m->data, err);
        scores->data = &bare.data;
    }
    if (status == ATTSVM_OK)
        status = attsvm_conditions_of(out, scores, &svm, err);
    attsvm_scores_free(scores);
    theory_bare_free(&bare);
    return status;
}
