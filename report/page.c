/* One self-contained HTML page: texts, numbers and inline figures. */
#include "report/report.h"

#include "io/io.h"

#include <stdlib.h>
#include <string.h>

static const char style[] =
    "<style>\n"
    "body { font: 16px/1.5 Georgia, 'Times New Roman', serif; color: #222; background: #fff;\n"
    "       max-width: 62rem; margin: 2rem auto; padding: 0 1.2rem; }\n"
    "h1, h2 { font-weight: 600; line-height: 1.2; }\n"
    "h2 { margin: 0 0 .3rem; }\n"
    "h2 a { color: inherit; text-decoration: none; }\n"
    "section { border-top: 1px solid #ccc; margin-top: 2.5rem; padding-top: 1.5rem; }\n"
    "figure { margin: 1rem 0; }\n"
    ".scroll { overflow-x: auto; }\n"
    ".scroll svg { width: 100%; min-width: 42rem; height: auto; display: block; }\n"
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
    "@media print { section { break-inside: avoid; } .scroll svg { min-width: 0; } }\n"
    /* a narrow screen scrolls figures and stacks the cells of a row */
    "@media screen and (max-width: 40rem) {\n"
    "  dl { grid-template-columns: 1fr; }\n"
    "  table, tbody, tr, td { display: block; }\n"
    "  tr:first-child { display: none; }\n"
    "  tr { border-bottom: 1px solid #eee; padding: .3rem 0; }\n"
    "  td { border: 0; padding: 0; }\n"
    "  td.value { text-align: left; }\n"
    "}\n"
    "@media screen and (prefers-color-scheme: dark) {\n"
    "  body { color: #ddd; background: #181818; }\n"
    "  figcaption { color: #bbb; } .quiet, dt { color: #999; }\n"
    "  th, td, tr, section { border-color: #444; } a { color: #8ab4f8; }\n"
    "  td.bad { color: #ff8a80; }\n"
    "  .scroll svg { background: #fff; border-radius: 4px; }\n"
    "}\n"
    "</style>\n</head>\n<body>\n";

/* Escapes <, > and &. */
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
        int64_t checked = 0, failed = 0;
        for (int64_t j = 0; j < s->number_count; j++) {
            checked += s->numbers[j].check[0] != '\0';
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
            fputs("</td><td>none", out);
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

static void put_section(FILE *out, const report_section *s)
{
    fprintf(out, "<section id=\"%s\">\n<h2><a href=\"#%s\">", s->id, s->id);
    put(out, s->title);
    fprintf(out, "</a></h2>\n<p class=\"quiet\"><code>%s</code>, ", s->id);
    put(out, s->paper);
    fputs("; run time ", out);
    put_seconds(out, s->seconds);
    if (s->runs > 0)
        fprintf(out, "; %" PRId64 " %s", s->runs, s->unit ? s->unit : "runs");
    fprintf(out, "; seed %" PRId64 "</p>\n", s->seed);
    if (s->svg)
        fprintf(out, "<figure>\n<div class=\"scroll\">%s</div>\n<figcaption>", s->svg);
    else
        fputs("<figure>\n<figcaption>", out);
    put(out, s->caption);
    fputs("</figcaption>\n</figure>\n<dl>\n", out);
    put_term(out, "Setting", s->setting);
    put_term(out, "The paper", s->says);
    put_term(out, "We find", s->finds);
    fputs("</dl>\n", out);
    put_numbers(out, s);
    fputs("</section>\n", out);
}

static void put_page(FILE *out, const report_section *sections, int64_t count)
{
    put_head(out, "the experiments, reproduced");
    fprintf(out,
            "<h1>Attention as a max-margin problem: the experiments, reproduced</h1>\n"
            "<p>Made by <code>attsvm %s reproduce</code>. Every figure is drawn from the arrays in "
            "<code>ID.npz</code> beside this page, every key number is in <code>ID.json</code>; "
            "the same seed gives the same bytes. MM is <i>Max-Margin Token Selection in Attention "
            "Mechanism</i> (arXiv 2306.13596), TS <i>Transformers as Support Vector Machines</i> "
            "(2308.16898), MD <i>Optimizing Attention with Mirror Descent</i> (2410.14581), FR "
            "<i>Implicit Bias and Fast Convergence Rates for Self-attention</i> (2402.05738), NT "
            "<i>Mechanics of Next Token Prediction with Self-Attention</i> (2403.08081).</p>\n",
            attsvm_version());
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
        fprintf(out, "<figure>\n<div class=\"scroll\">%s</div>\n</figure>\n", svg);
        fprintf(out, "<p class=\"quiet\">Made by attsvm %s.</p>\n</body>\n</html>\n",
                attsvm_version());
    }
    return finish(out, &text, &size, path, err);
}
