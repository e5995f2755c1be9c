/* The page of the demo: one self-contained HTML file. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>

enum { PANEL = 420, HIGH = 250, LEFT = 52, TOP = 34, BOTTOM = 42, SHOWN = 24, LONGEST = 64 };

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>attsvm demo: which word decides?</title>\n<style>\n"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}\nh1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}\n"
    "svg{max-width:100%;height:auto;margin-right:1rem}svg text{font:12px "
    "system-ui,sans-serif;fill:#222}\n"
    ".r{margin:.15rem 0 .15rem 3rem}"
    ".r b{display:inline-block;width:3rem;margin-left:-3rem;font-weight:400;color:#666}\n"
    ".r span{border-radius:.25rem;padding:.05rem .25rem}\n"
    ".verdict{border-left:.3rem solid #0072b2;padding:.4rem 1rem;background:#eef6fb}\n"
    "table{border-collapse:collapse}td{padding:.1rem 1rem .1rem 0;vertical-align:top}\n"
    "@media (max-width:40rem){td{display:block;padding:.1rem 0}.r{margin-left:0}"
    ".r b{display:block;margin:0}}\n"
    "@media (prefers-color-scheme:dark){body{color:#ddd;background:#181818}"
    "svg text{fill:#ddd}svg line{stroke:#444}.verdict{background:#10293a}.r b{color:#999}}\n"
    "</style>\n</head>\n<body>\n";

/* --------------------------------------------------------------------------------- panels */

/* Steps on a logarithmic axis, values in 0..1. */
static double place_x(const cli_demo *d, int64_t iter)
{
    return LEFT + (PANEL - LEFT - 12) * log10(1 + (double)iter) / log10(1 + (double)d->info.iters);
}

static double place_y(double value)
{
    return TOP + (HIGH - TOP - BOTTOM) * (1 - value);
}

static void draw_frame(FILE *out, const cli_demo *d, const char *name)
{
    fprintf(out, "<text x=\"%d\" y=\"18\" style=\"font-weight:bold\">%s</text>\n", LEFT, name);
    for (int k = 0; k <= 4; k++)
        fprintf(out,
                "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, PANEL - 12, place_y(k / 4.0), place_y(k / 4.0), LEFT - 6,
                place_y(k / 4.0) + 4, k / 4.0);
    for (int64_t step = 1; step <= d->info.iters; step *= 10)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%" PRId64 "</text>\n",
                place_x(d, step), HIGH - BOTTOM + 16, step);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n", (LEFT + PANEL) / 2,
            HIGH - 8);
}

static void draw_line(FILE *out, const cli_demo *d, const double *value, int64_t stride,
                      const char *style)
{
    const int64_t *iter;
    int64_t count = cli_demo_records(d, &iter);
    fprintf(out, "<polyline fill=\"none\" %s points=\"", style);
    for (int64_t k = 0; k < count; k++)
        if (isfinite(value[k * stride]))
            fprintf(out, "%.1f,%.1f ", place_x(d, iter[k]), place_y(fmax(value[k * stride], 0)));
    fputs("\"/>\n", out);
}

/* One line per review: the attention of the word that is selected at that step. */
static void draw_attention(FILE *out, const cli_demo *d)
{
    const double *softmax = attsvm_train_find(d->train, "trace_softmax")->data;
    draw_frame(out, d, "attention on the picked word, a line for each review");
    for (int64_t i = 0; i < d->n; i++)
        draw_line(out, d, softmax + i, d->n,
                  d->Y[i] > 0 ? "stroke=\"#009e73\" stroke-opacity=\".3\""
                              : "stroke=\"#d55e00\" stroke-opacity=\".3\"");
}

static void draw_course(FILE *out, const cli_demo *d)
{
    const double *accuracy = attsvm_train_find(d->train, "trace_accuracy")->data;
    draw_frame(out, d, "reviews judged right, and agreement with the theory");
    draw_line(out, d, accuracy, 1, "stroke=\"#999\" stroke-width=\"2\"");
    if (d->svm.outcome == ATTSVM_OPTIMAL)
        draw_line(out, d, d->correlation, 1, "stroke=\"#0072b2\" stroke-width=\"2.5\"");
    fprintf(out,
            "<text x=\"%d\" y=\"%.1f\" style=\"fill:#0072b2\">correlation of p with the max-margin "
            "direction</text><text x=\"%d\" y=\"%.1f\" style=\"fill:#777\">share judged "
            "right</text>\n",
            LEFT + 60, place_y(0.12), LEFT + 60, place_y(0.04));
}

