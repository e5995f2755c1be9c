/*
 * The selection of a problem: opt, the optimal tokens; ids or sets, arrays of the data set; or a
 * result file with ids or softmax.  A fault in the data set gives ATTSVM_E_DATA, one in the result
 * file ATTSVM_E_FORMAT with its name.
 */
#include "result/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct attsvm_chosen {
    attsvm_chosen_info info;
    data_terms terms; /* alpha has one entry for each */
    int64_t cells;
    int64_t *alpha;
    uint8_t *sets;
    double *softmax;
    char *source;
};

static attsvm_status read_ids(attsvm_chosen *out, const attsvm_array *ids, int64_t terms,
                              attsvm_error *err)
{
    if (!ids)
        return fail(err, ATTSVM_E_DATA,
                    "Missing array ids: the selection, one token for each sequence or query.");
    if (attsvm_array_count(ids) != terms)
        return fail(err, ATTSVM_E_DATA, "ids has %" PRId64 " entr%s; this problem needs %" PRId64,
                    attsvm_array_count(ids), attsvm_array_count(ids) == 1 ? "y" : "ies", terms);
    for (int64_t k = 0; k < terms; k++)
        TRY(data_integer(ids, "ids", k, &out->alpha[k], err));
    return ATTSVM_OK;
}

/* One entry per query and token; or, if `shared`, per token, the same for all queries. */
static attsvm_status check_cells(const attsvm_array *array, const char *name,
                                 const attsvm_chosen *out, const attsvm_data *data, bool shared,
                                 attsvm_error *err)
{
    const char *each = out->cells == data->tokens ? "token" : "query and token";
    if (!array)
        return fail(err, ATTSVM_E_DATA, "Missing array %s: one entry for each %s.", name, each);
    int64_t count = attsvm_array_count(array);
    if (count != out->cells && !(shared && count == data->tokens))
        return fail(err, ATTSVM_E_DATA,
                    "%s has %" PRId64 " entr%s; expected %" PRId64 ", one for each %s", name, count,
                    count == 1 ? "y" : "ies", out->cells, each);
    return ATTSVM_OK;
}

/* Reads the array by cell; with one entry per token, all queries get the same. */
static void read_cells(const attsvm_array *array, const attsvm_chosen *out, const attsvm_data *data,
                       double *values)
{
    bool shared = attsvm_array_count(array) != out->cells;
    int64_t k = 0;
    for (int64_t i = 0; i < data->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&out->terms, i); q++)
            for (int64_t at = data_first(data, i); at < data_first(data, i + 1); at++, k++)
                values[k] = attsvm_array_get(array, shared ? at : k);
}

/* Problem finite takes logarithms of the softmax values in the sets. */
static attsvm_status check_softmax(const attsvm_chosen *out, const attsvm_data *data,
                                   attsvm_error *err)
{
    int64_t k = 0;
    for (int64_t i = 0; i < data->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&out->terms, i); q++)
            for (int64_t t = 0; t < data_length(data, i); t++, k++)
                if (out->sets[k] && !(out->softmax[k] > 0 && isfinite(out->softmax[k])))
                    return fail(err, ATTSVM_E_DATA,
                                "s is %g at token %" PRId64 " of sequence %" PRId64
                                " (query %" PRId64 "); softmax must be positive where O is 1",
                                out->softmax[k], t, i, q);
    return ATTSVM_OK;
}

/* O, and s if the problem needs it. */
static attsvm_status read_sets(attsvm_chosen *out, const attsvm_array *O, const attsvm_array *s,
                               const attsvm_data *data, bool finite, attsvm_error *err)
{
    TRY(check_cells(O, "O", out, data, true, err));
    if (finite)
        TRY(check_cells(s, "s", out, data, true, err));
    read_cells(O, out, data, out->softmax);
    for (int64_t k = 0; k < out->cells; k++)
        out->sets[k] = out->softmax[k] != 0;
    if (finite)
        read_cells(s, out, data, out->softmax);
    return finite ? check_softmax(out, data, err) : ATTSVM_OK;
}

/* The tokens with more attention than `threshold` in a trained model. */
static attsvm_status sets_of_softmax(attsvm_chosen *out, const attsvm_array *softmax,
                                     const attsvm_data *data, double threshold, attsvm_error *err)
{
    TRY(check_cells(softmax, "softmax", out, data, false, err));
    read_cells(softmax, out, data, out->softmax);
    for (int64_t k = 0; k < out->cells; k++)
        out->sets[k] = out->softmax[k] > threshold;
    return ATTSVM_OK;
}

/* Sets of one token each. */
static void sets_of_alpha(attsvm_chosen *out, const attsvm_data *data)
{
    int64_t first = 0, term = 0;
    for (int64_t i = 0; i < data->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&out->terms, i); q++) {
            if (out->alpha[term] >= 0 && out->alpha[term] < data_length(data, i))
                out->sets[first + out->alpha[term]] = 1;
            term++;
            first += data_length(data, i);
        }
    for (int64_t k = 0; k < out->cells; k++)
        out->softmax[k] = out->sets[k];
}

