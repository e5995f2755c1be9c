# attsvm check: results that are right, results that were tampered with, files that are no results.
. "$(dirname "$0")/lib.sh" "$@"

# rejected TEXT DATA RESULT [FLAG...]: exit status 1, and the reason
rejected() {
    run check "${@:2}" --json
    [ $status -eq 1 ] || problem 'exit status is not 1'
    [ ! -s err ] || problem 'something on standard error'
    json valid false
    says "$1"
}

# with CHANGE...: tampered.npz is result.npz with some elements changed
with() {
    "$helper" change result.npz tampered.npz "$@" || problem "cannot change $*"
}

# text OLD NEW: tampered.npz is result.npz with its settings changed
text() {
    "$helper" replace result.npz tampered.npz settings "$1" "$2" || problem "cannot replace $1"
}

# Rows (2,0) and (0,2): p = (1/2,1/2), both active.
arrays data.npz X:float64:1,4,2=1,1,-1,1,1,-1,-9,-9 ids:int64:1=0 Y:int8:1=1
good svm data.npz --problem p --select ids -o result.npz
good check data.npz result.npz
says 'result.npz: valid'
says 'Proved: every row holds'
good check data.npz result.npz --json
for pair in valid=true status='"optimal"' tight=2 active=2 merged=0 violation=0.0; do
    json "${pair%%=*}" "${pair#*=}"
done
near min_margin 1 1e-15
near gap 0 1e-15
near dual_norm 1 1e-15
near norm 0.70710678118654757 1e-15

good check data.npz result.npz --exact --json
json exact true
if command -v python3 >/dev/null; then
    python3 "$source/examples/check.py" data.npz result.npz >out || problem 'check.py rejects a proof'
    "$helper" change result.npz tampered.npz theta:0=0.51
    python3 "$source/examples/check.py" data.npz tampered.npz >out && problem 'check.py accepts a lie'
    "$helper" change result.npz tampered.npz lambda:0=nan
    python3 "$source/examples/check.py" data.npz tampered.npz >out && problem 'check.py accepts NaN'
    grep -q 'NOT proved' out || problem 'check.py ends without a verdict'
    python3 "$source/examples/check.py" data.npz "$0" >out && problem 'check.py reads a script'
    grep -q 'not covered' out || problem 'check.py does not say what it was given'
    python3 -O "$source/examples/check.py" data.npz tampered.npz >out && problem 'check.py -O accepts a lie'
    grep -q 'Not for python -O' out || problem 'check.py -O does not say why'
fi

# ------------------------------------------------------------- a billionth is enough to be seen
with theta:0=0.4999999995
rejected 'has margin 0.999999999' data.npz tampered.npz
with theta:0=0.5000000005
rejected 'gap of the norm' data.npz tampered.npz
with lambda:0=0.36
rejected 'gap of the norm' data.npz tampered.npz
with lambda:0=-0.35355339059327379
rejected 'negative' data.npz tampered.npz
with lambda:0=nan
rejected 'not a finite number' data.npz tampered.npz
with theta:1=nan
rejected 'theta[1] is not a finite number' data.npz tampered.npz
with active:1=2
rejected 'two multipliers' data.npz tampered.npz
with active:1=3
rejected 'gap of the norm' data.npz tampered.npz
with active:1=0
rejected 'the selected token itself' data.npz tampered.npz
with active:1=4
rejected 'token 4 of sequence 0' data.npz tampered.npz
with active:0=1
rejected 'sequence 1' data.npz tampered.npz
with ids:0=1
rejected 'margin' data.npz tampered.npz
with ids:0=9
rejected 'ids[0] = 9' data.npz tampered.npz
run check data.npz tampered.npz
says 'tampered.npz: NOT VALID'
says 'Not proved: ids[0] = 9'

# --------------------------------------------------------------------- other data, other claims
"$helper" change data.npz other.npz X:2=-0.999999999
bad 2 'result.npz: the result was made from another data set: data.npz (' check other.npz result.npz
grep -q 'this one is other.npz (' err || problem 'the other file is not named'
rejected 'has margin' other.npz result.npz --other-data
"$helper" change data.npz other.npz X:2=-1.000000001
rejected 'gap of the norm' other.npz result.npz --other-data
"$helper" change data.npz other.npz X:6=0.9 X:7=0.9
rejected '(sequence 0, token 3) has margin' other.npz result.npz --other-data
text optimal infeasible
rejected 'b' data.npz tampered.npz
text optimal stalled
rejected 'claims no proof' data.npz tampered.npz
text '"soft": 0.0' '"soft": 0.1'
rejected 'above C = 0.1' data.npz tampered.npz
text '"problem": "p"' '"problem": "v"'
rejected 'margin' data.npz tampered.npz
text '"norm": "fro"' '"norm": "l1"' # (1/2,1/2) is the shortest there as well
good check data.npz tampered.npz --exact
text '"norm": "fro"' '"norm": "nuc"'
bad 2 'exact arithmetic covers' check data.npz tampered.npz --exact
text '"tol": 0.0' '"tol": 1.0' # a tolerance in the file does not count
"$helper" change tampered.npz loose.npz theta:0=0.6
rejected 'gap of the norm' data.npz loose.npz
arrays wide.npz X:float64:1,4,3=1,1,0 Y:int8:1=1
rejected 'theta has 2 entries; this problem has 3' wide.npz result.npz --other-data

