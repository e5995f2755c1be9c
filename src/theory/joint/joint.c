/* Joint training of head and prompt: v-SVM, tight set, relaxed p-SVM, Assumption B (theory 6.8). */
#include "theory/joint/joint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS attsvm_joint_settings
static const field joint_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(samples), FIELD_INT, 0, 1e9, 1000,
      "random directions, each at the norms 1, 3, 10, 30, to refute Assumption B", 0, 0 },
    { F(descent), FIELD_INT, 0, 1e9, 300, "steps of local descent in that search", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "of both", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads; 0: all cores", 0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0, "seconds of wall clock; 0: no limit", 0, 0 },
};
#undef SETTINGS

const settings_table attsvm_joint_table = { "joint", joint_fields,
                                            sizeof joint_fields / sizeof *joint_fields,
                                            sizeof(attsvm_joint_settings), NULL };

void attsvm_joint_settings_init(attsvm_joint_settings *settings)
{
    attsvm_settings_init(&attsvm_joint_table, settings);
}

/* A run and the data set of its SVMs. */
typedef struct joint {
    const attsvm_train *run;
    const attsvm_data *data; /* without its key map for vpW */
    const double *theta, *v;
    double *keymap; /* (d,d) or NULL */
    attsvm_joint *out;
    dist_stop *stop;
    dist_watch *watch;
} joint;

/* Recorded theta as logit maps, W'p for keys W x; NULL without a record. */
static attsvm_status iterates(const joint *j, double **out, int64_t *count, attsvm_error *err)
{
    const train_trace *trace = &j->run->trace;
    const int64_t d = j->data->d;
    *count = j->run->m->trains_W ? 0 : trace->count;
    TRY(base_allocate(out, (size_t)((*count + 1) * d), sizeof **out, "iterates", err));
    for (int64_t k = 0; k < *count; k++) {
        const double *p = trace->theta[0] + k * d;
        if (j->keymap)
            la_gemv(true, d, d, 1, j->keymap, d, p, 0, *out + k * d);
        else
            memcpy(*out + k * d, p, (size_t)d * sizeof **out);
    }
    double *last = *out + *count * d; /* always includes the end of the run */
    if (j->keymap)
        la_gemv(true, d, d, 1, j->keymap, d, j->theta, 0, last);
    else
        memcpy(last, j->theta, (size_t)d * sizeof *last);
    ++*count;
    return ATTSVM_OK;
}

static attsvm_status test_assumption_b(const joint *j, const attsvm_joint_settings *settings,
                                       attsvm_error *err)
{
    attsvm_joint *out = j->out;
    assumption_b assumption = { j->data,     j->run->m->selected,
                                out->margin, base_threads(settings->threads),
                                j->stop,     j->watch };
    double *points = NULL, miss;
    int64_t count;
    attsvm_status status = iterates(j, &points, &count, err);
    if (status == ATTSVM_OK)
        status = assumption_b_margin(&assumption, points + (count - 1) * j->data->d,
                                     &out->label_margin, &miss, err);
    if (status == ATTSVM_OK)
        status = assumption_b_search(&assumption, settings, points, count, &out->nu, &out->nu_norm,
                                     &out->tried, err);
    free(points);
    return status;
}

