/* attsvm cv: how well a classifier predicts bags or texts that it has not seen. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS cv_options
typedef struct cv_options {
    const char *key, *against;
    int64_t folds, repeats;
} cv_options;
static const field cv_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(folds), FIELD_INT, 0, 1e9, 0,
      "number of stratified folds; 0 = those of the array fold, or 10 without it", 0, 0 },
    { F(repeats), FIELD_INT, 0, 1e6, 0, "repetitions with new folds; 0 = as many as fold has, or 5",
      0, 0 },
    { F(key), FIELD_TEXT, 0, 0, 0,
      "instance label (array inst) that makes a bag positive: reports how often such a token "
      "decided",
      0, "" },
    { F(against), FIELD_TEXT, 0, 0, 0,
      "compare on the same folds: another pool (auto, prompt, ...), or the result of another cv", 0,
      "" },
};
const settings_table cli_cv_table = { "cv options", cv_fields, sizeof cv_fields / sizeof *cv_fields,
                                      sizeof(cv_options), NULL };
#undef SETTINGS

typedef struct validated {
    const cli_call *call;
    const char *path;
    const cv_options *options;
    attsvm_samples *samples;
    attsvm_targets targets;
    attsvm_cv *cv, *other;
    attsvm_archive *file; /* of the other, where it is one */
    bool compared;
    attsvm_paired paired;
    double other_accuracy;
} validated;

/* The instance label that --key names; *inst NULL: none. */
static attsvm_status find_key(const validated *v, const attsvm_array **inst, int64_t *key,
                              attsvm_error *err)
{
    char *end;
    *inst = NULL;
    *key = 0;
    if (!*v->options->key)
        return ATTSVM_OK;
    *key = strtoll(v->options->key, &end, 10);
    if (*end)
        return fail(err, ATTSVM_E_ARG, "--key %s is not an integer", v->options->key);
    *inst = attsvm_samples_array(v->samples, "inst");
    if (!*inst)
        return fail(err, ATTSVM_E_DATA, "%s: --key needs the array inst, a label for every token",
                    v->path);
    return ATTSVM_OK;
}

static attsvm_status run(const validated *v, attsvm_cv **out, int32_t pool, attsvm_error *err)
{
    const attsvm_samples_info info = attsvm_samples_describe(v->samples);
    const int64_t *fold = v->options->folds == 0 ? attsvm_samples_fold(v->samples) : NULL;
    const attsvm_array *inst;
    int64_t key;
    attsvm_cv_settings s;
    attsvm_fit_settings fit =
        *(const attsvm_fit_settings *)cli_settings(v->call, &attsvm_fit_table);
    attsvm_cv_settings_init(&s);
    TRY(find_key(v, &inst, &key, err));
    if (pool > 0)
        fit.pool = pool;
    if (v->options->folds > 0)
        s.folds = v->options->folds;
    if (v->options->repeats > 0)
        s.repeats = v->options->repeats;
    else if (fold)
        s.repeats = info.repeats;
    if (fold && s.repeats > info.repeats)
        return fail(err, ATTSVM_E_ARG,
                    "repeats = %" PRId64 ": the array fold has %" PRId64
                    "; --folds creates new ones",
                    s.repeats, info.repeats);
    cli_progress progress = cli_progress_start(v->call, "cv");
    attsvm_status status = attsvm_cv_run(out, attsvm_samples_data(v->samples), &v->targets, &fit,
                                         &s, fold, inst, key, cli_folds_show, &progress, err);
    cli_progress_end(&progress);
    if ((status == ATTSVM_E_DATA || status == ATTSVM_E_ARG) && !strstr(err->message, v->path))
        base_fail_in(err, status, v->path);
    return status;
}

/* Predicted labels (R,n) of another cv on the same folds. */
static attsvm_status read_other(validated *v, const int64_t **label, attsvm_error *err)
{
    const char *path = v->options->against;
    static const char *const names[] = { "fold", "label" };
    const attsvm_array *own[2], *found[2];
    TRY(attsvm_archive_open(&v->file, path, NULL, err));
    for (int k = 0; k < 2; k++) {
        own[k] = attsvm_cv_find(v->cv, names[k]);
        found[k] = attsvm_archive_find(v->file, names[k]);
        if (!found[k] || found[k]->dtype != ATTSVM_I64 ||
            attsvm_array_count(found[k]) != attsvm_array_count(own[k]))
            return fail(err, ATTSVM_E_FORMAT,
                        "%s: array %s is missing or of another shape: not a "
                        "result of cv on these data",
                        path, names[k]);
    }
    if (memcmp(own[0]->data, found[0]->data,
               (size_t)attsvm_array_count(own[0]) * sizeof(int64_t)) != 0)
        return fail(err, ATTSVM_E_ARG,
                    "%s: it has other folds; a paired comparison needs the same folds", path);
    *label = found[1]->data;
    return ATTSVM_OK;
}

/* The pool that --against names; 0: it names a file. */
static attsvm_status find_pool(const char *against, int32_t *pool, attsvm_error *err)
{
    attsvm_fit_settings other;
    attsvm_fit_settings_init(&other);
    const bool is_pool =
        attsvm_settings_set(&attsvm_fit_table, &other, "pool", against, NULL) == ATTSVM_OK;
    *pool = is_pool ? other.pool : 0;
    if (*against && !is_pool && !strpbrk(against, "./"))
        return fail(err, ATTSVM_E_ARG,
                    "--against %s: expected a pool (auto, prompt, score, witness, mean) or the "
                    "result of another cv, such as cv.npz",
                    against);
    return ATTSVM_OK;
}

