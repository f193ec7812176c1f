// Goal: what `decide` says of a call is what the tuner decided, sizes at which choices change are
// exact, and variables are credited with what they do. Method: the tuner itself, asked beside each
// border and with each variable left out; contracts of the text formats word by word.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "models/io/topologies/load.hpp"
#include "models/studies/bench/bench.hpp"
#include "models/studies/decide/decide_explain.hpp"
#include "models/studies/decide/decide_tables.hpp"
#include "models/studies/decide/decide_text.hpp"
#include "tests/unit/error_text.hpp"
#include "tests/unit/report_rows.hpp"
#include "tests/unit/sanitized.hpp"

using namespace fabricast;

namespace {

DecideConfig question(const std::string& topology, NcclVersion version, int nodes) {
  DecideConfig config;
  config.topology = topology;
  config.version = version;
  config.nodes = {nodes};
  return config;
}

DecideResult answer(const DecideConfig& config) { return run_decide(config, load_catalogue()); }

std::vector<Bytes> doubling(std::int64_t first, int steps) {
  std::vector<Bytes> out;
  for (int i = 0; i < steps; ++i) out.push_back(Bytes{first << i});
  return out;
}

bool is_choice(const DecideSegment& segment, const TunerDecision& decision) {
  return segment.algorithm == decision.algorithm && segment.protocol == decision.protocol;
}

std::string line(const std::string& text, int number) {
  std::size_t from = 0;
  while (number-- > 0) from = text.find('\n', from) + 1;
  return text.substr(from, text.find('\n', from) - from);
}

}  // namespace

TEST_CASE("decide: counts are rounded down to whole elements per rank") {
  const DecideResult result = answer(question("dgx-h100", kNccl2_21_5, 2));
  const NcclCommunicator& made = result.blocks.front().communicator;
  // 1000 B are 62.5 for each of 16 ranks: 48 in whole steps of 16 B, as bench and nccl-tests count
  // them, which are 12 floats and 768 B in all.
  const auto row = decide_row(made, Collective::all_gather, Bytes{1000});
  REQUIRE(row);
  CHECK(row->count == 12);
  CHECK(row->size.count == 768);
  CHECK(row->requested.count == 1000);
  CHECK(decide_row(made, Collective::all_reduce, Bytes{1000})->size.count == 1000);
  // 60 B are 15 floats: none for one of the ranks, and NCCL returns at once.
  CHECK_FALSE(decide_row(made, Collective::reduce_scatter, Bytes{60}));
  CHECK(decide_row(made, Collective::reduce_scatter, Bytes{64})->count == 1);
}

TEST_CASE("decide: a size without an element is left out, and named") {
  DecideConfig config = question("dgx-a100", kNccl2_21_5, 1);
  config.collectives = {Collective::all_gather};
  config.sizes = {Bytes{16}, Bytes{32}};
  const DecideResult result = answer(config);
  REQUIRE(result.blocks.front().rows.size() == 1);
  CHECK(result.blocks.front().rows.front().requested.count == 32);
  CHECK(result.notes == std::vector<std::string>{
                            "all_gather of 16 B on 8 ranks: not one float32 for each rank, so NCCL "
                            "does nothing; left out."});
}

TEST_CASE("decide: choices change exactly where segments say") {
  int borders = 0;
  for (const NcclVersion version : kModelledVersions) {
    for (const int nodes : {1, 2, 16}) {
      DecideConfig config = question("dgx-h100", version, nodes);
      config.collectives = {Collective::all_reduce, Collective::all_gather, Collective::broadcast};
      config.sizes = doubling(512, 24);
      const DecideResult result = answer(config);
      const DecideBlock& block = result.blocks.front();
      for (const Collective c : config.collectives) {
        CAPTURE(to_text(version));
        CAPTURE(nodes);
        CAPTURE(to_text(c));
        const std::vector<const DecideRow*> rows = rows_of(block, c);
        const std::vector<DecideSegment> segments = decide_segments(block.communicator, rows);
        CHECK(is_choice(segments.front(), rows.front()->decision));
        CHECK(is_choice(segments.back(), rows.back()->decision));
        const std::int64_t element = message_size(c, 1, 4, block.communicator.ranks).count;
        for (std::size_t i = 1; i < segments.size(); ++i, ++borders) {
          const Bytes here = segments[i].first, below{here.count - element};
          CHECK(is_choice(segments[i], decide(block.communicator.model, c, here)));
          CHECK(is_choice(segments[i - 1], decide(block.communicator.model, c, below)));
          CHECK_FALSE(is_choice(segments[i], decide(block.communicator.model, c, below)));
        }
      }
    }
  }
  CHECK(borders > 30);
}

