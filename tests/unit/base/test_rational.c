/* Exact solutions of integer systems. */
#include "base/rational.h"
#include "unit.h"

enum { MOST = 12 };

static void set(mpz_t *a, const long *values, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        mpz_set_si(a[k], values[k]);
}

/* [2 1; 1 3] x = [1 3; 2 4]: x = [1/5 1; 3/5 1]. */
static void two_equations_with_two_sides(void **state)
{
    (void)state;
    attsvm_error err;
    mpz_t *M = base_rational_integers(4, &err), *r = base_rational_integers(4, &err),
          *y = base_rational_integers(4, &err), det;
    bool solved;
    mpz_init(det);
    set(M, (long[]){ 2, 1, 1, 3 }, 4);
    set(r, (long[]){ 1, 3, 2, 4 }, 4);
    assert_ok(base_rational_solve(M, r, 2, 2, y, det, NULL, &solved, &err), err);
    assert_true(solved);
    assert_int_equal(mpz_get_si(det), 5);
    const long wanted[] = { 1, 5, 3, 5 };
    for (int k = 0; k < 4; k++)
        assert_int_equal(mpz_get_si(y[k]), wanted[k]);
    set(M, (long[]){ 2, 1, 4, 2 }, 4); /* singular */
    assert_ok(base_rational_solve(M, r, 2, 2, y, det, NULL, &solved, &err), err);
    assert_false(solved);
    mpz_clear(det);
    base_rational_free(M, 4);
    base_rational_free(r, 4);
    base_rational_free(y, 4);
}

/* Entries of up to 300 bits: M y = det r, substituted. */
static void long_numbers(void **state)
{
    (void)state;
    attsvm_error err;
    gmp_randstate_t random;
    gmp_randinit_default(random);
    mpz_t det, sum;
    mpz_init(det);
    mpz_init(sum);
    for (int64_t n = 1; n <= MOST; n++) {
        mpz_t *M = base_rational_integers(n * n, &err), *r = base_rational_integers(n, &err),
              *y = base_rational_integers(n, &err);
        bool solved;
        for (int64_t k = 0; k < n * n; k++) {
            mpz_rrandomb(M[k], random, (mp_bitcnt_t)(25 * n));
            if (k % 3 == 0)
                mpz_neg(M[k], M[k]);
            mpz_rrandomb(r[k % n], random, (mp_bitcnt_t)(40 * n));
        }
        assert_ok(base_rational_solve(M, r, n, 1, y, det, NULL, &solved, &err), err);
        assert_true(solved && mpz_sgn(det) > 0);
        for (int64_t i = 0; i < n; i++) {
            mpz_mul(sum, det, r[i]);
            for (int64_t j = 0; j < n; j++)
                mpz_submul(sum, M[i * n + j], y[j]);
            assert_int_equal(mpz_sgn(sum), 0);
        }
        base_rational_free(M, n * n);
        base_rational_free(r, n);
        base_rational_free(y, n);
    }
    mpz_clear(det);
    mpz_clear(sum);
    gmp_randclear(random);
}

/* Work beyond the limit is refused, and missing memory is an error. */
static void limits(void **state)
{
    (void)state;
    attsvm_error err;
    mpz_t *M = base_rational_integers(1, &err), *r = base_rational_integers(1, &err),
          *y = base_rational_integers(1, &err), det;
    bool solved;
    mpz_init(det);
    mpz_set_ui(M[0], 3);
    mpz_mul_2exp(M[0], M[0], 10000000);
    mpz_set_ui(r[0], 1);
    assert_ok(base_rational_solve(M, r, 1, 1, y, det, NULL, &solved, &err), err);
    assert_false(solved);
    assert_int_equal(base_rational_probe(0x1p60, 64, "numbers", &err), ATTSVM_E_MEMORY);
    mpz_clear(det);
    base_rational_free(M, 1);
    base_rational_free(r, 1);
    base_rational_free(y, 1);
}

typedef struct counter {
    int64_t calls, most;
} counter;

static bool stop_after(void *context, double work)
{
    counter *c = context;
    assert_true(work > 0 && work < 1e4);
    return ++c->calls > c->most;
}

/* Stopped at one of its questions, which come often, it ends without another one. */
static void a_stop_at_every_question(void **state)
{
    (void)state;
    attsvm_error err;
    gmp_randstate_t random;
    gmp_randinit_default(random);
    mpz_t *M = base_rational_integers(MOST * MOST, &err),
          *r = base_rational_integers(2 * MOST, &err), *y = base_rational_integers(2 * MOST, &err);
    mpz_t det;
    mpz_init(det);
    for (int64_t k = 0; k < MOST * MOST; k++)
        mpz_urandomb(M[k], random, 100);
    for (int64_t k = 0; k < 2 * MOST; k++)
        mpz_urandomb(r[k], random, 100);
    counter c = { 0 };
    bool solved = false;
    for (; !solved; c.most += 1 + c.most / 8) {
        c.calls = 0;
        assert_ok(base_rational_solve(M, r, MOST, 2, y, det, &(base_ask){ stop_after, &c }, &solved,
                                      &err),
                  err);
        assert_true(solved ? c.calls <= c.most : c.calls == c.most + 1);
    }
    assert_true(c.calls > 1000);
    mpz_clear(det);
    gmp_randclear(random);
    base_rational_free(M, MOST * MOST);
    base_rational_free(r, 2 * MOST);
    base_rational_free(y, 2 * MOST);
}

/* Doubles are exact modulo the prime: the last digit of one entry changes the rank. */
static void rank_of_doubles(void **state)
{
    (void)state;
    const double rows[3][3] = { { 0.1, -0.3, 0x1p-1074 },
                                { 0.2, -0.6, 0x1p-1073 },
                                { 0, 3e300, 0 } };
    for (int change = 0; change < 2; change++) {
        uint64_t M[9], one = 1;
        for (int k = 0; k < 9; k++)
            M[k] = base_rational_dot(&one, &rows[k / 3][k % 3], 1);
        double next = nextafter(0.2, 1);
        if (change)
            M[3] = base_rational_dot(&one, &next, 1);
        assert_int_equal(base_rational_rank(M, 3, 3), change ? 3 : 2);
    }
    uint64_t u[] = { 3, 5 };
    assert_int_equal(base_rational_dot(u, (double[]){ 4, -2 }, 2), 2);
    assert_int_equal(base_rational_times(1, base_rational_dot(u, (double[]){ 0.5, 0.5 }, 2)), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_equations_with_two_sides),
        cmocka_unit_test(long_numbers),
        cmocka_unit_test(limits),
        cmocka_unit_test(a_stop_at_every_question),
        cmocka_unit_test(rank_of_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
