/*
 * Runs a fuzz target without libFuzzer on files, or on all files of directories: the seeds and
 * earlier findings, in every build and with every compiler.
 */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static int runs;

static void run_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    FUZZ_CHECK(stream != NULL);
    FUZZ_CHECK(fseek(stream, 0, SEEK_END) == 0);
    long size = ftell(stream);
    FUZZ_CHECK(size >= 0);
    rewind(stream);
    /* a block of exactly that size, so that the sanitizer sees reads beyond it */
    uint8_t *bytes = malloc(size ? (size_t)size : 1);
    FUZZ_CHECK(bytes != NULL && fread(bytes, 1, (size_t)size, stream) == (size_t)size);
    fclose(stream);
    LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
    runs++;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_path(const char *path)
{
    struct stat info;
    struct dirent **entries;
    if (stat(path, &info) != 0) {
        fprintf(stderr, "%s is not there\n", path);
        exit(1);
    }
    if (!S_ISDIR(info.st_mode)) {
        run_file(path);
        return;
    }
    int count = scandir(path, &entries, visible, alphasort);
    FUZZ_CHECK(count >= 0);
    for (int k = 0; k < count; k++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entries[k]->d_name);
        run_path(file);
        free(entries[k]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int k = 1; k < argc; k++)
        run_path(argv[k]);
    printf("%d inputs\n", runs);
    return runs > 0 ? 0 : 1;
}
