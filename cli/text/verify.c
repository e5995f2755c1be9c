/* The output of attsvm verify: numbers, what theory predicts for these data, what happened. */
#include "cli/cli.h"

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

bool cli_verified_trains_head(const cli_verified *v)
{
    return v->settings.model >= ATTSVM_MODEL_VP;
}

bool cli_verified_linear(const cli_verified *v)
{
    return v->settings.head == ATTSVM_HEAD_LINEAR;
}

bool cli_verified_prompt(const cli_verified *v)
{
    int32_t model = v->settings.model;
    return model == ATTSVM_MODEL_P || model == ATTSVM_MODEL_PW || model == ATTSVM_MODEL_VP ||
           model == ATTSVM_MODEL_VPW;
}

const int64_t *cli_verified_selected(const cli_verified *v)
{
    return attsvm_train_find(v->run, "ids")->data;
}

static bool is_factored(const cli_verified *v)
{
    return v->settings.model == ATTSVM_MODEL_KQ || v->settings.model == ATTSVM_MODEL_VKQ;
}

/* K Q' can be any matrix. */
static bool has_full_rank(const cli_verified *v)
{
    return !is_factored(v) || v->settings.rank == 0 ||
           v->settings.rank == attsvm_data_describe(v->data).d;
}

static const char *constant_logits(const cli_verified *v)
{
    const cli_layer layer = cli_layer_of(&v->settings);
    return cli_constant_logits(v->data, &layer);
}

static bool has_zero_gradient(const cli_verified *v)
{
    return attsvm_train_describe(v->run).grad_log_scale == -INFINITY;
}

/*
 * The loss decreases everywhere along the max-margin direction of the optimal tokens (theory 6.13).
 * With one sequence descent on p or W reaches them from any start; with several it may end on other
 * tokens, even from 0 (tests/theory, theory_6_1_does_not_hold_from_zero).
 */
static bool is_benign(const attsvm_conditions *c)
{
    return c->choices > 0 && (c->equal_scores || c->all_support) && c->unique_optimal &&
           c->feasible;
}

const char *cli_verified_must(const cli_verified *v)
{
    const attsvm_conditions *c = &v->conditions;
    if (cli_verified_trains_head(v) || !cli_verified_linear(v) || !v->verdict.claimed ||
        c->choices == 0 || has_zero_gradient(v) || constant_logits(v))
        return "none";
    bool one = c->choices == 1 && !is_factored(v);
    return is_benign(c) && c->equal_scores && one ? "global" : "local";
}

/* nu is (Gamma - Gamma(p)) / miss with miss > 1e-6 and margins accurate to 1e-12: values up to 1e-6
   are rounding. */
static const char *assumption_b(const attsvm_joint *j)
{
    const double rounding = 1e-5 * j->margin;
    if (isnan(j->nu))
        return "none decides whether the assumption holds";
    if (fabs(j->nu) <= rounding)
        return "too close to 0 to decide whether the assumption holds";
    return j->nu > 0 ? "nothing found speaks against the assumption"
                     : "the assumption does not hold";
}

static void state_joint(const cli_verified *v, char *out, size_t size)
{
    const attsvm_joint *j = &v->found;
    char nu[48] = "Of the points tried", ratio[64] = "p is 0";
    if (!isnan(j->nu))
        snprintf(nu, sizeof nu, "The smallest nu found is %.4g", j->nu);
    if (isfinite(j->ratio))
        snprintf(ratio, sizeof ratio, "|v| is %.3g times |p|", j->ratio);
    if (isnan(j->relaxed))
        snprintf(out, size,
                 "Head and prompt are trained together. A head separates the selected tokens by "
                 "label, but no p was found that separates them from their rivals: there is no "
                 "direction that p could approach.");
    else if (j->all_tight)
        snprintf(out, size,
                 "Head and prompt are trained together, and every sequence is at the margin of the "
                 "head: if Assumption B holds, the path leads v to the v-SVM and p to the p-SVM of "
                 "the selected tokens. %s: %s.",
                 nu, assumption_b(j));
    else if (!isfinite(j->ratio_needed))
        snprintf(out, size,
                 "Head and prompt are trained together, and the %" PRId64 " of %" PRId64
                 " sequences at the margin of the head %s no rivals: the relaxed p-SVM, which has "
                 "to beat rivals by 1 only there, is p = 0 and gives no direction. %s",
                 j->tight, v->verdict.terms, j->tight == 1 ? "has" : "have",
                 isnan(j->unrelaxed) ? "No unrelaxed p-SVM was found, either."
                                     : "With bounded |v| the path leads p to the unrelaxed one, "
                                       "with which p is compared.");
    else
        snprintf(out, size,
                 "Head and prompt are trained together, and %" PRId64 " of %" PRId64
                 " sequences %s at the margin of the head: with |v| at least %.3g times |p| the "
                 "path leads p to the relaxed p-SVM (it has to beat rivals by 1 only in %s), %s. "
                 "Here %s%s.",
                 j->tight, v->verdict.terms, j->tight == 1 ? "is" : "are", j->ratio_needed,
                 j->tight == 1 ? "that sequence" : "those sequences",
                 isnan(j->unrelaxed) ? "and no unrelaxed one was found"
                                     : "with bounded |v| to the unrelaxed one",
                 ratio,
                 j->ratio >= j->ratio_needed || !isfinite(j->ratio) || isnan(j->unrelaxed) ? ""
                 : v->verdict.svm.problem == ATTSVM_PROBLEM_JOINT
                     ? "; p is nearer to the relaxed one and is compared with it"
                     : "; p is nearer to the unrelaxed one and is compared with it");
}

