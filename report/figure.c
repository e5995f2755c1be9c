/* Builds a figure: panels, and series with copies of their points. */
#include "report/report.h"

#include "io/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

report_figure *report_figure_create(int columns, int width, int height)
{
    report_figure *f = calloc(1, sizeof *f);
    if (f) {
        f->columns = columns;
        f->width = width;
        f->height = height;
    }
    return f;
}

void report_figure_free(report_figure *f)
{
    if (!f)
        return;
    for (int k = 0; k < f->item_count; k++)
        free(f->items[k].points);
    free(f->items);
    free(f->texts);
    free(f->panels);
    free(f);
}

/* Makes room for one more item; false, and recorded in the figure, if out of memory. */
static bool grow(report_figure *f, void *list, int used, size_t *room, size_t size)
{
    void *old, *grown;
    memcpy(&old, list, sizeof old);
    grown = io_grow(old, (size_t)used, 1, room, size, NULL);
    if (!grown) {
        f->out_of_memory = true;
        return false;
    }
    memcpy(list, &grown, sizeof grown);
    return true;
}

static void copy_text(char out[REPORT_MOST_TEXT], const char *text)
{
    snprintf(out, REPORT_MOST_TEXT, "%s", text ? text : "");
}

void report_add_panel(report_figure *f, const report_panel *panel)
{
    if (!f || !grow(f, &f->panels, f->panel_count, &f->panel_room, sizeof *f->panels) ||
        !grow(f, &f->texts, f->panel_count, &f->text_room, sizeof *f->texts))
        return;
    f->panels[f->panel_count] = *panel;
    copy_text(f->texts[f->panel_count][0], panel->title);
    copy_text(f->texts[f->panel_count][1], panel->x.label);
    copy_text(f->texts[f->panel_count][2], panel->y.label);
    f->panel_count++;
}

static void copy_points(report_item *item, const report_series *s)
{
    int64_t stride = s->stride > 0 ? s->stride : 1;
    for (int64_t k = 0; k < s->count; k++) {
        double *point = item->points + 4 * k;
        point[0] = s->x ? s->x[k * stride] : (double)k;
        point[1] = s->y ? s->y[k * stride] : NAN;
        point[2] = s->low ? s->low[k * stride] : NAN;
        point[3] = s->high ? s->high[k * stride] : NAN;
    }
}

void report_add_series(report_figure *f, const report_series *s)
{
    if (!f || f->panel_count == 0 ||
        !grow(f, &f->items, f->item_count, &f->item_room, sizeof *f->items))
        return;
    report_item *item = &f->items[f->item_count];
    *item = (report_item){ .style = *s, .panel = f->panel_count - 1 };
    if (base_allocate(&item->points, (size_t)s->count, 4 * sizeof(double), "figure", NULL) !=
        ATTSVM_OK) {
        f->out_of_memory = true;
        return;
    }
    copy_text(item->label, s->label);
    copy_points(item, s);
    f->item_count++;
}

