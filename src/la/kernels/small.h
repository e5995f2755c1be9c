/*
 * Many small softmax problems at once: one problem per lane, so that maximum, exponential and sums
 * over the tokens of a problem are plain vector operations (la.h, la_small).
 */

/*
 * Eight stored rows, one per lane.  The rows that follow them, which are placed next, are
 * prefetched meanwhile.
 */
INLINE void place_of(attsvm_dtype dtype, const void *const row[LA_LANES], int64_t d, int64_t stride,
                     double *y)
{
    const int64_t size = size_of(dtype), ahead = LA_LANES * d * size;
    const char *x[LA_LANES];
    for (int k = 0; k < LA_LANES; k++)
        x[k] = row[k];
    for (int64_t j = 0; j < d; j++) {
        if (j * size % CACHE_LINE == 0)
            for (int k = 0; k < LA_LANES; k++)
                __builtin_prefetch(x[k] + ahead + j * size, 0, 2);
        for (int part = 0; part < PARTS; part++) {
            doubles v = { 0 };
            for (int k = 0; k < LANES; k++)
                v[k] = load_one(dtype, x[part * LANES + k] + j * size);
            store(y + j * stride + part * LANES, v);
        }
    }
}

static void small_place(attsvm_dtype dtype, const void *const row[LA_LANES], int64_t d,
                        int64_t stride, double *y)
{
    if (dtype == ATTSVM_F64)
        place_of(ATTSVM_F64, row, d, stride, y);
    else if (dtype == ATTSVM_F32)
        place_of(ATTSVM_F32, row, d, stride, y);
    else
        place_of(ATTSVM_F16, row, d, stride, y);
}

/* `rows` rows and `vectors` vectors of small_product. */
INLINE void product_tile(int rows, int vectors, int64_t inner, const double *A, int64_t stride,
                         const double *x, double *y, int64_t count)
{
    doubles s[4][2];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            s[r][v] = (doubles){ 0 };
    for (int64_t k = 0; k < inner; k++)
        for (int v = 0; v < vectors; v++) {
            const doubles part = load(x + k * count + v * LANES);
            for (int r = 0; r < rows; r++)
                s[r][v] += A[r * stride + k] * part;
        }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            store(y + r * count + v * LANES, s[r][v]);
}

INLINE void product_columns(int vectors, int64_t rows, int64_t inner, const double *A,
                            int64_t stride, const double *x, double *y, int64_t count)
{
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
        product_tile(4, vectors, inner, A + r * stride, stride, x, y + r * count, count);
    if (r + 2 <= rows) {
        product_tile(2, vectors, inner, A + r * stride, stride, x, y + r * count, count);
        r += 2;
    }
    if (r < rows)
        product_tile(1, vectors, inner, A + r * stride, stride, x, y + r * count, count);
}

/* y[r][0..count) = sum_k A[r][k] x[k][0..count), A rows x inner with row stride `stride`. */
INLINE void small_product(int64_t rows, int64_t inner, const double *A, int64_t stride,
                          const double *x, double *y, int64_t count)
{
    int64_t g = 0;
    for (; g + 2 * LANES <= count; g += 2 * LANES)
        product_columns(2, rows, inner, A, stride, x + g, y + g, count);
    if (g < count)
        product_columns(1, rows, inner, A, stride, x + g, y + g, count);
}

/* Logits of `tokens` tokens from x on, `vectors` vectors, into w. */
INLINE void logits_tile(int tokens, int vectors, const la_small *l, const double *B,
                        const double *x, double *w)
{
    const int64_t count = l->count, token = l->d * count;
    doubles a[4][2];
    for (int t = 0; t < tokens; t++)
        for (int v = 0; v < vectors; v++)
            a[t][v] = (doubles){ 0 };
    for (int64_t j = 0; j < l->d; j++)
        for (int v = 0; v < vectors; v++) {
            const doubles b = load(B + j * count + v * LANES);
            for (int t = 0; t < tokens; t++)
                a[t][v] += b * load(x + t * token + j * count + v * LANES);
        }
    for (int t = 0; t < tokens; t++)
        for (int v = 0; v < vectors; v++)
            store(w + t * count + v * LANES, a[t][v]);
}

