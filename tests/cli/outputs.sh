# Outputs are checked before the first step: folder, ending, and that no input is lost.
. "$(dirname "$0")/lib.sh"

good generate --kind planted-p --n 6 --T 4 --d 3 -q -o data.npz
good generate --kind ntp --n 20 --T 4 --d 8 -q -o words.npz
good train data.npz --iters 3 -q -o run.npz
cp words.npz words.before
cp run.npz run.before
mkdir folder

# such a run would take years: it is refused at once
for flags in '-o missing/run.npz' '-o run.csv' '-o run.npy' '-o run.xyz' '-o run' '-o .' '-o folder' \
    '-o folder/' '-o data.npz' '-o ./data.npz' '--checkpoint missing/c.npz' '--checkpoint c.csv' \
    '--init run.npz -o run.npz' '--init run.npz -o ./folder/../run.npz' '--checkpoint c.npz -o c.npz' \
    '--checkpoint c.npz -o ./c.npz'; do
    bad 2 '' train data.npz --iters 1000000000000 $flags
done
bad 2 "missing/run.npz: the directory 'missing' does not exist" train data.npz -o missing/run.npz
bad 2 'run.csv: a .csv file cannot hold a result; use .npz' train data.npz -o run.csv
bad 2 '-o run.npz would overwrite the file that --init reads' train data.npz --init run.npz -o run.npz
bad 2 '-o run.npz would overwrite the file that --select reads' svm data.npz --problem p --select run.npz -o run.npz
bad 2 '-o run.npz would overwrite the file that --select reads' tokens data.npz --problem p --select run.npz -o run.npz
bad 2 '--svg words.npz would overwrite an input file' graph words.npz --svg words.npz
bad 2 '--dot words.npz would overwrite an input file' graph words.npz --dot words.npz
bad 2 '--svg and -o both write g.npz' graph words.npz --svg g.npz -o g.npz
bad 2 '--dot and --svg both write' graph words.npz --svg g --dot ./g
bad 2 '-o run.npz would overwrite the file that --trained reads' graph words.npz --trained run.npz -o run.npz
ln -s run.npz link.npz
bad 2 'would overwrite the file that --init reads' train data.npz --init link.npz -o run.npz
check 'an input is as it was' cmp words.npz words.before
check 'a result is as it was' cmp run.npz run.before
for verb in path verify; do
    bad 2 'cannot hold a result' $verb data.npz -o x.tsv
done
check 'nothing was left behind' test "$(ls -A | grep -c tmp)" -eq 0
bad 2 'missing' demo -o missing/page.html

finish
