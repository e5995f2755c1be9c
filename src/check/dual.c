/*
 * The dual side of a certificate: which rows the multipliers belong to, b'lambda + e'mu, and G =
 * sum lambda A + sum mu A in double-double or, if cancellation makes that inaccurate, exactly.
 *
 * A matrix row is delta z', so the rows of one term sum to (sum lambda delta) z': one vector and
 * one rank-one update of G per term.
 */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>

/* Terms whose vectors are held at a time. */
enum { BATCH = 256 };

typedef struct entry {
    attsvm_row row;
    dd value; /* lambda or mu, with its low part */
    bool equal;
} entry;

typedef struct combination {
    const check_problem *p;
    entry *entries; /* sorted by row, so that those of a term are contiguous */
    int64_t count;
    dd *G;
    dd *sums;  /* BATCH x d: sum lambda delta of a term                                  */
    double *Z; /* BATCH x d: its query                                                   */
    int64_t held;
    double *base, *x, *spare; /* spare: 2 d                                             */
    dd *delta;
    double *raw;              /* d: sum |lambda delta|, entry by entry          */
    double weight;            /* sum (lambda + |mu|) |A|_dual, rounded up       */
    double scale;             /* sum |b lambda| + |e mu|                        */
    double unknown;           /* FINITE: weighted error of the right-hand sides */
    bool large;               /* some factor is too large for double-double     */
    check_exact *sum, *exact; /* d, entries of G: where the combination is exact, or NULL */
} combination;

