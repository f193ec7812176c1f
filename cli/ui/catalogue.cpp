#include "cli/ui/catalogue.hpp"

#include "cli/program.hpp"
#include "models/io/pages/embedded_web.hpp"
#include "models/io/topologies/known_names.hpp"
#include "models/io/topologies/load.hpp"
#include "models/nccl/base/types.hpp"
#include "models/studies/decide/releases.hpp"

namespace fabricast {
namespace {

Json named(const std::string& subject, const PartsCatalogue& parts, const char* what) {
  Json out = Json::array();
  for (const KnownName& one : known_names(subject, parts)) {
    Json entry = {{"name", one.name}, {what, one.what}};
    if (subject == "topologies") entry["kind"] = one.kind;
    out.push_back(std::move(entry));
  }
  return out;
}

Json studies() {
  Action action;
  const std::unique_ptr<CLI::App> program = make_program(action, add_ui);
  Json out = Json::object();
  for (const CLI::App* command : program->get_subcommands({})) {
    Json options = Json::array();
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;
      options.push_back({{"name", option->get_lnames().front()},
                         {"type", option->get_type_name()},
                         {"help", option->get_description()}});
    }
    out[command->get_name()] = {{"options", std::move(options)}};
  }
  return out;
}

}  // namespace

Json ui_catalogue() {
  const PartsCatalogue parts = load_catalogue();
  Json releases = Json::array(), collectives = Json::array(), layouts = Json::array();
  const std::vector<ReleaseRow> rows = release_rows();
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    releases.push_back(to_text(row->version));
  for (const Collective one : kAllCollectives) collectives.push_back(to_text(one));
  for (const auto& [name, text] : example_layouts())
    layouts.push_back({{"name", name}, {"text", text}});
  return {{"program", program_version()},
          {"data", data_version()},
          {"topologies", named("topologies", parts, "title")},
          {"fabrics", named("fabrics", parts, "title")},
          {"layouts", std::move(layouts)},
          {"releases", std::move(releases)},
          {"variables", named("variables", parts, "what")},
          {"collectives", std::move(collectives)},
          {"studies", studies()}};
}

}  // namespace fabricast
