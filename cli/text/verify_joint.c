/* The output of attsvm verify on a head and a prompt that are trained together. */
#include "cli/cli.h"

#include <math.h>

void cli_verified_line(const char *name, const char *format, double value, const char *meaning)
{
    char text[40];
    snprintf(text, sizeof text, format, value);
    if (!isnan(value))
        printf("  %-12s %-14s %s\n", name, text, meaning);
}

/* The vector that is compared with a p-SVM. */
static const char *prompt(const cli_verified *v)
{
    return v->settings.model == ATTSVM_MODEL_VPW ? "W'p" : "p";
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

void cli_verified_joint(const cli_verified *v, char *out, size_t size)
{
    const attsvm_joint *j = &v->found;
    const char *p = prompt(v);
    char nu[48] = "Of the points tried", ratio[64];
    snprintf(ratio, sizeof ratio, "%s is 0", p);
    if (!isnan(j->nu))
        snprintf(nu, sizeof nu, "The smallest nu found is %.4g", j->nu);
    if (isfinite(j->ratio))
        snprintf(ratio, sizeof ratio, "|v| is %.3g times |%s|", j->ratio, p);
    if (isnan(j->relaxed))
        snprintf(out, size,
                 "Head and prompt are trained together. A head separates the selected tokens by "
                 "label, but no %s was found that separates them from their rivals: there is no "
                 "direction that it could approach.",
                 p);
    else if (j->all_tight)
        snprintf(
            out, size,
            "Head and prompt are trained together, and every sequence is at the margin of the "
            "head: if Assumption B holds, the path leads v to the v-SVM and %s to the p-SVM of "
            "the selected tokens. %s: %s.",
            p, nu, assumption_b(j));
    else if (!isfinite(j->ratio_needed))
        snprintf(
            out, size,
            "Head and prompt are trained together, and the %" PRId64 " of %" PRId64
            " sequences at the margin of the head %s no rivals: the relaxed p-SVM, which has "
            "to beat rivals by 1 only there, has the solution 0 and gives no direction. %s%s%s",
            j->tight, v->verdict.terms, j->tight == 1 ? "has" : "have",
            isnan(j->unrelaxed) ? "No unrelaxed p-SVM was found, either."
                                : "With bounded |v| the path leads ",
            isnan(j->unrelaxed) ? "" : p,
            isnan(j->unrelaxed) ? "" : " to the unrelaxed one, which is compared here.");
    else
        snprintf(
            out, size,
            "Head and prompt are trained together, and %" PRId64 " of %" PRId64
            " sequences %s at the margin of the head: with |v| at least %.3g times |%s| "
            "the path leads %s to the relaxed p-SVM (it has to beat rivals by 1 only in %s), %s. "
            "Here %s%s.",
            j->tight, v->verdict.terms, j->tight == 1 ? "is" : "are", j->ratio_needed, p, p,
            j->tight == 1 ? "that sequence" : "those sequences",
            isnan(j->unrelaxed) ? "and no unrelaxed one was found"
                                : "with bounded |v| to the unrelaxed one",
            ratio,
            j->ratio >= j->ratio_needed || !isfinite(j->ratio) || isnan(j->unrelaxed) ? ""
            : v->verdict.svm.problem == ATTSVM_PROBLEM_JOINT
                ? ", and the relaxed one is nearer and is compared here"
                : ", and the unrelaxed one is nearer and is compared here");
}

void cli_verified_joint_print(const cli_verified *v)
{
    const attsvm_joint *j = &v->found;
    printf("\nHead and prompt together:\n\n");
    if (j->outcome != ATTSVM_OPTIMAL) {
        cli_wrap(stdout,
                 j->outcome == ATTSVM_INFEASIBLE
                     ? "No head separates the selected tokens by label: there is no v-SVM."
                     : "The v-SVM of the selected tokens ended without a proof.",
                 0, 2, 80);
        return;
    }
    cli_verified_line("head margin", "%.8g", j->margin, "of the v-SVM of the selected tokens");
    cli_verified_line("tight", "%.0f", (double)j->tight, "sequences at that margin");
    cli_verified_line("label margin", "%.8g", j->label_margin,
                      "of the tokens as the model pools them now");
    cli_verified_line("correlation", "%.6f", j->correlation_v, "of v and the v-SVM");
    const bool product = v->settings.model == ATTSVM_MODEL_VPW;
    cli_verified_line("relaxed", "%.6f", j->correlation_relaxed,
                      product ? "correlation of W'p and the relaxed p-SVM"
                              : "correlation of p and the relaxed p-SVM");
    cli_verified_line("unrelaxed", "%.6f", j->correlation_unrelaxed,
                      product ? "correlation of W'p and the unrelaxed p-SVM"
                              : "correlation of p and the unrelaxed p-SVM");
    cli_verified_line("nu", "%.6g", j->nu, "smallest found, of Assumption B");
    if (!isnan(j->nu))
        cli_verified_line("tried", "%.0f", (double)j->tried, "points for that");
}
