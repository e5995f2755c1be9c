/* Which SVM training converges to (theory 2 and 3), and which vector of a run is compared with it.
 */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_prompt(int32_t kind)
{
    return kind == ATTSVM_MODEL_P || kind == ATTSVM_MODEL_PW || kind == ATTSVM_MODEL_VP ||
           kind == ATTSVM_MODEL_VPW;
}

/*
 * The norm of theta, from the norm in which the rule's steps are steepest.
 *
 *   p               the rule's own; spectral and nuclear norms of a column are its l2 norm
 *   pW              theta = W'p, p fixed: the least |W|_q with W'p = theta is |theta|_q / |p|_q',
 *                   column by column, and the least spectral norm |theta|_2 / |p|_2
 *   vpW             theta = W'p, both trained: the least |W|^2 + |p|^2 is 2 |theta|_2
 *   W               the rule's own
 *   KQ              the least |K|^2 + |Q|^2 is twice the nuclear norm of K Q'; no other prediction
 */
static void set_norm(attsvm_svm_settings *out, int32_t kind, const char *norm, double q,
                     bool *claimed)
{
    bool prompt = is_prompt(kind);
    bool factored = kind == ATTSVM_MODEL_KQ || kind == ATTSVM_MODEL_VKQ;
    bool product = factored || kind == ATTSVM_MODEL_VPW;
    bool euclidean = strcmp(norm, "l2") == 0;
    out->norm = factored ? ATTSVM_NORM_NUC : prompt ? ATTSVM_NORM_L2 : ATTSVM_NORM_FRO;
    *claimed = norm[0] != '\0' && (euclidean || !product);
    if (!*claimed || euclidean)
        return;
    if (strcmp(norm, "lq") == 0) {
        out->norm = ATTSVM_NORM_LQ;
        out->q = q;
    } else if (strcmp(norm, "l1") == 0) {
        out->norm = ATTSVM_NORM_L1;
    } else if (strcmp(norm, "linf") == 0) {
        out->norm = ATTSVM_NORM_LINF;
    } else if (strcmp(norm, "spectral") == 0 && !prompt) {
        out->norm = ATTSVM_NORM_SPECTRAL;
    } else if (strcmp(norm, "nuc") == 0 && !prompt) {
        out->norm = ATTSVM_NORM_NUC;
    }
}

/* Once eps dominates, a step is a multiple of the gradient: only l2 rules keep their norm. */
static const char *norm_of(const train_rule *rule, const char *eps)
{
    bool none = isnan(rule->eps) || (eps && *eps ? strtod(eps, NULL) : rule->eps) == 0;
    return none || strcmp(rule->norm, "l2") == 0 ? rule->norm : "";
}

/*
 * Whether the parameters can grow without bound.  A ridge and steps of a finite sum keep them
 * bounded, Polyak steps end where the loss falls below lstar, and the textbook gradient becomes 0.
 */
static bool can_grow(const attsvm_train_settings *s, const train_rule *rule)
{
    bool polyak = rule->takes_lstar;
    return s->lr > 0 && s->decay <= 1 && s->ridge == 0 &&
           s->arithmetic == ATTSVM_ARITHMETIC_EXACT &&
           !(polyak && (s->max_step == 0 || (s->lstar && *s->lstar)));
}

attsvm_status attsvm_train_limit(const attsvm_train_settings *train, attsvm_svm_settings *out,
                                 bool *claimed, attsvm_error *err)
{
    NEED(train);
    NEED(out);
    const train_rule *rule;
    double parameter;
    bool found;
    TRY(attsvm_settings_check(&attsvm_train_table, train, err));
    attsvm_svm_settings_init(out);
    TRY(train_rule_find(train->step ? train->step : "ngd", &rule, &parameter, err));
    bool prompt = is_prompt(train->model);
    bool joint = train->model == ATTSVM_MODEL_VP || train->model == ATTSVM_MODEL_VPW;
    out->problem = joint ? ATTSVM_PROBLEM_JOINT : prompt ? ATTSVM_PROBLEM_P : ATTSVM_PROBLEM_W;
    set_norm(out, train->model, norm_of(rule, train->eps), parameter, &found);
    if (claimed)
        *claimed = found && can_grow(train, rule);
    out->query = train->query;
    out->query_token = train->query_token;
    out->head = train->head;
    out->kappa = train->kappa;
    out->threads = train->threads;
    return ATTSVM_OK;
}

const double *attsvm_train_theta(const attsvm_train *run, int64_t *count)
{
    if (!run || !count)
        return NULL;
    *count = run->m->map_size;
    return model_logit_map(run->m, run->theta);
}
