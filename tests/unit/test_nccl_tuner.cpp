// Goal: for Ring and Tree, predicted times, the choice, channels, threads, channels with work and
// chunk are NCCL's, to the last digit of its floats. Method: 661 rows of what NCCL 2.21.5, 2.27.7
// and 2.30.7 themselves decided (data/nccl/README.md), on three node types and under eleven
// environments; then the reasons given for what was left out.

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "models/nccl/partition.hpp"
#include "models/nccl/tuner.hpp"
#include "nccl_tables.hpp"

using namespace fabricast;
using namespace fabricast::testing;

namespace {

/// A graph of which only the tuner's figures matter.
ChannelGraph tuner_graph(const Row& row, const std::string& which) {
  ChannelGraph g;
  g.pattern = GraphPattern::ring;
  if (which == "tree") g.pattern = static_cast<GraphPattern>(std::stoi(row.at("tree_pattern")));
  g.bw_intra = std::stof(row.at(which + "_bw_intra_GBps"));
  g.bw_inter = std::stof(row.at(which + "_bw_inter_GBps"));
  g.type_intra = path_type_from_text(row.at(which + "_type_intra")).value();
  g.type_inter = path_type_from_text(row.at(which + "_type_inter")).value();
  g.same_channels = row.at("ring_same_channels") == "1";
  g.channels.resize(std::stoul(row.at("searched_channels")));
  return g;
}

NcclSettings settings_of(const std::string& env, NcclVersion version) {
  Environment environment;
  for (const std::string& assignment : split(env, ' ')) environment.set(assignment);
  return read_settings(environment, version);
}

TunerInput tuner_input(const Row& row, const std::string& env) {
  TunerInput in;
  in.version = nccl_version_from_text(row.at("version"));
  in.nodes = std::stoi(row.at("nodes"));
  in.ranks = std::stoi(row.at("ranks"));
  in.compute_capability_min = std::stoi(row.at("compute_capability"));
  in.compute_capability_max = in.compute_capability_min;
  in.cpu = host_cpu(row.at("cpu_arch"), row.at("cpu_vendor"));
  in.ring = tuner_graph(row, "ring");
  in.tree = tuner_graph(row, "tree");
  in.settings = settings_of(env, in.version);
  const int nvls = std::stoi(row.at("nvls_channels"));
  in.nvls = nvls > 0;
  in.channels = channel_counts({in.version, in.nodes, in.compute_capability_min,
                                in.ring.channel_count(), in.ring.bw_intra, nvls, false},
                               in.settings);
  return in;
}

std::string key_of(const Row& row) {
  return row.at("version") + " " + row.at("topology") + " x" + row.at("nodes");
}

std::map<std::string, Row> communicators() {
  std::map<std::string, Row> out;
  for (const Row& row : read_table("tuner-communicators.csv")) out[key_of(row)] = row;
  return out;
}

void check_times(const Row& row, const TunerDecision& decision) {
  for (const Candidate& c : decision.candidates) {
    const std::string& want =
        row.at(std::string(to_text(c.algorithm)) + "_" + std::string(to_text(c.protocol)));
    if (want == "-") continue;  // only given for the empty environment
    CAPTURE(to_text(c.algorithm));
    CAPTURE(to_text(c.protocol));
    CHECK(c.excluded.empty() == !want.empty());
    if (!want.empty()) CHECK(c.time_us == std::stof(want));
  }
}

void check_split(const Row& row, const TunerInput& in, Collective collective, Bytes size,
                 const TunerDecision& decision) {
  PartitionInput p;
  p.version = in.version;
  p.collective = collective;
  p.algorithm = *decision.algorithm;
  p.protocol = decision.protocol;
  p.ranks = in.ranks;
  p.nodes = in.nodes;
  p.channels = decision.channels;
  p.communicator_channels = in.channels.communicator;
  p.threads = decision.threads;
  p.buffers = in.settings.buffers;
  p.count = size.count / message_size(collective, 1, p.element_bytes, p.ranks).count;
  const Partition parts = partition(p);
  CHECK(static_cast<int>(parts.parts.size()) == std::stoi(row.at("channels_with_work")));
  // Chunks differ by part since 2.22: the table has that of a middle part.
  const ChannelPart& part = parts.parts[parts.parts.size() > 2 ? 1 : 0];
  CHECK(part.chunk_elements * parts.element_bytes == std::stoll(row.at("chunk_bytes")));
}

}  // namespace

TEST_CASE("channels of a communicator: as NCCL counts them") {
  int rows = 0;
  for (const auto& entry : communicators()) {
    CAPTURE(entry.first);
    const TunerInput in = tuner_input(entry.second, "");
    CHECK(in.channels.communicator == std::stoi(entry.second.at("channels")));
    CHECK(in.channels.collective == std::stoi(entry.second.at("collective_channels")));
    ++rows;
  }
  CHECK(rows == 27);
}

TEST_CASE("tuner: every prediction and decision as NCCL makes it") {
  const std::map<std::string, Row> comms = communicators();
  int rows = 0;
  for (const Row& row : read_table("tuner-decisions.csv")) {
    CAPTURE(key_of(row));
    CAPTURE(row.at("env"));
    CAPTURE(row.at("collective"));
    CAPTURE(row.at("size_bytes"));
    const TunerInput in = tuner_input(comms.at(key_of(row)), row.at("env"));
    const Collective collective = collective_from_text(row.at("collective")).value();
    const Bytes size{std::stoll(row.at("size_bytes"))};
    const TunerDecision got = decide(tuning_model(in), collective, size);
    ++rows;
    check_times(row, got);
    if (row.at("algorithm") == "none") CHECK_FALSE(got.algorithm);  // NCCL refuses the call
    if (row.at("time_us").empty()) continue;  // none, or an algorithm that is not modelled yet
    REQUIRE(got.algorithm);
    CHECK(to_text(*got.algorithm) == row.at("algorithm"));
    CHECK(to_text(got.protocol) == row.at("protocol"));
    CHECK(got.time_us == std::stof(row.at("time_us")));
    CHECK(got.channels == std::stoi(row.at("channels")));
    CHECK(got.threads == std::stoi(row.at("threads")));
    check_split(row, in, collective, size, got);
  }
  CHECK(rows == 661);
}

