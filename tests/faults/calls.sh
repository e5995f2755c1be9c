#!/usr/bin/env bash
#
# Commands whose system calls on files fail, one after the other: EIO, ENOSPC, EINTR, and transfers of a single
# byte.  A command ends by itself: with status 2 or 3, one line that names the file, and no half-written result;
# or with the same bytes as always.  EINTR and short transfers never change anything.
#
#     tests/faults/calls.sh ATTSVM FAILING_CALLS.so [POINTS]   at most so many points a command and kind (default 3)
set -u
attsvm=$1 failing=$2 points=${3:-3}
[ -z "${ATTSVM_LONG-}" ] || points=1000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
work=$(pwd -P)
tried=0 failures=0
EIO=5 EINTR=4 ENOSPC=28

# run CALL NUMBER ERROR -- COMMAND...: with that system call failing
run() {
    local call=$1 number=$2 error=$3
    shift 4
    rm -f result.npz
    timeout 60 env ${short:+FAIL_SHORT=1} FAIL_CALL="$call" FAIL_AT="$number" FAIL_ERROR="$error" FAIL_UNDER="$work" \
        FAIL_COUNT=count LD_PRELOAD="$failing" "$attsvm" "$@" --threads 1 >out 2>err </dev/null
    status=$?
}

without_seconds() {
    sed 's/"[a-z_]*seconds": [^,}]*//g' "$1"
}

same() {
    [ $status -eq "$expected" ] && cmp -s <(without_seconds out) <(without_seconds out.good) &&
        { [ ! -e good.npz ] || cmp -s result.npz good.npz; }
}

# A refusal: one line, and no result but the whole one.
refused() {
    [ $status -eq 2 -o $status -eq 3 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '\.npz' err &&
        { [ ! -e result.npz ] || cmp -s result.npz good.npz; }
}

attack() {
    local call error number total step
    short= run '' -1 0 -- "$@"
    [ $status -le 1 ] || { echo "FAILED: attsvm $*: status $status"; cat err; failures=$((failures + 1)); return; }
    expected=$status
    mv out out.good
    cp result.npz good.npz 2>/dev/null || rm -f good.npz
    for call in open read write fsync rename mmap stat; do
        short= run $call -1 0 -- "$@"
        total=$(cat count)
        step=$(((total + points - 1) / points))
        [ $step -ge 1 ] || step=1
        for ((number = 1; number <= total; number += step)); do
            for error in $EIO $ENOSPC $EINTR short; do
                case $call,$error in
                    *,short) [ $call = read -o $call = write ] || continue ;;
                    *,$EINTR) [ $call != rename -a $call != mmap -a $call != stat ] || continue ;;
                esac
                tried=$((tried + 1))
                short=
                [ $error != short ] || short=1
                run $call $number "${error/short/5}" -- "$@"
                same && continue
                if [ $error != $EINTR ] && [ $error != short ] && refused; then
                    continue
                fi
                failures=$((failures + 1))
                echo "FAILED: attsvm $*: $call number $number of $total with error $error: status $status"
                head -c 300 err
            done
        done
    done
    ls -A | grep -vxE 'data.npz|packed.npz|words.npz|run.npz|solution.npz|result.npz|good.npz|out|err|out.good|count' |
        sed 's/^/FAILED: left behind: /' | grep . && failures=$((failures + 1))
}

"$attsvm" generate --kind planted-p --n 8 --T 4 --d 8 -q -o data.npz
"$attsvm" generate --kind ntp --n 20 --T 4 --d 6 -q -o words.npz
"$attsvm" train data.npz --iters 5 -q -o run.npz
"$attsvm" svm data.npz --problem p --select ids -q -o solution.npz
"$attsvm" generate --kind clusters --n 50 --T 9 --d 9 --deflate -q -o packed.npz
attack info data.npz --json
attack info packed.npz --verify --json
attack generate --kind clusters --n 5 --T 3 --d 3 --json -o result.npz
attack train data.npz --iters 5 --json -o result.npz
attack svm data.npz --problem p --select run.npz --json -o result.npz
attack check data.npz solution.npz --json
attack verify data.npz --iters 50 --json -o result.npz
attack graph words.npz --iters 20 --json -o result.npz
echo "$tried failing system calls, $failures failed"
[ $failures -eq 0 ]
