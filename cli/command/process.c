/* The process of a verb: standard streams, signals, progress, exit. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static char bus_message[128];
static size_t bus_length;

/* Reading a mapped file that another program has truncated raises SIGBUS. */
static void on_bus_error(int number)
{
    (void)number;
    ssize_t ignored = write(STDERR_FILENO, bus_message, bus_length);
    (void)ignored;
    _exit(3);
}

/* -------------------------------------------------------------------------- stopping */

static volatile sig_atomic_t caught;   /* the signal that requested a stop; 0: none */
static volatile sig_atomic_t too_late; /* the time limit was reached                */

/* The first signal requests a stop with the results so far, the second ends the process. */
static void on_stop(int number)
{
    caught = number;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    attsvm_interrupt(true);
}

static void on_alarm(int number)
{
    (void)number;
    too_late = 1;
    attsvm_interrupt(true);
}

/* Signals ignored at the start, as with nohup, stay ignored. */
static void catch_signal(int number, void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, before;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void cli_process_limit(double seconds)
{
    if (!(seconds > 0))
        return;
    struct itimerval timer = { .it_value.tv_sec = (time_t)seconds };
    timer.it_value.tv_usec = (suseconds_t)(1e6 * (seconds - floor(seconds)));
    if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
        timer.it_value.tv_usec = 1;
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

bool cli_process_late(void)
{
    return too_late != 0;
}

int cli_process_signal(void)
{
    return caught;
}

/* ------------------------------------------------------------------------- the process */

void cli_process_name(const char *verb)
{
    int written =
        snprintf(bus_message, sizeof bus_message,
                 "attsvm %s: a file was changed or cut short while it was being read\n", verb);
    bus_length = written < (int)sizeof bus_message ? (size_t)written : sizeof bus_message - 1;
}

/* The next file opened would get the number of a closed standard stream, and text would go there.
   /dev/null, opened in the wrong direction, occupies the number and still fails. */
static void keep_standard_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) == -1 && errno == EBADF &&
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream)
            _exit(3);
}

/* Clp loads the LAPACK of the system.  If that is OpenBLAS, it starts a thread for every core,
   which hangs if memory is short; restricted to one core it starts none. */
static void keep_openblas_alone(void)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
}

void cli_process_start(void)
{
    keep_standard_streams();
    keep_openblas_alone();
    static char buffer[1 << 18];
    if (!isatty(STDOUT_FILENO)) /* errors are reported at the end, where the reason is known */
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    cli_process_name("");
    struct sigaction bus = { .sa_handler = on_bus_error };
    sigemptyset(&bus.sa_mask);
    sigaction(SIGBUS, &bus, NULL);
    catch_signal(SIGINT, on_stop);
    catch_signal(SIGTERM, on_stop);
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large becomes a write error  */
    signal(SIGPIPE, SIG_DFL); /* end quietly when the reader of a pipe closes it */
}

attsvm_status cli_process_end(attsvm_error *err)
{
    bool lost = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) != 0)
        lost = true;
    if (lost)
        return fail(err, ATTSVM_E_DISK, "standard output: %s",
                    errno ? strerror(errno) : "could not be written");
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------ progress */

static const double FIRST_SHOWN = 1.0, SHOWN_EVERY = 0.2; /* seconds */

cli_progress cli_progress_start(const cli_call *call, const char *what)
{
    return (cli_progress){ .what = what,
                           .start = base_seconds(),
                           .wanted = !call->common->quiet && isatty(STDERR_FILENO) };
}

bool cli_progress_show(void *progress, int64_t done, int64_t total)
{
    cli_progress *p = progress;
    double now = p->wanted ? base_seconds() : 0, elapsed = now - p->start;
    if (!p->wanted || elapsed < FIRST_SHOWN || now - p->shown < SHOWN_EVERY || done <= 0)
        return true;
    char so_far[32], all[32];
    cli_bytes((double)done, so_far, sizeof so_far);
    cli_bytes((double)total, all, sizeof all);
    double share = (double)done / (double)total;
    fprintf(stderr, "\r%s: %3.0f %%, %s of %s, %.0f s left \033[K", p->what, 100 * share, so_far,
            all, elapsed / share - elapsed);
    fflush(stderr);
    p->shown = now;
    return true;
}

void cli_progress_line(cli_progress *p, const char *text)
{
    double now = p->wanted ? base_seconds() : 0, elapsed = now - p->start;
    if (!p->wanted || elapsed < FIRST_SHOWN || now - p->shown < SHOWN_EVERY)
        return;
    fprintf(stderr, "\r%s: %s, %.0f s \033[K", p->what, text, elapsed);
    fflush(stderr);
    p->shown = now;
}

void cli_progress_end(cli_progress *p)
{
    if (p->shown > 0)
        fputs("\r\033[K", stderr);
    p->shown = 0;
}

const char *cli_shown(const char *text)
{
    enum { KEPT = 4 };
    static char shown[KEPT][4096];
    static int next;
    char *out = shown[next++ % KEPT];
    FILE *memory = fmemopen(out, sizeof *shown, "w");
    if (!memory)
        return "?";
    base_print_text(memory, text, false);
    fputc('\0', memory);
    fclose(memory);
    out[sizeof *shown - 1] = '\0';
    return out;
}

void cli_bytes(double bytes, char *out, size_t size)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
    int k = 0;
    for (; bytes >= 999.5 && k < 6; k++)
        bytes /= 1000;
    int decimals = k == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
    snprintf(out, size, "%.*f %s", decimals, bytes, units[k]);
}
