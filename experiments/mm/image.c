/* mm-image: images as patches with positions, and a trained prompt. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, GRID = 4, T = GRID * GRID, D = PIXELS + T };
enum { STEPS = 3000, EVERY = 25, RECORDS = STEPS / EVERY + 1, LAST = 20, HELD_OUT = 3 };
enum { TOKENS, NORM, TRAIN, TEST, CURVES };
enum { MAPS = 4 };

static const double LR = 0.1;
static const int64_t map_steps[MAPS] = { 0, 50, 300, STEPS };

/* One line of examples/digits.txt: "+1<tab>" and 64 pixels 0..g, row by row. */
static const char *read_image(const char *line, double *Y, double *pixels)
{
    const char *c = line;
    *Y = *c == '+' ? 1 : -1;
    c = strchr(c, '\t') + 1;
    for (int k = 0; k < PIXELS; k++, c++)
        pixels[k] = (double)(*c <= '9' ? *c - '0' : *c - 'a' + 10) / 16;
    return c + 1;
}

/* Token t: the image inside patch t, 0 elsewhere, and a 1 for its position. */
static void make_tokens(const double *pixels, double *X)
{
    memset(X, 0, (size_t)T * D * sizeof *X);
    for (int k = 0; k < PIXELS; k++) {
        int t = k / SIDE / 2 * GRID + k % SIDE / 2;
        X[t * D + k] = pixels[k];
    }
    for (int t = 0; t < T; t++)
        X[t * D + PIXELS + t] = 1;
}

/* Every third image is held out. */
typedef struct images {
    int64_t n[2]; /* training images, held-out images */
    double *X[2], *Y[2];
    void *memory;
} images;

static attsvm_status read_images(images *g, attsvm_error *err)
{
    const experiments_file *file = experiments_file_find("examples/digits.txt");
    double pixels[PIXELS], Y;
    int64_t lines = 0;
    *g = (images){ 0 };
    for (size_t k = 0; k < file->size; k++)
        lines += file->text[k] == '\n';
    double *memory;
    TRY(base_allocate(&memory, (size_t)lines * (T * D + 1) * 2, sizeof *memory, "images", err));
    for (int held = 0; held < 2; held++) {
        g->X[held] = memory + held * lines * T * D;
        g->Y[held] = memory + 2 * lines * T * D + held * lines;
    }
    const char *line = file->text;
    for (int64_t i = 0; i < lines; i++) {
        int held = i % HELD_OUT == HELD_OUT - 1;
        line = read_image(line, &Y, pixels);
        make_tokens(pixels, g->X[held] + g->n[held] * T * D);
        g->Y[held][g->n[held]++] = Y;
    }
    g->memory = memory;
    return ATTSVM_OK;
}

/* Attention on every image of one part, accuracy with v, and the effective number of patches.
   The mean attention of each class goes to map (2,T) unless it is NULL. */
static void look(const images *g, int held, const double *p, const double *v, double *accuracy,
                 double *patches, double *map)
{
    double right = 0, effective = 0, count[2] = { 0, 0 };
    for (int64_t i = 0; i < g->n[held]; i++) {
        const double *X = g->X[held] + i * T * D, Y = g->Y[held][i];
        double s[T], entropy = 0, f = 0;
        for (int t = 0; t < T; t++)
            s[t] = la_dot(X + (ptrdiff_t)t * D, p, D);
        la_softmax(s, T);
        for (int t = 0; t < T; t++) {
            entropy -= s[t] > 0 ? s[t] * base_log(s[t]) : 0;
            f += s[t] * la_dot(X + (ptrdiff_t)t * D, v, D);
            if (map)
                map[(Y > 0) * T + t] += s[t];
        }
        right += Y * f > 0;
        effective += base_exp(entropy);
        count[Y > 0]++;
    }
    for (int k = 0; k < 2 * T && map; k++)
        map[k] /= count[k / T];
    *accuracy = right / (double)g->n[held];
    if (patches)
        *patches = effective / (double)g->n[held];
}

