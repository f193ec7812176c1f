#include "models/io/workloads/load_serving.hpp"

#include "models/io/formats/reader.hpp"
#include "models/io/shipped/embedded.hpp"

namespace fabricast {
namespace {

EngineHost engine_host(Reader in, const Figures& figures) {
  EngineHost out;
  out.pass = seconds(figures.duration(in, "pass"));
  out.request = seconds(figures.duration(in, "request"));
  out.front = seconds(figures.duration(in, "front"));
  out.token = seconds(figures.duration(in, "token"));
  out.kernel = seconds(figures.duration(in, "kernel"));
  out.gemm = figures.number(in, "gemm", 0.1, 10);
  out.attention = figures.number(in, "attention", 0.1, 10);
  out.elementwise = figures.number(in, "elementwise", 0.1, 10);
  out.communication = figures.number(in, "communication", 0.1, 10);
  in.finish();
  return out;
}

}  // namespace

ServingCosts load_serving() {
  static const ServingCosts costs = parse_serving(
      find_embedded(embedded_workloads(), "serving")->yaml(), "workloads/serving.yaml");
  return costs;
}

ServingCosts parse_serving(const YamlText& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader root(tree, file);
  root.choice("kind", {"serving"});
  std::map<std::string, Source> sources;
  read_sources(root, sources);
  const Figures figures(sources);
  ServingCosts out;
  Reader engines = root.child("engines");
  for (const Engine engine : {Engine::vllm, Engine::sglang, Engine::trtllm})
    out.engines[static_cast<std::size_t>(engine)] =
        engine_host(engines.child(kEngineWords[engine]), figures);
  out.engines[static_cast<std::size_t>(Engine::flashinfer)] = out.of(Engine::vllm);
  engines.finish();
  Reader transfer = root.child("transfer");
  out.transfer_block = seconds(figures.duration(transfer, "block"));
  out.transfer_start = seconds(figures.duration(transfer, "start"));
  transfer.finish();
  root.finish();
  return out;
}

}  // namespace fabricast
