/* Figures of the user's own results, in the style of the experiments. */
#include "experiments/experiments.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Writes the requested files and frees the figure. */
static attsvm_status finish(const experiments_picture *picture, report_figure *figure,
                            attsvm_error *err)
{
    attsvm_status status = ATTSVM_OK;
    char *svg = NULL;
    if (*picture->svg)
        status = report_figure_write(figure, picture->svg, err);
    if (status == ATTSVM_OK && *picture->html) {
        status = report_figure_svg(figure, &svg, err);
        if (status == ATTSVM_OK)
            status = report_own_page_write(picture->html, picture->title,
                                           (const char *const[]){ picture->text, NULL }, svg, err);
    }
    free(svg);
    report_figure_free(figure);
    return status;
}

/* --------------------------------------------------------------------------- traces */

/* A column of a trace as doubles; NULL: not in the run, or no memory. */
static double *column(const attsvm_train *run, const char *name)
{
    const attsvm_array *array = attsvm_train_find(run, name);
    int64_t count = array ? array->shape[0] : 0;
    double *out = count > 0 ? malloc((size_t)count * sizeof *out) : NULL;
    for (int64_t k = 0; out && k < count; k++)
        out[k] = attsvm_array_get(array, k);
    return out;
}

static void add_line(report_figure *figure, const char *label, report_colour colour,
                     const double *x, const double *y, int64_t count)
{
    if (y)
        report_add_series(figure, &(report_series){ .label = label,
                                                    .kind = REPORT_LINE,
                                                    .colour = colour,
                                                    .count = count,
                                                    .x = x,
                                                    .y = y });
}

static void add_panel(report_figure *figure, const char *title, const char *x, bool log_x,
                      const char *y, bool log_y)
{
    report_add_panel(figure, &(report_panel){ .title = title,
                                              .x = { .label = x, .log = log_x },
                                              .y = { .label = y, .log = log_y } });
}

/* 1 - correlation of every record's theta with the SVM solution; NULL if there is none. */
static double *distance_of(const attsvm_train *run, const double *svm, int64_t count)
{
    const attsvm_array *trace = attsvm_train_find(run, "trace_p");
    if (!trace)
        trace = attsvm_train_find(run, "trace_W");
    if (!trace || !svm || attsvm_array_count(trace) != trace->shape[0] * count)
        return NULL;
    double *out = malloc((size_t)trace->shape[0] * sizeof *out);
    for (int64_t k = 0; out && k < trace->shape[0]; k++)
        out[k] = 1 - attsvm_correlation((const double *)trace->data + k * count, svm, count);
    return out;
}

/* The same from the record of the run; NULL if it has none. */
static double *recorded_distance(const attsvm_train *run)
{
    const attsvm_array *trace = attsvm_train_find(run, "trace_correlation");
    double *out = column(run, "trace_correlation");
    bool any = false;
    for (int64_t k = 0; out && k < trace->shape[0]; k++) {
        out[k] = 1 - out[k];
        any = any || isfinite(out[k]);
    }
    if (any)
        return out;
    free(out);
    return NULL;
}

static bool all_finite(const double *values, int64_t count)
{
    for (int64_t k = 0; values && k < count; k++)
        if (!isfinite(values[k]))
            return false;
    return values != NULL;
}

