/*
 * result: files of solutions, runs, paths, enumerations, verdicts and classifiers.  The public
 * calls are in attsvm.h ("results on disk"); this header has what the files of this folder share.
 */
#ifndef ATTSVM_RESULT_H
#define ATTSVM_RESULT_H

#include "io/io.h"
#include "io/json.h"
#include "svm/svm.h"
#include "train/train.h"

/* Whether the problem selects sets of tokens (multi, finite) instead of one token per term. */
static inline bool result_has_sets(const attsvm_svm_settings *s)
{
    return s->problem == ATTSVM_PROBLEM_MULTI || s->problem == ATTSVM_PROBLEM_FINITE;
}

/* ----------------------------------------------------------------- structs as JSON */

/*
 * A struct described by a table, as a JSON object: choices by name, numbers that are not finite as
 * null, "inf" or "-inf".  Fields named in `skip` (NULL-terminated, may be NULL) are omitted.
 */
io_json *result_object(const settings_table *table, const void *values, const char *const *skip);
/*
 * The inverse; fields of `skip` are unchanged, every other field must be present.  Texts are
 * borrowed from the JSON.
 */
attsvm_status result_read_object(const settings_table *table, const io_json *object, void *values,
                                 const char *const *skip, attsvm_error *err);

/* ------------------------------------------------------------------ how it was made */

/* {"verb", "version", "file", "data"}: the first fields of every result. */
io_json *result_origin(const char *verb, const attsvm_data *data);
/* Adds "train": settings that determine a run, and its end; "svm": the problem. */
void result_add_train(io_json *json, const attsvm_train *train);
void result_add_svm(io_json *json, const attsvm_svm_settings *svm);
/* Reads only the fields that are present; the others are unchanged. */
attsvm_status result_read_present(const settings_table *table, const io_json *object, void *values,
                                  attsvm_error *err);
attsvm_status result_read_svm(const io_json *json, attsvm_svm_settings *svm, attsvm_error *err);

/* The text of `json`, which is freed, as the array `settings`; the caller frees *memory. */
attsvm_status result_settings_array(io_json *json, attsvm_named_array *out, char **memory,
                                    attsvm_error *err);
/* The array `settings` of a result. */
attsvm_status result_settings_read(const attsvm_archive *archive, io_json **out, attsvm_error *err);

/* --------------------------------------------------------------------- lists of arrays */

enum {
    RESULT_OWN_ARRAYS = 23, /* of a claim, with settings and v       */
    RESULT_MORE_ARRAYS = 8, /* maximum of arrays added by the caller */
    RESULT_ARRAYS = RESULT_OWN_ARRAYS + RESULT_MORE_ARRAYS,
};

/* Arrays to write, and the memory behind some of them. */
typedef struct result_list {
    attsvm_named_array arrays[RESULT_ARRAYS];
    int64_t count;
    void *owned[RESULT_ARRAYS];
} result_list;

void result_list_free(result_list *list);
/* All arrays of a solution except its settings. */
attsvm_status result_list_claim(result_list *list, const attsvm_data *data,
                                const attsvm_claim *claim, attsvm_error *err);
/* "status" and, for a joint problem, "head_status". */
void result_add_status(io_json *json, const attsvm_claim *claim);

/* Checks the arrays that a caller adds to a file. */
attsvm_status result_check_more(const attsvm_named_array *more, int64_t count, attsvm_error *err);

/* Writes the arrays of a run, then `more`; rank 0 gives the path. */
attsvm_status result_write_run(const attsvm_train *train, const char *path,
                               const attsvm_named_array *more, int64_t count, attsvm_error *err);

#endif
