#include "models/io/algorithms/tuner_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kLineMost = 255;  // plugin.c: char line[256], read by fgets
constexpr std::size_t kFieldsLeast = 8;

constexpr std::array<std::string_view, kAlgorithms> kAlgorithmWords = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array<std::string_view, kProtocols> kProtocolWords = {"ll", "ll128", "simple"};
constexpr std::array<Collective, kTunedCollectives> kCollectivesOfWords = {
    Collective::broadcast, Collective::reduce, Collective::all_gather, Collective::reduce_scatter,
    Collective::all_reduce};
constexpr std::array<std::string_view, kTunedCollectives> kCollectiveWords = {
    "broadcast", "reduce", "allgather", "reducescatter", "allreduce"};

template <class Words>
std::optional<std::size_t> number_of(const Words& words, std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return std::nullopt;
  return static_cast<std::size_t>(found - words.begin());
}

/// Up to the first character that is no digit, as atoi and strtoull read; 0 without any.
template <class Number>
Number number_in(std::string_view text) {
  return leading_number<Number>(text).value_or(0);
}

/// As strtok splits: empty fields vanish.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (!line.empty()) {
    const std::size_t comma = std::min(line.find(','), line.size());
    if (comma > 0) out.push_back(trimmed(line.substr(0, comma)));
    line.remove_prefix(std::min(comma + 1, line.size()));
  }
  return out;
}

std::optional<TunerRule> rule_of(std::string_view line) {
  if (line.empty() || line.front() == '#') return std::nullopt;
  const std::vector<std::string_view> fields = fields_of(line);
  if (fields.size() < kFieldsLeast) return std::nullopt;
  TunerRule out;
  if (const auto c = number_of(kCollectiveWords, fields[0]))
    out.collective = kCollectivesOfWords[*c];
  out.bytes_min = number_in<std::int64_t>(fields[1]);
  out.bytes_max = number_in<std::int64_t>(fields[2]);
  if (const auto a = number_of(kAlgorithmWords, fields[3])) out.algorithm = kAllAlgorithms[*a];
  if (const auto p = number_of(kProtocolWords, fields[4])) out.protocol = static_cast<Protocol>(*p);
  out.channels = number_in<int>(fields[5]);
  out.nodes = number_in<int>(fields[6]);
  out.ranks = number_in<int>(fields[7]);
  if (fields.size() > 8) out.operations = number_in<int>(fields[8]);
  if (fields.size() > 9) out.registered = number_in<int>(fields[9]);
  return out;
}

bool matches(const TunerRule& rule, const TunerCall& call) {
  const auto fits = [](int wanted, int is) { return wanted == -1 || wanted == is; };
  return rule.collective == call.collective && rule.bytes_min <= call.bytes &&
         call.bytes <= rule.bytes_max && fits(rule.nodes, call.nodes) &&
         fits(rule.ranks, call.ranks) && fits(rule.operations, call.operations) &&
         fits(rule.registered, call.registered ? 1 : 0);
}

}  // namespace

std::vector<TunerRule> parse_tuner_csv(std::string_view text) {
  std::vector<TunerRule> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    do {
      if (const auto rule = rule_of(line.substr(0, kLineMost))) out.push_back(*rule);
      line.remove_prefix(std::min(kLineMost, line.size()));
    } while (!line.empty());
  }
  return out;
}

TunerAnswer tuner_answer(const std::vector<TunerRule>& rules, const TunerCall& call,
                         const std::function<bool(Algorithm, Protocol)>& is_there) {
  TunerAnswer out;
  for (const TunerRule& rule : rules) {
    if (!matches(rule, call) || !is_there(rule.algorithm, rule.protocol)) continue;
    out.rule = rule;
    if (rule.channels != -1) out.channels = rule.channels;
    return out;
  }
  return out;
}

std::string tuner_csv_line(const TunerRule& rule) {
  const auto c = std::ranges::find(kCollectivesOfWords, rule.collective);
  return fmt::format("{},{},{},{},{},{},{},{},{},{}",
                     kCollectiveWords[static_cast<std::size_t>(c - kCollectivesOfWords.begin())],
                     rule.bytes_min, rule.bytes_max, kAlgorithmWords[index_of(rule.algorithm)],
                     kProtocolWords[index_of(rule.protocol)], rule.channels, rule.nodes, rule.ranks,
                     rule.operations, rule.registered);
}

}  // namespace fabricast
