/* attsvm completion SHELL: scripts for bash, zsh and fish, generated from the tables. */
#include "cli/cli.h"

#include <string.h>

/* --------------------------------------------------------------------------- the words */

/* For flags with a text value: words that it may be or begin with; `files`: or a file. */
typedef struct known {
    const char *flag, *words;
    bool files;
} known;

static const known texts[] = {
    { "step",
      "gd ngd polyak md:3 nmd:3 sign coordinate spectral nuclear momentum signum muon adam "
      "rescale:1",
      false },
    { "loss", "logistic exp linear ntp", false },
    { "init", "auto zero uniform: gauss: file svm:", true },
    { "record", "log", false },
    { "select", "opt ids sets", true },
    { "kernels", "baseline avx2 avx512", false },
    { "output", "", true },
    { "checkpoint", "", true },
    { "trained", "", true },
    { "data", "", true },
    { "dot", "", true },
    { "svg", "", true },
    { "html", "", true },
    { 0 },
};

static const known *known_text(const field *f)
{
    for (const known *k = texts; k->flag && f->kind == FIELD_TEXT; k++)
        if (strcmp(k->flag, f->name) == 0)
            return k;
    return NULL;
}

/* The words of a flag, spaces between them. */
static void put_words(FILE *out, const field *f)
{
    const known *k = known_text(f);
    for (int c = 0; f->kind == FIELD_CHOICE && f->choices[c]; c++)
        fprintf(out, "%s%s", c ? " " : "", f->choices[c]);
    if (k)
        fputs(k->words, out);
}

static bool takes_file(const field *f)
{
    const known *k = known_text(f);
    return k && k->files;
}

static void put_verb_names(FILE *out)
{
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        fprintf(out, "%s%s", verb == cli_verbs ? "" : " ", verb->name);
}

static void put_experiments(FILE *out)
{
    for (const experiment *const *e = experiments_all; *e; e++)
        fprintf(out, "%s%s", e == experiments_all ? "" : " ", (*e)->id);
}

/* "--lr", "--no-optimal". */
static void put_flag_name(FILE *out, const field *f)
{
    char name[64];
    cli_flag_name(f, name, sizeof name);
    fprintf(out, "%s%s", f->kind == FIELD_BOOL && f->standard != 0 ? "no-" : "", name);
}

/* Calls put for every flag of a verb. */
static void each_flag(FILE *out, const cli_verb *verb,
                      void (*put)(FILE *out, const cli_verb *verb, const field *f))
{
    const settings_table *t;
    for (int k = 0; (t = cli_table(verb, k)); k++)
        for (size_t f = 0; f < t->count; f++)
            if (cli_is_shown(verb, k, &t->fields[f]))
                put(out, verb, &t->fields[f]);
}

static void put_long(FILE *out, const cli_verb *verb, const field *f)
{
    (void)verb;
    fputs(" --", out);
    put_flag_name(out, f);
}

/* -------------------------------------------------------------------------------- bash */

static void put_flags(FILE *out, const cli_verb *verb)
{
    fprintf(out, "        %s) flags='--help", verb->name);
    each_flag(out, verb, put_long);
    fputs("' ;;\n", out);
}

/* The possible values of a flag; nothing for numbers.  If it may also be a file, bash completes
   files when no word matches. */
static void put_bash_value(FILE *out, const cli_verb *verb, const field *f)
{
    if (f->kind == FIELD_BOOL)
        return;
    fprintf(out, "        %s:--", verb->name);
    put_flag_name(out, f);
    fputs(") words='", out);
    put_words(out, f);
    fprintf(out, "' value=%s ;;\n", takes_file(f) ? "file" : "yes");
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
    "        [ \"$value\" = file ] || compopt +o default 2>/dev/null\n"
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
        each_flag(out, verb, put_bash_value);
    fputs("        help:help) words='", out);
    put_verb_names(out);
    fputs("' value=yes ;;\n        completion:completion) words='bash zsh fish' value=yes ;;\n"
          "        reproduce:*) words='",
          out);
    put_experiments(out);
    fputs("' value=yes ;;\n", out);
    fputs(after_values, out);
}

