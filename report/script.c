/* A figure as commands for gnuplot, with its points in data blocks. */
#include "report/report.h"

#include "io/io.h"

#include <string.h>

static const char *const colours[REPORT_COLOURS] = { "#0072B2", "#D55E00", "#009E73",
                                                     "#CC79A7", "#E69F00", "#56B4E9",
                                                     "#F0E442", "#000000", "#8a8a8a" };

const char *report_colour_code(report_colour colour)
{
    return colours[(unsigned)colour % REPORT_COLOURS];
}

int report_point_type(report_mark mark)
{
    static const int types[] = { 7, 5, 9, 13, 6, 4, 8, 12, 2, 7 };
    return types[mark];
}

double report_point_size(const report_series *s)
{
    double size = s->size > 0 && s->kind == REPORT_POINTS ? s->size : 1;
    return size * (s->mark == REPORT_DOT ? 0.35 : 0.6);
}

double report_line_width(const report_series *s)
{
    return s->size > 0 && s->kind != REPORT_BARS ? s->size : 1.6;
}

/* ------------------------------------------------------------------------- ranges */

typedef struct range {
    double low, high;
    bool log;
} range;

static void stretch(range *r, double value)
{
    if (!isfinite(value) || (r->log && value <= 0))
        return;
    r->low = isnan(r->low) || value < r->low ? value : r->low;
    r->high = isnan(r->high) || value > r->high ? value : r->high;
}

/* The range of the data with a margin, or the range given by the axis. */
static range settle(const report_axis *axis, range r, double air)
{
    if (axis->low != 0 || axis->high != 0)
        return (range){ axis->low, axis->high, axis->log };
    if (isnan(r.low))
        return (range){ axis->log ? 1 : 0, axis->log ? 10 : 1, axis->log };
    if (axis->log) {
        double factor = r.high > r.low ? pow(r.high / r.low, air) : 2;
        return (range){ r.low / factor, r.high * factor, true };
    }
    double space = r.high > r.low ? air * (r.high - r.low) : r.high != 0 ? fabs(r.high) / 2 : 1;
    return (range){ r.low - space, r.high + space, false };
}

static void stretch_item(const report_item *item, range *x, range *y)
{
    const report_series *s = &item->style;
    int64_t count = s->kind == REPORT_DIRECTION && s->count > 1 ? 1 : s->count;
    for (int64_t k = 0; k < count; k++) {
        const double *point = item->points + 4 * k;
        double half = s->kind == REPORT_CELLS ? 0.5 : s->kind == REPORT_BARS ? s->size / 2 : 0;
        stretch(x, point[0] - half);
        stretch(x, point[0] + half);
        stretch(y, s->kind == REPORT_CELLS ? point[1] - half : point[1]);
        stretch(y, s->kind == REPORT_CELLS ? point[1] + half : point[1]);
        if (s->kind == REPORT_BARS)
            stretch(y, 0);
        if (s->kind != REPORT_CELLS) {
            stretch(y, point[2]);
            stretch(y, point[3]);
        }
    }
}

static bool has_cells(const report_figure *f, int panel)
{
    bool cells = false;
    for (int k = 0; k < f->item_count; k++)
        cells |= f->items[k].panel == panel && f->items[k].style.kind == REPORT_CELLS;
    return cells;
}

static void panel_ranges(const report_figure *f, int panel, const report_box *box, range *x,
                         range *y)
{
    const report_panel *p = &f->panels[panel];
    const bool cells = has_cells(f, panel);
    *x = (range){ NAN, NAN, p->x.log };
    *y = (range){ NAN, NAN, p->y.log };
    for (int k = 0; k < f->item_count; k++) {
        if (f->items[k].panel != panel)
            continue;
        stretch_item(&f->items[k], x, y);
    }
    *x = settle(&p->x, *x, cells ? 0 : 0.03);
    *y = settle(&p->y, *y, cells ? 0 : 0.05);
    if (!p->equal)
        return;
    /* equal units on both axes: extend the range of the axis with more space */
    double unit_x = (x->high - x->low) / (box->right - box->left);
    double unit_y = (y->high - y->low) / (box->top - box->bottom);
    range *wide = unit_x < unit_y ? x : y;
    double factor = unit_x < unit_y ? unit_y / unit_x : unit_x / unit_y;
    double middle = (wide->low + wide->high) / 2, half = (wide->high - wide->low) / 2 * factor;
    wide->low = middle - half;
    wide->high = middle + half;
}

/* ------------------------------------------------------------------------- points */

static bool is_point(const double *p, bool band)
{
    return isfinite(p[0]) && (band ? isfinite(p[2]) && isfinite(p[3]) : isfinite(p[1]));
}

