/*
 * The search: one pass over the tokens finds the rows that theta violates, for every norm.  Margins
 * of a term are differences of its logits X_i u, so a token is read once; rows close to their
 * right-hand side are evaluated again in double-double, which makes the last pass the certificate
 * of feasibility.
 *
 * Blocks depend on the number of terms alone and report in order: the same bytes for any number of
 * threads.
 */
#include "svm/set/find.h"
#include "svm/set/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row is tight up to 1e-7 (theory 4); rows within SVM_NEAR are never skipped. */
static const double TIGHT = 1e-7;
static const double UNIT = 0x1p-53;
static const double EXACT_UNIT = 0x1p-104; /* of a few operations in double-double */

typedef struct svm_block {
    svm_pass pass;
    double tokens;
} svm_block;

static const svm_pass nothing_read = { .min_margin = INFINITY,
                                       .min_zero_margin = INFINITY,
                                       .zero_distance = INFINITY,
                                       .conflict_term = -1,
                                       .conflict_token = -1 };

/* Input of one pass. */
typedef struct job {
    svm_find *find;
    const svm_pass_settings *settings;
    const double *hi, *lo;
    const double *u, *u_hi, *u_lo; /* vector problems: one direction for all terms */
    double norm;                   /* |theta|                                      */
} job;

/* Of one worker. */
typedef struct scratch {
    double *z, *u, *u_hi, *u_lo, *x; /* (d)     */
    double *more;                    /* (3d)    */
    double *y, *squares;             /* (T_max) */
} scratch;

static scratch scratch_of(const svm_find *find, int worker)
{
    int64_t d = find->rows->d;
    double *at = find->scratch + worker * find->scratch_each;
    return (scratch){ .z = at,
                      .u = at + d,
                      .u_hi = at + 2 * d,
                      .u_lo = at + 3 * d,
                      .x = at + 4 * d,
                      .more = at + 5 * d,
                      .y = at + 8 * d,
                      .squares = at + 8 * d + find->rows->data->T_max };
}

/* One entry for each term of this rank. */
static void *take_own(const svm_find *find, arena *a, size_t size)
{
    return base_from(base_take(a, (size_t)(find->hi - find->lo), size), find->lo, size);
}

static void layout(svm_find *find, arena *a)
{
    size_t d = (size_t)find->rows->d;
    find->slack = take_own(find, a, sizeof *find->slack);
    find->path_at_read = take_own(find, a, sizeof *find->path_at_read);
    find->bound = take_own(find, a, sizeof *find->bound);
    find->previous = take(a, (size_t)find->rows->size);
    find->scratch = take(a, (size_t)(find->threads * find->scratch_each) + 3 * d);
    find->results = base_take(a, (size_t)find->blocks, sizeof *find->results);
    find->lists = base_take(a, (size_t)find->threads, sizeof *find->lists);
}

attsvm_status svm_find_create(svm_find *find, const svm_rows *rows, int threads, attsvm_error *err)
{
    arena a = { 0 };
    *find = (svm_find){ .rows = rows, .threads = threads };
    data_own(rows->data, &find->lo, &find->hi);
    find->lo = data_terms_first(&rows->terms, find->lo);
    find->hi = data_terms_first(&rows->terms, find->hi);
    find->blocks = base_blocks(find->hi - find->lo, 16);
    find->likely_rate = 1 / sqrt((double)rows->size);
    find->scratch_each = 8 * rows->d + 2 * rows->data->T_max + 8;
    layout(find, &a);
    TRY(base_arena_reserve(&a, "margins", err));
    find->memory = a.base;
    layout(find, &a);
    memset(find->memory, 0, a.used);
    for (int64_t g = find->lo; g < find->hi; g++)
        find->path_at_read[g] = -1;
    return ATTSVM_OK;
}

void svm_find_free(svm_find *find)
{
    for (int k = 0; find->memory && k < find->threads; k++)
        free(find->lists[k].rows);
    free(find->found);
    free(find->memory);
}

/* A term while it is read. */
typedef struct view {
    svm_term term;
    la_rows tokens; /* from number `from` on                                    */
    int64_t from;
    bool first, ready; /* never read before; directions in double-double are computed */
    dd base;           /* logit of the base token                                     */
    double b, bound, noise;
    double query_norm; /* negative: not computed yet */
} view;

