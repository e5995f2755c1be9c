/* Runs one experiment and writes its files; writes the page of a directory. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#define SETTINGS experiments_settings
static const field reproduce_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(all), FIELD_BOOL, 0, 1, 0, "all experiments", 0, 0 },
    { F(runs), FIELD_INT, 0, 1e9, 0,
      "random runs (data sets, runs a point) of each experiment; 0: as many as published", 0, 0 },
    { F(disturb), FIELD_DOUBLE, 0, 1, 0,
      "multiply each start value by 1 + SIZE u, u random in -1..1 (0 becomes SIZE u), to see "
      "whether a number depends on rounding: try 1e-12",
      0, 0 },
    { F(disturb_seed), FIELD_INT, 0, 9e15, 0, "seed of this disturbance", 0, 0 },
    { F(check), FIELD_BOOL, 0, 1, 0, "exit status 1 where a key number is not as expected", 0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0,
      "seconds of wall clock for all of them; 0 = no limit. What is done by then is kept, exit "
      "status 1",
      0, 0 },
    { F(redraw), FIELD_BOOL, 0, 1, 0, "only draw anew from the arrays of an earlier run", 0, 0 },
    { F(png), FIELD_BOOL, 0, 1, 0, "also draw each figure as .png", 0, 0 },
    { F(pdf), FIELD_BOOL, 0, 1, 0, "also draw each figure as .pdf", 0, 0 },
    { F(csv), FIELD_BOOL, 0, 1, 0, "also write the numbers behind each figure as .csv", 0, 0 },
    { F(data), FIELD_TEXT, 0, 0, 0, "data file for mm-attention instead of the built-in sentences",
      0, NULL },
};
#undef SETTINGS

const settings_table experiments_table = { "reproduce", reproduce_fields,
                                           sizeof reproduce_fields / sizeof *reproduce_fields,
                                           sizeof(experiments_settings), NULL };

attsvm_status experiments_ready(attsvm_error *err)
{
    return report_gnuplot_find(err);
}

attsvm_status experiments_find(const char *id, const experiment **out, attsvm_error *err)
{
    char list[320] = "";
    for (const experiment *const *e = experiments_all; *e; e++) {
        if (strcmp((*e)->id, id) == 0) {
            *out = *e;
            return ATTSVM_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", (*e)->id);
    }
    *out = NULL;
    return fail(err, ATTSVM_E_ARG, "Unknown experiment %.60s. The experiments are %s.", id, list);
}

/* DIRECTORY/ID.ending; the caller frees. */
static char *path_of(const char *directory, const char *id, const char *ending)
{
    size_t size = strlen(directory) + strlen(id) + strlen(ending) + 3;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s%s%s", directory, id, *ending ? "." : "", ending);
    return path;
}

static attsvm_status run(const experiment *e, const experiments_setup *setup, const char *path,
                         double *seconds, attsvm_error *err)
{
    experiments_arrays *arrays = NULL;
    double start = base_seconds();
    attsvm_status status = experiments_arrays_create(&arrays, err);
    if (status == ATTSVM_OK)
        status = e->run(setup, arrays, err);
    *seconds = base_seconds() - start;
    if (status == ATTSVM_OK)
        status = experiments_arrays_write(arrays, e, setup, path, err);
    experiments_arrays_free(arrays);
    return status;
}

static attsvm_status draw(const experiment *e, const experiments_result *result,
                          const char *directory, const char *ending, attsvm_error *err)
{
    report_figure *figure = NULL;
    char *path = path_of(directory, e->id, ending);
    attsvm_status status =
        path ? e->draw(result, &figure, err) : fail(err, ATTSVM_E_MEMORY, "no memory for a name");
    if (status == ATTSVM_OK)
        status = report_figure_write(figure, path, err);
    report_figure_free(figure);
    free(path);
    return status;
}

/* Makes numbers, JSON and figures from the arrays in the file. */
static attsvm_status finish(experiments_outcome *o, const experiments_result *result,
                            const experiments_settings *settings, const char *directory,
                            const char *json, attsvm_error *err)
{
    const experiment *e = o->experiment;
    const experiments_setup setup = experiments_result_setup(result);
    o->runs = setup.runs;
    o->seed = setup.seed;
    o->disturb = setup.disturb;
    o->disturb_seed = setup.disturb_seed;
    TRY(e->numbers(result, &o->numbers, err));
    if (o->numbers.out_of_memory)
        return fail(err, ATTSVM_E_MEMORY, "no memory for the key numbers");
    experiments_view own;
    if (experiments_get(result, "own_data", &own, NULL) != ATTSVM_OK || own.x[0] == 0)
        TRY(experiments_compare(e, &o->numbers, &setup, &o->failed, err));
    if (settings->csv)
        TRY(draw(e, result, directory, "csv", err));
    if (experiments_ready(NULL) != ATTSVM_OK)
        return experiments_json_write(o, json, err);
    TRY(draw(e, result, directory, "svg", err));
    if (settings->png)
        TRY(draw(e, result, directory, "png", err));
    if (settings->pdf)
        TRY(draw(e, result, directory, "pdf", err));
    return experiments_json_write(o, json, err);
}

attsvm_status experiments_reproduce(const experiment *e, const experiments_settings *settings,
                                    const experiments_setup *setup, const char *directory,
                                    experiments_outcome *out, attsvm_error *err)
{
    experiments_result *result = NULL;
    attsvm_status status = ATTSVM_OK;
    char *npz = path_of(directory, e->id, "npz"), *json = path_of(directory, e->id, "json");
    *out = (experiments_outcome){ .experiment = e };
    if (!npz || !json)
        status = fail(err, ATTSVM_E_MEMORY, "no memory for a name");
    if (status == ATTSVM_OK && settings->redraw)
        out->seconds = experiments_json_seconds(json);
    else if (status == ATTSVM_OK)
        status = run(e, setup, npz, &out->seconds, err);
    out->stopped = status == EXPERIMENTS_STOPPED;
    if (status == ATTSVM_OK)
        status = experiments_result_read(&result, e, npz, err);
    if (status == ATTSVM_OK)
        status = finish(out, result, settings, directory, json, err);
    experiments_result_free(result);
    free(json);
    free(npz);
    return out->stopped ? ATTSVM_OK : status;
}

void experiments_outcome_free(experiments_outcome *outcome)
{
    experiments_numbers_free(&outcome->numbers);
}
