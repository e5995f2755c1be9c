/*
 * Result files: one archive holds a small data set and a result about it.  Whatever the checker
 * accepts must be true, and a second solver says so: hard p, v and W problems in l2 by trying every
 * set of tight rows in long double, the others by a solve that sees nothing of the result.
 */
#include "fuzz.h"

#include <math.h>
#include <unistd.h>

enum { MOST_ROWS = 10, MOST_SIZE = 9, MOST_TOKENS = 16, MOST_D = 3 };
static const double AGREE = 1e-6; /* relative tolerance, since the second solver rounds */
static const double LEAST = 1e-3,
                    LARGEST = 1e3; /* largest entries for which it has enough digits */
static const long double PIVOT = 1e-9L, FITS = 1e-7L; /* independent rows; a row holds           */

typedef struct rows {
    long double A[MOST_ROWS][MOST_SIZE];
    int count, size;
} rows;

/* Adds the row of a token; false if there is no room or its entries differ too much in size. */
static bool add_row(rows *s, const attsvm_data *data, const attsvm_claim *c, int64_t i, int64_t t)
{
    double base[MOST_D], x[MOST_D], z[MOST_D] = { 0 };
    int64_t d = attsvm_data_describe(data).d;
    int32_t problem = c->settings.problem;
    bool zero = true;
    attsvm_data_token(data, i, c->selection.alpha[i], base);
    attsvm_data_token(data, i, t, x);
    if (problem == ATTSVM_PROBLEM_W)
        attsvm_data_token(data, i, c->settings.query_token, z);
    for (int64_t j = 0; j < d; j++) {
        double difference =
            problem == ATTSVM_PROBLEM_V ? attsvm_data_label(data, i) * base[j] : base[j] - x[j];
        zero = zero && difference == 0;
        if (s->count == MOST_ROWS || (fabs(difference) < LEAST && difference != 0) ||
            fabs(difference) > LARGEST || fabs(z[j]) > LARGEST || (fabs(z[j]) < LEAST && z[j] != 0))
            return false;
        for (int64_t k = 0; k < d && problem == ATTSVM_PROBLEM_W; k++)
            s->A[s->count][j * d + k] = (long double)difference * z[k];
        if (problem != ATTSVM_PROBLEM_W)
            s->A[s->count][j] = difference;
    }
    bool copy =
        zero && problem != ATTSVM_PROBLEM_V && c->settings.duplicates == ATTSVM_DUPLICATES_MERGE;
    s->count += !copy;
    return true;
}

/* Collects all rows; false if the second solver does not cover the problem. */
static bool read_rows(rows *s, const attsvm_data *data, const attsvm_claim *c)
{
    const attsvm_svm_settings *set = &c->settings;
    attsvm_data_info info = attsvm_data_describe(data);
    bool l2 = set->norm == ATTSVM_NORM_L2 || set->norm == ATTSVM_NORM_FRO;
    bool own = set->problem == ATTSVM_PROBLEM_W &&
               (set->query == ATTSVM_QUERY_TOKEN ||
                (set->query == ATTSVM_QUERY_GIVEN && info.queries == 0));
    bool vector = set->problem == ATTSVM_PROBLEM_P || set->problem == ATTSVM_PROBLEM_V;
    if (!l2 || set->soft > 0 || set->rank > 0 || attsvm_data_array(data, "W") || !(own || vector))
        return false;
    *s = (rows){ .size = (int)(own ? info.d * info.d : info.d) };
    for (int64_t i = 0; i < info.n; i++)
        for (int64_t t = 0; t < attsvm_data_length(data, i); t++) {
            bool selected = t == c->selection.alpha[i];
            if (own && set->query_token >= attsvm_data_length(data, i))
                return false;
            if (selected == (set->problem == ATTSVM_PROBLEM_V) && !add_row(s, data, c, i, t))
                return false;
        }
    return true;
}

/* The point on the chosen rows nearest to 0; false if the rows are dependent. */
static bool nearest(const rows *s, int chosen, long double *x)
{
    long double M[MOST_ROWS][MOST_ROWS + 1];
    int index[MOST_ROWS], m = 0;
    for (int r = 0; r < s->count; r++)
        if (chosen >> r & 1)
            index[m++] = r;
    for (int i = 0; i < m; i++) {
        M[i][m] = 1;
        for (int j = 0; j < m; j++) {
            M[i][j] = 0;
            for (int k = 0; k < s->size; k++)
                M[i][j] += s->A[index[i]][k] * s->A[index[j]][k];
        }
    }
    for (int k = 0; k < m; k++) {
        if (!(M[k][k] > PIVOT))
            return false;
        for (int i = 0; i < m; i++)
            for (int j = m; i != k && j >= k; j--)
                M[i][j] -= M[i][k] / M[k][k] * M[k][j];
    }
    for (int k = 0; k < s->size; k++) {
        x[k] = 0;
        for (int i = 0; i < m; i++)
            x[k] += M[i][m] / M[i][i] * s->A[index[i]][k];
    }
    return true;
}

