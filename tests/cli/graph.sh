# attsvm graph: next-token prediction from contexts to a proved direction and a picture.
. "$(dirname "$0")/lib.sh" "$@"

# Last word 2: labels 0, 0 and 1 of contexts 0 1 2, a cycle; last word 0: 1 beats 0.
arrays small.npz E:float64:3,3=1,0,0,0,1,0,0,0,1 tokens:int32:11=0,1,2,1,0,2,0,1,2,1,0 \
    offsets:int64:5=0,3,6,9,11 labels:int32:4=0,0,1,1
good graph small.npz --json --lr 2 -o result.npz
json status '"optimal"'
json components.0.last 0
json components.0.sets.0.0 1
json components.1.sets.0.1 1
json components.1.sets.1.0 2
json cyclic 1
json edges 5
json checked true
near norm 1.0801234497346435 1e-12
near finite_norm 0.49012907173427356 1e-10
near finite_loss 0.4773856262211097 1e-12
near finite_error 0 0.01
near correlation 1 0.01
near together 1 0.01
good check small.npz result.npz --json
json valid true

good graph small.npz --dot small.dot --svg small.svg
says '4 contexts, 3 words, 2 last words'
says '[0 1] -> 2'
says 'Inside the cycles W converges to the finite part'
check 'the picture is SVG' grep -q '^</svg>' small.svg

# Edges that run behind a word other than their ends, in all panels of a picture.
crossed_words() {
    awk -F'[" ]' '
        function near(k, w,   t, x, y, d, least) {
            for (least = 1e9; t <= 1; t += 0.02) {
                x = (1-t)^2 * X[k] + 2*t*(1-t) * MX[k] + t^2 * U[k] - CX[w]
                y = (1-t)^2 * Y[k] + 2*t*(1-t) * MY[k] + t^2 * V[k] - CY[w]
                d = sqrt(x*x + y*y); if (d < least) least = d
            }
            return least
        }
        /^<path d="M/ { k = edges++; split($0, q, /[MQ" ]+/); X[k] = q[3]; Y[k] = q[4]
                        MX[k] = q[5]; MY[k] = q[6]; U[k] = q[7]; V[k] = q[8] }
        /^<circle/ { split($0, q, "\""); CX[words] = q[2]; CY[words++] = q[4] }
        /^<\/g>/ { for (k = 0; k < edges; k++)
                       for (w = 0; w < words; w++)
                           if ((X[k]-CX[w])^2 + (Y[k]-CY[w])^2 > 400 &&
                               (U[k]-CX[w])^2 + (V[k]-CY[w])^2 > 400)
                               crossed += near(k, w) < 15
                   all += edges; edges = words = 0 }
        END { print all + 0, crossed + 0 }' "$1"
}
good generate --kind ntp --n 200 --T 6 --d 16 -o many.npz -q
good graph many.npz --svg many.svg -q
check 'edges pass beside the words' test "$(crossed_words many.svg)" = '84 0'

# words instead of row numbers, where the file has them
"$helper" write named.npz E:float64:3,3=1,0,0,0,1,0,0,0,1 tokens:int32:4=0,2,1,2 offsets:int64:3=0,2,4 \
    labels:int32:2=0,1 words:uint8:9=99,97,116,10,38,10,111,110,10
good graph named.npz --svg named.svg --dot named.dot
says '{&, cat} -> on'
check 'words in the picture' grep -q '>&amp;</text>' named.svg
check 'words in DOT' grep -q '\[label="cat"\]' named.dot
"$helper" write short.npz E:float64:3,3=1,0,0,0,1,0,0,0,1 tokens:int32:4=0,2,1,2 offsets:int64:3=0,2,4 \
    labels:int32:2=0,1 words:uint8:4=99,97,116,10
bad 2 'short.npz: words must hold 3 names' graph short.npz
check 'the graph is DOT' grep -q '"2:0" -> "2:1" \[label="2"\]' small.dot
good graph small.npz -q
check '-q is quiet' test ! -s out

# Training apart, then compared; same bytes for any number of threads.
good generate --kind ntp --n 60 --T 6 --d 16 -o contexts.npz
good info contexts.npz
says 'attsvm graph contexts.npz'
good train contexts.npz --loss ntp --model W --step gd --lr 1 --iters 2000 -o run.npz --json
good graph contexts.npz --trained run.npz --json
json loss null
json status '"optimal"'
good train contexts.npz --loss ntp --model KQ --iters 50 --record log --checkpoint half.npz -o kq.npz
good train contexts.npz --loss ntp --model KQ --iters 50 --record log -o again.npz --threads 2
check 'the same run' cmp kq.npz again.npz
good train contexts.npz --loss ntp --model KQ --iters 50 --record log --checkpoint half.npz --resume \
    -o again.npz
