/*
 * A certificate in rational numbers (theory 4.1), without any rounding.
 *
 * theta' = theta + E'(E E')^-1 (e - E theta) satisfies the equalities, and rows with b = 0 that
 * theta violates; it is stored as numerators over one denominator.  Every margin is an exact
 * number, kappa the smallest.  In l2
 *
 *   q = (b'lambda)^2 / (P^2 |G|^2),  P^2 = |theta'|^2 / kappa^2,  gap = 1 - sqrt(q) <= (1-q)/(1+q)
 *
 * and l1 and linf need no squares.
 */
#include "check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct exact_run {
    const check_problem *p;
    double tol;
    attsvm_report *report;
    attsvm_status *status;
    attsvm_error *err;
    int64_t size;           /* of theta                                              */
    check_exact *theta;     /* size: numerators                                      */
    check_exact *h;         /* d: W'theta, theta, or theta z of the term at hand     */
    check_exact bottom;     /* denominator, above 0                                  */
    check_exact least;      /* kappa times it                                        */
    check_exact slack;      /* sum of max(0, b - margin), times it                   */
    check_exact G, value;   /* |G|_dual (l2: squared), b'lambda                       */
    check_exact norm;       /* |theta'| times the denominator (l2: squared)          */
    check_exact shortest;   /* of a row with b = 1: |A_r|_dual (l2: squared)         */
    check_exact a, b;       /* scratch                                               */
    bool has_ones, squares; /* l2: norms are squared                                 */
    check_list fixed;
    check_single one;
    double *base, *x, *spare; /* d, d, 2 d */
    void *memory;
} exact_run;

static bool start(exact_run *s)
{
    const check_problem *p = s->p;
    arena memory = { 0 };
    size_t d = (size_t)p->d;
    for (int pass = 0; pass < 2; pass++) {
        s->base = take(&memory, d);
        s->x = take(&memory, d);
        s->spare = take(&memory, 2 * d);
        s->one =
            (check_single){ .z = take(&memory, d), .delta = base_take(&memory, d, sizeof(dd)) };
        if (pass == 0)
            *s->status = base_arena_allocate(&memory, "exact check", s->err);
        if (*s->status != ATTSVM_OK)
            return false;
    }
    s->memory = memory.base;
    s->size = p->d * (p->matrix ? p->d : 1);
    s->theta = check_exact_array((size_t)s->size, s->status, s->err);
    s->h = check_exact_array(d, s->status, s->err);
    check_exact *const numbers[] = { &s->bottom, &s->least, &s->slack,    &s->G, &s->value,
                                     &s->norm,   &s->a,     &s->shortest, &s->b };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        check_exact_open(numbers[k]);
    if (*s->status != ATTSVM_OK)
        return false;
    check_exact_set(&s->bottom, 1);
    const attsvm_claim *c = p->claim;
    for (int64_t k = 0; k < s->size && c->outcome != ATTSVM_INFEASIBLE; k++) {
        check_exact_set(&s->theta[k], c->theta[k]);
        check_exact_set(&s->a, c->theta_lo ? c->theta_lo[k] : 0);
        check_exact_add(&s->theta[k], &s->a);
        check_exact_set(&s->a, c->theta_lo2 ? c->theta_lo2[k] : 0);
        check_exact_add(&s->theta[k], &s->a);
    }
    return true;
}

static void finish(exact_run *s)
{
    check_exact *const numbers[] = { &s->bottom, &s->least, &s->slack,    &s->G, &s->value,
                                     &s->norm,   &s->a,     &s->shortest, &s->b };
    for (size_t k = 0; s->memory && k < sizeof numbers / sizeof *numbers; k++)
        check_exact_close(numbers[k]);
    check_exact_array_free(s->theta, (size_t)s->size);
    check_exact_array_free(s->h, (size_t)s->p->d);
    free(s->fixed.rows);
    free(s->memory);
}

/* ------------------------------------------------------------------------------ rows */

/* h of a term: rows are delta'h. */
static void prepare(exact_run *s, const check_term *term)
{
    const check_problem *p = s->p;
    int64_t d = p->d;
    check_token(&term->tokens, term->base, s->base);
    if (p->matrix)
        check_query(p, term, s->one.z);
    else if (!p->key_map || term->sequence > 0 || term->query > 0)
        return; /* done once */
    for (int64_t j = 0; j < d; j++) {
        check_exact_set(&s->h[j], 0);
        for (int64_t k = 0; k < d; k++) {
            check_exact_set(&s->a, p->matrix ? s->one.z[k] : p->key_map[k * d + j]);
            check_exact_add_product(&s->h[j], &s->a, &s->theta[p->matrix ? j * d + k : k]);
        }
    }
}

