/*
 * Copies of sequences that will be wanted again, of a data set that streams.  They lie one after
 * the other, each behind a line that holds the number of its sequence.
 */
#include "data/data.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

/* Bytes of sequence i and its line. */
static int64_t size_of(const data_kept *kept, int64_t i)
{
    const attsvm_data *data = kept->data;
    return LINE + (data_length(data, i) * data_row_bytes(data) + LINE - 1) / LINE * LINE;
}

static void layout(data_kept *kept, arena *a)
{
    kept->copies = base_take(a, (size_t)kept->size, 1);
    kept->place = base_take(a, (size_t)kept->data->n, sizeof *kept->place);
}

attsvm_status data_kept_open(data_kept *kept, const attsvm_data *data, int64_t bytes,
                             attsvm_error *err)
{
    const int64_t most = (int64_t)UINT32_MAX * LINE;
    arena a = { 0 };
    *kept = (data_kept){ .data = data, .size = bytes < most ? bytes : most };
    layout(kept, &a);
    TRY(base_arena_reserve(&a, "sequences in memory", err));
    kept->memory = a.base;
    layout(kept, &a);
    memset(kept->place, 0, (size_t)data->n * sizeof *kept->place);
    return ATTSVM_OK;
}

void data_kept_close(data_kept *kept)
{
    free(kept->memory);
    *kept = (data_kept){ 0 };
}

void data_keep(data_kept *kept, int64_t i)
{
    const int64_t size = size_of(kept, i);
    int64_t at = __atomic_load_n(&kept->used, __ATOMIC_RELAXED);
    if (kept->place[i] > 0)
        return;
    do {
        if (size > kept->size - at)
            return;
    } while (!__atomic_compare_exchange_n(&kept->used, &at, at + size, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    la_rows tokens = data_sequence(kept->data, i);
    memcpy(kept->copies + at, &i, sizeof i);
    memcpy(kept->copies + at + LINE, tokens.base,
           (size_t)(tokens.count * data_row_bytes(kept->data)));
    kept->place[i] = (uint32_t)(at / LINE + 1);
}

const void *data_kept_tokens(const data_kept *kept, int64_t i)
{
    return kept->copies + (size_t)kept->place[i] * LINE;
}

void data_keep_only(data_kept *kept, data_keep_test *stays, const void *context)
{
    int64_t to = 0;
    for (int64_t from = 0, i, size; from < kept->used; from += size) {
        memcpy(&i, kept->copies + from, sizeof i);
        size = size_of(kept, i);
        kept->place[i] = 0;
        if (!stays(context, i))
            continue;
        memmove(kept->copies + to, kept->copies + from, (size_t)size);
        kept->place[i] = (uint32_t)(to / LINE + 1);
        to += size;
    }
    kept->used = to;
}
