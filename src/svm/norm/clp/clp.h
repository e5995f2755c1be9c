/*
 * Clp, the simplex solver of COIN-OR, used only by linear_program.c.
 *
 * It is loaded with the first linear program, not with the library: it loads the LAPACK of the
 * system, often an OpenBLAS that starts a thread for every core, which hangs if memory is short.  A
 * program that solves no linear program is not affected.
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

/* Loads it once per process; ATTSVM_E_OPEN if it is not installed. */
attsvm_status clp_load(const clp_calls **out, attsvm_error *err);

/*
 * Calls body(context), which may call Clp, and converts a C++ exception to ATTSVM_E_MEMORY or
 * ATTSVM_E_NUMERIC.
 */
attsvm_status clp_run(void (*body)(void *context), void *context, attsvm_error *err);

#endif
