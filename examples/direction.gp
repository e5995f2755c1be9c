# Draws what examples/direction found: the tokens with the max-margin direction, and how training
# turns into it.
#
#     gnuplot -e "tables='build/demo'; picture='build/demo/direction'" examples/direction.gp
#
# writes direction.svg and direction.png.  Colours: Okabe and Ito's, told apart by every eye; each
# sequence also has a mark of its own.

tokens = tables . "/tokens.dat"
path = tables . "/path.dat"
p1 = real(system("awk '/^# p/ { print $3 }' " . tokens))
p2 = real(system("awk '/^# p/ { print $4 }' " . tokens))
margin = real(system("awk '/^# margin/ { print $3 }' " . tokens))

array colour[4] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"]
array hollow[4] = [6, 4, 8, 12]
array filled[4] = [7, 5, 9, 13]
ink = "#444444"
light = "#9a9a9a"

# The tokens, and the origin, fill the frame.
stats tokens using 4:5 nooutput
left = (STATS_min_x < 0 ? STATS_min_x : 0) - 0.2
right = (STATS_max_x > 0 ? STATS_max_x : 0) + 0.2
low = (STATS_min_y < 0 ? STATS_min_y : 0) - 0.2
high = (STATS_max_y > 0 ? STATS_max_y : 0) + 0.2

# Where the dashed line of a selected token crosses the axis of p: the margin behind it.
along(x, y) = x * p1 + y * p2 - margin

set key off
unset border
unset tics
do for [kind in "svg png"] {
    if (kind eq "svg") {
        mark = 0.7
        set terminal svg size 960,480 font "DejaVu Sans,14" background "#ffffff"
    } else {
        mark = 1
        set terminal pngcairo size 1920,960 font "DejaVu Sans,22" linewidth 2 pointscale 2
    }
    set output sprintf("%s.%s", picture, kind)
    set multiplot
    set label 1 "Tokens, and the direction of largest margin" at screen 0.25, 0.955 center
    set label 2 "Gradient descent turns into that direction" at screen 0.76, 0.955 center
    set label 3 "filled: selected,  hollow: the others,  dashed: the margin\n".\
        "grey: gradient descent after 1, 5 and 10 steps" at screen 0.25, 0.075 center \
        textcolor rgb ink

    # Columns of tokens.dat: sequence, token, selected, x, y.  All other tokens of a sequence lie
    # beyond its dashed line.  In grey: where gradient descent points after a few steps.
    set lmargin at screen 0.02
    set rmargin at screen 0.48
    set tmargin at screen 0.92
    set bmargin at screen 0.12
    set size ratio -1
    set xrange [left:right]
    set yrange [low:high]
    set label 4 "p" at 2.07 * p1, 2.07 * p2 center textcolor rgb ink
    plot for [i = 1:4] tokens using ($1 == i - 1 && $3 == 1 \
             ? along($4, $5) * p1 - 1.6 * p2 : NaN):(along($4, $5) * p2 + 1.6 * p1): \
             (3.2 * p2):(-3.2 * p1) with vectors nohead dashtype 2 linewidth 1 \
             linecolor rgb colour[i], \
         path index 0 using (0):(0):($1 == 1 || $1 == 5 || $1 == 10 ? 1.4 * $3 : NaN):(1.4 * $4) \
             with vectors filled head linewidth 1.5 linecolor rgb light, \
         path index 0 using ($1 == 1 || $1 == 5 || $1 == 10 ? 1.5 * $3 : NaN):(1.5 * $4): \
             (sprintf("%d", $1)) with labels right textcolor rgb light, \
         "+" using (0):(0):(1.9 * p1):(1.9 * p2) every ::0::0 \
             with vectors filled head linewidth 2.5 linecolor rgb ink, \
         for [i = 1:4] tokens using ($1 == i - 1 && $3 == 0 ? $4 : NaN):5 with points \
             pointtype hollow[i] pointsize mark linecolor rgb colour[i] linewidth 1.5, \
         for [i = 1:4] tokens using ($1 == i - 1 && $3 == 1 ? $4 : NaN):5 with points \
             pointtype filled[i] pointsize 1.8 * mark linecolor rgb colour[i]
    unset label

    # Columns of path.dat: step, angle, direction.
    set lmargin at screen 0.58
    set rmargin at screen 0.96
    set tmargin at screen 0.90
    set bmargin at screen 0.16
    set size noratio
    set logscale xy
    set xrange [1:1e5]
    set yrange [0.01:100]
    set border 3 linecolor rgb light
    set format x "10^{%L}"
    set format y "%g°"
    set xtics nomirror textcolor rgb ink
    set ytics nomirror textcolor rgb ink
    set mxtics 1
    set mytics 1
    set xlabel "step" textcolor rgb ink offset 0, 0.3
    set label 1 "gradient descent" at 1e5, 5.5 right textcolor rgb colour[2]
    set label 2 "normalised\ngradient descent" at 4e3, 0.2 right textcolor rgb colour[1]
    set label 3 "angle to p" at graph 0.02, 0.97 textcolor rgb ink
    plot path index 1 using 1:2 with lines linewidth 2.5 linecolor rgb colour[2], \
         path index 0 using 1:2 with lines linewidth 2.5 linecolor rgb colour[1]
    unset logscale
    unset border
    unset tics
    unset xlabel
    unset label
    unset format
    unset multiplot
}
