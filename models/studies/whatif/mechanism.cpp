#include "models/studies/whatif/mechanism.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "text/counted.hpp"

namespace fabricast {

namespace {

/// Kinds of link that users speak of.
constexpr std::array<std::string_view, 8> kKinds = {
    "NVLink",   "NVLink-C2C",  "PCIe",           "the links between sockets",
    "the NICs", "host memory", "root complexes", "the fabric's trunks"};
constexpr std::size_t kTrunks = 7;
constexpr double kMuchMore = 1.1;  ///< times the bytes before a change is worth a word

std::size_t kind_of(const Cluster& cluster, LinkId link) {
  if (cluster.is_fabric_link(link)) {
    return cluster.is_trunk(link) ? kTrunks : static_cast<std::size_t>(LinkKind::network);
  }
  return static_cast<std::size_t>(cluster.node_link(link).kind);
}

std::array<double, kKinds.size()> bytes_by_kind(const BenchBlock& block, const BenchRow& row) {
  std::array<double, kKinds.size()> out{};
  for (const LinkLoad& load : row.result.links)
    out[kind_of(block.cluster, load.link)] += static_cast<double>(load.carried.count) * load.copies;
  return out;
}

void add_choice(std::vector<std::string>& out, const BenchRow& before, const BenchRow& after) {
  const CollectiveRun &a = before.decided.run, &b = after.decided.run;
  if (is_tuned(before.collective) && (a.algorithm != b.algorithm || a.protocol != b.protocol)) {
    out.push_back(fmt::format("{} {} instead of {} {}", after.algorithm(), to_text(b.protocol),
                              before.algorithm(), to_text(a.protocol)));
  }
  if (const int from = before.working_channels(), to = after.working_channels(); from != to)
    out.push_back(fmt::format("{} instead of {}", counted(to, "channel"), from));
}

void add_bytes(std::vector<std::string>& out, const BenchBlock& block_before,
               const BenchRow& before, const BenchBlock& block_after, const BenchRow& after) {
  const auto less = bytes_by_kind(block_before, before), more = bytes_by_kind(block_after, after);
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    const double a = less[kind], b = more[kind];
    if (a == 0 && b == 0) continue;
    if (b == 0) {
      out.push_back(fmt::format("nothing crosses {} any more", kKinds[kind]));
    } else if (a == 0) {
      out.push_back(fmt::format("bytes cross {} now", kKinds[kind]));
    } else if (b > a * kMuchMore) {
      out.push_back(fmt::format("{:.2g} times the bytes over {}", b / a, kKinds[kind]));
    } else if (a > b * kMuchMore) {
      out.push_back(fmt::format("{:.2g} of the bytes over {}", b / a, kKinds[kind]));
    }
  }
}

/// "pcisw3 -> gpu3 (PCIe gen5 x16)", of whichever node.
std::string busiest(const BenchBlock& block, const BenchRow& row) {
  if (row.result.links.empty()) return {};
  const std::string name = block.cluster.link_name(row.result.links.front().link);
  const std::size_t colon = name.find(": ");
  const std::size_t arrow = name.find(" -> ");
  return colon < arrow ? name.substr(colon + 2) : name;
}

void add_busiest(std::vector<std::string>& out, const BenchBlock& block_before,
                 const BenchRow& before, const BenchBlock& block_after, const BenchRow& after) {
  const std::string a = busiest(block_before, before), b = busiest(block_after, after);
  if (a == b || b.empty()) return;
  out.push_back(fmt::format("the busiest link becomes {} ({:.0f} %)", b,
                            100 * after.result.links.front().utilisation));
}

void add_causes(std::vector<std::string>& out, const BenchRow& before, const BenchRow& after) {
  constexpr std::array<std::string_view, kCauses> kNames = {
      "latency", "waiting for links", "copying and reducing", "waiting for slots"};
  const double total =
      std::fabs(microseconds_of(after.result.time) - microseconds_of(before.result.time));
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const double change =
        microseconds_of(after.result.causes[i]) - microseconds_of(before.result.causes[i]);
    if (std::fabs(change) >= 0.3 * total && std::fabs(change) >= 0.5)
      out.push_back(fmt::format("{}: {:+.1f} us", kNames[i], change));
  }
}

}  // namespace

std::string mechanism(const BenchBlock& block_before, const BenchRow& before,
                      const BenchBlock& block_after, const BenchRow& after) {
  if (before.result.digest == after.result.digest && before.result.time == after.result.time)
    return {};
  std::vector<std::string> facts;
  add_choice(facts, before, after);
  if (before.bounds || after.bounds) {
    facts.push_back("bounds say nothing of links and causes");
  } else {
    add_bytes(facts, block_before, before, block_after, after);
    add_busiest(facts, block_before, before, block_after, after);
    add_causes(facts, before, after);
  }
  if (facts.empty()) return "the same choice on the same links at other rates";
  return fmt::format("{}", fmt::join(facts, "; "));
}

}  // namespace fabricast
