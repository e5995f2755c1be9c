/* train: single steps of every rule, by hand and against extended precision (theory 3). */
#include "unit_train.h"

/* -------------------------------------------------------------------- step rules */

/* One step on a block of known gradient. */
typedef struct one_step {
    double theta[4], states[8], scale, scratch[64];
    train_block s;
} one_step;

static const double known_gradient[] = { 3, -4, 0, 0 };

static void set_step(one_step *o, double log)
{
    *o = (one_step){ .s = { .g = known_gradient,
                            .log_scale = log,
                            .rows = 2,
                            .cols = 2,
                            .count = 4,
                            .lr = 0.5,
                            .max_step = 1,
                            .excess = { 8, -5000 } } };
    o->s.theta = o->theta;
    o->s.state = o->states;
    o->s.scale = &o->scale;
    o->s.scratch = o->scratch;
}

/* From theta = (1, 1, 1, 1) to the expected point. */
static void expect_step(one_step *o, const char *name, double a, double b, double c, double d)
{
    const double wanted[] = { a, b, c, d };
    const train_rule *rule;
    attsvm_error err;
    memset(o->states, 0, sizeof o->states);
    for (int j = 0; j < 4; j++)
        o->theta[j] = 1;
    assert_ok(train_rule_find(name, &rule, &o->s.parameter, &err), err);
    if (rule->start)
        rule->start(&o->s);
    assert_ok(rule->step(&o->s, &err), err);
    for (int j = 0; j < 4; j++)
        if (!(fabs(o->theta[j] - wanted[j]) < 1e-14))
            fail_msg("%s: theta[%d] = %.17g, expected %.17g", name, j, o->theta[j], wanted[j]);
}

static void help_names_every_rule(void **state)
{
    (void)state;
    const char *meaning = NULL;
    for (size_t k = 0; k < attsvm_train_table.count; k++)
        if (strcmp(attsvm_train_table.fields[k].name, "step") == 0)
            meaning = attsvm_train_table.fields[k].meaning;
    assert_non_null(meaning);
    for (const train_rule *rule = train_rules; rule->flag; rule++)
        if (!strstr(meaning, rule->flag))
            fail_msg("the help of --step does not name %s", rule->flag);
}

/* A gradient of exp(-5000) (3, -4, 0, 0). */
static void step_rules_by_hand(void **state)
{
    (void)state;
    one_step o;
    set_step(&o, -5000);
    expect_step(&o, "ngd", 0.7, 1.4, 1, 1);
    o.s.eps = exp(-710); /* with such a gradient this freezes */
    expect_step(&o, "ngd", 1, 1, 1, 1);
    o.s.eps = 0;
    expect_step(&o, "gd", 1, 1, 1, 1); /* the true gradient underflows */
    expect_step(&o, "polyak", 1 - 0.8 * 0.6, 1 + 0.8 * 0.8, 1, 1); /* length 0.5 * 8 / 5 */
    o.s.max_step = 0.5;
    expect_step(&o, "polyak", 0.7, 1.4, 1, 1);
    o.s.excess.value = -1;
    expect_step(&o, "polyak", 1, 1, 1, 1);
    double norm = pow(pow(3, 1.5) + pow(4, 1.5), 2.0 / 3); /* |g|_1.5 */
    expect_step(&o, "nmd:3", sqrt(1 - 1.5 / norm), sqrt(1 + 2 / norm), 1, 1);
    expect_step(&o, "sign", 0.5, 1.5, 1, 1);
    expect_step(&o, "coordinate", 1, 1.5, 1, 1);
    expect_step(&o, "spectral", 0.7, 1.4, 1, 1); /* e_1 (3, -4): one singular value */
    expect_step(&o, "nuclear", 0.7, 1.4, 1, 1);
    expect_step(&o, "muon", 0.7, 1.4, 1, 1);
    expect_step(&o, "signum", 0.5, 1.5, 1, 1);
    expect_step(&o, "adam", 0.5, 1.5, 1, 1); /* 0/0 = 0 in the last two entries */
    o.s.eps = 1e-8;
    expect_step(&o, "adam", 1, 1, 1, 1);
}

