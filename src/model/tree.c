/*
 * Sums over blocks of sequences, by halves: the tree that ranks are cut from, so that the bytes
 * depend neither on threads nor on ranks (where their number is a power of two).  Blocks are many,
 * so that many ranks have work, and their sums may be large: those of a part of the tree that fits
 * into the slots are computed side by side, and above it one sum waits on each level.
 */
#include "model/model.h"

#include <math.h>

static void add(const model *m, model_partial *a, const model_partial *b)
{
    dist_scaled sum = { a->attention, m->part_size, a->attention_log };
    dist_scaled_add(&sum, &(dist_scaled){ b->attention, m->part_size, b->attention_log });
    a->attention_log = sum.log;
    if (m->trains_v) {
        sum = (dist_scaled){ a->v, m->head.size, a->v_log };
        dist_scaled_add(&sum, &(dist_scaled){ b->v, m->head.size, b->v_log });
        a->v_log = sum.log;
    }
    a->sums = model_sums_add(&a->sums, &b->sums);
}

static model_partial *add_slots(const model *m, int64_t lo, int64_t hi)
{
    if (hi - lo == 1)
        return &m->slot[lo];
    int64_t middle = lo + (hi - lo) / 2;
    model_partial *sum = add_slots(m, lo, middle);
    add(m, sum, add_slots(m, middle, hi));
    return sum;
}

/* The sum of blocks lo..hi-1, in a slot or in what waits on a lower level. */
static model_partial *sum_node(model *m, int64_t lo, int64_t hi, int level, base_block_body *body,
                               void *context)
{
    if (hi - lo <= m->slots) {
        m->node = lo;
        base_parallel(m->threads, hi - lo, body, context);
        return add_slots(m, 0, hi - lo);
    }
    int64_t middle = lo + (hi - lo) / 2;
    model_partial *half = sum_node(m, lo, middle, level + 1, body, context),
                  *kept = &m->kept[level];
    model_partial free_one = *kept;
    *kept = *half;
    *half = free_one; /* their memory changes hands */
    add(m, kept, sum_node(m, middle, hi, level + 1, body, context));
    return kept;
}

int model_tree_levels(int64_t blocks, int64_t slots)
{
    int levels = 0;
    for (; blocks > slots; blocks -= blocks / 2)
        levels++;
    return levels;
}

void model_sum_blocks(model *m, base_block_body *body, void *context)
{
    m->total = &m->slot[0];
    m->slot[0].attention_log = m->slot[0].v_log = -INFINITY;
    m->slot[0].sums = MODEL_NO_SUMS;
    if (m->part_lo < m->part_hi)
        m->total = sum_node(m, m->part_lo, m->part_hi, 0, body, context);
}
