/* The table of step rules.  A new rule is one file and one line here. */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const train_rule *const train_rules[] = {
    &train_rule_gd,       &train_rule_ngd,  &train_rule_polyak,     &train_rule_md,
    &train_rule_nmd,      &train_rule_sign, &train_rule_coordinate, &train_rule_spectral,
    &train_rule_momentum, &train_rule_adam, &train_rule_rescale,    NULL,
};

static attsvm_status number_of(const train_rule *rule, const char *text, double *parameter,
                               attsvm_error *err)
{
    bool takes = rule->lowest <= rule->highest;
    *parameter = rule->standard;
    if (!*text && !(takes && isnan(rule->standard)))
        return ATTSVM_OK;
    if (!takes)
        return fail(err, ATTSVM_E_ARG, "step = %s%s: the rule %s takes no number", rule->flag, text,
                    rule->flag);
    char *end = NULL;
    if (*text == ':')
        *parameter = strtod(text + 1, &end);
    if (!end || end == text + 1 || *end || !(*parameter >= rule->lowest) ||
        !(*parameter <= rule->highest))
        return fail(err, ATTSVM_E_ARG,
                    "step = %s%s: expected %s:NUMBER, the number in %.10g..%.10g", rule->flag, text,
                    rule->flag, rule->lowest, rule->highest);
    return ATTSVM_OK;
}

attsvm_status train_rule_find(const char *text, const train_rule **rule, double *parameter,
                              attsvm_error *err)
{
    char names[256];
    size_t used = 0;
    for (const train_rule *const *r = train_rules; *r; r++) {
        size_t length = strlen((*r)->flag);
        if (strncmp(text, (*r)->flag, length) == 0 &&
            (text[length] == '\0' || text[length] == ':')) {
            *rule = *r;
            return number_of(*r, text + length, parameter, err);
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                 (*r)->flag);
    }
    return fail(err, ATTSVM_E_ARG, "step = %s is not known; steps are %s", text, names);
}

int64_t attsvm_step_rule_count(void)
{
    return (int64_t)(sizeof train_rules / sizeof *train_rules) - 1;
}

attsvm_step_rule attsvm_step_rule_describe(int64_t k)
{
    if (k < 0 || k >= attsvm_step_rule_count())
        return (attsvm_step_rule){ NULL, NULL, NULL };
    const train_rule *rule = train_rules[k];
    return (attsvm_step_rule){ rule->flag, rule->help, rule->norm };
}

/* The plain sum of squares wherever it neither over- nor underflows. */
double train_norm(const double *g, int64_t count)
{
    double square = la_dot(g, g, count);
    return square > 1e-250 && square < 1e250 ? sqrt(square) : la_norm(g, count);
}

/* Tokens of 1e-160 have gradients of 1e-320: entries are taken in units of `size` first. */
void train_move(const train_step *s, double length, double size)
{
    double rate = length / size;
    if (isfinite(rate))
        la_axpy(-rate, s->g, s->theta, s->count);
    else
        for (int64_t j = 0; j < s->count; j++)
            s->theta[j] -= length * (s->g[j] / size);
}
