/* attsvm info: the content of a file, and whether it is a valid data set. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An open file and its data set. */
typedef struct report {
    const char *path;
    const attsvm_read_settings *reading;
    attsvm_archive *archive;
    attsvm_named_array *arrays; /* all arrays of the file */
    int64_t count;
    attsvm_data *data;
    attsvm_data_info info;
    int64_t mapped_bytes, copied_bytes;
} report;

int64_t cli_array_bytes(const attsvm_array *array)
{
    return attsvm_array_count(array) * (int64_t)attsvm_dtype_size(array->dtype);
}

io_json *cli_array_json(const attsvm_array *array)
{
    io_json *json = io_json_object();
    io_json_set(json, "dtype", io_json_text(attsvm_dtype_name(array->dtype)));
    io_json_set(json, "shape", io_json_integers(array->shape, array->ndim));
    return json;
}

io_json *cli_count_json(int64_t count)
{
    return count < 0 ? io_json_number(NAN) : io_json_integer(count);
}

static attsvm_status open_report(report *r, attsvm_error *err)
{
    TRY(attsvm_archive_open(&r->archive, r->path, r->reading, err));
    r->count = attsvm_archive_count(r->archive);
    TRY(base_allocate(&r->arrays, (size_t)r->count, sizeof *r->arrays, "list of arrays", err));
    for (int64_t k = 0; k < r->count; k++) {
        const attsvm_array *array = attsvm_archive_array(r->archive, k);
        r->arrays[k] = (attsvm_named_array){ attsvm_archive_name(r->archive, k), *array };
        if (attsvm_archive_is_mapped(r->archive, k))
            r->mapped_bytes += cli_array_bytes(array);
        else
            r->copied_bytes += cli_array_bytes(array);
    }
    attsvm_status status = attsvm_data_create(&r->data, r->arrays, r->count, r->reading, err);
    if (status != ATTSVM_OK)
        return base_fail_in(err, status, base_path_tail(r->path));
    r->info = attsvm_data_describe(r->data);
    return ATTSVM_OK;
}

static void close_report(report *r)
{
    attsvm_data_free(r->data);
    free(r->arrays);
    attsvm_archive_free(r->archive);
}

/* Unknown names, and `tokens` beside X. */
static bool is_ignored(const report *r, const char *name)
{
    return !attsvm_data_array(r->data, name) ||
           (strcmp(name, "tokens") == 0 && r->info.storage != ATTSVM_TABLE);
}

static const char *storage_name(attsvm_storage storage)
{
    return storage == ATTSVM_EQUAL ? "equal" : storage == ATTSVM_RAGGED ? "ragged" : "table";
}

/* ----------------------------------------------------------------------------- JSON */

static io_json *labels_json(const attsvm_data_info *info)
{
    if (info->positive + info->negative == 0)
        return io_json_number(NAN); /* null: there are none */
    io_json *labels = io_json_object();
    io_json_set(labels, "positive", io_json_integer(info->positive));
    io_json_set(labels, "negative", io_json_integer(info->negative));
    return labels;
}

static io_json *arrays_json(const report *r)
{
    io_json *list = io_json_object();
    for (int64_t k = 0; k < r->count; k++) {
        io_json *array = cli_array_json(&r->arrays[k].array);
        io_json_set(array, "bytes", io_json_integer(cli_array_bytes(&r->arrays[k].array)));
        io_json_set(array, "mapped", io_json_bool(attsvm_archive_is_mapped(r->archive, k)));
        io_json_set(list, r->arrays[k].name, array);
    }
    return list;
}

