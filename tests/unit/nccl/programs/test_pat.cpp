// Goal: PAT's steps are NCCL's, and what is executed of them moves what they say. Method: the
// operations that NCCL's own classes print; then a play of the steps with NCCL's slots, where
// messages stay in their slots from the first addition to the last read and carry who contributed,
// for every number of ranks up to 40; then rows and programs against the steps.

#include <doctest/doctest.h>

#include <array>
#include <bitset>
#include <map>
#include <string>
#include <vector>

#include "models/nccl/programs/pat_program.hpp"
#include "models/nccl/programs/pat_steps.hpp"
#include "tests/unit/nccl/nccl_cases.hpp"
#include "tests/unit/nccl/nccl_vectors.hpp"

using namespace fabricast;
using namespace fabricast::testing;
using nlohmann::json;

namespace {

constexpr std::array kPatCollectives = {Collective::all_gather, Collective::reduce_scatter};

PatShape shape_of(const json& in) {
  return pat_shape(Bytes{in.at("chunkBytes").get<std::int64_t>()},
                   Bytes{in.at("bytes_per_rank").get<std::int64_t>()}, in.at("nRanks"),
                   in.at("maxParallelFactor"));
}

std::vector<PatStep> busy_steps(Collective collective, const PatShape& shape) {
  std::vector<PatStep> out;
  for (const PatPass& pass : pat_round(collective, shape)) {
    for (const PatStep& step : pass)
      if (!step.idle) out.push_back(step);
  }
  return out;
}

void check_step(const PatStep& step, std::map<std::string, std::int64_t> op, Collective collective,
                std::int64_t bytes, int rank, int ranks) {
  const auto offset = [&](int part) { return part < 0 ? -1 : part * bytes; };
  CHECK(step.recv_dim == op["recvDim"]);
  CHECK(step.send_dim == op["sendDim"]);
  CHECK(bytes == op["nelem"]);
  CHECK(offset(step.recv_part) == op["recvOffset"]);
  CHECK(offset(step.send_part) == op["sendOffset"]);
  CHECK(step.ahead == op["stepOffset"]);
  CHECK(step.frees == (op["postRecv"] != 0));
  CHECK(step.posts == (op["postSend"] != 0));
  const bool scatters = collective == Collective::reduce_scatter;
  CHECK((rank + step.distance) % ranks * bytes == op[scatters ? "inpIx" : "outIx"]);
}

}  // namespace

TEST_CASE("nccl vectors: operations of PAT") {
  const std::vector<json> cases = vectors_of("pat-ops");
  CHECK(cases.size() == 12);
  for (const json& test : cases) {
    CAPTURE(test.at("id").get<std::string>());
    const json& in = test.at("input");
    const json& expected = test.at("expected");
    const PatShape shape = shape_of(in);
    CHECK(shape.parallel == expected.at("parallelFactor"));
    const Collective collective =
        in.at("collective") == "AllGather" ? Collective::all_gather : Collective::reduce_scatter;
    const std::vector<PatStep> steps = busy_steps(collective, shape);
    for (const auto& [rank, ops] : expected.at("ops_by_rank").items()) {
      REQUIRE(steps.size() == ops.size());
      for (std::size_t i = 0; i < steps.size(); ++i) {
        CAPTURE(i);
        std::map<std::string, std::int64_t> op;
        for (std::size_t f = 0; f < ops[i].size(); ++f)
          op[expected.at("op_fields")[f].get<std::string>()] = ops[i][f];
        check_step(steps[i], op, collective, in.at("bytes_per_rank"), std::stoi(rank), shape.ranks);
      }
    }
  }
}

TEST_CASE("nccl vectors: messages of PAT, as its rows post them") {
  for (const json& test : vectors_of("pat-ops")) {
    CAPTURE(test.at("id").get<std::string>());
    const json& in = test.at("input");
    const Collective collective =
        in.at("collective") == "AllGather" ? Collective::all_gather : Collective::reduce_scatter;
    const std::int64_t bytes = in.at("bytes_per_rank");
    std::map<std::string, std::vector<std::int64_t>> got;
    for (const PatRow& row : pat_rows(collective, shape_of(in))) {
      for (int d = 0; d < 32; ++d)
        if ((row.out >> d & 1) != 0) got[std::to_string(d)].push_back(row.parts * bytes);
    }
    CHECK(json(got) == test.at("expected").at("rank0_message_bytes_by_dim"));
  }
}

