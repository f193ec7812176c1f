#include "models/studies/decide/decide_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/studies/decide/decide_kernels.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

struct BinarySize {
  double value;
  const char* unit;
};

/// In the largest of B, KiB, MiB... of which it has one or more.
BinarySize binary_size(Bytes size) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(size.count);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return {value, units[unit]};
}

/// The text of a size that is no round number.
std::string about(Bytes size) {
  const BinarySize in = binary_size(size);
  return fmt::format("{:.4g} {}", in.value, in.unit);
}

/// "4" or "1..16".
template <class T, class Text>
std::string span_text(const std::vector<const DecideRow*>& rows, std::size_t first, std::size_t end,
                      T DecideRow::*value, Text text) {
  T low = rows[first]->*value, high = low;
  for (std::size_t i = first; i < end; ++i) {
    low = std::min(low, rows[i]->*value);
    high = std::max(high, rows[i]->*value);
  }
  return low == high ? text(low) : fmt::format("{} .. {}", text(low), text(high));
}

bool is_one_run(const DecideRow& a, const DecideRow& b) {
  return a.decision.algorithm == b.decision.algorithm &&
         (!a.decision.algorithm || a.decision.protocol == b.decision.protocol);
}

std::string time_text(float us) { return fmt::format("{:.{}f}", us, us < 1000 ? 2 : 0); }

std::string ends_text(const std::string& first, const std::string& last) {
  return first == last ? first : fmt::format("{} .. {}", first, last);
}

void add_run(const std::vector<const DecideRow*>& rows, std::size_t first, std::size_t end,
             TextTable& table) {
  const DecideRow &low = *rows[first], &high = *rows[end - 1];
  const std::string sizes = ends_text(to_text(low.requested), to_text(high.requested));
  if (!low.decision.algorithm) {
    table.add({sizes, "none", "none", "NCCL refuses the call"});
    return;
  }
  const auto number = [](int value) { return fmt::format("{}", value); };
  table.add({sizes, std::string(to_text(*low.decision.algorithm)),
             std::string(to_text(low.decision.protocol)),
             span_text(rows, first, end, &DecideRow::channels, number),
             span_text(rows, first, end, &DecideRow::threads, number),
             span_text(rows, first, end, &DecideRow::chunk_bytes,
                       [](std::int64_t bytes) { return chunk_text(Bytes{bytes}); }),
             ends_text(time_text(low.decision.time_us), time_text(high.decision.time_us))});
}

/// "Tree LL below 98.9 KiB, NVLSTree Simple from there on."
std::string cutovers(const std::vector<DecideSegment>& segments) {
  const auto name = [](const DecideSegment& s) {
    return s.algorithm ? choice_text(s.algorithm, s.protocol) : "NCCL refuses the call";
  };
  if (segments.size() == 1) return fmt::format("{} at every size here.", name(segments[0]));
  std::string out = fmt::format("{} below {}", name(segments[0]), about(segments[1].first));
  for (std::size_t i = 1; i + 1 < segments.size(); ++i) {
    out += fmt::format(", {} from there to {}", name(segments[i]), about(segments[i + 1].first));
  }
  return out + fmt::format(", {} from there on.", name(segments.back()));
}

std::string collective_text(const DecideResult& result, const DecideBlock& block,
                            Collective collective) {
  const std::vector<const DecideRow*> rows = rows_of(block, collective);
  if (rows.empty()) return {};
  TextTable table("  ");
  table.add({"size", "algorithm", "protocol", "channels", "threads", "chunk", "predicted us"});
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    for (end = first + 1; end < rows.size() && is_one_run(*rows[first], *rows[end]);) ++end;
    add_run(rows, first, end, table);
  }
  return fmt::format("{}\n{}{}\n{}", decide_head(result, block, collective), table.text(),
                     cutovers(decide_segments(block.communicator, rows)),
                     kernels_text(result.config, rows));
}

}  // namespace

std::string chunk_text(Bytes size) {
  const BinarySize in = binary_size(size);
  const bool whole = in.value == std::floor(in.value);
  return fmt::format("{:.{}f} {}", in.value, whole ? 0 : 1, in.unit);
}

std::string choice_text(std::optional<Algorithm> algorithm, Protocol protocol) {
  if (!algorithm) return "none";
  return fmt::format("{} {}", to_text(*algorithm), to_text(protocol));
}

std::string decide_head(const DecideResult& result, const DecideBlock& block,
                        Collective collective) {
  const NcclCommunicator& made = block.communicator;
  std::string out = fmt::format("{} on {} x {} ({} ranks), NCCL {}, float32", to_text(collective),
                                made.hosts, result.topology, made.ranks, to_text(made.version));
  if (result.config.sharp) out += ", SHARP";
  for (const auto& [name, value] : result.config.environment.variables())
    out += fmt::format(", {}={}", name, value);
  return out;
}

std::vector<const DecideRow*> rows_of(const DecideBlock& block, Collective collective) {
  std::vector<const DecideRow*> rows;
  for (const DecideRow& row : block.rows) {
    if (row.collective == collective) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, {}, [](const DecideRow* row) { return row->requested; });
  return rows;
}

std::string decide_text(const DecideResult& result) {
  std::string out;
  for (const DecideBlock& block : result.blocks) {
    for (const Collective collective : result.config.collectives) {
      const std::string text = collective_text(result, block, collective);
      if (!out.empty() && !text.empty()) out += '\n';
      out += text;
    }
  }
  if (!result.notes.empty()) out += '\n';
  for (const std::string& note : result.notes) out += fmt::format("note: {}\n", note);
  return out;
}

}  // namespace fabricast
