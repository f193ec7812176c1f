#include "models/studies/whatif/whatif_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

std::string us(double time) {
  return time >= 1000 ? fmt::format("{:.1f}", time) : fmt::format("{:.2f}", time);
}

std::string time_with_unit(const WorkRow& row) {
  return row.collective ? us(row.time_us) + " us" : time_text(row.time_us * 1e-6);
}

std::string rate(const WorkRow& row) {
  return row.collective ? fmt::format("busbw {:.2f} GB/s", row.busbw_GBps)
                        : fmt::format("{:.0f} tokens/s", row.tokens_per_s);
}

/// "saves 12.30 (4.1 %)" of what it took before, in us or ms.
std::string gain(std::optional<double> gain_us, const WorkRow& before) {
  if (!gain_us) return "refused";
  if (gain_us == 0) return "0";
  const double size = std::abs(*gain_us);
  return fmt::format("{} {:.2f} ({:.1f} %)", *gain_us > 0 ? "saves" : "costs",
                     before.collective ? size : size * 1e-3, 100 * size / before.time_us);
}

/// "0.61 .. 1.20", where measured ratios lie.
std::string band_cell(const std::optional<RatioBand>& ratio) {
  if (!ratio || ratio->lower == ratio->upper) return "";
  return fmt::format("{:.2f} .. {:.2f}", ratio->lower, ratio->upper);
}

/// " (80 %: 0.61 .. 1.20)"
std::string in_brackets(const std::string& band) {
  return band.empty() ? "" : fmt::format(" (80 %: {})", band);
}

std::string row_text(const WhatifResult& result, const WhatifRow& row) {
  std::string out = fmt::format("# {}\n", row.before.what);
  out += fmt::format("#   before: {}, {} ({})\n", time_with_unit(row.before), rate(row.before),
                     row.before.choice);
  out += fmt::format("#   after:  {}, {} ({}): {:.3f} of the time{}\n", time_with_unit(row.after),
                     rate(row.after), row.after.choice, row.after.time_us / row.before.time_us,
                     in_brackets(band_cell(row.ratio)));
  if (!row.mechanism.empty()) out += fmt::format("#   {}\n", row.mechanism);
  TextTable table("  ");
  table.add(
      {row.before.collective ? "in us" : "in ms", "alone", "in order", "as the last", "Shapley"});
  for (std::size_t i = 0; i < row.worths.size(); ++i) {
    const Worth& worth = row.worths[i];
    table.add({result.factors[i].text(), gain(worth.alone_us, row.before),
               gain(worth.in_order_us, row.before), gain(worth.last_us, row.before),
               gain(worth.shapley_us, row.before)});
  }
  for (std::size_t column = 1; column <= 4; ++column) table.align_right(column);
  out += table.text();
  for (std::size_t i = 0; i < row.worths.size(); ++i) {
    const std::string& words = row.worths[i].mechanism;
    out += fmt::format("#   {}: {}\n", result.factors[i].text(),
                       words.empty() ? "changes nothing here" : words);
  }
  return out;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += fmt::format("# note: {}\n", note);
  return out;
}

}  // namespace

std::string whatif_text(const WhatifResult& result) {
  std::string out = fmt::format("# {} changed, {} combinations simulated\n",
                                counted(std::ssize(result.factors), "thing"), result.runs);
  out +=
      "# Shapley: what a change saves or costs on average over all orders of making the changes;\n"
      "# added up over the changes it is the difference between before and after.\n";
  for (const WhatifRow& row : result.rows) out += "#\n" + row_text(result, row);
  return out + notes_text(result.notes);
}

std::string whatif_text(const WhatifTable& table) {
  std::string out = fmt::format("# {} setups, each against the first: \"{}\"\n", table.runs.size(),
                                table.names.front());
  const std::vector<WorkRow>& first = table.runs.front().rows;
  for (std::size_t r = 0; r < first.size(); ++r) {
    out += fmt::format("#\n# {}\n", first[r].what);
    TextTable lines("  ");
    lines.add({"", "time", "of the first", "80 % lie in", "rate",
               first[r].collective ? "choice" : "beside work"});
    for (std::size_t i = 0; i < table.runs.size(); ++i) {
      const WorkRow& row = table.runs[i].rows[r];
      lines.add({table.names[i], time_with_unit(row),
                 fmt::format("{:.3f}", row.time_us / first[r].time_us),
                 band_cell(table.ratios[i][r]), rate(row), row.choice});
    }
    for (const std::size_t column : {1U, 2U, 3U, 4U}) lines.align_right(column);
    out += lines.text();
    for (std::size_t i = 1; i < table.runs.size(); ++i) {
      const std::string words = mechanism(table.runs.front(), table.runs[i], r);
      out += fmt::format("#   {}: {}\n", table.names[i],
                         words.empty() ? "changes nothing here" : words);
    }
  }
  if (first.size() > 1) {
    out += "#\n# all of it, one after another\n";
    TextTable lines("  ");
    for (std::size_t i = 0; i < table.runs.size(); ++i)
      lines.add({table.names[i], us(table.total_us(i)) + " us",
                 fmt::format("{:.3f}", table.total_us(i) / table.total_us(0))});
    lines.align_right(1);
    out += lines.text();
  }
  return out + notes_text(table.notes);
}

}  // namespace fabricast
