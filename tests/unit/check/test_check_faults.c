/*
 * False claims that an earlier checker accepted, one test each, and true ones that it rejected
 * (theory 4.1).
 */
#include "claims.h"

static const attsvm_norm norms[] = { ATTSVM_NORM_L2,      ATTSVM_NORM_FRO, ATTSVM_NORM_NUC,
                                     ATTSVM_NORM_LQ,      ATTSVM_NORM_L1,  ATTSVM_NORM_LINF,
                                     ATTSVM_NORM_SPECTRAL };
enum { NORMS = sizeof norms / sizeof *norms };

/* The limits used to grow with the claimed norm. */
static void feasible_scaled_without_multipliers(void **state)
{
    (void)state;
    double X[4] = { 2, 0, 0, 0 }, Z[2] = { 0, 0.5 }, W[4] = { 0, 1e17, 0, 0 }, none[1] = { 0 };
    int64_t alpha[1] = { 0 };
    attsvm_row active[1] = { { 0, 0, 1 } };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X, .Z = Z });
    for (int k = 0; k < NORMS; k++)
        for (int soft = 0; soft < (k < 2 ? 2 : 1); soft++)
            for (int scale = 0; scale < 2; scale++) {
                attsvm_claim claim = claim_of(ATTSVM_PROBLEM_W, norms[k]);
                claim.settings.q = 3;
                claim.settings.soft = soft;
                claim.selection.alpha = alpha;
                PROOF(claim, W, active, none);
                claim.active_count = 0;
                W[1] = scale ? 1e17 : 1;
                assert_rejected(data, &claim, "");
            }
    attsvm_data_free(data);
}

/* p_1 >= 1 and -p_1 >= 1, and a theta so long that rounding hides a row of zeros. */
static void infeasible_claimed_optimal_at_1e31(void **state)
{
    (void)state;
    double X[8] = { 1, 0, 0, 0, 1, 0, 0, 0 }, Z[4] = { 1, 0, 1, 0 }, lambda[2] = { 0.5, 0.5 };
    double p[2] = { 1e31, 1 }, W[4] = { 1e31, 0, 1, 0 };
    int64_t alpha[2] = { 0, 1 };
    attsvm_row active[2] = { { 0, 0, 1 }, { 1, 0, 0 } };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Z = Z });
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.selection.alpha = alpha;
    PROOF(claim, p, active, lambda);
    assert_rejected(data, &claim, "margin");
    claim = claim_of(ATTSVM_PROBLEM_W, ATTSVM_NORM_FRO);
    claim.selection.alpha = alpha;
    claim.settings.rank = 1;
    claim.outcome = ATTSVM_STATIONARY;
    PROOF(claim, W, active, lambda);
    assert_rejected(data, &claim, "margin");
    X[4] = 1 + 0x1p-52; /* now rows that almost cancel; a long theta does not help either */
    X[5] = 0x1p-40;
    p[1] = 1e12 + 1e31 * 0x1p-12;
    assert_rejected(data, &claim, "");
    attsvm_data_free(data);
}

/* Multipliers +M and -M on two equal members of a set. */
static void multi_by_cancelling_equalities(void **state)
{
    (void)state;
    double X[8] = { 1, 0, 0, 1, 0, 1, 0, 0 }, Z[2] = { 1, 0 }, W[4] = { NAN, NAN, NAN, NAN };
    double lambda[1] = { 1 };
    uint8_t O[4] = { 1, 1, 1, 0 };
    attsvm_row active[1] = { { 0, 0, 3 } }, equal[2] = { { 0, 0, 1 }, { 0, 0, 2 } };
    double mu[2];
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_MULTI, ATTSVM_NORM_FRO);
    claim.outcome = ATTSVM_INFEASIBLE;
    claim.selection.sets = O;
    PROOF(claim, W, active, lambda);
    claim.equal_count = 2;
    claim.equal = equal;
    claim.mu = mu;
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 4, .d = 2, .X = X, .Z = Z });
    for (double M = 1; M < 1e30; M *= 1e3) {
        mu[0] = M;
        mu[1] = -M;
        assert_rejected(data, &claim, "remains possible");
    }
    attsvm_data_free(data);
}

/*
 * theory 7, mm-joint-slack with a fourth sequence opposite to the third in its row: rows with b = 0
 * that cancel say nothing, whatever their multipliers.
 */
