/* The communicator of one process: sums and gathers have nothing to do. */
#include "dist/dist.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct dist_comm {
    char unused;
};

attsvm_status dist_start(dist_comm **out, int *argc, char ***argv, attsvm_error *err)
{
    (void)argc, (void)argv;
    return base_allocate(out, 1, sizeof **out, "communicator", err);
}

bool dist_joins(void)
{
    return false;
}

void dist_end(dist_comm *comm)
{
    free(comm);
}

void dist_abort(dist_comm *comm, int exit_status)
{
    (void)comm, (void)exit_status;
}

int dist_rank(const dist_comm *comm)
{
    (void)comm;
    return 0;
}

int dist_size(const dist_comm *comm)
{
    (void)comm;
    return 1;
}

void dist_sum(dist_comm *comm, double *x, int64_t count)
{
    (void)comm, (void)x, (void)count;
}

void dist_max(dist_comm *comm, double *x, int64_t count)
{
    (void)comm, (void)x, (void)count;
}

void dist_broadcast(dist_comm *comm, void *bytes, int64_t size, int root)
{
    (void)comm, (void)bytes, (void)size, (void)root;
}

bool dist_any(dist_comm *comm, bool here)
{
    (void)comm;
    return here;
}

int dist_vote(dist_comm *comm, int here)
{
    (void)comm;
    return here;
}

void dist_gather(dist_comm *comm, void *x, int64_t size, const int64_t *first)
{
    (void)comm, (void)x, (void)size, (void)first;
}

void dist_collect(dist_comm *comm, const void *own, void *all, int64_t size, const int64_t *first)
{
    (void)comm;
    memcpy((char *)all + first[0] * size, own, (size_t)((first[1] - first[0]) * size));
}

/* There is no other rank. */
void dist_send(dist_comm *comm, const void *bytes, int64_t size, int to)
{
    (void)comm, (void)bytes, (void)size, (void)to;
    assert(false);
}

void dist_receive(dist_comm *comm, void *bytes, int64_t size, int from)
{
    (void)comm, (void)bytes, (void)size, (void)from;
    assert(false);
}

void dist_scaled_sum(dist_comm *comm, dist_scaled *sums, int count)
{
    (void)comm, (void)sums, (void)count;
}

attsvm_status dist_reserve(dist_comm *comm, int64_t count, attsvm_error *err)
{
    (void)comm, (void)count, (void)err;
    return ATTSVM_OK;
}

attsvm_status dist_agree(dist_comm *comm, attsvm_status status, attsvm_error *err)
{
    (void)comm, (void)err;
    return status;
}

bool dist_meet(dist_comm *comm, double seconds)
{
    (void)comm, (void)seconds;
    return true;
}

int64_t dist_volume(const dist_comm *comm)
{
    (void)comm;
    return 0;
}
