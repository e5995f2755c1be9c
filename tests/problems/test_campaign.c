/*
 * Random instances over sizes and degeneracies.  Every answer goes through the checker; none may be
 * wrong.  Stalled are only instances that double-double cannot decide, and no more than a share:
 *
 *   rank-deficient, barely infeasible   rounding the data made rows almost, but not exactly,
 *                                       dependent.  Every solution is at least 1e12 long, as the
 *                                       bound shows; the bound to prove infeasibility is 1e18.
 *                                       Equalities of a soft problem may be so too, without a
 *                                       bound: they alone could make it infeasible.
 *   norms 1e-6..1e6                     equalities, or the tight rows of a head, whose condition
 *                                       leaves no digits of double-double at 1e-12
 *
 *   test_campaign [count [seed [first]]]     500 instances unless told; prints a table
 */
#include "base/base.h"
#include "data/data.h"
#include "lengths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind {
    GAUSS,
    SPHERE,
    ONE_HOT,
    VOCABULARY,
    TIES,
    RANK_DEFICIENT,
    WILD,
    BARELY_FEASIBLE,
    BARELY_INFEASIBLE,
    PLANTED,
    KINDS
} kind;

static const char *const names[KINDS] = {
    "Gaussian",       "unit sphere",     "one-hot",         "repeated vocabulary", "ties",
    "rank-deficient", "norms 1e-6..1e6", "barely feasible", "barely infeasible",   "planted",
};

typedef struct tally {
    int count, optimal, infeasible, exact, stalled, explained, wrong;
    double gap, seconds, norm;
} tally;

typedef struct instance {
    kind kind;
    attsvm_problem_kind problem;
    int64_t n, T, d, tokens;
    int32_t query; /* attsvm_query: ALL and CAUSAL have a term for every token */
    bool soft, large;
    double *X, *Z, *s;
    int64_t *offsets, *alpha;
    int8_t *Y;
    uint8_t *O;
    attsvm_outcome expected; /* ATTSVM_NOT_RUN: either outcome is right */
} instance;

static int64_t between(base_random *r, int64_t lo, int64_t hi)
{
    return lo + base_random_below(r, hi - lo + 1);
}

/* ------------------------------------------------------------------------- tokens */

static void fill_words(instance *in, base_random *r, bool one_hot)
{
    int64_t words = one_hot ? in->d : between(r, 2, 8);
    double *table = calloc((size_t)(words * in->d), sizeof *table);
    for (int64_t k = 0; k < words; k++) {
        if (one_hot)
            table[k * in->d + k] = 1;
        else
            base_random_gauss_fill(r, table + k * in->d, in->d);
    }
    for (int64_t k = 0; k < in->tokens; k++)
        memcpy(in->X + k * in->d, table + base_random_below(r, words) * in->d,
               (size_t)in->d * sizeof *table);
    free(table);
}

static void fill_product(instance *in, base_random *r)
{
    int64_t rank = between(r, 1, in->d > 1 ? in->d - 1 : 1);
    double *basis = calloc((size_t)(rank * in->d), sizeof *basis);
    bool integers = base_random_below(r, 2) == 0;
    for (int64_t k = 0; k < rank * in->d; k++)
        basis[k] = integers ? (double)between(r, -2, 2) : base_random_gauss(r);
    for (int64_t k = 0; k < in->tokens; k++)
        for (int64_t b = 0; b < rank; b++) {
            double c = integers ? (double)between(r, -2, 2) : base_random_gauss(r);
            for (int64_t j = 0; j < in->d; j++)
                in->X[k * in->d + j] += c * basis[b * in->d + j];
        }
    free(basis);
}

/*
 * Rivals x_alpha - (r + c w): the r come in pairs +-r orthogonal to w, in enough directions that
 * only w (to the order of c) can serve all of them.  The margin along w is c; where c changes its
 * sign from pair to pair, nothing serves them.
 */
static void fill_barely(instance *in, base_random *r, bool feasible)
{
    const double c = 1e-9;
    double w[64], *x = in->X;
    base_random_sphere(r, w, in->d);
    int64_t pairs = 0;
    for (int64_t i = 0; i < in->n; i++)
        for (int64_t t = 0; t < in->T; t++, x += in->d) {
            if (t == 0) {
                base_random_gauss_fill(r, x, in->d);
                in->alpha[i] = 0;
                continue;
            }
            double *first = in->X + i * in->T * in->d, direction[64];
            bool second = pairs++ % 2 == 1;
            if (second)
                for (int64_t j = 0; j < in->d; j++) /* the mirror image of the rival before */
                    direction[j] = -(first[j] - x[j - in->d]);
            else
                base_random_gauss_fill(r, direction, in->d);
            if (second && t == 1)
                base_random_gauss_fill(r, direction, in->d);
            double along = 0;
            for (int64_t j = 0; j < in->d; j++)
                along += direction[j] * w[j];
            double push = feasible || (pairs - 1) / 2 % 2 == 0 ? c : -c;
            for (int64_t j = 0; j < in->d; j++)
                x[j] = first[j] - (direction[j] - along * w[j] + push * w[j]);
        }
}

