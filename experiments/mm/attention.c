/* mm-attention: on real sentences attention concentrates on fewer tokens as the norm grows. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

/*
 * Normalised steps of fixed length end in a cycle of two steps, and rounding decides which of the
 * two comes at even steps. Records are therefore an odd number of steps apart, and final numbers
 * are averages over both steps.
 */
enum { STEPS = 3000, EVERY = 25, RECORDS = STEPS / EVERY + 1, LAST = 20, D = 128 };
static const double LR = 0.03;
enum { ENTROPY, TOKENS, ABOVE, NORM, ACCURACY, CURVES };

static const char *const curves[CURVES] = { "entropy", "effective_tokens", "share_above", "norm",
                                            "accuracy" };

/* Entropy, exp(entropy) and tokens above 1/T of one sequence, from its logits (T), which become
   the softmax. */
static void measure(double *logits, int64_t T, double *entropy, double *above)
{
    double most = -INFINITY, sum = 0;
    *entropy = 0;
    *above = 0;
    for (int64_t t = 0; t < T; t++)
        most = fmax(most, logits[t]);
    for (int64_t t = 0; t < T; t++)
        sum += base_exp(logits[t] - most);
    for (int64_t t = 0; t < T; t++) {
        double log_s = logits[t] - most - base_log(sum);
        logits[t] = base_exp(log_s);
        *entropy -= logits[t] > 0 ? logits[t] * log_s : 0;
        *above += logits[t] * (double)T > 1 + 1e-9; /* ignores differences of rounding */
    }
}

/* Fills the curves at one record; q = W'p. */
static void measure_record(const attsvm_data *data, const double *q, double *scratch, double *out,
                           int64_t records)
{
    attsvm_data_info info = attsvm_data_describe(data);
    double *x = scratch, *logits = scratch + info.d, square = 0, total_above = 0;
    for (int64_t i = 0; i < info.n; i++) {
        int64_t T = attsvm_data_length(data, i);
        double entropy, above;
        for (int64_t t = 0; t < T; t++) {
            attsvm_data_token(data, i, t, x);
            logits[t] = 0;
            for (int64_t j = 0; j < info.d; j++)
                logits[t] += x[j] * q[j];
        }
        measure(logits, T, &entropy, &above);
        out[ENTROPY * records] += entropy / (double)info.n;
        out[TOKENS * records] += base_exp(entropy) / (double)info.n;
        total_above += above;
    }
    for (int64_t j = 0; j < info.d; j++)
        square += q[j] * q[j];
    out[ABOVE * records] = total_above / (double)info.tokens;
    out[NORM * records] = sqrt(square);
}

/* Replaces p by q = W'p in every record; without W nothing changes. */
static attsvm_status map_back(const attsvm_data *data, double *p, int64_t d, attsvm_error *err)
{
    double *W, *q;
    if (!attsvm_data_array(data, "W"))
        return ATTSVM_OK;
    TRY(data_doubles(data, "W", (const int64_t[]){ d, d }, 2, &W, err));
    attsvm_status status = base_allocate(&q, (size_t)d, sizeof *q, "vector", err);
    for (int64_t k = 0; k < RECORDS && status == ATTSVM_OK; k++) {
        memset(q, 0, (size_t)d * sizeof *q);
        for (int64_t a = 0; a < d; a++)
            for (int64_t b = 0; b < d; b++)
                q[b] += W[a * d + b] * p[k * d + a];
        memcpy(p + k * d, q, (size_t)d * sizeof *q);
    }
    if (status == ATTSVM_OK)
        free(q);
    free(W);
    return status;
}

