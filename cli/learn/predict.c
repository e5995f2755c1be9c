/* attsvm predict: a classifier applied to bags or texts, and the tokens that decided. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS predict_options
typedef struct predict_options {
    const char *text, *html, *key;
    int64_t explain;
} predict_options;
static const field predict_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(text), FIELD_TEXT, 0, 0, 0, "predict this one text instead of a file", 0, "" },
    { F(explain), FIELD_INT, 0, 1e6, 3,
      "number of most and least certain cases to explain in words", 0, 0 },
    { F(html), FIELD_TEXT, 0, 0, 0, "page with every sample and the tokens that decided", 0, "" },
    { F(key), FIELD_TEXT, 0, 0, 0,
      "instance label (array inst) that makes a bag positive: reports how often such a token "
      "decided",
      0, "" },
};
const settings_table cli_predict_table = { "predict options", predict_fields,
                                           sizeof predict_fields / sizeof *predict_fields,
                                           sizeof(predict_options), NULL };
#undef SETTINGS

double cli_certainty(const cli_predicted *p, int64_t i)
{
    const attsvm_array *probability = attsvm_prediction_find(p->found, "probability");
    const int64_t *label = attsvm_prediction_find(p->found, "label")->data;
    return attsvm_array_get(probability, i * probability->shape[1] + label[i]);
}

typedef struct ranked {
    double certainty;
    int64_t i;
} ranked;

static int by_certainty(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->certainty != y->certainty)
        return x->certainty > y->certainty ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

static attsvm_status sort(cli_predicted *p, attsvm_error *err)
{
    const int64_t n = attsvm_prediction_describe(p->found).n;
    ranked *list;
    int64_t *order;
    TRY(base_allocate(&list, (size_t)n, sizeof *list, "order", err));
    for (int64_t i = 0; i < n; i++)
        list[i] = (ranked){ cli_certainty(p, i), i };
    qsort(list, (size_t)n, sizeof *list, by_certainty);
    attsvm_status status = base_allocate(&order, (size_t)n, sizeof *order, "order", err);
    for (int64_t i = 0; i < n && status == ATTSVM_OK; i++)
        order[i] = list[i].i;
    if (status == ATTSVM_OK)
        p->order = order;
    free(list);
    return status;
}

static attsvm_status measure(cli_predicted *p, const predict_options *o, attsvm_error *err)
{
    const attsvm_prediction_info info = attsvm_prediction_describe(p->found);
    const int64_t *label = attsvm_samples_label(p->samples);
    const attsvm_array *inst = attsvm_samples_array(p->samples, "inst");
    p->measures = (attsvm_measures){ .accuracy = NAN, .auc = NAN, .log_loss = NAN, .hits = NAN };
    if (*o->key && (!inst || !label))
        return fail(err, ATTSVM_E_DATA, "%s: --key needs labels and the array inst", p->file);
    if (!label || attsvm_samples_describe(p->samples).unlabelled == info.n)
        return ATTSVM_OK;
    TRY(base_allocate(&p->confusion, (size_t)(info.classes * info.classes), sizeof *p->confusion,
                      "confusion", err));
    TRY(attsvm_measure(&p->measures, attsvm_prediction_find(p->found, "score")->data, label, info.n,
                       info.classes, p->confusion, err));
    if (!*o->key)
        return ATTSVM_OK;
    char *end;
    const int64_t key = strtoll(o->key, &end, 10);
    if (*end)
        return fail(err, ATTSVM_E_ARG, "--key %s is not an integer", o->key);
    p->measures.hits =
        attsvm_measure_hits(attsvm_samples_data(p->samples), label, info.classes,
                            attsvm_prediction_find(p->found, "key")->data, inst, key);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------------- JSON */

static io_json *falls_json(const double *fall, const double *random)
{
    io_json *json = io_json_object();
    io_json_set(json, "top", io_json_numbers(fall, 3));
    io_json_set(json, "random", io_json_numbers(random, 3));
    return json;
}