static attsvm_status measure(const images *g, const attsvm_train *train, double *curves,
                             double *maps, attsvm_error *err)
{
    double *p;
    TRY(base_allocate(&p, 2 * (size_t)RECORDS * D, sizeof *p, "trace", err));
    double *v = p + (ptrdiff_t)RECORDS * D;
    attsvm_status status = experiments_trained(train, "trace_p", p, RECORDS * D, err);
    if (status == ATTSVM_OK)
        status = experiments_trained(train, "trace_v", v, RECORDS * D, err);
    for (int64_t k = 0; k < RECORDS && status == ATTSVM_OK; k++) {
        const double *pk = p + k * D, *vk = v + k * D;
        double *map = NULL;
        for (int m = 0; m < MAPS; m++)
            map = map_steps[m] == k * EVERY ? maps + (ptrdiff_t)m * 2 * T : map;
        look(g, 0, pk, vk, &curves[TRAIN * RECORDS + k], &curves[TOKENS * RECORDS + k], NULL);
        look(g, 1, pk, vk, &curves[TEST * RECORDS + k], NULL, map);
        curves[NORM * RECORDS + k] = la_norm(pk, D);
    }
    free(p);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    images g;
    double *curves, *maps;
    attsvm_data *data = NULL;
    attsvm_train *train = NULL;
    attsvm_train_settings s;
    TRY(read_images(&g, err));
    attsvm_named_array arrays[] = { experiments_name("X", g.X[0], SHAPE(g.n[0], T, D)),
                                    experiments_name("Y", g.Y[0], SHAPE(g.n[0])) };
    experiments_train_settings(setup, &s);
    s.model = ATTSVM_MODEL_VP;
    s.init = "gauss:0.01";
    s.lr = LR;
    s.iters = STEPS;
    s.record = "25";
    s.threads = setup->threads;
    s.seed = setup->seed;
    attsvm_status status = experiments_add(out, &curves, "curves", SHAPE(CURVES, RECORDS), err);
    if (status == ATTSVM_OK)
        status = experiments_add(out, &maps, "maps", SHAPE(MAPS, 2, GRID, GRID), err);
    if (status == ATTSVM_OK)
        status = attsvm_data_create(&data, arrays, 2, NULL, err);
    if (status == ATTSVM_OK)
        status = attsvm_train_create(&train, data, &s, NULL, NULL, err);
    if (status == ATTSVM_OK)
        status = experiments_train(setup, train, err);
    if (status == ATTSVM_OK)
        status = measure(&g, train, curves, maps, err);
    attsvm_train_free(train);
    attsvm_data_free(data);
    free(g.memory);
    return status;
}

/* ------------------------------------------------------------------------- numbers */

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    static const char *const keys[CURVES] = { "patches", "norm", "accuracy_train",
                                              "accuracy_test" };
    static const char *const meanings[CURVES] = { "mean of exp(entropy): patches at work", "|p|",
                                                  "accuracy on the images trained on",
                                                  "accuracy on held-out images" };
    experiments_view curves;
    double last[CURVES];
    TRY(experiments_get(r, "curves", &curves, err));
    for (int k = 0; k < CURVES; k++) {
        char key[48], meaning[96];
        experiments_mean(curves.x + (k + 1) * RECORDS - LAST, LAST, 1, &last[k], NULL);
        snprintf(key, sizeof key, "%s_end", keys[k]);
        snprintf(meaning, sizeof meaning, "%s, mean over the last %d steps", meanings[k],
                 LAST * EVERY);
        experiments_number(out, key, last[k], meaning);
    }
    experiments_finds(out,
                      "Attention begins on %.1f of 16 patches and ends on %.2f, while |p| grows to "
                      "%.1f; %.1f %% of the held-out images are classified rightly (%.1f %% of "
                      "those trained on).",
                      curves.x[TOKENS * RECORDS], last[TOKENS], last[NORM], 100 * last[TEST],
                      100 * last[TRAIN]);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static void draw_curve(report_figure *f, const experiments_view *curves, int curve,
                       const char *label, report_colour colour)
{
    double steps[RECORDS];
    for (int k = 0; k < RECORDS; k++)
        steps[k] = (double)k * EVERY;
    report_add_series(
        f, &(report_series){ .kind = REPORT_LINE,
                             .label = label,
                             .colour = colour,
                             .dash = colour == REPORT_VERMILION ? REPORT_DASHED : REPORT_SOLID,
                             .count = RECORDS,
                             .x = steps,
                             .y = curves->x + (ptrdiff_t)curve * RECORDS });
}

