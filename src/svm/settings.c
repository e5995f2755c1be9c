/* Settings of the SVM problems: the table, and the short forms that flags use. */
#include "svm/svm.h"

#include <string.h>

static const char *const problems[] = { "p", "v", "joint", "W", "multi", "finite", NULL };
static const char *const norms[] = { "l2", "fro", "nuc", "spectral", "lq", "l1", "linf", NULL };
static const char *const duplicates[] = { "merge", "strict", NULL };

#define SETTINGS attsvm_svm_settings
static const field svm_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(problem), FIELD_CHOICE, ATTSVM_PROBLEM_P, ATTSVM_PROBLEM_FINITE, ATTSVM_PROBLEM_W,
      "which max-margin problem; a run as --select brings its own, otherwise W (train has p by "
      "default)",
      problems, 0 },
    { F(norm), FIELD_CHOICE, ATTSVM_NORM_L2, ATTSVM_NORM_LINF, ATTSVM_NORM_FRO,
      "norm to minimise; lq:Q for an l_q norm", norms, 0 },
    { F(q), FIELD_DOUBLE, 1, 1e3, 2, "exponent of the l_q norm, above 1", 0, 0 },
    { F(query), FIELD_CHOICE, ATTSVM_QUERY_GIVEN, ATTSVM_QUERY_LAST, ATTSVM_QUERY_GIVEN,
      "queries: Z of the file, one token (its number or last), all tokens, all with a causal mask",
      data_query_names, 0 },
    { F(query_token), FIELD_INT, 0, 1e15, 0, "the token that is the query, without Z", 0, 0 },
    { F(duplicates), FIELD_CHOICE, ATTSVM_DUPLICATES_MERGE, ATTSVM_DUPLICATES_STRICT,
      ATTSVM_DUPLICATES_MERGE, "copies of the selected token: merged with it, or rivals",
      duplicates, 0 },
    { F(head), FIELD_CHOICE, ATTSVM_HEAD_LINEAR, ATTSVM_HEAD_CONCAVE, ATTSVM_HEAD_LINEAR,
      "prediction head; concave:K sets its curvature", data_head_names, 0 },
    { F(kappa), FIELD_DOUBLE, 0, 1e100, 1, "curvature of the concave head", 0, 0 },
    { F(soft), FIELD_DOUBLE, 0, 1e300, 0, "C of the soft margin; 0: hard margin", 0, 0 },
    { F(rank), FIELD_INT, 0, 1e9, 0, "maximum rank of W; 0 = no limit", 0, 0 },
    { F(threshold), FIELD_DOUBLE, 0, 1, 1e-3,
      "attention above which a token belongs to the set taken from a trained model", 0, 0 },
    { F(tol), FIELD_DOUBLE, 0, 1, 0,
      "relative gap to stop at; 0: 1e-12 for l2, fro, else 1e-9; smallest: 1e-15, else 1e-12", 0,
      0 },
    { F(max_iter), FIELD_INT, 1, 1e15, 1e9,
      "maximum number of iterations: changes of the active set for l2 and fro, solver steps for "
      "the other norms",
      0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0, "seconds of wall clock; 0: no limit", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads; 0: all cores", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "of the sample that the solver starts from", 0, 0 },
};
#undef SETTINGS

void attsvm_svm_settings_init(attsvm_svm_settings *settings)
{
    attsvm_settings_init(&attsvm_svm_table, settings);
}

static attsvm_status set_field(const field *f, void *settings, const char *value, attsvm_error *err)
{
    if (strcmp(f->name, "norm") == 0 && strncmp(value, "lq:", 3) == 0)
        return data_settings_pair(&attsvm_svm_table, settings, "norm", "q", value, err);
    return data_settings_set(&attsvm_svm_table, f, settings, value, err);
}

const settings_table attsvm_svm_table = { "svm", svm_fields, sizeof svm_fields / sizeof *svm_fields,
                                          sizeof(attsvm_svm_settings), set_field };

/* The smallest tolerances: margins, norms other than l2, and logarithms of finite solutions are
   known to so many digits. */
static const double LEAST_TOL_L2 = 1e-15;
static const double LEAST_TOL = 1e-12;

attsvm_status svm_check_settings(const attsvm_svm_settings *settings, attsvm_error *err)
{
    TRY(attsvm_settings_check(&attsvm_svm_table, settings, err));
    bool euclidean = settings->norm == ATTSVM_NORM_L2 || settings->norm == ATTSVM_NORM_FRO;
    bool finite = settings->problem == ATTSVM_PROBLEM_FINITE;
    double least = euclidean && !finite ? LEAST_TOL_L2 : LEAST_TOL;
    if (settings->tol > 0 && settings->tol < least)
        return fail(err, ATTSVM_E_ARG, "tol = %g is below %g, the smallest tolerance %s %s",
                    settings->tol, least, finite ? "of problem" : "in norm",
                    finite ? "finite" : norms[settings->norm - 1]);
    if (settings->norm == ATTSVM_NORM_LQ && !(settings->q > 1))
        return fail(err, ATTSVM_E_ARG, "q = %g: an l_q norm has q above 1", settings->q);
    if (settings->soft > 0 && !euclidean)
        return fail(err, ATTSVM_E_ARG, "soft = %g with norm %s: soft margins are solved in l2, fro",
                    settings->soft, norms[settings->norm - 1]);
    if (settings->rank > 0 && (settings->problem != ATTSVM_PROBLEM_W || settings->soft > 0 ||
                               (!euclidean && settings->norm != ATTSVM_NORM_NUC)))
        return fail(err, ATTSVM_E_ARG,
                    "rank = %" PRId64 " with problem %s, norm %s, soft = %g: a rank limit is for "
                    "problem W, hard, in fro or nuc",
                    settings->rank, problems[settings->problem - 1], norms[settings->norm - 1],
                    settings->soft);
    return ATTSVM_OK;
}
