/* attsvm train: descent on one attention layer. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------- progress */

/* One line on a terminal, rewritten a few times a second. */
typedef struct live {
    int64_t iters;
    bool wanted, shown;
} live;

static bool show_progress(void *context, const attsvm_train *train, const attsvm_train_info *info)
{
    (void)train;
    live *l = context;
    double share = l->iters > 0 ? (double)info->iters / (double)l->iters : 1;
    if (!l->wanted)
        return true;
    enum { WIDTH = 24 };
    char bar[WIDTH + 1];
    for (int k = 0; k < WIDTH; k++)
        bar[k] = k < (int)(share * WIDTH) ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr,
            "\r\033[K[%s] %3.0f %%  step %" PRId64 "  loss %.6g  |theta| %.4g  attention %.4f", bar,
            100 * share, info->iters, info->loss, info->norm, info->softmax_min);
    fflush(stderr);
    l->shown = true;
    return true;
}

static void end_progress(live *l)
{
    if (l->shown)
        fputs("\r\033[K", stderr);
}

/* ----------------------------------------------------------------------------- JSON */

/* The norm of the predicted SVM, as its flag; "" if there is no prediction. */
static const char *predicted_norm(const attsvm_train_settings *s, char *out, size_t size)
{
    attsvm_svm_settings svm;
    bool claimed;
    if (attsvm_train_limit(s, &svm, &claimed, NULL) != ATTSVM_OK || !claimed)
        return "";
    return cli_verified_norm(&svm, out, size);
}

