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

/* Some conditions fail: says which, and what still holds. */
static void state_local(const cli_verified *v, char *out, size_t size)
{
    const attsvm_conditions *c = &v->conditions;
    const char *scores = c->equal_scores ? "The conditions for one outcome do not all hold"
                                         : "Scores differ among the other tokens";
    const char *link = c->equal_scores ? ", because" : ", and";
    const char *ties = c->unique_optimal ? "" : " some sequence has several best tokens";
    const char *separate =
        c->outcome == ATTSVM_INFEASIBLE ? " no direction separates the best tokens"
        : !c->feasible ? " it is open whether a direction separates the best tokens"
                       : "";
    snprintf(out, size,
             "%s%s%s%s%s: descent may end in any locally optimal selection%s, depending on its "
             "start%s.%s",
             scores, *ties ? link : "", ties,
             !*separate ? ""
             : *ties    ? ", and"
                        : link,
             separate,
             c->outcome == ATTSVM_INFEASIBLE ? ", if there is one, or at a finite point" : "",
             c->feasible && c->unique_optimal && has_full_rank(v)
                 ? "; the path of growing norm leads to the best tokens"
                 : "",
             !c->wide || !has_full_rank(v) || c->outcome == ATTSVM_INFEASIBLE ? ""
             : cli_verified_prompt(v) ? " Every selection can be separated."
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
        cli_verified_joint(v, out, size);
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

static const char *more_steps(attsvm_train_outcome outcome)
{
    switch (outcome) {
    case ATTSVM_TRAIN_DIRECTION:
        return "--stop-direction ended the run early; more steps may decide it.";
    case ATTSVM_TRAIN_NORM: return "--stop-norm ended the run early; more steps may decide it.";
    case ATTSVM_TRAIN_TIME: return "The time limit ended the run; more steps may decide it.";
    default: return "More steps may decide it.";
    }
}

/* Why attention is undecided, and whether more steps can help. */
static const char *why_unsaturated(const cli_verified *v)
{
    const char *product = cli_zero_product(v->data, v->run, &v->settings);
    if (constant_logits(v))
        return "Training cannot change these logits.";
    if (v->conditions.choices == 0 && cli_verified_linear(v) && !cli_verified_trains_head(v))
        return "Attention does not change the loss, so no gradient moves it.";
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
        return "The head has outgrown the attention parameters: in some of these sequences the "
               "label is decided, "
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
    return more_steps(attsvm_train_describe(v->run).outcome);
}

/* What happened, in plain words. */
void cli_verified_verdict(const cli_verified *v, char *text, size_t size)
{
    const attsvm_verdict *d = &v->verdict;
    const attsvm_optimality *o = &d->optimality;
    char more[320] = "";
    switch (d->kind) {
    case ATTSVM_VERDICT_GLOBAL:
        snprintf(text, size, "The model attends to the best token of every sequence%s.",
                 !cli_verified_linear(v)       ? ""
                 : cli_verified_trains_head(v) ? ", by the scores of the trained head"
                                               : ": the best possible outcome");
        break;
    case ATTSVM_VERDICT_LOCAL:
        snprintf(text, size,
                 "The model has settled on tokens that are not all the best (%" PRId64
                 " of %" PRId64 " %s not), but every rival at the margin has a lower score: the "
                 "selection is locally optimal%s.",
                 o->missed, d->terms, o->missed == 1 ? "is" : "are",
                 cli_verified_linear(v) ? ", and descent can end in it" : "");
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

static void print_landscape(const attsvm_landscape *l)
{
    printf("\nLandscape:\n\n");
    if (l->svm != ATTSVM_OPTIMAL) {
        cli_wrap(stdout,
                 l->svm == ATTSVM_INFEASIBLE
                     ? "No direction separates the best tokens, so there is no landscape to sample."
                     : "The SVM of the best tokens ended without a proof: no landscape to sample.",
                 0, 2, WIDTH);
        return;
    }
    if (l->largest == -INFINITY) {
        cli_wrap(stdout, "The gradient is 0 at every point that was tried.", 0, 2, WIDTH);
        return;
    }
    cli_verified_line("samples", "%.0f", (double)l->samples, "random points, norms 0.01 to 1000");
    cli_verified_line(
        "falling", "%.2f %%", 100 * l->share,
        "of these, with a loss that decreases along the max-margin direction of the best tokens");
    cli_verified_line(
        "cosine", "%.3g", l->largest,
        "of gradient and that direction, the largest; below 0 no sampled point is stationary");
}

void cli_verified_print(const cli_verified *v)
{
    const attsvm_verdict *d = &v->verdict;
    char norm[32], text[1024];
    const int64_t *selected = cli_verified_selected(v);
    printf("%s: %s\n\n", cli_shown(v->file), attsvm_verdict_name(d->kind));
    say_verdict(v);
    putchar('\n');
    cli_verified_line("attention", "%.8g", d->attention,
                      "of the selected token and its copies, at least");
    cli_verified_line("correlation", "%.8f", d->correlation, "with the SVM of the selected tokens");
    cli_verified_line("angle", "%.4g", d->angle, "degrees");
    cli_verified_line("efficiency", "%.6f", d->efficiency, "margin over the largest possible");
    cli_verified_line("margin", "%.8g", d->margin, "of the SVM");
    cli_verified_line("gap", "%.2g", d->gap, "of the SVM's proof");
    printf("  %-12s %-14s %s\n", "norm", cli_verified_norm(&d->svm, norm, sizeof norm),
           d->claimed && cli_verified_linear(v) ? "predicted for the step rule"
           : d->claimed ? "of the step rule, without a prediction for this head"
           : cli_unpredicted(&v->settings) || above_rank(v)
               ? "of the step rule, without a prediction for this run"
               : "there is no prediction for the step rule");
    printf("  %-12s", "selected");
    for (int64_t g = 0; g < d->terms && g < MOST_SHOWN; g++)
        printf(" %" PRId64, selected[g]);
    printf("%s\n", d->terms > MOST_SHOWN ? " ..." : "");
    if (v->conditions.feasible && v->conditions.rows > 0 && cli_verified_linear(v) &&
        !cli_verified_trains_head(v))
        printf("  %-12s %" PRId64 " of %-8" PRId64 " rival%s %s of the SVM of the best tokens\n",
               "support", v->conditions.support, v->conditions.rows,
               base_plural(v->conditions.rows),
               v->conditions.support == 1 ? "is a support token" : "are support tokens");
    if (v->joint)
        cli_verified_joint_print(v);
    if (v->landscape.samples > 0)
        print_landscape(&v->landscape);
    if (v->several) {
        printf("  %-12s %-14" PRId64 " token%s, several in %" PRId64 " of %" PRId64 " term%s\n",
               "kept", v->kept.kept, base_plural(v->kept.kept), v->kept.several, d->terms,
               base_plural(d->terms));
        cli_verified_line("predictivity", "%.3e", 1 - v->kept.correlation,
                          "1 - correlation with W_fin + R W_svm of the kept tokens");
        cli_verified_line("", "%.8f", v->kept.correlation_svm, "correlation with W_svm alone");
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
