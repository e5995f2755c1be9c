/* The built-in review sentences as a data set: a random unit vector for each word. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

/* The index of a word; a new word is copied and gets the next index. */
static int64_t number_of(experiments_reviews *r, const char *word, size_t length)
{
    for (int64_t k = 0; k < r->words; k++)
        if (strncmp(r->word[k], word, length) == 0 && r->word[k][length] == '\0')
            return k;
    snprintf(r->word[r->words], sizeof *r->word, "%.*s", (int)length, word);
    return r->words++;
}

/* "+1<tab>a clever film": label and words of one line. */
static void read_line(experiments_reviews *r, const char *line, const char *end)
{
    int64_t at = r->offsets[r->n];
    r->Y[r->n] = line[0] == '+' ? 1 : -1;
    const char *c = memchr(line, '\t', (size_t)(end - line));
    for (c = c ? c + 1 : end; c < end;) {
        size_t length = strcspn(c, " \n");
        length = length > (size_t)(end - c) ? (size_t)(end - c) : length;
        if (length > 0)
            r->tokens[at++] = number_of(r, c, length);
        c += length + 1;
    }
    r->offsets[++r->n] = at;
}

static void layout(experiments_reviews *r, arena *a, size_t sentences, size_t tokens)
{
    r->Y = take_int64(a, sentences);
    r->offsets = take_int64(a, sentences + 1);
    r->tokens = take_int64(a, tokens);
    r->E = take(a, tokens * (size_t)r->d);
    r->word = base_take(a, tokens, sizeof *r->word);
}

attsvm_status experiments_reviews_create(experiments_reviews *r, int64_t d, int64_t seed,
                                         attsvm_error *err)
{
    const experiments_file *file = experiments_file_find("examples/reviews.txt");
    size_t lines = 0, words = 1;
    arena a = { 0 };
    *r = (experiments_reviews){ .d = d };
    for (size_t k = 0; k < file->size; k++) {
        lines += file->text[k] == '\n';
        words += strchr(" \t\n", file->text[k]) != NULL;
    }
    layout(r, &a, lines + 1, words);
    TRY(base_arena_allocate(&a, "review sentences", err));
    layout(r, &a, lines + 1, words);
    r->memory = a.base;
    const char *end = file->text + file->size;
    for (const char *line = file->text, *stop; line < end; line = stop + 1) {
        stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        if (*line == '+' || *line == '-')
            read_line(r, line, stop);
    }
    for (int64_t k = 0; k < r->words; k++) {
        base_random random = base_random_stream((uint64_t)seed, (uint64_t)k);
        base_random_sphere(&random, r->E + k * d, d);
    }
    return ATTSVM_OK;
}

attsvm_status experiments_reviews_data(const experiments_reviews *r, attsvm_data **out,
                                       attsvm_error *err)
{
    int64_t count = r->offsets[r->n];
    attsvm_named_array arrays[] = {
        { "E", { r->E, { r->words, r->d }, 2, ATTSVM_F64 } },
        { "tokens", { r->tokens, { count }, 1, ATTSVM_I64 } },
        { "offsets", { r->offsets, { r->n + 1 }, 1, ATTSVM_I64 } },
        { "Y", { r->Y, { r->n }, 1, ATTSVM_I64 } },
    };
    return attsvm_data_create(out, arrays, 4, NULL, err);
}

void experiments_reviews_free(experiments_reviews *r)
{
    free(r->memory);
    *r = (experiments_reviews){ 0 };
}
