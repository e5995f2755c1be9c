/* attsvm verify: trains, and compares the result with the max-margin solution. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS verify_options
typedef struct verify_options {
    int64_t landscape;
} verify_options;
static const field verify_option_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(landscape), FIELD_INT, 0, 1e12, 0,
      "random points at which to test whether the loss decreases along the max-margin direction of "
      "the best tokens; models p and W; 0 = none",
      0, 0 },
};
const settings_table cli_verify_table = { "verify options", verify_option_fields,
                                          sizeof verify_option_fields /
                                              sizeof *verify_option_fields,
                                          sizeof(verify_options), NULL };
#undef SETTINGS

static bool observe(void *context, const attsvm_train *train, const attsvm_train_info *info)
{
    char text[128];
    (void)train;
    snprintf(text, sizeof text, "step %" PRId64 ", loss %.6g, norm %.4g, attention %.4f",
             info->iters, info->loss, info->norm, info->softmax_min);
    cli_progress_line(context, text);
    return true;
}

/* With a nonlinear head attention may keep several tokens: compares W with W_fin + R W_svm. */
static attsvm_status compare_kept(cli_verified *v, const attsvm_data *data, attsvm_error *err)
{
    attsvm_svm_settings svm;
    int64_t count;
    v->several = true;
    attsvm_svm_settings_init(&svm);
    svm.threads = v->settings.threads;
    svm.query = v->settings.query;
    svm.query_token = v->settings.query_token;
    const double *W = attsvm_train_theta(v->run, &count);
    return attsvm_multi_token_compare(&v->kept, data, W, &svm, NULL, NULL, NULL, err);
}

/*
 * --init M.npz where M is a model of attsvm fit: the data become what its first member sees, and
 * training goes on from its prompt and head.
 */
static attsvm_status go_on_from_model(cli_verified *v, const cli_call *call, attsvm_data **data,
                                      attsvm_error *err)
{
    attsvm_archive *archive;
    attsvm_classifier *model;
    attsvm_data *seen;
    if (!strstr(v->settings.init, ".npz") || strncmp(v->settings.init, "svm:", 4) == 0)
        return ATTSVM_OK;
    TRY(attsvm_archive_open(&archive, v->settings.init, NULL, err));
    const bool fitted = attsvm_archive_find(archive, "model") && attsvm_archive_find(archive, "mu");
    attsvm_archive_free(archive);
    if (!fitted)
        return ATTSVM_OK;
    TRY(attsvm_classifier_load(&model, v->settings.init, err));
    attsvm_status status = attsvm_classifier_tokens(&seen, model, *data, err);
    attsvm_classifier_free(model);
    if (status != ATTSVM_OK)
        return base_fail_in(err, status, v->settings.init);
    if (!call->common->quiet && !call->common->json)
        fprintf(stderr,
                "attsvm verify: tokens scaled as in %s; its first member is the start, without "
                "bias\n",
                v->settings.init);
    v->settings.init = "file";
    attsvm_data_free(*data);
    *data = seen;
    return ATTSVM_OK;
}

static attsvm_status train(cli_verified *v, const cli_call *call, const attsvm_data *data,
                           attsvm_error *err)
{
    TRY(attsvm_train_create(&v->run, data, &v->settings, NULL, NULL, err));
    TRY(attsvm_exchangeable_compute(&v->exchangeable, v->run, err));
    cli_progress progress = cli_progress_start(call, "verify");
    attsvm_status status = attsvm_train_run(v->run, observe, &progress, err);
    cli_progress_end(&progress);
    return status == ATTSVM_OK ? base_interrupted(err) : status;
}

