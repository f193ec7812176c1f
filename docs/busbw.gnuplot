# Two curves for each of two ways to wire two NICs. Input: CSV of `fabricast bench` in `work`.
set terminal svg size 820,440 font "sans,13" background "white"
set datafile separator ","
set logscale x 2
set xlabel "message size"
set ylabel "bus bandwidth, GB/s"
set title "all\\_reduce on 2 x 8 H200 with 2 NDR NICs per node (predicted, NCCL 2.21.5)"
set xtics ("64 KiB" 2**16, "1 MiB" 2**20, "16 MiB" 2**24, "256 MiB" 2**28, "4 GiB" 2**32)
set grid lc rgb "#dddddd"
set key top left
set yrange [0:200]
set xrange [2**16:2**33]
two = "NICs on one x16 link"
split = "a NIC per socket"
plot work."/hgx-h200-2nic-split-Tree.csv" using 2:11 skip 1 with lines lw 2 lc rgb "#1f77b4" title "Tree, ".split, \
     work."/hgx-h200-2nic-Tree.csv" using 2:11 skip 1 with lines lw 2 dt 2 lc rgb "#1f77b4" title "Tree, ".two, \
     work."/hgx-h200-2nic-split-Ring.csv" using 2:11 skip 1 with lines lw 2 lc rgb "#d62728" title "Ring, ".split, \
     work."/hgx-h200-2nic-Ring.csv" using 2:11 skip 1 with lines lw 2 dt 2 lc rgb "#d62728" title "Ring, ".two
