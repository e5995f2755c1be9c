#define VECTOR_BYTES 32
#define KERNELS      la_avx2
#define NAME         "avx2"
#include "la/kernels.inc"
