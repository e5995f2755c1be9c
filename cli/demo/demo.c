/* attsvm demo: attention on reviews, from words to a verdict. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS demo_options
typedef struct demo_options {
    int64_t iters;
} demo_options;
static const field demo_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(iters), FIELD_INT, 1, 1e6, 3000, "steps; with few of them attention has not settled", 0,
      0 },
};
const settings_table cli_demo_table = { "demo options", demo_fields,
                                        sizeof demo_fields / sizeof *demo_fields,
                                        sizeof(demo_options), NULL };
#undef SETTINGS

/* ------------------------------------------------------------------------------- reviews */

static void layout(cli_demo *d, arena *a)
{
    d->word = base_take(a, (size_t)d->words, sizeof *d->word);
    d->Y = base_take(a, (size_t)d->n, 1);
    d->correlation = take(a, (size_t)d->iters + 1);
}

/* Labels -1 and +1, and the words by index. */
static void read_reviews(cli_demo *d)
{
    const int64_t *label = attsvm_samples_label(d->reviews);
    for (int64_t i = 0; i < d->n; i++) {
        d->Y[i] = strcmp(attsvm_samples_class(d->reviews, label[i]), "+1") == 0 ? 1 : -1;
        for (int64_t at = d->offsets[i]; at < d->offsets[i + 1]; at++)
            d->word[d->token[at]] = attsvm_samples_word(d->reviews, i, at - d->offsets[i]);
    }
}

/* Every word is a unit vector: the layer knows only their identity. */
static attsvm_status open_reviews(cli_demo *d, attsvm_error *err)
{
    const experiments_file *file = experiments_file_find("examples/reviews.txt");
    arena a = { 0 };
    if (!file)
        return fail(err, ATTSVM_E_OPEN, "this program was built without the reviews");
    TRY(attsvm_samples_parse(&d->reviews, file->text, file->size, NULL, NULL, err));
    const attsvm_samples_info info = attsvm_samples_describe(d->reviews);
    const attsvm_data *read = attsvm_samples_data(d->reviews);
    attsvm_named_array arrays[] = { { "tokens", *attsvm_data_array(read, "tokens") },
                                    { "offsets", *attsvm_data_array(read, "offsets") },
                                    { "vocabulary", *attsvm_data_array(read, "vocabulary") },
                                    { "Y", { .ndim = 1, .dtype = ATTSVM_I8 } } };
    d->n = info.n;
    d->words = info.words;
    d->token = arrays[0].array.data;
    d->offsets = arrays[1].array.data;
    layout(d, &a);
    TRY(base_arena_allocate(&a, "reviews", err));
    d->memory = a.base;
    layout(d, &a);
    read_reviews(d);
    arrays[3].array.data = d->Y;
    arrays[3].array.shape[0] = d->n;
    return attsvm_data_create(&d->data, arrays, 4, NULL, err);
}

/* ------------------------------------------------------------------ training and verdict */

static bool show(void *context, const attsvm_train *train, const attsvm_train_info *info)
{
    (void)train;
    char text[96];
    snprintf(text, sizeof text, "step %" PRId64 ", %.0f %% of attention on the picked words",
             info->iters, 100 * info->softmax_mean);
    cli_progress_line(context, text);
    return true;
}

/*
 * Small random start values.  Many words occur in the same reviews: from 0, exact descent would
 * keep their logits equal, and rounding alone would choose among them.
 */
static attsvm_status train(cli_demo *d, const cli_call *call, attsvm_error *err)
{
    attsvm_train_settings s;
    attsvm_train_settings_init(&s);
    s.model = ATTSVM_MODEL_VP;
    s.step = "ngd";
    s.init = "gauss:0.01";
    s.seed = call->common->seed;
    s.record = "log";
    s.iters = d->iters;
    s.threads = call->common->threads;
    TRY(attsvm_train_create(&d->train, d->data, &s, NULL, NULL, err));
    cli_progress progress = cli_progress_start(call, "demo");
    attsvm_status status = attsvm_train_run(d->train, show, &progress, err);
    cli_progress_end(&progress);
    d->info = attsvm_train_describe(d->train);
    return status;
}

int64_t cli_demo_records(const cli_demo *d, const int64_t **iter)
{
    const attsvm_array *array = attsvm_train_find(d->train, "trace_iter");
    *iter = array->data;
    return array->shape[0];
}

/* Words are unit vectors, so the logit of a word is its entry of p. */
void cli_demo_attention(const cli_demo *d, int64_t k, int64_t i, double *s)
{
    const double *p = attsvm_train_find(d->train, "trace_p")->data;
    const int32_t *token = d->token + d->offsets[i];
    int64_t T = d->offsets[i + 1] - d->offsets[i];
    double most = -INFINITY, Z = 0;
    for (int64_t t = 0; t < T; t++) {
        s[t] = p[k * d->words + token[t]];
        most = fmax(most, s[t]);
    }
    for (int64_t t = 0; t < T; t++)
        Z += s[t] = exp(s[t] - most);
    for (int64_t t = 0; t < T; t++)
        s[t] /= Z;
}

