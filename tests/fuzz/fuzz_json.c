/* JSON that was read and printed again reads as the same value. */
#include "fuzz.h"

static char *print(const io_json *json, size_t *size)
{
    char *text = NULL;
    attsvm_error err = { 0 };
    FILE *stream = open_memstream(&text, size);
    FUZZ_CHECK(stream != NULL);
    FUZZ_CHECK(io_json_print(json, stream, false, &err) == ATTSVM_OK);
    fclose(stream);
    return text;
}

/* Uses every accessor on every value. */
static void walk(const io_json *json)
{
    int64_t integer;
    double number;
    bool flag;
    io_json_as_integer(json, &integer);
    io_json_as_number(json, &number);
    io_json_as_bool(json, &flag);
    io_json_as_text(json);
    for (const char *key = io_json_next_key(json, NULL); key; key = io_json_next_key(json, key)) {
        FUZZ_CHECK(io_json_get(json, key) != NULL);
        walk(io_json_get(json, key));
    }
    for (int64_t k = 0; io_json_is_list(json) && k < io_json_count(json); k++)
        walk(io_json_at(json, k));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    attsvm_error err = { 0 };
    io_json *json, *again;
    attsvm_status status = io_json_parse(&json, (const char *)bytes, size, "a.json", &err);
    if (status != ATTSVM_OK) {
        FUZZ_CHECK(json == NULL);
        fuzz_check_error(status, &err);
        return 0;
    }
    walk(json);
    size_t first_size, second_size;
    char *first = print(json, &first_size);
    FUZZ_CHECK(io_json_parse(&again, first, first_size, "printed", &err) == ATTSVM_OK);
    char *second = print(again, &second_size);
    FUZZ_CHECK(first_size == second_size && memcmp(first, second, first_size) == 0);
    free(first);
    free(second);
    io_json_free(json);
    io_json_free(again);
    return 0;
}
