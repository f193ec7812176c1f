#include "models/studies/judge/judge_targets.hpp"

#include <algorithm>
#include <cmath>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/text_file.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr int kSizeMax = 2'000'000'000;

/// The time at `size` from rows in ascending order of size; nothing outside of them.
std::optional<double> time_at(Bytes size, const std::vector<JudgeRow>& rows,
                              double JudgeRow::*time) {
  const auto above = std::ranges::find_if(rows, [&](const JudgeRow& r) { return r.size >= size; });
  if (above == rows.end()) return std::nullopt;
  if (above->size == size) return *above.*time;
  if (above == rows.begin()) return std::nullopt;
  const JudgeRow& below = *(above - 1);
  const double share =
      std::log(static_cast<double>(size.count) / static_cast<double>(below.size.count)) /
      std::log(static_cast<double>(above->size.count) / static_cast<double>(below.size.count));
  return std::exp(std::log(below.*time) * (1 - share) + std::log(*above.*time) * share);
}

}  // namespace

std::vector<Target> parse_targets(const std::string& text, const std::string& file) {
  const CsvTable table(text, file);
  std::vector<std::string> known;
  for (const Collective c : kAllCollectives) known.emplace_back(to_text(c));
  std::vector<Target> out;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const CsvRow row = table.row(i);
    const std::string& name = row.text("collective");
    const auto collective = collective_from_text(name);
    if (!collective)
      throw Error(row.place("collective"), "unknown collective \"" + name + "\"",
                  hint_nearest(name, known));
    const auto size = row.whole("size_bytes", 1, kSizeMax);
    const auto expected = row.positive("expected_busbw_GBps");
    const auto least = row.positive("least_busbw_GBps");
    if (!size || !expected || !least)
      throw Error(row.place(), "size_bytes, expected_busbw_GBps and least_busbw_GBps are needed");
    out.push_back({*collective, Bytes{*size}, *expected, *least});
  }
  return out;
}

std::vector<Target> load_targets(const std::string& file) {
  return parse_targets(read_text_file(file, "--targets takes a CSV file"), file);
}

std::string_view JudgedTarget::verdict() const {
  if (measured >= target.expected) return "reached";
  return measured >= target.least ? "acceptable" : "missed";
}

std::vector<JudgedTarget> judge_targets(const JudgeResult& result,
                                        const std::vector<Target>& targets) {
  std::vector<JudgeRow> rows = result.rows;
  std::ranges::stable_sort(rows, {}, &JudgeRow::size);
  std::vector<JudgedTarget> out;
  for (const Target& target : targets) {
    if (target.collective != result.config.collective) continue;
    const auto measured = time_at(target.size, rows, &JudgeRow::measured_us);
    const auto predicted = time_at(target.size, rows, &JudgeRow::expected_us);
    if (!measured || !predicted) continue;
    const auto busbw = [&](double us) {
      return busbw_GBps(target.collective, result.ranks, target.size,
                        Duration{static_cast<std::int64_t>(us * 1e6)});
    };
    out.push_back({target, busbw(*measured), busbw(*predicted)});
  }
  return out;
}

}  // namespace fabricast
