// Goal: the programs that workers execute are NCCL's: each primitive moves the chunk and the slices
// that the split over channels says, in NCCL's order. Method: vectors derived from NCCL's source;
// volumes as closed forms.

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "models/nccl/programs/ring_program.hpp"
#include "models/nccl/programs/tree_program.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/nccl_vectors.hpp"
#include "tests/unit/nccl/programs/program_cases.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;
using namespace fabricast::testing;
using nlohmann::json;

TEST_CASE("nccl vectors: RingProgram runs the primitives of a ring all_reduce") {
  // Input 0 comes from the rank before, output 0 goes to the next: the masks follow from the name.
  const std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> masks = {
      {"send", {0, 1}},
      {"recv", {1, 0}},
      {"recvReduceSend", {1, 1}},
      {"recvCopySend", {1, 1}},
      {"recvReduceCopySend", {1, 1}}};
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
    const RingProgram program = ring_program(p, split);
    const json& expected = test.at("expected");
    const json channels =
        expected.contains("channels") ? expected.at("channels") : json::array({expected});
    REQUIRE(split.parts.size() == channels.size());
    for (std::uint32_t lane = 0; lane < channels.size(); ++lane) {
      const json& ops = channels[lane].at("ops");
      const auto got = primitives(program, {lane, in.at("ringIx").get<std::uint32_t>()});
      REQUIRE(got.size() == ops.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto [in_mask, out_mask] = masks.at(ops[i].at("op").get<std::string>());
        CHECK(got[i].in == in_mask);
        CHECK(got[i].out == out_mask);
        CHECK(got[i].chunk.count == ops[i].at("nelem").get<std::int64_t>() * p.element_bytes);
        std::vector<std::int64_t> slices = ops[i].at("slices");
        for (std::int64_t& elements : slices) elements *= p.element_bytes;
        CHECK(slice_bytes(got[i]) == slices);
      }
    }
  }
}

TEST_CASE("RingProgram: each primitive is ring_op() on the chunk that the split says") {
  Dice random(1);
  for (int i = 0; i < cases(250); ++i) {
    CAPTURE(i);
    const int nodes = static_cast<int>(random.pick(2, 24));
    PartitionInput p = random_call(random, random.of(kRingCollectives), Algorithm::ring, nodes, 1);
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    const Partition split = partition(p);
    const std::vector<std::uint32_t> roots(split.parts.size(),
                                           static_cast<std::uint32_t>(random.pick(0, nodes - 1)));
    const RingProgram program = ring_program(p, split, roots);
    for (std::uint32_t lane = 0; lane < split.parts.size(); ++lane) {
      const ChannelPart& part = split.parts[lane];
      const auto position = static_cast<std::uint32_t>(random.pick(0, nodes - 1));
      const std::vector<Primitive> got = primitives(program, {lane, position});
      const std::uint32_t ops = ring_ops_per_loop(p.collective, ranks);
      const std::int64_t loops = loop_count(part, p.algorithm, p.collective, ranks);
      REQUIRE(static_cast<std::int64_t>(got.size()) == loops * ops);
      CHECK(program.slices(lane) ==
            got.size() * static_cast<std::size_t>(split.shape.slices_per_chunk()));
      for (std::size_t k = 0; k < got.size(); ++k) {
        const RingOp op = ring_op(p.collective, position, ranks,
                                  static_cast<std::uint32_t>(k) % ops, roots[lane]);
        const ChunkLoop loop =
            chunk_loop(part, p.algorithm, p.collective, ranks, static_cast<std::int64_t>(k / ops));
        const std::uint32_t chunk = p.collective == Collective::all_reduce ? op.chunk : 0;
        REQUIRE((got[k].in == 1) == receives(op.kind));
        REQUIRE((got[k].out == 1) == sends(op.kind));
        REQUIRE(slice_bytes(got[k]) == expected_slices(p, split, loop.chunk(chunk).count));
      }
    }
  }
}

TEST_CASE("RingProgram says how many primitives in a row are alike where chunks differ") {
  // One loop of a ring of 8 over 22 elements in chunks of 4: chunks 0 to 4 are full, 5 has two, 6
  // and 7 are empty. Rank 0 sends chunk 7, then receives and sends 6, 5, ... 0, 7, ... 1, and
  // receives 0: primitives 3 to 7 work on chunks 4 to 0, 8 and 9 on 7 and 6, 11 to 13 on 4 to 2.
  const Partition split{4, {1, 1}, {{0, 0, 22, 4, 4}}};
  PartitionInput p{kNccl2_21_5, Collective::all_reduce, Algorithm::ring, Protocol::ll128};
  p.ranks = 8;
  const RingProgram program = ring_program(p, split);
  std::vector<std::uint64_t> alike;
  for (std::uint64_t k = 0; k < 15; ++k) alike.push_back(program.repeats({0, 0}, k, 1));
  CHECK(alike == std::vector<std::uint64_t>{0, 0, 0, 4, 3, 2, 1, 0, 1, 0, 0, 2, 1, 0, 0});
}

