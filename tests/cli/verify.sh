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
says 'descent converges to it from any start'
good tokens equal.npz --problem p --select run.npz --json
json globally_optimal true

# with --record: the records against that SVM, by verify and by train
good generate --kind sphere --n 4 --T 4 --d 8 --queries 1 --seed 3 -o traced.npz -q
for model in p W KQ vp vpW; do
    run verify traced.npz --model $model --iters 300 --record log --json -o judged.npz
    for name in correlation angle efficiency; do
        near $name "$("$helper" value judged.npz trace_$name -1)" 1e-12
    done
    good train traced.npz --model $model --iters 300 --record log -q -o trained.npz
    for name in correlation angle efficiency; do
        check "trace_$name of verify and train" \
            test "$("$helper" value judged.npz trace_$name -1)" = "$("$helper" value trained.npz trace_$name -1)"
    done
done
good train traced.npz --iters 10 -q -o untraced.npz
"$helper" value untraced.npz trace_correlation -1 2>/dev/null && problem 'trace_correlation without --record'

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
says 'no point is stationary'
never 'seen to reach'
never 'descent leads to it'

# ... and so may a start at 0: "from 0 descent was seen to reach them" was false
arrays zero.npz X:float64:2,2,3=1,0,1,0,0,0,-3.6,1.744,.1,0,0,0 Y:int8:2=1,1 v:float64:3=0,0,1 \
    W:float64:3,3=1,0,0,0,1,0,0,0,0
good verify zero.npz --model p --init zero --iters 3000 --json
json kind '"local"'
json selected '[0,1]'
json conditions.equal_scores true
json conditions.unique_optimal true
json conditions.feasible true
json conditions.must '"local"'
good verify zero.npz --model p --init zero --iters 3000
says 'the selection is locally optimal, and descent can end in it'
says 'even from 0'
never 'best token of every sequence'

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

# Sentences: each where it holds, and not where it does not.
w2=W:float64:2,2=1,0,0,0
p_data() { arrays s.npz "$@"; }
judge() { run verify s.npz --model p --iters 2000 "$@"; }

# v = 0: "scores differ among the other tokens" was said of equal scores
p_data X:float64:2,2,2=1,0,0,1,2,1,0,1 Y:int8:2=1,-1 v:float64:2=0,0
judge
says 'In every sequence all tokens have the same score'
says 'Attention does not change the loss, so no gradient moves it'
says 'Warning: the gradient is exactly 0'
never 'Scores differ'
never 'More steps'
never 'the loss falls'
judge --json
json conditions.choices 0
json conditions.must '"none"'

# one token a sequence: "at every point the gradient gains" was said of a gradient that is 0
p_data X:float64:2,1,2=1,0,0,1 Y:int8:2=1,-1 v:float64:2=1,2
judge
says 'Every sequence has only one token, or copies of one: attention has nothing to choose.'
says 'so that no further step moves anything'
never 'all tokens have the same score'
never 'the loss falls'
never 'degrees away'
never 'nan'
# ... "|v| is inf times |p|" and "no further step moves anything" were said of a head that moves
run verify s.npz --model vp
says 'attention has nothing to choose'
says 'the next step moves at most the head'
never 'no further step moves'
never 'inf'
never 'nan'
judge --step momentum
says 'the gradient is exactly 0.'
never 'no further step moves'

# two best tokens and a third: equal scores among the others, and no unique best token
p_data X:float64:1,3,2=1,0,0,1,-1,-1 Y:int8:1=1 v:float64:2=1,1
judge --init gauss:1
says 'do not all hold, because some sequence has several best tokens: descent'
says 'Ties: some tokens have exactly equal scores'
never 'Scores differ'
never 'the path of growing norm'
judge --init gauss:1 --json
json conditions.equal_scores true
json conditions.unique_optimal false

# nothing separates the best tokens: "only the path of growing norm is sure to find them" was said
p_data X:float64:2,2,1=1,0,0,1 Y:int8:2=1,-1 v:float64:1=1
judge
says 'do not all hold, because no direction separates the best tokens'
never 'the path of growing norm'
never 'can be separated'
never 'Scores differ'

