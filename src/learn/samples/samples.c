/* The samples object and its classes. */
#include "learn/samples/samples.h"

#include <stdlib.h>
#include <string.h>

#define SETTINGS attsvm_samples_settings
static const field samples_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(text), FIELD_BOOL, 0, 1, 0,
      "read the file as texts (lines label<TAB>text, or CSV with columns label and text); .txt and "
      "CSV with a column text are texts anyway",
      0, 0 },
    { F(embeddings), FIELD_TEXT, 0, 0, 0,
      "word vectors: GloVe text, or .npz with E and words; without them words are one-hot", 0, "" },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads that check values; 0: all cores", 0, 0 },
    { F(memory), FIELD_INT, 0, 1e18, 0,
      "bytes of mapped tokens held in memory; 0 = half of the machine's memory", 0, 0 },
};
#undef SETTINGS

const settings_table attsvm_samples_table = { "samples", samples_fields,
                                              sizeof samples_fields / sizeof *samples_fields,
                                              sizeof(attsvm_samples_settings), NULL };

void attsvm_samples_settings_init(attsvm_samples_settings *settings)
{
    attsvm_settings_init(&attsvm_samples_table, settings);
}

/* ----------------------------------------------------------------------------- classes */

static bool as_number(const char *name, double *value)
{
    return io_parse_number(name, strlen(name), value);
}

/* Numbers first, by value; then words, by their bytes. */
static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    double p, q;
    const bool first = as_number(x, &p), second = as_number(y, &q);
    if (first && second && p != q)
        return p < q ? -1 : 1;
    if (first != second)
        return first ? -1 : 1;
    return strcmp(x, y);
}

static int64_t class_of(const attsvm_samples *s, const char *name)
{
    for (int64_t k = 0; k < s->info.classes; k++)
        if (strcmp(s->class_name[k], name) == 0)
            return k;
    return -1;
}

/* The distinct names of the labels, sorted. */
static attsvm_status collect(attsvm_samples *s, const char *const *label, int64_t n,
                             attsvm_error *err)
{
    samples_vocabulary names = { 0 };
    int64_t place;
    attsvm_status status = samples_vocabulary_open(&names, err);
    for (int64_t i = 0; i < n && status == ATTSVM_OK; i++)
        if (label[i])
            status = samples_vocabulary_add(&names, label[i], &place, err);
    if (status == ATTSVM_OK && names.count > 1000)
        status = fail(err, ATTSVM_E_DATA, "%" PRId64 " different labels; at most 1000 classes",
                      names.count);
    if (status == ATTSVM_OK && names.count > 0) {
        qsort(names.word, (size_t)names.count, sizeof *names.word, by_name);
        s->class_name = names.word;
        s->info.classes = names.count;
        names.word = NULL;
        names.count = 0;
    }
    samples_vocabulary_close(&names);
    return status;
}

static attsvm_status copy_classes(attsvm_samples *s, const attsvm_classifier *model,
                                  attsvm_error *err)
{
    const int64_t classes = model->shape.classes;
    TRY(base_allocate(&s->class_name, (size_t)classes, sizeof *s->class_name, "classes", err));
    for (; s->info.classes < classes; s->info.classes++) {
        char *copy = strdup(model->class_name[s->info.classes]);
        if (!copy)
            return fail(err, ATTSVM_E_MEMORY, "no memory for the names of classes");
        s->class_name[s->info.classes] = copy;
    }
    return ATTSVM_OK;
}

