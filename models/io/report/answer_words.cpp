#include "models/io/report/answer_words.hpp"

#include <fmt/format.h>

#include "text/unit_text.hpp"

namespace fabricast::answers {

std::string us(double value) {
  if (value >= 999'950) return fmt::format("{:.4g} s", value / 1e6);
  if (value >= 999.95) return fmt::format("{:.4g} ms", value / 1e3);
  return fmt::format("{:.4g} us", value);
}

std::string seconds(double value) { return us(value * 1e6); }

std::string size(const AnswerRows& rows, std::size_t row, std::string_view column) {
  const double bytes = rows.number(row, column);
  const Bytes exact{static_cast<std::int64_t>(bytes)};
  const std::string text = to_text(exact);
  if (exact.count < 1024 || !text.ends_with(" B")) return text;
  if (bytes >= 1 << 20) return fmt::format("{:.4g} MiB", bytes / (1 << 20));
  return fmt::format("{:.4g} KiB", bytes / 1024);
}

std::string whole(const AnswerRows& rows, std::size_t row, std::string_view column) {
  return fmt::format("{:.0f}", rows.number(row, column));
}

std::string counted(double count, std::string_view what) {
  return fmt::format("{:.0f} {}{}", count, what, count == 1 ? "" : "s");
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string choice(const AnswerRows& rows, std::size_t row) {
  const std::string protocol = rows.text(row, "protocol");
  return rows.text(row, "algorithm") + (protocol.empty() ? "" : " " + protocol);
}

std::string call(const AnswerRows& rows, std::size_t row) {
  const std::string collective = rows.text(row, "collective");
  if (collective == "step") return "The step";
  return fmt::format("{} of {} on {}", collective, size(rows, row),
                     counted(rows.number(row, "nodes"), "node"));
}

}  // namespace fabricast::answers
