#include "models/studies/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "models/io/formats/reader.hpp"
#include "models/io/formats/text_file.hpp"
#include "models/io/topologies/load.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "models/studies/sweep/axis_values.hpp"
#include "models/studies/sweep/question_identity.hpp"
#include "text/numbers.hpp"
#include "text/quoting.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr int kSeedsMax = 1'000'000;

std::string folder_of(const std::string& file) {
  return std::filesystem::path(file).parent_path().string();
}

YamlNode* find(YamlNode& mapping, std::string_view key) {
  const auto at = std::ranges::find(mapping.keys, key);
  return at == mapping.keys.end()
             ? nullptr
             : &mapping.items[static_cast<std::size_t>(at - mapping.keys.begin())];
}
const YamlNode* find(const YamlNode& mapping, std::string_view key) {
  return find(const_cast<YamlNode&>(mapping), key);
}

/// "cases[0].nodes" as "cases", "0", "nodes".
std::vector<std::string> steps_of(const std::string& path) {
  std::vector<std::string> out(1);
  for (const char c : path) {
    if (c == '.' || c == '[') {
      out.emplace_back();
    } else if (c != ']') {
      out.back() += c;
    }
  }
  return out;
}

void remove(YamlNode& mapping, std::string_view key) {
  const auto at = std::ranges::find(mapping.keys, key) - mapping.keys.begin();
  if (at == std::ssize(mapping.keys)) return;
  mapping.keys.erase(mapping.keys.begin() + at);
  mapping.key_lines.erase(mapping.key_lines.begin() + at);
  mapping.items.erase(mapping.items.begin() + at);
}

YamlNode& add(YamlNode& mapping, const std::string& key, int line) {
  mapping.kind = YamlNode::Kind::mapping;
  mapping.keys.push_back(key);
  mapping.key_lines.push_back(line);
  mapping.items.emplace_back();
  mapping.items.back().line = line;
  return mapping.items.back();
}

/// The node that a step leads to, made where there is none.
YamlNode& child(YamlNode& node, const std::string& step, int line) {
  if (node.kind == YamlNode::Kind::sequence) {
    const auto number = to_number<std::size_t>(step);
    if (!number || *number >= node.items.size())
      throw Error(fmt::format("there is no element {} in a list of {}", step, node.items.size()));
    return node.items[*number];
  }
  if (node.kind == YamlNode::Kind::scalar)
    throw Error(fmt::format("\"{}\" is a value, it has no key {}", node.text, step));
  YamlNode* const there = find(node, step);
  return there != nullptr ? *there : add(node, step, line);
}

void set(YamlNode& question, const std::string& path, const YamlNode& value) {
  const std::vector<std::string> steps = steps_of(path);
  YamlNode* at = &question;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) at = &child(*at, steps[i], value.line);
  if (value.kind == YamlNode::Kind::null && at->kind == YamlNode::Kind::mapping)
    return remove(*at, steps.back());
  child(*at, steps.back(), value.line) = value;
}

/// What a key of an axis is about.
struct KeyMeaning {
  std::string path;         ///< in the question
  std::string change = {};  ///< of the name that stands there: "nics" of "dgx-h100:nics=4"
};

bool has_own_key(const YamlNode& question, const std::string& path) {
  return find(question, steps_of(path).front()) != nullptr;
}

/// Questions have no groups `site` and `ask`, but reports have; parts of a machine that the
/// question names are changed in its name.
KeyMeaning meaning_of(const YamlNode& question, const std::string& key) {
  if (has_own_key(question, key) && key.find('.') == std::string::npos) return {key};
  for (const std::string_view group : {"site.", "ask."})
    if (key.starts_with(group) && !has_own_key(question, key))
      return meaning_of(question, key.substr(group.size()));
  if (key == "nics") return {"topology", "nics"};
  const std::size_t dot = key.find('.');
  const std::string owner = key.substr(0, dot);
  const YamlNode* const named = find(question, owner);
  const bool is_name = named == nullptr || named->kind == YamlNode::Kind::scalar;
  if (dot != std::string::npos && is_name && (owner == "topology" || owner == "fabric"))
    return {owner, key.substr(dot + 1)};
  return {key};
}