/* A text as a field of CSV. */
static void put_field(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* One line per point: panel, series, x, y, low, high. */
static attsvm_status list_points(const report_figure *f, char **bytes, size_t *size,
                                 attsvm_error *err)
{
    FILE *out = f && !f->out_of_memory ? open_memstream(bytes, size) : NULL;
    if (!out)
        return fail(err, ATTSVM_E_MEMORY, "no memory for the numbers of the figure");
    fputs("panel,series,x,y,low,high\n", out);
    for (int k = 0; k < f->item_count; k++) {
        const report_item *item = &f->items[k];
        for (int64_t j = 0; j < item->style.count; j++) {
            put_field(out, f->texts[item->panel][0]);
            fputc(',', out);
            put_field(out, item->label);
            for (int c = 0; c < 4; c++)
                if (isnan(item->points[4 * j + c]))
                    fputc(',', out);
                else
                    fprintf(out, ",%.17g", item->points[4 * j + c]);
            fputc('\n', out);
        }
    }
    bool lost = ferror(out) != 0;
    lost = fclose(out) != 0 || lost;
    return lost ? fail(err, ATTSVM_E_MEMORY, "no memory for the numbers of the figure") : ATTSVM_OK;
}

/*
 * gnuplot's SVG with two changes.  The numbers of columns and panels stand in its first tag, so
 * that a page can show the panels one below the other.  A space that begins a piece of text, as
 * after a subscript, becomes a shift: some viewers drop such spaces.
 */
static attsvm_status finish_svg(const report_figure *f, char **bytes, size_t *size,
                                attsvm_error *err)
{
    static const char tag[] = "<svg ", piece[] = "px\"> ";
    char *text = NULL, *from = *bytes, *end = *bytes + *size;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return fail(err, ATTSVM_E_MEMORY, "no memory for the figure");
    for (bool tagged = false; from < end; from++) {
        size_t left = (size_t)(end - from);
        if (!tagged && left >= sizeof tag && memcmp(from, tag, sizeof tag - 1) == 0) {
            fprintf(out, "<svg data-columns=\"%d\" data-panels=\"%d\"", f->columns, f->panel_count);
            from += sizeof tag - 2;
            tagged = true;
        } else if (left >= sizeof piece && memcmp(from, piece, sizeof piece - 1) == 0) {
            fputs("px\" dx=\"0.3em\">", out);
            from += sizeof piece - 2;
        } else {
            fputc(*from, out);
        }
    }
    bool lost = ferror(out) != 0;
    lost = fclose(out) != 0 || lost;
    free(*bytes);
    *bytes = text;
    *size = length;
    return lost ? fail(err, ATTSVM_E_MEMORY, "no memory for the figure") : ATTSVM_OK;
}

static attsvm_status draw(const report_figure *f, report_format format, char **bytes, size_t *size,
                          attsvm_error *err)
{
    *bytes = NULL;
    *size = 0;
    if (!f || f->out_of_memory)
        return fail(err, ATTSVM_E_MEMORY, "no memory for the figure");
    FILE *script = tmpfile();
    if (!script)
        return fail(err, ATTSVM_E_DISK, "no temporary file for gnuplot");
    report_script(f, format, script);
    attsvm_status status = report_gnuplot_run(script, bytes, size, err);
    fclose(script);
    return status == ATTSVM_OK && format == REPORT_SVG ? finish_svg(f, bytes, size, err) : status;
}

attsvm_status report_figure_svg(const report_figure *f, char **svg, attsvm_error *err)
{
    size_t size;
    char *bytes;
    *svg = NULL;
    attsvm_status status = draw(f, REPORT_SVG, &bytes, &size, err);
    if (status == ATTSVM_OK)
        status = base_allocate(svg, size + 1, 1, "figure", err);
    if (status == ATTSVM_OK)
        memcpy(*svg, bytes, size);
    free(bytes);
    return status;
}

attsvm_status report_figure_write(const report_figure *f, const char *path, attsvm_error *err)
{
    const char *dot = strrchr(path, '.'), *ending = dot ? dot : "";
    report_format format = strcmp(ending, ".png") == 0   ? REPORT_PNG
                           : strcmp(ending, ".pdf") == 0 ? REPORT_PDF
                                                         : REPORT_SVG;
    char *bytes = NULL;
    size_t size = 0;
    io_file *file = NULL;
    attsvm_status status = !f || f->out_of_memory
                               ? fail(err, ATTSVM_E_MEMORY, "%s: no memory for the figure", path)
                           : strcmp(ending, ".csv") == 0 ? list_points(f, &bytes, &size, err)
                                                         : draw(f, format, &bytes, &size, err);
    if (status == ATTSVM_OK)
        status = io_file_create(&file, path, err);
    if (status == ATTSVM_OK) {
        status = io_file_write(file, bytes, size, err);
        if (status == ATTSVM_OK)
            status = io_file_commit(file, err);
        else
            io_file_abandon(file);
    }
    free(bytes);
    return status;
}
