/* The output of attsvm svm: the numbers, and a sentence on their meaning. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_SHOWN = 5, WIDTH = 80 };

static const char *setting(const cli_solved *s, const char *name, char *out, size_t size)
{
    base_settings_print(attsvm_settings_find(&attsvm_svm_table, name), &s->claim.settings, out,
                        size);
    return out;
}

/* "p", "v" or "W": the letter of theta. */
static const char *letter(const cli_solved *s)
{
    switch (s->claim.settings.problem) {
    case ATTSVM_PROBLEM_P:
    case ATTSVM_PROBLEM_JOINT: return "p";
    case ATTSVM_PROBLEM_V: return "v";
    default: return "W";
    }
}

/* Norms have one name for vectors and another for matrices. */
static void norm_text(const cli_solved *s, char *out, size_t size)
{
    const attsvm_svm_settings *set = &s->claim.settings;
    char name[16];
    bool euclidean = set->norm == ATTSVM_NORM_L2 || set->norm == ATTSVM_NORM_FRO;
    if (euclidean)
        snprintf(out, size, "%s norm", letter(s)[0] == 'W' ? "Frobenius" : "l2");
    else if (set->norm == ATTSVM_NORM_LQ)
        snprintf(out, size, "l_%g norm", set->q);
    else
        snprintf(out, size, "%s norm", setting(s, "norm", name, sizeof name));
}

static void print_title(const cli_solved *s)
{
    const attsvm_svm_settings *set = &s->claim.settings;
    char problem[16], norm[32];
    norm_text(s, norm, sizeof norm);
    printf("%s: %s-SVM in the %s", cli_shown(s->file),
           setting(s, "problem", problem, sizeof problem), norm);
    if (set->soft > 0)
        printf(", soft margin with C = %g", set->soft);
    printf(", selection %s\n", s->select);
    if (s->ties > 0)
        printf("(in %" PRId64 " of the sequences or queries the best score is tied; the first "
               "token is taken)\n",
               s->ties);
    putchar('\n');
}

static void print_line(const char *name, const char *value, const char *meaning)
{
    printf("  %-10s %-*s%s\n", name, meaning[0] ? 18 : 0, value, meaning);
}

static void print_number(const char *name, double value, const char *meaning)
{
    char text[32];
    snprintf(text, sizeof text, "%.10g", value);
    if (!isnan(value))
        print_line(name, text, meaning);
}

static void print_count(const char *name, int64_t value, const char *meaning)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    if (value >= 0)
        print_line(name, text, meaning);
}

/* The margin is a distance if theta satisfies all rows, which a soft one or a stalled one need
   not. */
static const char *margin_text(const cli_solved *s)
{
    const attsvm_svm_settings *set = &s->claim.settings;
    const bool found = s->info.outcome != ATTSVM_STALLED && set->soft == 0;
    if (!found || set->problem == ATTSVM_PROBLEM_FINITE)
        return "1/norm";
    if (set->problem == ATTSVM_PROBLEM_V)
        return "1/norm: distance to the nearest example";
    return set->problem == ATTSVM_PROBLEM_JOINT
               ? "1/norm: distance to the nearest rival where the v-SVM is tight"
               : "1/norm: distance to the nearest rival";
}

static void print_figures(const cli_solved *s)
{
    const attsvm_svm_info *info = &s->info;
    bool found = info->outcome != ATTSVM_INFEASIBLE, soft = s->claim.settings.soft > 0;
    char text[32], work[96];
    print_line("status", attsvm_outcome_name(info->outcome), "");
    if (found) {
        print_number("norm", info->norm, "");
        print_number("margin", info->margin, margin_text(s));
        if (soft)
            print_number("objective", info->objective, "1/2 norm^2 + C times the shortfalls");
        snprintf(text, sizeof text, "%.2g", info->gap);
        if (!isnan(info->gap))
            print_line("gap", text, "relative optimality gap (certified)");
        snprintf(text, sizeof text, "%.2g", info->violation);
        if (!isnan(info->violation))
            print_line("violation", text, soft ? "largest shortfall" : "largest of any row");
        print_count("tight", info->tight,
                    s->claim.settings.problem == ATTSVM_PROBLEM_V
                        ? "support vectors: selected tokens at the margin"
                        : "support tokens: rivals at the margin");
    }
    print_count("active", info->active,
                found ? "rows with a positive multiplier" : "rows in the proof");
    print_count("merged", info->merged, "copies of selected tokens, which are not rivals");
    print_count("rank", info->rank, "of W");
    snprintf(text, sizeof text, "%.3g s", info->seconds);
    snprintf(work, sizeof work,
             "%.3g read%s of the data in %.2g s, %" PRId64 " change%s of the active set",
             info->passes, info->passes == 1 ? "" : "s", info->pass_seconds, info->iterations,
             base_plural(info->iterations));
    print_line("solved in", text, work);
    putchar('\n');
}

