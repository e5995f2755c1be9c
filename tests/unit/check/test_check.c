#include "claims.h"

/* ---------------------------------------------------------------------- p, and tampering */

static void two_tokens_on_a_line(void **state)
{
    (void)state;
    line l;
    line_open(&l);
    attsvm_report report = verdict(l.data, &l.claim);
    assert_true(report.valid && report.outcome == ATTSVM_OPTIMAL);
    assert_true(report.norm == 1 && report.dual_norm == 1 && report.gap <= 1e-27 &&
                report.dual <= 1 && report.dual > 1 - 1e-15);
    assert_true(report.min_margin == 1 && report.violation == 0);
    assert_true(report.tight == 1 && report.active == 1 && report.merged == 0);
    attsvm_data_free(l.data);
}

static void wrong_by_a_billionth(void **state)
{
    (void)state;
    line l;
    line_open(&l);
    l.theta[0] = 1 - 1e-9; /* the row fails */
    assert_rejected(l.data, &l.claim, "(sequence 0, token 1) has margin 0.999999999");
    l.theta[0] = nextafter(1, 0); /* theta/kappa is the point that counts */
    assert_valid(l.data, &l.claim);
    l.theta[0] = 1 + 1e-9;
    assert_rejected(l.data, &l.claim, "has margin 1.000000001");
    l.theta[0] = 1;
    l.theta[1] = 1e-4; /* the same, by a turn: 1 - cos = 5e-9 */
    assert_rejected(l.data, &l.claim, "gap of the norm is 5.000e-09");
    l.theta[1] = 0;
    l.lambda[0] = 7; /* multipliers count up to a factor */
    assert_valid(l.data, &l.claim);
    l.lambda[0] = 0;
    assert_rejected(l.data, &l.claim, "gap of the norm is 1.000e+00");
    l.lambda[0] = 1;
    assert_valid(l.data, &l.claim);
    l.X[0] = 1 + 1e-9; /* other data: mapped arrays change under us */
    assert_rejected(l.data, &l.claim, "has margin 1.000000001");
    l.X[0] = 1 - 1e-9;
    assert_rejected(l.data, &l.claim, "has margin");
    attsvm_data_free(l.data);
}

static void nonsense_in_a_claim(void **state)
{
    (void)state;
    line l;
    line_open(&l);
    const double values[] = { -1, NAN, INFINITY };
    const char *const says[] = { "negative", "not a finite number", "not a finite number" };
    for (int k = 0; k < 3; k++) {
        l.lambda[0] = values[k];
        assert_rejected(l.data, &l.claim, says[k]);
    }
    l.lambda[0] = 1;
    l.theta[1] = NAN;
    assert_rejected(l.data, &l.claim, "theta[1] is not a finite number");
    l.theta[1] = 0;
    l.active[0].token = 0;
    assert_rejected(l.data, &l.claim, "it is the selected token itself");
    l.active[0].token = 2;
    assert_rejected(l.data, &l.claim, "token 2 of sequence 0, which is not in 0..1");
    l.active[0] = (attsvm_row){ 1, 0, 1 };
    assert_rejected(l.data, &l.claim, "sequence 1, which is not in 0..0");
    l.active[0] = (attsvm_row){ -1, 0, 1 };
    assert_rejected(l.data, &l.claim, "sequence -1");
    l.active[0] = (attsvm_row){ 0, 1, 1 };
    assert_rejected(l.data, &l.claim, "query 1 of sequence 0");
    l.active[0] = (attsvm_row){ 0, 0, 1 };
    attsvm_row twice[2] = { { 0, 0, 1 }, { 0, 0, 1 } };
    double halves[2] = { 0.5, 0.5 };
    PROOF(l.claim, l.theta, twice, halves);
    assert_rejected(l.data, &l.claim, "has two multipliers");
    PROOF(l.claim, l.theta, l.active, l.lambda);
    l.claim.theta_count = 4;
    assert_rejected(l.data, &l.claim, "theta has 4 entries; this problem has 2");
    l.claim.theta_count = 2;
    l.alpha[0] = 2;
    assert_rejected(l.data, &l.claim, "ids[0] = 2 is not in 0..1");
    l.alpha[0] = 1; /* the other token: the row turns round */
    assert_rejected(l.data, &l.claim, "has margin -1");
    l.alpha[0] = 0;
    l.claim.active = NULL;
    assert_rejected(l.data, &l.claim, "incomplete");
    l.claim.active = l.active;
    l.claim.selection.alpha = NULL;
    assert_rejected(l.data, &l.claim, "no selection");
    l.claim.selection.alpha = l.alpha;
    assert_valid(l.data, &l.claim);
    attsvm_data_free(l.data);
}

