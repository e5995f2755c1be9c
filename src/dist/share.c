/* Functions that do not depend on MPI: shares of the work, sums with an exponent. */
#include "dist/dist.h"

#include <math.h>
#include <string.h>

void dist_scaled_add(dist_scaled *a, const dist_scaled *b)
{
    if (b->log == -INFINITY)
        return;
    if (a->log == -INFINITY) {
        memcpy(a->x, b->x, (size_t)b->count * sizeof *a->x);
        a->log = b->log;
        return;
    }
    double log = fmax(a->log, b->log), keep = base_exp(a->log - log), add = base_exp(b->log - log);
    for (int64_t j = 0; keep != 1 && j < a->count; j++)
        a->x[j] *= keep;
    la_axpy(add, b->x, a->x, a->count);
    a->log = log;
}

void dist_share(const dist_comm *comm, int64_t parts, int rank, int64_t *lo, int64_t *hi)
{
    int size = dist_size(comm);
    if ((size & (size - 1)) != 0) {
        base_block(parts, size, rank, lo, hi);
        return;
    }
    *lo = 0;
    *hi = parts;
    for (int half = size / 2; half > 0; half /= 2) {
        int64_t middle = *lo + (*hi - *lo) / 2;
        if (rank & half)
            *lo = middle;
        else
            *hi = middle;
    }
}
