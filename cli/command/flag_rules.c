/*
 * Flags that have an effect only together with others.  A given flag without effect causes a
 * warning on standard error, and the command continues; flags that contradict each other are
 * refused.  The help uses the same table.
 */
#include "cli/cli.h"

#include <assert.h>
#include <string.h>

typedef struct flag_rule {
    const settings_table *table;
    const char *flag;   /* has an effect if the setting `other`...         */
    const char *other;  /* has one of `values`, or, after !, none of them; */
    const char *values; /* text after a colon is ignored                   */
    const char *says;   /* the condition in words: "counts only ..."       */
    enum { TOLD, REFUSED } way;
} flag_rule;

static const flag_rule rules[] = {
    { &attsvm_train_table, "max_step", "step", "polyak", "with --step polyak", TOLD },
    { &attsvm_train_table, "lstar", "step", "polyak", "with --step polyak", REFUSED },
    { &attsvm_train_table, "disturb_seed", "disturb", "!0", "with --disturb", TOLD },
    { &experiments_table, "disturb_seed", "disturb", "!0", "with --disturb", TOLD },
    { &attsvm_train_table, "every", "checkpoint", "!", "with --checkpoint", TOLD },
    { &attsvm_train_table, "resume", "checkpoint", "!", "with --checkpoint", REFUSED },
    { &attsvm_train_table, "query", "model", "W|KQ|vW|vKQ", "with --model W, KQ, vW, vKQ",
      REFUSED },
    { &attsvm_train_table, "query_token", "model", "W|KQ|vW|vKQ", "with --model W, KQ, vW, vKQ",
      TOLD },
    { &attsvm_train_table, "query_token", "query", "given|token", "with --query given, token",
      TOLD },
    { &attsvm_train_table, "rank", "model", "KQ|vKQ", "with --model KQ, vKQ", REFUSED },
    { &attsvm_joint_table, "samples", "model", "vp|vpW", "with --model vp, vpW", TOLD },
    { &attsvm_joint_table, "samples", "head", "linear", "with --head linear", TOLD },
    { &attsvm_joint_table, "descent", "model", "vp|vpW", "with --model vp, vpW", TOLD },
    { &attsvm_joint_table, "descent", "head", "linear", "with --head linear", TOLD },
    { &attsvm_train_table, "kappa", "head", "concave", "with --head concave", TOLD },
    { &attsvm_svm_table, "q", "norm", "lq", "with --norm lq", TOLD },
    { &attsvm_svm_table, "kappa", "head", "concave", "with --head concave", TOLD },
    { &attsvm_svm_table, "query", "problem", "W|multi|finite", "with problems for a matrix W",
      TOLD },
    { &attsvm_svm_table, "query_token", "problem", "W|multi|finite", "with problems for a matrix W",
      TOLD },
    { &attsvm_svm_table, "query_token", "query", "given|token", "with --query given, token", TOLD },
    { &attsvm_svm_table, "duplicates", "problem", "!v", "with other problems than v", TOLD },
    { &attsvm_svm_table, "threshold", "problem", "multi|finite", "with --problem multi, finite",
      TOLD },
    { &attsvm_svm_table, "threshold", "select", "!|opt|ids|sets", "with a result as --select",
      TOLD },
    { &attsvm_enumerate_table, "max_selections", "enumerate", "yes", "with --enumerate", TOLD },
    { &attsvm_enumerate_table, "descent_runs", "enumerate", "yes", "with --enumerate", TOLD },
    { &attsvm_enumerate_table, "steps", "enumerate", "yes", "with --enumerate", TOLD },
    { &attsvm_path_table, "kappa", "head", "concave", "with --head concave", TOLD },
    { &attsvm_path_table, "ratio", "model", "vp", "with --model vp", TOLD },
    { &attsvm_path_table, "ratio", "head_radius", "0", "without --head-radius", TOLD },
    { &attsvm_path_table, "head_radius", "model", "vp", "with --model vp", REFUSED },
    { &attsvm_path_table, "query", "model", "W|KQ", "with --model W, KQ", REFUSED },
    { &attsvm_path_table, "query_token", "model", "W|KQ", "with --model W, KQ", TOLD },
    { &attsvm_path_table, "query_token", "query", "given|token", "with --query given, token",
      TOLD },
    { &attsvm_path_table, "radii", "ridge_path", "", "without --ridge-path", TOLD },
    { &attsvm_path_table, "rank", "model", "KQ", "with --model KQ", REFUSED },
    { &attsvm_path_table, "threshold", "head", "!linear", "with --head relu, concave", TOLD },
    { &cli_graph_table, "lr", "trained", "", "without --trained", TOLD },
    { &cli_graph_table, "iters", "trained", "", "without --trained", TOLD },
    { &attsvm_generate_table, "push", "kind", "planted-p|planted-W",
      "with --kind planted-p, planted-W", TOLD },
    { &attsvm_generate_table, "optimal", "kind", "planted-p|planted-W",
      "with --kind planted-p, planted-W", TOLD },
    { &attsvm_generate_table, "split", "kind", "mil-single|mil-multi|mil-frequency",
      "with --kind mil-single, mil-multi, mil-frequency", TOLD },
    { &attsvm_generate_table, "T", "kind", "!mil-single|mil-multi|mil-frequency",
      "with kinds other than mil-single, mil-multi, mil-frequency", TOLD },
    { &attsvm_fit_table, "heads", "pool", "auto|prompt", "with --pool auto, prompt", TOLD },
    { &attsvm_generate_table, "noise", "kind", "clusters", "with --kind clusters", TOLD },
    { &attsvm_generate_table, "vocabulary", "kind", "vocabulary|onehot|ntp|clusters",
      "with --kind vocabulary, onehot, ntp, clusters", TOLD },
};
enum { RULES = sizeof rules / sizeof *rules };

