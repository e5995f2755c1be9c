/*
 * The forger: takes valid results of every problem, norm and option, and changes them in every way
 * that somebody who wants a wrong "proved" would try.  What the checker still accepts is compared
 * with an independent solution of the problem that the forged claim is about; one that is accepted
 * and false fails the test.  All forgeries run in `make test-all`, a twentieth in `make test`.
 */
#include "solved.h"

enum { MOST = 64, KINDS = 12, D = 3, T = 3 };

/* A data set, and a claim about it with memory of its own. */
typedef struct forged {
    double X[4 * T * D], Z[4 * T * D], W[D * D], v[D];
    int8_t Y[4];
    int64_t n, queries;
    bool has_Z, has_W;
    int64_t alpha[MOST];
    uint8_t sets[MOST];
    double softmax[MOST], theta[D * D], theta_lo[D * D], lambda[MOST], lambda_lo[MOST], mu[MOST],
        mu_lo[MOST];
    attsvm_row active[MOST], equal[MOST];
    attsvm_claim claim;
    double head_theta[D], head_theta_lo[D], head_lambda[MOST], head_lambda_lo[MOST];
    attsvm_row head_active[MOST];
    attsvm_claim head;
    bool has_head;
} forged;

static attsvm_data *data_of(forged *f)
{
    return open_set((token_set){ .n = f->n,
                                 .T = T,
                                 .d = D,
                                 .M = f->queries,
                                 .X = f->X,
                                 .Y = f->Y,
                                 .Z = f->has_Z ? f->Z : NULL,
                                 .W = f->has_W ? f->W : NULL,
                                 .v = f->v });
}

static void copy(void *to, const void *from, int64_t count, size_t size)
{
    if (from && count > 0)
        memcpy(to, from, (size_t)count * size);
    else
        memset(to, 0, (size_t)(count > 0 ? count : 0) * size);
}

/* The claim's pointers lead to its own memory. */
static void bind(forged *f)
{
    attsvm_claim *c = &f->claim, *h = &f->head;
    bool sets = c->settings.problem == ATTSVM_PROBLEM_MULTI ||
                c->settings.problem == ATTSVM_PROBLEM_FINITE;
    bool tokens = (sets || c->settings.problem == ATTSVM_PROBLEM_W) &&
                  (c->settings.query == ATTSVM_QUERY_ALL || c->settings.query == ATTSVM_QUERY_CAUSAL);
    int64_t terms = tokens ? f->n * T : f->n;
    c->selection = sets ? (attsvm_selection){ .sets = f->sets, .softmax = f->softmax,
                                              .cells = terms * T }
                        : (attsvm_selection){ .alpha = f->alpha, .terms = terms };
    c->theta = f->theta;
    c->theta_lo = f->theta_lo;
    c->theta_lo2 = NULL;
    c->active = f->active;
    c->lambda = f->lambda;
    c->lambda_lo = f->lambda_lo;
    c->equal = f->equal;
    c->mu = f->mu;
    c->mu_lo = f->mu_lo;
    c->head = f->has_head ? h : NULL;
    h->selection = (attsvm_selection){ .alpha = f->alpha, .terms = f->n };
    h->theta = f->head_theta;
    h->theta_lo = f->head_theta_lo;
    h->theta_lo2 = NULL;
    h->active = f->head_active;
    h->lambda = f->head_lambda;
    h->lambda_lo = f->head_lambda_lo;
}

