#include "cli/complete/values.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>

#include "models/io/topologies/known_names.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/training/plan.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

enum class Takes : std::uint8_t {
  file,
  words,        ///< those of `detail`
  collectives,  ///< several, with commas between them; those of `detail`, too
  tuned,        ///< the same of those that NCCL chooses an algorithm for
  topology,
  topologies,  ///< several
  fabric,
  fabrics,
  gpu,
  release,
  releases,
  assignment,          ///< NAME=value
  assignment_or_file,  ///< or a file
  variable,            ///< its name
  variation,           ///< KEY=VALUE,...: of --vary
  fixed,               ///< KEY=VALUE,KEY=VALUE: of --fix
  within               ///< the same of --within
};

struct OptionTakes {
  std::string_view option;  ///< with its command where others take something else
  Takes takes;
  std::string_view detail = "";  ///< endings of files, or words, with blanks around each
};

constexpr std::string_view kYamlFiles = " .yaml .yml ";
constexpr std::string_view kCsvFiles = " .csv ";
constexpr std::string_view kJsonFiles = " .json ";
constexpr std::string_view kStoreFiles = " .sqlite .db ";
constexpr std::string_view kTraceFiles = " .jsonl .json .log .txt .yaml .yml ";
constexpr std::string_view kTopologyFiles = " .yaml .yml .xml .txt .log ";
constexpr std::string_view kAlgorithmFiles = " .xml .yaml .yml ";

// What has neither words of its own (one_of) nor a line here is free: numbers, sizes, conditions.
constexpr std::array kTakes = {
    OptionTakes{"upgrade --to", Takes::release},
    OptionTakes{"--to", Takes::assignment},
    OptionTakes{"lint --explain", Takes::variable},
    OptionTakes{"lint --env", Takes::assignment_or_file},
    OptionTakes{"lint --env-file", Takes::file},
    OptionTakes{"lint files", Takes::file},
    OptionTakes{"import files", Takes::file},
    OptionTakes{"import --write", Takes::file, kYamlFiles},
    OptionTakes{"advise --write", Takes::file},
    OptionTakes{"calibrate --out", Takes::file, kYamlFiles},
    OptionTakes{"decide --collective", Takes::tuned},
    OptionTakes{"upgrade --collective", Takes::tuned},
    OptionTakes{"bench --collective", Takes::collectives, " ep_dispatch ep_combine "},
    OptionTakes{"--collective", Takes::collectives},
    OptionTakes{"compare --topology", Takes::topologies},
    OptionTakes{"--topology", Takes::topology},
    OptionTakes{"--to-topology", Takes::topology},
    OptionTakes{"topology", Takes::topology},
    OptionTakes{"compare --fabric", Takes::fabrics},
    OptionTakes{"--fabric", Takes::fabric},
    OptionTakes{"--to-fabric", Takes::fabric},
    OptionTakes{"--gpu", Takes::gpu},
    OptionTakes{"check --nccl", Takes::releases},
    OptionTakes{"compare --nccl", Takes::releases},
    OptionTakes{"memory --nccl", Takes::releases},
    OptionTakes{"--nccl", Takes::release},
    OptionTakes{"--to-nccl", Takes::release},
    OptionTakes{"--from", Takes::release},
    OptionTakes{"--env", Takes::assignment},
    OptionTakes{"--to-unset", Takes::variable},
    OptionTakes{"--env-file", Takes::file},
    OptionTakes{"--to-env-file", Takes::file},
    OptionTakes{"--vary", Takes::variation},
    OptionTakes{"--fix", Takes::fixed},
    OptionTakes{"--within", Takes::within},
    OptionTakes{"--tuner", Takes::file, " .so .csv .conf .json .txt "},
    OptionTakes{"--layout", Takes::file, kYamlFiles},
    OptionTakes{"layout", Takes::file, kYamlFiles},
    OptionTakes{"--parts", Takes::file, kYamlFiles},
    OptionTakes{"--prices", Takes::file, kYamlFiles},
    OptionTakes{"compare --sharp", Takes::words, " on off "},
    OptionTakes{"--fewest", Takes::words, " nodes nics fabric.oversubscription "},
    OptionTakes{"--most", Takes::words, " nodes nics fabric.oversubscription "},
    OptionTakes{"judge --targets", Takes::file, kCsvFiles},
    OptionTakes{"--targets", Takes::file, kYamlFiles},
    OptionTakes{"file", Takes::file, kYamlFiles},
    OptionTakes{"rules", Takes::file, kYamlFiles},
    OptionTakes{"recipe", Takes::file, kYamlFiles},
    OptionTakes{"--algorithm-file", Takes::file, kAlgorithmFiles},
    OptionTakes{"--points", Takes::file, kCsvFiles},
    OptionTakes{"--runs", Takes::file, kCsvFiles},
    OptionTakes{"--pairs", Takes::file, kCsvFiles},
    OptionTakes{"--sick-runs", Takes::file, kCsvFiles},
    OptionTakes{"--sick-points", Takes::file, kCsvFiles},
    OptionTakes{"--cases", Takes::file, kCsvFiles},
    OptionTakes{"validate engines --file", Takes::file, kCsvFiles},
    OptionTakes{"validate registered --file", Takes::file, kCsvFiles},
    OptionTakes{"validate serving --file", Takes::file, kCsvFiles},
    OptionTakes{"validate kernels --file", Takes::file, kCsvFiles},
    OptionTakes{"validate experts --file", Takes::file, kCsvFiles},
    OptionTakes{"--kernels", Takes::file, kYamlFiles},
    OptionTakes{"--experts-load", Takes::file},
    OptionTakes{"--my-runs", Takes::file, kCsvFiles},
    OptionTakes{"--my-points", Takes::file, kCsvFiles},
    OptionTakes{"--predictions", Takes::file, kCsvFiles},
    OptionTakes{"log", Takes::file, " .log .txt .out .json "},
    OptionTakes{"gate --check", Takes::file, " .log .txt .out .json "},
    OptionTakes{"--write-script", Takes::file, " .sh "},
    OptionTakes{"--write-aicr", Takes::file, kYamlFiles},
    OptionTakes{"--write-alerts", Takes::file, kYamlFiles},
    OptionTakes{"--write-junit", Takes::file, " .xml "},
    OptionTakes{"trace", Takes::file, kTraceFiles},
    OptionTakes{"--write-trace", Takes::file, " .jsonl "},
    OptionTakes{"--write-prometheus", Takes::file, " .prom "},
    OptionTakes{"--inspector", Takes::file},
    OptionTakes{"--calls", Takes::file, kJsonFiles},
    OptionTakes{"--trace", Takes::file, kJsonFiles},
    OptionTakes{"--json", Takes::file, kJsonFiles},
    OptionTakes{"--baseline", Takes::file, kJsonFiles},
    OptionTakes{"results", Takes::file, " .json .html "},
    OptionTakes{"--html", Takes::file, " .html "},
    OptionTakes{"--junit", Takes::file, " .xml "},
    OptionTakes{"--markdown", Takes::file, " .md "},
    OptionTakes{"tree", Takes::file},
    OptionTakes{"--hosts-file", Takes::file},
    OptionTakes{"--neighbour", Takes::file, kYamlFiles},
    OptionTakes{"store", Takes::file, kStoreFiles},
    OptionTakes{"others", Takes::file, kStoreFiles},
    OptionTakes{"--store", Takes::file, kStoreFiles},
    OptionTakes{"--diff", Takes::file, kStoreFiles},
};

