/* Terms: sequences with their queries (theory 1 and 2). */
#include "data/terms.h"

attsvm_status data_terms_create(data_terms *out, const attsvm_data *data, int32_t mode,
                                int64_t token, attsvm_error *err)
{
    data_terms terms = { .data = data, .mode = mode, .token = token, .count = data->n };
    if (data->T_min < 1)
        return fail(err, ATTSVM_E_DATA,
                    "a sequence has no tokens; only classifiers accept such data");
    if (mode == ATTSVM_QUERY_GIVEN) {
        terms.Z = attsvm_data_array(data, "Z");
        if (!terms.Z)
            terms.mode = ATTSVM_QUERY_TOKEN;
        else if (token != 0)
            return fail(err, ATTSVM_E_ARG,
                        "query token %" PRId64
                        ": the data set has queries Z; query = token takes tokens instead",
                        token);
    }
    if (terms.mode == ATTSVM_QUERY_GIVEN)
        terms.count = data->n * data->queries;
    else if (terms.mode == ATTSVM_QUERY_ALL || terms.mode == ATTSVM_QUERY_CAUSAL)
        terms.count = data->tokens;
    else if (terms.mode == ATTSVM_QUERY_TOKEN && (token < 0 || token >= data->T_min))
        for (int64_t i = 0; i < data->n; i++)
            if (token < 0 || token >= data_length(data, i))
                return fail(err, ATTSVM_E_ARG,
                            "query token %" PRId64 " is not in 0..%" PRId64
                            ", the tokens of sequence %" PRId64,
                            token, data_length(data, i) - 1, i);
    *out = terms;
    return ATTSVM_OK;
}

int64_t data_terms_queries(const data_terms *terms, int64_t i)
{
    switch (terms->mode) {
    case ATTSVM_QUERY_GIVEN: return terms->data->queries;
    case ATTSVM_QUERY_ALL:
    case ATTSVM_QUERY_CAUSAL: return data_length(terms->data, i);
    default: return 1;
    }
}

int64_t data_terms_first(const data_terms *terms, int64_t i)
{
    switch (terms->mode) {
    case ATTSVM_QUERY_GIVEN: return i * terms->data->queries;
    case ATTSVM_QUERY_ALL:
    case ATTSVM_QUERY_CAUSAL: return data_first(terms->data, i);
    default: return i;
    }
}

int64_t data_terms_visible(const data_terms *terms, int64_t i, int64_t q)
{
    return terms->mode == ATTSVM_QUERY_CAUSAL ? q + 1 : data_length(terms->data, i);
}

attsvm_status data_terms_cells(const data_terms *terms, int64_t *first, int64_t *cells,
                               attsvm_error *err)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < terms->data->n; i++) {
        int64_t T = data_length(terms->data, i), queries = data_terms_queries(terms, i);
        if (T > 0 && queries > (INT64_MAX / 16 - sum) / T)
            return fail(err, ATTSVM_E_MEMORY,
                        "%" PRId64 " queries and %" PRId64 " tokens of sequence %" PRId64
                        " are too many pairs",
                        queries, T, i);
        if (first)
            first[i] = sum;
        sum += queries * T;
    }
    *cells = sum;
    return ATTSVM_OK;
}

void data_terms_find(const data_terms *terms, int64_t term, int64_t *i, int64_t *q)
{
    int64_t lo = 0, hi = terms->data->n - 1;
    while (lo < hi) {
        int64_t middle = (lo + hi + 1) / 2;
        if (data_terms_first(terms, middle) <= term)
            lo = middle;
        else
            hi = middle - 1;
    }
    *i = lo;
    *q = term - data_terms_first(terms, lo);
}

void data_terms_query(const data_terms *terms, int64_t i, int64_t q, double *z)
{
    if (terms->mode == ATTSVM_QUERY_GIVEN) {
        la_rows rows = { terms->Z->data, NULL, terms->count, terms->data->d, terms->Z->dtype };
        la_row(&rows, i * terms->data->queries + q, z);
        return;
    }
    la_rows rows = data_sequence(terms->data, i);
    int64_t t = terms->mode == ATTSVM_QUERY_TOKEN  ? terms->token
                : terms->mode == ATTSVM_QUERY_LAST ? rows.count - 1
                                                   : q;
    la_row(&rows, t, z);
}

int data_terms_label(const data_terms *terms, int64_t i, int64_t q)
{
    const attsvm_data *data = terms->data;
    if (!data->Y)
        return 0;
    if (data->labels == data->n)
        return data->Y[i];
    return data->labels == terms->count ? data->Y[data_terms_first(terms, i) + q] : 0;
}
