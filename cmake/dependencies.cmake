# Everything we stand on, found once.  `tools/setup` installs it by Debian package name.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(zip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)

# LAPACK as an archive, linked in; the BLAS that it calls is src/la/lapack/blas*.c.  So no library of BLAS is
# loaded: OpenBLAS starts a thread for every core when it is loaded, which waits for its buffer for
# ever where memory is short and ends the process where threads are; its bits follow the processor;
# and it was no faster (singular values at d = 64 to 512: 0.9 to 1.1 times our time).
find_library(ATTSVM_LAPACK NAMES liblapack_pic.a REQUIRED)
# Linear programs of the l1 and l_infinity norms, loaded when the first one comes (svm/norm/clp).
find_library(ATTSVM_CLP NAMES Clp REQUIRED)
find_path(ATTSVM_CLP_INCLUDE NAMES coin/Clp_C_Interface.h REQUIRED)
execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${ATTSVM_CLP} OUTPUT_VARIABLE clp_headers
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "SONAME +([^\n]*)" found "${clp_headers}")
set(attsvm_clp_file ${CMAKE_MATCH_1})
# Exact arithmetic of certificates.
find_library(ATTSVM_GMP NAMES gmp REQUIRED)
find_path(ATTSVM_GMP_INCLUDE NAMES gmp.h REQUIRED)

add_library(attsvm_dependencies INTERFACE)
target_link_libraries(attsvm_dependencies INTERFACE ${ATTSVM_GMP} PkgConfig::zip PkgConfig::jansson
                      Threads::Threads stdc++ ${CMAKE_DL_LIBS} m)
target_include_directories(attsvm_dependencies SYSTEM INTERFACE ${ATTSVM_CLP_INCLUDE} ${ATTSVM_GMP_INCLUDE})
if(ATTSVM_MPI)
    find_package(MPI REQUIRED COMPONENTS C)
    target_link_libraries(attsvm_dependencies INTERFACE MPI::MPI_C)
endif()

# The same by bare names, for those who link the installed archive, which has LAPACK inside.  libzip's
# own .pc file would add libraries (bz2, ssl) that its -dev package does not bring and that only a
# wholly static program needs.
set(attsvm_archive_needs gmp zip jansson ${MPI_C_LIB_NAMES} stdc++ ${CMAKE_DL_LIBS} pthread m)
list(REMOVE_DUPLICATES attsvm_archive_needs)
