/* The verbs, an entry each, and what they have in common. */
#include "cli/cli.h"
#include "experiments/experiments.h"

#include <string.h>

#define TABLES(...) ((const settings_table *const[]){ __VA_ARGS__ })

const cli_verb cli_verbs[] = {
    { "generate", "make a random data set", "-o FILE",
      TABLES(&attsvm_generate_table, &cli_generate_table, NULL),
      "attsvm generate --kind planted-p --n 1000 --T 16 --d 32 -o planted.npz", cli_generate,
      "Writes tokens X (or a table E with its index tokens), labels Y, a head v, and where asked "
      "for "
      "queries Z. The planted kinds also hold the planted selection ids and the direction that "
      "separates it, planted_p or planted_W. Values depend on the settings alone: not on the "
      "machine, the number of threads or the format of the file. JSON keys: n, T, d, tokens, kind, "
      "dtype, seed, file, bytes, arrays." },
    { "info", "describe and check a data set", "FILE", TABLES(&attsvm_read_table, NULL),
      "attsvm info planted.npz --verify", cli_info,
      "Reads FILE (.npz, .npy, a directory of .npy, .safetensors, .csv or .tsv), checks that it "
      "holds a data set (shapes, finite tokens, labels, offsets, selections) and says what is in "
      "it. With -o the arrays are written to another file, in the format that its ending names. "
      "JSON keys: file, n, T_min, T_max, d, tokens, dtype, storage, labels, queries, vocabulary, "
      "arrays, ignored, mapped_bytes, verified." },
    { "train", "train an attention layer", "FILE", TABLES(&attsvm_train_table, NULL),
      "attsvm train planted.npz --model p --step ngd --lr 0.1 --iters 2000 --record log -o run.npz",
      cli_train,
      "Trains a prompt p, its map W, a query-key matrix W or its factors K and Q, with or without "
      "the head v, by any of the step rules. Gradients are exact however far attention saturates, "
      "as "
      "long as logits are doubles (1.8e308). "
      "With -o the parameters, the selected tokens ids, the softmax and the trace are written. The "
      "trace has, for every record: trace_iter, the parameters (trace_p, trace_W, ...), "
      "trace_ids, trace_softmax (attention of the selected tokens), trace_loss, trace_excess, "
      "trace_log_excess, trace_norm, trace_grad_log_scale, trace_softmax_min, trace_softmax_mean, "
      "trace_entropy, trace_effective_tokens, trace_accuracy, trace_margin; with a matrix W also "
      "trace_nuclear and trace_rank (nuclear norm, effective rank), whose singular values cost "
      "some 3 d^3 operations a record: with large d, --record log. All "
      "--iters steps are done unless a --stop flag or --time-limit asks for less. A run with "
      "--checkpoint that was stopped goes on with --resume and ends with the same bytes. JSON "
      "keys: iters, seconds, loss, loss_excess, norm, grad_log_scale, selected, softmax_min, "
      "entropy, accuracy; also file, model, step, predicted_norm, outcome, loss_limit, log_excess, "
      "softmax_mean, effective_tokens, margin, nuclear, effective_rank, direction_change, "
      "zero_gradient, "
      "exchangeable (groups and "
      "words that exact descent from this start never separates; null where tokens are not unit "
      "vectors); over several ranks also ranks and bytes_sent." },
    { "svm", "solve a max-margin problem, with proof", "FILE",
      TABLES(&attsvm_svm_table, &cli_svm_table, NULL),
      "attsvm svm planted.npz --problem p --select ids -o result.npz", cli_svm,
      "Finds the theta of least norm (p, v or W) for which every selected token beats the others "
      "of its sequence by a margin of 1, or proves that there is none. The result holds theta, the "
      "rows active (sequence, token; with several queries sequence, query, token) and their "
      "multipliers lambda, equal and mu where there are equalities, the selection ids (or O and "
      "s), and the settings; attsvm check needs no more. An infeasible problem has exit status 1 "
      "and its proof in the result. Ctrl-C ends with the best so far. JSON keys: status, norm, "
      "margin, dual, gap, violation, tight, active, merged, rank, passes, iterations, seconds, "
      "pass_seconds, rounds, problem, geometry, select, ties, objective, residual, unique, "
      "undecided, floor_decided; of an infeasible problem proof (exact or beyond) and bound, and "
      "pair "
      "where one pair of tokens cannot be separated; over "
      "several ranks "
      "also ranks and "
      "bytes_sent." },
    { "check", "verify the proof in a result", "FILE RESULT", TABLES(&cli_check_table, NULL),
      "attsvm check planted.npz result.npz", cli_check,
      "Recomputes, from the data and the result alone and in double-double arithmetic, every "
      "margin, the norm, the weighted sum of the rows and the gap, and says whether what RESULT "
      "claims is proved: exit status 0 where it is (infeasible included), 1 where it is not. JSON "
      "keys: valid, status, min_margin, gap, dual_norm, reason, norm, dual, violation, tight, "
      "active, merged." },
    { "tokens", "say which tokens are best, near, and optimal", "FILE",
      TABLES(&attsvm_svm_table, &cli_tokens_table, &attsvm_enumerate_table, NULL),
      "attsvm tokens planted.npz --problem p --select ids --enumerate", cli_tokens,
      "Scores every token with the head v of FILE, solves the max-margin problem of the selection, "
      "and says which rivals are at its margin (support tokens), whether they all have lower "
      "scores (locally optimal) and whether the selected tokens have the best scores (globally "
      "optimal). With --enumerate it lists every locally optimal selection, and says whether the "
      "list is complete. With -o: gamma (scores, one row a sequence or query), opt, ids, support "
      "(sequence, query, token), support_lambda, selections. JSON keys: opt, selected, support, "
      "locally_optimal, globally_optimal, status, geometry, norm, margin, gap, merged, against, "
      "missed, advantage, tie, tied_optimal, tied_support, unique; with --enumerate selections, "
      "exhaustive, selections_norm, selections_global, product, judged, pruned, stalled." },
    { "verify", "train, and judge the result by the theory", "FILE",
      TABLES(&attsvm_train_table, &attsvm_joint_table, NULL),
      "attsvm verify planted.npz --model p --iters 5000", cli_verify,
      "Trains as attsvm train does, takes the tokens that the model attends to, solves the "
      "max-margin problem of these tokens in the norm that the step rule leads to, and classifies: "
      "unsaturated, infeasible, global, local or not_local. Says which conditions of the theorems "
      "hold for these data and what therefore must happen. Models vp and vpW are also compared "
      "with the v-SVM and the relaxed p-SVM, and Assumption B is put to a search. Exit status 1 "
      "where the kind is neither global nor local. With -o: what train writes, svm_theta, and "
      "svm_joint and svm_v of joint models. JSON keys: kind, correlation, angle, efficiency, "
      "margin, gap, selected, conditions (equal_scores, unique_optimal, wide, feasible, queries, "
      "rivals, choices, tokens, optimal_norm, nu, must, statement), status, geometry, claimed, "
      "norm, softmax_min, "
      "locally_optimal, globally_optimal, support, against, missed, tie, unique, seconds, "
      "exchangeable, joint, "
      "several (of W under a "
      "nonlinear head: status, kept, several, least_kept, most_masked, R, predictivity, "
      "correlation, "
      "correlation_svm, correlation_single)." },
    { "reproduce", "run published experiments by name", "[ID...]", TABLES(&experiments_table, NULL),
      "attsvm reproduce mm-single-local --check -o figures", cli_reproduce,
      "Runs the named experiments (all of them with --all; without a name it lists them) and "
      "writes "
      "into the directory -o (reproduced by default) for each the arrays ID.npz, the key numbers "
      "ID.json and the figure ID.svg, and one page index.html of all that is there. Same seed, "
      "same "
      "bytes of ID.npz. Figures are drawn by gnuplot. JSON keys: one for each ID, with seconds, "
      "failed, numbers; stopped, the ID that --time-limit ended." },
    { "path", "follow a regularisation path", "FILE",
      TABLES(&attsvm_path_table, &cli_path_table, NULL),
      "attsvm path planted.npz --model p --radii 1:10000:9", cli_path,
      "Finds the parameters of least loss in balls of growing radius, or with a vanishing ridge, "
      "and "
      "compares their direction with the max-margin problem that it must converge to: of p in l2, "
      "W in the Frobenius norm, K Q' in the nuclear norm; of v and p together the v-SVM with the "
      "relaxed or the unrelaxed p-SVM, whichever the ratio of the radii leads to; of W under a "
      "nonlinear head the multi-token SVM of the kept tokens. The loss is not "
      "convex: the minimum is searched from random directions, from the minima of the radius "
      "before and from the SVM direction, on the scale of log(L - L*), so that radii of 1e4 and "
      "more are no difficulty. With --cone the path is the local one around the SVM direction of "
      "--select. JSON keys, lists with an entry for each point: radius, correlation, loss_excess, "
      "selected, log_excess, loss, efficiency, attention, margin; ridge; of vp radius_v, "
      "correlation_relaxed, correlation_unrelaxed, correlation_v; and file, model, svm, svm_norm, "
      "svm_gap, solves, evaluations, seconds; of vp case, least_ratio; with a nonlinear head "
      "predictivity (1 - correlation to W_fin + R W_svm), kept, idle." },
    { "graph", "what next-token prediction learns", "FILE", TABLES(&cli_graph_table, NULL),
      "attsvm graph contexts.npz --svg contexts.svg -o result.npz", cli_graph,
      "FILE holds contexts (E, tokens, offsets) with labels, the words that follow. For each last "
      "word there is a graph with an edge from the label to every other word of its context. "
      "Across "
      "its strongly connected components attention learns to decide, along the direction of a "
      "max-margin problem, which is solved and checked; inside them contexts contradict each "
      "other, "
      "and attention settles at a finite matrix. A layer is trained (or taken from --trained) and "
      "compared with finite + R direction. The result holds the problem as attsvm svm --problem "
      "multi --query last writes it, so attsvm check FILE RESULT verifies it, and finite and "
      "trained. Exit status 1 where no W has these orders. JSON keys: status, components, "
      "contexts, "
      "words, edges, cyclic, norm, margin, gap, checked, finite_norm, finite_loss, "
      "finite_gradient, finite_error, correlation, together, R, loss, iters." },
    { "demo", "see it happen on two hundred reviews", "", TABLES(NULL), "attsvm demo", cli_demo_run,
      "Trains an attention layer on two hundred short reviews that come with the program, from "
      "small random numbers (--seed), shows which words it attends to, solves the max-margin "
      "problem that it should converge to, checks "
      "the proof, and says how well they agree. Writes a page with pictures: -o names it, "
      "attsvm-demo.html by default. JSON keys: kind, accuracy, attention, correlation, angle, "
      "efficiency, margin, gap, checked, reviews, words, iters, page." },
    { "help", "explain a verb, or print the manual", "[VERB]", TABLES(&cli_help_table, NULL),
      "attsvm help generate", cli_help,
      "Without VERB: the list of verbs. The manual page and docs/reference.md are made from the "
      "same tables as the flags." },
    { "completion", "print a completion script for the shell", "SHELL", TABLES(NULL),
      "source <(attsvm completion bash)", cli_completion,
      "SHELL is bash. The script completes verbs, flags, the values of flags, and file names." },
    { "version", "say what this program was built from", "", TABLES(NULL), "attsvm --version",
      cli_version,
      "The version, the vector kernels in use, the BLAS behind them, the compiler, and whether it "
      "runs over MPI. JSON keys: version, kernels, blas, compiler, mpi." },
    { 0 },
};