void change_name(YamlNode& question, const KeyMeaning& meaning, const YamlNode& value) {
  const YamlNode* const named = find(question, meaning.path);
  if (named == nullptr && meaning.path == "topology")
    throw Error("the question names no topology of its own", "set topology, too");
  YamlNode name = value;
  name.text = with_change(named == nullptr ? "" : named->text, meaning.change, value.text);
  if (value.kind == YamlNode::Kind::scalar) set(question, meaning.path, name);
}

std::string value_text(const YamlNode& value) {
  if (value.kind == YamlNode::Kind::scalar) return value.text;
  return value.kind == YamlNode::Kind::null ? "" : canonical_question(value);
}

/// The values of a point's axes into its question: changes of names after the names.
void set_axes(YamlNode& question, const Sweep& sweep,
              const std::vector<const std::vector<YamlNode>*>& chosen) {
  for (const bool changes : {false, true}) {
    for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
      const SweepAxis& axis = sweep.axes[a];
      for (std::size_t i = 0; i < axis.keys.size(); ++i) {
        const KeyMeaning meaning = meaning_of(question, axis.keys[i]);
        if (meaning.change.empty() == changes) continue;
        const YamlNode& value = (*chosen[a])[i];
        placed(Place{sweep.file, axis.line, "axes." + axis.keys[i]}, [&] {
          changes ? change_name(question, meaning, value) : set(question, meaning.path, value);
        });
      }
    }
  }
}

SweepAxis read_axis(const std::string& key, const YamlNode& node, const Sweep& sweep) {
  SweepAxis out{{}, {}, node.line};
  for (const std::string_view one : comma_items(key)) out.keys.emplace_back(one);
  const auto values = axis_values(node, folder_of(sweep.file), folder_of(sweep.question_file));
  for (const YamlNode& value : values) {
    if (out.keys.size() == 1) {
      out.values.push_back({value});
      continue;
    }
    if (value.kind != YamlNode::Kind::sequence || value.items.size() != out.keys.size())
      throw Error(
          fmt::format("each value of {} keys is a list of {}", out.keys.size(), out.keys.size()),
          "like \"topology, nccl: [[dgx-h100, 2.27.7], [hgx-b200, 2.30.7]]\"");
    out.values.push_back(value.items);
  }
  return out;
}

void read_axes(const YamlNode& axes, Sweep& out) {
  if (axes.kind != YamlNode::Kind::mapping)
    throw Error(Place{out.file, axes.line, "axes"}, "is a mapping of keys and their values");
  for (std::size_t i = 0; i < axes.keys.size(); ++i) {
    const Place place{out.file, axes.key_lines[i], "axes." + axes.keys[i]};
    try {
      out.axes.push_back(read_axis(axes.keys[i], axes.items[i], out));
    } catch (const Error& error) {
      throw error.with(place);
    }
  }
}

/// One more axis, which nobody has to write down: the seeds 1, 2, 3 ...
SweepAxis seeds_axis(int seeds, int line) {
  SweepAxis out{{"seed"}, {}, line};
  for (int seed = 1; seed <= seeds; ++seed) {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.line = line;
    node.text = std::to_string(seed);
    out.values.push_back({std::move(node)});
  }
  return out;
}

void read_question(const YamlNode& node, Sweep& out) {
  if (node.kind == YamlNode::Kind::mapping) {
    out.question = node;
    out.question_file = out.file;
    return;
  }
  out.question_file = (std::filesystem::path(folder_of(out.file)) / node.text).string();
  out.question = parse_yaml(read_text_file(out.question_file, "the path starts at this file"),
                            out.question_file);
}

std::vector<std::string> keys_of(const Sweep& sweep) {
  std::vector<std::string> out;
  for (const SweepAxis& axis : sweep.axes)
    out.insert(out.end(), axis.keys.begin(), axis.keys.end());
  return out;
}

void check_keys(const Sweep& sweep) {
  const std::vector<std::string> keys = keys_of(sweep);
  for (auto key = keys.begin(); key != keys.end(); ++key)
    if (std::find(keys.begin(), key, *key) != key)
      throw Error(Place{sweep.file, 0, "axes"}, fmt::format("{} stands there twice", *key));
}

