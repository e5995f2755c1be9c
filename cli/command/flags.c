/*
 * The command line of a verb, read by its settings tables.  Forms: --name VALUE, --name=VALUE,
 * --name and --no-name for yes and no, -o FILE and other letters; `-` and `_` are equivalent, `--`
 * ends the flags.  A name that several tables have (threads, seed) sets all of them.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char letter;
    const char *name;
} letters[] = { { 'o', "output" }, { 'q', "quiet" } };

char cli_letter(const field *f)
{
    for (size_t k = 0; k < sizeof letters / sizeof *letters; k++)
        if (attsvm_settings_find(&cli_common_table, letters[k].name) == f)
            return letters[k].letter;
    return 0;
}

const settings_table *cli_table(const cli_verb *verb, int k)
{
    int own = 0;
    while (verb->tables[own])
        own++;
    return k < own ? verb->tables[k] : k == own ? &cli_common_table : NULL;
}

/* First field of that name, and in *table where it is. */
static const field *find_field(const cli_verb *verb, const char *name, int *table)
{
    const settings_table *t;
    *table = 0;
    for (int k = 0; (t = cli_table(verb, k)); k++) {
        const field *f = attsvm_settings_find(t, name);
        *table = k;
        if (f)
            return f;
    }
    return NULL;
}

/* Settings of a table that the verb refuses whatever their value. */
static bool is_refused(const cli_verb *verb, const field *f)
{
    static const char *const refused[][2] = { { "tokens", "soft" },
                                              { "tokens", "rank" },
                                              { "tokens", "threshold" } };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        if (strcmp(verb->name, refused[k][0]) == 0 && strcmp(f->name, refused[k][1]) == 0)
            return true;
    return false;
}

bool cli_is_shown(const cli_verb *verb, int k, const field *f)
{
    int first = 0;
    find_field(verb, f->name, &first);
    return first == k && !is_refused(verb, f);
}

void cli_flag_name(const field *f, char *out, size_t size)
{
    snprintf(out, size, "%s", f->name);
    for (char *c = out; *c; c++)
        if (*c == '_')
            *c = '-';
}

const char *cli_placeholder(const field *f)
{
    switch (f->kind) {
    case FIELD_INT: return "N";
    case FIELD_DOUBLE: return "X";
    case FIELD_CHOICE: return "NAME";
    case FIELD_TEXT: return cli_letter(f) == 'o' ? "FILE" : "TEXT";
    case FIELD_BOOL: break;
    }
    return "";
}

void cli_field_range(const field *f, char *out, size_t size)
{
    char range[256];
    attsvm_setting_range(f, range, sizeof range);
    size_t used = 0;
    for (const char *c = range; *c && used + 2 < size; c++) {
        bool between = *c == '|';
        out[used++] = between ? ',' : *c;
        if (between)
            out[used++] = ' ';
    }
    out[used] = '\0';
}

void cli_field_note(const field *f, char *out, size_t size)
{
    char standard[64], range[320];
    base_settings_print(f, NULL, standard, sizeof standard);
    cli_field_range(f, range, sizeof range);
    out[0] = '\0';
    if (f->kind == FIELD_CHOICE)
        snprintf(out, size, "%s; default %s", range, standard);
    else if (range[0])
        snprintf(out, size, "default %s; %s", standard, range);
    else if (f->kind == FIELD_BOOL ? f->standard != 0 : standard[0] != 0)
        snprintf(out, size, "default %s", standard);
}

/* ------------------------------------------------------------------------- parsing */

typedef struct reader {
    cli_call *call;
    int argc, at;
    char **argv;
    attsvm_error *err;
} reader;

static attsvm_status unknown_flag(const reader *r, const char *typed, const char *name)
{
    const cli_verb *verb = r->call->verb;
    char near[96] = "", flag[64];
    cli_guess guess = { .typed = name };
    const settings_table *t;
    cli_guess_try(&guess, "help");
    for (int k = 0; (t = cli_table(verb, k)); k++)
        for (size_t f = 0; f < t->count; f++)
            cli_guess_try(&guess, t->fields[f].name);
    int table;
    if (guess.best) {
        snprintf(flag, sizeof flag, "%s", guess.best);
        const field *f = find_field(verb, guess.best, &table);
        if (f)
            cli_flag_name(f, flag, sizeof flag);
        snprintf(near, sizeof near, "; did you mean --%s?", flag);
    }
    return fail(r->err, ATTSVM_E_ARG, "Unknown flag %s for %s%s (attsvm %s --help lists the flags)",
                typed, verb->name, near, verb->name);
}

