# attsvm reproduce: files, checks, redrawing, and what goes wrong.
. "$(dirname "$0")/lib.sh" "$@"
command -v gnuplot >/dev/null || { echo 'gnuplot is not installed'; exit 77; }

# ------------------------------------------------------------------------------ the list
good reproduce
says 'mm-single-local'
good reproduce --json
json ids.0 '"mm-single-global"'

# --------------------------------------------------------------------- every file is there
good reproduce mm-single-local rates --runs 3 --png -o first
says 'first/index.html'
for file in mm-single-local.npz mm-single-local.json mm-single-local.svg mm-single-local.png \
    rates.npz rates.json rates.svg rates.png index.html; do
    check "first/$file is there" test -s first/$file
done
check 'nothing else is written' test "$(ls -A first | wc -l)" -eq 9
check 'the page holds the figures' sh -c "test \$(grep -c 'data-panels' first/index.html) -eq 2"
check 'the page is complete in itself' sh -c "! grep -E '(src|href)=\"[^#]' first/index.html"

# -------------------------------------- same seed, same arrays; for any number of threads
good reproduce mm-single-local rates --runs 3 --threads 1 -o second -q
for id in mm-single-local rates; do
    check "$id: same arrays" cmp first/$id.npz second/$id.npz
    check "$id: same figure" cmp first/$id.svg second/$id.svg
    for directory in first second; do
        sed 's/"seconds": [^,]*,//' $directory/$id.json >$directory.json
    done
    check "$id: same numbers" cmp first.json second.json
done
good reproduce rates --runs 3 --seed 1 -o other
check 'another seed, other arrays' sh -c '! cmp -s first/rates.npz other/rates.npz'

# ------------------------------------- the files are data sets: the page's command repeats a run
while read -r id array trace end; do
    good reproduce $id -o whole -q
    good info whole/$id.npz --json
    command=$(sed -n "s|.*<code>attsvm \(train $id\.npz [^<]*\)</code>.*|\1|p" whole/index.html)
    check "$id: the page shows the command" test -n "$command"
    good ${command/ $id.npz / whole/$id.npz } -q
    for back in 0 1; do
        check "$id: the same run" test "$("$helper" value whole/$id.npz $array $((end - back)))" = \
            "$("$helper" value run.npz $trace $((-1 - back)))"
    done
done <<END
mm-single-global p_ngd trace_p 3002
mm-single-local p_ngd trace_p 3002
mm-multi p_ngd trace_p 3002
mm-joint-tight p_ngd trace_p 2001
mm-joint-slack p_ngd trace_p 2001
ts-path W trace_W 8003
END

# --------------------------------------------------------------------- disturbed starts
good reproduce mm-single-local rates --runs 3 --disturb 1e-12 --check -o disturbed -q
good reproduce mm-single-local rates --runs 3 --disturb 1e-12 --disturb-seed 1 --check -o disturbed1 -q
for id in mm-single-local rates; do
    check "$id: another start, other arrays" sh -c "! cmp -s first/$id.npz disturbed/$id.npz"
    check "$id: another disturbance" sh -c "! cmp -s disturbed/$id.npz disturbed1/$id.npz"
done
check 'the report says so' grep -q '"disturb_seed": 1,' disturbed1/rates.json
run reproduce rates --runs 3 --disturb-seed 1 -o undisturbed
check 'a seed alone disturbs nothing' grep -q 'counts only with --disturb' err
bad 2 '--disturb 2' reproduce rates --disturb 2 -o never

# ------------------------------------------------------------------------ stopped in time
run reproduce mm-multi geometry --time-limit 1 -o short
check 'geometry was stopped' sh -c "test $status -eq 1 && grep -q '^geometry  *stopped by --time-limit' out"
check 'what was done is kept' test -s short/mm-multi.svg -a -s short/index.html -a ! -e short/geometry.npz
run reproduce mm-multi geometry --time-limit 1 -o short --json
json stopped '"geometry"'

# ----------------------------------------------------------------------------- redrawing
cp -r first again
rm again/*.svg again/*.png again/index.html
good reproduce mm-single-local rates --redraw --png -o again
for file in mm-single-local.svg mm-single-local.png rates.svg rates.json index.html; do
    check "$file is drawn as before" cmp first/$file again/$file
done
bad 2 'mm-multi.npz' reproduce mm-multi --redraw -o again
cp again/rates.npz again/mm-single-local.npz
bad 2 'is not what' reproduce mm-single-local --redraw -o again
"$helper" write again/rates.npz X:float64:1,2=1,0
bad 2 'was not written by attsvm reproduce' reproduce rates --redraw -o again

# ------------------------------------------------------------------- checks of key numbers
runs=$(long_or_short 5 2)
good reproduce --all --runs "$runs" --threads 3 --check -q -o all
# runs that are done side by side give the same arrays as one after the other
alone="ts-local ts-global md-corr $(long_or_short 'ts-rank ts-multitoken' '')"
good reproduce $alone --runs "$runs" --threads 1 -q -o alone
for id in $alone; do
    check "$id: same arrays with 1 and 3 threads" cmp alone/$id.npz all/$id.npz
done
good reproduce mm-single-local --check --json -o all
json mm-single-local.failed 0
json mm-single-local.numbers.second_token 2.0
check 'the page has all of them' sh -c \
    "test \$(grep -c '<section' all/index.html) -eq \$('$attsvm' reproduce --json | tr ',' '\n' | wc -l)"

# --------------------------------------------------------------------- data of the caller
good generate --kind planted-p --n 20 --T 5 --T-min 1 --d 4 --seed 2 -o data.npz
good reproduce mm-attention --data data.npz --check -o own
says 'nothing to compare with'
bad 2 'missing.npz' reproduce mm-attention --data missing.npz -o own
bad 2 '--data: rates uses its own data' reproduce rates --data data.npz -o own
arrays unlabelled.npz X:float64:1,2,2=1,0,0,0
bad 2 'unlabelled.npz' reproduce mm-attention --data unlabelled.npz -o own

# ---------------------------------------------------------------------------- bad usage
bad 2 'Unknown experiment mm-nothing. The experiments are mm-single-global' reproduce mm-nothing -o never
bad 2 'Use either --all or mm-multi' reproduce mm-multi --all -o never
bad 2 '--runs -1' reproduce mm-multi --runs=-1 -o never
check 'nothing was made' test ! -e never
touch file
bad 2 'file: cannot write to this directory' reproduce mm-multi -o file
bad 2 'no/such: cannot write to this directory' reproduce mm-multi -o no/such
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 500 locked
    bad 2 'locked: cannot write' reproduce mm-multi -o locked
fi
mkdir empty
PATH=$work/empty run reproduce mm-multi -o never
check 'without gnuplot it runs and says that figures are missing' \
    sh -c "test $status -eq 0 && grep -q 'Figures were left out: gnuplot is not installed' out"
good reproduce mm-loss --pdf --csv -q -o formats
check 'a PDF' sh -c "head -c 5 formats/mm-loss.pdf | grep -q '%PDF-'"
check 'the numbers behind the figure' grep -q '^"Loss -u","C = 1",0,0,,$' formats/mm-loss.csv
check 'and writes the numbers' test -e never/mm-multi.npz -a ! -e never/mm-multi.svg
finish
