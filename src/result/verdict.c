/* A verdict in a file: the run, the solution that it was compared with, and the numbers. */
#include "result/result.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "none",  "unsaturated", "infeasible", "global",
                                     "local", "not_local",   NULL };
static const char *const outcomes[] = { "not run", "optimal",    "infeasible",
                                        "stalled", "stationary", NULL };

#define SETTINGS attsvm_verdict
#define O(member)                                                                                  \
    "optimality_" #member, offsetof(attsvm_verdict, optimality.member),                            \
        sizeof(((attsvm_optimality *)0)->member)
static const field verdict_fields[] = {
    { F(kind), FIELD_CHOICE, ATTSVM_VERDICT_NONE, ATTSVM_VERDICT_NOT_LOCAL, 0, "", kinds, 0 },
    { F(outcome), FIELD_CHOICE, ATTSVM_NOT_RUN, ATTSVM_STATIONARY, 0, "", outcomes, 0 },
    { F(claimed), FIELD_BOOL, 0, 1, 0, "", 0, 0 },
    { F(terms), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(attention), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(norm), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(correlation), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(angle), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(efficiency), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(margin), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(gap), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(undecided), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(unpulled), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { O(local), FIELD_BOOL, 0, 1, 0, "", 0, 0 },
    { O(global), FIELD_BOOL, 0, 1, 0, "", 0, 0 },
    { O(unique), FIELD_BOOL, 0, 1, 0, "", 0, 0 },
    { O(tie), FIELD_BOOL, 0, 1, 0, "", 0, 0 },
    { O(tied_optimal), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { O(tied_support), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { O(support), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { O(against), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { O(missed), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { O(advantage), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
};
#undef O
#undef SETTINGS
static const settings_table verdict_table = { "verdict", verdict_fields,
                                              sizeof verdict_fields / sizeof *verdict_fields,
                                              sizeof(attsvm_verdict), NULL };

/* The solution without ids, which the run has, then the settings, then `more`. */
static attsvm_status add_arrays(result_list *list, const attsvm_verdict *verdict,
                                const attsvm_train *run, const attsvm_solution *solution,
                                attsvm_error *err)
{
    const attsvm_claim claim = attsvm_solution_claim(solution);
    char *memory;
    TRY(result_list_claim(list, run->data, &claim, err));
    int64_t kept = 0;
    for (int64_t k = 0; k < list->count; k++)
        if (strcmp(list->arrays[k].name, "ids") != 0)
            list->arrays[kept++] = list->arrays[k];
    const int64_t last = list->count; /* its place in `owned` is free */
    list->count = kept;
    io_json *json = result_origin("verify", run->data);
    result_add_train(json, run);
    result_add_status(json, &claim);
    result_add_svm(json, &claim.settings);
    io_json_set(json, "verdict", result_object(&verdict_table, verdict, NULL));
    attsvm_status status = result_settings_array(json, &list->arrays[list->count++], &memory, err);
    list->owned[last] = memory;
    return status;
}

/* The three must belong together. */
static attsvm_status check_verdict(const attsvm_verdict *verdict, const attsvm_train *run,
                                   const attsvm_solution *solution, attsvm_error *err)
{
    if (run->info.outcome == ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "this run has not been trained yet");
    if (!attsvm_verdict_name(verdict->kind) || !attsvm_outcome_name(verdict->outcome))
        return fail(err, ATTSVM_E_ARG, "kind = %d or outcome = %d of the verdict is not known",
                    (int)verdict->kind, (int)verdict->outcome);
    if (verdict->terms != run->m->terms || solution->claim.theta_count != run->m->map_size)
        return fail(err, ATTSVM_E_ARG,
                    "the verdict has %" PRId64 " terms and the solution %" PRId64
                    " entries, but the run has %" PRId64 " and %" PRId64,
                    verdict->terms, solution->claim.theta_count, run->m->terms, run->m->map_size);
    return ATTSVM_OK;
}

attsvm_status attsvm_verdict_save(const attsvm_verdict *verdict, const attsvm_train *run,
                                  const attsvm_solution *solution, const char *path,
                                  const attsvm_named_array *more, int64_t count, attsvm_error *err)
{
    NEED(verdict);
    NEED(run);
    NEED(solution);
    TRY(result_check_more(more, count, err));
    TRY(check_verdict(verdict, run, solution, err));
    result_list list = { .count = 0 };
    attsvm_status status = add_arrays(&list, verdict, run, solution, err);
    for (int64_t k = 0; k < count && status == ATTSVM_OK; k++)
        list.arrays[list.count++] = more[k];
    if (status == ATTSVM_OK)
        status = result_write_run(run, path, list.arrays, list.count, err);
    result_list_free(&list);
    return status;
}

static attsvm_status read_verdict(attsvm_verdict *out, const attsvm_archive *archive,
                                  attsvm_error *err)
{
    io_json *json;
    TRY(result_settings_read(archive, &json, err));
    *out = (attsvm_verdict){ .kind = ATTSVM_VERDICT_NONE };
    const io_json *verdict = io_json_get(json, "verdict");
    attsvm_status status = verdict
                               ? result_read_object(&verdict_table, verdict, out, NULL, err)
                               : fail(err, ATTSVM_E_FORMAT, "not a result file of attsvm verify");
    if (status == ATTSVM_OK)
        status = result_read_svm(json, &out->svm, err);
    io_json_free(json);
    return status;
}

attsvm_status attsvm_verdict_load(attsvm_verdict *out, const char *path, attsvm_error *err)
{
    NEED(out);
    NEED(path);
    attsvm_archive *archive;
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    attsvm_status status = read_verdict(out, archive, err);
    attsvm_archive_free(archive);
    return status == ATTSVM_OK ? ATTSVM_OK : base_fail_in(err, status, path);
}
