/*
 * Passes over tokens that come from a disk.  A stretch of which half is wanted is walked through:
 * the system reads all of it ahead, in large pieces.  Of another the terms that are wanted are
 * asked for together, one stretch before they are needed; of a v problem with long sequences single
 * tokens.
 */
#include "svm/svm.h"

#include <math.h>

/* The sequence that the term belongs to; of the end of all terms, the end of all sequences. */
static int64_t sequence_of(const svm_pricing *pricing, int64_t term)
{
    const data_terms *terms = &pricing->rows->terms;
    int64_t i = pricing->rows->data->n, query;
    if (term < terms->count)
        data_terms_find(terms, term, &i, &query);
    return i;
}

/* The end of the stretch that begins with term lo. */
static int64_t stretch_end(const svm_walk *walk, int64_t lo)
{
    const svm_rows *rows = walk->pricing->rows;
    int64_t end = data_stretch(rows->data, sequence_of(walk->pricing, lo), rows->data->n);
    int64_t term = data_terms_first(&rows->terms, end);
    return term > lo && term < walk->end ? term : walk->end;
}

/* Whether a term of a v problem is one token among many that nobody reads. */
static bool is_token(const svm_rows *rows, const svm_term *term)
{
    const int64_t few = 1 << 14; /* bytes that are read as fast as one row of them */
    return rows->problem == ATTSVM_PROBLEM_V && term->visible * data_row_bytes(rows->data) > few;
}

/* Asks for the stretch that begins with term lo. */
static void ask(const svm_walk *walk, int64_t lo)
{
    const svm_pricing *pricing = walk->pricing;
    const svm_rows *rows = pricing->rows;
    if (lo == walk->end)
        return;
    int64_t hi = stretch_end(walk, lo), from = sequence_of(pricing, lo), to = from, wanted = 0;
    for (int64_t g = lo; g < hi; g++) {
        svm_term term = svm_rows_term(rows, g);
        wanted += svm_pricing_wants(pricing, walk->settings, g) && !is_token(rows, &term);
    }
    if (2 * wanted >= hi - lo)
        return;
    for (int64_t g = lo; g < hi; g++) {
        svm_term term = svm_rows_term(rows, g);
        if (!svm_pricing_wants(pricing, walk->settings, g))
            continue;
        if (is_token(rows, &term)) {
            data_row_ahead(rows->data, term.i, term.base);
            continue;
        }
        if (term.i > to) { /* the sequences from..to-1 are a run */
            data_ahead(rows->data, from, to);
            from = term.i;
        }
        to = term.i + 1;
    }
    data_ahead(rows->data, from, to);
}

bool svm_walk_on(svm_walk *walk)
{
    const svm_pricing *pricing = walk->pricing;
    const attsvm_data *data = pricing->rows->data;
    const int64_t over = walk->lo;
    walk->lo = walk->hi;
    if (!data->streams) {
        walk->hi = walk->end;
        return walk->lo < walk->hi;
    }
    if (over < walk->lo)
        data_give_back(data, sequence_of(pricing, over), sequence_of(pricing, walk->lo));
    else
        ask(walk, walk->lo);
    if (walk->lo == walk->end)
        return false;
    walk->hi = stretch_end(walk, walk->lo);
    ask(walk, walk->hi);
    return true;
}

void svm_walk_all(svm_pricing *pricing, const svm_pass_settings *settings, int64_t blocks,
                  base_block_body *body, void *context)
{
    const attsvm_data *data = pricing->rows->data;
    bool most = settings->share == UINT64_MAX && isinf(settings->near);
    data_set_order(data, most ? DATA_IN_ORDER : DATA_IN_RUNS);
    const double start = base_seconds();
    base_parallel(pricing->threads, blocks, body, context);
    pricing->seconds += base_seconds() - start;
    data_set_order(data, DATA_IN_ORDER);
}
