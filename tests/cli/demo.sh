# attsvm demo: from the built-in reviews to a verdict and a page, anywhere.
. "$(dirname "$0")/lib.sh" "$@"

good demo
says '200 short reviews, half good, half bad'
says '[stale 100%]'
says 'small random'
says 'An independent'
says 'global: In every review'
says 'Picture: attsvm-demo.html'
check 'plain when not a terminal' sh -c "! grep -q '$(printf '\033')' out"
check 'the page is whole' grep -q '^</html>' attsvm-demo.html
check 'the page has its two pictures' [ "$(grep -c '^</svg>' attsvm-demo.html)" -eq 2 ]
check 'the page needs nothing else' sh -c "! grep -Eq 'src=|href=|@import' attsvm-demo.html"

good demo --json --threads 1 -o page.html
json kind '"global"'
json checked true
json reviews 200
json accuracy 1.0
json page '"page.html"'
near correlation 0.99 0.01
near gap 0 1e-12
check 'the same page for any number of threads' cmp page.html attsvm-demo.html
# The processor and the seed do not decide: from 0 rounding chose among words that are alike.
for name in baseline $(long_or_short 'avx2 avx512' ''); do
    "$attsvm" --version --kernels "$name" >/dev/null 2>&1 || continue
    good demo --json --kernels "$name" -o "$name.html"
    json kind '"global"'
done
good demo --json --seed 1 -o seed.html
json kind '"global"'
check 'another seed starts elsewhere' sh -c '! cmp -s seed.html page.html'
# The text and the page say what the run found, also when attention has not settled.
run demo --iters 20 -o few.html
says 'unsaturated: Attention has not settled on one word'
says 'The picked words cannot be separated from their rivals'
never nan
check 'the page says that words cannot be separated' grep -q 'cannot be separated' few.html
check 'the page has no nan' sh -c '! grep -q nan few.html'
run demo --iters 300 -o more.html
check 'the page says how much attention one word has' grep -q 'one word has 80 % of it' more.html
bad 2 'nowhere/page.html' demo -q -o nowhere/page.html

# Half good, half bad, and no line that is neither.
reviews=$source/examples/reviews.txt
check '100 good' test "$(grep -c '^+1	' "$reviews")" -eq 100
check '100 bad' test "$(grep -c '^-1	' "$reviews")" -eq 100
check 'no review twice' test -z "$(sort "$reviews" | uniq -d)"
finish