/* One picture per panel, so that they stack on a narrow screen. */
static void draw_panel(FILE *out, const cli_demo *d, void (*draw)(FILE *, const cli_demo *),
                       const char *label)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\" aria-label=\"%s\">\n",
            PANEL, HIGH, PANEL, HIGH, label);
    draw(out, d);
    fputs("</svg>\n", out);
}

/* -------------------------------------------------------------------------------- reviews */

static void write_review(FILE *out, const cli_demo *d, int64_t record, int64_t i)
{
    double s[LONGEST];
    int64_t first = d->offsets[i], T = d->offsets[i + 1] - first;
    cli_demo_attention(d, record, i, s);
    fprintf(out, "<div class=\"r\"><b>%s</b>", d->Y[i] > 0 ? "good" : "bad");
    for (int64_t t = 0; t < T; t++)
        fprintf(out, "<span style=\"background:rgba(%s,%.3f)\" title=\"%.2f %%\">%s</span>\n",
                d->Y[i] > 0 ? "0,158,115" : "213,94,0", 0.75 * s[t], 100 * s[t],
                d->word[d->token[first + t]]);
    fputs("</div>\n", out);
}

static void write_words(FILE *out, const cli_demo *d, int Y, const char *name)
{
    cli_demo_rank *order = calloc((size_t)d->words, sizeof *order);
    if (!order)
        return;
    int64_t count = cli_demo_order(d, Y, order);
    fprintf(out, "<tr><td>%s</td><td>", name);
    for (int64_t k = 0; k < count && k < 2 * SHOWN; k++)
        fprintf(out, "%s%s", k > 0 ? ", " : "", d->word[order[k].word]);
    fputs(count > 2 * SHOWN ? ", ...</td></tr>\n" : "</td></tr>\n", out);
    free(order);
}

static void write_verdict(FILE *out, const cli_demo *d)
{
    const char *proved = d->report.valid ? "proved" : "not proved";
    fprintf(out, "<p class=\"verdict\"><strong>%s.</strong> %s ",
            attsvm_verdict_name(d->verdict.kind), cli_demo_verdict(d));
    if (d->svm.outcome != ATTSVM_OPTIMAL) {
        fprintf(out,
                "The picked words cannot be separated from their rivals, so there is no max-margin "
                "direction to compare p with (%s by an independent checker).</p>\n",
                proved);
        return;
    }
    fprintf(out,
            "Correlation of the trained p with the max-margin direction %.4f (an angle of %.1f "
            "degrees). The best margin is %.6g, which is %s by an independent checker; ",
            d->verdict.correlation, d->verdict.angle, d->svm.margin, proved);
    if (d->verdict.efficiency > 0)
        fprintf(out, "p reaches %.1f %% of it.</p>\n", 100 * d->verdict.efficiency);
    else
        fputs("p has none yet: in at least one review two words are tied.</p>\n", out);
}

void cli_demo_page(FILE *out, const void *what)
{
    const cli_demo *d = what;
    const int64_t *iter;
    int64_t last = cli_demo_records(d, &iter) - 1, step = d->n / SHOWN;
    fputs(head, out);
    fprintf(out,
            "<h1>Which word decides?</h1>\n<p>%" PRId64
            " short reviews, half good, half bad. A tiny "
            "attention layer learns to tell them apart by spreading its attention over the words. "
            "At the start every word of a review gets about the same share; after %" PRId64
            " step%s of normalised gradient descent ",
            d->n, iter[last], iter[last] == 1 ? "" : "s");
    if (d->verdict.kind == ATTSVM_VERDICT_UNSATURATED)
        fprintf(out, "one word has %.0f %% of it on average, at least %.0f %%.</p>\n",
                100 * d->info.softmax_mean, 100 * d->info.softmax_min);
    else
        fputs("one word has it all.</p>\n", out);
    draw_panel(out, d, draw_attention, "attention on the picked words over the steps");
    draw_panel(out, d, draw_course, "agreement with the max-margin direction over the steps");
    write_verdict(out, d);
    fputs("<h2>Reviews</h2>\n<p>The stronger the colour, the more attention.</p>\n", out);
    for (int64_t k = 0; k < SHOWN; k++)
        write_review(out, d, last, k * step + k % 2);
    fputs("<h2>Words</h2>\n<table>\n", out);
    write_words(out, d, 1, "picked in good reviews");
    write_words(out, d, -1, "picked in bad reviews");
    if (d->svm.outcome == ATTSVM_OPTIMAL)
        write_words(out, d, 0, "support words, the nearest rivals");
    fputs("</table>\n<p>The theory: Max-Margin Token Selection in Attention Mechanism, arXiv "
          "2306.13596. This page was written by <code>attsvm demo</code>.</p>\n</body>\n</html>\n",
          out);
}
