/*
 * Pricing: one pass over the tokens tells which rows theta violates.  Margins of a term are
 * differences of its logits X_i u, so a token is read once; rows close to their right-hand side are
 * evaluated again in double-double, which makes the last pass the certificate of feasibility.
 *
 * Terms are cut into blocks by their number alone and blocks report in order: the same bytes for
 * any number of threads.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row is tight up to 1e-7 (theory 4); what is evaluated exactly, and never skipped, is more. */
static const double TIGHT = 1e-7;
static const double UNIT = 0x1p-53, ZERO_ROW = 1e-14;

typedef struct svm_block {
    svm_pass pass;
    double tokens;
} svm_block;

/* What one call works on. */
typedef struct job {
    svm_pricing *pricing;
    const svm_pass_settings *settings;
    const double *hi, *lo;
    const double *u, *u_hi, *u_lo; /* vector problems: one direction for all terms */
    double norm;                   /* |theta|                                      */
} job;

typedef struct scratch {
    double *y, *squares, *z, *u, *u_hi, *u_lo, *x, *more;
} scratch;

static scratch scratch_of(const svm_pricing *pricing, int worker)
{
    int64_t d = pricing->rows->d;
    double *at = pricing->scratch + worker * pricing->scratch_each;
    int64_t T = pricing->rows->data->T_max;
    return (scratch){ at + 8 * d, at + 8 * d + T, at,         at + d,
                      at + 2 * d, at + 3 * d,     at + 4 * d, at + 5 * d };
}

/* One entry for each term of this rank. */
static void *take_own(const svm_pricing *pricing, arena *a, size_t size)
{
    return base_from(base_take(a, (size_t)(pricing->hi - pricing->lo), size), pricing->lo, size);
}

static void layout(svm_pricing *pricing, arena *a)
{
    size_t d = (size_t)pricing->rows->d;
    pricing->slack = take_own(pricing, a, sizeof *pricing->slack);
    pricing->when = take_own(pricing, a, sizeof *pricing->when);
    pricing->bound = take_own(pricing, a, sizeof *pricing->bound);
    pricing->worst = take_own(pricing, a, sizeof *pricing->worst);
    pricing->previous = take(a, (size_t)pricing->rows->size);
    pricing->scratch = take(a, (size_t)(pricing->threads * pricing->scratch_each) + 3 * d);
    pricing->results = base_take(a, (size_t)pricing->blocks, sizeof *pricing->results);
}

attsvm_status svm_pricing_create(svm_pricing *pricing, const svm_rows *rows, svm_space *space,
                                 int threads, attsvm_error *err)
{
    arena a = { 0 };
    *pricing = (svm_pricing){
        .rows = rows, .space = space, .threads = threads, .terms = rows->terms.count
    };
    data_own(rows->data, &pricing->lo, &pricing->hi);
    pricing->lo = data_terms_first(&rows->terms, pricing->lo);
    pricing->hi = data_terms_first(&rows->terms, pricing->hi);
    pricing->blocks = base_blocks(pricing->hi - pricing->lo, 16);
    pricing->spread = 1 / sqrt((double)rows->size);
    pricing->scratch_each = 8 * rows->d + 2 * rows->data->T_max + 8;
    layout(pricing, &a);
    TRY(svm_space_arena(space, &a, "margins", err));
    pricing->memory = a.base;
    layout(pricing, &a);
    memset(pricing->memory, 0, a.used);
    for (int64_t g = pricing->lo; g < pricing->hi; g++)
        pricing->when[g] = -1;
    return ATTSVM_OK;
}

void svm_pricing_free(svm_pricing *pricing)
{
    svm_space_release(pricing->space, pricing->memory);
}

/* A term while it is read. */
typedef struct view {
    svm_term term;
    la_rows tokens; /* from number `from` on                                    */
    int64_t from;
    bool first, ready; /* never read before; directions in double-double are there */
    dd base;           /* logit of the base token                                  */
    double b, bound, noise;
    double query_norm; /* negative: not computed yet */
} view;

