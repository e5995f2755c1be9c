/* theta - lr U V', grad = U S V'; singular values up to 1e-12 of the largest are dropped. */
#include "train/train.h"

#include <math.h>
#include <string.h>

static int64_t scratch(int64_t rows, int64_t cols)
{
    int64_t r = rows < cols ? rows : cols;
    return rows * cols + r + rows * r + r * cols;
}

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    const double dropped = 1e-12;
    const int64_t m = s->rows, n = s->cols, r = m < n ? m : n;
    double *A = s->scratch, *sigma = A + m * n, *U = sigma + r, *Vt = U + m * r;
    if (s->log == -INFINITY)
        return ATTSVM_OK;
    memcpy(A, s->g, (size_t)s->count * sizeof *A);
    TRY(la_svd(m, n, A, n, sigma, U, r, Vt, n, err));
    int64_t kept = 0;
    while (kept < r && sigma[kept] > dropped * sigma[0])
        kept++;
    if (kept > 0)
        la_gemm(false, false, m, n, kept, -s->lr, U, r, Vt, n, 1, s->theta, n);
    return ATTSVM_OK;
}

const train_rule train_rule_spectral = { .flag = "spectral",
                                         .help = "spectral descent",
                                         .norm = "spectral",
                                         .lowest = 1,
                                         .scratch = scratch,
                                         .step = step };
