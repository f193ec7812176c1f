#include "models/io/formats/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/io/formats/key_record.hpp"
#include "models/io/formats/question_kinds.hpp"
#include "sim/base/add_once.hpp"
#include "text/numbers.hpp"
#include "text/quoting.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

std::string_view name_of(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::scalar:
      return "a single value";
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::mapping:
      return "a mapping (key: value)";
  }
  return {};
}

/// What takes a question of this kind; "" = it is none.
std::string command_for(std::string_view kind, const std::string& file) {
  if (kind == "sweep") return fmt::format("fabricast sweep {}", shell_word(file));
  if (!kQuestionKindWords.find(kind)) return "";
  return fmt::format("fabricast run {}", shell_word(file));
}

/// Of shorter keys, like tp and pp, each is near to others that are meant.
constexpr std::size_t kNearKeyMin = 4;

[[noreturn]] void fail_unsourced(Place place) {
  throw Error(std::move(place), "a figure needs its source",
              "write {value: ..., source: KEY, status: ...} with a key of \"sources\"");
}

}  // namespace

Reader::Reader(const YamlNode& node, std::string file, std::string path)
    : node_(&node), file_(std::move(file)), path_(std::move(path)) {
  if (node.kind != YamlNode::Kind::mapping) {
    throw Error(Place{file_, node.line, path_},
                fmt::format("{} is expected here, not {}", name_of(YamlNode::Kind::mapping),
                            name_of(node.kind)));
  }
}

bool Reader::contains(std::string_view key) const {
  return std::find(node_->keys.begin(), node_->keys.end(), key) != node_->keys.end();
}

void Reader::note(std::string_view key, std::string_view type, double min, double max,
                  const std::vector<std::string>& words) const {
  if (KeyRecord* const record = KeyRecord::current())
    record->add({file_, mapping_, std::string(key), type, contains(key), min, max, words});
}

bool Reader::asks(std::string_view key, std::string_view type, double min, double max) const {
  note(key, type, min, max);
  return contains(key);
}

Reader Reader::below(const YamlNode& node, std::string path, std::string_view step,
                     std::string_view further) const {
  Reader out(node, file_, std::move(path));
  if (KeyRecord::current() == nullptr) return out;
  out.mapping_ = fmt::format("{}{}{}", mapping_, mapping_.empty() ? "" : "\n", step);
  if (!further.empty()) out.mapping_ += fmt::format("\n{}", further);
  return out;
}

bool Reader::has(std::string_view key) const { return asks(key, "maybe"); }

std::span<const std::string> Reader::keys() const {
  note("", "open");
  return node_->keys;
}

bool Reader::is_mapping(std::string_view key) const {
  note(key, "is_mapping");
  const auto found = std::find(node_->keys.begin(), node_->keys.end(), key);
  return found != node_->keys.end() &&
         node_->items[static_cast<std::size_t>(found - node_->keys.begin())].kind ==
             YamlNode::Kind::mapping;
}

const YamlNode* Reader::value(std::string_view key) {
  asked_.emplace_back(key);
  const auto found = std::find(node_->keys.begin(), node_->keys.end(), key);
  if (found == node_->keys.end()) return nullptr;
  return &node_->items[static_cast<std::size_t>(found - node_->keys.begin())];
}

const YamlNode& Reader::required(std::string_view key, YamlNode::Kind kind) {
  const YamlNode* found = value(key);
  if (found == nullptr) {
    note(key, "lacking");
    fail_missing(key);
  }
  if (found->kind != kind) {
    fail(key, fmt::format("{} is expected here, not {}", name_of(kind), name_of(found->kind)));
  }
  return *found;
}

template <class Parse>
auto Reader::parsed(std::string_view key, std::string_view type, Parse parse) {
  note(key, type);
  const std::string& text = scalar(key);
  return placed(place(key), [&] { return parse(text); });
}

std::string Reader::paragraphs(std::string_view key) {
  note(key, "text");
  std::string text = scalar(key);
  while (text.ends_with('\n')) text.pop_back();  // which YAML's | and > leave
  if (text.empty()) fail(key, "the text is empty");
  return text;
}

std::string Reader::one_line(std::string_view key, std::string text) const {
  if (const auto control = control_in(text))
    fail(key, fmt::format("{} in a text of one line", *control), "leave it out");
  return text;
}

std::string Reader::text(std::string_view key) { return one_line(key, paragraphs(key)); }

std::string Reader::any_text(std::string_view key) {
  note(key, "text");
  return one_line(key, scalar(key));
}

