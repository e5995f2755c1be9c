/* Writes random data sets to a file: the writer requests chunks from the generator. */
#include "data/generate/generate.h"
#include "io/io.h"

enum { MOST_ARRAYS = 16 };

typedef struct producer producer;

/* One array, as the context of its fill function. */
typedef struct product {
    producer *all;
    int64_t k;
} product;

struct producer {
    attsvm_generator *generator;
    const attsvm_named_array *arrays;
    attsvm_observer *observer;
    void *context;
    int64_t done, total; /* bytes */
    product products[MOST_ARRAYS];
};

static attsvm_status produce(void *context, int64_t first, int64_t count, void *buffer,
                             attsvm_error *err)
{
    product *one = context;
    producer *all = one->all;
    TRY(data_generate_fill(all->generator, one->k, first, count, buffer, err));
    all->done += count * (int64_t)attsvm_dtype_size(all->arrays[one->k].array.dtype);
    if (all->observer && !all->observer(all->context, all->done, all->total))
        return fail(err, ATTSVM_E_STOPPED, "the observer ended it");
    return ATTSVM_OK;
}

attsvm_status attsvm_generator_write(attsvm_generator *generator, const char *path, bool deflate,
                                     attsvm_observer *observer, void *context, attsvm_error *err)
{
    NEED(generator);
    NEED(path);
    const attsvm_generator_info info = attsvm_generator_describe(generator);
    const io_write_options options = { .deflate = deflate };
    producer all = {
        .generator = generator, .arrays = info.arrays, .observer = observer, .context = context
    };
    io_source sources[MOST_ARRAYS];
    int64_t kept = 0;
    for (int64_t k = 0; k < info.count; k++) {
        const attsvm_named_array *named = &all.arrays[k];
        if (!attsvm_format_holds(path, named->name))
            continue;
        all.products[kept] = (product){ &all, k };
        sources[kept] = (io_source){ named->name, named->array, produce, &all.products[kept] };
        all.total +=
            attsvm_array_count(&named->array) * (int64_t)attsvm_dtype_size(named->array.dtype);
        kept++;
    }
    return io_write(path, sources, kept, &options, err);
}
