#include "models/studies/scenario/read_case.hpp"

#include "models/io/formats/text_file.hpp"
#include "models/studies/scenario/read_concurrent.hpp"
#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr int kSeedMax = 1 << 30;

/// A case's own replace those of the scenario.
void read_faults(Reader& in, std::vector<FaultSpec>& faults) {
  const std::vector<std::string> texts = in.texts("faults");
  if (!in.has("faults")) return;
  faults.clear();
  for (const std::string& text : texts)
    faults.push_back(placed(in.place("faults"), [&] { return parse_fault(text); }));
}

/// A case's own background traffic replaces that of the scenario.
void read_network(Reader& in, NetworkConfig& network) {
  if (given(in, "network")) network.rung = in.choice("network", kRungWords);
  if (given(in, "routing")) network.routing = in.choice("routing", kRoutingWords);
  network.seed =
      static_cast<std::uint64_t>(in.whole("seed", 0, kSeedMax, static_cast<int>(network.seed)));
  const std::vector<std::string> texts = in.texts("background");
  if (!in.has("background")) return;
  network.background.clear();
  for (const std::string& text : texts)
    network.background.push_back(
        placed(in.place("background"), [&] { return parse_background(text); }));
}

void read_datatype(Reader& in, std::string& datatype) {
  if (!given(in, "datatype")) return;
  datatype = in.text("datatype");
  parsed(in, "datatype", datatype_bytes);
}

/// Collectives and sizes of bench and decide.
template <class Config>
void read_calls(Reader& in, Config& config) {
  if (given(in, "collective")) config.collectives = parsed(in, "collective", parse_collectives);
  if (given(in, "sizes")) config.sizes = parsed(in, "sizes", parse_sizes);
}

}  // namespace

void read_nodes(Reader& in, std::vector<int>& nodes) {
  if (given(in, "nodes"))
    nodes = parsed(in, "nodes", [](auto& t) { return parse_counts(t, "nodes", kNodesMax); });
}

/// One thread launches on all GPUs of a process, unless it is said.
void read_processes(Reader& in, BenchConfig& config) {
  const bool is_said = given(in, "gpus_per_process");
  config.gpus_per_process =
      in.whole("gpus_per_process", 1, kGpusPerNodeMax, config.gpus_per_process);
  config.gpus_per_thread = in.whole("gpus_per_thread", 1, kGpusPerNodeMax,
                                    is_said ? config.gpus_per_process : config.gpus_per_thread);
  config.cuda_graph = in.flag("cuda_graph", config.cuda_graph);
}

void read_bench(Reader& in, const std::string& file, BenchConfig& config) {
  read_job(in, file, config);
  read_fabric(in, file, config);
  read_nodes(in, config.nodes);
  read_calls(in, config);
  read_datatype(in, config.datatype);
  read_processes(in, config);
  if (given(in, "split")) config.split = parsed(in, "split", parse_split);
  config.root = in.whole("root", 0, kNodesMax, config.root);
  config.explain = in.flag("explain", config.explain);
  config.one_shot = in.flag("one_shot", config.one_shot);
  read_network(in, config.network);
  read_faults(in, config.faults);
}

void read_decide(Reader& in, const std::string& file, DecideConfig& config) {
  read_job(in, file, config);
  read_nodes(in, config.nodes);
  read_calls(in, config);
}

void read_concurrent_case(Reader& in, const std::string& file, ConcurrentCase& config) {
  read_job(in, file, config);
  read_fabric(in, file, config);
  std::vector<int> nodes;
  read_nodes(in, nodes);
  if (nodes.size() > 1)
    in.fail("nodes", "study concurrent takes one number of nodes", "write a case for each");
  if (!nodes.empty()) config.nodes = nodes.front();
  read_datatype(in, config.datatype);
  read_concurrent(in, config.asked);
}

void read_work(Reader& in, const std::string& file, Work& work) {
  if (given(in, "layout")) {
    work = load_step(resolved(in.text("layout"), file));
  } else {
    BenchConfig& calls = std::get<BenchConfig>(work);
    read_calls(in, calls);
    read_datatype(in, calls.datatype);
    calls.root = in.whole("root", 0, kNodesMax, calls.root);
    read_nodes(in, calls.nodes);
    read_processes(in, calls);
  }
  Job job = job_of(work);
  read_job(in, file, job);
  read_fabric(in, file, job);
  work = with_job(std::move(work), job);
}

void read_setup(Reader& in, const std::string& file, Work& work) {
  Job job = job_of(work);
  read_machine(in, file, job);
  read_fabric(in, file, job);
  work = with_job(std::move(work), job);
}

}  // namespace fabricast
