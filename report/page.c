/* One self-contained HTML page: texts, numbers and inline figures. */
#include "report/report.h"

#include "io/io.h"

#include <stdlib.h>
#include <string.h>

static const char style[] =
    "<style>\n"
    "body { font: 16px/1.5 Georgia, 'Times New Roman', serif; color: #222; background: #fff;\n"
    "       max-width: 62rem; margin: 2rem auto; padding: 0 1.2rem; overflow-wrap: anywhere; }\n"
    "h1, h2 { font-weight: 600; line-height: 1.2; }\n"
    "h2 { margin: 0 0 .3rem; }\n"
    "h2 a { color: inherit; text-decoration: none; }\n"
    "section { border-top: 1px solid #ccc; margin-top: 2.5rem; padding-top: 1.5rem; }\n"
    "figure { margin: 1rem 0; }\n"
    "figure svg { width: 100%; height: auto; display: block; }\n"
    ".stack { display: none; }\n"
    "figcaption { font-size: .93rem; color: #333; margin-top: .4rem; }\n"
    "table { border-collapse: collapse; font-size: .9rem; margin: .6rem 0; }\n"
    "th, td { text-align: left; padding: .18rem .9rem .18rem 0; vertical-align: top;\n"
    "         border-bottom: 1px solid #eee; }\n"
    "td.value { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }\n"
    "td.bad { color: #b00020; font-weight: 600; }\n"
    "dl { margin: .6rem 0; display: grid; grid-template-columns: 8.5rem 1fr; gap: .25rem 1rem; }\n"
    "dt { color: #666; } dd { margin: 0; }\n"
    ".quiet { color: #666; font-size: .93rem; }\n"
    "code { font: .88em ui-monospace, Menlo, Consolas, monospace; }\n"
    "@media print { section { break-inside: avoid; } }\n"
    /* a narrow screen has panels, terms and the cells of a row below each other; what the panels
       are cut from must stay in the page, so it is clipped, not removed */
    "@media screen and (max-width: 40rem) {\n"
    "  body { margin: 1rem auto; padding: 0 .8rem; }\n"
    "  h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; }\n"
    "  .whole { position: absolute; width: 1px; height: 1px; overflow: hidden; }\n"
    "  .stack { display: block; } .stack svg { margin-bottom: .8rem; }\n"
    "  dl { grid-template-columns: 1fr; }\n"
    "  dt { margin-top: .4rem; }\n"
    "  table, tbody, tr, td { display: block; }\n"
    "  tr:first-child { display: none; }\n"
    "  tr { border-bottom: 1px solid #eee; padding: .3rem 0; }\n"
    "  td { border: 0; padding: 0; }\n"
    "  td.value { text-align: left; }\n"
    "}\n"
    /* figures are drawn dark on white: inverted, with the hues turned back */
    "@media screen and (prefers-color-scheme: dark) {\n"
    "  body { color: #ddd; background: #181818; }\n"
    "  figcaption { color: #bbb; } .quiet, dt { color: #999; }\n"
    "  th, td, tr, section { border-color: #444; } a { color: #8ab4f8; }\n"
    "  td.bad { color: #ff8a80; }\n"
    "  figure svg { filter: invert(.906) hue-rotate(180deg); }\n"
    "}\n"
    "</style>\n</head>\n<body>\n";

/* The papers by the abbreviations that the experiments use. */
static const struct {
    const char *key, *title, *where;
} papers[] = {
    { "MM", "Max-Margin Token Selection in Attention Mechanism", "NeurIPS 2023, arXiv 2306.13596" },
    { "TS", "Transformers as Support Vector Machines", "arXiv 2308.16898" },
    { "MD", "Optimizing Attention with Mirror Descent: Generalized Max-Margin Token Selection",
      "JMLR 2026, arXiv 2410.14581" },
    { "FR", "Implicit Bias and Fast Convergence Rates for Self-attention",
      "TMLR 2025, arXiv 2402.05738" },
    { "NT", "Mechanics of Next Token Prediction with Self-Attention",
      "AISTATS 2024, arXiv 2403.08081" },
};
enum { PAPERS = sizeof papers / sizeof *papers };

/* Text in which <, > and & stand for themselves. */
static void put(FILE *out, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++)
        switch (*c) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*c, out);
        }
}

static void put_head(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<title>attsvm: ",
          out);
    put(out, title);
    fprintf(out, "</title>\n%s", style);
}

static void put_term(FILE *out, const char *term, const char *text)
{
    if (!text || !*text)
        return;
    fprintf(out, "<dt>%s</dt><dd>", term);
    put(out, text);
    fputs("</dd>\n", out);
}

/* A number in the first tag of the SVG; 0 if it is missing. */
static double svg_number(const char *svg, const char *name, int skip)
{
    const char *end = strchr(svg, '>'), *at = strstr(svg, name);
    if (!at || !end || at > end)
        return 0;
    at += strlen(name);
    for (char *next; skip > 0; skip--, at = next)
        if (strtod(at, &next) == 0 && next == at)
            return 0;
    return strtod(at, NULL);
}