static void take_claim(forged *f, const attsvm_claim *c)
{
    f->claim = *c;
    copy(f->theta, c->theta, c->theta_count, sizeof(double));
    copy(f->theta_lo, c->theta_lo, c->theta_count, sizeof(double));
    copy(f->active, c->active, c->active_count, sizeof(attsvm_row));
    copy(f->lambda, c->lambda, c->active_count, sizeof(double));
    copy(f->lambda_lo, c->lambda_lo, c->active_count, sizeof(double));
    copy(f->equal, c->equal, c->equal_count, sizeof(attsvm_row));
    copy(f->mu, c->mu, c->equal_count, sizeof(double));
    copy(f->mu_lo, c->mu_lo, c->equal_count, sizeof(double));
    f->has_head = c->head != NULL;
    if (c->head) {
        f->head = *c->head;
        copy(f->head_theta, c->head->theta, D, sizeof(double));
        copy(f->head_theta_lo, c->head->theta_lo, D, sizeof(double));
        copy(f->head_active, c->head->active, c->head->active_count, sizeof(attsvm_row));
        copy(f->head_lambda, c->head->lambda, c->head->active_count, sizeof(double));
        copy(f->head_lambda_lo, c->head->lambda_lo, c->head->active_count, sizeof(double));
    }
    bind(f);
}

/* ----------------------------------------------------------------------- the truth */

typedef struct truth {
    attsvm_outcome outcome;
    double norm, dual; /* soft: the objective, and its lower bound */
} truth;

/* The problem of the claim solved afresh: nothing of the claim but its problem is used. */
static bool solve(forged *f, truth *out, forged *keep)
{
    attsvm_error err;
    attsvm_problem *problem;
    attsvm_solution *solution = NULL;
    attsvm_data *data = data_of(f);
    attsvm_svm_settings settings = f->claim.settings;
    settings.tol = 0;
    settings.threads = 1;
    settings.max_iter = 100000;
    bool good =
        attsvm_problem_create(&problem, data, &f->claim.selection, &settings, &err) == ATTSVM_OK;
    if (good) {
        good = attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err) == ATTSVM_OK;
        attsvm_problem_free(problem);
    }
    if (good) {
        attsvm_svm_info info = attsvm_solution_describe(solution);
        *out = (truth){ info.outcome, settings.soft > 0 ? info.objective : info.norm, info.dual };
        if (keep) {
            attsvm_claim claim = attsvm_solution_claim(solution);
            good = claim.active_count <= MOST && claim.equal_count <= MOST;
            if (good)
                take_claim(keep, &claim);
        }
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
    return good;
}

/*
 * min |x| over A x >= 1 by trying every set of tight rows, in long double: the second opinion for
 * p and v in l2.  +infinity: no set works.
 */
static double enumerate(double A[][D], int rows)
{
    double best = INFINITY;
    for (int chosen = 1; chosen < 1 << rows; chosen++) {
        long double M[D][D + 1], x[D] = { 0 }, least = INFINITY, square = 0;
        int index[D], m = 0, used = 0;
        for (int r = 0; r < rows; r++)
            if (chosen >> r & 1) {
                if (m < D)
                    index[m++] = r;
                used++;
            }
        if (used > D)
            continue;
        bool good = true;
        for (int i = 0; i < m; i++) {
            M[i][m] = 1;
            for (int j = 0; j < m; j++) {
                M[i][j] = 0;
                for (int k = 0; k < D; k++)
                    M[i][j] += (long double)A[index[i]][k] * A[index[j]][k];
            }
        }
        for (int k = 0; k < m && good; k++) { /* a Gram matrix: pivots on the diagonal */
            good = M[k][k] > 1e-16L;
            for (int i = 0; i < m && good; i++)
                for (int j = m; i != k && j >= k; j--)
                    M[i][j] -= M[i][k] / M[k][k] * M[k][j];
        }
        for (int i = 0; i < m && good; i++)
            for (int k = 0; k < D; k++)
                x[k] += M[i][m] / M[i][i] * A[index[i]][k];
        for (int k = 0; k < D; k++)
            square += x[k] * x[k];
        for (int r = 0; r < rows && good; r++) {
            long double margin = 0;
            for (int k = 0; k < D; k++)
                margin += x[k] * A[r][k];
            least = margin < least ? margin : least;
        }
        if (good && least > 1 - 1e-9L)
            best = fmin(best, (double)sqrtl(square));
    }
    return best;
}

