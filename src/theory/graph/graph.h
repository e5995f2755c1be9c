/* graph: next-token prediction, its graphs and the finite part of W (theory 6.14). */
#ifndef ATTSVM_THEORY_GRAPH_H
#define ATTSVM_THEORY_GRAPH_H

#include "theory/theory.h"

struct attsvm_graph {
    const attsvm_data *data;
    int64_t lasts, nodes, edges, cyclic; /* cyclic: components of more than one word */
    int32_t *next;                       /* (n) labels                                       */
    int32_t *last;                       /* (lasts) last tokens, increasing                  */
    int64_t *first_node;                 /* (lasts+1) nodes of each                          */
    int64_t *first_edge;                 /* (nodes+1) edges of each node, all parts in order */
    int32_t *word, *component;           /* (nodes)                                          */
    int64_t *components;                 /* (lasts)                                          */
    attsvm_graph_edge *edge;             /* (edges) indices within the part                  */
    uint8_t *sets;                       /* (tokens)                                         */
    void *memory;
};

/* Strongly connected components (Tarjan) of the part's nodes, topologically numbered. */
attsvm_status graph_components(attsvm_graph *graph, int64_t part, attsvm_error *err);

#endif
