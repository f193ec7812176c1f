#include "models/studies/training/step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/io/experts/read_experts.hpp"
#include "models/studies/bench/network.hpp"
#include "models/studies/shared/site.hpp"
#include "models/training/calls/rank_groups.hpp"
#include "models/training/step/called_groups.hpp"
#include "text/words.hpp"

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

std::optional<StepCost> cost_of(const StepResult& result) {
  const StepConfig& config = result.config;
  StepCost out;
  out.gpu_hour = config.price;
  if (out.gpu_hour == 0) {
    static const Prices prices = load_prices();
    const auto found = prices.gpus.find(result.gpu.name);
    if (found == prices.gpus.end()) return {};
    out.gpu_hour = found->second.value;
    out.as_of = prices.as_of;
  }
  const double tokens = static_cast<double>(config.layout.global_batch) * config.layout.sequence;
  out.step = out.gpu_hour / 3600 * config.layout.gpus * seconds(result.step.time);
  out.million_tokens = out.step / tokens * 1e6;
  out.run = out.million_tokens * config.run_tokens * 1e-6;
  return out;
}

/// What is outside of what is modelled, and what was chosen for the user.
void add_notes(StepResult& result) {
  const auto& memory = result.memory;
  const Framework& framework = result.framework;
  if (!framework.alias_because.empty())
    result.notes.push_back(fmt::format("framework {} is counted as {}: {}.",
                                       result.config.framework, framework.name,
                                       framework.alias_because));
  if (!memory.fits) {
    result.notes.push_back(fmt::format(
        "does not fit: {:.1f} GB of {:.1f} GB per GPU; the time is that of a GPU large enough.",
        gigabytes(memory.use.all()), gigabytes(static_cast<double>(result.gpu.memory.count))));
  }
  if (!result.config.model.experts) return;
  const std::optional<ExpertWish>& wish = result.config.ep_kernels;
  if (!wish || wish->weights.empty())
    result.notes.emplace_back("tokens are spread evenly over experts.");
  else
    result.notes.push_back(
        fmt::format("tokens go to experts by {}: dispatch, combine and the products of experts "
                    "wait for the GPU whose experts get most.",
                    wish->load));
}

}  // namespace

StepBand step_band(const StepResult& result) {
  return find_band(load_step_fits().all, result.gpu, result.framework,
                   result.config.layout.precision, result.config.model.experts.has_value());
}

Framework framework_of(const StepConfig& config) {
  Framework out = load_frameworks().at(config.framework);
  if (config.layout.gradients_are_16bit()) out.gradient_bytes = 2;
  return out;
}

MemoryRules memory_rules(const Framework& framework) {
  return {framework.gradient_bytes, framework.flash_attention, !framework.flash_attention};
}

MemoryPlan step_memory(const StepSetup& setup, CollectiveTimes& collectives) {
  MemoryRules rules = memory_rules(setup.framework);
  const bool by_nccl = nccl_brings_tokens(setup.framework, collectives.expert_wish());
  for (const CalledGroup& called : called_groups(setup, by_nccl))
    rules.nccl += static_cast<double>(collectives.communicator_bytes(called.group, called.calls));
  return plan_memory(setup.model, setup.layout, rules, setup.gpu.memory);
}

NodesRequest step_nodes(const StepConfig& config, const Topology& topology) {
  NodesRequest asked = nodes_of(config, config.nodes);
  const int most = topology.cluster({1}).node().domain_nodes();
  if (most == 1 || !asked.joins_domains) return asked;
  asked.nodes = std::min(most, config.nodes);
  while (config.nodes % asked.nodes != 0) --asked.nodes;
  return asked;
}

Site load_site(const StepConfig& config, const PartsCatalogue& parts) {
  const Topology topology = topology_of(config, parts);
  Site site = site_of(topology, config, step_nodes(config, topology));
  if (config.oversubscription == 0) return site;
  FabricConfig fabric = site.cluster.fabric();
  fabric.oversubscription = config.oversubscription;
  site.cluster = {site.cluster.node(), site.cluster.nodes(), std::move(fabric)};
  return site;
}

const GpuCompute& compute_of(const ComputeCatalogue& catalogue, const Cluster& cluster) {
  const std::string& part = cluster.node().gpus().front().part.name;
  const auto found = catalogue.find(part);
  if (found == catalogue.end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : catalogue) known.push_back(name);
    throw Error(fmt::format("what a {} computes is not known", part),
                fmt::format("known: {}", fmt::join(known, ", ")));
  }
  return found->second;
}

