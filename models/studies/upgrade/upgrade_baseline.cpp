#include "models/studies/upgrade/upgrade_baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "models/studies/shared/read_report.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// Target, collective, nodes.
using Key = std::tuple<std::string, std::string, int>;

struct Stretch {
  Bytes first, last, size;       ///< `size`: the one that is simulated
  CallKey before, after;         ///< there
  std::optional<double> change;  ///< of time; nothing = not simulated
};

/// An answer and what it was asked for.
struct Answer {
  std::set<Key> calls;
  std::set<std::int64_t> sizes;
  std::map<Key, std::vector<Stretch>> stretches;

  bool is_asked(const Key& key, Bytes size) const {
    return calls.contains(key) && sizes.contains(size.count);
  }
  /// What runs otherwise at this size; nullptr = nothing does.
  const Stretch* at(const Key& key, Bytes size) const {
    const auto all = stretches.find(key);
    if (all == stretches.end()) return nullptr;
    const auto found = std::ranges::find_if(
        all->second, [&](const Stretch& one) { return one.first <= size && size <= one.last; });
    return found == all->second.end() ? nullptr : &*found;
  }
};

/// "Ring Simple to NVLSTree"; of equal choices what else differs, "Tree LL128, 16 to 12 channels".
std::string run_text(const Stretch& one) {
  const CallKey &before = one.before, &after = one.after;
  const CallDifference differs = difference(before, after, true);
  if (differs.choice) return before.choice() + " to " + after.choice();
  std::string out = before.choice();
  if (differs.channels)
    out += fmt::format(", {} to {}", before.channels, counted(after.channels, "channel"));
  if (differs.threads)
    out += fmt::format(", {} to {}", before.threads, counted(after.threads, "thread"));
  if (differs.chunk)
    out += fmt::format(", chunks of {} to {}", to_text(Bytes{before.chunk_bytes}),
                       to_text(Bytes{after.chunk_bytes}));
  return differs.any() ? out : out + " by other NICs";
}

std::string found_text(const Stretch* one) {
  if (one == nullptr) return "runs as before";
  if (!one->change) return run_text(*one);
  return fmt::format("{}, {:+.1f} %", run_text(*one), *one->change * 100);
}

Answer answer_of(const UpgradeResult& result) {
  Answer out;
  const UpgradeConfig& config = result.config;
  for (const UpgradeTarget& target : config.targets)
    for (const Collective collective : config.collectives)
      for (const int nodes : target.nodes)
        out.calls.emplace(target.name, to_text(collective), nodes);
  for (const Bytes size : config.sizes) out.sizes.insert(size.count);
  for (const UpgradeChange& change : result.changes) {
    for (const UpgradeStretch& one : change.stretches)
      out.stretches[{config.targets[change.target].name, std::string(to_text(change.collective)),
                     one.nodes}]
          .push_back({one.first, one.last, one.size, one.before, one.after,
                      one.has_times() ? std::optional(one.change()) : std::nullopt});
  }
  return out;
}

/// What `upgrade --json` wrote.
class Written {
 public:
  Written(const std::string& text, const std::string& file)
      : report_(text, file, "upgrade", "fabricast upgrade --json") {}

  Answer answer() {
    read_calls();
    for (const YamlNode& size : ask_list("sizes")) out_.sizes.insert(whole(size.text));
    const ReadReport::Table rows = report_.table("rows");
    for (std::size_t i = 0; i < rows.size(); ++i)
      out_.stretches[{rows.text(i, "topology"), rows.text(i, "collective"),
                      nodes(rows.text(i, "nodes"))}]
          .push_back({Bytes{whole(rows.text(i, "first_bytes"))},
                      Bytes{whole(rows.text(i, "last_bytes"))},
                      Bytes{whole(rows.text(i, "size_bytes"))}, key(rows, i, "before"),
                      key(rows, i, "after"), finite_number(rows.text(i, "change"))});
    return std::move(out_);
  }

