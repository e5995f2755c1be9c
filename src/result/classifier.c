/*
 * Classifiers in files: p, v, beta, log_beta, b, mu, sigma; model (pool, heads, classes, members,
 * d, plain features); numbers (ridge, loss, gradient, accuracy) and counts (iterations,
 * evaluations, converged); names as bytes with a newline after each: classes, words; word_vectors;
 * settings, JSON text.
 */
#include "learn/learn.h"
#include "result/result.h"

#include <stdlib.h>
#include <string.h>

enum { MODEL_FIELDS = 6, NUMBERS = 4, COUNTS = 3, MOST_ARRAYS = 16 };

/* ---------------------------------------------------------------------------- writing */

/* Joins names, which contain no newline, with a newline after each. */
static attsvm_status join(char *const *names, int64_t count, uint8_t **out, int64_t *size,
                          attsvm_error *err)
{
    *size = 0;
    for (int64_t k = 0; k < count; k++)
        *size += (int64_t)strlen(names[k]) + 1;
    TRY(base_allocate(out, (size_t)*size + 1, 1, "names", err));
    uint8_t *at = *out;
    for (int64_t k = 0; k < count; k++) {
        const size_t length = strlen(names[k]);
        for (size_t j = 0; j < length; j++)
            *at++ = (uint8_t)(names[k][j] == '\n' ? ' ' : names[k][j]);
        *at++ = '\n';
    }
    return ATTSVM_OK;
}

typedef struct listing {
    attsvm_named_array arrays[MOST_ARRAYS];
    int64_t count;
} listing;

static void put(listing *l, const char *name, const void *data, attsvm_dtype dtype, int64_t count)
{
    l->arrays[l->count++] =
        (attsvm_named_array){ name,
                              { .data = data, .shape = { count }, .ndim = 1, .dtype = dtype } };
}

static attsvm_status write(const attsvm_classifier *c, const char *path, const char *settings,
                           listing *l, uint8_t *names[2], double *log_beta, attsvm_error *err)
{
    const learn_shape *s = &c->shape;
    const int64_t kind[MODEL_FIELDS] = { s->pool,    s->heads, s->classes,
                                         c->members, s->d,     c->features.plain };
    const double numbers[NUMBERS] = { c->info.ridge, c->info.loss, c->info.gradient,
                                      c->info.accuracy };
    const int64_t counts[COUNTS] = { c->info.iterations, c->info.evaluations, c->info.converged };
    int64_t size;
    for (int64_t k = 0; k < c->count; k++)
        l->arrays[l->count++] = c->arrays[k];
    for (int64_t k = 0; log_beta && k < c->members * s->outputs; k++)
        log_beta[k] = c->theta[k / s->outputs * s->size + s->betas + k % s->outputs];
    if (log_beta)
        put(l, "log_beta", log_beta, ATTSVM_F64, c->members * s->outputs);
    put(l, "model", kind, ATTSVM_I64, MODEL_FIELDS);
    put(l, "numbers", numbers, ATTSVM_F64, NUMBERS);
    put(l, "counts", counts, ATTSVM_I64, COUNTS);
    TRY(join(c->class_name, s->classes, &names[0], &size, err));
    put(l, "classes", names[0], ATTSVM_U8, size);
    if (c->word) {
        TRY(join(c->word, c->info.words, &names[1], &size, err));
        put(l, "words", names[1], ATTSVM_U8, size);
    }
    if (c->table)
        l->arrays[l->count++] =
            (attsvm_named_array){ "word_vectors",
                                  { .data = c->table,
                                    .shape = { c->info.words, c->info.embedded },
                                    .ndim = 2,
                                    .dtype = ATTSVM_F32 } };
    if (settings)
        put(l, "settings", settings, ATTSVM_U8, (int64_t)strlen(settings));
    return attsvm_archive_write(path, l->arrays, l->count, err);
}

attsvm_status attsvm_classifier_save(const attsvm_classifier *classifier, const char *path,
                                     const char *settings, attsvm_error *err)
{
    NEED(classifier);
    if (settings) {
        io_json *json;
        TRY(io_json_parse(&json, settings, strlen(settings), "settings", err));
        io_json_free(json);
    }
    listing l = { 0 };
    uint8_t *names[2] = { NULL, NULL };
    double *log_beta = NULL;
    attsvm_status status = ATTSVM_OK;
    if (classifier->shape.betas >= 0)
        status = base_allocate(&log_beta, (size_t)(classifier->members * classifier->shape.outputs),
                               sizeof *log_beta, "model", err);
    if (status == ATTSVM_OK)
        status = write(classifier, path, settings, &l, names, log_beta, err);
    free(log_beta);
    free(names[0]);
    free(names[1]);
    return status;
}

