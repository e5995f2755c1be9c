/*
 * The communicator over MPI.  Messages too long for the int of MPI calls are sent in pieces.  MPI
 * chooses the order of its sums, which have the same bytes on every rank; with 2^k ranks, sums with
 * an exponent are added along the tree of ranks, so that their bytes do not depend on k.
 */
#include "dist/dist.h"

#include <assert.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIECE = 1 << 24, MOST_SUMS = 8 }; /* elements per call; sums per message */

struct dist_comm {
    MPI_Comm world;
    MPI_Comm ends; /* of dist_meet, which may wait while other messages are in flight */
    int rank, size;
    int64_t volume;
    double *message; /* of dist_scaled_sum: exponents, then vectors; and one received */
    int64_t capacity;
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
    MPI_Comm_dup(MPI_COMM_WORLD, &(*out)->ends);
    return ATTSVM_OK;
}

bool dist_joins(void)
{
    return true;
}

void dist_end(dist_comm *comm)
{
    if (!comm)
        return;
    MPI_Comm_free(&comm->ends);
    MPI_Finalize();
    free(comm->message);
    free(comm);
}

void dist_abort(dist_comm *comm, int exit_status)
{
    if (comm)
        MPI_Abort(comm->world, exit_status);
}

int dist_rank(const dist_comm *comm)
{
    return comm ? comm->rank : 0;
}

int dist_size(const dist_comm *comm)
{
    return comm ? comm->size : 1;
}

static void reduce(dist_comm *comm, double *x, int64_t count, MPI_Op op)
{
    if (!comm)
        return;
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
    if (!comm)
        return;
    for (int64_t first = 0; first < size; first += PIECE) {
        int64_t piece = size - first < PIECE ? size - first : PIECE;
        MPI_Bcast((char *)bytes + first, (int)piece, MPI_BYTE, root, comm->world);
    }
    comm->volume += size;
}

bool dist_any(dist_comm *comm, bool here)
{
    double x = here;
    dist_max(comm, &x, 1);
    return x > 0;
}

int dist_vote(dist_comm *comm, int here)
{
    if (comm)
        MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT, MPI_MAX, comm->world);
    return here;
}

/* From each rank in turn, in pieces: a share may exceed the range of int. */
void dist_gather(dist_comm *comm, void *x, int64_t size, const int64_t *first)
{
    if (!comm)
        return;
    for (int rank = 0; rank < comm->size; rank++)
        dist_broadcast(comm, (char *)x + first[rank] * size, (first[rank + 1] - first[rank]) * size,
                       rank);
}

void dist_send(dist_comm *comm, const void *bytes, int64_t size, int to)
{
    assert(comm);
    for (int64_t first = 0; first < size; first += PIECE) {
        int piece = (int)(size - first < PIECE ? size - first : PIECE);
        MPI_Send((const char *)bytes + first, piece, MPI_BYTE, to, 1, comm->world);
    }
    comm->volume += size;
}

void dist_receive(dist_comm *comm, void *bytes, int64_t size, int from)
{
    assert(comm);
    for (int64_t first = 0; first < size; first += PIECE) {
        int piece = (int)(size - first < PIECE ? size - first : PIECE);
        MPI_Recv((char *)bytes + first, piece, MPI_BYTE, from, 1, comm->world, MPI_STATUS_IGNORE);
    }
}

void dist_collect(dist_comm *comm, const void *own, void *all, int64_t size, const int64_t *first)
{
    const int own_rank = dist_rank(comm);
    int64_t bytes = (first[own_rank + 1] - first[own_rank]) * size;
    if (own_rank > 0) {
        dist_send(comm, own, bytes, 0);
        return;
    }
    memcpy((char *)all + first[0] * size, own, (size_t)bytes);
    for (int rank = 1; rank < dist_size(comm); rank++)
        dist_receive(comm, (char *)all + first[rank] * size, (first[rank + 1] - first[rank]) * size,
                     rank);
}

/* ------------------------------------------------------- sums with an exponent */

/* Two buffers for a message with all sums: sent and received. */
attsvm_status dist_reserve(dist_comm *comm, int64_t count, attsvm_error *err)
{
    count += MOST_SUMS;
    if (!comm || count <= comm->capacity)
        return ATTSVM_OK;
    free(comm->message);
    comm->capacity = 0;
    TRY(base_allocate(&comm->message, 2 * (size_t)count, sizeof(double), "message", err));
    comm->capacity = count;
    return ATTSVM_OK;
}

