/* Predictions in words: which token decided, and its weight. */
#include "cli/cli.h"

#include <math.h>

static const double *numbers(const cli_predicted *p, const char *name)
{
    return attsvm_prediction_find(p->found, name)->data;
}

static const int64_t *places(const cli_predicted *p, const char *name)
{
    return attsvm_prediction_find(p->found, name)->data;
}

/* A token by its word, or by its number. */
static void print_token(const cli_predicted *p, int64_t i, int64_t t)
{
    const char *word = attsvm_samples_word(p->samples, i, t);
    if (word)
        printf("\"%s\"", word);
    else
        printf("token %" PRId64, t);
}

/* The words of a text; on a terminal green is for the predicted class, red against it. */
static void print_words(const cli_predicted *p, int64_t i, bool colour)
{
    const attsvm_data *data = attsvm_samples_data(p->samples);
    const int64_t first = attsvm_data_offset(data, i), T = attsvm_data_length(data, i);
    const double *contribution = numbers(p, "contribution") + first;
    double largest = 0;
    for (int64_t t = 0; t < T; t++)
        largest = fmax(largest, fabs(contribution[t]));
    printf("   ");
    for (int64_t t = 0; t < T; t++) {
        const double share = largest > 0 ? contribution[t] / largest : 0;
        const bool loud = fabs(share) > 0.15;
        if (colour && loud)
            printf(" \033[%d;%dm%s\033[0m", share > 0 ? 32 : 31, fabs(share) > 0.6 ? 1 : 22,
                   attsvm_samples_word(p->samples, i, t));
        else if (loud)
            printf(" %s(%+.2f)", attsvm_samples_word(p->samples, i, t), contribution[t]);
        else
            printf(" %s", attsvm_samples_word(p->samples, i, t));
    }
    putchar('\n');
}

static void print_case(const cli_predicted *p, int64_t i, bool colour)
{
    const attsvm_data *data = attsvm_samples_data(p->samples);
    const int64_t *label = places(p, "label"), *truth = attsvm_samples_label(p->samples);
    const int64_t decider = places(p, "decider")[i], runner_up = places(p, "runner_up")[i];
    const int64_t first = attsvm_data_offset(data, i);
    const double *contribution = numbers(p, "contribution") + first;
    const bool flips = ((const uint8_t *)attsvm_prediction_find(p->found, "flips")->data)[i];
    const char *name = cli_sequence_name(data, i);
    printf("  sample %" PRId64 "%s%s%s: %s, probability %.3f", i, name ? " (" : "",
           name ? name : "", name ? ")" : "", attsvm_classifier_class(p->model, label[i]),
           cli_certainty(p, i));
    if (truth && truth[i] >= 0)
        printf(truth[i] == label[i] ? ", right" : ", wrong: it is %s",
               attsvm_classifier_class(p->model, truth[i]));
    printf(".\n");
    if (decider < 0) {
        printf("    It has no known token: the bias decided.\n");
        return;
    }
    printf("    ");
    print_token(p, i, decider);
    printf(" decided (%+.3f", contribution[decider]);
    printf("; %.0f %% of the members agree)", 100 * numbers(p, "agreement")[i]);
    if (runner_up >= 0) {
        printf(", before ");
        print_token(p, i, runner_up);
        printf(" (%+.3f)", contribution[runner_up]);
    }
    printf(". Without it the prediction %s.\n", flips ? "changes" : "stays");
    if (attsvm_samples_word(p->samples, i, 0))
        print_words(p, i, colour);
}

void cli_predicted_explain(const cli_predicted *p, int64_t most, bool colour)
{
    const int64_t n = attsvm_prediction_describe(p->found).n;
    if (most == 0)
        return;
    const int64_t top = most < n ? most : n, rest = n - top < most ? n - top : most;
    printf(n > 1 ? "\nMost certain:\n" : "\n");
    for (int64_t k = 0; k < top; k++)
        print_case(p, p->order[k], colour);
    if (rest > 0)
        printf("\nLeast certain:\n");
    for (int64_t k = 0; k < rest; k++)
        print_case(p, p->order[n - 1 - k], colour);
}