TEST_CASE("decide: one search serves all numbers of nodes, with the same result as its own" *
          minutes_under_sanitizers()) {
  for (const NcclVersion version : kModelledVersions) {
    for (const char* topology : {"dgx-h100", "hgx-h200-2nic"}) {
      CAPTURE(to_text(version));
      CAPTURE(topology);
      DecideConfig config = question(topology, version, 1);
      config.sizes = doubling(1024, 10);
      config.collectives = {Collective::all_reduce, Collective::reduce_scatter};
      config.nodes = {1, 2, 3, 64};
      const DecideResult together = answer(config);
      for (const DecideTable table : {DecideTable::graphs, DecideTable::comms, DecideTable::paths,
                                      DecideTable::predictions}) {
        std::string alone;
        for (const int nodes : {1, 2, 3, 64}) {
          config.nodes = {nodes};
          const std::string one = decide_table(answer(config), table);
          alone += alone.empty() ? one : one.substr(one.find('\n') + 1);
        }
        CHECK(decide_table(together, table) == alone);
      }
    }
  }
}

TEST_CASE("decide: a refused call is none, none and nothing more") {
  DecideConfig config = question("dgx-a100", kNccl2_27_7, 2);
  config.collectives = {Collective::all_gather};
  config.sizes = {Bytes{1 << 20}};
  config.environment.set("NCCL_ALGO=Tree");
  const DecideResult result = answer(config);
  const std::string csv = report_csv(decide_report(result));
  CHECK(line(csv, 0) ==
        "nccl,topology,nodes,collective,size_bytes,algorithm,protocol,nchannels,nchannels_tuner,"
        "nthreads,chunk_bytes,predicted_us");
  CHECK(line(csv, 1) == "2.27.7,dgx-a100,2,all_gather,1048576,none,none,,,,,");
  CHECK(decide_text(result).find("NCCL refuses the call at every size here.") != std::string::npos);
  CHECK(line(explain_text(result), 1) == "NCCL refuses the call");
  const auto rows = testing::rows_of_json(decide_report(result), "rows");
  CHECK(rows[0]["algorithm"] == "none");
  CHECK(rows[0]["predicted_us"].is_null());
}

TEST_CASE("decide: a variable is credited with what the call would be without it") {
  DecideConfig config = question("dgx-h100", kNccl2_21_5, 2);
  config.sizes = {Bytes{1 << 20}};
  config.environment.set("NCCL_ALGO=Ring");
  config.environment.set("NCCL_PROTO=LL,LL128,Simple");
  config.environment.set("NCCL_DEBUG=INFO");
  config.explain = true;
  const DecideResult result = answer(config);
  const DecideBlock& block = result.blocks.front();
  const DecideRow& row = block.rows.front();
  REQUIRE(row.decision.algorithm == Algorithm::ring);
  const std::vector<VariableEffect>& effects = block.effects.front();
  REQUIRE(effects.size() == 2);  // NCCL_DEBUG decides nothing
  CHECK(effects[0].name == "NCCL_ALGO");
  CHECK(effects[0].acts_on(row));
  CHECK(effects[0].without->decision.algorithm != Algorithm::ring);
  CHECK(effects[1].name == "NCCL_PROTO");
  CHECK_FALSE(effects[1].acts_on(row));
}

TEST_CASE("decide: a variable that only the simulation feels is credited with that") {
  DecideConfig config = question("dgx-h100", kNccl2_21_5, 2);
  config.sizes = {Bytes{1 << 30}};
  for (const char* set : {"NCCL_ALGO=Ring", "NCCL_NET_GDR_READ=0", "NCCL_NET_GDR_LEVEL=SYS",
                          "NCCL_P2P_LEVEL=SYS", "NCCL_P2P_NET_CHUNKSIZE=65536"})
    config.environment.set(set);
  config.explain = true;
  const DecideResult result = answer(config);
  const DecideBlock& block = result.blocks.front();
  const std::vector<VariableEffect>& effects = block.effects.front();
  REQUIRE(effects.size() == 5);
  for (const VariableEffect& effect : effects) {
    CAPTURE(effect.name);
    CHECK(effect.acts_on(block.rows.front()) == (effect.name == "NCCL_ALGO"));
    // GPUs send from host memory then; each has its NIC at PIX and its peers on NVLink.
    if (effect.name != "NCCL_ALGO")
      CHECK(effect.changes_ways == (effect.name == "NCCL_NET_GDR_READ"));
  }
  const std::string text = explain_text(result);
  CHECK(text.find("NCCL_NET_GDR_READ=0  acts on the simulated time, not on the choice\n") !=
        std::string::npos);
  CHECK(text.find("NCCL_P2P_LEVEL=SYS  changes nothing for this call\n") != std::string::npos);
}

TEST_CASE("decide: a variable is not credited with ways that another one opens") {
  DecideConfig config = question("pcie-2gpu", kNccl2_21_5, 1);
  config.sizes = {Bytes{1 << 20}};
  for (const char* set :
       {"NCCL_ALGO=Ring", "NCCL_PROTO=Simple", "NCCL_P2P_DISABLE=1", "NCCL_NET_GDR_LEVEL=SYS"})
    config.environment.set(set);
  config.explain = true;
  const DecideResult result = answer(config);
  for (const VariableEffect& effect : result.blocks.front().effects.front()) {
    CAPTURE(effect.name);
    // The GPUs send through host memory with P2P disabled, and alone with that.
    CHECK(effect.changes_ways == (effect.name == "NCCL_P2P_DISABLE"));
  }
}

