// What `advise` tries.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/studies/advise/advise.hpp"
#include "models/studies/shared/site.hpp"

namespace fabricast {

namespace {

/// Blocks copy at the same rate with few threads as with many here, so that fewer of them only seem
/// to help.
constexpr std::array<std::string_view, 3> kNotJudged = {"NCCL_NTHREADS", "NCCL_LL128_NTHREADS",
                                                        "NCCL_THREAD_THRESHOLDS"};
/// How many channels there may be.
const std::vector<std::string> kChannels = {"NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL_MIN_NCHANNELS",
                                            "NCCL_MAX_NCHANNELS"};

/// What decides which settings can matter.
struct Ground {
  bool several_nodes = false;
  NetKind network = NetKind::ib;
  bool step = false;
  bool sharp = false;
  bool p2p = false;           ///< collectives made of sends and receives
  bool ll128_allowed = true;  ///< NCCL itself trusts LL128 here
};

class Moves {
 public:
  Moves(NcclVersion version, const Environment& start) : version_(version), start_(start) {}

  void add(std::vector<std::pair<std::string, std::string>> settings) {
    SettingMove move;
    move.mends = mends_;
    Environment alone;
    for (auto& [name, value] : settings) {
      alone.set(name, value);
      move.settings.emplace_back(name, value);
    }
    // What the release does not read, and what is not modelled.
    if (environment_warnings(alone, version_).empty()) moves_.push_back(std::move(move));
  }
  void add(const std::string& name, const std::vector<std::string>& values) {
    for (const std::string& value : values) add({{name, value}});
  }
  /// One of several names for the same thing: the others go.
  void add_alone(const std::vector<std::string>& names, const std::string& name,
                 const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      const std::size_t before = moves_.size();
      add({{name, value}});
      if (moves_.size() == before) continue;
      for (const std::string& other : names) {
        if (other != name) moves_.back().settings.emplace_back(other, std::nullopt);
      }
    }
  }
  /// What the user set can go.
  void add_unsets() {
    for (const auto& [name, value] : start_.variables()) {
      const bool acts = std::ranges::find(acting_variables(), name) != acting_variables().end();
      if (acts && std::ranges::find(kNotJudged, name) == kNotJudged.end())
        moves_.push_back({{{name, std::nullopt}}, true});
    }
  }

  /// What is added from here on mends, or does not.
  void set_mends(bool mends) { mends_ = mends; }

  std::vector<SettingMove> take() { return std::move(moves_); }

