/*
 * <A_r, theta> of every row of a problem, one pass over the data.
 *
 * With delta = x_base - x_t a margin is delta'h, where h = W' theta for prompts (W the key map),
 * h = theta z for matrices.  It is first taken in double, with the bound
 *
 *   |computed - exact| <= 4 (d+8) u |delta| H,     H >= |h|, u = 2^-53,
 *
 * on all that rounding can do in any order of summation.  Only a row that this leaves in doubt
 * (not surely above its right-hand side and not tight) is evaluated again in double-double
 * (check_sum).  So a check reads at the speed of memory.
 */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one worker needs for a term; d entries each. */
typedef struct scratch {
    double *base, *x, *z, *h, *spare;
    dd *fine; /* h in double-double     */
    dd *delta;
} scratch;

typedef struct pass {
    const check_problem *p;
    double norm;      /* |theta| in the norm of the problem                    */
    double frobenius; /* |theta|_2, rounded up                                 */
    double *h;        /* of vector problems                                    */
    dd *fine;         /* the same in double-double                             */
    double H, H_fine; /* of vector problems: |h|, and what scales the error of `fine` */
    uint8_t *tight;   /* n, or NULL                                            */
    int64_t blocks;
    int64_t *first; /* blocks+1: sequences                                   */
    check_margins *part;
    double *largest; /* blocks                                                */
    scratch *workers;
} pass;

static void layout(pass *s, arena *a)
{
    size_t d = (size_t)s->p->d, blocks = (size_t)s->blocks;
    size_t threads = s->p->threads < s->blocks ? (size_t)s->p->threads : blocks;
    s->h = take(a, d);
    s->fine = base_take(a, d, sizeof(dd));
    s->first = take_int64(a, blocks + 1);
    s->part = base_take(a, blocks, sizeof(check_margins));
    s->largest = take(a, blocks);
    s->workers = base_take(a, threads, sizeof(scratch));
    for (size_t w = 0; w < threads; w++) {
        scratch own = { .base = take(a, d), .x = take(a, d), .z = take(a, d), .h = take(a, d) };
        own.spare = take(a, d);
        own.fine = base_take(a, d, sizeof(dd));
        own.delta = base_take(a, d, sizeof(dd));
        if (a->base)
            s->workers[w] = own;
    }
}

/* ---------------------------------------------------------------------- evaluation */

/* delta'h and |delta|^2 in double; four sums side by side. */
static void values(const double *base, const double *x, const double *h, int64_t d, double *margin,
                   double *square)
{
    double m[4] = { 0 }, q[4] = { 0 };
    int64_t j = 0;
    for (; j + 4 <= d; j += 4)
        for (int k = 0; k < 4; k++) {
            double delta = base[j + k] - x[j + k];
            m[k] += delta * h[j + k];
            q[k] += delta * delta;
        }
    for (; j < d; j++) {
        double delta = base[j] - x[j];
        m[0] += delta * h[j];
        q[0] += delta * delta;
    }
    *margin = (m[0] + m[1]) + (m[2] + m[3]);
    *square = (q[0] + q[1]) + (q[2] + q[3]);
}

/* |delta|, rounded up; taken again with care where the squares leave the range of doubles. */
static double length(scratch *w, double square, int64_t d)
{
    if (square > 0x1p-900 && square < 0x1p900)
        return sqrt(square) * (1 + 1e-12);
    for (int64_t j = 0; j < d; j++)
        w->spare[j] = w->base[j] - w->x[j];
    return check_vector_norm(ATTSVM_NORM_L2, 2, w->spare, d) * (1 + 1e-12);
}

