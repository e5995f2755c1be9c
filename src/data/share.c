/*
 * Data sets beyond one process and beyond memory.  Every rank sees the whole file and reads its
 * share of the sequences, cut by tokens.  Where the tokens are mapped from a file larger than the
 * memory allowed, they are read ahead and given back stretch by stretch.
 */
#include "data/data.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    STRETCH = 1 << 24,  /* bytes of tokens that are read, used and given back together */
    HUGE_PAGE = 1 << 21 /* most bytes that come into memory when one of them is touched */
};

/* ------------------------------------------------------------------------- ranks */

attsvm_status data_share(attsvm_data *data, dist_comm *comm, attsvm_error *err)
{
    if (!comm || dist_size(comm) == 1)
        return ATTSVM_OK;
    TRY(base_allocate(&data->share, (size_t)dist_size(comm) + 1, sizeof *data->share, "shares",
                      err));
    data_blocks(data, dist_size(comm), data->share);
    data->comm = comm;
    return ATTSVM_OK;
}

/* As many of its bits as a double holds. */
static double as_double(uint64_t number)
{
    return (double)(number >> 12);
}

/*
 * Names, types, shapes, and of each array at most 17 pieces of 64 bytes from its first to its last:
 * enough to tell another file from a copy of this one, without reading it.
 */
static double digest_of(const attsvm_data *data)
{
    const size_t piece = 64, pieces = 16;
    uint64_t number = BASE_DIGEST;
    for (int64_t k = 0; k < data->count; k++) {
        const attsvm_array *array = &data->arrays[k].array;
        const char *name = data->arrays[k].name, *bytes = array->data;
        size_t size = (size_t)attsvm_array_count(array) * attsvm_dtype_size(array->dtype);
        size_t step = size / pieces > piece ? size / pieces : piece;
        number = base_digest(number, name, strlen(name));
        number = base_digest(number, &array->dtype, sizeof array->dtype);
        number = base_digest(number, array->shape, (size_t)array->ndim * sizeof *array->shape);
        for (size_t at = 0; at < size; at += step)
            number = base_digest(number, bytes + at, size - at < piece ? size - at : piece);
        if (size > piece)
            number = base_digest(number, bytes + size - piece, piece);
    }
    return as_double(number);
}

attsvm_status data_check_ranks(const attsvm_data *data, dist_comm *comm, attsvm_error *err)
{
    const char *name = attsvm_kernels();
    if (!comm || dist_size(comm) == 1)
        return ATTSVM_OK;
    double kernels = as_double(base_digest(BASE_DIGEST, name, strlen(name))),
           file = digest_of(data);
    double largest[4] = { kernels, -kernels, file, -file };
    dist_max(comm, largest, 4);
    if (largest[0] != -largest[1])
        return fail(err, ATTSVM_E_ARG,
                    "ranks have different vector kernels (this one %s); --kernels chooses one for "
                    "all",
                    name);
    if (largest[2] != -largest[3])
        return fail(err, ATTSVM_E_DATA,
                    "ranks see different data: expected the same file, or a copy of it, for all");
    return ATTSVM_OK;
}

void data_own(const attsvm_data *data, int64_t *lo, int64_t *hi)
{
    int rank = data->comm ? dist_rank(data->comm) : 0;
    *lo = data->share ? data->share[rank] : 0;
    *hi = data->share ? data->share[rank + 1] : data->n;
}

/* ------------------------------------------------------------------------ memory */

/* A number from a file of one number; INT64_MAX where there is none ("max"). */
static int64_t limit_in(const char *path)
{
    long long value;
    FILE *file = fopen(path, "r");
    if (!file)
        return INT64_MAX;
    int found = fscanf(file, "%lld", &value);
    fclose(file);
    return found == 1 && value > 0 ? (int64_t)value : INT64_MAX;
}

/* The limit of the control group of this process, of either kind ("0::/a", "4:memory:/a"). */
static int64_t group_limit(void)
{
    char line[512], path[640];
    int64_t least = INT64_MAX;
    FILE *groups = fopen("/proc/self/cgroup", "r");
    while (groups && fgets(line, sizeof line, groups)) {
        line[strcspn(line, "\n")] = '\0';
        const char *older = strstr(line, ":memory:");
        if (strncmp(line, "0::", 3) == 0)
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
        else if (older)
            snprintf(path, sizeof path, "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", older + 8);
        else
            continue;
        int64_t limit = limit_in(path);
        least = limit < least ? limit : least;
    }
    if (groups)
        fclose(groups);
    return least;
}

int64_t data_memory_limit(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t most = pages > 0 && page > 0 ? pages * page : INT64_MAX, group = group_limit();
    return (group < most ? group : most) / 2;
}

