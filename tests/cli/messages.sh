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
bad 2 'init = random: expected auto, zero, uniform:B, gauss:S, file, svm:S,R[,ANGLE]' train data.npz --init random
bad 2 'expected concave:K with a number K, at least 0' train data.npz --head concave:-1
bad 2 'select = best: expected opt, ids, sets, or a result file' svm data.npz --select best

bad 2 '--problem v: expected one of p, W' tokens data.npz --problem v
good help tokens
never '--soft'
never 'finite'

# ---------------------------------------------------------------------------- learning
printf 'a,1,2,3\na,1,0,1\nb,0,1,1\nc,1,4,4\nd,0,0,2\n' >bags.csv
good fit bags.csv --starts 1 --pool prompt -o model.npz
good predict model.npz bags.csv --html bags.html
says 'sample 0 (a): predicted'
check 'the page has the names of the bags' grep -q 'Sample 0 (a): predicted <b>' bags.html
printf 'a,,2,3\nb,,1,1\n' >unlabelled.csv
good predict model.npz unlabelled.csv
never 'accuracy'
says 'sample 1 (b): predicted'
bad 2 'no labels; expected an array Y or y' fit unlabelled.csv -o no.npz
printf 'a,,2,3\nb,1,1,1\n' >half.csv
bad 2 'line 2 has a label, the lines before it have none' predict model.npz half.csv
printf 'a,1,2,3\nb,2,1,1\n' >classes.csv
bad 2 'line 2: label 2: labels of a table are -1 and 1, or 0 and 1; fit takes other classes' fit classes.csv -o no.npz
printf 'a,1.5,2,3\nb,2.5,1,1\n' >features.csv
bad 2 'the second column holds the labels of the bags' fit features.csv -o no.npz
arrays other.npz X:float64:2,2,2=1,2,3,5,4,1,0,2 y:int64:2=5,6
good predict model.npz other.npz
says 'accuracy    not known: no label of the file is a class of the model (0, 1)'
never 'nan'
arrays single.npz X:float64:2,2,2=1,2,3,5,4,1,0,2 y:int64:2=1,1
good predict model.npz single.npz
says 'auc         not defined: the file lacks a class'
arrays copies.npz X:float64:1,3,2=9,9,9,9,1,2
good predict model.npz copies.npz
says "2 copies)"
bad 2 '--against nosuch: expected a pool (auto, prompt, score, witness, mean)' cv bags.csv --against nosuch
printf 'good\tfine day\nbad\tdull day\ngood\tfine tea\nbad\tdull tea\n' >texts.txt
good fit texts.txt --starts 1 --pool prompt -o texts.npz
bad 2 'texts.npz classifies texts' predict texts.npz other.npz
good predict texts.npz --text 'fine'
bad 2 '--text is empty' predict texts.npz --text ''
arrays few.npz X:float64:2,2,1=1,2,3,5 y:int64:2=5,6
bad 2 'few.npz: 3 folds of 2 bags' cv few.npz --folds 3
bad 2 'few.npz: without fold 0 of repetition 0: class number ' cv few.npz --folds 2 --pool mean
printf 'good\tnever\nbad\tseen\n' >strange.txt
good predict texts.npz strange.txt
says 'the bias alone decides'
never 'nan'
for size in 1e-170:small 1e200:large; do
    x=${size%:*}
    arrays size.npz X:float64:2,2,1=$x,-$x,$x,$x y:int64:2=0,1
    bad 2 "feature 0 is too ${size#*:}" fit size.npz --pool mean -o no.npz
done
arrays images.npz images:float64:2,4,4=1,2
bad 2 'no array nosuch; --labels names the array of labels' patches images.npz --labels nosuch -o no.npz
good patches images.npz -o patches.npz
says 'No labels: the file has no array y'
good train bare.npz --model vp --iters 10
says 'where a head separates the labels: for v that of the v-SVM, for p that of the l2-norm SVM'

arrays huge.npz X:float64:2,2,2=1e150,2e150,3e150,5e150,4e150,1e150,0,2e150 $Y v:float64:2=1,1
good train huge.npz --model p --iters 10
check 'numbers are short' sh -c '! grep -q "[0-9]\{40\}" out'
bad 3 'the gradient of p is nan' train huge.npz --model p --head concave --iters 5

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