/* --------------------------------------------------------------------------------- zsh */

static void put_zsh_value(FILE *out, const cli_verb *verb, const field *f)
{
    if (f->kind == FIELD_BOOL)
        return;
    fprintf(out, "        %s:--", verb->name);
    put_flag_name(out, f);
    fputs(") compadd -- ", out);
    put_words(out, f);
    fprintf(out, "%s; return ;;\n", takes_file(f) ? "; _files" : "");
}

static void put_zsh(FILE *out)
{
    fputs("#compdef attsvm\n# zsh completion of attsvm, made by `attsvm completion zsh`.\n"
          "_attsvm() {\n    if (( CURRENT == 2 )); then\n        compadd -- ",
          out);
    put_verb_names(out);
    fputs(" --help --version\n        return\n    fi\n    case $words[2]:$words[CURRENT-1] in\n",
          out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        each_flag(out, verb, put_zsh_value);
    fputs("        *:-o) _files; return ;;\n    esac\n    if [[ $PREFIX == -* ]]; then\n"
          "        case $words[2] in\n",
          out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++) {
        fprintf(out, "        %s) compadd -- --help", verb->name);
        each_flag(out, verb, put_long);
        fputs(" ;;\n", out);
    }
    fputs("        esac\n        return\n    fi\n    case $words[2] in\n        help) compadd -- ",
          out);
    put_verb_names(out);
    fputs(" ;;\n        completion) compadd -- bash zsh fish ;;\n        reproduce) compadd -- ",
          out);
    put_experiments(out);
    fputs(" ;;\n        *) _files ;;\n    esac\n}\n"
          "if [ \"$funcstack[1]\" = _attsvm ]; then\n    _attsvm \"$@\"\nelse\n"
          "    compdef _attsvm attsvm\nfi\n",
          out);
}

/* -------------------------------------------------------------------------------- fish */

static const char seen[] = "__fish_seen_subcommand_from";

static void put_fish_flag(FILE *out, const cli_verb *verb, const field *f)
{
    fprintf(out, "complete -c attsvm -n '%s %s' -l ", seen, verb->name);
    put_flag_name(out, f);
    if (cli_letter(f))
        fprintf(out, " -s %c", cli_letter(f));
    if (f->kind != FIELD_BOOL) {
        fprintf(out, " %s -a '", takes_file(f) ? "-r -F" : "-x");
        put_words(out, f);
        fputc('\'', out);
    }
    fputc('\n', out);
}

static void put_fish(FILE *out)
{
    fputs("# fish completion of attsvm, made by `attsvm completion fish`.\n", out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++) {
        fprintf(out, "complete -c attsvm -n __fish_use_subcommand -f -a %s -d \"%s\"\n", verb->name,
                verb->summary);
        fprintf(out, "complete -c attsvm -n '%s %s' -l help -s h\n", seen, verb->name);
        each_flag(out, verb, put_fish_flag);
    }
    fprintf(out, "complete -c attsvm -n '%s help' -f -a '", seen);
    put_verb_names(out);
    fprintf(out, "'\ncomplete -c attsvm -n '%s completion' -f -a 'bash zsh fish'\n", seen);
    fprintf(out, "complete -c attsvm -n '%s reproduce' -f -a '", seen);
    put_experiments(out);
    fputs("'\n", out);
}

attsvm_status cli_completion(cli_call *call, attsvm_error *err)
{
    const char *shell = call->arguments[0];
    if (strcmp(shell, "bash") == 0)
        put_bash(stdout);
    else if (strcmp(shell, "zsh") == 0)
        put_zsh(stdout);
    else if (strcmp(shell, "fish") == 0)
        put_fish(stdout);
    else
        return fail(err, ATTSVM_E_ARG, "%s: completions exist for bash, zsh and fish", shell);
    return ATTSVM_OK;
}
