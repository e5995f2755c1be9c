# Full disks, closed streams and signals: status 3 or a quiet end, and nothing left behind.
. "$(dirname "$0")/lib.sh" "$@"
arrays set.npz X:float64:2,3,2=1,2,3,4,5 Y:int8:2=1,-1

# to_full ARGUMENT...: text that cannot be written
to_full() {
    last="attsvm $* >/dev/full"
    checks=$((checks + 1))
    "$attsvm" "$@" >/dev/full 2>err </dev/null
    status=$?
    : >out
    [ $status -eq 3 ] || problem 'exit status is not 3'
    grep -q '^attsvm .*: No space left on device$' err || problem 'no reason is given'
    [ "$(wc -l <err)" -eq 1 ] || problem 'not one line on standard error'
}
to_full --help
to_full --version --json
to_full info set.npz
to_full info set.npz --json
to_full generate -o made.npz
to_full help --man
to_full completion bash

# a closed standard output: the text goes nowhere, least of all into the file
"$attsvm" generate --n 2 -o closed.npz >&- 2>err
[ $? -eq 3 ] || problem 'closed output: status 3'
good generate --n 2 -o open.npz
check 'the file is as it should be' cmp closed.npz open.npz
"$attsvm" info set.npz --json >out 2>&- </dev/null
[ $? -eq 0 ] || problem 'closed standard error: status 0'
json n 2

# a file beyond the limit of the process
(ulimit -f 8 && exec "$attsvm" generate --n 1000 -o large.npz >out 2>err)
[ $? -eq 3 ] || problem 'a limit of file size: status 3'
check 'it says why' grep -q 'large.npz: writing failed .*: File too large' err
check 'nothing is left' test ! -e large.npz

# outputs that cannot be written
bad 2 'nowhere/x.npz: ' generate -o nowhere/x.npz
mkdir place.npz
run generate -o place.npz
[ $status -eq 2 ] || [ $status -eq 3 ] || problem 'a directory as output: status 2 or 3'
check 'nothing in it' test -z "$(ls -A place.npz)"
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod a-w locked
    bad 2 'locked/x.npz: ' generate -o locked/x.npz
fi

# a file that may not grow, as on a full disk: what was written so far goes away again
mkdir room
(
    trap '' XFSZ
    ulimit -f 64
    cd room && exec "$attsvm" generate --n 1000 --T 50 --d 20 -o big.npz
) >out 2>err
status=$? last='generate beyond the file size limit'
[ $status -eq 3 ] || problem 'exit status is not 3'
grep -q '^attsvm generate: big.npz: ' err || problem 'the message does not name the file'
check 'nothing is left' test -z "$(ls -A room)"
# an existing file survives that
cp set.npz room/big.npz
(
    trap '' XFSZ
    ulimit -f 64
    cd room && exec "$attsvm" generate --n 1000 --T 50 --d 20 -o big.npz
) >out 2>err
check 'the old file is still there' cmp set.npz room/big.npz
check 'and alone' test "$(ls -A room)" = big.npz

# a reader that has seen enough
"$attsvm" help --man 2>err | head -n 1 >out
check 'a broken pipe is quiet' test ! -s err

# a mapped file that is cut short ends in SIGBUS, for which there is a message
mkdir busy
(cd busy && exec "$attsvm" generate --n 1e6 --T 50 --d 100 --threads 1 -o big.npz) >out 2>err &
process=$!
# once it has worked for 0.2 s, the handler is in place
while [ -r /proc/$process/stat ] && [ "$(cut -d' ' -f14 /proc/$process/stat)" -lt 20 ]; do
    sleep 0.05
done
kill -BUS $process
wait $process
status=$? last='generate, sent SIGBUS'
[ $status -eq 3 ] || problem 'exit status is not 3'
grep -q '^attsvm generate: a file was changed or cut short while it was being read$' err ||
    problem 'the message is another'

# progress is for terminals
good generate --n 2000 --T 50 --d 100 -o set.npz
finish
