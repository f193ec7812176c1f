// More costs more: more nodes, or more bytes, never take less time; a faster part never takes more.
// NCCL chooses by a model of its own, and where it changes its choice (algorithm, protocol,
// channels, chunks) time may fall. Such a fall is counted, and shown with both choices; none is
// allowed while the choice stays.

#include "models/nccl/communicator/p2p_call.hpp"
#include "tests/invariants/cases.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace fabricast::testing {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// How messages are cut: smaller ones into smaller chunks.
std::string cut_of(const BenchRow& row) {
  std::string out;
  for (const bool remote : {true, false})
    if (const auto cut = p2p_cut(row.decided.run, row.ranks, remote))
      out += fmt::format("{}{} {} x {} B", out.empty() ? "" : ", ", to_text(cut->part.protocol),
                         cut->split.parts, cut->part.chunk.count);
  return out;
}

/// What NCCL chose, with all that follows from it.
std::string choice(const BenchRow& row) {
  const CollectiveRun& run = row.decided.run;
  if (!is_tuned(row.collective)) return fmt::format("{} channels, {}", run.channels, cut_of(row));
  const Partition& partition = row.result.partition;
  return fmt::format(
      "{} {}, {} channels, chunks of {} B", row.algorithm(), to_text(run.protocol), run.channels,
      partition.parts.empty() ? 0
                              : partition.parts.front().chunk_elements * partition.element_bytes);
}

/// A pair of rows of which the second should not be faster. Shares below `noise` are rounding of
/// counts to whole elements, lines and cells.
class Pairs {
 public:
  Pairs(std::string subject, double noise) : subject_(std::move(subject)), noise_(noise) {}
  ~Pairs() {
    MESSAGE(subject_ << ": " << pairs_ << " pairs, " << changes_.size()
                     << " fall with a change of NCCL's choice, " << excused_.size()
                     << " for a reason of their own");
    for (const std::string& change : changes_) MESSAGE(change);
    for (const std::string& excused : excused_) MESSAGE(excused);
  }
  Pairs(const Pairs&) = delete;
  Pairs& operator=(const Pairs&) = delete;

  /// `excuse`: why it may be faster for all that.
  void add(const std::string& what, const BenchRow& less, const BenchRow& more,
           const std::string& excuse = "") {
    ++pairs_;
    const auto before = static_cast<double>(less.result.time.ps),
               after = static_cast<double>(more.result.time.ps);
    if (after >= before * (1 - noise_)) return;
    const std::string said = fmt::format("{}: {:.1f} us by {}, {:.1f} us by {}", what, before / 1e6,
                                         choice(less), after / 1e6, choice(more));
    if (choice(less) != choice(more)) {
      changes_.push_back(said);
    } else if (!excuse.empty()) {
      excused_.push_back(said + ": " + excuse);
    } else {
      FAIL_CHECK(said);
    }
  }

 private:
  std::string subject_;
  double noise_;
  int pairs_ = 0;
  std::vector<std::string> changes_, excused_;
};

std::optional<BenchRow> row_of(const BenchConfig& config,
                               const PartsCatalogue& parts = shipped_parts()) {
  BenchResult result = run_bench(config, parts);
  if (result.blocks.front().rows.empty()) return std::nullopt;
  return std::move(result.blocks.front().rows.front());
}

/// One for each kind of schedules: what lies between differs in decisions, which have tests of
/// their own.
constexpr std::array kScheduleReleases = {kNccl2_21_5, kNccl2_27_7, kNccl2_30_7};

struct Node {
  std::string name;
  int sm = 0, gpus = 0, nics = 0, domain = 1;
  bool nvswitch = false, cxi = false;

  /// Before 2.25 no kernels for sm_100 and later.
  bool runs(NcclVersion version) const { return sm < 100 || version >= kNccl2_27; }
  /// Node counts that fill its NVLink domains, or a part of one.
  std::vector<int> counts() const {
    if (nics == 0) return {1};
    if (domain > 1) return {1, 2, domain / 2, domain, 2 * domain, 4 * domain};
    return {1, 2, 3, 4, 6, 8, 12, 16};
  }
};

