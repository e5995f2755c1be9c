/* The output of attsvm tokens --enumerate: the selections, and whether the list is complete. */
#include "cli/cli.h"

#include <math.h>

enum { MOST_SHOWN = 24 };

/* The number of selections: 625, 1.2e+30, or 16^1000 beyond the range of doubles. */
static const char *count_text(const attsvm_enumeration_info *info, const attsvm_data *data,
                              char *text, size_t size)
{
    attsvm_data_info about = attsvm_data_describe(data);
    if (isfinite(info->product))
        snprintf(text, size, "%.6g", info->product);
    else if (about.T_min == about.T_max)
        snprintf(text, size, "%" PRId64 "^%" PRId64, about.T_max, info->terms);
    else
        snprintf(text, size, "more than 10^308");
    return text;
}

/* What a complete list rests on. */
static void complete_text(const attsvm_enumeration_info *info, const char *product, char *text,
                          size_t size)
{
    char pruned[96] = "";
    if (info->product == 1) {
        snprintf(text, size, "the SVM of the only selection was solved.");
        return;
    }
    if ((double)info->judged == info->product) {
        snprintf(text, size, "the SVMs of all %" PRId64 " selections were solved.", info->judged);
        return;
    }
    if (info->pruned > 0)
        snprintf(pruned, sizeof pruned,
                 " or %s%" PRId64 " partial selection%s that no direction separates",
                 info->pruned == 1 ? "" : "one of ", info->pruned, base_plural(info->pruned));
    snprintf(text, size,
             "of %s selections %" PRId64 " had their SVM solved; the others contain duplicates%s.",
             product, info->judged, pruned);
}

static void say_enumeration(const attsvm_enumeration_info *info, const attsvm_data *data)
{
    char text[512], rest[320], product[64];
    count_text(info, data, product, sizeof product);
    if (info->exhaustive)
        complete_text(info, product, rest, sizeof rest);
    else if (info->stopped)
        snprintf(rest, sizeof rest, "stopped after the SVMs of %" PRId64 " of %s selections.",
                 info->judged, product);
    else if (!info->searched)
        snprintf(rest, sizeof rest, "the SVM%s of %" PRId64 " selection%s ended without a proof.",
                 base_plural(info->stalled), info->stalled, base_plural(info->stalled));
    else
        snprintf(rest, sizeof rest, "of %s selections the search examined %" PRId64 ".", product,
                 info->judged);
    snprintf(text, sizeof text, "Locally optimal selections%s: %" PRId64 ". The list %s: %s",
             info->exhaustive ? "" : " found", info->count,
             info->exhaustive ? "is complete" : "may be incomplete", rest);
    cli_wrap(stdout, text, 0, 0, 80);
}

void cli_enumeration_print(const attsvm_enumeration *enumeration, const attsvm_data *data)
{
    attsvm_enumeration_info info = attsvm_enumeration_describe(enumeration);
    putchar('\n');
    say_enumeration(&info, data);
    if (info.count == 0)
        return;
    printf("\n  %10s  %s\n", "norm", "tokens");
    for (int64_t k = 0; k < info.count && k < MOST_SHOWN; k++) {
        attsvm_local_optimum local = attsvm_enumeration_get(enumeration, k);
        printf("  %10.6g ", local.norm);
        for (int64_t g = 0; g < info.terms && g < MOST_SHOWN; g++)
            printf(" %" PRId64, local.alpha[g]);
        printf("%s%s\n", info.terms > MOST_SHOWN ? " ..." : "",
               local.global ? "  <- the best scores" : "");
    }
    if (info.count > MOST_SHOWN)
        printf("  and %" PRId64 " more\n", info.count - MOST_SHOWN);
}
