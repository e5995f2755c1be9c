/* Parses query and head, which have the same fields in every settings struct. */
#include "data/data.h"

#include <string.h>

const char *const data_query_names[] = { "given", "token", "all", "causal", "last", NULL };
const char *const data_head_names[] = { "linear", "relu", "concave", NULL };

attsvm_status data_settings_pair(const settings_table *table, void *settings, const char *name,
                                 const char *number, const char *value, attsvm_error *err)
{
    char first[32];
    const char *colon = strchr(value, ':');
    size_t length = (size_t)(colon - value);
    if (length >= sizeof first)
        return fail(err, ATTSVM_E_ARG, "%s = %s is not a known %s", name, value, name);
    memcpy(first, value, length);
    first[length] = '\0';
    TRY(base_settings_set(attsvm_settings_find(table, name), settings, first, err));
    return base_settings_set(attsvm_settings_find(table, number), settings, colon + 1, err);
}

attsvm_status data_settings_set(const settings_table *table, const field *f, void *settings,
                                const char *value, attsvm_error *err)
{
    bool query = strcmp(f->name, "query") == 0;
    if (strcmp(f->name, "head") == 0 && strncmp(value, "concave:", 8) == 0)
        return data_settings_pair(table, settings, "head", "kappa", value, err);
    if (query && value[0] >= '0' && value[0] <= '9') {
        TRY(base_settings_set(attsvm_settings_find(table, "query_token"), settings, value, err));
        value = "token";
    }
    return base_settings_set(f, settings, value, err);
}
