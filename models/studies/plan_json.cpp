#include <nlohmann/json.hpp>

#include "models/io/quoting.hpp"
#include "models/studies/plan.hpp"

namespace fabricast {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string plan_json(const std::vector<Plan>& plans) {
  Json all = Json::array();
  for (const Plan& plan : plans) {
    Json best = Json::array(), too_large = Json::array();
    for (const StepResult& one : plan.best) best.push_back(Json::parse(step_json(one)));
    for (const TooLarge& one : plan.too_large)
      too_large.push_back({{"layout", short_layout(one.layout)}, {"bytes", one.bytes}});
    all.push_back({{"variation", plan.name},
                   {"layouts", plan.layouts},
                   {"simulated", plan.simulated},
                   {"best", best},
                   {"does_not_fit", too_large}});
  }
  return json_document(Json({{"study", "plan"}, {"plans", all}}));
}

}  // namespace fabricast
