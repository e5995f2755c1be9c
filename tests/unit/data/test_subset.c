/* A subset behaves like a data set with copies of its sequences. */
#include "unit.h"

#include "attsvm/attsvm.h"

#include <stdlib.h>
#include <string.h>

static attsvm_data *generate(int32_t kind, int64_t T_min, int64_t queries)
{
    attsvm_error err;
    attsvm_data *data;
    attsvm_generate_settings s;
    attsvm_generate_settings_init(&s);
    s.kind = kind;
    s.n = 12;
    s.T = 5;
    s.T_min = T_min;
    s.d = 9;
    s.queries = queries;
    s.seed = 3;
    assert_ok(attsvm_data_generate(&data, &s, &err), err);
    return data;
}

/* Copies of the sequences, ragged. */
typedef struct copied {
    double *X, *Z, *v;
    int64_t *offsets, *ids;
    int8_t *Y;
    attsvm_data *data;
} copied;

static copied copy(const attsvm_data *data, const int64_t *indices, int64_t count)
{
    attsvm_data_info info = attsvm_data_describe(data);
    const int64_t d = info.d, M = info.queries;
    const attsvm_array *Z = attsvm_data_array(data, "Z"), *v = attsvm_data_array(data, "v");
    const attsvm_array *ids = attsvm_data_array(data, "ids");
    copied c = { .X = calloc((size_t)(count * info.T_max * d), sizeof(double)),
                 .Z = calloc((size_t)(count * M * d + 1), sizeof(double)),
                 .v = calloc((size_t)d, sizeof(double)),
                 .offsets = calloc((size_t)count + 1, sizeof(int64_t)),
                 .ids = calloc((size_t)(count * (M + 1)), sizeof(int64_t)),
                 .Y = calloc((size_t)count, 1) };
    const int64_t each = ids ? attsvm_array_count(ids) / info.n : 0;
    for (int64_t k = 0, at = 0; k < count; k++) {
        const int64_t i = indices[k];
        for (int64_t t = 0; t < attsvm_data_length(data, i); t++, at++)
            attsvm_data_token(data, i, t, c.X + at * d);
        c.offsets[k + 1] = at;
        c.Y[k] = (int8_t)attsvm_data_label(data, i);
        for (int64_t j = 0; j < M * d; j++)
            c.Z[k * M * d + j] = attsvm_array_get(Z, i * M * d + j);
        for (int64_t j = 0; j < each; j++)
            c.ids[k * each + j] = (int64_t)attsvm_array_get(ids, i * each + j);
    }
    for (int64_t j = 0; j < d; j++)
        c.v[j] = attsvm_array_get(v, j);
    attsvm_named_array arrays[6] = {
        { "X", { c.X, { c.offsets[count], d }, 2, ATTSVM_F64 } },
        { "offsets", { c.offsets, { count + 1 }, 1, ATTSVM_I64 } },
        { "Y", { c.Y, { count }, 1, ATTSVM_I8 } },
        { "v", { c.v, { d }, 1, ATTSVM_F64 } },
    };
    int64_t n = 4;
    if (Z)
        arrays[n++] = (attsvm_named_array){ "Z", { c.Z, { count, M, d }, 3, ATTSVM_F64 } };
    if (ids)
        arrays[n++] = (attsvm_named_array){ "ids", { c.ids, { count * each }, 1, ATTSVM_I64 } };
    attsvm_error err;
    assert_ok(attsvm_data_create(&c.data, arrays, n, NULL, &err), err);
    return c;
}

static void forget(copied *c)
{
    attsvm_data_free(c->data);
    free(c->X);
    free(c->Z);
    free(c->v);
    free(c->offsets);
    free(c->ids);
    free(c->Y);
}

/* The verdict on a run, its solution through the checker, and theta, all in `out` (theta: 81). */
typedef struct answers {
    double theta[81], solution[81];
    attsvm_verdict verdict;
    bool valid;
} answers;