/* A bound of |A| over all rows of the term: (|x_base| + max |x_t|) |z|, or |Wx| for keys. */
static double bound_rows(const job *j, const view *v, scratch s)
{
    const svm_rows *rows = j->find->rows;
    double largest = 0;
    la_active()->rows_square(&v->tokens, s.squares);
    for (int64_t k = 0; k < v->tokens.count; k++)
        largest = s.squares[k] > largest ? s.squares[k] : largest;
    largest = sqrt(largest);
    double base = sqrt(s.squares[v->term.base - v->from]);
    if (!(largest > 0x1p-450 && largest < 0x1p450)) { /* squares over- or underflow: use la_norm */
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
    const svm_rows *rows = j->find->rows;
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

/* |A| of one row; does not change u_hi and u_lo of the scratch. */
static double row_norm(const job *j, view *v, int64_t t, scratch s)
{
    const svm_rows *rows = j->find->rows;
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
        pass->min_margin = fmin(pass->min_margin, margin);
        pass->scale = margin > 0 ? fmax(pass->scale, (1 + rounding) / margin) : INFINITY;
    } else {
        pass->min_zero_margin = fmin(pass->min_zero_margin, margin);
    }
}

/* A soft row with lambda = C may be violated; its xi is counted. */
static bool is_paid(const svm_pass_settings *settings, const svm_term *term, int64_t t)
{
    if (!settings->soft)
        return false;
    int64_t slot = svm_set_slot(settings->soft, term->term, t);
    return slot >= 0 && settings->soft->place[slot] == SVM_AT_UPPER;
}

/*
 * Merged tokens are not rows; tokens with the key of the base token cannot be separated from it.
 * An empty row is tight for every theta.
 */
static svm_row_kind resolve(const job *j, const view *v, int64_t t, scratch s, svm_pass *pass)
{
    svm_row_kind kind = svm_rows_resolve(j->find->rows, &v->term, t, s.more);
    bool impossible = kind == SVM_IMPOSSIBLE && !j->settings->soft;
    pass->merged += v->first && kind == SVM_NO_ROW;
    pass->tight += kind == SVM_EMPTY;
    if (impossible && pass->conflict_term < 0) {
        pass->conflict_term = v->term.term;
        pass->conflict_token = t;
    }
    return impossible ? SVM_NO_ROW : kind;
}

/* <A, theta> - b of a row that is not clearly satisfied; 0 if only rounding makes it negative, and
   for an empty row; INFINITY if there is no row. *kind is its kind. */
static double judge(const job *j, view *v, int64_t t, double margin, scratch s, svm_pass *pass,
                    svm_row_kind *kind)
{
    const svm_pass_settings *settings = j->settings;
    const svm_rows *rows = j->find->rows;
    double b = v->b, size = v->bound;
    bool copy = rows->sets && margin < b; /* it may be a copy of a member of the set */
    if (copy || fabs(margin) <= 2 * v->noise + 1e-9 * v->bound * j->norm) {
        *kind = resolve(j, v, t, s, pass);
        if (*kind == SVM_NO_ROW || *kind == SVM_EMPTY)
            return *kind == SVM_EMPTY ? 0 : INFINITY;
    }
    /* the shortfalls of a soft problem are summed: all their digits count */
    bool summed = settings->soft && v->noise > settings->tolerance * fabs(margin - b);
    if (settings->exact && (summed || fabs(margin - b) <= SVM_NEAR + v->noise)) {
        margin = exact_margin(j, v, t, s);
        size = row_norm(j, v, t, s);
        /* where theta and rows span many decades, double-double may keep no digit: report the worst
         */
        double error = b == 1 ? (double)(2 * rows->d + 8) * EXACT_UNIT * v->bound * j->norm : 0;
        report_near(pass, margin - error, b, size, 0x1p-52 * (2 + size * j->norm));
        if (b == 0 && settings->set && svm_set_slot(settings->set, v->term.term, t) < 0)
            pass->zero_distance = fmin(pass->zero_distance, margin / size);
    } else if (margin < b) {
        report_near(pass, margin, b, 0, 0x1p-51 + 2 * v->noise / fabs(margin));
    }
    double miss = margin - b;
    if (miss >= 0)
        return miss;
    pass->slacks -= miss;
    /* rows with b = 0 have no other scale than |A||theta| */
    double allowed = b == 0 ? settings->zero_floor * size * j->norm
                            : settings->tolerance + settings->floor * size * j->norm;
    pass->violated_zero_rows += b == 0 && miss < -allowed;
    return is_paid(settings, &v->term, t) || miss >= -allowed ? 0 : miss;
}

/* y[k] = <A, theta> of token from + k, in double. */
static void read_margins(const job *j, const view *v, scratch s)
{
    const svm_rows *rows = j->find->rows;
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

/* Whether the row should join and is not in the set. */
static bool is_wanted(const svm_pass_settings *settings, int64_t term, int64_t t, double miss)
{
    return miss < settings->join_below &&
           (!settings->set || svm_set_slot(settings->set, term, t) < 0);
}

static void note(const job *j, int worker, int64_t term, int64_t t, double miss)
{
    svm_candidates_note(&j->find->lists[worker], j->settings->most,
                        (svm_candidate){ miss, term, (int32_t)t, 0 });
}

/* Examines the rows of a term; returns the smallest <A, theta> - b. */
static double visit_rows(const job *j, view *v, scratch s, svm_pass *pass, int worker)
{
    const svm_pass_settings *settings = j->settings;
    const bool every = settings->every_row && settings->most > 0;
    double clear = fmax(v->b + SVM_NEAR + v->noise, 2 * v->noise + 1e-9 * v->bound * j->norm);
    double slack = INFINITY, near = every ? settings->join_below : -INFINITY;
    int64_t worst = -1;
    for (int64_t k = 0; k < v->tokens.count; k++) {
        const int64_t t = v->from + k;
        double margin = s.y[k], miss = margin - v->b;
        /* most tokens: clearly satisfied and not the closest of the term */
        if (margin > clear && miss >= slack && miss >= near)
            continue;
        svm_row_kind kind = svm_rows_kind(j->find->rows, &v->term, t);
        if (kind != SVM_AT_LEAST)
            continue;
        if (margin <= clear)
            miss = judge(j, v, t, margin, s, pass, &kind);
        if (every && kind == SVM_AT_LEAST && is_wanted(settings, v->term.term, t, miss))
            note(j, worker, v->term.term, t, miss);
        if (miss < slack) {
            slack = miss;
            worst = t;
        }
    }
    if (slack < 0 && !every && settings->most > 0)
        note(j, worker, v->term.term, worst, slack);
    return slack;
}

/* Reads one term. */
static void visit(const job *j, int64_t g, scratch s, svm_block *block, int worker)
{
    svm_find *find = j->find;
    const svm_rows *rows = find->rows;
    view v = { .term = svm_rows_term(rows, g),
               .first = find->path_at_read[g] < 0,
               .query_norm = -1 };
    v.tokens = svm_rows_tokens(rows, &v.term, &v.from);
    read_margins(j, &v, s);
    if (v.first)
        find->bound[g] = bound_rows(j, &v, s);
    v.bound = find->bound[g];
    v.b = v.term.b_is_zero ? 0 : 1;
    /* logits: d products for u and d for X u, each rounded, of size |x| |theta| |z| */
    v.noise = 2 * (double)(2 * rows->d + 8) * UNIT * v.bound * j->norm;
    find->slack[g] = visit_rows(j, &v, s, &block->pass, worker);
    find->path_at_read[g] = find->path_length;
    block->pass.violated += find->slack[g] < 0;
    block->pass.noise = fmax(block->pass.noise, v.noise);
    block->tokens += (double)v.tokens.count;
}

/* One thread asks at intervals whether to stop; all see the answer. */
static bool is_stopped(const svm_find *find, int64_t g, int worker)
{
    enum { BETWEEN = 16 };
    return find->stop && (worker != 0 || g % BETWEEN == 0) && dist_stop_inside(find->stop, worker);
}

static void visit_block(void *context, int64_t b, int worker)
{
    const job *j = context;
    svm_find *find = j->find;
    svm_block *block = &find->results[b];
    scratch s = scratch_of(find, worker);
    int64_t lo, hi;
    *block = (svm_block){ .pass = nothing_read };
    base_block(find->hi - find->lo, find->blocks, b, &lo, &hi);
    lo += find->lo;
    hi += find->lo;
    svm_skip walk = { find, j->settings };
    data_reader reader = svm_skip_reader(&walk, lo, hi);
    for (int64_t g; !block->pass.interrupted && data_reader_each(&reader, &g);) {
        block->pass.interrupted = is_stopped(find, g, worker);
        if (!block->pass.interrupted && svm_skip_needs_read(find, j->settings, g))
            visit(j, g, s, block, worker);
    }
}

static void add_block(svm_pass *sum, const svm_pass *part)
{
    sum->min_margin = fmin(sum->min_margin, part->min_margin);
    sum->min_zero_margin = fmin(sum->min_zero_margin, part->min_zero_margin);
    sum->zero_distance = fmin(sum->zero_distance, part->zero_distance);
    sum->largest = fmax(sum->largest, part->largest);
    sum->scale = fmax(sum->scale, part->scale);
    sum->noise = fmax(sum->noise, part->noise);
    sum->interrupted |= part->interrupted;
    sum->slacks += part->slacks;
    sum->violated += part->violated;
    sum->tight += part->tight;
    sum->violated_zero_rows += part->violated_zero_rows;
    sum->merged += part->merged;
    if (sum->conflict_term < 0) {
        sum->conflict_term = part->conflict_term;
        sum->conflict_token = part->conflict_token;
    }
}

/* Combines the reports of all ranks. */
static void add_ranks(dist_comm *comm, svm_pass *pass, double *tokens)
{
    double largest[] = {
        -pass->min_margin, -pass->min_zero_margin,
        pass->largest,     pass->noise,
        pass->interrupted, pass->conflict_term < 0 ? -INFINITY : -(double)pass->conflict_term,
        pass->scale,       -pass->zero_distance
    };
    double sums[] = { pass->slacks,         (double)pass->violated,           (double)pass->tight,
                      (double)pass->merged, (double)pass->violated_zero_rows, *tokens };
    double token = -1;
    dist_max(comm, largest, 8);
    if (largest[5] > -INFINITY) { /* the first conflict in the order of terms */
        if (pass->conflict_term == -(int64_t)largest[5])
            token = (double)pass->conflict_token;
        dist_max(comm, &token, 1);
        pass->conflict_term = -(int64_t)largest[5];
        pass->conflict_token = (int64_t)token;
    }
    dist_sum(comm, sums, 6);
    pass->min_margin = -largest[0];
    pass->min_zero_margin = -largest[1];
    pass->largest = largest[2];
    pass->noise = largest[3];
    pass->scale = largest[6];
    pass->zero_distance = -largest[7];
    pass->interrupted = largest[4] > 0;
    pass->slacks = sums[0];
    pass->violated = (int64_t)sums[1];
    pass->tight = (int64_t)sums[2];
    pass->merged = (int64_t)sums[3];
    pass->violated_zero_rows = (int64_t)sums[4];
    *tokens = sums[5];
}

/* Skipping relies on the length of theta's path, which is rounded up. */
static void move_to(svm_find *find, const double *theta)
{
    double moved = 0;
    for (int64_t k = 0; k < find->rows->size; k++) {
        double step = theta[k] - find->previous[k];
        moved += step * step;
        find->previous[k] = theta[k];
    }
    find->path_length += sqrt(moved) * (1 + 1e-9);
}

attsvm_status svm_find_pass(svm_find *find, const double *hi, const double *lo,
                            const svm_pass_settings *settings, svm_pass *pass, attsvm_error *err)
{
    const svm_rows *rows = find->rows;
    move_to(find, hi);
    job j = { .find = find, .settings = settings, .hi = hi, .lo = lo };
    j.norm = la_norm(hi, rows->size);
    if (!rows->matrix) {
        double *u = find->scratch + find->threads * find->scratch_each;
        svm_term none = { 0 };
        svm_rows_direction(rows, &none, hi, NULL, u);
        svm_rows_direction_exact(rows, &none, hi, lo, NULL, u + rows->d, u + 2 * rows->d);
        j.u = u;
        j.u_hi = u + rows->d;
        j.u_lo = u + 2 * rows->d;
    }
    svm_skip_walk(find, settings, find->blocks, visit_block, &j);
    *pass = nothing_read;
    double tokens = 0;
    for (int64_t b = 0; b < find->blocks; b++) {
        add_block(pass, &find->results[b].pass);
        tokens += find->results[b].tokens;
    }
    if (rows->data->comm)
        add_ranks(rows->data->comm, pass, &tokens);
    find->merged += pass->merged;
    find->passes += tokens / (double)rows->data->tokens;
    return svm_candidates_join(find->lists, find->threads, settings->most, rows->data->comm,
                               &find->found, &find->found_count, err);
}

/* ------------------------------------------------------------------- what was found */

/* Prefetches the tokens of the next candidates, from k on, if they are on disk. */
static void ask_ahead(const svm_find *find, int64_t k)
{
    enum { AT_ONCE = 64 };
    if (!find->rows->data->streams || k % AT_ONCE != 0)
        return;
    for (int64_t end = k + AT_ONCE; k < find->found_count && k < end; k++) {
        svm_term term = svm_rows_term(find->rows, find->found[k].term);
        data_reader_token_ahead(find->rows->data, term.i, term.base);
        data_reader_token_ahead(find->rows->data, term.i, find->found[k].token);
    }
}

attsvm_status svm_find_add(const svm_find *find, svm_set *set, int64_t *added, attsvm_error *err)
{
    const attsvm_data *data = find->rows->data;
    attsvm_status status = svm_set_reserve(set, find->found_count, err);
    *added = 0;
    data_reader_order(data, DATA_BY_ROWS);
    for (int64_t k = 0; k < find->found_count && status == ATTSVM_OK; k++) {
        ask_ahead(find, k);
        svm_term term = svm_rows_term(find->rows, find->found[k].term);
        if (svm_set_slot(set, term.term, find->found[k].token) >= 0)
            continue;
        status = svm_set_add(set, &term, find->found[k].token, err);
        data_reader_release_around(data, term.i);
        ++*added;
    }
    data_reader_order(data, DATA_IN_ORDER);
    return status;
}