static void write_points(const report_item *item, int number, FILE *out)
{
    bool band = item->style.kind == REPORT_BAND, gap = true;
    fprintf(out, "$d%d << EOD\n", number);
    for (int64_t k = 0; k < item->style.count; k++) {
        const double *p = item->points + 4 * k;
        if (!is_point(p, band)) {
            fputs(gap ? "" : "\n", out);
            gap = true;
            continue;
        }
        gap = false;
        if (band)
            fprintf(out, "%.9g %.9g %.9g\n", p[0], p[2], p[3]);
        else if (isfinite(p[2]) && isfinite(p[3]))
            fprintf(out, "%.9g %.9g %.9g %.9g\n", p[0], p[1], p[2], p[3]);
        else
            fprintf(out, "%.9g %.9g\n", p[0], p[1]);
    }
    fputs("EOD\n", out);
}

/* From the first point through the second, far out of the frame. */
static void write_direction(const report_item *item, int number, const range *x, const range *y,
                            FILE *out)
{
    const double *a = item->points, *b = item->points + 4;
    double dx = b[0] - a[0], dy = b[1] - a[1];
    double reach = fmax(fabs(x->low) + fabs(x->high), fabs(y->low) + fabs(y->high));
    double far = 2 * (reach + hypot(a[0], a[1])) / fmax(hypot(dx, dy), 1e-300);
    fprintf(out, "$d%d << EOD\n%.9g %.9g\n%.9g %.9g\nEOD\n", number, a[0], a[1], a[0] + far * dx,
            a[1] + far * dy);
}

/* Arrow heads along a trajectory, at equal distances on the page. */
static void write_heads(const report_item *item, int number, const range *x, const range *y,
                        const report_box *box, FILE *out)
{
    enum { SPACE = 90 }; /* points between two heads */
    double sx = (box->right - box->left) / (x->high - x->low);
    double sy = (box->top - box->bottom) / (y->high - y->low), walked = SPACE / 2.0;
    fprintf(out, "$h%d << EOD\n", number);
    for (int64_t k = 1; k < item->style.count; k++) {
        const double *a = item->points + 4 * (k - 1), *b = a + 4;
        if (!is_point(a, false) || !is_point(b, false) || b[0] < x->low || b[0] > x->high ||
            b[1] < y->low || b[1] > y->high)
            continue;
        double length = hypot(sx * (b[0] - a[0]), sy * (b[1] - a[1]));
        walked += length;
        if (walked < SPACE || length == 0)
            continue;
        walked = fmod(walked, SPACE);
        double tail = 0.5 / length; /* half a point before the head gives its direction */
        fprintf(out, "%.9g %.9g %.9g %.9g\n", b[0] - tail * (b[0] - a[0]),
                b[1] - tail * (b[1] - a[1]), tail * (b[0] - a[0]), tail * (b[1] - a[1]));
    }
    fputs("EOD\n", out);
}

static void write_data(const report_figure *f, int panel, const range *x, const range *y,
                       const report_box *box, FILE *out)
{
    for (int k = 0; k < f->item_count; k++) {
        const report_item *item = &f->items[k];
        if (item->panel != panel || item->style.kind == REPORT_CELLS)
            continue;
        if (item->style.kind == REPORT_DIRECTION && item->style.count > 1)
            write_direction(item, k, x, y, out);
        else
            write_points(item, k, out);
        if (item->style.kind == REPORT_TRAJECTORY)
            write_heads(item, k, x, y, box, out);
    }
}

/* ------------------------------------------------------------------------- series */

static bool has_bars(const report_item *item)
{
    for (int64_t k = 0; k < item->style.count; k++)
        if (isfinite(item->points[4 * k + 2]) && isfinite(item->points[4 * k + 3]))
            return true;
    return false;
}