#define SETTINGS cli_common
static const field common_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(output), FIELD_TEXT, 0, 0, 0, "file for the arrays; its ending names the format", 0, NULL },
    { F(json), FIELD_BOOL, 0, 1, 0, "print exactly one JSON object on standard output", 0, 0 },
    { F(quiet), FIELD_BOOL, 0, 1, 0, "print no text and no progress, only errors", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads at work; 0: all cores; same results for any", 0,
      0 },
    { F(memory), FIELD_INT, 0, 1e18, 0,
      "bytes of mapped tokens that may stay in memory; 0: half of what the machine has", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "seed of whatever is random", 0, 0 },
    { F(kernels), FIELD_TEXT, 0, 0, 0,
      "vector kernels: baseline, avx2 or avx512; the widest that the processor has by default", 0,
      NULL },
};
#undef SETTINGS

const settings_table cli_common_table = { "common", common_fields,
                                          sizeof common_fields / sizeof *common_fields,
                                          sizeof(cli_common), NULL };

const char cli_purpose[] = "max-margin token selection in attention";

const cli_entry cli_exits[] = {
    { "0", "", "done" },
    { "1", "", "done, and the answer is negative; or stopped before there was one" },
    { "2", "", "bad usage or bad input; nothing was written" },
    { "3", "", "the machine or the arithmetic failed: disk, memory, no convergence" },
    { 0 },
};

