# attsvm verify: kinds, conditions, joint models, exit status.
. "$(dirname "$0")/lib.sh" "$@"

# all other tokens share one score: from any start to the best token
arrays equal.npz X:float64:1,3,3=-.1,1,1,1,0,.9,0,0,.9 Y:int8:1=1 v:float64:3=0,0,1 \
    W:float64:3,3=1,0,0,0,1,0,0,0,0 init_p:float64:3=0,-1.5,0
good verify equal.npz --model p --init file --iters 2000 --json -o run.npz
json kind '"global"'
json selected '[0]'
json conditions.equal_scores true
json conditions.unique_optimal true
json conditions.feasible true
json conditions.must '"global"'
json geometry '"l2"'
near correlation 1 1e-3
near efficiency 1 0.05
good verify equal.npz --model p --init file --iters 2000
says 'best token of every sequence'
says 'from any start descent leads to it'
good tokens equal.npz --problem p --select run.npz --json
json globally_optimal true

# several sequences: a start on a wrong token can keep it
arrays far.npz X:float64:2,2,3=1,0,1,0,0,.5,-2,1,1,0,0,.5 Y:int8:2=1,1 v:float64:3=0,0,1 \
    W:float64:3,3=1,0,0,0,1,0,0,0,0 init_p:float64:3=5,0,0
good verify far.npz --model p --init file --iters 2000 --json
json kind '"local"'
json selected '[0,1]'
json conditions.equal_scores true
json conditions.must '"local"'
good verify far.npz --model p --init zero --iters 2000
says 'best token of every sequence'
says 'can stay there'

# the same start, another score: a worse token for good
arrays local.npz X:float64:1,3,3=-.1,1,1,1,0,.9,0,0,0 Y:int8:1=1 v:float64:3=0,0,1 \
    W:float64:3,3=1,0,0,0,1,0,0,0,0 init_p:float64:3=0,-1.5,0
good verify local.npz --model p --init file --iters 2000 --json
json kind '"local"'
json conditions.must '"local"'
json conditions.equal_scores false

# a few steps do not decide: exit status 1
run verify local.npz --model p --init zero --iters 3 --json
[ $status -eq 1 ] || problem 'exit status is not 1'
json kind '"unsaturated"'

# head and prompt together: the third sequence is tight, or not
for third in 1 1.5; do
    arrays joint.npz X:float64:3,2,2=0,0,1,1,0,0,1,-1,0,0,.5,$third Y:int8:3=1,-1,1 \
        init_p:float64:2=0,-1 init_v:float64:2=-1,0
    good verify joint.npz --model vp --init file --iters 1000 --record log --json
    json kind '"global"'
    near joint.correlation_v 1 1e-4
    near joint.correlation_relaxed 1 1e-4
    if [ $third = 1 ]; then
        json joint.all_tight true
        near conditions.nu 0.5 0.02
    else
        json joint.tight 2
        near joint.correlation_unrelaxed 0.98 0.01
        near joint.ratio_needed 2 1e-9
    fi
done
good verify joint.npz --model vp --init file
says 'Head and prompt together'

# factors: the nuclear norm; a rule without a claim says so
good generate --kind sphere --n 3 --T 4 --d 5 --queries 1 --seed 1 -o small.npz -q
good verify small.npz --model KQ --iters 3000 --init uniform:.4 --json
json geometry '"nuc"'
json unique false
good verify small.npz --model W --step adam --iters 40000 --json
json claimed false
json conditions.must '"none"'
good verify small.npz --model W --step nmd:3 --iters 40000 --json
json geometry '"lq:3"'

# attention that keeps several tokens is compared with W_fin + R W_svm
good generate --kind sphere --n 3 --T 4 --d 6 --queries 1 --seed 2 -o several.npz -q
run verify several.npz --model W --head concave:1 --lr 0.01 --iters 20000 --json
json several.status '"optimal"'
json several.kept 5
near several.predictivity 0 0.05

bad 2 'step' verify small.npz --model W --step nowhere
bad 2 'nothing.npz' verify nothing.npz
finish