static void plot_item(const report_item *item, int k, FILE *out)
{
    const report_series *s = &item->style;
    const char *colour = report_colour_code(s->colour);
    double width = report_line_width(s), size = report_point_size(s);
    int type = report_point_type(s->mark), dash = s->dash == REPORT_DOTTED   ? 3
                                                  : s->dash == REPORT_DASHED ? 2
                                                                             : 1;
    switch (s->kind) {
    case REPORT_BAND:
        fprintf(out,
                "$d%d using 1:2:3 with filledcurves fillstyle transparent solid 0.22 "
                "noborder fillcolor rgb \"%s\"",
                k, colour);
        break;
    case REPORT_LINE:
        fprintf(out, "$d%d using 1:2 with lines linecolor rgb \"%s\" linewidth %.2f dashtype %d", k,
                colour, width, dash);
        break;
    case REPORT_DIRECTION:
        fprintf(out, "$d%d using 1:2 with lines linecolor rgb \"%s\" linewidth %.2f dashtype 2", k,
                colour, width);
        break;
    case REPORT_TRAJECTORY:
        fprintf(out, "$d%d using 1:2 with lines linecolor rgb \"%s\" linewidth %.2f dashtype %d, ",
                k, colour, width, dash);
        fprintf(out,
                "$h%d using 1:2:3:4 with vectors head filled size screen 0.010,18 fixed "
                "linecolor rgb \"%s\" linewidth %.2f",
                k, colour, width);
        break;
    case REPORT_MARKS:
        fprintf(out, "$d%d using 1:2 with lines linecolor rgb \"%s\" linewidth %.2f dashtype %d, ",
                k, colour, width, dash);
        /* fall through */
    case REPORT_POINTS:
        if (has_bars(item))
            fprintf(out,
                    "$d%d using 1:2:3:4 with yerrorbars pointtype 0 linecolor rgb \"%s\" linewidth "
                    "1, ",
                    k, colour);
        fprintf(out, "$d%d using 1:2 with points pointtype %d pointsize %.2f linecolor rgb \"%s\"",
                k, type, size, colour);
        break;
    case REPORT_BARS:
        fprintf(out,
                "$d%d using 1:2:(%.9g) with boxes fillstyle solid 0.85 noborder linecolor rgb "
                "\"%s\"",
                k, s->size, colour);
        break;
    case REPORT_CELLS: break;
    }
}

/* White to blue; the number is white on dark squares. */
static void write_cells(const report_item *item, const report_panel *panel, FILE *out)
{
    static const double dark[3] = { 0x00, 0x5b, 0x8f };
    const double empty = panel->cell_low, full = panel->cell_high > 0 ? panel->cell_high : 1;
    for (int64_t k = 0; k < item->style.count; k++) {
        const double *p = item->points + 4 * k;
        double share = fmin(1, fmax(0, (p[3] - empty) / (full - empty)));
        bool framed = isfinite(p[2]) && p[2] != 0;
        int rgb[3];
        for (int c = 0; c < 3; c++)
            rgb[c] = (int)lround(255 + share * (dark[c] - 255));
        fprintf(out,
                "set object rectangle from first %.9g,%.9g to first %.9g,%.9g fillcolor rgb "
                "\"#%02x%02x%02x\" fillstyle solid %s behind\n",
                p[0] - 0.48, p[1] - 0.48, p[0] + 0.48, p[1] + 0.48, (unsigned)rgb[0],
                (unsigned)rgb[1], (unsigned)rgb[2],
                framed ? "border rgb \"#D55E00\" linewidth 2.5" : "noborder");
        fprintf(out, "set label \"%.3f\" at first %.9g,%.9g center front textcolor rgb \"%s\"\n",
                p[3], p[0], p[1], share > 0.55 ? "#ffffff" : "#000000");
    }
}

/* -------------------------------------------------------------------------- panels */

static void write_log_tics(char name, const range *r, FILE *out)
{
    double decades = log10(r->high / r->low);
    fprintf(out, "set logscale %c\nset format %c \"%s\"\n", name, name,
            decades > 2.5 || r->low < 1e-3 ? "10^{%L}" : "%g");
    double powers = floor(log10(r->high)) - ceil(log10(r->low)) + 1;
    if (powers < 2 || decades < 1.5) { /* 1, 2, 5, or all: whole powers would be one or none */
        const bool all = decades < 0.8;
        fprintf(out, "set %ctics (", name);
        bool first = true;
        for (int k = (int)floor(log10(r->low)); k <= (int)ceil(log10(r->high)); k++)
            for (int digit = 1; digit <= (all ? 9 : 5); digit += all || digit == 1 ? 1 : 3) {
                fputs(first ? "" : ", ", out);
                if (k < -2) /* 0.0005 would run into the label of the axis */
                    fprintf(out, "\"%de%d\" ", digit, k);
                fprintf(out, "%.9g", digit * pow(10, k));
                first = false;
            }
        fprintf(out, ")\nset format %c \"%%g\"\n", name);
    }
    if (decades > 8) /* some whole powers of ten only */
        fprintf(out, "set %ctics 1e%d\nset m%ctics 1\n", name, (int)ceil(decades / 6), name);
}

static void write_axis(char name, const report_axis *axis, const range *r, FILE *out)
{
    fprintf(out,
            "unset logscale %c\nset %crange [%.9g:%.9g]\nset %ctics autofreq nomirror offset %s\n"
            "set m%ctics default\n",
            name, name, r->low, r->high, name, name == 'x' ? "0,0.3" : "0,0", name);
    if (axis->log)
        write_log_tics(name, r, out);
    else
        fprintf(out, "unset m%ctics\nset format %c \"%%g\"\n", name, name);
    if (!axis->names)
        return;
    fprintf(out, "set %ctics (", name);
    for (int k = 0; axis->names[k]; k++)
        fprintf(out, "%s\"%s\" %d", k ? ", " : "", axis->names[k], k);
    fputs(")\n", out);
}

