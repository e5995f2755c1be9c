/* Random data sets straight into a file: the writer asks for pieces, the generator makes them. */
#include "io/io.h"

#include <string.h>

enum { MOST_ARRAYS = 16 };

typedef struct producer producer;

/* One array, as the context of its fill function. */
typedef struct product {
    producer *all;
    int64_t k;
} product;

struct producer {
    data_generator *generator;
    const attsvm_named_array *arrays;
    io_progress *progress;
    void *context;
    int64_t done, total; /* bytes */
    product products[MOST_ARRAYS];
};

static attsvm_status produce(void *context, int64_t first, int64_t count, void *buffer,
                             attsvm_error *err)
{
    product *one = context;
    producer *all = one->all;
    TRY(data_generator_fill(all->generator, one->k, first, count, buffer, err));
    all->done += count * (int64_t)attsvm_dtype_size(all->arrays[one->k].array.dtype);
    if (all->progress)
        all->progress(all->context, all->done, all->total);
    return ATTSVM_OK;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

bool io_holds(const char *path, const char *name)
{
    /* E and tokens are not left out silently: a table cannot hold them, and says so */
    static const char *const besides[] = { "Z", "v", "ids", "planted_p", "planted_W" };
    if (!ends_in(path, ".csv") && !ends_in(path, ".tsv"))
        return true;
    for (size_t k = 0; k < sizeof besides / sizeof *besides; k++)
        if (strcmp(name, besides[k]) == 0)
            return false;
    return true;
}

attsvm_status io_write_generated(const char *path, data_generator *generator,
                                 const io_write_options *options, io_progress *progress,
                                 void *context, attsvm_error *err)
{
    producer all = { .generator = generator, .progress = progress, .context = context };
    io_source sources[MOST_ARRAYS];
    int64_t count = data_generator_arrays(generator, &all.arrays), kept = 0;
    for (int64_t k = 0; k < count; k++) {
        const attsvm_named_array *named = &all.arrays[k];
        if (!io_holds(path, named->name))
            continue;
        all.products[kept] = (product){ &all, k };
        sources[kept] = (io_source){ named->name, named->array, produce, &all.products[kept] };
        all.total +=
            attsvm_array_count(&named->array) * (int64_t)attsvm_dtype_size(named->array.dtype);
        kept++;
    }
    return io_write(path, sources, kept, options, err);
}

attsvm_status attsvm_data_generate_file(const char *path, const attsvm_generate_settings *settings,
                                        attsvm_error *err)
{
    data_generator *generator;
    TRY(data_generator_create(&generator, settings, err));
    attsvm_status status = io_write_generated(path, generator, NULL, NULL, NULL, err);
    data_generator_free(generator);
    return status;
}