 private:
  NcclVersion version_;
  const Environment& start_;
  bool mends_ = false;
  std::vector<SettingMove> moves_;
};

Cluster cluster_of(const Work& work, const PartsCatalogue& parts) {
  if (const auto* step = std::get_if<StepConfig>(&work)) return load_site(*step, parts).cluster;
  const BenchConfig& config = std::get<BenchConfig>(work);
  const int most = config.nodes.empty() ? 0 : *std::ranges::max_element(config.nodes);
  return load_cluster(config, most, parts);
}

/// NCCL_PROTO with LL128 in it turns LL128 on where NCCL would not trust it, and then data may be
/// wrong: the model of an empty environment says where that is.
bool trusts_ll128(const BenchConfig& config, const Cluster& cluster) {
  CommunicatorConfig plain;
  plain.version = config.version;
  plain.gpus_per_node = config.gpus_per_node;
  const Communicator communicator = make_communicator(cluster, plain);
  return communicator.model.pair(Collective::all_reduce, Algorithm::ring, Protocol::ll128)
      .excluded.empty();
}

Ground ground_of(const Work& work, const PartsCatalogue& parts) {
  Ground out;
  const Cluster cluster = cluster_of(work, parts);
  out.several_nodes = cluster.nodes() > 1;
  if (!cluster.node().nics().empty()) out.network = cluster.node().nics().front().part.network;
  out.step = is_step(work);
  if (out.step) return out;
  const BenchConfig& config = std::get<BenchConfig>(work);
  out.sharp = config.sharp;
  out.p2p = !std::ranges::all_of(config.collectives, is_tuned);
  out.ll128_allowed = trusts_ll128(config, cluster);
  return out;
}

/// One choice for all calls. A step makes calls of many sizes, and its rows do not say which choice
/// each of them got: there, they only go.
void add_choices(Moves& moves, const Ground& ground) {
  if (ground.step) return;
  moves.add("NCCL_ALGO", {"Ring", "Tree", "NVLS", "NVLSTree"});
  moves.add("NCCL_PROTO", {"LL", "Simple", "LL,Simple"});
  if (ground.ll128_allowed) moves.add("NCCL_PROTO", {"LL128", "LL,LL128", "LL128,Simple"});
  moves.add("NCCL_NVLS_ENABLE", {"0", "1"});
  moves.add("NCCL_PAT_ENABLE", {"0", "1"});
  if (ground.sharp) {
    moves.add("NCCL_COLLNET_ENABLE", {"1"});
    moves.add({{"NCCL_COLLNET_ENABLE", "1"}, {"NCCL_ALGO", "CollNetDirect"}});
    moves.add({{"NCCL_COLLNET_ENABLE", "1"}, {"NCCL_ALGO", "NVLS"}});
  }
}

void add_blocks(Moves& moves) {
  for (const std::string& name : kChannels)
    moves.add_alone(kChannels, name,
                    name.starts_with("NCCL_MIN") ? std::vector<std::string>{"8", "16", "24", "32"}
                                                 : std::vector<std::string>{"2", "4", "8", "16"});
  moves.add("NCCL_NVLS_NCHANNELS", {"8", "16", "24", "32"});
  moves.add("NCCL_BUFFSIZE", {"1048576", "2097152", "4194304", "8388608", "16777216"});
}

void add_network(Moves& moves, const Ground& ground, const std::string& hcas) {
  if (!ground.several_nodes) return;
  if (!hcas.empty()) moves.add("NCCL_IB_HCA", {hcas});
  moves.add("NCCL_NET_GDR_LEVEL", {"PXB", "PHB", "SYS"});
  moves.add("NCCL_NET_GDR_READ", {"0", "1"});
  moves.add("NCCL_CROSS_NIC", {"0", "1", "2"});
  moves.add("NCCL_PXN_DISABLE", {"0", "1"});
  moves.add("NCCL_PXN_C2C", {"0", "1"});
  if (ground.network == NetKind::ib || ground.network == NetKind::roce) {
    for (const char* count : {"2", "4", "8"}) {
      moves.add({{"NCCL_IB_QPS_PER_CONNECTION", count}});
      for (const char* split : {"0", "1"})
        moves.add({{"NCCL_IB_QPS_PER_CONNECTION", count}, {"NCCL_IB_SPLIT_DATA_ON_QPS", split}});
    }
    moves.add("NCCL_IB_MERGE_NICS", {"0", "1"});
  }
  for (const char* threads : {"2", "4", "8"}) {
    for (const char* sockets : {"1", "2", "4"})
      moves.add({{"NCCL_SOCKET_NTHREADS", threads}, {"NCCL_NSOCKS_PERTHREAD", sockets}});
  }
}

void add_inside(Moves& moves) { moves.add("NCCL_P2P_LEVEL", {"NVL", "PIX", "PXB", "PHB", "SYS"}); }

void add_sends(Moves& moves, const Ground& ground) {
  if (!ground.p2p) return;
  moves.add("NCCL_NCHANNELS_PER_NET_PEER", {"1", "2", "4", "8"});
  moves.add("NCCL_MIN_P2P_NCHANNELS", {"8", "16", "32"});
  moves.add("NCCL_MAX_P2P_NCHANNELS", {"4", "8", "16"});
  moves.add("NCCL_P2P_NET_CHUNKSIZE", {"262144", "524288"});
  moves.add("NCCL_P2P_NVL_CHUNKSIZE", {"262144", "1048576"});
  moves.add("NCCL_P2P_PXN_LEVEL", {"0", "1", "2"});
}

}  // namespace

std::string hca_list(const Work& work, const PartsCatalogue& parts) {
  const Cluster cluster = cluster_of(work, parts);
  std::string out;
  for (const NicInfo& nic : cluster.node().nics_of(0)) {
    if (nic.part.network != NetKind::ib && nic.part.network != NetKind::roce) continue;
    out += (out.empty() ? "=" : ",") + nic.name;
  }
  return out;
}

std::vector<SettingMove> candidate_moves(const Work& work, const PartsCatalogue& parts) {
  const Job setup = job_of(work);
  const Ground ground = ground_of(work, parts);
  Moves moves(setup.version, setup.environment);
  moves.add_unsets();
  moves.set_mends(true);
  add_network(moves, ground, hca_list(work, parts));
  add_inside(moves);
  moves.set_mends(false);
  add_choices(moves, ground);
  add_blocks(moves);
  add_sends(moves, ground);
  return moves.take();
}

}  // namespace fabricast