TEST_CASE("primitives that a program calls alike are equal") {
  Dice random(5);
  for (int i = 0; i < cases(250); ++i) {
    CAPTURE(i);
    const int ranks = static_cast<int>(random.pick(2, 24));
    const PartitionInput p =
        random_call(random, random.of(kRingCollectives), Algorithm::ring, ranks, 1);
    const Partition split = partition(p);
    const RingProgram program =
        ring_program(p, split, std::vector<std::uint32_t>(split.parts.size()));
    for (std::uint32_t lane = 0; lane < split.parts.size(); ++lane) {
      const Role role{lane, static_cast<std::uint32_t>(random.pick(0, ranks - 1))};
      const std::vector<Primitive> all = primitives(program, role);
      for (std::uint64_t first = 0; first < all.size(); ++first) {
        const std::uint64_t alike = program.repeats(role, first, 1);
        REQUIRE(first + alike < all.size());
        for (std::uint64_t k = first; k < first + alike; ++k) {
          REQUIRE(all[k].in == all[k + 1].in);
          REQUIRE(all[k].out == all[k + 1].out);
          REQUIRE(slice_bytes(all[k]) == slice_bytes(all[k + 1]));
        }
      }
    }
  }
}

TEST_CASE(
    "TreeProgram: chunk after chunk of the part, the last one shorter, over all connections") {
  Dice random(2);
  for (int i = 0; i < cases(250); ++i) {
    const PartitionInput p =
        random_call(random, Collective::all_reduce, Algorithm::tree,
                    static_cast<int>(random.pick(1, 16)), static_cast<int>(random.pick(2, 8)));
    const Partition split = partition(p);
    const TreeProgram program(split);
    for (std::uint32_t lane = 0; lane < split.parts.size(); ++lane) {
      const ChannelPart& part = split.parts[lane];
      const std::vector<Primitive> got = primitives(program, TreeProgram::role(lane, 3, 1));
      CHECK(program.slices(lane) == got.size());
      std::int64_t left = part.count_elements;
      for (const Primitive& primitive : got) {
        const std::int64_t elements = std::min(left, part.chunk_elements);
        REQUIRE(primitive.in == 0b111);
        REQUIRE(primitive.out == 0b1);
        REQUIRE(slice_bytes(primitive) == std::vector{elements * split.element_bytes});
        left -= elements;
      }
      CHECK(left == 0);
    }
  }
  const Partition one{4, {1, 1}, {{0, 0, 10, 10, 10}}};
  CHECK(primitives(TreeProgram(one), TreeProgram::role(0, 0, 1))[0].in == 0);  // a leaf's up worker
  CHECK(primitives(TreeProgram(one), TreeProgram::role(0, 1, 0))[0].out == 0);  // its down worker
}

namespace {

/// Bytes that the rank at `position` sends over all channels.
std::int64_t bytes_sent(const Program& program, std::size_t lanes, std::uint32_t position) {
  std::int64_t sum = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    for (const Primitive& primitive : primitives(program, {lane, position}))
      sum += primitive.out == 0 ? 0 : primitive.chunk.count;
  }
  return sum;
}

}  // namespace

TEST_CASE("a rank sends 2(n-1)/n of an all_reduce, (n-1)/n of an all_gather or reduce_scatter") {
  // 64 MiB over 4 channels and 8 ranks: 16 MiB per channel are one loop of 8 chunks of 2 MiB in
  // every version. 2 x 7/8 x 64 MiB = 112 MiB; of 8 MiB per rank, 7 x 8 = 56 MiB.
  constexpr std::int64_t MiB = 1 << 20;
  for (const NcclVersion version : kModelledVersions) {
    PartitionInput p{version, Collective::all_reduce, Algorithm::ring, Protocol::simple};
    p.ranks = 8;
    p.channels = p.communicator_channels = 4;
    p.threads = 544;
    p.count = 64 * MiB / 4;
    for (const Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      p.collective = collective;
      if (collective != Collective::all_reduce) p.count = 8 * MiB / 4;
      const Partition split = partition(p);
      const RingProgram program = ring_program(p, split);
      REQUIRE(split.parts.size() == 4);
      for (std::uint32_t position = 0; position < 8; ++position) {
        CHECK(bytes_sent(program, 4, position) ==
              (collective == Collective::all_reduce ? 112 : 56) * MiB);
      }
    }
  }
}