/* Logits a_t = sum_j X[t][j] B[j] of the lanes from g on, into w. */
INLINE void small_logits(int vectors, const la_small *l, int64_t g)
{
    const int64_t count = l->count, token = l->d * count;
    const double *B = l->B + g, *X = l->X + g;
    double *w = l->w + g;
    int64_t t = 0;
    for (; t + 4 <= l->T; t += 4)
        logits_tile(4, vectors, l, B, X + t * token, w + t * count);
    for (; t < l->T; t++)
        logits_tile(1, vectors, l, B, X + t * token, w + t * count);
}

/* State of the lanes of one vector: selected token, smallest distance to it, e^-M, sum of exp(-m).
 */
typedef struct small_state {
    doubles top, M, unit, Z;
} small_state;

/*
 * From logits to q, in the notation of theory 2.1: top the first largest logit, m = a_top - a, M
 * the smallest m of the other tokens, q = exp(M - m) with q_top = 0, Z = 1 + e^-M sum q.  Logits
 * that are not finite make M NaN.
 */
INLINE void small_exponents(int vectors, const la_small *l, int64_t g, small_state s[2])
{
    const doubles zero = { 0 };
    doubles best[2], second[2], lost[2], sum[2];
    for (int v = 0; v < vectors; v++) {
        best[v] = second[v] = zero - INFINITY;
        s[v].top = lost[v] = sum[v] = zero;
    }
    for (int64_t t = 0; t < l->T; t++)
        for (int v = 0; v < vectors; v++) {
            const doubles a = load(l->w + t * l->count + g + v * LANES);
            s[v].top = choose(a > best[v], zero + (double)t, s[v].top);
            second[v] = most(second[v], least(a, best[v]));
            best[v] = most(best[v], a);
            lost[v] += 0.0 * a;
        }
    for (int v = 0; v < vectors; v++) {
        s[v].M = best[v] - second[v] + lost[v];
        s[v].unit = exp_or_nothing(-s[v].M);
    }
    for (int v = 0; v < vectors; v++)
        for (int64_t t = 0; t < l->T; t++) {
            double *w = l->w + t * l->count + g + v * LANES;
            doubles q = exp_or_nothing(load(w) - second[v]);
            q = (doubles)((longs)q & (s[v].top != (double)t));
            sum[v] += q;
            store(w, q);
        }
    for (int v = 0; v < vectors; v++)
        s[v].Z = 1.0 + s[v].unit * sum[v];
}

/*
 * ReLU head: r_j = sum_t s_t P_tj of unit j, P = X V'; scores c_t = Y sum_{r_j > 0} v_j P_tj.
 * Returns Y f = sum_{r_j > 0} Y v_j r_j.
 */
INLINE doubles small_units(const la_small *l, int64_t g, const small_state *s)
{
    const int64_t count = l->count, token = l->units * count;
    const double *w = l->w + g;
    doubles Y = load(l->Y + g), output = { 0 }, most = 1.0 / s->Z, other = s->unit * most;
    for (int64_t j = 0; j < l->units; j++) {
        const double *P = l->P + j * count + g;
        doubles at_top = { 0 }, rest = { 0 };
        for (int64_t t = 0; t < l->T; t++) {
            const doubles p = load(P + t * token);
            at_top = choose(s->top == (double)t, p, at_top);
            rest += load(w + t * count) * p;
        }
        const doubles r = most * at_top + other * rest;
        const longs open = (r > 0.0) | ((at_top == 0.0) & (rest > 0.0)); /* at any distance */
        doubles v = choose(open, Y * load(l->v + j * count + g), (doubles){ 0 });
        output += v * r;
        store(l->gate + j * count + g, v);
    }
    for (int64_t t = 0; t < l->T; t++) {
        doubles c = { 0 };
        for (int64_t j = 0; j < l->units; j++)
            c += load(l->gate + j * count + g) * load(l->P + t * token + j * count + g);
        store(l->score + t * count + g, c);
    }
    return output;
}

/*
 * Weights: e = c - c_top, pull = sum q e / Z, w = q (e - e^-M pull), w_top = -pull.  Returns Y f.
 */
INLINE doubles small_weights(const la_small *l, int64_t g, const small_state *s)
{
    const int64_t count = l->count;
    double *w = l->w + g;
    const double *c = l->score + g;
    doubles top_score = { 0 }, pull = { 0 };
    for (int64_t t = 0; t < l->T; t++)
        top_score = choose(s->top == (double)t, load(c + t * count), top_score);
    for (int64_t t = 0; t < l->T; t++)
        pull += load(w + t * count) * (load(c + t * count) - top_score);
    pull /= s->Z;
    const doubles shift = s->unit * pull;
    for (int64_t t = 0; t < l->T; t++) {
        doubles value = load(w + t * count) * ((load(c + t * count) - top_score) - shift);
        store(w + t * count, choose(s->top == (double)t, -pull, value));
    }
    return top_score + shift;
}