/* Some conditions fail: says which, and what still holds. */
static void state_local(const cli_verified *v, char *out, size_t size)
{
    const attsvm_conditions *c = &v->conditions;
    const char *scores = c->equal_scores ? "The conditions for one outcome do not all hold"
                                         : "Scores differ among the other tokens";
    const char *link = c->equal_scores ? ", because" : ", and";
    const char *ties = c->unique_optimal ? "" : " some sequence has two best tokens";
    const char *separate =
        c->outcome == ATTSVM_INFEASIBLE ? " no direction separates the best tokens"
        : !c->feasible ? " it is open whether a direction separates the best tokens"
                       : "";
    snprintf(out, size,
             "%s%s%s%s%s: descent may end in any locally optimal selection, depending on its "
             "start%s.%s",
             scores, *ties ? link : "", ties,
             !*separate ? ""
             : *ties    ? ", and"
                        : link,
             separate,
             c->feasible && c->unique_optimal && has_full_rank(v)
                 ? "; the path of growing norm leads to the best tokens"
                 : "",
             !c->wide || !has_full_rank(v) ? ""
             : cli_verified_prompt(v)      ? " Every selection can be separated."
                                      : " Every selection can be separated if the tokens are in "
                                        "general position.");
}

/* The loss decreases everywhere along one direction: no matrix or prompt is stationary, but the
   product K Q' has stationary factors. */
static void state_benign(const cli_verified *v, char *out, size_t size)
{
    snprintf(out, size,
             "In every sequence one token is best%s: at every point the loss decreases along their "
             "max-margin direction, so that no %s. %s may still end in another locally optimal "
             "selection%s.",
             v->conditions.equal_scores
                 ? " and all others share one score, and the best tokens can be separated"
                 : ", and all rivals are support tokens of the max-margin problem of the best "
                   "tokens",
             is_factored(v) ? "matrix W = K Q' is stationary. As a function of K and Q, however, "
                              "the loss has stationary points, K = Q = 0 among them"
                            : "point is stationary",
             v->conditions.choices > 1 ? "With several sequences descent" : "Descent",
             is_factored(v) ? "" : ", even from 0");
}

/* Whether the step rule has a prediction, which the rank of K and Q excludes. */
static bool above_rank(const cli_verified *v)
{
    bool claimed;
    attsvm_svm_settings svm;
    return is_factored(v) && v->settings.rank > 0 && !v->verdict.claimed &&
           attsvm_train_limit(&v->settings, &svm, &claimed, NULL) == ATTSVM_OK && claimed;
}

/* Linear fixed heads, in runs that can grow. */
static void state_outcome(const cli_verified *v, char *out, size_t size)
{
    if (above_rank(v))
        snprintf(out, size,
                 "The SVM of the selected tokens has a larger rank than K Q' may have (%" PRId64
                 "), so that its direction cannot be reached, and nothing is predicted.",
                 v->settings.rank);
    else if (!v->verdict.claimed)
        snprintf(out, size, "No theorem predicts the direction for the step rule %s.",
                 v->settings.step);
    else if (strcmp(cli_verified_must(v), "global") == 0)
        snprintf(out, size,
                 "%s token is best, all others share one score, and it can be separated from "
                 "them: descent converges to it from any start (%s).",
                 v->verdict.terms > 1 ? "In the only sequence with rivals one" : "One",
                 strcmp(v->settings.step, "gd") == 0
                     ? "proved for small steps"
                     : "proved for plain gradient descent with small steps, observed for this "
                       "rule");
    else if (is_benign(&v->conditions))
        state_benign(v, out, size);
    else
        state_local(v, out, size);
}

