# The real data sets of examples/data: what their README says of them, and a max-margin problem.
. "$(dirname "$0")/lib.sh" "$@"
data=$source/examples/data

# set_is FILE N TOKENS D T_MIN T_MAX POSITIVE, as the table in examples/data/README.md has them
set_is() {
    good info "$data/$1" --json
    json n "$2"
    json tokens "$3"
    json d "$4"
    json T_min "$5"
    json T_max "$6"
    json labels.positive "$7"
}
set_is musk1.npz 92 476 166 2 40 47
set_is digit_bags.npz 160 1580 64 6 15 80
good info "$data/musk1.npz" --verify
says 'ignored   fold (5,92)'
bad 2 'no tokens: expected X' info "$data/digits.npz"

# the head that one joint run finds decides which tokens are best
good train "$data/musk1.npz" --model vp --step ngd --lr 0.01 --iters 200 -q -o run.npz
good svm "$data/musk1.npz" --problem p --select run.npz --json -o result.npz
json status '"optimal"'
good check "$data/musk1.npz" result.npz --json
json valid true
finish