check 'resumed, the same run' cmp kq.npz again.npz
cp contexts.npz kept.npz
arrays half.npz X:float64:2,2,2=1,0,0,1,1,1,0,2 Y:int8:2=1,1 v:float64:2=1,2
arrays other.npz X:float64:2,2,2=1,0,0,1,1,1,0,2 Y:int8:2=1,-1 v:float64:2=1,2
arrays third.npz X:float64:2,2,2=1,0,0,1,1,1,0,2 Y:int8:2=1,1 v:float64:2=2,1
good train half.npz --head concave:.5 --iters 5 --checkpoint state.npz
good train half.npz --head concave:.5 --iters 6 --checkpoint state.npz --resume
bad 3 'range of doubles' train other.npz --model vp --loss exp --step gd --lr 1e300 --iters 1000
bad 2 'another run' train other.npz --head concave:.5 --iters 7 --checkpoint state.npz --resume
bad 2 'another run' train third.npz --head concave:.5 --iters 7 --checkpoint state.npz --resume
bad 2 'another run' train half.npz --head concave:.6 --iters 7 --checkpoint state.npz --resume
bad 2 'would overwrite an input file' train contexts.npz --loss ntp --checkpoint ./contexts.npz
bad 2 'would overwrite the file that --init reads' train contexts.npz --loss ntp --init run.npz --checkpoint run.npz
bad 2 '--checkpoint and -o both write' train contexts.npz --loss ntp --checkpoint new.npz -o new.npz
check 'the data set is still there' cmp contexts.npz kept.npz

# Too few dimensions: a negative answer, with a proof.
good generate --kind ntp --n 200 --T 6 --d 2 --vocabulary 12 -o flat.npz
run graph flat.npz --iters 0 -o flat_result.npz
[ $status -eq 1 ] || problem 'exit status is not 1'
says 'No W gives the words these orders'
good check flat.npz flat_result.npz --json
json valid true

# Bad input.
good generate --kind vocabulary --n 5 -o words.npz
bad 2 'words.npz: Missing array labels' graph words.npz
good generate --n 5 -o plain.npz
bad 2 'plain.npz: next-token prediction needs a vocabulary' graph plain.npz
base="E:float64:2,2=1,0,0,1 tokens:int32:3=0,1,0 offsets:int64:2=0,3"
arrays far.npz $base labels:int32:1=2
bad 2 'far.npz: labels[0] = 2 is not in 0..1, the rows of E' graph far.npz
arrays half.npz $base labels:float64:1=0.5
bad 2 'labels[0] = 0.5' graph half.npz
arrays many.npz $base labels:int32:2=0,1
bad 2 'labels has shape (2,); expected (1,)' graph many.npz
arrays other.npz E:float64:3,2=1,0,0,1,1,1 tokens:int32:3=0,1,0 offsets:int64:2=0,3 labels:int32:1=2
bad 2 'labels[0] = 2 is not among the 3 tokens of sequence 0' graph other.npz
bad 2 'labels[0] = 2 is not among' train other.npz --loss ntp --model W
arrays fine.npz $base labels:int32:1=0
bad 2 'fine.npz: expected W (2,2)' graph fine.npz --trained fine.npz

# two words with one embedding, one of them the label: nothing separates them
arrays twins.npz E:float64:3,2=1,0,1,0,0,1 tokens:int32:3=0,1,2 offsets:int64:2=0,3 labels:int32:1=0
run graph twins.npz --json
json status '"infeasible"'

# one cycle and nothing else: no direction
arrays cycle.npz E:float64:2,2=1,0,0,1 tokens:int32:4=0,1,0,1 offsets:int64:3=0,2,4 labels:int32:2=0,1
good graph cycle.npz
says 'nothing to decide'
! grep -q nan out || problem 'a nan in the text'
# sentences: each where it holds, and not where it does not
unit=E:float64:3,3=1,0,0,0,1,0,0,0,1
arrays s.npz $unit tokens:int32:3=0,0,1 offsets:int64:3=0,2,3 labels:int32:2=0,1
good graph s.npz
says 'norm 0: no word has a rival'
says 'every context consists of copies of its next word, and the loss is 0 for every W'
never 'in one cycle'
never 'nothing to decide'
arrays s.npz $unit tokens:int32:4=0,1,0,1 offsets:int64:3=0,2,4 labels:int32:2=0,1
good graph s.npz
says 'every word is in one cycle with the others'
says 'nothing to decide'
never 'nothing to learn'
arrays s.npz E:float64:3,3=1,0,0,1,0,0,0,0,1 tokens:int32:3=0,1,2 offsets:int64:2=0,3 labels:int32:1=0
run graph s.npz
[ $status -eq 1 ] || problem 'exit status is not 1'
says 'the words 0 and 1 have the same vector'
never 'dimensions'
arrays s.npz E:float64:3,3=1,0,0,0,1,0,0,0,0 tokens:int32:3=0,1,2 offsets:int64:2=0,3 labels:int32:1=0
run graph s.npz
says 'the vector of last word 2 is 0, and so are its logits for every W'
never 'dimensions'
arrays s.npz E:float64:4,1=1,2,3,4 tokens:int32:8=0,1,2,3,0,2,1,3 offsets:int64:3=0,4,8 labels:int32:2=0,2
run graph s.npz
says 'the word vectors do not have enough dimensions, or depend linearly'
never 'same vector'
# a finite part of 0: "off by inf of |finite|" was said
arrays s.npz E:float64:4,4=1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1 tokens:int32:8=0,1,3,0,1,3,2,3 \
    offsets:int64:4=0,3,6,8 labels:int32:3=0,1,2
good graph s.npz --iters 100
says 'across the cycles correlation'
never 'inf '
good graph small.npz --lr 2
says 'inside the cycles off by'
arrays s.npz E:float64:3,3=1e150,0,0,0,1e150,0,0,0,1e150 tokens:int32:3=0,1,2 offsets:int64:2=0,3 labels:int32:1=0
bad 2 's.npz: sequence 0: the row of token 1 has length' graph s.npz

finish
