# Flags, verbs and help: what is accepted, and what is said where it is not.
. "$(dirname "$0")/lib.sh" "$@"

# ------------------------------------------------------------------------- the top level
run
[ $status -eq 2 ] || problem 'no verb: status 2'
grep -q 'Usage: attsvm COMMAND' err || problem 'no verb: usage on standard error'
for flag in --help -h help; do
    good $flag
    says 'Usage: attsvm COMMAND'
    says 'Exit status'
done
for flag in --version -V version; do
    good $flag
    says 'attsvm '
    says 'kernels'
    says 'BLAS'
    says 'MPI'
done
good --version --json
json version "\"$("$attsvm" --version | sed -n 's/^attsvm //p')\""
json kernels "\"$("$attsvm" --version | sed -n 's/^kernels *//p')\""
json blas '"none but what Clp loads (norms l1, linf)"'
good version --kernels baseline --json
json kernels '"baseline"'
bad 2 'nosuch' version --kernels nosuch
run generat -o x.npz
[ $status -eq 2 ] || problem 'an unknown verb: status 2'
grep -q "^attsvm: Unknown command 'generat'. Did you mean generate?\$" err || problem 'no suggestion'
run xyzzy
grep -q "^attsvm: Unknown command 'xyzzy'. attsvm help lists the commands.\$" err || problem 'no hint'
bad 2 'Did you mean info' help infp
if "$attsvm" --version | grep -q '^MPI *no'; then
    export OMPI_COMM_WORLD_SIZE=2
    bad 2 'mpirun started 2 processes' train x.npz
    OMPI_COMM_WORLD_SIZE=1
    bad 2 'x.npz' train x.npz
    unset OMPI_COMM_WORLD_SIZE
fi

# ----------------------------------------------------------------------- help of each verb
verbs=$("$attsvm" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')
check 'help lists the verbs' test -n "$verbs"
for verb in $verbs; do
    for way in "$verb --help" "$verb -h" "help $verb" "--help $verb" "$verb --nonsense --help"; do
        # shellcheck disable=SC2086
        good $way
        says "Usage: attsvm $verb"
        says 'Example'
        says '--json'
    done
    check 'no line of help is longer than 100 columns' test -z "$("$attsvm" help "$verb" | grep -E '.{101}')"
done

# --------------------------------------------- every flag takes the default that help shows
arrays set.npz X:float64:2,3,2=1,2,3,4,5 Y:int8:2=1,-1
good generate --kind planted-p --n 6 --T 4 --d 8 -o planted.npz
good generate --kind ntp --n 12 --T 4 --d 6 -o contexts.npz
good svm planted.npz -o result.npz
good fit planted.npz -o model.npz
arrays bags.npz X:float64:8,2,2=1,2,3,4,5 y:int8:8=1,-1 fold:int8:8=0,0,1,1
arrays images.npz images:uint8:2,6,6=1,2,3,4,5 y:int8:2=1,-1
for verb in $verbs; do
    words=()
    file=planted.npz
    [ "$verb" = graph ] && file=contexts.npz
    [ "$verb" = patches ] && file=images.npz
    [ "$verb" = cv ] && file=bags.npz
    for word in $("$attsvm" help "$verb" | sed -n 's/^Usage: attsvm [a-z]* \[flags\] *//p'); do
        case $word in
        -o) words+=(-o) ;;
        FILE) [ "${words[*]: -1}" = -o ] && words+=(made.npz) || words+=("$file") ;;
        MODEL) words+=(model.npz planted.npz) ;;
        RESULT) words+=(result.npz) ;;
        SHELL) words+=(bash) ;;
        \[*\]) ;;
        *) last="attsvm $verb" status=- && problem "say here what $word may be" ;;
        esac
    done
    flags=()
    while IFS=$'\t' read -r name value; do
        flags+=("--$name=$value")
        good "$verb" "${words[@]}" "--$name=$value"
    done < <("$attsvm" help --markdown | sed -n "/^## attsvm $verb/,/^## /p" |
        sed -n 's/^| `--\(\[no-\]\)*\([A-Za-z-]*\).*` | \([^ |]*\) .*/\2\t\3/p')
    good "$verb" "${words[@]}" "${flags[@]}"
