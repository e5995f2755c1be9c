/* Softmax problems straight from rows, side by side: the sums that are the gradient. */
#include "kernel_sets.h"

#include <math.h>
#include <string.h>

enum { LONGEST = 42, WIDEST = 33 };

/*
 * The weights in long double, in units of exp(-unit_log), which is M or 0, and how far rounding may
 * take a kernel from them, in units of the roundings on the way.  With x_t = a_t - second:
 *
 *   q_t = exp(x_t)                     relative  |x_t| + 4 (the difference, the exponential)
 *   pull = sum q_t e_t / Z             T + 4 roundings of sum q_t |e_t|, and those of the q_t
 *   w_t = q_t e_t - q_t exp(-M) pull   where the products cancel, what either has lost stays
 *
 * With unit 0 a kernel has a_t - a_top in place of x_t.
 */
static void extended_weights(int64_t T, const double *a, const double *score, double unit_log,
                             long double *w, double *bound)
{
    const double rounding = 0x1p-53;
    int64_t top = 0;
    long double second = -INFINITY, sum = 0, pull = 0, off = 0;
    for (int64_t t = 1; t < T; t++)
        top = a[t] > a[top] ? t : top;
    for (int64_t t = 0; t < T; t++)
        second = t != top && a[t] > second ? a[t] : second;
    const long double M = a[top] - second, far = unit_log == 0 ? M : 0;
    for (int64_t t = 0; t < T; t++) {
        long double x = a[t] - second, q = t == top ? 0 : expl(x);
        long double e = (long double)score[t] - score[top];
        sum += q;
        pull += q * e;
        off += q * fabsl(e) * ((long double)T + 8 + fabsl(x) + far);
    }
    long double unit = expl(-M), Z = 1 + unit * sum;
    pull /= Z;
    off /= Z; /* Z itself is off by less than (T + 4 + M) roundings */
    off += fabsl(pull) * ((long double)T + 8 + M);
    for (int64_t t = 0; t < T; t++) {
        long double x = a[t] - second, q = expl(x), e = (long double)score[t] - score[top];
        long double shift = unit * pull, shift_off = unit * off + fabsl(shift) * (M + 4);
        w[t] = expl(-far) * (t == top ? -pull : q * (e - shift));
        long double lost =
            t == top ? off
                     : q * (2 * fabsl(e) + shift_off + fabsl(e - shift) * (fabsl(x) + far + 6));
        bound[t] = (double)(rounding * expl(-far) * lost) + 1e-300; /* below exp(-700) it is 0 */
    }
}

/* Rows whose first entry is the logit along p = (1, 0, ...): the rest are other numbers. */
typedef struct problems {
    int64_t d, length[LA_MOST_LANES];
    double x[LA_MOST_LANES][LONGEST * WIDEST], score[LA_MOST_LANES][LONGEST];
    double a[(LONGEST + 8) * LA_MOST_LANES], c[(LONGEST + 8) * LA_MOST_LANES],
        w[(LONGEST + 8) * LA_MOST_LANES];
    double sum[LA_MOST_LANES][WIDEST];
} problems;

static void draw_problems(problems *g, base_random *r, int64_t lanes, int64_t d, double scale,
                          bool ragged)
{
    g->d = d;
    for (int64_t k = 0; k < lanes; k++) {
        int64_t T = g->length[k] = ragged ? 2 + (11 * k + d) % (LONGEST - 2) : LONGEST - 1;
        for (int64_t t = 0; t < T; t++) {
            for (int64_t j = 0; j < d; j++)
                g->x[k][t * d + j] = (j == 0 ? scale : 1) * base_random_gauss(r);
            g->score[k][t] = k == 1 && ragged ? 0.25 : base_random_gauss(r);
        }
    }
}

static la_group group_of(problems *g, int64_t lanes, const double *p)
{
    la_group group = { .a = g->a, .c = g->c, .w = g->w };
    memset(g->sum, 0, sizeof g->sum);
    for (int64_t k = 0; k < lanes; k++) {
        group.length[k] = g->length[k];
        group.rows[k] = g->x[k];
        group.p[k] = p;
        group.score[k] = g->score[k];
        group.sum[k] = g->sum[k];
    }
    return group;
}

