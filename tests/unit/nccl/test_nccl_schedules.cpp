// Goal: the pure rules of NCCL's schedules (split over channels, slices, ring primitives, double
// tree) give what NCCL gives. Method: vectors derived from its source or from running its
// functions, then closed forms and invariants that hold for any number of ranks.

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "models/nccl/programs/ring_ops.hpp"
#include "models/nccl/split/partition.hpp"
#include "models/nccl/split/slices.hpp"
#include "models/nccl/wiring/double_tree.hpp"
#include "tests/unit/nccl/nccl_vectors.hpp"

using namespace fabricast;
using fabricast::testing::vectors_of;
using nlohmann::json;

namespace {

NcclVersion version_of(const std::string& text) {
  if (text == "2.21.5") return kNccl2_21_5;
  if (text == "2.23") return kNccl2_23;
  if (text == "2.27") return kNccl2_27_7;
  REQUIRE(text == "2.30");
  return kNccl2_30_7;
}

Collective collective_named(const std::string& nccl) {
  for (const Collective c : kAllCollectives) {
    if (nccl_name(c) == nccl) return c;
  }
  FAIL("no collective ", nccl);
  return {};
}

PartitionInput partition_input(const json& test) {
  const json& in = test.at("input");
  PartitionInput p;
  p.version = version_of(test.at("nccl"));
  p.collective = collective_named(in.at("collective"));
  p.algorithm = algorithm_from_text(in.at("algorithm").get<std::string>()).value();
  p.protocol = protocol_from_text(in.at("protocol").get<std::string>()).value();
  p.count = in.at("count");
  p.element_bytes = in.at("element_bytes");
  p.ranks = in.at("nRanks");
  p.channels = in.at("nChannels");
  p.communicator_channels = in.value("commChannels", 0);
  p.threads = in.value("nThreads", 0);
  return p;
}

void check_part(const json& expected, const ChannelPart& part, int element_bytes) {
  const bool new_words = expected.contains("partOffset");  // 2.22+
  CHECK(part.channel == expected.at("channel"));
  CHECK(part.offset_elements == expected.at(new_words ? "partOffset" : "workOffset"));
  CHECK(part.count_elements == expected.at(new_words ? "partCount" : "workCount"));
  CHECK(part.chunk_elements == expected.at("chunkCount"));
  CHECK(element_bytes == expected.at("unit"));
  const char* last = new_words ? "lastLoopChunkCount" : "lastChunkCount";
  if (expected.contains(last)) CHECK(part.last_loop_chunk_elements == expected.at(last));
}

std::vector<std::int64_t> slice_list(const Slicing& slicing) {
  std::vector<std::int64_t> out;
  for (int i = 0; i < slicing.slices; ++i) out.push_back(slicing.elements(i));
  return out;
}

}  // namespace

TEST_CASE("nccl vectors: split over channels") {
  const std::vector<json> cases = vectors_of("channel-partition");
  CHECK(cases.size() == 51);
  for (const json& test : cases) {
    CAPTURE(test.at("id").get<std::string>());
    const Partition got = partition(partition_input(test));
    const json& expected = test.at("expected");
    REQUIRE(got.parts.size() == expected.at("parts").size());
    for (std::size_t i = 0; i < got.parts.size(); ++i) {
      check_part(expected.at("parts")[i], got.parts[i], got.element_bytes);
    }
    if (expected.contains("chunkSteps")) {
      CHECK(got.shape.per_chunk == expected.at("chunkSteps"));
      CHECK(got.shape.per_slice == expected.at("sliceSteps"));
    }
  }
}

TEST_CASE("nccl vectors: slices of a chunk") {
  const std::vector<json> cases = vectors_of("slices");
  CHECK(cases.size() == 9);
  for (const json& test : cases) {
    CAPTURE(test.at("id").get<std::string>());
    const json& in = test.at("input");
    const int per_slice = in.at("StepPerSlice");
    const StepShape shape{in.at("SlicePerChunk").get<int>() * per_slice, per_slice};
    const Slicing got = slices_of_chunk(in.at("nelem"), in.at("element_bytes"), shape,
                                        Bytes{in.at("stepBytes").get<std::int64_t>()});
    CHECK(slice_list(got) == test.at("expected").at("slices").get<std::vector<std::int64_t>>());
  }
}