void cli_verified_statement(const cli_verified *v, char *out, size_t size)
{
    const attsvm_conditions *c = &v->conditions;
    const bool fixed = cli_verified_linear(v) && !cli_verified_trains_head(v);
    const char *product = cli_zero_product(v->data, v->run, &v->settings);
    const char *bounded = cli_unpredicted(&v->settings), *constant = constant_logits(v);
    if (c->rows == 0) {
        snprintf(out, size,
                 "Every sequence has only one token, or copies of one: attention has nothing to "
                 "choose.");
    } else if (constant) {
        snprintf(out, size, "%s No step moves attention, and nothing is predicted.", constant);
    } else if (fixed && c->choices == 0) {
        snprintf(out, size,
                 "In every sequence all tokens have the same score: attention does not change the "
                 "loss, and its gradient is 0 everywhere.");
    } else if (product) {
        snprintf(out, size, "At %s no step moves attention, and nothing is predicted.", product);
    } else if (bounded) {
        snprintf(out, size, "%s No theorem predicts where such a run ends.", bounded);
    } else if (v->joint && v->found.outcome == ATTSVM_OPTIMAL) {
        state_joint(v, out, size);
    } else if (cli_verified_trains_head(v)) {
        snprintf(out, size,
                 "The head is trained, too, and no theorem predicts the outcome for these data; "
                 "scores use the trained head.");
    } else if (!fixed) {
        snprintf(out, size,
                 "With this head attention may keep several tokens, and the theorems about single "
                 "tokens do not apply.");
    } else {
        state_outcome(v, out, size);
    }
}

static void say(const char *text)
{
    cli_wrap(stdout, text, 0, 0, WIDTH);
}

/* Why attention is undecided, and whether more steps can help. */
static const char *why_unsaturated(const cli_verified *v)
{
    const char *product = cli_zero_product(v->data, v->run, &v->settings);
    if (constant_logits(v))
        return "Training cannot change these logits.";
    if (v->conditions.choices == 0 && cli_verified_linear(v) && !cli_verified_trains_head(v))
        return "Attention does not change the loss, so no number of steps moves it.";
    if (v->verdict.outcome == ATTSVM_INFEASIBLE)
        return "No direction separates these tokens from their rivals, so no number of steps puts "
               "all attention on them.";
    if (product && v->settings.model == ATTSVM_MODEL_PW)
        return "The fixed prompt p is 0, and no number of steps changes a logit.";
    if (product)
        return "Both factors of the logits are 0 and stay 0: more steps do not help, but random "
               "start values do (--init gauss:0.1).";
    if (cli_unpredicted(&v->settings))
        return cli_unpredicted(&v->settings);
    if (attsvm_train_describe(v->run).iters == 0)
        return "No step was made: these are the start values.";
    if (attsvm_train_describe(v->run).margin == 0)
        return "A rival has exactly the same logit. If a symmetry of data and start values causes "
               "this, more steps do not help, but other start values do (--init gauss:0.01).";
    if (has_zero_gradient(v) && !cli_verified_trains_head(v))
        return "The gradient rounds to 0 here: more steps do not help, but other start values may.";
    if (cli_verified_trains_head(v) && v->verdict.unpulled > 0)
        return "The head has outgrown the prompt: in some of these sequences the label is decided, "
               "their loss weighs less than 1e-16 of the largest, and joint training hardly moves "
               "their attention any more. To settle it, let the head grow slowly: --eps 0,1e-3, or "
               "a larger second number.";
    if (v->alternates)
        return "The steps go back and forth: two more of them change the attention parameters by "
               "less than a thousandth of one step. More steps of this size hardly help; smaller "
               "ones (--lr) or decreasing ones (--decay 0.5) may.";
    if (v->joint && v->found.ratio > 0.1 && v->found.ratio < v->found.ratio_needed)
        return "Head and prompt grow together, and then nothing is proved about where p leads. To "
               "settle it, let the head grow slowly: --eps 0,1e-3, or a larger second number.";
    if (!cli_verified_linear(v))
        return "More steps may decide it; with this head attention may also stay on several "
               "tokens.";
    return "More steps may decide it.";
}

