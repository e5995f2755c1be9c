/* The text of the demo, for a reader who has not read the papers. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, SHOWN_WORDS = 10, LONGEST = 64 };

static const int64_t shown_reviews[] = { 0, 1, 4, 5, 48, 49 };

static void say(const char *text)
{
    cli_wrap(stdout, text, 0, 0, WIDTH);
}

static void title(const char *text, bool colour)
{
    printf(colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* Attention on the words: by brightness in colour, otherwise as shares after the words. */
static void print_review(const cli_demo *d, int64_t record, int64_t i, bool colour)
{
    const char *bright = d->Y[i] > 0 ? "1;32" : "1;31", *mild = d->Y[i] > 0 ? "32" : "31";
    double s[LONGEST];
    int64_t first = d->offsets[i], T = d->offsets[i + 1] - first;
    cli_demo_attention(d, record, i, s);
    printf("  %s", d->Y[i] > 0 ? "good " : "bad  ");
    for (int64_t t = 0; t < T; t++) {
        const char *word = d->word[d->token[first + t]];
        if (s[t] < 0.2)
            printf(colour ? " \033[2m%s\033[0m" : " %s", word);
        else if (colour)
            printf(" \033[%sm%s\033[0m\033[2m %.0f%%\033[0m", s[t] >= 0.5 ? bright : mild, word,
                   100 * s[t]);
        else
            printf(" [%s %.0f%%]", word, 100 * s[t]);
    }
    putchar('\n');
}

static void print_reviews(const cli_demo *d, int64_t record, bool colour)
{
    for (size_t k = 0; k < sizeof shown_reviews / sizeof *shown_reviews; k++)
        print_review(d, record, shown_reviews[k], colour);
}

/* The record nearest below an iteration. */
static int64_t record_at(const cli_demo *d, int64_t wanted)
{
    const int64_t *iter;
    int64_t count = cli_demo_records(d, &iter), k = 0;
    while (k + 1 < count && iter[k + 1] <= wanted)
        k++;
    return k;
}

static void print_course(const cli_demo *d)
{
    static const int64_t stops[] = { 0, 10, 32, 100, 316, 1000, INT64_MAX };
    const double *accuracy = attsvm_train_find(d->train, "trace_accuracy")->data;
    const double *norm = attsvm_train_find(d->train, "trace_norm")->data;
    const double *softmax = attsvm_train_find(d->train, "trace_softmax")->data;
    const int64_t *iter;
    cli_demo_records(d, &iter);
    printf("    step   right   attention on one word   length of p   agreement with the margin\n");
    int64_t before = -1;
    for (size_t r = 0; r < sizeof stops / sizeof *stops; r++) {
        int64_t k = record_at(d, stops[r]);
        if (k == before)
            break; /* the run ended earlier */
        before = k;
        double mean = 0;
        for (int64_t i = 0; i < d->n; i++)
            mean += softmax[k * d->n + i] / (double)d->n;
        printf("  %6" PRId64 "   %4.0f%%   %20.1f%%   %11.1f", iter[k], 100 * accuracy[k],
               100 * mean, norm[k]);
        if (isfinite(d->correlation[k]))
            printf("   %25.4f\n", d->correlation[k]);
        else
            printf("   %25s\n", "-");
    }
}

static void print_words(const cli_demo *d, int Y, const char *name)
{
    char text[512] = "";
    size_t used = 0;
    cli_demo_rank *order = calloc((size_t)d->words, sizeof *order);
    if (!order)
        return;
    int64_t count = cli_demo_order(d, Y, order);
    for (int64_t k = 0; k < count && k < SHOWN_WORDS && used < sizeof text; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", k > 0 ? ", " : "",
                                 d->word[order[k].word]);
    if (count > SHOWN_WORDS && used < sizeof text)
        snprintf(text + used, sizeof text - used, " and %" PRId64 " more", count - SHOWN_WORDS);
    printf("  %-10s", name);
    cli_wrap(stdout, text, 12, 12, WIDTH);
    free(order);
}

static void print_certificate(const cli_demo *d, bool colour)
{
    char text[768];
    title("Why these words? The theory, and a proof", colour);
    snprintf(
        text, sizeof text,
        "The longer it trains, the longer p gets; it never arrives. But its direction should: the "
        "theory predicts that of the shortest p for which the picked word stands above its rivals "
        "by a fixed margin (where v has room to spare, above is enough). That is a support vector "
        "machine, and it can be solved without any training.");
    say(text);
    const char *proved = d->report.valid ? "proved" : d->report.reason;
    if (d->svm.outcome != ATTSVM_OPTIMAL) {
        snprintf(text, sizeof text,
                 "The picked words cannot be separated from their rivals, so there is no such "
                 "direction. An independent checker went through all rows of it: %s.",
                 proved);
        say(text);
        return;
    }
    snprintf(
        text, sizeof text,
        "Solved: margin %.6g. An independent checker went through all rows of it: %s (relative "
        "gap at most %.0e).",
        d->svm.margin, proved, fmax(d->report.gap, 1e-12));
    say(text);
    int used = snprintf(text, sizeof text,
                        "The trained p and the solved one: correlation %.4f, an angle of %.1f "
                        "degrees. ",
                        d->verdict.correlation, d->verdict.angle);
    if (d->verdict.efficiency > 0)
        snprintf(text + used, sizeof text - (size_t)used,
                 "The trained p reaches %.1f %% of the best margin.", 100 * d->verdict.efficiency);
    else
        snprintf(text + used, sizeof text - (size_t)used,
                 "In at least one review two words are still tied.");
    say(text);
}

void cli_demo_print(const cli_demo *d, bool colour)
{
    char text[640];
    const int64_t *iter;
    int64_t last = cli_demo_records(d, &iter) - 1;
    title("Which word decides?", colour);
    snprintf(text, sizeof text,
             "%" PRId64
             " short reviews, half good, half bad. A tiny attention layer reads each: it "
             "spreads its attention over the words and judges by those that it attends to. "
             "Nobody tells it which words matter; it starts from small random numbers, so that at "
             "first all get about the same share:",
             d->n);
    say(text);
    print_reviews(d, 0, colour);
    snprintf(text, sizeof text,
             "Two sets of numbers are learnt, one for each of the %" PRId64
             " words: p, how much attention it draws, and v, how good or bad it is. "
             "After %d steps:",
             d->words, (int)iter[record_at(d, 100)]);
    putchar('\n');
    say(text);
    print_reviews(d, record_at(d, 100), colour);
    if (iter[last] > 100) {
        snprintf(text, sizeof text, "After %" PRId64 ":", iter[last]);
        putchar('\n');
        say(text);
        print_reviews(d, last, colour);
    }
    title("On the way", colour);
    print_course(d);
    title("The words it looks at", colour);
    print_words(d, 1, "good");
    print_words(d, -1, "bad");
    if (d->svm.outcome == ATTSVM_OPTIMAL) {
        print_words(d, 0, "support");
        say("The support words are the rivals that came nearest to being picked: they hold the "
            "solution "
            "in place, the rest could be left out.");
    }
    print_certificate(d, colour);
    title("Verdict", colour);
    snprintf(text, sizeof text, "%s: %s", attsvm_verdict_name(d->verdict.kind),
             cli_demo_verdict(d));
    say(text);
    printf("\nPicture: %s%s\n", d->page, d->page[0] == '/' ? "" : " (open it in a browser)");
}
