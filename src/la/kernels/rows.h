/*
 * Products of stored rows with doubles.  Four rows are read concurrently, which a single core needs
 * to reach the memory bandwidth; each is read once and widened in registers.
 *
 * The result for a row does not depend on its neighbours: the additions and their order are the
 * same in a group of four and alone.
 */

/* Loads the last d mod 8 values of a row together with earlier ones, which are masked out: d >= 8.
 */
INLINE longs tail_mask(int part, int64_t d)
{
    return lane_numbers(part) >= LA_LANES - d % LA_LANES;
}

INLINE doubles mask_out(doubles v, longs mask)
{
    return (doubles)((longs)v & mask);
}

/* x_r' p for up to four rows, d >= 8: one chain of additions for each row and part. */
INLINE void dot_rows(int rows, attsvm_dtype dtype, const char *const *row, const double *p,
                     int64_t d, eight *sum)
{
    const int64_t size = size_of(dtype);
    int64_t j = 0;
    for (int r = 0; r < rows; r++)
        sum[r] = eight_of(0);
    for (; j + LA_LANES <= d; j += LA_LANES)
        for (int part = 0; part < PARTS; part++) {
            const int64_t at = j + part * LANES;
            const doubles q = load(p + at);
            for (int r = 0; r < rows; r++)
                sum[r].part[part] += load_stored(dtype, row[r] + at * size) * q;
        }
    if (j == d)
        return;
    for (int part = 0; part < PARTS; part++) {
        const int64_t at = d - LA_LANES + part * LANES;
        const longs mask = tail_mask(part, d);
        const doubles q = mask_out(load(p + at), mask);
        for (int r = 0; r < rows; r++)
            sum[r].part[part] += mask_out(load_stored(dtype, row[r] + at * size), mask) * q;
    }
}

/* Four rows; two at a time if the partial sums of four do not fit into the registers. */
INLINE void dot_four(attsvm_dtype dtype, const char *const row[4], const double *p, int64_t d,
                     double y[4])
{
    eight sum[4];
    if (PARTS == 4) {
        dot_rows(2, dtype, row, p, d, sum);
        dot_rows(2, dtype, row + 2, p, d, sum + 2);
    } else {
        dot_rows(4, dtype, row, p, d, sum);
    }
    sum_four_eights(sum, y);
}

INLINE double dot_one(attsvm_dtype dtype, const char *x, const double *p, int64_t d)
{
    eight sum[4];
    dot_rows(1, dtype, &x, p, d, sum);
    return sum_eight(sum[0]);
}

/* Rows shorter than eight, from the first entry to the last. */
INLINE double dot_short(attsvm_dtype dtype, const char *x, const double *p, int64_t d)
{
    const int64_t size = size_of(dtype);
    double sum = 0;
    for (int64_t j = 0; j < d; j++)
        sum += load_one(dtype, x + j * size) * p[j];
    return sum;
}

INLINE const char *row_at(const la_rows *rows, int64_t t, int64_t bytes)
{
    return (const char *)rows->base + (rows->index ? rows->index[t] : t) * bytes;
}

/*
 * Distance, in rows, between the four rows of a group, given that `left` rows remain.  Contiguous
 * rows are read from four positions STREAM_BYTES apart, or as far apart as the rows allow:
 * positions within one page share a prefetch stream, which is slower than reading one position.  If
 * they cannot be a page apart, use neighbours.
 */
INLINE int64_t rows_apart(const la_rows *rows, int64_t left, int64_t bytes)
{
    if (rows->index || left / 4 * bytes < PAGE_BYTES || bytes >= STREAM_BYTES)
        return 1;
    int64_t apart = STREAM_BYTES / bytes;
    return apart < left / 4 ? apart : left / 4;
}

/*
 * Prefetches bytes from..to of row t of the next rows into the second-level cache.  Requests spread
 * over the work on the current rows keep the memory busy without stalls.
 */
INLINE void prefetch_row(const char *ahead, int64_t t, int64_t bytes, int64_t from, int64_t to)
{
    for (int64_t at = from; ahead && at < to; at += CACHE_LINE)
        __builtin_prefetch(ahead + t * bytes + at, 0, 2);
}

INLINE void rows_dot_of(attsvm_dtype dtype, const la_rows *rows, const double *p, const char *ahead,
                        double *y)
{
    const int64_t d = rows->d, bytes = d * size_of(dtype);
    int64_t t = 0;
    if (d < LA_LANES) {
        for (; t < rows->count; t++)
            y[t] = dot_short(dtype, row_at(rows, t, bytes), p, d);
        return;
    }
    while (rows->count - t >= 4) {
        const int64_t apart = rows_apart(rows, rows->count - t, bytes);
        for (int64_t end = t + apart; t < end; t++) {
            const char *row[4];
            double value[4];
            for (int k = 0; k < 4; k++) {
                row[k] = row_at(rows, t + k * apart, bytes);
                prefetch_row(ahead, t + k * apart, bytes, 0, bytes / 2);
            }
            dot_four(dtype, row, p, d, value);
            for (int k = 0; k < 4; k++)
                y[t + k * apart] = value[k];
        }
        t += 3 * apart;
    }
    for (; t < rows->count; t++)
        y[t] = dot_one(dtype, row_at(rows, t, bytes), p, d);
}

