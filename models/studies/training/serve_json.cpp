#include <nlohmann/json.hpp>

#include "models/studies/training/serve.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string serve_json(const ServeResult& result) {
  const auto parts = [](const ServeTime& t) {
    return Json{{"s", t.total()},
                {"gemm_s", t.gemm},
                {"attention_s", t.attention},
                {"elementwise_s", t.elementwise},
                {"tp_s", t.tensor},
                {"ep_s", t.expert},
                {"pp_s", t.pipeline}};
  };
  const ServeConfig& c = result.config;
  const Json out = {{"study", "serve"},
                    {"model", c.site.model.name},
                    {"gpu", result.gpu.name},
                    {"precision", to_text(c.site.layout.precision)},
                    {"tp", c.tensor},
                    {"pp", c.pipeline},
                    {"ep", c.expert},
                    {"batch", c.batch},
                    {"prompt", c.prompt},
                    {"output", c.output},
                    {"first_token", parts(result.prefill)},
                    {"token", parts(result.decode)},
                    {"at_once", result.at_once},
                    {"tokens_per_s", result.at_once / result.decode.total()},
                    {"weights_bytes", result.memory.weights},
                    {"cache_bytes", result.memory.cache},
                    {"fits", result.fits}};
  return json_document(out);
}

}  // namespace fabricast