static void joint_by_rows_without_value(void **state)
{
    (void)state;
    double X[16] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0, 1.5, 0, 3.5, 0, 2 };
    int8_t Y[4] = { 1, -1, 1, 1 };
    int64_t alpha[4] = { 1, 1, 1, 1 };
    double v[2] = { 0, 1 }, p[2] = { NAN, NAN }, halves[2] = { 0.5, 0.5 };
    double lambda[3] = { 1e-20, 1e20, 1e20 };
    attsvm_row selected[2] = { { 0, 0, 1 }, { 1, 0, 1 } };
    attsvm_row rivals[3] = { { 0, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 } };
    attsvm_claim head = claim_of(ATTSVM_PROBLEM_V, ATTSVM_NORM_L2);
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_JOINT, ATTSVM_NORM_L2);
    head.selection.alpha = claim.selection.alpha = alpha;
    PROOF(head, v, selected, halves);
    PROOF(claim, p, rivals, lambda);
    claim.head = &head;
    claim.outcome = ATTSVM_INFEASIBLE;
    attsvm_data *data = open_set((token_set){ .n = 4, .T = 2, .d = 2, .X = X, .Y = Y });
    assert_rejected(data, &claim, "remains possible");
    lambda[0] = 0; /* of total value 0 */
    assert_rejected(data, &claim, "not shown to be positive");
    attsvm_data_free(data);
}

/* A head that is nudged has another tight set; one that is scaled, none at all. */
static void joint_with_a_forged_head(void **state)
{
    (void)state;
    double X[12] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, 1.5 };
    int8_t Y[3] = { 1, -1, 1 };
    int64_t alpha[3] = { 1, 1, 1 };
    double v[2] = { 0, 1 + 1e-6 }, p[2] = { 0, 0 }, halves[2] = { 0.5, 0.5 };
    attsvm_row selected[2] = { { 0, 0, 1 }, { 1, 0, 1 } }, rivals[2] = { { 0, 0, 0 }, { 1, 0, 0 } };
    attsvm_claim head = claim_of(ATTSVM_PROBLEM_V, ATTSVM_NORM_L2);
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_JOINT, ATTSVM_NORM_L2);
    head.selection.alpha = claim.selection.alpha = alpha;
    PROOF(head, v, selected, halves);
    PROOF(claim, p, rivals, halves);
    claim.active_count = 0;
    claim.head = &head;
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = X, .Y = Y });
    assert_rejected(data, &claim, "v-SVM: ");
    v[1] = 1e17;
    assert_rejected(data, &claim, "v-SVM: ");
    v[0] = 1e-6; /* within 1e-12 of the shortest, and yet another vector */
    v[1] = 1;
    assert_rejected(data, &claim, "v-SVM: ");
    X[10] = 0.5; /* a sequence whose margin a gap of 1e-12 leaves open: m = 1 + 1.0000001e-7 */
    X[11] = 1 + 1.00000005e-7;
    v[0] = 0;
    double a = 1e-7;
    v[0] = a;
    v[1] = 1 + a;
    attsvm_report report = verdict(data, &claim);
    assert_false(report.valid);
    attsvm_data_free(data);
}

static void a_tolerance_in_the_claim(void **state)
{
    (void)state;
    line l;
    line_open(&l);
    l.claim.settings.tol = 1;
    l.claim.selection.terms = 1;
    l.theta[0] = 1.5;
    attsvm_report report;
    attsvm_error err;
    assert_ok(attsvm_check(&report, l.data, &l.claim, NULL, NULL, NULL, &err), err);
    assert_false(report.valid);
    assert_non_null(strstr(report.reason, "has margin 1.5"));
    attsvm_data_free(l.data);
}

/* W_11 = W_21 by a row of size 1e9 to 1e13, with W_11 = 1, W_21 = 0.1: "off by little" per |A|. */
static void large_equality_rows(void **state)
{
    (void)state;
    for (double size = 1e9; size <= 1e13; size *= 10) {
        double X[6] = { size, 0, 0, size, size - 1, 0 }, Z[2] = { 1, 0 };
        double W[4] = { 1, 0, 1 - 1e-3 / size, 0 }, lambda[1] = { 1 }, mu[1] = { -0.5 / size };
        uint8_t O[3] = { 1, 1, 0 };
        attsvm_row active[1] = { { 0, 0, 2 } }, equal[1] = { { 0, 0, 1 } };
        attsvm_claim claim = claim_of(ATTSVM_PROBLEM_MULTI, ATTSVM_NORM_FRO);
        claim.selection.sets = O;
        PROOF(claim, W, active, lambda);
        claim.equal_count = 1;
        claim.equal = equal;
        claim.mu = mu;
        attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X, .Z = Z });
        assert_rejected(data, &claim, "");
        W[2] = 1; /* the solution: W_11 = W_21 = 1 */
        assert_valid(data, &claim);
        attsvm_data_free(data);
    }
}

