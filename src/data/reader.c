/*
 * Reads tokens from a mapped file that may be larger than memory: requests pages before they are
 * used and releases them afterwards.  The only file that calls madvise.
 */
#include "data/reader.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    CHUNK = 1 << 24,    /* bytes of tokens that are read and released together */
    HUGE_PAGE = 1 << 21 /* largest unit that the system reads on a page fault  */
};

/* --------------------------------------------------------------------------- memory */

/* The number in a file; INT64_MAX if it holds none ("max"). */
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

/* The memory limit of the control group of this process, version 2 or 1 ("0::/a", "4:memory:/a").
 */
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

/* ---------------------------------------------------------------------------- pages */

/* The row of X of a token. */
static int64_t row_of(const attsvm_data *data, int64_t token)
{
    return data->index ? data->index[token] : token;
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
    if (to > from) /* a hint: failure does not matter */
        (void)madvise(from, (size_t)(to - from), advice);
}

/* Whether touching a byte reads a whole huge page even without read-ahead. */
static bool has_huge_reads(void)
{
    struct utsname system;
    int major, minor;
    return uname(&system) == 0 && strcmp(system.sysname, "Linux") == 0 &&
           sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 18));
}

/*
 * Sequential access asks for read-ahead and huge pages: handling small pages takes the system
 * longer than the disk needs.  Access in runs asks for huge pages without read-ahead into the gap
 * that follows.
 */
