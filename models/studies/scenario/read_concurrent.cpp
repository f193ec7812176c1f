#include "models/studies/scenario/read_concurrent.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr int kSizeMax = 1 << 20, kRepeatMax = 1000;

void read_layout(Reader& in, RankLayout& layout) {
  if (!in.has("layout")) return;
  Reader sizes = in.child("layout");
  layout = {};
  for (const std::string& name : sizes.keys()) {
    if (name.find('-') != std::string::npos)
      sizes.fail(name, "a dimension's name has no \"-\": that joins names");
    layout.dimensions.push_back({name, sizes.whole(name, 1, kSizeMax)});
  }
  sizes.finish();
  if (layout.dimensions.empty())
    in.fail("layout", "needs a dimension", "write it like {tp: 8, dp: 4}");
}

/// "dp" or "cp-dp".
std::vector<std::string> dimensions(Reader& in, const RankLayout& layout) {
  std::vector<std::string> known, out;
  for (const RankLayout::Dimension& one : layout.dimensions) known.push_back(one.name);
  const std::string text = in.text("over");
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('-', at), text.size());
    out.push_back(text.substr(at, end - at));
    if (std::ranges::find(known, out.back()) == known.end())
      in.fail("over", fmt::format("the layout has no dimension \"{}\"", out.back()),
              hint_nearest(out.back(), known));
    at = end + 1;
  }
  return out;
}

ConcurrentGroup read_group(Reader& in, const RankLayout& layout) {
  ConcurrentGroup out;
  out.name = in.text("name");
  out.over = dimensions(in, layout);
  std::vector<std::string> collectives;
  for (const Collective c : kAllCollectives) collectives.emplace_back(to_text(c));
  out.collective = kAllCollectives[in.choice("collective", collectives)];
  out.size = in.bytes("size");
  out.repeat = in.whole("repeat", 1, kRepeatMax, 1);
  if (in.has("start")) out.start = Instant{} + in.duration("start");
  in.finish();
  return out;
}

template <class T>
std::optional<T> limit(Reader& in, std::string_view key, T (Reader::*get)(std::string_view)) {
  return in.has(key) ? std::optional<T>((in.*get)(key)) : std::nullopt;
}

std::optional<double> ratio_limit(Reader& in, std::string_view key) {
  constexpr double most = 1e6;
  return in.has(key) ? std::optional(in.number(key, 0, most)) : std::nullopt;
}

}  // namespace

void read_concurrent(Reader& in, ConcurrentConfig& config) {
  read_layout(in, config.layout);
  std::vector<Reader> groups = in.children("groups");
  if (!groups.empty()) config.groups.clear();
  for (Reader& child : groups) {
    ConcurrentGroup group = read_group(child, config.layout);
    if (std::ranges::find(config.groups, group.name, &ConcurrentGroup::name) != config.groups.end())
      child.fail("name", fmt::format("two groups are named \"{}\"", group.name));
    config.groups.push_back(std::move(group));
  }
}

Expectation read_concurrent_expectation(Reader& in, const std::vector<ScenarioCase>& cases) {
  Expectation out;
  out.place = in.place();
  out.in_case = in.text("case", "");
  out.group = in.text("group");
  out.slowdown_at_least = ratio_limit(in, "slowdown_at_least");
  out.slowdown_at_most = ratio_limit(in, "slowdown_at_most");
  out.busbw_at_least = limit(in, "busbw_at_least", &Reader::bandwidth);
  out.busbw_at_most = limit(in, "busbw_at_most", &Reader::bandwidth);
  out.time_at_least = limit(in, "time_at_least", &Reader::duration);
  out.time_at_most = limit(in, "time_at_most", &Reader::duration);
  out.because = in.text("because", "");
  in.finish();
  if (!out.slowdown_at_least && !out.slowdown_at_most && !out.busbw_at_least &&
      !out.busbw_at_most && !out.time_at_least && !out.time_at_most)
    in.fail("", "nothing is expected", "add a bound like slowdown_at_most: 1.5");
  std::vector<std::string> names, groups;
  for (const ScenarioCase& one : cases) names.push_back(one.name);
  if (out.in_case.empty() && cases.size() > 1)
    in.fail("case", fmt::format("{} cases are run: say which", cases.size()));
  const auto found = out.in_case.empty() ? names.begin() : std::ranges::find(names, out.in_case);
  if (found == names.end())
    in.fail("case", fmt::format("no case is named \"{}\"", out.in_case),
            hint_nearest(out.in_case, names));
  for (const ConcurrentGroup& group :
       std::get<ConcurrentCase>(cases[static_cast<std::size_t>(found - names.begin())].ask)
           .asked.groups)
    groups.push_back(group.name);
  if (std::ranges::find(groups, out.group) == groups.end())
    in.fail("group", fmt::format("no group is named \"{}\"", out.group),
            hint_nearest(out.group, groups));
  return out;
}

}  // namespace fabricast
