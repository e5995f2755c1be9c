/*
 * Dense row-major loops, correct for any size; la.h states what each computes.
 */

/* With beta = 0 the old value is ignored, even if it is NaN. */
INLINE double combine(double value, double beta, double old)
{
    return beta == 0 ? value : value + beta * old;
}

/* y = alpha A x + beta y. */
INLINE void rows_times(int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
                       const double *x, double beta, double *y)
{
    int64_t i = 0;
    for (; i + 4 <= m && n >= LA_LANES; i += 4) {
        const char *row[4];
        double value[4];
        for (int k = 0; k < 4; k++)
            row[k] = (const char *)(A + (i + k) * lda);
        dot_four(ATTSVM_F64, row, x, n, value);
        for (int k = 0; k < 4; k++)
            y[i + k] = combine(alpha * value[k], beta, y[i + k]);
    }
    for (; i < m; i++)
        y[i] = combine(alpha * dot(A + i * lda, x, n), beta, y[i]);
}

/* y += alpha A' x, the entries of x `stride` apart. */
INLINE void columns_add(int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
                        const double *x, int64_t stride, double *y)
{
    int64_t i = 0;
    for (; i + 4 <= m; i += 4) {
        const char *row[4];
        double w[4];
        for (int k = 0; k < 4; k++) {
            row[k] = (const char *)(A + (i + k) * lda);
            w[k] = alpha * x[(i + k) * stride];
        }
        sum_four(ATTSVM_F64, row, w, y, n);
    }
    for (; i < m; i++)
        sum_one(ATTSVM_F64, (const char *)(A + i * lda), alpha * x[i * stride], y, n);
}

static void gemv(bool transpose, int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
                 const double *x, double beta, double *y)
{
    if (!transpose) {
        rows_times(m, n, alpha, A, lda, x, beta, y);
        return;
    }
    for (int64_t j = 0; j < n; j++)
        y[j] = combine(0, beta, y[j]);
    columns_add(m, n, alpha, A, lda, x, 1, y);
}

/* Entry (i,j) of a factor is at[i * row + j * column]. */
typedef struct operand {
    const double *at;
    int64_t row, column;
} operand;

INLINE operand operand_of(bool transpose, const double *A, int64_t lda)
{
    return (operand){ A, transpose ? 1 : lda, transpose ? lda : 1 };
}

/* Columns of a tile to store: in row r from `from` to last + slope r. */
typedef struct gemm_store {
    double alpha, beta;
    int64_t from, last, slope;
} gemm_store;

/* C = alpha A B + beta C for up to four rows and one or two vectors of columns, B by rows. */
INLINE void gemm_tile(int rows, int vectors, int64_t k, operand A, const double *B, int64_t ldb,
                      const gemm_store *how, double *C, int64_t ldc)
{
    const bool whole = how->from == 0 && how->last >= vectors * LANES - 1;
    doubles sum[4][2];
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = (doubles){ 0 };
    for (int64_t l = 0; l < k; l++)
        for (int v = 0; v < vectors; v++) {
            const doubles b = load(B + l * ldb + v * LANES);
            for (int r = 0; r < rows; r++)
                sum[r][v] += A.at[r * A.row + l * A.column] * b;
        }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            double *to = C + r * ldc + v * LANES;
            const longs lane = lane_numbers(0) + v * LANES;
            doubles value = how->alpha * sum[r][v];
            if (how->beta != 0)
                value += how->beta * load(to);
            if (!whole) {
                const longs mask = (lane >= how->from) & (lane <= how->last + how->slope * r);
                value = (doubles)(((longs)value & mask) | ((longs)load(to) & ~mask));
            }
            store(to, value);
        }
}

INLINE void gemm_rows(int vectors, int64_t rows, int64_t k, operand A, const double *B, int64_t ldb,
                      const gemm_store *how, double *C, int64_t ldc)
{
    if (rows >= 4)
        gemm_tile(4, vectors, k, A, B, ldb, how, C, ldc);
    else if (rows == 3)
        gemm_tile(3, vectors, k, A, B, ldb, how, C, ldc);
    else if (rows == 2)
        gemm_tile(2, vectors, k, A, B, ldb, how, C, ldc);
    else
        gemm_tile(1, vectors, k, A, B, ldb, how, C, ldc);
}