const std::vector<Node>& all_nodes() {
  static const std::vector<Node> nodes = [] {
    std::vector<Node> out;
    for (const std::string& name : preset_names()) {
      const Cluster cluster = load_cluster({name, 1, ""}, shipped_parts());
      const NodeGraph& node = cluster.node();
      out.push_back({name, node.gpus().front().part.sm, node.gpus_per_tray(), node.nics_per_tray(),
                     node.domain_nodes(), !node.nvswitches().empty(),
                     !node.nics().empty() && node.nics().front().part.network == NetKind::cxi});
    }
    return out;
  }();
  return nodes;
}

constexpr std::array kTuned = {Collective::all_reduce, Collective::all_gather,
                               Collective::reduce_scatter, Collective::broadcast,
                               Collective::reduce};

/// Slingshot's library has the host read a message of up to 192 B from the GPU's memory through the
/// driver, which takes longer than to send more (NetworkCosts::inject_max, measured).
std::string tiny_excuse(const Node& node, const BenchRow& row) {
  constexpr int kImmediate = 192;
  const bool is_tiny = node.cxi && row.nodes > 1 && !is_tuned(row.collective) &&
                       row.size.count <= std::int64_t{kImmediate} * row.ranks;
  return is_tiny ? "immediate data of Slingshot's library" : "";
}

/// The same bytes per rank on any number of nodes.
Bytes with_ranks(Collective collective, std::int64_t per_rank, int ranks) {
  return {counts_per_rank(collective) ? per_rank * ranks : per_rank};
}

TEST_CASE("more nodes never take less time for the same bytes per rank") {
  Dice random(41);
  Pairs pairs("nodes", 0.01);  // trees of other numbers of nodes have other shapes
  for (const Node& node : all_nodes()) {
    const std::vector<int> counts = node.counts();
    if (counts.size() == 1) continue;
    for (const NcclVersion version : kScheduleReleases) {
      if (!node.runs(version)) continue;
      for (const Collective collective : kTuned) {
        for (int i = 0; i < random_cases(1); ++i) {
          const std::int64_t per_rank = std::int64_t{1} << random.pick(3, 30);
          const auto few = random.pick(0, static_cast<std::int64_t>(counts.size()) - 2);
          const auto many = random.pick(few + 1, static_cast<std::int64_t>(counts.size()) - 1);
          std::vector<BenchRow> rows;
          for (const auto at : {few, many}) {
            const int nodes = counts[static_cast<std::size_t>(at)];
            BenchConfig config = bench_of(
                node.name, nodes, {with_ranks(collective, per_rank, nodes * node.gpus)}, version);
            config.collectives = {collective};
            if (auto row = row_of(config)) rows.push_back(std::move(*row));
          }
          if (rows.size() < 2) continue;
          pairs.add(
              fmt::format("{} {} {}, {} B per rank, {} and {} nodes", node.name, to_text(version),
                          to_text(collective), per_rank, rows[0].nodes, rows[1].nodes),
              rows[0], rows[1]);
        }
      }
    }
  }
}

/// Nothing where NCCL finds no NVLS.
std::optional<BenchRow> nvls_row(const BenchConfig& config) {
  try {
    return row_of(config);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("NCCL refuses the call") != std::string::npos);
    return std::nullopt;
  }
}

// Whatever the channels: what multimem reaches of a GPU's links is shared by all of them.
TEST_CASE("NVLS inside a node bounds NVLSTree over several") {
  int seen = 0;
  for (const Node& node : all_nodes()) {
    if (!node.nvswitch || node.sm < 90 || node.nics == 0) continue;
    for (const NcclVersion version : kScheduleReleases) {
      if (!node.runs(version)) continue;
      CAPTURE(node.name);
      CAPTURE(to_text(version));
      BenchConfig config = bench_of(node.name, node.domain, {Bytes{8192 * kMiB}}, version);
      config.environment.set("NCCL_ALGO", "NVLS,NVLSTree");
      const auto one = nvls_row(config);
      config.nodes = {2 * node.domain};
      const auto two = nvls_row(config);
      if (!one || !two) continue;
      ++seen;
      CAPTURE(choice(*one));
      CAPTURE(choice(*two));
      CHECK(two->result.time >= one->result.time);
    }
  }
  CHECK(seen >= 10);
}

