/*
 * An archive in memory: named arrays and the mapped files behind them.
 */
#include "io/io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

attsvm_status io_archive_create(attsvm_archive **out, attsvm_error *err)
{
    return base_allocate(out, 1, sizeof **out, "archive", err);
}

void attsvm_archive_free(attsvm_archive *archive)
{
    if (!archive)
        return;
    for (int64_t k = 0; k < archive->count; k++) {
        free(archive->items[k].name);
        free(archive->items[k].memory);
    }
    for (int64_t k = 0; k < archive->map_count; k++)
        munmap(archive->maps[k].base, archive->maps[k].size);
    for (int64_t k = 0; k < archive->foreign_count; k++)
        free(archive->foreign[k]);
    free(archive->items);
    free(archive->maps);
    free(archive->foreign);
    free(archive);
}

void *io_grow(void *list, size_t used, size_t more, size_t *capacity, size_t size,
              attsvm_error *err)
{
    if (more <= *capacity - used)
        return list;
    void *longer = NULL;
    size_t wanted = used + more > 2 * *capacity ? used + more : 2 * *capacity, bytes;
    if (base_multiply(wanted, size, &bytes))
        longer = realloc(list, bytes);
    if (longer)
        *capacity = wanted;
    else
        (void)fail(err, ATTSVM_E_MEMORY, "no memory for a list of %zu times %zu bytes", wanted,
                   size);
    return longer;
}

attsvm_status io_archive_add(attsvm_archive *archive, const char *name, const attsvm_array *array,
                             void *memory, attsvm_error *err)
{
    io_item *items =
        io_grow(archive->items, (size_t)archive->count, 1, &archive->capacity, sizeof *items, err);
    if (items)
        archive->items = items;
    char *copy = items ? strdup(name) : NULL;
    if (!copy) {
        free(memory);
        return fail(err, ATTSVM_E_MEMORY, "no memory for one more array");
    }
    archive->items[archive->count++] = (io_item){ copy, *array, memory };
    return ATTSVM_OK;
}

attsvm_status io_archive_leave_out(attsvm_archive *archive, const char *name, attsvm_status why,
                                   attsvm_error *err)
{
    if (data_is_known(name) && !data_is_text(name))
        return why;
    char **names = io_grow(archive->foreign, (size_t)archive->foreign_count, 1,
                           &archive->foreign_capacity, sizeof *names, err);
    if (names)
        archive->foreign = names;
    char *copy = names ? strdup(name) : NULL;
    if (!copy)
        return fail(err, ATTSVM_E_MEMORY, "no memory for one more name");
    archive->foreign[archive->foreign_count++] = copy;
    return ATTSVM_OK;
}

attsvm_status io_archive_add_map(attsvm_archive *archive, void *base, size_t size,
                                 attsvm_error *err)
{
    io_map *maps = io_grow(archive->maps, (size_t)archive->map_count, 1, &archive->map_capacity,
                           sizeof *maps, err);
    if (!maps) {
        munmap(base, size);
        return ATTSVM_E_MEMORY;
    }
    archive->maps = maps;
    archive->maps[archive->map_count++] = (io_map){ base, size };
    return ATTSVM_OK;
}

void io_archive_drop_unused_map(attsvm_archive *archive, int64_t first_item)
{
    for (int64_t k = first_item; k < archive->count; k++)
        if (!archive->items[k].memory)
            return;
    archive->map_count--;
    munmap(archive->maps[archive->map_count].base, archive->maps[archive->map_count].size);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

attsvm_status io_archive_check_names(const attsvm_archive *archive, attsvm_error *err)
{
    const char **names;
    TRY(base_allocate(&names, (size_t)archive->count, sizeof *names, "names", err));
    for (int64_t k = 0; k < archive->count; k++)
        names[k] = archive->items[k].name;
    qsort(names, (size_t)archive->count, sizeof *names, compare_names);
    attsvm_status status = ATTSVM_OK;
    char name[BASE_NAME_SIZE];
    for (int64_t k = 1; k < archive->count && status == ATTSVM_OK; k++)
        if (strcmp(names[k - 1], names[k]) == 0)
            status = fail(err, ATTSVM_E_FORMAT, "two arrays have the name '%s'",
                          base_printable(names[k], name));
    free(names);
    return status;
}

int64_t attsvm_archive_count(const attsvm_archive *archive)
{
    return archive ? archive->count : 0;
}

static const io_item *item(const attsvm_archive *archive, int64_t index)
{
    return archive && index >= 0 && index < archive->count ? &archive->items[index] : NULL;
}

const char *attsvm_archive_name(const attsvm_archive *archive, int64_t index)
{
    const io_item *found = item(archive, index);
    return found ? found->name : NULL;
}

const attsvm_array *attsvm_archive_array(const attsvm_archive *archive, int64_t index)
{
    const io_item *found = item(archive, index);
    return found ? &found->array : NULL;
}

bool attsvm_archive_is_mapped(const attsvm_archive *archive, int64_t index)
{
    const io_item *found = item(archive, index);
    return found && !found->memory;
}

const attsvm_array *attsvm_archive_find(const attsvm_archive *archive, const char *name)
{
    for (int64_t k = 0; name && archive && k < archive->count; k++)
        if (strcmp(archive->items[k].name, name) == 0)
            return &archive->items[k].array;
    return NULL;
}

const char *attsvm_archive_skipped(const attsvm_archive *archive, int64_t k)
{
    if (!archive)
        return NULL;
    return k >= 0 && k < archive->foreign_count ? archive->foreign[k] : NULL;
}
