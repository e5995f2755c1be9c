/*
 * What the command-line tests need and a shell cannot do:
 *
 *     helper write FILE NAME:DTYPE:SHAPE=VALUES...   arrays of any content; values are repeated
 *     helper change IN OUT NAME:INDEX=VALUE...       a copy of a file with some elements changed
 *     helper replace IN OUT NAME OLD NEW             the same for text in an array of uint8
 *     helper drop IN OUT NAME                        a copy without that array
 *     helper value FILE NAME INDEX                   an element; -1 is the last one
 *     helper json [PATH...]                          standard input must be one JSON object; prints
 *                                                    what is at each path (arrays.X.dtype)
 *     helper peak FILE COMMAND...                    runs it; its highest resident memory, in kB,
 *                                                    into FILE.PID
 */
#include "la/la.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARRAYS = 16, ROOM = 256 /* bytes that a text may grow by */ };

static int stop(const char *what, const char *text)
{
    fprintf(stderr, "helper: %s: %s\n", what, text);
    return 2;
}

static attsvm_dtype dtype_of(const char *name)
{
    for (int k = ATTSVM_F16; k <= ATTSVM_U64; k++)
        if (strcmp(attsvm_dtype_name((attsvm_dtype)k), name) == 0)
            return (attsvm_dtype)k;
    return 0;
}

static void store(attsvm_dtype dtype, double value, char *out)
{
    uint16_t half = dtype == ATTSVM_F16 ? la_float_to_half((float)value) : 0;
    float single = (float)value;
    int64_t integer = dtype > ATTSVM_F64 ? (int64_t)value : 0;
    const void *from = dtype == ATTSVM_F16   ? (const void *)&half
                       : dtype == ATTSVM_F32 ? (const void *)&single
                       : dtype == ATTSVM_F64 ? (const void *)&value
                                             : (const void *)&integer;
    memcpy(out, from, attsvm_dtype_size(dtype)); /* little-endian integers shrink from the front */
}

/* "X:float32:2,3=1,nan" taken apart in place. */
static int parse_array(char *text, attsvm_named_array *out)
{
    char *dtype = strchr(text, ':'), *shape = dtype ? strchr(dtype + 1, ':') : NULL;
    char *values = shape ? strchr(shape + 1, '=') : NULL;
    if (!values)
        return stop("not NAME:DTYPE:SHAPE=VALUES", text);
    *dtype++ = *shape++ = *values++ = '\0';
    *out = (attsvm_named_array){ .name = text, .array.dtype = dtype_of(dtype) };
    if (!out->array.dtype)
        return stop("unknown dtype", dtype);
    for (char *word = strtok(shape, ","); word; word = strtok(NULL, ","))
        out->array.shape[out->array.ndim++] = atoll(word);
    double list[256];
    int64_t given = 0, count = attsvm_array_count(&out->array);
    for (char *word = strtok(values, ","); word && given < 256; word = strtok(NULL, ","))
        list[given++] = strtod(word, NULL);
    if (count < 0 || (count > 0 && given == 0))
        return stop("no values, or a negative shape", text);
    size_t size = attsvm_dtype_size(out->array.dtype);
    char *data = calloc((size_t)count + 1, size);
    if (!data)
        return stop("no memory", text);
    for (int64_t k = 0; k < count; k++)
        store(out->array.dtype, list[k % given], data + (size_t)k * size);
    out->array.data = data;
    return 0;
}

static int write_arrays(int count, char **words)
{
    attsvm_named_array arrays[MOST_ARRAYS] = { 0 };
    attsvm_error err;
    int64_t kept = 0;
    for (int k = 1; k < count && kept < MOST_ARRAYS; k++, kept++)
        if (parse_array(words[k], &arrays[kept]) != 0)
            return 2;
    attsvm_status status = attsvm_archive_write(words[0], arrays, kept, &err);
    for (int64_t k = 0; k < kept; k++)
        free((void *)arrays[k].array.data);
    return status == ATTSVM_OK ? 0 : stop("write", err.message);
}

/* The arrays of a file, to be changed; each is copied. */
static int open_arrays(const char *path, attsvm_archive **archive, attsvm_named_array *arrays,
                       int64_t *count)
{
    attsvm_error err;
    if (attsvm_archive_open(archive, path, NULL, &err) != ATTSVM_OK)
        return stop("open", err.message);
    if (attsvm_archive_count(*archive) > MOST_ARRAYS)
        return stop("too many arrays", path);
    for (int64_t k = 0; k < attsvm_archive_count(*archive); k++, (*count)++) {
        attsvm_array array = *attsvm_archive_array(*archive, k);
        size_t size = (size_t)attsvm_array_count(&array) * attsvm_dtype_size(array.dtype);
        void *copy = malloc(size + ROOM + 1);
        if (!copy)
            return stop("no memory", path);
        memcpy(copy, array.data, size);
        array.data = copy;
        arrays[k] = (attsvm_named_array){ attsvm_archive_name(*archive, k), array };
    }
    return 0;
}

static attsvm_array *named(attsvm_named_array *arrays, int64_t count, const char *name)
{
    for (int64_t k = 0; k < count; k++)
        if (strcmp(arrays[k].name, name) == 0)
            return &arrays[k].array;
    return NULL;
}

