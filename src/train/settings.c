/* Settings of a run: the table, and short forms such as --query 1. */
#include "train/train.h"

#include <math.h>
#include <string.h>

static const char *const model_names[] = { "p", "pW", "W", "KQ", "vp", "vpW", "vW", "vKQ", NULL };

static const char *const arithmetic_names[] = { "exact", "float64", "float32", NULL };

#define SETTINGS attsvm_train_settings
static const field train_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(model), FIELD_CHOICE, ATTSVM_MODEL_P, ATTSVM_MODEL_VKQ, ATTSVM_MODEL_P,
      "what is trained: p (logits X W'p), pW (its W), W (X W z), KQ (X K Q'z); with v the head "
      "too; svm and tokens solve problem W unless a flag or a run says otherwise",
      model_names, 0 },
    { F(step), FIELD_TEXT, 0, 0, 0,
      "step rule: gd, ngd, polyak, md:Q, nmd:Q, sign, coordinate, spectral, nuclear, momentum, "
      "signum, muon, adam, rescale:C",
      0, "ngd" },
    { F(loss), FIELD_TEXT, 0, 0, 0,
      "loss of u = Y f: logistic, exp, linear; ntp: next-token prediction, -log of the attention "
      "on the label",
      0, "logistic" },
    { F(lr), FIELD_DOUBLE, 0, 1e300, 0.1, "step size", 0, 0 },
    { F(decay), FIELD_DOUBLE, 0, 10, 0, "the size of step t is lr/(t+1)^decay", 0, 0 },
    { F(iters), FIELD_INT, 0, 1e15, 1000, "steps", 0, 0 },
    { F(init), FIELD_TEXT, 0, 0, 0,
      "start values: zero, uniform:B, gauss:S, file (init_p, ... of the data set), a result, or "
      "svm:S,R[,ANGLE] (R times the unit solution of the SVM result S, turned by ANGLE degrees in "
      "a random direction); auto: zero, or uniform:1/sqrt(d) if zero is a stationary point",
      0, "auto" },
    { F(disturb), FIELD_DOUBLE, 0, 1, 0,
      "multiply each start value by 1 + SIZE u, u random in -1..1 (0 becomes SIZE u), to see "
      "whether the result depends on rounding",
      0, 0 },
    { F(disturb_seed), FIELD_INT, 0, 9e15, 0, "seed of this disturbance", 0, 0 },
    { F(record), FIELD_TEXT, 0, 0, 0, "record a trace every N steps, or log-spaced: N, log", 0,
      "" },
    { F(eps), FIELD_TEXT, 0, 0, 0,
      "ngd: divide by |grad| + E; adam: added to the root (1e-8); E,E_V has another for the head v",
      0, "" },
    { F(ridge), FIELD_DOUBLE, 0, 1e300, 0, "add ridge |theta|^2 of the attention parameters", 0,
      0 },
    { F(rank), FIELD_INT, 0, 1e9, 0, "columns of K and Q, at most d; 0: d", 0, 0 },
    { F(head), FIELD_CHOICE, ATTSVM_HEAD_LINEAR, ATTSVM_HEAD_CONCAVE, ATTSVM_HEAD_LINEAR,
      "prediction head; concave:K sets its curvature", data_head_names, 0 },
    { F(kappa), FIELD_DOUBLE, 0, 1e100, 1, "curvature of the concave head", 0, 0 },
    { F(query), FIELD_CHOICE, ATTSVM_QUERY_GIVEN, ATTSVM_QUERY_LAST, ATTSVM_QUERY_GIVEN,
      "queries of the W models: Z of the file, one token (its number or last), all tokens, all "
      "with a causal mask; without Z given is token 0, with --loss ntp the last token",
      data_query_names, 0 },
    { F(query_token), FIELD_INT, 0, 1e15, 0, "the token that is the query, without Z", 0, 0 },
    { F(arithmetic), FIELD_CHOICE, ATTSVM_ARITHMETIC_EXACT, ATTSVM_ARITHMETIC_FLOAT32,
      ATTSVM_ARITHMETIC_EXACT,
      "gradient: exact at any norm, or the textbook formula in float64 or float32, to see where it "
      "goes wrong",
      arithmetic_names, 0 },
    { F(batch), FIELD_INT, 0, 1e15, 0, "sequences a step; 0: all", 0, 0 },
    { F(max_step), FIELD_DOUBLE, 0, 1e300, 1, "longest step", 0, 0 },
    { F(lstar), FIELD_TEXT, 0, 0, 0, "the lowest loss, if it is not known", 0, "" },
    { F(stop_direction), FIELD_DOUBLE, 0, 2, 0,
      "stop when theta/|theta| moves less than this in 100 steps; 0 = never", 0, 0 },
    { F(stop_norm), FIELD_DOUBLE, 0, 1e300, 0, "stop when |theta| is larger; 0 = never", 0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0, "time limit in seconds; 0 = no limit", 0, 0 },
    { F(checkpoint), FIELD_TEXT, 0, 0, 0, "file (.npz) for the state of the run", 0, "" },
    { F(every), FIELD_INT, 1, 1e15, 1000, "steps between two checkpoints", 0, 0 },
    { F(resume), FIELD_BOOL, 0, 1, 0, "continue from the checkpoint if it exists", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "of start values and mini-batches", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads; 0: all cores", 0, 0 },
    { F(observe), FIELD_INT, 0, 1e15, 0, "steps between two progress reports; 0 = by the clock", 0,
      0 },
};
#undef SETTINGS

static attsvm_status set_field(const field *f, void *settings, const char *value, attsvm_error *err)
{
    const train_rule *rule;
    const model_loss *loss;
    double parameter;
    if (strcmp(f->name, "step") == 0)
        TRY(train_rule_find(value, &rule, &parameter, err));
    if (strcmp(f->name, "loss") == 0)
        TRY(model_loss_find(value, &loss, err));
    return data_settings_set(&attsvm_train_table, f, settings, value, err);
}

const settings_table attsvm_train_table = { "train", train_fields,
                                            sizeof train_fields / sizeof *train_fields,
                                            sizeof(attsvm_train_settings), set_field };

void attsvm_train_settings_init(attsvm_train_settings *settings)
{
    attsvm_settings_init(&attsvm_train_table, settings);
}
