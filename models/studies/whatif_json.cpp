#include <nlohmann/json.hpp>

#include "models/studies/whatif_text.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string whatif_json(const WhatifResult& result) {
  Json out = {{"rows", Json::array()}, {"notes", result.notes}};
  for (const WhatifRow& row : result.rows) {
    Json one = {{"collective", to_text(row.collective)},
                {"nodes", row.nodes},
                {"ranks", row.ranks},
                {"size_bytes", row.size.count},
                {"before_us", row.before_us},
                {"after_us", row.after_us},
                {"before_busbw_GBps", row.before_busbw},
                {"after_busbw_GBps", row.after_busbw},
                {"before", row.before_choice},
                {"after", row.after_choice},
                {"mechanism", row.mechanism},
                {"factors", Json::array()}};
    for (std::size_t i = 0; i < row.worths.size(); ++i) {
      const Worth& worth = row.worths[i];
      one["factors"].push_back({{"what", result.factors[i].text()},
                                {"alone_us", worth.alone_us},
                                {"in_order_us", worth.in_order_us},
                                {"last_us", worth.last_us},
                                {"shapley_us", worth.shapley_us},
                                {"mechanism", worth.mechanism}});
    }
    out["rows"].push_back(std::move(one));
  }
  return out.dump(2) + "\n";
}

}  // namespace fabricast
