# Draws docs/images/joint.svg from bench/joint.dat:
#
#     gnuplot -e "picture='docs/images/joint.svg'" bench/joint.gp

data = "bench/joint.dat"
set terminal svg size 960,420 dynamic font "sans-serif,13" background rgb "white"
set output picture
set multiplot layout 1,2 margins 0.075,0.985,0.14,0.80 spacing 0.10,0
set logscale x
set format x "10^{%L}"
set xlabel "steps"
set xrange [100:1e6]
set grid lc rgb "#dddddd" lt 1
set key above maxrows 2 samplen 2 spacing 1.1 width -2
colours = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00"
names = '"musk1" "digit bags" "elephant" "fox" "musk2"'

set ylabel "share of sequences undecided"
set yrange [0:1]
plot for [i=1:5] data index (2*i-1) using 1:2 with linespoints lw 2 pt 7 ps 0.4 \
         lc rgb word(colours,i) title word(names,i), \
     for [i=1:5] data index (2*i-2) using 1:2 with lines lw 2 dt (8,5) \
         lc rgb word(colours,i) notitle

set logscale y
set format y "10^{%L}"
set ylabel "1 - correlation with the p-SVM"
set yrange [1e-7:1]
set key above maxrows 1 samplen 4
plot NaN with linespoints lw 2 pt 7 ps 0.4 lc rgb "black" title "slow head", \
     NaN with lines lw 2 dt (8,5) lc rgb "black" title "normalised steps for both", \
     for [i=1:5] data index (2*i-1) using 1:3 with linespoints lw 2 pt 7 ps 0.4 \
         lc rgb word(colours,i) notitle, \
     for [i=1:5] data index (2*i-2) using 1:3 with lines lw 2 dt (8,5) \
         lc rgb word(colours,i) notitle
