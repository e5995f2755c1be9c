/*
 * How a result was made: the array `settings`, one JSON object in uint8 with verb, version, the
 * name of the data file, a fingerprint of the data, and the settings.  Settings that do not change
 * the result (threads, time limits, checkpoints) are omitted: the same result has the same bytes.
 */
#include "result/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const train_unsaid[] = { "threads", "observe", "time_limit", "checkpoint",
                                            "every",   "resume",  NULL };
static const char *const svm_unsaid[] = { "threads", "time_limit", NULL };
static const char *const path_unsaid[] = { "threads", "time_limit", NULL };

/* --------------------------------------------------------------------------- writing */

io_json *result_origin(const char *verb, const attsvm_data *data)
{
    char fingerprint[ATTSVM_FINGERPRINT] = "";
    io_json *json = io_json_object();
    if (dist_rank(data->comm) == 0) /* which writes; it touches tokens of all shares */
        attsvm_data_fingerprint(data, fingerprint);
    io_json_set(json, "verb", io_json_text(verb));
    io_json_set(json, "version", io_json_text(attsvm_version()));
    io_json_set(json, "file", io_json_text(data->file));
    io_json_set(json, "data", io_json_text(fingerprint));
    return json;
}

void result_add_train(io_json *json, const attsvm_train *train)
{
    io_json_set(json, "train", result_object(&attsvm_train_table, &train->settings, train_unsaid));
    io_json_set(json, "loss", io_json_text(train->m->loss.flag));
    io_json_set(json, "head", io_json_text(train->m->head.kind ? train->m->head.kind->flag : ""));
    io_json_set(json, "outcome", io_json_text(attsvm_train_outcome_name(train->info.outcome)));
    io_json_set(json, "iters", io_json_integer(train->iter));
}

void result_add_svm(io_json *json, const attsvm_svm_settings *svm)
{
    io_json_set(json, "svm", result_object(&attsvm_svm_table, svm, svm_unsaid));
}

attsvm_status result_read_svm(const io_json *json, attsvm_svm_settings *svm, attsvm_error *err)
{
    attsvm_svm_settings_init(svm);
    const io_json *object = io_json_get(json, "svm");
    if (!object &&
        io_json_get(json, "problem")) /* first form of results: no object, fewer fields */
        TRY(result_read_present(&attsvm_svm_table, json, svm, err));
    else
        TRY(result_read_object(&attsvm_svm_table, object, svm, svm_unsaid, err));
    return attsvm_settings_check(&attsvm_svm_table, svm, err);
}

attsvm_status result_settings_array(io_json *json, attsvm_named_array *out, char **memory,
                                    attsvm_error *err)
{
    size_t size = 0;
    *memory = NULL;
    FILE *stream = open_memstream(memory, &size);
    attsvm_status status = stream ? io_json_print(json, stream, false, err)
                                  : fail(err, ATTSVM_E_MEMORY, "no memory for settings");
    bool lost = stream && ferror(stream) != 0; /* fclose alone may not report it */
    if (stream && (fclose(stream) != 0 || lost || !*memory) && status == ATTSVM_OK)
        status = fail(err, ATTSVM_E_MEMORY, "no memory for settings");
    io_json_free(json);
    *out = (attsvm_named_array){
        "settings", { .data = *memory, .shape = { (int64_t)size }, .ndim = 1, .dtype = ATTSVM_U8 }
    };
    return status;
}

/* --------------------------------------------------------------------------- reading */

attsvm_status result_settings_read(const attsvm_archive *archive, io_json **out, attsvm_error *err)
{
    const attsvm_array *array = attsvm_archive_find(archive, "settings");
    *out = NULL;
    if (!array)
        return fail(err, ATTSVM_E_FORMAT, "Missing array settings: not a result file of attsvm.");
    if (array->dtype != ATTSVM_U8 || array->ndim != 1)
        return fail(err, ATTSVM_E_FORMAT, "settings is not text (uint8)");
    return io_json_parse(out, array->data, (size_t)array->shape[0], "settings", err);
}

struct attsvm_origin {
    attsvm_origin_info info;
    attsvm_train_settings train;
    attsvm_svm_settings svm;
    attsvm_path_settings path;
    io_json *json; /* the texts of all of them */
    attsvm_archive *archive;
    double *v;
};

static const char *text_of(const io_json *json, const char *key)
{
    const char *text = io_json_as_text(io_json_get(json, key));
    return text ? text : "";
}

static attsvm_status read_head(attsvm_origin *o, attsvm_error *err)
{
    const attsvm_array *v = attsvm_archive_find(o->archive, "v");
    if (!v || o->info.path || (!o->info.train && !o->info.svm))
        return ATTSVM_OK;
    int64_t count = attsvm_array_count(v);
    TRY(base_allocate(&o->v, (size_t)count + 1, sizeof *o->v, "head", err));
    for (int64_t j = 0; j < count; j++)
        o->v[j] = attsvm_array_get(v, j);
    o->info.v = o->v;
    o->info.v_count = count;
    return ATTSVM_OK;
}

