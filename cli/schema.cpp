#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/output/streams.hpp"
#include "models/io/report/report.hpp"
#include "models/io/shipped/embedded.hpp"
#include "text/text_table.hpp"

namespace fabricast {

namespace {

std::vector<std::string> schema_kinds() {
  std::vector<std::string> out;
  for (const EmbeddedFile& file : embedded_schemas()) out.emplace_back(file.name);
  return out;
}

std::string schemas_text() {
  TextTable table;
  for (const EmbeddedFile& file : embedded_schemas())
    table.add({std::string(file.name), Json::parse(file.text).at("title").get<std::string>()});
  return table.text();
}

}  // namespace

void add_schema(CLI::App& app, Action& action) {
  auto kind = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("schema", "the JSON Schema of a kind of file, or which there are");
  command->add_option("kind", *kind, "a kind of YAML file or of JSON output; all in a list if none")
      ->check(one_of(schema_kinds()));
  command->callback([kind, &action] {
    action = [kind](Answers&) {
      if (kind->empty()) {
        print_out("{}", schemas_text());
      } else {
        print_out("{}", find_embedded(embedded_schemas(), *kind)->text);
      }
      return kDone;
    };
  });
}

}  // namespace fabricast
