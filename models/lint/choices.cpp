// What a forced choice costs: the tuner's prediction with the variable against the one without.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/lint/rules.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/nccl/communicator/communicator.hpp"
#include "models/nccl/environment/settings.hpp"
#include "sim/base/add_once.hpp"
#include "sim/base/error.hpp"
#include "text/unit_text.hpp"

namespace fabricast::lint_rules_detail {

namespace {

/// Predictions nearer than this are no reason to change anything.
constexpr double kLossMin = 1.05;
constexpr std::int64_t kSizeMin = 8, kSizeMax = std::int64_t{8} << 30;
constexpr std::int64_t kSizeFactor = 4;

/// Neighbouring sizes at all of which the forced choice loses.
struct Stretch {
  Bytes first, last;
};

/// One collective: where the forced choice loses, and most.
struct Loss {
  Collective collective{};
  std::vector<Stretch> stretches;  ///< ascending
  Bytes worst{};
  TunerDecision forced, free;  ///< at `worst`
  double ratio = 1;
};

Loss loss_of(const TuningModel& forced, const TuningModel& free, Collective c) {
  Loss out;
  out.collective = c;
  bool lost = false;  // at the size before
  for (std::int64_t size = kSizeMin; size <= kSizeMax; size *= kSizeFactor) {
    const TunerDecision a = decide(forced, c, Bytes{size}), b = decide(free, c, Bytes{size});
    const bool comparable = a.algorithm && b.algorithm && b.time_us > 0;
    const double ratio =
        comparable ? static_cast<double>(a.time_us) / static_cast<double>(b.time_us) : 1;
    const bool goes_on = lost;
    lost = ratio >= kLossMin;
    if (!lost) continue;
    if (!goes_on) out.stretches.push_back({Bytes{size}, Bytes{size}});
    out.stretches.back().last = Bytes{size};
    if (ratio <= out.ratio) continue;
    out.ratio = ratio;
    out.worst = Bytes{size};
    out.forced = a;
    out.free = b;
  }
  return out;
}

/// One collective that NCCL refuses because of the choice: the sizes, and why what is named is no
/// help.
struct Refusal {
  Collective collective{};
  std::vector<Stretch> stretches;  ///< ascending
  bool every_size = true;          ///< of those that NCCL takes without the choice
  std::vector<std::string> why;
};

/// Nothing when NCCL refuses no size. 2.24 and later do (src/enqueue.cc).
std::optional<Refusal> refusal_of(const Setting& s, const TuningModel& forced,
                                  const TuningModel& free, Collective c) {
  Refusal out;
  out.collective = c;
  bool refused = false;  // at the size before
  for (std::int64_t size = kSizeMin; size <= kSizeMax; size *= kSizeFactor) {
    if (!decide(free, c, Bytes{size}).algorithm) continue;
    const TunerDecision decision = decide(forced, c, Bytes{size});
    const bool goes_on = refused;
    refused = !decision.algorithm;
    out.every_size = out.every_size && refused;
    if (!refused) continue;
    if (!goes_on) out.stretches.push_back({Bytes{size}, Bytes{size}});
    out.stretches.back().last = Bytes{size};
    for (const Candidate& candidate : decision.candidates) {
      const bool told = candidate.excluded.starts_with(s.name() + " leaves out");
      if (!told && exists(candidate.algorithm, c, forced.input.version))
        add_once(out.why, candidate.excluded);
    }
  }
  return out.stretches.empty() ? std::nullopt : std::optional(std::move(out));
}

std::string choice(const TunerDecision& d) {
  return fmt::format("{} {}", to_text(*d.algorithm), to_text(d.protocol));
}

std::string in_words(const Loss& loss) {
  return fmt::format("{} at {}: {:.1f} us with {}, {:.1f} us with {} (+{:.0f} %)",
                     to_text(loss.collective), to_text(loss.worst), loss.forced.time_us,
                     choice(loss.forced), loss.free.time_us, choice(loss.free),
                     100 * (loss.ratio - 1));
}

TuningModel model_of(const LintInput& input, const Environment& environment) {
  const NcclVersion version = answered_version(input.version);
  const bool apart = input.apart != nullptr && !joins_nvlink_domain(environment, version);
  return decided_communicator(apart ? *input.apart : *input.cluster,
                              {version, environment, 0, input.sharp,
                               apart ? input.description_apart : input.description})
      .model;
}

Environment without(const Environment& environment, std::string_view name) {
  Environment out;
  for (const auto& [key, value] : environment.variables()) {
    if (key != name) out.set(key, value);
  }
  return out;
}

/// "8 B .. 2 MiB and 32 MiB .. 8 GiB"
std::string in_words(const std::vector<Stretch>& stretches) {
  std::vector<std::string> words;
  for (const Stretch& s : stretches) {
    words.push_back(s.first == s.last ? to_text(s.first)
                                      : fmt::format("{} .. {}", to_text(s.first), to_text(s.last)));
  }
  return joined(words);
}

/// "at 8 B .. 2 MiB and 32 MiB .. 8 GiB, most at 8 GiB"
std::string sizes_of(const Loss& loss) {
  const bool one_size = loss.stretches.size() == 1 && loss.worst == loss.stretches[0].first &&
                        loss.worst == loss.stretches[0].last;
  return fmt::format("at {}{}", in_words(loss.stretches),
                     one_size ? "" : fmt::format(", most at {}", to_text(loss.worst)));
}

/// The collective to name first: all_reduce, if it loses at all.
const Loss& headline(const std::vector<Loss>& losses) {
  const auto first = std::ranges::find(losses, Collective::all_reduce, &Loss::collective);
  return first != losses.end() ? *first : *std::ranges::max_element(losses, {}, &Loss::ratio);
}

std::string source_of(const Sheet& sheet) {
  const Cluster& cluster = *sheet.input.cluster;
  return fmt::format("tuning model of {} on {} {} of {} (src/graph/tuning.cc)",
                     nccl_release_text(answered_version(sheet.input.version)), cluster.hosts(),
                     cluster.hosts() == 1 ? "node" : "nodes", cluster.node().name());
}

void report(Sheet& sheet, const Setting& s, const std::vector<Loss>& losses) {
  Finding& f = sheet.add(
      "FL040", Severity::warning, s,
      fmt::format("{} is beaten by NCCL's own choice: {}", shown(s), in_words(headline(losses))));
  for (const Loss& loss : losses) {
    if (!f.reason.empty()) f.reason += "; ";
    f.reason += fmt::format("{} loses {} (+{:.0f} %)", to_text(loss.collective), sizes_of(loss),
                            100 * (loss.ratio - 1));
  }
  f.source = source_of(sheet);
  f.suggestion = "leave it out, or measure that it wins for your sizes";
}

void report(Sheet& sheet, const Setting& s, const std::vector<Refusal>& refusals) {
  std::vector<std::string> calls, why;
  for (const Refusal& r : refusals) {
    calls.push_back(r.every_size
                        ? std::string(to_text(r.collective))
                        : fmt::format("{} at {}", to_text(r.collective), in_words(r.stretches)));
    for (const std::string& reason : r.why) add_once(why, reason);
  }
  Finding& f = sheet.add("FL016", Severity::error, s,
                         fmt::format("{}: NCCL refuses {} here, nothing is left to choose from",
                                     shown(s), joined(calls)));
  for (const std::string& reason : why) f.reason += (f.reason.empty() ? "" : "; ") + reason;
  f.source = source_of(sheet);
  f.suggestion =
      s.name() == "NCCL_ALGO" ? "name Ring as well, or leave the collective out" : "leave it out";
}

/// The tuning model knows nothing of it: a channel is one block of a GPU, which carries no more
/// than its threads do (src/graph/connect.cc cuts the channels of the graphs).
void report_channels(Sheet& sheet, const Setting& s, const TuningModel& forced,
                     const TuningModel& free) {
  if (s.name() != "NCCL_MAX_NCHANNELS" && s.name() != "NCCL_MAX_NRINGS" &&
      s.name() != "NCCL_MAX_CTAS")
    return;
  std::vector<std::string> words;
  for (const Collective c : kAllCollectives) {
    if (!is_tuned(c)) continue;
    const TunerDecision with = decide(forced, c, Bytes{kSizeMax}),
                        usual = decide(free, c, Bytes{kSizeMax});
    if (with.algorithm && 2 * with.channels <= usual.channels)
      words.push_back(fmt::format("{} of {} for {}", with.channels, usual.channels, to_text(c)));
  }
  if (words.empty()) return;
  Finding& f =
      sheet.add("FL043", Severity::warning, s,
                fmt::format("{} leaves few channels to large calls: {}", shown(s), joined(words)));
  f.reason =
      "a channel is one block of threads on the GPU, and few of them do not fill the links; NCCL's "
      "tuning model does not see that";
  f.source = s.variable->evidence;
  f.suggestion = "leave it out, or measure how many your links take";
}

/// A prediction that cannot be made is said once; the mistake behind it has a finding of its own.
void note_no_prediction(Sheet& sheet, const std::string& why) {
  const std::string note = fmt::format("no prediction of what a choice costs (FL040): {}", why);
  add_once(sheet.result.notes, note);
}

/// Another setting that counts together with `s` and is not what its author meant: what it does to
/// the choice is not to be blamed on `s`. REQUIRES: lists are checked.
const Setting* wrong_list_beside(const Sheet& sheet, const Setting& s) {
  for (const Finding& f : sheet.result.findings) {
    if (f.rule != "FL016" || f.severity != Severity::error || f.variable == s.name()) continue;
    const Setting* other = sheet.beside(s, f.variable);
    if (other != nullptr && other->file->path == f.file && other->at->line == f.line &&
        other->at->column == f.column)
      return other;
  }
  return nullptr;
}

void check_choice(Sheet& sheet, const Setting& s) {
  if (const Setting* wrong = wrong_list_beside(sheet, s)) {
    note_no_prediction(sheet, fmt::format("{} is not what it should be (FL016)", shown(*wrong)));
    return;
  }
  const Environment with = sheet.environment_of(s);
  std::vector<Loss> losses;
  std::vector<Refusal> refusals;
  try {
    const TuningModel forced = model_of(sheet.input, with);
    const TuningModel free = model_of(sheet.input, without(with, s.name()));
    if (free.input.ranks < 2) return;
    report_channels(sheet, s, forced, free);
    for (const Collective c : kAllCollectives) {
      if (!is_tuned(c)) continue;
      const Loss loss = loss_of(forced, free, c);
      if (loss.ratio > 1) losses.push_back(loss);
      if (lists_nothing_for(sheet, s, c)) continue;  // said whatever the hardware
      if (auto refusal = refusal_of(s, forced, free, c)) refusals.push_back(std::move(*refusal));
    }
  } catch (const Error& error) {
    note_no_prediction(sheet, error.reason());
    return;
  }
  if (!refusals.empty()) report(sheet, s, refusals);
  if (!losses.empty()) report(sheet, s, losses);
}

/// Naming LL128 skips the check of src/graph/tuning.cc whether the path keeps stores in order.
void check_ll128(Sheet& sheet, const Setting& s) {
  if (sheet.input.version.series >= 31) return;  // what is named has to pass it, too
  std::vector<std::string> warnings;
  const Cluster* cluster = sheet.input.cluster;
  std::string message = fmt::format("{} uses LL128 unchecked", shown(s));
  Severity severity = Severity::note;
  try {
    const Choices choices = read_protocol_choices(s.value(), sheet.input.version, warnings);
    constexpr Collective c = Collective::all_reduce;
    if (s.value().starts_with('^') || !choices.allows(c, index_of(Protocol::ll128))) return;
    if (cluster != nullptr) {
      const TuningModel free = model_of(sheet.input, {});
      const TunedPair& usual = free.pair(c, Algorithm::ring, Protocol::ll128);
      if (usual.excluded.empty()) return;
      severity = Severity::error;
      message += ": NCCL itself would not, because " + usual.excluded;
    }
  } catch (const Error&) {
    return;  // FL016
  }
  Finding& f = sheet.add("FL041", severity, s, message);
  f.reason =
      "naming LL128 skips the test that GPUs, NVLink and NICs keep 128-byte stores whole; "
      "where they do not, data are corrupted";
  f.source = "NCCL 2.21.5 src/graph/tuning.cc:273";
  f.suggestion = "exclude what you do not want instead, e.g. NCCL_PROTO=^LL";
}

}  // namespace

void check_choices(Sheet& sheet) {
  std::set<std::pair<std::string, std::string>> seen;  // two containers need no two predictions
  const std::span<const std::string_view> acting = acting_variables();
  for (const Setting& s : sheet.settings) {
    if (!s.has_value() || s.value().empty() || !s.acts(sheet.input.version)) continue;
    if (s.name() == "NCCL_PROTO") check_ll128(sheet, s);
    if (sheet.input.cluster == nullptr || sheet.beside(s, s.name()) != &s) continue;
    if (s.at->has(EnvTrap::after_init)) continue;  // FL070
    if (std::ranges::find(acting, s.name()) == acting.end()) continue;
    if (seen.insert({s.file->path + ":" + s.name(), s.value()}).second) check_choice(sheet, s);
  }
}

}  // namespace fabricast::lint_rules_detail
