# Sentences: each where it holds, and not where it does not.  More of verify: verify.sh.
. "$(dirname "$0")/lib.sh" "$@"

# one of something, and several
arrays one.npz X:float64:1,2,2=1,0,0,1 Y:int8:1=1 v:float64:2=1,0
arrays two.npz X:float64:2,3,2=1,0,0,1,1,1,2,0,0,1,3,1 Y:int8:2=1,-1 v:float64:2=1,.5
good info one.npz
says '1 sequence of 2 tokens in 2 dimensions'
good info two.npz
says '2 sequences of 3 tokens'
good train one.npz --iters 1
says 'logistic loss, 1 term '
never '1 terms'
good train two.npz --iters 1
says 'logistic loss, 2 terms'
good path one.npz --radii 1:2:2
says 'linear head, 1 term '
good path two.npz --radii 1:2:2
says 'linear head, 2 terms'
good tokens one.npz --enumerate
says '1 sequence or query, selection opt'
says 'the SVMs of all 2 selections were solved'
good tokens two.npz
says '2 sequences or queries, selection opt'
good svm one.npz -o s.npz
good check one.npz s.npz
says ' 1 row, 0 copies of selected tokens merged'
says ' 1 row with a positive multiplier'
arrays more.npz X:float64:1,4,2=1,0,0,1,1,0,-1,-1 Y:int8:1=1 v:float64:2=1,.5
good svm more.npz -o s.npz
good check more.npz s.npz
says ' rows, 1 copy of selected tokens merged'
good generate --kind sphere --n 1 --T 1 --d 1 -o g.npz
says '1 sequence of 1 token in 1 dimension,'
good generate --kind sphere --n 2 --T 2 --d 2 -o g.npz
says '2 sequences of 2 tokens in 2 dimensions,'
run verify one.npz --iters 1
says 'The model has not decided: the selected token has only'
says '1 of 1        rival is a support token'
run verify two.npz --iters 1
says 'The model has not decided in 2 of 2 sequences or queries: in one of them'
run verify more.npz --iters 1
says 'rivals are support tokens'
arrays lone.npz X:float64:4,2=1,0,0,1,2,1,1,2 offsets:int64:4=0,1,2,4 Y:int8:3=1,-1,1 v:float64:2=1,-1
run verify lone.npz --iters 1
says 'The model has not decided in 1 of 3 sequences or queries: there the selected'
arrays far.npz X:float64:2,2,3=1,0,1,0,0,.5,-2,1,1,0,0,.5 Y:int8:2=1,1 v:float64:3=0,0,1 \
    W:float64:3,3=1,0,0,0,1,0,0,0,0 init_p:float64:3=5,0,0
good verify far.npz --model p --init file --iters 2000
says '(1 of 2 is not)'
arrays tied.npz X:float64:1,3,2=1,0,0,1,-1,-1 Y:int8:1=1 v:float64:2=1,1 ids:int64:1=0
good tokens tied.npz --select ids
says '1 of the rivals at the margin has exactly'
arrays text.npz E:float64:1,1=1 tokens:int32:2=0,0 offsets:int64:3=0,1,2 labels:int32:2=0,0
good info text.npz
says 'a table of 1 word'
never '1 words'

# an enumeration of nothing, of one selection, of duplicates alone
arrays only.npz X:float64:2,1,2=1,0,0,1 Y:int8:2=1,-1 v:float64:2=1,2
good tokens only.npz --enumerate
says 'the SVM of the only selection was solved'
says 'Support tokens, the rivals at the margin: 0.'
never 'multiplier'
good tokens one.npz
says 'multiplier'
good tokens more.npz --enumerate
says 'the others contain duplicates.'
never 'partial selection'
arrays none.npz X:float64:2,2,1=1,0,0,1 Y:int8:2=1,1 v:float64:1=1
good tokens none.npz --enumerate --problem p
says 'The list is complete'

finish
