/* Which terms a pass over the data reads. */
#include "svm/svm.h"

#include <math.h>

/* Whether a term of a v problem is one token among many that nobody reads. */
static bool is_token(const svm_rows *rows, const svm_term *term)
{
    const int64_t few = 1 << 14; /* bytes that are read as fast as one row of them */
    return rows->problem == ATTSVM_PROBLEM_V && term->visible * data_row_bytes(rows->data) > few;
}

static int64_t needs(const void *context, int64_t g)
{
    const svm_walk *walk = context;
    const svm_rows *rows = walk->pricing->rows;
    if (!svm_pricing_wants(walk->pricing, walk->settings, g))
        return DATA_NOTHING;
    svm_term term = svm_rows_term(rows, g);
    return is_token(rows, &term) ? term.base : DATA_ALL;
}

data_reader svm_walk_open(const svm_walk *pass, int64_t lo, int64_t end)
{
    data_reader reader = data_reader_terms(&pass->pricing->rows->terms, lo, end);
    reader.needs = needs;
    reader.context = pass;
    return reader;
}

void svm_walk_all(svm_pricing *pricing, const svm_pass_settings *settings, int64_t blocks,
                  base_block_body *body, void *context)
{
    const attsvm_data *data = pricing->rows->data;
    bool most = settings->share == UINT64_MAX && isinf(settings->near);
    data_reader_order(data, most ? DATA_IN_ORDER : DATA_IN_RUNS);
    const double start = base_seconds();
    base_parallel(pricing->threads, blocks, body, context);
    pricing->seconds += base_seconds() - start;
    data_reader_order(data, DATA_IN_ORDER);
}
