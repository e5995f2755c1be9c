# Warnings, sanitizers, and the instruction sets of the kernel files.
set(attsvm_warnings -Wall -Wextra -Wshadow -Wconversion)
if(ATTSVM_WERROR)
    list(APPEND attsvm_warnings -Werror)
endif()

add_library(attsvm_instruments INTERFACE)
if(ATTSVM_SANITIZE)
    target_compile_options(attsvm_instruments INTERFACE -fsanitize=address,undefined
                           -fno-sanitize-recover=all)
    target_link_options(attsvm_instruments INTERFACE -fsanitize=address,undefined)
endif()
if(ATTSVM_TSAN)
    target_compile_options(attsvm_instruments INTERFACE -fsanitize=thread)
    target_link_options(attsvm_instruments INTERFACE -fsanitize=thread)
endif()
if(ATTSVM_FUZZ)
    # small inputs must reach the code for large arrays, too
    target_compile_options(attsvm_instruments INTERFACE -fsanitize=fuzzer-no-link)
    # one source is C++, and clang links the checks of that only if asked
    target_link_options(attsvm_instruments INTERFACE -fsanitize-link-c++-runtime)
    target_compile_definitions(attsvm_instruments INTERFACE IO_MAP_FROM=256)
endif()
if(ATTSVM_COVERAGE)
    target_compile_options(attsvm_instruments INTERFACE --coverage -O0)
    target_link_options(attsvm_instruments INTERFACE --coverage)
endif()

add_library(attsvm_flags INTERFACE)
target_link_libraries(attsvm_flags INTERFACE attsvm_instruments)
target_include_directories(attsvm_flags INTERFACE ${PROJECT_SOURCE_DIR}/include
                           ${PROJECT_SOURCE_DIR}/src)
# No contraction: what is written is what is computed, by every compiler and on every processor.
target_compile_options(attsvm_flags INTERFACE ${attsvm_warnings} -ffp-contract=off -fno-math-errno)
target_compile_definitions(attsvm_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE
                           _GNU_SOURCE _FILE_OFFSET_BITS=64)
if(ATTSVM_MPI)
    target_compile_definitions(attsvm_flags INTERFACE ATTSVM_WITH_MPI)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT ATTSVM_PLAIN)
    set(attsvm_x86 ON)
    target_compile_definitions(attsvm_flags INTERFACE ATTSVM_X86)
endif()

# svm/norm/clp/guard.cc catches exceptions, in C++; it goes through the C compiler's driver, so that one
# compiler with one set of flags builds and links everything.
add_library(attsvm_guard OBJECT src/svm/norm/clp/guard.cc)
set_source_files_properties(src/svm/norm/clp/guard.cc PROPERTIES LANGUAGE C)
set_property(TARGET attsvm_guard PROPERTY C_STANDARD)
set_property(TARGET attsvm_guard PROPERTY LINKER_LANGUAGE C)
target_compile_options(attsvm_guard PRIVATE -x c++ -Wall -Wextra)
target_link_libraries(attsvm_guard PRIVATE attsvm_instruments)
list(APPEND attsvm_more_objects $<TARGET_OBJECTS:attsvm_guard>)
# Exceptions pass through these frames on their way there.
set_source_files_properties(src/svm/norm/linear_program.c PROPERTIES COMPILE_OPTIONS -fexceptions)
set_source_files_properties(src/svm/norm/clp/clp.c PROPERTIES COMPILE_DEFINITIONS
                            ATTSVM_CLP_FILE="${attsvm_clp_file}")

# src/la/kernels/kernels.c is compiled once for each instruction set.  The objects are
# listed in attsvm_more_objects.
# These checks of every load and store of a kernel, all of them inline, double the time of its
# compilation; a wrong address is AddressSanitizer's to find.
if(ATTSVM_SANITIZE)
    set(attsvm_kernel_checks -fno-sanitize=null,object-size,pointer-overflow)
endif()
function(attsvm_kernel_set name vector_bytes)
    add_library(attsvm_kernels_${name} OBJECT src/la/kernels/kernels.c)
    target_link_libraries(attsvm_kernels_${name} PRIVATE attsvm_flags)
    target_compile_definitions(attsvm_kernels_${name} PRIVATE KERNELS=la_${name} NAME="${name}"
                               VECTOR_BYTES=${vector_bytes})
    target_compile_options(attsvm_kernels_${name} PRIVATE ${ARGN} ${attsvm_kernel_checks})
    set(attsvm_more_objects ${attsvm_more_objects} $<TARGET_OBJECTS:attsvm_kernels_${name}>
        PARENT_SCOPE)
endfunction()

attsvm_kernel_set(baseline 16)
if(attsvm_x86)
    attsvm_kernel_set(avx2 32 -mavx2 -mfma -mf16c)
    attsvm_kernel_set(avx512 64 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mf16c)
endif()

# LAPACK's routines that la calls, and all that they call, with our BLAS, as one object.
add_library(attsvm_blas OBJECT src/la/lapack/blas.c src/la/lapack/blas_vectors.c)
target_link_libraries(attsvm_blas PRIVATE attsvm_flags)
set(lapack_routines dgesdd_ dsyevd_ dsygst_ dpotrf_ dpotri_ dpstrf_ dgeqp3_ dorgqr_)
list(TRANSFORM lapack_routines PREPEND "--undefined=" OUTPUT_VARIABLE lapack_wanted)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/lapack.o
                   COMMAND ${CMAKE_LINKER} -r -o lapack.o ${lapack_wanted}
                           $<TARGET_OBJECTS:attsvm_blas> ${ATTSVM_LAPACK}
                   DEPENDS attsvm_blas $<TARGET_OBJECTS:attsvm_blas> ${ATTSVM_LAPACK}
                   COMMAND_EXPAND_LISTS VERBATIM)
list(APPEND attsvm_more_objects ${PROJECT_BINARY_DIR}/lapack.o)
