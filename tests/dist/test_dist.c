/*
 * The communicator, run as one process, and by mpirun over 2 and 4 ranks.
 *
 *     test_dist RANKS     checks every call; status 0 when all hold on all ranks
 *     test_dist abort     the last rank gives up with status 3 while the others wait
 */
#include "dist/dist.h"
#include "dist/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(bool holds, const char *what, int rank)
{
    if (holds)
        return;
    failures++;
    fprintf(stderr, "rank %d: %s does not hold\n", rank, what);
}

/* Sums of whole numbers are exact; each rank must be counted once. */
static void test_sum(dist_comm *comm)
{
    int rank = dist_rank(comm), size = dist_size(comm);
    double x[8] = { 0 };
    x[rank] = 1;
    x[7] = 10.0 * rank;
    dist_sum(comm, x, 8);
    for (int k = 0; k < size; k++)
        check(x[k] == 1, "one of each rank", rank);
    check(x[7] == 10.0 * size * (size - 1) / 2, "sum of ranks", rank);
    dist_sum(comm, x, 0);
    check(x[0] == 1, "a sum of nothing changes nothing", rank);
}

/* Rounded sums depend on the order of addition, and must still agree between ranks. */
static void test_sum_bits(dist_comm *comm)
{
    enum { COUNT = 1000 };
    static double x[COUNT], first[COUNT];
    int rank = dist_rank(comm);
    base_random r = base_random_stream(7, (uint64_t)rank);
    base_random_gauss_fill(&r, x, COUNT);
    for (int k = 0; k < COUNT; k++)
        x[k] *= k % 3 ? 1e-8 : 1e8;
    dist_sum(comm, x, COUNT);
    memcpy(first, x, sizeof x);
    dist_broadcast(comm, first, sizeof first, 0);
    check(memcmp(first, x, sizeof x) == 0, "the same bytes of a sum on every rank", rank);
}

static void test_max(dist_comm *comm)
{
    int rank = dist_rank(comm), size = dist_size(comm);
    double x[2] = { -1.0 - rank, 0.5 * rank };
    dist_max(comm, x, 2);
    check(x[0] == -1, "largest of negative numbers", rank);
    check(x[1] == 0.5 * (size - 1), "largest rank", rank);
}

static void test_broadcast(dist_comm *comm)
{
    int rank = dist_rank(comm), size = dist_size(comm);
    for (int root = 0; root < size; root++) {
        char text[24] = "from nobody.";
        if (rank == root)
            snprintf(text, sizeof text, "from rank %d", root);
        dist_broadcast(comm, text, sizeof text, root);
        char expected[24];
        snprintf(expected, sizeof expected, "from rank %d", root);
        check(strcmp(text, expected) == 0, "broadcast from each root", rank);
    }
}

/* Rank r has r + 1 numbers; rank 0 gathers all of them, and every rank receives from the one
   before. */
static void test_shares(dist_comm *comm)
{
    enum { MOST = 16 };
    int rank = dist_rank(comm), size = dist_size(comm);
    int64_t first[MOST + 1] = { 0 };
    double own[MOST], all[MOST * MOST] = { 0 };
    for (int r = 0; r < size; r++)
        first[r + 1] = first[r] + r + 1;
    for (int k = 0; k <= rank; k++)
        own[k] = 100.0 * rank + k;
    dist_collect(comm, own, all, sizeof *own, first);
    bool right = true;
    for (int r = 0; rank == 0 && r < size; r++)
        for (int k = 0; k <= r; k++)
            right = right && all[first[r] + k] == 100.0 * r + k;
    check(right, "collected on rank 0", rank);

    int64_t heard = -1, said = rank;
    if (rank > 0)
        dist_receive(comm, &heard, sizeof heard, rank - 1);
    if (rank + 1 < size)
        dist_send(comm, &said, sizeof said, rank + 1);
    check(heard == rank - 1, "a message from the rank before", rank);
}

/* More elements than one MPI call can take, and not a multiple of that. */
static void test_pieces(dist_comm *comm)
{
    enum { COUNT = (1 << 24) + 5 };
    int rank = dist_rank(comm), size = dist_size(comm);
    double *x = malloc(COUNT * sizeof *x);
    if (!x) {
        dist_abort(comm, 2);
        exit(2);
    }
    for (int64_t k = 0; k < COUNT; k++)
        x[k] = (double)(k % 1000);
    int64_t before = dist_volume(comm);
    dist_sum(comm, x, COUNT);
    bool right = true;
    for (int64_t k = 0; k < COUNT; k++)
        right = right && x[k] == (double)(k % 1000) * size;
    check(right, "a sum in several pieces", rank);
    check(size == 1 || dist_volume(comm) - before == COUNT * 8, "volume of a sum", rank);

    memset(x, rank == size - 1 ? 'x' : 'o', COUNT);
    dist_broadcast(comm, x, COUNT, size - 1);
    check(memchr(x, 'o', COUNT) == NULL, "a broadcast in several pieces", rank);
    free(x);
}

static bool ask_twice(void *context)
{
    int *asked = context;
    return ++*asked < 3;
}

/* Only the last rank has an observer or a limit: all ranks stop at the same point. */
static void test_stop(dist_comm *comm)
{
    int rank = dist_rank(comm), size = dist_size(comm), asked = 0, rounds = 0;
    bool last = rank == size - 1;
    dist_stop stop;
    dist_stop_open(&stop, comm, 0, last ? ask_twice : NULL, &asked);
    while (rounds < 10 && !dist_stop_now(&stop))
        rounds++;
    check(rounds == 2 && dist_stop_why(&stop) == DIST_STOP_OBSERVER, "stopped by one rank", rank);

    dist_stop_open(&stop, comm, last ? 0.05 : 0, NULL, NULL);
    double polls = 0, most;
    while (base_seconds() - stop.start < 30 && !dist_stop_poll(&stop, 3e5))
        polls++;
    most = polls;
    dist_max(comm, &most, 1);
    check(most == polls && dist_stop_why(&stop) == DIST_STOP_TIME, "a limit of one rank", rank);
}

int main(int argc, char **argv)
{
    dist_comm *comm;
    attsvm_error err;
    if (dist_start(&comm, &argc, &argv, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    int rank = dist_rank(comm), size = dist_size(comm);
    if (argc == 2 && strcmp(argv[1], "abort") == 0) {
        if (rank == size - 1) {
            dist_abort(comm, 3); /* a single process continues */
            dist_end(comm);
            return 3;
        }
        dist_agree(comm, ATTSVM_OK, &err); /* waits for the rank that aborts */
        return 3;
    }
    check(argc == 2 && size == atoi(argv[1]), "as many ranks as asked for", rank);
    check(rank >= 0 && rank < size, "0 <= rank < size", rank);
    test_sum(comm);
    test_sum_bits(comm);
    test_max(comm);
    test_broadcast(comm);
    test_shares(comm);
    test_pieces(comm);
    test_stop(comm);

    double total = failures;
    dist_sum(comm, &total, 1);
    if (rank == 0)
        printf("%d ranks, %g failures\n", size, total);
    dist_end(comm);
    return total > 0;
}
