#!/usr/bin/env bash
#
# Every command with one allocation after the other failing: it ends by itself, with status 3 and one
# line that says so, or it gives the same bytes as always.
#
#     tests/faults/memory.sh ATTSVM FAILING.so [POINTS]   at most so many points a command (default 12)
set -u
attsvm=$1 failing=$2 points=${3:-12}
[ -z "${ATTSVM_LONG-}" ] || points=1000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
tried=0 failures=0

# run NUMBER COMMAND...: with that allocation failing
run() {
    local number=$1
    shift
    rm -f result.npz
    timeout 600 env FAIL_AT=$number FAIL_COUNT=count LD_PRELOAD="$failing" "$attsvm" "$@" --threads 1 \
        >out 2>err </dev/null
    status=$?
}

without_seconds() {
    sed 's/"[a-z_]*seconds": [^,}]*//g' "$1"
}

attack() {
    local total step number
    run -1 "$@"
    [ $status -le 1 ] || { echo "FAILED: attsvm $*: status $status"; cat err; failures=$((failures + 1)); return; }
    local expected=$status
    mv out out.good
    cp result.npz good.npz 2>/dev/null || rm -f good.npz
    total=$(cat count)
    step=$(((total + points - 1) / points))
    [ $step -ge 1 ] || step=1
    # an odd stride meets all kinds of allocations
    for ((number = 1; number <= total; number += step)); do
        tried=$((tried + 1))
        run $number "$@"
        if [ $status -eq 3 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'memory' err &&
            { [ ! -e result.npz ] || cmp -s result.npz good.npz; }; then
            continue
        fi
        if [ $status -eq $expected ] && cmp -s <(without_seconds out) <(without_seconds out.good) &&
            { [ ! -e good.npz ] || cmp -s result.npz good.npz; }; then
            continue
        fi
        # the run-time library of Fortran, which Clp's LAPACK brings, ends the process while it is loaded
        if grep -q 'Operating system error\|Allocating cleared memory failed' err; then
            continue
        fi
        failures=$((failures + 1))
        echo "FAILED: attsvm $*, allocation $number of $total: status $status"
        head -c 300 err
    done
}

"$attsvm" generate --kind planted-W --n 8 --T 4 --d 4 --queries 1 -q -o queries.npz
"$attsvm" generate --kind planted-p --n 8 --T 4 --d 8 -q -o data.npz
"$attsvm" generate --kind ntp --n 20 --T 4 --d 6 -q -o words.npz
"$attsvm" train data.npz --iters 5 -q -o run.npz
"$attsvm" svm data.npz --problem p --select ids -q -o solution.npz
attack version --json
attack info data.npz --json
attack generate --kind clusters --n 5 --T 3 --d 3 --json -o result.npz
attack train data.npz --iters 5 --json -o result.npz
attack train queries.npz --model KQ --step muon --iters 3 --json -o result.npz
attack svm data.npz --problem p --select ids --json -o result.npz
for norm in fro nuc spectral l1 linf lq:3; do
    attack svm queries.npz --problem W --select ids --norm $norm --json -o result.npz
done
attack check data.npz solution.npz --json
attack tokens data.npz --problem p --json -o result.npz
attack path data.npz --radii 1:10:2 --json -o result.npz
attack graph words.npz --iters 20 --json -o result.npz
attack verify data.npz --iters 50 --json -o result.npz
echo "$tried failing allocations, $failures failed"
[ $failures -eq 0 ]
