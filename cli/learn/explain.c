/* Predictions in words: which token decided, and its weight. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

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

/* Tokens of sequence i that equal token t, t included. */
static int64_t count_copies(const cli_predicted *p, int64_t i, int64_t t)
{
    const attsvm_data *data = attsvm_samples_data(p->samples);
    const int64_t first = attsvm_data_offset(data, i), T = attsvm_data_length(data, i);
    const attsvm_array *X = attsvm_data_array(data, "X");
    const char *word = attsvm_samples_word(p->samples, i, t);
    int64_t copies = 1;
    if (!word && !X)
        return 1;
    const int64_t d = word ? 0 : X->shape[X->ndim - 1];
    for (int64_t u = 0; u < T; u++) {
        bool same = u != t;
        if (word)
            same = same && strcmp(word, attsvm_samples_word(p->samples, i, u)) == 0;
        for (int64_t j = 0; j < d && same; j++)
            same = attsvm_array_get(X, (first + u) * d + j) ==
                   attsvm_array_get(X, (first + t) * d + j);
        copies += same;
    }
    return copies;
}

/* A token, how often it occurs, and what all its copies contribute. */
static void print_voice(const cli_predicted *p, int64_t i, int64_t t, int64_t copies)
{
    print_token(p, i, t);
    if (copies > 1)
        printf(" (%" PRId64 " copies)", copies);
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
    printf("  sample %" PRId64 "%s%s%s: predicted %s, probability %.3f", i, name ? " (" : "",
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
    const int64_t copies = count_copies(p, i, decider);
    print_voice(p, i, decider, copies);
    printf(" decided (%+.3f; %.0f %% of the members agree)", (double)copies * contribution[decider],
           100 * numbers(p, "agreement")[i]);
    if (runner_up >= 0) {
        const int64_t others = count_copies(p, i, runner_up);
        printf(", before ");
        print_voice(p, i, runner_up, others);
        printf(" (%+.3f)", (double)others * contribution[runner_up]);
    }
    printf(". Without %s the prediction %s.\n", copies > 1 ? "them" : "it",
           flips ? "changes" : "stays");
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
