# --svg and --html: figures of one's own data.
. "$(dirname "$0")/lib.sh" "$@"
command -v gnuplot >/dev/null || exit 77

good generate --kind sphere --n 4 --T 5 --d 6 --queries 1 --seed 3 -q -o data.npz
good train data.npz --model W --iters 200 -q --svg train.svg
good verify data.npz --model W --iters 2000 --init uniform:0.4 -q --svg verify.svg --html verify.html
good path data.npz --model W --radii 1:100:3 -q --svg path.svg
good tokens data.npz -q --svg tokens.svg --html tokens.html
for file in train verify path tokens; do
    check "$file.svg is a figure" grep -q '</svg>' $file.svg
done
check 'the page of verify has the verdict' grep -q '<h1>data.npz: local</h1>' verify.html
check 'and the figure' grep -q '</svg>' verify.html
check 'and the distance from the SVM' grep -q '1 - correlation with the SVM' verify.html
check 'the page of tokens names support tokens' grep -q 'support tokens' tokens.html
check 'panels can stack' sh -c "test \$(grep -c '<use href=\"#figure-drawing\"' verify.html) -eq 3"
# a stored run is drawn from its trace
good train data.npz --model W --iters 200 -q -o bare.npz
bad 2 'The run holds no trace to draw: train it with --record log.' \
    verify data.npz bare.npz -q --svg bare.svg
good train data.npz --model W --iters 2000 --init uniform:0.4 --record log -q -o traced.npz
good verify data.npz traced.npz -q --svg traced.svg
# without gnuplot it is said before any work
run() { status=0; PATH=/nowhere "$attsvm" "$@" >out 2>err || status=$?; last="attsvm $*"; }
bad 2 'gnuplot is not installed' train data.npz --model W --iters 200 --svg never.svg
check 'nothing was written' test ! -e never.svg
finish
