# attsvm generate: every kind, type and format; the same bytes for any number of threads.
. "$(dirname "$0")/lib.sh" "$@"
kinds='gauss sphere planted-p planted-W clusters vocabulary onehot tied'

for kind in $kinds; do
    for dtype in float16 float32 float64; do
        good generate --kind $kind --dtype $dtype --n 23 --T 7 --d 9 --seed 5 -o set.npz --json
        json n 23
        json T 7
        json d 9
        json tokens 161
        json kind "\"$kind\""
        json dtype "\"$dtype\""
        json seed 5
        good info set.npz --json --verify
        json n 23
        json d 9
        json T_max 7
        json dtype "\"$dtype\""
    done
    # threads, kernels and pieces make no difference; the seed does
    flags=(--kind "$kind" --n 601 --T 9 --T-min 2 --d 13 --queries 2 --spread 0.5 --dtype float32)
    good generate "${flags[@]}" --threads 1 -o one.npz
    for threads in 2 3 0; do
        good generate "${flags[@]}" --threads $threads -o more.npz
        check "the same bytes for $threads threads" cmp one.npz more.npz
    done
    good generate "${flags[@]}" --kernels baseline -o more.npz
    check 'the same bytes for other kernels' cmp one.npz more.npz
    good generate "${flags[@]}" --seed 1 -o more.npz
    if cmp -s one.npz more.npz; then problem 'another seed gives the same file'; fi
    # a set of ragged lengths, compressed, or by way of another format, is the same set
    good generate "${flags[@]}" --deflate -o small.npz
    check 'deflated is smaller' test "$(stat -c %s small.npz)" -lt "$(stat -c %s one.npz)"
    good info small.npz -o back.npz
    check 'unpacked again, it is the same' cmp one.npz back.npz
    good generate "${flags[@]}" -o set.safetensors
    good info set.safetensors -o again.safetensors
    check 'safetensors: the same bytes' cmp set.safetensors again.safetensors
    good info set.safetensors --json
    json n 601
    json queries 2
    json storage "$(case $kind in vocabulary | onehot) echo '"table"' ;; *) echo '"ragged"' ;; esac)"
done

# a directory of arrays, mapped, gives the same data
good generate --n 20000 --T 10 --d 20 --dtype float32 -o big.npz
good info big.npz --json
json mapped_bytes 16000000
json arrays.X.mapped true
json arrays.Y.mapped false

# tables: tokens and labels only, and they say so
good generate --n 5 --T 3 --d 2 --queries 1 -o set.csv
says 'left out: a table holds tokens and labels only'
good info set.csv --json
json n 5
json T_max 3
json d 2
good generate --n 5 --T 3 --d 2 -o set.npz
good info set.npz --json
near labels.positive "$(awk -F, 'NR > 1 && $2 == 1 { print $1 }' set.csv | sort -u | wc -l)" 0
good generate --n 5 --T 3 --T-min 1 --d 2 -o set.tsv
good info set.tsv --json
json storage '"ragged"'
bad 2 "set.csv: a table" generate --kind vocabulary -o set.csv

# what was made
good generate --kind planted-W --n 4 --T 5 --d 6 --queries 3 -o set.npz --json
json arrays.Z.shape '[4,3,6]'
json arrays.ids.shape '[4,3]'
json arrays.planted_W.shape '[6,6]'
json arrays.v.dtype '"float64"'
json arrays.Y.dtype '"int8"'
good generate --kind planted-p --n 4 --T 5 --d 6 -o set.npz
says '4 sequences of 5 tokens in 6 dimensions, planted-p, seed 0'
says 'planted_p'
good generate --kind vocabulary --n 4 --T 5 --d 6 --vocabulary 11 -o set.npz --json
json arrays.E.shape '[11,6]'
json arrays.tokens.shape '[20]'
json arrays.offsets.shape '[5]'

# settings that do not go together
bad 2 'T_min = 9 is above T = 8' generate --T 8 --T-min 9 -o x.npz
bad 2 'vocabulary = 30 is above d = 20' generate --kind onehot --vocabulary 30 -o x.npz
bad 2 'd = 1 is below 2' generate --kind planted-p --d 1 -o x.npz
bad 2 'd = 3 is below 4' generate --kind planted-W --d 3 --queries 3 -o x.npz
good generate --kind planted-W --d 3 --queries 3 --no-optimal -o most.npz
bad 2 'float16 cannot hold the planted token of sequence 0' \
    generate --kind planted-p --dtype float16 --push 1e6 -o x.npz
bad 2 'x.npz: X: value' generate --spread 20 --dtype float16 -o x.npz
bad 2 'n T d is more than' generate --n 1e12 --T 1e9 --d 1e7 -o x.npz
bad 3 'no memory for' generate --kind planted-p --n 1e12 --T 2 --d 2 -o x.npz
bad 2 'the name ends in none of .npz' generate -o x.txt
bad 2 'the name ends in none of .npz' generate -o x
check 'nothing was written' test -z "$(ls -Ad x* .[!.]* 2>/dev/null)"
finish
