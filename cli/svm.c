/* attsvm svm: solves a max-margin problem and writes the solution with its proof. */
#include "cli/cli.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

#define SETTINGS svm_options
typedef struct svm_options {
    const char *select;
} svm_options;
static const field svm_option_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(select), FIELD_TEXT, 0, 0, 0,
      "which tokens: opt (best score), ids or sets (arrays of FILE), or a result file; opt by "
      "default, sets for multi and finite",
      0, NULL },
};
const settings_table cli_svm_table = { "svm options", svm_option_fields,
                                       sizeof svm_option_fields / sizeof *svm_option_fields,
                                       sizeof(svm_options), NULL };
#undef SETTINGS

/* ------------------------------------------------------------------------ solving */

/* mpirun forwards SIGUSR1 to several ranks, but not Ctrl-C. */
static void on_interrupt(int number)
{
    (void)number;
    attsvm_interrupt(true);
}

static void catch_interrupt(void)
{
    struct sigaction action = { .sa_handler = on_interrupt };
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

static bool observe(void *context, const attsvm_svm_progress *p)
{
    char text[128];
    snprintf(text, sizeof text, "round %" PRId64 ", %" PRId64 " active row%s, norm above %.6g",
             p->rounds, p->active, base_plural(p->active), p->dual);
    cli_progress_line(context, text);
    return true;
}

static attsvm_status solve(const cli_call *call, const attsvm_data *data,
                           const attsvm_selection *selection, const attsvm_svm_settings *settings,
                           attsvm_solution **out, attsvm_error *err)
{
    attsvm_problem *problem;
    TRY(attsvm_problem_create(&problem, data, selection, settings, err));
    cli_progress progress = cli_progress_start(call, "svm");
    if (dist_size(call->comm) > 1)
        catch_interrupt();
    attsvm_status status = attsvm_problem_solve(problem, NULL, observe, &progress, out, err);
    cli_progress_end(&progress);
    attsvm_problem_free(problem);
    return status;
}

/* --------------------------------------------------------------------------- JSON */

static io_json *pair_json(const attsvm_svm_info *info)
{
    io_json *pair = io_json_object();
    io_json_set(pair, "sequence", io_json_integer(info->pair.sequence));
    io_json_set(pair, "query", io_json_integer(info->pair.query));
    io_json_set(pair, "selected", io_json_integer(info->pair_selected));
    io_json_set(pair, "token", io_json_integer(info->pair.token));
    return pair;
}

/* A solve that was stopped before its first point has no norm. */
static double norm_of(const attsvm_svm_info *info)
{
    return info->outcome == ATTSVM_STALLED && info->norm == 0 ? NAN : info->norm;
}

static attsvm_status print_json(const cli_call *call, const cli_solved *s, attsvm_error *err)
{
    const attsvm_svm_info *info = &s->info;
    io_json *json = io_json_object();
    char problem[16], norm[16];
    base_settings_print(attsvm_settings_find(&attsvm_svm_table, "problem"), &s->claim.settings,
                        problem, sizeof problem);
    base_settings_print(attsvm_settings_find(&attsvm_svm_table, "norm"), &s->claim.settings, norm,
                        sizeof norm);
    io_json_set(json, "status", io_json_text(attsvm_outcome_name(info->outcome)));
    io_json_set(json, "norm", io_json_number(norm_of(info)));
    io_json_set(json, "margin", io_json_number(info->margin));
    io_json_set(json, "dual", io_json_number(info->dual));
    io_json_set(json, "gap", io_json_number(info->gap));
    io_json_set(json, "violation", io_json_number(info->violation));
    io_json_set(json, "tight", cli_count_json(info->tight));
    io_json_set(json, "active", cli_count_json(info->active));
    io_json_set(json, "merged", cli_count_json(info->merged));
    io_json_set(json, "rank", cli_count_json(info->rank));
    io_json_set(json, "passes", io_json_number(info->passes));
    io_json_set(json, "iterations", cli_count_json(info->iterations));
    io_json_set(json, "seconds", io_json_number(info->seconds));
    io_json_set(json, "pass_seconds", io_json_number(info->pass_seconds));
    io_json_set(json, "rounds", cli_count_json(info->rounds));
    io_json_set(json, "problem", io_json_text(problem));
    io_json_set(json, "geometry", io_json_text(norm));
    io_json_set(json, "select", io_json_text(s->select));
    io_json_set(json, "ties", io_json_integer(s->ties));
    io_json_set(json, "objective", io_json_number(info->objective));
    io_json_set(json, "residual", io_json_number(info->residual));
    if (info->outcome == ATTSVM_INFEASIBLE)
        io_json_set(json, "proof", io_json_text(attsvm_proof_name(info->proof)));
    if (info->outcome == ATTSVM_INFEASIBLE ||
        (info->outcome == ATTSVM_STALLED && !isnan(info->bound)))
        io_json_set(json, "bound", io_json_number(info->bound));
    io_json_set(json, "unique", io_json_bool(info->unique));
    io_json_set(json, "undecided", io_json_bool(info->undecided));
    if (info->conflict)
        io_json_set(json, "pair", pair_json(info));
    cli_taken_json(call, json);
    cli_ranks_json(call, json);
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* ------------------------------------------------------------------------ the verb */

static attsvm_status show(cli_call *call, const attsvm_data *data, const attsvm_chosen_info *chosen,
                          const attsvm_solution *solution, attsvm_error *err)
{
    cli_solved s = { .file = call->arguments[0],
                     .data = data,
                     .info = attsvm_solution_describe(solution),
                     .claim = attsvm_solution_claim(solution),
                     .select = chosen->source,
                     .ties = chosen->ties };
    if (call->common->output)
        TRY(attsvm_solution_save(solution, data, call->common->output, NULL, 0, err));
    call->negative = s.info.outcome == ATTSVM_INFEASIBLE || s.info.outcome == ATTSVM_STALLED;
    if (call->common->json)
        return print_json(call, &s, err);
    if (!call->common->quiet)
        cli_solved_print(&s, call->common->output);
    if (!call->common->quiet)
        cli_ranks_print(call);
    return ATTSVM_OK;
}

attsvm_status cli_svm(cli_call *call, attsvm_error *err)
{
    attsvm_svm_settings settings =
        *(const attsvm_svm_settings *)cli_settings(call, &attsvm_svm_table);
    const svm_options *options = cli_settings(call, &cli_svm_table);
    attsvm_data *data, *with = NULL;
    attsvm_chosen *chosen = NULL;
    attsvm_chosen_info info;
    attsvm_solution *solution = NULL;
    TRY(cli_data_read(call, call->arguments[0], &data, err));
    attsvm_status status = cli_remember(call, options->select, data, &settings, &with, err);
    const attsvm_data *scored = with ? with : data;
    if (status == ATTSVM_OK)
        status = cli_choose(&chosen, scored, call->arguments[0], &settings, options->select, err);
    if (status == ATTSVM_OK) {
        info = attsvm_chosen_describe(chosen);
        status = solve(call, scored, &info.selection, &settings, &solution, err);
        if (status == ATTSVM_E_DATA)
            base_fail_in(err, status, call->arguments[0]);
    }
    if (status == ATTSVM_OK)
        status = attsvm_solution_rank(solution, err);
    if (status == ATTSVM_OK)
        status = show(call, scored, &info, solution, err);
    attsvm_solution_free(solution);
    attsvm_chosen_free(chosen);
    attsvm_data_free(with);
    attsvm_data_free(data);
    return status;
}
