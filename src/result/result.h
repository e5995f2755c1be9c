/*
 * result: what a solution, a run, a path, an enumeration or a verdict is on disk.  The public calls
 * are in attsvm.h ("results on disk"); this header has what the files of this room share.
 */
#ifndef ATTSVM_RESULT_H
#define ATTSVM_RESULT_H

#include "io/io.h"
#include "io/json.h"
#include "svm/svm.h"
#include "train/train.h"

/* Whether the problem selects sets of tokens (multi, finite) instead of one token a term. */
static inline bool result_has_sets(const attsvm_svm_settings *s)
{
    return s->problem == ATTSVM_PROBLEM_MULTI || s->problem == ATTSVM_PROBLEM_FINITE;
}

/* ----------------------------------------------------------------- structs as JSON */

/*
 * A struct whose fields a table names, as a JSON object: choices by name, numbers that are not
 * finite as null, "inf" or "-inf".  `skip` (NULL-terminated, may be NULL) are left out.
 */
io_json *result_object(const settings_table *table, const void *values, const char *const *skip);
/*
 * Back into the struct; fields of `skip` keep what they have, every other one must be there.  Texts
 * are borrowed from the JSON.
 */
attsvm_status result_read_object(const settings_table *table, const io_json *object, void *values,
                                 const char *const *skip, attsvm_error *err);

/* ------------------------------------------------------------------ how it was made */

/* {"verb", "version", "file", "data"}: what every result says first. */
io_json *result_origin(const char *verb, const attsvm_data *data);
/* With ", train": settings that shape a run, and where it ended; ", svm": the problem. */
void result_add_train(io_json *json, const attsvm_train *train);
void result_add_svm(io_json *json, const attsvm_svm_settings *svm);
/* Only the fields that the object has; the others stay as they are. */
attsvm_status result_read_present(const settings_table *table, const io_json *object, void *values,
                                  attsvm_error *err);
attsvm_status result_read_svm(const io_json *json, attsvm_svm_settings *svm, attsvm_error *err);

/* The text of `json`, which is freed, as the array `settings`; *memory is to be freed. */
attsvm_status result_settings_array(io_json *json, attsvm_named_array *out, char **memory,
                                    attsvm_error *err);
/* The array `settings` of a result. */
attsvm_status result_settings_read(const attsvm_archive *archive, io_json **out, attsvm_error *err);

/* --------------------------------------------------------------------- lists of arrays */

enum {
    RESULT_CLAIM_ARRAYS = 20, /* of a claim              */
    RESULT_MORE_ARRAYS = 8,   /* that the caller may add */
    RESULT_ARRAYS = RESULT_CLAIM_ARRAYS + RESULT_MORE_ARRAYS,
};

/* Arrays to write, and the memory behind some of them. */
typedef struct result_list {
    attsvm_named_array arrays[RESULT_ARRAYS];
    int64_t count;
    void *owned[RESULT_ARRAYS];
} result_list;

void result_list_free(result_list *list);
/* All of a solution but its settings. */
attsvm_status result_list_claim(result_list *list, const attsvm_data *data,
                                const attsvm_claim *claim, attsvm_error *err);
/* "status" and, of a joint problem, "head_status". */
void result_add_status(io_json *json, const attsvm_claim *claim);

/* The arrays of a run, and after them `more`; rank 0 says where (path NULL: nowhere). */
attsvm_status result_write_run(const attsvm_train *train, const char *path,
                               const attsvm_named_array *more, int64_t count, attsvm_error *err);

#endif
