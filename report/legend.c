/* The legend of a panel: samples and labels in centred rows between its title and its frame. */
#include "report/report.h"

#include "io/io.h"

#include <math.h>
#include <string.h>

enum { SAMPLE = 28, LONG_SAMPLE = 46, GAP = 5, BETWEEN = 14, ROW = 16 };
static const double LEAST_MARK = 0.6;        /* of a point in the legend, in units of gnuplot */
static const double FONT = 11, LETTER = 0.6; /* points; width of a letter in units of the font */

/* Ignores markup and continuation bytes of UTF-8. */
double report_text_width(const char *text, double size)
{
    double letters = 0;
    for (const char *c = text; *c; c++) {
        if (strncmp(c, "{/", 2) == 0) { /* {/:Italic p} */
            const char *space = strchr(c, ' ');
            c = space ? space : c + 1;
            continue;
        }
        bool later = ((unsigned char)*c & 0xC0) == 0x80;
        letters += later || strchr("{}_^", *c) ? 0 : strchr("iljt.,:;|'()[] ", *c) ? 0.55 : 1;
    }
    return letters * LETTER * size;
}

static bool is_shown(const report_figure *f, const report_item *item, int panel)
{
    return item->panel == panel && item->label[0] && !f->panels[panel].no_legend;
}

/* A mark covers the middle of its line: dashes need some more of it. */
static double sample_width(const report_series *s)
{
    return s->kind == REPORT_MARKS && s->dash != REPORT_SOLID ? LONG_SAMPLE : SAMPLE;
}

/* Draws the sample of a series, starting at `left`, at height y. */
static void draw_sample(const report_figure *f, const report_series *s, double left, double y,
                        FILE *out)
{
    enum { WIDEST = 3 };
    /* gnuplot keeps the dashes of a line before it of the same colour and width: none is quite the
       same */
    double width = fmin(report_line_width(s), WIDEST) + 0.01 * (double)s->dash;
    double W = f->width, H = f->height, sample = sample_width(s);
    const char *colour = report_colour_code(s->colour);
    bool area = s->kind == REPORT_BAND || s->kind == REPORT_BARS;
    bool line = s->kind != REPORT_POINTS && !area;
    if (area)
        fprintf(out,
                "set object rectangle from screen %.5f,%.5f to screen %.5f,%.5f fillcolor rgb "
                "\"%s\" fillstyle %s noborder\n",
                left / W, (y - 4) / H, (left + sample) / W, (y + 4) / H, colour,
                s->kind == REPORT_BAND ? "transparent solid 0.22" : "solid 0.85");
    if (line)
        fprintf(out,
                "set arrow from screen %.5f,%.5f to screen %.5f,%.5f %s linecolor rgb \"%s\" "
                "linewidth %.2f dashtype %d\n",
                left / W, y / H, (left + sample - (s->kind == REPORT_TRAJECTORY ? 4 : 0)) / W,
                y / H, s->kind == REPORT_TRAJECTORY ? "head filled size screen 0.008,18" : "nohead",
                colour, width,
                s->kind == REPORT_DIRECTION ? 2
                : s->dash == REPORT_DASHED  ? 2
                : s->dash == REPORT_DOTTED  ? 3
                                            : 1);
    if (s->kind == REPORT_POINTS || s->kind == REPORT_MARKS)
        fprintf(out,
                "set label \"\" at screen %.5f,%.5f point pointtype %d pointsize %.2f "
                "linecolor rgb \"%s\"\n",
                (left + sample / 2) / W, y / H, report_point_type(s->mark),
                fmax(report_point_size(s), LEAST_MARK), colour);
}

static double entry_width(const report_item *item)
{
    return sample_width(&item->style) + GAP + report_text_width(item->label, FONT);
}

/* Items first..last-1 fill a row of `width` points. */
static int row_end(const report_figure *f, int panel, int first, double most, double *width)
{
    int k = first;
    *width = 0;
    for (; k < f->item_count; k++) {
        if (!is_shown(f, &f->items[k], panel))
            continue;
        double wanted = *width + (*width > 0 ? BETWEEN : 0) + entry_width(&f->items[k]);
        if (*width > 0 && wanted > most)
            break;
        *width = wanted;
    }
    return k;
}

int report_legend(const report_figure *f, int panel, double left, double right, double top,
                  FILE *out)
{
    int rows = 0;
    for (int first = 0; first < f->item_count; rows++) {
        double width;
        int last = row_end(f, panel, first, right - left, &width);
        if (width == 0) /* nothing is left to show */
            break;
        double x = left + (right - left - width) / 2, y = top - ROW * (rows + 0.5);
        for (int k = first; out && k < last; k++) {
            if (!is_shown(f, &f->items[k], panel))
                continue;
            draw_sample(f, &f->items[k].style, x, y, out);
            fprintf(out, "set label \"%s\" at screen %.5f,%.5f left font \",%.0f\" front\n",
                    f->items[k].label, (x + sample_width(&f->items[k].style) + GAP) / f->width,
                    y / f->height, FONT);
            x += entry_width(&f->items[k]) + BETWEEN;
        }
        first = last;
    }
    return rows;
}

/* Extra space for names at the left axis, beyond that of numbers. */
static double names_room(const report_axis *axis)
{
    enum { FREE = 26 }; /* what numbers have */
    double widest = 0;
    for (int k = 0; axis->names && axis->names[k]; k++)
        widest = fmax(widest, report_text_width(axis->names[k], FONT));
    return fmax(0, widest - FREE);
}

report_box report_panel_box(const report_figure *f, int panel, double *legend_top)
{
    enum { LEFT = 64, RIGHT = 14, BOTTOM = 46, TITLE = 26, NO_TITLE = 8 };
    int rows = (f->panel_count + f->columns - 1) / f->columns;
    double width = (double)f->width / f->columns, height = (double)f->height / rows;
    double left = width * (panel % f->columns);
    int row = panel / f->columns; /* rows count from the top */
    double top = f->height - height * row;
    report_box box = { left + LEFT, left + width - RIGHT, top - height + BOTTOM, top };
    box.top -= f->texts[panel][0][0] ? TITLE : NO_TITLE;
    box.left += names_room(&f->panels[panel].y);
    *legend_top = box.top;
    box.top -= ROW * report_legend(f, panel, left + 4, left + width - 4, 0, NULL);
    box.top -= 4;
    return box;
}
