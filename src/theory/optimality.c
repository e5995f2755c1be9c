/* Support tokens of a solution, and optimality of its selection (theory 5). */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>

/* A multiplier with the number of its term. */
typedef struct multiplier {
    int64_t term, token;
    double lambda;
} multiplier;

static int by_row(const void *a, const void *b)
{
    const multiplier *x = a, *y = b;
    if (x->term != y->term)
        return x->term < y->term ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static attsvm_status sort_multipliers(const attsvm_claim *claim, const data_terms *terms,
                                      multiplier **out, attsvm_error *err)
{
    TRY(base_allocate(out, (size_t)claim->active_count + 1, sizeof **out, "multipliers", err));
    for (int64_t k = 0; k < claim->active_count; k++) {
        attsvm_row row = claim->active[k];
        (*out)[k] = (multiplier){ data_terms_first(terms, row.sequence) + row.query, row.token,
                                  claim->lambda[k] };
    }
    qsort(*out, (size_t)claim->active_count, sizeof **out, by_row);
    return ATTSVM_OK;
}

/* Compares the selected tokens with the optimal ones. */
static void compare_optimal(attsvm_optimality *out, const attsvm_scores *scores,
                            const int64_t *alpha)
{
    for (int64_t g = scores->term_lo; g < scores->term_hi; g++) {
        attsvm_term term = attsvm_scores_term(scores, g);
        out->tied_optimal += term.tied > 0;
        bool same = alpha[g] == term.optimal ||
                    theory_is_copy(scores, term.sequence, term.optimal, alpha[g]);
        out->missed += !same;
    }
    double sums[] = { (double)out->tied_optimal, (double)out->missed };
    dist_sum(scores->comm, sums, 2);
    out->tied_optimal = (int64_t)sums[0];
    out->missed = (int64_t)sums[1];
    out->global = out->missed == 0;
}

typedef struct collector {
    attsvm_optimality *out;
    attsvm_support *support;
    int64_t capacity;
    const multiplier *sorted;
    int64_t sorted_count;
} collector;

static void add_support(collector *c, attsvm_support s)
{
    multiplier key = { s.term, s.row.token, 0 };
    const multiplier *found = bsearch(&key, c->sorted, (size_t)c->sorted_count, sizeof key, by_row);
    attsvm_optimality *out = c->out;
    s.lambda = found ? found->lambda : 0;
    out->tied_support += s.advantage == 0;
    out->against += !(s.advantage > 0);
    out->advantage = fmin(out->advantage, s.advantage);
    if (c->support && out->support < c->capacity)
        c->support[out->support] = s;
    out->support++;
}

/* Combines the results of all ranks. */
static void add_ranks(attsvm_optimality *out, dist_comm *comm)
{
    double sums[] = { (double)out->support, (double)out->tied_support, (double)out->against };
    double largest = -out->advantage;
    dist_sum(comm, sums, 3);
    dist_max(comm, &largest, 1);
    out->support = (int64_t)sums[0];
    out->tied_support = (int64_t)sums[1];
    out->against = (int64_t)sums[2];
    out->advantage = -largest;
}

/* Tight rows: <A, theta> <= b + 1e-7 max(1, |b|), in double-double if double cannot decide. */
static attsvm_status collect(collector *c, const attsvm_scores *scores, const svm_rows *rows,
                             const double *theta, attsvm_error *err)
{
    theory_margins m;
    data_reader reader = data_reader_terms(&rows->terms, scores->term_lo, scores->term_hi);
    TRY(theory_margins_create(&m, rows, theta, err));
    for (int64_t g; data_reader_each(&reader, &g);) {
        svm_term term = svm_rows_term(rows, g);
        double b = term.b_is_zero ? 0 : 1;
        double own = attsvm_scores_gamma(scores, g, term.base);
        theory_margins_visit(&m, &term);
        for (int64_t t = 0; t < term.visible; t++) {
            double over = m.a[term.base] - m.a[t] - b;
            if (over > THEORY_TIGHT + m.doubt ||
                svm_rows_resolve(rows, &term, t, m.more) != SVM_AT_LEAST)
                continue;
            over = theory_margins_exact(&m, &term, t) - b;
            if (over <= THEORY_TIGHT)
                add_support(
                    c, (attsvm_support){ .row = { term.i, term.q, t },
                                         .term = g,
                                         .selected = term.base,
                                         .margin = over,
                                         .advantage = own - attsvm_scores_gamma(scores, g, t) });
        }
    }
    free(m.memory);
    add_ranks(c->out, scores->comm);
    return ATTSVM_OK;
}

/* A soft margin has a solution, and a rank limit a stationary point, even without a separator. */
attsvm_status theory_check_hard(const attsvm_svm_settings *svm, attsvm_error *err)
{
    if (svm->soft > 0)
        return fail(err, ATTSVM_E_ARG,
                    "soft = %g: optimality of tokens is defined for hard margins; leave soft out",
                    svm->soft);
    if (svm->rank > 0)
        return fail(err, ATTSVM_E_ARG,
                    "rank = %" PRId64 ": optimality of tokens is defined without a rank limit; "
                    "leave rank out",
                    svm->rank);
    return ATTSVM_OK;
}

attsvm_status attsvm_optimality_compute(attsvm_optimality *out, const attsvm_scores *scores,
                                        const attsvm_solution *solution, attsvm_support *support,
                                        int64_t capacity, attsvm_error *err)
{
    NEED(out);
    NEED(scores);
    NEED(solution);
    if (support && capacity < 0)
        return fail(err, ATTSVM_E_ARG, "capacity = %" PRId64 " is negative", capacity);
    const attsvm_claim *claim = &solution->claim;
    int32_t problem = claim->settings.problem;
    svm_rows rows = { 0 };
    multiplier *sorted = NULL;
    *out = (attsvm_optimality){ .unique = solution->info.unique, .advantage = INFINITY };
    if (problem != ATTSVM_PROBLEM_P && problem != ATTSVM_PROBLEM_JOINT &&
        problem != ATTSVM_PROBLEM_W)
        return fail(err, ATTSVM_E_ARG, "optimality is defined for the problems p, joint and W");
    TRY(theory_check_hard(&claim->settings, err));
    TRY(theory_rows_of(&rows, scores->data, claim, err));
    attsvm_status status = ATTSVM_OK;
    if (rows.terms.count != scores->terms.count)
        status =
            fail(err, ATTSVM_E_ARG, "the scores have %" PRId64 " terms and the solution %" PRId64,
                 scores->terms.count, rows.terms.count);
    if (status == ATTSVM_OK)
        compare_optimal(out, scores, rows.base);
    bool found = claim->outcome == ATTSVM_OPTIMAL || claim->outcome == ATTSVM_STALLED ||
                 claim->outcome == ATTSVM_STATIONARY;
    if (status == ATTSVM_OK && found)
        status = sort_multipliers(claim, &rows.terms, &sorted, err);
    if (status == ATTSVM_OK && found) {
        collector c = { out, support, capacity, sorted, claim->active_count };
        status = collect(&c, scores, &rows, claim->theta, err);
        out->local = out->against == 0;
    }
    out->tie = out->tied_support > 0 || out->tied_optimal > 0;
    free(sorted);
    svm_rows_free(&rows);
    return status;
}
