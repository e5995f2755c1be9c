/*
 * Predictions as one self-contained page: every sample with its words, instances or patches
 * coloured by their contribution to the predicted class.
 */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

enum { MOST_SAMPLES = 2000, MOST_TOKENS = 400 }; /* shown; the rest is counted */

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c2430;--paper:#fdfdfb;--line:#d8dce2;--soft:#5b6675;"
    "--for:31,119,80;--against:190,60,50}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#15181d;--line:#353c46;"
    "--soft:#9aa5b4;--for:80,190,130;--against:235,110,95}}\n"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 "
    "auto;"
    "max-width:60rem;padding:1rem}\n"
    "h1{font-size:1.4rem;margin:.2rem 0;overflow-wrap:anywhere}p{margin:.4rem "
    "0;color:var(--soft)}\n"
    ".keys{display:flex;flex-wrap:wrap;gap:.4rem;margin:.8rem 0}\n"
    "button{font:inherit;color:inherit;background:none;border:1px solid var(--line);"
    "border-radius:.4rem;padding:.15rem .6rem;cursor:pointer}\n"
    "button[aria-pressed=true]{border-color:var(--ink);font-weight:600}\n"
    "article{border-top:1px solid var(--line);padding:.6rem 0;overflow-wrap:anywhere}\n"
    "article header{font-size:.9rem;color:var(--soft)}article b{color:var(--ink)}\n"
    ".no{color:rgb(var(--against));font-weight:600}.wide{overflow-x:auto}\n"
    ".t{border-radius:.2rem;padding:0 .15rem;background:rgba(var(--c),var(--a))}\n"
    ".d{outline:2px solid rgb(var(--c))}.i{display:inline-block;min-width:1.6rem;margin:1px;"
    "text-align:center;font-size:.8rem}\n"
    ".grid{display:inline-grid;gap:1px;margin-top:.3rem}.grid .t{width:1.5rem;height:1.5rem;"
    "padding:0;border-radius:0}\n"
    "table{border-collapse:collapse;margin:.5rem 0;font-size:.9rem}td,th{padding:.1rem .6rem;"
    "text-align:right;border-bottom:1px solid var(--line)}\n";

static const char script[] =
    "const list=document.getElementById('list'),all=[...list.children];\n"
    "const value={order:a=>+a.dataset.i,certain:a=>-a.dataset.p,doubt:a=>+a.dataset.p,"
    "wrong:a=>(a.classList.contains('wrong')?0:1)+(1-a.dataset.p)*1e-3};\n"
    "for(const b of document.querySelectorAll('button'))b.onclick=()=>{\n"
    "for(const o of document.querySelectorAll('button'))o.ariaPressed=o===b;\n"
    "all.sort((x,y)=>value[b.id](x)-value[b.id](y)||x.dataset.i-y.dataset.i)"
    ".forEach(a=>list.append(a))};\n";

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
}

static const int64_t *places(const cli_predicted *p, const char *name)
{
    return attsvm_prediction_find(p->found, name)->data;
}

static void put_token(FILE *out, const cli_predicted *p, int64_t i, int64_t t, double share,
                      double contribution, bool words, bool grid)
{
    const bool decided = places(p, "decider")[i] == t;
    fprintf(out,
            "<span class=\"t%s%s\" style=\"--c:var(--%s);--a:%.2f\" title=\"token %" PRId64
            ", contribution %+.4g\">",
            decided ? " d" : "", words || grid ? "" : " i", share >= 0 ? "for" : "against",
            0.75 * fabs(share), t, contribution);
    if (words)
        put_text(out, attsvm_samples_word(p->samples, i, t));
    else if (!grid)
        fprintf(out, "%" PRId64, t);
    fputs("</span>", out);
    fputs(grid ? "" : " ", out);
}

/* Columns of windows if tokens are patches of images; 0: they are not. */
static int64_t columns_of(const cli_predicted *p, int64_t T)
{
    const attsvm_array *patches = attsvm_samples_array(p->samples, "patches");
    if (!patches || attsvm_array_count(patches) != 6)
        return 0;
    const double rows = attsvm_array_get(patches, 2), columns = attsvm_array_get(patches, 3);
    return rows * columns == (double)T ? (int64_t)columns : 0;
}

