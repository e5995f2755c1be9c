/* One softmax problem, tokens along eight lanes.  Notation as in small.h. */

/* The tokens from t on for one part of the lanes, padded with `rest`. */
INLINE doubles load_tokens(const double *x, int64_t t, int64_t T, int part, double rest)
{
    const int64_t at = t + part * LANES, left = T - at;
    if (left >= LANES)
        return load(x + at);
    doubles v = all(rest);
    if (left > 0)
        memcpy(&v, x + at, (size_t)left * sizeof *x);
    return v;
}

INLINE void store_tokens(double *x, int64_t t, int64_t T, int part, doubles v)
{
    const int64_t at = t + part * LANES, left = T - at;
    if (left >= LANES)
        store(x + at, v);
    else if (left > 0)
        memcpy(x + at, &v, (size_t)left * sizeof *x);
}

/* The selected token (first with the largest logit), its logit and the next largest. */
typedef struct top_token {
    double number, best, second;
} top_token;

/* The largest lane; no lane is NaN. */
INLINE double most_of_eight(const double *x)
{
    double y[4];
    for (int k = 0; k < 4; k++)
        y[k] = x[k] > x[k + 4] ? x[k] : x[k + 4];
    const double p = y[0] > y[2] ? y[0] : y[2], q = y[1] > y[3] ? y[1] : y[3];
    return p > q ? p : q;
}

/* First per lane, then across lanes; NaN is never the largest. second = -INFINITY: one token. */
INLINE top_token find_top(int64_t T, const double *a)
{
    eight best = eight_of(-INFINITY), second = best, number;
    for (int part = 0; part < PARTS; part++)
        number.part[part] = lane_doubles(part);
    for (int64_t t = 0; t < T; t += LA_LANES)
        for (int part = 0; part < PARTS; part++) {
            const doubles x = load_tokens(a, t, T, part, -INFINITY);
            number.part[part] =
                choose(x > best.part[part], all((double)t) + lane_doubles(part), number.part[part]);
            second.part[part] = most(least(x, best.part[part]), second.part[part]);
            best.part[part] = most(x, best.part[part]);
        }
    double lane[LA_LANES];
    for (int part = 0; part < PARTS; part++)
        store(lane + part * LANES, best.part[part]);
    const double highest = most_of_eight(lane);
    for (int part = 0; part < PARTS; part++) /* the largest -number is the first token */
        store(lane + part * LANES,
              choose(best.part[part] == highest, -number.part[part], all(-INFINITY)));
    const double first = -most_of_eight(lane);
    for (int part = 0; part < PARTS; part++)
        store(lane + part * LANES,
              choose(number.part[part] == first, second.part[part], best.part[part]));
    return (top_token){ first, highest, most_of_eight(lane) };
}

INLINE bool any_lane(eight v)
{
    longs some = { 0 };
    for (int part = 0; part < PARTS; part++)
        some |= (longs)v.part[part];
    int64_t bits = 0;
    for (int k = 0; k < LANES; k++)
        bits |= some[k];
    return bits != 0;
}

static bool weigh(int64_t T, const double *a, const double *score, double Y, double *w,
                  la_weighed *out)
{
    const top_token top = find_top(T, a);
    if (!(top.second > -INFINITY))
        return false;
    const int64_t at_top = (int64_t)top.number;
    const double M = top.best - top.second, top_score = score[at_top];
    const double other =
        2 * fabs(top_score) + 1; /* for lanes without a token: differs from top's score */
    eight sum = eight_of(0), pull = sum, equal = sum;
    for (int64_t t = 0; t < T; t += LA_LANES)
        for (int part = 0; part < PARTS; part++) {
            const doubles number = all((double)t) + lane_doubles(part);
            const longs others = number != top.number;
            const doubles x = load_tokens(a, t, T, part, -INFINITY) - top.second;
            const doubles e = load_tokens(score, t, T, part, other) - top_score;
            const doubles q =
                (doubles)((longs)exp_quick(x) & others & ~(x < -700.0)); /* NaN stays */
            equal.part[part] = (doubles)((longs)equal.part[part] | ((e == 0.0) & others));
            sum.part[part] += q;
            pull.part[part] += q * e;
            store_tokens(w, t, T, part, q);
        }
    if (any_lane(equal))
        return false;
    const double unit = exp_or_nothing(all(-M))[0];
    out->M = M;
    out->Z = 1 + unit * sum_eight(sum);
    const double shared = Y * sum_eight(pull) / out->Z, shift = unit * shared;
    for (int64_t t = 0; t < T; t += LA_LANES)
        for (int part = 0; part < PARTS; part++) {
            const doubles e = load_tokens(score, t, T, part, 0) - top_score;
            const doubles q = load_tokens(w, t, T, part, 0);
            store_tokens(w, t, T, part, q * (Y * e - shift));
        }
    w[at_top] = -shared;
    out->output = Y * top_score + shift;
    return true;
}
