/* Rows that may join a working set: the first of many, those of all ranks. */
#include "svm/set/find.h"

#include <stdlib.h>
#include <string.h>

bool svm_candidates_before(const svm_candidate *a, const svm_candidate *b)
{
    if (a->slack != b->slack)
        return a->slack < b->slack;
    return a->term != b->term ? a->term < b->term : a->token < b->token;
}

static int compare(const void *a, const void *b)
{
    return svm_candidates_before(a, b) ? -1 : svm_candidates_before(b, a);
}

void svm_candidates_select(svm_candidate *c, int64_t count, int64_t most)
{
    int64_t lo = 0, hi = count - 1;
    while (lo < hi && most < count) { /* quickselect */
        svm_candidate pivot = c[lo + (hi - lo) / 2];
        int64_t i = lo, j = hi;
        while (i <= j) {
            while (svm_candidates_before(&c[i], &pivot))
                i++;
            while (svm_candidates_before(&pivot, &c[j]))
                j--;
            if (i <= j) {
                svm_candidate swap = c[i];
                c[i++] = c[j];
                c[j--] = swap;
            }
        }
        if (most - 1 <= j)
            hi = j;
        else if (most - 1 >= i)
            lo = i;
        else
            break;
    }
}

void svm_candidates_sort(svm_candidate *c, int64_t count, int64_t most)
{
    svm_candidates_select(c, count, most);
    if (count > 0)
        qsort(c, (size_t)(most < count ? most : count), sizeof *c, compare);
}

attsvm_status svm_candidates_share(dist_comm *comm, svm_candidate **list, int64_t *count,
                                   int64_t keep, attsvm_error *err)
{
    int ranks = dist_size(comm), rank = dist_rank(comm);
    svm_candidate *all = NULL;
    double *shares;
    TRY(base_allocate(&shares, 2 * (size_t)ranks + 1, sizeof *shares, "candidates", err));
    int64_t *first = (int64_t *)(void *)(shares + ranks);
    shares[rank] = (double)keep;
    dist_sum(comm, shares, ranks);
    for (int r = 0; r < ranks; r++)
        first[r + 1] = first[r] + (int64_t)shares[r];
    attsvm_status status =
        base_allocate(&all, (size_t)first[ranks], sizeof *all, "candidates", err);
    if (status == ATTSVM_OK) {
        if (keep > 0)
            memcpy(all + first[rank], *list, (size_t)keep * sizeof *all);
        dist_gather(comm, all, sizeof *all, first);
        free(*list);
        *list = all;
        *count = first[ranks];
    }
    free(shares);
    return status;
}