static void put_tokens(FILE *out, const cli_predicted *p, int64_t i)
{
    const attsvm_data *data = attsvm_samples_data(p->samples);
    const int64_t first = attsvm_data_offset(data, i), T = attsvm_data_length(data, i);
    const int64_t columns = columns_of(p, T);
    const double *c =
        (const double *)attsvm_prediction_find(p->found, "contribution")->data + first;
    double largest = 0;
    for (int64_t t = 0; t < T; t++)
        largest = fmax(largest, fabs(c[t]));
    if (columns > 0)
        fprintf(out,
                "<div class=\"grid\" style=\"grid-template-columns:repeat(%" PRId64 ",1.5rem)\">",
                columns);
    const bool words = attsvm_samples_word(p->samples, i, 0) != NULL;
    for (int64_t t = 0; t < T && t < MOST_TOKENS; t++)
        put_token(out, p, i, t, largest > 0 ? c[t] / largest : 0, c[t], words, columns > 0);
    if (columns > 0)
        fputs("</div>", out);
    if (T > MOST_TOKENS)
        fprintf(out, "and %" PRId64 " more", T - MOST_TOKENS);
}

static void put_sample(FILE *out, const cli_predicted *p, int64_t i)
{
    const int64_t *label = places(p, "label"), *truth = attsvm_samples_label(p->samples);
    const bool wrong = truth && truth[i] >= 0 && truth[i] != label[i];
    const bool flips = ((const uint8_t *)attsvm_prediction_find(p->found, "flips")->data)[i];
    const char *name = cli_sequence_name(attsvm_samples_data(p->samples), i);
    fprintf(out, "<article data-i=\"%" PRId64 "\" data-p=\"%.6f\"%s><header>Sample %" PRId64, i,
            cli_certainty(p, i), wrong ? " class=\"wrong\"" : "", i);
    if (name) {
        fputs(" (", out);
        put_text(out, name);
        fputs(")", out);
    }
    fputs(": predicted <b>", out);
    put_text(out, attsvm_classifier_class(p->model, label[i]));
    fprintf(out, "</b>, probability %.3f", cli_certainty(p, i));
    if (truth && truth[i] >= 0) {
        fputs(wrong ? ", <span class=\"no\">wrong</span>: it is " : ", right", out);
        put_text(out, wrong ? attsvm_classifier_class(p->model, truth[i]) : "");
    }
    if (places(p, "decider")[i] >= 0)
        fprintf(out, ". Without the outlined token the prediction %s.",
                flips ? "changes" : "stays");
    else
        fputs(". It has no known token: the bias decided.", out);
    fputs("</header>", out);
    put_tokens(out, p, i);
    fputs("</article>\n", out);
}

static void put_measures(FILE *out, const cli_predicted *p)
{
    const int64_t classes = attsvm_prediction_describe(p->found).classes;
    if (!p->confusion)
        return;
    fprintf(out, "<p>Accuracy %.4f, log-loss %.4f", p->measures.accuracy, p->measures.log_loss);
    if (!isnan(p->measures.auc))
        fprintf(out, ", AUC %.4f", p->measures.auc);
    fputs(".</p>\n", out);
    fputs("<div class=\"wide\"><table><tr><th>true \\ predicted</th>", out);
    for (int64_t c = 0; c < classes; c++) {
        fputs("<th>", out);
        put_text(out, attsvm_classifier_class(p->model, c));
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
    for (int64_t r = 0; r < classes; r++) {
        fputs("<tr><th>", out);
        put_text(out, attsvm_classifier_class(p->model, r));
        fputs("</th>", out);
        for (int64_t c = 0; c < classes; c++)
            fprintf(out, "<td>%" PRId64 "</td>", p->confusion[r * classes + c]);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

void cli_predicted_page(FILE *out, const void *what)
{
    const cli_predicted *p = what;
    const int64_t n = attsvm_prediction_describe(p->found).n;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          out);
    put_text(out, p->file);
    fprintf(out, ": predictions</title>\n<style>\n%s</style></head><body>\n<h1>", style);
    put_text(out, p->file);
    fprintf(out, "</h1>\n<p>%" PRId64 " prediction%s of ", n, base_plural(n));
    put_text(out, p->model_file);
    fputs(
        ". Green tokens speak for the predicted class, red ones against it, by their contribution "
        "to its score; the outlined token decided.</p>\n",
        out);
    put_measures(out, p);
    fputs("<div class=\"keys\"><button id=\"order\" aria-pressed=\"true\">as in the file</button>"
          "<button id=\"certain\">most certain</button><button id=\"doubt\">least certain</button>",
          out);
    if (p->confusion)
        fputs("<button id=\"wrong\">wrong first</button>", out);
    fputs("</div>\n<div id=\"list\">\n", out);
    for (int64_t i = 0; i < n && i < MOST_SAMPLES; i++)
        put_sample(out, p, i);
    fputs("</div>\n", out);
    if (n > MOST_SAMPLES)
        fprintf(out, "<p>The page shows the first %d of %" PRId64 " samples.</p>\n", MOST_SAMPLES,
                n);
    fprintf(out, "<script>\n%s</script>\n</body></html>\n", script);
}