static void rows_dot(const la_rows *rows, const double *p, const void *ahead, double *y)
{
    if (!rows->base) {
        for (int64_t t = 0; t < rows->count; t++)
            y[t] = p[rows->index ? rows->index[t] : t];
        return;
    }
    if (rows->dtype == ATTSVM_F64)
        rows_dot_of(ATTSVM_F64, rows, p, ahead, y);
    else if (rows->dtype == ATTSVM_F32)
        rows_dot_of(ATTSVM_F32, rows, p, ahead, y);
    else
        rows_dot_of(ATTSVM_F16, rows, p, ahead, y);
}

/* y[t] = |x_t|^2, while the rows are still in the cache. */
INLINE void rows_square_of(attsvm_dtype dtype, const la_rows *rows, double *y)
{
    const int64_t d = rows->d, size = size_of(dtype);
    for (int64_t t = 0; t < rows->count; t++) {
        const char *x = row_at(rows, t, d * size);
        eight square = eight_of(0);
        int64_t j = 0;
        for (; j + LA_LANES <= d; j += LA_LANES)
            for (int part = 0; part < PARTS; part++) {
                doubles a = load_stored(dtype, x + (j + part * LANES) * size);
                square.part[part] += a * a;
            }
        double sum = sum_eight(square);
        for (; j < d; j++) {
            double a = load_one(dtype, x + j * size);
            sum += a * a;
        }
        y[t] = sum;
    }
}

static void rows_square(const la_rows *rows, double *y)
{
    if (!rows->base) {
        for (int64_t t = 0; t < rows->count; t++)
            y[t] = 1;
        return;
    }
    if (rows->dtype == ATTSVM_F64)
        rows_square_of(ATTSVM_F64, rows, y);
    else if (rows->dtype == ATTSVM_F32)
        rows_square_of(ATTSVM_F32, rows, y);
    else
        rows_square_of(ATTSVM_F16, rows, y);
}

/* y += w_0 x_0 + ... + w_3 x_3, added in this order: four rows share one read and write of y. */
INLINE void sum_four(attsvm_dtype dtype, const char *const row[4], const double w[4], double *y,
                     int64_t d)
{
    const int64_t size = size_of(dtype);
    const char *a = row[0], *b = row[1], *c = row[2], *e = row[3];
    int64_t j = 0;
    for (; j + LANES <= d; j += LANES) {
        doubles sum = load(y + j);
        sum += w[0] * load_stored(dtype, a + j * size);
        sum += w[1] * load_stored(dtype, b + j * size);
        sum += w[2] * load_stored(dtype, c + j * size);
        sum += w[3] * load_stored(dtype, e + j * size);
        store(y + j, sum);
    }
    for (; j < d; j++) {
        double sum = y[j];
        sum += w[0] * load_one(dtype, a + j * size);
        sum += w[1] * load_one(dtype, b + j * size);
        sum += w[2] * load_one(dtype, c + j * size);
        sum += w[3] * load_one(dtype, e + j * size);
        y[j] = sum;
    }
}

INLINE void sum_one(attsvm_dtype dtype, const char *x, double w, double *y, int64_t d)
{
    const int64_t size = size_of(dtype);
    int64_t j = 0;
    for (; j + LANES <= d; j += LANES)
        store(y + j, load(y + j) + w * load_stored(dtype, x + j * size));
    for (; j < d; j++)
        y[j] += w * load_one(dtype, x + j * size);
}

INLINE void rows_sum_of(attsvm_dtype dtype, const la_rows *rows, const double *w, const char *ahead,
                        double *y)
{
    const int64_t d = rows->d, bytes = d * size_of(dtype);
    const char *row[4];
    double weight[4];
    int pending = 0; /* rows with a weight that wait until a group of four is complete */
    for (int64_t t = 0; t < rows->count;) {
        const int64_t left = rows->count - t;
        const int64_t apart = left < 4 ? 1 : rows_apart(rows, left, bytes);
        const int64_t streams = left < 4 ? left : 4;
        for (int64_t end = t + apart; t < end; t++)
            for (int64_t k = 0; k < streams; k++) {
                const int64_t at = t + k * apart;
                prefetch_row(ahead, at, bytes, bytes / 2, bytes);
                if (w[at] == 0)
                    continue;
                row[pending] = row_at(rows, at, bytes);
                weight[pending] = w[at];
                if (++pending == 4) {
                    sum_four(dtype, row, weight, y, d);
                    pending = 0;
                }
            }
        t += (streams - 1) * apart;
    }
    for (int k = 0; k < pending; k++)
        sum_one(dtype, row[k], weight[k], y, d);
}

static void rows_sum(const la_rows *rows, const double *w, const void *ahead, double *y)
{
    if (!rows->base) {
        for (int64_t t = 0; t < rows->count; t++)
            y[rows->index ? rows->index[t] : t] += w[t];
        return;
    }
    if (rows->dtype == ATTSVM_F64)
        rows_sum_of(ATTSVM_F64, rows, w, ahead, y);
    else if (rows->dtype == ATTSVM_F32)
        rows_sum_of(ATTSVM_F32, rows, w, ahead, y);
    else
        rows_sum_of(ATTSVM_F16, rows, w, ahead, y);
}