# scores differ, and the path finds the best tokens
good verify local.npz --model p --init file --iters 2000
says 'Scores differ among the other tokens: descent'
says 'the path of growing norm leads to the best tokens'
says 'Every selection can be separated.'
says 'locally optimal, and descent can end in it'
says 'degrees away'
never 'has not decided'
never 'Ties'
never 'Exchangeable'
never 'Warning'

# a gradient that rounds to 0: "exactly 0", "more steps should move it" were said
arrays s.npz X:float64:2,2,1=1,0,0,1 Y:float64:2=1,-1 v:float64:1=1
run verify s.npz --iters 2000
says 'the selection is not locally optimal.'
says 'the gradient rounds to 0, so that no'
never 'may move it'
never 'exactly 0'
# no step: equal logits were blamed
run verify local.npz --model p --init zero --iters 0
says 'No step was made: these are the start values.'
never 'the same logit'
never 'More steps'
# only one of three sequences has a rival: "With several sequences" was said
arrays s.npz X:float64:4,2=1,0,0,1,2,1,1,2 offsets:int64:4=0,1,2,4 Y:int8:3=1,-1,1 v:float64:2=1,-1
good verify s.npz --model p
says 'In the only sequence with rivals one token is best, all others share one score'
never 'With several sequences'
good verify far.npz --model p --init zero --iters 2000
says 'With several sequences'
never 'In the only sequence'

# a few steps: more may decide; an exact tie: they do not
run verify local.npz --model p --init zero --iters 3
never 'No step was made'
says 'More steps may decide it.'
arrays s.npz E:float64:3,3=1,0,0,0,1,0,0,0,1 tokens:int32:6=0,1,2,0,2,1 offsets:int64:3=0,3,6 \
    Y:int8:2=1,1 v:float64:3=1,1,0
judge --init zero
says 'exactly the same logit'
says 'Exchangeable words: 2, in 1 group.'
says '--init gauss:0.01'
never 'More steps may'
judge --init zero --json
json exchangeable '{"groups":1,"words":2}'
judge --init gauss:0.01
never 'Exchangeable'
never 'has not decided'
judge --init zero --step coordinate
never 'Exchangeable'
good verify local.npz --model p --init file --iters 2000 --json
json exchangeable null

# a better rival near by, or one that is exactly as good
p_data X:float64:1,2,2=1,0,0,1 Y:int8:1=1 v:float64:2=.5,1 $w2 init_p:float64:2=20,0
run verify s.npz --model p --init file --iters 1
says '1 rival at the margin has the same score'
says 'not locally optimal, and more steps may move it'
never 'exactly as much'
p_data X:float64:2,2,2=0,1,1,0,0,0,1,1 Y:int8:2=1,1 v:float64:2=1,1 $w2 init_p:float64:2=20,0
run verify s.npz --model p --init file --iters 1
says 'the scores are equal, and it is open whether descent stays'
never 'may move it'

# rules: a claim for all but adam
never 'There is no claim'
good verify small.npz --model W --step adam --iters 40000
says 'No theorem predicts the direction for the step rule adam'
says 'there is no prediction for the step rule'

