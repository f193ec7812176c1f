// A file of rules (docs/check.md) -> RuleFile.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/io/formats/text_file.hpp"
#include "models/lint/lint.hpp"
#include "models/nccl/base/releases.hpp"
#include "models/studies/rules/rules.hpp"
#include "models/studies/scenario/read_case.hpp"
#include "sim/base/add_once.hpp"
#include "text/unit_text.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

constexpr std::size_t kChecksMax = 10'000;  // of a rule

/// A check on its way: rows take over what it says.
struct Draft {
  RuleCheck check;
  std::string claimed, figure;
  std::optional<double> tolerance;
  std::vector<std::pair<std::string, Reader>> variants;  ///< read anew for each row
  bool asks = false;                                     ///< `ask` is known
};

bool is_run(Ask ask) {
  return ask == Ask::choice || ask == Ask::fastest || ask == Ask::figure || ask == Ask::compare;
}

bool asks_hardware(Ask ask) {
  return is_run(ask) || ask == Ask::lint || ask == Ask::judge || ask == Ask::part;
}

/// What NCCL would choose is asked without a simulation.
void read_run(Reader& in, const std::string& file, Ask ask, BenchConfig& config) {
  if (ask != Ask::choice) return read_bench(in, file, config);
  DecideConfig decided = decide_config(config);
  read_decide(in, file, decided);
  static_cast<Job&>(config) = decided;
  config.nodes = decided.nodes;
  config.collectives = decided.collectives;
  config.sizes = decided.sizes;
}

/// Both sides of a comparison; one that is not said stays that of the rule's common part.
void read_sides(Reader& in, Draft& draft) {
  for (const char* key : {"base", "with"}) {
    if (!in.has(key)) {
      in.table(key);  // makes the key known
      continue;
    }
    std::erase_if(draft.variants, [&](const auto& v) { return v.first == key; });
    draft.variants.emplace_back(key, in.child(key));
  }
}

/// What is looked for in an imported file.
void read_finds(Reader& in, RuleCheck& check) {
  if (!in.has("find")) {
    in.table("find");  // makes the key known
    return;
  }
  check.finds.clear();
  Reader finds = in.child("find");
  for (const std::string& key : finds.keys())
    check.finds.emplace_back(key, parse_claim(finds.text(key), Dimension::word, {}));
}

/// What the way to ask needs beside figure and claim.
void read_subject(Reader& in, const std::string& file, Draft& draft) {
  RuleCheck& check = draft.check;
  const auto path = [&](const char* key, std::string& out) {
    if (given(in, key)) out = resolved(in.text(key), file);
  };
  if (asks_hardware(check.ask) || check.ask == Ask::retry)
    read_run(in, file, check.ask, check.config);
  switch (check.ask) {
    case Ask::fastest:
      if (in.has("among")) draft.variants.clear();
      for (Reader& child : in.children("among"))
        draft.variants.emplace_back(child.text("name"), child);
      break;
    case Ask::compare:
      read_sides(in, draft);
      break;
    case Ask::default_of:
      if (given(in, "nccl")) check.config.version = parsed(in, "nccl", nccl_version_from_text);
      [[fallthrough]];
    case Ask::price:
      if (given(in, "of")) check.name = in.text("of");
      break;
    case Ask::import_file:
      read_finds(in, check);
      [[fallthrough]];
    case Ask::hang:
    case Ask::judge:
      if (!in.prose("text", "").empty()) check.text = in.paragraphs("text");
      path("file", check.file);
      break;
    case Ask::step:
      path("over", check.over);
      [[fallthrough]];
    case Ask::serve:
      path("file", check.file);
      break;
    case Ask::not_modelled:
      if (!in.prose("because", "").empty()) check.because = in.prose("because");
      break;
    case Ask::lint:
      path("file", check.file);
      break;
    case Ask::choice:
    case Ask::figure:
    case Ask::part:
    case Ask::retry:
      break;
  }
}

/// The base first.
void read_variants(const Reader& in, const std::string& file, Draft& draft) {
  std::vector<RuleVariant>& out = draft.check.variants;
  for (const auto& [name, variant] : draft.variants) {
    Reader reader = variant;
    if (draft.check.ask == Ask::fastest) reader.text("name");
    BenchConfig config = draft.check.config;
    read_bench(reader, file, config);
    reader.finish();
    out.push_back({name, std::move(config)});
  }
  std::ranges::sort(out, {}, [](const RuleVariant& v) { return v.name == "with"; });
  if (draft.check.ask == Ask::compare && out.size() != 2)
    in.fail_missing(
        draft.variants.empty() || draft.variants.front().first == "with" ? "base" : "with",
        "compare takes two runs: base: {...}, with: {...}");
  if (draft.check.ask == Ask::fastest && out.size() < 2)
    in.fail_missing("among", "fastest takes runs with names: among: [{name: Ring, ...}, ...]");
}

