#include "models/io/workloads/load_engines.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "models/io/formats/reader.hpp"
#include "models/io/shipped/embedded.hpp"
#include "sim/base/scaled.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

/// "sm90" -> 90
int capability(const Reader& in, const std::string& name) {
  if (name.starts_with("sm")) {
    const std::optional<int> sm = to_number<int>(std::string_view(name).substr(2));
    if (sm && *sm >= 10 && *sm < 1000) return *sm;
  }
  throw Error(in.place(), fmt::format("\"{}\" is no compute capability", name),
              "write one like sm90, for 9.0");
}

PeerGpu gpu(Reader& in, const Figures& figures) {
  PeerGpu out;
  out.hop = figures.duration(in, "hop");
  out.load = figures.duration(in, "load");
  out.local = figures.bandwidth(in, "local");
  out.clock_GHz = figures.number(in, "clock_GHz", 0.1, 10);
  in.finish();
  return out;
}

}  // namespace

EngineCosts load_engines() {
  static const EngineCosts costs = parse_engines(
      find_embedded(embedded_workloads(), "engines")->yaml(), "workloads/engines.yaml");
  return costs;
}

EngineCosts parse_engines(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"engines"});
  std::map<std::string, Source> sources;
  read_sources(root, sources);
  const Figures figures(sources);
  EngineCosts out;
  for (auto& [name, in] : root.table("gpus")) {
    const int sm = capability(in, name);
    out.gpus[sm] = gpu(in, figures);
  }
  if (out.gpus.empty()) root.fail("gpus", "no generation of GPUs is named");
  Reader kernels = root.child("kernels");
  out.node = figures.duration(kernels, "node");
  out.copy = figures.duration(kernels, "copy");
  out.peer = figures.duration(kernels, "peer");
  out.turn = figures.duration(kernels, "turn");
  out.loads = figures.number(kernels, "loads", 0.1, 1.2);
  out.stores = figures.number(kernels, "stores", 0.1, 1);
  out.multimem = figures.number(kernels, "multimem", 0.1, 1);
  out.unrolled = figures.number(kernels, "unrolled", 0.1, 100);
  const double start_hops = figures.number(kernels, "start_hops", 0, 100);
  for (auto& [sm, gpu] : out.gpus) gpu.start = scaled(gpu.hop, start_hops);
  out.round = figures.number(kernels, "round", 0, 10);
  out.ll_read = figures.duration(kernels, "ll_read");
  out.burst = figures.duration(kernels, "burst");
  out.window = figures.bytes(kernels, "window");
  out.pull_window = figures.number(kernels, "pull_window", 0.1, 100);
  out.lamport_body = figures.duration(kernels, "lamport_body");
  out.sglang_body = figures.duration(kernels, "sglang_body");
  kernels.finish();
  Reader calls = root.child("host_call");
  for (std::size_t i = 0; i < out.host_call.size(); ++i)
    out.host_call[i] = figures.duration(calls, kEngineWords.words[i]);
  out.sglang_host_call = figures.duration(calls, "sglang_later");
  calls.finish();
  root.finish();
  return out;
}

}  // namespace fabricast
