# Everything we stand on, found once.  `tools/setup` installs it by Debian package name.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(zip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)

# Our own blocks are the parallelism, so BLAS is called from several threads at once and must stay
# on the calling one (la sets its thread count to 1).  The pthread flavour of OpenBLAS can do that.
# The serial flavour cannot: its buffers have no lock, and two calls at a time give wrong products.
# LAPACKE comes as an archive, whose calls end in the LAPACK of that same OpenBLAS; the shared
# liblapacke would load the system's default liblapack beside it, maybe of another flavour.
find_library(ATTSVM_OPENBLAS NAMES openblas REQUIRED
             HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread)
find_library(ATTSVM_LAPACKE NAMES liblapacke.a lapacke REQUIRED)
file(REAL_PATH ${ATTSVM_OPENBLAS} openblas_path)
if(openblas_path MATCHES "openblas-serial")
    message(FATAL_ERROR "${ATTSVM_OPENBLAS} is the serial OpenBLAS, which gives wrong products when "
                        "called from two threads; install libopenblas-pthread-dev")
endif()
find_path(ATTSVM_CBLAS_INCLUDE NAMES cblas.h REQUIRED
          HINTS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread
                /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
find_path(ATTSVM_LAPACKE_INCLUDE NAMES lapacke.h REQUIRED)
# Linear programs of the l1 and l_infinity norms.
find_library(ATTSVM_CLP NAMES Clp REQUIRED)
find_path(ATTSVM_CLP_INCLUDE NAMES coin/Clp_C_Interface.h REQUIRED)

add_library(attsvm_dependencies INTERFACE)
target_link_libraries(attsvm_dependencies INTERFACE ${ATTSVM_LAPACKE} ${ATTSVM_OPENBLAS}
                      ${ATTSVM_CLP} PkgConfig::zip PkgConfig::jansson Threads::Threads m)
target_include_directories(attsvm_dependencies SYSTEM INTERFACE ${ATTSVM_CBLAS_INCLUDE}
                           ${ATTSVM_LAPACKE_INCLUDE} ${ATTSVM_CLP_INCLUDE})
if(ATTSVM_MPI)
    find_package(MPI REQUIRED COMPONENTS C)
    target_link_libraries(attsvm_dependencies INTERFACE MPI::MPI_C)
endif()

# The same by bare names, for those who link the installed archive.  libzip's and lapack's own
# .pc files would add libraries (bz2, ssl, gfortran) that their -dev packages do not bring and that
# only a wholly static program needs.
set(attsvm_archive_needs lapacke openblas Clp zip jansson ${MPI_C_LIB_NAMES} pthread m)
list(REMOVE_DUPLICATES attsvm_archive_needs)

# Debian lets an administrator swap libopenblas.so.0 for another flavour.  What we install looks
# first for the one that it was built with.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