/* ---------------------------------------------------------------------------- reading */

/* The array of that name with `count` entries of that type. */
static attsvm_status need(const attsvm_archive *archive, const char *name, attsvm_dtype dtype,
                          int64_t count, const attsvm_array **out, attsvm_error *err)
{
    *out = attsvm_archive_find(archive, name);
    if (*out && (*out)->dtype == dtype && (count < 0 || attsvm_array_count(*out) == count))
        return ATTSVM_OK;
    if (count < 0)
        return fail(err, ATTSVM_E_FORMAT, "%s array %s (%s): not a model of attsvm fit",
                    *out ? "bad" : "missing", name, attsvm_dtype_name(dtype));
    return fail(err, ATTSVM_E_FORMAT, "%s array %s: expected %" PRId64 " entries of %s",
                *out ? "bad" : "missing", name, count, attsvm_dtype_name(dtype));
}

/* `count` names, or (count < 0) as many as there are, in a new list. */
static attsvm_status split(const attsvm_array *bytes, const char *what, int64_t *count,
                           char ***names, attsvm_error *err)
{
    const char *at = bytes->data, *end = at + attsvm_array_count(bytes);
    int64_t lines = 0;
    for (const char *c = at; c < end; c++)
        lines += *c == '\n';
    if ((*count >= 0 && lines != *count) || lines < 1 || end[-1] != '\n')
        return fail(err, ATTSVM_E_FORMAT, "%s has %" PRId64 " names; expected %" PRId64, what,
                    lines, *count);
    TRY(base_allocate(names, (size_t)lines, sizeof **names, "names", err));
    *count = lines;
    for (int64_t k = 0; k < lines; k++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        (*names)[k] = strndup(at, (size_t)(stop - at));
        if (!(*names)[k])
            return fail(err, ATTSVM_E_MEMORY, "no memory for names");
        at = stop + 1;
    }
    return ATTSVM_OK;
}

static attsvm_status read_shape(const attsvm_archive *archive, learn_shape *shape, int64_t *members,
                                bool *plain, attsvm_error *err)
{
    const attsvm_array *kind;
    int64_t m[MODEL_FIELDS];
    TRY(need(archive, "model", ATTSVM_I64, -1, &kind, err));
    if (attsvm_array_count(kind) != MODEL_FIELDS)
        return fail(err, ATTSVM_E_FORMAT, "model has %" PRId64 " entries; expected %d",
                    attsvm_array_count(kind), MODEL_FIELDS);
    memcpy(m, kind->data, sizeof m);
    const int64_t most = 1 << 24;
    if (m[0] <= ATTSVM_POOL_AUTO || m[0] > ATTSVM_POOL_MEAN || m[1] < 1 || m[1] > 64 || m[2] < 2 ||
        m[2] > 1000 || m[3] < 1 || m[3] > 1000 || m[4] < 1 || m[4] > most)
        return fail(err, ATTSVM_E_FORMAT, "model: pool, heads, classes, members or d out of range");
    *shape = learn_shape_of((int32_t)m[0], m[4], m[1], m[2]);
    *members = m[3];
    *plain = m[5] != 0;
    return ATTSVM_OK;
}

/* theta of all members from the public arrays. */
static attsvm_status read_theta(attsvm_classifier *c, const attsvm_archive *archive,
                                attsvm_error *err)
{
    const learn_shape *s = &c->shape;
    const int64_t M = c->members, prompts = s->prompts * s->d, heads = s->heads * s->outputs * s->d;
    const attsvm_array *p = NULL, *v, *b, *log_beta = NULL;
    if (prompts > 0)
        TRY(need(archive, "p", ATTSVM_F64, M * prompts, &p, err));
    TRY(need(archive, "v", ATTSVM_F64, M * heads, &v, err));
    TRY(need(archive, "b", ATTSVM_F64, M * s->outputs, &b, err));
    if (s->betas >= 0)
        TRY(need(archive, "log_beta", ATTSVM_F64, M * s->outputs, &log_beta, err));
    for (int64_t m = 0; m < M; m++) {
        double *theta = c->theta + m * s->size;
        for (int64_t j = 0; j < prompts; j++)
            theta[j] = attsvm_array_get(p, m * prompts + j);
        for (int64_t j = 0; j < heads; j++)
            theta[prompts + j] = attsvm_array_get(v, m * heads + j);
        for (int64_t k = 0; k < s->outputs; k++) {
            theta[s->biases + k] = attsvm_array_get(b, m * s->outputs + k);
            if (log_beta)
                theta[s->betas + k] = attsvm_array_get(log_beta, m * s->outputs + k);
        }
    }
    for (int64_t k = 0; k < M * s->size; k++)
        if (!isfinite(c->theta[k]))
            return fail(err, ATTSVM_E_FORMAT, "a parameter of the model is not finite");
    return ATTSVM_OK;
}

