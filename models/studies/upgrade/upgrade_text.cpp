#include "models/studies/upgrade/upgrade_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/nccl/base/releases.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

/// Without --all: so many losses and so many gains of each target.
constexpr int kShownLosses = 6, kShownGains = 3;

std::string percent(double share) { return fmt::format("{:+.1f} %", share * 100); }
std::string share_text(int part, int all) {
  return fmt::format("{:.1f} %", all == 0 ? 0.0 : 100.0 * part / all);
}
/// The largest loss or gain of a target.
std::string most_text(std::optional<double> change) {
  if (!change) return "not known";
  return std::abs(*change) > kEqualTimes ? percent(*change) : "none";
}

/// "Ring LL128, 16 channels"; of equal choices what else differs.
std::string run_text(const CallKey& key, const CallDifference& difference) {
  if (!key.algorithm) return "refused";
  std::string out = fmt::format("{}, {}", key.choice(), counted(key.channels, "channel"));
  if (difference.threads) out += fmt::format(" of {} threads", key.threads);
  if (difference.chunk) out += fmt::format(", chunks of {}", to_text(Bytes{key.chunk_bytes}));
  return out;
}

std::string sizes_text(Bytes first, Bytes last) {
  return first == last ? to_text(first) : fmt::format("{} .. {}", to_text(first), to_text(last));
}

std::string nodes_text(const std::set<int>& nodes) {
  if (nodes.size() == 1) return counted(*nodes.begin(), "node");
  return fmt::format("{} nodes", nodes.size() <= 3
                                     ? fmt::format("{}", fmt::join(nodes, ", "))
                                     : fmt::format("{} .. {}", *nodes.begin(), *nodes.rbegin()));
}

/// "64 KiB .. 1 MiB on 2 .. 64 nodes, 35 calls"
std::string where_text(const UpgradeChange& change) {
  std::set<int> nodes;
  Bytes first = change.stretches.front().first, last = change.stretches.front().last;
  int calls = 0;
  for (const UpgradeStretch& stretch : change.stretches) {
    nodes.insert(stretch.nodes);
    first = std::min(first, stretch.first);
    last = std::max(last, stretch.last);
    calls += stretch.calls;
  }
  return fmt::format("{} on {}, {}", sizes_text(first, last), nodes_text(nodes),
                     counted(calls, "call"));
}

std::string at_text(const UpgradeStretch& stretch) {
  return fmt::format("{} on {}", to_text(stretch.size), counted(stretch.nodes, "node"));
}

std::string time_text(const UpgradeStretch& stretch) {
  if (stretch.before_us == 0 || stretch.after_us == 0) return "not simulated";
  return percent(stretch.change());
}

class Page {
 public:
  Page(const UpgradeResult& result, const UpgradePage& page) : result_(result), page_(page) {}

  std::string text() {
    const UpgradeConfig& config = result_.config;
    int calls = 0;
    for (const UpgradeSummary& one : result_.summaries) calls += one.calls;
    out_ = fmt::format("# fabricast upgrade: NCCL {} to {} on {}; {} compared{}\n\n",
                       to_text(config.from), to_text(config.to),
                       counted(static_cast<std::int64_t>(config.targets.size()), "target"),
                       counted(calls, "call"), releases_text());
    summary();
    for (std::size_t t = 0; t < config.targets.size(); ++t) target(t);
    variables();
    for (const std::string& note : result_.notes) out_ += "note: " + note + "\n";
    return out_;
  }

 private:
  std::string releases_text() const {
    if (result_.releases.size() == 2) return "";
    return fmt::format(", by way of {} between",
                       counted(static_cast<std::int64_t>(result_.releases.size()) - 2, "release"));
  }

  void summary() {
    TextTable table("  ");
    table.add({"", "calls", "other choice", "run otherwise", "largest loss", "largest gain"});
    for (std::size_t column = 1; column < 6; ++column) table.align_right(column);
    for (std::size_t t = 0; t < result_.summaries.size(); ++t) {
      const UpgradeSummary& one = result_.summaries[t];
      table.add({result_.config.targets[t].name, std::to_string(one.calls),
                 share_text(one.choice, one.calls), share_text(one.otherwise, one.calls),
                 most_text(one.largest_loss), most_text(one.largest_gain)});
    }
    out_ += table.text() + "\n";
  }

  /// Those that are set, and how many others there are.
  void variables() {
    std::map<std::string_view, int> counts;
    for (const UpgradeVariable& one : result_.variables) {
      ++counts[one.kind];
      if (one.is_set) out_ += fmt::format("{} ({}): {}\n", one.name, one.kind, one.text);
    }
    if (counts.empty()) return;
    std::vector<std::string> words;
    for (const auto& [kind, count] : counts) words.push_back(fmt::format("{} {}", count, kind));
    out_ += fmt::format("variables of NCCL: {} (table `variables` of --format json)\n",
                        fmt::join(words, ", "));
  }

