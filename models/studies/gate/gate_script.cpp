#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "models/studies/gate/gate_files.hpp"
#include "models/studies/gate/gate_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

constexpr std::string_view kHead = R"(#!/bin/sh
# Acceptance test of a cluster: runs nccl-tests and holds each row against a floor.
# {made_by}
#
# usage: {name} [NODES]    one of: {nodes}; default: {first}
#
# Set as the cluster needs it:
#   NCCL_TESTS   folder of all_reduce_perf and others; default: build
#   LAUNCH       what starts a process on each GPU; default: mpirun -np RANKS -N GPUS_PER_NODE.
#                With Slurm: LAUNCH="srun -N 2 --ntasks-per-node 8"
#   LOG          file that the output is kept in; default: gate.log
#
# ends with 0: passes (at most one row in ten is slower than its floor, no value is wrong)
#           1: does not pass    2: nothing, or not all, was measured
nodes=${{1:-{first}}}
)";

constexpr std::string_view kTail = R"(
log=${LOG:-gate.log}
tests=${NCCL_TESTS:-build}
floors=$(floors | awk -v nodes="$nodes" '$1 == nodes')
if [ -z "$floors" ]; then
  echo "gate: there are no floors for $nodes nodes" >&2
  exit 2
fi
ranks=$(echo "$floors" | awk 'NR == 1 { print $2 }')
gpus=$((ranks / nodes))
launch=${LAUNCH:-mpirun -np $ranks -N $gpus$forwarded}
: > "$log" || exit 2
echo "$floors" | awk '{ print $3 }' | sort -u | while read -r collective; do
  echo "# gate: $collective" >> "$log"
  runs "$collective" | while read -r sizes; do
    # shellcheck disable=SC2086
    $launch "$tests/${collective}_perf" $sizes -g 1 < /dev/null >> "$log" 2>&1 ||
      echo "gate: ${collective}_perf ended with $?" >&2
  done
done

# Rows of nccl-tests end in time, algbw, busbw and #wrong, out of place and in place.
{ echo "$floors"; echo "# gate: rows"; cat "$log"; } | awk '
  !rows && /^# gate: rows/ { rows = 1; next }
  !rows { n++; ranks = $2; collective[n] = $3; size[n] = $4; most[n] = $5; floor[n] = $6; next }
  /^# gate: / { now = $3; next }
  { sub(/^[0-9]+: /, ""); sub(/^\[[^]]*\]<[^>]*>:? ?/, "") }
  $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 12 && NF <= 13 {
    for (i = 1; i <= n; i++) {
      # nccl-tests rounds a size down to whole elements of each rank.
      if (collective[i] != now || $1 > size[i] || size[i] - $1 >= 64 * ranks) continue
      if (i in time) continue
      time[i] = $(NF - 7); busbw[i] = $(NF - 5)
      if ($(NF - 4) ~ /^[0-9.e+]+$/ && $(NF - 4) > 0) wrong++
    }
  }
  END {
    for (i = 1; i <= n; i++) {
      if (!(i in time)) {
        printf "MISS  %s %d B: not in the output\n", collective[i], size[i]; missing++; continue
      }
      slow = time[i] > most[i]; failed += slow
      printf "%s  %s %d B: %.1f us, at most %.1f; busbw %.2f GB/s, floor %.2f\n",
             slow ? "SLOW" : "ok  ", collective[i], size[i], time[i], most[i], busbw[i], floor[i]
    }
    if (wrong) print "WRONG values"
    if (missing) { print "gate: not all was measured: look into the log"; exit 2 }
    if (wrong || 10 * failed > n) { print "gate: FAIL"; exit 1 }
    print "gate: PASS"
  }'
)";

/// "-b 1073741824 -e 8589934592 -f 2", or a line for each size where doubling does not lead from
/// one to the next of them.
std::vector<std::string> launches(const std::vector<Bytes>& sizes) {
  const auto [least, most] = std::ranges::minmax(sizes, {}, &Bytes::count);
  std::size_t met = 0, steps = 0;
  constexpr std::size_t kStepsPerSize = 4;  // more rows that nobody asked for are a waste
  for (std::int64_t size = least.count; size <= most.count; size *= 2, ++steps)
    met += std::ranges::find(sizes, Bytes{size}) != sizes.end() ? 1 : 0;
  if (met == sizes.size() && steps <= kStepsPerSize * sizes.size())
    return {fmt::format("-b {} -e {} -f 2", least.count, most.count)};
  std::vector<std::string> out;
  for (const Bytes size : sizes) out.push_back(fmt::format("-b {0} -e {0}", size.count));
  return out;
}

std::string environment_lines(const GateConfig& config) {
  std::string out, forwarded;
  for (const auto& [name, value] : config.environment.variables()) {
    out += fmt::format("export {}={}\n", name, shell_word(value));
    forwarded += " -x " + name;
  }
  return out + fmt::format("forwarded=\"{}\"\n", forwarded);
}

}  // namespace

std::string gate_script(const GateResult& result) {
  const std::vector<int> nodes = result.nodes();
  std::string floors;
  for (const GateBlock& block : result.blocks)
    for (std::size_t row = 0; row < block.expected.rows.size(); ++row)
      floors +=
          fmt::format("{} {} {} {} {:.3f} {:.3f}\n", block.expected.nodes, block.expected.ranks,
                      to_text(block.collective), block.expected.rows[row].size.count,
                      block.floor_us(row), block.busbw_GBps(row, block.floor_us(row)));
  std::string made_by = "Made by: " + gate_command(result);
  std::ranges::replace(made_by, '\n', ' ');
  std::string out = fmt::format(
      kHead,
      fmt::arg("made_by", made_by + fmt::format(": floors that {} % of healthy runs reach",
                                                per_cent(result.config.healthy_share))),
      fmt::arg("name", "gate.sh"), fmt::arg("nodes", fmt::join(nodes, " ")),
      fmt::arg("first", nodes.front()));
  out += environment_lines(result.config);
  out +=
      "\n# nodes, ranks, collective, bytes, at most us, busbw GB/s\nfloors() {\n  cat <<'EOF'\n" +
      floors + "EOF\n}\n";
  out += "runs() {\n  cat <<'EOF'\n";
  for (const std::string& line : launches(result.config.sizes)) out += line + "\n";
  return out + "EOF\n}\n" + std::string(kTail);
}

}  // namespace fabricast