static void claimed_outcome(void **state)
{
    (void)state;
    line l;
    line_open(&l);
    l.claim.outcome = ATTSVM_INFEASIBLE; /* eps = 1 */
    assert_rejected(l.data, &l.claim, "a solution of norm 1.000e+00 remains possible");
    l.claim.outcome = ATTSVM_STALLED;
    assert_rejected(l.data, &l.claim, "claims no proof");
    l.claim.outcome = ATTSVM_NOT_RUN;
    assert_rejected(l.data, &l.claim, "no outcome");
    attsvm_error err;
    attsvm_report report;
    l.claim.settings.norm = 99;
    assert_fails(attsvm_check(&report, l.data, &l.claim, NULL, NULL, NULL, &err), err, ATTSVM_E_ARG,
                 "norm = 99");
    attsvm_data_free(l.data);
}

static void rows_that_carry_nothing(void **state)
{
    (void)state;
    /* an inactive rival far away is fine; one that cuts theta off is not */
    double X[6] = { 1, 0, 0, 0, -5, 3 }, theta[2] = { 1, 0 }, lambda[1] = { 1 };
    int64_t alpha[1] = { 0 };
    attsvm_row active[1] = { { 0, 0, 1 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.selection.alpha = alpha;
    PROOF(claim, theta, active, lambda);
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X });
    assert_valid(data, &claim);
    X[4] = 1e-9;
    assert_rejected(data, &claim, "(sequence 0, token 2) has margin 0.999999999");
    X[4] = 0; /* tight without a multiplier */
    attsvm_report report = verdict(data, &claim);
    assert_true(report.valid && report.tight == 2 && report.active == 1);
    attsvm_data_free(data);
    /* one token a sequence: no rows, theta = 0 */
    double nothing[2] = { 0, 0 };
    PROOF(claim, nothing, active, lambda);
    claim.active_count = 0;
    data = open_set((token_set){ .n = 2, .T = 1, .d = 2, .X = X });
    claim.selection.alpha = (int64_t[]){ 0, 0 };
    report = verdict(data, &claim);
    assert_true(report.valid && report.norm == 0 && report.gap == 0 && isnan(report.min_margin));
    nothing[0] = 1e-300;
    assert_rejected(data, &claim, "gap of the norm is 1.000e+00");
    attsvm_data_free(data);
}

static void key_map(void **state)
{
    (void)state;
    /* k = W x with W = ((0,2),(1,0)): delta (1,0) has key (0,1), so p = (0,1) */
    double X[4] = { 1, 0, 0, 0 }, W[4] = { 0, 2, 1, 0 }, theta[2] = { 0, 1 }, lambda[1] = { 1 };
    int64_t alpha[1] = { 0 };
    attsvm_row active[1] = { { 0, 0, 1 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.selection.alpha = alpha;
    PROOF(claim, theta, active, lambda);
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X, .W = W });
    assert_valid(data, &claim);
    theta[0] = 1;
    theta[1] = 0;
    assert_rejected(data, &claim, "has margin 0");
    attsvm_data_free(data);
}