/* ----------------------------------------------------------------- in a sentence */

static void say(const char *text)
{
    cli_wrap(stdout, text, 0, 0, WIDTH);
}

/* theta = 0 satisfies all rows: those that require 1 are none, or were merged. */
static void say_nothing_required(const cli_solved *s)
{
    const int32_t problem = s->claim.settings.problem;
    char text[256];
    if (problem == ATTSVM_PROBLEM_JOINT)
        snprintf(text, sizeof text,
                 "Where the v-SVM is tight the selected tokens have no rivals, only copies: p = 0 "
                 "is the solution and has no direction.");
    else if (problem == ATTSVM_PROBLEM_MULTI)
        snprintf(text, sizeof text,
                 "The selected sets have no rivals: W = 0 is the solution and has no direction.");
    else if (problem == ATTSVM_PROBLEM_FINITE)
        snprintf(text, sizeof text,
                 "The selected tokens of each set have equal attention, which W = 0 reproduces.");
    else
        snprintf(text, sizeof text,
                 "The selected tokens have no rivals: all other tokens are copies of them. %s = 0 "
                 "is the solution and has no direction.",
                 letter(s));
    say(text);
}

static void say_optimal(const cli_solved *s)
{
    const attsvm_svm_settings *set = &s->claim.settings;
    char text[512];
    const char *theta = letter(s);
    if (s->info.norm == 0 && s->info.objective == 0) {
        say_nothing_required(s);
        return;
    }
    if (set->soft > 0)
        snprintf(text, sizeof text,
                 "This %s is the best compromise between a short %s and %s inside the margin: no "
                 "other has an objective lower by more than a fraction of %.1e.",
                 theta, theta, set->problem == ATTSVM_PROBLEM_V ? "tokens" : "rivals",
                 fmax(s->info.gap, 0));
    else if (set->problem == ATTSVM_PROBLEM_FINITE)
        snprintf(text, sizeof text,
                 "This W reproduces the attention ratios inside the selected sets, and none of "
                 "smaller norm does.");
    else if (set->problem == ATTSVM_PROBLEM_V)
        snprintf(text, sizeof text,
                 "Along this v every selected token has score at least 1 on the side of its label, "
                 "and no shorter v does that.");
    else if (set->problem == ATTSVM_PROBLEM_JOINT)
        snprintf(text, sizeof text,
                 "Where the v-SVM is tight the selected token beats all others by at least 1, "
                 "elsewhere by at least 0, and no shorter p does that.");
    else
        snprintf(
            text, sizeof text,
            "With this %s every selected token beats all others of its sequence by at least 1%s, "
            "and no %s of smaller norm does that.",
            theta, set->problem == ATTSVM_PROBLEM_MULTI ? " (tokens of one set are level)" : "",
            theta);
    say(text);
    if (!s->info.unique) {
        snprintf(text, sizeof text,
                 "Other %s may have the same norm; tight rows and support tokens are those of the "
                 "%s that was returned.",
                 theta, theta);
        say(text);
    }
    if (s->info.undecided)
        say("The gap leaves open which rows are tight: near the optimum this norm hardly changes, "
            "so support tokens are undecided.");
}

/* Whether the problem is a joint one that ended with its head. */
static bool ended_with_head(const cli_solved *s)
{
    return s->claim.head && s->claim.head->outcome != ATTSVM_OPTIMAL;
}

/* Rows name a query besides the sequence. */
static bool has_queries(const cli_solved *s, const attsvm_claim *claim)
{
    const int32_t query = claim->settings.query;
    return query == ATTSVM_QUERY_ALL || query == ATTSVM_QUERY_CAUSAL ||
           (query == ATTSVM_QUERY_GIVEN && attsvm_data_describe(s->data).queries > 1);
}

