#include "models/studies/cutover/cutover_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/counted.hpp"
#include "text/quoting.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr double kLossShown = 0.05;

std::string suffix(Protocol protocol) {
  return protocol == Protocol::ll ? "LL" : protocol == Protocol::ll128 ? "128" : "S";
}

/// For a map: "R128", "TLL", "NVT"; custom ones are "X.LL", "X1.S", or "X" where the file says the
/// protocol.
std::string short_name(const CutoverResult& result, const Contender& contender) {
  std::string out;
  if (contender.engine) return std::string(kEngineWords[contender.engine->engine]);
  if (contender.registered != Registration::none) return "reg";
  if (contender.custom) {
    const auto& all = result.config.custom;
    const auto number = std::ranges::find(all, contender.custom) - all.begin();
    out = all.size() == 1 ? "X" : fmt::format("X{}", number + 1);
    return contender.custom->protocol ? out : out + "." + suffix(contender.protocol);
  }
  switch (contender.algorithm) {
    case Algorithm::ring:
      out = "R";
      break;
    case Algorithm::tree:
      out = "T";
      break;
    case Algorithm::collnet_direct:
      return "CND";
    case Algorithm::collnet_chain:
      return "CNC";
    case Algorithm::nvls:
      return "NV";
    case Algorithm::nvls_tree:
      return "NVT";
    case Algorithm::pat:
      return "PAT";
  }
  return out + suffix(contender.protocol);
}

/// "1.1 MiB": three digits are more than a bisection knows.
std::string about(Bytes size) {
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {std::int64_t{1} << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}};
  for (const auto& [unit, name] : kUnits) {
    if (size.count >= unit)
      return fmt::format("{:.3g} {}", static_cast<double>(size.count) / static_cast<double>(unit),
                         name);
  }
  return "0 B";
}

std::string cell_text(const CutoverResult& result, const std::optional<CutoverCell>& cell) {
  if (!cell || !cell->fastest) return "-";
  const bool loses = cell->loss() >= kLossShown;
  return short_name(result, result.contenders[*cell->fastest]) +
         (cell->times[*cell->fastest]->extrapolated ? "~" : "") + (loses ? "*" : "");
}

std::string map_text(const CutoverResult& result) {
  struct Line {
    Bytes first, last;
    std::vector<std::string> cells;
  };
  std::vector<Line> lines;
  for (std::size_t i = 0; i < result.config.sizes.size(); ++i) {
    Line line{result.config.sizes[i], result.config.sizes[i], {}};
    for (const CutoverColumn& column : result.columns)
      line.cells.push_back(cell_text(result, column.cells[i]));
    if (!lines.empty() && lines.back().cells == line.cells) {
      lines.back().last = line.last;
    } else {
      lines.push_back(std::move(line));
    }
  }
  TextTable table;
  table.align_right(0);
  std::vector<std::string> head = {"nodes"};
  for (const CutoverColumn& column : result.columns) head.push_back(std::to_string(column.nodes));
  table.add(head);
  for (const Line& line : lines) {
    std::vector<std::string> cells = {line.first == line.last
                                          ? to_text(line.first)
                                          : to_text(line.first) + " .. " + to_text(line.last)};
    cells.insert(cells.end(), line.cells.begin(), line.cells.end());
    table.add(std::move(cells));
  }
  return table.text();
}

/// "T LL, from 64 KiB T LL128, from 3.2 MiB (2.1 .. 4.4 MiB) NVLSTree"
std::string sequence(const CutoverResult& result, const CutoverColumn& column,
                     const std::vector<Cutover>& cutovers, bool chosen) {
  const auto name = [&](std::size_t contender) { return to_text(result.contenders[contender]); };
  if (cutovers.empty()) {
    for (const auto& cell : column.cells) {
      const auto which = !cell ? std::nullopt : chosen ? cell->chosen : cell->fastest;
      if (which) return name(*which);
    }
    return "nothing";
  }
  std::string out = name(cutovers.front().from);
  for (const Cutover& cutover : cutovers) {
    out += fmt::format(", from {}", about(cutover.size));
    if (cutover.first != cutover.last)
      out += fmt::format(" ({} .. {})", about(cutover.first), about(cutover.last));
    out += " " + name(cutover.to);
  }
  return out;
}

