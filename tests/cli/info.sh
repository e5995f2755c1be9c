# attsvm info: what it says of good files, as text and as JSON.
. "$(dirname "$0")/lib.sh" "$@"

# ----------------------------------------------------------------- equal lengths, no labels
arrays plain.npz X:float32:2,3,4=1,2,3
good info plain.npz
says 'plain.npz: 2 sequences of 3 tokens in 4 dimensions'
says 'labels    none'
says 'All tokens are finite.'
good info plain.npz --json
json n 2
json T_min 3
json T_max 3
json d 4
json tokens 6
json dtype '"float32"'
json storage '"equal"'
json labels null
json queries 0
json vocabulary 0
json arrays.X '{"dtype":"float32","shape":[2,3,4],"bytes":96,"mapped":false}'
json ignored '[]'
json verified false

# ------------------------------------------------------- ragged, 0/1 labels, several queries
arrays ragged.npz X:float16:9,2=1,2,3 offsets:int32:4=0,1,3,9 y:uint8:3=0,1,1 \
    Z:float64:3,2,2=1 fold:int8:5,3=0 ids:int64:3=0,1,5
good info ragged.npz
says '3 sequences of 1 to 6 tokens in 2 dimensions'
says 'labels    2 positive, 1 negative'
says 'queries   2 for each sequence'
says 'lengths   3 on average'
says 'ignored   fold (5,3)'
says '##'
good info ragged.npz --json
json T_min 1
json T_max 6
json storage '"ragged"'
json labels '{"positive":2,"negative":1}'
json queries 2
json ignored '["fold"]'
json arrays.fold.dtype '"int8"'

# ------------------------------------------------------------------------- table and index
arrays table.npz E:float64:3,2=1,2,3 tokens:uint16:5=0,1,2,1,0 offsets:int64:3=0,2,5 Y:bool:2=1,0
good info table.npz
says 'rows of a table of 3 words'
good info table.npz --json
json vocabulary 3
json tokens 5
json storage '"table"'
json dtype '"float64"'

# ----------------------------------------------------------- integer tokens, one of all things
arrays whole.npz X:int16:1,1,1=7 Y:int8:1=1
good info whole.npz
says '1 sequence of 1 token in 1 dimension'
good info whole.npz --json
json dtype '"float32"'
json arrays.X.dtype '"int16"'

# -------------------------------------------------------------- other formats, conversion
good generate --n 6 --T 5 --T-min 2 --d 3 --dtype float32 --queries 1 -o set.npz
good info set.npz -o set.safetensors -q
check 'quiet' test ! -s out
good info set.safetensors -o back.npz --json
json file '"set.safetensors"'
good info set.npz -o again.npz
# safetensors sorts by name: compare the arrays, whatever their order
good info back.npz --json
mv out first
good info set.npz --json
check 'the same arrays' test "$("$helper" json n tokens labels arrays.X arrays.Z arrays.ids <first)" = \
    "$("$helper" json n tokens labels arrays.X arrays.Z arrays.ids <out)"
check 'conversion to its own format keeps the bytes' cmp set.npz again.npz
good info set.npz -o set.npz
check 'onto itself' cmp set.npz again.npz
bad 2 "a table holds X, offsets, Y and bag_names, not 'Z'" info set.npz -o set.csv
check 'nothing was written' test ! -e set.csv
arrays X.npy X:float64:2,3,4=1,2
good info X.npy --json
json n 2
mkdir directory
mv X.npy directory
arrays directory/Y.npy Y:int8:2=1,-1
good info directory --json
json labels.positive 1
json labels.negative 1
printf 'bag,label,a,b\n0,1,0.5,1\n0,1,2,3\n1,-1,4,5\n' >set.csv
good info set.csv --json
json n 2
json tokens 3
json d 2
good info set.csv
says 'labels    1 positive, 1 negative'

# ------------------------------------------------------- names of bags and words
printf 'bag;label;a;b\n"musk ""1""";1;0.5;1\n"musk ""1""";1;2;3\n"a;b";-1;-4;5\n' >names.csv
good info names.csv -o names.npz
good info names.npz --json
json arrays.bag_names.shape '[13]'
good info names.npz -o back.csv
check 'names survive' test "$(cut -d, -f1,2 back.csv)" = 'bag,label
"musk ""1""",1
"musk ""1""",1
a;b,-1'
arrays ids.npz ids:int64:2=0,0
good svm names.csv --problem v --select ids.npz
says 'musk "1"'
arrays few.npz X:float64:2,1,1=1,2 Y:int8:2=1,-1 bag_names:uint8:4=97,98,99,10
bad 2 'bag_names must hold 2 names: uint8 bytes with a newline after each' info few.npz
arrays words.npz E:float64:2,2=1,0,0,1 tokens:int64:2=0,1 offsets:int64:2=0,2 Y:int8:1=1,1 v:float64:2=1,0 \
    words:uint8:8=103,111,10,115,116,111,112,10
good tokens words.npz
says "'go'"

# ------------------------------------------------------- the commands that it suggests work
for flags in '--kind planted-p' '--kind planted-W' '--kind sphere --queries 1' '--kind tied'; do
    # shellcheck disable=SC2086
    good generate $flags --n 4 --T 3 --d 9 -o next.npz
    good info next.npz
    says 'Next: attsvm train next.npz --model'
    sed -n 's/^\(Next:\)\? *attsvm \(train\|svm\)/\2/p' out >commands
    check 'two suggestions' test "$(wc -l <commands)" -eq 2
    while read -r words; do
        # shellcheck disable=SC2086
        run $words
        [ $status -le 1 ] || problem 'a suggestion does not work'
    done <commands
done
arrays unscored.npz X:float64:2,3,2=1,2,3,4,5 Y:int8:2=1,-1
good info unscored.npz
says 'Next: attsvm train unscored.npz --model vp'
good train unscored.npz --model vp --iters 3

# --------------------------------------------- any number of threads gives the same answer
good generate --n 20000 --T 10 --d 20 --dtype float32 -o big.npz
good info big.npz --json --threads 1
mv out one
for threads in 2 3; do
    good info big.npz --json --threads $threads
    check 'the same answer' cmp one out
done
finish