/* One row with the left-hand side 0: of a token that is 0 (v), or of a query that is 0 (W). */
static bool is_zero_row(const cli_solved *s, const attsvm_claim *claim)
{
    const int32_t problem = claim->settings.problem;
    return claim->active_count == 1 && claim->equal_count == 0 && s->info.residual == 0 &&
           !s->info.conflict &&
           (problem == ATTSVM_PROBLEM_V || problem == ATTSVM_PROBLEM_W ||
            problem == ATTSVM_PROBLEM_MULTI);
}

static void say_zero_row(const cli_solved *s, const attsvm_claim *claim)
{
    const attsvm_row row = claim->active[0];
    char text[320], query[32] = "the query";
    if (has_queries(s, claim))
        snprintf(query, sizeof query, "query %" PRId64, row.query);
    if (claim->settings.problem == ATTSVM_PROBLEM_V)
        snprintf(text, sizeof text,
                 "No v separates the selection%s: the selected token of sequence %" PRId64
                 " is 0, so its score is 0 for every v.",
                 ended_with_head(s) ? " by label, so there is no joint problem" : "", row.sequence);
    else
        snprintf(text, sizeof text,
                 "No W separates the selection: %s of sequence %" PRId64
                 " is 0, so its logits are 0 for every W.",
                 query, row.sequence);
    say(text);
}

/* "3 rows with positive weights and 1 equality": what cancels in a proof. */
static const char *proof_rows(const attsvm_claim *claim, char *text, size_t size)
{
    int used = snprintf(text, size, "%" PRId64 " row%s with %s", claim->active_count,
                        base_plural(claim->active_count),
                        claim->active_count == 1 ? "a positive weight" : "positive weights");
    if (claim->equal_count > 0)
        snprintf(text + used, size - (size_t)used, " and %" PRId64 " equalit%s", claim->equal_count,
                 claim->equal_count == 1 ? "y" : "ies");
    return text;
}

static void say_infeasible(const cli_solved *s)
{
    const attsvm_svm_info *info = &s->info;
    const attsvm_claim *claim = ended_with_head(s) ? s->claim.head : &s->claim;
    const char *theta = ended_with_head(s) ? "v" : letter(s);
    const char *head = "There is no joint problem: its rows follow from the v-SVM. ";
    const bool several = claim->active_count + claim->equal_count > 1;
    const char *cancel = several ? "cancel" : "cancels";
    char text[640], rows[80];
    proof_rows(claim, rows, sizeof rows);
    if (is_zero_row(s, claim)) {
        say_zero_row(s, claim);
        return;
    }
    if (info->proof == ATTSVM_PROOF_BEYOND)
        snprintf(text, sizeof text,
                 "%sEvery %s that separates the selection%s has norm at least %.3e, more than 1e18 "
                 "times what a single row requires: %s %s to that degree. The rows with the "
                 "largest weights are below.",
                 ended_with_head(s) ? head : "", theta, ended_with_head(s) ? " by label" : "",
                 info->bound, rows, cancel);
    else if (info->conflict)
        snprintf(text, sizeof text,
                 "No %s separates the selection: token %" PRId64 " of sequence %" PRId64
                 " has the same key as the selected token %" PRId64
                 "%s, so their logits are equal for every %s.",
                 letter(s), info->pair.token, info->pair.sequence, info->pair_selected,
                 s->claim.settings.problem == ATTSVM_PROBLEM_FINITE ? ", or their query is 0" : "",
                 letter(s));
    else
        snprintf(text, sizeof text,
                 "%sNo %s separates the selection%s. The proof: every row requires a margin of at "
                 "least its right-hand side, but %s %s (their sum has norm %.1e), while their "
                 "right-hand sides add up to 1. The rows with the largest weights are below.",
                 ended_with_head(s) ? head : "", theta, ended_with_head(s) ? " by label" : "", rows,
                 cancel, info->residual);
    say(text);
}

