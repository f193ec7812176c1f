#include "models/io/workloads/load_variables.hpp"

#include <limits>

#include "models/io/formats/reader.hpp"
#include "models/io/shipped/embedded.hpp"
#include "models/nccl/base/releases.hpp"

namespace fabricast {
namespace {

NcclVersion release_of(Reader& in, std::string_view key, std::string_view text) {
  return placed(in.place(key), [&] { return nccl_release_from_text(text); });
}

std::optional<NcclVersion> release(Reader& in, std::string_view key) {
  const std::string text = in.text(key, "");
  if (text.empty()) return std::nullopt;
  return release_of(in, key, text);
}

std::vector<ReleaseDefault> defaults(Reader& in) {
  std::vector<ReleaseDefault> out;
  if (!in.has("defaults")) return out;
  Reader table = in.child("defaults");
  for (const std::string& key : table.keys())
    out.push_back({release_of(table, key, key), table.text(key)});
  table.finish();
  return out;
}

std::optional<std::int64_t> limit(Reader& in, std::string_view key) {
  constexpr int most = std::numeric_limits<int>::max();
  if (!in.has(key)) return std::nullopt;
  return in.whole(key, -most, most);
}

std::vector<VariableReading> readings(Reader& in) {
  std::vector<VariableReading> out;
  for (Reader& entry : in.children("reads")) {
    VariableReading reading;
    reading.since = release(entry, "since");
    reading.text = entry.text("text");
    reading.words = entry.texts("words");
    reading.min = limit(entry, "min");
    reading.max = limit(entry, "max");
    reading.source = entry.text("source");
    entry.finish();
    const bool later = out.empty() || (reading.since && reading.since > out.back().since);
    if (!later)
      in.fail("reads", "readings are not in the order of their releases",
              "oldest first; only the first may be without since");
    out.push_back(std::move(reading));
  }
  return out;
}

Variable read_variable(const std::string& name, Reader& in) {
  Variable v;
  v.name = name;
  v.reader = in.choice("reader", kVariableReaderWords);
  v.who = in.text("who", "");
  v.since = release(in, "since");
  v.until = release(in, "until");
  v.releases = in.text("releases", "");
  if (v.reader != VariableReader::nobody || in.has("type"))
    v.type = in.choice("type", kVariableTypeWords);
  v.words = in.texts("words");
  v.min = limit(in, "min");
  v.max = limit(in, "max");
  v.unit = in.text("unit", "");
  v.default_text = in.text("default", "");
  v.defaults = defaults(in);
  v.readings = readings(in);
  v.acts_on = in.choice("acts", kActsOnWords);
  for (const std::string& word : in.texts("needs"))
    v.needs.push_back(placed(in.place("needs"), [&] { return kNeedWords.parse("word", word); }));
  v.instead = in.text("instead", "");
  v.effect = in.text("effect");
  v.note = in.prose("note", "");
  v.evidence = in.text("evidence", "");
  if (v.evidence.empty() && v.reader != VariableReader::nobody)
    in.fail("evidence", "evidence is missing", "the file and release that read it");
  in.finish();
  return v;
}

}  // namespace

VariableCatalogue parse_variables(const YamlText& text, const std::string& file) {
  const YamlNode root = parse_yaml(text, file);
  Reader in(root, file);
  std::vector<Variable> out;
  for (auto& [name, reader] : in.table("variables")) out.push_back(read_variable(name, reader));
  in.finish();
  return VariableCatalogue(std::move(out));
}

VariableCatalogue load_variables() {
  return parse_variables(embedded_variables().front().yaml(), "variables.yaml");
}

}  // namespace fabricast
