/* The commands, one entry each, and what they have in common. */
#include "cli/cli.h"

#include <string.h>

#define TABLES(...) ((const settings_table *const[]){ __VA_ARGS__ })

const cli_verb cli_verbs[] = {
    { "generate", "make a random data set", "-o FILE",
      TABLES(&attsvm_generate_table, &cli_generate_table, NULL),
      "attsvm generate --kind planted-p --n 1000 --T 16 --d 32 -o planted.npz", cli_generate,
      "Draws tokens, labels, a head and, for some kinds, queries, and writes them as a data set. "
      "The planted kinds also store a selection and a direction that separates it. The values "
      "depend on the settings alone, not on the machine, the number of threads or the file "
      "format.",
      "Arrays: X, or E and tokens with offsets; Y, v; Z with --queries; planted kinds add ids and "
      "planted_p or planted_W. JSON keys: n, T, d, tokens, kind, dtype, seed, "
      "file, bytes, arrays." },
    { "info", "describe and check a data set", "FILE", TABLES(&attsvm_read_table, NULL),
      "attsvm info planted.npz --verify", cli_info,
      "Reads a data set (.npz, .npy, a directory of .npy, .safetensors, .csv or .tsv), checks "
      "shapes, values, labels and offsets, and lists its arrays. With -o it converts the data "
      "set to the format of that ending.",
      "JSON keys: file, n, T_min, T_max, d, tokens, dtype, storage, labels, queries, vocabulary, "
      "arrays, ignored, mapped_bytes, verified." },
    { "train", "train an attention layer", "FILE",
      TABLES(&attsvm_train_table, &cli_picture_table, NULL),
      "attsvm train planted.npz --model p --step ngd --lr 0.1 --iters 2000 --record log -o run.npz",
      cli_train,
      "Trains a prompt p, a query-key matrix W or its factors K and Q, with or without the head "
      "v. The gradients stay exact when attention saturates. All --iters steps run unless a "
      "--stop flag or --time-limit ends the run earlier; a run with --checkpoint can be resumed "
      "with --resume and gives the same bytes.",
      "Arrays: the parameters (p, W, K, Q, v), ids (the selected tokens), softmax. With "
      "--record, one entry per record: trace_iter, the parameters (trace_p, trace_W, ...), "
      "trace_ids, trace_softmax (attention of the selected tokens), trace_loss, trace_excess, "
      "trace_log_excess, trace_norm, trace_grad_log_scale, trace_softmax_min, "
      "trace_softmax_mean, trace_entropy, trace_effective_tokens, trace_accuracy, trace_margin; "
      "with a matrix W also trace_nuclear and trace_rank, whose singular values cost about 3 d^3 "
      "operations per record; and, compared with the SVM of the tokens selected at the end, which "
      "is solved for it, trace_correlation, trace_angle (degrees) and trace_efficiency. JSON keys: "
      "iters, seconds, loss, loss_excess, norm, "
      "grad_log_scale, selected, softmax_min, entropy, accuracy; also file, model, step, "
      "predicted_norm, outcome, loss_limit, log_excess, softmax_mean, effective_tokens, margin, "
      "nuclear, effective_rank, direction_change, zero_gradient; with --arithmetic "
      "textbook_angle, wrong_step, wrong_norm; exchangeable (groups and words "
      "that exact descent from this start never separates; null where tokens are not unit "
      "vectors); over several ranks ranks and bytes_sent." },
    { "svm", "solve a max-margin problem and prove the answer", "FILE",
      TABLES(&attsvm_svm_table, &cli_svm_table, NULL),
      "attsvm svm planted.npz --problem p --select ids -o result.npz", cli_svm,
      "Finds the shortest theta (p, v or W) that separates every selected token from the other "
      "tokens of its sequence by a margin of 1, or proves that none exists. The result file "
      "holds theta and the multipliers that prove it, so that attsvm check needs nothing else. "
      "Exit status 1 means infeasible or stalled. Ctrl-C returns the best solution so far.",
      "Arrays: theta; active (sequence, token; with several queries sequence, query, token) and "
      "lambda; with equalities equal and mu; the selection ids (or O and s); settings. JSON "
      "keys: status, norm, margin, dual, gap, violation, tight, active, merged, rank, passes, "
      "iterations, seconds, pass_seconds, rounds, problem, geometry, select, ties, objective, "
      "residual, unique, undecided; if infeasible proof (exact or beyond) and "
      "bound, and pair where two tokens cannot be separated; over several ranks ranks and "
      "bytes_sent." },
    { "check", "verify the proof in a result file", "FILE RESULT",
      TABLES(&cli_check_table, &cli_limit_table, NULL), "attsvm check planted.npz result.npz",
      cli_check,
      "Recomputes everything that RESULT claims from the data alone, with code that shares nothing "
      "with the solver, and says whether it is proved. Exit status 0 means proved (including a "
      "proof of infeasibility), 1 means not proved. A result that was made from another data set "
      "is an error that names both; --other-data checks its claim against FILE all the same.",
      "JSON keys: valid, status, min_margin, gap, dual_norm, reason, norm, dual, violation, "
      "tight, active, merged." },
    { "tokens", "show which tokens are best, which rivals are close, and what is optimal", "FILE",
      TABLES(&cli_tokens_table, &attsvm_svm_table, &cli_picture_table, &attsvm_enumerate_table,
             NULL),
      "attsvm tokens planted.npz --problem p --select ids", cli_tokens,
      "Scores every token with the head v of FILE, solves the max-margin problem of the "
      "selection, and lists its support tokens (the rivals at the margin). A selection is "
      "locally optimal if all support tokens have lower scores, and globally optimal if the "
      "selected tokens have the best scores. --enumerate lists every locally optimal selection "
      "of a small data set and says whether the list is complete.",
      "Arrays: gamma (scores, one row per sequence or query), opt, ids, support (sequence, "
      "query, token), support_lambda, selections. JSON keys: opt, selected, support, "
      "locally_optimal, globally_optimal, status, geometry, norm, margin, gap, merged, against, "
      "missed, advantage, tie, tied_optimal, tied_support, unique; with --enumerate selections, "
      "exhaustive, selections_norm, selections_global, product, judged, pruned, stalled." },
    { "verify", "train, then compare the result with the theory", "FILE [RUN]",
      TABLES(&attsvm_train_table, &cli_picture_table, &attsvm_joint_table, &cli_verify_table, NULL),
      "attsvm verify planted.npz --model p --iters 5000", cli_verify,
      "Trains as attsvm train does, solves the max-margin problem of the tokens that the model "
      "selected, in the norm that theory predicts for the step rule, and gives a verdict: global, "
      "local, "
      "not_local, unsaturated or infeasible. It also says which conditions of the theorems hold "
      "for these data. For models vp and vpW it adds the v-SVM, the relaxed p-SVM and a search "
      "for a counterexample to Assumption B. Exit status 1 means that the verdict is neither "
      "global nor local.",
      "Arrays: what train writes, svm_theta, and for joint models svm_joint and svm_v. JSON "
      "keys: kind, correlation, angle, efficiency, margin, gap, selected, conditions "
      "(equal_scores, unique_optimal, wide, feasible, all_support, rows, support, queries, rivals, "
      "choices, tokens, "
      "optimal_norm, nu, must, statement), status, geometry, claimed, norm, softmax_min, "
      "undecided, unpulled, "
      "locally_optimal, globally_optimal, support, against, missed, tie, unique, seconds, "
      "exchangeable, joint, landscape (status, samples, negative, share, largest), several (W "
      "under a nonlinear head: status, kept, several, "
      "least_kept, most_masked, R, predictivity, correlation, correlation_svm, "
      "correlation_single)." },
    { "reproduce", "run the published experiments by name", "[ID...]",
      TABLES(&experiments_table, NULL), "attsvm reproduce mm-single-local --check -o figures",
      cli_reproduce,
      "Runs the named experiments, or all of them with --all; without a name it lists them. Each "
      "writes its arrays (ID.npz), key numbers (ID.json) and figure (ID.svg, drawn by gnuplot) "
      "into the directory -o, with one page index.html for all. The same seed gives the same "
      "bytes of ID.npz.",
      "JSON keys: one for each ID, with seconds, failed, numbers; stopped, the ID that "
      "--time-limit ended." },
    { "path", "follow a regularisation path", "FILE",
      TABLES(&attsvm_path_table, &cli_path_table, &cli_picture_table, &cli_limit_table, NULL),
      "attsvm path planted.npz --model p --radii 1:1000:4", cli_path,
      "Minimises the loss in balls of growing radius, or with a vanishing ridge, and compares "
      "the direction of the minimiser with the max-margin solution that it must converge to. The "
      "loss is not convex, so each minimum is searched for from several starts. With --cone the "
      "path stays near the max-margin direction of --select.",
      "JSON keys, lists with one entry per point: radius, correlation, loss_excess, selected, "
      "log_excess, loss, efficiency, attention, margin; ridge; for vp radius_v, "
      "correlation_relaxed, correlation_unrelaxed, correlation_v; with a nonlinear head "
      "predictivity (1 - correlation with W_fin + R W_svm), kept, idle, kinks. Single values: "
      "file, "
      "model, svm, svm_norm, svm_gap, solves, evaluations, seconds; for vp case, least_ratio." },
    { "graph", "show what next-token prediction learns", "FILE",
      TABLES(&cli_graph_table, &cli_limit_table, NULL),
      "attsvm graph contexts.npz --svg contexts.svg -o result.npz", cli_graph,
      "FILE holds contexts (E, tokens, offsets) and labels, the words that follow them. For each "
      "last word it builds the graph of preferences among words. Between strongly connected "
      "components attention learns to decide, along a max-margin direction that is solved and "
      "checked; inside them contexts contradict each other and attention settles at a finite "
      "matrix. A layer is trained (or taken from --trained) and compared with finite + R "
      "direction. attsvm check FILE RESULT verifies the result. Exit status 1 means that no W "
      "has these orders.",
      "Arrays: those of attsvm svm --problem multi --query last, finite, trained. JSON keys: "
      "status, components, contexts, words, edges, cyclic, norm, margin, gap, checked, "
      "finite_norm, finite_loss, finite_gradient, finite_error, correlation, together, R, loss, "
      "iters." },
    { "fit", "learn a classifier from labelled bags or texts", "FILE -o FILE",
      TABLES(&attsvm_fit_table, &attsvm_samples_table, NULL), "attsvm fit musk1.npz -o model.npz",
      cli_fit,
      "Learns to predict the label of a bag of tokens: one attention layer with a bias, averaged "
      "over several starts. FILE holds bags (any data set; labels y are any integers) or texts "
      "(lines label<TAB>text, or CSV with columns label and text). Features are scaled by the mean "
      "and deviation of the training tokens. Words are one-hot unless --embeddings names word "
      "vectors. By default validation inside the training data chooses between the pools prompt "
      "and score.",
      "JSON keys: file, classes, pool, heads, starts, ridge, words, loss, gradient, accuracy, "
      "absence, converged, iterations, evaluations, seconds, attention (status, margin, "
      "efficiency, correlation)." },
    { "predict", "apply a classifier, and say which token decided", "MODEL [FILE]",
      TABLES(&cli_predict_table, NULL), "attsvm predict model.npz musk1.npz --html page.html",
      cli_predict,
      "Predicts the samples of FILE, or one --text. The contributions of the tokens and the bias "
      "add up to the score; the token of largest contribution decided. Words that the model has "
      "not seen are dropped and counted.",
      "Arrays, one entry per sample: label (the predicted class as an index into classes, which "
      "the "
      "model file and the JSON list; not the label of the data), score (n; with more than two "
      "classes one column each), probability (one column per class), decider and runner_up (token "
      "numbers within the sample; -1: none), key (the token that speaks most for the last class, "
      "which --key is compared with), flips, agreement. One entry per token, all samples in a row: "
      "attention, contribution (to the predicted class), instance_score (the score of the token "
      "alone). The file has no offsets: those of the data set say where a sample begins. JSON "
      "keys: n, classes, predicted; where FILE has labels "
      "accuracy, auc, log_loss, hits, confusion; absence, comprehensiveness, sufficiency, dropped, "
      "empty, unlabelled." },
    { "cv", "cross-validate a classifier", "FILE",
      TABLES(&attsvm_fit_table, &cli_cv_table, &attsvm_samples_table, NULL),
      "attsvm cv musk1.npz --repeats 1 --starts 1", cli_cv,
      "Predicts every sample of FILE by a classifier that has not seen its fold. The array fold of "
      "FILE, (n) or (repetitions,n), gives the folds unless --folds makes stratified ones. "
      "--against compares with another pool, or with the result of another cv, on the same folds.",
      "Arrays: fold, label, score, pool, ridge, accuracy, auc, log_loss; with --key key, hits. "
      "JSON "
      "keys: file, n, accuracy, auc, log_loss, hits, accuracy_sd, auc_sd, folds, repeats, pool, "
      "against, against_accuracy, difference, standard_error, iterations, evaluations, seconds." },
    { "patches", "cut images into bags of windows", "FILE -o FILE",
      TABLES(&attsvm_patches_table, NULL),
      "attsvm patches digits.npz --size 4 --stride 2 --labels digit -o patches.npz", cli_patches,
      "Cuts the images (n,h,w) of FILE into windows, one token each, for attsvm fit and cv.",
      "Arrays: X, y, fold where FILE has it, patches (size, stride, rows, columns, height, width). "
      "JSON keys: file, n, T, d, rows, columns." },
    { "demo", "watch attention choose words in two hundred reviews", "",
      TABLES(&cli_demo_table, NULL), "attsvm demo", cli_demo_run,
      "Trains an attention layer on two hundred short reviews that come with the program, shows "
      "which words it attends to, solves the max-margin problem that it should converge to, "
      "checks the proof, and says how well the two agree. It writes a page with pictures: "
      "attsvm-demo.html, or the name given by -o.",
      "JSON keys: kind, accuracy, attention, correlation, angle, efficiency, margin, gap, "
      "checked, reviews, words, iters, page." },
    { "help", "explain a command, or print the manual", "[COMMAND]", TABLES(&cli_help_table, NULL),
      "attsvm help generate", cli_help,
      "Without COMMAND it lists all commands. The man page and docs/reference.md are made from "
      "the same tables as this help.",
      NULL },
    { "completion", "print a completion script for the shell", "SHELL", TABLES(NULL),
      "source <(attsvm completion bash)", cli_completion,
      "SHELL is bash, zsh or fish. The script completes commands, flags, the values of flags, "
      "experiments and file names.",
      NULL },
    { "version", "print the version and how it was built", "", TABLES(NULL), "attsvm --version",
      cli_version,
      "Prints the version, the vector kernels in use, where a BLAS takes part, the compiler, and "
      "whether it was built with MPI.",
      "JSON keys: version, kernels, blas, compiler, mpi." },
    { 0 },
};

