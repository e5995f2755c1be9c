/* The list of locally optimal selections: its order, the search, and access. */
#include "theory/enumerate/enumerate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------- the list */

/* Position of alpha in the list, which is in lexicographic order; *found: it is in it. */
static int64_t place_of(const attsvm_enumeration *e, const int32_t *alpha, bool *found)
{
    int64_t lo = 0, hi = e->info.count, terms = e->info.terms;
    while (lo < hi) {
        int64_t middle = (lo + hi) / 2, g = 0;
        const int64_t *there = e->alpha + middle * terms;
        while (g < terms && there[g] == alpha[g])
            g++;
        if (g == terms) {
            *found = true;
            return middle;
        }
        if (there[g] < alpha[g])
            lo = middle + 1;
        else
            hi = middle;
    }
    *found = false;
    return lo;
}

static attsvm_status make_room(attsvm_enumeration *e, attsvm_error *err)
{
    int64_t capacity = e->capacity > 0 ? 2 * e->capacity : 16;
    size_t terms = (size_t)e->info.terms, bytes;
    if (e->info.count < e->capacity)
        return ATTSVM_OK;
    if (!base_multiply((size_t)capacity, (terms + 1) * sizeof *e->alpha, &bytes))
        return fail(err, ATTSVM_E_MEMORY, "no memory for %" PRId64 " selections", capacity);
    int64_t *alpha = realloc(e->alpha, bytes);
    e->alpha = alpha ? alpha : e->alpha;
    enumerate_judged *judged = realloc(e->judged, (size_t)capacity * sizeof *judged);
    e->judged = judged ? judged : e->judged;
    if (!alpha || !judged)
        return fail(err, ATTSVM_E_MEMORY, "no memory for %" PRId64 " selections", capacity);
    e->capacity = capacity;
    return ATTSVM_OK;
}

/* Adds the locally optimal members; *added counts those that are new. */
static attsvm_status keep_local(attsvm_enumeration *e, const enumerate_list *list,
                                const enumerate_judged *judged, int64_t *added, attsvm_error *err)
{
    int64_t terms = e->info.terms;
    *added = 0;
    for (int64_t k = 0; k < list->count; k++) {
        const int32_t *alpha = list->alpha + k * terms;
        bool found;
        e->info.stalled += judged[k].outcome == ATTSVM_STALLED;
        if (!judged[k].local)
            continue;
        int64_t at = place_of(e, alpha, &found), after = e->info.count - at;
        if (found)
            continue;
        TRY(make_room(e, err));
        memmove(e->alpha + (at + 1) * terms, e->alpha + at * terms,
                (size_t)(after * terms) * sizeof *e->alpha);
        memmove(e->judged + at + 1, e->judged + at, (size_t)after * sizeof *e->judged);
        for (int64_t g = 0; g < terms; g++)
            e->alpha[at * terms + g] = alpha[g];
        e->judged[at] = judged[k];
        e->info.count++;
        ++*added;
    }
    return ATTSVM_OK;
}

static attsvm_status judge_and_keep(attsvm_enumeration *e, const enumerate_list *list,
                                    int64_t *added, attsvm_error *err)
{
    enumerate_judged *judged;
    TRY(base_allocate(&judged, (size_t)list->count + 1, sizeof *judged, "selections", err));
    attsvm_status status =
        enumerate_judge(e, list, e->scores, e->scores->data, &e->svm, judged, err);
    if (status == ATTSVM_OK)
        status = keep_local(e, list, judged, added, err);
    for (int64_t k = 0; k < list->count; k++)
        e->info.judged += judged[k].outcome != ATTSVM_NOT_RUN;
    free(judged);
    return status;
}

/* --------------------------------------------------------------------- the search */

static int by_selection(const void *a, const void *b, void *width)
{
    const int32_t *x = a, *y = b;
    for (int64_t g = 0; g < *(int64_t *)width; g++)
        if (x[g] != y[g])
            return x[g] < y[g] ? -1 : 1;
    return 0;
}

static void sort_and_unite(enumerate_list *list)
{
    size_t bytes = (size_t)list->width * sizeof *list->alpha;
    int64_t kept = 0;
    if (list->count == 0)
        return;
    qsort_r(list->alpha, (size_t)list->count, bytes, by_selection, &list->width);
    for (int64_t k = 1; k < list->count; k++)
        if (memcmp(list->alpha + kept * list->width, list->alpha + k * list->width, bytes) != 0)
            memmove(list->alpha + ++kept * list->width, list->alpha + k * list->width, bytes);
    list->count = kept + 1;
}