enum { PANEL = 64 }; /* products per entry that are summed before they are added to C */

/* Columns of B, k at most PANEL: in place, or copied if B is not stored by rows. */
INLINE const double *panel_of(operand B, int64_t first, int64_t count, int64_t k, double *panel,
                              int64_t *ldb)
{
    const double *columns = B.at + first * B.column;
    *ldb = B.row;
    if (B.column == 1)
        return columns;
    *ldb = count;
    for (int64_t c = 0; c < count; c += LANES) {
        const double *at = columns + c * B.column;
        int64_t l = 0;
        for (; B.row == 1 && l + LANES <= k; l += LANES) {
            doubles v[LANES];
            for (int i = 0; i < LANES; i++)
                v[i] = load(at + i * B.column + l);
            turn(v);
            for (int i = 0; i < LANES; i++)
                store(panel + (l + i) * count + c, v[i]);
        }
        for (; l < k; l++)
            for (int i = 0; i < LANES; i++)
                panel[l * count + c + i] = at[l * B.row + i * B.column];
    }
    return panel;
}

/*
 * C = alpha A B + beta C, n >= LANES and k <= PANEL; `lower`: only columns j <= i.  B is processed
 * in two vectors of columns at a time, then one.  The last vector overlaps columns that are already
 * done; these are recomputed with the same result, and not stored again if beta != 0.
 */
INLINE void gemm_tiles(bool lower, int64_t m, int64_t n, int64_t k, double alpha, operand A,
                       operand B, double beta, double *C, int64_t ldc)
{
    double panel[2 * PANEL * LANES];
    int64_t j = 0, ldb;
    gemm_store how = { alpha, beta, 0, 2 * LANES, 0 };
    for (; !lower && j + 2 * LANES <= n; j += 2 * LANES) {
        const double *columns = panel_of(B, j, 2 * LANES, k, panel, &ldb);
        for (int64_t i = 0; i < m; i += 4)
            gemm_rows(2, m - i, k, (operand){ A.at + i * A.row, A.row, A.column }, columns, ldb,
                      &how, C + i * ldc + j, ldc);
    }
    for (; j < n; j += LANES) {
        const int64_t at = j + LANES <= n ? j : n - LANES;
        const double *columns = panel_of(B, at, LANES, k, panel, &ldb);
        how.from = beta == 0 ? 0 : j - at;
        how.slope = lower;
        for (int64_t i = lower ? j / 4 * 4 : 0; i < m; i += 4) {
            how.last = lower ? i - at : LANES;
            gemm_rows(1, m - i, k, (operand){ A.at + i * A.row, A.row, A.column }, columns, ldb,
                      &how, C + i * ldc + at, ldc);
        }
    }
}

/* The same for fewer columns than a vector has lanes, with the same order of additions. */
INLINE void gemm_narrow(bool lower, int64_t m, int64_t n, int64_t k, double alpha, operand A,
                        operand B, double beta, double *C, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n && (!lower || j <= i); j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += A.at[i * A.row + l * A.column] * B.at[l * B.row + j * B.column];
            C[i * ldc + j] = combine(alpha * sum, beta, C[i * ldc + j]);
        }
}

/* C = alpha A B + beta C, by panels of the inner dimension: every entry is summed over each panel,
   then over the panels. */
INLINE void gemm_panels(bool lower, int64_t m, int64_t n, int64_t k, double alpha, operand A,
                        operand B, double beta, double *C, int64_t ldc)
{
    int64_t l = 0;
    do {
        const int64_t inner = k - l < PANEL ? k - l : PANEL;
        const operand a = { A.at + l * A.column, A.row, A.column };
        const operand b = { B.at + l * B.row, B.row, B.column };
        if (n >= LANES)
            gemm_tiles(lower, m, n, inner, alpha, a, b, beta, C, ldc);
        else
            gemm_narrow(lower, m, n, inner, alpha, a, b, beta, C, ldc);
        beta = 1;
        l += PANEL;
    } while (l < k);
}