/* What happened, in plain words. */
void cli_verified_verdict(const cli_verified *v, char *text, size_t size)
{
    const attsvm_verdict *d = &v->verdict;
    const attsvm_optimality *o = &d->optimality;
    char more[320] = "";
    switch (d->kind) {
    case ATTSVM_VERDICT_GLOBAL:
        snprintf(
            text, size,
            "The model attends to the best token of every sequence: the best possible outcome.");
        break;
    case ATTSVM_VERDICT_LOCAL:
        snprintf(text, size,
                 "The model has settled on tokens that are not all the best (%" PRId64
                 " of %" PRId64 " %s not), but every rival at the margin has a lower score: the "
                 "selection is locally optimal, and descent can end in it.",
                 o->missed, d->terms, o->missed == 1 ? "is" : "are");
        break;
    case ATTSVM_VERDICT_NOT_LOCAL:
        snprintf(text, size,
                 "The model attends to one token of every sequence, but %" PRId64
                 " %s at the margin %s the same score or a higher one: the selection is not "
                 "locally optimal%s.",
                 o->against, o->against == 1 ? "rival" : "rivals", o->against == 1 ? "has" : "have",
                 cli_unpredicted(&v->settings) || has_zero_gradient(v) ? ""
                 : o->against > o->tied_support
                     ? ", and more steps may move it"
                     : "; the scores are equal, and it is open whether descent stays");
        break;
    case ATTSVM_VERDICT_UNSATURATED:
        if (d->terms > 1)
            snprintf(more, sizeof more, " in %" PRId64 " of %" PRId64 " sequences or queries",
                     d->undecided, d->terms);
        snprintf(text, size,
                 "The model has not decided%s: %sthe selected token has only %.4f of the "
                 "attention. %s",
                 more,
                 d->terms == 1       ? ""
                 : d->undecided == 1 ? "there "
                                     : "in one of them ",
                 d->attention, why_unsaturated(v));
        *more = '\0';
        break;
    default:
        snprintf(
            text, size,
            "No direction separates the tokens that the model attends to: ties of logits decided.");
    }
    if (!isnan(d->correlation))
        snprintf(more, sizeof more,
                 " What it learned points %.3g degrees away from the max-margin direction of these "
                 "tokens, and its smallest margin is %.2f %% of the largest possible for its norm.",
                 d->angle, 100 * d->efficiency);
    strncat(text, more, size - strlen(text) - 1);
}

/* The names of undecided sequences, where they have names and one query each. */
static void say_undecided(const cli_verified *v)
{
    enum { MOST_NAMES = 8 };
    const attsvm_array *softmax = attsvm_train_find(v->run, "softmax");
    const int64_t *alpha = cli_verified_selected(v), n = attsvm_data_describe(v->data).n;
    if (!softmax || !alpha || v->verdict.terms != n || !cli_sequence_name(v->data, 0))
        return;
    int64_t shown = 0;
    for (int64_t i = 0; i < n && shown <= MOST_NAMES; i++) {
        double s = attsvm_array_get(softmax, attsvm_data_offset(v->data, i) + alpha[i]);
        if (s < 1 - 1e-3 && shown++ < MOST_NAMES)
            printf("%s%s (%.4f)", shown == 1 ? "Undecided: " : ", ", cli_sequence_name(v->data, i),
                   s);
    }
    printf("%s", shown > MOST_NAMES ? ", ...\n" : shown > 0 ? ".\n" : "");
}

static void say_verdict(const cli_verified *v)
{
    const attsvm_verdict *d = &v->verdict;
    const attsvm_optimality *o = &d->optimality;
    char text[1400];
    cli_verified_verdict(v, text, sizeof text);
    say(text);
    if (d->kind == ATTSVM_VERDICT_UNSATURATED)
        say_undecided(v);
    if (d->outcome == ATTSVM_STALLED)
        say("The SVM of these tokens ended without a proof: support tokens, and with them local "
            "optimality, are those of the best point that it found.");
    if (o->tie)
        say("Ties: some tokens have exactly equal scores; the first counts as the best, and an "
            "equal score is not lower.");
}

static void print_line(const char *name, const char *format, double value, const char *meaning)
{
    char text[40];
    snprintf(text, sizeof text, format, value);
    if (!isnan(value))
        printf("  %-12s %-14s %s\n", name, text, meaning);
}

static void print_landscape(const attsvm_landscape *l)
{
    printf("\nLandscape:\n\n");
    if (l->svm != ATTSVM_OPTIMAL) {
        say(l->svm == ATTSVM_INFEASIBLE
                ? "  No direction separates the best tokens, so there is no landscape to sample."
                : "  The SVM of the best tokens ended without a proof: no landscape to sample.");
        return;
    }
    print_line("samples", "%.0f", (double)l->samples, "random points, norms 0.01 to 1000");
    print_line(
        "falling", "%.2f %%", 100 * l->share,
        "of these, with a loss that decreases along the max-margin direction of the best tokens");
    print_line(
        "cosine", "%.3g", l->largest,
        "of gradient and that direction, the largest; below 0 no sampled point is stationary");
}

