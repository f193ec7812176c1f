#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/studies/decide/decide_text.hpp"
#include "text/quoting.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

Json candidate_json(const Candidate& candidate) {
  Json out = {{"algorithm", to_text(candidate.algorithm)},
              {"protocol", to_text(candidate.protocol)}};
  if (!candidate.excluded.empty()) {
    out["excluded"] = candidate.excluded;
    return out;
  }
  out["latency_us"] = candidate.latency_us;
  out["algbw_GBps"] = candidate.bandwidth_GBps;
  out["predicted_us"] = candidate.time_us;
  return out;
}

Json row_json(const DecideBlock& block, const DecideRow& row) {
  Json out = {{"collective", to_text(row.collective)},
              {"size_bytes", row.requested.count},
              {"count", row.count},
              {"nodes", block.communicator.hosts},
              {"ranks", block.communicator.ranks}};
  if (row.decision.algorithm) {
    out["algorithm"] = to_text(*row.decision.algorithm);
    out["protocol"] = to_text(row.decision.protocol);
    out["nchannels"] = row.channels;
    out["nchannels_tuner"] = row.decision.channels;
    out["nthreads"] = row.threads;
    out["chunk_bytes"] = row.chunk_bytes;
    out["predicted_us"] = row.decision.time_us;
  } else {
    out["algorithm"] = "none";
    out["protocol"] = "none";
  }
  Json candidates = Json::array();
  for (const Candidate& one : row.decision.candidates) candidates.push_back(candidate_json(one));
  out["candidates"] = candidates;
  return out;
}

void add_segments(const DecideBlock& block, Collective collective, Json& out) {
  const std::vector<const DecideRow*> rows = rows_of(block, collective);
  if (rows.empty()) return;
  for (const DecideSegment& segment : decide_segments(block.communicator, rows)) {
    out.push_back({{"collective", to_text(collective)},
                   {"nodes", block.communicator.hosts},
                   {"from_bytes", segment.first.count},
                   {"algorithm", segment.algorithm ? to_text(*segment.algorithm) : "none"},
                   {"protocol", segment.algorithm ? to_text(segment.protocol) : "none"}});
  }
}

}  // namespace

std::string decide_json(const DecideResult& result) {
  const DecideConfig& config = result.config;
  Json environment = Json::object();
  for (const auto& [name, value] : config.environment.variables()) environment[name] = value;
  Json rows = Json::array(), segments = Json::array();
  for (const DecideBlock& block : result.blocks) {
    for (const DecideRow& row : block.rows) rows.push_back(row_json(block, row));
    for (const Collective collective : config.collectives)
      add_segments(block, collective, segments);
  }
  const Json out = {{"study", "decide"},
                    {"topology", config.topology},
                    {"nccl", to_text(config.version)},
                    {"environment", environment},
                    {"sharp", config.sharp},
                    {"datatype", "float"},
                    {"notes", result.notes},
                    {"segments", segments},
                    {"rows", rows}};
  return json_document(out);
}

}  // namespace fabricast