static void fill_tokens(instance *in, base_random *r)
{
    switch (in->kind) {
    case ONE_HOT: fill_words(in, r, true); return;
    case VOCABULARY: fill_words(in, r, false); return;
    case RANK_DEFICIENT: fill_product(in, r); return;
    case BARELY_FEASIBLE: fill_barely(in, r, true); return;
    case BARELY_INFEASIBLE: fill_barely(in, r, false); return;
    default: break;
    }
    for (int64_t k = 0; k < in->tokens; k++) {
        double *x = in->X + k * in->d, scale = 1;
        if (in->kind == SPHERE)
            base_random_sphere(r, x, in->d);
        else
            base_random_gauss_fill(r, x, in->d);
        if (in->kind == WILD)
            scale = pow(10, 12 * base_random_uniform(r) - 6);
        for (int64_t j = 0; j < in->d; j++)
            x[j] = in->kind == TIES ? (double)between(r, -1, 2) : scale * x[j];
    }
}

/* -------------------------------------------------------------------- instances */

static void choose_sizes(instance *in, base_random *r)
{
    bool barely = in->kind == BARELY_FEASIBLE || in->kind == BARELY_INFEASIBLE;
    in->large = !barely && base_random_below(r, 20) == 0;
    in->n = between(r, 1, in->large ? 80 : 12);
    in->T = between(r, barely ? 3 : 1, in->large ? 16 : 10);
    in->d = between(r, 1, in->large ? 24 : 10);
    if (barely) { /* rivals in all directions orthogonal to w */
        in->d = between(r, 2, 6);
        in->T = 2 * in->d + 1;
        in->n = between(r, 1, 4);
    }
}

static void choose_problem(instance *in, base_random *r)
{
    static const attsvm_problem_kind common[] = { ATTSVM_PROBLEM_P,     ATTSVM_PROBLEM_W,
                                                  ATTSVM_PROBLEM_W,     ATTSVM_PROBLEM_V,
                                                  ATTSVM_PROBLEM_JOINT, ATTSVM_PROBLEM_MULTI,
                                                  ATTSVM_PROBLEM_FINITE };
    bool barely = in->kind == BARELY_FEASIBLE || in->kind == BARELY_INFEASIBLE;
    in->problem = common[base_random_below(r, barely ? 2 : 7)];
    bool sets = in->problem == ATTSVM_PROBLEM_FINITE || in->problem == ATTSVM_PROBLEM_MULTI;
    bool matrix = sets || in->problem == ATTSVM_PROBLEM_W;
    in->query = ATTSVM_QUERY_GIVEN;
    /* tokens as their own queries square the spread of norms, beyond what a stored theta
       resolves */
    bool several = !barely && !in->large && in->kind != WILD;
    if (matrix && several && base_random_below(r, 3) == 0)
        in->query = base_random_below(r, 2) ? ATTSVM_QUERY_ALL : ATTSVM_QUERY_CAUSAL;
    in->soft = !barely && !in->large && in->problem != ATTSVM_PROBLEM_FINITE &&
               in->problem != ATTSVM_PROBLEM_JOINT && base_random_below(r, 6) == 0;
    in->expected = in->kind == BARELY_FEASIBLE     ? ATTSVM_OPTIMAL
                   : in->kind == BARELY_INFEASIBLE ? ATTSVM_INFEASIBLE
                                                   : ATTSVM_NOT_RUN;
}

/* A random selection, or the best token along a random direction, which is feasible for p. */
static void choose_selection(instance *in, base_random *r)
{
    double w[64];
    bool along = in->kind == PLANTED || base_random_below(r, 2) == 0;
    if (in->kind == BARELY_FEASIBLE || in->kind == BARELY_INFEASIBLE)
        return;
    base_random_gauss_fill(r, w, in->d);
    for (int64_t i = 0; i < in->n; i++) {
        int64_t T = in->offsets[i + 1] - in->offsets[i];
        const double *x = in->X + in->offsets[i] * in->d;
        double best = -INFINITY;
        in->alpha[i] = base_random_below(r, T);
        for (int64_t t = 0; t < T && along; t++) {
            double value = 0;
            for (int64_t j = 0; j < in->d; j++)
                value += x[t * in->d + j] * w[j];
            if (value > best) {
                best = value;
                in->alpha[i] = t;
            }
        }
    }
}

static int64_t queries_of(const instance *in, int64_t i)
{
    return in->query == ATTSVM_QUERY_GIVEN ? 1 : in->offsets[i + 1] - in->offsets[i];
}