/* Reads the run from a result instead of training. */
static attsvm_status load(cli_verified *v, const cli_call *call, const attsvm_data *data,
                          attsvm_error *err)
{
    const char *path = call->arguments[1];
    attsvm_origin *origin;
    char name[64];
    for (size_t k = 0; k < attsvm_train_table.count; k++)
        if (cli_is_given(call, &attsvm_train_table, attsvm_train_table.fields[k].name) &&
            strcmp(attsvm_train_table.fields[k].name, "threads") != 0 &&
            strcmp(attsvm_train_table.fields[k].name, "seed") != 0) {
            cli_flag_name(&attsvm_train_table.fields[k], name, sizeof name);
            return fail(err, ATTSVM_E_ARG, "--%s: %s is already trained, with its own settings",
                        name, path);
        }
    TRY(attsvm_train_load(&v->run, data, path, NULL, NULL, err));
    TRY(attsvm_origin_read(&origin, path, err));
    const attsvm_train_settings *made = attsvm_origin_describe(origin).train;
    const int64_t threads = v->settings.threads;
    char model[8];
    v->settings = *made;
    v->settings.threads = threads;
    v->origin = origin; /* the texts of the settings */
    attsvm_settings_get(&attsvm_train_table, made, "model", model, sizeof model);
    const int64_t iters = attsvm_train_describe(v->run).iters;
    if (!call->common->quiet && !call->common->json)
        fprintf(stderr, "attsvm verify: taken from %s: model %s, step %s, %" PRId64 " step%s\n",
                path, model, made->step, iters, base_plural(iters));
    return ATTSVM_OK;
}

/* Whether the next step of a run depends on its parameters alone. */
static bool has_no_memory(const attsvm_train_settings *s)
{
    static const char *const others[] = { "momentum", "signum", "muon", "adam", "rescale" };
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strncmp(s->step, others[k], strlen(others[k])) == 0)
            return false;
    return s->batch == 0 && s->decay == 0;
}

/* Two more steps, of a run that starts where this one ended: |theta_1 - theta_0|, and
   |theta_2 - theta_0| of the logit map. */
static attsvm_status look_ahead(const cli_verified *v, attsvm_train *next, double *first,
                                double *second, attsvm_error *err)
{
    static const char *const names[] = { "p", "W", "K", "Q", "v" };
    attsvm_named_array start[sizeof names / sizeof *names];
    int64_t count = 0, size;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const attsvm_array *array = attsvm_train_find(v->run, names[k]);
        if (array)
            start[count++] = (attsvm_named_array){ names[k], *array };
    }
    TRY(attsvm_train_start(next, start, count, err));
    for (int64_t step = 1; step <= 2; step++) {
        double square = 0;
        TRY(step == 1 ? attsvm_train_run(next, NULL, NULL, err)
                      : attsvm_train_continue(next, 2, NULL, NULL, err));
        const double *now = attsvm_train_theta(next, &size),
                     *then = attsvm_train_theta(v->run, &size);
        for (int64_t j = 0; j < size; j++)
            square += (now[j] - then[j]) * (now[j] - then[j]);
        *(step == 1 ? first : second) = sqrt(square);
    }
    return ATTSVM_OK;
}

/* Normalised steps of a fixed length may alternate around a point that they never reach. */
static attsvm_status find_alternation(cli_verified *v, const attsvm_data *data, attsvm_error *err)
{
    const double same = 1e-3; /* of a step */
    attsvm_train_settings settings = v->settings;
    attsvm_train *next;
    double first = 0, second = 0;
    if (v->verdict.kind != ATTSVM_VERDICT_UNSATURATED || !has_no_memory(&settings))
        return ATTSVM_OK;
    settings.init = "zero"; /* replaced by the end of the run */
    settings.record = settings.checkpoint = "";
    settings.iters = 1;
    settings.disturb = settings.stop_direction = settings.stop_norm = 0;
    settings.resume = false;
    TRY(attsvm_train_create(&next, data, &settings, NULL, NULL, err));
    attsvm_status status = look_ahead(v, next, &first, &second, err);
    attsvm_train_free(next);
    v->alternates = first > 0 && second <= same * first;
    return status;
}