TEST_CASE("bytes sent by each rank of a ring, for any size") {
  // all_reduce: in each loop the rank at ring index r sends every chunk twice but two: chunk r only
  // when it is reduced, chunk r + 1 only before that. So 2 x loop - c(r) - c(r+1); over all ranks
  // 2(n-1) x size. all_gather, reduce_scatter: the share of every rank but one. broadcast, reduce:
  // all, except the last of the chain, which sends nothing.
  Dice random(3);
  for (int i = 0; i < cases(300); ++i) {
    CAPTURE(i);
    const int ranks = static_cast<int>(random.pick(2, 20));
    const PartitionInput p =
        random_call(random, random.of(kRingCollectives), Algorithm::ring, ranks, 1);
    const Partition split = partition(p);
    const auto n = static_cast<std::uint32_t>(ranks);
    const auto root = static_cast<std::uint32_t>(random.pick(0, ranks - 1));
    const RingProgram program =
        ring_program(p, split, std::vector<std::uint32_t>(split.parts.size(), root));
    const std::int64_t size = p.count * p.element_bytes;
    std::int64_t all_ranks = 0;
    for (std::uint32_t r = 0; r < n; ++r) {
      const std::int64_t sent = bytes_sent(program, split.parts.size(), r);
      all_ranks += sent;
      switch (p.collective) {
        case Collective::all_reduce: {
          std::int64_t expected = 2 * size;
          for (const ChannelPart& part : split.parts) {
            const std::int64_t loops = loop_count(part, p.algorithm, p.collective, n);
            for (std::int64_t l = 0; l < loops; ++l) {
              const ChunkLoop loop = chunk_loop(part, p.algorithm, p.collective, n, l);
              expected -=
                  (loop.chunk(r).count + loop.chunk((r + 1) % n).count) * split.element_bytes;
            }
          }
          CHECK(sent == expected);
          break;
        }
        case Collective::all_gather:
        case Collective::reduce_scatter:
          CHECK(sent == (n - 1) * size);
          break;
        case Collective::broadcast:
          CHECK(sent == ((r + 1) % n == root ? 0 : size));
          break;
        default:
          CHECK(sent == (r == root ? 0 : size));
      }
    }
    if (p.collective == Collective::all_reduce) CHECK(all_ranks == 2 * (n - 1) * size);
  }
}

TEST_CASE("messages of a ring hop: 2 channels, 4 ranks, float32") {
  // 1 MiB: per channel 6 chunks of 128 KiB leave a rank, each as two slices of 64 KiB. 256 KiB:
  // chunks of 32 KiB, which the least slice of 32 KiB leaves as one message and an empty one. 2.21
  // and 2.27 split these sizes alike.
  for (const NcclVersion version : {kNccl2_21_5, kNccl2_27_7}) {
    for (const std::int64_t size : {1 << 20, 256 << 10}) {
      PartitionInput p{version, Collective::all_reduce, Algorithm::ring, Protocol::simple};
      p.ranks = 4;
      p.channels = p.communicator_channels = 2;
      p.count = size / 4;
      p.threads = 544;
      const Partition split = partition(p);
      const RingProgram program = ring_program(p, split);
      REQUIRE(split.parts.size() == 2);
      for (std::uint32_t lane = 0; lane < 2; ++lane) {
        std::vector<std::int64_t> messages;
        for (const Primitive& primitive : primitives(program, {lane, 1})) {
          if (primitive.out == 0) continue;
          for (const std::int64_t bytes : slice_bytes(primitive)) messages.push_back(bytes);
        }
        std::vector<std::int64_t> expected;
        for (int chunk = 0; chunk < 6; ++chunk) {
          expected.push_back(size == 1 << 20 ? 65'536 : 32'768);
          expected.push_back(size == 1 << 20 ? 65'536 : 0);
        }
        CHECK(messages == expected);
        CHECK(program.slices(lane) == 14);  // 7 primitives of 2 slices
      }
    }
  }
}

TEST_CASE("messages of a tree hop: 1 MiB of LL over 2 channels are 16 of 32 KiB on each") {
  for (const NcclVersion version : {kNccl2_21_5, kNccl2_27_7}) {
    PartitionInput p{version, Collective::all_reduce, Algorithm::tree, Protocol::ll};
    p.ranks = 4;
    p.nodes = 2;
    p.channels = p.communicator_channels = 2;
    p.count = 1 << 18;
    p.threads = 512;
    const Partition split = partition(p);
    REQUIRE(split.parts.size() == 2);
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      const auto up = primitives(TreeProgram(split), TreeProgram::role(lane, 1, 1));
      CHECK(up.size() == 16);
      for (const Primitive& primitive : up) CHECK(primitive.chunk.count == 32'768);
    }
  }
}
