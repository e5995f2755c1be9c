/* attsvm tokens: scores, support tokens, and whether a selection is optimal. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS tokens_options
typedef struct tokens_options {
    const char *select;
    int32_t problem; /* set in attsvm_svm_settings, too, which has all problems */
    bool enumerate;
} tokens_options;
enum { FIRST_PROBLEM = 1, LAST_PROBLEM = 2 };
static const char *const problems[] = { "p", "W", NULL };
static const field tokens_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(problem), FIELD_CHOICE, FIRST_PROBLEM, LAST_PROBLEM, LAST_PROBLEM,
      "which max-margin problem: that of a prompt p or of a matrix W; a run as --select brings its "
      "own, otherwise W (train has p by default)",
      problems, 0 },
    { F(select), FIELD_TEXT, 0, 0, 0,
      "which tokens: opt (best score), ids (an array of FILE), or a result file; opt by default", 0,
      NULL },
    { F(enumerate), FIELD_BOOL, 0, 1, 0, "also list every locally optimal selection", 0, 0 },
};
const settings_table cli_tokens_table = { "tokens options", tokens_fields,
                                          sizeof tokens_fields / sizeof *tokens_fields,
                                          sizeof(tokens_options), NULL };
#undef SETTINGS

enum { MOST_SHOWN = 12, WIDTH = 80 };

/* The results. */
typedef struct findings {
    const char *file;
    const attsvm_data *data;
    attsvm_svm_settings svm;
    attsvm_chosen *chosen;
    const int64_t *alpha; /* of it */
    attsvm_scores *scores;
    attsvm_solution *solution;
    attsvm_svm_info info;
    attsvm_optimality optimality;
    attsvm_support *support;
    attsvm_enumeration *enumeration; /* NULL: not requested */
    int64_t terms, *opt;
} findings;

static void findings_free(findings *f)
{
    attsvm_enumeration_free(f->enumeration);
    attsvm_solution_free(f->solution);
    attsvm_scores_free(f->scores);
    attsvm_chosen_free(f->chosen);
    free(f->support);
    free(f->opt);
}

static attsvm_status find(findings *f, const tokens_options *options,
                          const attsvm_enumerate_settings *enumerate, attsvm_error *err)
{
    attsvm_problem *problem;
    TRY(attsvm_scores_create(&f->scores, f->data, &f->svm, err));
    f->terms = attsvm_scores_terms(f->scores);
    TRY(base_allocate(&f->opt, (size_t)f->terms, sizeof *f->opt, "optimal tokens", err));
    for (int64_t g = 0; g < f->terms; g++)
        f->opt[g] = attsvm_scores_term(f->scores, g).optimal;
    TRY(cli_choose(&f->chosen, f->data, f->file, &f->svm, options->select, err));
    const attsvm_selection selection = attsvm_chosen_describe(f->chosen).selection;
    f->alpha = selection.alpha;
    TRY(attsvm_problem_create(&problem, f->data, &selection, &f->svm, err));
    attsvm_status status = attsvm_problem_solve(problem, NULL, NULL, NULL, &f->solution, err);
    attsvm_problem_free(problem);
    if (status != ATTSVM_OK)
        return status;
    f->info = attsvm_solution_describe(f->solution);
    if (f->info.outcome == ATTSVM_STALLED)
        TRY(base_interrupted(err)); /* support and optimality would be meaningless */
    /* the solver also counts tight tokens; the two counts can differ at the tolerance */
    TRY(attsvm_optimality_compute(&f->optimality, f->scores, f->solution, NULL, 0, err));
    int64_t count = f->optimality.support;
    TRY(base_allocate(&f->support, (size_t)count + 1, sizeof *f->support, "support", err));
    TRY(attsvm_optimality_compute(&f->optimality, f->scores, f->solution, f->support, count, err));
    return options->enumerate
               ? attsvm_enumerate(&f->enumeration, f->scores, &f->svm, enumerate, NULL, NULL, err)
               : ATTSVM_OK;
}

/* ----------------------------------------------------------------------------- JSON */