/* The norm of the solution by enumeration; NAN where it does not apply. */
static double second_opinion(const forged *f)
{
    double A[4 * T][D];
    int rows = 0;
    const attsvm_svm_settings *s = &f->claim.settings;
    bool euclidean = s->norm == ATTSVM_NORM_L2 || s->norm == ATTSVM_NORM_FRO;
    bool prompt = s->problem == ATTSVM_PROBLEM_P;
    if (!euclidean || (!prompt && s->problem != ATTSVM_PROBLEM_V) || s->soft > 0 || f->has_W)
        return NAN;
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t t = 0; t < T; t++) {
            const double *x = f->X + (i * T + f->alpha[i]) * D, *y = f->X + (i * T + t) * D;
            if (prompt ? t == f->alpha[i] : t != 0)
                continue;
            double size = 0;
            for (int k = 0; k < D; k++) {
                A[rows][k] = prompt ? x[k] - y[k] : f->Y[i] * x[k];
                size += fabs(A[rows][k]);
            }
            if (size == 0 && prompt && s->duplicates == ATTSVM_DUPLICATES_MERGE)
                continue;
            rows++;
        }
    return enumerate(A, rows);
}

/* ------------------------------------------------------------------------- honest results */

typedef struct variant {
    const char *problem, *norm, *query;
    double soft;
    int64_t rank;
    bool key_map, strict, infeasible;
} variant;

static const variant variants[] = {
    { "p", "l2", "0", 0, 0, false, false, false },
    { "p", "l2", "0", 0, 0, true, false, false },
    { "p", "l2", "0", 0, 0, false, true, true },
    { "p", "l2", "0", 0, 0, false, false, true },
    { "p", "lq:3", "0", 0, 0, false, false, false },
    { "p", "lq:1.5", "0", 0, 0, true, false, false },
    { "p", "l1", "0", 0, 0, false, false, false },
    { "p", "linf", "0", 0, 0, false, false, false },
    { "p", "l2", "0", 0.3, 0, false, false, false },
    { "p", "l2", "0", 50, 0, false, false, false },
    { "v", "l2", "0", 0, 0, false, false, false },
    { "v", "l1", "0", 0, 0, false, false, false },
    { "v", "linf", "0", 0, 0, false, false, false },
    { "v", "lq:4", "0", 0, 0, false, false, false },
    { "v", "l2", "0", 0, 0, false, false, true },
    { "v", "l2", "0", 2, 0, false, false, false },
    { "joint", "l2", "0", 0, 0, false, false, false },
    { "joint", "l1", "0", 0, 0, false, false, false },
    { "joint", "l2", "0", 0, 0, true, false, false },
    { "W", "fro", "given", 0, 0, false, false, false },
    { "W", "fro", "all", 0, 0, false, false, false },
    { "W", "fro", "causal", 0, 0, false, false, false },
    { "W", "fro", "last", 0, 0, false, false, false },
    { "W", "nuc", "given", 0, 0, false, false, false },
    { "W", "nuc", "causal", 0, 0, false, false, false },
    { "W", "spectral", "given", 0, 0, false, false, false },
    { "W", "lq:3", "given", 0, 0, false, false, false },
    { "W", "l1", "given", 0, 0, false, false, false },
    { "W", "linf", "causal", 0, 0, false, false, false },
    { "W", "fro", "given", 0.5, 0, false, false, false },
    { "W", "fro", "given", 0, 1, false, false, false },
    { "W", "nuc", "given", 0, 1, false, false, false },
    { "W", "fro", "given", 0, 0, false, false, true },
    { "W", "nuc", "given", 0, 0, false, false, true },
    { "multi", "fro", "given", 0, 0, false, false, false },
    { "multi", "nuc", "given", 0, 0, false, false, false },
    { "multi", "l1", "given", 0, 0, false, false, false },
    { "multi", "fro", "given", 0, 0, false, true, true },
    { "finite", "fro", "given", 0, 0, false, false, false },
    { "finite", "linf", "given", 0, 0, false, false, false },
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* Small whole numbers (exact ties happen), or Gaussian. */
static double number(base_random *r, bool whole)
{
    return whole ? (double)(base_random_below(r, 7) - 3) : base_random_gauss(r);
}

/* Data and a selection for a variant; the claim has the settings alone. */
static void draw(forged *f, const variant *v, base_random *r)
{
    attsvm_error err;
    bool whole = base_random_below(r, 3) == 0;
    double spread = base_random_below(r, 4) == 0 ? ldexp(1, (int)base_random_below(r, 60) - 30) : 1;
    *f = (forged){ .n = v->infeasible ? 4 : 2, .has_Z = true, .has_W = v->key_map, .queries = 1 };
    for (int64_t k = 0; k < f->n * T * D; k++) {
        f->X[k] = number(r, whole) * (k % 7 == 0 ? spread : 1);
        f->Z[k] = number(r, whole);
    }
    for (int k = 0; k < D * D; k++)
        f->W[k] = k / D == 2 ? 0 : number(r, whole);
    for (int k = 0; k < D; k++)
        f->v[k] = number(r, false);
    for (int i = 0; i < 4; i++)
        f->Y[i] = base_random_below(r, 2) ? 1 : -1;
    if (v->infeasible) /* sequence 1 has the tokens of sequence 0 */
        memcpy(f->X + T * D, f->X, T * D * sizeof *f->X);
    for (int k = 0; k < MOST; k++) {
        f->alpha[k] = strcmp(v->query, "causal") == 0 ? base_random_below(r, k % T + 1)
                                                      : base_random_below(r, T);
        f->sets[k] = k % T == 0 || base_random_below(r, 3) == 0;
        f->softmax[k] = 0.05 + base_random_uniform(r);
    }
    if (v->infeasible) {
        f->alpha[1] = (f->alpha[0] + 1) % T;
        f->Y[0] = 1;
        f->Y[1] = -1;
        memcpy(f->Z + D, f->Z, D * sizeof *f->Z);
        if (strcmp(v->problem, "v") == 0)
            f->alpha[1] = f->alpha[0];
    }
    attsvm_svm_settings *s = &f->claim.settings;
    attsvm_svm_settings_init(s);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, s, "problem", v->problem, &err), err);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, s, "norm", v->norm, &err), err);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, s, "query", v->query, &err), err);
    s->soft = v->soft;
    s->rank = v->rank;
    s->threads = 1;
    s->duplicates = v->strict ? ATTSVM_DUPLICATES_STRICT : ATTSVM_DUPLICATES_MERGE;
    bind(f);
}