namespace {

void check_ring_ops(const json& ops, const ChannelPart& part, std::uint32_t index,
                    std::uint32_t ranks) {
  REQUIRE(ops.size() == ring_ops_per_loop(Collective::all_reduce, ranks));
  REQUIRE(loop_count(part, Algorithm::ring, Collective::all_reduce, ranks) == 1);
  const ChunkLoop loop = chunk_loop(part, Algorithm::ring, Collective::all_reduce, ranks, 0);
  const StepShape shape = step_shape(Algorithm::ring, Collective::all_reduce, Protocol::simple);
  const Bytes step = step_size(Protocol::simple, BufferSizes{});
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const RingOp op = ring_op(Collective::all_reduce, index, ranks, i);
    const ElementRange range = loop.chunk(op.chunk);
    CHECK(to_text(op.kind) == ops[i].at("op").get<std::string>());
    CHECK(op.chunk == ops[i].at("chunk"));
    CHECK(range.offset == ops[i].at("offset"));
    CHECK(range.count == ops[i].at("nelem"));
    CHECK(slice_list(slices_of_chunk(range.count, 4, shape, step)) ==
          ops[i].at("slices").get<std::vector<std::int64_t>>());
  }
}

}  // namespace

TEST_CASE("nccl vectors: primitives of a ring all_reduce") {
  const std::vector<json> cases = vectors_of("ring-allreduce-ops");
  CHECK(cases.size() == 5);
  for (const json& test : cases) {
    CAPTURE(test.at("id").get<std::string>());
    const json& in = test.at("input");
    PartitionInput p{kNccl2_21_5, Collective::all_reduce, Algorithm::ring, Protocol::simple};
    p.count = in.at("count");
    p.element_bytes = in.at("element_bytes");
    p.ranks = in.at("nRanks");
    p.channels = in.at("nChannels");
    p.threads = 544;
    const Partition split = partition(p);
    const json& expected = test.at("expected");
    const json channels =
        expected.contains("channels") ? expected.at("channels") : json::array({expected});
    REQUIRE(split.parts.size() == channels.size());
    for (std::size_t c = 0; c < channels.size(); ++c) {
      check_ring_ops(channels[c].at("ops"), split.parts[c], in.at("ringIx"), in.at("nRanks"));
    }
  }
}

TEST_CASE("nccl vectors: double binary tree") {
  const std::vector<json> cases = vectors_of("double-tree");
  CHECK(cases.size() == 11);
  auto check = [](const json& expected, const TreeNode& got) {
    CHECK(got.up == expected.at("up"));
    CHECK(got.down == expected.at("down").get<std::array<int, 2>>());
    CHECK(got.child_number == expected.at("parentChildType"));
  };
  for (const json& test : cases) {
    CAPTURE(test.at("id").get<std::string>());
    const int nodes = test.at("input").at("nNodes");
    for (const json& node : test.at("expected").at("nodes")) {
      const DoubleTree both = double_tree(node.at("node"), nodes);
      check(node.at("t0"), both.first);
      check(node.at("t1"), both.second);
    }
  }
}

TEST_CASE("double tree: one root, and children know their parents, for 1..200 nodes") {
  for (int nodes = 1; nodes <= 200; ++nodes) {
    CAPTURE(nodes);
    int roots = 0, leaves_in_both = 0;
    for (int node = 0; node < nodes; ++node) {
      const DoubleTree both = double_tree(node, nodes);
      roots += both.first.up < 0;
      roots += both.second.up < 0;
      const auto is_leaf = [](const TreeNode& t) { return t.down == std::array{-1, -1}; };
      leaves_in_both += is_leaf(both.first) && is_leaf(both.second);
      for (std::size_t k = 0; k < 2; ++k) {
        if (const int child = both.first.down[k]; child >= 0) {
          const TreeNode below = double_tree(child, nodes).first;
          CHECK(below.up == node);
          CHECK(below.child_number == static_cast<int>(k));
        }
        if (const int child = both.second.down[k]; child >= 0) {
          CHECK(double_tree(child, nodes).second.up == node);
        }
      }
    }
    CHECK(roots == 2);
    // With an even number every node works in one of the trees.
    if (nodes % 2 == 0) CHECK(leaves_in_both == 0);
  }
}

