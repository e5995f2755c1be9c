/*
 * --select: which tokens a problem is about.  opt, the best scores; ids or sets, as the data set
 * says; or a result file, whose ids or softmax are taken.
 */
#include "cli.h"
#include "svm/svm.h"

#include <stdlib.h>
#include <string.h>

static bool wants_sets(const attsvm_svm_settings *s)
{
    return s->problem == ATTSVM_PROBLEM_MULTI || s->problem == ATTSVM_PROBLEM_FINITE;
}

static attsvm_status read_ids(cli_selection *out, const attsvm_array *ids, int64_t terms,
                              attsvm_error *err)
{
    if (!ids)
        return fail(err, ATTSVM_E_DATA, "ids is not there; it holds a selection, one token each");
    if (attsvm_array_count(ids) != terms)
        return fail(err, ATTSVM_E_DATA, "ids has %" PRId64 " entries; this problem needs %" PRId64,
                    attsvm_array_count(ids), terms);
    for (int64_t k = 0; k < terms; k++)
        TRY(data_integer(ids, "ids", k, &out->alpha[k], err));
    return ATTSVM_OK;
}

static attsvm_status check_tokens(const attsvm_array *array, const char *name,
                                  const attsvm_data *data, attsvm_error *err)
{
    if (!array)
        return fail(err, ATTSVM_E_DATA, "%s is not there; it has one entry for each token", name);
    if (attsvm_array_count(array) != data->tokens)
        return fail(err, ATTSVM_E_DATA, "%s has %" PRId64 " entries; there are %" PRId64 " tokens",
                    name, attsvm_array_count(array), data->tokens);
    return ATTSVM_OK;
}

/* O, and s where the problem needs it. */
static attsvm_status read_sets(cli_selection *out, const attsvm_array *O, const attsvm_array *s,
                               const attsvm_data *data, bool finite, attsvm_error *err)
{
    TRY(check_tokens(O, "O", data, err));
    if (finite)
        TRY(check_tokens(s, "s", data, err));
    for (int64_t k = 0; k < data->tokens; k++) {
        out->sets[k] = attsvm_array_get(O, k) != 0;
        out->softmax[k] = finite ? attsvm_array_get(s, k) : 0;
    }
    return ATTSVM_OK;
}

/* The tokens that a trained model gives more attention than `threshold`. */
static attsvm_status sets_of_softmax(cli_selection *out, const attsvm_array *softmax,
                                     const attsvm_data *data, double threshold, attsvm_error *err)
{
    TRY(check_tokens(softmax, "softmax", data, err));
    for (int64_t k = 0; k < data->tokens; k++) {
        out->softmax[k] = attsvm_array_get(softmax, k);
        out->sets[k] = out->softmax[k] > threshold;
    }
    return ATTSVM_OK;
}

/* One token each, as sets. */
static void sets_of_alpha(cli_selection *out, const attsvm_data *data)
{
    for (int64_t i = 0; i < data->n; i++)
        out->sets[data_first(data, i) + out->alpha[i]] = 1;
    for (int64_t k = 0; k < data->tokens; k++)
        out->softmax[k] = out->sets[k];
}

static attsvm_status from_result(cli_selection *out, const attsvm_data *data,
                                 const attsvm_svm_settings *s, const char *path, int64_t terms,
                                 attsvm_error *err)
{
    attsvm_archive *archive;
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    const attsvm_array *softmax = attsvm_archive_find(archive, "softmax");
    attsvm_status status;
    if (!wants_sets(s))
        status = read_ids(out, attsvm_archive_find(archive, "ids"), terms, err);
    else if (softmax)
        status = sets_of_softmax(out, softmax, data, s->threshold, err);
    else
        status =
            read_sets(out, attsvm_archive_find(archive, "O"), attsvm_archive_find(archive, "s"),
                      data, s->problem == ATTSVM_PROBLEM_FINITE, err);
    attsvm_archive_free(archive);
    return status == ATTSVM_OK ? ATTSVM_OK : base_fail_in(err, status, path);
}

static bool is_result(const char *source)
{
    return strcmp(source, "opt") != 0 && strcmp(source, "ids") != 0 && strcmp(source, "sets") != 0;
}

/* From the data set itself. */
static attsvm_status fill(cli_selection *out, const attsvm_data *data, const attsvm_svm_settings *s,
                          int64_t terms, attsvm_error *err)
{
    bool sets = wants_sets(s);
    if (strcmp(out->source, "sets") == 0) {
        if (!sets)
            return fail(err, ATTSVM_E_ARG, "--select sets is for the problems multi and finite");
        return read_sets(out, attsvm_data_array(data, "O"), attsvm_data_array(data, "s"), data,
                         s->problem == ATTSVM_PROBLEM_FINITE, err);
    }
    bool opt = strcmp(out->source, "opt") == 0;
    if (sets && terms != data->n)
        return fail(err, ATTSVM_E_ARG,
                    "--select %s gives one token a query, and there are several "
                    "queries a sequence; --select sets is needed",
                    out->source);
    if (opt)
        TRY(attsvm_select_optimal(data, s, out->alpha, &out->ties, err));
    else
        TRY(read_ids(out, attsvm_data_array(data, "ids"), terms, err));
    if (sets)
        sets_of_alpha(out, data);
    return ATTSVM_OK;
}

attsvm_status cli_select(cli_selection *out, const attsvm_data *data, const char *file,
                         const attsvm_svm_settings *s, const char *source, attsvm_error *err)
{
    bool sets = wants_sets(s);
    int64_t terms;
    *out = (cli_selection){ .source = source && source[0] ? source : sets ? "sets" : "opt" };
    TRY(attsvm_svm_terms(data, s, &terms, err));
    attsvm_status status =
        base_allocate(&out->alpha, (size_t)terms, sizeof *out->alpha, "selection", err);
    if (status == ATTSVM_OK && sets)
        status = base_allocate(&out->sets, (size_t)data->tokens, 1, "sets", err);
    if (status == ATTSVM_OK && sets)
        status = base_allocate(&out->softmax, (size_t)data->tokens, sizeof *out->softmax, "softmax",
                               err);
    if (status == ATTSVM_OK && is_result(out->source))
        status = from_result(out, data, s, out->source, terms, err);
    else if (status == ATTSVM_OK) {
        status = fill(out, data, s, terms, err);
        if (status == ATTSVM_E_DATA)
            base_fail_in(err, status, file);
    }
    if (status != ATTSVM_OK) {
        cli_selection_free(out);
        return status;
    }
    out->selection = sets ? (attsvm_selection){ .sets = out->sets, .softmax = out->softmax }
                          : (attsvm_selection){ .alpha = out->alpha };
    return ATTSVM_OK;
}

void cli_selection_free(cli_selection *selection)
{
    free(selection->alpha);
    free(selection->sets);
    free(selection->softmax);
    *selection = (cli_selection){ 0 };
}
