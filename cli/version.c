/* attsvm --version */
#include "cli/cli.h"

#define TEXT(x)  #x
#define VALUE(x) TEXT(x)
#if defined(__clang__)
#define COMPILER                                                                                   \
    "clang " VALUE(__clang_major__) "." VALUE(__clang_minor__) "." VALUE(__clang_patchlevel__)
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "C" VALUE(__STDC_VERSION__)
#endif

#ifdef ATTSVM_WITH_MPI
static const bool with_mpi = true;
#else
static const bool with_mpi = false;
#endif

static const char blas[] = "none but what Clp loads (norms l1, linf)";

attsvm_status cli_version(cli_call *call, attsvm_error *err)
{
    if (call->common->json) {
        io_json *json = io_json_object();
        io_json_set(json, "version", io_json_text(attsvm_version()));
        io_json_set(json, "kernels", io_json_text(attsvm_kernels()));
        io_json_set(json, "blas", io_json_text(blas));
        io_json_set(json, "compiler", io_json_text(COMPILER));
        io_json_set(json, "mpi", io_json_bool(with_mpi));
        attsvm_status status = io_json_print(json, stdout, false, err);
        io_json_free(json);
        return status;
    }
    printf("attsvm %s\nkernels   %s\nBLAS      %s\ncompiler  %s\nMPI       %s\n", attsvm_version(),
           attsvm_kernels(), blas, COMPILER, with_mpi ? "yes" : "no");
    return ATTSVM_OK;
}