std::string cutovers_text(const CutoverResult& result) {
  std::string out = "# Cutover sizes (in brackets: where the two are within ";
  out += fmt::format("{:.0f} %, which is how far such ratios are off):\n", 100 * kNear);
  for (const CutoverColumn& column : result.columns) {
    out +=
        fmt::format("#   {}, {}\n", counted(column.nodes, "node"), counted(column.ranks, "rank"));
    out += fmt::format("#     fastest: {}\n", sequence(result, column, column.fastest, false));
    out += fmt::format("#     NCCL:    {}\n", sequence(result, column, column.chosen, true));
  }
  return out;
}

std::string losses_text(const CutoverResult& result) {
  TextTable table("#   ");
  table.add({"nodes", "sizes", "NCCL takes", "faster", "NCCL's time over it, at most"});
  bool any = false;
  for (const CutoverColumn& column : result.columns) {
    for (std::size_t i = 0; i < column.cells.size();) {
      const auto loses = [&](std::size_t k) {
        return k < column.cells.size() && column.cells[k] && column.cells[k]->loss() >= kLossShown;
      };
      if (!loses(i)) {
        ++i;
        continue;
      }
      const std::size_t first = i;
      double most = 0;
      for (; loses(i) && column.cells[i]->chosen == column.cells[first]->chosen &&
             column.cells[i]->fastest == column.cells[first]->fastest;
           ++i)
        most = std::max(most, column.cells[i]->loss());
      const CutoverCell& cell = *column.cells[first];
      const Bytes from = result.config.sizes[first], to = result.config.sizes[i - 1];
      table.add({std::to_string(column.nodes),
                 from == to ? to_text(from) : to_text(from) + " .. " + to_text(to),
                 to_text(result.contenders[*cell.chosen]),
                 to_text(result.contenders[*cell.fastest]), fmt::format("{:.2f}", 1 + most)});
      any = true;
    }
  }
  if (!any)
    return fmt::format("# NCCL's choice is nowhere more than {:.0f} % behind.\n", 100 * kLossShown);
  return fmt::format("# Where NCCL's choice is {:.0f} % behind or more, marked * above:\n",
                     100 * kLossShown) +
         table.text();
}

std::string variants_text(const CutoverResult& result,
                          const std::vector<CutoverVariant>& variants) {
  std::string out = "# What moves the cutovers:\n";
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    out += fmt::format("#   {} nodes: {}\n", result.columns[i].nodes,
                       sequence(result, result.columns[i], result.columns[i].fastest, false));
    for (const CutoverVariant& variant : variants) {
      const CutoverColumn& column = variant.result.columns[i];
      out += fmt::format("#     {}: {}\n", variant.name,
                         sequence(variant.result, column, column.fastest, false));
    }
  }
  return out;
}

}  // namespace

std::string cutover_text(const CutoverResult& result, const std::vector<CutoverVariant>& variants) {
  std::string out = fmt::format("# {} on {}, NCCL {}: the fastest by simulation\n",
                                to_text(result.config.collective), result.topology,
                                to_text(result.config.version));
  out += map_text(result);
  std::string legend;
  for (const Contender& contender : result.contenders)
    legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ", short_name(result, contender),
                          to_text(contender));
  out += fmt::format("# {}; ~ extrapolated\n#\n", legend);
  out += cutovers_text(result) + "#\n" + losses_text(result);
  if (!variants.empty()) out += "#\n" + variants_text(result, variants);
  for (const std::string& note : result.notes) out += fmt::format("# note: {}\n", note);
  return out;
}

}  // namespace fabricast
