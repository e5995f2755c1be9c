/* The list of all settings tables. */
#include "result/result.h"

const attsvm_settings_table *attsvm_settings_list(int64_t k)
{
    static const attsvm_settings_table *const tables[] = {
        &attsvm_read_table,    &attsvm_generate_table,  &attsvm_svm_table,   &attsvm_check_table,
        &attsvm_train_table,   &attsvm_enumerate_table, &attsvm_joint_table, &attsvm_path_table,
        &attsvm_fit_table,     &attsvm_predict_table,   &attsvm_cv_table,    &attsvm_samples_table,
        &attsvm_patches_table,
    };
    return k >= 0 && k < (int64_t)(sizeof tables / sizeof *tables) ? tables[k] : NULL;
}
