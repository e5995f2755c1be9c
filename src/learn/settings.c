/* Settings of fits, predictions and cross-validation. */
#include "learn/learn.h"

#include <string.h>

static const char *const pool_names[] = { "auto", "prompt", "score", "witness", "mean", NULL };
static const char *const scale_names[] = { "standard", "none", NULL };
static const char *const weight_names[] = { "balanced", "equal", NULL };

#define SETTINGS attsvm_fit_settings
static const field fit_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(pool), FIELD_CHOICE, ATTSVM_POOL_AUTO, ATTSVM_POOL_MEAN, ATTSVM_POOL_AUTO,
      "how tokens become a score: prompt (attention), score (between mean and maximum), witness "
      "(adding a token can only raise the score), mean; auto: prompt or score, by validation",
      pool_names, 0 },
    { F(heads), FIELD_INT, 1, 64, 1, "prompts of the pool prompt", 0, 0 },
    { F(ridge), FIELD_DOUBLE, -1, 1e300, 1e-4,
      "weight of the squared norms in the objective; auto (or -1): by validation", 0, 0 },
    { F(starts), FIELD_INT, 1, 1000, 5,
      "members of the ensemble, from different random start values", 0, 0 },
    { F(scale), FIELD_CHOICE, ATTSVM_SCALE_STANDARD, ATTSVM_SCALE_NONE, ATTSVM_SCALE_STANDARD,
      "standard: subtract the mean of each feature and divide by its deviation; none: as stored",
      scale_names, 0 },
    { F(weights), FIELD_CHOICE, ATTSVM_WEIGHTS_BALANCED, ATTSVM_WEIGHTS_EQUAL,
      ATTSVM_WEIGHTS_BALANCED, "balanced: every class counts the same; equal: every bag does",
      weight_names, 0 },
    { F(iterations), FIELD_INT, 1, 1e9, 200, "maximum L-BFGS iterations for each member", 0, 0 },
    { F(batch), FIELD_INT, 1, 1e18, 2e8,
      "token values (tokens x d) above which a fit starts on a sample of bags", 0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0, "time limit in seconds; 0 = no limit", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "of start values and folds", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads; 0: all cores", 0, 0 },
};
#undef SETTINGS

static attsvm_status set_fit(const attsvm_setting *f, void *settings, const char *value,
                             attsvm_error *err)
{
    if (strcmp(f->name, "ridge") == 0 && strcmp(value, "auto") == 0)
        value = "-1";
    return base_settings_set(f, settings, value, err);
}

const settings_table attsvm_fit_table = { "fit", fit_fields, sizeof fit_fields / sizeof *fit_fields,
                                          sizeof(attsvm_fit_settings), set_fit };

#define SETTINGS attsvm_predict_settings
static const field predict_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(explain), FIELD_BOOL, 0, 1, 1, "find the tokens that decided", 0, 0 },
    { F(faithful), FIELD_BOOL, 0, 1, 0, "measure how much the top tokens carry", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "of the random order to compare with", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads; 0: all cores", 0, 0 },
};
#undef SETTINGS

const settings_table attsvm_predict_table = { "predict", predict_fields,
                                              sizeof predict_fields / sizeof *predict_fields,
                                              sizeof(attsvm_predict_settings), NULL };

#define SETTINGS attsvm_cv_settings
static const field cv_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(folds), FIELD_INT, 2, 1e9, 10, "stratified folds", 0, 0 },
    { F(repeats), FIELD_INT, 1, 1e6, 5, "repetitions, each with new folds", 0, 0 },
};
#undef SETTINGS

const settings_table attsvm_cv_table = { "cv", cv_fields, sizeof cv_fields / sizeof *cv_fields,
                                         sizeof(attsvm_cv_settings), NULL };

void attsvm_fit_settings_init(attsvm_fit_settings *settings)
{
    attsvm_settings_init(&attsvm_fit_table, settings);
}

void attsvm_predict_settings_init(attsvm_predict_settings *settings)
{
    attsvm_settings_init(&attsvm_predict_table, settings);
}

void attsvm_cv_settings_init(attsvm_cv_settings *settings)
{
    attsvm_settings_init(&attsvm_cv_table, settings);
}
