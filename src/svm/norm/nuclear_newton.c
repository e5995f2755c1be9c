/*
 * Nuclear norm: Newton on the optimality system of rank r.
 *
 * At the optimum S = sum lambda A has r singular values 1, with vectors U (p x r), V (q x r), and
 * W = U K V' with K symmetric positive definite.  Unknowns are the multipliers of the tight rows
 * and K; with Q = [U; V]/sqrt 2 the equations are
 *
 *   <B_r, Q K Q'> = b_r (tight rows),   Q' (sum lambda B) Q = I,        B_r = [0 A_r; A_r' 0]
 *
 * U and V move with lambda: first order perturbation gives, with G = sum_k e_k e_k'/(1 - theta_k)
 * over the other eigenpairs of sum lambda B,
 *
 *   [ H  C ] [ dlambda ]   [ b - <A, W>       ]    H_rs = 2 tr(B_r Q K Q' B_s G)
 *   [ C' 0 ] [ dK      ] = [ I - diag(sigma)  ]    C_r = Q' B_r Q
 *
 * of size rows + r(r+1)/2.  The right side is evaluated in double-double near the end: if the
 * problem is nearly infeasible, lambda and W are large and both sums cancel.  It converges
 * quadratically if the optimum is not degenerate; if rows are dependent (one-hot tokens), a pivoted
 * Cholesky factorisation selects independent ones.
 */
#include "svm/norm/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEWTON_STEPS = 12, NEWTON_REPAIRS = 30 };
static const double NEWTON_PIVOT = 1e-13; /* relative pivot below which rows are dependent        */
static const double NEWTON_BLUR = 1e-4;   /* the largest one tried, if the start hides dependence */
static const double NEWTON_CLOSE = 1e-5;  /* relative gap from which such pivots are tried        */
static const double NEWTON_APART = 1e-12; /* smallest 1 - sigma of a value that is not 1          */
static const double NEWTON_DONE = 2e-15;  /* relative gap that double hardly improves             */
static const double NEWTON_EXACT = 1e-8;  /* gap from which sums are formed exactly               */
static const double NEWTON_NEAR = 1e-12;  /* below this, stop when steps gain little              */

typedef struct newton {
    const svm_small *part;
    svm_small tight;                    /* active rows, gathered                   */
    int64_t rank, pairs, small;         /* r, r(r+1)/2, min(p,q)                    */
    int64_t *rows, *order, *pair_order; /* the gathered rows; pivots                */
    uint8_t *in;                        /* (part rows) row is active               */
    double pivot;                       /* relative: rows below it depend on others */
    double last;                        /* gap of the previous step                 */
    double *lambda, *step, *y;          /* (part rows), (active rows) twice        */
    double *S, *svd, *U, *Vt, *sigma, *W, *T, *margin, *sums, *K;
    double *F, *G, *H, *C;  /* of the system above                      */
    double *B, *M, *k, *k2; /* to solve it                              */
    interior_schur schur;
} newton;

static void layout(newton *s, arena *a)
{
    const svm_small *part = s->part;
    size_t m = (size_t)part->rows, p = (size_t)part->p, q = (size_t)part->q;
    size_t N = p + q, n = (size_t)s->small, pairs = (size_t)s->pairs, r = (size_t)s->rank;
    double **by_row[] = { &s->tight.b, &s->lambda, &s->step, &s->y, &s->margin };
    for (size_t k = 0; k < sizeof by_row / sizeof *by_row; k++)
        *by_row[k] = take(a, m);
    double **by_entry[] = { &s->S, &s->svd, &s->W };
    for (size_t k = 0; k < sizeof by_entry / sizeof *by_entry; k++)
        *by_entry[k] = take(a, p * q);
    double **squares[] = { &s->F, &s->G, &s->T };
    for (size_t k = 0; k < sizeof squares / sizeof *squares; k++)
        *squares[k] = take(a, N * N);
    s->tight.u = take(a, m * p);
    s->tight.term = take_int64(a, m);
    s->rows = take_int64(a, m);
    s->order = take_int64(a, m);
    s->pair_order = take_int64(a, pairs);
    s->in = base_take(a, m, 1);
    s->U = take(a, p * n);
    s->Vt = take(a, n * q);
    s->sigma = take(a, n);
    s->sums = take(a, 2 * (size_t)part->terms * N + p * q);
    s->K = take(a, r * r);
    s->H = take(a, m * m);
    s->C = take(a, m * pairs);
    s->B = take(a, m * pairs);
    s->M = take(a, pairs * pairs);
    s->k = take(a, pairs);
    const size_t eigen = (size_t)la_eigenvalues_room((int64_t)r);
    s->k2 = take(a, pairs > eigen ? pairs : eigen);
    interior_schur_layout(&s->schur, a, part->rows, part->terms, part->p, part->q);
}

