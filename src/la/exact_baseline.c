#define VECTOR_BYTES 16
#define EXACT        la_exact_baseline
#include "la/exact.inc"
