/* report: figures drawn by gnuplot, and the page. */
#include "files.h"

#include "report/report.h"

static report_figure *small_figure(void)
{
    static const double x[] = { 1, 10, 100 }, y[] = { 1, NAN, 3 }, low[] = { 0.5, 1, 2 },
                        high[] = { 2, 3, 4 };
    static const char *const names[] = { "a", "b", NULL };
    report_figure *f = report_figure_create(2, 600, 300);
    report_add_panel(f, &(report_panel){ .title = "Left",
                                         .x = { .label = "steps", .log = true },
                                         .y = { .label = "value" } });
    for (int kind = REPORT_LINE; kind <= REPORT_BARS; kind++)
        report_add_series(f, &(report_series){ .kind = (report_kind)kind,
                                               .label = "series",
                                               .colour = (report_colour)kind,
                                               .size = 1,
                                               .count = 3,
                                               .x = x,
                                               .y = y,
                                               .low = low,
                                               .high = high });
    report_add_panel(
        f, &(report_panel){ .title = "Right", .x = { .names = names }, .y = { .names = names } });
    report_add_series(f, &(report_series){ .kind = REPORT_CELLS,
                                           .count = 2,
                                           .x = (double[]){ 0, 1 },
                                           .y = (double[]){ 0, 1 },
                                           .high = (double[]){ 0.2, 0.9 } });
    return f;
}

static void needs_gnuplot(void)
{
    attsvm_error err = { 0 };
    if (report_gnuplot_find(&err) != ATTSVM_OK) {
        print_message("%s\n", err.message);
        skip();
    }
}