namespace {

using PatContributors = std::bitset<64>;

/// A share on its way: whose it is, and whose data it holds.
struct Share {
  int owner = -1;
  PatContributors from;
};
using Message = std::map<int, Share>;  ///< by part

/// Messages of one dimension from one rank to another. Those not posted yet may hold parts already.
struct Wire {
  std::map<int, Message> messages;
  int posted = 0, freed = 0;
};

/// Ranks that take their steps in turn, one at a time, and wait for messages and slots.
class PatStage {
 public:
  PatStage(Collective collective, const PatShape& shape, int rounds)
      : scatters_(collective == Collective::reduce_scatter),
        n_(shape.ranks),
        wires_(static_cast<std::size_t>(n_)),
        at_(static_cast<std::size_t>(n_)),
        output_(static_cast<std::size_t>(n_ * rounds)) {
    const std::vector<PatStep> steps = busy_steps(collective, shape);
    per_round_ = steps.size();
    for (int r = 0; r < rounds; ++r) steps_.insert(steps_.end(), steps.begin(), steps.end());
  }

  void play() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < n_; ++rank)
        while (step(rank)) moved = true;
    }
    for (const std::size_t at : at_) REQUIRE(at == steps_.size());
    for (const auto& dims : wires_) {
      for (const Wire& wire : dims) REQUIRE(wire.posted == wire.freed);
    }
  }

  const std::map<int, PatContributors>& output(int rank, std::size_t round) const {
    return output_[round * static_cast<std::size_t>(n_) + static_cast<std::size_t>(rank)];
  }

 private:
  Wire& outgoing(int rank, int dim) {
    return wires_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(dim)];
  }
  Wire& incoming(int rank, int dim) {
    const int delta = scatters_ ? n_ - (1 << dim) : 1 << dim;
    return outgoing((rank + delta) % n_, dim);
  }

  bool step(int rank) {
    std::size_t& at = at_[static_cast<std::size_t>(rank)];
    if (at == steps_.size()) return false;
    const PatStep& s = steps_[at];
    Wire* const in = s.recv_dim < 0 ? nullptr : &incoming(rank, s.recv_dim);
    Wire* const out = s.send_dim < 0 ? nullptr : &outgoing(rank, s.send_dim);
    const int read = in == nullptr ? 0 : in->freed + (scatters_ ? 0 : s.ahead);
    const int written = out == nullptr ? 0 : out->posted + (scatters_ ? s.ahead : 0);
    if (in != nullptr && read >= in->posted) return false;
    if (out != nullptr && written >= out->freed + kConnectionSlots) return false;
    const int owner = (rank + s.distance) % n_;
    Share share{owner, {}};
    if (in != nullptr) share = in->messages.at(read).at(s.recv_part);
    if (share.owner != owner) FAIL("another share than the step means");
    PatContributors& target = out != nullptr
                                  ? out->messages[written][s.send_part].from
                                  : output_[at / per_round_ * static_cast<std::size_t>(n_) +
                                            static_cast<std::size_t>(rank)][owner];
    if (out != nullptr) out->messages[written][s.send_part].owner = owner;
    if (scatters_) {
      if (target.none()) target.set(static_cast<std::size_t>(rank));
      if ((target & share.from).any()) FAIL("data added twice");
    } else if (in == nullptr) {
      share.from.set(static_cast<std::size_t>(rank));
    }
    target |= share.from;
    if (!scatters_ && in != nullptr)
      output_[at / per_round_ * static_cast<std::size_t>(n_) + static_cast<std::size_t>(rank)]
             [owner] |= share.from;
    if (s.posts) ++out->posted;
    if (s.frees) in->messages.erase(in->freed++);
    ++at;
    return true;
  }

  bool scatters_;
  int n_;
  std::size_t per_round_ = 0;
  std::vector<PatStep> steps_;
  std::vector<std::array<Wire, 8>> wires_;  ///< by sender, dimension
  std::vector<std::size_t> at_;
  std::vector<std::map<int, PatContributors>> output_;  ///< by round and rank: share -> whose data
};

