# Draws what examples/planted found: tokens of four sequences in the plane, and how far each falls
# behind the selected token of its sequence.
#
#     gnuplot -e "table='tokens.dat'; picture='planted'" examples/planted.gp
#
# writes planted.svg and planted.png.  Colours: Okabe and Ito's, told apart by every eye; each
# sequence also has a mark of its own.

p1 = real(system(sprintf("awk '/^# p/ { print $3 }' %s", table)))
p2 = real(system(sprintf("awk '/^# p/ { print $4 }' %s", table)))
margin = real(system(sprintf("awk '/^# margin/ { print $3 }' %s", table)))

array colour[4] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"]
array hollow[4] = [6, 4, 8, 12]
array filled[4] = [7, 5, 9, 13]
ink = "#444444"

# The tokens, and the origin, fill the frame.
stats table using 5:6 nooutput
left = (STATS_min_x < 0 ? STATS_min_x : 0) - 0.2
right = (STATS_max_x > 0 ? STATS_max_x : 0) + 0.2
low = (STATS_min_y < 0 ? STATS_min_y : 0) - 0.2
high = (STATS_max_y > 0 ? STATS_max_y : 0) + 0.2
stats table using 4 nooutput
furthest = STATS_max

# Columns of the table: sequence, token, selected, how far behind, x, y.
along(x, y) = x * p1 + y * p2 - margin # where the line of a selected token crosses the axis of p

set key off
unset border
unset tics
do for [kind in "svg png"] {
    if (kind eq "svg") {
        set terminal svg size 960,480 font "DejaVu Sans,14" background "#ffffff"
    } else {
        set terminal pngcairo size 1920,960 font "DejaVu Sans,22" linewidth 2 pointscale 2
    }
    set output sprintf("%s.%s", picture, kind)
    set multiplot
    set label 1 "Four sequences of tokens in the plane" at screen 0.25, 0.955 center
    set label 2 "Tokens along p, behind the selected one" at screen 0.75, 0.955 center
    set label 3 "filled: selected,  hollow: the others,  dashed: the margin" \
        at screen 0.25, 0.045 center textcolor rgb ink
    set label 4 "(x_t − x_α)^Tp" at screen 0.75, 0.045 center textcolor rgb ink

    # The plane.  A dashed line lies the margin behind a selected token; the other tokens of that
    # sequence are all beyond it.
    set lmargin at screen 0.02
    set rmargin at screen 0.48
    set tmargin at screen 0.92
    set bmargin at screen 0.09
    set size ratio -1
    set xrange [left:right]
    set yrange [low:high]
    set arrow 1 from 0,0 to 1.9 * p1, 1.9 * p2 linecolor rgb ink linewidth 2 filled head
    set label 5 "p" at 2.07 * p1, 2.07 * p2 center textcolor rgb ink
    plot for [i = 1:4] table using (column(1) == i - 1 && column(3) == 1 \
             ? along($5, $6) * p1 - 1.6 * p2 : NaN):(along($5, $6) * p2 + 1.6 * p1): \
             (3.2 * p2):(-3.2 * p1) with vectors nohead dashtype 2 linewidth 1 \
             linecolor rgb colour[i], \
         for [i = 1:4] table using ($1 == i - 1 && $3 == 0 ? $5 : NaN):6 with points \
             pointtype hollow[i] pointsize 1 linecolor rgb colour[i] linewidth 1.5, \
         for [i = 1:4] table using ($1 == i - 1 && $3 == 1 ? $5 : NaN):6 with points \
             pointtype filled[i] pointsize 1.8 linecolor rgb colour[i]
    unset arrow 1
    unset label

    # The same tokens along p only.
    set lmargin at screen 0.54
    set rmargin at screen 0.97
    set tmargin at screen 0.88
    set bmargin at screen 0.15
    set size noratio
    set xrange [-furthest - 0.2:0.2]
    set yrange [4.5:0.5]
    set object 1 rectangle from -margin,0.5 to 0,4.5 fillcolor rgb "#ececec" \
        fillstyle solid noborder behind
    set label 1 sprintf("margin %.2f", margin) at -margin / 2, 0.36 center textcolor rgb ink
    set xtics -10, 1, 0 nomirror scale 0 textcolor rgb ink
    plot for [i = 1:4] i with lines linecolor rgb "#dddddd" linewidth 1, \
         for [i = 1:4] table using ($1 == i - 1 && $3 == 0 ? -$4 : NaN):($1 + 1) with points \
             pointtype hollow[i] pointsize 1 linecolor rgb colour[i] linewidth 1.5, \
         for [i = 1:4] table using ($1 == i - 1 && $3 == 1 ? -$4 : NaN):($1 + 1) with points \
             pointtype filled[i] pointsize 1.8 linecolor rgb colour[i]
    unset object 1
    unset label
    unset xtics
    unset multiplot
}