/* sum_t w_t x_t of the group (own: of each sequence) as the weights in long double have it. */
static void check_sums(const problems *g, const la_group *group, int64_t lanes, bool own,
                       const double *factor, const double *y, bool usual[])
{
    long double sum[WIDEST] = { 0 }, w[LONGEST];
    double bound[WIDEST] = { 0 }, lost[LONGEST], a[LONGEST];
    for (int64_t k = 0; k < lanes; k++) {
        const int64_t T = g->length[k];
        for (int64_t t = 0; t < T; t++)
            a[t] = g->x[k][t * g->d];
        usual[k] = !isnan(group->M[k]);
        if (!usual[k])
            continue;
        extended_weights(T, a, g->score[k], group->M[k], w, lost);
        for (int64_t j = 0; j < g->d; j++) {
            for (int64_t t = 0; t < T; t++) {
                double x = g->x[k][t * g->d + j];
                sum[j] += factor[k] * w[t] * x;
                bound[j] +=
                    fabs(factor[k] * x) * (2 * lost[t] + 64 * 0x1p-53 * (double)fabsl(w[t]));
            }
            if (own) {
                assert_true(fabs((double)(sum[j] - g->sum[k][j])) <= bound[j]);
                sum[j] = bound[j] = 0;
            }
        }
    }
    for (int64_t j = 0; j < g->d && !own; j++)
        assert_true(fabs((double)(sum[j] - y[j])) <= bound[j]);
}

/* The factors of the sequences, and with sums of their own the weights. */
static void set_factors(const la_kernels *kernels, la_group *group, bool own, const double *factor)
{
    memcpy(group->factor, factor, sizeof group->factor);
    if (own)
        kernels->group_weights(group);
}

/*
 * Two groups through the kernels, the second read while the first is added up: sums up to rounding,
 * M, Z and output as of one problem alone, and the same problems left to others.
 */
static void groups_of(const la_kernels *kernels)
{
    static const double scale[] = { 1e-3, 1, 50, 2000 };
    static problems first, second;
    const int64_t lanes = kernels->lanes;
    base_random r = base_random_stream(3, 1);
    for (int64_t d = LA_MOST_LANES; d <= WIDEST; d += 5)
        for (int round = 0; round < 16; round++) {
            const bool own = round & 1, ragged = round & 2;
            double p[WIDEST] = { 1 }, y[2][WIDEST] = { { 0 } }, factor[LA_MOST_LANES] = { 0 };
            draw_problems(&first, &r, lanes, d, scale[round / 4], ragged);
            draw_problems(&second, &r, lanes, d, scale[round / 4], !ragged);
            la_group one = group_of(&first, lanes, p), two = group_of(&second, lanes, p);
            kernels->group_read(ATTSVM_F64, own, d, &one, NULL, NULL);
            kernels->group_weigh(&one, false);
            for (int64_t k = 0; k < lanes; k++)
                factor[k] = isnan(one.M[k]) ? 0 : 0.5 + (double)k;
            set_factors(kernels, &one, own, factor);
            kernels->group_read(ATTSVM_F64, own, d, &two, &one, y[0]);
            bool usual[LA_MOST_LANES] = { false };
            check_sums(&first, &one, lanes, own, factor, y[0], usual);
            kernels->group_weigh(&two, false);
            for (int64_t k = 0; k < lanes; k++) {
                double alone[LONGEST], a[LONGEST];
                la_weighed out;
                for (int64_t t = 0; t < first.length[k]; t++)
                    a[t] = first.x[k][t * d];
                assert_true(kernels->weigh(first.length[k], a, first.score[k], 1, alone, &out) ==
                            usual[k]);
                assert_true(usual[k] == !(k == 1 && ragged));
                if (!usual[k])
                    continue;
                assert_true(one.M[k] == out.M || one.M[k] == 0);
                assert_true(fabs(one.Z[k] - out.Z) <= 1e-14 * out.Z);
                assert_true(fabs(one.output[k] - out.output) <= 1e-14 * (1 + fabs(out.output)));
                factor[k] = 1;
            }
            for (int64_t k = 0; k < lanes; k++)
                factor[k] = isnan(two.M[k]) ? 0 : 1;
            set_factors(kernels, &two, own, factor);
            kernels->group_read(ATTSVM_F64, own, d, NULL, &two, y[1]);
            check_sums(&second, &two, lanes, own, factor, y[1], usual);
        }
}

static void groups_of_problems(void **state)
{
    (void)state;
    for_every_set(groups_of);
}