static void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
                 const double *A, int64_t lda, const double *B, int64_t ldb, double beta, double *C,
                 int64_t ldc)
{
    gemm_panels(false, m, n, k, alpha, operand_of(transpose_a, A, lda),
                operand_of(transpose_b, B, ldb), beta, C, ldc);
}

static void syrk(bool transpose, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
                 double beta, double *C, int64_t ldc)
{
    gemm_panels(true, n, n, k, alpha, operand_of(transpose, A, lda), operand_of(!transpose, A, lda),
                beta, C, ldc);
}

/*
 * Forward substitution, four unknowns at a time: vector sums over the earlier unknowns, then scalar
 * sums over the previous four and each other.  (The previous four have just been stored one by one;
 * loading them as a vector would stall.)
 */
static void trsv_forward(int64_t n, const double *L, int64_t ldl, double *x)
{
    for (int64_t i = 0; i < n; i += 4) {
        const int64_t rows = n - i < 4 ? n - i : 4;
        const int64_t older = i < 4 ? 0 : i - 4;
        rows_times(rows, older, -1, L + i * ldl, ldl, x, 1, x + i);
        for (int64_t r = i; r < i + rows; r++) {
            double sum = x[r];
            for (int64_t c = older; c < r; c++)
                sum -= L[r * ldl + c] * x[c];
            x[r] = sum / L[r * ldl + r];
        }
    }
}

static void trsv_backward(int64_t n, const double *L, int64_t ldl, double *x)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        x[i] /= L[i * ldl + i];
        sum_one(ATTSVM_F64, (const char *)(L + i * ldl), -x[i], x, i);
    }
}

static void trsv(bool transpose, int64_t n, const double *L, int64_t ldl, double *x)
{
    if (transpose)
        trsv_backward(n, L, ldl, x);
    else
        trsv_forward(n, L, ldl, x);
}

/* L X = B: row i of X is (B_i - sum_{j<i} L_ij X_j) / L_ii, all columns at once.  L' X = B starts
   at the last row. */
static void trsm(bool transpose, int64_t n, int64_t columns, const double *L, int64_t ldl,
                 double *B, int64_t ldb)
{
    for (int64_t r = 0; r < n; r++) {
        const int64_t i = transpose ? n - 1 - r : r;
        double *row = B + i * ldb;
        /* the known rows, and their coefficients: a row or a column of L */
        const int64_t first = transpose ? i + 1 : 0, known = transpose ? n - 1 - i : i;
        const double *coefficient = transpose ? L + first * ldl + i : L + i * ldl;
        columns_add(known, columns, -1, B + first * ldb, ldb, coefficient, transpose ? ldl : 1,
                    row);
        for (int64_t c = 0; c < columns; c++)
            row[c] /= L[i * ldl + i];
    }
}

/* By columns: L_ij = (A_ij - sum_{l<j} L_il L_jl) / L_jj, the sums for four rows i at a time. */
static int64_t cholesky(int64_t n, double *A, int64_t lda)
{
    for (int64_t j = 0; j < n; j++) {
        double *row = A + j * lda;
        double pivot = row[j] - dot(row, row, j);
        if (!(pivot > 0)) /* also for NaN */
            return j + 1;
        row[j] = sqrt(pivot);
        int64_t i = j + 1;
        for (; i + 4 <= n && j >= LA_LANES; i += 4) {
            const char *rows[4];
            double sum[4];
            for (int k = 0; k < 4; k++)
                rows[k] = (const char *)(A + (i + k) * lda);
            dot_four(ATTSVM_F64, rows, row, j, sum);
            for (int k = 0; k < 4; k++)
                A[(i + k) * lda + j] = (A[(i + k) * lda + j] - sum[k]) / row[j];
        }
        for (; i < n; i++)
            A[i * lda + j] = (A[i * lda + j] - dot(A + i * lda, row, j)) / row[j];
    }
    return 0;
}
