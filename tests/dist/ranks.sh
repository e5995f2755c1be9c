# attsvm over several ranks: ranks.sh ATTSVM HELPER SOURCE MPIRUN RANKS
#
# The bytes are those of one process; bad input, dead ranks and checkpoints behave as with one.
mpirun=$4 ranks=$5
. "$3/tests/cli/lib.sh" "$1" "$2" "$3"
one=$attsvm
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# ranks of one machine: a start without a look at its networks takes half the time
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
cat >many <<END
#!/bin/sh
exec "$mpirun" --oversubscribe -n $ranks "$one" "\$@"
END
chmod +x many
many=$work/many

# both ARGUMENT...: the same bytes and the same exit status from one process and from many
both() {
    attsvm=$one
    run "$@" -o one.npz --threads 1
    local alone=$status
    attsvm=$many
    run "$@" -o many.npz --threads 1
    [ $status -eq $alone ] || problem "exit status is not $alone, as it is alone"
    check 'the same bytes as of one process' cmp one.npz many.npz
    attsvm=$one
}

# sent ARGUMENT...: the bytes that rank 0 has sent
sent() {
    # progress is sent too, as often as the clock says: here never
    "$many" "$@" --observe 1000000 --json --threads 1 >out 2>err || problem 'it fails'
    "$helper" json bytes_sent <out
}

good generate --kind planted-p --n 3000 --T 16 --T-min 4 --d 24 --seed 2 -o p.npz -q
good generate --kind planted-W --n 1500 --T 8 --d 24 --seed 3 -o w.npz -q
good generate --kind vocabulary --n 2000 --T 12 --d 16 --seed 4 -o words.npz -q

# --------------------------------------------------------------------------- training
both train p.npz --model p --iters 100 --record 20
both train w.npz --model W --iters 100
both train w.npz --model KQ --iters 30 --init uniform:0.2
both train words.npz --model vp --iters 50
both train p.npz --model p --iters 30 --step polyak
both train p.npz --model p --iters 40 --batch 500 --record 15
both train w.npz --model W --iters 20 --batch 7 --step polyak

# fewer sequences than ranks, one that is longer than all others, and a set that is small
good generate --kind planted-p --n 2 --T 8 --d 4 --seed 1 -o two.npz -q
both train two.npz --model p --iters 20 --record 5
both train two.npz --model p --iters 20 --batch 1
both verify two.npz --model p --iters 300
both svm two.npz --problem p --select ids
"$helper" write uneven.npz X:float64:4100,16=0.5,-1,2,0.25,3,-0.75,1,0.125,-2,0.375 \
    offsets:int64:6=0,4000,4010,4040,4090,4100 Y:int8:5=1,-1 v:float64:16=1,-0.5
both train uneven.npz --model p --iters 20
both svm uneven.npz --problem p

# one exchange a step: exponent and gradient, once for each halving of the ranks
short=$(sent train p.npz --model p --iters 100)
long=$(sent train p.npz --model p --iters 300)
halvings=$(awk -v r="$ranks" 'BEGIN { k = 0; while (r > 1) { r /= 2; k++ } print k }')
check 'what a step sends' [ $((long - short)) -eq $((200 * 8 * (24 + 1) * halvings)) ]

# ---------------------------------------------------------------------------- memory
# what there is of each token and each sequence is shared out: the ranks are smaller than one process
peak() {
    rm -f mem.*
    "$mpirun" --oversubscribe -n "$1" "$helper" peak mem "$one" train long.npz --model p --iters 2 \
        --threads 1 -q -o "mem$1.npz" >out 2>err || problem 'it fails'
    # rank 0 also touches tokens of all shares, for the hash in its result
    cat mem.* | sort -n | tail -2 | head -1
}
good generate --kind planted-p --n 200000 --T 16 --d 8 --dtype float32 -o long.npz -q
alone=$(peak 1)
share=$(peak "$ranks")
last="highest resident memory: $alone kB alone, $share kB on $ranks ranks"
check 'ranks hold their shares' \
    [ "$share" -lt "$(awk -v a="$alone" -v r="$ranks" 'BEGIN { printf "%d", a * (0.4 + 0.6 / r) }')" ]
