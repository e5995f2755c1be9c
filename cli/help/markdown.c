/* attsvm help --markdown: docs/reference.md. */
#include "cli/cli.h"

/* A bar ends a cell, so it is escaped. */
static void put_cell(FILE *out, const char *text)
{
    fputs(" ", out);
    for (const char *c = text; *c; c++)
        fprintf(out, "%s%c", *c == '|' ? "\\" : "", *c);
    fputs(" |", out);
}

static void put_flag(FILE *out, const field *f)
{
    char name[64], form[128], standard[64], range[320], meaning[512];
    cli_flag_name(f, name, sizeof name);
    base_settings_print(f, NULL, standard, sizeof standard);
    cli_field_range(f, range, sizeof range);
    cli_field_meaning(f, meaning, sizeof meaning);
    const char *value = cli_placeholder(f);
    bool on = f->kind == FIELD_BOOL && f->standard != 0;
    char letter[8] = "";
    if (cli_letter(f))
        snprintf(letter, sizeof letter, "`-%c`, ", cli_letter(f));
    snprintf(form, sizeof form, "%s`--%s%s%s%s`", letter, on ? "[no-]" : "", name,
             *value ? " " : "", value);
    fputs("|", out);
    put_cell(out, form);
    put_cell(out, standard);
    put_cell(out, range);
    put_cell(out, meaning);
    fputs("\n", out);
}

static void put_head(FILE *out)
{
    fputs("\n| flag | default | range | meaning |\n|---|---|---|---|\n", out);
}

static void put_verb(FILE *out, const cli_verb *verb)
{
    fprintf(out, "\n## attsvm %s\n\n%c%s.\n\n", verb->name, verb->summary[0] - 'a' + 'A',
            verb->summary + 1);
    fprintf(out, "    attsvm %s [flags]%s%s\n\n", verb->name, *verb->arguments ? " " : "",
            verb->arguments);
    cli_wrap(out, verb->about, 0, 0, 100);
    const settings_table *t;
    for (int k = 0; (t = cli_table(verb, k)) != &cli_common_table; k++)
        for (size_t f = 0; f < t->count; f++) {
            if (k == 0 && f == 0)
                put_head(out);
            if (cli_is_shown(verb, k, &t->fields[f]))
                put_flag(out, &t->fields[f]);
        }
    if (verb->output) {
        fputs("\n", out);
        cli_wrap(out, verb->output, 0, 0, 100);
    }
    fprintf(out, "\nExample:\n\n    %s\n", verb->example);
}

void cli_markdown(FILE *out)
{
    fputs("# The command attsvm\n\n", out);
    cli_wrap(out,
             "Made by `attsvm help --markdown` from the tables that also define the flags of the "
             "program; `make docs` updates it.",
             0, 0, 100);
    fputs("\n| command | |\n|---|---|\n", out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        fprintf(out, "| [%s](#attsvm-%s) | %s |\n", verb->name, verb->name, verb->summary);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        put_verb(out, verb);
    fputs("\n## Flags of every command\n", out);
    put_head(out);
    for (size_t f = 0; f < cli_common_table.count; f++)
        put_flag(out, &cli_common_table.fields[f]);
    fputs("| `-h`, `--help` |  |  | help for the command |\n\n", out);
    cli_wrap(out,
             "`--name VALUE` and `--name=VALUE` are the same, as are `-` and `_` in names. "
             "`--no-name` turns off a flag that is on by default, and `--` ends the flags. A flag "
             "without effect causes a warning (not with -q); flags that contradict each other are "
             "refused. The table says when a flag has an effect.",
             0, 0, 100);
    fputs("\n## Exit status\n\n| status | meaning |\n|---|---|\n", out);
    for (const cli_entry *e = cli_exits; e->name; e++)
        fprintf(out, "| %s | %s |\n", e->name, e->meaning);
    fputs("\n## Arrays of a data set\n\n| array | shape | meaning |\n|---|---|---|\n", out);
    for (const cli_entry *e = cli_arrays; e->name; e++)
        fprintf(out, "| `%s` | %s | %s |\n", e->name, e->shape, e->meaning);
}
