#include "models/studies/bench/bench_p2p_text.hpp"

#include <fmt/format.h>

#include "models/nccl/communicator/p2p_call.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

/// "Simple, 2 parts, chunks of 128 KiB"
std::string cut_text(const P2pCut& cut) {
  return fmt::format("{}, {} part{}, chunks of {}", to_text(cut.part.protocol), cut.split.parts,
                     cut.split.parts == 1 ? "" : "s", to_text(cut.part.chunk));
}

std::string row_text(const BenchRow& row) {
  const CollectiveRun& run = row.decided.run;
  std::string out = fmt::format("{} channels", run.channels);
  if (const auto remote = p2p_cut(run, row.ranks, true))
    out += fmt::format("; to other nodes {}", cut_text(*remote));
  if (const auto local = p2p_cut(run, row.ranks, false))
    out += fmt::format("; in the node {}", cut_text(*local));
  return out;
}

}  // namespace

std::string size_range(const BenchRow& first, const BenchRow& last) {
  return &first == &last ? to_text(first.size)
                         : fmt::format("{} .. {}", to_text(first.size), to_text(last.size));
}

std::string p2p_choices(const std::vector<const BenchRow*>& rows) {
  std::string out = "# How NCCL sends each message:\n";
  for (std::size_t i = 0, j = 0; i < rows.size(); i = j) {
    const std::string text = row_text(*rows[i]);
    while (j < rows.size() && row_text(*rows[j]) == text) ++j;
    out += fmt::format("#   {:<22} {}\n", size_range(*rows[i], *rows[j - 1]), text);
  }
  return out;
}

}  // namespace fabricast