/* W delta = (1 + 2^60) - 2^60 + ... cancels below double-double: exact arithmetic sees the rest. */
static void a_key_map_that_cancels(void **state)
{
    (void)state;
    double X[6] = { 0x1p60, 1, 0x1p60, 0, 0, 0 }, W[9] = { 0x1p60, 0, -0x1p60, 0x1p-10 };
    W[1] = 0x1p-60;
    W[3] = 0;
    double theta[3] = { 0x1p60, 0, 0 }, lambda[1] = { 1 };
    int64_t alpha[1] = { 0 };
    attsvm_row active[1] = { { 0, 0, 1 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.selection.alpha = alpha;
    PROOF(claim, theta, active, lambda);
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 3, .X = X, .W = W });
    assert_valid(data, &claim); /* the key is (2^-60, 0, 0) */
    theta[0] = 0x1p59;
    assert_rejected(data, &claim, "has margin 0.5");
    theta[0] = 0;
    theta[1] = 1;
    assert_rejected(data, &claim, "has margin 0");
    claim.outcome = ATTSVM_INFEASIBLE;
    assert_rejected(data, &claim, "remains possible");
    attsvm_data_free(data);
}

/*
 * Equalities (1, -1, 2^-41) and (1, -1, -2^-41) in the first column of W, and W_31 >= 1: the
 * difference of the two says W_31 = 0, exactly.
 */
static void equalities_that_differ_by_little(void **state)
{
    (void)state;
    double e = 0x1p-41;
    double X[12] = { 0, 0, 0, -1, 1, -e, -1, 1, e, 0, 0, -1 }, Z[3] = { 1, 0, 0 };
    double W[9] = { 0, 0, 0, 0, 0, 0, 1, 0, 0 }, lambda[1] = { 1 }, mu[2] = { 0, 0 };
    uint8_t O[4] = { 1, 1, 1, 0 };
    attsvm_row active[1] = { { 0, 0, 3 } }, equal[2] = { { 0, 0, 1 }, { 0, 0, 2 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_MULTI, ATTSVM_NORM_FRO);
    claim.selection.sets = O;
    PROOF(claim, W, active, lambda);
    claim.equal_count = 2;
    claim.equal = equal;
    claim.mu = mu;
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 4, .d = 3, .X = X, .Z = Z });
    assert_rejected(data, &claim, "are off by 1"); /* W violates both by 4.5e-13 only */
    mu[0] = -0.5 / e;
    mu[1] = 0.5 / e;
    claim.outcome = ATTSVM_INFEASIBLE;
    attsvm_report report = verdict(data, &claim);
    assert_true(report.valid && report.proof == ATTSVM_PROOF_EXACT);
    mu[1] = 0.4 / e; /* elimination finds the right ones */
    assert_valid(data, &claim);
    attsvm_data_free(data);
}

/* Keys (+-1, 2^-k) have the solution (0, 2^k), keys (+-2^k, 1) the solution (0, 1). */
static void feasible_by_a_narrow_margin(void **state)
{
    (void)state;
    for (int k = 38; k <= 52; k++)
        for (int large = 0; large < 2; large++) {
            double a = large ? ldexp(1, k) : 1, b = large ? 1 : ldexp(1, -k);
            double X[8] = { a, b, 0, 0, -a, b, 0, 0 }, p[2] = { 0, 1 / b };
            double lambda[2] = { 0.5, 0.5 };
            int64_t alpha[2] = { 0, 0 };
            attsvm_row active[2] = { { 0, 0, 1 }, { 1, 0, 1 } };
            attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X });
            for (int norm = 0; norm < NORMS; norm++) {
                attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, norms[norm]);
                claim.settings.q = 3;
                claim.selection.alpha = alpha;
                PROOF(claim, p, active, lambda);
                assert_valid(data, &claim);
                claim.outcome = ATTSVM_INFEASIBLE;
                assert_rejected(data, &claim, "remains possible");
            }
            attsvm_data_free(data);
        }
}

