#include "cli/options/tuner_option.hpp"

#include "cli/options/values.hpp"
#include "models/io/tuners/load_tuner.hpp"
#include "models/studies/shared/tuner_site.hpp"

namespace fabricast {

void add_tuner_option(CLI::App& command, std::string& tuner) {
  command.add_option("--tuner", tuner,
                     "a tuner plugin: its file, aws-ofi, or fabricast:FILE (docs/tuners.md)");
}

std::unique_ptr<const TunerPlugin> load_tuner_for(Job& job, const std::string& tuner,
                                                  const PartsCatalogue& parts) {
  if (tuner.empty()) return nullptr;
  auto out = of_option("--tuner", [&] { return load_tuner(tuner, tuner_site(job, parts)); });
  job.tuner = out.get();
  return out;
}

}  // namespace fabricast
