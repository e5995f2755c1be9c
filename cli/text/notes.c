/* Remarks of train and verify on runs that cannot move, or not far enough: symmetric words,
   products below the range of doubles, a gradient that is 0, steps of a finite sum, a ridge. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80 };

io_json *cli_exchangeable_json(const attsvm_exchangeable *found)
{
    if (!found->onehot)
        return io_json_number((double)NAN);
    io_json *json = io_json_object();
    io_json_set(json, "groups", io_json_integer(found->groups));
    io_json_set(json, "words", io_json_integer(found->words));
    return json;
}

void cli_exchangeable_print(const attsvm_exchangeable *found)
{
    char text[512];
    if (found->groups == 0)
        return;
    snprintf(
        text, sizeof text,
        "Exchangeable words: %" PRId64 ", in %" PRId64
        " group%s. The words of a group occur equally often in every sequence and start alike: "
        "exact descent never separates them, and where one of them is selected, rounding "
        "chose it. Start from small random numbers instead: --init gauss:0.01. (A sufficient "
        "test: other symmetries are not looked for.)",
        found->words, found->groups, base_plural(found->groups));
    putchar('\n');
    cli_wrap(stdout, text, 0, 0, WIDTH);
}

/*
 * Bounded runs: with polyak a small gradient makes a step long whatever its decay, and rescale
 * multiplies the parameters by themselves.
 */
const char *cli_unpredicted(const attsvm_train_settings *s)
{
    const bool polyak = strcmp(s->step, "polyak") == 0;
    const bool rescale = strncmp(s->step, "rescale", 7) == 0;
    if ((s->lr == 0 && !rescale) || (polyak && s->max_step == 0))
        return "The step size is 0, so that nothing moves; a positive --lr (with polyak also "
               "--max-step) changes that.";
    if (s->lr == 0)
        return "With --lr 0 the step rule rescale only multiplies the parameters, and their "
               "direction stays.";
    if (s->decay > 1 && !polyak && !rescale)
        return "The step sizes lr/(t+1)^decay with a decay above 1 have a finite sum, so that the "
               "parameters stay within a finite distance of their start; with --decay 1 or less "
               "they can grow.";
    if (s->decay > 1)
        return "With --decay above 1 no theorem covers this step rule; use 1 or less.";
    if (s->ridge > 0)
        return "With a ridge the parameters do not grow without bound: small steps end where loss "
               "and ridge balance. A smaller --ridge lets them grow further.";
    if (polyak && *s->lstar)
        return "Polyak steps end where the loss falls to --lstar; a lower value lets them go on.";
    if (s->arithmetic != ATTSVM_ARITHMETIC_EXACT)
        return "The textbook gradient goes wrong as attention saturates; the theorems are about "
               "the exact one (--arithmetic exact).";
    return NULL;
}

static bool is_zero(const attsvm_array *array)
{
    for (int64_t k = 0; array && k < attsvm_array_count(array); k++)
        if (attsvm_array_get(array, k) != 0)
            return false;
    return array != NULL;
}

cli_layer cli_layer_of(const attsvm_train_settings *s)
{
    return (cli_layer){ s->model, s->head, s->query, s->query_token, s->loss };
}

const char *cli_zero_product(const attsvm_data *data, const attsvm_train *run,
                             const attsvm_train_settings *settings)
{
    const attsvm_array *p = attsvm_train_find(run, "p"), *W = attsvm_train_find(run, "W");
    if (is_zero(attsvm_train_find(run, "K")) && is_zero(attsvm_train_find(run, "Q")))
        return "K = Q = 0";
    if (is_zero(p) && is_zero(W))
        return "p = W = 0";
    return settings->model == ATTSVM_MODEL_PW && is_zero(attsvm_data_array(data, "p")) ? "p = 0"
                                                                                       : NULL;
}

/* ln of the largest |entry| of an array; 0 (of 1) without the array. */
static double log_size(const attsvm_array *array)
{
    double largest = 0;
    for (int64_t k = 0; array && k < attsvm_array_count(array); k++)
        largest = fmax(largest, fabs(attsvm_array_get(array, k)));
    return array ? log(largest) : 0;
}