/* Lanes without a sequence, and sequences of one token, leave no trace. */
static void empty_lanes_of(const la_kernels *kernels)
{
    static problems g;
    const int64_t lanes = kernels->lanes;
    double p[WIDEST] = { 1 }, y[WIDEST] = { 0 }, factor[LA_MOST_LANES] = { 1 };
    base_random r = base_random_stream(5, 1);
    draw_problems(&g, &r, lanes, WIDEST, 1, false);
    for (int64_t k = 1; k < lanes; k++)
        g.length[k] = k % 2 ? 0 : 1;
    la_group group = group_of(&g, lanes, p);
    kernels->group_read(ATTSVM_F64, false, WIDEST, &group, NULL, NULL);
    kernels->group_weigh(&group, false);
    set_factors(kernels, &group, false, factor);
    kernels->group_read(ATTSVM_F64, false, WIDEST, NULL, &group, y);
    bool usual[LA_MOST_LANES] = { false };
    check_sums(&g, &group, lanes, false, factor, y, usual);
    assert_true(usual[0]);
    for (int64_t k = 1; k < lanes; k++)
        assert_false(usual[k]);
}

static void empty_lanes(void **state)
{
    (void)state;
    for_every_set(empty_lanes_of);
}

/* Weights near the least double would lose their digits: they are left to others. */
static void scores_alike_of(const la_kernels *kernels)
{
    static problems g;
    const int64_t lanes = kernels->lanes;
    const double p[WIDEST] = { 1 };
    base_random r = base_random_stream(9, 1);
    for (int alike = 0; alike < 2; alike++) {
        draw_problems(&g, &r, lanes, WIDEST, 1, false);
        for (int64_t k = 0; k < lanes; k++)
            for (int64_t t = 0; t < g.length[k]; t++) {
                g.x[k][t * WIDEST] = t == 2 ? 299 : 0.5 + 0.01 * (double)t;
                g.score[k][t] *= alike ? 1e-60 : 1e-3;
            }
        la_group group = group_of(&g, lanes, p);
        kernels->group_read(ATTSVM_F64, false, WIDEST, &group, NULL, NULL);
        assert_true(kernels->group_weigh(&group, false));
        for (int64_t k = 0; k < lanes; k++)
            assert_true(alike ? isnan(group.M[k]) : group.M[k] == 0);
    }
}

static void scores_alike(void **state)
{
    (void)state;
    for_every_set(scores_alike_of);
}

/*
 * One sequence whose parts are the runs: the sum is that of the sequence.  Where its logits are far
 * apart they stay as they are.
 */
static void parts_of(const la_kernels *kernels)
{
    static problems g;
    const int64_t lanes = kernels->lanes, d = WIDEST;
    base_random r = base_random_stream(7, 1);
    for (int round = 0; round < 40; round++) {
        double p[WIDEST] = { 1 }, y[WIDEST] = { 0 }, factor[LA_MOST_LANES] = { 0 };
        const int64_t T = 2 + round;
        draw_problems(&g, &r, 1, d, round % 4 == 3 ? 2000 : 1, false);
        la_group group = group_of(&g, 1, p);
        for (int64_t k = 0; k < lanes; k++) {
            const int64_t from = k * T / lanes;
            group.length[k] = (k + 1) * T / lanes - from;
            group.rows[k] = g.x[0] + (group.length[k] ? from : 0) * d;
            group.p[k] = p;
            group.score[k] = g.score[0] + from;
            factor[k] = 0.5;
        }
        double least = INFINITY, most = -INFINITY;
        for (int64_t t = 0; t < T; t++) {
            least = fmin(least, g.x[0][t * d]);
            most = fmax(most, g.x[0][t * d]);
        }
        kernels->group_read(ATTSVM_F64, false, d, &group, NULL, NULL);
        assert_true(kernels->group_weigh(&group, true) == (most - least < 300));
        if (most - least >= 300) {
            for (int64_t k = 0; k < lanes; k++)
                for (int64_t t = 0; t < group.length[k]; t++)
                    assert_true(g.a[t * lanes + k] == ((const double *)group.rows[k])[t * d]);
            continue;
        }
        set_factors(kernels, &group, false, factor);
        kernels->group_read(ATTSVM_F64, false, d, NULL, &group, y);
        bool usual[LA_MOST_LANES];
        g.length[0] = T;
        check_sums(&g, &group, 1, false, factor, y, usual);
        assert_true(usual[0]);
    }
}

static void parts_of_a_sequence(void **state)
{
    (void)state;
    for_every_set(parts_of);
}