PatShape random_shape(Dice& random, int ranks) {
  const Bytes chunk{65536};
  return pat_shape(chunk, Bytes{chunk.count >> random.pick(0, 7)}, ranks,
                   random.pick(0, 1) == 0 ? 1 : 16);
}

}  // namespace

TEST_CASE("PAT, played with NCCL's slots: every rank ends with what the collective promises") {
  Dice random(11);
  for (int n = 2; n <= 40; ++n) {
    CAPTURE(n);
    for (const Collective collective : kPatCollectives) {
      for (int i = 0; i < 4; ++i) {
        const PatShape shape = random_shape(random, n);
        CAPTURE(shape.parts);
        CAPTURE(shape.width);
        PatStage stage(collective, shape, 3);
        stage.play();
        PatContributors everyone;
        for (int r = 0; r < n; ++r) everyone.set(static_cast<std::size_t>(r));
        for (std::size_t round = 0; round < 3; ++round) {
          for (int rank = 0; rank < n; ++rank) {
            const std::map<int, PatContributors>& got = stage.output(rank, round);
            if (collective == Collective::reduce_scatter) {
              REQUIRE(got.size() == 1);
              CHECK(got.at(rank) == everyone);
              continue;
            }
            PatContributors others = everyone;
            others.reset(static_cast<std::size_t>(rank));
            for (const auto& [owner, from] : got) {
              if (owner == rank) continue;
              CHECK(from == PatContributors().set(static_cast<std::size_t>(owner)));
              others.reset(static_cast<std::size_t>(owner));
            }
            CHECK(others.none());
          }
        }
      }
    }
  }
}

TEST_CASE("PAT's rows take in and post each message once, as many as the steps do") {
  Dice random(12);
  for (int n = 2; n <= 130; ++n) {
    CAPTURE(n);
    for (const Collective collective : kPatCollectives) {
      const PatShape shape = random_shape(random, n);
      std::array<int, 8> posts{}, frees{}, in{}, out{};
      int moved = 0, parts = 0;
      for (const PatStep& step : busy_steps(collective, shape)) {
        ++moved;
        if (step.posts) ++posts[static_cast<std::size_t>(step.send_dim)];
        if (step.frees) ++frees[static_cast<std::size_t>(step.recv_dim)];
      }
      for (const PatRow& row : pat_rows(collective, shape)) {
        parts += row.parts;
        for (std::size_t d = 0; d < 8; ++d) {
          in[d] += static_cast<int>(row.in >> d & 1);
          out[d] += static_cast<int>(row.out >> d & 1);
        }
      }
      CHECK(posts == frees);
      CHECK(in == posts);
      CHECK(out == posts);
      CHECK(parts >= moved);
      // Full trees leave no gap in a message.
      if ((n & (n - 1)) == 0) CHECK(parts == moved);
    }
  }
}

TEST_CASE("PatProgram: rounds of a chunk, the last of what is left") {
  Partition split;
  split.element_bytes = 4;
  split.parts = {{0, 0, 1000, 400, 400}, {1, 1000, 100, 400, 400}};
  const PatProgram program(Collective::reduce_scatter, split, 4, kNccl2_27_7);
  std::array<std::int64_t, 2> sent{};
  for (std::uint32_t lane = 0; lane < 2; ++lane) {
    Cursor cursor;
    std::uint64_t slices = 0;
    for (Primitive primitive; program.next({lane, 0}, cursor, primitive); ++slices) {
      if (primitive.out != 0) sent[lane] += primitive.chunk.count;
    }
    CHECK(slices == program.slices(lane));
  }
  // Each rank sends (ranks - 1) shares.
  CHECK(sent[0] == 3 * 1000 * 4);
  CHECK(sent[1] == 3 * 100 * 4);
  // Lane 0: a share is more than a chunk, so each is a message; lane 1: two go in one.
  CHECK(program.messages(0, 0) == 3 * 2);
  CHECK(program.messages(0, 1) == 3 * 1);
  CHECK(program.messages(1, 0) == 1);
  CHECK(program.messages(1, 1) == 1);
}
