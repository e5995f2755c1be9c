#include "claims.h"

/* -------------------------------------------------------------- random, by enumeration */

enum { ROWS = 6, DIM = 4 };

/* Solves the m x m system M y = r by elimination with pivots; false where it is singular. */
static bool solve(long double *M, long double *r, int m)
{
    for (int k = 0; k < m; k++) {
        int pivot = k;
        for (int i = k + 1; i < m; i++)
            if (fabsl(M[i * m + k]) > fabsl(M[pivot * m + k]))
                pivot = i;
        if (fabsl(M[pivot * m + k]) < 1e-9L)
            return false;
        for (int j = 0; j < m; j++) {
            long double swap = M[k * m + j];
            M[k * m + j] = M[pivot * m + j];
            M[pivot * m + j] = swap;
        }
        long double swap = r[k];
        r[k] = r[pivot];
        r[pivot] = swap;
        for (int i = k + 1; i < m; i++) {
            long double f = M[i * m + k] / M[k * m + k];
            for (int j = k; j < m; j++)
                M[i * m + j] -= f * M[k * m + j];
            r[i] -= f * r[k];
        }
    }
    for (int k = m - 1; k >= 0; k--) {
        for (int j = k + 1; j < m; j++)
            r[k] -= M[k * m + j] * r[j];
        r[k] /= M[k * m + k];
    }
    return true;
}

/* min |p|, A p >= 1 by trying every set of tight rows; false where none works. */
static bool enumerate(double A[ROWS][DIM], double *p, double *lambda)
{
    for (int chosen = 1; chosen < 1 << ROWS; chosen++) {
        int index[ROWS], m = 0;
        for (int r = 0; r < ROWS; r++)
            if (chosen >> r & 1)
                index[m++] = r;
        if (m > DIM)
            continue;
        long double M[DIM * DIM], y[DIM], theta[DIM] = { 0 };
        for (int i = 0; i < m; i++) {
            y[i] = 1;
            for (int j = 0; j < m; j++) {
                M[i * m + j] = 0;
                for (int k = 0; k < DIM; k++)
                    M[i * m + j] += (long double)A[index[i]][k] * A[index[j]][k];
            }
        }
        bool good = solve(M, y, m);
        for (int i = 0; good && i < m; i++) {
            good = y[i] >= 0;
            for (int k = 0; k < DIM; k++)
                theta[k] += y[i] * A[index[i]][k];
        }
        long double least = INFINITY, square = 0;
        for (int k = 0; k < DIM; k++)
            square += theta[k] * theta[k];
        for (int r = 0; good && r < ROWS; r++) {
            long double margin = 0;
            for (int k = 0; k < DIM; k++)
                margin += theta[k] * A[r][k];
            least = margin < least ? margin : least;
        }
        if (!good || least < 1 - 1e-12L)
            continue;
        memset(lambda, 0, ROWS * sizeof *lambda);
        for (int i = 0; i < m; i++)
            lambda[index[i]] = (double)(y[i] / sqrtl(square));
        for (int k = 0; k < DIM; k++) /* rounding p must not break a row */
            p[k] = (double)(theta[k] * (1 + 4e-14L));
        return true;
    }
    return false;
}

static void random_problems_and_their_damage(void **state)
{
    (void)state;
    base_random r = base_random_stream(4, 1);
    int solved = 0;
    for (int trial = 0; trial < 400; trial++) {
        double X[(ROWS + 1) * DIM], A[ROWS][DIM], p[DIM], lambda[ROWS];
        attsvm_row active[ROWS];
        int64_t alpha[1] = { 0 };
        base_random_gauss_fill(&r, X, (ROWS + 1) * DIM);
        for (int k = 0; k < ROWS; k++) {
            active[k] = (attsvm_row){ 0, 0, k + 1 };
            for (int j = 0; j < DIM; j++)
                A[k][j] = X[j] - X[(k + 1) * DIM + j];
        }
        if (!enumerate(A, p, lambda))
            continue;
        solved++;
        attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
        claim.selection.alpha = alpha;
        PROOF(claim, p, active, lambda);
        attsvm_data *data = open_set((token_set){ .n = 1, .T = ROWS + 1, .d = DIM, .X = X });
        assert_valid(data, &claim);
        /* damage of one part in a billion to theta as a whole, one multiplier, or one token */
        double keep[DIM];
        memcpy(keep, p, sizeof keep);
        for (int sign = -1; sign <= 1; sign += 2) {
            for (int k = 0; k < DIM; k++)
                p[k] = keep[k] * (1 + sign * 1e-9);
            assert_rejected(data, &claim, "");
        }
        memcpy(p, keep, sizeof keep);
        for (int k = 0; k < ROWS; k++)
            if (lambda[k] > 1e-2) {
                double was = lambda[k];
                lambda[k] = 0;
                assert_rejected(data, &claim, "gap");
                lambda[k] = was;
                int64_t other = active[k].token;
                active[k].token = 0;
                assert_rejected(data, &claim, "selected token");
                active[k].token = other;
                for (int j = 0; j < DIM; j++) /* the rival moves nearer: its row fails */
                    X[(k + 1) * DIM + j] += 1e-9 * A[k][j];
                assert_rejected(data, &claim, "has margin");
                for (int j = 0; j < DIM; j++)
                    X[(k + 1) * DIM + j] = X[j] - A[k][j];
            }
        attsvm_data_free(data);
    }
    assert_true(solved > 100);
}

