#include "models/nccl/base/releases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/error.hpp"
#include "text/numbers.hpp"

namespace fabricast {
namespace {

constexpr std::int16_t kLastPatch = 99;

constexpr std::array<NcclVersion, 32> kKnown = {
    {{18, 1}, {18, 3}, {18, 5}, {18, 6}, {19, 1}, {19, 3}, {19, 4}, {20, 3},
     {20, 5}, {21, 5}, {22, 3}, {23, 4}, {24, 3}, {25, 1}, {26, 2}, {26, 3},
     {26, 5}, {26, 6}, {27, 3}, {27, 5}, {27, 6}, {27, 7}, {28, 3}, {28, 7},
     {28, 9}, {29, 2}, {29, 3}, {29, 7}, {30, 3}, {30, 4}, {30, 7}, kNccl2_31_0a7}};

std::optional<NcclVersion> release_in(std::string_view text) {
  if (text == to_text(kNccl2_31_0a7)) return kNccl2_31_0a7;
  if (!text.starts_with("2.")) return std::nullopt;
  const std::string_view rest = text.substr(2);
  const std::size_t dot = rest.find('.');
  const auto series = to_number<std::int16_t>(rest.substr(0, dot));
  const auto patch = dot == std::string_view::npos ? std::optional<std::int16_t>(kLastPatch)
                                                   : to_number<std::int16_t>(rest.substr(dot + 1));
  if (!series || !patch || *series < 0 || *patch < 0) return std::nullopt;
  return NcclVersion{*series, *patch};
}

}  // namespace

std::span<const NcclVersion> known_releases() { return kKnown; }

NcclVersion modelled_version(NcclVersion version) {
  NcclVersion out = kModelledVersions.front();
  for (const NcclVersion known : kModelledVersions)
    if (known.series <= version.series) out = known;
  return out;
}

NcclVersion answered_version(NcclVersion version) {
  return version.series < kModelledVersions.front().series ? kModelledVersions.front() : version;
}

std::string rules_note(NcclVersion version) {
  const NcclVersion rules = modelled_version(version);
  if (rules == kNccl2_31_0a7) {
    const std::string whose = version == rules ? "is a pre-release: its rules may still change"
                                               : "answers by the rules of the pre-release " +
                                                     to_text(rules) + ", which may still change";
    return fmt::format("NCCL {} {}.", to_text(version), whose);
  }
  if (rules == version) return {};
  return fmt::format(
      "NCCL {} answers by the rules of {}, the release of its series whose decisions are known "
      "(fabricast decide --releases).",
      to_text(version), to_text(rules));
}

NcclVersion nccl_version_from_text(std::string_view text) {
  const auto found = release_in(text);
  if (!found)
    throw Error(fmt::format("\"{}\" is not a release of NCCL 2", text),
                fmt::format("write it like {}; fabricast decide --releases lists them",
                            to_text(kDefaultNccl)));
  if (found->patch == kLastPatch && found->series >= kModelledVersions.front().series) {
    const NcclVersion rules = modelled_version(*found);
    if (rules.series == found->series) return rules;
  }
  if (found->patch == kLastPatch || found->series < kModelledVersions.front().series)
    throw Error(fmt::format("the rules of {} are not known", nccl_release_text(*found)),
                fmt::format("they are from {} to {}; fabricast decide --releases lists them",
                            to_text(kModelledVersions.front()), to_text(kModelledVersions.back())));
  return *found;
}

NcclVersion nccl_release_from_text(std::string_view text) {
  if (const auto found = release_in(text)) return *found;
  throw Error("\"" + std::string(text) + "\" is not a release of NCCL 2",
              "write it like 2.21.5, or 2.21 for the last of a series");
}

std::string nccl_release_text(NcclVersion version) {
  if (version.patch == kLastPatch) return "NCCL 2." + std::to_string(version.series);
  return "NCCL " + to_text(version);
}

}  // namespace fabricast
