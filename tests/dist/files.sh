# Ranks that read different files, or have different flags: files.sh ATTSVM HELPER SOURCE MPIRUN
#
# They are refused before they work on a mixture, or wait for each other.
mpirun=$4
. "$3/tests/cli/lib.sh" "$1" "$2" "$3"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# ranks of one machine: a start without a look at its networks takes half the time
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader

# two FILE FILE: rank 0 reads the first, rank 1 the second
two() {
    last="train of $1 and $2"
    "$mpirun" --oversubscribe -n 1 "$attsvm" train "$1" --model p --iters 5 -q -o two.npz : \
        -n 1 "$attsvm" train "$2" --model p --iters 5 -q -o two.npz >out 2>err
    status=$?
}

good generate --kind planted-p --n 500 --T 8 --d 6 --seed 1 -o a.npz -q
good generate --kind planted-p --n 500 --T 8 --d 6 --seed 2 -o values.npz -q
good generate --kind planted-p --n 500 --T 8 --d 6 --seed 1 --dtype float32 -o type.npz -q
good generate --kind planted-p --n 400 --T 8 --d 6 --seed 1 -o fewer.npz -q
good generate --kind planted-p --n 500 --T 8 --T-min 3 --d 6 --seed 1 -o ragged.npz -q
for other in values type fewer ragged; do
    two a.npz $other.npz
    check 'a failure' [ $status -eq 2 ]
    check 'with a reason' grep -q 'ranks see different data' err
    check 'no result' [ ! -e two.npz ]
done
cp a.npz copy.npz
two a.npz copy.npz
check 'a copy serves' [ $status -eq 0 ]

# pair COMMAND : COMMAND: rank 0 does the first, rank 1 the second
pair() {
    local words=() word
    last="ranks: $*"
    for word in "$@"; do
        words+=("$word")
        [ "$word" = : ] && words+=(-n 1 "$attsvm")
    done
    rm -f out.npz
    "$mpirun" --oversubscribe -n 1 "$attsvm" "${words[@]}" >out 2>err
    status=$?
}
# unlike REASON COMMAND : COMMAND
unlike() {
    local reason=$1
    shift
    pair "$@"
    check 'bad usage' [ $status -eq 2 ]
    check 'with a reason' grep -q -- "$reason" err
    check 'one message' [ "$(grep -c '^attsvm' err)" -eq 1 ]
    check 'no result' [ ! -e out.npz ]
}
unlike 'train: rank 1 has --iters 6, but rank 0 does not' \
    train a.npz --iters 5 -o out.npz : train a.npz --iters 6 -o out.npz
unlike 'train: rank 1 has --step gd' train a.npz -o out.npz : train a.npz --step gd
unlike "rank 1 has --checkpoint ''" train a.npz --checkpoint out.npz : train a.npz
unlike 'svm: rank 1 has --norm l1' svm a.npz --problem p : svm a.npz --problem p --norm l1
unlike 'svm: rank 1 has --q 4' svm a.npz --norm lq:3 : svm a.npz --norm lq:4
unlike 'rank 1 has --select ids' svm a.npz --problem p : svm a.npz --problem p --select ids
unlike 'train: rank 1 has attsvm verify' train a.npz : verify a.npz
unlike 'train: rank 1 has attsvm train --help' train a.npz : train a.npz --help
unlike '--lr x: expected a number' train a.npz : train a.npz --lr x
unlike 'train: rank 1 has no command' train a.npz :
pair : train a.npz
check 'bad usage' [ $status -eq 2 ]
check 'usage is shown once' [ "$(grep -c '^Usage' err)" -eq 1 ]
pair train a.npz --help : train a.npz --help
check 'help is shown' [ $status -eq 0 ]
check 'once' [ "$(grep -c '^Usage' out)" -eq 1 ]

# what may differ: where a rank finds the tokens, how it works, and what rank 0 alone does
pair train a.npz --iters 5 --json -o out.npz : train copy.npz --iters 5 --threads 1 --memory 1e9 -q
check 'these may differ' [ $status -eq 0 ]
check 'a result' [ -e out.npz ]
finish