/* A bound of |A| over all rows of the term: (|x_base| + max |x_t|) |z|, or |Wx| for keys. */
static double bound_rows(const job *j, const view *v, scratch s)
{
    const svm_rows *rows = j->pricing->rows;
    double largest = 0;
    la_active()->rows_square(&v->tokens, s.squares);
    for (int64_t k = 0; k < v->tokens.count; k++)
        largest = s.squares[k] > largest ? s.squares[k] : largest;
    largest = sqrt(largest);
    double base = sqrt(s.squares[v->term.base - v->from]);
    if (!(largest > 0x1p-450 && largest < 0x1p450)) { /* squares out of range: norm by norm */
        largest = 0;
        for (int64_t k = 0; k < v->tokens.count; k++) {
            la_row(&v->tokens, k, s.x);
            largest = fmax(largest, la_norm(s.x, rows->d));
        }
        base = largest;
    }
    double bound = rows->problem == ATTSVM_PROBLEM_V ? base : base + largest;
    if (rows->keymap)
        bound *= la_norm(rows->keymap, rows->d * rows->d);
    return (rows->matrix ? bound * la_norm(s.z, rows->d) : bound) * (1 + 1e-6);
}

/* <A, theta> of one row, from logits in double-double. */
static double exact_margin(const job *j, view *v, int64_t t, scratch s)
{
    const svm_rows *rows = j->pricing->rows;
    const la_exact *exact = la_exact_active();
    const double *u_hi = rows->matrix ? s.u_hi : j->u_hi, *u_lo = rows->matrix ? s.u_lo : j->u_lo;
    if (!v->ready) {
        if (rows->matrix)
            svm_rows_direction_exact(rows, &v->term, j->hi, j->lo, s.z, s.u_hi, s.u_lo);
        la_row(&v->tokens, v->term.base - v->from, s.x);
        v->base = exact->dot(s.x, u_hi, u_lo, rows->d);
        v->ready = true;
    }
    if (rows->problem == ATTSVM_PROBLEM_V)
        return data_terms_label(&rows->terms, v->term.i, 0) * base_dd_value(v->base);
    la_row(&v->tokens, t - v->from, s.x);
    return base_dd_value(base_dd_sub(v->base, exact->dot(s.x, u_hi, u_lo, rows->d)));
}

/* |A| of one row; u_hi and u_lo of the scratch stay as they are. */
static double row_norm(const job *j, view *v, int64_t t, scratch s)
{
    const svm_rows *rows = j->pricing->rows;
    svm_rows_delta(rows, &v->term, t, s.x, s.more, s.more + rows->d);
    if (v->query_norm < 0)
        v->query_norm = rows->matrix ? la_norm(s.z, rows->d) : 1;
    return la_norm(s.x, rows->d) * v->query_norm;
}

/* Adds a row near its b, or below it, to the report; `rounding`: of theta, in <A, theta>. */
static void report_near(svm_pass *pass, double margin, double b, double size, double rounding)
{
    pass->largest = fmax(pass->largest, size);
    pass->tight += margin <= b + TIGHT;
    if (b == 1) {
        pass->least = fmin(pass->least, margin);
        pass->scale = margin > 0 ? fmax(pass->scale, (1 + rounding) / margin) : INFINITY;
    } else {
        pass->least_zero = fmin(pass->least_zero, margin);
    }
}

/* A soft row at its bound may be violated: it has its slack already. */
static bool is_paid(const svm_pass_settings *settings, const svm_term *term, int64_t t)
{
    if (!settings->soft)
        return false;
    int64_t slot = svm_pool_find(settings->soft, term->term, t);
    return slot >= 0 && settings->soft->place[slot] == SVM_AT_UPPER;
}

/*
 * Merged tokens are no rows, and tokens with the key of the base token cannot be separated.  An
 * empty row is tight whatever theta is.
 */
static svm_row_kind resolve(const job *j, const view *v, int64_t t, scratch s, svm_pass *pass)
{
    svm_row_kind kind = svm_rows_resolve(j->pricing->rows, &v->term, t, s.more);
    bool impossible = kind == SVM_IMPOSSIBLE && !j->settings->soft;
    pass->merged += v->first && kind == SVM_NO_ROW;
    pass->tight += kind == SVM_EMPTY;
    if (impossible && pass->conflict_term < 0) {
        pass->conflict_term = v->term.term;
        pass->conflict_token = t;
    }
    return impossible ? SVM_NO_ROW : kind;
}

