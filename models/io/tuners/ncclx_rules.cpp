// The two forms of NCCLX's file.

#include <fmt/format.h>

#include <algorithm>

#include "models/io/formats/reader.hpp"
#include "models/io/tuners/ncclx_tuner.hpp"
#include "models/io/tuners/tuner_words.hpp"
#include "text/counted.hpp"
#include "text/numbers.hpp"
#include "text/quoting.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kFieldsLeast = 7, kFieldsMost = 10;
constexpr std::string_view kBlanks = " \t\r\n";

std::string_view bare(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

template <class Number>
Number whole(std::string_view text) {
  std::string_view digits = bare(text);
  if (digits.starts_with('+')) digits.remove_prefix(1);  // as std::stoll reads
  const auto number = to_number<Number>(digits);
  if (!number) throw Error(fmt::format("\"{}\" is no whole number", line_text(text)));
  return *number;
}

WholeRange range_or_any(std::string_view text) {
  return bare(text).empty() ? WholeRange{} : parse_range(text);
}

/// Bytes that a chunk is to have. NCCLX gives them to NCCL 2.30; read to be checked only.
void check_chunk(std::string_view text) {
  if (text.empty()) return;
  if (whole<std::int64_t>(text) < 0)
    throw Error(fmt::format("a chunk of {} bytes", line_text(text)), "0: NCCL's own");
}

int whole_or_any(std::string_view text) { return text.empty() ? -1 : whole<int>(text); }

/// Fields behind the seventh: of the newer form the eighth is the chunk, of the older one they are
/// numPipeOps, regBuff, chunk. Eight are the newer form, unless the last says "any" in the older.
void read_rest(const std::vector<std::string_view>& fields, const auto& at, NcclxRule& out) {
  if (fields.size() == 8) {
    if (fields[7] != "-1") at("chunkSize", 7, check_chunk);
    return;
  }
  if (fields.size() > 8) {
    at("numPipeOps", 7, [&](std::string_view text) { out.operations = whole_or_any(text); });
    at("regBuff", 8, [&](std::string_view text) { out.registered = whole_or_any(text); });
  }
  if (fields.size() > 9) at("chunkSize", 9, check_chunk);
}

NcclxRule rule_of(std::string_view line, const Place& place) {
  const std::vector<std::string_view> fields = ncclx_fields(line);
  if (fields.size() < kFieldsLeast) {
    throw Error(place,
                fmt::format("{}, at least {} are needed",
                            counted(static_cast<int>(fields.size()), "field"), kFieldsLeast),
                "collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks");
  }
  NcclxRule out;
  out.place = place;
  const auto at = [&](const char* name, std::size_t field, const auto& read) {
    Place there = place;
    there.path = name;
    placed(there, [&] {
      read(fields[field]);
      return true;
    });
  };
  const auto word = [](const char* what, const auto& words, auto& value) {
    return [what, &words, &value](std::string_view text) { value = words.parse(what, text); };
  };
  const auto range = [](WholeRange& value) {
    return [&value](std::string_view text) { value = range_or_any(text); };
  };
  at("collective", 0, word("collective", kTunerCollectiveWords, out.collective));
  at("bytesPerRank", 1, range(out.bytes_per_rank));
  at("algorithm", 2, word("algorithm", kTunerAlgorithmWords, out.pair.algorithm));
  at("protocol", 3, word("protocol", kTunerProtocolWords, out.pair.protocol));
  at("channels", 4, [&](std::string_view text) { out.channels = whole_or_any(text); });
  at("nNodes", 5, range(out.nodes));
  at("nLocalRanks", 6, range(out.ranks_per_node));
  read_rest(fields, at, out);
  return out;
}

/// One object of a rule in JSON, which YAML reads, too.
class JsonPart {
 public:
  JsonPart(Reader in, std::vector<std::string>& notes) : in_(std::move(in)), notes_(notes) {}

  template <class Words>
  auto word(const char* key, const Words& words) {
    const std::string text = in_.text(key);
    return placed(in_.place(key), [&] { return words.parse(key, text); });
  }
  WholeRange range(const char* key) {
    const std::string text = in_.text(key, "");
    return placed(in_.place(key), [&] { return in_.has(key) ? range_or_any(text) : WholeRange{}; });
  }
  int number(const char* key) {
    const std::string text = in_.text(key, "");
    return placed(in_.place(key), [&] { return in_.has(key) ? whole<int>(text) : -1; });
  }
  void chunk(const char* key) {
    const std::string text = in_.text(key, "");
    placed(in_.place(key), [&] {
      check_chunk(text);
      return true;
    });
  }
  /// Keys that NCCLX reads over.
  void finish() {
    for (const std::string& key : in_.unasked()) {
      if (notes_.size() == kTunerNotesMost) return;
      const Place at = in_.place(key);
      notes_.push_back(
          fmt::format("{}:{}: {}: NCCLX reads no such key", at.file, at.line, at.path));
    }
  }

 private:
  Reader in_;
  std::vector<std::string>& notes_;
};

NcclxRule rule_of(Reader& in, std::vector<std::string>& notes) {
  NcclxRule out;
  out.place = in.place();
  JsonPart filter(in.child("filter"), notes);
  out.collective = filter.word("collective", kTunerCollectiveWords);
  out.bytes_per_rank = filter.range("bytesPerRank");
  out.nodes = filter.range("nNodes");
  out.ranks_per_node = filter.range("nLocalRanks");
  out.operations = filter.number("numPipeOps");
  out.registered = filter.number("regBuff");
  filter.finish();
  JsonPart config(in.child("config"), notes);
  out.pair.algorithm = config.word("algorithm", kTunerAlgorithmWords);
  out.pair.protocol = config.word("protocol", kTunerProtocolWords);
  out.channels = config.number("channels");
  config.chunk("chunkSize");
  config.finish();
  return out;
}

}  // namespace

