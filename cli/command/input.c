/* What most commands begin with: a data set, and the tokens that are selected in it. */
#include "cli/cli.h"

attsvm_status cli_data_read(const cli_call *call, const char *path, attsvm_data **out,
                            attsvm_error *err)
{
    attsvm_read_settings reading;
    attsvm_read_settings_init(&reading);
    reading.threads = call->common->threads;
    reading.memory = call->common->memory;
    reading.comm = call->comm;
    return attsvm_data_read(out, path, &reading, err);
}

attsvm_status cli_choose(attsvm_chosen **out, const attsvm_data *data, const char *file,
                         const attsvm_svm_settings *settings, const char *source, attsvm_error *err)
{
    attsvm_status status = attsvm_chosen_create(out, data, settings, source, err);
    return status == ATTSVM_E_DATA ? base_fail_in(err, status, file) : status;
}
