/*
 * Graphs of next-token prediction as pictures.  One panel for each last word; preferred words are
 * above those that they beat, words of one component in a common box.
 */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

attsvm_status cli_write_text(const char *path, cli_printer *draw, const void *what,
                             attsvm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return fail(err, ATTSVM_E_MEMORY, "%s: no memory for its text", path);
    draw(memory, what);
    bool whole = ferror(memory) == 0; /* fclose alone may not report it */
    whole = fclose(memory) == 0 && whole && text;
    attsvm_status status = whole ? attsvm_file_write(path, text, size, err)
                                 : fail(err, ATTSVM_E_MEMORY, "%s: no memory for its text", path);
    free(text);
    return status;
}

static bool is_cyclic(const attsvm_graph_part *part, int64_t component)
{
    int64_t members = 0;
    for (int64_t a = 0; a < part->words; a++)
        members += part->component[a] == component;
    return members > 1;
}

/* ---------------------------------------------------------------------------------- DOT */

/* A word inside quotes of DOT or in the text of SVG. */
static void put_word(FILE *out, const cli_graph_shown *g, int64_t row, bool dot)
{
    char buffer[CLI_WORD];
    for (const char *c = cli_graph_word(g, row, buffer); *c; c++) {
        if (dot)
            fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        else if (*c == '<' || *c == '&')
            fputs(*c == '<' ? "&lt;" : "&amp;", out);
        else
            fputc(*c, out);
    }
}

static void put_dot_part(FILE *out, const cli_graph_shown *g, const attsvm_graph_part *part)
{
    fprintf(out, "  subgraph cluster_%" PRId64 " {\n    label=\"contexts that end with ",
            part->last);
    put_word(out, g, part->last, true);
    fputs("\";\n", out);
    for (int64_t c = 0; c < part->components; c++) {
        bool boxed = is_cyclic(part, c);
        if (boxed)
            fprintf(out, "    subgraph cluster_%" PRId64 "_%" PRId64 " {\n      label=\"\";\n",
                    part->last, c);
        for (int64_t a = 0; a < part->words; a++)
            if (part->component[a] == c) {
                fprintf(out, "    \"%" PRId64 ":%d\" [label=\"", part->last, part->word[a]);
                put_word(out, g, part->word[a], true);
                fputs("\"];\n", out);
            }
        if (boxed)
            fputs("    }\n", out);
    }
    for (int64_t e = 0; e < part->edges; e++)
        fprintf(out, "    \"%" PRId64 ":%d\" -> \"%" PRId64 ":%d\" [label=\"%" PRId64 "\"];\n",
                part->last, part->word[part->edge[e].from], part->last,
                part->word[part->edge[e].to], part->edge[e].count);
    fputs("  }\n", out);
}

void cli_graph_dot(FILE *out, const void *what)
{
    const cli_graph_shown *g = what;
    fputs("digraph attention {\n  node [shape=circle];\n", out);
    for (int64_t k = 0; k < attsvm_graph_describe(g->graph).lasts; k++) {
        attsvm_graph_part part = attsvm_graph_part_of(g->graph, k);
        put_dot_part(out, g, &part);
    }
    fputs("}\n", out);
}

/* ---------------------------------------------------------------------------------- SVG */

enum { MOST_PANELS = 12, COLUMNS = 2, GAP_X = 22, GAP_Y = 74, RADIUS = 15, MARGIN = 30, HEAD = 44 };

/* A panel: layer and position of each word, and its size. */
typedef struct panel {
    attsvm_graph_part part;
    int32_t *layer;      /* (components) longest path from the top */
    int32_t *row, *side; /* (words)                                */
    int32_t *in_row;     /* (components) words of each layer       */
    int32_t rows, widest;
    double half, gap; /* half the width of a node, and from one node of a row to the next */
    double down;      /* from one row to the next                                       */
    double width, height;
} panel;

/* Layers: edges lead from lower to higher numbers, so one pass in their order is enough. */
static void find_layers(panel *p)
{
    const attsvm_graph_part *part = &p->part;
    for (int64_t c = 0; c < part->components; c++)
        for (int64_t e = 0; e < part->edges; e++) {
            int32_t from = part->component[part->edge[e].from];
            int32_t to = part->component[part->edge[e].to];
            if (from == c && to != c && p->layer[to] <= p->layer[c])
                p->layer[to] = p->layer[c] + 1;
        }
    for (int64_t c = 0; c < part->components; c++)
        for (int64_t a = 0; a < part->words; a++)
            if (part->component[a] == c) {
                p->row[a] = p->layer[c];
                p->side[a] = p->in_row[p->layer[c]]++;
            }
    for (int64_t c = 0; c < part->components; c++) {
        p->rows = p->in_row[c] > 0 ? (int32_t)c + 1 : p->rows;
        p->widest = p->in_row[c] > p->widest ? p->in_row[c] : p->widest;
    }
    p->width = fmax(p->widest * p->gap, 230) + 2 * MARGIN;
    p->height = p->rows * p->down + HEAD;
}

