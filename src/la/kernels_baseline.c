#define VECTOR_BYTES 16
#define KERNELS      la_baseline
#define NAME         "baseline"
#include "la/kernels.inc"