/* --------------------------------------------------------------------------- forgeries */

static double any_scale(base_random *r)
{
    static const double scales[] = { 1e17, 1e31, 1e-17, 10, 0.1,     1 + 1e-6,  1 - 1e-6, 1 + 1e-9,
                                     0,    -1,   2,     3,  1e9,     1e13,      1e20,     1e300,
                                     1e-3, 0.5,  1e-9,  7,  0x1p-60, 1 - 1e-10, 1e100,    1 + 1e-11 };
    return scales[base_random_below(r, sizeof scales / sizeof *scales)];
}

static double strange(base_random *r)
{
    static const double values[] = { NAN, INFINITY, -INFINITY, 5e-324, 1e308, -1e308, 1e-310, -0.0 };
    return values[base_random_below(r, sizeof values / sizeof *values)];
}

static void times(double *x, int64_t count, double factor)
{
    for (int64_t k = 0; k < count; k++)
        x[k] *= factor;
}

static double *pick(double *x, int64_t count, base_random *r)
{
    return x + (count > 0 ? base_random_below(r, count) : 0);
}

static void forge_scale(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    double factor = any_scale(r), other = any_scale(r);
    times(f->theta, c->theta_count, factor);
    times(f->theta_lo, c->theta_count, factor);
    if (base_random_below(r, 2)) {
        times(f->lambda, c->active_count, other);
        times(f->lambda_lo, c->active_count, other);
    }
    if (base_random_below(r, 3) == 0)
        c->active_count = c->equal_count = 0;
}

static void forge_drop(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    switch (base_random_below(r, 5)) {
    case 0: c->active_count = base_random_below(r, c->active_count + 1); break;
    case 1: c->equal_count = base_random_below(r, c->equal_count + 1); break;
    case 2: *pick(f->lambda, c->active_count, r) = 0; break;
    case 3: *pick(f->theta, c->theta_count, r) = 0; break;
    default: memset(f->theta, 0, sizeof f->theta); memset(f->theta_lo, 0, sizeof f->theta_lo);
    }
}