static attsvm_status verify(cli_verified *v, const cli_call *call, const attsvm_data *data,
                            attsvm_error *err)
{
    TRY(call->count > 1 ? load(v, call, data, err) : train(v, call, data, err));
    TRY(attsvm_verdict_compute(&v->verdict, v->run, NULL, NULL, NULL, &v->solution, err));
    TRY(attsvm_train_compare(v->run, v->solution, err));
    TRY(attsvm_conditions_compute(&v->conditions, v->run, NULL, NULL, err));
    TRY(find_alternation(v, data, err));
    if (!cli_verified_prompt(v) && !cli_verified_linear(v))
        TRY(compare_kept(v, data, err));
    const verify_options *options = cli_settings(call, &cli_verify_table);
    if (options->landscape > 0)
        TRY(attsvm_landscape_compute(&v->landscape, v->run, options->landscape, v->settings.seed,
                                     err));
    v->joint = cli_verified_prompt(v) && cli_verified_trains_head(v) && cli_verified_linear(v);
    if (v->joint)
        TRY(attsvm_joint_compute(&v->found, v->run, cli_settings(call, &attsvm_joint_table), NULL,
                                 NULL, &v->joint_solution, err));
    return base_interrupted(err);
}

/* ----------------------------------------------------------------------------- JSON */

static io_json *conditions_json(const cli_verified *v)
{
    const attsvm_conditions *c = &v->conditions;
    char text[1024];
    io_json *json = io_json_object();
    cli_verified_statement(v, text, sizeof text);
    io_json_set(json, "equal_scores", io_json_bool(c->equal_scores));
    io_json_set(json, "unique_optimal", io_json_bool(c->unique_optimal));
    io_json_set(json, "wide", io_json_bool(c->wide));
    io_json_set(json, "feasible", io_json_bool(c->feasible));
    io_json_set(json, "all_support", io_json_bool(c->all_support));
    io_json_set(json, "rows", io_json_integer(c->rows));
    io_json_set(json, "support", cli_count_json(c->support));
    io_json_set(json, "queries", io_json_integer(c->queries));
    io_json_set(json, "rivals", io_json_integer(c->rivals));
    io_json_set(json, "choices", io_json_integer(c->choices));
    io_json_set(json, "tokens", io_json_integer(c->tokens));
    io_json_set(json, "optimal_norm", io_json_number(c->norm));
    io_json_set(json, "nu", io_json_number(v->joint ? v->found.nu : (double)NAN));
    io_json_set(json, "must", io_json_text(cli_verified_must(v)));
    io_json_set(json, "statement", io_json_text(text));
    return json;
}

static io_json *joint_json(const attsvm_joint *j, const attsvm_verdict *d)
{
    io_json *json = io_json_object();
    io_json_set(json, "status", io_json_text(attsvm_outcome_name(j->outcome)));
    io_json_set(json, "head_margin", io_json_number(j->margin));
    io_json_set(json, "tight", io_json_integer(j->tight));
    io_json_set(json, "all_tight", io_json_bool(j->all_tight));
    io_json_set(json, "label_margin", io_json_number(j->label_margin));
    io_json_set(json, "nu", io_json_number(j->nu));
    io_json_set(json, "nu_norm", io_json_number(j->nu_norm));
    io_json_set(json, "tried", io_json_integer(j->tried));
    io_json_set(json, "relaxed_norm", io_json_number(j->relaxed));
    io_json_set(json, "unrelaxed_norm", io_json_number(j->unrelaxed));
    io_json_set(json, "correlation_v", io_json_number(j->correlation_v));
    io_json_set(json, "correlation_relaxed", io_json_number(j->correlation_relaxed));
    io_json_set(json, "correlation_unrelaxed", io_json_number(j->correlation_unrelaxed));
    io_json_set(json, "ratio", io_json_number(j->ratio));
    io_json_set(json, "ratio_needed", io_json_number(j->ratio_needed));
    io_json_set(json, "compared",
                io_json_text(d->svm.problem == ATTSVM_PROBLEM_JOINT ? "relaxed" : "unrelaxed"));
    return json;
}

