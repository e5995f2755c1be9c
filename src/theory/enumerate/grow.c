/*
 * Every locally optimal selection (theory 5): grows partial selections sequence by sequence, or
 * searches if there are too many.
 *
 * A partial selection covers the first k sequences.  If it is infeasible, so is every extension,
 * whose rows include its rows; it is pruned.  There is no other pruning rule: support tokens of a
 * partial selection may leave the support and return when sequences are added.
 */
#include "theory/enumerate/enumerate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS attsvm_enumerate_settings
static const field enumerate_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(max_selections), FIELD_INT, 1, 1e8, 3e5,
      "maximum number of partial selections in a round; above it a heuristic search is used", 0,
      0 },
    { F(descent_runs), FIELD_INT, 0, 1e6, 200, "descent runs whose ends the search starts from", 0,
      0 },
    { F(steps), FIELD_INT, 0, 1e9, 500, "steps of each of these runs", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "of their start values", 0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0,
      "seconds, after which the list so far is returned; 0 = no limit", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads; 0: all cores", 0, 0 },
};
#undef SETTINGS

const settings_table attsvm_enumerate_table = { "enumerate", enumerate_fields,
                                                sizeof enumerate_fields / sizeof *enumerate_fields,
                                                sizeof(attsvm_enumerate_settings), NULL };

void attsvm_enumerate_settings_init(attsvm_enumerate_settings *settings)
{
    attsvm_settings_init(&attsvm_enumerate_table, settings);
}

/* ---------------------------------------------------------------------- judging */

typedef struct judging {
    attsvm_enumeration *e;
    const enumerate_list *list;
    const attsvm_scores *scores; /* NULL: decide feasibility only */
    const attsvm_data *data;
    const attsvm_svm_settings *svm;
    enumerate_judged *out;
    int64_t blocks;
    attsvm_error *errors; /* (blocks) */
} judging;

static attsvm_status judge_one(const judging *j, const int64_t *alpha, enumerate_judged *out,
                               attsvm_error *err)
{
    attsvm_solution *solution;
    attsvm_optimality optimality;
    attsvm_selection selection = { .alpha = alpha, .terms = j->list->width };
    attsvm_status status = ATTSVM_OK;
    TRY(theory_solve(j->data, &selection, j->svm, NULL, &solution, err));
    attsvm_svm_info info = attsvm_solution_describe(solution);
    *out = (enumerate_judged){ .outcome = info.outcome, .norm = info.norm };
    if (j->scores && info.outcome != ATTSVM_INFEASIBLE) {
        status = attsvm_optimality_compute(&optimality, j->scores, solution, NULL, 0, err);
        out->local = optimality.local;
        out->global = optimality.global;
        out->advantage = optimality.advantage;
    }
    attsvm_solution_free(solution);
    return status;
}

static void judge_block(void *context, int64_t block, int worker)
{
    const judging *j = context;
    const enumerate_list *list = j->list;
    attsvm_error *err = &j->errors[block];
    int64_t lo, hi, *alpha;
    base_block(list->count, j->blocks, block, &lo, &hi);
    if (base_allocate(&alpha, (size_t)list->width + 1, sizeof *alpha, "selection", err) !=
        ATTSVM_OK)
        return;
    for (int64_t k = lo; k < hi && err->status == ATTSVM_OK; k++) {
        if (dist_stop_inside(&j->e->stop, worker))
            break;
        for (int64_t g = 0; g < list->width; g++)
            alpha[g] = list->alpha[k * list->width + g];
        judge_one(j, alpha, &j->out[k], err);
        __atomic_fetch_add(&j->e->watch.done, 1, __ATOMIC_RELAXED);
    }
    free(alpha);
}

attsvm_status enumerate_judge(attsvm_enumeration *e, const enumerate_list *list,
                              const attsvm_scores *scores, const attsvm_data *data,
                              const attsvm_svm_settings *svm, enumerate_judged *out,
                              attsvm_error *err)
{
    enum { MOST_BLOCKS = 4096 };
    attsvm_svm_settings one = *svm;
    one.threads = 1;
    judging j = { e, list, scores, data, &one, out, 0, NULL };
    attsvm_status status = ATTSVM_OK;
    j.blocks = list->count < MOST_BLOCKS ? list->count : MOST_BLOCKS;
    if (j.blocks == 0)
        return ATTSVM_OK;
    TRY(base_allocate(&j.errors, (size_t)j.blocks, sizeof *j.errors, "selections", err));
    base_parallel(base_threads(e->settings.threads), j.blocks, judge_block, &j);
    for (int64_t b = 0; b < j.blocks && status == ATTSVM_OK; b++) {
        status = j.errors[b].status;
        if (status != ATTSVM_OK && err)
            *err = j.errors[b];
    }
    free(j.errors);
    return status;
}

