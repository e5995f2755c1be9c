#include "claims.h"

/* --------------------------------------------------------------------- v and joint */

/*
 * theory 7, mm-joint-slack: the v-SVM is (0,1) with margins 1, 1, 1.5; so sequence 2 is slack, and
 * min |p| with p_1 + p_2 >= 1, p_1 - p_2 >= 1, p_1/2 + 3/2 p_2 >= 0 is (1,0).
 */
static void joint_and_its_head(void **state)
{
    (void)state;
    double X[12] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, 1.5 };
    int8_t Y[3] = { 1, -1, 1 };
    int64_t alpha[3] = { 1, 1, 1 }, other[3] = { 1, 1, 0 };
    double v[2] = { 0, 1 }, p[2] = { 1, 0 }, halves[2] = { 0.5, 0.5 };
    attsvm_row selected[2] = { { 0, 0, 1 }, { 1, 0, 1 } }, rivals[2] = { { 0, 0, 0 }, { 1, 0, 0 } };
    attsvm_claim head = claim_of(ATTSVM_PROBLEM_V, ATTSVM_NORM_L2);
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_JOINT, ATTSVM_NORM_L2);
    head.selection.alpha = claim.selection.alpha = alpha;
    PROOF(head, v, selected, halves);
    PROOF(claim, p, rivals, halves);
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = X, .Y = Y });
    assert_valid(data, &head);
    assert_rejected(data, &claim, "no v-SVM");
    claim.head = &head;
    assert_valid(data, &claim);
    v[1] = 1 + 1e-9;
    assert_rejected(data, &claim, "v-SVM: (sequence 1, token 1) has margin 1.000000001");
    v[1] = 1;
    head.selection.alpha = other;
    assert_rejected(data, &claim, "another selection at sequence 2");
    head.selection.alpha = alpha;
    head.outcome = ATTSVM_INFEASIBLE;
    assert_rejected(data, &claim, "v-SVM: ");
    head.outcome = ATTSVM_OPTIMAL;
    p[1] = 0.25; /* sequence 1 fails */
    assert_rejected(data, &claim, "(sequence 1, token 0) has margin 0.75");
    p[1] = 0;
    /* a third token (1/2,1) makes the v-SVM tight there, and p = (1,0) too short */
    X[11] = 1;
    assert_rejected(data, &claim, "(sequence 2, token 0) has margin 0.5");
    attsvm_data_free(data);
}

/* Labels against each other: no v, hence no joint problem; the proof is that of the v-SVM. */
static void joint_without_a_head(void **state)
{
    (void)state;
    double X[8] = { 0, 0, 1, 1, 0, 0, 1, 1 }, nowhere[2] = { NAN, NAN }, halves[2] = { 0.5, 0.5 };
    int8_t Y[2] = { 1, -1 };
    int64_t alpha[2] = { 1, 1 };
    attsvm_row selected[2] = { { 0, 0, 1 }, { 1, 0, 1 } };
    attsvm_claim head = claim_of(ATTSVM_PROBLEM_V, ATTSVM_NORM_L2);
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_JOINT, ATTSVM_NORM_L2);
    head.selection.alpha = claim.selection.alpha = alpha;
    head.outcome = claim.outcome = ATTSVM_INFEASIBLE;
    PROOF(head, nowhere, selected, halves);
    claim.theta_count = 2;
    claim.theta = nowhere;
    claim.head = &head;
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Y = Y });
    assert_valid(data, &claim);
    claim.outcome = ATTSVM_OPTIMAL;
    assert_rejected(data, &claim, "there is no joint problem");
    claim.outcome = ATTSVM_INFEASIBLE;
    halves[0] = 0.6; /* elimination finds the right multipliers of the named rows */
    assert_valid(data, &claim);
    X[2] += 1e-9; /* but not where there are none */
    assert_rejected(data, &claim, "v-SVM: the rows do not contradict each other");
    attsvm_data_free(data);
}

