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

# queries of 0: nothing moves; "descent may end in any locally optimal selection" was said
x=1,.2,-.3,1,.7,-.6,-1,.4,.5,.9,.1,-.8
arrays zero.npz X:float64:2,3,2=$x Y:int8:2=1,-1 v:float64:2=1,.5 Z:float64:2,2=0,0
arrays some.npz X:float64:2,3,2=$x Y:int8:2=1,-1 v:float64:2=1,.5 Z:float64:2,2=1,0,0,0
arrays full.npz X:float64:2,3,2=$x Y:int8:2=1,-1 v:float64:2=1,.5 Z:float64:2,2=1,0,0,1
same='Every query that sees different tokens is 0: so are its logits, whatever the parameters are.'
for model in W KQ vW vKQ; do
    run verify zero.npz --model $model --init gauss:1 --iters 50
    [ $status -eq 1 ] || problem 'exit status is not 1'
    says "$same No step moves attention, and nothing is predicted."
    says 'Training cannot change these logits.'
    says 'is exactly 0'
    never 'locally optimal'
    never 'More steps'
    run verify zero.npz --model $model --iters 50 --json
    json conditions.must '"none"'
    good train zero.npz --model $model --init zero --iters 50
    says "$same"
    says 'is exactly 0'
    never 'direction to expect'
    never 'Start from random numbers'
    for file in some full; do
        run verify $file.npz --model $model --iters 50
        never "$same"
        good train $file.npz --model $model --iters 50
        never "$same"
    done
done
for model in W KQ; do
    good path zero.npz --model $model --radii 1:10:2
    says "$same The loss does not depend on $([ $model = W ] && echo W || echo K and Q)."
    never 'best local minima'
    good path some.npz --model $model --radii 1:10:2
    never 'does not depend'
    says 'best local minima'
done
# ... of one sequence: "every selection can be separated if ..." was said
arrays wide.npz X:float64:2,3,4=$x,1,2,3,5,-1,2,.5,.3,-.7,1,0,2 Y:int8:2=1,-1 \
    v:float64:4=1,.5,0,1 Z:float64:2,4=1,0,0,0,0,0,0,0
run verify wide.npz --model W --json
json conditions.wide false
run verify wide.npz --model W
never 'can be separated'
"$helper" change wide.npz wider.npz Z:5=1
run verify wider.npz --model W
says 'Every selection can be separated if the tokens are in general position.'
# ... and in problem W: "1 rows with positive weights cancel" was said
run svm some.npz --problem W
says 'No W separates the selection: the query of sequence 1 is 0, so its logits are 0 for every W.'
never 'weights cancel'
good svm full.npz --problem W
never 'is 0, so its'
arrays queries.npz X:float64:1,3,2=$x Y:int8:1=1 v:float64:2=1,.5 Z:float64:1,2,2=1,0,0,0
run svm queries.npz --problem W
says 'query 1 of sequence 0 is 0, so its logits'
# ... a selected token of 0 in problem v
arrays v.npz X:float64:2,1,2=1,0,0,0 Y:int8:2=1,-1 v:float64:2=1,2
run svm v.npz --problem v
says 'No v separates the selection: the selected token of sequence 1 is 0, so its score is 0'
run svm v.npz --problem joint
says 'No v separates the selection by label, so there is no joint problem: the selected token'
arrays v.npz X:float64:2,1,2=1,0,1,0 Y:int8:2=1,-1 v:float64:2=1,2
run svm v.npz --problem v
says '2 rows with positive weights cancel'
never 'is 0, so its'
run svm v.npz --problem joint
says 'There is no joint problem: its rows follow from the v-SVM. No v separates the selection by'

# the same for keys that are equal, and for scores
arrays keys.npz X:float64:2,2,2=1,0,1,1,0,1,0,2 Y:int8:2=1,-1 v:float64:2=1,2 W:float64:2,2=1,0,0,0
for model in p vp; do
    run verify keys.npz --model $model --init gauss:1 --iters 50
    says 'In every sequence all keys W x are equal: so are the logits, whatever p is. No step moves'
    never 'no p was found'
    good path keys.npz --model $model --radii 1:10:2
    says 'whatever p is. The loss does not depend on p.'
    never 'inside the ball'
done
arrays keys.npz X:float64:2,2,2=1,0,1,1,0,1,0,2 Y:int8:2=1,-1 v:float64:2=1,2 W:float64:2,2=1,0,0,1
run verify keys.npz --iters 50
never 'all keys'
arrays flat.npz X:float64:1,2,2=1,0,0,1 Y:int8:1=1 v:float64:2=1,1
good path flat.npz --radii 1:10:2
says 'all tokens have the same score: attention does not change the loss. The loss does not depend'
good train flat.npz --model KQ --init zero
says 'all tokens have the same score'
never 'Start from random numbers'
good train flat.npz --model vp --init gauss:1
never 'same score'

