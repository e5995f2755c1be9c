#!/usr/bin/env bash
#
# Default threads beside one thread, on an idle machine and with a busy loop on every core: the
# table on standard output, and the picture docs/images/threads.svg.
#
#     bench/threads.sh [BUILD]
#
# Where other programs use the cores, root may give the idle half real-time priority: REALTIME=yes.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build}/bench/bench_threads
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
first=()
[[ ${REALTIME-no} == yes ]] && first=(chrt -f 1)
"${first[@]}" "$program" --rounds 15 --seconds 0.01 | tee "$folder/idle"
"$program" --rounds 15 --seconds 0.05 --busy | tee "$folder/busy"
for load in idle busy; do
    for model in p W; do
        awk -v model=$model '$1 == model { print $2, $5 }' "$folder/$load" >"$folder/$load-$model"
    done
done
gnuplot <<END
set terminal svg size 720,400 font "sans-serif,13" background "white"
set output "docs/images/threads.svg"
set title "Training step, T=8, d=16: time with the default threads over time with one"
set xlabel "sequences n"
set ylabel "default / one thread"
set logscale x
set yrange [0:1.5]
set grid ytics lc rgb "#dddddd"
set key bottom left
plot 1.05 notitle lc rgb "#bbbbbb" dt 2, 1.3 notitle lc rgb "#bbbbbb" dt 3, \
     "$folder/idle-p" w lp lc rgb "#1f77b4" pt 7 ps .6 t "p, idle", \
     "$folder/idle-W" w lp lc rgb "#d62728" pt 7 ps .6 t "W, idle", \
     "$folder/busy-p" w lp lc rgb "#1f77b4" pt 6 ps .8 dt 2 t "p, a busy loop on each core", \
     "$folder/busy-W" w lp lc rgb "#d62728" pt 6 ps .8 dt 2 t "W, a busy loop on each core"
END
