/* attsvm verify to a reader: figures, what theory promises for these data, and what happened. */
#include "cli.h"
#include "theory/theory.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 80, MOST_SHOWN = 20 };

const char *cli_verified_norm(const attsvm_svm_settings *svm, char *out, size_t size)
{
    base_settings_print(attsvm_settings_find(&attsvm_svm_table, "norm"), svm, out, size);
    if (svm->norm == ATTSVM_NORM_LQ)
        snprintf(out, size, "lq:%g", svm->q);
    return out;
}

static bool trains_head(const cli_verified *v)
{
    return v->run->m->trains_v;
}

static bool is_linear(const cli_verified *v)
{
    return v->run->m->head.kind == &model_head_linear;
}

/* Proved for plain descent with small steps on p, its map or W, with a fixed linear head. */
static bool is_proved_rule(const cli_verified *v)
{
    return strcmp(v->run->rule->flag, "gd") == 0 && !v->run->m->factored;
}

/*
 * Everywhere descent gains on the best tokens.  With one sequence it reaches them from any start;
 * with several one that begins on a wrong token may stay there (tests/theory,
 * statement_1_does_not_hold_from_every_start).
 */
static bool is_benign(const attsvm_conditions *c)
{
    return c->equal_scores && c->unique_optimal && c->feasible;
}

const char *cli_verified_must(const cli_verified *v)
{
    const attsvm_conditions *c = &v->conditions;
    if (trains_head(v) || !is_linear(v) || !v->verdict.claimed)
        return "none";
    return is_benign(c) && v->verdict.terms == 1 ? "global" : "local";
}

void cli_verified_statement(const cli_verified *v, char *out, size_t size)
{
    const attsvm_conditions *c = &v->conditions;
    const char *rule = v->run->rule->flag;
    if (v->joint && v->found.outcome == ATTSVM_OPTIMAL && v->found.all_tight)
        snprintf(out, size,
                 "Head and prompt are trained together, and every sequence is at the margin of the "
                 "head: if Assumption B holds, the path leads v to the v-SVM and p to the p-SVM of "
                 "the selected tokens. The smallest nu found is %.4g: %s.",
                 v->found.nu,
                 v->found.nu > 0 ? "nothing found speaks against the assumption"
                                 : "the assumption does not hold");
    else if (v->joint && v->found.outcome == ATTSVM_OPTIMAL)
        snprintf(out, size,
                 "Head and prompt are trained together, and %" PRId64 " of %" PRId64
                 " sequences are at the margin of the head: with |v| at least %.3g times |p| the "
                 "path leads p to the relaxed p-SVM (it has to beat rivals by 1 only in those "
                 "sequences), with bounded |v| to the unrelaxed one. Here |v| is %.3g times |p|.",
                 v->found.tight, v->verdict.terms, v->found.ratio_needed, v->found.ratio);
    else if (trains_head(v))
        snprintf(out, size,
                 "The head is trained too, and nothing is proved about where it leads for these "
                 "data; scores are those of the head as it is now.");
    else if (!is_linear(v))
        snprintf(out, size,
                 "With this head attention may keep several tokens, and the theorems about single "
                 "tokens do not apply.");
    else if (!v->verdict.claimed)
        snprintf(out, size, "There is no claim about the direction that the step rule %s leads to.",
                 rule);
    else if (strcmp(cli_verified_must(v), "global") == 0)
        snprintf(out, size,
                 "One token is best, all others share one score, and it can be separated from "
                 "them: from any start descent leads to it (%s).",
                 is_proved_rule(v) ? "proved for small steps"
                                   : "proved for plain gradient descent with small steps, observed "
                                     "for this rule");
    else if (is_benign(c))
        snprintf(out, size,
                 "In every sequence one token is best and all others share one score, and the best "
                 "tokens can be separated: at every point the gradient gains on the best tokens, "
                 "and from 0 descent was seen to reach them. From other starts a sequence "
                 "that begins on a wrong token can stay there.");
    else
        snprintf(
            out, size,
            "Scores differ among the other tokens%s%s: descent may end in any locally optimal "
            "selection, the one that its start leads to; only the path of growing norm is sure "
            "to find the best tokens.%s",
            c->unique_optimal ? "" : ", some sequence has two best tokens",
            c->feasible ? "" : ", and nothing separates the best tokens",
            c->wide ? " Every selection can be separated if the tokens are in general position."
                    : "");
}

static void say(const char *text)
{
    cli_wrap(stdout, text, 0, 0, WIDTH);
}