static attsvm_status from_result(attsvm_chosen *out, const attsvm_data *data,
                                 const attsvm_svm_settings *s, const char *path, attsvm_error *err)
{
    attsvm_archive *archive;
    if (!strpbrk(path, "./"))
        return fail(err, ATTSVM_E_ARG,
                    "select = %s: expected opt, ids, sets, or a result file such as run.npz", path);
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    const attsvm_array *softmax = attsvm_archive_find(archive, "softmax");
    attsvm_status status;
    if (!result_has_sets(s))
        status = read_ids(out, attsvm_archive_find(archive, "ids"), out->terms.count, err);
    else if (softmax)
        status = sets_of_softmax(out, softmax, data, s->threshold, err);
    else
        status =
            read_sets(out, attsvm_archive_find(archive, "O"), attsvm_archive_find(archive, "s"),
                      data, s->problem == ATTSVM_PROBLEM_FINITE, err);
    attsvm_archive_free(archive);
    if (status == ATTSVM_E_DATA) /* of this file, not of the data set */
        status = ATTSVM_E_FORMAT;
    if (err && status != ATTSVM_OK)
        err->status = status;
    return status == ATTSVM_OK ? ATTSVM_OK : base_fail_in(err, status, path);
}

static bool is_result(const char *source)
{
    return strcmp(source, "opt") != 0 && strcmp(source, "ids") != 0 && strcmp(source, "sets") != 0;
}

static attsvm_status from_data(attsvm_chosen *out, const attsvm_data *data,
                               const attsvm_svm_settings *s, attsvm_error *err)
{
    bool sets = result_has_sets(s);
    if (strcmp(out->info.source, "sets") == 0) {
        if (!sets)
            return fail(err, ATTSVM_E_ARG, "--select sets is for the problems multi and finite");
        return read_sets(out, attsvm_data_array(data, "O"), attsvm_data_array(data, "s"), data,
                         s->problem == ATTSVM_PROBLEM_FINITE, err);
    }
    bool opt = strcmp(out->info.source, "opt") == 0;
    if (opt)
        TRY(attsvm_select_optimal(data, s, out->alpha, &out->info.ties, err));
    else
        TRY(read_ids(out, attsvm_data_array(data, "ids"), out->terms.count, err));
    if (sets)
        sets_of_alpha(out, data);
    return ATTSVM_OK;
}

static attsvm_status allocate(attsvm_chosen *out, bool sets, attsvm_error *err)
{
    size_t terms = (size_t)out->terms.count, cells = (size_t)out->cells;
    TRY(base_allocate(&out->alpha, terms, sizeof *out->alpha, "selection", err));
    if (!sets)
        return ATTSVM_OK;
    TRY(base_allocate(&out->sets, cells, 1, "sets", err));
    return base_allocate(&out->softmax, cells, sizeof *out->softmax, "softmax", err);
}

static attsvm_status choose(attsvm_chosen *out, const attsvm_data *data,
                            const attsvm_svm_settings *s, const char *source, attsvm_error *err)
{
    bool sets = result_has_sets(s);
    if (!source || !source[0])
        source = sets ? "sets" : "opt";
    const size_t size = strlen(source) + 1;
    TRY(base_allocate(&out->source, size, 1, "selection", err));
    memcpy(out->source, source, size);
    out->info.source = out->source;
    TRY(svm_rows_terms(&out->terms, data, s, err));
    TRY(data_terms_cells(&out->terms, NULL, &out->cells, err));
    TRY(allocate(out, sets, err));
    TRY(is_result(source) ? from_result(out, data, s, source, err) : from_data(out, data, s, err));
    attsvm_selection *selection = &out->info.selection;
    if (sets)
        *selection =
            (attsvm_selection){ .sets = out->sets, .softmax = out->softmax, .cells = out->cells };
    else
        *selection = (attsvm_selection){ .alpha = out->alpha, .terms = out->terms.count };
    return ATTSVM_OK;
}

attsvm_status attsvm_chosen_create(attsvm_chosen **out, const attsvm_data *data,
                                   const attsvm_svm_settings *settings, const char *source,
                                   attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    attsvm_svm_settings standard;
    attsvm_svm_settings_init(&standard);
    attsvm_chosen *chosen;
    TRY(base_allocate(&chosen, 1, sizeof *chosen, "selection", err));
    attsvm_status status = choose(chosen, data, settings ? settings : &standard, source, err);
    if (status == ATTSVM_OK)
        *out = chosen;
    else
        attsvm_chosen_free(chosen);
    return status;
}

attsvm_chosen_info attsvm_chosen_describe(const attsvm_chosen *chosen)
{
    if (!chosen)
        return (attsvm_chosen_info){ 0 };
    return chosen->info;
}

void attsvm_chosen_free(attsvm_chosen *chosen)
{
    if (!chosen)
        return;
    free(chosen->alpha);
    free(chosen->sets);
    free(chosen->softmax);
    free(chosen->source);
    free(chosen);
}
