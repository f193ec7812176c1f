#include <nlohmann/json.hpp>

#include "models/studies/bench/bench.hpp"
#include "models/studies/training/traced_calls.hpp"
#include "text/quoting.hpp"

namespace fabricast {

std::string traced_json(const TracedResult& result) {
  nlohmann::ordered_json out = {{"file", result.file},
                                {"topology", result.config.topology},
                                {"nccl", to_text(result.config.version)},
                                {"world_size", result.world_size},
                                {"time_us", microseconds_of(result.time)}};
  for (const TracedLine& line : result.lines) {
    nlohmann::ordered_json row = {{"collective", line.call.collective},
                                  {"group", line.call.group},
                                  {"ranks", line.ranks},
                                  {"times", line.times}};
    if (line.time) {
      row["size_bytes"] = line.bytes;
      row["time_us"] = microseconds_of(*line.time);
    } else {
      row["why_not"] = line.why_not;
    }
    out["calls"].push_back(row);
  }
  return json_document(out);
}

}  // namespace fabricast