const cli_entry cli_arrays[] = {
    { "X", "(n,T,d), or (N,d) with offsets", "tokens, of equal or varying length" },
    { "offsets", "(n+1)", "where sequences begin; the last is N" },
    { "E", "(V,d)", "table of words, instead of X" },
    { "tokens", "(N)", "rows of E, with offsets" },
    { "Y", "(n)", "labels -1 and +1, or 0 and 1" },
    { "y", "(n)", "labels, as Y" },
    { "Z", "(n,d) or (n,M,d)", "queries" },
    { "v", "(d), (h) with a ReLU head", "head" },
    { "V", "(h,d)", "first layer of the ReLU head" },
    { "W", "(d,d)", "fixed key map of the prompt models" },
    { "p", "(d)", "fixed prompt of model pW" },
    { "ids", "(n), or one for each query", "a selection: one token of each sequence" },
    { "O", "(n,T) or (N); one a query: (n,M,T)", "selected sets, 0 and 1" },
    { "s", "(n,T) or (N); one a query: (n,M,T)", "softmax values" },
    { "labels", "(n)", "next-token prediction: rows of E that follow the contexts" },
    { "init_p", "(d)", "start value of p" },
    { "init_W", "(d,d)", "start value of W" },
    { "init_K", "(d,r)", "start value of K" },
    { "init_Q", "(d,r)", "start value of Q" },
    { "init_v", "(d)", "start value of v" },
    { 0 },
};

attsvm_status cli_verb_find(const char *name, const cli_verb **out, attsvm_error *err)
{
    cli_guess guess = { .typed = name };
    for (const cli_verb *verb = cli_verbs; verb->name; verb++) {
        *out = verb;
        if (strcmp(verb->name, name) == 0)
            return ATTSVM_OK;
        cli_guess_try(&guess, verb->name);
    }
    *out = NULL;
    if (guess.best)
        return fail(err, ATTSVM_E_ARG, "%s is no verb; did you mean %s?", name, guess.best);
    return fail(err, ATTSVM_E_ARG, "%s is no verb; attsvm help lists them", name);
}
