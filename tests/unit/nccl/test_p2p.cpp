// Goal: the pure rules of sends and receives (who meets whom when, parts, channels, chunks,
// protocol) are NCCL's. Method: 38 vectors derived from NCCL's source, cuts worked out by hand, and
// what must hold of any shape.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "models/nccl/sendrecv/p2p_message.hpp"
#include "models/nccl/sendrecv/p2p_rounds.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/nccl_vectors.hpp"

using namespace fabricast;
using fabricast::testing::Dice;
using fabricast::testing::vectors_of;
using nlohmann::json;

namespace {

/// A version for which a vector holds.
NcclVersion p2p_version(const std::string& text) {
  if (text == "2.21.5") return kNccl2_21_5;
  if (text == "2.22..2.28.3" || text == "2.22..2.27.7") return kNccl2_27_7;
  REQUIRE(text == "2.28.7..2.30.7");
  return kNccl2_30_7;
}

P2pRounds rounds_of(const json& test) {
  const json& in = test.at("input");
  return {p2p_version(test.at("nccl")), in.at("nNodes"), in.at("ranksPerNode")};
}

P2pRules rules_of(NcclVersion version, int nodes, int ranks, P2pChannels channels) {
  P2pRules rules;
  rules.version = version;
  rules.several_nodes = nodes > 1;
  rules.ranks = ranks;
  rules.channels = channels;
  return rules;
}

constexpr Bytes kKi{1024}, kMi{1 << 20};

}  // namespace

TEST_CASE("p2p vectors: peers by round") {
  const auto tests = vectors_of("p2p-schedule");
  CHECK(tests.size() == 27);
  for (const json& test : tests) {
    CAPTURE(test.at("id").get<std::string>());
    const P2pRounds rounds = rounds_of(test);
    const json& ranks = test.at("expected").at("per_rank_send_recv");
    for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
      const json& peers = ranks.at(static_cast<std::size_t>(rank));
      REQUIRE(peers.size() == static_cast<std::size_t>(rounds.count()));
      for (int round = 0; round < rounds.count(); ++round) {
        CAPTURE(rank);
        CAPTURE(round);
        const json& pair = peers.at(static_cast<std::size_t>(round));
        CHECK(rounds.send_peer(rank, round) == pair.at(0));
        CHECK(rounds.receive_peer(rank, round) == pair.at(1));
      }
    }
  }
}

TEST_CASE("p2p vectors: the channel of a peer") {
  const auto tests = vectors_of("p2p-channel");
  CHECK(tests.size() == 3);
  for (const json& test : tests) {
    CAPTURE(test.at("id").get<std::string>());
    const P2pRounds rounds = rounds_of(test);
    const int channels = test.at("input").at("p2pChannels");
    const json& expected = test.at("expected").at("channel_by_peer");
    for (int round = 0; round < rounds.count(); ++round) {
      const int peer = rounds.send_peer(0, round);
      REQUIRE(peer != kNoPeer);
      CHECK(p2p_channel(p2p_version(test.at("nccl")), channels, rounds.base(round, 0, peer), 0) ==
            expected.at(static_cast<std::size_t>(peer)));
    }
  }
}

TEST_CASE("p2p vectors: the channels of a round") {
  const auto tests = vectors_of("p2p-channel-by-round");
  CHECK(tests.size() == 8);
  for (const json& test : tests) {
    CAPTURE(test.at("id").get<std::string>());
    const P2pRounds rounds = rounds_of(test);
    const int channels = test.at("input").at("p2pChannels");
    const json& expected = test.at("expected").at("channel_by_round_and_part");
    REQUIRE(expected.size() == static_cast<std::size_t>(rounds.count()));
    for (int round = 0; round < rounds.count(); ++round) {
      const int base = rounds.base(round, 0, rounds.send_peer(0, round));
      const json& parts = expected.at(static_cast<std::size_t>(round));
      for (int part = 0; part < static_cast<int>(parts.size()); ++part) {
        CHECK(p2p_channel(p2p_version(test.at("nccl")), channels, base, part) ==
              parts.at(static_cast<std::size_t>(part)));
      }
    }
  }
}

