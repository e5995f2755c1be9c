# Classifiers: fit, predict, cv, patches, and the files that they refuse.
. "$(dirname "$0")/lib.sh"
data=$source/examples/data

# ---------------------------------------------------------------------------------- bags
good fit "$data/musk1.npz" --pool prompt -o musk.npz --json
json pool '"prompt"'
near accuracy 1 0
good predict musk.npz "$data/musk1.npz" -o predicted.npz --json
json n 92
near auc 1 1e-9
good predict musk.npz "$data/musk1.npz" --html page.html
says decided
check 'the page is whole' grep -q '</html>' page.html
check 'and needs nothing else' sh -c '! grep -qE "https?://" page.html'

# what a model cannot be fitted to
printf 'label,text\ngood,fine\n,missing\nbad,poor\n' >empty.csv
bad 2 'text 2 has an empty label' fit empty.csv -o no.npz
arrays huge.npz X:float64:2,1,1=1e200,-1e200 Y:int8:2=1,-1
bad 2 'feature 0 is too large' fit huge.npz -o no.npz
arrays single.npz X:float64:4,1,1=1,2,-1,-2 Y:int8:4=1,1,-1,-1
good fit single.npz --pool prompt -o single-model.npz
says 'there is nothing to select'

# same bytes for any number of threads and any kernel set
others='--kernels baseline'
[[ -z $with_kernels ]] || others= # every command has the flag already
for flags in '--threads 1' '--threads 3' ${others:+"$others"}; do
    good fit "$data/musk1.npz" --pool prompt -q -o other.npz $flags
    check "the same model with $flags" cmp musk.npz other.npz
done

# training goes on from the first member: scaled tokens, no bias
run verify "$data/musk1.npz" --model vp --init musk.npz --iters 200 --json
check 'verify ends with a verdict' test $status -le 1
near norm 0 1e9
good train "$data/musk1.npz" --model vp --iters 5 -q -o run.npz
good fit "$data/musk1.npz" --pool mean -q -o mean.npz
bad 2 'has no single prompt' verify "$data/musk1.npz" --model vp --init mean.npz

# folds of the file; two models on the same folds
good cv "$data/musk1.npz" --repeats 1 --pool prompt --starts 1 -o cv.npz --json
json folds 10
near accuracy .88 .05
good cv "$data/musk1.npz" --repeats 1 --pool mean --against cv.npz --json
near against_accuracy .88 .05
json against '"cv.npz"'
bad 1 'time limit' cv "$data/digit_bags.npz" --time-limit 0.01

