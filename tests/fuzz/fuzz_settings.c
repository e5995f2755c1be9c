/*
 * The first byte chooses a setting, the rest is its value.  A value that is taken is within its
 * range, and what it prints as is taken too.
 */
#include "fuzz.h"

enum { TABLES = 2 };
static const settings_table *const tables[TABLES] = { &base_read_table, &data_generate_table };

static const field *choose(unsigned choice, const settings_table **table)
{
    size_t count = 0, k = 0;
    for (size_t m = 0; m < TABLES; m++)
        count += tables[m]->count;
    size_t index = choice % count;
    for (; k < TABLES - 1 && index >= tables[k]->count; k++)
        index -= tables[k]->count;
    *table = tables[k];
    return &tables[k]->fields[index];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return 0;
    attsvm_error err = { 0 };
    const settings_table *table;
    const field *f = choose(bytes[0], &table);
    char *value = calloc(size, 1);
    memcpy(value, bytes + 1, size - 1);
    union {
        attsvm_read_settings read;
        attsvm_generate_settings generate;
    } settings, again;
    base_settings_init(table, &settings);
    base_settings_init(table, &again);
    attsvm_status status = base_settings_set(f, &settings, value, &err);
    if (status != ATTSVM_OK) {
        FUZZ_CHECK(status == ATTSVM_E_ARG);
        fuzz_check_error(status, &err);
    } else {
        char text[4096];
        FUZZ_CHECK(base_settings_check(table, &settings, &err) == ATTSVM_OK);
        base_settings_print(f, &settings, text, sizeof text);
        FUZZ_CHECK(base_settings_set(f, &again, text, &err) == ATTSVM_OK);
        if (f->kind != FIELD_DOUBLE) /* doubles are printed with 15 digits */
            FUZZ_CHECK(memcmp(&settings, &again, table->size) == 0);
    }
    base_settings_find(table, value);
    free(value);
    return 0;
}