static void rows_with_zero_on_the_right(void **state)
{
    (void)state;
    /* as above, but sequence 2 has x_alpha = (0,1.5), so its row 1.5 p_2 >= 0 is tight at (1,0) */
    double X[12] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0, 1.5 };
    int8_t Y[3] = { 1, -1, 1 };
    int64_t alpha[3] = { 1, 1, 1 };
    double v[2] = { 0, 1 }, p[2] = { 1, 0 }, halves[2] = { 0.5, 0.5 };
    attsvm_row selected[2] = { { 0, 0, 1 }, { 1, 0, 1 } }, rivals[2] = { { 0, 0, 0 }, { 1, 0, 0 } };
    attsvm_claim head = claim_of(ATTSVM_PROBLEM_V, ATTSVM_NORM_L2);
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_JOINT, ATTSVM_NORM_L2);
    head.selection.alpha = claim.selection.alpha = alpha;
    PROOF(head, v, selected, halves);
    PROOF(claim, p, rivals, halves);
    claim.head = &head;
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = X, .Y = Y });
    attsvm_report report = verdict(data, &claim);
    assert_true(report.valid && report.tight == 3 && report.min_margin == 1);
    p[0] = 1;
    p[1] = -0.5e-13; /* a point with p_2 = 0 is near, and counts */
    report = verdict(data, &claim);
    assert_true(report.valid && report.violation > 0 && report.gap > 1e-14);
    p[1] = -1e-12;
    assert_rejected(data, &claim, "gap");
    p[1] = -1e-6;
    p[0] = 1 + 1e-6;
    assert_rejected(data, &claim, "rows with b = 0, are off by");
    attsvm_data_free(data);
}

/* ------------------------------------------------------------------------ matrices */

/* delta = (2,0), z = (0,1/2): W_12 >= 1, so W = e1 e2'. */
static void rank_one_row(void **state)
{
    (void)state;
    double X[4] = { 2, 0, 0, 0 }, Z[2] = { 0, 0.5 }, W[4] = { 0, 1, 0, 0 }, lambda[1] = { 1 };
    int64_t alpha[1] = { 0 };
    attsvm_row active[1] = { { 0, 0, 1 } };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X, .Z = Z });
    for (int norm = ATTSVM_NORM_L2; norm <= ATTSVM_NORM_LINF; norm++) {
        attsvm_claim claim = claim_of(ATTSVM_PROBLEM_W, (attsvm_norm)norm);
        claim.settings.q = 3;
        claim.selection.alpha = alpha;
        PROOF(claim, W, active, lambda);
        if (norm == ATTSVM_NORM_LINF) /* others may be as large as W_12 for nothing */
            W[3] = -1;
        assert_valid(data, &claim);
        W[3] = 0;
        W[1] = 1 + 1e-8;
        assert_rejected(data, &claim, "margin");
        W[1] = 1 - 1e-8;
        assert_rejected(data, &claim, "margin");
        W[1] = 1;
        W[2] = 2; /* another entry that no row asks for */
        assert_rejected(data, &claim, "gap");
        W[2] = 0;
    }
    attsvm_data_free(data);
}

/* A row delta z' whose entries underflow is not zero, and does not contradict 1 <= 0. */
static void rows_that_underflow(void **state)
{
    (void)state;
    double X[4] = { 1e-200, 0, 0, 0 }, Z[2] = { 0, 1e-200 }, W[4] = { NAN, NAN, NAN, NAN };
    double lambda[1] = { 1 };
    int64_t alpha[1] = { 0 };
    attsvm_row active[1] = { { 0, 0, 1 } };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X, .Z = Z });
    for (int norm = ATTSVM_NORM_L2; norm <= ATTSVM_NORM_LINF; norm++) {
        attsvm_claim claim = claim_of(ATTSVM_PROBLEM_W, (attsvm_norm)norm);
        claim.settings.q = 3;
        claim.outcome = ATTSVM_INFEASIBLE;
        claim.selection.alpha = alpha;
        PROOF(claim, W, active, lambda);
        assert_rejected(data, &claim, "remains possible");
        Z[1] = 0; /* a query of zero does */
        assert_valid(data, &claim);
        Z[1] = 1e-200;
    }
    attsvm_data_free(data);
}

