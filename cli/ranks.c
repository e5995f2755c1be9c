/* Several processes that do one job: what they say, and how they end together. */
#include "cli.h"

#include <math.h>

/* A rank that fails waits so long for the others to come to the same end. */
static const double patience = 5;

void cli_ranks_json(const cli_call *call, io_json *json)
{
    if (dist_size(call->comm) == 1)
        return;
    io_json_set(json, "ranks", io_json_integer(dist_size(call->comm)));
    io_json_set(json, "bytes_sent", io_json_integer(dist_volume(call->comm)));
}

void cli_ranks_print(const cli_call *call)
{
    char sent[32];
    if (dist_size(call->comm) == 1)
        return;
    cli_bytes((double)dist_volume(call->comm), sent, sizeof sent);
    printf("Worked on %d ranks; the first has sent %s.\n", dist_size(call->comm), sent);
}

/* The verbs that work over several processes. */
static bool is_shared(const cli_verb *verb)
{
    static cli_run *const shared[] = { cli_train, cli_svm, cli_verify };
    for (size_t k = 0; k < sizeof shared / sizeof *shared; k++)
        if (verb->run == shared[k])
            return true;
    return false;
}

attsvm_status cli_ranks_check(cli_call *call, attsvm_error *err)
{
    cli_common *common = (cli_common *)call->common;
    if (dist_unjoined() > 1)
        return fail(err, ATTSVM_E_ARG,
                    "mpirun started %d processes, but this build has no MPI, and each would do the "
                    "whole job; `make mpi` builds build-mpi/attsvm",
                    dist_unjoined());
    if (dist_size(call->comm) == 1)
        return ATTSVM_OK;
    if (!is_shared(call->verb))
        return fail(err, ATTSVM_E_ARG, "it works in one process; start it without mpirun");
    if (dist_rank(call->comm) > 0) { /* rank 0 speaks and writes for all */
        common->output = NULL;
        common->json = false;
        common->quiet = true;
    }
    return ATTSVM_OK;
}

attsvm_status cli_ranks_end(dist_comm *comm, attsvm_status status, bool *negative, bool *alone,
                            attsvm_error *err)
{
    *alone = false;
    if (!dist_meet(comm, status == ATTSVM_OK ? INFINITY : patience)) {
        /* the others wait for this one, which cannot go on */
        attsvm_error said = *err;
        *alone = true;
        return fail(err, status, "rank %d: %.440s", dist_rank(comm), said.message);
    }
    status = dist_agree(comm, status, err);
    dist_broadcast(comm, negative, sizeof *negative, 0);
    if (dist_rank(comm) > 0)
        err->message[0] = '\0';
    return status;
}
