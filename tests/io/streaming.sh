# A file eight times larger than the memory allowed: streaming.sh ATTSVM
#
# ATTSVM_LONG=1: a gigabyte, few and many dimensions, and very long sequences, as `make test-all` runs
# it; otherwise one file of half of that.
# The process runs in a control group of that memory where one can be made (as root, version 1 or 2);
# otherwise it is told the limit, and its resident memory must stay below it.  Prints the speed.
set -eu
attsvm=$1
dir=$(mktemp -d)
group=
cleanup() {
    rm -rf "$dir"
    [ -z "$group" ] || rmdir "$group" 2>/dev/null || true
}
trap cleanup EXIT
cd "$dir"

long=${ATTSVM_LONG-}
limit=$((64 << 20))
[ -z "$long" ] || limit=$((128 << 20))
room=$(df -Pk . | awk 'NR == 2 { print $4 }')
if [ "$room" -lt $((2 << 20)) ]; then
    echo "skipped: less than 2 GB of disk are free"
    exit 77
fi
# make N D: N sequences of 16 tokens, eight times the limit or more
make() {
    "$attsvm" generate --kind planted-p --n "$1" --T 16 --d "$2" --dtype float32 -o large.npz -q
    size=$(stat -c %s large.npz)
    [ "$size" -ge $((8 * limit)) ]
}
make $((limit >> 13)) 1024

# run COMMAND...: within the limit
if mkdir /sys/fs/cgroup/memory/attsvm-$$ 2>/dev/null; then
    group=/sys/fs/cgroup/memory/attsvm-$$
    limit_file=$group/memory.limit_in_bytes
elif [ -e /sys/fs/cgroup/cgroup.controllers ] && mkdir /sys/fs/cgroup/attsvm-$$ 2>/dev/null; then
    group=/sys/fs/cgroup/attsvm-$$
    limit_file=$group/memory.max
fi
if [ -n "$group" ] && ! echo $limit >"$limit_file" 2>/dev/null; then
    rmdir "$group"
    group=
fi
flags=
if [ -z "$group" ]; then
    echo "no control group can be made; the limit is given by --memory"
    flags="--memory $((limit / 2))"
fi
run() {
    sync large.npz # out of the cache: whoever reads it next pays for it
    dd if=large.npz iflag=nocache count=0 status=none
    if [ -n "$group" ]; then
        sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
    else
        "$@"
    fi
}
speed() {
    awk -v name="$1" -v bytes="$size" -v reads="$2" -v seconds="$3" \
        'BEGIN { printf "%-19s %6.2f GB/s\n", name, bytes * reads / seconds / 1e9 }'
}

number_in() {
    sed "s/.*\"$2\": *\([0-9.e-]*\).*/\1/" "$1"
}
read_file() {
    start=$(date +%s.%N)
    run dd if=large.npz of=/dev/null bs=1M status=none
    speed 'reading the file' 1 "$(echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }')"
}
solve() {
    run "$attsvm" svm large.npz --problem p --select ids --threads 2 $flags --json -o solved.npz >svm
    speed "the p-SVM, d = $1" "$(number_in svm passes)" "$(number_in svm seconds)"
    speed "  while it reads" "$(number_in svm passes)" "$(number_in svm pass_seconds)"
    printf '  %.2f s, %.2f reads, %d changes of the active set\n' \
        "$(number_in svm seconds)" "$(number_in svm passes)" "$(number_in svm iterations)"
    # the same bytes as with all the memory, on one thread
    "$attsvm" svm large.npz --problem p --select ids --threads 1 --memory 1e15 -q -o all.npz
    cmp solved.npz all.npz
    "$attsvm" check large.npz solved.npz -q
}

read_file
run "$attsvm" train large.npz --model p --iters 3 --threads 2 $flags --json -o trained.npz >short
run "$attsvm" train large.npz --model p --iters 8 --threads 2 $flags --json >long
speed 'a training step' 5 \
    "$(echo "$(number_in long seconds) $(number_in short seconds)" | awk '{ print $1 - $2 }')"
run "$attsvm" train large.npz --model p --iters 3 --batch 100 --threads 2 $flags -q -o batch.npz
solve 1024
# the same bytes as with all the memory
"$attsvm" train large.npz --model p --iters 3 --threads 2 --memory 1e15 -q -o all.npz
cmp trained.npz all.npz
"$attsvm" train large.npz --model p --iters 3 --batch 100 --threads 1 --memory 1e15 -q -o all.npz
cmp batch.npz all.npz
# fit FLAGS...: a classifier, first on a batch in memory, then on all bags; the same bytes with all
# the memory
fit() {
    run "$attsvm" fit large.npz --starts 1 --batch 2000000 --threads 2 $flags "$@" -q -o fitted.npz
    "$attsvm" fit large.npz --starts 1 --batch 2000000 --threads 1 --memory 1e15 "$@" -q -o all.npz
    cmp fitted.npz all.npz
}
fit --pool prompt --iterations 3
if [ -n "$long" ]; then # the folds of the validation stream as well
    fit --iterations 3
fi
if [ -n "$long" ]; then
    make 262144 64
    read_file
    solve 64
fi
# peak FLAGS...: the highest resident memory of a p-SVM in kB, as the system saw it
peak() {
    (ulimit -v unlimited; /usr/bin/env sh -c '"$@" & pid=$!; while kill -0 $pid 2>/dev/null; do
        sed -n "s/VmHWM:[^0-9]*\([0-9]*\).*/\1/p" /proc/$pid/status 2>/dev/null; sleep 0.05; done' \
        sh "$attsvm" svm large.npz --problem p --select ids "$@" -q) | sort -n | tail -1
}
if [ -n "$group" ]; then
    ! grep -q 'oom_kill [1-9]' "$group"/memory.oom_control "$group"/memory.events 2>/dev/null
else
    resident=$(peak $flags)
    echo "resident at most: $resident kB"
    [ "$resident" -lt $((limit / 1024)) ]
fi
echo "file $((size >> 20)) MB, memory $((limit >> 20)) MB${group:+, control group}"
[ -n "$long" ] || exit 0
# in another norm, sequences so long that each is a block of its own
"$attsvm" generate --kind planted-p --n 48 --T 200000 --d 16 --dtype float32 -o large.npz -q
resident=$(peak --norm linf --threads 2 --memory $((limit / 4)))
echo "48 long sequences in another norm: resident at most $resident kB of $(($(stat -c %s large.npz) >> 10)) kB"
[ "$resident" -lt $((limit / 1024 * 3 / 2)) ]