static attsvm_status read_origin(attsvm_origin *o, const char *path, attsvm_error *err)
{
    TRY(attsvm_archive_open(&o->archive, path, NULL, err));
    if (!attsvm_archive_find(o->archive, "settings"))
        return ATTSVM_OK;
    TRY(result_settings_read(o->archive, &o->json, err));
    o->info.verb = text_of(o->json, "verb");
    o->info.version = text_of(o->json, "version");
    o->info.file = text_of(o->json, "file");
    o->info.fingerprint = text_of(o->json, "data");
    const io_json *train = io_json_get(o->json, "train"), *follow = io_json_get(o->json, "path");
    if (train) {
        attsvm_train_settings_init(&o->train);
        TRY(result_read_object(&attsvm_train_table, train, &o->train, train_unsaid, err));
        TRY(attsvm_settings_check(&attsvm_train_table, &o->train, err));
        o->info.train = &o->train;
    }
    if (io_json_get(o->json, "svm")) {
        TRY(result_read_svm(o->json, &o->svm, err));
        o->info.svm = &o->svm;
    }
    if (follow) {
        attsvm_path_settings_init(&o->path);
        TRY(result_read_object(&attsvm_path_table, follow, &o->path, path_unsaid, err));
        TRY(attsvm_settings_check(&attsvm_path_table, &o->path, err));
        o->info.path = &o->path;
    }
    return read_head(o, err);
}

attsvm_status attsvm_origin_read(attsvm_origin **out, const char *path, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(path);
    attsvm_origin *o;
    TRY(base_allocate(&o, 1, sizeof *o, "origin", err));
    attsvm_status status = read_origin(o, path, err);
    if (status == ATTSVM_OK && o->json) {
        *out = o;
        return ATTSVM_OK;
    }
    bool opened = o->archive != NULL;
    attsvm_origin_free(o);
    if (status == ATTSVM_OK)
        return ATTSVM_OK;
    return opened ? base_fail_in(err, status, path) : status;
}

attsvm_origin_info attsvm_origin_describe(const attsvm_origin *origin)
{
    return origin ? origin->info : (attsvm_origin_info){ 0 };
}

void attsvm_origin_free(attsvm_origin *origin)
{
    if (!origin)
        return;
    io_json_free(origin->json);
    attsvm_archive_free(origin->archive);
    free(origin->v);
    free(origin);
}

/* ------------------------------------------------------------------------------- use */

attsvm_status attsvm_origin_svm(const attsvm_origin *origin, attsvm_svm_settings *settings,
                                attsvm_error *err)
{
    if (!origin || !settings)
        return fail(err, ATTSVM_E_ARG, "%s is NULL", origin ? "settings" : "origin");
    attsvm_svm_settings from;
    if (origin->info.svm)
        from = origin->svm;
    else if (origin->info.train)
        TRY(attsvm_train_limit(&origin->train, &from, NULL, err));
    else
        return ATTSVM_OK;
    settings->problem = from.problem;
    settings->query = from.query;
    settings->query_token = from.query_token;
    settings->head = from.head;
    settings->kappa = from.kappa;
    return ATTSVM_OK;
}

/* A result of a vector model fits problems of p and v, one of a matrix model those of W. */
static attsvm_status check_model(const attsvm_origin *o, const attsvm_svm_settings *svm,
                                 attsvm_error *err)
{
    attsvm_svm_settings from;
    char asked[16], made[16];
    if (!o->info.svm && !o->info.train)
        return ATTSVM_OK;
    TRY(attsvm_origin_svm(o, &from, err));
    if (svm_rows_need_matrix(&from) == svm_rows_need_matrix(svm))
        return ATTSVM_OK;
    attsvm_settings_get(&attsvm_svm_table, svm, "problem", asked, sizeof asked);
    if (o->info.train)
        attsvm_settings_get(&attsvm_train_table, &o->train, "model", made, sizeof made);
    else
        attsvm_settings_get(&attsvm_svm_table, &o->svm, "problem", made, sizeof made);
    return fail(err, ATTSVM_E_ARG, "the result belongs to %s %s, but problem %s was requested",
                o->info.train ? "model" : "problem", made, asked);
}

attsvm_status attsvm_origin_check(const attsvm_origin *origin, const attsvm_data *data,
                                  const attsvm_svm_settings *svm, attsvm_error *err)
{
    NEED(origin);
    NEED(data);
    char own[ATTSVM_FINGERPRINT];
    if (svm)
        TRY(svm_check_settings(svm, err));
    attsvm_data_fingerprint(data, own);
    if (*origin->info.fingerprint && strcmp(own, origin->info.fingerprint) != 0)
        return fail(err, ATTSVM_E_ARG,
                    "the result was made from another data set: %s (%s); this one is %s (%s)",
                    *origin->info.file ? base_path_tail(origin->info.file) : "arrays in memory",
                    origin->info.fingerprint,
                    *data->file ? base_path_tail(data->file) : "arrays in memory", own);
    return svm ? check_model(origin, svm, err) : ATTSVM_OK;
}
