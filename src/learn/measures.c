/* Quality of predictions: accuracy, area under the curve, log-loss, hits; folds. */
#include "learn/learn.h"

#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    double score;
    bool positive;
} ranked;

static int by_score(const void *a, const void *b)
{
    const double x = ((const ranked *)a)->score, y = ((const ranked *)b)->score;
    return (x > y) - (x < y);
}

/*
 * Area under the ROC curve: the share of pairs (positive, negative) in the correct order, ties
 * count half.  Sorts the list.
 */
static double area(ranked *list, int64_t count)
{
    double below = 0, pairs = 0, positive = 0; /* negatives below; pairs won */
    qsort(list, (size_t)count, sizeof *list, by_score);
    for (int64_t lo = 0, hi; lo < count; lo = hi) {
        double here[2] = { 0, 0 };
        for (hi = lo; hi < count && list[hi].score == list[lo].score; hi++)
            here[list[hi].positive]++;
        pairs += here[1] * (below + here[0] / 2);
        positive += here[1];
        below += here[0];
    }
    return positive > 0 && below > 0 ? pairs / (positive * below) : NAN;
}

/* One class against the rest; for two classes the second. */
static double area_of_class(ranked *list, const double *score, const int64_t *label, int64_t n,
                            int64_t classes, int64_t c)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0)
            list[count++] =
                (ranked){ classes == 2 ? score[i] : score[i * classes + c], label[i] == c };
    return area(list, count);
}

static attsvm_status check_labels(const int64_t *label, int64_t n, int64_t classes, int64_t lowest,
                                  attsvm_error *err)
{
    if (n < 0 || classes < 2)
        return fail(err, ATTSVM_E_ARG,
                    "%" PRId64 " bag%s of %" PRId64 " class%s; expected 0 or more of at least 2", n,
                    base_plural(n), classes, classes == 1 ? "" : "es");
    for (int64_t i = 0; i < n; i++)
        if (label[i] < lowest || label[i] >= classes)
            return fail(err, ATTSVM_E_ARG,
                        "label[%" PRId64 "] = %" PRId64 " is not in %" PRId64 "..%" PRId64, i,
                        label[i], lowest, classes - 1);
    return ATTSVM_OK;
}

static attsvm_status check_scores(const double *score, int64_t count, attsvm_error *err)
{
    for (int64_t k = 0; k < count; k++)
        if (isnan(score[k]))
            return fail(err, ATTSVM_E_ARG, "score[%" PRId64 "] is NaN", k);
    return ATTSVM_OK;
}

attsvm_status attsvm_measure(attsvm_measures *out, const double *score, const int64_t *label,
                             int64_t n, int64_t classes, int64_t *confusion, attsvm_error *err)
{
    NEED(out);
    NEED(score);
    NEED(label);
    *out = (attsvm_measures){ .auc = NAN, .accuracy = NAN, .log_loss = NAN, .hits = NAN };
    TRY(check_labels(label, n, classes, -1, err));
    TRY(check_scores(score, n * (classes == 2 ? 1 : classes), err));
    learn_shape shape = learn_shape_of(ATTSVM_POOL_MEAN, 1, 1, classes);
    ranked *list;
    double *probability = NULL, right = 0, loss = 0;
    TRY(base_allocate(&list, (size_t)(n > 0 ? n : 1), sizeof *list, "ranking", err));
    attsvm_status status =
        base_allocate(&probability, (size_t)classes, sizeof *probability, "slopes", err);
    if (status != ATTSVM_OK)
        goto done;
    if (confusion)
        memset(confusion, 0, (size_t)(classes * classes) * sizeof *confusion);
    for (int64_t i = 0; i < n; i++) {
        if (label[i] < 0)
            continue;
        const double *f = score + i * shape.outputs;
        const int64_t predicted = learn_predicted(&shape, f);
        out->n++;
        right += predicted == label[i];
        learn_loss(&shape, 1, f, label[i], 1, probability, &loss);
        if (confusion)
            confusion[label[i] * classes + predicted]++;
    }
    if (out->n == 0)
        goto done;
    out->accuracy = right / (double)out->n;
    out->log_loss = loss / (double)out->n;
    out->auc = 0;
    for (int64_t c = classes == 2 ? 1 : 0; c < classes; c++)
        out->auc +=
            area_of_class(list, score, label, n, classes, c) / (double)(classes == 2 ? 1 : classes);
done:
    free(probability);
    free(list);
    return status;
}

double attsvm_measure_hits(const attsvm_data *data, const int64_t *label, int64_t classes,
                           const int64_t *key, const attsvm_array *inst, int64_t which)
{
    if (!data || !label || !key || !inst)
        return NAN;
    double bags = 0, hits = 0;
    for (int64_t i = 0; i < data->n; i++) {
        const int64_t first = data_first(data, i), T = data_length(data, i);
        bool held = false;
        for (int64_t t = 0; t < T; t++)
            held = held || attsvm_array_get(inst, first + t) == (double)which;
        if (label[i] != classes - 1 || !held)
            continue;
        bags++;
        hits += key[i] >= 0 && attsvm_array_get(inst, first + key[i]) == (double)which;
    }
    return bags > 0 ? hits / bags : NAN;
}

attsvm_status attsvm_cv_folds(const int64_t *label, int64_t n, int64_t classes, int64_t folds,
                              int64_t seed, int64_t *fold, attsvm_error *err)
{
    NEED(label);
    NEED(fold);
    int64_t *order, next = 0;
    if (n < 2)
        return fail(err, ATTSVM_E_ARG, "cross-validation needs at least two bags");
    if (folds < 2 || folds > n)
        return fail(err, ATTSVM_E_ARG,
                    "%" PRId64 " fold%s of %" PRId64
                    " bag%s: the number of folds may be 2 to %" PRId64,
                    folds, base_plural(folds), n, base_plural(n), n);
    TRY(check_labels(label, n, classes, 0, err));
    TRY(base_allocate(&order, (size_t)n, sizeof *order, "folds", err));
    base_random r = base_random_stream((uint64_t)seed, UINT64_C(0xf01d5));
    base_random_permutation(&r, order, n);
    for (int64_t c = 0; c < classes; c++)
        for (int64_t k = 0; k < n; k++)
            if (label[order[k]] == c)
                fold[order[k]] = next++ % folds;
    free(order);
    return ATTSVM_OK;
}

attsvm_paired attsvm_cv_compare(const int64_t *first, const int64_t *second, const int64_t *label,
                                int64_t repeats, int64_t n)
{
    if (!first || !second || !label || repeats < 1 || n < 1)
        return (attsvm_paired){ 0 };
    double sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < n; i++) {
            double difference = 0;
            for (int64_t r = 0; r < repeats; r++)
                difference += (double)(first[r * n + i] == label[i]) -
                              (double)(second[r * n + i] == label[i]);
            difference /= (double)repeats;
            if (pass == 0)
                sum += difference;
            else
                squares += (difference - sum / (double)n) * (difference - sum / (double)n);
        }
    const double count = (double)n;
    return (attsvm_paired){ .difference = sum / count,
                            .standard_error = n > 1 ? sqrt(squares / (count - 1) / count) : NAN };
}
