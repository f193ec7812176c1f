#include "models/studies/memory/memory_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "text/text_table.hpp"
#include "text/unit_text.hpp"

namespace fabricast {
namespace {

constexpr MemoryPlace kGpu = MemoryPlace::gpu, kHost = MemoryPlace::host;
constexpr double kMiB = 1 << 20;

/// Without the unit: "1234.5". nvidia-smi counts in MiB.
std::string mib(std::int64_t bytes) {
  const double value = static_cast<double>(bytes) / kMiB;
  if (value != 0 && std::abs(value) < 0.05) return fmt::format("{:.3f}", value);
  return fmt::format("{:.1f}", value);
}

std::string with_unit(std::int64_t bytes) { return mib(bytes) + " MiB"; }

std::string job_text(const MemoryResult& result, const MemoryCase& of) {
  std::string out = fmt::format("{} x {} ({} rank{}), NCCL {}", of.nodes, result.topology, of.ranks,
                                of.ranks == 1 ? "" : "s", to_text(of.version));
  for (const auto& [name, value] : result.config.environment.variables())
    out += fmt::format(", {}={}", name, value);
  return out;
}

std::string connected_text(const MemoryGroup& group) {
  std::vector<std::string> all;
  for (const Algorithm one : group.memory.connected) all.emplace_back(to_text(one));
  for (const Collective one : group.use.sends) all.emplace_back(to_text(one));
  return all.empty() ? "nothing" : fmt::format("{}", fmt::join(all, ", "));
}

/// What a group has of channels, and what is connected when.
std::string group_head(const MemoryGroup& group) {
  const CommunicatorMemory& memory = group.memory;
  std::string out =
      fmt::format("{} channels, {} for sends and receives ({} per peer)", memory.channels,
                  memory.sendrecv_channels, memory.channels_per_peer);
  if (memory.nvls_heads > 0)
    out += fmt::format(", {} for NVLS with {} heads", memory.nvls_channels, memory.nvls_heads);
  out += memory.settings.lazy ? ".\n  Connected by the calls: " : ".\n  Connected from the start: ";
  return out + connected_text(group) + ".\n";
}

/// All rows of one purpose, whatever their sizes.
struct PurposeSum {
  MemoryPurpose purpose{};
  std::int64_t count = 0, least = 0, most = 0, bytes = 0;
};
std::vector<PurposeSum> by_purpose(const RankMemory& rank, MemoryPlace place) {
  std::vector<PurposeSum> out;
  for (const MemoryRow& row : rank.rows) {
    if (row.place != place) continue;
    if (out.empty() || out.back().purpose != row.purpose)
      out.push_back({row.purpose, 0, row.each, row.each, 0});
    PurposeSum& sum = out.back();
    sum.count += row.count;
    sum.least = std::min(sum.least, row.each);
    sum.most = std::max(sum.most, row.each);
    sum.bytes += row.bytes;
  }
  return out;
}

std::string rows_text(const MemoryGroup& group, NcclVersion version) {
  TextTable table("  ");
  for (const std::size_t column : {1U, 2U, 3U}) table.align_right(column);
  bool assumed = false;
  for (const MemoryPlace place : {kGpu, kHost}) {
    table.add({fmt::format("on the {}", kMemoryPlaceWords[place] == "gpu" ? "GPU" : "host"),
               "number", "each, B", "MiB", "set by"});
    for (const PurposeSum& sum : by_purpose(group.told(), place)) {
      const MemoryFact fact = memory_fact(sum.purpose, version);
      assumed = assumed || fact.assumed;
      table.add({fmt::format("{}{}", kMemoryPurposeWords[sum.purpose], fact.assumed ? " *" : ""),
                 fmt::format("{}", sum.count),
                 fmt::format("{}{}", sum.least < sum.most ? "<= " : "", sum.most), mib(sum.bytes),
                 std::string(fact.variables)});
    }
    table.add({"sum", "", "", mib(group.told().bytes(place)), ""});
  }
  return table.text() + (assumed ? "  * size not read in this release's source\n" : "");
}

/// "688.0 to 832.0 MiB" over the ranks.
std::string range_text(const MemoryGroup& group) {
  std::int64_t low = group.memory.ranks.front().bytes(kGpu), high = low;
  for (const RankMemory& rank : group.memory.ranks) {
    low = std::min(low, rank.bytes(kGpu));
    high = std::max(high, rank.bytes(kGpu));
  }
  return low == high ? "all ranks take " + with_unit(low)
                     : fmt::format("ranks take {} to {}", mib(low), with_unit(high));
}

std::string group_text(const MemoryGroup& group, const MemoryCase& of, bool alone) {
  std::string out;
  if (!alone || group.communicators > 1)
    out +=
        fmt::format("{}: {} of {} ranks\n", group.name,
                    group.communicators == 1 ? "a communicator"
                                             : fmt::format("{} communicators", group.communicators),
                    group.ranks);
  out += "  " + group_head(group) + rows_text(group, of.version);
  if (group.ranks > 1)
    out += fmt::format("  This is rank {}; {} of their GPUs.\n", group.rank, range_text(group));
  return out;
}

std::string savings_text(const MemoryResult& result) {
  if (result.savings.empty()) return {};
  TextTable table("  ");
  for (const std::size_t column : {1U, 2U}) table.align_right(column);
  table.add({"takes less", "GPU, MiB", "host, MiB"});
  for (const MemorySaving& one : result.savings)
    table.add({one.variable + "=" + one.value, mib(one.gpu), mib(one.host)});
  return "\n" + table.text();
}

std::string one_case_text(const MemoryResult& result, const MemoryCase& of) {
  std::string out = job_text(result, of) + "\n\n";
  const bool alone = of.groups.size() == 1;
  for (const MemoryGroup& group : of.groups) out += group_text(group, of, alone) + "\n";
  out += fmt::format(
      "{}: {} of GPU memory, {} of host memory per rank\n",
      alone && of.groups.front().communicators == 1 ? "The communicator" : "All communicators",
      with_unit(of.bytes(kGpu)), with_unit(of.bytes(kHost)));
  return out;
}

std::int64_t bytes_of(const MemoryCase& of, MemoryPurpose purpose, MemoryPlace place) {
  std::int64_t sum = 0;
  for (const MemoryGroup& group : of.groups)
    for (const MemoryRow& row : group.told().rows)
      if (row.purpose == purpose && row.place == place) sum += group.communicators * row.bytes;
  return sum;
}

/// Cases side by side, MiB.
std::string cases_text(const MemoryResult& result) {
  TextTable table("  ");
  std::vector<std::string> head = {"MiB"}, nodes = {"nodes"};
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    table.align_right(i + 1);
    head.push_back(to_text(result.cases[i].version));
    nodes.push_back(fmt::format("{}", result.cases[i].nodes));
  }
  table.add(head);
  table.add(nodes);
  for (const MemoryPlace place : {kGpu, kHost}) {
    for (int number = 0; number < kMemoryPurposes; ++number) {
      const auto purpose = static_cast<MemoryPurpose>(number);
      std::vector<std::string> cells = {
          fmt::format("{} {}", kMemoryPlaceWords[place], kMemoryPurposeWords[purpose])};
      bool any = false;
      for (const MemoryCase& of : result.cases) {
        const std::int64_t bytes = bytes_of(of, purpose, place);
        any = any || bytes != 0;
        cells.push_back(bytes == 0 ? "-" : mib(bytes));
      }
      if (any) table.add(std::move(cells));
    }
    std::vector<std::string> sums = {fmt::format("{} sum", kMemoryPlaceWords[place])};
    for (const MemoryCase& of : result.cases) sums.push_back(mib(of.bytes(place)));
    table.add(std::move(sums));
  }
  return table.text();
}

}  // namespace

std::string memory_text(const MemoryResult& result) {
  std::string out;
  if (result.cases.size() == 1) {
    out = one_case_text(result, result.cases.front());
  } else {
    out = fmt::format("communicators of {}, by release of NCCL\n\n{}", result.topology,
                      cases_text(result));
    out += fmt::format("\nOf the first column:");
  }
  out += savings_text(result);
  for (const std::string& note : result.notes) out += "\nnote: " + note;
  return out + (result.notes.empty() ? "" : "\n");
}

}  // namespace fabricast
