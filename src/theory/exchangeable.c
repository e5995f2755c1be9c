/*
 * Words that exact descent never separates (theory 6.3).
 *
 * Tokens are unit vectors e_a, words.  Swapping the words a and b swaps two columns of the count
 * matrix (sequences x words), two entries of the head, and two entries of p, two rows of W or K (of
 * W'p: two columns of W).  If all of these pairs are equal, neither word is a query or a label, and
 * the step rule treats entries alike, the swap changes neither data nor start values; descent
 * commutes with it, so the two logits stay equal.  The test is sufficient, not necessary: other
 * symmetries exist.
 */
#include "theory/theory.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of each word: entry e of word w is x[w * word + e * entry]. */
typedef struct numbers {
    const double *x;
    int64_t word, entry, count;
} numbers;

enum { MOST_NUMBERS = 3 };

typedef struct search {
    const attsvm_train *run;
    int64_t d;
    int32_t *coordinate; /* (tokens) the word of each token: the index of its nonzero entry */
    int64_t *first;      /* (d+1) of `sequence`, by word                                    */
    int64_t *sequence;   /* (tokens) sequences in which a word occurs, with multiplicity    */
    int64_t *order;      /* (d) candidate words, equal ones adjacent                        */
    bool *taken;         /* (d) a query or a label                                          */
    int64_t words;       /* entries of `order`                                              */
    numbers numbers[MOST_NUMBERS];
    int count;
    double *keymap;
    void *memory;
} search;

static void layout(search *s, arena *a)
{
    size_t d = (size_t)s->d, tokens = (size_t)s->run->data->tokens;
    s->coordinate = base_take(a, tokens, sizeof *s->coordinate);
    s->first = take_int64(a, d + 1);
    s->sequence = take_int64(a, tokens);
    s->order = take_int64(a, d);
    s->taken = base_take(a, d, sizeof *s->taken);
}

/* The index of the only nonzero entry of x, equal to `size` in all tokens; -1: not one-hot. */
static int32_t only_entry(const double *x, int64_t d, double *size)
{
    int32_t at = -1;
    for (int64_t j = 0; j < d; j++) {
        if (x[j] == 0)
            continue;
        if (at >= 0 || j > INT32_MAX)
            return -1;
        at = (int32_t)j;
    }
    if (at >= 0 && *size == 0)
        *size = x[at];
    return at >= 0 && x[at] == *size ? at : -1;
}

/* The word of every token; *onehot is false at the first that is not a unit vector.  x: (d). */
static void read_words(search *s, double *x, bool *onehot)
{
    const attsvm_data *data = s->run->data;
    double size = 0;
    data_reader reader = data_reader_open(data, 0, data->n);
    *onehot = true;
    for (int64_t i; *onehot && data_reader_each(&reader, &i);) {
        la_rows rows = data_sequence(data, i);
        for (int64_t t = 0; t < rows.count && *onehot; t++) {
            la_row(&rows, t, x);
            int32_t at = only_entry(x, s->d, &size);
            s->coordinate[data_first(data, i) + t] = at;
            *onehot = at >= 0;
        }
    }
}

/* The same for a table, each used row once; unused rows are ignored. */
static attsvm_status read_table(search *s, double *x, bool *onehot, attsvm_error *err)
{
    const attsvm_data *data = s->run->data;
    la_rows table = { data->X, NULL, data->vocabulary, data->d, data->dtype };
    double size = 0;
    int32_t *place;
    enum { UNREAD = -2 };
    TRY(base_allocate(&place, (size_t)data->vocabulary, sizeof *place, "words", err));
    for (int64_t w = 0; w < data->vocabulary; w++)
        place[w] = UNREAD;
    *onehot = true;
    for (int64_t k = 0; k < data->tokens && *onehot; k++) {
        int32_t *at = &place[data->index[k]];
        if (*at == UNREAD) {
            la_row(&table, data->index[k], x);
            *at = only_entry(x, s->d, &size);
        }
        s->coordinate[k] = *at;
        *onehot = *at >= 0;
    }
    free(place);
    return ATTSVM_OK;
}

/* Columns of the count matrix, as lists of sequences. */
static void fill_columns(search *s)
{
    const attsvm_data *data = s->run->data;
    for (int64_t k = 0; k < data->tokens; k++)
        s->first[s->coordinate[k] + 1]++;
    for (int64_t j = 0; j < s->d; j++)
        s->first[j + 1] += s->first[j];
    for (int64_t i = data->n - 1; i >= 0; i--)
        for (int64_t k = data_first(data, i + 1) - 1; k >= data_first(data, i); k--)
            s->sequence[--s->first[s->coordinate[k] + 1]] = i;
    /* first[j+1] is now the start of word j */
    memmove(s->first, s->first + 1, (size_t)s->d * sizeof *s->first);
    s->first[s->d] = data->tokens;
}

/* Words that are a query, or a label of next-token prediction. */
static attsvm_status mark_taken(search *s, attsvm_error *err)
{
    const model *m = s->run->m;
    const attsvm_data *data = m->data;
    const int32_t mode = m->query.mode;
    bool tokens = !m->prompt && mode != ATTSVM_QUERY_GIVEN;
    for (int64_t i = 0; tokens && i < data->n; i++) {
        int64_t lo = data_first(data, i), hi = data_first(data, i + 1);
        if (mode == ATTSVM_QUERY_TOKEN)
            s->taken[s->coordinate[lo + m->query.token]] = true;
        else if (mode == ATTSVM_QUERY_LAST)
            s->taken[s->coordinate[hi - 1]] = true;
        else
            for (int64_t k = lo; k < hi; k++)
                s->taken[s->coordinate[k]] = true;
    }
    if (!m->loss.takes_log)
        return ATTSVM_OK;
    int32_t *next;
    TRY(data_next_words(data, &next, err));
    for (int64_t i = 0; i < data->n; i++) /* a label is a word of its context */
        for (int64_t k = data_first(data, i); k < data_first(data, i + 1); k++)
            if (data->index[k] == next[i])
                s->taken[s->coordinate[k]] = true;
    free(next);
    return ATTSVM_OK;
}

