/*
 * Clp, the simplex of COIN-OR, for linear_program.c alone.
 *
 * It is loaded with the first linear program, not with the library: it brings the system's LAPACK
 * with it, often an OpenBLAS that starts a thread for every core when it is loaded, and those wait
 * for memory for ever where it is short.  A program that has no linear program to solve never meets
 * them.
 */
#ifndef ATTSVM_CLP_H
#define ATTSVM_CLP_H

#include "base/base.h"

#include <coin/Clp_C_Interface.h>

#define CLP_CALLS(CALL)                                                                            \
    CALL(newModel)                                                                                 \
    CALL(deleteModel)                                                                              \
    CALL(setLogLevel)                                                                              \
    CALL(loadProblem)                                                                              \
    CALL(setPrimalTolerance)                                                                       \
    CALL(setDualTolerance)                                                                         \
    CALL(setMaximumIterations)                                                                     \
    CALL(primal)                                                                                   \
    CALL(dual)                                                                                     \
    CALL(status)                                                                                   \
    CALL(numberIterations)                                                                         \
    CALL(statusArray)                                                                              \
    CALL(copyinStatus)                                                                             \
    CALL(primalColumnSolution)                                                                     \
    CALL(dualRowSolution)

/* clp->primal is Clp_primal, and so on. */
typedef struct clp_calls {
#define CALL(name) __typeof__(&Clp_##name) name;
    CLP_CALLS(CALL)
#undef CALL
} clp_calls;

/* Loads it once for the process; ATTSVM_E_OPEN where it is not installed. */
attsvm_status clp_load(const clp_calls **out, attsvm_error *err);

/*
 * body(context), which may call Clp: an exception of C++ that it throws ends here, as
 * ATTSVM_E_MEMORY or ATTSVM_E_NUMERIC.
 */
attsvm_status clp_run(void (*body)(void *context), void *context, attsvm_error *err);

#endif