/* out = delta'h, the margin of token x times the denominator. */
static void margin_of(exact_run *s, const check_term *term, check_exact *out)
{
    const check_exact *h = s->p->matrix || s->p->key_map ? s->h : s->theta;
    check_difference(s->p, term, s->base, s->x, s->one.delta);
    check_exact_set(out, 0);
    for (int64_t j = 0; j < s->p->d; j++) {
        check_exact_set(&s->a, s->one.delta[j].hi);
        check_exact_add_product(out, &s->a, &h[j]);
        if (s->one.delta[j].lo != 0) {
            check_exact_set(&s->a, s->one.delta[j].lo);
            check_exact_add_product(out, &s->a, &h[j]);
        }
    }
}

static void judge(exact_run *s, const check_term *term, int64_t t, check_exact *margin)
{
    double right;
    const check_problem *p = s->p;
    check_kind kind = check_row(p, term, t, &right);
    if (kind == CHECK_NO_ROW)
        return;
    check_token(&term->tokens, t, s->x);
    margin_of(s, term, margin);
    bool soft = p->claim->settings.soft > 0;
    if (kind == CHECK_EQUAL) {
        if (check_exact_sign(margin) != 0)
            check_list_add(&s->fixed, (attsvm_row){ term->sequence, term->query, t });
        return;
    }
    /* only copies of the selected token, or of a member of its set, can have margin 0 and no row */
    if ((p->sets || check_exact_sign(margin) == 0) &&
        check_is_copy(p, term, t, s->base, s->x, s->spare))
        return;
    if (right == 1 && (!s->has_ones || check_exact_compare(margin, &s->least) < 0)) {
        check_exact_copy(&s->least, margin);
        s->has_ones = true;
    }
    if (right == 0 && !soft && check_exact_sign(margin) < 0)
        check_list_add(&s->fixed, (attsvm_row){ term->sequence, term->query, t });
    if (soft) {
        check_exact_set(&s->b, right);
        check_exact_multiply(&s->b, &s->bottom);
        check_exact_subtract(&s->b, margin);
        if (check_exact_sign(&s->b) > 0)
            check_exact_add(&s->slack, &s->b);
    }
}

static void all_rows(exact_run *s)
{
    const check_problem *p = s->p;
    check_exact margin;
    check_exact_open(&margin);
    s->fixed.count = 0;
    s->has_ones = false;
    check_exact_set(&s->slack, 0);
    for (int64_t i = 0; i < p->data->n; i++)
        for (int64_t m = 0, count = check_queries(p, i); m < count; m++) {
            check_term term = check_term_of(p, i, m);
            if (term.base < 0 || check_stops(p, CHECK_EXACT * (double)s->size))
                continue;
            prepare(s, &term);
            for (int64_t t = 0; t < term.visible; t++)
                if (!check_stops(p, CHECK_EXACT * (double)p->d))
                    judge(s, &term, t, &margin);
        }
    check_exact_close(&margin);
}

static bool refuse(exact_run *s, const char *why)
{
    return check_reject(s->report, "in rational numbers: %s", why);
}

