/* Functions shared by fit, predict and cv. */
#include "cli/cli.h"

attsvm_status cli_samples_read(const cli_call *call, const char *path, attsvm_samples **out,
                               attsvm_targets *targets, attsvm_error *err)
{
    *out = NULL;
    TRY(attsvm_samples_read(out, path, cli_settings(call, &attsvm_samples_table), NULL, err));
    const attsvm_samples_info info = attsvm_samples_describe(*out);
    *targets = (attsvm_targets){ .label = attsvm_samples_label(*out), .classes = info.classes };
    if (targets->label && info.unlabelled == 0)
        return ATTSVM_OK;
    for (int64_t i = 0; targets->label && i < info.n; i++)
        if (targets->label[i] < 0)
            return fail(err, ATTSVM_E_DATA,
                        "%s: text %" PRId64 " has no label; expected label<TAB>text", path, i + 1);
    return fail(err, ATTSVM_E_DATA, "%s: no labels; expected %s", path,
                info.words > 0 ? "lines label<TAB>text, or CSV with a column label"
                               : "an array Y or y with the class of every bag; in a table, the "
                                 "second column");
}

static bool show(void *progress, int64_t done, int64_t total, const char *what)
{
    char text[80];
    snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " %s", done, total, what);
    cli_progress_line(progress, text);
    return true;
}

bool cli_fits_show(void *progress, int64_t done, int64_t total)
{
    return show(progress, done, total, "fits");
}

bool cli_folds_show(void *progress, int64_t done, int64_t total)
{
    return show(progress, done, total, "folds");
}

const char *cli_pool_name(int64_t pool)
{
    const char *const *names = attsvm_settings_find(&attsvm_fit_table, "pool")->choices;
    return pool >= ATTSVM_POOL_AUTO && pool <= ATTSVM_POOL_MEAN ? names[pool - ATTSVM_POOL_AUTO]
                                                                : "";
}

io_json *cli_classes_json(const attsvm_classifier *classifier)
{
    io_json *list = io_json_list();
    const char *name;
    for (int64_t k = 0; (name = attsvm_classifier_class(classifier, k)); k++)
        io_json_append(list, io_json_text(name));
    return list;
}

void cli_measures_json(io_json *json, const attsvm_measures *m)
{
    io_json_set(json, "accuracy", io_json_number(m->accuracy));
    io_json_set(json, "auc", io_json_number(m->auc));
    io_json_set(json, "log_loss", io_json_number(m->log_loss));
    io_json_set(json, "hits", io_json_number(m->hits));
}
