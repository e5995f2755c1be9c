/* Selections in tests are arrays of the right length; fills in the lengths. */
#ifndef ATTSVM_LENGTHS_H
#define ATTSVM_LENGTHS_H

#include "attsvm/attsvm.h"

static inline int64_t term_queries(const attsvm_data *data, const attsvm_svm_settings *s, int64_t i)
{
    const bool prompt = s->problem == ATTSVM_PROBLEM_P || s->problem == ATTSVM_PROBLEM_V ||
                        s->problem == ATTSVM_PROBLEM_JOINT;
    const int64_t given = attsvm_data_describe(data).queries;
    if (prompt)
        return 1;
    if (s->query == ATTSVM_QUERY_ALL || s->query == ATTSVM_QUERY_CAUSAL)
        return attsvm_data_length(data, i);
    return s->query == ATTSVM_QUERY_GIVEN && given > 0 ? given : 1;
}

static inline attsvm_selection with_lengths(const attsvm_data *data,
                                            const attsvm_svm_settings *settings,
                                            attsvm_selection selection)
{
    int64_t terms = 0, cells = 0;
    for (int64_t i = 0; i < attsvm_data_describe(data).n; i++) {
        terms += term_queries(data, settings, i);
        cells += term_queries(data, settings, i) * attsvm_data_length(data, i);
    }
    selection.terms = selection.alpha ? terms : 0;
    selection.cells = selection.sets ? cells : 0;
    return selection;
}

/* attsvm_problem_create of such a selection. */
static inline attsvm_status problem_create(attsvm_problem **out, const attsvm_data *data,
                                           const attsvm_selection *selection,
                                           const attsvm_svm_settings *settings, attsvm_error *err)
{
    attsvm_selection whole = with_lengths(data, settings, *selection);
    return attsvm_problem_create(out, data, &whole, settings, err);
}

#endif
