#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/output/answers.hpp"
#include "models/studies/sweep/query.hpp"
#include "text/words.hpp"

namespace fabricast {

namespace {

struct QueryOptions {
  std::string store, format = "text", sweep, where, columns, group_by, best, pareto, diff;
  int limit = 0;
};

/// "" = all.
void check_sweep(Store& store, const std::string& sweep) {
  const std::vector<std::string> known = store.sweeps();
  if (sweep.empty() || std::ranges::find(known, sweep) != known.end()) return;
  throw Error(option_place("--sweep"), fmt::format("no sweep is named \"{}\" there", sweep),
              hint_nearest(sweep, known));
}

int run(const QueryOptions& options, const Answers& answers) {
  QueryConfig config{options.sweep,
                     options.where,
                     comma_words(options.columns),
                     comma_words(options.group_by),
                     {},
                     {},
                     static_cast<std::size_t>(options.limit)};
  if (!options.best.empty())
    config.best = of_option("--best", [&] { return parse_aim(options.best); });
  for (const std::string& one : comma_words(options.pareto))
    config.pareto.push_back(of_option("--pareto", [&] { return parse_aim(one); }));
  Store store(options.store, StoreAccess::read);
  check_sweep(store, options.sweep);
  const auto result = std::make_shared<QueryResult>();
  if (options.diff.empty()) {
    *result = run_query(store, config);
  } else {
    Store other(options.diff, StoreAccess::read);
    if (config.columns.size() > 1)
      throw Error(option_place("--columns"), "--diff compares one figure", "name one");
    *result = run_diff(store, other, options.diff == options.store, config);
  }
  answers.give(
      options.format, [result] { return query_text(*result); },
      [result, config] { return query_report(*result, config); });
  return kDone;
}

}  // namespace

void add_query(CLI::App& app, Action& action) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App* command = app.add_subcommand("query", "what the results of a sweep say");
  command->add_option("store", options->store, "the file for results of `sweep`")->required();
  command->add_option("--sweep", options->sweep, "only this one of the store");
  command->add_option("--where", options->where,
                      "rows that fit: \"nodes >= 8 and topology = dgx-h100\"");
  command->add_option("--columns", options->columns,
                      "axes and figures (list); default: all there are");
  CLI::Option* const groups =
      command->add_option("--group-by", options->group_by,
                          "a row for each value of these (list): mean, least and most");
  CLI::Option* const best = command->add_option(
      "--best", options->best,
      "the row with the least of this, of rates the most; with --group-by of each "
      "group; step_s, nodes:most");
  CLI::Option* const pareto = command->add_option(
      "--pareto", options->pareto, "rows that no other beats in all of these (list)");
  command
      ->add_option("--diff", options->diff,
                   "a store of another version: what is another figure there (--columns NAME)")
      ->excludes(groups)
      ->excludes(best)
      ->excludes(pareto);
  command->add_option("--limit", options->limit, "so many rows at most")
      ->check(whole_number(1, 1 << 30));
  add_answer_options(*command, options->format);
  command->callback([options, &action] {
    action = [options](Answers& answers) { return run(*options, answers); };
  });
}

}  // namespace fabricast
