#include <fmt/format.h>

#include <algorithm>

#include "models/lint/rules.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/environment/choices.hpp"
#include "models/nccl/tuner/tuner.hpp"
#include "sim/base/error.hpp"
#include "text/words.hpp"

namespace fabricast::lint_rules_detail {

namespace {

bool is_known(std::string_view word, const std::vector<std::string>& known) {
  return std::ranges::any_of(known,
                             [&](const std::string& k) { return same_in_any_case(k, word); });
}

/// "NCCL 2.23.4 is the first that takes it", where a release after this one does; else "".
std::string known_later(const Sheet& sheet, const Setting& s, std::string_view word) {
  // Path levels are compared exactly, other words in any case.
  const bool exactly = s.variable->type == VariableType::level;
  return first_that_takes(s, sheet.input.version, [&](const VariableReading& reading) {
    return exactly ? std::ranges::find(reading.words, word) != reading.words.end()
                   : is_known(word, reading.words);
  });
}

bool has_blank(std::string_view text) {
  return text.find_first_of(" \t") != std::string_view::npos;
}

/// True when it reported one.
bool check_blanks(Sheet& sheet, const Setting& s) {
  for (const std::string_view entry : comma_list(s.value())) {
    if (!has_blank(entry)) continue;
    Finding& f = sheet.add(
        "FL015", Severity::error, s,
        fmt::format("{}: the entry \"{}\" keeps its blank and matches nothing", shown(s), entry));
    f.reason = "lists are split at ',' and not trimmed";
    f.source = "NCCL 2.21.5 src/misc/utils.cc, parseStringList";
    f.suggestion = "write the list without blanks";
    return true;
  }
  return false;
}

/// Collectives that the list leaves without any algorithm.
void check_left_out(Sheet& sheet, const Setting& s) {
  const NcclVersion version = sheet.input.version;
  // Before, every collective but all_reduce kept Ring (2.17.1 src/graph/tuning.cc), and that takes
  // any algorithm.
  if (version < kNccl2_19) return;
  std::vector<std::string> empty;
  for (const Collective c : kAllCollectives) {
    if (is_tuned(c) && lists_nothing_for(sheet, s, c)) empty.emplace_back(to_text(c));
  }
  if (empty.empty()) return;
  const bool fails = version >= kNccl2_24;
  Finding& f = sheet.add("FL016", fails ? Severity::warning : Severity::note, s,
                         fmt::format("{} leaves no algorithm for {}: {}", shown(s), joined(empty),
                                     fails ? "such a call fails" : "they run on rings"));
  f.reason =
      "Tree, CollNetChain and NVLSTree exist for all_reduce only; broadcast and reduce "
      "always run on rings";
  f.source = version >= kNccl2_24 ? "NCCL 2.27.7 src/graph/tuning.cc:43, src/enqueue.cc:1825"
                                  : "NCCL 2.21.5 src/graph/tuning.cc:166";
  f.suggestion = version >= kNccl2_24 ? "name the collective: allreduce:..." : "";
}

/// What a list does in which no name is known (src/graph/tuning.cc: Ring and Tree come back where
/// CollNet is off; from 2.19 to 2.21 Ring does in every protocol where nothing else is left, but
/// since 2.22 not in one that is switched off).
std::string_view nothing_left(const Setting& s, NcclVersion version) {
  if (s.variable->type == VariableType::algorithms)
    return "is left with an empty list, for which it takes Ring and Tree alone";
  const bool ring_comes_back = version >= kNccl2_19 && version < kNccl2_22;
  return ring_comes_back ? "is left with an empty list, for which it takes Ring in every protocol"
                         : "is left with an empty list";
}

void unknown_choice(Sheet& sheet, const Setting& s, std::string_view item,
                    const std::vector<std::string>& known, bool any_known) {
  const NcclVersion version = sheet.input.version;
  const bool refuses = version >= kNccl2_24;
  const bool of_later = !refuses && item.find_first_of(":;") != std::string_view::npos;
  const std::string_view outcome = refuses     ? "refuses to start"
                                   : any_known ? "passes over it without a message"
                                               : nothing_left(s, version);
  Finding& f =
      sheet.add("FL016", refuses || !any_known ? Severity::error : Severity::warning, s,
                fmt::format("{}: {} {} \"{}\"{} and {}", shown(s), nccl_release_text(version),
                            of_later ? "takes" : "does not know", item,
                            of_later ? " for one name, which it does not know," : "", outcome));
  f.source = s.variable->reading_in(version)->source;
  f.reason = known_later(sheet, s, item);
  if (of_later) {
    f.reason = "lists for single collectives exist since NCCL 2.24.3";
    return;
  }
  if (f.reason.empty() && !refuses) f.reason = "NCCL 2.24.3 and later refuse it";
  f.suggestion = item == "CollNet" ? "CollNetDirect,CollNetChain replaced CollNet in 2.14"
                                   : hint_nearest(item, known);
}

void check_choice_list(Sheet& sheet, const Setting& s) {
  const bool algorithms = s.variable->type == VariableType::algorithms;
  const NcclVersion version = sheet.input.version;
  const std::vector<std::string>& known = s.variable->words_in(version);
  std::vector<std::string_view> wrong;
  bool any_known = false;
  std::string_view rest = s.value();
  while (!rest.empty()) {
    const std::size_t end = version >= kNccl2_24 ? rest.find(';') : std::string_view::npos;
    std::string_view list = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (version >= kNccl2_24 && list.find(':') != std::string_view::npos)
      list.remove_prefix(list.find(':') + 1);
    if (list.starts_with('^')) list.remove_prefix(1);
    for (const std::string_view item : comma_list(list)) {
      if (item.empty()) continue;
      if (is_known(item, known)) {
        any_known = true;
      } else {
        wrong.push_back(item);
      }
    }
  }
  for (const std::string_view item : wrong) unknown_choice(sheet, s, item, known, any_known);
  if (!wrong.empty()) return;
  try {
    if (algorithms) {
      check_left_out(sheet, s);
    } else {
      std::vector<std::string> warnings;
      read_protocol_choices(s.value(), version, warnings);
    }
  } catch (const Error& error) {  // 2.24+: a list NCCL refuses for its order or its collective
    Finding& f = sheet.add("FL016", Severity::error, s, error.reason());
    f.source = "NCCL 2.27.7 src/graph/tuning.cc:43";
  }
}

void check_level(Sheet& sheet, const Setting& s) {
  const std::vector<std::string>& known = s.variable->words_in(sheet.input.version);
  const bool of_fusion = s.name() == "NCCL_NET_MERGE_LEVEL";  // a list of its own, without numbers
  const std::string& value = s.value();
  if (std::ranges::find(known, value) != known.end()) return;
  constexpr std::string_view source = "NCCL 2.21.5 src/graph/paths.cc:212 (levelsOldToNew)";
  if (!of_fusion && value.front() >= '0' && value.front() <= '9') {
    static constexpr std::string_view levels[] = {"LOC", "PIX", "PXB", "PHB", "SYS"};
    const std::int64_t number = std::clamp<std::int64_t>(number_text(value).value, 0, 4);
    Finding& f = sheet.add("FL014", Severity::note, s,
                           fmt::format("{} is an old number: it means {}", shown(s),
                                       levels[static_cast<std::size_t>(number)]));
    f.reason = "0 LOC, 1 PIX, 2 PXB, 3 PHB, 4 and above SYS";
    f.source = source;
    f.suggestion = fmt::format("{}={}", s.name(), levels[static_cast<std::size_t>(number)]);
    return;
  }
  const std::string later = known_later(sheet, s, value);
  Finding& f =
      sheet.add("FL014", Severity::error, s,
                fmt::format("{}: no path level{}, NCCL {}", shown(s),
                            later.empty() ? "" : " of " + nccl_release_text(sheet.input.version),
                            of_fusion ? "takes LOC and fuses nothing" : "keeps its default"));
  f.reason =
      !later.empty() ? later
      : of_fusion
          ? "levels are compared in upper case, and another text counts as LOC"
          : "levels are compared in upper case, and other words are ignored without a message";
  f.source = s.variable->reading_in(sheet.input.version)->source;
  std::string upper(value);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  f.suggestion = std::ranges::find(known, upper) != known.end()
                     ? fmt::format("{}={}", s.name(), upper)
                     : hint_nearest(value, known);
}

void check_words(Sheet& sheet, const Setting& s) {
  std::string_view value = s.value();
  const bool list = s.variable->type == VariableType::words;
  if (list && value.starts_with('^')) value.remove_prefix(1);
  const std::vector<std::string>& known = s.variable->words_in(sheet.input.version);
  const VariableReading* reading = s.variable->reading_in(sheet.input.version);
  const char mark = s.name() == "NCCL_CTA_POLICY" ? '|' : ',';
  const std::vector<std::string_view> items =
      list ? split_list(value, mark) : std::vector<std::string_view>{value};
  for (const std::string_view item : items) {
    if (item.empty() || is_known(item, known)) continue;
    const std::string later = known_later(sheet, s, item);
    Finding& f =
        sheet.add("FL013", Severity::warning, s,
                  fmt::format("{}: \"{}\" is unknown{}{}", shown(s), item,
                              later.empty() ? "" : " to " + nccl_release_text(sheet.input.version),
                              s.name() == "NCCL_DEBUG" ? ", so nothing is logged" : ""));
    f.reason = later;
    f.source = reading == nullptr ? s.variable->evidence : reading->source;
    f.suggestion = hint_nearest(item, known);
  }
}

/// Rail and plane behind the port of an HCA.
void check_hca_fields(Sheet& sheet, const Setting& s) {
  if (sheet.input.version >= kNccl2_30) return;
  for (const std::string_view entry : comma_list(s.value())) {
    if (std::ranges::count(entry, ':') < 2) continue;
    Finding& f = sheet.add("FL013", Severity::warning, s,
                           fmt::format("{}: {} passes over what follows the port in \"{}\"",
                                       shown(s), nccl_release_text(sheet.input.version), entry));
    f.reason = "NCCL 2.30.3 is the first that reads a rail and a plane there";
    f.source = s.variable->reading_in(sheet.input.version)->source;
    return;
  }
}

/// A name of one character is passed over (src/misc/socket.cc).
void check_interfaces(Sheet& sheet, const Setting& s) {
  if (s.value().size() > 1) return;
  Finding& f = sheet.add("FL013", Severity::warning, s,
                         fmt::format("{}: one character is ignored", shown(s)));
  f.source = "NCCL 2.21.5 src/misc/socket.cc:329";
}

void check_setting(Sheet& sheet, const Setting& s) {
  switch (s.variable->type) {
    case VariableType::algorithms:
    case VariableType::protocols:
      if (!check_blanks(sheet, s)) check_choice_list(sheet, s);
      break;
    case VariableType::hcas:
      if (!check_blanks(sheet, s) && s.name() == "NCCL_IB_HCA") check_hca_fields(sheet, s);
      break;
    case VariableType::interfaces:
      if (!check_blanks(sheet, s)) check_interfaces(sheet, s);
      break;
    case VariableType::level:
      check_level(sheet, s);
      break;
    case VariableType::word:
    case VariableType::words:
      check_words(sheet, s);
      break;
    default:
      break;
  }
}

}  // namespace

bool lists_nothing_for(const Sheet& sheet, const Setting& s, Collective collective) {
  if (s.variable->type != VariableType::algorithms) return false;
  const NcclVersion version = sheet.input.version;
  std::vector<std::string> warnings;
  const Choices choices = read_algorithm_choices(s.value(), version, warnings);
  return std::ranges::none_of(kAllAlgorithms, [&](Algorithm a) {
    return exists(a, collective, version) && choices.allows(collective, index_of(a));
  });
}

void check_lists(Sheet& sheet) {
  for (const Setting& s : sheet.settings) {
    if (!s.has_value() || s.value().empty() || s.variable == nullptr) continue;
    const bool literal = s.file->kind == EnvKind::nccl_conf;
    if (literal && (s.at->has(EnvTrap::quotes_in_value) || s.at->has(EnvTrap::comment_in_value) ||
                    s.at->has(EnvTrap::blank_at_end) || s.at->has(EnvTrap::carriage_return)))
      continue;  // reported by check_writing
    const bool torch = s.variable->reader == VariableReader::pytorch;
    if (torch || s.acts(sheet.input.version)) check_setting(sheet, s);
  }
}

}  // namespace fabricast::lint_rules_detail