/* Rows of all places side by side: logits, and sums of rows read before. */
static void check_stream(const la_kernels *kernels, base_random *r, int64_t d)
{
    enum { ROWS = 5 };
    static double x[2][LA_MOST_LANES][ROWS * WIDEST], a[LA_MOST_LANES][ROWS],
        w[LA_MOST_LANES][ROWS];
    double p[WIDEST] = { 0 }, y[WIDEST] = { 0 };
    long double sum[WIDEST] = { 0 };
    la_stream s = { 0 };
    for (int64_t j = 0; j < d; j++)
        p[j] = base_random_gauss(r);
    for (int k = 0; k < kernels->lanes; k++) {
        for (int64_t t = 0; t < ROWS * d; t++) {
            x[0][k][t] = base_random_gauss(r);
            x[1][k][t] = base_random_gauss(r);
        }
        for (int t = 0; t < ROWS; t++) {
            w[k][t] = base_random_gauss(r);
            for (int64_t j = 0; j < d; j++)
                sum[j] += (long double)w[k][t] * x[1][k][t * d + j];
        }
        s.row[k] = (const char *)x[0][k];
        s.a[k] = a[k];
        s.old[k] = (const char *)x[1][k];
        s.w[k] = w[k];
    }
    kernels->stream(ATTSVM_F64, d, ROWS, &s, p, y);
    kernels->stream(ATTSVM_F64, d, ROWS, &s, NULL, y);
    for (int64_t j = 0; j < d; j++)
        assert_true(fabsl(2 * sum[j] - y[j]) <= 1e-13);
    for (int again = 0; again < 2; again++) {
        for (int k = 0; k < kernels->lanes; k++)
            for (int t = 0; t < ROWS; t++) {
                long double dot = 0;
                for (int64_t j = 0; j < d; j++)
                    dot += (long double)p[j] * x[0][k][t * d + j];
                assert_true(fabsl(dot - a[k][t]) <= 1e-13);
                a[k][t] = NAN;
            }
        kernels->stream(ATTSVM_F64, d, ROWS, &s, p, NULL);
    }
}

/* The softmax of one sequence in units of its largest logit is that of `weigh`. */
static void check_stream_weights(const la_kernels *kernels, base_random *r, int64_t T, double scale)
{
    enum { ROOM = 64 + LA_MOST_LANES };
    double a[ROOM], b[ROOM], score[ROOM], w[ROOM], alone[ROOM], shift, least = INFINITY;
    la_weighed out, usual;
    for (int64_t t = 0; t < ROOM; t++) {
        a[t] = b[t] = scale * base_random_gauss(r);
        score[t] = base_random_gauss(r);
        w[t] = 7;
        least = t < T && a[t] < least ? a[t] : least;
    }
    assert_true(kernels->weigh(T, b, score, 1, alone, &usual));
    bool near = kernels->stream_weigh(T, a, score, w, &out, &shift);
    for (int64_t t = 0; t < T; t++)
        near |= b[t] - least >= 300; /* then it may leave them */
    assert_true(near);
    for (int64_t t = T; t < ROOM; t++)
        assert_true(a[t] == b[t]); /* of the next sequence */
    if (scale > 10)
        return;
    assert_true(out.M == 0 && fabs(out.Z - usual.Z) <= 1e-14 * usual.Z);
    assert_true(fabs(out.output - usual.output) <= 1e-14 * (1 + fabs(usual.output)));
    for (int64_t t = T; t < ROOM; t++)
        w[t] = 7;
    kernels->stream_weights(T, a, shift, 2, w);
    for (int64_t t = 0; t < ROOM; t++) {
        double expected = t < T ? 2 * exp(-usual.M) * alone[t] : 7;
        assert_true(fabs(w[t] - expected) <= 1e-13 * (fabs(expected) + exp(-usual.M)));
    }
}

static void streams_of(const la_kernels *kernels)
{
    base_random r = base_random_stream(11, 1);
    for (int64_t d = LA_MOST_LANES; d <= WIDEST; d += 3)
        check_stream(kernels, &r, d);
    for (int64_t T = 2; T <= 60; T++)
        for (double scale = 0.1; scale < 2000; scale *= 10)
            check_stream_weights(kernels, &r, T, scale);
}

static void streams_of_rows(void **state)
{
    (void)state;
    for_every_set(streams_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_problems),  cmocka_unit_test(streams_of_rows),
        cmocka_unit_test(empty_lanes),         cmocka_unit_test(scores_alike),
        cmocka_unit_test(parts_of_a_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
