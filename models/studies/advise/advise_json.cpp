#include <nlohmann/json.hpp>

#include "models/studies/advise/advise_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string advise_json(const AdviseResult& result) {
  const Job setup = job_of(result.config.work);
  const auto json_of = [](const Environment& environment) {
    Json out = Json::object();
    for (const auto& [name, value] : environment.variables()) out[name] = value;
    return out;
  };
  Json out = {{"study", "advise"},
              {"goal", to_text(result.config.goal)},
              {"topology", result.topology},
              {"nccl", to_text(setup.version)},
              {"before", json_of(setup.environment)},
              {"advised", json_of(result.best)},
              {"lines", Json::array()},
              {"rows", Json::array()},
              {"held_back", Json::array()},
              {"changes_no_time", result.idle},
              {"hcas", result.hcas},
              {"tuner_rules", Json::array()},
              {"no_tuner", result.no_tuner},
              {"environments_tried", result.tried},
              {"notes", result.notes}};
  for (std::size_t i = 0; i < result.lines.size(); ++i) {
    const AdviseLine& line = result.lines[i];
    Json one = {{"name", line.factor.name}, {"what", line.factor.text()},
                {"saves", line.saves},      {"pinned", line.pinned},
                {"reason", line.reason},    {"last_us", Json::array()}};
    for (const WhatifRow& row : result.whatif->rows)
      one["last_us"].push_back(row.worths[i].last_us ? Json(*row.worths[i].last_us) : Json());
    out["lines"].push_back(std::move(one));
  }
  for (const AdviseRow& row : result.rows) {
    Json one = {{"what", row.after.what},
                {"counts", row.counts},
                {"size_bytes", row.after.size.count},
                {"before_us", row.before.time_us},
                {"advised_us", row.after.time_us},
                {"choice", row.after.choice}};
    if (row.after.collective) {
      one["collective"] = to_text(*row.after.collective);
      one["busbw_GBps"] = row.after.busbw_GBps;
    } else {
      one["tokens_per_s"] = row.after.tokens_per_s;
    }
    if (row.band) {
      one["lower_us"] = row.after.time_us * row.band->lower;
      one["upper_us"] = row.after.time_us * row.band->upper;
    }
    out["rows"].push_back(std::move(one));
  }
  for (const HeldBack& held : result.held_back)
    out["held_back"].push_back({{"what", held.text()},
                                {"saves", held.saves},
                                {"saves_most", held.saves_most},
                                {"row", held.row},
                                {"reason", held.reason}});
  if (result.tuner) {
    for (const TunerRule& rule : result.tuner->rules)
      out["tuner_rules"].push_back(tuner_csv_line(rule));
  }
  return json_document(out);
}

}  // namespace fabricast