done

# -------------------------------------------------------------------------- forms of flags
good generate --n=3 --T 4 --T-min 2 -o a.npz --json
good generate --n 3 --T=4 --T_min=2 -ob.npz
check 'all forms mean the same' cmp a.npz b.npz
good generate --n 3e0 --T 4 --no-optimal --kind planted_p --output=c.npz -q
check 'quiet prints nothing' test ! -s out
good generate --n 3 --T 4 --optimal=no --kind planted-p -o d.npz
check '--no-optimal is --optimal=no' cmp c.npz d.npz
good info -- set.npz
cp set.npz -- -odd.npz
good info -- -odd.npz
bad 2 'expected a number, 0..1e6' generate --push -1 -o x.npz

# ------------------------------------------------------------------------- errors of usage
bad 2 'Unknown flag --verfy for info; did you mean --verify?' info set.npz --verfy
bad 2 'did you mean --T-min?' generate --Tmin 3 -o x.npz
bad 2 'for info (attsvm info --help lists the flags)' info set.npz --qqqqqqqqqqqq
bad 2 'Unknown flag -x for info' info set.npz -x
bad 2 'Unknown flag -qx for info' info set.npz -qx
bad 2 '--n is given twice' generate --n 3 --n 4 -o x.npz
bad 2 '--output is given twice' generate -o x.npz --output y.npz
bad 2 '--verify is given twice' info set.npz --verify --no-verify
bad 2 '--n abc: expected an integer, 1..1e12' generate --n abc -o x.npz
bad 2 '--n 1.5: expected an integer, 1..1e12' generate --n 1.5 -o x.npz
bad 2 '--n 0: expected an integer, 1..1e12' generate --n 0 -o x.npz
bad 2 '--n : expected an integer' generate --n= -o x.npz
bad 2 '--n 99999999999999999999: expected an integer' generate --n 99999999999999999999 -o x.npz
bad 2 '--noise nan: expected a number, 0..1e6' generate --noise nan -o x.npz
bad 2 '--noise 1x: expected a number' generate --noise 1x -o x.npz
bad 2 '--seed -3: expected an integer, 0..9e15' generate --seed -3 -o x.npz
bad 2 '--dtype float31: expected one of float16, float32, float64; did you mean float32?' \
    generate --dtype float31 -o x.npz
bad 2 '--dtype int8: expected one of' generate --dtype int8 -o x.npz
bad 2 '--optimal maybe: expected yes or no' generate --optimal=maybe -o x.npz
bad 2 '--no-verify takes no value' info set.npz --no-verify=yes
bad 2 '-o needs a value' generate -o
bad 2 '-o needs a value' generate -o --json
bad 2 '--kind needs a value: --kind NAME (gauss, sphere' generate -o x.npz --kind
bad 2 '-o FILE is missing; usage: attsvm generate [flags] -o FILE' generate --n 3
bad 2 'FILE is missing; usage: attsvm info [flags] FILE' info
bad 2 'set.npz: one argument too many' info set.npz set.npz
bad 2 'csh: completions exist for bash, zsh and fish' completion csh
bad 2 'Use either --man or --markdown' help --man --markdown
check 'nothing was written' test ! -e x.npz

# ------------------------------------------------------------ flags that would change nothing
# idle FLAG REASON ARGUMENT...: the first line on standard error says so
idle() {
    local flag=$1 reason=$2
    shift 2
    run "$@"
    head -1 err | grep -qF -- "attsvm $1: --$flag changes nothing here; it counts only $reason" ||
        problem "it is not told that --$flag counts only $reason"
}
# the same for flags that contradict the others
refused() {
    local flag=$1 reason=$2
    shift 2
    bad 2 "--$flag changes nothing here; it counts only $reason" "$@"
}
idle push 'with --kind planted-p, planted-W' generate --push 2 -o x.npz
idle optimal 'with --kind planted-p, planted-W' generate --no-optimal -o x.npz
idle noise 'with --kind clusters' generate --noise 0.2 -o x.npz
idle vocabulary 'with --kind vocabulary, onehot' generate --kind tied --vocabulary 9 -o x.npz
for verb in train verify; do
    idle max-step 'with --step polyak' $verb set.npz --max-step 2
    refused lstar 'with --step polyak' $verb set.npz --step gd --lstar 0.1
    idle disturb-seed 'with --disturb' $verb set.npz --disturb-seed 3
    idle kappa 'with --head concave' $verb set.npz --kappa 3
    idle every 'with --checkpoint' $verb set.npz --every 10
    refused resume 'with --checkpoint' $verb set.npz --resume
    refused query 'with --model W, KQ, vW, vKQ' $verb set.npz --query 0
    refused rank 'with --model KQ, vKQ' $verb set.npz --model vW --rank 2
