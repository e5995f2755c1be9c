/*
 * Rows that may join a working set.  Each worker stores only its best ones, so that memory does not
 * grow with the data, and the best of all do not depend on the number of workers.
 */
#include "svm/set/sample.h"

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

/* Brings the `most` first of `count` to the front, the last of them at its place, the others in any
   order. */
static void bring_forward(svm_candidate *c, int64_t count, int64_t most)
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
    bring_forward(c, count, most);
    if (count > 0)
        qsort(c, (size_t)(most < count ? most : count), sizeof *c, compare);
}

/* Replaces the list of every rank by those of all ranks, one after the other. */
static attsvm_status share(dist_comm *comm, svm_candidate **list, int64_t *count, attsvm_error *err)
{
    int ranks = dist_size(comm), rank = dist_rank(comm);
    svm_candidate *all = NULL;
    double *shares;
    TRY(base_allocate(&shares, 2 * (size_t)ranks + 1, sizeof *shares, "candidates", err));
    int64_t *first = (int64_t *)(void *)(shares + ranks);
    shares[rank] = (double)*count;
    dist_sum(comm, shares, ranks);
    for (int r = 0; r < ranks; r++)
        first[r + 1] = first[r] + (int64_t)shares[r];
    attsvm_status status =
        base_allocate(&all, (size_t)first[ranks] + 1, sizeof *all, "candidates", err);
    if (status == ATTSVM_OK) {
        if (*count > 0)
            memcpy(all + first[rank], *list, (size_t)*count * sizeof *all);
        dist_gather(comm, all, sizeof *all, first);
        free(*list);
        *list = all;
        *count = first[ranks];
    }
    free(shares);
    return status;
}

/* Keeps the first `most`. */
static void drop_others(svm_candidates *list, int64_t most)
{
    bring_forward(list->rows, list->count, most);
    list->last = list->rows[most - 1];
    list->count = most;
    list->full = true;
}

void svm_candidates_note(svm_candidates *list, int64_t most, svm_candidate row)
{
    if (list->status != ATTSVM_OK || (list->full && svm_candidates_before(&list->last, &row)))
        return;
    if (list->count >= 2 * most)
        drop_others(list, most);
    if (list->count == list->capacity) {
        int64_t capacity = 2 * list->capacity + 256;
        svm_candidate *bigger;
        list->status =
            base_allocate(&bigger, (size_t)capacity, sizeof *bigger, "violated rows", &list->err);
        if (list->status != ATTSVM_OK)
            return;
        if (list->count > 0)
            memcpy(bigger, list->rows, (size_t)list->count * sizeof *bigger);
        free(list->rows);
        list->rows = bigger;
        list->capacity = capacity;
    }
    list->rows[list->count++] = row;
}

attsvm_status svm_candidates_join(svm_candidates *lists, int count, int64_t most, dist_comm *comm,
                                  svm_candidate **out, int64_t *out_count, attsvm_error *err)
{
    attsvm_status status = ATTSVM_OK;
    int64_t sum = 0;
    for (int k = 0; k < count; k++) {
        sum += lists[k].count;
        if (status == ATTSVM_OK && lists[k].status != ATTSVM_OK) {
            status = lists[k].status;
            if (err)
                *err = lists[k].err;
        }
    }
    free(*out);
    *out = NULL;
    *out_count = 0;
    if (status == ATTSVM_OK && sum > 0)
        status = base_allocate(out, (size_t)sum, sizeof **out, "violated rows", err);
    for (int k = 0; k < count; k++) {
        if (*out && lists[k].count > 0)
            memcpy(*out + *out_count, lists[k].rows, (size_t)lists[k].count * sizeof **out);
        *out_count += lists[k].count;
        lists[k].count = 0;
        lists[k].full = false;
        lists[k].status = ATTSVM_OK;
    }
    TRY(status);
    svm_candidates_sort(*out, sum, most);
    *out_count = sum < most ? sum : most;
    if (comm && most > 0) {
        TRY(share(comm, out, out_count, err));
        svm_candidates_sort(*out, *out_count, most);
        *out_count = *out_count < most ? *out_count : most;
    }
    return ATTSVM_OK;
}