TEST_CASE("all ranks meet once, in the same round at both ends, on the same channel") {
  for (const NcclVersion version : kModelledVersions) {
    for (int nodes = 1; nodes <= 9; ++nodes) {
      for (const int gpus : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}) {
        CAPTURE(to_text(version));
        CAPTURE(nodes);
        CAPTURE(gpus);
        const P2pRounds rounds(version, nodes, gpus);
        const int ranks = nodes * gpus;
        for (int rank = 0; rank < ranks; ++rank) {
          std::set<int> sent, received;
          int met = 0;
          for (int round = 0; round < rounds.count(); ++round) {
            const int to = rounds.send_peer(rank, round), from = rounds.receive_peer(rank, round);
            if (to != kNoPeer) {
              sent.insert(to);
              ++met;
              REQUIRE(rounds.receive_peer(to, round) == rank);
              REQUIRE(rounds.round_of(rank, to) == round);
            }
            if (from != kNoPeer) {
              received.insert(from);
              REQUIRE(rounds.send_peer(from, round) == rank);
            }
          }
          REQUIRE(met == ranks);
          REQUIRE(static_cast<int>(sent.size()) == ranks);
          REQUIRE(static_cast<int>(received.size()) == ranks);
        }
      }
    }
  }
}

TEST_CASE("a node of three has places for four in 2.21") {
  const P2pRounds rounds(kNccl2_21_5, 1, 3);
  CHECK(rounds.count() == 4);
  CHECK(rounds.send_peer(0, 3) == kNoPeer);  // place 3
  CHECK(rounds.send_peer(1, 3) == 0);
  CHECK(P2pRounds(kNccl2_27_7, 1, 3).count() == 3);
}

TEST_CASE("every channel serves one part of a message, and no two the same") {
  for (const NcclVersion version : kModelledVersions) {
    for (const int channels : {1, 2, 8, 32}) {
      for (int base = 0; base < 40; ++base) {
        for (int part = 0; part < channels; ++part) {
          const int channel = p2p_channel(version, channels, base, part);
          CHECK(p2p_part_of_channel(version, channels, base, channel) == part);
        }
      }
    }
  }
}

TEST_CASE("1 MiB to another node: two parts, and chunks by version") {
  // 2 x 8 GPUs, 16 channels, 2 per peer: 2 * 16 > 16, so one part usually; 1 MiB > 128 KiB: two.
  for (const NcclVersion version : kModelledVersions) {
    const P2pRules rules = rules_of(version, 2, 16, {16, 2, kKi * 128});
    const P2pSplit split = p2p_split(rules, kMi, true);
    CHECK(split == P2pSplit{2, kKi * 512});
    const Bytes chunk = p2p_part(rules, kMi, split, 0, true).chunk;
    CHECK(chunk == (version < kNccl2_22 ? kKi * 64 : kKi * 128));
    const Bytes less{kMi.count - 1};
    CHECK(p2p_part(rules, less, p2p_split(rules, less, true), 0, true).chunk == kKi * 64);
    // Inside a node chunks stay whole.
    CHECK(p2p_part(rules, kMi, split, 1, false) == P2pPart{kKi * 512, kKi * 128, Protocol::simple});
  }
}

TEST_CASE("small messages: LL inside a node, quarter chunks to others") {
  const P2pRules old = rules_of(kNccl2_21_5, 2, 16, {16, 2, kKi * 128});
  const P2pSplit one = p2p_split(old, kKi * 16, false);
  CHECK(one.parts == 1);
  CHECK(p2p_part(old, kKi * 16, one, 0, false) == P2pPart{kKi * 16, kKi * 32, Protocol::ll});
  CHECK(p2p_part(old, kKi * 16, one, 0, true) == P2pPart{kKi * 16, kKi * 32, Protocol::simple});
  const Bytes more{16 * 1024 + 1};
  CHECK(p2p_part(old, more, p2p_split(old, more, false), 0, false).protocol == Protocol::simple);
  P2pRules over_net = old;
  over_net.ll_over_net = true;
  CHECK(p2p_part(over_net, kKi * 16, one, 0, true).protocol == Protocol::ll);
  CHECK(p2p_part(over_net, kKi * 16, one, 0, true).chunk == kKi * 16);
}