done
for verb in train verify; do
    idle query-token 'with --model W, KQ, vW, vKQ' $verb set.npz --query-token 1
    idle query-token 'with --query given, token' $verb set.npz --model W --query all --query-token 1
done
idle query-token 'with --model W, KQ' path set.npz --query-token 1
idle radii 'without --ridge-path' path set.npz --radii 1:2:2 --ridge-path 1:1e-3:2
idle samples 'with --model vp, vpW' verify set.npz --samples 10
idle descent 'with --model vp, vpW' verify set.npz --descent 10
idle samples 'with --head linear' verify set.npz --model vp --head concave:1 --samples 10
for verb in svm tokens; do
    idle q 'with --norm lq' $verb set.npz --q 3
    idle kappa 'with --head concave' $verb set.npz --kappa 3
    idle query 'with problems for a matrix W' $verb set.npz --problem p --query last
    idle query-token 'with problems for a matrix W' $verb set.npz --problem p --query-token 1
    idle query-token 'with --query given, token' $verb set.npz --query all --query-token 1
    idle threshold 'with --problem multi, finite' $verb set.npz --threshold 0.1
done
idle kappa 'with --head concave' path set.npz --radii 1:10:2 --kappa 3
idle duplicates 'with other problems than v' svm set.npz --problem v --duplicates strict
idle threshold 'with a result as --select' svm set.npz --problem multi --threshold 0.1
idle threshold 'with a result as --select' svm set.npz --problem finite --select sets --threshold 0.1
idle max-selections 'with --enumerate' tokens set.npz --max-selections 5
idle descent-runs 'with --enumerate' tokens set.npz --descent-runs 5
idle steps 'with --enumerate' tokens set.npz --steps 5
idle ratio 'with --model vp' path set.npz --ratio 2
idle ratio 'without --head-radius' path set.npz --model vp --ratio 2 --head-radius 3
refused head-radius 'with --model vp' path set.npz --head-radius 2
refused query 'with --model W, KQ' path set.npz --query 1
refused rank 'with --model KQ' path set.npz --model W --rank 2
idle threshold 'with --head relu, concave' path set.npz --threshold 0.1
idle lr 'without --trained' graph set.npz --trained run.npz --lr 2
idle iters 'without --trained' graph set.npz --trained run.npz --iters 2
run generate --kind planted-W --n 5 --T 4 --d 8 --noise 0.2 -o told.npz
check 'the command goes on' test $status -eq 0 -a -s told.npz
good generate --kind planted-W --n 5 --T 4 --d 8 --noise 0.2 -o told.npz -q
# the value that a flag has anyway may be given, and a flag may be where it counts
good generate --kind planted-W --n 5 --T 4 --d 8 -o plain.npz -q
good train plain.npz --iters 3 --max-step 1 --every 1000 --rank 0 -q
good train plain.npz --iters 3 --step polyak --max-step 0.5 --lstar 0 -q
good svm plain.npz --problem p --select ids --q 2 --threshold 1e-3 --duplicates merge -q
good svm plain.npz --norm lq --q 3 --query token --query-token 1 -q
good svm plain.npz --norm lq:3 --query 1 -q
bad 2 'query token 1: the data set has queries Z' svm plain.npz --query-token 1
bad 2 'step = nmd:1: expected nmd:NUMBER, the number in 1.000001..1000000' train plain.npz --step nmd:1
good help train
says 'longest step; only with --step'
finish
