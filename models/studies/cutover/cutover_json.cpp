#include <nlohmann/json.hpp>

#include "models/studies/cutover/cutover_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

Json cutover_json(const CutoverResult& result, const Cutover& cutover) {
  return {{"from", to_text(result.contenders[cutover.from])},
          {"to", to_text(result.contenders[cutover.to])},
          {"size_bytes", cutover.size.count},
          {"near_first_bytes", cutover.first.count},
          {"near_last_bytes", cutover.last.count}};
}

Json column_json(const CutoverResult& result, const CutoverColumn& column) {
  Json out = {{"nodes", column.nodes}, {"ranks", column.ranks}, {"cells", Json::array()}};
  for (const auto& cell : column.cells) {
    if (!cell) continue;
    Json one = {{"size_bytes", cell->size.count}, {"times_us", Json::object()}};
    Json extrapolated = Json::array();
    for (std::size_t i = 0; i < cell->times.size(); ++i) {
      if (!cell->times[i]) continue;
      one["times_us"][to_text(result.contenders[i])] = cell->times[i]->time_us;
      if (cell->times[i]->extrapolated) extrapolated.push_back(to_text(result.contenders[i]));
    }
    one["extrapolated"] = std::move(extrapolated);
    if (cell->fastest) one["fastest"] = to_text(result.contenders[*cell->fastest]);
    if (cell->chosen) one["nccl"] = to_text(result.contenders[*cell->chosen]);
    one["loss"] = cell->loss();
    out["cells"].push_back(std::move(one));
  }
  for (const auto& [key, cutovers] :
       {std::pair{"cutovers", &column.fastest}, std::pair{"nccl_cutovers", &column.chosen}}) {
    out[key] = Json::array();
    for (const Cutover& cutover : *cutovers) out[key].push_back(cutover_json(result, cutover));
  }
  return out;
}

Json result_json(const CutoverResult& result) {
  Json out = {{"topology", result.topology},
              {"nccl", to_text(result.config.version)},
              {"collective", to_text(result.config.collective)},
              {"columns", Json::array()},
              {"notes", result.notes}};
  for (const CutoverColumn& column : result.columns)
    out["columns"].push_back(column_json(result, column));
  return out;
}

}  // namespace

std::string cutover_json(const CutoverResult& result, const std::vector<CutoverVariant>& variants) {
  Json out = result_json(result);
  if (!variants.empty()) {
    out["sensitivity"] = Json::array();
    for (const CutoverVariant& variant : variants) {
      Json one = result_json(variant.result);
      one["changed"] = variant.name;
      out["sensitivity"].push_back(std::move(one));
    }
  }
  return json_document(out);
}

}  // namespace fabricast
