# attsvm tokens: scores, support, optimality, and the list of locally optimal selections.
. "$(dirname "$0")/lib.sh" "$@"

# mm-single-local: token 0 is best, token 1 is locally optimal because its support is the worst
arrays local.npz X:float64:1,3,3=-.1,1,1,1,0,.9,0,0,0 Y:int8:1=1 v:float64:3=0,0,1 \
    W:float64:3,3=1,0,0,0,1,0,0,0,0 ids:int64:1=1
good tokens local.npz --problem p --json
json opt '[0]'
json selected '[0]'
json locally_optimal true
json globally_optimal true
good tokens local.npz --problem p --select ids --enumerate --json -o out.npz
json selected '[1]'
json locally_optimal true
json globally_optimal false
json support.0.token 2
json selections '[[0],[1]]'
json exhaustive true
good tokens local.npz --problem p --select out.npz --json
json selected '[1]'
good tokens local.npz --problem p --select ids
says 'locally optimal'
says 'It is not globally optimal'

# the same with a tie: the support token has the score of the selected one
arrays tied.npz X:float64:1,3,3=-.1,1,1,1,0,.9,0,0,.9 Y:int8:1=1 v:float64:3=0,0,1 \
    W:float64:3,3=1,0,0,0,1,0,0,0,0 ids:int64:1=1
good tokens tied.npz --problem p --select ids --enumerate --json
json locally_optimal false
json tie true
json tied_support 1
json selections '[[0]]'
good tokens tied.npz --problem p --select ids
says 'A tie decided'

# a token between two others cannot be selected by p
arrays between.npz X:float64:1,3,1=0,1,2 Y:int8:1=1 v:float64:1=1 ids:int64:1=1
good tokens between.npz --problem p --select ids --json
json status '"infeasible"'
json locally_optimal false
json support '[]'

# too many selections for a complete list
good generate --kind sphere --n 8 --T 6 --d 8 --queries 1 --seed 2 -o many.npz -q
good tokens many.npz --enumerate --max-selections 1000 --descent-runs 4 --steps 50 --json --threads 1
json exhaustive false
mv out first
good tokens many.npz --enumerate --max-selections 1000 --descent-runs 4 --steps 50 --json --threads 2
check 'the same for any threads' cmp first out
good tokens many.npz --enumerate --max-selections 1000 --descent-runs 4 --steps 50
says 'The list may be incomplete'

# soft margins and rank limits claimed local optimality where nothing separates
arrays none.npz X:float64:2,2,1=1,0,0,1 Y:int8:2=1,-1 v:float64:1=1
good tokens none.npz --problem p --json
json status '"infeasible"'
json locally_optimal false
bad 2 'soft = 1' tokens none.npz --problem p --soft 1
bad 2 'rank = 1' tokens none.npz --problem W --rank 1
bad 2 'soft = 1' tokens none.npz --problem p --soft 1 --enumerate

# Sentences: each where it holds, and not where it does not.
good tokens none.npz --problem p
says 'No direction separates this selection from its rivals'
never 'locally optimal:'
never 'globally optimal'
good tokens local.npz --problem p --select ids
says 'every rival at the margin has a lower score, so descent that starts near this direction'
says 'the selected token does not have the best score'
never 'Nothing separates'
never 'observed for'
never 'A tie decided'
never 'several minimisers'
never 'without a proof'
good tokens local.npz --problem p --select ids --norm l1
says 'observed for the step rules of this norm'
says 'This norm may have several minimisers'
good tokens tied.npz --problem p --select ids
says 'has exactly the score of the selected token. It is open whether descent leaves this direction'
never 'so descent leaves'
arrays worse.npz X:float64:1,2,2=1,0,0,1 Y:int8:1=1 v:float64:2=.5,1 ids:int64:1=0
good tokens worse.npz --problem p --select ids
says 'or a higher one, so descent leaves this direction'
never 'is open'
arrays best.npz X:float64:1,2,2=1,0,0,1 Y:int8:1=1 v:float64:2=1,1
good tokens best.npz --problem p
says 'some sequence has several best tokens, and the first counts'
says 'It is globally optimal'
arrays one.npz X:float64:2,1,2=1,0,0,1 Y:int8:2=1,-1 v:float64:2=1,1
good tokens one.npz --problem p
says 'The selection has no rivals'
never 'every rival at the margin'
good tokens local.npz --problem p --enumerate
says 'The list is complete: the SVMs of all 3 selections were solved'
good tokens none.npz --problem p --enumerate
says 'The list is complete: the SVMs of all 4 selections were solved'
arrays row.npz X:float64:2,3,1=0,1,2,0,1,2 Y:int8:2=1,1 v:float64:1=1
good tokens row.npz --problem p --enumerate
says 'contain duplicates or 1 partial selection that no direction separates'
never 'may be incomplete'
good tokens many.npz --enumerate --max-selections 1000 --descent-runs 4 --steps 50
never 'The list is complete'
never 'ended without a proof'

bad 2 '--problem v: expected one of p, W' tokens many.npz --problem v
bad 2 'Unknown flag' tokens many.npz --enumerat
bad 2 'query token 5' tokens between.npz --problem W --query 5 --select ids
finish