TEST_CASE("wire bytes: lines and flags of each protocol") {
  CHECK(wire_format(Protocol::simple).on_wire(Bytes{1001}).count == 1001);
  CHECK(wire_format(Protocol::ll).on_wire(Bytes{0}).count == 0);
  CHECK(wire_format(Protocol::ll).on_wire(Bytes{1}).count ==
        16);  // a line carries 8 of its 16 bytes
  CHECK(wire_format(Protocol::ll).on_wire(Bytes{32'768}).count == 65'536);
  CHECK(wire_format(Protocol::ll128).on_wire(Bytes{1}).count == 2048);  // one warp's lines, whole
  CHECK(wire_format(Protocol::ll128).on_wire(Bytes{1921}).count == 2 * 2048);
  // A full step of data fills the step.
  for (const Protocol p : kAllProtocols) {
    const Bytes data = step_payload(p, BufferSizes{});
    CHECK(wire_format(p).on_wire(data) == step_size(p, BufferSizes{}));
  }
}

TEST_CASE("chunks: full slots, except where Tree LL128 shrinks") {
  auto chunk = [](Algorithm a, Collective c, Protocol p, std::int64_t size, int nodes) {
    return chunk_size({kNccl2_21_5, a, c, p, Bytes{size}, 1, nodes, 8 * nodes, BufferSizes{}})
        .count;
  };
  CHECK(chunk(Algorithm::ring, Collective::all_reduce, Protocol::simple, 8, 1) == 2 << 20);
  CHECK(chunk(Algorithm::ring, Collective::broadcast, Protocol::simple, 8, 1) == 512 << 10);
  CHECK(chunk(Algorithm::ring, Collective::all_reduce, Protocol::ll, 8, 1) == 32 << 10);
  CHECK(chunk(Algorithm::ring, Collective::all_reduce, Protocol::ll128, 8, 1) == 576'000);
  CHECK(chunk(Algorithm::tree, Collective::all_reduce, Protocol::simple, 8, 1) == 512 << 10);
  // 8 ranks on 1 node: s = 1 + 0 + 0.8. 64 MiB / 576000 = 116 chunks are not below 1.8 * 64 / 8
  // = 14.4.
  CHECK(chunk(Algorithm::tree, Collective::all_reduce, Protocol::ll128, 64 << 20, 1) == 576'000);
  // 1 MiB: halved to 72000 by the first rule; 14 chunks are not below 3.6, so the second is idle.
  CHECK(chunk(Algorithm::tree, Collective::all_reduce, Protocol::ll128, 1 << 20, 1) == 72'000);
  // 8 bytes: halved until it is no longer above 32768: 72000, 36000, 18000.
  CHECK(chunk(Algorithm::tree, Collective::all_reduce, Protocol::ll128, 8, 1) == 18'000);
}

TEST_CASE("a split covers the buffer without gaps, whatever the version, size and channels") {
  std::uint64_t seed = 7;
  auto random = [&seed](std::uint64_t below) {  // splitmix64
    std::uint64_t z = (seed += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % below;
  };
  for (int i = 0; i < 20'000; ++i) {
    PartitionInput p;
    p.version = std::array{kNccl2_21_5, kNccl2_23, kNccl2_27_7, kNccl2_30_7}[random(4)];
    p.collective = kAllCollectives[random(kTunedCollectives)];
    p.algorithm = p.collective == Collective::all_reduce && random(2) == 0 ? Algorithm::tree
                                                                           : Algorithm::ring;
    p.protocol = kAllProtocols[random(kProtocols)];
    p.nodes = 1 << random(5);
    p.ranks = 8 * p.nodes;
    p.element_bytes = 1 << random(4);
    p.count = static_cast<std::int64_t>(random(1u << random(27)));
    p.communicator_channels = static_cast<int>(1 + random(32));
    p.channels = static_cast<int>(1 + random(static_cast<std::uint64_t>(p.communicator_channels)));
    p.threads = 96 + 32 * static_cast<int>(random(17));
    const Partition split = partition(p);
    const std::int64_t count = p.count * p.element_bytes / split.element_bytes;
    std::int64_t end = 0;
    int channel = -1;
    for (const ChannelPart& part : split.parts) {
      REQUIRE(part.offset_elements == end);
      REQUIRE(part.count_elements > 0);
      REQUIRE(part.channel == channel + 1);
      end += part.count_elements;
      channel = part.channel;
    }
    REQUIRE(end == count);
    REQUIRE(channel < p.communicator_channels);
  }
}

TEST_CASE("the loops of a ring part cover it once") {
  // 10 MiB + 12 B over 2 channels and 5 ranks: two full loops or less, and a shorter last one.
  for (const NcclVersion version : kModelledVersions) {
    PartitionInput p{version, Collective::all_reduce, Algorithm::ring, Protocol::ll};
    p.count = (10 << 18) + 3;
    p.ranks = 5;
    p.channels = p.communicator_channels = 2;
    p.threads = 512;
    for (const ChannelPart& part : partition(p).parts) {
      std::int64_t next = part.offset_elements;
      const auto loops = loop_count(part, p.algorithm, p.collective, 5);
      for (std::int64_t l = 0; l < loops; ++l) {
        const ChunkLoop loop = chunk_loop(part, p.algorithm, p.collective, 5, l);
        for (std::uint32_t c = 0; c < 5; ++c) {
          const ElementRange range = loop.chunk(c);
          if (range.count == 0) continue;
          REQUIRE(range.offset == next);
          next += range.count;
        }
      }
      CHECK(next == part.offset_elements + part.count_elements);
    }
  }
}

namespace {

/// What a rank's buffers hold, as the set of ranks whose data has gone into each chunk.
using Contributors = std::set<std::uint32_t>;

/// Plays one loop of a collective on all ranks of a ring: every rank runs its primitives in order;
/// a receive takes what the rank before has sent. Returns per rank and chunk what the output holds.
std::vector<std::vector<Contributors>> play(Collective collective, std::uint32_t ranks,
                                            std::uint32_t root) {
  struct Message {
    std::uint32_t chunk;
    Contributors data;
  };
  std::vector<std::vector<Contributors>> output(ranks, std::vector<Contributors>(ranks));
  std::vector<std::vector<Message>> sent(ranks);
  std::vector<std::uint32_t> at(ranks, 0), taken(ranks, 0);
  const std::uint32_t ops = ring_ops_per_loop(collective, ranks);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      if (at[r] == ops) continue;
      const RingOp op = ring_op(collective, r, ranks, at[r], root);
      Contributors data{r};  // the own input
      if (receives(op.kind)) {
        const std::vector<Message>& queue = sent[(r + ranks - 1) % ranks];
        if (taken[r] == queue.size()) continue;
        const Message& message = queue[taken[r]++];
        REQUIRE(message.chunk == op.chunk);
        if (reduces(op.kind)) {
          for (const std::uint32_t one : message.data) REQUIRE(data.insert(one).second);
        } else {
          data = message.data;
        }
      }
      if (op.kind != PrimitiveKind::send && op.kind != PrimitiveKind::recv_reduce_send) {
        output[r][op.chunk] = data;
      }
      if (sends(op.kind)) sent[r].push_back({op.chunk, data});
      ++at[r];
      moved = true;
    }
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    REQUIRE(at[r] == ops);                                      // nobody hangs
    REQUIRE(taken[r] == sent[(r + ranks - 1) % ranks].size());  // nothing is left in a slot
  }
  return output;
}

}  // namespace

TEST_CASE("ring primitives: played on all ranks they compute the collective") {
  for (const std::uint32_t ranks : {2u, 3u, 4u, 7u, 16u}) {
    CAPTURE(ranks);
    Contributors everyone;
    for (std::uint32_t r = 0; r < ranks; ++r) everyone.insert(r);
    const auto reduced = play(Collective::all_reduce, ranks, 0);
    const auto gathered = play(Collective::all_gather, ranks, 0);
    const auto scattered = play(Collective::reduce_scatter, ranks, 0);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      for (std::uint32_t c = 0; c < ranks; ++c) {
        CHECK(reduced[r][c] == everyone);
        CHECK(gathered[r][c] == Contributors{c});
        CHECK(scattered[r][c] == (c == r ? everyone : Contributors{}));
      }
    }
    for (std::uint32_t root = 0; root < ranks; ++root) {
      const auto broadcast = play(Collective::broadcast, ranks, root);
      const auto reduce = play(Collective::reduce, ranks, root);
      for (std::uint32_t r = 0; r < ranks; ++r) {
        CHECK(broadcast[r][0] == Contributors{root});
        CHECK(reduce[r][0] == (r == root ? everyone : Contributors{}));
      }
    }
  }
}

TEST_CASE(
    "ring primitives: in place nothing is copied, and sends per loop follow the closed forms") {
  for (const std::uint32_t ranks : {2u, 5u, 8u}) {
    for (const Collective c :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      std::uint32_t sends_of_rank = 0;
      for (std::uint32_t i = 0; i < ring_ops_per_loop(c, ranks); ++i) {
        sends_of_rank += sends(ring_op(c, 1, ranks, i).kind);
      }
      CHECK(sends_of_rank == ring_sends_per_loop(c, ranks));
      CHECK(sends_of_rank == (c == Collective::all_reduce ? 2 : 1) * (ranks - 1));
    }
    CHECK(ring_op(Collective::all_gather, 0, ranks, 0).kind == PrimitiveKind::copy_send);
    CHECK(ring_op(Collective::all_gather, 0, ranks, 0, 0, true).kind == PrimitiveKind::send);
    CHECK(ring_op(Collective::broadcast, 1, ranks, 0, 1).kind == PrimitiveKind::copy_send);
    CHECK(ring_op(Collective::broadcast, 1, ranks, 0, 1, true).kind == PrimitiveKind::send);
  }
}