/*
 * The figure as it was drawn, and for narrow screens its panels below each other: windows on the
 * same drawing, which therefore needs a name of its own in the page.
 */
static void put_svg(FILE *out, const char *svg, const char *id)
{
    static const char canvas[] = "id=\"gnuplot_canvas\"";
    svg = strstr(svg, "<svg") ? strstr(svg, "<svg") : svg; /* no XML declaration inside a page */
    const char *name = strstr(svg, canvas);
    int columns = (int)svg_number(svg, "data-columns=\"", 0);
    int panels = (int)svg_number(svg, "data-panels=\"", 0);
    double width = svg_number(svg, "viewBox=\"", 2), height = svg_number(svg, "viewBox=\"", 3);
    if (!name || columns < 1 || panels < 2 || !(width > 0) || !(height > 0)) {
        fprintf(out, "<div style=\"max-width:%.0fpx\">%s</div>\n", width > 0 ? 1.4 * width : 1400,
                svg);
        return;
    }
    int rows = (panels + columns - 1) / columns;
    fputs("<div class=\"whole\">", out);
    fwrite(svg, 1, (size_t)(name - svg), out);
    fprintf(out, "id=\"%s-drawing\"%s</div>\n<div class=\"stack\">\n", id,
            name + sizeof canvas - 1);
    for (int k = 0; k < panels; k++) {
        int row = k / columns, column = k % columns;
        fprintf(out, "<svg viewBox=\"%g %g %g %g\"><use href=\"#%s-drawing\"/></svg>\n",
                width / columns * column, height / rows * row, width / columns, height / rows, id);
    }
    fputs("</div>\n", out);
}

static void put_seconds(FILE *out, double seconds)
{
    if (isnan(seconds))
        fputs("not known", out);
    else
        fprintf(out, "%.*f s", seconds < 0.995 ? 2 : 1, seconds);
}

static void put_overview(FILE *out, const report_section *sections, int64_t count)
{
    double total = 0;
    fputs("<table>\n<tr><th>experiment</th><th>from</th><th>numbers checked</th>"
          "<th>run time</th></tr>\n",
          out);
    for (int64_t k = 0; k < count; k++) {
        const report_section *s = &sections[k];
        int64_t checked = 0, failed = 0, unjudged = 0;
        for (int64_t j = 0; j < s->number_count; j++) {
            unjudged += s->numbers[j].unjudged;
            checked += s->numbers[j].check[0] != '\0' && !s->numbers[j].unjudged;
            failed += s->numbers[j].failed;
        }
        fprintf(out, "<tr><td><a href=\"#%s\"><code>%s</code></a> ", s->id, s->id);
        put(out, s->title);
        fputs("</td><td>", out);
        put(out, s->paper);
        if (failed > 0)
            fprintf(out, "</td><td class=\"bad\">%" PRId64 " of %" PRId64 " are off", failed,
                    checked);
        else if (checked > 0)
            fprintf(out, "</td><td>%" PRId64 ", all as expected", checked);
        else
            fputs(unjudged > 0 ? "</td><td>too few runs to judge" : "</td><td>none", out);
        fputs("</td><td class=\"value\">", out);
        put_seconds(out, s->seconds);
        fputs("</td></tr>\n", out);
        total += isnan(s->seconds) ? 0 : s->seconds;
    }
    fputs("<tr><td></td><td></td><td>together</td><td class=\"value\">", out);
    put_seconds(out, total);
    fputs("</td></tr>\n</table>\n", out);
}