/* Mean attention on held-out images, by place; both classes together. */
static void draw_map(report_figure *f, const experiments_view *maps, int m)
{
    static const char *const columns[GRID + 1] = { "1", "2", "3", "4", NULL };
    static const char *const rows[GRID + 1] = { "4", "3", "2", "1", NULL };
    char title[48];
    double x[T], y[T], value[T];
    for (int t = 0; t < T; t++) {
        int row = t / GRID;
        x[t] = t % GRID;
        y[t] = GRID - 1 - row;
        value[t] = (maps->x[(ptrdiff_t)m * 2 * T + t] + maps->x[(ptrdiff_t)m * 2 * T + T + t]) / 2;
    }
    snprintf(title, sizeof title, "Attention, step %" PRId64, map_steps[m]);
    report_add_panel(f, &(report_panel){ .title = title,
                                         .x = { .label = "column of patches", .names = columns },
                                         .y = { .label = "row", .names = rows },
                                         .cell_high = 0.6 });
    report_add_series(f, &(report_series){ .kind = REPORT_CELLS,
                                           .colour = REPORT_BLUE,
                                           .count = T,
                                           .x = x,
                                           .y = y,
                                           .high = value });
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view curves, maps;
    TRY(experiments_get(r, "curves", &curves, err));
    TRY(experiments_get(r, "maps", &maps, err));
    *out = report_figure_create(2, 800, 1100);
    report_add_panel(*out, &(report_panel){ .title = "Patches and norm",
                                            .x = { .label = "steps" },
                                            .y = { .label = "patches; |p|" } });
    draw_curve(*out, &curves, TOKENS, "effective number of patches", REPORT_BLUE);
    draw_curve(*out, &curves, NORM, "|p|", REPORT_VERMILION);
    report_add_panel(*out, &(report_panel){ .title = "Accuracy",
                                            .x = { .label = "steps" },
                                            .y = { .label = "share", .low = 0.4, .high = 1.02 } });
    draw_curve(*out, &curves, TRAIN, "trained on", REPORT_BLUE);
    draw_curve(*out, &curves, TEST, "held out", REPORT_VERMILION);
    for (int m = 0; m < MAPS; m++)
        draw_map(*out, &maps, m);
    return ATTSVM_OK;
}

const experiment mm_image = {
    .id = "mm-image",
    .title = "On images: attention turns to few patches",
    .paper = "MM, on smaller images and with one layer",
    .setting =
        "357 handwritten digits 3 and 8 of 8 x 8 pixels (examples/digits.txt, from "
        "examples/data/digits.npz), every third held out; 16 patches of 2 x 2 pixels, each a "
        "vector of its pixels in their place and a 1 for its position (d=80). Model vp from "
        "small random numbers, logistic loss, exact normalised descent with step 0.1, 3000 "
        "steps.",
    .caption = "Effective number of attended patches, norm of the prompt, accuracy, and the mean "
               "attention of held-out images by place, at several steps.",
    .says =
        "While a vision transformer is trained on CIFAR-10, attention maps become sparser and the "
        "norm of the attention weights grows.",
    .seconds = 3,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
