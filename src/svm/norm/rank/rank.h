/* rank: norms with a rank limit, by a local solver; and the least-norm problems that it solves. */
#ifndef ATTSVM_SVM_RANK_H
#define ATTSVM_SVM_RANK_H

#include "svm/norm/norm.h"

/* Workspace of dense_qp_solve, for parts of that many rows and, with q = 1, p = size. */
typedef struct dense_qp {
    int64_t size, most;    /* of x; of rows that can be active                       */
    int64_t count;         /* rows in S                                              */
    int64_t *active;       /* (most) these rows                                      */
    uint8_t *held;         /* (rows) 1: in S                                         */
    double *Q, *L;         /* most x size, most x most: A_S = L Q                    */
    double *lambda;        /* (most)                                                 */
    double *w, *r, *z;     /* of the row that enters, (most), (most), (size)         */
    double *margin, *norm; /* (rows) a_r'x, |a_r|                                  */
} dense_qp;
void dense_qp_layout(dense_qp *s, arena *a, int64_t rows, int64_t size);
/*
 * The shortest x (p) over the rows of the part (q = 1, v = 1, no equalities); false if there is
 * none or the core was stopped.  Starts from the active rows of the last solution unless count = 0.
 */
bool dense_qp_solve(dense_qp *work, const svm_small *part, double *x, int64_t *iterations);

#endif