/* The first token of a term that `token` is a copy of. */
static int32_t first_copy(const attsvm_scores *s, int64_t term, int64_t token)
{
    int64_t i = term, q = 0;
    if (s->terms.count != s->data->n)
        data_terms_find(&s->terms, term, &i, &q);
    for (int64_t t = 0; t < token; t++)
        if (theory_is_copy(s, i, t, token))
            return (int32_t)t;
    return (int32_t)token;
}

/* The settings of the model whose limit this SVM is; `terms` tell whether Z exists. */
static void describe(const attsvm_svm_settings *svm, const data_terms *terms,
                     attsvm_train_settings *train)
{
    train->model = svm->problem == ATTSVM_PROBLEM_W ? ATTSVM_MODEL_W : ATTSVM_MODEL_P;
    if (train->model == ATTSVM_MODEL_W) {
        train->query = terms->mode;
        train->query_token = terms->mode == ATTSVM_QUERY_TOKEN ? terms->token : 0;
    }
    train->head = svm->head;
    train->kappa = svm->kappa;
}

/* Room for `count` selections of list->width tokens. */
static attsvm_status allocate_list(enumerate_list *list, int64_t count, attsvm_error *err)
{
    size_t size;
    if (!base_multiply((size_t)count, (size_t)list->width, &size))
        return fail(err, ATTSVM_E_MEMORY, "%" PRId64 " selections of %" PRId64 " tokens: no memory",
                    count, list->width);
    return base_allocate(&list->alpha, size + 1, sizeof *list->alpha, "selections", err);
}

/* The optimal tokens, then the ends of descent from random starts. */
static attsvm_status first_guesses(attsvm_enumeration *e, enumerate_list *list, attsvm_error *err)
{
    const attsvm_scores *s = e->scores;
    attsvm_train_settings settings;
    int64_t runs = e->settings.descent_runs, terms = e->info.terms;
    attsvm_status status = ATTSVM_OK;
    attsvm_train_settings_init(&settings);
    describe(&e->svm, &s->terms, &settings);
    settings.init = "gauss:1";
    settings.iters = e->settings.steps;
    settings.threads = e->settings.threads;
    *list = (enumerate_list){ .width = terms };
    TRY(allocate_list(list, runs + 1, err));
    for (int64_t g = 0; g < terms; g++)
        list->alpha[g] = (int32_t)attsvm_scores_term(s, g).optimal;
    list->count = 1;
    for (int64_t k = 0; k < runs && status == ATTSVM_OK && !dist_stop_now(&e->stop); k++) {
        attsvm_train *run = NULL;
        settings.seed = e->settings.seed + k;
        status = attsvm_train_create(&run, s->data, &settings, NULL, NULL, err);
        if (status == ATTSVM_OK)
            status = attsvm_train_run(run, NULL, NULL, err);
        if (status == ATTSVM_OK)
            status = base_interrupted(err);
        for (int64_t g = 0; g < terms && status == ATTSVM_OK; g++)
            list->alpha[list->count * terms + g] = first_copy(s, g, run->m->selected[g]);
        list->count += status == ATTSVM_OK;
        attsvm_train_free(run);
    }
    sort_and_unite(list);
    return status;
}

/* All selections that differ from one of the list in one token. */
static attsvm_status neighbours(const attsvm_enumeration *e, enumerate_list *out, attsvm_error *err)
{
    const attsvm_scores *s = e->scores;
    int64_t terms = e->info.terms, each = 0;
    for (int64_t g = 0; g < terms; g++)
        each += attsvm_scores_term(s, g).tokens - 1;
    *out = (enumerate_list){ .width = terms };
    if (each > e->settings.max_selections / (e->info.count > 0 ? e->info.count : 1))
        return ATTSVM_OK; /* more than a round may try */
    TRY(allocate_list(out, e->info.count * each + 1, err));
    for (int64_t g = 0; g < terms; g++) {
        const int64_t tokens = attsvm_scores_term(s, g).tokens; /* reads the whole term */
        for (int64_t k = 0; k < e->info.count; k++)
            for (int64_t t = 0; t < tokens; t++) {
                const int64_t *from = e->alpha + k * terms;
                int32_t *to = out->alpha + out->count * terms;
                if (t == from[g] || first_copy(s, g, t) != t)
                    continue;
                for (int64_t h = 0; h < terms; h++)
                    to[h] = (int32_t)from[h];
                to[g] = (int32_t)t;
                out->count++;
            }
    }
    sort_and_unite(out);
    return ATTSVM_OK;
}

