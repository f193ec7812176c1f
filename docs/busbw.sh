#!/usr/bin/env bash
# Draws docs/busbw.svg from predictions. usage: docs/busbw.sh build/fabricast   (needs gnuplot-nox)
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
for topology in hgx-h200-2nic hgx-h200-2nic-split; do
  for algorithm in Ring Tree; do
    "$program" bench --topology $topology --nodes 2 --sizes 64KiB..8GiB \
      --env NCCL_ALGO=$algorithm --format csv 2> "$work/notes" > "$work/$topology-$algorithm.csv"
  done
done
gnuplot -e "work='$work'" busbw.gnuplot > busbw.svg
