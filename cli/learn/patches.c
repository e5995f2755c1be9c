/* attsvm patches: images into bags of windows. */
#include "cli/cli.h"

attsvm_status cli_patches(cli_call *call, attsvm_error *err)
{
    const char *from = call->arguments[0], *to = call->common->output;
    attsvm_patches_info info;
    attsvm_archive *written;
    TRY(attsvm_patches_cut(from, to, cli_settings(call, &attsvm_patches_table), &info, err));
    TRY(attsvm_archive_open(&written, to, NULL, err));
    const bool labelled = attsvm_archive_find(written, "y") != NULL;
    attsvm_archive_free(written);
    if (call->common->json) {
        io_json *json = io_json_object();
        io_json_set(json, "file", io_json_text(to));
        io_json_set(json, "n", io_json_integer(info.n));
        io_json_set(json, "T", io_json_integer(info.rows * info.columns));
        io_json_set(json, "d", io_json_integer(info.d));
        io_json_set(json, "rows", io_json_integer(info.rows));
        io_json_set(json, "columns", io_json_integer(info.columns));
        attsvm_status status = io_json_print(json, stdout, false, err);
        io_json_free(json);
        return status;
    }
    if (!call->common->quiet)
        printf("%s: %" PRId64 " image%s of %" PRId64 " x %" PRId64 " pixels, %" PRId64 " x %" PRId64
               " windows each, %" PRId64 " feature%s\n%sWrote %s.\n",
               from, info.n, base_plural(info.n), info.height, info.width, info.rows, info.columns,
               info.d, base_plural(info.d),
               labelled ? "" : "No labels: the file has no array y; --labels names another.\n", to);
    return ATTSVM_OK;
}