std::vector<Completion> words_in(std::string_view text) {
  std::vector<Completion> out;
  while (!trimmed(text).empty()) {
    text = trimmed(text);
    const std::size_t end = std::min(text.find(' '), text.size());
    out.push_back({std::string(text.substr(0, end)), ""});
    text.remove_prefix(end);
  }
  return out;
}

/// `kind`: only these, as "GPU"; "" = all.
std::vector<Completion> names_of(const std::string& subject, std::string_view kind = "") {
  std::vector<Completion> out;
  for (const KnownName& one : known_names(subject, load_parts("")))
    if (kind.empty() || one.kind == kind) out.push_back({one.name, one.what});
  return out;
}

std::vector<Completion> collectives(bool only_tuned) {
  std::vector<Completion> out;
  for (const Collective one : kAllCollectives)
    if (!only_tuned || is_tuned(one)) out.push_back({std::string(to_text(one)), ""});
  return out;
}

std::string answers_by(NcclVersion version) {
  if (is_exact(version)) return "every decision is exact";
  return "answers by the rules of " + to_text(modelled_version(version));
}

std::vector<Completion> releases() {
  std::vector<Completion> out;
  for (const NcclVersion version : known_releases())
    out.push_back({to_text(version), answers_by(version)});
  return out;
}

std::vector<Completion> operator+(std::vector<Completion> a, std::vector<Completion> b) {
  a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
  return a;
}

/// What of a list is typed whole: all before its last comma, and that.
std::string done_of(const std::string& typed) {
  const std::size_t comma = typed.rfind(',');
  return comma == std::string::npos ? "" : typed.substr(0, comma + 1);
}

/// Puts `begin` before each.
std::vector<Completion> after(const std::string& begin, std::vector<Completion> all) {
  for (Completion& one : all) one.word.insert(0, begin);
  return all;
}