/* S of lambda and its singular values. */
static attsvm_status decompose(newton *s, attsvm_error *err)
{
    const svm_small *part = s->part;
    if (s->last < NEWTON_EXACT)
        svm_small_sum_exact(part, s->lambda, s->S, s->sums);
    else
        svm_small_sum(part, s->lambda, s->S, s->sums);
    memcpy(s->svd, s->S, (size_t)(part->p * part->q) * sizeof *s->S);
    return la_svd(part->p, part->q, s->svd, part->q, s->sigma, s->U, s->small, s->Vt, part->q, err);
}

static void gather(newton *s)
{
    const svm_small *part = s->part;
    int64_t m = 0, p = part->p;
    for (int64_t r = 0; r < part->rows; r++)
        if (s->in[r]) {
            memcpy(s->tight.u + m * p, part->u + r * p, (size_t)p * sizeof(double));
            s->tight.b[m] = part->b[r];
            s->tight.term[m] = part->term[r];
            s->rows[m++] = r;
        }
    s->tight.rows = m;
}

/* coef_k u_k u_k' into the blocks of M: u_k, v_k the k-th singular vectors. */
static void add_pair(const newton *s, int64_t k, double c11, double c12, double c22, double *M)
{
    int64_t p = s->part->p, q = s->part->q, N = p + q;
    const double *v = s->Vt + k * q;
    for (int64_t i = 0; i < p; i++) {
        double u = s->U[i * s->small + k];
        for (int64_t j = 0; j < p; j++)
            M[i * N + j] += c11 * u * s->U[j * s->small + k];
        la_axpy(c12 * u, v, M + i * N + p, q);
    }
    for (int64_t i = 0; i < q; i++)
        la_axpy(c22 * v[i], v, M + (p + i) * N + p, q);
}

static void mirror(const newton *s, double *M)
{
    int64_t p = s->part->p, q = s->part->q, N = p + q;
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < q; j++)
            M[(p + j) * N + i] = M[i * N + p + j];
}

/*
 * F = 2 Q K Q' = [U K U', U K V'; V K U', V K V'] and
 * G = I + sum_{k>r} [(1/(1-s^2) - 1) uu', s/(1-s^2) uv'] + sum_{k<=r} [(1/(2(1+s)) - 1) uu',
 * -1/(2(1+s)) uv'], the v-blocks alike.
 */
