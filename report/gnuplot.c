/* Runs gnuplot as a child process: commands from a file, the drawing through a pipe. */
#include "report/report.h"

#include "io/io.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static attsvm_status start(int in, int out, int messages, pid_t *child, attsvm_error *err)
{
    char *const arguments[] = { "gnuplot", "--default-settings", NULL };
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
    int code = posix_spawnp(child, "gnuplot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT || code == EACCES)
        return fail(err, ATTSVM_E_OPEN,
                    "gnuplot is not installed; figures need it (Debian: gnuplot-nox)");
    if (code != 0)
        return fail(err, ATTSVM_E_DISK, "gnuplot cannot be started: %s", strerror(code));
    return ATTSVM_OK;
}

/* All that comes out of the pipe. */
static attsvm_status read_all(int pipe, char **bytes, size_t *size, attsvm_error *err)
{
    enum { PIECE = 1 << 16 };
    size_t room = 0;
    for (;;) {
        char *grown = io_grow(*bytes, *size, PIECE, &room, 1, err);
        if (!grown)
            return ATTSVM_E_MEMORY;
        *bytes = grown;
        ssize_t got = read(pipe, *bytes + *size, PIECE);
        if (got == 0)
            return ATTSVM_OK;
        if (got < 0 && errno != EINTR)
            return io_fail_errno(err, "gnuplot", "be read from", errno);
        *size += got > 0 ? (size_t)got : 0;
    }
}

/* The error message of gnuplot, in one line. */
static attsvm_status complain(FILE *messages, attsvm_error *err)
{
    char text[300];
    rewind(messages);
    size_t size = fread(text, 1, sizeof text - 1, messages);
    text[size] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return fail(err, ATTSVM_E_DISK, "gnuplot failed: %s", text);
}

attsvm_status report_gnuplot_run(FILE *script, char **bytes, size_t *size, attsvm_error *err)
{
    int ends[2], result = 0;
    pid_t child;
    *bytes = NULL;
    *size = 0;
    if (fflush(script) != 0 || ferror(script) || lseek(fileno(script), 0, SEEK_SET) != 0)
        return io_fail_errno(err, "commands for gnuplot", "be written", errno);
    FILE *messages = tmpfile();
    if (!messages)
        return fail(err, ATTSVM_E_DISK, "no temporary file for gnuplot");
    if (pipe(ends) != 0) {
        fclose(messages);
        return io_fail_errno(err, "gnuplot", "be given a pipe", errno);
    }
    attsvm_status status = start(fileno(script), ends[1], fileno(messages), &child, err);
    close(ends[1]);
    if (status == ATTSVM_OK) {
        status = read_all(ends[0], bytes, size, err);
        while (waitpid(child, &result, 0) < 0 && errno == EINTR)
            continue;
        if (status == ATTSVM_OK && (!WIFEXITED(result) || WEXITSTATUS(result) != 0))
            status = complain(messages, err);
    }
    close(ends[0]);
    fclose(messages);
    if (status != ATTSVM_OK) {
        free(*bytes);
        *bytes = NULL;
        *size = 0;
    }
    return status;
}

attsvm_status report_gnuplot_find(attsvm_error *err)
{
    char *bytes;
    size_t size;
    FILE *nothing = tmpfile();
    if (!nothing)
        return fail(err, ATTSVM_E_DISK, "no temporary file for gnuplot");
    attsvm_status status = report_gnuplot_run(nothing, &bytes, &size, err);
    if (status == ATTSVM_OK)
        free(bytes);
    fclose(nothing);
    return status;
}