/* min |x| over A x >= 1; INFINITY: no set of tight rows gives a point. */
static double enumerate(const rows *s)
{
    double best = s->count == 0 ? 0 : INFINITY;
    for (int chosen = 1; chosen < 1 << s->count; chosen++) {
        long double x[MOST_SIZE], square = 0, least = INFINITY;
        if (!nearest(s, chosen, x))
            continue;
        for (int k = 0; k < s->size; k++)
            square += x[k] * x[k];
        for (int r = 0; r < s->count; r++) {
            long double margin = 0;
            for (int k = 0; k < s->size; k++)
                margin += x[k] * s->A[r][k];
            least = fminl(least, margin);
        }
        if (least > 1 - FITS)
            best = fmin(best, (double)sqrtl(square));
    }
    return best;
}

/* Solves the problem without the result: its outcome must not contradict the accepted one. */
static void compare_with_solve(const attsvm_data *data, const attsvm_claim *claim,
                               const attsvm_report *report)
{
    attsvm_error err = { 0 };
    attsvm_problem *problem;
    attsvm_solution *solution = NULL;
    attsvm_svm_settings settings = claim->settings;
    settings.tol = 0;
    settings.threads = 1;
    settings.max_iter = 10000;
    settings.time_limit = 5;
    if (attsvm_problem_create(&problem, data, &claim->selection, &settings, &err) != ATTSVM_OK)
        return;
    if (attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err) == ATTSVM_OK) {
        attsvm_svm_info info = attsvm_solution_describe(solution);
        bool optimal = info.outcome == ATTSVM_OPTIMAL;
        bool proved = report->outcome == ATTSVM_OPTIMAL && claim->settings.soft == 0;
        FUZZ_CHECK(!(optimal && report->outcome == ATTSVM_INFEASIBLE));
        FUZZ_CHECK(!(proved && info.outcome == ATTSVM_INFEASIBLE));
        if (proved && optimal) {
            FUZZ_CHECK(report->norm >= info.dual * (1 - AGREE));
            FUZZ_CHECK(info.norm >= report->dual * (1 - AGREE));
        }
    }
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
}

static void judge(const attsvm_data *data, const attsvm_solution *solution)
{
    attsvm_error err = { 0 };
    attsvm_report report;
    attsvm_check_settings settings;
    attsvm_claim claim = attsvm_solution_claim(solution);
    attsvm_check_settings_init(&settings);
    settings.threads = 1;
    attsvm_status status = attsvm_check(&report, data, &claim, &settings, NULL, NULL, &err);
    if (status != ATTSVM_OK || !report.valid)
        return;
    rows s;
    compare_with_solve(data, &claim, &report);
    if (report.outcome == ATTSVM_STATIONARY || !read_rows(&s, data, &claim))
        return;
    double best = enumerate(&s);
    if (report.outcome == ATTSVM_INFEASIBLE)
        FUZZ_CHECK(!(best < 1 / AGREE));
    else if (best < 1 / AGREE) /* longer ones depend on digits that the rounded rows do not have */
        FUZZ_CHECK(fabs(report.norm - best) <= AGREE * best);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    attsvm_error err = { 0 };
    attsvm_data *data;
    attsvm_solution *solution;
    char path[64];
    snprintf(path, sizeof path, "/tmp/attsvm-fuzz-result-%d.npz", (int)getpid());
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file != NULL);
    FUZZ_CHECK(fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    attsvm_status status = attsvm_data_read(&data, path, NULL, &err);
    if (status == ATTSVM_OK) {
        attsvm_data_info info = attsvm_data_describe(data);
        if (info.tokens <= MOST_TOKENS && info.d <= MOST_D) {
            status = attsvm_solution_load(&solution, data, path, &err);
            if (status == ATTSVM_OK)
                judge(data, solution);
            attsvm_solution_free(solution);
        }
        attsvm_data_free(data);
    }
    if (status != ATTSVM_OK)
        FUZZ_CHECK(err.status == status && err.message[0] != '\0');
    remove(path);
    return 0;
}
