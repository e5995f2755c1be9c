/* Claims made by hand, for the tests of the checker. */
#ifndef ATTSVM_CLAIMS_H
#define ATTSVM_CLAIMS_H

#include "lengths.h"
#include "unit.h"

#include "check/check.h"

/* Tokens X (n,T,d), and what else is not NULL: labels (n), queries Z (n,M,d), key map W (d,d). */
typedef struct token_set {
    int64_t n, T, d, M;
    double *X, *Z, *W, *v;
    int8_t *Y;
} token_set;

static inline attsvm_data *open_set(token_set s)
{
    attsvm_error err;
    attsvm_data *data;
    attsvm_named_array arrays[5] = { { "X", { s.X, { s.n, s.T, s.d }, 3, ATTSVM_F64 } } };
    int64_t count = 1;
    if (s.Y)
        arrays[count++] = (attsvm_named_array){ "Y", { s.Y, { s.n }, 1, ATTSVM_I8 } };
    if (s.Z)
        arrays[count++] =
            (attsvm_named_array){ "Z", { s.Z, { s.n, s.M ? s.M : 1, s.d }, 3, ATTSVM_F64 } };
    if (s.W)
        arrays[count++] = (attsvm_named_array){ "W", { s.W, { s.d, s.d }, 2, ATTSVM_F64 } };
    if (s.v)
        arrays[count++] = (attsvm_named_array){ "v", { s.v, { s.d }, 1, ATTSVM_F64 } };
    assert_ok(attsvm_data_create(&data, arrays, count, NULL, &err), err);
    return data;
}

static inline attsvm_claim claim_of(attsvm_problem_kind problem, attsvm_norm norm)
{
    return (attsvm_claim){ .settings = { .problem = (int32_t)problem,
                                         .norm = (int32_t)norm,
                                         .q = 2,
                                         .threads = 1,
                                         .query = ATTSVM_QUERY_GIVEN,
                                         .duplicates = ATTSVM_DUPLICATES_MERGE,
                                         .head = ATTSVM_HEAD_LINEAR },
                           .outcome = ATTSVM_OPTIMAL };
}

#define PROOF(claim, point, rows, values)                                                          \
    do {                                                                                           \
        (claim).theta_count = (int64_t)(sizeof(point) / sizeof *(point));                          \
        (claim).theta = point;                                                                     \
        (claim).active_count = (int64_t)(sizeof(rows) / sizeof *(rows));                           \
        (claim).active = rows;                                                                     \
        (claim).lambda = values;                                                                   \
    } while (0)

static inline attsvm_report verdict(const attsvm_data *data, const attsvm_claim *claim)
{
    attsvm_error err;
    attsvm_report report;
    attsvm_check_settings settings = { .tol = claim->settings.tol, .threads = 1 };
    attsvm_claim whole = *claim, head;
    whole.selection = with_lengths(data, &claim->settings, claim->selection);
    if (claim->head) {
        head = *claim->head;
        head.selection = with_lengths(data, &head.settings, head.selection);
        whole.head = &head;
    }
    assert_ok(attsvm_check(&report, data, &whole, &settings, NULL, NULL, &err), err);
    return report;
}

static inline void assert_valid(const attsvm_data *data, const attsvm_claim *claim)
{
    attsvm_report report = verdict(data, claim);
    if (!report.valid)
        fail_msg("a correct claim is rejected: %s", report.reason);
}

/* `why` is part of the reason. */
static inline void assert_rejected(const attsvm_data *data, const attsvm_claim *claim,
                                   const char *why)
{
    attsvm_report report = verdict(data, claim);
    if (report.valid)
        fail_msg("a wrong claim is accepted: %s", report.reason);
    if (!strstr(report.reason, why))
        fail_msg("the reason \"%s\" does not say \"%s\"", report.reason, why);
}

/* Keys (1,0) selected, (0,0) rival: min |p| with p_1 >= 1 is p = (1,0), multiplier 1. */
typedef struct line {
    double X[4], theta[2], lambda[1];
    attsvm_row active[1];
    int64_t alpha[1];
    attsvm_claim claim;
    attsvm_data *data;
} line;

static inline void line_open(line *l)
{
    *l = (line){
        .X = { 1, 0, 0, 0 }, .theta = { 1, 0 }, .lambda = { 1 }, .active = { { 0, 0, 1 } }
    };
    l->claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    l->claim.selection.alpha = l->alpha;
    PROOF(l->claim, l->theta, l->active, l->lambda);
    l->data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = l->X });
}

static inline void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.17g is not %.17g to %g", a, b, tolerance);
}

#endif
