#include <fmt/format.h>

#include <algorithm>

#include "models/io/hosts/tree_readers.hpp"
#include "sim/base/error.hpp"
#include "text/counted.hpp"
#include "text/words.hpp"

namespace fabricast::tree_readers {

namespace {

constexpr std::size_t kDepthMax = 16;
constexpr std::size_t kTreeSwitchesMax = 1 << 18;

}  // namespace

void SwitchTree::add_switch(const std::string& name, int line) {
  const Place place{file_, line, {}};
  if (name.empty()) throw Error(place, "a switch without a name");
  const auto [at, is_new] = switches_.try_emplace(name, Switch{line, {}, 0});
  const bool only_named = at->second.line == 0;  // as somebody's child
  if (only_named) at->second.line = line;
  if (!is_new && !only_named)
    throw Error(place, fmt::format("switch {} once more", name),
                fmt::format("line {} has it already", at->second.line));
  if (switches_.size() > kTreeSwitchesMax)
    throw Error(place, fmt::format("more than {} switches", kTreeSwitchesMax));
}

/// Slurm's tree has one switch above each. Where a file names several (all spines above a leaf),
/// which of them is drawn changes nothing: the first one is.
void SwitchTree::add_child(const std::string& parent, const std::string& child, int line) {
  children_.try_emplace(child, line);
  Switch& below = switches_.try_emplace(child, Switch{0, {}, 0}).first->second;
  if (below.parent.empty()) {
    below.parent = parent;
    below.parent_line = line;
  } else if (below.parent != parent && notes_.empty()) {
    notes_.push_back(
        fmt::format("line {}: switch {} hangs below {} and {}: of several the first is taken.",
                    line, child, below.parent, parent));
  }
}

void SwitchTree::add_host(const std::string& parent, const std::string& host, int line) {
  const auto [at, is_new] = hosts_.try_emplace(host);
  if (is_new) order_.push_back(host);
  if (!is_new && !at->second.leaf.empty() && at->second.leaf != parent)
    throw Error(Place{file_, line, {}},
                fmt::format("host {} hangs on {} and on {}", host, at->second.leaf, parent),
                "a host has one leaf: with a leaf for each rail name the first, or their group");
  at->second.leaf = parent;
}

void SwitchTree::set_domain(const std::string& host, const std::string& domain, int line) {
  const auto [at, is_new] = hosts_.try_emplace(host);
  if (is_new) order_.push_back(host);
  if (!at->second.domain.empty() && at->second.domain != domain)
    throw Error(Place{file_, line, {}},
                fmt::format("host {} is in {} and in {}", host, at->second.domain, domain));
  at->second.domain = domain;
}

std::vector<std::string> SwitchTree::above(const std::string& leaf) const {
  std::vector<std::string> out;
  for (std::string at = leaf; !at.empty(); at = switches_.at(at).parent) {
    out.push_back(at);
    if (out.size() > kDepthMax)
      throw Error(Place{file_, switches_.at(at).parent_line, {}},
                  fmt::format("switch {} hangs below itself, or more than {} deep", at, kDepthMax));
  }
  return out;
}

void SwitchTree::write(HostTree& out) const {
  std::vector<std::string> known;
  for (const auto& [name, one] : switches_)
    if (one.line > 0) known.push_back(name);
  for (const auto& [name, line] : children_)
    if (switches_.at(name).line == 0)
      throw Error(Place{file_, line, {}}, fmt::format("there is no switch {}", name),
                  known.size() > 64 ? std::string() : hint_nearest(name, known));
  std::map<std::string, std::vector<std::string>> chains;
  std::size_t bare = 0;
  for (const std::string& name : order_) {
    const Host& host = hosts_.at(name);
    if (host.leaf.empty()) {
      ++bare;
      out.hosts.push_back({name, {host.domain}, host.domain});
      continue;
    }
    const auto [at, is_new] = chains.try_emplace(host.leaf);
    if (is_new) at->second = above(host.leaf);
    out.hosts.push_back({name, at->second, host.domain});
  }
  out.notes.insert(out.notes.end(), notes_.begin(), notes_.end());
  if (bare > 0 && bare < order_.size())
    out.notes.push_back(
        fmt::format("{} in blocks, without a switch: their block counts as their "
                    "leaf.",
                    counted(static_cast<std::int64_t>(bare), "host")));
}

}  // namespace fabricast::tree_readers
