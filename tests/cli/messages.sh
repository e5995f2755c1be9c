# Messages that name the way out: what is missing or mistyped, and what to use instead.
. "$(dirname "$0")/lib.sh" "$@"
Y=Y:int8:2=1,-1
X=X:float64:2,2,2=1,2,3,5,4,1,0,2

good generate --kind planted-p --n 6 --T 4 --d 4 -o data.npz

# -------------------------------------------------------------------------- arrays
arrays bare.npz $X $Y
bad 2 'Missing array v (2,): the fixed head. Add it, or learn the head too with model vp' train bare.npz --model p
arrays lower.npz x:float64:2,2,2=1,2 $Y
bad 2 'did you mean X for x?' info lower.npz
arrays labels.npz $X labels:int64:2=1,-1 v:float64:2=1,0
bad 2 'Is it the array labels? Call it Y.' train labels.npz --model p
good generate --kind ntp --n 20 --T 4 --d 8 -o contexts.npz
bad 2 'use attsvm graph' tokens contexts.npz

# ------------------------------------------------------------------- values of flags
bad 2 'did you mean lq:3?' svm data.npz --norm l3
bad 2 'did you mean nuc?' svm data.npz --norm nuclear
bad 2 'did you mean fro?' svm data.npz --norm frobenius
bad 2 'init = random: expected zero, uniform:B, gauss:S' train data.npz --init random
bad 2 'select = best: expected opt, ids, sets, or a result file' svm data.npz --select best

# ------------------------------------------------------------------------ closing words
good train data.npz --model p --iters 10
says 'Nothing saved; use -o FILE.'
good train data.npz --model p --iters 10 -o run.npz
says 'Next: attsvm svm data.npz --problem p --select run.npz'
good svm data.npz --problem v
says '1/norm: distance to the nearest example'
says 'relative optimality gap (certified)'
good generate --kind gauss --n 400 --T 8 --d 2 -o many.npz
run tokens many.npz --enumerate --time-limit 1
says 'stopped after the SVMs of 0 of 8^400 selections'
finish
