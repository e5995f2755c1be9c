/* The words of a next-token graph: names where the data file has them, row numbers where not. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/*
 * `words` of a data file is like that of word vectors: bytes with a newline after each word, one
 * for every row of E.
 */
static attsvm_status split(cli_graph_shown *g, const attsvm_array *words, int64_t count,
                           attsvm_error *err)
{
    const char *at = words->data, *end = at + attsvm_array_count(words);
    TRY(base_allocate(&g->word, (size_t)count, sizeof *g->word, "words", err));
    g->count = count;
    for (int64_t k = 0; k < count; k++) {
        const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        char name[CLI_WORD] = "", printable[BASE_NAME_SIZE];
        if (at >= end)
            return fail(err, ATTSVM_E_DATA, "words has %" PRId64 " word%s; E has %" PRId64 " row%s",
                        k, base_plural(k), count, base_plural(count));
        stop = stop ? stop : end;
        size_t size = (size_t)(stop - at) < sizeof name ? (size_t)(stop - at) : sizeof name - 1;
        memcpy(name, at, size);
        while (size > 0 && at + size < stop && ((unsigned char)at[size] & 0xC0) == 0x80)
            name[--size] = '\0'; /* no part of a letter */
        snprintf(g->word[k], sizeof g->word[k], "%s", base_printable(name, printable));
        at = stop < end ? stop + 1 : end;
    }
    return ATTSVM_OK;
}

attsvm_status cli_graph_words(cli_graph_shown *g, const char *path, int64_t count,
                              attsvm_error *err)
{
    attsvm_archive *archive = NULL;
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    const attsvm_array *words = attsvm_archive_find(archive, "words");
    attsvm_status status = ATTSVM_OK;
    if (words && words->dtype != ATTSVM_U8)
        status = fail(err, ATTSVM_E_DATA, "words must be uint8: bytes, a newline after each word");
    else if (words)
        status = split(g, words, count, err);
    attsvm_archive_free(archive);
    return status == ATTSVM_OK ? ATTSVM_OK : base_fail_in(err, status, path);
}

const char *cli_graph_word(const cli_graph_shown *g, int64_t row, char buffer[CLI_WORD])
{
    if (g->word && row < g->count)
        return g->word[row];
    snprintf(buffer, CLI_WORD, "%" PRId64, row);
    return buffer;
}
