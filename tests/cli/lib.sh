# Sourced by the tests of this folder: runs the command and compares what comes out.
#
#   good ARGUMENT...           exit status 0, nothing on standard error
#   bad STATUS TEXT ARGUMENT...  that status, nothing on standard output, and one line on standard
#                              error that begins with "attsvm VERB: " and contains TEXT
#   says TEXT                  the last command's standard output contains TEXT, lines joined
#   never TEXT                 and does not
#   json PATH EXPECTED         the last command printed exactly one JSON object, with that at PATH
#   near PATH EXPECTED ERROR   the same for a number, to a tolerance
#   check WHAT COMMAND...      any other command that must succeed
#   long_or_short MANY FEW     prints the first in `make test-all`, which sets ATTSVM_LONG, else the other
#
# ATTSVM_TEST_KERNELS names the kernel set that all commands run with.
# Each test works in a directory of its own, $work.
set -u
attsvm=$1 helper=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0 failures=0 last='' with_kernels=${ATTSVM_TEST_KERNELS:+--kernels $ATTSVM_TEST_KERNELS}
# tests that ask for too much memory want to be told so under ASan, as they are without it
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=${LEAKS:-1}

# What was wrong, with the command and what it printed (into out and err, or files named so).
problem() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n    %s\n    status %s\n' "$1" "$last" "$status"
    sed 's/^/    out: /' "${2:-out}" | head -20
    sed 's/^/    err: /' "${3:-err}" | head -20
}

run() {
    last="attsvm $*"
    checks=$((checks + 1))
    "$attsvm" "$@" $with_kernels >out 2>err </dev/null
    status=$?
}

long_or_short() {
    if [ -n "${ATTSVM_LONG-}" ]; then echo "$1"; else echo "$2"; fi
}

good() {
    run "$@"
    [ $status -eq 0 ] || problem 'exit status is not 0'
    [ ! -s err ] || problem 'something on standard error'
}

bad() {
    local expected=$1 text=$2
    shift 2
    run "$@"
    # ASan notes a refused allocation on standard error
    grep -v '^==.*WARNING: AddressSanitizer' err >err.own
    mv err.own err
    [ $status -eq "$expected" ] || problem "exit status is not $expected"
    [ ! -s out ] || problem 'something on standard output'
    [ "$(wc -l <err)" -eq 1 ] || problem 'not one line on standard error'
    grep -q "^attsvm $1: " err || problem "the message does not begin with attsvm $1:"
    grep -qF -- "$text" err || problem "the message does not say: $text"
}

# Text is wrapped: a sentence may go over several lines.
says() {
    checks=$((checks + 1))
    grep -qF -- "$1" out || tr '\n' ' ' <out | grep -qF -- "$1" ||
        problem "the output does not say: $1"
}

never() {
    checks=$((checks + 1))
    tr '\n' ' ' <out | grep -qF -- "$1" && problem "the output says: $1"
    return 0
}

json() {
    checks=$((checks + 1))
    local value
    value=$("$helper" json "$1" <out 2>&1)
    [ "$value" = "$2" ] || problem "JSON: $1 is $value, not $2"
}

near() {
    checks=$((checks + 1))
    local value
    value=$("$helper" json "$1" <out 2>&1)
    awk -v a="$value" -v b="$2" -v e="$3" 'BEGIN { d = a - b; exit !(d <= e && d >= -e) }' ||
        problem "JSON: $1 is $value, not $2 to $3"
}

check() {
    local what=$1
    shift
    last="$*"
    checks=$((checks + 1))
    "$@" >check.out 2>check.err </dev/null
    status=$?
    [ $status -eq 0 ] || problem "$what" check.out check.err
}

# Arrays into a file, as `helper write` reads them.
arrays() {
    "$helper" write "$@" || { failures=$((failures + 1)); echo "cannot write $1"; }
}

finish() {
    echo "$checks checks, $failures failed"
    [ $failures -eq 0 ]
    exit
}