static void say_stalled(const cli_solved *s)
{
    char text[256];
    if (ended_with_head(s))
        snprintf(
            text, sizeof text,
            "Stopped before the v-SVM was solved, which decides the rows of the joint problem.");
    else if (!isnan(s->info.gap))
        snprintf(text, sizeof text,
                 "Stopped before there was a proof; this is the best point so far. The gap bounds "
                 "its distance from the optimum.");
    else if (s->claim.settings.soft > 0)
        snprintf(text, sizeof text,
                 "Stopped without a proof or a point with a finite objective: use a smaller "
                 "--soft, or scale the tokens by s and --soft by 1/s^2.");
    else if (s->claim.settings.rank > 0)
        snprintf(text, sizeof text,
                 "No W of rank %" PRId64 " that separates the selection was found, which does not "
                 "prove that there is none: allow a larger --rank, or try another --seed.",
                 s->claim.settings.rank);
    else
        snprintf(
            text, sizeof text,
            "Stopped before there was a %s that separates the selection, or a proof that there "
            "is none.",
            letter(s));
    say(text);
}

typedef struct weight {
    double lambda;
    int64_t index;
} weight;

static int by_lambda(const void *a, const void *b)
{
    const weight *x = a, *y = b;
    if (x->lambda != y->lambda)
        return x->lambda > y->lambda ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The token that a row is about: alpha of its term, or -1 for sets. */
static int64_t selected(const cli_solved *s, attsvm_row row)
{
    const attsvm_svm_settings *set = &s->claim.settings;
    const int64_t *alpha = s->claim.selection.alpha;
    if (!alpha)
        return -1;
    if (set->problem != ATTSVM_PROBLEM_W)
        return alpha[row.sequence];
    if (set->query == ATTSVM_QUERY_ALL || set->query == ATTSVM_QUERY_CAUSAL)
        return alpha[attsvm_data_offset(s->data, row.sequence) + row.query];
    bool given = set->query == ATTSVM_QUERY_GIVEN && attsvm_data_describe(s->data).queries > 0;
    return alpha[given ? row.sequence * attsvm_data_describe(s->data).queries + row.query
                       : row.sequence];
}

/* The rows with the largest multipliers. */
static void print_rows(const cli_solved *s)
{
    const attsvm_claim *claim = ended_with_head(s) ? s->claim.head : &s->claim;
    int64_t count = claim->active_count, shown = count < MOST_SHOWN ? count : MOST_SHOWN;
    weight *weights;
    if (count == 0 ||
        base_allocate(&weights, (size_t)count, sizeof *weights, "", NULL) != ATTSVM_OK)
        return;
    for (int64_t k = 0; k < count; k++)
        weights[k] = (weight){ claim->lambda[k], k };
    qsort(weights, (size_t)count, sizeof *weights, by_lambda);
    bool queries = has_queries(s, claim);
    bool rivals = claim->selection.alpha && claim->settings.problem != ATTSVM_PROBLEM_V;
    printf("\n  %-10s  %10s%s%s%10s\n", "multiplier", "sequence", queries ? "     query" : "",
           rivals ? "  selected" : "", rivals ? "rival" : "token");
    for (int64_t k = 0; k < shown; k++) {
        attsvm_row row = claim->active[weights[k].index];
        printf("  %-10.4g  %10" PRId64, weights[k].lambda, row.sequence);
        if (queries)
            printf("%10" PRId64, row.query);
        if (rivals)
            printf("%10" PRId64, selected(s, row));
        printf("%10" PRId64, row.token);
        cli_row_names(s->data, row.sequence, rivals ? selected(s, row) : -1, row.token);
        putchar('\n');
    }
    if (count > shown)
        printf("  and %" PRId64 " more\n", count - shown);
    free(weights);
}

void cli_solved_print(const cli_solved *s, const char *output)
{
    print_title(s);
    print_figures(s);
    switch (s->info.outcome) {
    case ATTSVM_OPTIMAL: say_optimal(s); break;
    case ATTSVM_INFEASIBLE: say_infeasible(s); break;
    case ATTSVM_STATIONARY:
        say("With a limit on the rank there is no proof of optimality: this point is stationary.");
        break;
    default: say_stalled(s);
    }
    print_rows(s);
    if (output)
        printf("\n%s holds the solution and its proof; `attsvm check %s %s` verifies them.\n",
               output, s->file, output);
}