/* "--n abc: expected an integer, 1..1e12" */
static attsvm_status bad_value(const reader *r, const field *f, const char *flag, const char *value)
{
    static const char *const expected[] = { [FIELD_INT] = "an integer, ",
                                            [FIELD_DOUBLE] = "a number, ",
                                            [FIELD_BOOL] = "yes or no",
                                            [FIELD_CHOICE] = "one of " };
    char range[320], near[80] = "";
    if (f->kind == FIELD_TEXT) /* the library has said what it expects */
        return ATTSVM_E_ARG;
    cli_field_range(f, range, sizeof range);
    if (strcmp(f->name, "head") == 0 && strncmp(value, "concave:", 8) == 0)
        return fail(r->err, ATTSVM_E_ARG, "--%s %s: expected concave:K with a number K, at least 0",
                    flag, value);
    cli_guess guess = { .typed = value };
    for (const char *const *c = f->choices; f->kind == FIELD_CHOICE && *c; c++)
        cli_guess_try(&guess, *c);
    double q;
    if (strcmp(f->name, "norm") == 0 && sscanf(value, "l%lf", &q) == 1 && q > 1)
        snprintf(near, sizeof near, "; did you mean lq:%s?", value + 1);
    else if (guess.best)
        snprintf(near, sizeof near, "; did you mean %s?", guess.best);
    return fail(r->err, ATTSVM_E_ARG, "--%s %s: expected %s%s%s", flag, value, expected[f->kind],
                range, near);
}

/* Sets the field in every table that has the name. */
static attsvm_status set_field(const reader *r, const field *f, const char *value)
{
    cli_call *call = r->call;
    char flag[64];
    cli_flag_name(f, flag, sizeof flag);
    for (int k = 0; k < call->given_count; k++)
        if (call->given[k] == f)
            return fail(r->err, ATTSVM_E_ARG, "--%s is given twice", flag);
    call->given[call->given_count++] = f;
    const settings_table *t;
    for (int k = 0; (t = cli_table(call->verb, k)); k++) {
        const field *same = attsvm_settings_find(t, f->name);
        if (!same)
            continue;
        if (attsvm_settings_set(t, call->settings[k], same->name, value, r->err) != ATTSVM_OK)
            return bad_value(r, same, flag, value);
    }
    return ATTSVM_OK;
}

/* A dash and a letter or two dashes; "-1.5" and "-" are values. */
static bool looks_like_flag(const char *text)
{
    return text[0] == '-' && (text[1] == '-' || isalpha((unsigned char)text[1]));
}

/* The next word is the value of `f`. */
static attsvm_status set_from_next(reader *r, const field *f, const char *flag)
{
    if (r->at >= r->argc || looks_like_flag(r->argv[r->at])) {
        char note[400];
        cli_field_note(f, note, sizeof note);
        return fail(r->err, ATTSVM_E_ARG, "%s needs a value: %s %s%s%s%s", flag, flag,
                    cli_placeholder(f), note[0] ? " (" : "", note, note[0] ? ")" : "");
    }
    return set_field(r, f, r->argv[r->at++]);
}

static attsvm_status read_long(reader *r, const char *word)
{
    char name[64];
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
    if (length >= sizeof name)
        length = sizeof name - 1;
    memcpy(name, word + 2, length);
    name[length] = '\0';
    int table;
    const field *f = find_field(r->call->verb, name, &table);
    if (!f && (strncmp(name, "no-", 3) == 0 || strncmp(name, "no_", 3) == 0)) {
        f = find_field(r->call->verb, name + 3, &table);
        if (f && f->kind == FIELD_BOOL && equals)
            return fail(r->err, ATTSVM_E_ARG, "%s: --%s takes no value", word, name);
        if (f && f->kind == FIELD_BOOL)
            return set_field(r, f, "no");
        f = NULL;
    }
    if (!f)
        return unknown_flag(r, word, name);
    if (equals)
        return set_field(r, f, equals + 1);
    if (f->kind == FIELD_BOOL)
        return set_field(r, f, "yes");
    return set_from_next(r, f, word);
}

