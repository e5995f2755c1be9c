/*
 * Word vectors from files: GloVe text (a word and its numbers on every line), or an archive with E
 * (V,d) and words, the words as bytes with a newline after each.  Only vectors of the requested
 * words are stored.
 */
#include "learn/samples/samples.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct vectors {
    const samples_vocabulary *v;
    float *rows;
    bool *has;
    int64_t columns;
} vectors;

static attsvm_status allocate(vectors *x, int64_t columns, attsvm_error *err)
{
    if (columns < 1)
        return fail(err, ATTSVM_E_FORMAT, "word vectors have no numbers");
    x->columns = columns;
    TRY(base_allocate(&x->rows, (size_t)(x->v->count * columns), sizeof *x->rows, "word vectors",
                      err));
    return base_allocate(&x->has, (size_t)x->v->count + 1, sizeof *x->has, "word vectors", err);
}

/* -------------------------------------------------------------------------- GloVe text */

/* Numbers of a line, separated by blanks, into row (columns). */
static attsvm_status parse_line(const char *at, const char *end, int64_t columns, float *row,
                                int64_t line, attsvm_error *err)
{
    int64_t column = 0;
    while (at < end) {
        const char *from = at;
        while (at < end && *at != ' ')
            at++;
        double value;
        if (column >= columns || !io_parse_number(from, (size_t)(at - from), &value))
            return fail(err, ATTSVM_E_FORMAT,
                        "line %" PRId64 ", number %" PRId64 ": expected a word and %" PRId64
                        " number%s",
                        line, column + 1, columns, base_plural(columns));
        row[column++] = (float)value;
        at += at < end;
    }
    if (column != columns)
        return fail(err, ATTSVM_E_FORMAT,
                    "line %" PRId64 " has %" PRId64 " number%s; the first has %" PRId64, line,
                    column, base_plural(column), columns);
    return ATTSVM_OK;
}

static attsvm_status read_glove(vectors *x, const char *bytes, size_t size, attsvm_error *err)
{
    const char *at = bytes, *stop = bytes + size;
    for (int64_t line = 1; at < stop; line++) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        end = end ? end : stop;
        const char *next = end < stop ? end + 1 : stop;
        while (end > at && (end[-1] == ' ' || end[-1] == '\r'))
            end--;
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        if (!blank && end > at)
            return fail(err, ATTSVM_E_FORMAT, "line %" PRId64 " is not a word and its numbers",
                        line);
        if (!x->rows) {
            int64_t columns = 0;
            for (const char *c = at; c < end; c++)
                columns += *c == ' ';
            TRY(allocate(x, columns, err));
        }
        int64_t place = blank ? samples_vocabulary_find(x->v, at, (size_t)(blank - at)) : -1;
        if (place >= 0 && !x->has[place]) {
            TRY(parse_line(blank + 1, end, x->columns, x->rows + place * x->columns, line, err));
            x->has[place] = true;
        }
        at = next;
    }
    return x->rows ? ATTSVM_OK : fail(err, ATTSVM_E_FORMAT, "holds no word vectors");
}

/* ----------------------------------------------------------------------------- archive */

static attsvm_status read_archive(vectors *x, const attsvm_archive *archive, attsvm_error *err)
{
    const attsvm_array *E = attsvm_archive_find(archive, "E");
    const attsvm_array *words = attsvm_archive_find(archive, "words");
    if (!E || !words || E->ndim != 2 || words->dtype != ATTSVM_U8)
        return fail(err, ATTSVM_E_FORMAT,
                    "expected E (V,d) and words, uint8 bytes with a newline after each word");
    TRY(allocate(x, E->shape[1], err));
    const char *at = words->data, *end = at + attsvm_array_count(words);
    for (int64_t k = 0; k < E->shape[0]; k++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if (at >= end)
            return fail(err, ATTSVM_E_FORMAT,
                        "words has %" PRId64 " word%s; E has %" PRId64 " row%s", k, base_plural(k),
                        E->shape[0], base_plural(E->shape[0]));
        const int64_t place = samples_vocabulary_find(x->v, at, (size_t)(stop - at));
        if (place >= 0 && !x->has[place]) {
            for (int64_t j = 0; j < x->columns; j++)
                x->rows[place * x->columns + j] = (float)attsvm_array_get(E, k * x->columns + j);
            x->has[place] = true;
        }
        at = stop < end ? stop + 1 : end;
    }
    return ATTSVM_OK;
}

/* ----------------------------------------------------------------------------- reading */

static attsvm_status read_any(vectors *x, const char *path, attsvm_error *err)
{
    bool is_directory = false;
    void *base = NULL;
    size_t size = 0;
    TRY(io_map_file(AT_FDCWD, path, &is_directory, &base, &size, err));
    attsvm_status status;
    if (!is_directory && base && !io_format_of_bytes(path, base, size)) {
        status = read_glove(x, base, size, err);
    } else {
        attsvm_archive *archive = NULL;
        status = attsvm_archive_open(&archive, path, NULL, err);
        if (status == ATTSVM_OK)
            status = read_archive(x, archive, err);
        attsvm_archive_free(archive);
    }
    if (base)
        munmap(base, size);
    return status;
}

attsvm_status samples_vectors_read(const char *path, const samples_vocabulary *v, float **rows,
                                   bool **has, int64_t *columns, attsvm_error *err)
{
    vectors x = { .v = v };
    attsvm_status status = read_any(&x, path, err);
    for (int64_t k = 0; status == ATTSVM_OK && k < v->count * x.columns; k++)
        if (!isfinite(x.rows[k]))
            status = fail(err, ATTSVM_E_FORMAT, "the vector of %s is not finite",
                          v->word[k / x.columns]);
    if (status != ATTSVM_OK) {
        free(x.rows);
        free(x.has);
        return base_fail_in(err, status, base_path_tail(path));
    }
    *rows = x.rows;
    *has = x.has;
    *columns = x.columns;
    return ATTSVM_OK;
}
