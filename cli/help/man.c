/* attsvm help --man: the manual page, in man(7) macros. */
#include "cli/cli.h"

/* Text for roff: hyphens that can be copied, no accidental escapes or requests. */
static void put(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '-')
            fputs("\\-", out);
        else if (*c == '\\')
            fputs("\\e", out);
        else if ((*c == '.' || *c == '\'') && c == text)
            fprintf(out, "\\&%c", *c);
        else if (*c == '\'')
            fputs("\\(aq", out);
        else
            fputc(*c, out);
    }
}

/* One sentence per line, as usual in roff sources. */
static void put_sentences(FILE *out, const char *text)
{
    char line[1024];
    size_t used = 0;
    for (const char *c = text; *c; c++) {
        if (used + 1 < sizeof line)
            line[used++] = *c;
        bool ends = c[0] == '.' && c[1] == ' ' && c[2] >= 'A' && c[2] <= 'Z';
        if (ends || !c[1]) {
            line[used] = '\0';
            put(out, line);
            fputc('\n', out);
            used = 0;
            c += ends;
        }
    }
}

static void put_flag(FILE *out, const field *f)
{
    char name[64], note[400], meaning[512];
    cli_flag_name(f, name, sizeof name);
    cli_field_note(f, note, sizeof note);
    cli_field_meaning(f, meaning, sizeof meaning);
    fputs(".TP\n", out);
    if (cli_letter(f))
        fprintf(out, "\\fB\\-%c\\fR, ", cli_letter(f));
    bool on = f->kind == FIELD_BOOL && f->standard != 0;
    fprintf(out, "\\fB\\-\\-%s", on ? "\\fR[\\fBno\\-\\fR]\\fB" : "");
    put(out, name);
    fputs("\\fR", out);
    if (*cli_placeholder(f))
        fprintf(out, " \\fI%s\\fR", cli_placeholder(f));
    fputc('\n', out);
    put(out, meaning);
    if (note[0]) {
        fputs(" (", out);
        put(out, note);
        fputc(')', out);
    }
    fputc('\n', out);
}

static void put_table(FILE *out, const cli_verb *verb, int k)
{
    const settings_table *t = cli_table(verb, k);
    for (size_t f = 0; f < t->count; f++)
        if (cli_is_shown(verb, k, &t->fields[f]))
            put_flag(out, &t->fields[f]);
}

static void put_example(FILE *out, const char *command)
{
    fputs(".EX\n", out);
    put(out, command);
    fputs("\n.EE\n", out);
}

static void put_verb(FILE *out, const cli_verb *verb)
{
    fprintf(out, ".SS attsvm %s \\fR[flags] ", verb->name);
    put(out, verb->arguments);
    fputc('\n', out);
    put_sentences(out, verb->about);
    for (int k = 0; cli_table(verb, k) != &cli_common_table; k++)
        put_table(out, verb, k);
    if (verb->output) {
        fputs(".PP\n", out);
        put_sentences(out, verb->output);
    }
    fputs(".PP\nExample:\n", out);
    put_example(out, verb->example);
}

static void put_entries(FILE *out, const cli_entry *entries)
{
    for (const cli_entry *e = entries; e->name; e++) {
        fprintf(out, ".TP\n\\fB%s\\fR ", e->name);
        put(out, e->shape);
        fputc('\n', out);
        put(out, e->meaning);
        fputc('\n', out);
    }
}

void cli_man(FILE *out)
{
    fprintf(out, ".TH ATTSVM 1 \"\" \"attsvm %s\" \"User Commands\"\n", attsvm_version());
    fprintf(out, ".SH NAME\nattsvm \\- ");
    put(out, cli_purpose);
    fputs("\n.SH SYNOPSIS\n.B attsvm\n.I COMMAND\n[flags] [arguments]\n", out);
    fputs(".SH DESCRIPTION\n", out);
    put_sentences(out, "attsvm trains softmax attention layers and solves the max-margin problems "
                       "that they converge to. Each command does one thing with a data set.");
    fputs(".SH COMMANDS\n", out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        put_verb(out, verb);
    fputs(".SH FLAGS OF EVERY COMMAND\n", out);
    for (size_t f = 0; f < cli_common_table.count; f++)
        put_flag(out, &cli_common_table.fields[f]);
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nhelp for the command\n", out);
    fputs(".PP\n", out);
    put_sentences(out, "A value may also be joined by an equals sign. Underscores and hyphens in "
                       "names are equivalent. --no-NAME turns off "
                       "a flag that is on by default. Two hyphens alone end the flags.");
    fputs(".SH EXIT STATUS\n", out);
    put_entries(out, cli_exits);
    fputs(".SH FILES\n", out);
    put_sentences(out, "Data sets and results are .npz files; .npy, directories of .npy, "
                       ".safetensors, .csv and .tsv are read as well. Arrays of a data set:");
    put_entries(out, cli_arrays);
    fputs(".SH EXAMPLES\n", out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        put_example(out, verb->example);
}

void cli_man_verb(const cli_verb *verb, FILE *out)
{
    fprintf(out, ".TH ATTSVM\\-%s 1 \"\" \"attsvm %s\" \"User Commands\"\n", verb->name,
            attsvm_version());
    fprintf(out, ".SH NAME\nattsvm\\-%s \\- ", verb->name);
    put(out, verb->summary);
    fprintf(out, "\n.SH SYNOPSIS\n.B attsvm %s\n[flags] ", verb->name);
    put(out, verb->arguments);
    fputs("\n.SH DESCRIPTION\n", out);
    put_sentences(out, verb->about);
    fputs(".SH FLAGS\n", out);
    for (int k = 0; cli_table(verb, k); k++)
        put_table(out, verb, k);
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nhelp for the command\n", out);
    if (verb->output) {
        fputs(".SH OUTPUT\n", out);
        put_sentences(out, verb->output);
    }
    fputs(".SH EXIT STATUS\n", out);
    put_entries(out, cli_exits);
    fputs(".SH EXAMPLE\n", out);
    put_example(out, verb->example);
    fputs(".SH SEE ALSO\n.BR attsvm (1)\n", out);
}