static attsvm_status run_data(const experiments_setup *setup, const attsvm_data *data,
                              double *values, double *ids, attsvm_error *err)
{
    attsvm_data_info info = attsvm_data_describe(data);
    attsvm_train_settings s;
    attsvm_train *train = NULL;
    double *memory = NULL;
    experiments_train_settings(setup, &s);
    s.model = ATTSVM_MODEL_VP;
    s.init = "zero";
    s.lr = LR;
    s.iters = STEPS;
    s.record = "25";
    s.threads = setup->threads;
    attsvm_status status = attsvm_train_create(&train, data, &s, NULL, NULL, err);
    if (status == ATTSVM_OK)
        status = experiments_train(setup, train, err);
    experiments_progress(setup, 0.7);
    int64_t count = RECORDS * info.d;
    if (status == ATTSVM_OK)
        status = base_allocate(&memory, (size_t)(count + info.d + info.T_max), sizeof *memory,
                               "trace of p", err);
    if (status == ATTSVM_OK)
        status = experiments_trained(train, "trace_p", memory, count, err);
    if (status == ATTSVM_OK)
        status = map_back(data, memory, info.d, err);
    if (status == ATTSVM_OK)
        status =
            experiments_trained(train, "trace_accuracy", values + ACCURACY * RECORDS, RECORDS, err);
    if (status == ATTSVM_OK)
        status = experiments_trained(train, "ids", ids, info.n, err);
    for (int64_t k = 0; k < RECORDS && status == ATTSVM_OK; k++)
        measure_record(data, memory + k * info.d, memory + count, values + k, RECORDS);
    free(memory);
    attsvm_train_free(train);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    attsvm_data *data = NULL;
    experiments_reviews reviews = { 0 };
    double *values, *ids, *own, *words = NULL;
    attsvm_status status = ATTSVM_OK;
    if (setup->data)
        status = attsvm_data_read(&data, setup->data, NULL, err);
    else
        status = experiments_reviews_create(&reviews, D, setup->seed, err);
    if (status == ATTSVM_OK && !setup->data)
        status = experiments_reviews_data(&reviews, &data, err);
    if (status == ATTSVM_OK)
        status = experiments_add(out, &values, "curves", SHAPE(CURVES, RECORDS), err);
    if (status == ATTSVM_OK)
        status = experiments_add(out, &own, "own_data", SHAPE(1), err);
    if (status == ATTSVM_OK)
        status = experiments_add(out, &ids, "ids", SHAPE(attsvm_data_describe(data).n), err);
    if (status == ATTSVM_OK)
        status = experiments_add(out, &words, "word_count", SHAPE(reviews.words), err);
    if (status == ATTSVM_OK) {
        own[0] = setup->data != NULL;
        status = run_data(setup, data, values, ids, err);
        if (status == ATTSVM_E_DATA && setup->data)
            base_fail_in(err, status, setup->data);
    }
    for (int64_t i = 0; i < reviews.n && status == ATTSVM_OK; i++)
        words[reviews.tokens[reviews.offsets[i] + (int64_t)ids[i]]]++;
    attsvm_data_free(data);
    experiments_reviews_free(&reviews);
    return status;
}

/* ------------------------------------------------------------------------- numbers */