/* y = theta z in double. */
static void apply(const double *theta, const double *z, int64_t d, double *y)
{
    for (int64_t j = 0; j < d; j++) {
        const double *row = theta + j * d;
        double sum[4] = { 0 };
        int64_t k = 0;
        for (; k + 4 <= d; k += 4)
            for (int lane = 0; lane < 4; lane++)
                sum[lane] += row[k + lane] * z[k + lane];
        for (; k < d; k++)
            sum[0] += row[k] * z[k];
        y[j] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

/* A term with what its rows share. */
typedef struct setting {
    const pass *s;
    scratch *w;
    check_term term;
    const double *h;
    const dd *fine; /* NULL until some row of a matrix problem asks for it */
    double H, H_fine;
} setting;

static void prepare(setting *now)
{
    const pass *s = now->s;
    scratch *w = now->w;
    la_row(&now->term.tokens, now->term.base, w->base);
    if (!s->p->matrix) {
        now->h = s->h;
        now->fine = s->fine;
        now->H = s->H;
        now->H_fine = s->H_fine;
        return;
    }
    check_query(s->p, &now->term, w->z);
    apply(s->p->claim->theta, w->z, s->p->d, w->h);
    now->h = w->h;
    now->fine = NULL;
    now->H = s->frobenius * check_vector_norm(ATTSVM_NORM_L2, 2, w->z, s->p->d) * (1 + 1e-12);
    now->H_fine = now->H;
}

static dd exact_dot(const double *x, const double *y, int64_t count)
{
    check_sum sum = { 0, 0 };
    for (int64_t j = 0; j < count; j++)
        check_sum_add(&sum, base_dd(x[j]), base_dd(y[j]));
    return check_sum_value(sum);
}

/* The margin of token x in double-double; leaves delta in the scratch. */
static dd exact_margin(setting *now)
{
    const check_problem *p = now->s->p;
    scratch *w = now->w;
    if (!now->fine) {
        for (int64_t j = 0; j < p->d; j++)
            w->fine[j] = exact_dot(p->claim->theta + j * p->d, w->z, p->d);
        now->fine = w->fine;
    }
    check_difference(p, &now->term, w->base, w->x, w->delta);
    check_sum sum = { 0, 0 };
    for (int64_t j = 0; j < p->d; j++)
        check_sum_add(&sum, w->delta[j], now->fine[j]);
    return check_sum_value(sum);
}

/* ------------------------------------------------------------------------ verdicts */

/* The row that misses its limit by most is the one to name. */
static void bad_row(check_margins *out, attsvm_row row, double margin, double limit)
{
    if (!out->holds && !(fabs(limit - margin) > fabs(out->bad_limit - out->bad_margin)))
        return;
    out->holds = false;
    out->bad = row;
    out->bad_margin = margin;
    out->bad_limit = limit;
}

/* <A,theta> = e: how far off, and whether theory 4.1 lets it pass. */
static void judge_equal(const setting *now, attsvm_row row, dd margin, double e, check_margins *out)
{
    double off = fabs(base_dd_value(base_dd_sub(margin, base_dd(e))));
    double size = check_row_norm(now->s->p, now->w->delta, now->w->z, now->w->spare);
    out->violation = fmax(out->violation, off);
    if (!(off <= CHECK_EQUALITY * (fabs(e) + size * now->s->norm)))
        bad_row(out, row, base_dd_value(margin), e);
}

/*
 * <A,theta> >= b.  A row with b = 1 that double-double cannot tell from 1 counts as holding;
 * `slip` keeps how much may have been hidden, and the gap is widened by it.
 */
static void judge_above(const setting *now, attsvm_row row, dd margin, double b, double error,
                        check_margins *out)
{
    dd lack = base_dd_sub(base_dd(b), margin);
    double missing = base_dd_value(lack), limit = -error;
    if (b == 1 && !(base_dd_compare(margin, out->least) > 0))
        out->least = margin;
    if (missing < -CHECK_TIGHT) /* b is 0 or 1, so max(1,|b|) = 1; a NaN goes on and fails */
        return;
    out->tight++;
    if (now->s->tight)
        now->s->tight[row.sequence] = 1;
    if (!(missing <= 0)) {
        out->violation = fmax(out->violation, missing);
        out->slack = base_dd_add(out->slack, lack);
    }
    out->slip = fmax(out->slip, error);
    if (now->s->p->claim->settings.soft > 0)
        return;
    if (b == 0)
        limit = -CHECK_ZERO_ROW * now->s->norm *
                check_row_norm(now->s->p, now->w->delta, now->w->z, now->w->spare);
    if (!(-missing >= limit))
        bad_row(out, row, base_dd_value(margin), b == 0 ? limit : b);
}

static void row_margin(setting *now, int64_t t, check_margins *out)
{
    const check_problem *p = now->s->p;
    scratch *w = now->w;
    double right, margin, square;
    check_kind kind = check_row(p, &now->term, t, &right);
    if (kind == CHECK_NO_ROW)
        return;
    if (p->claim->settings.problem == ATTSVM_PROBLEM_V) /* Y x_base'v, no rival */
        memset(w->x, 0, (size_t)p->d * sizeof *w->x);
    else
        la_row(&now->term.tokens, t, w->x);
    values(w->base, w->x, now->h, p->d, &margin, &square);
    if (p->claim->settings.problem == ATTSVM_PROBLEM_V)
        margin *= attsvm_data_label(p->data, now->term.sequence);
    double size = length(w, square, p->d);
    double error = 4 * (double)(p->d + 8) * CHECK_UNIT * size * now->H;
    /* a copy has margin 0 (of a set's member: as near as equalities hold), so most tokens need not
       be compared */
    bool near = kind == CHECK_ABOVE && !(fabs(margin) > (p->sets ? 0.5 : error));
    if (near && check_is_copy(p, &now->term, t, w->base, w->x)) {
        out->merged++;
        return;
    }
    out->rows++;
    bool clear = kind == CHECK_ABOVE && margin - error > right + CHECK_TIGHT &&
                 (right != 1 || margin - error > out->least.hi);
    if (clear)
        return;
    dd exact = exact_margin(now);
    attsvm_row row = { now->term.sequence, now->term.query, t };
    if (kind == CHECK_EQUAL)
        judge_equal(now, row, exact, right, out);
    else
        judge_above(now, row, exact, right, check_sum_error(p->d) * size * now->H_fine, out);
}

static check_margins nothing_yet(void)
{
    return (check_margins){ .least = base_dd(INFINITY), .holds = true };
}

static void block_margins(void *context, int64_t block, int worker)
{
    const pass *s = context;
    check_margins *out = &s->part[block];
    *out = nothing_yet();
    for (int64_t i = s->first[block]; i < s->first[block + 1] && !attsvm_interrupted(); i++)
        for (int64_t m = 0, count = check_queries(s->p, i); m < count; m++) {
            if (dist_stop_inside(s->p->stop, worker))
                return;
            setting now = { .s = s, .w = &s->workers[worker], .term = check_term_of(s->p, i, m) };
            if (now.term.base < 0)
                continue;
            prepare(&now);
            for (int64_t t = 0; t < now.term.visible; t++)
                row_margin(&now, t, out);
        }
}

static void join(check_margins *out, const check_margins *part)
{
    if (base_dd_compare(part->least, out->least) < 0)
        out->least = part->least;
    out->slack = base_dd_add(out->slack, part->slack);
    out->violation = fmax(out->violation, part->violation);
    out->slip = fmax(out->slip, part->slip);
    out->tight += part->tight;
    out->merged += part->merged;
    out->rows += part->rows;
    if (!part->holds)
        bad_row(out, part->bad, part->bad_margin, part->bad_limit);
}

/* h = W' theta of a prompt (W the key map), theta itself otherwise. */
static void shared_vector(pass *s)
{
    const check_problem *p = s->p;
    const double *theta = p->claim->theta;
    for (int64_t k = 0; k < p->d; k++) {
        dd sum = base_dd(theta[k]);
        if (p->key_map) {
            sum = base_dd(0);
            for (int64_t j = 0; j < p->d; j++)
                sum = base_dd_add(sum, base_dd_product(p->key_map[j * p->d + k], theta[j]));
        }
        s->fine[k] = sum;
        s->h[k] = base_dd_value(sum);
    }
    double size = check_vector_norm(ATTSVM_NORM_L2, 2, s->h, p->d) * (1 + 1e-12);
    s->H = s->H_fine = size;
    if (p->key_map) {
        /* where W' theta cancels, its own error is relative to |W||theta| */
        s->H_fine = check_vector_norm(ATTSVM_NORM_L2, 2, p->key_map, p->d * p->d) * s->frobenius;
        s->H = size + 0x1p-30 * s->H_fine;
    }
}

static attsvm_status open_pass(pass *s, arena *memory, attsvm_error *err)
{
    const attsvm_data *data = s->p->data;
    int64_t each = s->p->d * (s->p->matrix ? 8 : 1); /* work a token, roughly */
    s->blocks = base_blocks(data->tokens, 65536 / each + 1);
    layout(s, memory);
    TRY(base_arena_allocate(memory, "margins", err));
    layout(s, memory);
    data_blocks(data, s->blocks, s->first);
    return ATTSVM_OK;
}

attsvm_status check_margins_of(check_margins *out, const check_problem *problem, double norm,
                               uint8_t *tight, attsvm_error *err)
{
    const attsvm_claim *claim = problem->claim;
    pass s = { .p = problem, .norm = norm, .tight = tight };
    arena memory = { 0 };
    TRY(open_pass(&s, &memory, err));
    s.frobenius =
        check_vector_norm(ATTSVM_NORM_L2, 2, claim->theta, claim->theta_count) * (1 + 1e-12);
    if (!problem->matrix)
        shared_vector(&s);
    base_parallel(problem->threads, s.blocks, block_margins, &s);
    *out = nothing_yet();
    for (int64_t b = 0; b < s.blocks; b++)
        join(out, &s.part[b]);
    free(memory.base);
    return base_interrupted(err);
}

/* --------------------------------------------------------------------- largest row */

static void block_largest(void *context, int64_t block, int worker)
{
    const pass *s = context;
    const check_problem *p = s->p;
    scratch *w = &s->workers[worker];
    double largest = 0, right;
    for (int64_t i = s->first[block]; i < s->first[block + 1] && !attsvm_interrupted(); i++)
        for (int64_t m = 0, count = check_queries(p, i); m < count; m++) {
            if (dist_stop_inside(p->stop, worker))
                return;
            check_term term = check_term_of(p, i, m);
            if (term.base < 0)
                continue;
            la_row(&term.tokens, term.base, w->base);
            if (p->matrix)
                check_query(p, &term, w->z);
            for (int64_t t = 0; t < term.visible; t++) {
                if (check_row(p, &term, t, &right) == CHECK_NO_ROW)
                    continue;
                la_row(&term.tokens, t, w->x);
                check_difference(p, &term, w->base, w->x, w->delta);
                largest = fmax(largest, check_row_norm(p, w->delta, w->z, w->spare));
            }
        }
    s->largest[block] = largest;
}

attsvm_status check_largest_row(double *out, const check_problem *problem, attsvm_error *err)
{
    pass s = { .p = problem };
    arena memory = { 0 };
    TRY(open_pass(&s, &memory, err));
    base_parallel(problem->threads, s.blocks, block_largest, &s);
    *out = 0;
    for (int64_t b = 0; b < s.blocks; b++)
        *out = fmax(*out, s.largest[b]);
    free(memory.base);
    return base_interrupted(err);
}
