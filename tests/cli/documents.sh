# The documents that are made from the tables: reference, man page, completion.
. "$(dirname "$0")/lib.sh" "$@"

good help --markdown
check 'docs/reference.md is not what `attsvm help --markdown` prints: run `make docs`' \
    diff "$source/docs/reference.md" out

"$attsvm" help --man >attsvm.1
good help --man
says '.TH ATTSVM 1'
says '.SH EXIT STATUS'
for verb in $("$attsvm" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    says ".SS attsvm $verb "
done
says '\-\-inflate\-limit'
if command -v groff >/dev/null; then
    check 'groff has nothing to say about the man page' test -z "$(groff -man -ww -z attsvm.1 2>&1)"
fi
if command -v man >/dev/null; then
    check 'nor has man' test -z "$(LC_ALL=C MANWIDTH=90 man --warnings -l attsvm.1 2>&1 >/dev/null)"
fi

# complete EXPECTED WORD...: what bash offers for the last word
"$attsvm" completion bash >completion.bash
complete_is() {
    local expected=$1
    shift
    checks=$((checks + 1))
    # shellcheck disable=SC2016
    found=$(bash -c 'source ./completion.bash && shift && COMP_WORDS=("$@") && COMP_CWORD=$(($# - 1)) &&
        _attsvm && echo "${COMPREPLY[*]}"' - - "$@" 2>&1)
    last="completion of: $*" status=-
    [ "$found" = "$expected" ] || problem "offered: $found, not: $expected"
}
complete_is 'generate' attsvm ge
complete_is '--help --version' attsvm --
complete_is 'planted-p planted-W' attsvm generate --kind pl
complete_is 'sphere' attsvm generate --kind = sp
complete_is 'float16 float32 float64' attsvm generate -o x.npz --dtype =
complete_is '--T --T-min' attsvm generate --T
complete_is '--verify' attsvm info set.npz --v
complete_is '' attsvm info se
complete_is 'generate graph' attsvm help g
complete_is '--man --markdown --memory' attsvm help --m
complete_is 'bash zsh fish' attsvm completion ''
complete_is 'sign signum' attsvm train data.npz --step si
complete_is 'mm-single-global mm-single-local' attsvm reproduce mm-s
complete_is 'opt' attsvm svm data.npz --select o
# every word that is offered for a flag is one that the flag takes
"$attsvm" generate --kind planted-p --n 4 --T 3 --d 3 -q -o data.npz
for step in $(sed -n "s/^ *train:--step) words='\(.*\)' value=yes ;;/\1/p" completion.bash); do
    check "--step $step" "$attsvm" train data.npz --model W --step $step --iters 1 -q
done
for loss in $(sed -n "s/^ *train:--loss) words='\(.*\) ntp' value=yes ;;/\1/p" completion.bash); do
    check "--loss $loss" "$attsvm" train data.npz --loss $loss --iters 1 -q
done
for shell in zsh fish; do
    "$attsvm" completion $shell >completion.$shell
    command -v $shell >/dev/null && check "completion for $shell" $shell -n completion.$shell
    for word in train --step muon mm-multi --checkpoint; do
        check "$shell: $word" grep -q -e "${word#--}" completion.$shell
    done
done
for page in train svm help; do
    "$attsvm" help $page --man >page.1
    check "attsvm-$page(1)" grep -q "^.TH ATTSVM.*$page" page.1
done
check 'bash finds the completion' bash -c 'source ./completion.bash && complete -p attsvm'
if command -v shellcheck >/dev/null; then
    check 'shellcheck has nothing to say' shellcheck -s bash completion.bash
fi
finish