/* <A, theta> - b of a row that is not clearly met, 0 where rounding alone is to blame for less. */
static double judge(const job *j, view *v, int64_t t, double margin, scratch s, svm_pass *pass)
{
    const svm_pass_settings *settings = j->settings;
    const svm_rows *rows = j->pricing->rows;
    double b = v->b, size = v->bound;
    bool copy = rows->sets && margin < b; /* it may be one of a member of the set */
    if (copy || fabs(margin) <= 2 * v->noise + 1e-9 * v->bound * j->norm) {
        svm_row_kind kind = resolve(j, v, t, s, pass);
        if (kind == SVM_NO_ROW || kind == SVM_EMPTY)
            return kind == SVM_EMPTY ? 0 : INFINITY;
    }
    if (settings->exact && fabs(margin - b) <= SVM_NEAR + v->noise) {
        margin = exact_margin(j, v, t, s);
        size = row_norm(j, v, t, s);
        report_near(pass, margin, b, size, 0x1p-52 * (2 + size * j->norm));
    } else if (margin < b) {
        report_near(pass, margin, b, 0, 0x1p-52);
    }
    double miss = margin - b;
    if (miss >= 0)
        return miss;
    pass->slacks -= miss;
    /* rows with b = 0 have no unit but |A||theta| */
    double allowed =
        b == 0 ? ZERO_ROW * size * j->norm : settings->tolerance + settings->floor * size * j->norm;
    pass->broken += b == 0 && miss < -allowed;
    return is_paid(settings, &v->term, t) || miss >= -allowed ? 0 : miss;
}

/* y[k] = <A, theta> of token from + k, as near as doubles get. */
static void read_margins(const job *j, const view *v, scratch s)
{
    const svm_rows *rows = j->pricing->rows;
    const double *u = j->u;
    if (rows->matrix) {
        svm_rows_direction(rows, &v->term, j->hi, s.z, s.u);
        u = s.u;
    }
    la_rows_dot(&v->tokens, u, s.y);
    if (rows->problem == ATTSVM_PROBLEM_V) {
        s.y[0] *= data_terms_label(&rows->terms, v->term.i, 0);
        return;
    }
    double base = s.y[v->term.base];
    for (int64_t k = 0; k < v->tokens.count; k++)
        s.y[k] = base - s.y[k];
}

/* Reads one term. */
static void visit(const job *j, int64_t g, scratch s, svm_block *block)
{
    svm_pricing *pricing = j->pricing;
    const svm_rows *rows = pricing->rows;
    view v = { .term = svm_rows_term(rows, g), .first = pricing->when[g] < 0, .query_norm = -1 };
    v.tokens = svm_rows_tokens(rows, &v.term, &v.from);
    read_margins(j, &v, s);
    if (v.first)
        pricing->bound[g] = bound_rows(j, &v, s);
    v.bound = pricing->bound[g];
    v.b = v.term.slack ? 0 : 1;
    /* logits: d products for u and d for X u, each rounded, of size |x| |theta| |z| */
    v.noise = 2 * (double)(2 * rows->d + 8) * UNIT * v.bound * j->norm;
    double clear = fmax(v.b + SVM_NEAR + v.noise, 2 * v.noise + 1e-9 * v.bound * j->norm);
    double slack = INFINITY;
    int64_t worst = -1;
    for (int64_t k = 0; k < v.tokens.count; k++) {
        const int64_t t = v.from + k;
        double margin = s.y[k], miss = margin - v.b;
        /* most tokens: clearly met, and not the closest of the term */
        if (margin > clear && miss >= slack)
            continue;
        if (svm_rows_kind(rows, &v.term, t) != SVM_AT_LEAST)
            continue;
        if (margin <= clear)
            miss = judge(j, &v, t, margin, s, &block->pass);
        if (miss < slack) {
            slack = miss;
            worst = t;
        }
    }
    pricing->slack[g] = slack;
    pricing->when[g] = pricing->travelled;
    pricing->worst[g] = (int32_t)worst;
    block->pass.violated += slack < 0;
    block->pass.noise = fmax(block->pass.noise, v.noise);
    block->tokens += (double)v.tokens.count;
}

/* One thread asks whether to go on, now and then; all see the answer. */
static bool is_stopped(svm_pricing *pricing, int64_t g, int worker)
{
    enum { BETWEEN = 16 };
    if (pricing->poll && worker == 0 && g % BETWEEN == 0 && pricing->poll(pricing->poll_context))
        __atomic_store_n(&pricing->stopped, true, __ATOMIC_RELAXED);
    return __atomic_load_n(&pricing->stopped, __ATOMIC_RELAXED);
}