/* Two rows e1 e1' and e2 e2' with different sizes: theta = diag(1,1/2). */
static void norms_of_a_diagonal(void **state)
{
    (void)state;
    double X[8] = { 1, 0, 0, 0, 0, 2, 0, 0 }, Z[4] = { 1, 0, 0, 1 };
    double W[4] = { 1, 0, 0, 0.5 }, lambda[2];
    int64_t alpha[2] = { 0, 0 };
    attsvm_row active[2] = { { 0, 0, 1 }, { 1, 0, 1 } };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Z = Z });
    /* G = diag(lambda_1, 2 lambda_2), b'lambda = |theta|, |G|_dual = 1 */
    struct {
        attsvm_norm norm;
        double first, second, size;
    } cases[] = {
        { ATTSVM_NORM_FRO, 1 / sqrt(1.25), 0.25 / sqrt(1.25), sqrt(1.25) },
        { ATTSVM_NORM_NUC, 1, 0.5, 1.5 },
        { ATTSVM_NORM_L1, 1, 0.5, 1.5 },
        { ATTSVM_NORM_SPECTRAL, 1, 0, 1 },
        { ATTSVM_NORM_LINF, 1, 0, 1 },
        /* q = 3: G proportional to theta^2 */
        { ATTSVM_NORM_LQ, 1 / pow(1.125, 2.0 / 3), 0.125 / pow(1.125, 2.0 / 3), cbrt(1.125) },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_claim claim = claim_of(ATTSVM_PROBLEM_W, cases[k].norm);
        claim.settings.q = 3;
        claim.selection.alpha = alpha;
        lambda[0] = cases[k].first;
        lambda[1] = cases[k].second;
        PROOF(claim, W, active, lambda);
        assert_valid(data, &claim);
        attsvm_report report = verdict(data, &claim);
        assert_near(report.norm, cases[k].size, 1e-14);
        assert_near(report.dual_norm, 1, 1e-14);
        lambda[1] += 0.01;
        assert_rejected(data, &claim, "gap");
    }
    /* a rank limit: diag(1,1/2) has rank 2 */
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_W, ATTSVM_NORM_FRO);
    claim.selection.alpha = alpha;
    lambda[0] = cases[0].first;
    lambda[1] = cases[0].second;
    PROOF(claim, W, active, lambda);
    claim.settings.rank = 2;
    assert_valid(data, &claim);
    claim.settings.rank = 1;
    assert_rejected(data, &claim, "rank above the limit of 1");
    attsvm_data_free(data);
}

/* The same rows with rank one: W = u u', u = (1, sqrt(1/2)), bounded by diag(1,1/2). */
static void a_stationary_point(void **state)
{
    (void)state;
    double X[8] = { 1, 0, 0, 0, 0, 2, 0, 0 }, Z[4] = { 1, 0, 0, 1 }, root = sqrt(0.5);
    double W[4] = { 1, root, root, 0.5 }, size = sqrt(1.25), lambda[2] = { 1 / size, 0.25 / size };
    int64_t alpha[2] = { 0, 0 };
    attsvm_row active[2] = { { 0, 0, 1 }, { 1, 0, 1 } };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Z = Z });
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_W, ATTSVM_NORM_FRO);
    claim.selection.alpha = alpha;
    claim.settings.rank = 1;
    claim.outcome = ATTSVM_STATIONARY;
    PROOF(claim, W, active, lambda);
    assert_valid(data, &claim);
    attsvm_report report = verdict(data, &claim);
    assert_near(report.dual, size, 1e-14);
    assert_near(report.norm, 1.5, 1e-14);
    assert_near(report.gap, 1 - size / 1.5, 1e-14);
    W[1] = 1; /* of rank one as well, feasible and longer: not stationary */
    W[2] = 0.5;
    assert_rejected(data, &claim, "first-order conditions are off by");
    W[1] = W[2] = root;
    claim.outcome = ATTSVM_OPTIMAL;
    assert_rejected(data, &claim, "gap");
    claim.outcome = ATTSVM_STATIONARY;
    claim.settings.rank = 0;
    assert_rejected(data, &claim, "no rank limit");
    claim.settings.rank = 1;
    W[3] = 0.5 - 1e-9;
    assert_rejected(data, &claim, "rank above");
    W[3] = 0.75;
    assert_rejected(data, &claim, "rank above the limit of 1");
    W[3] = 0.5;
    lambda[0] = -1;
    assert_rejected(data, &claim, "negative");
    lambda[0] = lambda[1] = 0;
    assert_rejected(data, &claim, "no lower bound");
    lambda[0] = 10; /* a multiple proves no more than its share of the unit ball */
    report = verdict(data, &claim);
    assert_true(report.valid && fabs(report.dual - 1) < 1e-14);
    attsvm_data_free(data);
}