static void put_numbers(FILE *out, const report_section *s)
{
    if (s->number_count == 0)
        return;
    fputs("<table>\n<tr><th>key number</th><th></th><th>meaning</th><th>expected</th></tr>\n", out);
    for (int64_t k = 0; k < s->number_count; k++) {
        const report_number *n = &s->numbers[k];
        fprintf(out, "<tr><td><code>%s</code></td><td class=\"value\">%s</td><td>", n->key,
                n->text);
        put(out, n->meaning);
        fprintf(out, "</td><td%s>", n->failed ? " class=\"bad\"" : "");
        put(out, n->check);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

/* "MM, figure 3", with the title of each paper after its abbreviation. */
static void put_source(FILE *out, const char *paper)
{
    fputs("<dt>From</dt><dd>", out);
    for (const char *c = paper; *c; c++) {
        char letter[2] = { *c, '\0' };
        int k = 0;
        while (k < PAPERS && strncmp(c, papers[k].key, strlen(papers[k].key)) != 0)
            k++;
        if (k == PAPERS) {
            put(out, letter);
            continue;
        }
        fprintf(out, "%s (<i>%s</i>, %s)", papers[k].key, papers[k].title, papers[k].where);
        c += strlen(papers[k].key) - 1;
    }
    fputs("</dd>\n", out);
}

static void put_section(FILE *out, const report_section *s)
{
    fprintf(out, "<section id=\"%s\">\n<h2><a href=\"#%s\">", s->id, s->id);
    put(out, s->title);
    fprintf(out, "</a></h2>\n<p class=\"quiet\"><code>%s</code>; run time ", s->id);
    put_seconds(out, s->seconds);
    if (s->runs > 0)
        fprintf(out, "; %" PRId64 " %s", s->runs, s->unit ? s->unit : "runs");
    fprintf(out, "; seed %" PRId64 "</p>\n<figure>\n", s->seed);
    if (s->svg)
        put_svg(out, s->svg, s->id);
    fputs("<figcaption>", out);
    put(out, s->caption);
    fputs("</figcaption>\n</figure>\n<dl>\n", out);
    put_source(out, s->paper);
    put_term(out, "Setting", s->setting);
    if (s->command)
        fprintf(out,
                "<dt>The first run</dt><dd><code>attsvm train %s.npz %s -o run.npz</code></dd>\n",
                s->id, s->command);
    put_term(out, "The paper says", s->says);
    put_term(out, "The published code does", s->code);
    put_term(out, "We find", s->finds);
    fputs("</dl>\n", out);
    put_numbers(out, s);
    fputs("</section>\n", out);
}

static void put_introduction(FILE *out)
{
    fprintf(out,
            "<h1>Attention as a max-margin problem: the experiments, reproduced</h1>\n"
            "<p>Made by <code>attsvm %s reproduce</code>. Every figure is drawn from the arrays in "
            "<code>ID.npz</code> beside this page, every key number is in <code>ID.json</code>; "
            "the same seed gives the same bytes. For each experiment the page keeps apart what the "
            "paper says, what its published code does where we have read it, and what we find. "
            "Experiments marked \"ours\" are in no paper.</p>\n<dl>\n",
            attsvm_version());
    for (int k = 0; k < PAPERS; k++)
        fprintf(out, "<dt>%s</dt><dd><i>%s</i>, %s</dd>\n", papers[k].key, papers[k].title,
                papers[k].where);
    fputs("<dt>n, T, d</dt><dd>sequences, tokens of a sequence, dimensions of a token; a "
          "<i>unit</i> vector is Gaussian, scaled to norm 1</dd>\n"
          "<dt>p, v, W, K, Q</dt><dd>prompt, head, attention matrix and its factors, W = KQ'</dd>\n"
          "<dt>SVM</dt><dd>support vector machine: the shortest p, v or W that separates the "
          "selected token of every sequence from the others by a margin of 1; p-SVM, v-SVM and "
          "W-SVM name the unknown, Frobenius, nuclear and l_q the norm</dd>\n"
          "<dt>correlation</dt><dd>cosine of the angle between two vectors or matrices</dd>\n"
          "<dt>normalised descent</dt><dd>gradient descent with steps of fixed length; with "
          "<i>eps</i>, gradient/(norm + eps) as in the published code</dd>\n"
          "<dt>exact</dt><dd>gradients evaluated so that saturated attention does not spoil them; "
          "float32 and float64 are the textbook formula in that arithmetic</dd>\n</dl>\n",
          out);
}

static void put_page(FILE *out, const report_section *sections, int64_t count)
{
    put_head(out, "the experiments, reproduced");
    put_introduction(out);
    put_overview(out, sections, count);
    for (int64_t k = 0; k < count; k++)
        put_section(out, &sections[k]);
    fputs("</body>\n</html>\n", out);
}

/* Completes a page that was written to memory, and writes the file. */
static attsvm_status finish(FILE *out, char **text, size_t *size, const char *path,
                            attsvm_error *err)
{
    io_file *file = NULL;
    bool lost = !out || ferror(out);
    if (out)
        lost = fclose(out) != 0 || lost;
    attsvm_status status = lost ? fail(err, ATTSVM_E_MEMORY, "%s: no memory for the page", path)
                                : io_file_create(&file, path, err);
    if (status == ATTSVM_OK) {
        status = io_file_write(file, *text, *size, err);
        if (status == ATTSVM_OK)
            status = io_file_commit(file, err);
        else
            io_file_abandon(file);
    }
    free(*text);
    return status;
}

attsvm_status report_page_write(const char *path, const report_section *sections, int64_t count,
                                attsvm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out)
        put_page(out, sections, count);
    return finish(out, &text, &size, path, err);
}

attsvm_status report_own_page_write(const char *path, const char *title,
                                    const char *const *paragraphs, const char *svg,
                                    attsvm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        put_head(out, title);
        fputs("<h1>", out);
        put(out, title);
        fputs("</h1>\n", out);
        for (; *paragraphs; paragraphs++) {
            fputs("<p>", out);
            put(out, *paragraphs);
            fputs("</p>\n", out);
        }
        fputs("<figure>\n", out);
        put_svg(out, svg, "figure");
        fputs("</figure>\n", out);
        fprintf(out, "<p class=\"quiet\">Made by attsvm %s.</p>\n</body>\n</html>\n",
                attsvm_version());
    }
    return finish(out, &text, &size, path, err);
}