# ------------------------------------------------------------------------- tolerances
with theta:0=0.5000005 theta:1=0.5000005
rejected 'above 1 with all others by 1e-06' data.npz tampered.npz
good check data.npz tampered.npz --tol 1e-5
run svm data.npz --problem p --select ids --tol 1e-5 -o loose.npz
good check data.npz loose.npz

# ------------------------------------------------------------------------- infeasible
arrays against.npz X:float64:2,2,2=1,0,0,0,1,0,0,0 ids:int64:2=0,1
run svm against.npz --problem p --select ids -o result.npz
good check against.npz result.npz --json
json valid true
json status '"infeasible"'
near dual_norm 0 1e-15
json proof '"exact"'
json min_margin null
json gap null
good check against.npz result.npz
says 'Proved in exact arithmetic: the rows contradict each other'
with lambda:0=0 lambda:1=0
rejected 'not shown to be positive' against.npz tampered.npz
with lambda:0=0.6 # elimination finds the multipliers of the named rows
good check against.npz tampered.npz
good check against.npz result.npz --exact --json
json exact true
text infeasible optimal
rejected 'theta[0] is not a finite number' against.npz tampered.npz
"$helper" change against.npz other.npz X:1=1e-9
rejected 'remains possible' other.npz result.npz --other-data

# ------------------------------------------------------------------------------ joint
arrays joint.npz X:float64:3,2,2=0,0,1,1,0,0,1,-1,0,0,0.5,1.5 Y:int8:3=1,-1,1 ids:int64:3=1,1,1
good svm joint.npz --problem joint --select ids -o result.npz
good check joint.npz result.npz
with head_theta:1=1.000000001
rejected 'v-SVM: ' joint.npz tampered.npz
with head_lambda:0=0.4
rejected 'v-SVM: ' joint.npz tampered.npz
"$helper" change joint.npz other.npz X:11=1 # now sequence 2 is tight
rejected '(sequence 2, token 0) has margin' other.npz result.npz --other-data

# ------------------------------------------------------------------------- a rank limit
arrays pair.npz X:float64:2,2,2=1,0,0,0,0,1,0,0 Z:float64:2,2=1,0,0,1 Y:int8:2=1,1 ids:int64:2=0,0
good svm pair.npz --problem W --norm fro --rank 1 --select ids -o result.npz --json
json status '"stationary"'
good check pair.npz result.npz --json
json valid true
json status '"stationary"'
near dual 1.4142135623730951 1e-9
near norm 2 1e-6
with theta:0=0.9
rejected 'rank above the limit of 1' pair.npz tampered.npz
with theta:0=0.9 theta:1=0.9 theta:2=0.9 theta:3=0.9
rejected 'has margin' pair.npz tampered.npz
with lambda:0=-0.5
rejected 'negative' pair.npz tampered.npz
text stationary optimal
rejected 'gap of the norm' pair.npz tampered.npz
text '"rank": 1' '"rank": 0'
rejected 'no rank limit' pair.npz tampered.npz

# -------------------------------------------------------------------- files that are no results
good svm data.npz --problem p --select ids -o result.npz
bad 2 'data.npz: Missing array settings: not a result file of attsvm svm' check data.npz data.npz
good train data.npz --model vp --iters 1 -q -o trained.npz
bad 2 'this is the output of attsvm train; expected that of attsvm svm or verify' check data.npz trained.npz
bad 2 'missing.npz' check data.npz missing.npz
bad 2 'RESULT is missing' check data.npz
for name in theta active lambda ids settings; do
    "$helper" drop result.npz tampered.npz $name
    bad 2 "tampered.npz: Missing array $name" check data.npz tampered.npz
done
text '"problem": "p"' '"problem": "x"'
bad 2 'tampered.npz: settings: problem' check data.npz tampered.npz
text '"q"' '"r"'
bad 2 'tampered.npz: settings: q is missing' check data.npz tampered.npz
text '{' ''
bad 2 'tampered.npz: ' check data.npz tampered.npz
text '"status": "optimal"' '"status": "good"'
bad 2 'status = good is not an outcome' check data.npz tampered.npz
arrays many.npz X:float64:2,4,2=1,1,-1,1 Y:int8:2=1
bad 2 'ids has shape (1,); expected 2 values' check many.npz result.npz --other-data
# results in the first form, with settings in one list, are read; a forged one is refused
good generate --kind sphere --n 3 --T 4 --d 5 --queries 1 --seed 2 -q -o first.npz
good check first.npz "$source/tests/reference/first_result.npz" --json
json valid true
run check "$source/tests/reference/multi_both.npz" "$source/tests/reference/multi_forged.npz" --json
json valid false
# ------------------------------- infinity in the softmax of a token outside the set was accepted
arrays set.npz X:float64:1,3,1=1,2,3 O:uint8:1,3=1,0,0 s:float64:1,3=1,0,0
good svm set.npz --problem finite --select sets -o result.npz
good check set.npz result.npz
with s:1=inf
rejected 's[1] is not a finite number' set.npz tampered.npz

finish
