#include "models/studies/bench/link_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/unit_text.hpp"

namespace fabricast {

namespace {

constexpr std::uint32_t kNamesCompared = 4'096;  // for hints

/// `*` stands for anything.
bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t i = star; i <= name.size(); ++i) {
    if (matches(rest, name.substr(i))) return true;
  }
  return false;
}

/// A link's name without what it says of its kind: "node0: gpu0 -> nvswitch".
std::string_view bare(std::string_view name) { return name.substr(0, name.find(" (")); }

}  // namespace

std::vector<LinkId> find_links(const Cluster& cluster, const std::string& asked) {
  std::vector<LinkId> out;
  std::vector<std::string> known;
  for (std::uint32_t i = 0; i < cluster.cables(); ++i) {
    const std::string name = cluster.link_name(LinkId{i});
    if (matches(asked, name) || matches(asked, bare(name))) out.push_back(LinkId{i});
    if (known.size() < kNamesCompared) known.emplace_back(bare(name));
  }
  if (out.empty()) {
    const std::string near = nearest(asked, known);
    throw Error(fmt::format("no link is named \"{}\"", asked),
                near.empty() ? "bench --explain and --format json name links"
                             : fmt::format("did you mean \"{}\"?", near));
  }
  return out;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::string_view rest = trimmed(text); !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest = trimmed(rest.substr(end));
  }
  return out;
}

double share_of(const std::string& text) {
  constexpr double kLeast = .001;  // with less, times of long messages leave 64 bits of picoseconds
  return parse_percent(text, kLeast, 100);
}

}  // namespace fabricast
