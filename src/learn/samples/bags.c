/* Bags from any file of arrays; labels are any integers; folds and instance labels are read, too.
 */
#include "learn/samples/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_SIZE = 24 };

static attsvm_status expect(const attsvm_array *array, const char *name, int64_t count,
                            const char *of, attsvm_error *err)
{
    char shape[IO_SHAPE_SIZE];
    if (attsvm_array_count(array) == count)
        return ATTSVM_OK;
    attsvm_array_shape_text(array, shape, sizeof shape);
    return fail(err, ATTSVM_E_DATA,
                "%s has shape %s; expected one entry for each of the %" PRId64 " %s", name, shape,
                count, of);
}

/* Integers as class names. */
static attsvm_status read_labels(attsvm_samples *s, const attsvm_array *y, const char *name,
                                 const attsvm_classifier *model, attsvm_error *err)
{
    const int64_t n = s->info.n;
    char *bytes = NULL;
    const char **label = NULL;
    TRY(expect(y, name, n, "bags", err));
    attsvm_status status = base_allocate(&bytes, (size_t)n, LABEL_SIZE, "labels", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&label, (size_t)n, sizeof *label, "labels", err);
    for (int64_t i = 0; i < n && status == ATTSVM_OK; i++) {
        const double value = attsvm_array_get(y, i);
        if (!(fabs(value) < 1e15) || value != floor(value))
            status =
                fail(err, ATTSVM_E_DATA, "%s[%" PRId64 "] = %g is not a label; labels are integers",
                     name, i, value);
        else
            snprintf(bytes + i * LABEL_SIZE, LABEL_SIZE, "%.0f", value + 0.0);
        label[i] = bytes + i * LABEL_SIZE;
    }
    if (status == ATTSVM_OK)
        status = samples_classes(s, label, n, model, err);
    free(label);
    free(bytes);
    return status;
}

static attsvm_status read_folds(attsvm_samples *s, const attsvm_array *fold, attsvm_error *err)
{
    const int64_t n = s->info.n;
    const bool one = fold->ndim == 1 && fold->shape[0] == n;
    if (!one && (fold->ndim != 2 || fold->shape[1] != n || fold->shape[0] < 1)) {
        char shape[IO_SHAPE_SIZE];
        attsvm_array_shape_text(fold, shape, sizeof shape);
        return fail(err, ATTSVM_E_DATA,
                    "fold has shape %s; expected (%" PRId64 ",) or (R,%" PRId64 ")", shape, n, n);
    }
    s->info.repeats = one ? 1 : fold->shape[0];
    TRY(base_allocate(&s->fold, (size_t)(s->info.repeats * n), sizeof *s->fold, "folds", err));
    for (int64_t k = 0; k < s->info.repeats * n; k++) {
        TRY(data_integer(fold, "fold", k, &s->fold[k], err));
        if (s->fold[k] < 0 || s->fold[k] >= n)
            return fail(err, ATTSVM_E_DATA, "fold[%" PRId64 "] = %" PRId64 " is not in 0..%" PRId64,
                        k, s->fold[k], n - 1);
    }
    return ATTSVM_OK;
}

/* All arrays except labels, which may have more than two classes. */
static attsvm_status make_data(attsvm_samples *s, const attsvm_samples_settings *settings,
                               attsvm_error *err)
{
    attsvm_read_settings reading;
    attsvm_named_array *arrays;
    int64_t count = 0;
    attsvm_read_settings_init(&reading);
    reading.threads = settings->threads;
    reading.memory = settings->memory;
    TRY(base_allocate(&arrays, (size_t)s->archive->count + 1, sizeof *arrays, "arrays", err));
    data_source source = { 0 };
    for (int64_t k = 0; k < s->archive->count; k++) {
        const io_item *item = &s->archive->items[k];
        bool wanted = !data_is_known(item->name); /* for the message if there are no tokens */
        static const char *const tokens[] = { "X",       "E",    "tokens",     "offsets",
                                              "lengths", "bags", "vocabulary", "bag_names" };
        for (size_t w = 0; w < sizeof tokens / sizeof *tokens; w++)
            wanted = wanted || strcmp(item->name, tokens[w]) == 0;
        if (wanted)
            arrays[count++] = (attsvm_named_array){ item->name, item->array };
        if (strcmp(item->name, "X") == 0)
            source.mapped = attsvm_archive_is_mapped(s->archive, k);
    }
    attsvm_status status = data_create(&s->data, arrays, count, &reading, &source, err);
    free(arrays);
    return status;
}

static attsvm_status build(attsvm_samples *s, const attsvm_samples_settings *settings,
                           const attsvm_classifier *model, attsvm_error *err)
{
    const attsvm_array *upper = attsvm_archive_find(s->archive, "Y");
    const attsvm_array *lower = attsvm_archive_find(s->archive, "y");
    const attsvm_array *fold = attsvm_archive_find(s->archive, "fold");
    const attsvm_array *inst = attsvm_archive_find(s->archive, "inst");
    TRY(make_data(s, settings, err));
    s->info.n = s->data->n;
    if (upper && lower)
        return fail(err, ATTSVM_E_DATA,
                    "Y and y are both present; keep the one that holds the labels");
    if (upper || lower)
        TRY(read_labels(s, upper ? upper : lower, upper ? "Y" : "y", model, err));
    else
        TRY(samples_classes(s, NULL, s->info.n, model, err));
    if (fold)
        TRY(read_folds(s, fold, err));
    if (inst)
        TRY(expect(inst, "inst", s->data->tokens, "tokens", err));
    return ATTSVM_OK;
}

attsvm_status samples_bags(attsvm_samples *s, const char *path,
                           const attsvm_samples_settings *settings, const attsvm_classifier *model,
                           attsvm_error *err)
{
    attsvm_read_settings reading;
    attsvm_read_settings_init(&reading);
    reading.threads = settings->threads;
    TRY(attsvm_archive_open(&s->archive, path, &reading, err));
    attsvm_status status = build(s, settings, model, err);
    return status == ATTSVM_OK ? status : base_fail_in(err, status, base_path_tail(path));
}
