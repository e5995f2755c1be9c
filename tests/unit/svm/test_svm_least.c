/* The least vector over dense rows: its optimality conditions, contradictions, warm starts. */
#include "unit.h"

#include "svm/norm/rank/rank.h"

enum { ROWS = 60, SIZE = 9 };

typedef struct dense {
    double u[ROWS * SIZE], v[1], b[ROWS], x[SIZE];
    int64_t term[ROWS];
    uint8_t equal[ROWS];
    bool spent;
    svm_small part;
    dense_qp work;
    void *memory;
} dense;

static void open_rows(dense *s, int64_t rows, int64_t size)
{
    attsvm_error err;
    arena a = { 0 };
    s->v[0] = 1;
    s->part = (svm_small){ .rows = rows,
                           .terms = 1,
                           .p = size,
                           .q = 1,
                           .u = s->u,
                           .v = s->v,
                           .b = s->b,
                           .term = s->term,
                           .equal = s->equal,
                           .most = 100000,
                           .spent = &s->spent };
    dense_qp_layout(&s->work, &a, rows, size);
    assert_ok(base_arena_allocate(&a, "test", &err), err);
    s->memory = a.base;
    dense_qp_layout(&s->work, &a, rows, size);
}

/* All rows hold, and x is the sum of active rows, which are tight, with positive weights. */
static void check_optimum(const dense *s)
{
    int64_t size = s->part.p;
    double sum[SIZE] = { 0 }, length = 0;
    for (int64_t j = 0; j < size; j++)
        length = hypot(length, s->x[j]);
    for (int64_t r = 0; r < s->part.rows; r++) {
        double margin = la_dot(s->u + r * size, s->x, size), norm = la_norm(s->u + r * size, size);
        assert_true(margin >= s->b[r] - 1e-9 * (1 + norm * length));
    }
    for (int64_t k = 0; k < s->work.count; k++) {
        int64_t r = s->work.active[k];
        assert_true(s->work.lambda[k] >= -1e-9 * length);
        assert_double_equal(la_dot(s->u + r * size, s->x, size), s->b[r], 1e-9 * (1 + length));
        la_axpy(s->work.lambda[k], s->u + r * size, sum, size);
    }
    for (int64_t j = 0; j < size; j++)
        assert_double_equal(sum[j], s->x[j], 1e-9 * (1 + length));
}

static void random_rows(void **state)
{
    (void)state;
    static dense s;
    int feasible = 0, contradictions = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        base_random r = base_random_stream(seed, 0);
        int64_t rows = 1 + base_random_below(&r, ROWS), size = 1 + base_random_below(&r, SIZE);
        int64_t iterations = 0;
        bool planted = seed % 2;
        double inside[SIZE];
        open_rows(&s, rows, size);
        for (int64_t j = 0; j < size; j++)
            inside[j] = base_random_gauss(&r);
        for (int64_t k = 0; k < rows; k++) {
            double *u = s.u + k * size, along = 0;
            bool copy = k > 0 && base_random_below(&r, 8) == 0; /* rows that depend on others */
            for (int64_t j = 0; j < size; j++) {
                u[j] = copy ? 2 * u[j - size] : base_random_gauss(&r);
                along += u[j] * inside[j];
            }
            s.b[k] = planted ? along - 0.2 * base_random_uniform(&r) : 1 - 2 * (k % 9 == 0);
        }
        /* the same rows twice: cold, then from the active rows */
        for (int turn = 0; turn < 2; turn++) {
            bool met = dense_qp_solve(&s.work, &s.part, s.x, &iterations);
            assert_true(met || !planted);
            feasible += met;
            contradictions += !met;
            if (met)
                check_optimum(&s);
            for (int64_t k = 0; k < rows; k++) /* still met at the planted point */
                s.b[k] -= 0.01 * base_random_uniform(&r);
        }
        free(s.memory);
    }
    assert_true(feasible > 450 && contradictions > 50);
}

/* x >= 1, -x >= -2 and, in turn, a row that leaves room or none. */
static void contradictions_are_found(void **state)
{
    (void)state;
    static dense s;
    int64_t iterations = 0;
    open_rows(&s, 3, 2);
    memcpy(s.u, (double[]){ 1, 0, -1, 0, 1, 0 }, 6 * sizeof(double));
    memcpy(s.b, (double[]){ 1, -2, 1.5 }, 3 * sizeof(double));
    assert_true(dense_qp_solve(&s.work, &s.part, s.x, &iterations));
    assert_double_equal(s.x[0], 1.5, 1e-14);
    assert_double_equal(s.x[1], 0, 1e-14);
    s.b[2] = 2.5;
    assert_false(dense_qp_solve(&s.work, &s.part, s.x, &iterations));
    memset(s.u + 4, 0, 2 * sizeof(double)); /* 0 >= 1 */
    assert_false(dense_qp_solve(&s.work, &s.part, s.x, &iterations));
    s.b[2] = -1; /* 0 >= -1 */
    assert_true(dense_qp_solve(&s.work, &s.part, s.x, &iterations));
    assert_double_equal(s.x[0], 1, 1e-14);
    s.part.most = iterations; /* no iterations are left */
    s.work.count = 0;
    assert_false(dense_qp_solve(&s.work, &s.part, s.x, &iterations));
    assert_true(s.spent);
    free(s.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_rows),
                                        cmocka_unit_test(contradictions_are_found) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