/* Half the width of the longest word of a graph; that of a circle where words are numbers. */
static double half_width(const cli_graph_shown *g, const attsvm_graph_part *part)
{
    const double letter = 7.5;
    double half = RADIUS;
    for (int64_t a = 0; a < part->words && g->word; a++) {
        double letters = 0;
        for (const char *c = g->word[part->word[a]]; *c; c++)
            letters += ((unsigned char)*c & 0xC0) != 0x80;
        half = fmax(half, letter * letters / 2 + 7);
    }
    return half;
}

static bool open_panel(panel *p, const cli_graph_shown *g, int64_t k)
{
    *p = (panel){ .part = attsvm_graph_part_of(g->graph, k) };
    p->half = half_width(g, &p->part);
    p->gap = 2 * p->half + GAP_X;
    p->down = GAP_Y + p->half - RADIUS;
    size_t words = (size_t)p->part.words;
    p->layer = calloc(4 * words, sizeof *p->layer);
    if (!p->layer)
        return false;
    p->row = p->layer + words;
    p->side = p->row + words;
    p->in_row = p->side + words;
    find_layers(p);
    return true;
}

/* Every second row is shifted sideways, so that edges across a row do not run behind its words. */
static double place_x(const panel *p, int64_t a)
{
    double shift = p->row[a] % 2 ? p->gap / 4 : -p->gap / 4;
    return p->width / 2 + shift + p->gap * (p->side[a] - (p->in_row[p->row[a]] - 1) / 2.0);
}

static double place_y(const panel *p, int64_t a)
{
    return HEAD + p->down * (p->row[a] + 0.5);
}

static void draw_box(FILE *out, const panel *p, int64_t component)
{
    double lo = INFINITY, hi = -INFINITY, y = 0;
    if (!is_cyclic(&p->part, component))
        return;
    for (int64_t a = 0; a < p->part.words; a++)
        if (p->part.component[a] == component) {
            lo = fmin(lo, place_x(p, a));
            hi = fmax(hi, place_x(p, a));
            y = place_y(p, a);
        }
    fprintf(
        out,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"%d\" class=\"cycle\"/>\n",
        lo - p->half - 7, y - RADIUS - 9, hi - lo + 2 * p->half + 14, 2 * RADIUS + 18, RADIUS + 7);
}

/* Distance of (x, y) from the middle line of a node at 0; a node reaches RADIUS around it. */
static double off_node(const panel *p, double x, double y)
{
    return hypot(fmax(fabs(x) - (p->half - RADIUS), 0), y);
}

/* How far a line from the middle of a node along (x, y), of length 1, runs inside it. */
static double inside_node(const panel *p, double x, double y)
{
    double far = RADIUS;
    while (off_node(p, far * x, far * y) < RADIUS - 1e-9)
        far += 0.5;
    return far;
}

/* How many words lie under the curve from one word over (mx, my) to the other. */
static int64_t count_crossed(const panel *p, const attsvm_graph_edge *edge, double mx, double my)
{
    enum { POINTS = 32, CLEAR = RADIUS + 2 };
    double x = place_x(p, edge->from), y = place_y(p, edge->from);
    double u = place_x(p, edge->to), v = place_y(p, edge->to);
    int64_t crossed = 0;
    for (int64_t a = 0; a < p->part.words; a++) {
        double nearest = INFINITY;
        for (int k = 1; k < POINTS; k++) {
            double t = (double)k / POINTS, s = 1 - t;
            nearest =
                fmin(nearest, off_node(p, s * s * x + 2 * s * t * mx + t * t * u - place_x(p, a),
                                       s * s * y + 2 * s * t * my + t * t * v - place_y(p, a)));
        }
        crossed += a != edge->from && a != edge->to && nearest < CLEAR;
    }
    return crossed;
}

/*
 * Slightly curved, so that opposite edges stay apart.  Where words are in the way, the curve bends
 * more, to either side, until it passes them; at worst it passes behind the fewest.
 */
static void draw_edge(FILE *out, const panel *p, const attsvm_graph_edge *edge)
{
    static const double bends[] = { 0.12, -0.12, 0.25, -0.25, 0.4, -0.4, 0.6, -0.6, 0.9, -0.9 };
    double x = place_x(p, edge->from), y = place_y(p, edge->from);
    double u = place_x(p, edge->to), v = place_y(p, edge->to);
    double length = hypot(u - x, v - y), mx = 0, my = 0;
    const int same_row = p->row[edge->from] == p->row[edge->to] ? 4 : 0; /* these begin at 0.4 */
    int64_t fewest = INT64_MAX;
    for (size_t k = (size_t)same_row; k < sizeof bends / sizeof *bends && fewest > 0; k++) {
        double nx = (x + u) / 2 - bends[k] * (v - y), ny = (y + v) / 2 + bends[k] * (u - x);
        int64_t crossed = count_crossed(p, edge, nx, ny);
        if (crossed < fewest) {
            fewest = crossed;
            mx = nx;
            my = ny;
        }
    }
    double first = hypot(mx - x, my - y), second = hypot(u - mx, v - my);
    bool inside = p->part.component[edge->from] == p->part.component[edge->to];
    bool far = p->row[edge->to] > p->row[edge->from] + 1;
    if (!(length > 0))
        return;
    double start = inside_node(p, (mx - x) / first, (my - y) / first);
    double stop = inside_node(p, (u - mx) / second, (v - my) / second) + 3;
    fprintf(out, "<path d=\"M%.1f %.1f Q%.1f %.1f %.1f %.1f\" class=\"%s\"/>\n",
            x + start * (mx - x) / first, y + start * (my - y) / first, mx, my,
            u - stop * (u - mx) / second, v - stop * (v - my) / second,
            inside ? "inside"
            : far  ? "far"
                   : "near");
}

