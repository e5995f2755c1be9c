/* attsvm fit: fits a classifier to labelled bags or texts. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fitted {
    const char *path;
    const cli_call *call;
    attsvm_samples *samples;
    attsvm_classifier *model;
    attsvm_classifier_attention attention;
    double absence;
} fitted;

/* How the model was made, as JSON text, which the caller frees. */
static attsvm_status settings_text(const fitted *f, char **text, attsvm_error *err)
{
    static const settings_table *const tables[] = { &attsvm_fit_table, &attsvm_samples_table };
    io_json *json = io_json_object();
    size_t size = 0;
    io_json_set(json, "verb", io_json_text("fit"));
    io_json_set(json, "version", io_json_text(attsvm_version()));
    io_json_set(json, "file", io_json_text(f->path));
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t k = 0; k < tables[t]->count; k++) {
            const field *one = &tables[t]->fields[k];
            char value[4096];
            if (strcmp(one->name, "threads") == 0 || strcmp(one->name, "memory") == 0)
                continue; /* the model does not depend on them */
            base_settings_print(one, cli_settings(f->call, tables[t]), value, sizeof value);
            io_json_set(json, one->name, io_json_text(value));
        }
    FILE *stream = open_memstream(text, &size);
    attsvm_status status = stream ? io_json_print(json, stream, false, err)
                                  : fail(err, ATTSVM_E_MEMORY, "no memory for the settings");
    if (stream)
        fclose(stream);
    io_json_free(json);
    return status;
}

static attsvm_status save(const fitted *f, attsvm_error *err)
{
    char *text = NULL;
    attsvm_status status = settings_text(f, &text, err);
    if (status == ATTSVM_OK)
        status = attsvm_classifier_save(f->model, f->call->common->output, text, err);
    free(text);
    return status;
}

