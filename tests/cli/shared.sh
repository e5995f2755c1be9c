# attsvm info on the real data sets, where they are on this machine.
. "$(dirname "$0")/lib.sh" "$@"
data=$source/../shared/data
if [ ! -d "$data" ]; then
    echo "skipped: no $data"
    exit 77
fi

# set N TOKENS D T_MIN T_MAX POSITIVE, as the table in shared/data/README.md has them
set_is() {
    good info "$data/$1" --json
    json n "$2"
    json tokens "$3"
    json d "$4"
    json T_min "$5"
    json T_max "$6"
    json labels.positive "$7"
}
set_is musk1/musk1.npz 92 476 166 2 40 47
set_is musk2/musk2.npz 102 6598 166 1 1044 39
set_is elephant/elephant.npz 200 1391 230 2 13 100
set_is fox/fox.npz 200 1320 230 2 13 100
set_is rtpol/rtpol.npz 10662 217223 100 1 58 5331
set_is sentlab/sentlab.npz 3000 39192 100 1 77 1500
set_is digits/digit_bags.npz 160 1580 64 6 15 80
good info "$data/musk1/musk1.npz" --verify
says 'ignored   fold (5,92)'
bad 2 'no tokens: expected X' info "$data/stories260K/stories260K.npz"
finish
