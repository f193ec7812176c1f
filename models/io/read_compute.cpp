// workloads/gpus.yaml -> ComputeCatalogue, workloads/frameworks.yaml -> FrameworkCatalogue.
#include <fmt/format.h>

#include "models/io/load_workloads.hpp"
#include "models/io/reader.hpp"

namespace fabricast {
namespace {

const std::vector<std::string> kPrecisionNames = {"fp16", "bf16", "fp8", "mxfp8", "nvfp4"};

GpuCompute gpu(const std::string& name, Reader& in, const Figures& figures) {
  GpuCompute out;
  out.name = name;
  out.memory = figures.bytes(in, "memory");
  out.memory_rate = figures.bandwidth(in, "memory_rate");
  out.multiprocessors = figures.whole(in, "multiprocessors", 1, 10'000);
  Reader gemm = in.child("gemm");
  for (std::size_t p = 0; p < kPrecisionNames.size(); ++p) {
    if (!gemm.has(kPrecisionNames[p])) continue;
    Reader rate = gemm.child(kPrecisionNames[p]);
    out.gemm[p].peak = figures.flop_rate(rate, "peak");
    out.gemm[p].efficiency = figures.number(rate, "efficiency", 0.01, 1);
    rate.finish();
  }
  gemm.finish();
  out.gemm_memory = figures.number(in, "gemm_memory", 0.01, 1);
  out.gemm_start = figures.duration(in, "gemm_start");
  out.grouped_efficiency = figures.number(in, "grouped_efficiency", 0.01, 2);
  out.attention_forward = figures.number(in, "attention_forward", 0.01, 1);
  out.attention_backward = figures.number(in, "attention_backward", 0.01, 1);
  out.attention_ampere = figures.number(in, "attention_ampere", 0.01, 1);
  out.attention_ramp = figures.number(in, "attention_ramp", 0, 1e6);
  out.elementwise = figures.number(in, "elementwise", 0.01, 1);
  out.kernel_floor = figures.duration(in, "kernel_floor");
  in.finish();
  return out;
}

Overlap overlap(Reader in, Overlap out) {
  out.tensor = in.flag("tensor", out.tensor);
  out.pipeline = in.flag("pipeline", out.pipeline);
  out.gradients = in.flag("gradients", out.gradients);
  out.parameters = in.flag("parameters", out.parameters);
  out.expert = in.flag("expert", out.expert);
  in.finish();
  return out;
}

Framework framework(const std::string& name, Reader& in) {
  Framework out;
  out.name = name;
  out.title = in.text("title");
  out.elementwise = in.number("elementwise", 0.1, 100);
  out.host_issue = in.duration("host_issue");
  out.attention = in.has("attention") ? in.number("attention", 0.01, 1) : 1;
  if (in.has("exchange_rate")) out.exchange_rate = in.bandwidth("exchange_rate");
  out.ampere_attention = in.flag("ampere_attention", false);
  out.direct_dispatch = in.flag("direct_dispatch", false);
  out.flash_attention = in.flag("flash_attention", true);
  out.sequence_parallel = in.flag("sequence_parallel", true);
  if (in.has("recompute")) out.recompute = read_recompute(in, "recompute");
  if (in.has("overlap")) out.overlap = overlap(in.child("overlap"), out.overlap);
  out.gradient_bytes = in.whole("gradient_bytes", 2, 4, 4);
  in.finish();
  return out;
}

}  // namespace

Precision read_precision(Reader& in, std::string_view key) {
  return static_cast<Precision>(in.choice(key, kPrecisionNames));
}
Recompute read_recompute(Reader& in, std::string_view key) {
  return static_cast<Recompute>(
      in.choice(key, {"auto", "none", "lean", "selective", "operators", "full"}));
}
Overlap read_overlap(Reader& in, std::string_view key, const Overlap& otherwise) {
  return in.has(key) ? overlap(in.child(key), otherwise) : otherwise;
}

ComputeCatalogue parse_compute(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"gpus"});
  std::map<std::string, Source> sources;
  read_sources(root, sources);
  const Figures figures(sources);
  ComputeCatalogue out;
  for (auto& [name, in] : root.table("gpus")) out[name] = gpu(name, in, figures);
  root.finish();
  return out;
}

FrameworkCatalogue parse_frameworks(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"frameworks"});
  FrameworkCatalogue out;
  for (auto& [name, in] : root.table("frameworks")) out[name] = framework(name, in);
  root.finish();
  return out;
}

}  // namespace fabricast
