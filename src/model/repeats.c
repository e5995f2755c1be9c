/*
 * Tokens that occur more than once in a sequence (theory 4.3).  Done once, when a model is made:
 * rows are hashed, equal hashes are compared entry by entry.
 */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a over the words of the widened row; -0 counts as 0. */
static uint64_t hash_row(const double *x, int64_t d)
{
    uint64_t hash = 14695981039346656037u;
    for (int64_t j = 0; j < d; j++) {
        double entry = x[j] + 0.0;
        uint64_t bits;
        memcpy(&bits, &entry, sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
        hash ^= hash >> 29;
    }
    return hash;
}

typedef struct hashing {
    const la_rows *rows;
    int64_t blocks;
    uint64_t *hash;
    double *scratch; /* d a worker */
} hashing;

static void hash_block(void *context, int64_t block, int worker)
{
    hashing *h = context;
    double *x = h->scratch + worker * h->rows->d;
    int64_t lo, hi;
    base_block(h->rows->count, h->blocks, block, &lo, &hi);
    for (int64_t t = lo; t < hi; t++) {
        la_row(h->rows, t, x);
        h->hash[t] = hash_row(x, h->rows->d);
    }
}

static bool equal_rows(const la_rows *rows, int64_t s, int64_t t, double *scratch)
{
    double *x = scratch, *y = scratch + rows->d;
    la_row(rows, s, x);
    la_row(rows, t, y);
    for (int64_t j = 0; j < rows->d; j++)
        if (x[j] != y[j])
            return false;
    return true;
}

typedef struct entry {
    uint64_t hash;
    int32_t token;
} entry;

static int by_hash_then_token(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

/* same (T): lowest index of an equal row of `rows`, whose hashes are in e.  True: some repeat. */
static bool classes(const la_rows *rows, entry *e, int32_t *same, double *scratch)
{
    bool repeats = false;
    for (int64_t t = 0; t < rows->count; t++)
        same[t] = (int32_t)t;
    qsort(e, (size_t)rows->count, sizeof *e, by_hash_then_token);
    for (int64_t k = 1; k < rows->count; k++) {
        /* all of one hash follow each other, the lowest token first */
        for (int64_t l = k - 1; l >= 0 && e[l].hash == e[k].hash; l--) {
            if (same[e[l].token] == e[l].token &&
                equal_rows(rows, e[l].token, e[k].token, scratch)) {
                same[e[k].token] = e[l].token;
                repeats = true;
                break;
            }
        }
    }
    return repeats;
}

static attsvm_status hash_rows(const la_rows *rows, int threads, uint64_t **out, attsvm_error *err)
{
    hashing h = { .rows = rows, .blocks = base_blocks(rows->count, 4096) };
    TRY(base_allocate(&h.hash, (size_t)rows->count, sizeof *h.hash, "hashes of tokens", err));
    attsvm_status status = base_allocate(&h.scratch, (size_t)(rows->d * threads), sizeof(double),
                                         "hashes of tokens", err);
    if (status != ATTSVM_OK) {
        free(h.hash);
        return status;
    }
    base_parallel(threads, h.blocks, hash_block, &h);
    free(h.scratch);
    *out = h.hash;
    return ATTSVM_OK;
}

attsvm_status model_find_repeats(const attsvm_data *data, const la_rows *keys, int threads,
                                 int32_t *same_key, uint8_t *repeats, bool *any, attsvm_error *err)
{
    uint64_t *hash = NULL;
    entry *e = NULL;
    double *scratch = NULL;
    *any = false;
    attsvm_status status = hash_rows(keys, threads, &hash, err);
    if (status != ATTSVM_OK)
        return status;
    status = base_allocate(&e, (size_t)data->T_max, sizeof *e, "hashes of a sequence", err);
    if (status != ATTSVM_OK)
        goto done;
    status = base_allocate(&scratch, 2 * (size_t)data->d, sizeof *scratch, "two tokens", err);
    if (status != ATTSVM_OK)
        goto done;
    for (int64_t i = 0; i < data->n; i++) {
        la_rows rows = model_rows_of(data, keys, i);
        int64_t first = data_first(data, i);
        for (int64_t t = 0; t < rows.count; t++)
            e[t] = (entry){ hash[data->index ? data->index[first + t] : first + t], (int32_t)t };
        repeats[i] = classes(&rows, e, same_key + first, scratch);
        *any |= repeats[i];
    }
done:
    free(scratch);
    free(e);
    free(hash);
    return status;
}

void model_split_by_score(const attsvm_data *data, const int32_t *same_key, const double *scores,
                          double *scratch, int32_t *same)
{
    for (int64_t i = 0; i < data->n; i++) {
        la_rows rows = data_sequence(data, i);
        int64_t first = data_first(data, i);
        for (int64_t t = 0; t < rows.count; t++) {
            same[first + t] = (int32_t)t;
            for (int64_t s = same_key[first + t]; s < t; s++) {
                if (same_key[first + s] != same_key[first + t] || same[first + s] != s)
                    continue;
                if (scores ? scores[first + s] == scores[first + t]
                           : equal_rows(&rows, s, t, scratch)) {
                    same[first + t] = (int32_t)s;
                    break;
                }
            }
        }
    }
}