/* Large multipliers that cancel. */
static void forge_cancel(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    double M = base_random_below(r, 2) ? 1e20 : any_scale(r);
    c->outcome = base_random_below(r, 2) ? ATTSVM_INFEASIBLE : c->outcome;
    if (c->equal_count >= 2 && base_random_below(r, 2)) {
        f->mu[0] += M;
        f->mu[c->equal_count - 1] -= M;
        return;
    }
    for (int64_t k = 0; k < c->active_count; k++)
        f->lambda[k] = base_random_below(r, 2) ? M : f->lambda[k];
    if (base_random_below(r, 2) && c->active_count < MOST - 1)
        f->active[c->active_count] = (attsvm_row){ base_random_below(r, f->n), 0,
                                                   base_random_below(r, T) },
        f->lambda[c->active_count++] = M;
}

static void forge_borrow(forged *f, const forged *other, base_random *r)
{
    attsvm_claim *c = &f->claim;
    if (other->claim.theta_count == c->theta_count && base_random_below(r, 2)) {
        memcpy(f->theta, other->theta, sizeof f->theta);
        memcpy(f->theta_lo, other->theta_lo, sizeof f->theta_lo);
    }
    if (base_random_below(r, 2)) {
        c->active_count = other->claim.active_count;
        memcpy(f->active, other->active, sizeof f->active);
        memcpy(f->lambda, other->lambda, sizeof f->lambda);
        memcpy(f->lambda_lo, other->lambda_lo, sizeof f->lambda_lo);
    }
    if (base_random_below(r, 2))
        memcpy(f->X, other->X, sizeof f->X);
    c->outcome = base_random_below(r, 2) ? other->claim.outcome : c->outcome;
}

static void forge_settings(forged *f, base_random *r)
{
    attsvm_svm_settings *s = &f->claim.settings;
    static const double Cs[] = { 0, 1e-3, 0.3, 10, 1e9 };
    switch (base_random_below(r, 8)) {
    case 0: s->tol = 1; times(f->theta, f->claim.theta_count, any_scale(r)); break;
    case 1: s->norm = 1 + (int32_t)base_random_below(r, 7); break;
    case 2: s->q = 1 + base_random_uniform(r) * 4; break;
    case 3: s->soft = Cs[base_random_below(r, 5)]; break;
    case 4: s->rank = base_random_below(r, 3); break;
    case 5: s->duplicates = 1 + (int32_t)base_random_below(r, 2); break;
    case 6: s->query = 1 + (int32_t)base_random_below(r, 5); break;
    default: s->problem = 1 + (int32_t)base_random_below(r, 6); break;
    }
    bind(f);
}

static void forge_strange(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    double *where[] = { pick(f->theta, c->theta_count, r),    pick(f->lambda, c->active_count, r),
                        pick(f->mu, c->equal_count, r),       pick(f->theta_lo, c->theta_count, r),
                        pick(f->lambda_lo, c->active_count, r), pick(f->head_theta, D, r),
                        pick(f->softmax, f->n * T, r) };
    *where[base_random_below(r, 7)] = strange(r);
}

/* One token far away, or nearer by a little: the claim is now about other data. */
static void forge_token(forged *f, base_random *r)
{
    double *x = pick(f->X, f->n * T * D, r);
    switch (base_random_below(r, 4)) {
    case 0: *x *= 1e9; break;
    case 1: *x += 1e-9 * base_random_gauss(r); break;
    case 2: *x = ldexp(base_random_gauss(r), (int)base_random_below(r, 200) - 100); break;
    default: *x = nextafter(*x, base_random_gauss(r)); break;
    }
    if (base_random_below(r, 3) == 0)
        *pick(f->Z, f->n * D, r) *= 1e7;
}

