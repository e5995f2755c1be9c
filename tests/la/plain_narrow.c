#define KERNELS_PLAIN
#define VECTOR_BYTES 16
#define KERNELS      plain_narrow
#define NAME         "plain, 16 bytes"
#include "la/kernels/kernels.c" // NOLINT(bugprone-suspicious-include): once for each width