static void several_queries(void **state)
{
    (void)state;
    /* tokens e1, 0; queries e1 and e2: rows W_11 >= 1 and W_12 >= 1 for the selection (0,0) */
    double X[4] = { 1, 0, 0, 0 }, Z[4] = { 1, 0, 0, 1 }, W[4] = { 1, 1, 0, 0 };
    double lambda[2] = { sqrt(0.5), sqrt(0.5) };
    int64_t alpha[2] = { 0, 0 };
    attsvm_row active[2] = { { 0, 0, 1 }, { 0, 1, 1 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_W, ATTSVM_NORM_FRO);
    claim.selection.alpha = alpha;
    PROOF(claim, W, active, lambda);
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .M = 2, .X = X, .Z = Z });
    assert_valid(data, &claim);
    alpha[1] = 1; /* the second query selects the other token: W_12 <= -1 */
    assert_rejected(data, &claim, "(sequence 0, query 1, token 0) has margin -1");
    W[1] = -1;
    active[1].token = 0;
    assert_valid(data, &claim);
    active[1] = active[0];
    assert_rejected(data, &claim, "two multipliers");
    attsvm_data_free(data);
}

static void own_tokens_as_queries(void **state)
{
    (void)state;
    /* tokens e1, e2; alpha: token 0 for both queries: (e1-e2)' W e_k >= 1 */
    double X[4] = { 1, 0, 0, 1 }, lambda[2] = { 0.5, 0.5 };
    double W[4] = { 0.5, 0.5, -0.5, -0.5 }, one[4] = { 0, 0.5, 0, -0.5 }, first[4];
    double alone[1] = { sqrt(0.5) };
    int64_t alpha[2] = { 0, 0 };
    attsvm_row active[2] = { { 0, 0, 1 }, { 0, 1, 1 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_W, ATTSVM_NORM_FRO);
    claim.selection.alpha = alpha;
    claim.settings.query = ATTSVM_QUERY_ALL;
    PROOF(claim, W, active, lambda);
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X });
    assert_valid(data, &claim);
    /* causal: query 0 sees token 0 only, so its row is gone */
    claim.settings.query = ATTSVM_QUERY_CAUSAL;
    assert_rejected(data, &claim, "(sequence 0, query 0, token 1) has a multiplier but is no");
    attsvm_row second[1] = { { 0, 1, 1 } };
    PROOF(claim, one, second, alone);
    assert_valid(data, &claim);
    alpha[0] = 1;
    assert_rejected(data, &claim, "ids[0] = 1 is not in 0..0");
    alpha[0] = 0;
    /* token 0 as the query */
    claim.settings.query = ATTSVM_QUERY_TOKEN;
    memcpy(first, (double[]){ 0.5, 0, -0.5, 0 }, sizeof first);
    attsvm_row row[1] = { { 0, 0, 1 } };
    PROOF(claim, first, row, alone);
    assert_valid(data, &claim);
    claim.settings.query_token = 1;
    assert_rejected(data, &claim, "has margin 0");
    /* the last token as the query */
    claim.settings.query = ATTSVM_QUERY_LAST;
    PROOF(claim, one, row, alone);
    assert_valid(data, &claim);
    attsvm_data_free(data);
}