static void print_joint(const cli_verified *v)
{
    const attsvm_joint *j = &v->found;
    printf("\nHead and prompt together:\n\n");
    if (j->outcome != ATTSVM_OPTIMAL) {
        say(j->outcome == ATTSVM_INFEASIBLE
                ? "  No head separates the selected tokens by label: there is no v-SVM."
                : "  The v-SVM of the selected tokens ended without a proof.");
        return;
    }
    print_line("head margin", "%.8g", j->margin, "of the v-SVM of the selected tokens");
    print_line("tight", "%.0f", (double)j->tight, "sequences at that margin");
    print_line("label margin", "%.8g", j->label_margin,
               "of the tokens as the model pools them now");
    print_line("correlation", "%.6f", j->correlation_v, "of v and the v-SVM");
    print_line("relaxed", "%.6f", j->correlation_relaxed, "correlation of p and the relaxed p-SVM");
    print_line("unrelaxed", "%.6f", j->correlation_unrelaxed,
               "correlation of p and the unrelaxed p-SVM");
    print_line("nu", "%.6g", j->nu, "smallest found, of Assumption B");
    if (!isnan(j->nu))
        print_line("tried", "%.0f", (double)j->tried, "points for that");
}

void cli_verified_print(const cli_verified *v)
{
    const attsvm_verdict *d = &v->verdict;
    char norm[32], text[1024];
    const int64_t *selected = cli_verified_selected(v);
    printf("%s: %s\n\n", cli_shown(v->file), attsvm_verdict_name(d->kind));
    say_verdict(v);
    putchar('\n');
    print_line("attention", "%.8g", d->attention, "of the selected token and its copies, at least");
    print_line("correlation", "%.8f", d->correlation, "with the SVM of the selected tokens");
    print_line("angle", "%.4g", d->angle, "degrees");
    print_line("efficiency", "%.6f", d->efficiency, "margin over the largest possible");
    print_line("margin", "%.8g", d->margin, "of the SVM");
    print_line("gap", "%.2g", d->gap, "of the SVM's proof");
    printf("  %-12s %-14s %s\n", "norm", cli_verified_norm(&d->svm, norm, sizeof norm),
           d->claimed ? "predicted for the step rule"
           : cli_unpredicted(&v->settings) || above_rank(v)
               ? "of the step rule, without a prediction for this run"
               : "there is no prediction for the step rule");
    printf("  %-12s", "selected");
    for (int64_t g = 0; g < d->terms && g < MOST_SHOWN; g++)
        printf(" %" PRId64, selected[g]);
    printf("%s\n", d->terms > MOST_SHOWN ? " ..." : "");
    if (v->conditions.feasible && cli_verified_linear(v) && !cli_verified_trains_head(v))
        printf("  %-12s %" PRId64 " of %-8" PRId64 " rival%s %s of the SVM of the best tokens\n",
               "support", v->conditions.support, v->conditions.rows,
               base_plural(v->conditions.rows),
               v->conditions.support == 1 ? "is a support token" : "are support tokens");
    if (v->joint)
        print_joint(v);
    if (v->landscape.samples > 0)
        print_landscape(&v->landscape);
    if (v->several) {
        printf("  %-12s %-14" PRId64 " token%s, several in %" PRId64 " of %" PRId64 " term%s\n",
               "kept", v->kept.kept, base_plural(v->kept.kept), v->kept.several, d->terms,
               base_plural(d->terms));
        print_line("predictivity", "%.3e", 1 - v->kept.correlation,
                   "1 - correlation with W_fin + R W_svm of the kept tokens");
        print_line("", "%.8f", v->kept.correlation_svm, "correlation with W_svm alone");
    }
    putchar('\n');
    cli_verified_statement(v, text, sizeof text);
    const char *bounded = cli_unpredicted(&v->settings);
    const bool said = bounded && d->kind == ATTSVM_VERDICT_UNSATURATED &&
                      d->outcome != ATTSVM_INFEASIBLE &&
                      strncmp(text, bounded, strlen(bounded)) == 0;
    say(said ? text + strlen(bounded) + 1 : text);
    cli_gradient_print(v->data, v->run, &v->settings);
    cli_exchangeable_print(&v->exchangeable);
}