static answers ask(const attsvm_data *data, int32_t model)
{
    answers a = { 0 };
    attsvm_error err;
    attsvm_train_settings s;
    attsvm_train *run;
    attsvm_solution *solution = NULL;
    attsvm_train_settings_init(&s);
    s.model = model;
    s.iters = 400;
    s.lr = 0.5;
    assert_ok(attsvm_train_create(&run, data, &s, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(run, NULL, NULL, &err), err);
    int64_t count;
    const double *theta = attsvm_train_theta(run, &count);
    memcpy(a.theta, theta, (size_t)count * sizeof *theta);
    assert_ok(attsvm_verdict_compute(&a.verdict, run, NULL, NULL, NULL, &solution, &err), err);
    attsvm_claim claim = attsvm_solution_claim(solution);
    memcpy(a.solution, claim.theta, (size_t)claim.theta_count * sizeof *theta);
    attsvm_report report;
    assert_ok(attsvm_check(&report, data, &claim, NULL, NULL, NULL, &err), err);
    a.valid = report.valid;
    attsvm_solution_free(solution);
    attsvm_train_free(run);
    return a;
}

static void answers_as_a_copy(void **state)
{
    (void)state;
    static const struct {
        int32_t kind;
        int64_t T_min, queries;
    } cases[] = { { ATTSVM_PLANTED_P, 0, 0 },
                  { ATTSVM_PLANTED_P, 2, 0 },
                  { ATTSVM_PLANTED_W, 2, 2 },
                  { ATTSVM_VOCABULARY, 2, 0 },
                  { ATTSVM_GAUSS, 0, 1 } };
    static const int64_t indices[] = { 7, 2, 11, 0, 2, 5 };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_error err;
        attsvm_data *whole = generate(cases[k].kind, cases[k].T_min, cases[k].queries), *part,
                    *half;
        assert_ok(attsvm_data_subset(&part, whole, indices, 6, &err), err);
        copied c = copy(whole, indices, 6);
        attsvm_data_info a = attsvm_data_describe(part), b = attsvm_data_describe(c.data);
        assert_true(a.n == 6 && a.tokens == b.tokens && a.T_min == b.T_min && a.T_max == b.T_max);
        assert_true(a.positive == b.positive && a.negative == b.negative && a.queries == b.queries);
        const bool queries = cases[k].queries > 0;
        for (int64_t j = 0; j < (queries ? 2 : 1); j++) {
            const int32_t model = j == 0 ? ATTSVM_MODEL_P : ATTSVM_MODEL_W;
            answers x = ask(part, model), y = ask(c.data, model);
            assert_memory_equal(x.theta, y.theta, sizeof x.theta);
            assert_memory_equal(x.solution, y.solution, sizeof x.solution);
            assert_true(x.valid && y.valid && x.verdict.kind == y.verdict.kind);
            assert_true(x.verdict.correlation == y.verdict.correlation);
        }
        const attsvm_array *ids = attsvm_data_array(part, "ids");
        for (int64_t j = 0; ids && j < attsvm_array_count(ids); j++)
            assert_true(attsvm_array_get(ids, j) == (double)c.ids[j]);
        /* a subset of a subset */
        assert_ok(attsvm_data_subset(&half, part, (int64_t[]){ 5, 0 }, 2, &err), err);
        double p[9], q[9];
        attsvm_data_token(half, 1, 1, p);
        attsvm_data_token(whole, 7, 1, q);
        assert_memory_equal(p, q, sizeof p);
        attsvm_data_free(half);
        attsvm_data_free(part);
        attsvm_data_free(whole);
        forget(&c);
    }
}

static void wrong_indices(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_data *data = generate(ATTSVM_GAUSS, 0, 0), *part = data;
    int64_t bad[2] = { 3, 12 };
    assert_int_equal(attsvm_data_subset(&part, data, bad, 2, &err), ATTSVM_E_ARG);
    assert_null(part);
    assert_non_null(strstr(err.message, "indices[1] = 12 is not in 0..11"));
    bad[1] = -1;
    assert_int_equal(attsvm_data_subset(&part, data, bad, 2, &err), ATTSVM_E_ARG);
    assert_int_equal(attsvm_data_subset(&part, data, bad, 0, &err), ATTSVM_E_ARG);
    assert_int_equal(attsvm_data_subset(&part, data, NULL, 1, &err), ATTSVM_E_ARG);
    assert_int_equal(attsvm_data_subset(&part, NULL, bad, 1, &err), ATTSVM_E_ARG);
    assert_int_equal(attsvm_data_subset(NULL, data, bad, 1, &err), ATTSVM_E_ARG);
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_as_a_copy),
        cmocka_unit_test(wrong_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
