/*
 * report: figures in a common style, drawn by gnuplot, and the page that shows them.
 *
 * A figure is a grid of panels; a panel has two axes and series of points.  Colours are those of
 * Okabe and Ito, safe for colour-blind readers; legends are above the panels, never on the data.
 */
#ifndef ATTSVM_REPORT_H
#define ATTSVM_REPORT_H

#include "attsvm/attsvm.h"

#include <stdio.h>

/* --------------------------------------------------------------------- figures */

typedef struct report_figure report_figure;

/* How a series is drawn. */
typedef enum report_kind {
    REPORT_LINE,       /* a line through (x, y)                                             */
    REPORT_POINTS,     /* marks at (x, y); with low and high: bars from one to the other    */
    REPORT_MARKS,      /* a line with a mark at every point; with low and high: bars, too   */
    REPORT_BAND,       /* the area between low and high, under the lines                    */
    REPORT_TRAJECTORY, /* a line with arrow heads along it                                  */
    REPORT_DIRECTION,  /* dashed, from (x, y)[0] through (x, y)[1] to the edge of the panel */
    REPORT_BARS,       /* columns from 0 to y; `size` is their width in units of x          */
    REPORT_CELLS,      /* a coloured square with its number at each (x, y), value in high;
                          framed where low is not 0                                      */
} report_kind;

/* Colours, in the order in which series should take them. */
typedef enum report_colour {
    REPORT_BLUE,
    REPORT_VERMILION,
    REPORT_GREEN,
    REPORT_PURPLE,
    REPORT_ORANGE,
    REPORT_SKY,
    REPORT_YELLOW,
    REPORT_BLACK,
    REPORT_GREY,
    REPORT_COLOURS, /* number of colours */
} report_colour;

typedef enum report_dash { REPORT_SOLID, REPORT_DASHED, REPORT_DOTTED } report_dash;

typedef enum report_mark {
    REPORT_DISC,
    REPORT_SQUARE,
    REPORT_TRIANGLE,
    REPORT_DIAMOND,
    REPORT_RING, /* the hollow ones in the same order */
    REPORT_HOLLOW_SQUARE,
    REPORT_HOLLOW_TRIANGLE,
    REPORT_HOLLOW_DIAMOND,
    REPORT_CROSS,
    REPORT_DOT, /* small, for clouds of many points */
} report_mark;

/* One series.  Arrays are copied; points that are not finite are omitted and break a line. */
typedef struct report_series {
    const char *label; /* in the legend; NULL: omitted */
    report_kind kind;
    report_colour colour;
    report_dash dash;
    report_mark mark;
    double size;     /* of lines and marks, 0: default; of columns: their width */
    int64_t count;   /* of points                                               */
    const double *x; /* NULL: 0, 1, 2, ...                                      */
    const double *y; /* NULL for a band                                         */
    const double *low, *high;
    int64_t stride; /* doubles from one point to the next in all arrays; 0: 1      */
} report_series;

/* Texts may hold gnuplot's enhanced markup: x_i, 10^{-3}, {/:Italic p}. */
typedef struct report_axis {
    const char *label;
    double low, high; /* both 0: from the data */
    bool log;
    const char *const *names; /* NULL-terminated, at 0, 1, 2, ... instead of numbers */
} report_axis;

typedef struct report_panel {
    const char *title;
    report_axis x, y;
    bool equal;       /* one unit has the same length on both axes   */
    bool no_legend;   /* its series have the labels of another panel */
    double cell_low;  /* of cells: the value that is white           */
    double cell_high; /* of cells: the value of full colour; 0: 1    */
} report_panel;

/*
 * A figure with `columns` panels per row.  Width and height are in points of 1/72 inch: 480 for one
 * column of a page, 960 for its whole width.  The calls below accept NULL and record a lack of
 * memory, which report_figure_write then reports.
 */
report_figure *report_figure_create(int columns, int width, int height);
void report_figure_free(report_figure *figure);

/* The next panel; series go to the latest. */
void report_add_panel(report_figure *figure, const report_panel *panel);
void report_add_series(report_figure *figure, const report_series *series);

/*
 * Draws into a file: .svg, .png or .pdf by its ending, or .csv: the numbers behind the figure,
 * which needs no gnuplot.  The same figure and gnuplot give the same bytes.  ATTSVM_E_OPEN if
 * gnuplot is not installed.
 */
attsvm_status report_figure_write(const report_figure *figure, const char *path, attsvm_error *err);

/* The figure as SVG text; the caller frees *svg. */
attsvm_status report_figure_svg(const report_figure *figure, char **svg, attsvm_error *err);

/* Fails with a clear message if gnuplot cannot be run. */
attsvm_status report_gnuplot_find(attsvm_error *err);

/* ------------------------------------------------------- what the files here share */

enum { REPORT_MOST_TEXT = 256 };

typedef struct report_item { /* a series with its own copy of the points */
    report_series style;
    char label[REPORT_MOST_TEXT];
    double *points; /* count x 4: x, y, low, high; NAN where there is none */
    int panel;
} report_item;

struct report_figure {
    int columns, width, height;
    report_panel *panels;
    char (*texts)[3][REPORT_MOST_TEXT]; /* title and labels of the axes of each panel */
    int panel_count;
    report_item *items;
    int item_count;
    size_t panel_room, text_room, item_room;
    bool out_of_memory;
};

/* Where things are, in points from the lower left corner. */
typedef struct report_box {
    double left, right, bottom, top;
} report_box;

/* Approximate width of a text in points, without the font. */
double report_text_width(const char *text, double size);

/* Panel by panel: the inside of its frame; rows of its legend. */
report_box report_panel_box(const report_figure *figure, int panel, double *legend_top);

/* Writes the legend of a panel as labels and samples at fixed positions, unless out is NULL;
   returns its number of rows. */
int report_legend(const report_figure *figure, int panel, double left, double right, double top,
                  FILE *out);

/* The whole figure as commands for gnuplot. */
typedef enum report_format { REPORT_SVG, REPORT_PNG, REPORT_PDF } report_format;
void report_script(const report_figure *figure, report_format format, FILE *out);

/* Runs gnuplot on the commands in `script` (read from its start); the caller frees the drawing in
   bytes. */
attsvm_status report_gnuplot_run(FILE *script, char **bytes, size_t *size, attsvm_error *err);

const char *report_colour_code(report_colour colour); /* "#0072B2" */
int report_point_type(report_mark mark);
double report_point_size(const report_series *style);
double report_line_width(const report_series *style);

/* ------------------------------------------------------------------------ page */

/* The section of one experiment; texts are borrowed. */
typedef struct report_number {
    const char *key, *meaning, *text; /* text: the value as it is shown       */
    const char *check;                /* "": not checked; else what was found */
    bool failed, unjudged;            /* unjudged: shown beside it, not compared */
} report_number;

typedef struct report_section {
    const char *id, *title, *paper, *setting, *command, *caption, *finds;
    const char *says, *code; /* what the paper says, what its code does; NULL: nothing */
    const char *svg;         /* the figure, inline; NULL: none */
    const report_number *numbers;
    int64_t number_count;
    const char *unit; /* of runs */
    int64_t runs, seed;
    double seconds;
} report_section;

/* Writes one self-contained page with all sections. */
attsvm_status report_page_write(const char *path, const report_section *sections, int64_t count,
                                attsvm_error *err);

/* One page about a run of a command: title, paragraphs (NULL-terminated) and the figure. */
attsvm_status report_own_page_write(const char *path, const char *title,
                                    const char *const *paragraphs, const char *svg,
                                    attsvm_error *err);

#endif
