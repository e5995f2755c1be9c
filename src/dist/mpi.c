/*
 * The communicator over MPI.  Counts beyond the int of MPI calls go in pieces.  Sums are gathered
 * and added in the order of ranks by MPI_Allreduce, whose result is the same on every rank.
 */
#include "dist/dist.h"

#include <mpi.h>
#include <stdlib.h>

enum { PIECE = 1 << 24 }; /* elements a call */

struct dist_comm {
    MPI_Comm world;
    int rank, size;
    int64_t volume;
};

attsvm_status dist_start(dist_comm **out, int *argc, char ***argv, attsvm_error *err)
{
    TRY(base_allocate(out, 1, sizeof **out, "communicator", err));
    int provided;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        free(*out);
        *out = NULL;
        return fail(err, ATTSVM_E_ARG, "MPI did not start; was the program run by mpirun?");
    }
    (*out)->world = MPI_COMM_WORLD;
    MPI_Comm_rank(MPI_COMM_WORLD, &(*out)->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &(*out)->size);
    return ATTSVM_OK;
}

void dist_stop(dist_comm *comm)
{
    MPI_Finalize();
    free(comm);
}

void dist_abort(dist_comm *comm, int exit_status)
{
    MPI_Abort(comm->world, exit_status);
}

int dist_rank(const dist_comm *comm)
{
    return comm->rank;
}

int dist_size(const dist_comm *comm)
{
    return comm->size;
}

void dist_barrier(dist_comm *comm)
{
    MPI_Barrier(comm->world);
}

static void reduce(dist_comm *comm, double *x, int64_t count, MPI_Op op)
{
    for (int64_t first = 0; first < count; first += PIECE) {
        int64_t piece = count - first < PIECE ? count - first : PIECE;
        MPI_Allreduce(MPI_IN_PLACE, x + first, (int)piece, MPI_DOUBLE, op, comm->world);
    }
    comm->volume += count * (int64_t)sizeof(double);
}

void dist_sum(dist_comm *comm, double *x, int64_t count)
{
    reduce(comm, x, count, MPI_SUM);
}

void dist_max(dist_comm *comm, double *x, int64_t count)
{
    reduce(comm, x, count, MPI_MAX);
}

void dist_broadcast(dist_comm *comm, void *bytes, int64_t size, int root)
{
    for (int64_t first = 0; first < size; first += PIECE) {
        int64_t piece = size - first < PIECE ? size - first : PIECE;
        MPI_Bcast((char *)bytes + first, (int)piece, MPI_BYTE, root, comm->world);
    }
    comm->volume += size;
}

int64_t dist_volume(const dist_comm *comm)
{
    return comm->volume;
}