std::string Reader::prose(std::string_view key) {
  std::string text = paragraphs(key);
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

std::string Reader::prose(std::string_view key, std::string_view otherwise) {
  return asks(key, "text") ? prose(key) : (value(key), std::string(otherwise));
}

std::string Reader::text(std::string_view key, std::string_view otherwise) {
  return asks(key, "text") ? text(key) : (value(key), std::string(otherwise));
}

bool Reader::flag(std::string_view key, bool otherwise) {
  if (!asks(key, "flag")) return value(key), otherwise;
  const std::string& word = scalar(key);
  if (word != "true" && word != "false") {
    fail(key, fmt::format("\"{}\" is neither true nor false", word));
  }
  return word == "true";
}

int Reader::whole(std::string_view key, int min, int max) {
  note(key, "whole", min, max);
  const std::string& word = scalar(key);
  if (!is_whole_number(word)) fail(key, fmt::format("\"{}\" is not a whole number", word));
  const auto number = to_number<long long>(word);
  if (number && *number < min) fail(key, fmt::format("{} is too small: at least {}", word, min));
  if (!number || *number > max) fail(key, fmt::format("{} is too large: at most {}", word, max));
  return static_cast<int>(*number);
}

int Reader::whole(std::string_view key, int min, int max, int otherwise) {
  return asks(key, "whole", min, max) ? whole(key, min, max) : (value(key), otherwise);
}

double Reader::number(std::string_view key, double min, double max) {
  note(key, "number", min, max);
  const std::string& word = scalar(key);
  const auto number = to_number<double>(word);
  if (!number) fail(key, fmt::format("\"{}\" is not a number", word));
  if (!(*number >= min && *number <= max)) {
    fail(key, fmt::format("{} is out of range: {} to {}", word, min, max));
  }
  return *number;
}

Bandwidth Reader::bandwidth(std::string_view key) {
  const Bandwidth rate = parsed(key, "bandwidth", parse_bandwidth);
  if (rate.bytes_per_s == 0) fail(key, "a bandwidth must be more than 0");
  return rate;
}
Duration Reader::duration(std::string_view key) { return parsed(key, "duration", parse_duration); }
Bytes Reader::bytes(std::string_view key) { return parsed(key, "bytes", parse_bytes); }
double Reader::metres(std::string_view key) { return parsed(key, "metres", parse_metres); }
double Reader::watts(std::string_view key) { return parsed(key, "watts", parse_watts); }
double Reader::flop_rate(std::string_view key) {
  const double rate = parsed(key, "flop_rate", parse_flop_rate);
  if (rate == 0) fail(key, "a rate of FLOPs must be more than 0");
  return rate;
}

std::size_t Reader::choice(std::string_view key, const std::vector<std::string>& words) {
  note(key, "choice", 0, 0, words);
  const std::string& word = scalar(key);
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    fail(key, fmt::format("unknown word \"{}\"", word), hint_nearest(word, words));
  }
  return static_cast<std::size_t>(found - words.begin());
}

void Reader::kind(const std::string& wanted) {
  note("kind", "choice", 0, 0, {wanted});
  const std::string& word = scalar("kind");
  if (word == wanted) return;
  const std::string command = command_for(word, file_);
  if (command.empty())
    fail("kind", fmt::format("unknown word \"{}\"", word), hint_nearest(word, {wanted}));
  fail("kind", fmt::format("this is a file of kind {}, not {}", word, wanted), command);
}

Reader Reader::child(std::string_view key) {
  note(key, "child");
  return below(required(key, YamlNode::Kind::mapping), path_of(key), key);
}

std::vector<Reader> Reader::children(std::string_view key) {
  std::vector<Reader> out;
  if (!asks(key, "children")) return value(key), out;
  const YamlNode& list = required(key, YamlNode::Kind::sequence);
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    out.push_back(below(list.items[i], fmt::format("{}[{}]", path_of(key), i), key, "[]"));
  }
  return out;
}

std::vector<std::string> Reader::texts(std::string_view key) {
  std::vector<std::string> out;
  if (!asks(key, "texts")) return value(key), out;
  for (const YamlNode& item : required(key, YamlNode::Kind::sequence).items) {
    if (item.kind != YamlNode::Kind::scalar) fail(key, "a list of words is expected");
    out.push_back(item.text);
  }
  return out;
}

std::vector<std::pair<std::string, Reader>> Reader::table(std::string_view key) {
  std::vector<std::pair<std::string, Reader>> out;
  if (!asks(key, "table")) return value(key), out;
  const YamlNode& mapping = required(key, YamlNode::Kind::mapping);
  for (std::size_t i = 0; i < mapping.items.size(); ++i) {
    const std::string& name = mapping.keys[i];
    out.emplace_back(name,
                     below(mapping.items[i], fmt::format("{}.{}", path_of(key), name), key, "*"));
  }
  return out;
}

std::string Reader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

Place Reader::place() const { return {file_, node_->line, path_}; }