# steps that end at a finite point: "converges from any start", "More steps may decide it" were said
bounded() {
    local sentence=$1
    shift
    run verify equal.npz --model p --init zero "$@" --json
    json claimed false
    json conditions.must '"none"'
    run verify equal.npz --model p --init zero "$@"
    says "$sentence"
    says 'No theorem predicts where such a run ends.'
    says 'without a prediction for this run'
    never 'from any start'
    never 'More steps may'
    never 'may move it'
    good train equal.npz --model p --init zero "$@"
    says "$sentence"
    never 'direction to expect'
    good train equal.npz --model p --init zero "$@" --json
    json predicted_norm '""'
}
bounded 'The step size is 0, so that nothing moves' --lr 0
bounded 'The step size is 0, so that nothing moves' --step polyak --max-step 0
bounded 'only multiplies the parameters' --step rescale --lr 0
bounded 'have a finite sum' --decay 1.5 --iters 300
bounded 'no theorem covers this step rule' --decay 1.5 --step polyak --iters 300
bounded 'small steps end where loss and ridge balance' --ridge 1e-3
bounded 'Polyak steps end where the loss falls to --lstar' --step polyak --lstar 0.3
bounded 'The textbook gradient goes wrong' --arithmetic float32
for rest in '--lr 1e-9' '--decay 1' '--ridge 0' '--step polyak' '--arithmetic exact'; do
    run verify equal.npz --model p --init zero $rest
    says 'descent converges to it from any start'
    says 'predicted for the step rule'
    never 'No theorem'
    good train equal.npz --model p --init zero $rest
    says 'direction to expect'
done
p_data X:float64:1,2,2=1,0,0,1 Y:int8:1=1 v:float64:2=.5,1 $w2 init_p:float64:2=20,0
run verify s.npz --model p --init file --iters 1 --lr 0
says 'the selection is not locally optimal.'
never 'may move it'

# products that are 0: nothing moves, whatever the theorems say about W
arrays product.npz X:float64:1,3,3=-.1,1,1,1,0,.9,0,0,.9 Y:int8:1=1 v:float64:3=0,0,1 \
    Z:float64:1,3=1,1,1 p:float64:3=0,0,0
for model in KQ vKQ vpW pW; do
    zero='K = Q = 0'
    [ $model = vpW ] && zero='p = W = 0'
    [ $model = pW ] && zero='p = 0'
    run verify product.npz --model $model --init zero --iters 100
    [ $status -eq 1 ] || problem 'exit status is not 1'
    says "At $zero no step moves attention, and nothing is predicted."
    never 'from any start'
    never 'no point is stationary'
    never 'More steps may'
    never 'inf'
    [ $model = pW ] && says 'the fixed prompt p is 0'
    [ $model = pW ] || says "Warning: $zero is a stationary point."
    [ $model = pW ] || says 'Start from random numbers: --init gauss:0.1'
    good train product.npz --model $model --init zero --iters 100
    says "no step moves"
    never 'direction to expect'
    [ $model = vKQ ] && says 'only the head moves'
    [ $model = KQ ] && never 'only the head moves'
    good train product.npz --model $model --init zero --iters 100 --json
    json zero_gradient true
    json grad_log_scale null
    run verify product.npz --model $model --init zero --iters 100 --json
    json conditions.must '"none"'
done
good verify product.npz --model KQ
says "no matrix W = K Q' is stationary"
says 'K = Q = 0 among them'
never 'no point is stationary'
never 'from any start'
never 'even from 0'
never 'Warning'
good verify product.npz --model KQ --json
json conditions.must '"local"'
good train product.npz --model KQ
says 'direction to expect is that of their nuc-norm SVM'
good verify product.npz --model W --init zero
says 'descent converges to it from any start'
arrays product.npz X:float64:1,3,3=-.1,1,1,1,0,.9,0,0,.9 Y:int8:1=1 v:float64:3=0,0,1 \
    p:float64:3=1,0,0
good verify product.npz --model pW --init zero
says 'descent converges to it from any start'
never 'Warning'

# factors with too few columns for every matrix: nothing is said of the path, nor of selections
run verify small.npz --model KQ --rank 1 --iters 300
never 'the path of growing norm'
never 'Every selection can'
says 'has a larger rank than K Q'
run verify small.npz --model KQ --rank 5 --iters 300
never 'has a larger rank than K Q'
says 'the path of growing norm leads to the best tokens'
bad 2 'rank = 6 is more than d = 5' train small.npz --model KQ --rank 6
bad 2 'rank = 100000000 is more than d = 5' path small.npz --model KQ --rank 100000000 --radii 1:10:2

