#include "models/studies/whatif_text.hpp"

#include <fmt/format.h>

#include "models/io/counted.hpp"
#include "models/io/text_table.hpp"
#include "models/io/unit_text.hpp"

namespace fabricast {

namespace {

std::string us(double time) {
  return time >= 1000 ? fmt::format("{:.1f}", time) : fmt::format("{:.2f}", time);
}

/// "+12.3 us (4.1 %)" of what it took before.
std::string gain(double gain_us, double before_us) {
  if (gain_us == 0) return "0";
  return fmt::format("{:+.2f} ({:+.1f} %)", gain_us, 100 * gain_us / before_us);
}

std::string row_text(const WhatifResult& result, const WhatifRow& row) {
  std::string out = fmt::format("# {} {} on {} ranks, {} nodes\n", to_text(row.size),
                                to_text(row.collective), row.ranks, row.nodes);
  out += fmt::format("#   before: {} us, busbw {:.2f} GB/s ({})\n", us(row.before_us),
                     row.before_busbw, row.before_choice);
  out += fmt::format("#   after:  {} us, busbw {:.2f} GB/s ({}): {:.3f} of the time\n",
                     us(row.after_us), row.after_busbw, row.after_choice,
                     row.after_us / row.before_us);
  if (!row.mechanism.empty()) out += fmt::format("#   {}\n", row.mechanism);
  TextTable table("  ");
  table.add({"us saved by", "alone", "in order", "as the last", "Shapley"});
  for (std::size_t i = 0; i < row.worths.size(); ++i) {
    const Worth& worth = row.worths[i];
    table.add({result.factors[i].text(), gain(worth.alone_us, row.before_us),
               gain(worth.in_order_us, row.before_us), gain(worth.last_us, row.before_us),
               gain(worth.shapley_us, row.before_us)});
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

}  // namespace

std::string whatif_text(const WhatifResult& result) {
  std::string out = fmt::format("# {} changed, {} combinations simulated\n",
                                counted(std::ssize(result.factors), "thing"), result.runs);
  for (const WhatifRow& row : result.rows) out += "#\n" + row_text(result, row);
  for (const std::string& note : result.notes) out += fmt::format("# note: {}\n", note);
  return out;
}

std::string whatif_csv(const WhatifResult& result) {
  std::string out =
      "collective,nodes,ranks,size_bytes,before_us,after_us,factor,alone_us,in_order_us,last_us,"
      "shapley_us\n";
  for (const WhatifRow& row : result.rows) {
    for (std::size_t i = 0; i < row.worths.size(); ++i) {
      const Worth& worth = row.worths[i];
      out += fmt::format("{},{},{},{},{:.3f},{:.3f},\"{}\",{:.3f},{:.3f},{:.3f},{:.3f}\n",
                         to_text(row.collective), row.nodes, row.ranks, row.size.count,
                         row.before_us, row.after_us, result.factors[i].text(), worth.alone_us,
                         worth.in_order_us, worth.last_us, worth.shapley_us);
    }
  }
  return out;
}

}  // namespace fabricast