/// Names, then files: both begin as `typed`.
std::vector<Completion> or_files(std::vector<Completion> names, const std::string& typed,
                                 std::string_view endings) {
  return that_begin(std::move(names), typed) + files_like(typed, endings);
}

/// The same of a list: what stands before its last comma stays.
std::vector<Completion> or_files_in_list(std::vector<Completion> names, const std::string& typed,
                                         std::string_view endings) {
  const std::string done = done_of(typed);
  return in_list(std::move(names), typed) +
         after(done, files_like(typed.substr(done.size()), endings));
}

/// "KEY=" of each.
std::vector<Completion> assigned(std::span<const std::string_view> keys) {
  std::vector<Completion> out;
  for (const std::string_view key : keys) out.push_back({std::string(key) + "=", ""});
  return out;
}

/// Keys of --vary, or values of the one that is typed.
std::vector<Completion> variations(const std::string& typed) {
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos) {
    return that_begin(assigned(vary_keys()), typed) + variables_like(typed, true);
  }
  const std::string key = typed.substr(0, equals), values = typed.substr(equals + 1);
  if (key == "topology") return after(key + "=", in_list(names_of("topologies"), values));
  if (key == "fabric") return after(key + "=", in_list(names_of("fabrics"), values));
  return variables_like(typed, true);
}

/// The last of KEY=VALUE,KEY=VALUE: its key, or its value as far as `values` are known.
std::vector<Completion> pairs(const std::string& typed, std::span<const std::string_view> keys,
                              std::string_view values) {
  const std::string done = done_of(typed);
  const std::string last = typed.substr(done.size());
  const std::size_t equals = last.find('=');
  if (equals != std::string::npos)
    return after(done + last.substr(0, equals + 1),
                 that_begin(words_in(values), last.substr(equals + 1)));
  return after(done, that_begin(assigned(keys), last));
}

const OptionTakes* takes_of(const std::string& command, const std::string& option) {
  const std::string longer = command + " " + option;
  const auto found = std::ranges::find_if(
      kTakes, [&](const OptionTakes& one) { return one.option == longer || one.option == option; });
  return found == kTakes.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Completion> that_begin(std::vector<Completion> all, const std::string& typed) {
  std::erase_if(all, [&](const Completion& one) { return !one.word.starts_with(typed); });
  return all;
}

std::vector<Completion> in_list(std::vector<Completion> all, const std::string& typed) {
  const std::string done = done_of(typed);
  const std::vector<std::string_view> there = comma_items(done);
  std::erase_if(all, [&](const Completion& one) {
    return std::ranges::find(there, std::string_view(one.word)) != there.end();
  });
  return after(done, that_begin(std::move(all), typed.substr(done.size())));
}

std::vector<std::string> enumerated(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // "TEXT:{text,csv,json}"
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == type.npos || close == type.npos || close < open) return {};
  return comma_words(std::string_view(type).substr(open + 1, close - open - 1));
}

std::vector<Completion> values_of(const std::string& command, const CLI::Option& option,
                                  const std::string& typed) {
  std::vector<Completion> words;
  for (const std::string& word : enumerated(option)) words.push_back({word, ""});
  if (!words.empty()) return that_begin(std::move(words), typed);
  const OptionTakes* const found = takes_of(command, option.get_name());
  if (found == nullptr) return {};
  switch (found->takes) {
    case Takes::file:
      return files_like(typed, found->detail);
    case Takes::words:
      return that_begin(words_in(found->detail), typed);
    case Takes::collectives:
      return in_list(collectives(false) + words_in(found->detail), typed);
    case Takes::tuned:
      return in_list(collectives(true), typed);
    case Takes::topology:
      return or_files(names_of("topologies"), typed, kTopologyFiles);
    case Takes::fabric:
      return or_files(names_of("fabrics"), typed, kYamlFiles);
    case Takes::topologies:
      return or_files_in_list(names_of("topologies"), typed, kTopologyFiles);
    case Takes::fabrics:
      return or_files_in_list(names_of("fabrics"), typed, kYamlFiles);
    case Takes::gpu:
      return that_begin(names_of("parts", "GPU"), typed);
    case Takes::release:
      return that_begin(releases(), typed);
    case Takes::releases:
      return in_list(releases(), typed);
    case Takes::assignment:
      return variables_like(typed, true);
    case Takes::assignment_or_file:
      return variables_like(typed, true) + files_like(typed, "");
    case Takes::variable:
      return variables_like(typed, false);
    case Takes::variation:
      return variations(typed);
    case Takes::fixed:
      return pairs(typed, fix_keys(), "");
    case Takes::within:
      return pairs(typed, within_keys(), " node rack ");
  }
  return {};
}

}  // namespace fabricast
