/* Selection of the best scores, and comparison of keys. */
#include "data/reader.h"
#include "data/terms.h"

#include <stdlib.h>

/* First index of the largest sign * score[t], t < count; *tied when another one equals it. */
static int64_t best_token(const double *score, int64_t count, int sign, bool *tied)
{
    int64_t best = 0;
    *tied = false;
    for (int64_t t = 1; t < count; t++) {
        double gain = sign * score[t] - sign * score[best];
        if (gain > 0) {
            best = t;
            *tied = false;
        } else if (gain == 0) {
            *tied = true;
        }
    }
    return best;
}

/* Distributes the terms of each rank's sequences to all ranks. */
static attsvm_status gather_selection(const data_terms *terms, int64_t *alpha, int64_t *ties,
                                      attsvm_error *err)
{
    dist_comm *comm = terms->data->comm;
    double sum = (double)*ties;
    int64_t *first;
    if (!terms->data->share)
        return ATTSVM_OK;
    TRY(base_allocate(&first, (size_t)dist_size(comm) + 1, sizeof *first, "shares", err));
    for (int r = 0; r <= dist_size(comm); r++)
        first[r] = data_terms_first(terms, terms->data->share[r]);
    dist_gather(comm, alpha, sizeof *alpha, first);
    dist_sum(comm, &sum, 1);
    *ties = (int64_t)sum;
    free(first);
    return ATTSVM_OK;
}

/* The best tokens of sequence i; score: T_max + d. */
static attsvm_status select_in(const data_terms *terms, const data_head *head, int64_t i,
                               double *score, int64_t *alpha, int64_t *ties, attsvm_error *err)
{
    const attsvm_data *data = terms->data;
    la_rows rows = data_sequence(data, i);
    double *x = score + data->T_max;
    for (int64_t t = 0; t < rows.count; t++) {
        la_row(&rows, t, x);
        score[t] = data_head_value(head, x);
    }
    for (int64_t q = 0; q < data_terms_queries(terms, i); q++) {
        bool tied;
        int label = data_terms_label(terms, i, q);
        if (label == 0)
            return fail(err, ATTSVM_E_DATA,
                        "Y has %" PRId64 " label%s for %" PRId64 " sequence%s with %" PRId64
                        " quer%s",
                        data->labels, base_plural(data->labels), data->n, base_plural(data->n),
                        terms->count, terms->count == 1 ? "y" : "ies");
        alpha[data_terms_first(terms, i) + q] =
            best_token(score, data_terms_visible(terms, i, q), label, &tied);
        *ties += tied;
    }
    return ATTSVM_OK;
}

attsvm_status data_select_optimal(const data_terms *terms, const data_head *head, int64_t *alpha,
                                  int64_t *ties, attsvm_error *err)
{
    const attsvm_data *data = terms->data;
    int64_t tied_terms = 0;
    if (!data->Y)
        return fail(err, ATTSVM_E_DATA,
                    "Missing array Y: scores need one label for each sequence (next-token data: "
                    "use attsvm graph).");
    double *score;
    TRY(base_allocate(&score, (size_t)(data->T_max + data->d), sizeof *score, "scores", err));
    attsvm_status status = ATTSVM_OK;
    int64_t lo, hi;
    data_own(data, &lo, &hi);
    data_reader reader = data_reader_open(data, lo, hi);
    for (int64_t i; status == ATTSVM_OK && data_reader_each(&reader, &i);)
        status = select_in(terms, head, i, score, alpha, &tied_terms, err);
    free(score);
    TRY(dist_agree(data->comm, status, err));
    TRY(gather_selection(terms, alpha, &tied_terms, err));
    if (ties)
        *ties = tied_terms;
    return ATTSVM_OK;
}

/* Entry j of a stored row; one-hot words are unit vectors. */
static double entry(const attsvm_array *X, int64_t row, int64_t d, int64_t j)
{
    return X->data ? attsvm_array_get(X, row * d + j) : row == j;
}

bool data_same_key(const attsvm_data *data, const double *W, int64_t i, int64_t a, int64_t t)
{
    la_rows rows = data_sequence(data, i);
    int64_t d = data->d, row_a = rows.index ? rows.index[a] : a;
    int64_t row_t = rows.index ? rows.index[t] : t;
    attsvm_array X = { rows.base, { (row_a > row_t ? row_a : row_t) + 1, d }, 2, data->dtype };
    if (row_a == row_t)
        return true;
    if (!W) {
        for (int64_t j = 0; j < d; j++)
            if (entry(&X, row_a, d, j) != entry(&X, row_t, d, j))
                return false;
        return true;
    }
    for (int64_t k = 0; k < d; k++) {
        dd key = base_dd(0);
        for (int64_t j = 0; j < d; j++) {
            dd delta = base_dd_sum(entry(&X, row_a, d, j), -entry(&X, row_t, d, j));
            key = base_dd_add(key, base_dd_mul(base_dd(W[k * d + j]), delta));
        }
        if (key.hi != 0 || key.lo != 0)
            return false;
    }
    return true;
}
