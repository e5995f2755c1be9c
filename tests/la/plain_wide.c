#define KERNELS_PLAIN
#define VECTOR_BYTES 64
#define KERNELS      plain_wide
#define NAME         "plain, 64 bytes"
#include "la/kernels/kernels.c" // NOLINT(bugprone-suspicious-include): once for each width