namespace {

const Candidate& candidate(const TunerDecision& d, Algorithm a, Protocol p) {
  for (const Candidate& c : d.candidates) {
    if (c.algorithm == a && c.protocol == p) return c;
  }
  FAIL("no such candidate");
  return d.candidates.front();
}

TunerInput h100_input(const std::string& version, const std::string& env) {
  return tuner_input(communicators().at(version + " dgx-h100 x2"), env);
}

std::string why(const TunerInput& in, Collective c, Algorithm a, Protocol p) {
  return candidate(decide(tuning_model(in), c, Bytes{1 << 20}), a, p).excluded;
}

}  // namespace

TEST_CASE("tuner: a candidate left out says why") {
  const Collective ar = Collective::all_reduce;
  const TunerInput base = h100_input("2.21.5", "");
  CHECK(why(base, ar, Algorithm::ring, Protocol::ll128).empty());
  CHECK(why(base, Collective::broadcast, Algorithm::tree, Protocol::ll) ==
        "Tree exists for all_reduce only");
  CHECK(why(h100_input("2.21.5", "NCCL_ALGO=ring"), ar, Algorithm::tree, Protocol::ll) ==
        "NCCL_ALGO leaves out Tree");
  CHECK(why(h100_input("2.27.7", "NCCL_PROTO=^LL"), ar, Algorithm::ring, Protocol::ll) ==
        "NCCL_PROTO leaves out LL");

  TunerInput far = base;
  far.ring.type_inter = PathType::phb;
  CHECK(why(far, ar, Algorithm::ring, Protocol::ll128) ==
        "LL128 needs the NIC at PXN or nearer, it is at PHB");
  CHECK(why(far, ar, Algorithm::tree, Protocol::ll128).empty());  // each by its own graph
  far.settings = settings_of("NCCL_PROTO=LL128", kNccl2_21_5);    // the user's word is enough
  CHECK(why(far, ar, Algorithm::ring, Protocol::ll128).empty());

  TunerInput pcie = base;
  pcie.ring.type_intra = PathType::pix;
  CHECK(why(pcie, ar, Algorithm::ring, Protocol::ll128) ==
        "LL128 needs NVLink between GPUs (NVB or nearer), the path is PIX");
  TunerInput mixed = base;
  mixed.compute_capability_max = 100;
  CHECK(why(mixed, ar, Algorithm::ring, Protocol::ll128) ==
        "LL128 needs GPUs of one compute capability, here are 90 and 100");
  mixed.version = kNccl2_27_7;  // from 90 on the new rule does not mind
  CHECK(why(mixed, ar, Algorithm::ring, Protocol::ll128).empty());
  TunerInput ada = base;
  ada.compute_capability_min = ada.compute_capability_max = 89;
  CHECK(why(ada, ar, Algorithm::ring, Protocol::ll128) ==
        "LL128 is not enabled for compute capability 89 (70, 80 and 90 are)");
}

TEST_CASE("tuner: 2.21 falls back to rings where 2.27 refuses") {
  // NCCL_ALGO=Tree leaves nothing for all_gather.
  const Bytes size{1 << 20};
  const auto decided = [&](const std::string& version, Collective c) {
    return decide(tuning_model(h100_input(version, "NCCL_ALGO=Tree")), c, size);
  };
  CHECK(decided("2.21.5", Collective::all_reduce).algorithm == Algorithm::tree);
  CHECK(decided("2.21.5", Collective::all_gather).algorithm == Algorithm::ring);
  CHECK(decided("2.27.7", Collective::all_reduce).algorithm == Algorithm::tree);
  CHECK_FALSE(decided("2.27.7", Collective::all_gather).algorithm);
  // An unknown name matches nothing, so 2.21 switches both back on.
  const TunerDecision d =
      decide(tuning_model(h100_input("2.21.5", "NCCL_ALGO=Rings")), Collective::all_reduce, size);
  CHECK(d.algorithm ==
        decide(tuning_model(h100_input("2.21.5", "")), Collective::all_reduce, size).algorithm);
}

TEST_CASE("tuner: the chosen candidate is the first of the fastest, and 2.27 asks per collective") {
  const TuningModel model = tuning_model(h100_input("2.27.7", "NCCL_ALGO=ring;allreduce:tree"));
  for (const std::int64_t size : {8LL, 4096LL, 1LL << 20, 1LL << 30}) {
    const TunerDecision d = decide(model, Collective::all_reduce, Bytes{size});
    CHECK(d.algorithm == Algorithm::tree);
    for (const Candidate& c : d.candidates) {
      if (c.excluded.empty()) CHECK(d.time_us <= c.time_us);
    }
    CHECK(decide(model, Collective::reduce_scatter, Bytes{size}).algorithm == Algorithm::ring);
  }
}

TEST_CASE("host kinds: from the words of NCCL's topology XML") {
  CHECK(host_cpu("x86_64", "GenuineIntel") == HostCpu::intel);
  CHECK(host_cpu("x86_64", "AuthenticAMD") == HostCpu::amd);
  CHECK(host_cpu("arm64", "") == HostCpu::arm);
  CHECK(host_cpu("ppc64", "") == HostCpu::power);
}