int64_t data_stretch(const attsvm_data *data, int64_t lo, int64_t hi)
{
    int64_t tokens = 1 + STRETCH / data_row_bytes(data);
    int64_t first = data_first(data, lo), low = lo + 1, high = hi;
    while (low < high) { /* the last end of at most so many tokens, but at least one sequence */
        int64_t middle = low + (high - low + 1) / 2;
        if (data_first(data, middle) - first <= tokens)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void data_passed(const attsvm_data *data, int64_t i, int64_t *first)
{
    if (!data->streams || data_stretch(data, *first, data->n) > i)
        return;
    data_give_back(data, *first, i);
    *first = i;
}

/* Whole pages within `count` rows of X (`within`), or all that they touch. */
static void advise(const attsvm_data *data, int64_t row, int64_t count, bool within, int advice)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *from = (char *)data->X + (size_t)(row * data_row_bytes(data));
    char *to = from + (size_t)(count * data_row_bytes(data));
    size_t before = (size_t)((uintptr_t)from % page), after = (size_t)((uintptr_t)to % page);
    from -= before;
    to -= after;
    if (within && before > 0)
        from += page;
    if (!within && after > 0)
        to += page;
    if (to > from) /* advice only: nothing depends on whether it is taken */
        (void)madvise(from, (size_t)(to - from), advice);
}

/* Whether a huge page comes in as soon as it is touched, also where nothing is to be read ahead. */
static bool has_huge_reads(void)
{
    struct utsname system;
    int major, minor;
    return uname(&system) == 0 && strcmp(system.sysname, "Linux") == 0 &&
           sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 18));
}

/*
 * In order, the system is to read ahead, and in huge pages where it can: small ones cost it more
 * time than the disk takes (docs/scale.md).  In runs, it is to read huge pages, and not ahead into
 * the gap that follows.
 */
void data_set_order(const attsvm_data *data, data_order order)
{
    if (!data->streams)
        return;
    const bool ahead = order == DATA_IN_ORDER || (order == DATA_IN_RUNS && !has_huge_reads());
    advise(data, 0, data->tokens, false, ahead ? MADV_SEQUENTIAL : MADV_RANDOM);
#ifdef MADV_HUGEPAGE
    advise(data, 0, data->tokens, false, order == DATA_BY_ROWS ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
#endif
}

void data_set_memory(attsvm_data *data, bool mapped, int64_t memory)
{
    const int64_t rows = data->index ? data->vocabulary : data->tokens;
    double bytes = (double)data_row_bytes(data) * (double)rows;
    data->allowed = memory > 0 ? memory : data_memory_limit();
    data->streams = mapped && !data->index && bytes > (double)data->allowed;
    data_set_order(data, DATA_IN_ORDER);
    if (mapped && !data->streams)
        base_in_huge_pages((void *)data->X, (size_t)(data_row_bytes(data) * rows));
}

static void advise_sequences(const attsvm_data *data, int64_t lo, int64_t hi, bool within,
                             int advice)
{
    const int64_t first = data_first(data, lo);
    if (data->streams && lo < hi)
        advise(data, first, data_first(data, hi) - first, within, advice);
}

void data_ahead(const attsvm_data *data, int64_t lo, int64_t hi)
{
    /* what is asked for comes in small pages; a long run had better come in huge ones */
    const int64_t rows = data_first(data, hi) - data_first(data, lo);
    if (rows * data_row_bytes(data) < 2 * HUGE_PAGE)
        advise_sequences(data, lo, hi, false, MADV_WILLNEED);
}

void data_ahead_some(const attsvm_data *data, const int64_t *sequences, int64_t count)
{
    int64_t left = STRETCH / data_row_bytes(data);
    for (int64_t k = 0, end; data->streams && k < count && left > 0; k = end) {
        const int64_t first = sequences[k];
        for (end = k; end < count && sequences[end] == first + (end - k) && left > 0; end++)
            left -= data_length(data, sequences[end]);
        data_ahead(data, first, first + (end - k));
    }
}

void data_row_ahead(const attsvm_data *data, int64_t i, int64_t t)
{
    if (data->streams)
        advise(data, data_first(data, i) + t, 1, false, MADV_WILLNEED);
}

void data_give_back(const attsvm_data *data, int64_t lo, int64_t hi)
{
    advise_sequences(data, lo, hi, true, MADV_DONTNEED);
}

void data_give_back_around(const attsvm_data *data, int64_t i)
{
    if (!data->streams)
        return;
    const int64_t around = 1 + HUGE_PAGE / data_row_bytes(data);
    int64_t from = data_first(data, i) - around, to = data_first(data, i + 1) + around;
    from = from > 0 ? from : 0;
    to = to < data->tokens ? to : data->tokens;
    advise(data, from, to - from, true, MADV_DONTNEED);
}