std::size_t combinations(const Sweep& sweep) {
  std::size_t out = 1;
  for (const SweepAxis& axis : sweep.axes) {
    out *= axis.values.size();
    if (out > kSweepPointsMax)
      throw Error(Place{sweep.file, 0, "axes"},
                  fmt::format("more than {} combinations", kSweepPointsMax));
  }
  return out;
}

/// The axis that says the key, or what the key is a part of.
const SweepAxis* axis_of(const Sweep& sweep, const std::string& key) {
  for (const SweepAxis& axis : sweep.axes)
    for (const std::string& own : axis.keys)
      if (key == own || (key.starts_with(own) && key[own.size()] == '.')) return &axis;
  return nullptr;
}

/// Of the node that the path leads to, or as far as it leads.
int line_of(const YamlNode& question, const std::string& path) {
  const YamlNode* at = &question;
  for (const std::string& step : steps_of(path)) {
    const auto number = to_number<std::size_t>(step);
    const bool is_item = at->kind == YamlNode::Kind::sequence && number < at->items.size();
    const YamlNode* const below = is_item                               ? &at->items[*number]
                                  : at->kind == YamlNode::Kind::mapping ? find(*at, step)
                                                                        : nullptr;
    if (below == nullptr) break;
    at = below;
  }
  return at->line;
}

/// Of what an axis names: a topology or a fabric that is not there.
Place place_of_name(const Sweep& sweep) {
  const SweepAxis* const axis = axis_of(sweep, "topology");
  const bool is_first = axis == nullptr && !sweep.axes.empty();
  return {sweep.file, axis != nullptr ? axis->line : is_first ? sweep.axes.front().line : 0, {}};
}

/// What points name, each looked up once.
struct KnownNames {
  std::map<std::string, PartsCatalogue> parts;    ///< by file of own parts
  std::set<std::array<std::string, 3>> machines;  ///< topology, fabric, parts
};

/// What `call` returns; its mistakes have lines of the sweep's files, not of the point's question,
/// which is one line.
template <class Call>
auto in_lines_of(const Sweep& sweep, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    if (error.place().file != sweep.question_file) throw;
    throw Error(place_in(sweep, error.place().path), error.message(), error.hint());
  }
}

/// Throws Error: the question of a point is none, or names what is not there.
void check_question(const Sweep& sweep, const SweepPoint& point, KnownNames& known) {
  const Question question = question_at(sweep, point);
  for (const Job& job : question.jobs) {
    if (known.machines.contains({job.topology, job.fabric, job.parts})) continue;
    placed(place_of_name(sweep), [&] {
      if (!known.parts.contains(job.parts)) known.parts.emplace(job.parts, load_parts(job.parts));
      Topology(job.topology, job.fabric, known.parts.at(job.parts));
    });
    known.machines.insert({job.topology, job.fabric, job.parts});
  }
}

/// Texts with a unit are the formula's to read.
FormulaValue formula_value(const std::string& text) {
  const auto number = finite_number(text);
  return number ? FormulaValue(*number) : FormulaValue(text);
}

bool is_wanted(const Sweep& sweep, const SweepPoint& point) {
  if (!sweep.where) return true;
  return sweep.where->holds([&](const FormulaName& name) -> FormulaValue {
    const auto axis =
        std::ranges::find(point.axes, name.column, &std::pair<std::string, std::string>::first);
    if (axis == point.axes.end()) return {};
    return formula_value(axis->second);
  });
}

}  // namespace

Sweep parse_sweep(const std::string& text, const std::string& file) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.kind("sweep");
  Sweep out;
  out.file = file;
  out.name = in.text("name");
  out.title = in.prose("title", "");
  const YamlNode* const question = find(tree, "question");
  const YamlNode* const axes = find(tree, "axes");
  if (in.is_mapping("question")) {
    (void)in.child("question");
  } else {
    (void)in.text("question");
  }
  (void)in.child("axes");
  read_question(*question, out);
  read_axes(*axes, out);
  const int seeds = in.whole("seeds", 1, kSeedsMax, 0);
  if (seeds > 0) out.axes.push_back(seeds_axis(seeds, in.place("seeds").line));
  check_keys(out);
  if (const std::string where = in.text("where", ""); !where.empty()) {
    out.where_place = in.place("where");
    out.where = placed(out.where_place, [&] { return Formula::parse(where, keys_of(out)); });
  }
  in.finish();
  return out;
}