void check_subject(const Reader& in, const RuleCheck& check) {
  if (asks_hardware(check.ask) && check.config.topology.empty())
    in.fail_missing("topology", "name a preset or a YAML file");
  if (is_run(check.ask) && check.config.sizes.empty())
    in.fail_missing("sizes", "write sizes like 8B..1GiB or 1MiB,64MiB");
  if ((check.ask == Ask::default_of || check.ask == Ask::price) && check.name.empty())
    in.fail_missing(
        "of", check.ask == Ask::price ? "name a GPU of workloads/prices.yaml" : "name a variable");
  if (check.ask == Ask::import_file && check.finds.empty())
    in.fail_missing("find", "say what is found: find: {kind: ibstat, ...}");
  const bool reads = check.ask == Ask::import_file || check.ask == Ask::hang ||
                     check.ask == Ask::judge || check.ask == Ask::step || check.ask == Ask::serve;
  if (reads && check.file.empty() && check.text.empty())
    in.fail_missing("file", "give a path, relative to the folder of the rules");
  if (!check.file.empty() && !check.text.empty()) in.fail("text", "stands beside a file: give one");
  if (check.ask == Ask::not_modelled && check.because.empty())
    in.fail_missing("because", "say what would have to be simulated");
  const bool saves = check.figure.word.ends_with("_saved");
  if (check.ask == Ask::step && saves != !check.over.empty())
    in.fail("", saves
                    ? fmt::format("{} needs \"over\": the step to compare with", check.figure.word)
                    : std::string("\"over\" goes with time_saved and contention_saved"));
}

void read_figure(Reader& in, Draft& draft) {
  const std::vector<FigureKind>& kinds = figures_of(draft.check.ask);
  if (kinds.empty()) return;
  if (kinds.size() == 1) {
    draft.check.figure = kinds.front();
    return;
  }
  if (!given(in, "figure")) return;
  std::vector<std::string> words;
  for (const FigureKind& kind : kinds) words.push_back(kind.word);
  draft.check.figure = kinds[in.choice("figure", words)];
}

/// All that an answer in words may be; nothing where it may be anything.
std::vector<std::string> possible_answers(const RuleCheck& check) {
  std::vector<std::string> out;
  switch (check.ask) {
    case Ask::choice:
      out = {"refused", "none"};
      for (const Algorithm algorithm : kAllAlgorithms)
        for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
          out.push_back(fmt::format("{} {}", to_text(algorithm), to_text(protocol)));
      break;
    case Ask::fastest:
      out = {"level"};
      for (const RuleVariant& variant : check.variants) out.push_back(variant.name);
      break;
    case Ask::lint:
      out = {"none"};
      for (const LintRule& rule : lint_rules())
        out.front() += fmt::format(", {} {}", rule.id, rule.name);
      break;
    case Ask::hang:
      out = {"completes", "hangs, calls that do not fit, a cycle, rank 0 ended, never comes"};
      break;
    case Ask::figure:
    case Ask::compare:
    case Ask::default_of:
    case Ask::import_file:
    case Ask::judge:
    case Ask::step:
    case Ask::serve:
    case Ask::part:
    case Ask::price:
    case Ask::retry:
    case Ask::not_modelled:
      break;
  }
  return out;
}