/*
 * A problem whose scores are all equal has zero gradient: M = INFINITY.  If only some are equal,
 * set `needs_general` (the weight of a token with the score of the selected one is of second order,
 * which this code does not compute).
 */
INLINE void small_equal_scores(const la_small *l, int64_t g, small_state *s)
{
    const double *c = l->score + g;
    doubles top_score = { 0 };
    longs some = { 0 }, none = { 0 };
    for (int64_t t = 0; t < l->T; t++)
        top_score = choose(s->top == (double)t, load(c + t * l->count), top_score);
    for (int64_t t = 0; t < l->T; t++) {
        doubles e = load(c + t * l->count) - top_score;
        some |= e != 0.0;
        none |= (e == 0.0) & (s->top != (double)t);
    }
    s->M = choose(some, s->M, (doubles){ 0 } + INFINITY);
    longs odd = (longs)load(l->needs_general + g) |
                (longs)choose(some & none, (doubles){ 0 } + 1.0, (doubles){ 0 });
    store(l->needs_general + g, (doubles)odd);
}

INLINE void small_weigh(int vectors, const la_small *l, int64_t g)
{
    small_state s[2];
    small_exponents(vectors, l, g, s);
    for (int v = 0; v < vectors; v++) {
        const int64_t at = g + v * LANES;
        doubles output = { 0 };
        if (l->units > 0) {
            output = small_units(l, at, &s[v]);
            small_equal_scores(l, at, &s[v]);
            small_weights(l, at, &s[v]);
        } else {
            output = small_weights(l, at, &s[v]);
        }
        store(l->M + at, s[v].M);
        store(l->Z_sum + at, s[v].Z);
        store(l->output + at, output);
    }
}

/* B = map Z', where lane k of eight has its own map: map d x d x 8. */
INLINE void small_own_product(const la_small *l, const double *map)
{
    const int64_t d = l->d, count = l->count, row = d * LA_LANES;
    for (int64_t g = 0; g < count; g += LANES) {
        const double *z = l->Zt + g, *own = map + g % LA_LANES;
        int64_t r = 0;
        for (; r + 4 <= d; r += 4) {
            const double *a = own + r * row;
            doubles s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
            for (int64_t k = 0; k < d; k++) {
                doubles v = load(z + k * count);
                s0 += v * load(a + k * LA_LANES);
                s1 += v * load(a + k * LA_LANES + row);
                s2 += v * load(a + k * LA_LANES + 2 * row);
                s3 += v * load(a + k * LA_LANES + 3 * row);
            }
            store(l->B + r * count + g, s0);
            store(l->B + (r + 1) * count + g, s1);
            store(l->B + (r + 2) * count + g, s2);
            store(l->B + (r + 3) * count + g, s3);
        }
        for (; r < d; r++) {
            doubles s = { 0 };
            for (int64_t k = 0; k < d; k++)
                s += load(z + k * count) * load(own + r * row + k * LA_LANES);
            store(l->B + r * count + g, s);
        }
    }
}

static void small_forward(const la_small *l, const double *map)
{
    if (l->own_maps)
        small_own_product(l, map);
    else if (l->queries)
        small_product(l->d, l->d, map, l->d, l->Zt, l->B, l->count);
    for (int64_t j = 0; !l->queries && j < l->d; j++)
        for (int64_t g = 0; g < l->count; g += LANES)
            store(l->B + j * l->count + g, (doubles){ 0 } + map[j]);
    int64_t g = 0;
    for (; g + 2 * LANES <= l->count; g += 2 * LANES) {
        small_logits(2, l, g);
        small_weigh(2, l, g);
    }
    if (g < l->count) {
        small_logits(1, l, g);
        small_weigh(1, l, g);
    }
}

/* U[j] = sum_t w[t] X[t][j] for `rows` values of j. */
INLINE void pool_tile(int rows, const la_small *l, const double *w, const double *x, double *U)
{
    const int64_t count = l->count, token = l->d * count;
    doubles u[4];
    for (int r = 0; r < rows; r++)
        u[r] = (doubles){ 0 };
    for (int64_t t = 0; t < l->T; t++) {
        const doubles v = load(w + t * count);
        for (int r = 0; r < rows; r++)
            u[r] += v * load(x + t * token + r * count);
    }
    for (int r = 0; r < rows; r++)
        store(U + r * count, u[r]);
}