static attsvm_status print_json(const cli_call *call, const char *path,
                                const attsvm_train_settings *s, const attsvm_train *train,
                                const attsvm_exchangeable *exchangeable, attsvm_error *err)
{
    attsvm_train_info info = attsvm_train_describe(train);
    const attsvm_array *ids = attsvm_train_find(train, "ids");
    char name[8], norm[32];
    base_settings_print(attsvm_settings_find(&attsvm_train_table, "model"), s, name, sizeof name);
    io_json *json = io_json_object();
    io_json_set(json, "file", io_json_text(path));
    io_json_set(json, "model", io_json_text(name));
    io_json_set(json, "step", io_json_text(s->step));
    io_json_set(json, "predicted_norm", io_json_text(predicted_norm(s, norm, sizeof norm)));
    io_json_set(json, "outcome", io_json_text(attsvm_train_outcome_name(info.outcome)));
    io_json_set(json, "iters", io_json_integer(info.iters));
    io_json_set(json, "seconds", io_json_number(info.seconds));
    io_json_set(json, "loss", io_json_number(info.loss));
    io_json_set(json, "loss_limit", io_json_number(info.loss_limit));
    io_json_set(json, "loss_excess", io_json_number(info.loss_excess));
    io_json_set(json, "log_excess", io_json_number(info.log_excess));
    io_json_set(json, "norm", io_json_number(info.norm));
    io_json_set(json, "grad_log_scale", io_json_number(info.grad_log_scale));
    io_json_set(json, "zero_gradient", io_json_bool(info.grad_log_scale == -INFINITY));
    io_json_set(json, "selected", io_json_integers(ids->data, attsvm_array_count(ids)));
    io_json_set(json, "softmax_min", io_json_number(info.softmax_min));
    io_json_set(json, "softmax_mean", io_json_number(info.softmax_mean));
    io_json_set(json, "entropy", io_json_number(info.entropy));
    io_json_set(json, "effective_tokens", io_json_number(info.effective_tokens));
    io_json_set(json, "accuracy", io_json_number(info.accuracy));
    io_json_set(json, "margin", io_json_number(info.margin));
    io_json_set(json, "nuclear", io_json_number(info.nuclear));
    io_json_set(json, "effective_rank", io_json_number(info.effective_rank));
    io_json_set(json, "direction_change", io_json_number(info.direction_change));
    if (s->arithmetic != ATTSVM_ARITHMETIC_EXACT) {
        io_json_set(json, "textbook_angle", io_json_number(info.textbook_angle));
        io_json_set(json, "wrong_step", cli_count_json(info.wrong_step));
        io_json_set(json, "wrong_norm", io_json_number(info.wrong_norm));
    }
    io_json_set(json, "exchangeable", cli_exchangeable_json(exchangeable));
    cli_ranks_json(call, json);
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* ----------------------------------------------------------------------------- text */

static void print_end(const attsvm_train_info *info)
{
    double step = info->iters > 0 ? info->seconds / (double)info->iters : 0;
    printf("  steps       %" PRId64, info->iters);
    if (step > 0)
        printf(" in %.3g s, %.3g %s a step", info->seconds, step < 1e-3 ? 1e6 * step : 1e3 * step,
               step < 1e-3 ? "us" : "ms");
    if (info->outcome != ATTSVM_TRAIN_DONE)
        printf("; stopped by %s", attsvm_train_outcome_name(info->outcome));
    printf("\n  loss        %.10g", info->loss);
    if (isfinite(info->log_excess))
        printf(info->log_excess > -1e9 ? ", exp(%.1f) above its limit"
                                       : ", exp(%.6g) above its limit",
               info->log_excess);
    printf("\n  norm        %.8g, gradient ", info->norm);
    if (info->grad_log_scale == -INFINITY)
        printf("0\n");
    else
        printf(fabs(info->grad_log_scale) < 1e9 ? "exp(%.1f)\n" : "exp(%.6g)\n",
               info->grad_log_scale);
    printf("  attention   on the selected token at least %.6g, on average %.6g (copies added)\n",
           info->softmax_min, info->softmax_mean);
    printf("  entropy     %.4g; effective number of tokens %.4g, each copy counted\n",
           info->entropy, info->effective_tokens);
    printf("  accuracy    %.2f %%\n", 100 * info->accuracy);
    if (!isnan(info->nuclear))
        printf("  matrix      nuclear norm %.6g, effective rank %.3g\n", info->nuclear,
               info->effective_rank);
}

/* Compares the textbook gradient with the exact one. */
static void print_textbook(const attsvm_train_settings *s, const attsvm_train_info *info)
{
    char name[16];
    base_settings_print(attsvm_settings_find(&attsvm_train_table, "arithmetic"), s, name,
                        sizeof name);
    printf(
        "  arithmetic  %s; at the end the textbook gradient is %.3g degrees from the exact one\n",
        name, info->textbook_angle);
    if (info->wrong_step >= 0)
        printf("              more than 1 degree off from step %" PRId64 " on (norm %.4g)\n",
               info->wrong_step, info->wrong_norm);
    else
        printf("              never more than 1 degree off\n");
}

static void print_selected(const attsvm_train *train)
{
    enum { MOST_SHOWN = 20 };
    const attsvm_array *ids = attsvm_train_find(train, "ids");
    int64_t count = attsvm_array_count(ids);
    printf("  selected   ");
    for (int64_t k = 0; k < count && k < MOST_SHOWN; k++)
        printf(" %.0f", attsvm_array_get(ids, k));
    printf("%s\n", count > MOST_SHOWN ? " ..." : "");
}

/* Where the run was saved, and the command that shows whether its direction is max-margin. */
static void print_next(const char *path, const char *output, const attsvm_train_settings *s)
{
    bool prompt = s->model == ATTSVM_MODEL_P || s->model == ATTSVM_MODEL_PW ||
                  s->model == ATTSVM_MODEL_VP || s->model == ATTSVM_MODEL_VPW;
    if (!output) {
        printf("Nothing saved; use -o FILE.\n");
        return;
    }
    printf("Wrote %s.\n", cli_shown(output));
    if (strcmp(s->loss, "ntp") == 0)
        printf("Next: attsvm graph %s --trained %s\n", cli_shown(path), cli_shown(output));
    else
        printf("Next: attsvm svm %s --problem %s --select %s\n", cli_shown(path),
               prompt ? "p" : "W", cli_shown(output));
}

/* The SVM whose direction the trained parameters approach (theory 3, 6.8). */
static void print_expected(const attsvm_train_settings *s, int64_t d, const char *norm)
{
    const bool prompt = s->model == ATTSVM_MODEL_VP || s->model == ATTSVM_MODEL_VPW;
    const bool factors = s->model == ATTSVM_MODEL_KQ || s->model == ATTSVM_MODEL_VKQ;
    const char *theta = s->model == ATTSVM_MODEL_VPW ? "W'p" : prompt ? "p" : "W";
    char text[384], rank[64] = "";
    if (factors && s->rank > 0 && s->rank < d)
        snprintf(rank, sizeof rank, ", if its solution has no larger rank than %" PRId64, s->rank);
    if (s->model < ATTSVM_MODEL_VP)
        snprintf(text, sizeof text,
                 "Once attention has settled on the selected tokens, the direction to expect is "
                 "that of their %s-norm SVM%s.",
                 norm, rank);
    else
        snprintf(text, sizeof text,
                 "Expected directions, where a head separates the labels: for v that of the v-SVM, "
                 "for %s that of the %s-norm SVM of the tokens on which attention settles%s%s%s%s.",
                 factors ? "K Q'" : theta, norm, rank,
                 prompt ? ", relaxed if the head grows much faster than " : "", prompt ? theta : "",
                 prompt ? " (docs/joint.md)" : "");
    putchar('\n');
    cli_wrap(stdout, text, 0, 0, 80);
}

static void print_text(const char *path, const cli_call *call, const attsvm_train_settings *s,
                       const attsvm_data *data, const attsvm_train *train,
                       const attsvm_exchangeable *exchangeable)
{
    attsvm_train_info info = attsvm_train_describe(train);
    char name[8], text[32];
    const char *norm = predicted_norm(s, text, sizeof text);
    base_settings_print(attsvm_settings_find(&attsvm_train_table, "model"), s, name, sizeof name);
    printf("%s: model %s, step %s, %s loss, %" PRId64 " term%s\n\n", cli_shown(path), name, s->step,
           s->loss, info.terms, base_plural(info.terms));
    print_end(&info);
    if (s->arithmetic != ATTSVM_ARITHMETIC_EXACT)
        print_textbook(s, &info);
    print_selected(train);
    const cli_layer layer = cli_layer_of(s);
    const char *reason = cli_no_effect(data, &layer);
    if (reason) {
        putchar('\n');
        cli_wrap(stdout, reason, 0, 0, 80);
    }
    if (cli_gradient_print(data, train, s) || reason)
        norm = "";
    if (cli_unpredicted(s)) {
        putchar('\n');
        cli_wrap(stdout, cli_unpredicted(s), 0, 0, 80);
    }
    if (*norm && strcmp(s->loss, "ntp") == 0)
        printf("\nattsvm graph %s computes the direction to expect.\n", cli_shown(path));
    else if (*norm && s->head == ATTSVM_HEAD_LINEAR)
        print_expected(s, attsvm_data_describe(data).d, norm);
    cli_exchangeable_print(exchangeable);
    cli_ranks_print(call);
    print_next(path, call->common->output, s);
}

/* ------------------------------------------------------------------------------ run */

/*
 * Compares the records of a run that is saved with the SVM of its selected tokens.  If that problem
 * cannot be solved, the command says so and saves the run without the comparison.
 */
static attsvm_status compare_records(const cli_call *call, const attsvm_train_settings *s,
                                     attsvm_train *train, attsvm_error *err)
{
    bool wanted = call->common->output != NULL;
    dist_broadcast(call->comm, &wanted, sizeof wanted, 0);
    if (!wanted || !*s->record || strcmp(s->loss, "ntp") == 0)
        return ATTSVM_OK;
    attsvm_status status = attsvm_train_compare(train, NULL, err);
    if (status == ATTSVM_OK || status == ATTSVM_E_MEMORY)
        return status;
    if (dist_rank(call->comm) == 0 && !call->common->quiet)
        fprintf(stderr, "attsvm train: no trace_correlation: %s\n", err->message);
    return ATTSVM_OK;
}

static attsvm_status draw(const cli_call *call, const attsvm_train *train, attsvm_error *err)
{
    char title[256], text[320];
    if (!cli_picture_wanted(call))
        return ATTSVM_OK;
    snprintf(title, sizeof title, "attsvm train %.200s", call->arguments[0]);
    const attsvm_train_info info = attsvm_train_describe(train);
    int used = snprintf(text, sizeof text,
                        "After %" PRId64 " step%s the selected token has %.4g of the attention on "
                        "average, at least %.4g. Loss %.6g, norm of the parameters %.6g",
                        info.iters, base_plural(info.iters), info.softmax_mean, info.softmax_min,
                        info.loss, info.norm);
    if (isfinite(info.accuracy))
        used += snprintf(text + used, sizeof text - (size_t)used, ", accuracy %.2f %%",
                         100 * info.accuracy);
    snprintf(text + used, sizeof text - (size_t)used, ".");
    const experiments_picture picture = cli_picture(call, title, text);
    return experiments_picture_train(&picture, train, NULL, 0, err);
}

attsvm_status cli_train(cli_call *call, attsvm_error *err)
{
    attsvm_train_settings s =
        *(const attsvm_train_settings *)cli_settings(call, &attsvm_train_table);
    const char *path = call->arguments[0];
    if (cli_picture_wanted(call) && !*s.record)
        s.record = "log";
    attsvm_data *data = NULL;
    attsvm_train *train = NULL;
    attsvm_exchangeable exchangeable = { 0 };
    live progress = { .iters = s.iters,
                      .wanted = !call->common->quiet && isatty(STDERR_FILENO) == 1 };
    attsvm_status status = cli_picture_check(call, err);
    if (status == ATTSVM_OK)
        status = cli_data_read(call, path, &data, err);
    if (status != ATTSVM_OK)
        goto done;
    status = attsvm_train_create(&train, data, &s, NULL, NULL, err);
    if (status == ATTSVM_E_DATA)
        base_fail_in(err, status, path);
    if (status == ATTSVM_OK)
        status = attsvm_exchangeable_compute(&exchangeable, train, err);
    if (status != ATTSVM_OK)
        goto done;
    bool watched = progress.wanted || dist_size(call->comm) > 1; /* ranks vote if one asks */
    status = attsvm_train_run(train, watched ? show_progress : NULL, &progress, err);
    end_progress(&progress);
    if (status == ATTSVM_OK)
        status = compare_records(call, &s, train, err);
    if (status == ATTSVM_OK && (call->common->output || call->common->output_on_rank_0))
        status = attsvm_train_save(train, call->common->output, NULL, 0, err);
    if (status == ATTSVM_OK)
        status = draw(call, train, err);
    if (status == ATTSVM_OK && call->common->json)
        status = print_json(call, path, &s, train, &exchangeable, err);
    else if (status == ATTSVM_OK && !call->common->quiet)
        print_text(path, call, &s, data, train, &exchangeable);
done:
    attsvm_train_free(train);
    attsvm_data_free(data);
    return status;
}