static void draw_word(FILE *out, const cli_graph_shown *g, const panel *p, int64_t a)
{
    double x = place_x(p, a), y = place_y(p, a);
    if (p->half > RADIUS)
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"%d\" "
                "class=\"word\"/>",
                x - p->half, y - RADIUS, 2 * p->half, 2 * RADIUS, RADIUS);
    else
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>", x, y, RADIUS);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", x, y + 4.5);
    put_word(out, g, p->part.word[a], false);
    fputs("</text>\n", out);
}

static void draw_panel(FILE *out, const cli_graph_shown *g, const panel *p, double x, double y)
{
    const attsvm_graph_part *part = &p->part;
    fprintf(out, "<g transform=\"translate(%.1f %.1f)\">\n", x, y);
    fprintf(out, "<text x=\"%.1f\" y=\"26\" class=\"title\">contexts that end with %s",
            p->width / 2, g->word ? "" : "word ");
    put_word(out, g, part->last, false);
    fputs("</text>\n", out);
    for (int64_t c = 0; c < part->components; c++)
        draw_box(out, p, c);
    for (int64_t e = 0; e < part->edges; e++)
        draw_edge(out, p, &part->edge[e]);
    for (int64_t a = 0; a < part->words; a++)
        draw_word(out, g, p, a);
    fputs("</g>\n", out);
}

static const char style[] =
    "<style>text{font:13px sans-serif;text-anchor:middle;fill:#222}.title{font-size:14px;"
    "font-weight:bold}circle,.word{fill:#fff;stroke:#0072b2;stroke-width:1.6}path{fill:none}"
    ".near{stroke:#444;stroke-width:1.3;marker-end:url(#tip)}"
    ".far{stroke:#bbb;stroke-width:1;marker-end:url(#faint)}"
    ".inside{stroke:#d55e00;stroke-width:1.4;marker-end:url(#warm)}"
    ".cycle{fill:#fdf0e6;stroke:#d55e00;stroke-dasharray:4 3}</style>\n"
    "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"7\" "
    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:#444\"/></marker>"
    "<marker id=\"faint\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"7\" "
    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:#bbb\"/></marker>"
    "<marker id=\"warm\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"7\" "
    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:#d55e00\"/></marker>"
    "</defs>\n";

void cli_graph_svg(FILE *out, const void *what)
{
    const cli_graph_shown *g = what;
    const double foot = 46;
    int64_t lasts = attsvm_graph_describe(g->graph).lasts;
    int64_t panels = lasts < MOST_PANELS ? lasts : MOST_PANELS, opened = 0;
    panel all[MOST_PANELS];
    double column[COLUMNS] = { 0 }, row[MOST_PANELS] = { 0 }, height = foot;
    while (opened < panels && open_panel(&all[opened], g, opened))
        opened++;
    for (int64_t k = 0; k < opened; k++) {
        column[k % COLUMNS] = fmax(column[k % COLUMNS], all[k].width);
        row[k / COLUMNS] = fmax(row[k / COLUMNS], all[k].height);
    }
    for (int64_t r = 0; r * COLUMNS < opened; r++)
        height += row[r];
    double width = fmax(column[0] + column[1], 560), y = 0;
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "viewBox=\"0 0 %.0f %.0f\">\n%s<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        width, height, width, height, style);
    for (int64_t k = 0; k < opened; k++) {
        draw_panel(out, g, &all[k], k % COLUMNS ? column[0] : 0, y);
        y += k % COLUMNS == COLUMNS - 1 || k == opened - 1 ? row[k / COLUMNS] : 0;
        free(all[k].layer);
    }
    fprintf(
        out,
        "<text x=\"%.1f\" y=\"%.1f\">Arrows lead from the word that follows to the others of its "
        "context; boxes are cycles.</text>\n",
        width / 2, height - 22);
    if (panels < lasts)
        fprintf(out,
                "<text x=\"%.1f\" y=\"%.1f\">The first %" PRId64 " of %" PRId64
                " last words are shown.</text>\n",
                width / 2, height - 6, panels, lasts);
    fputs("</svg>\n", out);
}