attsvm_status samples_classes(attsvm_samples *s, const char *const *label, int64_t n,
                              const attsvm_classifier *model, attsvm_error *err)
{
    bool any = false;
    for (int64_t i = 0; label && i < n; i++)
        any = any || label[i];
    if (model)
        TRY(copy_classes(s, model, err));
    else if (any)
        TRY(collect(s, label, n, err));
    if (!any) {
        s->info.unlabelled = n;
        return ATTSVM_OK;
    }
    TRY(base_allocate(&s->label, (size_t)n, sizeof *s->label, "labels", err));
    for (int64_t i = 0; i < n; i++) {
        s->label[i] = label[i] ? class_of(s, label[i]) : -1;
        s->info.unlabelled += s->label[i] < 0;
    }
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------------ object */

static attsvm_status read_text_file(attsvm_samples *s, const char *path,
                                    const attsvm_samples_settings *settings,
                                    const attsvm_classifier *model, attsvm_error *err)
{
    samples_lines lines;
    TRY(samples_lines_read(&lines, path, err));
    attsvm_status status =
        samples_texts(s, lines.text, lines.label, lines.count, settings, model, err);
    samples_lines_free(&lines);
    return status == ATTSVM_OK ? status : base_fail_in(err, status, base_path_tail(path));
}

/* Defaults for NULL, and the check of the rest. */
static attsvm_status settle(const attsvm_samples_settings **settings,
                            attsvm_samples_settings *standard, attsvm_error *err)
{
    attsvm_samples_settings_init(standard);
    if (!*settings)
        *settings = standard;
    return attsvm_settings_check(&attsvm_samples_table, *settings, err);
}

attsvm_status attsvm_samples_read(attsvm_samples **out, const char *path,
                                  const attsvm_samples_settings *settings,
                                  const attsvm_classifier *model, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(path);
    attsvm_samples_settings standard;
    attsvm_samples *s;
    bool text;
    TRY(settle(&settings, &standard, err));
    text = settings->text || (settings->embeddings && *settings->embeddings);
    if (!text)
        TRY(samples_is_text(path, &text, err));
    TRY(base_allocate(&s, 1, sizeof *s, "samples", err));
    attsvm_status status = text ? read_text_file(s, path, settings, model, err)
                                : samples_bags(s, path, settings, model, err);
    if (status != ATTSVM_OK) {
        attsvm_samples_free(s);
        return status;
    }
    *out = s;
    return ATTSVM_OK;
}

attsvm_status attsvm_samples_parse(attsvm_samples **out, const char *bytes, size_t size,
                                   const attsvm_samples_settings *settings,
                                   const attsvm_classifier *model, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(bytes);
    samples_lines lines;
    TRY(samples_lines_parse(&lines, bytes, size, err));
    attsvm_status status =
        attsvm_samples_texts(out, lines.text, lines.label, lines.count, settings, model, err);
    samples_lines_free(&lines);
    return status;
}

attsvm_status attsvm_samples_texts(attsvm_samples **out, const char *const *text,
                                   const char *const *label, int64_t n,
                                   const attsvm_samples_settings *settings,
                                   const attsvm_classifier *model, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(text);
    attsvm_samples_settings standard;
    attsvm_samples *s;
    TRY(settle(&settings, &standard, err));
    if (n < 1)
        return fail(err, ATTSVM_E_ARG, "%" PRId64 " texts; expected at least one", n);
    for (int64_t i = 0; i < n; i++)
        if (!text[i])
            return fail(err, ATTSVM_E_ARG, "text[%" PRId64 "] is NULL", i);
    TRY(base_allocate(&s, 1, sizeof *s, "samples", err));
    attsvm_status status = samples_texts(s, text, label, n, settings, model, err);
    if (status != ATTSVM_OK) {
        attsvm_samples_free(s);
        return status;
    }
    *out = s;
    return ATTSVM_OK;
}

void attsvm_samples_free(attsvm_samples *s)
{
    if (!s)
        return;
    attsvm_data_free(s->data);
    attsvm_archive_free(s->archive);
    for (int64_t k = 0; s->class_name && k < s->info.classes; k++)
        free(s->class_name[k]);
    for (int64_t k = 0; s->word && k < s->info.words; k++)
        free(s->word[k]);
    free(s->class_name);
    free(s->word);
    free(s->label);
    free(s->fold);
    free(s->tokens);
    free(s->offsets);
    free(s->table);
    free(s);
}

attsvm_samples_info attsvm_samples_describe(const attsvm_samples *samples)
{
    if (!samples)
        return (attsvm_samples_info){ 0 };
    return samples->info;
}

const attsvm_data *attsvm_samples_data(const attsvm_samples *samples)
{
    if (!samples)
        return NULL;
    return samples->data;
}

const int64_t *attsvm_samples_label(const attsvm_samples *samples)
{
    if (!samples)
        return NULL;
    return samples->label;
}

const int64_t *attsvm_samples_fold(const attsvm_samples *samples)
{
    if (!samples)
        return NULL;
    return samples->fold;
}

const attsvm_array *attsvm_samples_array(const attsvm_samples *samples, const char *name)
{
    if (!samples)
        return NULL;
    return samples->archive ? attsvm_archive_find(samples->archive, name) : NULL;
}

const char *attsvm_samples_class(const attsvm_samples *samples, int64_t k)
{
    if (!samples)
        return NULL;
    return k >= 0 && k < samples->info.classes ? samples->class_name[k] : NULL;
}

const char *attsvm_samples_word(const attsvm_samples *samples, int64_t i, int64_t t)
{
    if (!samples)
        return NULL;
    if (!samples->word || i < 0 || i >= samples->info.n || t < 0 ||
        t >= samples->offsets[i + 1] - samples->offsets[i])
        return NULL;
    return samples->word[samples->tokens[samples->offsets[i] + t]];
}

attsvm_status attsvm_classifier_adopt(attsvm_classifier *c, const attsvm_samples *s,
                                      attsvm_error *err)
{
    if (!c || !s)
        return fail(err, ATTSVM_E_ARG, "%s is NULL", c ? "samples" : "classifier");
    if (s->info.classes != c->shape.classes || s->data->d != c->shape.d)
        return fail(err, ATTSVM_E_ARG, "the classifier was not fitted to these samples");
    TRY(attsvm_classifier_name_classes(c, (const char *const *)s->class_name, err));
    if (!s->word)
        return ATTSVM_OK;
    TRY(base_allocate(&c->word, (size_t)s->info.words, sizeof *c->word, "vocabulary", err));
    for (; c->info.words < s->info.words; c->info.words++) {
        char *copy = strdup(s->word[c->info.words]);
        if (!copy)
            return fail(err, ATTSVM_E_MEMORY, "no memory for the vocabulary");
        c->word[c->info.words] = copy;
    }
    c->info.embedded = s->info.embedded;
    if (!s->table)
        return ATTSVM_OK;
    const size_t values = (size_t)(s->info.words * s->info.embedded);
    TRY(base_allocate(&c->table, values, sizeof(float), "word vectors", err));
    memcpy(c->table, s->table, values * sizeof(float));
    return ATTSVM_OK;
}