static attsvm_status search(attsvm_enumeration *e, attsvm_error *err)
{
    enumerate_list list;
    int64_t added;
    attsvm_status status = first_guesses(e, &list, err);
    if (status == ATTSVM_OK)
        status = judge_and_keep(e, &list, &added, err);
    free(list.alpha);
    while (status == ATTSVM_OK && added > 0 && !dist_stop_now(&e->stop)) {
        status = neighbours(e, &list, err);
        if (status == ATTSVM_OK)
            status = judge_and_keep(e, &list, &added, err);
        free(list.alpha);
    }
    return status;
}

/* ------------------------------------------------------------------------- public */

static attsvm_status enumerate(attsvm_enumeration *e, attsvm_error *err)
{
    enumerate_list whole;
    bool fits;
    int64_t added;
    e->info.product = 1;
    for (int64_t g = 0; g < e->info.terms; g++)
        e->info.product *= (double)attsvm_scores_term(e->scores, g).tokens;
    attsvm_status status = enumerate_grow(e, &whole, &fits, err);
    const bool begun = dist_stop_why(&e->stop) != DIST_GO_ON; /* only partial selections so far */
    if (status == ATTSVM_OK && fits && !begun)
        status = judge_and_keep(e, &whole, &added, err);
    free(whole.alpha);
    if (status == ATTSVM_OK && !fits)
        status = search(e, err);
    e->info.stopped = dist_stop_why(&e->stop) != DIST_GO_ON;
    e->info.exhaustive = fits && e->info.stalled == 0 && !e->info.stopped;
    e->info.searched = !fits;
    return status == ATTSVM_E_STOPPED ? ATTSVM_OK : status; /* with the list so far */
}

attsvm_status attsvm_enumerate(attsvm_enumeration **out, const attsvm_scores *scores,
                               const attsvm_svm_settings *svm,
                               const attsvm_enumerate_settings *settings, attsvm_observer *observer,
                               void *context, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(scores);
    attsvm_enumerate_settings standard;
    attsvm_svm_settings standard_svm;
    attsvm_enumeration *e;
    attsvm_svm_settings_init(&standard_svm);
    if (!svm)
        svm = &standard_svm;
    attsvm_enumerate_settings_init(&standard);
    if (!settings)
        settings = &standard;
    TRY(attsvm_settings_check(&attsvm_enumerate_table, settings, err));
    TRY(svm_check_settings(svm, err));
    if (svm->problem != ATTSVM_PROBLEM_P && svm->problem != ATTSVM_PROBLEM_W)
        return fail(err, ATTSVM_E_ARG, "locally optimal selections are those of problem p or W");
    TRY(theory_check_hard(svm, err));
    TRY(base_allocate(&e, 1, sizeof *e, "enumeration", err));
    e->scores = scores;
    e->svm = *svm;
    e->settings = *settings;
    e->info.terms = scores->terms.count;
    e->watch = (dist_watch){ .observer = observer, .context = context };
    dist_stop_watch(&e->stop, NULL, settings->time_limit, &e->watch);
    attsvm_status status = enumerate(e, err);
    if (status != ATTSVM_OK) {
        attsvm_enumeration_free(e);
        return status;
    }
    *out = e;
    return ATTSVM_OK;
}

void attsvm_enumeration_free(attsvm_enumeration *enumeration)
{
    if (!enumeration)
        return;
    free(enumeration->alpha);
    free(enumeration->judged);
    free(enumeration);
}

attsvm_enumeration_info attsvm_enumeration_describe(const attsvm_enumeration *enumeration)
{
    if (!enumeration)
        return (attsvm_enumeration_info){ 0 };
    return enumeration->info;
}

attsvm_local_optimum attsvm_enumeration_get(const attsvm_enumeration *enumeration, int64_t k)
{
    if (!enumeration || k < 0 || k >= enumeration->info.count)
        return (attsvm_local_optimum){ 0 };
    const enumerate_judged *judged = &enumeration->judged[k];
    return (attsvm_local_optimum){ .alpha = enumeration->alpha + k * enumeration->info.terms,
                                   .norm = judged->norm,
                                   .margin = judged->norm > 0 ? 1 / judged->norm : NAN,
                                   .advantage = judged->advantage,
                                   .global = judged->global };
}

int64_t enumerate_find(const attsvm_enumeration *enumeration, const int64_t *alpha)
{
    int64_t terms = enumeration->info.terms;
    for (int64_t k = 0; k < enumeration->info.count; k++) {
        const int64_t *there = enumeration->alpha + k * terms;
        int64_t g = 0;
        while (g < terms && there[g] == first_copy(enumeration->scores, g, alpha[g]))
            g++;
        if (g == terms)
            return k;
    }
    return -1;
}
