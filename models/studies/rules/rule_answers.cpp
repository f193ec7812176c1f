#include "models/studies/rules/rule_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/io/shipped/embedded.hpp"
#include "models/io/topologies/topology_name.hpp"
#include "models/io/workloads/load_variables.hpp"
#include "models/nccl/environment/settings.hpp"

namespace fabricast {

namespace {

using namespace rule_answers;

CheckOutcome asked(const RuleCheck& check, const PartsCatalogue& parts) {
  switch (check.ask) {
    case Ask::choice:
      return choice(check, parts);
    case Ask::fastest:
      return fastest(check, parts);
    case Ask::figure:
      return run_figure(check, parts);
    case Ask::compare:
      return compare(check, parts);
    case Ask::lint:
      return lint_findings(check, parts);
    case Ask::default_of:
      return default_of(check);
    case Ask::import_file:
      return imported(check);
    case Ask::hang:
      return hang(check);
    case Ask::judge:
      return judged(check, parts);
    case Ask::step:
      return step_figure(check, parts);
    case Ask::serve:
      return serve_figure(check, parts);
    case Ask::part:
      return part_figure(check, parts);
    case Ask::price:
      return price(check);
    case Ask::retry:
      return retry(check);
    case Ask::not_modelled:
      return {{}, check.because};
  }
  return {};
}

bool is_fabric(const std::string& text) {
  const std::string name = parse_fabric_name(text).base;
  std::error_code ignored;
  return name.empty() || std::filesystem::exists(name, ignored) ||
         find_embedded(embedded_topologies(), name) != nullptr;
}

/// A name that does not exist is a mistake of the file, or of the command line; so is a word with
/// which NCCL refuses to start, wherever it runs.
void check_names(const RuleCheck& check, const PartsCatalogue& parts) {
  const auto look = [&](const BenchConfig& config) {
    if (!config.sizes.empty())
      placed(check.place, [&] { return read_settings(config.environment, config.version); });
    if (config.topology.empty()) return;
    placed(check.place, [&] { return load_nodes(config.topology, parts); });
    if (!config.fabric.empty() && !is_fabric(config.fabric))
      throw Error(check.place, fmt::format("unknown fabric \"{}\"", config.fabric));
    if (config.fabric.empty()) return;
    try {
      load_cluster({config.topology, 0, config.fabric}, parts);
    } catch (const Error& error) {  // a fabric that does not fit here is an answer
      if (error.place().file == config.fabric) throw;
    }
  };
  look(check.config);
  for (const RuleVariant& variant : check.variants) look(variant.config);
}

/// What the environment sets that NCCL reads and nothing here acts on: an answer would say nothing
/// of it. "" = nothing.
std::string not_acted_on(const RuleCheck& check) {
  if (check.config.sizes.empty()) return {};
  const VariableCatalogue catalogue = load_variables();
  const auto idle = [&](const BenchConfig& config) -> std::string {
    for (const std::string& name : config.environment.not_acted_on())
      if (!unread_name(catalogue, name, config.version)) return name + " is not modelled";
    return {};
  };
  std::string out = idle(check.config);
  for (const RuleVariant& variant : check.variants)
    if (out.empty()) out = idle(variant.config);
  return out;
}

/// With a label, nodes that are the same for all points go without saying.
void drop_common_group(const RuleCheck& check, std::vector<RulePoint>& points) {
  if (check.label.empty() || points.empty()) return;
  const std::string group = points.front().group;
  if (std::ranges::any_of(points, [&](const RulePoint& p) { return p.group != group; })) return;
  for (RulePoint& point : points) point.group.clear();
}

}  // namespace

RulePoint rule_answers::point_of(const RuleCheck& check, double figure, const FormulaValues& values,
                                 const std::string& detail) {
  RulePoint out;
  out.claimed = check.claim.text;
  out.found = figure_text(figure, check.figure.dimension);
  if (!detail.empty()) out.found += " (" + detail + ")";
  out.figure = figure;
  out.holds = check.claim.holds(figure, values);
  return out;
}

RulePoint rule_answers::point_of(const RuleCheck& check, const std::string& found) {
  return {{}, {}, check.claim.text, found, {}, check.claim.holds(found)};
}

CheckOutcome rule_answers::only(RulePoint point) { return {{std::move(point)}, {}}; }

CheckOutcome answer(const RuleCheck& check, const PartsCatalogue& parts) {
  check_names(check, parts);
  if (const std::string idle = not_acted_on(check); !idle.empty()) return {{}, idle};
  try {
    CheckOutcome out = asked(check, parts);
    drop_common_group(check, out.points);
    if (out.points.empty() && out.not_simulated.empty())
      out.not_simulated = "no size has an element for each rank";
    return out;
  } catch (const Error& error) {
    const std::string& file = error.place().file;
    if (!file.empty() && (!check.file.empty() || file == check.place.file)) throw;
    return {{}, error.reason()};
  }
}

}  // namespace fabricast