void data_reader_order(const attsvm_data *data, data_order order)
{
    if (!data->streams)
        return;
    const bool ahead = order == DATA_IN_ORDER || (order == DATA_IN_RUNS && !has_huge_reads());
    advise(data, 0, data->rows, false, ahead ? MADV_SEQUENTIAL : MADV_RANDOM);
#ifdef MADV_HUGEPAGE
    advise(data, 0, data->rows, false, order == DATA_BY_ROWS ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
#endif
}

void data_set_memory(attsvm_data *data, bool mapped, int64_t memory)
{
    const int64_t rows = data->rows;
    double bytes = (double)data_row_bytes(data) * (double)rows;
    const int64_t allowed = memory > 0 ? memory : data_memory_limit();
    data->streams = mapped && !data->index && bytes > (double)allowed;
    data_reader_order(data, DATA_IN_ORDER);
    if (mapped && !data->streams)
        base_in_huge_pages((void *)data->X, (size_t)(data_row_bytes(data) * rows));
}

static void advise_sequences(const attsvm_data *data, int64_t lo, int64_t hi, bool within,
                             int advice)
{
    const int64_t first = data_first(data, lo), end = data_first(data, hi);
    if (!data->streams || first >= end)
        return;
    const int64_t row = row_of(data, first); /* rows ascend, see attsvm_data_subset */
    advise(data, row, row_of(data, end - 1) + 1 - row, within, advice);
}

/* Requests sequences lo..hi-1; a long run is left to page faults, which read huge pages. */
static void ask_run(const attsvm_data *data, int64_t lo, int64_t hi)
{
    const int64_t rows = data_first(data, hi) - data_first(data, lo);
    if (rows * data_row_bytes(data) < 2 * HUGE_PAGE)
        advise_sequences(data, lo, hi, false, MADV_WILLNEED);
}

void data_reader_ahead(const attsvm_data *data, const int64_t *sequences, int64_t count)
{
    int64_t left = CHUNK / data_row_bytes(data);
    for (int64_t k = 0, end; data->streams && k < count && left > 0; k = end) {
        const int64_t first = sequences[k];
        for (end = k; end < count && sequences[end] == first + (end - k) && left > 0; end++)
            left -= data_length(data, sequences[end]);
        ask_run(data, first, first + (end - k));
    }
}

void data_reader_token_ahead(const attsvm_data *data, int64_t i, int64_t t)
{
    if (data->streams)
        advise(data, row_of(data, data_first(data, i) + t), 1, false, MADV_WILLNEED);
}

void data_reader_release(const attsvm_data *data, int64_t lo, int64_t hi)
{
    advise_sequences(data, lo, hi, true, MADV_DONTNEED);
}

void data_reader_release_around(const attsvm_data *data, int64_t i)
{
    if (!data->streams || data_length(data, i) == 0)
        return;
    const int64_t around = 1 + HUGE_PAGE / data_row_bytes(data);
    int64_t from = row_of(data, data_first(data, i)) - around;
    int64_t to = row_of(data, data_first(data, i + 1) - 1) + 1 + around;
    from = from > 0 ? from : 0;
    to = to < data->rows ? to : data->rows;
    advise(data, from, to - from, true, MADV_DONTNEED);
}

/* --------------------------------------------------------------------------- chunks */

data_reader data_reader_open(const attsvm_data *data, int64_t lo, int64_t end)
{
    return (data_reader){ .data = data, .lo = lo, .hi = lo, .end = end, .at = lo };
}

data_reader data_reader_terms(const data_terms *terms, int64_t lo, int64_t end)
{
    return (data_reader){
        .data = terms->data, .terms = terms, .lo = lo, .hi = lo, .end = end, .at = lo
    };
}

/* The sequence of an item; for the end of the items, the end of the sequences. */
static int64_t sequence_of(const data_reader *reader, int64_t item)
{
    int64_t i = item, query;
    if (!reader->terms)
        return i;
    if (item >= reader->terms->count)
        return reader->data->n;
    data_terms_find(reader->terms, item, &i, &query);
    return i;
}

/* The end of the chunk that begins with sequence lo, at most hi. */
static int64_t chunk_end(const attsvm_data *data, int64_t lo, int64_t hi)
{
    int64_t tokens = 1 + CHUNK / data_row_bytes(data);
    int64_t first = data_first(data, lo), low = lo + 1, high = hi;
    while (low < high) { /* the last end within the chunk size, but at least one sequence */
        int64_t middle = low + (high - low + 1) / 2;
        if (data_first(data, middle) - first <= tokens)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The end of the chunk that begins with item lo. */
static int64_t item_end(const data_reader *reader, int64_t lo)
{
    const attsvm_data *data = reader->data;
    if (!reader->terms)
        return chunk_end(data, lo, reader->end);
    int64_t end = chunk_end(data, sequence_of(reader, lo), data->n);
    int64_t term = data_terms_first(reader->terms, end);
    return term > lo && term < reader->end ? term : reader->end;
}

/* Requests the needed part of the chunk that begins with item lo if it is less than half. */
static void ask_chunk(const data_reader *reader, int64_t lo)
{
    const attsvm_data *data = reader->data;
    if (!reader->needs || lo == reader->end)
        return;
    int64_t hi = item_end(reader, lo), from = sequence_of(reader, lo), to = from, whole = 0;
    for (int64_t k = lo; k < hi; k++)
        whole += reader->needs(reader->context, k) == DATA_ALL;
    if (2 * whole >= hi - lo)
        return;
    for (int64_t k = lo; k < hi; k++) {
        const int64_t need = reader->needs(reader->context, k), i = sequence_of(reader, k);
        if (need >= 0)
            data_reader_token_ahead(data, i, need);
        if (need != DATA_ALL)
            continue;
        if (i > to) { /* the sequences from..to-1 are a run */
            ask_run(data, from, to);
            from = i;
        }
        to = i + 1;
    }
    ask_run(data, from, to);
}

bool data_reader_next(data_reader *reader)
{
    const int64_t over = reader->lo;
    reader->lo = reader->at = reader->hi;
    if (reader->data->streams) {
        if (over < reader->lo)
            data_reader_release(reader->data, sequence_of(reader, over),
                                sequence_of(reader, reader->lo));
        else
            ask_chunk(reader, reader->lo);
    }
    if (reader->lo >= reader->end)
        return false;
    reader->hi = item_end(reader, reader->lo);
    if (reader->data->streams)
        ask_chunk(reader, reader->hi);
    return true;
}

bool data_reader_each(data_reader *reader, int64_t *item)
{
    if (reader->at == reader->hi && !data_reader_next(reader))
        return false;
    *item = reader->at++;
    return true;
}
