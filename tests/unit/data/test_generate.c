#include "unit.h"

#include "data/generate/generate.h"

#include <unistd.h>

static attsvm_generate_settings settings_of(attsvm_generate_kind kind)
{
    attsvm_generate_settings s;
    attsvm_generate_settings_init(&s);
    s.kind = (int32_t)kind;
    s.n = 37;
    s.T = 9;
    s.d = 7;
    return s;
}

static attsvm_data *generate(const attsvm_generate_settings *s)
{
    attsvm_error err;
    attsvm_data *data;
    assert_ok(attsvm_data_generate(&data, s, &err), err);
    return data;
}

/* Array k in pieces of `step` elements, in reverse order, at an odd address. */
static void compare_in_pieces(attsvm_generator *g, int64_t k, const attsvm_array *whole,
                              int64_t step)
{
    attsvm_error err;
    int64_t count = attsvm_array_count(whole), size = (int64_t)attsvm_dtype_size(whole->dtype);
    char *pieces = malloc((size_t)(count * size + 1));
    assert_non_null(pieces);
    for (int64_t first = (count - 1) / step * step; first >= 0; first -= step) {
        int64_t here = count - first < step ? count - first : step;
        assert_ok(data_generate_fill(g, k, first, here, pieces + 1 + first * size, &err), err);
    }
    assert_memory_equal(pieces + 1, whole->data, (size_t)(count * size));
    free(pieces);
}

static void compare_with_whole(attsvm_generate_settings s)
{
    attsvm_error err;
    attsvm_generator *g;
    s.threads = 1;
    attsvm_data *data = generate(&s);
    s.threads = 3;
    assert_ok(attsvm_generator_create(&g, &s, &err), err);
    const attsvm_generator_info info = attsvm_generator_describe(g);
    const attsvm_named_array *arrays = info.arrays;
    for (int64_t k = 0; k < info.count; k++) {
        const attsvm_array *whole = attsvm_data_array(data, arrays[k].name);
        if (!whole)
            continue; /* planted_p and planted_W are not among a data set's known arrays */
        assert_int_equal(attsvm_array_count(whole), attsvm_array_count(&arrays[k].array));
        compare_in_pieces(g, k, whole, 1);
        compare_in_pieces(g, k, whole, 71);
        compare_in_pieces(g, k, whole, 1 << 20);
    }
    attsvm_generator_free(g);
    attsvm_data_free(data);
}

static void pieces_make_the_whole(void **state)
{
    (void)state;
    for (int kind = ATTSVM_GAUSS; kind <= ATTSVM_NTP; kind++)
        for (int dtype = ATTSVM_F16; dtype <= ATTSVM_F64; dtype++)
            for (int variant = 0; variant < 3; variant++) {
                attsvm_generate_settings s = settings_of((attsvm_generate_kind)kind);
                s.dtype = dtype;
                s.queries = kind == ATTSVM_NTP ? 0 : variant;
                s.T_min = variant == 1 ? 2 : 0;
                s.spread = variant == 2 ? 0.5 : 0;
                compare_with_whole(s);
            }
}

/* The first values, which reveal a change of the random stream. */
static void values_are_pinned(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_GAUSS);
    attsvm_data *data = generate(&s);
    double x[7];
    attsvm_data_token(data, 0, 0, x);
    assert_true(x[0] == -0x1.f817ba8d4f12bp-1 && x[1] == 0x1.1ed3be2f6c41fp+0);
    attsvm_data_token(data, 36, 8, x);
    assert_true(x[6] == -0x1.46c4009b61245p-2);
    attsvm_data_free(data);
    s = settings_of(ATTSVM_SPHERE);
    s.spread = 2;
    data = generate(&s);
    attsvm_data_token(data, 5, 3, x);
    assert_true(x[0] == 0x1.6520f702b3958p-3);
    attsvm_data_free(data);
}

/* A sequence does not depend on how many others there are. */
static void sequences_stand_alone(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_SPHERE);
    attsvm_data *many = generate(&s);
    s.n = 3;
    attsvm_data *few = generate(&s);
    assert_memory_equal(attsvm_data_array(many, "X")->data, attsvm_data_array(few, "X")->data,
                        3 * 9 * 7 * sizeof(double));
    s.seed = 1;
    attsvm_data *other = generate(&s);
    assert_true(memcmp(attsvm_data_array(few, "X")->data, attsvm_data_array(other, "X")->data,
                       7 * sizeof(double)) != 0);
    attsvm_data_free(many);
    attsvm_data_free(few);
    attsvm_data_free(other);
}

