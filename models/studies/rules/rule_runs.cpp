#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/nccl/wiring/ring_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"
#include "models/studies/decide/decide.hpp"
#include "models/studies/rules/rule_answers.hpp"
#include "models/studies/scenario/scenario.hpp"
#include "text/unit_text.hpp"

namespace fabricast::rule_answers {

namespace {

/// Variants nearer to each other than this are level.
constexpr double kLevel = 0.01;

struct RunRow {
  const BenchBlock* block = nullptr;
  const BenchRow* row = nullptr;
};

/// In the order of nodes, collectives, sizes.
std::vector<RunRow> rows_of(const BenchResult& result) {
  std::vector<RunRow> out;
  for (const BenchBlock& block : result.blocks)
    for (const BenchRow& row : block.rows) out.push_back({&block, &row});
  return out;
}

FormulaValues values_of(const BenchRow& row) {
  return {static_cast<double>(row.ranks), static_cast<double>(row.nodes),
          static_cast<double>(row.size.count)};
}

std::string count_text(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Sizes of one number of nodes are a group.
void place(RulePoint& point, Collective collective, int nodes, Bytes size) {
  point.group = count_text(nodes, "node");
  if (collective != Collective::all_reduce) point.group += ", " + std::string(to_text(collective));
  point.at = to_text(size);
}

std::string choice_text(const BenchRow& row) {
  if (!is_tuned(row.collective)) return {};
  return fmt::format("{} {}", row.algorithm(), to_text(row.decided.run.protocol));
}

double time_us(const BenchRow& row) { return microseconds_of(row.call_time()); }

/// Bytes over the links of nodes that `counts`, over all nodes.
template <class Counts>
double carried(const Cluster& cluster, const SimulationResult& result, const Counts& counts) {
  double out = 0;
  for (const LinkLoad& load : result.links) {
    if (!cluster.is_fabric_link(load.link) && counts(cluster.node_link(load.link)))
      out += static_cast<double>(load.carried.count) * load.copies;
  }
  return out;
}

/// Bytes that leave GPUs: what workers store elsewhere and what NICs read.
double sent_by_gpus(const Cluster& cluster, const SimulationResult& result) {
  return carried(cluster, result, [&](const NodeLink& link) {
    return cluster.node().vertex(link.from).kind == VertexKind::gpu;
  });
}

/// Bytes that the NICs of node 0, where a root of Tree is, send; over those of the busiest node.
/// REQUIRES: not folded.
double root_share(const Cluster& cluster, const SimulationResult& result) {
  std::map<std::uint32_t, double> by_node;
  for (const LinkLoad& load : result.links) {
    if (!cluster.is_fabric_link(load.link)) continue;
    const Cluster::FabricEnd from = cluster.link_from(load.link);
    if (!from.is_switch) by_node[from.host] += static_cast<double>(load.carried.count);
  }
  double most = 0;
  for (const auto& [node, carried] : by_node) most = std::max(most, carried);
  if (most <= 0) throw Error("nothing leaves a node");
  return by_node[0] / most;
}

/// Messages that follow each other, from the first element to the last result: twice around a ring
/// but for two, or up and down the deepest tree.
int rounds_of(const CollectiveRun& run, int nodes, int ranks) {
  if (run.collective != Collective::all_reduce) throw Error("rounds are counted of all_reduce");
  if (run.algorithm == Algorithm::ring) {
    const RingOrder ring(run.graph, nodes, 0, run.version);
    return 2 * (static_cast<int>(ring.ranks()) - 1);
  }
  if (run.algorithm != Algorithm::tree)
    throw Error(
        fmt::format("rounds are counted of Ring and Tree, not of {}", to_text(run.algorithm)));
  int deepest = 0;
  for (int channel = 0; channel < run.channels; ++channel) {
    for (int rank = 0; rank < ranks; ++rank) {
      int depth = 0;
      for (int at = rank; (at = tree_links(run.graph, nodes, channel, at).up) >= 0;) ++depth;
      deepest = std::max(deepest, depth);
    }
  }
  return 2 * deepest;
}

/// Share of what the ports of a node's NICs allow.
double line_share(const Cluster& cluster, const BenchRow& row) {
  double ports = 0;
  for (const NicInfo& nic : cluster.node().nics())
    ports += static_cast<double>(nic.speed.bytes_per_s) * 1e-9;
  if (ports <= 0) throw Error("the node has no NIC");
  return 100 * row.busbw() / (ports / cluster.node().trays());
}

double figure_of(std::string_view word, const RunRow& at) {
  const BenchRow& row = *at.row;
  const Cluster& cluster = at.block->cluster;
  const double sent = sent_by_gpus(cluster, row.result) / row.ranks;
  if (word == "time") return time_us(row);
  if (word == "busbw") return row.busbw();
  if (word == "algbw") return row.algbw();
  if (word == "line_share") return line_share(cluster, row);
  if (word == "channels") return row.decided.run.channels;
  if (word == "rounds") return rounds_of(row.decided.run, cluster.nodes(), row.ranks);
  if (word == "sent") return sent;
  if (word == "sent_share") return sent / static_cast<double>(row.size.count);
  if (word == "root_share") return root_share(cluster, row.result);
  return carried(cluster, row.result,
                 [](const NodeLink& link) { return link.kind == LinkKind::pcie; }) /
         row.ranks;
}

double figure_of_two(std::string_view word, const RunRow& base, const RunRow& with) {
  const double before = time_us(*base.row), after = time_us(*with.row);
  if (word == "time_saved") return 100 * (before - after) / before;
  if (word == "time_ratio") return after / before;
  if (word == "time_added") return after - before;
  if (word == "busbw_gain") return 100 * (with.row->busbw() / base.row->busbw() - 1);
  if (word == "busbw_ratio") return with.row->busbw() / base.row->busbw();
  return sent_by_gpus(with.block->cluster, with.row->result) /
         sent_by_gpus(base.block->cluster, base.row->result);
}

/// A run that NCCL gives up has no figures.
RulePoint given_up(const RuleCheck& check) {
  return {{}, {}, check.claim.text, "gives up", {}, false};
}

std::vector<BenchResult> run_variants(const RuleCheck& check, const PartsCatalogue& parts) {
  std::vector<BenchResult> out;
  for (const RuleVariant& variant : check.variants) out.push_back(run_bench(variant.config, parts));
  for (const BenchResult& result : out) {
    if (rows_of(result).size() != rows_of(out.front()).size())
      throw Error(check.place, "the variants do not run the same number of sizes and nodes");
  }
  return out;
}

/// Two figures with one unit where they have the same: "564 -> 541 us".
std::string both(double before, double after, Dimension dimension) {
  const std::string a = figure_text(before, dimension), b = figure_text(after, dimension);
  const std::size_t blank = a.rfind(' ');
  const bool same = blank != std::string::npos && b.ends_with(a.substr(blank));
  return fmt::format("{} -> {}", same ? a.substr(0, blank) : a, b);
}

}  // namespace

CheckOutcome choice(const RuleCheck& check, const PartsCatalogue& parts) {
  CheckOutcome out;
  const DecideResult result = run_decide(decide_config(check.config), parts);
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows) {
      const std::string found = row.decision.algorithm
                                    ? fmt::format("{} {}", to_text(*row.decision.algorithm),
                                                  to_text(row.decision.protocol))
                                    : "refused";
      RulePoint point = point_of(check, found);
      place(point, row.collective, block.communicator.hosts, row.requested);
      out.points.push_back(std::move(point));
    }
  }
  return out;
}