static int change_element(attsvm_named_array *arrays, int64_t count, char *text)
{
    char *index = strchr(text, ':'), *value = index ? strchr(index, '=') : NULL;
    if (!value)
        return stop("not NAME:INDEX=VALUE", text);
    *index++ = *value++ = '\0';
    attsvm_array *array = named(arrays, count, text);
    int64_t at = atoll(index);
    if (!array || at < 0 || at >= attsvm_array_count(array))
        return stop("no such element", text);
    size_t size = attsvm_dtype_size(array->dtype);
    store(array->dtype, strtod(value, NULL), (char *)array->data + (size_t)at * size);
    return 0;
}

/* The text of an array with its first `old` replaced; arrays have room for it. */
static int replace_text(attsvm_array *array, const char *old, const char *new)
{
    if (!array || array->dtype != ATTSVM_U8)
        return stop("no text", old);
    char *text = (char *)array->data;
    text[array->shape[0]] = '\0';
    char *at = strstr(text, old);
    if (!at || strlen(new) > strlen(old) + ROOM)
        return stop("not in the text, or too long", old);
    size_t rest = strlen(at + strlen(old)) + 1;
    memmove(at + strlen(new), at + strlen(old), rest);
    memcpy(at, new, strlen(new));
    array->shape[0] = (int64_t)strlen(text);
    return 0;
}

static void drop_array(attsvm_named_array *arrays, int64_t *count, const char *name)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < *count; k++) {
        if (strcmp(arrays[k].name, name) == 0)
            free((void *)arrays[k].array.data);
        else
            arrays[kept++] = arrays[k];
    }
    *count = kept;
}

/* words: IN OUT and what to do. */
static int edit(const char *how, int count, char **words)
{
    attsvm_archive *archive = NULL;
    attsvm_named_array arrays[MOST_ARRAYS] = { 0 };
    attsvm_error err;
    int64_t held = 0;
    int failed = open_arrays(words[0], &archive, arrays, &held);
    if (!failed && strcmp(how, "change") == 0)
        for (int k = 2; k < count && !failed; k++)
            failed = change_element(arrays, held, words[k]);
    if (!failed && strcmp(how, "replace") == 0)
        failed = count == 5 ? replace_text(named(arrays, held, words[2]), words[3], words[4])
                            : stop("replace", "NAME OLD NEW");
    if (!failed && strcmp(how, "drop") == 0)
        drop_array(arrays, &held, words[2]);
    if (!failed && attsvm_archive_write(words[1], arrays, held, &err) != ATTSVM_OK)
        failed = stop("write", err.message);
    for (int64_t k = 0; k < held; k++)
        free((void *)arrays[k].array.data);
    attsvm_archive_free(archive);
    return failed;
}

static const json_t *at_path(const json_t *json, char *path)
{
    for (char *key = strtok(path, "."); key && json; key = strtok(NULL, "."))
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(key))
                                   : json_object_get(json, key);
    return json;
}

static int print_paths(int count, char **paths)
{
    json_error_t error;
    json_t *json = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(json)) {
        json_decref(json);
        return stop("not one JSON object", error.text);
    }
    for (int k = 0; k < count; k++) {
        const json_t *value = at_path(json, paths[k]);
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        printf("%s\n", text ? text : "missing");
        free(text);
    }
    json_decref(json);
    return 0;
}

static int peak(const char *file, char **command)
{
    char name[512];
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) {
        execv(command[0], command);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return stop(command[0], "it could not be run");
    snprintf(name, sizeof name, "%s.%ld", file, (long)child);
    FILE *out = fopen(name, "w");
    if (!out || fprintf(out, "%ld\n", usage.ru_maxrss) < 0 || fclose(out) != 0)
        return stop(name, "it could not be written");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int print_value(const char *path, const char *name, int64_t index)
{
    attsvm_archive *archive;
    attsvm_error err;
    if (attsvm_archive_open(&archive, path, NULL, &err) != ATTSVM_OK)
        return stop(path, err.message);
    const attsvm_array *array = attsvm_archive_find(archive, name);
    if (array)
        printf("%.17g\n",
               attsvm_array_get(array, index < 0 ? attsvm_array_count(array) + index : index));
    attsvm_archive_free(archive);
    return array ? 0 : stop(name, "not in the file");
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "write") == 0)
        return write_arrays(argc - 2, argv + 2);
    if (argc > 4 && (strcmp(argv[1], "change") == 0 || strcmp(argv[1], "replace") == 0 ||
                     strcmp(argv[1], "drop") == 0))
        return edit(argv[1], argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "json") == 0)
        return print_paths(argc - 2, argv + 2);
    if (argc == 5 && strcmp(argv[1], "value") == 0)
        return print_value(argv[2], argv[3], atoll(argv[4]));
    if (argc > 3 && strcmp(argv[1], "peak") == 0)
        return peak(argv[2], argv + 3);
    return stop("usage", "helper write|change|replace|drop FILE... | value FILE NAME INDEX | "
                         "json [PATH...] | peak FILE COMMAND...");
}
