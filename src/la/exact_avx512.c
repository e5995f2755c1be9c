#define VECTOR_BYTES 64
#define EXACT        la_exact_avx512
#include "la/exact.inc"