 private:
  std::int64_t whole(const std::string& text) const {
    const auto out = to_number<std::int64_t>(text);
    if (!out) report_.refuse();
    return *out;
  }
  int nodes(const std::string& text) const { return static_cast<int>(whole(text)); }

  const std::vector<YamlNode>& ask_list(std::string_view key) const {
    return report_.at(report_.root(), {"job", "ask", key}).items;
  }

  /// The table `targets` has a row for each machine that was asked.
  void read_calls() {
    const ReadReport::Table targets = report_.table("targets");
    const std::vector<YamlNode>& jobs = ask_list("targets");
    if (jobs.size() != targets.size()) report_.refuse();
    for (std::size_t i = 0; i < targets.size(); ++i)
      for (const YamlNode& count : report_.at(jobs[i], {"site", "nodes"}).items)
        for (const YamlNode& collective : ask_list("collectives"))
          out_.calls.emplace(targets.text(i, "topology"), collective.text, nodes(count.text));
  }

  /// "none" is no algorithm: the call was refused.
  CallKey key(const ReadReport::Table& rows, std::size_t i, const std::string& when) const {
    const auto cell = [&](const char* column) { return rows.text(i, when + column); };
    CallKey out;
    out.algorithm = algorithm_from_text(cell("_algorithm"));
    if (!out.algorithm) return out;
    out.protocol = protocol_from_text(cell("_protocol")).value_or(Protocol::simple);
    out.channels = static_cast<int>(whole(cell("_nchannels")));
    out.threads = static_cast<int>(whole(cell("_nthreads")));
    out.chunk_bytes = whole(cell("_chunk_bytes"));
    return out;
  }

  ReadReport report_;
  Answer out_;
};

/// Times of unlike sizes are not compared.
bool is_same(const Stretch* a, const Stretch* b, double tolerance) {
  if (a == nullptr || b == nullptr) return a == b;
  if (run_text(*a) != run_text(*b)) return false;
  if (a->size != b->size) return true;
  if (a->change.has_value() != b->change.has_value()) return false;
  return !a->change || std::abs(*a->change - *b->change) <= tolerance * (1 + std::abs(*a->change));
}

}  // namespace

std::vector<UpgradeDrift> compare_upgrade(const UpgradeResult& result, const std::string& text,
                                          const std::string& file, double tolerance) {
  const Answer before = Written(text, file).answer(), after = answer_of(result);
  std::vector<UpgradeDrift> out;
  const auto compare = [&](const Key& key, Bytes size) {
    const auto& [target, collective, nodes] = key;
    const std::string where = fmt::format("{}, {} on {} from {}", target, collective,
                                          counted(nodes, "node"), to_text(size));
    const Stretch *was = before.at(key, size), *now = after.at(key, size);
    if (!before.is_asked(key, size))
      out.push_back({where, "not asked then", found_text(now)});
    else if (!after.is_asked(key, size))
      out.push_back({where, found_text(was), "not asked this time"});
    else if (!is_same(was, now, tolerance))
      out.push_back({where, found_text(was), found_text(now)});
  };
  std::set<std::pair<Key, Bytes>> begins;
  for (const Answer* answer : {&before, &after})
    for (const auto& [key, all] : answer->stretches)
      for (const Stretch& one : all) begins.emplace(key, one.first);
  for (const auto& [key, size] : begins) compare(key, size);
  return out;
}

std::string drift_text(const std::vector<UpgradeDrift>& drifts, const std::string& file) {
  if (drifts.empty()) return fmt::format("as in {}\n", file);
  std::string out = fmt::format(
      "{} not as in {}:\n",
      drifts.size() == 1 ? "1 stretch is" : fmt::format("{} stretches are", drifts.size()), file);
  for (const UpgradeDrift& one : drifts)
    out += fmt::format("  {}: {}; it was: {}\n", one.where, one.after, one.before);
  return out;
}

}  // namespace fabricast