static void step_rules_and_their_limits(void **state)
{
    (void)state;
    one_step o;
    const train_rule *rule;
    attsvm_error err;
    set_step(&o, log(0.1));
    expect_step(&o, "gd", 1 - 0.15, 1 + 0.2, 1, 1);
    expect_step(&o, "md:2", 1 - 0.15, 1 + 0.2, 1, 1);
    expect_step(&o, "momentum", 1 - 0.15, 1 + 0.2, 1, 1);
    o.s.eps = 1e-8;
    expect_step(&o, "adam", 1 - 0.5 * 0.3 / (0.3 + 1e-8), 1 + 0.5 * 0.4 / (0.4 + 1e-8), 1, 1);
    o.s.eps = 0;
    o.s.log_scale = -INFINITY; /* an exact zero does not move */
    expect_step(&o, "signum", 1, 1, 1, 1);
    expect_step(&o, "muon", 1, 1, 1, 1);
    expect_step(&o, "nuclear", 1, 1, 1, 1);
    expect_step(&o, "adam", 1, 1, 1, 1);
    expect_step(&o, "ngd", 1, 1, 1, 1);
    expect_step(&o, "nmd:3", 1, 1, 1, 1);
    o.s.log_scale = 0;
    o.s.iter = 100;
    o.s.min_margin = 1;
    expect_step(&o, "rescale:2", 1.7, 2.4, 2, 2); /* settled, so 2 theta first */
    double number;
    assert_fails(train_rule_find("nmd", &rule, &number, &err), err, ATTSVM_E_ARG, "nmd:NUMBER");
    assert_fails(train_rule_find("md:1", &rule, &number, &err), err, ATTSVM_E_ARG, "1");
    assert_fails(train_rule_find("sgd", &rule, &number, &err), err, ATTSVM_E_ARG, "coordinate");
    assert_fails(train_rule_find("ngd:2", &rule, &number, &err), err, ATTSVM_E_ARG, "no number");
}

/* Averages of the same gradients in extended precision, whose range reaches exp(-11000). */
typedef struct averages {
    long double momentum[4], signum[4], mean[4], square[4];
} averages;

static void average_extended(averages *a, const double *g, double log_scale)
{
    for (int j = 0; j < 4; j++) {
        long double G = g[j] * expl(log_scale);
        a->momentum[j] = 0.9L * a->momentum[j] + G;
        a->signum[j] = 0.9L * a->signum[j] + 0.1L * G;
        a->mean[j] = 0.9L * a->mean[j] + 0.1L * G;
        a->square[j] = 0.999L * a->square[j] + 0.001L * G * G;
    }
}

/* One step of a rule that keeps its state; theta is the change. */
static void go_on(one_step *o, const char *name, int64_t iter, const double *g, double log_scale)
{
    const train_rule *rule;
    attsvm_error err;
    assert_ok(train_rule_find(name, &rule, &o->s.parameter, &err), err);
    o->s.g = g;
    o->s.log_scale = log_scale;
    o->s.iter = iter;
    memset(o->theta, 0, sizeof o->theta);
    if (iter == 0)
        rule->start(&o->s);
    assert_ok(rule->step(&o->s, &err), err);
}

/*
 * Gradients that fall to exp(-2600), by up to 0.2 in the logarithm a step and with jumps back up:
 * the averages of momentum, signum, muon and adam (eps = 0) follow those in extended precision.
 */
static void averages_agree_with_extended_precision_past_saturation(void **state)
{
    (void)state;
    const double scale_error = 1e-10; /* a scale of -2600 is rounded by 2e-13 */
    one_step momentum, signum, muon, adam;
    averages a = { { 0 }, { 0 }, { 0 }, { 0 } };
    base_random r = base_random_stream(5, 0);
    double log_scale = 0, g[4];
    set_step(&momentum, 0);
    set_step(&signum, 0);
    set_step(&muon, 0);
    set_step(&adam, 0);
    for (int64_t k = 0; k < 30000; k++) {
        for (int j = 0; j < 4; j++)
            g[j] = base_random_uniform(&r) - 0.5 + (j - 1.5);
        log_scale += k % 1000 == 999 ? 5 : -0.2 * base_random_uniform(&r) * (double)(k % 3);
        average_extended(&a, g, log_scale);
        go_on(&momentum, "momentum", k, g, log_scale);
        go_on(&signum, "signum", k, g, log_scale);
        go_on(&muon, "muon", k, g, log_scale);
        go_on(&adam, "adam", k, g, log_scale);
        const long double unscale = expl(-(long double)momentum.scale),
                          unbias1 = 1 - powl(0.9L, k + 1), unbias2 = 1 - powl(0.999L, k + 1);
        for (int j = 0; j < 4; j++) {
            double wanted = (double)(a.momentum[j] * unscale);
            assert_true(fabs(momentum.states[j] - wanted) <= scale_error * fabs(wanted));
            assert_true(signum.theta[j] == (a.signum[j] > 0 ? -0.5 : 0.5));
            wanted = (double)(a.signum[j] * expl(-(long double)muon.scale));
            assert_true(fabs(muon.states[j] - wanted) <= scale_error * fabs(wanted));
            wanted = (double)(-0.5L * a.mean[j] / unbias1 / sqrtl(a.square[j] / unbias2));
            if (!(fabs(adam.theta[j] - wanted) <= scale_error * fabs(wanted) + 1e-300))
                fail_msg("adam, step %d: %.17g, not %.17g", (int)k, adam.theta[j], wanted);
        }
    }
    assert_true(log_scale < -2500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_names_every_rule),
        cmocka_unit_test(step_rules_by_hand),
        cmocka_unit_test(step_rules_and_their_limits),
        cmocka_unit_test(averages_agree_with_extended_precision_past_saturation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