static io_json *kept_json(const attsvm_multi_token *k)
{
    io_json *json = io_json_object();
    io_json_set(json, "status", io_json_text(attsvm_outcome_name(k->svm)));
    io_json_set(json, "kept", io_json_integer(k->kept));
    io_json_set(json, "several", io_json_integer(k->several));
    io_json_set(json, "least_kept", io_json_number(k->least_kept));
    io_json_set(json, "most_masked", io_json_number(k->most_masked));
    io_json_set(json, "R", io_json_number(k->R));
    io_json_set(json, "predictivity", io_json_number(1 - k->correlation));
    io_json_set(json, "correlation", io_json_number(k->correlation));
    io_json_set(json, "correlation_svm", io_json_number(k->correlation_svm));
    io_json_set(json, "correlation_single", io_json_number(k->correlation_single));
    return json;
}

static io_json *landscape_json(const attsvm_landscape *l)
{
    io_json *json = io_json_object();
    io_json_set(json, "status", io_json_text(attsvm_outcome_name(l->svm)));
    io_json_set(json, "samples", io_json_integer(l->samples));
    io_json_set(json, "negative", io_json_integer(l->negative));
    io_json_set(json, "share", io_json_number(l->share));
    io_json_set(json, "largest", io_json_number(l->largest));
    return json;
}