/// A word that no answer has can never hold, and would pass for a contradiction.
void check_words(const Reader& in, const RuleCheck& check) {
  const std::vector<std::string> answers = possible_answers(check);
  if (answers.empty()) return;
  for (const std::string& words : check.claim.words) {
    Claim one;
    one.words = {words};
    if (std::ranges::any_of(answers, [&](const std::string& a) { return one.holds(a); })) continue;
    std::vector<std::string> known;
    for (const std::string& answer : answers) {
      for (std::string_view rest = answer; !rest.empty();) {
        const std::size_t end = std::min(rest.find_first_of(" ,"), rest.size());
        const std::string word(rest.substr(0, end));
        if (!word.empty()) add_once(known, word);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    in.fail("claimed", fmt::format("no answer is \"{}\"", words), hint_nearest(words, known));
  }
}

/// All that a check says, its rows included; whole ones go to `out`.
void read_check(Reader& in, const std::string& file, Draft draft, std::vector<RuleCheck>& out) {
  RuleCheck& check = draft.check;
  check.place = in.place();
  if (out.size() >= kChecksMax) in.fail("", fmt::format("more than {} checks", kChecksMax));
  if (in.has("ask") || !draft.asks) {
    check.ask = in.choice("ask", kAskWords);
    if (figures_of(check.ask).empty()) check.figure = {"", Dimension::word};
    draft.asks = true;
  } else {
    in.text("ask", "");
  }
  if (given(in, "label")) {
    if (!check.label.empty()) check.label += ", ";
    check.label += in.text("label");
  }
  read_figure(in, draft);
  read_subject(in, file, draft);
  const bool claims = check.ask != Ask::import_file && check.ask != Ask::not_modelled;
  if (claims && given(in, "claimed")) draft.claimed = in.text("claimed");
  if (claims && given(in, "tolerance"))
    draft.tolerance = parsed(in, "tolerance", [](auto& t) { return parse_percent(t, 0, 1000); });
  std::vector<Reader> rows = in.children("rows");
  for (Reader& row : rows) {
    read_check(row, file, draft, out);
    row.finish();
  }
  if (!rows.empty()) return;
  if (!figures_of(check.ask).empty() && check.figure.word.empty())
    in.fail_missing("figure", "say which figure is claimed");
  read_variants(in, file, draft);
  check_subject(in, check);
  if (claims) {
    if (draft.claimed.empty())
      in.fail_missing("claimed", "like 350 us, 20..30 %, >= 85 %, or words");
    check.claim = placed(in.place("claimed"), [&] {
      return parse_claim(draft.claimed, check.figure.dimension, draft.tolerance);
    });
    check_words(in, check);
  }
  out.push_back(std::move(check));
}

Rule read_rule(Reader& in, const std::string& file, const Draft& defaults) {
  Rule out;
  out.place = in.place();
  out.id = in.text("id");
  out.claim = in.prose("claim");
  out.source = in.prose("source", "");
  out.why = in.prose("why", "");
  if (given(in, "expect")) out.expect = in.choice("expect", kRuleVerdictWords);
  if (in.has("checks")) {
    for (Reader& child : in.children("checks")) {
      read_check(child, file, defaults, out.checks);
      child.finish();
    }
    if (out.checks.empty()) in.fail("checks", "the list is empty");
  } else {
    in.children("checks");  // makes the key known
    read_check(in, file, defaults, out.checks);
  }
  in.finish();
  return out;
}

/// The command line's in place of the file's.
void override(const RuleOverrides& overrides, BenchConfig& config) {
  if (!overrides.topology.empty()) config.topology = overrides.topology;
  if (!overrides.fabric.empty()) config.fabric = overrides.fabric;
  if (!overrides.nodes.empty()) config.nodes = overrides.nodes;
  if (overrides.gpus_per_node > 0) config.gpus_per_node = overrides.gpus_per_node;
  config.sharp = config.sharp || overrides.sharp;
  if (overrides.has_version) config.version = overrides.version;
  for (const auto& [name, value] : overrides.environment.variables())
    config.environment.set(name, value);
}

}  // namespace

std::vector<Job> jobs_of(const RuleFile& file) {
  std::vector<Job> out;
  for (const Rule& rule : file.rules) {
    for (const RuleCheck& check : rule.checks) {
      if (!is_run(check.ask) && check.ask != Ask::judge) continue;
      out.push_back(check.config);
      for (const RuleVariant& variant : check.variants) out.push_back(variant.config);
    }
  }
  return out;
}

RuleFile parse_rules(const std::string& text, const std::string& file,
                     const RuleOverrides& overrides) {
  const YamlNode tree = parse_yaml(text, file);
  Reader in(tree, file);
  in.kind("rules");
  RuleFile out;
  out.file = file;
  out.name = in.text("name");
  out.title = in.text("title", "");
  if (in.has("parts")) out.parts = resolved(in.text("parts"), file);
  Draft defaults;
  read_bench(in, file, defaults.check.config);
  override(overrides, defaults.check.config);
  if (!overrides.parts.empty()) out.parts = overrides.parts;
  defaults.check.config.parts = out.parts;
  std::set<std::string> ids;
  for (Reader& child : in.children("rules")) {
    out.rules.push_back(read_rule(child, file, defaults));
    const Rule& rule = out.rules.back();
    if (!ids.insert(rule.id).second)
      child.fail("id", fmt::format("two rules are named \"{}\"", rule.id));
  }
  if (out.rules.empty()) in.fail("rules", "there is no rule");
  in.finish();
  return out;
}

RuleFile load_rules(const std::string& file, const RuleOverrides& overrides) {
  return parse_rules(read_text_file(file, "give the path of a file of rules"), file, overrides);
}

}  // namespace fabricast