static attsvm_status compare(const joint *j, attsvm_solution **solution, attsvm_error *err)
{
    attsvm_joint *out = j->out;
    const int64_t d = j->data->d;
    const attsvm_selection selection = { .alpha = j->run->m->selected, .terms = j->run->m->terms };
    attsvm_solution *unrelaxed = NULL;
    attsvm_svm_settings svm;
    TRY(attsvm_train_limit(&j->run->settings, &svm, NULL, err));
    svm.problem = ATTSVM_PROBLEM_JOINT;
    TRY(theory_solve(j->data, &selection, &svm, j->stop, solution, err));
    const attsvm_claim *claim = &(*solution)->claim;
    out->outcome = claim->head->outcome;
    if (out->outcome != ATTSVM_OPTIMAL)
        return ATTSVM_OK;
    out->margin = 1 / la_norm(claim->head->theta, d);
    out->correlation_v = attsvm_correlation(j->v, claim->head->theta, d);
    out->ratio = la_norm(j->v, d) / la_norm(j->theta, d);
    if (claim->outcome == ATTSVM_OPTIMAL) {
        out->relaxed = (*solution)->info.norm;
        out->correlation_relaxed = attsvm_correlation(j->theta, claim->theta, d);
    }
    TRY(theory_relaxed_ratio(j->data, &selection, claim->head->theta, out->relaxed, &out->tight,
                             &out->ratio_needed, err));
    out->all_tight = out->tight == j->data->n;
    svm.problem = ATTSVM_PROBLEM_P;
    TRY(theory_solve(j->data, &selection, &svm, j->stop, &unrelaxed, err));
    if (unrelaxed->info.outcome == ATTSVM_OPTIMAL) {
        out->unrelaxed = unrelaxed->info.norm;
        out->correlation_unrelaxed = attsvm_correlation(j->theta, unrelaxed->claim.theta, d);
    }
    attsvm_solution_free(unrelaxed);
    return ATTSVM_OK;
}

static attsvm_status analyse(joint *j, const attsvm_joint_settings *settings,
                             attsvm_solution **solution, attsvm_error *err)
{
    const model *m = j->run->m;
    int64_t count;
    if (attsvm_data_array(j->data, "W"))
        TRY(data_doubles(j->data, "W", (int64_t[]){ m->d, m->d }, 2, &j->keymap, err));
    j->theta = attsvm_train_theta(j->run, &count);
    j->v = j->run->theta + m->parameter[m->parameters - 1].offset;
    attsvm_status status = compare(j, solution, err);
    if (status == ATTSVM_OK && j->out->outcome == ATTSVM_OPTIMAL)
        status = test_assumption_b(j, settings, err);
    free(j->keymap);
    return status;
}

attsvm_status attsvm_joint_compute(attsvm_joint *out, const attsvm_train *run,
                                   const attsvm_joint_settings *settings, attsvm_observer *observer,
                                   void *context, attsvm_solution **solution, attsvm_error *err)
{
    if (solution)
        *solution = NULL;
    NEED(out);
    NEED(run);
    const model *m = run->m;
    attsvm_joint_settings standard;
    attsvm_solution *own = NULL;
    data_view view;
    dist_watch watch = { .observer = observer, .context = context };
    dist_stop stop;
    joint j = { .run = run, .data = m->data, .out = out, .stop = &stop, .watch = &watch };
    attsvm_joint_settings_init(&standard);
    settings = settings ? settings : &standard;
    *out = (attsvm_joint){ .margin = NAN,
                           .label_margin = NAN,
                           .nu = NAN,
                           .nu_norm = NAN,
                           .relaxed = NAN,
                           .unrelaxed = NAN,
                           .correlation_v = NAN,
                           .correlation_relaxed = NAN,
                           .correlation_unrelaxed = NAN,
                           .ratio = NAN,
                           .ratio_needed = NAN };
    if (solution)
        *solution = NULL;
    TRY(attsvm_settings_check(&attsvm_joint_table, settings, err));
    if (!m->prompt || !m->trains_v || !m->head.kind->linear)
        return fail(err, ATTSVM_E_ARG, "joint training needs model vp or vpW and a linear head");
    if (run->info.outcome == ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "this run has not been trained yet");
    if (m->trains_W) { /* training replaces the key map of the data set */
        data_view_open(&view, m->data, m->data->n, false);
        j.data = &view.data;
    }
    dist_stop_watch(&stop, m->data->comm, settings->time_limit, &watch);
    attsvm_status status = analyse(&j, settings, &own, err);
    if (status == ATTSVM_OK)
        status = dist_stop_status(&stop, err);
    if (status == ATTSVM_OK && solution)
        *solution = own;
    else
        attsvm_solution_free(own);
    return status;
}