static attsvm_status compare(validated *v, attsvm_error *err)
{
    const char *against = v->options->against;
    const attsvm_cv_info info = attsvm_cv_describe(v->cv);
    const int64_t *label = NULL;
    if (!*against)
        return ATTSVM_OK;
    int32_t pool;
    TRY(find_pool(against, &pool, err));
    if (pool > 0) {
        TRY(run(v, &v->other, pool, err));
        label = attsvm_cv_find(v->other, "label")->data;
    } else {
        TRY(read_other(v, &label, err));
    }
    double right = 0;
    for (int64_t k = 0; k < info.repeats * info.n; k++)
        right += label[k] == v->targets.label[k % info.n];
    v->other_accuracy = right / (double)(info.repeats * info.n);
    v->paired = attsvm_cv_compare(attsvm_cv_find(v->cv, "label")->data, label, v->targets.label,
                                  info.repeats, info.n);
    v->compared = true;
    return ATTSVM_OK;
}

static attsvm_status print_json(const validated *v, attsvm_error *err)
{
    const attsvm_cv_info info = attsvm_cv_describe(v->cv);
    const attsvm_array *pool = attsvm_cv_find(v->cv, "pool");
    io_json *json = io_json_object(), *pools = io_json_list();
    io_json_set(json, "file", io_json_text(v->path));
    io_json_set(json, "n", io_json_integer(info.n));
    cli_measures_json(json, &info.mean);
    io_json_set(json, "accuracy_sd", io_json_number(info.deviation.accuracy));
    io_json_set(json, "auc_sd", io_json_number(info.deviation.auc));
    io_json_set(json, "folds", io_json_integer(info.folds));
    io_json_set(json, "repeats", io_json_integer(info.repeats));
    for (int64_t k = 0; k < info.folds * info.repeats; k++)
        io_json_append(pools, io_json_text(cli_pool_name((int64_t)attsvm_array_get(pool, k))));
    io_json_set(json, "pool", pools);
    if (v->compared) {
        io_json_set(json, "against", io_json_text(v->options->against));
        io_json_set(json, "against_accuracy", io_json_number(v->other_accuracy));
        io_json_set(json, "difference", io_json_number(v->paired.difference));
        io_json_set(json, "standard_error", io_json_number(v->paired.standard_error));
    }
    io_json_set(json, "iterations", io_json_integer(info.iterations));
    io_json_set(json, "evaluations", io_json_integer(info.evaluations));
    io_json_set(json, "seconds", io_json_number(info.seconds));
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

static void print_spread(double deviation)
{
    if (!isnan(deviation))
        printf(" +- %.4f", deviation);
    putchar('\n');
}

static void print_text(const validated *v)
{
    const attsvm_cv_info info = attsvm_cv_describe(v->cv);
    const attsvm_array *pool = attsvm_cv_find(v->cv, "pool");
    int64_t chosen[ATTSVM_POOL_MEAN + 1] = { 0 };
    printf("%s: %" PRId64 " samples, %" PRId64 " folds, %" PRId64 " repetition%s\n\n", v->path,
           info.n, info.folds, info.repeats, base_plural(info.repeats));
    printf("  accuracy    %.4f", info.mean.accuracy);
    print_spread(info.deviation.accuracy);
    printf("  auc         %.4f", info.mean.auc);
    print_spread(info.deviation.auc);
    printf("  log-loss    %.4f", info.mean.log_loss);
    print_spread(info.deviation.log_loss);
    if (!isnan(info.mean.hits)) {
        printf("  hits        %.4f", info.mean.hits);
        print_spread(info.deviation.hits);
    }
    int shown = 0;
    for (int64_t k = 0; k < info.folds * info.repeats; k++)
        chosen[(int64_t)attsvm_array_get(pool, k)]++;
    printf("  pool       ");
    for (int64_t k = ATTSVM_POOL_PROMPT; k <= ATTSVM_POOL_MEAN; k++)
        if (chosen[k] > 0)
            printf("%s %s in %" PRId64 " fold%s", shown++ > 0 ? "," : "", cli_pool_name(k),
                   chosen[k], base_plural(chosen[k]));
    putchar('\n');
    if (info.repeats > 1)
        printf("\n+- is the deviation between repetitions.\n");
    if (v->compared)
        printf("\nAgainst %s (accuracy %.4f): difference %+.4f, standard error %.4f over bags.\n",
               v->options->against, v->other_accuracy, v->paired.difference,
               v->paired.standard_error);
}

static attsvm_status save(const validated *v, attsvm_error *err)
{
    attsvm_named_array arrays[16];
    const char *path = v->call->common->output;
    int64_t count = attsvm_cv_count(v->cv);
    if (!path)
        return ATTSVM_OK;
    for (int64_t k = 0; k < count; k++)
        arrays[k] = *attsvm_cv_array(v->cv, k);
    return attsvm_archive_write(path, arrays, count, err);
}

attsvm_status cli_cv(cli_call *call, attsvm_error *err)
{
    validated v = { .call = call,
                    .path = call->arguments[0],
                    .options = cli_settings(call, &cli_cv_table) };
    int32_t pool;
    TRY(find_pool(v.options->against, &pool, err)); /* before the fits, which take time */
    attsvm_status status = cli_samples_read(call, v.path, &v.samples, &v.targets, err);
    if (status == ATTSVM_OK)
        status = run(&v, &v.cv, 0, err);
    if (status == ATTSVM_OK)
        status = compare(&v, err);
    if (status == ATTSVM_OK)
        status = save(&v, err);
    if (status == ATTSVM_OK && call->common->json)
        status = print_json(&v, err);
    else if (status == ATTSVM_OK && !call->common->quiet)
        print_text(&v);
    attsvm_archive_free(v.file);
    attsvm_cv_free(v.other);
    attsvm_cv_free(v.cv);
    attsvm_samples_free(v.samples);
    return status;
}
