/*
 * <A_r, theta> of every row of a problem, one pass over the data.
 *
 * With delta = x_base - x_t a margin is delta'h, where h = W' theta for prompts (W the key map),
 * h = theta z for matrices.  It is first taken in double, with the bound
 *
 *   |computed - exact| <= 4 (d+10) u |delta| H,     H >= |h|, u = 2^-53,
 *
 * on the error of rounding, in any order of summation, and of omitting low parts of theta.  Only a
 * row that this leaves in doubt (not certainly above its right-hand side and not tight) is
 * evaluated again in double-double (check_sum), and if necessary in exact arithmetic.  So a check
 * reads at the speed of memory.
 *
 * The point that satisfies the equalities is within `shift` of theta, so that every margin of it is
 * at least <A_r, theta> - shift |A_r|_F.
 */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one worker needs for a term; d entries each. */
typedef struct scratch {
    double *base, *x, *z, *h, *spare; /* spare: 2 d */
    dd *fine;                         /* h in double-double     */
    dd *delta;
} scratch;

typedef struct pass {
    const check_problem *p;
    double accuracy, shift;
    double frobenius; /* |theta|_2, rounded up                                 */
    double *h;        /* of vector problems                                    */
    dd *fine;         /* the same in double-double                             */
    double H, H_fine; /* of vector problems: |h|, and what scales the error of `fine` */
    check_real *margin;
    int64_t blocks;
    int64_t *first; /* blocks+1: sequences                                   */
    check_margins *part;
    check_range *request; /* blocks                                          */
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
    s->request = base_take(a, blocks, sizeof(check_range));
    s->workers = base_take(a, threads, sizeof(scratch));
    for (size_t w = 0; w < threads; w++) {
        scratch own = { .base = take(a, d), .x = take(a, d), .z = take(a, d), .h = take(a, d) };
        own.spare = take(a, 2 * d);
        own.fine = base_take(a, d, sizeof(dd));
        own.delta = base_take(a, d, sizeof(dd));
        if (a->base)
            s->workers[w] = own;
    }
}

void check_list_add(check_list *list, attsvm_row row)
{
    if (list->count == list->capacity) {
        int64_t capacity = list->capacity ? 2 * list->capacity : 64;
        attsvm_row *rows = realloc(list->rows, (size_t)capacity * sizeof *rows);
        list->failed = list->failed || !rows;
        if (!rows)
            return;
        list->rows = rows;
        list->capacity = capacity;
    }
    list->rows[list->count++] = row;
}

/* ---------------------------------------------------------------------- evaluation */

/* delta'h and |delta|^2 in double, with four partial sums. */
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

/* |delta|, rounded up; computed with scaling if the squares over- or underflow. */
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

/* A term with the values shared by its rows. */
typedef struct setting {
    const pass *s;
    scratch *w;
    check_term term;
    const double *h;
    const dd *fine; /* NULL until a row of a matrix problem needs it */
    double H, H_fine;
} setting;

