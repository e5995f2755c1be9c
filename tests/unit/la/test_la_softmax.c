/* The weights of one softmax problem, tokens along the lanes. */
#include "kernel_sets.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 70 };

/*
 * The weights in long double, in units of exp(-M), and how far rounding may take a kernel from
 * them, in units of the roundings on the way.  With x_t = a_t - second:
 *
 *   q_t = exp(x_t)                     relative  |x_t| + 4 (the difference, the exponential)
 *   pull = sum q_t e_t / Z             T + 4 roundings of sum q_t |e_t|, and those of the q_t
 *   w_t = q_t e_t - q_t exp(-M) pull   where the products cancel, what either has lost stays
 */
static long double extended_weights(int64_t T, const double *a, const double *score, long double *w,
                                    double *bound)
{
    const double rounding = 0x1p-53;
    int64_t top = 0;
    long double second = -INFINITY, sum = 0, pull = 0, off = 0;
    for (int64_t t = 1; t < T; t++)
        top = a[t] > a[top] ? t : top;
    for (int64_t t = 0; t < T; t++)
        second = t != top && a[t] > second ? a[t] : second;
    const long double M = a[top] - second;
    for (int64_t t = 0; t < T; t++) {
        long double x = a[t] - second, q = t == top ? 0 : expl(x);
        long double e = (long double)score[t] - score[top];
        sum += q;
        pull += q * e;
        off += q * fabsl(e) * ((long double)T + 8 + fabsl(x));
    }
    const long double unit = expl(-M), Z = 1 + unit * sum;
    pull /= Z;
    off /= Z; /* Z itself is off by less than (T + 4 + M) roundings */
    off += fabsl(pull) * ((long double)T + 8 + M);
    for (int64_t t = 0; t < T; t++) {
        long double x = a[t] - second, q = expl(x), e = (long double)score[t] - score[top];
        long double shift = unit * pull, shift_off = unit * off + fabsl(shift) * (M + 4);
        w[t] = t == top ? -pull : q * (e - shift);
        long double lost =
            t == top ? off : q * (2 * fabsl(e) + shift_off + fabsl(e - shift) * (fabsl(x) + 6));
        bound[t] = (double)(rounding * lost) + 1e-300; /* below exp(-700) it is 0 */
    }
    return Z;
}

static void weights_of(const la_kernels *kernels)
{
    static const double scales[] = { 0.1, 3, 100, 1e4 };
    base_random r = base_random_stream(90, 0);
    for (int64_t T = 2; T <= LONGEST; T++)
        for (int k = 0; k < 4; k++) {
            double *a = room_for(T), *before = room_for(T), *score = room_for(T), *w = room_for(T);
            double bound[LONGEST];
            long double expected[LONGEST];
            la_weighed out;
            base_random_gauss_fill(&r, a, T);
            base_random_gauss_fill(&r, score, T);
            for (int64_t t = 0; t < T; t++)
                before[t] = a[t] *= scales[k];
            assert_true(kernels->weigh(T, a, score, 1, w, &out));
            assert_memory_equal(a, before, (size_t)T * sizeof *a);
            long double Z = extended_weights(T, a, score, expected, bound);
            assert_true(fabsl(out.Z - Z) <= 0x1p-52 * ((double)T + 8 + out.M) * Z);
            for (int64_t t = 0; t < T; t++)
                assert_true(fabsl(w[t] - expected[t]) <= bound[t]);
            assert_true(kernels->weigh(T, a, score, -1, w, &out)); /* the other label: all turned */
            for (int64_t t = 0; t < T; t++)
                assert_true(fabsl(w[t] + expected[t]) <= bound[t]);
            free(a);
            free(before);
            free(score);
            free(w);
        }
}

static void weights_against_long_double(void **state)
{
    (void)state;
    for_every_set(weights_of);
}

static void left_of(const la_kernels *kernels)
{
    double a[9] = { 1, 5, 2, 0, 0, 0, 0, 0, 3 }, w[9], before[9];
    double score[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 2 };
    la_weighed out;
    memcpy(before, a, sizeof a);
    assert_false(kernels->weigh(9, a, score, 1, w, &out)); /* the last has the score of the top */
    assert_memory_equal(a, before, sizeof a);
    assert_false(kernels->weigh(1, a, score, 1, w, &out));
    assert_true(kernels->weigh(8, a, score, 1, w, &out)); /* without it */
    score[2] = 1;                                         /* two others of one score are as any */
    assert_true(kernels->weigh(8, a, score, 1, w, &out));
    a[0] = a[1] = a[2] = NAN;
    assert_false(kernels->weigh(3, a, score, 1, w, &out));
}

static void equal_scores_and_single_tokens_are_left(void **state)
{
    (void)state;
    for_every_set(left_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_against_long_double),
        cmocka_unit_test(equal_scores_and_single_tokens_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