std::vector<std::string_view> ncclx_fields(std::string_view line) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= line.size() && out.size() < kFieldsMost; ++i) {
    const char c = i < line.size() ? line[i] : '\0';
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && depth > 0) --depth;
    if (i < line.size() && (c != ',' || depth > 0)) continue;
    out.push_back(bare(line.substr(begin, i - begin)));
    begin = i + 1;
  }
  return out;
}

WholeRange parse_range(std::string_view text) {
  const std::string_view all = bare(text);
  const auto fail = [&](const char* why) {
    throw Error(fmt::format("\"{}\" is no range: {}", line_text(text), why),
                "*, 8, [0,1048576], (1,) or (,4]");
  };
  if (all == "*") return {};
  if (all.empty()) fail("it is empty");
  if (all.front() != '[' && all.front() != '(') {
    const auto exact = whole<std::int64_t>(all);
    return {exact, exact};
  }
  if (all.size() < 2 || (all.back() != ']' && all.back() != ')')) fail("no bracket ends it");
  const std::string_view body = all.substr(1, all.size() - 2);
  const std::size_t comma = body.find(',');
  if (comma == std::string_view::npos || body.find(',', comma + 1) != std::string_view::npos)
    fail("one comma is expected");
  WholeRange out;
  std::optional<std::int64_t> low, high;
  if (const auto from = bare(body.substr(0, comma)); !from.empty()) low = whole<std::int64_t>(from);
  if (const auto to = bare(body.substr(comma + 1)); !to.empty()) high = whole<std::int64_t>(to);
  if (low && high && *low > *high) fail("it ends before it begins");
  // An end that is left out may be the last number of all: then nothing is in the range.
  const bool no_low = low && all.front() == '(' && *low == INT64_MAX;
  const bool no_high = high && all.back() == ')' && *high == INT64_MIN;
  if (no_low || no_high) return {INT64_MAX, INT64_MIN};
  if (low) out.min = *low + (all.front() == '(' ? 1 : 0);
  if (high) out.max = *high - (all.back() == ')' ? 1 : 0);
  return out;
}

NcclxRules parse_ncclx_csv(const std::string& text, const std::string& file) {
  NcclxRules out;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = bare(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    out.rules.push_back(rule_of(line, Place{file, number, {}}));
  }
  return out;
}

NcclxRules parse_ncclx_json(const std::string& text, const std::string& file) {
  const YamlNode root = parse_yaml(text, file);
  Reader in(root, file);
  if (!in.has("rules"))
    in.fail("rules", "no rules", "{\"rules\": [{\"filter\": ..., \"config\": ...}]}");
  NcclxRules out;
  for (Reader& rule : in.children("rules")) out.rules.push_back(rule_of(rule, out.notes));
  return out;
}

}  // namespace fabricast