Sweep sweep_over(const std::string& question_file) {
  Sweep out;
  out.question_file = question_file;
  out.question =
      parse_yaml(read_text_file(question_file, "a question, as `run` takes it"), question_file);
  if (out.question.kind != YamlNode::Kind::mapping)
    throw Error(Place{question_file, 0, {}}, "is no question: a mapping of keys and values");
  return out;
}

void add_axis(Sweep& sweep, const std::string& key, const std::string& values) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = values;
  if (range_values(values).empty()) {
    node.kind = YamlNode::Kind::sequence;
    for (const std::string_view item : comma_items(values)) {
      node.items.emplace_back();
      node.items.back().kind = YamlNode::Kind::scalar;
      node.items.back().text = item;
    }
  }
  sweep.axes.push_back(read_axis(key, node, sweep));
  check_keys(sweep);
}

const YamlNode* value_at(const Sweep& sweep, const std::string& key) {
  const YamlNode* at = &sweep.question;
  for (const std::string& step : steps_of(meaning_of(sweep.question, key).path)) {
    if (at->kind != YamlNode::Kind::mapping) return nullptr;
    at = find(*at, step);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::vector<SweepPoint> points_of(const Sweep& sweep) {
  QuestionIdentity identity(folder_of(sweep.question_file));
  const std::size_t all = combinations(sweep);
  std::vector<SweepPoint> out;
  for (std::size_t place = 0; place < all; ++place) {
    SweepPoint point;
    point.place = static_cast<std::int64_t>(place);
    YamlNode question = sweep.question;
    std::size_t rest = place, of = all;
    std::vector<const std::vector<YamlNode>*> chosen;
    for (const SweepAxis& axis : sweep.axes) {
      of /= axis.values.size();
      chosen.push_back(&axis.values[rest / of]);
      rest %= of;
      for (std::size_t i = 0; i < axis.keys.size(); ++i)
        point.axes.emplace_back(axis.keys[i], value_text((*chosen.back())[i]));
    }
    set_axes(question, sweep, chosen);
    if (!placed(sweep.where_place, [&] { return is_wanted(sweep, point); })) continue;
    point.question = canonical_question(question);
    point.sha256 = identity.sha256(question);
    out.push_back(std::move(point));
  }
  if (out.empty()) throw Error(sweep.where_place, "holds for no combination: there is no point");
  return out;
}

Place place_in(const Sweep& sweep, const std::string& path) {
  if (const SweepAxis* const axis = axis_of(sweep, path)) return {sweep.file, axis->line, path};
  const int line = line_of(sweep.question, path);
  if (sweep.question_file != sweep.file) return {sweep.question_file, line, path};
  return {sweep.file, line, "question" + (path.empty() ? "" : "." + path)};
}

Question question_at(const Sweep& sweep, const SweepPoint& point) {
  Question out =
      in_lines_of(sweep, [&] { return parse_question(point.question, sweep.question_file); });
  out.answer = [&sweep, answer = std::move(out.answer)](const auto&... args) {
    return in_lines_of(sweep, [&] { return answer(args...); });
  };
  return out;
}

std::vector<WrongPoint> wrong_points(const Sweep& sweep, const std::vector<SweepPoint>& points) {
  std::vector<WrongPoint> out;
  KnownNames known;
  for (const SweepPoint& point : points) {
    try {
      check_question(sweep, point, known);
    } catch (const Error& error) {
      out.push_back({point.place, error});
    }
  }
  return out;
}

std::string point_text(const SweepPoint& point) {
  std::string out;
  for (const auto& [key, value] : point.axes)
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", key, line_text(value));
  return out;
}

}  // namespace fabricast
