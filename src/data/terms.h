/* Terms: sequences with their queries (theory 1 and 2), and their best tokens. */
#ifndef ATTSVM_DATA_TERMS_H
#define ATTSVM_DATA_TERMS_H

#include "data/data.h"

/*
 * A term is a sequence with one of its queries; it has one softmax and one selected token.  Terms
 * are ordered by sequence, then by query.
 */
typedef struct data_terms {
    const attsvm_data *data;
    int32_t mode; /* attsvm_query, resolved by whether Z exists; 0: no queries (p and v problems) */
    int64_t token;         /* of ATTSVM_QUERY_TOKEN                                               */
    int64_t count;         /* of all terms                                                        */
    const attsvm_array *Z; /* of ATTSVM_QUERY_GIVEN                                               */
} data_terms;

/* mode 0, or an attsvm_query; errors name the sequence that has no such token. */
attsvm_status data_terms_create(data_terms *out, const attsvm_data *data, int32_t mode,
                                int64_t token, attsvm_error *err);
/* Number of sequence i's first term; of its queries; of the tokens that query q sees. */
int64_t data_terms_first(const data_terms *terms, int64_t i);
int64_t data_terms_queries(const data_terms *terms, int64_t i);
int64_t data_terms_visible(const data_terms *terms, int64_t i, int64_t q);
/*
 * Cells index sets and softmax values: one for each term and each token of its sequence (seen or
 * not), ordered by term.  first (n, may be NULL) receives the first cell of each sequence.
 */
attsvm_status data_terms_cells(const data_terms *terms, int64_t *first, int64_t *cells,
                               attsvm_error *err);
/* Sequence and query of a term. */
void data_terms_find(const data_terms *terms, int64_t term, int64_t *i, int64_t *q);
/* z of query q of sequence i, widened, into z (d). */
void data_terms_query(const data_terms *terms, int64_t i, int64_t q, double *z);
/* Label of the term, -1 or +1; 0 if the data set has none (or not one for every term). */
int data_terms_label(const data_terms *terms, int64_t i, int64_t q);

/*
 * The token with the best score Y h(x) of each term, lowest index on ties, into alpha.  *ties (may
 * be NULL) counts the terms with such a tie.
 */
attsvm_status data_select_optimal(const data_terms *terms, const data_head *head, int64_t *alpha,
                                  int64_t *ties, attsvm_error *err);

#endif
