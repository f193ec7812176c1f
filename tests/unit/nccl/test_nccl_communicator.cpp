// Goal: what NCCL settles when a communicator is created (channel counts, heads, buffers, links of
// rings, trees and NVLS) follows from a node's description, a number of nodes and the environment.
// Method: rows of what NCCL 2.21.5, 2.27.7 and 2.30.7 themselves settled (data/nccl/README.md);
// PAT and Blackwell, which the rows do not have, by hand from NCCL's formulas.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/nccl/wiring/nvls_links.hpp"
#include "models/nccl/wiring/ring_links.hpp"
#include "models/nccl/wiring/tree_links.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/nccl/nccl_communicators.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;

TEST_CASE("communicator: every count and size as NCCL settles it") {
  int rows = 0;
  for (const Row& row : read_table("tuner-communicators.csv")) {
    if (++rows % (kSanitized ? 6 : 1) != 0) continue;
    CAPTURE(row.at("version"));
    CAPTURE(row.at("topology"));
    CAPTURE(row.at("env"));
    CAPTURE(row.at("nodes"));
    const NcclCommunicator& made = communicator_of(row);
    const TunerInput& in = made.model.input;
    const auto is = [&](const char* column, std::int64_t value) {
      CAPTURE(column);
      CHECK(value == std::stoll(row.at(column)));
    };
    is("channels", in.channels.communicator);
    is("collective_channels", in.channels.collective);
    is("nvls_channels", in.nvls_setup.channels);
    is("p2p_channels", made.p2p.channels);
    is("p2p_channels_per_peer", made.p2p.per_peer);
    is("collnet", in.collnet ? 1 : 0);
    is("collnet_heads", in.collnet_heads);
    is("nvls_heads", in.nvls_heads);
    is("ll_bytes", made.settings.buffers.ll.count);
    is("ll128_bytes", made.settings.buffers.ll128.count);
    is("simple_bytes", made.settings.buffers.simple.count);
    is("p2p_chunk_bytes", made.p2p.chunk.count);
    is("nodes_seen", in.nodes);
  }
  CHECK(rows == 325);
}

namespace {

std::array<int, 3> three(const std::string& text) {
  const std::vector<int> ranks = int_list(text, '/');
  return {ranks.at(0), ranks.at(1), ranks.at(2)};
}

void check_nvls(const Row& row, const TunerInput& in, int channel, std::size_t rank) {
  if (row.at("nvls_head").empty()) {
    CHECK_FALSE(in.nvls);
    return;
  }
  // From 2.30 on NCCL does not set channels beyond those of NVLS: they read as zeros.
  const bool is_set = in.version < kNccl2_30 || channel < in.nvls_setup.channels;
  const NvlsLinks got = is_set ? nvls_links(in.nvls_graph, in.nodes, in.ranks / in.nodes, channel,
                                            static_cast<int>(rank))
                               : NvlsLinks{0, 0, {0, 0, 0}};
  CHECK(got.head == int_list(row.at("nvls_head"))[rank]);
  CHECK(got.up == int_list(row.at("nvls_up"))[rank]);
  CHECK(got.down == three(split(row.at("nvls_down"), ' ')[rank]));
}

}  // namespace

TEST_CASE("links of rings, trees and NVLS: as NCCL makes them") {
  int links = 0;
  for (const Row& row : read_table("links.csv")) {
    CAPTURE(row.at("version"));
    CAPTURE(row.at("topology"));
    CAPTURE(row.at("nodes"));
    const TunerInput& in = communicator_of(row).model.input;
    const std::vector<int> next = int_list(row.at("ring_next")), up = int_list(row.at("tree_up"));
    const std::vector<std::string> down = split(row.at("tree_down"), ' ');
    for (const int channel : int_list(row.at("channels"))) {
      CAPTURE(channel);
      const std::vector<int> ring = global_ring(in.ring, in.nodes, channel, in.version).ranks;
      for (std::size_t i = 0; i < ring.size(); ++i) {
        CHECK(next[static_cast<std::size_t>(ring[i])] == ring[(i + 1) % ring.size()]);
      }
      for (std::size_t rank = 0; rank < next.size(); ++rank) {
        const TreeLinks tree = tree_links(in.tree, in.nodes, channel, static_cast<int>(rank));
        CHECK(tree.up == up[rank]);
        CHECK(tree.down == three(down[rank]));
        check_nvls(row, in, channel, rank);
        ++links;
      }
    }
  }
  CHECK(links > 5000);
}