static int compare_rows(const void *a, const void *b)
{
    const attsvm_row *x = &((const entry *)a)->row, *y = &((const entry *)b)->row;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    if (x->query != y->query)
        return x->query < y->query ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static bool same_term(const entry *a, const entry *b)
{
    return a->row.sequence == b->row.sequence && a->row.query == b->row.query;
}

/* ------------------------------------------------------------------- which rows, what sign */

static bool check_place(const check_problem *p, const entry *e, attsvm_report *report)
{
    const char *list = e->equal ? "equal" : "active";
    attsvm_row row = e->row;
    if (row.sequence < 0 || row.sequence >= p->data->n)
        return check_reject(report, "%s names sequence %" PRId64 ", which is not in 0..%" PRId64,
                            list, row.sequence, p->data->n - 1);
    if (row.query < 0 || row.query >= check_queries(p, row.sequence))
        return check_reject(report,
                            "%s names query %" PRId64 " of sequence %" PRId64
                            ", which is not in 0..%" PRId64,
                            list, row.query, row.sequence, check_queries(p, row.sequence) - 1);
    if (row.token < 0 || row.token >= data_length(p->data, row.sequence))
        return check_reject(report,
                            "%s names token %" PRId64 " of sequence %" PRId64
                            ", which is not in 0..%" PRId64,
                            list, row.token, row.sequence, data_length(p->data, row.sequence) - 1);
    return true;
}

static bool check_multiplier(const check_problem *p, const entry *e, attsvm_report *report)
{
    double C = p->claim->settings.soft;
    const char *symbol = e->equal ? "mu" : "lambda";
    bool finite = isfinite(e->value.hi) && isfinite(e->value.lo);
    bool joined = e->value.hi + e->value.lo == e->value.hi;
    bool above = !e->equal && C > 0 && base_dd_compare(e->value, base_dd(C)) > 0;
    if (finite && joined && (e->equal || e->value.hi >= 0) && !above)
        return true;
    char name[96];
    check_row_name(p, e->row, name, sizeof name);
    if (!finite)
        return check_reject(report, "%s of %s is not a finite number", symbol, name);
    if (!joined)
        return check_reject(report, "%s_lo of %s is not a low part: it changes %s", symbol, name,
                            symbol);
    if (above)
        return check_reject(report, "lambda of %s is %.17g, above C = %.17g", name, e->value.hi, C);
    return check_reject(report, "lambda of %s is negative: %.17g", name, e->value.hi);
}

static dd multiplier(const attsvm_claim *claim, bool equal, int64_t at)
{
    const double *hi = equal ? claim->mu : claim->lambda;
    const double *lo = equal ? claim->mu_lo : claim->lambda_lo;
    return (dd){ hi[at], lo ? lo[at] : 0 };
}

static bool gather(combination *c, attsvm_report *report)
{
    const attsvm_claim *claim = c->p->claim;
    bool sorted = true;
    for (int64_t k = 0; k < c->count; k++) {
        bool equal = k >= claim->active_count;
        int64_t at = equal ? k - claim->active_count : k;
        entry *e = &c->entries[k];
        *e = (entry){ equal ? claim->equal[at] : claim->active[at], multiplier(claim, equal, at),
                      equal };
        if (!check_place(c->p, e, report) || !check_multiplier(c->p, e, report))
            return false;
        sorted = sorted && (k == 0 || compare_rows(e - 1, e) < 0);
    }
    if (!sorted)
        qsort(c->entries, (size_t)c->count, sizeof *c->entries, compare_rows);
    for (int64_t k = 1; k < c->count; k++)
        if (compare_rows(&c->entries[k - 1], &c->entries[k]) == 0) {
            char name[96];
            check_row_name(c->p, c->entries[k].row, name, sizeof name);
            return check_reject(report, "%s has two multipliers", name);
        }
    return true;
}

/* ------------------------------------------------------------------------------- sums */

/* The row of one entry: its kind must be what the list says.  Leaves delta in the scratch. */
static bool open_row(combination *c, const check_term *term, const entry *e, double *right,
                     attsvm_report *report)
{
    const check_problem *p = c->p;
    check_kind kind = check_row(p, term, e->row.token, right);
    check_token(&term->tokens, e->row.token, c->x);
    if (kind == CHECK_ABOVE && check_is_copy(p, term, e->row.token, c->base, c->x, c->spare))
        kind = CHECK_MERGED;
    if (kind != (e->equal ? CHECK_EQUAL : CHECK_ABOVE)) {
        char name[96];
        check_row_name(p, e->row, name, sizeof name);
        return check_reject(report, "%s has a multiplier but is not %s of this problem%s", name,
                            e->equal ? "an equality" : "an inequality",
                            kind == CHECK_MERGED         ? ": it is a copy of the selected token"
                            : e->row.token == term->base ? ": it is the selected token itself"
                                                         : "");
    }
    check_difference(p, term, c->base, c->x, c->delta);
    return true;
}

/* One row of G: sum over the held terms of s_j z. */
static void update_row(void *context, int64_t j, int worker)
{
    (void)worker;
    const combination *c = context;
    int64_t d = c->p->d;
    dd *row = c->G + j * d;
    for (int64_t k = 0; k < c->held; k++) {
        dd s = c->sums[k * d + j];
        const double *z = c->Z + k * d;
        for (int64_t l = 0; l < d; l++)
            row[l] = base_dd_add(row[l], base_dd_mul(s, base_dd(z[l])));
    }
}

static void flush(combination *c)
{
    int64_t d = c->p->d;
    base_parallel(c->held * d * d < 65536 ? 1 : c->p->threads, d, update_row, c);
    for (int64_t k = 0; k < c->held * d; k++)
        c->sums[k] = base_dd(0);
    c->held = 0;
}

static double largest_of(const double *x, int64_t count)
{
    double largest = 0;
    for (int64_t j = 0; j < count; j++)
        largest = check_max(largest, fabs(x[j]));
    return largest;
}

/* Adds the contribution of the open row to value, weight and scale. */
static bool weigh(combination *c, const entry *e, double right, const double *z, check_dual *out,
                  attsvm_report *report)
{
    const check_problem *p = c->p;
    double q, size = fabs(e->value.hi) * (1 + 1e-15);
    attsvm_norm norm =
        check_dual_norm((attsvm_norm)p->claim->settings.norm, p->claim->settings.q, &q);
    check_range length = check_row_size(p, norm, q, c->delta, z, c->spare);
    for (int64_t j = 0; j < p->d; j++) {
        if (!isfinite(c->delta[j].hi))
            return check_reject(report, "a difference of tokens leaves the range of doubles");
        c->raw[j] += fabs(e->value.hi * c->delta[j].hi);
        c->large = c->large || !(fabs(c->delta[j].hi) < CHECK_LARGE);
    }
    c->large =
        c->large || !(size < CHECK_LARGE) || (p->matrix && !(largest_of(z, p->d) < CHECK_LARGE));
    out->value.value = base_dd_add(out->value.value, base_dd_mul(base_dd(right), e->value));
    c->scale += fabs(right) * size;
    c->weight += e->value.hi == 0 ? 0 : size * length.high;
    if (p->claim->settings.problem == ATTSVM_PROBLEM_FINITE)
        c->unknown += size * CHECK_LOG * fmax(1, fabs(right));
    if (right != 0 && length.high > 0)
        out->shortest = fmin(out->shortest, length.high / fabs(right));
    out->active += !e->equal && e->value.hi > 0;
    return true;
}

/* The open row, weighted, into the sum of its term. */
static void add_row(combination *c, const entry *e, dd *sum)
{
    for (int64_t j = 0; j < c->p->d && !c->exact; j++)
        sum[j] = base_dd_add(sum[j], base_dd_mul(c->delta[j], e->value));
    if (!c->exact)
        return;
    check_exact lambda, delta;
    check_exact_open(&lambda);
    check_exact_open(&delta);
    for (int part = 0; part < 4; part++) {
        check_exact_set(&lambda, part & 1 ? e->value.lo : e->value.hi);
        for (int64_t j = 0; j < c->p->d; j++) {
            check_exact_set(&delta, part & 2 ? c->delta[j].lo : c->delta[j].hi);
            check_exact_add_product(&c->sum[j], &lambda, &delta);
        }
    }
    check_exact_close(&lambda);
    check_exact_close(&delta);
}

/* G += sum z' for matrices; the sum of a vector problem stays where it is. */
static void close_term(combination *c, const double *z)
{
    int64_t d = c->p->d;
    check_exact factor;
    check_exact_open(&factor);
    for (int64_t k = 0; k < d; k++) {
        check_exact_set(&factor, z[k]);
        for (int64_t j = 0; j < d; j++)
            check_exact_add_product(&c->exact[j * d + k], &c->sum[j], &factor);
    }
    for (int64_t j = 0; j < d; j++)
        check_exact_set(&c->sum[j], 0);
    check_exact_close(&factor);
}

/* Adds the entries lo..hi-1, all of one term. */
static bool add_term(combination *c, int64_t lo, int64_t hi, check_dual *out, attsvm_report *report)
{
    const check_problem *p = c->p;
    double products = (double)p->d * (double)(4 * (hi - lo) + (p->matrix ? p->d : 0));
    if (check_stops(p, (c->exact ? CHECK_EXACT : 20) * products))
        return false;
    attsvm_row row = c->entries[lo].row;
    check_term term = check_term_of(p, row.sequence, row.query);
    dd *sum = p->matrix ? c->sums + c->held * p->d : c->G;
    double *z = c->Z + c->held * p->d, right = 0;
    if (term.base >= 0)
        check_token(&term.tokens, term.base, c->base);
    if (p->matrix)
        check_query(p, &term, z);
    for (int64_t k = lo; k < hi; k++) {
        const entry *e = &c->entries[k];
        if (!open_row(c, &term, e, &right, report) || !weigh(c, e, right, z, out, report))
            return false;
        add_row(c, e, sum);
    }
    if (c->exact && p->matrix)
        close_term(c, z);
    else if (!c->exact && p->matrix && ++c->held == BATCH)
        flush(c);
    return true;
}

/* G <- W G for a prompt with key map W. */
static void map_keys(combination *c)
{
    int64_t d = c->p->d;
    for (int64_t j = 0; j < d; j++) {
        c->sums[j] = base_dd(0);
        for (int64_t k = 0; k < d; k++)
            c->sums[j] =
                base_dd_add(c->sums[j], base_dd_mul(c->G[k], base_dd(c->p->key_map[j * d + k])));
    }
    for (int64_t j = 0; j < d; j++)
        c->G[j] = c->sums[j];
}

static void map_keys_exactly(combination *c)
{
    int64_t d = c->p->d;
    check_exact factor;
    check_exact_open(&factor);
    for (int64_t j = 0; j < d; j++)
        for (int64_t k = 0; k < d; k++) {
            check_exact_set(&factor, c->p->key_map ? c->p->key_map[j * d + k] : j == k);
            check_exact_add_product(&c->exact[j], &factor, &c->sum[k]);
        }
    check_exact_close(&factor);
}

static void layout(combination *c, arena *a)
{
    size_t d = (size_t)c->p->d, batch = c->p->matrix ? BATCH : 1;
    if (c->count < (int64_t)batch)
        batch = c->count > 0 ? (size_t)c->count : 1;
    c->entries = base_take(a, (size_t)c->count, sizeof(entry));
    c->sums = base_take(a, batch * d, sizeof(dd));
    c->Z = take(a, batch * d);
    c->base = take(a, d);
    c->x = take(a, d);
    c->spare = take(a, 2 * d);
    c->raw = take(a, d);
    c->delta = base_take(a, d, sizeof(dd));
}

/*
 * Bound on the rounding error of G.  Each entry has at most (steps) 2^-103 sum |lambda| |A|, whose
 * norm is at most the sum of the rows' norms (times d for the nuclear norm).  With a key map W
 * delta may cancel, and |W| sum |lambda delta| replaces that sum.
 */
static double rounding(const combination *c)
{
    const check_problem *p = c->p;
    double steps = (double)(c->count + p->d + 8) * CHECK_DD_UNIT * (1 + 1e-6), q;
    double entries = (double)p->d * (p->matrix ? (double)p->d : 1);
    if (c->large)
        return INFINITY;
    if (!p->key_map)
        return steps * c->weight * (p->matrix ? (double)p->d : 1) + CHECK_SMALL * entries;
    for (int64_t j = 0; j < p->d; j++) {
        c->spare[j] = 0;
        for (int64_t k = 0; k < p->d; k++)
            c->spare[j] += fabs(p->key_map[j * p->d + k]) * c->raw[k];
    }
    attsvm_norm norm =
        check_dual_norm((attsvm_norm)p->claim->settings.norm, p->claim->settings.q, &q);
    return steps * check_vector_norm(norm, q, c->spare, p->d) + CHECK_SMALL * entries;
}

/* The exact G as double-double, and the error of that. */
static void round_exact(combination *c, check_dual *out, int64_t entries)
{
    double square = 0, left_out = 0;
    bool good = true, in_range;
    out->zero = true;
    if (!c->p->matrix)
        map_keys_exactly(c);
    for (int64_t k = 0; k < entries; k++) {
        out->G[k] = check_exact_value(&c->exact[k], &in_range);
        good = good && (in_range || out->G[k].hi == 0);
        left_out += in_range ? 0 : CHECK_SMALL; /* below the range of doubles */
        out->zero = out->zero && check_exact_sign(&c->exact[k]) == 0;
        square += fabs(out->G[k].hi);
    }
    /* entry by entry 2^-104 of it; l1 bounds every norm but the nuclear one, and d times it that */
    out->error = good ? (square * 0x1p-102 + left_out) * (double)c->p->d : INFINITY;
}

static bool add_all(combination *c, check_dual *out, attsvm_report *report)
{
    const check_problem *p = c->p;
    bool good = gather(c, report);
    for (int64_t lo = 0, hi; good && lo < c->count; lo = hi) {
        for (hi = lo + 1; hi < c->count && same_term(&c->entries[lo], &c->entries[hi]); hi++)
            ;
        good = add_term(c, lo, hi, out, report);
    }
    if (!good)
        return false;
    if (c->held > 0)
        flush(c);
    if (p->key_map && !c->exact)
        map_keys(c);
    if (!c->exact)
        out->error = rounding(c);
    out->value.error = ((double)c->count + 8) * CHECK_DD_UNIT * c->scale + c->unknown * (1 + 1e-9);
    /* only FINITE has right-hand sides of both signs: elsewhere the sum cannot cancel */
    out->positive = p->claim->settings.problem == ATTSVM_PROBLEM_FINITE
                        ? check_lower(out->value).hi > 0
                        : out->value.value.hi > 0;
    return true;
}

bool check_dual_of(check_dual *out, const check_problem *problem, bool exact, attsvm_report *report,
                   attsvm_status *status, attsvm_error *err)
{
    const attsvm_claim *claim = problem->claim;
    combination c = { .p = problem };
    arena memory = { 0 };
    *out = (check_dual){ .value = { base_dd(0), 0 }, .shortest = INFINITY };
    if (claim->active_count < 0 || claim->equal_count < 0 ||
        (claim->active_count > 0 && (!claim->active || !claim->lambda)) ||
        (claim->equal_count > 0 && (!claim->equal || !claim->mu)))
        return check_reject(report, "the claim's lists of multipliers are incomplete");
    c.count = claim->active_count + claim->equal_count;
    size_t entries = (size_t)problem->d * (problem->matrix ? (size_t)problem->d : 1);
    *status = base_allocate(&out->G, entries, sizeof *out->G, "dual combination", err);
    if (*status != ATTSVM_OK)
        return false;
    c.G = out->G;
    layout(&c, &memory);
    *status = base_arena_allocate(&memory, "multipliers", err);
    if (*status != ATTSVM_OK)
        return false;
    layout(&c, &memory);
    if (exact) {
        c.sum = check_exact_array((size_t)problem->d, status, err);
        c.exact = check_exact_array(entries, status, err);
    }
    bool good = *status == ATTSVM_OK && add_all(&c, out, report);
    if (good && exact)
        round_exact(&c, out, (int64_t)entries);
    check_exact_array_free(c.sum, exact ? (size_t)problem->d : 0);
    check_exact_array_free(c.exact, exact ? entries : 0);
    free(memory.base);
    return good;
}