/* ln of the largest |entry| of a token; NAN: out of memory. */
static double log_token_size(const attsvm_data *data)
{
    attsvm_data_info info = attsvm_data_describe(data);
    double largest = 0, *x = calloc((size_t)info.d, sizeof *x);
    if (!x)
        return NAN;
    for (int64_t i = 0; i < info.n; i++)
        for (int64_t t = 0; t < attsvm_data_length(data, i); t++) {
            attsvm_data_token(data, i, t, x);
            for (int64_t j = 0; j < info.d; j++)
                largest = fmax(largest, fabs(x[j]));
        }
    free(x);
    return log(largest);
}

/* What a gradient of 0 means: later steps may move the head, or the parameters by a ridge,
   by another mini-batch or by earlier gradients. */
static void explain_zero(const attsvm_data *data, const attsvm_train *run,
                         const attsvm_train_settings *s, char *out, size_t size)
{
    const cli_layer layer = cli_layer_of(s);
    const bool never = cli_no_effect(data, &layer) != NULL;
    const char *product = never ? NULL : cli_zero_product(data, run, s), *step = s->step;
    const bool head = s->model >= ATTSVM_MODEL_VP;
    const bool others = s->batch > 0 || s->ridge > 0 || strncmp(step, "momentum", 8) == 0 ||
                        strncmp(step, "signum", 6) == 0 || strncmp(step, "muon", 4) == 0 ||
                        strcmp(step, "adam") == 0 || strncmp(step, "rescale", 7) == 0;
    if (product && s->model == ATTSVM_MODEL_PW)
        snprintf(out, size,
                 "Warning: the fixed prompt p is 0. All logits are 0 whatever W is, and no step "
                 "moves W.");
    else if (product)
        snprintf(out, size,
                 "Warning: %s is a stationary point. The gradient of each factor is a product with "
                 "the other one, so that no step moves them%s. Start from random numbers: --init "
                 "gauss:0.1, or leave --init out.",
                 product, head ? "; only the head moves" : "");
    else
        snprintf(out, size, "Warning: the gradient%s %s 0%s.",
                 head           ? " of the attention parameters"
                 : s->ridge > 0 ? " of the loss"
                                : "",
                 never ? "is exactly" : "rounds to",
                 others ? ""
                 : head ? ", so that the next step moves at most the head"
                        : ", so that no further step moves anything");
}

/*
 * A gradient of W is a sum of products of a score v'x, a token and a query.  The sum has its own
 * exponent, but the products are doubles, which lose digits below 2.2e-308 and vanish below
 * 4.9e-324.
 */
bool cli_gradient_print(const attsvm_data *data, const attsvm_train *run,
                        const attsvm_train_settings *settings)
{
    const double scale = attsvm_train_describe(run).grad_log_scale;
    const double end = log(0x1p-1022), tiny = end + log(0x1p53), decimal = log(10);
    bool prompt = settings->model == ATTSVM_MODEL_P || settings->model == ATTSVM_MODEL_PW ||
                  settings->model == ATTSVM_MODEL_VP || settings->model == ATTSVM_MODEL_VPW;
    char text[512];
    if (scale > tiny)
        return false;
    const bool trained = settings->model >= ATTSVM_MODEL_VP;
    double token = log_token_size(data);
    double head = trained ? 0 : log_size(attsvm_data_array(data, "v"));
    const attsvm_array *Z = attsvm_data_array(data, "Z");
    double query = prompt ? 0 : Z && settings->query == ATTSVM_QUERY_GIVEN ? log_size(Z) : token;
    double product = 2 * token + head + query;
    if (isfinite(product) && product < tiny && !cli_zero_product(data, run, settings))
        snprintf(text, sizeof text,
                 "Warning: tokens (at most 1e%.0f)%s%s are so small that their products, about "
                 "1e%.0f, %s the range of doubles (2e-308): the gradient %s. "
                 "Scale them up.",
                 token / decimal, prompt ? "" : ", queries", trained ? "" : " and head",
                 product / decimal, product < end ? "leave" : "come near the end of",
                 product < end ? "has lost digits or is 0" : "may have lost digits");
    else if (scale == -INFINITY)
        explain_zero(data, run, settings, text, sizeof text);
    else
        return false;
    putchar('\n');
    cli_wrap(stdout, text, 0, 0, WIDTH);
    return true;
}
