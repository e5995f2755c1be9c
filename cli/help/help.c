/* Help on the terminal, generated from the tables. */
#include "cli/cli.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { NARROWEST = 80, WIDEST = 100, FLAG_COLUMN = 24, VERB_COLUMN = 14 };

#define SETTINGS help_settings
typedef struct help_settings {
    bool man, markdown;
} help_settings;
static const field help_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(man), FIELD_BOOL, 0, 1, 0, "print the manual page, or that of COMMAND; for man -l", 0, 0 },
    { F(markdown), FIELD_BOOL, 0, 1, 0, "print docs/reference.md", 0, 0 },
};
const settings_table cli_help_table = { "help", help_fields,
                                        sizeof help_fields / sizeof *help_fields,
                                        sizeof(help_settings), NULL };
#undef SETTINGS

/* Columns of the terminal, within a readable range; 80 if there is none. */
static int width_of(FILE *out)
{
    struct winsize size = { 0 };
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0)
        return NARROWEST;
    return size.ws_col < NARROWEST ? NARROWEST : size.ws_col > WIDEST ? WIDEST : size.ws_col;
}

void cli_wrap(FILE *out, const char *text, int column, int indent, int width)
{
    bool fresh = true; /* no word on this line yet */
    fprintf(out, "%*s", column < indent ? indent - column : 0, "");
    column = column < indent ? indent : column;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!fresh && column + 1 + length > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            fresh = true;
        }
        column += fprintf(out, "%s%.*s", fresh ? "" : " ", length, text);
        fresh = false;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

/* "-o, --output FILE", "--[no-]optimal", "--n N"; returns the columns taken. */
static int print_form(const field *f, FILE *out)
{
    char name[64];
    cli_flag_name(f, name, sizeof name);
    int column = fprintf(out, "  ");
    if (cli_letter(f))
        column += fprintf(out, "-%c, ", cli_letter(f));
    bool on = f->kind == FIELD_BOOL && f->standard != 0;
    column += fprintf(out, "--%s%s", on ? "[no-]" : "", name);
    if (*cli_placeholder(f))
        column += fprintf(out, " %s", cli_placeholder(f));
    return column;
}

static void print_flag(const field *f, FILE *out)
{
    char note[400], meaning[512], text[1024];
    cli_field_note(f, note, sizeof note);
    cli_field_meaning(f, meaning, sizeof meaning);
    int column = print_form(f, out);
    if (column >= FLAG_COLUMN - 1) {
        fputc('\n', out);
        column = 0;
    }
    snprintf(text, sizeof text, "%s%s%s%s", meaning, note[0] ? " (" : "", note, note[0] ? ")" : "");
    cli_wrap(out, text, column, FLAG_COLUMN, width_of(out));
}

/* The flags of table k that are not shown by an earlier table. */
static void print_table(const cli_verb *verb, int k, FILE *out)
{
    const settings_table *t = cli_table(verb, k);
    for (size_t f = 0; f < t->count; f++)
        if (cli_is_shown(verb, k, &t->fields[f]))
            print_flag(&t->fields[f], out);
}

static void print_help_flag(FILE *out)
{
    cli_wrap(out, "this text", fprintf(out, "  -h, --help"), FLAG_COLUMN, width_of(out));
}

static void print_verbs(FILE *out)
{
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        fprintf(out, "  %-*s%s\n", VERB_COLUMN - 2, verb->name, verb->summary);
}

void cli_help_usage(FILE *out)
{
    fprintf(out, "attsvm: %s\n\nUsage: attsvm COMMAND [flags] [arguments]\n\n", cli_purpose);
    print_verbs(out);
    fprintf(out, "\nattsvm help COMMAND explains one of them.\n");
}

void cli_help_top(FILE *out)
{
    fprintf(out, "attsvm: %s\n\nUsage: attsvm COMMAND [flags] [arguments]\n\nCommands\n",
            cli_purpose);
    print_verbs(out);
    fprintf(out, "\nFlags of every command\n");
    for (size_t f = 0; f < cli_common_table.count; f++)
        print_flag(&cli_common_table.fields[f], out);
    print_help_flag(out);
    fprintf(out, "\nExit status\n");
    for (const cli_entry *e = cli_exits; e->name; e++)
        fprintf(out, "  %s  %s\n", e->name, e->meaning);
    fprintf(out, "\nExamples\n");
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        fprintf(out, "  %s\n", verb->example);
}

void cli_help_verb(const cli_verb *verb, FILE *out)
{
    fprintf(out, "attsvm %s: %s\n\nExample\n  %s\n\nUsage: attsvm %s [flags]%s%s\n\n", verb->name,
            verb->summary, verb->example, verb->name, *verb->arguments ? " " : "", verb->arguments);
    cli_wrap(out, verb->about, 0, 0, width_of(out));
    if (verb->output)
        fprintf(out, "man attsvm and docs/reference.md list its output arrays and JSON keys.\n");
    int k = 0;
    for (; cli_table(verb, k) != &cli_common_table; k++) {
        fprintf(out, "%s", k == 0 ? "\nFlags\n" : "");
        print_table(verb, k, out);
    }
    fprintf(out, "\nFlags of every command\n");
    print_table(verb, k, out);
    print_help_flag(out);
}

attsvm_status cli_help(cli_call *call, attsvm_error *err)
{
    const help_settings *settings = cli_settings(call, &cli_help_table);
    const cli_verb *verb = NULL;
    if (call->count > 0)
        TRY(cli_verb_find(call->arguments[0], &verb, err));
    if (settings->man && settings->markdown)
        return fail(err, ATTSVM_E_ARG, "Use either --man or --markdown, not both.");
    if (settings->man && verb)
        cli_man_verb(verb, stdout);
    else if (settings->man)
        cli_man(stdout);
    else if (settings->markdown)
        cli_markdown(stdout);
    else if (verb)
        cli_help_verb(verb, stdout);
    else
        cli_help_top(stdout);
    return ATTSVM_OK;
}
