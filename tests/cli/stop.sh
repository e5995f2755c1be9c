# Ctrl-C, SIGTERM and time limits: every command ends soon, with what was reached where -o asks for it.
. "$(dirname "$0")/lib.sh"

# working PROCESS: waits until it has used half a second of processor time, on however busy a machine
working() {
    local used=0
    while [ "$used" -lt $(($(getconf CLK_TCK) / 2)) ]; do
        sleep 0.02
        used=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $12 + $13 }')
        [ -n "$used" ] || return 1
    done
}

# stopped SIGNAL STATUS COMMAND...: in the middle of its work; left alone it would work for hours
stopped() {
    local signal=$1 expected=$2 process waited=0
    shift 2
    last="attsvm $* ($signal)"
    checks=$((checks + 1))
    rm -f result.npz
    # a shell that is no job-control shell starts children with SIGINT ignored; `env` gives it back
    env --default-signal=INT "$attsvm" "$@" $with_kernels >out 2>err </dev/null &
    process=$!
    working $process && kill -s "$signal" $process || problem 'it was over before it could be stopped'
    while kill -0 $process 2>/dev/null && [ $waited -lt 3000 ]; do
        sleep 0.02
        waited=$((waited + 1))
    done
    [ $waited -lt 3000 ] || { problem 'it does not end'; kill -s KILL $process; }
    wait $process
    status=$?
    [ $status -eq "$expected" ] || problem "exit status is not $expected"
    [ "$(wc -l <err)" -eq 1 ] || problem 'not one line on standard error'
    grep -q "^attsvm $1: .*stopped by" err || problem 'standard error does not say why it ended'
}

# both COMMAND...: by either signal; one_of_two: by SIGTERM only in `make test-all`
both() {
    stopped INT 130 "$@"
    stopped TERM 143 "$@"
}
one_of_two() {
    stopped INT 130 "$@"
    [ -z "$(long_or_short long '')" ] || stopped TERM 143 "$@"
}

good generate --kind planted-p --n 400 --T 8 --d 40 -q -o data.npz
good generate --kind gauss --n 14 --T 6 --d 30 -q -o small.npz
good generate --kind planted-W --n 60 --T 6 --d 16 --queries 1 -q -o queries.npz
good generate --kind planted-W --n 1500 --T 6 --d 96 --queries 1 -q -o large.npz
good generate --kind ntp --n 400 --T 8 --d 32 -q -o words.npz

both train data.npz --model p --iters 1000000000 -o result.npz
check 'the run was saved' test -s result.npz
one_of_two verify data.npz --model p --iters 1000000000 -o result.npz
check 'the run was saved' test -s result.npz
one_of_two train queries.npz --model KQ --step muon --iters 1000000000 --json -o result.npz
both svm large.npz --problem W --select ids --norm nuc -o result.npz
check "the best so far was saved" test -s result.npz
one_of_two path data.npz --model p --radii 1:1e6:2000 -o result.npz
check 'points of the path were saved' test -s result.npz
one_of_two tokens small.npz --problem p --enumerate --max-selections 100000000 -o result.npz
one_of_two graph words.npz --iters 1000000000 -o result.npz
check 'the direction was saved' test -s result.npz
run check words.npz result.npz # not proved if the signal came before the end of the proof
check 'the direction can be checked' test $status -le 1
both generate --kind gauss --n 3000000 --T 10 --d 32 -o result.npz
check 'nothing half-written stays' test ! -e result.npz
one_of_two reproduce ts-rank -o figures

# a second Ctrl-C does not wait
env --default-signal=INT "$attsvm" train data.npz --iters 1000000000 --checkpoint c.npz -q >out 2>err &
process=$!
working $process
kill -s INT $process
kill -s INT $process 2>/dev/null
wait $process
status=$?
last='two signals'
checks=$((checks + 1))
[ $status -eq 130 ] || problem 'exit status is not 130'

# what was ignored stays ignored, as by nohup
(trap '' INT; exec "$attsvm" train data.npz --iters 20000 -q) &
process=$!
sleep 0.2
kill -s INT $process
wait $process
status=$?
last='ignored signal'
checks=$((checks + 1))
[ $status -eq 0 ] || problem 'a signal that is ignored ended it'

# limited STATUS COMMAND...: --time-limit 0.5 ends it
limited() {
    local expected=$1 start end
    shift
    start=$(date +%s%N)
    run "$@" --time-limit 0.5
    end=$(date +%s%N)
    [ $status -eq "$expected" ] || problem "exit status is not $expected"
    [ $((end - start)) -lt 60000000000 ] || problem 'the time limit was not kept'
}
limited 0 train data.npz --iters 1000000000 -q -o result.npz
limited 1 path data.npz --model p --radii 1:1e6:2000 -o result.npz
limited 1 tokens small.npz --problem p --enumerate --max-selections 100000000 -o result.npz
limited 1 graph words.npz --iters 1000000000 -o result.npz
limited 1 reproduce ts-rank -o figures
limited 1 generate --kind gauss --n 3000000 --T 10 --d 32 -o result.npz

finish
