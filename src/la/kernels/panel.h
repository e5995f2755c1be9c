/*
 * Products of stored rows with several directions: a row is read and widened once for a group of
 * directions.  The result for a row and a direction does not depend on the others: y[t,c] has the
 * bits of rows_dot, and sums run over the rows in order.
 */

enum {
    PANEL_ROWS = PARTS == 1 ? 4 : 2, /* the partial sums fit into the registers */
    PANEL_COLUMNS = PARTS == 1 ? 5 : 3,
    PANEL_VECTORS = PARTS == 1 ? 4 : 2,
};

/* y[r * stride + c] = x_r' p_c of a few rows and directions, d >= 8. */
INLINE void dot_panel(int rows, int columns, attsvm_dtype dtype, const char *const *row,
                      const double *p, int64_t d, double *y, int64_t stride)
{
    const int64_t size = size_of(dtype), whole = d - d % LA_LANES;
    eight sum[PANEL_ROWS * PANEL_COLUMNS];
    for (int k = 0; k < rows * columns; k++)
        sum[k] = eight_of(0);
    for (int64_t j = 0; j < whole; j += LA_LANES)
        for (int part = 0; part < PARTS; part++) {
            const int64_t at = j + part * LANES;
            doubles x[PANEL_ROWS];
            for (int r = 0; r < rows; r++)
                x[r] = load_stored(dtype, row[r] + at * size);
            for (int c = 0; c < columns; c++) {
                const doubles q = load(p + c * d + at);
                for (int r = 0; r < rows; r++)
                    sum[r * columns + c].part[part] += x[r] * q;
            }
        }
    for (int part = 0; part < PARTS && whole < d; part++) {
        const int64_t at = d - LA_LANES + part * LANES;
        const longs mask = tail_mask(part, d);
        for (int r = 0; r < rows; r++) {
            const doubles x = mask_out(load_stored(dtype, row[r] + at * size), mask);
            for (int c = 0; c < columns; c++)
                sum[r * columns + c].part[part] += x * mask_out(load(p + c * d + at), mask);
        }
    }
    for (int r = 0; r < rows; r++) {
        int c = 0;
        for (; c + 4 <= columns; c += 4)
            sum_four_eights(&sum[r * columns + c], y + r * stride + c);
        for (; c < columns; c++)
            y[r * stride + c] = sum_eight(sum[r * columns + c]);
    }
}

/* The same for every number of directions up to PANEL_COLUMNS. */
INLINE void dot_panels(int rows, attsvm_dtype dtype, const char *const *row, const double *p,
                       int64_t d, double *y, int64_t count)
{
    int64_t c = 0;
    for (; c + PANEL_COLUMNS <= count; c += PANEL_COLUMNS)
        dot_panel(rows, PANEL_COLUMNS, dtype, row, p + c * d, d, y + c, count);
    for (; c + 2 <= count; c += 2)
        dot_panel(rows, 2, dtype, row, p + c * d, d, y + c, count);
    if (c < count)
        dot_panel(rows, 1, dtype, row, p + c * d, d, y + c, count);
}

INLINE void rows_dots_of(attsvm_dtype dtype, const la_rows *rows, const double *p, int64_t count,
                         double *y)
{
    const int64_t d = rows->d, bytes = d * size_of(dtype);
    int64_t t = 0;
    for (; d < LA_LANES && t < rows->count; t++)
        for (int64_t c = 0; c < count; c++)
            y[t * count + c] = dot_short(dtype, row_at(rows, t, bytes), p + c * d, d);
    for (; t + PANEL_ROWS <= rows->count; t += PANEL_ROWS) {
        const char *row[PANEL_ROWS];
        for (int r = 0; r < PANEL_ROWS; r++)
            row[r] = row_at(rows, t + r, bytes);
        dot_panels(PANEL_ROWS, dtype, row, p, d, y + t * count, count);
    }
    for (; t < rows->count; t++) {
        const char *row = row_at(rows, t, bytes);
        dot_panels(1, dtype, &row, p, d, y + t * count, count);
    }
}