static void forge_outcome(forged *f, base_random *r)
{
    f->claim.outcome = (attsvm_outcome)base_random_below(r, 5);
    if (f->has_head && base_random_below(r, 2))
        f->head.outcome = (attsvm_outcome)base_random_below(r, 5);
    for (int64_t k = 0; k < f->claim.theta_count; k++)
        if (isnan(f->theta[k]))
            f->theta[k] = 1e31 * base_random_gauss(r);
}

/* Low parts that are not low. */
static void forge_low(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    double *theta = pick(f->theta, c->theta_count, r), *low = f->theta_lo + (theta - f->theta);
    double junk = base_random_gauss(r) * any_scale(r);
    switch (base_random_below(r, 3)) {
    case 0:
        *low += *theta - junk; /* the sum is right, the first part is not */
        *theta = junk;
        break;
    case 1: *low = junk; break;
    default: *pick(f->lambda_lo, c->active_count, r) = junk; break;
    }
}

static void forge_head(forged *f, base_random *r)
{
    if (base_random_below(r, 2))
        times(f->head_theta, D, any_scale(r));
    else
        *pick(f->head_theta, D, r) *= 1 + 1e-6 * base_random_gauss(r);
    if (base_random_below(r, 3) == 0)
        memset(f->theta, 0, sizeof f->theta);
    if (base_random_below(r, 3) == 0)
        f->head.active_count = 0;
    if (!f->has_head)
        *pick(f->theta, f->claim.theta_count, r) += 1e-6;
}

static void forge_rows(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    attsvm_row *row = &f->active[c->active_count > 0 ? base_random_below(r, c->active_count) : 0];
    switch (base_random_below(r, 5)) {
    case 0: row->token = base_random_below(r, T + 2) - 1; break;
    case 1: row->sequence = base_random_below(r, f->n + 2) - 1; break;
    case 2: *row = f->active[0]; break;
    case 3: f->alpha[base_random_below(r, f->n)] = base_random_below(r, T); break;
    default: f->sets[base_random_below(r, f->n * T)] ^= 1; break;
    }
}

/* Everything a little, from 1e-3 to 1e-14. */
static void forge_nudge(forged *f, base_random *r)
{
    double size = ldexp(1, -10 - (int)base_random_below(r, 37));
    for (int64_t k = 0; k < f->claim.theta_count; k++)
        f->theta[k] *= 1 + size * base_random_gauss(r);
    for (int64_t k = 0; k < f->claim.active_count && base_random_below(r, 2); k++)
        f->lambda[k] *= 1 + size * base_random_gauss(r);
    for (int64_t k = 0; k < f->claim.equal_count; k++)
        f->mu[k] *= 1 + size * base_random_gauss(r);
}

static const char *const kinds[KINDS] = { "scale", "drop",    "cancel", "borrow", "settings", "strange",
                                          "token", "outcome", "low",    "head",   "rows",     "nudge" };

static void forge(forged *f, const forged *other, int kind, base_random *r)
{
    switch (kind) {
    case 0: forge_scale(f, r); break;
    case 1: forge_drop(f, r); break;
    case 2: forge_cancel(f, r); break;
    case 3: forge_borrow(f, other, r); break;
    case 4: forge_settings(f, r); break;
    case 5: forge_strange(f, r); break;
    case 6: forge_token(f, r); break;
    case 7: forge_outcome(f, r); break;
    case 8: forge_low(f, r); break;
    case 9: forge_head(f, r); break;
    case 10: forge_rows(f, r); break;
    default: forge_nudge(f, r); break;
    }
}

/* --------------------------------------------------------------------------- judgement */