static void metric(newton *s)
{
    int64_t p = s->part->p, q = s->part->q, N = p + q, r = s->rank, n = s->small;
    memset(s->G, 0, (size_t)(N * N) * sizeof *s->G);
    for (int64_t i = 0; i < N; i++)
        s->G[i * N + i] = 1;
    for (int64_t k = 0; k < n; k++) {
        double sigma = s->sigma[k];
        if (k < r) {
            double c = 1 / (2 * (1 + sigma));
            add_pair(s, k, c - 1, -c, c - 1, s->G);
        } else {
            double c = 1 / (fmax(1 - sigma, NEWTON_APART) * (1 + sigma));
            add_pair(s, k, c - 1, c * sigma, c - 1, s->G);
        }
    }
    mirror(s, s->G);
    la_gemm(false, false, p, r, r, 1, s->U, n, s->K, r, 0, s->T, r); /* U K */
    la_gemm(false, true, p, p, r, 1, s->T, r, s->U, n, 0, s->F, N);
    la_gemm(false, false, p, q, r, 1, s->T, r, s->Vt, q, 0, s->F + p, N);
    la_gemm(true, false, q, r, r, 1, s->Vt, q, s->K, r, 0, s->T, r); /* V K */
    la_gemm(false, false, q, q, r, 1, s->T, r, s->Vt, q, 0, s->F + p * N + p, N);
    mirror(s, s->F);
}

/* Row of C: ((u'U)_i (v'V)_j + (u'U)_j (v'V)_i)/2, i <= j, times sqrt 2 off the diagonal. */
static void borders(newton *s)
{
    int64_t r = s->rank, p = s->part->p, q = s->part->q, terms = s->part->terms;
    double *VV = s->sums, *uU = s->k; /* terms x r; r */
    la_gemm(false, true, terms, r, q, 1, s->part->v, q, s->Vt, q, 0, VV, r);
    for (int64_t m = 0; m < s->tight.rows; m++) {
        const double *v = VV + s->tight.term[m] * r;
        la_gemv(true, p, r, 1, s->U, s->small, s->tight.u + m * p, 0, uU);
        double *c = s->C + m * s->pairs;
        for (int64_t i = 0; i < r; i++) {
            *c++ = uU[i] * v[i];
            for (int64_t j = i + 1; j < r; j++)
                *c++ = sqrt(0.5) * (uU[i] * v[j] + uU[j] * v[i]);
        }
    }
}

/*
 * Cholesky factor of A (n x n, lower), in place; d (n) is scratch.  If a pivot drops to rounding
 * level, a pivoted factorisation selects *rank independent rows.
 */
static attsvm_status independent(double *A, int64_t n, double pivot, double *d, int64_t *order,
                                 int64_t *rank, attsvm_error *err)
{
    double largest = 0, least = INFINITY;
    *rank = 0;
    interior_save_lower(n, A, d);
    if (la_active()->first_nonfinite(ATTSVM_F64, d, n) >= 0) /* a step that overflowed */
        return ATTSVM_OK;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, d[i]);
        order[i] = i;
    }
    *rank = n;
    int64_t info = la_cholesky(n, A, n);
    for (int64_t i = 0; i < n && info == 0; i++)
        least = fmin(least, A[i * n + i] * A[i * n + i]);
    if (info == 0 && least > pivot * largest)
        return ATTSVM_OK;
    interior_restore_lower(n, A, d, 0);
    return la_cholesky_pivoted(n, A, n, pivot * largest, order, rank, err);
}

/* W = U K V' */
static void form(newton *s)
{
    int64_t p = s->part->p, q = s->part->q, r = s->rank;
    la_gemm(false, false, p, r, r, 1, s->U, s->small, s->K, r, 0, s->T, r);
    la_gemm(false, false, p, q, r, 1, s->T, r, s->Vt, q, 0, s->W, q);
}

/* margin = <A, W> of the rows of the part, or of the gathered ones. */
static void apply(newton *s, const svm_small *part)
{
    if (s->last < NEWTON_EXACT)
        svm_small_apply_exact(part, s->W, s->margin, s->sums);
    else
        svm_small_apply(part, s->W, part->q, s->margin, s->sums);
}

/* H + tau C C', positive definite; returns tau. */
static double form_system(newton *s)
{
    int64_t m = s->tight.rows, pairs = s->pairs;
    double trace_h = 0, trace_c = 0;
    interior_schur_form(&s->schur, &s->tight, s->F, s->G, s->H, m);
    for (int64_t i = 0; i < m; i++) {
        trace_h += s->H[i * m + i];
        trace_c += la_dot(s->C + i * pairs, s->C + i * pairs, pairs);
    }
    double tau = trace_c > 0 && trace_h > 0 ? trace_h / trace_c : 1;
    la_syrk(false, m, pairs, tau, s->C, pairs, 1, s->H, m);
    return tau;
}