static attsvm_status print_json(const report *r, attsvm_error *err)
{
    const attsvm_data_info *info = &r->info;
    io_json *json = io_json_object(), *ignored = io_json_list();
    for (int64_t k = 0; k < r->count; k++)
        if (is_ignored(r, r->arrays[k].name))
            io_json_append(ignored, io_json_text(r->arrays[k].name));
    for (int64_t k = 0; attsvm_archive_skipped(r->archive, k); k++)
        io_json_append(ignored, io_json_text(attsvm_archive_skipped(r->archive, k)));
    io_json_set(json, "file", io_json_text(r->path));
    io_json_set(json, "n", io_json_integer(info->n));
    io_json_set(json, "T_min", io_json_integer(info->T_min));
    io_json_set(json, "T_max", io_json_integer(info->T_max));
    io_json_set(json, "d", io_json_integer(info->d));
    io_json_set(json, "tokens", io_json_integer(info->tokens));
    io_json_set(json, "dtype", io_json_text(attsvm_dtype_name(info->dtype)));
    io_json_set(json, "storage", io_json_text(storage_name(info->storage)));
    io_json_set(json, "labels", labels_json(info));
    io_json_set(json, "queries", io_json_integer(info->queries));
    io_json_set(json, "vocabulary", io_json_integer(info->vocabulary));
    io_json_set(json, "arrays", arrays_json(r));
    io_json_set(json, "ignored", ignored);
    io_json_set(json, "mapped_bytes", io_json_integer(r->mapped_bytes));
    io_json_set(json, "verified", io_json_bool(r->reading->verify));
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* ----------------------------------------------------------------------------- text */

enum { MOST_BARS = 8, BAR_WIDTH = 40, TEXT_WIDTH = 80 };
enum { MANY_BYTES = 1 << 20 }; /* copied arrays worth a hint that they could be mapped */

static void print_summary(const report *r)
{
    const attsvm_data_info *info = &r->info;
    printf("%s: %" PRId64 " sequence%s of ", cli_shown(r->path), info->n, base_plural(info->n));
    if (info->T_min < info->T_max)
        printf("%" PRId64 " to ", info->T_min);
    printf("%" PRId64 " token%s in %" PRId64 " dimension%s\n\n", info->T_max,
           base_plural(info->T_max), info->d, base_plural(info->d));
    printf("  tokens    %" PRId64 ", %s", info->tokens, attsvm_dtype_name(info->dtype));
    if (info->storage == ATTSVM_TABLE)
        printf(", rows of a table of %" PRId64 " word%s", info->vocabulary,
               base_plural(info->vocabulary));
    if (info->positive + info->negative > 0)
        printf("\n  labels    %" PRId64 " positive, %" PRId64 " negative\n", info->positive,
               info->negative);
    else
        printf("\n  labels    none\n");
    if (info->queries > 0)
        printf("  queries   %" PRId64 " for each sequence\n", info->queries);
    if (info->T_min < info->T_max)
        printf("  lengths   %.3g on average\n", (double)info->tokens / (double)info->n);
}

/* Sequences by length, in at most MOST_BARS bars of equal width. */
static void print_lengths(const report *r)
{
    const attsvm_data_info *info = &r->info;
    int64_t counts[MOST_BARS] = { 0 }, span = info->T_max - info->T_min + 1, most = 1;
    int64_t width = (span + MOST_BARS - 1) / MOST_BARS, bars = (span + width - 1) / width;
    if (span == 1)
        return;
    for (int64_t i = 0; i < info->n; i++)
        counts[(attsvm_data_length(r->data, i) - info->T_min) / width]++;
    for (int64_t b = 0; b < bars; b++)
        most = counts[b] > most ? counts[b] : most;
    printf("\n      length   sequences\n");
    for (int64_t b = 0; b < bars; b++) {
        int64_t lo = info->T_min + b * width;
        int64_t hi = lo + width - 1 < info->T_max ? lo + width - 1 : info->T_max;
        char label[48];
        if (lo == hi)
            snprintf(label, sizeof label, "%" PRId64, lo);
        else
            snprintf(label, sizeof label, "%" PRId64 "-%" PRId64, lo, hi);
        /* at least one character unless empty */
        int64_t length = (counts[b] * BAR_WIDTH + most - 1) / most;
        printf("%12s %9" PRId64 "%s", label, counts[b], length > 0 ? "  " : "");
        for (int64_t k = 0; k < length; k++)
            putchar('#');
        putchar('\n');
    }
}

static const char *meaning_of(const char *name)
{
    for (const cli_entry *e = cli_arrays; e->name; e++)
        if (strcmp(e->name, name) == 0)
            return e->meaning;
    return "";
}

static void print_arrays(const report *r)
{
    printf("\n  %-10s%-9s%-18s%8s  %-8s%s\n", "array", "dtype", "shape", "size", "kept", "meaning");
    for (int64_t k = 0; k < r->count; k++) {
        const attsvm_named_array *named = &r->arrays[k];
        if (is_ignored(r, named->name))
            continue;
        char shape[160], size[32];
        attsvm_array_shape_text(&named->array, shape, sizeof shape);
        cli_bytes((double)cli_array_bytes(&named->array), size, sizeof size);
        printf("  %-10s%-9s%-18s%8s  %-8s%s\n", named->name, attsvm_dtype_name(named->array.dtype),
               shape, size, attsvm_archive_is_mapped(r->archive, k) ? "mapped" : "copied",
               meaning_of(named->name));
    }
}

/* One item of a wrapped list; returns the column after it. */
static int print_one_ignored(int column, const char *array, const char *what)
{
    char name[BASE_NAME_SIZE], text[256];
    base_printable(array, name); /* the name may contain any bytes */
    int length = snprintf(text, sizeof text, "%s %s", name, what);
    bool breaks = column > 0 && column + 2 + length > TEXT_WIDTH;
    if (column == 0)
        column = printf("\n  ignored   ");
    else
        column = breaks ? printf(",\n            ") - 1 : column + printf(", ");
    return column + printf("%s", text);
}

static void print_ignored(const report *r)
{
    int column = 0;
    for (int64_t k = 0; k < r->count; k++) {
        const attsvm_named_array *named = &r->arrays[k];
        char shape[160];
        if (!is_ignored(r, named->name))
            continue;
        attsvm_array_shape_text(&named->array, shape, sizeof shape);
        column = print_one_ignored(column, named->name, shape);
    }
    for (int64_t k = 0; attsvm_archive_skipped(r->archive, k); k++)
        column =
            print_one_ignored(column, attsvm_archive_skipped(r->archive, k), "(cannot be read)");
    if (column > 0)
        putchar('\n');
}

static bool ends_in_npz(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npz") == 0;
}

/* Remarks about the data, and what to do next. */
static void print_hints(const report *r)
{
    printf("\nAll tokens%s are finite%s.\n", r->info.queries ? " and queries" : "",
           r->reading->verify ? "; the stored checksums are right" : "");
    if (!r->reading->verify && r->mapped_bytes > 0 && ends_in_npz(r->path))
        printf("Mapped arrays are not checked against their checksums; --verify does that.\n");
    if (r->copied_bytes >= MANY_BYTES)
        printf(
            "Copied arrays are held in memory; `attsvm info %s -o other.npz` makes a file that can "
            "be mapped.\n",
            cli_shown(r->path));
}

/* Commands that suit the data: with queries the W model, with a head in the file a fixed one. */
static void print_next(const report *r)
{
    bool labels = r->info.positive + r->info.negative > 0;
    bool head = attsvm_data_array(r->data, "v"), ids = attsvm_data_array(r->data, "ids");
    const char *model = r->info.queries > 0 ? "W" : "p";
    if (attsvm_data_array(r->data, "labels") && r->info.vocabulary > 0) {
        printf("\nNext: attsvm graph %s\n", cli_shown(r->path));
        return;
    }
    if (labels)
        printf("\nNext: attsvm train %s --model %s%s\n", cli_shown(r->path), head ? "" : "v",
               model);
    else
        printf("Without labels Y there are no scores, so this data set cannot be used for "
               "training.\n");
    if (ids || (labels && head))
        printf("%s attsvm svm %s --problem %s%s\n",
               labels ? "     " : "\nNext:", cli_shown(r->path), model, ids ? " --select ids" : "");
}

static void print_text(const report *r)
{
    print_summary(r);
    print_lengths(r);
    print_arrays(r);
    print_ignored(r);
    print_hints(r);
    print_next(r);
}

attsvm_status cli_info(cli_call *call, attsvm_error *err)
{
    report r = { .path = call->arguments[0], .reading = cli_settings(call, &attsvm_read_table) };
    attsvm_status status = open_report(&r, err);
    if (status == ATTSVM_OK && call->common->output)
        status = attsvm_archive_write(call->common->output, r.arrays, r.count, err);
    if (status == ATTSVM_OK && call->common->json)
        status = print_json(&r, err);
    else if (status == ATTSVM_OK && !call->common->quiet)
        print_text(&r);
    close_report(&r);
    return status;
}