TEST_CASE("more bytes never take less time") {
  Dice random(42);
  Pairs pairs("bytes", 0.002);
  for (const Node& node : all_nodes()) {
    for (const Collective collective : kAllCollectives) {
      for (int i = 0; i < random_cases(1); ++i) {
        const NcclVersion version = random.of(kScheduleReleases);
        if (!node.runs(version)) continue;
        const std::vector<int> counts = node.counts();
        BenchConfig config =
            bench_of(node.name, std::min(random.of(counts), 2 * node.domain), {}, version);
        config.collectives = {collective};
        for (int size = 0; size < 6; ++size)
          config.sizes.push_back({random.pick(1, 1 << random.pick(0, 9)) << random.pick(9, 17)});
        std::ranges::sort(config.sizes);
        const BenchResult result = run_bench(config, shipped_parts());
        const std::vector<BenchRow>& rows = result.blocks.front().rows;
        for (std::size_t at = 1; at < rows.size(); ++at)
          pairs.add(fmt::format("{} {} {} on {} nodes, {} and {} B", node.name, to_text(version),
                                to_text(collective), rows[at].nodes, rows[at - 1].size.count,
                                rows[at].size.count),
                    rows[at - 1], rows[at], tiny_excuse(node, rows[at - 1]));
      }
    }
  }
}

/// Each makes one kind of part faster. What NCCL sees of a part stays.
struct Faster {
  const char* what;
  void (*change)(PartsCatalogue&);
};

template <class Parts>
void scale_latency(Parts& parts, double factor) {
  for (auto& [name, part] : parts)
    part.latency.ps = static_cast<std::int64_t>(static_cast<double>(part.latency.ps) * factor);
}

constexpr std::array kFaster = {
    Faster{"NVLink",
           [](PartsCatalogue& parts) {
             for (auto& [name, gpu] : parts.gpus) gpu.nvlink_store_efficiency *= 1.1;
           }},
    Faster{"PCIe",
           [](PartsCatalogue& parts) {
             for (auto& [number, pcie] : parts.pcie) pcie.effective_x16.bytes_per_s *= 2;
           }},
    Faster{"NIC",
           [](PartsCatalogue& parts) {
             for (auto& [name, nic] : parts.nics) nic.goodput = 1;
           }},
    Faster{"NIC latency", [](PartsCatalogue& parts) { scale_latency(parts.nics, 0.5); }},
    Faster{"switch latency",
           [](PartsCatalogue& parts) {
             scale_latency(parts.fabric_switches, 0.5);
             scale_latency(parts.nvswitches, 0.5);
           }},
    Faster{"thread block",
           [](PartsCatalogue& parts) {
             for (auto& [name, gpu] : parts.gpus)
               for (Bandwidth& rate : gpu.copy_rate) rate.bytes_per_s *= 2;
             parts.software.nvls_copy_rate.bytes_per_s *= 2;
           }},
    Faster{"launch",
           [](PartsCatalogue& parts) {
             parts.software.launch_any.ps /= 2;
             for (ProtocolCosts& costs : parts.software.protocol) costs.start.ps /= 2;
             for (auto& [name, gpu] : parts.gpus)
               if (gpu.launch) gpu.launch->ps /= 2;
           }},
};

TEST_CASE("a faster part never takes more time") {
  Dice random(43);
  // A chain whose blocks copy at different rates (LL128 behind a NIC) may lose 1.4 % with shorter
  // ways: its slices come in another order.
  Pairs pairs("parts", 0.015);
  for (const Faster& faster : kFaster) {
    PartsCatalogue parts = shipped_parts();
    faster.change(parts);
    for (int i = 0; i < random_cases(24); ++i) {
      const Node node = random.of(all_nodes());
      const NcclVersion version = random.of(kScheduleReleases);
      if (!node.runs(version)) continue;
      const std::vector<int> counts = node.counts();
      BenchConfig config = bench_of(node.name, std::min(random.of(counts), 2 * node.domain),
                                    {Bytes{std::int64_t{1} << random.pick(6, 28)}}, version);
      config.collectives = {random.of(kAllCollectives)};
      const auto before = row_of(config), after = row_of(config, parts);
      if (!before || !after) continue;
      // As `add` wants it: the slower machine is the second.
      pairs.add(fmt::format("{} made faster: {} {} {} on {} nodes, {} B", faster.what, node.name,
                            to_text(version), to_text(before->collective), before->nodes,
                            before->size.count),
                *after, *before);
    }
  }
}

}  // namespace
}  // namespace fabricast::testing
