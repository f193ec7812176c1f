#include "models/studies/hang/read_call_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/io/formats/log_lines.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

using InputJson = nlohmann::json;

constexpr int kRankMax = 1 << 24;
constexpr std::size_t kTracedCallsMax = 5'000'000;  // some 200 B each in memory
const std::vector<std::string> kKeys = {"rank",     "call",  "group", "ranks", "peer",
                                        "elements", "dtype", "at_s",  "end"};

class LineReader {
 public:
  LineReader(std::string_view text, const std::string& file, int line) : file_(file), line_(line) {
    json_ = InputJson::parse(text, nullptr, false);
    if (!json_.is_object())
      fail({}, "is no JSON object",
           "write one call a line: {\"rank\": 0, \"call\": \"all_reduce\"}");
    for (const auto& [key, value] : json_.items()) {
      if (std::ranges::find(kKeys, key) == kKeys.end())
        fail({}, fmt::format("unknown key \"{}\"", key), hint_nearest(key, kKeys));
    }
  }

  RankCall read() const {
    RankCall call;
    call.line = line_;
    if (!json_.contains("rank")) fail("rank", "is missing");
    call.rank = rank_of("rank", json_["rank"]);
    if (json_.contains("end")) {
      call.end = text("end");
      return call;
    }
    call.op = text("call");
    if (json_.contains("group")) call.group = text("group");
    if (json_.contains("at_s")) {
      if (!json_["at_s"].is_number()) fail("at_s", "is no number of seconds");
      call.at_s = json_["at_s"].get<double>();
    }
    if (json_.contains("elements")) {
      const InputJson& value = json_["elements"];
      if (!value.is_number_integer() || value.get<double>() < 0) fail("elements", "is no count");
      call.elements = value.get<long long>();
    }
    if (json_.contains("dtype")) call.dtype = text("dtype");
    const bool message = call.op == "send" || call.op == "isend" || call.op == "recv";
    if (message != json_.contains("peer"))
      fail("peer", message ? "is missing: send, isend and recv name one"
                           : "belongs to send, isend and recv only");
    if (message) {
      call.peer = rank_of("peer", json_["peer"]);
      if (call.peer == call.rank) fail("peer", "is the rank itself");
    }
    if (json_.contains("ranks")) members(call);
    return call;
  }

 private:
  [[noreturn]] void fail(std::string key, std::string what, std::string hint = {}) const {
    throw Error(Place{file_, line_, std::move(key)}, std::move(what), std::move(hint));
  }

  std::string text(const char* key) const {
    if (!json_.contains(key)) fail(key, "is missing");
    if (!json_[key].is_string() || json_[key].get_ref<const std::string&>().empty())
      fail(key, "is no word");
    return json_[key].get<std::string>();
  }

  int rank_of(const char* key, const InputJson& value) const {
    if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > kRankMax)
      fail(key, "is no rank");
    return value.get<int>();
  }

  void members(RankCall& call) const {
    const InputJson& list = json_["ranks"];
    if (!list.is_array()) fail("ranks", "is no list");
    for (const InputJson& rank : list) call.members.push_back(rank_of("ranks", rank));
    std::ranges::sort(call.members);
    if (std::ranges::adjacent_find(call.members) != call.members.end())
      fail("ranks", "names a rank twice");
    if (std::ranges::find(call.members, call.rank) == call.members.end())
      fail("ranks", fmt::format("is without rank {}, which makes the call", call.rank));
  }

  const std::string& file_;
  int line_;
  InputJson json_;
};

}  // namespace

namespace {

std::vector<RankCall> read_calls(LineInput input, const std::string& file) {
  std::vector<RankCall> out;
  std::string line;
  bool ended = false;
  for (int number = 1; input.next(line, ended); ++number) {
    const std::string_view words = trimmed(line);
    const std::string_view bare = words.ends_with('\r') ? words.substr(0, words.size() - 1) : words;
    if (!bare.empty()) out.push_back(LineReader(bare, file, number).read());
    if (out.size() > kTracedCallsMax)
      throw Error(Place{file, number, {}}, fmt::format("more than {} calls", kTracedCallsMax),
                  "cut the trace to the last calls of each rank");
  }
  if (out.empty()) throw Error(Place{file, 0, {}}, "no call is in it");
  return out;
}

}  // namespace

std::vector<RankCall> parse_call_trace(const std::string& text, const std::string& file) {
  return read_calls(LineInput(std::string_view(text)), file);
}

std::vector<RankCall> read_call_trace(const std::string& file) {
  return read_calls(LineInput(file), file);
}

}  // namespace fabricast
