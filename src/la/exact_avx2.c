#define VECTOR_BYTES 32
#define EXACT        la_exact_avx2
#include "la/exact.inc"
