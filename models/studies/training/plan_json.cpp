#include <nlohmann/json.hpp>

#include "models/studies/training/plan.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string plan_json(const std::vector<Plan>& plans) {
  Json all = Json::array();
  for (const Plan& plan : plans) {
    Json best = Json::array(), too_large = Json::array();
    const std::size_t equal = plan.best.empty() ? 0 : equal_within_error(plan);
    for (const auto& [one, twins] : plan.best) {
      Json step = Json::parse(step_json(one));
      step["equal_to_best"] = best.size() < equal;
      step["twins"] = Json::array();
      for (const Layout& twin : twins) step["twins"].push_back(short_layout(twin));
      best.push_back(std::move(step));
    }
    for (const TooLarge& one : plan.too_large)
      too_large.push_back({{"layout", short_layout(one.layout)}, {"bytes", one.bytes}});
    if (!plan.refused.empty()) {
      all.push_back({{"variation", plan.name}, {"refused", plan.refused}});
      continue;
    }
    all.push_back({{"variation", plan.name},
                   {"headroom", plan.headroom},
                   {"layouts", plan.layouts},
                   {"simulated", plan.simulated},
                   {"best", best},
                   {"does_not_fit", too_large}});
  }
  return json_document(Json({{"study", "plan"}, {"plans", all}}));
}

std::string variations_json(const std::vector<NamedStep>& steps) {
  Json all = Json::array();
  for (const NamedStep& one : steps) {
    Json line = {{"variation", one.name}};
    if (one.refused.empty()) {
      line.update(Json::parse(step_json(one.result)));
    } else {
      line["refused"] = one.refused;
    }
    all.push_back(std::move(line));
  }
  return Json({{"study", "step"}, {"variations", all}}).dump(2) + "\n";
}

}  // namespace fabricast
