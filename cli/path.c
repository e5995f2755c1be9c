/* attsvm path: regularisation paths and their limits. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS path_options
typedef struct path_options {
    const char *select;
} path_options;
static const field path_option_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(select), FIELD_TEXT, 0, 0, 0,
      "tokens of the SVM to compare with, and of a cone: opt (best score), ids (of FILE) or a "
      "result file; default: opt, for vp the tokens that the path ends on",
      0, NULL },
};
const settings_table cli_path_table = { "path options", path_option_fields,
                                        sizeof path_option_fields / sizeof *path_option_fields,
                                        sizeof(path_options), NULL };
#undef SETTINGS

static double entry(const attsvm_path *path, const char *name, int64_t k)
{
    const attsvm_array *array = attsvm_path_find(path, name);
    return array ? attsvm_array_get(array, k) : NAN;
}

/* ----------------------------------------------------------------------------- JSON */

static void set_column(io_json *json, const attsvm_path *path, const char *name)
{
    const attsvm_array *array = attsvm_path_find(path, name);
    if (!array)
        return;
    io_json *list = io_json_list();
    for (int64_t k = 0; k < array->shape[0]; k++)
        io_json_append(list, io_json_number(attsvm_array_get(array, k)));
    io_json_set(json, name, list);
}

static io_json *selected_json(const attsvm_path *path)
{
    const attsvm_array *array = attsvm_path_find(path, "selected");
    io_json *list = io_json_list();
    for (int64_t k = 0; k < array->shape[0]; k++)
        io_json_append(list, io_json_integers((const int64_t *)array->data + k * array->shape[1],
                                              array->shape[1]));
    return list;
}