static attsvm_status read_features(const attsvm_archive *archive, int64_t d, bool plain,
                                   learn_features *out, attsvm_error *err)
{
    const attsvm_array *mu, *sigma;
    double *values;
    TRY(need(archive, "mu", ATTSVM_F64, d, &mu, err));
    TRY(need(archive, "sigma", ATTSVM_F64, d, &sigma, err));
    TRY(base_allocate(&values, 2 * (size_t)d, sizeof *values, "features", err));
    bool good = true;
    for (int64_t j = 0; j < d; j++) {
        values[j] = attsvm_array_get(mu, j);
        values[d + j] = attsvm_array_get(sigma, j);
        good = good && isfinite(values[j]) && values[d + j] > 0 && isfinite(values[d + j]);
    }
    attsvm_status status = good ? learn_features_restore(out, d, values, values + d, plain, err)
                                : fail(err, ATTSVM_E_FORMAT, "mu or sigma is out of range");
    free(values);
    return status;
}

static attsvm_status read_names(attsvm_classifier *c, const attsvm_archive *archive,
                                attsvm_error *err)
{
    const attsvm_array *classes, *words = attsvm_archive_find(archive, "words");
    const attsvm_array *table = attsvm_archive_find(archive, "word_vectors");
    int64_t count = c->shape.classes;
    free(c->class_name);
    c->class_name = NULL;
    TRY(need(archive, "classes", ATTSVM_U8, -1, &classes, err));
    TRY(split(classes, "classes", &count, &c->class_name, err));
    if (!words)
        return ATTSVM_OK;
    TRY(need(archive, "words", ATTSVM_U8, -1, &words, err));
    count = table ? (table->ndim == 2 ? table->shape[0] : 0) : c->shape.d;
    c->info.words = 0;
    TRY(split(words, "words", &count, &c->word, err));
    c->info.words = count;
    if (!table)
        return ATTSVM_OK;
    TRY(need(archive, "word_vectors", ATTSVM_F32, count * c->shape.d, &table, err));
    c->info.embedded = c->shape.d;
    TRY(base_allocate(&c->table, (size_t)(count * c->shape.d), sizeof(float), "word vectors", err));
    memcpy(c->table, table->data, (size_t)(count * c->shape.d) * sizeof(float));
    return ATTSVM_OK;
}

static attsvm_status load(attsvm_classifier **out, const attsvm_archive *archive, attsvm_error *err)
{
    learn_shape shape;
    learn_features features = { 0 };
    const attsvm_array *numbers, *counts;
    int64_t members;
    bool plain;
    TRY(read_shape(archive, &shape, &members, &plain, err));
    TRY(read_features(archive, shape.d, plain, &features, err));
    attsvm_status status = learn_classifier_create(out, &shape, &features, members, err);
    learn_features_free(&features);
    TRY(status);
    TRY(read_theta(*out, archive, err));
    TRY(need(archive, "numbers", ATTSVM_F64, NUMBERS, &numbers, err));
    TRY(need(archive, "counts", ATTSVM_I64, COUNTS, &counts, err));
    attsvm_classifier_info *info = &(*out)->info;
    info->ridge = attsvm_array_get(numbers, 0);
    info->loss = attsvm_array_get(numbers, 1);
    info->gradient = attsvm_array_get(numbers, 2);
    info->accuracy = attsvm_array_get(numbers, 3);
    info->iterations = (int64_t)attsvm_array_get(counts, 0);
    info->evaluations = (int64_t)attsvm_array_get(counts, 1);
    info->converged = (int64_t)attsvm_array_get(counts, 2);
    info->seconds = NAN;
    TRY(read_names(*out, archive, err));
    return learn_classifier_show(*out, err);
}

attsvm_status attsvm_classifier_load(attsvm_classifier **out, const char *path, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(path);
    attsvm_archive *archive;
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    attsvm_status status = load(out, archive, err);
    attsvm_archive_free(archive);
    if (status == ATTSVM_OK)
        return ATTSVM_OK;
    attsvm_classifier_free(*out);
    *out = NULL;
    return base_fail_in(err, status, base_path_tail(path));
}