/* S y = -E theta over the chosen rows of the table; theta and bottom move. */
static bool move_theta(exact_run *s, const check_table *table, int64_t rank)
{
    int64_t N = table->columns, *index = NULL;
    check_system system;
    *s->status = check_system_open(&system, s->p, rank, 1, s->err);
    check_exact *gram = check_exact_array((size_t)(rank * rank), s->status, s->err);
    check_exact *rest = check_exact_array((size_t)rank, s->status, s->err);
    if (*s->status == ATTSVM_OK)
        *s->status = base_allocate(&index, (size_t)rank + 1, sizeof *index, "rows", s->err);
    bool good = *s->status == ATTSVM_OK;
    for (int64_t k = 0, at = 0; k < table->rows && good; k++)
        if (table->chosen[k])
            index[at++] = k;
    for (int64_t i = 0; i < rank && good; i++) {
        const check_exact *row = table->entries + index[i] * N;
        for (int64_t k = 0; k < rank; k++) {
            system.M[i * rank + k] = &gram[i * rank + k];
            good = good && !check_stops(s->p, CHECK_EXACT * (double)N);
            for (int64_t j = 0; j < N && good; j++)
                check_exact_add_product(&gram[i * rank + k], &row[j],
                                        &table->entries[index[k] * N + j]);
        }
        for (int64_t j = 0; j < N; j++)
            check_exact_add_product(&rest[i], &row[j], &s->theta[j]);
        mpz_neg(rest[i].m, rest[i].m);
        system.r[i] = &rest[i];
    }
    good = good && check_system_solve(&system, s->status, s->err);
    for (int64_t j = 0; j < N && good; j++) { /* det theta + sum y A, over det bottom */
        mpz_mul(s->theta[j].m, s->theta[j].m, system.det);
        for (int64_t i = 0; i < rank; i++) {
            mpz_set(s->a.m, system.y[i]);
            s->a.e = 0;
            check_exact_add_product(&s->theta[j], &s->a, &table->entries[index[i] * N + j]);
        }
    }
    if (good)
        mpz_mul(s->bottom.m, s->bottom.m, system.det);
    check_system_close(&system);
    check_exact_array_free(gram, (size_t)(rank * rank));
    check_exact_array_free(rest, (size_t)rank);
    free(index);
    return good;
}

/* Moves theta onto all equalities and the rows of `list`, which is in order. */
static bool meet(exact_run *s, const check_list *list)
{
    check_table table;
    *s->status = check_table_open(&table, s->p, list->count, s->err);
    bool good = *s->status == ATTSVM_OK && table.fits;
    for (int64_t k = 0; k < list->count && good; k++)
        check_table_read(&table, s->p, k, list->rows[k]);
    int64_t rank = good ? check_table_rank(&table, s->p, s->status, s->err) : 0;
    good = good && *s->status == ATTSVM_OK && rank <= CHECK_MOST_ROWS && !check_stops(s->p, 0) &&
           move_theta(s, &table, rank);
    check_table_close(&table);
    if (*s->status != ATTSVM_OK)
        return false;
    return good || refuse(s, "too many equalities for exact elimination");
}

/* Adds every equality of the problem to the list. */
static void list_equalities(const check_problem *p, check_list *list)
{
    double right;
    for (int64_t i = 0; i < p->data->n && p->sets; i++)
        for (int64_t m = 0, count = check_queries(p, i); m < count; m++) {
            check_term term = check_term_of(p, i, m);
            for (int64_t t = 0; t < term.visible; t++)
                if (check_row(p, &term, t, &right) == CHECK_EQUAL)
                    check_list_add(list, (attsvm_row){ i, m, t });
        }
}

/* A point that satisfies all rows, its kappa. */
static bool satisfy(exact_run *s)
{
    enum { MOST_ROUNDS = 20 };
    check_list list = { 0 };
    bool good = true;
    all_rows(s);
    for (int round = 0; good && s->fixed.count > 0 && !check_stops(s->p, 0); round++) {
        if (round == 0)
            list_equalities(s->p, &list);
        for (int64_t k = 0; k < s->fixed.count && (round > 0 || !s->p->sets); k++)
            check_list_add(&list, s->fixed.rows[k]);
        good = round < MOST_ROUNDS || refuse(s, "rows with b = 0 cannot be satisfied together");
        good = good && meet(s, &list);
        if (good)
            all_rows(s);
    }
    free(list.rows);
    return good;
}

/* ------------------------------------------------------------------------------ norms */