TEST_CASE("PAT: in the race from 2.23 on, with one GPU per node") {
  NcclCommunicatorConfig config = communicator_config("2.27.7", 16, "");
  const auto pat = [&](const NcclCommunicatorConfig& c) {
    const NcclCommunicator made = make_nccl_communicator(node_described("dgx-h100"), c);
    return made.model.pair(Collective::all_gather, Algorithm::pat, Protocol::simple);
  };
  CHECK(pat(config).excluded == "PAT needs one GPU per node");
  config.gpus_per_node = 1;
  // 8 us, 4 levels of 14 / 3.5 us, 2.8 us for each of 16 ranks.
  CHECK(pat(config).latency_us == doctest::Approx(8 + 4 * 4 + 16 * 2.8));
  CHECK(pat(config).excluded.empty());
  config.environment.set("NCCL_PAT_ENABLE=0");
  CHECK(pat(config).excluded == "NCCL_PAT_ENABLE=0 turns PAT off");
  config = communicator_config("2.21.5", 16, "");
  config.gpus_per_node = 1;
  CHECK(pat(config).excluded == "PAT exists since NCCL 2.23");
}

TEST_CASE("NVLS set-up: channels and chunks by generation, nodes and NIC") {
  const NcclSettings plain = read_settings({}, kNccl2_30_7);
  const auto kib = [](std::int64_t n) { return Bytes{n << 10}; };
  NvlsInput in{kNccl2_27_7, 1, 8, 90, 48, PathType::pxb};
  CHECK(nvls_setup(in, plain) == NvlsSetup{16, kib(128), kib(128)});
  in.nodes = 4;
  CHECK(nvls_setup(in, plain) == NvlsSetup{16, kib(128), kib(64)});
  in.compute_capability_min = 100;
  CHECK(nvls_setup(in, plain) == NvlsSetup{32, kib(128), kib(64)});
  in.nodes = 1;
  CHECK(nvls_setup(in, plain) == NvlsSetup{24, kib(128), kib(128)});
  in.version = kNccl2_21_5;  // does not know Blackwell
  CHECK(nvls_setup(in, plain).channels == 16);

  in = {kNccl2_30_7, 2, 8, 100, 48, PathType::pxb};
  CHECK(nvls_setup(in, plain) == NvlsSetup{32, kib(128), kib(64)});
  in.type_inter = PathType::phb;
  CHECK(nvls_setup(in, plain) == NvlsSetup{32, kib(128), kib(128)});
  in.ranks_per_node = 4;
  CHECK(nvls_setup(in, plain) == NvlsSetup{32, kib(256), kib(256)});
  in.nodes = 8;
  CHECK(nvls_setup(in, plain) == NvlsSetup{24, kib(128), kib(128)});
  in.net_bw = 96;
  CHECK(nvls_setup(in, plain) == NvlsSetup{24, kib(256), kib(256)});
  in.net_bw = 24;  // not measured: the common rule
  CHECK(nvls_setup(in, plain) == NvlsSetup{32, kib(128), kib(64)});

  Environment environment;
  environment.set("NCCL_NVLS_NCHANNELS=20");
  environment.set("NCCL_NVLS_CHUNKSIZE=65536");
  environment.set("NCCL_NVLSTREE_MAX_CHUNKSIZE=32768");
  environment.set("NCCL_MAX_CTAS=18");
  CHECK(nvls_setup(in, read_settings(environment, kNccl2_30_7)) == NvlsSetup{18, kib(64), kib(32)});
}

TEST_CASE("communicator: what cannot work is refused with a hint") {
  const NodeDescription& node = node_described("dgx-h100");
  NcclCommunicatorConfig config = communicator_config("2.21.5", 2, "NCCL_IB_HCA=none");
  CHECK(make_nccl_communicator(node, config).warnings.front() ==
        "NCCL_IB_HCA selects none of the node's HCAs: NCCL goes on over sockets");
  config = communicator_config("2.21.5", 2, "");
  config.gpus_per_node = 9;
  CHECK(error_text([&] {
          make_nccl_communicator(node, config);
        }).ends_with("hint: lower --gpus-per-node, or raise --nodes"));
}
