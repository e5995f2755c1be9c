/* Softmax kernels for many problems, and the pass that reads rows while it adds up others. */
#include "kernel_sets.h"

#include <math.h>
#include <string.h>

enum { PROBLEMS = 23, LONGEST = 41 };

/*
 * The weights in long double, and how far rounding may take a kernel from them, in units of the
 * roundings on the way.  With x_t = a_t - second:
 *   q_t = exp(x_t)                     relative  |x_t| + 4 (the difference, the exponential)
 *   pull = sum q_t e_t / Z             T + 4 roundings of sum q_t |e_t|, and those of the q_t
 *   w_t = q_t (e_t - exp(-M) pull)     where e_t and the shift cancel, what either has lost stays
 */
static void extended_weights(int64_t T, const double *a, const double *score, long double *w,
                             double *bound)
{
    const double rounding = 0x1p-53;
    int64_t top = 0;
    long double second = -INFINITY, sum = 0, pull = 0, off = 0;
    for (int64_t t = 1; t < T; t++)
        top = a[t] > a[top] ? t : top;
    for (int64_t t = 0; t < T; t++)
        second = t != top && a[t] > second ? a[t] : second;
    for (int64_t t = 0; t < T; t++) {
        long double x = a[t] - second, q = t == top ? 0 : expl(x);
        long double e = (long double)score[t] - score[top];
        sum += q;
        pull += q * e;
        off += q * fabsl(e) * ((long double)T + 8 + fabsl(x));
    }
    long double M = a[top] - second, unit = expl(-M), Z = 1 + unit * sum;
    pull /= Z;
    off /= Z; /* Z itself is off by less than (T + 4 + M) roundings */
    off += fabsl(pull) * ((long double)T + 8 + M);
    for (int64_t t = 0; t < T; t++) {
        long double x = a[t] - second, q = expl(x), e = (long double)score[t] - score[top];
        long double shift = unit * pull, shift_off = unit * off + fabsl(shift) * (M + 4);
        w[t] = t == top ? -pull : q * (e - shift);
        long double lost =
            t == top ? off : q * (fabsl(e) + shift_off + fabsl(e - shift) * (fabsl(x) + 6));
        bound[t] = (double)(rounding * lost) + 1e-300; /* below exp(-700) it is 0 */
    }
}

/* Side by side and one by one: the weights up to rounding, the same problems left to others. */
static void many_problems_of(const la_kernels *kernels)
{
    static const double scale[] = { 1e-3, 1, 50, 2000 };
    base_random r = base_random_stream(3, 1);
    for (int round = 0; round < 8; round++) {
        double a[PROBLEMS][LONGEST], score[PROBLEMS][LONGEST], w[PROBLEMS][LONGEST];
        double alone[LONGEST], lanes[4 * PROBLEMS * LONGEST], shift[PROBLEMS], pull[PROBLEMS];
        double factor[PROBLEMS], bound[LONGEST];
        long double exact[LONGEST];
        la_softmax problem[PROBLEMS];
        la_weighed out[PROBLEMS], one;
        la_lane_work work = { lanes, shift, pull };
        for (int s = 0; s < PROBLEMS; s++) {
            int64_t T = round % 2 ? LONGEST - 4 : 30 + (7 * s + round) % (LONGEST - 29);
            for (int64_t t = 0; t < T; t++) {
                a[s][t] = scale[round / 2] * base_random_gauss(&r);
                score[s][t] = base_random_gauss(&r);
            }
            if (s == 5) /* all scores are equal */
                for (int64_t t = 0; t < T; t++)
                    score[s][t] = 0.25;
            problem[s] = (la_softmax){ T, a[s], score[s], w[s] };
            factor[s] = 0.5 + s;
        }
        memset(w, 0, sizeof w);
        kernels->weigh_forward(PROBLEMS, problem, &work, out);
        kernels->weigh_backward(PROBLEMS, problem, &work, out, factor);
        int left = 0;
        for (int s = 0; s < PROBLEMS; s++) {
            const int64_t T = problem[s].T;
            bool usual = kernels->weigh(T, a[s], score[s], 1, alone, &one);
            assert_true(usual == (s != 5));
            left += isnan(out[s].M);
            assert_true(usual || isnan(out[s].M));
            for (int64_t t = 0; isnan(out[s].M) && t < T; t++)
                assert_true(w[s][t] == 0);
            if (isnan(out[s].M))
                continue;
            assert_true(out[s].M == one.M && fabs(out[s].Z - one.Z) <= 1e-14 * one.Z);
            assert_true(fabs(out[s].output - one.output) <= 1e-14 * (1 + fabs(one.output)));
            extended_weights(T, a[s], score[s], exact, bound);
            for (int64_t t = 0; t < T; t++) {
                double apart = (double)fabsl(w[s][t] - factor[s] * exact[t]);
                assert_true(apart <= factor[s] * bound[t]);
                assert_true((double)fabsl(alone[t] - exact[t]) <= bound[t]);
            }
        }
        assert_true(left <= 8); /* at most the lanes of the last group */
    }
}

