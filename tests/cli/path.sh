# attsvm path: arrays, cases of the joint path, local paths, nonlinear heads, bad input.
. "$(dirname "$0")/lib.sh" "$@"

# mm-joint-slack: the third sequence is not tight in the v-SVM (0,1)
arrays slack.npz X:float64:3,2,2=0,0,1,1,0,0,1,-1,0,0,.5,1.5 Y:int8:3=1,-1,1 ids:int64:3=1,1,1
good path slack.npz --model vp --radii 20:20:1 --head-radius 1 --json
json case '"unrelaxed"'
json selected '[[1,1,1]]'
near correlation.0 0.99999 5e-6
near correlation_unrelaxed.0 0.99999 5e-6
near radius_v.0 1 1e-12
good path slack.npz --model vp --radii 20:20:1 --ratio 2 --json -o out.npz
json case '"relaxed"'
near least_ratio 2 1e-9
near correlation.0 1 5e-6
good path slack.npz --model vp --radii 10:100:2 --ratio 0.3
says 'below 2'
good path slack.npz --model vp --radii 10:100:2 --select ids
says 'relaxed p-SVM'

# the words of the limit contradicted a table of small radii
good path slack.npz --model vp --radii 0.1:0.3:2 --ratio 2
says 'p tends to the relaxed p-SVM'
says 'p is still nearer to the unrelaxed p-SVM'
good path slack.npz --model vp --radii 20:20:1 --ratio 2
says 'p tends to the relaxed p-SVM'
never 'still nearer'

# mixed tokens separate better than selected ones: p stays inside, and goes to no SVM
arrays mixed.npz X:float64:4,5,1=-.175,1.664,.659,-1.641,-.005,-.623,.149,-1.608,.242,.235,1.576,.317,.511,-1.493,2.253,-1.916,1.102,-.33,-.881,-.656 Y:int8:4=-1,1,-1,1
good path mixed.npz --model vp --ratio 0.5 --radii 1:30:3
says 'The minimum lies inside the ball of p'
never 'p tends to the'
never 'does not depend on p'
# ... which was also said where p changes nothing
arrays copies.npz X:float64:2,2,2=1,0,1,0,0,1,0,1 Y:int8:2=1,-1
good path copies.npz --model vp --radii 1:30:3
says 'The loss does not depend on p'
never 'attention mixes tokens'

# mm-single-local: global path to token 0, local path to token 1
arrays local.npz X:float64:1,3,3=-.1,1,1,1,0,.9,0,0,0 Y:int8:1=1 v:float64:3=0,0,1 \
    W:float64:3,3=1,0,0,0,1,0,0,0,0 ids:int64:1=1
good path local.npz --radii 10:10000:2 --json
json selected '[[0],[0]]'
near correlation.1 1 1e-9
good path local.npz --radii 10:10000:2 --cone 0.004 --select ids --json
json selected '[[1],[1]]'
near correlation.1 1 1e-9
# radii may be named too: the synopsis has both
good path local.npz --ridge-path 1e-2:1e-200:2 --json
near correlation.1 1 1e-4

# several tokens, and the same bytes again
good generate --kind sphere --n 3 --T 4 --d 6 --queries 1 --seed 2 -o several.npz -q
good path several.npz --model W --head concave:1 --radii 1:1000:3 --json -o a.npz
json svm '"optimal"'
json idle 0
near correlation.2 1 1e-3
good path several.npz --model W --head concave:1 --radii 1:1000:3 -q --threads 2 -o b.npz
check 'same bytes' cmp a.npz b.npz

# p and K, Q under a nonlinear head
good generate --kind sphere --n 2 --T 4 --d 8 --seed 3 -o prompt.npz -q
good path prompt.npz --model p --head concave:.5 --radii 1:10000:3 --json
json svm '"optimal"'
json kinks 0
near correlation.2 1 1e-4
good path several.npz --model KQ --head concave:1 --radii 1:10000:3 --json
json svm '"optimal"'
near correlation.2 1 1e-4

bad 2 'expected FIRST:LAST:COUNT' path local.npz --radii 1:2
bad 2 'counts only with --model vp' path local.npz --head-radius 1
bad 2 'local paths are for p and W' path slack.npz --model vp --cone 0.1
bad 2 'with a nonlinear head a path needs model p, W or KQ' path slack.npz --model vp --head concave:1
arrays tiny.npz X:float64:2,2,2=1e-150,0,0,1e-150,0,1e-150,-1e-150,0 Y:int8:2=1,-1
bad 2 'rows must be from 1e-140' path tiny.npz --model vp
bad 2 'local.npz' path slack.npz --select local.npz --model vp
finish