static void rows_dots(const la_rows *rows, const double *p, int64_t count, double *y)
{
    if (rows->dtype == ATTSVM_F64)
        rows_dots_of(ATTSVM_F64, rows, p, count, y);
    else if (rows->dtype == ATTSVM_F32)
        rows_dots_of(ATTSVM_F32, rows, p, count, y);
    else
        rows_dots_of(ATTSVM_F16, rows, p, count, y);
}

/* y_c[at..] += sum_t w[t,c] x_t[at..] for a few directions and vectors. */
INLINE void sum_panel(int columns, int vectors, attsvm_dtype dtype, const la_rows *rows,
                      const double *w, int64_t count, double *y, int64_t at)
{
    const int64_t d = rows->d, size = size_of(dtype);
    doubles sum[PANEL_COLUMNS * PANEL_VECTORS];
    for (int c = 0; c < columns; c++)
        for (int v = 0; v < vectors; v++)
            sum[c * vectors + v] = load(y + c * d + at + v * LANES);
    for (int64_t t = 0; t < rows->count; t++) {
        const char *row = row_at(rows, t, d * size) + at * size;
        doubles x[PANEL_VECTORS];
        for (int v = 0; v < vectors; v++)
            x[v] = load_stored(dtype, row + v * LANES * size);
        for (int c = 0; c < columns; c++) {
            const doubles weight = all(w[t * count + c]);
            for (int v = 0; v < vectors; v++)
                sum[c * vectors + v] += weight * x[v];
        }
    }
    for (int c = 0; c < columns; c++)
        for (int v = 0; v < vectors; v++)
            store(y + c * d + at + v * LANES, sum[c * vectors + v]);
}

/* The last d mod LANES features: adds the last LANES features, then restores the others. */
INLINE void sum_end(int columns, attsvm_dtype dtype, const la_rows *rows, const double *w,
                    int64_t count, double *y)
{
    const int64_t d = rows->d, size = size_of(dtype), at = d - LANES;
    const size_t before = (size_t)(LANES - d % LANES) * sizeof *y;
    double kept[PANEL_COLUMNS][LANES];
    if (d < LANES) {
        for (int64_t t = 0; t < rows->count; t++)
            for (int c = 0; c < columns; c++)
                for (int64_t j = 0; j < d; j++)
                    y[c * d + j] +=
                        w[t * count + c] * load_one(dtype, row_at(rows, t, d * size) + j * size);
        return;
    }
    for (int c = 0; c < columns; c++)
        memcpy(kept[c], y + c * d + at, before);
    sum_panel(columns, 1, dtype, rows, w, count, y, at);
    for (int c = 0; c < columns; c++)
        memcpy(y + c * d + at, kept[c], before);
}

INLINE void sum_columns(int columns, attsvm_dtype dtype, const la_rows *rows, const double *w,
                        int64_t count, double *y)
{
    const int64_t d = rows->d;
    int64_t at = 0;
    for (; at + PANEL_VECTORS * LANES <= d; at += PANEL_VECTORS * LANES)
        sum_panel(columns, PANEL_VECTORS, dtype, rows, w, count, y, at);
    for (; at + LANES <= d; at += LANES)
        sum_panel(columns, 1, dtype, rows, w, count, y, at);
    if (at < d)
        sum_end(columns, dtype, rows, w, count, y);
}

INLINE void rows_sums_of(attsvm_dtype dtype, const la_rows *rows, const double *w, int64_t count,
                         double *y)
{
    int64_t c = 0;
    for (; c + PANEL_COLUMNS <= count; c += PANEL_COLUMNS)
        sum_columns(PANEL_COLUMNS, dtype, rows, w + c, count, y + c * rows->d);
    for (; c + 2 <= count; c += 2)
        sum_columns(2, dtype, rows, w + c, count, y + c * rows->d);
    if (c < count)
        sum_columns(1, dtype, rows, w + c, count, y + c * rows->d);
}

static void rows_sums(const la_rows *rows, const double *w, int64_t count, double *y)
{
    if (rows->dtype == ATTSVM_F64)
        rows_sums_of(ATTSVM_F64, rows, w, count, y);
    else if (rows->dtype == ATTSVM_F32)
        rows_sums_of(ATTSVM_F32, rows, w, count, y);
    else
        rows_sums_of(ATTSVM_F16, rows, w, count, y);
}
