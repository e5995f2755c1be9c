#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    bool tabs = memchr(bytes, '\t', size) != NULL;
    fuzz_read(tabs ? "a.tsv" : "a.csv", bytes, size);
    return 0;
}