static attsvm_status print_json(const char *file, const attsvm_path_settings *s,
                                const attsvm_path *path, attsvm_error *err)
{
    static const char *const columns[] = { "radius",
                                           "correlation",
                                           "loss_excess",
                                           "log_excess",
                                           "loss",
                                           "efficiency",
                                           "attention",
                                           "margin",
                                           "ridge",
                                           "radius_v",
                                           "correlation_relaxed",
                                           "correlation_unrelaxed",
                                           "correlation_v",
                                           "predictivity",
                                           "inside" };
    attsvm_path_info info = attsvm_path_describe(path);
    char name[8];
    base_settings_print(attsvm_settings_find(&attsvm_path_table, "model"), s, name, sizeof name);
    io_json *json = io_json_object();
    io_json_set(json, "file", io_json_text(file));
    io_json_set(json, "model", io_json_text(name));
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        set_column(json, path, columns[k]);
    io_json_set(json, "selected", selected_json(path));
    io_json_set(json, "svm", io_json_text(attsvm_outcome_name(info.svm)));
    io_json_set(json, "svm_norm", io_json_number(info.svm_norm));
    io_json_set(json, "svm_gap", io_json_number(info.svm_gap));
    if (s->model == ATTSVM_MODEL_VP) {
        io_json_set(json, "case", io_json_text(attsvm_joint_case_name(info.joint)));
        io_json_set(json, "least_ratio", io_json_number(info.least_ratio));
    }
    if (info.kept >= 0) {
        io_json_set(json, "kept", io_json_integer(info.kept));
        io_json_set(json, "idle", cli_count_json(info.zero_weight_tokens));
        io_json_set(json, "kinks", io_json_integer(info.kinks));
    }
    io_json_set(json, "solves", io_json_integer(info.solves));
    io_json_set(json, "evaluations", io_json_integer(info.evaluations));
    io_json_set(json, "seconds", io_json_number(info.seconds));
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* ----------------------------------------------------------------------------- text */

static void print_selected(const attsvm_path *path, int64_t k)
{
    enum { MOST_SHOWN = 8 };
    const attsvm_array *array = attsvm_path_find(path, "selected");
    int64_t terms = array->shape[1];
    for (int64_t t = 0; t < terms && t < MOST_SHOWN; t++)
        printf(" %.0f", attsvm_array_get(array, k * terms + t));
    printf("%s\n", terms > MOST_SHOWN ? " ..." : "");
}

/* The two columns that matter most; the rest is in the arrays and in JSON. */
typedef struct columns {
    const char *second, *second_title; /* after the radius                                  */
    const char *gap, *gap_title;       /* shown as 1 minus it                               */
    const char *last, *last_title;
    bool last_gap; /* also in the last row */
} columns;

static const columns single = { "attention",  "attention",  "correlation", "1-correlation",
                                "log_excess", "log excess", false };
static const columns joint = {
    "radius_v",         "of v", "correlation_relaxed", "1-corr relaxed", "correlation_unrelaxed",
    "1-corr unrelaxed", true
};
static const columns several = { "attention",    "attention",    "correlation", "1-correlation",
                                 "predictivity", "predictivity", false };

static void print_table(const attsvm_path *path, const columns *c)
{
    attsvm_path_info info = attsvm_path_describe(path);
    bool ridge = attsvm_path_find(path, "ridge") != NULL;
    if (ridge)
        printf("  %-10s", "ridge");
    printf("  %-10s %-10s %-15s %-17s selected\n", "radius", c->second_title, c->gap_title,
           c->last_title);
    for (int64_t k = 0; k < info.points; k++) {
        double last = entry(path, c->last, k), gap = 1 - entry(path, c->gap, k);
        if (ridge)
            printf("  %-10.4g", entry(path, "ridge", k));
        printf("  %-10.5g %-10.6g ", entry(path, "radius", k), entry(path, c->second, k));
        if (isnan(gap))
            printf("%-15s ", "-");
        else
            printf("%-15.3e ", gap);
        if (isnan(last))
            printf("%-17s", "-");
        else
            printf("%-17.5g", c->last_gap ? 1 - last : last);
        print_selected(path, k);
    }
}

static void print_case(const attsvm_path_info *info, const attsvm_path_settings *s)
{
    switch (info->joint) {
    case ATTSVM_JOINT_NONE:
        printf("No head separates the selected tokens, so there is no limit to compare with.\n");
        break;
    case ATTSVM_JOINT_ALL_TIGHT:
        printf("All sequences are tight in the v-SVM: the relaxed p-SVM is the p-SVM.\n");
        break;
    case ATTSVM_JOINT_UNRELAXED:
        printf("The radius of v is bounded (%g): p tends to the unrelaxed p-SVM.\n",
               s->head_radius);
        break;
    case ATTSVM_JOINT_RELAXED:
        printf("The ratio %g is at least %.6g: p tends to the relaxed p-SVM, v to the v-SVM.\n",
               s->ratio, info->least_ratio);
        break;
    case ATTSVM_JOINT_BETWEEN:
        printf("The ratio %g is below %.6g: p tends to a direction between the two p-SVMs.\n",
               s->ratio, info->least_ratio);
        break;
    }
}

/* The case describes the limit; the last row of the table may still be far from it. */
static void print_whether_there(const attsvm_path_info *info, const attsvm_path *path)
{
    const int64_t last = info->points - 1;
    double relaxed = entry(path, "correlation_relaxed", last);
    double unrelaxed = entry(path, "correlation_unrelaxed", last);
    bool to_relaxed = info->joint == ATTSVM_JOINT_RELAXED;
    if (!to_relaxed && info->joint != ATTSVM_JOINT_UNRELAXED)
        return;
    if (to_relaxed ? unrelaxed > relaxed : relaxed > unrelaxed)
        printf(
            "This is the limit of growing radii. At radius %g, p is still nearer to the %s p-SVM; "
            "try larger radii.\n",
            entry(path, "radius", last), to_relaxed ? "unrelaxed" : "relaxed");
}

/* Whether a point inside its ball is the one that lay on the sphere of the radius before. */
static bool found_nothing_better(const attsvm_path *path, int64_t point)
{
    if (point == 0 || entry(path, "inside", point) == 0 || entry(path, "inside", point - 1) != 0)
        return false;
    double radius = entry(path, "radius", point);
    return fabs(radius - entry(path, "radius", point - 1)) <= 1e-6 * radius;
}

static void print_text(const char *file, const cli_call *call, const attsvm_path_settings *s,
                       const attsvm_data *data, const attsvm_path *path)
{
    attsvm_path_info info = attsvm_path_describe(path);
    char name[8], head[16], text[256];
    attsvm_settings_get(&attsvm_path_table, s, "model", name, sizeof name);
    attsvm_settings_get(&attsvm_path_table, s, "head", head, sizeof head);
    bool is_joint = s->model == ATTSVM_MODEL_VP, sets = info.kept >= 0;
    printf("%s: model %s, %s loss, %s head, %" PRId64 " term%s\n\n", cli_shown(file), name, s->loss,
           head, info.terms, base_plural(info.terms));
    print_table(path, is_joint ? &joint : sets ? &several : &single);
    printf("\n");
    const cli_layer layer = { s->model, s->head, s->query, s->query_token, s->loss };
    const char *reason = cli_no_effect(data, &layer);
    if (reason) {
        snprintf(text, sizeof text, "%s The loss does not depend on %s.", reason,
                 s->model == ATTSVM_MODEL_KQ  ? "K and Q"
                 : s->model == ATTSVM_MODEL_W ? "W"
                                              : "p");
        cli_wrap(stdout, text, 0, 0, 80);
    } else if (is_joint && found_nothing_better(path, info.points - 1)) {
        printf("At the last radius the search found nothing better than the point at |p| = %g: "
               "try more starts (--starts) before you conclude anything.\n",
               entry(path, "radius", info.points - 1));
    } else if (is_joint && entry(path, "inside", info.points - 1) != 0) {
        printf("The minimum lies inside the ball of p, at |p| = %g: attention mixes tokens, and p "
               "does not tend to an SVM direction.\n",
               entry(path, "radius", info.points - 1));
    } else if (is_joint) {
        print_case(&info, s);
        print_whether_there(&info, path);
    } else if (info.svm == ATTSVM_OPTIMAL && sets && info.svm_norm == 0) {
        printf(
            "Attention keeps all tokens: their SVM has the solution 0, which is no direction.\n");
    } else if (info.svm == ATTSVM_OPTIMAL) {
        printf("The SVM of the %s tokens has norm %.8g.\n", sets ? "kept" : "target",
               info.svm_norm);
    } else {
        printf("The SVM to compare with is %s%s.\n", attsvm_outcome_name(info.svm),
               info.svm == ATTSVM_INFEASIBLE ? ": no direction separates the target tokens" : "");
    }
    if (info.zero_weight_tokens > 0)
        printf("The loss does not depend on the attention of %" PRId64
               " other token%s: %s not constrain the path, so it need not agree with this SVM.\n",
               info.zero_weight_tokens, base_plural(info.zero_weight_tokens),
               info.zero_weight_tokens == 1 ? "it does" : "they do");
    if (info.kinks > 0)
        printf("In %" PRId64 " of %" PRId64
               " term%s a ReLU unit is at 0, where the loss has a kink: "
               "the search stops there, and the path need not agree with this SVM.\n",
               info.kinks, info.terms, base_plural(info.terms));
    if (s->cone > 0 && !reason)
        printf("Local path: the minimum of the loss with cosine %g or more to the SVM direction.\n",
               1 - s->cone);
    else if (!reason)
        cli_wrap(stdout,
                 "These are the best local minima found from random directions, the previous point "
                 "and the SVM direction: a search, not a proof.",
                 0, 0, 80);
    if (call->common->output)
        printf("Wrote %s.\n", cli_shown(call->common->output));
}

/* ------------------------------------------------------------------------- the verb */

static bool show_progress(void *context, int64_t done, int64_t points)
{
    char text[64];
    snprintf(text, sizeof text, "point %" PRId64 " of %" PRId64, done, points);
    cli_progress_line(context, text);
    return true;
}

static attsvm_status select_tokens(attsvm_chosen **out, const attsvm_data *data, const char *file,
                                   const attsvm_path_settings *s, const char *source,
                                   attsvm_error *err)
{
    attsvm_svm_settings svm;
    attsvm_svm_settings_init(&svm);
    bool prompt = s->model == ATTSVM_MODEL_P || s->model == ATTSVM_MODEL_VP;
    svm.problem = prompt ? ATTSVM_PROBLEM_P : ATTSVM_PROBLEM_W;
    svm.query = s->query;
    svm.query_token = s->query_token;
    return cli_choose(out, data, file, &svm, source, err);
}

static attsvm_status draw(const cli_call *call, const attsvm_path *path, const char *file,
                          attsvm_error *err)
{
    if (!cli_picture_wanted(call))
        return ATTSVM_OK;
    const experiments_picture picture =
        cli_picture(call, file,
                    "Minima of the loss in balls of growing radius, and their distance from the "
                    "max-margin direction.");
    return experiments_picture_path(&picture, path, err);
}

attsvm_status cli_path(cli_call *call, attsvm_error *err)
{
    const attsvm_path_settings *s = cli_settings(call, &attsvm_path_table);
    const path_options *options = cli_settings(call, &cli_path_table);
    const char *file = call->arguments[0];
    attsvm_read_settings reading;
    attsvm_data *data = NULL;
    attsvm_path *path = NULL;
    attsvm_chosen *chosen = NULL;
    cli_process_limit(((const cli_limit *)cli_settings(call, &cli_limit_table))->time_limit);
    attsvm_read_settings_init(&reading);
    reading.threads = call->common->threads;
    TRY(cli_picture_check(call, err));
    TRY(attsvm_data_read(&data, file, &reading, err));
    attsvm_status status = ATTSVM_OK;
    if (options->select)
        status = select_tokens(&chosen, data, file, s, options->select, err);
    if (status == ATTSVM_OK) {
        cli_progress progress = cli_progress_start(call, "path");
        attsvm_selection selection = { 0 };
        if (chosen)
            selection = attsvm_chosen_describe(chosen).selection;
        status = attsvm_path_follow(&path, data, s, chosen ? &selection : NULL, show_progress,
                                    &progress, err);
        cli_progress_end(&progress);
        if (status == ATTSVM_E_DATA)
            base_fail_in(err, status, file);
    }
    if (status == ATTSVM_OK && call->common->output)
        status = attsvm_path_save(path, call->common->output, err);
    if (status == ATTSVM_OK)
        status = draw(call, path, file, err);
    if (status == ATTSVM_OK && call->common->json)
        status = print_json(file, s, path, err);
    else if (status == ATTSVM_OK && !call->common->quiet)
        print_text(file, call, s, data, path);
    attsvm_chosen_free(chosen);
    attsvm_path_free(path);
    attsvm_data_free(data);
    return status;
}
