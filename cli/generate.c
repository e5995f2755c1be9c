/* attsvm generate: writes a random data set. */
#include "cli/cli.h"

#define SETTINGS generate_options
typedef struct generate_options {
    bool deflate;
} generate_options;
static const field generate_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(deflate), FIELD_BOOL, 0, 1, 0,
      "compress the arrays of an .npz, which then cannot be memory-mapped", 0, 0 },
};
const settings_table cli_generate_table = { "generate options", generate_fields,
                                            sizeof generate_fields / sizeof *generate_fields,
                                            sizeof(generate_options), NULL };
#undef SETTINGS

/* The name of a choice setting's value. */
static void choice_text(const attsvm_generate_settings *s, const char *name, char *out, size_t size)
{
    attsvm_settings_get(&attsvm_generate_table, s, name, out, size);
}

static attsvm_status print_json(const char *path, const attsvm_generator_info *g, attsvm_error *err)
{
    const attsvm_generate_settings *s = &g->settings;
    int64_t bytes = 0;
    char kind[32], dtype[32];
    choice_text(s, "kind", kind, sizeof kind);
    choice_text(s, "dtype", dtype, sizeof dtype);
    io_json *json = io_json_object(), *list = io_json_object();
    for (int64_t k = 0; k < g->count; k++) {
        if (!attsvm_format_holds(path, g->arrays[k].name))
            continue;
        io_json_set(list, g->arrays[k].name, cli_array_json(&g->arrays[k].array));
        bytes += cli_array_bytes(&g->arrays[k].array);
    }
    io_json_set(json, "file", io_json_text(path));
    io_json_set(json, "kind", io_json_text(kind));
    io_json_set(json, "n", io_json_integer(s->n));
    io_json_set(json, "T", io_json_integer(s->T));
    io_json_set(json, "d", io_json_integer(s->d));
    io_json_set(json, "tokens", io_json_integer(g->tokens));
    io_json_set(json, "dtype", io_json_text(dtype));
    io_json_set(json, "seed", io_json_integer(s->seed));
    io_json_set(json, "bytes", io_json_integer(bytes));
    io_json_set(json, "arrays", list);
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

static void print_arrays(const char *path, const attsvm_generator_info *g)
{
    for (int64_t k = 0; k < g->count; k++) {
        char shape[64], size[32];
        attsvm_array_shape_text(&g->arrays[k].array, shape, sizeof shape);
        cli_bytes((double)cli_array_bytes(&g->arrays[k].array), size, sizeof size);
        if (attsvm_format_holds(path, g->arrays[k].name))
            printf("  %-10s%-9s%-20s%s\n", g->arrays[k].name,
                   attsvm_dtype_name(g->arrays[k].array.dtype), shape, size);
        else
            printf("  %-10sleft out: a table holds tokens and labels only\n", g->arrays[k].name);
    }
}

static void print_text(const char *path, const attsvm_generator_info *g)
{
    const attsvm_generate_settings *s = &g->settings;
    char kind[32], lengths[64];
    choice_text(s, "kind", kind, sizeof kind);
    if (s->T_min > 0)
        snprintf(lengths, sizeof lengths, "%" PRId64 " to %" PRId64, s->T_min, s->T);
    else
        snprintf(lengths, sizeof lengths, "%" PRId64, s->T);
    printf("%s: %" PRId64 " sequence%s of %s token%s in %" PRId64 " dimension%s, %s, seed %" PRId64
           "\n\n",
           path, s->n, base_plural(s->n), lengths, base_plural(s->T), s->d, base_plural(s->d), kind,
           s->seed);
    print_arrays(path, g);
    printf("\nNext: attsvm info %s\n", cli_shown(path));
}

attsvm_status cli_generate(cli_call *call, attsvm_error *err)
{
    const generate_options *options = cli_settings(call, &cli_generate_table);
    const char *path = call->common->output;
    attsvm_generator *g;
    TRY(attsvm_generator_create(&g, cli_settings(call, &attsvm_generate_table), err));
    cli_progress progress = cli_progress_start(call, "generate");
    attsvm_status status =
        attsvm_generator_write(g, path, options->deflate, cli_progress_show, &progress, err);
    cli_progress_end(&progress);
    const attsvm_generator_info info = attsvm_generator_describe(g);
    if (status == ATTSVM_OK && call->common->json)
        status = print_json(path, &info, err);
    else if (status == ATTSVM_OK && !call->common->quiet)
        print_text(path, &info);
    attsvm_generator_free(g);
    return status;
}
