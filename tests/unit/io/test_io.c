/* Atomic files, text, JSON. */
#include "files.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ----------------------------------------------------------------- atomic files */

static void write_text(files *f, const char *name, const char *text)
{
    attsvm_error err = { 0 };
    io_file *file;
    assert_ok(io_file_create(&file, files_path(f, name), &err), err);
    assert_ok(io_file_write(file, text, strlen(text), &err), err);
    assert_ok(io_file_commit(file, &err), err);
}

static void expect_text(files *f, const char *name, const char *text)
{
    size_t size;
    unsigned char *bytes = files_get(files_path(f, name), &size);
    assert_string_equal(bytes, text);
    free(bytes);
}

static void a_file_appears_whole_with_the_usual_rights(void **state)
{
    files *f = *state;
    mode_t mask = umask(027);
    write_text(f, "a.txt", "first");
    umask(mask);
    expect_text(f, "a.txt", "first");
    struct stat info;
    assert_int_equal(stat(files_path(f, "a.txt"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    write_text(f, "a.txt", "second, over the first");
    expect_text(f, "a.txt", "second, over the first");
    assert_int_equal(files_count(f), 1);
}

static void large_writes_and_seeks_land_in_place(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    size_t size = 3000000, read_size;
    unsigned char *bytes = malloc(size);
    for (size_t k = 0; k < size; k++)
        bytes[k] = (unsigned char)(k * 2654435761u >> 24);
    io_file *file;
    assert_ok(io_file_create(&file, files_path(f, "a"), &err), err);
    assert_ok(io_file_write(file, "....", 4, &err), err);
    for (size_t done = 0, step = 1; done < size; step = step * 3 + 1) {
        size_t count = size - done < step ? size - done : step;
        assert_ok(io_file_write(file, bytes + done, count, &err), err);
        done += count;
    }
    assert_int_equal(io_file_tell(file), size + 4);
    assert_ok(io_file_seek(file, 1, &err), err);
    assert_ok(io_file_write(file, "ab", 2, &err), err);
    assert_ok(io_file_seek(file, size + 4, &err), err);
    assert_ok(io_file_write(file, "end", 3, &err), err);
    assert_ok(io_file_commit(file, &err), err);
    unsigned char *back = files_get(files_path(f, "a"), &read_size);
    assert_int_equal(read_size, size + 7);
    assert_memory_equal(back, ".ab.", 4);
    assert_memory_equal(back + 4, bytes, size);
    assert_memory_equal(back + 4 + size, "end", 3);
    free(back);
    free(bytes);
}

static void an_abandoned_file_leaves_nothing(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    io_file *file;
    write_text(f, "a.txt", "old");
    assert_ok(io_file_create(&file, files_path(f, "a.txt"), &err), err);
    assert_ok(io_file_write(file, "new", 3, &err), err);
    io_file_abandon(file);
    io_file_abandon(NULL);
    expect_text(f, "a.txt", "old");
    assert_int_equal(files_count(f), 1);
}

/* Only on systems with unnamed files. */
static bool has_nameless_files(const files *f)
{
    int descriptor = open(f->directory, O_TMPFILE | O_RDWR, 0600);
    if (descriptor >= 0)
        close(descriptor);
    return descriptor >= 0;
}

static void a_killed_writer_leaves_nothing(void **state)
{
    files *f = *state;
    if (!has_nameless_files(f)) {
        print_message("skipped: this file system has no O_TMPFILE\n");
        skip();
    }
    pid_t child = fork();
    if (child == 0) {
        io_file *file;
        char bytes[5000] = { 0 };
        if (io_file_create(&file, files_path(f, "a.npz"), NULL) != ATTSVM_OK)
            _exit(1);
        for (int k = 0; k < 1000; k++)
            io_file_write(file, bytes, sizeof bytes, NULL);
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(files_count(f), 0);
}

static void places_that_cannot_be_written_are_named(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    io_file *file;
    assert_fails(io_file_create(&file, "", &err), err, ATTSVM_E_ARG, "empty");
    assert_fails(io_file_create(&file, NULL, &err), err, ATTSVM_E_ARG, "empty");
    assert_fails(io_file_create(&file, "/no/such/place/a.npz", &err), err, ATTSVM_E_OPEN,
                 "/no/such/place/a.npz: the directory '/no/such/place' does not exist");
    assert_null(file);
    assert_fails(io_file_create(&file, f->directory, &err), err, ATTSVM_E_OPEN, "is a directory");
    write_text(f, "plain", "x");
    assert_fails(io_file_create(&file, files_path(f, "plain/a.npz"), &err), err, ATTSVM_E_OPEN,
                 "Not a directory");
    assert_fails(io_file_create(&file, files_path(f, "none/"), &err), err, ATTSVM_E_OPEN, "slash");
    assert_fails(io_file_create(&file, "/dev/null", &err), err, ATTSVM_E_OPEN,
                 "not a regular file");
    assert_fails(io_file_create(&file, "/dev/stdout", &err), err, ATTSVM_E_OPEN,
                 "not a regular file");
    assert_int_equal(mkfifo(files_path(f, "pipe"), 0600), 0);
    assert_fails(io_file_create(&file, files_path(f, "pipe"), &err), err, ATTSVM_E_OPEN,
                 "not a regular file");
    if (geteuid() == 0) {
        print_message("as root every directory may be written; not tested\n");
        return;
    }
    assert_int_equal(mkdir(files_path(f, "closed"), 0500), 0);
    assert_fails(io_file_create(&file, files_path(f, "closed/a.npz"), &err), err, ATTSVM_E_OPEN,
                 "Permission denied");
}

static void links_are_followed(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    io_file *file;
    char link[600];
    struct stat info;
    write_text(f, "real", "old");
    snprintf(link, sizeof link, "%s/link", f->directory);
    assert_int_equal(symlink("real", link), 0);
    write_text(f, "link", "new");
    expect_text(f, "real", "new");
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    snprintf(link, sizeof link, "%s/loose", f->directory);
    assert_int_equal(symlink("nowhere", link), 0);
    assert_fails(io_file_create(&file, link, &err), err, ATTSVM_E_OPEN, "symbolic link");
}

/* The limit on file sizes stands in for a full disk. */
static void a_full_disk_is_reported_and_leaves_nothing(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    struct rlimit old, small;
    double values[4000] = { 0 };
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){ 10000, old.rlim_max };
    attsvm_named_array array = { "X", array_1d(ATTSVM_F64, values, 4000) };
    static const char *const names[] = { "a.npz", "a.npy", "a.safetensors" };
    for (size_t k = 0; k < 3; k++) {
        setrlimit(RLIMIT_FSIZE, &small);
        attsvm_status status = attsvm_archive_write(files_path(f, names[k]), &array, 1, &err);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(status, ATTSVM_E_DISK);
        assert_non_null(strstr(err.message, names[k]));
        assert_non_null(strstr(err.message, "File too large"));
        assert_int_equal(files_count(f), 0);
    }
}

/* ------------------------------------------------------------------------- text */

static bool parses(const char *text, double *out)
{
    return io_parse_number(text, strlen(text), out);
}

static void numbers_are_strict(void **state)
{
    (void)state;
    double x;
    static const char *const good[] = { "0",   "-0",     "1.",       ".5",    "+3e-2",      "1E+5",
                                        "007", "1e-400", "4.9e-324", "1e308", "0e999999999" };
    static const char *const bad[] = {
        "",   ".",   "-",   "e5",   "1e",    "1e+", "0x10", "nan", "inf",    "1e309",   "1 ",
        " 1", "1,5", "--1", "1e5.", "1.2.3", "1_0", "1f",   "1d5", "NaN(1)", "infinity"
    };
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        assert_true(parses(good[k], &x));
        assert_true(x == strtod(good[k], NULL));
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(parses(bad[k], &x));
    assert_true(parses("-0", &x) && signbit(x));
    char digits[700];
    memset(digits, '1', sizeof digits);
    assert_false(io_parse_number(digits, sizeof digits, &x)); /* longer than any number needs */
    assert_true(io_parse_number(digits, 300, &x));
}

static void numbers_come_back_as_they_were(void **state)
{
    (void)state;
    base_random r = base_random_stream(7, 0);
    char text[IO_NUMBER_SIZE];
    for (int k = 0; k < 200000; k++) {
        uint64_t bits = base_random_bits(&r);
        double value, back;
        if (k % 2 == 0)
            memcpy(&value, &bits, sizeof value);
        else
            value = (double)(int64_t)(bits % 2000001 - 1000000) / 1000;
        if (!isfinite(value))
            continue;
        size_t size = io_print_number(value, text);
        assert_true(size < IO_NUMBER_SIZE && strlen(text) == size);
        assert_true(io_parse_number(text, size, &back));
        assert_memory_equal(&back, &value, sizeof back);
        assert_true(back == strtod(text, NULL));
    }
    io_print_number(0.1, text);
    assert_string_equal(text, "0.1");
}

static char *printed(const io_json *json)
{
    char *text = NULL;
    size_t size;
    attsvm_error err = { 0 };
    FILE *stream = open_memstream(&text, &size);
    assert_ok(io_json_print(json, stream, false, &err), err);
    fclose(stream);
    return text;
}

/* A locale whose decimal point is a comma must change nothing. */
static void the_locale_does_not_matter(void **state)
{
    files *f = *state;
    char command[300], text[IO_NUMBER_SIZE];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >'%s/log' 2>&1",
             f->directory, f->directory);
    if (system(command) != 0 || setenv("LOCPATH", f->directory, 1) != 0 ||
        !setlocale(LC_ALL, "de_DE.UTF-8")) {
        print_message("skipped: no German locale to be had\n");
        skip();
    }
    double back;
    char comma[8];
    snprintf(comma, sizeof comma, "%.1f", 0.5);
    assert_string_equal(comma, "0,5");
    io_print_number(-12345.678901234567, text);
    assert_true(parses(text, &back) && back == -12345.678901234567);
    assert_string_equal(text, "-12345.678901234567");
    assert_true(parses("0.30000000000000004", &back) && back == 0.1 + 0.2);
    assert_false(parses("0,5", &back));
    attsvm_error err = { 0 };
    io_json *json;
    assert_ok(io_json_parse(&json, "[0.30000000000000004]", 21, "f", &err), err);
    assert_true(io_json_as_number(io_json_at(json, 0), &back) && back == 0.1 + 0.2);
    io_json_free(json);
    json = io_json_number(0.1 + 0.2);
    char *shown = printed(json);
    assert_string_equal(shown, "0.30000000000000004\n");
    free(shown);
    io_json_free(json);
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
}

static void names_are_made_printable(void **state)
{
    (void)state;
    char out[BASE_NAME_SIZE], name[3000];
    assert_string_equal(base_printable("a\nb\x1b\x7f", out), "a\\x0ab\\x1b\\x7f");
    assert_string_equal(base_printable("\xff\xc3\xa9", out), "\\xff\xc3\xa9");
    memset(name, '\n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_true(strlen(base_printable(name, out)) < BASE_NAME_SIZE);
    assert_non_null(strstr(out, "..."));
    assert_true(base_is_utf8("\xf0\x9f\x98\x80 \xe2\x82\xac"));
    assert_false(base_is_utf8("\xc0\xaf"));         /* longer than needed */
    assert_false(base_is_utf8("\xed\xa0\x80"));     /* a surrogate        */
    assert_false(base_is_utf8("\xf4\x90\x80\x80")); /* beyond U+10FFFF    */
    assert_false(base_is_utf8("\xe2\x82"));         /* cut                */
}

/* ------------------------------------------------------------------------- JSON */

static void json_keeps_order_and_digits(void **state)
{
    (void)state;
    io_json *json = io_json_object(), *list = io_json_list();
    io_json_set(json, "z", io_json_integer(INT64_MIN));
    io_json_set(json, "list", list);
    io_json_append(list, io_json_number(0.1)); /* also after its owner took it */
    io_json_append(list, io_json_number(NAN));
    io_json_append(list, io_json_number(-INFINITY));
    io_json_append(list, io_json_number(1));
    io_json_set(json, "a", io_json_bool(true));
    io_json_set(json, "text", io_json_text("\xff\"\n\xc3\xa9"));
    io_json_set(json, "n", io_json_integers((int64_t[]){ 3, -4 }, 2));
    io_json_set(json, "x", io_json_numbers((double[]){ 1e300 }, 1));
    char *text = printed(json);
    assert_string_equal(text, "{\"z\": -9223372036854775808, \"list\": [0.10000000000000001, null, "
                              "null, 1.0], \"a\": true, \"text\": \"\xef\xbf\xbd\\\"\\n\xc3\xa9\", "
                              "\"n\": [3, -4], \"x\": [1.0000000000000001e300]}\n");
    free(text);
    io_json_free(json);
}

static void json_comes_back(void **state)
{
    files *f = *state;
    attsvm_error err = { 0 };
    io_json *json = io_json_object(), *back;
    io_json_set(json, "k", io_json_integer(7));
    io_json_set(json, "x", io_json_number(0.1));
    io_json_set(json, "t", io_json_text("word"));
    io_json_set(json, "b", io_json_bool(false));
    io_json_set(json, "l", io_json_integers((int64_t[]){ 5, 6 }, 2));
    assert_ok(io_json_write(json, files_path(f, "a.json"), &err), err);
    assert_ok(io_json_read(&back, files_path(f, "a.json"), &err), err);
    int64_t k;
    double x;
    bool b = true;
    assert_int_equal(io_json_count(back), 5);
    const char *key = io_json_next_key(back, NULL);
    assert_string_equal(key, "k");
    assert_string_equal(io_json_next_key(back, key), "x");
    assert_true(io_json_as_integer(io_json_get(back, "k"), &k) && k == 7);
    assert_true(io_json_as_number(io_json_get(back, "x"), &x) && x == 0.1);
    assert_true(io_json_as_number(io_json_get(back, "k"), &x) && x == 7);
    assert_true(io_json_as_bool(io_json_get(back, "b"), &b) && !b);
    assert_string_equal(io_json_as_text(io_json_get(back, "t")), "word");
    assert_true(io_json_as_integer(io_json_at(io_json_get(back, "l"), 1), &k) && k == 6);
    assert_false(io_json_as_integer(io_json_get(back, "x"), &k));
    assert_false(io_json_as_number(io_json_get(back, "t"), &x));
    assert_false(io_json_as_bool(io_json_get(back, "k"), &b));
    assert_null(io_json_as_text(io_json_get(back, "k")));
    assert_null(io_json_get(back, "none"));
    assert_null(io_json_at(io_json_get(back, "l"), 2));
    assert_null(io_json_at(io_json_get(back, "l"), -1));
    assert_int_equal(io_json_count(io_json_get(back, "k")), -1);
    assert_int_equal(io_json_count(NULL), -1);
    io_json_free(back);
    io_json_free(json);
    assert_fails(io_json_read(&back, "/no/such.json", &err), err, ATTSVM_E_OPEN, "/no/such.json");
    assert_fails(io_json_read(&back, f->directory, &err), err, ATTSVM_E_OPEN, "directory");
    files_put(f, "empty.json", "", 0);
    assert_fails(io_json_read(&back, files_path(f, "empty.json"), &err), err, ATTSVM_E_FORMAT,
                 "line 1");
}

static void json_that_lost_something_is_not_printed(void **state)
{
    (void)state;
    attsvm_error err = { 0 };
    io_json *json = io_json_object(), *list = io_json_list();
    io_json_set(json, "list", list);
    io_json_append(list, NULL); /* returned by a constructor when memory runs out */
    assert_fails(io_json_print(json, stdout, false, &err), err, ATTSVM_E_MEMORY, "no memory");
    io_json *outer = io_json_list();
    io_json_append(outer, json); /* the failure mark moves to the parent */
    assert_fails(io_json_write(outer, "/none", &err), err, ATTSVM_E_MEMORY, "no memory");
    io_json_free(outer);
    io_json_set(NULL, "k", io_json_integer(1)); /* frees the value it takes */
    io_json_append(NULL, io_json_list());
    assert_fails(io_json_print(NULL, stdout, false, &err), err, ATTSVM_E_MEMORY, "no memory");
    io_json_free(NULL);
}

static void bad_json_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "{\"a\": 1, \"a\": 2}", "duplicate" },
        { "{\"a\":\n 1,}", "f: JSON, line 2" },
        { "[1] 2", "end of file expected" },
        { "[01]", "line 1" },
        { "[nan]", "line 1" },
        { "[1e999]", "overflow" },
        { "[99999999999999999999]", "too big" },
        { "\"\\u0000\"", "not allowed" },
        { "\"\xff\"", "decode" },
        { "\"\x1b\"", "control character" },
        { "\"open", "line 1" },
        { "", "line 1" },
        { "{'a': 1}", "line 1" },
    };
    attsvm_error err = { 0 };
    io_json *json;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *text = cases[k].text;
        assert_fails(io_json_parse(&json, text, strlen(text), "f", &err), err, ATTSVM_E_FORMAT,
                     cases[k].message);
        assert_null(json);
    }
    char deep[131];
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    assert_fails(io_json_parse(&json, deep, 130, "f", &err), err, ATTSVM_E_FORMAT, "64 levels");
    assert_ok(io_json_parse(&json, deep + 1, 128, "f", &err), err);
    io_json_free(json);
    assert_ok(io_json_parse(&json, "\"[[\\\"[\"", 7, "f", &err), err);
    io_json_free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_appears_whole_with_the_usual_rights, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(large_writes_and_seeks_land_in_place, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(an_abandoned_file_leaves_nothing, files_open, files_close),
        cmocka_unit_test_setup_teardown(a_killed_writer_leaves_nothing, files_open, files_close),
        cmocka_unit_test_setup_teardown(places_that_cannot_be_written_are_named, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(links_are_followed, files_open, files_close),
        cmocka_unit_test_setup_teardown(a_full_disk_is_reported_and_leaves_nothing, files_open,
                                        files_close),
        cmocka_unit_test(numbers_are_strict),
        cmocka_unit_test(numbers_come_back_as_they_were),
        cmocka_unit_test_setup_teardown(the_locale_does_not_matter, files_open, files_close),
        cmocka_unit_test(names_are_made_printable),
        cmocka_unit_test(json_keeps_order_and_digits),
        cmocka_unit_test_setup_teardown(json_comes_back, files_open, files_close),
        cmocka_unit_test(json_that_lost_something_is_not_printed),
        cmocka_unit_test(bad_json_is_refused_with_its_place),
    };
    return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