#define SETTINGS cli_common
static const field common_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(output), FIELD_TEXT, 0, 0, 0, "file for the arrays; its ending names the format", 0, NULL },
    { F(json), FIELD_BOOL, 0, 1, 0, "print exactly one JSON object on standard output", 0, 0 },
    { F(quiet), FIELD_BOOL, 0, 1, 0, "print no text and no progress, only errors", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0,
      "number of threads; 0 = all cores; the results do not depend on it", 0, 0 },
    { F(memory), FIELD_INT, 0, 1e18, 0,
      "bytes of mapped tokens held in memory; 0 = half of the machine's memory", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "seed of the random numbers", 0, 0 },
    { F(kernels), FIELD_TEXT, 0, 0, 0,
      "vector kernels: baseline, avx2 or avx512; default: the fastest set that the processor "
      "supports; the results do not depend on it",
      0, NULL },
};
#undef SETTINGS

const settings_table cli_common_table = { "common", common_fields,
                                          sizeof common_fields / sizeof *common_fields,
                                          sizeof(cli_common), NULL };

#define SETTINGS cli_limit
static const field limit_fields[] = {
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0,
      "time limit in seconds, after which the result so far is kept (exit status 1); 0 = no limit",
      0, 0 },
};
#undef SETTINGS

const settings_table cli_limit_table = { "limit", limit_fields, 1, sizeof(cli_limit), NULL };