/* ----------------------------------------------------------------------- growing */

/* The tokens of a term without copies of earlier ones, into tokens; returns their number. */
static int64_t distinct_tokens(const attsvm_scores *scores, int64_t i, int64_t visible,
                               int32_t *tokens)
{
    int64_t count = 0;
    for (int64_t t = 0; t < visible; t++) {
        bool copy = false;
        for (int64_t k = 0; k < count && !copy; k++)
            copy = theory_is_copy(scores, i, tokens[k], t);
        if (!copy)
            tokens[count++] = (int32_t)t;
    }
    return count;
}

/* Extends every member of `from` by every token of one more term; *fits: at most `most` results. */
static attsvm_status grow(enumerate_list *to, const enumerate_list *from, const int32_t *tokens,
                          int64_t count, int64_t most, bool *fits, attsvm_error *err)
{
    int64_t width = from->width + 1;
    *to = (enumerate_list){ .width = width };
    *fits = count <= most / (from->count > 0 ? from->count : 1);
    if (!*fits)
        return ATTSVM_OK;
    to->count = from->count * count;
    TRY(base_allocate(&to->alpha, (size_t)(to->count * width + 1), sizeof *to->alpha, "selections",
                      err));
    int32_t *at = to->alpha;
    for (int64_t k = 0; k < from->count; k++)
        for (int64_t c = 0; c < count; c++) {
            if (from->width > 0)
                memcpy(at, from->alpha + k * from->width, (size_t)from->width * sizeof *at);
            at[from->width] = tokens[c];
            at += width;
        }
    return ATTSVM_OK;
}

/* Removes the infeasible members. */
static attsvm_status drop_infeasible(attsvm_enumeration *e, enumerate_list *list, int64_t sequences,
                                     attsvm_error *err)
{
    data_view prefix;
    attsvm_svm_settings svm = e->svm;
    enumerate_judged *judged;
    bool matrix = svm.problem == ATTSVM_PROBLEM_W;
    svm.norm = matrix ? ATTSVM_NORM_FRO
                      : ATTSVM_NORM_L2; /* the fastest; feasibility does not depend on the norm */
    data_view_open(&prefix, e->scores->data, sequences, true);
    TRY(base_allocate(&judged, (size_t)list->count + 1, sizeof *judged, "selections", err));
    attsvm_status status = enumerate_judge(e, list, NULL, &prefix.data, &svm, judged, err);
    int64_t kept = 0, width = list->width;
    for (int64_t k = 0; k < list->count && status == ATTSVM_OK; k++) {
        if (judged[k].outcome == ATTSVM_INFEASIBLE) {
            e->info.pruned++;
            continue;
        }
        memmove(list->alpha + kept * width, list->alpha + k * width,
                (size_t)width * sizeof *list->alpha);
        kept++;
    }
    list->count = kept;
    free(judged);
    return status;
}

attsvm_status enumerate_grow(attsvm_enumeration *e, enumerate_list *whole, bool *fits,
                             attsvm_error *err)
{
    const attsvm_scores *s = e->scores;
    const attsvm_data *data = s->data;
    enumerate_list list = { .count = 1 }, next = { 0 };
    int32_t *tokens;
    *fits = true;
    TRY(base_allocate(&tokens, (size_t)data->T_max, sizeof *tokens, "tokens", err));
    attsvm_status status = ATTSVM_OK;
    for (int64_t i = 0; i < data->n && *fits && status == ATTSVM_OK; i++) {
        if (dist_stop_now(&e->stop))
            break;
        int64_t queries = data_terms_queries(&s->terms, i);
        for (int64_t q = 0; q < queries && *fits && status == ATTSVM_OK; q++) {
            int64_t visible = data_terms_visible(&s->terms, i, q);
            int64_t count = distinct_tokens(s, i, visible, tokens);
            status = grow(&next, &list, tokens, count, e->settings.max_selections, fits, err);
            free(list.alpha);
            list = next;
        }
        if (status == ATTSVM_OK && *fits && i + 1 < data->n)
            status = drop_infeasible(e, &list, i + 1, err);
    }
    free(tokens);
    *whole = list;
    return status;
}
