/*
 * The dual side of a certificate: which rows the multipliers belong to, b'lambda + e'mu, and
 * G = sum lambda A + sum mu A in double-double.
 *
 * A matrix row is delta z', so the rows of one term add up to (sum lambda delta) z': one vector a
 * term, one rank-one update of G for each.
 */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>

/* Terms whose vectors are held at a time. */
enum { BATCH = 256 };

typedef struct entry {
    attsvm_row row;
    double value; /* lambda or mu          */
    bool equal;
} entry;

typedef struct combination {
    const check_problem *p;
    entry *entries; /* sorted by row; entries[lo..hi) of one term stand together          */
    int64_t count;
    dd *G;
    dd *sums;  /* BATCH x d: sum lambda delta of a term                                  */
    double *Z; /* BATCH x d: its query                                                   */
    int64_t held;
    double *base, *x, *spare;
    dd *delta;
    double *raw; /* d: sum |lambda delta|, entry by entry                                 */
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
    bool above = !e->equal && C > 0 && e->value > C;
    if (isfinite(e->value) && (e->equal || e->value >= 0) && !above)
        return true;
    char name[96];
    check_row_name(p, e->row, name, sizeof name);
    if (!isfinite(e->value))
        return check_reject(report, "%s of %s is not a finite number", e->equal ? "mu" : "lambda",
                            name);
    if (above)
        return check_reject(report, "lambda of %s is %.17g, above C = %.17g", name, e->value, C);
    return check_reject(report, "lambda of %s is negative: %.17g", name, e->value);
}

static bool gather(combination *c, attsvm_report *report)
{
    const attsvm_claim *claim = c->p->claim;
    bool sorted = true;
    for (int64_t k = 0; k < c->count; k++) {
        bool equal = k >= claim->active_count;
        int64_t at = equal ? k - claim->active_count : k;
        entry *e = &c->entries[k];
        *e = (entry){ equal ? claim->equal[at] : claim->active[at],
                      equal ? claim->mu[at] : claim->lambda[at], equal };
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
    la_row(&term->tokens, e->row.token, c->x);
    if (kind == CHECK_ABOVE && check_is_copy(p, term, e->row.token, c->base, c->x))
        kind = CHECK_MERGED;
    if (kind != (e->equal ? CHECK_EQUAL : CHECK_ABOVE)) {
        char name[96];
        check_row_name(p, e->row, name, sizeof name);
        return check_reject(report, "%s has a multiplier but is no %s of this problem%s", name,
                            e->equal ? "equality" : "inequality",
                            kind == CHECK_MERGED         ? ": it is a copy of the selected token"
                            : e->row.token == term->base ? ": it is the selected token itself"
                                                         : "");
    }
    check_difference(p, term, c->base, c->x, c->delta);
    return true;
}

/* Whether some entry of the row that is open, delta or delta z', is not zero. */
static bool is_some(const combination *c, const double *z)
{
    bool delta = false, query = !c->p->matrix;
    for (int64_t j = 0; j < c->p->d; j++) {
        delta = delta || c->delta[j].hi != 0;
        query = query || z[j] != 0;
    }
    return delta && query;
}

/* Rows so long or short that products of their entries leave the range of doubles prove nothing;
   a key map may send a row to zero. */
static bool check_length(const combination *c, const entry *e, const double *z, double length,
                         attsvm_report *report)
{
    if ((length >= 1 / CHECK_RANGE && length <= CHECK_RANGE) ||
        (length == 0 && (c->p->key_map || !is_some(c, z))))
        return true;
    char name[96];
    check_row_name(c->p, e->row, name, sizeof name);
    return check_reject(report, "%s has length %.3g: nothing is proved beyond %.0e to %.0e", name,
                        length, 1 / CHECK_RANGE, CHECK_RANGE);
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

/* Adds the entries lo..hi-1, all of one term. */
static bool add_term(combination *c, int64_t lo, int64_t hi, check_dual *out, attsvm_report *report)
{
    const check_problem *p = c->p;
    attsvm_row row = c->entries[lo].row;
    check_term term = check_term_of(p, row.sequence, row.query);
    dd *sum = p->matrix ? c->sums + c->held * p->d : c->G;
    double *z = c->Z + c->held * p->d, right = 0;
    if (term.base >= 0)
        la_row(&term.tokens, term.base, c->base);
    if (p->matrix)
        check_query(p, &term, z);
    for (int64_t k = lo; k < hi; k++) {
        const entry *e = &c->entries[k];
        if (!open_row(c, &term, e, &right, report))
            return false;
        double length = check_row_norm(p, c->delta, z, c->spare);
        if (!check_length(c, e, z, length, report))
            return false;
        for (int64_t j = 0; j < p->d; j++) {
            sum[j] = base_dd_add(sum[j], base_dd_mul(c->delta[j], base_dd(e->value)));
            c->raw[j] += fabs(e->value * c->delta[j].hi);
        }
        out->value = base_dd_add(out->value, base_dd_product(right, e->value));
        out->scale += fabs(right * e->value);
        out->weight += fabs(e->value) * length;
        out->active += !e->equal && e->value > 0;
    }
    if (p->matrix && ++c->held == BATCH)
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
    c->spare = take(a, d);
    c->raw = take(a, d);
    c->delta = base_take(a, d, sizeof(dd));
}

/*
 * What rounding did to G.  Entry by entry it is at most (steps) 2^-103 sum |lambda| |A|, whose norm
 * is at most the sum of the rows' norms (times d for the nuclear norm).  Where there is a key map
 * rows may cancel in W delta, and |W| sum |lambda delta| takes the place of that sum.
 */
static double rounding(const combination *c, const check_dual *out)
{
    const check_problem *p = c->p;
    double steps = (double)(c->count + p->d + 8) * CHECK_DD_UNIT, q;
    if (!p->key_map)
        return steps * out->weight * (p->matrix ? (double)p->d : 1);
    for (int64_t j = 0; j < p->d; j++) {
        c->spare[j] = 0;
        for (int64_t k = 0; k < p->d; k++)
            c->spare[j] += fabs(p->key_map[j * p->d + k]) * c->raw[k];
    }
    attsvm_norm norm =
        check_dual_norm((attsvm_norm)p->claim->settings.norm, p->claim->settings.q, &q);
    return steps * check_vector_norm(norm, q, c->spare, p->d);
}

bool check_dual_of(check_dual *out, const check_problem *problem, attsvm_report *report,
                   attsvm_status *status, attsvm_error *err)
{
    const attsvm_claim *claim = problem->claim;
    combination c = { .p = problem };
    arena memory = { 0 };
    *out = (check_dual){ .value = base_dd(0) };
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
    bool good = gather(&c, report);
    for (int64_t lo = 0, hi; good && lo < c.count; lo = hi) {
        for (hi = lo + 1; hi < c.count && same_term(&c.entries[lo], &c.entries[hi]); hi++)
            ;
        good = add_term(&c, lo, hi, out, report);
    }
    if (good && c.held > 0)
        flush(&c);
    if (good && problem->key_map)
        map_keys(&c);
    if (good)
        out->error = rounding(&c, out);
    free(memory.base);
    return good;
}