check 'the same bytes as of one process' cmp mem1.npz "mem$ranks.npz"
rm -f long.npz mem*.npz

# ------------------------------------------------------------------------------- svm
both svm p.npz --problem p --select ids
both svm p.npz --problem p # no selection by score can be separated: the proof is the same
both svm w.npz --problem W --select ids
both svm p.npz --problem joint --select ids
good svm words.npz --problem v --soft 1 --json # ranks solve it by another way: the same to rounding
alone=$("$helper" json norm <out)
attsvm=$many
good svm words.npz --problem v --soft 1 --json -o many.npz
near norm "$alone" 1e-11
attsvm=$one
good check words.npz many.npz
both svm w.npz --problem W --select ids --norm nuc
good check w.npz many.npz
both svm p.npz --problem joint --select ids --norm linf

# a violated row with b = 0 was known to its own rank alone: the last sequence is not tight in the
# v-SVM (0,1), and (1,0), the p-SVM of the others, violates its row; p = (1.5,0.5)
"$helper" write slack.npz X:float64:3,2,2=0,0,1,1,0,0,1,-1,0,0,-.5,1.5 Y:int8:3=1,-1,1 ids:int64:3=1,1,1
for norm in l2 linf lq:3; do
    both svm slack.npz --problem joint --select ids --norm $norm
    says 'status     optimal'
    good check slack.npz many.npz
done
good svm slack.npz --problem joint --select ids --json
near norm 1.5811388300841898 1e-12

# every norm of a matrix and of a vector: the same bytes, so the same norm and theta
good generate --kind planted-W --n 200 --T 8 --T-min 3 --d 12 --seed 6 -o small.npz -q
for norm in fro spectral nuc l1 linf lq:3 lq:1.5; do
    both svm small.npz --problem W --select ids --norm $norm
    says 'status     optimal'
    good check small.npz many.npz
done
good generate --kind gauss --n 200 --T 8 --d 5 --seed 6 -o crowded.npz -q
for norm in spectral nuc; do
    both svm crowded.npz --problem W --norm $norm
    says 'status     infeasible'
    good check crowded.npz many.npz
done
for norm in l1 linf lq:3 lq:1.5; do
    both svm p.npz --problem p --select ids --norm $norm
    says 'status     optimal'
done

both verify p.npz --model p --iters 300
both verify w.npz --model W --iters 200
both verify words.npz --model vp --iters 100 --samples 20 --descent 10

# nonlinear heads: attention keeps several tokens, whose sets are shared out too
good generate --kind sphere --n 40 --T 6 --T-min 3 --d 24 --seed 5 -o sphere.npz -q
for query in last causal; do
    both verify sphere.npz --model W --head concave:0.5 --step ngd --lr 1 --iters 2000 \
        --query $query --json
    "$helper" json several <out >many.json
    run verify sphere.npz --model W --head concave:0.5 --step ngd --lr 1 --iters 2000 \
        --query $query --json --threads 1
    "$helper" json several <out >one.json
    check 'several tokens are kept' [ "$("$helper" json several.several <out)" -gt 20 ]
    check 'the same sets and correlations as of one process' cmp one.json many.json
done

# --------------------------------------------------------------------- what goes wrong
attsvm=$many
run train nothing.npz --model p
[ $status -eq 2 ] || problem 'a missing file is not status 2'
check 'one message' [ "$(grep -c '^attsvm train: ' err)" -eq 1 ]
run info p.npz
[ $status -eq 2 ] || problem 'info over ranks is not refused'
arrays bad.npz X:float64:8,1,2=0,0,0,0,0,0,0,0,0,0,0,0,0,0,nan,0 Y:int8:8=1,1,1,1,1,1,1,1
run svm bad.npz --problem v
[ $status -eq 2 ] || problem 'NaN in the share of the last rank is not status 2'
check 'the message names it' grep -q 'bad.npz: X\[7,0,0\] is NaN' err
check 'nothing was written' [ ! -e nothing-written.npz ]
attsvm=$one

