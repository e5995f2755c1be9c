/* The page of a directory: every result in it, made from its JSON and its figure. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

typedef struct source { /* owns what a section borrows */
    io_json *json;
    char *svg;
    report_number *numbers;
    char (*texts)[2][400]; /* the value and the expected value */
} source;

static void source_free(source *s)
{
    io_json_free(s->json);
    free(s->svg);
    free(s->numbers);
    free(s->texts);
}

/* The file from its <svg> tag on; NULL if it has none. */
static char *read_svg(const char *path)
{
    enum { PIECE = 1 << 16 };
    char *text = NULL;
    size_t used = 0, room = 0, got = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    do {
        char *grown = io_grow(text, used, PIECE + 1, &room, 1, NULL);
        if (!grown)
            break;
        text = grown;
        got = fread(text + used, 1, PIECE, file);
        used += got;
        text[used] = '\0';
    } while (got > 0);
    fclose(file);
    char *tag = text ? strstr(text, "<svg") : NULL;
    if (!tag) {
        free(text);
        return NULL;
    }
    memmove(text, tag, strlen(tag) + 1);
    return text;
}

/* Appends the expected value to `text`; returns whether the number agrees with it. */
static bool show_target(char *text, size_t size, const io_json *target, const char *from)
{
    double wanted = NAN, tolerance = NAN;
    bool ok = true;
    size_t used = strlen(text);
    if (!target)
        return true;
    io_json_as_number(io_json_get(target, "expected"), &wanted);
    io_json_as_number(io_json_get(target, "tolerance"), &tolerance);
    io_json_as_bool(io_json_get(target, "ok"), &ok);
    const char *unjudged = io_json_as_text(io_json_get(target, "unjudged"));
    if (unjudged) {
        snprintf(text + used, size - used, "%s%.6g, %s: %s", used > 0 ? "; " : "", wanted, unjudged,
                 from ? from : "");
        return true;
    }
    char room[32] = "";
    if (tolerance > 0)
        snprintf(room, sizeof room, " \xC2\xB1 %.2g", tolerance);
    snprintf(text + used, size - used, "%s%s%.6g%s: %s", used > 0 ? "; " : "", ok ? "" : "NOT ",
             wanted, room, from ? from : "");
    return ok;
}

/* Reads one key number from the JSON: its value as text and the expected value. */
static void show_number(const source *s, int64_t k, const char *key)
{
    double value = NAN;
    const io_json *check = io_json_get(io_json_get(s->json, "checks"), key);
    const io_json *own = io_json_get(io_json_get(s->json, "own"), key);
    io_json_as_number(io_json_get(io_json_get(s->json, "numbers"), key), &value);
    if (isnan(value))
        snprintf(s->texts[k][0], sizeof s->texts[k][0], "none");
    else
        snprintf(s->texts[k][0], sizeof s->texts[k][0], "%.6g", value);
    const char *from = io_json_as_text(io_json_get(check, "source"));
    bool ok = show_target(s->texts[k][1], sizeof s->texts[k][1], check, from);
    ok &= show_target(s->texts[k][1], sizeof s->texts[k][1], own, "our own run of this size");
    const char *meaning = io_json_as_text(io_json_get(io_json_get(s->json, "meanings"), key));
    s->numbers[k] = (report_number){ .key = key,
                                     .meaning = meaning ? meaning : "",
                                     .text = s->texts[k][0],
                                     .check = s->texts[k][1],
                                     .failed = !ok,
                                     .unjudged = io_json_get(check, "unjudged") != NULL };
}

static attsvm_status read_section(const experiment *e, const char *directory, source *s,
                                  report_section *out, bool *found, attsvm_error *err)
{
    char path[4096];
    int64_t count = 0, k = 0;
    *found = false;
    snprintf(path, sizeof path, "%s/%s.json", directory, e->id);
    if (io_json_read(&s->json, path, NULL) != ATTSVM_OK)
        return ATTSVM_OK;
    const io_json *numbers = io_json_get(s->json, "numbers");
    count = io_json_count(numbers) > 0 ? io_json_count(numbers) : 0;
    TRY(base_allocate(&s->numbers, (size_t)count, sizeof *s->numbers, "page", err));
    TRY(base_allocate(&s->texts, (size_t)count, sizeof *s->texts, "page", err));
    for (const char *key = io_json_next_key(numbers, NULL); key && k < count;
         key = io_json_next_key(numbers, key))
        show_number(s, k++, key);
    snprintf(path, sizeof path, "%s/%s.svg", directory, e->id);
    s->svg = read_svg(path);
    *out = (report_section){ .id = e->id,
                             .title = e->title,
                             .paper = e->paper,
                             .setting = e->setting,
                             .command = e->command,
                             .caption = e->caption,
                             .says = e->says,
                             .code = e->code,
                             .finds = io_json_as_text(io_json_get(s->json, "finds")),
                             .svg = s->svg,
                             .numbers = s->numbers,
                             .number_count = count,
                             .unit = e->unit,
                             .seconds = NAN };
    io_json_as_integer(io_json_get(s->json, "runs"), &out->runs);
    io_json_as_integer(io_json_get(s->json, "seed"), &out->seed);
    io_json_as_number(io_json_get(s->json, "seconds"), &out->seconds);
    *found = true;
    return ATTSVM_OK;
}

attsvm_status experiments_page(const char *directory, attsvm_error *err)
{
    int64_t all = 0, count = 0;
    source *sources = NULL;
    report_section *sections = NULL;
    char path[4096];
    while (experiments_all[all])
        all++;
    attsvm_status status = base_allocate(&sources, (size_t)all + 1, sizeof *sources, "page", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&sections, (size_t)all + 1, sizeof *sections, "page", err);
    for (int64_t k = 0; k < all && status == ATTSVM_OK; k++) {
        bool found;
        status =
            read_section(experiments_all[k], directory, &sources[k], &sections[count], &found, err);
        count += found;
    }
    if (status == ATTSVM_OK &&
        (size_t)snprintf(path, sizeof path, "%s/index.html", directory) >= sizeof path)
        status = fail(err, ATTSVM_E_ARG, "%.60s...: the name is too long", directory);
    if (status == ATTSVM_OK)
        status = report_page_write(path, sections, count, err);
    for (int64_t k = 0; sources && k < all; k++)
        source_free(&sources[k]);
    free(sections);
    free(sources);
    return status;
}
