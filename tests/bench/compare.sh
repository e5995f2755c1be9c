# Two results side by side: compare.sh COMPARE
set -u
compare=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit
failed=0

# result PASSES MS SPEEDUP GB FILE: four results, the speedup with a limit of 2
result() {
    cat >"$5" <<END
{"results": [
{"bench": "svm", "what": "P1", "value": $1, "unit": "reads of the tokens", "kind": "count", "better": "less"},
{"bench": "svm", "what": "P1", "value": $2, "unit": "ms", "kind": "time", "better": "less"},
{"bench": "train", "what": "peer", "value": $3, "unit": "times", "kind": "ratio", "better": "more", "limit": 2},
{"bench": "train", "what": "rows", "value": $4, "unit": "GB/s", "kind": "time", "better": "more"}
]}
END
}

# expect STATUS WORSE TEXT OLD NEW: exit status, number of worse lines, and a text in the output
expect() {
    /usr/bin/python3 "$compare" "$4" "$5" >out 2>err
    status=$?
    if [ $status -ne "$1" ] || ! grep -q -- "$3" out err ||
        { [ "$1" -lt 2 ] && ! grep -q ", $2 worse\$" out; }; then
        echo "compare $4 $5: status $status, wanted $1, $2 worse and \"$3\""
        cat out err
        failed=1
    fi
}

result 2.5 10 3 20 old.json
result 2.5 14 2.5 15 near.json       # all within a factor of 1.5
result 2.49 10 3 20 fewer.json       # less work, but nobody said so
result 2.5 16 3 20 slow.json         # slower by more than 1.5
result 2.5 5 3 40 fast.json          # better both ways
result 2.5 10 1.9 20 limit.json      # within the factor of 1.6, but the limit is missed
result 2.5 10 3 12 narrow.json       # where more is better, less is worse
result 2.5 10 null 20 absent.json    # the peer is not there
result 2.5 10 'null, "why": "not finished in 15 s"' 20 late.json # nor is it our work
result 3.5 30 1 5 bad.json
echo '{"results": [' >broken.json
expect 0 0 '4 results, 0 shown' old.json old.json
expect 0 0 '0 shown' old.json near.json
expect 1 1 'differs' old.json fewer.json
expect 1 1 'ms  *worse' old.json slow.json
expect 0 0 'better' old.json fast.json
expect 1 1 'limit no longer kept' old.json limit.json
expect 1 1 'GB/s  *worse' old.json narrow.json
expect 1 1 'gone' old.json absent.json
expect 0 0 'not finished in 15 s' old.json late.json
expect 0 0 'appeared' absent.json old.json
expect 1 4 'differs' old.json bad.json
for factor in 0 0.99 -2 nan inf x; do
    /usr/bin/python3 "$compare" old.json near.json --factor $factor >out 2>err
    if [ $? -ne 2 ] || ! grep -q -- "--factor: $factor: expected a number of at least 1" err; then
        echo "a factor of $factor is not refused"
        failed=1
    fi
done
expect 2 0 'broken.json' old.json broken.json
for value in NaN '"2.5"'; do
    result $value 10 3 20 broken.json
    expect 2 0 'broken.json' old.json broken.json
done
echo '{"results": [{"bench": "svm", "what": "P1", "unit": "ms"}]}' >broken.json
expect 2 0 "broken.json: KeyError('value')" old.json broken.json
expect 2 0 'missing.json' missing.json old.json
exit $failed