static void a_soft_problem_is_not_infeasible(void **state)
{
    (void)state;
    double X[8] = { 1, 0, 0, 0, 1, 0, 0, 0 }, theta[2] = { NAN, NAN }, lambda[2] = { 0.5, 0.5 };
    int64_t alpha[2] = { 0, 1 };
    attsvm_row active[2] = { { 0, 0, 1 }, { 1, 0, 0 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.outcome = ATTSVM_INFEASIBLE;
    claim.selection.alpha = alpha;
    claim.settings.soft = 1;
    PROOF(claim, theta, active, lambda);
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X });
    assert_rejected(data, &claim, "never infeasible");
    claim.settings.soft = 0;
    assert_valid(data, &claim);
    attsvm_data_free(data);
}

static void zero_for_finite(void **state)
{
    (void)state;
    double X[4] = { 1, 0, 0, 1 }, Z[2] = { 1, 0 }, s[2] = { 0.75, 0.25 }, W[4] = { 0 };
    uint8_t O[2] = { 1, 1 };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_FINITE, ATTSVM_NORM_FRO);
    claim.selection.sets = O;
    claim.selection.softmax = s;
    claim.theta_count = 4;
    claim.theta = W;
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X, .Z = Z });
    assert_rejected(data, &claim, "");
    s[0] = 0.25; /* e = 0: now it is the solution */
    assert_valid(data, &claim);
    attsvm_data_free(data);
}

/* theta = 7 and theta_lo = -6 have the right sum: but theta alone is what others read. */
static void junk_with_a_low_part(void **state)
{
    (void)state;
    line l;
    line_open(&l);
    double low[2] = { -6, 0 }, lambda_lo[1] = { 0 };
    l.theta[0] = 7;
    l.claim.theta_lo = low;
    l.claim.lambda_lo = lambda_lo;
    assert_rejected(l.data, &l.claim, "theta_lo[0] is not a low part");
    l.theta[0] = 1;
    low[0] = 0x1p-60;
    assert_valid(l.data, &l.claim);
    lambda_lo[0] = 0.5;
    assert_rejected(l.data, &l.claim, "lambda_lo of (sequence 0, token 1) is not a low part");
    lambda_lo[0] = NAN;
    assert_rejected(l.data, &l.claim, "not a finite number");
    attsvm_data_free(l.data);
}

/* Two rows that theta in double alone meets to 1e-5 only: with its low part it is proved. */
static void low_parts_reach_the_tolerance(void **state)
{
    (void)state;
    double s = 1e11, third = 1.0 / 3;
    double X[8] = { s, 1, 0, 0, -s, 2, 0, 0 }; /* s p_1 + p_2 >= 1, -s p_1 + 2 p_2 >= 1 */
    dd two_thirds = base_dd_div(base_dd(2), base_dd(3));
    dd first = base_dd_div(base_dd(third), base_dd(s));
    first = base_dd_div(base_dd_div(base_dd(1), base_dd(3)), base_dd(s));
    double p[2] = { first.hi, two_thirds.hi }, low[2] = { first.lo, two_thirds.lo };
    /* G = lambda_1 (s,1) + lambda_2 (-s,2), proportional to p */
    dd ratio = base_dd_div(base_dd(1), base_dd(1)); /* lambda_1 = lambda_2 (1 + O(s^-2)) */
    double lambda[2] = { ratio.hi, 1 };
    int64_t alpha[2] = { 0, 0 };
    attsvm_row active[2] = { { 0, 0, 1 }, { 1, 0, 1 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.selection.alpha = alpha;
    PROOF(claim, p, active, lambda);
    claim.theta_lo = low;
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X });
    assert_valid(data, &claim);
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feasible_scaled_without_multipliers),
        cmocka_unit_test(infeasible_claimed_optimal_at_1e31),
        cmocka_unit_test(multi_by_cancelling_equalities),
        cmocka_unit_test(joint_by_rows_without_value),
        cmocka_unit_test(joint_with_a_forged_head),
        cmocka_unit_test(a_tolerance_in_the_claim),
        cmocka_unit_test(large_equality_rows),
        cmocka_unit_test(a_key_map_that_cancels),
        cmocka_unit_test(equalities_that_differ_by_little),
        cmocka_unit_test(feasible_by_a_narrow_margin),
        cmocka_unit_test(a_soft_problem_is_not_infeasible),
        cmocka_unit_test(zero_for_finite),
        cmocka_unit_test(junk_with_a_low_part),
        cmocka_unit_test(low_parts_reach_the_tolerance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