# no rivals: "every selected token beats all others ... no W of smaller norm does that" was said of 0
arrays alone.npz X:float64:2,2,2=1,0,1,0,0,1,0,1 Y:int8:2=1,-1 v:float64:2=1,2
for name in p W; do
    good svm alone.npz --problem $name
    says "The selected tokens have no rivals: all other tokens are copies of them. $name = 0"
    never 'beats all others'
    good svm full.npz --problem W
    never 'no rivals'
done
good svm alone.npz --problem joint
says 'p = 0 is the solution and has no direction'

# keys that are equal with another score: no step helps
arrays s.npz X:float64:1,2,2=1,0,1,1 Y:int8:1=1 v:float64:2=0,1 W:float64:2,2=1,0,0,0
run verify s.npz --model p --iters 2000
says 'Training cannot change these logits.'
never 'More steps may'
arrays s.npz X:float64:2,2,2=1,0,1,1,0,1,2,1 Y:int8:2=1,1 v:float64:2=0,1 W:float64:2,2=1,0,0,0
run verify s.npz --model p --iters 2000
says 'no number of steps puts all attention on them'
never 'Training cannot'
never 'More steps may'

# scores that are all equal: "it is open whether descent leaves this direction" was said
good tokens flat.npz
says 'in every sequence all tokens have the same score. Attention does not change the loss'
never 'is open'
good tokens tied.npz
says 'is open'
never 'does not change the loss'
arrays flat.npz X:float64:1,2,2=1,0,0,1 Y:int8:1=1 v:float64:2=1,1 V:float64:2,2=1,0,0,1
good tokens flat.npz --head relu
never 'does not change the loss'
# ... "no number of steps moves it" was said of rules that move parameters without a gradient
good train flat.npz --model KQ --init gauss:1 --ridge .1 --iters 5
says 'Warning: the gradient of the loss is exactly 0.'
good train flat.npz --model KQ --init gauss:1 --iters 5
says 'Warning: the gradient is exactly 0, so that no further step moves anything.'

# nothing separates the best tokens: descent need not end in a selection
arrays line.npz X:float64:3,2,1=1,-1,1,2,3,-2 Y:int8:3=1,-1,1 v:float64:1=1
run verify line.npz --init gauss:1
says 'in any locally optimal selection, if there is one, or at a finite point, depending on'
run verify two.npz --init gauss:1 --iters 10 --model W
never 'can be separated'
run verify full.npz --init gauss:1 --iters 10 --model W
never 'or at a finite point'

# what ended a run
generate='generate --kind sphere --n 3 --T 4 --d 5 --queries 1 --seed 1 -q -o'
good $generate small.npz
run verify small.npz --iters 2000 --stop-norm .3
says '--stop-norm ended the run early; more steps may decide it.'
run verify small.npz --iters 20
says '. More steps may decide it.'
never 'ended the run'
run verify small.npz --iters 2000 --lr 1e-4 --stop-direction .5
says '--stop-direction ended the run early; more steps may decide it.'

# W'p is what model vpW compares; it has no prompt that a head could outgrow in model vW
arrays joint.npz X:float64:3,2,2=0,0,1,1,0,0,1,-1,0,0,.5,1.5 Y:int8:3=1,-1,1
run verify joint.npz --model vpW --init gauss:1 --iters 500
says "the path leads W'p to the relaxed p-SVM"
says "times |W'p|"
says "correlation of W'p and the unrelaxed p-SVM"
never 'times |p|'
run verify joint.npz --model vp --init gauss:1 --iters 500
says 'the path leads p to the relaxed p-SVM'
says 'times |p|'
says 'correlation of p and the unrelaxed p-SVM'
never "W'p"