/* ------------------------------------------------------------------------ copies */

static void copies_of_the_selected_token(void **state)
{
    (void)state;
    double X[6] = { 1, 0, 0, 0, 1, 0 }, theta[2] = { 1, 0 }, lambda[1] = { 1 };
    int64_t alpha[1] = { 0 };
    attsvm_row active[1] = { { 0, 0, 1 } }, copy[1] = { { 0, 0, 2 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.selection.alpha = alpha;
    PROOF(claim, theta, active, lambda);
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X });
    attsvm_report report = verdict(data, &claim);
    assert_true(report.valid && report.merged == 1);
    claim.settings.duplicates = ATTSVM_DUPLICATES_STRICT;
    assert_rejected(data, &claim, "(sequence 0, token 2) has margin 0");
    /* strict: the zero row is a contradiction by itself; merged it is no row */
    double nowhere[2] = { NAN, NAN };
    PROOF(claim, nowhere, copy, lambda);
    claim.outcome = ATTSVM_INFEASIBLE;
    report = verdict(data, &claim);
    assert_true(report.valid && report.dual_norm == 0);
    claim.settings.duplicates = ATTSVM_DUPLICATES_MERGE;
    assert_rejected(data, &claim, "it is a copy of the selected token");
    attsvm_data_free(data);
}

static void same_key_other_score(void **state)
{
    (void)state;
    /* W drops the third coordinate, which is all that the head sees */
    double X[6] = { 1, 0, 2, 1, 0, 3 }, W[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 }, v[3] = { 0, 0, 1 };
    double theta[3] = { NAN, NAN, NAN }, lambda[1] = { 1 };
    int64_t alpha[1] = { 1 };
    attsvm_row active[1] = { { 0, 0, 0 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.outcome = ATTSVM_INFEASIBLE;
    claim.selection.alpha = alpha;
    PROOF(claim, theta, active, lambda);
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 3, .X = X, .W = W, .v = v });
    assert_valid(data, &claim);
    v[2] = 0; /* now the scores agree as well, and the two are one selection */
    v[0] = 1;
    attsvm_data_free(data);
    data = open_set((token_set){ .n = 1, .T = 2, .d = 3, .X = X, .W = W, .v = v });
    assert_rejected(data, &claim, "it is a copy of the selected token");
    attsvm_data_free(data);
}

/* ------------------------------------------------------------------- infeasible, soft */

/* Token 0 before token 1 in one sequence, after it in the other: p_1 >= 1 and -p_1 >= 1. */
static void contradiction(void **state)
{
    (void)state;
    double X[8] = { 1, 0, 0, 0, 1, 0, 0, 0 }, theta[2] = { NAN, NAN }, lambda[2] = { 0.5, 0.5 };
    int64_t alpha[2] = { 0, 1 };
    attsvm_row active[2] = { { 0, 0, 1 }, { 1, 0, 0 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.outcome = ATTSVM_INFEASIBLE;
    claim.selection.alpha = alpha;
    PROOF(claim, theta, active, lambda);
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X });
    attsvm_report report = verdict(data, &claim);
    assert_true(report.valid && report.outcome == ATTSVM_INFEASIBLE && report.dual_norm == 0);
    assert_true(report.proof == ATTSVM_PROOF_EXACT && isinf(report.bound));
    lambda[0] = 0.5 + 1e-9; /* the rows are what counts: elimination finds their multipliers */
    lambda[1] = 0.5 - 1e-9;
    assert_valid(data, &claim);
    lambda[0] = 1;
    lambda[1] = 1;
    assert_valid(data, &claim);
    lambda[0] = 1.5;
    lambda[1] = -0.5;
    assert_rejected(data, &claim, "negative");
    lambda[0] = lambda[1] = 0;
    assert_rejected(data, &claim, "not shown to be positive: 0");
    lambda[0] = lambda[1] = 0.5;
    X[1] = 1e-9; /* barely feasible: p_1 + 1e-9 p_2 >= 1, -p_1 >= 1 */
    assert_rejected(data, &claim, "a solution of norm 2.000e+09 remains possible");
    X[1] = 0;
    claim.outcome = ATTSVM_OPTIMAL;
    assert_rejected(data, &claim, "theta[0] is not a finite number");
    theta[0] = 1;
    theta[1] = 0;
    assert_rejected(data, &claim, "(sequence 1, token 0) has margin -1");
    attsvm_data_free(data);
}

