// workloads/gpus.yaml -> ComputeCatalogue, frameworks.yaml -> FrameworkCatalogue.
#include <fmt/format.h>

#include "models/io/formats/reader.hpp"
#include "models/io/workloads/load_kernels.hpp"
#include "models/io/workloads/load_workloads.hpp"

namespace fabricast {
namespace {

GpuCompute gpu(const std::string& name, Reader& in, const Figures& figures) {
  GpuCompute out;
  out.name = name;
  out.memory = figures.bytes(in, "memory");
  out.memory_rate = figures.bandwidth(in, "memory_rate");
  out.multiprocessors = figures.whole(in, "multiprocessors", 1, 10'000);
  out.generation = figures.whole(in, "generation", 10, 999);
  out.cache = figures.bytes(in, "cache");
  if (in.has("tensor_share")) out.tensor_share = figures.number(in, "tensor_share", 0.01, 1);
  Reader gemm = in.child("gemm");
  for (std::size_t p = 0; p < kPrecisionWords.words.size(); ++p) {
    if (!gemm.has(kPrecisionWords.words[p])) continue;
    Reader rate = gemm.child(kPrecisionWords.words[p]);
    out.gemm[p].peak = figures.flop_rate(rate, "peak");
    out.gemm[p].efficiency = figures.number(rate, "efficiency", 0.01, 2);
    rate.finish();
  }
  gemm.finish();
  out.attention_forward = figures.number(in, "attention_forward", 0.01, 2);
  out.attention_backward = figures.number(in, "attention_backward", 1, 10);
  out.attention_ampere = figures.number(in, "attention_ampere", 0.01, 1);
  out.elementwise = figures.number(in, "elementwise", 0.01, 1);
  out.kernel_floor = figures.duration(in, "kernel_floor");
  in.finish();
  out.libraries = libraries_of(out.kernels(), load_kernels());
  return out;
}

Overlap overlap(Reader in, Overlap out) {
  out.tensor = in.flag("tensor", out.tensor);
  out.pipeline = in.flag("pipeline", out.pipeline);
  out.gradients = in.flag("gradients", out.gradients);
  out.parameters = in.flag("parameters", out.parameters);
  out.expert = in.flag("expert", out.expert);
  out.expert_between_nodes = in.flag("expert_between_nodes", out.expert_between_nodes);
  in.finish();
  return out;
}

/// The keys that a release may say differently.
void read_parameters(Framework& out, Reader& in) {
  if (in.has("elementwise")) out.elementwise = in.number("elementwise", 0.1, 100);
  if (in.has("host_issue")) out.host_issue = in.duration("host_issue");
  if (in.has("attention")) out.attention = in.number("attention", 0.01, 1);
  out.drops_tokens = in.flag("drops_tokens", out.drops_tokens);
  if (in.has("overlap")) out.overlap = overlap(in.child("overlap"), out.overlap);
}

void read_framework(const std::string& name, Reader& in, FrameworkCatalogue& all) {
  Framework out;
  out.name = name;
  out.title = in.text("title");
  for (const char* key : {"elementwise", "host_issue"})
    if (!in.has(key)) in.fail(key, "is missing");
  read_parameters(out, in);
  if (in.has("exchange_rate")) out.exchange_rate = in.bandwidth("exchange_rate");
  out.ampere_attention = in.flag("ampere_attention", false);
  out.direct_dispatch = in.flag("direct_dispatch", false);
  out.flash_attention = in.flag("flash_attention", true);
  out.sequence_parallel = in.flag("sequence_parallel", true);
  if (in.has("recompute")) out.recompute = read_recompute(in, "recompute");
  out.gradient_bytes = in.whole("gradient_bytes", 2, 4, 4);
  for (auto& [version, release] : in.table("releases")) {
    Framework older = out;
    older.name = fmt::format("{} {}", name, version);
    read_parameters(older, release);
    release.finish();
    all[older.name] = older;
  }
  in.finish();
  all[name] = out;
}

}  // namespace

Precision read_precision(Reader& in, std::string_view key) {
  return in.choice(key, kPrecisionWords);
}
Recompute read_recompute(Reader& in, std::string_view key) {
  return in.choice(key, kRecomputeWords);
}
Overlap read_overlap(Reader& in, std::string_view key, const Overlap& otherwise) {
  return in.has(key) ? overlap(in.child(key), otherwise) : otherwise;
}

ComputeCatalogue parse_compute(const YamlText& text, const std::string& file) {
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

FrameworkCatalogue parse_frameworks(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"frameworks"});
  FrameworkCatalogue out;
  for (auto& [name, in] : root.table("frameworks")) read_framework(name, in, out);
  for (auto& [name, in] : root.table("aliases")) {
    std::vector<std::string> known;
    for (const auto& [word, unused] : out) known.push_back(word);
    Framework alias = out.at(known[in.choice("of", known)]);
    alias.alias_because = in.text("because");
    in.finish();
    out[name] = alias;
  }
  root.finish();
  return out;
}

}  // namespace fabricast