/* Axis labels at fixed positions, because gnuplot's own move with the width of the numbers. */
static void write_axis_labels(const report_figure *f, int panel, const report_box *box, FILE *out)
{
    enum { BELOW = 34, BESIDE = 12 };
    double W = f->width, H = f->height, left = W / f->columns * (panel % f->columns);
    fprintf(out, "set label \"%s\" at screen %.5f,%.5f center front\n", f->texts[panel][1],
            (box->left + box->right) / 2 / W, (box->bottom - BELOW) / H);
    fprintf(out, "set label \"%s\" at screen %.5f,%.5f center rotate by 90 front\n",
            f->texts[panel][2], (left + BESIDE) / W, (box->bottom + box->top) / 2 / H);
}

static void write_frame(const report_figure *f, int panel, const report_box *box, FILE *out)
{
    const char *title = f->texts[panel][0];
    double W = f->width, H = f->height, legend_top;
    report_panel_box(f, panel, &legend_top);
    fprintf(out,
            "unset label\nunset arrow\nunset object\nset lmargin at screen %.5f\n"
            "set rmargin at screen %.5f\nset bmargin at screen %.5f\nset tmargin at screen %.5f\n",
            box->left / W, box->right / W, box->bottom / H, box->top / H);
    fputs(has_cells(f, panel) ? "unset grid\n"
                              : "set grid linecolor rgb \"#e4e4e4\" linewidth 0.6 linetype 1\n",
          out);
    double cell = W / f->columns, left = cell * (panel % f->columns);
    if (*title)
        fprintf(out, "set label \"%s\" at screen %.5f,%.5f center font \",13\" front\n", title,
                (left + cell / 2) / W, (legend_top + 12) / H);
    report_legend(f, panel, left + 4, left + cell - 4, legend_top, out);
}

static void write_all_cells(const report_figure *f, int panel, FILE *out)
{
    for (int k = 0; k < f->item_count; k++) {
        const report_item *item = &f->items[k];
        if (item->panel == panel && item->style.kind == REPORT_CELLS)
            write_cells(item, &f->panels[panel], out);
    }
}

static void write_plot(const report_figure *f, int panel, FILE *out)
{
    bool first = true;
    fputs("plot ", out);
    for (int layer = 0; layer < 2; layer++) /* bands are drawn first */
        for (int k = 0; k < f->item_count; k++) {
            const report_item *item = &f->items[k];
            bool under = item->style.kind == REPORT_BAND;
            if (item->panel != panel || item->style.count == 0 ||
                item->style.kind == REPORT_CELLS || under != (layer == 0))
                continue;
            fputs(first ? "" : ", \\\n    ", out);
            plot_item(item, k, out);
            first = false;
        }
    fputs(first ? "NaN notitle\n" : "\n", out);
}

void report_script(const report_figure *f, report_format format, FILE *out)
{
    fputs("set encoding utf8\n", out);
    if (format == REPORT_PDF)
        fprintf(out,
                "set terminal pdfcairo enhanced size %.4fin,%.4fin font \"sans-serif,12\" "
                "background \"#ffffff\"\n",
                f->width / 72.0, f->height / 72.0);
    else if (format == REPORT_PNG)
        fprintf(out,
                "set terminal pngcairo enhanced size %d,%d font \"sans-serif,12\" fontscale 1.5 "
                "linewidth 2 pointscale 2 background \"#ffffff\"\n",
                2 * f->width, 2 * f->height);
    else
        fprintf(out,
                "set terminal svg enhanced dynamic size %d,%d font \"sans-serif,12\" "
                "background \"#ffffff\"\n",
                f->width, f->height);
    fputs("set key off\nset clip two\nset border 3 linecolor rgb \"#555555\"\n"
          "set tics nomirror textcolor rgb \"#222222\" font \",11\"\nset tics scale 0.6\n"
          "set multiplot\n",
          out);
    for (int panel = 0; panel < f->panel_count; panel++) {
        double legend_top;
        report_box box = report_panel_box(f, panel, &legend_top);
        range x, y;
        panel_ranges(f, panel, &box, &x, &y);
        write_data(f, panel, &x, &y, &box, out);
        write_frame(f, panel, &box, out);
        write_all_cells(f, panel, out);
        write_axis_labels(f, panel, &box, out);
        write_axis('x', &f->panels[panel].x, &x, out);
        write_axis('y', &f->panels[panel].y, &y, out);
        write_plot(f, panel, out);
    }
    fputs("unset multiplot\n", out);
}