static attsvm_status print_json(const cli_predicted *p, attsvm_error *err)
{
    const attsvm_prediction_info info = attsvm_prediction_describe(p->found);
    const attsvm_samples_info s = attsvm_samples_describe(p->samples);
    const int64_t *label = attsvm_prediction_find(p->found, "label")->data;
    io_json *json = io_json_object(), *predicted = io_json_list();
    for (int64_t i = 0; i < info.n; i++)
        io_json_append(predicted, io_json_text(attsvm_classifier_class(p->model, label[i])));
    io_json_set(json, "n", io_json_integer(info.n));
    io_json_set(json, "classes", cli_classes_json(p->model));
    io_json_set(json, "predicted", predicted);
    if (p->confusion) {
        io_json *rows = io_json_list();
        cli_measures_json(json, &p->measures);
        for (int64_t c = 0; c < info.classes; c++)
            io_json_append(rows, io_json_integers(p->confusion + c * info.classes, info.classes));
        io_json_set(json, "confusion", rows);
    }
    io_json_set(json, "absence", io_json_number(info.absence));
    io_json_set(json, "comprehensiveness",
                falls_json(info.comprehensiveness, info.random_comprehensiveness));
    io_json_set(json, "sufficiency", falls_json(info.sufficiency, info.random_sufficiency));
    io_json_set(json, "dropped", io_json_integer(s.dropped));
    io_json_set(json, "empty", io_json_integer(info.empty));
    io_json_set(json, "unlabelled", io_json_integer(s.unlabelled));
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* -------------------------------------------------------------------------------- text */

static void print_confusion(const cli_predicted *p, int64_t classes)
{
    if (classes > 12)
        return;
    printf("\n  %-12s predicted\n  %-12s", "", "true");
    for (int64_t c = 0; c < classes; c++)
        printf(" %8.8s", attsvm_classifier_class(p->model, c));
    putchar('\n');
    for (int64_t r = 0; r < classes; r++) {
        printf("  %-12.12s", attsvm_classifier_class(p->model, r));
        for (int64_t c = 0; c < classes; c++)
            printf(" %8" PRId64, p->confusion[r * classes + c]);
        putchar('\n');
    }
}

static void print_measure(const char *name, double value, const char *undefined)
{
    if (isnan(value))
        printf("  %-11s not defined: %s\n", name, undefined);
    else
        printf(value < 1e6 ? "  %-11s %.4f\n" : "  %-11s %.6g\n", name, value);
}

static void print_measures(const cli_predicted *p)
{
    if (p->confusion) {
        print_measure("accuracy", p->measures.accuracy, "");
        print_measure("auc", p->measures.auc, "the file lacks a class");
        print_measure("log-loss", p->measures.log_loss, "");
        if (!isnan(p->measures.hits))
            print_measure("hits", p->measures.hits, "");
    } else if (attsvm_samples_label(p->samples)) {
        const char *name = attsvm_classifier_class(p->model, 0);
        printf("  accuracy    not known: no label of the file is a class of the model (%s", name);
        for (int64_t c = 1; c < 10 && (name = attsvm_classifier_class(p->model, c)); c++)
            printf(", %s", name);
        printf("%s)\n", attsvm_classifier_class(p->model, 10) ? ", ..." : "");
    }
}

/* A fall of the probability in words. */
static const char *fall_text(double fall, char text[32])
{
    snprintf(text, 32, "%s by %.3f", fall < -0.0005 ? "rises" : "falls", fabs(fall));
    return text;
}

static void print_explained(const cli_predicted *p)
{
    const attsvm_prediction_info info = attsvm_prediction_describe(p->found);
    const uint8_t *flips = attsvm_prediction_find(p->found, "flips")->data;
    int64_t flipped = 0;
    char text[4][32];
    for (int64_t i = 0; i < info.n; i++)
        flipped += flips[i];
    printf("  decided     %" PRId64 " of %" PRId64
           " predictions change without the token that decided\n",
           flipped, info.n);
    if (isnan(info.comprehensiveness[0]))
        return;
    printf("  faithful    without the top token the predicted probability %s on average (without a "
           "random one it %s); with the top token alone it %s (with a random one it %s)\n",
           fall_text(info.comprehensiveness[0], text[0]),
           fall_text(info.random_comprehensiveness[0], text[1]),
           fall_text(info.sufficiency[0], text[2]), fall_text(info.random_sufficiency[0], text[3]));
}

static void print_text(const cli_predicted *p, const predict_options *o)
{
    const attsvm_prediction_info info = attsvm_prediction_describe(p->found);
    const attsvm_samples_info s = attsvm_samples_describe(p->samples);
    if (!*o->text) {
        printf("%s: %" PRId64 " sample%s\n\n", p->file, info.n, base_plural(info.n));
        print_measures(p);
        print_explained(p);
        if (s.dropped > 0)
            printf("  dropped     %" PRId64 " word%s unknown to the model\n", s.dropped,
                   base_plural(s.dropped));
        if (info.empty > 0)
            printf("  empty       %" PRId64
                   " text%s without a known word: the bias alone decides\n",
                   info.empty, base_plural(info.empty));
        if (s.unlabelled > 0 && p->confusion)
            printf("  unknown     %" PRId64 " label%s unknown to the model, left out\n",
                   s.unlabelled, base_plural(s.unlabelled));
        if (p->confusion)
            print_confusion(p, info.classes);
    }
    if (*o->text && s.dropped > 0)
        printf("Dropped %" PRId64 " word%s unknown to the model.\n", s.dropped,
               base_plural(s.dropped));
    cli_predicted_explain(p, *o->text ? 1 : o->explain, isatty(STDOUT_FILENO) == 1);
}

/* ---------------------------------------------------------------------------------- run */

static attsvm_status read_samples(const cli_call *call, const predict_options *o,
                                  const attsvm_classifier *model, attsvm_samples **out,
                                  attsvm_error *err)
{
    attsvm_samples_settings s;
    attsvm_samples_settings_init(&s);
    s.threads = call->common->threads;
    s.memory = call->common->memory;
    s.text = attsvm_classifier_describe(model).words > 0;
    if (*o->text && call->count > 1)
        return fail(err, ATTSVM_E_ARG, "Use either --text or FILE, not both");
    if (*o->text)
        return attsvm_samples_texts(out, &o->text, NULL, 1, &s, model, err);
    if (call->count < 2 && cli_is_given(call, &cli_predict_table, "text"))
        return fail(err, ATTSVM_E_ARG, "--text is empty; expected at least one word");
    if (call->count < 2)
        return fail(err, ATTSVM_E_ARG, "FILE is missing; usage: attsvm predict MODEL FILE");
    attsvm_status status = attsvm_samples_read(out, call->arguments[1], &s, model, err);
    if (status == ATTSVM_E_FORMAT && s.text) { /* say why texts are expected */
        char reason[sizeof err->message];
        snprintf(reason, sizeof reason, "%s", err->message);
        return fail(err, status, "%s; %s classifies texts", reason, call->arguments[0]);
    }
    return status;
}

static attsvm_status save(const cli_call *call, const attsvm_prediction *found, attsvm_error *err)
{
    attsvm_named_array arrays[16];
    const int64_t count = attsvm_prediction_count(found);
    if (!call->common->output)
        return ATTSVM_OK;
    for (int64_t k = 0; k < count; k++)
        arrays[k] = *attsvm_prediction_array(found, k);
    return attsvm_archive_write(call->common->output, arrays, count, err);
}

static attsvm_status predict(cli_call *call, const predict_options *o, cli_predicted *p,
                             attsvm_prediction **found, attsvm_error *err)
{
    attsvm_predict_settings s;
    attsvm_predict_settings_init(&s);
    s.faithful = true;
    s.threads = call->common->threads;
    s.seed = call->common->seed;
    attsvm_status status =
        attsvm_classifier_predict(found, p->model, attsvm_samples_data(p->samples), &s, err);
    if (status == ATTSVM_E_DATA)
        base_fail_in(err, status, p->file);
    TRY(status);
    p->found = *found;
    TRY(measure(p, o, err));
    TRY(sort(p, err));
    TRY(save(call, *found, err));
    if (*o->html)
        TRY(cli_write_text(o->html, cli_predicted_page, p, err));
    if (call->common->json)
        return print_json(p, err);
    if (call->common->quiet)
        return ATTSVM_OK;
    print_text(p, o);
    if (call->common->output)
        printf("Wrote %s.\n", call->common->output);
    if (*o->html)
        printf("Wrote %s.\n", o->html);
    return ATTSVM_OK;
}

attsvm_status cli_predict(cli_call *call, attsvm_error *err)
{
    const predict_options *o = cli_settings(call, &cli_predict_table);
    attsvm_classifier *model = NULL;
    attsvm_samples *samples = NULL;
    attsvm_prediction *found = NULL;
    cli_predicted p = { .file = call->count > 1 ? call->arguments[1] : "the text",
                        .model_file = call->arguments[0] };
    attsvm_status status = attsvm_classifier_load(&model, call->arguments[0], err);
    if (status == ATTSVM_OK)
        status = read_samples(call, o, model, &samples, err);
    p.model = model;
    p.samples = samples;
    if (status == ATTSVM_OK)
        status = predict(call, o, &p, &found, err);
    free((void *)p.order);
    free(p.confusion);
    attsvm_prediction_free(found);
    attsvm_samples_free(samples);
    attsvm_classifier_free(model);
    return status;
}