static void prepare(setting *now)
{
    const pass *s = now->s;
    scratch *w = now->w;
    check_token(&now->term.tokens, now->term.base, w->base);
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

static dd theta_at(const check_problem *p, int64_t k)
{
    return (dd){ p->claim->theta[k], p->claim->theta_lo ? p->claim->theta_lo[k] : 0 };
}

/* The margin of token x in double-double; leaves delta in the scratch. */
static dd fine_margin(setting *now)
{
    const check_problem *p = now->s->p;
    scratch *w = now->w;
    check_difference(p, &now->term, w->base, w->x, w->delta);
    if (!now->fine) {
        for (int64_t j = 0; j < p->d; j++) {
            check_sum sum = { 0, 0 };
            for (int64_t k = 0; k < p->d; k++)
                check_sum_add(&sum, theta_at(p, j * p->d + k), base_dd(w->z[k]));
            w->fine[j] = check_sum_value(sum);
        }
        now->fine = w->fine;
    }
    check_sum sum = { 0, 0 };
    for (int64_t j = 0; j < p->d; j++)
        check_sum_add(&sum, w->delta[j], now->fine[j]);
    return check_sum_value(sum);
}

/* Bound for the error of fine_margin; infinite where products could overflow. */
static double fine_error(const setting *now, double size)
{
    if (!(size < CHECK_LARGE && now->H_fine < CHECK_LARGE))
        return INFINITY;
    return 4 * check_sum_error(now->s->p->d) * size * now->H_fine + CHECK_SMALL;
}

/* The margin in exact arithmetic, rounded at the end; delta is in the scratch. */
static check_real exact_margin(const setting *now)
{
    check_exact value;
    bool in_range;
    check_exact_open(&value);
    check_row_value(now->s->p, now->w->delta, now->w->z, &value);
    check_real out = { check_exact_value(&value, &in_range), 0 };
    out.error = in_range ? fabs(out.value.hi) * 0x1p-103 : isinf(out.value.hi) ? 0 : 0x1p-900;
    check_exact_close(&value);
    return out;
}

/* ------------------------------------------------------------------------ verdicts */

/* One row during evaluation. */
typedef struct judged {
    attsvm_row row;
    double right, size; /* b or e; |delta|, rounded up */
    double move;        /* shift |A_r|_F, rounded up   */
    check_real margin;
} judged;

/* <A,theta> >= b. */
static void judge_above(const setting *now, const judged *j, check_margins *out)
{
    const pass *s = now->s;
    bool soft = s->p->claim->settings.soft > 0;
    dd low = check_down(base_dd_sub(check_lower(j->margin), base_dd(j->move)));
    if (j->margin.error == 0 || j->margin.error <= fabs(j->margin.value.hi) * 0x1p-102)
        low = base_dd_sub(base_dd_sub(j->margin.value, base_dd(j->margin.error)),
                          base_dd(j->move)); /* exact: the sign is known */
    dd lack = base_dd_sub(base_dd(j->right), low);
    double missing = base_dd_value(base_dd_sub(base_dd(j->right), j->margin.value));
    if (j->right == 1) {
        if (!(base_dd_compare(low, out->least) > 0)) {
            out->least = low;
            out->worst = j->row;
        }
        dd up = check_upper(j->margin);
        if (!(base_dd_compare(up, out->least_up) > 0))
            out->least_up = up;
        if (!(base_dd_compare(j->margin.value, out->shown) > 0))
            out->shown = j->margin.value;
    }
    if (!(lack.hi <= 0))
        out->slack = check_up(base_dd_add(out->slack, lack));
    if (missing < -CHECK_TIGHT) /* b is 0 or 1, so max(1,|b|) = 1; a NaN goes on */
        return;
    out->tight++;
    if (j->right == 1 && s->p->claim->settings.rank > 0)
        check_list_add(&out->close, j->row);
    if (!(missing <= 0))
        out->violation = check_max(out->violation, missing);
    if (j->right == 0 && !soft && !(low.hi >= 0)) {
        check_list_add(&out->fixed, j->row);
        out->below = j->row;
        out->below_margin = base_dd_value(j->margin.value);
    }
}

/* Evaluates a row that double left in doubt, and decides. */
static void look_closely(setting *now, check_kind kind, judged *j, check_margins *out)
{
    const pass *s = now->s;
    j->margin = (check_real){ fine_margin(now), fine_error(now, j->size) };
    double off = base_dd_value(base_dd_sub(j->margin.value, base_dd(j->right)));
    if (kind == CHECK_EQUAL) {
        check_list_add(&out->fixed, j->row);
        out->violation = check_max(out->violation, fabs(off));
        return;
    }
    /* open: whether a row with b = 0 holds; digits of a small margin that the accuracy asks for */
    double clear = j->right == 0 ? fabs(j->margin.value.hi - j->move) : off - CHECK_TIGHT;
    bool fine_enough = j->right == 1 && j->margin.error <= s->accuracy / 1024;
    if (!fine_enough && !(clear - 2 * j->move > j->margin.error))
        j->margin = exact_margin(now);
    judge_above(now, j, out);
}

/* |A_r|_F from above; delta need not be there. */
static double frobenius_size(setting *now, double size)
{
    const check_problem *p = now->s->p;
    if (p->matrix)
        return size * check_vector_norm(ATTSVM_NORM_L2, 2, now->w->z, p->d) * (1 + 1e-10);
    if (!p->key_map)
        return size;
    check_difference(p, &now->term, now->w->base, now->w->x, now->w->delta);
    return check_row_size(p, ATTSVM_NORM_L2, 2, now->w->delta, now->w->z, now->w->spare).high;
}

static void row_margin(setting *now, int64_t t, check_margins *out)
{
    const pass *s = now->s;
    const check_problem *p = s->p;
    scratch *w = now->w;
    bool is_v = p->claim->settings.problem == ATTSVM_PROBLEM_V;
    double margin, square;
    judged j = { .row = { now->term.sequence, now->term.query, t } };
    check_kind kind = check_row(p, &now->term, t, &j.right);
    if (kind == CHECK_NO_ROW)
        return;
    if (is_v) /* Y x_base'v, no rival */
        memset(w->x, 0, (size_t)p->d * sizeof *w->x);
    else
        check_token(&now->term.tokens, t, w->x);
    values(w->base, w->x, now->h, p->d, &margin, &square);
    if (is_v)
        margin *= attsvm_data_label(p->data, now->term.sequence);
    j.size = length(w, square, p->d);
    double error = 4 * (double)(p->d + 10) * CHECK_UNIT * j.size * now->H + CHECK_SMALL;
    /* a copy has margin 0 (of a set's member: as near as equalities hold), so most tokens need not
       be compared */
    bool near = kind == CHECK_ABOVE && !(fabs(margin) > (p->sets ? 0.5 : error));
    if (near && check_is_copy(p, &now->term, t, w->base, w->x, w->spare)) {
        out->merged++;
        return;
    }
    out->rows++;
    out->overflow = out->overflow || !(j.size < 0x1p1000);
    j.move = s->shift > 0 ? s->shift * frobenius_size(now, j.size) * (1 + 1e-10) : 0;
    out->longest = check_max(out->longest, j.move);
    if (s->margin)
        s->margin[now->term.sequence] = (check_real){ base_dd(margin), error };
    double low = margin - error - j.move;
    bool clear = kind == CHECK_ABOVE && low > j.right + CHECK_TIGHT && error < CHECK_LARGE &&
                 (j.right != 1 || low > out->least.hi);
    if (clear || out->overflow)
        return;
    look_closely(now, kind, &j, out);
    if (s->margin)
        s->margin[now->term.sequence] = j.margin;
}

static check_margins nothing_yet(void)
{
    dd none = base_dd(INFINITY);
    return (check_margins){ .least = none, .least_up = none, .shown = none };
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

static void join_lists(check_list *out, check_list *part)
{
    for (int64_t k = 0; k < part->count; k++)
        check_list_add(out, part->rows[k]);
    out->failed = out->failed || part->failed;
    free(part->rows);
}

static void join(check_margins *out, check_margins *part)
{
    if (base_dd_compare(part->least, out->least) < 0 || isnan(part->least.hi)) {
        out->least = part->least;
        out->worst = part->worst;
    }
    if (base_dd_compare(part->least_up, out->least_up) < 0 || isnan(part->least_up.hi))
        out->least_up = part->least_up;
    if (base_dd_compare(part->shown, out->shown) < 0)
        out->shown = part->shown;
    if (part->slack.hi != 0)
        out->slack = check_up(base_dd_add(out->slack, part->slack));
    out->violation = check_max(out->violation, part->violation);
    out->longest = check_max(out->longest, part->longest);
    out->overflow = out->overflow || part->overflow;
    out->tight += part->tight;
    out->merged += part->merged;
    out->rows += part->rows;
    if (part->below_margin < 0 && !(out->below_margin < part->below_margin)) {
        out->below = part->below;
        out->below_margin = part->below_margin;
    }
    join_lists(&out->fixed, &part->fixed);
    join_lists(&out->close, &part->close);
}

void check_margins_free(check_margins *margins)
{
    free(margins->fixed.rows);
    free(margins->close.rows);
    margins->fixed = margins->close = (check_list){ 0 };
}

/* h = W' theta of a prompt (W the key map), theta itself otherwise. */
static void shared_vector(pass *s)
{
    const check_problem *p = s->p;
    for (int64_t k = 0; k < p->d; k++) {
        dd sum = theta_at(p, k);
        if (p->key_map) {
            sum = base_dd(0);
            for (int64_t j = 0; j < p->d; j++)
                sum = base_dd_add(sum,
                                  base_dd_mul(base_dd(p->key_map[j * p->d + k]), theta_at(p, j)));
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
    int64_t each = s->p->d * (s->p->matrix ? 8 : 1); /* approximate work per token */
    s->blocks = base_blocks(data->tokens, 65536 / each + 1);
    layout(s, memory);
    TRY(base_arena_allocate(memory, "margins", err));
    layout(s, memory);
    data_blocks(data, s->blocks, s->first);
    return ATTSVM_OK;
}

attsvm_status check_margins_of(check_margins *out, const check_problem *problem, double accuracy,
                               double shift, check_real *margin, attsvm_error *err)
{
    const attsvm_claim *claim = problem->claim;
    pass s = { .p = problem, .accuracy = accuracy, .shift = shift, .margin = margin };
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
    if (out->fixed.failed)
        return fail(err, ATTSVM_E_MEMORY, "no memory for rows");
    return base_interrupted(err);
}

/* ------------------------------------------------- the longest length that a row asks for */

static void block_request(void *context, int64_t block, int worker)
{
    const pass *s = context;
    const check_problem *p = s->p;
    scratch *w = &s->workers[worker];
    double q, right;
    attsvm_norm norm =
        check_dual_norm((attsvm_norm)p->claim->settings.norm, p->claim->settings.q, &q);
    check_range *out = &s->request[block];
    *out = (check_range){ 0, 0 };
    for (int64_t i = s->first[block]; i < s->first[block + 1] && !attsvm_interrupted(); i++)
        for (int64_t m = 0, count = check_queries(p, i); m < count; m++) {
            if (dist_stop_inside(p->stop, worker))
                return;
            check_term term = check_term_of(p, i, m);
            if (term.base < 0)
                continue;
            check_token(&term.tokens, term.base, w->base);
            if (p->matrix)
                check_query(p, &term, w->z);
            for (int64_t t = 0; t < term.visible; t++) {
                if (check_row(p, &term, t, &right) == CHECK_NO_ROW || right == 0)
                    continue;
                check_token(&term.tokens, t, w->x);
                check_difference(p, &term, w->base, w->x, w->delta);
                check_range size = check_row_size(p, norm, q, w->delta, w->z, w->spare);
                if (size.high == 0) /* A_r = 0, or a copy of the selected token */
                    continue;
                out->low = check_max(out->low, fabs(right) / size.high * (1 - 1e-15));
                out->high = check_max(out->high, fabs(right) / size.low * (1 + 1e-15));
            }
        }
}

attsvm_status check_longest_request(check_range *out, const check_problem *problem,
                                    attsvm_error *err)
{
    pass s = { .p = problem };
    arena memory = { 0 };
    TRY(open_pass(&s, &memory, err));
    base_parallel(problem->threads, s.blocks, block_request, &s);
    *out = (check_range){ 0, 0 };
    for (int64_t b = 0; b < s.blocks; b++) {
        out->low = check_max(out->low, s.request[b].low);
        out->high = check_max(out->high, s.request[b].high);
    }
    free(memory.base);
    return base_interrupted(err);
}
