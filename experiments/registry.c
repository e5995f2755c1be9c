/* The experiments in the order of the page. To add one, write a file in a subfolder and a line
   here. */
#include "experiments/experiments.h"

/* clang-format off */
#define EXPERIMENTS(X)     \
    X(mm_single_global)    \
    X(mm_single_local)     \
    X(mm_multi)            \
    X(mm_joint_tight)      \
    X(mm_joint_slack)      \
    X(mm_loss)             \
    X(mm_attention)        \
    X(mm_image)            \
    X(ts_path)             \
    X(ts_local)            \
    X(ts_rank)             \
    X(ts_multitoken)       \
    X(ts_global)           \
    X(ts_grid)             \
    X(ts_lambda)           \
    X(causal)              \
    X(basin)               \
    X(nuclear_ridge)       \
    X(md_path)             \
    X(md_corr)             \
    X(geometry)            \
    X(geometry_decay)      \
    X(saturation)          \
    X(rates)               \
    X(ntp)                 \
    X(regularisation_path)
/* clang-format on */

#define DECLARE(name) extern const experiment name;
EXPERIMENTS(DECLARE)

#define ENTRY(name) &name,
const experiment *const experiments_all[] = { EXPERIMENTS(ENTRY) NULL };
