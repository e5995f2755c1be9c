/* attsvm check: verifies the claim of a result about a data set. */
#include "cli/cli.h"

#include <math.h>

#define SETTINGS check_options
typedef struct check_options {
    double tol;
    bool exact, other_data;
} check_options;
static const field check_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(tol), FIELD_DOUBLE, 0, 1, 0,
      "relative gap that counts as optimal; 0: 1e-12 for l2 and fro, else 1e-9", 0, 0 },
    { F(exact), FIELD_BOOL, 0, 1, 0,
      "prove it in rational numbers as well: l2, fro, l1, linf and infeasible claims", 0, 0 },
    { F(other_data), FIELD_BOOL, 0, 1, 0,
      "check the claim against FILE although RESULT was made from another data set", 0, 0 },
};
const settings_table cli_check_table = { "check options", check_fields,
                                         sizeof check_fields / sizeof *check_fields,
                                         sizeof(check_options), NULL };
#undef SETTINGS

static attsvm_status print_json(const attsvm_report *report, bool exact, attsvm_error *err)
{
    io_json *json = io_json_object();
    io_json_set(json, "valid", io_json_bool(report->valid));
    io_json_set(json, "consistent", io_json_bool(report->valid || report->consistent));
    io_json_set(json, "status", io_json_text(attsvm_outcome_name(report->outcome)));
    io_json_set(json, "min_margin", io_json_number(report->min_margin));
    io_json_set(json, "gap", io_json_number(report->gap));
    io_json_set(json, "dual_norm", io_json_number(report->dual_norm));
    io_json_set(json, "reason", io_json_text(report->reason));
    io_json_set(json, "norm", io_json_number(report->norm));
    io_json_set(json, "dual", io_json_number(report->dual));
    io_json_set(json, "violation", io_json_number(report->violation));
    io_json_set(json, "tight", cli_count_json(report->tight));
    io_json_set(json, "active", cli_count_json(report->active));
    io_json_set(json, "merged", cli_count_json(report->merged));
    io_json_set(json, "needed", io_json_number(report->needed));
    if (report->outcome == ATTSVM_INFEASIBLE) {
        io_json_set(json, "proof", io_json_text(attsvm_proof_name(report->proof)));
        io_json_set(json, "bound", io_json_number(report->bound));
    }
    if (exact)
        io_json_set(json, "exact", io_json_bool(report->exact));
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* A number and its meaning, if it was computed. */
static void print_figure(const char *name, double value, const char *meaning)
{
    if (!isnan(value))
        printf("  %-11s %-24.17g %s\n", name, value, meaning);
}

static void print_text(const cli_call *call, const attsvm_report *report)
{
    bool infeasible = report->outcome == ATTSVM_INFEASIBLE;
    printf("%s: %s\n\n", cli_shown(call->arguments[1]), report->valid ? "valid" : "NOT VALID");
    printf("  %-11s %s\n", "claimed", attsvm_outcome_name(report->outcome));
    print_figure("norm", report->norm, "|theta|");
    print_figure("dual value", report->dual, "no solution is below it");
    print_figure("gap", report->gap, "relative optimality gap, a proved bound");
    print_figure("needed", report->needed, "the smallest --tol that passes");
    print_figure("bound", report->bound, "no solution has a smaller norm");
    print_figure("min margin", report->min_margin,
                 "smallest <A,theta> over rows with right-hand side 1");
    print_figure("violation", report->violation, "largest shortfall of any row");
    print_figure("dual norm", report->dual_norm,
                 infeasible ? "norm of the weighted sum of rows; 0 is a contradiction"
                            : "of the weighted sum of rows; 1 at an optimum");
    if (report->tight >= 0)
        printf("  %-11s %" PRId64 " row%s, %" PRId64 " %s of selected tokens merged\n", "tight",
               report->tight, base_plural(report->tight), report->merged,
               report->merged == 1 ? "copy" : "copies");
    if (report->active >= 0)
        printf("  %-11s %" PRId64 " row%s with a positive multiplier\n", "active", report->active,
               base_plural(report->active));
    printf("\n%s%s: %s.\n", report->valid ? "Proved" : "Not proved",
           report->exact ? " in exact arithmetic" : "", report->reason);
}

/*
 * RESULT says what it was made from: another data set than FILE is an error, unless --other-data is
 * given.  *with is the data set with the trained head of the result, NULL where it has none.
 */
static attsvm_status take_origin(const cli_call *call, const attsvm_data *data, attsvm_data **with,
                                 attsvm_error *err)
{
    const check_options *options = cli_settings(call, &cli_check_table);
    attsvm_origin *origin;
    attsvm_status status = ATTSVM_OK;
    TRY(attsvm_origin_read(&origin, call->arguments[1], err));
    if (!origin) /* a result of the first form, or of another program */
        return ATTSVM_OK;
    if (!options->other_data)
        status = attsvm_origin_check(origin, data, NULL, err);
    const attsvm_origin_info info = attsvm_origin_describe(origin);
    if (status != ATTSVM_OK)
        base_fail_in(err, status, call->arguments[1]);
    else if (info.v)
        status = attsvm_data_with_head(with, data, info.v, info.v_count, err);
    attsvm_origin_free(origin);
    return status;
}

static attsvm_status check(attsvm_report *report, const cli_call *call, const attsvm_data *data,
                           attsvm_error *err)
{
    const check_options *options = cli_settings(call, &cli_check_table);
    const attsvm_check_settings settings = { .tol = options->tol,
                                             .threads = call->common->threads,
                                             .exact = options->exact };
    attsvm_solution *result;
    TRY(attsvm_solution_load(&result, data, call->arguments[1], err));
    const attsvm_claim claim = attsvm_solution_claim(result);
    attsvm_status status = attsvm_check(report, data, &claim, &settings, NULL, NULL, err);
    attsvm_solution_free(result);
    return status == ATTSVM_OK ? status : base_fail_in(err, status, call->arguments[0]);
}

attsvm_status cli_check(cli_call *call, attsvm_error *err)
{
    const check_options *options = cli_settings(call, &cli_check_table);
    attsvm_read_settings reading;
    attsvm_data *data, *with = NULL;
    attsvm_report report = { 0 };
    cli_process_limit(((const cli_limit *)cli_settings(call, &cli_limit_table))->time_limit);
    attsvm_read_settings_init(&reading);
    reading.threads = call->common->threads;
    TRY(attsvm_data_read(&data, call->arguments[0], &reading, err));
    attsvm_status status = take_origin(call, data, &with, err);
    if (status == ATTSVM_OK)
        status = check(&report, call, with ? with : data, err);
    attsvm_data_free(with);
    attsvm_data_free(data);
    TRY(status);
    call->negative = !report.valid;
    if (call->common->json)
        return print_json(&report, options->exact, err);
    if (!call->common->quiet)
        print_text(call, &report);
    return ATTSVM_OK;
}