# normalised steps that alternate: "More steps may decide it" was said
arrays s.npz X:float64:3,2,1=2,1,1,-1,2,-2 Y:int8:3=-1,-1,1 init_p:float64:1=.3 init_v:float64:1=.2
run verify s.npz --model vp --init file
says 'The steps go back and forth'
never 'More steps may'
run verify s.npz --model vp --init file --decay .5
never 'back and forth'
run verify s.npz --model vp --init file --iters 3
never 'back and forth'

# queries: every selection, where queries are few enough and d large enough for the rivals of each
good verify small.npz --model W --iters 3000
says 'Every selection can be separated if the tokens are in general position.'
x=1,.2,-.3,1,.7,-.6,-1,.4,.5,.9,.1,-.8,.3,.3,-.2,-1,.8,-.1
for second in 1,2 2,1; do
    arrays shared.npz X:float64:3,3,2=$x Y:int8:3=1,-1,1 v:float64:2=1,.5 \
        Z:float64:3,2=1,2,$second,1,2
    run verify shared.npz --model W --iters 300 --json
    json conditions.wide false
    [ $second = 1,2 ] && json conditions.queries 1 && json conditions.rivals 6
    [ $second = 2,1 ] && json conditions.queries 2 && json conditions.rivals 4
    run verify shared.npz --model W --iters 300
    never 'can be separated if'
done

# head and prompt: tight, relaxed, no p, no head
good verify joint.npz --model vp --init file --iters 1000
says '2 of 3 sequences are at the margin of the head'
never 'nan'
arrays joint.npz X:float64:3,2,2=0,0,1,1,0,0,1,-1,0,0,.5,1 Y:int8:3=1,-1,1 \
    init_p:float64:2=0,-1 init_v:float64:2=-1,0
good verify joint.npz --model vp --init file --iters 1000
says 'every sequence is at the margin of the head'
says 'nothing found speaks against the assumption'
good verify joint.npz --model vp --init file --iters 1000 --samples 0 --descent 0
never 'the assumption does not hold'
# ... sequences at the margin without rivals: "|v| at least inf times |p|" was said
arrays s.npz X:float64:4,2=1,0,3,0,0,3,-1,0 offsets:int64:4=0,1,3,4 Y:int8:3=1,1,-1
run verify s.npz --model vp --iters 500
says 'have no rivals: the relaxed p-SVM'
says 'the path leads p to the unrelaxed one, which is compared here'
never 'inf'
never 'nan'
run verify s.npz --model vp --iters 500 --json
json joint.compared '"unrelaxed"'
near correlation 1 1e-6
# ... a slack sequence with equal keys: there is no unrelaxed one
arrays s.npz X:float64:3,2,3=1,1,0,0,0,0,1,-1,0,0,0,0,1,3,5,1,3,-5 Y:int8:3=1,-1,1 \
    W:float64:3,3=1,0,0,0,0,0,0,0,0 init_p:float64:3=1,0,0 init_v:float64:3=0,1,0
run verify s.npz --model vp --init file --iters 500
says 'and no unrelaxed one was found'
never 'with bounded |v|'
p_data X:float64:2,2,2=1,0,1,1,0,1,2,1 Y:int8:2=1,1 $w2
run verify s.npz --model vp --iters 500 --init gauss:1
says 'no p was found that separates them from their rivals'
never 'nan'
p_data X:float64:2,2,2=1,0,0,1,1,0,0,1 Y:int8:2=1,-1
run verify s.npz --model vp --iters 500 --init gauss:1
says 'no theorem predicts the outcome'
says 'No head separates the selected tokens by label'
run verify several.npz --model W --head concave:1 --lr 0.01 --iters 2000
says 'With this head attention may keep several tokens'
says 'with this head attention may also stay on several tokens'

bad 2 'step' verify small.npz --model W --step nowhere
bad 2 'nothing.npz' verify nothing.npz

# train: the same notes, the norm that theory/predict knows, and copies counted where it says so
good train local.npz --model p --init zero --iters 50
never 'Exchangeable'
arrays s.npz E:float64:3,3=1,0,0,0,1,0,0,0,1 tokens:int32:6=0,1,2,0,2,1 offsets:int64:3=0,3,6 \
    Y:int8:2=1,1 v:float64:3=1,1,0
