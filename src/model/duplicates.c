/*
 * Tokens that occur more than once in a sequence (theory 4.3), and scores.  Computed when a model
 * is created, in one pass over the tokens: rows are hashed, and equal hashes are compared entry by
 * entry.
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

/* same (T): lowest index of an equal row of `rows`, whose hashes are in e.  True: there are some.
 */
static bool classes(const la_rows *rows, entry *e, int32_t *same, double *scratch)
{
    bool repeats = false;
    for (int64_t t = 0; t < rows->count; t++)
        same[t] = (int32_t)t;
    qsort(e, (size_t)rows->count, sizeof *e, by_hash_then_token);
    for (int64_t k = 1; k < rows->count; k++) {
        /* equal hashes are contiguous, lowest token first */
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

/* One call of model_read_tokens. */
typedef struct search {
    model *m;
    int64_t blocks;
    bool score;      /* m->scores are x'v */
    entry *entries;  /* T_max per worker  */
    double *scratch; /* 2 d per worker    */
    bool any;        /* atomic            */
} search;

static void search_block(void *context, int64_t block, int worker)
{
    search *s = context;
    model *m = s->m;
    const attsvm_data *data = m->data;
    entry *e = s->entries + worker * data->T_max;
    double *scratch = s->scratch + worker * 2 * data->d;
    int64_t lo, hi;
    base_block(m->own_hi - m->own_lo, s->blocks, block, &lo, &hi);
    data_reader reader = data_reader_open(data, m->own_lo + lo, m->own_lo + hi);
    for (int64_t at; data_reader_each(&reader, &at);) {
        la_rows tokens = data_sequence(data, at), rows = model_keys(m, at);
        if (s->score)
            la_rows_dot(&tokens, m->v, m->scores + data_first(data, at));
        for (int64_t t = 0; t < rows.count; t++) {
            la_row(&rows, t, scratch);
            e[t] = (entry){ hash_row(scratch, data->d), (int32_t)t };
        }
        m->has_duplicates[at] = classes(&rows, e, m->same_key_as + data_first(data, at), scratch);
        if (m->has_duplicates[at])
            __atomic_store_n(&s->any, true, __ATOMIC_RELAXED);
    }
}

attsvm_status model_read_tokens(model *m, bool *any, attsvm_error *err)
{
    search s = { .m = m,
                 .blocks = base_blocks(m->own_hi - m->own_lo, 16),
                 .score = m->scores && !m->loss.takes_log };
    size_t each = (size_t)m->data->T_max, room;
    if (!base_multiply(each, (size_t)m->threads, &room))
        return fail(err, ATTSVM_E_MEMORY, "hashes of tokens: too many for this machine");
    TRY(base_allocate(&s.entries, room, sizeof *s.entries, "hashes of tokens", err));
    attsvm_status status = base_allocate(&s.scratch, 2 * (size_t)(m->d * m->threads),
                                         sizeof *s.scratch, "two tokens", err);
    if (status == ATTSVM_OK)
        base_parallel(m->threads, s.blocks, search_block, &s);
    *any = s.any;
    free(s.scratch);
    free(s.entries);
    return status;
}

void model_split_by_score(const attsvm_data *data, int64_t lo, int64_t hi, const int32_t *same_key,
                          const double *scores, double *scratch, int32_t *same)
{
    for (int64_t i = lo; i < hi; i++) {
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