static double norm_of(const attsvm_data *data, int64_t i, int64_t t)
{
    double x[64];
    attsvm_data_token(data, i, t, x);
    return la_norm(x, attsvm_data_describe(data).d);
}

static void norms_and_spread(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_SPHERE);
    attsvm_data *data = generate(&s);
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t t = 0; t < s.T; t++)
            assert_true(fabs(norm_of(data, i, t) - 1) < 1e-15);
    attsvm_data_free(data);
    s.spread = 3;
    data = generate(&s);
    double least = INFINITY, most = 0;
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t t = 0; t < s.T; t++) {
            least = fmin(least, norm_of(data, i, t));
            most = fmax(most, norm_of(data, i, t));
        }
    assert_true(least > 1e-3 && least < 2e-3 && most < 1e3 && most > 0.5e3);
    attsvm_data_free(data);
}

static void lengths_are_uniform(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_GAUSS);
    s.n = 4000;
    s.T_min = 5;
    attsvm_data *data = generate(&s);
    attsvm_data_info info = attsvm_data_describe(data);
    int64_t seen[10] = { 0 };
    for (int64_t i = 0; i < s.n; i++)
        seen[attsvm_data_length(data, i)]++;
    assert_true(info.storage == ATTSVM_RAGGED && info.T_min == 5 && info.T_max == 9);
    for (int T = 5; T <= 9; T++)
        assert_true(llabs(seen[T] - 800) < 100); /* 4 standard deviations */
    assert_true(llabs(info.positive - 2000) < 127);
    attsvm_data_free(data);
}

/* Smallest planted margin and score lead over all sequences, directions and rivals. */
static void measure(const attsvm_generate_settings *s, const attsvm_generator *g,
                    const attsvm_data *data, double *margin, double *lead)
{
    const attsvm_array *Z = attsvm_data_array(data, "Z"), *ids = attsvm_data_array(data, "ids");
    int64_t d = s->d, M = s->kind == ATTSVM_PLANTED_W && s->queries > 1 ? s->queries : 1;
    double u[64], best[64], x[64];
    *margin = *lead = INFINITY;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t m = 0; m < M; m++) {
            int64_t alpha = (int64_t)attsvm_array_get(ids, i * (s->queries > 1 ? s->queries : 1));
            for (int64_t j = 0; j < d; j++) {
                u[j] = s->kind == ATTSVM_PLANTED_P ? g->direction[j] : 0;
                for (int64_t l = 0; s->kind == ATTSVM_PLANTED_W && l < d; l++)
                    u[j] += g->direction[j * d + l] * attsvm_array_get(Z, (i * M + m) * d + l);
            }
            attsvm_data_token(data, i, alpha, best);
            for (int64_t t = 0; t < attsvm_data_length(data, i); t++) {
                if (t == alpha)
                    continue;
                attsvm_data_token(data, i, t, x);
                double along = 0, score = 0;
                for (int64_t j = 0; j < d; j++) {
                    along += u[j] * (best[j] - x[j]);
                    score += attsvm_data_label(data, i) * g->v[j] * (best[j] - x[j]);
                }
                *margin = fmin(*margin, along / la_norm(u, d));
                *lead = fmin(*lead, score);
            }
        }
}

static void planted_tokens_lead(void **state)
{
    (void)state;
    attsvm_error err;
    for (int kind = ATTSVM_PLANTED_P; kind <= ATTSVM_PLANTED_W; kind++)
        for (int queries = 0; queries <= 4; queries++)
            for (int optimal = 0; optimal < 2; optimal++) {
                attsvm_generate_settings s = settings_of((attsvm_generate_kind)kind);
                s.push = 0.5;
                s.queries = queries;
                s.optimal = optimal;
                s.T_min = queries == 2 ? 1 : 0;
                attsvm_generator *g;
                assert_ok(attsvm_generator_create(&g, &s, &err), err);
                attsvm_data *data = generate(&s);
                double margin, lead;
                measure(&s, g, data, &margin, &lead);
                assert_true(margin >= 0.5 - 1e-12 && margin < 0.6);
                if (optimal)
                    assert_true(lead >= 0.1 - 1e-12 && lead < 0.1 + 1e-3);
                else
                    assert_true(lead < 0);
                attsvm_data_free(data);
                attsvm_generator_free(g);
            }
}

static void words_follow_zipf(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_VOCABULARY);
    s.n = 1000;
    s.T = 20;
    s.vocabulary = 50;
    attsvm_data *data = generate(&s);
    const attsvm_array *tokens = attsvm_data_array(data, "tokens");
    double seen[50] = { 0 }, total = 0;
    for (int k = 1; k <= 50; k++)
        total += 1.0 / k;
    for (int64_t k = 0; k < 20000; k++)
        seen[(int)attsvm_array_get(tokens, k)]++;
    for (int k = 0; k < 50; k++) {
        double expected = 20000 / total / (k + 1);
        assert_true(fabs(seen[k] - expected) < 4.5 * sqrt(expected));
    }
    attsvm_data_free(data);
}