static attsvm_status judge(cli_demo *d, attsvm_error *err)
{
    const int64_t *iter;
    TRY(attsvm_verdict_compute(&d->verdict, d->train, NULL, NULL, NULL, &d->solution, err));
    d->claim = attsvm_solution_claim(d->solution);
    d->svm = attsvm_solution_describe(d->solution);
    TRY(attsvm_check(&d->report, d->data, &d->claim, NULL, NULL, NULL, err));
    const double *p = attsvm_train_find(d->train, "trace_p")->data;
    for (int64_t k = 0; k < cli_demo_records(d, &iter); k++)
        d->correlation[k] = attsvm_correlation(p + k * d->words, d->claim.theta, d->words);
    return ATTSVM_OK;
}

/* --------------------------------------------------------------------------------- words */

static int by_weight(const void *a, const void *b)
{
    const cli_demo_rank *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->word > y->word) - (x->word < y->word);
}

int64_t cli_demo_order(const cli_demo *d, int Y, cli_demo_rank *out)
{
    const int64_t *ids = attsvm_train_find(d->train, "ids")->data;
    int64_t count = 0;
    for (int64_t k = 0; k < d->words; k++)
        out[k] = (cli_demo_rank){ k, 0 };
    for (int64_t i = 0; Y != 0 && i < d->n; i++)
        if (d->Y[i] == Y)
            out[d->token[d->offsets[i] + ids[i]]].weight++;
    for (int64_t r = 0; Y == 0 && r < d->claim.active_count; r++) {
        attsvm_row row = d->claim.active[r];
        out[d->token[d->offsets[row.sequence] + row.token]].weight += d->claim.lambda[r];
    }
    qsort(out, (size_t)d->words, sizeof *out, by_weight);
    while (count < d->words && out[count].weight > 0)
        count++;
    return count;
}

const char *cli_demo_verdict(const cli_demo *d)
{
    switch (d->verdict.kind) {
    case ATTSVM_VERDICT_GLOBAL:
        return "In every review attention picked the word that says most about the label, and the "
               "direction of p approaches the one that the theory predicts.";
    case ATTSVM_VERDICT_LOCAL:
        return "Attention settled on words that no close rival beats: a stable answer, although in "
               "some reviews another word says more about the label.";
    case ATTSVM_VERDICT_NOT_LOCAL:
        return "Attention picked words that have a better close rival: with more steps it should "
               "leave them.";
    case ATTSVM_VERDICT_UNSATURATED:
        return "Attention has not settled on one word in every review yet; more steps would show "
               "where it ends.";
    default: return "There is no verdict.";
    }
}

/* ------------------------------------------------------------------------------ the verb */

static attsvm_status print_json(const cli_demo *d, attsvm_error *err)
{
    io_json *json = io_json_object();
    io_json_set(json, "kind", io_json_text(attsvm_verdict_name(d->verdict.kind)));
    io_json_set(json, "accuracy", io_json_number(d->info.accuracy));
    io_json_set(json, "attention", io_json_number(d->info.softmax_min));
    io_json_set(json, "correlation", io_json_number(d->verdict.correlation));
    io_json_set(json, "angle", io_json_number(d->verdict.angle));
    io_json_set(json, "efficiency", io_json_number(d->verdict.efficiency));
    io_json_set(json, "margin", io_json_number(d->verdict.margin));
    io_json_set(json, "gap", io_json_number(d->verdict.gap));
    io_json_set(json, "checked", io_json_bool(d->report.valid));
    io_json_set(json, "reviews", io_json_integer(d->n));
    io_json_set(json, "words", io_json_integer(d->words));
    io_json_set(json, "iters", io_json_integer(d->info.iters));
    io_json_set(json, "page", io_json_text(d->page));
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* Colour on a terminal, unless NO_COLOR is set (no-color.org). */
static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

attsvm_status cli_demo_run(cli_call *call, attsvm_error *err)
{
    const demo_options *options = cli_settings(call, &cli_demo_table);
    cli_demo d = { .page = call->common->output ? call->common->output : "attsvm-demo.html",
                   .iters = options->iters };
    attsvm_status status = open_reviews(&d, err);
    if (status == ATTSVM_OK)
        status = train(&d, call, err);
    if (status == ATTSVM_OK)
        status = judge(&d, err);
    if (status == ATTSVM_OK)
        status = cli_write_text(d.page, cli_demo_page, &d, err);
    if (status == ATTSVM_OK && call->common->json)
        status = print_json(&d, err);
    else if (status == ATTSVM_OK && !call->common->quiet)
        cli_demo_print(&d, wants_colour());
    call->negative =
        d.verdict.kind != ATTSVM_VERDICT_GLOBAL && d.verdict.kind != ATTSVM_VERDICT_LOCAL;
    attsvm_solution_free(d.solution);
    attsvm_train_free(d.train);
    attsvm_data_free(d.data);
    attsvm_samples_free(d.reviews);
    free(d.memory);
    return status;
}