# the direction that train expects
good train small.npz --model KQ --rank 1
says 'that of their nuc-norm SVM, if its solution has no larger rank than 1.'
good train small.npz --model KQ --rank 5
says 'that of their nuc-norm SVM.'
good train joint.npz --model vpW
says "for W'p that of the l2-norm SVM of the tokens on which attention settles, relaxed if"
good train joint.npz --model vp
says 'for p that of the l2-norm SVM'
never "W'p"
good train small.npz --model vW
says 'for W that of the fro-norm SVM'
good train small.npz --model vKQ
says "for K Q' that of the nuc-norm SVM"
good train only.npz --iters 1
says 'gradient 0 '
good train small.npz --iters 1
says 'gradient exp('
# tokens near the smallest double, and below
arrays s.npz X:float64:1,2,2=1e-150,0,0,2e-150 Y:int8:1=1 v:float64:2=1,0
good train s.npz
says 'Warning: tokens (at most 1e-150) and head are so small'
says 'come near the end of the range of doubles (2e-308): the gradient may have lost digits.'
arrays s.npz X:float64:1,2,2=1e-150,0,0,2e-150 Y:int8:1=1 v:float64:2=1e-50,0
good train s.npz
says 'leave the range of doubles (2e-308): the gradient has lost digits or is 0.'
# values that are too large: at the start, and by a step size
arrays s.npz X:float64:1,2,2=1e150,0,0,2e150 Y:int8:1=1 v:float64:2=1,0
bad 3 'after 0 steps entry 0 of the gradient of W is -inf, beyond the range of doubles; scale tokens' \
    train s.npz --model W
bad 3 'use a smaller step size or fewer steps, or scale the tokens down' train small.npz --model vKQ --lr 1e300

# the margin of a soft, stalled or finite problem is no distance; of problem v it is one to tokens
good svm small.npz
says '1/norm: distance to the nearest rival'
says 'support tokens: rivals at the margin'
good svm small.npz --soft 1
never 'distance'
says 'rivals inside the margin'
run svm small.npz --max-iter 1
[ $status -eq 1 ] || problem 'exit status is not 1'
never 'distance'
good svm small.npz --problem v --soft 1
says 'tokens inside the margin'
says 'support vectors: selected tokens at the margin'
never 'rivals inside'
good svm small.npz --problem v
says 'distance to the nearest example'
good svm one.npz --problem joint
says 'distance to the nearest rival where the v-SVM is tight'
arrays sets.npz X:float64:1,3,2=1,0,0,1,-1,-1 Y:int8:1=1 v:float64:2=1,1 O:int8:1,3=1,1,0 \
    s:float64:1,3=.6,.4,0
good svm sets.npz --problem finite
says 'reproduces the attention ratios'
never 'distance'
"$helper" change sets.npz even.npz s:0=.4
good svm even.npz --problem finite
says 'The selected tokens of each set have equal attention, which W = 0 reproduces.'
good svm sets.npz --problem multi
never 'no rivals'
"$helper" change sets.npz all.npz O:2=1
good svm all.npz --problem multi
says 'The selected sets have no rivals: W = 0'
bad 2 'all.npz: s is 0 at token 2 of sequence 0 (query 0); softmax must be positive where O is 1' \
    svm all.npz --problem finite

# heads that are not linear may keep several tokens: "descent converges to it" was said
arrays keep.npz X:float64:1,2,2=1,0,0,1 Y:int8:1=1 v:float64:2=1,.9 ids:int64:1=1
good tokens keep.npz
says 'every rival at the margin has a lower score, so descent'
never 'keep several'
good tokens keep.npz --head concave:5
says 'has a lower score. Scores of single tokens do not decide where descent ends'
never 'so descent'
good tokens keep.npz --head concave:5 --select ids
says 'or a higher one. Scores of single tokens do not decide'
never 'descent leaves'
good path keep.npz --model W --head concave:5 --radii 1:100:2
says 'Attention keeps all tokens: their SVM has the solution 0'
good path keep.npz --model W --head concave:.01 --radii 1:100:2
says 'The SVM of the kept tokens has norm'
never 'keeps all tokens'
run verify keep.npz --model W --head concave:.01
says 'The model attends to the best token of every sequence.'
says 'without a prediction for this head'
run verify keep.npz --model W
says 'of every sequence: the best possible outcome.'
says 'predicted for the step rule'
run verify keep.npz --model vW
says 'of every sequence, by the scores of the trained head.'
never 'best possible'
# no rivals, no gradient
run verify only.npz --model W --landscape 5
says 'The gradient is 0 at every point that was tried.'
never 'rivals are'
never 'inf'
run verify keep.npz --model W --landscape 5
says 'random points'
says 'rival is a support token'

# sentences below a title are indented like its numbers
run verify none.npz --model W --landscape 5
check 'two spaces before the sentence' grep -q '^  No direction separates the best tokens' out

# messages count, too
bad 2 'batch = 2 is more than the 1 sequence' train one.npz --batch 2
bad 2 'batch = 3 is more than the 2 sequences' train two.npz --batch 3
printf 'a,1,2,3\nb\n' >short.csv
bad 2 'line 2 has 1 column' info short.csv

finish