static void figures_are_the_same_bytes(void **state)
{
    files *f = *state;
    attsvm_error err;
    needs_gnuplot();
    unsigned char *bytes[2];
    size_t size[2];
    for (int k = 0; k < 2; k++) {
        report_figure *figure = small_figure();
        assert_ok(report_figure_write(figure, files_path(f, "figure.svg"), &err), err);
        report_figure_free(figure);
        bytes[k] = files_get(files_path(f, "figure.svg"), &size[k]);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    assert_non_null(strstr((char *)bytes[0], "<svg"));
    assert_non_null(strstr((char *)bytes[0], "0.900"));
    free(bytes[0]);
    free(bytes[1]);
    report_figure *figure = small_figure();
    assert_ok(report_figure_write(figure, files_path(f, "figure.png"), &err), err);
    report_figure_free(figure);
    bytes[0] = files_get(files_path(f, "figure.png"), &size[0]);
    assert_memory_equal(bytes[0], "\x89PNG", 4);
    free(bytes[0]);
    assert_int_equal(files_count(f), 2);
}

/* Panels without series, series without points, one point, equal points. */
static void poor_figures_are_drawn(void **state)
{
    files *f = *state;
    attsvm_error err;
    needs_gnuplot();
    static const double same[] = { 2, 2 };
    report_figure *figure = report_figure_create(2, 600, 300);
    report_add_series(figure, &(report_series){ .count = 1, .y = same }); /* no panel yet */
    report_add_panel(figure, &(report_panel){ .x = { .log = true } });
    report_add_panel(figure, &(report_panel){ .equal = true });
    report_add_series(figure, &(report_series){ .label = "none" });
    report_add_series(figure, &(report_series){ .kind = REPORT_POINTS, .count = 1, .y = same });
    report_add_series(
        figure, &(report_series){ .kind = REPORT_TRAJECTORY, .count = 2, .x = same, .y = same });
    report_add_series(
        figure, &(report_series){ .kind = REPORT_DIRECTION, .count = 2, .x = same, .y = same });
    assert_ok(report_figure_write(figure, files_path(f, "figure.svg"), &err), err);
    report_figure_free(figure);
}

static void failures_are_told(void **state)
{
    files *f = *state;
    attsvm_error err;
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
    report_figure *figure = small_figure();
    assert_fails(report_figure_write(NULL, "x.svg", &err), err, ATTSVM_E_MEMORY, "x.svg");
    setenv("PATH", f->directory, 1);
    assert_fails(report_figure_write(figure, files_path(f, "figure.svg"), &err), err, ATTSVM_E_OPEN,
                 "gnuplot is not installed");
    assert_int_equal(files_count(f), 0);
    setenv("PATH", path, 1);
    free(path);
    needs_gnuplot();
    assert_fails(report_figure_write(figure, files_path(f, "no/figure.svg"), &err), err,
                 ATTSVM_E_OPEN, "figure.svg");
    /* a script that gnuplot rejects gives no figure */
    FILE *script = tmpfile();
    char *bytes;
    size_t size;
    fputs("plot nonsense(\n", script);
    assert_fails(report_gnuplot_run(script, &bytes, &size, &err), err, ATTSVM_E_DISK,
                 "gnuplot failed");
    assert_null(bytes);
    fclose(script);
    report_figure_free(figure);
}

static void text_on_the_page_stands_for_itself(void **state)
{
    files *f = *state;
    attsvm_error err;
    const report_number number = { "key", "a < b & c", "1.5", "1 to 2: theorem", false, false };
    const report_section section = { .id = "some-id",
                                     .title = "Title <b>",
                                     .paper = "MM",
                                     .setting = "n=1",
                                     .caption = "Caption",
                                     .says = "what it says",
                                     .code = "what it does",
                                     .finds = "finds",
                                     .svg = "<svg></svg>",
                                     .numbers = &number,
                                     .number_count = 1,
                                     .seconds = 0.25 };
    assert_ok(report_page_write(files_path(f, "index.html"), &section, 1, &err), err);
    size_t size;
    char *page = (char *)files_get(files_path(f, "index.html"), &size);
    static const char *const parts[] = { "Title &lt;b&gt;",
                                         "a &lt; b &amp; c",
                                         "<svg></svg>",
                                         "id=\"some-id\"",
                                         "0.25 s",
                                         "1 to 2: theorem",
                                         "The paper says</dt><dd>what it says",
                                         "The published code does</dt><dd>what it does",
                                         "Max-Margin Token Selection in Attention Mechanism" };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (!strstr(page, parts[k]))
            fail_msg("the page does not hold %s", parts[k]);
    free(page);
}

/* On a narrow screen each panel is a window on the drawing; every drawing has a name of its own. */
static void panels_can_stack(void **state)
{
    files *f = *state;
    attsvm_error err;
    const report_section section = {
        .id = "some-id",
        .title = "Title",
        .paper = "ours",
        .caption = "Caption",
        .svg = "<svg data-columns=\"2\" data-panels=\"3\"\n viewBox=\"0 0 960 800\">"
               "<g id=\"gnuplot_canvas\"></g></svg>",
    };
    assert_ok(report_page_write(files_path(f, "index.html"), &section, 1, &err), err);
    size_t size;
    char *page = (char *)files_get(files_path(f, "index.html"), &size);
    static const char *const parts[] = { "<g id=\"some-id-drawing\">", "viewBox=\"0 0 480 400\"",
                                         "viewBox=\"480 0 480 400\"", "viewBox=\"0 400 480 400\"" };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (!strstr(page, parts[k]))
            fail_msg("the page does not hold %s", parts[k]);
    assert_null(strstr(page, "viewBox=\"480 400"));
    assert_null(strstr(page, "The paper says"));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(figures_are_the_same_bytes, files_open, files_close),
        cmocka_unit_test_setup_teardown(poor_figures_are_drawn, files_open, files_close),
        cmocka_unit_test_setup_teardown(failures_are_told, files_open, files_close),
        cmocka_unit_test_setup_teardown(text_on_the_page_stands_for_itself, files_open,
                                        files_close),
        cmocka_unit_test_setup_teardown(panels_can_stack, files_open, files_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