/* The verdict and its figures do not depend on the number of threads. */
static void any_number_of_threads(void **state)
{
    (void)state;
    enum { N = 3000, T = 8, D = 16 };
    base_random r = base_random_stream(4, 2);
    double *X = malloc(sizeof(double) * N * T * D), theta[D], lambda[N];
    attsvm_row *active = malloc(sizeof(attsvm_row) * N);
    int64_t alpha[N];
    base_random_gauss_fill(&r, X, (int64_t)N * T * D);
    base_random_gauss_fill(&r, theta, D);
    for (int i = 0; i < N; i++) {
        alpha[i] = i % T;
        active[i] = (attsvm_row){ N - 1 - i, 0, (N - i) % T };
        lambda[i] = base_random_uniform(&r);
    }
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.selection.alpha = alpha;
    claim.settings.soft = 1;
    claim.theta_count = D;
    claim.theta = theta;
    claim.active_count = N;
    claim.active = active;
    claim.lambda = lambda;
    attsvm_data *data = open_set((token_set){ .n = N, .T = T, .d = D, .X = X });
    attsvm_report one = verdict(data, &claim);
    claim.settings.threads = 3;
    attsvm_report three = verdict(data, &claim);
    assert_false(one.valid);
    assert_memory_equal(&one, &three, sizeof one);
    attsvm_data_free(data);
    free(active);
    free(X);
}

/* --------------------------------------------------------------------------- norms */

static void norms_from_above(void **state)
{
    (void)state;
    /* A = u w' + 2 p q' with orthonormal pairs: singular values 2 and 1 */
    const dd A[6] = { { 1, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 2, 0 } };
    attsvm_error err;
    const check_problem problem = { .threads = 1 };
    check_size size;
    struct {
        attsvm_norm norm;
        double q, value;
    } cases[] = { { ATTSVM_NORM_L2, 0, sqrt(5) },
                  { ATTSVM_NORM_L1, 0, 3 },
                  { ATTSVM_NORM_LINF, 0, 2 },
                  { ATTSVM_NORM_LQ, 3, cbrt(9) },
                  { ATTSVM_NORM_SPECTRAL, 0, 2 },
                  { ATTSVM_NORM_NUC, 0, 3 },
                  { ATTSVM_NORM_LQ, 1.5, pow(1 + 2 * sqrt(2), 2.0 / 3) } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int wide = 0; wide < 2; wide++) {
            assert_ok(check_size_of(&size, cases[k].norm, cases[k].q, A, wide ? 2 : 3, wide ? 3 : 2,
                                    &problem, &err),
                      err);
            if (wide || cases[k].norm == ATTSVM_NORM_L2 || cases[k].norm >= ATTSVM_NORM_LQ)
                assert_near(base_dd_value(size.value), cases[k].value, 1e-14);
            assert_true(size.error >= 0 && size.error < 1e-13);
        }
    /* against the exact values of a full random matrix: |A|_F^2 = sum sigma^2 bounds both */
    enum { D = 12 };
    dd full[D * D];
    double square = 0;
    base_random r = base_random_stream(4, 3);
    for (int k = 0; k < D * D; k++) {
        full[k] = base_dd(base_random_gauss(&r));
        square += full[k].hi * full[k].hi;
    }
    check_size spectral, nuclear;
    assert_ok(check_singular(&spectral, false, full, D, D, &problem, &err), err);
    assert_ok(check_singular(&nuclear, true, full, D, D, &problem, &err), err);
    assert_true(spectral.value.hi < sqrt(square) && sqrt(square) < nuclear.value.hi);
    assert_true(spectral.error < 1e-12 && nuclear.error < 1e-12);
    double copy[D * D], s[D], U[D * D], Vt[D * D], sum = 0;
    for (int k = 0; k < D * D; k++)
        copy[k] = full[k].hi;
    assert_ok(la_svd(D, D, copy, D, s, U, D, Vt, D, &err), err);
    for (int k = 0; k < D; k++)
        sum += s[k];
    assert_near(spectral.value.hi, s[0], 1e-13);
    assert_near(nuclear.value.hi, sum, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_and_their_damage),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(norms_from_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