/* The Schur complement: k in place of c, from (B'B) k = B'y - c, 0 where pairs are dependent. */
static attsvm_status solve_pairs(newton *s, int64_t rows, double *c, attsvm_error *err)
{
    int64_t pairs = s->pairs, kept;
    la_syrk(true, pairs, rows, 1, s->B, pairs, 0, s->M, pairs);
    la_gemv(true, rows, pairs, 1, s->B, pairs, s->y, -1, c);
    TRY(independent(s->M, pairs, NEWTON_PIVOT, s->k2, s->pair_order, &kept, err));
    for (int64_t i = 0; i < kept; i++)
        s->k2[i] = c[s->pair_order[i]];
    la_cholesky_solve(kept, s->M, pairs, s->k2);
    memset(c, 0, (size_t)pairs * sizeof *c);
    for (int64_t i = 0; i < kept; i++)
        c[s->pair_order[i]] = s->k2[i];
    return ATTSVM_OK;
}

/*
 * Solves [H C; C' 0] [step; k] = [b - <A, W>; c], c = svec(I - diag sigma), and adds k to K.  With
 * H + tau C C' = L L', B = L^-1 C and y = L^-1 (b - <A, W> + tau C c),
 *
 *   (B'B) k = B'y - c,   step = L'^-1 (y - B k).
 *
 * Rows that depend on others keep their multipliers; *solved false: there is no factor.
 */
static attsvm_status solve(newton *s, bool *solved, attsvm_error *err)
{
    int64_t m = s->tight.rows, pairs = s->pairs, r = s->rank, kept;
    double tau = form_system(s), *c = s->k;
    TRY(independent(s->H, m, s->pivot, s->step, s->order, &kept, err));
    *solved = kept >= pairs;
    if (!*solved)
        return ATTSVM_OK;
    form(s);
    apply(s, &s->tight);
    memset(c, 0, (size_t)pairs * sizeof *c);
    for (int64_t i = 0, at = 0; i < r; at += r - i, i++)
        c[at] = 1 - s->sigma[i];
    for (int64_t i = 0; i < kept; i++) {
        const double *row = s->C + s->order[i] * pairs;
        memcpy(s->B + i * pairs, row, (size_t)pairs * sizeof *row);
        s->y[i] = s->tight.b[s->order[i]] - s->margin[s->order[i]] + tau * la_dot(row, c, pairs);
    }
    la_trsv(false, kept, s->H, m, s->y);
    la_trsm(false, kept, pairs, s->H, m, s->B, pairs);
    TRY(solve_pairs(s, kept, c, err));
    la_gemv(false, kept, pairs, -1, s->B, pairs, c, 1, s->y);
    la_trsv(true, kept, s->H, m, s->y);
    memset(s->step, 0, (size_t)m * sizeof *s->step);
    for (int64_t i = 0; i < kept; i++)
        s->step[s->order[i]] = s->y[i];
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = i; j < r; j++, c++) {
            s->K[i * r + j] += i == j ? *c : sqrt(0.5) * *c;
            s->K[j * r + i] = s->K[i * r + j];
        }
    return ATTSVM_OK;
}

/* K = sym(U' W V) for the W that is in s->W. */
static void project(newton *s)
{
    int64_t p = s->part->p, q = s->part->q, r = s->rank;
    la_gemm(false, true, p, r, q, 1, s->W, q, s->Vt, q, 0, s->T, r);
    la_gemm(true, false, r, r, p, 1, s->U, s->small, s->T, r, 0, s->K, r);
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < i; j++)
            s->K[i * r + j] = s->K[j * r + i] = 0.5 * (s->K[i * r + j] + s->K[j * r + i]);
}