static bool is_about(const flag_rule *n, const field *f)
{
    return attsvm_settings_find(n->table, n->flag) == f;
}

/* Whether `value`, up to a colon, is in "a|b|c"; an empty entry matches the empty value. */
static bool is_among(const char *value, const char *list)
{
    size_t length = strcspn(value, ":");
    for (;; list++) {
        size_t entry = strcspn(list, "|");
        if (entry == length && strncmp(list, value, length) == 0)
            return true;
        list += entry;
        if (!*list)
            return false;
    }
}

/* The setting `name` of any table of the verb. */
static void print_setting(const cli_call *call, const char *name, char *out, size_t size)
{
    const settings_table *t;
    const field *f = NULL;
    for (int k = 0; !f && (t = cli_table(call->verb, k)); k++)
        if ((f = attsvm_settings_find(t, name)))
            base_settings_print(f, call->settings[k], out, size);
    assert(f);
}

static bool is_met(const flag_rule *n, const cli_call *call)
{
    char value[4096];
    print_setting(call, n->other, value, sizeof value);
    bool none_of = n->values[0] == '!';
    return is_among(value, n->values + none_of) != none_of;
}

/* A flag that sets its default needs no warning. */
static bool is_standard(const field *f, const cli_call *call)
{
    char value[4096], standard[4096];
    print_setting(call, f->name, value, sizeof value);
    base_settings_print(f, NULL, standard, sizeof standard);
    return strcmp(value, standard) == 0;
}

attsvm_status cli_flag_rules_check(const cli_call *call, attsvm_error *err)
{
    char flag[64], text[256];
    for (int g = 0; g < call->given_count; g++)
        for (const flag_rule *n = rules; n < rules + RULES; n++) {
            const field *f = call->given[g];
            if (!is_about(n, f) || is_met(n, call) || is_standard(f, call))
                continue;
            cli_flag_name(f, flag, sizeof flag);
            snprintf(text, sizeof text, "--%s changes nothing here; it counts only %s", flag,
                     n->says);
            if (n->way == REFUSED)
                return fail(err, ATTSVM_E_ARG, "%s", text);
            if (!call->common->quiet && dist_rank(call->comm) == 0)
                fprintf(stderr, "attsvm %s: %s\n", call->verb->name, text);
            break;
        }
    return ATTSVM_OK;
}

void cli_field_meaning(const field *f, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s", f->meaning);
    const char *join = "; only ";
    for (int k = 0; k < RULES && used < size; k++)
        if (is_about(&rules[k], f)) {
            used += (size_t)snprintf(out + used, size - used, "%s%s", join, rules[k].says);
            join = " and ";
        }
}
