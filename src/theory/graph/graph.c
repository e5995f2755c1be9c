/*
 * Graphs of next-token prediction (theory 6.14).  Contexts that end with the same word k share a
 * graph: its nodes are their words, and the label of each context has an edge to every other word
 * of it.  Across strongly connected components W can rank the label above the others; inside one
 * the contexts contradict each other, and attention stays spread.
 */
#include "theory/graph/graph.h"

#include <stdlib.h>
#include <string.h>

/* An edge of the graph of `last`; from = to stands for the node alone. */
typedef struct link {
    int32_t last, from, to;
} link;

static int by_place(const void *a, const void *b)
{
    const link *x = a, *y = b;
    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static int32_t last_word(const attsvm_data *data, int64_t i)
{
    return data->index[data_first(data, i + 1) - 1];
}

/* Two links per token: its node, and the edge to it (again the node if it is the label). */
static void collect(const attsvm_graph *graph, link *links)
{
    const attsvm_data *data = graph->data;
    int64_t at = 0;
    for (int64_t i = 0; i < data->n; i++) {
        int32_t k = last_word(data, i);
        for (int64_t t = data_first(data, i); t < data_first(data, i + 1); t++) {
            int32_t word = data->index[t];
            links[at++] = (link){ k, word, word };
            links[at++] = (link){ k, graph->next[i], word };
        }
    }
    qsort(links, (size_t)at, sizeof *links, by_place);
}

static void count_links(attsvm_graph *graph, const link *links, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        if (k > 0 && by_place(&links[k - 1], &links[k]) == 0)
            continue;
        graph->lasts += k == 0 || links[k].last != links[k - 1].last;
        if (links[k].from == links[k].to)
            graph->nodes++;
        else
            graph->edges++;
    }
}

static void layout(attsvm_graph *g, arena *a)
{
    size_t lasts = (size_t)g->lasts, nodes = (size_t)g->nodes;
    g->last = base_take(a, lasts, sizeof *g->last);
    g->first_node = take_int64(a, lasts + 1);
    g->first_edge = take_int64(a, nodes + 1);
    g->word = base_take(a, nodes, sizeof *g->word);
    g->component = base_take(a, nodes, sizeof *g->component);
    g->components = take_int64(a, lasts);
    g->edge = base_take(a, (size_t)g->edges, sizeof *g->edge);
    g->sets = base_take(a, (size_t)g->data->tokens, 1);
}