static void onehot_words_are_unit_vectors(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_ONEHOT);
    s.dtype = ATTSVM_F16;
    s.vocabulary = 5;
    attsvm_data *data = generate(&s);
    const attsvm_array *E = attsvm_data_array(data, "E");
    assert_true(E->shape[0] == 5 && E->shape[1] == 7);
    for (int64_t k = 0; k < 35; k++)
        assert_true(attsvm_array_get(E, k) == (k / 7 == k % 7));
    attsvm_data_free(data);
}

static void expect_failure(attsvm_generate_settings s, attsvm_status status, const char *text);

/* Labels occur in their contexts; contexts end with one of four words, two of which allow any
   label. */
static void next_tokens_come_from_the_context(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_NTP);
    attsvm_error err;
    int32_t *next;
    int64_t ends[4] = { 0 };
    s.n = 400;
    s.vocabulary = 6;
    attsvm_data *data = generate(&s);
    assert_ok(data_next_words(data, &next, &err), err);
    for (int64_t i = 0; i < s.n; i++) {
        int32_t last = data->index[data_first(data, i + 1) - 1];
        assert_true(last < 4);
        ends[last]++;
    }
    for (int k = 0; k < 4; k++)
        assert_true(ends[k] > 50);
    free(next);
    attsvm_data_free(data);
    s.queries = 1;
    expect_failure(s, ATTSVM_E_ARG, "the query of kind ntp is the last token");
}

static void tied_tokens_repeat(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_TIED);
    attsvm_data *data = generate(&s);
    int repeats = 0;
    for (int64_t i = 0; i < s.n; i++)
        for (int64_t t = 1; t < s.T; t++) {
            double x[7], earlier[7];
            bool repeated = false;
            attsvm_data_token(data, i, t, x);
            for (int64_t k = 0; k < t && !repeated; k++) {
                attsvm_data_token(data, i, k, earlier);
                repeated = memcmp(x, earlier, sizeof x) == 0;
            }
            repeats += repeated;
            for (int j = 0; j < 7; j++)
                assert_true(x[j] == -1 || x[j] == 0 || x[j] == 1);
        }
    assert_in_range(repeats, 37 * 8 / 6, 37 * 8 / 3); /* about a quarter of 37 * 8 */
    attsvm_data_free(data);
}

/* With little noise, tokens form `vocabulary` clusters. */
static void clusters_have_centres(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_CLUSTERS);
    s.noise = 0.01;
    s.vocabulary = 3;
    attsvm_data *data = generate(&s);
    double centres[8][7];
    int found = 0;
    for (int64_t r = 0; r < s.n * s.T; r++) {
        double x[7];
        bool near = false;
        attsvm_data_token(data, r / s.T, r % s.T, x);
        for (int c = 0; c < found && !near; c++) {
            double apart[7];
            for (int j = 0; j < 7; j++)
                apart[j] = x[j] - centres[c][j];
            near = la_norm(apart, 7) < 0.08;
        }
        assert_true(near || found < 3);
        if (!near)
            memcpy(centres[found++], x, sizeof x);
    }
    assert_int_equal(found, 3);
    attsvm_data_free(data);
}

static void expect_failure(attsvm_generate_settings s, attsvm_status status, const char *text)
{
    attsvm_error err;
    attsvm_data *data;
    assert_fails(attsvm_data_generate(&data, &s, &err), err, status, text);
    assert_null(data);
}

static void wrong_settings(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_GAUSS);
    s.T_min = 10;
    expect_failure(s, ATTSVM_E_ARG, "T_min = 10 is above T = 9");
    s = settings_of(ATTSVM_GAUSS);
    s.n = 0;
    expect_failure(s, ATTSVM_E_ARG, "n = 0 is not in 1..");
    s = settings_of(ATTSVM_GAUSS);
    s.n = 1000000000000;
    s.T = 1000000000;
    expect_failure(s, ATTSVM_E_ARG, "n T d is more than");
    s = settings_of(ATTSVM_GAUSS);
    s.n = 10000000000;
    s.T = 10000;
    expect_failure(s, ATTSVM_E_MEMORY, "no memory for");
    s = settings_of(ATTSVM_ONEHOT);
    s.vocabulary = 8;
    expect_failure(s, ATTSVM_E_ARG, "vocabulary = 8 is above d = 7");
    s = settings_of(ATTSVM_PLANTED_P);
    s.d = 1;
    expect_failure(s, ATTSVM_E_ARG, "d = 1 is below 2");
    s = settings_of(ATTSVM_PLANTED_W);
    s.queries = 7;
    expect_failure(s, ATTSVM_E_ARG, "d = 7 is below 8");
}

