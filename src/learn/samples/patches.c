/* Images into bags: windows of size x size pixels, row by row. */
#include "learn/samples/samples.h"

#include <stdlib.h>
#include <string.h>

#define SETTINGS attsvm_patches_settings
static const field patches_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(size), FIELD_INT, 1, 4096, 4, "width and height of a window, in pixels", 0, 0 },
    { F(stride), FIELD_INT, 1, 4096, 2, "pixels from one window to the next", 0, 0 },
    { F(positions), FIELD_BOOL, 0, 1, 0,
      "add the place of the window (top and left, from -1 to 1) as two features", 0, 0 },
    { F(images), FIELD_TEXT, 0, 0, 0, "name of the array (n,h,w), or (n,h*w) for squares", 0,
      "images" },
    { F(labels), FIELD_TEXT, 0, 0, 0, "name of the array of labels", 0, "y" },
};
#undef SETTINGS

const settings_table attsvm_patches_table = { "patches", patches_fields,
                                              sizeof patches_fields / sizeof *patches_fields,
                                              sizeof(attsvm_patches_settings), NULL };

void attsvm_patches_settings_init(attsvm_patches_settings *settings)
{
    attsvm_settings_init(&attsvm_patches_table, settings);
}

static attsvm_status measure(const attsvm_array *images, const attsvm_patches_settings *s,
                             attsvm_patches_info *info, attsvm_error *err)
{
    char shape[IO_SHAPE_SIZE];
    attsvm_array_shape_text(images, shape, sizeof shape);
    *info = (attsvm_patches_info){ .n = images->ndim > 0 ? images->shape[0] : 0 };
    if (images->ndim == 3) {
        info->height = images->shape[1];
        info->width = images->shape[2];
    } else if (images->ndim == 2) {
        info->height = info->width = (int64_t)(sqrt((double)images->shape[1]) + 0.5);
    }
    if (info->n < 1 || (images->ndim == 2 && info->height * info->width != images->shape[1]) ||
        images->ndim < 2 || images->ndim > 3)
        return fail(err, ATTSVM_E_DATA, "%s has shape %s; expected (n,h,w), or (n,h*w) for squares",
                    s->images, shape);
    if (info->height < s->size || info->width < s->size)
        return fail(err, ATTSVM_E_ARG,
                    "size = %" PRId64 " is larger than the images, %" PRId64 " x %" PRId64, s->size,
                    info->height, info->width);
    info->rows = (info->height - s->size) / s->stride + 1;
    info->columns = (info->width - s->size) / s->stride + 1;
    info->d = s->size * s->size + (s->positions ? 2 : 0);
    return ATTSVM_OK;
}

/* From -1 at the first to 1 at the last. */
static float place(int64_t k, int64_t count)
{
    return count > 1 ? (float)(2 * (double)k / (double)(count - 1) - 1) : 0;
}

static void cut(const attsvm_array *images, const attsvm_patches_settings *s,
                const attsvm_patches_info *info, float *x)
{
    const int64_t pixels = info->height * info->width;
    for (int64_t i = 0; i < info->n; i++)
        for (int64_t r = 0; r < info->rows; r++)
            for (int64_t c = 0; c < info->columns; c++) {
                for (int64_t y = 0; y < s->size; y++)
                    for (int64_t z = 0; z < s->size; z++)
                        *x++ = (float)attsvm_array_get(
                            images,
                            i * pixels + (r * s->stride + y) * info->width + c * s->stride + z);
                if (s->positions) {
                    *x++ = place(r, info->rows);
                    *x++ = place(c, info->columns);
                }
            }
}

static attsvm_status write(const attsvm_archive *archive, const char *to,
                           const attsvm_patches_settings *s, attsvm_patches_info *info,
                           attsvm_error *err)
{
    const attsvm_array *images = attsvm_archive_find(archive, s->images);
    const attsvm_array *labels = attsvm_archive_find(archive, s->labels);
    const attsvm_array *fold = attsvm_archive_find(archive, "fold");
    float *x;
    size_t windows, values;
    if (!images)
        return fail(err, ATTSVM_E_DATA, "no array %s; --images names the array of images",
                    s->images);
    TRY(measure(images, s, info, err));
    if (!labels && strcmp(s->labels, "y") != 0)
        return fail(err, ATTSVM_E_DATA, "no array %s; --labels names the array of labels",
                    s->labels);
    if (labels && (labels->ndim != 1 || labels->shape[0] != info->n))
        return fail(err, ATTSVM_E_DATA,
                    "%s does not have one entry for each of the %" PRId64 " images", s->labels,
                    info->n);
    if (!base_multiply((size_t)info->n, (size_t)(info->rows * info->columns), &windows) ||
        !base_multiply(windows, (size_t)info->d, &values))
        return fail(err, ATTSVM_E_ARG, "too many patches");
    TRY(base_allocate(&x, values, sizeof *x, "patches", err));
    cut(images, s, info, x);
    const int64_t how[6] = { s->size,       s->stride,    info->rows,
                             info->columns, info->height, info->width };
    attsvm_named_array arrays[4] = {
        { "X",
          { .data = x,
            .shape = { info->n, info->rows * info->columns, info->d },
            .ndim = 3,
            .dtype = ATTSVM_F32 } },
        { "patches", { .data = how, .shape = { 6 }, .ndim = 1, .dtype = ATTSVM_I64 } },
    };
    int64_t count = 2;
    if (labels)
        arrays[count++] = (attsvm_named_array){ "y", *labels };
    if (fold)
        arrays[count++] = (attsvm_named_array){ "fold", *fold };
    attsvm_status status = attsvm_archive_write(to, arrays, count, err);
    free(x);
    return status;
}

attsvm_status attsvm_patches_cut(const char *from, const char *to,
                                 const attsvm_patches_settings *settings, attsvm_patches_info *info,
                                 attsvm_error *err)
{
    NEED(info);
    attsvm_patches_settings standard, s;
    attsvm_archive *archive;
    attsvm_patches_settings_init(&standard);
    s = settings ? *settings : standard;
    s.images = s.images ? s.images : standard.images;
    s.labels = s.labels ? s.labels : standard.labels;
    TRY(attsvm_settings_check(&attsvm_patches_table, &s, err));
    TRY(attsvm_archive_open(&archive, from, NULL, err));
    attsvm_status status = write(archive, to, &s, info, err);
    attsvm_archive_free(archive);
    if (status == ATTSVM_E_DATA)
        return base_fail_in(err, status, base_path_tail(from));
    return status;
}