/* New U and V from lambda.  Vectors of equal singular values are not unique: K rotates with them.
 */
static attsvm_status renew(newton *s, attsvm_error *err)
{
    form(s);
    TRY(decompose(s, err));
    project(s);
    return ATTSVM_OK;
}

/*
 * The relative gap that lambda and W = U K V' prove over all rows of the part, W scaled by its
 * smallest margin; INFINITY if they prove nothing.  Violated equalities would lower the norm of W,
 * so their price is added.
 */
static attsvm_status prove(newton *s, double *gap, attsvm_error *err)
{
    const svm_small *part = s->part;
    int64_t r = s->rank;
    *gap = INFINITY;
    TRY(renew(s, err));
    form(s);
    apply(s, part);
    memcpy(s->T, s->K, (size_t)(r * r) * sizeof *s->K);
    if (la_eigenvalues_in(r, s->T, r, NULL, r, s->k2) != 0 || s->k2[0] <= 0)
        return ATTSVM_OK; /* K is not positive definite: the rank is less than r */
    double primal = 0, dual = 0;
    for (int64_t k = 0; k < r; k++)
        primal += s->k2[k];
    double scale = svm_small_scale(part, s->margin, primal);
    for (int64_t i = 0; i < part->rows; i++)
        dual += part->b[i] * s->lambda[i];
    if (scale > 0) {
        primal *= scale;
        dual -= svm_small_missed(part, s->lambda, s->margin, scale);
        *gap = (primal - dual / s->sigma[0]) / primal;
    }
    return ATTSVM_OK;
}

/* Active rows: those whose multiplier is the larger of the pair (lambda, w), in natural units. */
static void choose_rows(newton *s, const double *lambda, const double *w, double primal)
{
    const svm_small *part = s->part;
    for (int64_t i = 0; i < part->rows; i++) {
        s->in[i] = part->equal[i] || 0.5 * (double)part->rows * lambda[i] > w[i] * primal;
        s->lambda[i] = s->in[i] ? lambda[i] : 0;
    }
}

/* Removes rows with a negative multiplier; false if there are none and the step is taken. */
static bool drop_rows(newton *s)
{
    bool dropped = false;
    for (int64_t i = 0; i < s->tight.rows; i++) {
        int64_t row = s->rows[i];
        if (!s->part->equal[row] && s->lambda[row] + s->step[i] < 0) {
            s->in[row] = 0;
            dropped = true;
        }
    }
    for (int64_t i = 0; i < s->tight.rows; i++) {
        int64_t row = s->rows[i];
        if (!s->in[row])
            s->lambda[row] = 0;
        else if (!dropped)
            s->lambda[row] += s->step[i];
    }
    return dropped;
}

/* Adds rows that W violates. */
static bool add_rows(newton *s)
{
    bool added = false;
    for (int64_t i = 0; i < s->part->rows; i++)
        if (!s->in[i] && s->margin[i] < s->part->b[i] - 1e-10 * fmax(1, fabs(s->part->b[i]))) {
            s->in[i] = 1;
            added = true;
        }
    return added;
}

static attsvm_status iterate(newton *s, svm_nuclear_point *point, attsvm_error *err)
{
    const svm_small *part = s->part;
    int64_t repairs = 0, idle = 0;
    for (int64_t step = 0; step < NEWTON_STEPS && repairs < NEWTON_REPAIRS && idle < 3; step++) {
        bool solved;
        gather(s);
        if (s->tight.rows < s->pairs || s->tight.rows == 0 || svm_small_stopped(part))
            return ATTSVM_OK;
        metric(s);
        borders(s);
        TRY(solve(s, &solved, err));
        /* a system that is singular to rounding may give anything */
        if (!solved || la_active()->first_nonfinite(ATTSVM_F64, s->lambda, part->rows) >= 0 ||
            la_active()->first_nonfinite(ATTSVM_F64, s->K, s->rank * s->rank) >= 0)
            return ATTSVM_OK;
        if (drop_rows(s)) {
            repairs++;
            step--;
            TRY(renew(s, err));
            continue;
        }
        double gap, before = point->gap;
        TRY(prove(s, &gap, err));
        idle = gap < 0.5 * s->last ? 0 : idle + 1;
        s->last = gap;
        if (gap < point->gap) {
            point->gap = gap;
            point->by_newton = true;
            memcpy(point->lambda, s->lambda, (size_t)part->rows * sizeof(double));
            memcpy(point->W, s->W, (size_t)(part->p * part->q) * sizeof(double));
        }
        if (gap <= NEWTON_DONE || (point->gap < NEWTON_NEAR && gap > 0.1 * before))
            break;
        repairs += add_rows(s);
    }
    return ATTSVM_OK;
}