/* -o FILE, -oFILE, -q. */
static attsvm_status read_short(reader *r, const char *word)
{
    for (size_t k = 0; k < sizeof letters / sizeof *letters; k++) {
        if (letters[k].letter != word[1])
            continue;
        int table;
        const field *f = find_field(r->call->verb, letters[k].name, &table);
        if (f->kind == FIELD_BOOL && word[2])
            break;
        if (f->kind == FIELD_BOOL)
            return set_field(r, f, "yes");
        if (word[2])
            return set_field(r, f, word + 2);
        return set_from_next(r, f, word);
    }
    return unknown_flag(r, word, word + 1);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static attsvm_status read_words(reader *r)
{
    bool flags = true;
    while (r->at < r->argc) {
        const char *word = r->argv[r->at++];
        if (flags && strcmp(word, "--") == 0)
            flags = false;
        else if (flags && strncmp(word, "--", 2) == 0)
            TRY(read_long(r, word));
        else if (flags && looks_like_flag(word))
            TRY(read_short(r, word));
        else
            r->call->arguments[r->call->count++] = word;
    }
    return ATTSVM_OK;
}

/* --------------------------------------------------------------------- arguments */

/* The number of arguments: "FILE" one, "[VERB]" none or one, "ID..." one or more. */
static attsvm_status check_count(const cli_call *call, attsvm_error *err)
{
    char words[128], *rest = words, *word, *missing = NULL;
    int fewest = 0, most = 0;
    bool output = false;
    snprintf(words, sizeof words, "%s", call->verb->arguments);
    while ((word = strtok_r(rest, " ", &rest))) {
        if (strcmp(word, "-o") == 0) {
            output = true;
            strtok_r(rest, " ", &rest);
            continue;
        }
        bool many = strstr(word, "...") != NULL, optional = word[0] == '[';
        if (!optional && fewest++ == call->count)
            missing = word;
        most = many || most < 0 ? -1 : most + 1;
    }
    const char *name = call->verb->name, *usage = call->verb->arguments;
    if (call->count < fewest)
        return fail(err, ATTSVM_E_ARG, "%s is missing; usage: attsvm %s [flags] %s", missing, name,
                    usage);
    if (most >= 0 && call->count > most)
        return fail(err, ATTSVM_E_ARG, "%s: one argument too many; usage: attsvm %s [flags] %s",
                    call->arguments[most], name, usage);
    if (output && !call->common->output)
        return fail(err, ATTSVM_E_ARG, "-o FILE is missing; usage: attsvm %s [flags] %s", name,
                    usage);
    return ATTSVM_OK;
}

static attsvm_status allocate_call(cli_call *call, int argc, attsvm_error *err)
{
    size_t tables = 0, words = (size_t)argc + 1;
    while (cli_table(call->verb, (int)tables))
        tables++;
    TRY(base_allocate(&call->settings, tables + 1, sizeof *call->settings, "settings", err));
    TRY(base_allocate(&call->arguments, words, sizeof *call->arguments, "arguments", err));
    TRY(base_allocate(&call->given, words, sizeof *call->given, "flags", err));
    for (size_t k = 0; k < tables; k++) {
        const settings_table *t = cli_table(call->verb, (int)k);
        TRY(base_allocate(&call->settings[k], 1, t->size, "settings", err));
        attsvm_settings_init(t, call->settings[k]);
    }
    call->common = call->settings[tables - 1];
    return ATTSVM_OK;
}

attsvm_status cli_parse(cli_call *call, const cli_verb *verb, int argc, char **argv,
                        attsvm_error *err)
{
    *call = (cli_call){ .verb = verb, .comm = call->comm };
    for (int k = 0; k < argc && strcmp(argv[k], "--") != 0; k++)
        call->help |= is_help(argv[k]);
    if (call->help)
        return ATTSVM_OK;
    TRY(allocate_call(call, argc, err));
    reader r = { .call = call, .argc = argc, .argv = argv, .err = err };
    TRY(read_words(&r));
    TRY(check_count(call, err));
    TRY(cli_flag_rules_check(call, err));
    return cli_outputs_check(call, err);
}

void cli_call_free(cli_call *call)
{
    for (int k = 0; call->settings && call->settings[k]; k++)
        free(call->settings[k]);
    free(call->settings);
    free(call->arguments);
    free(call->given);
    *call = (cli_call){ 0 };
}

const void *cli_settings(const cli_call *call, const settings_table *table)
{
    const settings_table *t;
    for (int k = 0; (t = cli_table(call->verb, k)); k++)
        if (t == table)
            return call->settings[k];
    return NULL;
}