good train s.npz --model p --init zero --iters 50
says 'Exchangeable words: 2, in 1 group.'
good train s.npz --model p --init zero --iters 50 --json
json exchangeable '{"groups":1,"words":2}'
for tiny in 1e-110 1e-60; do
    arrays s.npz X:float64:1,2,2=$tiny,0,0,$tiny Y:int8:1=1 v:float64:2=$tiny,0 \
        Z:float64:1,2=$tiny,$tiny
    good train s.npz --model W --iters 50
    if [ $tiny = 1e-110 ]; then
        says 'so small that their products, about 1e-440, leave the range of doubles'
        never 'direction to expect'
    else
        never 'Warning'
        says 'direction to expect is that of their fro-norm SVM'
    fi
    good train s.npz --model W --iters 50 --json
    [ $tiny = 1e-110 ] && json zero_gradient true
    [ $tiny = 1e-60 ] && json zero_gradient false
done
arrays s.npz X:float64:1,4,2=1,0,1,0,1,0,1,0 Y:int8:1=1 v:float64:2=1,0
good train s.npz --model p --iters 50
says 'on the selected token at least 1'
says 'effective number of tokens 4, each copy counted'
good train small.npz --model vpW --step sign --iters 5 --json
json predicted_norm '""'
# a head that outgrows the prompt leaves sequences undecided, and more steps of both do not help
run verify "$source/examples/data/musk1.npz" --model vp --iters 1000 --json
json kind '"unsaturated"'
json undecided 1
json unpulled 1
run verify "$source/examples/data/musk1.npz" --model vp --iters 1000
says 'The head has outgrown the attention parameters'
says 'grow slowly: --eps 0,1e-3'
good verify "$source/examples/data/musk1.npz" --model vp --iters 10000 --eps 0,1e-3 --samples 0 --descent 0 --json
json joint.compared '"unrelaxed"'
json undecided 0
near correlation 0.9957 1e-3
run verify local.npz --model vp --iters 3
says 'has not decided'
never 'The head has outgrown the attention parameters'

# the landscape
good generate --kind sphere --n 4 --T 4 --d 40 --queries 1 --seed 1 -o wide.npz -q
good verify wide.npz --model W --landscape 1000 --json
json conditions.all_support true
json landscape.negative 1000
good verify wide.npz --model W --landscape 100
says 'rivals are support tokens'
bad 2 'models p and W' verify wide.npz --model KQ --iters 10 --landscape 10

# from an SVM solution: R times its direction, turned by an angle
good generate --kind sphere --n 4 --T 4 --d 8 --queries 1 --seed 6 -o around.npz -q
good svm around.npz --problem W -o direction.npz -q
good train around.npz --model W --init svm:direction.npz,20 --iters 0 --json
near norm 20 1e-12
good verify around.npz --model W --init svm:direction.npz,100 --iters 10 --json
near correlation 1 1e-3
good train around.npz --model W --init svm:direction.npz,20,60 --iters 0 --json
near norm 20 1e-12
good train around.npz --model KQ --init svm:direction.npz,20 --iters 0 --json
near norm 20 1e-10
bad 2 'expected svm:RESULT,R' train around.npz --model W --init svm:direction.npz
bad 2 'R above 0' train around.npz --model W --init svm:direction.npz,0
bad 2 'no-such' train around.npz --model W --init svm:no-such.npz,1
bad 2 'theta has 64 entries' train around.npz --model p --init svm:direction.npz,1
bad 2 'not a result of attsvm svm' train around.npz --model W --init svm:around.npz,1

# the textbook gradient
good train around.npz --model W --arithmetic float32 --iters 4000
says 'degree off from step'
good train around.npz --model W --arithmetic float64 --iters 5
says 'never more than 1 degree off'
bad 2 'arithmetic' train around.npz --arithmetic half

finish