static void many_problems_at_once(void **state)
{
    (void)state;
    for_every_set(many_problems_of);
}

/* Logits have the bytes of rows_dot, whatever the lengths of the runs. */
static void turns_of(const la_kernels *kernels)
{
    static const int64_t next_rows[3][4] = { { 9, 9, 9, 9 }, { 5, 8, 0, 7 }, { 0, 0, 0, 0 } };
    static const int64_t before_rows[3][4] = { { 8, 8, 8, 8 }, { 3, 0, 17, 30 }, { 1, 2, 3, 4 } };
    base_random r = base_random_stream(4, 1);
    for (int64_t d = 1; d < 40; d += 3)
        for (int c = 0; c < 3; c++) {
            double *x = calloc(100 * (size_t)d, sizeof *x), *p = calloc((size_t)d, sizeof *p);
            double y[100], logits[100], w[100], *sum = calloc(2 * (size_t)d, sizeof *sum);
            for (int64_t j = 0; j < 100 * d; j++)
                x[j] = base_random_gauss(&r);
            for (int64_t j = 0; j < d; j++)
                p[j] = base_random_gauss(&r);
            la_run next[4], before[4];
            int64_t at = 0;
            for (int k = 0; k < 4; at += next_rows[c][k++])
                next[k] = (la_run){ x + at * d, next_rows[c][k], y + at, NULL };
            la_rows first = { x, NULL, at, d, ATTSVM_F64 };
            for (int k = 0; k < 4; k++) {
                before[k] = (la_run){ x + at * d, before_rows[c][k], w + at, NULL };
                for (int64_t t = 0; t < before_rows[c][k]; t++, at++) {
                    w[at] = base_random_gauss(&r);
                    for (int64_t j = 0; j < d; j++)
                        sum[d + j] += w[at] * x[at * d + j];
                }
            }
            kernels->rows_turns(ATTSVM_F64, d, next, p, before, sum);
            kernels->rows_dot(&first, p, logits);
            assert_memory_equal(y, logits, (size_t)first.count * sizeof *y);
            for (int64_t j = 0; j < d; j++)
                assert_true(fabs(sum[j] - sum[d + j]) < 1e-12);
            /* with p and sum of their own: the same p, and the sums of the runs added up */
            double *own = calloc(4 * (size_t)d, sizeof *own);
            for (int k = 0; k < 4; k++) {
                next[k].vector = p;
                before[k].vector = own + k * d;
            }
            memset(y, 0, sizeof y);
            kernels->terms_turns(ATTSVM_F64, d, next, before);
            assert_memory_equal(y, logits, (size_t)first.count * sizeof *y);
            for (int64_t j = 0; j < d; j++)
                assert_true(fabs(own[j] + own[d + j] + own[2 * d + j] + own[3 * d + j] -
                                 sum[d + j]) < 1e-12);
            free(own);
            free(x);
            free(p);
            free(sum);
        }
}

static void turns_match_rows(void **state)
{
    (void)state;
    for_every_set(turns_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_problems_at_once),
        cmocka_unit_test(turns_match_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
