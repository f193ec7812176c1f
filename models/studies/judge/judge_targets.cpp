#include "models/studies/judge/judge_targets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "models/io/formats/csv_table.hpp"
#include "models/io/formats/text_file.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

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
    const auto size = row.bytes("size_bytes");
    const auto expected = row.positive("expected_busbw_GBps");
    const auto least = row.positive("least_busbw_GBps");
    if (!size || !expected || !least)
      throw Error(row.place(), "size_bytes, expected_busbw_GBps and least_busbw_GBps are needed");
    if (*least > *expected)
      throw Error(row.place("least_busbw_GBps"),
                  fmt::format("{:g} is above what is expected, {:g}", *least, *expected),
                  "the least is what is acceptable still");
    out.push_back({*collective, *size, *expected, *least});
  }
  if (out.empty())
    throw Error(Place{file, 0, {}}, "no target is in it", "a row for each size to be reached");
  return out;
}

std::vector<Target> load_targets(const std::string& file) {
  return parse_targets(read_text_file(file, "--targets takes a CSV file"), file);
}

std::string_view JudgedTarget::verdict() const {
  if (measured >= target.expected) return "reached";
  return measured >= target.least ? "acceptable" : "missed";
}

std::vector<JudgedTarget> judge_targets(JudgeResult& result, const std::vector<Target>& targets) {
  std::vector<JudgeRow> rows = result.rows;
  std::ranges::stable_sort(rows, {}, &JudgeRow::size);
  std::vector<JudgedTarget> out;
  int of_others = 0, beyond = 0;
  for (const Target& target : targets) {
    if (target.collective != result.config.collective) {
      ++of_others;
      continue;
    }
    const auto measured = time_at(target.size, rows, &JudgeRow::measured_us);
    const auto predicted = time_at(target.size, rows, &JudgeRow::expected_us);
    if (!measured || !predicted) {
      ++beyond;
      continue;
    }
    const auto busbw = [&](double us) {
      return busbw_GBps(target.collective, result.ranks, target.size,
                        Duration{static_cast<std::int64_t>(us * 1e6)});
    };
    out.push_back({target, busbw(*measured), busbw(*predicted)});
  }
  std::vector<std::string> left_out;
  if (of_others > 0) left_out.push_back(fmt::format("{} of other collectives", of_others));
  if (beyond > 0) left_out.push_back(fmt::format("{} of sizes beyond the rows", beyond));
  if (!left_out.empty())
    result.notes.push_back(
        fmt::format("targets that are not held against this table: {}", fmt::join(left_out, ", ")));
  return out;
}

}  // namespace fabricast
