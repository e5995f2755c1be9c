# attsvm svm: every problem from a file to a proved result, and what it says on the way.
. "$(dirname "$0")/lib.sh" "$@"

# proved STATUS DATA ARGUMENT...: solved with that exit status, and the check of the result agrees
proved() {
    local expected=$1 data=$2
    shift 2
    run svm "$data" "$@" -o result.npz --json
    [ $status -eq "$expected" ] || problem "exit status is not $expected"
    [ ! -s err ] || problem 'something on standard error'
    cp out solved
    good check "$data" result.npz --json
    json valid true
    mv solved out
}

# Two tokens on a line: (1,0) selected, (0,0) rival; p = (1,0).
arrays line.npz X:float64:1,2,2=1,0,0,0 Y:int8:1=1 v:float64:2=1,0 Z:float64:1,2=0,2
proved 0 line.npz --problem p
for pair in status='"optimal"' violation=0.0 tight=1 active=1 merged=0 problem='"p"' \
    select='"opt"' ties=0; do
    json "${pair%%=*}" "${pair#*=}"
done
for key in norm margin dual; do
    near $key 1 2e-15
done
near gap 0 2e-15
for key in rank passes iterations seconds; do
    check "$key is a key" sh -c "grep -q '\"$key\":' out"
done
proved 0 line.npz --problem v
near norm 1 2e-15
proved 0 line.npz --problem W
near norm 0.5 2e-15
json rank 1
proved 0 line.npz --problem W --query 0
near norm 1 2e-15

# --------------------------------------------------------------------- what a reader sees
good svm line.npz --problem p -o shown.npz
says 'line.npz: p-SVM in the l2 norm, selection opt'
says 'optimal'
says 'no p of smaller norm does that'
says 'attsvm check line.npz shown.npz'
check 'nothing else is written' test "$(ls shown.npz* | wc -l)" -eq 1
good svm line.npz --problem p -q
check '-q is quiet' test ! -s out

# ------------------------------------------------------------------------ every problem
good generate --kind planted-p --n 12 --T 6 --T-min 1 --d 16 -o p.npz
for problem in p v joint; do
    proved 0 p.npz --problem $problem --select ids
    json status '"optimal"'
done
good generate --kind planted-W --n 20 --T 5 --d 6 --queries 2 -o W.npz
proved 0 W.npz --select ids
good generate --kind sphere --n 4 --T 4 --d 12 -o sphere.npz
for query in 0 2 all causal; do
    proved 0 sphere.npz --query $query
done
proved 0 sphere.npz --soft 0.01
says '"status": "optimal"'
proved 0 sphere.npz --problem p --soft 100
arrays sets.npz X:float64:1,3,2=1,0,0,1,0,0 Z:float64:1,2=1,0 O:uint8:1,3=1,1,0 \
    s:float64:1,3=0.75,0.25,0
proved 0 sets.npz --problem multi
near norm 1.4142135623730951 1e-14
proved 0 sets.npz --problem finite
near norm 0.7768361992120931 1e-14 # log(3)/sqrt(2)
# several queries: one set each, or one for all
arrays more.npz X:float64:1,3,2=1,0,0,1,0,0 Z:float64:1,2,2=1,0,0,1 O:uint8:1,2,3=1,1,0,1,0,0 \
    s:float64:1,2,3=0.75,0.25,0,1,0,0
proved 0 more.npz --problem multi
near norm 1.7320508075688772 1e-14
proved 0 more.npz --problem finite
near norm 0.7768361992120931 1e-14
arrays shared.npz X:float64:1,3,2=1,0,0,1,0,0 Z:float64:1,2,2=1,0,0,1 O:uint8:1,3=1,1,0
proved 0 shared.npz --problem multi
near norm 2 1e-14
arrays flat.npz X:float64:1,3,2=1,0,0,1,0,0 O:uint8:5=1,1,0,1,0
bad 2 'O has shape (5,)' svm flat.npz --problem multi --query all
# sets of a trained model, a term for every token
good generate --kind sphere --n 3 --T 4 --d 16 -o train.npz
for query in all causal; do
    good train train.npz --model W --step ngd --iters 200 --query $query -q -o trained.npz
    for problem in multi finite; do
        proved 0 train.npz --problem $problem --query $query --select trained.npz --threshold 0.01
    done
done
# a selection of one token each is a set as well
arrays one.npz X:float64:1,3,2=1,0,0,1,0,0 Z:float64:1,2=1,0 ids:int64:1=0
proved 0 one.npz --problem multi --select ids
proved 0 W.npz --problem multi --select ids
# the selection of another result
good svm p.npz --problem p --select ids -o first.npz
good svm p.npz --problem p --select first.npz --json
json select '"first.npz"'
# copies are merged, or make it infeasible
arrays copies.npz X:float64:1,3,2=1,0,0,0,1,0 Y:int8:1=1 v:float64:2=1,0
proved 0 copies.npz --problem p
json merged 1
json ties 1
proved 1 copies.npz --problem p --duplicates strict
json status '"infeasible"'

# -------------------------------------------------------------------------- infeasible
arrays against.npz X:float64:2,2,2=1,0,0,0,1,0,0,0 ids:int64:2=0,1
proved 1 against.npz --problem p --select ids
json status '"infeasible"'
json norm null
json gap null
json active 2
run svm against.npz --problem p --select ids
says 'No p separates the selection'
# same key, other score: the pair is named
arrays key.npz X:float64:1,2,3=1,0,2,1,0,3 W:float64:3,3=1,0,0,0,1,0,0,0,0 Y:int8:1=1 \
    v:float64:3=0,0,1