static io_json *support_json(const findings *f)
{
    io_json *list = io_json_list();
    for (int64_t k = 0; k < f->optimality.support; k++) {
        const attsvm_support *s = &f->support[k];
        io_json *one = io_json_object();
        io_json_set(one, "sequence", io_json_integer(s->row.sequence));
        io_json_set(one, "query", io_json_integer(s->row.query));
        io_json_set(one, "token", io_json_integer(s->row.token));
        io_json_set(one, "selected", io_json_integer(s->selected));
        io_json_set(one, "lambda", io_json_number(s->lambda));
        io_json_set(one, "advantage", io_json_number(s->advantage));
        io_json_append(list, one);
    }
    return list;
}

static void add_enumeration(const findings *f, io_json *json)
{
    attsvm_enumeration_info info = attsvm_enumeration_describe(f->enumeration);
    io_json *list = io_json_list(), *norms = io_json_list(), *best = io_json_list();
    for (int64_t k = 0; k < info.count; k++) {
        attsvm_local_optimum local = attsvm_enumeration_get(f->enumeration, k);
        io_json_append(list, io_json_integers(local.alpha, info.terms));
        io_json_append(norms, io_json_number(local.norm));
        io_json_append(best, io_json_bool(local.global));
    }
    io_json_set(json, "selections", list);
    io_json_set(json, "exhaustive", io_json_bool(info.exhaustive));
    io_json_set(json, "selections_norm", norms);
    io_json_set(json, "selections_global", best);
    io_json_set(json, "product", io_json_number(info.product));
    io_json_set(json, "judged", io_json_integer(info.judged));
    io_json_set(json, "pruned", io_json_integer(info.pruned));
    io_json_set(json, "stalled", io_json_integer(info.stalled));
}

