#include "models/studies/step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/io/words.hpp"
#include "models/studies/nccl_request.hpp"

namespace fabricast {

namespace {

double gigabytes(double bytes) { return bytes * 1e-9; }

void check_precision(const GpuCompute& gpu, Precision precision) {
  if (gpu.gemm[static_cast<std::size_t>(precision)].peak > 0) return;
  std::string known;
  for (int p = 0; p < kPrecisions; ++p) {
    if (gpu.gemm[static_cast<std::size_t>(p)].peak > 0)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", to_text(static_cast<Precision>(p)));
  }
  throw Error(fmt::format("{} does not compute in {}, or its rate is not known", gpu.name,
                          to_text(precision)),
              "it does in " + known);
}

/// What is outside of what is modelled, and what was chosen for the user.
void add_notes(StepResult& result) {
  const Layout& layout = result.config.layout;
  const auto& memory = result.memory;
  if (!memory.fits) {
    result.notes.push_back(fmt::format(
        "does not fit: {:.1f} GB of {:.1f} GB per GPU; the time is that of a GPU large enough.",
        gigabytes(memory.use.all()), gigabytes(static_cast<double>(result.gpu.memory.count))));
  }
  if (result.config.model.experts)
    result.notes.emplace_back("tokens are spread evenly over experts.");
  if (layout.expert > 1 && layout.data() * layout.context * layout.tensor > layout.expert)
    result.notes.emplace_back(
        "groups lie on the first GPUs of as many nodes as they have; groups side by side share "
        "NICs by rate.");
}

}  // namespace

TopologyRequest step_request(const StepConfig& config, const PartsCatalogue& parts) {
  TopologyRequest asked = nccl_request(config.topology, config.nodes, config.fabric,
                                       config.environment, config.version, config.gpus_per_node);
  const int most = load_cluster({config.topology, 1, config.fabric}, parts).node().domain_nodes();
  if (most == 1 || !asked.joins_domains) return asked;
  asked.nodes = std::min(most, config.nodes);
  while (config.nodes % asked.nodes != 0) --asked.nodes;
  return asked;
}

const GpuCompute& compute_of(const ComputeCatalogue& catalogue, const Cluster& cluster) {
  const std::string& part = cluster.node().gpus().front().part.name;
  const auto found = catalogue.find(part);
  if (found == catalogue.end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : catalogue) known.push_back(name);
    throw Error(fmt::format("what a {} computes is not known", part), hint_nearest(part, known));
  }
  return found->second;
}

StepResult run_step(const StepConfig& config, const Framework& framework, const GpuCompute& gpu,
                    CollectiveTimes& collectives) {
  check_layout(config.model, config.layout);
  check_precision(gpu, config.layout.precision);
  StepResult result;
  result.config = config;
  result.framework = framework;
  result.gpu = gpu;
  const MemoryRules rules{framework.gradient_bytes, framework.flash_attention,
                          !framework.flash_attention};
  result.memory = plan_memory(config.model, config.layout, rules, gpu.memory);
  Layout& layout = result.config.layout;
  layout.recompute = result.memory.recompute;
  layout.full_share = result.memory.full_share;
  result.step = step_time({config.model, layout, framework, gpu}, collectives);
  const double time = seconds(result.step.time);
  result.tokens_per_s = static_cast<double>(layout.global_batch) * layout.sequence / time;
  result.model_flops =
      model_flops(config.model, layout.sequence, layout.global_batch, AttentionCount::causal);
  const double peak = gpu.gemm[static_cast<std::size_t>(layout.precision)].peak;
  result.mfu = result.model_flops / time / layout.gpus / peak;
  result.collectives = collectives.counts();
  add_notes(result);
  return result;
}

StepResult run_step(const StepConfig& config, const PartsCatalogue& parts) {
  const TopologyRequest asked = step_request(config, parts);
  const Cluster cluster = load_cluster(asked, parts);
  CommunicatorConfig communicator;
  communicator.version = config.version;
  communicator.environment = config.environment;
  communicator.gpus_per_node = config.gpus_per_node;
  communicator.description = describe_nodes(asked, parts).node;
  CollectiveTimes collectives(cluster, parts.software, communicator);
  StepConfig sized = config;
  sized.layout.gpus =
      config.nodes / cluster.hosts() * cluster.nodes() * collectives.gpus_per_node();
  const FrameworkCatalogue frameworks = load_frameworks();
  const auto framework = frameworks.find(config.framework);
  if (framework == frameworks.end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : frameworks) known.push_back(name);
    throw Error(fmt::format("unknown framework \"{}\"", config.framework),
                hint_nearest(config.framework, known));
  }
  return run_step(sized, framework->second, compute_of(load_compute(), cluster), collectives);
}

}  // namespace fabricast
