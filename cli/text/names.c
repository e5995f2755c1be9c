/* Names of sequences and words of tokens, where the data set has them (bag_names, words). */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>

/* Entry k of a list of names, escaped for printing; NULL if there is none. */
static const char *entry(const attsvm_array *list, int64_t k)
{
    if (!list || k < 0)
        return NULL;
    const char *at = list->data, *end = at + attsvm_array_count(list);
    for (; k > 0 && at < end; k--)
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    if (at >= end)
        return NULL;
    char name[BASE_NAME_SIZE];
    const size_t size = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);
    snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : sizeof name - 1), at);
    return cli_shown(name);
}

const char *cli_sequence_name(const attsvm_data *data, int64_t i)
{
    return entry(attsvm_data_array(data, "bag_names"), i);
}

const char *cli_word(const attsvm_data *data, int64_t k)
{
    return entry(attsvm_data_array(data, "words"), k);
}

const char *cli_token_word(const attsvm_data *data, int64_t i, int64_t t)
{
    const attsvm_array *tokens = attsvm_data_array(data, "tokens");
    if (!tokens || t < 0 || t >= attsvm_data_length(data, i))
        return NULL;
    return cli_word(data, (int64_t)attsvm_array_get(tokens, attsvm_data_offset(data, i) + t));
}

void cli_row_names(const attsvm_data *data, int64_t i, int64_t selected, int64_t rival)
{
    const char *name = cli_sequence_name(data, i);
    const char *word = cli_token_word(data, i, selected), *other = cli_token_word(data, i, rival);
    if (name)
        printf("  %s", name);
    if (word)
        printf("  '%s'%s%s%s", word, other ? " over '" : "", other ? other : "", other ? "'" : "");
    else if (other)
        printf("  '%s'", other);
}