/* With a term for every token: the same token for all queries that see it, or random ones. */
static void spread_selection(instance *in, base_random *r)
{
    bool same = base_random_below(r, 2) == 0;
    for (int64_t i = in->n - 1; i >= 0; i--) {
        int64_t T = in->offsets[i + 1] - in->offsets[i], alpha = in->alpha[i];
        for (int64_t q = T - 1; q >= 0; q--) {
            int64_t sees = in->query == ATTSVM_QUERY_CAUSAL ? q + 1 : T;
            in->alpha[in->offsets[i] + q] =
                same && alpha < sees ? alpha : base_random_below(r, sees);
        }
    }
}

static void choose_sets(instance *in, base_random *r)
{
    int64_t first = 0, term = 0;
    for (int64_t i = 0; i < in->n; i++)
        for (int64_t q = 0, T = in->offsets[i + 1] - in->offsets[i]; q < queries_of(in, i); q++) {
            for (int64_t k = first; k < first + T; k++) {
                in->O[k] = base_random_below(r, 4) == 0;
                in->s[k] = exp(2 * base_random_gauss(r));
            }
            in->O[first + in->alpha[term++]] = 1;
            first += T;
        }
}

static void make(instance *in, uint64_t seed, uint64_t number)
{
    base_random r = base_random_stream(seed, number);
    *in = (instance){ .kind = (kind)(number % KINDS) };
    choose_sizes(in, &r);
    choose_problem(in, &r);
    bool barely = in->expected != ATTSVM_NOT_RUN;
    size_t n = (size_t)in->n;
    in->offsets = calloc(n + 1, sizeof *in->offsets);
    in->Y = calloc(n, 1);
    for (int64_t i = 0; i < in->n; i++) {
        in->offsets[i + 1] = in->offsets[i] + (barely ? in->T : between(&r, 1, in->T));
        in->Y[i] = base_random_below(&r, 2) ? 1 : -1;
    }
    in->tokens = in->offsets[n];
    in->alpha = calloc((size_t)in->tokens, sizeof *in->alpha);
    in->X = calloc((size_t)(in->tokens * in->d), sizeof *in->X);
    in->Z = calloc(n * (size_t)in->d, sizeof *in->Z);
    in->O = calloc((size_t)(in->tokens * in->T), 1);
    in->s = calloc((size_t)(in->tokens * in->T), sizeof *in->s);
    fill_tokens(in, &r);
    for (int64_t i = 0; i < in->n; i++) {
        double *z = in->Z + i * in->d;
        if (barely && i > 0) /* with one query for all, the rows are those of a vector problem */
            memcpy(z, in->Z, (size_t)in->d * sizeof *z);
        else if (in->kind == ONE_HOT || in->kind == TIES)
            z[base_random_below(&r, in->d)] = 1;
        else
            base_random_gauss_fill(&r, z, in->d);
    }
    choose_selection(in, &r);
    if (in->query != ATTSVM_QUERY_GIVEN)
        spread_selection(in, &r);
    choose_sets(in, &r);
}

static void release(instance *in)
{
    free(in->X);
    free(in->Z);
    free(in->O);
    free(in->s);
    free(in->Y);
    free(in->alpha);
    free(in->offsets);
}

/* --------------------------------------------------------------------- the campaign */

/* Whether an instance may stall (see the top). */
static bool may_stall(const instance *in, const attsvm_svm_info *info)
{
    bool dependent = in->kind == RANK_DEFICIENT || in->kind == BARELY_INFEASIBLE;
    bool sets = in->problem == ATTSVM_PROBLEM_MULTI || in->problem == ATTSVM_PROBLEM_FINITE;
    bool fixed = sets || in->problem == ATTSVM_PROBLEM_JOINT;
    bool soft_sets = in->kind == RANK_DEFICIENT && in->soft && sets;
    return (dependent && info->bound >= 1e12) || soft_sets || (in->kind == WILD && fixed);
}

/* How many instances of a kind may stall. */
static int most_stalled(kind of, int count)
{
    bool dependent = of == RANK_DEFICIENT || of == BARELY_INFEASIBLE;
    return dependent ? count / 3 : of == WILD ? count / 50 : 0;
}

/* The tables and wrong answers go to the documents; stalled instances and reasons go to the log. */
static void complain(const instance *in, uint64_t number, const char *what,
                     const attsvm_svm_info *info)
{
    bool explained = info->outcome == ATTSVM_STALLED && may_stall(in, info);
    fprintf(explained ? stderr : stdout,
            "instance %d (%s, problem %d%s query %d, n=%d T=%d d=%d): %s; outcome %d norm %.3g gap "
            "%.2e violation %.2e bound %.1e\n",
            (int)number, names[in->kind], (int)in->problem, in->soft ? " soft" : "", (int)in->query,
            (int)in->n, (int)in->T, (int)in->d, what, (int)info->outcome, info->norm, info->gap,
            info->violation, info->bound);
}

