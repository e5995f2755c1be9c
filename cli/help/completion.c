/* attsvm completion bash: a script made from the tables. */
#include "cli/cli.h"

#include <string.h>

static void put_verb_names(FILE *out)
{
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        fprintf(out, "%s%s", verb == cli_verbs ? "" : " ", verb->name);
}

static void put_flags(FILE *out, const cli_verb *verb)
{
    const settings_table *t;
    char name[64];
    fprintf(out, "        %s) flags='--help", verb->name);
    for (int k = 0; (t = cli_table(verb, k)); k++)
        for (size_t f = 0; f < t->count; f++) {
            const field *shown = &t->fields[f];
            if (!cli_is_shown(verb, k, shown))
                continue;
            cli_flag_name(shown, name, sizeof name);
            fprintf(out, " --%s%s", shown->kind == FIELD_BOOL && shown->standard != 0 ? "no-" : "",
                    name);
        }
    fputs("' ;;\n", out);
}

/* The words that a flag of `verb` may be followed by; a file for -o; nothing for numbers. */
static void put_values(FILE *out, const cli_verb *verb)
{
    const settings_table *t;
    char name[64];
    for (int k = 0; (t = cli_table(verb, k)); k++)
        for (size_t f = 0; f < t->count; f++) {
            const field *shown = &t->fields[f];
            if (!cli_is_shown(verb, k, shown) || shown->kind == FIELD_BOOL ||
                (shown->kind == FIELD_TEXT && cli_letter(shown)))
                continue;
            cli_flag_name(shown, name, sizeof name);
            fprintf(out, "        %s:--%s) words='", verb->name, name);
            for (int c = 0; shown->kind == FIELD_CHOICE && shown->choices[c]; c++)
                fprintf(out, "%s%s", c ? " " : "", shown->choices[c]);
            fputs("' value=yes ;;\n", out);
        }
}

/*
 * bash splits words at '=' before we see them, so `--kind=ga` arrives as three words.  File names
 * are left to bash (`-o default`): no reply means "complete a file".
 */
static const char before_flags[] =
    "_attsvm() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local verb=${COMP_WORDS[1]} flags='' words='' value=''\n"
    "    COMPREPLY=()\n"
    "    if [ \"$cur\" = = ]; then\n"
    "        cur=''\n"
    "    elif [ \"$prev\" = = ]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n";

static const char after_values[] =
    "    esac\n"
    "    if [ \"${cur#-}\" != \"$cur\" ]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$cur\")\n"
    "    elif [ -n \"$value\" ]; then\n"
    "        compopt +o default 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
    "    fi\n"
    "}\n"
    "complete -o default -F _attsvm attsvm\n";

static void put_bash(FILE *out)
{
    fputs("# bash completion of attsvm, made by `attsvm completion bash`.\n", out);
    fputs(before_flags, out);
    fputs("    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        mapfile -t COMPREPLY < <(compgen -W '",
          out);
    put_verb_names(out);
    fputs(" --help --version' -- \"$cur\")\n        return\n    fi\n    case $verb in\n", out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        put_flags(out, verb);
    fputs("    esac\n    case $verb:$prev in\n", out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        put_values(out, verb);
    fputs("        help:help) words='", out);
    put_verb_names(out);
    fputs("' value=yes ;;\n        completion:completion) words=bash value=yes ;;\n", out);
    fputs(after_values, out);
}

attsvm_status cli_completion(cli_call *call, attsvm_error *err)
{
    if (strcmp(call->arguments[0], "bash") != 0)
        return fail(err, ATTSVM_E_ARG, "%s: completion is made for bash only", call->arguments[0]);
    put_bash(stdout);
    return ATTSVM_OK;
}
