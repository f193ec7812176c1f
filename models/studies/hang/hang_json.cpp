#include <nlohmann/json.hpp>

#include "models/studies/hang/hang.hpp"
#include "text/quoting.hpp"

namespace fabricast {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string hang_json(const HangResult& result, double timeout_s) {
  Json stuck = Json::array(), ended = Json::array(), mismatches = Json::array();
  for (const StuckRank& rank : result.stuck) {
    Json one = {{"rank", rank.rank},           {"op", rank.call.op},  {"group", rank.call.group},
                {"line", rank.call.line},      {"call", rank.number}, {"sequence", rank.sequence},
                {"waits_for", rank.waits_for}, {"there", rank.there}};
    if (rank.call.at_s) one["fires_at_s"] = *rank.call.at_s + timeout_s;
    stuck.push_back(std::move(one));
  }
  for (const EndedRank& rank : result.ended)
    ended.push_back({{"rank", rank.rank}, {"calls", rank.calls}, {"why", rank.why}});
  for (const Mismatch& mismatch : result.mismatches)
    mismatches.push_back({{"lines", {mismatch.one.line, mismatch.other.line}},
                          {"ranks", {mismatch.one.rank, mismatch.other.rank}}});
  const Json out = {{"ranks", result.ranks},     {"calls", result.calls},
                    {"met", result.met},         {"hangs", result.hangs()},
                    {"timeout_s", timeout_s},    {"stuck", std::move(stuck)},
                    {"ended", std::move(ended)}, {"mismatches", std::move(mismatches)},
                    {"cycle", result.cycle}};
  return json_document(out);
}

}  // namespace fabricast
