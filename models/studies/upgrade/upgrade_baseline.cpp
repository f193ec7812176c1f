#include "models/studies/upgrade/upgrade_baseline.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "models/studies/shared/read_report.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// Target, collective, nodes, first size.
using Key = std::tuple<std::string, std::string, int, std::int64_t>;
struct Found {
  std::string choice;            ///< "Ring Simple to NVLSTree"
  std::optional<double> change;  ///< of time; nothing = not simulated
};
using Stretches = std::map<Key, Found>;

std::string found_text(const Found& found) {
  if (!found.change) return found.choice;
  return fmt::format("{}, {:+.1f} %", found.choice, *found.change * 100);
}

/// "none" is no algorithm: the call was refused.
std::string choice_text(const std::string& algorithm, const std::string& protocol) {
  CallKey out;
  out.algorithm = algorithm_from_text(algorithm);
  out.protocol = protocol_from_text(protocol).value_or(Protocol::simple);
  return out.choice();
}

Stretches stretches_of(const UpgradeResult& result) {
  Stretches out;
  for (const UpgradeChange& change : result.changes) {
    for (const UpgradeStretch& one : change.stretches) {
      const bool timed = one.before_us > 0 && one.after_us > 0;
      out[{result.config.targets[change.target].name, std::string(to_text(change.collective)),
           one.nodes, one.first.count}] = {one.before.choice() + " to " + one.after.choice(),
                                           timed ? std::optional(one.change()) : std::nullopt};
    }
  }
  return out;
}

Stretches stretches_in(const std::string& text, const std::string& file) {
  const ReadReport report(text, file, "upgrade", "fabricast upgrade --json");
  const ReadReport::Table rows = report.table("rows");
  Stretches out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto nodes = to_number<int>(rows.text(i, "nodes"));
    const auto first = to_number<std::int64_t>(rows.text(i, "first_bytes"));
    if (!nodes || !first) report.refuse();
    out[{rows.text(i, "topology"), rows.text(i, "collective"), *nodes, *first}] = {
        choice_text(rows.text(i, "before_algorithm"), rows.text(i, "before_protocol")) + " to " +
            choice_text(rows.text(i, "after_algorithm"), rows.text(i, "after_protocol")),
        finite_number(rows.text(i, "change"))};
  }
  return out;
}

bool is_same(const Found& a, const Found& b, double tolerance) {
  if (a.choice != b.choice || a.change.has_value() != b.change.has_value()) return false;
  return !a.change || std::abs(*a.change - *b.change) <= tolerance * (1 + std::abs(*a.change));
}

std::string place_text(const Key& key) {
  const auto& [target, collective, nodes, first] = key;
  return fmt::format("{}, {} on {} from {}", target, collective, counted(nodes, "node"),
                     to_text(Bytes{first}));
}

}  // namespace

std::vector<UpgradeDrift> compare_upgrade(const UpgradeResult& result, const std::string& text,
                                          const std::string& file, double tolerance) {
  const Stretches before = stretches_in(text, file), after = stretches_of(result);
  std::vector<UpgradeDrift> out;
  for (const auto& [key, was] : before) {
    const auto now = after.find(key);
    if (now == after.end())
      out.push_back({place_text(key), found_text(was), ""});
    else if (!is_same(was, now->second, tolerance))
      out.push_back({place_text(key), found_text(was), found_text(now->second)});
  }
  for (const auto& [key, now] : after)
    if (!before.contains(key)) out.push_back({place_text(key), "", found_text(now)});
  return out;
}

std::string drift_text(const std::vector<UpgradeDrift>& drifts, const std::string& file) {
  if (drifts.empty()) return fmt::format("as in {}\n", file);
  std::string out = fmt::format(
      "{} not as in {}:\n",
      drifts.size() == 1 ? "1 stretch is" : fmt::format("{} stretches are", drifts.size()), file);
  const auto or_none = [](const std::string& text) {
    return text.empty() ? std::string("runs as before") : text;
  };
  for (const UpgradeDrift& one : drifts)
    out +=
        fmt::format("  {}: {}; it was: {}\n", one.where, or_none(one.after), or_none(one.before));
  return out;
}

}  // namespace fabricast