/* min 1/2 p^2 + C max(0, 1 - p): p = C below 1; P = C - C^2/2. */
static void soft_margin(void **state)
{
    (void)state;
    line l;
    line_open(&l);
    l.claim.settings.soft = 0.25;
    l.theta[0] = l.lambda[0] = 0.25;
    attsvm_report report = verdict(l.data, &l.claim);
    assert_true(report.valid && report.violation == 0.75 && report.min_margin == 0.25);
    assert_true(report.dual == 0.25 - 0.03125);
    l.theta[0] = 0.25 + 1e-5;
    assert_rejected(l.data, &l.claim, "gap of the soft-margin objective");
    l.theta[0] = 0.25;
    l.lambda[0] = 0.25 + 1e-9;
    assert_rejected(l.data, &l.claim, "above C = 0.25");
    l.lambda[0] = 0.25 - 1e-9;
    assert_rejected(l.data, &l.claim, "gap");
    l.lambda[0] = -0.25;
    assert_rejected(l.data, &l.claim, "negative");
    l.lambda[0] = 1;
    l.claim.settings.soft = 2; /* C above the hard multiplier: the hard solution */
    l.theta[0] = 1;
    assert_valid(l.data, &l.claim);
    l.claim.outcome = ATTSVM_INFEASIBLE;
    assert_rejected(l.data, &l.claim, "never infeasible");
    attsvm_data_free(l.data);
}

/* ------------------------------------------------------------------------ scale and floor */

static void tokens_of_any_size(void **state)
{
    (void)state;
    for (int exponent = -600; exponent <= 600; exponent += 40) {
        line l;
        line_open(&l);
        double scale = ldexp(1, exponent);
        l.X[0] = scale;
        l.theta[0] = 1 / scale;
        l.lambda[0] = 1 / scale;
        assert_valid(l.data, &l.claim);
        l.theta[0] *= 1 + 1e-9;
        assert_rejected(l.data, &l.claim, "has margin 1.00000000");
        l.claim.outcome = ATTSVM_INFEASIBLE;
        l.lambda[0] = 1;
        assert_rejected(l.data, &l.claim, "remains possible");
        attsvm_data_free(l.data);
    }
}

/* A far rival makes |A||theta| large: that is no reason to accept a larger gap. */
static void no_floor(void **state)
{
    (void)state;
    line l;
    line_open(&l);
    double X[6] = { 1, 0, 0, 0, -1e9, 0 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X });
    l.theta[0] = 1;
    l.theta[1] = 1e-5;
    assert_rejected(data, &l.claim, "gap of the norm is 5.000e-11");
    l.theta[1] = 0;
    assert_valid(data, &l.claim);
    attsvm_data_free(data);
    attsvm_data_free(l.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_tokens_on_a_line),
        cmocka_unit_test(wrong_by_a_billionth),
        cmocka_unit_test(nonsense_in_a_claim),
        cmocka_unit_test(claimed_outcome),
        cmocka_unit_test(rows_that_carry_nothing),
        cmocka_unit_test(key_map),
        cmocka_unit_test(copies_of_the_selected_token),
        cmocka_unit_test(same_key_other_score),
        cmocka_unit_test(contradiction),
        cmocka_unit_test(soft_margin),
        cmocka_unit_test(tokens_of_any_size),
        cmocka_unit_test(no_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
