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
good tokens many.npz --enumerate --most 1000 --searches 4 --steps 50 --json --threads 1
json exhaustive false
mv out first
good tokens many.npz --enumerate --most 1000 --searches 4 --steps 50 --json --threads 2
check 'the same for any threads' cmp first out
good tokens many.npz --enumerate --most 1000 --searches 4 --steps 50
says 'The list may be incomplete'

bad 2 'problem is p or W' tokens many.npz --problem v
bad 2 'no flag' tokens many.npz --enumerat
bad 2 'query token 5' tokens between.npz --problem W --query 5 --select ids
finish