# ------------------------------------------------- the multiple-instance assumption
# mean AUC over five seeds: $1 pool, training data of $2
mean_auc() {
    total=0
    for seed in 0 1 2 3 4; do
        good generate --kind "$2" --n 200 --d 16 --seed $seed -q -o train.npz
        good generate --kind "$2" --n 400 --d 16 --seed $seed --split test -q -o test.npz
        good fit train.npz --pool "$1" --seed $seed -q -o mil.npz
        good predict mil.npz test.npz --json
        total=$(echo "$total $(sed 's/.*"auc": \([^,]*\),.*/\1/' out)" | awk '{ print $1 + $2 }')
    done
    echo "$total" | awk '{ print $1 / 5 }'
}
for kind in mil-single:.85 mil-multi:.9; do
    mean_auc witness ${kind%:*} >mean
    check "witness on $kind: $(cat mean)" awk -v least=${kind#*:} '{ exit $1 < least }' mean
    near absence 0 0
    mean_auc prompt ${kind%:*} >mean
    check "prompt on $kind learns from absence: $(cat mean)" awk '{ exit $1 > .05 }' mean
done

# --------------------------------------------------------------------------------- texts
printf 'good\ta fine day\nbad\ta grim day\ngood\tfine, fine\nbad\tgrim!\n' >texts.txt
good fit texts.txt -o texts.npz --json
json classes '["bad","good"]'
json words 6
good predict texts.npz --text "Nobody said FINE" --json
json predicted '["good"]'
json dropped 2
good predict texts.npz --text "fine"
says '"fine" decided'
good predict texts.npz --text "unheard words" --json
json empty 1
printf 'label,text\nup,"a ""fine"", day"\ndown,grim\n' >texts.csv
good fit texts.csv -o csv.npz --json
json classes '["down","up"]'
json words 6
printf 'fine 1 0\ngrim 0 1\nday .5 .5\n' >vectors.txt
good fit texts.txt --embeddings vectors.txt -o vectors.npz --json
json words 3
good predict vectors.npz texts.txt --json
near accuracy 1 0

# ------------------------------------- one-hot words: every command as with the unit vectors
words=$(seq 0 99 | awk '{ print ($1 * 7 + int($1 / 5) * 3) % 30 }' | paste -sd,)
same=(tokens:int32:100="$words" offsets:int64:21="$(seq -s, 0 5 100)" Y:int8:20=1,-1
    v:float64:30="$(seq -s, -1.5 .1 1.4)")
arrays unit.npz "${same[@]}" E:float64:30,30=1$(printf ',0%.0s' $(seq 30))
mkdir -p one
(cd one && "$helper" write unit.npz "${same[@]}" vocabulary:int64:1=30)
while read -r verb flags; do
    run $verb unit.npz $flags --json
    expected=$status
    sed 's/"seconds": [^,}]*//' out >dense.out
    (cd one && "$attsvm" $verb unit.npz $flags --json >../out 2>../err)
    status=$?
    checks=$((checks + 1))
    [ $status -eq $expected ] || problem "status $expected with unit vectors"
    sed 's/"seconds": [^,}]*//' out | cmp -s - dense.out || problem 'another answer than with unit vectors'
done <<'EOF2'
train --model vp --iters 50
train --model W --iters 5
svm --problem p
svm --problem W
tokens
verify --iters 100
fit --pool score --starts 1 --scale none -o model.npz
EOF2
good svm one/unit.npz --problem v -q -o solution.npz
good check one/unit.npz solution.npz --json
json valid true

# -------------------------------------------------------------------------------- images
good patches "$data/digits.npz" --labels digit --positions -o patches.npz --json
json T 9
json d 18
good fit patches.npz --pool mean -o digits.npz --json
json classes '["0","1","2","3","4","5","6","7","8","9"]'
good predict digits.npz patches.npz --html digits.html -q
check 'the page shows heat maps' grep -q 'class="grid"' digits.html

# -------------------------------------------------------------------------------- errors
bad 2 'found images' fit "$data/digits.npz" -o x.npz
arrays none.npz X:float64:2,1,2=1,2,3,4
bad 2 'no labels; expected an array Y or y' fit none.npz -o x.npz
arrays one.npz X:float64:2,1,2=1,2,3,4 y:int8:2=1,1
bad 2 'a classifier needs at least two' fit one.npz -o x.npz
arrays half.npz X:float64:2,1,2=1,2,3,4 y:float64:2=1,.5
bad 2 'y[1] = 0.5 is not a label' fit half.npz -o x.npz
bad 2 'tokens have 2 features; the model was fitted to 166' predict musk.npz one.npz
bad 2 'the model was fitted to bags' predict musk.npz texts.txt
bad 2 'not a model of attsvm fit' predict one.npz one.npz
bad 2 'FILE is missing' predict musk.npz
bad 2 'is not UTF-8' fit "$(printf 'a\tb\xff\n' >latin.txt; echo latin.txt)" -o x.npz
bad 2 'text 2 has no label' fit "$(printf 'a\tb\nno tab\n' >half.txt; echo half.txt)" -o x.npz
bad 2 'line 2' fit texts.txt --embeddings "$(printf 'fine 1 0\ngrim 0\n' >short.txt; echo short.txt)" -o x.npz
bad 2 '--key needs the array inst' cv "$data/musk1.npz" --key 1
bad 2 'size = 40' patches "$data/digits.npz" --size 40 -o x.npz
finish