/* b'lambda, |G|_dual, and the shortest |A_r|_dual of the named rows with b = 1. */
static bool combine(exact_run *s)
{
    const attsvm_claim *c = s->p->claim;
    double q;
    attsvm_norm norm = check_dual_norm((attsvm_norm)c->settings.norm, c->settings.q, &q);
    check_exact *G = check_exact_array((size_t)s->size, s->status, s->err);
    check_exact *A = check_exact_array((size_t)s->size, s->status, s->err);
    bool some = false, good = *s->status == ATTSVM_OK;
    for (int64_t k = 0; k < c->active_count + c->equal_count && good; k++) {
        bool equal = k >= c->active_count;
        int64_t at = equal ? k - c->active_count : k;
        const double *low = equal ? c->mu_lo : c->lambda_lo;
        if (check_stops(s->p, 3 * CHECK_EXACT * (double)s->size))
            break;
        check_read_row(s->p, equal ? c->equal[at] : c->active[at], s->base, s->x, &s->one);
        check_row_entries(s->p, s->one.delta, s->one.z, A);
        check_exact_set(&s->a, equal ? c->mu[at] : c->lambda[at]);
        check_exact_set(&s->b, low ? low[at] : 0);
        check_exact_add(&s->a, &s->b);
        for (int64_t j = 0; j < s->size; j++)
            check_exact_add_product(&G[j], &s->a, &A[j]);
        if (s->one.right != 1)
            continue;
        check_exact_add(&s->value, &s->a);
        check_exact_norm(norm, A, s->size, &s->b);
        if (check_exact_sign(&s->b) > 0 &&
            (!some || check_exact_compare(&s->b, &s->shortest) < 0)) {
            check_exact_copy(&s->shortest, &s->b);
            some = true;
        }
    }
    if (good)
        check_exact_norm(norm, G, s->size, &s->G);
    check_exact_array_free(G, (size_t)s->size);
    check_exact_array_free(A, (size_t)s->size);
    return good;
}

/* ---------------------------------------------------------------------------- verdicts */

static bool small_gap(exact_run *s, const check_exact *top, const check_exact *bottom)
{
    double gap = check_exact_ratio_up(top, bottom);
    s->report->gap = gap;
    return gap <= s->tol || check_reject(s->report,
                                         "in rational numbers the gap is %.3e, above the limit of "
                                         "%.1e",
                                         gap, s->tol);
}

/* M / N = (b'lambda kappa / (|theta'||G|)), or its square in l2; P < 1e18 m. */
static bool hard_gap(exact_run *s)
{
    check_exact M, N, top;
    if (check_exact_sign(&s->norm) == 0)
        return true;
    if (!s->has_ones || check_exact_sign(&s->least) <= 0)
        return refuse(s, "no margin is positive");
    check_exact_open(&M);
    check_exact_open(&N);
    check_exact_open(&top);
    check_exact_copy(&M, &s->value);
    check_exact_multiply(&M, &s->least);
    if (s->squares)
        check_exact_square(&M);
    check_exact_copy(&N, &s->norm);
    check_exact_multiply(&N, &s->G);
    check_exact_copy(&top, &N);
    check_exact_subtract(&top, &M);
    if (s->squares) /* (N - M)/(N + M) */
        check_exact_add(&N, &M);
    bool good = small_gap(s, &top, &N);
    /* |theta'| |A_r| < 1e18 kappa */
    check_exact_copy(&M, &s->norm);
    check_exact_multiply(&M, &s->shortest);
    check_exact_set(&N, CHECK_BEYOND);
    check_exact_multiply(&N, &s->least);
    if (s->squares)
        check_exact_square(&N);
    good = good && (check_exact_compare(&M, &N) < 0 || refuse(s, "the norm is out of reach"));
    check_exact_close(&M);
    check_exact_close(&N);
    check_exact_close(&top);
    return good;
}

/* P = |theta|^2/2 + C sum xi or P^2/2 of the hard problem, D = b'lambda - |G|^2/2 (l2 only). */
static bool soft_gap(exact_run *s)
{
    check_exact P, D, hard, bottom;
    check_exact_open(&P);
    check_exact_open(&D);
    check_exact_open(&hard);
    check_exact_open(&bottom);
    /* 2 P bottom^2 and 2 D bottom^2 */
    check_exact_copy(&bottom, &s->bottom);
    check_exact_square(&bottom);
    check_exact_set(&s->a, 2 * s->p->claim->settings.soft);
    check_exact_copy(&P, &s->slack);
    check_exact_multiply(&P, &s->a);
    check_exact_multiply(&P, &s->bottom);
    check_exact_add(&P, &s->norm);
    check_exact_copy(&D, &s->value);
    check_exact_add(&D, &s->value);
    check_exact_subtract(&D, &s->G);
    check_exact_multiply(&D, &bottom);
    /* the hard alternative: 2 P = |theta'|^2/kappa^2, over the same bottom */
    bool good = check_exact_sign(&P) == 0;
    if (!good) {
        double given = s->report->gap;
        check_exact_copy(&hard, &P);
        check_exact_subtract(&hard, &D);
        good = check_exact_ratio_up(&hard, &P) <= s->tol;
        s->report->gap = check_exact_ratio_up(&hard, &P);
        if (!good && s->has_ones && check_exact_sign(&s->least) > 0) {
            check_exact_copy(&hard, &s->least); /* D kappa^2 <= |theta'|^2 */
            check_exact_square(&hard);
            check_exact_multiply(&D, &hard);
            check_exact_copy(&P, &s->norm);
            check_exact_multiply(&P, &bottom);
            check_exact_copy(&hard, &P);
            check_exact_subtract(&hard, &D);
            s->report->gap = fmin(given, INFINITY);
            good = small_gap(s, &hard, &P);
        } else if (!good) {
            refuse(s, "the gap is above the limit");
        }
    }
    check_exact_close(&P);
    check_exact_close(&D);
    check_exact_close(&hard);
    check_exact_close(&bottom);
    return good;
}

