# Names from outside never reach the terminal as commands: escape sequences, C1 controls, DEL, and
# marks that turn the direction of the text.
. "$(dirname "$0")/lib.sh"

name=$(printf 'a\033[31m\302\233\177\342\200\256b.npz')
"$attsvm" generate --kind planted-p --n 4 --T 3 --d 3 -q -o "$name"
# clean WHAT: neither stream has any of them
clean() {
    checks=$((checks + 1))
    LC_ALL=C grep -qP '\033|\302\233|\177|\342\200\256' out err && problem "$1: raw control characters"
    return 0
}
for command in info 'svm --problem p' 'train --iters 3' 'tokens --problem p' 'verify --iters 3' 'path --radii 1:10:2'; do
    run ${command%% *} "$name" $(case $command in *\ *) echo "${command#* }" ;; esac)
    clean "$command"
    run ${command%% *} "$name" $(case $command in *\ *) echo "${command#* }" ;; esac) --json
    clean "$command --json"
done
run info "$name.missing"
[ $status -eq 2 ] || problem 'exit status is not 2'
clean 'a missing file'
run "$name"
clean 'a command that is none'
run train --"$name"
clean 'a flag that is none'
good info "$name" --json
json n 4

# a solve that was stopped at once has no norm
run svm "$name" --problem p --time-limit 1e-9 --json
never '"norm": 0.0'
finish