CheckOutcome fastest(const RuleCheck& check, const PartsCatalogue& parts) {
  CheckOutcome out;
  const std::vector<BenchResult> results = run_variants(check, parts);
  const std::size_t rows = rows_of(results.front()).size();
  for (std::size_t i = 0; i < rows; ++i) {
    std::size_t best = 0;
    std::vector<double> times;
    for (const BenchResult& result : results) {
      const BenchRow& row = *rows_of(result)[i].row;
      times.push_back(row.completes() ? time_us(row) : 1e300);
      if (times.back() < times[best]) best = times.size() - 1;
    }
    double next = 1e300;
    for (std::size_t k = 0; k < times.size(); ++k)
      if (k != best) next = std::min(next, times[k]);
    const bool level = next < times[best] * (1 + kLevel);
    RulePoint point = point_of(check, level ? "level" : check.variants[best].name);
    point.found += fmt::format(" ({})", both(times[best], next, Dimension::time));
    const BenchRow& row = *rows_of(results.front())[i].row;
    place(point, row.collective, row.nodes, row.requested);
    out.points.push_back(std::move(point));
  }
  return out;
}

CheckOutcome run_figure(const RuleCheck& check, const PartsCatalogue& parts) {
  CheckOutcome out;
  BenchConfig config = check.config;
  if (check.figure.word == "root_share") config.fold = false;
  const BenchResult result = run_bench(config, parts);
  for (const RunRow& at : rows_of(result)) {
    RulePoint point = at.row->completes() ? point_of(check, figure_of(check.figure.word, at),
                                                     values_of(*at.row), choice_text(*at.row))
                                          : given_up(check);
    place(point, at.row->collective, at.row->nodes, at.row->requested);
    out.points.push_back(std::move(point));
  }
  return out;
}

CheckOutcome compare(const RuleCheck& check, const PartsCatalogue& parts) {
  CheckOutcome out;
  const std::vector<BenchResult> results = run_variants(check, parts);
  const std::vector<RunRow> base = rows_of(results[0]), with = rows_of(results[1]);
  const bool rates = check.figure.word.starts_with("busbw");
  for (std::size_t i = 0; i < base.size(); ++i) {
    RulePoint point = given_up(check);
    if (base[i].row->completes() && with[i].row->completes()) {
      const std::string detail =
          rates ? both(base[i].row->busbw(), with[i].row->busbw(), Dimension::rate)
                : both(time_us(*base[i].row), time_us(*with[i].row), Dimension::time);
      point = point_of(check, figure_of_two(check.figure.word, base[i], with[i]),
                       values_of(*base[i].row), detail);
    }
    place(point, with[i].row->collective, with[i].row->nodes, with[i].row->requested);
    out.points.push_back(std::move(point));
  }
  return out;
}

}  // namespace fabricast::rule_answers
