/*
 * The first byte chooses a setting; the rest is its value, as a flag would give it. An accepted
 * value is within its range, and its printed form is accepted and means the same.
 */
#include "fuzz.h"
#include "svm/svm.h"
#include "train/train.h"

enum { TABLES = 4 };
static const settings_table *const tables[TABLES] = { &attsvm_read_table, &attsvm_generate_table,
                                                      &attsvm_svm_table, &attsvm_train_table };

typedef union any_settings {
    attsvm_read_settings read;
    attsvm_generate_settings generate;
    attsvm_svm_settings svm;
    attsvm_train_settings train;
} any_settings;

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

/* The printed value sets the same value again. */
static void check_taken(const settings_table *table, const field *f, const any_settings *settings)
{
    any_settings again;
    attsvm_error err = { 0 };
    char text[4096];
    attsvm_settings_init(table, &again);
    FUZZ_CHECK(attsvm_settings_check(table, settings, &err) == ATTSVM_OK);
    base_settings_print(f, settings, text, sizeof text);
    FUZZ_CHECK(f->kind == FIELD_TEXT || base_settings_set(f, &again, text, &err) == ATTSVM_OK);
    FUZZ_CHECK(f->kind == FIELD_TEXT || memcmp((const char *)settings + f->offset,
                                               (const char *)&again + f->offset, f->size) == 0);
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
    any_settings settings;
    attsvm_settings_init(table, &settings);
    attsvm_status status = attsvm_settings_set(table, &settings, f->name, value, &err);
    if (status == ATTSVM_OK) {
        check_taken(table, f, &settings);
    } else {
        FUZZ_CHECK(status == ATTSVM_E_ARG);
        fuzz_check_error(status, &err);
    }
    const train_rule *rule;
    double parameter;
    if (train_rule_find(value, &rule, &parameter, &err) != ATTSVM_OK)
        fuzz_check_error(err.status, &err);
    attsvm_settings_find(table, value);
    free(value);
    return 0;
}