void check_expert_kernels(const StepConfig& config, const Layout& layout,
                          CollectiveTimes& collectives) {
  if (!config.ep_kernels || !has_own_kernels(config.ep_kernels->mode) || layout.expert == 1) return;
  if (layout.expert_tensor > 1)
    throw Error(
        fmt::format("ep_kernels: {} kernels bring tokens to whole experts, these are cut by "
                    "TP {}",
                    kEpModeWords[config.ep_kernels->mode], layout.expert_tensor),
        "say parallel.etp 1, or ep_kernels: nccl-alltoall");
  const GroupShape shape = collectives.shape_of(expert_group(layout));
  if (shape.nodes * shape.gpus != layout.expert)
    throw Error(fmt::format("ep_kernels: EP {} does not fill its nodes evenly", layout.expert),
                "say parallel.ep that divides the GPUs of a node, or is a multiple of them");
  placed(Place{{}, 0, "ep_kernels"},
         [&] { check_reach(config.ep_kernels->mode, shape.nodes, shape.gpus); });
}

StepResult run_step(const StepConfig& config, const Framework& framework, const GpuCompute& gpu,
                    CollectiveTimes& collectives) {
  placed(config.place, [&] {
    check_layout(config.model, config.layout);
    check_expert_kernels(config, config.layout, collectives);
    check_precision(gpu, config.layout.precision);
  });
  StepResult result;
  result.config = config;
  result.framework = framework;
  result.gpu = gpu;
  result.memory = step_memory({config.model, config.layout, framework, gpu}, collectives);
  Layout& layout = result.config.layout;
  layout.recompute = result.memory.recompute;
  layout.full_share = result.memory.full_share;
  result.step = step_time({config.model, layout, framework, gpu}, collectives,
                          config.trace ? &result.spans : nullptr);
  const double time = seconds(result.step.time);
  result.tokens_per_s = static_cast<double>(layout.global_batch) * layout.sequence / time;
  result.model_flops =
      model_flops(config.model, layout.attended(), layout.global_batch, AttentionCount::causal) *
      layout.sequence / layout.attended();
  const double peak = gpu.gemm[static_cast<std::size_t>(layout.precision)].peak;
  result.mfu = result.model_flops / time / layout.gpus / peak;
  result.collectives = collectives.counts();
  result.cost = cost_of(result);
  add_notes(result);
  if (collectives.shapes().mixes_gpus())
    result.notes.emplace_back(
        "some groups have other GPUs of one node than of another: counted as if they were the same "
        "ones.");
  if (std::string note = static_instead(collectives.cluster()); !note.empty())
    result.notes.push_back(std::move(note));
  if (config.placement_costs) add_placement_costs(result, collectives);
  return result;
}

CollectiveTimes collectives_of(const StepConfig& config, const Site& site,
                               const PartsCatalogue& parts, CollectiveTimes::Estimate estimate) {
  CollectiveTimes out(site.cluster, parts.software, site.communicator, estimate);
  if (config.ep_kernels) {
    static const ExpertKernels kernels = load_expert_kernels();
    out.use(kernels, *config.ep_kernels);
  }
  if (!config.ranks.empty())
    out.place(place_ranks(config.ranks, site.cluster, out.gpus_per_node(),
                          sized(config, site.cluster).layout.gpus));
  return out;
}

StepConfig sized(const StepConfig& config, const Cluster& cluster) {
  StepConfig out = config;
  out.layout.gpus =
      config.nodes / cluster.hosts() * cluster.nodes() * gpus_used(cluster, config.gpus_per_node);
  return out;
}

void prepare_steps(const StepConfig& config, const std::vector<Layout>& layouts,
                   const Framework& framework, const GpuCompute& gpu, CollectiveTimes& collectives,
                   const ForEach& for_each) {
  collectives.prepare(for_each, [&] {
    for (Layout layout : layouts) {
      placed(config.place, [&] { check_layout(config.model, layout); });
      const MemoryPlan memory = step_memory({config.model, layout, framework, gpu}, collectives);
      layout.recompute = memory.recompute;
      layout.full_share = memory.full_share;
      ask_step({config.model, layout, framework, gpu}, collectives);
    }
  });
}

StepResult run_step(const StepConfig& config, const Site& site, const PartsCatalogue& parts,
                    const ForEach& for_each) {
  CollectiveTimes collectives =
      collectives_of(config, site, parts, CollectiveTimes::Estimate::simulated);
  const StepConfig whole = sized(config, site.cluster);
  const Framework framework = framework_of(config);
  const ComputeCatalogue compute = load_compute();
  const GpuCompute& gpu = compute_of(compute, site.cluster);
  prepare_steps(whole, {whole.layout}, framework, gpu, collectives, for_each);
  return run_step(whole, framework, gpu, collectives);
}

StepResult run_step(const StepConfig& config, const PartsCatalogue& parts,
                    const ForEach& for_each) {
  return run_step(config, load_site(config, parts), parts, for_each);
}

}  // namespace fabricast
