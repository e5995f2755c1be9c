/*
 * Bags that test the multiple-instance assumption (theory 8; Raff, Holt, arXiv 2310.17867): a model
 * that can call a bag positive because something is absent learns the poison token of the negative
 * training bags, which in the test split is in the positive ones.
 *
 * Tokens of a bag: those of its concepts, the poison, background.
 */
#include "data/generate/generate.h"

enum { MIL_STREAM = 0x40, TEST_STREAM = 0x41 };

typedef enum content { FIRST, SECOND, WIDE, SHIFTED, POISON, BACKGROUND } content;

typedef struct composition {
    int64_t first, second, concept, poison, background; /* tokens of each sort */
} composition;

static base_random stream(const attsvm_generator *g, int64_t i, int64_t next)
{
    const uint64_t split = g->settings.split == ATTSVM_TEST_SPLIT ? TEST_STREAM : MIL_STREAM;
    base_random r = base_random_stream((uint64_t)g->settings.seed, split << 56 | (uint64_t)i);
    r.next = (uint64_t)next;
    return r;
}

bool data_generate_is_mil(const attsvm_generator *g)
{
    return g->settings.kind >= ATTSVM_MIL_SINGLE && g->settings.kind <= ATTSVM_MIL_FREQUENCY;
}

/* Every second bag is positive. */
int data_mil_label(int64_t i)
{
    return i % 2 == 0 ? 1 : -1;
}

static composition compose(const attsvm_generator *g, int64_t i)
{
    const bool test = g->settings.split == ATTSVM_TEST_SPLIT, positive = data_mil_label(i) > 0;
    base_random r = stream(g, i, 0);
    const int64_t few = 1 + base_random_below(&r, 3), which = base_random_below(&r, 2);
    const int64_t often = 35 + base_random_below(&r, 10);
    const int64_t background = 1 + base_random_below(&r, 9);
    composition c = { .poison = positive == test, .background = background };
    if (g->settings.kind == ATTSVM_MIL_SINGLE) {
        c.background = 10;
        c.concept = positive ? few : 0;
        return c;
    }
    const bool frequency = g->settings.kind == ATTSVM_MIL_FREQUENCY;
    if (frequency)
        c.poison = 0;
    const int64_t times = frequency ? (test && !positive ? often : 1) : positive ? few : 1;
    c.first = positive || which == 0 ? times : 0;
    c.second = positive || which == 1 ? times : 0;
    return c;
}

int64_t data_mil_length(const attsvm_generator *g, int64_t i)
{
    const composition c = compose(g, i);
    return c.first + c.second + c.concept + c.poison + c.background;
}

static content content_of(const attsvm_generator *g, int64_t i, int64_t t)
{
    const composition c = compose(g, i);
    base_random r = stream(g, i, 16 + t);
    if ((t -= c.first) < 0)
        return FIRST;
    if ((t -= c.second) < 0)
        return SECOND;
    if ((t -= c.concept) < 0)
        return base_random_below(&r, 2) == 0 ? WIDE : SHIFTED;
    return t < c.poison ? POISON : BACKGROUND;
}

void data_mil_token(const attsvm_generator *g, int64_t i, int64_t t, double *x)
{
    static const struct {
        double mean, deviation;
    } of[] = { [FIRST] = { 2, 0.1 }, [SECOND] = { 3, 0.1 },   [WIDE] = { 0, 3 },
               [SHIFTED] = { 1, 1 }, [POISON] = { -10, 0.1 }, [BACKGROUND] = { 0, 1 } };
    const content what = content_of(g, i, t);
    const int64_t d = g->settings.d;
    base_random r = stream(g, i, 1024 + t * d);
    base_random_gauss_fill(&r, x, d);
    for (int64_t j = 0; j < d; j++)
        x[j] = of[what].mean + of[what].deviation * x[j];
    data_generate_round(g, x);
}
