#define VECTOR_BYTES 64
#define KERNELS      la_avx512
#define NAME         "avx512"
#include "la/kernels.inc"