static void narrow_types_say_when_they_cannot(void **state)
{
    (void)state;
    attsvm_generate_settings s = settings_of(ATTSVM_PLANTED_P);
    s.dtype = ATTSVM_F16;
    s.push = 1e6;
    expect_failure(s, ATTSVM_E_ARG, "float16 cannot hold the planted token of sequence 0");
    s.push = 1e-5;
    s.n = 3000;
    expect_failure(s, ATTSVM_E_ARG, "float16 cannot hold the planted token");
    s.dtype = ATTSVM_F32;
    attsvm_data_free(generate(&s));
    s = settings_of(ATTSVM_GAUSS);
    s.spread = 30;
    attsvm_data_free(generate(&s));
    s.dtype = ATTSVM_F16;
    expect_failure(s, ATTSVM_E_ARG, "beyond float16");
}

/* Rounded once: 1 + 2^-11 + 2^-40 lies just above a tie that rounding by way of float32 meets. */
static void halves_are_rounded_once(void **state)
{
    (void)state;
    uint16_t half;
    assert_true(data_generate_narrow(ATTSVM_F16, 1 + 0x1p-11 + 0x1p-40, &half) && half == 0x3c01);
    assert_true(data_generate_narrow(ATTSVM_F16, 1 + 0x1p-11, &half) && half == 0x3c00);
    assert_true(data_generate_narrow(ATTSVM_F16, -(1 + 0x1p-11 - 0x1p-40), &half) &&
                half == 0xbc00);
    assert_true(data_generate_narrow(ATTSVM_F16, 65519.99, &half) && half == 0x7bff);
    assert_false(data_generate_narrow(ATTSVM_F16, 65520, &half));
    assert_true(data_generate_narrow(ATTSVM_F16, 1e-300, &half) && half == 0);
}

/* A time limit ends both long parts within a tenth of a second. */
static void a_time_limit_ends_generating(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data;
    for (int k = 0; k < 2; k++) {
        attsvm_generate_settings s = settings_of(k ? ATTSVM_PLANTED_W : ATTSVM_GAUSS);
        s.n = k ? 1000000 : 20000; /* seconds or minutes of work */
        s.T = 100;
        s.d = 100;
        s.dtype = ATTSVM_F16;
        s.time_limit = 0.05;
        double start = base_seconds();
        assert_fails(attsvm_data_generate(&data, &s, &err), err, ATTSVM_E_STOPPED, "0.05 seconds");
        assert_null(data);
        assert_true(base_seconds() - start < 60); /* on the busiest machine; alone it is 0.06 */
    }
}

static bool until_some(void *context, int64_t done, int64_t total)
{
    int *left = context;
    assert_true(done > 0 && done <= total);
    return --*left > 0;
}

static void an_observer_ends_writing_and_leaves_no_file(void **state)
{
    (void)state;
    char path[64];
    attsvm_error err;
    attsvm_generator *g;
    snprintf(path, sizeof path, "/tmp/attsvm-generate-%d.npz", (int)getpid());
    attsvm_generate_settings s = settings_of(ATTSVM_GAUSS);
    s.n = 20000;
    s.d = 100;
    assert_ok(attsvm_generator_create(&g, &s, &err), err);
    int left = 5;
    assert_fails(attsvm_generator_write(g, path, false, until_some, &left, &err), err,
                 ATTSVM_E_STOPPED, "observer");
    assert_int_equal(left, 0);
    assert_int_equal(access(path, F_OK), -1);
    attsvm_generator_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(values_are_pinned),
        cmocka_unit_test(sequences_stand_alone),
        cmocka_unit_test(norms_and_spread),
        cmocka_unit_test(lengths_are_uniform),
        cmocka_unit_test(planted_tokens_lead),
        cmocka_unit_test(words_follow_zipf),
        cmocka_unit_test(onehot_words_are_unit_vectors),
        cmocka_unit_test(next_tokens_come_from_the_context),
        cmocka_unit_test(tied_tokens_repeat),
        cmocka_unit_test(clusters_have_centres),
        cmocka_unit_test(wrong_settings),
        cmocka_unit_test(narrow_types_say_when_they_cannot),
        cmocka_unit_test(halves_are_rounded_once),
        cmocka_unit_test(a_time_limit_ends_generating),
        cmocka_unit_test(an_observer_ends_writing_and_leaves_no_file),
    };
    return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