/* B = b'lambda/|G|, B >= 1e18 m: |A_r|_dual b'lambda >= 1e18 |G| for every row with b = 1. */
static bool beyond(exact_run *s)
{
    const check_problem *p = s->p;
    double right, q;
    attsvm_norm norm =
        check_dual_norm((attsvm_norm)p->claim->settings.norm, p->claim->settings.q, &q);
    check_exact *A = check_exact_array((size_t)s->size, s->status, s->err), left, limit;
    if (!A)
        return false;
    bool good = true;
    check_exact_open(&left);
    check_exact_open(&limit);
    check_exact_set(&limit, CHECK_BEYOND);
    check_exact_set(&left, 1);
    if (s->squares) {
        check_exact_square(&limit);
        check_exact_square(&s->value);
    }
    check_exact_multiply(&limit, &s->G);
    for (int64_t i = 0; i < p->data->n && good; i++)
        for (int64_t m = 0, count = check_queries(p, i); m < count && good; m++) {
            check_term term = check_term_of(p, i, m);
            for (int64_t t = 0; t < term.visible && good; t++) {
                if (check_row(p, &term, t, &right) == CHECK_NO_ROW || right == 0 ||
                    check_stops(p, 2 * CHECK_EXACT * (double)s->size))
                    continue;
                check_read_row(p, (attsvm_row){ i, m, t }, s->base, s->x, &s->one);
                check_row_entries(p, s->one.delta, s->one.z, A);
                check_exact_norm(norm, A, s->size, &left);
                good = check_exact_sign(&left) == 0; /* no request, or a copy */
                check_exact_multiply(&left, &s->value);
                good = good || check_exact_compare(&left, &limit) >= 0;
            }
        }
    check_exact_close(&left);
    check_exact_close(&limit);
    check_exact_array_free(A, (size_t)s->size);
    return good || refuse(s, "the bound is not beyond reach");
}

bool check_exactly(const check_problem *p, double tol, attsvm_report *report, attsvm_status *status,
                   attsvm_error *err)
{
    const attsvm_claim *c = p->claim;
    attsvm_norm norm = (attsvm_norm)c->settings.norm;
    bool squares = norm == ATTSVM_NORM_L2 || norm == ATTSVM_NORM_FRO;
    bool linear = norm == ATTSVM_NORM_L1 || norm == ATTSVM_NORM_LINF;
    if (report->proof == ATTSVM_PROOF_EXACT)
        return true; /* elimination was exact */
    if (!(squares || linear) || c->settings.problem == ATTSVM_PROBLEM_FINITE ||
        (c->settings.soft > 0 && !squares) || c->outcome == ATTSVM_STATIONARY) {
        *status =
            fail(err, ATTSVM_E_ARG,
                 "exact arithmetic covers hard margins in l2, fro, l1 and linf, soft margins in "
                 "l2 and fro, and exact proofs of infeasibility; not the problem finite, other "
                 "norms or rank limits");
        return false;
    }
    exact_run s = {
        .p = p, .tol = tol, .report = report, .status = status, .err = err, .squares = squares
    };
    bool infeasible = c->outcome == ATTSVM_INFEASIBLE;
    bool good = start(&s) && (infeasible || satisfy(&s)) && combine(&s);
    if (good && infeasible) {
        good = beyond(&s);
    } else if (good) {
        check_exact_norm(norm, s.theta, s.size, &s.norm);
        good = c->settings.soft > 0 ? soft_gap(&s) : hard_gap(&s);
    }
    finish(&s);
    return good;
}