/* What happened, in plain words. */
static void say_verdict(const cli_verified *v)
{
    const attsvm_verdict *d = &v->verdict;
    char text[768], more[320] = "";
    switch (d->kind) {
    case ATTSVM_VERDICT_GLOBAL:
        snprintf(text, sizeof text,
                 "The model attends to the best token of every sequence: the best outcome there "
                 "is.");
        break;
    case ATTSVM_VERDICT_LOCAL:
        snprintf(text, sizeof text,
                 "The model has settled on tokens that are not all the best (%" PRId64
                 " of %" PRId64
                 " are not), but every rival that comes near scores less, so training will not "
                 "leave them.",
                 d->optimality.missed, d->terms);
        break;
    case ATTSVM_VERDICT_NOT_LOCAL:
        snprintf(text, sizeof text,
                 "The model attends to one token of every sequence, but %" PRId64
                 " rivals that come near score as much or more: this is not where training stays; "
                 "more steps should move it.",
                 d->optimality.against);
        break;
    case ATTSVM_VERDICT_UNSATURATED:
        snprintf(
            text, sizeof text,
            "The model has not decided: in some sequence the token with the most attention has "
            "only %.4f of it. More steps, or a head that keeps several tokens.",
            d->attention);
        break;
    default:
        snprintf(text, sizeof text,
                 "Nothing separates the tokens that the model attends to: ties of logits decided.");
    }
    if (!isnan(d->correlation))
        snprintf(more, sizeof more,
                 " What it learned points %.3g degrees away from the max-margin direction of these "
                 "tokens, and its smallest margin is %.2f %% of the largest possible for its norm.",
                 d->angle, 100 * d->efficiency);
    strncat(text, more, sizeof text - strlen(text) - 1);
    say(text);
    if (d->optimality.tie)
        say("Ties: some tokens have exactly equal scores; the first of them counts as the best, "
            "and "
            "equal is not lower.");
}

static void print_line(const char *name, const char *format, double value, const char *meaning)
{
    char text[40];
    snprintf(text, sizeof text, format, value);
    if (!isnan(value))
        printf("  %-12s %-14s %s\n", name, text, meaning);
}

static void print_joint(const cli_verified *v)
{
    const attsvm_joint *j = &v->found;
    printf("\nHead and prompt together:\n\n");
    if (j->outcome != ATTSVM_OPTIMAL) {
        say("  No head separates the selected tokens by label: there is no v-SVM.");
        return;
    }
    print_line("head margin", "%.8g", j->margin, "of the v-SVM of the selected tokens");
    print_line("tight", "%.0f", (double)j->tight, "sequences at that margin");
    print_line("label margin", "%.8g", j->label_margin,
               "of the tokens as the model pools them now");
    print_line("correlation", "%.6f", j->correlation_v, "of v and the v-SVM");
    print_line("relaxed", "%.6f", j->correlation_relaxed, "correlation of p and the relaxed p-SVM");
    print_line("unrelaxed", "%.6f", j->correlation_unrelaxed, "and the unrelaxed one");
    print_line("nu", "%.6g", j->nu, "smallest found, of Assumption B");
    print_line("tried", "%.0f", (double)j->tried, "points for that");
}

void cli_verified_print(const cli_verified *v)
{
    const attsvm_verdict *d = &v->verdict;
    char norm[32], text[768];
    const int64_t *selected = v->run->m->selected;
    printf("%s: %s\n\n", v->file, attsvm_verdict_name(d->kind));
    say_verdict(v);
    putchar('\n');
    print_line("attention", "%.8g", d->attention, "of the selected token, at least");
    print_line("correlation", "%.8f", d->correlation, "with the SVM of the selected tokens");
    print_line("angle", "%.4g", d->angle, "degrees");
    print_line("efficiency", "%.6f", d->efficiency, "margin over the largest possible");
    print_line("margin", "%.8g", d->margin, "of the SVM");
    print_line("gap", "%.2g", d->gap, "of the SVM's proof");
    printf("  %-12s %-14s %s\n", "norm", cli_verified_norm(&d->svm, norm, sizeof norm),
           d->claimed ? "predicted for the step rule" : "there is no prediction for the step rule");
    printf("  %-12s", "selected");
    for (int64_t g = 0; g < d->terms && g < MOST_SHOWN; g++)
        printf(" %" PRId64, selected[g]);
    printf("%s\n", d->terms > MOST_SHOWN ? " ..." : "");
    if (v->joint)
        print_joint(v);
    if (v->several) {
        printf("  %-12s %-14" PRId64 " tokens, several in %" PRId64 " of %" PRId64 " terms\n",
               "kept", v->kept.kept, v->kept.several, d->terms);
        print_line("predictivity", "%.3e", 1 - v->kept.correlation,
                   "1 - correlation with W_fin + R W_svm of the kept tokens");
        print_line("", "%.8f", v->kept.correlation_svm, "correlation with W_svm alone");
    }
    putchar('\n');
    cli_verified_statement(v, text, sizeof text);
    say(text);
}
