/* --svg and --html of train, verify, path and tokens: figures of the user's data. */
#include "cli/cli.h"

#define SETTINGS cli_picture_options
static const field picture_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(svg), FIELD_TEXT, 0, 0, 0, "file for a figure of the result (needs gnuplot)", 0, "" },
    { F(html), FIELD_TEXT, 0, 0, 0, "file for a page with the figure and the result in words", 0,
      "" },
};
const settings_table cli_picture_table = { "picture options", picture_fields,
                                           sizeof picture_fields / sizeof *picture_fields,
                                           sizeof(cli_picture_options), NULL };
#undef SETTINGS

bool cli_picture_wanted(const cli_call *call)
{
    const cli_picture_options *o = cli_settings(call, &cli_picture_table);
    return *o->svg || *o->html;
}

attsvm_status cli_picture_check(const cli_call *call, attsvm_error *err)
{
    return cli_picture_wanted(call) ? experiments_ready(err) : ATTSVM_OK;
}

experiments_picture cli_picture(const cli_call *call, const char *title, const char *text)
{
    const cli_picture_options *o = cli_settings(call, &cli_picture_table);
    bool first = dist_rank(call->comm) == 0;
    return (experiments_picture){ first ? o->svg : "", first ? o->html : "", title, text };
}
