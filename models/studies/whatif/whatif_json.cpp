#include <nlohmann/json.hpp>

#include "models/studies/whatif/whatif_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

/// What both setups have in common.
Json subject(const WorkRow& row) {
  if (!row.collective) return {{"step", row.what}, {"nodes", row.nodes}, {"ranks", row.ranks}};
  return {{"collective", to_text(*row.collective)},
          {"nodes", row.nodes},
          {"ranks", row.ranks},
          {"size_bytes", row.size.count}};
}

void add_rate(Json& out, const std::string& prefix, const WorkRow& row) {
  if (row.collective) {
    out[prefix + "busbw_GBps"] = row.busbw_GBps;
  } else {
    out[prefix + "tokens_per_s"] = row.tokens_per_s;
  }
}

/// null where NCCL refuses a call on the way.
Json saved(std::optional<double> us) { return us ? Json(*us) : Json(); }

}  // namespace

std::string whatif_json(const WhatifResult& result) {
  Json out = {{"rows", Json::array()}, {"notes", result.notes}};
  for (const WhatifRow& row : result.rows) {
    Json one = subject(row.before);
    one["before_us"] = row.before.time_us;
    one["after_us"] = row.after.time_us;
    add_rate(one, "before_", row.before);
    add_rate(one, "after_", row.after);
    one["before"] = row.before.choice;
    one["after"] = row.after.choice;
    one["mechanism"] = row.mechanism;
    one["factors"] = Json::array();
    for (std::size_t i = 0; i < row.worths.size(); ++i) {
      const Worth& worth = row.worths[i];
      one["factors"].push_back({{"what", result.factors[i].text()},
                                {"alone_us", saved(worth.alone_us)},
                                {"in_order_us", saved(worth.in_order_us)},
                                {"last_us", saved(worth.last_us)},
                                {"shapley_us", saved(worth.shapley_us)},
                                {"mechanism", worth.mechanism}});
    }
    out["rows"].push_back(std::move(one));
  }
  return json_document(out);
}

std::string whatif_json(const WhatifTable& table) {
  Json out = {{"setups", Json::array()}, {"notes", table.notes}};
  for (std::size_t i = 0; i < table.runs.size(); ++i) {
    Json one = {{"name", table.names[i]},
                {"total_us", table.total_us(i)},
                {"of_the_first", table.total_us(i) / table.total_us(0)},
                {"rows", Json::array()}};
    for (std::size_t r = 0; r < table.runs[i].rows.size(); ++r) {
      const WorkRow& row = table.runs[i].rows[r];
      Json line = subject(row);
      line["time_us"] = row.time_us;
      add_rate(line, "", row);
      line["choice"] = row.choice;
      line["mechanism"] = mechanism(table.runs.front(), table.runs[i], r);
      one["rows"].push_back(std::move(line));
    }
    out["setups"].push_back(std::move(one));
  }
  return json_document(out);
}

}  // namespace fabricast