const char cli_purpose[] = "max-margin token selection in attention";

const cli_entry cli_exits[] = {
    { "0", "", "done" },
    { "1", "", "done with a negative answer, or stopped before there was an answer" },
    { "2", "", "bad usage or bad input; nothing was written" },
    { "3", "", "the machine or the arithmetic failed: disk, memory, no convergence" },
    { "130, 143", "", "stopped by Ctrl-C (SIGINT) or SIGTERM; -o writes the result so far" },
    { 0 },
};

const cli_entry cli_arrays[] = {
    { "X", "(n,T,d), or (N,d) with offsets", "tokens, of equal or varying length" },
    { "offsets", "(n+1)", "first token of each sequence; the last entry is N" },
    { "lengths", "(n)", "instead of offsets: tokens of each sequence" },
    { "bags", "(N)", "instead of offsets: the bag of each token, in order" },
    { "E", "(V,d)", "table of words, instead of X" },
    { "tokens", "(N)", "rows of E, with offsets" },
    { "bag_names", "bytes", "names of the sequences, each with a newline after it" },
    { "words", "bytes", "words of the vocabulary, each with a newline after it" },
    { "Y", "(n)", "labels -1 and +1, or 0 and 1" },
    { "y", "(n)", "labels, as Y" },
    { "Z", "(n,d) or (n,M,d)", "queries" },
    { "v", "(d), (h) with a ReLU head", "head" },
    { "V", "(h,d)", "first layer of the ReLU head" },
    { "W", "(d,d)", "fixed key map of the prompt models" },
    { "p", "(d)", "fixed prompt of model pW" },
    { "ids", "(n), or one for each query", "a selection: one token of each sequence" },
    { "O", "(n,T) or (N); one per query: (n,M,T)", "selected sets, 0 and 1" },
    { "s", "(n,T) or (N); one per query: (n,M,T)", "softmax values" },
    { "labels", "(n)", "next-token prediction: for each context the row of E that follows it" },
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
        return fail(err, ATTSVM_E_ARG, "Unknown command '%s'. Did you mean %s?", name, guess.best);
    return fail(err, ATTSVM_E_ARG, "Unknown command '%s'. attsvm help lists the commands.", name);
}