static void exchange(dist_comm *comm, const double *out, double *in, int64_t count, int partner)
{
    for (int64_t first = 0; first < count; first += PIECE) {
        int piece = (int)(count - first < PIECE ? count - first : PIECE);
        MPI_Sendrecv(out + first, piece, MPI_DOUBLE, partner, 0, in + first, piece, MPI_DOUBLE,
                     partner, 0, comm->world, MPI_STATUS_IGNORE);
    }
    comm->volume += count * (int64_t)sizeof(double);
}

static void pack(const dist_scaled *sums, int count, double *message)
{
    double *at = message + count;
    for (int k = 0; k < count; at += sums[k++].count) {
        message[k] = sums[k].log;
        if (sums[k].log == -INFINITY) /* x is undefined, but its bytes are sent */
            memset(at, 0, (size_t)sums[k].count * sizeof *at);
        else
            memcpy(at, sums[k].x, (size_t)sums[k].count * sizeof *at);
    }
}

/* Recursive doubling: after k rounds the 2^k ranks of a node of the tree have its sum. */
static void sum_tree(dist_comm *comm, dist_scaled *sums, int count, double *mine, double *theirs,
                     int64_t length)
{
    for (int distance = 1; distance < comm->size; distance *= 2) {
        bool upper = comm->rank & distance;
        pack(sums, count, mine);
        exchange(comm, mine, theirs, length, comm->rank ^ distance);
        double *at = theirs + count;
        for (int k = 0; k < count; at += sums[k++].count) {
            dist_scaled other = { at, sums[k].count, theirs[k] };
            if (upper) { /* both add the lower rank's first */
                dist_scaled own = sums[k];
                dist_scaled_add(&other, &own);
                if (other.log != -INFINITY)
                    memcpy(own.x, other.x, (size_t)own.count * sizeof *own.x);
                sums[k].log = other.log;
            } else {
                dist_scaled_add(&sums[k], &other);
            }
        }
    }
}

/* Any number of ranks: the largest exponents first, then one sum in their units. */
static void sum_by_mpi(dist_comm *comm, dist_scaled *sums, int count, double *message,
                       int64_t length)
{
    double *at = message + count;
    pack(sums, count, message);
    dist_max(comm, message, count);
    for (int k = 0; k < count; at += sums[k++].count) {
        double factor = sums[k].log == -INFINITY ? 0 : base_exp(sums[k].log - message[k]);
        for (int64_t j = 0; j < sums[k].count; j++)
            at[j] *= factor;
    }
    dist_sum(comm, message + count, length - count);
    at = message + count;
    for (int k = 0; k < count; at += sums[k++].count) {
        sums[k].log = message[k];
        memcpy(sums[k].x, at, (size_t)sums[k].count * sizeof *at);
    }
}

void dist_scaled_sum(dist_comm *comm, dist_scaled *sums, int count)
{
    int64_t length = count;
    for (int k = 0; k < count; k++)
        length += sums[k].count;
    if (dist_size(comm) == 1)
        return;
    assert(count <= MOST_SUMS && length <= comm->capacity);
    if ((comm->size & (comm->size - 1)) == 0)
        sum_tree(comm, sums, count, comm->message, comm->message + comm->capacity, length);
    else
        sum_by_mpi(comm, sums, count, comm->message, length);
}

/* ------------------------------------------------------------- failing together */

attsvm_status dist_agree(dist_comm *comm, attsvm_status status, attsvm_error *err)
{
    if (!comm)
        return status;
    double first = status == ATTSVM_OK ? -comm->size : -comm->rank;
    attsvm_error said = { .message = "" };
    int32_t code = status;
    dist_max(comm, &first, 1);
    if (first == -comm->size)
        return ATTSVM_OK;
    if (err && comm->rank == -(int)first)
        said = *err;
    dist_broadcast(comm, &code, sizeof code, -(int)first);
    dist_broadcast(comm, &said, sizeof said, -(int)first);
    if (err)
        *err = said;
    return (attsvm_status)code;
}

bool dist_meet(dist_comm *comm, double seconds)
{
    MPI_Request request;
    int done = 0;
    double start = base_seconds();
    if (!comm)
        return true;
    MPI_Ibarrier(comm->ends, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done || base_seconds() - start > seconds)
            return done;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

int64_t dist_volume(const dist_comm *comm)
{
    return comm ? comm->volume : 0;
}
