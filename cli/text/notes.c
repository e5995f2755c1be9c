/* Remarks of train and verify on runs that cannot move: symmetric words, products below the range
   of doubles, a gradient that is 0. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>

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
    snprintf(text, sizeof text,
             "Exchangeable words: %" PRId64 ", in %" PRId64
             " groups. The words of a group occur equally often in every sequence and start alike: "
             "exact descent never separates them, and where one of them is selected, rounding "
             "chose it. Start from small random numbers instead: --init gauss:0.01. (A sufficient "
             "test: other symmetries are not looked for.)",
             found->words, found->groups);
    putchar('\n');
    cli_wrap(stdout, text, 0, 0, WIDTH);
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

/*
 * A gradient of W is a sum of products of a score v'x, a token and a query.  The sum has its own
 * exponent, but the products are doubles, which lose digits below 2.2e-308 and vanish below
 * 4.9e-324.
 */
bool cli_gradient_print(const attsvm_data *data, const attsvm_train_settings *settings,
                        const attsvm_train_info *info)
{
    const double tiny = log(0x1p-1022) + log(0x1p53), decimal = log(10);
    bool prompt = settings->model == ATTSVM_MODEL_P || settings->model == ATTSVM_MODEL_PW ||
                  settings->model == ATTSVM_MODEL_VP || settings->model == ATTSVM_MODEL_VPW;
    char text[512];
    if (info->grad_log_scale > tiny)
        return false;
    double token = log_token_size(data), head = log_size(attsvm_data_array(data, "v"));
    const attsvm_array *Z = attsvm_data_array(data, "Z");
    double query = prompt ? 0 : Z && settings->query == ATTSVM_QUERY_GIVEN ? log_size(Z) : token;
    double product = 2 * token + head + query;
    if (isfinite(product) && product < tiny)
        snprintf(text, sizeof text,
                 "Warning: tokens (at most 1e%.0f), queries and head are so small that their "
                 "products, about 1e%.0f, leave the range of doubles (2e-308): the gradient has "
                 "lost digits or is 0. Scale them up.",
                 token / decimal, product / decimal);
    else if (info->grad_log_scale == -INFINITY)
        snprintf(text, sizeof text,
                 "Warning: the gradient is exactly 0, so that no further step moves anything.");
    else
        return false;
    putchar('\n');
    cli_wrap(stdout, text, 0, 0, WIDTH);
    return true;
}