TEST_CASE("decide: what is credited to the simulation is what changes its time" *
          minutes_under_sanitizers()) {
  for (const char* variable : {"NCCL_NET_GDR_LEVEL=LOC", "NCCL_NET_GDR_READ=0",
                               "NCCL_NET_GDR_READ=1", "NCCL_P2P_DISABLE=1", "NCCL_PXN_DISABLE=1"}) {
    CAPTURE(variable);
    DecideConfig config = question("dgx-a100", kNccl2_21_5, 3);
    config.sizes = {Bytes{1 << 20}};
    config.environment.set("NCCL_ALGO=Ring");
    config.environment.set("NCCL_PROTO=Simple");
    BenchConfig simulated;
    simulated.topology = config.topology;
    simulated.nodes = config.nodes;
    simulated.sizes = config.sizes;
    simulated.environment = config.environment;
    const auto time = [&] {
      return run_bench(simulated, load_catalogue()).blocks[0].rows[0].result.time;
    };
    const Duration without = time();
    simulated.environment.set(variable);
    config.environment.set(variable);
    config.explain = true;
    const DecideResult result = answer(config);
    const DecideRow& row = result.blocks.front().rows.front();
    const VariableEffect& effect = result.blocks.front().effects.front().back();
    CHECK((effect.acts_on(row) || effect.changes_ways) == (time() != without));
  }
}

TEST_CASE("decide: where the driver lets no two GPUs reach each other, what runs is decided") {
  // GeForce cards: 256 threads and the proxy's 32, of GPUs that reach each other 512 and theirs.
  for (const Collective collective : {Collective::all_gather, Collective::all_reduce}) {
    DecideConfig config = question("rtx-4090-8", kNccl2_27_7, 1);
    config.collectives = {collective};
    config.sizes = {Bytes{1 << 20}, Bytes{64 << 20}};
    BenchConfig simulated;
    static_cast<Job&>(simulated) = config;
    simulated.nodes = config.nodes;
    simulated.collectives = config.collectives;
    simulated.sizes = config.sizes;
    const DecideResult said = answer(config);
    const BenchResult ran = run_bench(simulated, load_catalogue());
    for (std::size_t i = 0; i < config.sizes.size(); ++i) {
      const DecideRow& row = said.blocks.front().rows.at(i);
      const CollectiveRun& run = ran.blocks.front().rows.at(i).decided.run;
      CAPTURE(row.size.count);
      CHECK(row.decision.algorithm == run.algorithm);
      CHECK(row.decision.protocol == run.protocol);
      CHECK(row.threads == run.threads);
    }
  }
}

TEST_CASE("decide: chunks have binary units with one decimal, and one channel is no channels") {
  CHECK(chunk_text(Bytes{512}) == "512 B");
  CHECK(chunk_text(Bytes{17280}) == "16.9 KiB");
  CHECK(chunk_text(Bytes{18000}) == "17.6 KiB");
  CHECK(chunk_text(Bytes{32768}) == "32 KiB");
  CHECK(chunk_text(Bytes{576000}) == "562.5 KiB");
  CHECK(chunk_text(Bytes{2 << 20}) == "2 MiB");
  DecideConfig config = question("dgx-h100", kNccl2_21_5, 2);
  config.sizes = {Bytes{8}};
  const std::string text = explain_text(answer(config));
  CHECK(text.find("Tree LL, 1 channel x ") != std::string::npos);
  CHECK(text.find("; 1 gets work\n") != std::string::npos);
}

TEST_CASE("decide: tables by name, with the variables as their variant") {
  CHECK(error_text([] { kDecideTableWords.parse("table", "graph"); }) ==
        "unknown table \"graph\"\nhint: did you mean \"graphs\"?");
  DecideConfig config = question("pcie-2gpu", kNccl2_21_5, 2);
  const DecideResult plain = answer(config);
  const std::string rings = decide_table(plain, kDecideTableWords.parse("table", "rings"));
  CHECK(rings ==
        "version,topo,variant,nnodes,channel,ring\n"
        "2.21.5,pcie-2gpu,base,2,0,0 1 2 3\n"
        "2.21.5,pcie-2gpu,base,2,1,0 1 2 3\n");
  config.environment.set("NCCL_ALGO=Ring,Tree");
  config.environment.set("NCCL_CROSS_NIC=0");
  CHECK(line(decide_table(answer(config), DecideTable::rings), 1) ==
        "2.21.5,pcie-2gpu,\"NCCL_ALGO=Ring,Tree NCCL_CROSS_NIC=0\",2,0,0 1 2 3");
}

TEST_CASE("decide: what NCCL does not choose for is refused with a reason") {
  DecideConfig config = question("dgx-h100", kNccl2_21_5, 1);
  config.collectives = {Collective::alltoall};
  CHECK(error_text([&] { answer(config); }) ==
        "NCCL makes no choice for alltoall: it is a group of sends and receives\nhint: it chooses "
        "for all_reduce, all_gather, reduce_scatter, broadcast, reduce");
}
