#include "models/nccl/environment/variables.hpp"

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

}  // namespace

bool Variable::read_in(NcclVersion version) const {
  if (reader != VariableReader::libnccl) return false;
  return (!since || *since <= version) && (!until || version <= *until);
}

std::string Variable::reader_text() const {
  return who.empty() ? std::string(to_text(reader)) : who;
}

std::optional<std::string> Variable::default_in(NcclVersion version) const {
  std::string value = default_text;
  for (const ReleaseDefault& d : defaults) {
    if (d.since <= version) value = d.value;
  }
  // "512 (256 for ...)" is for people; a default one could set has no blanks.
  if (value.empty() || value.starts_with("automatic") || value.starts_with("unset") ||
      value.find_first_of(" ;") != std::string::npos)
    return std::nullopt;
  return value;
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

std::string_view to_text(VariableReader reader) { return kReaderTexts[reader]; }

}  // namespace fabricast
