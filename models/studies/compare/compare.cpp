#include "models/studies/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/hardware/cluster/gpus_used.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "models/nccl/base/types.hpp"
#include "models/studies/shared/named_job.hpp"
#include "sim/base/add_once.hpp"

namespace fabricast {
namespace {

/// What all have in common: of the layout, if there is one, what is not asked for otherwise.
Job common_job(const CompareAsk& ask) {
  Job out;
  if (ask.step) out = *ask.step;
  for (const auto& [name, value] : ask.environment.variables()) out.environment.set(name, value);
  if (ask.gpus_per_node > 0) out.gpus_per_node = ask.gpus_per_node;
  if (!ask.parts.empty()) out.parts = ask.parts;
  return out;
}

std::vector<NamedJob> combinations(const CompareAsk& ask) {
  std::vector<NamedJob> out = {{"", common_job(ask)}};
  multiply(out, ask.topologies, [](Job& job, const std::string& value) {
    job.topology = value;
    return value;
  });
  multiply(out, ask.nics, [](Job& job, int value) {
    job.topology = with_change(job.topology, "nics", std::to_string(value));
    return fmt::format("{} {}", value, value == 1 ? "NIC" : "NICs");
  });
  multiply(out, ask.fabrics, [](Job& job, const std::string& value) {
    job.fabric = value;
    return value;
  });
  multiply(out, ask.sharp, [](Job& job, bool value) {
    job.sharp = value;
    if (value && !job.environment.get("NCCL_COLLNET_ENABLE"))
      job.environment.set("NCCL_COLLNET_ENABLE", "1");
    return std::string(value ? "SHARP" : "no SHARP");
  });
  multiply(out, ask.versions, [](Job& job, NcclVersion value) {
    job.version = value;
    return "NCCL " + to_text(value);
  });
  return out;
}

BenchConfig bench_of(const CompareAsk& ask, const Job& job, int nodes) {
  BenchConfig out;
  static_cast<Job&>(out) = job;
  out.nodes = {nodes};
  out.collectives = ask.collectives;
  out.sizes = ask.sizes;
  out.routing_note = false;
  return out;
}

StepConfig step_of(const CompareAsk& ask, const Job& job, int nodes) {
  StepConfig out = *ask.step;
  static_cast<Job&>(out) = job;
  out.nodes = nodes;
  out.placement_costs = false;
  return out;
}

std::optional<double> usd_per_hour(const ComparedMachine& machine, const Cluster& cluster,
                                   const Prices& prices) {
  const auto gpu = prices.gpus.find(cluster.node().gpus().front().part.name);
  if (gpu == prices.gpus.end()) return std::nullopt;
  return gpu->second.value * machine.gpus + machine.bill.fabric_usd_per_hour();
}

void fill(ComparedMachine& machine, const CompareAsk& ask, const PartsCatalogue& parts) {
  const Cluster cluster = load_cluster(machine.job, machine.nodes, parts);
  machine.gpus = cluster.nodes() * gpus_used(cluster, machine.job.gpus_per_node);
  machine.nics = cluster.node().nics_per_tray();
  machine.fabric = cluster.fabric().name;
  machine.bill = price_fabric(cluster, parts, ask.prices);
  machine.usd_per_hour = usd_per_hour(machine, cluster, ask.prices);
  if (!ask.sizes.empty())
    machine.bench = run_bench(bench_of(ask, machine.job, machine.nodes), parts);
  if (ask.step) machine.step = run_step(step_of(ask, machine.job, machine.nodes), parts);
}

}  // namespace

std::vector<Job> compared_jobs(const CompareAsk& ask) {
  std::vector<Job> out;
  for (NamedJob& one : combinations(ask)) out.push_back(std::move(one.job));
  return out;
}

CompareResult run_compare(const CompareAsk& ask, const PartsCatalogue& parts,
                          const ForEach& for_each) {
  CompareResult out;
  out.ask = ask;
  // Names that are not known are mistakes; what does not go together is an answer.
  for (const std::string& name : ask.topologies) (void)Topology(name, {}, parts);
  for (const std::string& name : ask.fabrics) (void)Topology(ask.topologies.front(), name, parts);
  const std::vector<NamedJob> all = combinations(ask);
  if (all.size() * ask.nodes.size() > kComparedMax)
    throw Error(fmt::format("{} combinations are too many, at most {}",
                            all.size() * ask.nodes.size(), kComparedMax),
                "fabricast sweep takes more");
  for (const NamedJob& one : all) {
    for (const int nodes : ask.nodes) {
      ComparedMachine machine;
      machine.name = one.name.empty() ? one.job.topology : one.name;
      machine.job = one.job;
      machine.nodes = nodes;
      out.machines.push_back(std::move(machine));
    }
  }
  for_each(out.machines.size(), [&](std::size_t i) {
    ComparedMachine& machine = out.machines[i];
    try {
      fill(machine, ask, parts);
    } catch (const Error& error) {
      machine.refused = error.reason();
      machine.bench.reset();
      machine.step.reset();
    }
  });
  for (const ComparedMachine& machine : out.machines) {
    if (!machine.refused.empty()) continue;
    const std::string note = topology_note(machine.job.topology, parts);
    if (!note.empty()) add_once(out.notes, note);
  }
  if (std::ranges::any_of(out.machines,
                          [](const ComparedMachine& m) { return m.usd_per_hour.has_value(); }))
    out.notes.push_back(fmt::format(
        "USD per hour is that of the GPUs ({}) and of the fabric over {:g} years with its power; "
        "the price of a rented GPU has a usual network in it already: --prices takes your own",
        ask.prices.as_of, ask.prices.fabric_years.value));
  if (std::ranges::none_of(out.machines, &std::string::empty, &ComparedMachine::refused))
    throw Error(fmt::format("{}: {}", out.machines.front().name, out.machines.front().refused));
  return out;
}

}  // namespace fabricast