proved 1 key.npz --problem p
json pair.sequence 0
json pair.selected 1
json pair.token 0
run svm key.npz --problem p
says 'token 0 of sequence 0 has the same key'

# Sequence 1 is slack and holds its selected token twice: merged, or a row of zeros, which is tight.
arrays slack.npz X:float64:2,2,1=2,-1,-5,-5 Y:int8:2=-1,1 ids:int64:2=0,1
for duplicates in merge:1:1 strict:0:2; do
    IFS=: read -r name merged tight <<<"$duplicates"
    proved 0 slack.npz --problem joint --select ids --duplicates "$name"
    near norm 0.3333333333333333 1e-15
    json merged "$merged"
    json tight "$tight"
    good check slack.npz result.npz --json
    json merged "$merged"
    json tight "$tight"
done

# The keys of sequence 0 differ by rounding alone, so that its row has a multiplier of 2e21.
arrays same.npz X:float64:6,5=0,-3e-6,-4e-6,-3e-6,-3e-6,0,-3e-6,-4e-6,-2e-6,-1e-6,\
3e-6,-2e-6,3e-6,1e-6,1e-6,0,0,3e-6,0,-4e-6,0,2e-6,4e-6,0,1e-6,1e-6,0,1e-6,-3e-6,1e-6 \
    offsets:int64:3=0,2,6 Y:int8:2=-1,1 ids:int64:2=1,2 \
    W:float64:5,5=1,1,2,-2,1,1,0,2,2,-1,1,-2,-2,0,0,-1,-2,-1,-2,1,1,2,-2,2,-1
proved 0 same.npz --problem joint --select ids
good svm same.npz --problem joint --select ids
check 'figures and their meaning stand apart' grep -q 'margin .*e-06 .*1/norm' out

# --------------------------------------------------------- same bytes for any number of threads
for threads in 1 2 5; do
    run svm p.npz --problem p --select ids --threads $threads -o threads$threads.npz --json
    sed 's/"[a-z_]*seconds": [^,]*,//g' out >threads$threads.json
done
check 'one result' cmp threads1.npz threads2.npz
check 'one result' cmp threads1.npz threads5.npz
check 'one report' cmp threads1.json threads2.json
check 'one report' cmp threads1.json threads5.json

# ------------------------------------------------------------- stopped inside a long core
good generate --kind planted-W --n 120 --T 10 --d 40 --push 0.5 --seed 3 -o wide.npz -q
for norm in nuc spectral l1 linf; do
    for limit in 0.001 0.3; do # in the Frobenius solver that all norms start from, and later
        run svm wide.npz --problem W --select ids --norm $norm --threads 1 --time-limit $limit \
            --json -o late.npz
        [ $norm-$limit = nuc-0.3 ] || # which may well be in time
            check "status 1, stalled: $norm, $limit s" \
                [ "$status $("$helper" json status <out)" = '1 "stalled"' ]
        run check wide.npz late.npz
        check 'consistent or proved' grep -qE 'consistent|late.npz: valid' out
    done
done
rm -f wide.npz late.npz

# ------------------------------------------------------------------ stopped by --max-iter
good generate --kind planted-p --n 30 --T 6 --d 12 -o limit-p.npz -q
good generate --kind planted-W --n 12 --T 6 --d 12 -o limit-W.npz -q
for solve in p:l2 p:l1 p:linf p:lq:3 p:lq:1.2 W:fro W:nuc W:spectral W:l1 W:linf W:lq:3; do
    set -- limit-${solve%%:*}.npz --problem ${solve%%:*} --norm ${solve#*:} --select ids --json
    good svm "$@"
    norm=$("$helper" json norm <out) count=$("$helper" json iterations <out)
    for limit in 1 $((count / 2)); do
        run svm "$@" --max-iter $limit -o short.npz
        [ $status -eq 1 ] || problem 'a limit of iterations is not status 1'
        json status '"stalled"'
        json iterations $limit
        run check $1 short.npz
        says 'consistent'
    done
    good svm "$@" --max-iter $((count + 1))
    json norm $norm
    json iterations $count
done
rm -f limit-*.npz short.npz

# ---------------------------------------------------------------------------- bad input
bad 2 'missing.npz' svm missing.npz
bad 2 '--problem q: expected one of' svm line.npz --problem q
bad 2 'ids' svm line.npz --select ids -o never.npz
bad 2 'missing.npz' svm line.npz --select missing.npz
cp line.npz kept.npz
bad 2 'would overwrite an input file' svm line.npz --problem p -o ./line.npz
check 'the data set is still there' cmp line.npz kept.npz
bad 2 'is for the problems multi and finite' svm line.npz --problem p --select sets
bad 2 'Missing array O' svm line.npz --problem multi
bad 2 'expected opt, ids, sets, or a result file' svm line.npz --problem p --select best
bad 2 'did you mean lq:3' svm line.npz --problem p --norm l3
bad 2 'query token 7' svm sphere.npz --query 7
arrays plain.npz X:float64:1,2,2=1,0,0,0 v:float64:2=1,0 ids:int64:1=0
bad 2 'plain.npz: Missing array Y: scores need one label' svm plain.npz --problem p
bad 2 'plain.npz: the v-SVM needs labels Y' svm plain.npz --problem v --select ids
check 'nothing was written' test ! -e never.npz
# ------------------------- tokens over twelve decades, where double-double has no digits left
for seed in 47025 46141 46222; do
    good generate --kind gauss --n 3 --T 4 --d 3 --spread 12 --seed $seed --dtype float32 -o wild.npz -q
    run svm wild.npz --query causal -o wild-result.npz --json
    if [ $status -eq 0 ] || grep -q '"status": "infeasible"' out; then
        good check wild.npz wild-result.npz
    fi
done

finish