/* The words that most sentences select. */
static attsvm_status find_words(const experiments_view *count, experiments_numbers *out,
                                attsvm_error *err)
{
    enum { SHOWN = 8 };
    char text[SHOWN * 34] = "";
    double below = INFINITY;
    experiments_reviews reviews;
    TRY(experiments_reviews_create(&reviews, 1, 0, err));
    int64_t last = -1;
    for (int shown = 0; shown < SHOWN && reviews.words == count->count; shown++) {
        int64_t best = -1; /* the next word, ordered by count, then alphabetically */
        for (int64_t k = 0; k < count->count; k++) {
            bool later = count->x[k] < below || (count->x[k] == below && k > last);
            if (later && (best < 0 || count->x[k] > count->x[best]))
                best = k;
        }
        if (best < 0)
            break;
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", reviews.word[best]);
        below = count->x[best];
        last = best;
    }
    experiments_finds(out, "The words selected by most sentences: %s.", text);
    experiments_reviews_free(&reviews);
    return ATTSVM_OK;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    static const char *const meanings[CURVES] = {
        "mean entropy of attention", "mean of exp(entropy): tokens at work",
        "share of tokens with more than 1/T of the attention", "|W'p|", "accuracy"
    };
    experiments_view values, own, words;
    TRY(experiments_get(r, "curves", &values, err));
    TRY(experiments_get(r, "own_data", &own, err));
    TRY(experiments_get(r, "word_count", &words, err));
    const double *first = values.x;
    double last[CURVES];
    for (int k = 0; k < CURVES; k++) {
        char key[64], meaning[128];
        snprintf(key, sizeof key, "%s_start", curves[k]);
        snprintf(meaning, sizeof meaning, "%s, at the start", meanings[k]);
        experiments_number(out, key, first[k * RECORDS], meaning);
        snprintf(key, sizeof key, "%s_end", curves[k]);
        snprintf(meaning, sizeof meaning, "%s, mean over the last %d steps", meanings[k],
                 LAST * EVERY);
        experiments_mean(first + (k + 1) * RECORDS - LAST, LAST, 1, &last[k], NULL);
        experiments_number(out, key, last[k], meaning);
    }
    double most = 0;
    for (int64_t k = 1; k < RECORDS; k++)
        most = fmax(most, first[ACCURACY * RECORDS + k]);
    experiments_finds(
        out,
        "Attention begins on %.2f tokens a sequence and ends on %.2f. |p| grows at first, then "
        "levels off at %.1f: the run ends in a cycle of two steps, and steps of fixed length no "
        "longer lengthen p. Accuracy reaches %.1f %% on the way and ends at %.1f %%.",
        first[TOKENS * RECORDS], last[TOKENS], last[NORM], 100 * most, 100 * last[ACCURACY]);
    return own.x[0] == 0 ? find_words(&words, out, err) : ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static void draw_curve(report_figure *f, const experiments_view *values, int curve,
                       const char *label, report_colour colour)
{
    int first = curve == ACCURACY || curve == ABOVE; /* meaningless at p = 0, v = 0 */
    double steps[RECORDS];
    for (int k = 0; k < RECORDS; k++)
        steps[k] = (double)k * EVERY;
    report_add_series(f, &(report_series){ .kind = REPORT_LINE,
                                           .label = label,
                                           .colour = colour,
                                           .count = RECORDS - first,
                                           .x = steps + first,
                                           .y = values->x + (ptrdiff_t)curve * RECORDS + first });
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view values;
    TRY(experiments_get(r, "curves", &values, err));
    *out = report_figure_create(3, 1200, 380);
    report_add_panel(*out, &(report_panel){ .title = "Attention becomes sparse",
                                            .x = { .label = "steps" },
                                            .y = { .label = "tokens a sequence" } });
    draw_curve(*out, &values, TOKENS, "mean of exp(entropy)", REPORT_BLUE);
    report_add_panel(*out, &(report_panel){ .title = "Norm of p",
                                            .x = { .label = "steps" },
                                            .y = { .label = "|p|" } });
    draw_curve(*out, &values, NORM, "|p|", REPORT_VERMILION);
    report_add_panel(*out, &(report_panel){ .title = "Shares",
                                            .x = { .label = "steps" },
                                            .y = { .label = "share", .low = 0, .high = 1.02 } });
    draw_curve(*out, &values, ACCURACY, "accuracy", REPORT_GREEN);
    draw_curve(*out, &values, ABOVE, "tokens above 1/T", REPORT_PURPLE);
    return ATTSVM_OK;
}

const experiment mm_attention = {
    .id = "mm-attention",
    .title = "On sentences: attention turns to few tokens, then |p| levels off",
    .paper = "MM, on other data: two hundred sentences instead of images",
    .setting =
        "200 review sentences (examples/reviews.txt), a random unit vector of 128 dimensions "
        "for each word; or any labelled data set by --data. Model vp (head and prompt) from "
        "0, logistic loss, exact normalised descent with step 0.03, 3000 steps.",
    .caption = "Effective number of attended tokens, norm of the prompt, accuracy and share of "
               "tokens with more than 1/T of the attention, along training.",
    .says =
        "While a vision transformer is trained on CIFAR-10, attention maps become sparser and the "
        "norm of the attention weights grows.",
    .takes_data = true,
    .seconds = 0.5,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