/* Index of a word among the nodes of part k, which contain it. */
static int64_t find_node(const attsvm_graph *g, int64_t k, int32_t word)
{
    int64_t lo = g->first_node[k], hi = g->first_node[k + 1] - 1;
    while (lo < hi) {
        int64_t middle = (lo + hi) / 2;
        if (g->word[middle] < word)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static int64_t find_last(const attsvm_graph *g, int32_t word)
{
    int64_t lo = 0, hi = g->lasts - 1;
    while (lo < hi) {
        int64_t middle = (lo + hi) / 2;
        if (g->last[middle] < word)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static void fill_nodes(attsvm_graph *g, const link *links, int64_t count)
{
    int64_t part = -1, node = 0;
    for (int64_t k = 0; k < count; k++) {
        if (k > 0 && by_place(&links[k - 1], &links[k]) == 0)
            continue;
        if (k == 0 || links[k].last != links[k - 1].last) {
            g->last[++part] = links[k].last;
            g->first_node[part] = node;
        }
        if (links[k].from == links[k].to)
            g->word[node++] = links[k].from;
    }
    g->first_node[g->lasts] = node;
}

static void fill_edges(attsvm_graph *g, const link *links, int64_t count)
{
    int64_t part = -1, edge = 0, node = 0;
    for (int64_t k = 0; k < count; k++) {
        part += k == 0 || links[k].last != links[k - 1].last;
        if (links[k].from == links[k].to)
            continue;
        if (k > 0 && by_place(&links[k - 1], &links[k]) == 0) {
            g->edge[edge - 1].count++;
            continue;
        }
        int64_t from = find_node(g, part, links[k].from), start = g->first_node[part];
        while (node <= from)
            g->first_edge[node++] = edge;
        g->edge[edge++] =
            (attsvm_graph_edge){ from - start, find_node(g, part, links[k].to) - start, 1 };
    }
    while (node <= g->nodes)
        g->first_edge[node++] = edge;
}

static void fill_sets(attsvm_graph *g)
{
    const attsvm_data *data = g->data;
    for (int64_t i = 0; i < data->n; i++) {
        int64_t k = find_last(g, last_word(data, i));
        int32_t label = g->component[find_node(g, k, g->next[i])];
        for (int64_t t = data_first(data, i); t < data_first(data, i + 1); t++)
            g->sets[t] = g->component[find_node(g, k, data->index[t])] == label;
    }
}

/* Counts the components of more than one word. */
static attsvm_status count_cyclic(attsvm_graph *g, attsvm_error *err)
{
    int64_t *members;
    TRY(base_allocate(&members, (size_t)g->nodes, sizeof *members, "components", err));
    for (int64_t k = 0; k < g->lasts; k++) {
        int64_t first = g->first_node[k];
        memset(members, 0, (size_t)g->components[k] * sizeof *members);
        for (int64_t node = first; node < g->first_node[k + 1]; node++)
            g->cyclic += ++members[g->component[node]] == 2;
    }
    free(members);
    return ATTSVM_OK;
}

static attsvm_status build(attsvm_graph *g, attsvm_error *err)
{
    const attsvm_data *data = g->data;
    int64_t count = 2 * data->tokens;
    link *links = NULL;
    arena a = { 0 };
    TRY(data_next_words(data, &g->next, err));
    TRY(base_allocate(&links, (size_t)count, sizeof *links, "edges", err));
    collect(g, links);
    count_links(g, links, count);
    layout(g, &a);
    attsvm_status status = base_arena_allocate(&a, "graph", err);
    if (status == ATTSVM_OK) {
        g->memory = a.base;
        layout(g, &a);
        fill_nodes(g, links, count);
        fill_edges(g, links, count);
    }
    free(links);
    for (int64_t k = 0; k < g->lasts && status == ATTSVM_OK; k++)
        status = graph_components(g, k, err);
    if (status == ATTSVM_OK)
        status = count_cyclic(g, err);
    if (status == ATTSVM_OK)
        fill_sets(g);
    return status;
}

attsvm_status attsvm_graph_create(attsvm_graph **out, const attsvm_data *data, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    attsvm_graph *g;
    TRY(base_allocate(&g, 1, sizeof *g, "graph", err));
    g->data = data;
    attsvm_status status = build(g, err);
    if (status != ATTSVM_OK) {
        attsvm_graph_free(g);
        return status;
    }
    *out = g;
    return ATTSVM_OK;
}

void attsvm_graph_free(attsvm_graph *graph)
{
    if (!graph)
        return;
    free(graph->memory);
    free(graph->next);
    free(graph);
}

attsvm_graph_part attsvm_graph_part_of(const attsvm_graph *g, int64_t k)
{
    if (!g || k < 0 || k >= g->lasts)
        return (attsvm_graph_part){ .last = -1 };
    int64_t first = g->first_node[k], end = g->first_node[k + 1];
    return (attsvm_graph_part){ .last = g->last[k],
                                .words = end - first,
                                .word = g->word + first,
                                .component = g->component + first,
                                .components = g->components[k],
                                .edges = g->first_edge[end] - g->first_edge[first],
                                .edge = g->edge + g->first_edge[first] };
}

attsvm_graph_info attsvm_graph_describe(const attsvm_graph *g)
{
    if (!g)
        return (attsvm_graph_info){ 0 };
    attsvm_graph_info info = {
        .lasts = g->lasts, .words = g->nodes, .edges = g->edges, .cyclic = g->cyclic
    };
    for (int64_t k = 0; k < g->lasts; k++)
        info.components += g->components[k];
    return info;
}

const uint8_t *attsvm_graph_sets(const attsvm_graph *graph)
{
    if (!graph)
        return NULL;
    return graph->sets;
}
