/*
 * result: what a solution, a run or a selection is on disk.  The public calls are in attsvm.h
 * ("results on disk"); this header has what the files of this room share.
 */
#ifndef ATTSVM_RESULT_H
#define ATTSVM_RESULT_H

#include "io/io.h"
#include "svm/svm.h"
#include "train/train.h"

/* Whether the problem selects sets of tokens (multi, finite) instead of one token a term. */
static inline bool result_has_sets(const attsvm_svm_settings *s)
{
    return s->problem == ATTSVM_PROBLEM_MULTI || s->problem == ATTSVM_PROBLEM_FINITE;
}

#endif