static attsvm_status print_json(const fitted *f, attsvm_error *err)
{
    const attsvm_classifier_info info = attsvm_classifier_describe(f->model);
    io_json *json = io_json_object(), *attention = io_json_object(), *validation = io_json_object();
    const char *outcome = attsvm_outcome_name(f->attention.outcome);
    io_json_set(json, "file", io_json_text(f->path));
    io_json_set(json, "classes", cli_classes_json(f->model));
    io_json_set(json, "pool", io_json_text(cli_pool_name(info.pool)));
    io_json_set(json, "heads", io_json_integer(info.heads));
    io_json_set(json, "starts", io_json_integer(info.starts));
    io_json_set(json, "ridge", io_json_number(info.ridge));
    io_json_set(validation, "prompt", io_json_number(info.validation[0]));
    io_json_set(validation, "score", io_json_number(info.validation[1]));
    io_json_set(json, "validation", validation);
    io_json_set(json, "words", io_json_integer(info.words));
    io_json_set(json, "loss", io_json_number(info.loss));
    io_json_set(json, "gradient", io_json_number(info.gradient));
    io_json_set(json, "accuracy", io_json_number(info.accuracy));
    io_json_set(json, "absence", io_json_number(f->absence));
    io_json_set(json, "converged", io_json_integer(info.converged));
    io_json_set(json, "iterations", io_json_integer(info.iterations));
    io_json_set(json, "evaluations", io_json_integer(info.evaluations));
    io_json_set(json, "seconds", io_json_number(info.seconds));
    io_json_set(attention, "status", io_json_text(outcome ? outcome : "not run"));
    io_json_set(attention, "margin", io_json_number(f->attention.margin));
    io_json_set(attention, "efficiency", io_json_number(f->attention.efficiency));
    io_json_set(attention, "correlation", io_json_number(f->attention.correlation));
    io_json_set(json, "attention", attention);
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

static void print_attention(const fitted *f)
{
    const attsvm_classifier_attention *a = &f->attention;
    switch (a->outcome) {
    case ATTSVM_OPTIMAL:
        if (isnan(a->margin)) {
            printf("  attention   every bag has one distinct token: there is nothing to select\n");
            break;
        }
        printf("  attention   a prompt can select the most attended token of every bag (margin "
               "%.4g); this one has %.2f of that margin, correlation %.3f\n",
               a->margin, a->efficiency, a->correlation);
        break;
    case ATTSVM_INFEASIBLE:
        printf("  attention   no prompt selects the most attended token of every bag\n");
        break;
    default: break;
    }
}

static void print_absence(const fitted *f, int32_t pool)
{
    if (pool == ATTSVM_POOL_WITNESS)
        printf("  absence     adding a token can only raise the score: no bag is positive because "
               "something is missing\n");
    else if (!isnan(f->absence))
        printf("  absence     %.1f %% of the bags predicted %s change class when one token is "
               "removed%s\n",
               100 * f->absence, attsvm_classifier_class(f->model, 0),
               f->absence > 0 ? "; with --pool witness this cannot happen" : "");
}

static void print_text(const fitted *f)
{
    const attsvm_classifier_info info = attsvm_classifier_describe(f->model);
    const attsvm_samples_info s = attsvm_samples_describe(f->samples);
    printf("%s: %" PRId64 " %s%s, %" PRId64 " classes", f->path, s.n, s.words > 0 ? "text" : "bag",
           base_plural(s.n), info.classes);
    if (s.words > 0)
        printf(", %" PRId64 " word%s%s", s.words, base_plural(s.words),
               s.embedded > 0 ? " with vectors" : "");
    printf("\n\n  pool        %s", cli_pool_name(info.pool));
    if (!isnan(info.validation[0]) && !isnan(info.validation[1]))
        printf(" (validation: prompt %.4f, score %.4f)", info.validation[0], info.validation[1]);
    printf("\n  ridge       %g\n", info.ridge);
    printf("  members     %" PRId64 ", %" PRId64 " converged, %" PRId64 " iteration%s\n",
           info.starts, info.converged, info.iterations, base_plural(info.iterations));
    printf("  loss        %.6g, gradient at most %.1e\n", info.loss, info.gradient);
    printf("  accuracy    %.2f %% of the training data\n", 100 * info.accuracy);
    print_attention(f);
    print_absence(f, info.pool);
    if (s.dropped > 0)
        printf("  dropped     %" PRId64 " token%s without a word vector\n", s.dropped,
               base_plural(s.dropped));
    if (s.empty > 0)
        printf("  left out    %" PRId64 " empty text%s\n", s.empty, base_plural(s.empty));
    printf("Wrote %s.\n", f->call->common->output);
}

static attsvm_status look_back(fitted *f, attsvm_error *err)
{
    attsvm_prediction *found;
    attsvm_predict_settings settings;
    attsvm_predict_settings_init(&settings);
    settings.threads = f->call->common->threads;
    const attsvm_data *data = attsvm_samples_data(f->samples);
    TRY(attsvm_classifier_predict(&found, f->model, data, &settings, err));
    f->absence = attsvm_prediction_describe(found).absence;
    attsvm_prediction_free(found);
    return attsvm_classifier_attend(f->model, data, &f->attention, err);
}

attsvm_status cli_fit(cli_call *call, attsvm_error *err)
{
    fitted f = { .path = call->arguments[0], .call = call };
    attsvm_targets targets;
    cli_progress progress = cli_progress_start(call, "fit");
    attsvm_status status = cli_samples_read(call, f.path, &f.samples, &targets, err);
    if (status == ATTSVM_OK)
        status = attsvm_classifier_fit(&f.model, attsvm_samples_data(f.samples), &targets,
                                       cli_settings(call, &attsvm_fit_table), cli_fits_show,
                                       &progress, err);
    cli_progress_end(&progress);
    if (status == ATTSVM_E_DATA && !strstr(err->message, f.path))
        base_fail_in(err, status, f.path);
    if (status == ATTSVM_OK)
        status = attsvm_classifier_adopt(f.model, f.samples, err);
    if (status == ATTSVM_OK)
        status = look_back(&f, err);
    if (status == ATTSVM_OK)
        status = save(&f, err);
    if (status == ATTSVM_OK && call->common->json)
        status = print_json(&f, err);
    else if (status == ATTSVM_OK && !call->common->quiet)
        print_text(&f);
    attsvm_classifier_free(f.model);
    attsvm_samples_free(f.samples);
    return status;
}