/* O = {0,1}: W_11 = W_21 (equality), and token 2 = 0 lies 1 below token 0. */
static void sets_and_equalities(void **state)
{
    (void)state;
    double X[6] = { 1, 0, 0, 1, 0, 0 }, Z[2] = { 1, 0 }, W[4] = { 1, 0, 1, 0 };
    uint8_t O[3] = { 1, 1, 0 };
    attsvm_row active[1] = { { 0, 0, 2 } }, equal[1] = { { 0, 0, 1 } };
    /* G = lambda e1 + mu (e1 - e2) in the first column is (1,1)/sqrt(2) */
    double lambda[1] = { sqrt(2) }, mu[1] = { -sqrt(0.5) };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_MULTI, ATTSVM_NORM_FRO);
    claim.selection.sets = O;
    PROOF(claim, W, active, lambda);
    claim.equal_count = 1;
    claim.equal = equal;
    claim.mu = mu;
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X, .Z = Z });
    assert_valid(data, &claim);
    W[2] = 1 + 1e-9;
    assert_rejected(data, &claim, "gap"); /* Delta = 7e-10 */
    W[2] = 1 + 1e-6;
    assert_rejected(data, &claim, "are off by");
    W[2] = 1;
    mu[0] *= 1 + 1e-4; /* second order in the gap */
    assert_rejected(data, &claim, "gap");
    mu[0] = NAN;
    assert_rejected(data, &claim, "mu of (sequence 0, token 1) is not a finite number");
    mu[0] = -sqrt(0.5);
    equal[0].token = 2;
    active[0].token = 1;
    assert_rejected(data, &claim, "is not an ");
    equal[0].token = 1;
    active[0].token = 2;
    O[0] = 0; /* another set, another problem */
    assert_rejected(data, &claim, "margin");
    O[1] = 0;
    assert_rejected(data, &claim, "O selects no token of sequence 0");
    O[0] = O[1] = 1;
    assert_valid(data, &claim);
    attsvm_data_free(data);
}

/* Queries e1 with the set {0,1} and e2 with {0}: W e1 = (1,1), W e2 = (1,0). */
static void sets_of_several_queries(void **state)
{
    (void)state;
    double X[6] = { 1, 0, 0, 1, 0, 0 }, Z[4] = { 1, 0, 0, 1 }, W[4] = { 1, 1, 1, 0 };
    uint8_t O[6] = { 1, 1, 0, 1, 0, 0 };
    attsvm_row active[2] = { { 0, 0, 2 }, { 0, 1, 2 } }, equal[1] = { { 0, 0, 1 } };
    /* columns of G: lambda_0 e1 + mu (e1 - e2) and lambda_1 e1, together W / sqrt(3) */
    double lambda[2] = { 2 / sqrt(3), 1 / sqrt(3) }, mu[1] = { -1 / sqrt(3) };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_MULTI, ATTSVM_NORM_FRO);
    claim.selection.sets = O;
    PROOF(claim, W, active, lambda);
    claim.equal_count = 1;
    claim.equal = equal;
    claim.mu = mu;
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .M = 2, .X = X, .Z = Z });
    assert_valid(data, &claim);
    O[4] = 1; /* the second query keeps token 1 as well: an equality that W breaks */
    assert_rejected(data, &claim, "equalities, or rows with b = 0, are off by 1.0e+00");
    O[4] = 0;
    equal[0].query = 1;
    assert_rejected(data, &claim, "is not an equality");
    equal[0].query = 0;
    O[3] = 0;
    assert_rejected(data, &claim, "O selects no token of sequence 0 that query 1 sees");
    O[3] = 1;
    assert_valid(data, &claim);
    attsvm_data_free(data);
}

