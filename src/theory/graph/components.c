/*
 * Strongly connected components by Tarjan's algorithm, without recursion, because graphs of long
 * contexts are deep.  A component is complete once everything reachable from it is, so components
 * appear in reverse topological order; the numbers are reversed at the end.
 */
#include "theory/graph/graph.h"

#include <stdlib.h>

typedef struct search {
    const attsvm_graph *graph;
    int64_t first;         /* node of the part's word 0                     */
    int64_t *order, *low;  /* number of the visit, from 1; lowest reachable */
    int64_t *path, depth;  /* stack of the depth-first search               */
    int64_t *edge;         /* next edge of each node                        */
    int64_t *open, opened; /* visited, in no component yet                  */
    bool *is_open;
    int64_t met, components;
} search;

static void enter(search *s, int64_t node)
{
    s->order[node] = s->low[node] = ++s->met;
    s->path[s->depth++] = node;
    s->open[s->opened++] = node;
    s->is_open[node] = true;
    s->edge[node] = s->graph->first_edge[s->first + node];
}

/* All edges of the node are done: if it reaches no older node, it completes a component. */
static void leave(search *s, int64_t node)
{
    s->depth--;
    if (s->depth > 0) {
        int64_t before = s->path[s->depth - 1];
        s->low[before] = s->low[node] < s->low[before] ? s->low[node] : s->low[before];
    }
    if (s->low[node] != s->order[node])
        return;
    int64_t member;
    do {
        member = s->open[--s->opened];
        s->is_open[member] = false;
        s->graph->component[s->first + member] = (int32_t)s->components;
    } while (member != node);
    s->components++;
}

static void search_from(search *s, int64_t root)
{
    enter(s, root);
    while (s->depth > 0) {
        int64_t node = s->path[s->depth - 1];
        if (s->edge[node] == s->graph->first_edge[s->first + node + 1]) {
            leave(s, node);
            continue;
        }
        int64_t to = s->graph->edge[s->edge[node]++].to;
        if (s->order[to] == 0)
            enter(s, to);
        else if (s->is_open[to] && s->order[to] < s->low[node])
            s->low[node] = s->order[to];
    }
}

attsvm_status graph_components(attsvm_graph *graph, int64_t part, attsvm_error *err)
{
    int64_t first = graph->first_node[part], nodes = graph->first_node[part + 1] - first;
    search s = { .graph = graph, .first = first };
    arena a = { 0 };
    for (int round = 0; round < 2; round++) {
        s.order = take_int64(&a, (size_t)nodes);
        s.low = take_int64(&a, (size_t)nodes);
        s.path = take_int64(&a, (size_t)nodes);
        s.edge = take_int64(&a, (size_t)nodes);
        s.open = take_int64(&a, (size_t)nodes);
        s.is_open = base_take(&a, (size_t)nodes, sizeof *s.is_open);
        if (round == 0)
            TRY(base_arena_allocate(&a, "components", err));
    }
    for (int64_t node = 0; node < nodes; node++)
        if (s.order[node] == 0)
            search_from(&s, node);
    for (int64_t node = 0; node < nodes; node++)
        graph->component[first + node] =
            (int32_t)(s.components - 1 - graph->component[first + node]);
    graph->components[part] = s.components;
    free(a.base);
    return ATTSVM_OK;
}
