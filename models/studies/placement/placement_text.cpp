#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/io/hosts/host_list.hpp"
#include "models/studies/placement/placement.hpp"
#include "text/counted.hpp"
#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kGroupsNamed = 8;

/// Its domains, or leaves.
std::string groups_text(const Allocation& of) {
  const std::vector<GroupShare>& shares = of.domains.empty() ? of.leaves : of.domains;
  std::string out;
  for (std::size_t i = 0; i < std::min(shares.size(), kGroupsNamed); ++i)
    out += fmt::format("{}{} x{}", i == 0 ? "" : ", ", shares[i].name, shares[i].hosts);
  if (shares.size() > kGroupsNamed)
    out += fmt::format(", and {} more", shares.size() - kGroupsNamed);
  return out;
}

std::string less(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string times_text(const PlacementResult& result) {
  TextTable table("  ");
  std::vector<std::string> head = {"call", "size", "NCCL takes"};
  const std::size_t fixed = head.size();
  for (std::size_t i = 0; i < result.allocations.size(); ++i) {
    head.push_back(result.allocations[i].name + ", us");
    head.emplace_back("busbw GB/s");
    table.align_right(fixed + 2 * i);
    table.align_right(fixed + 2 * i + 1);
  }
  table.align_right(1);
  const bool several = result.allocations.size() > 1;
  if (several) head.emplace_back("the last takes");
  table.add(std::move(head));
  for (std::size_t row = 0; row < result.rows.size(); ++row) {
    const PlacementRow& call = result.rows[row];
    std::vector<std::string> cells = {
        std::string(to_text(call.collective)), to_text(call.size),
        call.algorithm == "none" ? call.protocol : call.algorithm + " " + call.protocol};
    for (const Allocation& one : result.allocations) {
      const double us = one.times_us[row];
      cells.push_back(fmt::format("{:.1f}", us));
      cells.push_back(fmt::format("{:.1f}", static_cast<double>(call.size.count) / us / 1e3 *
                                                busbw_factor(call.collective, call.ranks)));
    }
    const double saved = 1 - result.best().times_us[row] / result.allocations.front().times_us[row];
    if (several)
      cells.push_back(less(saved < 0 ? -saved : saved) + (saved < 0 ? " more" : " less"));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string steps_text(const PlacementResult& result) {
  if (!result.config.step) return {};
  std::string out = fmt::format("# step of {}:", result.config.step->model.title);
  const double first = seconds(*result.allocations.front().step);
  for (const Allocation& one : result.allocations) {
    const double time = seconds(*one.step);
    out += fmt::format("\n  {:14} {}", one.name, time_text(time));
    if (&one != &result.allocations.front())
      out +=
          fmt::format("   {} {}", less(std::abs(1 - time / first)), time > first ? "more" : "less");
  }
  return out + "\n";
}

std::string advice_text(const PlacementResult& result) {
  const Allocation& best = result.best();
  if (result.allocations.size() == 1)
    return fmt::format("# no allocation of {} is faster, of {} that were simulated\n",
                       counted(result.nodes, "host"), result.candidates);
  if (result.swaps.empty())
    return fmt::format(
        "# no host need be swapped: the order of ranks is what costs. Hosts in this order "
        "(SLURM_HOSTFILE with --distribution=arbitrary, or a host file):\n  {}\n",
        to_host_list(best.hosts));
  TextTable table("  ");
  const char* const where = result.by_domain ? "in" : "on";
  table.add({"give back", where, "take", where});
  for (const HostSwap& swap : result.swaps)
    table.add({swap.out, swap.out_group, swap.in, swap.in_group});
  return fmt::format("# the best of {} that were simulated swaps {} of {}:\n", result.candidates,
                     counted(std::ssize(result.swaps), "host"), result.nodes) +
         table.text() +
         fmt::format("# its hosts in the order of ranks:\n  {}\n", to_host_list(best.hosts));
}

std::string neighbour_text(const NeighbourResult& pair) {
  std::string out =
      "#\n# beside the neighbour, while both communicate (alone: one call by itself, where the "
      "table above "
      "has calls in a row):\n";
  TextTable table("  ");
  for (const std::size_t column : {1U, 3U, 4U, 5U}) table.align_right(column);
  table.add({"job", "hosts", "call", "alone, us", "slower", "priority"});
  for (const NeighbourJob* const job : {&pair.self, &pair.other})
    table.add({job->name, std::to_string(job->hosts), job->call,
               fmt::format("{:.1f}", job->alone_us), fmt::format("x {:.3f}", job->slowdown),
               std::to_string(job->priority)});
  out += table.text();
  if (pair.leaves.empty()) {
    out += "# the jobs have no leaf in common\n";
  } else {
    out += fmt::format("# leaves with hosts of both: {}\n", fmt::join(pair.leaves, ", "));
  }
  for (const SharedTrunk& trunk : pair.trunks)
    out += fmt::format("  {:5.1f} % busy, {:5.1f} % of it of this job: {}\n",
                       100 * trunk.utilisation, 100 * trunk.share, trunk.link);
  for (const NeighbourJob* const job : {&pair.self, &pair.other})
    if (job->step_s)
      out += fmt::format(
          "# step of {}: {} alone, {} to {} beside the other; calls between nodes are "
          "under way {:.0f} % of it\n",
          job->name, time_text(*job->step_s), time_text(job->step_least_s),
          time_text(job->step_most_s), 100 * job->network_share);
  return out;
}

}  // namespace

std::string placement_text(const PlacementResult& result) {
  std::string out =
      fmt::format("# fabricast placement: predicted, nothing was measured. {} x {}, NCCL {}\n",
                  result.nodes, result.topology, to_text(result.config.version));
  out +=
      fmt::format("# {}: {}, {}\n# fabric: {}\n", result.config.tree_file, result.config.tree.kind,
                  counted(std::ssize(result.config.tree.hosts), "host"), result.fabric);
  for (const Allocation& one : result.allocations)
    out += fmt::format(
        "# {}: {}; the next host {} {}\n", one.name, groups_text(one),
        result.by_domain ? "is in another NVLink domain" : "hangs on another leaf",
        one.crossings == 1 ? std::string("once") : fmt::format("{} times", one.crossings));
  out += times_text(result) + steps_text(result) + advice_text(result);
  if (result.neighbour) out += neighbour_text(*result.neighbour);
  for (const std::string& note : result.notes) out += fmt::format("# note: {}\n", note);
  return out;
}

}  // namespace fabricast