/* Token 3 is the same word as token 1, which is in the set: no row, unless copies are strict. */
static void copies_of_a_member(void **state)
{
    (void)state;
    double X[8] = { 1, 0, 0, 1, 0, 0, 0, 1 }, Z[2] = { 1, 0 }, W[4] = { 1, 0, 1, 0 };
    double lambda[1] = { sqrt(2) }, mu[1] = { -sqrt(0.5) };
    uint8_t O[4] = { 1, 1, 0, 0 };
    attsvm_row active[1] = { { 0, 0, 2 } }, equal[1] = { { 0, 0, 1 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_MULTI, ATTSVM_NORM_FRO);
    claim.selection.sets = O;
    PROOF(claim, W, active, lambda);
    claim.equal_count = 1;
    claim.equal = equal;
    claim.mu = mu;
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 4, .d = 2, .X = X, .Z = Z });
    attsvm_report report = verdict(data, &claim);
    assert_true(report.valid && report.merged == 1);
    active[0].token = 3;
    assert_rejected(data, &claim, "it is a copy of the selected token");
    active[0].token = 2;
    claim.settings.duplicates = ATTSVM_DUPLICATES_STRICT;
    assert_rejected(data, &claim, "(sequence 0, token 3) has margin 0");
    /* strict: <A,W> = 0 and <A,W> >= 1 for the same A */
    active[0].token = 3;
    lambda[0] = 1;
    mu[0] = -1;
    claim.outcome = ATTSVM_INFEASIBLE;
    assert_valid(data, &claim);
    attsvm_data_free(data);
}

/* (x_0 - x_1)' W z = log(s_0/s_1) with delta = (1,-1), z = e1. */
static void finite_part(void **state)
{
    (void)state;
    double X[6] = { 1, 0, 0, 1, 0, 0 }, Z[2] = { 1, 0 }, s[3] = { 0.75, 0.25, 1e-9 };
    uint8_t O[3] = { 1, 1, 0 };
    double e = log(3), W[4] = { e / 2, 0, -e / 2, 0 }, mu[1] = { sqrt(0.5) };
    attsvm_row equal[1] = { { 0, 0, 1 } };
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_FINITE, ATTSVM_NORM_FRO);
    claim.selection.sets = O;
    claim.selection.softmax = s;
    claim.theta_count = 4;
    claim.theta = W;
    claim.equal_count = 1;
    claim.equal = equal;
    claim.mu = mu;
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X, .Z = Z });
    attsvm_report report = verdict(data, &claim);
    assert_true(report.valid && isnan(report.min_margin) && report.tight == 0);
    assert_near(report.dual, e / sqrt(2), 1e-15);
    s[1] = 0.25 * (1 + 1e-9);
    assert_rejected(data, &claim, "gap");
    s[1] = 0.25 * (1 + 1e-6);
    assert_rejected(data, &claim, "are off by");
    s[1] = 0;
    assert_rejected(data, &claim, "s[1] = 0 is not positive");
    s[1] = 0.25;
    mu[0] = -mu[0]; /* equalities may have either sign, but this one proves nothing */
    assert_rejected(data, &claim, "gap");
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joint_and_its_head),
        cmocka_unit_test(joint_without_a_head),
        cmocka_unit_test(rows_with_zero_on_the_right),
        cmocka_unit_test(rank_one_row),
        cmocka_unit_test(rows_that_underflow),
        cmocka_unit_test(a_stationary_point),
        cmocka_unit_test(norms_of_a_diagonal),
        cmocka_unit_test(several_queries),
        cmocka_unit_test(own_tokens_as_queries),
        cmocka_unit_test(sets_and_equalities),
        cmocka_unit_test(sets_of_several_queries),
        cmocka_unit_test(copies_of_a_member),
        cmocka_unit_test(finite_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