attsvm_status experiments_picture_train(const experiments_picture *picture, const attsvm_train *run,
                                        const double *svm, int64_t svm_count, attsvm_error *err)
{
    const attsvm_array *iter = attsvm_train_find(run, "trace_iter");
    if (!iter)
        return fail(err, ATTSVM_E_ARG,
                    "The run holds no trace to draw: train it with --record log.");
    int64_t count = iter->shape[0];
    double *x = column(run, "trace_iter"), *least = column(run, "trace_softmax_min");
    double *mean = column(run, "trace_softmax_mean"), *norm = column(run, "trace_norm");
    double *excess = column(run, "trace_log_excess"), *apart = distance_of(run, svm, svm_count);
    double *loss = column(run, "trace_loss");
    if (!apart)
        apart = recorded_distance(run);
    report_figure *figure = report_figure_create(3, 960, 320);
    add_panel(figure, "attention of the selected token", "step", true, "", false);
    add_line(figure, "mean", REPORT_BLUE, x, mean, count);
    add_line(figure, "smallest", REPORT_VERMILION, x, least, count);
    add_panel(figure, "norm of the parameters", "step", true, "", true);
    add_line(figure, NULL, REPORT_BLUE, x, norm, count);
    if (apart) {
        add_panel(figure, "1 - correlation with the SVM", "step", true, "", true);
        add_line(figure, NULL, REPORT_GREEN, x, apart, count);
    } else if (all_finite(excess, count)) {
        add_panel(figure, "ln of the excess of the loss", "step", true, "", false);
        add_line(figure, NULL, REPORT_GREEN, x, excess, count);
    } else { /* the loss is below its limit: a head that is trained moves it */
        add_panel(figure, "loss", "step", true, "", true);
        add_line(figure, NULL, REPORT_GREEN, x, loss, count);
    }
    attsvm_status status = finish(picture, figure, err);
    free(x);
    free(least);
    free(mean);
    free(norm);
    free(excess);
    free(loss);
    free(apart);
    return status;
}

/* ----------------------------------------------------------------------------- path */

attsvm_status experiments_picture_path(const experiments_picture *picture, const attsvm_path *path,
                                       attsvm_error *err)
{
    static const struct {
        const char *name, *label;
        report_colour colour;
    } gaps[] = { { "correlation", "the SVM", REPORT_BLUE },
                 { "correlation_relaxed", "the relaxed p-SVM", REPORT_BLUE },
                 { "correlation_unrelaxed", "the unrelaxed p-SVM", REPORT_VERMILION },
                 { "correlation_v", "the v-SVM", REPORT_GREEN } };
    const attsvm_array *radius = attsvm_path_find(path, "radius");
    const attsvm_array *attention = attsvm_path_find(path, "attention");
    int64_t count = radius->shape[0];
    double *y = malloc(2 * (size_t)count * sizeof *y);
    if (!y)
        return fail(err, ATTSVM_E_MEMORY, "no memory for the figure");
    double *x = y + count;
    bool joint = attsvm_path_find(path, "correlation_relaxed") != NULL;
    report_figure *figure = report_figure_create(2, 960, 380);
    for (int64_t k = 0; k < count; k++)
        x[k] = attsvm_array_get(radius, k);
    add_panel(figure, "1 - correlation with", "radius", true, "", true);
    for (size_t g = joint; g < sizeof gaps / sizeof *gaps; g++) {
        const attsvm_array *gap = attsvm_path_find(path, gaps[g].name);
        for (int64_t k = 0; gap && k < count; k++)
            y[k] = 1 - attsvm_array_get(gap, k);
        if (gap)
            add_line(figure, gaps[g].label, gaps[g].colour, x, y, count);
    }
    add_panel(figure, "smallest attention of a selected token", "radius", true, "", false);
    for (int64_t k = 0; attention && k < count; k++)
        y[k] = attsvm_array_get(attention, k);
    add_line(figure, NULL, REPORT_BLUE, x, attention ? y : NULL, count);
    attsvm_status status = finish(picture, figure, err);
    free(y);
    return status;
}

/* --------------------------------------------------------------------------- tokens */

attsvm_status experiments_picture_tokens(const experiments_picture *picture,
                                         const experiments_points *points, attsvm_error *err)
{
    report_figure *figure = report_figure_create(1, 480, 380);
    add_panel(figure, "scores of the tokens of each sequence", "sequence or query", false, "score",
              false);
    static const char *const labels[] = { "other tokens", "support tokens", "selected tokens" };
    static const report_colour colours[] = { REPORT_GREY, REPORT_VERMILION, REPORT_BLUE };
    static const report_mark marks[] = { REPORT_DOT, REPORT_TRIANGLE, REPORT_DISC };
    for (int k = 0; k < 3; k++)
        report_add_series(figure, &(report_series){ .label = labels[k],
                                                    .kind = REPORT_POINTS,
                                                    .colour = colours[k],
                                                    .mark = marks[k],
                                                    .count = points[k].count,
                                                    .x = points[k].x,
                                                    .y = points[k].y });
    return finish(picture, figure, err);
}
