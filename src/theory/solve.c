/* Creates, solves and frees one max-margin problem. */
#include "theory/theory.h"

static bool go_on(void *context, const attsvm_svm_progress *progress)
{
    (void)progress;
    return !dist_stop_now(context);
}

attsvm_status theory_solve(const attsvm_data *data, const attsvm_selection *selection,
                           const attsvm_svm_settings *settings, dist_stop *stop,
                           attsvm_solution **out, attsvm_error *err)
{
    attsvm_problem *problem;
    *out = NULL;
    TRY(attsvm_problem_create(&problem, data, selection, settings, err));
    attsvm_status status = attsvm_problem_solve(problem, NULL, stop ? go_on : NULL, stop, out, err);
    attsvm_problem_free(problem);
    return status;
}

const attsvm_data *theory_data_of(const attsvm_train *run, data_view *view)
{
    if (!run->m->prompt || !run->m->trains_W)
        return run->m->data;
    data_view_open(view, run->m->data, run->m->data->n, false);
    return &view->data;
}
