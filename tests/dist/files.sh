# Ranks that read different files: files.sh ATTSVM HELPER SOURCE MPIRUN
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
finish