Place Reader::place(std::string_view key) const {
  const auto found = std::find(node_->keys.begin(), node_->keys.end(), key);
  if (found == node_->keys.end()) return place();
  return {file_, node_->key_lines[static_cast<std::size_t>(found - node_->keys.begin())],
          path_of(key)};
}

void Reader::fail(std::string_view key, std::string what, std::string hint) const {
  throw Error(place(key), std::move(what), std::move(hint));
}

void Reader::fail_missing(std::string_view key, std::string hint) const {
  Place at = place();
  const std::string known(key);
  for (std::size_t i = 0; i < node_->keys.size(); ++i) {
    const std::string& typed = node_->keys[i];
    if (knows(typed) || known.size() < kNearKeyMin || nearest(typed, {known}).empty()) continue;
    at.line = node_->key_lines[i];
    hint = fmt::format("\"{}\" stands there: did you mean \"{}\"?", typed, known);
    break;
  }
  throw Error(std::move(at), fmt::format("missing key \"{}\"", key), std::move(hint));
}

void Reader::refuse(std::string_view key, std::string what, std::string hint) {
  if (has(key)) fail(key, std::move(what), std::move(hint));
  refused_.emplace_back(key);
}

bool Reader::knows(std::string_view key) const {
  return std::find(asked_.begin(), asked_.end(), key) != asked_.end();
}

std::vector<std::string> Reader::unasked() const {
  std::vector<std::string> out;
  std::ranges::copy_if(node_->keys, std::back_inserter(out),
                       [&](const std::string& key) { return !knows(key); });
  return out;
}

void Reader::finish() const {
  note("", "closed");
  for (std::size_t i = 0; i < node_->keys.size(); ++i) {
    const std::string& key = node_->keys[i];
    if (knows(key)) continue;
    std::vector<std::string> known;
    for (const std::string& one : asked_)
      if (std::ranges::find(refused_, one) == refused_.end()) add_once(known, one);
    throw Error(Place{file_, node_->key_lines[i], path_}, fmt::format("unknown key \"{}\"", key),
                hint_nearest(key, known));
  }
}

template <class Get>
auto Figures::figure(Reader& in, std::string_view key, Get get) const {
  if (in.has(key) && !in.is_mapping(key)) fail_unsourced(in.place(key));
  Reader figure = in.child(key);
  auto value = get(figure);
  check_source(figure);
  figure.finish();
  return value;
}

Bandwidth Figures::bandwidth(Reader& in, std::string_view key) const {
  return figure(in, key, [](Reader& figure) { return figure.bandwidth("value"); });
}
Duration Figures::duration(Reader& in, std::string_view key) const {
  return figure(in, key, [](Reader& figure) { return figure.duration("value"); });
}
Bytes Figures::bytes(Reader& in, std::string_view key) const {
  return figure(in, key, [](Reader& figure) { return figure.bytes("value"); });
}
double Figures::metres(Reader& in, std::string_view key) const {
  return figure(in, key, [](Reader& figure) { return figure.metres("value"); });
}
double Figures::watts(Reader& in, std::string_view key) const {
  return figure(in, key, [](Reader& figure) { return figure.watts("value"); });
}
double Figures::flop_rate(Reader& in, std::string_view key) const {
  return figure(in, key, [](Reader& figure) { return figure.flop_rate("value"); });
}
double Figures::number(Reader& in, std::string_view key, double min, double max) const {
  return figure(in, key, [&](Reader& figure) { return figure.number("value", min, max); });
}
int Figures::whole(Reader& in, std::string_view key, int min, int max) const {
  return figure(in, key, [&](Reader& figure) { return figure.whole("value", min, max); });
}

void Figures::check_source(Reader& in) const {
  static const std::vector<std::string> statuses = {"datasheet", "nccl-source", "measured",
                                                    "fitted",    "derived",     "assumed"};
  if (!in.has("source")) fail_unsourced(in.place());
  const std::string key = in.text("source");
  const auto source = sources_.find(key);
  if (source == sources_.end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : sources_) known.push_back(name);
    in.fail("source", fmt::format("unknown source \"{}\"", key), hint_nearest(key, known));
  }
  const std::size_t status = in.choice("status", statuses);
  if (source->second.url.empty() && statuses[status] != "assumed") {
    in.fail("source",
            fmt::format("the source \"{}\" has no url: it can only back what is assumed", key));
  }
  in.prose("note", "");
}

void read_sources(Reader& in, std::map<std::string, Source>& sources) {
  for (auto& [name, entry] : in.table("sources")) {
    Source source;
    source.what = entry.prose("what");
    source.url = entry.text("url", "");
    entry.finish();
    sources[name] = std::move(source);
  }
}

}  // namespace fabricast
