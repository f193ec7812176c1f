#include "models/io/workloads/load_serving.hpp"

#include "models/io/formats/reader.hpp"
#include "models/io/shipped/embedded.hpp"

namespace fabricast {
namespace {

constexpr double kFactorMax = 10, kDoubtMax = 100;

EngineHost engine_host(Reader in, const Figures& figures) {
  EngineHost out;
  for (const EngineFigure& one : kEngineFigures)
    out.*one.member = one.is_time ? seconds(figures.duration(in, one.name))
                                  : figures.number(in, one.name, 1 / kFactorMax, kFactorMax);
  in.finish();
  return out;
}

EnginePrior engine_prior(Reader in, const Figures& figures) {
  EnginePrior out;
  for (const EngineFigure& one : kEngineFigures) {
    Reader figure = in.child(one.name);
    out.value.*one.member = one.is_time ? seconds(figure.duration("value"))
                                        : figure.number("value", 1 / kFactorMax, kFactorMax);
    if (!(out.value.*one.member > 0))
      figure.fail("value", "a fit knows factors of it, and it is 0", "say more than 0");
    out.within.*one.member = figure.number("within", 1.01, kDoubtMax);
    figures.check_source(figure);
    figure.finish();
  }
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
  out.prior = engine_prior(root.child("prior"), figures);
  Reader transfer = root.child("transfer");
  out.transfer_block = seconds(figures.duration(transfer, "block"));
  out.transfer_start = seconds(figures.duration(transfer, "start"));
  transfer.finish();
  root.finish();
  return out;
}

}  // namespace fabricast
