#include "models/nccl/environment/variables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/nccl/base/releases.hpp"
#include "sim/base/error.hpp"
#include "text/numbers.hpp"
#include "text/words.hpp"

namespace fabricast {
namespace {

constexpr auto kReaderTexts =
    enum_words<VariableReader>("libnccl", "a net plugin", "a tuner plugin", "a profiler plugin",
                               "CUDA", "PyTorch", "nccl-tests", "RCCL", "other software", "nobody");

/// Of a history, oldest first, the entry that holds for a release; nullptr before the first.
template <typename Entry>
const Entry* last_since(const std::vector<Entry>& history, NcclVersion version) {
  const Entry* found = nullptr;
  for (const Entry& entry : history) {
    if (std::optional<NcclVersion>(entry.since) <= version) found = &entry;
  }
  return found;
}

/// One of two releases reads the variable.
VariableChange comes_or_goes(const Variable& v, NcclVersion from, NcclVersion to) {
  using Kind = VariableChange::Kind;
  const bool appears = v.read_in(to);
  const bool at_its_end = v.until && *v.until < std::max(from, to);  // not at its beginning
  const NcclVersion release = at_its_end ? *v.until : *v.since;
  const std::string named = nccl_release_text(release);
  if (appears)
    return {&v, Kind::appears,
            fmt::format("read {} {}: {}", at_its_end ? "up to" : "since", named, v.effect),
            release};
  std::string text =
      named + (at_its_end ? " is the last that reads it" : " is the first that reads it");
  if (!v.instead.empty()) text += "; use " + v.instead;
  return {&v, Kind::goes, std::move(text), release};
}

/// "since NCCL 2.23.4: ", or "before NCCL 2.23.4: " on the way to an older release.
std::string told_from(NcclVersion release, NcclVersion from, NcclVersion to) {
  return (from < to ? "since " : "before ") + nccl_release_text(release) + ": ";
}

std::optional<VariableChange> other_default(const Variable& v, NcclVersion from, NcclVersion to) {
  const std::string before = v.default_text_in(from), after = v.default_text_in(to);
  const ReleaseDefault* newer = last_since(v.defaults, std::max(from, to));
  if (before == after || newer == nullptr) return std::nullopt;
  std::string text = told_from(newer->since, from, to) + after +
                     (from < to ? "; before it: " : "; since then: ") + before;
  return VariableChange{&v, VariableChange::Kind::default_changes, std::move(text), newer->since};
}

std::optional<VariableChange> other_reading(const Variable& v, NcclVersion from, NcclVersion to) {
  const VariableReading* before = v.reading_in(from);
  const VariableReading* after = v.reading_in(to);
  const VariableReading* newer = from < to ? after : before;
  if (before == after || newer == nullptr || !newer->since) return std::nullopt;
  std::string text = told_from(*newer->since, from, to) + after->text;
  return VariableChange{&v, VariableChange::Kind::reading_changes, std::move(text), *newer->since};
}

}  // namespace

bool Variable::read_in(NcclVersion version) const {
  if (reader != VariableReader::libnccl) return false;
  return (!since || *since <= version) && (!until || version <= *until);
}

std::string Variable::reader_text() const {
  return who.empty() ? std::string(to_text(reader)) : who;
}

std::string Variable::default_text_in(NcclVersion version) const {
  const ReleaseDefault* found = last_since(defaults, version);
  return found == nullptr ? default_text : found->value;
}

std::optional<std::string> Variable::default_in(NcclVersion version) const {
  std::string value = default_text_in(version);
  // "512 (256 for ...)" is for people; a default one could set has no blanks.
  if (value.empty() || value.starts_with("automatic") || value.starts_with("unset") ||
      value.find_first_of(" ;") != std::string::npos)
    return std::nullopt;
  return value;
}

const VariableReading* Variable::reading_in(NcclVersion version) const {
  return read_in(version) ? last_since(readings, version) : nullptr;
}

const std::vector<std::string>& Variable::words_in(NcclVersion version) const {
  const VariableReading* reading = reading_in(version);
  return reading == nullptr || reading->words.empty() ? words : reading->words;
}

std::optional<std::int64_t> Variable::min_in(NcclVersion version) const {
  const VariableReading* reading = reading_in(version);
  return reading != nullptr && reading->min ? reading->min : min;
}

std::optional<std::int64_t> Variable::max_in(NcclVersion version) const {
  const VariableReading* reading = reading_in(version);
  return reading != nullptr && reading->max ? reading->max : max;
}

VariableCatalogue::VariableCatalogue(std::vector<Variable> variables)
    : variables_(std::move(variables)) {
  std::ranges::sort(variables_, {}, &Variable::name);
  for (const Variable& v : variables_) {
    if (v.reader != VariableReader::nobody && !v.is_family()) read_names_.push_back(v.name);
  }
}

const Variable* VariableCatalogue::find(std::string_view name) const {
  const auto exact = std::ranges::lower_bound(variables_, name, {}, &Variable::name);
  if (exact != variables_.end() && exact->name == name && !exact->is_family()) return &*exact;
  const Variable* best = nullptr;
  for (const Variable& v : variables_) {
    if (!v.is_family()) continue;
    const std::string_view prefix = std::string_view(v.name).substr(0, v.name.size() - 1);
    const bool longer = best == nullptr || v.name.size() > best->name.size();
    if (name.size() > prefix.size() && name.starts_with(prefix) && longer) best = &v;
  }
  return best;
}

std::string VariableCatalogue::nearest_read(std::string_view name) const {
  std::string upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return nearest(upper, read_names_);
}

std::optional<UnreadName> unread_name(const VariableCatalogue& catalogue, std::string_view name,
                                      NcclVersion version) {
  const Variable* v = catalogue.find(name);
  if (v != nullptr && v->read_in(version)) return std::nullopt;
  UnreadName out;
  if (v != nullptr && !v->instead.empty()) {
    out.instead = "use " + v->instead;
  } else if (v == nullptr) {
    const std::string near = catalogue.nearest_read(name);
    if (!near.empty()) out.instead = "did you mean " + near + "?";
  }
  if (v == nullptr || v->reader == VariableReader::nobody) {
    out.why = "read by nobody";
  } else if (v->reader != VariableReader::libnccl) {
    out.why = "read by " + v->reader_text() + ", not by NCCL";
  } else {
    const bool gone = v->until && *v->until < version;
    out.why = "not read by " + nccl_release_text(version) + ": " +
              nccl_release_text(gone ? *v->until : *v->since) +
              (gone ? " was the last" : " is the first");
  }
  return out;
}

std::vector<VariableChange> variable_changes(const VariableCatalogue& catalogue, NcclVersion from,
                                             NcclVersion to) {
  std::vector<VariableChange> out;
  for (const Variable& v : catalogue.all()) {
    const bool before = v.read_in(from), after = v.read_in(to);
    if (before != after) out.push_back(comes_or_goes(v, from, to));
    if (!before || !after) continue;
    if (auto change = other_default(v, from, to)) out.push_back(std::move(*change));
    if (auto change = other_reading(v, from, to)) out.push_back(std::move(*change));
  }
  return out;
}

std::string_view to_text(VariableReader reader) { return kReaderTexts[reader]; }

}  // namespace fabricast