/* r = number of k with sigma_k(W)/|W|_* > 1 - sigma_k(S): decides which of the pair vanishes. */
static attsvm_status choose_rank(const svm_small *part, const double *lambda, const double *W,
                                 int64_t *rank, attsvm_error *err)
{
    int64_t p = part->p, q = part->q, n = p < q ? p : q;
    arena a = { 0 };
    double *S, *s_W, *s_S, *sums, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        S = take(&a, (size_t)(p * q));
        s_W = take(&a, (size_t)n);
        s_S = take(&a, (size_t)n);
        sums = take(&a, (size_t)(part->terms * p));
        if (pass == 0)
            TRY(base_arena_allocate(&a, "rank", err));
    }
    memcpy(S, W, (size_t)(p * q) * sizeof *S);
    attsvm_status status = la_singular_values(p, q, S, q, s_W, err);
    svm_small_sum(part, lambda, S, sums);
    if (status == ATTSVM_OK)
        status = la_singular_values(p, q, S, q, s_S, err);
    n = status == ATTSVM_OK ? n : 0;
    for (int64_t k = 0; k < n; k++)
        sum += s_W[k];
    *rank = 0;
    while (*rank < n && s_W[*rank] > (1 - s_S[*rank]) * sum)
        ++*rank;
    free(a.base);
    return status;
}

attsvm_status svm_nuclear_newton(const svm_small *part, const double *lambda, const double *w,
                                 const double *W, double primal, svm_nuclear_point *point,
                                 attsvm_error *err)
{
    newton s = { .part = part, .small = part->p < part->q ? part->p : part->q };
    TRY(choose_rank(part, lambda, W, &s.rank, err));
    s.pairs = s.rank * (s.rank + 1) / 2;
    if (s.rank == 0)
        return ATTSVM_OK;
    arena a = { 0 };
    layout(&s, &a);
    TRY(base_arena_allocate(&a, "rank-r system", err));
    layout(&s, &a);
    s.tight.terms = part->terms;
    s.tight.p = part->p;
    s.tight.q = part->q;
    s.tight.v = part->v;
    /* Rows that are dependent at the optimum appear independent through the error of the start: if
       Newton fails, try larger pivots. */
    attsvm_status status = ATTSVM_OK;
    double dual = 0;
    for (int64_t r = 0; r < part->rows; r++)
        dual += part->b[r] * lambda[r];
    double most = fabs(primal - dual) <= NEWTON_CLOSE * primal ? NEWTON_BLUR : NEWTON_PIVOT;
    for (s.pivot = NEWTON_PIVOT; s.pivot <= 2 * most && status == ATTSVM_OK; s.pivot *= 1e3) {
        s.last = INFINITY;
        choose_rows(&s, lambda, w, primal);
        status = decompose(&s, err);
        memcpy(s.W, W, (size_t)(part->p * part->q) * sizeof *W);
        project(&s);
        if (status == ATTSVM_OK)
            status = iterate(&s, point, err);
        if (point->gap <= NEWTON_NEAR || svm_small_stopped(part))
            break;
    }
    free(a.base);
    return status;
}
