/*
 * The demo's outcome must not depend on rounding: reviews.txt, model vp, normalised descent from
 * small random numbers. 72 groups of words (165 of 402) occur in the same reviews. From 0, exact
 * descent would keep their logits equal, and only rounding would decide among them.
 */
#include "unit.h"

#include "experiments/experiments.h"
#include "theory/theory.h"

#include <string.h>

enum { MOST_WORDS = 402, MOST_TOKENS = 4000, MOST_REVIEWS = 200, STEPS = 3000 };

typedef struct reviews {
    char text[1 << 15];
    const char *word[MOST_WORDS];
    float E[MOST_WORDS * MOST_WORDS];
    int32_t token[MOST_TOKENS];
    int64_t offsets[MOST_REVIEWS + 1];
    double Y[MOST_REVIEWS], init_p[MOST_WORDS], init_v[MOST_WORDS];
    int64_t n, tokens, words;
} reviews;

static int32_t place_of(reviews *r, const char *word)
{
    for (int64_t k = 0; k < r->words; k++)
        if (strcmp(r->word[k], word) == 0)
            return (int32_t)k;
    assert_true(r->words < MOST_WORDS);
    r->word[r->words] = word;
    return (int32_t)r->words++;
}

static void read_reviews(reviews *r)
{
    const experiments_file *file = experiments_file_find("examples/reviews.txt");
    char *rest = r->text, *line, *within;
    memset(r, 0, sizeof *r);
    assert_true(file && file->size < sizeof r->text);
    memcpy(r->text, file->text, file->size);
    while ((line = strtok_r(rest, "\n", &rest))) {
        if (line[0] != '+' && line[0] != '-')
            continue;
        assert_true(r->n < MOST_REVIEWS);
        r->Y[r->n] = line[0] == '+' ? 1 : -1;
        for (char *w = strtok_r(line + 3, " ", &within); w; w = strtok_r(NULL, " ", &within)) {
            assert_true(r->tokens < MOST_TOKENS);
            r->token[r->tokens++] = place_of(r, w);
        }
        r->offsets[++r->n] = r->tokens;
    }
    for (int64_t k = 0; k < r->words; k++)
        r->E[k * r->words + k] = 1;
}

/* The data set, with start values if `disturbed`. */
static attsvm_data *open_reviews(const reviews *r, bool disturbed)
{
    attsvm_named_array arrays[] = {
        { "E", { r->E, { r->words, r->words }, 2, ATTSVM_F32 } },
        { "tokens", { r->token, { r->tokens }, 1, ATTSVM_I32 } },
        { "offsets", { r->offsets, { r->n + 1 }, 1, ATTSVM_I64 } },
        { "Y", { r->Y, { r->n }, 1, ATTSVM_F64 } },
        { "init_p", { r->init_p, { r->words }, 1, ATTSVM_F64 } },
        { "init_v", { r->init_v, { r->words }, 1, ATTSVM_F64 } },
    };
    attsvm_data *data;
    attsvm_error err;
    assert_ok(attsvm_data_create(&data, arrays, disturbed ? 6 : 4, NULL, &err), err);
    return data;
}

static attsvm_train *run_demo(const attsvm_data *data, const char *init, int64_t seed)
{
    attsvm_train_settings s;
    attsvm_train *run;
    attsvm_error err;
    attsvm_train_settings_init(&s);
    s.model = ATTSVM_MODEL_VP;
    s.step = "ngd";
    s.init = init;
    s.iters = STEPS;
    s.seed = seed;
    s.threads = 1;
    assert_ok(attsvm_train_create(&run, data, &s, NULL, NULL, &err), err);
    return run;
}

/* The verdict is global, by a wide margin. */
static void ends_global(attsvm_train *run)
{
    attsvm_verdict v;
    attsvm_error err;
    assert_ok(attsvm_train_run(run, NULL, NULL, &err), err);
    assert_ok(attsvm_verdict_compute(&v, run, NULL, NULL, NULL, NULL, &err), err);
    assert_int_equal(v.kind, ATTSVM_VERDICT_GLOBAL);
    assert_true(v.attention > 1 - 1e-6 && v.efficiency > 0.7 && v.correlation > 0.99);
}

static reviews all;
static const char *const sets[] = { "baseline", "avx2", "avx512" };
enum { SETS = sizeof sets / sizeof *sets };

static void the_demo_was_decided_by_rounding(void **state)
{
    (void)state;
    read_reviews(&all);
    attsvm_data *data = open_reviews(&all, false);
    for (int s = 0; s < long_or_short(SETS, 1); s++) {
        if (attsvm_kernels_select(sets[s], NULL) != ATTSVM_OK)
            continue; /* not available on this processor */
        for (int64_t seed = 0; seed < long_or_short(2, 1); seed++) {
            attsvm_train *run = run_demo(data, "gauss:0.01", seed);
            ends_global(run);
            attsvm_train_free(run);
        }
    }
    attsvm_data_free(data);
}

static void the_demo_ends_alike_from_a_start_disturbed_by_1e_12(void **state)
{
    (void)state;
    read_reviews(&all);
    attsvm_data *data = open_reviews(&all, false);
    for (int s = 0; s < long_or_short(SETS, 1); s++) {
        if (attsvm_kernels_select(sets[s], NULL) != ATTSVM_OK)
            continue;
        attsvm_train *run = run_demo(data, "gauss:0.01", 0);
        base_random r = base_random_stream(7, (uint64_t)s);
        for (int64_t j = 0; j < all.words; j++) {
            all.init_p[j] = run->theta[j] + 1e-12 * base_random_gauss(&r);
            all.init_v[j] = run->theta[all.words + j] + 1e-12 * base_random_gauss(&r);
        }
        attsvm_data *near = open_reviews(&all, true);
        attsvm_train *other = run_demo(near, "file", 0);
        ends_global(run);
        ends_global(other);
        assert_memory_equal(run->m->selected, other->m->selected,
                            (size_t)all.n * sizeof *run->m->selected);
        attsvm_train_free(other);
        attsvm_data_free(near);
        attsvm_train_free(run);
    }
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_demo_was_decided_by_rounding),
        cmocka_unit_test(the_demo_ends_alike_from_a_start_disturbed_by_1e_12),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
