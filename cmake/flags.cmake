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
# No contraction outside the kernels: what is written is what is computed, on every platform.
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

# src/la/kernels_*.c hold one and the same source, compiled for several instruction sets.
macro(attsvm_kernel_flags)
    set_source_files_properties(src/la/kernels_baseline.c PROPERTIES COMPILE_OPTIONS
                                "-ffp-contract=fast")
    if(attsvm_x86)
        set_source_files_properties(src/la/kernels_avx2.c PROPERTIES COMPILE_OPTIONS
                                    "-mavx2;-mfma;-mf16c;-ffp-contract=fast")
        set_source_files_properties(src/la/kernels_avx512.c PROPERTIES COMPILE_OPTIONS
            "-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mfma;-mf16c;-ffp-contract=fast")
        set_source_files_properties(src/la/exact_avx2.c PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
        set_source_files_properties(src/la/exact_avx512.c PROPERTIES COMPILE_OPTIONS
                                    "-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mfma")
    else()
        list(FILTER library_sources EXCLUDE REGEX "(kernels|exact)_avx[0-9]+\\.c$")
    endif()
endmacro()