static void visit_block(void *context, int64_t b, int worker)
{
    const job *j = context;
    svm_pricing *pricing = j->pricing;
    svm_block *block = &pricing->results[b];
    scratch s = scratch_of(pricing, worker);
    int64_t lo, hi;
    *block = (svm_block){ .pass = { .least = INFINITY,
                                    .least_zero = INFINITY,
                                    .conflict_term = -1,
                                    .conflict_token = -1 } };
    base_block(pricing->hi - pricing->lo, pricing->blocks, b, &lo, &hi);
    lo += pricing->lo;
    hi += pricing->lo;
    svm_walk walk = { pricing, j->settings };
    data_reader reader = svm_walk_open(&walk, lo, hi);
    for (int64_t g; !block->pass.cut && data_reader_each(&reader, &g);) {
        block->pass.cut = is_stopped(pricing, g, worker);
        if (!block->pass.cut && svm_pricing_wants(pricing, j->settings, g))
            visit(j, g, s, block);
    }
}

static void add_block(svm_pass *sum, const svm_pass *part)
{
    sum->least = fmin(sum->least, part->least);
    sum->least_zero = fmin(sum->least_zero, part->least_zero);
    sum->largest = fmax(sum->largest, part->largest);
    sum->scale = fmax(sum->scale, part->scale);
    sum->noise = fmax(sum->noise, part->noise);
    sum->cut |= part->cut;
    sum->slacks += part->slacks;
    sum->violated += part->violated;
    sum->tight += part->tight;
    sum->broken += part->broken;
    sum->merged += part->merged;
    if (sum->conflict_term < 0) {
        sum->conflict_term = part->conflict_term;
        sum->conflict_token = part->conflict_token;
    }
}

/* The reports of all ranks as one. */
static void add_ranks(dist_comm *comm, svm_pass *pass, double *tokens)
{
    double largest[] = {
        -pass->least,  -pass->least_zero,
        pass->largest, pass->noise,
        pass->cut,     pass->conflict_term < 0 ? -INFINITY : -(double)pass->conflict_term,
        pass->scale
    };
    double sums[] = { pass->slacks,         (double)pass->violated, (double)pass->tight,
                      (double)pass->merged, (double)pass->broken,   *tokens };
    double token = -1;
    dist_max(comm, largest, 7);
    if (largest[5] > -INFINITY) { /* the first conflict in the order of terms */
        if (pass->conflict_term == -(int64_t)largest[5])
            token = (double)pass->conflict_token;
        dist_max(comm, &token, 1);
        pass->conflict_term = -(int64_t)largest[5];
        pass->conflict_token = (int64_t)token;
    }
    dist_sum(comm, sums, 6);
    pass->least = -largest[0];
    pass->least_zero = -largest[1];
    pass->largest = largest[2];
    pass->noise = largest[3];
    pass->cut = largest[4] > 0;
    pass->scale = largest[6];
    pass->slacks = sums[0];
    pass->violated = (int64_t)sums[1];
    pass->tight = (int64_t)sums[2];
    pass->merged = (int64_t)sums[3];
    pass->broken = (int64_t)sums[4];
    *tokens = sums[5];
}

svm_pass svm_pricing_pass(svm_pricing *pricing, const double *hi, const double *lo,
                          const svm_pass_settings *settings)
{
    const svm_rows *rows = pricing->rows;
    int64_t size = rows->size;
    double moved = 0;
    for (int64_t k = 0; k < size; k++) {
        double step = hi[k] - pricing->previous[k];
        moved += step * step;
        pricing->previous[k] = hi[k];
    }
    /* the terms that were skipped rely on this length: round it up */
    pricing->travelled += sqrt(moved) * (1 + 1e-9);
    job j = { .pricing = pricing, .settings = settings, .hi = hi, .lo = lo };
    j.norm = la_norm(hi, size);
    if (!rows->matrix) {
        double *u = pricing->scratch + pricing->threads * pricing->scratch_each;
        svm_term none = { 0 };
        svm_rows_direction(rows, &none, hi, NULL, u);
        svm_rows_direction_exact(rows, &none, hi, lo, NULL, u + rows->d, u + 2 * rows->d);
        j.u = u;
        j.u_hi = u + rows->d;
        j.u_lo = u + 2 * rows->d;
    }
    pricing->stopped = false;
    svm_walk_all(pricing, settings, pricing->blocks, visit_block, &j);
    svm_pass pass = {
        .least = INFINITY, .least_zero = INFINITY, .conflict_term = -1, .conflict_token = -1
    };
    double tokens = 0;
    for (int64_t b = 0; b < pricing->blocks; b++) {
        add_block(&pass, &pricing->results[b].pass);
        tokens += pricing->results[b].tokens;
    }
    if (rows->data->comm)
        add_ranks(rows->data->comm, &pass, &tokens);
    pricing->merged += pass.merged;
    pass.visited = tokens / (double)rows->data->tokens;
    return pass;
}