static attsvm_status print_json(const cli_verified *v, attsvm_error *err)
{
    const attsvm_verdict *d = &v->verdict;
    char norm[32];
    io_json *json = io_json_object();
    io_json_set(json, "kind", io_json_text(attsvm_verdict_name(d->kind)));
    io_json_set(json, "correlation", io_json_number(d->correlation));
    io_json_set(json, "angle", io_json_number(d->angle));
    io_json_set(json, "efficiency", io_json_number(d->efficiency));
    io_json_set(json, "margin", io_json_number(d->margin));
    io_json_set(json, "gap", io_json_number(d->gap));
    io_json_set(json, "selected", io_json_integers(cli_verified_selected(v), d->terms));
    io_json_set(json, "conditions", conditions_json(v));
    io_json_set(json, "exchangeable", cli_exchangeable_json(&v->exchangeable));
    io_json_set(json, "status", io_json_text(attsvm_outcome_name(d->outcome)));
    io_json_set(json, "geometry", io_json_text(cli_verified_norm(&d->svm, norm, sizeof norm)));
    io_json_set(json, "claimed", io_json_bool(d->claimed));
    io_json_set(json, "norm", io_json_number(d->norm));
    io_json_set(json, "softmax_min", io_json_number(d->attention));
    io_json_set(json, "undecided", io_json_integer(d->undecided));
    io_json_set(json, "unpulled", io_json_integer(d->unpulled));
    io_json_set(json, "locally_optimal", io_json_bool(d->optimality.local));
    io_json_set(json, "globally_optimal", io_json_bool(d->optimality.global));
    io_json_set(json, "support", io_json_integer(d->optimality.support));
    io_json_set(json, "against", io_json_integer(d->optimality.against));
    io_json_set(json, "missed", io_json_integer(d->optimality.missed));
    io_json_set(json, "tie", io_json_bool(d->optimality.tie));
    io_json_set(json, "unique", io_json_bool(d->optimality.unique));
    io_json_set(json, "seconds", io_json_number(attsvm_train_describe(v->run).seconds));
    if (v->joint)
        io_json_set(json, "joint", joint_json(&v->found, d));
    if (v->landscape.samples > 0)
        io_json_set(json, "landscape", landscape_json(&v->landscape));
    if (v->several)
        io_json_set(json, "several", kept_json(&v->kept));
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* --------------------------------------------------------------------------- arrays */

/* theta as (d) or (d,d). */
static attsvm_named_array theta_array(const char *name, const attsvm_claim *claim, int64_t d)
{
    bool matrix = claim->theta_count != d;
    return (attsvm_named_array){
        name, { claim->theta, { d, matrix ? d : 0 }, matrix ? 2 : 1, ATTSVM_F64 }
    };
}

static attsvm_status write_arrays(const cli_verified *v, const char *path, attsvm_error *err)
{
    attsvm_named_array arrays[3];
    attsvm_claim claim = attsvm_solution_claim(v->solution);
    int64_t count = 0, d = attsvm_data_describe(v->data).d;
    arrays[count++] = theta_array("svm_theta", &claim, d);
    if (v->joint && v->found.outcome == ATTSVM_OPTIMAL) {
        attsvm_claim joint = attsvm_solution_claim(v->joint_solution);
        arrays[count++] = theta_array("svm_joint", &joint, d);
        arrays[count++] = theta_array("svm_v", joint.head, d);
    }
    return attsvm_verdict_save(&v->verdict, v->run, v->solution, path, arrays, count, err);
}

static attsvm_status draw(const cli_verified *v, const cli_call *call, attsvm_error *err)
{
    attsvm_claim claim = attsvm_solution_claim(v->solution);
    bool solved = claim.outcome != ATTSVM_INFEASIBLE;
    char title[256], text[1400];
    if (!cli_picture_wanted(call))
        return ATTSVM_OK;
    snprintf(title, sizeof title, "%.200s: %s", v->file, attsvm_verdict_name(v->verdict.kind));
    cli_verified_verdict(v, text, sizeof text);
    const experiments_picture picture = cli_picture(call, title, text);
    return experiments_picture_train(&picture, v->run, solved ? claim.theta : NULL,
                                     claim.theta_count, err);
}

/* ------------------------------------------------------------------------- the verb */

attsvm_status cli_verify(cli_call *call, attsvm_error *err)
{
    attsvm_data *data;
    cli_verified v = { .file = call->arguments[0] };
    memcpy(&v.settings, cli_settings(call, &attsvm_train_table), sizeof v.settings);
    TRY(cli_picture_check(call, err));
    if (cli_picture_wanted(call) && !*v.settings.record)
        v.settings.record = "log";
    cli_process_limit(2 *
                      v.settings.time_limit); /* for training, and the same again for the verdict */
    TRY(cli_data_read(call, v.file, &data, err));
    attsvm_status status = go_on_from_model(&v, call, &data, err);
    v.data = data;
    if (status == ATTSVM_OK)
        status = verify(&v, call, data, err);
    if (status == ATTSVM_E_DATA)
        base_fail_in(err, status, v.file);
    /* interrupted: the run is saved without a verdict */
    bool wanted = call->common->output || call->common->output_on_rank_0;
    bool saved = status == ATTSVM_E_STOPPED && v.run && wanted &&
                 attsvm_train_describe(v.run).outcome != ATTSVM_TRAIN_NOT_RUN;
    if (saved)
        status = attsvm_train_save(v.run, call->common->output, NULL, 0, err);
    else if (status == ATTSVM_OK && wanted)
        status = write_arrays(&v, call->common->output, err);
    if (status == ATTSVM_OK && !saved)
        status = draw(&v, call, err);
    if (status == ATTSVM_OK && !saved) {
        call->negative =
            v.verdict.kind != ATTSVM_VERDICT_GLOBAL && v.verdict.kind != ATTSVM_VERDICT_LOCAL;
        if (call->common->json)
            status = print_json(&v, err);
        else if (!call->common->quiet)
            cli_verified_print(&v);
    }
    attsvm_solution_free(v.joint_solution);
    attsvm_solution_free(v.solution);
    attsvm_train_free(v.run);
    attsvm_origin_free(v.origin);
    attsvm_data_free(data);
    return status;
}