TEST_CASE("the LL threshold counts channels: per peer from 2.22, those used from 2.29") {
  const P2pChannels channels{32, 4, kKi * 512};
  const auto protocol = [&](NcclVersion version, Bytes message) {
    const P2pRules rules = rules_of(version, 1, 8, channels);
    return p2p_part(rules, message, p2p_split(rules, message, false), 0, false).protocol;
  };
  // One node: parts of at least 64 KiB, an eighth of a chunk.
  CHECK(protocol(kNccl2_27_7, kKi * 64) == Protocol::ll);
  CHECK(protocol(kNccl2_27_7, kKi * 65) == Protocol::simple);
  CHECK(protocol(kNccl2_30_7, kKi * 16) == Protocol::ll);
  CHECK(protocol(kNccl2_30_7, kKi * 17) == Protocol::simple);
}

TEST_CASE("2.22 to 2.28 measure parts of LL by its own step") {
  // Inside a node of several: half of 64 KiB at least, not half of 128 KiB; to another node there
  // is no LL. On one node an eighth: 8 KiB, not 64 KiB.
  const P2pRules two = rules_of(kNccl2_27_7, 2, 4, {16, 4, kKi * 128});
  CHECK(p2p_split(two, kKi * 64, false) == P2pSplit{2, kKi * 32});
  CHECK(p2p_split(two, kKi * 64, true) == P2pSplit{1, kKi * 64});
  const P2pChannels channels{32, 16, kKi * 512};
  CHECK(p2p_split(rules_of(kNccl2_27_7, 1, 2, channels), kKi * 64, false) == P2pSplit{8, kKi * 8});
  CHECK(p2p_split(rules_of(kNccl2_27_7, 1, 2, channels), kKi * 257, false) ==
        P2pSplit{5, kKi * 52});  // Simple: 16 * 16 KiB is the most that LL takes
  CHECK(p2p_split(rules_of(kNccl2_30_7, 1, 2, channels), kKi * 64, false) == P2pSplit{1, kKi * 64});
  CHECK(p2p_split(rules_of(kNccl2_21_5, 1, 2, channels), kKi * 64, false).part == kKi * 64);
}

TEST_CASE("2.22 rounds chunks down to what an 8-bit float holds") {
  const P2pChannels channels{16, 2, Bytes{100'000}};
  const P2pRules old = rules_of(kNccl2_21_5, 1, 8, channels);
  const P2pRules later = rules_of(kNccl2_27_7, 1, 8, channels);
  CHECK(p2p_part(old, kMi, p2p_split(old, kMi, false), 0, false).chunk.count == 100'000);
  CHECK(p2p_part(later, kMi, p2p_split(later, kMi, false), 0, false).chunk.count ==
        98'304);  // 12 * 2^13
}

TEST_CASE("parts make up the message") {
  Dice random(7);
  for (int i = 0; i < 3'000; ++i) {
    const int nodes = static_cast<int>(random.pick(1, 9));
    const int ranks = nodes * static_cast<int>(random.pick(1, 8));
    const int channels = 1 << random.pick(0, 5);
    const P2pChannels settled{channels, std::min(channels, 1 << random.pick(0, 5)),
                              Bytes{std::int64_t{1} << random.pick(14, 19)}};
    const P2pRules rules = rules_of(random.of(kModelledVersions), nodes, ranks, settled);
    const Bytes message{random.pick(0, 1) == 0 ? random.pick(0, 100'000)
                                               : random.pick(0, std::int64_t{1} << 33)};
    const bool remote = random.pick(0, 1) == 1;
    const P2pSplit split = p2p_split(rules, message, remote);
    CAPTURE(message.count);
    REQUIRE(split.parts >= 1);
    REQUIRE(split.parts <= settled.per_peer);
    std::int64_t sum = 0;
    for (int part = 0; part < split.parts; ++part) {
      const P2pPart cut = p2p_part(rules, message, split, part, remote);
      REQUIRE((cut.size.count > 0 || message.count == 0));
      REQUIRE(cut.chunk.count > 0);
      sum += cut.size.count;
    }
    REQUIRE(sum == message.count);
  }
}