if [ "$("$one" version --json | "$helper" json kernels)" != '"baseline"' ]; then
    last='ranks with different kernels'
    "$mpirun" --oversubscribe -n 1 "$one" svm p.npz --problem p --kernels baseline : \
        -n 1 "$one" svm p.npz --problem p >out 2>err
    status=$?
    check 'ranks with different kernels are refused' [ $status -eq 2 ]
    check 'with a reason' grep -q 'different vector kernels' err
fi

# ----------------------------------------------------------------- stopped within a pool
good generate --kind gauss --n 2400 --T 8 --d 80 --seed 1 -o hard.npz -q
attsvm=$many
run svm hard.npz --problem W --time-limit 1 --threads 1 --json -o late.npz
[ $status -eq 1 ] || problem 'a limit of time is not status 1'
check 'stalled by the limit' [ "$("$helper" json status <out)" = '"stalled"' ]
attsvm=$one
"$mpirun" --oversubscribe -n "$ranks" "$one" svm hard.npz --problem W --threads 1 --json \
    -o stopped.npz >out 2>err &
job=$!
# Until all ranks catch the signal: mpirun would pass it on to those that run, and the others would
# never hear of it.
ready() {
    local pid
    for pid in $(pgrep -f "^$one svm hard.npz .*stopped.npz"); do
        [ $((0x$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$pid/status") >> 9 & 1)) -eq 1 ] && echo "$pid"
    done | wc -l
}
while kill -0 $job 2>/dev/null && [ "$(ready)" -lt "$ranks" ]; do sleep 0.1; done
sleep 1
kill -USR1 $job # mpirun passes it on to its ranks
wait $job
status=$?
last='a solve stopped by a signal'
check 'its exit status' [ $status -eq 1 ]
check 'stalled by the signal' [ "$("$helper" json status <out)" = '"stalled"' ]
for result in late stopped; do
    run check hard.npz $result.npz
    says 'consistent'
done
rm -f hard.npz

# inside the core of another norm, which takes far longer
good generate --kind planted-W --n 300 --T 10 --d 64 --push 0.5 --seed 3 -o wide.npz -q
for norm in spectral l1; do
    attsvm=$many
    run svm wide.npz --problem W --select ids --norm $norm --time-limit 0.5 --threads 1 --json \
        -o late.npz
    [ $status -eq 1 ] || problem 'a limit of time is not status 1'
    check 'stalled by the limit' [ "$("$helper" json status <out)" = '"stalled"' ]
    attsvm=$one
    run check wide.npz late.npz
    says 'consistent: every row holds'
done
rm -f wide.npz

# ------------------------------------------------------- a dead rank, and going on after it
flags='p.npz --model p --iters 2000 --record 500 -q --threads 1'
good train $flags -o whole.npz
"$many" train $flags --checkpoint state.npz --every 20 -o dead.npz >out 2>err &
job=$!
while kill -0 $job 2>/dev/null && [ ! -e state.npz ]; do sleep 0.05; done
victim=$(pgrep -f "^$one train p.npz .*dead.npz" | tail -1)
[ -n "$victim" ] && kill -9 "$victim"
wait $job
status=$?
last='a rank killed'
check 'the job ends with a failure' [ $status -ne 0 ]
check 'and says why' grep -qiE 'signal 9|killed' err
check 'no result of a dead run' [ ! -e dead.npz ]
good train $flags --checkpoint state.npz --every 1000 --resume -o resumed.npz
check 'resumed by one process: the same bytes' cmp whole.npz resumed.npz
finish
