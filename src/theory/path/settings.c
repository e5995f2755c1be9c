/* Settings of a path: the table, short forms, and lists of radii. */
#include "theory/path/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const model_names[] = { "p", "pW", "W", "KQ", "vp", NULL };

#define SETTINGS attsvm_path_settings
static const field path_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(model), FIELD_CHOICE, ATTSVM_MODEL_P, ATTSVM_MODEL_VP, ATTSVM_MODEL_P,
      "what is in the ball: p (|p| <= R), W (Frobenius norm), KQ (|K|^2 + |Q|^2 <= 2R), vp (also "
      "|v| <= r); pW has the path of p",
      model_names, 0 },
    { F(radii), FIELD_TEXT, 0, 0, 0, "radii R, log-spaced: FIRST:LAST:COUNT", 0, "1:1000:7" },
    { F(ridge_path), FIELD_TEXT, 0, 0, 0,
      "instead of balls: minimise L + rho |theta|^2 for these rho, FIRST:LAST:COUNT", 0, "" },
    { F(ratio), FIELD_DOUBLE, 1e-300, 1e300, 10, "the radius of v is ratio R", 0, 0 },
    { F(head_radius), FIELD_DOUBLE, 0, 1e300, 0, "fixed radius of v for every R; 0 = use the ratio",
      0, 0 },
    { F(cone), FIELD_DOUBLE, 0, 1, 0,
      "local path: stay where the cosine to the SVM direction is at least 1 - cone; 0: everywhere",
      0, 0 },
    { F(head), FIELD_CHOICE, ATTSVM_HEAD_LINEAR, ATTSVM_HEAD_CONCAVE, ATTSVM_HEAD_LINEAR,
      "prediction head; concave:K sets its curvature", data_head_names, 0 },
    { F(kappa), FIELD_DOUBLE, 0, 1e100, 1, "curvature of the concave head", 0, 0 },
    { F(loss), FIELD_TEXT, 0, 0, 0, "loss of u = Y f: logistic, exp, linear", 0, "logistic" },
    { F(query), FIELD_CHOICE, ATTSVM_QUERY_GIVEN, ATTSVM_QUERY_LAST, ATTSVM_QUERY_GIVEN,
      "queries of the W models: Z of the file, one token (its number or last), all tokens, all "
      "with a causal mask; without Z given is token 0",
      data_query_names, 0 },
    { F(query_token), FIELD_INT, 0, 1e15, 0, "the token that is the query, without Z", 0, 0 },
    { F(threshold), FIELD_DOUBLE, 0, 1, 1e-3, "tokens with more attention than this are kept", 0,
      0 },
    { F(starts), FIELD_INT, 1, 1e6, 8, "random directions in which the search starts", 0, 0 },
    { F(rank), FIELD_INT, 0, 1e9, 0, "columns of K and Q, at most d; 0: d", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "of the random directions", 0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0,
      "seconds, after which the path ends at its last point; 0: no limit", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads; 0: all cores", 0, 0 },
};
#undef SETTINGS

static attsvm_status set_field(const field *f, void *settings, const char *value, attsvm_error *err)
{
    const model_loss *loss;
    if (strcmp(f->name, "loss") == 0)
        TRY(model_loss_find(value, &loss, err));
    return data_settings_set(&attsvm_path_table, f, settings, value, err);
}

const settings_table attsvm_path_table = { "path", path_fields,
                                           sizeof path_fields / sizeof *path_fields,
                                           sizeof(attsvm_path_settings), set_field };

void attsvm_path_settings_init(attsvm_path_settings *settings)
{
    attsvm_settings_init(&attsvm_path_table, settings);
}

/* A finite number > 0 in front of `end_mark` (0: the end of the text). */
static bool read_part(const char **text, char end_mark, double *out)
{
    char *end;
    *out = strtod(*text, &end);
    bool good = end != *text && *end == end_mark && isfinite(*out) && *out > 0;
    *text = end + (end_mark && *end == end_mark);
    return good;
}

attsvm_status path_read_points(const char *name, const char *text, double **out, int64_t *count,
                               attsvm_error *err)
{
    enum { MOST_POINTS = 1000000 };
    double first, last, number;
    const char *at = text;
    if (!read_part(&at, ':', &first) || !read_part(&at, ':', &last) ||
        !read_part(&at, '\0', &number) || number != floor(number) || number > MOST_POINTS)
        return fail(err, ATTSVM_E_ARG,
                    "%s = %s: expected FIRST:LAST:COUNT, numbers above 0 and a count of at most %d",
                    name, text, MOST_POINTS);
    *count = (int64_t)number;
    TRY(base_allocate(out, (size_t)*count, sizeof **out, name, err));
    for (int64_t k = 0; k < *count; k++) {
        double share = *count > 1 ? (double)k / (double)(*count - 1) : 0;
        (*out)[k] = base_exp((1 - share) * base_log(first) + share * base_log(last));
    }
    (*out)[0] = first; /* exactly as given */
    if (*count > 1)
        (*out)[*count - 1] = last;
    return ATTSVM_OK;
}

const char *attsvm_joint_case_name(attsvm_joint_case which)
{
    static const char *const names[] = { "none", "relaxed", "unrelaxed", "all tight", "between" };
    return which >= ATTSVM_JOINT_NONE && which <= ATTSVM_JOINT_BETWEEN ? names[which] : NULL;
}
