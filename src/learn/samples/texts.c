/*
 * Converts texts to samples: tokens are indices into a vocabulary.  Without word vectors a token is
 * the unit vector of its word, which is never stored densely; with them it is a row of a table.
 */
#include "learn/samples/samples.h"

#include <stdlib.h>
#include <string.h>

typedef struct reading {
    attsvm_samples *s;
    samples_vocabulary v;
    bool fixed; /* the vocabulary of a model: other words are dropped */
    int64_t tokens;
    size_t capacity;
} reading;

static attsvm_status put(reading *r, const char *word, attsvm_error *err)
{
    attsvm_samples *s = r->s;
    int64_t place = samples_vocabulary_find(&r->v, word, strlen(word));
    if (place < 0 && r->fixed) {
        s->info.dropped++;
        return ATTSVM_OK;
    }
    TRY(samples_vocabulary_add(&r->v, word, &place, err));
    int32_t *list = io_grow(s->tokens, (size_t)r->tokens, 1, &r->capacity, sizeof *list, err);
    if (!list)
        return ATTSVM_E_MEMORY;
    s->tokens = list;
    s->tokens[r->tokens++] = (int32_t)place;
    return ATTSVM_OK;
}

/* Removes tokens whose words have no vector, and renumbers the others. */
static void drop_without_vector(reading *r, float *rows, const bool *has, int64_t columns)
{
    attsvm_samples *s = r->s;
    samples_vocabulary *v = &r->v;
    int64_t *place = v->slot, words = 0,
            kept = 0; /* reuses the slots, which are no longer needed */
    for (int64_t k = 0; k < v->count; k++) {
        place[k] = has[k] ? words : -1;
        if (!has[k]) {
            free(v->word[k]);
            continue;
        }
        v->word[words] = v->word[k];
        memmove(rows + words * columns, rows + k * columns, (size_t)columns * sizeof *rows);
        words++;
    }
    v->count = words;
    for (int64_t i = 0, from = 0; i < s->info.n; i++) {
        for (; from < s->offsets[i + 1]; from++)
            if (place[s->tokens[from]] >= 0)
                s->tokens[kept++] = (int32_t)place[s->tokens[from]];
            else
                s->info.dropped++;
        s->offsets[i + 1] = kept;
    }
    r->tokens = kept;
}

static attsvm_status embed(reading *r, const char *path, attsvm_error *err)
{
    attsvm_samples *s = r->s;
    bool *has = NULL;
    int64_t columns;
    TRY(samples_vectors_read(path, &r->v, &s->table, &has, &columns, err));
    drop_without_vector(r, s->table, has, columns);
    free(has);
    s->info.embedded = columns;
    if (r->v.count == 0)
        return fail(err, ATTSVM_E_DATA, "%s has a vector for none of the words",
                    base_path_tail(path));
    return ATTSVM_OK;
}

static attsvm_status take_vocabulary(reading *r, const attsvm_classifier *model, attsvm_error *err)
{
    int64_t place;
    r->fixed = true;
    if (!model->word)
        return fail(err, ATTSVM_E_DATA, "the model was fitted to bags; it cannot read texts");
    for (int64_t k = 0; k < model->info.words; k++)
        TRY(samples_vocabulary_add(&r->v, model->word[k], &place, err));
    r->s->info.embedded = model->info.embedded;
    if (!model->table)
        return ATTSVM_OK;
    const size_t values = (size_t)(model->info.words * model->info.embedded);
    TRY(base_allocate(&r->s->table, values, sizeof(float), "word vectors", err));
    memcpy(r->s->table, model->table, values * sizeof(float));
    return ATTSVM_OK;
}

static attsvm_status make_data(reading *r, int64_t threads, attsvm_error *err)
{
    attsvm_samples *s = r->s;
    attsvm_read_settings reading_settings;
    attsvm_read_settings_init(&reading_settings);
    reading_settings.threads = threads;
    reading_settings.empty = true;
    s->info.words = r->v.count;
    s->vocabulary = (int32_t)r->v.count;
    s->word = r->v.word;
    r->v.word = NULL;
    r->v.count = 0;
    for (int64_t i = 0; i < s->info.n; i++)
        s->info.empty += s->offsets[i] == s->offsets[i + 1];
    if (s->info.words == 0)
        return fail(err, ATTSVM_E_DATA, "the texts have no words");
    static int32_t none; /* without tokens the array still needs an address */
    attsvm_named_array arrays[] = {
        { "tokens",
          { .data = s->tokens ? s->tokens : &none,
            .shape = { r->tokens },
            .ndim = 1,
            .dtype = ATTSVM_I32 } },
        { "offsets",
          { .data = s->offsets, .shape = { s->info.n + 1 }, .ndim = 1, .dtype = ATTSVM_I64 } },
        { "vocabulary", { .data = &s->vocabulary, .ndim = 0, .dtype = ATTSVM_I32 } },
    };
    if (s->table)
        arrays[2] = (attsvm_named_array){ "E",
                                          { .data = s->table,
                                            .shape = { s->info.words, s->info.embedded },
                                            .ndim = 2,
                                            .dtype = ATTSVM_F32 } };
    return attsvm_data_create(&s->data, arrays, 3, &reading_settings, err);
}

static attsvm_status read_texts(reading *r, const char *const *text, int64_t n,
                                const attsvm_samples_settings *settings,
                                const attsvm_classifier *model, attsvm_error *err)
{
    attsvm_samples *s = r->s;
    char word[SAMPLES_LONGEST_WORD];
    TRY(samples_vocabulary_open(&r->v, err));
    if (model)
        TRY(take_vocabulary(r, model, err));
    TRY(base_allocate(&s->offsets, (size_t)n + 1, sizeof *s->offsets, "offsets", err));
    for (int64_t i = 0; i < n; i++) {
        if (!base_is_utf8(text[i]))
            return fail(err, ATTSVM_E_DATA, "text %" PRId64 " is not UTF-8", i);
        for (const char *at = text[i]; samples_next_word(&at, word);)
            TRY(put(r, word, err));
        s->offsets[i + 1] = r->tokens;
    }
    if (!model && settings->embeddings && *settings->embeddings)
        TRY(embed(r, settings->embeddings, err));
    return make_data(r, settings->threads, err);
}

attsvm_status samples_texts(attsvm_samples *s, const char *const *text, const char *const *label,
                            int64_t n, const attsvm_samples_settings *settings,
                            const attsvm_classifier *model, attsvm_error *err)
{
    reading r = { .s = s };
    s->info.n = n;
    attsvm_status status = read_texts(&r, text, n, settings, model, err);
    samples_vocabulary_close(&r.v);
    TRY(status);
    return samples_classes(s, label, n, model, err);
}