/* Whether an accepted report contradicts the truth; `why` (160). */
static bool is_false(forged *f, const attsvm_report *report, char *why)
{
    truth known;
    const double tol = 1e-8;
    bool soft = f->claim.settings.soft > 0, infeasible = report->outcome == ATTSVM_INFEASIBLE;
    double opinion = second_opinion(f);
    if (!infeasible && !soft && isfinite(opinion) && fabs(report->norm - opinion) > tol * opinion)
        return snprintf(why, 160, "norm %.15g, by enumeration %.15g", report->norm, opinion) > 0;
    if (infeasible && isfinite(opinion) && opinion < 1e9)
        return snprintf(why, 160, "infeasible, by enumeration norm %.15g", opinion) > 0;
    if (!solve(f, &known, NULL))
        return snprintf(why, 160, "accepted where the problem cannot be stated") > 0;
    if (infeasible)
        return known.outcome == ATTSVM_OPTIMAL &&
               snprintf(why, 160, "infeasible, solved with norm %.15g", known.norm) > 0;
    if (known.outcome == ATTSVM_INFEASIBLE)
        return snprintf(why, 160, "norm %.15g, but it is infeasible", report->norm) > 0;
    /* soft: the report has the objective only through its lower bound, with the gap below tol */
    double value = soft ? report->dual : report->norm;
    if (report->outcome == ATTSVM_STATIONARY)
        return value < known.dual * (1 - tol) &&
               snprintf(why, 160, "norm %.15g below the bound %.15g", value, known.dual) > 0;
    /* the solver's own theta is feasible, and its multipliers are a bound, whatever their gap */
    if (known.outcome == ATTSVM_OPTIMAL && value > known.norm * (1 + tol))
        return snprintf(why, 160, "value %.15g, solved %.15g", value, known.norm) > 0;
    return value < known.dual * (1 - tol) &&
           snprintf(why, 160, "value %.15g below the bound %.15g", value, known.dual) > 0;
}

static bool accepted(forged *f, attsvm_report *report)
{
    attsvm_error err;
    attsvm_data *data = NULL;
    for (int64_t k = 0; k < f->n * T * D; k++)
        if (!isfinite(f->X[k]) || !isfinite(f->Z[k]))
            return false;
    data = data_of(f);
    attsvm_check_settings settings = { .threads = 1 };
    attsvm_status status = attsvm_check(report, data, &f->claim, &settings, NULL, NULL, &err);
    attsvm_data_free(data);
    return status == ATTSVM_OK && report->valid;
}

static void nothing_false_is_accepted(void **state)
{
    (void)state;
    enum { BASES = 5 };
    static forged bases[VARIANTS * BASES], f;
    int64_t count = 0, total = long_or_short(240000, 12000), wrong = 0;
    int64_t tried[KINDS] = { 0 }, passed[KINDS] = { 0 }, lies[KINDS] = { 0 };
    int missing = 0;
    base_random r = base_random_stream(19, 4);
    for (int v = 0; v < VARIANTS; v++) {
        int have = 0;
        for (int attempt = 0; attempt < 60 && have < BASES; attempt++) {
            truth known;
            attsvm_report report;
            draw(&f, &variants[v], &r);
            if (solve(&f, &known, &f) && known.outcome != ATTSVM_STALLED && accepted(&f, &report)) {
                bases[count] = f;
                bind(&bases[count++]);
                have++;
            }
        }
        if (have == 0)
            print_message("no valid result of %s in %s\n", variants[v].problem, variants[v].norm);
        missing += have == 0;
    }
    for (int64_t k = 0; k < total; k++) {
        int kind = (int)(k % KINDS);
        attsvm_report report;
        char why[160];
        f = bases[base_random_below(&r, count)];
        bind(&f);
        forge(&f, &bases[base_random_below(&r, count)], kind, &r);
        tried[kind]++;
        if (!accepted(&f, &report))
            continue;
        passed[kind]++;
        if (!is_false(&f, &report, why))
            continue;
        lies[kind]++;
        if (wrong++ < 20)
            print_message("%s, problem %d, norm %d: accepted (%s), but %s\n", kinds[kind],
                          f.claim.settings.problem, f.claim.settings.norm, report.reason, why);
    }
    print_message("%-10s %8s %9s %6s\n", "forgery", "tried", "accepted", "false");
    for (int kind = 0; kind < KINDS; kind++)
        print_message("%-10s %8d %9d %6d\n", kinds[kind], (int)tried[kind], (int)passed[kind],
                      (int)lies[kind]);
    assert_int_equal(wrong, 0);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_false_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