  void target(std::size_t t) {
    std::vector<const UpgradeChange*> losses, gains, others;
    for (const UpgradeChange& change : result_.changes) {
      if (change.target != t) continue;
      const double by = change.worst().change();
      (by > kEqualTimes ? losses : by < -kEqualTimes ? gains : others).push_back(&change);
    }
    out_ += result_.config.targets[t].name + "\n";
    if (losses.empty() && gains.empty() && others.empty()) {
      out_ += result_.summaries[t].estimate > 0
                  ? "  everything runs as before; only NCCL's own estimates differ\n\n"
                  : "  everything runs as before\n\n";
      return;
    }
    some(losses, kShownLosses, "loss", "losses");
    some(gains, kShownGains, "gain", "gains");
    if (page_.all) {
      for (const UpgradeChange* change : others) line(*change);
    } else {
      int equal = 0, unknown = 0;
      for (const UpgradeChange* change : others)
        for (const UpgradeStretch& stretch : change->stretches)
          (stretch.has_times() ? equal : unknown) += stretch.calls;
      if (equal > 0)
        out_ += fmt::format("  {} otherwise in the same time (within {:.1f} %)\n", calls_run(equal),
                            kEqualTimes * 100);
      if (unknown > 0)
        out_ += fmt::format("  {} otherwise; how long is not known\n", calls_run(unknown));
    }
    out_ += "\n";
  }

  void some(const std::vector<const UpgradeChange*>& changes, int most, const char* one,
            const char* many) {
    const std::size_t shown =
        page_.all ? changes.size() : std::min(changes.size(), static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < shown; ++i) line(*changes[i]);
    if (const std::size_t left = changes.size() - shown; left > 0)
      out_ += fmt::format("  and {} smaller {} (--all lists them)\n", left, left == 1 ? one : many);
  }

  void line(const UpgradeChange& change) {
    const UpgradeStretch& worst = change.worst();
    out_ += fmt::format("  {:<9} {} {}: {}, was {}\n", time_text(worst), to_text(change.collective),
                        at_text(worst), run_text(worst.after, change.difference),
                        run_text(worst.before, change.difference));
    out_ += fmt::format("            {}\n", where_text(change));
    out_ += fmt::format("            since {}, {}: {}\n", to_text(change.cause.since),
                        kUpgradeStageWords[change.cause.stage], change.cause.text);
    if (!change.cause.rule.empty())
      out_ += fmt::format("            {} ({})\n", change.cause.rule, change.cause.source);
    if (change.remedy) {
      const double worth = 1 - change.remedy->time_us / worst.after_us;
      out_ +=
          fmt::format("            {}: {} ({:.1f} us instead of {:.1f} us, {:.1f} % less)\n",
                      change.remedy->is_tuner_line ? "a tuner line gives it back" : "gives it back",
                      change.remedy->set, change.remedy->time_us, worst.after_us, worth * 100);
    }
    if (page_.bisect) bisect(change);
  }

  void bisect(const UpgradeChange& change) {
    out_ += fmt::format("            {}  {}\n", to_text(result_.releases.front()),
                        run_text(change.before, change.difference));
    for (const auto& [release, key] : change.steps)
      out_ +=
          fmt::format("            {}  {}\n", to_text(release), run_text(key, change.difference));
  }

  const UpgradeResult& result_;
  UpgradePage page_;
  std::string out_;
};

}  // namespace

std::string calls_run(int calls) {
  return calls == 1 ? "1 call runs" : fmt::format("{} calls run", calls);
}

std::string upgrade_text(const UpgradeResult& result, const UpgradePage& page) {
  return Page(result, page).text();
}

std::string upgrade_markdown(const UpgradeResult& result) {
  const UpgradeConfig& config = result.config;
  std::string out = fmt::format(
      "### NCCL {} to {}\n\n| machine | other choice | run otherwise | "
      "largest loss | largest gain |\n|---|---|---|---|---|\n",
      to_text(config.from), to_text(config.to));
  for (std::size_t t = 0; t < config.targets.size(); ++t) {
    const UpgradeSummary& one = result.summaries[t];
    out += fmt::format("| {} | {} | {} | {} | {} |\n", config.targets[t].name,
                       share_text(one.choice, one.calls), share_text(one.otherwise, one.calls),
                       most_text(one.largest_loss), most_text(one.largest_gain));
  }
  out +=
      "\n| time | machine | call | was | is | since | cause | gives it back |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const UpgradeChange& change : result.changes) {
    const UpgradeStretch& worst = change.worst();
    if (std::abs(worst.change()) <= kEqualTimes) continue;
    out += fmt::format("| {} | {} | {} {} | {} | {} | {} | {} | {} |\n", percent(worst.change()),
                       config.targets[change.target].name, to_text(change.collective),
                       at_text(worst), run_text(worst.before, change.difference),
                       run_text(worst.after, change.difference), to_text(change.cause.since),
                       change.cause.text,
                       change.remedy ? fmt::format("`{}`", change.remedy->set) : "");
  }
  return out;
}

}  // namespace fabricast