static void count(const instance *in, const attsvm_svm_info *info, tally *sum)
{
    sum->count++;
    sum->optimal += info->outcome == ATTSVM_OPTIMAL;
    sum->infeasible += info->outcome == ATTSVM_INFEASIBLE;
    sum->stalled += info->outcome == ATTSVM_STALLED;
    sum->exact += info->outcome == ATTSVM_INFEASIBLE && info->proof == ATTSVM_PROOF_EXACT;
    sum->explained += info->outcome == ATTSVM_STALLED && may_stall(in, info);
    sum->seconds = fmax(sum->seconds, info->seconds);
    if (info->outcome == ATTSVM_OPTIMAL)
        sum->gap = fmax(sum->gap, info->gap);
    if (info->outcome == ATTSVM_OPTIMAL)
        sum->norm = fmax(sum->norm, info->norm);
}

static void solve(const instance *in, uint64_t number, base_random *r, tally *sum)
{
    attsvm_error err = { 0 };
    attsvm_data *data;
    attsvm_named_array arrays[] = {
        { "X", { in->X, { in->tokens, in->d }, 2, ATTSVM_F64 } },
        { "offsets", { in->offsets, { in->n + 1 }, 1, ATTSVM_I64 } },
        { "Z", { in->Z, { in->n, in->d }, 2, ATTSVM_F64 } },
        { "Y", { in->Y, { in->n }, 1, ATTSVM_I8 } },
    };
    attsvm_svm_settings settings;
    attsvm_svm_settings_init(&settings);
    settings.problem = (int32_t)in->problem;
    settings.query = in->query;
    settings.threads = 1;
    settings.duplicates =
        base_random_below(r, 2) ? ATTSVM_DUPLICATES_MERGE : ATTSVM_DUPLICATES_STRICT;
    settings.soft = in->soft ? pow(10, 4 * base_random_uniform(r) - 2) : 0;
    attsvm_selection selection = { .alpha = in->alpha, .sets = in->O, .softmax = in->s };
    attsvm_problem *problem = NULL;
    attsvm_solution *solution = NULL;
    attsvm_svm_info info = { 0 };
    attsvm_report report = { 0 };
    attsvm_status status = attsvm_data_create(&data, arrays, 4, NULL, &err);
    if (status == ATTSVM_OK)
        status = problem_create(&problem, data, &selection, &settings, &err);
    if (status == ATTSVM_OK)
        status = attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err);
    if (status == ATTSVM_OK) {
        info = attsvm_solution_describe(solution);
        attsvm_claim claim = attsvm_solution_claim(solution);
        status = attsvm_check(&report, data, &claim, NULL, NULL, NULL, &err);
    }
    count(in, &info, sum);
    const char *what = status != ATTSVM_OK              ? err.message
                       : info.outcome == ATTSVM_STALLED ? "stalled"
                       : !report.valid                  ? report.reason
                       : info.outcome == ATTSVM_OPTIMAL && info.tight != report.tight
                           ? "the checker counts other tight rows"
                       : info.outcome == ATTSVM_OPTIMAL && info.merged != report.merged
                           ? "the checker counts other merged tokens"
                       : in->expected != ATTSVM_NOT_RUN && info.outcome != in->expected
                           ? "the other verdict was planted"
                           : NULL;
    if (what)
        complain(in, number, what, &info);
    sum->wrong += what != NULL && info.outcome != ATTSVM_STALLED;
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    attsvm_data_free(data);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 500;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    tally sums[KINDS] = { 0 };
    int bad = 0;
    for (uint64_t k = first; k < count; k++) {
        instance in;
        base_random r = base_random_stream(seed + 1000000, k);
        make(&in, seed, k);
        solve(&in, k, &r, &sums[in.kind]);
        release(&in);
    }
    printf("| data | instances | optimal | infeasible | of them exact | stalled | wrong |\n");
    printf("|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < KINDS; k++) {
        const tally *t = &sums[k];
        printf("| %s | %d | %d | %d | %d | %d | %d |\n", names[k], t->count, t->optimal,
               t->infeasible, t->exact, t->stalled, t->wrong);
        bad += t->stalled - t->explained + t->wrong;
        if (t->stalled > most_stalled((kind)k, t->count))
            bad++;
    }
    /* these depend on the kernels and the machine, so the documents leave them out */
    for (int k = 0; k < KINDS; k++)
        fprintf(stderr, "%-20s worst gap %.1e, largest norm %.1e, slowest %.1e s\n", names[k],
                sums[k].gap, sums[k].norm, sums[k].seconds);
    return bad > 0;
}
