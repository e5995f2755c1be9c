/*
 * The arrays of a run into a file.  With ranks the softmax is nowhere whole: while rank 0 writes,
 * it asks the others for pieces of their shares.
 */
#include "result/result.h"

#include <stdlib.h>
#include <string.h>

/* Entries first..first+count-1 of the softmax; count < 0: there are no more questions. */
typedef struct question {
    int64_t first, count;
} question;

/* On rank 0: from whoever has them. */
static attsvm_status fill(void *context, int64_t first, int64_t count, void *buffer,
                          attsvm_error *err)
{
    const attsvm_train *t = context;
    const int64_t *share = t->m->rank_token, last = first + count;
    dist_comm *comm = t->m->comm;
    double *out = buffer;
    (void)err;
    for (int rank = 0; rank < dist_size(comm); rank++) {
        int64_t lo = first > share[rank] ? first : share[rank];
        int64_t hi = last < share[rank + 1] ? last : share[rank + 1];
        if (lo >= hi)
            continue;
        question q = { lo, hi - lo };
        size_t bytes = (size_t)(hi - lo) * sizeof *out;
        if (rank == 0) {
            memcpy(out + (lo - first), t->softmax + lo, bytes);
        } else {
            dist_send(comm, &q, sizeof q, rank);
            dist_receive(comm, out + (lo - first), (int64_t)bytes, rank);
        }
    }
    return ATTSVM_OK;
}

/* On the other ranks. */
static void answer(const attsvm_train *t)
{
    dist_comm *comm = t->m->comm;
    const int64_t from = t->m->rank_token[dist_rank(comm)];
    for (;;) {
        question q;
        dist_receive(comm, &q, sizeof q, 0);
        if (q.count < 0)
            return;
        dist_send(comm, t->softmax + (q.first - from), q.count * (int64_t)sizeof *t->softmax, 0);
    }
}

static attsvm_status write_all(const attsvm_train *t, const char *path,
                               const attsvm_named_array *more, int64_t count, attsvm_error *err)
{
    io_source *sources;
    int64_t own = t->arrays_count;
    TRY(base_allocate(&sources, (size_t)(own + count), sizeof *sources, "arrays", err));
    for (int64_t k = 0; k < own + count; k++) {
        const attsvm_named_array *from = k < own ? &t->arrays[k] : &more[k - own];
        sources[k] =
            (io_source){ from->name, from->array, from->array.data ? NULL : fill, (void *)t };
    }
    attsvm_status status = io_write(path, sources, own + count, NULL, err);
    free(sources);
    return status;
}

attsvm_status attsvm_train_save(const attsvm_train *t, const char *path,
                                const attsvm_named_array *more, int64_t count, attsvm_error *err)
{
    dist_comm *comm = t->m->comm;
    bool wanted = path != NULL;
    dist_broadcast(comm, &wanted, sizeof wanted, 0);
    if (!wanted)
        return ATTSVM_OK;
    if (dist_rank(comm) > 0) {
        answer(t);
        return ATTSVM_OK;
    }
    attsvm_status status = write_all(t, path, more, count, err);
    for (int rank = 1; rank < dist_size(comm); rank++)
        dist_send(comm, &(question){ 0, -1 }, sizeof(question), rank);
    return status;
}
