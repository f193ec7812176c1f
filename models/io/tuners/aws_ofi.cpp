#include "models/io/tuners/aws_ofi.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>

#include "models/io/formats/reader.hpp"
#include "models/io/shipped/embedded.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr int kRanksPerNodeMax = 1024;
constexpr double kBytesMax = 1e15, kRanksMost = 1e9;

/// "a b" in two; the second is "" without a blank.
std::pair<std::string_view, std::string_view> halves(std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  return {text.substr(0, blank), trimmed(text.substr(blank))};
}

/// Corners of one collective: numbers, `max`, and points with a name.
class Corners {
 public:
  explicit Corners(PlanePoint end) : end_(end) {}

  void name(const std::string& name, const std::vector<std::string>& line) {
    if (line.size() != 2) throw Error("two corners make a line");
    const PlanePoint a = point(line[0]), b = point(line[1]);
    if (!(a.bytes > 0 && a.ranks > 0 && b.bytes > 0 && b.ranks > 0) ||
        (a.bytes == b.bytes && a.ranks == b.ranks)) {
      throw Error("two different corners without 0 make a line");
    }
    named_[name] = beyond(a, b, end_);
  }

  PlanePoint point(std::string_view text) const {
    const auto [bytes, ranks] = halves(text);
    if (ranks.empty()) return known(bytes);
    return {part(bytes, &PlanePoint::bytes), part(ranks, &PlanePoint::ranks)};
  }

 private:
  const PlanePoint& known(std::string_view name) const {
    const auto found = named_.find(std::string(name));
    if (found != named_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [one, at] : named_) names.push_back(one);
    fail_unknown("corner", name, names);
  }

  double part(std::string_view text, double PlanePoint::*member) const {
    if (text == "max") return end_.*member;
    const std::size_t dot = text.find('.');
    const std::string_view of = dot == std::string_view::npos ? "" : text.substr(dot + 1);
    if (of == "bytes") return known(text.substr(0, dot)).bytes;
    if (of == "ranks") return known(text.substr(0, dot)).ranks;
    const std::optional<double> number = finite_number(text);
    if (!number || *number < 0 || *number > kBytesMax) {
      throw Error(fmt::format("\"{}\" is no number of bytes or ranks", text),
                  "write a number, max, NAME.bytes or NAME.ranks");
    }
    return *number;
  }

  PlanePoint end_;
  std::map<std::string, PlanePoint> named_;
};

TunerPair pair_of(std::string_view text) {
  const auto [algorithm, protocol] = halves(text);
  const auto a = algorithm_from_text(algorithm);
  const auto p = protocol_from_text(protocol);
  if (!a || !p)
    throw Error(fmt::format("\"{}\" is no algorithm and protocol", text), "as in \"Tree LL128\"");
  return {*a, *p};
}

TunerRegion read_region(Reader& in, const Corners& corners) {
  TunerRegion out;
  const std::string use = in.text("use");
  out.pair = placed(in.place("use"), [&] { return pair_of(use); });
  for (const std::string& text : in.texts("corners"))
    out.corners.push_back(placed(in.place("corners"), [&] { return corners.point(text); }));
  if (out.corners.size() < 2) in.fail("corners", "a region has two corners at least");
  in.finish();
  return out;
}

AwsOfiCalls read_calls(Reader& in, PlanePoint end) {
  AwsOfiCalls out;
  const std::string collective = in.text("collective");
  const auto known = collective_from_text(collective);
  if (!known || !is_tuned(*known))
    in.fail("collective", fmt::format("\"{}\" is no collective that is tuned", collective));
  out.collective = *known;
  out.ranks_per_node = in.whole("ranks_per_node", 1, kRanksPerNodeMax);
  Corners corners(end);
  if (in.has("named")) {
    Reader named = in.child("named");
    for (const std::string& name : named.keys()) {
      const std::vector<std::string> line = named.texts(name);
      placed(named.place(name), [&] {
        corners.name(name, line);
        return true;
      });
    }
    named.finish();
  }
  for (Reader& region : in.children("regions")) out.regions.push_back(read_region(region, corners));
  in.finish();
  return out;
}

AwsOfiPlatform read_platform(Reader& in, PlanePoint end) {
  AwsOfiPlatform out;
  out.instances = in.texts("instances");
  out.nodes = in.texts("nodes");
  if (out.instances.empty() || out.instances.size() != out.nodes.size())
    in.fail("nodes", "one node for each instance is expected");
  out.tree_channels = in.flag("tree_channels", false);
  out.pat_channels = in.flag("pat_channels", false);
  for (Reader& calls : in.children("calls")) out.calls.push_back(read_calls(calls, end));
  in.finish();
  return out;
}

}  // namespace

AwsOfiTuner parse_aws_ofi(const YamlText& text, const std::string& file) {
  const YamlNode root = parse_yaml(text, file);
  Reader in(root, file);
  AwsOfiTuner out;
  out.end = {in.number("bytes_max", 1, kBytesMax), in.number("ranks_max", 1, kRanksMost)};
  out.nodes_min = in.whole("nodes_min", 1, kRanksPerNodeMax);
  for (Reader& platform : in.children("platforms"))
    out.platforms.push_back(read_platform(platform, out.end));
  in.finish();
  return out;
}

AwsOfiTuner load_aws_ofi() {
  return parse_aws_ofi(find_embedded(embedded_tuners(), "aws-ofi")->yaml(), "aws-ofi.yaml");
}

}  // namespace fabricast
