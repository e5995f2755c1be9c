/*
 * Checks the output files of a command before its first step: they can be written, their format can
 * hold the content, and none overwrites an input or another output.
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Flags that name files; words such as opt or gauss:1 are not file names. */
static const char *const written[] = { "output", "checkpoint", "svg", "dot", "html" };
static const char *const read_flags[] = { "select", "init", "trained", "data", "embeddings" };
enum { WRITTEN = sizeof written / sizeof *written, READ = sizeof read_flags / sizeof *read_flags };

/* The value of a text flag; NULL if the verb has no such flag or it was not given. */
static const char *text_of(const cli_call *call, const char *name)
{
    for (int k = 0; cli_table(call->verb, k); k++) {
        const field *f = attsvm_settings_find(cli_table(call->verb, k), name);
        if (!f || f->kind != FIELD_TEXT)
            continue;
        const char *text;
        memcpy(&text, (const char *)call->settings[k] + f->offset, sizeof text);
        return text && *text ? text : NULL;
    }
    return NULL;
}

static const char *flag_of(const char *name, char *out, size_t size)
{
    if (strcmp(name, "output") == 0)
        snprintf(out, size, "-o");
    else
        snprintf(out, size, "--%s", name);
    return out;
}

/* The folder of a file; "." if its name has none. */
static bool stat_folder(const char *path, struct stat *out)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return stat(".", out) == 0;
    char *folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    bool found = folder && stat(folder, out) == 0;
    free(folder);
    return found;
}

/* Compares device and inode, or, for files that do not exist yet, folder and name. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    const bool a_exists = stat(a, &x) == 0, b_exists = stat(b, &y) == 0;
    if (a_exists != b_exists)
        return false;
    if (a_exists)
        return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    const char *a_name = strrchr(a, '/'), *b_name = strrchr(b, '/');
    return strcmp(a_name ? a_name + 1 : a, b_name ? b_name + 1 : b) == 0 && stat_folder(a, &x) &&
           stat_folder(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static attsvm_status spare_inputs(const cli_call *call, const char *flag, const char *file,
                                  attsvm_error *err)
{
    for (int k = 0; k < call->count; k++)
        if (is_same_file(file, call->arguments[k]))
            return fail(err, ATTSVM_E_ARG,
                        "%s %s would overwrite an input file; choose another name.", flag, file);
    for (int k = 0; k < READ; k++) {
        const char *other = text_of(call, read_flags[k]);
        if (other && is_same_file(file, other))
            return fail(err, ATTSVM_E_ARG,
                        "%s %s would overwrite the file that --%s reads; choose another name.",
                        flag, file, read_flags[k]);
    }
    return ATTSVM_OK;
}

static attsvm_status spare_others(const cli_call *call, int before, const char *flag,
                                  const char *file, attsvm_error *err)
{
    char name[32];
    for (int k = 0; k < before; k++) {
        const char *other = text_of(call, written[k]);
        if (other && (strcmp(other, file) == 0 || is_same_file(other, file)))
            return fail(err, ATTSVM_E_ARG, "%s and %s both write %s; choose two names.", flag,
                        flag_of(written[k], name, sizeof name), file);
    }
    return ATTSVM_OK;
}

/* The content that the format must be able to hold. */
static attsvm_file_content content_of(const cli_call *call, const char *name)
{
    const char *verb = call->verb->name;
    if (strcmp(name, "checkpoint") == 0)
        return ATTSVM_FILE_RESULT;
    if (strcmp(name, "output") != 0 || strcmp(verb, "demo") == 0)
        return ATTSVM_FILE_TEXT;
    return strcmp(verb, "generate") == 0 || strcmp(verb, "info") == 0 ? ATTSVM_FILE_DATA
                                                                      : ATTSVM_FILE_RESULT;
}

attsvm_status cli_outputs_check(const cli_call *call, attsvm_error *err)
{
    const bool into_folder = strcmp(call->verb->name, "reproduce") == 0;
    /* info writes the same data again and may overwrite its input */
    const bool in_place = strcmp(call->verb->name, "info") == 0;
    for (int k = 0; k < WRITTEN; k++) {
        const char *file = text_of(call, written[k]);
        char flag[32];
        if (!file || (into_folder && k == 0))
            continue;
        flag_of(written[k], flag, sizeof flag);
        if (!in_place)
            TRY(spare_inputs(call, flag, file, err));
        TRY(spare_others(call, k, flag, file, err));
        if (dist_rank(call->comm) == 0) /* other ranks write nothing and may be on other machines */
            TRY(attsvm_file_check(file, content_of(call, written[k]), err));
    }
    return ATTSVM_OK;
}
