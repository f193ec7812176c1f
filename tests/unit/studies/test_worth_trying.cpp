#include <doctest/doctest.h>

#include "models/io/topologies/calibrated.hpp"
#include "models/nccl/call/same_run.hpp"
#include "models/studies/advise/worth_trying.hpp"
#include "models/studies/shared/for_each.hpp"
#include "tests/unit/studies/advise_cases.hpp"

using namespace fabricast;

namespace {

/// Without GPUDirect RDMA.
AdviseConfig badly_set(int nodes) {
  BenchConfig work;
  work.topology = "dgx-h100";
  work.nodes = {nodes};
  work.gpus_per_node = 2;
  work.sizes = {{1 << 24}, {1 << 26}};
  work.environment.set("NCCL_NET_GDR_LEVEL", "LOC");
  AdviseConfig out;
  out.goal = Goal::bandwidth;
  out.work = work;
  return out;
}

/// What mends stands last.
std::vector<SettingMove> many_moves() {
  std::vector<SettingMove> out;
  for (int threads = 64; threads <= 512; threads += 64)
    out.push_back(move("NCCL_LL128_BUFFSIZE", std::to_string(threads << 16)));
  for (const char* level : {"LOC", "SYS"}) out.push_back(move("NCCL_NET_GDR_LEVEL", level));
  return out;
}

CollectiveRun run_with(const Environment& environment, Bytes size) {
  BenchConfig config = std::get<BenchConfig>(badly_set(2).work);
  config.environment = environment;
  config.sizes = {size};
  return run_bench(config, load_catalogue()).blocks.front().rows.front().decided.run;
}

}  // namespace

TEST_CASE("same run: what acts on the call differs, what does not may") {
  Environment ring, other_buffer, own_buffer, host_memory;
  for (Environment* const one : {&ring, &other_buffer, &own_buffer, &host_memory}) {
    one->set("NCCL_ALGO", "Ring");
    one->set("NCCL_PROTO", "Simple");
  }
  other_buffer.set("NCCL_LL128_BUFFSIZE", "1048576");
  own_buffer.set("NCCL_BUFFSIZE", "1048576");
  host_memory.set("NCCL_NET_GDR_LEVEL", "LOC");
  const CollectiveRun run = run_with(ring, {1 << 24});
  CHECK(is_same_work(run, run_with(other_buffer, {1 << 24})));
  CHECK_FALSE(is_same_work(run, run_with(own_buffer, {1 << 24})));
  CHECK_FALSE(is_same_work(run, run_with(host_memory, {1 << 24})));
  CHECK_FALSE(is_same_work(run, run_with(ring, {1 << 25})));
  CollectiveRun slow = run;
  slow.faults.gpus = {{0, 0.5}};
  CHECK_FALSE(is_same_work(slow, slow));  // nobody has looked
}

TEST_CASE("known calls: settings that leave a call as it is do not simulate it again") {
  const PartsCatalogue parts = load_catalogue();
  BenchConfig config = std::get<BenchConfig>(badly_set(2).work);
  KnownCalls known;
  for (const char* buffer : {"", "1048576", "8388608"}) {
    for (const char* protocol : {"LL128", "Simple"}) {
      config.environment = {};
      config.environment.set("NCCL_PROTO", protocol);
      if (*buffer != 0) config.environment.set("NCCL_BUFFSIZE", buffer);
      const BenchResult plain = run_bench(config, parts);
      const BenchResult shared = run_bench(config, parts, known);
      for (std::size_t row = 0; row < 2; ++row)
        CHECK(plain.blocks.front().rows[row].call_time() ==
              shared.blocks.front().rows[row].call_time());
    }
  }
  // Two sizes: LL128 once, as NCCL_BUFFSIZE is Simple's, which has three buffers.
  CHECK(known.counts() == MemoCounts{12, 8});
}

TEST_CASE("known calls: of all that is kept, links and ends of ranks are as if simulated again") {
  const PartsCatalogue parts = load_catalogue();
  BenchConfig config = std::get<BenchConfig>(badly_set(2).work);
  config.environment = {};
  config.environment.set("NCCL_PROTO", "LL128");
  config.explain = true;
  KnownCalls known(KnownCalls::Kept::all);
  const BenchResult plain = run_bench(config, parts);
  for (const char* buffer : {"1048576", "8388608"}) {
    config.environment.set("NCCL_BUFFSIZE", buffer);
    const BenchResult shared = run_bench(config, parts, known);
    for (std::size_t row = 0; row < 2; ++row) {
      const SimulationResult &a = plain.blocks.front().rows[row].result,
                             &b = shared.blocks.front().rows[row].result;
      CHECK(a.digest == b.digest);
      CHECK(a.links.size() == b.links.size());
      CHECK(a.rank_finish == b.rank_finish);
      CHECK(a.causes == b.causes);
    }
  }
  CHECK(known.counts().simulated == 2);  // two sizes
}

TEST_CASE("advise: a large job tries what does something on fewer nodes") {
  const PartsCatalogue parts = load_catalogue();
  AdviseConfig config = badly_set(4);
  const WorkRun before = run_work(config.work, parts, false);
  const auto tried = [&] {
    return moves_worth_trying(config, many_moves(), before, parts, in_turn);
  };
  CHECK_FALSE(tried());  // as nothing limits it
  config.budget = Duration{1'000'000'000'000'000};
  CHECK_FALSE(tried());
  config.budget = Duration{1'000'000};
  const auto found = tried();
  REQUIRE(found);
  CHECK(found->nodes == 2);
  CHECK(found->moves.size() == kMovesLeast);
  CHECK(found->moves.back().settings == many_moves().back().settings);
  const AdviseResult advice = run_advise(config, many_moves(), parts, {}, in_turn);
  CHECK(advice.best.get("NCCL_NET_GDR_LEVEL") == std::optional<std::string_view>("SYS"));
  REQUIRE_FALSE(advice.notes.empty());
  CHECK(advice.notes.front() ==
        "10 settings were tried on 2 nodes, and the 3 that do most there on all; --exact tries "
        "each on all.");
  // Two nodes cannot be fewer.
  config = badly_set(2);
  config.budget = Duration{1'000'000};
  CHECK_FALSE(moves_worth_trying(config, many_moves(), run_work(config.work, parts, false), parts,
                                 in_turn));
}
