# Tokens that stream in from the file, whatever their size, give the same bytes as those in memory.
. "$(dirname "$0")/lib.sh"

# same NAME COMMAND...: with all the memory; with next to none; with some for what is wanted again
same() {
    local name=$1 memory
    shift
    good "$@" --threads 1 --memory 1e15 -q -o all.npz
    for memory in 1 400000 8000000; do
        good "$@" --threads 2 --memory $memory -q -o streamed.npz
        check "$name, memory $memory: the same bytes" cmp all.npz streamed.npz
    done
}

# long enough for samples in runs and for some stretches; of sequences of unequal length; of
# sequences so long that passes glance at them
good generate --kind planted-p --n 40000 --T 16 --d 16 --dtype float32 -o many.npz -q
good generate --kind planted-p --n 3000 --T 9 --T-min 2 --d 12 -o ragged.npz -q
good generate --kind planted-p --n 2100 --T 60 --T-min 20 --d 80 --dtype float32 -o long.npz -q
for file in many ragged long; do
    same "$file, p-SVM" svm $file.npz --problem p --select ids
    good check $file.npz streamed.npz
    same "$file, soft p-SVM" svm $file.npz --problem p --select ids --soft 0.01
    same "$file, p-SVM in l1" svm $file.npz --problem p --select ids --norm l1
    same "$file, steps" train $file.npz --model p --iters 3
    same "$file, batches" train $file.npz --model p --iters 3 --batch 50
done
good generate --kind planted-W --n 200 --T 6 --d 8 -o queries.npz -q
same 'W-SVM' svm queries.npz --problem W --select ids
for norm in nuc spectral l1 linf lq:3; do
    same "W-SVM, $norm" svm queries.npz --problem W --norm $norm --select ids
    good check queries.npz streamed.npz --memory 1
done
same 'W-SVM of rank 7' svm queries.npz --problem W --rank 7 --select ids
# as many dimensions as it takes for the v-SVM, too, to have a solution
good generate --kind planted-p --n 30 --T 6 --d 40 -o joint.npz -q
for norm in l2 l1 lq:3; do
    same "joint, $norm" svm joint.npz --problem joint --norm $norm --select ids
    good check joint.npz streamed.npz --memory 1
done
same 'batches of W' train queries.npz --model W --iters 3 --batch 50

finish