/* U[j] = sum_t w[t] factor X[t][j] of the lanes from g on. */
INLINE void small_pool(const la_small *l, const double *rate, int64_t g)
{
    const int64_t count = l->count;
    const double *X = l->X + g;
    double *w = l->w + g, *U = l->U + g;
    doubles f = load(rate + g);
    for (int64_t t = 0; t < l->T; t++)
        store(w + t * count, load(w + t * count) * f);
    int64_t j = 0;
    for (; j + 4 <= l->d; j += 4)
        pool_tile(4, l, w, X + j * count, U + j * count);
    if (j + 2 <= l->d) {
        pool_tile(2, l, w, X + j * count, U + j * count);
        j += 2;
    }
    if (j < l->d)
        pool_tile(1, l, w, X + j * count, U + j * count);
}

/*
 * For the lanes from `lane` on: gradient (d x d x 8) = sum over problems of U z', per lane; returns
 * the sum of its squares.
 */
INLINE doubles small_own_gradient(const la_small *l, int lane, double *gradient)
{
    const int64_t d = l->d, count = l->count;
    doubles total = { 0 };
    for (int64_t j = 0; j < d; j++) {
        const double *u = l->U + j * count;
        double *to = gradient + j * d * LA_LANES + lane;
        int64_t k = 0;
        for (; k + 4 <= d; k += 4) {
            const double *z = l->Zt + k * count;
            doubles s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
            for (int64_t g = lane; g < count; g += LA_LANES) {
                doubles v = load(u + g);
                s0 += v * load(z + g);
                s1 += v * load(z + count + g);
                s2 += v * load(z + 2 * count + g);
                s3 += v * load(z + 3 * count + g);
            }
            total += (s0 * s0 + s1 * s1) + (s2 * s2 + s3 * s3);
            store(to + k * LA_LANES, s0);
            store(to + (k + 1) * LA_LANES, s1);
            store(to + (k + 2) * LA_LANES, s2);
            store(to + (k + 3) * LA_LANES, s3);
        }
        for (; k < d; k++) {
            doubles s = { 0 };
            for (int64_t g = lane; g < count; g += LA_LANES)
                s += load(u + g) * load(l->Zt + k * count + g);
            total += s * s;
            store(to + k * LA_LANES, s);
        }
    }
    return total;
}

/* y += a x, lane by lane: x and y count x 8, a (8). */
static void small_axpy(int64_t count, const double *a, const double *x, double *y)
{
    eight factor;
    for (int part = 0; part < PARTS; part++)
        factor.part[part] = load(a + part * LANES);
    for (int64_t j = 0; j < count; j++)
        for (int part = 0; part < PARTS; part++) {
            const int64_t at = j * LA_LANES + part * LANES;
            store(y + at, load(y + at) + factor.part[part] * load(x + at));
        }
}

/* Copies the gradient from G in whole vectors where there is room: each row overwrites what the one
   before wrote past its end. */
INLINE void copy_gradient(const la_small *l, double *gradient)
{
    for (int64_t j = 0; j < l->d; j++) {
        double *row = gradient + j * l->d;
        const double *G = l->G + j * l->stride;
        if (j * l->d + l->stride > l->d * l->d)
            memcpy(row, G, (size_t)l->d * sizeof *row);
        else
            for (int64_t k = 0; k < l->d; k += LANES)
                store(row + k, load(G + k));
    }
}

static void small_backward(const la_small *l, const double *rate, double *gradient)
{
    for (int64_t g = 0; g < l->count; g += LANES)
        small_pool(l, rate, g);
    if (l->own_maps) {
        for (int lane = 0; lane < LA_LANES; lane += LANES)
            store(l->square + lane, small_own_gradient(l, lane, gradient));
        return;
    }
    if (l->queries) {
        /* gradient = U Z, lanes along the rows of Z, which are padded to l->stride */
        small_product(l->d, l->problems, l->U, l->count, l->Z, l->G, l->stride);
        copy_gradient(l, gradient);
        return;
    }
    for (int64_t j = 0; j < l->d; j++) {
        eight sum = eight_of(0);
        for (int64_t g = 0; g < l->count; g += LA_LANES)
            for (int part = 0; part < PARTS; part++)
                sum.part[part] += load(l->U + j * l->count + g + part * LANES);
        gradient[j] = sum_eight(sum);
    }
}