static attsvm_status print_json(const cli_call *call, const findings *f, attsvm_error *err)
{
    const attsvm_optimality *o = &f->optimality;
    io_json *json = io_json_object();
    char norm[16];
    base_settings_print(attsvm_settings_find(&attsvm_svm_table, "norm"), &f->svm, norm,
                        sizeof norm);
    io_json_set(json, "opt", io_json_integers(f->opt, f->terms));
    io_json_set(json, "selected", io_json_integers(f->alpha, f->terms));
    io_json_set(json, "support", support_json(f));
    io_json_set(json, "locally_optimal", io_json_bool(o->local));
    io_json_set(json, "globally_optimal", io_json_bool(o->global));
    io_json_set(json, "status", io_json_text(attsvm_outcome_name(f->info.outcome)));
    io_json_set(json, "geometry", io_json_text(norm));
    io_json_set(json, "norm", io_json_number(f->info.norm));
    io_json_set(json, "margin", io_json_number(f->info.margin));
    io_json_set(json, "gap", io_json_number(f->info.gap));
    io_json_set(json, "merged", cli_count_json(f->info.merged));
    io_json_set(json, "against", io_json_integer(o->against));
    io_json_set(json, "missed", io_json_integer(o->missed));
    io_json_set(json, "advantage", io_json_number(o->advantage));
    io_json_set(json, "tie", io_json_bool(o->tie));
    io_json_set(json, "tied_optimal", io_json_integer(o->tied_optimal));
    io_json_set(json, "tied_support", io_json_integer(o->tied_support));
    io_json_set(json, "unique", io_json_bool(o->unique));
    if (f->enumeration)
        add_enumeration(f, json);
    cli_taken_json(call, json);
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* ----------------------------------------------------------------------------- text */

static void say(const char *text)
{
    cli_wrap(stdout, text, 0, 0, WIDTH);
}

static void print_terms(const findings *f)
{
    bool queries = f->terms != attsvm_data_describe(f->data).n;
    printf("  %8s%s  %6s  %10s  %8s  %10s\n", "sequence", queries ? "   query" : "", "best",
           "its score", "selected", "its score");
    for (int64_t g = 0; g < f->terms && g < MOST_SHOWN; g++) {
        attsvm_term term = attsvm_scores_term(f->scores, g);
        int64_t alpha = f->alpha[g];
        printf("  %8" PRId64, term.sequence);
        if (queries)
            printf("%8" PRId64, term.query);
        printf("  %6" PRId64 "  %10.4g  %8" PRId64 "  %10.4g%s", term.optimal, term.best, alpha,
               attsvm_scores_gamma(f->scores, g, alpha), term.tied > 0 ? "  (best is tied)" : "");
        cli_row_names(f->data, term.sequence, alpha, -1);
        putchar('\n');
    }
    if (f->terms > MOST_SHOWN)
        printf("  and %" PRId64 " more\n", f->terms - MOST_SHOWN);
}

static void print_support(const findings *f)
{
    bool queries = f->terms != attsvm_data_describe(f->data).n;
    int64_t count = f->optimality.support;
    printf("\nSupport tokens, the rivals at the margin: %" PRId64 ".\n", count);
    if (count == 0)
        return;
    printf("\n  %8s%s  %8s  %6s  %10s  %22s\n", "sequence", queries ? "   query" : "", "selected",
           "rival", "multiplier", "score of selected over");
    for (int64_t k = 0; k < count && k < MOST_SHOWN; k++) {
        const attsvm_support *s = &f->support[k];
        printf("  %8" PRId64, s->row.sequence);
        if (queries)
            printf("%8" PRId64, s->row.query);
        printf("  %8" PRId64 "  %6" PRId64 "  %10.4g  %+22.4g%s", s->selected, s->row.token,
               s->lambda, s->advantage, s->advantage > 0 ? "" : "  <- not lower");
        cli_row_names(f->data, s->row.sequence, s->selected, s->row.token);
        putchar('\n');
    }
    if (count > MOST_SHOWN)
        printf("  and %" PRId64 " more\n", count - MOST_SHOWN);
}

/* The consequence for descent is proved for l2 and the Frobenius norm. */
static const char *proof_text(const findings *f)
{
    return f->svm.norm == ATTSVM_NORM_L2 || f->svm.norm == ATTSVM_NORM_FRO
               ? ""
               : " (observed for the step rules of this norm, proved for l2 and Frobenius)";
}

/* In every term all tokens have the same score, and every mixture of them. */
static bool all_tied(const findings *f)
{
    for (int64_t g = 0; g < f->terms; g++)
        if (attsvm_scores_term(f->scores, g).worst != attsvm_scores_term(f->scores, g).best)
            return false;
    return f->svm.head == ATTSVM_HEAD_LINEAR;
}

static void say_local(const findings *f)
{
    const attsvm_optimality *o = &f->optimality;
    const char *have = o->against == 1 ? "has" : "have";
    const char *several = "Scores of single tokens do not decide where descent ends with this "
                          "head: attention may keep several tokens.";
    char text[512];
    if (o->support == 0 && f->info.outcome == ATTSVM_OPTIMAL)
        snprintf(text, sizeof text,
                 "The selection has no rivals: every other token is a copy of the selected one. It "
                 "is locally optimal.");
    else if (o->local && f->svm.head != ATTSVM_HEAD_LINEAR)
        snprintf(
            text, sizeof text,
            "The selection is locally optimal: every rival at the margin has a lower score. %s",
            several);
    else if (o->local)
        snprintf(text, sizeof text,
                 "The selection is locally optimal: every rival at the margin has a lower score, "
                 "so descent that starts near this direction with a large norm converges to it%s.",
                 proof_text(f));
    else if (o->against > 0 && f->svm.head != ATTSVM_HEAD_LINEAR)
        snprintf(text, sizeof text,
                 "The selection is not locally optimal: %" PRId64 " of the rivals at the margin "
                 "%s the score of the selected token or a higher one. %s",
                 o->against, have, several);
    else if (all_tied(f))
        snprintf(text, sizeof text,
                 "The selection is not locally optimal: in every sequence all tokens have the same "
                 "score. Attention does not change the loss, and its gradient is 0 everywhere.");
    else if (o->against > o->tied_support)
        snprintf(text, sizeof text,
                 "The selection is not locally optimal: %" PRId64 " of the rivals at the margin "
                 "%s the score of the selected token or a higher one, so descent leaves this "
                 "direction.",
                 o->against, have);
    else
        snprintf(text, sizeof text,
                 "The selection is not locally optimal: %" PRId64 " of the rivals at the margin "
                 "%s exactly the score of the selected token. It is open whether descent leaves "
                 "this direction.",
                 o->against, have);
    say(text);
}

static void say_optimality(const findings *f)
{
    const attsvm_optimality *o = &f->optimality;
    char text[512];
    putchar('\n');
    if (f->info.outcome == ATTSVM_INFEASIBLE) {
        say("No direction separates this selection from its rivals, so it is not locally optimal "
            "(attsvm svm shows the proof).");
        return;
    }
    if (f->info.outcome == ATTSVM_STALLED)
        say("The solver ended without a proof: support tokens, and with them local optimality, are "
            "those of the best point that it found.");
    say_local(f);
    if (o->global)
        say("It is globally optimal: in every sequence the selected token has the best score.");
    else {
        if (f->terms == 1)
            snprintf(text, sizeof text,
                     "It is not globally optimal: the selected token does not have the best "
                     "score.");
        else
            snprintf(text, sizeof text,
                     "It is not globally optimal: %" PRId64 " of %" PRId64
                     " selected tokens %s not have the best score.",
                     o->missed, f->terms, o->missed == 1 ? "does" : "do");
        say(text);
    }
    if (o->tied_support > 0)
        say("A tie decided: a rival at the margin has exactly the score of the selected token, and "
            "local optimality requires a lower one.");
    if (o->tied_optimal > 0)
        say("A tie decided: some sequence has several best tokens, and the first counts as the "
            "best.");
    if (!o->unique)
        say("This norm may have several minimisers; the support tokens are those of the one "
            "found.");
}

/* --------------------------------------------------------------------------- arrays */

/* Scores of all terms, rows of length T_i; unseen tokens are NaN. */
static attsvm_status scores_table(const findings *f, double **out, int64_t *count,
                                  attsvm_error *err)
{
    *count = 0;
    for (int64_t g = 0; g < f->terms; g++)
        *count += attsvm_data_length(f->data, attsvm_scores_term(f->scores, g).sequence);
    TRY(base_allocate(out, (size_t)*count, sizeof **out, "scores", err));
    double *at = *out;
    for (int64_t g = 0; g < f->terms; g++) {
        attsvm_term term = attsvm_scores_term(f->scores, g);
        int64_t length = attsvm_data_length(f->data, term.sequence);
        for (int64_t t = 0; t < length; t++)
            *at++ = t < term.tokens ? attsvm_scores_gamma(f->scores, g, t) : (double)NAN;
    }
    return ATTSVM_OK;
}

static attsvm_status write_arrays(const findings *f, const char *path, attsvm_error *err)
{
    int64_t count = f->optimality.support, entries, *rows = NULL;
    double *gamma = NULL, *lambda = NULL;
    attsvm_status status = scores_table(f, &gamma, &entries, err);
    if (status == ATTSVM_OK)
        status = base_allocate(&rows, (size_t)(3 * count) + 1, sizeof *rows, "support", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&lambda, (size_t)count + 1, sizeof *lambda, "support", err);
    for (int64_t k = 0; k < count && status == ATTSVM_OK; k++) {
        attsvm_row row = f->support[k].row;
        memcpy(rows + 3 * k, (int64_t[]){ row.sequence, row.query, row.token }, 3 * sizeof *rows);
        lambda[k] = f->support[k].lambda;
    }
    attsvm_named_array arrays[] = {
        { "gamma", { gamma, { entries }, 1, ATTSVM_F64 } },
        { "opt", { f->opt, { f->terms }, 1, ATTSVM_I64 } },
        { "ids", { f->alpha, { f->terms }, 1, ATTSVM_I64 } },
        { "support", { rows, { count, 3 }, 2, ATTSVM_I64 } },
        { "support_lambda", { lambda, { count }, 1, ATTSVM_F64 } },
    };
    const int64_t arrays_count = sizeof arrays / sizeof *arrays;
    if (status == ATTSVM_OK)
        status = f->enumeration
                     ? attsvm_enumeration_save(f->enumeration, path, arrays, arrays_count, err)
                     : attsvm_archive_write(path, arrays, arrays_count, err);
    free(lambda);
    free(rows);
    free(gamma);
    return status;
}

static bool is_support(const findings *f, int64_t term, int64_t token)
{
    for (int64_t k = 0; k < f->optimality.support; k++)
        if (f->support[k].term == term && f->support[k].row.token == token)
            return true;
    return false;
}

/* All tokens by their scores, without tokens that the query does not see. */
static attsvm_status draw(const cli_call *call, const findings *f, attsvm_error *err)
{
    enum { OTHER, SUPPORT, SELECTED, KINDS };
    experiments_points points[KINDS] = { 0 };
    char text[320];
    int64_t most = 0;
    double *memory;
    if (!cli_picture_wanted(call))
        return ATTSVM_OK;
    for (int64_t g = 0; g < f->terms; g++)
        most += attsvm_scores_term(f->scores, g).tokens;
    TRY(base_allocate(&memory, (size_t)most * 2 * KINDS, sizeof *memory, "figure", err));
    for (int k = 0; k < KINDS; k++) {
        points[k].x = memory + (2 * k) * most;
        points[k].y = memory + (2 * k + 1) * most;
    }
    for (int64_t g = 0; g < f->terms; g++)
        for (int64_t t = 0; t < attsvm_scores_term(f->scores, g).tokens; t++) {
            int kind = t == f->alpha[g] ? SELECTED : is_support(f, g, t) ? SUPPORT : OTHER;
            experiments_points *p = &points[kind];
            p->x[p->count] = (double)g;
            p->y[p->count++] = attsvm_scores_gamma(f->scores, g, t);
        }
    snprintf(text, sizeof text,
             "Scores of all tokens. Support tokens are the rivals at the margin of the max-margin "
             "solution: %" PRId64 " here. The selection is %s.",
             points[SUPPORT].count,
             f->info.outcome == ATTSVM_INFEASIBLE          ? "not separable from its rivals"
             : f->optimality.global && f->optimality.local ? "locally and globally optimal"
             : f->optimality.local                         ? "locally optimal, but not globally"
             : f->optimality.global                        ? "globally optimal, but not locally"
                                    : "neither locally nor globally optimal");
    const experiments_picture picture = cli_picture(call, f->file, text);
    attsvm_status status = experiments_picture_tokens(&picture, points, err);
    free(memory);
    return status;
}

/* ------------------------------------------------------------------------- the verb */

static attsvm_status show(const cli_call *call, const findings *f, attsvm_error *err)
{
    if (call->common->output)
        TRY(write_arrays(f, call->common->output, err));
    TRY(draw(call, f, err));
    if (call->common->json)
        return print_json(call, f, err);
    if (call->common->quiet)
        return ATTSVM_OK;
    printf("%s: %" PRId64 " %s, selection %s\n\n", cli_shown(f->file), f->terms,
           f->terms == 1 ? "sequence or query" : "sequences or queries",
           attsvm_chosen_describe(f->chosen).source);
    print_terms(f);
    if (f->info.outcome != ATTSVM_INFEASIBLE)
        print_support(f);
    say_optimality(f);
    if (f->enumeration)
        cli_enumeration_print(f->enumeration, f->data);
    return ATTSVM_OK;
}

attsvm_status cli_tokens(cli_call *call, attsvm_error *err)
{
    const attsvm_svm_settings *svm = cli_settings(call, &attsvm_svm_table);
    const tokens_options *options = cli_settings(call, &cli_tokens_table);
    attsvm_read_settings reading;
    attsvm_data *data, *with;
    attsvm_read_settings_init(&reading);
    reading.threads = call->common->threads;
    TRY(cli_picture_check(call, err));
    cli_process_limit(svm->time_limit);
    TRY(attsvm_data_read(&data, call->arguments[0], &reading, err));
    findings f = { .file = call->arguments[0], .data = data, .svm = *svm };
    attsvm_status status = cli_remember(call, options->select, data, &f.svm, &with, err);
    if (with)
        f.data = with;
    if (status == ATTSVM_OK)
        status = find(&f, options, cli_settings(call, &attsvm_enumerate_table), err);
    if (status == ATTSVM_E_DATA && strncmp(err->message, f.file, strlen(f.file)) != 0)
        base_fail_in(err, status, f.file);
    if (status == ATTSVM_OK)
        status = show(call, &f, err);
    findings_free(&f);
    attsvm_data_free(with);
    attsvm_data_free(data);
    return status;
}
