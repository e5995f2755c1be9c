/* The experiments in the order of the page: a line each. */
#include "experiments/experiments.h"

extern const experiment mm_single_global, mm_single_local;

const experiment *const experiments_all[] = {
    &mm_single_global,
    &mm_single_local,
    NULL,
};