static void add_numbers(search *s, const double *x, int64_t word, int64_t entry, int64_t count)
{
    s->numbers[s->count++] = (numbers){ x, word, entry, count };
}

/* Start values, head and key map of each word; false: of an unknown form. */
static attsvm_status find_numbers(search *s, bool *known, attsvm_error *err)
{
    const attsvm_train *run = s->run;
    const model *m = run->m;
    const int64_t d = s->d;
    const model_parameter *trained = &m->parameter[m->trains_p && m->trains_W ? 1 : 0];
    const double *theta = run->theta + trained->offset;
    if (m->prompt && m->trains_W)
        add_numbers(s, theta, 1, d, d); /* W'p: columns of W */
    else if (m->prompt)
        add_numbers(s, theta, 1, 1, 1);
    else
        add_numbers(s, theta, trained->cols, 1, trained->cols); /* rows of W or K */
    if (m->prompt && !m->trains_W && attsvm_data_array(m->data, "W")) {
        TRY(data_doubles(m->data, "W", (int64_t[]){ d, d }, 2, &s->keymap, err));
        add_numbers(s, s->keymap, 1, d, d);
    }
    *known = m->loss.takes_log || m->head.kind->kind != 0;
    if (m->loss.takes_log || !*known)
        return ATTSVM_OK;
    if (m->head.kind->kind == ATTSVM_HEAD_RELU)
        add_numbers(s, m->head.data.V, 1, d, m->head.size);
    else
        add_numbers(s, m->trains_v ? run->theta + m->parameter[m->parameters - 1].offset : m->v, 1,
                    1, 1);
    return ATTSVM_OK;
}

/* 0: the words a and b are exchangeable. */
static int compare_words(const void *a, const void *b, void *context)
{
    const search *s = context;
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    const int64_t count = s->first[x + 1] - s->first[x], other = s->first[y + 1] - s->first[y];
    if (count != other)
        return count < other ? -1 : 1;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = s->sequence[s->first[x] + k], j = s->sequence[s->first[y] + k];
        if (i != j)
            return i < j ? -1 : 1;
    }
    for (int f = 0; f < s->count; f++) {
        const numbers *n = &s->numbers[f];
        for (int64_t e = 0; e < n->count; e++) {
            double p = n->x[x * n->word + e * n->entry], q = n->x[y * n->word + e * n->entry];
            if (p != q)
                return p < q ? -1 : 1;
        }
    }
    return 0;
}

static void count_groups(search *s, attsvm_exchangeable *out)
{
    for (int64_t j = 0; j < s->d; j++)
        if (!s->taken[j] && s->first[j + 1] > s->first[j])
            s->order[s->words++] = j;
    qsort_r(s->order, (size_t)s->words, sizeof *s->order, compare_words, s);
    for (int64_t k = 0, next; k < s->words; k = next) {
        next = k + 1;
        while (next < s->words && compare_words(&s->order[k], &s->order[next], s) == 0)
            next++;
        out->groups += next - k > 1;
        out->words += next - k > 1 ? next - k : 0;
    }
}

/* x (d): a token. */
static attsvm_status look(search *s, double *x, attsvm_exchangeable *out, attsvm_error *err)
{
    bool known;
    arena a = { 0 };
    layout(s, &a);
    TRY(base_arena_allocate(&a, "words", err));
    s->memory = a.base;
    layout(s, &a);
    if (s->run->data->vocabulary)
        TRY(read_table(s, x, &out->onehot, err));
    else
        read_words(s, x, &out->onehot);
    if (!out->onehot)
        return ATTSVM_OK;
    TRY(find_numbers(s, &known, err));
    if (!known)
        return ATTSVM_OK;
    fill_columns(s);
    TRY(mark_taken(s, err));
    count_groups(s, out);
    return ATTSVM_OK;
}

attsvm_status attsvm_exchangeable_compute(attsvm_exchangeable *out, const attsvm_train *run,
                                          attsvm_error *err)
{
    NEED(out);
    NEED(run);
    search s = { .run = run, .d = run->m->d };
    double *x, size = 0;
    *out = (attsvm_exchangeable){ 0 };
    if (run->info.outcome != ATTSVM_TRAIN_NOT_RUN || run->iter > 0)
        return fail(err, ATTSVM_E_ARG,
                    "this run has already started, and its start values are gone");
    /* `coordinate` breaks ties by index; a resumed run does not begin at the start values */
    if (strcmp(run->rule->flag, "coordinate") == 0 || run->settings.resume)
        return ATTSVM_OK;
    TRY(base_allocate(&x, (size_t)s.d, sizeof *x, "token", err));
    attsvm_status status = ATTSVM_OK;
    attsvm_data_token(run->data, 0, 0,
                      x); /* quick test: most data that are not one-hot fail at the first token */
    if (only_entry(x, s.d, &size) >= 0)
        status = look(&s, x, out, err);
    free(x);
    free(s.keymap);
    free(s.memory);
    return status;
}
