# Peers that do not finish in their time: peers.sh SOURCE BUILD
#
# The part of the suite ends well, has all results of ours, and says of every peer why it has none.
set -u
source=$1 build=$2
if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null || [ ! -x "$build/bench/bench_svm" ]; then
    echo 'no numpy, or no benchmarks built: skipped'
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
/usr/bin/python3 "$source/bench/suite.py" --quick --peer-limit 0 --build "$build" \
    -o "$dir/out.json" svm-peers >"$dir/out" 2>"$dir/err"
status=$?
/usr/bin/python3 - "$dir/out.json" $status <<'CHECK'
import json, sys
results = json.load(open(sys.argv[1]))["results"]
ours = [r for r in results if r["what"].endswith(" attsvm")]
# a peer that is not installed may say so before its time is up
reasons = ("not finished in 0 s", "not installed (")
late = [r for r in results if r.get("why", "").startswith(reasons) and r["value"] is None]
assert sys.argv[2] == "0", f"exit status {sys.argv[2]}"
assert len(ours) == 3 and all(r["value"] > 0 for r in ours), ours
assert len(late) == 3 * 7 and len(results) == 24, results
CHECK
wrong=$?
[ $wrong -eq 0 ] || cat "$dir/out" "$dir/err"
exit $wrong
